//! The latency test: response times with one outstanding I/O, 3 read/write mixes
//! x 3 block sizes, in steady state; then, in PTS 2.0.x, 20 minutes of RND 4K W
//! whose every response time goes into a histogram (SNIA tutorial, "LAT"; public
//! implementations of PTS-E 1.1 and 2.0).
//!
//! An interruption inside a round voids the round; the window restarts after every
//! interruption. The histogram run is a single step, which restarts as a whole.

mod exhibits;
mod setup;

pub use setup::{Latency, PARAMETERS};

use crate::common::preconditioning::precondition;
use crate::exhibits::report;
use steadfast_domain::{Bench, Findings, Halt, Procedure, Record};

impl Procedure for Latency {
    fn conduct(&self, bench: &mut dyn Bench) -> Result<(), Halt> {
        bench.settle(&self.setup.conditions())?;
        bench.purge()?;
        precondition(bench, &self.setup)?;
        let steady = self.mixed_loop.conduct(bench, &self.setup)?;
        // Without steady state, the rounds may be resumed, and a histogram run must not lie
        // between them.
        if let Some(time) = self.histogram_time.filter(|_| steady) {
            bench.apply(&self.histogram_step(time))?;
        }
        Ok(())
    }

    fn study(&self, record: &Record) -> Findings {
        report::findings(self, record)
    }
}

#[cfg(test)]
mod tests;
