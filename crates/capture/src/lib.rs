//! Captures the I/Os of a server: with eBPF if the kernel has it, otherwise with tracefs. The only
//! crate that attaches probes.
//!
//! A [`Capture`] records the I/Os of block devices from [`Capture::begin`] on. Its owner takes
//! completed I/Os many times a second with [`Capture::take`], and reads losses and cost at the end
//! with [`Capture::counters`].

mod cgroups;
mod clock;
mod content;
mod counters;
#[cfg(feature = "ebpf")]
mod ebpf;
mod error;
mod handles;
mod options;
mod paths;
mod process_names;
mod tracefs;
mod tree;

pub use content::{ContentSampler, SampledDevice};
pub use counters::{CaptureCounters, StepParts};
pub use error::CaptureError;
pub use options::{
    CaptureDevice, CaptureFileSystem, CaptureOptions, DEVICES_MAX, FileCaptureMode, LBA_RANGES_MAX,
    RING_BYTES, STEP_NS, SourceName, WHOLE_DISK, default_buffer_bytes,
};
pub use tracefs::remove_left_behind;

use cgroups::Cgroups;
use clock::monotonic_ns;
use counters::EventSource;
use paths::FilePaths;
use process_names::ProcessNames;
use std::path::PathBuf;
use std::sync::Arc;
use steadfast_domain::io_event::{CapturedCgroup, FileName, Layer, MergeCounts};
use steadfast_domain::{IoEvent, Nanos};

/// A running capture. Dropping it detaches the probes.
pub struct Capture {
    /// One source per layer.
    sources: Vec<Box<dyn EventSource>>,
    began_monotonic_ns: u64,
    closed_monotonic_ns: Option<u64>,
    remarks: Vec<String>,
    names: ProcessNames,
    cgroups: Option<Cgroups>,
    paths: Option<FilePaths>,
    /// Merged requests by device; `None` if merges are not counted.
    merging: Option<Vec<MergeCounts>>,
}

impl Capture {
    /// Starts a capture.
    ///
    /// # Errors
    /// The options are invalid, or no source works on this host; the error names the reason and the
    /// remedy for each.
    pub fn begin(options: &CaptureOptions) -> Result<Capture, CaptureError> {
        check(options)?;
        let cgroup_setup = CgroupSetup::from_options(options)?;
        let (mut sources, mut remarks) = (Vec::new(), Vec::new());
        if options.layers.contains(&Layer::Block) {
            sources.push(open_block(options, &cgroup_setup, &mut remarks)?);
        }
        if options.layers.contains(&Layer::FileSystem) {
            sources.push(open_files(options, &cgroup_setup, &mut remarks)?);
        }
        remarks.extend(cgroup_setup.remark);
        let began_monotonic_ns = monotonic_ns();
        sources.iter_mut().try_for_each(|source| source.begin(began_monotonic_ns))?;
        Ok(Capture {
            sources,
            began_monotonic_ns,
            closed_monotonic_ns: None,
            remarks,
            names: ProcessNames::default(),
            cgroups: cgroup_setup.mount_point.map(Cgroups::new),
            paths: options.paths.then(|| {
                FilePaths::new(options, monotonic_ns().saturating_sub(began_monotonic_ns))
            }),
            merging: options.merges.then(|| vec![MergeCounts::default(); options.devices.len()]),
        })
    }
    /// Returns the cgroups, in the order of their numbers in events; `None` if cgroups are not
    /// captured.
    pub fn cgroups(&self) -> Option<&[CapturedCgroup]> {
        self.cgroups.as_ref().map(|cgroups| &cgroups.captured[..])
    }
    /// Returns the paths of files; `None` if paths are not captured.
    pub fn files(&self) -> Option<&Arc<Vec<FileName>>> {
        self.paths.as_ref().map(|paths| &paths.names)
    }
    /// Returns the number of files with a path and of files without; `None` if paths are not
    /// captured.
    pub fn paths(&self) -> Option<(u64, u64)> {
        self.paths.as_ref().map(FilePaths::counts)
    }
    /// Returns the merged and split requests by device, with the splits taken from `counters`;
    /// `None` if merges are not counted.
    pub fn merging(&self, counters: &CaptureCounters) -> Option<Vec<MergeCounts>> {
        let splits = counters.splits.iter().copied().chain(std::iter::repeat(0));
        let merging = self.merging.as_ref()?.iter().zip(splits);
        Some(merging.map(|(merging, split)| MergeCounts { split, ..*merging }).collect())
    }
    /// Returns one line that names the sources.
    pub fn describe(&self) -> String {
        let each: Vec<String> = self.sources.iter().map(|source| source.describe()).collect();
        each.join("; ")
    }
    /// Returns remarks: why a source is not the preferred one, and which cgroup hierarchy is
    /// captured.
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }
    /// Returns the time from the start of the capture to its end, or to now, in nanoseconds.
    pub fn lasted_ns(&self) -> u64 {
        let until = self.closed_monotonic_ns.unwrap_or_else(monotonic_ns);
        until.saturating_sub(self.began_monotonic_ns)
    }
    /// Ends the capture: I/Os issued from now on are not recorded; those issued before are waited
    /// for, half a second at most per layer. Appends the remaining events; an I/O whose completion
    /// was not seen has no response time.
    ///
    /// # Errors
    /// A source has failed.
    pub fn end(&mut self, into: &mut Vec<IoEvent>) -> Result<(), CaptureError> {
        self.sources.iter_mut().try_for_each(|source| source.close())?;
        self.closed_monotonic_ns = Some(monotonic_ns());
        self.append_from_sources(into, |source, into| source.end(into))
    }
    /// Appends the I/Os completed since the last call, by layer and by the processor of their
    /// completion.
    ///
    /// # Errors
    /// A source has failed; events taken before are valid.
    pub fn take(&mut self, into: &mut Vec<IoEvent>) -> Result<(), CaptureError> {
        self.append_from_sources(into, |source, into| source.take(into))
    }
    /// Appends the events of every source, and adds process names, cgroups, paths and merges.
    fn append_from_sources(
        &mut self,
        into: &mut Vec<IoEvent>,
        append: impl Fn(&mut dyn EventSource, &mut Vec<IoEvent>) -> Result<(), CaptureError>,
    ) -> Result<(), CaptureError> {
        let Capture { sources, names, cgroups, paths, merging, .. } = self;
        for (number, source) in sources.iter_mut().enumerate() {
            let before = into.len();
            append(source.as_mut(), into)?;
            let new = &mut into[before..];
            names.complete(new, |pid| source.kept_process_name(pid));
            if let Some(cgroups) = cgroups {
                cgroups.complete(number, source.as_ref(), new)?;
            }
            if let Some(paths) = paths {
                paths.complete(new);
            }
            if let Some(merging) = merging {
                count_merged(merging, new);
            }
        }
        Ok(())
    }
    /// Returns the fill level of the fullest buffer at the last [`Self::take`], from 0 to 1; `None`
    /// if a source does not report it.
    pub fn fullness(&self) -> Option<f64> {
        let each = self.sources.iter().map(|source| source.fullness());
        each.reduce(|a, b| Some(a?.max(b?))).flatten()
    }
    /// Appends the parts of capture steps added up since the last call. Waits some milliseconds for
    /// the kernel.
    ///
    /// # Errors
    /// A source has failed.
    pub fn take_steps(&mut self, into: &mut StepParts) -> Result<(), CaptureError> {
        let Capture { sources, names, .. } = self;
        sources.iter_mut().try_for_each(|source| source.take_steps(names, into))
    }
    /// Returns the counters so far.
    ///
    /// # Errors
    /// A source has failed.
    pub fn counters(&mut self) -> Result<CaptureCounters, CaptureError> {
        let each = self.sources.iter_mut().map(|source| source.counters());
        each.reduce(|a, b| Ok(a?.and(b?))).unwrap_or_else(|| Ok(CaptureCounters::default()))
    }
}

fn count_merged(merging: &mut [MergeCounts], events: &[IoEvent]) {
    for event in events {
        if let Some(merging) = merging.get_mut(usize::from(event.device)) {
            merging.merged += u64::from(event.merged);
        }
    }
}

/// The captured cgroup hierarchy, its mount point and a remark that names both; all `None` if
/// cgroups are not captured.
#[derive(Default)]
struct CgroupSetup {
    #[cfg(feature = "ebpf")]
    hierarchy: Option<ebpf::CgroupHierarchy>,
    mount_point: Option<PathBuf>,
    remark: Option<String>,
}

impl CgroupSetup {
    #[cfg(feature = "ebpf")]
    fn from_options(options: &CaptureOptions) -> Result<CgroupSetup, CaptureError> {
        if !options.cgroups {
            return Ok(CgroupSetup::default());
        }
        let Some((hierarchy, mount_point)) = ebpf::largest_hierarchy() else {
            return refuse(
                "no cgroup hierarchy is mounted from its root",
                "mount one (mount -t cgroup2 none /sys/fs/cgroup), or omit --cgroups",
            );
        };
        let remark = format!(
            "The cgroups are those of {} ({}).",
            mount_point.display(),
            hierarchy.describe()
        );
        Ok(CgroupSetup {
            hierarchy: Some(hierarchy),
            mount_point: Some(mount_point),
            remark: Some(remark),
        })
    }

    #[cfg(not(feature = "ebpf"))]
    fn from_options(_: &CaptureOptions) -> Result<CgroupSetup, CaptureError> {
        Ok(CgroupSetup::default())
    }
}

/// Checks that the options are valid together.
///
/// # Errors
/// An option is invalid or contradicts another; the error names the remedy.
pub fn check(options: &CaptureOptions) -> Result<(), CaptureError> {
    let block = options.layers.contains(&Layer::Block);
    let file_system = options.layers.contains(&Layer::FileSystem);
    let tracefs = options.source == Some(SourceName::Tracefs);
    if options.devices.is_empty() || options.devices.len() > DEVICES_MAX {
        return refuse(
            format!("cannot capture {} devices at once", options.devices.len()),
            format!("give 1 to {DEVICES_MAX}"),
        );
    }
    if let Some([one, other]) = overlap(&options.devices) {
        if one == other {
            return refuse(format!("{one} was given twice"), "give it once");
        }
        let what = format!("{one} and {other} overlap on one disk");
        return refuse(what, "give the disk, or partitions of it");
    }
    if options.layers.is_empty() {
        return refuse("no layer was given", "give --layer block, filesystem or both");
    }
    if options.files.is_some() && !file_system {
        return refuse(
            "the file-system layer is not captured",
            "add --layer filesystem, or omit --file-probes",
        );
    }
    if let Some(width) = options.step_ns {
        if tracefs {
            return refuse(
                "tracefs cannot add up capture steps", "omit --source, or --totals-every",
            );
        }
        if !STEP_NS.contains(&width) {
            let what = format!("a capture step of {} is not possible", Nanos(width));
            return refuse(what, "give --totals-every 100us to 1h");
        }
    }
    if !options.range_bytes.is_empty() {
        if options.step_ns.is_none() || !block {
            let what = "LBA ranges are counted in capture steps of the block layer only";
            return refuse(what, "add --totals-every and --layer block, or omit --totals-ranges");
        }
        if let Some(index) = options.range_bytes.iter().position(|bytes| *bytes == 0) {
            let name = options.devices.get(index).map_or("a device", |device| &device.name);
            let what =
                format!("the size of {name} is unknown, so it cannot be divided into ranges");
            return refuse(what, "omit it, or --totals-ranges");
        }
    }
    if options.paths && !file_system {
        return refuse(
            "paths need the file-system layer: the block layer does not know files",
            "add --layer block,filesystem, or omit --paths",
        );
    }
    if options.merges && !block {
        return refuse(
            "merges need the block layer: requests are merged there only",
            "add --layer block,filesystem, or omit --merges",
        );
    }
    let needs_single_ios = options.paths || options.cgroups || options.merges;
    if needs_single_ios && options.step_ns.is_some() {
        return refuse(
            "a capture of steps cannot record paths, cgroups or merges",
            "omit --totals-every, or --paths, --cgroups and --merges",
        );
    }
    if needs_ebpf(options) && tracefs {
        return refuse(
            "tracefs does not report cgroups, merges and splits",
            "omit --source, or --cgroups and --merges",
        );
    }
    if !options.ring_bytes.is_power_of_two() || !RING_BYTES.contains(&options.ring_bytes) {
        let what = format!("a buffer of {} bytes is impossible", options.ring_bytes);
        return refuse(what, "give a power of two from 4 KiB to 1 GiB");
    }
    Ok(())
}

fn refuse<T>(what: impl Into<String>, remedy: impl Into<String>) -> Result<T, CaptureError> {
    Err(CaptureError::new(what, remedy))
}

/// Returns the names of the first two devices that share sectors of a disk.
fn overlap(devices: &[CaptureDevice]) -> Option<[&str; 2]> {
    for (at, a) in devices.iter().enumerate() {
        for b in &devices[at + 1..] {
            let share_sectors = a.sectors.start < b.sectors.end && b.sectors.start < a.sectors.end;
            if a.number == b.number && share_sectors {
                return Some([&a.name, &b.name]);
            }
        }
    }
    None
}

/// Returns true if the options need something that tracefs cannot provide.
fn needs_ebpf(options: &CaptureOptions) -> bool {
    options.step_ns.is_some() || options.cgroups || options.merges
}

/// Opens the block layer. Adds a remark if tracefs is used because eBPF is unavailable.
fn open_block(
    options: &CaptureOptions,
    cgroup_setup: &CgroupSetup,
    remarks: &mut Vec<String>,
) -> Result<Box<dyn EventSource>, CaptureError> {
    if options.source == Some(SourceName::Tracefs) {
        return open_tracefs(options);
    }
    match open_ebpf(options, cgroup_setup) {
        Err(first) if options.source.is_none() && !needs_ebpf(options) => {
            let source = open_tracefs(options).map_err(|second| {
                CaptureError::new(
                    format!(
                        "neither eBPF ({}) nor tracefs ({}) works here",
                        first.what, second.what
                    ),
                    format!("{}; or {}", first.remedy, second.remedy),
                )
            })?;
            remarks.push(format!("eBPF is unavailable: {first}"));
            Ok(source)
        }
        opened => opened,
    }
}

/// Opens the file-system layer, which only eBPF can capture.
#[cfg(feature = "ebpf")]
fn open_files(
    options: &CaptureOptions,
    cgroup_setup: &CgroupSetup,
    remarks: &mut Vec<String>,
) -> Result<Box<dyn EventSource>, CaptureError> {
    if options.source == Some(SourceName::Tracefs) {
        return refuse(
            "the file-system layer cannot be captured through tracefs",
            "omit --source, or capture --layer block",
        );
    }
    let (files, remark) = ebpf::FileSource::open(options, cgroup_setup.hierarchy)?;
    remarks.extend(remark);
    Ok(Box::new(files))
}

#[cfg(not(feature = "ebpf"))]
fn open_files(
    options: &CaptureOptions,
    cgroup_setup: &CgroupSetup,
    _: &mut Vec<String>,
) -> Result<Box<dyn EventSource>, CaptureError> {
    open_ebpf(options, cgroup_setup)
}

#[cfg(feature = "ebpf")]
fn open_ebpf(
    options: &CaptureOptions,
    cgroup_setup: &CgroupSetup,
) -> Result<Box<dyn EventSource>, CaptureError> {
    Ok(Box::new(ebpf::BlockSource::open(options, cgroup_setup.hierarchy)?))
}

#[cfg(not(feature = "ebpf"))]
fn open_ebpf(_: &CaptureOptions, _: &CgroupSetup) -> Result<Box<dyn EventSource>, CaptureError> {
    refuse(
        "this program was built without eBPF",
        "build it with `make build`, or with cargo's --features ebpf",
    )
}

fn open_tracefs(options: &CaptureOptions) -> Result<Box<dyn EventSource>, CaptureError> {
    Ok(Box::new(tracefs::Tracefs::open(options)?))
}
