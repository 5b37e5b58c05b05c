//! A [`IoSelection`]: the I/Os of a capture that a question is about. It is answered from the cells
//! of the index if these suffice, otherwise from the I/Os themselves.

use crate::capture::ExploredCapture;
use crate::cells::{CellsFold, TimeCells};
use crate::http_error::{HttpError, HttpResult};
use crate::index::{CELLS_ENOUGH, IOS_READ_MAX, Index};
use crate::maps::ColumnAxis;
use crate::pair_numbers::{Breakdowns, PairFilter};
use crate::query::{QueryString, default_layer, filter, window};
use crate::row_cache::{CachedRows, IOS_MAX, RowCollector};
use std::ops::Range;
use std::sync::Arc;
use steadfast_analysis::device_layer::device_name;
use steadfast_analysis::filter::ProcessSelector;
use steadfast_analysis::{Captured, Filter, Fold, PassOptions};
use steadfast_domain::Layer;
use steadfast_domain::text::excerpt;
use steadfast_tracefile::observed_time::ObservedTime;

/// The I/Os that a question is about.
pub struct IoSelection<'c> {
    /// Capture of the I/Os.
    pub capture: &'c ExploredCapture,
    /// Index of the capture.
    pub index: Arc<Index>,
    /// Time window, in nanoseconds.
    pub window_ns: (u64, u64),
    /// Filter, except for the time.
    pub filter: Filter,
}

impl<'c> IoSelection<'c> {
    /// Returns the selection of a query.
    ///
    /// # Errors
    /// Returns an [`HttpError`] with status 400 if the query is invalid, and the errors of
    /// [`ExploredCapture::index`] if there is no index.
    pub fn from_query(capture: &'c ExploredCapture, query: &QueryString) -> HttpResult<Self> {
        let index = capture.index()?;
        let window_ns = window(query, (index.begin_ns, index.end_ns))?;
        let window_ns = match index.step_ns {
            Some(step_ns) => whole_steps(window_ns, step_ns, index.end_ns),
            None => window_ns,
        };
        let filter = filter(query, capture.conditions())?;
        let selection = IoSelection { capture, index, window_ns, filter };
        selection.check_process()?;
        Ok(selection)
    }

    /// Rejects a process that the capture does not have, as far as the index lists all of them.
    fn check_process(&self) -> HttpResult<()> {
        let processes = &self.index.cells.shares.processes;
        let is_complete = processes.sums.get(processes.keys.len()).is_none_or(|rest| rest.ios == 0);
        let is_listed = |process: &ProcessSelector| {
            processes.keys.iter().any(|key| process.selects(key.pid, key.command))
        };
        match &self.filter.process {
            Some(process)
                if is_complete
                    && self.filter.layer == self.default_filter().layer
                    && self.capture.lacks_processes().is_none()
                    && !is_listed(process) =>
            {
                let name = match process {
                    ProcessSelector::Pid(pid) => pid.to_string(),
                    ProcessSelector::Command(name) => excerpt(name).into_owned(),
                };
                Err(HttpError::bad(format!("the capture has no process '{name}'; see api/meta")))
            }
            _ => Ok(()),
        }
    }

    /// Returns whether the selection has all I/Os of the window that the index counts.
    pub fn is_unfiltered(&self) -> bool {
        self.filter == self.default_filter()
    }

    /// Returns whether the window covers the whole capture.
    pub fn is_whole(&self) -> bool {
        let (from, to) = self.window_ns;
        from <= self.index.begin_ns && to >= self.index.end_ns
    }

    /// Returns whether the resolution of the index suffices for the window: the window covers the
    /// whole capture, has many cells or more I/Os than can be read quickly, or the cells are the
    /// capture steps.
    pub fn index_suffices(&self) -> bool {
        self.is_whole()
            || self.cells().len() as u64 > CELLS_ENOUGH
            || self.has_many_ios()
            || self.index.step_ns == Some(self.index.cells.width_ns)
    }

    /// Returns whether reading the I/Os of the window takes long, with or without a filter.
    pub fn is_slow_to_read(&self) -> bool {
        self.is_whole() || self.has_many_ios()
    }

    /// Returns the filter if it is by operations, streams or processes only.
    pub fn pair_filter(&self) -> Option<PairFilter<'_>> {
        let passing = PairFilter::new(&self.filter, &self.default_filter())?;
        (!self.is_unfiltered()).then_some(passing)
    }

    /// Returns the part of the window in which selected I/Os can lie, as far as the index shows.
    pub fn span_of_passing(&self) -> (u64, u64) {
        let (by_pair, (from, to)) = (&self.index.by_pair, self.window_ns);
        match self.pair_filter().filter(|_| by_pair.width_ns().is_some()) {
            Some(passing) => by_pair.span_of((from, to), passing).unwrap_or((from, from)),
            None => (from, to),
        }
    }

    /// Returns the same I/Os with another filter.
    pub fn with_filter(&self, filter: Filter) -> Self {
        IoSelection { filter, index: Arc::clone(&self.index), ..*self }
    }

    fn default_filter(&self) -> Filter {
        Filter { layer: default_layer(self.capture.conditions()), ..Filter::default() }
    }

    /// Returns whether the window has more I/Os than can be read quickly.
    pub fn has_many_ios(&self) -> bool {
        self.ios_of_window() > IOS_READ_MAX
    }

    /// Returns the I/Os in the cells that the window touches, whatever the filter.
    pub fn ios_of_window(&self) -> u64 {
        self.index.cells.ios_in(self.cells())
    }

    /// Returns the cells of the index that the window touches.
    fn cells(&self) -> Range<usize> {
        let ((from, to), width_ns) = (self.window_ns, self.index.cells.width_ns);
        (from / width_ns) as usize..to.div_ceil(width_ns) as usize
    }

    /// Returns a pass over a part of the time, with the filter.
    pub fn pass(&self, window_ns: (u64, u64)) -> PassOptions {
        let filter = self.filter.clone().within(&[window_ns]);
        let start = self.index.segments.before(window_ns.0).start.clone();
        PassOptions { filter, start: start.map(Arc::new), ..PassOptions::default() }
    }

    /// Returns the I/Os of the capture.
    ///
    /// # Errors
    /// Returns an [`HttpError`] with status 409 if a file changed.
    pub fn captured(&self) -> HttpResult<&'c Captured> {
        self.capture.captured()
    }

    /// Folds the I/Os of a part of the time. They come from the cache of recent I/Os, or are read
    /// by all threads.
    ///
    /// # Errors
    /// Returns an [`HttpError`] if the I/Os cannot be read or the fold is out of room.
    pub fn fold(&self, window_ns: (u64, u64), fold: &mut dyn Fold) -> HttpResult<()> {
        let pass = self.pass(window_ns);
        let captured = self.captured()?;
        match self.cached_rows(window_ns, &pass)? {
            Some(rows) => rows.each(&pass.filter, |rows| fold.take(rows))?,
            None => drop(captured.run(&pass, &mut [fold])?),
        }
        Ok(())
    }

    /// Returns the I/Os of a part of the time from the cache, after reading them if necessary;
    /// `None` if there are too many to keep.
    fn cached_rows(
        &self,
        window_ns: (u64, u64),
        pass: &PassOptions,
    ) -> HttpResult<Option<Arc<CachedRows>>> {
        if self.index.step_ns.is_some() {
            return Ok(None);
        }
        let default_filter = self.default_filter();
        // The lock is held while reading, so that an equal concurrent question waits instead of
        // reading the I/Os again.
        let mut recent = self.capture.recent_rows();
        if let Some(found) = recent.find(window_ns, &self.filter, &default_filter) {
            return Ok(Some(found));
        }
        if self.are_too_many(window_ns) || recent.are_too_many(window_ns, &self.filter) {
            return Ok(None);
        }
        let mut collector = RowCollector::default();
        // The checkpoints restore the order of the I/Os that several threads found.
        let pass = PassOptions { checkpoint_every: Some(1), ..pass.clone() };
        let outcome = self.captured()?.run(&pass, &mut [&mut collector]);
        let rows = collector.finish(outcome, window_ns, self.filter.clone())?.map(Arc::new);
        match &rows {
            Some(rows) => recent.insert(Arc::clone(rows)),
            None => recent.add_too_many(window_ns, self.filter.clone()),
        }
        Ok(rows)
    }

    /// Returns whether the index already shows that there are too many I/Os to keep. It does so
    /// only for an unfiltered selection.
    fn are_too_many(&self, (from, to): (u64, u64)) -> bool {
        let cells = &self.index.cells;
        let inner = from.div_ceil(cells.width_ns) as usize..(to / cells.width_ns) as usize;
        self.is_unfiltered() && cells.ios_in(inner) > IOS_MAX as u64
    }

    /// Divides the window into at most `columns` columns, which may be narrower than the cells of
    /// the index, but not than the capture steps.
    pub fn axis(&self, columns: u64) -> ColumnAxis {
        let narrowest_ns = self.index.step_ns.unwrap_or(1);
        axis(self.window_ns, columns, self.index.cells.width_ns, narrowest_ns)
    }

    /// Returns the cells of the window, from the index or from the I/Os themselves.
    ///
    /// # Errors
    /// Returns an [`HttpError`] if the I/Os cannot be read.
    pub fn cell_window(&self, columns: u64, by: Breakdowns) -> HttpResult<CellWindow> {
        let base_ns = self.index.cells.width_ns;
        if self.is_unfiltered() && self.index_suffices() {
            let axis = axis(self.window_ns, columns, base_ns, base_ns);
            let wide = (axis.width_ns / base_ns) as usize;
            let source = WindowCells::Index(Arc::clone(&self.index));
            return Ok(CellWindow { source, cells: self.cells(), wide, axis });
        }
        if let Some(window) = self.cell_window_by_pairs(columns, by) {
            return Ok(window);
        }
        let axis = self.axis(columns);
        let mut fold = CellsFold::new(axis, by);
        self.fold(self.window_ns, &mut fold)?;
        Ok(CellWindow {
            source: WindowCells::Ios(Box::new(fold.finish())),
            cells: 0..axis.columns,
            wide: 1,
            axis,
        })
    }

    /// Returns the observed time within the window and the filter. If the index answered, the
    /// window is extended to whole cells.
    ///
    /// # Errors
    /// Returns an [`HttpError`] with status 409 if a file changed.
    pub fn observed(&self, window: &CellWindow) -> HttpResult<ObservedTime> {
        let observed = self.captured()?.observed(&self.filter);
        let (from, to) = self.window_ns;
        if self.is_whole() {
            return Ok(observed);
        }
        let cell_ns = if window.is_of_index() { window.all().width_ns.max(1) } else { 1 };
        let from = from / cell_ns * cell_ns;
        let to = to.div_ceil(cell_ns).saturating_mul(cell_ns);
        Ok(observed.within(&[(from, to)]))
    }

    /// Returns the window in columns of the index by pair, if these suffice for the filter.
    fn cell_window_by_pairs(&self, columns: u64, by: Breakdowns) -> Option<CellWindow> {
        let by_pair = &self.index.by_pair;
        let width_ns = by_pair.width_ns()?;
        let is_enough = self.is_slow_to_read() || self.index.step_ns == Some(width_ns);
        let passing = self.pair_filter().filter(|_| is_enough)?;
        let axis = axis(self.window_ns, columns, width_ns, width_ns);
        let (from, to) = self.window_ns;
        let cells = (from / width_ns) as usize..to.div_ceil(width_ns) as usize;
        let source = WindowCells::Pairs(Box::new(by_pair.cells(self.window_ns, passing, by)));
        Some(CellWindow { source, cells, wide: (axis.width_ns / width_ns) as usize, axis })
    }

    /// Rejects a question about addresses that would overlay those of several devices.
    ///
    /// # Errors
    /// Returns an [`HttpError`] with status 400 if the selection has more than one block device.
    pub fn check_one_device(&self) -> HttpResult<()> {
        let filter = &self.filter.devices;
        let sides = self.index.sides.iter().filter(|side| side.layer == Layer::Block);
        let devices: Vec<u16> = sides
            .map(|side| side.device)
            .filter(|device| filter.is_empty() || filter.contains(device))
            .collect();
        if devices.len() < 2 {
            return Ok(());
        }
        let conditions = self.capture.conditions();
        let names = devices.iter().map(|device| device_name(conditions, *device));
        Err(HttpError::bad(format!(
            "addresses of several devices do not fit into one map; choose one with 'device': {}",
            names.collect::<Vec<_>>().join(", ")
        )))
    }

    /// Returns the number of devices (at a layer) with an I/O issued or outstanding in the window, by
    /// whose time busy time is divided; `None` if the busy time of the selection has no meaning.
    pub fn devices(&self, window: &CellWindow) -> Option<u64> {
        if !self.filter.keeps_whole_devices() || !self.capture.knows_busy_time() {
            return None;
        }
        let devices = window.all().devices_in(window.cells.clone());
        devices.filter(|devices| *devices > 0)
    }
}

enum WindowCells {
    Index(Arc<Index>),
    /// Cells that the index keeps by stream and process.
    Pairs(Box<TimeCells>),
    Ios(Box<TimeCells>),
}

/// The cells of a window.
pub struct CellWindow {
    source: WindowCells,
    /// Range of the cells that belong to the window.
    pub cells: Range<usize>,
    /// Number of cells per column.
    pub wide: usize,
    /// The columns.
    pub axis: ColumnAxis,
}

impl CellWindow {
    /// Returns all cells, including those outside [`Self::cells`].
    pub fn all(&self) -> &TimeCells {
        match &self.source {
            WindowCells::Index(index) => &index.cells,
            WindowCells::Pairs(cells) | WindowCells::Ios(cells) => cells,
        }
    }

    /// Returns whether the cells come from the index.
    pub fn is_of_index(&self) -> bool {
        !matches!(self.source, WindowCells::Ios(_))
    }
}

/// Returns the smallest window of whole steps that contains a window.
fn whole_steps((from, to): (u64, u64), step_ns: u64, end_ns: u64) -> (u64, u64) {
    (from / step_ns * step_ns, to.div_ceil(step_ns).saturating_mul(step_ns).min(end_ns))
}

/// Divides a window into at most `columns` columns. Their width is a multiple of `base_ns`, or a
/// half, quarter and so on of it that is no less than `narrowest_ns`, and they begin at a multiple
/// of their width.
pub fn axis(window_ns: (u64, u64), columns: u64, base_ns: u64, narrowest_ns: u64) -> ColumnAxis {
    let (from, to) = (window_ns.0, window_ns.1.max(window_ns.0 + 1));
    let least_ns = (to - from).div_ceil(columns.max(1)).max(1);
    let mut width_ns = base_ns.max(1);
    while width_ns.is_multiple_of(2) && width_ns / 2 >= least_ns.max(narrowest_ns) {
        width_ns /= 2;
    }
    let count = |width: u64| (to - 1) / width - from / width + 1;
    let mut multiple = least_ns.div_ceil(width_ns).max(1);
    while count(width_ns.saturating_mul(multiple)) > columns.max(1) {
        multiple += 1;
    }
    let width_ns = width_ns.saturating_mul(multiple);
    ColumnAxis { width_ns, first: from / width_ns, columns: count(width_ns) as usize }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_begin_at_multiples_of_their_width_and_are_few_enough() {
        let of = |window, columns, narrower| {
            let axis = axis(window, columns, 100_000, if narrower { 1 } else { 100_000 });
            (axis.width_ns, axis.first, axis.columns)
        };
        assert_eq!(of((0, 1_000_000), 10, false), (100_000, 0, 10));
        assert_eq!(of((0, 1_000_000), 9, false), (200_000, 0, 5));
        // One more column if the window is not aligned.
        assert_eq!(of((50_000, 1_050_000), 10, false), (200_000, 0, 6));
        assert_eq!(of((250_000, 300_000), 10, false), (100_000, 2, 1));
        assert_eq!(of((250_000, 300_000), 10, true), (6250, 40, 8));
        assert_eq!(of((250_000, 250_010), 10, true), (3125, 80, 1));
        assert_eq!(of((0, u64::MAX), 1, false).2, 1);
        // Columns of sums are no narrower than their steps, and windows consist of these.
        let of_steps = axis((1_000_000, 2_000_000), 1000, 400_000, 100_000);
        assert_eq!((of_steps.width_ns, of_steps.first, of_steps.columns), (100_000, 10, 10));
        assert_eq!(whole_steps((150, 301), 100, 1000), (100, 400));
        assert_eq!(whole_steps((900, 1000), 300, 1000), (900, 1000));
    }
}
