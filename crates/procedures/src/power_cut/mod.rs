//! Power-cut: whether a drive keeps what it acknowledged and flushed when its power is cut.
//!
//! In every cycle, stamped blocks are written in batches, each followed by a flush and an
//! acknowledgment in a log that survives the cut. At a random moment the power is cut. When the
//! device has returned, all blocks are read back and judged (`domain::power_cut`). The procedure is
//! not a method of the PTS.
//!
//! A cycle in which no cut was detected ends the test: the next would not detect one either.

mod exhibits;
mod results;
mod setup;
#[cfg(test)]
mod tests;

pub use setup::{NAME, PARAMETERS, PowerCut};

use crate::exhibits::report;
use steadfast_domain::{Bench, Findings, Halt, Procedure, Record};

impl Procedure for PowerCut {
    fn conduct(&self, bench: &mut dyn Bench) -> Result<(), Halt> {
        bench.settle(&self.setup.conditions())?;
        for cycle in 1..=self.cycles {
            if !bench.cut_power(&self.trial(cycle))?.is_cut() {
                break;
            }
        }
        Ok(())
    }

    fn study(&self, record: &Record) -> Findings {
        report::findings(self, record)
    }
}
