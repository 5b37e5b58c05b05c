//! fio on real files and loop devices, checked by the kernel's own counters. All tests are
//! skipped if fio is not installed.

use super::{
    LoopDevice, PRIME, Scratch, alone, alone_step, check_consistency, for_millis, skipped,
    stimulus, written_blocks,
};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::MutexGuard;
use std::time::{Duration, Instant};
use steadfast_domain::measurement::Interval;
use steadfast_domain::stimulus::{ActiveRange, LoadLimits, Zone};
use steadfast_domain::{
    Bytes, Halt, IoStream, Load, Measurement, Nanos, Op, Order, Step, StepPlace, Stimulus,
};
use steadfast_engine::fio::{Fio, FioIoEngine, FioOptions};
use steadfast_engine::{Engine, StepStart, StopSignal, TargetEngine};
use steadfast_host::{Consent, SystemRoots, Target, arm, inspect};

const MIB: u64 = 1 << 20;

/// Waits for the turn of this test; `None` if fio is not installed.
fn alone_with_fio() -> Option<MutexGuard<'static, ()>> {
    match Command::new("fio").arg("--version").output() {
        Ok(_) => Some(alone()),
        Err(_) => skipped("fio is not installed"),
    }
}

/// An engine and the directory of its job files.
struct FioFixture {
    engine: Fio,
    directory: tempfile::TempDir,
    stop: StopSignal,
}

impl FioFixture {
    fn new(target: Target) -> FioFixture {
        FioFixture::with(target, |_| ())
    }

    fn with(target: Target, change: impl Fn(&mut FioOptions)) -> FioFixture {
        let directory = tempfile::tempdir().unwrap();
        let mut options = FioOptions::in_directory(directory.path().join("fio"));
        change(&mut options);
        let stop = StopSignal::default();
        FioFixture { engine: Fio::new(target, stop.clone(), options).unwrap(), directory, stop }
    }

    fn apply(&mut self, step: &Step) -> Result<Measurement, Halt> {
        self.engine.perform(step, &StepStart::default(), &mut |_| {})
    }

    fn measured(&mut self, load: Stimulus) -> Measurement {
        let measurement = self.apply(&alone_step(load)).unwrap();
        check_consistency(&measurement);
        measurement
    }

    fn file_names(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.directory.path().join("fio"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    fn file_text(&self, name: &str) -> String {
        fs::read_to_string(self.directory.path().join("fio").join(name)).unwrap()
    }
}

#[test]
fn exact_counts_agree_with_the_kernel() {
    let Some(_turn) = alone_with_fio() else { return };
    let Some(device) = LoopDevice::new(64 * MIB) else { return };
    for interface in [FioIoEngine::IoUring, FioIoEngine::Libaio] {
        let mut fixture = FioFixture::with(device.target(), |o| o.interface = Some(interface));
        for (pattern, size) in [("RND 4K W", 4096), ("RND 64K R", 65_536), ("SEQ 16K W", 16_384)] {
            let before = device.counters();
            let done =
                fixture.measured(stimulus(pattern, "T1Q8", 64 * MIB, LoadLimits::ios(PRIME)));
            let total = done.total();
            assert_eq!((total.ios, total.bytes.0), (PRIME, PRIME * size), "{pattern}");
            assert_eq!(done.streams.len(), 1);
            let direction = usize::from(pattern.ends_with('W')) * 3;
            let mut expected = [0; 8];
            expected[direction] = PRIME;
            expected[direction + 2] = PRIME * size / 512;
            assert_eq!(device.counters_since(&before), expected, "{pattern}");
        }
    }
}

#[test]
fn a_mix_over_several_threads_agrees_with_the_kernel() {
    let Some(_turn) = alone_with_fio() else { return };
    let Some(device) = LoopDevice::new(64 * MIB) else { return };
    let mut fixture = FioFixture::new(device.target());
    // One section per job, and one section for all jobs.
    for demand in ["T3Q4", "T9Q2"] {
        let before = device.counters();
        let done = fixture.measured(stimulus("RND 4K RW65", demand, 64 * MIB, for_millis(700)));
        let [reads, writes] = [Op::Read, Op::Write].map(|op| done.direction(op).ios);
        let counted = device.counters_since(&before);
        assert_eq!([counted[0], counted[3]], [reads, writes], "{demand}");
        let share = reads as f64 / (reads + writes) as f64;
        assert!((0.6..0.7).contains(&share), "{demand}: {share}");
        let busiest = done.sensed.busiest_thread.unwrap();
        assert!((0.0..=1.0).contains(&busiest), "{busiest}");
        assert!(done.cpu.unwrap().system > Nanos::ZERO);
        assert!((650..1900).contains(&(done.elapsed.0 / 1_000_000)), "{}", done.elapsed);
    }
    let done = fixture.measured(stimulus("RND 4K RW50", "T1Q1", 64 * MIB, LoadLimits::ios(64)));
    assert_eq!((done.total().ios, done.streams.len()), (64, 2));
    assert!(done.complete && done.fault_count == 0, "{done:?}");
}

#[test]
fn fio_works_next_to_our_exclusive_handle() {
    let Some(_turn) = alone_with_fio() else { return };
    let Some(device) = LoopDevice::new(8 * MIB) else { return };
    let mut fixture = FioFixture::new(device.target());
    // No other program can claim the device while the engine holds it.
    let roots = SystemRoots::real();
    let found = inspect(&device.path, &roots).unwrap();
    let consent = Consent::Destroy { confirmation: Some(found.confirmation().to_owned()) };
    assert!(arm(&found, &consent, &[], &roots).is_err());
    let writes = stimulus("RND 4K W", "T1Q4", 8 * MIB, LoadLimits::ios(50));
    assert_eq!(fixture.measured(writes).total().ios, 50);
    let job = fixture.file_text(&fixture.file_names()[0]);
    assert!(job.contains("filename=/proc/self/fd/"), "{job}");
    assert!(!job.contains("/dev/"), "{job}");
}

#[test]
fn a_target_armed_for_reading_is_not_written() {
    let Some(_turn) = alone_with_fio() else { return };
    let scratch = Scratch::new(4 * MIB);
    let roots = SystemRoots::real();
    let device = inspect(&scratch.path, &roots).unwrap();
    let mut fixture = FioFixture::new(arm(&device, &Consent::Read, &[], &roots).unwrap());
    assert_eq!(fixture.engine.target().device().path, scratch.path.to_string_lossy());
    let description = fixture.engine.describe();
    assert!(description.starts_with("fio: fio-3."), "{description}");
    let writes = alone_step(stimulus("RND 4K W", "T1Q4", 4 * MIB, LoadLimits::ios(50)));
    assert!(fixture.engine.prepare(&writes).unwrap_err().0.contains("reading only"));
    let reads = stimulus("RND 4K R", "T1Q4", 4 * MIB, LoadLimits::ios(50));
    assert_eq!(fixture.measured(reads).total().ios, 50);
}

/// A sequential step begins where the last one ended, and continues at the beginning of the range
/// after its end.
#[test]
fn a_sequential_cursor_continues_and_wraps() {
    let Some(_turn) = alone_with_fio() else { return };
    let scratch = Scratch::new(2 * MIB);
    let mut fixture = FioFixture::new(scratch.target());
    // 24 blocks of 64 KiB from the fourth on.
    let range = ActiveRange::new(Bytes(4 * 65_536), Bytes(24 * 65_536));
    let load = |ios| {
        let mut load = stimulus("SEQ 64K W", "T1Q4", 2 * MIB, LoadLimits::ios(ios));
        load.active_range = range;
        load
    };
    let key = "SEQ 64K W";
    let first = fixture.measured(load(20));
    assert_eq!(first.cursors[key], Bytes(24 * 65_536));
    assert_eq!(written_blocks(&scratch.content(), 65_536), (4..24).collect());
    let start = StepStart { cursors: first.cursors, ..StepStart::default() };
    scratch.blank();
    let step = alone_step(load(7));
    let second = fixture.engine.perform(&step, &start, &mut |_| {}).unwrap();
    assert_eq!((second.total().ios, second.cursors[key]), (7, Bytes(7 * 65_536)));
    // Four to the end of the range, three from its beginning: two calls of fio.
    assert_eq!(written_blocks(&scratch.content(), 65_536), [4, 5, 6, 24, 25, 26, 27].into());
    assert_eq!(fixture.file_names().iter().filter(|name| name.ends_with(".fio")).count(), 3);
    // With a time limit the range is repeated.
    let mut timed = load(1);
    timed.until = for_millis(300);
    let start = StepStart { cursors: second.cursors, ..StepStart::default() };
    let third = fixture.engine.perform(&alone_step(timed), &start, &mut |_| {}).unwrap();
    let expected = 4 + (3 + third.total().ios) % 24;
    assert_eq!(third.cursors[key], Bytes(expected * 65_536));
    assert!(third.total().ios > 24);
}

fn part(load: &Load, number: u32, cut: Nanos) -> Step {
    let place = StepPlace::new("cut", 0, number, "cut");
    Step::part(place, load.clone(), cut, number > 1)
}

/// A load counted in pieces while fio keeps running: nothing is lost or counted twice.
#[test]
fn cut_steps_of_a_running_load_lose_and_repeat_nothing() {
    let Some(_turn) = alone_with_fio() else { return };
    let Some(device) = LoopDevice::new(64 * MIB) else { return };
    let mut fixture = FioFixture::new(device.target());
    let load = Load::Stimulus(stimulus("RND 4K RW50", "T2Q4", 64 * MIB, for_millis(4000)));
    let before = device.counters();
    let mut done: Vec<Measurement> = Vec::new();
    while done.last().is_none_or(|measurement| !measurement.complete) {
        let step = part(&load, done.len() as u32 + 1, Nanos::from_millis(1500));
        let measurement = fixture.apply(&step).unwrap();
        check_consistency(&measurement);
        done.push(measurement);
    }
    assert_eq!(done.len(), 3, "two cuts and the rest");
    let [reads, writes] = [Op::Read, Op::Write]
        .map(|op| -> u64 { done.iter().map(|measurement| measurement.direction(op).ios).sum() });
    let counted = device.counters_since(&before);
    assert_eq!([counted[0], counted[3]], [reads, writes]);
    for measurement in &done[..2] {
        let millis = measurement.elapsed.0 / 1_000_000;
        assert!((1490..2900).contains(&millis), "{millis}");
    }
    let jobs = fixture.file_names().iter().filter(|name| name.ends_with(".fio")).count();
    assert_eq!(jobs, 1, "one fio all the time: {:?}", fixture.file_names());
}

#[test]
fn a_load_that_is_ended_or_stopped_leaves_no_fio_behind() {
    let Some(_turn) = alone_with_fio() else { return };
    let Some(device) = LoopDevice::new(64 * MIB) else { return };
    let mut fixture = FioFixture::new(device.target());
    let load = Load::Stimulus(stimulus("RND 4K W", "T1Q4", 64 * MIB, for_millis(60_000)));
    assert!(!fixture.apply(&part(&load, 1, Nanos::from_millis(800))).unwrap().complete);
    fixture.engine.end_load();
    let quiet = device.counters();
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(device.counters(), quiet, "nothing writes any more");
    let stop = fixture.stop.clone();
    let requester = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(900));
        stop.request();
    });
    let begun = Instant::now();
    let step = Step::alone(StepPlace::new("stop", 0, 1, "stop"), load.stimulus().unwrap().clone());
    assert_eq!(fixture.apply(&step), Err(Halt::Stopped));
    requester.join().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(20));
    let quiet = device.counters();
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(device.counters(), quiet, "nothing writes any more");
}

#[test]
fn seconds_are_intervals_and_the_ramp_is_not_measured() {
    let Some(_turn) = alone_with_fio() else { return };
    let Some(device) = LoopDevice::new(64 * MIB) else { return };
    let mut fixture = FioFixture::new(device.target());
    let load = stimulus("RND 4K R", "T1Q4", 64 * MIB, for_millis(2500));
    let step = alone_step(load.ramp(Nanos::from_secs(1)));
    let before = device.counters();
    let mut seen: Vec<Interval> = Vec::new();
    let done = fixture
        .engine
        .perform(&step, &StepStart::default(), &mut |interval| seen.push(interval.clone()))
        .unwrap();
    check_consistency(&done);
    assert_eq!(seen, done.intervals);
    assert!(seen.len() >= 2, "{} intervals", seen.len());
    let whole = seen.iter().filter(|interval| !interval.partial).count();
    assert!(whole >= 1, "{seen:?}");
    let outside: u64 = done.unmeasured.iter().map(|part| part.ios).sum();
    assert!(outside > 0);
    assert_eq!(device.counters_since(&before)[0], done.total().ios + outside);
    assert!(
        fixture.file_names().iter().any(|name| name.ends_with(".ramp.json")),
        "{:?}",
        fixture.file_names()
    );
}

/// Reads beyond the end of a shortened file fail, one after the other.
#[test]
fn failing_ios_void_the_step() {
    let Some(_turn) = alone_with_fio() else { return };
    let Some(device) = LoopDevice::new(8 * MIB) else { return };
    let mut fixture = FioFixture::new(device.target());
    fs::File::options().write(true).open(&device.scratch.path).unwrap().set_len(4 * MIB).unwrap();
    let load = stimulus("RND 4K R", "T1Q4", 8 * MIB, for_millis(2000));
    match fixture.apply(&alone_step(load)) {
        Err(Halt::Faults { count, first, .. }) => {
            assert!(count > 100, "{count}");
            assert!(first.contains("Input/output error"), "{first}");
        }
        other => panic!("{other:?}"),
    }
    // A few failures are counted and do not void the step.
    let load = stimulus("RND 4K R", "T1Q4", 8 * MIB, LoadLimits::ios(20));
    let done = fixture.apply(&alone_step(load)).unwrap();
    assert!((1..20).contains(&done.fault_count), "{}", done.fault_count);
    assert_eq!(done.total().ios + done.fault_count, 20);
}

/// Runs a job that the engine wrote, without a device. Returns the I/Os that it issues:
/// operation, offset, size.
fn issued(job: &str, directory: &Path) -> Vec<(Op, u64, u64)> {
    let dropped =
        ["filename", "ioengine", "iodepth", "direct", "fixedbufs", "registerfiles", "nonvectored"];
    let mut text = String::new();
    for line in job.lines() {
        if !dropped.iter().any(|name| line.starts_with(&format!("{name}="))) {
            text += &format!("{line}\n");
        }
    }
    let log = directory.join("issued.log");
    let _ = fs::remove_file(&log);
    // With more than one I/O outstanding, fio's log repeats some of them.
    text += "ioengine=null\nfilename=nothing\niodepth=1\n";
    text += &format!("write_iolog={}\n", log.display());
    // With a null engine a file has no length of its own.
    text = text.replace("allow_file_create=0\n", "");
    let path = directory.join("issued.fio");
    fs::write(&path, text).unwrap();
    let output = Command::new("fio").current_dir(directory).arg(&path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut ios = Vec::new();
    for line in fs::read_to_string(log).unwrap().lines() {
        let [_, _, action, offset, size] = line.split_whitespace().collect::<Vec<_>>()[..] else {
            continue;
        };
        let op = match action {
            "read" => Op::Read,
            "write" => Op::Write,
            _ => continue,
        };
        ios.push((op, offset.parse().unwrap(), size.parse().unwrap()));
    }
    ios
}

/// Returns the I/Os that a load issues through fio, by the engine's job file.
fn issued_by(load: Stimulus) -> Vec<(Op, u64, u64)> {
    let scratch = Scratch::new(64 * MIB);
    let mut fixture = FioFixture::new(scratch.target());
    fixture.measured(load);
    let job = fixture.file_text(&fixture.file_names()[0]);
    issued(&job, fixture.directory.path())
}

/// Twelve sizes in three zones, as in JESD219, aligned to 4 KiB.
#[test]
fn a_composite_load_is_expressed_exactly() {
    let Some(_turn) = alone_with_fio() else { return };
    let sizes: [(u64, u32); 5] = [(512, 4), (1024, 1), (4096, 75), (8192, 10), (65_536, 10)];
    let streams = [(Op::Read, 40), (Op::Write, 60)].iter().flat_map(|(op, direction)| {
        sizes.iter().map(move |(size, weight)| IoStream {
            alignment: Some(Bytes(4096)),
            weight: weight * direction,
            ..IoStream::new(*op, Order::Random, Bytes(*size))
        })
    });
    let mut load = stimulus("RND 4K R", "T1Q4", 64 * MIB, LoadLimits::ios(20_000));
    load.streams = streams.collect();
    load.zones = vec![
        Zone { weight: 50, from_ppm: 0, to_ppm: 50_000 },
        Zone { weight: 30, from_ppm: 50_000, to_ppm: 200_000 },
        Zone { weight: 20, from_ppm: 200_000, to_ppm: 1_000_000 },
    ];
    let ios = issued_by(load);
    assert_eq!(ios.len(), 20_000);
    assert!(ios.iter().all(|(_, offset, size)| offset % 4096 == 0 && offset + size <= 64 * MIB));
    let check_share = |part: usize, expected: f64, what: &str| {
        let found = part as f64 / ios.len() as f64;
        assert!((found - expected).abs() < 0.015, "{what}: {found}, not {expected}");
    };
    check_share(ios.iter().filter(|(op, ..)| *op == Op::Read).count(), 0.4, "reads");
    for (size, weight) in sizes {
        let found = ios.iter().filter(|io| io.2 == size).count();
        check_share(found, f64::from(weight) / 100.0, &format!("{size} B"));
    }
    let edges = [0, 64 * MIB * 5 / 100, 64 * MIB / 5, 64 * MIB];
    for (zone, expected) in [0.5, 0.3, 0.2].into_iter().enumerate() {
        let within = |offset: u64| (edges[zone]..edges[zone + 1]).contains(&offset);
        check_share(
            ios.iter().filter(|io| within(io.1)).count(),
            expected,
            &format!("zone {zone}"),
        );
    }
}

#[test]
fn every_aligned_position_of_the_range_is_drawn_and_no_other() {
    let Some(_turn) = alone_with_fio() else { return };
    // 64 KiB aligned to 4 KiB, in 64 blocks of 4 KiB from a misaligned start: positions 1 to 48.
    let mut load = stimulus("RND 64K W", "T1Q4", 64 * MIB, LoadLimits::ios(20_000));
    load.streams[0].alignment = Some(Bytes(4096));
    load.active_range = ActiveRange::new(Bytes(512), Bytes(64 * 4096));
    let ios = issued_by(load);
    let mut hits = vec![0u32; 64];
    for (_, offset, _) in &ios {
        assert_eq!(offset % 4096, 0);
        hits[usize::try_from(offset / 4096).unwrap()] += 1;
    }
    let drawn: Vec<usize> = (0..64).filter(|n| hits[*n] > 0).collect();
    assert_eq!(drawn, (1..=48).collect::<Vec<_>>());
    let expected = 20_000.0 / 48.0;
    assert!(hits[1..=48].iter().all(|n| (f64::from(*n) / expected - 1.0).abs() < 0.3), "{hits:?}");
}

#[test]
fn seeds_decide_which_blocks_are_touched() {
    let Some(_turn) = alone_with_fio() else { return };
    let load = |seed| stimulus("RND 4K W", "T1Q4", 64 * MIB, LoadLimits::ios(200)).seed(seed);
    let first = issued_by(load(7));
    assert_eq!(first, issued_by(load(7)));
    assert_ne!(first, issued_by(load(8)));
}
