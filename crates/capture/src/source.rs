//! Where events come from, and what is counted beside them.

use crate::error::CaptureError;
use steadfast_domain::IoEvent;
use steadfast_domain::io_event::{SeenInPart, StreamInStep, StreamResponses};

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
    /// Requests that the kernel split, by device; empty where they were not counted.
    pub splits: Vec<u64>,
    /// Time that the probes took in the kernel, in nanoseconds; `None` where
    /// it was not measured.
    pub kernel_ns: Option<u64>,
    /// How often they ran while that was measured.
    pub kernel_runs: u64,
}

impl Counters {
    /// What several sources counted.
    pub(crate) fn and(mut self, other: Counters) -> Counters {
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

/// A source of events.
pub(crate) trait Source {
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
    /// Shows every cgroup that an event may name: the event's number, and the kernel's.
    fn cgroups(&self, _show: &mut dyn FnMut(u16, u64)) -> Result<(), CaptureError> {
        Ok(())
    }
    fn counters(&mut self) -> Result<Counters, CaptureError>;
}
