//! Topic of a check, and constructors for its results.

use steadfast_domain::record::{Check, CheckState};

/// Topic of a check: its stable ID, and its title for users.
#[derive(Debug, Clone, Copy)]
pub(super) struct CheckTopic(pub &'static str, pub &'static str);

impl CheckTopic {
    pub fn check(self, state: CheckState, found: String, advice: String) -> Check {
        Check { id: self.0.to_owned(), subject: self.1.to_owned(), state, found, advice }
    }
    pub fn good(self, found: impl Into<String>) -> Check {
        self.check(CheckState::Good, found.into(), String::new())
    }
    pub fn unknown(self, found: impl Into<String>) -> Check {
        self.check(CheckState::Unknown, found.into(), String::new())
    }
    pub fn attention(self, found: impl Into<String>, advice: impl Into<String>) -> Check {
        self.check(CheckState::Attention, found.into(), advice.into())
    }
    pub fn bad(self, found: impl Into<String>, advice: impl Into<String>) -> Check {
        self.check(CheckState::Bad, found.into(), advice.into())
    }
}
