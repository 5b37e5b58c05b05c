//! The throughput test: sequential reads and writes of one block size in steady state, for 1024 KiB
//! and again for 128 KiB (SNIA tutorial, "TP 128K, TP 1024K"; public implementations of PTS-E 1.1
//! and 2.0).
//!
//! Each block size has its own purge and its own preconditioning at that size, then rounds of two
//! one-minute steps, all reads and all writes, until the writes' MB/s are steady. An interruption
//! between the two steps voids the round; the window restarts after every interruption.

mod exhibits;
mod setup;

pub use setup::{PARAMETERS_TKPERF, PRECONDITION, Throughput};

use crate::common::preconditioning;
use crate::exhibits::report;
use steadfast_domain::{Bench, Findings, Halt, Procedure, Record};

impl Procedure for Throughput {
    fn conduct(&self, bench: &mut dyn Bench) -> Result<(), Halt> {
        bench.settle(&self.setup.conditions())?;
        for size_loop in &self.loops {
            bench.purge()?;
            if self.preconditions {
                let pattern = self.wipc_pattern(size_loop);
                preconditioning::load(&self.setup, &size_loop.wipc_phase, pattern)
                    .conduct(bench)?;
            }
            size_loop.mixed_loop.conduct(bench, &self.setup)?;
        }
        Ok(())
    }

    fn study(&self, record: &Record) -> Findings {
        report::findings(self, record)
    }
}

#[cfg(test)]
mod tests;
