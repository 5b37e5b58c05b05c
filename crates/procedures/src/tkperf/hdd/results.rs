//! Results of the zones, point by point.

use super::setup::{ZoneTest, ZoneTestKind};
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::{Measurement, Nanos, Record, Tally};

/// Results of a test of zones, from which its tables and plots are made.
pub struct HddResults {
    /// Results of each point, in order.
    pub points: Vec<HddPoint>,
}

pub struct HddPoint {
    pub pattern: AccessPattern,
    /// IOPS or MB/s of each zone; `None` for a zone that was not measured.
    pub values: Vec<Option<f64>>,
    /// Minimum response time over all zones, in milliseconds; `None` if a zone lacks it.
    pub shortest: Option<f64>,
    /// Maximum response time over all zones, in milliseconds.
    pub longest: Option<f64>,
}

/// Distribution of the values of a point over the zones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ZoneSpread {
    pub least: f64,
    /// First quartile, interpolated.
    pub lower: f64,
    pub median: f64,
    /// Third quartile, interpolated.
    pub upper: f64,
    pub most: f64,
    pub mean: f64,
}

impl HddResults {
    pub fn new(test: &ZoneTest, record: &Record) -> Self {
        let points = test.kind.points().into_iter().zip(1..);
        let points = points.map(|(pattern, number)| point(test, record, pattern, number));
        HddResults { points: points.collect() }
    }
}

fn point(test: &ZoneTest, record: &Record, pattern: AccessPattern, number: u32) -> HddPoint {
    let phase = test.phase(pattern);
    let mut values = vec![None; test.zones.len()];
    let mut all = Tally::default();
    let own =
        record.steps().filter(|(step, _)| step.place.phase == phase && step.place.point == number);
    for (step, outcome) in own {
        let zone = (step.place.round as usize).wrapping_sub(1);
        if let Some(value) = values.get_mut(zone) {
            *value = rate(test.kind, &outcome.measurement);
        }
        all.merge(&outcome.measurement.total());
    }
    let ms = |time: Option<Nanos>| time.map(Nanos::as_millis_f64);
    let (shortest, longest) = (ms(all.response_shortest()), ms(all.response_longest()));
    HddPoint { pattern, values, shortest, longest }
}

fn rate(kind: ZoneTestKind, measurement: &Measurement) -> Option<f64> {
    match kind {
        ZoneTestKind::Iops => measurement.iops(),
        ZoneTestKind::Throughput => measurement.mb_per_second(),
    }
}

impl HddPoint {
    /// Returns the distribution over the measured zones; `None` if no zone was measured.
    pub fn spread(&self) -> Option<ZoneSpread> {
        let mut values: Vec<f64> = self.values.iter().copied().flatten().collect();
        values.sort_by(f64::total_cmp);
        let (least, most) = (*values.first()?, *values.last()?);
        let percentile = |part: f64| {
            let at = part * (values.len() - 1) as f64;
            let (below, above) = (values[at.floor() as usize], values[at.ceil() as usize]);
            below + (above - below) * at.fract()
        };
        Some(ZoneSpread {
            least,
            lower: percentile(0.25),
            median: percentile(0.5),
            upper: percentile(0.75),
            most,
            mean: values.iter().sum::<f64>() / values.len() as f64,
        })
    }
}
