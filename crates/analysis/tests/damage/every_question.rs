//! A capture with everything that can be recorded (both layers, threads, cgroups, paths, merges,
//! content), damaged anywhere: the answers are unchanged, or the file is refused, or the damage is
//! reported. Nothing panics.

use std::io::Cursor;
use std::sync::Arc;
use steadfast_analysis::questions::drives::Drives;
use steadfast_analysis::questions::groups::{Facet, Groups};
use steadfast_analysis::questions::hits::DeviceEnds;
use steadfast_analysis::questions::hot::HotRanges;
use steadfast_analysis::questions::trust::Evidence;
use steadfast_analysis::{Captured, PassOptions, ShareMeasure, Study, StudyOptions, findings};
use steadfast_domain::io_event::{
    CapturedCgroup, CapturedDevice, CommandName, ContentMeasurement, ContentSample, FileName,
    Layer, MergeCounts,
};
use steadfast_domain::random_bits::mix64;
use steadfast_domain::{Bytes, CaptureConditions, IoEvent, IoOp};
use steadfast_tracefile::{TraceError, TraceWriter};

const CHANGES: u64 = 2003;
/// Number of these from which a whole report is made.
const REPORTS: u64 = 101;

fn conditions() -> CaptureConditions {
    let device = |name: &str| CapturedDevice {
        name: name.into(),
        capacity: Some(Bytes::gib(1)),
        ..CapturedDevice::default()
    };
    let cgroup = |id, path: Option<&str>| CapturedCgroup {
        id,
        path: path.map(str::to_owned),
        ..CapturedCgroup::default()
    };
    let file = |device, inode, path: &str| FileName { device, inode, path: path.into() };
    CaptureConditions {
        software: "steadfast test".into(),
        layers: vec![Layer::Block, Layer::FileSystem],
        devices: vec![device("nvme0n1"), device("sda")],
        began_unix_ns: Some(1_763_697_600_000_000_000),
        lasted_ns: 2_000_000_000,
        threads: true,
        cgroups: Some(vec![cgroup(1, Some("/")), cgroup(77, None)]),
        merging: Some(vec![MergeCounts { merged: 41, split: 3 }; 2]),
        paths: Some((2, 1)),
        files: Arc::new(vec![file(0, 12, "/srv/a"), file(1, 13, "/srv/b")]),
        content: Some(ContentSample { every: 3, blocks: 7, ..ContentSample::default() }),
        ..CaptureConditions::default()
    }
}

fn event(n: u64) -> IoEvent {
    let random = mix64(n);
    let layer = if random.is_multiple_of(3) { Layer::FileSystem } else { Layer::Block };
    let at_files = layer == Layer::FileSystem;
    IoEvent {
        issued_ns: n * 1_000_000,
        response_ns: 1000 + random % 100_000,
        queued_ns: random % 2 * 500,
        offset: random % 100_000 * 4096,
        bytes: 4096 << (n % 3),
        depth: 1 + (n % 4) as u32,
        pid: 100 + (n % 3) as u32,
        tid: 200 + (n % 5) as u32,
        command: CommandName::new("mysqld"),
        thread: CommandName::new(if n.is_multiple_of(2) { "io" } else { "" }),
        cgroup: (n % 3) as u16,
        merged: (n % 2) as u16,
        inode: if at_files { 12 + n % 3 } else { 0 },
        device: (n % 2) as u16,
        flags: (random % 256) as u16,
        content: ContentMeasurement {
            blocks: 1,
            duplicates: 0,
            bytes: 4096,
            compressed_bytes: 1000,
        },
        op: IoOp::ALL[(random % 5) as usize],
        layer,
        ..IoEvent::default()
    }
}

fn written() -> Vec<u8> {
    let conditions = conditions();
    let mut writer = TraceWriter::new(Vec::new(), &conditions).unwrap().with_rows_per_group(211);
    writer.write(&(0..1009).map(event).collect::<Vec<_>>()).unwrap();
    writer.finish(conditions).unwrap()
}

/// The answers from a file, and whether its reader reports damage.
struct FileAnswers {
    answers: Vec<String>,
    is_damage_reported: bool,
}

/// Returns the answers of streams, groups, drives, doctor and hot, and a report if requested.
fn answers(bytes: Vec<u8>, with_report: bool) -> Result<FileAnswers, TraceError> {
    let captured = Captured::open(Cursor::new(bytes))?;
    let (pass, conditions) = (PassOptions::default(), captured.conditions().clone());
    let facets = [Facet::Device, Facet::Thread, Facet::Cgroup, Facet::File, Facet::Stream];
    let mut groups = Groups::by(&facets).with_hosts(&conditions);
    let (mut drives, mut ends) = (Drives::default(), DeviceEnds::default());
    captured.run(&pass, &mut [&mut groups, &mut drives, &mut ends])?;
    let mut hot: Vec<HotRanges> =
        ends.devices().map(|at| HotRanges::new(at, ends.end(at, &conditions), 100)).collect();
    for ranges in &mut hot {
        captured.run(&pass, &mut [ranges])?;
    }
    let streams = captured.streams(&pass)?.found.listing(ShareMeasure::Count);
    let steps = captured.steps(&pass, Some(100_000_000))?.found;
    let steps: Vec<_> = steps.figures(&conditions).collect();
    let limits = Evidence::read(&captured, &pass)?.limits();
    let hottest: Vec<_> = hot.iter().map(|ranges| ranges.hottest(10)).collect();
    let mut answers = vec![
        format!("{:?}", groups.listing(ShareMeasure::Count, &conditions)),
        format!("{:?}", drives.listing(&conditions)),
        format!("{streams:?} {steps:?} {hottest:?}"),
    ];
    if with_report {
        let study = Study::read(&captured, &StudyOptions::default())?;
        answers.push(serde_json::to_string(&findings(&study, "test")).unwrap());
    }
    let integrity = captured.integrity();
    let is_damage_reported =
        !integrity.is_whole() || !integrity.checksums || captured.recovery().is_some();
    assert!(!is_damage_reported || !limits.is_empty(), "doctor reports damage");
    Ok(FileAnswers { answers, is_damage_reported })
}

/// Changes a byte, cuts the file, exchanges two parts of equal length (columns lie side by side), or
/// overwrites a part by another.
fn damaged(whole: &[u8], seed: u64) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    let draw = |n: u64, below: usize| mix64(seed * 8 + n) as usize % below.max(1);
    let at = draw(0, bytes.len());
    match seed % 8 {
        0 => bytes.truncate(at),
        1 | 2 => {
            let length = 1 + draw(1, 400);
            let other = draw(2, bytes.len());
            let (first, second) = (at.min(other), at.max(other));
            let length = length.min(second - first).min(bytes.len() - second);
            let (left, right) = bytes.split_at_mut(second);
            left[first..first + length].swap_with_slice(&mut right[..length]);
        }
        3 => {
            let length = (1 + draw(1, 400)).min(bytes.len() - at);
            let from = draw(2, bytes.len() - length);
            bytes.copy_within(from..from + length, at);
        }
        _ => bytes[at] ^= 1 + (draw(1, 255) as u8),
    }
    bytes
}

#[test]
fn a_damaged_capture_is_refused_reported_or_answers_as_before() {
    let whole = written();
    let intact = answers(whole.clone(), true).unwrap();
    assert!(!intact.is_damage_reported);
    let (mut refused, mut reported, mut same) = (0, 0, 0);
    for seed in 0..CHANGES {
        match answers(damaged(&whole, seed), seed < REPORTS) {
            Err(error) => {
                assert!(!error.to_string().is_empty());
                refused += 1;
            }
            Ok(found) if found.is_damage_reported => reported += 1,
            Ok(found) => {
                let is_same = intact.answers.starts_with(&found.answers);
                assert!(is_same, "change {seed} changes an answer and is not reported");
                same += 1;
            }
        }
    }
    assert!(refused > 100 && reported > 100 && same > 10, "{refused} {reported} {same}");
}

/// Another program writes no checksums, so changes cannot be detected.
#[test]
fn a_damaged_file_without_checksums_causes_no_panic() {
    let mut bare = written();
    // A reader does not find the checksums under an unknown name.
    for name in [b"steadfast.sums", b"steadfast.seal"] {
        for at in 0..bare.len() - name.len() {
            if bare[at..].starts_with(name) {
                bare[at] = b'x';
            }
        }
    }
    assert!(answers(bare.clone(), false).unwrap().is_damage_reported);
    for seed in 0..CHANGES {
        match answers(damaged(&bare, seed), seed < REPORTS) {
            Err(error) => assert!(!error.to_string().is_empty()),
            Ok(found) => assert!(found.is_damage_reported, "missing checksums are not reported"),
        }
    }
}
