//! Start errors of paced loads on real files.

use super::*;

/// Every I/O of a load of a known number has a start error, whatever submits it.
#[test]
fn every_io_with_a_due_time_has_a_start_error() {
    let _turn = alone();
    let scratch = Scratch::new(8 << 20);
    for backend in [Backend::Uring, Backend::Aio, Backend::Threads] {
        let mut engine = engine_on(scratch.target(), backend);
        for pace in [Pace::Fixed { ios: 50_000, per: Nanos::SECOND }, Pace::poisson(50_000.0)] {
            let load = stimulus("RND 4K RW50", "T2Q16", 8 << 20, LoadLimits::ios(PRIME));
            let done = apply(&mut engine, load.pace(pace.clone()));
            let error = done.start_error.as_ref().unwrap();
            assert_eq!((error.ios(), done.total().ios), (PRIME, PRIME), "{backend} {pace:?}");
            assert!(error.p50() <= error.p99() && error.p99() <= Some(error.max), "{error:?}");
            // The response time begins when the I/O is due.
            assert!(error.max <= done.total().response_max, "{error:?}");
        }
        let closed = stimulus("RND 4K R", "T2Q16", 8 << 20, LoadLimits::ios(PRIME));
        assert_eq!(apply(&mut engine, closed).start_error, None);
    }
    let commits = stimulus("RND 4K W FLUSH/7", "T1Q8", 8 << 20, LoadLimits::ios(1009));
    let done = apply(&mut engine(scratch.target()), commits.pace(Pace::poisson(20_000.0)));
    assert_eq!(done.start_error.unwrap().ios(), 1009, "one of each write, none of a flush");
}

/// With one slot and reads of 1 MiB at a rate that nothing serves, the queue grows without end; the
/// thread is punctual all the same.
#[test]
fn a_device_that_is_too_slow_is_no_late_program() {
    let _turn = alone();
    let scratch = Scratch::new(8 << 20);
    for backend in [Backend::Uring, Backend::Aio, Backend::Threads] {
        let load = stimulus("RND 1024K R", "T1Q1", 8 << 20, for_millis(400))
            .pace(Pace::Fixed { ios: 900_000, per: Nanos::SECOND });
        let step = alone_step(load.clone());
        let done = apply(&mut engine_on(scratch.target(), backend), load);
        assert_eq!(done.kept_up(&step.load.stimulus().unwrap().pace), Some(false), "{backend}");
        let mean = done.total().response_mean().unwrap();
        assert!(mean > Nanos::from_millis(50), "{backend}: {mean}");
        let error = done.start_error.as_ref().unwrap();
        assert!(error.p50().unwrap().0 < mean.0 / 100, "{backend}: {error:?}, mean {mean}");
        assert!(!done.has_high_start_error(&step.load), "{backend}: {error:?}");
    }
}
