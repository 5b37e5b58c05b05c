//! One pass over single I/Os by several threads. Row groups are decoded in parallel, and annotated
//! I/Os are folded in parallel, each thread into its own parts. State that depends on the order
//! (sequentiality, queue depth) is computed by one thread at a time in file order, so that the
//! result does not depend on the number of threads.

use crate::fold::{AnnotatedBatch, Fold};
use crate::pass::{Annotator, PassAccount, PassOptions, fields_of};
use crate::thread_pool::{PoolTask, ThreadPool};
use std::collections::{BTreeMap, VecDeque};
use std::mem;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use steadfast_tracefile::batch::{Batch, SortBuffers};
use steadfast_tracefile::error::TraceError;
use steadfast_tracefile::issue_order::ReorderBuffer;
use steadfast_tracefile::merge_mapping::MergeMapping;
use steadfast_tracefile::parquet::{Damage, Field, Fields, ROWS_PER_GROUP, Trace};

/// Reads a trace once, as one of several captures if `mapping` is set, and passes every batch to all
/// folds. Uses one thread if the pool has only one, a fold cannot be split, or row groups are too
/// large to hold in memory.
pub(crate) fn run(
    pass: &PassOptions,
    trace: &Trace,
    mapping: Option<&MergeMapping>,
    folds: &mut [&mut dyn Fold],
    pool: &dyn ThreadPool,
) -> Result<PassAccount, TraceError> {
    let first = pass.start.as_ref().map_or(0, |start| start.group);
    let groups = pass.end_group(trace).saturating_sub(first);
    let threads = pool.size().min(groups);
    if threads < 2 || trace.largest_group() > ROWS_PER_GROUP {
        return pass.run_mapped(trace, mapping, folds);
    }
    let parts_of_thread =
        |_| -> Option<FoldParts> { folds.iter().map(|fold| fold.boxed_part()).collect() };
    let Some(mut parts) = (0..threads).map(parts_of_thread).collect::<Option<Vec<FoldParts>>>()
    else {
        return pass.run_mapped(trace, mapping, folds);
    };
    let shared = SharedPass::new(pass, trace, mapping, fields_of(folds), threads);
    let tasks = parts.iter_mut().map(|parts| Box::new(|| shared.work(parts)) as PoolTask<'_>);
    pool.side_by_side(tasks.collect());
    let account = shared.finish()?;
    for parts in parts {
        for (fold, part) in folds.iter_mut().zip(parts) {
            fold.merge_part(part)?;
        }
    }
    Ok(account)
}

/// Batches per thread that are kept for reuse. Twice as many annotated batches are kept, because a
/// row group is annotated as two: a short one of the events that waited, and one of the new events.
/// Without reuse, their allocation takes 5 % of a quick pass.
const SPARES_PER_THREAD: usize = 2;

/// A part of each fold, for one thread.
type FoldParts = Vec<Box<dyn Fold>>;

/// A pass that several threads share.
struct SharedPass<'t> {
    trace: &'t Trace,
    fields: Fields,
    /// Events issued before this time are skipped, because the pass begins in the middle.
    from_ns: u64,
    /// End of the row groups to read; later ones hold no I/O that passes.
    end_group: usize,
    /// Maximum number of decoded row groups that wait, and of batches that wait to be folded.
    waiting_max: usize,
    state: Mutex<SharedPassState>,
    changed: Condvar,
}

struct SharedPassState {
    next_to_decode: usize,
    decoded: BTreeMap<usize, DecodedGroup>,
    next_to_annotate: usize,
    /// The ordered stage; `None` while a thread works on it.
    ordered: Option<Box<OrderedStage>>,
    annotated: VecDeque<AnnotatedBatch>,
    spare_annotated: Vec<AnnotatedBatch>,
    spare_batches: Vec<Batch>,
    /// True if no more batches will be queued for folding.
    is_complete: bool,
    failed: Option<TraceError>,
}

/// Outcome of decoding a row group. The outer error ends the pass; the inner one is damage to this
/// row group, which is recorded and skipped.
type DecodedGroup = Result<Result<Batch, Damage>, TraceError>;

/// The ordered stage, which annotates I/Os in issue order.
struct OrderedStage {
    buffer: ReorderBuffer,
    annotator: Annotator,
}

#[expect(
    clippy::large_enum_variant,
    reason = "a task is short-lived; a box would cost an allocation for each"
)]
enum PassTask {
    Decode(usize, Batch),
    Annotate(Box<OrderedStage>, usize, DecodedGroup),
    End(Box<OrderedStage>),
    Fold(AnnotatedBatch),
}

impl<'t> SharedPass<'t> {
    fn new(
        pass: &PassOptions,
        trace: &'t Trace,
        mapping: Option<&MergeMapping>,
        fields: Fields,
        threads: usize,
    ) -> Self {
        let buffer = ReorderBuffer::new(trace.earliest_to_come()).waiting_at_most(pass.waiting_max);
        let fields = pass.fields(fields).and(Fields::new(&[Field::Issued]));
        let mut annotator = Annotator::new(pass, trace.conditions(), fields);
        annotator.mapping = mapping.cloned();
        let (first, from_ns) = match &pass.start {
            Some(start) => (start.group, start.at_ns),
            None => (0, 0),
        };
        let state = SharedPassState {
            next_to_decode: first,
            decoded: BTreeMap::new(),
            next_to_annotate: first,
            ordered: Some(Box::new(OrderedStage { buffer, annotator })),
            annotated: VecDeque::new(),
            spare_annotated: Vec::new(),
            spare_batches: Vec::new(),
            is_complete: false,
            failed: None,
        };
        SharedPass {
            trace,
            fields,
            from_ns,
            end_group: pass.end_group(trace),
            waiting_max: threads,
            state: Mutex::new(state),
            changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, SharedPassState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self, parts: &mut FoldParts) {
        let guard = PanicGuard(self);
        let mut buffers = SortBuffers::default();
        while let Some(task) = self.next_task() {
            match task {
                PassTask::Decode(group, spare) => self.decode(group, spare, &mut buffers),
                PassTask::Annotate(ordered, group, decoded) => {
                    self.annotate(ordered, group, decoded)
                }
                PassTask::End(ordered) => self.end(ordered),
                PassTask::Fold(annotated) => self.fold(annotated, parts),
            }
            self.changed.notify_all();
        }
        // No panic.
        mem::forget(guard);
    }

    /// Waits for the next task; returns `None` once there will be no more.
    fn next_task(&self) -> Option<PassTask> {
        let mut state = self.lock();
        loop {
            if state.failed.is_some() || (state.is_complete && state.annotated.is_empty()) {
                return None;
            }
            if let Some(task) = state.take(self.end_group, self.waiting_max) {
                return Some(task);
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn decode(&self, group: usize, mut batch: Batch, buffers: &mut SortBuffers) {
        batch.clear();
        let read = self.trace.read_group(group, self.fields, &mut batch);
        batch.sort(buffers);
        let early = batch.count_before(self.from_ns);
        if early > 0 {
            // Drops the events before the start.
            batch.split_front(early, &mut Batch::default());
        }
        let decoded = match read {
            Ok(Ok(())) => Ok(Ok(batch)),
            Ok(Err(damage)) => Ok(Err(damage)),
            Err(error) => Err(error),
        };
        self.lock().decoded.insert(group, decoded);
    }

    fn annotate(&self, mut ordered: Box<OrderedStage>, group: usize, decoded: DecodedGroup) {
        let outcome = match decoded {
            Ok(Ok(batch)) if batch.is_empty() => Ok(()),
            Ok(Ok(batch)) => {
                ordered.buffer.offer(batch, group + 1);
                self.queue_for_folding(&mut ordered)
            }
            Ok(Err(damage)) => {
                self.trace.record_damage(group, damage);
                Ok(())
            }
            Err(error) => Err(error),
        };
        let mut state = self.lock();
        state.is_complete |= ordered.annotator.is_finished;
        state.ordered = Some(ordered);
        state.record_failure(outcome);
    }

    /// Releases the events that still wait for earlier ones: no more will come.
    fn end(&self, mut ordered: Box<OrderedStage>) {
        ordered.buffer.end();
        let outcome = self.queue_for_folding(&mut ordered);
        let mut state = self.lock();
        state.is_complete = true;
        state.ordered = Some(ordered);
        state.record_failure(outcome);
    }

    /// Annotates the I/Os that are in order and queues them for folding.
    fn queue_for_folding(&self, ordered: &mut OrderedStage) -> Result<(), TraceError> {
        let OrderedStage { buffer, annotator } = ordered;
        let mut next = self.take_spare();
        loop {
            let latest_ns = buffer.delivered_until_ns();
            if annotator.is_finished || !buffer.next_ready(&mut next.batch) {
                break;
            }
            annotator.attach_checkpoint(&mut next, latest_ns, self.trace);
            annotator.annotate(&mut next)?;
            // Before the lock below, which `take_spare` takes as well.
            let spare = self.take_spare();
            self.lock().annotated.push_back(mem::replace(&mut next, spare));
            self.changed.notify_all();
        }
        self.lock().spare_annotated.push(next);
        Ok(())
    }

    fn take_spare(&self) -> AnnotatedBatch {
        self.lock().spare_annotated.pop().unwrap_or_default()
    }

    fn fold(&self, mut annotated: AnnotatedBatch, parts: &mut FoldParts) {
        let rows = annotated.rows();
        let outcome = parts.iter_mut().try_for_each(|part| part.take(&rows));
        let mut state = self.lock();
        let batch = mem::take(&mut annotated.batch);
        // Row groups are read into these batches, so only large ones are worth keeping.
        let spares_max = SPARES_PER_THREAD * self.waiting_max;
        if state.spare_batches.len() < spares_max && batch.len() > ROWS_PER_GROUP / 2 {
            state.spare_batches.push(batch);
        }
        if state.spare_annotated.len() < 2 * spares_max {
            state.spare_annotated.push(annotated);
        }
        state.record_failure(outcome);
    }

    /// Returns the account of the pass, or the first error.
    fn finish(self) -> Result<PassAccount, TraceError> {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        match (state.failed, state.ordered) {
            (Some(error), _) => Err(error),
            (None, Some(ordered)) => Ok(ordered.annotator.account(ordered.buffer.account())),
            (None, None) => Err(thread_stopped()),
        }
    }
}

impl SharedPassState {
    /// Returns the next task. What other threads wait for comes first.
    fn take(&mut self, end_group: usize, waiting_max: usize) -> Option<PassTask> {
        if self.annotated.len() < waiting_max
            && !self.is_complete
            && let Some(task) = self.take_ordered(end_group)
        {
            return Some(task);
        }
        if let Some(annotated) = self.annotated.pop_front() {
            return Some(PassTask::Fold(annotated));
        }
        let group = self.next_to_decode;
        if self.is_complete || group >= end_group.min(self.next_to_annotate + waiting_max) {
            return None;
        }
        self.next_to_decode += 1;
        Some(PassTask::Decode(group, self.spare_batches.pop().unwrap_or_default()))
    }

    /// Returns the next task of the ordered stage, unless a thread works on it or its row group is
    /// not decoded yet.
    fn take_ordered(&mut self, end_group: usize) -> Option<PassTask> {
        let group = self.next_to_annotate;
        if group == end_group {
            return self.ordered.take().map(PassTask::End);
        }
        if self.ordered.is_some()
            && let Some(decoded) = self.decoded.remove(&group)
        {
            self.next_to_annotate += 1;
            return self.ordered.take().map(|ordered| PassTask::Annotate(ordered, group, decoded));
        }
        None
    }

    /// Keeps the first error.
    fn record_failure(&mut self, outcome: Result<(), TraceError>) {
        if let Err(error) = outcome {
            self.failed.get_or_insert(error);
        }
    }
}

/// Wakes the other threads with an error if a thread panics. They would otherwise wait forever.
struct PanicGuard<'w, 't>(&'w SharedPass<'t>);

impl Drop for PanicGuard<'_, '_> {
    fn drop(&mut self) {
        self.0.lock().record_failure(Err(thread_stopped()));
        self.0.changed.notify_all();
    }
}

fn thread_stopped() -> TraceError {
    TraceError::Unsuitable("a thread that read it stopped: report this as a defect".into())
}
