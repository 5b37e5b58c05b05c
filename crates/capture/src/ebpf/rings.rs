//! Ring buffers of records, one per processor, written by the programs (bpf/records.h) and read in
//! place.
//!
//! The head of a record is written last. Its lowest byte is the number of the lap, counted from 1:
//! a record is complete if it carries the current lap.

use super::plain::PlainData;
use super::programs::{AttachedPrograms, load_error, missing};
use crate::error::CaptureError;
use libbpf_rs::OpenMapMut;
use std::io;
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use steadfast_domain::IoEvent;

/// A `struct record` of the programs: 64 bytes, beginning with its head.
pub(super) trait RingRecord: PlainData {
    /// Converts to an event with times counted from `began_ns`.
    fn event(&self, began_ns: u64) -> IoEvent;
}

const RECORD: usize = 64;

/// Records after which their space is released, so that a full ring need not wait until all of it
/// has been read.
const RELEASE_INTERVAL: u64 = 1024;

/// `struct position`: the write and read positions of a processor's ring, each in a cache line of
/// its own.
#[repr(C)]
struct RingPosition {
    next: AtomicU64,
    limit: AtomicU64,
    unused: [u64; 6],
    taken: AtomicU64,
    unused_too: [u64; 7],
}

/// Dimensions of the rings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RingSizes {
    processors: u32,
    /// log2 of the records per ring.
    shift: u32,
}

impl RingSizes {
    /// Returns rings that share `bytes` among all possible processors.
    pub(super) fn sharing(bytes: u64) -> Result<RingSizes, CaptureError> {
        let processors = libbpf_rs::num_possible_cpus().map_err(load_error)?;
        let processors = u32::try_from(processors).unwrap_or(u32::MAX).max(1);
        let records = (bytes / RECORD as u64 / u64::from(processors)).max(1);
        Ok(RingSizes { processors, shift: records.ilog2() })
    }

    /// Configures a map that belongs to the rings, before it is created.
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

/// The rings of all processors. There must be only one reader.
pub(super) struct Rings {
    positions: SharedMapping,
    records: SharedMapping,
    sizes: RingSizes,
    /// Most records read from one ring in the last pass.
    fullest: u64,
}

impl Rings {
    pub(super) fn open(
        programs: &AttachedPrograms,
        sizes: RingSizes,
    ) -> Result<Rings, CaptureError> {
        let processors = sizes.processors as usize;
        let positions =
            SharedMapping::new(programs.map("positions")?, processors * size_of::<RingPosition>())?;
        let records =
            SharedMapping::new(programs.map("records")?, (processors << sizes.shift) * RECORD)?;
        Ok(Rings { positions, records, sizes, fullest: 0 })
    }

    /// Calls `each` for every complete record, processor by processor, and releases its space.
    pub(super) fn read<R: RingRecord>(&mut self, mut each: impl FnMut(&R)) {
        const { assert!(size_of::<R>() == RECORD && align_of::<R>() <= RECORD) };
        self.fullest = 0;
        for processor in 0..self.sizes.processors {
            let taken = &self.position(processor).taken;
            let before = taken.load(Ordering::Relaxed);
            let mut position = before;
            while let Some(record) = self.complete_record(processor, position) {
                // SAFETY: the place has the size and alignment of a record, any bit pattern is a
                // valid one, and it is not overwritten before its space is released.
                each(unsafe { record.cast::<R>().as_ref() });
                position += 1;
                if position.is_multiple_of(RELEASE_INTERVAL) {
                    taken.store(position, Ordering::Release);
                }
            }
            taken.store(position, Ordering::Release);
            self.fullest = self.fullest.max(position - before);
        }
    }

    /// Returns the fill level of the fullest ring at the last reading: 0 to 1, or more if it was
    /// filled further while it was read.
    pub(super) fn fullness(&self) -> f64 {
        self.fullest as f64 / (1u64 << self.sizes.shift) as f64
    }

    fn position(&self, processor: u32) -> &RingPosition {
        // SAFETY: the mapping has one position per processor; all fields are atomic or unused, and
        // the kernel reads and writes each as a whole.
        unsafe { self.positions.start.cast::<RingPosition>().add(processor as usize).as_ref() }
    }

    fn complete_record(&self, processor: u32, number: u64) -> Option<NonNull<[u8; RECORD]>> {
        let shift = self.sizes.shift;
        let place = number & ((1 << shift) - 1);
        let at = ((processor as usize) << shift) + place as usize;
        // SAFETY: inside the mapping, which has 2^shift records per processor.
        let record = unsafe { self.records.start.cast::<[u8; RECORD]>().add(at) };
        // SAFETY: a record begins with its head, which is written atomically.
        let head = unsafe { record.cast::<AtomicU64>().as_ref() }.load(Ordering::Acquire);
        (head as u8 == ((number >> shift) + 1) as u8).then_some(record)
    }
}

/// A shared memory mapping, unmapped on drop.
struct SharedMapping {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: plain memory without thread affinity, accessed only through the mapping's owner.
unsafe impl Send for SharedMapping {}

impl SharedMapping {
    fn new(map: BorrowedFd<'_>, length: usize) -> Result<SharedMapping, CaptureError> {
        let failed = || {
            CaptureError::new(
                format!("cannot map the capture buffer: {}", io::Error::last_os_error()),
                "give a smaller --buffer",
            )
        };
        // SAFETY: a new mapping at an address chosen by the kernel.
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
        Ok(SharedMapping { start, length })
    }
}

impl Drop for SharedMapping {
    fn drop(&mut self) {
        // SAFETY: mapped by `new` with this length; no reference outlives it.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
    }
}
