//! Captures on devices of the tests' own: every I/O done is in the capture exactly once, with the
//! values it was submitted with.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test may")]

mod charged;
mod file_steps;
mod files;
#[path = "../../testing/scratch_device.rs"]
mod scratch_device;
mod who;

use scratch_device::ScratchDevice;
use std::fmt::Debug;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use steadfast_capture::{
    Capture, CaptureCounters, CaptureDevice, CaptureError, CaptureOptions, FileCaptureMode,
    SourceName, WHOLE_DISK,
};
use steadfast_domain::io_event::RESPONSE_UNKNOWN;
use steadfast_domain::{DeviceNumber, IoEvent, IoOp, Layer};

/// A prime number.
const COUNT: u64 = 10_007;

/// Size of a device in bytes, enough for the I/Os of `apply`.
const SIZE: u64 = 64 << 20;

/// All sources of the block layer's events.
const SOURCES: [SourceName; 2] = [SourceName::Ebpf, SourceName::Tracefs];

fn options(device: &ScratchDevice) -> CaptureOptions {
    CaptureOptions {
        devices: vec![device.capture_device()],
        layers: vec![Layer::Block],
        commands: true,
        // Large enough for all I/Os of a test, even if it is not read for a while.
        ring_bytes: 1 << 25,
        ..CaptureOptions::default()
    }
}

/// 4 KiB of memory at an address aligned for O_DIRECT.
#[repr(align(4096))]
struct DirectBlock([u8; 4096]);

/// Does I/Os of 4 KiB: every third a write, the others reads, no two adjacent.
fn apply(file: &File) {
    let mut block = Box::new(DirectBlock([7; 4096]));
    for number in 0..COUNT {
        let offset = (number * 7919 % 8192) * 8192;
        match number % 3 {
            0 => file.write_all_at(&block.0, offset).unwrap(),
            _ => file.read_exact_at(&mut block.0, offset).unwrap(),
        }
    }
}

/// Creates a loop device; prints the reason and returns `None` if that is not possible.
fn loop_device() -> Option<ScratchDevice> {
    let created = ScratchDevice::loop_device(SIZE, &["--direct-io=on"]);
    created.map_err(|error| skip(&format!("no loop device: {error}"))).ok()
}

/// Begins a capture; prints the reason and returns `None` if that is not possible.
fn begin(options: &CaptureOptions) -> Option<Capture> {
    Capture::begin(options).map_err(|error| skip(&error.to_string())).ok()
}

/// Captures while `act` runs.
fn captured(
    options: &CaptureOptions,
    act: impl FnOnce(&Capture),
) -> Option<(Capture, Vec<IoEvent>)> {
    let mut capture = begin(options)?;
    let mut events = Vec::new();
    act(&capture);
    take_rest(&mut capture, &mut events);
    capture.end(&mut events).unwrap();
    Some((capture, events))
}

/// Takes events until no more arrive.
fn take_rest(capture: &mut Capture, into: &mut Vec<IoEvent>) -> CaptureCounters {
    let until = Instant::now() + Duration::from_millis(300);
    while Instant::now() < until {
        capture.take(into).unwrap();
        thread::sleep(Duration::from_millis(20));
    }
    // Also if the machine stalled from then on.
    capture.take(into).unwrap();
    capture.counters().unwrap()
}

/// Prints why the test of this thread is skipped.
fn skip(why: &str) {
    eprintln!("SKIPPED: {}: {why}", thread::current().name().unwrap_or_default());
}

/// Runs a test once per variant, such as a source. Each runs in a thread that is named for the test
/// and the variant: both are then in the messages of a skipped and of a failed test.
fn for_each_variant<V: Copy + Debug + Send>(
    variants: impl IntoIterator<Item = V>,
    test: impl Fn(V) + Sync,
) {
    let name = thread::current().name().unwrap_or_default().to_owned();
    let test = &test;
    for variant in variants {
        let named = thread::Builder::new().name(format!("{name} ({variant:?})"));
        let ended =
            thread::scope(|scope| named.spawn_scoped(scope, move || test(variant)).unwrap().join());
        if let Err(panic) = ended {
            std::panic::resume_unwind(panic);
        }
    }
}

/// Checks that every I/O of `apply` is in the capture exactly once, with its values.
fn captures_exactly(device: Option<ScratchDevice>, source: SourceName) {
    let Some(device) = device else { return };
    let wanted = CaptureOptions { source: Some(source), ..options(&device) };
    let file = device.open_direct().unwrap();
    let Some((mut capture, events)) = captured(&wanted, |_| apply(&file)) else { return };
    let counters = capture.counters().unwrap();
    // udev reads a device that another test closed after writing; only our own I/Os count.
    let own = std::process::id();
    let mut ours: Vec<_> = events.iter().filter(|event| event.pid == own).collect();
    // I/Os whose completion was not seen come late.
    ours.sort_by_key(|event| event.issued_ns);
    assert_eq!(ours.len() as u64, COUNT, "of {} by {}", events.len(), capture.describe());
    for (number, event) in (0..COUNT).zip(&ours) {
        assert_eq!(event.offset, (number * 7919 % 8192) * 8192);
        assert_eq!(event.bytes, 4096);
        assert_eq!(event.op, if number % 3 == 0 { IoOp::Write } else { IoOp::Read });
        assert!(event.response_ns > 0 && event.depth >= 1, "{event:?}");
        assert!(event.command.to_string().starts_with("capture-"), "{event:?}");
        assert!(event.thread.to_string().starts_with("captures"), "{event:?}");
    }
    assert_eq!((counters.lost, counters.skipped, counters.in_part.missing()), (0, 0, 0));
}

#[test]
fn captures_every_request_of_a_loop_device() {
    for_each_variant(SOURCES, |source| captures_exactly(loop_device(), source));
}

#[test]
fn captures_every_bio_of_a_zram_device() {
    for_each_variant(SOURCES, |source| {
        let created = ScratchDevice::zram(SIZE);
        captures_exactly(created.map_err(|error| skip(&format!("no zram: {error}"))).ok(), source);
    });
}

/// A capture that begins and ends under load waits for the I/Os whose start it saw, and reports
/// those outstanding before it.
#[test]
fn a_capture_begins_and_ends_under_load() {
    for_each_variant(SOURCES, capture_under_load);
}

fn capture_under_load(source: SourceName) {
    let Some(device) = loop_device() else { return };
    let file = device.open_direct().unwrap();
    let stop = AtomicBool::new(false);
    let seen = thread::scope(|scope| {
        scope.spawn(|| {
            // With pauses: the throughput of a source is not tested here.
            let mut block = Box::new(DirectBlock([7; 4096]));
            while !stop.load(Ordering::Relaxed) {
                file.read_exact_at(&mut block.0, 8192).unwrap();
                thread::sleep(Duration::from_micros(200));
            }
        });
        let seen = full_capture(&CaptureOptions { source: Some(source), ..options(&device) });
        stop.store(true, Ordering::Relaxed);
        seen
    });
    let (events, counters, lasted) = match seen {
        Ok(seen) => seen,
        Err(error) => return skip(&error.to_string()),
    };
    assert_eq!(counters.lost, 0);
    let unended = events.iter().filter(|event| event.response_ns == RESPONSE_UNKNOWN).count();
    assert_eq!(unended as u64, counters.in_part.unended);
    // One thread, one I/O at a time.
    assert!(counters.in_part.begun_before <= 1, "{counters:?}");
    let last = events.iter().map(|event| event.issued_ns).max().unwrap();
    assert!(last <= lasted, "{last} after {lasted}");
}

/// Runs a capture from beginning to end; returns its events, its counters and its duration.
fn full_capture(
    options: &CaptureOptions,
) -> Result<(Vec<IoEvent>, CaptureCounters, u64), CaptureError> {
    let mut capture = Capture::begin(options)?;
    let mut events = Vec::new();
    let load_start_limit = Instant::now() + Duration::from_secs(60);
    // The load may begin late.
    while events.is_empty() && Instant::now() < load_start_limit {
        take_rest(&mut capture, &mut events);
    }
    capture.end(&mut events)?;
    Ok((events, capture.counters()?, capture.lasted_ns()))
}

#[test]
fn captures_only_the_selected_process() {
    let Some(device) = loop_device() else { return };
    let other = std::process::id() + 1;
    let wanted = CaptureOptions { process: Some(other), ..options(&device) };
    let act = |_: &Capture| apply(&device.open_direct().unwrap());
    let Some((_, events)) = captured(&wanted, act) else { return };
    assert!(events.iter().all(|event| event.pid == other), "{:?}", events.first());
}

#[test]
fn nothing_is_left_in_tracefs() {
    let Some(device) = loop_device() else { return };
    let tracefs = CaptureOptions { source: Some(SourceName::Tracefs), ..options(&device) };
    let own = format!("steadfast-{}-", std::process::id());
    let instances = || -> Vec<String> {
        let entries = std::fs::read_dir("/sys/kernel/tracing/instances").into_iter().flatten();
        let names = entries.flatten().map(|e| e.file_name().to_string_lossy().into_owned());
        names.filter(|name| name.starts_with(&own)).collect()
    };
    let before = instances();
    let Some(capture) = begin(&tracefs) else { return };
    let mut new = instances();
    new.retain(|name| !before.contains(name));
    drop(capture);
    // Other tests begin and end their captures at the same time.
    let end = Instant::now() + Duration::from_secs(120);
    while instances().iter().any(|name| new.contains(name)) {
        assert!(Instant::now() < end, "{:?} of {new:?}", instances());
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn only_what_lies_on_a_partition_is_captured() {
    for_each_variant(SOURCES, |source| {
        let Some(device) = loop_device() else { return };
        let part = CaptureDevice { sectors: 16..1600, ..device.capture_device() };
        let wanted =
            CaptureOptions { devices: vec![part], source: Some(source), ..options(&device) };
        let file = device.open_direct().unwrap();
        let act = |_: &Capture| {
            for block in 0..211 {
                file.write_all_at(&Box::new(DirectBlock([1; 4096])).0, block * 8192).unwrap();
            }
        };
        let Some((_, events)) = captured(&wanted, act) else { return };
        let written = events.iter().filter(|event| event.op == IoOp::Write);
        let mut offsets: Vec<u64> = written.map(|event| event.offset).collect();
        offsets.sort_unstable();
        assert_eq!(offsets, (1..100).map(|block| block * 8192).collect::<Vec<_>>());
    });
}

#[test]
fn lost_events_are_counted() {
    let Some(device) = loop_device() else { return };
    let small = CaptureOptions { ring_bytes: 4096, ..options(&device) };
    let file = device.open_direct().unwrap();
    let Some((mut capture, events)) = captured(&small, |_| apply(&file)) else { return };
    let counters = capture.counters().unwrap();
    assert!(counters.lost > 0);
    assert!(events.len() as u64 + counters.lost >= COUNT, "{} and {counters:?}", events.len());
}

/// A small ring wraps some hundred times, more often than the lap number in a record's head can
/// count.
#[test]
fn a_buffer_that_is_emptied_in_time_loses_nothing() {
    let Some(device) = loop_device() else { return };
    let small =
        CaptureOptions { process: Some(std::process::id()), ring_bytes: 4096, ..options(&device) };
    let wanted = CaptureOptions { source: Some(SourceName::Ebpf), ..small };
    let Some(mut capture) = begin(&wanted) else { return };
    let (file, mut block, mut events) =
        (device.open_direct().unwrap(), Box::new(DirectBlock([0; 4096])), Vec::new());
    const READS: u64 = 30_011;
    for number in 0..READS {
        file.read_exact_at(&mut block.0, number % 977 * 4096).unwrap();
        capture.take(&mut events).unwrap();
    }
    let counters = take_rest(&mut capture, &mut events);
    assert_eq!((events.len() as u64, counters.lost), (READS, 0));
    events.sort_by_key(|event| event.issued_ns);
    let places = events.iter().map(|event| event.offset);
    assert!(places.eq((0..READS).map(|number| number % 977 * 4096)), "another order of places");
}

#[test]
fn invalid_options_are_refused_with_the_remedy() {
    let device = CaptureDevice {
        name: "none".into(),
        number: DeviceNumber::new(1, 1),
        sectors: WHOLE_DISK,
        bio_based: false,
        file_systems: Vec::new(),
    };
    let partition = CaptureDevice { name: "none1".into(), sectors: 0..10, ..device.clone() };
    let valid = CaptureOptions {
        devices: vec![device.clone()],
        layers: vec![Layer::Block],
        ring_bytes: 4096,
        ..CaptureOptions::default()
    };
    let of_devices = |devices| CaptureOptions { devices, ..valid.clone() };
    let files = Some(FileCaptureMode::Calls);
    let tracefs = Some(SourceName::Tracefs);
    let cgroups = CaptureOptions { cgroups: true, ..valid.clone() };
    let file_system = CaptureOptions { layers: vec![Layer::FileSystem], ..valid.clone() };
    let refusals = [
        (of_devices(Vec::new()), "give 1 to 16"),
        (of_devices(vec![device.clone(), partition]), "overlap on one disk"),
        (of_devices(vec![device; 2]), "none was given twice"),
        (CaptureOptions { ring_bytes: 5000, ..valid.clone() }, "power of two"),
        (CaptureOptions { files, ..valid.clone() }, "--layer filesystem"),
        (CaptureOptions { paths: true, ..valid.clone() }, "--layer block,filesystem"),
        (CaptureOptions { source: tracefs, ..cgroups.clone() }, "tracefs does not report cgroups"),
        (
            CaptureOptions { step_ns: Some(100_000_000), ..cgroups },
            "cannot record paths, cgroups or merges",
        ),
        (CaptureOptions { merges: true, ..file_system }, "merges need the block layer"),
    ];
    for (options, expected) in refusals {
        let error = Capture::begin(&options).err().unwrap().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
