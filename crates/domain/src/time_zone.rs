//! A [`TimeZone`]: that of a host's clock during a capture.

use crate::units::UnitError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// Time zone of a host's clock when a capture began, and its changes during the capture.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TimeZone {
    /// Offset from UTC in seconds, positive if the clock is ahead.
    pub offset_s: i32,
    /// Abbreviation that the host uses, such as `CET`; `None` if unknown.
    pub name: Option<String>,
    /// Changes to or from daylight saving time during the capture, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<TimeZoneChange>,
}

/// A change of a host's clock to or from daylight saving time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TimeZoneChange {
    /// Time of the change, in seconds since 1970 (UTC).
    pub at_unix_s: u64,
    /// Offset from UTC after the change, in seconds, positive if the clock is ahead.
    pub offset_s: i32,
    /// Abbreviation that the host uses after the change; `None` if unknown.
    pub name: Option<String>,
}

impl TimeZone {
    /// Creates a zone whose offset never changes.
    pub fn fixed(offset_s: i32, name: Option<&str>) -> TimeZone {
        TimeZone { offset_s, name: name.map(str::to_owned), changes: Vec::new() }
    }
    /// Returns the offset as text, such as `+01:00`.
    pub fn offset(&self) -> String {
        let sign = if self.offset_s < 0 { '-' } else { '+' };
        let minutes = self.offset_s.unsigned_abs() / 60;
        format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
    }
}

impl FromStr for TimeZone {
    type Err = UnitError;
    /// Parses `UTC`, `Z` or an offset such as `+01:00`, `-0330` or `+9`.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let wrong = || UnitError {
            text: text.to_owned(),
            wanted: "a zone",
            example: "UTC, +01:00 or -03:30",
        };
        if ["UTC", "Z"].iter().any(|name| text.eq_ignore_ascii_case(name)) {
            return Ok(TimeZone::fixed(0, Some("UTC")));
        }
        let sign = match text.as_bytes().first() {
            Some(b'+') => 1,
            Some(b'-') => -1,
            _ => return Err(wrong()),
        };
        let digits = &text[1..];
        let (hours, minutes) = match digits.split_once(':') {
            Some((hours, minutes)) => (hours, minutes),
            None if digits.len() == 4 => digits.split_at_checked(2).ok_or_else(wrong)?,
            None => (digits, "00"),
        };
        let part = |text: &str, digits: RangeInclusive<usize>, below: i32| {
            let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
            let is_part = is_number && digits.contains(&text.len());
            text.parse::<i32>().ok().filter(|number| is_part && *number < below)
        };
        let (hours, minutes) =
            part(hours, 1..=2, 15).zip(part(minutes, 2..=2, 60)).ok_or_else(wrong)?;
        Ok(TimeZone::fixed(sign * (hours * 3600 + minutes * 60), None))
    }
}

/// Prints `CET (UTC+01:00)`, `UTC-03:30` or `UTC`.
impl fmt::Display for TimeZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let offset = format!("UTC{}", self.offset());
        match self.name.as_deref() {
            Some("UTC") if self.offset_s == 0 => f.write_str("UTC"),
            Some(name) => write!(f, "{name} ({offset})"),
            None => f.write_str(&offset),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_zones_parse_and_print() {
        for (text, offset_s, printed) in [
            ("UTC", 0, "UTC"),
            ("+01:00", 3600, "UTC+01:00"),
            ("-0330", -12_600, "UTC-03:30"),
            ("+9", 32_400, "UTC+09:00"),
        ] {
            let zone: TimeZone = text.parse().unwrap();
            assert_eq!((zone.offset_s, zone.to_string()), (offset_s, printed.to_owned()));
        }
        for text in [
            "", "CET", "+", "+15:00", "+01:60", "01:00", "+1:0:0", "+é", "+aéb", "+:0:1:00",
            "+1:5", "+100", "+é:00", "+1:é",
        ] {
            assert!(text.parse::<TimeZone>().is_err(), "{text}");
        }
        let named = TimeZone::fixed(3600, Some("CET"));
        assert_eq!(named.to_string(), "CET (UTC+01:00)");
    }
}
