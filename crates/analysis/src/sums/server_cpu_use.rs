//! Processor use of the captured host over time, from the readings that the capture took.

use steadfast_domain::CaptureConditions;
use steadfast_domain::io_event::ProcessorReading;

/// Processor use of the host in an interval: shares of the time of all processors, 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ServerCpuUse {
    /// Share spent busy: neither idle nor waiting for I/O.
    pub busy: f64,
    /// Share spent idle with I/O outstanding (iowait).
    pub io_wait: f64,
}

#[derive(Debug, Clone, Copy)]
struct Counters {
    busy: f64,
    io_wait: f64,
    total: f64,
}

impl ServerCpuUse {
    /// Returns the use from `begin_ns` to `end_ns`; `None` if it is unknown. Between two readings
    /// the counters are taken to grow evenly. The use in an interval much shorter than
    /// the time between its readings is unknown: they cover too much time outside of it.
    pub fn between(conditions: &CaptureConditions, begin_ns: u64, end_ns: u64) -> Option<Self> {
        let readings = &conditions.processors[..];
        let (first, last) = (readings.first()?, readings.last()?);
        let (from, to) = (begin_ns.max(first.at_ns), end_ns.min(last.at_ns));
        let width = end_ns.saturating_sub(begin_ns);
        // The first reading follows the start of a capture, the last precedes its end.
        if to <= from || to - from < width / 2 {
            return None;
        }
        let before = readings.partition_point(|reading| reading.at_ns <= from).saturating_sub(1);
        let after = readings.partition_point(|reading| reading.at_ns < to);
        let (lower, upper) = (readings.get(before)?, readings.get(after)?);
        if upper.at_ns - lower.at_ns > width.saturating_mul(3) {
            return None;
        }
        let at = |index: usize, time_ns: u64| -> Option<Counters> {
            let (one, next) = (readings.get(index)?, readings.get(index + 1));
            Some(counters(one, next.unwrap_or(one), time_ns))
        };
        let begin = at(before, from)?;
        let end = at(after.saturating_sub(1), to)?;
        let total = end.total - begin.total;
        let share = |end: f64, begin: f64| ((end - begin) / total).clamp(0.0, 1.0);
        (total > 0.0).then(|| ServerCpuUse {
            busy: share(end.busy, begin.busy),
            io_wait: share(end.io_wait, begin.io_wait),
        })
    }
}

fn counters(one: &ProcessorReading, next: &ProcessorReading, time_ns: u64) -> Counters {
    let length = next.at_ns.saturating_sub(one.at_ns);
    let part =
        if length == 0 { 0.0 } else { time_ns.saturating_sub(one.at_ns) as f64 / length as f64 };
    let at = |one: u64, next: u64| one as f64 + (next as f64 - one as f64) * part;
    Counters {
        busy: at(one.busy, next.busy),
        io_wait: at(one.io_wait, next.io_wait),
        total: at(one.total, next.total),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    const SECOND: u64 = 1_000_000_000;

    /// Four processors of 100 ticks a second: busy by a quarter in even seconds and by a half in odd
    /// ones, waiting a tenth of the time. Readings at whole seconds, 10 to 20 of the uptime.
    fn conditions(seconds: impl Iterator<Item = u64>) -> CaptureConditions {
        let reading = |second: u64| ProcessorReading {
            at_ns: second * SECOND,
            busy: 1000 + (0..second).map(|s| if s % 2 == 0 { 100 } else { 200 }).sum::<u64>(),
            io_wait: 50 + 40 * second,
            total: 4000 + 400 * second,
        };
        let processors = Arc::new(seconds.map(reading).collect());
        CaptureConditions { processors, ..CaptureConditions::default() }
    }

    fn percents(conditions: &CaptureConditions, begin: f64, end: f64) -> Option<(f64, f64)> {
        let [begin, end] = [begin, end].map(|seconds| (seconds * SECOND as f64) as u64);
        let found = ServerCpuUse::between(conditions, begin, end)?;
        let percent = |share: f64| (share * 1e6).round() / 1e4;
        Some((percent(found.busy), percent(found.io_wait)))
    }

    #[test]
    fn steps_have_the_use_of_their_own_time() {
        let every = conditions(0..=10);
        assert_eq!(percents(&every, 0.0, 1.0), Some((25.0, 10.0)));
        assert_eq!(percents(&every, 1.0, 2.0), Some((50.0, 10.0)));
        assert_eq!(percents(&every, 0.0, 10.0), Some((37.5, 10.0)));
        // Half of an even second and half of an odd one.
        assert_eq!(percents(&every, 2.5, 3.5), Some((37.5, 10.0)));
    }

    #[test]
    fn what_the_readings_do_not_cover_is_unknown() {
        let every = conditions(2..=10);
        assert_eq!(percents(&every, 0.0, 2.0), None);
        assert_eq!(percents(&every, 1.0, 4.0), Some((37.5, 10.0)), "two of three seconds");
        assert_eq!(percents(&every, 9.0, 11.0), Some((50.0, 10.0)));
        assert_eq!(percents(&every, 3.1, 3.2), None, "a tenth of the time between readings");
        // A file of the capture is missing: nothing was read from 4 to 8.
        let gap = conditions((0..=4).chain(8..=10));
        assert_eq!(percents(&gap, 5.0, 6.0), None);
        assert_eq!(percents(&gap, 3.0, 4.0), Some((50.0, 10.0)));
        assert_eq!(percents(&gap, 0.0, 10.0), Some((37.5, 10.0)));
        assert_eq!(percents(&CaptureConditions::default(), 0.0, 1.0), None);
    }
}
