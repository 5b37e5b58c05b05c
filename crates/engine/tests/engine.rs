//! The engine on real files and loop devices, checked by the kernel's own counters. Loop devices
//! need root; without it those tests are skipped.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test fails by panicking")]

mod fio;
mod script;
mod start_error;

use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::stimulus::{ActiveRange, DataPattern, Durability, LoadLimits, Pace};
use steadfast_domain::{
    Bytes, Demand, Halt, IoStream, Load, Measurement, Nanos, Op, Order, Segments, Step, StepPlace,
    Stimulus, Transport,
};
use steadfast_engine::native::{Backend, Native, NativeOptions};
use steadfast_engine::{Engine, StepStart, StopSignal, WorkDone};
use steadfast_host::{ArmRefusal, Consent, SystemRoots, Target, arm, create_scratch, inspect};

/// A prime, so that no batch or queue depth divides it.
const PRIME: u64 = 10_007;

/// Longest wait for a request to take effect: beyond the time that a busy machine keeps threads
/// waiting, far below the duration of a load that continues.
const END_WAIT_MAX: Duration = Duration::from_secs(20);

/// Number of allocations by the threads that do I/O.
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

struct CountingAllocator;

// SAFETY: every call is passed to the system's allocator.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_io_thread() {
            ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        }
        // SAFETY: guaranteed by the caller.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: guaranteed by the caller.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn is_io_thread() -> bool {
    let mut name = [0u8; 16];
    // SAFETY: the call writes sixteen bytes.
    unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    name.starts_with(b"io-")
}

/// Serializes the tests, which share two cores and one allocation counter.
fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A scratch file in a directory of its own.
struct Scratch {
    directory: tempfile::TempDir,
    path: PathBuf,
}

impl Scratch {
    fn new(size: u64) -> Scratch {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("scratch");
        create_scratch(&path, Bytes(size)).unwrap();
        Scratch { directory, path }
    }
    fn target(&self) -> Target {
        armed(&self.path)
    }
    fn content(&self) -> Vec<u8> {
        fs::read(&self.path).unwrap()
    }
    fn blank(&self) {
        let length = fs::metadata(&self.path).unwrap().len();
        fs::write(&self.path, vec![0; length as usize]).unwrap();
    }
}

/// A loop device on a scratch file; detached when dropped.
struct LoopDevice {
    path: PathBuf,
    scratch: Scratch,
}

impl LoopDevice {
    fn new(size: u64) -> Option<LoopDevice> {
        let scratch = Scratch::new(size);
        let made = Command::new("losetup").args(["--find", "--show"]).arg(&scratch.path).output();
        match made {
            Ok(output) if output.status.success() => {
                let path = PathBuf::from(String::from_utf8(output.stdout).unwrap().trim());
                let name = path.file_name().unwrap().to_str().unwrap();
                fs::write(format!("/sys/block/{name}/queue/nomerges"), "2").unwrap();
                Some(LoopDevice { path, scratch })
            }
            _ => skipped("no loop device (needs root and losetup)"),
        }
    }
    fn target(&self) -> Target {
        armed(&self.path)
    }
    /// Returns the kernel's counts of I/Os, merges and sectors: reads, then writes, then
    /// discards.
    fn counters(&self) -> Vec<u64> {
        let mut last = self.counters_now();
        // The kernel counts an I/O a moment after its completion.
        loop {
            std::thread::sleep(Duration::from_millis(5));
            let now = self.counters_now();
            if now == last {
                return now;
            }
            last = now;
        }
    }
    fn counters_now(&self) -> Vec<u64> {
        let name = self.path.file_name().unwrap().to_str().unwrap();
        let text = fs::read_to_string(format!("/sys/block/{name}/stat")).unwrap();
        let all: Vec<u64> = text.split_whitespace().map(|n| n.parse().unwrap()).collect();
        [0, 1, 2, 4, 5, 6, 11, 13].iter().map(|index| all[*index]).collect()
    }
    fn counters_since(&self, before: &[u64]) -> Vec<u64> {
        self.counters().iter().zip(before).map(|(after, before)| after - before).collect()
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("--detach").arg(&self.path).output();
    }
}

/// Prints why the test of this thread is skipped.
fn skipped<T>(why: &str) -> Option<T> {
    eprintln!("SKIPPED: {}: {why}", std::thread::current().name().unwrap_or_default());
    None
}

fn armed(path: &Path) -> Target {
    try_to_arm(path).unwrap()
}

fn try_to_arm(path: &Path) -> Result<Target, ArmRefusal> {
    let roots = SystemRoots::real();
    let device = inspect(path, &roots).unwrap();
    let confirmation = match device.transport {
        Transport::File => path.file_name().unwrap().to_str().unwrap().to_owned(),
        _ => device.confirmation().to_owned(),
    };
    let consent = Consent::Destroy { confirmation: Some(confirmation) };
    arm(&device, &consent, &[], &roots)
}

/// Arms a target that threads keep open until their hanging I/Os have completed.
fn arm_when_closed(path: &Path) -> Target {
    for _ in 0..100 {
        if let Ok(target) = try_to_arm(path) {
            return target;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("{} is still open", path.display());
}

fn engine(target: Target) -> Native {
    Native::new(target, StopSignal::default(), NativeOptions::default()).unwrap()
}

fn engine_on(target: Target, backend: Backend) -> Native {
    stoppable(target, backend, &StopSignal::default())
}

fn stoppable(target: Target, backend: Backend, stop: &StopSignal) -> Native {
    let options = NativeOptions { backend: Some(backend), ..NativeOptions::default() };
    Native::new(target, stop.clone(), options).unwrap()
}

fn with_timeout(target: Target, backend: Backend, completion_timeout: Duration) -> Native {
    let backend = Some(backend);
    let options = NativeOptions { backend, completion_timeout, ..NativeOptions::default() };
    Native::new(target, StopSignal::default(), options).unwrap()
}

fn stimulus(pattern: &str, demand: &str, length: u64, until: LoadLimits) -> Stimulus {
    let pattern: AccessPattern = pattern.parse().unwrap();
    let range = ActiveRange::new(Bytes(0), Bytes(length));
    Stimulus::new(pattern.streams(), range, demand.parse::<Demand>().unwrap(), until).seed(1)
}

fn for_millis(time: u64) -> LoadLimits {
    LoadLimits::time(Nanos::from_millis(time))
}

fn alone_step(stimulus: Stimulus) -> Step {
    Step::alone(StepPlace::new("test", 0, 1, "step"), stimulus)
}

fn perform(engine: &mut Native, step: &Step) -> Result<Measurement, Halt> {
    engine.perform(step, &StepStart::default(), &mut |_| {})
}

fn apply(engine: &mut Native, stimulus: Stimulus) -> Measurement {
    perform(engine, &alone_step(stimulus)).unwrap()
}

/// Checks that the counts of a measurement agree with one another.
fn check_consistency(measurement: &Measurement) {
    for op in Op::ALL {
        let tally = measurement.direction(op);
        let of = |f: fn(&steadfast_domain::measurement::IntervalTally) -> u64| -> u64 {
            let intervals = measurement.intervals.iter();
            intervals.flat_map(|i| &i.tallies).filter(|t| t.op == op).map(f).sum()
        };
        assert_eq!(tally.ios, of(|t| t.ios));
        assert_eq!(tally.bytes.0, of(|t| t.bytes.0));
        assert_eq!(tally.responses(), tally.histogram.total());
        assert_eq!(tally.ios, of(|t| t.histogram.total()));
        // I/Os that were outstanding at the end belong to the step and to no interval.
        let in_intervals = of(|t| t.response_sum.0);
        match tally.outstanding {
            0 => assert_eq!(tally.response_sum.0, in_intervals),
            _ => assert!(tally.response_sum.0 > in_intervals),
        }
    }
    for pair in measurement.intervals.windows(2) {
        assert_eq!(pair[0].end, pair[1].begin);
    }
    assert_eq!(measurement.intervals.last().map_or(Nanos::ZERO, |i| i.end), measurement.elapsed);
    assert!(measurement.cpu.is_some());
    // Absent if nothing was measured, or if fio, which counts in milliseconds, measured no time.
    let busiest = measurement.sensed.busiest_thread;
    assert!(busiest.is_none() || measurement.elapsed > Nanos::ZERO);
    assert!(busiest.is_some() || measurement.elapsed < Nanos::from_millis(100));
    assert!(busiest.is_none_or(|share| (0.0..=1.0).contains(&share)), "{busiest:?}");
}

fn written_blocks(content: &[u8], size: usize) -> HashSet<usize> {
    let blocks = content.chunks(size).enumerate();
    blocks.filter(|(_, block)| block.iter().any(|b| *b != 0)).map(|(n, _)| n).collect()
}

#[test]
fn exact_counts_of_every_backend_agree_with_the_kernel() {
    let _turn = alone();
    let Some(device) = LoopDevice::new(64 << 20) else { return };
    for backend in [Backend::Uring, Backend::Aio, Backend::Threads] {
        let mut engine = engine_on(device.target(), backend);
        assert_eq!(engine.backend(), backend);
        assert!(engine.describe().starts_with("uring: "), "{}", engine.describe());
        for (pattern, blocks) in [("RND 4K R", 1), ("RND 4K W", 1), ("RND 8K RW65", 2)] {
            let before = device.counters();
            let load = stimulus(pattern, "T2Q16", 64 << 20, LoadLimits::ios(PRIME));
            let done = apply(&mut engine, load);
            let [reads, read_merges, read_sectors, writes, write_merges, write_sectors] =
                device.counters_since(&before)[..6]
            else {
                panic!()
            };
            check_consistency(&done);
            let total = done.total();
            assert_eq!((total.ios, total.bytes.0), (PRIME, PRIME * blocks * 4096), "{backend}");
            assert_eq!(done.direction(Op::Read).ios, reads, "{backend} {pattern}");
            assert_eq!(done.direction(Op::Write).ios, writes, "{backend} {pattern}");
            assert_eq!(done.bytes().0, (read_sectors + write_sectors) * 512);
            assert_eq!((read_merges, write_merges), (0, 0));
            assert!(done.complete && done.unmeasured.is_empty() && done.fault_count == 0);
        }
    }
}

/// The kernel's own count of flushes agrees. It counts a flush where the device has a volatile
/// cache, and makes one flush of several that wait at the same time.
#[test]
fn the_kernel_counts_the_flushes_of_commits() {
    let _turn = alone();
    let Some(device) = LoopDevice::new(8 << 20) else { return };
    let name = device.path.file_name().unwrap().to_str().unwrap().to_owned();
    let flushes = || -> u64 {
        let text = fs::read_to_string(format!("/sys/block/{name}/stat")).unwrap();
        text.split_whitespace().nth(15).map_or(0, |n| n.parse().unwrap())
    };
    for (pattern, demand, expected, backend) in [
        ("RND 4K W FLUSH/1", "T1Q1", 200, Backend::Threads),
        ("RND 4K W FLUSH/1", "T1Q1", 200, Backend::Uring),
        ("SEQ 8K W FLUSH/8", "T1Q8", 25, Backend::Uring),
        ("RND 4K W", "T1Q4", 0, Backend::Uring),
    ] {
        let before = flushes();
        let load = stimulus(pattern, demand, 8 << 20, LoadLimits::ios(200));
        let done = apply(&mut engine_on(device.target(), backend), load);
        device.counters();
        assert_eq!(done.direction(Op::Flush).ios, expected, "{pattern}");
        assert_eq!(flushes() - before, expected, "{pattern}");
    }
}

/// A thread that has one I/O outstanding flushes by a blocking call, as an application does. Any
/// other load, and any load of an engine with a prescribed interface, keeps the engine's own.
#[test]
fn commits_one_at_a_time_are_blocking_calls() {
    let _turn = alone();
    let Some(device) = LoopDevice::new(8 << 20) else { return };
    let native = engine(device.target());
    if native.backend() != Backend::Uring {
        skipped::<()>("io_uring is not the engine's interface here");
        return;
    }
    drop(native);
    let blocking = "a thread per I/O for commits at queue depth 1";
    let flush = IoStream::new(Op::Flush, Order::Random, Bytes(0)).with_weight(1);
    for (pattern, demand, flushes, expected) in [
        ("RND 4K W FLUSH/1", "T2Q1", None, Some(blocking)),
        ("SEQ 4K W FLUSH/8", "T1Q1", None, Some(blocking)),
        ("RND 4K RW50 FLUSH/1", "T1Q1", None, Some(blocking)),
        ("RND 4K W", "T1Q1", Some(&flush), Some(blocking)),
        ("RND 4K W FLUSH/1", "T1Q2", None, None),
        ("SEQ 4K W FLUSH/8", "T1Q8", None, None),
        ("RND 4K W FUA", "T1Q1", None, None),
        ("RND 4K W FUA", "T1Q1", Some(&flush), None),
        ("RND 4K W", "T1Q1", None, None),
    ] {
        let case = format!("{pattern} {demand}, a stream of flushes: {}", flushes.is_some());
        let mut load = stimulus(pattern, demand, 8 << 20, LoadLimits::ios(100));
        load.streams.extend(flushes.cloned());
        let mut native = engine(device.target());
        let done = apply(&mut native, load.clone());
        check_consistency(&done);
        assert_eq!(done.interface.as_deref(), expected, "{case}");
        assert_eq!(native.describe().contains(blocking), expected.is_some(), "{case}");
        drop(native);
        let mut forced = engine_on(device.target(), Backend::Uring);
        assert_eq!(apply(&mut forced, load).interface, None, "{case}");
    }
}

#[test]
fn durable_writes_count_their_commits_and_flushes() {
    let _turn = alone();
    let scratch = Scratch::new(8 << 20);
    for backend in [Backend::Uring, Backend::Aio, Backend::Threads] {
        for (pattern, demand, ios, flushes) in [
            ("RND 4K W FLUSH/1", "T2Q4", 200, 200),
            ("SEQ 4K W FLUSH/8", "T1Q1", 100, 13),
            ("RND 4K W FLUSH/8", "T1Q8", 100, 13),
            ("RND 4K W SYNC", "T1Q4", 100, 0),
        ] {
            let mut native = engine_on(scratch.target(), backend);
            let load = stimulus(pattern, demand, 8 << 20, LoadLimits::ios(ios));
            if backend == Backend::Threads && (demand, flushes) == ("T1Q8", 13) {
                native.prepare(&alone_step(load)).unwrap_err();
                continue;
            }
            let done = apply(&mut native, load);
            let (writes, flushed) = (done.direction(Op::Write), done.direction(Op::Flush));
            assert_eq!((writes.ios, flushed.ios), (ios, flushes), "{backend} {pattern}");
            let alone = done.writes_alone.as_ref().map_or(0, |alone| alone.ios);
            assert_eq!(alone, if flushes > 0 { ios } else { 0 }, "{backend} {pattern}");
            if flushes == ios {
                // Each commit is exactly its write and its flush.
                let sum = done.writes_alone.unwrap().response_sum.0 + flushed.response_sum.0;
                assert!(sum.abs_diff(writes.response_sum.0) <= 2 * ios, "{backend}");
            }
        }
    }
}

/// Commits that the end of the time interrupts: each has its write alone, and where the flush had
/// begun that too.
#[test]
fn ios_outstanding_at_the_end_of_commits_are_in_every_row() {
    let _turn = alone();
    let scratch = Scratch::new(8 << 20);
    for (pattern, demand) in [("RND 4K W FLUSH/1", "T2Q4"), ("SEQ 4K W FLUSH/8", "T1Q8")] {
        let mut engine = engine_on(scratch.target(), Backend::Uring);
        let done = apply(&mut engine, stimulus(pattern, demand, 8 << 20, for_millis(150)));
        check_consistency(&done);
        let (writes, flushes) = (done.direction(Op::Write), done.direction(Op::Flush));
        let alone = done.writes_alone.as_ref().unwrap();
        assert_eq!(alone.responses(), writes.responses(), "{pattern}");
        assert!(alone.ios >= writes.ios && alone.response_sum < writes.response_sum, "{pattern}");
        let late = |op| done.unmeasured.iter().find(|part| part.op == op).map_or(0, |p| p.ios);
        assert_eq!(late(Op::Write), writes.outstanding, "{pattern}");
        assert!(flushes.outstanding <= late(Op::Flush), "{pattern}");
        assert!(late(Op::Flush) > 0, "{pattern}: a flush follows every write");
    }
}

#[test]
fn flushes_are_counted_and_transfer_no_bytes() {
    let _turn = alone();
    let scratch = Scratch::new(8 << 20);
    for backend in [Backend::Uring, Backend::Aio, Backend::Threads] {
        let mut load = stimulus("RND 4K W", "T1Q4", 8 << 20, LoadLimits::ios(200));
        load.streams[0].durability = Durability::Fua;
        load.streams.push(IoStream::new(Op::Flush, Order::Random, Bytes(0)).with_weight(100));
        let done = apply(&mut engine_on(scratch.target(), backend), load);
        let flushes = done.direction(Op::Flush);
        assert!((50..150).contains(&flushes.ios), "{backend}: {}", flushes.ios);
        assert_eq!((done.total().ios + flushes.ios, flushes.bytes), (200, Bytes(0)));
    }
}

#[test]
fn a_step_of_an_exact_number_of_bytes_moves_exactly_those() {
    let _turn = alone();
    let scratch = Scratch::new(10 << 20);
    for bytes in [20 << 20, (3 << 20) + 512] {
        let until = LoadLimits::bytes(Bytes(bytes));
        let load = stimulus("SEQ 128K W", "T2Q8", 10 << 20, until);
        let done = apply(&mut engine(scratch.target()), load);
        check_consistency(&done);
        assert_eq!(done.bytes(), Bytes(bytes));
        assert_eq!(done.total().ios, bytes.div_ceil(128 << 10));
    }
    let mut mixed = stimulus("RND 4K W", "T2Q8", 10 << 20, LoadLimits::bytes(Bytes(5_000_192)));
    mixed.streams.push(IoStream::new(Op::Write, Order::Random, Bytes::kib(64)));
    assert_eq!(apply(&mut engine(scratch.target()), mixed).bytes(), Bytes(5_000_192));
}

#[test]
fn segments_are_filled_and_nothing_else_is_touched() {
    let _turn = alone();
    let mib = Bytes::mib;
    let segments = Segments { count: 5, size: mib(2), unit: mib(1), seed: 7 };
    for pattern in ["RND 64K W", "SEQ 128K W"] {
        let scratch = Scratch::new(32 << 20);
        // Random writes move twenty times as much as sequential ones.
        let bytes = if pattern.starts_with("RND") { mib(200) } else { mib(10) };
        let mut load = stimulus(pattern, "T1Q8", 32 << 20, LoadLimits::bytes(bytes));
        load.active_range.segments = Some(segments);
        let starts = segments.starts(load.active_range).unwrap();
        let expected: HashSet<usize> = starts
            .iter()
            .flat_map(|start| (start / 65_536) as usize..((start + (2 << 20)) / 65_536) as usize)
            .collect();
        let mut engine = engine(scratch.target());
        assert_eq!(apply(&mut engine, load).bytes(), bytes);
        assert_eq!(written_blocks(&scratch.content(), 65_536), expected, "{pattern}");
    }
}

#[test]
fn seeds_decide_which_blocks_are_touched() {
    let _turn = alone();
    let touched = |seed| {
        let scratch = Scratch::new(64 << 20);
        let mut load = stimulus("RND 4K W", "T1Q8", 64 << 20, LoadLimits::ios(400));
        load.seed = seed;
        apply(&mut engine(scratch.target()), load);
        written_blocks(&scratch.content(), 4096)
    };
    let (first, again, other) = (touched(1), touched(1), touched(2));
    assert_eq!(first, again);
    assert!(first.len() > 390);
    assert!(first.intersection(&other).count() < 30);
}

#[test]
fn a_sequential_chain_covers_its_range_once_and_wraps() {
    let _turn = alone();
    let scratch = Scratch::new(8 << 20);
    let mut engine = engine(scratch.target());
    let mut cursors = BTreeMap::new();
    for (ios, covered) in [(20, 20), (41, 61), (3, 64)] {
        let start = StepStart { cursors: cursors.clone(), ..StepStart::default() };
        let load = stimulus("SEQ 128K W", "T1Q7", 8 << 20, LoadLimits::ios(ios));
        let done = engine.perform(&alone_step(load), &start, &mut |_| {}).unwrap();
        cursors = done.cursors;
        let blocks = written_blocks(&scratch.content(), 128 << 10);
        assert_eq!(blocks, (0..covered).collect(), "after {ios} more");
        assert_eq!(cursors["SEQ 128K W"], Bytes((covered as u64 % 64) << 17));
    }
}

#[test]
fn cut_steps_of_a_running_load_lose_and_repeat_nothing() {
    let _turn = alone();
    let Some(device) = LoopDevice::new(64 << 20) else { return };
    let mut engine = engine(device.target());
    let before = device.counters();
    let total = 60_000;
    let mut step = alone_step(stimulus("SEQ 4K W", "T2Q8", 64 << 20, LoadLimits::ios(total)));
    let (mut ios, mut pieces, mut last) = (0, 0, None);
    loop {
        step.cut = Some(Nanos::from_millis(60));
        let done = perform(&mut engine, &step).unwrap();
        check_consistency(&done);
        ios += done.total().ios;
        pieces += 1;
        if let Some(previous) = last {
            assert!(done.began_unix_ms >= previous);
        }
        last = Some(done.began_unix_ms);
        step.continues = true;
        if done.complete {
            assert_eq!(done.cursors["SEQ 4K W"], Bytes(total * 4096 % (64 << 20)));
            break;
        }
        // Stands for a bench's work between two steps; the load keeps running.
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(pieces > 1);
    assert_eq!(ios, total);
    assert_eq!(device.counters_since(&before)[3], total);
}

#[test]
fn a_resumed_load_does_the_rest() {
    let _turn = alone();
    let scratch = Scratch::new(8 << 20);
    let mut engine = engine(scratch.target());
    let mut step =
        alone_step(stimulus("SEQ 128K W", "T1Q4", 8 << 20, LoadLimits::bytes(Bytes(8 << 20))));
    step.continues = true;
    let start = StepStart {
        cursors: BTreeMap::from([("SEQ 128K W".to_owned(), Bytes(5 << 20))]),
        done: WorkDone { bytes: Bytes(5 << 20), ..WorkDone::default() },
        ..StepStart::default()
    };
    let done = engine.perform(&step, &start, &mut |_| {}).unwrap();
    assert_eq!(done.bytes(), Bytes(3 << 20));
    assert_eq!(written_blocks(&scratch.content(), 128 << 10), (40..64).collect());
    assert!(done.complete);
}

/// A load that continues after a gap writes at other addresses than before it.
#[test]
fn a_resumed_load_does_not_write_the_same_addresses_again() {
    let _turn = alone();
    let scratch = Scratch::new(16 << 20);
    let mut engine = engine(scratch.target());
    let load = |ios| stimulus("RND 4K W", "T1Q8", 16 << 20, LoadLimits::ios(ios));
    let mut written = |load: Stimulus, done: u64, resumed: u64| {
        let mut step = alone_step(load);
        step.continues = done > 0;
        let done = WorkDone { ios: done, ..WorkDone::default() };
        let start = StepStart { done, resumed, ..StepStart::default() };
        scratch.blank();
        let measured = engine.perform(&step, &start, &mut |_| {}).unwrap();
        assert_eq!(measured.total().ios, 200);
        (measured.seed, written_blocks(&scratch.content(), 4096))
    };
    let (own, first) = written(load(200), 0, 0);
    assert_eq!((own, written(load(200), 0, 0).1 == first), (None, true));
    // The rest of the load; the same after a resume; a step that was interrupted without a
    // record.
    let mut seeds = HashSet::from([own]);
    for (ios, done, resumed) in [(400, 200, 0), (400, 200, 1), (200, 0, 2)] {
        let (seed, blocks) = written(load(ios), done, resumed);
        assert!(seeds.insert(seed), "{seed:?}");
        // 10 of 4,096 are expected by chance.
        let again = blocks.intersection(&first).count();
        assert!(again < 40, "{again} of {} blocks written again", blocks.len());
    }
}

#[test]
fn a_step_that_continues_another_load_is_refused() {
    let _turn = alone();
    let scratch = Scratch::new(8 << 20);
    let mut engine = engine(scratch.target());
    let until = for_millis(60_000);
    let mut step = alone_step(stimulus("RND 4K R", "T1Q4", 8 << 20, until));
    step.cut = Some(Nanos::from_millis(50));
    assert!(!perform(&mut engine, &step).unwrap().complete);
    let mut other = alone_step(stimulus("RND 8K R", "T1Q4", 8 << 20, until));
    other.continues = true;
    let refused = perform(&mut engine, &other).unwrap_err();
    assert!(refused.to_string().contains("continues a load"), "{refused}");
    engine.end_load();
    engine.end_load();
}

#[test]
fn seconds_are_intervals_and_the_ramp_is_not_measured() {
    let _turn = alone();
    let scratch = Scratch::new(8 << 20);
    let mut engine = engine(scratch.target());
    let load = stimulus("RND 4K R", "T1Q4", 8 << 20, for_millis(2300));
    let step = alone_step(load.ramp(Nanos::from_millis(300)));
    let mut watched = Vec::new();
    let begun = Instant::now();
    let done =
        engine.perform(&step, &StepStart::default(), &mut |i| watched.push(i.clone())).unwrap();
    assert!(begun.elapsed() >= Duration::from_millis(2600));
    check_consistency(&done);
    assert_eq!(watched, done.intervals);
    assert_eq!(done.intervals.len(), 3);
    assert_eq!(done.intervals.iter().map(|i| i.partial).collect::<Vec<_>>(), [false, false, true]);
    assert!(done.elapsed.0.abs_diff(2_300_000_000) < 1000, "{:?}", done.elapsed);
    let ramp = done.unmeasured[0];
    assert!(ramp.op == Op::Read && ramp.ios > 100 && ramp.bytes.0 == ramp.ios * 4096);
}

#[test]
fn a_second_without_ios_is_an_interval() {
    let _turn = alone();
    let scratch = Scratch::new(8 << 20);
    let pace = Pace::Burst { ios: 5, delay: Nanos::from_secs(60) };
    let load = stimulus("RND 4K R", "T1Q1", 8 << 20, for_millis(2100)).pace(pace);
    let done = apply(&mut engine(scratch.target()), load);
    assert_eq!(done.total().ios, 5);
    let counts: Vec<usize> = done.intervals.iter().map(|i| i.tallies.len()).collect();
    assert_eq!(counts[..2], [1, 0]);
    assert!(done.elapsed.0.abs_diff(2_100_000_000) < 1000);
}

#[test]
fn paced_loads_issue_as_many_ios_as_are_due() {
    let _turn = alone();
    let scratch = Scratch::new(8 << 20);
    for backend in [Backend::Uring, Backend::Aio, Backend::Threads] {
        let load = stimulus("RND 4K R", "T2Q4", 8 << 20, for_millis(500));
        let fixed = load.clone().pace(Pace::Fixed { ios: 2000, per: Nanos::SECOND });
        let done = apply(&mut engine_on(scratch.target(), backend), fixed);
        let all = done.total().ios + done.unmeasured.iter().map(|u| u.ios).sum::<u64>();
        // What is due while the machine withholds the processor at the end is not issued.
        assert!((600..=1000).contains(&all), "{backend}: {all}");
        let poisson = load.pace(Pace::Poisson { ios: 2000, per: Nanos::SECOND });
        let done = apply(&mut engine_on(scratch.target(), backend), poisson);
        assert!((600..1200).contains(&done.total().ios), "{backend}: {}", done.total().ios);
    }
    let pace = Pace::Burst { ios: 10, delay: Nanos::from_millis(20) };
    let load = stimulus("RND 4K R", "T1Q4", 8 << 20, LoadLimits::ios(57)).pace(pace);
    let done = apply(&mut engine(scratch.target()), load);
    assert_eq!(done.total().ios, 57);
    assert!(done.elapsed >= Nanos::from_millis(100), "{:?}", done.elapsed);
}

/// The weights, half and half, have no effect.
#[test]
fn each_stream_issues_at_a_rate_of_its_own() {
    let _turn = alone();
    let scratch = Scratch::new(8 << 20);
    for backend in [Backend::Uring, Backend::Aio, Backend::Threads] {
        let rate = |ios| Pace::Fixed { ios, per: Nanos::SECOND };
        let load = stimulus("RND 4K RW50", "T2Q8", 8 << 20, LoadLimits::ios(1000))
            .pace(Pace::ByStream(vec![rate(1600), rate(400)]));
        let done = apply(&mut engine_on(scratch.target(), backend), load);
        let ios: Vec<u64> = done.streams.iter().map(|stream| stream.tally.ios).collect();
        // At the end, each thread may have one I/O of either stream in advance of the other.
        assert_eq!(ios.iter().sum::<u64>(), 1000, "{backend}");
        assert!(ios[0].abs_diff(800) <= 4, "{backend}: {ios:?}");
        assert!(done.elapsed >= Nanos::from_millis(490), "{backend}: {:?}", done.elapsed);
    }
}

/// Checks that a load and its threads end soon after a stop is requested.
fn check_stop(scratch: &Scratch, backend: Backend, load: Stimulus) {
    let stop = StopSignal::default();
    let mut engine = stoppable(scratch.target(), backend, &stop);
    let requester = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(200));
        stop.request();
        Instant::now()
    });
    assert_eq!(perform(&mut engine, &alone_step(load)), Err(Halt::Stopped));
    // The threads have ended when the engine has.
    drop(engine);
    assert!(requester.join().unwrap().elapsed() < END_WAIT_MAX, "{backend}");
    drop(arm_when_closed(&scratch.path));
}

#[test]
fn a_stop_takes_effect_long_before_the_end_and_the_next_io() {
    let _turn = alone();
    let scratch = Scratch::new(8 << 20);
    for backend in [Backend::Uring, Backend::Aio, Backend::Threads] {
        check_stop(&scratch, backend, stimulus("RND 4K W", "T2Q8", 8 << 20, for_millis(600_000)));
    }
    for backend in [Backend::Uring, Backend::Threads] {
        // Each thread waits for its next I/O, which is due long after the request.
        let pace = Pace::Fixed { ios: 1, per: Nanos::from_secs(300) };
        let load = stimulus("RND 4K W FLUSH/1", "T2Q1", 8 << 20, for_millis(600_000)).pace(pace);
        check_stop(&scratch, backend, load);
    }
}

/// A separate file system that can be frozen, so that writes to it hang.
struct FrozenFileSystem {
    mount: tempfile::TempDir,
    /// A scratch file of 8 MiB on it.
    scratch: PathBuf,
    _device: LoopDevice,
}

impl FrozenFileSystem {
    fn new() -> Option<FrozenFileSystem> {
        let device = LoopDevice::new(64 << 20)?;
        let mount = tempfile::tempdir().unwrap();
        let run = |program: &str, arguments: &[&std::ffi::OsStr]| {
            let output = Command::new(program).args(arguments).output();
            output.is_ok_and(|o| o.status.success())
        };
        let (path, place) = (device.path.as_os_str(), mount.path().as_os_str());
        if run("mkfs.ext4", &["-q".as_ref(), path]) && run("mount", &[path, place]) {
            let scratch = mount.path().join("scratch");
            create_scratch(&scratch, Bytes(8 << 20)).unwrap();
            return Some(FrozenFileSystem { mount, scratch, _device: device });
        }
        skipped("no ext4 file system of its own (needs mkfs.ext4 and mount)")
    }
    fn freeze(&self, flag: &str) {
        let output = Command::new("fsfreeze").arg(flag).arg(self.mount.path()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
}

impl Drop for FrozenFileSystem {
    fn drop(&mut self) {
        let _ = Command::new("fsfreeze").arg("--unfreeze").arg(self.mount.path()).output();
        let _ = Command::new("umount").arg("--lazy").arg(self.mount.path()).output();
    }
}

#[test]
fn a_stop_takes_effect_while_ios_hang_and_they_stay_known() {
    let _turn = alone();
    let Some(system) = FrozenFileSystem::new() else { return };
    for backend in [Backend::Uring, Backend::Aio, Backend::Threads] {
        let stop = StopSignal::default();
        let mut engine = stoppable(arm_when_closed(&system.scratch), backend, &stop);
        system.freeze("--freeze");
        let step = alone_step(stimulus("RND 4K W", "T1Q4", 8 << 20, for_millis(600_000)));
        let mut seconds = Vec::new();
        let mut requested = None;
        let halt = engine.perform(&step, &StepStart::default(), &mut |interval| {
            seconds.push(interval.clone());
            stop.request();
            requested.get_or_insert_with(Instant::now);
        });
        assert_eq!(halt, Err(Halt::Stopped));
        assert!(requested.unwrap().elapsed() < END_WAIT_MAX, "{backend}");
        assert_eq!(seconds.len(), 1, "a hanging second is an interval too");
        let again = perform(&mut engine, &step).unwrap_err();
        assert!(again.to_string().contains("have not completed"), "{again}");
        system.freeze("--unfreeze");
        drop(engine);
    }
    drop(arm_when_closed(&system.scratch));
}

/// A control group that limits a device's reads per second. On drop, this thread returns to the
/// root group.
struct Throttle {
    group: PathBuf,
}

impl Throttle {
    fn new(device: &LoopDevice, reads: u32) -> Option<Throttle> {
        let root = Path::new("/sys/fs/cgroup/blkio");
        let name = device.path.file_name().unwrap().to_str().unwrap();
        let group = root.join(format!("steadfast-engine-{}-{name}", std::process::id()));
        let numbers = fs::read_to_string(format!("/sys/block/{name}/dev")).unwrap();
        let file = group.join("blkio.throttle.read_iops_device");
        if fs::create_dir(&group).is_err() {
            return skipped("no control groups of version 1 for blkio");
        }
        let throttle = Throttle { group };
        let line = format!("{} {reads}", numbers.trim());
        if fs::write(file, line).is_err() {
            return skipped("this kernel cannot throttle a device");
        }
        // Threads created by this one start in its group.
        fs::write(throttle.group.join("tasks"), own_thread()).unwrap();
        Some(throttle)
    }
}

fn own_thread() -> String {
    // SAFETY: reads a number.
    unsafe { libc::gettid() }.to_string()
}

impl Drop for Throttle {
    fn drop(&mut self) {
        let _ = fs::write("/sys/fs/cgroup/blkio/tasks", own_thread());
        for _ in 0..100 {
            if fs::remove_dir(&self.group).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// A device of 4 I/Os per second, with 16 of them outstanding when the step ends: the step ends
/// in time, reports the I/Os that it left out, and has no stall. The next step begins when all of
/// them have completed.
#[test]
fn a_step_ends_at_its_time_on_a_slow_device() {
    let _turn = alone();
    for backend in [Backend::Uring, Backend::Aio] {
        let Some(device) = LoopDevice::new(8 << 20) else { return };
        let mut engine = with_timeout(device.target(), backend, Duration::from_secs(1));
        let Some(throttle) = Throttle::new(&device, 4) else { return };
        let done = apply(&mut engine, stimulus("RND 4K R", "T2Q8", 8 << 20, for_millis(1000)));
        assert!(done.complete && done.total().ios >= 1, "{backend}: {done:?}");
        assert!(done.elapsed <= Nanos::SECOND, "{backend}: {}", done.elapsed);
        let late: u64 = done.unmeasured.iter().map(|part| part.ios).sum();
        assert!(done.outstanding >= 1, "{backend}: all of 16 completed");
        assert!(done.outstanding + late <= 16, "{backend}: {} out, {late} late", done.outstanding);
        assert_eq!(done.stalls, [], "{backend}");
        // Each of them counts with its full time, or its time so far.
        let reads = done.direction(Op::Read);
        assert_eq!(reads.outstanding, done.outstanding + late, "{backend}");
        assert_eq!(reads.histogram.total(), reads.ios + reads.outstanding, "{backend}");
        assert!(reads.response_max >= Nanos::SECOND, "{backend}: {}", reads.response_max);
        let limit = throttle.group.join("blkio.throttle.read_iops_device");
        let lifted = fs::read_to_string(&limit).unwrap().replace(" 4", " 0");
        fs::write(&limit, lifted.trim()).unwrap();
        let next = apply(&mut engine, stimulus("RND 4K R", "T1Q4", 8 << 20, LoadLimits::ios(100)));
        assert_eq!((next.total().ios, next.outstanding), (100, 0), "{backend}");
    }
}

/// A device that hangs across the end of a step: the waiting I/Os have their full response times,
/// the step its measured time, and the silence is located.
#[test]
fn a_hang_across_the_end_is_in_the_response_times() {
    let _turn = alone();
    let Some(system) = FrozenFileSystem::new() else { return };
    for backend in [Backend::Uring, Backend::Aio, Backend::Threads] {
        let mut engine = engine_on(arm_when_closed(&system.scratch), backend);
        let step = alone_step(stimulus("RND 4K W", "T1Q4", 8 << 20, for_millis(2000)));
        let begun = Instant::now();
        let (done, hang) = std::thread::scope(|scope| {
            let freezing = scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(700));
                system.freeze("--freeze");
                let frozen = Instant::now();
                std::thread::sleep(Duration::from_millis(3_500).saturating_sub(begun.elapsed()));
                let lasted = frozen.elapsed();
                system.freeze("--unfreeze");
                lasted
            });
            (perform(&mut engine, &step).unwrap(), Nanos::from(freezing.join().unwrap()))
        });
        check_consistency(&done);
        let writes = done.direction(Op::Write);
        assert!(done.elapsed <= Nanos::from_secs(2), "{backend}: {}", done.elapsed);
        assert!((1..=4).contains(&writes.outstanding), "{backend}: {}", writes.outstanding);
        let least = hang.saturating_sub(Nanos::from_millis(100));
        assert!(writes.response_max >= least, "{backend}: {} of {hang}", writes.response_max);
        assert_eq!(done.outstanding, 0, "{backend}: all completed");
        let [silence] = done.silences[..] else { panic!("{backend}: {:?}", done.silences) };
        let least = hang.saturating_sub(Nanos::from_millis(300));
        assert!(silence.lasted >= least, "{backend}: {silence:?} of {hang}");
        assert!(silence.at < Nanos::from_millis(2_000), "{backend}: {silence:?}");
        drop(engine);
    }
    drop(arm_when_closed(&system.scratch));
}

/// I/Os that never complete end the step with the reason, with a time limit, without one, and long
/// before the end of a ramp; their memory stays mapped.
#[test]
fn a_device_that_never_answers_is_gone_when_the_step_has_ended() {
    let _turn = alone();
    let Some(system) = FrozenFileSystem::new() else { return };
    let load = |until| stimulus("RND 4K W", "T1Q4", 8 << 20, until);
    let limited = load(for_millis(500));
    let loads = [limited.clone(), load(LoadLimits::ios(1000)), limited.ramp(Nanos::from_secs(120))];
    for backend in [Backend::Uring, Backend::Aio, Backend::Threads] {
        for load in &loads {
            let target = arm_when_closed(&system.scratch);
            let mut engine = with_timeout(target, backend, Duration::from_millis(150));
            system.freeze("--freeze");
            let begun = Instant::now();
            for _ in 0..2 {
                let step = alone_step(load.clone());
                let halt = perform(&mut engine, &step).unwrap_err();
                assert!(matches!(halt, Halt::DeviceGone { .. }), "{backend}: {halt}");
                assert!(halt.to_string().contains("completed"), "{backend}: {halt}");
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
            system.freeze("--unfreeze");
            drop(engine);
        }
    }
    drop(arm_when_closed(&system.scratch));
}

#[test]
fn paced_ios_that_are_not_due_yet_are_dropped_at_the_end() {
    let _turn = alone();
    let scratch = Scratch::new(8 << 20);
    let pace = Pace::Fixed { ios: 1, per: Nanos::SECOND };
    let load = stimulus("RND 4K R", "T4Q32", 8 << 20, for_millis(300)).pace(pace);
    let mut engine = engine(scratch.target());
    let begun = Instant::now();
    let done = apply(&mut engine, load);
    assert!(begun.elapsed() < Duration::from_secs(60));
    assert!(done.complete && done.total().ios <= 1 && done.outstanding == 0, "{done:?}");
}

#[test]
fn failing_ios_are_located_and_void_the_step() {
    let _turn = alone();
    for backend in [Backend::Uring, Backend::Aio, Backend::Threads] {
        let scratch = Scratch::new(8 << 20);
        let target = scratch.target();
        // The file loses its second half without the engine's knowledge.
        File::options().write(true).open(&scratch.path).unwrap().set_len(4 << 20).unwrap();
        let mut engine = engine_on(target, backend);
        let few = apply(&mut engine, stimulus("RND 4K R", "T1Q4", 8 << 20, LoadLimits::ios(100)));
        assert_eq!(few.total().ios + few.fault_count, 100);
        assert!(few.fault_count > 20 && few.faults.len() == few.fault_count.min(32) as usize);
        assert!(few.faults.iter().all(|f| f.errno == 0 && f.offset.0 >= 4 << 20));

        let step = alone_step(stimulus("RND 4K R", "T1Q4", 8 << 20, LoadLimits::ios(100_000)));
        match perform(&mut engine, &step).unwrap_err() {
            Halt::Faults { count, first, .. } => {
                assert!((101..120).contains(&count), "{count}");
                assert!(first.contains("fewer bytes"), "{first}");
            }
            other => panic!("{other}"),
        }
    }
}

/// A drive that is removed loses its capacity before anything else; so does a loop device whose
/// file is emptied.
#[test]
fn a_device_without_capacity_is_gone_and_not_faulty() {
    let _turn = alone();
    for pattern in ["RND 4K R", "RND 4K W"] {
        let Some(device) = LoopDevice::new(8 << 20) else { return };
        let mut engine = engine(device.target());
        let load = stimulus(pattern, "T1Q4", 8 << 20, LoadLimits::ios(100));
        assert_eq!(apply(&mut engine, load.clone()).total().ios, 100);
        fs::File::options().write(true).open(&device.scratch.path).unwrap().set_len(0).unwrap();
        let resized = Command::new("losetup").arg("--set-capacity").arg(&device.path).status();
        assert!(resized.unwrap().success());
        let step = alone_step(load);
        let halt = perform(&mut engine, &step).unwrap_err();
        assert!(matches!(&halt, Halt::DeviceGone { .. }), "{pattern}: {halt}");
        assert!(halt.to_string().contains("capacity"), "{halt}");
    }
}

#[test]
fn written_data_is_verified_and_a_changed_sector_is_found() {
    let _turn = alone();
    let size = 16 << 20;
    let scratch = Scratch::new(size);
    let mut engine = engine(scratch.target());
    let verified = |pattern: &str, demand: &str, until: LoadLimits| {
        let mut load = stimulus(pattern, demand, size, until);
        load.verify = true;
        load
    };
    let unknown = apply(&mut engine, verified("SEQ 64K R", "T1Q4", LoadLimits::ios(10)));
    assert_eq!(unknown.verification.unwrap().sectors_unknown, 10 * 128);

    apply(&mut engine, verified("SEQ 64K W", "T1Q8", LoadLimits::bytes(Bytes(size))));
    let read = verified("SEQ 128K R", "T1Q4", LoadLimits::bytes(Bytes(size)));
    let right = apply(&mut engine, read.clone()).verification.unwrap();
    assert_eq!((right.sectors_right, right.sectors_unknown), (size / 512, 0));
    assert_eq!(right.miscompares, 0);

    let file = File::options().read(true).write(true).open(&scratch.path).unwrap();
    let (one, two) = (777 * 512, 20_000 * 512);
    let mut sector = [0u8; 512];
    file.read_exact_at(&mut sector, one).unwrap();
    sector[300] ^= 1;
    file.write_all_at(&sector, one).unwrap();
    file.read_exact_at(&mut sector, two + 512).unwrap();
    file.write_all_at(&sector, two).unwrap();
    file.sync_all().unwrap();
    let wrong = apply(&mut engine, read).verification.unwrap();
    assert_eq!(wrong.miscompares, 2, "a flipped bit, and a sector in another's place");
    assert_eq!(wrong.first.iter().map(|b| b.0).collect::<HashSet<_>>(), [one, two].into());
    assert_eq!(wrong.sectors_right, size / 512 - 2);
}

#[test]
fn concurrent_writes_are_no_miscompares() {
    let _turn = alone();
    let Some(device) = LoopDevice::new(1 << 20) else { return };
    let mut engine = engine(device.target());
    let mut load = stimulus("SEQ 4K W", "T1Q8", 1 << 20, LoadLimits::bytes(Bytes(1 << 20)));
    load.verify = true;
    apply(&mut engine, load.clone());
    load.streams = "RND 4K RW50".parse::<AccessPattern>().unwrap().streams();
    load.demand = Demand::new(2, 16);
    load.until = LoadLimits::ios(50_000);
    let found = apply(&mut engine, load).verification.unwrap();
    assert_eq!((found.miscompares, found.sectors_unknown), (0, 0));
    assert!(found.sectors_right > 100_000);
}

#[test]
fn no_two_sectors_of_several_loads_are_equal() {
    let _turn = alone();
    let scratch = Scratch::new(2 << 20);
    let mut engine = engine(scratch.target());
    let mut sectors = HashSet::new();
    for (pattern, demand) in [("SEQ 4K W", "T2Q4"), ("SEQ 128K W", "T1Q4"), ("SEQ 0.5K W", "T1Q1")]
    {
        apply(&mut engine, stimulus(pattern, demand, 2 << 20, LoadLimits::bytes(Bytes(2 << 20))));
        for sector in scratch.content().chunks(512) {
            assert!(sectors.insert(sector.to_vec()), "{pattern}");
        }
    }
    assert_eq!(sectors.len(), 3 * 4096);
}

#[test]
fn ios_allocate_nothing() {
    let _turn = alone();
    let scratch = Scratch::new(8 << 20);
    for backend in [Backend::Uring, Backend::Aio] {
        let mut engine = engine_on(scratch.target(), backend);
        let mut allocations = |ios| {
            let before = ALLOCATIONS.load(Ordering::Relaxed);
            apply(&mut engine, stimulus("RND 4K RW50", "T1Q16", 8 << 20, LoadLimits::ios(ios)));
            ALLOCATIONS.load(Ordering::Relaxed) - before
        };
        // A thread that ends during the next step (it destroys a context) allocates a little in
        // either case.
        let (few, many) = (allocations(16), allocations(PRIME));
        assert!(many < few + 64, "{backend}: {few} for 16 I/Os, {many} for {PRIME}");
    }
}

#[test]
fn discards_reach_files_and_devices() {
    let _turn = alone();
    let discards = |length| {
        let mut load = stimulus("SEQ 64K W", "T1Q4", length, LoadLimits::bytes(Bytes(length / 2)));
        load.streams[0].op = Op::Discard;
        load
    };
    let size = 4 << 20;
    for backend in [Backend::Uring, Backend::Aio, Backend::Threads] {
        let scratch = Scratch::new(size);
        let mut engine = engine_on(scratch.target(), backend);
        apply(&mut engine, stimulus("SEQ 64K W", "T1Q4", size, LoadLimits::bytes(Bytes(size))));
        let done = apply(&mut engine, discards(size));
        assert_eq!(done.direction(Op::Discard).bytes.0, size / 2, "{backend}");
        assert_eq!(written_blocks(&scratch.content(), 64 << 10), (32..64).collect(), "{backend}");
    }
    let Some(device) = LoopDevice::new(size) else { return };
    let mut engine = engine(device.target());
    if let Err(refusal) = engine.prepare(&alone_step(discards(size))) {
        skipped::<()>(&refusal.0);
        return;
    }
    let before = device.counters();
    apply(&mut engine, discards(size));
    let since = device.counters_since(&before);
    assert_eq!((since[6], since[7] * 512), (size / 2 / (64 << 10), size / 2));
}

#[test]
fn invalid_loads_are_refused_beforehand() {
    let _turn = alone();
    let scratch = Scratch::new(8 << 20);
    let mut engine = engine(scratch.target());
    let base = || stimulus("RND 4K W", "T1Q4", 8 << 20, LoadLimits::ios(10));
    let mut refusal = |change: &dyn Fn(&mut Stimulus)| {
        let mut load = base();
        change(&mut load);
        engine.prepare(&alone_step(load)).map_or_else(|refusal| refusal.0, |_| String::new())
    };
    assert_eq!(refusal(&|_| {}), "");
    type Change<'c> = &'c dyn Fn(&mut Stimulus);
    let cases: [(&str, Change<'_>); 14] = [
        ("beyond", &|s| s.active_range.start = Bytes(4096)),
        ("beyond", &|s| s.active_range.start = Bytes(u64::MAX)),
        ("cannot hold 4 segments", &|s| {
            let (size, unit) = (Bytes::mib(2), Bytes::mib(1));
            s.active_range.segments = Some(Segments { count: 4, size, unit, seed: 1 });
        }),
        ("multiples of", &|s| s.streams[0].size = Bytes(1000)),
        ("multiples of", &|s| s.streams[0].alignment = Some(Bytes(100))),
        ("memory", &|s| {
            s.active_range.length = Bytes(8 << 20);
            s.demand = Demand::new(4000, 16_000);
        }),
        ("at most", &|s| s.demand = Demand::new(5000, 1)),
        ("needs a rate", &|s| s.pace = Pace::ByStream(vec![Pace::Closed])),
        ("give each stream one", &|s| s.pace = Pace::ByStream(Vec::new())),
        ("at least one I/O", &|s| s.pace = Pace::Fixed { ios: 0, per: Nanos::SECOND }),
        ("ramp", &|s| s.ramp = Nanos::SECOND),
        ("not a multiple", &|s| s.until = LoadLimits::bytes(Bytes(1000))),
        ("random-unique", &|s| {
            s.verify = true;
            s.data_pattern = DataPattern::Zero;
        }),
        ("cannot be read", &|s| s.data_pattern = DataPattern::File("/no/such/file".into())),
    ];
    for (word, change) in cases {
        let why = refusal(change);
        assert!(why.contains(word), "expected '{word}', got '{why}'");
    }
    let script = steadfast_domain::ScriptLoad::new("oltp", Demand::new(1, 1));
    let mut step = alone_step(base());
    step.load = Load::Script(script);
    assert!(engine.prepare(&step).unwrap_err().0.contains("reopen its source"));
}

/// Counts how often a file is opened.
struct OpenCounter(File);

impl OpenCounter {
    fn new(path: &Path) -> OpenCounter {
        use std::os::fd::FromRawFd;
        let path = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
        // SAFETY: the path ends with a zero byte; the descriptor is new and has no other owner.
        unsafe {
            let fd = libc::inotify_init1(libc::IN_CLOEXEC | libc::IN_NONBLOCK);
            assert!(fd >= 0 && libc::inotify_add_watch(fd, path.as_ptr(), libc::IN_OPEN) >= 0);
            OpenCounter(File::from_raw_fd(fd))
        }
    }
    /// Returns the count since the last call. Every event of one file is sixteen bytes.
    fn count(&mut self) -> usize {
        let mut events = [0; 4096];
        std::io::Read::read(&mut self.0, &mut events).map_or(0, |length| length / 16)
    }
}

#[test]
fn the_file_of_a_data_pattern_is_read_once_however_often_its_load_is_cut() {
    let _turn = alone();
    let scratch = Scratch::new(8 << 20);
    let path = scratch.directory.path().join("content");
    fs::write(&path, b"steadfast").unwrap();
    let mut opens = OpenCounter::new(&path);
    let mut engine = engine(scratch.target());
    let mut load = stimulus("RND 4K W", "T1Q4", 8 << 20, for_millis(400));
    load.data_pattern = DataPattern::File(path.to_str().unwrap().to_owned());
    let mut step = alone_step(load);
    step.cut = Some(Nanos::from_millis(100));
    // Prepared once to check that it can be applied, as before a purge, and then step by step.
    assert!(engine.prepare(&step).is_ok());
    let mut pieces = 0;
    while !perform(&mut engine, &step).unwrap().complete {
        step.continues = true;
        pieces += 1;
    }
    assert!((2..=4).contains(&pieces), "{pieces}");
    assert!(scratch.content().windows(9).any(|bytes| bytes == b"steadfast"));
    assert_eq!(opens.count(), 1);
    // The watch itself works.
    fs::read(&path).unwrap();
    assert_eq!(opens.count(), 1);
}

#[test]
fn a_target_armed_for_reading_is_never_written() {
    let _turn = alone();
    let scratch = Scratch::new(8 << 20);
    let roots = SystemRoots::real();
    let device = inspect(&scratch.path, &roots).unwrap();
    let target = arm(&device, &Consent::Read, &[], &roots).unwrap();
    let mut engine = engine(target);
    let write = alone_step(stimulus("RND 4K RW99", "T1Q1", 8 << 20, LoadLimits::ios(10)));
    assert!(engine.prepare(&write).unwrap_err().0.contains("armed for reading"));
    assert!(perform(&mut engine, &write).is_err());
    let done = apply(&mut engine, stimulus("RND 4K R", "T1Q1", 8 << 20, LoadLimits::ios(10)));
    assert_eq!(done.total().ios, 10);
    assert!(written_blocks(&scratch.content(), 4096).is_empty());
}

#[test]
fn a_file_without_direct_io_works_and_is_described_as_such() {
    let _turn = alone();
    let place = tempfile::tempdir().unwrap();
    let mounted = Command::new("mount").args(["-t", "ramfs", "none"]).arg(place.path()).output();
    if !mounted.is_ok_and(|o| o.status.success()) {
        skipped::<()>("no ramfs (needs root)");
        return;
    }
    let path = place.path().join("scratch");
    let outcome = std::panic::catch_unwind(|| {
        fs::write(&path, vec![0; 4 << 20]).unwrap();
        let mut engine = engine(armed(&path));
        let done =
            apply(&mut engine, stimulus("RND 4K RW50", "T1Q8", 4 << 20, LoadLimits::ios(PRIME)));
        assert_eq!(done.total().ios, PRIME);
        assert!(engine.describe().contains("page cache"), "{}", engine.describe());
    });
    assert!(Command::new("umount").arg(place.path()).status().unwrap().success());
    outcome.unwrap();
}

fn at_once(loads: Vec<Stimulus>) -> Step {
    Step::alone(StepPlace::new("test", 0, 1, "at once"), Load::Together(loads))
}

#[test]
fn loads_at_once_do_exactly_their_own_ios_and_the_kernel_counts_their_sum() {
    let _turn = alone();
    let Some(device) = LoopDevice::new(64 << 20) else { return };
    let length = 64 << 20;
    let loads = vec![
        stimulus("RND 4K R", "T2Q4", length, LoadLimits::ios(PRIME)),
        stimulus("SEQ 16K W", "T1Q2", length, LoadLimits::ios(1009)).seed(2),
        stimulus("RND 8K RW50", "T1Q1", length, LoadLimits::ios(503)).seed(3),
    ];
    let mut engine = engine(device.target());
    let before = device.counters();
    let m = perform(&mut engine, &at_once(loads)).unwrap();
    assert!(m.complete);
    let ios: Vec<u64> =
        m.concurrent_loads().map(|load| load.streams.iter().map(|s| s.tally.ios).sum()).collect();
    assert_eq!(ios, [PRIME, 1009, 503]);
    let longest = m.concurrent_loads().map(|load| load.elapsed).max().unwrap();
    assert_eq!(longest, m.elapsed);
    assert_eq!(m.cursors["#2 SEQ 16K W"], Bytes(1009 * 16_384));
    let kernel = device.counters_since(&before);
    let (reads, writes) = (m.direction(Op::Read), m.direction(Op::Write));
    assert_eq!((kernel[0], kernel[3]), (reads.ios, writes.ios));
    assert_eq!((kernel[2] * 512, kernel[5] * 512), (reads.bytes.0, writes.bytes.0));
    let in_intervals: u64 = m.intervals.iter().flat_map(|i| &i.tallies).map(|t| t.ios).sum();
    assert_eq!(in_intervals, PRIME + 1009 + 503);
    check_consistency(&m);
}

#[test]
fn loads_at_once_keep_their_own_time_and_pace_over_cuts() {
    let _turn = alone();
    let scratch = Scratch::new(16 << 20);
    let pace = Pace::Fixed { ios: 211, per: Nanos::from_secs(1) };
    let loads = vec![
        stimulus("RND 4K R", "T1Q2", 16 << 20, for_millis(700)),
        stimulus("RND 4K W", "T1Q1", 16 << 20, for_millis(2000)).seed(2).pace(pace),
    ];
    let mut engine = engine(scratch.target());
    let mut parts = Vec::new();
    for point in 1.. {
        let place = StepPlace::new("test", 0, point, "at once");
        let load = Load::Together(loads.clone());
        let step = Step::part(place, load, Nanos::from_millis(600), point > 1);
        parts.push(perform(&mut engine, &step).unwrap());
        if parts.last().unwrap().complete {
            break;
        }
    }
    let sum = |number: usize| -> (u64, Nanos) {
        let loads = || parts.iter().map(|m| m.concurrent_loads().nth(number).unwrap());
        let ios = loads().map(|load| load.streams[0].tally.ios).sum();
        (ios, Nanos(loads().map(|load| load.elapsed.0).sum()))
    };
    // Clock ticks are not whole nanoseconds.
    assert!(sum(0).1.0.abs_diff(700_000_000) < 1000, "{}", sum(0).1);
    let (paced, time) = sum(1);
    assert!(time >= Nanos::from_millis(1999), "{time}");
    // What is due while the machine withholds the processor at the end is not counted.
    assert!((400..=423).contains(&paced), "{paced}");
    assert_eq!(
        parts[2].concurrent_loads().next().unwrap().streams[0].tally.ios,
        0,
        "it has ended long ago"
    );
}

#[test]
fn loads_at_once_that_have_ended_do_not_restart_after_a_gap() {
    let _turn = alone();
    let scratch = Scratch::new(16 << 20);
    let loads = vec![
        stimulus("RND 4K R", "T1Q2", 16 << 20, LoadLimits::ios(101)),
        stimulus("SEQ 4K W", "T1Q1", 16 << 20, LoadLimits::ios(1009)).seed(2),
    ];
    let done = |ios| WorkDone { ios, ..WorkDone::default() };
    let cursors = BTreeMap::from([("#2 SEQ 4K W".to_owned(), Bytes(1000 * 4096))]);
    let start =
        StepStart { done_by_load: vec![done(101), done(1000)], cursors, ..StepStart::default() };
    let mut step = at_once(loads.clone());
    step.continues = true;
    let m = engine(scratch.target()).perform(&step, &start, &mut |_| {}).unwrap();
    let ios: Vec<u64> = m.concurrent_loads().map(|load| load.streams[0].tally.ios).collect();
    assert_eq!(ios, [0, 9]);
    assert_eq!(m.cursors["#2 SEQ 4K W"], Bytes(1009 * 4096));
    let wrong = vec![loads[0].clone(), loads[1].clone().ramp(Nanos::SECOND)];
    let refused = perform(&mut engine(scratch.target()), &at_once(wrong));
    assert!(matches!(refused, Err(Halt::Refused(why)) if why.contains("unmeasured time")));
}
