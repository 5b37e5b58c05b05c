//! Imports libCacheSim's lcs traces, versions 1 to 8.
//!
//! A header of 8,192 bytes holds a mark at both ends, the version and statistics of the trace.
//! Records of a fixed size follow; the version determines their fields. All numbers are
//! little-endian. Source: libCacheSim, `customizedReader/lcs.h`.

use super::input::{EventSink, ImportError, ImportInput, ImportOutcome, fill};
use super::plan::ColumnPlan;
use super::records::{self, RecordField, RecordFormat, u64_at};

/// Name on the command line.
pub(super) const NAME: &str = "lcs";

/// Size of the header in bytes.
const HEADER: usize = 8192;
/// Mark at the beginning and at the end of the header.
const MARK: u64 = 0x1234_5678_9abc_def0;
const VERSION_AT: usize = 8;
/// Position of the number of requests, behind the version of the statistics.
const REQUESTS_AT: usize = 24;

type NamedFields = &'static [(&'static str, RecordField)];

/// Version 2: clock time in seconds, object number, size in bytes of 32 bits, operation and tenant.
const VERSION_2_FIELDS: NamedFields = &[
    ("time", RecordField::U32(0)),
    ("object", RecordField::U64(4)),
    ("size", RecordField::U32(12)),
    ("op", RecordField::CacheOp(16)),
    ("tenant", RecordField::U24(17)),
];

/// Versions 3 and later: a size of 64 bits, and a time to live.
const VERSION_3_FIELDS: NamedFields = &[
    ("time", RecordField::U32(0)),
    ("object", RecordField::U64(4)),
    ("size", RecordField::I64(12)),
    ("op", RecordField::CacheOp(20)),
    ("tenant", RecordField::U24(21)),
    ("ttl", RecordField::U32(24)),
];

/// Versions 1 to 8. From version 4 on, records end with 1, 2, 4, 8 or 16 features of 4 bytes, which
/// are not read.
static VERSIONS: [RecordFormat; 8] = [
    VERSION_1,
    later_version("libCacheSim lcs, version 2", 28, VERSION_2_FIELDS),
    later_version("libCacheSim lcs, version 3", 36, VERSION_3_FIELDS),
    later_version("libCacheSim lcs, version 4", 40, VERSION_3_FIELDS),
    later_version("libCacheSim lcs, version 5", 44, VERSION_3_FIELDS),
    later_version("libCacheSim lcs, version 6", 52, VERSION_3_FIELDS),
    later_version("libCacheSim lcs, version 7", 68, VERSION_3_FIELDS),
    later_version("libCacheSim lcs, version 8", 100, VERSION_3_FIELDS),
];

const VERSION_1: RecordFormat = RecordFormat {
    id: NAME,
    name: "libCacheSim lcs, version 1",
    size: 24,
    fields: VERSION_2_FIELDS.split_at(3).0,
    columns: "time=1:s,op=other,offset=none,bytes=3",
    remark: Some(
        "The trace has numbers of objects in place of addresses, and no operations: its I/Os are of \
         operation other, without an address. If the numbers are those of sectors and all are \
         reads, import it with --input-format lcs --csv time=1:s,op=read,offset=2:sectors,bytes=3.",
    ),
    is_record: |_, record| has_next_access(record, 16),
    has_version: false,
    rejection: |_| None,
};

const fn later_version(name: &'static str, size: usize, fields: NamedFields) -> RecordFormat {
    RecordFormat {
        id: NAME,
        name,
        size,
        fields,
        columns: "time=1:s,op=other,offset=none,bytes=3,device=5",
        remark: Some(
            "The trace has numbers of objects in place of addresses: its I/Os are of operation \
             other, without an address. If the numbers are those of sectors, import it with \
             --input-format lcs --csv time=1:s,op=4,offset=2:sectors,bytes=3,device=5.",
        ),
        is_record: |_, record| {
            has_next_access(record, if is_second_version(record) { 20 } else { 28 })
        },
        has_version: false,
        rejection: reject_cache_operation,
    }
}

/// Returns whether a record with an operation is of version 2, whose records are shorter than all
/// later ones.
fn is_second_version(record: &[u8]) -> bool {
    record.len() == VERSIONS[1].size
}

/// Returns whether the next access of a record is the number of a request, or none: -1 or the
/// largest number.
fn has_next_access(record: &[u8], at: usize) -> bool {
    let next = u64_at(record, at).cast_signed();
    (-1..1 << 48).contains(&next) || next == i64::MAX
}

/// Rejects the operations of key-value caches, which are not I/Os.
fn reject_cache_operation(record: &[u8]) -> Option<String> {
    let at = if is_second_version(record) { 16 } else { 20 };
    let op = RecordField::CacheOp(at).text(record);
    if ["nop", "read", "write"].contains(&op.as_str()) {
        return None;
    }
    Some(format!(
        "operation {op} is one of a key-value cache, not an I/O; to import it, name the I/O that \
         it causes, as in --input-format lcs --csv \
         time=1:s,op=4:{op}=read;set=write;delete=skip,offset=none,bytes=3,device=5"
    ))
}

/// Returns whether an input begins with the mark of the format, in either byte order.
pub(super) fn is_beginning(beginning: &[u8]) -> bool {
    beginning.len() >= 8 && [MARK, MARK.swap_bytes()].contains(&u64_at(beginning, 0))
}

/// Returns the plan for versions 2 to 8, which version 1 replaces by its own.
pub(super) fn plan() -> Option<ColumnPlan> {
    Some(ColumnPlan { name: NAME.to_owned(), ..VERSIONS[1].plan()? })
}

/// Imports an lcs trace by a plan of its fields.
pub(super) fn import(
    plan: &ColumnPlan,
    mut input: ImportInput<'_>,
    sink: &mut EventSink<'_>,
) -> ImportOutcome {
    let name = input.name.clone();
    let LcsHeader { format, requests } = read_header(&mut input)?;
    let is_own_plan = self::plan().is_some_and(|own| own == *plan);
    let plan = format.plan().filter(|_| is_own_plan).unwrap_or_else(|| plan.clone());
    let mut imported = records::import(format, &plan, input, HEADER as u64, sink)?;
    let missing = requests.saturating_sub(imported.records);
    if missing > 0 {
        let sentence = format!(
            "{name}: its header counts {requests} requests, and it holds {}; lost: {missing}.",
            imported.records
        );
        imported.conditions.remarks.push(sentence.clone());
        imported.conditions.lost = missing;
        imported.cut.push(sentence);
    } else if requests > 0 && requests < imported.records {
        imported.conditions.remarks.push(format!(
            "{name}: its header counts {requests} requests, and it holds {}; all were read.",
            imported.records
        ));
    }
    Ok(imported)
}

struct LcsHeader {
    /// Format of the version.
    format: &'static RecordFormat,
    /// Number of requests; 0 if the header does not state it.
    requests: u64,
}

/// Reads and checks the header.
fn read_header(input: &mut ImportInput<'_>) -> Result<LcsHeader, ImportError> {
    let mut header = vec![0; HEADER];
    let filled = fill(&mut input.content, &mut header)
        .map_err(|error| ImportError::unreadable(&input.name, "its header".to_owned(), error))?;
    let malformed = |at: usize, what: String| {
        ImportError::malformed(&input.name, format!("byte {at}"), what, 0)
    };
    if filled < HEADER {
        let what = format!("the file ends within its header of {HEADER} bytes; record it again");
        return Err(malformed(filled, what));
    }
    let mark = u64_at(&header, 0);
    if mark == MARK.swap_bytes() {
        let what = "the header is big-endian, and lcs is little-endian; swap the bytes of every \
                    field, or convert the trace with a current libCacheSim";
        return Err(malformed(0, what.to_owned()));
    }
    if mark != MARK {
        return Err(malformed(0, format!("expected the mark {MARK:#x} of lcs, found {mark:#x}")));
    }
    let version = u64_at(&header, VERSION_AT);
    let format = usize::try_from(version)
        .ok()
        .and_then(|version| VERSIONS.get(version.checked_sub(1)?))
        .ok_or_else(|| {
            // An early header lists the types of the fields in the notation of Python's struct.
            let found = if b"<>=@!".contains(&header[VERSION_AT]) {
                "an early header with the types of its fields".to_owned()
            } else {
                format!("version {version}")
            };
            let what = format!(
                "expected a version from 1 to 8, found {found}; convert the trace with a current \
                 libCacheSim"
            );
            malformed(VERSION_AT, what)
        })?;
    let end = u64_at(&header, HEADER - 8);
    if end != MARK {
        let what = format!("expected the mark {MARK:#x} at the end of the header, found {end:#x}");
        return Err(malformed(HEADER - 8, what));
    }
    let requests = u64_at(&header, REQUESTS_AT).cast_signed();
    let requests = u64::try_from(requests)
        .map_err(|_| malformed(REQUESTS_AT, format!("{requests} is no number of requests")))?;
    Ok(LcsHeader { format, requests })
}
