//! What the I/Os of streams add up to ([`StreamSums`]) that tell much the same: all of them
//! their response times, all or none their queue depths. Much of a tally is known then
//! without counting, and what is left stands close together. In the end it is added to the
//! tallies.

use crate::sums::io_sums::Sums;
use crate::sums::queue_time::Together;
use steadfast_tracefile::stream_key::StreamKey;

/// Times below this are short: as many as a batch can have rows are added up without a
/// thought of the room for their sum.
pub(crate) const SHORT_NS: u64 = 1 << (u32::BITS - 1);

/// Streams that there is room for.
pub(crate) const SUMMED_MAX: usize = 1 << 10;

/// What some I/Os tell beside their response times, which are all known and short.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ChunkTraits {
    /// Queue depths: all of them; otherwise none.
    pub(crate) depths: bool,
    /// Times in the queue, which are short; otherwise none.
    pub(crate) queued: bool,
}

/// The sums of streams, of no more I/Os than a batch has.
#[derive(Debug, Clone, Default)]
pub(crate) struct StreamSums {
    /// What the I/Os tell; nothing where there are none.
    telling: Option<ChunkTraits>,
    sums: Vec<Sum>,
}

/// That of one stream.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sum {
    ios: u32,
    depth_max: u32,
    depth_sum: u64,
    offsets: u64,
    response_ns: u64,
    response_max_ns: u64,
    queued_ns: u64,
    queued_max_ns: u64,
    /// I/Os without a time in the queue, and their response times.
    unqueued: u32,
    unqueued_response_ns: u64,
}

impl StreamSums {
    /// Sums by the number of the stream, of as many streams as there are, for I/Os that tell
    /// this; those of I/Os that told something else are added to the tallies before.
    pub(crate) fn by_stream(
        &mut self,
        telling: ChunkTraits,
        keys: &[u64],
        tallies: &mut [Sums],
    ) -> &mut [Sum] {
        if self.telling != Some(telling) {
            self.settle(keys, tallies);
            self.telling = Some(telling);
        }
        self.sums.resize(tallies.len(), Sum::default());
        &mut self.sums
    }

    /// Adds them to the streams' tallies; nothing is left.
    pub(crate) fn settle(&mut self, keys: &[u64], tallies: &mut [Sums]) {
        let Some(telling) = self.telling.take() else { return };
        let streams = keys.iter().zip(tallies).zip(self.sums.drain(..));
        for ((key, tally), sum) in streams.filter(|(_, sum)| sum.ios > 0) {
            sum.add_to(tally, telling, StreamKey::unpacked(*key));
        }
        if keys.len() > SUMMED_MAX {
            // There will be no more.
            self.sums = Vec::new();
        }
    }
}

impl Sum {
    /// Counts an I/O: its offset, depth, response time and time in the queue.
    #[inline(always)]
    pub(crate) fn add(&mut self, offset: u64, depth: u32, (response, queued): (u64, u64)) {
        self.ios += 1;
        self.offsets |= offset;
        self.depth_sum += u64::from(depth);
        self.response_ns += response;
        self.queued_ns += queued;
        // Choices, as a processor foresees these: a longest one is seldom followed by a longer.
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

    /// Counts an I/O beside [`Self::add`] whose time in the queue is not known though those of
    /// others are.
    pub(crate) fn add_unqueued(&mut self, response: u64) {
        self.unqueued += 1;
        self.unqueued_response_ns += response;
    }

    fn add_to(self, tally: &mut Sums, telling: ChunkTraits, key: StreamKey) {
        let (ios, op) = (u64::from(self.ios), key.op as usize);
        tally.ios[op] += ios;
        tally.bytes[op] = tally.bytes[op].saturating_add(ios * u64::from(key.bytes));
        tally.sequential += if key.sequential { ios } else { 0 };
        tally.offsets |= self.offsets;
        tally.depth_sum += self.depth_sum;
        tally.depths += if telling.depths { ios } else { 0 };
        tally.depth_max = tally.depth_max.max(self.depth_max);
        tally.responses.take_sum(ios, self.response_ns, self.response_max_ns);
        if telling.queued {
            let known = u64::from(self.ios - self.unqueued);
            tally.queued.take_sum(known, self.queued_ns, self.queued_max_ns);
            tally.together.merge(Together {
                queued_ns: self.queued_ns,
                response_ns: self.response_ns - self.unqueued_response_ns,
            });
        }
    }
}
