//! One pass over the files of a capture. Single I/Os come in issue order, judged
//! for sequentiality and filtered; what was added up before comes as it was kept.

pub use crate::annotate::checkpoint::Checkpoint;
use crate::annotate::sequence::{After, Busy, Depths, Sequencer, WINDOW};
use crate::cells::{Cell, Cells, Dimensions};
use crate::filter::Filter;
use crate::fold::{Fold, Rows};
use crate::questions::streams::{STREAMS_MAX, StreamKey};
use crate::step_file::StepFile;
use rustc_hash::FxBuildHasher;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::hash::BuildHasher;
use std::io::{Read, Seek};
use std::mem;
use std::sync::Arc;
use steadfast_domain::CaptureConditions;
use steadfast_domain::io_event::{RESPONSE_UNKNOWN, StreamInStep};
use steadfast_tracefile::batch::Batch;
use steadfast_tracefile::error::TraceError;
use steadfast_tracefile::issue_order::{IssueOrder, OrderAccount, WAITING_MAX};
use steadfast_tracefile::merge_mapping::Place;
use steadfast_tracefile::not_recorded::NotRecorded;
use steadfast_tracefile::parquet::{Field, Fields, Trace, TraceRef};
use steadfast_tracefile::simd;

/// How to go over a capture.
#[derive(Debug, Clone, PartialEq)]
pub struct Pass {
    /// Which I/Os count. Sequentiality, depth and busy time are judged before.
    pub filter: Filter,
    /// I/Os looked back at for sequentiality.
    pub window: usize,
    /// Events that may wait for earlier ones.
    pub waiting_max: usize,
    /// Where it begins; `None` for the beginning. What was issued before does not
    /// count, and is not read, but is remembered: the rest is judged as if it had been
    /// (but for the gaps of [`After`], which begin anew). Sums are always read from the
    /// beginning.
    pub start: Option<Arc<Checkpoint>>,
    /// I/Os between two places from which a pass can begin, at least; such places are
    /// kept ([`Rows::place`]) where this is said.
    pub places_every: Option<u64>,
}

impl Default for Pass {
    fn default() -> Self {
        Pass {
            filter: Filter::default(),
            window: WINDOW,
            waiting_max: WAITING_MAX,
            start: None,
            places_every: None,
        }
    }
}

/// What a pass saw.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
pub struct PassAccount {
    /// I/Os read, or told of by the sums that were read.
    pub events: u64,
    /// Those that passed the filter.
    pub kept: u64,
    /// Issue time of the first and the last that passed; of sums, beginning and end
    /// of their steps.
    pub span_ns: Option<(u64, u64)>,
    /// Events whose queue depth was counted from issue and response times.
    pub depths_counted: u64,
    /// How well the order could be kept.
    pub order: OrderAccount,
}

/// Columns that a pass itself reads.
const OWN: Fields = Fields::of(&[
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

/// Some I/Os in issue order, with what their neighbors and the filter say of each.
#[derive(Default)]
pub(crate) struct AnnotatedBatch {
    pub(crate) batch: Batch,
    sequential: Vec<bool>,
    depth: Vec<u32>,
    busy: Vec<Busy>,
    kept: Vec<bool>,
    order_ns: Vec<u64>,
    after: Vec<After>,
    stretch: usize,
    place: Option<Checkpoint>,
}

impl AnnotatedBatch {
    pub(crate) fn rows(&self) -> Rows<'_> {
        Rows {
            stretch: self.stretch,
            place: self.place.as_ref(),
            batch: &self.batch,
            sequential: &self.sequential,
            depth: if self.depth.is_empty() { self.batch.depths() } else { &self.depth },
            busy: &self.busy,
            kept: &self.kept,
            order_ns: &self.order_ns,
            after: &self.after,
        }
    }
}

/// What goes over the I/Os in their order, one after the other.
pub(crate) struct Annotator {
    sequencer: Sequencer,
    filter: Filter,
    times: TimeSums,
    arrivals: Option<Arrivals>,
    /// The earliest time that the next I/O may have in the order; `None` where nobody asks.
    order_ns: Option<u64>,
    /// Where the capture stands among others, where several are read together.
    pub(crate) place: Option<Place>,
    account: PassAccount,
    /// Whether no later I/O can pass.
    pub(crate) is_over: bool,
    places_every: Option<u64>,
    /// I/Os since the last place.
    since_place: u64,
    /// Places so far.
    places: usize,
}

impl Annotator {
    pub(crate) fn of(pass: &Pass, conditions: &CaptureConditions, fields: Fields) -> Self {
        let sequencer = Sequencer::new(pass.window).with(Depths::of(conditions));
        let sequencer = match &pass.start {
            Some(start) => sequencer.going_on(&start.neighbors),
            None => sequencer,
        };
        // A pass that begins at a place has to know until when the devices are busy there.
        let tells_busy = fields.has_busy() || pass.places_every.is_some();
        Annotator {
            sequencer: sequencer
                .telling_after(fields.has_neighbors())
                .telling_busy(tells_busy)
                .leaving_recorded(true),
            arrivals: fields.has_neighbors().then(Arrivals::default),
            order_ns: fields.has_order().then_some(0),
            filter: pass.filter.clone(),
            times: TimeSums::default(),
            place: None,
            account: PassAccount::default(),
            is_over: false,
            places_every: pass.places_every,
            since_place: 0,
            places: 0,
        }
    }

    /// Whether the place before some I/Os is to be kept.
    pub(crate) fn wants_place(&self) -> bool {
        self.places_every.is_some_and(|every| self.since_place >= every)
    }

    /// Keeps the place before the next I/Os, where it is wanted and there can be one: all
    /// before it were issued until a time that is known.
    pub(crate) fn keep_place(
        &mut self,
        next: &mut AnnotatedBatch,
        until_ns: Option<u64>,
        group: impl FnOnce(u64) -> usize,
    ) {
        let at_ns = next.batch.issued_ns(0);
        let can_be = self.wants_place() && until_ns.is_some_and(|until| until < at_ns);
        next.place = can_be.then(|| Checkpoint {
            at_ns,
            group: group(at_ns),
            neighbors: self.sequencer.neighbors(),
        });
        if can_be {
            (self.places, self.since_place) = (self.places + 1, 0);
        }
        self.since_place += next.batch.len() as u64;
        next.stretch = self.places;
    }

    /// Says of the I/Os of its batch, which come next, what there is to say.
    pub(crate) fn judge(&mut self, next: &mut AnnotatedBatch) -> Result<(), TraceError> {
        self.account.events += next.batch.len() as u64;
        let responses = self.times.add(&next.batch)?;
        if let Some(place) = &self.place {
            next.batch.place(place);
        }
        next.order_ns.clear();
        if let Some(earliest_ns) = &mut self.order_ns {
            for row in 0..next.batch.len() {
                let at_ns = next.batch.issued_ns(row).max(*earliest_ns);
                next.order_ns.push(at_ns);
                *earliest_ns = at_ns.saturating_add(1);
            }
        }
        self.sequencer.follow_within(&next.batch, responses);
        mem::swap(&mut next.sequential, &mut self.sequencer.sequential);
        mem::swap(&mut next.depth, &mut self.sequencer.depth);
        mem::swap(&mut next.busy, &mut self.sequencer.busy);
        mem::swap(&mut next.after, &mut self.sequencer.after);
        self.filter.mark(&next.batch, &next.sequential, &mut next.kept);
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.tell(next);
        }
        self.account.see(&next.batch, &next.kept);
        self.is_over = self.filter.is_over(next.batch.issued_ns(0));
        Ok(())
    }

    /// What was seen so far.
    pub(crate) fn account(&self, order: OrderAccount) -> PassAccount {
        PassAccount { order, depths_counted: self.sequencer.depths_counted, ..self.account }
    }
}

/// The single I/Os of a capture in issue order, batch by batch, with what the
/// filter says of each.
pub struct Ios<'t, R> {
    order: IssueOrder<'t, R>,
    judge: Annotator,
    judged: AnnotatedBatch,
    trace: TraceRef<'t, R>,
}

impl<R: Read + Seek + Send + 'static> Ios<'_, R> {
    /// The next batch; [`Rows::iter`] gives the rows that pass. `None` when no more
    /// can pass.
    ///
    /// # Errors
    /// Where the trace cannot be read.
    pub fn next_rows(&mut self) -> Result<Option<Rows<'_>>, TraceError> {
        let until_ns = self.order.given_out_until();
        if self.judge.is_over || !self.order.next_batch(&mut self.judged.batch)? {
            return Ok(None);
        }
        let group = |at_ns| self.trace.first_group_reaching(at_ns);
        self.judge.keep_place(&mut self.judged, until_ns, group);
        self.judge.judge(&mut self.judged)?;
        Ok(Some(self.judged.rows()))
    }

    /// What was seen so far.
    pub fn account(&self) -> PassAccount {
        self.judge.account(self.order.account())
    }
}

impl Pass {
    /// The single I/Os of a trace, with these columns.
    pub fn ios<'t, R: Read + Seek + Send + 'static>(
        &self,
        trace: &'t Trace<R>,
        fields: Fields,
    ) -> Ios<'t, R> {
        self.ios_of(TraceRef::Borrowed(trace), fields)
    }

    /// The same of a trace that is shared, for as long as they are read.
    pub fn shared_ios<R: Read + Seek + Send + 'static>(
        &self,
        trace: &Arc<Trace<R>>,
        fields: Fields,
    ) -> Ios<'static, R> {
        self.ios_of(TraceRef::Shared(Arc::clone(trace)), fields)
    }

    fn ios_of<'t, R: Read + Seek + Send + 'static>(
        &self,
        trace: TraceRef<'t, R>,
        fields: Fields,
    ) -> Ios<'t, R> {
        let fields = self.fields(fields);
        let last = self.groups(&trace);
        let order = IssueOrder::new(trace.clone(), fields)
            .waiting_at_most(self.waiting_max)
            .ending_before(last);
        Ios {
            order: match &self.start {
                Some(start) => order.beginning_at(start.group, start.at_ns),
                None => order,
            },
            judge: Annotator::of(self, trace.conditions(), fields),
            judged: AnnotatedBatch::default(),
            trace,
        }
    }

    /// The row groups that can hold what passes: those before this one.
    pub(crate) fn groups<R: Read + Seek + Send + 'static>(&self, trace: &Trace<R>) -> usize {
        let Some(end) = self.filter.end_ns() else { return trace.group_count() };
        let earliest = trace.earliest_to_come();
        earliest.partition_point(|time| *time < end).min(trace.group_count())
    }

    /// The columns that it takes to go over a trace and see these.
    pub(crate) fn fields(&self, fields: Fields) -> Fields {
        OWN.and(self.filter.fields()).and(fields)
    }

    /// Goes over a trace once and hands every batch to all folds.
    ///
    /// # Errors
    /// Where the trace cannot be read or a fold is out of room.
    pub fn run<R: Read + Seek + Send + 'static>(
        &self,
        trace: &Trace<R>,
        folds: &mut [&mut dyn Fold],
    ) -> Result<PassAccount, TraceError> {
        Self::fold_all(self.ios(trace, fields_of(folds)), folds)
    }

    /// The same of a capture that is read together with others.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub(crate) fn run_placed<R: Read + Seek + Send + 'static>(
        &self,
        trace: &Trace<R>,
        place: Option<&Place>,
        folds: &mut [&mut dyn Fold],
    ) -> Result<PassAccount, TraceError> {
        let mut ios = self.ios(trace, fields_of(folds));
        ios.judge.place = place.cloned();
        Self::fold_all(ios, folds)
    }

    fn fold_all<R: Read + Seek + Send + 'static>(
        mut ios: Ios<'_, R>,
        folds: &mut [&mut dyn Fold],
    ) -> Result<PassAccount, TraceError> {
        while let Some(rows) = ios.next_rows()? {
            folds.iter_mut().try_for_each(|fold| fold.take(&rows))?;
        }
        Ok(ios.account())
    }

    /// Goes over a step file once and hands its sums to all folds.
    ///
    /// # Errors
    /// Where the file cannot be read, a fold is out of room, or only single I/Os
    /// tell what is asked.
    pub(crate) fn run_sums<R: Read + Seek + Send + 'static>(
        &self,
        file: &StepFile<R>,
        place: Option<&Place>,
        folds: &mut [&mut dyn Fold],
    ) -> Result<PassAccount, TraceError> {
        if self.filter.process.is_some() {
            return Err(NotRecorded::Processes.into());
        }
        if self.filter.asks_single_ios() {
            return Err(NotRecorded::SingleIos.into());
        }
        if self.window != WINDOW {
            return Err(NotRecorded::OtherWindow.into());
        }
        let told = Dimensions::default();
        let folds = folds.iter_mut().map(|fold| fold.as_cell_fold(told));
        let mut folds = folds.collect::<Result<Vec<_>, _>>()?;
        let (step_ns, mut account) = (file.step_ns(), PassAccount::default());
        let shift_ns = place.map_or(0, |place| place.shift_ns);
        let observed = file.observed().shifted(shift_ns);
        let (first_ns, end_ns) = (observed.first_ns().unwrap_or(0), observed.end_ns().unwrap_or(0));
        let cell_of = |row: &StreamInStep| {
            let begin_ns = row.step.saturating_mul(step_ns).saturating_add(shift_ns);
            let last_ns = begin_ns.saturating_add(step_ns - 1);
            // The first and the last step last as long as the capture was observed.
            let from_ns = begin_ns.max(first_ns.min(last_ns));
            let to_ns = if end_ns > begin_ns { last_ns.min(end_ns) } else { last_ns };
            Cell::from_step(row, begin_ns, (from_ns, to_ns))
        };
        file.each_group(|streams, mut responses| {
            account.events += streams.iter().map(|row| row.ios).sum::<u64>();
            let mut cells: Vec<Cell> = streams.iter().map(cell_of).collect();
            if let Some(place) = place {
                cells.iter_mut().for_each(|cell| cell.device = place.device(cell.device));
                responses.iter_mut().for_each(|part| part.device = place.device(part.device));
            }
            cells.retain(|cell| self.filter.keeps_cell(cell, first_ns));
            responses.retain(|part| self.filter.keeps_responses(part));
            for cell in &cells {
                account.kept += cell.ios;
                account.reach(cell.span_ns.0, cell.span_ns.1);
            }
            let (cells, responses) = (&cells[..], &responses[..]);
            let cells = Cells { step_ns, told, cells, busy: &[], responses };
            folds.iter_mut().try_for_each(|fold| fold.take_cells(&cells))
        })?;
        Ok(account)
    }
}

/// When each I/O stream had its last I/O.
#[derive(Default)]
struct Arrivals {
    /// Those seen lately, where their keys say.
    lately: Vec<Option<(StreamKey, u64)>>,
    others: HashMap<StreamKey, u64>,
}

/// Streams whose last I/O is at hand.
const LATELY: usize = 256;

impl Arrivals {
    /// Fills in the gaps of the rows that pass.
    fn tell(&mut self, next: &mut AnnotatedBatch) {
        self.lately.resize(LATELY, None);
        let (batch, sequential) = (&next.batch, &next.sequential);
        let passed = next.after.iter_mut().zip(&next.kept).enumerate();
        for (row, (after, _)) in passed.filter(|(_, (_, kept))| **kept) {
            let (op, bytes) = (batch.op(row), batch.bytes(row));
            let key = StreamKey { op, sequential: sequential[row], bytes };
            after.gap_ns = self.gap(key, batch.issued_ns(row));
        }
    }

    fn gap(&mut self, key: StreamKey, at_ns: u64) -> Option<u64> {
        let number = u64::from(key.bytes) << 4 | (key.op as u64) << 1 | u64::from(key.sequential);
        let place = FxBuildHasher.hash_one(number) as usize % LATELY;
        let here = &mut self.lately[place];
        let before = match here {
            Some((seen, last)) if *seen == key => Some(mem::replace(last, at_ns)),
            _ => {
                let before = self.others.remove(&key);
                let gone = here.replace((key, at_ns));
                // Beyond the bound a stream is forgotten, and its next gap unknown.
                self.others.extend(gone.filter(|_| self.others.len() < STREAMS_MAX));
                before
            }
        };
        before.map(|before| at_ns.saturating_sub(before))
    }
}

/// The columns that folds read.
pub(crate) fn fields_of(folds: &[&mut dyn Fold]) -> Fields {
    folds.iter().fold(Fields::NONE, |fields, fold| fields.and(fold.fields()))
}

/// Response and queue times added up: where these sums have room, those of any of them have.
#[derive(Default)]
struct TimeSums {
    responses: u64,
    queued: u64,
}

impl TimeSums {
    /// Adds the times of some I/Os; returns the bits that any response time has.
    ///
    /// # Errors
    /// Returns [`TraceError`] if the sum of a column does not fit into 64 bits.
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
        let what = "impossible times: more than 584 years in total";
        TraceError::damaged(format!("in column {}", column.name()), what)
    })
}

/// The bits that any response time has, and those that are known added up.
fn bits_and_sum_of_responses(responses: &[i64]) -> (i64, u128) {
    let (any, sum) = simd::bits_and_sum(responses);
    if (0..SHORT).contains(&any) && responses.len() < SHORT as usize {
        return (any, sum.into());
    }
    (any, sum_of(responses, Some(UNKNOWN)))
}

/// The sum of some times, without those that stand for an unknown one.
fn sum_of(times: &[i64], unknown: Option<i64>) -> u128 {
    // Halves have room for their sums.
    let (mut low, mut high) = (0u64, 0u64);
    for time in times {
        let known = if Some(*time) == unknown { 0 } else { time.cast_unsigned() };
        low += known & u64::from(u32::MAX);
        high += known >> u32::BITS;
    }
    u128::from(low) + (u128::from(high) << u32::BITS)
}

/// Response times below this have room for the sum of as many.
const SHORT: i64 = 1 << 31;

/// As a batch keeps it.
const UNKNOWN: i64 = RESPONSE_UNKNOWN.cast_signed();

impl PassAccount {
    fn see(&mut self, batch: &Batch, kept: &[bool]) {
        self.kept += kept.iter().filter(|kept| **kept).count() as u64;
        let first = kept.iter().position(|kept| *kept);
        let last = kept.iter().rposition(|kept| *kept);
        if let (Some(first), Some(last)) = (first, last) {
            self.reach(batch.issued_ns(first), batch.issued_ns(last));
        }
    }

    /// Adds what a pass over another capture saw.
    pub(crate) fn merge(&mut self, other: &PassAccount) {
        self.events = self.events.saturating_add(other.events);
        self.kept = self.kept.saturating_add(other.kept);
        if let Some((first, last)) = other.span_ns {
            self.reach(first, last);
        }
        self.depths_counted = self.depths_counted.saturating_add(other.depths_counted);
        self.order.merge(&other.order);
    }

    pub(crate) fn reach(&mut self, first: u64, last: u64) {
        let (from, to) = self.span_ns.unwrap_or((first, last));
        self.span_ns = Some((from.min(first), to.max(last)));
    }
}
