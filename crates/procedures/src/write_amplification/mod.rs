//! Write-amplification: bytes that a drive writes to its flash for each byte that its host writes,
//! by workload and by used capacity. It is our own test, after SSD-iq (PVLDB 18(11), 2025), not a
//! method of the PTS.
//!
//! For every workload and used capacity: purge; the used part of the drive is written
//! sequentially, and the rest stays discarded; then the workload, window by window, until the
//! write amplification of five windows in a row is steady. Both counts come from the drive's own
//! counters. A drive that does not report both is refused before anything is written.
//!
//! A gap inside a window voids it, and no five windows extend across a gap: a drive that is idle
//! collects garbage.

mod exhibits;
mod greedy;
mod results;
mod setup;
#[cfg(test)]
mod tests;
mod windows;
mod workload;

pub use setup::{PARAMETERS, WriteAmplificationTest};

use crate::common::preconditioning::require_purged;
use crate::exhibits::report;
use setup::AmplificationCell;
use steadfast_domain::measurement::LogDelta;
use steadfast_domain::{Bench, Findings, Halt, Note, Procedure, Record, Step, StepPlace, judge};
use windows::{CountedWindow, track};

/// Name of the procedure.
pub const NAME: &str = "write-amplification";

impl WriteAmplificationTest {
    /// Reads from the drive, so that its counters are read too.
    ///
    /// # Errors
    /// Returns [`Halt::Refused`] if the drive does not count what this test divides.
    fn check_counters(&self, bench: &mut dyn Bench) -> Result<(), Halt> {
        let outcome = bench.apply(&self.counters_step())?;
        match missing_counters(outcome.measurement.sensed.log.as_ref()) {
            None => Ok(()),
            Some(missing) => Err(Halt::Refused(format!(
                "the drive does not report {missing}, so its write amplification cannot be \
                 measured; nothing was written. `steadfast doctor` shows the logs that it has"
            ))),
        }
    }

    /// Applies a workload until its write amplification is steady, or to its limit.
    fn conduct_cell(&self, bench: &mut dyn Bench, cell: &AmplificationCell) -> Result<(), Halt> {
        let mut windows = Vec::new();
        for number in 1..=self.windows_max {
            windows.push(self.conduct_window(bench, cell, number)?);
            let verdict = judge(&[track(&cell.name(), &windows)], &self.setup.method.criteria);
            bench.note(&Note::Verdict(verdict.clone()));
            if verdict.steady {
                break;
            }
        }
        Ok(())
    }

    fn conduct_window(
        &self,
        bench: &mut dyn Bench,
        cell: &AmplificationCell,
        number: u32,
    ) -> Result<CountedWindow, Halt> {
        let load = self.window(cell, number);
        let mut window = CountedWindow::new(number);
        for point in 1.. {
            let place = StepPlace { point, ..load.place.clone() };
            let step = Step::part(place, load.stimulus.clone(), load.cut, point > 1);
            let outcome = bench.apply(&step)?;
            window.add(&step, &outcome);
            if outcome.measurement.complete {
                break;
            }
        }
        Ok(window)
    }
}

/// Returns the counters that a log lacks; `None` if it has both.
fn missing_counters(log: Option<&LogDelta>) -> Option<&'static str> {
    let host = log.and_then(|log| log.host_written);
    let nand = log.and_then(|log| log.nand_written);
    match (host, nand) {
        (Some(_), Some(_)) => None,
        (Some(_), None) => Some("the bytes written to its flash"),
        (None, Some(_)) => Some("the bytes written by its host"),
        (None, None) => Some("the bytes written by its host and to its flash"),
    }
}

impl Procedure for WriteAmplificationTest {
    fn conduct(&self, bench: &mut dyn Bench) -> Result<(), Halt> {
        bench.settle(&self.setup.conditions())?;
        self.check_counters(bench)?;
        for cell in &self.cells {
            let purge = bench.purge()?;
            if cell.percent < 100 {
                require_purged(&purge)?;
            }
            self.fill(cell).conduct(bench)?;
            self.conduct_cell(bench, cell)?;
        }
        Ok(())
    }

    fn study(&self, record: &Record) -> Findings {
        report::findings(self, record)
    }
}
