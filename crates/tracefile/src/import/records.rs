//! Imports binary traces with records of a fixed size, as tables.
//!
//! vscsi is the format of VMware's virtual disks as CloudPhysics published it; oracleGeneral is a
//! format of libCacheSim. Both are little-endian and have no signature. The records of libCacheSim's
//! lcs format, which follow a header, are read here, too.

use super::columns::import_rows;
use super::input::{
    EventSink, FittingFormat, ImportError, ImportInput, ImportOutcome, ends_in_zeros, fill, is_torn,
};
use super::plan::{ColumnPlan, scsi_operation};
use super::rows::TableRows;
use std::io::{BufReader, Read};

/// Type of a field and its offset within the record.
#[derive(Debug, Clone, Copy)]
pub(super) enum RecordField {
    U16(usize),
    /// An unsigned number of 24 bits.
    U24(usize),
    U32(usize),
    U64(usize),
    /// A signed number of 64 bits.
    I64(usize),
    /// An operation of libCacheSim in 8 bits, as its name.
    CacheOp(usize),
    /// A SCSI operation code in 16 bits. A code not known to transfer user data becomes `N`.
    Scsi(usize),
}

/// A format with records of a fixed size.
#[derive(Debug)]
pub(super) struct RecordFormat {
    /// Name on the command line.
    pub id: &'static str,
    /// Name in the trace's conditions.
    pub name: &'static str,
    /// Size of a record in bytes.
    pub size: usize,
    /// Names of the fields, for messages, and their positions.
    pub fields: &'static [(&'static str, RecordField)],
    /// Plan of the fields, in the grammar of [`ColumnPlan::parse`].
    pub columns: &'static str,
    /// Remark on what the trace lacks.
    pub remark: Option<&'static str>,
    /// Returns whether a record can belong to the format, given its number from 1.
    pub is_record: fn(u64, &[u8]) -> bool,
    /// True if every record carries the format's version, so that no other record may occur, whatever
    /// the plan of the fields is.
    pub has_version: bool,
    /// Returns why a record is not an I/O by the plan of the format; `None` if it is one.
    pub rejection: fn(&[u8]) -> Option<String>,
}

/// Layouts: libCacheSim, `vscsi.h` and `oracleGeneralBin.h`.
pub(super) const RECORDS: [RecordFormat; 3] = [
    RecordFormat {
        id: "vscsi2",
        name: "vscsi version 2",
        size: 40,
        fields: &[
            ("cmd", RecordField::Scsi(0)),
            ("ver", RecordField::U16(2)),
            ("sn", RecordField::U32(4)),
            ("len", RecordField::U32(8)),
            ("nSG", RecordField::U32(12)),
            ("lbn", RecordField::U64(16)),
            ("ts", RecordField::U64(24)),
            ("rt", RecordField::U64(32)),
        ],
        columns: "op=1,bytes=4,offset=6:sectors,time=7:us",
        remark: Some(
            "The unit of the response times in version 2 is not published, so they are not read.",
        ),
        is_record: |_, record| is_vscsi(2, u16_at(record, 2), u16_at(record, 0)),
        has_version: true,
        rejection: |_| None,
    },
    RecordFormat {
        id: "vscsi1",
        name: "vscsi version 1",
        size: 32,
        fields: &[
            ("sn", RecordField::U32(0)),
            ("len", RecordField::U32(4)),
            ("nSG", RecordField::U32(8)),
            ("cmd", RecordField::Scsi(12)),
            ("ver", RecordField::U16(14)),
            ("lbn", RecordField::U64(16)),
            ("ts", RecordField::U64(24)),
        ],
        columns: "op=4,bytes=2,offset=6:sectors,time=7:us",
        remark: None,
        is_record: |_, record| is_vscsi(1, u16_at(record, 14), u16_at(record, 12)),
        has_version: true,
        rejection: |_| None,
    },
    RecordFormat {
        id: "oracle-general",
        name: "oracleGeneral",
        size: 24,
        fields: &[
            ("time", RecordField::U32(0)),
            ("object", RecordField::U64(4)),
            ("size", RecordField::U32(12)),
            ("next", RecordField::U64(16)),
        ],
        columns: "time=1:s,op=other,offset=none,bytes=3",
        remark: Some(
            "The trace has numbers of objects in place of addresses, and no operations: its \
                 I/Os are of operation other, without an address. If the numbers are those of \
                 sectors and all are reads, import it with --input-format oracle-general --csv \
                 time=1:s,op=read,offset=2:sectors,bytes=3.",
        ),
        // The next access is a later record, or none: -1 or the largest number.
        is_record: |number, record| {
            let next = u64_at(record, 16).cast_signed();
            let is_later = next == -1 || next.unsigned_abs() > number && next > 0;
            is_later && u32_at(record, 12) > 0 && (next < 1 << 48 || next == i64::MAX)
        },
        has_version: false,
        rejection: |_| None,
    },
];

/// Returns whether a record carries this version and a SCSI operation code, which has eight bits.
fn is_vscsi(version: u16, stored: u16, command: u16) -> bool {
    stored >> 8 == version && command <= u16::from(u8::MAX)
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u64_of(bytes, at, 2) as u16
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u64_of(bytes, at, 4) as u32
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64_of(bytes, at, 8)
}

fn u64_of(bytes: &[u8], at: usize, length: usize) -> u64 {
    let field = bytes.get(at..at + length).unwrap_or_default();
    field.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Operations of libCacheSim by number (`enum.h`, `req_op_e`).
const CACHE_OPERATIONS: [&str; 15] = [
    "nop", "get", "gets", "set", "add", "cas", "replace", "append", "prepend", "delete", "incr",
    "decr", "read", "write", "update",
];

/// Returns the name of an operation of libCacheSim. An unknown number gets a name, too: a number
/// alone would be taken for a SCSI operation code.
fn cache_operation(number: u64) -> String {
    let known = usize::try_from(number).ok().and_then(|number| CACHE_OPERATIONS.get(number));
    known.map_or_else(|| format!("op-{number}"), |name| (*name).to_owned())
}

impl RecordField {
    /// Returns the value of the field in a record as text.
    pub(super) fn text(self, record: &[u8]) -> String {
        match self {
            RecordField::U16(at) => u16_at(record, at).to_string(),
            RecordField::U32(at) => u32_at(record, at).to_string(),
            RecordField::U24(at) => u64_of(record, at, 3).to_string(),
            RecordField::U64(at) => u64_at(record, at).to_string(),
            RecordField::I64(at) => u64_at(record, at).cast_signed().to_string(),
            RecordField::CacheOp(at) => cache_operation(u64_of(record, at, 1)),
            RecordField::Scsi(at) => match u8::try_from(u16_at(record, at)) {
                Ok(code) if scsi_operation(code).is_none() => "N".to_owned(),
                _ => format!("{:#04x}", u16_at(record, at)),
            },
        }
    }
}

impl RecordFormat {
    /// Returns the plan of the fields; `None` if the table above has a mistake.
    pub(super) fn plan(&self) -> Option<ColumnPlan> {
        let plan = ColumnPlan::parse(self.columns).ok()?;
        Some(ColumnPlan { name: self.name.to_owned(), ..plan })
    }
}

/// Returns the format that all whole records at the beginning of an input follow, and whether the
/// content proves it: by the version in every record, or by references to later records of the same
/// object. One record is not enough.
pub(super) fn fitting_format(beginning: &[u8]) -> Option<FittingFormat> {
    let format = RECORDS.iter().find(|format| {
        let mut records = (1..).zip(beginning.chunks_exact(format.size));
        beginning.len() >= 2 * format.size
            && beginning.contains(&0)
            && records.all(|(number, record)| (format.is_record)(number, record))
    })?;
    let is_proven = format.has_version || refers_to_later_records(beginning, format.size);
    Some(FittingFormat { name: format.id, is_proven })
}

/// Returns whether every reference of an oracleGeneral record to a later record within the beginning
/// leads to the same object, and there is one. Records count from 0 or from 1.
fn refers_to_later_records(beginning: &[u8], size: usize) -> bool {
    let records: Vec<&[u8]> = beginning.chunks_exact(size).collect();
    [0, 1].into_iter().any(|first| {
        let mut later = records.iter().filter_map(|record| {
            let next = usize::try_from(u64_at(record, 16)).ok()?.checked_sub(first)?;
            Some(u64_at(records.get(next)?, 4) == u64_at(record, 4))
        });
        later.next() == Some(true) && later.all(|is_same| is_same)
    })
}

/// Imports a trace of records by a plan of their fields. `start` is the number of bytes of the file
/// that were read already: the offset of the first record.
pub(super) fn import(
    format: &'static RecordFormat,
    plan: &ColumnPlan,
    input: ImportInput<'_>,
    start: u64,
    sink: &mut EventSink<'_>,
) -> ImportOutcome {
    let is_own_plan = format.plan().is_some_and(|own| own == *plan);
    // The records have no header.
    let plan = ColumnPlan { header: Some(false), name: format.name.to_owned(), ..plan.clone() };
    let mut rows = RecordRows {
        format,
        is_own_plan,
        name: input.name,
        content: BufReader::with_capacity(1 << 18, input.content),
        start,
        record: vec![0; format.size],
        texts: Vec::new(),
        number: 0,
        cut: None,
    };
    let mut imported = import_rows(&plan, &mut rows, sink)?;
    if is_own_plan || format.has_version {
        imported.conditions.remarks.extend(format.remark.map(str::to_owned));
    }
    imported.add_cut_ends(rows.cut.into_iter().collect());
    Ok(imported)
}

struct RecordRows<'r> {
    format: &'static RecordFormat,
    /// True if the plan is that of the format, not the user's.
    is_own_plan: bool,
    name: String,
    content: BufReader<Box<dyn Read + 'r>>,
    /// Offset of the first record in the file.
    start: u64,
    record: Vec<u8>,
    texts: Vec<String>,
    number: u64,
    /// Description of the loss if the file ends within a record or in zeros.
    cut: Option<String>,
}

impl TableRows for RecordRows<'_> {
    fn advance(&mut self) -> Result<bool, ImportError> {
        self.number += 1;
        let filled = fill(&mut self.content, &mut self.record)
            .map_err(|error| ImportError::unreadable(&self.name, self.place(), error))?;
        if filled == 0 {
            return Ok(false);
        }
        let before = self.number - 1;
        if filled < self.record.len() {
            self.cut = Some(format!(
                "{}: the file ends after {filled} of the {} bytes of record {}: {before} records were \
                 read, the rest is lost.",
                self.name, self.format.size, self.number
            ));
            return Ok(false);
        }
        let start = self.start + before * self.format.size as u64;
        let is_zero = self.record.iter().all(|byte| *byte == 0);
        let is_end = if is_zero {
            ends_in_zeros(&mut self.content)
        } else {
            is_torn(start, &[&self.record], &mut self.content)
        };
        if is_end.map_err(|error| ImportError::unreadable(&self.name, self.place(), error))? {
            self.cut = Some(format!(
                "{}: the file is filled with zeros within or from record {} on: {before} records \
                 were read, the rest is lost.",
                self.name, self.number
            ));
            return Ok(false);
        }
        let is_checked = self.format.has_version || self.is_own_plan;
        if is_checked && !(self.format.is_record)(self.number, &self.record) {
            let field = |(name, field): &(&str, RecordField)| {
                format!("{name} {}", field.text(&self.record))
            };
            let fields: Vec<String> = self.format.fields.iter().map(field).collect();
            let what = format!(
                "no record of {}: {}; is the file big-endian, of another version or of another \
                 format?",
                self.format.name,
                fields.join(", ")
            );
            return Err(self.malformed(what, before));
        }
        if let Some(why) = (self.format.rejection)(&self.record).filter(|_| self.is_own_plan) {
            return Err(self.malformed(why, before));
        }
        self.texts.clear();
        self.texts.extend(self.format.fields.iter().map(|(_, field)| field.text(&self.record)));
        Ok(true)
    }

    fn get(&self, number: usize) -> Option<&str> {
        self.texts.get(number.checked_sub(1)?).map(String::as_str)
    }

    fn width(&self) -> usize {
        self.texts.len()
    }

    fn number(&self) -> u64 {
        self.number
    }

    fn unit(&self) -> &'static str {
        "record"
    }

    fn label(&self, number: usize) -> String {
        match self.format.fields.get(number - 1) {
            Some((name, _)) => format!("field {name}"),
            None => format!("field {number}"),
        }
    }

    fn malformed(&self, what: String, read: u64) -> ImportError {
        ImportError::malformed(&self.name, self.place(), what, read)
    }
}
