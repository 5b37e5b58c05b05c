//! The meaning of the columns of a table, and its grammar on the command line.

use std::num::NonZero;
use std::ops::RangeInclusive;
use std::str::FromStr;
use steadfast_domain::IoOp;
use steadfast_domain::text::excerpt;

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
    pub(super) const fn factor(self) -> u64 {
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

    /// Returns the smallest size in bytes that the unit can express: sectors have no fractions.
    pub(super) const fn granularity(self) -> u64 {
        match self {
            ColumnUnit::Sectors => self.factor(),
            _ => 1,
        }
    }

    pub(super) const fn is_time(self) -> bool {
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
    /// 1601-01-01, UTC: the origin of Windows file times.
    FileTime,
}

impl TimeEpoch {
    /// Converts a time to nanoseconds since 1970; `None` for an earlier time.
    pub(super) fn unix_ns(self, time_ns: u64) -> Option<u64> {
        match self {
            TimeEpoch::Unix => Some(time_ns),
            // 369 years with 89 leap days.
            TimeEpoch::FileTime => time_ns.checked_sub((369 * 365 + 89) * 86_400 * 1_000_000_000),
        }
    }

    /// Returns whether a time can be that of a trace's clock: between 1990 and 2100.
    pub(super) fn is_clock_time(self, time_ns: u64) -> bool {
        self.unix_ns(time_ns).is_some_and(|time| CLOCK_TIMES.contains(&time))
    }
}

/// Clock times of a trace lie between 1990 and 2100, in nanoseconds since 1970.
const CLOCK_TIMES: RangeInclusive<u64> = 631_152_000_000_000_000..=4_102_444_800_000_000_000;

/// The source of the operations of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperationSource {
    /// Number of the column: a name, a number, or a SCSI operation code.
    Column(usize),
    /// The same operation in every row; [`IoOp::Other`] if the table has no operations.
    Always(IoOp),
}

/// The meaning of the columns of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnPlan {
    /// Name of the format in the trace's conditions.
    pub name: String,
    /// Separator between columns.
    pub separator: u8,
    /// Column of the issue or completion time; `None` if the table has only the order of the I/Os.
    pub time: Option<ImportColumn>,
    /// True if the time is the completion time; the issue time is earlier by the response time.
    pub is_completion: bool,
    /// True if the times count from the first completion, so that issue times may precede the
    /// origin.
    pub is_relative: bool,
    /// Origin of the times; `None` if they are not clock times.
    pub epoch: Option<TimeEpoch>,
    /// Source of the operation.
    pub op: OperationSource,
    /// Values of the operation column and their meanings; other values are invalid. Empty for the
    /// usual names and codes.
    pub operations: Vec<(String, IoOp)>,
    /// Values of the operation column whose rows are left out and counted.
    pub left_out: Vec<String>,
    /// Column of the first byte; `None` if the table has no addresses.
    pub offset: Option<ImportColumn>,
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
    /// True for the columns of a published format, to whose operations the user cannot add.
    pub is_published: bool,
    /// Numbers of columns that have the same value in every row, such as a version.
    pub constant: Vec<usize>,
    /// Number of columns of a line whose command may contain the separator; `None` if no column may
    /// contain it.
    pub columns: Option<u16>,
    /// Number of lines before the trace, whose content is ignored.
    pub skip: u64,
    /// True if the first line after these names the columns; `None` to detect it.
    pub header: Option<bool>,
}

impl ColumnPlan {
    /// Returns a plan in which only the name is set.
    pub(super) fn new(name: &str) -> Self {
        ColumnPlan {
            name: name.to_owned(),
            separator: b',',
            time: None,
            is_completion: false,
            is_relative: false,
            epoch: None,
            op: OperationSource::Always(IoOp::Other),
            operations: Vec::new(),
            left_out: Vec::new(),
            offset: None,
            bytes: ImportColumn { number: 0, unit: ColumnUnit::Bytes },
            response: None,
            device: Vec::new(),
            pid: None,
            command: None,
            is_published: false,
            constant: Vec::new(),
            columns: None,
            skip: 0,
            header: None,
        }
    }

    /// Calls `change` for every column number of the plan.
    pub(super) fn for_each_number(&mut self, mut change: impl FnMut(&mut usize)) {
        let columns = [self.time.as_mut(), self.offset.as_mut(), self.response.as_mut()];
        columns.into_iter().flatten().for_each(|column| change(&mut column.number));
        if let OperationSource::Column(number) = &mut self.op {
            change(number);
        }
        change(&mut self.bytes.number);
        self.device.iter_mut().chain(&mut self.constant).for_each(&mut change);
        self.pid.iter_mut().chain(self.command.iter_mut()).for_each(change);
    }

    /// Parses `time=2:us[:unix],op=3[:0=write;1=read],offset=5:sectors,bytes=4[,response=6:us]
    /// [,device=1][,pid=7][,command=8][,separator=tab][,skip=3][,header=yes]`; `completed=2:us`
    /// replaces `time` if the column is the completion time. `time=none` declares that there is no
    /// time, `op=read` that every row is a read, and `op=other,offset=none` that a row has neither
    /// operation nor address.
    ///
    /// # Errors
    /// Returns a message if a name, column or unit is invalid, or if a required column is missing.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut plan = ColumnPlan::new("CSV");
        let mut given = Vec::new();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').ok_or_else(|| {
                format!("'{part}' is not of the form NAME=COLUMN[:UNIT]", part = excerpt(part))
            })?;
            // Several columns may name a device together.
            if name != "device" && given.contains(&name) {
                return Err(format!("{name} is given twice; give it once", name = excerpt(name)));
            }
            given.push(name);
            plan.set(name, value)?;
        }
        plan.check(&given)?;
        Ok(plan)
    }

    /// Checks that the given names form a complete plan.
    pub(super) fn check(&self, given: &[&str]) -> Result<(), String> {
        let is_given = |wanted: &str| given.contains(&wanted);
        if is_given("time") && is_given("completed") {
            let what = "time (of issue) and completed are both given; give one of them";
            return Err(what.into());
        }
        if self.is_completion && self.response.is_none() {
            let what = "completed needs the response time, which gives the time of issue: add \
                response=NUMBER:UNIT";
            return Err(what.into());
        }
        for (needed, without) in [
            ("time", ", or time=none if there is none"),
            ("op", ", or op=read if all are reads"),
            ("offset", ", or offset=none if there is none"),
            ("bytes", ""),
        ] {
            if !is_given(needed) && (needed != "time" || !self.is_completion) {
                return Err(format!(
                    "the column of {needed} is missing: add {needed}=NUMBER{without}"
                ));
            }
        }
        if self.offset.is_none() && self.op != OperationSource::Always(IoOp::Other) {
            return Err("offset=none needs op=other: a read or write has an address".into());
        }
        Ok(())
    }

    /// Parses `3`, `3:0=write;1=read;2=skip` (a column and the meanings of its values), or `read`.
    fn set_operation_column(&mut self, text: &str) -> Result<(), String> {
        let Some((number, meanings)) = text.split_once(':') else {
            self.op = match named_operation(text) {
                Ok(op) => OperationSource::Always(op),
                Err(_) => OperationSource::Column(column_number(text)?),
            };
            return Ok(());
        };
        self.op = OperationSource::Column(column_number(number)?);
        for part in meanings.split(';') {
            let (value, name) = part.split_once('=').ok_or_else(|| {
                format!("'{part}' is not of the form VALUE=OPERATION", part = excerpt(part))
            })?;
            self.set_meaning(value, name)?;
        }
        Ok(())
    }

    /// Adds a value of the operation column: an operation's name, or `skip` to leave its rows out.
    pub(super) fn set_meaning(&mut self, value: &str, name: &str) -> Result<(), String> {
        if name == "skip" {
            self.left_out.push(value.to_owned());
        } else {
            self.operations.push((value.to_owned(), named_operation(name)?));
        }
        Ok(())
    }

    pub(super) fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            "time" if value == "none" => self.time = None,
            "time" | "completed" => {
                self.is_completion = name == "completed";
                let (column, epoch) = clock_column(value)?;
                (self.time, self.epoch) = (Some(column), epoch);
            }
            "offset" if value == "none" => self.offset = None,
            "offset" => self.offset = Some(size_column(value)?),
            "bytes" => self.bytes = size_column(value)?,
            "response" => self.response = Some(time_column(value, ColumnUnit::Microseconds)?),
            "op" => self.set_operation_column(value)?,
            "device" => self.device.push(column_number(value)?),
            "pid" => self.pid = Some(column_number(value)?),
            "command" => self.command = Some(column_number(value)?),
            "columns" => self.columns = Some(column_count(value)?),
            "separator" => self.separator = separator(value)?,
            "skip" => {
                self.skip = value.parse().map_err(|_| {
                    format!("'{value}' is not a number of lines to skip", value = excerpt(value))
                })?;
            }
            "header" => {
                self.header = match value {
                    "yes" => Some(true),
                    "no" => Some(false),
                    other => return Err(format!("header is yes or no, not '{}'", excerpt(other))),
                }
            }
            other => {
                return Err(format!(
                    "unknown column '{other}'; choose among: time, completed, op, offset, bytes, \
                     response, device, pid, command, columns, separator, skip, header",
                    other = excerpt(other)
                ));
            }
        }
        Ok(())
    }

    /// Returns the operation for a value of the operation column.
    pub(super) fn operation(&self, text: &str) -> Option<IoOp> {
        let text = strip_zero_fraction(text);
        if self.operations.is_empty() {
            operation(text)
        } else {
            self.operations.iter().find(|(value, _)| value == text).map(|(_, op)| *op)
        }
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

/// Returns the operation for one of this program's names.
pub(super) fn named_operation(name: &str) -> Result<IoOp, String> {
    IoOp::ALL.into_iter().find(|op| op.to_string() == name).ok_or_else(|| {
        let names = IoOp::ALL.map(|op| op.to_string()).join(", ");
        format!("unknown operation '{name}'; choose one of: {names}, skip", name = excerpt(name))
    })
}

fn column_number(text: &str) -> Result<usize, String> {
    text.parse()
        .map(NonZero::<usize>::get)
        .map_err(|_| format!("'{}' is not a column number; columns count from 1", excerpt(text)))
}

fn column_count(text: &str) -> Result<u16, String> {
    text.parse().map(NonZero::<u16>::get).map_err(|_| {
        let (text, max) = (excerpt(text), u16::MAX);
        format!("'{text}' is not a number of columns; a line has 1 to {max}")
    })
}

fn column(text: &str, default: ColumnUnit) -> Result<ImportColumn, String> {
    let (number, unit) = match text.split_once(':') {
        Some((number, unit)) => (number, unit.parse()?),
        None => (text, default),
    };
    Ok(ImportColumn { number: column_number(number)?, unit })
}

fn time_column(text: &str, default: ColumnUnit) -> Result<ImportColumn, String> {
    let column = column(text, default)?;
    if !column.unit.is_time() {
        let text = excerpt(text);
        return Err(format!("'{text}': a time is counted in s, ms, us, ns or 100ns"));
    }
    Ok(column)
}

/// Parses a time and its origin: `2:us`, `2:us:unix`, `1:100ns:filetime`.
fn clock_column(text: &str) -> Result<(ImportColumn, Option<TimeEpoch>), String> {
    let (column, epoch) = match text.rsplit_once(':') {
        Some((column, "unix")) => (column, Some(TimeEpoch::Unix)),
        Some((column, "filetime")) => (column, Some(TimeEpoch::FileTime)),
        _ => (text, None),
    };
    let default =
        if epoch == Some(TimeEpoch::FileTime) { ColumnUnit::Ticks } else { ColumnUnit::Seconds };
    Ok((time_column(column, default)?, epoch))
}

fn size_column(text: &str) -> Result<ImportColumn, String> {
    let column = column(text, ColumnUnit::Bytes)?;
    if column.unit.is_time() {
        let text = excerpt(text);
        return Err(format!("'{text}': an offset or size is counted in bytes, KiB or sectors"));
    }
    Ok(column)
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
        // "FF" is also the kernel's notation of a flush.
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
pub(super) fn scsi_operation(code: u8) -> Option<IoOp> {
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

/// Removes the `.0` of an integer stored as a floating-point number.
pub(super) fn strip_zero_fraction(text: &str) -> &str {
    text.strip_suffix(".0").unwrap_or(text)
}
