//! One pass over the files of a capture. Single I/Os come in issue order, judged
//! for sequentiality and filtered; what was added up before comes as it was kept.

use crate::batch::Batch;
use crate::error::TraceError;
use crate::file::{Field, Fields, Lent, Trace};
use crate::filter::Filter;
use crate::fold::{Fold, Rows, Sums};
use crate::order::{IssueOrder, OrderAccount, WAITING_MAX};
use crate::place::Place;
use crate::sequence::{After, Busy, Depths, Neighbors, Sequencer, WINDOW};
use crate::step_file::StepFile;
use crate::streams::{STREAMS_MAX, StreamKey};
use crate::untold::Untold;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::io::{Read, Seek};
use std::mem;
use std::sync::Arc;
use steadfast_domain::CaptureConditions;
use steadfast_domain::io_event::{RESPONSE_UNKNOWN, StreamInStep};

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
}

/// A place in a trace from which a pass can begin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Everything before it was issued earlier than this, everything after it then or
    /// later.
    pub at_ns: u64,
    group: usize,
    neighbors: Neighbors,
}

impl Default for Pass {
    fn default() -> Self {
        Pass { filter: Filter::default(), window: WINDOW, waiting_max: WAITING_MAX, start: None }
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
pub(crate) struct Judged {
    pub(crate) batch: Batch,
    sequential: Vec<bool>,
    depth: Vec<u32>,
    busy: Vec<Busy>,
    kept: Vec<bool>,
    after: Vec<After>,
}

impl Judged {
    pub(crate) fn rows(&self) -> Rows<'_> {
        Rows {
            batch: &self.batch,
            sequential: &self.sequential,
            depth: &self.depth,
            busy: &self.busy,
            kept: &self.kept,
            after: &self.after,
        }
    }
}

/// What goes over the I/Os in their order, one after the other.
pub(crate) struct Judge {
    sequencer: Sequencer,
    filter: Filter,
    times: ResponseTimes,
    arrivals: Option<Arrivals>,
    /// Where the capture stands among others, where several are read together.
    pub(crate) place: Option<Place>,
    account: PassAccount,
    /// Whether no later I/O can pass.
    pub(crate) is_over: bool,
}

impl Judge {
    pub(crate) fn of(pass: &Pass, conditions: &CaptureConditions, fields: Fields) -> Self {
        let sequencer = Sequencer::new(pass.window).with(Depths::of(conditions));
        let sequencer = match &pass.start {
            Some(start) => sequencer.going_on(&start.neighbors),
            None => sequencer,
        };
        Judge {
            sequencer: sequencer.telling_after(fields.has_neighbors()),
            arrivals: fields.has_neighbors().then(Arrivals::default),
            filter: pass.filter.clone(),
            times: ResponseTimes::default(),
            place: None,
            account: PassAccount::default(),
            is_over: false,
        }
    }

    /// Says of the I/Os of its batch, which come next, what there is to say.
    pub(crate) fn judge(&mut self, next: &mut Judged) -> Result<(), TraceError> {
        self.account.events += next.batch.len() as u64;
        self.times.see(&next.batch)?;
        if let Some(place) = &self.place {
            next.batch.place(place);
        }
        self.sequencer.follow(&next.batch);
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
    judge: Judge,
    judged: Judged,
    trace: Lent<'t, R>,
    /// The place before the batch that was given out last, where places are kept.
    checkpoint: Option<Checkpoint>,
    keeps_checkpoints: bool,
}

impl<R: Read + Seek + Send + 'static> Ios<'_, R> {
    /// Keeps the place before every batch, for [`Self::checkpoint`].
    pub fn keeping_checkpoints(mut self) -> Self {
        self.keeps_checkpoints = true;
        self
    }

    /// The place before the batch that was given out last; `None` where a pass cannot
    /// begin there: I/Os of one time lie on both sides of it, or the order could not be
    /// kept.
    pub fn checkpoint(&mut self) -> Option<Checkpoint> {
        self.checkpoint.take()
    }

    /// The place before the next batch, where all before it was issued until a time.
    fn place_before(&self, until_ns: Option<u64>) -> Option<Checkpoint> {
        let at_ns = self.judged.batch.issued_ns(0);
        self.order.given_out_until()?;
        until_ns.filter(|until| *until < at_ns).map(|_| Checkpoint {
            at_ns,
            group: self.trace.first_group_reaching(at_ns),
            neighbors: self.judge.sequencer.neighbors(),
        })
    }

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
        if self.keeps_checkpoints {
            self.checkpoint = self.place_before(until_ns);
        }
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
        self.ios_of(Lent::Borrowed(trace), fields)
    }

    /// The same of a trace that is shared, for as long as they are read.
    pub fn shared_ios<R: Read + Seek + Send + 'static>(
        &self,
        trace: &Arc<Trace<R>>,
        fields: Fields,
    ) -> Ios<'static, R> {
        self.ios_of(Lent::Shared(Arc::clone(trace)), fields)
    }

    fn ios_of<'t, R: Read + Seek + Send + 'static>(
        &self,
        trace: Lent<'t, R>,
        fields: Fields,
    ) -> Ios<'t, R> {
        let fields = self.fields(fields);
        let order = IssueOrder::new(trace.clone(), fields).waiting_at_most(self.waiting_max);
        Ios {
            order: match &self.start {
                Some(start) => order.beginning_at(start.group, start.at_ns),
                None => order,
            },
            judge: Judge::of(self, trace.conditions(), fields),
            judged: Judged::default(),
            trace,
            checkpoint: None,
            keeps_checkpoints: false,
        }
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
            return Err(Untold::Processes.into());
        }
        if self.window != WINDOW {
            return Err(Untold::OtherWindow.into());
        }
        let folds = folds.iter_mut().map(|fold| fold.of_sums());
        let mut folds = folds.collect::<Result<Vec<_>, _>>()?;
        let (step_ns, mut account) = (file.step_ns(), PassAccount::default());
        let shift_ns = place.map_or(0, |place| place.shift_ns);
        let lasted_ns = file.conditions().lasted_ns;
        let end_ns = if lasted_ns > 0 { lasted_ns.saturating_add(shift_ns) } else { 0 };
        file.each_group(|mut streams, mut responses| {
            account.events += streams.iter().map(|row| row.ios).sum::<u64>();
            if let Some(place) = place {
                streams.iter_mut().for_each(|row| row.device = place.device(row.device));
                responses.iter_mut().for_each(|part| part.device = place.device(part.device));
            }
            let begin_of =
                |row: &StreamInStep| row.step.saturating_mul(step_ns).saturating_add(shift_ns);
            streams.retain(|row| self.filter.keeps_sum(row, begin_of(row)));
            responses.retain(|part| self.filter.keeps_responses(part));
            let sums = Sums { step_ns, shift_ns, streams: &streams, responses: &responses };
            account.see_sums(&sums, end_ns);
            folds.iter_mut().try_for_each(|fold| fold.take_sums(&sums))
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
    fn tell(&mut self, next: &mut Judged) {
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
        let hash = u64::from(key.bytes) << 4 | (key.op as u64) << 1 | u64::from(key.sequential);
        let place = (hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as usize % LATELY;
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

/// All response times added up: where this sum has room, that of any of them has.
#[derive(Default)]
struct ResponseTimes(u64);

impl ResponseTimes {
    fn see(&mut self, batch: &Batch) -> Result<(), TraceError> {
        let known = (0..batch.len()).map(|row| batch.response_ns(row));
        let mut known = known.filter(|response| *response != RESPONSE_UNKNOWN);
        self.0 = known.try_fold(self.0, u64::checked_add).ok_or_else(|| {
            let what = "impossible response times: more than 584 years in total";
            TraceError::damaged("in column response_ns", what)
        })?;
        Ok(())
    }
}

impl PassAccount {
    fn see(&mut self, batch: &Batch, kept: &[bool]) {
        self.kept += kept.iter().filter(|kept| **kept).count() as u64;
        let first = kept.iter().position(|kept| *kept);
        let last = kept.iter().rposition(|kept| *kept);
        if let (Some(first), Some(last)) = (first, last) {
            self.reach(batch.issued_ns(first), batch.issued_ns(last));
        }
    }

    /// Sums have the time of their steps, the last one as far as the capture lasted.
    fn see_sums(&mut self, sums: &Sums<'_>, lasted_ns: u64) {
        for row in sums.streams {
            let begin = sums.begin_of(row);
            let end = begin.saturating_add(sums.step_ns - 1);
            self.kept += row.ios;
            self.reach(begin, if lasted_ns > begin { end.min(lasted_ns) } else { end });
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
