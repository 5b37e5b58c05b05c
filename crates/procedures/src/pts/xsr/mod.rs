//! The XSR test (Cross Stimulus Recovery): throughput of large sequential writes before and after
//! hours of small random writes (PTS 2.0.x).
//!
//! Purge, then three segments without a pause: SEQ 1024K W for 8 hours, RND 8K W for 6, SEQ 1024K W
//! for 8. There is no other preconditioning and no steady state: the segments are the test. Recovery
//! is the first minute of the third segment that reaches the first segment's average throughput
//! (public implementation; the standard's definition could not be checked).
//!
//! After a gap anywhere in the segments, the test restarts with the purge.

mod exhibits;
mod results;
mod setup;

pub use setup::{PARAMETERS, Xsr};

use crate::common::attempts::repeat_until_unbroken;
use crate::exhibits::report;
use steadfast_domain::{Bench, Findings, Halt, Procedure, Record};

impl Xsr {
    /// Purges and runs the three segments; returns true if there was no gap in them.
    fn attempt(&self, bench: &mut dyn Bench, attempt: u32) -> Result<bool, Halt> {
        bench.purge()?;
        for (index, segment) in self.segments.iter().enumerate() {
            let gaps = self.segment_load(segment, attempt).conduct(bench)?;
            // A gap before the first write does no harm: nothing was written yet.
            if gaps.gap_inside || (index > 0 && gaps.gap_before) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Procedure for Xsr {
    fn conduct(&self, bench: &mut dyn Bench) -> Result<(), Halt> {
        bench.settle(&self.setup.conditions())?;
        repeat_until_unbroken(bench, "the purge", |bench, attempt| self.attempt(bench, attempt))
    }

    fn study(&self, record: &Record) -> Findings {
        report::findings(self, record)
    }
}

#[cfg(test)]
mod tests;
