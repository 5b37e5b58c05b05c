//! Idle exit: response time of the first I/O after the drive was idle, for idle times from 1 ms to
//! 10 min, against I/Os back to back. It is our own test, not a method of the PTS.
//!
//! A part of the active range is written, so that reads find data. Then the pattern runs back to
//! back with one outstanding I/O; for every idle time it runs with one I/O at a time and the idle
//! time between two of them; last, back to back again. Power management of drive and host is
//! reported, and left as it is unless the user asks for another of link or controller.
//!
//! A gap only makes the idle time before a step longer, and the first I/O of a step is not
//! measured: it has no effect. A step that was interrupted is repeated whole.

mod exhibits;
mod power_states;
mod results;
mod setup;
#[cfg(test)]
mod tests;

pub use setup::{IdleExit, PARAMETERS};

use crate::exhibits::report;
use steadfast_domain::{Bench, Findings, Halt, Procedure, Record};

impl Procedure for IdleExit {
    fn conduct(&self, bench: &mut dyn Bench) -> Result<(), Halt> {
        let got = bench.settle(&self.conditions())?;
        if let Some(why) = self.refusal(&got) {
            return Err(Halt::Refused(why));
        }
        self.preparation().conduct(bench)?;
        bench.apply(&self.back_to_back(1))?;
        for idle in &self.idle_times {
            bench.apply(&self.after_idle(*idle))?;
        }
        bench.apply(&self.back_to_back(2))?;
        Ok(())
    }

    fn study(&self, record: &Record) -> Findings {
        report::findings(self, record)
    }
}
