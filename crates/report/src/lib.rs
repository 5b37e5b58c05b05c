//! Findings as a PDF, a web page, CSV files and text.
//!
//! This crate knows no procedure by name: it draws what a `Findings` holds. Each
//! plot is drawn once, as SVG, and stands in the page and in the PDF alike. All
//! text is taken as untrusted and escaped for where it goes.
#![forbid(unsafe_code)]
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod compare;
mod csv;
mod date;
mod html;
mod json;
mod layout;
mod limits;
mod number;
mod parts;
mod pdf;
mod summary;
mod svg;
mod text;
pub mod text_table;

pub use compare::{COMPARED_MAX, CompareError, compare, metrics};
pub use csv::{csv, field as csv_field, tables};
pub use date::{date_second, date_stamp};
pub use html::html;
pub use json::{FindingsError, FindingsFile, json, parse_findings};
pub use limits::{Checked, Judged, Limit, Limits, LimitsError, Names, check, names, names_text};
pub use pdf::{pdf, pdf_form};
pub use svg::svg;
pub use text::text;

/// What is not in the findings: when this report was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Printed {
    /// Milliseconds since 1970 (UTC).
    pub report_unix_ms: u64,
}

/// Why a report could not be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReportError {
    /// The typesetter refused the document.
    #[error("the PDF cannot be typeset: {0}")]
    Typeset(String),
    /// The findings cannot be handed to the typesetter.
    #[error("the findings cannot be written as JSON: {0}")]
    Encode(String),
}
