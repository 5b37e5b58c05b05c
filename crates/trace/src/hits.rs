//! The LBA range hit map: how often each range of a device was hit in each
//! capture step. A sequential scan shows as a diagonal.

use crate::error::TraceError;
use crate::file::{Field, Fields};
use crate::pass::{Fold, Rows};
use steadfast_domain::{IoOp, Layer};

/// Where and when a device was hit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HitMap {
    /// Ranges of equal size.
    pub ranges: usize,
    /// Bytes of a range.
    pub range_bytes: u64,
    /// Steps.
    pub steps: usize,
    /// Width of a step in nanoseconds.
    pub width_ns: u64,
    /// Time at which step 0 begins, in nanoseconds.
    pub begin_ns: u64,
    /// I/Os that lie outside the map, in place or time, or move nothing.
    pub outside: u64,
    device: u16,
    reads: Vec<u32>,
    writes: Vec<u32>,
}

impl HitMap {
    /// A map of a device's first `capacity` bytes from `begin_ns` to `end_ns`.
    pub fn new(
        device: u16,
        capacity: u64,
        ranges: usize,
        span_ns: (u64, u64),
        steps: usize,
    ) -> Self {
        let (ranges, steps) = (ranges.clamp(1, 4096), steps.clamp(1, 4096));
        let (begin_ns, end_ns) = span_ns;
        let time = end_ns.saturating_sub(begin_ns).saturating_add(1);
        HitMap {
            ranges,
            range_bytes: capacity.div_ceil(ranges as u64).max(1),
            steps,
            width_ns: time.div_ceil(steps as u64).max(1),
            begin_ns,
            outside: 0,
            device,
            reads: vec![0; ranges * steps],
            writes: vec![0; ranges * steps],
        }
    }

    /// Hits of a range in a step.
    pub fn hits(&self, op: IoOp, range: usize, step: usize) -> u32 {
        if range >= self.ranges || step >= self.steps {
            return 0;
        }
        let at = range * self.steps + step;
        match op {
            IoOp::Read => self.reads[at],
            IoOp::Write => self.writes[at],
            _ => 0,
        }
    }

    /// Adds another part of the same map.
    pub fn merge(&mut self, other: &HitMap) {
        self.outside += other.outside;
        for (ours, theirs) in [(&mut self.reads, &other.reads), (&mut self.writes, &other.writes)] {
            ours.iter_mut().zip(theirs).for_each(|(a, b)| *a = a.saturating_add(*b));
        }
    }

    fn hit(&mut self, op: IoOp, time: u64, from: u64, bytes: u32) {
        let step = time.checked_sub(self.begin_ns).map(|t| t / self.width_ns);
        let step = step.and_then(|step| usize::try_from(step).ok()).filter(|s| *s < self.steps);
        let first = usize::try_from(from / self.range_bytes).ok().filter(|r| *r < self.ranges);
        let (Some(step), Some(first)) = (step, first) else {
            self.outside += 1;
            return;
        };
        let end = from.saturating_add(u64::from(bytes)).saturating_sub(1);
        let last = usize::try_from(end / self.range_bytes).unwrap_or(usize::MAX);
        let counts = if op == IoOp::Read { &mut self.reads } else { &mut self.writes };
        for range in first..=last.min(self.ranges - 1) {
            let count = &mut counts[range * self.steps + step];
            *count = count.saturating_add(1);
        }
    }
}

impl Fold for HitMap {
    fn fields(&self) -> Fields {
        Fields::of(&[
            Field::Issued,
            Field::Offset,
            Field::Bytes,
            Field::Op,
            Field::Device,
            Field::Layer,
        ])
    }
    fn take(&mut self, rows: &Rows<'_>) -> Result<(), TraceError> {
        let batch = rows.batch;
        for row in rows.iter() {
            if batch.device(row) != self.device || batch.layer(row) != Layer::Block {
                continue;
            }
            let (op, bytes) = (batch.op(row), batch.bytes(row));
            if matches!(op, IoOp::Read | IoOp::Write) && bytes > 0 {
                self.hit(op, batch.issued_ns(row), batch.offset(row), bytes);
            } else {
                self.outside += 1;
            }
        }
        Ok(())
    }
}
