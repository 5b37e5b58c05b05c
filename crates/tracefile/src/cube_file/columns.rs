//! The columns of a cube file, in file order. One list drives the schema, the writer, the reader
//! and docs/formats.md.

use super::cell::{CubeCell, RangeHits, Times};
use crate::error::TraceError;
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::schema::types::{Type, TypePtr};
use std::sync::Arc;
use steadfast_domain::io_event::{CommandName, flags};
use steadfast_domain::{IoOp, Layer};

/// The dimensions and sums that a cube file has beyond the streams of each device and step.
/// A column that is not recorded is absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CubeColumns {
    /// Process ID and command name.
    pub processes: bool,
    /// Thread ID and name.
    pub threads: bool,
    /// Cgroup.
    pub cgroups: bool,
    /// Inode.
    pub files: bool,
    /// Merged requests.
    pub merges: bool,
    /// Sampled content.
    pub content: bool,
    /// Busy time.
    pub busy: bool,
    /// Reads and writes of LBA ranges.
    pub ranges: bool,
    /// True if the cells are sums of single I/Os of any hosts, as a fold has them: with host, issue
    /// times, queue times and all flags.
    pub single_ios: bool,
}

impl CubeColumns {
    /// Returns the columns that either has.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        CubeColumns {
            processes: self.processes || other.processes,
            threads: self.threads || other.threads,
            cgroups: self.cgroups || other.cgroups,
            files: self.files || other.files,
            merges: self.merges || other.merges,
            content: self.content || other.content,
            busy: self.busy || other.busy,
            ranges: self.ranges || other.ranges,
            single_ios: self.single_ios || other.single_ios,
        }
    }
}

/// The content of a row. A key that a row does not distinguish is null.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum CubeRowKind {
    /// The sums of a cell.
    #[default]
    Cell,
    /// Busy time of a device in a step: `op` is null.
    Busy,
    /// I/Os of an LBA range in a step: `op` is null, `range` is not.
    Range,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct CubeRow {
    pub kind: CubeRowKind,
    /// Number of the step.
    pub step: u64,
    /// Keys and sums. Its times count from the beginning of the step.
    pub cell: CubeCell,
    pub busy_ns: u64,
    /// The I/Os of a range; without device and begin, which are those of the row.
    pub hits: RangeHits,
}

/// Storage of a column's values.
#[derive(Clone, Copy)]
pub(super) enum Store {
    /// An unsigned integer of `bits` bits. `set` returns `None` for an impossible value; null is
    /// [`NULL_KEY`] in the columns `op` and `range`, and 0 in all others.
    Number { bits: i8, get: fn(&CubeRow) -> u64, set: fn(&mut CubeRow, u64) -> Option<()> },
    /// A boolean: sequential or random.
    Sequential,
    /// A name of up to 15 bytes.
    Name { get: fn(&CubeCell) -> CommandName, set: fn(&mut CubeCell, CommandName) },
    /// A list of histogram buckets, by index.
    Buckets { of: fn(&CubeCell) -> &Times },
    /// A list with the count of each bucket.
    Counts {
        of: fn(&CubeCell) -> &Times,
        set: fn(&mut CubeCell) -> &mut Times,
        buckets: &'static str,
    },
    /// Host name of the capture; not read back.
    Host,
    /// Name of the device; not read back.
    Disk,
}

/// Null in the columns that determine the kind of a row.
pub(super) const NULL_KEY: u64 = u32::MAX as u64;

#[derive(Clone, Copy)]
pub(super) struct CubeColumn {
    pub name: &'static str,
    pub store: Store,
    /// The kind of rows in which the column has values; `None` for all.
    pub rows: Option<CubeRowKind>,
    /// True if values repeat so often that a dictionary is smaller than differences.
    pub dictionary: bool,
    is_present: fn(&CubeColumns) -> bool,
}

const ALL: Option<CubeRowKind> = None;
const CELLS: Option<CubeRowKind> = Some(CubeRowKind::Cell);
const BUSY: Option<CubeRowKind> = Some(CubeRowKind::Busy);
const RANGES: Option<CubeRowKind> = Some(CubeRowKind::Range);

/// Defines the store of integers in a field of [`CubeRow`].
macro_rules! number {
    ($bits:literal, $($field:tt).+) => {
        Store::Number {
            bits: $bits,
            get: |row| u64::from(row.$($field).+),
            set: |row, value| {
                row.$($field).+ = value.try_into().ok()?;
                Some(())
            },
        }
    };
}

/// Defines the column of a sum in a field of [`CubeCell`].
macro_rules! sum {
    ($name:literal, $bits:literal, $($field:tt).+, $is_present:expr) => {
        CubeColumn::new($name, number!($bits, cell.$($field).+), CELLS)
            .only($is_present)
            .without_dictionary()
    };
}

/// Defines the column of a sum in a field of [`RangeHits`].
macro_rules! hits {
    ($name:literal, $field:ident) => {
        CubeColumn::new($name, number!(64, hits.$field), RANGES)
            .only(OF_RANGES)
            .without_dictionary()
    };
}

/// Defines the column with the number of I/Os that have a flag.
macro_rules! flag {
    ($name:literal, $flag:ident, $is_present:expr) => {
        CubeColumn::new(
            $name,
            Store::Number {
                bits: 64,
                get: |row| row.cell.flags[flags::$flag.trailing_zeros() as usize],
                set: |row, value| {
                    row.cell.flags[flags::$flag.trailing_zeros() as usize] = value;
                    Some(())
                },
            },
            CELLS,
        )
        .only($is_present)
        .without_dictionary()
    };
}

/// Defines the two columns of a histogram.
macro_rules! histogram {
    ($buckets:expr, $counts:literal, $times:ident, $is_present:expr) => {
        [
            CubeColumn::new($buckets, Store::Buckets { of: |cell| &cell.$times }, CELLS)
                .only($is_present)
                .without_dictionary(),
            CubeColumn::new(
                $counts,
                Store::Counts {
                    of: |cell| &cell.$times,
                    set: |cell| &mut cell.$times,
                    buckets: $buckets,
                },
                CELLS,
            )
            .only($is_present)
            .without_dictionary(),
        ]
    };
}

impl CubeColumn {
    const fn new(name: &'static str, store: Store, rows: Option<CubeRowKind>) -> Self {
        CubeColumn { name, store, rows, dictionary: true, is_present: ALWAYS }
    }

    /// Limits the column to some files.
    const fn only(self, is_present: fn(&CubeColumns) -> bool) -> Self {
        CubeColumn { is_present, ..self }
    }

    const fn without_dictionary(self) -> Self {
        CubeColumn { dictionary: false, ..self }
    }

    /// Returns whether the rows of a kind have values in the column.
    pub fn is_in(&self, kind: CubeRowKind) -> bool {
        self.rows.is_none_or(|rows| rows == kind)
    }

    /// Returns true if a file without the column cannot be read.
    pub fn is_indispensable(&self) -> bool {
        let names = ["step", "device", "op", "sequential", "bytes", "ios", RESPONSE_BUCKET];
        names.contains(&self.name)
    }

    /// Returns the path of the values in the Parquet schema.
    pub fn path(&self) -> String {
        match self.store {
            Store::Buckets { .. } | Store::Counts { .. } => element_of(self.name),
            _ => self.name.to_owned(),
        }
    }
}

/// Returns the path of the elements of a list column.
pub(super) fn element_of(name: &str) -> String {
    format!("{name}.list.element")
}

const ALWAYS: fn(&CubeColumns) -> bool = |_| true;
const OF_FOLD: fn(&CubeColumns) -> bool = |columns| columns.single_ios;
const OF_PROCESSES: fn(&CubeColumns) -> bool = |columns| columns.processes;
const OF_THREADS: fn(&CubeColumns) -> bool = |columns| columns.threads;
const OF_RANGES: fn(&CubeColumns) -> bool = |columns| columns.ranges;
const OF_CONTENT: fn(&CubeColumns) -> bool = |columns| columns.content;

/// A column that every cube file has, except files of steps of unreleased versions.
pub(super) const RESPONSE_BUCKET: &str = "response_bucket";

const RESPONSES: [CubeColumn; 2] =
    histogram!(RESPONSE_BUCKET, "response_bucket_ios", responses, ALWAYS);
const QUEUED: [CubeColumn; 2] = histogram!("queued_bucket", "queued_bucket_ios", queued, OF_FOLD);

/// All columns that a file may have, in file order.
pub(super) static CUBE_COLUMNS: [CubeColumn; 54] = [
    CubeColumn::new("host", Store::Host, ALL).only(OF_FOLD),
    CubeColumn::new("disk", Store::Disk, ALL),
    CubeColumn::new("step", number!(64, step), ALL).without_dictionary(),
    CubeColumn::new("device", number!(16, cell.device), ALL),
    CubeColumn::new(
        "layer",
        Store::Number {
            bits: 8,
            get: |row| row.cell.layer as u64,
            set: |row, value| {
                let layers = [Layer::Block, Layer::FileSystem];
                row.cell.layer = *layers.get(usize::try_from(value).ok()?)?;
                Some(())
            },
        },
        ALL,
    ),
    CubeColumn::new(
        "op",
        Store::Number {
            bits: 8,
            get: |row| row.cell.op as u64,
            set: |row, value| {
                match (value, row.kind) {
                    (NULL_KEY, CubeRowKind::Cell) => row.kind = CubeRowKind::Busy,
                    _ => row.cell.op = IoOp::from_number(u8::try_from(value).ok()?)?,
                }
                Some(())
            },
        },
        CELLS,
    ),
    CubeColumn::new("sequential", Store::Sequential, CELLS),
    CubeColumn::new("bytes", number!(32, cell.bytes), CELLS),
    CubeColumn::new("pid", number!(32, cell.who.pid), CELLS).only(OF_PROCESSES),
    CubeColumn::new(
        "command",
        Store::Name { get: |cell| cell.who.command, set: |cell, name| cell.who.command = name },
        CELLS,
    )
    .only(OF_PROCESSES),
    CubeColumn::new("tid", number!(32, cell.who.tid), CELLS).only(OF_THREADS),
    CubeColumn::new(
        "thread",
        Store::Name { get: |cell| cell.who.thread, set: |cell, name| cell.who.thread = name },
        CELLS,
    )
    .only(OF_THREADS),
    CubeColumn::new("cgroup", number!(16, cell.who.cgroup), CELLS).only(|columns| columns.cgroups),
    CubeColumn::new("inode", number!(64, cell.who.inode), CELLS).only(|columns| columns.files),
    sum!("ios", 64, ios, ALWAYS),
    sum!("first_ns", 64, span_ns.0, OF_FOLD),
    sum!("last_ns", 64, span_ns.1, OF_FOLD),
    sum!("responses", 64, responses.total.count, ALWAYS),
    sum!("response_sum_ns", 64, responses.total.sum_ns, ALWAYS),
    sum!("response_max_ns", 64, responses.total.max_ns, ALWAYS),
    RESPONSES[0],
    RESPONSES[1],
    sum!("queued", 64, queued.total.count, OF_FOLD),
    sum!("queued_sum_ns", 64, queued.total.sum_ns, OF_FOLD),
    sum!("queued_max_ns", 64, queued.total.max_ns, OF_FOLD),
    QUEUED[0],
    QUEUED[1],
    sum!("both_queued_ns", 64, together.queued_ns, OF_FOLD),
    sum!("both_response_ns", 64, together.response_ns, OF_FOLD),
    sum!("depth_sum", 64, depths.sum, ALWAYS),
    sum!("depths", 64, depths.count, OF_FOLD),
    sum!("depth_max", 32, depths.max, ALWAYS),
    sum!("offsets", 64, offsets, ALWAYS),
    flag!("sync", SYNC, OF_FOLD),
    flag!("fua", FUA, OF_FOLD),
    flag!("preflush", PREFLUSH, OF_FOLD),
    flag!("meta", META, OF_FOLD),
    flag!("read_ahead", READ_AHEAD, OF_FOLD),
    flag!("writeback", WRITEBACK, OF_FOLD),
    flag!("failed", FAILED, ALWAYS),
    flag!("requeued", REQUEUED, OF_FOLD),
    flag!("direct", DIRECT, OF_FOLD),
    sum!("beyond", 64, beyond, OF_FOLD),
    sum!("merged", 64, merged, |columns| columns.merges),
    sum!("sampled_blocks", 64, contents.blocks, OF_CONTENT),
    sum!("duplicate_blocks", 64, contents.duplicates, OF_CONTENT),
    sum!("sampled_bytes", 64, contents.bytes, OF_CONTENT),
    sum!("compressed_bytes", 64, contents.compressed_bytes, OF_CONTENT),
    CubeColumn::new("busy_ns", number!(64, busy_ns), BUSY)
        .only(|columns| columns.busy)
        .without_dictionary(),
    CubeColumn::new(
        "range",
        Store::Number {
            bits: 16,
            get: |row| row.hits.range.into(),
            set: |row, value| {
                match (value, row.kind) {
                    (NULL_KEY, _) => {}
                    (_, CubeRowKind::Cell) => return None,
                    _ => {
                        row.kind = CubeRowKind::Range;
                        row.hits.range = value.try_into().ok()?;
                    }
                }
                Some(())
            },
        },
        RANGES,
    )
    .only(OF_RANGES),
    hits!("range_reads", reads),
    hits!("range_read_bytes", read_bytes),
    hits!("range_writes", writes),
    hits!("range_written_bytes", written_bytes),
];

/// Returns the columns that a file has, in file order.
pub(super) fn columns_of(columns: CubeColumns) -> Vec<CubeColumn> {
    CUBE_COLUMNS.iter().filter(|column| (column.is_present)(&columns)).copied().collect()
}

pub(super) fn schema(columns: &[CubeColumn]) -> Result<TypePtr, TraceError> {
    let fields: parquet::errors::Result<Vec<_>> =
        columns.iter().map(|column| field(column).map(Arc::new)).collect();
    let schema =
        fields.and_then(|fields| Type::group_type_builder("cube").with_fields(fields).build());
    schema.map(Arc::new).map_err(TraceError::Encode)
}

fn field(column: &CubeColumn) -> parquet::errors::Result<Type> {
    let repetition =
        if column.rows.is_none() { Repetition::REQUIRED } else { Repetition::OPTIONAL };
    let list_of = |bits| {
        let element = Arc::new(number("element", bits, Repetition::REQUIRED)?);
        let list = Type::group_type_builder("list").with_repetition(Repetition::REPEATED);
        let list = Arc::new(list.with_fields(vec![element]).build()?);
        Type::group_type_builder(column.name)
            .with_repetition(repetition)
            .with_logical_type(Some(LogicalType::List))
            .with_fields(vec![list])
            .build()
    };
    match column.store {
        Store::Number { bits, .. } => number(column.name, bits, repetition),
        Store::Sequential => Type::primitive_type_builder(column.name, Physical::BOOLEAN)
            .with_repetition(repetition)
            .build(),
        Store::Name { .. } | Store::Host | Store::Disk => {
            Type::primitive_type_builder(column.name, Physical::BYTE_ARRAY)
                .with_logical_type(Some(LogicalType::String))
                .with_repetition(repetition)
                .build()
        }
        Store::Buckets { .. } => list_of(16),
        Store::Counts { .. } => list_of(64),
    }
}

fn number(name: &str, bits: i8, repetition: Repetition) -> parquet::errors::Result<Type> {
    let physical = if bits == 64 { Physical::INT64 } else { Physical::INT32 };
    Type::primitive_type_builder(name, physical)
        .with_logical_type(Some(LogicalType::integer(bits, false)))
        .with_repetition(repetition)
        .build()
}
