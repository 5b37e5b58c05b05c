//! One pass over the files of a capture. Single I/Os come in issue order, judged
//! for sequentiality and filtered; what was added up before comes as it was kept.

use crate::batch::Batch;
use crate::error::TraceError;
use crate::file::{Field, Fields, Lent, Trace};
use crate::filter::Filter;
use crate::fold::{Fold, Rows, Sums};
use crate::order::{IssueOrder, OrderAccount, WAITING_MAX};
use crate::place::Place;
use crate::sequence::{Depths, Sequencer, WINDOW};
use crate::step_file::StepFile;
use crate::untold::Untold;
use serde::{Deserialize, Serialize};
use std::io::{Read, Seek};
use std::sync::Arc;
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
}

impl Default for Pass {
    fn default() -> Self {
        Pass { filter: Filter::default(), window: WINDOW, waiting_max: WAITING_MAX }
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

/// The single I/Os of a capture in issue order, batch by batch, with what the
/// filter says of each.
pub struct Ios<'t, R> {
    order: IssueOrder<'t, R>,
    sequencer: Sequencer,
    filter: Filter,
    batch: Batch,
    kept: Vec<bool>,
    times: ResponseTimes,
    /// Where the capture stands among others, where several are read together.
    place: Option<Place>,
    is_over: bool,
    account: PassAccount,
}

impl<R: Read + Seek + Send + 'static> Ios<'_, R> {
    /// The next batch; [`Rows::iter`] gives the rows that pass. `None` when no more
    /// can pass.
    ///
    /// # Errors
    /// Where the trace cannot be read.
    pub fn next_rows(&mut self) -> Result<Option<Rows<'_>>, TraceError> {
        if self.is_over || !self.order.next_batch(&mut self.batch)? {
            return Ok(None);
        }
        self.account.events += self.batch.len() as u64;
        self.times.see(&self.batch)?;
        if let Some(place) = &self.place {
            self.batch.place(place);
        }
        self.sequencer.follow(&self.batch);
        self.filter.mark(&self.batch, &self.sequencer.sequential, &mut self.kept);
        self.account.see(&self.batch, &self.kept);
        self.is_over = self.filter.is_over(self.batch.issued_ns(0));
        Ok(Some(Rows {
            batch: &self.batch,
            sequential: &self.sequencer.sequential,
            depth: &self.sequencer.depth,
            busy: &self.sequencer.busy,
            kept: &self.kept,
        }))
    }

    /// What was seen so far.
    pub fn account(&self) -> PassAccount {
        let (order, depths_counted) = (self.order.account(), self.sequencer.depths_counted);
        PassAccount { order, depths_counted, ..self.account }
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
        let fields = OWN.and(self.filter.fields()).and(fields);
        Ios {
            sequencer: Sequencer::new(self.window).with(Depths::of(trace.conditions())),
            order: IssueOrder::new(trace, fields).waiting_at_most(self.waiting_max),
            filter: self.filter.clone(),
            batch: Batch::default(),
            kept: Vec::new(),
            times: ResponseTimes::default(),
            place: None,
            is_over: false,
            account: PassAccount::default(),
        }
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
        let fields = folds.iter().fold(Fields::NONE, |fields, fold| fields.and(fold.fields()));
        Self::fold_all(self.ios(trace, fields), folds)
    }

    /// The same of a capture that is read together with others.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub(crate) fn run_placed<R: Read + Seek + Send + 'static>(
        &self,
        trace: &Trace<R>,
        place: &Place,
        folds: &mut [&mut dyn Fold],
    ) -> Result<PassAccount, TraceError> {
        let fields = folds.iter().fold(Fields::NONE, |fields, fold| fields.and(fold.fields()));
        let ios = self.ios_of(Lent::Borrowed(trace), fields);
        Self::fold_all(Ios { place: Some(place.clone()), ..ios }, folds)
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
