//! Compression and duplicates over time: sampled blocks by the capture step in which they were
//! written.

use crate::cells::{Dimensions, FilteredCells};
use crate::fold::{AnnotatedRows, EmptyLike, Fold, FoldCells, ParallelFold};
use crate::sums::content::{ContentFigures, Contents, DuplicateAccuracy};
use crate::sums::step_width::made_of;
use std::collections::BTreeMap;
use steadfast_domain::CaptureConditions;
use steadfast_tracefile::error::TraceError;
use steadfast_tracefile::not_recorded::NotRecorded;
use steadfast_tracefile::parquet::{Field, Fields};

/// Sampled blocks by the capture step in which they were written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentSteps {
    width_ns: u64,
    /// Sums by step number; steps without a sampled block are absent.
    pub steps: BTreeMap<u64, Contents>,
}

impl ContentSteps {
    /// Creates an empty fold over steps of `width_ns` nanoseconds.
    pub fn new(width_ns: u64) -> Self {
        ContentSteps { width_ns: width_ns.max(1), steps: BTreeMap::new() }
    }

    /// Creates an empty fold if the capture sampled content, otherwise returns `None`.
    pub fn for_capture(conditions: &CaptureConditions, width_ns: u64) -> Option<Self> {
        conditions.content.map(|_| Self::new(width_ns))
    }

    /// Returns the figures by step number; steps without a sampled block are absent.
    pub fn figures(&self, conditions: &CaptureConditions) -> BTreeMap<u64, ContentFigures> {
        let told = DuplicateAccuracy::from_conditions(conditions);
        self.steps
            .iter()
            .map(|(step, contents)| (*step, ContentFigures::new(*contents, told)))
            .collect()
    }

    fn at(&mut self, time_ns: u64) -> &mut Contents {
        self.steps.entry(time_ns / self.width_ns).or_default()
    }
}

/// Sums over the sampled blocks of all selected I/Os.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ContentTotal(pub(crate) Contents);

impl EmptyLike for ContentTotal {
    fn alike(&self) -> Self {
        ContentTotal::default()
    }
}

impl Fold for ContentTotal {
    fn fields(&self) -> Fields {
        Contents::FIELDS
    }
    fn take(&mut self, rows: &AnnotatedRows<'_>) -> Result<(), TraceError> {
        rows.iter().for_each(|row| self.0.add(rows.batch, row));
        Ok(())
    }
    fn in_parts(&mut self) -> Option<&mut dyn ParallelFold> {
        Some(self)
    }
    /// A capture of steps samples no content.
    fn as_cell_fold(&mut self, recorded: Dimensions) -> Result<&mut dyn FoldCells, NotRecorded> {
        if recorded.single_ios { Ok(self) } else { Err(NotRecorded::SingleIos) }
    }
    fn merge(&mut self, other: Self) -> Result<(), TraceError> {
        self.0.merge(other.0);
        Ok(())
    }
}

impl FoldCells for ContentTotal {
    fn take_cells(&mut self, cells: &FilteredCells<'_>) -> Result<(), TraceError> {
        cells.cells.iter().for_each(|cell| self.0.merge(cell.contents));
        Ok(())
    }
}

impl EmptyLike for ContentSteps {
    fn alike(&self) -> Self {
        ContentSteps::new(self.width_ns)
    }
}

impl Fold for ContentSteps {
    fn fields(&self) -> Fields {
        Fields::new(&[Field::Issued]).and(Contents::FIELDS)
    }
    fn take(&mut self, rows: &AnnotatedRows<'_>) -> Result<(), TraceError> {
        for row in rows.iter().filter(|row| rows.batch.sampled_blocks(*row) > 0) {
            self.at(rows.batch.issued_ns(row)).add(rows.batch, row);
        }
        Ok(())
    }
    fn in_parts(&mut self) -> Option<&mut dyn ParallelFold> {
        Some(self)
    }
    /// A capture of steps samples no content.
    fn as_cell_fold(&mut self, recorded: Dimensions) -> Result<&mut dyn FoldCells, NotRecorded> {
        if recorded.single_ios { Ok(self) } else { Err(NotRecorded::SingleIos) }
    }
    fn merge(&mut self, other: Self) -> Result<(), TraceError> {
        for (step, contents) in other.steps {
            self.steps.entry(step).or_default().merge(contents);
        }
        Ok(())
    }
}

impl FoldCells for ContentSteps {
    fn take_cells(&mut self, cells: &FilteredCells<'_>) -> Result<(), TraceError> {
        made_of(self.width_ns, cells.step_ns)?;
        for cell in cells.cells.iter().filter(|cell| cell.contents.blocks > 0) {
            self.at(cell.begin_ns).merge(cell.contents);
        }
        Ok(())
    }
}
