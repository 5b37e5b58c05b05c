//! Workloads, workload files and exact replays of traces of known composition.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod export;
mod replay;
#[path = "../../analysis/tests/synthetic/mod.rs"]
#[allow(dead_code, reason = "made for other tests too")]
mod synthetic;

use steadfast_analysis::questions::cumulative::{CumulativeWorkload, Threshold};
use steadfast_analysis::{
    Captured, Derivation, PassOptions, ShareMeasure, StreamTable, StudyOptions,
};
use steadfast_domain::io_event::{ContentMeasurement, ContentSample};
use steadfast_domain::random_bits::mix64;
use steadfast_domain::stimulus::DataPattern;
use steadfast_domain::{CaptureConditions, Demand, IoEvent, IoOp, Nanos};
use steadfast_workload::WorkloadFile;
use steadfast_workload::replay::applied::Provenance;
use steadfast_workload::replay::{NativeSteps, StepChoice, StepSource};
use steadfast_workload::replay_representation::ReplayRepresentation;
use steadfast_workload::workload_file::WorkloadStep;
use synthetic::{SECOND, by_completion, key, known, opened, server};

#[test]
fn a_trace_becomes_a_replay_representation_and_a_workload() {
    let trace = server(80);
    let options = StudyOptions { step_ns: Some(10 * SECOND), ..StudyOptions::default() };
    let derived = Derivation::read(&trace, &options, true).unwrap();
    let mut text = Vec::new();
    ReplayRepresentation::from_derivation(&derived, "shop").unwrap().write(&mut text).unwrap();
    let (read, warnings) = ReplayRepresentation::read(&text[..]).unwrap();
    assert!(warnings.is_empty(), "{warnings:?}");
    assert_eq!(read.steps.len(), 8);
    let workload = read.workload(ShareMeasure::Count, Threshold(0));
    // Flushes and discards count in the totals and have no line of their own.
    assert_eq!(workload.total_count, trace.run(&PassOptions::default(), &mut []).unwrap().events);
    for stream in &workload.streams {
        let direct =
            derived.totals.workload.streams.iter().find(|s| s.key() == stream.key()).unwrap();
        assert_eq!(stream.count, direct.count, "{}", stream.stream);
    }
}

/// The tutorial's example, its seven steps as printed there.
const SEVEN_STEPS: &str = include_str!("seven_steps.txt");

fn patterns(native: &NativeSteps) -> Vec<String> {
    let pattern = |pattern: &Option<DataPattern>| pattern.as_ref().map(ToString::to_string);
    native.steps.iter().map(|step| pattern(&step.data_pattern).unwrap_or_default()).collect()
}

/// Random parts are 100 over the tutorial's compression ratios 4.97, 4.99, 4.89, 5.28, 5.81, 5.32
/// and 5.98.
#[test]
fn the_tutorials_seven_steps_keep_their_own_data_when_written_and_read() {
    let (text, _) = ReplayRepresentation::read(SEVEN_STEPS.as_bytes()).unwrap();
    let mut written = Vec::new();
    text.write(&mut written).unwrap();
    let written = String::from_utf8(written).unwrap();
    let totals = |text: &str| -> Vec<String> {
        text.lines().filter(|line| line.starts_with("14555")).map(str::to_owned).collect()
    };
    assert_eq!(totals(&written), totals(SEVEN_STEPS));
    assert_eq!(totals(&written).len(), 7);
    let expected = [(20, 45), (20, 41), (20, 42), (19, 36), (17, 42), (19, 43), (17, 41)];
    let expected = expected.map(|(random, duplicates)| format!("entropy:{random},{duplicates}"));
    let native = native(&StepSource::Representation(&text));
    assert_eq!(patterns(&native), expected);
    let applied = native.applied(Provenance::default());
    let of_steps = applied.steps.iter().map(|step| step.data_pattern.clone().unwrap().to_string());
    assert_eq!(of_steps.collect::<Vec<_>>(), expected);
    // A workload file keeps them, too.
    let (workload, steps) = (native.workload.clone(), native.steps.clone());
    let file = WorkloadFile { workload, steps, ..WorkloadFile::default() };
    let read = WorkloadFile::read(&file.to_string()).unwrap();
    let again = self::native(&StepSource::Workload(&read));
    assert_eq!(again.steps, native.steps);
    assert_eq!(again.applied(Provenance::default()).steps, applied.steps);
}

fn native(source: &StepSource<'_>) -> NativeSteps {
    // Only the steps of a capture have a width that can be chosen.
    let step_ns = matches!(source, StepSource::Capture(_)).then_some(SECOND);
    NativeSteps::read(source, &StepChoice { step_ns, ..StepChoice::default() }).unwrap()
}

/// Three seconds of four threads. The written data compress to a quarter with every second block a
/// duplicate; then nothing is written; then they compress to a half without a duplicate.
#[test]
fn compression_duplicates_and_threads_are_those_of_each_captured_step() {
    let io = |at: u64, op, tid, content| IoEvent {
        issued_ns: at * SECOND / 100,
        response_ns: 1000,
        op,
        offset: at * 81_920,
        bytes: 8192,
        tid,
        content,
        ..IoEvent::default()
    };
    let content = |compressed_bytes, duplicates| ContentMeasurement {
        blocks: 2,
        duplicates,
        bytes: 8192,
        compressed_bytes,
    };
    let mut events = Vec::new();
    for at in 0..300 {
        events.push(match at {
            0..100 => io(at, IoOp::Write, 1 + at as u32 % 4, content(2048, 1)),
            100..200 => io(at, IoOp::Read, 7, ContentMeasurement::default()),
            _ => io(at, IoOp::Write, 8 + at as u32 % 2, content(4096, 0)),
        });
    }
    let sample = ContentSample {
        every: 1,
        blocks: 400,
        duplicates: 100,
        bytes: 1_638_400,
        compressed_bytes: 614_400,
        ..ContentSample::default()
    };
    let conditions = CaptureConditions {
        threads: true,
        content: Some(sample),
        compression_ratio: sample.compression_ratio(),
        lasted_ns: 3 * SECOND,
        ..CaptureConditions::default()
    };
    let capture: Captured = opened(&events, conditions).into();
    let options = StudyOptions { step_ns: Some(SECOND), ..StudyOptions::default() };
    let derived = Derivation::read(&capture, &options, true).unwrap();
    let mut text = Vec::new();
    ReplayRepresentation::from_derivation(&derived, "w").unwrap().write(&mut text).unwrap();
    let (read, _) = ReplayRepresentation::read(&text[..]).unwrap();
    let content: Vec<_> =
        read.steps.iter().map(|step| (step.compression_ratio, step.duplicate_percent)).collect();
    assert_eq!(
        content,
        [(Some(4.0), Some(50.0)), (None, None), (Some(2.0), Some(0.0))],
        "{}",
        String::from_utf8_lossy(&text)
    );
    let expected = ["entropy:25,50", "", "entropy:50,0"];
    assert_eq!(patterns(&native(&StepSource::Representation(&read))), expected);
    let native = native(&StepSource::Capture(&capture));
    assert_eq!(patterns(&native), expected);
    let threads: Vec<_> = native.steps.iter().map(|step| step.threads).collect();
    assert_eq!(threads, [Some(4), Some(1), Some(2)]);
    let found = capture.steps(&PassOptions::default(), Some(SECOND)).unwrap().found;
    let threads: Vec<_> = found.figures(capture.conditions()).map(|step| step.threads).collect();
    assert_eq!(threads, [Some(4), Some(1), Some(2)]);
}

/// Whichever bit of a workload file is flipped, the file is refused, has the doubt that it was edited,
/// or is the same workload.
#[test]
fn every_flipped_bit_of_a_workload_file_is_refused_named_or_without_effect() {
    let mut table = StreamTable::new();
    let trace = opened(&known(), CaptureConditions::default());
    PassOptions::default().run(&trace, &mut [&mut table]).unwrap();
    let workload = CumulativeWorkload::new(&table, ShareMeasure::Count, Threshold(20_000));
    let ios = workload.streams.iter().map(|stream| (stream.key(), stream.count)).collect();
    let step = WorkloadStep { lasts: Nanos(2 * SECOND), ios, ..WorkloadStep::default() };
    let file = WorkloadFile {
        name: "monday.parquet".into(),
        demand: Some(Demand::new(1, 4)),
        steps: vec![step],
        workload,
        ..WorkloadFile::default()
    };
    let text = file.to_string();
    let right = WorkloadFile::read(&text).unwrap();
    assert!(right.doubts.is_empty(), "{:?}\n{text}", right.doubts);
    let (mut refused, mut same, mut named) = (0, 0, 0);
    for seed in 0..1000 {
        let at = mix64(seed) % (text.len() as u64 * 8);
        let mut bytes = text.clone().into_bytes();
        bytes[at as usize / 8] ^= 1 << (at % 8);
        match String::from_utf8(bytes).ok().and_then(|text| WorkloadFile::read(&text).ok()) {
            None => refused += 1,
            Some(read) if read == right => same += 1,
            Some(read) => {
                assert!(!read.doubts.is_empty(), "bit {at} changes the workload without a doubt");
                named += 1;
            }
        }
    }
    assert!(refused > 100 && named > 50 && same > 50, "{refused} {named} {same}");
}
