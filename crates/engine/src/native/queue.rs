//! Boundary between the loop that draws, stamps and counts I/Os and the kernel interface that
//! carries them.

use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use steadfast_domain::Op;

/// An I/O to be submitted to the kernel.
#[derive(Debug, Clone, Copy)]
pub(super) struct Request {
    /// Index below the queue depth; returned with the completion.
    pub slot: u32,
    pub op: Op,
    pub fua: bool,
    pub offset: u64,
    pub size: u32,
    /// Buffer of its data; null if the operation moves none.
    pub buffer: *mut u8,
}

/// An I/O that the kernel has completed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Completion {
    pub slot: u32,
    /// Bytes moved, or a negative error number.
    pub result: i32,
}

/// Time to stay in the kernel after submitting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SubmitWait {
    /// Until an I/O completes.
    Completion,
    /// Until an I/O completes, at most this many nanoseconds.
    AtMost(u64),
    /// Return at once.
    Not,
}

/// One thread's submission and completion queue.
pub(super) trait Queue {
    /// Adds an I/O to the next batch. There is always room for as many I/Os as the queue is deep.
    fn push(&mut self, request: Request);

    /// Submits the batch and waits.
    ///
    /// # Errors
    /// Returns the error number if no I/O of the batch can ever be submitted.
    fn submit(&mut self, wait: SubmitWait) -> Result<(), i32>;

    /// Checks once for completions and returns how many there are; a wake-up may count as one.
    ///
    /// An I/O that completes later is left for the next reap, so that a clock reading between
    /// this call and the first [`Self::next`] is not earlier than any completion that they
    /// deliver.
    fn look(&mut self) -> usize;

    /// Returns the next of the completions that [`Self::look`] saw.
    fn next(&mut self) -> Option<Completion>;
}

/// Target and settings that the queues of a load share.
#[derive(Debug)]
pub(super) struct QueueTarget {
    /// File descriptor of the target, which the load itself keeps open.
    pub file: OwnedFd,
    /// Eventfd, written to wake threads that wait for I/Os.
    pub wake: OwnedFd,
    /// True if the target is a block device, which needs a separate command for discards.
    pub block_device: bool,
    /// Maximum number of outstanding I/Os per thread.
    pub depth: u32,
}

impl QueueTarget {
    pub(super) fn fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }
}

/// Buffer of a slot, for registration with the kernel.
#[derive(Debug, Clone, Copy)]
pub(super) struct SlotBuffer {
    pub start: *mut u8,
    pub length: usize,
}
