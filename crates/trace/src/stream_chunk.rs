//! A [`Chunk`]: some I/Os as what counting by stream takes of them, column by column.
//! Nearly every question goes through here for every I/O, so the columns are slices of
//! one length and a row is told by few instructions.

use crate::batch::PART_MAX;
use crate::file::Field;
use crate::fold::Rows;
use crate::stream_tally::{StreamKey, StreamTally};
use std::ops::Range;
use steadfast_domain::io_event::{RESPONSE_UNKNOWN, flags};

/// I/Os that are counted at once: their columns fit a processor's nearest caches.
pub(crate) const AT_ONCE: usize = 1024;
const _: () = assert!(AT_ONCE <= PART_MAX);

/// A few I/Os.
pub(crate) struct Chunk<'r> {
    op: &'r [i32],
    bytes: &'r [i32],
    flags: &'r [i32],
    offset: &'r [i64],
    response: &'r [i64],
    queued: &'r [i64],
    depth: &'r [u32],
    sequential: &'r [bool],
    kept: &'r [bool],
}

impl<'r> Chunk<'r> {
    /// At most [`AT_ONCE`] of them.
    pub(crate) fn of(rows: &Rows<'r>, range: Range<usize>) -> Self {
        let batch = rows.batch;
        Chunk {
            op: batch.narrow(Field::Op).part(range.clone()),
            bytes: batch.narrow(Field::Bytes).part(range.clone()),
            flags: batch.narrow(Field::Flags).part(range.clone()),
            offset: batch.wide(Field::Offset).part(range.clone()),
            response: batch.wide(Field::Response).part(range.clone()),
            queued: batch.wide(Field::Queued).part(range.clone()),
            depth: &rows.depth[range.clone()],
            sequential: &rows.sequential[range.clone()],
            kept: &rows.kept[range],
        }
    }

    /// One of them alone.
    pub(crate) fn row(&self, row: usize) -> Chunk<'r> {
        let row = row..row + 1;
        Chunk {
            op: &self.op[row.clone()],
            bytes: &self.bytes[row.clone()],
            flags: &self.flags[row.clone()],
            offset: &self.offset[row.clone()],
            response: &self.response[row.clone()],
            queued: &self.queued[row.clone()],
            depth: &self.depth[row.clone()],
            sequential: &self.sequential[row.clone()],
            kept: &self.kept[row],
        }
    }

    /// The packed keys of those that the filter lets pass; nothing for the others.
    pub(crate) fn keys(&self) -> impl Iterator<Item = Option<u64>> {
        let of_row = self.op.iter().zip(self.bytes).zip(self.sequential).zip(self.kept);
        of_row.map(|(((op, bytes), sequential), kept)| {
            kept.then(|| {
                StreamKey::packed_number(op.cast_unsigned(), *sequential, bytes.cast_unsigned())
            })
        })
    }

    /// Counts each of the first I/Os to the stream of that number; one without such a
    /// stream is left out. The columns in two turns: a processor has too few registers
    /// for all of them.
    pub(crate) fn count(&self, streams: &[u32], tallies: &mut [StreamTally]) {
        self.count_requests(streams, tallies);
        self.count_times(streams, tallies);
    }

    fn count_requests(&self, streams: &[u32], tallies: &mut [StreamTally]) {
        let asked = self.bytes.iter().zip(self.offset).zip(self.depth).zip(self.flags);
        for (stream, (((bytes, offset), depth), flags)) in streams.iter().zip(asked) {
            let Some(tally) = tallies.get_mut(*stream as usize) else { continue };
            tally.ios += 1;
            tally.bytes = tally.bytes.saturating_add(u64::from(bytes.cast_unsigned()));
            tally.offsets |= offset.cast_unsigned();
            tally.depth_sum += u64::from(*depth);
            tally.depths += u64::from(*depth > 0);
            tally.depth_max = tally.depth_max.max(*depth);
            tally.failed += u64::from(flags & i32::from(flags::FAILED) != 0);
        }
    }

    fn count_times(&self, streams: &[u32], tallies: &mut [StreamTally]) {
        for (stream, (response, queued)) in
            streams.iter().zip(self.response.iter().zip(self.queued))
        {
            let Some(tally) = tallies.get_mut(*stream as usize) else { continue };
            let (response, queued) = (response.cast_unsigned(), queued.cast_unsigned());
            let is_known = response != RESPONSE_UNKNOWN;
            if is_known {
                tally.responses.add(response);
            }
            if queued > 0 {
                tally.queued.count_one(queued, is_known.then_some(response));
            }
        }
    }
}
