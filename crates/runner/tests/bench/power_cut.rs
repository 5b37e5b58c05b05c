//! Power cuts of every simulated behavior.

use std::collections::BTreeSet;
use std::path::Path;
use steadfast_domain::power_cut::{PowerCutOutcome, PowerLossBehavior, ViolationKind};
use steadfast_domain::{JournalEntry, Settings};
use steadfast_engine::StopSignal;
use steadfast_engine::sim::{DriveSpec, SimulatedSsd, drive};
use steadfast_runner::progress::NoProgress;
use steadfast_runner::run::{RunOutcome, conduct};
use steadfast_runner::simulated_rig::SimulatedRig;
use steadfast_runner::{Ledger, Rig, RunPlan};

fn settings(cycles: &str) -> Settings {
    let mut settings = Settings::new("power-cut", 10_007);
    for (name, value) in
        [("cycles", cycles), ("area", "1"), ("block", "4"), ("flush-every", "8"), ("within", "1s")]
    {
        settings.set(name, value);
    }
    settings
}

/// Conducts a run in `directory`.
fn run(directory: &Path, rig: &mut dyn Rig, settings: &Settings) -> RunOutcome {
    let plan = RunPlan::new("steadfast 0", 0, "uring", rig.device().clone(), settings.clone());
    let procedure = steadfast_procedures::procedure(settings, plan.geometry(), &[]).unwrap();
    let ledger = Ledger::create(directory, &plan).unwrap();
    conduct(&*procedure, rig, ledger, &[], "steadfast 0", &mut NoProgress).unwrap()
}

fn outcomes(directory: &Path) -> Vec<PowerCutOutcome> {
    let lines = Ledger::read(directory).unwrap().lines;
    let judged = lines.into_iter().filter_map(|line| match line.entry {
        JournalEntry::PowerCutJudged(outcome) => Some(*outcome),
        _ => None,
    });
    judged.collect()
}

#[test]
fn faulty_drives_are_detected_in_every_cycle() {
    let scratch = tempfile::tempdir().unwrap();
    for (behavior, kind) in [
        (PowerLossBehavior::Honest, None),
        (PowerLossBehavior::DropsFlushed, Some(ViolationKind::LostFlushed)),
        (PowerLossBehavior::IgnoresFlushes, Some(ViolationKind::LostFlushed)),
        (PowerLossBehavior::TearsSector, Some(ViolationKind::TornSector)),
        (PowerLossBehavior::Reorders, Some(ViolationKind::LostFlushed)),
        (PowerLossBehavior::Misplaces, Some(ViolationKind::Misplaced)),
    ] {
        let spec = DriveSpec { power_loss: behavior, ..drive("small").unwrap().clone() };
        let ssd = SimulatedSsd::new(&spec, 7, StopSignal::default());
        let directory = scratch.path().join(format!("{behavior:?}"));
        let ended = run(&directory, &mut SimulatedRig::new(ssd, None), &settings("200"));
        assert_eq!(ended, RunOutcome::Complete);
        let all = outcomes(&directory);
        assert!(all.len() == 200 && all.iter().all(PowerCutOutcome::is_test));
        let moments: BTreeSet<u64> = all.iter().map(|outcome| outcome.acknowledged).collect();
        assert!(moments.len() > 100, "random moments: {moments:?}");
        for (cycle, outcome) in all.iter().enumerate() {
            match kind {
                None => assert!(outcome.counts.is_empty(), "cycle {cycle}: {outcome:?}"),
                Some(kind) => assert!(outcome.counts.contains_key(&kind), "{kind:?}: {outcome:?}"),
            }
        }
    }
}
