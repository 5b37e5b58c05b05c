//! The names of a run's tables, rows and columns, by which a limit selects a number.

use crate::grouping::{comma_separated, distinct_names};
use crate::number;
use serde::Serialize;
use steadfast_domain::Findings;
use steadfast_domain::findings::Cell;
use steadfast_domain::text::wrapped;

/// A table with its rows and columns, by the names that a limit can use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct TableNames {
    /// Id of the procedure in a run of several.
    pub part: Option<String>,
    /// Id of the table.
    pub table: String,
    /// Title of the table.
    pub title: String,
    /// Ids of the rows.
    pub rows: Vec<String>,
    /// Ids of the columns.
    pub columns: Vec<String>,
}

/// Returns every table of the findings that has a number, by the names that a limit uses.
pub fn names(findings: &Findings) -> Vec<TableNames> {
    let has_parts = !findings.parts.is_empty();
    let mut out: Vec<TableNames> = Vec::new();
    for one in findings.self_and_parts() {
        for table in one.tables() {
            let part = has_parts.then(|| one.id.clone());
            let is_known = out.iter().any(|names| names.part == part && names.table == table.id);
            let is_number = |cell: &Cell| matches!(cell, Cell::Number { .. });
            if is_known || !table.rows.iter().flat_map(|row| &row.cells).any(is_number) {
                continue;
            }
            out.push(TableNames {
                part,
                table: table.id.clone(),
                title: table.title.clone(),
                rows: distinct_names(table.rows.iter().map(|row| row.id.as_str())),
                columns: distinct_names(table.columns.iter().map(|column| column.id.as_str())),
            });
        }
    }
    out
}

/// Maximum number of rows or columns of a table that are listed.
const NAMES_MAX: usize = 60;

/// Returns the names as text, in the notation of a file of limits.
pub fn names_text(names: &[TableNames], width: usize) -> String {
    let quoted = |names: &[String]| {
        let (shown, others) = names.split_at(names.len().min(NAMES_MAX));
        let more = (!others.is_empty()).then(|| format!("and {} more", others.len()));
        comma_separated(shown.iter().map(|name| format!("{name:?}")).chain(more))
    };
    let mut lines = Vec::new();
    for names in names {
        let part = names.part.as_ref().map(|part| format!("part = {part:?}  "));
        lines.push(format!(
            "{}table = {:?}  # {}",
            part.unwrap_or_default(),
            names.table,
            names.title
        ));
        for (kind, all) in [("row", &names.rows), ("column", &names.columns)] {
            let text = wrapped(&format!("{kind}: {}", quoted(all)), width, "  ");
            lines.extend(text.into_iter().map(|line| format!("  {line}")));
        }
    }
    if lines.is_empty() {
        lines.push(format!("no table contains a number {}", number::DASH));
    }
    lines.join("\n")
}
