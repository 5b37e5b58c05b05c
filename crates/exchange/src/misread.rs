//! The error for files of other tools.

use steadfast_domain::text::with_short_words;

/// A parse error with its position.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Misread {
    /// Line number, from 1; `None` for the file as a whole.
    pub line: Option<u64>,
    /// What is wrong and what to do.
    pub what: String,
}

/// Longest message in characters; longer ones contain quotations that nobody reads to the end.
const LONGEST: usize = 400;

fn shortened(what: &str) -> String {
    let what = with_short_words(what);
    match what.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{} ...", &what[..end]),
        None => what,
    }
}

impl Misread {
    /// Returns an error at a line, counted from 1.
    pub fn at(line: u64, what: impl Into<String>) -> Self {
        Misread { line: Some(line), what: shortened(&what.into()) }
    }
    /// Returns an error about the whole file.
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
