//! The WSAT test: one workload applied without a pause after the purge, recorded step by step,
//! until the drive is saturated (PTS 2.0.x; PTS-E 1.1).
//!
//! Purge, no workload-independent preconditioning, one continuous load. It ends at the first of:
//! four times the user capacity written, a time limit, or steady state of measured steps with
//! writes between them (module `cyclic_load`) in a window that began after the drive was filled
//! once (our rule). PTS 2.0.x then records every response time of 20 more minutes.
//! The composite (JESD219) is one of the workloads; procedure `composite` is its WSAT.
//!
//! After a gap, the steady-state window restarts and the load continues. A histogram run with a
//! gap before it is repeated; the first one then serves as its pre-write.

mod caveats;
mod exhibits;
mod plots;
mod results;
mod setup;
mod tables;

pub(crate) use exhibits::{FIRST_STEP, LATE_POINTS, PointName};
pub use setup::{COMPOSITE_PARAMETERS, PARAMETERS, Wsat};

use crate::common::one_pass;
use crate::common::preconditioning::precondition;
use crate::exhibits::report;
use setup::{SaturationLoad, WsatPreconditioning};
use steadfast_domain::{Bench, Findings, Halt, Procedure, Record};

impl Procedure for Wsat {
    fn conduct(&self, bench: &mut dyn Bench) -> Result<(), Halt> {
        bench.settle(&self.setup.conditions())?;
        bench.purge()?;
        match &self.preconditioning {
            WsatPreconditioning::Nothing => {}
            WsatPreconditioning::Wipc => precondition(bench, &self.setup)?,
            WsatPreconditioning::OnePass(pass) => pass.conduct(bench, one_pass::PHASE)?,
        }
        match &self.saturation {
            SaturationLoad::Judged(load) => {
                load.conduct(bench)?;
            }
            SaturationLoad::Plain(load) => {
                load.conduct(bench)?;
            }
        }
        let Some(time) = self.histogram_time else { return Ok(()) };
        for attempt in 1.. {
            if bench.apply(&self.histogram_step(attempt, time))?.gap_before.is_none() {
                break;
            }
        }
        Ok(())
    }

    fn study(&self, record: &Record) -> Findings {
        report::findings(self, record)
    }
}

#[cfg(test)]
mod tests;
