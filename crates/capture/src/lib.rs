//! Captures what a server does to its storage: eBPF where the kernel has it,
//! tracefs elsewhere. The only crate that attaches probes.
//!
//! A [`Capture`] listens to block devices from [`Capture::begin`] on; its
//! owner takes the I/Os that have completed many times a second with
//! [`Capture::take`], and asks at the end what was lost and what it cost.

mod clock;
mod content;
#[cfg(feature = "ebpf")]
mod ebpf;
mod error;
mod options;
mod source;
mod tracefs;

pub use content::{ContentSampler, SampledDevice};
pub use error::CaptureError;
pub use options::{
    DEVICES_MAX, FileSystem, FilesWay, Listened, Options, STEP_NS, SourceName, WHOLE_DISK,
    usual_buffer,
};
pub use source::Counters;
pub use tracefs::remove_left_behind;

use clock::monotonic_ns;
use source::Source;
use steadfast_domain::IoEvent;
use steadfast_domain::io_event::{Layer, StreamInStep, StreamResponses};

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
            format!("cannot capture {} devices at once", options.devices.len()),
            format!("give 1 to {DEVICES_MAX}"),
        ));
    }
    if let Some((one, other)) = overlap(&options.devices) {
        return Err(CaptureError::new(
            format!("{one} and {other} overlap on one disk"),
            "give the disk, or partitions of it",
        ));
    }
    if options.layers.is_empty() {
        return Err(CaptureError::new(
            "no layer was given",
            "give --layer block, filesystem or both",
        ));
    }
    if options.files.is_some() && !options.layers.contains(&Layer::FileSystem) {
        return Err(CaptureError::new(
            "the file-system layer is not captured",
            "add --layer filesystem, or omit --files",
        ));
    }
    if options.step_ns.is_some() {
        check_steps(options)?;
    }
    let page = 4096;
    if !options.ring_bytes.is_power_of_two() || options.ring_bytes < page {
        return Err(CaptureError::new(
            format!("a buffer of {} bytes is impossible", options.ring_bytes),
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
        return refuse("tracefs cannot add up capture steps", "omit --source, or --steps");
    }
    if !STEP_NS.contains(&options.step_ns.unwrap_or(0)) {
        return refuse("this width of a capture step is impossible", "give 100us to 1h");
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
            "omit --source, or capture --layer block",
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
