//! Clock time: converts times of a capture to the wall clock of its host.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::Offset;
use steadfast_domain::{CaptureConditions, TimeZone};

pub(crate) const SECOND_NS: u64 = 1_000_000_000;
/// A day of 24 hours, in nanoseconds. Days on which summer time begins or ends differ by an hour.
pub const DAY_NS: u64 = 86_400 * SECOND_NS;

/// A conversion from capture time to wall-clock time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaptureClock {
    /// Periods with a constant clock offset, in ascending order. The first starts at 0.
    periods: Vec<ClockPeriod>,
}

/// A period during which the clock offset did not change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClockPeriod {
    /// Start of the period in capture time, in nanoseconds.
    pub from_ns: u64,
    /// Wall-clock time at the beginning of the capture by the offset of this period, in nanoseconds
    /// since 1970.
    pub ahead_ns: u64,
    /// Time zone during the period.
    pub zone: TimeZone,
}

impl CaptureClock {
    /// Returns the clock of a capture in the given zone, or else in its own, or else in UTC.
    /// Returns `None` if the capture does not record when it began.
    pub fn from_conditions(
        conditions: &CaptureConditions,
        zone: Option<&TimeZone>,
    ) -> Option<CaptureClock> {
        let began = conditions.began_unix_ns?;
        let utc = TimeZone::fixed(0, Some("UTC"));
        let zone = zone.or(conditions.zone.as_ref()).unwrap_or(&utc);
        let period = |from_ns: u64, offset_s: i32, name: Option<&str>| {
            let offset_ns = i64::from(offset_s).checked_mul(1_000_000_000)?;
            let ahead_ns = began.checked_add_signed(offset_ns)?;
            Some(ClockPeriod { from_ns, ahead_ns, zone: TimeZone::fixed(offset_s, name) })
        };
        let mut periods = vec![period(0, zone.offset_s, zone.name.as_deref())?];
        for change in &zone.changes {
            let from_ns = change.at_unix_s.saturating_mul(SECOND_NS).saturating_sub(began);
            // A change before the capture applies from its beginning.
            periods.retain(|period| period.from_ns < from_ns);
            periods.push(period(from_ns, change.offset_s, change.name.as_deref())?);
        }
        Some(CaptureClock { periods })
    }

    /// Returns the periods with a constant clock offset, in order.
    pub fn periods(&self) -> &[ClockPeriod] {
        &self.periods
    }

    /// Returns the time of day at a capture time, in nanoseconds since midnight.
    pub fn time_of_day_ns(&self, at_ns: u64) -> u64 {
        self.local_ns(at_ns) % DAY_NS
    }

    /// Returns the day at a capture time, in days since 1970.
    pub fn day(&self, at_ns: u64) -> u64 {
        self.local_ns(at_ns) / DAY_NS
    }

    /// Returns the capture times at which the clock shows `local_ns` (nanoseconds since 1970), in
    /// order: none for a time before the capture, two for a time that the clock shows twice. A
    /// skipped time gives the time of the change.
    pub(crate) fn moments_of(&self, local_ns: u64) -> impl Iterator<Item = u64> + '_ {
        self.ends().enumerate().filter_map(move |(at, (period, until_ns))| {
            let moment = local_ns.checked_sub(period.ahead_ns);
            let is_skipped = at > 0
                && local_ns >= period.from_ns.saturating_add(self.periods[at - 1].ahead_ns)
                && local_ns < period.from_ns.saturating_add(period.ahead_ns);
            if is_skipped {
                Some(period.from_ns)
            } else {
                moment.filter(|moment| (period.from_ns..until_ns).contains(moment))
            }
        })
    }

    /// Returns the capture spans in which the clock shows times from `from_ns` to `to_ns`
    /// (nanoseconds since 1970, end exclusive).
    pub fn spans_of(&self, from_ns: u64, to_ns: u64) -> Vec<(u64, u64)> {
        let mut spans: Vec<(u64, u64)> = Vec::new();
        for (period, until_ns) in self.ends() {
            let from = from_ns.saturating_sub(period.ahead_ns).max(period.from_ns);
            let to = to_ns.saturating_sub(period.ahead_ns).min(until_ns);
            match spans.last_mut() {
                _ if from >= to => {}
                Some(last) if last.1 == from => last.1 = to,
                _ => spans.push((from, to)),
            }
        }
        spans
    }

    fn ends(&self) -> impl Iterator<Item = (&ClockPeriod, u64)> {
        let ends = self.periods.iter().skip(1).map(|period| period.from_ns).chain([u64::MAX]);
        self.periods.iter().zip(ends)
    }

    fn period_at(&self, at_ns: u64) -> &ClockPeriod {
        let after = self.periods.partition_point(|period| period.from_ns <= at_ns);
        &self.periods[after.saturating_sub(1)]
    }

    fn local_ns(&self, at_ns: u64) -> u64 {
        self.period_at(at_ns).ahead_ns.saturating_add(at_ns)
    }

    /// Formats a capture time as `2026-11-21 06:16:17`, with decimals down to the last that is not
    /// 0.
    pub fn date_time(&self, at_ns: u64) -> String {
        format!("{} {}", date(self.day(at_ns)), time_of_day(self.time_of_day_ns(at_ns), 0))
    }

    /// Formats the date at a capture time as `2026-11-21`.
    pub fn date(&self, at_ns: u64) -> String {
        date(self.day(at_ns)).to_string()
    }

    /// Returns the time zone at a capture time.
    pub fn zone(&self, at_ns: u64) -> &TimeZone {
        &self.period_at(at_ns).zone
    }

    /// Formats a capture time for a table of steps over `span_ns`, as `06:16:17`. Adds the date if
    /// the table covers more than one date, and the zone if that changes.
    pub fn in_table(&self, at_ns: u64, step_ns: u64, span_ns: (u64, u64)) -> String {
        // A capture rarely begins on a full second, so digits finer than a step carry no
        // information.
        let unit = 10u64.pow(9 - decimals(step_ns).min(9) as u32);
        let shown_ns = self.time_of_day_ns(at_ns) / unit * unit;
        let time = time_of_day(shown_ns, decimals(step_ns));
        let zone = if self.period_at(span_ns.0) == self.period_at(span_ns.1) {
            String::new()
        } else {
            format!(" {}", self.zone(at_ns).offset())
        };
        if self.day(span_ns.0) == self.day(span_ns.1) {
            format!("{time}{zone}")
        } else {
            format!("{} {time}{zone}", date(self.day(at_ns)))
        }
    }
}

/// Returns the number of decimals of a second that are needed to distinguish steps of a width.
fn decimals(step_ns: u64) -> usize {
    let units = std::iter::successors(Some(SECOND_NS), |unit| Some(unit / 10)).take(10);
    units.take_while(|unit| !step_ns.is_multiple_of(*unit)).count()
}

/// Formats a time of day as `06:16:17`, with at least `least` decimals.
pub(crate) fn time_of_day(ns: u64, least: usize) -> String {
    let (seconds, rest) = (ns / SECOND_NS, ns % SECOND_NS);
    let text = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    let shown = least.max(if rest == 0 { 0 } else { decimals(rest) });
    match shown {
        0 => text,
        digits => format!("{text}.{}", &format!("{rest:09}")[..digits]),
    }
}

/// Formats a time of day for a title: `06:16`, or `06:16:17` if it has seconds.
pub fn hour_and_minute(ns: u64) -> String {
    let text = time_of_day(ns, 0);
    if ns.is_multiple_of(60 * SECOND_NS) { text[..5].to_owned() } else { text }
}

/// Returns the civil date of a day counted from 1970.
pub(crate) fn date(day: u64) -> Date {
    let second = i64::try_from(day.saturating_mul(86_400)).unwrap_or(i64::MAX);
    Offset::UTC.to_datetime(Timestamp::from_second(second).unwrap_or(Timestamp::MAX)).date()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: u64 = 3600 * SECOND_NS;

    #[test]
    fn a_clock_has_the_captures_zone() {
        let conditions = CaptureConditions {
            began_unix_ns: Some(1_795_212_000 * SECOND_NS),
            zone: Some(TimeZone::fixed(3600, Some("CET"))),
            ..CaptureConditions::default()
        };
        let clock = CaptureClock::from_conditions(&conditions, None).unwrap();
        assert_eq!(clock.date_time(0), "2026-11-20 23:00:00");
        assert_eq!(clock.date_time(HOUR + 1_500_000_000), "2026-11-21 00:00:01.5");
        assert_eq!(clock.in_table(0, 60 * SECOND_NS, (0, HOUR / 2)), "23:00:00");
        assert_eq!(clock.in_table(0, SECOND_NS / 100, (0, HOUR)), "2026-11-20 23:00:00.00");
        let odd = 159_742_811;
        let texts = [10 * SECOND_NS, SECOND_NS / 10].map(|step| clock.in_table(odd, step, (0, 1)));
        assert_eq!(texts, ["23:00:00", "23:00:00.1"]);
        let utc = TimeZone::fixed(0, None);
        assert_eq!(
            CaptureClock::from_conditions(&conditions, Some(&utc)).unwrap().date_time(0),
            "2026-11-20 22:00:00"
        );
        assert_eq!(CaptureClock::from_conditions(&CaptureConditions::default(), None), None);
    }
}
