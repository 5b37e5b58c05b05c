//! The BPF ring buffer, read in place (kernel: Documentation/bpf/ringbuf.rst).
//!
//! Two pages hold the reader's and the writers' positions; the records follow,
//! mapped twice in a row, so that one that wraps around lies in one piece. A
//! record's head says how long it is and whether it is still being written.

use crate::error::CaptureError;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const BUSY: u32 = 1 << 31;
const DISCARDED: u32 = 1 << 30;
const HEAD: u64 = 8;

/// A mapped ring buffer; this is its only reader.
pub(super) struct Ring {
    reader: Mapping,
    writers: Mapping,
    size: u64,
    page: usize,
}

impl Ring {
    /// Maps the buffer of `size` bytes, a power of two.
    pub(super) fn new(map: BorrowedFd<'_>, size: u32) -> Result<Ring, CaptureError> {
        // SAFETY: asks for a number.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
        let writable = libc::PROT_READ | libc::PROT_WRITE;
        let reader = Mapping::new(map, page, writable, 0)?;
        let writers = Mapping::new(map, page + 2 * size as usize, libc::PROT_READ, page)?;
        Ok(Ring { reader, writers, size: u64::from(size), page })
    }

    /// Hands every finished record to `each`, in the order in which they were
    /// begun, and gives their room back.
    pub(super) fn read(&mut self, mut each: impl FnMut(&[u8])) {
        let mut at = self.reader_position().load(Ordering::Relaxed);
        loop {
            let end = self.writer_position().load(Ordering::Acquire);
            if at >= end {
                return;
            }
            while at < end {
                let head = self.head(at).load(Ordering::Acquire);
                if head & BUSY != 0 {
                    return;
                }
                let length = head & !(BUSY | DISCARDED);
                if head & DISCARDED == 0 {
                    each(self.record(at + HEAD, length));
                }
                at += (u64::from(length) + HEAD).next_multiple_of(8);
                self.reader_position().store(at, Ordering::Release);
            }
        }
    }

    fn reader_position(&self) -> &AtomicU64 {
        // SAFETY: the first word of a page that lives as long as `self`; the
        // kernel reads and writes it as a whole.
        unsafe { self.reader.start.cast::<AtomicU64>().as_ref() }
    }

    fn writer_position(&self) -> &AtomicU64 {
        // SAFETY: as above, of the writers' page.
        unsafe { self.writers.start.cast::<AtomicU64>().as_ref() }
    }

    fn place(&self, at: u64) -> NonNull<u8> {
        let offset = self.page + (at & (self.size - 1)) as usize;
        // SAFETY: inside the mapping, which holds the records twice.
        unsafe { self.writers.start.add(offset) }
    }

    fn head(&self, at: u64) -> &AtomicU32 {
        // SAFETY: heads are aligned to eight bytes and written as a whole.
        unsafe { self.place(at).cast::<AtomicU32>().as_ref() }
    }

    fn record(&self, at: u64, length: u32) -> &[u8] {
        let length = u64::from(length).min(self.size) as usize;
        // SAFETY: a finished record lies in one piece in the doubled mapping,
        // and is not written again before the reader's position has passed it.
        unsafe { std::slice::from_raw_parts(self.place(at).as_ptr(), length) }
    }
}

/// A shared mapping, unmapped when it is dropped.
struct Mapping {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: plain memory, used by whoever owns the mapping.
unsafe impl Send for Mapping {}

impl Mapping {
    fn new(
        map: BorrowedFd<'_>,
        length: usize,
        protection: libc::c_int,
        offset: usize,
    ) -> Result<Mapping, CaptureError> {
        let failed = || {
            CaptureError::new(
                format!("the ring buffer cannot be mapped: {}", io::Error::last_os_error()),
                "give a smaller --buffer",
            )
        };
        // SAFETY: a new mapping at an address of the kernel's choice.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                length,
                protection,
                libc::MAP_SHARED,
                map.as_raw_fd(),
                offset as libc::off_t,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(failed());
        }
        let start = NonNull::new(start.cast()).ok_or_else(failed)?;
        Ok(Mapping { start, length })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`, with this length; no reference outlives it.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
    }
}
