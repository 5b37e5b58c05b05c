//! Load-curve: response times of a drive at rates that are offered whether or not it keeps up,
//! and the highest rate that meets a service level.
//!
//! Purge, preconditioning and steady state as before a test of the PTS; then the workload in a
//! closed loop until five minutes in a row are steady, whose mean is the maximum; then Poisson
//! arrivals at percentages of it, each for as long as its highest percentile needs; then, for a
//! service level, a bisection between the rates of the curve that met and missed it. It is our
//! own method: services send requests at their own rate, and the PTS only has closed loops.
//!
//! After a gap before steady state or in the closed loop, its window restarts. A rate with a gap
//! before it is repeated; the void one then serves as its run-in.

mod exhibits;
mod results;
mod search;
mod setup;
#[cfg(test)]
mod tests;
mod workload;

pub use setup::{LoadCurve, PARAMETERS};

use crate::exhibits::report;
use crate::report_notation::number;
use setup::MeasuredRate;
use steadfast_domain::{
    Bench, Findings, Halt, Note, Outcome, Procedure, Record, ServiceLevel, Step,
};

/// Name of the procedure.
pub const NAME: &str = "load-curve";

/// A step that offered a rate.
struct RatedStep {
    rate: f64,
    step: Step,
    outcome: Outcome,
}

impl RatedStep {
    fn measured(&self) -> MeasuredRate<'_> {
        let (rate, step, measurement) = (self.rate, &self.step, &self.outcome.measurement);
        MeasuredRate { rate, step, measurement }
    }
}

impl LoadCurve {
    fn conduct_curve(&self, bench: &mut dyn Bench, maximum: f64) -> Result<Vec<RatedStep>, Halt> {
        let mut curve = Vec::new();
        for (point, percent) in (1..).zip(&self.points) {
            let rate = self.rate(maximum, *percent);
            let make = |attempt| self.point_step(point, *percent, rate, attempt);
            curve.push(until_no_gap(bench, rate, make)?);
        }
        Ok(curve)
    }

    /// Searches for the highest rate that meets the service level.
    fn conduct_search(
        &self,
        bench: &mut dyn Bench,
        slo: ServiceLevel,
        maximum: f64,
        curve: &[RatedStep],
    ) -> Result<(), Halt> {
        let mut search = self.search(slo, maximum, curve.iter().map(RatedStep::measured));
        for point in 1.. {
            let Some(rate) = search.next() else { break };
            let make = |attempt| self.search_step(point, slo, rate, attempt);
            let tried = until_no_gap(bench, rate, make)?;
            search.add(rate, self.rate_answer(slo, maximum, &tried.measured()));
        }
        Ok(())
    }
}

/// Applies a step, and repeats it until there is no gap before it.
fn until_no_gap(
    bench: &mut dyn Bench,
    rate: f64,
    make: impl Fn(u32) -> Step,
) -> Result<RatedStep, Halt> {
    let mut attempt = 1;
    loop {
        let step = make(attempt);
        let outcome = bench.apply(&step)?;
        if outcome.gap_before.is_none() {
            return Ok(RatedStep { rate, step, outcome });
        }
        attempt += 1;
    }
}

impl Procedure for LoadCurve {
    fn conduct(&self, bench: &mut dyn Bench) -> Result<(), Halt> {
        self.preparation.conduct(bench, &self.setup, &self.workload)?;
        let minutes = self.maximum.conduct(bench)?;
        let Some(maximum) = self.maximum_of(&minutes) else {
            return Err(Halt::Refused(
                "the closed loop completed no I/O in its last minutes, so there is no rate to \
                 offer a part of"
                    .into(),
            ));
        };
        let value = format!("{} IOPS", number(maximum, 1));
        bench.note(&Note::Chosen { what: "closed-loop maximum".to_owned(), value });
        let curve = self.conduct_curve(bench, maximum)?;
        match self.slo {
            Some(slo) => self.conduct_search(bench, slo, maximum, &curve),
            None => Ok(()),
        }
    }

    fn study(&self, record: &Record) -> Findings {
        report::findings(self, record)
    }
}
