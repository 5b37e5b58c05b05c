//! Fill: the whole drive written after a purge, where its rate drops, and how much of the fast
//! amount returns when it is idle. It is our own test, not a method of the PTS.
//!
//! For every fill level: purge; at level 0 the whole active range is written; at another level so
//! many percent of it are written, the drive rests for the longest idle time, and the same part is
//! written again, which leaves the drive as full as it was. Then for every idle time the drive is
//! idle and written again, past the amount that can have returned. Last, what was just written is
//! read, and what was written long ago.
//!
//! A gap in the writes of a level restarts the level with its purge. A gap after an idle time
//! repeats that idle time. If the gap was inside the writes, the drive was idle during it: writes
//! of their own first use up what returned then.

mod curve;
mod exhibits;
mod results;
mod setup;
#[cfg(test)]
mod tests;

pub use setup::{DriveFill, PARAMETERS};

use crate::common::attempts::repeat_until_unbroken;
use crate::common::continuous_load::{ContinuousLoad, LoadGaps};
use crate::exhibits::report;
use curve::{RateSample, WriteCurve, rate_samples};
use setup::{FillLevel, LastWrites, SAMPLE};
use steadfast_domain::{
    Bench, Bytes, Findings, Halt, IoStream, Procedure, Record, Step, StepPlace,
};

impl DriveFill {
    fn conduct_level(&self, bench: &mut dyn Bench, level: FillLevel) -> Result<(), Halt> {
        let mut curve = WriteCurve::default();
        repeat_until_unbroken(bench, "the purge of this fill level", |bench, attempt| {
            bench.purge()?;
            if let Some(load) = self.preload(level, attempt) {
                if write(bench, &load)?.gaps.gap_inside {
                    return Ok(false);
                }
                bench.idle(self.idle_times.iter().copied().max().unwrap_or_default())?;
            }
            let writes = write(bench, &self.fill(level, attempt))?;
            curve = WriteCurve::new(writes.samples, self.drop_share);
            // A gap before the first write of an empty drive does no harm.
            Ok(!(writes.gaps.gap_inside || level.percent > 0 && writes.gaps.gap_before))
        })?;
        let amount = self.amount_after_idle(level, &curve);
        let mut last = LastWrites { amount, ..LastWrites::default() };
        for idle in &self.idle_times {
            let mut uses_up = 0;
            repeat_until_unbroken(bench, "the idle time", |bench, attempt| {
                bench.idle(*idle)?;
                let load = self.writes(level, &level.after_idle_phase(*idle), amount, attempt);
                let writes = write(bench, &load)?;
                last.returned = curve.returned(&writes.samples).map(|returned| returned.bytes);
                last.end = writes.end;
                // The rest of interrupted writes may end before what returned in the gap does.
                let mut may_have_some_left = writes.gaps.gap_inside;
                while may_have_some_left {
                    uses_up += 1;
                    let load = self.writes(level, &level.use_up_phase(*idle), amount, uses_up);
                    may_have_some_left = write(bench, &load)?.gaps.gap_inside;
                }
                Ok(!writes.gaps.gap_before && !writes.gaps.gap_inside)
            })?;
        }
        for step in self.reads(level, last) {
            bench.apply(&step)?;
        }
        Ok(())
    }
}

#[derive(Default)]
struct AppliedWrites {
    samples: Vec<RateSample>,
    gaps: LoadGaps,
    /// Where sequential writes continue; `None` if that is unknown.
    end: Option<Bytes>,
}

/// Applies a load without pause until it is complete.
fn write(bench: &mut dyn Bench, load: &ContinuousLoad) -> Result<AppliedWrites, Halt> {
    let mut writes = AppliedWrites::default();
    let cursor = load.stimulus.streams.first().and_then(IoStream::cursor_key);
    for point in 1.. {
        let place = StepPlace { point, ..load.place.clone() };
        let step = Step::part(place, load.stimulus.clone(), load.cut, point > 1);
        let outcome = bench.apply(&step.with_interval(SAMPLE))?;
        if outcome.gap_before.is_some() {
            writes.gaps.note(point);
        }
        writes.samples.extend(rate_samples(&outcome.measurement));
        let cursors = &outcome.measurement.cursors;
        writes.end = cursor.as_ref().and_then(|key| cursors.get(key)).copied();
        if outcome.measurement.complete {
            break;
        }
    }
    Ok(writes)
}

impl Procedure for DriveFill {
    fn conduct(&self, bench: &mut dyn Bench) -> Result<(), Halt> {
        bench.settle(&self.setup.conditions())?;
        for level in &self.levels {
            self.conduct_level(bench, *level)?;
        }
        Ok(())
    }

    fn study(&self, record: &Record) -> Findings {
        report::findings(self, record)
    }
}
