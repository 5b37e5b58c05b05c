//! Results of the zones, point by point.

use super::setup::{ZoneTest, ZoneTestKind};
use crate::exhibits::matrix::millis;
use crate::exhibits::tkperf::{NumberedValue, TkperfPoint};
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::{Measurement, Record, Tally};

/// Results of a test of zones, from which its tables and plots are made.
pub struct HddResults {
    /// Results of each point, in order, with a value for each zone.
    pub points: Vec<TkperfPoint>,
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

fn point(test: &ZoneTest, record: &Record, pattern: AccessPattern, number: u32) -> TkperfPoint {
    let phase = test.phase(pattern);
    let zones = (1..).zip(&test.zones);
    let mut values: Vec<NumberedValue> =
        zones.map(|(number, _)| NumberedValue { number, value: None }).collect();
    let mut all = Tally::default();
    for (step, outcome) in record.steps() {
        if step.place.phase != phase || step.place.point != number {
            continue;
        }
        let zone = (step.place.round as usize).wrapping_sub(1);
        if let Some(found) = values.get_mut(zone) {
            found.value = rate(test.kind, &outcome.measurement);
        }
        all.merge(&outcome.measurement.total());
    }
    TkperfPoint {
        pattern,
        mean: spread(&values).map(|spread| spread.mean),
        values,
        shortest: millis(all.response_shortest()),
        longest: millis(all.response_longest()),
    }
}

fn rate(kind: ZoneTestKind, measurement: &Measurement) -> Option<f64> {
    match kind {
        ZoneTestKind::Iops => measurement.iops(),
        ZoneTestKind::Throughput => measurement.mb_per_second(),
    }
}

/// Returns the distribution over the measured zones; `None` if no zone was measured.
pub fn spread(zones: &[NumberedValue]) -> Option<ZoneSpread> {
    let mut values: Vec<f64> = zones.iter().filter_map(|zone| zone.value).collect();
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
