//! The HIR test (Host Idle Recovery): how much a saturated drive recovers while the host is idle
//! (PTS 2.0.x; PTS-E 1.1).
//!
//! Purge, no workload-independent preconditioning; RND 4K W until measured minutes with writes
//! between them are steady. Then, for idle times of 5, 10, 15, 25 and 50 s, in this order: 360 times
//! 5 s of RND 4K W and the idle time, followed by 1800 s of RND 4K W without a pause, to return the
//! drive to its saturated state. IOPS are those of the 5 s accesses only; time is wall time.
//!
//! After a gap in the preconditioning, its window restarts. After a gap in the wait states or the
//! baselines that follow them, the test restarts with the purge.

mod exhibits;
mod results;
mod setup;

pub use setup::{Hir, PARAMETERS};

use crate::common::attempts::{attempt_phase, repeat_until_unbroken};
use crate::common::one_pass;
use crate::exhibits::report;
use steadfast_domain::{Bench, Findings, Halt, Nanos, Procedure, Record};

impl Hir {
    /// Runs the test from the purge to the last baseline; returns true if there was no gap in
    /// wait states and baselines.
    fn attempt(&self, bench: &mut dyn Bench, attempt: u32) -> Result<bool, Halt> {
        bench.purge()?;
        if let Some(pass) = &self.setup.one_pass {
            pass.conduct(bench, &attempt_phase(one_pass::PHASE, attempt))?;
        }
        self.preconditioning_load(attempt).conduct(bench)?;
        for idle in &self.idle_times {
            if !self.wait_state(bench, *idle, attempt)? {
                return Ok(false);
            }
            let gaps = self.baseline(*idle, attempt).conduct(bench)?;
            if gaps.gap_before || gaps.gap_inside {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Runs the accesses of a wait state with the idle time after each; returns false at the first
    /// gap.
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
        bench.settle(&self.setup.conditions())?;
        repeat_until_unbroken(bench, "the purge", |bench, attempt| self.attempt(bench, attempt))
    }

    fn study(&self, record: &Record) -> Findings {
        report::findings(self, record)
    }
}

#[cfg(test)]
mod tests;
