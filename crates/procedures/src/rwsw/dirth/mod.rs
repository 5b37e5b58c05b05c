//! RWSW DIRTH: runs the composite of a captured workload to steady state, then with 1 to 1,024
//! outstanding I/Os. It reports the response times at the demand with the most IOPS, and quality
//! of service at 1, 8 and 32 outstanding I/Os (RWSW PTS 1.0.7 according to the SNIA tutorial).
//!
//! After a gap before steady state, the window restarts. A gap in the loop of demands or before the
//! histogram voids it: it is repeated after a run-in with the composite, because the drive was
//! idle.

mod exhibits;
mod setup;

pub use setup::{PARAMETERS, RwswDirth};

use crate::common::attempts::attempt_phase;
use crate::exhibits::report;
use setup::{DEMAND, HISTOGRAM, RUN_IN, best};
use steadfast_domain::{Bench, Demand, Findings, Halt, Note, Outcome, Procedure, Record};

impl RwswDirth {
    /// Repeats the loop of demands until an attempt has no gap, and returns its outcomes.
    fn conduct_ladder(&self, bench: &mut dyn Bench) -> Result<Vec<Outcome>, Halt> {
        for attempt in 1.. {
            let whole =
                attempt == 1 || self.run_in(bench, DEMAND, attempt, self.ladder.highest())?;
            let phase = attempt_phase(DEMAND, attempt);
            let outcomes = self.ladder.conduct(bench, &self.setup, &self.composite, &phase)?;
            if whole && outcomes.iter().all(|outcome| outcome.gap_before.is_none()) {
                return Ok(outcomes);
            }
        }
        Ok(Vec::new())
    }

    /// Applies the composite before a phase for the run-in time; returns true if there was no gap
    /// inside.
    fn run_in(
        &self,
        bench: &mut dyn Bench,
        before: &str,
        attempt: u32,
        demand: Demand,
    ) -> Result<bool, Halt> {
        let phase = attempt_phase(&format!("{before}{RUN_IN}"), attempt);
        let load = self.setup.load_for_time(&phase, 0, &self.composite, demand, self.run_in_time);
        Ok(!load.conduct(bench)?.gap_inside)
    }

    fn conduct_histogram(&self, bench: &mut dyn Bench, demand: Demand) -> Result<(), Halt> {
        for attempt in 1.. {
            let whole = self.run_in(bench, HISTOGRAM, attempt, demand)?;
            let outcome = bench.apply(&self.histogram(attempt, demand))?;
            if whole && outcome.gap_before.is_none() {
                break;
            }
        }
        Ok(())
    }
}

impl Procedure for RwswDirth {
    fn conduct(&self, bench: &mut dyn Bench) -> Result<(), Halt> {
        self.preconditioning.conduct(bench, &self.setup, &self.composite)?;
        self.steady.conduct(bench)?;
        let outcomes = self.conduct_ladder(bench)?;
        let measured: Vec<_> = outcomes.iter().map(|outcome| &outcome.measurement).collect();
        let chosen = best(&self.ladder, &measured, self.art_ceiling);
        bench.note(&Note::Chosen { what: "MaxIOPS".to_owned(), value: chosen.to_string() });
        self.conduct_histogram(bench, chosen)
    }

    fn study(&self, record: &Record) -> Findings {
        report::findings(self, record)
    }
}

#[cfg(test)]
mod tests;
