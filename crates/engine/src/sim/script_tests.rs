//! Scripts in virtual time, where every time is known in advance.

use super::*;
use crate::play::tests::listed;
use steadfast_domain::script::{OverlapRule, Timing};
use steadfast_domain::step::StepPlace;
use steadfast_domain::{DueIo, ReplayResult};

fn ssd(name: &str) -> SimulatedSsd {
    SimulatedSsd::new(drive(name).unwrap(), 1, StopSignal::default())
}

fn step(load: ScriptLoad) -> Step {
    Step::alone(StepPlace::new("replay", 0, 1, "list"), Load::Script(load))
}

fn io(due: u64, op: Op, block: u64) -> DueIo {
    DueIo::new(Nanos(due), op, Bytes(block * 4096), Bytes(4096))
}

fn replay(done: &Measurement) -> &ReplayResult {
    done.replay.as_ref().unwrap()
}

/// 10,007 I/Os, one every 200 µs.
fn calm() -> Vec<DueIo> {
    let op = |n: u64| if n.is_multiple_of(3) { Op::Write } else { Op::Read };
    (0..10_007).map(|n| io(n * 200_000, op(n), n * 37 % 5000)).collect()
}

#[test]
fn a_drive_that_keeps_up_is_never_late_and_nothing_drifts() {
    let mut ssd = ssd("small");
    let (ios, span) = (calm(), 10_006 * 200_000);
    let done = ssd.run(Load::Script(listed(&ios, 64)));
    let replay = replay(&done);
    assert!(done.complete);
    assert_eq!((replay.lateness.ios, replay.lateness.max), (10_007, Nanos::ZERO));
    assert_eq!(replay.position.ios, 10_007);
    assert_eq!(done.direction(Op::Write).ios, 3336);
    assert_eq!(replay.served, done.streams);
    // The last I/O was submitted at its due time, to the nanosecond.
    let longest = done.streams.iter().map(|s| s.tally.response_max.0).max().unwrap();
    assert!((span..=span + longest).contains(&done.elapsed.0), "{}", done.elapsed.0);
    assert!(done.elapsed.0 - span < 1_000_000, "drift at the end");
    assert_eq!(replay.intervals.len(), done.intervals.len());
    // The result is the same every time.
    assert_eq!(self::ssd("small").run(Load::Script(listed(&ios, 64))), done);
}

#[test]
fn faster_is_a_division_of_every_due_time() {
    let ios = calm();
    let mut load = listed(&ios, 64);
    load.timing = Timing::Faster { thousandths: 2000 };
    let done = ssd("small").run(Load::Script(load));
    let longest = done.streams.iter().map(|s| s.tally.response_max.0).max().unwrap();
    let span = 10_006 * 100_000;
    assert!((span..=span + longest).contains(&done.elapsed.0), "{}", done.elapsed.0);
}

#[test]
fn a_drive_that_is_too_slow_is_later_every_second() {
    // One I/O at a time, and twice as many as the drive can do.
    let mut one = listed(&calm()[..2000], 1);
    one.timing = Timing::Closed;
    let alone = ssd("small").run(Load::Script(one));
    let each = alone.elapsed.0 / 2000;
    let ios: Vec<DueIo> = (0..60_000).map(|n| io(n * each / 2, Op::Read, n % 5000)).collect();
    let done = ssd("small").run(Load::Script(listed(&ios, 1)));
    let late: Vec<u64> =
        replay(&done).intervals.iter().filter_map(|i| i.mean()).map(|mean| mean.0).collect();
    assert!(late.len() > 2 && late.windows(2).all(|pair| pair[1] > pair[0]), "{late:?}");
    let felt = done.streams[0].tally.response_sum.0;
    let served = replay(&done).served[0].tally.response_sum.0;
    assert_eq!(felt, served + replay(&done).lateness.sum.0);
}

#[test]
fn cuts_and_a_resumed_script_play_every_io_once() {
    let ios = calm();
    let mut ssd = ssd("small");
    let mut step = step(listed(&ios, 8));
    step.cut = Some(Nanos::from_millis(700));
    let mut parts = Vec::new();
    loop {
        parts.push(ssd.attempt(&step).unwrap());
        step.continues = true;
        if parts.last().unwrap().complete {
            break;
        }
    }
    assert_eq!(parts.iter().map(|part| part.total().ios).sum::<u64>(), 10_007);
    let position = replay(&parts[0]).position;
    assert_eq!((position.time, position.ios), (Nanos::from_millis(700), 3500));
    let start = StepStart { script: position, ..StepStart::default() };
    step.cut = None;
    let rest = self::ssd("small").perform(&step, &start, &mut |_| {}).unwrap();
    assert_eq!(rest.total().ios, 10_007 - 3500);
    assert_eq!(replay(&rest).lateness.max, Nanos::ZERO);
    // The first of them was due 700 ms after the start, and is submitted at once.
    assert_eq!(rest.elapsed.0 / 1_000_000, (10_006 * 200_000 - 700_000_000) / 1_000_000);
}

#[test]
fn a_script_begins_at_its_agreed_time() {
    let mut ssd = ssd("small");
    let start = StepStart { begins: Some(Nanos::from_secs(5)), ..StepStart::default() };
    let ios: Vec<DueIo> = (0..100).map(|n| io(n * 1_000_000, Op::Read, n)).collect();
    let done = ssd.perform(&step(listed(&ios, 8)), &start, &mut |_| {}).unwrap();
    assert_eq!(done.began_unix_ms, VIRTUAL_EPOCH_UNIX_MS + 5000);
    assert_eq!(replay(&done).lateness.max, Nanos::ZERO);
    assert!(ssd.now() >= Nanos::from_millis(5099), "{}", ssd.now());
    let late = ssd.perform(&step(listed(&ios, 8)), &start, &mut |_| {}).unwrap_err().to_string();
    assert!(late.contains("allow more time"), "{late}");
}

#[test]
fn overlaps_wait_for_one_another_if_requested() {
    // Writes to one block that the drive does not complete in a microsecond.
    let ios: Vec<DueIo> = (0..50).map(|n| io(n * 1000, Op::Write, 7)).collect();
    let mut load = listed(&ios, 64);
    let overlapping = ssd("small").run(Load::Script(load.clone()));
    assert_eq!((replay(&overlapping).overlaps, replay(&overlapping).held), (49, 0));
    load.overlaps = OverlapRule::Order;
    let ordered = ssd("small").run(Load::Script(load));
    assert_eq!(replay(&ordered).held, 49);
    assert!(ordered.elapsed > overlapping.elapsed);
    assert_eq!(replay(&ordered).lateness.ios, 50);
}

#[test]
fn unsupported_scripts_are_refused_and_unannounced_ios_end_the_step() {
    let ios: Vec<DueIo> = (0..50).map(|n| io(n * 1000, Op::Write, n)).collect();
    let mut ssd = ssd("small");
    type Change = fn(&mut ScriptLoad);
    let cases: [(&str, Change); 4] = [
        ("map its addresses", |s| s.reach = Bytes(1 << 60)),
        ("multiples of 512 B", |s| s.unit = Bytes(100)),
        ("outstanding I/Os", |s| s.demand = Demand::new(2, 65_536)),
        ("at most 64 MiB", |s| s.largest = Bytes::mib(65)),
    ];
    for (words, change) in cases {
        let mut load = listed(&ios, 4);
        change(&mut load);
        let why = ssd.prepare(&step(load)).unwrap_err().0;
        assert!(why.contains(words), "{why}");
    }
    let mut load = listed(&ios, 4);
    load.counts.writes = 51;
    let halt = ssd.attempt(&step(load)).unwrap_err();
    assert!(halt.to_string().contains("its source has changed"), "{halt}");
}
