//! Lines and clouds of points, with the legend next to the plot.

use super::frame::{DrawingSize, LegendEntry, PlotFrame, Rulers, SeriesLook};
use super::paint::{SvgDrawing, color, dash, plain_dash};
use super::script_data::{Chart, NO_VALUE, is_void};
use steadfast_domain::findings::{Plot, PlotKind, Series, Stroke};

/// Number of points above which only some points of a line have markers.
const MARKED_POINTS_MAX: usize = 80;
/// Number of markers on such a line.
const MARKERS_OF_LONG_LINE: usize = 9;
/// Number of points above which a line is reduced to its visible points.
const LINE_POINTS_MAX: usize = 2000;
/// Number of points above which a cloud is drawn as dots.
const MARKED_CLOUD_MAX: usize = 400;
/// Distance below which two points are drawn as one.
const POINT_DISTANCE_MIN: f64 = 0.5;

pub fn draw(plot: &Plot, size: DrawingSize) -> (SvgDrawing, Option<Chart>) {
    let has_right = plot.y_right.is_some();
    let left_series = plot.series.iter().filter(|s| !(s.right && has_right));
    let left_values: Vec<f64> = left_series.flat_map(values_of).collect();
    let xs: Vec<f64> = plot.series.iter().flat_map(|s| &s.points).map(|(x, _)| *x).collect();
    let looks = looks(plot);
    let legend =
        plot.series.iter().zip(&looks).map(|(s, look)| legend_entry(plot, s, look)).collect();
    let frame = PlotFrame::new(plot, size, Rulers::new(plot, &xs, &left_values), legend);
    let mut drawing = frame.blank_drawing();
    frame.draw_grid(&mut drawing);
    let mut has_values = false;
    let measured_count = measured_count(plot);
    for (position, (series, look)) in plot.series.iter().zip(&looks).enumerate() {
        drawing.begin(position);
        has_values |= if series.stroke == Stroke::Band {
            draw_band(&mut drawing, &frame, series, look)
        } else if plot.kind == PlotKind::Scatter && is_cloud(series.stroke) {
            draw_cloud(&mut drawing, &frame, series, look)
        } else {
            draw_series(&mut drawing, &frame, series, look, position, measured_count)
        };
        drawing.end();
    }
    frame.finish(&mut drawing, has_values);
    let chart = Chart::new(plot, &frame, &looks, true);
    (drawing, Some(chart))
}

/// Returns the values of a series, including both edges of a band.
fn values_of(series: &Series) -> impl Iterator<Item = f64> {
    series.points.iter().map(|(_, y)| *y).chain(series.upper.iter().copied()).flatten()
}

fn is_cloud(stroke: Stroke) -> bool {
    matches!(stroke, Stroke::Measured | Stroke::Context)
}

/// Returns the legend entry of a series. It names the right axis if there are two, and says if the
/// series has no value.
pub fn legend_entry(plot: &Plot, series: &Series, look: &SeriesLook) -> LegendEntry {
    let right = if series.right && plot.y_right.is_some() { " (right)" } else { "" };
    let no_value = if is_void(series) { NO_VALUE } else { "" };
    LegendEntry { name: format!("{}{right}{no_value}", series.name), look: look.clone() }
}

fn looks(plot: &Plot) -> Vec<SeriesLook> {
    let has_several = measured_count(plot) > 1;
    let (mut index, mut limits) = (0, 0);
    let mut looks = Vec::new();
    for series in &plot.series {
        let mut look = unmeasured_look(series.stroke, plot.kind);
        if series.stroke == Stroke::Limit {
            look.dash = Some(LIMIT_DASHES[limits % LIMIT_DASHES.len()]);
            limits += 1;
        } else if series.stroke == Stroke::Measured {
            look = SeriesLook::line(color(index), 1.6, dash(index));
            look.marker = Some(index);
            if plot.kind == PlotKind::Scatter {
                look.width = 0.0;
            } else if series.points.len() > MARKED_POINTS_MAX {
                look.width = 1.1;
                look.marker = has_several.then_some(index);
                look.dash = if has_several { dash(index) } else { None };
            }
            index += 1;
        }
        looks.push(look);
    }
    looks
}

fn measured_count(plot: &Plot) -> usize {
    plot.series.iter().filter(|series| series.stroke == Stroke::Measured).count()
}

/// Dashes of the first limit, the second, and so on: the upper and lower limits of a band must be
/// distinguishable without color.
const LIMIT_DASHES: [&str; 3] = ["9 4", "2.5 3", "9 3 2 3"];

/// Returns the look of a series that was not measured.
fn unmeasured_look(stroke: Stroke, kind: PlotKind) -> SeriesLook {
    let (color, width, dash) = match stroke {
        Stroke::Measured | Stroke::Average => ("#444444", 1.4, None),
        Stroke::Limit => ("#444444", 1.2, Some("7 4")),
        Stroke::Fit => ("#c00000", 1.8, None),
        Stroke::Context => ("#aaaaaa", 1.0, None),
        Stroke::Band => (BAND_COLOR, 0.0, None),
    };
    let fill = (stroke == Stroke::Band).then_some(BAND_OPACITY);
    let cloud = kind == PlotKind::Scatter && stroke == Stroke::Context;
    let (width, marker) = if cloud { (0.0, Some(0)) } else { (width, None) };
    SeriesLook { color: color.to_owned(), width, dash, marker, fill }
}

/// Color and opacity of a band.
const BAND_COLOR: &str = "#56b4e9";
const BAND_OPACITY: f64 = 0.45;

/// Returns the look of a line over filled steps or columns.
pub fn overlay_look(index: usize, series: &Series) -> SeriesLook {
    let width = if series.points.len() > MARKED_POINTS_MAX { 1.1 } else { 1.8 };
    SeriesLook::line(color(index), width, plain_dash(index))
}

/// Draws a line. If only some of its points have markers, its position among the `lines` measured
/// series determines which. Returns true if it has any value.
pub fn draw_series(
    drawing: &mut SvgDrawing,
    frame: &PlotFrame,
    series: &Series,
    look: &SeriesLook,
    position: usize,
    lines: usize,
) -> bool {
    let place = |point: &(f64, Option<f64>)| frame.position(series.right, point.0, point.1);
    let dense = series.points.len() > MARKED_POINTS_MAX;
    let spacing = if dense { series.points.len() / MARKERS_OF_LONG_LINE } else { 1 };
    // Markers of neighboring series are at different points.
    let offset = if dense { spacing * position / lines.max(1) } else { 0 };
    let mut has_values = false;
    let mut count = 0;
    // A missing value breaks the line.
    for run in series.points.split(|point| place(point).is_none()) {
        let run: Vec<(f64, f64)> = run.iter().filter_map(place).collect();
        has_values |= !run.is_empty();
        if run.len() > 1 {
            drawing.path(&visible_points(&run), &look.color, look.width, look.dash);
        } else if look.marker.is_none() {
            drawing.dots(&run, &look.color, look.width + 1.2);
        }
        for at in &run {
            // An isolated point has no line and is visible only as its marker.
            let marked = run.len() == 1 || count % spacing == offset % spacing;
            if let Some(marker) = look.marker.filter(|_| marked) {
                drawing.marker(marker, *at, &look.color);
            }
            count += 1;
        }
    }
    has_values
}

/// Draws a band, interrupted at missing edges. Returns true if it has any value.
fn draw_band(
    drawing: &mut SvgDrawing,
    frame: &PlotFrame,
    series: &Series,
    look: &SeriesLook,
) -> bool {
    let place = |x: f64, y: Option<f64>| frame.position(series.right, x, y);
    let edges: Vec<_> = series
        .points
        .iter()
        .zip(&series.upper)
        .map(|((x, low), high)| Some((place(*x, *low)?, place(*x, *high)?)))
        .collect();
    let mut has_values = false;
    for run in edges.split(Option::is_none) {
        let (below, above): (Vec<_>, Vec<_>) = run.iter().flatten().copied().unzip();
        // An isolated value is a short vertical line.
        if let ([low], [high]) = (below.as_slice(), above.as_slice()) {
            drawing.line(*low, *high, &look.color, 1.2);
            has_values = true;
            continue;
        }
        has_values |= !below.is_empty();
        let around: Vec<(f64, f64)> = visible_points(&above)
            .into_iter()
            .chain(visible_points(&below).into_iter().rev())
            .collect();
        if !around.is_empty() {
            drawing.filled(&around, &look.color, look.fill.unwrap_or(1.0));
        }
    }
    has_values
}

/// Reduces a long line to its visible points: in every half unit of width the first, lowest,
/// highest and last one.
fn visible_points(line: &[(f64, f64)]) -> Vec<(f64, f64)> {
    if line.len() <= LINE_POINTS_MAX {
        return line.to_vec();
    }
    let slot = |point: &(f64, f64)| (point.0 / POINT_DISTANCE_MIN).floor();
    let mut visible = Vec::new();
    for slice in line.chunk_by(|a, b| slot(a) == slot(b)) {
        let by_height = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
        let lowest = slice.iter().min_by(by_height);
        let highest = slice.iter().max_by(by_height);
        let points = [slice.first(), lowest, highest, slice.last()];
        let mut points: Vec<(f64, f64)> = points.into_iter().flatten().copied().collect();
        points.dedup();
        visible.extend(points);
    }
    visible
}

fn draw_cloud(
    drawing: &mut SvgDrawing,
    frame: &PlotFrame,
    series: &Series,
    look: &SeriesLook,
) -> bool {
    let place = |(x, y): &(f64, Option<f64>)| frame.position(series.right, *x, *y);
    let mut points: Vec<(f64, f64)> = series.points.iter().filter_map(place).collect();
    if points.len() <= MARKED_CLOUD_MAX && series.stroke == Stroke::Measured {
        for at in &points {
            drawing.marker(look.marker.unwrap_or(0), *at, &look.color);
        }
        return !points.is_empty();
    }
    let cell = |(x, y): &(f64, f64)| {
        ((x / POINT_DISTANCE_MIN).round() as i64, (y / POINT_DISTANCE_MIN).round() as i64)
    };
    points.sort_by_key(cell);
    points.dedup_by_key(|point| cell(point));
    drawing.dots(&points, &look.color, 2.6);
    !points.is_empty()
}

#[cfg(test)]
mod tests {
    use super::super::frame::FULL;
    use super::*;
    use steadfast_domain::findings::{Axis, Scale};

    /// Two drives over time, the second of which was active in one step only.
    #[test]
    fn a_point_between_gaps_is_drawn() {
        let steps = |has: &dyn Fn(i32) -> bool| -> Vec<(f64, Option<f64>)> {
            (0..240).map(|step| (f64::from(step), has(step).then_some(5.0))).collect()
        };
        let marks = |alone: &dyn Fn(i32) -> bool| {
            let axis = |label| Axis::new(label, Scale::Linear);
            let plot = Plot::new(PlotKind::Lines, "p", "p", axis("s"), axis("IOPS"))
                .with(Series::new("one", Stroke::Measured, steps(&|_| true)))
                .with(Series::new("two", Stroke::Measured, steps(alone)));
            draw(&plot, FULL).0.finish("").matches(color(1)).count()
        };
        // The legend has that color, too.
        let legend = marks(&|_| false);
        let one = marks(&|step| step == 100) - legend;
        assert!(one > 0, "nothing is drawn");
        assert_eq!(marks(&|step| step % 10 == 0), legend + 24 * one);
    }

    #[test]
    fn a_long_line_keeps_its_peaks() {
        let mut line: Vec<(f64, f64)> =
            (0..100_000).map(|n| (f64::from(n) * 0.006, 100.0 + f64::from(n % 3))).collect();
        line[54_321].1 = 1.0;
        line[12_345].1 = 300.0;
        let visible_points = visible_points(&line);
        assert!(visible_points.len() < 5000, "{}", visible_points.len());
        for point in [line[54_321], line[12_345], line[0], line[99_999]] {
            assert!(visible_points.contains(&point));
        }
    }
}
