//! Thins long curves to their envelope, which keeps every peak and every break.

use steadfast_domain::findings::{Plot, Series};

/// Maximum number of points that a page can show; longer curves are thinned.
const DRAWN_POINTS: usize = 1000;

/// Number of points kept per slice: first, lowest, highest, last.
const KEPT_PER_SLICE: usize = 4;

/// Number of points kept per slice of a band: first and last.
const KEPT_PER_BAND_SLICE: usize = 2;

/// Returns the plot with long curves thinned, and a caption that says so.
pub(super) fn thinned(mut plot: Plot) -> Plot {
    let mut widest = 1;
    for series in &mut plot.series {
        widest = widest.max(thin(series));
    }
    if widest > 1 {
        plot.caption = format!(
            "{} Of every {widest} points, only the first, lowest, highest and last are drawn.",
            plot.caption
        );
    }
    plot
}

/// Thins a series; returns the number of points per slice.
fn thin(series: &mut Series) -> usize {
    let points = std::mem::take(&mut series.points);
    if series.upper.is_empty() {
        let every = points_per_slice(points.len(), KEPT_PER_SLICE);
        series.points = envelope(points, every);
        return every;
    }
    let every = points_per_slice(points.len(), KEPT_PER_BAND_SLICE);
    let band = points
        .into_iter()
        .zip(std::mem::take(&mut series.upper))
        .map(|((x, low), high)| BandPoint { x, low, high })
        .collect();
    let kept = envelope_of_band(band, every);
    series.points = kept.iter().map(|point| (point.x, point.low)).collect();
    series.upper = kept.iter().map(|point| point.high).collect();
    every
}

/// Returns the number of points per slice if each slice is reduced to `kept` points; 1 if the curve is short enough.
fn points_per_slice(points: usize, kept: usize) -> usize {
    if points <= DRAWN_POINTS { 1 } else { (points * kept).div_ceil(DRAWN_POINTS) }
}

/// The lower and the upper edge of a band at one x.
struct BandPoint {
    x: f64,
    low: Option<f64>,
    high: Option<f64>,
}

impl BandPoint {
    fn has_edges(&self) -> bool {
        self.low.is_some() && self.high.is_some()
    }
}

/// Thins a band to the lowest lower and highest upper edge of every slice, from its first to its
/// last x. A missing value ends a slice and is kept.
fn envelope_of_band(band: Vec<BandPoint>, every: usize) -> Vec<BandPoint> {
    if every == 1 {
        return band;
    }
    let runs = band.chunk_by(|a, b| a.has_edges() == b.has_edges());
    let slices = runs.flat_map(|run| run.chunks(every));
    slices.flat_map(outline).collect()
}

/// Returns the first and last x of a slice with its lowest and highest edge, without duplicates; a
/// slice of missing values has no edges.
fn outline(slice: &[BandPoint]) -> Vec<BandPoint> {
    let (low, high) = if slice.iter().all(BandPoint::has_edges) {
        (
            slice.iter().filter_map(|point| point.low).min_by(f64::total_cmp),
            slice.iter().filter_map(|point| point.high).max_by(f64::total_cmp),
        )
    } else {
        (None, None)
    };
    let mut ends: Vec<f64> =
        [slice.first(), slice.last()].into_iter().flatten().map(|point| point.x).collect();
    ends.dedup();
    ends.into_iter().map(|x| BandPoint { x, low, high }).collect()
}

/// Thins a curve to the extremes of every slice. A missing value ends a slice and is kept.
fn envelope(points: Vec<(f64, Option<f64>)>, every: usize) -> Vec<(f64, Option<f64>)> {
    if every == 1 {
        return points;
    }
    let runs = points.chunk_by(|a, b| a.1.is_some() == b.1.is_some());
    let slices = runs.flat_map(|run| run.chunks(every));
    slices.flat_map(extremes).collect()
}

/// Returns the first, lowest, highest and last point of a slice, in order and without duplicates.
fn extremes(slice: &[(f64, Option<f64>)]) -> Vec<(f64, Option<f64>)> {
    let height = |at: &usize| slice[*at].1.unwrap_or_default();
    let by_height = |a: &usize, b: &usize| height(a).total_cmp(&height(b));
    let last = slice.len().saturating_sub(1);
    let lowest = (0..slice.len()).min_by(by_height).unwrap_or(0);
    let highest = (0..slice.len()).max_by(by_height).unwrap_or(0);
    let mut kept = vec![0, lowest, highest, last];
    kept.sort_unstable();
    kept.dedup();
    kept.into_iter().filter_map(|at| slice.get(at).copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exhibits::pages::page;
    use proptest::prelude::*;
    use steadfast_domain::findings::{Axis, Exhibit, Scale, Stroke};

    #[test]
    fn a_long_curve_keeps_its_peaks_and_its_breaks() {
        let mut points: Vec<(f64, Option<f64>)> =
            (0..10_007).map(|n| (f64::from(n), Some(100.0 + f64::from(n % 7)))).collect();
        points[4_321].1 = Some(1.0);
        points[7_777].1 = Some(9_000.0);
        points[5_003].1 = None;
        let plot =
            Plot::lines("p", "P", Axis::new("x", Scale::Linear), Axis::new("y", Scale::Linear))
                .caption("Every step.")
                .with(Series::new("s", Stroke::Measured, points.clone()));
        let drawn = page("Page", vec![Exhibit::Plot(plot.clone())]);
        let Exhibit::Plot(drawn) = &drawn.exhibits[0] else { panic!("{drawn:?}") };
        let kept = &drawn.series[0].points;
        assert!(kept.len() <= 1_010, "{}", kept.len());
        for at in [0, 4_321, 5_003, 7_777, 10_006] {
            assert!(kept.contains(&points[at]), "{at}");
        }
        assert!(kept.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert!(drawn.caption.starts_with("Every step. Of every 41 points"), "{}", drawn.caption);
        let mut short = plot;
        short.series[0].points.truncate(DRAWN_POINTS);
        assert_eq!(thinned(short.clone()), short);
    }

    /// The lowest and the highest of the values, and how many lines they make.
    fn reach(points: &[(f64, Option<f64>)]) -> (Option<f64>, Option<f64>, usize) {
        let values = || points.iter().filter_map(|point| point.1);
        let lines = points.chunk_by(|a, b| a.1.is_some() == b.1.is_some());
        let lines = lines.filter(|line| line[0].1.is_some()).count();
        (values().min_by(f64::total_cmp), values().max_by(f64::total_cmp), lines)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(83))]

        /// Wherever the curve is cut: each part of it has the peaks and the breaks that it had.
        #[test]
        fn no_peak_and_no_gap_vanishes(
            values in prop::collection::vec(prop::option::weighted(0.97, -1e6..1e6f64), 1..10_007),
            wide in 0.0..1e6f64,
        ) {
            let points: Vec<(f64, Option<f64>)> =
                (0u32..).map(f64::from).zip(values.iter().copied()).collect();
            let every = points_per_slice(points.len(), KEPT_PER_SLICE);
            let kept = envelope(points.clone(), every);
            prop_assert_eq!(reach(&kept), reach(&points));
            prop_assert!(kept.windows(2).all(|pair| pair[0].0 < pair[1].0));
            for part in points.chunks(every * 3) {
                let inside = |x: f64| (part[0].0..=part[part.len() - 1].0).contains(&x);
                let of_part: Vec<_> = kept.iter().copied().filter(|p| inside(p.0)).collect();
                // A slice may begin before a part and end in it.
                prop_assert!(!of_part.is_empty());
            }
            let band = points
                .iter()
                .map(|(x, low)| BandPoint { x: *x, low: *low, high: low.map(|low| low + wide) })
                .collect();
            let every = points_per_slice(points.len(), KEPT_PER_BAND_SLICE);
            let band = envelope_of_band(band, every);
            let low: Vec<_> = band.iter().map(|point| (point.x, point.low)).collect();
            let high: Vec<_> = band.iter().map(|point| (point.x, point.high)).collect();
            let (least, _, lines) = reach(&points);
            let greatest = reach(&points).1.map(|high| high + wide);
            prop_assert_eq!((reach(&low).0, reach(&low).2), (least, lines));
            prop_assert_eq!((reach(&high).1, reach(&high).2), (greatest, lines));
        }
    }
}
