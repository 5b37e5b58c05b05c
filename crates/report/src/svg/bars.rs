//! Bars side by side: one group per category, with one bar per series.

use super::frame::{DrawingSize, LETTER, LegendEntry, PlotFrame, Rulers, SeriesLook};
use super::paint::{SvgDrawing, color, lighten};
use super::script_data::Chart;
use crate::number;
use steadfast_domain::findings::{Plot, Scale};

/// Fraction of a category's width that its bars fill.
const FILL: f64 = 0.8;
/// Distance beyond the axis, as a fraction of it, up to which a bar does not count as cut off.
const CUT_OFF_TOLERANCE: f64 = 1e-9;
/// Letter size of the values of bars that are cut off.
const NUMBER_SIZE: f64 = 12.0;

pub fn draw(plot: &Plot, size: DrawingSize) -> (SvgDrawing, Option<Chart>) {
    let points = plot.series.iter().flat_map(|series| &series.points);
    let values: Vec<f64> = points.filter_map(|(_, y)| *y).collect();
    let looks: Vec<SeriesLook> = (0..plot.series.len()).map(look).collect();
    let legend = plot
        .series
        .iter()
        .zip(&looks)
        .map(|(series, look)| LegendEntry { name: series.name.clone(), look: look.clone() })
        .collect();
    let frame = PlotFrame::new(plot, size, Rulers::new(plot, &[], &values), legend);
    let mut drawing = frame.blank_drawing();
    frame.draw_grid(&mut drawing);
    let groups = match &plot.x.scale {
        Scale::Categories(names) => names.len().max(1),
        _ => 1,
    };
    let width = FILL / groups as f64 / plot.series.len().max(1) as f64;
    let floor = frame.position(false, 0.0, Some(0.0)).map_or(frame.area.y(0.0), |at| at.1);
    let mut has_bars = false;
    let mut cut_off: Vec<CutOffBar> = Vec::new();
    for (index, (series, look)) in plot.series.iter().zip(&looks).enumerate() {
        drawing.begin(index);
        for (x, y) in &series.points {
            let Some(value) = y.filter(|_| (0.0..groups as f64).contains(x)) else { continue };
            let Some(part) = frame.rulers.y.position(value) else { continue };
            // A bar beyond the axis ends at the edge of the plot.
            let top = frame.area.y(part.clamp(0.0, 1.0));
            let left = (x + (1.0 - FILL) / 2.0) / groups as f64 + index as f64 * width;
            // A narrow gap between neighbors.
            let (left, right) = (frame.area.x(left), frame.area.x(left + width * 0.94));
            let corners = [(left, floor), (left, top), (right, top), (right, floor)];
            drawing.polygon(&corners, &look.color, "#222222");
            if !(-CUT_OFF_TOLERANCE..=1.0 + CUT_OFF_TOLERANCE).contains(&part) {
                cut_off.push(CutOffBar { middle: f64::midpoint(left, right), top, floor, value });
            }
            has_bars = true;
        }
        drawing.end();
    }
    write_cut_off_values(&mut drawing, cut_off);
    frame.finish(&mut drawing, has_bars);
    let chart = Chart::new(plot, &frame, &looks, false);
    (drawing, Some(chart))
}

/// A bar that ends at the edge of the plot because its value is beyond the axis.
struct CutOffBar {
    middle: f64,
    top: f64,
    floor: f64,
    value: f64,
}

/// Writes the value of each bar that is cut off into a gap in the bar, running upwards. Omits
/// values that would overlap the one to their left.
fn write_cut_off_values(drawing: &mut SvgDrawing, mut bars: Vec<CutOffBar>) {
    bars.sort_by(|one, other| one.middle.total_cmp(&other.middle));
    let mut free_from = f64::NEG_INFINITY;
    for bar in bars {
        let half_width = NUMBER_SIZE * 0.6;
        let (left, right) = (bar.middle - half_width, bar.middle + half_width);
        if left < free_from {
            continue;
        }
        free_from = right;
        let text = number::signed(bar.value, 0);
        let length = text.chars().count() as f64 * NUMBER_SIZE * LETTER + 6.0;
        // A short piece of the bar remains between the edge and the gap.
        let towards_floor = if bar.floor > bar.top { 1.0 } else { -1.0 };
        let begin = bar.top + towards_floor * 5.0;
        let end = begin + towards_floor * length;
        let box_corners = [(left, begin), (left, end), (right, end), (right, begin)];
        drawing.polygon(&box_corners, "#ffffff", "#ffffff");
        let baseline = bar.middle + NUMBER_SIZE * 0.35;
        drawing.text_upwards((baseline, f64::midpoint(begin, end)), NUMBER_SIZE, &text);
    }
}

/// Returns the look of a series: alternating lightness, so that neighbors differ in gray print.
fn look(index: usize) -> SeriesLook {
    let part = if index.is_multiple_of(2) { 0.0 } else { 0.45 };
    SeriesLook::opaque(lighten(color(index), part))
}

#[cfg(test)]
mod tests {
    use super::super::frame::FULL;
    use super::*;
    use steadfast_domain::findings::{Axis, PlotKind, Series, Stroke};

    #[test]
    fn every_value_has_a_bar_and_a_missing_one_leaves_its_place() {
        let axis = Axis::new("", Scale::Categories(["read", "write"].map(str::to_owned).to_vec()));
        let series = |name: &str, second| {
            Series::new(name, Stroke::Measured, vec![(0.0, Some(100.0)), (1.0, second)])
        };
        let plot = Plot::new(PlotKind::Bars, "b", "b", axis, Axis::new("%", Scale::Linear))
            .with(series("A", Some(100.0)))
            .with(series("B", None));
        let drawn = draw(&plot, FULL).0.finish("b");
        assert_eq!(drawn.matches("stroke=\"#222222\" stroke-width=\"0.6\"").count(), 3, "{drawn}");
    }
}
