//! Plots as SVG: lines over two axes, and columns in perspective.
//!
//! Our own drawing rather than a plotting library's, because legends must stand
//! outside the plot and never be clipped, series must be told apart in grey
//! print, and the columns need a fixed projection.

mod axis;
mod columns;
mod lines;
mod paint;

pub(crate) use paint::escape;
use steadfast_domain::findings::{Plot, PlotKind};

/// A plot as a complete SVG document.
pub fn svg(plot: &Plot) -> String {
    match plot.kind {
        PlotKind::Columns3d => columns::draw(plot),
        _ => lines::draw(plot),
    }
}
