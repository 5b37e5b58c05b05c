//! The HIR test (Host Idle Recovery): what a saturated drive gains from pauses
//! of the host (PTS 2.0.x; PTS-E 1.1).
//!
//! Purge, no workload-independent preconditioning; RND 4K W until measured
//! minutes with writes between them are steady; then for idle times of 5, 10, 15,
//! 25 and 50 s, in this order: 360 times 5 s of RND 4K W and the idle time, and
//! after them 1800 s of RND 4K W without a pause, to come back to where it was.
//! IOPS are those of the 5 s of access alone; time is wall time.
//!
//! A gap in the preconditioning begins its window anew; a gap in the wait states
//! begins the test anew with the purge.

mod exhibits;
mod results;
mod setup;

pub use setup::{Hir, PARAMETERS};

use crate::ground::attempts::until_unbroken;
use results::Results;
use steadfast_domain::{Bench, Findings, Halt, Nanos, Procedure, Record};

impl Hir {
    /// From the purge to the last baseline; `true` where the wait states ran in
    /// one piece.
    fn attempt(&self, bench: &mut dyn Bench, attempt: u32) -> Result<bool, Halt> {
        bench.purge()?;
        self.load(attempt).conduct(bench)?;
        for idle in &self.idle_times {
            if !self.wait_state(bench, *idle, attempt)? {
                return Ok(false);
            }
            let pieces = self.baseline(*idle, attempt).conduct(bench)?;
            if pieces.gap_before || pieces.gap_inside {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Accesses with the same idle time after each; `false` at the first gap.
    fn wait_state(&self, bench: &mut dyn Bench, idle: Nanos, attempt: u32) -> Result<bool, Halt> {
        for access in 1..=self.accesses {
            let outcome = bench.apply(&self.access(idle, attempt, access))?;
            if outcome.gap_before.is_some() {
                return Ok(false);
            }
            bench.idle(idle)?;
        }
        Ok(true)
    }
}

impl Procedure for Hir {
    fn conduct(&self, bench: &mut dyn Bench) -> Result<(), Halt> {
        bench.settle(&self.ground.conditions())?;
        until_unbroken(bench, "the purge", |bench, attempt| self.attempt(bench, attempt))
    }

    fn study(&self, record: &Record) -> Findings {
        exhibits::findings(self, record, &Results::of(self, record))
    }
}

#[cfg(test)]
mod tests;
