//! The LBA range hit map: how often each range of a device was hit in each
//! capture step. A sequential scan shows as a diagonal.

use crate::error::TraceError;
use crate::file::{Field, Fields};
use crate::fold::{Alike, Fold, FoldSums, InParts, Rows};
use crate::untold::Untold;
use std::collections::BTreeMap;
use steadfast_domain::{CaptureConditions, IoOp, Layer};

/// Steps and ranges of a map, at most.
pub const SIDE_MAX: usize = 4096;

/// The steps of a map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HitSteps {
    /// When the first begins, in nanoseconds.
    pub begin_ns: u64,
    /// Width in nanoseconds.
    pub width_ns: u64,
    /// How many, from 1 to [`SIDE_MAX`].
    pub count: usize,
}

impl HitSteps {
    /// So many over a span.
    pub fn over(span_ns: (u64, u64), count: usize) -> Self {
        let count = count.clamp(1, SIDE_MAX);
        let time = span_ns.1.saturating_sub(span_ns.0).saturating_add(1);
        HitSteps { begin_ns: span_ns.0, width_ns: time.div_ceil(count as u64), count }
    }

    /// Steps of a width that hold a span, beginning at a multiple of it, as the
    /// steps of every other table.
    pub fn of_width(span_ns: (u64, u64), width_ns: u64) -> Self {
        let width_ns = width_ns.max(1);
        let first = span_ns.0 / width_ns;
        let count = (span_ns.1 / width_ns).saturating_sub(first).saturating_add(1);
        let count = usize::try_from(count).unwrap_or(SIDE_MAX).min(SIDE_MAX);
        HitSteps { begin_ns: first * width_ns, width_ns, count }
    }
}

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
    /// A map of a device's first `capacity` bytes over steps.
    pub fn new(device: u16, capacity: u64, ranges: usize, steps: HitSteps) -> Self {
        let ranges = ranges.clamp(1, SIDE_MAX);
        let HitSteps { begin_ns, width_ns, count } = steps;
        HitMap {
            ranges,
            range_bytes: capacity.div_ceil(ranges as u64).max(1),
            steps: count,
            width_ns: width_ns.max(1),
            begin_ns,
            outside: 0,
            device,
            reads: vec![0; ranges * count],
            writes: vec![0; ranges * count],
        }
    }

    /// Which device it is of, as its number in the trace.
    pub fn device(&self) -> u16 {
        self.device
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

    /// Reads and writes of every step, in so many rows of ranges alike, the lowest LBA
    /// first.
    pub fn rows(&self, rows: usize) -> Vec<Vec<u64>> {
        let rows = rows.clamp(1, self.ranges);
        let hits = |range, step| {
            u64::from(self.hits(IoOp::Read, range, step))
                + u64::from(self.hits(IoOp::Write, range, step))
        };
        let row = |row: usize| {
            let ranges = row * self.ranges / rows..(row + 1) * self.ranges / rows;
            let of_step = |step| ranges.clone().map(|range| hits(range, step)).sum();
            (0..self.steps).map(of_step).collect()
        };
        (0..rows).map(row).collect()
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

impl Alike for HitMap {
    fn alike(&self) -> Self {
        HitMap {
            outside: 0,
            reads: vec![0; self.reads.len()],
            writes: vec![0; self.writes.len()],
            ..*self
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
    fn in_parts(&mut self) -> Option<&mut dyn InParts> {
        Some(self)
    }
    fn of_sums(&mut self) -> Result<&mut dyn FoldSums, Untold> {
        Err(Untold::HitMaps)
    }
    fn merge(&mut self, other: Self) -> Result<(), TraceError> {
        self.outside += other.outside;
        for (ours, theirs) in [(&mut self.reads, &other.reads), (&mut self.writes, &other.writes)] {
            ours.iter_mut().zip(theirs).for_each(|(a, b)| *a = a.saturating_add(*b));
        }
        Ok(())
    }
}

/// Where the reads and writes of every device end, at the block layer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ends(BTreeMap<u16, u64>);

impl Ends {
    /// The devices with reads or writes, in order.
    pub fn devices(&self) -> impl Iterator<Item = u16> + '_ {
        self.0.keys().copied()
    }

    /// The size of a device; where it is not known, the end of what was touched.
    pub fn of(&self, device: u16, conditions: &CaptureConditions) -> u64 {
        let told = conditions.devices.get(usize::from(device)).and_then(|device| device.capacity);
        let touched = self.0.get(&device).copied().unwrap_or(1);
        told.map_or(touched, |bytes| bytes.0).max(1)
    }
}

impl Alike for Ends {
    fn alike(&self) -> Self {
        Ends::default()
    }
}

impl Fold for Ends {
    fn fields(&self) -> Fields {
        Fields::of(&[Field::Offset, Field::Bytes, Field::Op, Field::Device, Field::Layer])
    }
    fn take(&mut self, rows: &Rows<'_>) -> Result<(), TraceError> {
        let batch = rows.batch;
        for row in rows.iter().filter(|row| batch.layer(*row) == Layer::Block) {
            if matches!(batch.op(row), IoOp::Read | IoOp::Write) && batch.bytes(row) > 0 {
                let end = batch.offset(row).saturating_add(u64::from(batch.bytes(row)));
                let known = self.0.entry(batch.device(row)).or_default();
                *known = end.max(*known);
            }
        }
        Ok(())
    }
    fn in_parts(&mut self) -> Option<&mut dyn InParts> {
        Some(self)
    }
    fn of_sums(&mut self) -> Result<&mut dyn FoldSums, Untold> {
        Err(Untold::HitMaps)
    }
    fn merge(&mut self, other: Self) -> Result<(), TraceError> {
        for (device, end) in other.0 {
            let known = self.0.entry(device).or_default();
            *known = end.max(*known);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_have_the_width_that_was_asked_for() {
        let second = 1_000_000_000;
        let steps = HitSteps::of_width((9 * second, 66 * second), 10 * second);
        assert_eq!((steps.begin_ns, steps.width_ns, steps.count), (0, 10 * second, 7));
        let steps = HitSteps::of_width((10 * second, 19 * second), 10 * second);
        assert_eq!((steps.begin_ns, steps.count), (10 * second, 1));
        let steps = HitSteps::over((0, u64::MAX), 60);
        assert!(steps.count == 60 && steps.width_ns >= u64::MAX / 60);
    }
}
