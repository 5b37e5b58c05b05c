//! Durable writes and open loops on the exact drive, against closed formulas.

use super::*;
use steadfast_domain::stimulus::{LoadLimits, Pace};

/// Controller time, time of 4 KiB on the link, and additional time of a flush.
const COMMAND: u64 = 100_000;
const LINK: u64 = 4_000;
const FLUSH: u64 = COMMAND + 2_000_000;

fn exact(fault: Option<SimFault>) -> SimulatedSsd {
    let spec = DriveSpec { fault, ..drive("exact").unwrap().clone() };
    SimulatedSsd::new(&spec, 1, StopSignal::default())
}

fn load(pattern: &str, demand: &str, until: LoadLimits) -> Stimulus {
    tests::load(pattern, demand, drive("exact").unwrap(), until, 0)
}

#[test]
fn a_commit_takes_the_write_and_its_flush() {
    let m = exact(None).run(load("RND 4K W FLUSH/1", "T1Q1", LoadLimits::ios(500)));
    let (writes, flushes) = (m.direction(Op::Write), m.direction(Op::Flush));
    assert_eq!((writes.ios, flushes.ios, writes.bytes), (500, 500, Bytes(500 * 4096)));
    let commit = Nanos(COMMAND + LINK + FLUSH);
    assert_eq!((writes.response_min, writes.response_max), (Some(commit), commit));
    assert_eq!(flushes.response_min, Some(Nanos(FLUSH)));
    let alone = m.writes_alone.unwrap();
    assert_eq!((alone.ios, alone.response_mean()), (500, Some(Nanos(COMMAND + LINK))));
    assert_eq!(m.elapsed, Nanos(500 * (COMMAND + LINK + FLUSH)));
    let plain = exact(None).run(load("RND 4K W", "T1Q1", LoadLimits::ios(500)));
    assert_eq!(plain.total().response_mean(), Some(Nanos(COMMAND + LINK)));
    assert_eq!(plain.writes_alone, None);
}

/// Sixteen writers share one flush: the last of them is written after 16 commands.
#[test]
fn a_group_commits_with_one_flush() {
    let m = exact(None).run(load("RND 4K W FLUSH/16", "T1Q16", LoadLimits::ios(1600)));
    let (writes, flushes) = (m.direction(Op::Write), m.direction(Op::Flush));
    assert_eq!((writes.ios, flushes.ios), (1600, 100));
    let commit = Nanos(16 * COMMAND + LINK + FLUSH);
    assert_eq!((writes.response_min, writes.response_max), (Some(commit), commit));
    assert_eq!(m.elapsed, Nanos(100 * commit.0));
}

#[test]
fn writes_left_at_the_limit_are_flushed() {
    let m = exact(None).run(load("SEQ 4K W FLUSH/32", "T1Q4", LoadLimits::ios(70)));
    assert_eq!((m.direction(Op::Write).ios, m.direction(Op::Flush).ios), (70, 3));
    let m = exact(None).run(load("RND 4K RW50 FLUSH/3", "T2Q4", LoadLimits::ios(1000)));
    assert_eq!(m.total().ios, 1000);
    assert_eq!(m.writes_alone.as_ref().unwrap().ios, m.direction(Op::Write).ios);
}

/// The end of the time comes in the middle of a commit, which counts with its full time: during
/// its write, whose flush begins after the end, and during its flush.
#[test]
fn a_commit_outstanding_at_the_end_has_its_whole_time() {
    let commit = COMMAND + LINK + FLUSH;
    for (into, alone_ios, flushes_outstanding) in [(50_000, 10, 0), (COMMAND + LINK + 1, 11, 1)] {
        let until = LoadLimits::time(Nanos(10 * commit + into));
        let m = exact(None).run(load("RND 4K W FLUSH/1", "T1Q1", until));
        let (writes, flushes) = (m.direction(Op::Write), m.direction(Op::Flush));
        assert_eq!((writes.ios, writes.outstanding), (10, 1), "{into}");
        assert_eq!(writes.response_min, Some(writes.response_max));
        assert_eq!((flushes.ios, flushes.outstanding), (10, flushes_outstanding), "{into}");
        assert_eq!(
            (flushes.response_min, flushes.response_max),
            (Some(Nanos(FLUSH)), Nanos(FLUSH))
        );
        let alone = m.writes_alone.unwrap();
        assert_eq!((alone.ios, alone.responses()), (alone_ios, 11), "{into}");
        assert_eq!(alone.response_max, Nanos(COMMAND + LINK));
        let late: Vec<_> = m.unmeasured.iter().map(|part| (part.op, part.ios)).collect();
        assert_eq!(late, [(Op::Write, 1), (Op::Flush, 1)], "{into}");
    }
}

/// M/D/1: Poisson arrivals at one server of constant time wait rho / (2 mu (1 - rho)) on average.
#[test]
fn open_loop_waiting_times_are_those_of_m_d_1() {
    let loads = [(10, 400_000), (30, 600_000), (50, 1_000_000), (70, 2_000_000), (90, 3_000_000)];
    for (percent, ios) in loads {
        let pace = Pace::Poisson { ios: 100 * percent, per: Nanos::SECOND };
        let m = exact(None).run(load("RND 4K R", "T1Q1024", LoadLimits::ios(ios)).pace(pace));
        let mean = m.total().response_sum.0 as f64 / ios as f64;
        let rho = percent as f64 / 100.0;
        let expected = rho / (2.0 * (1.0 - rho)) * COMMAND as f64;
        let waited = mean - (COMMAND + LINK) as f64;
        assert!((waited / expected - 1.0).abs() < 0.02, "{percent} %: {waited} {expected}");
    }
}

/// One stall of 200 ms in every 10 s. An I/O that is due t after its beginning waits 200 ms - t and
/// for the t * rate I/Os before it, at 1,000 I/Os per second in all 200 ms - 0.9 t.
#[test]
fn a_stall_shows_in_the_tail_of_an_open_loop() {
    let stalls = SimFault::Stalls { every: Nanos::from_secs(10), lasts: Nanos::from_millis(200) };
    let total = |demand: &str, pace: Pace| {
        let until = LoadLimits::time(Nanos::from_secs(1000));
        exact(Some(stalls)).run(load("RND 4K R", demand, until).pace(pace)).total()
    };
    let open = total("T1Q1024", Pace::Fixed { ios: 1000, per: Nanos::SECOND });
    // 99 stalls in 1,000 s: the share beyond x is (200 ms - x) / 0.9 * 99 / 1,000 s.
    let at = |share: f64| 200.0 - share * 1e6 / 99.0 * 0.9;
    for fraction in [0.99, 0.999] {
        let found = open.percentile(fraction).unwrap().as_millis_f64();
        let expected = at(1.0 - fraction);
        assert!((found / expected - 1.0).abs() < 0.01, "{fraction}: {found} {expected}");
    }
    assert_eq!(open.response_max, Nanos(200_000_000 + COMMAND + LINK));
    // A closed loop of one I/O meets each stall once, and its tail hides them.
    let closed = total("T1Q1", Pace::Closed);
    assert!(closed.percentile(0.9999).unwrap() < Nanos(110_000));
}
