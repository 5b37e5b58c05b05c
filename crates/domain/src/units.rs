//! Byte counts and times as integers, with the notations used in storage testing.
//!
//! Capacities and rates are decimal (GB, MB/s), transfer sizes binary (KiB), as in PTS 2.0.x
//! (clause 2.4.1).

use crate::text::excerpt;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, AddAssign, Sub};
use std::str::FromStr;

/// A number of bytes: a capacity, an offset or a transfer size.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// A duration in nanoseconds.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(transparent)]
pub struct Nanos(pub u64);

/// Error for a text that is not a size, a time or a percentage.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{}' is not {wanted}; write it like {example}", excerpt(text))]
pub struct UnitError {
    /// Text that was given.
    pub text: String,
    /// Kind of value that was expected, such as `a size`.
    pub wanted: &'static str,
    /// Example of a valid text.
    pub example: &'static str,
}

impl Bytes {
    /// Creates a size of `n` KiB.
    pub const fn kib(n: u64) -> Self {
        Bytes(n * 1024)
    }
    /// Creates a size of `n` MiB.
    pub const fn mib(n: u64) -> Self {
        Bytes(n * 1024 * 1024)
    }
    /// Creates a size of `n` GiB.
    pub const fn gib(n: u64) -> Self {
        Bytes(n * 1024 * 1024 * 1024)
    }
    /// Returns the size in decimal megabytes (10^6 bytes).
    pub fn as_mb(self) -> f64 {
        self.0 as f64 / 1e6
    }
    /// Returns the size in decimal gigabytes (10^9 bytes).
    pub fn as_gb(self) -> f64 {
        self.0 as f64 / 1e9
    }
    /// Returns the size in KiB (1024 bytes).
    pub fn as_kib(self) -> f64 {
        self.0 as f64 / 1024.0
    }
    /// Rounds down to a multiple of `unit` bytes.
    ///
    /// # Panics
    /// Panics if `unit` is 0.
    pub const fn round_down(self, unit: u64) -> Self {
        Bytes(self.0 - self.0 % unit)
    }
    /// Returns the size in the largest binary unit that divides it: `8 GiB`, `4 MiB`, `1000 B`.
    ///
    /// ```
    /// use steadfast_domain::Bytes;
    /// assert_eq!(Bytes::kib(128).binary(), "128 KiB");
    /// assert_eq!(Bytes(1000).binary(), "1000 B");
    /// ```
    pub fn binary(self) -> String {
        let units = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
        let fits = |(_, unit): &&(&str, u64)| self.0 > 0 && self.0.is_multiple_of(*unit);
        units.iter().find(fits).map_or_else(
            || format!("{} B", self.0),
            |(name, unit)| format!("{} {name}", self.0 / unit),
        )
    }
    /// Returns the size as the standard writes transfer sizes: `0.5K`, `4K`, `1024K`; in bytes
    /// (`100B`) if it is not a multiple of 512.
    pub fn transfer_size(self) -> String {
        if self.0.is_multiple_of(1024) {
            format!("{}K", self.0 / 1024)
        } else if self.0.is_multiple_of(512) {
            format!("{}.5K", self.0 / 1024)
        } else {
            format!("{}B", self.0)
        }
    }
}

impl Nanos {
    /// A duration of zero.
    pub const ZERO: Nanos = Nanos(0);
    /// One second.
    pub const SECOND: Nanos = Nanos(1_000_000_000);
    /// Returns true for a duration of zero.
    pub const fn is_zero(&self) -> bool {
        self.0 == 0
    }
    /// Creates a duration of `n` seconds.
    pub const fn from_secs(n: u64) -> Self {
        Nanos(n * 1_000_000_000)
    }
    /// Creates a duration of `n` milliseconds.
    pub const fn from_millis(n: u64) -> Self {
        Nanos(n * 1_000_000)
    }
    /// Returns the duration in seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
    /// Returns the duration in milliseconds.
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }
    /// Returns the duration in microseconds.
    pub fn as_micros_f64(self) -> f64 {
        self.0 as f64 / 1e3
    }
    /// Formats the duration of something finished: to a tenth of a second below two minutes, to a
    /// second below an hour, then to a minute. Never rounds up, so that an amount divided by the
    /// printed time is no less than the rate printed next to it.
    pub fn taken(self) -> String {
        let seconds = self.0 / 1_000_000_000;
        match self.0 {
            n if n < 1_000 => format!("{n} ns"),
            n if n < 1_000_000 => format!("{} µs", n / 1_000),
            n if n < 1_000_000_000 => format!("{} ms", n / 1_000_000),
            n if seconds < 120 => format!("{seconds}.{} s", n / 100_000_000 % 10),
            _ if seconds < 3600 => Nanos::from_secs(seconds).to_string(),
            _ => Nanos::from_secs(seconds - seconds % 60).to_string(),
        }
    }
    /// Returns the difference, or zero if `earlier` is the larger one.
    pub const fn saturating_sub(self, earlier: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }
    /// Converts to [`std::time::Duration`].
    pub const fn to_duration(self) -> std::time::Duration {
        std::time::Duration::from_nanos(self.0)
    }
}

impl From<std::time::Duration> for Nanos {
    fn from(time: std::time::Duration) -> Self {
        Nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl Add for Bytes {
    type Output = Bytes;
    fn add(self, other: Bytes) -> Bytes {
        Bytes(self.0 + other.0)
    }
}
impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Bytes) {
        self.0 += other.0;
    }
}
impl Sub for Bytes {
    type Output = Bytes;
    fn sub(self, other: Bytes) -> Bytes {
        Bytes(self.0 - other.0)
    }
}
impl Add for Nanos {
    type Output = Nanos;
    fn add(self, other: Nanos) -> Nanos {
        Nanos(self.0 + other.0)
    }
}
impl AddAssign for Nanos {
    fn add_assign(&mut self, other: Nanos) {
        self.0 += other.0;
    }
}
impl Sub for Nanos {
    type Output = Nanos;
    fn sub(self, other: Nanos) -> Nanos {
        Nanos(self.0 - other.0)
    }
}

impl fmt::Display for Bytes {
    /// Prints a capacity in decimal units with three significant digits (`240 GB`, `1.60 TB`).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, unit) = match self.0 {
            // 999.5 and more round to a thousand of the unit, which is one of the next.
            n if n >= 999_500_000_000 => (n as f64 / 1e12, "TB"),
            n if n >= 999_500_000 => (n as f64 / 1e9, "GB"),
            n if n >= 999_500 => (n as f64 / 1e6, "MB"),
            n if n >= 1_000 => (n as f64 / 1e3, "kB"),
            n => return write!(f, "{n} B"),
        };
        let digits = match value {
            v if v >= 99.95 => 0,
            v if v >= 9.995 => 1,
            _ => 2,
        };
        write!(f, "{value:.digits$} {unit}")
    }
}

impl fmt::Display for Nanos {
    /// Prints a time to wait, rounded up to whole seconds or minutes where it is long: `250 ms`,
    /// `60 s`, `56 min`, `4 h 40 min`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = self.0.div_ceil(1_000_000_000);
        match self.0 {
            n if n < 1_000 => write!(f, "{n} ns"),
            // 999.5 and more round to a thousand of the unit, which is one of the next.
            n if n < 999_500 => write!(f, "{:.0} µs", n as f64 / 1e3),
            n if n < 999_500_000 => write!(f, "{:.0} ms", n as f64 / 1e6),
            n if n < 10_000_000_000 => {
                let tenths = (n + 50_000_000) / 100_000_000;
                match tenths % 10 {
                    0 => write!(f, "{} s", tenths / 10),
                    rest => write!(f, "{}.{rest} s", tenths / 10),
                }
            }
            _ if total <= 120 => write!(f, "{total} s"),
            _ if total < 3600 => write_sixties(f, total, "min", "s"),
            _ => write_sixties(f, total.div_ceil(60), "h", "min"),
        }
    }
}

impl Nanos {
    /// Returns a measured time as text, rounded to the nearest tenth of a second below a minute,
    /// to the second below an hour, and to the minute from then on. `Display` rounds up, as suits
    /// a time to wait.
    ///
    /// ```
    /// use steadfast_domain::Nanos;
    /// assert_eq!(Nanos(12_034_000_000).elapsed_text(), "12.0 s");
    /// assert_eq!(Nanos(12_034_000_000).to_string(), "13 s");
    /// ```
    pub fn elapsed_text(self) -> String {
        const TENTH: u64 = 100_000_000;
        let to_nearest = |unit: u64| Nanos(self.0.saturating_add(unit / 2) / unit * unit);
        let tenths = to_nearest(TENTH);
        match self {
            Nanos(0..1_000_000_000) => self.to_string(),
            _ if self.0.is_multiple_of(1_000_000_000) && self.0 < 3_600_000_000_000 => {
                self.to_string()
            }
            _ if tenths < Nanos::from_secs(60) => format!("{:.1} s", tenths.as_secs_f64()),
            _ if to_nearest(Nanos::SECOND.0) < Nanos::from_secs(3600) => {
                to_nearest(Nanos::SECOND.0).to_string()
            }
            _ => to_nearest(Nanos::from_secs(60).0).to_string(),
        }
    }
}

/// Writes an amount as whole sixties in `unit` and what remains: `4 h 40 min`.
fn write_sixties(
    f: &mut fmt::Formatter<'_>,
    amount: u64,
    unit: &str,
    unit_of_rest: &str,
) -> fmt::Result {
    match amount % 60 {
        0 => write!(f, "{} {unit}", amount / 60),
        rest => write!(f, "{} {unit} {rest} {unit_of_rest}", amount / 60),
    }
}

/// Splits `128KiB` into number and unit.
fn split_number(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    (&text[..end], text[end..].trim())
}

/// Returns `number` x `unit`, exact if the number is an integer; `None` on overflow, for a fraction
/// of the smallest unit, or if it is not a number.
fn scaled(number: &str, unit: u64) -> Option<u64> {
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(unit);
    }
    if unit == 1 {
        return None;
    }
    let value = number.parse::<f64>().ok()? * unit as f64;
    (0.0..1e19).contains(&value).then_some(value.round() as u64)
}

impl FromStr for Bytes {
    type Err = UnitError;
    /// Parses a size: `4096`, `4K` and `4KiB` are binary, `240GB` and `1.6TB` decimal.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let (number, unit) = split_number(text);
        let factor: u64 = match unit.to_ascii_lowercase().as_str() {
            "" | "b" => 1,
            "k" | "kib" => 1 << 10,
            "m" | "mib" => 1 << 20,
            "g" | "gib" => 1 << 30,
            "t" | "tib" => 1 << 40,
            "kb" => 1_000,
            "mb" => 1_000_000,
            "gb" => 1_000_000_000,
            "tb" => 1_000_000_000_000,
            _ => 0,
        };
        let bytes = if factor == 0 { None } else { scaled(number, factor) };
        bytes.map(Bytes).ok_or_else(|| UnitError {
            text: text.to_owned(),
            wanted: "a size",
            example: "4096, 128K, 4GiB or 240GB",
        })
    }
}

impl FromStr for Nanos {
    type Err = UnitError;
    /// Parses a time: `60` (seconds), `60s`, `250ms`, `30min`, `6h`.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let (number, unit) = split_number(text);
        let factor: u64 = match unit.to_ascii_lowercase().as_str() {
            "" | "s" | "sec" => 1_000_000_000,
            "ns" => 1,
            // The micro sign and the Greek letter.
            "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
            "ms" => 1_000_000,
            "m" | "min" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            "d" => 86_400_000_000_000,
            _ => 0,
        };
        let nanos = if factor == 0 { None } else { scaled(number, factor) };
        nanos.map(Nanos).ok_or_else(|| UnitError {
            text: text.to_owned(),
            wanted: "a time",
            example: "250ms, 60s, 30min or 6h",
        })
    }
}

/// Parses a temperature in degrees Celsius: `45`, `45C` or `45.5 °C`.
///
/// # Errors
/// The text is no number from -60 to 200, or has another unit.
pub fn parse_celsius(text: &str) -> Result<f64, UnitError> {
    let number = text.trim();
    let number = number.strip_suffix(['C', 'c']).unwrap_or(number).trim_end();
    let number = number.strip_suffix('°').unwrap_or(number).trim_end();
    let celsius = number.parse::<f64>().ok().filter(|value| (-60.0..=200.0).contains(value));
    celsius.ok_or_else(|| UnitError {
        text: text.to_owned(),
        wanted: "a temperature in degrees Celsius",
        example: "45C",
    })
}

/// Parses `75%` or `75` into whole percent, 1 to 100.
///
/// # Errors
/// The text is not such a number.
pub fn parse_percent(text: &str) -> Result<u8, UnitError> {
    let number = text.trim();
    let number = number.strip_suffix('%').unwrap_or(number).trim_end();
    match number.parse::<u8>() {
        Ok(percent) if (1..=100).contains(&percent) => Ok(percent),
        _ => Err(UnitError {
            text: text.to_owned(),
            wanted: "a percentage from 1 to 100",
            example: "75%",
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measured_time_is_rounded_to_the_nearest() {
        for (nanos, text) in [
            (250_000_000, "250 ms"),
            (12_000_000_000, "12 s"),
            (12_034_000_000, "12.0 s"),
            (59_949_000_000, "59.9 s"),
            (59_950_000_000, "60 s"),
            (125_400_000_000, "2 min 5 s"),
            (3_599_600_000_000, "1 h"),
            (3_689_000_000_000, "1 h 1 min"),
        ] {
            assert_eq!(Nanos(nanos).elapsed_text(), text, "{nanos}");
        }
    }

    #[test]
    fn a_capacity_has_three_significant_digits() {
        for (bytes, text) in [
            (999, "999 B"),
            (1_000, "1.00 kB"),
            (999_499, "999 kB"),
            (999_999, "1.00 MB"),
            (999_600_000, "1.00 GB"),
            (999_499_999_999, "999 GB"),
            (999_600_000_000, "1.00 TB"),
            (1_600_321_314_816, "1.60 TB"),
        ] {
            assert_eq!(Bytes(bytes).to_string(), text, "{bytes}");
        }
    }

    #[test]
    fn percentages_parse() {
        assert!(parse_percent("75%%").is_err());
        assert_eq!(parse_percent("75 %"), Ok(75));
    }

    #[test]
    fn a_temperature_is_in_degrees_celsius() {
        for (text, celsius) in [("45", 45.0), ("45C", 45.0), (" 22.5 °C ", 22.5), ("-5c", -5.0)] {
            assert_eq!(parse_celsius(text), Ok(celsius), "{text}");
        }
        for text in ["", "C", "45F", "318K", "201", "NaN", "45CC", "inf"] {
            assert!(parse_celsius(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_parse() {
        for (text, bytes) in [
            ("512", 512),
            ("0.5K", 512),
            ("1.5K", 1536),
            ("4k", 4096),
            ("128KiB", 131_072),
            ("4GiB", 4 << 30),
            ("240GB", 240_000_000_000),
            ("1.6TB", 1_600_000_000_000),
        ] {
            assert_eq!(text.parse(), Ok(Bytes(bytes)), "{text}");
        }
        for bad in [
            "", "four", "4Q", "-1", "1e30T", "99999999999999999999", "..5K", "20000000T", "4096.7",
            "0.5", "1.5 ns",
        ] {
            assert!(bad.parse::<Bytes>().is_err(), "{bad}");
        }
    }

    #[test]
    fn times_parse_and_print() {
        for (text, nanos, shown) in [
            ("60", 60_000_000_000, "60 s"),
            ("250ms", 250_000_000, "250 ms"),
            ("1.5s", 1_500_000_000, "1.5 s"),
            ("999.6ms", 999_600_000, "1 s"),
            ("20us", 20_000, "20 µs"),
            ("20\u{b5}s", 20_000, "20 µs"),
            ("20\u{3bc}s", 20_000, "20 µs"),
            ("2.04s", 2_040_000_000, "2 s"),
            ("56min", 3_360_000_000_000, "56 min"),
            ("6h", 21_600_000_000_000, "6 h"),
        ] {
            assert_eq!(text.parse(), Ok(Nanos(nanos)), "{text}");
            assert_eq!(Nanos(nanos).to_string(), shown);
        }
        assert_eq!(Nanos::from_secs(16_800).to_string(), "4 h 40 min");
        assert!("soon".parse::<Nanos>().is_err());
    }

    #[test]
    fn a_time_taken_is_not_rounded_up() {
        for (nanos, text) in [
            (999, "999 ns"),
            (1_999, "1 µs"),
            (999_999_999, "999 ms"),
            (9_990_000_000, "9.9 s"),
            (50_366_000_000, "50.3 s"),
            (119_999_999_999, "119.9 s"),
            (120_999_999_999, "120 s"),
            (121_999_999_999, "2 min 1 s"),
            (3_599_999_999_999, "59 min 59 s"),
            (16_859_999_999_999, "4 h 40 min"),
        ] {
            assert_eq!(Nanos(nanos).taken(), text);
        }
    }

    #[test]
    fn binary_sizes_print_in_the_largest_unit() {
        for (bytes, text) in [
            (8 << 30, "8 GiB"),
            (3 << 29, "1536 MiB"),
            (4096, "4 KiB"),
            (1000, "1000 B"),
            (0, "0 B"),
        ] {
            assert_eq!(Bytes(bytes).binary(), text);
        }
    }

    #[test]
    fn transfer_sizes_print_as_in_the_standard() {
        for (bytes, text) in [(512, "0.5K"), (4096, "4K"), (1_048_576, "1024K"), (1536, "1.5K")] {
            assert_eq!(Bytes(bytes).transfer_size(), text);
        }
    }
}
