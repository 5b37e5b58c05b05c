//! Writes tables as CSV (RFC 4180). Numbers are unrounded; a missing value is empty.

use crate::compare::metrics;
use crate::named_run::NamedRun;
use steadfast_domain::Findings;
use steadfast_domain::findings::{Cell, Table};
use steadfast_domain::text::{csv_quoted, printable};

/// Returns a table as CSV.
pub fn csv(table: &Table) -> String {
    let mut out = String::new();
    let head =
        std::iter::once(table.corner.as_str()).chain(table.columns.iter().map(|c| c.name.as_str()));
    line(&mut out, head.map(field));
    for row in &table.rows {
        // A row without cells only divides the table.
        debug_assert!(
            row.cells.is_empty() || row.cells.len() == table.columns.len(),
            "table {} has {} columns, its row {} has {} cells",
            table.id,
            table.columns.len(),
            row.id,
            row.cells.len()
        );
        let cells = row.cells.iter().map(|cell| match cell {
            Cell::Number { value, .. } if value.is_finite() => value.to_string(),
            Cell::Text(text) => field(text),
            Cell::Number { .. } | Cell::Missing => String::new(),
        });
        line(&mut out, std::iter::once(field(&row.head)).chain(cells));
    }
    out
}

/// Returns every table as a file name and its content. The file names of a part's tables begin with
/// the title of the part: `iops-steady-state.csv`.
pub fn tables(findings: &Findings) -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> = Vec::new();
    let numbers = metrics(&[NamedRun { name: findings.title.clone(), findings: findings.clone() }]);
    if !numbers.rows.is_empty() && findings.table(&numbers.id).is_none() {
        add(&mut files, file_stem(&numbers.id), csv(&numbers));
    }
    for table in findings.tables() {
        add(&mut files, file_stem(&table.id), csv(table));
    }
    let mut titles: Vec<String> = Vec::new();
    for part in findings.all_parts() {
        let title = file_stem(&part.title.to_lowercase());
        let same = titles.iter().filter(|other| **other == title).count();
        let prefix = if same > 0 { format!("{title}-{}", same + 1) } else { title.clone() };
        titles.push(title);
        for table in part.tables() {
            add(&mut files, format!("{prefix}-{}", file_stem(&table.id)), csv(table));
        }
    }
    files
}

/// Adds a file under a unique name. A table that is both in the summary and on a page becomes one
/// file; another table of the same name gets a number.
fn add(files: &mut Vec<(String, String)>, stem: String, content: String) {
    let mut name = format!("{stem}.csv");
    let mut number = 1;
    while let Some((_, other)) = files.iter().find(|(taken, _)| *taken == name) {
        if *other == content {
            return;
        }
        number += 1;
        name = format!("{stem}-{number}.csv");
    }
    files.push((name, content));
}

/// Returns an ID as a file name of letters, digits and dashes, which cannot lead out of the
/// directory.
fn file_stem(id: &str) -> String {
    id.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

fn line(out: &mut String, fields: impl Iterator<Item = String>) {
    out.push_str(&fields.collect::<Vec<_>>().join(","));
    out.push_str("\r\n");
}

/// Formats a text field: on one line, quoted if necessary, and with a leading apostrophe if a
/// spreadsheet would run it as a formula.
pub fn field(text: &str) -> String {
    let is_formula =
        text.starts_with(['=', '+', '-', '@', '\t', '\r']) && text.parse::<f64>().is_err();
    let apostrophe = if is_formula { "'" } else { "" };
    csv_quoted(format!("{apostrophe}{}", printable(text)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::findings::Row;

    #[test]
    fn fields_are_quoted_and_formulas_disarmed() {
        let table = Table::new("../x", "", "Block, size")
            .columns(["100/0", "=1+1"])
            .row(Row::new("say \"4K\"", [Cell::number(Some(0.1), 1), Cell::Missing]));
        assert_eq!(csv(&table), "\"Block, size\",100/0,'=1+1\r\n\"say \"\"4K\"\"\",0.1,\r\n");
        assert_eq!(file_stem(&table.id), "---x");
    }

    #[test]
    fn every_file_has_a_name_of_its_own() {
        let mut files = Vec::new();
        for (stem, content) in [("a", "1"), ("a", "1"), ("a", "2"), ("a-2", "3"), ("a", "2")] {
            add(&mut files, stem.to_owned(), content.to_owned());
        }
        let named: Vec<(&str, &str)> = files.iter().map(|(n, c)| (&**n, &**c)).collect();
        assert_eq!(named, [("a.csv", "1"), ("a-2.csv", "2"), ("a-2-2.csv", "3")]);
    }

    #[test]
    fn names_from_outside_are_neither_formulas_nor_commands() {
        for (name, written) in [
            ("@SUM(A1)", "'@SUM(A1)"),
            ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"),
            ("\t=1", "'\\t=1"),
            ("\r=1", "'\\r=1"),
            ("-x", "'-x"),
            ("-1.5", "-1.5"),
            ("a\x1b]0;b\x07\u{202e}\n", "a\\x1b]0;b\\x07\\u{202e}\\n"),
        ] {
            assert_eq!(field(name), written);
        }
    }
}
