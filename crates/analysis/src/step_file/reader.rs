//! Reads a step file, row group by row group.

use super::{COLUMNS, Column, HISTOGRAM, LAYER};
use crate::sums::step_width::WIDTH_NS;
use parquet::data_type::ByteArray;
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use std::io::{Read, Seek};
use steadfast_domain::io_event::{StreamInStep, StreamResponses};
use steadfast_domain::{CaptureConditions, QuarterHistogram};
use steadfast_tracefile::error::TraceError;
use steadfast_tracefile::observed_time::ObservedTime;
use steadfast_tracefile::parquet::parts::{Part, both, in_order, none_named, together};
use steadfast_tracefile::parquet::{Footer, Integrity, Recovery, Source, text_column, wide_column};

/// An open step file, or the files of a rotated capture.
pub(crate) struct StepFile<R> {
    /// The files with their readable row groups.
    files: Vec<(Source<R>, Vec<RowGroupMetaData>)>,
    conditions: CaptureConditions,
    start: Option<CaptureConditions>,
    recovery: Option<Recovery>,
    integrity: Integrity,
    step_ns: u64,
    observed: ObservedTime,
}

impl<R: Read + Seek + Send + 'static> StepFile<R> {
    /// Opens a step file by its footer or its recovery blocks. Damaged row groups are left out, as
    /// [`Self::integrity`] reports.
    ///
    /// # Errors
    /// Returns [`TraceError::Io`] if reading fails, [`TraceError::NotATrace`] if the step width is
    /// missing, or [`TraceError::Damaged`] if the file contains impossible values.
    pub(crate) fn of_steps(source: Source<R>, found: Footer) -> Result<Self, TraceError> {
        let Footer { groups, conditions, start, recovery, damaged } = found;
        let kept = conditions.and_then(|conditions| Some((conditions.step_ns?, conditions)));
        let Some((step_ns, conditions)) = kept else {
            return Err(TraceError::NotATrace("the width of its steps is missing".into()));
        };
        if !WIDTH_NS.contains(&step_ns) {
            let what = format!("a capture step of {step_ns} ns");
            return Err(TraceError::damaged("in its conditions", what));
        }
        let checksums = groups.iter().all(|group| group.sum.is_some());
        let mut integrity = Integrity { checksums, damaged, ..Integrity::default() };
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
        let none = ObservedTime::default();
        let mut file =
            StepFile { files, conditions, start, recovery, integrity, step_ns, observed: none };
        let last_ns = if file.conditions.lasted_ns == 0 { file.end_of_steps()? } else { 0 };
        file.observed = ObservedTime::from_file(file.start.as_ref(), &file.conditions, last_ns);
        Ok(file)
    }

    /// Combines the files of one capture, given in any order.
    ///
    /// # Errors
    /// Returns [`TraceError::Unsuitable`] if `parts` is empty, the files belong to different
    /// captures, or a part occurs twice.
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
        self.observed = self.observed.and(&next.observed);
        self.conditions = together(&self.conditions, next.conditions);
        self.recovery = both(self.recovery, next.recovery);
        self
    }

    /// Returns the known damage and missing parts.
    pub fn integrity(&self) -> &Integrity {
        &self.integrity
    }

    /// Returns the conditions of the capture.
    pub fn conditions(&self) -> &CaptureConditions {
        &self.conditions
    }

    /// Returns what could not be read because the writer was killed; `None` if the file is
    /// complete.
    pub fn recovery(&self) -> Option<&Recovery> {
        self.recovery.as_ref()
    }

    /// Returns the width of a step, in nanoseconds.
    pub fn step_ns(&self) -> u64 {
        self.step_ns
    }

    /// Returns the observed time; for a file of a rotated capture, that of this file.
    pub fn observed(&self) -> &ObservedTime {
        &self.observed
    }

    /// Returns the end of the last step, for a file that does not record how long the capture
    /// lasted.
    fn end_of_steps(&self) -> Result<u64, TraceError> {
        let mut end = 0;
        self.each_group(|streams, _| {
            let ends = streams.iter().map(|row| (row.step + 1).saturating_mul(self.step_ns));
            end = ends.fold(end, u64::max);
            Ok(())
        })?;
        Ok(end)
    }

    /// Passes the rows of every row group to `show`.
    ///
    /// # Errors
    /// Returns [`TraceError::Io`] if reading fails, [`TraceError::Damaged`] if the file is damaged,
    /// or the error of `show`.
    pub(crate) fn each_group(
        &self,
        mut show: impl FnMut(Vec<StreamInStep>, Vec<StreamResponses>) -> Result<(), TraceError>,
    ) -> Result<(), TraceError> {
        let mut totals = ColumnTotals::default();
        for (source, group) in self.groups() {
            let (mut streams, mut responses) = (Vec::new(), Vec::new());
            for (row, text) in row_group(source, group)? {
                let histogram = histogram(&text)?;
                totals.see(&row, histogram.as_ref(), self.step_ns)?;
                match histogram {
                    None => streams.push(row),
                    Some(histogram) => responses.push(responses_of(&row, histogram)),
                }
            }
            show(streams, responses)?;
        }
        Ok(())
    }

    pub(super) fn groups(&self) -> impl Iterator<Item = (&Source<R>, &RowGroupMetaData)> {
        self.files
            .iter()
            .flat_map(|(source, groups)| groups.iter().map(move |group| (source, group)))
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

/// Totals over all rows. If these fit into 64 bits, so does every sum over some of the rows. No
/// capture comes close, but a damaged file without checksums may exceed it.
#[derive(Default)]
struct ColumnTotals([u64; 7]);

impl ColumnTotals {
    fn see(
        &mut self,
        row: &StreamInStep,
        histogram: Option<&QuarterHistogram>,
        step_ns: u64,
    ) -> Result<(), TraceError> {
        let too_large = || TraceError::damaged("in its rows", "impossible counts");
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

/// Returns the rows of a row group, each with the text of its histogram.
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

/// Returns the histogram texts of all rows; they are empty if the file has no such column.
fn histograms_of<R: Read + Seek + Send + 'static>(
    source: &Source<R>,
    group: &RowGroupMetaData,
    rows: usize,
) -> Result<Vec<ByteArray>, TraceError> {
    if has_column(group, HISTOGRAM) {
        text_column(source, group, HISTOGRAM)
    } else {
        Ok(vec![ByteArray::from(""); rows])
    }
}

fn has_column(group: &RowGroupMetaData, name: &str) -> bool {
    let named = |column: &ColumnChunkMetaData| column.column_path().string() == name;
    group.columns().iter().any(named)
}

/// Parses the histogram of a row; returns `None` if the row is a stream in a step.
fn histogram(text: &ByteArray) -> Result<Option<QuarterHistogram>, TraceError> {
    if text.is_empty() {
        return Ok(None);
    }
    let found = text.as_utf8().ok().and_then(QuarterHistogram::decode);
    let broken = || TraceError::damaged(format!("in column {HISTOGRAM}"), "no histogram");
    found.map(Some).ok_or_else(broken)
}

/// Returns the response times of a row that holds a histogram.
fn responses_of(row: &StreamInStep, histogram: QuarterHistogram) -> StreamResponses {
    StreamResponses {
        device: row.device,
        layer: row.layer,
        op: row.op,
        sequential: row.sequential,
        bytes: row.bytes,
        histogram,
    }
}
