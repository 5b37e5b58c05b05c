//! Reads and writes configurations.

use super::config::IometerConfig;
use super::grammar::LineWriter;
use super::lines::{KeyedLines, ValueLine};
use super::sections::{SECTIONS, has_value};
use super::version::IometerVersion;
use crate::encoding::decode;
use crate::parse_error::ParseError;
use steadfast_domain::sequence::SequenceRemark;
use steadfast_domain::text::excerpt;

/// A parsed configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedConfig {
    /// Content of the file.
    pub config: IometerConfig,
    /// Remarks on lines that are interpreted differently from what they say.
    pub remarks: Vec<SequenceRemark>,
}

/// Parses a configuration (.icf).
///
/// # Errors
/// The file has an unknown key, a value out of its range, or an access specification whose shares
/// do not add up to 100; the error names the line.
pub fn read(bytes: &[u8]) -> Result<ParsedConfig, ParseError> {
    let text = decode(bytes);
    let mut lines = KeyedLines::new(&text, has_value);
    let version = first_line(&mut lines)?;
    let mut config = IometerConfig { version, setup: None, specs: None, managers: None };
    while let Some(line) = lines.next() {
        if let Some(last) = version_in(&line.text) {
            closing(&mut lines, &config.version, line.line, last)?;
            return Ok(ParsedConfig { config, remarks: lines.remarks });
        }
        section(&line, &mut lines, &mut config)?;
    }
    let text = "the version at the end is missing; all sections before it are complete";
    lines.remarks.push(SequenceRemark::whole(text));
    Ok(ParsedConfig { config, remarks: lines.remarks })
}

/// Returns the text after the word `Version`, which may follow an apostrophe.
fn version_in(text: &str) -> Option<&str> {
    let (word, rest) = text.strip_prefix('\'').unwrap_or(text).split_at_checked("version".len())?;
    (word.eq_ignore_ascii_case("version") && rest.starts_with(char::is_whitespace))
        .then(|| rest.trim())
}

fn first_line(lines: &mut KeyedLines<'_>) -> Result<IometerVersion, ParseError> {
    let not_iometer = "this is not an Iometer configuration: the first line is not \
        'Version 2006.07.27' or the like";
    let ValueLine { line, text } =
        lines.next().ok_or_else(|| ParseError::whole("the file is empty"))?;
    let text = version_in(&text).ok_or_else(|| ParseError::at(line, not_iometer))?;
    let version = IometerVersion::parse(text).ok_or_else(|| {
        ParseError::at(line, format!("'{}' is not a version of Iometer", excerpt(text)))
    })?;
    if !version.is_known() {
        let message = format!("version {version} is older than the oldest supported, 1998.01.05");
        return Err(ParseError::at(line, message));
    }
    Ok(version)
}

fn closing(
    lines: &mut KeyedLines<'_>,
    first: &IometerVersion,
    line: u64,
    last: &str,
) -> Result<(), ParseError> {
    if IometerVersion::parse(last).as_ref() != Some(first) {
        let text = format!("the file ends with version '{last}' and begins with {first}");
        lines.remarks.push(SequenceRemark::at(line, text));
    }
    match lines.next() {
        None => Ok(()),
        Some(ValueLine { line, text }) => Err(ParseError::at(
            line,
            format!("'{}' comes after the version that ends the file", excerpt(&text)),
        )),
    }
}

/// Reads one section, starting with its heading.
fn section(
    line: &ValueLine,
    lines: &mut KeyedLines<'_>,
    config: &mut IometerConfig,
) -> Result<(), ParseError> {
    // Iometer skips to the headings of sections, which begin right after the apostrophe.
    if line.text == "'" || line.text.starts_with("' ") {
        return Ok(());
    }
    let heading = line.text.trim_start_matches('\'').trim_end_matches('=').trim();
    let named = SECTIONS.iter().find(|section| section.name.eq_ignore_ascii_case(heading));
    let section = named.ok_or_else(|| {
        let [first, second, third, last] = SECTIONS.each_ref().map(|section| section.name);
        line.wrong(format!("not a section; the sections are {first}, {second}, {third} and {last}"))
    })?;
    (section.read)(config, line.line, lines)
}

/// Longest line of a comment in bytes. Iometer reads lines of up to 199 characters and hangs on a
/// longer one.
const COMMENT_BYTES: usize = 120;

/// Returns the text of a configuration, with CRLF line endings. [`read`] parses it to an
/// equal configuration.
pub fn write(config: &IometerConfig) -> String {
    write_with_comments(config, &[])
}

/// Returns the text of a configuration as [`write`] does, with comments between the version and the
/// first section, where Iometer skips them.
pub fn write_with_comments(config: &IometerConfig, comments: &[String]) -> String {
    let mut out = LineWriter::default();
    let version = format!("Version {} ", config.version);
    out.line(&version);
    comments.iter().for_each(|comment| write_comment(comment, &mut out));
    SECTIONS.iter().for_each(|section| (section.write)(config, &mut out));
    out.line(&version);
    out.text
}

/// Writes a comment, broken between words. A blank after the apostrophe distinguishes its lines from
/// headings.
fn write_comment(text: &str, out: &mut LineWriter) {
    let mut line = String::from("'");
    for word in text.split_whitespace() {
        let printable = |c: char| if c.is_ascii_graphic() { c } else { '?' };
        let word: String = word.chars().map(printable).take(COMMENT_BYTES - 2).collect();
        if line.len() + 1 + word.len() > COMMENT_BYTES {
            out.line(&line);
            line.truncate(1);
        }
        line.push(' ');
        line.push_str(&word);
    }
    out.line(&line);
}
