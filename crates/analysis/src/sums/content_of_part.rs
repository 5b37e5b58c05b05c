//! Compression and duplicates of a filtered part of a capture.

use crate::captured::Captured;
use crate::cells::{Dimensions, FilteredCells};
use crate::fold::{AnnotatedRows, Fold};
use crate::pass::PassOptions;
use crate::sums::content::{Contents, part_conditions};
use steadfast_domain::CaptureConditions;
use steadfast_tracefile::error::TraceError;
use steadfast_tracefile::not_recorded::NotRecorded;
use steadfast_tracefile::parquet::Fields;

/// Content sums of the part of a capture that a pass selects, if it selects a part.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PartContent {
    is_part: bool,
    total: Option<ContentTotal>,
}

impl PartContent {
    /// Prepares the sums.
    pub(crate) fn read(captured: &Captured, pass: &PassOptions) -> Self {
        let conditions = captured.conditions();
        let is_part = pass.filter.describe(conditions).is_some();
        let is_sampled = conditions.content.is_some();
        PartContent { is_part, total: (is_part && is_sampled).then(ContentTotal::default) }
    }

    /// Returns the fold that gathers the sums, or `None` if there is nothing to gather.
    pub(crate) fn fold(&mut self) -> Option<&mut dyn Fold> {
        self.total.as_mut().map(|total| total as &mut dyn Fold)
    }

    /// Returns the conditions of the capture, adjusted to the part.
    pub(crate) fn conditions(self, all: &CaptureConditions) -> CaptureConditions {
        if self.is_part {
            part_conditions(all, self.total.map(|total| total.0))
        } else {
            all.clone()
        }
    }
}

/// Sums over the sampled blocks of all selected I/Os.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct ContentTotal(Contents);

impl Fold for ContentTotal {
    fn fields(&self) -> Fields {
        Contents::FIELDS
    }
    fn take(&mut self, rows: &AnnotatedRows<'_>) -> Result<(), TraceError> {
        rows.iter().for_each(|row| self.0.add(rows.batch, row));
        Ok(())
    }
    fn new_part(&self) -> Option<Self> {
        Some(ContentTotal::default())
    }
    /// A capture of steps samples no content.
    fn check_dimensions(&self, recorded: Dimensions) -> Result<(), NotRecorded> {
        if recorded.single_ios { Ok(()) } else { Err(NotRecorded::SingleIos) }
    }
    fn take_cells(&mut self, cells: &FilteredCells<'_>) -> Result<(), TraceError> {
        cells.cells.iter().for_each(|cell| self.0.merge(cell.contents));
        Ok(())
    }
    fn merge(&mut self, other: Self) -> Result<(), TraceError> {
        self.0.merge(other.0);
        Ok(())
    }
}
