//! Reads a step file and folds it into what a trace is folded into.

use super::sides::SidesOfSums;
use super::{COLUMNS, Column, HISTOGRAM, LAYER};
use crate::compare::Side;
use crate::error::TraceError;
use crate::file::parts::{Part, both, in_order, none_named, together};
use crate::file::{
    Footer, Integrity, Recovery, Source, footer, footer_or_blocks, text_column, wide_column,
};
use crate::filter::Filter;
use crate::series::{Choice, SeriesOverTime};
use crate::steps::{CaptureStep, STEPS_MAX, WIDTH_NS};
use crate::streams::{StreamKey, StreamTable};
use crate::study::step_width_of;
use parquet::data_type::ByteArray;
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use std::collections::BTreeMap;
use std::io::{Read, Seek};
use steadfast_domain::io_event::StreamInStep;
use steadfast_domain::{CaptureConditions, QuarterHistogram};

/// A step file, opened: one file, or the files of a capture that was rotated.
pub struct StepFile<R> {
    /// Every file's readable row groups.
    files: Vec<(Source<R>, Vec<RowGroupMetaData>)>,
    conditions: CaptureConditions,
    start: Option<CaptureConditions>,
    recovery: Option<Recovery>,
    integrity: Integrity,
    step_ns: u64,
}

impl<R: Read + Seek + Send + 'static> StepFile<R> {
    /// Opens a step file; `None` where the file says that it is none. Damaged row
    /// groups are left out, and [`Self::integrity`] says so.
    ///
    /// # Errors
    /// Where the medium fails, or it is no file of a capture at all.
    pub fn open(medium: R) -> Result<Option<Self>, TraceError> {
        let source = Source::new(medium)?;
        let found = footer(&source)?;
        Self::of_steps(source, found)
    }

    /// Opens a step file by its recovery blocks where its footer is damaged.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn recover(medium: R) -> Result<Option<Self>, TraceError> {
        let source = Source::new(medium)?;
        let found = footer_or_blocks(&source)?;
        Self::of_steps(source, found)
    }

    fn of_steps(source: Source<R>, found: Footer) -> Result<Option<Self>, TraceError> {
        let Footer { groups, conditions, start, recovery, damaged } = found;
        let Some(conditions) = conditions else { return Ok(None) };
        let Some(step_ns) = conditions.step_ns else { return Ok(None) };
        if !WIDTH_NS.contains(&step_ns) {
            let what = format!("a capture step of {step_ns} ns");
            return Err(TraceError::damaged("in its conditions", what));
        }
        let checksums = groups.iter().all(|group| group.sum.is_some());
        let mut integrity = Integrity { checksums, damaged, missing_parts: Vec::new() };
        let mut intact = Vec::new();
        for (number, group) in groups.into_iter().enumerate() {
            match &group.sum {
                Some(sum) if !sum.is_intact(&source)? => {
                    integrity.damaged.push(sum.damage(0, number));
                }
                _ => intact.push(group.metadata),
            }
        }
        let files = vec![(source, intact)];
        Ok(Some(StepFile { files, conditions, start, recovery, integrity, step_ns }))
    }

    /// Puts the files of one capture together, in whatever order they are given.
    ///
    /// # Errors
    /// Where there is none, they are not of one capture, or one is there twice.
    pub fn together(parts: Vec<Self>) -> Result<Self, TraceError> {
        let (parts, missing) = in_order(parts)?;
        let mut whole = parts.into_iter().reduce(Self::and).ok_or_else(none_named)?;
        whole.integrity.missing_parts = missing;
        Ok(whole)
    }

    fn and(mut self, next: Self) -> Self {
        let before = self.files.len();
        self.integrity.damaged.extend(next.integrity.damaged.into_iter().map(|mut damage| {
            damage.file += before;
            damage
        }));
        self.integrity.checksums &= next.integrity.checksums;
        self.files.extend(next.files);
        self.conditions = together(&self.conditions, next.conditions);
        self.recovery = both(self.recovery, next.recovery);
        self
    }

    /// What is damaged or missing.
    pub fn integrity(&self) -> &Integrity {
        &self.integrity
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
        self.each_row(filter, |row, histogram| match histogram {
            Some(_) => Ok(()),
            None => show(row),
        })
    }

    /// Shows every row, those that hold a histogram of response times as well:
    /// of these only the stream and the device count. They were not made for a
    /// part of the time, so a filter of time leaves them out.
    pub(super) fn each_row(
        &self,
        filter: &Filter,
        mut show: impl FnMut(&StreamInStep, Option<&QuarterHistogram>) -> Result<(), TraceError>,
    ) -> Result<(), TraceError> {
        if filter.process.is_some() {
            let what = "capture steps were kept, and no processes; leave out --pid";
            return Err(TraceError::Unsuitable(what.into()));
        }
        let mut sums = Sums::default();
        for (source, group) in self.groups() {
            for (row, text) in &row_group(source, group)? {
                let histogram = histogram(text)?;
                sums.see(row, histogram.as_ref(), self.step_ns)?;
                let of_all_time = histogram.is_none() || filter.spans_ns.is_empty();
                if of_all_time && self.passes(filter, row) {
                    show(row, histogram.as_ref())?;
                }
            }
        }
        Ok(())
    }

    pub(super) fn groups(&self) -> impl Iterator<Item = (&Source<R>, &RowGroupMetaData)> {
        self.files
            .iter()
            .flat_map(|(source, groups)| groups.iter().map(move |group| (source, group)))
    }

    fn passes(&self, filter: &Filter, row: &StreamInStep) -> bool {
        let begin = self.begin_of(row);
        let inside = |(from, to): &(u64, u64)| (*from..*to).contains(&begin);
        (filter.spans_ns.is_empty() || filter.spans_ns.iter().any(inside))
            && (filter.ops.is_empty() || filter.ops.contains(&row.op))
            && (filter.devices.is_empty() || filter.devices.contains(&row.device))
            && filter.layer.is_none_or(|layer| layer == row.layer)
            && (filter.streams.is_empty() || filter.streams.contains(&key_of(row)))
    }

    /// The I/O streams. Under a filter of time there are no response-time
    /// percentiles.
    ///
    /// # Errors
    /// As [`Self::each`].
    pub fn streams(&self, filter: &Filter) -> Result<StreamTable, TraceError> {
        let mut table = StreamTable::new();
        self.each_row(filter, |row, histogram| {
            add_to_streams(&mut table, row, histogram);
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

    /// Capture steps of a width of every device and layer, as far as sides are
    /// kept apart; without percentiles and busy time. Then the I/Os of further ones.
    ///
    /// # Errors
    /// As [`Self::steps`].
    pub fn sides(&self, filter: &Filter, width_ns: u64) -> Result<(Vec<Side>, u64), TraceError> {
        let mut sides = SidesOfSums::default();
        self.each(filter, |row| sides.take(self.begin_of(row) / width_ns.max(1), row))?;
        let unlisted = sides.unlisted;
        Ok((sides.finish(), unlisted))
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

impl<R: Read + Seek + Send + 'static> Part for StepFile<R> {
    fn conditions(&self) -> &CaptureConditions {
        &self.conditions
    }
    fn start(&self) -> Option<&CaptureConditions> {
        self.start.as_ref()
    }
}

/// What all rows add up to: where these sums have room, all that is made of some
/// of the rows has. No capture comes near it, but a damaged file without
/// checksums may.
#[derive(Default)]
struct Sums([u64; 7]);

impl Sums {
    fn see(
        &mut self,
        row: &StreamInStep,
        histogram: Option<&QuarterHistogram>,
        step_ns: u64,
    ) -> Result<(), TraceError> {
        let too_large = || TraceError::damaged("in its rows", "counts that no capture can have");
        let bytes = row.ios.checked_mul(u64::from(row.bytes));
        let told = histogram.map_or(Some(0), |histogram| {
            histogram.buckets().try_fold(0u64, |sum, (_, _, count)| sum.checked_add(count))
        });
        let (bytes, told) = bytes.zip(told).ok_or_else(too_large)?;
        let of_row =
            [row.ios, row.failed, row.responses, row.response_sum_ns, row.depth_sum, bytes, told];
        for (sum, value) in self.0.iter_mut().zip(of_row) {
            *sum = sum.checked_add(value).ok_or_else(too_large)?;
        }
        let end = row.step.checked_add(1).and_then(|steps| steps.checked_mul(step_ns));
        end.map(drop).ok_or_else(too_large)
    }
}

/// The rows of a row group, each with the text of its histogram.
pub(super) fn row_group<R: Read + Seek + Send + 'static>(
    source: &Source<R>,
    group: &RowGroupMetaData,
) -> Result<Vec<(StreamInStep, ByteArray)>, TraceError> {
    let rows = rows_of(source, group)?;
    let histograms = histograms_of(source, group, rows.len())?;
    Ok(rows.into_iter().zip(histograms).collect())
}

fn rows_of<R: Read + Seek + Send + 'static>(
    source: &Source<R>,
    group: &RowGroupMetaData,
) -> Result<Vec<StreamInStep>, TraceError> {
    let mut rows: Vec<StreamInStep> = Vec::new();
    let there = |column: &&Column| column.name != LAYER || has_column(group, LAYER);
    for column in COLUMNS.iter().filter(there) {
        let values = wide_column(source, group, column.name)?;
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

/// The texts of all rows' histograms; a file without such a column has none.
fn histograms_of<R: Read + Seek + Send + 'static>(
    source: &Source<R>,
    group: &RowGroupMetaData,
    rows: usize,
) -> Result<Vec<ByteArray>, TraceError> {
    match has_column(group, HISTOGRAM) {
        true => text_column(source, group, HISTOGRAM),
        false => Ok(vec![ByteArray::from(""); rows]),
    }
}

fn has_column(group: &RowGroupMetaData, name: &str) -> bool {
    let named = |column: &ColumnChunkMetaData| column.column_path().string() == name;
    group.columns().iter().any(named)
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

/// The text of a row's histogram; `None` where the row is a stream in a step.
fn histogram(text: &ByteArray) -> Result<Option<QuarterHistogram>, TraceError> {
    if text.is_empty() {
        return Ok(None);
    }
    let found = text.as_utf8().ok().and_then(QuarterHistogram::decode);
    let broken = || TraceError::damaged(format!("in column {HISTOGRAM}"), "no histogram");
    found.map(Some).ok_or_else(broken)
}

pub(super) fn add_to_streams(
    table: &mut StreamTable,
    row: &StreamInStep,
    histogram: Option<&QuarterHistogram>,
) {
    match histogram {
        Some(histogram) => table.take_histogram(key_of(row), histogram),
        None => table.take_sum(key_of(row), row),
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
