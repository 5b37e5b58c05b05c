//! Layout common to the web page and the PDF: numbers of chapters, columns with sentences, empty
//! exhibits.

use crate::number;
use std::borrow::Cow;
use steadfast_domain::Findings;
use steadfast_domain::findings::{Cell, Exhibit, Facts, Page, Plot, PlotKind, Row, Setting, Table};

/// Returns the number of a chapter. In a report of several parts it begins with the number of the
/// part; the report's own chapters have letters there.
pub(crate) fn chapter_number(part: usize, index: usize, of_many: bool) -> String {
    match (part, of_many) {
        (0, _) => ('A'..='Z').nth(index).map_or_else(|| (index + 1).to_string(), String::from),
        (_, true) => format!("{part}.{}", index + 1),
        (_, false) => (index + 1).to_string(),
    }
}

/// Number of letters above which a text is taken as a sentence, not as a value.
const VALUE_LETTERS_MAX: usize = 24;

/// Returns true if a column has sentences, which are aligned left and not centered.
pub(crate) fn is_prose(table: &Table, column: usize) -> bool {
    has_text_beyond(table, column, VALUE_LETTERS_MAX)
}

/// Number of letters above which a name is aligned left and not centered.
const CENTERED_LETTERS_MAX: usize = 12;

/// Returns true if the texts of a column are aligned left.
pub(crate) fn is_left(table: &Table, column: usize) -> bool {
    has_text_beyond(table, column, CENTERED_LETTERS_MAX)
}

fn has_text_beyond(table: &Table, column: usize, letters: usize) -> bool {
    let mut cells = table.rows.iter().filter_map(|row| row.cells.get(column));
    cells.any(|cell| matches!(cell, Cell::Text(text) if text.chars().count() > letters))
}

/// An exhibit as it is printed: every number once, and nothing empty.
pub(crate) enum PrintedExhibit<'a> {
    Table(&'a Table),
    Plot(&'a Plot),
    Facts(&'a Facts),
    Text(&'a str),
    Listing(&'a str),
    /// A line in place of an exhibit without values.
    Nothing(String),
}

/// A page as it is printed.
pub(crate) struct PrintedPage<'a> {
    /// Position among the printed pages, from 0 without gaps.
    pub index: usize,
    pub title: &'a str,
    pub exhibits: Vec<PrintedExhibit<'a>>,
}

/// Tables and plots printed so far. A report form has some of them several times, on each page that
/// the form defines; other documents have each of them once.
#[derive(Default)]
pub(crate) struct DuplicateFilter<'a> {
    tables: Vec<&'a [Row]>,
    plots: Vec<(&'a str, PlotKind)>,
    facts: Vec<&'a Facts>,
    texts: Vec<&'a str>,
}

impl<'a> DuplicateFilter<'a> {
    /// Returns a new list for a part of the report. Labeled values printed for the whole report
    /// apply to the part as well.
    pub fn of_part(&self) -> DuplicateFilter<'a> {
        DuplicateFilter { facts: self.facts.clone(), ..DuplicateFilter::default() }
    }

    /// Records a plot that is printed elsewhere.
    pub fn has(&mut self, plot: &'a Plot) {
        self.plots.push((plot.id.as_str(), plot.kind));
    }

    /// Returns those of the exhibits that were not printed before.
    pub fn unprinted(&mut self, exhibits: &'a [Exhibit]) -> Vec<PrintedExhibit<'a>> {
        exhibits.iter().filter_map(|exhibit| self.shown(exhibit)).collect()
    }

    /// Returns the pages that have something not printed before.
    pub fn of_pages(&mut self, pages: &'a [Page]) -> Vec<PrintedPage<'a>> {
        let is_remark = |one: &PrintedExhibit<'_>| {
            matches!(one, PrintedExhibit::Text(_) | PrintedExhibit::Nothing(_))
        };
        let mut printed = Vec::new();
        for page in pages {
            let mut exhibits = self.unprinted(&page.exhibits);
            if exhibits.is_empty() {
                continue;
            }
            // Sentences about a table that stands somewhere else say which one it is.
            if exhibits.iter().all(is_remark) {
                let tables = page.exhibits.iter().filter_map(Exhibit::as_table);
                let references = tables
                    .filter(|table| !is_void(table))
                    .map(|table| PrintedExhibit::Nothing(format!("{}: see above.", table.title)));
                exhibits.splice(0..0, references);
            }
            printed.push(PrintedPage { index: printed.len(), title: &page.title, exhibits });
        }
        printed
    }

    fn shown(&mut self, exhibit: &'a Exhibit) -> Option<PrintedExhibit<'a>> {
        if let Some(line) = nothing(exhibit) {
            return Some(PrintedExhibit::Nothing(line));
        }
        let is_new = match exhibit {
            Exhibit::Table(table) => is_new(&mut self.tables, table.rows.as_slice()),
            Exhibit::Plot(plot) => is_new(&mut self.plots, (plot.id.as_str(), plot.kind)),
            Exhibit::Facts(facts) => is_new(&mut self.facts, facts),
            Exhibit::Text(text) => is_new(&mut self.texts, text.as_str()),
            Exhibit::Listing(_) => true,
        };
        is_new.then(|| as_is(exhibit))
    }
}

/// Returns an exhibit even if it was printed before.
pub(crate) fn as_is(exhibit: &Exhibit) -> PrintedExhibit<'_> {
    match exhibit {
        Exhibit::Table(table) => PrintedExhibit::Table(table),
        Exhibit::Plot(plot) => PrintedExhibit::Plot(plot),
        Exhibit::Facts(facts) => PrintedExhibit::Facts(facts),
        Exhibit::Text(text) => PrintedExhibit::Text(text),
        Exhibit::Listing(text) => PrintedExhibit::Listing(text),
    }
}

fn is_new<T: PartialEq>(seen: &mut Vec<T>, one: T) -> bool {
    let is_new = !seen.contains(&one);
    if is_new {
        seen.push(one);
    }
    is_new
}

/// Returns the labeled values that are known, and one line with the labels of the others.
pub(crate) fn known(facts: &Facts) -> (Vec<&Setting>, Option<String>) {
    let (known, unknown): (Vec<&Setting>, Vec<&Setting>) =
        facts.rows.iter().partition(|row| row.value.is_some());
    let labels: Vec<&str> = unknown.iter().map(|row| row.label.as_str()).collect();
    let line = (!labels.is_empty()).then(|| format!("Unknown: {}.", labels.join(", ")));
    (known, line)
}

/// Number of series above which a legend needs space next to its plot.
const SMALL_LEGEND_MAX: usize = 9;

/// Maximum numbers of bars and cells that are distinguishable in half the width of a page.
const SMALL_BARS_MAX: usize = 8;
const SMALL_CELLS_MAX: usize = 80;
/// Maximum number of points for which half the width of a page is enough.
const FEW_POINTS_MAX: usize = 12;

fn points(plot: &Plot) -> usize {
    plot.series.iter().map(|series| series.points.len()).sum()
}

/// Returns true if a plot has too few points for the full width of a page, whatever its importance.
pub(crate) fn is_slight(plot: &Plot) -> bool {
    points(plot) <= FEW_POINTS_MAX
}

/// Returns a table without its rows of missing values, and one line that names those. A matrix
/// keeps its shape.
pub(crate) fn measured(table: &Table) -> (Cow<'_, Table>, Option<String>) {
    let same_head = |_: &&Row, next: &&Row| next.head.is_empty();
    let rows: Vec<&Row> = table.rows.iter().collect();
    let groups = || rows.chunk_by(same_head);
    let is_void =
        |group: &&[&Row]| group.iter().all(|row| !row.cells.is_empty() && is_void_row(table, row));
    let void: Vec<&str> = groups().filter(is_void).map(|group| group[0].head.as_str()).collect();
    let is_all = groups().all(|group| is_void(&group));
    let named = void.iter().all(|head| !head.is_empty());
    if void.is_empty() || is_all || !named || table.spanner.is_some() {
        return (Cow::Borrowed(table), None);
    }
    let kept = groups().filter(|group| !is_void(group)).flatten().map(|row| (*row).clone());
    let kept = Table { rows: kept.collect(), ..table.clone() };
    (Cow::Owned(kept), Some(format!("No value: {}.", void.join(", "))))
}

/// Returns true if a plot is readable in half the width of a page.
pub(crate) fn suits_half(plot: &Plot) -> bool {
    let kind = match plot.kind {
        PlotKind::Lines | PlotKind::Histogram | PlotKind::Scatter => true,
        PlotKind::Bars | PlotKind::Stacked => points(plot) <= SMALL_BARS_MAX,
        PlotKind::HeatMap => points(plot) <= SMALL_CELLS_MAX,
        PlotKind::Columns3d => false,
    };
    // A histogram has few series and uses the right axis for its cumulative sum; a heat map has the
    // names of its rows there.
    let has_right = plot.y_right.is_some() && plot.kind != PlotKind::HeatMap;
    let few = plot.kind == PlotKind::Histogram || !has_right && plot.markers.len() <= 3;
    kind && plot.series.len() <= SMALL_LEGEND_MAX && few
}

/// Maximum number of rows of a table next to a plot.
const ROWS_BESIDE_PLOT_MAX: usize = 30;

/// Returns true if a table is not much longer than a plot next to it and has no sentences.
pub(crate) fn is_small(table: &Table) -> bool {
    let prose = (0..table.columns.len()).any(|column| is_prose(table, column));
    table.rows.len() <= ROWS_BESIDE_PLOT_MAX && !prose
}

/// Returns true if page one has the summaries of the parts because the report has none of its own.
pub(crate) fn borrows(findings: &Findings) -> bool {
    findings.summary.is_empty() && !findings.parts.is_empty()
}

/// Returns a line that replaces an exhibit without any value; `None` for other exhibits.
pub(crate) fn nothing(exhibit: &Exhibit) -> Option<String> {
    match exhibit {
        Exhibit::Table(table) if is_void(table) => Some(format!("{}: no values.", table.title)),
        Exhibit::Plot(plot) if is_empty(plot) => Some(format!("{}: no values.", plot.title)),
        _ => None,
    }
}

/// Returns true if a plot has no value.
pub(crate) fn is_empty(plot: &Plot) -> bool {
    plot.series.iter().all(|series| series.points.iter().all(|(_, y)| y.is_none()))
}

/// Returns true if a table has no value.
fn is_void(table: &Table) -> bool {
    table.rows.iter().all(|row| is_void_row(table, row))
}

/// Returns true if a row has only dashes and, in a table of several blocks, the names of the
/// blocks.
fn is_void_row(table: &Table, row: &Row) -> bool {
    let is_name =
        |at: usize| table.block.is_some_and(|width| width > 0 && at.is_multiple_of(width));
    row.cells.iter().enumerate().all(|(at, cell)| is_name(at) || is_void_cell(cell))
}

fn is_void_cell(cell: &Cell) -> bool {
    match cell {
        Cell::Missing => true,
        Cell::Text(text) => text.is_empty() || text == number::DASH,
        Cell::Number { value, .. } => !value.is_finite(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::findings::Row;

    #[test]
    fn rows_of_dashes_are_one_line() {
        let table = Table::new("t", "T", "").column("x").rows([
            Row::new("IOPS", [Cell::count(7)]),
            Row::new("Power", [Cell::Missing]),
            Row::new("Watts", [Cell::Missing]),
        ]);
        let (kept, line) = measured(&table);
        assert_eq!((kept.rows.len(), line.as_deref()), (1, Some("No value: Power, Watts.")));
        let matrix = table.clone().spanner("Mix");
        assert_eq!(measured(&matrix).0.rows.len(), 3);
        let blocks = |head: &str, cell: Cell| Row::new(head, [Cell::text("4K"), cell]);
        let blocks = Table::new("t", "T", "").columns(["Size", "x"]).rows([
            blocks("IOPS", Cell::count(7)),
            blocks("", Cell::Missing),
            blocks("Power", Cell::Missing),
            blocks("", Cell::Missing),
        ]);
        let blocks = Table { block: Some(2), ..blocks };
        assert_eq!(measured(&blocks).0.rows.len(), 2, "a group stays or goes as a whole");
    }

    #[test]
    fn printed_pages_are_numbered_without_gaps() {
        let text = |text: &str| Page::new(text, vec![Exhibit::Text(text.to_owned())]);
        let pages = [text("one"), text("two"), text("three")];
        let mut filter = DuplicateFilter::default();
        filter.unprinted(&pages[0].exhibits);
        let printed: Vec<(usize, &str)> =
            filter.of_pages(&pages).iter().map(|page| (page.index, page.title)).collect();
        assert_eq!(printed, [(0, "two"), (1, "three")]);
    }

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
