//! Captures of which only sums were kept: the cube files of `capture --totals-every`, or one
//! capture in a fold file.

use super::file::{FoldOptions, Member};
use crate::annotate::sequential::WINDOW;
use crate::cells::{BusyInStep, CubeCell, Dimensions, FilteredCells, Times};
use crate::filter::Filter;
use crate::fold::Fold;
use crate::pass::{PassAccount, PassOptions};
use steadfast_domain::CaptureConditions;
use steadfast_tracefile::cube_file::{CubeFile, CubeRows};
use steadfast_tracefile::error::TraceError;
use steadfast_tracefile::merge_mapping::MergeMapping;
use steadfast_tracefile::not_recorded::NotRecorded;
use steadfast_tracefile::observed_time::{ObservedTime, StepGrid};
use steadfast_tracefile::parquet::parts::{
    PartFile, in_order, join_conditions, merge_recoveries, no_trace_named,
};
use steadfast_tracefile::parquet::{
    Damage, Footer, Integrity, Recovery, RowGroupExtent, SharedMedium,
};

/// A capture with sums in place of its single I/Os.
pub(crate) struct SummedCapture {
    files: Vec<CubeFile>,
    pub(crate) conditions: CaptureConditions,
    start: Option<CaptureConditions>,
    /// Row groups that were recovered and bytes that were ignored because the writer was killed; `None`
    /// if the file is complete.
    pub(super) recovery: Option<Recovery>,
    /// The known damage and missing parts.
    pub(super) integrity: Integrity,
    /// Width of a step, in nanoseconds.
    pub(super) step_ns: u64,
    /// The observed time; for a file of a rotated capture, that of this file, and for a fold of a
    /// part of the time, only that part.
    pub(super) observed: ObservedTime,
    /// Description of a capture in a fold file; `None` for captured steps.
    folded: Option<FoldedCapture>,
}

struct FoldedCapture {
    options: FoldOptions,
    account: PassAccount,
    filter: Option<String>,
    files: usize,
}

impl SummedCapture {
    /// Opens a file of captured steps by its footer or its recovery blocks. Damaged row groups are
    /// left out, as `integrity` reports.
    pub(crate) fn from_steps(source: SharedMedium, found: Footer) -> Result<Self, TraceError> {
        let Footer { groups, conditions, start, recovery, mut damaged, .. } = found;
        let file = CubeFile::new(source, groups, conditions.as_ref(), &mut damaged)?;
        let conditions = conditions.unwrap_or_default();
        let checksums = file.has_checksums();
        let integrity = Integrity { checksums, damaged, ..Integrity::default() };
        let step_ns = file.step_ns();
        let last_ns = if conditions.lasted_ns == 0 { end_of_steps(&file)? } else { 0 };
        let observed = ObservedTime::from_file(start.as_ref(), &conditions, last_ns);
        Ok(SummedCapture {
            files: vec![file],
            conditions,
            start,
            recovery,
            integrity,
            step_ns,
            observed,
            folded: None,
        })
    }

    /// Opens one capture of a fold file, which was made with these options.
    pub(crate) fn from_fold(options: &FoldOptions, member: &Member, file: CubeFile) -> Self {
        let lasted_ns = member.lasted_ns();
        let spans_ns = member.spans_ns.clone().unwrap_or_else(|| vec![(0, lasted_ns)]);
        SummedCapture {
            files: vec![file],
            conditions: member.conditions.clone(),
            start: None,
            recovery: member.recovery.clone(),
            integrity: member.integrity.clone(),
            step_ns: options.step_ns,
            observed: ObservedTime::new(spans_ns),
            folded: Some(FoldedCapture {
                options: options.clone(),
                account: member.account,
                filter: member.filter.clone(),
                files: member.files.len(),
            }),
        }
    }

    /// Combines the files of one capture, given in any order.
    ///
    /// # Errors
    /// Returns [`TraceError::Unsuitable`] if `parts` is empty, the files belong to different
    /// captures, or a part occurs twice.
    pub fn together(parts: Vec<Self>) -> Result<Self, TraceError> {
        let (parts, missing) = in_order(parts)?;
        let mut whole = parts.into_iter().reduce(Self::followed_by).ok_or_else(no_trace_named)?;
        whole.integrity.missing_parts = missing;
        Ok(whole)
    }

    /// Appends the file that follows.
    fn followed_by(mut self, next: Self) -> Self {
        let before = self.files.len();
        let damaged = next.integrity.damaged.into_iter();
        let damaged = damaged.map(|damage| Damage { file: damage.file + before, ..damage });
        self.integrity.damaged.extend(damaged);
        self.integrity.checksums &= next.integrity.checksums;
        self.files.extend(next.files);
        self.observed = self.observed.and(&next.observed);
        self.conditions = join_conditions(&self.conditions, next.conditions);
        self.recovery = merge_recoveries(self.recovery, next.recovery);
        self
    }

    /// Returns the known duration of the capture, in nanoseconds.
    pub fn lasted_ns(&self) -> u64 {
        let reached = match &self.folded {
            Some(folded) => folded.account.span_ns.map(|(_, last)| last.saturating_add(1)),
            None => self.observed.end_ns(),
        };
        self.conditions.lasted_ns.max(reached.unwrap_or(0))
    }

    /// Returns the number of files of the capture.
    pub fn files(&self) -> usize {
        match &self.folded {
            Some(folded) => folded.files,
            None => self.files.len(),
        }
    }

    /// Returns the filter by which I/Os were folded, in words; `None` if there was none.
    pub fn filter(&self) -> Option<&String> {
        self.folded.as_ref().and_then(|folded| folded.filter.as_ref())
    }

    /// Returns the beginning of the first step, in nanoseconds before the capture began. The steps
    /// of a fold lie on the grid of the clock.
    fn phase_ns(&self) -> u64 {
        let began = self.conditions.began_unix_ns.unwrap_or(0);
        if self.folded.is_some() { began % self.step_ns } else { 0 }
    }

    /// Returns the grid of the steps on an axis that begins `shift_ns` before the capture.
    pub fn step_grid(&self, shift_ns: u64) -> StepGrid {
        let step_ns = self.step_ns;
        // Adding a step width keeps the grid and avoids a negative origin.
        let origin_ns = shift_ns.saturating_add(step_ns).saturating_sub(self.phase_ns()) % step_ns;
        StepGrid { step_ns, origin_ns }
    }

    fn dimensions(&self) -> Dimensions {
        let ranges = self.conditions.lba_ranges.is_some();
        let captured = Dimensions { processes: true, ranges, ..Dimensions::default() };
        self.folded.as_ref().map_or(captured, |folded| folded.options.dimensions())
    }

    /// Checks that the sums can report something that needs single I/Os.
    ///
    /// # Errors
    /// Returns [`TraceError::NotRecorded`] or, for a fold, [`TraceError::Unsuitable`] if not.
    pub fn check_recorded(&self, what: NotRecorded) -> Result<(), TraceError> {
        match (&self.folded, what) {
            (None, NotRecorded::Processes) | (Some(_), NotRecorded::QueueTimes) => Ok(()),
            (None, NotRecorded::BusyTime) if self.conditions.busy_time => Ok(()),
            (None, NotRecorded::HitMaps) if self.conditions.lba_ranges.is_some() => Ok(()),
            // Filtered I/Os kept devices busy too, so a filtered fold does not know busy time.
            (Some(folded), NotRecorded::BusyTime) if folded.filter.is_none() => Ok(()),
            (Some(folded), NotRecorded::Processes) => {
                let processes = Dimensions { processes: true, ..Dimensions::default() };
                folded.options.dimensions().check(processes)
            }
            _ => Err(self.refusal(what)),
        }
    }

    fn refusal(&self, what: NotRecorded) -> TraceError {
        match (&self.folded, what) {
            (None, _) => what.into(),
            (_, NotRecorded::Processes) => Dimensions::without("processes (--no-processes)"),
            _ => TraceError::Unsuitable(format!(
                "a fold file holds sums, no single I/Os, so it cannot report {what}; name the \
                 trace files instead"
            )),
        }
    }

    fn check(&self, pass: &PassOptions) -> Result<(), TraceError> {
        let Some(folded) = &self.folded else {
            return if pass.filter.needs_single_ios() {
                self.dimensions().check(pass.filter.dimensions())
            } else if pass.window != WINDOW {
                Err(NotRecorded::OtherWindow.into())
            } else {
                Ok(())
            };
        };
        let own = folded.options.window;
        if pass.window != own {
            return Err(TraceError::Unsuitable(format!(
                "a fold file cannot decide RND and SEQ again: give --window {own}, with which this \
                 one was made, or name the trace files instead"
            )));
        }
        folded.options.dimensions().check(pass.filter.dimensions())
    }

    fn row_groups(&self) -> impl Iterator<Item = (&CubeFile, usize)> + '_ {
        self.files.iter().flat_map(|file| (0..file.groups()).map(move |number| (file, number)))
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = Result<CubeRows, TraceError>> + '_ {
        self.row_groups().map(|(file, number)| file.read(number))
    }

    /// Returns the number of I/Os in all row groups, as far as the files record it.
    pub(crate) fn ios(&self) -> u64 {
        let extents = self.row_groups().filter_map(|(file, number)| file.extent(number));
        extents.fold(0, |sum: u64, extent| sum.saturating_add(extent.ios))
    }

    /// Returns false if no step of a row group of captured steps passes a filter's times.
    fn reaches(&self, filter: &Filter, extent: &RowGroupExtent) -> bool {
        let first_ns = self.observed.first_ns().unwrap_or(0);
        let (from, to) = (extent.span_ns.0.max(first_ns), extent.span_ns.1.max(first_ns));
        let passes = |span: &(u64, u64)| span.0 <= to && from < span.1;
        filter.spans_ns.is_empty() || filter.spans_ns.iter().any(passes)
    }

    /// Reads the sums once and passes them to all folds, placed among other captures if `mapping` is
    /// set. `totals` are those of all captures so far.
    pub(crate) fn run(
        &self,
        pass: &PassOptions,
        mapping: Option<&MergeMapping>,
        folds: &mut [&mut dyn Fold],
        totals: &mut CellTotals,
    ) -> Result<PassAccount, TraceError> {
        self.check(pass)?;
        let (dimensions, step_ns) = (self.dimensions(), self.step_ns);
        let checked = folds.iter().try_for_each(|fold| fold.check_dimensions(dimensions));
        checked.map_err(|what| self.refusal(what))?;
        let shift_ns = mapping.map_or(0, |mapping| mapping.shift_ns);
        let observed = self.observed.shifted(shift_ns);
        let first_ns = observed.first_ns().unwrap_or(0);
        let mut account = match &self.folded {
            Some(folded) => PassAccount { kept: 0, span_ns: None, ..folded.account },
            None => PassAccount::default(),
        };
        for (file, number) in self.row_groups() {
            if mapping.is_none()
                && let Some(extent) = file.extent(number)
                && !self.reaches(&pass.filter, &extent)
            {
                account.events = account.events.saturating_add(extent.ios);
                continue;
            }
            let CubeRows { mut cells, mut busy, mut ranges } = file.read(number)?;
            for cell in &mut cells {
                self.move_cell(cell, mapping, &observed)?;
                totals.add(cell)?;
            }
            for part in &mut busy {
                part.begin_ns = self.begin_on_axis(part.begin_ns, shift_ns)?;
                part.device = mapping.map_or(part.device, |mapping| mapping.device(part.device));
                totals.check_busy(part)?;
            }
            for hits in &mut ranges {
                hits.begin_ns = self.begin_on_axis(hits.begin_ns, shift_ns)?;
                hits.device = mapping.map_or(hits.device, |mapping| mapping.device(hits.device));
            }
            if self.folded.is_none() {
                account.events += cells.iter().map(|cell| cell.ios).sum::<u64>();
            }
            cells.retain(|cell| pass.filter.keeps_cell(cell, first_ns));
            busy.retain(|part| pass.filter.keeps_busy(part, first_ns));
            ranges.retain_mut(|hits| pass.filter.restrict_range(hits, first_ns));
            for cell in &cells {
                account.kept = account.kept.saturating_add(cell.ios);
                account.extend_span(cell.span_ns.0, cell.span_ns.1);
            }
            let cells =
                FilteredCells { step_ns, dimensions, cells: &cells, busy: &busy, ranges: &ranges };
            folds.iter_mut().try_for_each(|fold| fold.take_cells(&cells))?;
        }
        Ok(account)
    }

    /// Returns the beginning of a step on an axis that begins `shift_ns` before the capture. The
    /// steps of a fold are counted from the origin of the clock.
    fn begin_on_axis(&self, begin_ns: u64, shift_ns: u64) -> Result<u64, TraceError> {
        let phase_ns = self.phase_ns();
        let began_ns = match self.folded {
            Some(_) => self.conditions.began_unix_ns.unwrap_or(0),
            None => 0,
        };
        let since = begin_ns.checked_sub(began_ns - phase_ns).ok_or_else(impossible)?;
        Ok(since.saturating_add(shift_ns.saturating_sub(phase_ns)))
    }

    /// Moves a cell to the common axis, devices and cgroups of `mapping`.
    fn move_cell(
        &self,
        cell: &mut CubeCell,
        mapping: Option<&MergeMapping>,
        observed: &ObservedTime,
    ) -> Result<(), TraceError> {
        let begin_ns =
            self.begin_on_axis(cell.begin_ns, mapping.map_or(0, |mapping| mapping.shift_ns))?;
        let (first, last) = cell.span_ns;
        let since_step = |at: u64| begin_ns.saturating_add(at - cell.begin_ns.min(at));
        cell.span_ns = (since_step(first), since_step(last));
        cell.begin_ns = begin_ns;
        if self.folded.is_none() {
            // The first and the last step count only for as long as the capture was observed.
            let (first_ns, last_ns) = (observed.first_ns().unwrap_or(0), cell.span_ns.1);
            let end_ns = observed.end_ns().filter(|end| *end > begin_ns).unwrap_or(last_ns);
            cell.span_ns = (begin_ns.max(first_ns.min(last_ns)), last_ns.min(end_ns));
        }
        if let Some(mapping) = mapping {
            cell.device = mapping.device(cell.device);
            cell.who.cgroup = mapping.cgroup(cell.who.cgroup);
        }
        Ok(())
    }
}

impl PartFile for SummedCapture {
    fn conditions(&self) -> &CaptureConditions {
        &self.conditions
    }
    fn start(&self) -> Option<&CaptureConditions> {
        self.start.as_ref()
    }
}

/// Returns the end of the last step, for a file that does not record how long the capture lasted.
fn end_of_steps(file: &CubeFile) -> Result<u64, TraceError> {
    let mut end = 0;
    for number in 0..file.groups() {
        let ends = file.read(number)?.cells.into_iter().map(|cell| cell.begin_ns + file.step_ns());
        end = ends.fold(end, u64::max);
    }
    Ok(end)
}

/// Totals over all cells. If they fit into 64 bits, so does every sum over some of the cells. No
/// capture comes close to the limit, but a crafted file may exceed it.
#[derive(Default)]
pub(crate) struct CellTotals([u64; 11]);

impl CellTotals {
    fn add(&mut self, cell: &CubeCell) -> Result<(), TraceError> {
        let counted = |times: &Times| {
            times.buckets.iter().try_fold(0u64, |sum, (_, count)| sum.checked_add(*count))
        };
        let bytes = cell.ios.checked_mul(u64::from(cell.bytes));
        let responses = counted(&cell.responses).map(|count| count.max(cell.responses.total.count));
        let queued = counted(&cell.queued).map(|count| count.max(cell.queued.total.count));
        let flagged = cell.flags.iter().copied().max();
        let of_cell = [
            cell.ios.checked_add(cell.beyond),
            bytes,
            responses,
            queued,
            Some(cell.responses.total.sum_ns),
            Some(cell.queued.total.sum_ns),
            cell.depths.sum.checked_add(cell.depths.count),
            flagged,
            Some(cell.merged),
            Some(cell.contents.blocks.max(cell.contents.duplicates)),
            Some(cell.contents.bytes.max(cell.contents.compressed_bytes)),
        ];
        for (sum, value) in self.0.iter_mut().zip(of_cell) {
            let value = value.ok_or_else(impossible)?;
            *sum = sum.checked_add(value).ok_or_else(impossible)?;
        }
        Ok(())
    }

    /// Checks the busy time of a step, which has at most an hour.
    fn check_busy(&self, busy: &BusyInStep) -> Result<(), TraceError> {
        let most = u64::MAX >> 22; // 73 minutes
        if busy.busy_ns > most { Err(impossible()) } else { Ok(()) }
    }
}

fn impossible() -> TraceError {
    TraceError::damaged("in its rows", "impossible counts or times")
}
