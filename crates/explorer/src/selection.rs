//! A [`Selection`]: which I/Os of a capture a question is about, and how they are
//! gone over: the cells of the index where these do, the I/Os themselves where not.

use crate::capture::Capture;
use crate::cells::{Cells, CellsFold, CellsWanted};
use crate::index::{CELLS_ENOUGH, Index};
use crate::maps::Axis;
use crate::query::{Query, filter, usual_layer, window};
use crate::refusal::Refusal;
use std::fs::File;
use std::ops::Range;
use std::sync::Arc;
use steadfast_trace::{Captured, Fields, Filter, Pass, Rows};

/// Which I/Os.
pub struct Selection<'c> {
    /// Of which capture.
    pub capture: &'c Capture,
    /// Its index.
    pub index: Arc<Index>,
    /// From when to when.
    pub window_ns: (u64, u64),
    /// Whose, whatever the time.
    pub filter: Filter,
}

impl<'c> Selection<'c> {
    /// What a query asks of a capture.
    ///
    /// # Errors
    /// Where the query means nothing, or the index is not there.
    pub fn of(capture: &'c Capture, query: &Query) -> Result<Self, Refusal> {
        let index = capture.index()?;
        let window_ns = window(query, index.end_ns)?;
        let filter = filter(query, capture.conditions())?;
        Ok(Selection { capture, index, window_ns, filter })
    }

    /// Whether all I/Os of the window count that the index counts.
    pub fn is_unfiltered(&self) -> bool {
        let layer = usual_layer(self.capture.conditions());
        self.filter == Filter { layer, ..Filter::default() }
    }

    /// Whether the index tells enough of the window.
    pub fn is_wide(&self) -> bool {
        let (from, to) = self.window_ns;
        let is_whole = from == 0 && to >= self.index.end_ns;
        is_whole || (to - from) / self.index.cells.width_ns >= CELLS_ENOUGH
    }

    /// How a pass goes over a part of the time, with the filter.
    pub fn pass(&self, window_ns: (u64, u64)) -> Pass {
        let stretch = &self.index.stretches[self.index.stretch_before(window_ns.0)];
        let filter = self.filter.clone().within(&[window_ns]);
        Pass { filter, start: stretch.start.clone().map(Arc::new), ..Pass::default() }
    }

    /// Its I/Os, unless a file changed.
    ///
    /// # Errors
    /// Where one did.
    pub fn captured(&self) -> Result<&'c Captured<File>, Refusal> {
        self.capture.captured()
    }

    /// Goes over the I/Os of the window in issue order.
    ///
    /// # Errors
    /// Where they cannot be read.
    pub fn each(
        &self,
        fields: Fields,
        mut take: impl FnMut(&Rows<'_>, usize),
    ) -> Result<(), Refusal> {
        let mut ios = self.captured()?.ios(&self.pass(self.window_ns), fields)?;
        while let Some(rows) = ios.next_rows()? {
            rows.iter().for_each(|row| take(&rows, row));
        }
        Ok(())
    }

    /// The window as at most `columns` columns, each a multiple or a half, quarter, ...
    /// of `base_ns`, beginning at a multiple of its width.
    pub fn axis(&self, columns: u64, base_ns: u64, may_be_narrower: bool) -> Axis {
        axis(self.window_ns, columns, base_ns, may_be_narrower)
    }

    /// The window in cells: of the index, or of the I/Os themselves.
    ///
    /// # Errors
    /// Where they cannot be read.
    pub fn scoped(&self, columns: u64, wanted: Wanted) -> Result<Scoped, Refusal> {
        let base_ns = self.index.cells.width_ns;
        if self.is_unfiltered() && self.is_wide() {
            let axis = self.axis(columns, base_ns, false);
            let wide = (axis.width_ns / base_ns) as usize;
            let (from, to) = self.window_ns;
            let cells = (from / base_ns) as usize..to.div_ceil(base_ns) as usize;
            return Ok(Scoped { of: Of::Index(Arc::clone(&self.index)), cells, wide, axis });
        }
        let axis = self.axis(columns, base_ns, true);
        let Axis { width_ns, first, columns: count } = axis;
        let Wanted { streams, processes } = wanted;
        let wanted = CellsWanted { width_ns, first, count, streams, processes };
        let mut fold = CellsFold::new(wanted);
        self.each(CellsFold::fields(&wanted), |rows, row| {
            fold.take_row(rows, row);
        })?;
        Ok(Scoped { of: Of::Ios(Box::new(fold.finish())), cells: 0..count, wide: 1, axis })
    }

    /// Devices (at a layer) of whose time busy parts are shares; `None` where the busy
    /// time of what was asked means nothing.
    pub fn devices(&self) -> Option<u64> {
        let is_known =
            self.filter.keeps_whole_devices() && !self.capture.conditions().rounded_times;
        let counts =
            |device: u16| self.filter.devices.is_empty() || self.filter.devices.contains(&device);
        let sides = self.index.sides.iter();
        let sides = sides.filter(|(device, layer)| {
            counts(*device) && self.filter.layer.is_none_or(|wanted| wanted == *layer)
        });
        is_known.then(|| sides.count() as u64).filter(|sides| *sides > 0)
    }
}

/// What cells are to tell beside the sums of everything.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wanted {
    /// By stream.
    pub streams: bool,
    /// By process.
    pub processes: bool,
}

enum Of {
    Index(Arc<Index>),
    Ios(Box<Cells>),
}

/// The cells of a window.
pub struct Scoped {
    of: Of,
    /// Which of the cells.
    pub cells: Range<usize>,
    /// How many of them are a column.
    pub wide: usize,
    /// The columns.
    pub axis: Axis,
}

impl Scoped {
    /// All cells, of which [`Self::cells`] are meant.
    pub fn all(&self) -> &Cells {
        match &self.of {
            Of::Index(index) => &index.cells,
            Of::Ios(cells) => cells,
        }
    }

    /// Whether the index told it.
    pub fn is_of_index(&self) -> bool {
        matches!(self.of, Of::Index(_))
    }
}

/// See [`Selection::axis`].
pub fn axis(window_ns: (u64, u64), columns: u64, base_ns: u64, may_be_narrower: bool) -> Axis {
    let (from, to) = (window_ns.0, window_ns.1.max(window_ns.0 + 1));
    let wanted = (to - from).div_ceil(columns.max(1)).max(1);
    let mut width_ns = base_ns.max(1);
    while may_be_narrower && width_ns.is_multiple_of(2) && width_ns / 2 >= wanted {
        width_ns /= 2;
    }
    let count = |width: u64| (to - 1) / width - from / width + 1;
    let mut times = wanted.div_ceil(width_ns).max(1);
    while count(width_ns.saturating_mul(times)) > columns.max(1) {
        times += 1;
    }
    let width_ns = width_ns.saturating_mul(times);
    Axis { width_ns, first: from / width_ns, columns: count(width_ns) as usize }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_begin_at_multiples_of_their_width_and_are_few_enough() {
        let of = |window, columns, narrower| {
            let axis = axis(window, columns, 100_000, narrower);
            (axis.width_ns, axis.first, axis.columns)
        };
        assert_eq!(of((0, 1_000_000), 10, false), (100_000, 0, 10));
        assert_eq!(of((0, 1_000_000), 9, false), (200_000, 0, 5));
        // One more column where the window lies across.
        assert_eq!(of((50_000, 1_050_000), 10, false), (200_000, 0, 6));
        assert_eq!(of((250_000, 300_000), 10, false), (100_000, 2, 1));
        assert_eq!(of((250_000, 300_000), 10, true), (6250, 40, 8));
        assert_eq!(of((250_000, 250_010), 10, true), (3125, 80, 1));
        assert_eq!(of((0, u64::MAX), 1, false).2, 1);
    }
}
