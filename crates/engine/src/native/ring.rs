//! io_uring: one ring per thread, with its file and buffers registered where possible.

use super::queue::{Completion, Queue, QueueTarget, Request, SlotBuffer, SubmitWait};
use crate::kernel;
use io_uring::types::{Fd, FsyncFlags, SubmitArgs, Timespec};
use io_uring::{CompletionQueue, EnterFlags, IoUring, SubmissionQueue, Submitter, opcode, squeue};
use std::io;
use std::os::fd::AsRawFd;
use steadfast_domain::Op;

/// User data of the poll that wakes a waiting thread.
const WAKE: u64 = u64::MAX;

/// `BLOCK_URING_CMD_DISCARD` of `linux/blkdev.h`: `_IO(0x12, 0)`, Linux 6.12.
const DISCARD_COMMAND: u32 = 0x1200;

/// Maximum length in bytes of a registered buffer, set by the kernel.
const BUFFER_LIMIT: usize = 1 << 30;

/// Maximum number of registered buffers of a ring (`IORING_MAX_REG_BUFFERS`).
const BUFFER_COUNT_LIMIT: usize = 1 << 14;

/// A ring before its file and buffers are registered.
pub(super) struct Ring(IoUring);

impl Ring {
    pub(super) fn new(depth: u32) -> io::Result<Ring> {
        Ok(Ring(kernel::new_ring(depth)?.ring))
    }

    /// Registers the ring, the file and the buffers, and adds a note for each that cannot be
    /// registered.
    ///
    /// # Safety
    ///
    /// The buffers must outlive the queue and every I/O in it.
    pub(super) unsafe fn queue<'r>(
        &'r mut self,
        target: &QueueTarget,
        reads: &[SlotBuffer],
        writes: &[SlotBuffer],
        notes: &mut Vec<String>,
    ) -> RingQueue<'r> {
        let timed_wait = self.0.params().is_feature_ext_arg();
        let (mut submitter, sq, cq) = self.0.split();
        if let Err(error) = submitter.register_ring_fd() {
            notes.push(format!("ring not registered ({error})"));
        }
        let fixed_file = submitter.register_files(&[target.fd()]);
        if let Err(error) = &fixed_file {
            notes.push(format!("file not registered ({error})"));
        }
        // SAFETY: passed on to the caller.
        let fixed_buffers = unsafe { register(&submitter, &[reads, writes].concat()) };
        if let Err(error) = &fixed_buffers {
            notes.push(format!("buffers not registered ({error})"));
        }
        let mut queue = RingQueue {
            submitter,
            sq,
            cq,
            file: if fixed_file.is_ok() { 0 } else { target.fd() },
            file_flags: match fixed_file {
                Ok(()) => squeue::Flags::FIXED_FILE,
                Err(_) => squeue::Flags::empty(),
            },
            fixed_buffers: fixed_buffers.is_ok(),
            first_write_buffer: reads.len() as u32,
            is_block_device: target.is_block_device,
            timed_wait,
            one_at_a_time: reads.len().max(writes.len()) == 1,
            unsubmitted: 0,
        };
        queue.watch_for_wake(target);
        queue
    }
}

/// # Safety
/// The buffers must outlive the ring.
unsafe fn register(submitter: &Submitter<'_>, buffers: &[SlotBuffer]) -> io::Result<()> {
    if buffers.is_empty() {
        return Ok(());
    }
    let too_long = buffers.iter().any(|b| b.length > BUFFER_LIMIT);
    if too_long || buffers.len() > BUFFER_COUNT_LIMIT {
        return Err(io::Error::from_raw_os_error(libc::E2BIG));
    }
    let vectors: Vec<libc::iovec> = buffers
        .iter()
        .map(|b| libc::iovec { iov_base: b.start.cast(), iov_len: b.length })
        .collect();
    // SAFETY: passed on to the caller.
    unsafe { submitter.register_buffers(&vectors) }
}

pub(super) struct RingQueue<'r> {
    submitter: Submitter<'r>,
    sq: SubmissionQueue<'r>,
    cq: CompletionQueue<'r>,
    file: i32,
    file_flags: squeue::Flags,
    fixed_buffers: bool,
    /// Index of the first write buffer; they are registered after the read buffers.
    first_write_buffer: u32,
    is_block_device: bool,
    timed_wait: bool,
    one_at_a_time: bool,
    unsubmitted: u32,
}

impl RingQueue<'_> {
    /// Polls the load's eventfd, so that writing to it completes an entry of the ring.
    fn watch_for_wake(&mut self, target: &QueueTarget) {
        let poll = opcode::PollAdd::new(Fd(target.wake.as_raw_fd()), libc::POLLIN as u32);
        self.enqueue(&poll.build().user_data(WAKE));
    }

    #[inline(always)]
    fn enqueue(&mut self, entry: &squeue::Entry) {
        // SAFETY: the entry's buffer belongs to a slot, which is not reused before the I/O has
        // completed, and outlives the ring.
        if unsafe { self.sq.push(entry) }.is_err() {
            self.enqueue_after_sync(entry);
        }
        self.unsubmitted += 1;
    }

    /// The ring has an entry per slot and one for the wake-up, so it is never full; it may seem
    /// so until the kernel's progress is read.
    #[cold]
    fn enqueue_after_sync(&mut self, entry: &squeue::Entry) {
        self.sq.sync();
        // SAFETY: as for the first attempt.
        unsafe { self.sq.push(entry) }.expect("a ring holds all I/Os of its depth");
    }

    #[inline(always)]
    fn transfer(&self, request: &Request) -> squeue::Entry {
        let Request { slot, offset, size, buffer, .. } = *request;
        let file = Fd(self.file);
        let flags = if request.fua { libc::RWF_DSYNC } else { 0 };
        match (request.op == Op::Read, self.fixed_buffers) {
            (true, true) => {
                opcode::ReadFixed::new(file, buffer, size, slot as u16).offset(offset).build()
            }
            (false, true) => {
                let index = self.first_write_buffer + slot;
                let write = opcode::WriteFixed::new(file, buffer, size, index as u16);
                write.offset(offset).rw_flags(flags).build()
            }
            (true, false) => opcode::Read::new(file, buffer, size).offset(offset).build(),
            (false, false) => {
                opcode::Write::new(file, buffer, size).offset(offset).rw_flags(flags).build()
            }
        }
    }

    #[cold]
    fn command(&self, request: &Request) -> squeue::Entry {
        let file = Fd(self.file);
        let length = u64::from(request.size);
        match request.op {
            Op::Discard if self.is_block_device => {
                // The length is the first 8 bytes of the command's own data.
                let mut command = [0; 16];
                command[..8].copy_from_slice(&length.to_ne_bytes());
                let discard = opcode::UringCmd16::new(file, DISCARD_COMMAND);
                discard.addr(Some(request.offset)).cmd(command).build()
            }
            Op::Discard => {
                let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
                opcode::Fallocate::new(file, length).offset(request.offset).mode(mode).build()
            }
            _ => opcode::Fsync::new(file).flags(FsyncFlags::DATASYNC).build(),
        }
    }

    /// Shows the kernel the new entries and the completions that were taken. It would count one
    /// that seems not taken as the completion to wait for, and not wait.
    #[inline(always)]
    fn sync(&mut self) {
        self.sq.sync();
        self.cq.sync();
    }

    #[inline(always)]
    fn enter(&mut self, want: u32) -> io::Result<usize> {
        self.sync();
        let flags = EnterFlags::GETEVENTS.bits();
        // SAFETY: no signal mask is passed; the counts are the ring's own.
        unsafe { self.submitter.enter::<libc::sigset_t>(self.unsubmitted, want, flags, None) }
    }

    #[cold]
    fn enter_at_most(&mut self, nanos: u64) -> io::Result<usize> {
        if !self.timed_wait {
            return self.enter(0);
        }
        self.sync();
        let time = Timespec::new().sec(nanos / 1_000_000_000).nsec((nanos % 1_000_000_000) as u32);
        self.submitter.submit_with_args(1, &SubmitArgs::new().timespec(&time))
    }
}

impl Drop for RingQueue<'_> {
    /// The kernel tears a ring down in the background. Files and buffers are unregistered here,
    /// or the target would still be in use after its engine is gone.
    fn drop(&mut self) {
        if self.file_flags.contains(squeue::Flags::FIXED_FILE) {
            let _ = self.submitter.unregister_files();
        }
        if self.fixed_buffers {
            let _ = self.submitter.unregister_buffers();
        }
    }
}

impl Queue for RingQueue<'_> {
    #[inline(always)]
    fn push(&mut self, request: Request) {
        let entry = match request.op {
            Op::Read | Op::Write => self.transfer(&request),
            Op::Discard | Op::Flush => self.command(&request),
        };
        let entry = entry.flags(self.file_flags).user_data(u64::from(request.slot));
        self.enqueue(&entry);
    }

    #[inline(always)]
    fn submit(&mut self, wait: SubmitWait) -> Result<(), i32> {
        let entered = match wait {
            // The caller waits by its next call, as fio does. In between, a kernel thread that
            // serves the device (a loop device, encryption) may run on this processor
            // (docs/journal/2026-11-28-commits.md).
            SubmitWait::Completion if self.one_at_a_time && self.unsubmitted > 0 => self.enter(0),
            SubmitWait::Completion => self.enter(1),
            SubmitWait::NoWait => self.enter(0),
            SubmitWait::AtMost(nanos) => self.enter_at_most(nanos),
        };
        match entered {
            Ok(submitted) => self.unsubmitted -= submitted as u32,
            Err(error) => match error.raw_os_error().unwrap_or(libc::EIO) {
                // The next call submits the rest. After a timeout only the ring knows how many
                // entries were taken.
                libc::EINTR | libc::EAGAIN | libc::EBUSY | libc::ETIME => {
                    self.sq.sync();
                    self.unsubmitted = self.sq.len() as u32;
                }
                other => return Err(other),
            },
        }
        Ok(())
    }

    #[inline(always)]
    fn poll(&mut self) -> usize {
        self.cq.sync();
        self.cq.len()
    }

    #[inline(always)]
    fn next(&mut self) -> Option<Completion> {
        let entry = self.cq.next()?;
        if entry.user_data() == WAKE {
            return self.next();
        }
        Some(Completion { slot: entry.user_data() as u32, result: entry.result() })
    }
}

/// Returns true if this kernel's io_uring can discard blocks (Linux 6.12 and later).
pub(super) fn discards_blocks() -> bool {
    // SAFETY: all-zero is a valid value of this plain structure.
    let mut name: libc::utsname = unsafe { std::mem::zeroed() };
    // SAFETY: `name` is a valid structure to write to.
    if unsafe { libc::uname(&raw mut name) } != 0 {
        return false;
    }
    let release = name.release.iter().map(|c| *c as u8 as char).collect::<String>();
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
    matches!((numbers.next(), numbers.next()), (Some(Ok(major)), Some(Ok(minor)))
        if (major, minor) >= (6, 12))
}
