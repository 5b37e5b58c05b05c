//! A script as the load of a run: what the ledger stores of it, and how a resumed run uses that.

use super::{broken_off, run_settings};
use std::path::Path;
use std::sync::Arc;
use steadfast_domain::script::OpCounts;
use steadfast_domain::{
    Bench, Bytes, Demand, DueIo, Findings, Halt, Load, Nanos, Op, Procedure, Record, Script,
    ScriptError, ScriptLoad, Step, StepPlace,
};
use steadfast_engine::StopSignal;
use steadfast_engine::sim::{SimulatedSsd, drives};
use steadfast_runner::progress::NoProgress;
use steadfast_runner::run::{RunOutcome, conduct};
use steadfast_runner::simulated_rig::SimulatedRig;
use steadfast_runner::{Ledger, Rig};

const IOS: u64 = 40_000;

/// Reads of 4 KiB, 100 µs apart.
struct SpacedReads(u64);

impl Script for SpacedReads {
    fn fill(&mut self, batch: &mut Vec<DueIo>) -> Result<usize, ScriptError> {
        let room = (batch.capacity() - batch.len()) as u64;
        let next = self.0..IOS.min(self.0 + room);
        self.0 = next.end;
        let of =
            |n: u64| DueIo::new(Nanos(n * 100_000), Op::Read, Bytes(n % 1000 * 4096), Bytes(4096));
        batch.extend(next.clone().map(of));
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
        let (load, cut) = (Load::Script(script), Some(Nanos::SECOND));
        let place = |point| StepPlace::new("replay", 0, point, "reads");
        let mut step = Step {
            place: place(1),
            load,
            cut,
            continues: false,
            groups: Vec::new(),
            interval: None,
        };
        let mut ios = 0;
        loop {
            let done = bench.apply(&step)?.measurement;
            ios += done.total().ios;
            if done.complete {
                break;
            }
            step.place = place(step.place.point + 1);
            step.continues = true;
        }
        assert_eq!(ios, IOS);
        Ok(())
    }
    fn study(&self, _: &Record) -> Findings {
        unreachable!("nobody asks what it means")
    }
}

fn rig() -> SimulatedRig {
    let spec = drives().iter().find(|spec| spec.name == "small").unwrap();
    SimulatedRig::new(SimulatedSsd::new(spec, 1, StopSignal::default()), None)
}

fn begin(directory: &Path) -> RunOutcome {
    let mut rig = rig();
    let mut settings = run_settings(|_| ());
    settings.device = rig.device().clone();
    let ledger = Ledger::create(directory, &settings).unwrap();
    conduct(&CutReplay { digest: "one" }, &mut rig, ledger, &[], "steadfast 0", &mut NoProgress)
        .unwrap()
}

fn go_on(directory: &Path, digest: &'static str) -> RunOutcome {
    let (ledger, contents) = Ledger::open(directory).unwrap();
    let lines = &contents.lines;
    conduct(&CutReplay { digest }, &mut rig(), ledger, lines, "steadfast 0", &mut NoProgress)
        .unwrap()
}

#[test]
fn a_resumed_run_plays_only_the_same_script() {
    let scratch = tempfile::tempdir().unwrap();
    let whole = scratch.path().join("whole");
    assert_eq!(begin(&whole), RunOutcome::Complete);
    let record = Ledger::read(&whole).unwrap();
    // 40,000 I/Os, none of which is stored individually.
    let journal = std::fs::read_to_string(whole.join("journal.jsonl")).unwrap();
    let longest = journal.lines().map(str::len).max().unwrap();
    assert!(longest < 16_000, "{longest} bytes");
    let half = record.lines.len() / 2;
    for (directory, digest) in [("same", "one"), ("other", "two")] {
        let directory = scratch.path().join(directory);
        broken_off(&whole, &directory, half);
        let ending = go_on(&directory, digest);
        if digest == "one" {
            assert_eq!(ending, RunOutcome::Complete);
            let outcomes = |directory: &Path| -> Vec<String> {
                let lines = Ledger::read(directory).unwrap().lines;
                let text = |line: &steadfast_runner::ledger::JournalLine| match &line.entry {
                    entry @ steadfast_domain::JournalEntry::Applied { .. } => {
                        Some(serde_json::to_string(entry).unwrap())
                    }
                    _ => None,
                };
                lines.iter().filter_map(text).collect()
            };
            assert_eq!(outcomes(&directory), outcomes(&whole));
        } else {
            let RunOutcome::Halted(Halt::Mismatch(why)) = ending else { panic!("{ending:?}") };
            assert!(why.contains("another load"), "{why}");
        }
    }
}
