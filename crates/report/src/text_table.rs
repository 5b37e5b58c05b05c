//! Formats rows of text with aligned columns, two blanks apart.

use std::borrow::Cow;
use steadfast_domain::text::printable;
use unicode_width::UnicodeWidthStr;

/// Aligns the first column to the left and the others to the right.
pub fn aligned<R: AsRef<[String]>>(rows: &[R]) -> String {
    with_left(rows, |column| column == 0)
}

/// Aligns columns for which `is_left` returns true to the left and the others to the right.
pub fn with_left<R: AsRef<[String]>>(rows: &[R], is_left: impl Fn(usize) -> bool) -> String {
    let rows: Vec<Vec<Cow<'_, str>>> = rows.iter().map(|row| shown(row.as_ref())).collect();
    lines(&rows, is_left).join("\n")
}

/// Returns aligned lines for more rows than fit into memory: the first column to the left, the
/// others to the right. Calls `rows` twice, the first time for the widths.
pub fn aligned_lines<I: Iterator<Item = Vec<String>>>(
    rows: impl Fn() -> I,
) -> impl Iterator<Item = String> {
    let mut widths = Vec::new();
    rows().for_each(|row| widen(&mut widths, &shown(&row)));
    rows().map(move |row| line(&shown(&row), &widths, &|column| column == 0))
}

/// Returns the cells of a row without control characters.
fn shown(row: &[String]) -> Vec<Cow<'_, str>> {
    row.iter().map(|cell| printable(cell)).collect()
}

/// Returns aligned rows. The cells must not contain control characters.
pub(crate) fn lines<S: AsRef<str>>(
    rows: &[Vec<S>],
    is_left: impl Fn(usize) -> bool,
) -> Vec<String> {
    let widths = widths(rows);
    rows.iter().map(|row| line(row, &widths, &is_left)).collect()
}

fn line<S: AsRef<str>>(row: &[S], widths: &[usize], is_left: &impl Fn(usize) -> bool) -> String {
    let cells = row.iter().zip(widths).enumerate().map(|(column, (cell, width))| {
        let cell = cell.as_ref();
        let blanks = " ".repeat(width - cell.width());
        if is_left(column) { format!("{cell}{blanks}") } else { format!("{blanks}{cell}") }
    });
    cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
}

/// Returns the width of each column on a terminal.
pub(crate) fn widths<S: AsRef<str>>(rows: &[Vec<S>]) -> Vec<usize> {
    let mut widths = Vec::new();
    rows.iter().for_each(|row| widen(&mut widths, row));
    widths
}

fn widen<S: AsRef<str>>(widths: &mut Vec<usize>, row: &[S]) {
    widths.resize(row.len().max(widths.len()), 0);
    for (widest, cell) in widths.iter_mut().zip(row) {
        *widest = cell.as_ref().width().max(*widest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_what_is_in_them() {
        let rows = [["Stream", "I/Os", "%"], ["RND 4K R", "7", "100.0"], ["\x1bx", "10007", "–"]];
        let rows = rows.map(|row| row.map(str::to_owned));
        let right = "Stream     I/Os      %\nRND 4K R      7  100.0\n\\x1bx     10007      –";
        assert_eq!(aligned(&rows), right);
        let lines: Vec<String> = aligned_lines(|| rows.iter().map(|row| row.to_vec())).collect();
        assert_eq!(lines.join("\n"), right);
        let left = "Stream    I/Os   %\nRND 4K R  7      100.0\n\\x1bx     10007  –";
        assert_eq!(with_left(&rows, |_| true), left);
    }

    /// Wide characters, which take two columns each on a terminal.
    #[test]
    fn wide_characters_take_two_columns() {
        let rows = [["日本", "1"], ["abcd", "22"]].map(|row| row.map(str::to_owned));
        assert_eq!(aligned(&rows), "日本   1\nabcd  22");
    }

    #[test]
    fn short_rows_end_early() {
        let rows = [vec!["a".to_owned()], vec!["bb".to_owned(), "c".to_owned()]];
        assert_eq!(aligned(&rows), "a\nbb  c");
        assert_eq!(aligned::<Vec<String>>(&[]), "");
    }
}
