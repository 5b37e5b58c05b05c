//! The columns of a trace file: one per field of an `IoEvent`.
//!
//! The same list drives the writer, the reader and `docs/formats.md`.

use crate::error::TraceError;
use parquet::basic::{Encoding, LogicalType, Repetition, Type as Physical};
use parquet::schema::types::{Type, TypePtr};
use std::sync::Arc;
use steadfast_domain::CaptureConditions;

/// Version of the file format that this program writes.
pub const FORMAT_VERSION: &str = "1";
/// Metadata key of the format's version.
pub const KEY_FORMAT: &str = "steadfast.format";
/// Metadata key of the conditions at the beginning of the file.
pub const KEY_START: &str = "steadfast.conditions.start";
/// Metadata key of the conditions at the end of the file.
pub const KEY_FINAL: &str = "steadfast.conditions";
/// Metadata key of file paths; in a recovery block, those found since the block before.
pub const KEY_FILES: &str = "steadfast.files";
/// Metadata key of readings of processor time; in a recovery block, those since the block before.
pub const KEY_PROCESSORS: &str = "steadfast.processors";
/// Metadata key of the description of a fold file's captures.
pub const KEY_FOLD: &str = "steadfast.fold";
/// Metadata key of the row groups' checksums.
pub const KEY_SUMS: &str = "steadfast.sums";
/// Metadata key of one row group's checksum, in its recovery block.
pub const KEY_SUM: &str = "steadfast.sum";
/// Metadata key of the footer's own checksum.
pub const KEY_SEAL: &str = "steadfast.seal";

/// Name that identifies this program in the author field of its files.
const OURS: &str = "steadfast";

/// Returns the author to write into a file. A copy of another program's file becomes ours.
pub fn author(conditions: &CaptureConditions) -> String {
    let software = &conditions.software;
    if software.contains(OURS) { software.clone() } else { OURS.to_owned() }
}

/// Returns whether the author of a file is this program. An empty name counts, because copies
/// of other programs' files used to have one.
pub fn is_ours(author: &str) -> bool {
    author.is_empty() || author.contains(OURS)
}

/// A column of a trace file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Field {
    /// `issued_ns`: issue time, in nanoseconds since the capture began.
    Issued,
    /// `response_ns`: response time in nanoseconds; null if the completion was not seen.
    Response,
    /// `queued_ns`: time in the queue, in nanoseconds.
    Queued,
    /// `offset`: first byte.
    Offset,
    /// `inode`: inode of the file; 0 if unknown.
    Inode,
    /// `bytes`: transfer size in bytes.
    Bytes,
    /// `depth`: queue depth at issue; null if the source does not record it.
    Depth,
    /// `pid`: process ID.
    Pid,
    /// `cpu`: processor number.
    Cpu,
    /// `flags`: bits of `io_event::flags`.
    Flags,
    /// `device`: index into the conditions' devices.
    Device,
    /// `op`: number of the operation.
    Op,
    /// `layer`: number of the layer.
    Layer,
    /// `tid`: thread ID; only if threads were captured.
    Tid,
    /// `cgroup`: position in the conditions' cgroups from 1; only if cgroups were captured.
    Cgroup,
    /// `merged`: requests merged into this one; only if merges were counted.
    Merged,
    /// `sampled_blocks`: blocks that were read back; only if content was sampled.
    SampledBlocks,
    /// `duplicate_blocks`: duplicates among these blocks; only if content was sampled.
    DuplicateBlocks,
    /// `sampled_bytes`: size of these blocks in bytes; only if content was sampled.
    SampledBytes,
    /// `compressed_bytes`: their compressed size in bytes; only if content was sampled.
    CompressedBytes,
    /// `command`: command name of the process.
    Command,
    /// `thread`: name of the thread; only if threads were captured.
    Thread,
}

/// Number of columns of 64 bits, which come first in [`Field`].
pub const WIDE: usize = 5;
/// Number of columns of up to 32 bits, which come second.
pub const NARROW: usize = 15;
/// Number of columns of names, which come last.
pub const NAMES: usize = 2;
/// Number of all columns.
pub const COLUMNS: usize = WIDE + NARROW + NAMES;

impl Field {
    /// Every column, in the order of the file.
    pub const ALL: [Field; COLUMNS] = [
        Field::Issued,
        Field::Response,
        Field::Queued,
        Field::Offset,
        Field::Inode,
        Field::Bytes,
        Field::Depth,
        Field::Pid,
        Field::Cpu,
        Field::Flags,
        Field::Device,
        Field::Op,
        Field::Layer,
        Field::Tid,
        Field::Cgroup,
        Field::Merged,
        Field::SampledBlocks,
        Field::DuplicateBlocks,
        Field::SampledBytes,
        Field::CompressedBytes,
        Field::Command,
        Field::Thread,
    ];

    /// Returns the columns of a file with these conditions.
    pub fn of_file(conditions: &CaptureConditions) -> Vec<Field> {
        let is_recorded = |field: &Field| match field {
            Field::Tid | Field::Thread => conditions.threads,
            Field::Cgroup => conditions.cgroups.is_some(),
            Field::Merged => conditions.merging.is_some(),
            Field::SampledBlocks
            | Field::DuplicateBlocks
            | Field::SampledBytes
            | Field::CompressedBytes => conditions.content.is_some(),
            _ => true,
        };
        Field::ALL.into_iter().filter(is_recorded).collect()
    }

    /// Returns the column's name in the file.
    pub const fn name(self) -> &'static str {
        match self {
            Field::Issued => "issued_ns",
            Field::Response => "response_ns",
            Field::Queued => "queued_ns",
            Field::Offset => "offset",
            Field::Inode => "inode",
            Field::Bytes => "bytes",
            Field::Depth => "depth",
            Field::Pid => "pid",
            Field::Cpu => "cpu",
            Field::Flags => "flags",
            Field::Device => "device",
            Field::Op => "op",
            Field::Layer => "layer",
            Field::Tid => "tid",
            Field::Cgroup => "cgroup",
            Field::Merged => "merged",
            Field::SampledBlocks => "sampled_blocks",
            Field::DuplicateBlocks => "duplicate_blocks",
            Field::SampledBytes => "sampled_bytes",
            Field::CompressedBytes => "compressed_bytes",
            Field::Command => "command",
            Field::Thread => "thread",
        }
    }

    /// Returns the bits of the unsigned integer; 0 for a name.
    pub const fn bits(self) -> i8 {
        match self {
            Field::Issued | Field::Response | Field::Queued | Field::Offset | Field::Inode => 64,
            Field::Bytes | Field::Depth | Field::Pid | Field::Tid => 32,
            Field::SampledBytes | Field::CompressedBytes => 32,
            Field::Cpu | Field::Flags | Field::Device | Field::Cgroup | Field::Merged => 16,
            Field::SampledBlocks | Field::DuplicateBlocks => 16,
            Field::Op | Field::Layer => 8,
            Field::Command | Field::Thread => 0,
        }
    }

    /// Returns whether a row may lack a value.
    pub const fn is_nullable(self) -> bool {
        matches!(self, Field::Response | Field::Depth)
    }

    /// Returns whether a file needs this column to be a trace.
    pub const fn is_indispensable(self) -> bool {
        matches!(self, Field::Issued | Field::Offset | Field::Bytes | Field::Op)
    }

    /// Returns whether the file keeps the smallest and largest value of each row group. The reader
    /// needs some of them; a query engine can skip row groups by them.
    pub const fn has_statistics(self) -> bool {
        matches!(self, Field::Issued | Field::Offset | Field::Bytes | Field::Response | Field::Pid)
    }

    /// Returns the encoding, or `None` for a dictionary. A dictionary is looked up for every value;
    /// differences are faster where nearly all of them are 0.
    pub const fn encoding(self) -> Option<Encoding> {
        match self {
            Field::Issued
            | Field::Response
            | Field::Queued
            | Field::Offset
            | Field::Layer
            | Field::Device
            | Field::Inode => Some(Encoding::DELTA_BINARY_PACKED),
            _ => None,
        }
    }

    /// Returns the value that stands for a null or an absent column in memory.
    pub const fn when_absent(self) -> u64 {
        match self {
            Field::Response => u64::MAX,
            _ => 0,
        }
    }

    pub(crate) const fn index(self) -> usize {
        self as usize
    }
}

/// A set of columns, and of derived values that a fold may request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Fields(u32);

impl Fields {
    /// The empty set.
    pub const NONE: Fields = Fields(0);
    /// Not a column: the distance to the previous I/O of the same stream, computed only on
    /// request because it takes time.
    pub const NEIGHBORS: Fields = Fields(1 << 31);
    /// Not a column: the part of its time for which each I/O kept an otherwise idle device
    /// busy, computed only on request.
    pub const BUSY: Fields = Fields(1 << 30);
    /// Not a column: issue times made distinct, in the order of the I/Os.
    pub const ORDER: Fields = Fields(1 << 29);
    /// All columns.
    pub const ALL: Fields = Fields((1 << COLUMNS) - 1);
    /// Returns the set of these columns.
    pub const fn new(fields: &[Field]) -> Fields {
        let mut bits = 0;
        let mut at = 0;
        while at < fields.len() {
            bits |= 1 << fields[at] as u32;
            at += 1;
        }
        Fields(bits)
    }
    /// Returns the union of both sets.
    pub const fn and(self, other: Fields) -> Fields {
        Fields(self.0 | other.0)
    }
    /// Returns whether the set has [`Self::NEIGHBORS`].
    pub const fn has_neighbors(self) -> bool {
        self.0 & Fields::NEIGHBORS.0 != 0
    }
    /// Returns whether the set has [`Self::ORDER`].
    pub const fn has_order(self) -> bool {
        self.0 & Fields::ORDER.0 != 0
    }
    /// Returns whether the set has [`Self::BUSY`].
    pub const fn has_busy(self) -> bool {
        self.0 & Fields::BUSY.0 != 0
    }
    /// Returns whether the set has this column.
    pub const fn has(self, field: Field) -> bool {
        self.0 & (1 << field as u32) != 0
    }
}

/// Returns the Parquet schema of a trace file with these columns.
pub fn schema(fields: &[Field]) -> Result<TypePtr, TraceError> {
    let columns = fields.iter().map(|field| column(*field).map(Arc::new));
    let columns: Result<Vec<_>, _> = columns.collect();
    Type::group_type_builder("trace")
        .with_fields(columns?)
        .build()
        .map(Arc::new)
        .map_err(TraceError::Encode)
}

fn column(field: Field) -> Result<Type, TraceError> {
    let (physical, logical) = match field.bits() {
        0 => (Physical::BYTE_ARRAY, LogicalType::String),
        64 => (Physical::INT64, LogicalType::integer(64, false)),
        bits => (Physical::INT32, LogicalType::integer(bits, false)),
    };
    let repetition = if field.is_nullable() { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    Type::primitive_type_builder(field.name(), physical)
        .with_logical_type(Some(logical))
        .with_repetition(repetition)
        .build()
        .map_err(TraceError::Encode)
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::io_event::ContentSample;

    #[test]
    fn columns_are_in_the_order_of_their_numbers() {
        for (at, field) in Field::ALL.into_iter().enumerate() {
            assert_eq!(field.index(), at);
            assert_eq!(field.bits() == 64, at < WIDE);
            assert!(Fields::ALL.has(field) && !Fields::NONE.has(field));
        }
        assert_eq!(schema(&Field::ALL).unwrap().get_fields().len(), COLUMNS);
    }

    #[test]
    fn columns_that_were_not_captured_are_not_in_the_file() {
        let mut conditions = CaptureConditions::default();
        let names = |conditions: &CaptureConditions| -> Vec<&str> {
            Field::of_file(conditions).into_iter().map(Field::name).collect()
        };
        let names_of_default = names(&conditions);
        assert_eq!((names_of_default.len(), names_of_default.last()), (14, Some(&"command")));
        conditions.threads = true;
        assert!(names(&conditions).ends_with(&["tid", "command", "thread"]));
        (conditions.cgroups, conditions.merging) = (Some(Vec::new()), Some(Vec::new()));
        conditions.content = Some(ContentSample::default());
        assert_eq!(names(&conditions).len(), COLUMNS);
    }
}
