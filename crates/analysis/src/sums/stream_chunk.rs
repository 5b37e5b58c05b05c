//! [`StreamChunk`]: the columns of up to 1,024 rows that are needed to count I/Os by stream. This is
//! the hot loop of nearly every question, so the columns are slices of equal length and a row takes
//! few instructions.

use crate::fold::AnnotatedRows;
use crate::sums::io_sums::IoSums;
use crate::sums::stream_sums::{ChunkTraits, SHORT_NS, StreamSum};
use std::ops::Range;
use steadfast_domain::io_event::{RESPONSE_UNKNOWN, flags};
use steadfast_tracefile::batch::PART_MAX;
use steadfast_tracefile::parquet::Field;
use steadfast_tracefile::simd;
use steadfast_tracefile::stream_key::StreamKey;

/// Maximum number of rows in a chunk. Their columns fit a processor's nearest caches.
pub(crate) const CHUNK_ROWS: usize = 1024;
const _: () = assert!(CHUNK_ROWS <= PART_MAX);
const FAILED_FLAG: i32 = flags::FAILED as i32;
/// Index of failures in [`IoSums::flags`].
const FAILED_INDEX: usize = flags::FAILED.trailing_zeros() as usize;
const SHORT_LIMIT_NS: i64 = SHORT_NS.cast_signed();

/// Columns of some I/Os, one entry per row.
pub(crate) struct StreamChunk<'r> {
    op: &'r [i32],
    bytes: &'r [i32],
    flags: &'r [i32],
    offset: &'r [i64],
    /// In nanoseconds; −1 if unknown.
    response: &'r [i64],
    /// In nanoseconds; 0 if unknown.
    queued: &'r [i64],
    /// 0 if unknown.
    depth: &'r [u32],
    sequential: &'r [bool],
    /// True for rows that pass the filter.
    kept: &'r [bool],
}

impl<'r> StreamChunk<'r> {
    /// Borrows the columns of a range of at most [`CHUNK_ROWS`] rows.
    pub(crate) fn new(rows: &AnnotatedRows<'r>, range: Range<usize>) -> Self {
        let batch = rows.batch;
        StreamChunk {
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

    /// Returns a chunk of one row.
    pub(crate) fn single_row(&self, index: usize) -> StreamChunk<'r> {
        let range = index..index + 1;
        StreamChunk {
            op: &self.op[range.clone()],
            bytes: &self.bytes[range.clone()],
            flags: &self.flags[range.clone()],
            offset: &self.offset[range.clone()],
            response: &self.response[range.clone()],
            queued: &self.queued[range.clone()],
            depth: &self.depth[range.clone()],
            sequential: &self.sequential[range.clone()],
            kept: &self.kept[range],
        }
    }

    /// Fills `keys` with the packed stream key of each row.
    pub(crate) fn keys(&self, keys: &mut Vec<u64>) {
        keys.resize(self.kept.len(), 0);
        simd::keys(self.op, self.bytes, self.sequential, keys);
    }

    pub(crate) fn kept(&self) -> &'r [bool] {
        self.kept
    }

    /// Returns the common traits of the rows, with which they can be summed without a check per row.
    /// Returns `None` if a response time is unknown or long, a queue time is long, or only some
    /// depths are known; few chunks are like that.
    pub(crate) fn traits(&self) -> Option<ChunkTraits> {
        // SHORT_NS is a power of two: the bits of all times together are below it only if every time
        // is.
        let response_bits = simd::bits_of_any(self.response);
        let queued_bits = simd::bits_of_any(self.queued);
        let (depth_bits, any_unknown) = simd::bits_of_depths(self.depth);
        let short = 0..SHORT_LIMIT_NS;
        let are_short = short.contains(&response_bits) && short.contains(&queued_bits);
        let all_or_no_depths = depth_bits == 0 || !any_unknown;
        let traits = ChunkTraits { depths: depth_bits > 0, queued: queued_bits > 0 };
        (are_short && all_or_no_depths).then_some(traits)
    }

    /// Adds each row to `tallies[streams[row]]`; skips rows whose index is out of range. `keys` has
    /// the key of each stream.
    pub(crate) fn count(&self, streams: &[u32], keys: &[u64], tallies: &mut [IoSums]) {
        self.count_requests(streams, keys, tallies);
        self.count_times(streams, tallies);
    }

    /// Adds the rows like [`Self::count`], but to `sums`, which has an entry per stream; only what
    /// these cannot hold (histogram buckets, failures) goes to `tallies`. `traits` are those of this
    /// chunk; `buckets` is working memory.
    pub(crate) fn add_up(
        &self,
        traits: ChunkTraits,
        streams: &[u32],
        buckets: &mut Vec<u32>,
        sums: &mut [StreamSum],
        tallies: &mut [IoSums],
    ) {
        self.add_each(streams, sums);
        buckets.resize(self.response.len(), 0);
        simd::buckets(self.response, buckets);
        for (stream, bucket) in streams.iter().zip(buckets) {
            if let Some(tally) = tallies.get_mut(*stream as usize) {
                tally.times.responses.count_bucket(*bucket);
            }
        }
        // Rows without a queue time were added with one of 0.
        if traits.queued && simd::any_below_one(self.queued) {
            self.add_unqueued(streams, sums);
        }
        if simd::bits_of_flags(self.flags) & FAILED_FLAG != 0 {
            self.count_failed(streams, tallies);
        }
    }

    fn add_each(&self, streams: &[u32], sums: &mut [StreamSum]) {
        let requests = self.offset.iter().zip(self.depth);
        let times = self.response.iter().zip(self.queued);
        let rows = streams.iter().zip(requests.zip(times));
        for (stream, ((offset, depth), (response, queued))) in rows {
            let Some(sum) = sums.get_mut(*stream as usize) else { continue };
            let times = (response.cast_unsigned(), queued.cast_unsigned());
            sum.add(offset.cast_unsigned(), *depth, times);
        }
    }

    fn add_unqueued(&self, streams: &[u32], sums: &mut [StreamSum]) {
        let times = self.response.iter().zip(self.queued);
        for (stream, (response, _)) in streams.iter().zip(times).filter(|(_, time)| *time.1 == 0) {
            if let Some(sum) = sums.get_mut(*stream as usize) {
                sum.add_unqueued(response.cast_unsigned());
            }
        }
    }

    fn count_failed(&self, streams: &[u32], tallies: &mut [IoSums]) {
        let failed = streams.iter().zip(self.flags).filter(|(_, flags)| **flags & FAILED_FLAG != 0);
        for (stream, _) in failed {
            if let Some(tally) = tallies.get_mut(*stream as usize) {
                tally.flags[FAILED_INDEX] += 1;
            }
        }
    }

    fn count_requests(&self, streams: &[u32], keys: &[u64], tallies: &mut [IoSums]) {
        let requests = self.bytes.iter().zip(self.offset).zip(self.depth).zip(self.flags);
        for (stream, (((bytes, offset), depth), flags)) in streams.iter().zip(requests) {
            let at = *stream as usize;
            let Some((key, tally)) = keys.get(at).zip(tallies.get_mut(at)) else { continue };
            let StreamKey { op, sequential, .. } = StreamKey::unpacked(*key);
            tally.ops[op as usize].add(bytes.cast_unsigned(), sequential);
            tally.offsets |= offset.cast_unsigned();
            tally.times.depths.add(*depth);
            tally.flags[FAILED_INDEX] += u64::from(flags & i32::from(flags::FAILED) != 0);
        }
    }

    fn count_times(&self, streams: &[u32], tallies: &mut [IoSums]) {
        for (stream, (response, queued)) in
            streams.iter().zip(self.response.iter().zip(self.queued))
        {
            let Some(tally) = tallies.get_mut(*stream as usize) else { continue };
            let (response, queued) = (response.cast_unsigned(), queued.cast_unsigned());
            let is_known = response != RESPONSE_UNKNOWN;
            if is_known {
                tally.times.responses.add(response);
            }
            if queued > 0 {
                tally.times.queued.total.add(queued);
                if is_known {
                    tally.times.together.add(queued, response);
                }
            }
        }
    }
}
