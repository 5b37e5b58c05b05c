//! [`Caveat`]: a disclosure with its remedy, kept with the numbers.

use serde::{Deserialize, Serialize};

/// What kind of disclosure a caveat is.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum CaveatKind {
    /// The numbers are not what the title says: not the full method, no steady state.
    Invalidates,
    /// The method was departed from.
    Deviation,
    /// A rule whose wording in the standard could not be checked.
    Unverified,
    /// Something that a reader should know.
    Remark,
}

/// A disclosure with its remedy, kept with the numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Caveat {
    /// A short name, stable across versions: one of `domain::caveats`.
    pub id: String,
    /// What kind.
    pub kind: CaveatKind,
    /// What is so, with the numbers.
    pub text: String,
    /// What to do about it; empty where nothing can be done.
    #[serde(default)]
    pub remedy: String,
}

impl Caveat {
    /// A caveat; its name is a constant of `domain::caveats`.
    pub fn new(
        kind: CaveatKind,
        id: &str,
        text: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Caveat { id: id.to_owned(), kind, text: text.into(), remedy: remedy.into() }
    }
}
