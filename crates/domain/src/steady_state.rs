//! The steady-state rule: data excursion and slope excursion of every tracking variable in one
//! common window of rounds (PTS 2.0.2 clause 2.1.24).
//!
//! The limits come from the caller: only a specification contains them.

use crate::value_range::ValueRange;
use serde::{Deserialize, Serialize};

/// Value of a tracking variable in one round.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TrackPoint {
    /// Number of the round, as in the report.
    pub round: u32,
    /// Value; `None` if the round has none.
    pub value: Option<f64>,
    /// True if the run released the device before or during this round, so that no window may
    /// extend from here into earlier rounds.
    pub after_gap: bool,
}

/// A tracking variable: its values, round by round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Track {
    /// Name, such as `RND 4K W`.
    pub name: String,
    /// Unit of the values, such as `IOPS`.
    pub unit: String,
    /// Values in the order of the rounds.
    pub points: Vec<TrackPoint>,
}

/// Criteria for a steady window. Both limits are inclusive.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Criteria {
    /// Number of rounds in the window.
    pub window: u32,
    /// Limit for the largest minus the smallest value, as a fraction of the average.
    pub data_excursion: f64,
    /// Limit for the largest minus the smallest value of the fitted line, as a fraction of the
    /// average.
    pub slope_excursion: f64,
}

/// Verdict on one variable in one window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TrackVerdict {
    /// Name of the variable.
    pub name: String,
    /// Unit of the values.
    pub unit: String,
    /// Values in the window.
    pub values: Vec<f64>,
    /// Mean of the values.
    pub average: f64,
    /// Largest minus smallest value.
    pub data_excursion: f64,
    /// Limit for the data excursion.
    pub data_excursion_allowed: f64,
    /// Slope of the fitted line, per round.
    pub slope: f64,
    /// Value of the fitted line at round 0.
    pub intercept: f64,
    /// Absolute rise or fall of the fitted line across the window.
    pub slope_excursion: f64,
    /// Limit for the slope excursion.
    pub slope_excursion_allowed: f64,
    /// Correlation coefficient of the fit; `None` if all values are equal.
    pub correlation: Option<f64>,
    /// True if both excursions are within their limits and the average is positive.
    pub steady: bool,
}

/// Verdict on steady state: whether the criteria are met, in which window, and by what margin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Verdict {
    /// True if every variable is steady in the window.
    pub steady: bool,
    /// First and last round of the window; `None` if no window could be judged, for example with
    /// too few rounds.
    pub window: Option<(u32, u32)>,
    /// Verdict on each variable in the window; empty if no window could be judged.
    pub tracks: Vec<TrackVerdict>,
    /// Criteria that were applied.
    pub criteria: Criteria,
    /// Statement printed with the verdict: why values within the limits do not count, or a
    /// reservation if they do; `None` if there is nothing to add.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reservation: Option<String>,
}

impl Verdict {
    /// Returns the range of the values of the first variable in the window; `None` with fewer than
    /// two values.
    pub fn range(&self) -> Option<ValueRange> {
        let values = &self.tracks.first().filter(|track| track.values.len() > 1)?.values;
        ValueRange::from_values(values.iter().copied())
    }

    /// Changes the verdict to not steady, for a reason that the values do not show.
    pub fn refused(self, reason: impl Into<String>) -> Self {
        Verdict { steady: false, reservation: Some(reason.into()), ..self }
    }
}

/// Judges the window that ends with the last round.
///
/// ```
/// use steadfast_domain::steady_state::{Criteria, Track, TrackPoint, judge};
/// let points = (1..)
///     .zip([100.0, 101.0, 99.0, 100.0, 102.0])
///     .map(|(round, value)| TrackPoint { round, value: Some(value), after_gap: false })
///     .collect();
/// let track = Track { name: "RND 4K W".into(), unit: "IOPS".into(), points };
/// let criteria = Criteria { window: 5, data_excursion: 0.20, slope_excursion: 0.10 };
/// let verdict = judge(&[track], &criteria);
/// assert!(verdict.steady);
/// assert_eq!(verdict.window, Some((1, 5)));
/// ```
pub fn judge(tracks: &[Track], criteria: &Criteria) -> Verdict {
    judge_at(tracks, criteria, shared_rounds(tracks))
}

/// Returns the number of rounds that every variable has.
fn shared_rounds(tracks: &[Track]) -> usize {
    tracks.iter().map(|track| track.points.len()).min().unwrap_or(0)
}

/// Judges every window, in the order of the rounds: the window that ends with the first round that
/// can end one, then the next, and so on.
pub fn judge_every(tracks: &[Track], criteria: &Criteria) -> Vec<Verdict> {
    (1..=shared_rounds(tracks))
        .map(|end| judge_at(tracks, criteria, end))
        .filter(|verdict| verdict.window.is_some())
        .collect()
}

/// Returns the verdict on the first steady window, where a loop that stops at steady state would
/// have stopped; on the last window if none is steady.
pub fn judge_first_steady(tracks: &[Track], criteria: &Criteria) -> Verdict {
    judge_every(tracks, criteria)
        .into_iter()
        .find(|verdict| verdict.steady)
        .unwrap_or_else(|| judge(tracks, criteria))
}

/// Judges the window that ends just before point `end`.
fn judge_at(tracks: &[Track], criteria: &Criteria, end: usize) -> Verdict {
    let verdicts: Option<Vec<TrackVerdict>> =
        tracks.iter().map(|track| judge_track(track, criteria, end)).collect();
    let verdicts = verdicts.unwrap_or_default();
    let steady = !verdicts.is_empty() && verdicts.iter().all(|verdict| verdict.steady);
    let judged_track = tracks.first().filter(|_| !verdicts.is_empty());
    let window = judged_track.and_then(|track| window_before(track, criteria, end));
    let window = window.and_then(|window| Some((window.first()?.round, window.last()?.round)));
    Verdict { steady, window, tracks: verdicts, criteria: *criteria, reservation: None }
}

/// Returns the window that ends just before point `end`; `None` if there are too few points.
fn window_before<'t>(
    track: &'t Track,
    criteria: &Criteria,
    end: usize,
) -> Option<&'t [TrackPoint]> {
    let size = criteria.window as usize;
    let begin = end.checked_sub(size).filter(|_| size >= 2)?;
    track.points.get(begin..end)
}

/// Returns the verdict on the window that ends just before point `end`; `None` if it is not whole.
fn judge_track(track: &Track, criteria: &Criteria, end: usize) -> Option<TrackVerdict> {
    let window = window_before(track, criteria, end)?;
    let crosses_gap = window.iter().skip(1).any(|point| point.after_gap);
    if crosses_gap {
        return None;
    }
    let points: Option<Vec<(f64, f64)>> = window
        .iter()
        .map(|p| Some((f64::from(p.round), p.value.filter(|v| v.is_finite())?)))
        .collect();
    Some(measure(track, criteria, &points?))
}

fn measure(track: &Track, criteria: &Criteria, points: &[(f64, f64)]) -> TrackVerdict {
    let values: Vec<f64> = points.iter().map(|(_, value)| *value).collect();
    let fit = fit_line(points);
    let span = points[points.len() - 1].0 - points[0].0;
    let largest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let smallest = values.iter().copied().fold(f64::INFINITY, f64::min);
    let data_excursion = largest - smallest;
    let slope_excursion = fit.slope.abs() * span;
    let data_excursion_allowed = criteria.data_excursion * fit.average;
    let slope_excursion_allowed = criteria.slope_excursion * fit.average;
    TrackVerdict {
        name: track.name.clone(),
        unit: track.unit.clone(),
        values,
        average: fit.average,
        data_excursion,
        data_excursion_allowed,
        slope: fit.slope,
        intercept: fit.intercept,
        slope_excursion,
        slope_excursion_allowed,
        correlation: fit.correlation,
        steady: data_excursion <= data_excursion_allowed
            && slope_excursion <= slope_excursion_allowed
            && fit.average > 0.0,
    }
}

struct LineFit {
    average: f64,
    slope: f64,
    intercept: f64,
    correlation: Option<f64>,
}

/// Fits a line by ordinary least squares, centered on the means so that large values keep their
/// precision.
fn fit_line(points: &[(f64, f64)]) -> LineFit {
    let n = points.len() as f64;
    let mean_x = points.iter().map(|p| p.0).sum::<f64>() / n;
    let mean_y = points.iter().map(|p| p.1).sum::<f64>() / n;
    let sum = |f: &dyn Fn(f64, f64) -> f64| -> f64 {
        points.iter().map(|p| f(p.0 - mean_x, p.1 - mean_y)).sum()
    };
    let (xx, xy, yy) = (sum(&|x, _| x * x), sum(&|x, y| x * y), sum(&|_, y| y * y));
    let slope = xy / xx;
    let correlation = (yy > 0.0).then(|| xy / (xx * yy).sqrt());
    LineFit { average: mean_y, slope, intercept: mean_y - slope * mean_x, correlation }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linregress::{FormulaRegressionBuilder, RegressionDataBuilder};
    use proptest::prelude::*;

    const TWENTY_TEN: Criteria =
        Criteria { window: 5, data_excursion: 0.20, slope_excursion: 0.10 };

    fn track(first_round: u32, values: &[f64]) -> Track {
        let points = values
            .iter()
            .zip(first_round..)
            .map(|(value, round)| TrackPoint { round, value: Some(*value), after_gap: false })
            .collect();
        Track { name: "v".into(), unit: "IOPS".into(), points }
    }

    /// Windows of the two published TKperf reports: the ranges of the data and of the fitted line
    /// in percent of the average, to three decimals.
    #[test]
    fn the_published_windows() {
        type Case = (&'static str, u32, [f64; 5], f64, f64, f64);
        let cases: [Case; 6] = [
            ("S000 IOPS", 0, [20525., 20354., 19911., 20602., 19805.], 20239.4, 3.938, 2.356),
            ("S000 TP", 0, [283144., 346093., 346349., 283105., 345991.], 320936.4, 19.706, 7.815),
            (
                "S000 LAT",
                0,
                [66.493804, 61.24633, 61.194834, 61.35385, 64.886229],
                63.0350094,
                8.406,
                1.972,
            ),
            (
                "S001 IOPS",
                0,
                [400601., 466617., 455909., 443971., 456382.],
                444696.0,
                14.845,
                7.998,
            ),
            (
                "S001 TP",
                2,
                [2060584., 2079098., 2296659., 2153472., 2081413.],
                2134245.2,
                11.061,
                2.175,
            ),
            (
                "S001 LAT",
                0,
                [14.403009, 13.477131, 13.436298, 13.412567, 13.029086],
                13.5516182,
                10.138,
                8.301,
            ),
        ];
        for (name, first, values, average, data, slope) in cases {
            let verdict = judge(&[track(first, &values)], &TWENTY_TEN);
            let found = &verdict.tracks[0];
            assert!(verdict.steady, "{name}");
            assert_eq!(verdict.window, Some((first, first + 4)), "{name}");
            assert!((found.average - average).abs() < 1e-6, "{name}");
            assert_eq!(
                format!("{:.3}", found.data_excursion / average * 100.),
                format!("{data:.3}")
            );
            assert_eq!(
                format!("{:.3}", found.slope_excursion / average * 100.),
                format!("{slope:.3}")
            );
        }
    }

    #[test]
    fn limits_are_inclusive() {
        let at_limit = judge(&[track(1, &[100., 90., 100., 110., 100.])], &TWENTY_TEN);
        assert_eq!(at_limit.tracks[0].data_excursion, at_limit.tracks[0].data_excursion_allowed);
        assert!(at_limit.steady);
        assert!(!judge(&[track(1, &[100., 89., 100., 111., 100.])], &TWENTY_TEN).steady);
        let slope = judge(&[track(1, &[95., 97.5, 100., 102.5, 105.])], &TWENTY_TEN);
        assert!(slope.steady, "a slope excursion of exactly 10 % is within");
        assert!(!judge(&[track(1, &[94., 97., 100., 103., 106.])], &TWENTY_TEN).steady);
    }

    /// Example from the tutorial: 4K and 1024K are steady in rounds 1-5, 64K only in 2-6, so the
    /// common window is 2-6.
    #[test]
    fn all_variables_share_one_window() {
        let steady = [100., 101., 99., 100., 102., 100.];
        let tracks =
            [track(1, &steady), track(1, &[150., 101., 99., 100., 102., 100.]), track(1, &steady)];
        let windows: Vec<_> = judge_every(&tracks, &TWENTY_TEN)
            .iter()
            .map(|v| (v.window.unwrap(), v.steady))
            .collect();
        assert_eq!(windows, [((1, 5), false), ((2, 6), true)]);
    }

    #[test]
    fn no_window_spans_a_gap_or_a_missing_value() {
        let mut gapped = track(1, &[100.; 8]);
        gapped.points[3].after_gap = true;
        let windows: Vec<_> =
            judge_every(&[gapped], &TWENTY_TEN).iter().map(|v| v.window).collect();
        assert_eq!(windows, [Some((4, 8))]);
        let mut missing = track(1, &[100.; 5]);
        missing.points[2].value = None;
        assert!(!judge(&[missing], &TWENTY_TEN).steady);
        assert!(!judge(&[], &TWENTY_TEN).steady);
        assert!(!judge(&[track(1, &[0.; 5])], &TWENTY_TEN).steady, "a dead device is not steady");
    }

    proptest! {
        /// Compares the least-squares fit with another library.
        #[test]
        fn the_fit_agrees_with_linregress(
            values in prop::collection::vec(1.0f64..1e6, 5), first in 0u32..21
        ) {
            let verdict = judge(&[track(first, &values)], &TWENTY_TEN);
            let ours = &verdict.tracks[0];
            let rounds: Vec<f64> = (0..5).map(|i| f64::from(first + i)).collect();
            let data = RegressionDataBuilder::new()
                .build_from([("y", values.clone()), ("x", rounds)]).unwrap();
            let model =
                FormulaRegressionBuilder::new().data(&data).formula("y ~ x").fit().unwrap();
            let parameters = model.parameters();
            prop_assert!((ours.intercept - parameters[0]).abs() < 1e-5);
            prop_assert!((ours.slope - parameters[1]).abs() < 1e-6);
            prop_assert!((ours.correlation.unwrap().powi(2) - model.rsquared()).abs() < 1e-6);
        }

        #[test]
        fn scaling_the_values_changes_no_verdict(
            values in prop::collection::vec(50.0f64..150.0, 5), power in -8i32..9
        ) {
            let scaled: Vec<f64> = values.iter().map(|v| v * 2f64.powi(power)).collect();
            prop_assert_eq!(
                judge(&[track(1, &values)], &TWENTY_TEN).steady,
                judge(&[track(1, &scaled)], &TWENTY_TEN).steady
            );
        }
    }
}
