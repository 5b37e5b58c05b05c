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
    /// Time of the last call of `add_wait`.
    now: Nanos,
    /// Silences since the last [`take`](Self::take); `at` is the start on the clock.
    silences: Vec<Silence>,
}

impl SilenceWatch {
    /// Adds a wait of length `time` that ended at `now`. `progress` changes with every completed
    /// I/O; `is_idle` means that nothing is outstanding.
    pub(super) fn add_wait(&mut self, time: Duration, progress: u64, is_idle: bool, now: Nanos) {
        if progress != self.progress || is_idle {
            self.end();
            self.progress = progress;
        } else {
            self.silent += time;
        }
        self.now = now;
    }

    /// Forgets all silences. One that continues counts from now on.
    pub(super) fn restart(&mut self) {
        self.silences.clear();
        self.silent = Duration::ZERO;
    }

    /// Ends the current silence, with its time so far.
    pub(super) fn end(&mut self) {
        let silent = Nanos(u64::try_from(self.silent.as_nanos()).unwrap_or(u64::MAX));
        self.silent = Duration::ZERO;
        // Accurate to one wait: a silence that began and ended between two calls of `add_wait` is
        // up to one wait too long.
        if silent >= Silence::SHORTEST {
            self.silences.push(Silence { at: self.now.saturating_sub(silent), lasted: silent });
        }
    }

    /// Returns the silences since the last call, relative to `begin` on the clock.
    pub(super) fn take(&mut self, begin: Nanos) -> Vec<Silence> {
        let mut silences = std::mem::take(&mut self.silences);
        for silence in &mut silences {
            silence.at = silence.at.saturating_sub(begin);
        }
        silences
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_without_a_completion_is_recorded() {
        let mut watch = SilenceWatch::default();
        let wait = Duration::from_millis(50);
        let mut add_waits = |from: u64, to: u64, progress: u64, is_idle: bool| {
            for at in (from..to).step_by(50) {
                watch.add_wait(wait, progress, is_idle, Nanos::from_millis(at + 50));
            }
        };
        add_waits(0, 500, 1, false);
        add_waits(500, 2_000, 2, false);
        add_waits(2_000, 5_000, 3, true);
        add_waits(5_000, 5_500, 4, false);
        add_waits(5_500, 14_500, 5, false);
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
        let wait = Duration::from_millis(50);
        let mut progress = 0;
        for at in (0..12_000).step_by(50) {
            if at == 5_000 {
                watch.restart();
            }
            progress += u64::from(at == 1_950 || at >= 6_950);
            watch.add_wait(wait, progress, false, Nanos::from_millis(at + 50));
        }
        watch.end();
        let silences = watch.take(Nanos::from_secs(5));
        assert_eq!(silences, [Silence { at: Nanos::ZERO, lasted: Nanos::from_millis(1_950) }]);
    }
}
