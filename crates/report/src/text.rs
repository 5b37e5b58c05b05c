//! Renders findings for a terminal: headline, verdict, caveats, summary tables.

use crate::layout::is_prose;
use crate::page_one::{self, PageOneBlock, PrintedQuestion};
use crate::parts::{Disclosure, disclosures, simulated};
use crate::{number, text_table};
use steadfast_domain::Findings;
use steadfast_domain::findings::{Exhibit, Facts, KeyFigure, Table};
use steadfast_domain::text::{printable, wrapped};

/// Returns the findings as plain text, `width` columns wide where tables permit.
pub fn text(findings: &Findings, width: usize) -> String {
    let mut lines = Vec::new();
    if simulated(findings) {
        lines.push("SIMULATED: no number here is a measurement.".to_owned());
    }
    let model = findings.header.model.as_deref().unwrap_or("no model name");
    lines.push(printable(&format!("{}  {model}", findings.title)).into_owned());
    for block in page_one::blocks(findings) {
        lines.extend(block_lines(&block, findings, width));
    }
    for disclosure in disclosures(findings) {
        lines.extend(caveat_lines(&disclosure, width));
    }
    lines.extend(summary_lines(findings, width));
    for part in findings.all_parts() {
        lines.extend([String::new(), format!("== {} ==", part.title)]);
        for block in page_one::part_blocks(part) {
            lines.extend(block_lines(&block, part, width));
        }
        lines.extend(summary_lines(part, width));
    }
    lines.push(String::new());
    lines.join("\n")
}

fn block_lines(block: &PageOneBlock<'_>, findings: &Findings, width: usize) -> Vec<String> {
    match block {
        PageOneBlock::Conclusion => conclusion(findings, width),
        PageOneBlock::Figures(figures) => figure_lines(figures),
        PageOneBlock::Questions(all) => question_lines(all, width),
        PageOneBlock::Tests(table) => {
            let mut lines = vec![String::new()];
            lines.extend(table_lines(table, width));
            lines
        }
        // The disclosures and the whole summary follow; the rest is in the report only.
        PageOneBlock::Badges(_)
        | PageOneBlock::BadgeMeaning(_)
        | PageOneBlock::Attention(_)
        | PageOneBlock::Tables(_)
        | PageOneBlock::Surroundings
        | PageOneBlock::Evidence(_)
        | PageOneBlock::Plots(_) => Vec::new(),
    }
}

fn conclusion(findings: &Findings, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    if !findings.headline.is_empty() {
        lines.push(findings.headline.clone());
    }
    for text in [&findings.method, &findings.ending].into_iter().filter(|text| !text.is_empty()) {
        lines.extend(wrapped(text, width, ""));
    }
    lines
}

/// Returns lines of key figures with aligned values.
fn figure_lines(figures: &[&KeyFigure]) -> Vec<String> {
    let texts: Vec<(String, String)> =
        figures.iter().map(|f| (printable(&f.label).into_owned(), number::figure(f))).collect();
    let label_width = texts.iter().map(|(label, _)| label.chars().count()).max().unwrap_or(0);
    let value_width = texts.iter().map(|(_, value)| value.chars().count()).max().unwrap_or(0);
    let line = |((label, value), figure): (&(String, String), &&KeyFigure)| {
        let unit = number::unit(figure);
        format!("  {label:<label_width$}  {value:>value_width$} {unit}").trim_end().to_owned()
    };
    texts.iter().zip(figures).map(line).collect()
}

/// Returns the questions of page one with their figures and the reasons for dashes.
fn question_lines(all: &[PrintedQuestion<'_>], width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for question in all {
        lines.extend([String::new(), printable(question.question).into_owned()]);
        let indented = |text: &str| {
            let wrapped = wrapped(&printable(text), width.saturating_sub(2), "");
            wrapped.into_iter().map(|line| format!("  {line}"))
        };
        lines.extend(indented(question.answer));
        let figures: Vec<&KeyFigure> =
            question.answers.iter().map(|answer| answer.figure).collect();
        lines.extend(figure_lines(&figures));
        for text in
            std::iter::once(question.note).chain(question.missing.iter().map(String::as_str))
        {
            lines.extend(indented(text));
        }
    }
    lines
}

fn summary_lines(findings: &Findings, width: usize) -> Vec<String> {
    let of = |exhibit| std::iter::once(String::new()).chain(exhibit_lines(exhibit, width));
    findings.summary.iter().flat_map(of).collect()
}

fn caveat_lines(caveat: &Disclosure<'_>, width: usize) -> Vec<String> {
    let remedy =
        if caveat.remedy.is_empty() { String::new() } else { format!(" {}", caveat.remedy) };
    wrapped(&format!("{}: {}{remedy}", caveat.name, caveat.text), width, "  ")
}

fn exhibit_lines(exhibit: &Exhibit, width: usize) -> Vec<String> {
    match exhibit {
        Exhibit::Table(table) if table.columns.len() == 1 && is_prose(table, 0) => {
            sentence_lines(table, width)
        }
        Exhibit::Table(table) => table_lines(table, width),
        Exhibit::Facts(facts) => facts_lines(facts),
        Exhibit::Text(text) => wrapped(text, width, ""),
        Exhibit::Listing(text) => text.lines().map(str::to_owned).collect(),
        Exhibit::Plot(plot) => vec![format!("[{}: see the report]", plot.title)],
    }
}

fn facts_lines(facts: &Facts) -> Vec<String> {
    let mut lines = vec![facts.title.clone()];
    lines.extend(facts.rows.iter().map(|row| {
        let text = row.text();
        let text = text.as_deref().unwrap_or(number::DASH);
        printable(&format!("  {}: {text}", row.label)).into_owned()
    }));
    lines
}

/// Formats a table of sentences, each below the name of its row.
fn sentence_lines(table: &Table, width: usize) -> Vec<String> {
    let mut lines = vec![table.title.clone()];
    for (row, cells) in table.rows.iter().zip(number::printed(table)) {
        if !row.head.is_empty() {
            lines.push(printable(&format!("  {}", row.head)).into_owned());
        }
        for text in &cells {
            let mut wrapped = wrapped(&printable(text), width.saturating_sub(4), "      ");
            wrapped.first_mut().into_iter().for_each(|line| line.insert_str(0, "    "));
            lines.extend(wrapped);
        }
    }
    lines
}

/// Formats a table. If it is too wide, further columns continue below.
pub(crate) fn table_lines(table: &Table, width: usize) -> Vec<String> {
    let columns = table.columns.iter().map(|column| column.name.clone());
    let mut rows: Vec<Vec<String>> =
        vec![std::iter::once(table.corner.clone()).chain(columns).collect()];
    let printed = table.rows.iter().zip(number::printed(table));
    rows.extend(printed.map(|(row, cells)| {
        // Plain text has no bold.
        let mark = |at: usize| if row.marked.contains(&at) { "*" } else { "" };
        let cells = (0..).zip(cells).map(|(at, cell)| format!("{}{cell}", mark(at)));
        std::iter::once(row.head.clone()).chain(cells).collect()
    }));
    rows.iter_mut().flatten().for_each(|cell| *cell = printable(cell).into_owned());
    let widths = text_table::widths(&rows);
    let head = widths.first().copied().unwrap_or(0);
    let mut lines = vec![table.title.clone()];
    if let Some(spanner) = &table.spanner {
        let indented = format!("{:head$}  {spanner}", "");
        if indented.chars().count() <= width {
            lines.push(indented);
        } else {
            lines.extend(wrapped(spanner, width, "  "));
        }
    }
    for (from, to) in folds(&widths, width) {
        let chosen = |all: &[String]| -> Vec<String> {
            let others = all.get(from..to.min(all.len())).unwrap_or_default();
            all.first().into_iter().chain(others).cloned().collect()
        };
        let chosen: Vec<Vec<String>> = rows.iter().map(|row| chosen(row)).collect();
        // A column that is too wide even alone is text and is wrapped.
        let room = width.saturating_sub(head + 2);
        let is_text = to - from == 1 && widths.get(from).is_some_and(|wide| *wide > room);
        let chosen = if is_text { wrap_second_column(&chosen, room) } else { chosen };
        let is_left = |column: usize| column == 0 || is_text || is_prose(table, from + column - 2);
        lines.extend(text_table::lines(&chosen, is_left));
    }
    lines
}

/// Wraps the second of two columns into lines.
fn wrap_second_column(rows: &[Vec<String>], room: usize) -> Vec<Vec<String>> {
    let mut lines = Vec::new();
    for row in rows {
        let mut head = row.first().cloned().unwrap_or_default();
        for line in wrapped(row.get(1).map_or("", String::as_str), room, "") {
            lines.push(vec![std::mem::take(&mut head), line]);
        }
        if !head.is_empty() {
            lines.push(vec![head, String::new()]);
        }
    }
    lines
}

/// Returns the ranges of columns after the first that fit next to it.
fn folds(widths: &[usize], width: usize) -> Vec<(usize, usize)> {
    let mut folds = Vec::new();
    let (mut from, mut used) = (1, widths.first().copied().unwrap_or(0));
    for (column, needed) in widths.iter().enumerate().skip(1) {
        if column > from && used + 2 + needed > width {
            folds.push((from, column));
            (from, used) = (column, widths[0]);
        }
        used += 2 + needed;
    }
    folds.push((from.min(widths.len()), widths.len()));
    folds
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::findings::{Cell, Row};

    #[test]
    fn a_text_that_is_too_wide_continues_below() {
        let ending = "steady in rounds 1 to 5 of 5; steady in rounds 2 to 6 of 6";
        let table = Table::new("t", "How it ended", "Test")
            .columns(["Steady", "Ending"])
            .row(Row::new("IOPS", [Cell::text("yes"), Cell::text(ending)]));
        let lines = table_lines(&table, 40);
        let expected = [
            "How it ended", "Test  Steady", "IOPS     yes", "Test  Ending",
            "IOPS  steady in rounds 1 to 5 of 5;", "      steady in rounds 2 to 6 of 6",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn wide_tables_are_folded() {
        assert_eq!(folds(&[5, 4, 4, 4], 20), [(1, 3), (3, 4)]);
        assert_eq!(folds(&[5, 4, 4, 4], 100), [(1, 4)]);
        assert_eq!(folds(&[50, 40], 20), [(1, 2)]);
        assert_eq!(folds(&[50], 20), [(1, 1)]);
        assert_eq!(folds(&[], 20), [(0, 0)]);
    }
}
