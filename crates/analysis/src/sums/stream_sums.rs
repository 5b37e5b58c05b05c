//! [`StreamSums`]: sums by stream over I/Os with common traits: all response times are known, and
//! either all queue depths or none. Much of a tally then follows without counting, and the rest
//! fits into a small struct. The sums are finally added to the tallies.

use crate::sums::io_sums::IoSums;
use crate::sums::op_sums::OpSums;
use steadfast_tracefile::cube_file::{DepthSums, QueueResponseSums, TimeSums};
use steadfast_tracefile::stream_key::StreamKey;

/// Times below this are short: summing one per row of a batch cannot overflow.
pub(crate) const SHORT_NS: u64 = 1 << (u32::BITS - 1);

pub(crate) const SUMMED_MAX: usize = 1 << 10;

/// Common traits of some I/Os whose response times are all known and short.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ChunkTraits {
    /// True if all queue depths are known; otherwise none is.
    pub(crate) depths: bool,
    /// True if some queue times are known, all of which are short; otherwise none is known.
    pub(crate) queued: bool,
}

/// Sums by stream, over no more I/Os than a batch has.
#[derive(Debug, Clone, Default)]
pub(crate) struct StreamSums {
    /// Traits of the I/Os; `None` if there are none.
    traits: Option<ChunkTraits>,
    sums: Vec<StreamSum>,
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct StreamSum {
    ios: u32,
    depth_max: u32,
    depth_sum: u64,
    offsets: u64,
    response_ns: u64,
    response_max_ns: u64,
    queued_ns: u64,
    queued_max_ns: u64,
    /// Number of I/Os without a queue time; their response times are in `unqueued_response_ns`.
    unqueued: u32,
    unqueued_response_ns: u64,
}

impl StreamSums {
    /// Returns the sums by stream index for I/Os with these traits. Sums of I/Os with other traits
    /// are first added to the tallies.
    pub(crate) fn by_stream(
        &mut self,
        traits: ChunkTraits,
        keys: &[u64],
        tallies: &mut [IoSums],
    ) -> &mut [StreamSum] {
        if self.traits != Some(traits) {
            self.flush(keys, tallies);
            self.traits = Some(traits);
        }
        self.sums.resize(tallies.len(), StreamSum::default());
        &mut self.sums
    }

    /// Adds the sums to the tallies of the streams and clears them.
    pub(crate) fn flush(&mut self, keys: &[u64], tallies: &mut [IoSums]) {
        let Some(traits) = self.traits.take() else { return };
        let streams = keys.iter().zip(tallies).zip(self.sums.drain(..));
        for ((key, tally), sum) in streams.filter(|(_, sum)| sum.ios > 0) {
            sum.add_to(tally, traits, StreamKey::unpacked(*key));
        }
        if keys.len() > SUMMED_MAX {
            // The table is full, so no more sums will follow.
            self.sums = Vec::new();
        }
    }
}

impl StreamSum {
    #[inline(always)]
    pub(crate) fn add(&mut self, offset: u64, depth: u32, (response, queued): (u64, u64)) {
        self.ios += 1;
        self.offsets |= offset;
        self.depth_sum += u64::from(depth);
        self.response_ns += response;
        self.queued_ns += queued;
        // Branches, because a processor predicts these well: a new maximum is rare.
        if depth > self.depth_max {
            self.depth_max = depth;
        }
        if response > self.response_max_ns {
            self.response_max_ns = response;
        }
        if queued > self.queued_max_ns {
            self.queued_max_ns = queued;
        }
    }

    /// Marks an I/O given to [`Self::add`] as having no queue time, if other I/Os have one.
    pub(crate) fn add_unqueued(&mut self, response: u64) {
        self.unqueued += 1;
        self.unqueued_response_ns += response;
    }

    fn add_to(self, tally: &mut IoSums, traits: ChunkTraits, key: StreamKey) {
        let ios = u64::from(self.ios);
        tally.ops[key.op as usize].merge(OpSums {
            ios,
            bytes: ios * u64::from(key.bytes),
            sequential: if key.sequential { ios } else { 0 },
        });
        tally.offsets |= self.offsets;
        tally.times.depths.merge(DepthSums {
            sum: self.depth_sum,
            count: if traits.depths { ios } else { 0 },
            max: self.depth_max,
        });
        tally.times.responses.total.merge(TimeSums {
            count: ios,
            sum_ns: self.response_ns,
            max_ns: self.response_max_ns,
        });
        if traits.queued {
            tally.times.queued.total.merge(TimeSums {
                count: u64::from(self.ios - self.unqueued),
                sum_ns: self.queued_ns,
                max_ns: self.queued_max_ns,
            });
            tally.times.together.merge(QueueResponseSums {
                queued_ns: self.queued_ns,
                response_ns: self.response_ns - self.unqueued_response_ns,
            });
        }
    }
}
