//! Sequence: what another tool's file or a preset asks for, load after load, as that tool
//! would have it.
//!
//! `Settings::sequence` holds it whole. There is no purge and no preconditioning that
//! the sequence does not have itself, and no steady state. A load that lasts longer than a
//! checkpoint is cut into parts, so that a run that dies loses no more; a gap inside it is
//! reported, and it goes on from its last part.
//!
//! [`results`] computes what every tool's exhibits are made of, [`exhibits`] shows it; what
//! only one tool's users look for stands in a file of that tool and is chosen in
//! [`figures`].

mod atto;
mod crystaldiskmark;
mod exhibits;
mod figures;
mod iometer;
mod rates;
mod results;
#[cfg(test)]
pub(crate) mod sample;
mod setup;
pub(crate) mod tables;
#[cfg(test)]
mod tests;
mod viking;

pub use setup::{Sequenced, numbers_of, phase_of};

use steadfast_domain::{Bench, Findings, Halt, Procedure, Record};

/// The procedure's name.
pub const NAME: &str = "sequence";

impl Procedure for Sequenced {
    fn conduct(&self, bench: &mut dyn Bench) -> Result<(), Halt> {
        bench.settle(&self.ground.conditions())?;
        for planned in &self.steps {
            for attempt in 1..=planned.step.attempts() {
                if planned.step.purge {
                    bench.purge()?;
                }
                if planned.step.pause.0 > 0 {
                    bench.idle(planned.step.pause)?;
                }
                self.apply(bench, planned, attempt)?;
            }
        }
        Ok(())
    }

    fn study(&self, record: &Record) -> Findings {
        exhibits::findings(self, record)
    }
}
