//! [`Caveat`]: a disclosure with its remedy, kept with the numbers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Kind of a disclosure.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum CaveatKind {
    /// The numbers are not what the title says: the method was not followed in full, or steady
    /// state was not reached.
    Invalidates,
    /// A departure from the method.
    Deviation,
    /// A rule whose wording in the standard could not be checked.
    Unverified,
    /// Other information for the reader.
    Remark,
}

/// A disclosure with its remedy, kept with the numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Caveat {
    /// Short name, stable across versions: a constant of `domain::caveats`.
    pub id: String,
    /// Kind of the disclosure.
    pub kind: CaveatKind,
    /// Statement of fact, with its numbers.
    pub text: String,
    /// Suggested action; empty if there is none.
    #[serde(default)]
    pub remedy: String,
}

impl Caveat {
    /// Creates a caveat; `id` is a constant of `domain::caveats`.
    pub fn new(
        kind: CaveatKind,
        id: &str,
        text: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Caveat { id: id.to_owned(), kind, text: text.into(), remedy: remedy.into() }
    }
    /// Creates a caveat of [`CaveatKind::Invalidates`].
    pub fn invalidates(id: &str, text: impl Into<String>, remedy: impl Into<String>) -> Self {
        Caveat::new(CaveatKind::Invalidates, id, text, remedy)
    }
    /// Creates a caveat of [`CaveatKind::Deviation`].
    pub fn deviation(id: &str, text: impl Into<String>, remedy: impl Into<String>) -> Self {
        Caveat::new(CaveatKind::Deviation, id, text, remedy)
    }
    /// Creates a caveat of [`CaveatKind::Unverified`].
    pub fn unverified(id: &str, text: impl Into<String>, remedy: impl Into<String>) -> Self {
        Caveat::new(CaveatKind::Unverified, id, text, remedy)
    }
    /// Creates a caveat of [`CaveatKind::Remark`].
    pub fn remark(id: &str, text: impl Into<String>, remedy: impl Into<String>) -> Self {
        Caveat::new(CaveatKind::Remark, id, text, remedy)
    }
}
