//! An [`IoEvent`]: one I/O of a server, as a capture recorded it. Captures produce events, traces
//! store them, analyses aggregate them.

pub use crate::content_sample::{ContentSample, FINGERPRINTS, Share};
use crate::histogram::FineHistogram;
pub use crate::time_zone::{TimeZone, TimeZoneChange};
use crate::units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Operation of a captured I/O.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum IoOp {
    /// Data transfer from the device.
    #[default]
    Read = 0,
    /// Data transfer to the device.
    Write = 1,
    /// Deallocation of blocks (ATA TRIM, SCSI UNMAP, NVMe Deallocate, write zeroes with unmap).
    Discard = 2,
    /// Flush of the volatile write cache.
    Flush = 3,
    /// Any other request that the kernel passes to a device.
    Other = 4,
}

impl IoOp {
    /// All operations, in the order in which tables list them.
    pub const ALL: [IoOp; 5] = [IoOp::Read, IoOp::Write, IoOp::Discard, IoOp::Flush, IoOp::Other];
    /// Returns the operation that a file stores as `number`, or `None` if there is no such
    /// operation.
    pub fn from_number(number: u8) -> Option<IoOp> {
        IoOp::ALL.get(usize::from(number)).copied()
    }
    /// Returns the letter that block traces use: `R`, `W`, `D`, `F` or `N`.
    pub const fn letter(self) -> char {
        match self {
            IoOp::Read => 'R',
            IoOp::Write => 'W',
            IoOp::Discard => 'D',
            IoOp::Flush => 'F',
            IoOp::Other => 'N',
        }
    }
}

impl fmt::Display for IoOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            IoOp::Read => "read",
            IoOp::Write => "write",
            IoOp::Discard => "discard",
            IoOp::Flush => "flush",
            IoOp::Other => "other",
        })
    }
}

/// Bits of [`IoEvent::flags`].
pub mod flags {
    /// A task waits for the completion (`REQ_SYNC`).
    pub const SYNC: u16 = 1 << 0;
    /// Forced unit access (`REQ_FUA`).
    pub const FUA: u16 = 1 << 1;
    /// The cache is flushed before this I/O (`REQ_PREFLUSH`).
    pub const PREFLUSH: u16 = 1 << 2;
    /// File-system metadata (`REQ_META`).
    pub const META: u16 = 1 << 3;
    /// Read-ahead (`REQ_RAHEAD`).
    pub const READ_AHEAD: u16 = 1 << 4;
    /// Submitted by the kernel's writeback, not by the process that dirtied the page.
    pub const WRITEBACK: u16 = 1 << 5;
    /// The I/O failed.
    pub const FAILED: u16 = 1 << 6;
    /// The request was requeued at least once.
    pub const REQUEUED: u16 = 1 << 7;
    /// File-system layer: the I/O bypasses the page cache (`O_DIRECT`).
    pub const DIRECT: u16 = 1 << 8;

    /// Flags and their names, in the order in which tables list them.
    pub const NAMES: [(u16, &str); 9] = [
        (SYNC, "sync"),
        (FUA, "FUA"),
        (PREFLUSH, "preflush"),
        (META, "metadata"),
        (READ_AHEAD, "read-ahead"),
        (WRITEBACK, "writeback"),
        (DIRECT, "direct"),
        (REQUEUED, "requeued"),
        (FAILED, "failed"),
    ];

    /// Returns the names of the flags that are set.
    ///
    /// ```
    /// use steadfast_domain::io_event::flags;
    /// assert_eq!(flags::names(flags::SYNC | flags::META), ["sync", "metadata"]);
    /// assert!(flags::names(0).is_empty());
    /// ```
    pub fn names(set: u16) -> Vec<&'static str> {
        NAMES.iter().filter(|(bit, _)| set & bit != 0).map(|(_, name)| *name).collect()
    }
}

/// Parses the letters of the kernel's `blk_fill_rwbs`, which blkparse prints too: a preflush, the
/// operation, then flags. They end at the first NUL, if there is one.
///
/// ```
/// use steadfast_domain::IoOp;
/// use steadfast_domain::io_event::{flags, parse_rwbs};
/// assert_eq!(parse_rwbs(b"FWFS"), (IoOp::Write, flags::PREFLUSH | flags::FUA | flags::SYNC));
/// ```
pub fn parse_rwbs(letters: &[u8]) -> (IoOp, u16) {
    let mut rest: &[u8] = letters.split(|byte| *byte == 0).next().unwrap_or_default();
    let mut found = 0;
    if let [b'F', b'R' | b'W' | b'D' | b'F' | b'N', ..] = rest {
        found |= flags::PREFLUSH;
        rest = &rest[1..];
    }
    let op = match rest.first() {
        Some(b'R') => IoOp::Read,
        Some(b'W') => IoOp::Write,
        Some(b'D') => IoOp::Discard,
        Some(b'F') => IoOp::Flush,
        _ => IoOp::Other,
    };
    for letter in rest.iter().skip(1) {
        found |= match letter {
            b'F' => flags::FUA,
            b'A' => flags::READ_AHEAD,
            b'S' => flags::SYNC,
            b'M' => flags::META,
            _ => 0,
        };
    }
    (op, found)
}

/// Layer of the storage stack at which I/Os were captured.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum Layer {
    /// Requests (or bios) as a block device receives them.
    #[default]
    Block = 0,
    /// Reads and writes as a file system receives them.
    FileSystem = 1,
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Layer::Block => "block",
            Layer::FileSystem => "filesystem",
        })
    }
}

/// A command name as the kernel stores it: up to 15 bytes, padded with zeros. All zeros if the name
/// was not recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommandName(pub [u8; 16]);

impl CommandName {
    /// Creates a command name from the first 15 bytes of `name`.
    pub fn new(name: &str) -> Self {
        CommandName::from_bytes(name.as_bytes())
    }
    /// Creates a command name from the first 15 bytes, or from those before the first zero: a name
    /// of the kernel may end in the middle of a character.
    pub fn from_bytes(name: &[u8]) -> Self {
        let mut bytes = [0; 16];
        let name = name.iter().take_while(|byte| **byte != 0);
        for (to, from) in bytes[..15].iter_mut().zip(name) {
            *to = *from;
        }
        CommandName(bytes)
    }
    /// Returns true if no name was recorded.
    pub fn is_empty(&self) -> bool {
        self.0[0] == 0
    }
}

impl fmt::Display for CommandName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let length = self.0.iter().position(|byte| *byte == 0).unwrap_or(self.0.len());
        f.write_str(&String::from_utf8_lossy(&self.0[..length]))
    }
}

/// One captured I/O. Times are in nanoseconds, offset and size in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IoEvent {
    /// Time of issue to the device (block layer) or of entry into the file system, in nanoseconds
    /// since the capture began.
    pub issued_ns: u64,
    /// Time from issue to completion, in nanoseconds; [`RESPONSE_UNKNOWN`] if the completion was
    /// not seen.
    pub response_ns: u64,
    /// Time from entering the queue to issue, in nanoseconds; 0 if the source does not report it.
    pub queued_ns: u64,
    /// First byte, as an offset on the device or in the file.
    pub offset: u64,
    /// Transfer size in bytes.
    pub bytes: u32,
    /// Queue depth: I/Os outstanding on the device at issue, this one included; 0 if the source
    /// does not report it.
    pub depth: u32,
    /// Process that submitted the I/O; 0 if unknown.
    pub pid: u32,
    /// Thread that submitted the I/O; 0 if unknown.
    pub tid: u32,
    /// Cgroup of the process: position in [`CaptureConditions::cgroups`], starting at 1; 0 if
    /// unknown.
    pub cgroup: u16,
    /// Block layer: requests that the kernel merged into the first one.
    pub merged: u16,
    /// CPU that issued the I/O.
    pub cpu: u16,
    /// Combination of the bits in [`flags`].
    pub flags: u16,
    /// Device: index into [`CaptureConditions::devices`].
    pub device: u16,
    /// Operation.
    pub op: IoOp,
    /// Layer at which the I/O was captured.
    pub layer: Layer,
    /// Command name of the process.
    pub command: CommandName,
    /// Name of the thread; empty if it is the same as that of the process.
    pub thread: CommandName,
    /// File-system layer: inode of the file; 0 at the block layer.
    pub inode: u64,
    /// Sampled content of the written blocks; all zeros if none was sampled.
    pub content: ContentMeasurement,
}

/// Sampled content of the blocks that one I/O wrote.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ContentMeasurement {
    /// Blocks read back.
    pub blocks: u16,
    /// Blocks equal to one that was read back earlier.
    pub duplicates: u16,
    /// Bytes read back.
    pub bytes: u32,
    /// Compressed size of the bytes read back, each block compressed separately.
    pub compressed_bytes: u32,
}

impl ContentMeasurement {
    /// Adds the figures of further blocks, saturating.
    pub fn add(&mut self, more: ContentMeasurement) {
        self.blocks = self.blocks.saturating_add(more.blocks);
        self.duplicates = self.duplicates.saturating_add(more.duplicates);
        self.bytes = self.bytes.saturating_add(more.bytes);
        self.compressed_bytes = self.compressed_bytes.saturating_add(more.compressed_bytes);
    }
}

/// Value of [`IoEvent::response_ns`] for an I/O whose completion was not seen.
pub const RESPONSE_UNKNOWN: u64 = u64::MAX;

impl IoEvent {
    /// Returns the completion time in nanoseconds since the capture began, or `None` if the
    /// completion was not seen.
    pub fn completed_ns(&self) -> Option<u64> {
        (self.response_ns != RESPONSE_UNKNOWN)
            .then(|| self.issued_ns.saturating_add(self.response_ns))
    }
}

/// Totals of one process's I/O stream in one capture step, accumulated during the capture. Entries
/// with the same step, stream and process are parts of one total: [`StreamInStep::merge`] them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StreamInStep {
    /// Number of the step since the capture began.
    pub step: u64,
    /// Device: index into [`CaptureConditions::devices`].
    pub device: u16,
    /// Layer at which the I/Os were captured.
    pub layer: Layer,
    /// Operation of the I/Os.
    pub op: IoOp,
    /// True if the I/Os were sequential.
    pub sequential: bool,
    /// Transfer size of the I/Os in bytes.
    pub bytes: u32,
    /// Process that submitted the I/Os; 0 if unknown.
    pub pid: u32,
    /// Command name of the process.
    pub command: CommandName,
    /// Number of I/Os.
    pub ios: u64,
    /// I/Os that failed.
    pub failed: u64,
    /// I/Os whose completion was seen.
    pub responses: u64,
    /// Sum of the response times of the completed I/Os, in nanoseconds.
    pub response_sum_ns: u64,
    /// Longest response time, in nanoseconds.
    pub response_max_ns: u64,
    /// I/Os by response time: buckets of [`FineHistogram`](crate::FineHistogram) as (bucket, count),
    /// ascending.
    pub response_buckets: Vec<(u16, u64)>,
    /// Sum of the queue depths at issue, each including the I/O itself.
    pub depth_sum: u64,
    /// Highest queue depth at issue.
    pub depth_max: u32,
    /// Bitwise OR of all offsets: its trailing zeros give the alignment.
    pub offsets: u64,
}

/// Device, layer, operation, sequential or not, size, process and its command.
pub type StepStreamKey = (u16, Layer, IoOp, bool, u32, u32, CommandName);

impl StreamInStep {
    /// Returns the totals of a single I/O, in steps of `step_ns` nanoseconds.
    pub fn from_io(io: &IoEvent, sequential: bool, step_ns: u64) -> Self {
        let response_ns = (io.response_ns != RESPONSE_UNKNOWN).then_some(io.response_ns);
        let bucket = |response_ns| (FineHistogram::index(response_ns) as u16, 1);
        StreamInStep {
            step: io.issued_ns / step_ns,
            device: io.device,
            layer: io.layer,
            op: io.op,
            sequential,
            bytes: io.bytes,
            pid: io.pid,
            command: io.command,
            ios: 1,
            failed: u64::from(io.flags & flags::FAILED != 0),
            responses: response_ns.iter().len() as u64,
            response_sum_ns: response_ns.unwrap_or(0),
            response_max_ns: response_ns.unwrap_or(0),
            response_buckets: response_ns.map(bucket).into_iter().collect(),
            depth_sum: u64::from(io.depth),
            depth_max: io.depth,
            offsets: io.offset,
        }
    }
    /// Returns what identifies the entry within its step.
    pub fn key(&self) -> StepStreamKey {
        (self.device, self.layer, self.op, self.sequential, self.bytes, self.pid, self.command)
    }
    /// Adds another part of the same process's stream in the same step.
    pub fn merge(&mut self, other: &StreamInStep) {
        // The counts may come from a damaged file.
        self.ios = self.ios.saturating_add(other.ios);
        self.failed = self.failed.saturating_add(other.failed);
        self.responses = self.responses.saturating_add(other.responses);
        self.response_sum_ns = self.response_sum_ns.saturating_add(other.response_sum_ns);
        self.response_max_ns = self.response_max_ns.max(other.response_max_ns);
        for &(bucket, ios) in &other.response_buckets {
            match self.response_buckets.binary_search_by_key(&bucket, |(ours, _)| *ours) {
                Ok(at) => {
                    let count = &mut self.response_buckets[at].1;
                    *count = count.saturating_add(ios);
                }
                Err(at) => self.response_buckets.insert(at, (bucket, ios)),
            }
        }
        self.depth_sum = self.depth_sum.saturating_add(other.depth_sum);
        self.depth_max = self.depth_max.max(other.depth_max);
        self.offsets |= other.offsets;
    }
}

/// Time within a capture step in which a device had an I/O outstanding.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeviceBusyStep {
    /// Number of the step since the capture began.
    pub step: u64,
    /// Device: index into [`CaptureConditions::devices`].
    pub device: u16,
    /// Layer at which the I/Os were captured.
    pub layer: Layer,
    /// Busy time, in nanoseconds.
    pub busy_ns: u64,
}

/// Reads and writes of an LBA range of a device in a capture step. An I/O counts in every range that
/// it touches, with the bytes that lie there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RangeInStep {
    /// Number of the step since the capture began.
    pub step: u64,
    /// Device: index into [`CaptureConditions::devices`].
    pub device: u16,
    /// Number of the range.
    pub range: u16,
    /// Reads that touch the range.
    pub reads: u64,
    /// Bytes read from the range.
    pub read_bytes: u64,
    /// Writes that touch the range.
    pub writes: u64,
    /// Bytes written to the range.
    pub written_bytes: u64,
}

impl RangeInStep {
    /// Adds the I/Os of another part.
    pub fn merge(&mut self, other: &RangeInStep) {
        self.reads = self.reads.saturating_add(other.reads);
        self.read_bytes = self.read_bytes.saturating_add(other.read_bytes);
        self.writes = self.writes.saturating_add(other.writes);
        self.written_bytes = self.written_bytes.saturating_add(other.written_bytes);
    }
}

/// A device whose I/Os were captured.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CapturedDevice {
    /// Kernel name, such as `nvme0n1`; for an imported trace, the name that the source uses.
    pub name: String,
    /// Host of the device, where captures of several hosts are read together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Model number; `None` if unknown.
    pub model: Option<String>,
    /// Serial number; `None` if unknown.
    pub serial: Option<String>,
    /// Capacity; `None` if the source does not report it.
    pub capacity: Option<Bytes>,
    /// Logical sector size in bytes; `None` if unknown.
    pub logical_sector: Option<u32>,
}

/// A cgroup whose processes submitted I/Os.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CapturedCgroup {
    /// Kernel ID of the cgroup.
    pub id: u64,
    /// Path below the root of the hierarchy; `None` if the cgroup was removed before its path could
    /// be read.
    pub path: Option<String>,
    /// Host of the cgroup, where captures of several hosts are read together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
}

/// Counts of the requests that the kernel merged and split on one device.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct MergeCounts {
    /// Requests merged into the I/O of another request.
    pub merged: u64,
    /// Number of times that a request was split because it was too large for the device or crossed
    /// one of its boundaries.
    pub split: u64,
}

/// The path of a file whose I/Os were captured at the file-system layer.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FileName {
    /// Device: index into [`CaptureConditions::devices`].
    pub device: u16,
    /// Inode; file systems on the same device may use the same inode for different files.
    pub inode: u64,
    /// Path as the capture found it.
    pub path: String,
}

/// Processor time of the captured host since boot, in clock ticks summed over all processors. Stored
/// as an array in this order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "[u64; 4]", into = "[u64; 4]")]
pub struct ProcessorReading {
    /// Time of the reading, in nanoseconds since the capture began.
    pub at_ns: u64,
    /// Ticks spent busy: neither idle nor waiting for I/O.
    pub busy: u64,
    /// Ticks spent idle with I/O outstanding (iowait).
    pub io_wait: u64,
    /// Ticks of all processors, idle ones included.
    pub total: u64,
}

impl From<[u64; 4]> for ProcessorReading {
    fn from([at_ns, busy, io_wait, total]: [u64; 4]) -> Self {
        ProcessorReading { at_ns, busy, io_wait, total }
    }
}

impl From<ProcessorReading> for [u64; 4] {
    fn from(reading: ProcessorReading) -> Self {
        [reading.at_ns, reading.busy, reading.io_wait, reading.total]
    }
}

/// File number for a file whose position among the files of its inode is unknown.
pub const UNKNOWN_FILE: u64 = 0xffff;
/// Bits that hold the inode; the bits above it number the files that used the inode in turn.
const INODE_BITS: u32 = 48;

/// Returns the number that identifies a file in a trace: the inode, with the file number in the
/// bits above it. The first file of an inode has file number 0, so its number is the inode itself.
/// Returns 0, which stands for no file, if the inode needs more than 48 bits and `file` is not 0.
pub fn numbered_inode(inode: u64, file: u64) -> u64 {
    if file == 0 {
        return inode;
    }
    if inode >> INODE_BITS > 0 { 0 } else { file.min(UNKNOWN_FILE) << INODE_BITS | inode }
}

/// Returns the inode and the file number that [`numbered_inode`] combined. An inode of more than 48
/// bits is split incorrectly; it never has more than one file.
pub fn inode_and_file(number: u64) -> (u64, u64) {
    (number & ((1 << INODE_BITS) - 1), number >> INODE_BITS)
}

/// Returns paths by device and inode. If several file systems on one device have a file with this
/// inode, their paths are joined with " or ".
pub fn paths_by_inode(files: &[FileName]) -> BTreeMap<(u16, u64), String> {
    let mut paths: BTreeMap<(u16, u64), String> = BTreeMap::new();
    for file in files {
        let path = paths.entry((file.device, file.inode)).or_default();
        if !path.is_empty() {
            path.push_str(" or ");
        }
        path.push_str(&file.path);
    }
    paths
}

/// CPU time of a capture itself. It is stored as a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(Option<u64>, u64)", into = "(Option<u64>, u64)")]
pub struct CaptureCost {
    /// Time in the kernel in nanoseconds; `None` if it was not measured.
    pub kernel_ns: Option<u64>,
    /// Time in user space in nanoseconds.
    pub user_ns: u64,
}

impl From<(Option<u64>, u64)> for CaptureCost {
    fn from((kernel_ns, user_ns): (Option<u64>, u64)) -> Self {
        CaptureCost { kernel_ns, user_ns }
    }
}

impl From<CaptureCost> for (Option<u64>, u64) {
    fn from(cost: CaptureCost) -> Self {
        (cost.kernel_ns, cost.user_ns)
    }
}

/// A named point in time of a capture.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Mark {
    /// Time since the capture began, in nanoseconds.
    pub at_ns: u64,
    /// Name of the mark.
    pub name: String,
}

/// Position of a file among the files of a rotated capture.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CapturePart {
    /// ID of the capture, different for every capture.
    pub capture: String,
    /// Number of this file, starting at 1; for files read together, the number of the first.
    pub first: u32,
    /// Number of this file; for files read together, the number of the last.
    pub last: u32,
}

/// I/Os that a capture saw only in part, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct IncompleteIos {
    /// I/Os issued before the capture began: only their completion was seen.
    pub begun_before: u64,
    /// I/Os whose completion was not seen. They are among the events, without a response time.
    pub unended: u64,
    /// I/Os not followed because too many were outstanding at once.
    pub too_many: u64,
}

impl IncompleteIos {
    /// Returns the number of I/Os that are not among the events.
    pub fn missing(&self) -> u64 {
        self.begun_before.saturating_add(self.too_many)
    }
}

/// Prints `12 incomplete (3 omitted: issued before the capture, 9 without a response time:
/// completion missing)`.
impl fmt::Display for IncompleteIos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reasons: Vec<String> = [
            (self.begun_before, "omitted: issued before the capture"),
            (self.too_many, "omitted: too many at once"),
            (self.unended, "without a response time: completion missing"),
        ]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, reason)| format!("{count} {reason}"))
        .collect();
        write!(f, "{} incomplete", self.missing().saturating_add(self.unended))?;
        if reasons.is_empty() { Ok(()) } else { write!(f, " ({})", reasons.join(", ")) }
    }
}

/// Conditions under which a trace was recorded; stored in the trace file with the events.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CaptureConditions {
    /// Name and version of the program that wrote the trace.
    pub software: String,
    /// Source of the events, such as `ebpf requests`, `tracefs` or `blktrace file`.
    pub source: String,
    /// Position of the file in its capture; `None` if the writer does not report it.
    pub part: Option<CapturePart>,
    /// Width of a capture step in nanoseconds, if only totals per stream and step were kept; `None`
    /// if every I/O was kept.
    pub step_ns: Option<u64>,
    /// Number of equal LBA ranges of each device whose reads and writes were counted in every
    /// capture step; `None` if they were not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lba_ranges: Option<u16>,
    /// Layers at which I/Os were captured.
    pub layers: Vec<Layer>,
    /// The only process whose I/Os were kept; `None` if those of all processes were.
    pub process: Option<u32>,
    /// Host name; `None` if unknown.
    pub host: Option<String>,
    /// Operating system; `None` if unknown.
    pub operating_system: Option<String>,
    /// Kernel release; `None` if unknown.
    pub kernel: Option<String>,
    /// Captured devices; [`IoEvent::device`] is an index into this list.
    pub devices: Vec<CapturedDevice>,
    /// Wall-clock time at which the capture began, in nanoseconds since 1970 (UTC); `None` if the
    /// source has only relative times.
    pub began_unix_ns: Option<u64>,
    /// Time zone of the host when the capture began, and its changes during the capture; `None` if
    /// the source does not report it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone: Option<TimeZone>,
    /// Name that the user gave the captured workload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// Comment that the user gave.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// True if times are coarser than the gaps between I/Os, so that neither queue depth nor busy
    /// time can be derived from them.
    pub rounded_times: bool,
    /// Length of the capture in nanoseconds.
    pub lasted_ns: u64,
    /// Events lost because the kernel's buffer was full.
    pub lost: u64,
    /// Probe runs that the kernel skipped. Each is an I/O that is missing or was seen only in part.
    pub skipped: u64,
    /// I/Os that are not among the events because they were seen only in part.
    pub unfinished: u64,
    /// All I/Os seen only in part, by reason; `None` if the source does not report it.
    pub in_part: Option<IncompleteIos>,
    /// Reads and writes that the source cannot see: description and count.
    pub unseen: Vec<(String, u64)>,
    /// CPU time of the capture itself in nanoseconds, in the kernel and in user space; `None` if
    /// unknown.
    #[schemars(with = "Option<(Option<u64>, u64)>")]
    pub cost_ns: Option<CaptureCost>,
    /// Named points in time.
    pub marks: Vec<Mark>,
    /// True if threads were captured as well as processes.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub threads: bool,
    /// True if the busy time of each capture step was recorded in place of single I/Os.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub busy_time: bool,
    /// Cgroups of the processes that submitted I/Os; `None` if cgroups were not captured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cgroups: Option<Vec<CapturedCgroup>>,
    /// Merged and split requests per device, in the order of `devices`; `None` if they were not
    /// counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merging: Option<Vec<MergeCounts>>,
    /// Number of files with a stored path and of files without one; `None` if paths were not
    /// captured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paths: Option<(u64, u64)>,
    /// Paths of files; a trace stores them separately from the conditions.
    #[serde(skip)]
    pub files: Arc<Vec<FileName>>,
    /// Readings of the host's processor time in order; empty if there are none. A file stores them
    /// separately from the conditions, and each file of a rotated capture only those of its time.
    #[serde(skip)]
    pub processors: Arc<Vec<ProcessorReading>>,
    /// Compression ratio of the written data; `None` if it was neither sampled nor specified.
    pub compression_ratio: Option<f64>,
    /// Share of written blocks that are duplicates; `None` unless all blocks were compared or the
    /// share was specified. Use [`CaptureConditions::duplicates`] to read it.
    pub duplicate_share: Option<f64>,
    /// Sample from which the ratio and the share were computed; `None` if no blocks were sampled.
    pub content: Option<ContentSample>,
    /// Further remarks for the reader, one sentence each.
    pub remarks: Vec<String>,
}

impl CaptureConditions {
    /// Returns the number of files of the capture that precede this one; 0 if it was not rotated.
    pub fn earlier_parts(&self) -> u64 {
        self.part.as_ref().map_or(0, |part| u64::from(part.first.saturating_sub(1)))
    }

    /// Returns the share of written blocks that are duplicates. Earlier versions stored the share
    /// of a sample in `duplicate_share` as if it were the share of all blocks.
    pub fn duplicates(&self) -> Option<Share> {
        match self.content {
            Some(content) => content.duplicate_share(),
            None => self.duplicate_share.map(Share::Exact),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_names_are_truncated_like_in_the_kernel() {
        assert_eq!(CommandName::new("postgres").to_string(), "postgres");
        assert_eq!(CommandName::new("a-name-that-is-too-long").to_string(), "a-name-that-is-");
        assert!(CommandName::default().is_empty());
    }

    #[test]
    fn a_sample_takes_the_place_of_the_share_that_earlier_versions_stored() {
        let content =
            ContentSample { every: 100, blocks: 1000, duplicates: 18, ..Default::default() };
        let conditions = CaptureConditions {
            duplicate_share: Some(0.5),
            content: Some(content),
            ..CaptureConditions::default()
        };
        assert_eq!(conditions.duplicates(), Some(Share::AtLeast(0.018)));
    }

    #[test]
    fn incomplete_ios_are_listed_by_reason() {
        assert_eq!(IncompleteIos::default().to_string(), "0 incomplete");
        let part = IncompleteIos { begun_before: 3, unended: 9, too_many: 0 };
        assert_eq!(
            part.to_string(),
            "12 incomplete (3 omitted: issued before the capture, 9 without a response time: \
             completion missing)"
        );
    }

    #[test]
    fn operations_are_found_by_their_number() {
        for op in IoOp::ALL {
            assert_eq!(IoOp::from_number(op as u8), Some(op));
        }
        assert_eq!(IoOp::from_number(5), None);
    }
}
