//! Findings as JSON: indented where a reader looks, and on one line where there are many alike,
//! such as the cells of a row or the points of a curve.

use crate::ReportError;
use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter};
use std::io::{Result, Write};
use steadfast_domain::Findings;

/// Levels that are indented: deeper ones stand on the line of the level above them.
const LEVELS: usize = 5;

/// The findings as JSON.
///
/// # Errors
/// Where they cannot be written as JSON.
pub fn json(findings: &Findings) -> std::result::Result<Vec<u8>, ReportError> {
    let mut out = Vec::new();
    let shallow = Shallow { pretty: PrettyFormatter::new(), level: 0 };
    let mut serializer = serde_json::Serializer::with_formatter(&mut out, shallow);
    findings.serialize(&mut serializer).map_err(|error| ReportError::Encode(error.to_string()))?;
    out.push(b'\n');
    Ok(out)
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
