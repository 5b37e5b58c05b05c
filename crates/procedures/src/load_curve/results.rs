//! Results of load-curve: maximum, rates of the curve, knee, and the search for the service level.

use super::search::SearchResult;
use super::setup::{CURVE, LoadCurve, MeasuredRate, SEARCH, keeps_up, steps_without_gap};
use crate::exhibits::cyclic_load::JudgedLoad;
use steadfast_domain::{Measurement, Nanos, Outcome, Record, Step, Tally, Verdict};

pub struct LoadCurveResults<'a> {
    /// Load that runs to steady state; `None` if the settings leave it out.
    pub preconditioning: Option<JudgedLoad<'a>>,
    pub closed_loop: JudgedLoad<'a>,
    /// Closed-loop maximum in IOPS; `None` until the closed loop has ended.
    pub maximum: Option<f64>,
    /// Rates of the curve, in ascending order.
    pub curve: Vec<OfferedPoint<'a>>,
    /// Rates at which the service level was searched for, in order.
    pub tried: Vec<OfferedPoint<'a>>,
    /// Result of the search; `None` without a service level, or before the search.
    pub search: Option<SearchResult>,
}

/// An offered rate and what was measured at it.
pub struct OfferedPoint<'a> {
    /// Rate in percent of the maximum.
    pub percent: f64,
    pub offered: f64,
    pub step: &'a Step,
    pub measurement: &'a Measurement,
    /// True if the device kept up with the rate; see [`Measurement::kept_up_below`].
    pub kept_up: bool,
    pub tally: Tally,
    pub is_knee: bool,
}

impl<'a> OfferedPoint<'a> {
    /// Creates the point of a rate in percent of `maximum`, the drawn I/Os per second of the closed
    /// loop.
    fn new(percent: f64, offered: f64, maximum: f64, step: &'a Step, outcome: &'a Outcome) -> Self {
        let measurement = &outcome.measurement;
        OfferedPoint {
            percent,
            offered,
            step,
            measurement,
            kept_up: keeps_up(step, measurement, Some(maximum)),
            tally: measurement.total(),
            is_knee: false,
        }
    }

    /// Returns a response time in milliseconds. A device that does not keep up has none: its
    /// queue, and with it every response time, grows for as long as the step lasts.
    fn steady(&self, time: Option<Nanos>) -> Option<f64> {
        time.filter(|_| self.kept_up).map(Nanos::as_millis_f64)
    }

    /// Returns a percentile of the response times in milliseconds; `None` if fewer than ten I/Os
    /// lie beyond it, or if the device did not keep up.
    pub fn percentile_ms(&self, fraction: f64) -> Option<f64> {
        self.steady(self.tally.percentile(fraction))
    }

    /// Returns the mean response time in milliseconds; `None` if the device did not keep up.
    pub fn mean_ms(&self) -> Option<f64> {
        self.tally.response_mean_ms().filter(|_| self.kept_up)
    }

    /// Returns the longest response time in milliseconds; `None` if the device did not keep up.
    pub fn longest_ms(&self) -> Option<f64> {
        self.steady(self.tally.response_longest())
    }

    /// Returns the 99 % start error in milliseconds; `None` if fewer than ten I/Os exceed it, or if
    /// the engine does not report it.
    pub fn start_error_ms(&self) -> Option<f64> {
        self.measurement.start_error.as_ref()?.p99().map(Nanos::as_millis_f64)
    }

    /// Returns the power: completed IOPS per millisecond of mean response time.
    fn power(&self) -> Option<f64> {
        Some(self.measurement.iops()? / self.mean_ms().filter(|mean| *mean > 0.0)?)
    }
}

impl<'a> LoadCurveResults<'a> {
    pub fn new(test: &'a LoadCurve, record: &'a Record) -> Self {
        let preconditioning = test.preparation.steady.as_ref();
        let maximum = test.measured_maximum(record);
        let curve = curve(test, record, maximum);
        let search = repeat_search(test, record, maximum, &curve);
        let mut results = LoadCurveResults {
            preconditioning: preconditioning.map(|load| JudgedLoad::new(load, record)),
            closed_loop: JudgedLoad::new(&test.maximum, record),
            search: search.result,
            maximum,
            curve,
            tried: search.tried,
        };
        let knee = results.knee(test).map(|knee| knee.percent);
        for point in &mut results.curve {
            point.is_knee = Some(point.percent) == knee;
        }
        results
    }

    /// Returns the verdict on steady state: on the preconditioning if it is not steady, else on
    /// the closed loop.
    pub fn verdict(&self) -> &Verdict {
        match &self.preconditioning {
            Some(load) if !load.verdict.steady => &load.verdict,
            _ => &self.closed_loop.verdict,
        }
    }

    /// Returns the point at this percentage; `None` if it was not offered.
    pub fn at(&self, percent: f64) -> Option<&OfferedPoint<'a>> {
        self.curve.iter().find(|point| (point.percent - percent).abs() < 1e-9)
    }

    pub fn points_kept_up(&self) -> impl Iterator<Item = &OfferedPoint<'a>> {
        self.curve.iter().filter(|point| point.kept_up)
    }

    /// Returns the knee: the point with the most power, the rate divided by the mean response time;
    /// `None` until all points were measured.
    pub fn knee(&self, test: &LoadCurve) -> Option<&OfferedPoint<'a>> {
        let is_whole = self.curve.len() == test.points.len();
        let powers = self.curve.iter().filter_map(|point| Some((point.power()?, point)));
        let knee = powers.max_by(|a, b| a.0.total_cmp(&b.0));
        knee.map(|(_, point)| point).filter(|_| is_whole)
    }

    /// Returns all measured rates in ascending order, those of the search included.
    pub fn ascending(&self) -> Vec<&OfferedPoint<'a>> {
        let mut all: Vec<_> = self.curve.iter().chain(&self.tried).collect();
        all.sort_by(|a, b| a.offered.total_cmp(&b.offered));
        all
    }
}

fn curve<'a>(test: &LoadCurve, record: &'a Record, maximum: Option<f64>) -> Vec<OfferedPoint<'a>> {
    let Some(maximum) = maximum else { return Vec::new() };
    let steps = steps_without_gap(record, CURVE).into_iter();
    steps
        .filter_map(|(step, outcome)| {
            let percent = *test.points.get(step.place.point.checked_sub(1)? as usize)?;
            let (offered, drawn) = (test.rate(maximum, percent), test.drawn(maximum));
            Some(OfferedPoint::new(percent, offered, drawn, step, outcome))
        })
        .collect()
}

/// The search of a record.
#[derive(Default)]
struct RepeatedSearch<'a> {
    /// Rates that were tried, in order.
    tried: Vec<OfferedPoint<'a>>,
    /// `None` without a service level, or before the search.
    result: Option<SearchResult>,
}

/// Repeats the search with the steps of a record.
fn repeat_search<'a>(
    test: &LoadCurve,
    record: &'a Record,
    maximum: Option<f64>,
    curve: &[OfferedPoint<'a>],
) -> RepeatedSearch<'a> {
    let mut repeated = RepeatedSearch::default();
    let (Some(slo), Some(maximum)) = (test.slo, maximum) else { return repeated };
    if curve.len() < test.points.len() {
        return repeated;
    }
    let measured = curve.iter().map(|point| MeasuredRate {
        rate: point.offered,
        step: point.step,
        measurement: point.measurement,
    });
    let mut search = test.search(slo, maximum, measured);
    for (step, outcome) in steps_without_gap(record, SEARCH) {
        let Some(rate) = search.next() else { break };
        let measured = MeasuredRate { rate, step, measurement: &outcome.measurement };
        search.add(rate, test.rate_answer(slo, maximum, &measured));
        let percent = rate / maximum * 100.0;
        let drawn = test.drawn(maximum);
        repeated.tried.push(OfferedPoint::new(percent, rate, drawn, step, outcome));
    }
    repeated.result = Some(search.result());
    repeated
}
