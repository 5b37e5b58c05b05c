//! Renders findings as a PDF, a web page, CSV files and text.
//!
//! This crate knows no procedure by name: it renders the content of a `Findings`. Each plot is
//! drawn once, as SVG, and is used in the web page and in the PDF. All text is treated as untrusted
//! and escaped for its destination.
#![forbid(unsafe_code)]
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod card;
mod compare;
mod csv;
mod date;
mod fonts;
mod grouping;
mod html;
mod json;
mod layout;
mod limit_names;
mod limits;
mod limits_outcome;
mod named_run;
mod number;
mod page_one;
mod parts;
mod pdf;
mod several_targets;
mod svg;
mod text;
pub mod text_table;
mod trend;

pub use card::{card_png, card_svg};
pub use compare::{COMPARED_MAX, COMPARISON, CompareError, compare, metrics};
pub use csv::{csv, field as csv_field, tables};
pub use date::{date_second, date_stamp};
pub use html::html;
pub use json::{FindingsError, FindingsFile, json, parse_findings};
pub use limit_names::{TableNames, names, names_text};
pub use limits::{
    CheckVerdict, Limit, LimitVerdict, Limits, LimitsError, UnknownObjection, check, check_allowed,
};
pub use named_run::NamedRun;
pub use page_one::end_text;
pub use pdf::{pdf, pdf_form};
pub use several_targets::{GroupTarget, StudiedTarget, TargetEnd, combined_findings, targets_text};
pub use svg::svg;
pub use text::text;
pub use trend::{
    LeftOutRun, LevelChange, MetricTrend, ProcedureTrend, TREND_RUNS_MIN, TrendBaseline,
    TrendError, TrendOptions, TrendRun, TrendVerdict,
};

/// Facts about a report that are not in the findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReportTime {
    /// Time at which the report was made, in milliseconds since 1970 (UTC).
    pub report_unix_ms: u64,
}

/// An error in rendering a report.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReportError {
    /// The typesetter rejected the document.
    #[error("cannot typeset the PDF: {0}")]
    Typeset(String),
    /// The picture of a card cannot be drawn.
    #[error("cannot draw the card: {0}")]
    Card(String),
    /// The findings cannot be encoded for the typesetter.
    #[error("cannot write the findings as JSON: {0}")]
    Encode(String),
}
