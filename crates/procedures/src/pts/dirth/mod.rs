//! The DIRTH test (Demand Intensity / Response Time Histogram): IOPS and response times at 49
//! demands, and the response-time histograms of three chosen demands (PTS 2.0.x; test flow of a
//! public implementation).
//!
//! Purge; write twice the user capacity sequentially; write the workload's sizes at the highest
//! demand until measured minutes are steady. Then run rounds until IOPS at the highest demand are
//! steady: five minutes of writes and 49 one-minute steps, an outer loop over thread counts and an
//! inner loop over queue depths, both from high to low. Then choose three points from the last
//! round, and at each of them write for an hour and record every response time for ten minutes.
//!
//! A gap inside a round voids it, and the window restarts. A histogram with a gap inside its hour
//! of writes or before itself is repeated with its hour of writes.

mod exhibits;
mod matrix;
mod points;
mod results;
mod setup;

pub(crate) use points::{POINTS, most};
pub use setup::{COMPOSITE_PARAMETERS, Dirth, PARAMETERS};

use crate::common::attempts::attempt_phase;
use crate::common::preconditioning::precondition;
use crate::exhibits::report;
use matrix::Round;
use points::ChosenPoint;
use setup::PRE_WRITE;
use steadfast_domain::{Bench, Findings, Halt, Note, Procedure, Record};

impl Dirth {
    fn conduct_rounds(&self, bench: &mut dyn Bench) -> Result<Vec<Round>, Halt> {
        let mut rounds = Vec::new();
        for round in 1..=self.matrix.rounds_max {
            rounds.push(self.conduct_round(bench, round)?);
            let verdict = self.matrix.judge(&rounds);
            bench.note(&Note::Verdict(verdict.clone()));
            if verdict.steady {
                break;
            }
        }
        Ok(rounds)
    }

    fn conduct_round(&self, bench: &mut dyn Bench, round: u32) -> Result<Round, Halt> {
        let highest = self.matrix.highest();
        let pre_write =
            self.setup.load_for_time(PRE_WRITE, round, &self.writes, highest, self.pre_write_time);
        let mut results = Round::new(round);
        results.add_pre_write(pre_write.conduct(bench)?);
        for (point, demand) in (1..).zip(&self.matrix.demands) {
            results.push(&bench.apply(&self.demand_step(round, point, *demand))?);
        }
        Ok(results)
    }

    /// Runs the hour of writes and the histogram of one point until there is no gap in them.
    fn conduct_point(&self, bench: &mut dyn Bench, chosen: &ChosenPoint) -> Result<(), Halt> {
        for attempt in 1.. {
            let phase = attempt_phase(chosen.role.pre_write_phase(), attempt);
            let writes = self
                .setup
                .load_for_time(&phase, 0, &self.writes, chosen.demand, self.point_pre_write_time);
            let gaps = writes.conduct(bench)?;
            let outcome = bench.apply(&self.histogram_step(chosen, attempt))?;
            if !gaps.gap_inside && outcome.gap_before.is_none() {
                break;
            }
        }
        Ok(())
    }
}

impl Procedure for Dirth {
    fn conduct(&self, bench: &mut dyn Bench) -> Result<(), Halt> {
        bench.settle(&self.setup.conditions())?;
        bench.purge()?;
        precondition(bench, &self.setup)?;
        self.preconditioning.conduct(bench)?;
        let rounds = self.conduct_rounds(bench)?;
        let Some(selection) = points::select(&self.matrix, &rounds, self.art_ceiling) else {
            return Err(Halt::Refused(
                "no round of the demand matrix is complete without a gap, so no point can be \
                 chosen; run more rounds"
                    .into(),
            ));
        };
        for point in &selection.points {
            let what = point.role.name().to_owned();
            bench.note(&Note::Chosen { what, value: point.describe() });
        }
        for point in &selection.points {
            self.conduct_point(bench, point)?;
        }
        Ok(())
    }

    fn study(&self, record: &Record) -> Findings {
        report::findings(self, record)
    }
}

#[cfg(test)]
mod tests;
