//! Findings as JSON: indented where a reader looks, and on one line where there are many alike,
//! such as the cells of a row or the points of a curve.

//!
//! A file of findings is read back by `compare`, `check`, `report` and `explore`, so it carries
//! the SHA-256 of its content. The content is what the file says, not how it is laid out:
//! a file that a program indents in another way or whose keys it sorts is still the same.

use crate::ReportError;
use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{Formatter, PrettyFormatter};
use sha2::{Digest, Sha256};
use std::io::{Result, Write};
use steadfast_domain::Findings;
use steadfast_domain::findings::FINDINGS_VERSION;
use steadfast_domain::text::with_short_words;

/// Levels that are indented: deeper ones stand on the line of the level above them.
const LEVELS: usize = 5;

/// The field that has the digest.
const SHA256: &str = "sha256";

/// Findings as a file has them.
#[derive(Serialize, schemars::JsonSchema)]
pub struct FindingsFile<'f> {
    /// SHA-256 of all other fields, as JSON without blanks and with the keys of every object
    /// sorted.
    sha256: String,
    #[serde(flatten)]
    findings: &'f Findings,
}

impl<'f> FindingsFile<'f> {
    /// Seals findings with their digest.
    ///
    /// # Errors
    /// Returns [`ReportError::Encode`] if they cannot be written as JSON.
    pub fn new(findings: &'f Findings) -> std::result::Result<Self, ReportError> {
        let encode = |error: serde_json::Error| ReportError::Encode(error.to_string());
        // Numbers count as a reader of the file will see them.
        let text = serde_json::to_string(findings).map_err(encode)?;
        let content: Value = serde_json::from_str(&text).map_err(encode)?;
        Ok(FindingsFile { sha256: digest(&content), findings })
    }
}

/// SHA-256 of a JSON value, as hexadecimal digits.
fn digest(content: &Value) -> String {
    let mut text = String::new();
    append_canonical(content, &mut text);
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Appends a value without blanks, the keys of every object sorted.
fn append_canonical(value: &Value, out: &mut String) {
    match value {
        Value::Array(values) => {
            out.push('[');
            for (at, value) in values.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                append_canonical(value, out);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            let mut fields: Vec<(&String, &Value)> = fields.iter().collect();
            fields.sort_unstable_by_key(|(key, _)| *key);
            out.push('{');
            for (at, (key, value)) in fields.into_iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                out.push_str(&Value::String(key.clone()).to_string());
                out.push(':');
                append_canonical(value, out);
            }
            out.push('}');
        }
        plain => out.push_str(&plain.to_string()),
    }
}

/// The findings as JSON, with their digest.
///
/// # Errors
/// Returns [`ReportError::Encode`] if they cannot be written as JSON.
pub fn json(findings: &Findings) -> std::result::Result<Vec<u8>, ReportError> {
    let mut out = Vec::new();
    let shallow = Shallow { pretty: PrettyFormatter::new(), level: 0 };
    let mut serializer = serde_json::Serializer::with_formatter(&mut out, shallow);
    let file = FindingsFile::new(findings)?;
    file.serialize(&mut serializer).map_err(|error| ReportError::Encode(error.to_string()))?;
    out.push(b'\n');
    Ok(out)
}

/// Why a file of findings cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FindingsError {
    /// It is no JSON, or other JSON.
    #[error("it contains no findings: {0}")]
    NotFindings(String),
    /// Another version wrote it.
    #[error("its findings are of version {found}; this program reads version {FINDINGS_VERSION}")]
    Version {
        /// Version of the file.
        found: u64,
    },
    /// It has no digest.
    #[error("it has no SHA-256 of its content, so damage to its numbers could not be seen")]
    Unsealed,
    /// Its digest is that of other content.
    #[error("its content was changed after it was written: its SHA-256 does not match")]
    Changed,
}

/// Reads findings that [`json`] wrote.
///
/// # Errors
/// Returns [`FindingsError`] if the text holds no findings, or not those that were written.
pub fn parse_findings(text: &[u8]) -> std::result::Result<Findings, FindingsError> {
    let no_findings =
        |error: serde_json::Error| FindingsError::NotFindings(with_short_words(&error.to_string()));
    let mut content: Value = serde_json::from_slice(text).map_err(no_findings)?;
    let version = content.get("version").and_then(Value::as_u64);
    let version =
        version.ok_or_else(|| FindingsError::NotFindings("it has no version".to_owned()))?;
    if version != u64::from(FINDINGS_VERSION) {
        return Err(FindingsError::Version { found: version });
    }
    let told = content.as_object_mut().and_then(|fields| fields.remove(SHA256));
    match told {
        None => return Err(FindingsError::Unsealed),
        Some(told) if told != Value::String(digest(&content)) => {
            return Err(FindingsError::Changed);
        }
        Some(_) => {}
    }
    serde_json::from_value(content).map_err(no_findings)
}

/// Indents the first levels only.
struct Shallow {
    pretty: PrettyFormatter<'static>,
    level: usize,
}

impl Shallow {
    fn is_deep(&self) -> bool {
        self.level > LEVELS
    }
}

/// Begins an array or an object.
macro_rules! begin {
    ($name:ident, $bracket:literal) => {
        fn $name<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
            self.level += 1;
            if self.is_deep() { writer.write_all($bracket) } else { self.pretty.$name(writer) }
        }
    };
}

/// Ends one.
macro_rules! end {
    ($name:ident, $bracket:literal) => {
        fn $name<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
            let deep = self.is_deep();
            self.level -= 1;
            if deep { writer.write_all($bracket) } else { self.pretty.$name(writer) }
        }
    };
}

/// Begins a value or a key after others.
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

impl Formatter for Shallow {
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
