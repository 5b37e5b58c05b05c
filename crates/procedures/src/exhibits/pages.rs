//! Parts of exhibits: pages, axes and lines.

use super::envelope::thinned;
use steadfast_domain::findings::{Axis, Exhibit, Page, Scale};

/// Returns a page; long curves are thinned to their envelope.
pub(crate) fn page(title: &str, exhibits: Vec<Exhibit>) -> Page {
    let drawable = |exhibit| match exhibit {
        Exhibit::Plot(plot) => Exhibit::Plot(thinned(plot)),
        other => other,
    };
    Page::new(title, exhibits.into_iter().map(drawable).collect())
}

/// Appends a point to a line, which a break before the point interrupts.
pub(crate) fn push_point(
    line: &mut Vec<(f64, Option<f64>)>,
    breaks: bool,
    x: f64,
    value: Option<f64>,
) {
    if breaks && !line.is_empty() {
        line.push((x, None));
    }
    line.push((x, value));
}

pub(crate) fn rounds_axis() -> Axis {
    Axis::new("Round", Scale::Integers)
}
