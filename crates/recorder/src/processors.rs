//! Readings of the host's processor time during a capture.

use std::sync::Arc;
use steadfast_domain::io_event::ProcessorReading;
use steadfast_host::ProcessorTimes;

/// Shortest time between two readings, in nanoseconds. A reading of `/proc/stat` takes 10
/// microseconds with two processors, and more with many.
const INTERVAL_MIN_NS: u64 = 100_000_000;
/// Longest time between two readings at first, in nanoseconds.
const INTERVAL_MAX_NS: u64 = 1_000_000_000;

/// Maximum number of readings in a file, of about 40 bytes each. A longer capture keeps every
/// second one, and takes them at twice the interval from then on.
const READINGS_MAX: usize = 8192;

/// Takes readings of the host's processor time at the edges of intervals.
pub(crate) struct ProcessorLog {
    interval_ns: u64,
    /// Start of the interval in which the next reading is due, in nanoseconds.
    due_ns: u64,
}

impl ProcessorLog {
    /// Starts with an interval that suits capture steps of `step_ns` nanoseconds.
    pub(crate) fn new(step_ns: Option<u64>) -> Self {
        let interval_ns = step_ns.unwrap_or(INTERVAL_MAX_NS);
        ProcessorLog { interval_ns: interval_ns.clamp(INTERVAL_MIN_NS, INTERVAL_MAX_NS), due_ns: 0 }
    }

    /// Adds a reading if one is due and the host can be read.
    pub(crate) fn update(
        &mut self,
        now_ns: u64,
        read: impl FnOnce() -> Option<ProcessorTimes>,
        readings: &mut Arc<Vec<ProcessorReading>>,
    ) {
        if now_ns < self.due_ns {
            return;
        }
        self.due_ns = (now_ns / self.interval_ns + 1) * self.interval_ns;
        Self::add(now_ns, read, readings);
        if readings.len() >= READINGS_MAX {
            *readings = Arc::new(readings.iter().step_by(2).copied().collect());
            self.interval_ns *= 2;
        }
    }

    /// Adds a reading at the end of a file.
    pub(crate) fn add(
        now_ns: u64,
        read: impl FnOnce() -> Option<ProcessorTimes>,
        readings: &mut Arc<Vec<ProcessorReading>>,
    ) {
        if readings.last().is_some_and(|last| last.at_ns >= now_ns) {
            return;
        }
        if let Some(times) = read() {
            Arc::make_mut(readings).push(ProcessorReading {
                at_ns: now_ns,
                busy: times.busy(),
                io_wait: times.io_wait(),
                total: times.total(),
            });
        }
    }

    /// Keeps the last reading alone, with which the next file begins.
    pub(crate) fn next_file(readings: &mut Arc<Vec<ProcessorReading>>) {
        *readings = Arc::new(readings.last().copied().into_iter().collect());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_host::SystemRoots;

    const SECOND: u64 = 1_000_000_000;

    fn real() -> Option<ProcessorTimes> {
        steadfast_host::processor_times(&SystemRoots::real())
    }

    fn times(readings: &[ProcessorReading]) -> Vec<u64> {
        readings.iter().map(|reading| reading.at_ns / (SECOND / 10)).collect()
    }

    #[test]
    fn readings_are_taken_once_in_each_interval() {
        let (mut log, mut readings) = (ProcessorLog::new(None), Arc::default());
        for tenth in [0, 3, 9, 11, 12, 35, 40] {
            log.update(tenth * SECOND / 10, real, &mut readings);
        }
        assert_eq!(times(&readings), [0, 11, 35, 40]);
        let last = readings[3];
        assert!(last.total > 0 && last.busy + last.io_wait <= last.total, "{last:?}");
        ProcessorLog::next_file(&mut readings);
        ProcessorLog::add(41 * SECOND / 10, real, &mut readings);
        ProcessorLog::add(41 * SECOND / 10, real, &mut readings);
        assert_eq!(times(&readings), [40, 41]);
        let mut fine = ProcessorLog::new(Some(SECOND / 4));
        let mut readings = Arc::default();
        (0..10).for_each(|tenth| fine.update(tenth * SECOND / 10, real, &mut readings));
        assert_eq!(times(&readings), [0, 3, 5, 8]);
    }

    #[test]
    fn a_long_capture_is_thinned_out_and_an_unknown_host_has_none() {
        let (mut log, mut readings) = (ProcessorLog::new(None), Arc::default());
        let seconds = READINGS_MAX as u64 * 3 / 2;
        (0..seconds).for_each(|second| log.update(second * SECOND, real, &mut readings));
        assert!(readings.len() < READINGS_MAX, "{}", readings.len());
        assert!(readings.windows(2).all(|pair| pair[1].at_ns - pair[0].at_ns == 2 * SECOND));
        assert_eq!(readings.first().unwrap().at_ns, 0);
        let (mut log, mut none) = (ProcessorLog::new(None), Arc::default());
        log.update(0, || None, &mut none);
        assert!(none.is_empty());
    }
}
