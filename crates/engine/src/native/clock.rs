//! The clock that response times are read from.
//!
//! The processor's time-stamp counter (TSC), calibrated against `CLOCK_MONOTONIC`, if it runs at
//! one rate (an invariant TSC); otherwise `CLOCK_MONOTONIC` itself. Reading the TSC takes 8 ns,
//! reading `CLOCK_MONOTONIC` 25 ns.

use crate::stall::clock_ns;
use std::sync::OnceLock;
use std::time::Duration;

/// The time source of response times. It counts ticks, which convert to nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    /// Nanoseconds per tick, times 2^32.
    scale: u64,
    /// True if ticks come from the TSC, false if from `CLOCK_MONOTONIC`.
    is_tsc: bool,
}

/// Length of each of the two calibration intervals.
const CALIBRATION_INTERVAL: Duration = Duration::from_millis(10);

/// Maximum difference between the rates of the two intervals, in parts per million.
const RATE_TOLERANCE_PPM: u64 = 100;

impl Clock {
    /// Returns the clock of this process; the first call takes 20 ms if there is an
    /// invariant TSC to calibrate.
    pub(super) fn get() -> Clock {
        static CLOCK: OnceLock<Clock> = OnceLock::new();
        *CLOCK.get_or_init(|| calibrated_tsc().unwrap_or(Clock::monotonic()))
    }

    /// Returns `CLOCK_MONOTONIC` as a clock whose ticks are nanoseconds.
    pub(super) fn monotonic() -> Clock {
        Clock { scale: 1 << 32, is_tsc: false }
    }

    #[inline(always)]
    pub(super) fn ticks(self) -> u64 {
        if self.is_tsc { read_tsc() } else { monotonic_ns() }
    }

    /// Converts ticks to nanoseconds.
    #[inline(always)]
    pub(super) fn nanos(self, ticks: u64) -> u64 {
        ((u128::from(ticks) * u128::from(self.scale)) >> 32) as u64
    }

    /// Converts nanoseconds to ticks; saturates at `u64::MAX`.
    pub(super) fn ticks_in(self, nanos: u64) -> u64 {
        u64::try_from((u128::from(nanos) << 32) / u128::from(self.scale)).unwrap_or(u64::MAX)
    }

    pub(super) fn name(self) -> &'static str {
        if self.is_tsc { "TSC clock" } else { "CLOCK_MONOTONIC (no invariant TSC)" }
    }
}

#[inline]
fn monotonic_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC)
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn read_tsc() -> u64 {
    // SAFETY: every x86-64 processor has RDTSC, and Linux permits it in user mode unless the
    // process has disabled it (PR_SET_TSC).
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn read_tsc() -> u64 {
    // Never used: `tsc_is_invariant` is false on this architecture.
    0
}

#[cfg(target_arch = "x86_64")]
fn tsc_is_invariant() -> bool {
    use std::arch::x86_64::__cpuid;
    const ADVANCED_POWER_MANAGEMENT: u32 = 0x8000_0007;
    const INVARIANT_TSC: u32 = 1 << 8;
    __cpuid(0x8000_0000).eax >= ADVANCED_POWER_MANAGEMENT
        && __cpuid(ADVANCED_POWER_MANAGEMENT).edx & INVARIANT_TSC != 0
}

#[cfg(not(target_arch = "x86_64"))]
fn tsc_is_invariant() -> bool {
    false
}

/// Returns the calibrated TSC; `None` if it is not invariant or its rate varies.
fn calibrated_tsc() -> Option<Clock> {
    if !tsc_is_invariant() {
        return None;
    }
    let begin = ClockPair::now();
    std::thread::sleep(CALIBRATION_INTERVAL);
    let middle = ClockPair::now();
    std::thread::sleep(CALIBRATION_INTERVAL);
    let end = ClockPair::now();
    let first_half = begin.scaled_rate_until(middle)?;
    let second_half = middle.scaled_rate_until(end)?;
    let agrees = first_half.abs_diff(second_half) <= first_half / 1_000_000 * RATE_TOLERANCE_PPM;
    agrees.then_some(Clock { scale: begin.scaled_rate_until(end)?, is_tsc: true })
}

/// The TSC and the monotonic clock at the same moment.
#[derive(Debug, Clone, Copy, Default)]
struct ClockPair {
    ticks: u64,
    nanos: u64,
}

impl ClockPair {
    /// Reads both clocks several times and returns the reading that took the least time.
    fn now() -> ClockPair {
        let mut best = ClockPair::default();
        let mut shortest = u64::MAX;
        for _ in 0..32 {
            let before = read_tsc();
            let nanos = monotonic_ns();
            let duration = read_tsc().wrapping_sub(before);
            if duration < shortest {
                shortest = duration;
                // The monotonic clock was read between the two readings of the TSC: assume halfway.
                best = ClockPair { ticks: before.wrapping_add(duration / 2), nanos };
            }
        }
        best
    }

    /// Returns the nanoseconds per tick from this moment to `end`, times 2^32; `None` if a clock
    /// did not advance.
    fn scaled_rate_until(self, end: ClockPair) -> Option<u64> {
        let ticks = end.ticks.checked_sub(self.ticks).filter(|ticks| *ticks > 0)?;
        let nanos = end.nanos.checked_sub(self.nanos).filter(|nanos| *nanos > 0)?;
        let scale = (u128::from(nanos) << 32) / u128::from(ticks);
        u64::try_from(scale).ok().filter(|scale| *scale > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_agrees_with_the_monotonic_clock() {
        let clock = Clock::get();
        let (ticks, nanos) = (clock.ticks(), monotonic_ns());
        std::thread::sleep(Duration::from_millis(50));
        let measured = clock.nanos(clock.ticks() - ticks) as f64;
        let expected = (monotonic_ns() - nanos) as f64;
        assert!((measured / expected - 1.0).abs() < 0.01, "{measured} against {expected}");
    }

    #[test]
    fn ticks_and_nanoseconds_convert_back_and_forth() {
        for clock in [Clock::get(), Clock::monotonic()] {
            for nanos in [1_000, 1_000_000_000, 86_400_000_000_000] {
                let back = clock.nanos(clock.ticks_in(nanos));
                assert!(back.abs_diff(nanos) <= 2 + nanos / 1_000_000_000, "{nanos} {back}");
            }
        }
    }
}
