//! Records on their way from the kernel: a ring for every processor, written by
//! the programs (bpf/records.h) and read in place.
//!
//! A record's head is written last. Its lowest byte is the number of the lap,
//! counted from 1: where it is the one that is due, the record is whole.

use super::plain::Plain;
use super::programs::{Programs, load_error, missing};
use crate::error::CaptureError;
use libbpf_rs::OpenMapMut;
use std::io;
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use steadfast_domain::IoEvent;

/// A `struct record` of the programs: a cache line that begins with its head.
pub(super) trait Record: Plain {
    /// The event, with times counted from the capture's beginning.
    fn event(&self, began_ns: u64) -> IoEvent;
}

const RECORD: usize = 64;

/// Records of a ring whose room is given back at once, so that a full one does
/// not have to wait for the last of them.
const GIVEN_BACK: u64 = 1024;

/// `struct position`: where a processor's ring is being written and read, each
/// in a cache line of its own.
#[repr(C)]
struct Position {
    next: AtomicU64,
    limit: AtomicU64,
    unused: [u64; 6],
    taken: AtomicU64,
    unused_too: [u64; 7],
}

/// How large the rings are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sizes {
    processors: u32,
    /// log2 of the records of a ring.
    shift: u32,
}

impl Sizes {
    /// Rings that share so many bytes.
    pub(super) fn sharing(bytes: u32) -> Result<Sizes, CaptureError> {
        let processors = libbpf_rs::num_possible_cpus().map_err(load_error)?;
        let processors = u32::try_from(processors).unwrap_or(u32::MAX).max(1);
        let records = (bytes / RECORD as u32 / processors).max(1);
        Ok(Sizes { processors, shift: records.ilog2() })
    }

    /// Sets up a map that the rings consist of, before it is made.
    pub(super) fn prepare(self, name: &str, map: &mut OpenMapMut<'_>) -> Result<(), CaptureError> {
        match name {
            "positions" => map.set_max_entries(self.processors).map_err(load_error),
            "records" => map.set_max_entries(self.processors << self.shift).map_err(load_error),
            name if name.ends_with(".rodata.ring") => {
                let value = map.initial_value_mut().and_then(|value| value.first_chunk_mut());
                *value.ok_or_else(|| missing(name))? = self.shift.to_ne_bytes();
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// The rings of all processors; this is their only reader.
pub(super) struct Rings {
    positions: Mapping,
    records: Mapping,
    sizes: Sizes,
    /// Records of the fullest ring at the last reading.
    fullest: u64,
}

impl Rings {
    pub(super) fn of(programs: &Programs, sizes: Sizes) -> Result<Rings, CaptureError> {
        let processors = sizes.processors as usize;
        let positions =
            Mapping::new(programs.map("positions")?, processors * size_of::<Position>())?;
        let records = Mapping::new(programs.map("records")?, (processors << sizes.shift) * RECORD)?;
        Ok(Rings { positions, records, sizes, fullest: 0 })
    }

    /// Hands every whole record to `each`, processor by processor, and gives
    /// their room back.
    pub(super) fn read<R: Record>(&mut self, mut each: impl FnMut(&R)) {
        const { assert!(size_of::<R>() == RECORD && align_of::<R>() <= RECORD) };
        self.fullest = 0;
        for processor in 0..self.sizes.processors {
            let taken = &self.position(processor).taken;
            let before = taken.load(Ordering::Relaxed);
            let mut at = before;
            while let Some(record) = self.whole(processor, at) {
                // SAFETY: as long as a record, aligned like one, any bits are a
                // valid one, and it is not written again before its room is given back.
                each(unsafe { record.cast::<R>().as_ref() });
                at += 1;
                if at.is_multiple_of(GIVEN_BACK) {
                    taken.store(at, Ordering::Release);
                }
            }
            taken.store(at, Ordering::Release);
            self.fullest = self.fullest.max(at - before);
        }
    }

    /// How full the fullest ring was at the last reading: 0 to 1, or more where it
    /// was filled while it was read.
    pub(super) fn fullness(&self) -> f64 {
        self.fullest as f64 / (1u64 << self.sizes.shift) as f64
    }

    fn position(&self, processor: u32) -> &Position {
        // SAFETY: the mapping has one for each processor; all fields are atomic
        // or unused, the kernel reads and writes them as a whole.
        unsafe { self.positions.start.cast::<Position>().add(processor as usize).as_ref() }
    }

    /// A record, if it has been written.
    fn whole(&self, processor: u32, number: u64) -> Option<NonNull<[u8; RECORD]>> {
        let shift = self.sizes.shift;
        let place = number & ((1 << shift) - 1);
        let at = ((processor as usize) << shift) + place as usize;
        // SAFETY: inside the mapping, which has 2^shift records for each processor.
        let record = unsafe { self.records.start.cast::<[u8; RECORD]>().add(at) };
        // SAFETY: a record begins with its head, which is written as a whole.
        let head = unsafe { record.cast::<AtomicU64>().as_ref() }.load(Ordering::Acquire);
        (head as u8 == ((number >> shift) + 1) as u8).then_some(record)
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
    fn new(map: BorrowedFd<'_>, length: usize) -> Result<Mapping, CaptureError> {
        let failed = || {
            CaptureError::new(
                format!("the buffer cannot be mapped: {}", io::Error::last_os_error()),
                "give a smaller --buffer",
            )
        };
        // SAFETY: a new mapping at an address of the kernel's choice.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                length,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                map.as_fd().as_raw_fd(),
                0,
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
