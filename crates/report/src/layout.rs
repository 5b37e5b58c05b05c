//! What page and PDF have in common: how chapters are numbered, which columns hold sentences,
//! and which exhibits say nothing.

use crate::number;
use steadfast_domain::Findings;
use steadfast_domain::findings::{Cell, Exhibit, Facts, Page, Plot, PlotKind, Row, Setting, Table};

/// The number of a chapter: in a report of many parts with the part's before it; the report's
/// own chapters have letters there.
pub(crate) fn chapter_number(part: usize, index: usize, of_many: bool) -> String {
    match (part, of_many) {
        (0, _) => ('A'..='Z').nth(index).map_or_else(|| (index + 1).to_string(), String::from),
        (_, true) => format!("{part}.{}", index + 1),
        (_, false) => (index + 1).to_string(),
    }
}

/// Letters of a text that is read as a sentence, not as a value.
const SENTENCE: usize = 24;

/// Whether a column holds sentences: they begin at its left edge, and do not stand in its
/// middle.
pub(crate) fn is_prose(table: &Table, column: usize) -> bool {
    let mut cells = table.rows.iter().filter_map(|row| row.cells.get(column));
    cells.any(|cell| matches!(cell, Cell::Text(text) if text.chars().count() > SENTENCE))
}

/// What a reader gets of the exhibits: each number once, nothing that is empty.
pub(crate) enum Shown<'a> {
    /// A table.
    Table(&'a Table),
    /// A drawing.
    Plot(&'a Plot),
    /// Labelled values.
    Facts(&'a Facts),
    /// A paragraph.
    Text(&'a str),
    /// Preformatted lines.
    Listing(&'a str),
    /// A line in the place of an exhibit that says nothing.
    Nothing(String),
}

/// Which tables and plots were shown already. A report form shows some of them several times,
/// each on the page where the form has it; other documents have each in one place.
#[derive(Default)]
pub(crate) struct Once<'a> {
    tables: Vec<&'a [Row]>,
    plots: Vec<(&'a str, PlotKind)>,
    facts: Vec<&'a Facts>,
}

impl<'a> Once<'a> {
    /// For a part of a report: labeled values that the whole has shown hold for it as well.
    pub fn of_part(&self) -> Once<'a> {
        Once { facts: self.facts.clone(), ..Once::default() }
    }

    /// A plot stands somewhere else already.
    pub fn has(&mut self, plot: &'a Plot) {
        self.plots.push((plot.id.as_str(), plot.kind));
    }

    /// What is to be shown of these exhibits, after all that were shown before.
    pub fn of(&mut self, exhibits: &'a [Exhibit]) -> Vec<Shown<'a>> {
        exhibits.iter().filter_map(|exhibit| self.shown(exhibit)).collect()
    }

    /// The pages on which something is left to be shown.
    pub fn of_pages(&mut self, pages: &'a [Page]) -> Vec<(usize, &'a Page, Vec<Shown<'a>>)> {
        let all = pages.iter().enumerate().map(|(at, page)| (at, page, self.of(&page.exhibits)));
        all.filter(|(.., shown)| !shown.is_empty()).collect()
    }

    fn shown(&mut self, exhibit: &'a Exhibit) -> Option<Shown<'a>> {
        if let Some(line) = nothing(exhibit) {
            return Some(Shown::Nothing(line));
        }
        let is_new = match exhibit {
            Exhibit::Table(table) => is_new(&mut self.tables, table.rows.as_slice()),
            Exhibit::Plot(plot) => is_new(&mut self.plots, (plot.id.as_str(), plot.kind)),
            Exhibit::Facts(facts) => is_new(&mut self.facts, facts),
            Exhibit::Text(_) | Exhibit::Listing(_) => true,
        };
        is_new.then(|| as_is(exhibit))
    }
}

/// An exhibit whatever was shown before.
pub(crate) fn as_is(exhibit: &Exhibit) -> Shown<'_> {
    match exhibit {
        Exhibit::Table(table) => Shown::Table(table),
        Exhibit::Plot(plot) => Shown::Plot(plot),
        Exhibit::Facts(facts) => Shown::Facts(facts),
        Exhibit::Text(text) => Shown::Text(text),
        Exhibit::Listing(text) => Shown::Listing(text),
    }
}

fn is_new<T: PartialEq>(seen: &mut Vec<T>, one: T) -> bool {
    let is_new = !seen.contains(&one);
    if is_new {
        seen.push(one);
    }
    is_new
}

/// Labeled values that are known, and the labels of the others in one line.
pub(crate) fn known(facts: &Facts) -> (Vec<&Setting>, Option<String>) {
    let (known, unknown): (Vec<&Setting>, Vec<&Setting>) =
        facts.rows.iter().partition(|row| row.value.is_some());
    let labels: Vec<&str> = unknown.iter().map(|row| row.label.as_str()).collect();
    let line = (!labels.is_empty()).then(|| format!("Not known: {}.", labels.join(", ")));
    (known, line)
}

/// Series beyond which a legend needs room beside its plot.
const LEGEND_SMALL: usize = 9;

/// Whether a plot says what it says in half the width of a page.
pub(crate) fn suits_half(plot: &Plot) -> bool {
    let kind = matches!(plot.kind, PlotKind::Lines | PlotKind::Histogram | PlotKind::Scatter);
    // A histogram has few series, and an axis on the right for its running sum.
    let few = plot.kind == PlotKind::Histogram || plot.y_right.is_none() && plot.markers.len() <= 3;
    kind && plot.series.len() <= LEGEND_SMALL && few
}

/// Letters of a line that fit into half the width of a page.
const HALF_A_LINE: usize = 46;

/// Whether a table is as narrow as half a page, and no longer than a plot beside it.
pub(crate) fn is_narrow(table: &Table, letters: usize) -> bool {
    let prose = (0..table.columns.len()).any(|column| is_prose(table, column));
    letters <= HALF_A_LINE && table.rows.len() <= 24 && !prose
}

/// The tables of the summary that stand on page one, and the others.
pub(crate) fn on_page_one(findings: &Findings) -> (Vec<Exhibit>, Vec<Exhibit>) {
    let is_there = |exhibit: &Exhibit| match exhibit {
        Exhibit::Table(table) => findings.front.tables.contains(&table.id),
        _ => false,
    };
    findings.summary.iter().cloned().partition(is_there)
}

/// Whether page one has the summaries of the parts, as it has none of its own.
pub(crate) fn borrows(findings: &Findings) -> bool {
    findings.summary.is_empty() && !findings.parts.is_empty()
}

/// What stands where an exhibit has no value at all: a line that says so.
pub(crate) fn nothing(exhibit: &Exhibit) -> Option<String> {
    match exhibit {
        Exhibit::Table(table) if is_void(table) => Some(format!("{}: no values.", table.title)),
        Exhibit::Plot(plot)
            if plot.series.iter().all(|s| s.points.iter().all(|(_, y)| y.is_none())) =>
        {
            Some(format!("{}: no values.", plot.title))
        }
        _ => None,
    }
}

/// A table of dashes.
fn is_void(table: &Table) -> bool {
    let empty = |cell: &Cell| match cell {
        Cell::Missing => true,
        Cell::Text(text) => text.is_empty() || text == number::DASH,
        Cell::Number { value, .. } => !value.is_finite(),
    };
    table.rows.iter().all(|row| row.cells.iter().all(empty))
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::findings::Row;

    #[test]
    fn a_table_of_dashes_is_a_line() {
        let table = |cells: Vec<Cell>| {
            Exhibit::Table(Table::new("t", "Rates", "").column("x").row(Row::new("a", cells)))
        };
        assert_eq!(nothing(&table(vec![Cell::Missing])).as_deref(), Some("Rates: no values."));
        assert_eq!(nothing(&table(vec![Cell::Missing, Cell::count(0)])), None);
        assert_eq!(nothing(&Exhibit::Text("words".into())), None);
    }
}
