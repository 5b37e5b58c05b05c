//! Factors: one sweep for each property of a load that changes what an SSD can do, with a rule
//! that says what was found. It is our own test, not a method of the PTS; the factors are those of
//! section 2.2 of the Viking SSD Benchmarking Guide (AN0006).
//!
//! Entropy and access pattern after a purge; then purge, preconditioning and, round after round, the levels of
//! alignment, randomness, entropy and access pattern; sustained writes; last the used capacity,
//! each with a purge and preconditioning of its own.
//!
//! A step after a gap is void: an idle drive collects garbage. Its level counts with the other
//! rounds.

mod exhibits;
mod results;
mod rules;
mod setup;
#[cfg(test)]
mod tests;

pub use setup::{Factors, PARAMETERS};

use crate::common::preconditioning::{precondition, require_purged};
use crate::exhibits::report;
use setup::{Factor, OVERWRITE, RANDOM, SEQUENTIAL};
use steadfast_domain::{Bench, Findings, Halt, Procedure, Record};

/// Name of the procedure.
pub const NAME: &str = "factors";

impl Factors {
    /// Writes data of each entropy, and in each pattern, to the purged drive.
    fn conduct_fresh(&self, bench: &mut dyn Bench) -> Result<(), Halt> {
        let fresh = [Factor::FreshEntropy, Factor::FreshPattern];
        for level in fresh.into_iter().flat_map(|factor| self.levels(factor)) {
            require_purged(&bench.purge()?)?;
            for round in 1..=self.rounds {
                bench.apply(&self.step(level, round))?;
            }
        }
        Ok(())
    }

    /// Applies the levels of these factors in turn, every round in the same order, so that a slow
    /// change of the drive meets all of them.
    fn conduct_rounds(&self, bench: &mut dyn Bench, factors: &[Factor]) -> Result<(), Halt> {
        for round in 1..=self.rounds {
            for level in factors.iter().flat_map(|factor| self.levels(*factor)) {
                bench.apply(&self.step(level, round))?;
            }
        }
        Ok(())
    }

    /// Fills and overwrites each used capacity, and measures writes to it.
    fn conduct_used(&self, bench: &mut dyn Bench) -> Result<(), Halt> {
        for level in self.levels(Factor::Used) {
            require_purged(&bench.purge()?)?;
            self.used_load(level, "fill", SEQUENTIAL).conduct(bench)?;
            self.used_load(level, OVERWRITE, RANDOM).conduct(bench)?;
            for round in 1..=self.rounds {
                bench.apply(&self.step(level, round))?;
            }
        }
        Ok(())
    }
}

impl Procedure for Factors {
    fn conduct(&self, bench: &mut dyn Bench) -> Result<(), Halt> {
        bench.settle(&self.setup.conditions())?;
        self.conduct_fresh(bench)?;
        let preconditioned =
            [Factor::Alignment, Factor::Randomness, Factor::Entropy, Factor::Pattern];
        if preconditioned.iter().any(|factor| self.has(*factor)) {
            bench.purge()?;
            precondition(bench, &self.setup)?;
            if self.setup.one_pass.is_none() {
                self.overwrite().conduct(bench)?;
            }
            self.conduct_rounds(bench, &preconditioned)?;
            if self.has(Factor::Pattern) {
                for point in 1..=self.sustained_steps {
                    bench.apply(&self.sustained_step(point))?;
                }
            }
        }
        self.conduct_used(bench)
    }

    fn study(&self, record: &Record) -> Findings {
        report::findings(self, record)
    }
}
