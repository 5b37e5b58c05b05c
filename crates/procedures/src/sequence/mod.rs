//! Sequence: the loads of another tool's file or of a preset, one after another, as that tool
//! would run them.
//!
//! `Settings::sequence` contains the whole sequence. There is no purge and no preconditioning
//! unless the sequence has them itself, and no steady state. A load that lasts longer than a
//! checkpoint is recorded in parts, so that a run that dies loses no more than one part. A gap
//! inside the load is reported, and the load continues from its last part.
//!
//! [`results`] computes the values of the reports of all tools, [`exhibits`] presents them. The
//! exhibits of a single tool are in a file of that tool; [`tool_exhibits`] selects them.

mod atto;
mod crystaldiskmark;
mod exhibits;
mod four_corners;
mod iometer;
mod rates;
mod results;
mod setup;
pub(crate) mod tables;
#[cfg(test)]
mod tests;
mod tool_exhibits;

pub(crate) use setup::SequenceProcedure;
pub use setup::phase_of;

use crate::exhibits::report;
use steadfast_domain::{Bench, Findings, Halt, Procedure, Record, SequenceStep, caveats as ids};

/// Name of the procedure.
pub const NAME: &str = "sequence";

impl Procedure for SequenceProcedure {
    fn conduct(&self, bench: &mut dyn Bench) -> Result<(), Halt> {
        bench.settle(&self.setup.conditions())?;
        for device_step in &self.steps {
            for attempt in 1..=device_step.step.attempts() {
                if device_step.step.purge {
                    bench.purge()?;
                }
                if device_step.step.pause.0 > 0 {
                    bench.idle(device_step.step.pause)?;
                }
                self.apply(bench, device_step, attempt)?;
            }
        }
        Ok(())
    }

    fn study(&self, record: &Record) -> Findings {
        let mut findings = report::findings(self, record);
        findings.id.clone_from(&self.sequence.tool);
        // The sequence, not the user, decides what is written.
        let mut loads = self.sequence.steps.iter().flat_map(SequenceStep::loads);
        if loads.any(|(_, load)| load.data_pattern.is_some()) {
            findings.caveats.retain(|caveat| caveat.id != ids::DATA_PATTERN);
        }
        findings
    }
}
