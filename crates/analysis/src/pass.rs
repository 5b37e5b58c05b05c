//! One pass over the single I/Os of a trace, delivered in issue order, annotated with sequentiality
//! and filtered.

use crate::annotate::arrival_gaps::ArrivalGapTracker;
use crate::annotate::busy_time::DeviceBusySpan;
pub use crate::annotate::checkpoint::Checkpoint;
use crate::annotate::overflow_guard::OverflowGuard;
use crate::annotate::selected_runs::SelectedRunLengths;
use crate::annotate::sequential::{DepthSource, Sequencer, WINDOW};
use crate::filter::Filter;
use crate::fold::{AnnotatedBatch, AnnotatedRows, Fold};
use serde::{Deserialize, Serialize};
use std::mem;
use std::sync::Arc;
use steadfast_domain::CaptureConditions;
use steadfast_tracefile::batch::Batch;
use steadfast_tracefile::error::TraceError;
use steadfast_tracefile::issue_order::{IssueOrder, OrderAccount, WAITING_MAX};
use steadfast_tracefile::merge_mapping::MergeMapping;
use steadfast_tracefile::parquet::{Field, Fields, Trace, TraceRef};

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

impl PassOptions {
    /// Reads the single I/Os of a trace, with these columns.
    pub fn read<'t>(&self, trace: &'t Trace, fields: Fields) -> AnnotatedBatches<'t> {
        self.open(TraceRef::Borrowed(trace), fields)
    }

    /// Reads the single I/Os of a shared trace, which the result keeps alive.
    pub fn read_shared(&self, trace: &Arc<Trace>, fields: Fields) -> AnnotatedBatches<'static> {
        self.open(TraceRef::Shared(Arc::clone(trace)), fields)
    }

    fn open<'t>(&self, trace: TraceRef<'t>, fields: Fields) -> AnnotatedBatches<'t> {
        let fields = self.fields(fields);
        let end_group = self.end_group(&trace);
        let mut order = IssueOrder::new(trace.clone(), fields)
            .waiting_at_most(self.waiting_max)
            .ending_before(end_group);
        if let Some(start) = &self.start {
            order = order.beginning_at(start.group, start.at_ns);
        }
        AnnotatedBatches {
            order,
            annotator: Annotator::new(self, trace.conditions(), fields),
            annotated: AnnotatedBatch::default(),
            trace,
        }
    }

    /// Returns the end of the row groups to read: later ones hold no I/O that can pass the filter.
    pub(crate) fn end_group(&self, trace: &Trace) -> usize {
        let Some(end_ns) = self.filter.end_ns() else { return trace.group_count() };
        let earliest_ns = trace.earliest_to_come();
        earliest_ns.partition_point(|time| *time < end_ns).min(trace.group_count())
    }

    /// Returns the columns to read: those of the pass itself, of its filter, and `fields`.
    pub(crate) fn fields(&self, fields: Fields) -> Fields {
        OWN_FIELDS.and(self.filter.fields()).and(fields)
    }

    /// Reads a trace once and passes every batch to all folds.
    ///
    /// # Errors
    /// Returns the errors of [`AnnotatedBatches::next_batch`] and of [`Fold::take`].
    pub fn run(
        &self,
        trace: &Trace,
        folds: &mut [&mut dyn Fold],
    ) -> Result<PassAccount, TraceError> {
        self.run_mapped(trace, None, folds)
    }

    /// Reads a trace once, as one of several captures if `mapping` is set.
    pub(crate) fn run_mapped(
        &self,
        trace: &Trace,
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

    /// Extends the span to I/Os that were issued from `first_ns` to `last_ns`.
    pub(crate) fn extend_span(&mut self, first_ns: u64, last_ns: u64) {
        let (from, to) = self.span_ns.unwrap_or((first_ns, last_ns));
        self.span_ns = Some((from.min(first_ns), to.max(last_ns)));
    }
}

/// Annotates the I/Os of a trace in issue order.
pub(crate) struct Annotator {
    sequencer: Sequencer,
    filter: Filter,
    overflow: OverflowGuard,
    /// Gaps between the I/Os of a stream; `None` if no fold asks for annotations of neighbors.
    gaps: Option<ArrivalGapTracker>,
    runs: SelectedRunLengths,
    /// Earliest time of the next I/O in [`AnnotatedRows::order_ns`]; `None` if no fold asks for these
    /// times.
    next_order_ns: Option<u64>,
    /// Busy time of the I/Os before the checkpoint at which the pass begins; taken by the first batch.
    busy_before: Vec<DeviceBusySpan>,
    /// Mapping of the capture into the merged captures; `None` if it is read alone.
    pub(crate) mapping: Option<MergeMapping>,
    account: PassAccount,
    /// True if no later I/O can pass the filter.
    pub(crate) is_finished: bool,
    checkpoint_every: Option<u64>,
    ios_since_checkpoint: u64,
    checkpoints: usize,
}

impl Annotator {
    pub(crate) fn new(pass: &PassOptions, conditions: &CaptureConditions, fields: Fields) -> Self {
        let depths = DepthSource::from_conditions(conditions);
        let mut sequencer = Sequencer::new(pass.window).with_depths(depths);
        let mut runs = SelectedRunLengths::default();
        let mut busy_before = Vec::new();
        if let Some(start) = &pass.start {
            sequencer = sequencer.resume_from(&start.sequencer);
            runs = SelectedRunLengths::resume_from(&start.sequencer);
            if fields.has_busy() {
                busy_before = sequencer.busy_at(start.at_ns);
            }
        }
        // A pass that begins at a checkpoint needs to know how long the devices are still busy
        // there.
        let has_busy = fields.has_busy() || pass.checkpoint_every.is_some();
        Annotator {
            sequencer: sequencer
                .with_annotations(fields.has_neighbors())
                .with_busy_spans(has_busy)
                .keep_recorded_depth(true),
            gaps: fields.has_neighbors().then(ArrivalGapTracker::default),
            runs,
            next_order_ns: fields.has_order().then_some(0),
            busy_before,
            filter: pass.filter.clone(),
            overflow: OverflowGuard::default(),
            mapping: None,
            account: PassAccount::default(),
            is_finished: false,
            checkpoint_every: pass.checkpoint_every,
            ios_since_checkpoint: 0,
            checkpoints: 0,
        }
    }

    /// Attaches a checkpoint to the batch if one is due and possible. It is possible only if
    /// `latest_ns`, the latest issue time before the batch, is known and earlier than that of its
    /// first I/O.
    pub(crate) fn attach_checkpoint(
        &mut self,
        next: &mut AnnotatedBatch,
        latest_ns: Option<u64>,
        trace: &Trace,
    ) {
        let at_ns = next.batch.issued_ns(0);
        next.checkpoint = None;
        let is_due = self.checkpoint_every.is_some_and(|every| self.ios_since_checkpoint >= every);
        if is_due && latest_ns.is_some_and(|latest| latest < at_ns) {
            let (group, sequencer) = (trace.first_group_reaching(at_ns), self.sequencer.state());
            next.checkpoint = Some(Checkpoint { at_ns, group, sequencer });
            self.checkpoints += 1;
            self.ios_since_checkpoint = 0;
        }
        self.ios_since_checkpoint += next.batch.len() as u64;
        next.checkpoints = self.checkpoints;
    }

    /// Annotates the next batch and filters it.
    pub(crate) fn annotate(&mut self, next: &mut AnnotatedBatch) -> Result<(), TraceError> {
        self.account.events += next.batch.len() as u64;
        self.overflow.add(&next.batch)?;
        if let Some(mapping) = &self.mapping {
            next.batch.map_to_common_axis(mapping);
        }
        self.fill_order_times(next);
        self.sequencer.follow(&next.batch);
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
        if let Some(gaps) = &mut self.gaps {
            gaps.fill(next);
            self.runs.count(&mut next.annotations, &next.kept);
        }
        self.account.count_kept(&next.batch, &next.kept);
        self.is_finished = self.filter.ends_before(next.batch.issued_ns(0));
        Ok(())
    }

    /// Fills in the issue times that strictly increase, if a fold asks for them.
    fn fill_order_times(&mut self, next: &mut AnnotatedBatch) {
        next.order_ns.clear();
        let Some(next_order_ns) = &mut self.next_order_ns else { return };
        for row in 0..next.batch.len() {
            let at_ns = next.batch.issued_ns(row).max(*next_order_ns);
            next.order_ns.push(at_ns);
            *next_order_ns = at_ns.saturating_add(1);
        }
    }

    /// Returns the account of the pass so far, with that of the events in `order`.
    pub(crate) fn account(&self, order: OrderAccount) -> PassAccount {
        PassAccount { order, depths_counted: self.sequencer.depths_counted, ..self.account }
    }
}

/// The single I/Os of a capture in issue order, in annotated and filtered batches.
pub struct AnnotatedBatches<'t> {
    order: IssueOrder<'t>,
    annotator: Annotator,
    annotated: AnnotatedBatch,
    trace: TraceRef<'t>,
}

impl AnnotatedBatches<'_> {
    /// Returns the next batch, or `None` if no further I/O can pass. [`AnnotatedRows::iter`] yields
    /// the rows that pass the filter.
    ///
    /// # Errors
    /// Returns [`TraceError::Io`] if reading fails, or [`TraceError::Damaged`] if the trace
    /// contains impossible values.
    pub fn next_batch(&mut self) -> Result<Option<AnnotatedRows<'_>>, TraceError> {
        let latest_ns = self.order.delivered_until_ns();
        if self.annotator.is_finished || !self.order.next_batch(&mut self.annotated.batch)? {
            return Ok(None);
        }
        self.annotator.attach_checkpoint(&mut self.annotated, latest_ns, &self.trace);
        self.annotator.annotate(&mut self.annotated)?;
        Ok(Some(self.annotated.rows()))
    }

    /// Returns the account of the pass so far.
    pub fn account(&self) -> PassAccount {
        self.annotator.account(self.order.account())
    }
}

/// Returns the columns that any of the folds reads.
pub(crate) fn fields_of(folds: &[&mut dyn Fold]) -> Fields {
    folds.iter().fold(Fields::NONE, |fields, fold| fields.and(fold.fields()))
}
