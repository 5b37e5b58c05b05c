//! Sums up a script in one pass, so that its totals are known before its first I/O reaches a
//! device.

use super::captured_io::CapturedIo;
use super::in_flight::InFlight;
use super::player::{AdaptationCounts, ReplayPlayer, ReplayedIo};
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::cmp::Reverse;
use std::collections::HashMap;
use steadfast_analysis::annotate::sequential::Sequencer;
use steadfast_analysis::questions::streams::STREAMS_MAX;
use steadfast_domain::hex::to_hex;
use steadfast_domain::io_event::RESPONSE_UNKNOWN;
use steadfast_domain::script::{OpCounts, ReplayOmissions};
use steadfast_domain::{Bytes, DueIo, IoEvent, IoOp, Nanos, Op};
use steadfast_tracefile::batch::Batch;
use steadfast_tracefile::error::TraceError;

/// I/Os examined for sequentiality at a time.
const STRIDE: usize = 4096;

/// The totals of a script.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Summary {
    /// SHA-256 over operation, forced unit access, offset, size and due time of every I/O, in
    /// order.
    pub digest: String,
    /// Number of I/Os.
    pub ios: u64,
    /// Number of I/Os by operation.
    pub counts: OpCounts,
    /// Bytes read and written.
    pub bytes: Bytes,
    /// Size of the largest read or write.
    pub largest: Bytes,
    /// Largest power of two that divides every offset and size.
    pub unit: Bytes,
    /// End of the last byte that is touched.
    pub reach: Bytes,
    /// Time from the beginning to the last due time.
    pub span: Nanos,
    /// Number of I/Os by operation and size, the most frequent first.
    pub sizes: Vec<OpSize>,
    /// Number of I/Os of further sizes, which `sizes` does not list.
    pub uncounted: u64,
    /// Number of writes with forced unit access.
    pub fua: u64,
    /// Largest number of I/Os outstanding at a time in the capture; `None` if no completion was
    /// seen or the times are rounded.
    pub outstanding_max: Option<u64>,
    /// Number of I/Os that touched, on the target's addresses, bytes of another I/O in flight in
    /// the capture, if at least one of the two alters them.
    pub overlapping: u64,
    /// Share of sequential reads and writes on the captured addresses; `None` without any.
    pub sequential_captured: Option<f64>,
    /// Share of sequential reads and writes on the target's addresses; `None` without any.
    pub sequential: Option<f64>,
    /// Total think time of a closed loop, inferred.
    pub think: Nanos,
    #[serde(skip)]
    pub(super) adaptations: AdaptationCounts,
}

/// The number of I/Os of one operation and size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct OpSize {
    /// Operation.
    pub op: Op,
    /// Transfer size.
    pub size: Bytes,
    /// Number of I/Os.
    pub ios: u64,
}

impl Summary {
    /// Plays a script to its end.
    pub(super) fn play(mut player: ReplayPlayer, window: usize) -> Result<Self, TraceError> {
        let mut sums = ScriptSums::new(window);
        while let Some(played) = player.next()? {
            sums.add(&played);
        }
        Ok(sums.finish(player.adaptations(), player.plan.rounded_times))
    }

    /// Returns the number of reads, writes and discards that are played.
    pub(super) fn ios_played(&self, leave_out: ReplayOmissions) -> u64 {
        let discards = if leave_out.discards { 0 } else { self.counts.discards };
        self.counts.reads + self.counts.writes + discards
    }
}

/// The totals of the I/Os played so far.
struct ScriptSums {
    /// Totals that are sums or maxima of single I/Os.
    summary: Summary,
    hash: Sha256,
    /// Bitwise OR of all offsets and sizes.
    multiples: u64,
    /// Number of I/Os by operation and size.
    sizes: HashMap<(Op, u64), u64>,
    in_flight: InFlight,
    captured: SequentialCounter,
    replayed: SequentialCounter,
}

impl ScriptSums {
    fn new(window: usize) -> Self {
        ScriptSums {
            summary: Summary::default(),
            hash: Sha256::new(),
            multiples: 0,
            sizes: HashMap::new(),
            in_flight: InFlight::default(),
            captured: SequentialCounter::new(window),
            replayed: SequentialCounter::new(window),
        }
    }

    fn add(&mut self, played: &ReplayedIo) {
        let ReplayedIo { io, captured } = played;
        let (offset, size) = (io.offset.0, io.size.0);
        let sums = &mut self.summary;
        sums.counts.count(io.op);
        if matches!(io.op, Op::Read | Op::Write) {
            sums.bytes = Bytes(sums.bytes.0.saturating_add(size));
            sums.largest = sums.largest.max(io.size);
        }
        sums.reach = sums.reach.max(Bytes(offset + size));
        sums.span = io.due;
        sums.fua += u64::from(io.fua);
        sums.think = Nanos(sums.think.0.saturating_add(io.think.0));
        self.multiples |= offset | size;
        self.add_to_digest(io);
        self.add_size(io.op, size);
        let CapturedIo { due_ns, completed_ns, .. } = *captured;
        self.in_flight.add(due_ns, completed_ns, offset, size, io.op.alters());
        self.captured.add(io.op, captured.offset, captured.size);
        self.replayed.add(io.op, offset, size);
    }

    fn add_to_digest(&mut self, io: &DueIo) {
        let mut bytes = [0; 26];
        bytes[0] = io.op as u8;
        bytes[1] = u8::from(io.fua);
        for (at, value) in [io.offset.0, io.size.0, io.due.0].into_iter().enumerate() {
            bytes[2 + at * 8..][..8].copy_from_slice(&value.to_le_bytes());
        }
        self.hash.update(bytes);
    }

    fn add_size(&mut self, op: Op, size: u64) {
        if self.sizes.len() == STREAMS_MAX && !self.sizes.contains_key(&(op, size)) {
            self.summary.uncounted += 1;
        } else {
            *self.sizes.entry((op, size)).or_default() += 1;
        }
    }

    fn finish(self, adaptations: AdaptationCounts, rounded_times: bool) -> Summary {
        let sizes = self.sizes.into_iter();
        let mut sizes: Vec<OpSize> =
            sizes.map(|((op, size), ios)| OpSize { op, size: Bytes(size), ios }).collect();
        sizes.sort_by_key(|size| (Reverse(size.ios), size.op, size.size));
        let ios = self.summary.counts.total();
        let has_completions = self.in_flight.without_completion < ios && !rounded_times;
        Summary {
            digest: to_hex(&self.hash.finalize()),
            ios,
            unit: Bytes(1 << self.multiples.trailing_zeros().min(63)),
            sizes,
            outstanding_max: has_completions.then_some(self.in_flight.most_at_once),
            overlapping: if has_completions { self.in_flight.overlapping } else { 0 },
            sequential_captured: self.captured.share(),
            sequential: self.replayed.share(),
            adaptations,
            ..self.summary
        }
    }
}

/// Counts sequential reads and writes by the rule of [`steadfast_analysis::annotate::sequential`].
struct SequentialCounter {
    sequencer: Sequencer,
    pending: Vec<IoEvent>,
    ios: u64,
    sequential: u64,
}

impl SequentialCounter {
    fn new(window: usize) -> Self {
        let sequencer = Sequencer::new(window);
        SequentialCounter { sequencer, pending: Vec::with_capacity(STRIDE), ios: 0, sequential: 0 }
    }

    fn add(&mut self, op: Op, offset: u64, size: u64) {
        let op = match op {
            Op::Read => IoOp::Read,
            Op::Write => IoOp::Write,
            Op::Discard | Op::Flush => return,
        };
        let bytes = u32::try_from(size).unwrap_or(u32::MAX);
        let response_ns = RESPONSE_UNKNOWN;
        self.pending.push(IoEvent { op, offset, bytes, response_ns, ..IoEvent::default() });
        if self.pending.len() == STRIDE {
            self.classify();
        }
    }

    fn classify(&mut self) {
        self.sequencer.follow(&Batch::from_events(&self.pending));
        self.ios += self.pending.len() as u64;
        self.sequential += self.sequencer.sequential.iter().filter(|is| **is).count() as u64;
        self.pending.clear();
    }

    fn share(mut self) -> Option<f64> {
        self.classify();
        (self.ios > 0).then(|| self.sequential as f64 / self.ios as f64)
    }
}
