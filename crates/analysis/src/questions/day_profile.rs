//! The day profile of a capture: the load by time of day, over all days of the capture.

use crate::cells::{Dimensions, FilteredCells};
use crate::clock::{CaptureClock, DAY_NS, hour_and_minute};
use crate::columns::{ColumnValue::*, ListingColumn, ValueFormat::*, columns, json_columns};
use crate::cube::CellSums;
use crate::fold::{AnnotatedRows, Fold};
use crate::sums::io_sums::{IoSums, SumColumns};
use crate::sums::step_width::check_is_multiple;
use std::collections::BTreeMap;
use std::mem;
use std::ops::Range;
use steadfast_domain::Nanos;
use steadfast_tracefile::error::TraceError;
use steadfast_tracefile::not_recorded::NotRecorded;
use steadfast_tracefile::observed_time::ObservedTime;
use steadfast_tracefile::parquet::{Field, Fields};

/// Maximum number of intervals of all days together.
const INTERVALS_MAX: usize = 1 << 18;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct DayInterval {
    /// Day, as the clock counts them.
    day: u64,
    number: u64,
}

/// The days of a capture, divided into intervals.
#[derive(Debug, Clone, PartialEq)]
pub struct DayProfile {
    clock: CaptureClock,
    width_ns: u64,
    intervals: BTreeMap<DayInterval, IoSums>,
}

impl DayProfile {
    /// Creates an empty profile with intervals of `width_ns` nanoseconds by a clock.
    ///
    /// # Errors
    /// Returns [`TraceError::TooFine`] if the width does not divide a day.
    pub fn new(clock: CaptureClock, width_ns: u64) -> Result<Self, TraceError> {
        if width_ns == 0 || !DAY_NS.is_multiple_of(width_ns) {
            let what = format!(
                "intervals of {} do not divide a day; choose 1h, 30min, 15min or 5min",
                Nanos(width_ns)
            );
            return Err(TraceError::TooFine(what));
        }
        Ok(DayProfile { clock, width_ns, intervals: BTreeMap::new() })
    }

    /// Returns the sums of the interval that contains a time.
    fn at(&mut self, at_ns: u64) -> Result<&mut IoSums, TraceError> {
        let number = self.clock.time_of_day_ns(at_ns) / self.width_ns;
        self.interval(DayInterval { day: self.clock.day(at_ns), number })
    }

    fn interval(&mut self, key: DayInterval) -> Result<&mut IoSums, TraceError> {
        if self.intervals.len() >= INTERVALS_MAX && !self.intervals.contains_key(&key) {
            let what =
                format!("more than {INTERVALS_MAX} intervals; choose wider ones with --step");
            return Err(TraceError::TooFine(what));
        }
        Ok(self.intervals.entry(key).or_default())
    }

    /// Adds sums of I/Os, if there are any, to the interval of a time.
    fn add_sums(&mut self, at_ns: u64, sums: &IoSums) -> Result<(), TraceError> {
        if sums.span_ns.is_some() {
            self.at(at_ns)?.merge(sums);
        }
        Ok(())
    }

    /// Returns the times around a time that belong to the same interval of the same day.
    fn interval_around(&self, at_ns: u64) -> Range<u64> {
        let number = self.clock.time_of_day_ns(at_ns) / self.width_ns;
        let spans = self.spans_of(DayInterval { day: self.clock.day(at_ns), number });
        let span = spans.into_iter().find(|(from, to)| (*from..*to).contains(&at_ns));
        span.map_or(at_ns..at_ns.saturating_add(1), |(from, to)| from..to)
    }

    /// Returns the times at which the clock shows an interval.
    fn spans_of(&self, DayInterval { day, number }: DayInterval) -> Vec<(u64, u64)> {
        let begin = day.saturating_mul(DAY_NS).saturating_add(number * self.width_ns);
        self.clock.spans_of(begin, begin.saturating_add(self.width_ns))
    }

    /// Returns one row per interval of the day that was observed.
    pub fn listing(&self, observed: &ObservedTime) -> Vec<ProfileFigures> {
        let numbers = 0..DAY_NS / self.width_ns;
        numbers.filter_map(|number| self.figures(number, observed)).collect()
    }

    fn figures(&self, number: u64, observed: &ObservedTime) -> Option<ProfileFigures> {
        let (first, last) = (observed.first_ns()?, observed.end_ns()?);
        let mut sums = IoSums::default();
        let mut observed_ns = 0u64;
        let mut days = 0;
        let mut rates = Vec::new();
        for day in self.clock.day(first)..=self.clock.day(last) {
            let interval = DayInterval { day, number };
            let observed_on_day_ns = observed.within(&self.spans_of(interval)).total_ns();
            if observed_on_day_ns == 0 {
                continue;
            }
            let found = self.intervals.get(&interval);
            days += 1;
            observed_ns = observed_ns.saturating_add(observed_on_day_ns);
            // A day on which the interval was observed only briefly must not count as quietest or
            // busiest.
            if observed_on_day_ns >= self.width_ns / 2 {
                let ios = found.map_or(0, IoSums::count);
                rates.push(ios as f64 * 1e9 / observed_on_day_ns as f64);
            }
            if let Some(found) = found {
                sums.merge(found);
            }
        }
        (days > 0).then(|| ProfileFigures {
            begin_ns: number * self.width_ns,
            days,
            observed_ns,
            iops_least: rates.iter().copied().reduce(f64::min),
            iops_most: rates.iter().copied().reduce(f64::max),
            sums,
        })
    }
}

impl Fold for DayProfile {
    fn fields(&self) -> Fields {
        Fields::new(&[Field::Issued, Field::Op, Field::Bytes, Field::Response])
    }
    fn take(&mut self, rows: &AnnotatedRows<'_>) -> Result<(), TraceError> {
        // Consecutive I/Os mostly fall into the same interval, which is looked up once for all.
        let columns = SumColumns::new(rows, false);
        let mut interval_ns = 0..0;
        let mut sums = IoSums::default();
        for row in rows.iter() {
            let at_ns = rows.batch.issued_ns(row);
            if !interval_ns.contains(&at_ns) {
                self.add_sums(interval_ns.start, &mem::take(&mut sums))?;
                interval_ns = self.interval_around(at_ns);
            }
            sums.add(&columns, row);
        }
        self.add_sums(interval_ns.start, &sums)
    }
    fn new_part(&self) -> Option<Self> {
        Some(DayProfile {
            clock: self.clock.clone(),
            width_ns: self.width_ns,
            intervals: BTreeMap::new(),
        })
    }
    fn check_dimensions(&self, _: Dimensions) -> Result<(), NotRecorded> {
        Ok(())
    }
    fn take_cells(&mut self, cells: &FilteredCells<'_>) -> Result<(), TraceError> {
        check_is_multiple(self.width_ns, cells.step_ns)?;
        for cell in cells.cells {
            self.at(cell.begin_ns)?.add_cell(cell, cells.dimensions.single_ios, false);
        }
        Ok(())
    }
    fn merge(&mut self, other: Self) -> Result<(), TraceError> {
        other.intervals.into_iter().try_for_each(|(key, sums)| {
            self.interval(key)?.absorb(sums);
            Ok(())
        })
    }
}

/// One interval of the day.
#[derive(Debug, Clone, PartialEq)]
pub struct ProfileFigures {
    /// Start, in nanoseconds after midnight.
    pub begin_ns: u64,
    /// Number of days on which the interval was observed, in full or in part.
    pub days: u64,
    /// Observed time over all days, in nanoseconds.
    pub observed_ns: u64,
    /// I/Os per second on the quietest of the days on which at least half of the interval was
    /// observed; `None` if there is no such day.
    pub iops_least: Option<f64>,
    /// I/Os per second on the busiest of these days.
    pub iops_most: Option<f64>,
    /// Sums over the I/Os of all days.
    pub sums: IoSums,
}

impl ProfileFigures {
    /// Returns the I/Os per second of observed time.
    pub fn iops(&self) -> f64 {
        self.per_second(self.sums.count())
    }

    fn per_second(&self, amount: u64) -> f64 {
        amount as f64 / (self.observed_ns as f64 / 1e9)
    }
}

json_columns! {
    ProfileFigures;
    /// Start of the interval, as hour and minute.
    BEGIN = "time", "Time", Plain(0), Text(|p| hour_and_minute(p.begin_ns));
    /// Start of the interval, in nanoseconds after midnight.
    BEGIN_NS = "begin_ns", "ns", Plain(0), Whole(|p| p.begin_ns);
    /// Days on which the interval was observed, in full or in part.
    DAYS = "days", "days", Plain(0), Whole(|p| p.days);
    /// Observed time over all days.
    OBSERVED = "observed_ns", "seconds", Seconds, Whole(|p| p.observed_ns);
    /// I/Os of all days.
    COUNT = "count", "I/Os", Plain(0), Whole(|p| p.sums.count());
    /// I/Os per second of observed time.
    IOPS = "iops", "IOPS", Plain(1), Real(|p| p.iops());
    /// I/Os per second on the quietest day; null if no day was half observed.
    LEAST = "iops_least", "least", Plain(1), MaybeReal(|p| p.iops_least);
    /// I/Os per second on the busiest day; null if no day was half observed.
    MOST = "iops_most", "most", Plain(1), MaybeReal(|p| p.iops_most);
    /// Data read and written.
    MBS = "bytes_per_second", "MB/s", Megabytes(3), Real(|p| p.per_second(p.sums.transfers().bytes));
    /// Share of reads among reads and writes; null without them.
    READS = "read_share", "reads %", Percent(1), MaybeReal(|p| p.sums.read_share());
    /// Average response time.
    ART = "response_mean_ns", "ART ms", Milliseconds, MaybeWhole(|p| p.sums.times.responses.total.mean_ns());
    /// Longest response time.
    MRT = "response_max_ns", "MRT ms", Milliseconds, MaybeWhole(|p| p.sums.times.responses.total.longest_ns());
}

type ProfileColumn = ListingColumn<ProfileFigures>;

impl ProfileFigures {
    /// Columns of a terminal's table.
    pub const TABLE: [ProfileColumn; 11] =
        columns![BEGIN, DAYS, OBSERVED, COUNT, IOPS, LEAST, MOST, MBS, READS, ART, MRT];
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::AnnotatedBatch;
    use steadfast_domain::io_event::TimeZoneChange;
    use steadfast_domain::random_bits::mix64;
    use steadfast_domain::{CaptureConditions, IoEvent, IoOp, TimeZone};

    const HOUR_NS: u64 = DAY_NS / 24;

    /// Three days around the end of daylight-saving time.
    fn clock() -> CaptureClock {
        let change_s = 1_761_440_400;
        let change = |at_unix_s, offset_s| TimeZoneChange { at_unix_s, offset_s, name: None };
        let changes = vec![change(change_s, 3600), change(change_s + 86_400, 5400)];
        let conditions = CaptureConditions {
            began_unix_ns: Some((change_s - 86_400) * 1_000_000_000),
            zone: Some(TimeZone { offset_s: 7200, name: None, changes }),
            ..CaptureConditions::default()
        };
        CaptureClock::from_conditions(&conditions, None).unwrap()
    }

    #[test]
    fn an_io_is_of_the_interval_that_the_clock_shows_whatever_came_before() {
        let one = |at: u64| IoEvent {
            issued_ns: at * 1_009 * 1_000_000_000 % (3 * DAY_NS),
            bytes: 512,
            response_ns: mix64(at) % 7_000,
            op: if at.is_multiple_of(3) { IoOp::Write } else { IoOp::Read },
            ..IoEvent::default()
        };
        let ios: Vec<IoEvent> = (0..2_003).map(one).collect();
        for width_ns in [HOUR_NS, HOUR_NS * 6, HOUR_NS / 60] {
            let mut found = DayProfile::new(clock(), width_ns).unwrap();
            let batch = AnnotatedBatch::from_events(&ios);
            let rows = batch.rows();
            found.take(&rows).unwrap();
            let mut one_by_one = DayProfile::new(clock(), width_ns).unwrap();
            let columns = SumColumns::new(&rows, false);
            for (row, io) in ios.iter().enumerate() {
                one_by_one.at(io.issued_ns).unwrap().add(&columns, row);
            }
            assert_eq!(found, one_by_one);
        }
    }
}
