//! Parse errors of other tools' files.

use steadfast_domain::text::with_short_words;

/// An error in another tool's file, with its position.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ParseError {
    /// Line number, from 1; `None` for the file as a whole.
    pub line: Option<u64>,
    /// Description of the error and its remedy.
    pub message: String,
}

/// Maximum length of a message in characters. Longer messages quote long input.
const MESSAGE_MAX: usize = 400;

fn shortened(message: &str) -> String {
    let message = with_short_words(message);
    match message.char_indices().nth(MESSAGE_MAX) {
        Some((end, _)) => format!("{} ...", &message[..end]),
        None => message,
    }
}

impl ParseError {
    /// Returns an error at a line, counted from 1. Line 0 stands for what is not in the file, such
    /// as the command line, and makes it an error about the whole file.
    pub fn at(line: u64, message: impl Into<String>) -> Self {
        ParseError { line: (line > 0).then_some(line), message: shortened(&message.into()) }
    }
    /// Returns an error about the whole file.
    pub fn whole(message: impl Into<String>) -> Self {
        ParseError { line: None, message: shortened(&message.into()) }
    }
}

impl std::fmt::Display for ParseError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}
