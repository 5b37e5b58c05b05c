//! The memory that a thread's I/Os read into and write from.

use super::memory::{Arena, PageKind};
use super::pattern::PatternWriter;
use super::queue::SlotBuffer;
use steadfast_domain::Op;

#[derive(Debug, Default)]
pub(super) struct ThreadBuffers {
    /// Read buffers of all slots, `read_stride` bytes apart; `None` if nothing is read.
    pub reads: Option<Arena>,
    pub read_stride: usize,
    /// `None` if nothing is written.
    pub writer: Option<PatternWriter>,
}

impl ThreadBuffers {
    pub(super) fn read_buffers(&self, depth: u32) -> Vec<SlotBuffer> {
        let Some(arena) = &self.reads else { return Vec::new() };
        let length = self.read_stride;
        (0..depth as usize)
            .map(|slot| SlotBuffer { start: arena.at(slot * length), length })
            .collect()
    }

    pub(super) fn write_buffers(&self, depth: u32) -> Vec<SlotBuffer> {
        let Some(writer) = &self.writer else { return Vec::new() };
        (0..depth).map(|slot| writer.slot_buffer(slot)).collect()
    }

    /// Returns the kind of pages of the buffers, the smaller if they differ; `None` without
    /// buffers.
    pub(super) fn pages(&self) -> Option<PageKind> {
        let reads = self.reads.as_ref().map(|arena| arena.pages);
        let writes = self.writer.as_ref().map(PatternWriter::pages);
        reads.into_iter().chain(writes).min()
    }

    /// Returns the buffer of a slot's I/O, which holds the data of a write; null if the operation
    /// moves none.
    #[inline(always)]
    pub(super) fn buffer(&mut self, slot: u32, op: Op, offset: u64, size: u32) -> *mut u8 {
        match (op, &self.reads, &mut self.writer) {
            (Op::Read, Some(arena), _) => arena.at(slot as usize * self.read_stride),
            (Op::Write, _, Some(writer)) => writer.next(slot, offset, size),
            _ => std::ptr::null_mut(),
        }
    }
}
