//! A trace played by the engine.

use crate::shared::{Fallible, new_engine, perform};
use crate::trace::SyntheticTrace;
use std::path::Path;
use steadfast_domain::script::Timing;
use steadfast_domain::{Load, Measurement, Nanos, ReplayResult};

/// Measurement of the engine's own replay.
pub struct ReplayMeasurement {
    pub done: Measurement,
    pub replay: Box<ReplayResult>,
}

impl ReplayMeasurement {
    /// Returns the lateness that this share of the I/Os did not exceed.
    pub fn late(&self, share: f64) -> Nanos {
        self.replay.lateness.histogram.percentile(share).unwrap_or(Nanos::ZERO)
    }
    pub fn latest(&self) -> Nanos {
        self.replay.lateness.max
    }
    /// Returns the mean lateness of the last interval with I/Os.
    pub fn late_at_the_end(&self) -> Nanos {
        let seconds = self.replay.intervals.iter().rev();
        seconds.filter_map(|second| second.mean()).next().unwrap_or(Nanos::ZERO)
    }
}

pub fn play(
    path: &Path,
    trace: SyntheticTrace,
    timing: Timing,
    outstanding: u32,
) -> Fallible<ReplayMeasurement> {
    let load = Load::Script(trace.load(timing, outstanding));
    let mut done = perform(&mut new_engine(path, None)?, "replay", load)?;
    let replay = done.replay.take().ok_or("the engine played nothing")?;
    Ok(ReplayMeasurement { done, replay })
}
