//! Sources of events, the sums that they deliver per capture step, and their counters.

use crate::error::CaptureError;
use crate::process_names::ProcessNames;
use steadfast_domain::IoEvent;
use steadfast_domain::io_event::{
    CommandName, DeviceBusyStep, IncompleteIos, RangeInStep, StreamInStep,
};

/// Parts of capture steps; one step may arrive in several parts.
#[derive(Debug, Default)]
pub struct StepParts {
    /// I/O streams.
    pub streams: Vec<StreamInStep>,
    /// Busy time of devices; empty if only one process is captured.
    pub busy: Vec<DeviceBusyStep>,
    /// I/Os of LBA ranges; empty if ranges are not counted.
    pub ranges: Vec<RangeInStep>,
}

impl StepParts {
    /// Removes all parts and keeps their memory.
    pub fn clear(&mut self) {
        self.streams.clear();
        self.busy.clear();
        self.ranges.clear();
    }
}

/// Counters of a capture.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CaptureCounters {
    /// Completed I/Os that were lost because the buffer was full.
    pub lost: u64,
    /// Runs of the probes that the kernel skipped because one was already running on that
    /// processor: for each, an I/O is missing or seen only in part.
    pub skipped: u64,
    /// I/Os seen only in part.
    pub in_part: IncompleteIos,
    /// Kinds of I/O that the source cannot follow: description and count.
    pub unseen: Vec<(String, u64)>,
    /// Completions of a part of an I/O; the I/O itself is counted once.
    pub partial_completions: u64,
    /// Requeues of issued I/Os by the kernel.
    pub requeues: u64,
    /// Requests split by the kernel, by device; empty if not counted.
    pub splits: Vec<u64>,
    /// Time spent in the probes in the kernel, in nanoseconds; `None` if not measured.
    pub kernel_ns: Option<u64>,
    /// Runs of the probes during that time.
    pub kernel_runs: u64,
}

impl CaptureCounters {
    /// Adds a kind of I/O or a figure that the source could not follow.
    #[cfg(feature = "ebpf")]
    pub(crate) fn with_unseen(mut self, unseen: Option<(String, u64)>) -> CaptureCounters {
        self.unseen.extend(unseen);
        self
    }

    /// Returns the sums of these counters and of another source's.
    pub(crate) fn and(mut self, other: CaptureCounters) -> CaptureCounters {
        self.lost += other.lost;
        self.skipped += other.skipped;
        self.in_part.begun_before += other.in_part.begun_before;
        self.in_part.unended += other.in_part.unended;
        self.in_part.too_many += other.in_part.too_many;
        self.unseen.extend(other.unseen);
        self.partial_completions += other.partial_completions;
        self.requeues += other.requeues;
        self.splits.extend(other.splits);
        self.kernel_ns = match (self.kernel_ns, other.kernel_ns) {
            (Some(ours), Some(theirs)) => Some(ours + theirs),
            (ours, theirs) => ours.or(theirs),
        };
        self.kernel_runs += other.kernel_runs;
        self
    }
}

pub(crate) trait EventSource {
    fn describe(&self) -> String;
    fn begin(&mut self, at_ns: u64) -> Result<(), CaptureError>;
    fn take(&mut self, into: &mut Vec<IoEvent>) -> Result<(), CaptureError>;
    /// Returns the fill level of the fullest buffer when it was last read, or `None` if unknown.
    fn fullness(&self) -> Option<f64> {
        None
    }
    /// Stops recording of I/Os issued from now on.
    fn close(&mut self) -> Result<(), CaptureError>;
    /// Waits for a limited time for I/Os issued before, and appends the rest; I/Os whose completion
    /// was not seen come last.
    fn end(&mut self, into: &mut Vec<IoEvent>) -> Result<(), CaptureError>;
    /// Appends the parts of capture steps added up since the last call; does nothing if steps are
    /// not captured. `names` are looked up for processes whose threads have names of their own.
    fn take_steps(
        &mut self,
        _names: &mut ProcessNames,
        _into: &mut StepParts,
    ) -> Result<(), CaptureError> {
        Ok(())
    }
    /// Returns the name of a process, which may have ended, if the source kept it.
    fn kept_process_name(&self, _pid: u32) -> Option<CommandName> {
        None
    }
    /// Calls `show` for every cgroup an event may refer to, with the number in events and the
    /// kernel's ID.
    fn cgroups(&self, _show: &mut dyn FnMut(u16, u64)) -> Result<(), CaptureError> {
        Ok(())
    }
    fn counters(&mut self) -> Result<CaptureCounters, CaptureError>;
}
