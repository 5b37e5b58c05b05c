//! TKperf's tests of a hard disk: the same steps in each of 128 zones, from the first to the
//! last byte. Nothing is purged or preconditioned, and nothing is judged for steady state: a
//! disk writes in place, and what is sought is how its speed falls from zone to zone.
//!
//! Each step stands alone: an interruption before one does nothing to the others.

mod exhibits;
mod results;
mod setup;
#[cfg(test)]
mod tests;

pub use setup::{PARAMETERS, ZONES, Zones};

use results::Results;
use steadfast_domain::{Bench, Findings, Halt, Procedure, Record};

impl Procedure for Zones {
    fn conduct(&self, bench: &mut dyn Bench) -> Result<(), Halt> {
        bench.settle(&self.ground.conditions())?;
        for step in self.steps() {
            bench.apply(&step)?;
        }
        Ok(())
    }

    fn study(&self, record: &Record) -> Findings {
        exhibits::findings(self, record, &Results::of(self, record))
    }
}
