//! Power cuts of every simulated behavior.

use super::{begin, scratch_path};
use std::collections::BTreeSet;
use steadfast_domain::Settings;
use steadfast_domain::power_cut::{PowerCutOutcome, PowerLossBehavior, ViolationKind};
use steadfast_engine::StopSignal;
use steadfast_engine::sim::{DriveSpec, SimulatedSsd, drive};
use steadfast_runner::run::RunOutcome;
use steadfast_runner::simulated_rig::SimulatedRig;
use steadfast_runner::{Ledger, Rig, RunPlan};

#[test]
fn faulty_drives_are_detected_in_every_cycle() {
    let mut settings = Settings::new("power-cut", 10_007);
    for (name, value) in
        [("cycles", "200"), ("area", "1"), ("block", "4"), ("flush-every", "8"), ("within", "1s")]
    {
        settings.set(name, value);
    }
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
        let mut rig = SimulatedRig::new(ssd, None);
        let device = rig.device().clone();
        let plan = RunPlan::new("steadfast 0", 0, "uring", device, settings.clone());
        let (_scratch, directory) = scratch_path();
        assert_eq!(begin(&directory, &plan, &mut rig), RunOutcome::Complete);
        let record = Ledger::read(&directory).unwrap().into_record();
        let outcomes: Vec<&PowerCutOutcome> =
            record.power_cuts().into_iter().filter_map(|(_, outcome)| outcome).collect();
        assert!(outcomes.len() == 200 && outcomes.iter().all(|outcome| outcome.is_test()));
        let moments: BTreeSet<u64> = outcomes.iter().map(|outcome| outcome.acknowledged).collect();
        assert!(moments.len() > 100, "random moments: {moments:?}");
        for (cycle, outcome) in outcomes.iter().enumerate() {
            match kind {
                None => assert!(outcome.counts.is_empty(), "cycle {cycle}: {outcome:?}"),
                Some(kind) => assert!(outcome.counts.contains_key(&kind), "{kind:?}: {outcome:?}"),
            }
        }
    }
}
