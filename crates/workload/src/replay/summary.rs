//! What a script adds up to: everything of it that is known before its first I/O
//! reaches a device, in one pass over it.

use super::overlaps::InFlight;
use super::player::{Landed, Played, Player};
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::fmt::Write;
use std::io::{Read, Seek};
use steadfast_analysis::annotate::sequence::Sequencer;
use steadfast_analysis::questions::streams::STREAMS_MAX;
use steadfast_domain::io_event::RESPONSE_UNKNOWN;
use steadfast_domain::script::{OpCounts, ReplayOmissions};
use steadfast_domain::{Bytes, DueIo, IoEvent, IoOp, Nanos, Op};
use steadfast_tracefile::batch::Batch;
use steadfast_tracefile::error::TraceError;

/// I/Os that are judged for sequentiality at once.
const STRIDE: usize = 4096;

/// What a script adds up to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// SHA-256 over operation, forced unit access, offset, size and due time of
    /// every I/O, in order.
    pub digest: String,
    /// I/Os.
    pub ios: u64,
    /// I/Os by operation.
    pub counts: OpCounts,
    /// Bytes that it reads and writes.
    pub bytes: Bytes,
    /// Its largest read or write.
    pub largest: Bytes,
    /// Every offset and size is a multiple of this.
    pub unit: Bytes,
    /// The byte after the last that it touches.
    pub reach: Bytes,
    /// From its beginning to its last due time.
    pub span: Nanos,
    /// I/Os by operation and size, the most frequent first.
    pub sizes: Vec<OpSize>,
    /// I/Os of further sizes.
    pub uncounted: u64,
    /// Writes with forced unit access.
    pub fua: u64,
    /// Most I/Os outstanding at once in the capture; `None` where no completion was
    /// seen or the times are rounded.
    pub outstanding_max: Option<u64>,
    /// I/Os that touched bytes of another in flight in the capture, one of the two
    /// altering them, on the target's addresses.
    pub overlapping: u64,
    /// Share of the reads and writes that are sequential on the captured addresses.
    pub sequential_captured: Option<f64>,
    /// The same on the target's addresses.
    pub sequential: Option<f64>,
    /// What a closed loop waits all in all, inferred.
    pub think: Nanos,
    #[serde(skip)]
    pub(super) landed: Landed,
}

/// I/Os of one operation and size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct OpSize {
    /// What they do.
    pub op: Op,
    /// Their size.
    pub size: Bytes,
    /// How many.
    pub ios: u64,
}

impl Summary {
    pub(super) fn of<R: Read + Seek + Send + 'static>(
        mut player: Player<R>,
        window: usize,
    ) -> Result<Self, TraceError> {
        let mut sums = Sums::new(window);
        while let Some(played) = player.next()? {
            sums.take(&played);
        }
        Ok(sums.finish(player.landed(), player.times_are_rounded()))
    }

    /// Reads, writes and discards that are played.
    pub(super) fn moving(&self, leave_out: ReplayOmissions) -> u64 {
        let discards = if leave_out.discards { 0 } else { self.counts.discards };
        self.counts.reads + self.counts.writes + discards
    }
}

struct Sums {
    hash: Sha256,
    counts: OpCounts,
    bytes: u64,
    largest: u64,
    reach: u64,
    /// All offsets and sizes combined by OR.
    multiples: u64,
    span: Nanos,
    fua: u64,
    think_ns: u64,
    sizes: HashMap<(Op, u64), u64>,
    uncounted: u64,
    flight: InFlight,
    captured: Sequence,
    replayed: Sequence,
}

impl Sums {
    fn new(window: usize) -> Self {
        Sums {
            hash: Sha256::new(),
            counts: OpCounts::default(),
            bytes: 0,
            largest: 0,
            reach: 0,
            multiples: 0,
            span: Nanos::ZERO,
            fua: 0,
            think_ns: 0,
            sizes: HashMap::new(),
            uncounted: 0,
            flight: InFlight::default(),
            captured: Sequence::new(window),
            replayed: Sequence::new(window),
        }
    }

    fn take(&mut self, played: &Played) {
        let Played { io, captured } = played;
        let place = (io.offset.0, io.size.0);
        self.digest(io);
        self.counts.count(io.op);
        if matches!(io.op, Op::Read | Op::Write) {
            self.bytes = self.bytes.saturating_add(place.1);
            self.largest = self.largest.max(place.1);
        }
        self.reach = self.reach.max(place.0 + place.1);
        self.multiples |= place.0 | place.1;
        self.span = io.due;
        self.fua += u64::from(io.fua);
        self.think_ns = self.think_ns.saturating_add(io.think.0);
        self.count((io.op, place.1));
        self.flight.take(captured.due_ns, captured.completed_ns, place, io.op.alters());
        self.captured.take(io.op, captured.offset, captured.size);
        self.replayed.take(io.op, io.offset.0, io.size.0);
    }

    fn digest(&mut self, io: &DueIo) {
        let mut bytes = [0; 26];
        bytes[0] = io.op as u8;
        bytes[1] = u8::from(io.fua);
        for (at, value) in [io.offset.0, io.size.0, io.due.0].into_iter().enumerate() {
            bytes[2 + at * 8..][..8].copy_from_slice(&value.to_le_bytes());
        }
        self.hash.update(bytes);
    }

    fn count(&mut self, key: (Op, u64)) {
        if self.sizes.len() == STREAMS_MAX && !self.sizes.contains_key(&key) {
            self.uncounted += 1;
        } else {
            *self.sizes.entry(key).or_default() += 1;
        }
    }

    fn finish(self, landed: Landed, rounded_times: bool) -> Summary {
        let sizes = self.sizes.into_iter();
        let mut sizes: Vec<OpSize> =
            sizes.map(|((op, size), ios)| OpSize { op, size: Bytes(size), ios }).collect();
        sizes.sort_by_key(|size| (Reverse(size.ios), size.op, size.size));
        let ios = self.counts.total();
        let known = self.flight.unended < ios && !rounded_times;
        let mut digest = String::with_capacity(64);
        for byte in self.hash.finalize() {
            let _ = write!(digest, "{byte:02x}");
        }
        Summary {
            digest,
            ios,
            counts: self.counts,
            bytes: Bytes(self.bytes),
            largest: Bytes(self.largest),
            unit: Bytes(1 << self.multiples.trailing_zeros().min(63)),
            reach: Bytes(self.reach),
            span: self.span,
            sizes,
            uncounted: self.uncounted,
            fua: self.fua,
            outstanding_max: known.then_some(self.flight.most),
            overlapping: if known { self.flight.overlapping } else { 0 },
            sequential_captured: self.captured.share(),
            sequential: self.replayed.share(),
            think: Nanos(self.think_ns),
            landed,
        }
    }
}

/// The share of sequential reads and writes, by the rule of [`steadfast_analysis::annotate::sequence`].
struct Sequence {
    sequencer: Sequencer,
    pending: Vec<IoEvent>,
    ios: u64,
    sequential: u64,
}

impl Sequence {
    fn new(window: usize) -> Self {
        let sequencer = Sequencer::new(window);
        Sequence { sequencer, pending: Vec::with_capacity(STRIDE), ios: 0, sequential: 0 }
    }

    fn take(&mut self, op: Op, offset: u64, size: u64) {
        let op = match op {
            Op::Read => IoOp::Read,
            Op::Write => IoOp::Write,
            Op::Discard | Op::Flush => return,
        };
        let bytes = u32::try_from(size).unwrap_or(u32::MAX);
        let response_ns = RESPONSE_UNKNOWN;
        self.pending.push(IoEvent { op, offset, bytes, response_ns, ..IoEvent::default() });
        if self.pending.len() == STRIDE {
            self.judge();
        }
    }

    fn judge(&mut self) {
        self.sequencer.follow(&Batch::of(&self.pending));
        self.ios += self.pending.len() as u64;
        self.sequential += self.sequencer.sequential.iter().filter(|is| **is).count() as u64;
        self.pending.clear();
    }

    fn share(mut self) -> Option<f64> {
        self.judge();
        (self.ios > 0).then(|| self.sequential as f64 / self.ios as f64)
    }
}
