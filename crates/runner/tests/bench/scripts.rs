//! A script as the load of a run: what the ledger stores of it, and how a resumed run uses that.

use super::{interrupted_run, quick_plan, scratch_path};
use std::path::Path;
use std::sync::Arc;
use steadfast_domain::script::OpCounts;
use steadfast_domain::{
    Bench, Bytes, Demand, DueIo, Findings, Halt, JournalEntry, Load, Nanos, Op, Procedure, Record,
    Script, ScriptError, ScriptLoad, Step, StepPlace,
};
use steadfast_engine::StopSignal;
use steadfast_engine::sim::{SimulatedSsd, drives};
use steadfast_runner::progress::NoProgress;
use steadfast_runner::run::{RunOutcome, conduct};
use steadfast_runner::simulated_rig::SimulatedRig;
use steadfast_runner::{Ledger, Rig, RunPlan};

const IOS: u64 = 40_000;

/// Reads of 4 KiB, 100 µs apart.
struct SpacedReads(u64);

impl Script for SpacedReads {
    fn fill(&mut self, batch: &mut Vec<DueIo>) -> Result<usize, ScriptError> {
        let room = (batch.capacity() - batch.len()) as u64;
        let next = self.0..IOS.min(self.0 + room);
        self.0 = next.end;
        for n in next.clone() {
            let (due, offset) = (Nanos(n * 100_000), Bytes(n % 1000 * 4096));
            batch.push(DueIo::new(due, Op::Read, offset, Bytes(4096)));
        }
        Ok((next.end - next.start) as usize)
    }
}

/// Plays the script, cut every second.
struct CutReplay {
    digest: &'static str,
}

impl Procedure for CutReplay {
    fn conduct(&self, bench: &mut dyn Bench) -> Result<(), Halt> {
        let script = ScriptLoad {
            digest: self.digest.into(),
            counts: OpCounts { reads: IOS, ..OpCounts::default() },
            bytes: Bytes(IOS * 4096),
            span: Nanos((IOS - 1) * 100_000),
            largest: Bytes(4096),
            unit: Bytes(4096),
            reach: Bytes(1000 * 4096),
            open: Some(Arc::new(|| Ok(Box::new(SpacedReads(0))))),
            ..ScriptLoad::new("reads", Demand::new(1, 16))
        };
        let place = StepPlace::new("replay", 0, 1, "reads");
        let mut step = Step::part(place, Load::Script(script), Nanos::SECOND, false);
        let mut ios = 0;
        let mut complete = false;
        while !complete {
            let done = bench.apply(&step)?.measurement;
            ios += done.total().ios;
            complete = done.complete;
            step.place.point += 1;
            step.continues = true;
        }
        assert_eq!(ios, IOS);
        Ok(())
    }
    fn study(&self, _: &Record) -> Findings {
        unreachable!("it is only conducted")
    }
}

fn rig() -> SimulatedRig {
    let spec = drives().iter().find(|spec| spec.name == "small").unwrap();
    SimulatedRig::new(SimulatedSsd::new(spec, 1, StopSignal::default()), None)
}

fn begin(directory: &Path) -> RunOutcome {
    let mut rig = rig();
    let plan = RunPlan { device: rig.device().clone(), ..quick_plan() };
    let ledger = Ledger::create(directory, &plan).unwrap();
    conduct(&CutReplay { digest: "one" }, &mut rig, ledger, &[], "steadfast 0", &mut NoProgress)
        .unwrap()
}

fn resume(directory: &Path, digest: &'static str) -> RunOutcome {
    let (ledger, contents) = Ledger::open(directory).unwrap();
    let lines = &contents.lines;
    conduct(&CutReplay { digest }, &mut rig(), ledger, lines, "steadfast 0", &mut NoProgress)
        .unwrap()
}

#[test]
fn a_resumed_run_plays_only_the_same_script() {
    let (_scratch, whole) = scratch_path();
    assert_eq!(begin(&whole), RunOutcome::Complete);
    let record = Ledger::read(&whole).unwrap();
    // 40,000 I/Os, none of which is stored individually.
    let journal = std::fs::read_to_string(whole.join("journal.jsonl")).unwrap();
    let longest = journal.lines().map(str::len).max().unwrap();
    assert!(longest < 16_000, "{longest} bytes");
    let directory = interrupted_run(&whole, record.lines.len() / 2);
    let RunOutcome::Halted(Halt::Mismatch(why)) = resume(&directory, "two") else {
        panic!("another script was played")
    };
    assert!(why.contains("another load"), "{why}");
    let directory = interrupted_run(&whole, record.lines.len() / 2);
    assert_eq!(resume(&directory, "one"), RunOutcome::Complete);
    let steps = |directory: &Path| -> Vec<String> {
        let entries = Ledger::read(directory).unwrap().lines.into_iter().map(|line| line.entry);
        let steps = entries.filter(|entry| matches!(entry, JournalEntry::Applied { .. }));
        steps.map(|step| serde_json::to_string(&step).unwrap()).collect()
    };
    assert_eq!(steps(&directory), steps(&whole));
}
