//! How long to wait for a device that does not answer.
//!
//! Time is added up from waits, not read from a clock: a program that stood
//! still must not find its device dead.

use std::time::Duration;
use steadfast_domain::stimulus::Pace;

/// While a load runs, a device may be silent for so many times longer than after
/// its end: the kernel gives up an I/O and tries it again before it fails.
const WHILE_RUNNING: u32 = 10;

/// Keeps an eye on the I/Os that come back.
#[derive(Debug)]
pub(super) struct Patience {
    limit: Duration,
    /// The last state of progress that was seen, and for how long since.
    progress: u64,
    silent: Duration,
    /// Since the load should have ended.
    beyond: Duration,
}

impl Patience {
    /// A device that lets no I/O come back for this long after a load's end is
    /// gone; one that still does is not waited for any longer.
    pub(super) fn new(limit: Duration) -> Patience {
        Patience { limit, progress: 0, silent: Duration::ZERO, beyond: Duration::ZERO }
    }

    /// This much time has passed; `progress` is a number that changes with every
    /// I/O that comes back.
    pub(super) fn passed(&mut self, time: Duration, progress: u64, is_over: bool) {
        self.silent += time;
        if progress != self.progress {
            (self.progress, self.silent) = (progress, Duration::ZERO);
        }
        if is_over {
            self.beyond += time;
        }
    }

    /// There is nothing that could come back.
    pub(super) fn rest(&mut self) {
        self.silent = Duration::ZERO;
    }

    /// For how long nothing came back.
    pub(super) fn silent(&self) -> Duration {
        self.silent
    }

    /// For how long nothing came back, where that is too long for a load of this
    /// pace.
    pub(super) fn lost_by(&self, pace: Pace) -> Option<Duration> {
        let limit = match self.beyond.is_zero() {
            true => (self.limit + between(pace)).saturating_mul(WHILE_RUNNING),
            false => self.limit,
        };
        (self.silent >= limit).then_some(self.silent)
    }

    /// Whether the load should have ended so long ago that what is still out is
    /// left out.
    pub(super) fn is_at_an_end(&self) -> bool {
        self.beyond >= self.limit
    }
}

/// How long a load may have nothing outstanding, on average.
fn between(pace: Pace) -> Duration {
    match pace {
        Pace::Closed => Duration::ZERO,
        Pace::Fixed { ios, per } | Pace::Poisson { ios, per } => {
            Duration::from_nanos(per.0 / ios.max(1))
        }
        Pace::Burst { delay, .. } => delay.to_duration(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::Nanos;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_device_that_answers_now_and_then_is_not_lost_but_not_waited_for_either() {
        let mut patience = Patience::new(3 * SECOND);
        for n in 0..100 {
            patience.passed(SECOND, n / 2, false);
        }
        assert!(patience.lost_by(Pace::Closed).is_none() && !patience.is_at_an_end());
        for n in 50..53 {
            assert!(!patience.is_at_an_end());
            patience.passed(SECOND, n, true);
        }
        assert!(patience.lost_by(Pace::Closed).is_none() && patience.is_at_an_end());
    }

    #[test]
    fn silence_is_borne_longer_while_a_load_runs_and_longer_with_a_slow_pace() {
        let mut patience = Patience::new(3 * SECOND);
        let slow = Pace::Fixed { ios: 1, per: Nanos::from_secs(60) };
        for _ in 0..29 {
            patience.passed(SECOND, 0, false);
        }
        assert_eq!(patience.lost_by(Pace::Closed), None);
        patience.passed(SECOND, 0, false);
        assert_eq!(patience.lost_by(Pace::Closed), Some(30 * SECOND));
        assert_eq!(patience.lost_by(slow), None);
        patience.passed(SECOND, 0, true);
        assert_eq!(patience.lost_by(slow), Some(31 * SECOND));
    }
}
