//! Reads a step file and folds it into what a trace is folded into.

use super::COLUMNS;
use crate::error::TraceError;
use crate::file::{Recovery, Source, footer, wide_column};
use crate::filter::Filter;
use crate::series::{Choice, SeriesOverTime};
use crate::steps::{CaptureStep, STEPS_MAX, WIDTH_NS};
use crate::streams::{StreamKey, StreamTable};
use crate::study::step_width_of;
use parquet::file::metadata::RowGroupMetaData;
use std::collections::BTreeMap;
use std::io::{Read, Seek};
use steadfast_domain::io_event::StreamInStep;
use steadfast_domain::{CaptureConditions, Layer};

/// A step file, opened.
pub struct StepFile<R> {
    source: Source<R>,
    groups: Vec<RowGroupMetaData>,
    conditions: CaptureConditions,
    recovery: Option<Recovery>,
    step_ns: u64,
}

impl<R: Read + Seek + Send + 'static> StepFile<R> {
    /// Opens a step file; `None` where the file says that it is none.
    ///
    /// # Errors
    /// Where the medium fails, or it is no file of a capture at all.
    pub fn open(medium: R) -> Result<Option<Self>, TraceError> {
        let source = Source::new(medium)?;
        let found = footer(&source)?;
        let Some(conditions) = found.conditions else { return Ok(None) };
        let Some(step_ns) = conditions.step_ns else { return Ok(None) };
        if !WIDTH_NS.contains(&step_ns) {
            let what = format!("a capture step of {step_ns} ns");
            return Err(TraceError::damaged("in its conditions", what));
        }
        let (groups, recovery) = (found.groups, found.recovery);
        Ok(Some(StepFile { source, groups, conditions, recovery, step_ns }))
    }

    /// How it came about.
    pub fn conditions(&self) -> &CaptureConditions {
        &self.conditions
    }

    /// What could not be read because the writer was killed.
    pub fn recovery(&self) -> Option<&Recovery> {
        self.recovery.as_ref()
    }

    /// Width of its steps in nanoseconds.
    pub fn step_ns(&self) -> u64 {
        self.step_ns
    }

    /// Shows every row that passes the filter. A step passes a span of time in
    /// which it begins.
    ///
    /// # Errors
    /// Where the medium fails or the file is damaged; where the filter asks for
    /// a process, of which nothing was kept.
    pub fn each(
        &self,
        filter: &Filter,
        mut show: impl FnMut(&StreamInStep) -> Result<(), TraceError>,
    ) -> Result<(), TraceError> {
        if filter.process.is_some() {
            let what = "capture steps were kept, and no processes; leave out --pid";
            return Err(TraceError::Unsuitable(what.into()));
        }
        for group in &self.groups {
            for row in &self.rows_of(group)? {
                if self.passes(filter, row) {
                    show(row)?;
                }
            }
        }
        Ok(())
    }

    fn rows_of(&self, group: &RowGroupMetaData) -> Result<Vec<StreamInStep>, TraceError> {
        let mut rows: Vec<StreamInStep> = Vec::new();
        for column in &COLUMNS {
            let values = wide_column(&self.source, group, column.name)?;
            rows.resize(values.len().max(rows.len()), StreamInStep::default());
            for (row, value) in rows.iter_mut().zip(values) {
                (column.set)(row, value.cast_unsigned()).ok_or_else(|| {
                    let what = format!("{value} is impossible");
                    TraceError::damaged(format!("in column {}", column.name), what)
                })?;
            }
        }
        Ok(rows)
    }

    fn passes(&self, filter: &Filter, row: &StreamInStep) -> bool {
        let begin = self.begin_of(row);
        let inside = |(from, to): &(u64, u64)| (*from..*to).contains(&begin);
        (filter.spans_ns.is_empty() || filter.spans_ns.iter().any(inside))
            && (filter.ops.is_empty() || filter.ops.contains(&row.op))
            && (filter.devices.is_empty() || filter.devices.contains(&row.device))
            && filter.layer.is_none_or(|layer| layer == Layer::Block)
            && (filter.streams.is_empty() || filter.streams.contains(&key_of(row)))
    }

    /// The I/O streams. There are no response-time percentiles.
    ///
    /// # Errors
    /// As [`Self::each`].
    pub fn streams(&self, filter: &Filter) -> Result<StreamTable, TraceError> {
        let mut table = StreamTable::new();
        self.each(filter, |row| {
            table.take_sum(key_of(row), row);
            Ok(())
        })?;
        Ok(table)
    }

    /// First and last beginning of a step that passes the filter.
    ///
    /// # Errors
    /// As [`Self::each`]; where none passes.
    pub fn span_ns(&self, filter: &Filter) -> Result<(u64, u64), TraceError> {
        let mut span = Begins::default();
        self.each(filter, |row| {
            span.see(self.begin_of(row));
            Ok(())
        })?;
        span.found()
    }

    /// When the row's step begins.
    pub(super) fn begin_of(&self, row: &StreamInStep) -> u64 {
        row.step.saturating_mul(self.step_ns)
    }

    /// A width of steps in nanoseconds, a multiple of the file's: as asked, or
    /// the narrowest usual one that gives a readable table.
    ///
    /// # Errors
    /// Where what was asked for is no multiple, or makes more steps than `most`.
    pub fn width(
        &self,
        asked: Option<u64>,
        span_ns: (u64, u64),
        most: u64,
    ) -> Result<u64, TraceError> {
        step_width_of(self.step_ns, asked, span_ns, most)
    }

    /// Capture steps of a width, without percentiles and busy time.
    ///
    /// # Errors
    /// As [`Self::each`]; beyond [`STEPS_MAX`] steps.
    pub fn steps(
        &self,
        filter: &Filter,
        width_ns: u64,
    ) -> Result<BTreeMap<u64, CaptureStep>, TraceError> {
        let mut steps = BTreeMap::new();
        self.each(filter, |row| add_to(&mut steps, self.begin_of(row) / width_ns.max(1), row))?;
        Ok(steps)
    }

    /// Streams over steps of a width.
    ///
    /// # Errors
    /// As [`Self::each`]; where there are too many cells.
    pub fn series(
        &self,
        filter: &Filter,
        width_ns: u64,
        keys: &[StreamKey],
    ) -> Result<SeriesOverTime, TraceError> {
        let mut series = SeriesOverTime::new(width_ns, &Choice::Streams(keys.to_vec()));
        self.each(filter, |row| series.take_sum(self.begin_of(row), key_of(row), row.ios))?;
        Ok(series)
    }
}

/// First and last beginning of the steps seen.
#[derive(Default)]
pub(super) struct Begins(Option<(u64, u64)>);

impl Begins {
    pub(super) fn see(&mut self, at: u64) {
        let (from, to) = self.0.unwrap_or((at, at));
        self.0 = Some((from.min(at), to.max(at)));
    }

    pub(super) fn found(&self) -> Result<(u64, u64), TraceError> {
        self.0.ok_or_else(|| TraceError::Unsuitable("no I/O passes the filter; widen it".into()))
    }
}

/// Adds a row to one of the steps.
pub(super) fn add_to(
    steps: &mut BTreeMap<u64, CaptureStep>,
    at: u64,
    row: &StreamInStep,
) -> Result<(), TraceError> {
    if steps.len() >= STEPS_MAX && !steps.contains_key(&at) {
        let what = format!("more than {STEPS_MAX} capture steps; choose wider steps");
        return Err(TraceError::TooFine(what));
    }
    steps.entry(at).or_default().take_sum(row);
    Ok(())
}

pub(super) fn key_of(row: &StreamInStep) -> StreamKey {
    StreamKey { op: row.op, sequential: row.sequential, bytes: row.bytes }
}
