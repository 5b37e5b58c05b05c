//! Plots as SVG: lines, points, steps, stacks and shades over two axes, and
//! columns in perspective.
//!
//! Our own drawing rather than a plotting library's, because legends must stand
//! outside the plot and never be clipped, labels must not meet, series must be
//! told apart in gray print, and the columns need a fixed projection.

mod axis;
mod columns;
mod frame;
mod heat_map;
mod histogram;
mod lines;
mod paint;
mod stacked;

pub(crate) use paint::escape;
use steadfast_domain::findings::{Plot, PlotKind};

/// A plot as a complete SVG document.
pub fn svg(plot: &Plot) -> String {
    match plot.kind {
        PlotKind::Columns3d => columns::draw(plot),
        PlotKind::Lines | PlotKind::Scatter => lines::draw(plot),
        PlotKind::Histogram => histogram::draw(plot),
        PlotKind::Stacked => stacked::draw(plot),
        PlotKind::HeatMap => heat_map::draw(plot),
    }
}
