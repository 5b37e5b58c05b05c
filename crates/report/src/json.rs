//! Reads and writes findings as JSON: indented at the outer levels, and on one line where there are
//! many similar items, such as the cells of a row or the points of a curve.
//!
//! A file of findings is read back by `compare`, `check`, `report` and `explore`, so it carries the
//! SHA-256 of its content. The digest covers the content and not its layout: a file that another
//! program has indented differently or whose keys it has sorted is still valid.

use crate::ReportError;
use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{Formatter, PrettyFormatter};
use sha2::{Digest, Sha256};
use std::io::{Result, Write};
use steadfast_domain::Findings;
use steadfast_domain::findings::FINDINGS_VERSION;
use steadfast_domain::hex::to_hex;
use steadfast_domain::text::with_short_words;

/// Number of indented levels; deeper ones are on the line of the level above.
const INDENTED_LEVELS: usize = 5;

/// Name of the field with the digest.
const SHA256: &str = "sha256";

/// Findings with their digest, as in a file.
#[derive(Serialize, schemars::JsonSchema)]
pub struct FindingsFile<'f> {
    /// SHA-256 of all other fields, as JSON without blanks and with the keys of every object
    /// sorted.
    sha256: String,
    #[serde(flatten)]
    findings: &'f Findings,
}

impl<'f> FindingsFile<'f> {
    /// Computes the digest of findings.
    ///
    /// # Errors
    /// Returns [`ReportError::Encode`] if the findings cannot be written as JSON.
    pub fn new(findings: &'f Findings) -> std::result::Result<Self, ReportError> {
        let encode = |error: serde_json::Error| ReportError::Encode(error.to_string());
        // The digest covers the numbers as a reader of the file parses them.
        let text = serde_json::to_string(findings).map_err(encode)?;
        let mut content: Value = serde_json::from_str(&text).map_err(encode)?;
        Ok(FindingsFile { sha256: digest(&mut content), findings })
    }
}

/// Returns the SHA-256 of a JSON value without blanks, with the keys of every object sorted.
fn digest(content: &mut Value) -> String {
    content.sort_all_objects();
    to_hex(&Sha256::digest(content.to_string()))
}

/// Returns the findings as JSON, with their digest.
///
/// # Errors
/// Returns [`ReportError::Encode`] if the findings cannot be written as JSON.
pub fn json(findings: &Findings) -> std::result::Result<Vec<u8>, ReportError> {
    let mut out = Vec::new();
    let shallow = ShallowFormatter { pretty: PrettyFormatter::new(), level: 0 };
    let mut serializer = serde_json::Serializer::with_formatter(&mut out, shallow);
    let file = FindingsFile::new(findings)?;
    file.serialize(&mut serializer).map_err(|error| ReportError::Encode(error.to_string()))?;
    out.push(b'\n');
    Ok(out)
}

/// An error in reading a file of findings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FindingsError {
    /// The text is not JSON, or not that of findings.
    #[error("it contains no findings: {0}")]
    NotFindings(String),
    /// Another version of the format.
    #[error("its findings are of version {found}; this program reads version {FINDINGS_VERSION}")]
    Version {
        /// Version of the file.
        found: u64,
    },
    /// The digest is missing.
    #[error("it has no SHA-256 of its content, so damage to its numbers could not be seen")]
    Unsealed,
    /// The digest does not match the content.
    #[error("its content was changed after it was written: its SHA-256 does not match")]
    Changed,
}

/// Parses findings written by [`json`].
///
/// # Errors
/// Returns [`FindingsError`] if the text has no findings, or if they were changed after they were
/// written.
pub fn parse_findings(text: &[u8]) -> std::result::Result<Findings, FindingsError> {
    let not_findings =
        |error: serde_json::Error| FindingsError::NotFindings(with_short_words(&error.to_string()));
    let mut content: Value = serde_json::from_slice(text).map_err(not_findings)?;
    let Some(version) = content.get("version").and_then(Value::as_u64) else {
        return Err(FindingsError::NotFindings("it has no version".to_owned()));
    };
    if version != u64::from(FINDINGS_VERSION) {
        return Err(FindingsError::Version { found: version });
    }
    let stated = content.as_object_mut().and_then(|fields| fields.remove(SHA256));
    let stated = stated.ok_or(FindingsError::Unsealed)?;
    if stated != Value::String(digest(&mut content)) {
        return Err(FindingsError::Changed);
    }
    serde_json::from_value(content).map_err(not_findings)
}

/// A JSON formatter that indents only the first levels.
struct ShallowFormatter {
    pretty: PrettyFormatter<'static>,
    level: usize,
}

impl ShallowFormatter {
    fn is_deep(&self) -> bool {
        self.level > INDENTED_LEVELS
    }
}

/// Defines a method that begins an array or object.
macro_rules! begin {
    ($name:ident, $bracket:literal) => {
        fn $name<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
            self.level += 1;
            if self.is_deep() { writer.write_all($bracket) } else { self.pretty.$name(writer) }
        }
    };
}

/// Defines a method that ends an array or object.
macro_rules! end {
    ($name:ident, $bracket:literal) => {
        fn $name<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
            let deep = self.is_deep();
            self.level -= 1;
            if deep { writer.write_all($bracket) } else { self.pretty.$name(writer) }
        }
    };
}

/// Defines a method that separates a value or key from the previous one.
macro_rules! separate {
    ($name:ident) => {
        fn $name<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> Result<()> {
            match (self.is_deep(), first) {
                (true, true) => Ok(()),
                (true, false) => writer.write_all(b","),
                (false, _) => self.pretty.$name(writer, first),
            }
        }
    };
}

impl Formatter for ShallowFormatter {
    begin!(begin_array, b"[");
    begin!(begin_object, b"{");
    end!(end_array, b"]");
    end!(end_object, b"}");
    separate!(begin_array_value);
    separate!(begin_object_key);

    fn end_array_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        if self.is_deep() { Ok(()) } else { self.pretty.end_array_value(writer) }
    }
    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        if self.is_deep() { writer.write_all(b":") } else { self.pretty.begin_object_value(writer) }
    }
    fn end_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        if self.is_deep() { Ok(()) } else { self.pretty.end_object_value(writer) }
    }
}
