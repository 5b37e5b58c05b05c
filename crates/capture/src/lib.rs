//! Captures what a server does to its storage: eBPF where the kernel has it,
//! tracefs elsewhere. The only crate that attaches probes.
//!
//! A [`Capture`] listens to block devices from [`Capture::begin`] on; its
//! owner takes the I/Os that have completed many times a second with
//! [`Capture::take`], and asks at the end what was lost and what it cost.
#![warn(missing_docs)]

mod content;
#[cfg(feature = "ebpf")]
mod ebpf;
mod error;
mod tracefs;

pub use content::{ContentSampler, SampledDevice};
pub use error::CaptureError;
pub use tracefs::remove_left_behind;

use steadfast_domain::IoEvent;
use steadfast_domain::io_event::{Layer, SeenInPart, StreamInStep, StreamResponses};

/// The most devices that one capture listens to.
pub const DEVICES_MAX: usize = 16;

/// The shortest and the longest capture step, in nanoseconds.
pub const STEP_NS: std::ops::RangeInclusive<u64> = 100_000..=3_600_000_000_000;

/// Memory between kernel and reader where nobody says how much: what a processor
/// that completes 160,000 I/Os a second fills in a tenth of a second, or more.
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
    /// Only I/Os that this process submitted.
    pub process: Option<u32>,
    /// Keep command names; process numbers are kept in any case.
    pub commands: bool,
    /// Keep only the I/O streams of every capture step of this width in
    /// nanoseconds, added up in the kernel: [`Capture::take_steps`] hands them
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

/// What a capture counted beside the events.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counters {
    /// Completed I/Os that there was no room for.
    pub lost: u64,
    /// Runs of the probes that the kernel skipped, because one was already
    /// running on that processor: each an I/O that is missing or seen in part.
    pub skipped: u64,
    /// I/Os seen only in part.
    pub in_part: SeenInPart,
    /// Ways of I/O that the source cannot follow: what, and how many.
    pub unseen: Vec<(String, u64)>,
    /// Completions of a part of an I/O; the whole is counted once.
    pub partial_completions: u64,
    /// Times that the kernel queued an issued I/O again.
    pub requeues: u64,
    /// Time that the probes took in the kernel, in nanoseconds; `None` where
    /// it was not measured.
    pub kernel_ns: Option<u64>,
    /// How often they ran while that was measured.
    pub kernel_runs: u64,
}

impl Counters {
    /// What several sources counted.
    fn and(mut self, other: Counters) -> Counters {
        self.lost += other.lost;
        self.skipped += other.skipped;
        self.in_part.begun_before += other.in_part.begun_before;
        self.in_part.unended += other.in_part.unended;
        self.in_part.too_many += other.in_part.too_many;
        self.unseen.extend(other.unseen);
        self.partial_completions += other.partial_completions;
        self.requeues += other.requeues;
        self.kernel_ns = match (self.kernel_ns, other.kernel_ns) {
            (Some(ours), Some(theirs)) => Some(ours + theirs),
            (ours, theirs) => ours.or(theirs),
        };
        self.kernel_runs += other.kernel_runs;
        self
    }
}

/// A source of events.
trait Source {
    fn describe(&self) -> String;
    fn begin(&mut self, at_ns: u64) -> Result<(), CaptureError>;
    fn take(&mut self, into: &mut Vec<IoEvent>) -> Result<(), CaptureError>;
    /// How full its fullest buffer was when it was taken, where that is known.
    fn fullness(&self) -> Option<f64> {
        None
    }
    /// What is issued from now on is not recorded.
    fn close(&mut self) -> Result<(), CaptureError>;
    /// Waits a while for what was issued before, and hands out the rest: at
    /// last what was issued and whose completion was not seen.
    fn end(&mut self, into: &mut Vec<IoEvent>) -> Result<(), CaptureError>;
    /// Where only capture steps are wanted.
    fn take_steps(&mut self, _into: &mut Vec<StreamInStep>) -> Result<(), CaptureError> {
        Ok(())
    }
    /// The response times of the steps that were taken.
    fn take_responses(&mut self, _into: &mut Vec<StreamResponses>) {}
    fn counters(&mut self) -> Result<Counters, CaptureError>;
}

/// A capture under way. It ends when it is dropped.
pub struct Capture {
    /// One per layer.
    sources: Vec<Box<dyn Source>>,
    began_monotonic_ns: u64,
    closed_monotonic_ns: Option<u64>,
    remarks: Vec<String>,
}

impl Capture {
    /// Begins to listen.
    ///
    /// # Errors
    /// Where no source works here, with the reason and the remedy of each.
    pub fn begin(options: &Options) -> Result<Capture, CaptureError> {
        check(options)?;
        let mut opened = Vec::new();
        if options.layers.contains(&Layer::Block) {
            opened.push(open(options)?);
        }
        if options.layers.contains(&Layer::FileSystem) {
            opened.push(open_files(options)?);
        }
        let (mut sources, remarks): (Vec<_>, Vec<_>) = opened.into_iter().unzip();
        let remarks = remarks.into_iter().flatten().collect();
        let began_monotonic_ns = monotonic_ns();
        sources.iter_mut().try_for_each(|source| source.begin(began_monotonic_ns))?;
        Ok(Capture { sources, began_monotonic_ns, closed_monotonic_ns: None, remarks })
    }
    /// Which sources they are, in one line.
    pub fn describe(&self) -> String {
        let each: Vec<String> = self.sources.iter().map(|source| source.describe()).collect();
        each.join("; ")
    }
    /// Why a source is not the best, where it is not.
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }
    /// From its beginning until now, or until it was ended.
    pub fn lasted_ns(&self) -> u64 {
        let until = self.closed_monotonic_ns.unwrap_or_else(monotonic_ns);
        until.saturating_sub(self.began_monotonic_ns)
    }
    /// Ends it: what is issued from now on is not recorded, what was issued
    /// before is waited for, half a second at most per layer. Appends the rest;
    /// an I/O whose completion was not seen has no response time.
    ///
    /// # Errors
    /// Where the source has broken.
    pub fn end(&mut self, into: &mut Vec<IoEvent>) -> Result<(), CaptureError> {
        self.sources.iter_mut().try_for_each(|source| source.close())?;
        self.closed_monotonic_ns = Some(monotonic_ns());
        self.sources.iter_mut().try_for_each(|source| source.end(into))
    }
    /// Appends the I/Os that have completed since the last call, layer by layer
    /// and processor by processor of their completion.
    ///
    /// # Errors
    /// Where the source has broken: everything taken before is right.
    pub fn take(&mut self, into: &mut Vec<IoEvent>) -> Result<(), CaptureError> {
        self.sources.iter_mut().try_for_each(|source| source.take(into))
    }
    /// How full the fullest buffer was at the last [`Self::take`], from 0 to 1;
    /// `None` where a source does not tell.
    pub fn fullness(&self) -> Option<f64> {
        let each = self.sources.iter().map(|source| source.fullness());
        each.reduce(|a, b| Some(a?.max(b?))).flatten()
    }
    /// Appends what was added up since the last call; a step may come in
    /// several parts. It waits some milliseconds for the kernel.
    ///
    /// # Errors
    /// Where the source has broken.
    pub fn take_steps(&mut self, into: &mut Vec<StreamInStep>) -> Result<(), CaptureError> {
        self.sources.iter_mut().try_for_each(|source| source.take_steps(into))
    }
    /// Appends the response times of what [`Self::take_steps`] appended since the
    /// last call of this, stream by stream, whatever the step.
    pub fn take_responses(&mut self, into: &mut Vec<StreamResponses>) {
        self.sources.iter_mut().for_each(|source| source.take_responses(into));
    }
    /// What was counted so far.
    ///
    /// # Errors
    /// Where the source has broken.
    pub fn counters(&mut self) -> Result<Counters, CaptureError> {
        let each = self.sources.iter_mut().map(|source| source.counters());
        each.reduce(|a, b| Ok(a?.and(b?))).unwrap_or_else(|| Ok(Counters::default()))
    }
}

/// Refuses options that make no sense.
///
/// # Errors
/// With what is wrong, and the remedy.
pub fn check(options: &Options) -> Result<(), CaptureError> {
    if options.devices.is_empty() || options.devices.len() > DEVICES_MAX {
        return Err(CaptureError::new(
            format!("{} devices cannot be captured at once", options.devices.len()),
            format!("name 1 to {DEVICES_MAX}"),
        ));
    }
    if let Some((one, other)) = overlap(&options.devices) {
        return Err(CaptureError::new(
            format!("{one} and {other} are the same place of one disk"),
            "name the disk, or partitions of it",
        ));
    }
    if options.layers.is_empty() {
        return Err(CaptureError::new("no layer was named", "name block, filesystem or both"));
    }
    if options.files.is_some() && !options.layers.contains(&Layer::FileSystem) {
        return Err(CaptureError::new(
            "the file-system layer is not captured",
            "name --layer filesystem, or leave out --files",
        ));
    }
    if options.step_ns.is_some() {
        check_steps(options)?;
    }
    let page = 4096;
    if !options.ring_bytes.is_power_of_two() || options.ring_bytes < page {
        return Err(CaptureError::new(
            format!("a buffer of {} bytes is not possible", options.ring_bytes),
            "give a power of two from 4 KiB to 1 GiB",
        ));
    }
    Ok(())
}

/// The first two devices that an I/O can lie on both.
fn overlap(devices: &[Listened]) -> Option<(&str, &str)> {
    let pairs = devices
        .iter()
        .enumerate()
        .flat_map(|(at, one)| devices.iter().skip(at + 1).map(move |other| (one, other)));
    let meets = |a: &Listened, b: &Listened| {
        a.number == b.number && a.sectors.start < b.sectors.end && b.sectors.start < a.sectors.end
    };
    pairs.into_iter().find(|(a, b)| meets(a, b)).map(|(a, b)| (&*a.name, &*b.name))
}

/// Only the eBPF programs add up.
fn check_steps(options: &Options) -> Result<(), CaptureError> {
    let refuse = |what: &str, remedy: &str| Err(CaptureError::new(what, remedy));
    if options.source == Some(SourceName::Tracefs) {
        return refuse("tracefs adds up no capture steps", "leave out --source, or --steps");
    }
    if !STEP_NS.contains(&options.step_ns.unwrap_or(0)) {
        return refuse("this width of a capture step is not possible", "give 100us to 1h");
    }
    Ok(())
}

type Opened = (Box<dyn Source>, Option<String>);

fn open(options: &Options) -> Result<Opened, CaptureError> {
    match options.source {
        Some(SourceName::Ebpf) => Ok((open_ebpf(options)?, None)),
        Some(SourceName::Tracefs) => Ok((open_tracefs(options)?, None)),
        None if options.step_ns.is_some() => Ok((open_ebpf(options)?, None)),
        None => match open_ebpf(options) {
            Ok(source) => Ok((source, None)),
            Err(first) => match open_tracefs(options) {
                Ok(source) => Ok((source, Some(format!("eBPF is unavailable: {first}")))),
                Err(second) => Err(CaptureError::new(
                    format!(
                        "neither eBPF ({}) nor tracefs ({}) works here",
                        first.what, second.what
                    ),
                    format!("{}; or {}", first.remedy, second.remedy),
                )),
            },
        },
    }
}

/// The file-system layer, for which there is only eBPF.
#[cfg(feature = "ebpf")]
fn open_files(options: &Options) -> Result<Opened, CaptureError> {
    if options.source == Some(SourceName::Tracefs) {
        return Err(CaptureError::new(
            "the file-system layer cannot be captured through tracefs",
            "leave out --source, or capture --layer block",
        ));
    }
    let (files, why) = ebpf::Files::open(options)?;
    Ok((Box::new(files), why))
}

#[cfg(not(feature = "ebpf"))]
fn open_files(options: &Options) -> Result<Opened, CaptureError> {
    Ok((open_ebpf(options)?, None))
}

#[cfg(feature = "ebpf")]
fn open_ebpf(options: &Options) -> Result<Box<dyn Source>, CaptureError> {
    Ok(Box::new(ebpf::Blocks::open(options)?))
}

#[cfg(not(feature = "ebpf"))]
fn open_ebpf(_: &Options) -> Result<Box<dyn Source>, CaptureError> {
    Err(CaptureError::new(
        "this program was built without eBPF",
        "build it with `make build`, or with cargo's --features ebpf",
    ))
}

fn open_tracefs(options: &Options) -> Result<Box<dyn Source>, CaptureError> {
    Ok(Box::new(tracefs::Tracefs::open(options)?))
}

/// The kernel's monotonic clock, which stamps the events.
fn monotonic_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid to write to.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
