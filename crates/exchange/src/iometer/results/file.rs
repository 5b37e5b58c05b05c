//! Reads and writes files of results.

use super::columns::{WORDS, canonical, columns};
use super::model::{ResultRow, ResultRun, ResultTable, RowKind, RunEnding, SpecResults};
use crate::encoding::decode;
use crate::iometer::access_specs::{COLUMNS, read_spec};
use crate::iometer::config::{AccessSpec, TestType};
use crate::iometer::grammar::LineWriter;
use crate::iometer::lines::{KeyLine, KeyedLines, ValueLine};
use crate::iometer::values::ValueText as _;
use crate::iometer::version::{Dialect, IometerVersion};
use crate::parse_error::ParseError;
use std::collections::BTreeMap;
use steadfast_domain::text::excerpt;

const TEST_TYPE: &str = "Test Type,Test Description";
const VERSION: &str = "Version";
const TIME_STAMP: &str = "Time Stamp";
const SPECS: &str = "Access specifications";
const SPEC: &str = "Access specification name,default assignment";
const END_SPECS: &str = "End access specifications";
const RESULTS: &str = "Results";
const END_TEST: &str = "End Test";
/// The only line that is no key although it is not a value.
const ABORTED: &str = "Aborted test";

/// Parses the runs in a file of results, in order.
///
/// # Errors
/// A line cannot be parsed, or the file has no test; the error names the line.
pub fn read(bytes: &[u8]) -> Result<Vec<ResultRun>, ParseError> {
    let text = decode(bytes);
    let mut lines = KeyedLines::new(&text, |_| true);
    let mut runs = Vec::new();
    while let Some(key) = lines.peek_key() {
        lines.next();
        read_key(&key, &mut lines, &mut runs)?;
        while lines.peek().is_some_and(|(_, text)| text.eq_ignore_ascii_case(ABORTED)) {
            lines.next();
            last_run(&mut runs, key.line)?.ending = RunEnding::Aborted;
        }
    }
    match lines.next() {
        Some(ValueLine { line, text }) => Err(ParseError::at(
            line,
            format!("'{}' is not part of Iometer's results", excerpt(&text)),
        )),
        None if runs.is_empty() => {
            Err(ParseError::whole("this is not a file of Iometer's results: it has no test"))
        }
        None => Ok(runs),
    }
}

/// Reads a key and what follows it into the last run.
fn read_key(
    key: &KeyLine,
    lines: &mut KeyedLines<'_>,
    runs: &mut Vec<ResultRun>,
) -> Result<(), ParseError> {
    if key.is(TEST_TYPE) {
        runs.push(new_run(&value(key, lines)?)?);
    } else if key.is(VERSION) {
        let value = value(key, lines)?;
        let version = IometerVersion::parse(&value.text).ok_or_else(|| {
            let text = excerpt(&value.text);
            ParseError::at(value.line, format!("'{text}' is not a version of Iometer"))
        })?;
        last_run(runs, key.line)?.version = version;
    } else if key.is(TIME_STAMP) {
        let time = value(key, lines)?.text;
        let run = last_run(runs, key.line)?;
        // The time stamp begins a run or ends a test.
        match run.parts.last_mut().and_then(|part| part.tables.last_mut()) {
            Some(table) if table.at.is_empty() => table.at = time,
            _ if run.began.is_empty() => run.began = time,
            _ => {}
        }
    } else if key.is(SPECS) {
        let specs = read_specs(lines)?;
        last_run(runs, key.line)?.parts.push(SpecResults { specs, tables: Vec::new() });
    } else if key.is(RESULTS) {
        let table = read_table(lines)?;
        let run = last_run(runs, key.line)?;
        match run.parts.last_mut() {
            Some(part) => part.tables.push(table),
            None => run.parts.push(SpecResults { specs: Vec::new(), tables: vec![table] }),
        }
    } else if key.is(END_TEST) {
        last_run(runs, key.line)?.ending = RunEnding::Complete;
    } else {
        return Err(key.unknown("Iometer's results"));
    }
    Ok(())
}

fn value(key: &KeyLine, lines: &mut KeyedLines<'_>) -> Result<ValueLine, ParseError> {
    let missing = || ParseError::at(key.line, format!("'{key} has no value"));
    lines.next_value().ok_or_else(missing)
}

fn last_run(runs: &mut [ResultRun], line: u64) -> Result<&mut ResultRun, ParseError> {
    let missing = || ParseError::at(line, "results before a test type and a version");
    runs.last_mut().ok_or_else(missing)
}

fn new_run(value: &ValueLine) -> Result<ResultRun, ParseError> {
    let (number, description) = value.text.split_once(',').unwrap_or((&value.text, ""));
    let test_type = TestType::parse(number.trim())
        .ok_or_else(|| value.wrong("this is not a test type and a description"))?;
    Ok(ResultRun {
        version: IometerVersion::of_2006(),
        test_type,
        description: description.trim().to_owned(),
        began: String::new(),
        parts: Vec::new(),
        ending: RunEnding::NotStated,
    })
}

fn read_specs(lines: &mut KeyedLines<'_>) -> Result<Vec<AccessSpec>, ParseError> {
    let block = "the access specifications";
    let mut specs = Vec::new();
    loop {
        let key = lines.key(block)?;
        if key.is(END_SPECS) {
            return Ok(specs);
        }
        if !key.is(SPEC) {
            return Err(key.unknown(block));
        }
        specs.push(read_spec(&value(&key, lines)?, lines, block)?);
    }
}

fn read_table(lines: &mut KeyedLines<'_>) -> Result<ResultTable, ParseError> {
    let header = lines.next().ok_or_else(|| ParseError::whole("the file ends inside results"))?;
    let columns: Vec<String> = header.text.split(',').map(canonical).collect();
    if !columns[0].eq_ignore_ascii_case(WORDS[0]) {
        return Err(ParseError::at(header.line, "the names of the columns are missing"));
    }
    let mut table = ResultTable::default();
    while lines.peek().is_some_and(|(_, text)| !text.eq_ignore_ascii_case(ABORTED)) {
        let Some(line) = lines.next_value() else { break };
        table.rows.push(read_row(&line, &columns)?);
    }
    Ok(table)
}

fn read_row(line: &ValueLine, columns: &[String]) -> Result<ResultRow, ParseError> {
    let cells: Vec<&str> = line.text.split(',').map(str::trim).collect();
    if cells.len() > columns.len() + 1 {
        let message = format!("{} values for {} columns", cells.len(), columns.len());
        return Err(ParseError::at(line.line, message));
    }
    let mut row = ResultRow {
        kind: RowKind::parse(cells[0]),
        name: String::new(),
        spec: String::new(),
        values: BTreeMap::new(),
    };
    for (column, cell) in columns.iter().zip(&cells).skip(1) {
        if column.eq_ignore_ascii_case(WORDS[1]) {
            row.name = (*cell).to_owned();
        } else if column.eq_ignore_ascii_case(WORDS[2]) {
            row.spec = (*cell).to_owned();
        } else if !cell.is_empty() {
            let number = cell.parse::<f64>().ok().filter(|number| number.is_finite());
            let number = number.ok_or_else(|| {
                let (cell, column) = (excerpt(cell), excerpt(column));
                ParseError::at(line.line, format!("'{cell}' in column '{column}' is not a number"))
            })?;
            row.values.insert(column.clone(), number);
        }
    }
    Ok(row)
}

/// Returns the text of a run, with CRLF line endings.
pub fn write(run: &ResultRun) -> String {
    let dialect = run.version.dialect();
    let mut out = LineWriter::default();
    let mut pair = |key: &str, value: &str| {
        out.key(key);
        out.line(value);
    };
    pair(TEST_TYPE, &format!("{},{}", run.test_type.number(), word(&run.description)));
    pair(VERSION, &format!("{} ", run.version));
    pair(TIME_STAMP, &run.began);
    for part in &run.parts {
        out.key(SPECS);
        part.specs.iter().for_each(|spec| write_spec(&mut out, spec, dialect));
        out.key(END_SPECS);
        part.tables.iter().for_each(|results| write_table(&mut out, results, dialect));
    }
    match run.ending {
        RunEnding::NotStated => {}
        RunEnding::Complete => out.key(END_TEST),
        RunEnding::Aborted => out.line(ABORTED),
    }
    out.text
}

/// Returns a name without characters that would break a row.
fn word(text: &str) -> String {
    text.replace([',', '\n', '\r'], " ")
}

fn write_spec(out: &mut LineWriter, spec: &AccessSpec, dialect: Dialect) {
    // 1.1.0 ends the rows with a comma, but not the line of their names.
    let comma = if dialect == Dialect::V1_1 { "," } else { "" };
    out.key(SPEC);
    out.line(&format!("{},{}", word(&spec.name), spec.assignment.number()));
    out.key(COLUMNS);
    spec.lines.iter().for_each(|row| out.line(&format!("{}{comma}", row.text())));
}

fn write_table(out: &mut LineWriter, table: &ResultTable, dialect: Dialect) {
    let columns = columns(dialect);
    out.key(RESULTS);
    let names = columns.iter().map(|column| column.written_name());
    out.key(&WORDS.into_iter().chain(names).collect::<Vec<_>>().join(","));
    for row in &table.rows {
        let words = [row.kind.token().to_owned(), word(&row.name), word(&row.spec)];
        let numbers = columns.iter().map(|column| column.cell(row));
        out.line(&words.into_iter().chain(numbers).collect::<Vec<_>>().join(","));
    }
    out.key(TIME_STAMP);
    out.line(&table.at);
}
