//! Options of a capture.

use steadfast_domain::DeviceNumber;
use steadfast_domain::io_event::Layer;

/// Maximum number of devices in one capture.
pub const DEVICES_MAX: usize = 16;
/// Maximum number of LBA ranges of a device.
pub const LBA_RANGES_MAX: u16 = 1024;

/// Valid lengths of a capture step, in nanoseconds.
pub const STEP_NS: std::ops::RangeInclusive<u64> = 100_000..=3_600_000_000_000;

/// Valid sizes of the buffer between kernel and reader, in bytes.
pub const RING_BYTES: std::ops::RangeInclusive<u64> = 4 << 10..=1 << 30;

/// Returns the default size of the buffer between kernel and reader, in bytes: at least 1 MiB per
/// processor, which a processor that completes 160,000 I/Os a second fills in a tenth of a second.
/// Not less than 16 MiB and not more than 1 GiB in all.
pub fn default_buffer_bytes() -> u64 {
    // SAFETY: sysconf takes a number and returns a number.
    let processors = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_CONF) };
    let mebibytes = u64::try_from(processors).unwrap_or(1).clamp(16, 1024);
    (mebibytes << 20).next_power_of_two()
}

/// A block device to capture: a disk, or a partition of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaptureDevice {
    /// Kernel name of the device.
    pub name: String,
    /// Number of the disk.
    pub number: DeviceNumber,
    /// Range on the disk, in sectors of 512 bytes: that of the partition, or [`WHOLE_DISK`]. Event
    /// offsets are relative to the disk in either case.
    pub sectors: std::ops::Range<u64>,
    /// True if the device has no request queue, so that its I/Os are seen as bios (zram,
    /// device-mapper, md).
    pub bio_based: bool,
    /// File systems that may be on the device; used at the file-system layer.
    pub file_systems: Vec<CaptureFileSystem>,
}

/// A device number under which a file system may be mounted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaptureFileSystem {
    /// Device number, as in the super block.
    pub number: DeviceNumber,
    /// Type of the mounted file system (`ext4`); `None` if nothing is mounted.
    pub kind: Option<String>,
}

/// Range of [`CaptureDevice::sectors`] for a whole disk.
pub const WHOLE_DISK: std::ops::Range<u64> = 0..u64::MAX;

/// Options of a capture.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CaptureOptions {
    /// Devices to capture, at most [`DEVICES_MAX`]; events carry an index into this list.
    pub devices: Vec<CaptureDevice>,
    /// Layers to capture; at least one.
    pub layers: Vec<Layer>,
    /// Process to capture; `None` captures I/Os of all processes.
    pub process: Option<u32>,
    /// Record command names; process numbers are always recorded.
    pub commands: bool,
    /// Length of a capture step in nanoseconds. If set, I/Os are added up by stream and step in the
    /// kernel, [`crate::Capture::take_steps`] returns the sums, and no single I/O is recorded.
    pub step_ns: Option<u64>,
    /// Bytes of an LBA range of each device, whose reads and writes are counted in every capture
    /// step ([`crate::StepParts::ranges`]); empty counts none.
    pub range_bytes: Vec<u64>,
    /// Size of the buffer between kernel and reader in bytes: a power of two within
    /// [`RING_BYTES`], divided evenly among the processors.
    pub ring_bytes: u64,
    /// Source of the block layer's events; `None` selects the best that works on this host.
    pub source: Option<SourceName>,
    /// Way to capture the file-system layer; `None` selects the best that works on this host.
    pub files: Option<FileCaptureMode>,
    /// Find the paths of files (file-system layer).
    pub paths: bool,
    /// Record the cgroup of every I/O's process.
    pub cgroups: bool,
    /// Count merged and split requests (block layer).
    pub merges: bool,
}

/// A source of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceName {
    /// BPF programs at the block layer's tracepoints.
    Ebpf,
    /// Trace buffers of the kernel, read through tracefs.
    Tracefs,
}

/// Ways to capture the file-system layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileCaptureMode {
    /// Functions of the file systems (ext4, xfs, btrfs): I/O of any origin.
    EntryPoints,
    /// System calls and io_uring: any file system, but only I/O requested by programs.
    Calls,
}
