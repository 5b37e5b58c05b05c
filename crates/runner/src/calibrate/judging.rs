//! Judges the readings of two engines.

use super::CalibrationPoint;
use serde::Serialize;
use steadfast_domain::change_points::median;
use steadfast_domain::{Measurement, Op};

/// Share of its time on a processor from which a thread counts as never waiting for the device:
/// the measurement then shows the engine, not the device.
const BUSY_SHARE: f64 = 0.95;

/// Largest spread of a point's ratios, as a multiple of the bound: above it they prove nothing,
/// even if their median is near 1.
const SPREAD_MAX: f64 = 4.0;

/// Fewest pairs that can show a difference: two noisy runs differ as easily as they agree.
const PAIRS_MIN: usize = 4;

/// Result of one run of one point.
#[derive(Debug, Clone, Serialize, schemars::JsonSchema)]
pub struct CalibrationReading {
    /// I/Os per second.
    pub iops: f64,
    /// Bytes per second.
    pub bytes_per_second: f64,
    /// Mean response time in nanoseconds; null for commits through fio, which reports the times of
    /// the writes alone.
    pub mean_ns: Option<f64>,
    /// 99 % response time in nanoseconds.
    pub p99_ns: Option<u64>,
    /// 99.99 % response time in nanoseconds.
    pub p9999_ns: Option<u64>,
    /// Processor time per I/O in nanoseconds.
    pub cpu_ns_per_io: Option<f64>,
    /// Share of its time that the busiest thread used a processor, from 0 to 1.
    pub busiest_thread: Option<f64>,
    /// Flushes that this program issued and that the kernel counted at the device; null for fio,
    /// without flushes, and if the kernel does not count them.
    pub flushes: Option<FlushCounts>,
}

/// Flushes of one run, with those of its ramp and after its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct FlushCounts {
    /// Flushes that this program issued.
    pub issued: u64,
    /// Flushes that the kernel counted (`/sys/block/DEVICE/stat`).
    pub counted: u64,
}

impl FlushCounts {
    /// Returns the flushes of a measurement; `None` without any, or if the kernel does not count
    /// them.
    fn from_measurement(measurement: &Measurement) -> Option<FlushCounts> {
        let own = measurement.direction(Op::Flush);
        let outside = measurement.unmeasured.iter().filter(|part| part.op == Op::Flush);
        // A flush outstanding at the end is among those outside.
        let issued = own.ios + outside.map(|part| part.ios).sum::<u64>();
        let counted = measurement.kernel?.flushes?;
        (issued > 0).then_some(FlushCounts { issued, counted })
    }
}

impl CalibrationReading {
    /// Returns the reading of a run; `None` if no I/O completed.
    pub fn from_measurement(measurement: &Measurement) -> Option<CalibrationReading> {
        let total = measurement.total();
        Some(CalibrationReading {
            iops: measurement.iops().filter(|iops| *iops > 0.0)?,
            bytes_per_second: measurement.bytes_per_second()?,
            mean_ns: total.response_mean_ms().map(|mean| mean * 1e6),
            p99_ns: total.percentile(0.99).map(|time| time.0),
            p9999_ns: total.percentile(0.9999).map(|time| time.0),
            cpu_ns_per_io: measurement.cpu_ns_per_io().map(|(user, system)| user + system),
            busiest_thread: measurement.sensed.busiest_thread,
            flushes: FlushCounts::from_measurement(measurement),
        })
    }

    pub(super) fn without_times(self) -> CalibrationReading {
        CalibrationReading { mean_ns: None, p99_ns: None, p9999_ns: None, ..self }
    }
}

/// Returns the run of median IOPS, so that all numbers come from one run. For an even number of
/// runs it is the slower of the two in the middle.
pub fn median_run(readings: &[CalibrationReading]) -> Option<&CalibrationReading> {
    let mut sorted: Vec<&CalibrationReading> = readings.iter().collect();
    sorted.sort_by(|a, b| a.iops.total_cmp(&b.iops));
    sorted.get(sorted.len().saturating_sub(1) / 2).copied()
}

/// The runs of a point, and the judgement on them.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub struct Comparison {
    /// Name of the point, such as `RND 4K R T1Q32`.
    pub point: String,
    /// Readings of the engine uring.
    pub uring: Vec<CalibrationReading>,
    /// Readings of fio.
    pub fio: Vec<CalibrationReading>,
    /// Ratios of IOPS, uring to fio, by pair, in ascending order.
    pub ratios: Vec<f64>,
    /// Judgement on the ratios.
    pub judgement: Judgement,
}

/// Judgement on the ratios of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Judgement {
    /// The median ratio is within the bound.
    Agree,
    /// The median ratio is beyond the bound in at least four pairs; the IOPS of the two engines
    /// do not overlap, and the ratios differ from one another by at most as much as their median
    /// differs from 1.
    Differ,
    /// The ratios differ too much from one another.
    Unsteady,
    /// The median ratio is beyond the bound, but there are too few pairs to call it a difference.
    TooFew,
    /// The median ratio is beyond the bound, and a load thread used a processor all the time.
    CpuBound,
    /// The kernel counted another number of flushes than this program issued.
    FlushesDiffer,
}

impl Comparison {
    /// Compares pair by pair, with a bound in percent. `sends_flushes` is true if the kernel passes
    /// flushes to the device; if it drops them, it counts none. It counts flushes of several threads
    /// that it sends as one.
    pub fn new(
        point: &CalibrationPoint,
        uring: Vec<CalibrationReading>,
        fio: Vec<CalibrationReading>,
        within: f64,
        sends_flushes: bool,
    ) -> Self {
        let mut ratios: Vec<f64> = uring.iter().zip(&fio).map(|(a, b)| a.iops / b.iops).collect();
        ratios.sort_by(f64::total_cmp);
        let is_lost = |count: FlushCounts| {
            let is_merged = point.demand.threads > 1 && (1..count.issued).contains(&count.counted);
            let is_dropped = !sends_flushes && count.counted == 0;
            count.issued != count.counted && !is_merged && !is_dropped
        };
        let has_lost = uring.iter().filter_map(|reading| reading.flushes).any(is_lost);
        let mut compared = Comparison {
            point: point.to_string(),
            uring,
            fio,
            ratios,
            judgement: Judgement::FlushesDiffer,
        };
        if !has_lost {
            compared.judgement = compared.judge(within / 100.0);
        }
        compared
    }

    /// Judges the ratios; `bound` is the largest distance of their median from 1.
    fn judge(&self, bound: f64) -> Judgement {
        let (off, spread) = (self.off(), self.highest() - self.lowest());
        let same_side = self.lowest() > 1.0 || self.highest() < 1.0;
        if !same_side && spread > SPREAD_MAX * bound {
            Judgement::Unsteady
        } else if off <= bound {
            Judgement::Agree
        } else if is_busy(&self.uring) || is_busy(&self.fio) {
            Judgement::CpuBound
        } else if self.ratios.len() < PAIRS_MIN {
            Judgement::TooFew
        } else if spread <= off
            && (is_faster(&self.uring, &self.fio) || is_faster(&self.fio, &self.uring))
        {
            Judgement::Differ
        } else {
            Judgement::Unsteady
        }
    }

    /// Returns the median ratio.
    pub fn ratio(&self) -> f64 {
        median(&self.ratios).unwrap_or(f64::NAN)
    }

    /// Returns the flushes of all runs with this program's engine; `None` if they were not counted.
    pub fn flushes(&self) -> Option<FlushCounts> {
        let counts = self.uring.iter().filter_map(|reading| reading.flushes);
        counts.reduce(|sum, one| FlushCounts {
            issued: sum.issued + one.issued,
            counted: sum.counted + one.counted,
        })
    }

    /// Returns the distance of the median ratio from 1.
    pub fn off(&self) -> f64 {
        (self.ratio() - 1.0).abs()
    }

    /// Returns the lowest ratio.
    pub fn lowest(&self) -> f64 {
        self.ratios.first().copied().unwrap_or(f64::NAN)
    }

    /// Returns the highest ratio.
    pub fn highest(&self) -> f64 {
        self.ratios.last().copied().unwrap_or(f64::NAN)
    }
}

/// Returns true if the busiest threads of an engine's runs never waited for the device, in the
/// median run.
fn is_busy(readings: &[CalibrationReading]) -> bool {
    let shares: Vec<f64> = readings.iter().filter_map(|reading| reading.busiest_thread).collect();
    median(&shares).is_some_and(|share| share >= BUSY_SHARE)
}

/// Returns true if every run of one engine had more IOPS than every run of the other.
fn is_faster(one: &[CalibrationReading], other: &[CalibrationReading]) -> bool {
    let lowest = one.iter().map(|reading| reading.iops).min_by(f64::total_cmp);
    let highest = other.iter().map(|reading| reading.iops).max_by(f64::total_cmp);
    lowest.zip(highest).is_some_and(|(lowest, highest)| lowest > highest)
}

/// Returns true if the engines agree at one point at least and at no other point differ, are
/// unsteady or have too few pairs.
pub fn agree(comparisons: &[Comparison]) -> bool {
    comparisons.iter().any(|compared| compared.judgement == Judgement::Agree)
        && comparisons
            .iter()
            .all(|compared| matches!(compared.judgement, Judgement::Agree | Judgement::CpuBound))
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::measurement::{KernelCounters, StreamTally, UnmeasuredIos};
    use steadfast_domain::{Bytes, Tally};

    fn reading(iops: f64, busy: f64) -> CalibrationReading {
        CalibrationReading {
            iops,
            bytes_per_second: iops * 4096.0,
            mean_ns: Some(1e9 / iops),
            p99_ns: Some(1_000_000),
            p9999_ns: None,
            cpu_ns_per_io: Some(3000.0),
            busiest_thread: Some(busy),
            flushes: None,
        }
    }

    fn compared(pairs: &[(f64, f64)], busy: f64) -> Comparison {
        let point: CalibrationPoint = "RND 4K R T1Q32".parse().unwrap();
        let uring = pairs.iter().map(|(ours, _)| reading(*ours, busy)).collect();
        let fio = pairs.iter().map(|(_, theirs)| reading(*theirs, 0.1)).collect();
        Comparison::new(&point, uring, fio, 5.0, true)
    }

    #[test]
    fn pairs_of_runs_decide_the_judgement() {
        let four = [(1100.0, 1000.0), (1120.0, 1000.0), (1110.0, 1010.0), (1130.0, 1005.0)];
        let overlapping = [(1100.0, 1000.0), (1300.0, 1150.0), (1120.0, 1000.0), (1110.0, 1000.0)];
        let noise = [(1170.0, 1000.0), (4450.0, 1000.0), (2000.0, 1000.0), (3000.0, 1000.0)];
        let both_sides = [(1130.0, 1000.0), (990.0, 1000.0), (1125.0, 1000.0), (1000.0, 1000.0)];
        for (pairs, busy, expected) in [
            (&[(1010.0, 1000.0), (990.0, 1000.0)][..], 0.2, Judgement::Agree),
            (&four, 0.2, Judgement::Differ),
            (&four[..3], 0.2, Judgement::TooFew),
            (&[(141.0, 1000.0), (2810.0, 1000.0)], 0.2, Judgement::Unsteady),
            (&overlapping, 0.2, Judgement::Unsteady),
            (&noise, 0.2, Judgement::Unsteady),
            (&[(1100.0, 1000.0), (1120.0, 1000.0)], 0.99, Judgement::CpuBound),
            (&both_sides, 0.2, Judgement::Unsteady),
            (&both_sides[..2], 0.2, Judgement::TooFew),
            (&[(1500.0, 1000.0), (510.0, 1000.0)], 0.2, Judgement::Unsteady),
        ] {
            assert_eq!(compared(pairs, busy).judgement, expected, "{pairs:?}");
        }
    }

    #[test]
    fn flushes_that_the_kernel_did_not_count_are_found() {
        for (threads, sends_flushes, counted, is_found) in [
            (1, true, 1000, false),
            (1, true, 999, true),
            (1, true, 1001, true),
            (1, true, 0, true),
            // The kernel merges flushes of several threads.
            (4, true, 250, false),
            (4, true, 1000, false),
            (4, true, 1001, true),
            (4, true, 0, true),
            // The kernel drops all flushes to a device without a volatile cache.
            (1, false, 0, false),
            (1, false, 999, true),
        ] {
            let flushes = Some(FlushCounts { issued: 1000, counted });
            let uring = vec![CalibrationReading { flushes, ..reading(1000.0, 0.2) }; 2];
            let fio = vec![reading(1000.0, 0.2).without_times(); 2];
            let mut point = CalibrationPoint::commits();
            point.demand.threads = threads;
            let compared = Comparison::new(&point, uring, fio, 5.0, sends_flushes);
            let sum = FlushCounts { issued: 2000, counted: 2 * counted };
            assert_eq!(compared.flushes(), Some(sum));
            let expected = if is_found { Judgement::FlushesDiffer } else { Judgement::Agree };
            assert_eq!(compared.judgement, expected, "{threads} threads, {counted} counted");
        }
    }

    #[test]
    fn flushes_outside_the_measured_time_count() {
        let kernel = KernelCounters { flushes: Some(107), ..KernelCounters::default() };
        // The last of the seven was outstanding at the end.
        let tally = Tally { ios: 100, outstanding: 1, ..Tally::default() };
        let measured = Measurement {
            streams: vec![StreamTally { op: Op::Flush, tally }],
            unmeasured: vec![UnmeasuredIos { op: Op::Flush, ios: 7, bytes: Bytes(0) }],
            kernel: Some(kernel),
            ..Measurement::default()
        };
        let counts = FlushCounts::from_measurement(&measured);
        assert_eq!(counts, Some(FlushCounts { issued: 107, counted: 107 }));
        let uncounted = KernelCounters { flushes: None, ..kernel };
        let uncounted = Measurement { kernel: Some(uncounted), ..measured };
        assert_eq!(FlushCounts::from_measurement(&uncounted), None);
    }

    #[test]
    fn engines_agree_if_a_point_agrees_and_none_differs() {
        let (good, bad) = ([(1010.0, 1000.0)], [(1200.0, 1000.0)]);
        assert!(agree(&[compared(&good, 0.2), compared(&bad, 0.99)]));
        assert!(!agree(&[compared(&good, 0.2), compared(&bad, 0.2)]));
        assert!(!agree(&[compared(&bad, 0.99)]), "a busy host proves nothing");
        assert!(!agree(&[]));
    }

    #[test]
    fn the_median_run_provides_all_numbers() {
        let readings = [reading(1000.0, 0.1), reading(3000.0, 0.3), reading(2000.0, 0.2)];
        let run = median_run(&readings).unwrap();
        assert_eq!((run.iops, run.mean_ns, run.busiest_thread), (2000.0, Some(5e5), Some(0.2)));
        let slower = median_run(&readings[..2]).unwrap();
        assert_eq!((slower.iops, slower.mean_ns), (1000.0, Some(1e6)), "no mean of two runs");
        assert!(median_run(&[]).is_none());
        let compared = compared(&[(1010.0, 1000.0), (990.0, 1000.0)], 0.2);
        let ratios = (compared.lowest(), compared.ratio(), compared.highest());
        assert_eq!(ratios, (0.99, 1.0, 1.01));
    }
}
