//! Output to standard output and standard error. Control characters in names and other input are
//! escaped before they reach the terminal.

use anyhow::Context;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::sync::atomic::{AtomicBool, Ordering};
use steadfast_domain::Findings;
use steadfast_domain::text::{affects_terminal, number, printable, printable_lines, wrapped};
use steadfast_report::FindingsFile;

/// Version of every JSON document on standard output. Any change except an added field raises it.
const JSON_VERSION: u32 = 1;

/// Size of the output buffer, in bytes.
const OUTPUT_BUFFER_BYTES: usize = 1 << 16;

/// Prints a text and a newline. A closed pipe or terminal is not an error.
pub fn print(text: &str) -> anyhow::Result<()> {
    print_raw(format!("{}\n", printable_lines(text.trim_end())).as_bytes())
}

/// Prints lines like [`print`], in chunks of bounded size.
pub fn print_lines(lines: impl IntoIterator<Item = String>) -> anyhow::Result<()> {
    let mut text = String::new();
    for line in lines {
        text.push_str(&printable_lines(line.trim_end()));
        text.push('\n');
        if text.len() >= OUTPUT_BUFFER_BYTES {
            print_raw(text.as_bytes())?;
            text.clear();
        }
    }
    print_raw(text.as_bytes())
}

/// Prints text with its color codes. External parts must already be escaped.
pub fn print_colored(text: &str) -> anyhow::Result<()> {
    // Only color codes pass; every other escape sequence is escaped.
    let parts = text.trim_end().split_inclusive('m').map(|part| match part.rfind("\x1b[") {
        Some(at) if is_color_code(&part[at..]) => printable_lines(&part[..at]) + &part[at..],
        _ => printable_lines(part),
    });
    print_raw((parts.collect::<String>() + "\n").as_bytes())
}

/// Returns true if the text is one color code: `ESC [ digits ; digits m`.
fn is_color_code(sequence: &str) -> bool {
    let inside = sequence.strip_prefix("\x1b[").and_then(|rest| rest.strip_suffix('m'));
    inside.is_some_and(|inside| inside.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b';')))
}

/// Writes bytes to standard output without escaping, for other programs.
pub fn print_raw(bytes: &[u8]) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    check_written(out.write_all(bytes).and_then(|()| out.flush()))
}

/// Maps a closed standard output to success.
fn check_written(written: io::Result<()>) -> anyhow::Result<()> {
    match written {
        Err(error) if !is_closed(&error) => Err(error).context("standard output"),
        _ => Ok(()),
    }
}

/// Returns true if standard output is a pipe without a reader or a closed terminal.
fn is_closed(error: &io::Error) -> bool {
    let is_terminal = || {
        let file = io::stdout().as_fd().try_clone_to_owned().map(File::from);
        file.and_then(|file| file.metadata()).is_ok_and(|m| m.file_type().is_char_device())
    };
    error.kind() == io::ErrorKind::BrokenPipe
        || error.raw_os_error() == Some(libc::EIO) && is_terminal()
}

/// A JSON document on standard output.
#[derive(Serialize, JsonSchema)]
struct JsonDocument<T> {
    version: u32,
    #[serde(flatten)]
    content: T,
}

/// Streams a value as JSON with the document version. The `JsonSchema` bound ensures that every
/// document has a schema.
pub fn print_json<T: Serialize + JsonSchema>(content: &T) -> anyhow::Result<()> {
    let document = JsonDocument { version: JSON_VERSION, content };
    let mut out = BufWriter::with_capacity(OUTPUT_BUFFER_BYTES, EscapeWriter(io::stdout().lock()));
    let json = serde_json::to_writer_pretty(&mut out, &document).map_err(io::Error::from);
    check_written(json.and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush()))
}

/// A writer that escapes control characters in JSON. Each write must be whole characters.
struct EscapeWriter<W>(W);

impl<W: Write> Write for EscapeWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = std::str::from_utf8(bytes)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        self.0.write_all(escape_json(text).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Returns the schema of the JSON that [`print_json`] prints.
pub fn output_schema<T: JsonSchema>() -> Schema {
    file_schema::<JsonDocument<T>>()
}

/// Returns the schema of a value in a file, without the document version.
pub fn file_schema<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>()
}

/// Prints a schema.
pub fn print_schema(schema: &Schema) -> anyhow::Result<()> {
    print_escaped_json(schema)
}

/// Prints findings in the format of a findings file.
pub fn print_findings(findings: &Findings) -> anyhow::Result<()> {
    print_escaped_json(&FindingsFile::new(findings)?)
}

fn print_escaped_json(value: &impl Serialize) -> anyhow::Result<()> {
    print(&escape_json(&serde_json::to_string_pretty(value)?))
}

/// Escapes control characters in JSON strings; the value is unchanged.
fn escape_json(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        // Writing to a String cannot fail.
        let _ = match c {
            '\n' => out.write_char(c),
            c if affects_terminal(c) => write!(out, "\\u{:04x}", u32::from(c)),
            c => out.write_char(c),
        };
    }
    out
}

/// True while a progress line is displayed, which the next line replaces.
static PROGRESS_SHOWN: AtomicBool = AtomicBool::new(false);

/// True if only results, warnings and errors are printed.
static QUIET: AtomicBool = AtomicBool::new(false);

/// Sets whether only results, warnings and errors are printed, and whether they are colored;
/// `None` leaves that to the terminal.
pub fn set_up(quiet: bool, colored: Option<bool>) {
    QUIET.store(quiet, Ordering::Relaxed);
    if let Some(colored) = colored {
        console::set_colors_enabled(colored);
        console::set_colors_enabled_stderr(colored);
    }
}

/// Control sequence that clears the line of the cursor.
const CLEAR_LINE: &str = "\r\x1b[2K";

/// Prints a warning or an error to standard error; write errors are ignored.
pub fn warn(text: &str) {
    print_stderr(text);
}

/// Prints a status line to standard error unless `--quiet` is given.
pub fn status(text: &str) {
    if !QUIET.load(Ordering::Relaxed) {
        print_stderr(text);
    }
}

/// Replaces the progress line on standard error, which must be a terminal.
pub fn progress(text: &str) {
    if QUIET.load(Ordering::Relaxed) {
        return;
    }
    PROGRESS_SHOWN.store(true, Ordering::Relaxed);
    let _ = write!(io::stderr().lock(), "{CLEAR_LINE}{}\r", printable(text));
}

fn print_stderr(text: &str) {
    let before = if PROGRESS_SHOWN.swap(false, Ordering::Relaxed) { CLEAR_LINE } else { "" };
    let text = wrap_for_stderr(text);
    let _ = writeln!(io::stderr().lock(), "{before}{text}");
}

/// Wraps a line at word boundaries on a terminal; otherwise keeps it on one line.
pub fn wrap_for_stderr(text: &str) -> String {
    let text = printable(text);
    let room = error_width() - 1;
    if io::stderr().is_terminal() && text.chars().count() > room {
        wrapped(&text, room, "  ").join("\n")
    } else {
        text.into_owned()
    }
}

/// Returns true if standard error is a terminal and `--quiet` is not given.
pub fn shows_progress() -> bool {
    io::stderr().is_terminal() && !QUIET.load(Ordering::Relaxed)
}

/// Formats a number; a dash if it is unknown.
pub fn number_or_dash(value: Option<f64>, decimals: usize) -> String {
    value.map_or("–".to_owned(), |value| number(value, decimals))
}

/// Columns of the terminal, limited to 60 to 160; 100 if standard output is no terminal.
pub fn width() -> usize {
    let columns = console::Term::stdout().size_checked().map_or(100, |(_, columns)| columns);
    usize::from(columns).clamp(60, 160)
}

/// Columns of the terminal on standard error, at least 20; 100 if it is no terminal.
pub fn error_width() -> usize {
    error_size().1
}

/// Rows and columns (at least 20) of the terminal on standard error; 24 and 100 if it is no
/// terminal.
pub fn error_size() -> (usize, usize) {
    let (rows, columns) = console::Term::stderr().size_checked().unwrap_or((24, 100));
    (usize::from(rows), usize::from(columns).max(20))
}

/// Prevents the terminal of standard error from echoing `^C` while it exists. The echo would move
/// the lines of a progress display, which would then not be cleared.
pub struct NoControlEcho(Option<libc::termios>);

impl NoControlEcho {
    /// Has no effect if standard error is not a terminal.
    pub fn new() -> Self {
        // SAFETY: all zero bytes are a valid termios, and `now` is valid to write to.
        let before = unsafe {
            let mut now: libc::termios = std::mem::zeroed();
            (libc::tcgetattr(libc::STDERR_FILENO, &raw mut now) == 0).then_some(now)
        };
        if let Some(mut changed) = before {
            changed.c_lflag &= !libc::ECHOCTL;
            // SAFETY: tcgetattr initialized `changed`.
            unsafe { libc::tcsetattr(libc::STDERR_FILENO, libc::TCSANOW, &raw const changed) };
        }
        NoControlEcho(before)
    }
}

impl Drop for NoControlEcho {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            // SAFETY: `before` is the termios that tcgetattr returned.
            unsafe { libc::tcsetattr(libc::STDERR_FILENO, libc::TCSANOW, before) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaped_json_has_the_same_value_and_no_control_characters() {
        let name = "a\x1b]0;x\x07\u{7f}\u{9b}2J\u{202e}b\u{2066}\nµ";
        let json = escape_json(&serde_json::to_string_pretty(&[name]).unwrap());
        assert!(!json.chars().any(|c| affects_terminal(c) && c != '\n'), "{json}");
        assert_eq!(serde_json::from_str::<Vec<String>>(&json).unwrap(), [name]);
        let mut out = BufWriter::with_capacity(7, EscapeWriter(Vec::new()));
        serde_json::to_writer_pretty(&mut out, &[name]).unwrap();
        out.flush().unwrap();
        assert_eq!(String::from_utf8(out.get_ref().0.clone()).unwrap(), json);
    }

    /// A write that is not whole characters fails; it never reports 0 bytes as written.
    #[test]
    fn bytes_that_are_no_text_are_an_error() {
        for bytes in [&b"a\xc2"[..], b"\xc2", b"\xb5", b"\xff"] {
            let error = EscapeWriter(Vec::new()).write(bytes).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        }
        assert_eq!(EscapeWriter(Vec::new()).write("µ".as_bytes()).unwrap(), 2);
    }

    #[test]
    fn only_color_codes_are_recognized() {
        for ours in ["\x1b[0m", "\x1b[31;1m", "\x1b[m"] {
            assert!(is_color_code(ours));
        }
        for other in ["\x1b[2J", "\x1b[31", "31m", "\x1b]0;m", "\x1b[?25m"] {
            assert!(!is_color_code(other), "{other:?}");
        }
    }
}
