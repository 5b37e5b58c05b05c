//! Tables row by row: lines of text in columns, records of fixed size, rows of Parquet.

use super::input::ImportError;
use super::lines::LineReader;
use super::plan::ColumnPlan;
use std::ops::Range;

/// A table that is read row by row. Columns count from 1.
pub(super) trait TableRows {
    /// Reads the next row; returns false after the last.
    fn advance(&mut self) -> Result<bool, ImportError>;
    /// Returns a column of the last row read, as text.
    fn get(&self, number: usize) -> Option<&str>;
    /// Returns the number of columns of the last row read.
    fn width(&self) -> usize;
    /// Returns the number of the last row read, starting at 1.
    fn number(&self) -> u64;
    /// Returns whether the last row read may be cut, because it is text without a line end.
    fn is_open_ended(&self) -> bool {
        false
    }
    /// Returns the sentence that discloses a cut last row.
    fn cut_row(&self) -> String {
        format!("The input ends within {}, which is not in the trace.", self.place())
    }
    /// Returns the place of the last row read, such as `line 3`.
    fn place(&self) -> String {
        format!("{} {}", self.unit(), self.number())
    }
    /// Returns the noun for a row: line, record or row.
    fn unit(&self) -> &'static str;
    /// Returns the name of a column, for messages.
    fn label(&self, number: usize) -> String {
        format!("column {number}")
    }
    /// Returns the error for the last row read, after `read` rows.
    fn malformed(&self, what: String, read: u64) -> ImportError;
}

/// Lines of text, split into columns by a plan.
pub(super) struct LineRows<'r> {
    lines: LineReader<'r>,
    separator: u8,
    /// Column that may contain the separator, if the plan states the number of columns.
    command: Option<CommandColumn>,
    /// Range of each column within the line.
    ranges: Vec<Range<usize>>,
    /// Text of each column that has doubled quotation marks; empty for a line without any.
    unescaped: Vec<Option<String>>,
}

/// The column of a command name, which may contain the separator.
#[derive(Clone, Copy)]
struct CommandColumn {
    /// Number of the column, from 1.
    number: usize,
    /// Number of columns of a line.
    columns: usize,
}

impl<'r> LineRows<'r> {
    pub(super) fn new(plan: &ColumnPlan, lines: LineReader<'r>) -> Self {
        let command = plan.command.zip(plan.columns);
        LineRows {
            lines,
            separator: plan.separator,
            command: command
                .map(|(number, columns)| CommandColumn { number, columns: columns.into() }),
            ranges: Vec::new(),
            unescaped: Vec::new(),
        }
    }

    /// Returns all columns of the last line read.
    pub(super) fn columns(&self) -> Vec<&str> {
        (1..=self.ranges.len()).filter_map(|number| self.get(number)).collect()
    }
}

impl TableRows for LineRows<'_> {
    fn advance(&mut self) -> Result<bool, ImportError> {
        if self.lines.next()?.is_none() {
            return Ok(false);
        }
        split(self.lines.last(), self.separator, &mut self.ranges);
        if let Some(command) = self.command {
            join(&mut self.ranges, command);
        }
        self.unescaped.clear();
        let line = self.lines.last();
        if line.contains(DOUBLED_QUOTE) {
            let columns = self.ranges.iter().map(|range| unescape(&line[range.clone()]));
            self.unescaped.extend(columns);
        }
        Ok(true)
    }

    /// Returns a column without surrounding blanks and quotation marks, and with doubled quotation
    /// marks reduced to one.
    fn get(&self, number: usize) -> Option<&str> {
        let index = number.checked_sub(1)?;
        if let Some(Some(text)) = self.unescaped.get(index) {
            return Some(text.trim());
        }
        let range = self.ranges.get(index)?.clone();
        let text = self.lines.last().get(range)?.trim();
        let inside = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
        Some(inside.map_or(text, str::trim))
    }

    fn width(&self) -> usize {
        self.ranges.len()
    }

    fn number(&self) -> u64 {
        self.lines.number
    }

    fn is_open_ended(&self) -> bool {
        self.lines.is_open_ended()
    }

    fn unit(&self) -> &'static str {
        "line"
    }

    fn malformed(&self, what: String, read: u64) -> ImportError {
        self.lines.malformed(what, read)
    }
}

/// A quotation mark within a quoted column.
const DOUBLED_QUOTE: &str = "\"\"";

/// Returns the text of a quoted column that contains quotation marks; `None` for any other.
fn unescape(column: &str) -> Option<String> {
    let inside = column.trim().strip_prefix('"')?.strip_suffix('"')?;
    inside.contains(DOUBLED_QUOTE).then(|| inside.replace(DOUBLED_QUOTE, "\""))
}

/// Finds the columns of a line. A separator inside quotation marks is text, and a run of blanks
/// is one separator. An open quotation ends with the line; a CSV library would swallow all lines
/// that follow.
fn split(line: &str, separator: u8, ranges: &mut Vec<Range<usize>>) {
    ranges.clear();
    let (mut begin, mut is_quoted) = (0, false);
    let blanks = separator == b' ';
    for (at, byte) in line.bytes().enumerate() {
        is_quoted ^= byte == b'"';
        if !is_quoted && (byte == separator || blanks && byte == b'\t') {
            ranges.push(begin..at);
            begin = at + 1;
        }
    }
    ranges.push(begin..line.len());
    if blanks {
        ranges.retain(|range| !range.is_empty());
    }
}

/// Joins the pieces of a command name in a line that has more pieces than columns. A line with the
/// pieces of two rows stays as it is, so that its width shows the missing line end.
fn join(ranges: &mut Vec<Range<usize>>, command: CommandColumn) {
    let CommandColumn { number, columns } = command;
    let extra = ranges.len().checked_sub(columns).filter(|extra| extra + 1 < columns);
    let Some(extra) = extra else { return };
    let last = number - 1 + extra;
    if last < ranges.len() {
        ranges[number - 1].end = ranges[last].end;
        ranges.drain(number..=last);
    }
}
