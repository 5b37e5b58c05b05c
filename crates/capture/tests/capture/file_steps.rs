//! Capture steps of the file-system layer: the sums of the kernel equal those that a reader of the
//! trace makes of single calls, stream by stream.

use super::files::{MODES, MountedScratch, open};
use super::{DirectBlock, for_each_variant, options, skip, take_rest};
use io_uring::{IoUring, opcode, types};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{IoSlice, Read, Seek, SeekFrom, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use steadfast_analysis::annotate::sequential::{Sequencer, WINDOW};
use steadfast_capture::{Capture, CaptureOptions, FileCaptureMode, StepParts};
use steadfast_domain::io_event::StreamInStep;
use steadfast_domain::{IoEvent, IoOp, Layer};
use steadfast_tracefile::Batch;

/// Operation, sequential or not, size in bytes.
type FileStream = (IoOp, bool, u32);

/// The compared figures of a stream.
#[derive(Debug, Default, PartialEq)]
struct FileStreamSums {
    ios: u64,
    failed: u64,
    responses: u64,
    depth_sum: u64,
    depth_max: u32,
    offsets: u64,
}

/// Sums by the kernel, and sums of single calls.
struct FileStreamTotals {
    added: BTreeMap<FileStream, FileStreamSums>,
    single: BTreeMap<FileStream, FileStreamSums>,
}

/// Captures the calls of this process on the file system while `act` runs, as steps and singly.
fn capture_steps_and_calls(
    mode: FileCaptureMode,
    act: impl FnOnce(&MountedScratch),
) -> Option<FileStreamTotals> {
    let mounted = MountedScratch::new()?;
    let (layers, files) = (vec![Layer::FileSystem], Some(mode));
    let process = Some(std::process::id());
    let every = CaptureOptions { layers, files, process, ..options(&mounted.device) };
    let begun = Capture::begin(&CaptureOptions { step_ns: Some(100_000_000), ..every.clone() });
    let (mut steps, mut ios) = match begun.and_then(|steps| Ok((steps, Capture::begin(&every)?))) {
        Ok(captures) => captures,
        Err(error) => {
            skip(&error.to_string());
            return None;
        }
    };
    act(&mounted);
    let (mut events, mut parts) = (Vec::new(), StepParts::default());
    take_rest(&mut ios, &mut events);
    ios.end(&mut events).unwrap();
    let none = &mut Vec::new();
    steps.end(none).unwrap();
    steps.take_steps(&mut parts).unwrap();
    let counters = steps.counters().unwrap();
    assert_eq!((counters.lost, counters.skipped, counters.in_part.missing()), (0, 0, 0));
    assert_eq!(none.len(), 0);
    Some(FileStreamTotals { added: added(&parts.streams), single: single(events) })
}

fn added(parts: &[StreamInStep]) -> BTreeMap<FileStream, FileStreamSums> {
    let mut streams: BTreeMap<FileStream, FileStreamSums> = BTreeMap::new();
    for part in parts {
        assert_eq!(part.layer, Layer::FileSystem);
        let sums = streams.entry((part.op, part.sequential, part.bytes)).or_default();
        sums.ios += part.ios;
        sums.failed += part.failed;
        sums.responses += part.responses;
        sums.depth_sum += part.depth_sum;
        sums.depth_max = sums.depth_max.max(part.depth_max);
        sums.offsets |= part.offsets;
    }
    streams
}

/// Returns the same sums from single calls, as a reader of the trace adds them up.
fn single(mut events: Vec<IoEvent>) -> BTreeMap<FileStream, FileStreamSums> {
    events.sort_by_key(|event| event.issued_ns);
    let mut sequencer = Sequencer::new(WINDOW);
    sequencer.follow(&Batch::from_events(&events));
    let mut streams: BTreeMap<FileStream, FileStreamSums> = BTreeMap::new();
    for (row, event) in events.iter().enumerate() {
        let sums = streams.entry((event.op, sequencer.sequential[row], event.bytes)).or_default();
        sums.ios += 1;
        sums.failed += u64::from(event.flags & steadfast_domain::io_event::flags::FAILED != 0);
        sums.responses += u64::from(event.completed_ns().is_some());
        sums.depth_sum += u64::from(sequencer.depth[row]);
        sums.depth_max = sums.depth_max.max(sequencer.depth[row]);
        sums.offsets |= event.offset;
    }
    streams
}

#[test]
fn steps_of_calls_are_those_of_single_calls() {
    for_each_variant(MODES, add_up_single_calls);
}

fn add_up_single_calls(mode: FileCaptureMode) {
    let Some(FileStreamTotals { added, single }) = capture_steps_and_calls(mode, calls) else {
        return;
    };
    assert_eq!(added, single);
    let ios = |op, sequential, bytes| added.get(&(op, sequential, bytes)).map_or(0, |s| s.ios);
    let (read, write) = (IoOp::Read, IoOp::Write);
    // Two files in turn: all calls but the first continue their own file.
    assert_eq!((ios(write, false, 4099), ios(write, true, 4099)), (1, 498));
    assert_eq!((ios(write, false, 8192), ios(write, true, 8192)), (1, 498));
    assert_eq!((ios(read, false, 1009), ios(read, true, 1009)), (997, 0));
    // 499 x 4099 bytes in 64 KiB each, the remainder, and the end of the file.
    assert_eq!((ios(read, false, 1 << 16), ios(read, true, 1 << 16)), (1, 30));
    assert_eq!((ios(read, true, 499 * 4099 % 65_536), ios(read, false, 0)), (1, 2));
    assert_eq!((ios(write, false, 100), ios(write, true, 100)), (1, 210));
    assert_eq!((ios(write, false, 10), ios(write, true, 10)), (0, 211));
    assert_eq!((ios(write, false, 42), ios(write, true, 42)), (1, 100));
    assert_eq!((ios(IoOp::Flush, false, 0), ios(write, false, 0)), (7, 3));
    assert_eq!(added[&(write, false, 0)].failed, 3);
    assert!(added.values().all(|sums| sums.depth_sum == sums.ios && sums.depth_max == 1));
}

/// One call after the other, of every kind.
fn calls(mounted: &MountedScratch) {
    let (mut one, other) = (open(&mounted.path("one")), open(&mounted.path("other")));
    for n in 0..499u64 {
        one.write_all_at(&[1; 4099], n * 4099).unwrap();
        other.write_all_at(&[2; 8192], n * 8192).unwrap();
    }
    for n in 0..997u64 {
        one.read_exact_at(&mut [0; 1009], n * 7919 % 400 * 4099).unwrap();
    }
    one.seek(SeekFrom::Start(0)).unwrap();
    while one.read(&mut [0; 1 << 16]).unwrap() > 0 {}
    // No data is moved, so nothing is continued.
    assert_eq!(other.read_at(&mut [0; 64], 1 << 30).unwrap(), 0);
    let append = || OpenOptions::new().append(true).create(true).open(mounted.path("log")).unwrap();
    let (mut log, mut again) = (append(), append());
    for _ in 0..211 {
        log.write_all(&[3; 100]).unwrap();
        again.write_all(&[4; 10]).unwrap();
    }
    let mut parts = open(&mounted.path("parts"));
    for _ in 0..101 {
        let slices = [IoSlice::new(&[5; 11]), IoSlice::new(&[6; 31])];
        assert_eq!(parts.write_vectored(&slices).unwrap(), 42);
    }
    for _ in 0..3 {
        // Beyond the largest file of ext4.
        assert!(parts.write_at(&[0; 8], 1 << 50).is_err());
    }
    for _ in 0..7 {
        parts.sync_all().unwrap();
    }
}

#[test]
fn steps_of_io_uring_calls_are_those_of_single_calls() {
    for_each_variant(MODES, add_up_io_uring_calls);
}

/// Sequential reads, sixteen outstanding at a time, complete out of order.
fn add_up_io_uring_calls(mode: FileCaptureMode) {
    let Some(FileStreamTotals { added, single }) = capture_steps_and_calls(mode, requests) else {
        return;
    };
    if added.is_empty() {
        return skip("io_uring is disabled here");
    }
    let ios = |sequential, bytes| added.get(&(IoOp::Read, sequential, bytes)).map_or(0, |s| s.ios);
    assert_eq!((ios(false, 4096), ios(true, 4096)), (1, 1008));
    assert_eq!((ios(false, 8192), ios(true, 8192)), (1, 1008));
    let counts = |streams: &BTreeMap<FileStream, FileStreamSums>| -> Vec<_> {
        streams.iter().map(|(stream, sums)| (*stream, sums.ios, sums.offsets)).collect()
    };
    assert_eq!(counts(&added), counts(&single));
    for (stream, sums) in added.iter().filter(|(stream, _)| stream.1) {
        let mean = |sums: &FileStreamSums| sums.depth_sum as f64 / sums.ios as f64;
        let (ours, theirs) = (mean(sums), mean(&single[stream]));
        assert!(ours > 1.5 && (ours / theirs - 1.0).abs() < 0.1, "{stream:?}: {ours}, {theirs}");
    }
}

/// Sequential direct reads of a file, by its descriptor and as a registered file.
fn requests(mounted: &MountedScratch) {
    let path = mounted.path("file");
    std::fs::write(&path, vec![7; 1009 * 8192]).unwrap();
    let file = OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(path).unwrap();
    let Ok(mut ring) = IoUring::new(16) else { return };
    ring.submitter().register_files(&[-1, file.as_raw_fd()]).unwrap();
    let blocks: Vec<DirectBlock> = (0..32).map(|_| DirectBlock([0; 4096])).collect();
    in_order(&mut ring, &file, &blocks, false);
    in_order(&mut ring, &file, &blocks, true);
}

fn in_order(ring: &mut IoUring, file: &File, blocks: &[DirectBlock], registered: bool) {
    let bytes = if registered { 8192 } else { 4096 };
    let (mut begun, mut ended) = (0u64, 0u64);
    while ended < 1009 {
        while begun < 1009 && begun - ended < 16 {
            let place = blocks[begun as usize % 16 * 2].0.as_ptr().cast_mut();
            let read = if registered {
                opcode::Read::new(types::Fixed(1), place, bytes)
            } else {
                opcode::Read::new(types::Fd(file.as_raw_fd()), place, bytes)
            };
            let entry = read.offset(begun * u64::from(bytes)).build();
            // SAFETY: the blocks outlive the requests, which are waited for; the data read is never
            // looked at.
            unsafe { ring.submission().push(&entry).unwrap() };
            begun += 1;
        }
        ring.submit_and_wait(1).unwrap();
        for completion in ring.completion() {
            assert_eq!(completion.result(), bytes as i32);
            ended += 1;
        }
    }
}
