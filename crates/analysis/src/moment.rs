//! Points in time as a person writes them: a time from the beginning, a time of day, a date or an
//! event mark such as `backup-30s`.

use crate::clock::{CaptureClock, DAY_NS, SECOND_NS, date, hour_and_minute, time_of_day};
use jiff::civil::Date;
use jiff::tz::Offset;
use std::fmt;
use std::str::FromStr;
use steadfast_domain::text::excerpt;
use steadfast_domain::{CaptureConditions, Nanos, TimeZone};
use steadfast_tracefile::error::TraceError;

/// A point in time as a person writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Moment {
    /// A time from the beginning of the capture: `90min`, `2h5min`.
    After(Nanos),
    /// A time of day: `02:00`, `06:16:17.5`. In nanoseconds since midnight.
    TimeOfDay(u64),
    /// A date and a time of day, in nanoseconds since 1970 by the wall clock.
    Date(u64),
    /// An event mark, optionally with an offset: `backup`, `backup+5min`, `backup-30s`.
    Mark(String),
}

impl FromStr for Moment {
    type Err = TraceError;
    fn from_str(text: &str) -> Result<Self, TraceError> {
        let text = text.trim();
        if let Some(found) = parse_time_of_day(text) {
            return Ok(Moment::TimeOfDay(found));
        }
        if let Some(found) = parse_date(text) {
            return Ok(Moment::Date(found));
        }
        if let Some(found) = parse_duration(text) {
            return Ok(Moment::After(found));
        }
        if text.is_empty() || text.starts_with(|c: char| c.is_ascii_digit() || "+-".contains(c)) {
            return Err(TraceError::Unsuitable(format!(
                "'{text}' is not a moment; write 90min, 2h5min, 02:00, \"2026-11-21 06:16:17\" or \
                 the name of an event mark, such as backup+5min or backup-30s",
                text = excerpt(text)
            )));
        }
        Ok(Moment::Mark(text.to_owned()))
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Moment::After(time) => write!(f, "{time}"),
            Moment::TimeOfDay(ns) => f.write_str(&hour_and_minute(*ns)),
            Moment::Date(ns) => {
                write!(f, "{} {}", date(ns / DAY_NS), time_of_day(ns % DAY_NS, 0))
            }
            Moment::Mark(name) => f.write_str(name),
        }
    }
}

/// Parses `2h5min`, `90` or `1.5h`: numbers with units in sequence.
fn parse_duration(text: &str) -> Option<Nanos> {
    let mut rest = text.trim();
    let mut sum = Nanos::default();
    while !rest.is_empty() {
        let unit = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let next = rest[unit..].find(|c: char| c.is_ascii_digit()).map(|at| unit + at);
        let (one, more) = rest.split_at(next.unwrap_or(rest.len()));
        // A number may omit its unit only if it stands alone.
        let is_bare = one.trim().len() == unit;
        if unit == 0 || (is_bare && (next.is_some() || sum.0 > 0)) {
            return None;
        }
        sum = Nanos(sum.0.checked_add(one.trim().parse::<Nanos>().ok()?.0)?);
        rest = more.trim();
    }
    (!text.trim().is_empty()).then_some(sum)
}

/// Parses `02:00`, `6:16:17`, `06:16:17.25` or `24:00`.
fn parse_time_of_day(text: &str) -> Option<u64> {
    let mut parts = text.split(':');
    let (hours, minutes) = (number(parts.next()?)?, number(parts.next()?)?);
    let seconds_ns = match parts.next() {
        Some(seconds) => seconds_ns(seconds)?,
        None => 0,
    };
    let inside = hours < 24 && minutes < 60 && parts.next().is_none();
    let is_midnight = hours == 24 && minutes == 0 && seconds_ns == 0;
    (inside || is_midnight).then(|| (hours * 3600 + minutes * 60) * SECOND_NS + seconds_ns)
}

/// Parses one or two digits.
fn number(text: &str) -> Option<u64> {
    let is_number = (1..=2).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

/// Parses `17` or `17.25`, below 60, into nanoseconds.
fn seconds_ns(text: &str) -> Option<u64> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let whole = number(whole).filter(|seconds| *seconds < 60)?;
    if decimals.len() > 9 || !decimals.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let nanos: u64 = format!("{decimals:0<9}").parse().ok()?;
    Some(whole * SECOND_NS + nanos)
}

/// Parses `2026-11-21`, `2026-11-21 06:16:17` or `2026-11-21T06:16`.
fn parse_date(text: &str) -> Option<u64> {
    let (date, time) = text.split_once([' ', 'T']).unwrap_or((text, "00:00"));
    let mut parts = date.split('-');
    let year = parts.next().filter(|year| year.len() == 4)?.parse().ok()?;
    let (month, day) = (number(parts.next()?)? as i8, number(parts.next()?)? as i8);
    if parts.next().is_some() {
        return None;
    }
    let midnight = Date::new(year, month, day).ok()?.at(0, 0, 0, 0);
    let midnight_ns = Offset::UTC.to_timestamp(midnight).ok()?.as_nanosecond();
    u64::try_from(midnight_ns).ok()?.checked_add(parse_time_of_day(time.trim())?)
}

/// A resolver of [`Moment`]s within a capture.
#[derive(Debug, Clone)]
pub struct MomentResolver<'c> {
    conditions: &'c CaptureConditions,
    clock: Option<CaptureClock>,
    /// Beginning of the first capture on the axis, in nanoseconds; times from the beginning count
    /// from it.
    begin_ns: u64,
    end_ns: u64,
}

impl<'c> MomentResolver<'c> {
    /// Creates a resolver for a capture that lasts from `begin_ns` to `end_ns`.
    pub fn new(
        conditions: &'c CaptureConditions,
        zone: Option<&TimeZone>,
        (begin_ns, end_ns): (u64, u64),
    ) -> Self {
        MomentResolver {
            conditions,
            clock: CaptureClock::from_conditions(conditions, zone),
            begin_ns,
            end_ns,
        }
    }

    /// Returns the spans between two moments. Two times of day select that time on every day of the
    /// capture, and cross midnight if the second is not later than the first.
    ///
    /// # Errors
    /// Returns [`TraceError::Unsuitable`] if a moment is outside the capture or the second is not
    /// later than the first.
    pub fn spans(
        &self,
        from: Option<&Moment>,
        to: Option<&Moment>,
    ) -> Result<Vec<(u64, u64)>, TraceError> {
        if let (Some(Moment::TimeOfDay(from)), Some(Moment::TimeOfDay(to))) = (from, to) {
            return self.daily(*from, *to);
        }
        let from_ns = match from {
            Some(moment) => self.moment(moment, 0)?,
            None => 0,
        };
        let to_ns = match to {
            Some(moment) => self.moment(moment, from_ns.saturating_add(1))?,
            None => u64::MAX,
        };
        if from_ns >= to_ns {
            let text = |moment: Option<&Moment>| moment.map_or(String::new(), Moment::to_string);
            return Err(TraceError::Unsuitable(match from {
                Some(_) => {
                    format!("--from {} is not before --to {}; swap them", text(from), text(to))
                }
                None => format!("nothing lies before --to {}; choose a later end", text(to)),
            }));
        }
        Ok(vec![(from_ns, to_ns)])
    }

    /// Returns the capture time of a moment, in nanoseconds. A time of day or a mark that occurs
    /// several times gives its first occurrence at or after `least_ns`.
    ///
    /// # Errors
    /// Returns [`TraceError::Unsuitable`] with the reason if the capture has no such moment.
    pub fn moment(&self, moment: &Moment, least_ns: u64) -> Result<u64, TraceError> {
        match moment {
            Moment::After(time) => Ok(self.begin_ns.saturating_add(time.0)),
            Moment::TimeOfDay(time) => {
                let clock = self.clock()?;
                // The axis of several captures begins at the whole hour before the first of them.
                let least_ns = least_ns.max(self.begin_ns);
                let day = clock.day(least_ns);
                let found = (day..=day.saturating_add(1))
                    .filter_map(|day| day.checked_mul(DAY_NS)?.checked_add(*time))
                    .flat_map(|local| clock.moments_of(local))
                    .find(|at| *at >= least_ns);
                found.filter(|at| *at <= self.end_ns).ok_or_else(|| self.outside(moment))
            }
            Moment::Date(local) => {
                let clock = self.clock()?;
                // A day that began before the capture starts at its beginning.
                let found = clock.moments_of(*local).next().unwrap_or(0);
                let ended = found > self.end_ns;
                if ended { Err(self.outside(moment)) } else { Ok(found) }
            }
            Moment::Mark(text) => self.mark(text, least_ns),
        }
    }

    /// Resolves `backup`, `backup+5min` or `backup-30s`.
    fn mark(&self, text: &str, least_ns: u64) -> Result<u64, TraceError> {
        if let Some(at) = self.mark_named(text, least_ns) {
            return Ok(at);
        }
        let split = text.rfind(['+', '-']).map(|at| (&text[..at], &text[at..=at], &text[at + 1..]));
        if let Some((name, sign, offset)) = split
            && let Some(offset) = parse_duration(offset)
        {
            let least = if sign == "+" { least_ns.saturating_sub(offset.0) } else { least_ns };
            if let Some(at) = self.mark_named(name.trim_end(), least) {
                return Ok(match sign {
                    "+" => at.saturating_add(offset.0),
                    _ => at.saturating_sub(offset.0),
                });
            }
        }
        let names: Vec<&str> =
            self.conditions.marks.iter().map(|mark| mark.name.as_str()).collect();
        let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        Err(TraceError::Unsuitable(format!(
            "'{text}' is neither a time nor an event mark of the trace; its marks: {there}",
            text = excerpt(text)
        )))
    }

    /// Returns the first mark of a name at or after a time, or else the first mark of that name.
    fn mark_named(&self, name: &str, least_ns: u64) -> Option<u64> {
        let named = self.conditions.marks.iter().filter(|mark| mark.name == name);
        let mut times: Vec<u64> = named.map(|mark| mark.at_ns).collect();
        times.sort_unstable();
        times.iter().find(|at| **at >= least_ns).or(times.first()).copied()
    }

    fn daily(&self, from: u64, to: u64) -> Result<Vec<(u64, u64)>, TraceError> {
        let clock = self.clock()?;
        let lasts = if to > from { to - from } else { to + DAY_NS - from };
        let days = clock.day(0).saturating_sub(1)..=clock.day(self.end_ns);
        let spans = days.flat_map(|day| {
            let begin = day.saturating_mul(DAY_NS).saturating_add(from);
            clock.spans_of(begin, begin.saturating_add(lasts))
        });
        let spans: Vec<(u64, u64)> = spans.filter(|span| span.0 <= self.end_ns).collect();
        if spans.is_empty() { Err(self.outside(&Moment::TimeOfDay(from))) } else { Ok(spans) }
    }

    fn clock(&self) -> Result<&CaptureClock, TraceError> {
        self.clock.as_ref().ok_or_else(|| {
            let what = "the trace has no start time, so clock times are unavailable; give times \
                from its start, such as 90min";
            TraceError::Unsuitable(what.into())
        })
    }

    fn outside(&self, moment: &Moment) -> TraceError {
        let covers = self.clock.as_ref().map_or(String::new(), |clock| {
            format!(
                "; it covers {} to {}",
                clock.date_time(self.begin_ns),
                clock.date_time(self.end_ns)
            )
        });
        TraceError::Unsuitable(format!("the trace does not contain {moment}{covers}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::io_event::{Mark, TimeZoneChange};

    const HOUR: u64 = 3600 * SECOND_NS;

    /// Returns conditions that begin at 2026-11-20 23:00, an hour ahead of UTC, and last 50 hours.
    fn conditions() -> CaptureConditions {
        let mark = |at_ns, name: &str| Mark { at_ns, name: name.into() };
        CaptureConditions {
            began_unix_ns: Some(1_795_212_000 * SECOND_NS),
            zone: Some(TimeZone::fixed(3600, Some("CET"))),
            lasted_ns: 50 * HOUR,
            marks: vec![
                mark(3 * HOUR, "backup"),
                mark(27 * HOUR, "backup"),
                mark(5 * HOUR, "phase-2"),
            ],
            ..CaptureConditions::default()
        }
    }

    fn spans(from: &str, to: &str) -> Result<Vec<(u64, u64)>, String> {
        let conditions = conditions();
        let given = |text: &str| (!text.is_empty()).then(|| text.parse::<Moment>().unwrap());
        let resolver = MomentResolver::new(&conditions, None, (0, conditions.lasted_ns));
        let (from, to) = (given(from), given(to));
        resolver.spans(from.as_ref(), to.as_ref()).map_err(|error| error.to_string())
    }

    #[test]
    fn moments_are_read_as_people_write_them() {
        let second = SECOND_NS;
        for (text, moment) in [
            ("90min", Moment::After(Nanos(5400 * second))),
            ("90", Moment::After(Nanos(90 * second))),
            ("2h5min", Moment::After(Nanos(7500 * second))),
            ("1h 2min 3.5s", Moment::After(Nanos(3_723_500_000_000))),
            ("02:00", Moment::TimeOfDay(7200 * second)),
            ("6:16:17.25", Moment::TimeOfDay(22_577_250_000_000)),
            ("24:00", Moment::TimeOfDay(DAY_NS)),
            ("2026-11-21 06:16:17", Moment::Date(1_795_241_777 * second)),
            ("2026-11-21", Moment::Date(1_795_219_200 * second)),
            ("backup+5min", Moment::Mark("backup+5min".into())),
        ] {
            assert_eq!(text.parse::<Moment>().unwrap(), moment, "{text}");
        }
        for text in ["", "25:00", "02:60", "2026-02-30", "5 parsecs", "2h5", "-5s", "2:3:4:5"] {
            assert!(text.parse::<Moment>().is_err(), "{text}");
        }
    }

    #[test]
    fn dates_are_parsed_as_they_are_shown() {
        for (day, text) in
            [(0, "1970-01-01"), (59, "1970-03-01"), (11_016, "2000-02-29"), (47_540, "2100-02-28")]
        {
            assert_eq!(date(day).to_string(), text);
            assert_eq!(parse_date(text), Some(day * DAY_NS));
        }
        for bad in ["1969-12-31", "2100-02-29", "2026-04-31", "2026-00-01", "2600-01-01"] {
            assert_eq!(parse_date(bad), None, "{bad}");
        }
    }

    #[test]
    fn times_of_day_are_those_of_every_day() {
        let [a, b] = [3 * HOUR, 3 * HOUR + HOUR / 2];
        let daily = spans("02:00", "02:30").unwrap();
        assert_eq!(daily, [(a, b), (a + DAY_NS, b + DAY_NS)]);
        // Windows across midnight, including the night before the capture began.
        let nights = spans("22:00", "01:00").unwrap();
        assert_eq!(nights, [(0, 2 * HOUR), (23 * HOUR, 26 * HOUR), (47 * HOUR, 50 * HOUR)]);
        assert_eq!(spans("02:00", "").unwrap(), [(a, u64::MAX)]);
        assert_eq!(spans("1h", "02:00").unwrap(), [(HOUR, a)]);
        assert_eq!(spans("02:00", "4h").unwrap(), [(a, 4 * HOUR)]);
        assert_eq!(
            spans("2026-11-22 02:00", "2026-11-22 02:00:01").unwrap(),
            [(a + DAY_NS, a + DAY_NS + SECOND_NS)]
        );
    }

    #[test]
    fn marks_have_offsets_and_names_with_signs() {
        let minutes = 60 * SECOND_NS;
        let found = spans("backup+5min", "backup+10min").unwrap();
        assert_eq!(found, [(3 * HOUR + 5 * minutes, 3 * HOUR + 10 * minutes)]);
        assert_eq!(spans("backup-30s", "").unwrap(), [(3 * HOUR - minutes / 2, u64::MAX)]);
        assert_eq!(spans("backup", "backup").unwrap(), [(3 * HOUR, 27 * HOUR)]);
        assert_eq!(spans("phase-2", "").unwrap(), [(5 * HOUR, u64::MAX)]);
        let refused = spans("lunch", "").unwrap_err();
        assert!(refused.contains("'lunch'") && refused.contains("backup"), "{refused}");
        let refused = spans("2026-12-24", "").unwrap_err();
        assert!(refused.contains("2026-11-20 23:00:00 to 2026-11-23 01:00:00"), "{refused}");
        let refused = spans("2h", "1h").unwrap_err();
        assert!(refused.contains("--from 2 h is not before --to 1 h; swap them"), "{refused}");
        let without = CaptureConditions::default();
        let resolver = MomentResolver::new(&without, None, (0, HOUR));
        assert!(resolver.spans(Some(&Moment::TimeOfDay(0)), None).is_err());
    }

    /// Returns conditions that begin at noon and last three days. The clock changes in the first
    /// night, at 01:00 UTC (3:00 or 2:00 local time).
    fn with_change(
        noon_before_unix_s: u64,
        change: (u64, i32),
        offset_s: i32,
    ) -> CaptureConditions {
        let change = TimeZoneChange { at_unix_s: change.0, offset_s: change.1, name: None };
        CaptureConditions {
            began_unix_ns: Some(noon_before_unix_s * SECOND_NS),
            zone: Some(TimeZone { changes: vec![change], ..TimeZone::fixed(offset_s, None) }),
            lasted_ns: 72 * HOUR,
            ..CaptureConditions::default()
        }
    }

    #[test]
    fn a_night_on_which_summer_time_ends_has_an_hour_twice() {
        // 2026-10-24 12:00 CEST; at 2026-10-25 01:00 UTC it is 02:00 CET.
        let conditions = with_change(1_792_836_000, (1_792_890_000, 3600), 7200);
        let resolver = MomentResolver::new(&conditions, None, (0, conditions.lasted_ns));
        let span = |from: &str, to: &str| {
            let (from, to): (Moment, Moment) = (from.parse().unwrap(), to.parse().unwrap());
            resolver.spans(Some(&from), Some(&to)).unwrap()
        };
        let (minute, change) = (60 * SECOND_NS, 15 * HOUR);
        let next = [(39 * HOUR, 39 * HOUR + HOUR / 2), (63 * HOUR, 63 * HOUR + HOUR / 2)];
        // 02:00 to 02:30 is shown twice on that day.
        let twice = [(change - HOUR, change - HOUR / 2), (change, change + HOUR / 2)];
        assert_eq!(span("02:00", "02:30"), [&twice[..], &next].concat());
        // A window across the change has no gap.
        assert_eq!(span("01:30", "03:30")[0], (change - 90 * minute, change + 90 * minute));
        // A single moment is the first of the two.
        let first = span("2026-10-25 02:15", "2026-10-25 03:00");
        assert_eq!(first, [(change - 45 * minute, change + HOUR)]);
        let clock = CaptureClock::from_conditions(&conditions, None).unwrap();
        assert_eq!(clock.date_time(change - 1), "2026-10-25 02:59:59.999999999");
        assert_eq!(clock.date_time(change), "2026-10-25 02:00:00");
        let around = (change - HOUR, change + HOUR);
        assert_eq!(clock.in_table(change, minute, around), "02:00:00 +01:00");
        assert_eq!(clock.in_table(change - minute, minute, around), "02:59:00 +02:00");
        // In a fixed zone the clock shows every time once.
        let zone: TimeZone = "+01:00".parse().unwrap();
        let fixed = MomentResolver::new(&conditions, Some(&zone), (0, conditions.lasted_ns));
        let time = Some("02:15".parse::<Moment>().unwrap());
        let to = Some("02:30".parse::<Moment>().unwrap());
        let found = fixed.spans(time.as_ref(), to.as_ref()).unwrap();
        assert_eq!(found[0], (change + 15 * minute, change + 30 * minute));
    }

    #[test]
    fn a_night_on_which_summer_time_begins_lacks_an_hour() {
        // 2026-03-28 12:00 CET; at 2026-03-29 01:00 UTC it is 03:00 CEST.
        let conditions = with_change(1_774_695_600, (1_774_746_000, 7200), 3600);
        let resolver = MomentResolver::new(&conditions, None, (0, conditions.lasted_ns));
        let spans = |from: &str, to: &str| {
            let (from, to): (Moment, Moment) = (from.parse().unwrap(), to.parse().unwrap());
            resolver.spans(Some(&from), Some(&to))
        };
        let change = 14 * HOUR;
        // The clock did not show 02:00 to 02:30 on that day.
        let daily = spans("02:00", "02:30").unwrap();
        let next = 37 * HOUR;
        assert_eq!(daily, [(next, next + HOUR / 2), (next + DAY_NS, next + DAY_NS + HOUR / 2)]);
        assert_eq!(spans("01:30", "03:30").unwrap()[0], (change - HOUR / 2, change + HOUR / 2));
        // A skipped time is the moment of the change.
        let found = spans("2026-03-29 02:30", "2026-03-29 04:00").unwrap();
        assert_eq!(found, [(change, change + HOUR)]);
        assert!(spans("2026-03-29 02:10", "2026-03-29 02:50").is_err());
        let clock = CaptureClock::from_conditions(&conditions, None).unwrap();
        assert_eq!(clock.date_time(change), "2026-03-29 03:00:00");
        // A change before the capture holds from its beginning.
        let mut later = conditions.clone();
        later.began_unix_ns = Some(1_774_800_000 * SECOND_NS);
        let clock = CaptureClock::from_conditions(&later, None).unwrap();
        assert_eq!((clock.periods().len(), clock.zone(0).offset_s), (1, 7200));
    }
}
