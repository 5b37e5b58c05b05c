//! Parses configurations.

use super::config::Config;
use super::keys;
use super::pairs::{Pairs, Value};
use super::read_display::display;
use super::read_managers::managers;
use super::read_setup::setup;
use super::read_specs::{old_specs, specs};
use super::remark::Remark;
use super::version::Version;
use crate::encoding::decode;
use crate::parse_error::ParseError;
use steadfast_domain::text::excerpt;

/// Result of parsing a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// Content of the file.
    pub config: Config,
    /// Remarks on content that is understood with a difference.
    pub remarks: Vec<Remark>,
}

/// Parses a configuration (.icf).
///
/// # Errors
/// The file has an unknown key, a value out of its range, or an access specification whose shares
/// do not add up to 100; the error names the line.
pub fn read(bytes: &[u8]) -> Result<Reading, ParseError> {
    let text = decode(bytes);
    let mut pairs = Pairs::of(&text);
    let version = first_line(&mut pairs)?;
    let mut config = Config { version, setup: None, display: None, specs: None, managers: None };
    let mut remarks = Vec::new();
    while let Some((line, text)) = pairs.next() {
        if let Some(last) = version_of(text) {
            closing(&mut pairs, &config.version, (line, last), &mut remarks)?;
            return Ok(Reading { config, remarks });
        }
        section((line, text), &mut pairs, &mut config, &mut remarks)?;
    }
    remarks.push(Remark {
        line: None,
        text: "the version at the end is missing; all sections before it are complete".into(),
    });
    Ok(Reading { config, remarks })
}

/// Returns the text after the word `Version`, which may follow an apostrophe.
fn version_of(text: &str) -> Option<&str> {
    let text = text.strip_prefix('\'').unwrap_or(text);
    let word = text.get(..7).filter(|word| word.eq_ignore_ascii_case("version"))?;
    text[word.len()..].starts_with(char::is_whitespace).then(|| text[word.len()..].trim())
}

fn first_line(pairs: &mut Pairs<'_>) -> Result<Version, ParseError> {
    let not_iometer = "this is not an Iometer configuration: the first line is not \
        'Version 2006.07.27' or the like";
    let (line, text) = pairs.next().ok_or_else(|| ParseError::whole("the file is empty"))?;
    let text = version_of(text).ok_or_else(|| ParseError::at(line, not_iometer))?;
    let version = Version::parse(text).ok_or_else(|| {
        ParseError::at(line, format!("'{text}' is not a version of Iometer", text = excerpt(text)))
    })?;
    if !version.is_known() {
        let what = format!("version {version} is older than the oldest supported, 1998.01.05");
        return Err(ParseError::at(line, what));
    }
    Ok(version)
}

fn closing(
    pairs: &mut Pairs<'_>,
    first: &Version,
    (line, last): (u64, &str),
    remarks: &mut Vec<Remark>,
) -> Result<(), ParseError> {
    if Version::parse(last).as_ref() != Some(first) {
        let text = format!("the file ends with version '{last}' and begins with {first}");
        remarks.push(Remark { line: Some(line), text });
    }
    match pairs.next() {
        None => Ok(()),
        Some((line, text)) => Err(ParseError::at(
            line,
            format!("'{text}' comes after the version that ends the file", text = excerpt(text)),
        )),
    }
}

/// Parses one section, starting at its heading.
fn section(
    (line, text): (u64, &str),
    pairs: &mut Pairs<'_>,
    config: &mut Config,
    remarks: &mut Vec<Remark>,
) -> Result<(), ParseError> {
    let heading = text.trim_start_matches('\'').trim_end_matches('=').trim().to_lowercase();
    let twice = |there: bool| {
        if there {
            Err(ParseError::at(line, format!("a second section '{heading}'")))
        } else {
            Ok(())
        }
    };
    match heading.as_str() {
        "test setup" => {
            twice(config.setup.is_some())?;
            config.setup = Some(setup(pairs)?);
        }
        "results display" => {
            twice(config.display.is_some())?;
            config.display = Some(display(pairs)?);
        }
        "access specifications" => {
            twice(config.specs.is_some())?;
            // By the keys: files of one version exist in both forms.
            let named = config.version.has_named_specs() || pairs.is_at(keys::SPEC_NAME);
            let read = if named { specs } else { old_specs };
            config.specs = Some(read(pairs, remarks)?);
        }
        "manager list" => {
            twice(config.managers.is_some())?;
            config.managers = Some(managers(pairs, remarks)?);
        }
        _ => {
            let value = Value { line, text: text.to_owned() };
            return Err(value.wrong(
                "not a section; the sections are TEST SETUP, RESULTS DISPLAY, ACCESS \
                 SPECIFICATIONS and MANAGER LIST",
            ));
        }
    }
    Ok(())
}
