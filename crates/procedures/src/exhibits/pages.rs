//! The pieces of which exhibits are made: pages, axes, tables.

use super::envelope::thinned;
use steadfast_domain::findings::{Axis, Exhibit, Page, Scale};

/// A page; its long curves are drawn by their envelope.
pub(crate) fn page(title: &str, exhibits: Vec<Exhibit>) -> Page {
    let drawable = |exhibit| match exhibit {
        Exhibit::Plot(plot) => Exhibit::Plot(thinned(plot)),
        other => other,
    };
    Page::new(title, exhibits.into_iter().map(drawable).collect())
}

/// The axis of rounds.
pub(crate) fn rounds_axis() -> Axis {
    Axis::new("Round", Scale::Integers)
}
