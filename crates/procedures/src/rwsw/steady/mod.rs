//! The two tests that run a captured workload to steady state: Multi-Stream WSAT applies the
//! composite of all streams, Individual Streams WSAT applies each stream alone, one after another
//! (RWSW PTS 1.0.7 according to the SNIA tutorial).
//!
//! Each run is one continuous load, judged like the PTS's WSAT by measured minutes, between which
//! the load continues. After a gap, the window of the run restarts.

mod exhibits;
mod setup;

pub use setup::{INDIVIDUAL_PARAMETERS, MULTI_PARAMETERS, RwswWsatKind, SteadyStreams};

use crate::exhibits::report;
use steadfast_domain::{Bench, Findings, Halt, Procedure, Record};

impl Procedure for SteadyStreams {
    fn conduct(&self, bench: &mut dyn Bench) -> Result<(), Halt> {
        self.preconditioning.conduct(bench, &self.setup, &self.composite)?;
        for run in &self.runs {
            run.conduct(bench)?;
        }
        Ok(())
    }

    fn study(&self, record: &Record) -> Findings {
        report::findings(self, record)
    }
}

#[cfg(test)]
mod tests;
