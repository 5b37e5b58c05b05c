//! TKperf's tests of a hard disk: the same steps in each of 128 zones, from the first to the
//! last byte. There is no purge, preconditioning or steady state: a disk writes in place, and the
//! test measures how its speed falls from zone to zone.
//!
//! The steps are independent: an interruption before one does not affect the others.

mod exhibits;
mod results;
mod setup;
#[cfg(test)]
mod tests;

pub use setup::{PARAMETERS, ZONES, ZoneTest, ZoneTestKind};

use crate::exhibits::report;
use steadfast_domain::{Bench, Findings, Halt, Procedure, Record};

impl Procedure for ZoneTest {
    fn conduct(&self, bench: &mut dyn Bench) -> Result<(), Halt> {
        bench.settle(&self.setup.conditions())?;
        for step in self.steps() {
            bench.apply(&step)?;
        }
        Ok(())
    }

    fn study(&self, record: &Record) -> Findings {
        report::findings(self, record)
    }
}
