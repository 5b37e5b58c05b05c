//! How long to wait for a device that completes nothing.
//!
//! Time is added up from waits, not read from a clock: a program that was stalled must not
//! conclude that its device is dead.

use std::time::Duration;
use steadfast_domain::stimulus::Pace;

/// Factor by which a device may be silent longer while a load runs than after its end: the kernel
/// times an I/O out and retries it before it fails it.
const WHILE_RUNNING: u32 = 10;

/// Times without completions of one load, and after the end that it should have had.
#[derive(Debug)]
pub(super) struct CompletionTimeout {
    limit: Duration,
    /// Last progress seen, and how long it has not changed.
    progress: u64,
    pub(super) silent: Duration,
    /// Time since the load should have ended.
    overdue: Duration,
}

impl CompletionTimeout {
    /// Creates the watch. A device that completes no I/O for `limit` after a load's end is gone;
    /// one that still does is not waited for any longer.
    pub(super) fn new(limit: Duration) -> CompletionTimeout {
        CompletionTimeout { limit, progress: 0, silent: Duration::ZERO, overdue: Duration::ZERO }
    }

    /// Adds a wait of length `time`; `progress` changes with every completed I/O, and `is_over`
    /// means that the load should have ended.
    pub(super) fn add_wait(&mut self, time: Duration, progress: u64, is_over: bool) {
        self.silent += time;
        if progress != self.progress {
            (self.progress, self.silent) = (progress, Duration::ZERO);
        }
        if is_over {
            self.overdue += time;
        }
    }

    /// Notes that nothing is outstanding.
    pub(super) fn note_idle(&mut self) {
        self.silent = Duration::ZERO;
    }

    /// Returns how long nothing has completed, if that is too long for a load of this pace.
    pub(super) fn silent_too_long(&self, pace: &Pace) -> Option<Duration> {
        let limit = if self.overdue.is_zero() {
            (self.limit + expected_gap(pace)).saturating_mul(WHILE_RUNNING)
        } else {
            self.limit
        };
        (self.silent >= limit).then_some(self.silent)
    }

    /// Returns true if the load should have ended so long ago that outstanding I/Os are abandoned.
    pub(super) fn is_expired(&self) -> bool {
        self.overdue >= self.limit
    }
}

/// Returns how long a load may have nothing outstanding: on average, or at most if the longest
/// pause is known.
fn expected_gap(pace: &Pace) -> Duration {
    match pace {
        Pace::Closed => Duration::ZERO,
        Pace::Fixed { ios, per } | Pace::Poisson { ios, per } => {
            Duration::from_nanos(per.0 / (*ios).max(1))
        }
        Pace::Burst { delay, .. } => delay.to_duration(),
        Pace::Empirical(arrivals) => Duration::from_nanos(arrivals.longest_pause_ns() as u64),
        Pace::ByStream(paces) => paces.iter().map(expected_gap).min().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::Nanos;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn an_intermittent_device_is_not_lost_but_not_awaited_either() {
        let mut timeout = CompletionTimeout::new(3 * SECOND);
        for n in 0..100 {
            timeout.add_wait(SECOND, n / 2, false);
        }
        assert!(timeout.silent_too_long(&Pace::Closed).is_none() && !timeout.is_expired());
        for n in 50..53 {
            assert!(!timeout.is_expired());
            timeout.add_wait(SECOND, n, true);
        }
        assert!(timeout.silent_too_long(&Pace::Closed).is_none() && timeout.is_expired());
    }

    #[test]
    fn silence_is_tolerated_longer_during_a_load_and_at_a_slow_pace() {
        let mut timeout = CompletionTimeout::new(3 * SECOND);
        let slow = Pace::Fixed { ios: 1, per: Nanos::from_secs(60) };
        for _ in 0..29 {
            timeout.add_wait(SECOND, 0, false);
        }
        assert_eq!(timeout.silent_too_long(&Pace::Closed), None);
        timeout.add_wait(SECOND, 0, false);
        assert_eq!(timeout.silent_too_long(&Pace::Closed), Some(30 * SECOND));
        assert_eq!(timeout.silent_too_long(&slow), None);
        timeout.add_wait(SECOND, 0, true);
        assert_eq!(timeout.silent_too_long(&slow), Some(31 * SECOND));
    }
}
