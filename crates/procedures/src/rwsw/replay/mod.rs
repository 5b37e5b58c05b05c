//! Replay Native: replays the sequence of capture steps, each with its own streams, counts, demand
//! and duration, or every single I/O of the capture if the workload contains them (RWSW PTS 1.0.7
//! according to the SNIA tutorial).
//!
//! A capture step is one step: if the run was interrupted inside it, the step is played from its
//! beginning. Single I/Os are one load that is recorded every minute, or at the interval that the
//! user chose: after an interruption, the replay continues from the last cut. The report discloses
//! both; neither restarts the replay.

mod exhibits;
mod results;
mod setup;
mod single_ios;
mod stream_comparison;

pub use setup::{PARAMETERS, Replay};

use crate::exhibits::report;
use setup::{ReplayContent, part};
use steadfast_domain::script::ScriptLoad;
use steadfast_domain::{Bench, Findings, Halt, Nanos, Procedure, Record};

/// Plays single I/Os to the end, cut by cut.
fn play(bench: &mut dyn Bench, script: &ScriptLoad, cut: Nanos) -> Result<(), Halt> {
    for point in 1.. {
        if bench.apply(&part(script, cut, point))?.measurement.complete {
            break;
        }
    }
    Ok(())
}

impl Procedure for Replay {
    fn conduct(&self, bench: &mut dyn Bench) -> Result<(), Halt> {
        self.preconditioning.conduct(bench, &self.setup, &self.composite)?;
        match &self.content {
            ReplayContent::Script { script, cut } => play(bench, script, *cut),
            ReplayContent::Steps(steps) => {
                for planned in steps {
                    if planned.pause.0 > 0 {
                        bench.idle(planned.pause)?;
                    }
                    bench.apply(&planned.step)?;
                }
                Ok(())
            }
        }
    }

    fn study(&self, record: &Record) -> Findings {
        report::findings(self, record)
    }
}

#[cfg(test)]
mod tests;
