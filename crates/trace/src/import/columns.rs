//! Traces as text in columns: any CSV by naming its columns and units, and the
//! published ones by name.

use super::{Devices, ImportError, Imported, Input, Sink};
use std::str::FromStr;
use steadfast_domain::io_event::{Command, Layer, RESPONSE_UNKNOWN};
use steadfast_domain::{CaptureConditions, IoEvent, IoOp};

/// What a number counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Seconds, also with a fraction.
    Seconds,
    /// Milliseconds, also with a fraction.
    Milliseconds,
    /// Microseconds.
    Microseconds,
    /// Nanoseconds.
    Nanoseconds,
    /// Windows file time and durations: 100 ns.
    Ticks,
    /// Bytes.
    Bytes,
    /// KiB.
    Kibibytes,
    /// Sectors of 512 bytes.
    Sectors,
}

impl Unit {
    /// In nanoseconds or bytes.
    const fn factor(self) -> u64 {
        match self {
            Unit::Seconds => 1_000_000_000,
            Unit::Milliseconds => 1_000_000,
            Unit::Microseconds => 1_000,
            Unit::Kibibytes => 1_024,
            Unit::Nanoseconds | Unit::Bytes => 1,
            Unit::Ticks => 100,
            Unit::Sectors => 512,
        }
    }

    const fn is_time(self) -> bool {
        matches!(
            self,
            Unit::Seconds
                | Unit::Milliseconds
                | Unit::Microseconds
                | Unit::Nanoseconds
                | Unit::Ticks
        )
    }
}

impl FromStr for Unit {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "s" => Ok(Unit::Seconds),
            "ms" => Ok(Unit::Milliseconds),
            "us" => Ok(Unit::Microseconds),
            "ns" => Ok(Unit::Nanoseconds),
            "100ns" => Ok(Unit::Ticks),
            "bytes" => Ok(Unit::Bytes),
            "KiB" => Ok(Unit::Kibibytes),
            "sectors" => Ok(Unit::Sectors),
            other => Err(format!(
                "unknown unit '{other}'; choose one of: s, ms, us, ns, 100ns, bytes, KiB, sectors"
            )),
        }
    }
}

/// A column, counted from 1, and what it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Which, from 1.
    pub number: usize,
    /// What its numbers count.
    pub unit: Unit,
}

/// Which columns hold what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnPlan {
    /// What the trace is called in its conditions.
    pub name: String,
    /// Between columns.
    pub separator: u8,
    /// When it was issued.
    pub time: Column,
    /// What it did: a name, a number, or a SCSI operation code.
    pub op: usize,
    /// Its first byte.
    pub offset: Column,
    /// Its size.
    pub bytes: Column,
    /// How long it took.
    pub response: Option<Column>,
    /// Which device: one or several columns, joined.
    pub device: Vec<usize>,
    /// Process number.
    pub pid: Option<usize>,
    /// Command name.
    pub command: Option<usize>,
    /// The first line names the columns; found out where it is not said.
    pub header: Option<bool>,
}

/// The first column in units of 100 ns.
const FILE_TIME: Column = Column { number: 1, unit: Unit::Ticks };

impl ColumnPlan {
    fn published(name: &str, time: Column, op: usize, offset: Column, bytes: Column) -> Self {
        ColumnPlan {
            name: name.to_owned(),
            separator: b',',
            time,
            op,
            offset,
            bytes,
            response: None,
            device: Vec::new(),
            pid: None,
            command: None,
            header: None,
        }
    }

    /// MSR Cambridge (SNIA IOTTA 388): file time, host, disk, type, offset,
    /// size, response time in 100 ns.
    pub fn msr_cambridge() -> Self {
        let bytes = |number| Column { number, unit: Unit::Bytes };
        ColumnPlan {
            response: Some(Column { number: 7, unit: Unit::Ticks }),
            device: vec![2, 3],
            ..ColumnPlan::published("MSR Cambridge CSV", FILE_TIME, 4, bytes(5), bytes(6))
        }
    }

    /// Alibaba block traces: device, operation, offset, length, microseconds.
    pub fn alibaba() -> Self {
        let bytes = |number| Column { number, unit: Unit::Bytes };
        let time = Column { number: 5, unit: Unit::Microseconds };
        ColumnPlan {
            device: vec![1],
            ..ColumnPlan::published("Alibaba block trace CSV", time, 2, bytes(3), bytes(4))
        }
    }

    /// Tencent block traces: seconds, offset and size in sectors, operation
    /// (0 read, 1 write), volume.
    pub fn tencent() -> Self {
        let sectors = |number| Column { number, unit: Unit::Sectors };
        let time = Column { number: 1, unit: Unit::Seconds };
        ColumnPlan {
            device: vec![5],
            ..ColumnPlan::published("Tencent block trace CSV", time, 4, sectors(2), sectors(3))
        }
    }

    /// `time=2:us,op=3,offset=5:sectors,bytes=4[,response=6:us][,device=1][,pid=7]
    /// [,command=8][,separator=tab][,header=yes]`.
    ///
    /// # Errors
    /// Where a name, a column or a unit is not understood, or one is missing.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut plan = ColumnPlan::published("CSV", FILE_TIME, 0, FILE_TIME, FILE_TIME);
        let mut given = Vec::new();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (name, value) = part
                .split_once('=')
                .ok_or_else(|| format!("'{part}' is not of the form NAME=COLUMN[:UNIT]"))?;
            given.push(name.to_owned());
            plan.set(name, value)?;
        }
        for needed in ["time", "op", "offset", "bytes"] {
            if !given.iter().any(|name| name == needed) {
                return Err(format!("the column of {needed} is missing: add {needed}=NUMBER"));
            }
        }
        Ok(plan)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            "time" => self.time = column(value, Unit::Seconds)?,
            "offset" => self.offset = column(value, Unit::Bytes)?,
            "bytes" => self.bytes = column(value, Unit::Bytes)?,
            "response" => self.response = Some(column(value, Unit::Microseconds)?),
            "op" => self.op = place(value)?,
            "device" => self.device.push(place(value)?),
            "pid" => self.pid = Some(place(value)?),
            "command" => self.command = Some(place(value)?),
            "separator" => {
                self.separator = match value {
                    "tab" => b'\t',
                    "space" => b' ',
                    "semicolon" => b';',
                    "comma" => b',',
                    other => {
                        return Err(format!(
                            "unknown separator '{other}'; choose one of: comma, tab, space, \
                             semicolon"
                        ));
                    }
                }
            }
            "header" => self.header = Some(value == "yes"),
            other => {
                return Err(format!(
                    "unknown column '{other}'; choose among: time, op, offset, bytes, response, \
                     device, pid, command, separator, header"
                ));
            }
        }
        if !self.time.unit.is_time() || self.offset.unit.is_time() && name == "offset" {
            return Err(format!("{name} cannot be counted in the unit of '{value}'"));
        }
        Ok(())
    }
}

fn place(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err(format!("'{text}' is no column; count from 1")),
        Ok(number) => Ok(number),
    }
}

fn column(text: &str, default: Unit) -> Result<Column, String> {
    let (number, unit) = match text.split_once(':') {
        Some((number, unit)) => (number, unit.parse()?),
        None => (text, default),
    };
    Ok(Column { number: place(number)?, unit })
}

/// What the names and codes of the published traces mean.
fn operation(text: &str) -> Option<IoOp> {
    let lower = text.trim().to_ascii_lowercase();
    match lower.as_str() {
        "r" | "read" | "0" | "rs" | "ra" | "rm" | "diskread" => return Some(IoOp::Read),
        "w" | "write" | "1" | "ws" | "wm" | "wfs" | "diskwrite" => return Some(IoOp::Write),
        "d" | "discard" | "trim" | "unmap" | "2" => return Some(IoOp::Discard),
        "f" | "flush" | "sync" | "3" => return Some(IoOp::Flush),
        _ => {}
    }
    // SCSI operation codes: READ and WRITE (6), (10), (12), (16), UNMAP, SYNCHRONIZE CACHE.
    let code = lower.trim_start_matches("0x");
    match u8::from_str_radix(code, 16).ok()? {
        0x08 | 0x28 | 0xa8 | 0x88 => Some(IoOp::Read),
        0x0a | 0x2a | 0xaa | 0x8a => Some(IoOp::Write),
        0x42 => Some(IoOp::Discard),
        0x35 | 0x91 => Some(IoOp::Flush),
        _ => None,
    }
}

/// A number, also with a fraction, times its unit.
fn scaled(text: &str, unit: Unit) -> Option<u64> {
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

/// A trace as it is read.
struct Reading<'p> {
    plan: &'p ColumnPlan,
    devices: Devices,
    first_ns: Option<u64>,
    earlier: u64,
    last_ns: u64,
    imported: Imported,
}

pub(super) fn import(
    plan: &ColumnPlan,
    input: Input<'_>,
    sink: &mut Sink<'_>,
) -> Result<Imported, ImportError> {
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(plan.separator)
        .has_headers(false)
        .flexible(true)
        .trim(csv::Trim::All)
        .from_reader(input.content);
    let mut reading = Reading {
        plan,
        devices: Devices::default(),
        first_ns: None,
        earlier: 0,
        last_ns: 0,
        imported: Imported::default(),
    };
    let mut row = csv::StringRecord::new();
    loop {
        match reader.read_record(&mut row) {
            Ok(false) => return Ok(reading.finish()),
            Ok(true) => {}
            Err(error) => return Err(failed(&input.name, error, reading.imported.records)),
        }
        let line = row.position().map_or(0, csv::Position::line);
        if reading.is_header(&row) {
            reading.imported.passed_over += 1;
            reading.imported.records += 1;
            continue;
        }
        let event = reading.event(&row).map_err(|what| ImportError::Malformed {
            input: input.name.clone(),
            place: format!("line {line}"),
            what,
            read: reading.imported.records,
        })?;
        reading.imported.records += 1;
        reading.imported.events += 1;
        sink(&event)?;
    }
}

fn failed(name: &str, error: csv::Error, read: u64) -> ImportError {
    let place = error.position().map_or(0, csv::Position::line);
    let what = error.to_string();
    match error.into_kind() {
        csv::ErrorKind::Io(error) => ImportError::Io { input: name.to_owned(), error },
        _ => ImportError::Malformed {
            input: name.to_owned(),
            place: format!("line {place}"),
            what,
            read,
        },
    }
}

impl Reading<'_> {
    /// A first line without a number where the time stands names the columns.
    fn is_header(&self, row: &csv::StringRecord) -> bool {
        if self.imported.records > 0 {
            return false;
        }
        let time = row.get(self.plan.time.number - 1).unwrap_or("");
        self.plan.header.unwrap_or_else(|| scaled(time, self.plan.time.unit).is_none())
    }

    fn event(&mut self, row: &csv::StringRecord) -> Result<IoEvent, String> {
        let field = |number: usize, what: &str| {
            row.get(number - 1).ok_or_else(|| {
                format!("expected {what} in column {number}, found {} columns", row.len())
            })
        };
        let value = |column: Column, what: &str| {
            let text = field(column.number, what)?;
            scaled(text, column.unit).ok_or_else(|| {
                format!("expected {what} in column {}, found '{text}'", column.number)
            })
        };
        let plan = self.plan;
        let time = value(plan.time, "a time")?;
        let text = field(plan.op, "an operation")?;
        let op = operation(text).ok_or_else(|| {
            format!("expected an operation in column {}, found '{text}'", plan.op)
        })?;
        let bytes = value(plan.bytes, "a size")?;
        let response_ns = match plan.response {
            Some(column) => value(column, "a response time")?,
            None => RESPONSE_UNKNOWN,
        };
        let offset = value(plan.offset, "an offset")?;
        let pid = match plan.pid {
            Some(number) => field(number, "a process number")?.parse().unwrap_or(0),
            None => 0,
        };
        let command = match plan.command {
            Some(number) => Command::new(field(number, "a command name")?),
            None => Command::default(),
        };
        let names: Result<Vec<&str>, String> =
            plan.device.iter().map(|number| field(*number, "a device")).collect();
        let device = self.devices.number(&names?.join(".")).ok_or("more than 65,536 devices")?;
        let issued_ns = self.since_first(time);
        self.last_ns = self.last_ns.max(issued_ns);
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

    /// Times count from the first line's; the few that are earlier count as it.
    fn since_first(&mut self, time: u64) -> u64 {
        let first = *self.first_ns.get_or_insert(time);
        self.earlier += u64::from(time < first);
        time.saturating_sub(first)
    }

    fn finish(self) -> Imported {
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
        let conditions = CaptureConditions {
            source: self.plan.name.clone(),
            layers: vec![Layer::Block],
            devices: self.devices.captured(),
            lasted_ns: self.last_ns,
            remarks,
            ..CaptureConditions::default()
        };
        Imported { conditions, ..self.imported }
    }
}
