//! The trials of power-cut, and every ending of its record.

use super::PowerCut;
use super::setup::NAME;
use crate::testing::scripted::{assert_unfinished_wherever_it_ends, record, requested};
use std::collections::BTreeSet;
use steadfast_domain::power_cut::{
    CountedPowerLoss, CutEvidence, PowerCounters, PowerCutOutcome, PowerCutTrial, ViolationKind,
};
use steadfast_domain::{
    Bench, Bytes, Conditions, EndState, Findings, Halt, JournalEntry, Nanos, Note, Outcome,
    Procedure, Purge, Settings, Step, caveats as ids,
};

fn settings(set: &[(&str, &str)]) -> Settings {
    let mut settings = Settings::new(NAME, 10_007);
    settings.parameters =
        set.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    settings
}

fn build(set: &[(&str, &str)]) -> PowerCut {
    requested(&settings(set), PowerCut::new)
}

/// A bench whose trials have these outcomes; the last repeats.
struct CutBench<'a> {
    outcomes: &'a [PowerCutOutcome],
    entries: Vec<JournalEntry>,
    trials: Vec<PowerCutTrial>,
}

impl Bench for CutBench<'_> {
    fn settle(&mut self, wanted: &Conditions) -> Result<Conditions, Halt> {
        assert_eq!(wanted.write_cache, None, "the cache is tested as it is");
        Ok(wanted.clone())
    }
    fn purge(&mut self) -> Result<Purge, Halt> {
        unreachable!()
    }
    fn apply(&mut self, _: &Step) -> Result<Outcome, Halt> {
        unreachable!()
    }
    fn idle(&mut self, _: Nanos) -> Result<(), Halt> {
        unreachable!()
    }
    fn cut_power(&mut self, trial: &PowerCutTrial) -> Result<PowerCutOutcome, Halt> {
        let last = self.outcomes.len() - 1;
        let outcome = self.outcomes[self.trials.len().min(last)].clone();
        self.trials.push(trial.clone());
        self.entries.extend([
            JournalEntry::PowerCutBegan {
                trial: trial.clone().into(),
                nonce: 7,
                command: None,
                counters: PowerCounters::default(),
                without_flushes: false,
            },
            JournalEntry::PowerCutJudged(outcome.clone().into()),
        ]);
        Ok(outcome)
    }
    fn note(&mut self, _: &Note) {}
}

fn outcome(evidence: CutEvidence, violations: u64) -> PowerCutOutcome {
    let counts = [(ViolationKind::LostFlushed, violations)];
    PowerCutOutcome {
        evidence,
        acknowledged: 320,
        flushes: 10,
        counts: counts.into_iter().filter(|(_, count)| *count > 0).collect(),
        ..PowerCutOutcome::default()
    }
}

/// Conducts a test of 5 cycles; returns its trials and its findings.
fn conducted(outcomes: &[PowerCutOutcome]) -> (Vec<PowerCutTrial>, Findings) {
    let test = build(&[("cycles", "5")]);
    let mut bench = CutBench { outcomes, entries: Vec::new(), trials: Vec::new() };
    test.conduct(&mut bench).unwrap();
    let record = record(&settings(&[("cycles", "5")]), bench.entries);
    assert_unfinished_wherever_it_ends(&test, &record);
    (bench.trials, test.study(&record))
}

#[test]
fn every_ending_says_how_many_cuts_there_were() {
    const CUT: CutEvidence = CutEvidence::DeviceFailed;
    let (trials, found) = conducted(&[outcome(CUT, 0)]);
    assert_eq!((trials.len(), found.end), (5, EndState::Complete));
    // 1 - 0.05^(1/5)
    assert!(found.ending.contains("0 violations in 5") && found.ending.contains("45.1 %"));

    let (trials, found) = conducted(&[outcome(CUT, 0), outcome(CUT, 3), outcome(CUT, 0)]);
    assert_eq!((trials.len(), found.end), (5, EndState::Failed));
    assert!(found.ending.contains("1 of 5") && found.caveat(ids::POWER_CUT_VIOLATIONS).is_some());

    // Without a cut the test ends, and its first sentence says so; what is found then is no
    // violation, since the device may never have been tested.
    let (trials, found) = conducted(&[outcome(CutEvidence::Nothing, 3)]);
    assert_eq!((trials.len(), found.end), (1, EndState::Void));
    assert!(found.ending.starts_with("NO POWER CUT WAS MADE"), "{}", found.ending);
    assert!(found.ending.ends_with("Without a cut, 3 blocks do not hold what was flushed."));
    assert!(found.caveat(ids::NO_POWER_CUT).is_some());

    let (trials, found) = conducted(&[outcome(CUT, 0), outcome(CutEvidence::Nothing, 0)]);
    assert_eq!((trials.len(), found.end), (2, EndState::Void));
    assert!(found.ending.starts_with("ONLY 1 OF 5"), "{}", found.ending);

    // A cut before the first flush tests nothing, and the next cycle follows.
    let early = PowerCutOutcome { acknowledged: 0, ..outcome(CUT, 0) };
    let (trials, found) = conducted(&[early, outcome(CUT, 0)]);
    assert_eq!((trials.len(), found.end), (5, EndState::Void));
    assert!(found.ending.starts_with("ONLY 4 OF 5"), "{}", found.ending);
}

/// A dash would say that the purge is unknown.
#[test]
fn a_test_that_purges_nothing_says_so() {
    let (_, found) = conducted(&[outcome(CutEvidence::DeviceFailed, 0)]);
    let purge = found.front.conditions.iter().find(|row| row.id == "Purge").unwrap();
    assert_eq!(purge.value.as_deref(), Some("none"));
}

#[test]
fn the_drives_own_count_decides_and_flushes_that_were_not_sent_limit_the_verdict() {
    use CountedPowerLoss::{No, Unknown, Yes};
    use CutEvidence::{DeviceFailed, HostRestarted, MediumError, Nothing, Simulated};
    for (evidence, counted, is_cut) in [
        (DeviceFailed, Yes, true),
        (DeviceFailed, Unknown, true),
        (DeviceFailed, No, false),
        (HostRestarted, Unknown, true),
        (HostRestarted, No, false),
        (MediumError, Yes, true),
        (MediumError, Unknown, false),
        (MediumError, No, false),
        (Nothing, Yes, false),
        (Nothing, Unknown, false),
        (Simulated, Unknown, true),
    ] {
        let all = PowerCutOutcome { counted, ..outcome(evidence, 2) };
        let (trials, found) = conducted(&[all]);
        let state = (trials.len(), found.end);
        let wanted = if is_cut { (5, EndState::Failed) } else { (1, EndState::Void) };
        assert_eq!(state, wanted, "{evidence:?}, {counted:?}");
        assert_eq!(found.caveat(ids::NO_POWER_CUT).is_some(), !is_cut, "{evidence:?}, {counted:?}");
        let is_unproven = is_cut && counted == Unknown && evidence != Simulated;
        assert_eq!(found.caveat(ids::POWER_CUT_UNPROVEN).is_some(), is_unproven, "{evidence:?}");
    }
    let unflushed =
        |violations| PowerCutOutcome { without_flushes: true, ..outcome(DeviceFailed, violations) };
    for (violations, end) in [(0, EndState::Complete), (1, EndState::Void)] {
        let (_, found) = conducted(&[unflushed(violations)]);
        assert_eq!(found.end, end);
        assert!(
            found.caveat(ids::NO_FLUSH_SENT).is_some() && found.caveat(ids::NO_POWER_CUT).is_none()
        );
        assert!(found.ending.to_lowercase().contains("without flushes"), "{}", found.ending);
    }
}

#[test]
fn moments_and_seeds_are_random_and_repeat() {
    let test = build(&[("within", "10s")]);
    let trials: Vec<PowerCutTrial> = (1..=200).map(|cycle| test.trial(cycle)).collect();
    let seeds: BTreeSet<u64> = trials.iter().map(|trial| trial.seed).collect();
    let moments: Vec<u64> = trials.iter().map(|trial| trial.cut_after.0 / 1_000_000_000).collect();
    assert_eq!(seeds.len(), 200);
    assert!((1..=9).all(|second| moments.contains(&second)) && !moments.contains(&0));
    assert_eq!(trials[6], build(&[]).trial(7));
    let trial = &trials[0];
    assert_eq!((trial.blocks, trial.block, trial.flush_every), (16_384, Bytes::kib(16), 32));
}
