//! How to capture, and what.

use steadfast_domain::io_event::Layer;

/// The most devices that one capture listens to.
pub const DEVICES_MAX: usize = 16;

/// The shortest and the longest capture step, in nanoseconds.
pub const STEP_NS: std::ops::RangeInclusive<u64> = 100_000..=3_600_000_000_000;

/// Default size of the buffer between kernel and reader: what a processor that
/// completes 160,000 I/Os a second fills in a tenth of a second, or more.
pub fn usual_buffer() -> u32 {
    // SAFETY: asks for a number.
    let processors = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_CONF) };
    let mebibytes = u32::try_from(processors).unwrap_or(1).clamp(16, 1024);
    (mebibytes << 20).next_power_of_two()
}

/// A block device to listen to: a disk, or a partition of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listened {
    /// The kernel's name.
    pub name: String,
    /// Major and minor number of the disk.
    pub number: (u32, u32),
    /// Where it lies on the disk, in sectors of 512 bytes: [`WHOLE_DISK`], or a
    /// partition. Offsets count from the disk's beginning in any case.
    pub sectors: std::ops::Range<u64>,
    /// It has no request queue: its I/Os are seen as bios (zram,
    /// device-mapper, md).
    pub bio_based: bool,
    /// Every file system that may lie on it; used at the file-system layer.
    pub file_systems: Vec<FileSystem>,
}

/// A place for a file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSystem {
    /// Major and minor number, as its super block has it.
    pub number: (u32, u32),
    /// What is mounted from it (`ext4`), where something is.
    pub kind: Option<String>,
}

/// All sectors of a disk.
pub const WHOLE_DISK: std::ops::Range<u64> = 0..u64::MAX;

/// How to capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// What to listen to; events carry the index into this.
    pub devices: Vec<Listened>,
    /// Where to listen; at least one.
    pub layers: Vec<Layer>,
    /// Capture only I/Os that this process submitted.
    pub process: Option<u32>,
    /// Keep command names; process numbers are kept in any case.
    pub commands: bool,
    /// Keep only the I/O streams of every capture step of this width in
    /// nanoseconds, added up in the kernel: [`crate::Capture::take_steps`] hands them
    /// out, and no event comes.
    pub step_ns: Option<u64>,
    /// Memory between kernel and reader, in bytes: a power of two, shared out
    /// evenly among the processors.
    pub ring_bytes: u32,
    /// Which source; `None` takes the best that works here.
    pub source: Option<SourceName>,
    /// Where the file-system layer is seen; `None` takes the best that works
    /// here.
    pub files: Option<FilesWay>,
    /// Find the paths of files (file-system layer).
    pub paths: bool,
    /// Tell the cgroup of every I/O's process.
    pub cgroups: bool,
    /// Count merged and split requests (block layer).
    pub merges: bool,
}

/// Where events come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceName {
    /// BPF programs at the block layer's tracepoints.
    Ebpf,
    /// The kernel's own trace buffers.
    Tracefs,
}

/// Where the file-system layer is seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilesWay {
    /// The file systems' own functions (ext4, xfs, btrfs): whoever asks.
    EntryPoints,
    /// System calls and io_uring: any file system, what programs ask.
    Calls,
}
