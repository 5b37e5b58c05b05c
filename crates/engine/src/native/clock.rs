//! The clock that response times are read from.
//!
//! It is the processor's time-stamp counter if that always runs at one rate (an invariant TSC),
//! scaled against `CLOCK_MONOTONIC`, and otherwise that clock itself. A reading costs 8 ns
//! against 25 ns.

use crate::stall::clock_ns;
use std::sync::OnceLock;
use std::time::Duration;

/// Reads time in ticks and converts ticks to nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    /// Nanoseconds per tick, times 2^32.
    scale: u64,
    /// True if it is the counter, false if it is `CLOCK_MONOTONIC`.
    is_counter: bool,
}

/// Time for which the counter is watched, twice, before it is trusted.
const CALIBRATION: Duration = Duration::from_millis(10);

/// Maximum difference between the two halves of a calibration, in parts per million.
const AGREEMENT_PPM: u64 = 100;

impl Clock {
    /// Returns the clock of this process; the first call takes 20 ms to calibrate it.
    pub(super) fn get() -> Clock {
        static CLOCK: OnceLock<Clock> = OnceLock::new();
        *CLOCK.get_or_init(|| calibrated_counter().unwrap_or(Clock::monotonic()))
    }

    /// Returns `CLOCK_MONOTONIC` as a clock whose ticks are nanoseconds.
    pub(super) fn monotonic() -> Clock {
        Clock { scale: 1 << 32, is_counter: false }
    }

    #[inline(always)]
    pub(super) fn ticks(self) -> u64 {
        if self.is_counter { counter() } else { monotonic_ns() }
    }

    #[inline(always)]
    pub(super) fn nanos(self, ticks: u64) -> u64 {
        ((u128::from(ticks) * u128::from(self.scale)) >> 32) as u64
    }

    pub(super) fn ticks_in(self, nanos: u64) -> u64 {
        u64::try_from((u128::from(nanos) << 32) / u128::from(self.scale)).unwrap_or(u64::MAX)
    }

    pub(super) fn name(self) -> &'static str {
        if self.is_counter { "TSC clock" } else { "CLOCK_MONOTONIC (no invariant TSC)" }
    }
}

#[inline]
fn monotonic_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC)
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn counter() -> u64 {
    // SAFETY: every x86-64 processor has RDTSC; Linux leaves it allowed unless a
    // process asks otherwise.
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn counter() -> u64 {
    0
}

#[cfg(target_arch = "x86_64")]
fn counter_is_invariant() -> bool {
    use std::arch::x86_64::__cpuid;
    const ADVANCED_POWER_MANAGEMENT: u32 = 0x8000_0007;
    __cpuid(0x8000_0000).eax >= ADVANCED_POWER_MANAGEMENT
        && __cpuid(ADVANCED_POWER_MANAGEMENT).edx & (1 << 8) != 0
}

#[cfg(not(target_arch = "x86_64"))]
fn counter_is_invariant() -> bool {
    false
}

/// Returns the calibrated counter; `None` if it is not invariant or its rate varies.
fn calibrated_counter() -> Option<Clock> {
    if !counter_is_invariant() {
        return None;
    }
    let begin = ClockPair::now();
    std::thread::sleep(CALIBRATION);
    let middle = ClockPair::now();
    std::thread::sleep(CALIBRATION);
    let end = ClockPair::now();
    let (first, second) = (begin.scale_to(middle)?, middle.scale_to(end)?);
    let agrees = first.abs_diff(second) <= first / 1_000_000 * AGREEMENT_PPM;
    agrees.then_some(Clock { scale: begin.scale_to(end)?, is_counter: true })
}

/// The counter and the monotonic clock at the same moment.
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
            let before = counter();
            let nanos = monotonic_ns();
            let duration = counter().wrapping_sub(before);
            if duration < shortest {
                shortest = duration;
                best = ClockPair { ticks: before.wrapping_add(duration / 2), nanos };
            }
        }
        best
    }

    /// Returns the nanoseconds per tick up to `end`, times 2^32; `None` if a clock did not
    /// advance.
    fn scale_to(self, end: ClockPair) -> Option<u64> {
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
