//! An [`IoEvent`]: one I/O that a server did, as a capture saw it. Captures
//! make them, traces keep them, analyses fold them.

use crate::histogram::QuarterHistogram;
use crate::units::{Bytes, UnitError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// What a captured I/O did.
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
    schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum IoOp {
    /// Read data.
    #[default]
    Read = 0,
    /// Wrote data.
    Write = 1,
    /// Deallocated blocks (ATA TRIM, SCSI UNMAP, NVMe Deallocate, write zeroes with unmap).
    Discard = 2,
    /// Flushed the volatile write cache.
    Flush = 3,
    /// Anything else that the kernel passes to a device.
    Other = 4,
}

impl IoOp {
    /// Every operation, in the order in which tables list them.
    pub const ALL: [IoOp; 5] = [IoOp::Read, IoOp::Write, IoOp::Discard, IoOp::Flush, IoOp::Other];
    /// The operation of a number in a file; `None` for a number that has none.
    pub fn of_number(number: u8) -> Option<IoOp> {
        IoOp::ALL.get(usize::from(number)).copied()
    }
    /// One letter, as block traces write it: `R`, `W`, `D`, `F`, `N`.
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
    /// Somebody waits for it (`REQ_SYNC`).
    pub const SYNC: u16 = 1 << 0;
    /// Forced unit access.
    pub const FUA: u16 = 1 << 1;
    /// A cache flush goes before it (`REQ_PREFLUSH`).
    pub const PREFLUSH: u16 = 1 << 2;
    /// File-system metadata (`REQ_META`).
    pub const META: u16 = 1 << 3;
    /// Read ahead of need (`REQ_RAHEAD`).
    pub const READ_AHEAD: u16 = 1 << 4;
    /// The kernel's writeback submitted it, not the process that dirtied the page.
    pub const WRITEBACK: u16 = 1 << 5;
    /// It failed.
    pub const FAILED: u16 = 1 << 6;
    /// It was requeued at least once.
    pub const REQUEUED: u16 = 1 << 7;
    /// File-system layer: bypasses the page cache (`O_DIRECT`).
    pub const DIRECT: u16 = 1 << 8;

    /// Every flag with its name, as tables have it.
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

    /// The names of the flags that are set.
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

/// Where in the storage stack a capture listened.
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
    schemars::JsonSchema,
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

/// A command name as the kernel keeps it: up to 15 bytes, padded with zeros.
/// All zeros where it was left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Command(pub [u8; 16]);

impl Command {
    /// A name, cut at 15 bytes.
    pub fn new(name: &str) -> Self {
        let mut bytes = [0; 16];
        for (to, from) in bytes.iter_mut().zip(name.bytes().take(15)) {
            *to = from;
        }
        Command(bytes)
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0[0] == 0
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let length = self.0.iter().position(|byte| *byte == 0).unwrap_or(self.0.len());
        f.write_str(&String::from_utf8_lossy(&self.0[..length]))
    }
}

/// One I/O, put together from everything that was seen of it. Times in
/// nanoseconds, offset and size in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IoEvent {
    /// When it was issued to the device (block layer) or entered the file
    /// system, counted from the capture's beginning.
    pub issued_ns: u64,
    /// From issue to completion. `u64::MAX` where the completion was not seen.
    pub response_ns: u64,
    /// From entering the queue to issue; 0 where the source does not tell.
    pub queued_ns: u64,
    /// First byte on the device, or in the file.
    pub offset: u64,
    /// Size.
    pub bytes: u32,
    /// I/Os outstanding on the device when it was issued, itself included; 0
    /// where the source does not tell.
    pub depth: u32,
    /// Process that submitted it; 0 where unknown.
    pub pid: u32,
    /// Thread of the process; 0 where unknown.
    pub tid: u32,
    /// Cgroup of the process: the place in [`CaptureConditions::cgroups`], counted from
    /// 1; 0 where unknown.
    pub cgroup: u16,
    /// Block layer: requests that the kernel merged into it, beside its first.
    pub merged: u16,
    /// Processor that issued it.
    pub cpu: u16,
    /// Bits of [`flags`].
    pub flags: u16,
    /// Which device: an index into [`CaptureConditions::devices`].
    pub device: u16,
    /// What it did.
    pub op: IoOp,
    /// Where it was seen.
    pub layer: Layer,
    /// Command name of the process.
    pub command: Command,
    /// Name of the thread; empty where it has that of its process.
    pub thread: Command,
    /// File-system layer: inode of the file; 0 elsewhere.
    pub inode: u64,
    /// What was measured of the blocks that it wrote; nothing where none was sampled.
    pub content: Content,
}

/// What was measured of some of the blocks that an I/O wrote.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Content {
    /// Blocks that were read back.
    pub blocks: u16,
    /// Those equal to one that had been read before.
    pub duplicates: u16,
    /// Their bytes.
    pub bytes: u32,
    /// Their bytes, each block compressed.
    pub compressed_bytes: u32,
}

impl Content {
    /// Adds what was measured of further blocks.
    pub fn add(&mut self, more: Content) {
        self.blocks = self.blocks.saturating_add(more.blocks);
        self.duplicates = self.duplicates.saturating_add(more.duplicates);
        self.bytes = self.bytes.saturating_add(more.bytes);
        self.compressed_bytes = self.compressed_bytes.saturating_add(more.compressed_bytes);
    }
}

/// [`IoEvent::response_ns`] of an I/O whose completion was not seen.
pub const RESPONSE_UNKNOWN: u64 = u64::MAX;

impl IoEvent {
    /// When it completed; `None` where that was not seen.
    pub fn completed_ns(&self) -> Option<u64> {
        (self.response_ns != RESPONSE_UNKNOWN)
            .then(|| self.issued_ns.saturating_add(self.response_ns))
    }
}

/// One I/O stream in one capture step, added up while it was captured. Several
/// of the same step and stream belong together: they add up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StreamInStep {
    /// Number of the step, from the capture's beginning.
    pub step: u64,
    /// Which device: an index into [`CaptureConditions::devices`].
    pub device: u16,
    /// Where they were seen.
    pub layer: Layer,
    /// What the I/Os did.
    pub op: IoOp,
    /// They were sequential.
    pub sequential: bool,
    /// Their size.
    pub bytes: u32,
    /// How many they were.
    pub ios: u64,
    /// How many failed.
    pub failed: u64,
    /// How many whose completion was seen.
    pub responses: u64,
    /// The response times of these added up, in nanoseconds.
    pub response_sum_ns: u64,
    /// The longest, in nanoseconds.
    pub response_max_ns: u64,
    /// Queue depths at issue, itself included, added up.
    pub depth_sum: u64,
    /// The deepest.
    pub depth_max: u32,
    /// All offsets combined by OR: its trailing zeros are the alignment.
    pub offsets: u64,
}

impl StreamInStep {
    /// What tells it from others: step, device, layer, operation, order and size.
    pub fn key(&self) -> (u64, u16, Layer, IoOp, bool, u32) {
        (self.step, self.device, self.layer, self.op, self.sequential, self.bytes)
    }
    /// Adds another part of the same stream in the same step.
    pub fn merge(&mut self, other: &StreamInStep) {
        self.ios += other.ios;
        self.failed += other.failed;
        self.responses += other.responses;
        self.response_sum_ns = self.response_sum_ns.saturating_add(other.response_sum_ns);
        self.response_max_ns = self.response_max_ns.max(other.response_max_ns);
        self.depth_sum = self.depth_sum.saturating_add(other.depth_sum);
        self.depth_max = self.depth_max.max(other.depth_max);
        self.offsets |= other.offsets;
    }
}

/// Response times of one I/O stream over a part of a capture, whatever the step.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StreamResponses {
    /// Which device: an index into [`CaptureConditions::devices`].
    pub device: u16,
    /// Where they were seen.
    pub layer: Layer,
    /// What the I/Os did.
    pub op: IoOp,
    /// They were sequential.
    pub sequential: bool,
    /// Their size.
    pub bytes: u32,
    /// I/Os by response time.
    pub histogram: QuarterHistogram,
}

/// A device that was listened to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct CapturedDevice {
    /// The kernel's name: `nvme0n1`; for imported traces, as the source names it.
    pub name: String,
    /// The host it belongs to, where captures of several hosts are read together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Model number.
    pub model: Option<String>,
    /// Serial number.
    pub serial: Option<String>,
    /// Size; `None` where the source does not tell.
    pub capacity: Option<Bytes>,
    /// Logical sector size in bytes.
    pub logical_sector: Option<u32>,
}

/// A cgroup whose processes did I/Os.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct CapturedCgroup {
    /// The kernel's number of it.
    pub id: u64,
    /// Its path below the root of its hierarchy; `None` where it was gone before it
    /// could be asked for.
    pub path: Option<String>,
    /// The host it belongs to, where captures of several hosts are read together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
}

/// Requests that the kernel merged, and split, on a device.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(default)]
pub struct Merging {
    /// Requests that were merged into the I/O of another one.
    pub merged: u64,
    /// Times that a request was split, for it was too large for the device or crossed a
    /// bound of it.
    pub split: u64,
}

/// The path of a file whose I/Os were captured at the file-system layer.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FileName {
    /// Which device: an index into [`CaptureConditions::devices`].
    pub device: u16,
    /// Its inode; unlike in each of several file systems on one device.
    pub inode: u64,
    /// Its path, as the capture found it.
    pub path: String,
}

/// Number of an inode's file that nobody knows.
pub const UNKNOWN_FILE: u64 = 0xffff;
/// Bits of an inode; those above it number the files that had it one after the other.
const INODE_BITS: u32 = 48;

/// Returns the number under which a file stands in a trace: its inode, for all but the first
/// file (0) of that inode with the file's number above it. 0 if there is no room for it, which
/// stands for no file.
pub fn numbered_inode(inode: u64, file: u64) -> u64 {
    if file == 0 {
        return inode;
    }
    if inode >> INODE_BITS > 0 { 0 } else { file.min(UNKNOWN_FILE) << INODE_BITS | inode }
}

/// Returns the inode and the number of its file, from the number under which it stands in a trace.
/// An inode beyond 48 bits is taken apart wrongly, but has never more than one file.
pub fn inode_and_file(number: u64) -> (u64, u64) {
    (number & ((1 << INODE_BITS) - 1), number >> INODE_BITS)
}

/// Paths by device and inode: those of several file systems on one device, where both
/// have a file of this inode, with "or" between them.
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

/// The zone of a host's clock when a capture began.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct Zone {
    /// How far its clock is ahead of UTC, in seconds.
    pub offset_s: i32,
    /// What the host calls it: `CET`.
    pub name: Option<String>,
    /// Changes to or from summer time during the capture, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<ZoneChange>,
}

/// A change of a host's clock to or from summer time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct ZoneChange {
    /// When, in seconds since 1970 (UTC).
    pub at_unix_s: u64,
    /// How far the clock is ahead of UTC from then on, in seconds.
    pub offset_s: i32,
    /// What the host calls that.
    pub name: Option<String>,
}

impl Zone {
    /// One whose clock never changes.
    pub fn fixed(offset_s: i32, name: Option<&str>) -> Zone {
        Zone { offset_s, name: name.map(str::to_owned), changes: Vec::new() }
    }
    /// `+01:00`.
    pub fn offset(&self) -> String {
        let (sign, minutes) =
            (if self.offset_s < 0 { '-' } else { '+' }, self.offset_s.unsigned_abs() / 60);
        format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
    }
}

impl FromStr for Zone {
    type Err = UnitError;
    /// `UTC`, `+01:00`, `-0330`, `+9`.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let wrong = || UnitError {
            text: text.to_owned(),
            wanted: "a zone",
            example: "UTC, +01:00 or -03:30",
        };
        if ["UTC", "Z"].iter().any(|name| text.eq_ignore_ascii_case(name)) {
            return Ok(Zone::fixed(0, Some("UTC")));
        }
        let sign = match text.as_bytes().first() {
            Some(b'+') => 1,
            Some(b'-') => -1,
            _ => return Err(wrong()),
        };
        let digits = text[1..].replace(':', "");
        let (hours, minutes) = match digits.len() {
            1 | 2 => (digits.as_str(), "0"),
            4 => digits.split_at(2),
            _ => return Err(wrong()),
        };
        let part = |text: &str, below: i32| {
            let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse::<i32>().ok().filter(|number| is_number && *number < below)
        };
        let (hours, minutes) = part(hours, 15).zip(part(minutes, 60)).ok_or_else(wrong)?;
        Ok(Zone::fixed(sign * (hours * 3600 + minutes * 60), None))
    }
}

/// `CET (UTC+01:00)`, `UTC-03:30`.
impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let offset = format!("UTC{}", self.offset());
        match self.name.as_deref() {
            Some("UTC") if self.offset_s == 0 => f.write_str("UTC"),
            Some(name) => write!(f, "{name} ({offset})"),
            None => f.write_str(&offset),
        }
    }
}

/// A named moment of a capture.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Mark {
    /// Counted from the capture's beginning, in nanoseconds.
    pub at_ns: u64,
    /// Its name.
    pub name: String,
}

/// Which files of a capture a file is: a capture that was rotated has several.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct CapturePart {
    /// What tells the capture from every other.
    pub capture: String,
    /// The number of this file, from 1; of several put together, that of the first.
    pub first: u32,
    /// The same, or that of the last.
    pub last: u32,
}

/// I/Os that a capture saw only in part, by the reason.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(default)]
pub struct SeenInPart {
    /// Issued before the capture began: only their completion was seen.
    pub begun_before: u64,
    /// Their completion was not seen. They are among the events, without a
    /// response time.
    pub unended: u64,
    /// Too many I/Os were under way at once to follow them all.
    pub too_many: u64,
}

impl SeenInPart {
    /// Those that are not among the events.
    pub fn missing(&self) -> u64 {
        self.begun_before + self.too_many
    }
}

/// `12 incomplete (3 left out: issued before the capture, 9 without a response
/// time: completion not seen)`.
impl fmt::Display for SeenInPart {
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
        write!(f, "{} incomplete", self.missing() + self.unended)?;
        if reasons.is_empty() { Ok(()) } else { write!(f, " ({})", reasons.join(", ")) }
    }
}

/// What was measured of written blocks of 4 KiB, a few for all.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(default)]
pub struct ContentSample {
    /// One block in so many was asked for.
    pub every: u64,
    /// Blocks that were read back.
    pub blocks: u64,
    /// Their bytes: of a write below 4 KiB, all of it.
    pub bytes: u64,
    /// Their bytes, each block compressed by zstd, level 1, where that is shorter.
    pub compressed_bytes: u64,
    /// Those equal to one that had been read before.
    pub duplicates: u64,
    /// Blocks that were not read, because too many waited.
    pub passed_over: u64,
    /// Blocks that could not be read.
    pub unreadable: u64,
    /// Blocks that were read back too late to be counted with their I/O: they are in
    /// these sums alone.
    pub late: u64,
    /// Of a part of a capture that did not compare every block with every other one: the
    /// share of duplicates is a lower bound, however few blocks the part has.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub bound: bool,
}

impl ContentSample {
    /// How many times shorter they become.
    pub fn compression_ratio(&self) -> Option<f64> {
        (self.compressed_bytes > 0).then(|| self.bytes as f64 / self.compressed_bytes as f64)
    }

    /// The share of duplicates among them.
    pub fn duplicate_share(&self) -> Option<Share> {
        let share = || self.duplicates as f64 / self.blocks as f64;
        (self.blocks > 0).then(|| match self.is_complete() {
            true => Share::Exact(share()),
            false => Share::AtLeast(share()),
        })
    }

    /// Whether the shares of duplicates among the I/Os' own blocks are exact too.
    pub fn tells_parts_exactly(&self) -> bool {
        self.is_complete() && self.late == 0
    }

    /// Whether every written block was compared with every other one. A duplicate
    /// shows only where both of a pair are read, of one block in N that is one
    /// pair in N squared.
    fn is_complete(&self) -> bool {
        let compared = self.blocks - self.duplicates.min(self.blocks) <= FINGERPRINTS;
        let all_read = self.every == 1 && self.passed_over == 0 && self.unreadable == 0;
        all_read && compared && !self.bound
    }
}

/// Blocks that others are compared with, at most.
pub const FINGERPRINTS: u64 = 1 << 20;

/// A share of a whole, from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Share {
    /// As measured.
    Exact(f64),
    /// It is this or more.
    AtLeast(f64),
}

impl Share {
    /// The share, where it is known.
    pub fn exact(self) -> Option<f64> {
        match self {
            Share::Exact(share) => Some(share),
            Share::AtLeast(_) => None,
        }
    }
}

/// `28.0 %`, `>= 1.8 %`.
impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Share::Exact(share) => write!(f, "{:.1} %", share * 100.0),
            Share::AtLeast(share) => write!(f, ">= {:.1} %", share * 100.0),
        }
    }
}

impl fmt::Display for ContentSample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} written blocks of 4 KiB (1 in {}) read back", self.blocks, self.every)?;
        match (self.passed_over, self.unreadable) {
            (0, 0) => Ok(()),
            (passed_over, unreadable) => {
                write!(f, ", {passed_over} passed over, {unreadable} unreadable")
            }
        }
    }
}

/// How a trace came about: kept in the file with the events.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct CaptureConditions {
    /// Name and version of the program that wrote the trace.
    pub software: String,
    /// Where the events come from: `ebpf requests`, `tracefs`, `blktrace file`, ...
    pub source: String,
    /// Which file of the capture it is; `None` where the writer does not tell.
    pub part: Option<CapturePart>,
    /// Width of a capture step in nanoseconds, where only the streams of every
    /// step were kept; `None` where every I/O was.
    pub step_ns: Option<u64>,
    /// Layers that were listened to.
    pub layers: Vec<Layer>,
    /// The only process whose I/Os were kept; `None` where those of all were.
    pub process: Option<u32>,
    /// Host name.
    pub host: Option<String>,
    /// Operating system.
    pub operating_system: Option<String>,
    /// Kernel release.
    pub kernel: Option<String>,
    /// The devices; events point here.
    pub devices: Vec<CapturedDevice>,
    /// Wall-clock beginning, in nanoseconds since 1970 (UTC); `None` where the
    /// source has only relative times.
    pub began_unix_ns: Option<u64>,
    /// The zone of the host's clock at the beginning, and its changes since; `None` where the
    /// source does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone: Option<Zone>,
    /// What the user called the captured workload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// What the user said about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Times are coarser than what lies between two I/Os: neither queue depth
    /// nor busy time can be counted from them.
    pub rounded_times: bool,
    /// From beginning to end.
    pub lasted_ns: u64,
    /// Events that the kernel had no room for.
    pub lost: u64,
    /// Times that the kernel did not let the capture look, each an I/O that is
    /// missing or was seen only in part.
    pub skipped: u64,
    /// I/Os seen only in part that are therefore not among the events.
    pub unfinished: u64,
    /// All I/Os seen only in part, by the reason; `None` where the source does not tell.
    pub in_part: Option<SeenInPart>,
    /// Reads and writes that the source cannot see: what, and how many.
    pub unseen: Vec<(String, u64)>,
    /// Processor time of the capture itself: kernel and user, in nanoseconds.
    pub cost_ns: Option<(u64, u64)>,
    /// Named moments.
    pub marks: Vec<Mark>,
    /// Threads were captured beside processes.
    #[serde(skip_serializing_if = "is_false")]
    pub threads: bool,
    /// The cgroups of the I/Os' processes, where they were captured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cgroups: Option<Vec<CapturedCgroup>>,
    /// Merged and split requests of each device, where they were counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merging: Option<Vec<Merging>>,
    /// Files whose paths are stored, and files without a path, where paths were captured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paths: Option<(u64, u64)>,
    /// Paths of files; a trace keeps them beside the conditions.
    #[serde(skip)]
    pub files: Arc<Vec<FileName>>,
    /// Compression ratio of written data, where it was sampled or told.
    pub compression_ratio: Option<f64>,
    /// Share of written blocks that are duplicates, where it was measured of all
    /// blocks or told. Read it with [`CaptureConditions::duplicates`].
    pub duplicate_share: Option<f64>,
    /// What the ratio and the share come from, where blocks were sampled.
    pub content: Option<ContentSample>,
    /// Everything else that a reader should know: one sentence each.
    pub remarks: Vec<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

impl CaptureConditions {
    /// Files of the capture that come before these; 0 where it was not rotated.
    pub fn earlier_parts(&self) -> u64 {
        self.part.as_ref().map_or(0, |part| u64::from(part.first.saturating_sub(1)))
    }

    /// The share of written blocks that are duplicates. Earlier versions kept that
    /// of a sample as if it were the share of all.
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
    fn commands_are_cut_where_the_kernel_cuts_them() {
        assert_eq!(Command::new("postgres").to_string(), "postgres");
        assert_eq!(Command::new("a-name-that-is-too-long").to_string(), "a-name-that-is-");
        assert!(Command::default().is_empty());
    }

    #[test]
    fn a_content_sample_says_what_it_left_out() {
        let sample = ContentSample { every: 7, blocks: 101, ..ContentSample::default() };
        assert_eq!(sample.to_string(), "101 written blocks of 4 KiB (1 in 7) read back");
        let said = ContentSample { passed_over: 3, ..sample }.to_string();
        assert!(said.ends_with("read back, 3 passed over, 0 unreadable"), "{said}");
        assert_eq!(sample.compression_ratio(), None);
    }

    #[test]
    fn duplicates_of_a_sample_are_a_lower_bound() {
        let all = ContentSample { every: 1, blocks: 1000, duplicates: 400, ..Default::default() };
        assert_eq!(all.duplicate_share(), Some(Share::Exact(0.4)));
        let sample = ContentSample { every: 100, duplicates: 18, ..all };
        let share = sample.duplicate_share().unwrap();
        assert_eq!((share.exact(), share.to_string()), (None, ">= 1.8 %".to_owned()));
        let with_gaps = [
            ContentSample { passed_over: 1, ..all },
            ContentSample { unreadable: 1, ..all },
            ContentSample { bound: true, ..all },
        ];
        assert!(with_gaps.iter().all(|some| some.duplicate_share() == Some(Share::AtLeast(0.4))));
        let too_many = ContentSample { blocks: FINGERPRINTS + 401, ..all };
        assert!(too_many.duplicate_share().unwrap().exact().is_none());
        assert_eq!(ContentSample::default().duplicate_share(), None);
        // A file of an earlier version.
        let conditions = CaptureConditions {
            duplicate_share: Some(0.018),
            content: Some(sample),
            ..CaptureConditions::default()
        };
        assert_eq!(conditions.duplicates(), Some(Share::AtLeast(0.018)));
    }

    #[test]
    fn incomplete_ios_are_listed_by_reason() {
        assert_eq!(SeenInPart::default().to_string(), "0 incomplete");
        let part = SeenInPart { begun_before: 3, unended: 9, too_many: 0 };
        assert_eq!(
            part.to_string(),
            "12 incomplete (3 omitted: issued before the capture, 9 without a response time: \
             completion missing)"
        );
    }

    #[test]
    fn zones_are_read_and_printed() {
        for (text, offset_s, printed) in [
            ("UTC", 0, "UTC"),
            ("+01:00", 3600, "UTC+01:00"),
            ("-0330", -12_600, "UTC-03:30"),
            ("+9", 32_400, "UTC+09:00"),
        ] {
            let zone: Zone = text.parse().unwrap();
            assert_eq!((zone.offset_s, zone.to_string()), (offset_s, printed.to_owned()));
        }
        for text in ["", "CET", "+", "+15:00", "+01:60", "01:00", "+1:0:0", "+é"] {
            assert!(text.parse::<Zone>().is_err(), "{text}");
        }
        let named = Zone::fixed(3600, Some("CET"));
        assert_eq!(named.to_string(), "CET (UTC+01:00)");
    }

    #[test]
    fn operations_are_found_by_their_number() {
        for op in IoOp::ALL {
            assert_eq!(IoOp::of_number(op as u8), Some(op));
        }
        assert_eq!(IoOp::of_number(5), None);
    }
}
