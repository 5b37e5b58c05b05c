//! The DIRTH test (Demand Intensity / Response Time Histogram): which demand
//! gives how many IOPS at which response time, and the response times of three
//! chosen demands (PTS 2.0.x; test flow of a public implementation).
//!
//! Purge; twice the user capacity sequentially; the workload's sizes written at
//! the highest demand until measured minutes are steady; then rounds of five
//! minutes of writes and 49 one-minute steps, thread count outside, queue depth
//! inside, both from high to low, until IOPS at the highest demand are steady;
//! then three points chosen from the last round, each with an hour of writes and
//! ten minutes in which every response time is recorded.
//!
//! A gap inside a round voids it and the window begins anew; a histogram whose
//! hour of writes or whose start saw a gap is done again with its hour.

mod exhibits;
mod matrix;
mod points;
mod results;
mod setup;

pub(crate) use points::most;
pub use setup::{COMPOSITE_PARAMETERS, Dirth, PARAMETERS};

use crate::ground::attempts::attempt_phase;
use crate::ground::preconditioning::precondition;
use points::Chosen;
use results::Results;
use setup::PRE_WRITE;
use steadfast_domain::{Bench, Findings, Halt, Note, Procedure, Record};

impl Dirth {
    fn conduct_rounds(&self, bench: &mut dyn Bench) -> Result<Vec<matrix::Round>, Halt> {
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

    fn conduct_round(&self, bench: &mut dyn Bench, round: u32) -> Result<matrix::Round, Halt> {
        let highest = self.matrix.highest();
        let pre_write =
            self.ground.stretch((PRE_WRITE, round), &self.writes, highest, self.pre_write_time);
        let pieces = pre_write.conduct(bench)?;
        let mut values = matrix::Round::new(round);
        values.add_pre_write(pieces);
        for (point, demand) in (1..).zip(&self.matrix.demands) {
            values.push(&bench.apply(&self.demand_step(round, point, *demand))?);
        }
        Ok(values)
    }

    /// The hour of writes and the histogram of one point, in one piece.
    fn conduct_point(&self, bench: &mut dyn Bench, chosen: &Chosen) -> Result<(), Halt> {
        for attempt in 1.. {
            let phase = attempt_phase(&chosen.role.pre_write_phase(), attempt);
            let writes = self.ground.stretch(
                (&phase, 0),
                &self.writes,
                chosen.demand,
                self.point_pre_write_time,
            );
            let pieces = writes.conduct(bench)?;
            let outcome = bench.apply(&self.histogram_step(chosen, attempt))?;
            if !pieces.gap_inside && outcome.gap_before.is_none() {
                break;
            }
        }
        Ok(())
    }
}

/// The notes of a choice: each point, and a caveat where no point stays below
/// the ceiling.
fn note_choice(bench: &mut dyn Bench, chosen: &points::Selection) {
    for point in &chosen.points {
        bench.note(&Note::Chosen { what: point.role.name().to_owned(), value: point.describe() });
    }
}

impl Procedure for Dirth {
    fn conduct(&self, bench: &mut dyn Bench) -> Result<(), Halt> {
        bench.settle(&self.ground.conditions())?;
        bench.purge()?;
        precondition(bench, &self.ground)?;
        self.preconditioning.conduct(bench)?;
        let rounds = self.conduct_rounds(bench)?;
        let Some(selection) = points::select(&self.matrix, &rounds, self.art_ceiling) else {
            return Err(Halt::Refused(
                "no round of the demand matrix is complete without a gap, so no point can be \
                 chosen; run more rounds"
                    .into(),
            ));
        };
        note_choice(bench, &selection);
        for chosen in &selection.points {
            self.conduct_point(bench, chosen)?;
        }
        Ok(())
    }

    fn study(&self, record: &Record) -> Findings {
        exhibits::findings(self, record, &Results::of(self, record))
    }
}

#[cfg(test)]
mod tests;
