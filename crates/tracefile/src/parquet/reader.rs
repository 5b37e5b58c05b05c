//! Reads a trace file batch by batch, only the requested columns.

use super::checksums::{FoundGroup, GroupSum, extent_of};
use super::column::OpenColumn;
use super::footer::{Footer, footer, footer_or_blocks};
use super::guard::guarded;
use super::integrity::{Damage, Integrity};
use super::packed::PageMemory;
use super::recovery::Recovery;
use super::source::{HeldBytes, SharedMedium, TraceMedium};
use crate::batch::Batch;
use crate::error::TraceError;
use crate::not_recorded::NotRecorded;
use crate::observed_time::ObservedTime;
use crate::schema::{Field, Fields};
use parquet::basic::{Compression, Type as Physical};
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use parquet::file::statistics::Statistics;
use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};
use steadfast_domain::CaptureConditions;
use steadfast_domain::io_event::IncompleteIos;

/// Largest row group with a checksum that is read in one piece; ours have a few MB.
const GROUP_HELD_MAX: u64 = 64 << 20;

/// I/Os read at a time if only their times are needed.
const ROWS_AT_ONCE: usize = 1 << 14;

/// An open trace: one file, or the files of a rotated capture.
pub struct Trace {
    pub(super) sources: Vec<SharedMedium>,
    pub(super) groups: Vec<TraceRowGroup>,
    pub(super) conditions: CaptureConditions,
    pub(super) start: Option<CaptureConditions>,
    pub(super) recovery: Option<Recovery>,
    pub(super) rows: u64,
    /// True if every file has checksums.
    pub(super) checksums: bool,
    /// Damage that was known when the files were opened.
    pub(super) damaged: Vec<Damage>,
    /// Damage found while reading, by the index of the row group.
    found_damaged: Mutex<BTreeMap<usize, Damage>>,
    pub(super) missing_parts: Vec<u32>,
    /// Time that the files cover.
    pub(super) observed: ObservedTime,
}

/// A row group and the positions of its columns.
pub(super) struct TraceRowGroup {
    /// Index of its file in `Trace::sources`.
    pub(super) source: usize,
    /// Index within its file.
    number: usize,
    metadata: RowGroupMetaData,
    sum: Option<GroupSum>,
    columns: [Option<usize>; Field::ALL.len()],
    rows: usize,
}

impl Trace {
    /// Opens a trace. A file whose writer was killed has no footer; it is read up to its last
    /// complete row group, and [`Self::recovery`] is set.
    ///
    /// # Errors
    /// Returns [`TraceError::Io`] if the medium fails; [`TraceError::NotATrace`],
    /// [`TraceError::Footer`] or [`TraceError::Damaged`] if the file is not an intact trace;
    /// [`TraceError::NotRecorded`] if it holds only sums of steps; and [`TraceError::Unsuitable`]
    /// if its compression is not supported.
    pub fn open(medium: impl TraceMedium) -> Result<Self, TraceError> {
        let source = SharedMedium::new(medium)?;
        let found = footer(&source)?;
        Self::from_footer(source, found)
    }

    /// Opens a trace by its recovery blocks if its footer is damaged.
    ///
    /// # Errors
    /// The same as for [`Self::open`].
    pub fn recover(medium: impl TraceMedium) -> Result<Self, TraceError> {
        let source = SharedMedium::new(medium)?;
        let found = footer_or_blocks(&source)?;
        Self::from_footer(source, found)
    }

    /// Opens a trace from a source whose footer was read already.
    ///
    /// # Errors
    /// Returns [`TraceError::NotRecorded`] if the file holds only sums of steps, and the other
    /// errors of [`Self::open`] if its row groups do not form a trace.
    pub fn from_footer(source: SharedMedium, found: Footer) -> Result<Self, TraceError> {
        if found.holds_only_sums() {
            return Err(NotRecorded::SingleIos.into());
        }
        let Footer { groups, conditions, start, recovery, damaged, .. } = found;
        let checksums = groups.iter().all(|group| group.sum.is_some());
        let length = source.length;
        let groups: Vec<TraceRowGroup> = (0..)
            .zip(groups)
            .map(|(number, group)| TraceRowGroup::check(group, number, length))
            .collect::<Result<_, _>>()?;
        let rows = groups.iter().map(|group| group.rows as u64).sum();
        let conditions = conditions.unwrap_or_else(|| assumed_conditions(&groups, rows));
        let mut trace = Trace {
            sources: vec![source],
            groups,
            conditions,
            start,
            recovery,
            rows,
            checksums,
            damaged,
            found_damaged: Mutex::default(),
            missing_parts: Vec::new(),
            observed: ObservedTime::default(),
        };
        let last_ns = match trace.span_ns() {
            Some((_, last)) => last.saturating_add(1),
            None if trace.conditions.lasted_ns == 0 => trace.end_of_ios()?,
            None => 0,
        };
        trace.observed = ObservedTime::from_file(trace.start.as_ref(), &trace.conditions, last_ns);
        Ok(trace)
    }

    /// Returns the end of the trace from the issue times of all I/Os, for a file that records it
    /// nowhere else.
    fn end_of_ios(&self) -> Result<u64, TraceError> {
        let mut batches = self.batches(Fields::new(&[Field::Issued]));
        let (mut batch, mut end) = (Batch::default(), 0);
        while batches.read(ROWS_AT_ONCE, &mut batch)? > 0 {
            let ends = (0..batch.len()).map(|row| batch.issued_ns(row).saturating_add(1));
            end = ends.fold(end, u64::max);
            batch.clear();
        }
        Ok(end)
    }

    /// Returns the conditions under which the trace was captured.
    pub fn conditions(&self) -> &CaptureConditions {
        &self.conditions
    }
    /// Returns the extent of the recovery; `None` if the footer was read.
    pub fn recovery(&self) -> Option<&Recovery> {
        self.recovery.as_ref()
    }
    /// Returns the known damage and missing parts; row groups count as far as they were read.
    pub fn integrity(&self) -> Integrity {
        let found = self.found_damaged.lock().unwrap_or_else(PoisonError::into_inner);
        let mut damaged: Vec<Damage> = self.damaged.iter().chain(found.values()).cloned().collect();
        damaged.sort();
        let missing_parts = self.missing_parts.clone();
        Integrity { checksums: self.checksums, damaged, missing_parts, left_out: Vec::new() }
    }
    /// Returns the time that the trace covers; for one file of a rotated capture, its own part.
    pub fn observed(&self) -> &ObservedTime {
        &self.observed
    }
    /// Returns the number of events, including those in damaged row groups.
    pub fn rows(&self) -> u64 {
        self.rows
    }
    /// Returns the earliest and the latest issue time; `None` if the file has no statistics of
    /// them or is empty.
    pub fn span_ns(&self) -> Option<(u64, u64)> {
        let mut span: Option<(u64, u64)> = None;
        for group in &self.groups {
            let (low, high) = group.range(Field::Issued)?;
            span = Some(span.map_or((low, high), |(from, to)| (from.min(low), to.max(high))));
        }
        span
    }
    /// Returns an offset beyond which no event reaches; `None` without statistics.
    pub fn end_of_range(&self) -> Option<u64> {
        let mut end = None;
        for group in &self.groups {
            let (_, offset) = group.range(Field::Offset)?;
            let (_, bytes) = group.range(Field::Bytes)?;
            end = end.max(Some(offset.saturating_add(bytes)));
        }
        end
    }
    /// Returns the earliest issue time from each row group to the end of the trace, followed by
    /// `u64::MAX` for the end itself; 0 without statistics.
    pub fn earliest_to_come(&self) -> Vec<u64> {
        let mut earliest = u64::MAX;
        let mut times: Vec<u64> = Vec::with_capacity(self.groups.len() + 1);
        times.push(u64::MAX);
        for group in self.groups.iter().rev() {
            earliest = earliest.min(group.range(Field::Issued).map_or(0, |(low, _)| low));
            times.push(earliest);
        }
        times.reverse();
        times
    }

    /// Returns the first row group that can hold an event issued at or after `time_ns`.
    pub fn first_group_reaching(&self, time_ns: u64) -> usize {
        let reaches = |group: &TraceRowGroup| {
            group.range(Field::Issued).is_none_or(|(_, latest)| latest >= time_ns)
        };
        self.groups.iter().position(reaches).unwrap_or(self.groups.len())
    }

    /// Returns the events in file order.
    pub fn batches(&self, fields: Fields) -> TraceBatches<'_> {
        TraceBatches::new(TraceRef::Borrowed(self), fields)
    }

    /// Returns the number of row groups.
    pub fn group_count(&self) -> usize {
        self.groups.len()
    }

    /// Returns the number of rows of the largest row group.
    pub fn largest_group(&self) -> usize {
        self.groups.iter().map(|group| group.rows).max().unwrap_or(0)
    }

    /// Appends all events of a row group to `batch`. If its checksum does not match, appends
    /// nothing and returns the damage, which the caller records with [`Self::record_damage`].
    ///
    /// # Errors
    /// Returns [`TraceError::Io`] if the medium fails, or [`TraceError::Damaged`] if a column
    /// cannot be read or decoded.
    pub fn read_group(
        &self,
        number: usize,
        fields: Fields,
        batch: &mut Batch,
    ) -> Result<Result<(), Damage>, TraceError> {
        match OpenGroup::open(self, number, fields)? {
            Ok(mut open) if open.left > 0 => open.read(open.left, batch).map(|_| Ok(())),
            Ok(_) => Ok(Ok(())),
            Err(damage) => Ok(Err(damage)),
        }
    }

    /// Records that a row group was found damaged.
    pub fn record_damage(&self, number: usize, damage: Damage) {
        let found = self.found_damaged.lock();
        found.unwrap_or_else(PoisonError::into_inner).insert(number, damage);
    }
}

/// A reference to a trace, borrowed or shared.
#[derive(Clone)]
pub enum TraceRef<'t> {
    /// A reference that borrows from the owner of the trace.
    Borrowed(&'t Trace),
    /// A reference that shares the ownership of the trace.
    Shared(Arc<Trace>),
}

impl Deref for TraceRef<'_> {
    type Target = Trace;
    fn deref(&self) -> &Trace {
        match self {
            TraceRef::Borrowed(trace) => trace,
            TraceRef::Shared(trace) => trace,
        }
    }
}

impl TraceRowGroup {
    /// Validates metadata that the Parquet library trusts without checking.
    fn check(found: FoundGroup, number: usize, length: u64) -> Result<Self, TraceError> {
        let FoundGroup { metadata, sum } = found;
        let place = || format!("in row group {number}");
        let rows = usize::try_from(metadata.num_rows())
            .ok()
            .filter(|rows| u32::try_from(*rows).is_ok())
            .ok_or_else(|| TraceError::damaged(place(), "its number of rows is impossible"))?;
        let mut columns = [None; Field::ALL.len()];
        for (at, column) in metadata.columns().iter().enumerate() {
            let name = column.column_path().string();
            let Some(field) = Field::ALL.into_iter().find(|field| field.name() == name) else {
                continue;
            };
            if extent_of(column).is_none_or(|extent| extent.end > length) {
                let what = format!("column {name} lies outside the file");
                return Err(TraceError::damaged(place(), what));
            }
            check_kind(field, column)?;
            let descriptor = column.column_descr();
            if descriptor.max_rep_level() > 0 || descriptor.max_def_level() > 1 {
                return Err(TraceError::NotATrace(format!("its column {name} is nested")));
            }
            columns[field.index()] = Some(at);
        }
        for field in Field::ALL.into_iter().filter(|field| field.is_indispensable()) {
            if columns[field.index()].is_none() {
                return Err(TraceError::NotATrace(format!("it has no column {}", field.name())));
            }
        }
        Ok(TraceRowGroup { source: 0, number, metadata, sum, columns, rows })
    }

    /// Verifies the checksum, if there is one; returns the verified bytes if they are few enough
    /// to be held in memory, or the damage if the checksum does not match.
    fn verify(
        &self,
        source: &SharedMedium,
    ) -> Result<Result<Option<HeldBytes>, Damage>, TraceError> {
        let Some(sum) = &self.sum else { return Ok(Ok(None)) };
        let (held, is_intact) = if sum.bytes <= GROUP_HELD_MAX {
            let held = HeldBytes::up_to(source, sum.at, usize::try_from(sum.bytes).unwrap_or(0))?;
            let is_intact = sum.matches(&held.bytes);
            (Some(held), is_intact)
        } else {
            (None, sum.is_intact(source)?)
        };
        Ok(if is_intact { Ok(held) } else { Err(sum.damage(self.source, self.number)) })
    }

    /// Returns the smallest and largest value from the statistics; `None` without statistics.
    fn range(&self, field: Field) -> Option<(u64, u64)> {
        let column = self.metadata.column(self.columns[field.index()]?);
        let (low, high) = match column.statistics()? {
            Statistics::Int64(values) => (*values.min_opt()?, *values.max_opt()?),
            Statistics::Int32(values) => {
                let wide = |value: &i32| i64::from(value.cast_unsigned());
                (wide(values.min_opt()?), wide(values.max_opt()?))
            }
            _ => return None,
        };
        Some((low.cast_unsigned(), high.cast_unsigned()))
    }
}

/// The events of a trace in file order.
pub struct TraceBatches<'t> {
    trace: TraceRef<'t>,
    fields: Fields,
    group: usize,
    open: Option<OpenGroup>,
}

impl<'t> TraceBatches<'t> {
    pub(crate) fn new(trace: TraceRef<'t>, fields: Fields) -> Self {
        TraceBatches { trace, fields, group: 0, open: None }
    }

    /// Appends up to `most` events of one row group to `batch` and returns their number; 0 at the
    /// end. Damaged row groups are skipped and recorded.
    ///
    /// # Errors
    /// Returns [`TraceError::Io`] if the medium fails, or [`TraceError::Damaged`] if a column
    /// cannot be read or decoded.
    pub fn read(&mut self, most: usize, batch: &mut Batch) -> Result<usize, TraceError> {
        loop {
            if let Some(open) = self.open.as_mut().filter(|open| open.left > 0) {
                return open.read(most, batch);
            }
            if self.group == self.trace.groups.len() {
                return Ok(0);
            }
            self.group += 1;
            self.open = match OpenGroup::open(&self.trace, self.group - 1, self.fields)? {
                Ok(open) => Some(open),
                Err(damage) => {
                    self.trace.record_damage(self.group - 1, damage);
                    None
                }
            };
        }
    }

    /// Skips the row groups before this one.
    pub fn skip_to(&mut self, group: usize) {
        self.group = group.min(self.trace.groups.len());
    }

    /// Returns the row group of the next rows.
    pub fn next_group(&self) -> usize {
        match &self.open {
            Some(open) if open.left > 0 => self.group - 1,
            _ => self.group,
        }
    }
}

/// A row group that is being read.
struct OpenGroup {
    number: usize,
    left: usize,
    columns: Vec<OpenColumn>,
}

impl OpenGroup {
    /// Opens a row group; returns the damage if its checksum does not match.
    fn open(
        trace: &Trace,
        number: usize,
        fields: Fields,
    ) -> Result<Result<Self, Damage>, TraceError> {
        let group = &trace.groups[number];
        let source = &trace.sources[group.source];
        let held = match group.verify(source)? {
            Ok(held) => held,
            Err(damage) => return Ok(Err(damage)),
        };
        let (mut columns, memory) = (Vec::new(), PageMemory::new());
        for field in Field::ALL.into_iter().filter(|field| fields.has(*field)) {
            let Some(at) = group.columns[field.index()] else { continue };
            let place = format!("in row group {number}, column {}", field.name());
            let metadata = group.metadata.column(at);
            columns.push(guarded(&place, || {
                OpenColumn::open(source, held.as_ref(), metadata, group.rows, &memory, field)
            })?);
        }
        Ok(Ok(OpenGroup { number, left: group.rows, columns }))
    }

    /// Appends up to `most` events to `batch` and returns their number.
    fn read(&mut self, most: usize, batch: &mut Batch) -> Result<usize, TraceError> {
        let count = most.min(self.left);
        for column in &mut self.columns {
            let place = format!("in row group {}, column {}", self.number, column.field.name());
            let read = guarded(&place, || column.read(count, batch))?;
            if read != count {
                let what = format!("{} rows are missing", count - read);
                return Err(TraceError::damaged(place, what));
            }
        }
        self.left -= count;
        batch.set_length(batch.length + count);
        Ok(count)
    }
}

/// Returns the conditions of a file that records none.
fn assumed_conditions(groups: &[TraceRowGroup], rows: u64) -> CaptureConditions {
    let mut remarks = vec!["The file says nothing about how it was captured.".to_owned()];
    let in_part = ios_without_response(groups, rows);
    if let Some(part) = in_part {
        remarks.push(format!(
            "{} I/Os have no response time, so queue depths are counted: they are those among the \
             I/Os of the file.",
            part.unended
        ));
    }
    let source = "Parquet file of another program".to_owned();
    CaptureConditions { source, in_part, remarks, ..CaptureConditions::default() }
}

/// Returns the number of I/Os without a response time, from the statistics; `None` if all or
/// no I/Os have one, or a row group has no statistics.
fn ios_without_response(groups: &[TraceRowGroup], rows: u64) -> Option<IncompleteIos> {
    let of_group = |group: &TraceRowGroup| {
        let at = group.columns[Field::Response.index()]?;
        group.metadata.column(at).statistics()?.null_count_opt()
    };
    let unended = groups.iter().map(of_group).sum::<Option<u64>>()?;
    (0 < unended && unended < rows).then(|| IncompleteIos { unended, ..IncompleteIos::default() })
}

/// Rejects a column of a wrong type or of an unsupported compression.
fn check_kind(field: Field, column: &ColumnChunkMetaData) -> Result<(), TraceError> {
    let (found, compression) = (column.column_type(), column.compression());
    let (is_fit, wanted) = match field.bits() {
        0 => (found == Physical::BYTE_ARRAY, "text"),
        _ => (matches!(found, Physical::INT32 | Physical::INT64), "integers"),
    };
    let name = field.name();
    if !is_fit {
        let what = format!("its column {name} holds {found} instead of {wanted}");
        return Err(TraceError::NotATrace(what));
    }
    match compression {
        Compression::UNCOMPRESSED
        | Compression::SNAPPY
        | Compression::GZIP(_)
        | Compression::LZ4_RAW
        | Compression::BROTLI(_)
        | Compression::ZSTD(_) => Ok(()),
        other => Err(TraceError::Unsuitable(format!(
            "its column {name} is compressed as {}, which is not read here; write the file with \
             zstd, with snappy, or not compressed",
            other.to_string().split('(').next().unwrap_or_default()
        ))),
    }
}
