//! Metrics of a point in long form: rates, response times of all I/Os and of each direction,
//! power, temperature and processor use.

use super::secondary::{Secondary, mean};
use steadfast_domain::findings::Metric;
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::{Measurement, Nanos, Op, Tally};

/// Reported percentiles: name and fraction.
const PERCENTILES: [(&str, f64); 5] =
    [("p50", 0.5), ("p99", 0.99), ("p99-9", 0.999), ("p99-99", 0.9999), ("p99-999", 0.99999)];

/// A point and the steps that measured it.
pub(crate) struct Measured<'a> {
    /// Name of the point, such as `RND 4K RW65`.
    pub point: &'a str,
    /// Access pattern; `None` if the workload is not a single pattern.
    pub pattern: Option<AccessPattern>,
    /// Measurements of the steps.
    pub steps: &'a [&'a Measurement],
    /// True if the steps are rounds of a measurement window: rates and average response time are
    /// then means of the rounds with their range, which shows the noise. Otherwise they are
    /// computed from all I/Os over the total time.
    pub rounds: bool,
}

impl Measured<'_> {
    /// Returns all metrics of the point that were measured.
    pub fn metrics(&self) -> Vec<Metric> {
        let mut all: Vec<Metric> = self.rates().into_iter().flatten().collect();
        let mut total = Tally::default();
        self.steps.iter().for_each(|step| total.merge(&step.total()));
        all.extend(self.responses(None, &total, self.art()));
        let is_mixed = |op: &Op| (1..total.ios).contains(&self.direction(*op).ios);
        for op in [Op::Read, Op::Write].into_iter().filter(is_mixed) {
            let tally = self.direction(op);
            let art = tally.response_mean_ms();
            all.extend(self.responses(Some(op), &tally, (art, None)));
        }
        all.extend(self.sensed().into_iter().flatten());
        match &self.pattern {
            Some(pattern) => all.into_iter().map(|metric| metric.of(pattern)).collect(),
            None => all,
        }
    }

    fn direction(&self, op: Op) -> Tally {
        let mut tally = Tally::default();
        self.steps.iter().for_each(|step| tally.merge(&step.direction(op)));
        tally
    }

    fn metric(&self, name: &str, value: Option<f64>, unit: &str) -> Option<Metric> {
        Metric::new(name, self.point, value, unit)
    }

    fn rates(&self) -> [Option<Metric>; 2] {
        let time: f64 = self.steps.iter().map(|step| step.elapsed.as_secs_f64()).sum();
        let ios: u64 = self.steps.iter().map(|step| step.total().ios).sum();
        let bytes: u64 = self.steps.iter().map(|step| step.bytes().0).sum();
        let over_all = |sum: u64| (time > 0.0).then(|| sum as f64 / time);
        let (iops, rate) = (self.every(&|m| m.iops()), self.every(&|m| m.mb_per_second()));
        let (iops, rate) = if self.rounds {
            (iops, rate)
        } else {
            ((over_all(ios), None), (over_all(bytes).map(|rate| rate / 1e6), None))
        };
        [
            self.metric("iops", iops.0, "IOPS").map(|metric| metric.ranging(iops.1)),
            self.metric("throughput", rate.0, "MB/s").map(|metric| metric.ranging(rate.1)),
        ]
    }

    fn art(&self) -> (Option<f64>, Option<(f64, f64)>) {
        let of_step = |m: &Measurement| m.total().response_mean_ms();
        if self.rounds {
            return self.every(&of_step);
        }
        let mut total = Tally::default();
        self.steps.iter().for_each(|step| total.merge(&step.total()));
        (total.response_mean_ms(), None)
    }

    /// Returns the mean of the steps' values, and their smallest and largest value.
    fn every(
        &self,
        value: &dyn Fn(&Measurement) -> Option<f64>,
    ) -> (Option<f64>, Option<(f64, f64)>) {
        let values: Option<Vec<f64>> = self.steps.iter().map(|step| value(step)).collect();
        let range = values.filter(|values| values.len() > 1).map(|values| {
            values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| {
                (low.min(*v), high.max(*v))
            })
        });
        (mean(self.steps.iter().map(|step| value(step))), range)
    }

    fn responses(
        &self,
        direction: Option<Op>,
        tally: &Tally,
        art: (Option<f64>, Option<(f64, f64)>),
    ) -> Vec<Metric> {
        let ms = |time: Option<Nanos>| time.map(Nanos::as_millis_f64);
        let mean = self.metric("art", art.0, "ms").map(|metric| metric.ranging(art.1));
        let parts = PERCENTILES
            .map(|(name, fraction)| self.metric(name, ms(tally.percentile(fraction)), "ms"));
        let longest = self.metric("mrt", ms(tally.response_longest()), "ms");
        let all = std::iter::once(mean).chain(parts).chain([longest]).flatten();
        all.map(|metric| metric.only(direction)).collect()
    }

    fn sensed(&self) -> [Option<Metric>; 4] {
        let sensed = Secondary::of(self.steps);
        let percent = |share: Option<f64>| share.map(|share| share * 100.0);
        [
            self.metric("power", sensed.power_milliwatts, "mW"),
            self.metric("temperature", sensed.temperature_celsius, "C"),
            self.metric("cpu-system", percent(sensed.cpu_system), "%"),
            self.metric("cpu-io-wait", percent(sensed.io_wait), "%"),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::measurement::StreamTally;
    use steadfast_domain::{Bytes, FineHistogram};

    fn measurement(reads: u64, writes: u64) -> Measurement {
        let tally = |ios: u64, response: u64| Tally {
            ios,
            bytes: Bytes(ios * 4096),
            response_sum: Nanos(ios * response),
            response_max: Nanos(response),
            histogram: {
                let mut dense = vec![0u64; FineHistogram::LEN];
                dense[FineHistogram::index(response)] = ios;
                FineHistogram::from_dense(&dense)
            },
            outstanding: 0,
        };
        let of = |op, ios, response| StreamTally { op, tally: tally(ios, response) };
        Measurement {
            elapsed: Nanos::SECOND,
            streams: vec![of(Op::Read, reads, 1_000_000), of(Op::Write, writes, 2_000_000)],
            ..Measurement::default()
        }
    }

    #[test]
    fn a_mix_has_every_direction_and_rounds_have_their_range() {
        let (one, two) = (measurement(60, 40), measurement(120, 80));
        let pattern = AccessPattern::random(Bytes::kib(4), 60);
        let steps = [&one, &two];
        let of = |rounds| Measured {
            point: "RND 4K RW60",
            pattern: Some(pattern),
            steps: &steps,
            rounds,
        };
        let all = of(true).metrics();
        let find = |name: &str, op| {
            let mut of = all.iter().filter(|m| m.metric == name && m.direction == op);
            of.next().unwrap_or_else(|| panic!("{name} {op:?}"))
        };
        let iops = find("iops", None);
        assert_eq!((iops.value, iops.range), (150.0, Some((100.0, 200.0))));
        assert_eq!((iops.size, iops.read_percent), (Some(Bytes::kib(4)), Some(60)));
        assert_eq!(find("art", Some(Op::Read)).value, 1.0);
        assert_eq!(find("art", Some(Op::Write)).value, 2.0);
        assert!((find("art", None).value - 1.4).abs() < 1e-9);
        assert!(find("p50", Some(Op::Write)).value >= 2.0);
        assert!(all.iter().all(|m| m.metric != "p99-999"), "too few I/Os lie beyond");
        let whole = of(false).metrics();
        assert!(whole.iter().all(|metric| metric.range.is_none()));
        let reads = measurement(60, 0);
        let alone = Measured { point: "R", pattern: None, steps: &[&reads], rounds: false };
        assert!(alone.metrics().iter().all(|m| m.direction.is_none()), "no part is the whole");
    }
}
