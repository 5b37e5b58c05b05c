//! Results of power-cut: its cycles, their violations, and the bound of the share of cuts with a
//! violation.

use super::setup::PowerCut;
use std::collections::BTreeMap;
use steadfast_domain::power_cut::{PowerCutOutcome, PowerCutTrial, ViolationKind};
use steadfast_domain::significance::proportion_upper_bound;
use steadfast_domain::{EndState, Record};

/// Confidence level of the bound (our choice; the customary one).
pub const CONFIDENCE: f64 = 0.95;

pub struct PowerCutResults<'a> {
    /// Trials that were judged, in order.
    pub cycles: Vec<JudgedCycle<'a>>,
    /// Number of cycles that tested the drive.
    pub tests: usize,
    /// Number of tested cycles with a violation.
    pub violated: usize,
    /// Violations by kind; kinds without any are absent.
    pub counts: BTreeMap<ViolationKind, u64>,
    /// Number of cycles that had a cut which the drive's counters do not prove.
    pub unproven: usize,
    /// True if the kernel sent no flush in a cycle that tested the drive.
    pub without_flushes: bool,
    pub end: EndState,
}

/// A trial and what was found after it.
pub struct JudgedCycle<'a> {
    pub trial: &'a PowerCutTrial,
    pub outcome: &'a PowerCutOutcome,
}

impl<'a> PowerCutResults<'a> {
    pub fn new(test: &PowerCut, record: &'a Record) -> Self {
        let trials = record.power_cuts().into_iter();
        let cycles: Vec<JudgedCycle<'a>> = trials
            .filter_map(|(trial, outcome)| Some(JudgedCycle { trial, outcome: outcome? }))
            .collect();
        let outcomes = || cycles.iter().map(|cycle| cycle.outcome);
        let tests = || outcomes().filter(|outcome| outcome.is_test());
        let mut counts = BTreeMap::new();
        for outcome in tests() {
            for (kind, count) in &outcome.counts {
                *counts.entry(*kind).or_default() += count;
            }
        }
        let violated = tests().filter(|outcome| outcome.violation_count() > 0).count();
        let without_flushes = tests().any(|outcome| outcome.without_flushes);
        let unproven = outcomes().filter(|outcome| outcome.is_unproven()).count();
        let tests = tests().count();
        let end = match (record.has_ended(), violated, tests) {
            (false, ..) => EndState::Unfinished,
            // Without a flush, the drive may have been allowed to lose what it lost.
            (true, 1.., _) if without_flushes => EndState::Void,
            (true, 1.., _) => EndState::Failed,
            (true, 0, tests) if tests == test.cycles as usize => EndState::Complete,
            (true, 0, _) => EndState::Void,
        };
        PowerCutResults { cycles, tests, violated, counts, unproven, without_flushes, end }
    }

    /// Returns the number of violations of all cycles that tested the drive.
    pub fn violations(&self) -> u64 {
        self.counts.values().sum()
    }

    /// Returns the number of violations of the cycles that did not test the drive.
    pub fn violations_without_cut(&self) -> u64 {
        let untested = self.cycles.iter().filter(|cycle| !cycle.outcome.is_test());
        untested.map(|cycle| cycle.outcome.violation_count()).sum()
    }

    /// Returns the upper bound of the share of power cuts with a violation; `None` if no cycle
    /// tested the drive.
    pub fn bound(&self) -> Option<f64> {
        let bound = || proportion_upper_bound(self.violated, self.tests, CONFIDENCE);
        (self.tests > 0).then(bound)
    }
}
