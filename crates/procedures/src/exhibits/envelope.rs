//! Thins long curves to their envelope, which keeps every peak and every break.

use steadfast_domain::findings::{Plot, Series};

/// Number of points above which a curve is thinned, since a page cannot show more.
const DRAWN_POINTS: usize = 1000;

/// Number of points kept per slice: first, lowest, highest, last.
const KEPT_OF_A_SLICE: usize = 4;

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
        let (kept, every) = envelope(points);
        series.points = kept;
        return every;
    }
    let edges = points.into_iter().zip(std::mem::take(&mut series.upper));
    let edges: Vec<BandPoint> = edges.map(|((x, low), high)| (x, low, high)).collect();
    let (kept, every) = envelope_of_band(edges);
    series.points = kept.iter().map(|(x, low, _)| (*x, *low)).collect();
    series.upper = kept.iter().map(|(_, _, high)| *high).collect();
    every
}

/// Point of a band: x, lower edge, upper edge.
type BandPoint = (f64, Option<f64>, Option<f64>);

/// Thins a band to the lowest lower and highest upper edge of every slice, from its first to its
/// last x. A missing value ends a slice and is kept.
fn envelope_of_band(edges: Vec<BandPoint>) -> (Vec<BandPoint>, usize) {
    if edges.len() <= DRAWN_POINTS {
        return (edges, 1);
    }
    let every = (edges.len() * 2).div_ceil(DRAWN_POINTS);
    let is_there = |edges: &BandPoint| edges.1.is_some() && edges.2.is_some();
    let runs = edges.chunk_by(|a, b| is_there(a) == is_there(b));
    let slices = runs.flat_map(|run| run.chunks(every));
    let widest = |slice: &[BandPoint]| {
        let low = slice.iter().filter_map(|edges| edges.1).min_by(f64::total_cmp);
        let high = slice.iter().filter_map(|edges| edges.2).max_by(f64::total_cmp);
        let mut ends: Vec<f64> =
            [slice.first(), slice.last()].into_iter().flatten().map(|edges| edges.0).collect();
        ends.dedup();
        let both = low.is_some() && high.is_some() && slice.iter().all(is_there);
        ends.into_iter().map(move |x| if both { (x, low, high) } else { (x, None, None) })
    };
    (slices.flat_map(widest).collect::<Vec<_>>(), every)
}

/// Thins a curve; also returns the number of points per slice. A missing value ends a slice and is
/// kept.
fn envelope(points: Vec<(f64, Option<f64>)>) -> (Vec<(f64, Option<f64>)>, usize) {
    if points.len() <= DRAWN_POINTS {
        return (points, 1);
    }
    let every = (points.len() * KEPT_OF_A_SLICE).div_ceil(DRAWN_POINTS);
    let runs = points.chunk_by(|a, b| a.1.is_some() == b.1.is_some());
    let slices = runs.flat_map(|run| run.chunks(every));
    (slices.flat_map(extremes).collect(), every)
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
            let (kept, every) = envelope(points.clone());
            prop_assert_eq!(reach(&kept), reach(&points));
            prop_assert!(kept.windows(2).all(|pair| pair[0].0 < pair[1].0));
            for part in points.chunks(every * 3) {
                let inside = |x: f64| (part[0].0..=part[part.len() - 1].0).contains(&x);
                let of_part: Vec<_> = kept.iter().copied().filter(|p| inside(p.0)).collect();
                // A slice may begin before a part and end in it.
                prop_assert!(!of_part.is_empty());
            }
            let edges: Vec<BandPoint> =
                points.iter().map(|(x, low)| (*x, *low, low.map(|low| low + wide))).collect();
            let (band, _) = envelope_of_band(edges);
            let low: Vec<_> = band.iter().map(|edges| (edges.0, edges.1)).collect();
            let high: Vec<_> = band.iter().map(|edges| (edges.0, edges.2)).collect();
            let (least, _, lines) = reach(&points);
            let greatest = reach(&points).1.map(|high| high + wide);
            prop_assert_eq!((reach(&low).0, reach(&low).2), (least, lines));
            prop_assert_eq!((reach(&high).1, reach(&high).2), (greatest, lines));
        }
    }
}
