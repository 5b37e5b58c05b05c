//! Plain system calls, one I/O at a time: works on every target.
//!
//! A thread carries one I/O, so a load has threads x queue depth threads. For a script, which one
//! thread plays, see `pool`.

use super::queue::{Completion, Queue, QueueTarget, Request, SubmitWait, last_errno, timespec};
use std::ffi::c_int;
use std::os::fd::{AsRawFd, RawFd};
use steadfast_domain::Op;

/// `BLKDISCARD` of `linux/fs.h`: `_IO(0x12, 119)`.
const BLKDISCARD: libc::Ioctl = 0x1277;

pub(super) struct BlockingQueue<'c> {
    target: &'c QueueTarget,
    request: Option<Request>,
    completion: Option<Completion>,
}

impl<'c> BlockingQueue<'c> {
    pub(super) fn new(target: &'c QueueTarget) -> Self {
        BlockingQueue { target, request: None, completion: None }
    }
}

/// Performs an I/O. Returns the bytes moved, or a negative error number.
pub(super) fn perform(fd: RawFd, is_block_device: bool, request: &Request) -> i32 {
    loop {
        let result = attempt(fd, is_block_device, request);
        if result != -libc::EINTR {
            return result;
        }
    }
}

fn attempt(fd: RawFd, is_block_device: bool, request: &Request) -> i32 {
    let (offset, size) = (request.offset as libc::off_t, request.size as usize);
    let part = libc::iovec { iov_base: request.buffer.cast(), iov_len: size };
    // SAFETY: the buffer is `size` bytes long and belongs to this slot until
    // the call returns.
    let moved = unsafe {
        match request.op {
            Op::Read => libc::preadv2(fd, &raw const part, 1, offset, 0),
            Op::Write => {
                let flags = if request.fua { libc::RWF_DSYNC } else { 0 };
                libc::pwritev2(fd, &raw const part, 1, offset, flags)
            }
            Op::Discard => {
                discard(fd, is_block_device, request.offset, request.size.into()) as isize
            }
            Op::Flush => libc::fdatasync(fd) as isize,
        }
    };
    if moved < 0 { -last_errno() } else { moved as i32 }
}

fn discard(fd: RawFd, is_block_device: bool, offset: u64, size: u64) -> c_int {
    if is_block_device {
        let range = [offset, size];
        // SAFETY: BLKDISCARD reads two 64-bit numbers.
        return unsafe { libc::ioctl(fd, BLKDISCARD, range.as_ptr()) };
    }
    let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    // SAFETY: no memory is involved.
    unsafe { libc::fallocate(fd, mode, offset as libc::off_t, size as libc::off_t) }
}

impl Queue for BlockingQueue<'_> {
    fn push(&mut self, request: Request) {
        self.request = Some(request);
    }

    fn submit(&mut self, wait: SubmitWait) -> Result<(), i32> {
        if let Some(request) = self.request.take() {
            let result = perform(self.target.fd(), self.target.is_block_device, &request);
            self.completion = Some(Completion { slot: request.slot, result });
        } else if let SubmitWait::AtMost(nanos) = wait {
            sleep_unless_woken(self.target.wake.as_raw_fd(), nanos);
        }
        Ok(())
    }

    fn poll(&mut self) -> usize {
        usize::from(self.completion.is_some())
    }

    fn next(&mut self) -> Option<Completion> {
        self.completion.take()
    }
}

/// Sleeps for this time, or until the load's eventfd ends it early.
fn sleep_unless_woken(wake: RawFd, nanos: u64) {
    let mut poll = libc::pollfd { fd: wake, events: libc::POLLIN, revents: 0 };
    let time = timespec(nanos);
    // SAFETY: both structures are valid and outlive the call; no signal mask is given.
    unsafe { libc::ppoll(&raw mut poll, 1, &raw const time, std::ptr::null()) };
}
