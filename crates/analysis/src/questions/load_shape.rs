//! The shape of a load: the gaps between the I/Os of a stream, queue depths over time, and the
//! lengths of sequential runs and idle periods.

use crate::device_layer::DeviceLayer;
use crate::fold::{AnnotatedRows, Fold};
use crate::questions::streams::StreamKey;
use crate::sums::response::ResponseHistogram;
use crate::tables::recent_cache::RecentCache;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use steadfast_domain::{IoOp, Nanos};
use steadfast_tracefile::error::TraceError;
use steadfast_tracefile::parquet::{Field, Fields};

/// Maximum number of steps with queue depths.
const DEPTH_STEPS_MAX: usize = 1 << 20;

/// Number of classes of queue depths: 1, 2, 3 to 4, 5 to 8 and so on; the last has no end.
pub const DEPTH_CLASSES: usize = 12;

/// Number of classes of the lengths of sequential runs: 1, 2 to 3, 4 to 7 and so on; the last has
/// no end.
pub const RUN_CLASSES: usize = 24;

/// Ends of the classes of idle periods, in nanoseconds. One more class has no end.
pub const IDLE_ENDS_NS: [u64; 6] =
    [100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000, 10_000_000_000];

const IDLE_CLASSES: usize = IDLE_ENDS_NS.len() + 1;

/// I/Os by class of queue depth.
pub type DepthCounts = [u64; DEPTH_CLASSES];

/// Returns the class of a queue depth, which must be at least 1.
pub fn depth_class(depth: u32) -> usize {
    let class = u32::BITS - depth.saturating_sub(1).leading_zeros();
    (class as usize).min(DEPTH_CLASSES - 1)
}

/// Queue depths of one class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DepthRange {
    /// Smallest depth.
    pub from: u32,
    /// Largest depth; `None` for the last class.
    pub to: Option<u32>,
}

impl DepthRange {
    /// Returns the depths of a class.
    pub fn from_class(class: usize) -> Self {
        let from = if class == 0 { 1 } else { (1 << (class - 1)) + 1 };
        DepthRange { from, to: (class + 1 < DEPTH_CLASSES).then(|| 1 << class) }
    }
}

/// Times between the I/Os of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StreamGaps {
    /// Distribution of the times.
    pub times: ResponseHistogram,
    /// Sum of the squared times, saturating.
    squares: u128,
}

impl StreamGaps {
    #[inline]
    fn add(&mut self, gap_ns: u64) {
        self.times.add(gap_ns);
        self.squares = self.squares.saturating_add(u128::from(gap_ns) * u128::from(gap_ns));
    }

    fn merge(&mut self, other: &StreamGaps) {
        self.times.merge(&other.times);
        self.squares = self.squares.saturating_add(other.squares);
    }

    /// Returns the coefficient of variation: standard deviation over mean. It is 1 if I/Os arrive
    /// at random (a Poisson process) and 0 if they arrive at equal intervals. Returns `None` if
    /// there are fewer than two times or all are 0.
    pub fn variation(&self) -> Option<f64> {
        let (count, sum) = (self.times.total.count as f64, self.times.total.sum_ns as f64);
        let mean = Some(sum / count).filter(|mean| self.times.total.count > 1 && *mean > 0.0)?;
        Some((self.squares as f64 / count - mean * mean).max(0.0).sqrt() / mean)
    }
}

/// Sequential runs of one operation. Under a filter only the selected I/Os of a run count: a run of
/// four I/Os, two of which pass, has the length 2.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RunLengths {
    /// Number of runs that reached a length of 1, 2, 4, 8 and so on.
    reached: [u64; RUN_CLASSES],
    /// Number of sequential I/Os.
    pub ios: u64,
    /// Length of the longest run, in sequential I/Os.
    pub longest: u32,
}

impl RunLengths {
    /// Returns the number of runs in each length class.
    pub fn classes(&self) -> [u64; RUN_CLASSES] {
        let longer = |class: usize| self.reached.get(class + 1).copied().unwrap_or(0);
        std::array::from_fn(|class| self.reached[class] - longer(class))
    }

    /// Returns the number of runs.
    pub fn count(&self) -> u64 {
        self.reached[0]
    }

    /// Adds a sequential I/O by its position in its run, starting at 1.
    #[inline]
    fn add(&mut self, position: u32) {
        self.ios += 1;
        self.longest = self.longest.max(position);
        if position.is_power_of_two()
            && let Some(reached) = self.reached.get_mut(position.trailing_zeros() as usize)
        {
            *reached += 1;
        }
    }

    fn merge(&mut self, other: &RunLengths) {
        self.reached.iter_mut().zip(other.reached).for_each(|(ours, theirs)| *ours += theirs);
        self.ios += other.ios;
        self.longest = self.longest.max(other.longest);
    }
}

/// Idle periods of one class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IdleClass {
    /// Number of periods.
    pub periods: u64,
    /// Their total time, in nanoseconds.
    pub idle_ns: u64,
}

impl IdleClass {
    fn merge(&mut self, other: IdleClass) {
        self.periods += other.periods;
        self.idle_ns = self.idle_ns.saturating_add(other.idle_ns);
    }
}

/// Idle periods of a device.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IdlePeriods {
    /// Distribution of the periods.
    pub times: ResponseHistogram,
    /// Periods by class ([`IDLE_ENDS_NS`]).
    pub classes: [IdleClass; IDLE_CLASSES],
}

impl IdlePeriods {
    fn add(&mut self, idle_ns: u64) {
        self.times.add(idle_ns);
        let class = IDLE_ENDS_NS.partition_point(|end| *end <= idle_ns);
        self.classes[class].merge(IdleClass { periods: 1, idle_ns });
    }

    fn merge(&mut self, other: &IdlePeriods) {
        self.times.merge(&other.times);
        for (ours, theirs) in self.classes.iter_mut().zip(other.classes) {
            ours.merge(theirs);
        }
    }
}

/// The shape of a load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadShape {
    width_ns: u64,
    keys: Vec<StreamKey>,
    numbers: FxHashMap<StreamKey, usize>,
    gaps: Vec<StreamGaps>,
    depths: BTreeMap<u64, DepthCounts>,
    runs: [RunLengths; 2],
    idle: BTreeMap<DeviceLayer, IdlePeriods>,
}

impl LoadShape {
    /// Creates an empty shape with steps of `width_ns` nanoseconds and the gaps of these streams.
    pub fn new(width_ns: u64, keys: &[StreamKey]) -> Self {
        LoadShape {
            width_ns: width_ns.max(1),
            keys: keys.to_vec(),
            numbers: keys.iter().copied().zip(0..).collect(),
            gaps: vec![StreamGaps::default(); keys.len()],
            depths: BTreeMap::new(),
            runs: [RunLengths::default(); 2],
            idle: BTreeMap::new(),
        }
    }

    /// Iterates over the streams and the times between their I/Os.
    pub fn gaps(&self) -> impl Iterator<Item = (StreamKey, &StreamGaps)> {
        self.keys.iter().copied().zip(&self.gaps)
    }
    /// Returns the I/Os by queue depth, for every step with an I/O of known depth.
    pub fn depths(&self) -> &BTreeMap<u64, DepthCounts> {
        &self.depths
    }
    /// Returns the sequential runs of reads or of writes; `None` for other operations.
    pub fn runs(&self, op: IoOp) -> Option<&RunLengths> {
        run_index(op).map(|at| &self.runs[at])
    }
    /// Returns the idle periods by device and layer.
    pub fn idle(&self) -> &BTreeMap<DeviceLayer, IdlePeriods> {
        &self.idle
    }

    fn depths_at(&mut self, step: u64) -> Result<&mut DepthCounts, TraceError> {
        if self.depths.len() >= DEPTH_STEPS_MAX && !self.depths.contains_key(&step) {
            return Err(TraceError::TooFine(format!(
                "more than {DEPTH_STEPS_MAX} capture steps of {}; choose wider steps with --step",
                Nanos(self.width_ns)
            )));
        }
        Ok(self.depths.entry(step).or_default())
    }

    /// Counts the queue depths of rows. Looks up a step's counts only when the step changes.
    fn take_depths(&mut self, rows: &AnnotatedRows<'_>) -> Result<(), TraceError> {
        let issued = rows.batch.wide(Field::Issued);
        let (mut begin, mut step) = (0, 0);
        let mut counts = DepthCounts::default();
        for row in rows.iter() {
            let (depth, at) = (rows.depth[row], issued.at(row));
            if depth == 0 {
                continue;
            }
            if at < begin || at - begin >= self.width_ns {
                self.add_depths(step, &mut counts)?;
                step = at / self.width_ns;
                begin = step * self.width_ns;
            }
            counts[depth_class(depth)] += 1;
        }
        self.add_depths(step, &mut counts)
    }

    /// Adds counts to a step, if there are any, and resets them.
    fn add_depths(&mut self, step: u64, counts: &mut DepthCounts) -> Result<(), TraceError> {
        if *counts != DepthCounts::default() {
            let depths = self.depths_at(step)?;
            depths.iter_mut().zip(&*counts).for_each(|(ours, more)| *ours += more);
            *counts = DepthCounts::default();
        }
        Ok(())
    }

    /// Counts the gaps and idle periods that end with these rows, and their sequential runs.
    fn take_annotations(&mut self, rows: &AnnotatedRows<'_>) {
        let (op, bytes) = (rows.batch.narrow(Field::Op), rows.batch.narrow(Field::Bytes));
        let mut recent = RecentCache::new();
        let each = rows.kept.iter().zip(rows.annotations).enumerate();
        for (row, (_, annotations)) in each.filter(|(_, (kept, _))| **kept) {
            let op = op.op(row);
            if let Some(gap) = annotations.gap_ns {
                let key = StreamKey { op, sequential: rows.sequential[row], bytes: bytes.at(row) };
                let find = || self.numbers.get(&key).copied();
                if let Some(number) = recent.get_or(key.packed(), key, find) {
                    self.gaps[number].add(gap);
                }
            }
            if let Some(at) = run_index(op).filter(|_| annotations.run > 0) {
                self.runs[at].add(annotations.run);
            }
            if annotations.idle_ns > 0 {
                let (device, layer) = (rows.batch.device(row), rows.batch.layer(row));
                self.idle
                    .entry(DeviceLayer { device, layer })
                    .or_default()
                    .add(annotations.idle_ns);
            }
        }
    }
}

/// Returns the index of an operation into [`LoadShape::runs`]; `None` if it has no runs.
fn run_index(op: IoOp) -> Option<usize> {
    match op {
        IoOp::Read => Some(0),
        IoOp::Write => Some(1),
        _ => None,
    }
}

impl Fold for LoadShape {
    fn fields(&self) -> Fields {
        let columns = [
            Field::Issued,
            Field::Op,
            Field::Bytes,
            Field::Device,
            Field::Layer,
            Field::Depth,
            Field::Response,
        ];
        Fields::new(&columns).and(Fields::NEIGHBORS)
    }
    fn take(&mut self, rows: &AnnotatedRows<'_>) -> Result<(), TraceError> {
        self.take_depths(rows)?;
        self.take_annotations(rows);
        Ok(())
    }
    fn new_part(&self) -> Option<Self> {
        Some(LoadShape::new(self.width_ns, &self.keys))
    }
    fn merge(&mut self, other: Self) -> Result<(), TraceError> {
        debug_assert!(self.width_ns == other.width_ns && self.keys == other.keys);
        self.gaps.iter_mut().zip(&other.gaps).for_each(|(ours, theirs)| ours.merge(theirs));
        self.runs.iter_mut().zip(&other.runs).for_each(|(ours, theirs)| ours.merge(theirs));
        for (step, theirs) in other.depths {
            let ours = self.depths_at(step)?;
            ours.iter_mut().zip(theirs).for_each(|(ours, theirs)| *ours += theirs);
        }
        for (side, theirs) in &other.idle {
            self.idle.entry(*side).or_default().merge(theirs);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_of_depths_double() {
        let classes: Vec<usize> = [1, 2, 3, 4, 5, 8, 9, u32::MAX].map(depth_class).to_vec();
        assert_eq!(classes, [0, 1, 2, 2, 3, 3, 4, DEPTH_CLASSES - 1]);
        for class in 0..DEPTH_CLASSES {
            let DepthRange { from, to } = DepthRange::from_class(class);
            assert_eq!(depth_class(from), class);
            assert!(to.is_none_or(|depth| depth_class(depth) == class));
        }
    }

    #[test]
    fn runs_are_counted_by_the_positions_of_their_ios() {
        let mut runs = RunLengths::default();
        for length in [1, 1, 2, 3, 4, 9] {
            (1..=length).for_each(|place| runs.add(place));
        }
        assert_eq!(runs.classes()[..5], [2, 2, 1, 1, 0]);
        assert_eq!((runs.count(), runs.ios, runs.longest), (6, 20, 9));
    }

    #[test]
    fn equal_gaps_do_not_vary() {
        let mut gaps = StreamGaps::default();
        (0..9).for_each(|_| gaps.add(1000));
        assert_eq!(gaps.variation(), Some(0.0));
        gaps.add(0);
        assert!(gaps.variation().unwrap() > 0.3);
    }
}
