//! What commits and rates cost this program's own engine.

use serde::Serialize;
use steadfast_domain::rate::THREAD_RATE_MAX;
use steadfast_domain::stimulus::Pace;
use steadfast_domain::{Measurement, Nanos, Op};

/// Rates that are offered after the highest, as shares of it in ascending order (our choice).
pub(super) const SHARES: [f64; 4] = [0.25, 0.5, 0.75, 0.9];

/// Cost of one kind of I/O with this program's engine.
#[derive(Debug, Clone, Serialize, schemars::JsonSchema)]
pub struct OwnCost {
    /// Access pattern and demand, such as `RND 4K W FLUSH/1 T1Q1`.
    pub point: String,
    /// Offered I/Os per second; null for commits, which are not offered at a rate.
    pub offered_iops: Option<f64>,
    /// I/Os, or commits, completed per second.
    pub iops: f64,
    /// Mean response time in nanoseconds: of a commit until its flush has completed, of an I/O with
    /// a due time from then. Null if the I/Os fell behind their due times: the longer the run, the
    /// longer their queue.
    pub mean_ns: Option<f64>,
    /// Mean time of the flushes in nanoseconds; null without any.
    pub flush_mean_ns: Option<f64>,
    /// 50 % start error in nanoseconds; null for commits.
    pub start_error_p50_ns: Option<u64>,
    /// 99 % start error in nanoseconds; null for commits.
    pub start_error_p99_ns: Option<u64>,
    /// Longest start error in nanoseconds; null for commits.
    pub start_error_max_ns: Option<u64>,
    /// Processor time per I/O or commit in user space, in nanoseconds, of the thread that submits.
    pub user_ns_per_io: Option<f64>,
    /// Processor time per I/O or commit in the kernel, in nanoseconds, of the thread that submits.
    pub system_ns_per_io: Option<f64>,
    /// Share of its time that the thread used a processor, from 0 to 1. It also waits for the next
    /// due time there.
    pub busiest_thread: Option<f64>,
}

impl OwnCost {
    /// Returns the cost that a measurement shows; `None` if no I/O completed.
    pub(super) fn from_measurement(
        point: String,
        pace: &Pace,
        measured: &Measurement,
    ) -> Option<OwnCost> {
        let (total, cpu) = (measured.total(), measured.cpu_ns_per_io());
        let error = measured.start_error.as_deref();
        let flushes = measured.direction(Op::Flush);
        let has_fallen_behind = measured.kept_up(pace) == Some(false);
        Some(OwnCost {
            point,
            offered_iops: pace.offered_iops(),
            iops: measured.iops().filter(|iops| *iops > 0.0)?,
            mean_ns: total.response_mean_ms().map(|mean| mean * 1e6).filter(|_| !has_fallen_behind),
            flush_mean_ns: flushes.response_mean_ms().map(|mean| mean * 1e6),
            start_error_p50_ns: error.and_then(|error| error.p50()).map(|time| time.0),
            start_error_p99_ns: error.and_then(|error| error.p99()).map(|time| time.0),
            start_error_max_ns: error.map(|error| error.max.0),
            user_ns_per_io: cpu.map(|(user, _)| user),
            system_ns_per_io: cpu.map(|(_, system)| system),
            busiest_thread: measured.sensed.busiest_thread,
        })
    }
}

/// Returns evenly spaced I/Os at the highest rate that one thread may be asked for: more than it can
/// issue, so that what it completes is the highest rate.
pub(super) fn highest_pace() -> Pace {
    Pace::Fixed { ios: THREAD_RATE_MAX as u64, per: Nanos::SECOND }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::measurement::{CpuTime, StreamTally};
    use steadfast_domain::{FineHistogram, Tally};

    #[test]
    fn the_cost_of_a_commit_includes_its_flush() {
        let tally = |op, ios: u64, each: u64| {
            let histogram = FineHistogram::from_counts([(each, ios)]);
            let response_sum = Nanos(ios * each);
            StreamTally { op, tally: Tally { ios, response_sum, histogram, ..Tally::default() } }
        };
        let measured = Measurement {
            elapsed: Nanos::SECOND,
            streams: vec![tally(Op::Write, 100, 9_000_000), tally(Op::Flush, 100, 7_000_000)],
            cpu: Some(CpuTime { user: Nanos(300_000), system: Nanos(500_000) }),
            ..Measurement::default()
        };
        let cost = OwnCost::from_measurement("commit".into(), &Pace::Closed, &measured).unwrap();
        assert_eq!((cost.iops, cost.offered_iops), (100.0, None));
        assert_eq!((cost.mean_ns, cost.flush_mean_ns), (Some(9e6), Some(7e6)));
        assert_eq!((cost.user_ns_per_io, cost.system_ns_per_io), (Some(3e3), Some(5e3)));
        assert_eq!(cost.start_error_max_ns, None);
        let nothing = Measurement::default();
        assert!(OwnCost::from_measurement(String::new(), &highest_pace(), &nothing).is_none());
        assert_eq!(highest_pace().offered_iops(), Some(1e6));
    }
}
