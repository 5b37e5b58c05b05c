//! Formats dates in UTC from milliseconds since 1970.

use steadfast_domain::Findings;
use steadfast_domain::findings::Activity;

/// Year, month, day, hour, minute, second.
pub(crate) type CivilTime = (i64, u32, u32, u32, u32, u32);

/// Returns the civil date of a time (Hinnant, "chrono-compatible low-level date algorithms": days
/// counted from 0000-03-01 in eras of 400 years).
pub(crate) fn civil(unix_ms: u64) -> CivilTime {
    let seconds = i64::try_from(unix_ms / 1000).unwrap_or(0);
    let (days, rest) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let part = |n: i64| u32::try_from(n).unwrap_or(0);
    (year, part(month), part(day), part(rest / 3600), part(rest / 60 % 60), part(rest % 60))
}

/// Returns `2026-11-21 03:58 UTC`; a dash for 0, which stands for an unknown time.
pub(crate) fn date_time(unix_ms: u64) -> String {
    if unix_ms == 0 {
        return "–".to_owned();
    }
    let (year, month, day, hour, minute, _) = civil(unix_ms);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02} UTC")
}

/// Returns the sentence about the begin and end of a run or a capture.
pub(crate) fn time_sentence(findings: &Findings) -> String {
    let (done, what) = match findings.activity {
        Activity::Run => ("Run", "run"),
        Activity::Capture => ("Captured", "capture"),
    };
    match findings.run_unix_ms {
        (0, 0) => format!("The time of the {what} is not stated."),
        (0, end) => format!("{done} until {}.", date_time(end)),
        (begin, 0) => format!("{done} from {}.", date_time(begin)),
        (begin, end) => format!("{done} {} to {}.", date_time(begin), date_time(end)),
    }
}

/// Formats a time in UTC for log lines: `2026-11-21 03:58:00Z`.
pub fn date_second(unix_ms: u64) -> String {
    let (year, month, day, hour, minute, second) = civil(unix_ms);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}Z")
}

/// Formats a time in UTC for file names: `20261121-035800`.
pub fn date_stamp(unix_ms: u64) -> String {
    let (year, month, day, hour, minute, second) = civil(unix_ms);
    format!("{year:04}{month:02}{day:02}-{hour:02}{minute:02}{second:02}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::findings::FormHeader;

    #[test]
    fn unknown_times_of_a_run_are_left_out() {
        let sentence = |run_unix_ms, activity| {
            let header = FormHeader {
                issuer: String::new(),
                specification: String::new(),
                lesser: None,
                test: String::new(),
                subtitle: String::new(),
                revision: String::new(),
                vendor: None,
                model: None,
                sponsor: None,
                blocks: Vec::new(),
            };
            time_sentence(&Findings { run_unix_ms, activity, ..Findings::new("x", header) })
        };
        let run = |begin, end| sentence((begin, end), Activity::Run);
        assert_eq!(run(0, 0), "The time of the run is not stated.");
        assert_eq!(run(0, 60_000), "Run until 1970-01-01 00:01 UTC.");
        assert_eq!(run(60_000, 0), "Run from 1970-01-01 00:01 UTC.");
        let both = "Run 1970-01-01 00:01 UTC to 1970-01-01 00:02 UTC.";
        assert_eq!(run(60_000, 120_000), both);
        let capture = |begin, end| sentence((begin, end), Activity::Capture);
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
    }
}
