//! Access specifications: named ones of configurations and results, and the unnamed ones of files
//! before 1998.05.21.

use super::config::{AccessLine, AccessSpec, Assignment, LineNumber};
use super::grammar::LineWriter;
use super::lines::{KeyLine, KeyedLines, ValueLine};
use super::values::{ValueText, between_blanks};
use crate::parse_error::ParseError;
use steadfast_domain::sequence::SequenceRemark;

/// Names of the columns of the rows.
pub(super) const COLUMNS: &str = "size,% of size,% reads,% random,delay,burst,align,reply";
const ROWS_MAX: usize = 100;
/// Largest transfer size in bytes: 1 GiB.
const SIZE_MAX: u64 = 1 << 30;

/// Reads a specification. A second one of the same name replaces the first.
pub(super) fn read_named_spec(
    specs: &mut Vec<AccessSpec>,
    key: &KeyLine,
    lines: &mut KeyedLines<'_>,
    section: &str,
) -> Result<(), ParseError> {
    let spec = read_spec(&lines.value(key), lines, section)?;
    check(&spec)?;
    match specs.iter_mut().find(|other| other.name == spec.name) {
        None => specs.push(spec),
        Some(other) => {
            let (name, first) = (&spec.name, other.line.0);
            let text = format!("access specification '{name}' replaces the one of line {first}");
            lines.remarks.push(SequenceRemark::at(spec.line.0, text));
            *other = spec;
        }
    }
    Ok(())
}

/// Reads the line of column names and the rows of a specification whose name and assignment are
/// `name`.
pub(super) fn read_spec(
    name: &ValueLine,
    lines: &mut KeyedLines<'_>,
    section: &str,
) -> Result<AccessSpec, ParseError> {
    let (text, assignment) = name
        .text
        .rsplit_once(',')
        .ok_or_else(|| name.wrong("a name and a default assignment are expected"))?;
    let assignment = <Assignment as ValueText>::parse(assignment.trim(), "the assignment")
        .map_err(|message| name.wrong(message))?;
    let columns = lines.key(section)?;
    if columns.rest("size").is_none() {
        return Err(columns.unknown(section));
    }
    let mut rows = Vec::new();
    while let Some(row) = lines.next_value() {
        rows.push(AccessLine { line: LineNumber(row.line), ..row.parse("the row")? });
    }
    let name = LineNumber(name.line);
    Ok(AccessSpec { name: text.trim().to_owned(), assignment, lines: rows, line: name })
}

fn check(spec: &AccessSpec) -> Result<(), ParseError> {
    let name = &spec.name;
    let wrong = |message: String| {
        ParseError::at(spec.line.0, format!("access specification '{name}': {message}"))
    };
    spec.lines.iter().try_for_each(check_row)?;
    if name.is_empty() {
        return Err(wrong("it has no name".into()));
    }
    let sum: u32 = spec.lines.iter().map(|line| u32::from(line.of_size)).sum();
    if sum != 100 {
        return Err(wrong(format!("the shares of its sizes add up to {sum} %, not 100 %")));
    }
    if spec.lines.len() > ROWS_MAX {
        return Err(wrong(format!("{} rows; at most {ROWS_MAX} are allowed", spec.lines.len())));
    }
    Ok(())
}

fn check_row(row: &AccessLine) -> Result<(), ParseError> {
    let wrong = |message: &str| ParseError::at(row.line.0, format!("'{}': {message}", row.text()));
    if row.size == 0 || row.size > SIZE_MAX {
        return Err(wrong("sizes are from 1 byte to 1 GiB"));
    }
    if row.burst == 0 {
        return Err(wrong("a burst has at least one I/O"));
    }
    Ok(())
}

/// Writes specifications as configurations have them.
pub(super) fn write_specs(specs: &[AccessSpec], key: &str, out: &mut LineWriter) {
    for spec in specs {
        out.pair(key, &format!("{},{}", spec.name, spec.assignment));
        out.key(COLUMNS);
        spec.lines.iter().for_each(|row| out.value(&row.text()));
    }
}

/// Reads specifications without names: rows of six numbers separated by blanks. A specification is
/// complete when its shares reach 100; a comment ends the list.
pub(super) fn read_unnamed_specs(
    lines: &mut KeyedLines<'_>,
) -> Result<Vec<AccessSpec>, ParseError> {
    let mut specs: Vec<AccessSpec> = Vec::new();
    let mut rows: Vec<AccessLine> = Vec::new();
    if lines.peek_key().is_some() {
        lines.next();
    }
    while let Some(value) = lines.next_value() {
        let columns = ValueLine { line: value.line, text: between_blanks(&value.text).join(",") };
        let row = AccessLine { line: LineNumber(value.line), ..columns.parse("the row")? };
        check_row(&row)?;
        rows.push(row);
        let sum: u32 = rows.iter().map(|row| u32::from(row.of_size)).sum();
        if sum > 100 {
            return Err(value.wrong(format!("the shares of the sizes add up to {sum} %")));
        }
        if sum == 100 {
            let (name, line) = (generated_name(&rows, &specs), rows[0].line);
            let lines = std::mem::take(&mut rows);
            specs.push(AccessSpec { name, assignment: Assignment::All, lines, line });
        }
    }
    if let Some(first) = rows.first() {
        let message = "the shares of the sizes from here on do not reach 100 %";
        return Err(ParseError::at(first.line.0, message));
    }
    while lines.peek_key().is_some_and(|key| key.rest("End access").is_some()) {
        lines.next();
    }
    Ok(specs)
}

/// Returns a name that describes the specification, in the style of Iometer.
fn generated_name(rows: &[AccessLine], others: &[AccessSpec]) -> String {
    let base = match rows {
        [row] => {
            let order = match row.random {
                0 => "sequential".to_owned(),
                100 => "random".to_owned(),
                percent => format!("{percent}% random"),
            };
            let mix = match row.reads {
                0 => "writes".to_owned(),
                100 => "reads".to_owned(),
                percent => format!("{percent}% reads"),
            };
            format!("{} bytes {order} {mix}", row.size)
        }
        _ => "Untitled".to_owned(),
    };
    let is_taken = |name: &str| others.iter().any(|spec| spec.name == name);
    let numbered = (2..).map(|number: u64| format!("{base} {number}"));
    std::iter::once(base.clone()).chain(numbered).find(|name| !is_taken(name)).unwrap_or(base)
}
