//! Imports traces as text in columns: any CSV by the numbers and units of its columns, and
//! published traces by name.

use super::devices::DeviceNumbers;
use super::input::{EventSink, ImportError, ImportInput, ImportResult};
use super::lines::LineReader;
use std::ops::Range;
use std::str::FromStr;
use steadfast_domain::io_event::{CommandName, Layer, RESPONSE_UNKNOWN};
use steadfast_domain::text::excerpt;
use steadfast_domain::{CaptureConditions, IoEvent, IoOp};

/// The unit of a column of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnUnit {
    /// Seconds, possibly with a fraction.
    Seconds,
    /// Milliseconds, possibly with a fraction.
    Milliseconds,
    /// Microseconds.
    Microseconds,
    /// Nanoseconds.
    Nanoseconds,
    /// Units of 100 ns, as in Windows file times and durations.
    Ticks,
    /// Bytes.
    Bytes,
    /// KiB of 1,024 bytes.
    Kibibytes,
    /// Sectors of 512 bytes.
    Sectors,
}

impl ColumnUnit {
    /// Returns the unit in nanoseconds or bytes.
    const fn factor(self) -> u64 {
        match self {
            ColumnUnit::Seconds => 1_000_000_000,
            ColumnUnit::Milliseconds => 1_000_000,
            ColumnUnit::Microseconds => 1_000,
            ColumnUnit::Kibibytes => 1_024,
            ColumnUnit::Nanoseconds | ColumnUnit::Bytes => 1,
            ColumnUnit::Ticks => 100,
            ColumnUnit::Sectors => 512,
        }
    }

    const fn is_time(self) -> bool {
        matches!(
            self,
            ColumnUnit::Seconds
                | ColumnUnit::Milliseconds
                | ColumnUnit::Microseconds
                | ColumnUnit::Nanoseconds
                | ColumnUnit::Ticks
        )
    }
}

impl FromStr for ColumnUnit {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "s" => Ok(ColumnUnit::Seconds),
            "ms" => Ok(ColumnUnit::Milliseconds),
            "us" => Ok(ColumnUnit::Microseconds),
            "ns" => Ok(ColumnUnit::Nanoseconds),
            "100ns" => Ok(ColumnUnit::Ticks),
            "bytes" => Ok(ColumnUnit::Bytes),
            "KiB" => Ok(ColumnUnit::Kibibytes),
            "sectors" => Ok(ColumnUnit::Sectors),
            other => Err(format!(
                "unknown unit '{other}'; choose one of: s, ms, us, ns, 100ns, bytes, KiB, sectors",
                other = excerpt(other)
            )),
        }
    }
}

/// A column and its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImportColumn {
    /// Number of the column, from 1.
    pub number: usize,
    /// Unit of its numbers.
    pub unit: ColumnUnit,
}

/// The origin of a trace's absolute times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeEpoch {
    /// 1970-01-01, UTC.
    Unix,
    /// 1601-01-01, UTC: that of Windows file times.
    FileTime,
}

impl TimeEpoch {
    /// Converts a time to nanoseconds since 1970; `None` if it lies before.
    fn unix_ns(self, time_ns: u64) -> Option<u64> {
        match self {
            TimeEpoch::Unix => Some(time_ns),
            // 369 years with 89 leap days.
            TimeEpoch::FileTime => time_ns.checked_sub((369 * 365 + 89) * 86_400 * 1_000_000_000),
        }
    }
}

/// The meaning of the columns of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnPlan {
    /// Name of the trace in its conditions.
    pub name: String,
    /// Separator between columns.
    pub separator: u8,
    /// Column of the time of issue or completion.
    pub time: ImportColumn,
    /// True if the time is that of completion; the issue is earlier by the response time.
    pub is_completion: bool,
    /// True if the times count from the first completion, so that issues may lie before their
    /// origin.
    pub is_relative: bool,
    /// Origin of the times; `None` if they are not those of a clock.
    pub epoch: Option<TimeEpoch>,
    /// Number of the column of the operation: a name, a number, or a SCSI operation code.
    pub op: usize,
    /// Values of the operation column and their meanings, which exclude all others; empty for
    /// the usual names and codes.
    pub operations: Vec<(String, IoOp)>,
    /// Column of the first byte.
    pub offset: ImportColumn,
    /// Column of the transfer size.
    pub bytes: ImportColumn,
    /// Column of the response time; `None` if there is none.
    pub response: Option<ImportColumn>,
    /// Numbers of the columns that together name the device; empty for a single device.
    pub device: Vec<usize>,
    /// Number of the column of the process ID; `None` if there is none.
    pub pid: Option<usize>,
    /// Number of the column of the command name; `None` if there is none.
    pub command: Option<usize>,
    /// Number of columns of a line whose command may contain the separator; `None` if no column
    /// may.
    pub columns: Option<u16>,
    /// Number of lines before the trace, which may hold anything.
    pub skip: u64,
    /// True if the first line after these names the columns; `None` to detect it.
    pub header: Option<bool>,
}

/// Longest response time of an I/O that precedes the origin of relative times, in nanoseconds.
const LEAD_NS: u64 = 3_600 * 1_000_000_000;

/// I/Os compared to find the beginning of a trace in completion order.
const WAITING_MAX: usize = 1 << 16;

/// Column 1 in units of 100 ns.
const FILE_TIME: ImportColumn = ImportColumn { number: 1, unit: ColumnUnit::Ticks };

impl ColumnPlan {
    fn published(
        name: &str,
        time: ImportColumn,
        op: usize,
        offset: ImportColumn,
        bytes: ImportColumn,
    ) -> Self {
        ColumnPlan {
            name: name.to_owned(),
            separator: b',',
            time,
            is_completion: false,
            is_relative: false,
            epoch: None,
            op,
            operations: Vec::new(),
            offset,
            bytes,
            response: None,
            device: Vec::new(),
            pid: None,
            command: None,
            columns: None,
            skip: 0,
            header: None,
        }
    }

    /// Returns the plan of MSR Cambridge traces (SNIA IOTTA 388): file time, host, disk, type,
    /// offset, size, response time in 100 ns.
    pub fn msr_cambridge() -> Self {
        let bytes = |number| ImportColumn { number, unit: ColumnUnit::Bytes };
        ColumnPlan {
            response: Some(ImportColumn { number: 7, unit: ColumnUnit::Ticks }),
            device: vec![2, 3],
            epoch: Some(TimeEpoch::FileTime),
            ..ColumnPlan::published("MSR Cambridge CSV", FILE_TIME, 4, bytes(5), bytes(6))
        }
    }

    /// Returns the plan of Alibaba block traces: device, operation, offset, length, microseconds.
    pub fn alibaba() -> Self {
        let bytes = |number| ImportColumn { number, unit: ColumnUnit::Bytes };
        let time = ImportColumn { number: 5, unit: ColumnUnit::Microseconds };
        ColumnPlan {
            device: vec![1],
            epoch: Some(TimeEpoch::Unix),
            ..ColumnPlan::published("Alibaba block trace CSV", time, 2, bytes(3), bytes(4))
        }
    }

    /// Returns the plan of Tencent block traces: seconds, offset and size in sectors, operation
    /// (0 read, 1 write), volume.
    pub fn tencent() -> Self {
        let sectors = |number| ImportColumn { number, unit: ColumnUnit::Sectors };
        let time = ImportColumn { number: 1, unit: ColumnUnit::Seconds };
        ColumnPlan {
            device: vec![5],
            epoch: Some(TimeEpoch::Unix),
            ..ColumnPlan::published("Tencent block trace CSV", time, 4, sectors(2), sectors(3))
        }
    }

    /// Parses `time=2:us[:unix],op=3[:0=write;1=read],offset=5:sectors,bytes=4[,response=6:us]
    /// [,device=1][,pid=7][,command=8][,separator=tab][,skip=3][,header=yes]`; `completed=2:us`
    /// replaces `time` if the column is the time of completion.
    ///
    /// # Errors
    /// Returns a message if a name, column or unit is invalid, or if a required column is missing.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut plan = ColumnPlan::published("CSV", FILE_TIME, 0, FILE_TIME, FILE_TIME);
        let mut given = Vec::new();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').ok_or_else(|| {
                format!("'{part}' is not of the form NAME=COLUMN[:UNIT]", part = excerpt(part))
            })?;
            given.push(name.to_owned());
            plan.set(name, value)?;
        }
        let is_given = |wanted: &str| given.iter().any(|name| name == wanted);
        if is_given("time") && is_given("completed") {
            let what = "time (of issue) and completed are both given; give one of them";
            return Err(what.into());
        }
        if plan.is_completion && plan.response.is_none() {
            let what = "completed needs the response time, which gives the time of issue: add \
                response=NUMBER:UNIT";
            return Err(what.into());
        }
        for needed in ["time", "op", "offset", "bytes"] {
            let is_there = is_given(needed) || needed == "time" && plan.is_completion;
            if !is_there {
                return Err(format!("the column of {needed} is missing: add {needed}=NUMBER"));
            }
        }
        Ok(plan)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            "time" => (self.time, self.epoch) = clock_column(value)?,
            "completed" => {
                self.is_completion = true;
                (self.time, self.epoch) = clock_column(value)?;
            }
            "offset" => self.offset = size_column(value)?,
            "bytes" => self.bytes = size_column(value)?,
            "response" => self.response = Some(time_column(value, ColumnUnit::Microseconds)?),
            "op" => (self.op, self.operations) = operation_column(value)?,
            "device" => self.device.push(place(value)?),
            "pid" => self.pid = Some(place(value)?),
            "command" => self.command = Some(place(value)?),
            "separator" => self.separator = separator(value)?,
            "skip" => {
                let lines = || {
                    format!("'{value}' is not a number of lines to skip", value = excerpt(value))
                };
                self.skip = value.parse().map_err(|_| lines())?;
            }
            "header" => {
                self.header = match value {
                    "yes" => Some(true),
                    "no" => Some(false),
                    other => {
                        return Err(format!(
                            "header is yes or no, not '{other}'",
                            other = excerpt(other)
                        ));
                    }
                }
            }
            other => {
                return Err(format!(
                    "unknown column '{other}'; choose among: time, completed, op, offset, bytes, \
                     response, device, pid, command, separator, skip, header",
                    other = excerpt(other)
                ));
            }
        }
        Ok(())
    }
}

fn separator(text: &str) -> Result<u8, String> {
    match text {
        "tab" => Ok(b'\t'),
        "space" => Ok(b' '),
        "semicolon" => Ok(b';'),
        "comma" => Ok(b','),
        other => Err(format!(
            "unknown separator '{other}'; choose one of: comma, tab, space, semicolon",
            other = excerpt(other)
        )),
    }
}

/// Parses `3`, or `3:0=write;1=read`: a column, and the meanings of its values.
fn operation_column(text: &str) -> Result<(usize, Vec<(String, IoOp)>), String> {
    let Some((number, meanings)) = text.split_once(':') else {
        return Ok((place(text)?, Vec::new()));
    };
    let meaning = |part: &str| {
        let (value, name) = part.split_once('=').ok_or_else(|| {
            format!("'{part}' is not of the form VALUE=OPERATION", part = excerpt(part))
        })?;
        let op = IoOp::ALL.into_iter().find(|op| op.to_string() == name).ok_or_else(|| {
            let names = IoOp::ALL.map(|op| op.to_string()).join(", ");
            format!("unknown operation '{name}'; choose one of: {names}", name = excerpt(name))
        })?;
        Ok((value.to_owned(), op))
    };
    let meanings: Result<Vec<_>, String> = meanings.split(';').map(meaning).collect();
    Ok((place(number)?, meanings?))
}

fn place(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err(format!(
            "'{text}' is not a column number; columns count from 1",
            text = excerpt(text)
        )),
        Ok(number) => Ok(number),
    }
}

fn column(text: &str, default: ColumnUnit) -> Result<ImportColumn, String> {
    let (number, unit) = match text.split_once(':') {
        Some((number, unit)) => (number, unit.parse()?),
        None => (text, default),
    };
    Ok(ImportColumn { number: place(number)?, unit })
}

fn time_column(text: &str, default: ColumnUnit) -> Result<ImportColumn, String> {
    let column = column(text, default)?;
    if column.unit.is_time() {
        Ok(column)
    } else {
        Err(format!("'{text}': a time is counted in s, ms, us, ns or 100ns", text = excerpt(text)))
    }
}

/// Parses a time and its origin: `2:us`, `2:us:unix`, `1:100ns:filetime`.
fn clock_column(text: &str) -> Result<(ImportColumn, Option<TimeEpoch>), String> {
    let (column, epoch) = match text.rsplit_once(':') {
        Some((column, "unix")) => (column, Some(TimeEpoch::Unix)),
        Some((column, "filetime")) => (column, Some(TimeEpoch::FileTime)),
        _ => (text, None),
    };
    let usual =
        if epoch == Some(TimeEpoch::FileTime) { ColumnUnit::Ticks } else { ColumnUnit::Seconds };
    Ok((time_column(column, usual)?, epoch))
}

fn size_column(text: &str) -> Result<ImportColumn, String> {
    let column = column(text, ColumnUnit::Bytes)?;
    if column.unit.is_time() {
        Err(format!(
            "'{text}': a place or size is counted in bytes, KiB or sectors",
            text = excerpt(text)
        ))
    } else {
        Ok(column)
    }
}

impl ColumnPlan {
    /// Returns the operation for a value of the operation column.
    fn operation(&self, text: &str) -> Option<IoOp> {
        if self.operations.is_empty() {
            operation(text)
        } else {
            self.operations.iter().find(|(value, _)| value == text).map(|(_, op)| *op)
        }
    }
}

/// Returns the operation for a name or code of the published traces.
fn operation(text: &str) -> Option<IoOp> {
    let lower = text.trim().to_ascii_lowercase();
    match lower.as_str() {
        "r" | "read" | "0" | "rs" | "ra" | "rm" | "diskread" => return Some(IoOp::Read),
        "w" | "write" | "1" | "ws" | "wm" | "wfs" | "diskwrite" => return Some(IoOp::Write),
        "d" | "discard" | "trim" | "unmap" | "2" => return Some(IoOp::Discard),
        "f" | "flush" | "sync" | "3" => return Some(IoOp::Flush),
        _ => {}
    }
    match u8::from_str_radix(lower.trim_start_matches("0x"), 16) {
        // "FF" is also the kernel's letters for a flush.
        Ok(code) => scsi_operation(code).or_else(|| block_operation(text.trim())),
        Err(_) => block_operation(text.trim()),
    }
}

/// Returns the operation for the letters of the kernel's block layer: `WSM`, `FWFS`, `RA`.
fn block_operation(letters: &str) -> Option<IoOp> {
    let first = letters.strip_prefix('F').filter(|rest| !rest.is_empty()).unwrap_or(letters);
    let op = match first.as_bytes().first()? {
        b'R' => IoOp::Read,
        b'W' => IoOp::Write,
        b'D' => IoOp::Discard,
        b'F' => IoOp::Flush,
        b'N' => IoOp::Other,
        _ => return None,
    };
    first[1..].bytes().all(|letter| b"FASM".contains(&letter)).then_some(op)
}

/// Returns the operation for a SCSI operation code (SPC, SBC) that a disk trace may hold.
fn scsi_operation(code: u8) -> Option<IoOp> {
    match code {
        // READ (6), (10), (12), (16).
        0x08 | 0x28 | 0xa8 | 0x88 => Some(IoOp::Read),
        // WRITE (6), (10), (12), (16), AND VERIFY, ATOMIC; COMPARE AND WRITE.
        0x0a | 0x2a | 0xaa | 0x8a | 0x2e | 0xae | 0x8e | 0x9c | 0x89 => Some(IoOp::Write),
        // UNMAP.
        0x42 => Some(IoOp::Discard),
        // SYNCHRONIZE CACHE (10), (16).
        0x35 | 0x91 => Some(IoOp::Flush),
        // TEST UNIT READY, REQUEST SENSE, INQUIRY, modes, start and stop, diagnostics,
        // capacity, VERIFY, buffers, WRITE SAME, logs, reservations, LUNs, security.
        0x00 | 0x03 | 0x12 | 0x15..=0x17 | 0x1a..=0x1e | 0x25 | 0x2f | 0x3b | 0x3c => {
            Some(IoOp::Other)
        }
        0x41 | 0x4c..=0x4d | 0x55..=0x5a | 0x5e..=0x5f | 0x8f | 0x93 | 0x9e => Some(IoOp::Other),
        0xa0 | 0xa2..=0xa4 | 0xaf | 0xb5 => Some(IoOp::Other),
        _ => None,
    }
}

/// Parses a number, possibly with a fraction, and multiplies it by its unit.
fn scaled(text: &str, unit: ColumnUnit) -> Option<u64> {
    let text = text.trim();
    if let Ok(whole) = text.parse::<u64>() {
        return whole.checked_mul(unit.factor());
    }
    let (whole, fraction) = text.split_once('.')?;
    let digits = fraction.len().min(18);
    let part: u128 = fraction.get(..digits)?.parse::<u64>().ok()?.into();
    let part = part * u128::from(unit.factor()) / 10u128.pow(digits as u32);
    let whole = if whole.is_empty() { 0 } else { whole.parse::<u64>().ok()? };
    whole.checked_mul(unit.factor())?.checked_add(u64::try_from(part).ok()?)
}

fn begins_as_number(text: &str) -> bool {
    text.trim_start_matches(['-', '+', '.']).starts_with(|first: char| first.is_ascii_digit())
}

/// State of an import.
struct ColumnsImport<'p> {
    plan: &'p ColumnPlan,
    devices: DeviceNumbers,
    /// Beginning of the trace, in the times of the file.
    first_ns: Option<u64>,
    /// I/Os held back until the beginning is known: in completion order the first line is not
    /// the earliest issue.
    waiting: Vec<IoEvent>,
    /// Name of the time column in the header line.
    time_header: Option<String>,
    earlier: u64,
    last_ns: u64,
    /// True if no time so far had a fraction.
    whole_times: bool,
    imported: ImportResult,
}

pub(super) fn import(
    plan: &ColumnPlan,
    input: ImportInput<'_>,
    sink: &mut EventSink<'_>,
) -> Result<ImportResult, ImportError> {
    import_lines(plan, LineReader::new(input), sink)
}

/// Imports the rest of the lines of an input.
pub(super) fn import_lines(
    plan: &ColumnPlan,
    mut lines: LineReader<'_>,
    sink: &mut EventSink<'_>,
) -> Result<ImportResult, ImportError> {
    let mut reading = ColumnsImport {
        plan,
        devices: DeviceNumbers::default(),
        first_ns: None,
        waiting: Vec::new(),
        time_header: None,
        earlier: 0,
        last_ns: 0,
        whole_times: true,
        imported: ImportResult::default(),
    };
    let mut places = Vec::new();
    while lines.next()?.is_some() {
        if lines.number() <= plan.skip {
            reading.imported.passed_over += 1;
            continue;
        }
        let line = lines.last();
        split(line, plan.separator, &mut places);
        if let (Some(columns), Some(command)) = (plan.columns, plan.command) {
            join(&mut places, command, columns.into());
        }
        let row = SplitLine { line, places: &places };
        if reading.is_header(&row) {
            reading.see_header(&row).map_err(|what| lines.malformed(what, 0))?;
            reading.imported.passed_over += 1;
            reading.imported.records += 1;
            continue;
        }
        let event = match reading.event(&row) {
            Ok(event) => event,
            Err(what) => return Err(lines.malformed(what, reading.imported.records)),
        };
        reading.imported.records += 1;
        reading.imported.events += 1;
        reading.hand_on(event, sink)?;
    }
    reading.hand_on_waiting(sink)?;
    Ok(reading.finish())
}

/// Finds the columns of a line. A separator inside quotation marks is text, and a run of blanks
/// is one separator. An open quotation mark ends with the line, whereas a CSV library would
/// swallow all lines that follow.
fn split(line: &str, separator: u8, places: &mut Vec<Range<usize>>) {
    places.clear();
    let (mut begin, mut quoted) = (0, false);
    let blanks = separator == b' ';
    for (at, byte) in line.bytes().enumerate() {
        quoted ^= byte == b'"';
        if !quoted && (byte == separator || blanks && byte == b'\t') {
            places.push(begin..at);
            begin = at + 1;
        }
    }
    places.push(begin..line.len());
    if blanks {
        places.retain(|place| !place.is_empty());
    }
}

/// Joins the pieces of a column, counted from 1, of a line that has more pieces than columns.
fn join(places: &mut Vec<Range<usize>>, number: usize, columns: usize) {
    let Some(extra) = places.len().checked_sub(columns) else { return };
    let last = number - 1 + extra;
    places[number - 1].end = places[last].end;
    places.drain(number..=last);
}

/// A line and the positions of its columns.
struct SplitLine<'l> {
    line: &'l str,
    places: &'l [Range<usize>],
}

impl<'l> SplitLine<'l> {
    /// Returns a column, counted from 1, without surrounding blanks and quotation marks.
    fn get(&self, number: usize) -> Option<&'l str> {
        let text = self.line.get(self.places.get(number.checked_sub(1)?)?.clone())?.trim();
        let inside = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
        Some(inside.map_or(text, str::trim))
    }
}

impl ColumnsImport<'_> {
    /// Returns whether a line is the header: the first one, without a number in the columns of
    /// time, offset and size.
    fn is_header(&self, row: &SplitLine<'_>) -> bool {
        if self.imported.records > 0 {
            return false;
        }
        let plan = self.plan;
        let numbers = [plan.time.number, plan.offset.number, plan.bytes.number];
        let is_number = |number| row.get(number).is_some_and(begins_as_number);
        plan.header.unwrap_or_else(|| !numbers.into_iter().any(is_number))
    }

    fn event(&mut self, row: &SplitLine<'_>) -> Result<IoEvent, String> {
        let field = |number: usize, what: &str| {
            row.get(number).ok_or_else(|| {
                format!("expected {what} in column {number}, found {} columns", row.places.len())
            })
        };
        let value = |column: ImportColumn, what: &str| {
            let text = field(column.number, what)?;
            scaled(text, column.unit).ok_or_else(|| {
                let found = excerpt(text);
                let said = format!("expected {what} in column {}, found '{found}'", column.number);
                if column.unit == ColumnUnit::Seconds && text.trim().parse::<u64>().is_ok() {
                    return format!(
                        "{said}, too large for seconds; give the unit, as in time={}:ns",
                        column.number
                    );
                }
                said
            })
        };
        let plan = self.plan;
        let time = value(plan.time, "a time")?;
        let text = field(plan.op, "an operation")?;
        let op = plan.operation(text).ok_or_else(|| {
            format!("expected an operation in column {}, found '{}'", plan.op, excerpt(text))
        })?;
        self.whole_times = self.whole_times && !field(plan.time.number, "a time")?.contains('.');
        let bytes = value(plan.bytes, "a size")?;
        let response_ns = match plan.response {
            Some(column) if field(column.number, "a response time")?.is_empty() => RESPONSE_UNKNOWN,
            Some(column) => value(column, "a response time")?,
            None => RESPONSE_UNKNOWN,
        };
        let offset = value(plan.offset, "an offset")?;
        let pid = match plan.pid {
            Some(number) => field(number, "a process number")?.parse().unwrap_or(0),
            None => 0,
        };
        let command = match plan.command {
            Some(number) => CommandName::new(field(number, "a command name")?),
            None => CommandName::default(),
        };
        let names: Result<Vec<&str>, String> =
            plan.device.iter().map(|number| field(*number, "a device")).collect();
        let device = self.devices.number(&names?.join(".")).ok_or("more than 65,536 devices")?;
        let lead_ns = if plan.is_relative { LEAD_NS } else { 0 };
        let issued_ns = match (plan.is_completion, response_ns) {
            (false, _) => time,
            (true, RESPONSE_UNKNOWN) => {
                return Err("expected a response time, without which a completion does not tell \
                            the issue, found none"
                    .to_owned());
            }
            (true, response_ns) => time.saturating_add(lead_ns).checked_sub(response_ns).ok_or_else(|| {
                format!(
                    "the response time of {response_ns} ns is longer than the time of completion"
                )
            })?,
        };
        Ok(IoEvent {
            issued_ns,
            response_ns,
            offset,
            bytes: u32::try_from(bytes).map_err(|_| format!("{bytes} bytes are too long"))?,
            device,
            op,
            pid,
            command,
            ..IoEvent::default()
        })
    }

    /// Stores the name of the time column; rejects the header of biosnoop, whose times are those of
    /// completion.
    fn see_header(&mut self, row: &SplitLine<'_>) -> Result<(), String> {
        let header = row.get(self.plan.time.number).unwrap_or_default();
        let has = |name: &str| {
            (1..=row.places.len()).any(|at| row.get(at).is_some_and(|column| column == name))
        };
        if !self.plan.is_completion && has("TIME(s)") && has("LAT(ms)") && has("COMM") {
            return Err(format!(
                "this is the header of biosnoop, whose times are those of completions; give \
                 completed={} in place of time={0}",
                self.plan.time.number
            ));
        }
        self.time_header = Some(excerpt(header).to_string()).filter(|header| !header.is_empty());
        Ok(())
    }

    /// Delivers an I/O with its time relative to the beginning.
    fn hand_on(&mut self, event: IoEvent, sink: &mut EventSink<'_>) -> Result<(), ImportError> {
        if self.plan.is_completion && self.first_ns.is_none() {
            self.waiting.push(event);
            if self.waiting.len() < WAITING_MAX {
                return Ok(());
            }
            return self.hand_on_waiting(sink);
        }
        self.hand_on_placed(event, sink)
    }

    /// Delivers the I/Os that waited until the beginning was known.
    fn hand_on_waiting(&mut self, sink: &mut EventSink<'_>) -> Result<(), ImportError> {
        let waiting = std::mem::take(&mut self.waiting);
        if let Some(first_ns) = waiting.iter().map(|event| event.issued_ns).min() {
            self.first_ns.get_or_insert(first_ns);
        }
        waiting.into_iter().try_for_each(|event| self.hand_on_placed(event, sink))
    }

    fn hand_on_placed(
        &mut self,
        event: IoEvent,
        sink: &mut EventSink<'_>,
    ) -> Result<(), ImportError> {
        let issued_ns = self.since_first(event.issued_ns);
        self.last_ns = self.last_ns.max(issued_ns);
        Ok(sink(&IoEvent { issued_ns, ..event })?)
    }

    /// Returns a time relative to that of the first line or, in completion order, to the earliest
    /// issue. The few earlier times become 0.
    fn since_first(&mut self, time: u64) -> u64 {
        let first = *self.first_ns.get_or_insert(time);
        self.earlier += u64::from(time < first);
        time.saturating_sub(first)
    }

    fn finish(self) -> ImportResult {
        let mut remarks = Vec::new();
        if self.plan.response.is_none() {
            remarks.push("The trace has no response times.".to_owned());
        }
        if self.earlier > 0 {
            remarks.push(format!(
                "{} I/Os are older than the first line and count as issued with it.",
                self.earlier
            ));
        }
        if let Some(header) = &self.time_header {
            let what = if self.plan.is_completion { "completion" } else { "issue" };
            let number = self.plan.time.number;
            remarks.push(format!(
                "Column {number}, which the file calls '{header}', was read as the time of {what}."
            ));
        }
        let began_unix_ns =
            self.plan.epoch.zip(self.first_ns).and_then(|(epoch, first)| epoch.unix_ns(first));
        if self.plan.epoch.is_some() && began_unix_ns.is_none() {
            remarks.push("The first time lies before 1970, so it is no clock time.".to_owned());
        }
        let coarse = matches!(self.plan.time.unit, ColumnUnit::Seconds | ColumnUnit::Milliseconds);
        let rounded_times = coarse && self.whole_times;
        if rounded_times && self.plan.response.is_some() {
            remarks.push(
                "Times are whole seconds or milliseconds. Queue depths and busy time cannot be \
                 counted from them."
                    .to_owned(),
            );
        }
        let conditions = CaptureConditions {
            source: self.plan.name.clone(),
            layers: vec![Layer::Block],
            devices: self.devices.captured(),
            rounded_times,
            began_unix_ns,
            lasted_ns: self.last_ns,
            remarks,
            ..CaptureConditions::default()
        };
        ImportResult { conditions, ..self.imported }
    }
}
