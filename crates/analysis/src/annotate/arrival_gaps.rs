//! Arrival gaps: the time between an I/O and the previous one of the same stream, among those that
//! pass the filter.

use crate::fold::AnnotatedBatch;
use crate::questions::streams::{STREAMS_MAX, StreamKey};
use crate::tables::recent_cache::RecentCache;
use rustc_hash::FxHashMap;

/// Index of every stream beyond the first [`STREAMS_MAX`]. Such streams get no gaps.
const UNTRACKED_STREAM: u32 = u32::MAX;

/// Computes the arrival gaps of a pass, batch by batch.
#[derive(Default)]
pub(crate) struct ArrivalGapTracker {
    recent: RecentCache<StreamKey, u32>,
    indices: FxHashMap<StreamKey, u32>,
    /// Issue time of each stream's last I/O, by index; `None` only while its first I/O is added.
    last_issued_ns: Vec<Option<u64>>,
}

impl ArrivalGapTracker {
    /// Fills in the gaps of the rows that pass the filter.
    pub(crate) fn fill(&mut self, annotated: &mut AnnotatedBatch) {
        let batch = &annotated.batch;
        for row in 0..batch.len() {
            if !annotated.kept[row] {
                continue;
            }
            let sequential = annotated.sequential[row];
            let key = StreamKey { op: batch.op(row), sequential, bytes: batch.bytes(row) };
            annotated.annotations[row].gap_ns = self.record_issue(key, batch.issued_ns(row));
        }
    }

    /// Records an I/O and returns the time since the previous one of its stream; `None` for the first
    /// one and for streams that are not tracked.
    fn record_issue(&mut self, key: StreamKey, issued_ns: u64) -> Option<u64> {
        let ArrivalGapTracker { recent, indices, last_issued_ns } = self;
        let index = recent.get_or(key.packed(), key, || match indices.get(&key) {
            Some(index) => *index,
            None if last_issued_ns.len() >= STREAMS_MAX => UNTRACKED_STREAM,
            None => {
                let index = last_issued_ns.len() as u32;
                last_issued_ns.push(None);
                indices.insert(key, index);
                index
            }
        });
        // Not found if the stream is not tracked.
        let last_ns = last_issued_ns.get_mut(index as usize)?;
        // An event that could not be sorted may be issued before the previous one.
        last_ns.replace(issued_ns).map(|last_ns| issued_ns.saturating_sub(last_ns))
    }
}
