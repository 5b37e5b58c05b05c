//! [`ArrivalGaps`]: the time from each I/O of a stream to the next, among those that pass the filter.

use crate::fold::AnnotatedBatch;
use crate::questions::streams::{STREAMS_MAX, StreamKey};
use crate::tables::recent_cache::RecentCache;
use rustc_hash::FxHashMap;

/// Number of every stream beyond [`STREAMS_MAX`]; it has no gaps.
const UNTRACKED_STREAM: u32 = u32::MAX;

/// Time of the last I/O of each stream. Streams beyond the limit have none.
#[derive(Default)]
pub(crate) struct ArrivalGaps {
    recent: RecentCache<StreamKey, u32>,
    numbers: FxHashMap<StreamKey, u32>,
    /// Issue time of the last I/O by number of the stream.
    last_ns: Vec<Option<u64>>,
}

impl ArrivalGaps {
    /// Fills in the gaps of the rows that pass the filter.
    pub(crate) fn fill(&mut self, next: &mut AnnotatedBatch) {
        let batch = &next.batch;
        for row in 0..batch.len() {
            if !next.kept[row] {
                continue;
            }
            let sequential = next.sequential[row];
            let key = StreamKey { op: batch.op(row), sequential, bytes: batch.bytes(row) };
            next.annotations[row].gap_ns = self.gap(key, batch.issued_ns(row));
        }
    }

    /// Returns the time since the last I/O of a stream, and remembers this one.
    fn gap(&mut self, key: StreamKey, at_ns: u64) -> Option<u64> {
        let ArrivalGaps { recent, numbers, last_ns } = self;
        let packed_key = StreamKey::packed(key.op, key.sequential, key.bytes);
        let number = recent.get_or(packed_key, key, || {
            let next = last_ns.len();
            if next >= STREAMS_MAX && !numbers.contains_key(&key) {
                return UNTRACKED_STREAM;
            }
            *numbers.entry(key).or_insert_with(|| {
                last_ns.push(None);
                next as u32
            })
        });
        let last = last_ns.get_mut(number as usize)?;
        last.replace(at_ns).map(|before| at_ns.saturating_sub(before))
    }
}
