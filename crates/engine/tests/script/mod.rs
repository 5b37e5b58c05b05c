//! Scripts on real files and loop devices, checked by the kernel's own counters.

use super::{
    ALLOCATIONS, LoopDevice, PRIME, Scratch, Throttle, alone, check_consistency, engine, engine_on,
    perform, skipped, written_blocks,
};
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use steadfast_domain::script::{OpCounts, OverlapRule, Timing};
use steadfast_domain::{
    Bytes, Demand, DueIo, Halt, Load, Measurement, Nanos, Op, ReplayResult, Script, ScriptError,
    ScriptLoad, Step, StepPlace,
};
use steadfast_engine::native::{Backend, Native, NativeOptions};
use steadfast_engine::{Engine, StepStart, StopSignal};
use steadfast_host::monotonic;

const MIB: u64 = 1 << 20;

/// Returns every number below `n`, in an order that depends only on the seed.
fn shuffled(n: u64, seed: u64) -> Vec<u64> {
    let mut numbers: Vec<u64> = (0..n).collect();
    numbers.sort_by_key(|number| steadfast_domain::random_bits::mix64(seed ^ number));
    numbers
}

/// I/Os of a list, in batches of a chosen size.
struct DelayedListScript {
    ios: Arc<Vec<DueIo>>,
    at: usize,
    batch: usize,
    /// Pause before each batch except the first.
    pause: Duration,
}

impl Script for DelayedListScript {
    fn fill(&mut self, batch: &mut Vec<DueIo>) -> Result<usize, ScriptError> {
        if self.at > 0 {
            std::thread::sleep(self.pause);
        }
        let most = self.batch.min(batch.capacity());
        let end = (self.at + most).min(self.ios.len());
        batch.extend(&self.ios[self.at..end]);
        Ok(end - std::mem::replace(&mut self.at, end))
    }
}

fn load(ios: Vec<DueIo>, outstanding: u32) -> ScriptLoad {
    slow_load(ios, outstanding, usize::MAX, Duration::ZERO)
}

fn slow_load(ios: Vec<DueIo>, outstanding: u32, batch: usize, pause: Duration) -> ScriptLoad {
    let mut counts = OpCounts::default();
    ios.iter().for_each(|io| counts.count(io.op));
    let moves = |io: &&DueIo| matches!(io.op, Op::Read | Op::Write);
    let end = |io: &DueIo| Bytes(io.offset.0 + io.size.0);
    let ios = Arc::new(ios);
    let list = Arc::clone(&ios);
    ScriptLoad {
        digest: "0".repeat(64),
        counts,
        bytes: Bytes(ios.iter().filter(moves).map(|io| io.size.0).sum()),
        span: ios.last().map_or(Nanos::ZERO, |io| io.due),
        largest: ios.iter().filter(moves).map(|io| io.size).max().unwrap_or(Bytes(0)),
        unit: Bytes(512),
        reach: ios.iter().map(end).max().unwrap_or(Bytes(0)),
        open: Some(Arc::new(move || {
            Ok(Box::new(DelayedListScript { ios: Arc::clone(&list), at: 0, batch, pause }))
        })),
        ..ScriptLoad::new("list", Demand::new(1, outstanding))
    }
}

fn step(script: ScriptLoad) -> Step {
    let load = Load::Script(script);
    Step::alone(StepPlace::new("replay", 0, 1, "list"), load)
}

fn play(engine: &mut Native, script: ScriptLoad) -> Measurement {
    perform(engine, &step(script)).unwrap()
}

/// I/Os of 4 KiB at even intervals, through 8 MiB and again from its start.
fn evenly_spaced(count: u64, gap_ns: u64, op: Op) -> Vec<DueIo> {
    let io = |n| DueIo::new(Nanos(n * gap_ns), op, Bytes(n % 2048 * 4096), Bytes(4096));
    (0..count).map(io).collect()
}

fn replay(done: &Measurement) -> &ReplayResult {
    done.replay.as_ref().unwrap()
}

/// Checks that the counts of a replay agree with those of its measurement.
fn check_replay(done: &Measurement) {
    check_consistency(done);
    let replay = replay(done);
    let ios: u64 = done.streams.iter().map(|s| s.tally.ios).sum();
    assert_eq!((replay.lateness.ios, replay.lateness.histogram.total()), (ios, ios));
    assert_eq!(replay.intervals.len(), done.intervals.len());
    assert_eq!(replay.intervals.iter().map(|i| i.ios).sum::<u64>(), ios);
    assert_eq!(replay.intervals.iter().map(|i| i.sum.0).sum::<u64>(), replay.lateness.sum.0);
    assert_eq!(replay.served.len(), done.streams.len());
    let (mut felt, mut served) = (0, 0);
    for (from_due, from_handed) in done.streams.iter().zip(&replay.served) {
        assert_eq!(from_due.op, from_handed.op);
        assert_eq!(from_due.tally.ios, from_handed.tally.ios);
        assert_eq!(from_due.tally.bytes, from_handed.tally.bytes);
        felt += from_due.tally.response_sum.0;
        served += from_handed.tally.response_sum.0;
    }
    assert_eq!(felt, served + replay.lateness.sum.0, "felt = served + late");
}

/// 10,007 I/Os of several sizes, 10 µs apart, with no overlapping writes.
fn mixed(reach: u64) -> Vec<DueIo> {
    let cells = shuffled(PRIME, 5);
    assert!(PRIME * 6144 <= reach);
    let of = |(n, cell): (usize, u64)| {
        let due = Nanos(n as u64 * 10_000);
        let (op, size) = match n % 10 {
            0..=4 => (Op::Write, 4096),
            5 => (Op::Write, 512),
            6..=7 => (Op::Read, 4096),
            _ => (Op::Read, 1024),
        };
        if n % 1000 == 999 {
            return DueIo::new(due, Op::Flush, Bytes(0), Bytes(0));
        }
        let io = DueIo::new(due, op, Bytes(cell * 6144), Bytes(size));
        DueIo { fua: n % 500 == 0, ..io }
    };
    cells.into_iter().enumerate().map(of).collect()
}

#[test]
fn a_script_is_played_exactly_by_every_backend() {
    let _turn = alone();
    let length = 64 * MIB;
    let Some(device) = LoopDevice::new(length) else { return };
    for backend in [Backend::Uring, Backend::Aio, Backend::Threads] {
        device.scratch.blank();
        let mut engine = engine_on(device.target(), backend);
        let before = device.counters();
        let ios = mixed(length);
        let done = play(&mut engine, load(ios.clone(), 32));
        check_replay(&done);
        assert!(done.complete && done.fault_count == 0 && done.unmeasured.is_empty());
        let (mut moved, mut blocks) = (0, HashSet::new());
        for op in Op::ALL {
            let of_op = || ios.iter().filter(|io| io.op == op);
            let tally = done.direction(op);
            let bytes: u64 = of_op().map(|io| io.size.0).sum();
            assert_eq!((tally.ios, tally.bytes.0), (of_op().count() as u64, bytes), "{backend}");
            moved += bytes;
        }
        for io in ios.iter().filter(|io| io.op == Op::Write) {
            blocks.extend((io.offset.0 / 512..(io.offset.0 + io.size.0) / 512).map(|b| b as usize));
        }
        let kernel = device.counters_since(&before);
        assert_eq!(done.direction(Op::Read).ios, kernel[0], "{backend}");
        // The kernel counts a flush as an empty write.
        let fua = ios.iter().filter(|io| io.fua).count() as u64;
        let writes = done.direction(Op::Write).ios + done.direction(Op::Flush).ios;
        // A synchronous call with RWF_DSYNC flushes after its FUA write.
        let flushed = if backend == Backend::Threads { fua } else { 0 };
        assert_eq!(writes + flushed, kernel[3], "{backend}");
        assert_eq!(moved, (kernel[2] + kernel[5]) * 512, "{backend}");
        assert_eq!(written_blocks(&device.scratch.content(), 512), blocks, "{backend}");
        let replay = replay(&done);
        assert_eq!((replay.position.ios, replay.overlaps, replay.held), (PRIME, 0, 0));
        assert_eq!((replay.left_out.len(), replay.fua_left_out), (0, 0));
        // No I/O is submitted before its time.
        assert!(done.elapsed >= Nanos((PRIME - 1) * 10_000), "{}", done.elapsed);
    }
}

#[test]
fn a_slow_reader_starves_the_player_and_is_counted() {
    let _turn = alone();
    let scratch = Scratch::new(8 * MIB);
    let ios = evenly_spaced(3000, 1000, Op::Read);
    let slow = slow_load(ios.clone(), 8, 100, Duration::from_millis(20));
    let done = play(&mut engine(scratch.target()), slow);
    check_replay(&done);
    assert_eq!(done.total().ios, 3000);
    let starved = replay(&done);
    assert!((5..=30).contains(&starved.starved), "{}", starved.starved);
    assert!(starved.starved_for >= Nanos::from_millis(100), "{}", starved.starved_for);
    // An I/O that was decoded late was submitted late.
    assert!(starved.lateness.max >= Nanos::from_millis(100), "{}", starved.lateness.max);
    let done = play(&mut engine(scratch.target()), load(ios, 8));
    assert_eq!((replay(&done).starved, replay(&done).starved_for), (0, Nanos::ZERO));
}

/// Counts the I/Os that it has delivered, and never ends.
struct EndlessScript(Arc<AtomicU64>);

impl Script for EndlessScript {
    fn fill(&mut self, batch: &mut Vec<DueIo>) -> Result<usize, ScriptError> {
        let room = batch.capacity() - batch.len();
        let first = self.0.fetch_add(room as u64, Ordering::SeqCst);
        let of = |n| DueIo::new(Nanos(n * 100_000), Op::Read, Bytes(n % 2048 * 4096), Bytes(4096));
        batch.extend((first..first + room as u64).map(of));
        Ok(room)
    }
}

#[test]
fn an_endless_script_takes_bounded_memory_and_a_stop_ends_it() {
    let _turn = alone();
    let scratch = Scratch::new(8 * MIB);
    let delivered = Arc::new(AtomicU64::new(0));
    let mut script = load(Vec::new(), 8);
    let count = Arc::clone(&delivered);
    script.open = Some(Arc::new(move || Ok(Box::new(EndlessScript(Arc::clone(&count))))));
    script.counts.reads = u64::MAX;
    (script.reach, script.largest) = (Bytes(8 * MIB), Bytes(4096));
    let stop = StopSignal::default();
    let mut engine = Native::new(scratch.target(), stop.clone(), NativeOptions::default()).unwrap();
    let mut played = 0;
    let (mut ahead, mut end) = (0, Nanos::ZERO);
    let halt = engine.perform(&step(script), &StepStart::default(), &mut |interval| {
        played += interval.tallies.iter().map(|t| t.ios).sum::<u64>();
        ahead = delivered.load(Ordering::SeqCst) - played;
        end = interval.end;
        if end >= Nanos::from_secs(2) {
            stop.request();
        }
    });
    assert_eq!(halt, Err(Halt::Stopped));
    // 10,000 I/Os a second, without those that were late at the end.
    assert!(played >= 10_000 && played <= end.0 / 100_000 + 1, "{played} in {end}");
    let bytes = ahead * size_of::<DueIo>() as u64;
    assert!(ahead > 100_000 && bytes <= 300 * MIB, "{ahead} I/Os are {bytes} bytes");
}

#[test]
fn a_cut_script_continues_and_a_resumed_one_plays_the_rest() {
    let _turn = alone();
    let scratch = Scratch::new(16 * MIB);
    let blocks = shuffled(4000, 9);
    let ios: Vec<DueIo> = (0..4000)
        .map(|n| {
            DueIo::new(Nanos(n * 100_000), Op::Write, Bytes(blocks[n as usize] * 4096), Bytes(4096))
        })
        .collect();
    let mut native = engine(scratch.target());
    let mut step = step(load(ios, 16));
    step.cut = Some(Nanos::from_millis(150));
    let first = perform(&mut native, &step).unwrap();
    assert!(!first.complete);
    let position = replay(&first).position;
    assert!(position.time >= Nanos::from_millis(150), "{position:?}");
    assert!((first.total().ios..4000).contains(&position.ios), "{position:?}");
    // The running load continues to the end, and nothing is played twice.
    step.continues = true;
    let mut rest = 0;
    loop {
        let part = perform(&mut native, &step).unwrap();
        check_replay(&part);
        rest += part.total().ios;
        if part.complete {
            break;
        }
    }
    assert_eq!(first.total().ios + rest, 4000);
    // Another process plays what is left, no sooner than the first would have.
    drop(native);
    let mut native = engine(scratch.target());
    step.cut = None;
    let start = StepStart { script: position, ..StepStart::default() };
    let resumed = native.perform(&step, &start, &mut |_| {}).unwrap();
    check_replay(&resumed);
    assert_eq!(resumed.total().ios, 4000 - position.ios);
    let left = Nanos(3999 * 100_000).saturating_sub(position.time);
    assert!(resumed.elapsed >= left, "{} of {left}", resumed.elapsed);
    assert!(resumed.elapsed <= left + overtime_max(&resumed), "{} of {left}", resumed.elapsed);
    assert_eq!(replay(&resumed).position.ios, 4000);
}

/// Returns how much longer than its script a replay may take.
fn overtime_max(done: &Measurement) -> Nanos {
    let served = replay(done).served.iter().map(|s| s.tally.response_max).max();
    replay(done).lateness.max + served.unwrap_or(Nanos::ZERO) + Nanos::from_millis(1)
}

#[test]
fn scripts_on_two_targets_begin_at_the_same_time_or_not_at_all() {
    let _turn = alone();
    let (one, two) = (Scratch::new(8 * MIB), Scratch::new(8 * MIB));
    let ios = evenly_spaced(200, 1_000_000, Op::Read);
    let begins = monotonic() + Nanos::from_secs(3);
    let play = |scratch: &Scratch| {
        let start = StepStart { begins: Some(begins), ..StepStart::default() };
        let mut engine = engine(scratch.target());
        engine
            .perform(&step(load(ios.clone(), 4)), &start, &mut |_| {})
            .map(|done| (done, monotonic()))
    };
    let ended = std::thread::scope(|scope| {
        let other = scope.spawn(|| play(&two).unwrap());
        [play(&one).unwrap(), other.join().unwrap()]
    });
    for (done, ended) in &ended {
        check_replay(done);
        assert_eq!(done.total().ios, 200);
        let script = Nanos::from_millis(199);
        assert!(ended.saturating_sub(begins) >= script, "{ended} after {begins}");
        assert!(done.elapsed <= script + overtime_max(done), "{}", done.elapsed);
    }
    // By the wall clock, which is read only when a thread gets a processor.
    assert!(ended[0].0.began_unix_ms.abs_diff(ended[1].0.began_unix_ms) < 1000);
    let late = play(&one).unwrap_err().to_string();
    assert!(late.contains("before everything was ready"), "{late}");
}

#[test]
fn a_device_slower_than_its_script_falls_behind_more_and_more() {
    let _turn = alone();
    let Some(device) = LoopDevice::new(8 * MIB) else { return };
    let mut engine = engine(device.target());
    let Some(_throttle) = Throttle::new(&device, 100) else { return };
    // 200 I/Os per second, of which the device completes 100.
    let done = play(&mut engine, load(evenly_spaced(700, 5_000_000, Op::Read), 4));
    check_replay(&done);
    let late: Vec<f64> =
        replay(&done).intervals.iter().filter_map(|i| i.mean()).map(Nanos::as_secs_f64).collect();
    assert!(late.len() >= 5, "{late:?}");
    assert!(late.windows(2).all(|pair| pair[1] > pair[0]), "{late:?}");
    assert!(late[4] > 1.0, "{late:?}");
    let felt = done.direction(Op::Read).response_mean().unwrap();
    let served = replay(&done).served[0].tally.response_mean().unwrap();
    assert!(felt.0 > 10 * served.0, "felt {felt}, served {served}");
}

#[test]
fn discards_are_played_or_left_out_and_counted() {
    let _turn = alone();
    let scratch = Scratch::new(8 * MIB);
    let ios: Vec<DueIo> = (0..64)
        .map(|n| {
            let op = if n < 32 { Op::Write } else { Op::Discard };
            DueIo::new(Nanos(n * 1_000_000), op, Bytes(n % 32 * 65_536), Bytes(65_536))
        })
        .collect();
    for backend in [Backend::Uring, Backend::Aio, Backend::Threads] {
        let mut engine = engine_on(scratch.target(), backend);
        let mut script = load(ios.clone(), 4);
        script.leave_out.discards = true;
        let done = play(&mut engine, script);
        assert_eq!(done.direction(Op::Discard).ios, 0);
        let left_out = &replay(&done).left_out[0];
        assert_eq!((left_out.op, left_out.ios, left_out.bytes.0), (Op::Discard, 32, 2 * MIB));
        assert_eq!(written_blocks(&scratch.content(), 65_536).len(), 32, "{backend}");
        let done = play(&mut engine, load(ios.clone(), 4));
        check_replay(&done);
        assert_eq!(done.direction(Op::Discard).ios, 32);
        assert!(replay(&done).left_out.is_empty());
        assert!(written_blocks(&scratch.content(), 65_536).is_empty(), "{backend}");
    }
}

#[test]
fn a_closed_loop_ignores_due_times_and_keeps_think_times() {
    let _turn = alone();
    let scratch = Scratch::new(8 * MIB);
    let mut ios = evenly_spaced(100, 60_000_000_000, Op::Read);
    let mut script = load(ios.clone(), 4);
    script.timing = Timing::Closed;
    let mut engine = engine(scratch.target());
    let done = play(&mut engine, script);
    check_replay(&done);
    // Their due times span 99 minutes.
    assert!(done.elapsed < Nanos::from_secs(60) && done.total().ios == 100, "{}", done.elapsed);
    ios.iter_mut().for_each(|io| io.think = Nanos::from_millis(2));
    let mut script = load(ios, 1);
    script.timing = Timing::Closed;
    let done = play(&mut engine, script);
    assert!(done.elapsed >= Nanos::from_millis(200), "{}", done.elapsed);
}

#[test]
fn a_script_that_is_not_as_announced_is_refused_or_ends_the_step() {
    let _turn = alone();
    let scratch = Scratch::new(8 * MIB);
    let mut engine = engine(scratch.target());
    let ios = evenly_spaced(100, 10_000, Op::Write);
    type Change = fn(&mut ScriptLoad);
    let refused: [(&str, Change); 6] = [
        ("map its addresses", |s| s.reach = Bytes(9 * MIB)),
        ("multiples of 512 B", |s| s.unit = Bytes(256)),
        ("at most 1 GiB", |s| s.largest = Bytes(2 << 30)),
        ("no outstanding I/O", |s| s.demand = Demand::new(1, 0)),
        ("at most 4096 threads with 16384", |s| s.demand = Demand::new(2, 10_000)),
        ("reopen its source", |s| s.open = None),
    ];
    for (words, change) in refused {
        let mut script = load(ios.clone(), 4);
        change(&mut script);
        let why = engine.prepare(&step(script)).unwrap_err().0;
        assert!(why.contains(words), "{why}");
    }
    let broken: [(&str, Change); 3] = [
        ("below byte 4096", |s| s.reach = Bytes(4096)),
        ("at most 512 B", |s| s.largest = Bytes(512)),
        ("its source has changed", |s| s.counts.writes = 99),
    ];
    for (words, change) in broken {
        scratch.blank();
        let mut script = load(ios.clone(), 4);
        change(&mut script);
        let halt = perform(&mut engine, &step(script)).unwrap_err();
        assert!(halt.to_string().contains(words), "{halt}");
        assert!(written_blocks(&scratch.content(), 4096).is_empty(), "{words}");
    }
}

#[test]
fn playing_allocates_nothing() {
    let _turn = alone();
    let scratch = Scratch::new(64 * MIB);
    for backend in [Backend::Uring, Backend::Aio] {
        let mut engine = engine_on(scratch.target(), backend);
        let mut allocations = |ios: usize| {
            let before = ALLOCATIONS.load(Ordering::Relaxed);
            let mut script = load(mixed(64 * MIB)[..ios].to_vec(), 32);
            script.overlaps = OverlapRule::Order;
            play(&mut engine, script);
            ALLOCATIONS.load(Ordering::Relaxed) - before
        };
        let (few, many) = (allocations(20), allocations(10_000));
        assert!(many < few + 64, "{backend}: {few} for 20 I/Os, {many} for 10,000");
    }
}

/// Lateness of submissions on a free processor. A measurement, not a guarantee: the bounds are
/// ten times the values seen on a quiet machine, and one of three replays has to keep them.
#[test]
fn submissions_are_in_time() {
    let _turn = alone();
    let scratch = Scratch::new(8 * MIB);
    let ios = evenly_spaced(2000, 1_000_000, Op::Read);
    let is_in_time = |_| {
        let done = play(&mut engine(scratch.target()), load(ios.clone(), 8));
        let late = &replay(&done).lateness.histogram;
        let [half, most] = [0.5, 0.99].map(|q| late.reportable_percentile(q).unwrap());
        eprintln!("lateness p50 {half}, p99 {most}");
        half <= Nanos(20_000) && most <= Nanos(200_000)
    };
    if (0..3).any(is_in_time) {
        return;
    }
    let busy = std::fs::read_to_string("/proc/loadavg").unwrap();
    let busy: f64 = busy.split(' ').next().unwrap().parse().unwrap();
    // The load lags behind, and leaves out the processor time that a hypervisor takes away.
    assert!(busy > 0.5, "late three times on a machine that is not busy (load {busy})");
    skipped::<()>(&format!("the machine is busy (load {busy})"));
}
