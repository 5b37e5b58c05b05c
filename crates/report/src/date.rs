//! Formats dates in UTC from milliseconds since 1970.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::Offset;
use steadfast_domain::Findings;
use steadfast_domain::findings::Activity;

/// Returns the civil time of a time; the last one of the year 9999 for all times after it.
pub(crate) fn civil(unix_ms: u64) -> DateTime {
    let time = i64::try_from(unix_ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    Offset::UTC.to_datetime(time.unwrap_or(Timestamp::MAX))
}

/// Returns `2026-11-21 03:58 UTC`; a dash for 0, which stands for an unknown time.
pub(crate) fn date_time(unix_ms: u64) -> String {
    if unix_ms == 0 {
        return "–".to_owned();
    }
    civil(unix_ms).strftime("%Y-%m-%d %H:%M UTC").to_string()
}

/// Returns the sentence about the begin and end of a run or a capture.
pub(crate) fn time_sentence(findings: &Findings) -> String {
    let (done, what) = match findings.activity {
        Activity::Run => ("Run", "run"),
        Activity::Capture => ("Captured", "capture"),
    };
    match (findings.began_unix_ms, findings.ended_unix_ms) {
        (0, 0) => format!("The time of the {what} is not stated."),
        (0, end) => format!("{done} until {}.", date_time(end)),
        (begin, 0) => format!("{done} from {}.", date_time(begin)),
        (begin, end) => format!("{done} {} to {}.", date_time(begin), date_time(end)),
    }
}

/// Formats a time in UTC for log lines: `2026-11-21 03:58:00Z`.
pub fn date_second(unix_ms: u64) -> String {
    civil(unix_ms).strftime("%Y-%m-%d %H:%M:%SZ").to_string()
}

/// Formats a time in UTC for file names: `20261121-035800`.
pub fn date_stamp(unix_ms: u64) -> String {
    civil(unix_ms).strftime("%Y%m%d-%H%M%S").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::findings::FormHeader;

    #[test]
    fn unknown_times_of_a_run_are_left_out() {
        let sentence = |began_unix_ms, ended_unix_ms, activity| {
            let findings = Findings::new("x", FormHeader::default());
            time_sentence(&Findings { began_unix_ms, ended_unix_ms, activity, ..findings })
        };
        let run = |began, ended| sentence(began, ended, Activity::Run);
        assert_eq!(run(0, 0), "The time of the run is not stated.");
        assert_eq!(run(0, 60_000), "Run until 1970-01-01 00:01 UTC.");
        assert_eq!(run(60_000, 0), "Run from 1970-01-01 00:01 UTC.");
        let both = "Run 1970-01-01 00:01 UTC to 1970-01-01 00:02 UTC.";
        assert_eq!(run(60_000, 120_000), both);
        let capture = |began, ended| sentence(began, ended, Activity::Capture);
        assert_eq!(capture(0, 0), "The time of the capture is not stated.");
        assert_eq!(capture(60_000, 120_000), both.replace("Run", "Captured"));
    }

    #[test]
    fn known_dates() {
        for (seconds, text) in [
            (0, "–"),
            (60, "1970-01-01 00:01 UTC"),
            (951_782_399, "2000-02-28 23:59 UTC"),
            (951_782_400, "2000-02-29 00:00 UTC"),
            (1_767_225_600, "2026-01-01 00:00 UTC"),
            (4_107_542_400, "2100-03-01 00:00 UTC"),
        ] {
            assert_eq!(date_time(seconds * 1000), text);
        }
        assert_eq!(date_stamp(1_763_697_480_000), "20251121-035800");
        assert_eq!(date_second(1_763_697_480_999), "2025-11-21 03:58:00Z");
        assert_eq!(date_time(u64::MAX), "9999-12-30 22:00 UTC");
    }
}
