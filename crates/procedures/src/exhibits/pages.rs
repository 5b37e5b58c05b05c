//! The pieces of which exhibits are made: pages, axes, tables.

use super::envelope::thinned;
use steadfast_domain::findings::{Axis, Exhibit, Page, Row, Scale, Table};

/// A page; its long curves are drawn by their envelope.
pub(crate) fn page(title: &str, exhibits: Vec<Exhibit>) -> Page {
    let drawable = |exhibit| match exhibit {
        Exhibit::Plot(plot) => Exhibit::Plot(thinned(plot)),
        other => other,
    };
    Page::new(title, exhibits.into_iter().map(drawable).collect())
}

/// An axis.
pub(crate) fn axis(label: &str, scale: Scale) -> Axis {
    Axis::new(label, scale)
}

/// The axis of rounds.
pub(crate) fn rounds_axis() -> Axis {
    axis("Round", Scale::Integers)
}

/// A table without a heading over its columns.
pub(crate) fn plain_table(
    id: &str,
    title: &str,
    corner: &str,
    columns: Vec<String>,
    rows: Vec<Row>,
) -> Table {
    Table::new(id, title, corner).columns(columns).rows(rows)
}
