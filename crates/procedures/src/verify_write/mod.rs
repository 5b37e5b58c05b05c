//! Verify-write: does a drive hold what was written to it?
//!
//! Every sector of the active range is written, stamped with its own address and
//! with a key that no other run has; then every sector is read back and compared.
//! There is no purge: what stood there before carries another key, so that a
//! write which never arrived is found. It is no method of the PTS.
//!
//! Which sectors were written is known only to the process that wrote them: a gap
//! begins the test anew with the writes.

mod exhibits;
mod results;
mod setup;
#[cfg(test)]
mod tests;

pub use setup::VerifyWrite;

use crate::ground::attempts::until_unbroken;
use results::Results;
use setup::{FILL, READ_BACK, READS, WRITES};
use steadfast_domain::{Bench, Findings, Halt, Procedure, Record};

impl VerifyWrite {
    /// Writes all, reads all; `true` where both ran in one piece.
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
        bench.settle(&self.ground.conditions())?;
        until_unbroken(bench, "the writes", |bench, attempt| self.attempt(bench, attempt))
    }

    fn study(&self, record: &Record) -> Findings {
        exhibits::findings(self, record, &Results::of(self, record))
    }
}
