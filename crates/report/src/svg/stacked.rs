//! Stacked columns; series on the right axis are lines.

use super::axis;
use super::frame::{DrawingSize, LegendEntry, PlotFrame, Rulers, SeriesLook};
use super::histogram::{is_line, level};
use super::lines;
use super::paint::{OTHERS, OTHERS_COLOR, SvgDrawing, color, lighten};
use super::script_data::Chart;
use steadfast_domain::findings::{Plot, Scale, Series};

/// Maximum number of layers; beyond it, the smallest are combined as "others".
const LAYERS_MAX: usize = 20;
/// Maximum number of columns; beyond it, several are averaged into one.
const COLUMNS_MAX: usize = 600;
/// Maximum number of columns that are drawn separately, with an edge between their layers.
const SEPARATE_COLUMNS_MAX: usize = 40;

struct StackedColumn {
    x: f64,
    /// x of the points that it combines.
    combined: Vec<f64>,
}

/// A layer: name, look, and height in each column.
struct StackedLayer {
    name: String,
    look: SeriesLook,
    heights: Vec<f64>,
}

pub fn draw(plot: &Plot, size: DrawingSize) -> (SvgDrawing, Option<Chart>) {
    let (line_series, stacked): (Vec<&Series>, Vec<&Series>) =
        plot.series.iter().partition(|s| is_line(plot, s));
    let line_series: Vec<(&Series, SeriesLook)> =
        line_series.into_iter().enumerate().map(|(at, s)| (s, line_look(at, s))).collect();
    let (columns, per_column) = combine_columns(&stacked);
    let layers = build_layers(&stacked, &columns);
    let gap = smallest_gap(&columns);
    let tops: Vec<f64> =
        (0..columns.len()).map(|at| layers.iter().map(|l| l.heights[at]).sum()).collect();
    let edges = columns.iter().flat_map(|column| [column.x - gap / 2.0, column.x + gap / 2.0]);
    let on_lines = line_series.iter().flat_map(|(s, _)| &s.points);
    let xs: Vec<f64> = edges.chain(on_lines.map(|(x, _)| *x)).collect();
    // Stacked heights add up only on a linear scale.
    let y_scale = if plot.y.scale == Scale::Percent { Scale::Percent } else { Scale::Linear };
    let rulers = Rulers::with_y_scale(plot, &y_scale, &xs, &tops);
    let frame = PlotFrame::new(plot, size, rulers, legend(plot, &layers, &line_series));
    let frame = match per_column {
        1 => frame,
        several => frame.with_note(format!("each column is the mean of {several} steps")),
    };
    let mut drawing = frame.blank_drawing();
    frame.draw_grid(&mut drawing);
    let mut has_values = draw_layers(&mut drawing, &frame, &layers, &columns, gap);
    for (series, look) in &line_series {
        has_values |= lines::draw_series(&mut drawing, &frame, series, look, 0, 1);
    }
    frame.finish(&mut drawing, has_values);
    let xs: Vec<f64> = columns.iter().map(|column| column.x).collect();
    let named = layers
        .iter()
        .map(|layer| (layer.name.as_str(), layer.look.color.as_str(), layer.heights.as_slice()));
    let chart = Chart::of_layers(plot, &frame, &xs, named, &line_series);
    (drawing, Some(chart))
}

/// Returns the look of a line over columns: dark, so that it stands out from every layer.
fn line_look(index: usize, series: &Series) -> SeriesLook {
    SeriesLook { color: "#111111".to_owned(), ..lines::overlay_look(index, series) }
}

fn legend(
    plot: &Plot,
    layers: &[StackedLayer],
    line_series: &[(&Series, SeriesLook)],
) -> Vec<LegendEntry> {
    // The legend is in the order of the stack, from the top.
    let named = layers
        .iter()
        .rev()
        .map(|layer| LegendEntry { name: layer.name.clone(), look: layer.look.clone() });
    named
        .chain(line_series.iter().map(|(series, look)| lines::legend_entry(plot, series, look)))
        .collect()
}

/// Returns the columns and the number of x that each combines.
fn combine_columns(series: &[&Series]) -> (Vec<StackedColumn>, usize) {
    let xs = axis::distinct_xs(series);
    let per_column = xs.len().div_ceil(COLUMNS_MAX).max(1);
    let columns = xs.chunks(per_column).map(|xs| StackedColumn {
        x: f64::midpoint(xs[0], xs[xs.len() - 1]),
        combined: xs.to_vec(),
    });
    (columns.collect(), per_column)
}

/// Returns the smallest distance between columns; 1 for a single column.
fn smallest_gap(columns: &[StackedColumn]) -> f64 {
    let gaps = columns.windows(2).map(|pair| pair[1].x - pair[0].x);
    let least = gaps.fold(f64::INFINITY, f64::min);
    if least.is_finite() { least } else { 1.0 }
}

/// Returns the mean height per column. A missing x counts as 0; points without a value are skipped;
/// 0 if all are.
fn column_means(series: &Series, columns: &[StackedColumn]) -> Vec<f64> {
    let is_drawn = |y: &f64| y.is_finite() && (0.0..1e18).contains(y);
    let finite = series.points.iter().filter(|(x, _)| x.is_finite());
    let mut points: Vec<(f64, Option<f64>)> =
        finite.map(|(x, y)| (*x, y.filter(is_drawn))).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let at = |x: f64| {
        let index = points.partition_point(|point| point.0 < x);
        points.get(index).filter(|point| point.0 == x).map_or(Some(0.0), |point| point.1)
    };
    let mean = |xs: &[f64]| {
        let known: Vec<f64> = xs.iter().filter_map(|x| at(*x)).collect();
        known.iter().sum::<f64>() / known.len().max(1) as f64
    };
    columns.iter().map(|column| mean(&column.combined)).collect()
}

/// Returns the layers from the bottom. Beyond [`LAYERS_MAX`], the smallest are combined.
fn build_layers(series: &[&Series], columns: &[StackedColumn]) -> Vec<StackedLayer> {
    let all: Vec<Vec<f64>> = series.iter().map(|s| column_means(s, columns)).collect();
    let rank = |index: &usize| {
        if series[*index].name == OTHERS {
            f64::NEG_INFINITY
        } else {
            all[*index].iter().sum::<f64>()
        }
    };
    let mut kept: Vec<usize> = (0..series.len()).collect();
    let rest = if series.len() > LAYERS_MAX {
        kept.sort_by(|a, b| rank(b).total_cmp(&rank(a)));
        kept.split_off(LAYERS_MAX - 1)
    } else {
        Vec::new()
    };
    kept.sort_unstable();
    let mut layers: Vec<StackedLayer> = kept
        .iter()
        .enumerate()
        .map(|(position, index)| StackedLayer {
            name: series[*index].name.clone(),
            look: if series[*index].name == OTHERS { others_look() } else { layer_look(position) },
            heights: all[*index].clone(),
        })
        .collect();
    if !rest.is_empty() {
        let heights =
            (0..columns.len()).map(|at| rest.iter().map(|index| all[*index][at]).sum()).collect();
        let name = if rest.iter().any(|index| series[*index].name == OTHERS) {
            OTHERS.to_owned()
        } else {
            format!("{OTHERS} ({})", rest.len())
        };
        layers.push(StackedLayer { name, look: others_look(), heights });
    }
    layers
}

fn others_look() -> SeriesLook {
    SeriesLook::opaque(OTHERS_COLOR.to_owned())
}

fn layer_look(position: usize) -> SeriesLook {
    // The second ten layers have the colors of the first ten in a lighter tone; the first are
    // softened a little so that a line over them is visible.
    let part = if position < 10 { 0.15 } else { 0.6 };
    SeriesLook::opaque(lighten(color(position), part))
}

/// Draws the layers, each as an area above the previous one. Returns true if there is anything to
/// draw.
fn draw_layers(
    drawing: &mut SvgDrawing,
    frame: &PlotFrame,
    layers: &[StackedLayer],
    columns: &[StackedColumn],
    gap: f64,
) -> bool {
    let separate = columns.len() <= SEPARATE_COLUMNS_MAX;
    let half = gap * if separate { 0.36 } else { 0.5 };
    let mut floor = vec![0.0; columns.len()];
    let mut has_values = false;
    for layer in layers {
        let top: Vec<f64> = floor.iter().zip(&layer.heights).map(|(a, b)| a + b).collect();
        for (first, last) in blocks(&layer.heights, columns, gap, separate) {
            let edge = |tops: &[f64]| -> Vec<(f64, f64)> {
                let ends = |at: usize| {
                    let (x, y) = (columns[at].x, Some(tops[at]));
                    [frame.position(false, x - half, y), frame.position(false, x + half, y)]
                };
                (first..=last).flat_map(ends).flatten().collect()
            };
            let mut around = level(&edge(&top));
            around.extend(level(&edge(&floor)).into_iter().rev());
            has_values = true;
            drawing.filled(&around, &layer.look.color, 1.0);
            if separate {
                drawing.path(&around, "#ffffff", 0.7, None);
            }
        }
        floor = top;
    }
    has_values
}

/// Returns the first and last index of each run of adjacent columns in which a layer has any
/// height.
fn blocks(
    heights: &[f64],
    columns: &[StackedColumn],
    gap: f64,
    separate: bool,
) -> Vec<(usize, usize)> {
    let mut blocks: Vec<(usize, usize)> = Vec::new();
    for (at, _) in heights.iter().enumerate().filter(|(_, height)| **height > 0.0) {
        match blocks.last_mut() {
            Some((_, last))
                if !separate && *last + 1 == at && columns[at].x - columns[*last].x < gap * 1.5 =>
            {
                *last = at;
            }
            _ => blocks.push((at, at)),
        }
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::findings::Stroke;

    fn series(name: usize, points: Vec<(f64, Option<f64>)>) -> Series {
        Series::new(name.to_string(), Stroke::Measured, points)
    }

    #[test]
    fn a_column_is_the_mean_of_what_is_known_and_a_missing_point_is_nothing() {
        let series = |points: Vec<(f64, Option<f64>)>| Series::new("a", Stroke::Measured, points);
        let column = |x: f64, combined: &[f64]| [StackedColumn { x, combined: combined.to_vec() }];
        let both = column(0.5, &[0.0, 1.0]);
        let unknown = series(vec![(0.0, Some(10.0)), (1.0, None)]);
        let missing = series(vec![(0.0, Some(10.0))]);
        assert_eq!(column_means(&unknown, &both), [10.0]);
        assert_eq!(column_means(&missing, &both), [5.0]);
        assert_eq!(column_means(&series(vec![(0.0, None)]), &column(0.0, &[0.0])), [0.0]);
    }

    #[test]
    fn the_least_of_too_many_layers_are_summed() {
        let all: Vec<Series> =
            (0..30).map(|n| series(n, vec![(0.0, Some(n as f64)), (1.0, None)])).collect();
        let all: Vec<&Series> = all.iter().collect();
        let (columns, per_column) = combine_columns(&all);
        assert_eq!((columns.len(), per_column), (2, 1));
        let layers = build_layers(&all, &columns);
        assert_eq!(layers.len(), LAYERS_MAX);
        assert_eq!(layers[0].name, "11");
        assert_eq!(layers[19].name, "others (11)");
        assert_eq!(layers[19].heights, [(0..11).sum::<usize>() as f64, 0.0]);
        let sum: f64 = layers.iter().map(|l| l.heights[0]).sum();
        assert_eq!(sum, (0..30).sum::<usize>() as f64);
    }

    /// A layer named "others" is always part of the combined rest, however large it is.
    #[test]
    fn others_have_a_color_of_their_own_and_are_never_there_twice() {
        let named = |count: usize| -> Vec<Series> {
            let streams = (0..count).map(|n| series(n, vec![(0.0, Some(1.0))]));
            streams.chain([Series::new(OTHERS, Stroke::Measured, vec![(0.0, Some(9.0))])]).collect()
        };
        for (count, shown) in [(2, 3), (LAYERS_MAX - 1, LAYERS_MAX), (40, LAYERS_MAX)] {
            let all = named(count);
            let all: Vec<&Series> = all.iter().collect();
            let (columns, _) = combine_columns(&all);
            let layers = build_layers(&all, &columns);
            assert_eq!(layers.len(), shown);
            let gray = layers.iter().filter(|layer| layer.look.color == OTHERS_COLOR);
            let names: Vec<&str> = gray.map(|layer| layer.name.as_str()).collect();
            assert_eq!(names, [OTHERS], "{count}");
        }
    }

    #[test]
    fn too_many_columns_are_averaged() {
        let one = series(0, (0..1440).map(|n| (f64::from(n), Some(f64::from(n % 3)))).collect());
        let (columns, per_column) = combine_columns(&[&one]);
        assert_eq!((columns.len(), per_column), (480, 3));
        assert!(column_means(&one, &columns).iter().all(|height| *height == 1.0));
    }
}
