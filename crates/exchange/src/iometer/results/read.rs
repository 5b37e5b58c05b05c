//! Parses files of results.

use super::columns::{WORDS, known};
use super::model::{Ending, Part, Row, RowKind, Run, Table};
use crate::encoding::decode;
use crate::iometer::config::{AccessLine, AccessSpec, Assignment, Line, TestType};
use crate::iometer::version::Version;
use crate::parse_error::ParseError;
use std::collections::BTreeMap;
use steadfast_domain::text::excerpt;

/// Parses the runs in a file of results, in order.
///
/// # Errors
/// A line cannot be parsed, or the file has no test; the error names the line.
pub fn read(bytes: &[u8]) -> Result<Vec<Run>, ParseError> {
    let text = decode(bytes);
    let lines = (1..).zip(text.lines().map(str::trim)).filter(|(_, text)| !text.is_empty());
    let mut reader = Reader { lines: lines.collect(), at: 0, runs: Vec::new() };
    reader.runs()?;
    if reader.runs.is_empty() {
        Err(ParseError::whole("this is not a file of Iometer's results: it has no test"))
    } else {
        Ok(reader.runs)
    }
}

struct Reader<'a> {
    lines: Vec<(u64, &'a str)>,
    at: usize,
    runs: Vec<Run>,
}

fn is(text: &str, key: &str) -> bool {
    text.strip_prefix('\'').is_some_and(|name| name.trim().eq_ignore_ascii_case(key))
}

impl<'a> Reader<'a> {
    fn runs(&mut self) -> Result<(), ParseError> {
        while let Some((line, text)) = self.next() {
            if is(text, "Test Type,Test Description") {
                self.begin()?;
            } else if is(text, "Version") {
                self.version()?;
            } else if is(text, "Time Stamp") {
                self.time_stamp(line)?;
            } else if is(text, "Access specifications") {
                let specs = self.specs()?;
                self.run(line)?.parts.push(Part { specs, tables: Vec::new() });
            } else if is(text, "Results") {
                let table = self.table()?;
                self.part(line)?.tables.push(table);
            } else if is(text, "End Test") {
                self.run(line)?.ending = Ending::Complete;
            } else if text.eq_ignore_ascii_case("Aborted test") {
                self.run(line)?.ending = Ending::Aborted;
            } else {
                return Err(ParseError::at(
                    line,
                    format!("'{text}' is not part of Iometer's results", text = excerpt(text)),
                ));
            }
        }
        Ok(())
    }

    fn peek(&self) -> Option<(u64, &'a str)> {
        self.lines.get(self.at).copied()
    }
    fn next(&mut self) -> Option<(u64, &'a str)> {
        let next = self.peek();
        self.at += usize::from(next.is_some());
        next
    }
    /// Reads the value after the key that `of` describes.
    fn value(&mut self, of: &str) -> Result<(u64, &'a str), ParseError> {
        let next = self.next().filter(|(_, text)| !text.starts_with('\''));
        let before = self.lines.get(self.at.saturating_sub(1)).map_or(0, |(line, _)| *line);
        next.ok_or_else(|| ParseError::at(before, format!("{of} has no value")))
    }
    fn run(&mut self, line: u64) -> Result<&mut Run, ParseError> {
        let missing = || ParseError::at(line, "results before a test type and a version");
        self.runs.last_mut().ok_or_else(missing)
    }
    fn part(&mut self, line: u64) -> Result<&mut Part, ParseError> {
        let run = self.run(line)?;
        if run.parts.is_empty() {
            run.parts.push(Part::default());
        }
        run.parts.last_mut().ok_or_else(|| ParseError::at(line, "results without a run"))
    }

    fn begin(&mut self) -> Result<(), ParseError> {
        let (line, text) = self.value("the test type")?;
        let (number, description) = text.split_once(',').unwrap_or((text, ""));
        let test_type = TestType::parse(number.trim())
            .ok_or_else(|| ParseError::at(line, format!("'{number}' is not a test type")))?;
        self.runs.push(Run {
            version: Version::of_2006(),
            test_type,
            description: description.trim().to_owned(),
            began: String::new(),
            parts: Vec::new(),
            ending: Ending::Untold,
        });
        Ok(())
    }

    fn version(&mut self) -> Result<(), ParseError> {
        let (line, text) = self.value("the version")?;
        let version = Version::parse(text).ok_or_else(|| {
            ParseError::at(
                line,
                format!("'{text}' is not a version of Iometer", text = excerpt(text)),
            )
        })?;
        self.run(line)?.version = version;
        Ok(())
    }

    /// Reads the time stamp that begins a run or ends a test.
    fn time_stamp(&mut self, line: u64) -> Result<(), ParseError> {
        let (_, at) = self.value("the time stamp")?;
        let run = self.run(line)?;
        match run.parts.last_mut().and_then(|part| part.tables.last_mut()) {
            Some(table) if table.at.is_empty() => table.at = at.to_owned(),
            _ if run.began.is_empty() => run.began = at.to_owned(),
            _ => {}
        }
        Ok(())
    }

    fn specs(&mut self) -> Result<Vec<AccessSpec>, ParseError> {
        let mut specs = Vec::new();
        while let Some((line, text)) = self.next() {
            if is(text, "End access specifications") {
                return Ok(specs);
            }
            if !is(text, "Access specification name,default assignment") {
                let what = format!("'{text}' is not an access specification", text = excerpt(text));
                return Err(ParseError::at(line, what));
            }
            specs.push(self.spec()?);
        }
        Err(ParseError::whole("the file ends inside the access specifications"))
    }

    fn spec(&mut self) -> Result<AccessSpec, ParseError> {
        let (line, text) = self.value("the access specification")?;
        let (name, assignment) = text.rsplit_once(',').unwrap_or((text, "0"));
        let assignment = Assignment::parse(assignment.trim()).ok_or_else(|| {
            ParseError::at(
                line,
                format!("'{assignment}' is not an assignment", assignment = excerpt(assignment)),
            )
        })?;
        let mut lines = Vec::new();
        let columns = self.next().filter(|(_, text)| text.to_lowercase().starts_with("'size"));
        columns.ok_or_else(|| ParseError::at(line, "the columns of the sizes are missing"))?;
        while let Some((line, text)) = self.peek().filter(|(_, text)| !text.starts_with('\'')) {
            self.at += 1;
            lines.push(size_row(line, text)?);
        }
        Ok(AccessSpec { name: name.trim().to_owned(), assignment, lines, line: Line(line) })
    }

    fn table(&mut self) -> Result<Table, ParseError> {
        let missing = || ParseError::whole("the file ends inside results");
        let (line, header) = self.next().ok_or_else(missing)?;
        let columns: Vec<String> = header.split(',').map(known).collect();
        if columns.first().is_none_or(|name| !name.eq_ignore_ascii_case(WORDS[0])) {
            return Err(ParseError::at(line, "the names of the columns are missing"));
        }
        let mut table = Table::default();
        while let Some((line, text)) = self.peek().filter(|(_, text)| !text.starts_with('\'')) {
            if text.eq_ignore_ascii_case("Aborted test") {
                break;
            }
            self.at += 1;
            table.rows.push(row(line, text, &columns)?);
        }
        Ok(table)
    }
}

/// Parses a row of sizes. In some builds the rows of results lack the last columns.
fn size_row(line: u64, text: &str) -> Result<AccessLine, ParseError> {
    let numbers = text.trim_end_matches(',').split(',').map(|part| part.trim().parse::<u64>());
    let numbers: Vec<u64> = numbers.collect::<Result<_, _>>().map_err(|_| {
        ParseError::at(line, format!("'{text}' is not a row of sizes", text = excerpt(text)))
    })?;
    let at = |place: usize| numbers.get(place).copied().unwrap_or(0);
    let percent = |place: usize| {
        let wrong = || {
            ParseError::at(
                line,
                format!("'{text}' has a share of more than 100 %", text = excerpt(text)),
            )
        };
        u8::try_from(at(place)).ok().filter(|percent| *percent <= 100).ok_or_else(wrong)
    };
    Ok(AccessLine {
        size: at(0),
        of_size: percent(1)?,
        reads: percent(2)?,
        random: percent(3)?,
        delay_ms: at(4),
        burst: at(5),
        align: at(6),
        reply: at(7),
        line: Line(line),
    })
}

fn row(line: u64, text: &str, columns: &[String]) -> Result<Row, ParseError> {
    let cells: Vec<&str> = text.split(',').map(str::trim).collect();
    if cells.len() > columns.len() + 1 {
        let what = format!("{} values for {} columns", cells.len(), columns.len());
        return Err(ParseError::at(line, what));
    }
    let mut row = Row {
        kind: RowKind::parse(cells.first().copied().unwrap_or_default()),
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
                ParseError::at(
                    line,
                    format!(
                        "'{cell}' in column '{column}' is not a number",
                        cell = excerpt(cell),
                        column = excerpt(column)
                    ),
                )
            })?;
            row.values.insert(column.clone(), number);
        }
    }
    Ok(row)
}
