//! Clock time: a capture's moments as the clock on its host's wall showed them, and
//! moments as a person gives them ([`Moment`]): a time from the beginning, a time of
//! day, a date, an event mark.

use crate::error::TraceError;
use std::fmt;
use std::str::FromStr;
use steadfast_domain::{CaptureConditions, Nanos, Zone};

const SECOND_NS: u64 = 1_000_000_000;
/// A day on the clock: a zone's change of summer time is not followed.
pub const DAY_NS: u64 = 86_400 * SECOND_NS;

/// Turns a capture's moments into clock time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock {
    /// The capture's beginning in nanoseconds since 1970, on the clock's wall.
    local_begin_ns: u64,
}

impl Clock {
    /// The clock of a capture, in the zone given, in its own, or in UTC; `None` where
    /// the capture does not tell when it began.
    pub fn of(conditions: &CaptureConditions, zone: Option<&Zone>) -> Option<Clock> {
        let offset = zone.or(conditions.zone.as_ref()).map_or(0, |zone| zone.offset_s);
        let began = conditions.began_unix_ns?;
        let offset_ns = i64::from(offset).checked_mul(1_000_000_000)?;
        began.checked_add_signed(offset_ns).map(|local_begin_ns| Clock { local_begin_ns })
    }

    /// Time of day at a moment of the capture, in nanoseconds from midnight.
    pub fn time_of_day_ns(&self, at_ns: u64) -> u64 {
        self.local_ns(at_ns) % DAY_NS
    }

    /// Days from 1970 to a moment of the capture.
    pub fn day(&self, at_ns: u64) -> u64 {
        self.local_ns(at_ns) / DAY_NS
    }

    /// The moment of the capture of a time on the clock; `None` before its beginning.
    pub fn moment_of(&self, day: u64, time_of_day_ns: u64) -> Option<u64> {
        let local = day.checked_mul(DAY_NS)?.checked_add(time_of_day_ns)?;
        local.checked_sub(self.local_begin_ns)
    }

    fn local_ns(&self, at_ns: u64) -> u64 {
        self.local_begin_ns.saturating_add(at_ns)
    }

    /// `2026-11-21 06:16:17`, with as many decimals as are not 0.
    pub fn date_time(&self, at_ns: u64) -> String {
        format!("{} {}", date(self.day(at_ns)), time_of_day(self.time_of_day_ns(at_ns), 0))
    }

    /// A moment as a table of such steps has it: `06:16:17`, with the date where the
    /// table is longer than a day or passes midnight.
    pub fn in_table(&self, at_ns: u64, step_ns: u64, span_ns: (u64, u64)) -> String {
        let time = time_of_day(self.time_of_day_ns(at_ns), decimals(step_ns));
        match self.day(span_ns.0) == self.day(span_ns.1) {
            true => time,
            false => format!("{} {time}", date(self.day(at_ns))),
        }
    }
}

/// Decimals of a second that tell steps of a width apart.
fn decimals(step_ns: u64) -> usize {
    let units = std::iter::successors(Some(SECOND_NS), |unit| Some(unit / 10)).take(10);
    units.take_while(|unit| !step_ns.is_multiple_of(*unit)).count()
}

/// `06:16:17`, with at least so many decimals.
fn time_of_day(ns: u64, least: usize) -> String {
    let (seconds, rest) = (ns / SECOND_NS, ns % SECOND_NS);
    let text = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    let shown = least.max(if rest == 0 { 0 } else { decimals(rest) });
    match shown {
        0 => text,
        digits => format!("{text}.{}", &format!("{rest:09}")[..digits]),
    }
}

/// `06:16`, or `06:16:17` where there are seconds: a time of day in a title.
pub fn hour_and_minute(ns: u64) -> String {
    let text = time_of_day(ns, 0);
    if ns.is_multiple_of(60 * SECOND_NS) { text[..5].to_owned() } else { text }
}

/// The civil date of a day counted from 1970 (Hinnant's algorithm, days counted from
/// 0000-03-01 in eras of 400 years).
fn date(day: u64) -> String {
    let shifted = day + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (year, month) = match month < 10 {
        true => (year_of_era + era * 400, month + 3),
        false => (year_of_era + era * 400 + 1, month - 9),
    };
    format!("{year:04}-{month:02}-{day:02}")
}

/// The day of a civil date, counted from 1970; `None` where there is no such date.
fn day_of(year: u64, month: u64, day: u64) -> Option<u64> {
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let (year, month_from_march) =
        if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (era, year_of_era) = (year / 400, year % 400);
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    let found = (era * 146_097 + day_of_era).checked_sub(719_468)?;
    // 31 April is 1 May to the formula.
    date(found).ends_with(&format!("-{day:02}")).then_some(found)
}

/// A moment as a person gives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Moment {
    /// Counted from the beginning: `90min`, `2h5min`.
    After(Nanos),
    /// A time of day: `02:00`, `06:16:17.5`. Nanoseconds from midnight.
    TimeOfDay(u64),
    /// A date and a time of day, in nanoseconds since 1970 on the clock's wall.
    Date(u64),
    /// An event mark, perhaps with an offset: `backup`, `backup+5min`, `backup-30s`.
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
                 the name of an event mark, such as backup+5min"
            )));
        }
        Ok(Moment::Mark(text.to_owned()))
    }
}

impl Moment {
    /// As it reads back exactly.
    pub fn written(&self) -> String {
        match self {
            Moment::After(time) => format!("{}ns", time.0),
            Moment::TimeOfDay(ns) => time_of_day(*ns, 0),
            Moment::Date(_) | Moment::Mark(_) => self.to_string(),
        }
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

/// `2h5min`, `90`, `1.5h`: numbers with units, one after the other.
fn parse_duration(text: &str) -> Option<Nanos> {
    let mut rest = text.trim();
    let mut sum = Nanos::default();
    while !rest.is_empty() {
        let unit = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let next = rest[unit..].find(|c: char| c.is_ascii_digit()).map(|at| unit + at);
        let (one, more) = rest.split_at(next.unwrap_or(rest.len()));
        // Of several parts each has its unit.
        let is_bare = one.trim().len() == unit;
        if unit == 0 || (is_bare && (next.is_some() || sum.0 > 0)) {
            return None;
        }
        sum = Nanos(sum.0.checked_add(one.trim().parse::<Nanos>().ok()?.0)?);
        rest = more.trim();
    }
    (!text.trim().is_empty()).then_some(sum)
}

/// `02:00`, `6:16:17`, `06:16:17.25`, also `24:00`.
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

/// One or two digits.
fn number(text: &str) -> Option<u64> {
    let is_number = (1..=2).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

/// `17` or `17.25`, below 60.
fn seconds_ns(text: &str) -> Option<u64> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let whole = number(whole).filter(|seconds| *seconds < 60)?;
    if decimals.len() > 9 || !decimals.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let nanos: u64 = format!("{decimals:0<9}").parse().ok()?;
    Some(whole * SECOND_NS + nanos)
}

/// `2026-11-21`, `2026-11-21 06:16:17`, `2026-11-21T06:16`.
fn parse_date(text: &str) -> Option<u64> {
    let (date, time) = text.split_once([' ', 'T']).unwrap_or((text, "00:00"));
    let mut parts = date.split('-');
    let year = parts.next().filter(|year| year.len() == 4)?.parse().ok()?;
    let (month, day) = (number(parts.next()?)?, number(parts.next()?)?);
    if parts.next().is_some() {
        return None;
    }
    let day = day_of(year, month, day)?;
    day.checked_mul(DAY_NS)?.checked_add(parse_time_of_day(time.trim())?)
}

/// Where moments are looked for.
#[derive(Debug, Clone, Copy)]
pub struct Calendar<'c> {
    conditions: &'c CaptureConditions,
    clock: Option<Clock>,
    /// What `90min` counts from, in the capture's time.
    origin_ns: u64,
    /// The capture's end.
    end_ns: u64,
}

impl<'c> Calendar<'c> {
    /// That of a capture that ends then.
    pub fn of(conditions: &'c CaptureConditions, zone: Option<&Zone>, end_ns: u64) -> Self {
        Calendar { conditions, clock: Clock::of(conditions, zone), origin_ns: 0, end_ns }
    }

    /// The same where times without a clock count from another moment.
    pub fn counted_from(self, origin_ns: u64) -> Self {
        Calendar { origin_ns, ..self }
    }

    /// The times from one moment to another. Two times of day are those of every day
    /// of the capture; past midnight where the second is not later than the first.
    ///
    /// # Errors
    /// Where a moment is not in the capture, or the second does not come after the first.
    pub fn spans(
        &self,
        from: Option<&Moment>,
        to: Option<&Moment>,
    ) -> Result<Vec<(u64, u64)>, TraceError> {
        if let (Some(Moment::TimeOfDay(from)), Some(Moment::TimeOfDay(to))) = (from, to) {
            return self.daily(*from, *to);
        }
        let from_ns = match from {
            Some(moment) => self.moment(moment, self.origin_ns)?,
            None => 0,
        };
        let to_ns = match to {
            Some(moment) => self.moment(moment, from_ns.saturating_add(1))?,
            None => u64::MAX,
        };
        if from_ns >= to_ns {
            let told = |moment: Option<&Moment>| moment.map_or(String::new(), Moment::to_string);
            return Err(TraceError::Unsuitable(format!(
                "--from {} is not before --to {}; swap them",
                told(from),
                told(to)
            )));
        }
        Ok(vec![(from_ns, to_ns)])
    }

    /// One moment of the capture: of several the first at or after `least_ns`.
    ///
    /// # Errors
    /// Where there is none: why.
    pub fn moment(&self, moment: &Moment, least_ns: u64) -> Result<u64, TraceError> {
        match moment {
            Moment::After(time) => Ok(self.origin_ns.saturating_add(time.0)),
            Moment::TimeOfDay(time) => {
                let clock = self.clock()?;
                let day = clock.day(least_ns);
                let found = (day..=day.saturating_add(1))
                    .filter_map(|day| clock.moment_of(day, *time))
                    .find(|at| *at >= least_ns);
                found.filter(|at| *at <= self.end_ns).ok_or_else(|| self.outside(moment))
            }
            Moment::Date(local) => {
                let clock = self.clock()?;
                // A day that began before the capture is its beginning.
                let found = clock.moment_of(0, *local).unwrap_or(0);
                let ended = found > self.end_ns;
                if ended { Err(self.outside(moment)) } else { Ok(found) }
            }
            Moment::Mark(text) => self.mark(text, least_ns),
        }
    }

    /// `backup`, or `backup+5min`.
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
            "'{text}' is neither a time nor an event mark of the trace; its marks: {there}"
        )))
    }

    /// The first mark of a name at or after a moment, or the first of all.
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
        let spans = days.filter_map(|day| {
            let begin = day.checked_mul(DAY_NS)?.checked_add(from)?;
            let end = begin.checked_add(lasts)?.checked_sub(clock.local_begin_ns)?;
            let begin = begin.saturating_sub(clock.local_begin_ns);
            (begin < end && begin <= self.end_ns).then_some((begin, end))
        });
        let spans: Vec<(u64, u64)> = spans.collect();
        match spans.is_empty() {
            true => Err(self.outside(&Moment::TimeOfDay(from))),
            false => Ok(spans),
        }
    }

    fn clock(&self) -> Result<Clock, TraceError> {
        self.clock.ok_or_else(|| {
            let what = "the trace has no start time, so clock times are unavailable; give times \
                from its start, such as 90min";
            TraceError::Unsuitable(what.into())
        })
    }

    fn outside(&self, moment: &Moment) -> TraceError {
        let covers = self.clock.map_or(String::new(), |clock| {
            format!("; it covers {} to {}", clock.date_time(0), clock.date_time(self.end_ns))
        });
        TraceError::Unsuitable(format!("the trace does not contain {moment}{covers}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::io_event::Mark;

    const HOUR: u64 = 3600 * SECOND_NS;

    /// From 2026-11-20 23:00 on a clock an hour ahead of UTC, for 50 hours.
    fn conditions() -> CaptureConditions {
        let mark = |at_ns, name: &str| Mark { at_ns, name: name.into() };
        CaptureConditions {
            began_unix_ns: Some(1_795_212_000 * SECOND_NS),
            zone: Some(Zone { offset_s: 3600, name: Some("CET".into()) }),
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
        let calendar = Calendar::of(&conditions, None, conditions.lasted_ns);
        let (from, to) = (given(from), given(to));
        calendar.spans(from.as_ref(), to.as_ref()).map_err(|error| error.to_string())
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
            assert_eq!(moment.written().parse::<Moment>().unwrap(), moment, "{text}");
        }
        for text in ["", "25:00", "02:60", "2026-02-30", "5 parsecs", "2h5", "-5s", "2:3:4:5"] {
            assert!(text.parse::<Moment>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_clock_has_the_captures_zone() {
        let clock = Clock::of(&conditions(), None).unwrap();
        assert_eq!(clock.date_time(0), "2026-11-20 23:00:00");
        assert_eq!(clock.date_time(HOUR + 1_500_000_000), "2026-11-21 00:00:01.5");
        assert_eq!(clock.in_table(0, 60 * SECOND_NS, (0, HOUR / 2)), "23:00:00");
        assert_eq!(clock.in_table(0, SECOND_NS / 100, (0, HOUR)), "2026-11-20 23:00:00.00");
        let utc = Zone { offset_s: 0, name: None };
        assert_eq!(
            Clock::of(&conditions(), Some(&utc)).unwrap().date_time(0),
            "2026-11-20 22:00:00"
        );
        assert_eq!(Clock::of(&CaptureConditions::default(), None), None);
        for day in [0, 59, 60, 11_016, 20_783, 47_540] {
            let parts: Vec<u64> = date(day).split('-').map(|part| part.parse().unwrap()).collect();
            assert_eq!(day_of(parts[0], parts[1], parts[2]), Some(day));
        }
    }

    #[test]
    fn times_of_day_are_those_of_every_day() {
        let [a, b] = [3 * HOUR, 3 * HOUR + HOUR / 2];
        let daily = spans("02:00", "02:30").unwrap();
        assert_eq!(daily, [(a, b), (a + DAY_NS, b + DAY_NS)]);
        // Past midnight, and the night before the capture began.
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
        let calendar = Calendar::of(&without, None, HOUR);
        assert!(calendar.spans(Some(&Moment::TimeOfDay(0)), None).is_err());
    }
}
