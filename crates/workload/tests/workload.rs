//! Workloads, workload files and exact replays of traces of known composition.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod replay;
#[path = "../../analysis/tests/synthetic/mod.rs"]
#[allow(dead_code, reason = "made for other tests too")]
mod synthetic;

use steadfast_analysis::questions::cumulative::{Threshold, Workload};
use steadfast_analysis::{By, Derivation, Pass, StreamTable, StudyOptions};
use steadfast_domain::step::mix64;
use steadfast_domain::{CaptureConditions, Demand, Nanos};
use steadfast_workload::WorkloadFile;
use steadfast_workload::replay_representation::ReplayRepresentation;
use steadfast_workload::workload_file::WorkloadStep;
use synthetic::{SECOND, by_completion, key, known, opened, server};

#[test]
fn a_trace_becomes_a_replay_representation_and_a_workload() {
    let trace = server(80);
    let options = StudyOptions { step_ns: Some(10 * SECOND), ..StudyOptions::default() };
    let derived = Derivation::of(&trace, &options, true).unwrap();
    let mut text = Vec::new();
    ReplayRepresentation::from_derivation(&derived, "shop").unwrap().write(&mut text).unwrap();
    let (read, warnings) = ReplayRepresentation::read(&text[..]).unwrap();
    assert!(warnings.is_empty(), "{warnings:?}");
    assert_eq!(read.steps.len(), 8);
    let workload = read.workload(By::Count, Threshold(0));
    // Flushes and discards count in the totals and have no line of their own.
    assert_eq!(workload.total_count, trace.run(&Pass::default(), &mut []).unwrap().events);
    for stream in &workload.streams {
        let direct =
            derived.totals.workload.streams.iter().find(|s| s.key() == stream.key()).unwrap();
        assert_eq!(stream.count, direct.count, "{}", stream.stream);
    }
}

/// Whichever bit of a workload file is flipped, the file is refused, says that it was edited,
/// or means the same.
#[test]
fn every_flipped_bit_of_a_workload_file_is_refused_named_or_without_effect() {
    let mut table = StreamTable::new();
    let trace = opened(&known(), CaptureConditions::default());
    Pass::default().run(&trace, &mut [&mut table]).unwrap();
    let workload = Workload::of(&table, By::Count, Threshold(20_000));
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
                assert!(!read.doubts.is_empty(), "bit {at} changes the workload, unsaid");
                named += 1;
            }
        }
    }
    assert!(refused > 100 && named > 50 && same > 50, "{refused} {named} {same}");
}
