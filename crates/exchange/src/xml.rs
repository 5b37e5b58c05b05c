//! XML documents of limited size.

use crate::parse_error::ParseError;
use roxmltree::{Document, ParsingOptions};
use steadfast_domain::text::with_short_words;

/// Parses a document of at most `elements_max` elements. Ignores a byte order mark and blanks before
/// it.
///
/// # Errors
/// The text is not such a document; the error names the line.
pub(crate) fn parse_xml(text: &str, elements_max: u32) -> Result<Document<'_>, ParseError> {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let options = ParsingOptions { nodes_limit: elements_max, ..ParsingOptions::default() };
    Document::parse_with_options(text, options).map_err(|error| {
        let what = format!("this is not XML: {}", with_short_words(&error.to_string()));
        ParseError::at(error.pos().row.into(), what)
    })
}
