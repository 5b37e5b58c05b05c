//! Boundary between the loop that draws, stamps and counts I/Os and the kernel interface that
//! carries them.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::time::Duration;
use steadfast_domain::Op;

/// Longest wait for a completion, after which a thread checks whether its load has ended.
pub(super) const WAIT_MAX: Duration = Duration::from_millis(100);

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

#[derive(Debug, Clone, Copy)]
pub(super) struct Completion {
    pub slot: u32,
    /// Bytes moved, or a negative error number.
    pub result: i32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SubmitWait {
    Completion,
    /// Until an I/O completes, at most this many nanoseconds.
    AtMost(u64),
    NoWait,
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
    fn poll(&mut self) -> usize;

    /// Returns the next of the completions that [`Self::poll`] saw.
    fn next(&mut self) -> Option<Completion>;
}

/// Returns the error number of the last system call.
pub(super) fn last_errno() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}

pub(super) fn timespec(nanos: u64) -> libc::timespec {
    libc::timespec {
        tv_sec: (nanos / 1_000_000_000) as libc::time_t,
        tv_nsec: (nanos % 1_000_000_000) as libc::c_long,
    }
}

/// Target and settings that the queues of a load share.
#[derive(Debug)]
pub(super) struct QueueTarget {
    /// File descriptor of the target, which the load itself keeps open.
    pub file: OwnedFd,
    /// Eventfd, written to wake threads that wait for I/Os.
    pub wake: OwnedFd,
    /// True if the target is a block device, which needs a separate command for discards.
    pub is_block_device: bool,
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
