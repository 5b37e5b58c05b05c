//! Parts of exhibits: pages and axes.

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

pub(crate) fn rounds_axis() -> Axis {
    Axis::new("Round", Scale::Integers)
}
