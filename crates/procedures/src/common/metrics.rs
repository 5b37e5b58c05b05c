//! Metrics of a point in long form: rates, response times of all I/Os and of each direction,
//! power, temperature and processor use.

use super::secondary::{SecondaryMeans, mean};
use steadfast_domain::findings::Metric;
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::{Measurement, Nanos, Op, Tally, ValueRange};

const PERCENTILES: [(&str, f64); 5] =
    [("p50", 0.5), ("p99", 0.99), ("p99-9", 0.999), ("p99-99", 0.9999), ("p99-999", 0.99999)];

/// A value of a point: the mean of its rounds, with the lowest and highest of them.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PointValue {
    /// Mean of the rounds, or the value over all I/Os; `None` if a round has no value.
    pub mean: Option<f64>,
    /// Range of the rounds; `None` for fewer than two rounds.
    pub range: Option<ValueRange>,
}

/// A point and its measured steps.
pub(crate) struct MeasuredPoint<'a> {
    /// Name of the point, such as `RND 4K RW65`.
    pub point: &'a str,
    /// Access pattern; `None` if the workload is not a single pattern.
    pub pattern: Option<AccessPattern>,
    pub steps: &'a [&'a Measurement],
    /// True if the steps are rounds of a measurement window: rates and average response time are
    /// then means of the rounds with their range, which shows the noise. Otherwise they are
    /// computed from all I/Os over the total time.
    pub rounds: bool,
}

impl MeasuredPoint<'_> {
    /// Returns all metrics that were measured.
    pub fn metrics(&self) -> Vec<Metric> {
        let mut metrics = Vec::new();
        metrics.extend(self.metric("iops", self.iops(), "IOPS"));
        metrics.extend(self.metric("throughput", self.mb_per_second(), "MB/s"));
        let total = self.total();
        metrics.extend(self.response_metrics(None, &total, self.art()));
        for op in [Op::Read, Op::Write] {
            let tally = self.direction(op);
            // If all I/Os have one direction, its metrics are those above.
            if (1..total.ios).contains(&tally.ios) {
                let art = PointValue { mean: tally.response_mean_ms(), range: None };
                metrics.extend(self.response_metrics(Some(op), &tally, art));
            }
        }
        metrics.extend(self.secondary_metrics());
        match &self.pattern {
            Some(pattern) => metrics.into_iter().map(|m| m.with_pattern(pattern)).collect(),
            None => metrics,
        }
    }

    /// Returns the tally of all I/Os, reads and writes together.
    pub fn total(&self) -> Tally {
        self.steps.iter().map(|step| step.total()).sum()
    }

    pub fn direction(&self, op: Op) -> Tally {
        self.steps.iter().map(|step| step.direction(op)).sum()
    }

    fn metric(&self, name: &str, value: PointValue, unit: &str) -> Option<Metric> {
        Metric::new(name, self.point, value.mean, unit).map(|metric| metric.with_range(value.range))
    }

    /// Returns the IOPS; reads and writes are added, never weighted.
    pub fn iops(&self) -> PointValue {
        if self.rounds {
            return self.mean_of_rounds(Measurement::iops);
        }
        PointValue { mean: self.per_second(self.total().ios), range: None }
    }

    pub fn mb_per_second(&self) -> PointValue {
        if self.rounds {
            return self.mean_of_rounds(Measurement::mb_per_second);
        }
        let bytes = self.steps.iter().map(|step| step.bytes().0).sum();
        PointValue { mean: self.per_second(bytes).map(|rate| rate / 1e6), range: None }
    }

    /// Returns the average response time in milliseconds. The standard averages rounds regardless
    /// of the number of I/Os in each.
    pub fn art(&self) -> PointValue {
        if self.rounds {
            return self.mean_of_rounds(|step| step.total().response_mean_ms());
        }
        PointValue { mean: self.total().response_mean_ms(), range: None }
    }

    /// Returns a sum over all steps per second of their total time.
    fn per_second(&self, sum: u64) -> Option<f64> {
        let time: f64 = self.steps.iter().map(|step| step.elapsed.as_secs_f64()).sum();
        (time > 0.0).then(|| sum as f64 / time)
    }

    fn mean_of_rounds(&self, value: fn(&Measurement) -> Option<f64>) -> PointValue {
        let values: Option<Vec<f64>> = self.steps.iter().map(|step| value(step)).collect();
        let range = values.filter(|values| values.len() > 1).and_then(ValueRange::from_values);
        PointValue { mean: mean(self.steps.iter().map(|step| value(step))), range }
    }

    /// Returns the response times of a tally: average, percentiles, minimum and maximum.
    fn response_metrics(
        &self,
        direction: Option<Op>,
        tally: &Tally,
        art: PointValue,
    ) -> Vec<Metric> {
        let metric = |name: &str, time: Option<Nanos>| {
            Metric::new(name, self.point, time.map(Nanos::as_millis_f64), "ms")
        };
        let mut metrics = Vec::new();
        metrics.extend(self.metric("art", art, "ms"));
        for (name, fraction) in PERCENTILES {
            metrics.extend(metric(name, tally.percentile(fraction)));
        }
        metrics.extend(metric("min-response", tally.response_shortest()));
        metrics.extend(metric("mrt", tally.response_longest()));
        metrics.into_iter().map(|metric| metric.only(direction)).collect()
    }

    /// Returns power, temperature, processor use and the device's own counts.
    fn secondary_metrics(&self) -> Vec<Metric> {
        let means = SecondaryMeans::new(self.steps);
        let metric = |name: &str, value, unit: &str| Metric::new(name, self.point, value, unit);
        let percent = |share: Option<f64>| share.map(|share| share * 100.0);
        // The counters of a device are known to a unit: the range is what they allow.
        let amplification = PointValue {
            mean: means.write_amplification.map(|amplification| amplification.ratio),
            range: means.write_amplification.map(|amplification| amplification.bounds()),
        };
        let mut metrics = vec![
            metric("power", means.power_milliwatts, "mW"),
            metric("iops-per-watt", means.iops_per_watt(self.iops().mean), "IOPS/W"),
            metric("joules-per-gb", means.joules_per_gb, "J/GB"),
            self.metric("write-amplification", amplification, ""),
            metric("temperature", means.temperature_celsius, "C"),
            metric("cpu-system", percent(means.cpu_system), "%"),
            metric("cpu-io-wait", percent(means.io_wait), "%"),
        ];
        for (count, sum) in means.known_counts() {
            metrics.push(metric(count.id, Some(sum as f64), count.unit));
        }
        metrics.into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::scripted::tally;
    use steadfast_domain::Bytes;
    use steadfast_domain::measurement::StreamTally;

    fn measurement(reads: u64, writes: u64) -> Measurement {
        let stream = |op, ios, milliseconds| {
            let response = Nanos::from_millis(milliseconds);
            StreamTally { op, tally: tally(ios, Bytes(ios * 4096), Some(response)) }
        };
        Measurement {
            elapsed: Nanos::SECOND,
            streams: vec![stream(Op::Read, reads, 1), stream(Op::Write, writes, 2)],
            ..Measurement::default()
        }
    }

    #[test]
    fn a_mix_has_every_direction_and_rounds_have_their_range() {
        let pattern = AccessPattern::random(Bytes::kib(4), 60);
        let steps = [&measurement(60, 40), &measurement(120, 80)];
        let point = |rounds| MeasuredPoint {
            point: "RND 4K RW60",
            pattern: Some(pattern),
            steps: &steps,
            rounds,
        };
        let of_rounds = point(true).metrics();
        let find = |name: &str, op| {
            let found = of_rounds.iter().find(|m| m.metric == name && m.direction == op);
            found.unwrap_or_else(|| panic!("{name} {op:?}"))
        };
        let iops = find("iops", None);
        assert_eq!(iops.value, 150.0);
        assert_eq!(iops.range, Some(ValueRange::new(100.0, 200.0)));
        assert_eq!((iops.size, iops.read_percent), (Some(Bytes::kib(4)), Some(60)));
        assert_eq!(find("art", Some(Op::Read)).value, 1.0);
        assert_eq!(find("art", Some(Op::Write)).value, 2.0);
        assert!((find("art", None).value - 1.4).abs() < 1e-9);
        assert!(find("p50", Some(Op::Write)).value >= 2.0);
        assert_eq!((find("min-response", None).value, find("mrt", None).value), (1.0, 2.0));
        assert_eq!(find("min-response", Some(Op::Write)).value, 2.0);
        assert!(of_rounds.iter().all(|m| m.metric != "p99-999"), "too few I/Os lie beyond");
        assert!(point(false).metrics().iter().all(|metric| metric.range.is_none()));
        let reads = measurement(60, 0);
        let reads_only =
            MeasuredPoint { point: "R", pattern: None, steps: &[&reads], rounds: false };
        assert!(reads_only.metrics().iter().all(|m| m.direction.is_none()), "no part is the whole");
    }
}
