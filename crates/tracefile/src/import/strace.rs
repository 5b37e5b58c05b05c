//! Imports reads, writes and flushes of files from `strace -f -tt -T -y` (or `-ttt`):
//! `697 12:34:56.789012 pread64(3</db>, "..."..., 4096, 8192) = 4096 <0.000123>`.

use super::checks::TraceChecks;
use super::input::{EventSink, ImportInput, ImportOutcome, ImportResult};
use super::lines::{LineReader, fraction_ns, nanoseconds, transfer_size};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use steadfast_domain::io_event::{
    CapturedDevice, CommandName, FileName, Layer, RESPONSE_UNKNOWN, flags,
};
use steadfast_domain::text::excerpt;
use steadfast_domain::{CaptureConditions, IoEvent, IoOp};

const SECOND: u64 = 1_000_000_000;
const DAY: u64 = 86_400 * SECOND;

/// Maximum number of processes, threads and open descriptors at a time.
const OPEN_MAX: usize = 1 << 22;
/// Maximum size of the texts of calls that have not ended, in bytes.
const UNFINISHED_MAX: usize = 64 << 20;
/// Maximum size of all paths, in bytes.
const PATHS_MAX: usize = 256 << 20;

/// The argument of a call that gives its offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OffsetArgument {
    /// The last argument is the offset.
    Last,
    /// The argument before the flags is the offset; -1 stands for the file's position.
    BeforeFlags,
    /// The offset is the file's position.
    Position,
    /// The call concerns the whole file.
    None,
}

/// The I/O that a system call performs.
#[derive(Clone, Copy)]
struct IoCall {
    op: IoOp,
    offset: OffsetArgument,
}

/// Returns what a call does; `None` if it performs no I/O.
fn io_call(name: &str) -> Option<IoCall> {
    let (op, offset) = match name {
        "read" | "readv" => (IoOp::Read, OffsetArgument::Position),
        "pread64" | "preadv" => (IoOp::Read, OffsetArgument::Last),
        "preadv2" => (IoOp::Read, OffsetArgument::BeforeFlags),
        "write" | "writev" => (IoOp::Write, OffsetArgument::Position),
        "pwrite64" | "pwritev" => (IoOp::Write, OffsetArgument::Last),
        "pwritev2" => (IoOp::Write, OffsetArgument::BeforeFlags),
        "fsync" | "fdatasync" | "sync_file_range" | "syncfs" => (IoOp::Flush, OffsetArgument::None),
        _ => return None,
    };
    Some(IoCall { op, offset })
}

/// Calls whose data transfers strace does not show.
const OPAQUE_CALLS: [&str; 6] =
    ["io_uring_enter", "io_submit", "sendfile", "sendfile64", "copy_file_range", "splice"];

/// A line, split after its time.
struct TimedLine<'l> {
    /// Process or thread; 0 if the log does not show it.
    pid: u32,
    time_ns: u64,
    /// True if the time counts from 1970, false if it is a time of day.
    is_unix: bool,
    /// Text after the time.
    rest: &'l str,
}

/// Splits a line after its time; returns `None` if it has none.
fn timed_line(line: &str) -> Option<TimedLine<'_>> {
    let mut rest = line.trim_start();
    let mut pid = 0;
    if let Some(inside) = rest.strip_prefix("[pid") {
        let (number, after) = inside.split_once(']')?;
        (pid, rest) = (number.trim().parse().ok()?, after.trim_start());
    } else if let Some((number, after)) = rest.split_once(' ')
        && let Ok(number) = number.parse()
    {
        (pid, rest) = (number, after.trim_start());
    }
    let (time, rest) = rest.split_once(' ')?;
    let (seconds, fraction) = time.split_once('.')?;
    let nanos = fraction_ns(fraction)?;
    let mut fields = seconds.split(':').map(|field| field.parse::<u64>().ok());
    let is_clock = seconds.contains(':');
    let seconds = if is_clock {
        let (hours, minutes, seconds) = (fields.next()??, fields.next()??, fields.next()??);
        let is_time = hours < 24 && minutes < 60 && seconds < 61;
        is_time.then(|| hours * 3600 + minutes * 60 + seconds)?
    } else {
        fields.next()??
    };
    let time_ns = seconds.checked_mul(SECOND)?.checked_add(nanos)?;
    let mut rest = rest.trim_start();
    // The time since the previous call, which -r adds: `(+     0.000123) `.
    if let Some((_, after)) = rest.strip_prefix("(+").and_then(|rest| rest.split_once(')')) {
        rest = after.trim_start();
    }
    Some(TimedLine { pid, time_ns, is_unix: !is_clock, rest })
}

/// Returns whether a line is strace output with a time.
pub(super) fn is_line(line: &str) -> bool {
    timed_line(line).is_some_and(|TimedLine { rest, .. }| {
        let name = rest.split('(').next().unwrap_or_default();
        let is_call = rest.contains('(')
            && !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        is_call || ["+++ ", "--- ", "<... "].iter().any(|start| rest.starts_with(start))
    })
}

struct FinishedCall<'l> {
    name: &'l str,
    arguments: &'l str,
    /// Value after the equals sign.
    value: &'l str,
    response_ns: u64,
    /// True if strace delayed the call.
    is_delayed: bool,
    /// True if strace gave the call a result in place of the kernel.
    is_injected: bool,
}

impl<'l> FinishedCall<'l> {
    /// Parses `name(arguments) = value <seconds>`.
    fn parse(text: &'l str) -> Option<Self> {
        let (name, rest) = text.split_once('(')?;
        let rest = rest.trim_end();
        let timed = rest.strip_suffix('>').and_then(|rest| rest.rsplit_once(" <"));
        let timed = timed.and_then(|(rest, time)| Some((rest, nanoseconds(time)?)));
        let (rest, response_ns) = timed.unwrap_or((rest, RESPONSE_UNKNOWN));
        let (arguments, value) = split_at_value(rest)?;
        let (value, is_delayed) = strip_mark(value.trim(), " (DELAYED)");
        // The kernel executes a call with changed arguments, but not one with an injected result.
        let (value, _) = strip_mark(value, " (INJECTED: args)");
        let (value, has_result) = strip_mark(value, " (INJECTED)");
        let (value, has_both) = strip_mark(value, " (INJECTED: args, retval)");
        let is_injected = has_result || has_both;
        Some(FinishedCall { name, arguments, value, response_ns, is_delayed, is_injected })
    }

    /// Returns the value as a number; `None` if the call failed or did not return.
    fn returned(&self) -> Option<u64> {
        self.value.split([' ', '<']).next()?.parse().ok()
    }

    /// Returns whether the text after the equals sign is one whole value, not cut and not joined
    /// with another line.
    fn is_whole(&self) -> bool {
        match self.value.split_once(' ') {
            None => self.value == "?" || self.value.parse::<i64>().is_ok(),
            Some(("?", "<unavailable>")) => true,
            Some(("-1" | "?", error)) => {
                error.starts_with('E')
                    && error.ends_with(')')
                    && error.matches(" (").count() == 1
                    && !error.contains(" = ")
            }
            Some(_) => false,
        }
    }

    /// Returns an argument by its position from the end; the last is 0.
    fn argument_from_end(&self, at: usize) -> Option<&'l str> {
        self.arguments.rsplit(", ").nth(at)
    }
}

/// Removes a mark at the end of a text; returns whether it was there.
fn strip_mark<'l>(text: &'l str, mark: &str) -> (&'l str, bool) {
    text.strip_suffix(mark).map_or((text, false), |rest| (rest.trim_end(), true))
}

/// Splits `arguments) = value` at the first parenthesis that is neither in a string nor in the path
/// of a descriptor.
fn split_at_value(text: &str) -> Option<(&str, &str)> {
    let bytes = text.as_bytes();
    let mut at = 0;
    // True once a string or path has no end: quotation marks and brackets after it mean nothing.
    let mut is_broken = false;
    while let Some(byte) = bytes.get(at) {
        let rest = text.get(at + 1..).unwrap_or_default();
        let is_path = || bytes[..at].last().is_some_and(u8::is_ascii_alphanumeric);
        let length = match byte {
            b')' if let Some(value) = rest.trim_start().strip_prefix("= ") => {
                return Some((&text[..at], value));
            }
            b'"' if !is_broken => end_of_string(rest).map(|length| length + 2),
            b'<' if !is_broken && is_path() => end_of_path(rest).map(|length| length + 2),
            _ => Some(1),
        };
        is_broken |= length.is_none();
        at += length.unwrap_or(1);
    }
    None
}

/// Returns the length of a string up to its closing quotation mark.
fn end_of_string(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    text.bytes().position(|byte| {
        let is_end = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    })
}

/// Returns the length of a path up to its closing angle bracket; a path may contain pairs of them.
fn end_of_path(text: &str) -> Option<usize> {
    let mut open = 1;
    text.bytes().position(|byte| {
        open += i32::from(byte == b'<') - i32::from(byte == b'>');
        open == 0
    })
}

/// Removes ` <unfinished ...>`, or ` <detached ...>` at the end of the log, from a call; returns
/// `None` if the call has ended.
fn unfinished(text: &str) -> Option<&str> {
    let text = text.trim_end();
    text.strip_suffix("<unfinished ...>").or_else(|| text.strip_suffix("<detached ...>"))
}

/// A descriptor as strace prints it.
#[derive(Clone, Copy)]
struct Descriptor<'l> {
    number: u64,
    /// Path, which strace prints only with `-y`.
    path: Option<&'l str>,
}

impl<'l> Descriptor<'l> {
    /// Parses the beginning of `3</a/b>, ...`.
    fn parse(text: &'l str) -> Option<Self> {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let number = text[..digits].parse().ok()?;
        let path = match text[digits..].strip_prefix('<') {
            Some(rest) => Some(&rest[..end_of_path(rest)?]),
            None => None,
        };
        Some(Descriptor { number, path })
    }
}

/// Prefixes of the paths of character devices and of files in memory.
const NOT_STORAGE: [&str; 12] = [
    "/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/ptmx", "/dev/pts/", "/dev/console",
    "/dev/random", "/dev/urandom", "/memfd:", "/proc/", "/sys/",
];

/// Returns whether a path names a file or a block device, and not a pipe or a terminal.
fn is_storage(path: &str) -> bool {
    path.starts_with('/')
        && !path.contains("<char ")
        && !NOT_STORAGE.iter().any(|start| path.starts_with(start))
}

/// The file of a descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TracedFile {
    /// The log does not show the path.
    Unknown,
    /// A pipe, a terminal or another character device, or a file in memory.
    NoStorage,
    /// Number of the path, from 1.
    Storage(u64),
}

/// An open file description, which several descriptors may share.
#[derive(Debug, Clone, Copy)]
struct OpenFileDescription {
    file: TracedFile,
    /// Position; `None` if the log does not show it.
    position: Option<u64>,
    /// True if a call moved a position that was unknown.
    has_moved: bool,
    is_direct: bool,
    /// True if every write goes to the end of the file.
    is_append: bool,
}

impl OpenFileDescription {
    fn new(file: TracedFile) -> Self {
        OpenFileDescription {
            file,
            position: None,
            has_moved: false,
            is_direct: false,
            is_append: false,
        }
    }

    /// Sets the flags from the arguments of `open`, or of `fcntl` with `F_SETFL`.
    fn set_flags(&mut self, arguments: &str) {
        // A path may contain the name of a flag.
        let words = arguments.rsplit('"').next().unwrap_or_default();
        let has = |flag| words.split(|c: char| !c.is_alphanumeric() && c != '_').any(|w| w == flag);
        (self.is_direct, self.is_append) = (has("O_DIRECT"), has("O_APPEND"));
    }

    /// Sets the position. In append mode it stays unknown, because a write moves it to the end.
    fn seek(&mut self, position: Option<u64>) {
        self.position = position.filter(|_| !self.is_append);
    }
}

/// Open file descriptions by descriptor.
type DescriptorTable = HashMap<u64, Rc<Cell<OpenFileDescription>>>;

/// A process or thread.
#[derive(Debug, Clone)]
struct TracedTask {
    group: u32,
    /// Open descriptors, shared by the threads of a process.
    table: Rc<RefCell<DescriptorTable>>,
    command: CommandName,
}

impl TracedTask {
    /// Adds what the task did before the call that started it returned.
    fn add_early_calls(&mut self, early: &TracedTask) {
        if !early.command.is_empty() {
            self.command = early.command;
        }
        let mut table = self.table.borrow_mut();
        for (number, description) in early.table.borrow().iter() {
            let used = description.get();
            match table.get(number) {
                // Inherited rather than opened, with a position that was unknown then.
                Some(inherited) if inherited.get().file == used.file && used.position.is_none() => {
                    let mut shared = inherited.get();
                    shared.position = shared.position.filter(|_| !used.has_moved);
                    inherited.set(shared);
                }
                _ => {
                    table.insert(*number, Rc::clone(description));
                }
            }
        }
    }
}

struct UnfinishedCall {
    began_ns: u64,
    text: String,
}

#[derive(Default)]
struct StraceImport {
    tasks: HashMap<u32, TracedTask>,
    /// Number of tasks and descriptors added since the last count.
    added: usize,
    paths: HashMap<String, u64>,
    path_bytes: usize,
    /// Unfinished calls by process.
    unfinished: HashMap<u32, UnfinishedCall>,
    unfinished_bytes: usize,
    /// Number of I/Os whose beginning or end is missing from the log.
    incomplete: u64,
    first_ns: Option<u64>,
    /// Length of the days that have passed, to be added to times of day.
    days_ns: u64,
    previous_ns: u64,
    checks: TraceChecks,
    is_unix: bool,
    lasted_ns: u64,
    /// I/Os at an unknown position.
    unplaced: u64,
    /// I/Os on descriptors without a path.
    unnamed: u64,
    /// Calls whose data transfers strace does not show.
    unseen: u64,
    /// I/Os that strace delayed.
    delayed: u64,
    /// I/Os to which strace gave a result.
    injected: u64,
    signals: u64,
    /// Tasks that a signal ended.
    killed: u64,
    imported: ImportResult,
}

pub(super) fn import(input: ImportInput<'_>, sink: &mut EventSink<'_>) -> ImportOutcome {
    let mut lines = LineReader::new(input);
    let mut state = StraceImport::default();
    let mut cut = Vec::new();
    while let Some(line) = lines.next()? {
        match state.line(line) {
            Ok(Some(event)) => {
                state.imported.events += 1;
                sink(&event)?;
            }
            Ok(None) => state.imported.passed_over += 1,
            Err(_) if lines.is_open_ended() && state.imported.records > 0 => {
                cut.push(lines.cut_line());
                break;
            }
            Err(what) => return Err(lines.malformed(what, state.imported.records)),
        }
        let time_ns = state.days_ns.saturating_add(state.previous_ns);
        state.checks.check_time(lines.number, time_ns);
        state.imported.records += 1;
    }
    let mut imported = state.finish();
    imported.add_cut_ends(cut);
    Ok(imported)
}

impl StraceImport {
    fn line(&mut self, line: &str) -> Result<Option<IoEvent>, String> {
        if line.starts_with("strace: ") {
            return Ok(None);
        }
        let Some(TimedLine { pid, time_ns, is_unix, rest }) = timed_line(line) else {
            return Err(format!(
                "expected a time with a fraction and a call, found '{}'; record with strace -f \
                 -ttt -T -y -o FILE",
                excerpt(line.trim())
            ));
        };
        // The first time that strace -r prints is always zero.
        if is_unix && time_ns == 0 && self.first_ns.is_none() {
            let what = "the time counts from the call before it (strace -r), which gives no order \
                        between processes; record with strace -f -ttt -T -y -o FILE";
            return Err(what.to_owned());
        }
        self.is_unix = is_unix;
        let time_ns = self.since_first(time_ns);
        if rest.starts_with("+++ ") {
            self.killed += u64::from(rest.starts_with("+++ killed"));
            self.abandon(pid);
            self.tasks.remove(&pid);
            return Ok(None);
        }
        if rest.starts_with("---") {
            // A stop is printed after the signal that caused it.
            self.signals += u64::from(!rest.starts_with("--- stopped by"));
            return Ok(None);
        }
        if let Some(resumed) = rest.strip_prefix("<... ") {
            let (name, end) = resumed.split_once("resumed>").ok_or("expected 'resumed>'")?;
            if unfinished(end).is_some() {
                // The call is still running.
                return Ok(None);
            }
            let Some(UnfinishedCall { began_ns, mut text }) = self.take_unfinished(pid) else {
                // The call began before the log.
                self.incomplete += u64::from(io_call(name.trim_end()).is_some());
                return Ok(None);
            };
            if text.ends_with(',') {
                text.push(' ');
            }
            text.push_str(end.trim_start());
            return self.call(pid, began_ns, &text);
        }
        if let Some(call) = unfinished(rest) {
            self.abandon(pid);
            let text = call.trim_end().to_owned();
            self.unfinished_bytes += text.len();
            self.unfinished.insert(pid, UnfinishedCall { began_ns: time_ns, text });
            return self.check_memory().map(|()| None);
        }
        self.call(pid, time_ns, rest)
    }

    fn take_unfinished(&mut self, pid: u32) -> Option<UnfinishedCall> {
        let call = self.unfinished.remove(&pid)?;
        self.unfinished_bytes -= call.text.len();
        Some(call)
    }

    /// Removes the unfinished call of a process whose end is missing, and counts it if it is an I/O
    /// on a file.
    fn abandon(&mut self, pid: u32) {
        let Some(UnfinishedCall { text, .. }) = self.take_unfinished(pid) else { return };
        let Some((name, arguments)) = text.split_once('(') else { return };
        if io_call(name).is_some()
            && let Some(descriptor) = Descriptor::parse(arguments)
        {
            let file = self.file(pid, descriptor).get().file;
            self.incomplete += u64::from(matches!(file, TracedFile::Storage(_)));
        }
    }

    /// Rejects a log that would take more memory than any real one.
    fn check_memory(&mut self) -> Result<(), String> {
        let too_large = |what: &str| {
            Err(format!("{what} are too many to follow; record fewer processes, or split the log"))
        };
        // An unfinished call takes more memory than its text.
        if self.unfinished_bytes + self.unfinished.len() * 64 > UNFINISHED_MAX {
            return too_large(&format!("{} unfinished calls", self.unfinished.len()));
        }
        if self.path_bytes + self.paths.len() * 64 > PATHS_MAX {
            return too_large(&format!("{} paths", self.paths.len()));
        }
        if self.added <= OPEN_MAX / 16 {
            return Ok(());
        }
        self.added = 0;
        let tables: HashMap<_, usize> = self
            .tasks
            .values()
            .map(|task| (Rc::as_ptr(&task.table), task.table.borrow().len()))
            .collect();
        let open = self.tasks.len() + tables.values().sum::<usize>();
        if open > OPEN_MAX {
            return too_large(&format!("{open} processes and open descriptors"));
        }
        Ok(())
    }

    /// Returns a time relative to the first line. A time of day that jumps back by half a day
    /// belongs to the next day.
    fn since_first(&mut self, time_ns: u64) -> u64 {
        if !self.is_unix && time_ns + DAY / 2 < self.previous_ns {
            self.days_ns += DAY;
        }
        self.previous_ns = time_ns;
        let time_ns = time_ns.saturating_add(self.days_ns);
        time_ns.saturating_sub(*self.first_ns.get_or_insert(time_ns))
    }

    fn call(&mut self, pid: u32, time_ns: u64, text: &str) -> Result<Option<IoEvent>, String> {
        let call = FinishedCall::parse(text).ok_or_else(|| {
            format!("expected NAME(ARGUMENTS) = VALUE, found '{}'", excerpt(text.trim()))
        })?;
        self.lasted_ns = self.lasted_ns.max(time_ns);
        if let Some(io_call) = io_call(call.name) {
            if !call.is_whole() {
                let found = excerpt(text.trim());
                return Err(format!("expected one call and its result, found '{found}'"));
            }
            let io = self.io(pid, time_ns, &call, io_call)?;
            self.delayed += u64::from(io.is_some() && call.is_delayed);
            return Ok(io);
        }
        // The kernel did not execute an injected call.
        if !call.is_injected {
            self.track_descriptors(pid, &call);
        }
        self.unseen += u64::from(OPAQUE_CALLS.contains(&call.name));
        self.check_memory().map(|()| None)
    }

    /// Tracks the descriptors, children and name of a process.
    fn track_descriptors(&mut self, pid: u32, call: &FinishedCall<'_>) {
        let Some(returned) = call.returned() else { return };
        let first = Descriptor::parse(call.arguments);
        match call.name {
            "open" | "openat" | "openat2" | "creat" => {
                let file =
                    match Descriptor::parse(call.value).and_then(|descriptor| descriptor.path) {
                        Some(path) => self.traced_file(path),
                        None => match call.arguments.split('"').nth(1) {
                            // A relative path names a file.
                            Some(path) if !path.starts_with('/') => self.storage_file(path),
                            Some(path) => self.traced_file(path),
                            None => TracedFile::Unknown,
                        },
                    };
                let mut open = OpenFileDescription::new(file);
                open.set_flags(call.arguments);
                open.seek(Some(0));
                self.insert(pid, returned, Rc::new(Cell::new(open)));
            }
            "close" => {
                if let Some(descriptor) = first {
                    self.task(pid).table.borrow_mut().remove(&descriptor.number);
                }
            }
            "lseek" | "_llseek" => {
                if let Some(descriptor) = first {
                    let file = self.file(pid, descriptor);
                    let position = if call.name == "lseek" {
                        Some(returned)
                    } else {
                        // `_llseek(3</a>, 8192, [8192], SEEK_SET) = 0`.
                        let inside = call.arguments.rsplit_once('[').map(|(_, inside)| inside);
                        inside.and_then(|inside| inside.split(']').next()?.parse().ok())
                    };
                    let mut open = file.get();
                    open.seek(position);
                    file.set(open);
                }
            }
            "dup" | "dup2" | "dup3" | "fcntl" => {
                let Some(descriptor) = first else { return };
                if call.name != "fcntl" || call.arguments.contains("F_DUPFD") {
                    let file = self.file(pid, descriptor);
                    self.insert(pid, returned, file);
                } else if call.arguments.contains(", F_SETFL, ") {
                    let file = self.file(pid, descriptor);
                    let mut open = file.get();
                    open.set_flags(call.arguments);
                    open.seek(open.position);
                    file.set(open);
                }
            }
            "clone" | "clone3" | "fork" | "vfork" => self.add_child(pid, returned as u32, call),
            "execve" => {
                let path = call.arguments.split('"').nth(1).unwrap_or_default();
                let name = CommandName::new(path.rsplit('/').next().unwrap_or_default());
                self.task(pid).command = name;
            }
            _ => {}
        }
    }

    /// Adds a process or thread with the descriptors of its parent. Its first lines may precede the
    /// end of the call that starts it.
    fn add_child(&mut self, parent: u32, child: u32, call: &FinishedCall<'_>) {
        let mut task = self.task(parent).clone();
        if !call.arguments.contains("CLONE_FILES") {
            let copy = task.table.borrow().clone();
            self.added += copy.len();
            task.table = Rc::new(RefCell::new(copy));
        }
        if !call.arguments.contains("CLONE_THREAD") {
            task.group = child;
        }
        if let Some(early) = self.tasks.remove(&child) {
            task.add_early_calls(&early);
        }
        self.added += 1;
        self.tasks.insert(child, task);
    }

    fn task(&mut self, pid: u32) -> &mut TracedTask {
        self.tasks.entry(pid).or_insert_with(|| {
            self.added += 1;
            TracedTask { group: pid, table: Rc::default(), command: CommandName::default() }
        })
    }

    fn insert(&mut self, pid: u32, number: u64, file: Rc<Cell<OpenFileDescription>>) {
        self.added += 1;
        self.task(pid).table.borrow_mut().insert(number, file);
    }

    /// Returns the file of a path as strace prints it.
    fn traced_file(&mut self, path: &str) -> TracedFile {
        if is_storage(path) { self.storage_file(path) } else { TracedFile::NoStorage }
    }

    /// Returns the file of a path in storage, numbered by its first use.
    fn storage_file(&mut self, path: &str) -> TracedFile {
        let path = path.split('<').next().unwrap_or(path);
        let path = path.strip_suffix(" (deleted)").unwrap_or(path);
        if let Some(number) = self.paths.get(path) {
            return TracedFile::Storage(*number);
        }
        let number = self.paths.len() as u64 + 1;
        self.path_bytes += path.len();
        self.paths.insert(path.to_owned(), number);
        TracedFile::Storage(number)
    }

    /// Returns the open file of a descriptor. A descriptor that the log does not open, or opens as
    /// another file, has no known position.
    fn file(&mut self, pid: u32, descriptor: Descriptor<'_>) -> Rc<Cell<OpenFileDescription>> {
        let Descriptor { number, path } = descriptor;
        let known = self.task(pid).table.borrow().get(&number).cloned();
        let file = match path {
            Some(path) => self.traced_file(path),
            None => known.as_ref().map_or(TracedFile::Unknown, |known| known.get().file),
        };
        if let Some(known) = known.filter(|known| known.get().file == file) {
            return known;
        }
        let file = Rc::new(Cell::new(OpenFileDescription::new(file)));
        self.insert(pid, number, Rc::clone(&file));
        file
    }

    /// Returns the I/O of a call; `None` if it reached no storage or at an unknown position.
    fn io(
        &mut self,
        pid: u32,
        time_ns: u64,
        call: &FinishedCall<'_>,
        io_call: IoCall,
    ) -> Result<Option<IoEvent>, String> {
        let op = io_call.op;
        let returned = call.returned();
        if (returned.is_none() || call.is_injected) && call.arguments.starts_with('-') {
            // The kernel rejects a call on descriptor -1 before any I/O.
            return Ok(None);
        }
        let descriptor = Descriptor::parse(call.arguments).ok_or_else(|| {
            format!("expected a descriptor in {}, found '{}'", call.name, excerpt(call.arguments))
        })?;
        let file = self.file(pid, descriptor);
        let mut open = file.get();
        self.check_memory()?;
        let inode = match open.file {
            TracedFile::Storage(path) => path,
            TracedFile::NoStorage => return Ok(None),
            TracedFile::Unknown => {
                self.unnamed += u64::from(returned.is_some() && !call.is_injected);
                return Ok(None);
            }
        };
        if call.is_injected {
            // The kernel did not execute it.
            self.injected += 1;
            return Ok(None);
        }
        if call.value.starts_with('?') {
            // The call did not return. One that a signal interrupted is called again.
            self.incomplete += u64::from(!call.value.contains("ERESTART"));
            return Ok(None);
        }
        let argument = match io_call.offset {
            OffsetArgument::Last => call.argument_from_end(0),
            OffsetArgument::BeforeFlags => call.argument_from_end(1).filter(|text| *text != "-1"),
            OffsetArgument::Position => None,
            OffsetArgument::None => Some("0"),
        };
        let offset = match argument {
            Some(negative) if negative.starts_with('-') && returned.is_none() => return Ok(None),
            // The kernel ignores the offset of a write in append mode.
            Some(_) if op == IoOp::Write && open.is_append => None,
            Some(text) => Some(text.parse().map_err(|_| {
                let (name, found) = (call.name, excerpt(call.arguments));
                format!("expected an offset at the end of {name}, found '{found}'")
            })?),
            None => {
                let position = open.position;
                open.position = position.and_then(|at| at.checked_add(returned.unwrap_or(0)));
                open.has_moved |= position.is_none() && returned.is_some();
                file.set(open);
                position
            }
        };
        let Some(offset) = offset else {
            self.unplaced += 1;
            return Ok(None);
        };
        // Calls on vectors give the number of buffers in place of the size.
        let size_at = usize::from(io_call.offset == OffsetArgument::Last);
        let size = call.argument_from_end(size_at).filter(|_| !call.name.contains('v'));
        let bytes = match (op, returned) {
            (IoOp::Flush, _) => 0,
            (_, Some(moved)) => moved,
            (_, None) => size.and_then(|text| text.parse().ok()).unwrap_or(0),
        };
        let task = self.task(pid).clone();
        if call.response_ns != RESPONSE_UNKNOWN {
            self.lasted_ns = self.lasted_ns.max(time_ns.saturating_add(call.response_ns));
        }
        let failed = if returned.is_none() { flags::FAILED } else { 0 };
        Ok(Some(IoEvent {
            issued_ns: time_ns,
            response_ns: call.response_ns,
            offset,
            bytes: transfer_size(bytes)?,
            pid: task.group,
            tid: pid,
            flags: failed | if open.is_direct { flags::DIRECT } else { 0 },
            op,
            layer: Layer::FileSystem,
            command: task.command,
            inode,
            ..IoEvent::default()
        }))
    }

    fn finish(mut self) -> ImportResult {
        let unfinished: Vec<u32> = self.unfinished.keys().copied().collect();
        unfinished.into_iter().for_each(|pid| self.abandon(pid));
        let files = self.paths.into_iter().map(|(path, inode)| FileName { device: 0, inode, path });
        let mut files: Vec<FileName> = files.collect();
        files.sort_unstable_by_key(|file| file.inode);
        let mut remarks = vec![
            "Files are numbered in the order of their first use, in place of inodes.".to_owned(),
        ];
        remarks.extend(self.checks.remarks("line"));
        let conditions = CaptureConditions {
            source: "strace".to_owned(),
            layers: vec![Layer::FileSystem],
            devices: vec![CapturedDevice { name: "files".to_owned(), ..CapturedDevice::default() }],
            began_unix_ns: self.first_ns.filter(|_| self.is_unix),
            lasted_ns: self.lasted_ns,
            paths: Some((files.len() as u64, 0)),
            files: Arc::new(files),
            unfinished: self.incomplete,
            remarks,
            ..CaptureConditions::default()
        };
        let mut imported = ImportResult { conditions, ..self.imported };
        let unseen = [
            (
                "reads and writes at a position that the log does not show (trace the calls that open and \
                   seek, too; append mode has none)",
                self.unplaced,
            ),
            ("calls on descriptors without a path (record with strace -y)", self.unnamed),
            (
                "calls of io_uring, AIO, splice or copies, whose data strace does not show",
                self.unseen,
            ),
            ("reads, writes and flushes to which strace gave a result (INJECTED)", self.injected),
        ];
        let unseen = unseen.into_iter().filter(|(_, count)| *count > 0);
        imported.leave_out(unseen.map(|(what, count)| (what.to_owned(), count)));
        let remarks = &mut imported.conditions.remarks;
        if self.incomplete > 0 {
            remarks.push(format!(
                "Not in the trace: {} reads, writes and flushes whose beginning or end the log lacks.",
                self.incomplete
            ));
        }
        if self.delayed > 0 {
            remarks.push(format!(
                "strace delayed {} I/Os (DELAYED); their response times may include its delays.",
                self.delayed
            ));
        }
        if self.signals + self.killed > 0 {
            remarks.push(format!(
                "{} signals are in the log; {} tasks were killed by one.",
                self.signals, self.killed
            ));
        }
        imported
    }
}
