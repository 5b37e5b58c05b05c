//! The trend of one metric: level changes, noise and the comparison with a baseline.

use std::ops::Range;
use steadfast_domain::ValueRange;
use steadfast_domain::findings::{Metric, MetricGoal, may_be_noise};
use steadfast_domain::level_changes::{LevelSearch, ln_p_of_difference};

/// Minimum number of runs for a search for level changes.
pub const TREND_RUNS_MIN: usize = 5;

/// Number of rounds of a measurement window.
const WINDOW_ROUNDS: f64 = 5.0;

/// Expected range of five values of normal noise, in standard deviations (d2 of control charts,
/// ISO 7870-2).
const RANGE_OF_FIVE: f64 = 2.326;

/// Judgment of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrendVerdict {
    /// Worse than the baseline, or than before the last change.
    Worse,
    /// Better than the baseline, or than before the last change.
    Better,
    /// No change that counts.
    Same,
    /// Too few runs, or a value that cannot be judged.
    NotJudged,
}

/// A change of the level of a metric.
#[derive(Debug, Clone, PartialEq)]
pub struct LevelChange {
    /// Index of the first run of the new level.
    pub run: usize,
    /// Level before, the geometric mean of its runs.
    pub before: f64,
    /// Level from this run on.
    pub after: f64,
    /// Number of runs of the new level.
    pub runs: usize,
    /// Change in percent of the level before.
    pub percent: f64,
    /// True if it is a change for the worse.
    pub is_worse: bool,
}

/// A metric over the runs of a series.
#[derive(Debug, Clone)]
pub struct MetricTrend {
    /// The metric in the first run that has it.
    pub metric: Metric,
    /// Value in each run.
    pub values: Vec<Option<f64>>,
    /// Range of the rounds of each run's measurement window.
    pub ranges: Vec<Option<ValueRange>>,
    /// Standard deviation of a run's value in percent of its level; `None` if unknown.
    pub noise_percent: Option<f64>,
    /// True if that noise follows from the measurement windows: the runs themselves differ less.
    pub noise_of_windows: bool,
    /// Level that each run belongs to; `None` for a run without a value, or without a search.
    pub levels: Vec<Option<f64>>,
    /// Level changes, oldest first.
    pub changes: Vec<LevelChange>,
    /// Value of the baseline.
    pub baseline: Option<f64>,
    /// Change of the newest level in percent: from the baseline or, if none was chosen, from the
    /// level before; `None` if there is neither.
    pub percent: Option<f64>,
    /// Index of the first run of the newest level; without a search, of the newest run with a value.
    pub first_run: Option<usize>,
    /// Judgment of the newest level.
    pub verdict: TrendVerdict,
}

/// A metric with its values, before the search.
pub(super) struct SeriesInput<'a> {
    pub metric: &'a Metric,
    /// Metric in each run.
    pub values: Vec<Option<&'a Metric>>,
    /// Index of the baseline if it is a run of the series.
    pub baseline_run: Option<usize>,
    /// Metric in the baseline.
    pub baseline: Option<&'a Metric>,
    /// True if a baseline was chosen, even if it lacks this metric.
    pub has_baseline: bool,
}

/// The runs that have a value, and the search among them.
struct SearchedSeries<'a> {
    input: SeriesInput<'a>,
    /// Indexes of the runs that have a value.
    runs: Vec<usize>,
    noise_of_windows: Option<f64>,
    search: Option<LevelSearch>,
    /// Change points as indexes into `runs`.
    points: Vec<usize>,
}

/// A change against the baseline, in percent, and the logarithm of its probability by chance.
#[derive(Clone, Copy)]
struct BaselineChange {
    percent: f64,
    ln_p: f64,
}

/// Returns the trend of every metric. `change_min` is the smallest change that counts, as a share.
/// With noise alone, the probability that any metric has a change is at most `false_alarms`.
pub(super) fn trends(
    inputs: Vec<SeriesInput<'_>>,
    change_min: f64,
    false_alarms: f64,
) -> Vec<MetricTrend> {
    let mut series: Vec<SearchedSeries<'_>> = inputs.into_iter().map(SearchedSeries::new).collect();
    let ln_ps = series.iter().filter_map(|one| one.search.as_ref().map(LevelSearch::ln_p));
    let ln_p_max = threshold(ln_ps.collect(), false_alarms);
    for one in &mut series {
        one.points = one.search.as_ref().map_or(Vec::new(), |s| s.changes(ln_p_max, change_min));
    }
    let changes: Vec<Option<BaselineChange>> =
        series.iter().map(|one| one.change_from_baseline(change_min)).collect();
    let ln_p_max =
        threshold(changes.iter().flatten().map(|change| change.ln_p).collect(), false_alarms);
    series
        .into_iter()
        .zip(changes)
        .map(|(one, change)| one.trend(change, ln_p_max, change_min))
        .collect()
}

/// Returns the greatest logarithm of a probability that counts as significant among several tests:
/// the procedure of Benjamini and Hochberg (JRSS B 57(1), 1995). With noise alone, any test is
/// significant with a probability of at most `false_alarms`.
fn threshold(mut ln_ps: Vec<f64>, false_alarms: f64) -> f64 {
    ln_ps.sort_by(f64::total_cmp);
    let each = false_alarms.ln() - (ln_ps.len().max(1) as f64).ln();
    let allowed = |count: usize| each + (count as f64).ln();
    let significant = (1..=ln_ps.len()).rev().find(|count| ln_ps[count - 1] <= allowed(*count));
    allowed(significant.unwrap_or(1))
}

/// Returns the relative standard error of a metric's value, from the rounds of its window.
fn window_error(metric: &Metric) -> Option<f64> {
    let sigma = metric.range?.width() / RANGE_OF_FIVE / metric.value;
    (sigma.is_finite() && sigma >= 0.0).then_some(sigma / WINDOW_ROUNDS.sqrt())
}

impl<'a> SearchedSeries<'a> {
    fn new(input: SeriesInput<'a>) -> Self {
        let present =
            input.values.iter().enumerate().filter_map(|(run, metric)| Some((run, (*metric)?)));
        let (runs, metrics): (Vec<usize>, Vec<&Metric>) = present.unzip();
        let errors: Vec<f64> = metrics.iter().filter_map(|metric| window_error(metric)).collect();
        let squares: f64 = errors.iter().map(|error| error * error).sum();
        let noise_of_windows = (!errors.is_empty()).then(|| (squares / errors.len() as f64).sqrt());
        let values: Vec<f64> = metrics.iter().map(|metric| metric.value).collect();
        let search = (values.len() >= TREND_RUNS_MIN)
            .then(|| LevelSearch::new(&values, noise_of_windows))
            .flatten();
        SearchedSeries { input, runs, noise_of_windows, search, points: Vec::new() }
    }

    /// Returns the change of the newest level from the baseline; `None` if it cannot be judged.
    fn change_from_baseline(&self, change_min: f64) -> Option<BaselineChange> {
        let baseline = self.input.baseline?;
        let percent_from = |base: f64, now: f64| (now / base - 1.0) * 100.0;
        let Some(search) = &self.search else {
            // Too few runs for their own noise: the windows of both runs decide.
            let newest = self.input.values.last().copied().flatten()?;
            let percent = percent_from(baseline.value, newest.value);
            baseline.range.and(newest.range)?;
            let is_noise =
                may_be_noise(baseline.range, newest.range) || percent.abs() < change_min * 100.0;
            let ln_p = if is_noise { 0.0 } else { f64::NEG_INFINITY };
            return percent.is_finite().then_some(BaselineChange { percent, ln_p });
        };
        let levels: Vec<Range<usize>> = search.levels(&self.points).collect();
        let newest = levels.last()?.clone();
        let baseline_level = self.input.baseline_run.and_then(|run| {
            let at = self.runs.iter().position(|other| *other == run)?;
            levels.into_iter().find(|level| level.contains(&at))
        });
        let now = search.mean(newest.clone());
        let (base, count) = match baseline_level {
            Some(level) if level == newest => {
                return Some(BaselineChange { percent: 0.0, ln_p: 0.0 });
            }
            Some(level) => (search.mean(level.clone()), level.len()),
            None => (baseline.value, 1),
        };
        let noise = search.noise(&self.points);
        let ln_p = ln_p_of_difference((now / base).ln(), noise, count, newest.len());
        let percent = percent_from(base, now);
        percent.is_finite().then_some(BaselineChange { percent, ln_p })
    }

    fn trend(
        self,
        from_baseline: Option<BaselineChange>,
        ln_p_max: f64,
        change_min: f64,
    ) -> MetricTrend {
        let goal = MetricGoal::from_unit(&self.input.metric.unit);
        let is_worse = |percent: f64| goal.is_some_and(|goal| goal.is_worse(percent));
        let changes = self.changes(is_worse);
        let verdict_of_change = |percent: f64| {
            if is_worse(percent) { TrendVerdict::Worse } else { TrendVerdict::Better }
        };
        let (percent, verdict) = match (self.input.has_baseline, from_baseline, changes.last()) {
            (true, None, _) => (None, TrendVerdict::NotJudged),
            (true, Some(BaselineChange { percent, ln_p }), _) => {
                let counts = ln_p <= ln_p_max && percent.abs() >= change_min * 100.0;
                (
                    Some(percent),
                    if counts { verdict_of_change(percent) } else { TrendVerdict::Same },
                )
            }
            (false, _, Some(last)) => (Some(last.percent), verdict_of_change(last.percent)),
            (false, _, None) if self.search.is_some() => (None, TrendVerdict::Same),
            (false, _, None) => (None, TrendVerdict::NotJudged),
        };
        // A metric that the newest run lacks is not judged, unless its newest level is worse.
        let is_measured = self.input.values.last().is_some_and(Option::is_some);
        let is_known = is_measured || verdict == TrendVerdict::Worse;
        let verdict = if is_known { verdict } else { TrendVerdict::NotJudged };
        let noise = self.search.as_ref().map(|search| search.noise(&self.points).sigma);
        let noise = noise.or(self.noise_of_windows);
        let first_run = match (changes.last(), &self.search) {
            (Some(change), _) => Some(change.run),
            (None, Some(_)) => self.runs.first().copied(),
            // Without a search the newest run alone is judged.
            (None, None) => self.runs.last().copied(),
        };
        MetricTrend {
            metric: self.input.metric.clone(),
            values: self.input.values.iter().map(|one| one.map(|metric| metric.value)).collect(),
            ranges: self.input.values.iter().map(|one| one.and_then(|m| m.range)).collect(),
            noise_percent: noise.map(|sigma| sigma * 100.0),
            noise_of_windows: noise.is_some() && noise == self.noise_of_windows,
            levels: self.levels(),
            changes,
            baseline: self.input.baseline.map(|metric| metric.value),
            percent,
            first_run,
            verdict,
        }
    }

    fn levels(&self) -> Vec<Option<f64>> {
        let mut levels = vec![None; self.input.values.len()];
        let Some(search) = &self.search else { return levels };
        for values in search.levels(&self.points) {
            let level = search.mean(values.clone());
            self.runs[values].iter().for_each(|run| levels[*run] = Some(level));
        }
        levels
    }

    fn changes(&self, is_worse: impl Fn(f64) -> bool) -> Vec<LevelChange> {
        let Some(search) = &self.search else { return Vec::new() };
        let levels: Vec<Range<usize>> = search.levels(&self.points).collect();
        let mut changes = Vec::new();
        for pair in levels.windows(2) {
            let [before, after] = [&pair[0], &pair[1]].map(|level| search.mean(level.clone()));
            let percent = (after / before - 1.0) * 100.0;
            changes.push(LevelChange {
                run: self.runs[pair[1].start],
                before,
                after,
                runs: pair[1].len(),
                percent,
                is_worse: is_worse(percent),
            });
        }
        changes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threshold_is_that_of_benjamini_and_hochberg() {
        // The worked example of the paper: 15 tests at 5 %; four are significant.
        let ps = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262,
            0.5719, 0.6528, 0.7590, 1.0,
        ];
        let threshold = threshold(ps.map(f64::ln).to_vec(), 0.05).exp();
        assert!((threshold - 4.0 / 15.0 * 0.05).abs() < 1e-12, "{threshold}");
        assert_eq!(ps.iter().filter(|p| **p <= threshold).count(), 4);
    }

    #[test]
    fn a_window_of_five_rounds_gives_the_error_of_its_mean() {
        let metric = Metric::new("iops", "x", Some(1000.0), "IOPS").unwrap();
        let with_range = metric.clone().with_range(Some(ValueRange::new(988.37, 1011.63)));
        assert!((window_error(&with_range).unwrap() - 0.01 / 5_f64.sqrt()).abs() < 1e-6);
        assert_eq!(window_error(&metric), None);
    }
}
