//! A [`DrivePage`]: what a drive reports about itself in one page, decoded and raw.

use serde::{Deserialize, Serialize};

/// A page that a drive reports about itself: Identify data, a log page or a feature.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct DrivePage {
    /// Short name, stable across versions, such as `log-02`.
    pub id: String,
    /// Name in the specification.
    pub name: String,
    /// Specification and clause that define the page.
    pub source: String,
    /// Result of decoding the page.
    pub state: PageState,
    /// Explanation of the state; empty for a page that was decoded in full.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub remark: String,
    /// Number of bytes read.
    pub length: u32,
    /// Fields that the drive reports, in the order of their bytes. Repeated structures that are all
    /// zero are left out.
    pub fields: Vec<DriveField>,
    /// All bytes as read, in hexadecimal, without the zeros at the end.
    pub raw: String,
}

/// Result of decoding a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PageState {
    /// Every field of the specification was decoded.
    Complete,
    /// The page ends before its last field; the fields that it holds were decoded.
    Short,
    /// All bytes are zero where the specification does not allow it; nothing was decoded.
    Zero,
    /// The page has a later version than this program knows; the fields that it knows were decoded.
    Newer,
    /// Another page has this number (its GUID differs); nothing was decoded.
    Foreign,
    /// The drive refused the page.
    Refused,
}

/// A field of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct DriveField {
    /// Acronym or requirement of the field in its specification, such as `duw`; for a repeated
    /// structure with its number, such as `psd0.mp`.
    pub id: String,
    /// Name in the specification.
    pub name: String,
    /// Decimal number, flags (`0x1`), text, or bytes in hexadecimal.
    pub value: String,
    /// Unit of the number; empty for a count, flags or text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unit: String,
}
