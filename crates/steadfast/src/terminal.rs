//! Standard output and standard error. Nothing from outside acts on the terminal:
//! every text is spelled out here, whoever wrote what is in it.

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
use steadfast_domain::text::{acts, printable, printable_lines, wrapped};
use steadfast_report::FindingsFile;

/// The version of every JSON document on standard output. It rises with any
/// change but an added field.
const JSON_VERSION: u32 = 1;

/// Prints a text and a line end. A reader or a terminal that went away is no
/// error: what was done stays done.
pub fn print(text: &str) -> anyhow::Result<()> {
    print_raw(format!("{}\n", printable_lines(text.trim_end())).as_bytes())
}

/// Prints many lines as [`print`] prints each, without holding them all.
pub fn print_lines(lines: impl IntoIterator<Item = String>) -> anyhow::Result<()> {
    let mut text = String::new();
    for line in lines {
        text.push_str(&printable_lines(line.trim_end()));
        text.push('\n');
        if text.len() >= HELD_MAX {
            print_raw(text.as_bytes())?;
            text.clear();
        }
    }
    print_raw(text.as_bytes())
}

/// Bytes of a long text that are printed at once.
const HELD_MAX: usize = 1 << 16;

/// Prints a text whose parts from outside were spelled out where they entered it:
/// its own colors stay.
pub fn print_coloured(text: &str) -> anyhow::Result<()> {
    // What `console` colors with is all that is left of sequences.
    let parts = text.trim_end().split_inclusive('m').map(|part| match part.rfind("\x1b[") {
        Some(at) if is_colour(&part[at..]) => printable_lines(&part[..at]) + &part[at..],
        _ => printable_lines(part),
    });
    print_raw((parts.collect::<String>() + "\n").as_bytes())
}

/// Whether this is one sequence that colors: `ESC [ digits ; digits m`.
fn is_colour(sequence: &str) -> bool {
    let inside = sequence.strip_prefix("\x1b[").and_then(|rest| rest.strip_suffix('m'));
    inside.is_some_and(|inside| inside.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b';')))
}

/// Writes bytes for another program, as they are.
pub fn print_raw(bytes: &[u8]) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    check_written(out.write_all(bytes).and_then(|()| out.flush()))
}

/// What became of writing to standard output.
fn check_written(written: io::Result<()>) -> anyhow::Result<()> {
    match written {
        Err(error) if !is_nobody_there(&error) => Err(error).context("standard output"),
        _ => Ok(()),
    }
}

/// Whether the other end of standard output is gone: a pipe that nobody reads, or
/// a terminal that was closed.
fn is_nobody_there(error: &io::Error) -> bool {
    let is_terminal = || {
        let file = io::stdout().as_fd().try_clone_to_owned().map(File::from);
        file.and_then(|file| file.metadata()).is_ok_and(|m| m.file_type().is_char_device())
    };
    error.kind() == io::ErrorKind::BrokenPipe
        || error.raw_os_error() == Some(libc::EIO) && is_terminal()
}

/// A document on standard output.
#[derive(Serialize, JsonSchema)]
struct JsonDocument<T> {
    version: u32,
    #[serde(flatten)]
    content: T,
}

/// Prints a value as JSON, with the version of the document, as it is made: it may be
/// longer than the memory. What has no schema is not printed.
pub fn print_json<T: Serialize + JsonSchema>(content: &T) -> anyhow::Result<()> {
    let document = JsonDocument { version: JSON_VERSION, content };
    let mut out = BufWriter::with_capacity(HELD_MAX, EscapeWriter(io::stdout().lock()));
    let json = serde_json::to_writer_pretty(&mut out, &document).map_err(io::Error::from);
    check_written(json.and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush()))
}

/// A sink of JSON, without the characters that act on a terminal.
struct EscapeWriter<W>(W);

impl<W: Write> Write for EscapeWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Of a character that is cut off the rest comes with the next bytes.
        let whole = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
        };
        self.0.write_all(escaped(whole).as_bytes())?;
        Ok(whole.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// The schema of a value that is printed so.
pub fn schema_of<T: JsonSchema>() -> Schema {
    schema_of_plain::<JsonDocument<T>>()
}

/// The schema of a value as it is written.
pub fn schema_of_plain<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>()
}

/// Prints a schema.
pub fn print_schema(schema: &Schema) -> anyhow::Result<()> {
    print(&escaped(&serde_json::to_string_pretty(schema)?))
}

/// Prints findings as a file of findings has them.
pub fn print_findings(findings: &Findings) -> anyhow::Result<()> {
    print(&escaped(&serde_json::to_string_pretty(&FindingsFile::new(findings)?)?))
}

/// JSON without the characters that act on a terminal and that JSON need not
/// escape; it means the same. Outside of its strings there is none.
fn escaped(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        // Writing to a String cannot fail.
        let _ = match c {
            '\n' => out.write_char(c),
            c if acts(c) => write!(out, "\\u{:04x}", u32::from(c)),
            c => out.write_char(c),
        };
    }
    out
}

/// Whether a line of progress stands on standard error, for the next line to take
/// its place.
static STANDS: AtomicBool = AtomicBool::new(false);

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

/// What empties the line that the cursor is in.
const EMPTIED: &str = "\r\x1b[2K";

/// Says on standard error what is wrong or should be known; nobody listening is
/// no error.
pub fn complain(text: &str) {
    line(text);
}

/// Says on standard error what happens, in a line that stays; nothing with `--quiet`.
pub fn tell(text: &str) {
    if !QUIET.load(Ordering::Relaxed) {
        line(text);
    }
}

/// Says on standard error how far something is, until the next line of any kind
/// takes its place. Only for a terminal.
pub fn tell_over(text: &str) {
    if QUIET.load(Ordering::Relaxed) {
        return;
    }
    STANDS.store(true, Ordering::Relaxed);
    let _ = write!(io::stderr().lock(), "{EMPTIED}{}\r", printable(text));
}

fn line(text: &str) {
    let before = if STANDS.swap(false, Ordering::Relaxed) { EMPTIED } else { "" };
    let text = for_watchers(text);
    let _ = writeln!(io::stderr().lock(), "{before}{text}");
}

/// A line as standard error shows it: on a terminal no word of it is broken at the edge. What
/// a program reads stays one line.
pub fn for_watchers(text: &str) -> String {
    let text = printable(text);
    let room = error_width() - 1;
    if io::stderr().is_terminal() && text.chars().count() > room {
        wrapped(&text, room, "  ").join("\n")
    } else {
        text.into_owned()
    }
}

/// Whether a person watches standard error, and wants progress there.
pub fn is_watched() -> bool {
    io::stderr().is_terminal() && !QUIET.load(Ordering::Relaxed)
}

/// Columns of the terminal; 100 where there is none.
pub fn width() -> usize {
    let columns = console::Term::stdout().size_checked().map_or(100, |(_, columns)| columns);
    usize::from(columns).clamp(60, 160)
}

/// Columns of the terminal that shows how a run goes; 100 where there is none.
pub fn error_width() -> usize {
    error_size().1
}

/// Lines and columns of the terminal that shows how a run goes; 24 and 100 where there is none.
pub fn error_size() -> (usize, usize) {
    let (rows, columns) = console::Term::stderr().size_checked().unwrap_or((24, 100));
    (usize::from(rows), usize::from(columns).max(20))
}

/// Keeps the terminal of standard error from echoing `^C` for as long as it lives: the echo
/// moves the lines of a progress display, which are then not cleared.
pub struct NoControlEcho(Option<libc::termios>);

impl NoControlEcho {
    /// Changes nothing where standard error is no terminal.
    pub fn new() -> Self {
        // SAFETY: all zero bytes are a valid termios, and `now` is valid to write to.
        let before = unsafe {
            let mut now: libc::termios = std::mem::zeroed();
            (libc::tcgetattr(libc::STDERR_FILENO, &raw mut now) == 0).then_some(now)
        };
        if let Some(mut changed) = before {
            changed.c_lflag &= !libc::ECHOCTL;
            // SAFETY: `changed` is a termios that the kernel gave.
            unsafe { libc::tcsetattr(libc::STDERR_FILENO, libc::TCSANOW, &raw const changed) };
        }
        NoControlEcho(before)
    }
}

impl Drop for NoControlEcho {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            // SAFETY: it is what the terminal had before.
            unsafe { libc::tcsetattr(libc::STDERR_FILENO, libc::TCSANOW, before) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_means_the_same_and_acts_on_nothing() {
        let name = "a\x1b]0;x\x07\u{7f}\u{9b}2J\u{202e}b\u{2066}\nµ";
        let json = escaped(&serde_json::to_string_pretty(&[name]).unwrap());
        assert!(!json.chars().any(|c| acts(c) && c != '\n'), "{json}");
        assert_eq!(serde_json::from_str::<Vec<String>>(&json).unwrap(), [name]);
        let mut out = BufWriter::with_capacity(7, EscapeWriter(Vec::new()));
        serde_json::to_writer_pretty(&mut out, &[name]).unwrap();
        out.flush().unwrap();
        assert_eq!(String::from_utf8(out.get_ref().0.clone()).unwrap(), json);
    }

    #[test]
    fn colours_are_told_from_other_sequences() {
        for ours in ["\x1b[0m", "\x1b[31;1m", "\x1b[m"] {
            assert!(is_colour(ours));
        }
        for other in ["\x1b[2J", "\x1b[31", "31m", "\x1b]0;m", "\x1b[?25m"] {
            assert!(!is_colour(other), "{other:?}");
        }
    }
}
