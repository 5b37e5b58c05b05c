//! Capture steps: what was done in every interval of the capture's time.
//!
//! An I/O belongs to the step in which it was issued. Busy time is the time in
//! which at least one I/O was outstanding on a device; it is shared out to the
//! steps in which it passed.

use crate::error::TraceError;
use crate::file::{Field, Fields};
use crate::pass::{Fold, Rows};
use crate::sequence::Busy;
use std::collections::BTreeMap;
use steadfast_domain::histogram::CoarseHistogram;
use steadfast_domain::io_event::StreamInStep;
use steadfast_domain::{IoOp, Layer, Nanos};

/// Steps kept at one time (about 250 MB); a longer table is taken in parts.
pub const STEPS_MAX: usize = 1 << 20;
/// The shortest and the longest step: 100 us and 1 h (RWSW PTS 1.0.7 p. 15 as
/// the tutorial quotes it shows 100 us to 5 min).
pub const WIDTH_NS: std::ops::RangeInclusive<u64> = 100_000..=3_600_000_000_000;

/// I/Os of one operation in one step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OpCount {
    /// I/Os.
    pub ios: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Sequential I/Os.
    pub sequential: u64,
}

/// One capture step.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CaptureStep {
    /// By operation, in the order of `IoOp::ALL`.
    pub ops: [OpCount; 5],
    /// I/Os whose completion was seen.
    pub responses: u64,
    /// Their response times added up, in nanoseconds.
    pub response_sum_ns: u64,
    /// The longest, in nanoseconds.
    pub response_max_ns: u64,
    /// All of them, to within 6.25 %.
    pub histogram: CoarseHistogram,
    /// Queue depths at issue added up, over [`Self::depths`] I/Os.
    pub depth_sum: u64,
    /// I/Os whose depth is known.
    pub depths: u64,
    /// Deepest queue at issue.
    pub depth_max: u32,
    /// Time with an I/O outstanding, added up over devices, in nanoseconds.
    pub busy_ns: u64,
}

impl CaptureStep {
    /// I/Os of all operations.
    pub fn ios(&self) -> u64 {
        self.ops.iter().map(|op| op.ios).sum()
    }
    /// Bytes of all reads and writes.
    pub fn bytes(&self) -> u64 {
        [IoOp::Read, IoOp::Write].into_iter().map(|op| self.ops[op as usize].bytes).sum()
    }
    /// Average response time.
    pub fn response_mean(&self) -> Option<Nanos> {
        self.response_sum_ns.checked_div(self.responses).map(Nanos)
    }
    /// Longest response time.
    pub fn response_max(&self) -> Option<Nanos> {
        (self.responses > 0).then_some(Nanos(self.response_max_ns))
    }
    /// A percentile, where at least ten I/Os lie beyond it.
    pub fn percentile(&self, fraction: f64) -> Option<Nanos> {
        let value = self.histogram.supported_quantile(fraction)?;
        Some(Nanos(value.0.min(self.response_max_ns)))
    }
    /// Average queue depth at issue.
    pub fn depth_mean(&self) -> Option<f64> {
        (self.depths > 0).then(|| self.depth_sum as f64 / self.depths as f64)
    }
    /// Share of the reads and writes that are sequential.
    pub fn sequential_share(&self) -> Option<f64> {
        let moving = [IoOp::Read, IoOp::Write].map(|op| self.ops[op as usize]);
        let ios: u64 = moving.iter().map(|op| op.ios).sum();
        let sequential: u64 = moving.iter().map(|op| op.sequential).sum();
        (ios > 0).then(|| sequential as f64 / ios as f64)
    }
    /// Adds I/Os of one stream that were added up before.
    pub(crate) fn take_sum(&mut self, sum: &StreamInStep) {
        let op = &mut self.ops[sum.op as usize];
        op.ios = op.ios.saturating_add(sum.ios);
        op.bytes = op.bytes.saturating_add(sum.ios.saturating_mul(u64::from(sum.bytes)));
        op.sequential = op.sequential.saturating_add(if sum.sequential { sum.ios } else { 0 });
        self.responses = self.responses.saturating_add(sum.responses);
        self.response_sum_ns = self.response_sum_ns.saturating_add(sum.response_sum_ns);
        self.response_max_ns = self.response_max_ns.max(sum.response_max_ns);
        self.depth_sum = self.depth_sum.saturating_add(sum.depth_sum);
        self.depths = self.depths.saturating_add(sum.ios);
        self.depth_max = self.depth_max.max(sum.depth_max);
    }
    /// Adds another part of the same step.
    pub fn merge(&mut self, other: &CaptureStep) {
        for (ours, theirs) in self.ops.iter_mut().zip(&other.ops) {
            ours.ios += theirs.ios;
            ours.bytes = ours.bytes.saturating_add(theirs.bytes);
            ours.sequential += theirs.sequential;
        }
        self.responses += other.responses;
        self.response_sum_ns = self.response_sum_ns.saturating_add(other.response_sum_ns);
        self.response_max_ns = self.response_max_ns.max(other.response_max_ns);
        self.histogram.merge(&other.histogram);
        self.depth_sum += other.depth_sum;
        self.depths += other.depths;
        self.depth_max = self.depth_max.max(other.depth_max);
        self.busy_ns = self.busy_ns.saturating_add(other.busy_ns);
    }
}

/// The capture steps of a trace.
#[derive(Debug, Clone)]
pub struct Steps {
    width_ns: u64,
    until_ns: u64,
    current: u64,
    open: CaptureStep,
    dense: Vec<u64>,
    closed: BTreeMap<u64, CaptureStep>,
    /// Busy time that was not yet shared out, per device and layer: ascending,
    /// no overlap.
    carried: BTreeMap<(u16, Layer), Busy>,
}

impl Steps {
    /// Steps of a width in nanoseconds.
    pub fn new(width_ns: u64) -> Self {
        Steps {
            width_ns: width_ns.max(1),
            until_ns: u64::MAX,
            current: 0,
            open: CaptureStep::default(),
            dense: vec![0; CoarseHistogram::LEN],
            closed: BTreeMap::new(),
            carried: BTreeMap::new(),
        }
    }

    /// Busy time after this, in nanoseconds, is not counted. Without it an I/O
    /// that never ends makes steps without end.
    pub fn until(mut self, until_ns: u64) -> Self {
        self.until_ns = until_ns;
        self
    }

    /// Width of a step in nanoseconds.
    pub fn width_ns(&self) -> u64 {
        self.width_ns
    }

    /// Takes one row.
    ///
    /// # Errors
    /// Beyond [`STEPS_MAX`] steps.
    #[inline]
    pub fn take_row(&mut self, rows: &Rows<'_>, row: usize) -> Result<(), TraceError> {
        let batch = rows.batch;
        let step = batch.issued_ns(row) / self.width_ns;
        if step != self.current {
            self.close()?;
            self.current = step;
        }
        let op = &mut self.open.ops[batch.op(row) as usize];
        op.ios += 1;
        op.bytes = op.bytes.saturating_add(u64::from(batch.bytes(row)));
        op.sequential += u64::from(rows.sequential[row]);
        if let Some(response) = rows.response_ns(row) {
            self.open.responses += 1;
            self.open.response_sum_ns = self.open.response_sum_ns.saturating_add(response);
            self.open.response_max_ns = self.open.response_max_ns.max(response);
            self.dense[CoarseHistogram::index(response)] += 1;
        }
        let depth = rows.depth[row];
        self.open.depth_sum += u64::from(depth);
        self.open.depths += u64::from(depth > 0);
        self.open.depth_max = self.open.depth_max.max(depth);
        self.carry((batch.device(row), batch.layer(row)), rows.busy[row])
    }

    /// Keeps busy time until the steps in which it passed are over.
    fn carry(&mut self, device: (u16, Layer), busy: Busy) -> Result<(), TraceError> {
        if busy.1 <= busy.0 {
            return Ok(());
        }
        match self.carried.get_mut(&device) {
            Some(carried) if carried.1 == busy.0 => carried.1 = busy.1,
            Some(carried) => {
                let done = std::mem::replace(carried, busy);
                self.share_out(done, u64::MAX)?;
            }
            None => {
                self.carried.insert(device, busy);
            }
        }
        Ok(())
    }

    /// Shares out the part of a busy time that lies before `until`.
    fn share_out(&mut self, busy: Busy, until: u64) -> Result<(), TraceError> {
        let (mut from, to) = (busy.0, busy.1.min(until).min(self.until_ns));
        while from < to {
            let step = from / self.width_ns;
            let end = (step + 1).saturating_mul(self.width_ns).min(to);
            self.at(step)?.busy_ns += end - from;
            from = end;
        }
        Ok(())
    }

    fn at(&mut self, step: u64) -> Result<&mut CaptureStep, TraceError> {
        if self.closed.len() >= STEPS_MAX && !self.closed.contains_key(&step) {
            return Err(TraceError::TooFine(format!(
                "more than {STEPS_MAX} capture steps of {}; choose wider steps",
                Nanos(self.width_ns)
            )));
        }
        Ok(self.closed.entry(step).or_default())
    }

    /// Ends the step that is being filled.
    fn close(&mut self) -> Result<(), TraceError> {
        if self.open.ios() == 0 {
            return Ok(());
        }
        let mut step = std::mem::take(&mut self.open);
        step.histogram = CoarseHistogram::from_dense(&self.dense);
        self.dense.fill(0);
        self.at(self.current)?.merge(&step);
        Ok(())
    }

    /// Shares out all busy time up to `until` nanoseconds.
    fn settle(&mut self, until: u64) -> Result<(), TraceError> {
        let devices: Vec<(u16, Layer)> = self.carried.keys().copied().collect();
        for device in devices {
            let Some(busy) = self.carried.get(&device).copied() else { continue };
            self.share_out(busy, until)?;
            if busy.1 > until {
                self.carried.insert(device, (busy.0.max(until), busy.1));
            } else {
                self.carried.remove(&device);
            }
        }
        Ok(())
    }

    /// Takes out the steps that no later event can change, in order.
    ///
    /// # Errors
    /// Beyond [`STEPS_MAX`] steps.
    pub fn take_finished(&mut self) -> Result<BTreeMap<u64, CaptureStep>, TraceError> {
        self.settle(self.current.saturating_mul(self.width_ns))?;
        let rest = self.closed.split_off(&self.current);
        Ok(std::mem::replace(&mut self.closed, rest))
    }

    /// All steps with an I/O or with busy time, by number from the capture's
    /// beginning.
    ///
    /// # Errors
    /// Beyond [`STEPS_MAX`] steps.
    pub fn finish(mut self) -> Result<BTreeMap<u64, CaptureStep>, TraceError> {
        self.close()?;
        self.settle(u64::MAX)?;
        Ok(self.closed)
    }
}

impl Fold for Steps {
    fn fields(&self) -> Fields {
        STEP_FIELDS
    }
    fn take(&mut self, rows: &Rows<'_>) -> Result<(), TraceError> {
        rows.iter().try_for_each(|row| self.take_row(rows, row))
    }
}

/// Columns that capture steps are made of.
pub(crate) const STEP_FIELDS: Fields = Fields::of(&[
    Field::Issued,
    Field::Op,
    Field::Bytes,
    Field::Response,
    Field::Depth,
    Field::Device,
    Field::Layer,
]);

/// Adds the steps of another part of the same trace.
pub fn merge_steps(into: &mut BTreeMap<u64, CaptureStep>, other: &BTreeMap<u64, CaptureStep>) {
    for (step, found) in other {
        into.entry(*step).or_default().merge(found);
    }
}
