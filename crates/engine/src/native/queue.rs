//! The boundary between the loop that draws, stamps and counts I/Os and the
//! kernel interface that carries them.

use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use steadfast_domain::Op;

/// One I/O for the kernel.
#[derive(Debug, Clone, Copy)]
pub(super) struct Request {
    /// Comes back with the completion; below the queue's depth.
    pub slot: u32,
    pub op: Op,
    pub fua: bool,
    pub offset: u64,
    pub size: u32,
    /// Where its bytes come from or go to; null where it moves none.
    pub buffer: *mut u8,
}

/// One I/O that the kernel is done with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Completion {
    pub slot: u32,
    /// Bytes moved, or a negative error number.
    pub result: i32,
}

/// How long to stay in the kernel after handing I/Os over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait {
    /// Until something completed.
    Completion,
    /// Until something completed, at most this many nanoseconds.
    AtMost(u64),
    /// Not at all.
    Not,
}

/// One thread's I/Os on their way to the kernel and back.
pub(super) trait Queue {
    /// Takes an I/O into the next batch. There is always room for as many as
    /// the queue is deep.
    fn push(&mut self, request: Request);

    /// Hands the batch over and waits. Fails, with an error number, only where
    /// no I/O of the batch can ever be carried.
    fn submit(&mut self, wait: Wait) -> Result<(), i32>;

    /// Whether [`Self::next`] has something.
    ///
    /// Looks once: what completes after it is left for the next reap, so that a
    /// clock read between this and the first [`Self::next`] is not earlier than
    /// any completion that they deliver.
    fn look(&mut self) -> usize;

    /// The next completion of those that [`Self::look`] saw.
    fn next(&mut self) -> Option<Completion>;
}

/// What the queues of a load have in common.
#[derive(Debug)]
pub(super) struct QueueTarget {
    /// The target, held open by the load itself.
    pub file: OwnedFd,
    /// Written to wake threads that wait for I/Os.
    pub wake: OwnedFd,
    /// Blocks of a device are discarded by a command of their own.
    pub block_device: bool,
    /// I/Os outstanding per thread, at most.
    pub depth: u32,
}

impl QueueTarget {
    pub(super) fn fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }
}

/// A buffer of a slot, for registration with the kernel.
#[derive(Debug, Clone, Copy)]
pub(super) struct Buffer {
    pub start: *mut u8,
    pub length: usize,
}
