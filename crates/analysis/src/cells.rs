//! Cells: what the I/Os of one stream, one thread, one cgroup and one file in one step
//! add up to. A fold file holds them in place of single I/Os, and every question that
//! needs no single I/O is answered from them as it would be from the I/Os themselves.

use crate::sums::content::Contents;
use steadfast_domain::io_event::{Command, StreamInStep, StreamResponses, flags};
use steadfast_domain::{IoOp, Layer};
use steadfast_tracefile::error::TraceError;

/// Bits of `io_event::flags` that are counted.
pub const FLAGS: usize = 9;

/// Times that were added up, with their histogram.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Times {
    /// How many.
    pub count: u64,
    /// All of them added up, in nanoseconds.
    pub sum_ns: u64,
    /// The longest, in nanoseconds.
    pub max_ns: u64,
    /// Buckets of the domain's fine histogram with a count, ascending.
    pub buckets: Vec<(u16, u64)>,
}

/// Who did some I/Os, and on which file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Who {
    /// Their process; 0 where unknown or left out.
    pub pid: u32,
    /// Its command name.
    pub command: Command,
    /// Their thread; 0 where unknown or left out.
    pub tid: u32,
    /// Its name, where it is not that of its process.
    pub thread: Command,
    /// Their cgroup: its place in the conditions, from 1; 0 where unknown.
    pub cgroup: u16,
    /// Their file's inode; 0 at the block layer, or where left out.
    pub inode: u64,
}

/// The I/Os of one stream and of one of [`Who`] in one step of a device at a layer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cell {
    /// When its step begins, in nanoseconds.
    pub begin_ns: u64,
    /// Which device.
    pub device: u16,
    /// Where they were seen.
    pub layer: Layer,
    /// What they did.
    pub op: IoOp,
    /// They were sequential.
    pub sequential: bool,
    /// Their size.
    pub bytes: u32,
    /// Who did them.
    pub who: Who,
    /// How many they are.
    pub ios: u64,
    /// Issue time of the first and the last of them, in nanoseconds.
    pub span_ns: (u64, u64),
    /// Response times.
    pub responses: Times,
    /// Times in the queue, of the I/Os where it is known.
    pub queued: Times,
    /// Times in the queue of I/Os whose response time is known too, added up.
    pub both_queued_ns: u64,
    /// Response times of the same I/Os, added up.
    pub both_response_ns: u64,
    /// Queue depths at issue added up, over [`Self::depths`] I/Os.
    pub depth_sum: u64,
    /// I/Os whose depth is known.
    pub depths: u64,
    /// Deepest queue at issue.
    pub depth_max: u32,
    /// All offsets combined by OR.
    pub offsets: u64,
    /// I/Os by bit of `io_event::flags`.
    pub flags: [u64; FLAGS],
    /// I/Os that end beyond their device's size.
    pub beyond: u64,
    /// Requests that were merged into them.
    pub merged: u64,
    /// What was measured of the blocks that they wrote.
    pub contents: Contents,
}

impl Cell {
    /// Returns the sums of a stream in a capture step that begins at `begin_ns`. The kernel
    /// counted them: response times have no buckets.
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
    /// Bytes moved.
    pub fn amount(&self) -> u64 {
        self.ios.saturating_mul(u64::from(self.bytes))
    }
    /// I/Os that have a flag.
    pub fn flag(&self, bit: u16) -> u64 {
        self.flags.get(bit.trailing_zeros() as usize).copied().unwrap_or(0)
    }
}

/// The time in a step in which a device had an I/O outstanding.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BusyInStep {
    /// When its step begins, in nanoseconds.
    pub begin_ns: u64,
    /// Which device.
    pub device: u16,
    /// Where it was seen.
    pub layer: Layer,
    /// How long, in nanoseconds.
    pub busy_ns: u64,
}

/// What cells tell, or what is asked of them, beside streams and devices.
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
    /// They are sums of single I/Os: queue times, ends beyond the device, busy time and the
    /// response-time percentiles of each step are known.
    pub single_ios: bool,
}

impl Dimensions {
    /// Refuses what is asked and not told.
    ///
    /// # Errors
    /// What the fold lacks, and what to do.
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

    /// Returns the refusal of a question about what the cells do not tell apart.
    pub(crate) fn without(what: &str) -> TraceError {
        TraceError::Unsuitable(format!(
            "the fold was made without {what}, so it cannot report them; name the trace files \
             instead, or fold them again"
        ))
    }
}

/// Some cells; all of them passed the filter.
#[derive(Debug, Clone, Copy)]
pub struct Cells<'a> {
    /// Width of their steps in nanoseconds.
    pub step_ns: u64,
    /// What they tell.
    pub told: Dimensions,
    /// The cells.
    pub cells: &'a [Cell],
    /// Busy time.
    pub busy: &'a [BusyInStep],
    /// Response times of streams, whatever the step: those that cells without buckets add up.
    pub responses: &'a [StreamResponses],
}
