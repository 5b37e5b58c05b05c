//! Imports reads, writes and flushes of files from `strace -f -tt -T -y` (or `-ttt`):
//! `697 12:34:56.789012 pread64(3</db>, "..."..., 4096, 8192) = 4096 <0.000123>`.

use super::checks::TraceChecks;
use super::input::{EventSink, ImportError, ImportInput, ImportResult};
use super::lines::LineReader;
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

/// The arguments of a call that give its size and offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallPlace {
    /// The last argument is the offset.
    Last,
    /// The argument before the flags is the offset; -1 stands for the file's position.
    BeforeFlags,
    /// The offset is the file's position.
    Position,
    /// The whole file.
    Nowhere,
}

/// Calls that perform I/Os.
const CALLS: [(&str, IoOp, CallPlace); 14] = [
    ("read", IoOp::Read, CallPlace::Position),
    ("readv", IoOp::Read, CallPlace::Position),
    ("pread64", IoOp::Read, CallPlace::Last),
    ("preadv", IoOp::Read, CallPlace::Last),
    ("preadv2", IoOp::Read, CallPlace::BeforeFlags),
    ("write", IoOp::Write, CallPlace::Position),
    ("writev", IoOp::Write, CallPlace::Position),
    ("pwrite64", IoOp::Write, CallPlace::Last),
    ("pwritev", IoOp::Write, CallPlace::Last),
    ("pwritev2", IoOp::Write, CallPlace::BeforeFlags),
    ("fsync", IoOp::Flush, CallPlace::Nowhere),
    ("fdatasync", IoOp::Flush, CallPlace::Nowhere),
    ("sync_file_range", IoOp::Flush, CallPlace::Nowhere),
    ("syncfs", IoOp::Flush, CallPlace::Nowhere),
];

/// Calls whose data transfers strace does not show.
const UNSEEN: [&str; 6] =
    ["io_uring_enter", "io_submit", "sendfile", "copy_file_range", "splice", "process_vm_writev"];

/// Process, time in nanoseconds, and the rest of a line.
fn prefix(line: &str) -> Option<(u32, u64, bool, &str)> {
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
    let digits = fraction.len();
    if !(1..=9).contains(&digits) || !fraction.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let nanos = fraction.parse::<u64>().ok()? * 10u64.pow(9 - digits as u32);
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
    Some((pid, time_ns, !is_clock, rest.trim_start()))
}

/// Returns whether a line is strace output with a time.
pub(super) fn is_line(line: &str) -> bool {
    prefix(line).is_some_and(|(_, _, _, rest)| {
        let name = rest.split('(').next().unwrap_or_default();
        let is_call = rest.contains('(')
            && !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        is_call || ["+++ ", "--- ", "<... "].iter().any(|start| rest.starts_with(start))
    })
}

/// A call with its end.
struct FinishedCall<'l> {
    name: &'l str,
    arguments: &'l str,
    /// Value after the equals sign.
    value: &'l str,
    response_ns: u64,
}

impl<'l> FinishedCall<'l> {
    /// Parses `name(arguments) = value <seconds>`.
    fn parse(text: &'l str) -> Option<Self> {
        let (name, rest) = text.split_once('(')?;
        let rest = rest.trim_end();
        let timed = rest.strip_suffix('>').and_then(|rest| rest.rsplit_once(" <"));
        let (rest, response_ns) = match timed.and_then(|(rest, time)| Some((rest, seconds(time)?)))
        {
            Some((rest, response_ns)) => (rest, response_ns),
            None => (rest, RESPONSE_UNKNOWN),
        };
        let (arguments, value) = rest.rsplit_once(" = ")?;
        let arguments = arguments.trim_end().strip_suffix(')')?;
        Some(FinishedCall { name, arguments, value: value.trim(), response_ns })
    }

    /// Returns the value as a number; `None` if the call failed or did not return.
    fn returned(&self) -> Option<u64> {
        self.value.split([' ', '<']).next()?.parse().ok()
    }

    /// Returns an argument counted from the end: the last is 0.
    fn last_but(&self, at: usize) -> Option<&'l str> {
        self.arguments.rsplit(", ").nth(at)
    }
}

fn seconds(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.')?;
    let nanos = format!("{fraction:0<9}").get(..9)?.parse::<u64>().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(SECOND)?.checked_add(nanos)
}

/// Splits `3</a/b>` into the descriptor and its path, if there is one.
fn descriptor(text: &str) -> Option<(u64, Option<&str>)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let number = text[..digits].parse().ok()?;
    let Some(rest) = text[digits..].strip_prefix('<') else { return Some((number, None)) };
    let mut open = 1;
    for (at, byte) in rest.bytes().enumerate() {
        open += i32::from(byte == b'<') - i32::from(byte == b'>');
        if open == 0 {
            return Some((number, Some(&rest[..at])));
        }
    }
    None
}

/// Returns whether a path names a file or a block device, and not a pipe or a terminal.
fn is_storage(path: &str) -> bool {
    path.starts_with('/')
        && !path.contains("<char ")
        && !["/dev/null", "/dev/zero", "/dev/tty", "/dev/pts/", "/dev/urandom", "/proc/", "/sys/"]
            .iter()
            .any(|start| path.starts_with(start))
}

/// An open file description, which several descriptors may share.
#[derive(Debug, Clone, Copy)]
struct OpenFileDescription {
    /// Number of its path, from 1; 0 if it is no storage.
    path: u64,
    /// Position; `None` if the log does not show it.
    position: Option<u64>,
    is_direct: bool,
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

#[derive(Default)]
struct StraceImport {
    tasks: HashMap<u32, TracedTask>,
    /// Number of tasks and descriptors added since they were last counted.
    added: usize,
    paths: HashMap<String, u64>,
    path_bytes: usize,
    /// Unfinished calls by process: time and text.
    unfinished: HashMap<u32, (u64, String)>,
    unfinished_bytes: usize,
    /// Number of unfinished calls of processes that have ended.
    abandoned: u64,
    first_ns: Option<u64>,
    /// Nanoseconds of the days that have passed, to be added to times of day.
    days_ns: u64,
    previous_ns: u64,
    checks: TraceChecks,
    is_unix: bool,
    lasted_ns: u64,
    unplaced: u64,
    unnamed: u64,
    unseen: u64,
    imported: ImportResult,
}

pub(super) fn import(
    input: ImportInput<'_>,
    sink: &mut EventSink<'_>,
) -> Result<ImportResult, ImportError> {
    let mut lines = LineReader::new(input);
    let mut reading = StraceImport::default();
    while let Some(line) = lines.next()? {
        match reading.line(line) {
            Ok(Some(event)) => {
                reading.imported.events += 1;
                sink(&event)?;
            }
            Ok(None) => reading.imported.passed_over += 1,
            Err(what) => return Err(lines.malformed(what, reading.imported.records)),
        }
        let time_ns = reading.days_ns.saturating_add(reading.previous_ns);
        reading.checks.see_time(lines.number(), time_ns);
        reading.imported.records += 1;
    }
    Ok(reading.finish())
}

impl StraceImport {
    fn line(&mut self, line: &str) -> Result<Option<IoEvent>, String> {
        if line.starts_with("strace: ") {
            return Ok(None);
        }
        let Some((pid, time_ns, is_unix, rest)) = prefix(line) else {
            return Err(format!(
                "expected a time with a fraction and a call, found '{}'; record with strace -f \
                 -ttt -T -y -o FILE",
                excerpt(line.trim())
            ));
        };
        self.is_unix = is_unix;
        let time_ns = self.since_first(time_ns);
        if rest.starts_with("+++ ") {
            self.tasks.remove(&pid);
            self.abandoned += u64::from(self.take_unfinished(pid).is_some());
            return Ok(None);
        }
        if rest.starts_with("---") {
            return Ok(None);
        }
        if let Some(begun) = rest.trim_end().strip_suffix("<unfinished ...>") {
            self.take_unfinished(pid);
            let begun = begun.trim_end();
            self.unfinished_bytes += begun.len();
            self.unfinished.insert(pid, (time_ns, begun.to_owned()));
            return self.check_memory().map(|()| None);
        }
        if let Some(resumed) = rest.strip_prefix("<... ") {
            let (_, end) = resumed.split_once("resumed>").ok_or("expected 'resumed>'")?;
            // The call may have begun before the log.
            let Some((begun_ns, mut text)) = self.take_unfinished(pid) else { return Ok(None) };
            if text.ends_with(',') {
                text.push(' ');
            }
            text.push_str(end.trim_start());
            return self.call(pid, begun_ns, &text);
        }
        self.call(pid, time_ns, rest)
    }

    /// Removes the unfinished call of a process.
    fn take_unfinished(&mut self, pid: u32) -> Option<(u64, String)> {
        let (begun_ns, text) = self.unfinished.remove(&pid)?;
        self.unfinished_bytes -= text.len();
        Some((begun_ns, text))
    }

    /// Refuses a log that would take more memory than any real one.
    fn check_memory(&mut self) -> Result<(), String> {
        let too_large = |what: &str| {
            Err(format!("{what} are too many to follow; record fewer processes, or split the log"))
        };
        // Each unfinished call takes more than its text.
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
        if let Some((_, op, place)) = CALLS.iter().find(|(name, ..)| *name == call.name) {
            return self.io(pid, time_ns, &call, *op, *place);
        }
        self.follow(pid, &call);
        self.unseen += u64::from(UNSEEN.contains(&call.name));
        self.check_memory().map(|()| None)
    }

    /// Tracks the descriptors of a process.
    fn follow(&mut self, pid: u32, call: &FinishedCall<'_>) {
        let Some(returned) = call.returned() else { return };
        let first = descriptor(call.arguments);
        match call.name {
            "open" | "openat" | "openat2" | "creat" => {
                let quoted = call.arguments.split('"').nth(1);
                let path = descriptor(call.value).and_then(|(_, path)| path).or(quoted);
                let has = |flag| call.arguments.split(['|', ',', ' ']).any(|word| word == flag);
                let file = OpenFileDescription {
                    path: self.path(path),
                    position: (!has("O_APPEND")).then_some(0),
                    is_direct: has("O_DIRECT"),
                };
                self.insert(pid, returned, Rc::new(Cell::new(file)));
            }
            "close" => {
                if let Some((number, _)) = first {
                    self.task(pid).table.borrow_mut().remove(&number);
                }
            }
            "lseek" | "_llseek" => {
                if let Some((number, path)) = first {
                    let file = self.file(pid, number, path);
                    file.set(OpenFileDescription { position: Some(returned), ..file.get() });
                }
            }
            "dup" | "dup2" | "dup3" | "fcntl" => {
                let is_copy = call.name != "fcntl" || call.arguments.contains("F_DUPFD");
                if let Some((number, path)) = first.filter(|_| is_copy) {
                    let file = self.file(pid, number, path);
                    self.insert(pid, returned, file);
                }
            }
            "clone" | "clone3" | "fork" | "vfork" => self.start(pid, returned as u32, call),
            "execve" => {
                let path = call.arguments.split('"').nth(1).unwrap_or_default();
                let name = CommandName::new(path.rsplit('/').next().unwrap_or_default());
                self.task(pid).command = name;
            }
            _ => {}
        }
    }

    /// Adds a process or thread with the descriptors of its parent.
    fn start(&mut self, parent: u32, child: u32, call: &FinishedCall<'_>) {
        let mut task = self.task(parent).clone();
        if !call.arguments.contains("CLONE_FILES") {
            let copy = task.table.borrow().clone();
            self.added += copy.len();
            task.table = Rc::new(RefCell::new(copy));
        }
        if !call.arguments.contains("CLONE_THREAD") {
            task.group = child;
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

    /// Returns the number of a path, from 1; 0 if it is no storage or unknown.
    fn path(&mut self, path: Option<&str>) -> u64 {
        let Some(path) = path else { return 0 };
        let path = path.split('<').next().unwrap_or(path);
        let path = path.strip_suffix(" (deleted)").unwrap_or(path);
        if let Some(number) = self.paths.get(path) {
            return *number;
        }
        let number = self.paths.len() as u64 + 1;
        self.path_bytes += path.len();
        self.paths.insert(path.to_owned(), number);
        number
    }

    /// Returns the open file of a descriptor. A descriptor that the log does not open, or opens as
    /// another file, has no known position.
    fn file(&mut self, pid: u32, number: u64, path: Option<&str>) -> Rc<Cell<OpenFileDescription>> {
        let known = self.task(pid).table.borrow().get(&number).cloned();
        let path_number = match path {
            Some(path) => self.path(Some(path)),
            None => known.as_ref().map_or(0, |file| file.get().path),
        };
        if let Some(file) = known.filter(|file| file.get().path == path_number) {
            return file;
        }
        let file = OpenFileDescription { path: path_number, position: None, is_direct: false };
        let file = Rc::new(Cell::new(file));
        self.insert(pid, number, Rc::clone(&file));
        file
    }

    fn io(
        &mut self,
        pid: u32,
        time_ns: u64,
        call: &FinishedCall<'_>,
        op: IoOp,
        place: CallPlace,
    ) -> Result<Option<IoEvent>, String> {
        let (number, path) = descriptor(call.arguments).ok_or_else(|| {
            format!("expected a descriptor in {}, found '{}'", call.name, excerpt(call.arguments))
        })?;
        if path.is_some_and(|path| !is_storage(path)) {
            return Ok(None);
        }
        let file = self.file(pid, number, path);
        let open = file.get();
        self.check_memory()?;
        if open.path == 0 {
            self.unnamed += u64::from(call.returned().is_some());
            return Ok(None);
        }
        let moved = call.returned();
        let offset = match place {
            CallPlace::Last => call.last_but(0).and_then(|text| text.parse().ok()),
            CallPlace::BeforeFlags if call.last_but(1) != Some("-1") => {
                call.last_but(1).and_then(|text| text.parse().ok())
            }
            CallPlace::BeforeFlags | CallPlace::Position => {
                let at = open.position;
                let position = at.and_then(|at| at.checked_add(moved.unwrap_or(0)));
                file.set(OpenFileDescription { position, ..open });
                let Some(at) = at else {
                    self.unplaced += 1;
                    return Ok(None);
                };
                Some(at)
            }
            CallPlace::Nowhere => Some(0),
        };
        let offset = offset.ok_or_else(|| {
            format!(
                "expected an offset at the end of {}, found '{}'",
                call.name,
                excerpt(call.arguments)
            )
        })?;
        // Calls on vectors give the number of buffers in place of the size.
        let wanted = if place == CallPlace::Last { call.last_but(1) } else { call.last_but(0) };
        let wanted = wanted.filter(|_| !call.name.contains('v'));
        let bytes = match (op, moved) {
            (IoOp::Flush, _) => 0,
            (_, Some(moved)) => moved,
            (_, None) => wanted.and_then(|text| text.parse().ok()).unwrap_or(0),
        };
        let task = self.task(pid).clone();
        let end_ns = time_ns.saturating_add(call.response_ns % RESPONSE_UNKNOWN);
        self.lasted_ns = self.lasted_ns.max(end_ns);
        let failed = if moved.is_none() { flags::FAILED } else { 0 };
        Ok(Some(IoEvent {
            issued_ns: time_ns,
            response_ns: call.response_ns,
            offset,
            bytes: u32::try_from(bytes).map_err(|_| format!("{bytes} bytes are too long"))?,
            pid: task.group,
            flags: failed | if open.is_direct { flags::DIRECT } else { 0 },
            op,
            layer: Layer::FileSystem,
            command: task.command,
            inode: open.path,
            ..IoEvent::default()
        }))
    }

    fn finish(self) -> ImportResult {
        let named = |what: &str, count: u64| (count > 0).then(|| (what.to_owned(), count));
        let unseen = [
            named(
                "reads and writes at a position that the log does not show (trace the calls that open and \
                   seek, too)",
                self.unplaced,
            ),
            named("calls on descriptors without a path (record with strace -y)", self.unnamed),
            named(
                "calls of io_uring, AIO, splice or copies, whose data strace does not show",
                self.unseen,
            ),
        ];
        let unseen: Vec<(String, u64)> = unseen.into_iter().flatten().collect();
        let mut remarks = vec![
            "Files are numbered in the order of their first use, in place of inodes.".to_owned(),
        ];
        remarks.extend(self.checks.remarks("line"));
        remarks.extend(
            unseen.iter().map(|(what, count)| format!("Not in the trace: {count} {what}.")),
        );
        let files = self.paths.into_iter().map(|(path, inode)| FileName { device: 0, inode, path });
        let mut files: Vec<FileName> = files.collect();
        files.sort_unstable_by_key(|file| file.inode);
        let conditions = CaptureConditions {
            source: "strace".to_owned(),
            layers: vec![Layer::FileSystem],
            devices: vec![CapturedDevice { name: "files".to_owned(), ..CapturedDevice::default() }],
            began_unix_ns: self.first_ns.filter(|_| self.is_unix),
            lasted_ns: self.lasted_ns,
            paths: Some((files.len() as u64, 0)),
            files: Arc::new(files),
            unfinished: self.abandoned + self.unfinished.len() as u64,
            unseen,
            remarks,
            ..CaptureConditions::default()
        };
        ImportResult { conditions, ..self.imported }
    }
}
