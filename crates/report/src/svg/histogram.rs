//! Filled steps over bins; series on the right axis are lines.

use super::frame::{DrawingSize, LegendEntry, PlotFrame, Rulers, SeriesLook};
use super::lines;
use super::paint::{SvgDrawing, color, plain_dash};
use super::script_data::Chart;
use steadfast_domain::findings::{Plot, Scale, Series};

/// A bin of a histogram.
#[derive(Debug, PartialEq)]
struct HistogramBin {
    start: f64,
    end: f64,
    count: f64,
}

pub fn draw(plot: &Plot, size: DrawingSize) -> (SvgDrawing, Option<Chart>) {
    let filled: Vec<&Series> = plot.series.iter().filter(|s| !is_line(plot, s)).collect();
    let logarithmic = matches!(plot.x.scale, Scale::Log10 | Scale::Log2);
    let bins: Vec<Vec<Vec<HistogramBin>>> =
        filled.iter().map(|s| runs(&s.points, logarithmic)).collect();
    let edges = bins.iter().flatten().flatten().flat_map(|bin| [bin.start, bin.end]);
    let on_lines = plot.series.iter().filter(|s| is_line(plot, s)).flat_map(|s| &s.points);
    let xs: Vec<f64> = edges.chain(on_lines.map(|(x, _)| *x)).collect();
    let counts: Vec<f64> = bins.iter().flatten().flatten().map(|bin| bin.count).collect();
    let looks = looks(plot);
    let legend: Vec<LegendEntry> = plot
        .series
        .iter()
        .zip(&looks)
        .map(|(s, look)| lines::legend_entry(plot, s, look))
        .collect();
    let frame = PlotFrame::new(plot, size, Rulers::new(plot, &xs, &counts), legend);
    let mut drawing = frame.blank_drawing();
    frame.draw_grid(&mut drawing);
    let mut has_values = false;
    let steps = plot.series.iter().zip(&looks).filter(|(s, _)| !is_line(plot, s));
    for ((_, look), runs) in steps.zip(&bins) {
        for run in runs {
            has_values |= draw_steps(&mut drawing, &frame, run, look);
        }
    }
    for (series, look) in plot.series.iter().zip(&looks).filter(|(s, _)| is_line(plot, s)) {
        has_values |= lines::draw_series(&mut drawing, &frame, series, look, 0, 1);
    }
    frame.finish(&mut drawing, has_values);
    let chart = Chart::new(plot, &frame, &looks, false);
    (drawing, Some(chart))
}

/// Returns true for a series drawn as a line over columns or steps.
pub(super) fn is_line(plot: &Plot, series: &Series) -> bool {
    series.right && plot.y_right.is_some()
}

fn looks(plot: &Plot) -> Vec<SeriesLook> {
    let step = |index: usize| SeriesLook {
        color: color(index).to_owned(),
        width: 1.2,
        dash: plain_dash(index),
        marker: None,
        fill: Some(0.32),
    };
    // Lines get colors that the steps do not use.
    let of = |(index, series): (usize, &Series)| {
        if is_line(plot, series) { lines::overlay_look(index, series) } else { step(index) }
    };
    plot.series.iter().enumerate().map(of).collect()
}

/// Splits points into runs of adjacent bins, at missing counts. A bin extends to the next point;
/// the last one is as wide as the one before it.
fn runs(points: &[(f64, Option<f64>)], logarithmic: bool) -> Vec<Vec<HistogramBin>> {
    let usable = |x: f64| x.is_finite() && (!logarithmic || x > 0.0);
    let after = |index: usize| {
        let here = points[index].0;
        match (points.get(index + 1), index.checked_sub(1).map(|before| points[before].0)) {
            (Some(next), _) => next.0,
            (None, Some(before)) if logarithmic => here * (here / before),
            (None, Some(before)) => here + (here - before),
            (None, None) => here + if logarithmic { here } else { 1.0 },
        }
    };
    let mut runs: Vec<Vec<HistogramBin>> = vec![Vec::new()];
    for (index, (x, count)) in points.iter().enumerate() {
        let end = after(index);
        let bin = count.filter(|c| c.is_finite() && usable(*x) && usable(end) && end > *x);
        match (bin, runs.last_mut()) {
            (Some(count), Some(run)) => run.push(HistogramBin { start: *x, end, count }),
            _ => runs.push(Vec::new()),
        }
    }
    runs.retain(|run| !run.is_empty());
    runs
}

/// Draws a run of bins; a count that the axis cannot show is drawn at the bottom. Returns false if
/// there is nothing to draw.
fn draw_steps(
    drawing: &mut SvgDrawing,
    frame: &PlotFrame,
    run: &[HistogramBin],
    look: &SeriesLook,
) -> bool {
    let floor = frame.position(false, run[0].start, Some(0.0)).map_or(frame.area.y(0.0), |at| at.1);
    let across = |x: f64| frame.rulers.x.position(x).map(|part| frame.area.x(part));
    let mut outline = Vec::new();
    for bin in run {
        let (Some(left), Some(right)) = (across(bin.start), across(bin.end)) else { continue };
        let y = frame.rulers.y.position(bin.count).map_or(floor, |part| frame.area.y(part));
        outline.extend([(left, y), (right, y)]);
    }
    let (Some(first), Some(last)) = (outline.first().copied(), outline.last().copied()) else {
        return false;
    };
    let mut around = vec![(first.0, floor)];
    around.extend(level(&outline));
    around.push((last.0, floor));
    drawing.filled(&around, &look.color, look.fill.unwrap_or(1.0));
    drawing.path(&around, &look.color, look.width, look.dash);
    true
}

/// Returns the outline without the inner points of horizontal pieces.
pub fn level(outline: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut out: Vec<(f64, f64)> = Vec::new();
    for point in outline {
        if let [.., before, last] = out.as_slice()
            && before.1 == last.1
            && last.1 == point.1
        {
            out.pop();
        }
        out.push(*point);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_reach_to_the_next_point() {
        let points = [(1.0, Some(5.0)), (2.0, Some(7.0)), (4.0, None), (8.0, Some(1.0))];
        let bin = |start, end, count| HistogramBin { start, end, count };
        let linear = runs(&points, false);
        assert_eq!(linear[0], [bin(1.0, 2.0, 5.0), bin(2.0, 4.0, 7.0)]);
        assert_eq!((linear.len(), &linear[1][..]), (2, &[bin(8.0, 12.0, 1.0)][..]));
        assert_eq!(runs(&points, true)[1], [bin(8.0, 16.0, 1.0)]);
        assert_eq!(runs(&[(3.0, Some(1.0))], false), [[bin(3.0, 4.0, 1.0)]]);
        assert!(runs(&[(f64::NAN, Some(1.0)), (2.0, None)], false).is_empty());
        assert!(runs(&[(3.0, Some(1.0)), (2.0, None)], false).is_empty(), "x must rise");
    }

    #[test]
    fn level_pieces_lose_their_middles() {
        let outline = [(0.0, 1.0), (1.0, 1.0), (1.0, 1.0), (2.0, 1.0), (2.0, 3.0), (3.0, 3.0)];
        assert_eq!(level(&outline), [(0.0, 1.0), (2.0, 1.0), (2.0, 3.0), (3.0, 3.0)]);
    }
}
