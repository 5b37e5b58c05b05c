//! Computes a trend: selects the runs, and judges every metric of theirs.

use super::selection::{LeftOutRun, SelectedRuns, TrendError, TrendOptions, TrendRun, select};
use super::series::{self, MetricTrend, SeriesInput, TrendVerdict};
use crate::grouping::unique_by;
use crate::named_run::NamedRun;
use steadfast_domain::Findings;
use steadfast_domain::device_log::DEVICE_COUNTS;
use steadfast_domain::findings::{Metric, MetricGoal};

/// Metrics of a single I/O, whose noise is not normal.
const SINGLE_IO_METRICS: [&str; 2] = ["min-response", "mrt"];

/// Probability that a trend of noise alone has a change in any of its metrics.
const FALSE_ALARMS_MAX: f64 = 0.01;

/// The trend of a procedure.
#[derive(Debug, Clone)]
pub struct ProcedureTrend {
    /// Title of the procedure.
    pub title: String,
    /// ID of the procedure.
    pub procedure: String,
    /// Runs of the series, oldest first.
    pub runs: Vec<TrendRun>,
    /// Runs that are not in the series, with the reason, oldest first.
    pub left_out: Vec<LeftOutRun>,
    /// Name of the newest run if it is not in the series.
    pub newest_left_out: Option<String>,
    /// Labels of settings that only some runs state.
    pub not_stated: Vec<String>,
    /// Name of the baseline.
    pub baseline: Option<String>,
    /// Smallest change that counts, as a share.
    pub change_min: f64,
    /// Every metric with a better and a worse direction.
    pub metrics: Vec<MetricTrend>,
    pub(super) simulated: bool,
    pub(super) model: Option<String>,
    pub(super) method: String,
}

impl ProcedureTrend {
    /// Computes the trend of runs in any order.
    ///
    /// A metric is in it if it covers all operations and has a better direction. The rate in bytes
    /// is left out where the rate in I/Os says the same, and so are the shortest and the longest
    /// response time: each is that of a single I/O. Counts of events that a device reports are left
    /// out too: they are mostly 0, so that they have neither noise nor changes in percent.
    ///
    /// # Errors
    /// Returns [`TrendError`] if the runs have several procedures and none is chosen, if drive
    /// models or settings differ, if the baseline is unknown, or if no run is left.
    pub fn new(runs: Vec<NamedRun>, options: &TrendOptions) -> Result<ProcedureTrend, TrendError> {
        let SelectedRuns {
            title,
            procedure,
            series,
            left_out,
            newest_left_out,
            not_stated,
            baseline,
        } = select(runs, options)?;
        let metrics: Vec<&Metric> = metrics_of(series.iter().map(|run| &run.findings));
        let inputs = metrics.iter().map(|metric| SeriesInput {
            metric,
            values: series.iter().map(|run| same_metric(metric, &run.findings)).collect(),
            baseline_run: baseline.as_ref().and_then(|one| one.index),
            baseline: baseline.as_ref().and_then(|one| same_metric(metric, &one.run.findings)),
            has_baseline: baseline.is_some(),
        });
        let metrics = series::trends(inputs.collect(), options.change_min, FALSE_ALARMS_MAX);
        let newest = series.last().map(|run| &run.findings);
        Ok(ProcedureTrend {
            title,
            procedure,
            left_out,
            newest_left_out,
            not_stated,
            baseline: baseline.map(|one| one.run.name),
            change_min: options.change_min,
            metrics,
            simulated: series.iter().any(|run| run.findings.simulated),
            model: newest.and_then(|findings| findings.header.model.clone()),
            method: newest.map(|findings| findings.method.clone()).unwrap_or_default(),
            runs: series.iter().map(TrendRun::new).collect(),
        })
    }

    pub(super) fn count(&self, verdict: TrendVerdict) -> usize {
        self.metrics.iter().filter(|metric| metric.verdict == verdict).count()
    }

    /// Returns the metrics that got worse.
    pub fn regressions(&self) -> impl Iterator<Item = &MetricTrend> {
        self.metrics.iter().filter(|metric| metric.verdict == TrendVerdict::Worse)
    }

    /// Returns true if no metric got worse and the newest run is in the series.
    pub fn is_good(&self) -> bool {
        self.newest_left_out.is_none() && self.regressions().next().is_none()
    }
}

/// Returns the metrics of all runs in order of first appearance.
fn metrics_of<'a>(runs: impl Iterator<Item = &'a Findings>) -> Vec<&'a Metric> {
    let judged = runs.flat_map(|findings| {
        findings.metrics.iter().filter(move |metric| {
            metric.direction.is_none()
                && !DEVICE_COUNTS.iter().any(|count| count.id == metric.metric)
                && !SINGLE_IO_METRICS.contains(&metric.metric.as_str())
                && MetricGoal::from_unit(&metric.unit).is_some()
                && !findings.metrics.iter().any(|other| metric.repeats(other))
        })
    });
    unique_by(judged, |one, other| one.is_same(other))
}

/// Returns the metric of a run that measures the same.
fn same_metric<'a>(metric: &Metric, findings: &'a Findings) -> Option<&'a Metric> {
    findings.metrics.iter().find(|other| other.is_same(metric))
}
