//! Cells: sums over the I/Os of one stream, one thread, one cgroup and one file in one step. A fold
//! file holds cells in place of single I/Os. Every question that needs no single I/Os gets the same
//! answer from cells as from the I/Os themselves.

use crate::sums::content::Contents;
use steadfast_domain::io_event::{Command, StreamInStep, StreamResponses, flags};
use steadfast_domain::{IoOp, Layer};
use steadfast_tracefile::error::TraceError;

/// Number of bits of `io_event::flags` that are counted.
pub const FLAGS: usize = 9;

/// A sum of times, with their histogram.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Times {
    /// Number of times.
    pub count: u64,
    /// Sum of all times, in nanoseconds.
    pub sum_ns: u64,
    /// Longest time, in nanoseconds.
    pub max_ns: u64,
    /// Non-empty buckets of the domain's fine histogram as (bucket, count), ascending.
    pub buckets: Vec<(u16, u64)>,
}

/// The process, thread, cgroup and file of some I/Os.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Who {
    /// Process ID; 0 if unknown or left out.
    pub pid: u32,
    /// Command name of the process.
    pub command: Command,
    /// Thread ID; 0 if unknown or left out.
    pub tid: u32,
    /// Thread name, if it differs from the command name.
    pub thread: Command,
    /// Cgroup, as its position in the conditions from 1; 0 if unknown.
    pub cgroup: u16,
    /// Inode of the file; 0 at the block layer or if left out.
    pub inode: u64,
}

/// Sums over the I/Os of one stream and one [`Who`] in one step of a device at a layer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cell {
    /// Start of the step, in nanoseconds.
    pub begin_ns: u64,
    /// Device, as its position in the conditions.
    pub device: u16,
    /// Layer at which the I/Os were captured.
    pub layer: Layer,
    /// Operation.
    pub op: IoOp,
    /// True if the I/Os were sequential.
    pub sequential: bool,
    /// Size of each I/O in bytes.
    pub bytes: u32,
    /// The process, thread, cgroup and file of the I/Os.
    pub who: Who,
    /// Number of I/Os.
    pub ios: u64,
    /// Issue times of the first and the last I/O, in nanoseconds. For sums from a step file, the
    /// observed bounds of the step.
    pub span_ns: (u64, u64),
    /// Response times.
    pub responses: Times,
    /// Queue times, over the I/Os that have one.
    pub queued: Times,
    /// Sum of the queue times of the I/Os that have both a queue time and a response time, in
    /// nanoseconds.
    pub both_queued_ns: u64,
    /// Sum of the response times of the same I/Os, in nanoseconds.
    pub both_response_ns: u64,
    /// Sum of the queue depths at issue of [`Self::depths`] I/Os.
    pub depth_sum: u64,
    /// Number of I/Os with a known queue depth.
    pub depths: u64,
    /// Largest queue depth at issue.
    pub depth_max: u32,
    /// Bitwise OR of all offsets.
    pub offsets: u64,
    /// Number of I/Os that have each bit of `io_event::flags` set.
    pub flags: [u64; FLAGS],
    /// Number of I/Os that end beyond the size of their device.
    pub beyond: u64,
    /// Number of requests that were merged into the I/Os.
    pub merged: u64,
    /// Content measurements of the blocks that the I/Os wrote.
    pub contents: Contents,
}

impl Cell {
    /// Returns the sums of a stream in a capture step that begins at `begin_ns`. The kernel added
    /// them up, so response times have no buckets.
    pub fn from_step(row: &StreamInStep, begin_ns: u64, span_ns: (u64, u64)) -> Cell {
        let mut counts = [0; FLAGS];
        counts[flags::FAILED.trailing_zeros() as usize] = row.failed;
        Cell {
            begin_ns,
            device: row.device,
            layer: row.layer,
            op: row.op,
            sequential: row.sequential,
            bytes: row.bytes,
            ios: row.ios,
            span_ns,
            responses: Times {
                count: row.responses,
                sum_ns: row.response_sum_ns,
                max_ns: row.response_max_ns,
                buckets: Vec::new(),
            },
            depth_sum: row.depth_sum,
            depths: if row.depth_sum > 0 { row.ios } else { 0 },
            depth_max: row.depth_max,
            offsets: row.offsets,
            flags: counts,
            ..Cell::default()
        }
    }
    /// Returns the number of bytes moved.
    pub fn amount(&self) -> u64 {
        self.ios.saturating_mul(u64::from(self.bytes))
    }
    /// Returns the number of I/Os that have a flag.
    pub fn flag(&self, bit: u16) -> u64 {
        self.flags.get(bit.trailing_zeros() as usize).copied().unwrap_or(0)
    }
}

/// The time within a step in which a device had an I/O outstanding.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BusyInStep {
    /// Start of the step, in nanoseconds.
    pub begin_ns: u64,
    /// Device, as its position in the conditions.
    pub device: u16,
    /// Layer at which the I/Os were captured.
    pub layer: Layer,
    /// Busy time, in nanoseconds.
    pub busy_ns: u64,
}

/// The dimensions that cells distinguish, or that a question needs, in addition to streams and
/// devices.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Dimensions {
    /// Processes.
    pub processes: bool,
    /// Threads.
    pub threads: bool,
    /// Cgroups.
    pub cgroups: bool,
    /// Files.
    pub files: bool,
    /// Merged requests.
    pub merges: bool,
    /// True if the cells are sums of single I/Os, so that queue times, ends beyond the device, busy
    /// time and the response-time percentiles of each step are known.
    pub single_ios: bool,
}

impl Dimensions {
    /// Checks that the cells have all dimensions in `asked`.
    ///
    /// # Errors
    /// Returns [`TraceError::Unsuitable`] if one is missing. The error says what to do.
    pub fn check(self, asked: Dimensions) -> Result<(), TraceError> {
        let lacks = [
            (asked.processes && !self.processes, "processes (--no-processes)"),
            (asked.threads && !self.threads, "threads (--no-threads)"),
            (asked.files && !self.files, "files (--no-files)"),
        ];
        match lacks.into_iter().find(|(is_lacking, _)| *is_lacking) {
            None => Ok(()),
            Some((_, what)) => Err(Self::without(what)),
        }
    }

    /// Returns the error for a question about a dimension that the cells lack.
    pub(crate) fn without(what: &str) -> TraceError {
        TraceError::Unsuitable(format!(
            "the fold was made without {what}, so it cannot report them; name the trace files \
             instead, or fold them again"
        ))
    }
}

/// Cells that passed the filter.
#[derive(Debug, Clone, Copy)]
pub struct Cells<'a> {
    /// Width of a step, in nanoseconds.
    pub step_ns: u64,
    /// Dimensions that the cells distinguish.
    pub told: Dimensions,
    /// The cells.
    pub cells: &'a [Cell],
    /// Busy time by step, device and layer.
    pub busy: &'a [BusyInStep],
    /// Response times of streams over all steps, for cells without buckets.
    pub responses: &'a [StreamResponses],
}
