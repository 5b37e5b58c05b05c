//! Detection of a device that completes nothing although I/Os are outstanding.

use std::time::Duration;
use steadfast_domain::Nanos;
use steadfast_domain::measurement::Silence;

/// Watches for completions. Like `completion_timeout`, it adds up time from waits: a stalled
/// program must not report a silent device.
#[derive(Debug, Default)]
pub(super) struct SilenceWatch {
    /// Last progress seen, and how long it has not changed.
    progress: u64,
    silent: Duration,
    /// Time of the last call of `passed`.
    now: Nanos,
    /// Silences; `at` is the start on the clock.
    found: Vec<Silence>,
}

impl SilenceWatch {
    /// Lets `time` pass, up to `now`. `progress` changes with every completed I/O; `waits` means
    /// that nothing is outstanding.
    pub(super) fn passed(&mut self, time: Duration, progress: u64, waits: bool, now: Nanos) {
        if progress != self.progress || waits {
            self.end();
            self.progress = progress;
        } else {
            self.silent += time;
        }
        self.now = now;
    }

    /// Forgets what was found. A silence that continues counts from now on.
    pub(super) fn restart(&mut self) {
        self.found.clear();
        self.silent = Duration::ZERO;
    }

    /// Ends the current silence, with its time so far.
    pub(super) fn end(&mut self) {
        let silent = Nanos(u64::try_from(self.silent.as_nanos()).unwrap_or(u64::MAX));
        self.silent = Duration::ZERO;
        // Accurate to one wait: a silence that began and ended between two calls of `passed` is
        // up to one wait too long.
        if silent >= Silence::SHORTEST {
            self.found.push(Silence { at: self.now.saturating_sub(silent), lasted: silent });
        }
    }

    /// Returns the silences since the last call, relative to `begin` on the clock.
    pub(super) fn take(&mut self, begin: Nanos) -> Vec<Silence> {
        let mut found = std::mem::take(&mut self.found);
        for silence in &mut found {
            silence.at = silence.at.saturating_sub(begin);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_without_a_completion_is_recorded() {
        let mut watch = SilenceWatch::default();
        let look = Duration::from_millis(50);
        let mut passed = |from: u64, to: u64, progress: u64, waits: bool| {
            for at in (from..to).step_by(50) {
                watch.passed(look, progress, waits, Nanos::from_millis(at + 50));
            }
        };
        passed(0, 500, 1, false);
        passed(500, 2_000, 2, false);
        passed(2_000, 5_000, 3, true);
        passed(5_000, 5_500, 4, false);
        passed(5_500, 14_500, 5, false);
        watch.end();
        let expected = [(550, 1_450), (5_550, 8_950)].map(|(at, lasted)| Silence {
            at: Nanos::from_millis(at - 100),
            lasted: Nanos::from_millis(lasted),
        });
        assert_eq!(watch.take(Nanos::from_millis(100)), expected);
        assert_eq!(watch.take(Nanos::ZERO), []);
    }

    /// A silence of 5 s that begins 3 s before the end of a ramp, which had one of its own.
    #[test]
    fn only_the_measured_part_of_a_silence_is_recorded() {
        let mut watch = SilenceWatch::default();
        let look = Duration::from_millis(50);
        let mut progress = 0;
        for at in (0..12_000).step_by(50) {
            if at == 5_000 {
                watch.restart();
            }
            progress += u64::from(at == 1_950 || at >= 6_950);
            watch.passed(look, progress, false, Nanos::from_millis(at + 50));
        }
        watch.end();
        let found = watch.take(Nanos::from_secs(5));
        assert_eq!(found, [Silence { at: Nanos::ZERO, lasted: Nanos::from_millis(1_950) }]);
    }
}
