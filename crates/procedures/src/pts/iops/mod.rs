//! The IOPS test: 7 read/write mixes x 8 block sizes, random, in steady state
//! (PTS 2.0.2 p. 26; PTS-E 1.1 p. 30).
//!
//! Purge; write twice the user capacity sequentially; then run rounds of 56
//! one-minute steps, an outer loop over the mixes and an inner loop over the block
//! sizes, in the mandatory order, until the tracking variables are steady in one
//! common window of five rounds. An interruption inside a round voids the round;
//! the window restarts after every interruption.

mod exhibits;
mod setup;

pub use setup::{Iops, PARAMETERS};

use crate::common::preconditioning::precondition;
use crate::exhibits::report;
use steadfast_domain::{Bench, Findings, Halt, Procedure, Record};

impl Procedure for Iops {
    fn conduct(&self, bench: &mut dyn Bench) -> Result<(), Halt> {
        bench.settle(&self.setup.conditions())?;
        bench.purge()?;
        precondition(bench, &self.setup)?;
        self.mixed_loop.conduct(bench, &self.setup)?;
        Ok(())
    }

    fn study(&self, record: &Record) -> Findings {
        report::findings(self, record)
    }
}

#[cfg(test)]
mod tests;
