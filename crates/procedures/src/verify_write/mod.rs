//! Verify-write: checks that a drive returns the data written to it.
//!
//! Every sector of the active range is written with a stamp of its own address and a key unique to
//! the run; then every sector is read back and compared. There is no purge: older data carry
//! another key, so that a lost write is detected. It is not a method of the PTS.
//!
//! Only the process that wrote the sectors knows which ones were written: after a gap, the test
//! restarts with the writes.

mod exhibits;
mod results;
mod setup;
#[cfg(test)]
mod tests;

pub use setup::VerifyWrite;

use crate::common::attempts::repeat_until_unbroken;
use crate::exhibits::report;
use setup::{FILL, READ_BACK, READS, WRITES};
use steadfast_domain::{Bench, Findings, Halt, Procedure, Record};

impl VerifyWrite {
    /// Writes and reads the whole range; returns true if there was no gap after the first write.
    fn attempt(&self, bench: &mut dyn Bench, attempt: u32) -> Result<bool, Halt> {
        let filled = self.pass(FILL, WRITES, attempt).conduct(bench)?;
        if filled.gap_inside {
            return Ok(false);
        }
        let read = self.pass(READ_BACK, READS, attempt).conduct(bench)?;
        Ok(!read.gap_before && !read.gap_inside)
    }
}

impl Procedure for VerifyWrite {
    fn conduct(&self, bench: &mut dyn Bench) -> Result<(), Halt> {
        bench.settle(&self.setup.conditions())?;
        repeat_until_unbroken(bench, "the writes", |bench, attempt| self.attempt(bench, attempt))
    }

    fn study(&self, record: &Record) -> Findings {
        report::findings(self, record)
    }
}
