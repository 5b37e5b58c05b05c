//! Preconditioning in one pass before procedures other than WSAT.

use super::{RigLog, begin, findings, plan_with, real_rig, resume, scratch_path};
use std::collections::BTreeSet;
use steadfast_domain::{Halt, Load};
use steadfast_runner::Ledger;
use steadfast_runner::run::RunOutcome;

/// Halted inside the pass and resumed, every region is written once: the bytes are those of an
/// undisturbed pass.
#[test]
fn an_interrupted_pass_writes_every_region_once() {
    for (procedure, before) in [("iops", 20), ("hir", 41), ("commit", 63)] {
        let (_scratch, directory) = scratch_path();
        let settings = plan_with(|settings| {
            settings.procedure = procedure.into();
            settings.set("precondition", "one-pass");
            settings.set("spare", "7%");
        });
        let mut log = RigLog::default();
        let mut halting = real_rig(&mut log).halting_after(before);
        let ending = begin(&directory, &settings, &mut halting);
        assert_eq!(ending, RunOutcome::Halted(Halt::Stopped));
        let mut again = RigLog::default();
        assert_eq!(resume(&directory, &mut real_rig(&mut again)), RunOutcome::Complete);
        assert_eq!((log.applied.len(), again.purges), (before, 0), "{procedure}");
        let record = Ledger::read(&directory).unwrap().into_record();
        let (mut regions, mut digests, mut written) = (Vec::new(), BTreeSet::new(), 0);
        for (step, outcome) in record.steps().filter(|(step, _)| step.place.phase == "one-pass") {
            let Load::Script(script) = &step.load else { panic!("{}", step.place) };
            let is_first_after = step.place.point == before as u32 + 1;
            assert_eq!(outcome.gap_before.is_some(), is_first_after, "{}", step.place);
            regions.push(step.place.point);
            digests.insert(script.digest.clone());
            written += outcome.written().0;
        }
        assert_eq!(regions, (1..=64).collect::<Vec<u32>>(), "{procedure}");
        assert_eq!(digests.len(), 64);
        let fills = written as f64 / settings.device.capacity.0 as f64;
        assert!((1.069..1.0701).contains(&fills), "{procedure}: {fills}");
        assert!(record.steps().all(|(step, _)| step.place.phase != "wipc"), "{procedure}");
        let caveats = findings(&directory).caveats;
        assert!(caveats.iter().any(|caveat| caveat.id == "precondition"), "{procedure}");
        assert!(
            caveats.iter().any(|caveat| caveat.text.contains("region's writes")),
            "{procedure}"
        );
    }
}
