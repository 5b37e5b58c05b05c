//! Parses the section ACCESS SPECIFICATIONS, with names and, before 1998.05.21, without.

use super::config::{AccessLine, AccessSpec, Assignment, Line};
use super::keys;
use super::pairs::{Pairs, Value};
use super::remark::Remark;
use crate::parse_error::ParseError;

const SECTION: &str = "ACCESS SPECIFICATIONS";
/// Maximum number of rows in a specification.
const ROWS_MAX: usize = 100;
/// Largest transfer size in bytes: 1 GiB.
const SIZE_MAX: u64 = 1 << 30;

pub(super) fn specs(
    pairs: &mut Pairs<'_>,
    remarks: &mut Vec<Remark>,
) -> Result<Vec<AccessSpec>, ParseError> {
    let mut specs: Vec<AccessSpec> = Vec::new();
    loop {
        let key = pairs.key(SECTION)?;
        if key.ends("access specifications") {
            return Ok(specs);
        }
        if !key.is(keys::SPEC_NAME) {
            return Err(key.unknown(SECTION));
        }
        let name = pairs.value(&key);
        let spec = spec(pairs, &name)?;
        match specs.iter_mut().find(|other| other.name == spec.name) {
            None => specs.push(spec),
            Some(other) => {
                let text = format!(
                    "access specification '{}' replaces the one of line {}",
                    spec.name, other.line.0
                );
                remarks.push(Remark { line: Some(name.line), text });
                *other = spec;
            }
        }
    }
}

/// Parses one specification: the name, the line of column names, and the rows.
pub(super) fn spec(pairs: &mut Pairs<'_>, name: &Value) -> Result<AccessSpec, ParseError> {
    let (name_text, assignment) = name
        .text
        .rsplit_once(',')
        .ok_or_else(|| name.wrong("a name and a default assignment are expected"))?;
    let assignment = Assignment::parse(assignment.trim())
        .ok_or_else(|| name.wrong(format!("unknown; use one of {}", Assignment::choices())))?;
    let columns = pairs.key(SECTION)?;
    if !columns.name.starts_with("size") {
        return Err(columns.unknown(SECTION));
    }
    let mut lines = Vec::new();
    while !pairs.is_at_comment() {
        let Some((line, text)) = pairs.next() else { break };
        lines.push(row(&Value { line, text: text.to_owned() })?);
    }
    let spec =
        AccessSpec { name: name_text.trim().to_owned(), assignment, lines, line: Line(name.line) };
    check(&spec)?;
    Ok(spec)
}

fn check(spec: &AccessSpec) -> Result<(), ParseError> {
    let wrong = |what: String| {
        ParseError::at(spec.line.0, format!("access specification '{}': {what}", spec.name))
    };
    if spec.name.is_empty() {
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

/// Parses one row. Columns at the end that older versions lack get their defaults.
fn row(value: &Value) -> Result<AccessLine, ParseError> {
    let parts = value.parts();
    let [size, of_size, reads, random, delay, burst, rest @ ..] = parts.as_slice() else {
        return Err(value.wrong(
            "a row of an access specification has 8 numbers: size, % of size, % reads, % random, \
             delay, burst, align, reply",
        ));
    };
    if rest.len() > 2 {
        return Err(value.wrong("a row of an access specification has 8 numbers, not more"));
    }
    let or_zero =
        |place: usize, what| rest.get(place).map_or(Ok(0), |text| value.number::<u64>(text, what));
    let line = AccessLine {
        size: value.number(size, "the size")?,
        of_size: percent(value, of_size, "% of size")?,
        reads: percent(value, reads, "% reads")?,
        random: percent(value, random, "% random")?,
        delay_ms: value.number(delay, "the delay")?,
        burst: value.number(burst, "the burst")?,
        align: or_zero(0, "align")?,
        reply: or_zero(1, "reply")?,
        line: Line(value.line),
    };
    if line.size == 0 || line.size > SIZE_MAX {
        return Err(value.wrong("sizes are from 1 byte to 1 GiB"));
    }
    if line.burst == 0 {
        return Err(value.wrong("a burst has at least one I/O"));
    }
    Ok(line)
}

fn percent(value: &Value, text: &str, what: &str) -> Result<u8, ParseError> {
    let percent: u8 = value.number(text, what)?;
    if percent > 100 {
        return Err(value.wrong(format!("{what} is more than 100")));
    }
    Ok(percent)
}

/// Parses specifications without names: rows of six numbers separated by blanks. A specification is
/// complete when its shares reach 100; a comment ends the list.
pub(super) fn old_specs(
    pairs: &mut Pairs<'_>,
    _: &mut Vec<Remark>,
) -> Result<Vec<AccessSpec>, ParseError> {
    let mut specs: Vec<AccessSpec> = Vec::new();
    let mut lines: Vec<AccessLine> = Vec::new();
    if pairs.is_at_comment() {
        pairs.next();
    }
    while !pairs.is_at_comment() {
        let Some((line, text)) = pairs.next() else { break };
        let value = Value { line, text: text.to_owned() };
        let tight = Value { line, text: value.words().join(",") };
        lines.push(row(&tight)?);
        let sum: u32 = lines.iter().map(|line| u32::from(line.of_size)).sum();
        if sum > 100 {
            return Err(value.wrong(format!("the shares of the sizes add up to {sum} %")));
        }
        if sum == 100 {
            let name = old_name(&lines, &specs);
            let line = lines[0].line;
            let rows = std::mem::take(&mut lines);
            specs.push(AccessSpec { name, assignment: Assignment::All, lines: rows, line });
        }
    }
    if let Some(first) = lines.first() {
        let what = "the shares of the sizes from here on do not reach 100 %";
        return Err(ParseError::at(first.line.0, what));
    }
    while let Some((_, text)) = pairs.peek() {
        if !text.to_lowercase().starts_with("'end access") {
            break;
        }
        pairs.next();
    }
    Ok(specs)
}

/// Returns a name that describes the specification, in the style of Iometer.
fn old_name(lines: &[AccessLine], others: &[AccessSpec]) -> String {
    let base = match lines {
        [line] => {
            let order = match line.random {
                0 => "sequential".to_owned(),
                100 => "random".to_owned(),
                percent => format!("{percent}% random"),
            };
            let mix = match line.reads {
                0 => "writes".to_owned(),
                100 => "reads".to_owned(),
                percent => format!("{percent}% reads"),
            };
            format!("{} bytes {order} {mix}", line.size)
        }
        _ => "Untitled".to_owned(),
    };
    let is_taken = |name: &str| others.iter().any(|spec| spec.name == name);
    let numbered = (2..).map(|number: u64| format!("{base} {number}"));
    std::iter::once(base.clone()).chain(numbered).find(|name| !is_taken(name)).unwrap_or(base)
}
