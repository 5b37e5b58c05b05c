//! Parses a saved result line by line.

use super::saved::{DiskMarkDirection, DiskMarkTest, SavedResult};
use crate::encoding::decode;
use crate::parse_error::ParseError;
use steadfast_domain::Bytes;
use steadfast_domain::text::excerpt;

/// Start of the heading line.
const PROGRAM: &str = "CrystalDiskMark";
/// KDiskMark saves the same lines: `KDiskMark (3.1.4): https://...`.
const KDISKMARK: &str = "KDiskMark (";

/// Reads a saved result. Unknown lines are kept in [`SavedResult::not_understood`].
///
/// # Errors
/// The file was not saved by CrystalDiskMark, or has no test.
pub fn read(bytes: &[u8]) -> Result<SavedResult, ParseError> {
    let text = decode(bytes);
    let mut saved = SavedResult::default();
    let mut section = None;
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if let Some(rest) = line.strip_prefix(KDISKMARK).filter(|_| saved.heading.is_empty()) {
            let version = rest.split(')').next().unwrap_or_default();
            saved.version = Some(version.to_owned());
            saved.heading = format!("KDiskMark {version}");
            saved.is_kdiskmark = true;
            continue;
        }
        if is_ornament(line) {
            continue;
        }
        if saved.heading.is_empty() {
            read_heading(&mut saved, number, line)?;
        } else if let Some((direction, mix)) = section_heading(line) {
            section = Some(direction);
            saved.mix = mix.or(saved.mix);
        } else if !add_line(&mut saved, line, section) {
            saved.not_understood.push((number, excerpt(line).into_owned()));
        }
    }
    if saved.heading.is_empty() {
        let message = "the file is empty; give a text file saved by CrystalDiskMark";
        return Err(ParseError::whole(message));
    }
    if saved.tests.is_empty() {
        return Err(ParseError::whole("no line has a test with a rate in MB/s"));
    }
    if saved.is_kdiskmark {
        correct_kdiskmark(&mut saved);
    }
    Ok(saved)
}

/// Corrects what KDiskMark computes wrong. It divides fio's KiB/s by 1000 and calls the result
/// MB/s, which is 2.4 % too low; the IOPS of the same line show whether a version does. Its mixed
/// tests are means of reads and writes weighted by the mix, not their sum, and are left out.
fn correct_kdiskmark(saved: &mut SavedResult) {
    const KIB: f64 = 1.024;
    saved.tests.retain(|test| test.direction != DiskMarkDirection::Mix);
    for test in &mut saved.tests {
        let Some((iops, size)) = test.iops.zip(test.size) else { continue };
        let by_iops = iops * size.0 as f64 / 1e6;
        if (by_iops / test.mb / KIB - 1.0).abs() < 0.01 {
            test.mb *= KIB;
            saved.corrected = true;
        }
    }
}

/// Returns true for rulers, notes on units and the program's address.
fn is_ornament(line: &str) -> bool {
    line.is_empty()
        || line.starts_with('*')
        || line.chars().all(|c| c == '-' || c == '=')
        || line.contains("://") && !line.contains("MB/s")
}

fn read_heading(saved: &mut SavedResult, number: u64, line: &str) -> Result<(), ParseError> {
    let Some(rest) = line.strip_prefix(PROGRAM) else {
        return Err(ParseError::at(number, "the file does not begin with 'CrystalDiskMark'"));
    };
    let word = rest.split_whitespace().next();
    let is_version = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit());
    saved.version = word.filter(is_version).map(str::to_owned);
    saved.heading = line.to_owned();
    Ok(())
}

/// Parses a heading: `[Read]`, `[Write]`, or `[Mix] Read 70%/Write 30%`, of which the second value
/// is the percentage of reads.
fn section_heading(line: &str) -> Option<(DiskMarkDirection, Option<u8>)> {
    let (name, rest) = line.strip_prefix('[')?.split_once(']')?;
    let is_named = |one: &DiskMarkDirection| one.name().eq_ignore_ascii_case(name.trim());
    let direction = DiskMarkDirection::ALL.into_iter().find(is_named)?;
    let share = rest.split('%').next().and_then(|part| part.split_whitespace().last());
    let share = share.and_then(|number| number.parse().ok()).filter(|percent| *percent <= 100);
    Some((direction, share.filter(|_| direction == DiskMarkDirection::Mix)))
}

/// Adds a line of a test or of a fact; returns false if it is neither.
fn add_line(saved: &mut SavedResult, line: &str, section: Option<DiskMarkDirection>) -> bool {
    // Names have no colon in any version; dates and drive letters in values do.
    let Some((name, value)) = line.split_once(':') else { return false };
    let (name, value) = (name.trim(), value.trim());
    if !value.contains("MB/s") {
        let is_name = !name.is_empty() && name.len() <= 32;
        if is_name {
            saved.facts.push((name.to_owned(), excerpt(value).into_owned()));
        }
        return is_name;
    }
    let test = test(name, value, section);
    let is_test = test.is_some();
    saved.tests.extend(test);
    is_test
}

fn test(name: &str, value: &str, section: Option<DiskMarkDirection>) -> Option<DiskMarkTest> {
    let lower = name.to_ascii_lowercase();
    let random = match lower.as_str() {
        name if name.starts_with("seq") => false,
        name if name.starts_with("rnd") || name.starts_with("random") => true,
        _ => return None,
    };
    let is_named = |one: &DiskMarkDirection| {
        lower.split_whitespace().any(|word| word.eq_ignore_ascii_case(one.name()))
    };
    let own = DiskMarkDirection::ALL.into_iter().find(is_named);
    let outer = lower.split('(').next().unwrap_or_default();
    Some(DiskMarkTest {
        direction: own.or(section)?,
        random,
        size: size_in(outer),
        queues: parameter(&lower, &["qd=", "q="]),
        threads: parameter(&lower, &["t="]),
        mb: number(value.split("MB/s").next()?)?,
        iops: between(value, '[', ']').and_then(number),
        micros: between(value, '<', '>').and_then(number),
    })
}

/// Parses the size in a name, with or without a blank before its unit.
fn size_in(name: &str) -> Option<Bytes> {
    let words: Vec<&str> = name.split_whitespace().collect();
    let in_two_words = || {
        let is_number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
        let pair = words.windows(2).find(|pair| is_number(pair[0]))?;
        size(&pair.concat())
    };
    words.iter().find_map(|word| size(word)).or_else(in_two_words)
}

/// Parses `1MiB`, `4KiB` or `512KB`: KB of old versions are 1,024 bytes, too.
fn size(word: &str) -> Option<Bytes> {
    let digits = word.trim_end_matches(|c: char| !c.is_ascii_digit());
    let number: u64 = digits.parse().ok()?;
    let unit = match word.get(digits.len()..)? {
        "kib" | "kb" | "k" => 1 << 10,
        "mib" | "mb" | "m" => 1 << 20,
        _ => return None,
    };
    number.checked_mul(unit).filter(|bytes| *bytes > 0).map(Bytes)
}

/// Parses the number after `Q=`; blanks between them are allowed.
fn parameter(name: &str, keys: &[&str]) -> Option<u32> {
    let inside = &name[name.find('(')?..];
    keys.iter().find_map(|key| {
        let rest = inside.split_once(key)?.1.trim_start();
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok()
    })
}

fn between(text: &str, open: char, close: char) -> Option<&str> {
    text.split_once(open)?.1.split_once(close).map(|(inside, _)| inside)
}

/// Parses the first word as a number. A comma is the decimal point if there is no point.
fn number(text: &str) -> Option<f64> {
    let word = text.split_whitespace().next()?;
    let word = if word.contains('.') { word.replace(',', "") } else { word.replace(',', ".") };
    word.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0)
}
