//! Noticing that the program itself stood still: stopped by a signal, frozen
//! with its control group, suspended with its machine, or paused with it.
//!
//! A thread that asked to be woken and wakes much later than it asked has either
//! waited for a processor, which the kernel keeps account of, or could not run
//! at all. The first is a busy machine, on which other threads may well have
//! run, and is no stall. What is left is one, as far as no thread that does
//! I/O was seen to run meanwhile. That a device is slow shows in none of it.

use std::time::Duration;
use steadfast_domain::measurement::Stall;
use steadfast_domain::{Halt, Measurement, Nanos, Step, measurement::Stalling};
use steadfast_host::RunQueueTime;

/// A thread that wakes this late has stood still; so has one that did not look
/// at the clock for so long. Timers are late by less, also on virtual machines.
pub(crate) const LATE: Duration = Duration::from_millis(50);

/// Watches over one thread's waits.
#[derive(Debug)]
pub(crate) struct Watchdog {
    run_queue: RunQueueTime,
}

/// A wait that ended too late.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Late {
    /// When it should have ended, and when it did.
    pub due: u64,
    pub woke: u64,
    /// How much of that the thread waited for a processor.
    pub queued: u64,
    /// How long the machine was suspended, which not every clock counts.
    pub suspended: u64,
}

impl Watchdog {
    /// For the waits of the calling thread.
    pub(crate) fn new() -> Watchdog {
        Watchdog { run_queue: RunQueueTime::of_this_thread() }
    }

    /// Waits, and tells if that took much longer than `time`. `now` is in
    /// nanoseconds.
    pub(crate) fn over<R>(
        &self,
        time: Duration,
        now: impl Fn() -> u64,
        wait: impl FnOnce() -> R,
    ) -> (R, Option<Late>) {
        let queued = self.run_queue.nanos();
        // In such an order that a pause between two clocks never adds to the
        // time that the machine was suspended.
        let (monotonic, boot) = (nanos_of(libc::CLOCK_MONOTONIC), nanos_of(libc::CLOCK_BOOTTIME));
        let begun = now();
        let result = wait();
        let woke = now();
        let boot = nanos_of(libc::CLOCK_BOOTTIME).saturating_sub(boot);
        let suspended =
            boot.saturating_sub(nanos_of(libc::CLOCK_MONOTONIC).saturating_sub(monotonic));
        let due = begun.saturating_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        let late = Duration::from_nanos(woke.saturating_sub(due).max(suspended)) >= LATE;
        let late = late.then(|| {
            let waited = || Some(self.run_queue.nanos()?.saturating_sub(queued?));
            Late { due, woke, queued: waited().unwrap_or(0), suspended }
        });
        (result, late)
    }
}

impl Late {
    /// The part of a measured time, from `begin` to `end`, in which nobody could
    /// run; in `idle` nanoseconds of the delay, no thread that does I/O was seen
    /// to.
    pub(crate) fn stall(&self, idle: u64, (begin, end): (u64, u64)) -> Option<Stall> {
        let late = self.woke.min(end).saturating_sub(self.due.max(begin));
        let lasted = idle.min(late).saturating_sub(self.queued).max(self.suspended);
        let at = Nanos(self.due.saturating_sub(begin));
        (u128::from(lasted) >= LATE.as_nanos()).then_some(Stall { at, lasted: Nanos(lasted) })
    }
}

/// The part of a time without a look at the clock that lies in a wait's delay.
pub(crate) fn overlap((from, to): (u64, u64), late: &Late) -> u64 {
    to.min(late.woke).saturating_sub(from.max(late.due))
}

fn nanos_of(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec to write to.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The measurement, unless it was stalled for so long that its step is void.
pub(crate) fn unless_void(measurement: Measurement, step: &Step) -> Result<Measurement, Halt> {
    if measurement.stalling() != Stalling::Void {
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
    fn a_wait_that_ends_in_time_is_nothing_and_a_late_one_is_told() {
        let clock = Cell::new(1_000 * MS);
        let waited = |takes: u64| {
            let wait = || clock.set(clock.get() + takes * MS);
            Watchdog::new().over(Duration::from_millis(50), || clock.get(), wait).1
        };
        assert_eq!(waited(50), None);
        assert_eq!(waited(20), None);
        assert_eq!(waited(99), None);
        let late = waited(2_050).unwrap();
        assert_eq!((late.woke - late.due, late.suspended), (2_000 * MS, 0));
    }

    #[test]
    fn only_what_is_left_of_a_delay_is_a_stall() {
        let late = Late { due: 10_000 * MS, woke: 13_000 * MS, queued: 0, suspended: 0 };
        let lasted = |late: Late, idle: u64| {
            late.stall(idle * MS, (4_000 * MS, u64::MAX)).map(|s| s.lasted.0)
        };
        assert_eq!(late.stall(u64::MAX, (4_000 * MS, u64::MAX)).unwrap().at, Nanos::from_secs(6));
        assert_eq!(lasted(late, 9_999), Some(3_000 * MS));
        // The threads that do I/O ran for a part of it, or nearly all of it.
        assert_eq!(lasted(late, 1_000), Some(1_000 * MS));
        assert_eq!(lasted(late, 40), None);
        // A busy machine: the thread stood in the queue all the time.
        let busy = Late { queued: 2_990 * MS, ..late };
        assert_eq!(lasted(busy, 9_999), None);
        // The measured time began or ended within.
        let within = late.stall(u64::MAX, (11_000 * MS, 12_500 * MS)).unwrap();
        assert_eq!((within.at, within.lasted), (Nanos::ZERO, Nanos(1_500 * MS)));
        // Suspended: some clocks stand still.
        let asleep = Late { woke: late.due, suspended: 8_000 * MS, ..late };
        assert_eq!(lasted(asleep, 0), Some(8_000 * MS));
    }

    #[test]
    fn overlaps_are_cut_to_the_delay() {
        let late = Late { due: 100, woke: 200, queued: 0, suspended: 0 };
        for (time, expected) in
            [((0, 50), 0), ((50, 150), 50), ((120, 130), 10), ((0, u64::MAX), 100), ((250, 300), 0)]
        {
            assert_eq!(overlap(time, &late), expected, "{time:?}");
        }
    }
}
