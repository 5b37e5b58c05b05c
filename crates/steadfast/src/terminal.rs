//! Standard output and standard error.

use serde::Serialize;
use std::io::{self, IsTerminal, Write};

/// Prints a text and a line end.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.trim_end().as_bytes())?;
    out.write_all(b"\n")?;
    Ok(())
}

/// Prints a value as JSON.
pub fn print_json<T: Serialize>(value: &T) -> anyhow::Result<()> {
    print(&serde_json::to_string_pretty(value)?)
}

/// Says something on standard error; nobody listening is no error.
pub fn complain(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Says something on standard error in place of what it said there last.
pub fn overwrite(text: &str) {
    let _ = write!(io::stderr().lock(), "\r\x1b[2K{text}\r");
}

/// Whether a person watches standard error.
pub fn is_watched() -> bool {
    io::stderr().is_terminal()
}

/// Columns of the terminal; 100 where there is none.
pub fn width() -> usize {
    let columns = console::Term::stdout().size_checked().map_or(100, |(_, columns)| columns);
    usize::from(columns).clamp(60, 160)
}
