//! One pass over the single I/Os of a trace, delivered in issue order, annotated with sequentiality
//! and filtered.

pub use crate::annotate::checkpoint::Checkpoint;
use crate::annotate::selected_runs::SelectedRunLengths;
use crate::annotate::sequential::{DepthSource, DeviceBusySpan, Sequencer, WINDOW};
use crate::filter::Filter;
use crate::fold::{AnnotatedBatch, AnnotatedRows, Fold};
use crate::questions::streams::{STREAMS_MAX, StreamKey};
use crate::tables::recent_cache::RecentCache;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::io::{Read, Seek};
use std::mem;
use std::sync::Arc;
use steadfast_domain::CaptureConditions;
use steadfast_domain::io_event::RESPONSE_UNKNOWN;
use steadfast_tracefile::batch::Batch;
use steadfast_tracefile::error::TraceError;
use steadfast_tracefile::issue_order::{IssueOrder, OrderAccount, WAITING_MAX};
use steadfast_tracefile::merge_mapping::MergeMapping;
use steadfast_tracefile::parquet::{Field, Fields, Trace, TraceRef};
use steadfast_tracefile::simd;

/// The columns that a pass itself reads.
const OWN_FIELDS: Fields = Fields::new(&[
    Field::Issued,
    Field::Response,
    Field::Offset,
    Field::Inode,
    Field::Bytes,
    Field::Depth,
    Field::Device,
    Field::Op,
    Field::Layer,
]);

/// Response times below this are short: a sum of fewer than [`SHORT_TIMES_MAX`] of them fits into 64
/// bits.
const SHORT_TIME_NS: i64 = 1 << 31;

/// Maximum number of short response times that are summed in 64 bits.
const SHORT_TIMES_MAX: usize = 1 << 31;

/// An unknown response time, as a batch stores it.
const UNKNOWN: i64 = RESPONSE_UNKNOWN.cast_signed();

/// Number of every stream beyond [`STREAMS_MAX`]; it has no gaps.
const UNTRACKED_STREAM: u32 = u32::MAX;

/// Settings of a pass over a capture.
#[derive(Debug, Clone, PartialEq)]
pub struct PassOptions {
    /// The I/Os that count. Sequentiality, depth and busy time are determined before filtering; busy
    /// time is then restricted to the time spans of the filter.
    pub filter: Filter,
    /// Number of earlier I/Os that an I/O is compared with for sequentiality.
    pub window: usize,
    /// Maximum number of events that wait for earlier ones while they are put in issue order.
    pub waiting_max: usize,
    /// Checkpoint at which the pass begins; `None` for the beginning of the capture. I/Os issued
    /// before it are neither read nor counted, but the checkpoint remembers their state: the rest
    /// is annotated as if they had been read, except for the gaps of the I/Os, which restart.
    /// Sums are always read from the beginning.
    pub start: Option<Arc<Checkpoint>>,
    /// Minimum number of I/Os between two checkpoints ([`AnnotatedRows::checkpoint`]); `None` takes no
    /// checkpoints.
    pub checkpoint_every: Option<u64>,
}

impl Default for PassOptions {
    fn default() -> Self {
        PassOptions {
            filter: Filter::default(),
            window: WINDOW,
            waiting_max: WAITING_MAX,
            start: None,
            checkpoint_every: None,
        }
    }
}

/// Counts of a pass.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
pub struct PassAccount {
    /// I/Os read, single or within sums.
    pub events: u64,
    /// I/Os that passed the filter.
    pub kept: u64,
    /// Issue time of the first and the last I/O that passed; for sums, begin of the first step and
    /// end of the last.
    pub span_ns: Option<(u64, u64)>,
    /// Events whose queue depth was counted from issue and response times.
    pub depths_counted: u64,
    /// Events that could not be put in issue order.
    pub order: OrderAccount,
}

/// Annotates the I/Os of a trace in issue order.
pub(crate) struct Annotator {
    sequencer: Sequencer,
    filter: Filter,
    overflow: OverflowGuard,
    /// Issue times by stream, for the annotations of neighbors; `None` if no fold asks for them.
    arrivals: Option<LastArrivals>,
    runs: SelectedRunLengths,
    /// The earliest time that the next I/O may get in [`AnnotatedRows::order_ns`]; `None` if no fold asks
    /// for it.
    order_ns: Option<u64>,
    /// Busy time of the I/Os before the checkpoint at which the pass begins; taken by the first batch.
    busy_before: Vec<DeviceBusySpan>,
    /// Mapping of the capture into the merged captures; `None` if it is read alone.
    pub(crate) mapping: Option<MergeMapping>,
    account: PassAccount,
    /// True if no later I/O can pass the filter.
    pub(crate) is_over: bool,
    checkpoint_every: Option<u64>,
    /// I/Os since the last checkpoint.
    since_checkpoint: u64,
    checkpoints: usize,
}

impl Annotator {
    pub(crate) fn new(pass: &PassOptions, conditions: &CaptureConditions, fields: Fields) -> Self {
        let depths = DepthSource::from_conditions(conditions);
        let mut sequencer = Sequencer::new(pass.window).with_depths(depths);
        let mut runs = SelectedRunLengths::default();
        if let Some(start) = &pass.start {
            sequencer = sequencer.resume_from(&start.sequencer);
            runs = SelectedRunLengths::resume_from(&start.sequencer);
        }
        // A pass that begins at a checkpoint needs to know how long the devices are still busy
        // there.
        let has_busy = fields.has_busy() || pass.checkpoint_every.is_some();
        let busy_before = match &pass.start {
            Some(start) if fields.has_busy() => sequencer.busy_at(start.at_ns),
            _ => Vec::new(),
        };
        Annotator {
            sequencer: sequencer
                .with_annotations(fields.has_neighbors())
                .with_busy_spans(has_busy)
                .keep_recorded_depth(true),
            arrivals: fields.has_neighbors().then(LastArrivals::default),
            runs,
            order_ns: fields.has_order().then_some(0),
            busy_before,
            filter: pass.filter.clone(),
            overflow: OverflowGuard::default(),
            mapping: None,
            account: PassAccount::default(),
            is_over: false,
            checkpoint_every: pass.checkpoint_every,
            since_checkpoint: 0,
            checkpoints: 0,
        }
    }

    /// Attaches a checkpoint to the batch if one is due and possible, and counts the batch. It is
    /// possible only if `until_ns`, the latest issue time so far, is known and earlier than that of
    /// these I/Os. `group_at(t)` returns the row group from which to resume at time `t`.
    pub(crate) fn attach_checkpoint(
        &mut self,
        next: &mut AnnotatedBatch,
        until_ns: Option<u64>,
        group_at: impl FnOnce(u64) -> usize,
    ) {
        let at_ns = next.batch.issued_ns(0);
        next.checkpoint = None;
        let is_due = self.checkpoint_every.is_some_and(|every| self.since_checkpoint >= every);
        if is_due && until_ns.is_some_and(|until| until < at_ns) {
            let sequencer = self.sequencer.state();
            next.checkpoint = Some(Checkpoint { at_ns, group: group_at(at_ns), sequencer });
            self.checkpoints += 1;
            self.since_checkpoint = 0;
        }
        self.since_checkpoint += next.batch.len() as u64;
        next.checkpoints = self.checkpoints;
    }

    /// Annotates the next batch and filters it.
    pub(crate) fn annotate(&mut self, next: &mut AnnotatedBatch) -> Result<(), TraceError> {
        self.account.events += next.batch.len() as u64;
        let response_bits = self.overflow.add(&next.batch)?;
        if let Some(mapping) = &self.mapping {
            next.batch.map_to_common_axis(mapping);
        }
        self.fill_order_times(next);
        self.sequencer.follow_within(&next.batch, response_bits);
        // Swapped rather than moved: both keep their memory.
        mem::swap(&mut next.sequential, &mut self.sequencer.sequential);
        mem::swap(&mut next.depth, &mut self.sequencer.depth);
        mem::swap(&mut next.busy, &mut self.sequencer.busy);
        mem::swap(&mut next.annotations, &mut self.sequencer.annotations);
        self.filter.mark(&next.batch, &next.sequential, &mut next.kept);
        next.edge_busy.clear();
        next.edge_busy.append(&mut self.busy_before);
        let AnnotatedBatch { batch, kept, busy, edge_busy, .. } = &mut *next;
        self.filter.restrict_busy(batch, kept, busy, edge_busy);
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.fill_gaps(next);
            self.runs.count(&mut next.annotations, &next.kept);
        }
        self.account.count_kept(&next.batch, &next.kept);
        self.is_over = self.filter.is_over(next.batch.issued_ns(0));
        Ok(())
    }

    /// Fills in the issue times that strictly increase, if a fold asks for them.
    fn fill_order_times(&mut self, next: &mut AnnotatedBatch) {
        next.order_ns.clear();
        let Some(earliest_ns) = &mut self.order_ns else { return };
        for row in 0..next.batch.len() {
            let at_ns = next.batch.issued_ns(row).max(*earliest_ns);
            next.order_ns.push(at_ns);
            *earliest_ns = at_ns.saturating_add(1);
        }
    }

    pub(crate) fn account(&self, order: OrderAccount) -> PassAccount {
        PassAccount { order, depths_counted: self.sequencer.depths_counted, ..self.account }
    }
}

/// The single I/Os of a capture in issue order, in annotated and filtered batches.
pub struct AnnotatedBatches<'t, R> {
    order: IssueOrder<'t, R>,
    annotator: Annotator,
    annotated: AnnotatedBatch,
    trace: TraceRef<'t, R>,
}

impl<R: Read + Seek + Send + 'static> AnnotatedBatches<'_, R> {
    /// Returns the next batch, or `None` if no further I/O can pass. [`AnnotatedRows::iter`] yields
    /// the rows that pass the filter.
    ///
    /// # Errors
    /// Returns [`TraceError::Io`] if reading fails, or [`TraceError::Damaged`] if the trace
    /// contains impossible values.
    pub fn next_batch(&mut self) -> Result<Option<AnnotatedRows<'_>>, TraceError> {
        let until_ns = self.order.delivered_until_ns();
        if self.annotator.is_over || !self.order.next_batch(&mut self.annotated.batch)? {
            return Ok(None);
        }
        let group_at = |at_ns| self.trace.first_group_reaching(at_ns);
        self.annotator.attach_checkpoint(&mut self.annotated, until_ns, group_at);
        self.annotator.annotate(&mut self.annotated)?;
        Ok(Some(self.annotated.rows()))
    }

    /// Returns the account of the pass so far.
    pub fn account(&self) -> PassAccount {
        self.annotator.account(self.order.account())
    }
}

impl PassOptions {
    /// Reads the single I/Os of a trace, with these columns.
    pub fn read<'t, R: Read + Seek + Send + 'static>(
        &self,
        trace: &'t Trace<R>,
        fields: Fields,
    ) -> AnnotatedBatches<'t, R> {
        self.open(TraceRef::Borrowed(trace), fields)
    }

    /// Reads the single I/Os of a shared trace, which the result keeps alive.
    pub fn read_shared<R: Read + Seek + Send + 'static>(
        &self,
        trace: &Arc<Trace<R>>,
        fields: Fields,
    ) -> AnnotatedBatches<'static, R> {
        self.open(TraceRef::Shared(Arc::clone(trace)), fields)
    }

    fn open<'t, R: Read + Seek + Send + 'static>(
        &self,
        trace: TraceRef<'t, R>,
        fields: Fields,
    ) -> AnnotatedBatches<'t, R> {
        let fields = self.fields(fields);
        let end_group = self.end_group(&trace);
        let order = IssueOrder::new(trace.clone(), fields)
            .waiting_at_most(self.waiting_max)
            .ending_before(end_group);
        AnnotatedBatches {
            order: match &self.start {
                Some(start) => order.beginning_at(start.group, start.at_ns),
                None => order,
            },
            annotator: Annotator::new(self, trace.conditions(), fields),
            annotated: AnnotatedBatch::default(),
            trace,
        }
    }

    /// Returns the end of the row groups to read: later ones hold no I/O that can pass the filter.
    pub(crate) fn end_group<R: Read + Seek + Send + 'static>(&self, trace: &Trace<R>) -> usize {
        let Some(end) = self.filter.end_ns() else { return trace.group_count() };
        let earliest = trace.earliest_to_come();
        earliest.partition_point(|time| *time < end).min(trace.group_count())
    }

    /// Returns the columns to read: those of the pass itself, of its filter, and `fields`.
    pub(crate) fn fields(&self, fields: Fields) -> Fields {
        OWN_FIELDS.and(self.filter.fields()).and(fields)
    }

    /// Reads a trace once and passes every batch to all folds.
    ///
    /// # Errors
    /// Returns the errors of [`AnnotatedBatches::next_batch`] and of [`Fold::take`].
    pub fn run<R: Read + Seek + Send + 'static>(
        &self,
        trace: &Trace<R>,
        folds: &mut [&mut dyn Fold],
    ) -> Result<PassAccount, TraceError> {
        self.run_mapped(trace, None, folds)
    }

    /// Reads a trace once, as one of several captures if `mapping` is set.
    pub(crate) fn run_mapped<R: Read + Seek + Send + 'static>(
        &self,
        trace: &Trace<R>,
        mapping: Option<&MergeMapping>,
        folds: &mut [&mut dyn Fold],
    ) -> Result<PassAccount, TraceError> {
        let mut ios = self.read(trace, fields_of(folds));
        ios.annotator.mapping = mapping.cloned();
        while let Some(rows) = ios.next_batch()? {
            folds.iter_mut().try_for_each(|fold| fold.take(&rows))?;
        }
        Ok(ios.account())
    }
}

/// Time of the last I/O of each stream. Streams beyond the limit have none.
#[derive(Default)]
struct LastArrivals {
    recent: RecentCache<StreamKey, u32>,
    numbers: FxHashMap<StreamKey, u32>,
    /// Issue time of the last I/O by number of the stream.
    last_ns: Vec<Option<u64>>,
}

impl LastArrivals {
    /// Fills in the gaps of the rows that pass the filter.
    fn fill_gaps(&mut self, next: &mut AnnotatedBatch) {
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
        let LastArrivals { recent, numbers, last_ns } = self;
        let stream = StreamKey::packed(key.op, key.sequential, key.bytes);
        let number = recent.get_or(stream, key, || {
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

pub(crate) fn fields_of(folds: &[&mut dyn Fold]) -> Fields {
    folds.iter().fold(Fields::NONE, |fields, fold| fields.and(fold.fields()))
}

/// Checks that the sums of response and of queue times fit into 64 bits. Then so does the sum of any
/// subset.
#[derive(Default)]
struct OverflowGuard {
    responses: u64,
    queued: u64,
}

impl OverflowGuard {
    /// Adds the times of a batch; returns the bitwise OR of its response times.
    fn add(&mut self, batch: &Batch) -> Result<i64, TraceError> {
        let (any, responses) = bits_and_sum_of_responses(batch.responses());
        self.responses = checked_sum(self.responses, responses, Field::Response)?;
        let queued = sum_of(batch.queue_times(), None);
        self.queued = checked_sum(self.queued, queued, Field::Queued)?;
        Ok(any)
    }
}

fn checked_sum(sum: u64, more: u128, column: Field) -> Result<u64, TraceError> {
    u64::try_from(u128::from(sum) + more).map_err(|_| {
        let what = "the times add up to more than 584 years";
        TraceError::damaged(format!("in column {}", column.name()), what)
    })
}

/// Returns the bitwise OR of all response times, and the sum of the known ones.
fn bits_and_sum_of_responses(responses: &[i64]) -> (i64, u128) {
    let (any, sum) = simd::bits_and_sum(responses);
    if (0..SHORT_TIME_NS).contains(&any) && responses.len() < SHORT_TIMES_MAX {
        return (any, sum.into());
    }
    (any, sum_of(responses, Some(UNKNOWN)))
}

/// Returns the sum of some times, without those that equal `unknown`.
fn sum_of(times: &[i64], unknown: Option<i64>) -> u128 {
    // The sums of the low and of the high 32 bits each fit into 64 bits.
    let (mut low, mut high) = (0u64, 0u64);
    for time in times {
        let known = if Some(*time) == unknown { 0 } else { time.cast_unsigned() };
        low += known & u64::from(u32::MAX);
        high += known >> u32::BITS;
    }
    u128::from(low) + (u128::from(high) << u32::BITS)
}

impl PassAccount {
    /// Counts the I/Os of a batch that pass the filter.
    fn count_kept(&mut self, batch: &Batch, kept: &[bool]) {
        self.kept += kept.iter().filter(|kept| **kept).count() as u64;
        let first = kept.iter().position(|kept| *kept);
        let last = kept.iter().rposition(|kept| *kept);
        if let (Some(first), Some(last)) = (first, last) {
            self.extend_span(batch.issued_ns(first), batch.issued_ns(last));
        }
    }

    /// Adds the account of a pass over another capture.
    pub(crate) fn merge(&mut self, other: &PassAccount) {
        self.events = self.events.saturating_add(other.events);
        self.kept = self.kept.saturating_add(other.kept);
        if let Some((first, last)) = other.span_ns {
            self.extend_span(first, last);
        }
        self.depths_counted = self.depths_counted.saturating_add(other.depths_counted);
        self.order.merge(&other.order);
    }

    pub(crate) fn extend_span(&mut self, first: u64, last: u64) {
        let (from, to) = self.span_ns.unwrap_or((first, last));
        self.span_ns = Some((from.min(first), to.max(last)));
    }
}
