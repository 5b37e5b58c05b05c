//! The three segments minute by minute, and when the last one recovered.

use super::setup::{Segment, Xsr};
use crate::ground::attempts::{attempt_of, current_attempt, last_attempt};
use crate::ground::secondary::{Secondary, mean};
use crate::pts::between::minutes;
use steadfast_domain::step::is_whole;
use steadfast_domain::{Measurement, Nanos, Outcome, Record, Step};

/// Minutes over which the end of a segment is averaged: our choice.
const END_MINUTES: usize = 5;

/// Percent of the first segment's average that a drive reaches before it oscillates around
/// that average: about half of the first segment's own steps are below it. Ours.
pub const NEARLY: u8 = 95;

/// Everything that the exhibits are made of.
pub struct Results<'a> {
    /// One per segment, in order.
    pub segments: Vec<SegmentResult<'a>>,
    /// When the last segment recovered.
    pub recovery: Recovery,
    /// When it reached [`NEARLY`] of what counts as recovered.
    pub nearly: Recovery,
    /// When it came into the range of the first segment's own steps.
    pub within_range: Recovery,
}

/// Whether and when the last segment reached the first one's throughput.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Recovery {
    /// The last segment is not measured.
    NotMeasured,
    /// It never did while it ran.
    NotYet,
    /// In this minute of the segment, the first being 1 (in units of a minute,
    /// whatever the length of a step): the end of the first step that did.
    After(f64),
}

/// A segment's minutes.
pub struct SegmentResult<'a> {
    /// Which.
    pub segment: Segment,
    /// Its minutes.
    pub minutes: Vec<Minute>,
    /// Its steps.
    pub steps: Vec<(&'a Step, &'a Outcome)>,
}

/// One minute.
#[derive(Debug, Clone, PartialEq)]
pub struct Minute {
    /// Time since the first segment began, at its end, in minutes.
    pub time: f64,
    /// MB (10^6 bytes) per second.
    pub mb_per_second: Option<f64>,
    /// Average response time in ms.
    pub art: Option<f64>,
    /// Maximum response time in ms.
    pub mrt: Option<f64>,
}

impl<'a> Results<'a> {
    /// The results of a record: those of the last attempt.
    pub fn of(xsr: &Xsr, record: &'a Record) -> Self {
        let mut time = Nanos::ZERO;
        let current = current_attempt(record);
        let segments: Vec<SegmentResult<'a>> = xsr
            .segments
            .iter()
            .map(|segment| {
                let steps: Vec<_> = last_attempt(record, segment.phase)
                    .into_iter()
                    .filter(|(step, _)| attempt_of(&step.place.phase) == current)
                    .collect();
                let minutes = steps
                    .iter()
                    .map(|(_, outcome)| {
                        time += outcome.measurement.elapsed;
                        minute(&outcome.measurement, time)
                    })
                    .collect();
                SegmentResult { segment: segment.clone(), minutes, steps }
            })
            .collect();
        let average = segments.first().and_then(SegmentResult::average);
        let percent = |level: u8| average.map(|rate| rate * (f64::from(level) / 100.0));
        let lowest = segments.first().and_then(SegmentResult::lowest);
        Results {
            recovery: recovery(&segments, percent(xsr.recovery_level)),
            nearly: recovery(&segments, percent(NEARLY)),
            within_range: recovery(&segments, lowest),
            segments,
        }
    }

    /// The minute at which a segment begins, 0 being the first.
    pub fn begins(&self, index: usize) -> f64 {
        let before = self.segments[..index].iter().rev();
        before.filter_map(|s| s.minutes.last()).map(|m| m.time).next().unwrap_or(0.0)
    }

    /// Every minute of every segment.
    pub fn all(&self) -> impl Iterator<Item = &Minute> {
        self.segments.iter().flat_map(|segment| &segment.minutes)
    }
}

fn minute(measurement: &Measurement, time: Nanos) -> Minute {
    let total = measurement.total();
    let ms = |time: Option<Nanos>| time.map(Nanos::as_millis_f64);
    Minute {
        time: minutes(time),
        mb_per_second: measurement.mb_per_second(),
        art: total.response_mean_ms(),
        mrt: ms(total.response_longest()),
    }
}

/// When the last segment first had so many MB/s.
fn recovery(segments: &[SegmentResult<'_>], wanted: Option<f64>) -> Recovery {
    let [_, .., last] = segments else { return Recovery::NotMeasured };
    let (Some(wanted), false) = (wanted, last.minutes.is_empty()) else {
        return Recovery::NotMeasured;
    };
    let mut passed = Nanos::ZERO;
    for ((_, outcome), minute) in last.steps.iter().zip(&last.minutes) {
        passed += outcome.measurement.elapsed;
        if minute.mb_per_second.is_some_and(|rate| rate >= wanted) {
            return Recovery::After(minutes(passed));
        }
    }
    Recovery::NotYet
}

impl SegmentResult<'_> {
    /// MB/s over the whole segment: bytes through time.
    pub fn average(&self) -> Option<f64> {
        let bytes: u64 = self.steps.iter().map(|(_, o)| o.measurement.bytes().0).sum();
        let time: u64 = self.steps.iter().map(|(_, o)| o.measurement.elapsed.0).sum();
        (time > 0).then(|| bytes as f64 / 1e6 / Nanos(time).as_secs_f64())
    }

    /// MB/s of the slowest whole step; a shorter last one is none.
    fn lowest(&self) -> Option<f64> {
        let longest = self.steps.iter().map(|(_, o)| o.measurement.elapsed).max()?;
        let rates = self.steps.iter().filter(|(_, o)| is_whole(o.measurement.elapsed, longest));
        rates.filter_map(|(_, o)| o.measurement.mb_per_second()).min_by(f64::total_cmp)
    }

    /// MB/s over the last minutes.
    pub fn end(&self) -> Option<f64> {
        let from = self.minutes.len().saturating_sub(END_MINUTES);
        mean(self.minutes[from..].iter().map(|minute| minute.mb_per_second))
    }

    /// The highest of the minutes' averages, in ms.
    pub fn peak_art(&self) -> Option<f64> {
        peak(self.minutes.iter().map(|minute| minute.art))
    }

    /// The longest response time, in ms.
    pub fn peak_mrt(&self) -> Option<f64> {
        peak(self.minutes.iter().map(|minute| minute.mrt))
    }

    /// What was sensed.
    pub fn secondary(&self) -> Secondary {
        let measurements: Vec<&Measurement> =
            self.steps.iter().map(|(_, o)| &o.measurement).collect();
        Secondary::of(&measurements)
    }
}

fn peak(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    values.flatten().max_by(f64::total_cmp)
}
