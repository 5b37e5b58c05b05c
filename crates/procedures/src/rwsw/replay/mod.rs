//! Replay Native: the sequence of capture steps again, each with its own streams, counts,
//! demand and duration; or every single I/O of the capture, where the workload holds them
//! (RWSW PTS 1.0.7, as the SNIA tutorial has it).
//!
//! A capture step is one step: where the run broke off inside one, it is played again
//! from its beginning. Single I/Os are one load that is cut every minute, or as often as asked: where the run
//! broke off, it goes on from the last cut. Both are told, and neither begins anew.

mod beside;
mod exhibits;
mod results;
mod setup;
mod single_ios;

pub use setup::{PARAMETERS, Replay};

use setup::{Course, part};
use steadfast_domain::script::ScriptLoad;
use steadfast_domain::{Bench, Findings, Halt, Nanos, Procedure, Record};

/// Plays single I/Os to their end, cut by cut.
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
        self.regime.conduct(bench, &self.ground, &self.composite)?;
        match &self.course {
            Course::Script(script, cut) => play(bench, script, *cut),
            Course::Steps(steps) => {
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
        exhibits::findings(self, record)
    }
}

#[cfg(test)]
mod tests;
