//! Verify-write on a file through the real engine: changes between the writes and the reads are
//! found.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use steadfast_domain::record::RECORD_VERSION;
use steadfast_domain::{
    Bench, Bytes, Conditions, EndState, Findings, Halt, JournalEntry, Nanos, Note, Outcome, Purge,
    Record, Settings, Step,
};
use steadfast_engine::native::{Native, NativeOptions};
use steadfast_engine::{Engine, StepStart, StopSignal};
use steadfast_host::{Consent, SystemRoots, arm, inspect};

const SIZE: u64 = 64 << 20;

/// A file under the engine, and the change made to it between the two passes.
struct FileBench<'a> {
    engine: Native,
    path: PathBuf,
    between: &'a dyn Fn(&File),
    entries: Vec<JournalEntry>,
}

fn bench<'a>(path: &Path, between: &'a dyn Fn(&File)) -> FileBench<'a> {
    File::create(path).unwrap().set_len(SIZE).unwrap();
    let roots = SystemRoots::real();
    let device = inspect(path, &roots).unwrap();
    let confirmation = path.file_name().unwrap().to_str().map(str::to_owned);
    let target = arm(&device, &Consent::Destroy { confirmation }, &[], &roots).unwrap();
    let engine = Native::new(target, StopSignal::default(), NativeOptions::default()).unwrap();
    FileBench { engine, path: path.to_owned(), between, entries: Vec::new() }
}

impl Bench for FileBench<'_> {
    fn settle(&mut self, wanted: &Conditions) -> Result<Conditions, Halt> {
        Ok(wanted.clone())
    }
    fn purge(&mut self) -> Result<Purge, Halt> {
        panic!("verify-write purges nothing")
    }
    fn apply(&mut self, step: &Step) -> Result<Outcome, Halt> {
        if step.place.phase == "read-back" {
            (self.between)(&File::options().read(true).write(true).open(&self.path).unwrap());
        }
        let measurement = self.engine.perform(step, &StepStart::default(), &mut |_| {}).unwrap();
        let outcome = Outcome { measurement, gap_before: None };
        self.entries.push(JournalEntry::Applied {
            step: Box::new(step.clone()),
            outcome: Box::new(outcome.clone()),
        });
        Ok(outcome)
    }
    fn idle(&mut self, _: Nanos) -> Result<(), Halt> {
        Ok(())
    }
    fn note(&mut self, _: &Note) {}
}

/// Returns the findings of verify-write on a file that is changed between its passes.
fn verify(between: &dyn Fn(&File)) -> Findings {
    let scratch = tempfile::tempdir().unwrap();
    let mut bench = bench(&scratch.path().join("verified.bin"), between);
    let settings = Settings::new("verify-write", 7);
    let geometry =
        steadfast_domain::settings::Geometry { capacity: Bytes(SIZE), logical_sector: 512 };
    let test = steadfast_procedures::procedure(&settings, geometry, &[]).unwrap();
    test.conduct(&mut bench).unwrap();
    bench.entries.push(JournalEntry::Ended);
    let record = Record {
        version: RECORD_VERSION,
        settings,
        began_unix_ms: 0,
        ended_unix_ms: 1,
        digest: String::new(),
        entries: bench.entries,
    };
    test.study(&record)
}

#[test]
fn an_unchanged_file_has_no_miscompare() {
    let findings = verify(&|_| ());
    assert_eq!(findings.end, EndState::Complete, "{}", findings.ending);
    assert!(findings.ending.contains("all 131,072 sectors"), "{}", findings.ending);
}

#[test]
fn a_changed_block_and_a_lost_write_are_found() {
    let flipped = verify(&|file| {
        let mut byte = [0];
        file.read_exact_at(&mut byte, 777 * 512 + 99).unwrap();
        file.write_all_at(&[!byte[0]], 777 * 512 + 99).unwrap();
        file.sync_all().unwrap();
    });
    assert_eq!((flipped.end, flipped.end.good()), (EndState::Failed, Some(false)));
    assert!(flipped.ending.contains("1 of 131,072"), "{}", flipped.ending);
    let places = format!("{:?}", flipped.form_pages[0].exhibits.last());
    assert!(places.contains(&format!("{:?}", (777 * 512) as f64)), "{places}");
    let lost = verify(&|file| {
        file.write_all_at(&[0; 4096], SIZE - 4096).unwrap();
        file.sync_all().unwrap();
    });
    assert!(lost.ending.contains("8 of 131,072"), "{}", lost.ending);
}
