//! Why a file of another tool cannot be used.

use steadfast_domain::text::with_short_words;

/// What cannot be understood, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Misread {
    /// The line, from 1; absent where it is the whole file.
    pub line: Option<u64>,
    /// What is wrong, and what to do.
    pub what: String,
}

/// A longer sentence quotes something that nobody reads to its end.
const LONGEST: usize = 400;

fn shortened(what: &str) -> String {
    let what = with_short_words(what);
    match what.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{} ...", &what[..end]),
        None => what,
    }
}

impl Misread {
    /// Something on a line, counted from 1.
    pub fn at(line: u64, what: impl Into<String>) -> Self {
        Misread { line: Some(line), what: shortened(&what.into()) }
    }
    /// Something about the whole file.
    pub fn whole(what: impl Into<String>) -> Self {
        Misread { line: None, what: shortened(&what.into()) }
    }
}

impl std::fmt::Display for Misread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.what),
            None => f.write_str(&self.what),
        }
    }
}
