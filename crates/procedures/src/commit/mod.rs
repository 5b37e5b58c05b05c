//! Commit: how fast a drive makes writes durable, as the log of a database or the journal of a
//! storage system needs them.
//!
//! Purge; twice the user capacity sequentially; RND 4K W until measured minutes are steady. Then
//! durable writes, each with a flush (FLUSH/1), by FUA and, for comparison, plain: by 1 to 64
//! committers, random and to a sequential log, in several block sizes; and group commit, in which
//! N writes share one flush. It is not a method of the PTS.
//!
//! After a gap in the preconditioning, its window restarts. A gap before a measured step voids
//! that step only: the load of the preconditioning runs again, because the drive has rested, and
//! the step is repeated.

mod exhibits;
mod flush_cost;
mod results;
mod setup;

pub use setup::{Commit, PARAMETERS};

use crate::common::preconditioning::precondition;
use crate::exhibits::report;
use setup::CommitLoad;
use steadfast_domain::{Bench, Findings, Halt, Procedure, Record};

impl Commit {
    /// Measures one load; after a gap, the preconditioning's load runs first and the load is
    /// measured again.
    fn measure(&self, bench: &mut dyn Bench, point: u32, load: &CommitLoad) -> Result<(), Halt> {
        for attempt in 1.. {
            let is_conditioned =
                attempt == 1 || !self.refresh(point, attempt).conduct(bench)?.gap_inside;
            let outcome = bench.apply(&self.step(point, attempt, load))?;
            if is_conditioned && outcome.gap_before.is_none() {
                break;
            }
        }
        Ok(())
    }
}

impl Procedure for Commit {
    fn conduct(&self, bench: &mut dyn Bench) -> Result<(), Halt> {
        bench.settle(&self.setup.conditions())?;
        bench.purge()?;
        precondition(bench, &self.setup)?;
        self.preconditioning.conduct(bench)?;
        for (load, point) in self.loads.iter().zip(1..) {
            self.measure(bench, point, load)?;
        }
        Ok(())
    }

    fn study(&self, record: &Record) -> Findings {
        report::findings(self, record)
    }
}

#[cfg(test)]
mod tests;
