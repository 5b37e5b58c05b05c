//! Detection of stalls of the program itself: stopped by a signal, frozen with its control group,
//! or suspended or paused with its machine.
//!
//! A thread that wakes much later than requested has either waited for a processor, which the
//! kernel accounts for, or could not run at all. The first means a busy machine, where other
//! threads may well have run, and is no stall. The rest of the delay is a stall, as far as no
//! thread that does I/O was seen to run meanwhile. A slow device causes neither.

use std::ops::Range;
use std::time::Duration;
use steadfast_domain::measurement::Stall;
use steadfast_domain::{Halt, Measurement, Nanos, Step, measurement::StallEffect};
use steadfast_host::RunQueueTime;

/// A thread that wakes this late, or has not read the clock for this long, was stalled.
/// Timers are late by less, on virtual machines too.
pub(crate) const STALL_MIN: Duration = Duration::from_millis(50);

/// Detects late wake-ups of one thread.
#[derive(Debug)]
pub(crate) struct Watchdog {
    run_queue: RunQueueTime,
}

/// A wait that ended too late; times in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LateWakeup {
    /// Time at which it should have ended.
    pub due: u64,
    /// Time at which it ended.
    pub woke: u64,
    /// Part of the delay that the thread waited for a processor.
    pub queued: u64,
    /// Time that the machine was suspended, which not every clock counts.
    pub suspended: u64,
}

impl Watchdog {
    /// Creates a watchdog for the waits of the calling thread.
    pub(crate) fn new() -> Watchdog {
        Watchdog { run_queue: RunQueueTime::of_this_thread() }
    }

    /// Waits, and returns the delay if the wait took much longer than `time`. `now` returns
    /// nanoseconds.
    pub(crate) fn observe<R>(
        &self,
        time: Duration,
        now: impl Fn() -> u64,
        wait: impl FnOnce() -> R,
    ) -> (R, Option<LateWakeup>) {
        let queued = self.run_queue.nanos();
        // The clocks are read in an order in which a pause between two readings never adds to the
        // suspended time.
        let (monotonic, boot) = (clock_ns(libc::CLOCK_MONOTONIC), clock_ns(libc::CLOCK_BOOTTIME));
        let begun = now();
        let result = wait();
        let woke = now();
        let boot = clock_ns(libc::CLOCK_BOOTTIME).saturating_sub(boot);
        let suspended =
            boot.saturating_sub(clock_ns(libc::CLOCK_MONOTONIC).saturating_sub(monotonic));
        let due = begun.saturating_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        if Duration::from_nanos(woke.saturating_sub(due).max(suspended)) < STALL_MIN {
            return (result, None);
        }
        let waited = self.run_queue.nanos().zip(queued);
        let queued = waited.map_or(0, |(now, before)| now.saturating_sub(before));
        (result, Some(LateWakeup { due, woke, queued, suspended }))
    }
}

impl LateWakeup {
    /// Returns the stall within a measured time: the part of the delay in which nothing could run.
    /// `idle` is the part of the delay, in nanoseconds, in which no thread that does I/O was seen
    /// to run.
    pub(crate) fn stall(&self, idle: u64, measured: Range<u64>) -> Option<Stall> {
        let begin = measured.start;
        let lasted =
            idle.min(self.overlap(measured)).saturating_sub(self.queued).max(self.suspended);
        let at = Nanos(self.due.saturating_sub(begin));
        (u128::from(lasted) >= STALL_MIN.as_nanos()).then_some(Stall { at, lasted: Nanos(lasted) })
    }

    /// Returns the part of the delay, in nanoseconds, that lies in a time.
    pub(crate) fn overlap(&self, time: Range<u64>) -> u64 {
        time.end.min(self.woke).saturating_sub(time.start.max(self.due))
    }
}

/// Returns the time of a clock in nanoseconds.
#[inline]
pub(crate) fn clock_ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec to write to.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Returns the measurement, or [`Halt::Stalled`] if stalls make its step void.
pub(crate) fn refuse_void(measurement: Measurement, step: &Step) -> Result<Measurement, Halt> {
    if measurement.stalling() != StallEffect::Void {
        return Ok(measurement);
    }
    let (stalled, elapsed) = (measurement.stalled(), measurement.elapsed);
    Err(Halt::Stalled { place: step.place.to_string(), stalled, elapsed })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    const MS: u64 = 1_000_000;

    #[test]
    fn only_a_late_wakeup_is_reported() {
        let clock = Cell::new(1_000 * MS);
        let waited = |takes: u64| {
            let wait = || clock.set(clock.get() + takes * MS);
            Watchdog::new().observe(Duration::from_millis(50), || clock.get(), wait).1
        };
        assert_eq!(waited(50), None);
        assert_eq!(waited(20), None);
        assert_eq!(waited(99), None);
        let late = waited(2_050).unwrap();
        assert_eq!((late.woke - late.due, late.suspended), (2_000 * MS, 0));
    }

    #[test]
    fn a_stall_is_the_unexplained_part_of_a_delay() {
        let late = LateWakeup { due: 10_000 * MS, woke: 13_000 * MS, queued: 0, suspended: 0 };
        let lasted = |late: LateWakeup, idle: u64| {
            late.stall(idle * MS, 4_000 * MS..u64::MAX).map(|s| s.lasted.0)
        };
        assert_eq!(late.stall(u64::MAX, 4_000 * MS..u64::MAX).unwrap().at, Nanos::from_secs(6));
        assert_eq!(lasted(late, 9_999), Some(3_000 * MS));
        // The threads that do I/O ran for a part of the delay, or nearly all of it.
        assert_eq!(lasted(late, 1_000), Some(1_000 * MS));
        assert_eq!(lasted(late, 40), None);
        // A busy machine: the thread was runnable but not scheduled nearly all the time.
        let busy = LateWakeup { queued: 2_990 * MS, ..late };
        assert_eq!(lasted(busy, 9_999), None);
        // The measured time began or ended within the delay.
        let within = late.stall(u64::MAX, 11_000 * MS..12_500 * MS).unwrap();
        assert_eq!((within.at, within.lasted), (Nanos::ZERO, Nanos(1_500 * MS)));
        // Suspended: some clocks do not advance.
        let asleep = LateWakeup { woke: late.due, suspended: 8_000 * MS, ..late };
        assert_eq!(lasted(asleep, 0), Some(8_000 * MS));
    }

    #[test]
    fn overlaps_are_cut_to_the_delay() {
        let late = LateWakeup { due: 100, woke: 200, queued: 0, suspended: 0 };
        for (time, expected) in
            [(0..50, 0), (50..150, 50), (120..130, 10), (0..u64::MAX, 100), (250..300, 0)]
        {
            assert_eq!(late.overlap(time.clone()), expected, "{time:?}");
        }
    }
}
