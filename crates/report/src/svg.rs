//! Renders plots as SVG: lines, points, steps, stacks and heat maps over two axes, and columns in
//! perspective.
//!
//! Drawn here and not by a plotting library, because legends must be outside the plot and never
//! clipped, labels must not overlap, series must be distinguishable in gray print, and the columns
//! need a fixed projection.

mod axis;
mod bars;
mod columns_3d;
mod frame;
mod heat_map;
mod histogram;
mod lines;
mod paint;
mod script_data;
mod stacked;

use frame::PAGE;
pub(crate) use frame::{ACROSS, DrawingSize, FULL, LOW, SMALL, TALL};
use paint::SvgDrawing;
pub(crate) use paint::escape;
use script_data::Chart;
use std::borrow::Cow;
use steadfast_domain::findings::{Plot, PlotKind};

/// Returns a plot as a complete SVG document, as wide as a page.
pub fn svg(plot: &Plot) -> String {
    svg_of_size(plot, FULL)
}

pub(crate) fn svg_of_size(plot: &Plot, size: DrawingSize) -> String {
    draw(plot, size).0.finish(&plot.title)
}

/// Draws plots at half the width, two per row. The plots of a row have the same height and the
/// same upper and lower edges.
pub(crate) fn svgs_side_by_side(plots: &[Cow<'_, Plot>]) -> Vec<String> {
    let mut out = Vec::with_capacity(plots.len());
    for row in plots.chunks(2) {
        let drawings: Vec<SvgDrawing> = row.iter().map(|plot| draw(plot, SMALL).0).collect();
        let top = drawings.iter().map(|drawing| drawing.plot_top).fold(0.0, f64::max);
        let bottom = drawings.iter().map(SvgDrawing::below_top).fold(0.0, f64::max);
        for (plot, drawing) in row.iter().zip(drawings) {
            let above = top - drawing.plot_top;
            out.push(drawing.within(above, top + bottom).finish(&plot.title));
        }
    }
    out
}

/// Returns the size of the drawings of a web page on which these plots have the same left and right
/// edges.
pub(crate) fn page_size(plots: &[&Plot]) -> DrawingSize {
    let mut size = PAGE;
    loop {
        let areas = plots.iter().filter_map(|plot| draw(plot, size).1?.area());
        let needed = areas.fold(size, DrawingSize::with_margins_of);
        // In less width the labels of marks may need still more.
        if needed == size {
            return size;
        }
        size = needed;
    }
}

/// Returns a plot for a web page: its SVG, and its values if the script can use them.
pub(crate) fn svg_of_page(plot: &Plot, size: DrawingSize) -> (String, Option<Chart>) {
    let (drawing, chart) = draw(plot, size);
    (drawing.finish(&plot.title), chart)
}

/// Returns the text between the tags of a drawing or page.
pub(crate) fn visible(markup: &str) -> impl Iterator<Item = &str> {
    markup.split('<').map(|piece| piece.split_once('>').map_or(piece, |(_, text)| text))
}

fn draw(plot: &Plot, size: DrawingSize) -> (SvgDrawing, Option<Chart>) {
    match plot.kind {
        PlotKind::Columns3d => columns_3d::draw(plot),
        PlotKind::Lines | PlotKind::Scatter => lines::draw(plot, size),
        PlotKind::Bars => bars::draw(plot, size),
        PlotKind::Histogram => histogram::draw(plot, size),
        PlotKind::Stacked => stacked::draw(plot, size),
        PlotKind::HeatMap => heat_map::draw(plot, size),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::findings::{Axis, Scale, Series, Stroke};

    /// The letters of a drawing have 9 points wherever it stands: over the width of the text, 176 mm,
    /// and over that of a page across, 273 mm.
    #[test]
    fn letters_are_of_one_size_on_every_page() {
        let axis = |label| Axis::new(label, Scale::Linear);
        let points = vec![(0.0, Some(1.0)), (1.0, Some(2.0))];
        let series = Series::new("s", Stroke::Measured, points);
        let plot = Plot::new(PlotKind::Lines, "p", "p", axis("x"), axis("y")).with(series);
        let number = |text: &str| text.split('"').next().and_then(|text| text.parse::<f64>().ok());
        for (drawing, millimeters) in [(svg(&plot), 176.0), (svg_of_size(&plot, ACROSS), 273.0)] {
            let after = |name: &str| drawing.split(name).skip(1).find_map(number).unwrap();
            let points = millimeters / 25.4 * 72.0 / after(" width=\"") * after("font-size=\"");
            assert!((9.0..10.0).contains(&points.next_up()), "{points} over {millimeters} mm");
        }
    }
}
