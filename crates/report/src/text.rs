//! Findings for a terminal: headline, verdict, caveats, summary tables.

use crate::number;
use steadfast_domain::findings::{CaveatKind, Exhibit, Facts, Table};
use steadfast_domain::{Caveat, Findings};

/// The findings as plain text, `width` columns wide where tables allow it.
pub fn text(findings: &Findings, width: usize) -> String {
    let mut lines = Vec::new();
    if findings.simulated {
        lines.push("SIMULATED: no number here is a measurement.".to_owned());
    }
    let model = findings.header.model.as_deref().unwrap_or("no model name");
    lines.push(format!("{}  {model}", findings.title));
    lines.push(findings.headline.clone());
    lines.extend(wrapped(&findings.method, width, ""));
    lines.extend(wrapped(&findings.ending, width, ""));
    for kind in KINDS {
        let of_kind = findings.caveats.iter().filter(|caveat| caveat.kind == kind.0);
        lines.extend(of_kind.flat_map(|caveat| caveat_lines(caveat, kind.1, width)));
    }
    for exhibit in &findings.summary {
        lines.push(String::new());
        lines.extend(exhibit_lines(exhibit, width));
    }
    lines.push(String::new());
    lines.join("\n")
}

/// Every kind of caveat and what stands before one.
pub(crate) const KINDS: [(CaveatKind, &str); 4] = [
    (CaveatKind::Invalidates, "ATTENTION"),
    (CaveatKind::Deviation, "Deviation"),
    (CaveatKind::Unverified, "Unverified rule"),
    (CaveatKind::Remark, "Remark"),
];

fn caveat_lines(caveat: &Caveat, kind: &str, width: usize) -> Vec<String> {
    let remedy =
        if caveat.remedy.is_empty() { String::new() } else { format!(" {}", caveat.remedy) };
    wrapped(&format!("{kind}: {}{remedy}", caveat.text), width, "  ")
}

fn exhibit_lines(exhibit: &Exhibit, width: usize) -> Vec<String> {
    match exhibit {
        Exhibit::Table(table) => table_lines(table),
        Exhibit::Facts(facts) => facts_lines(facts),
        Exhibit::Text(text) => wrapped(text, width, ""),
        Exhibit::Listing(text) => text.lines().map(str::to_owned).collect(),
        Exhibit::Plot(plot) => vec![format!("[{}: see the report]", plot.title)],
    }
}

fn facts_lines(facts: &Facts) -> Vec<String> {
    let mut lines = vec![facts.title.clone()];
    lines.extend(
        facts.rows.iter().map(|(label, value)| {
            format!("  {label}: {}", value.as_deref().unwrap_or(number::DASH))
        }),
    );
    lines
}

fn table_lines(table: &Table) -> Vec<String> {
    let mut rows: Vec<Vec<String>> =
        vec![std::iter::once(table.corner.clone()).chain(table.columns.clone()).collect()];
    rows.extend(table.rows.iter().map(|row| {
        std::iter::once(row.head.clone()).chain(row.cells.iter().map(number::cell)).collect()
    }));
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns)
        .map(|column| {
            rows.iter().filter_map(|r| r.get(column)).map(|c| c.chars().count()).max().unwrap_or(0)
        })
        .collect();
    let mut lines = vec![table.title.clone()];
    if let Some(spanner) = &table.spanner {
        lines.push(format!(
            "{:indent$}  {spanner}",
            "",
            indent = widths.first().copied().unwrap_or(0)
        ));
    }
    lines.extend(rows.iter().map(|row| aligned(row, &widths)));
    lines
}

fn aligned(row: &[String], widths: &[usize]) -> String {
    let cells: Vec<String> = row
        .iter()
        .zip(widths)
        .enumerate()
        .map(|(index, (cell, width))| match index {
            0 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        })
        .collect();
    cells.join("  ").trim_end().to_owned()
}

/// Lines of at most `width` characters; all but the first begin with `indent`.
fn wrapped(text: &str, width: usize, indent: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        let fits = line.chars().count() + 1 + word.chars().count() <= width.max(20);
        if line.trim().is_empty() || fits {
            if !line.trim().is_empty() {
                line.push(' ');
            }
        } else {
            lines.push(std::mem::replace(&mut line, indent.to_owned()));
        }
        line.push_str(word);
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_wrapped_and_indented() {
        let lines = wrapped("one two three four five six seven", 20, "  ");
        assert_eq!(lines, ["one two three four", "  five six seven"]);
    }
}
