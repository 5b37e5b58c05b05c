//! Long curves, drawn by their envelope: no peak and no break of a line is lost.

use steadfast_domain::findings::Plot;

/// Curves with more points than this are drawn by their envelope: a page cannot
/// show more of them apart.
const DRAWN_POINTS: usize = 1000;

/// What is kept of each slice of an envelope: first, lowest, highest, last.
const KEPT_OF_A_SLICE: usize = 4;

/// A plot whose long curves are drawn by their envelope, with a caption that
/// says so. No peak and no break of a line is lost.
pub(super) fn thinned(mut plot: Plot) -> Plot {
    let mut widest = 1;
    for series in &mut plot.series {
        let (points, every) = envelope(std::mem::take(&mut series.points));
        series.points = points;
        widest = widest.max(every);
    }
    if widest > 1 {
        plot.caption = format!(
            "{} For every {widest} points, the plot shows the first, the lowest, the highest and \
             the last.",
            plot.caption
        );
    }
    plot
}

/// The envelope of a curve, and how many points each of its slices had. A
/// missing value ends a slice and is kept.
fn envelope(points: Vec<(f64, Option<f64>)>) -> (Vec<(f64, Option<f64>)>, usize) {
    if points.len() <= DRAWN_POINTS {
        return (points, 1);
    }
    let every = (points.len() * KEPT_OF_A_SLICE).div_ceil(DRAWN_POINTS);
    let runs = points.chunk_by(|a, b| a.1.is_some() == b.1.is_some());
    let slices = runs.flat_map(|run| run.chunks(every));
    (slices.flat_map(extremes).collect(), every)
}

/// First, lowest, highest and last point of a slice, in their order, each once.
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
    use steadfast_domain::findings::{Axis, Exhibit, PlotKind, Scale, Series, Stroke};

    #[test]
    fn a_long_curve_keeps_its_peaks_and_its_breaks() {
        let mut points: Vec<(f64, Option<f64>)> =
            (0..10_007).map(|n| (f64::from(n), Some(100.0 + f64::from(n % 7)))).collect();
        points[4_321].1 = Some(1.0);
        points[7_777].1 = Some(9_000.0);
        points[5_003].1 = None;
        let plot = Plot::new(
            PlotKind::Lines,
            "p",
            "P",
            Axis::new("x", Scale::Linear),
            Axis::new("y", Scale::Linear),
        )
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
        assert!(drawn.caption.starts_with("Every step. For every 41 points"), "{}", drawn.caption);
        let mut short = plot;
        short.series[0].points.truncate(DRAWN_POINTS);
        assert_eq!(thinned(short.clone()), short);
    }
}
