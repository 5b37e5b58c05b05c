//! Reads a trace file: only the columns asked for, batch by batch.

use super::footer::{Footer, footer};
use super::recovery::Recovery;
use super::schema::{Field, Fields, WIDE};
use super::source::{Held, Source};
use crate::batch::Batch;
use crate::error::TraceError;
use crate::order::IssueOrder;
use parquet::column::page::PageReader;
use parquet::column::reader::{
    ColumnReader, ColumnReaderImpl, get_column_reader, get_typed_column_reader,
};
use parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::serialized_reader::SerializedPageReader;
use parquet::file::statistics::Statistics;
use std::io::{Read, Seek};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use steadfast_domain::CaptureConditions;
use steadfast_domain::io_event::Command;

/// A column chunk up to this size is read at once.
const HELD_MAX: u64 = 8 << 20;

/// A trace, opened: one file, or the files of a capture that was rotated.
pub struct Trace<R> {
    pub(super) sources: Vec<Source<R>>,
    pub(super) groups: Vec<Group>,
    pub(super) conditions: CaptureConditions,
    pub(super) start: Option<CaptureConditions>,
    pub(super) recovery: Option<Recovery>,
    pub(super) rows: u64,
}

/// A row group and where its columns are.
pub(super) struct Group {
    /// Index of the file that it is in.
    pub(super) source: usize,
    metadata: RowGroupMetaData,
    columns: [Option<usize>; Field::ALL.len()],
    rows: usize,
}

impl<R: Read + Seek + Send + 'static> Trace<R> {
    /// Opens a trace. A file whose writer was killed has no footer; it is read
    /// up to its last complete row group, and [`Self::recovery`] says so.
    ///
    /// # Errors
    /// Where the medium fails or holds no trace.
    pub fn open(medium: R) -> Result<Self, TraceError> {
        let source = Source::new(medium)?;
        let found = footer(&source)?;
        if found.conditions.as_ref().is_some_and(|conditions| conditions.step_ns.is_some()) {
            let what = "its capture kept the I/O streams of every capture step and no single I/O; \
                        trace streams, steps, map, compare and report and workload derive read it";
            return Err(TraceError::Unsuitable(what.into()));
        }
        Self::assemble(source, found)
    }

    fn assemble(source: Source<R>, found: Footer) -> Result<Self, TraceError> {
        let Footer { groups, conditions, start, recovery } = found;
        let length = source.length();
        let checked: Result<Vec<Group>, TraceError> = groups
            .into_iter()
            .enumerate()
            .map(|(number, metadata)| Group::check(metadata, number, length))
            .collect();
        let groups = checked?;
        let rows = groups.iter().map(|group| group.rows as u64).sum();
        let conditions = conditions.unwrap_or_else(|| CaptureConditions {
            source: "Parquet file of another program".into(),
            remarks: vec!["The file says nothing about how it was captured.".into()],
            ..CaptureConditions::default()
        });
        Ok(Trace { sources: vec![source], groups, conditions, start, recovery, rows })
    }

    /// How the trace came about.
    pub fn conditions(&self) -> &CaptureConditions {
        &self.conditions
    }
    /// What was known of it when it was begun; `None` in other programs' files.
    pub fn start_conditions(&self) -> Option<&CaptureConditions> {
        self.start.as_ref()
    }
    /// What could not be read because the writer was killed.
    pub fn recovery(&self) -> Option<&Recovery> {
        self.recovery.as_ref()
    }
    /// Events in it.
    pub fn rows(&self) -> u64 {
        self.rows
    }
    /// The earliest and the latest issue time; `None` where the file does not
    /// tell without being read, or is empty.
    pub fn span_ns(&self) -> Option<(u64, u64)> {
        let mut span: Option<(u64, u64)> = None;
        for group in &self.groups {
            let (low, high) = group.range(Field::Issued)?;
            span = Some(span.map_or((low, high), |(from, to)| (from.min(low), to.max(high))));
        }
        span
    }
    /// A byte offset that no event reaches beyond, from the file's statistics.
    pub fn end_of_range(&self) -> Option<u64> {
        let mut end = None;
        for group in &self.groups {
            let (_, offset) = group.range(Field::Offset)?;
            let (_, bytes) = group.range(Field::Bytes)?;
            end = end.max(Some(offset.saturating_add(bytes)));
        }
        end
    }
    /// The earliest issue time of each row group and all after it: nothing
    /// earlier is still to come. 0 where the file does not tell.
    pub(crate) fn earliest_to_come(&self) -> Vec<u64> {
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

    /// The events as they stand in the file.
    pub fn batches(&self, fields: Fields) -> Batches<'_, R> {
        Batches { trace: self, fields, group: 0, left: 0, columns: Vec::new() }
    }
    /// The events in the order in which they were issued.
    pub fn in_issue_order(&self, fields: Fields) -> IssueOrder<'_, R> {
        IssueOrder::new(self, fields)
    }
}

impl Group {
    /// Refuses what would lead the Parquet library astray.
    fn check(metadata: RowGroupMetaData, number: usize, length: u64) -> Result<Self, TraceError> {
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
            let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
            let end = u64::try_from(start).ok().zip(u64::try_from(column.compressed_size()).ok());
            if end.and_then(|(from, size)| from.checked_add(size)).is_none_or(|end| end > length) {
                let what = format!("column {name} lies outside the file");
                return Err(TraceError::damaged(place(), what));
            }
            let descriptor = column.column_descr();
            if descriptor.max_rep_level() > 0 || descriptor.max_def_level() > 1 {
                return Err(TraceError::NotATrace(format!("its column {name} is nested")));
            }
            columns[field.index()] = Some(at);
        }
        for field in Field::ALL.into_iter().filter(|field| field.indispensable()) {
            if columns[field.index()].is_none() {
                return Err(TraceError::NotATrace(format!("it has no column {}", field.name())));
            }
        }
        Ok(Group { source: 0, metadata, columns, rows })
    }

    /// Smallest and largest value, where the statistics tell.
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

/// Calls into the Parquet library, which answers some damaged files with a
/// panic: that is an error like any other here.
pub(crate) fn guarded<T>(
    place: &str,
    call: impl FnOnce() -> parquet::errors::Result<T>,
) -> Result<T, TraceError> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(TraceError::damaged(place, error)),
        Err(_) => Err(TraceError::damaged(place, "the Parquet library could not read it")),
    }
}

/// The events of a trace in file order.
pub struct Batches<'t, R> {
    trace: &'t Trace<R>,
    fields: Fields,
    group: usize,
    left: usize,
    columns: Vec<OpenColumn>,
}

impl<R: Read + Seek + Send + 'static> Batches<'_, R> {
    /// Appends up to `most` events to `batch`, all of one row group; 0 when
    /// there are no more.
    ///
    /// # Errors
    /// Where the medium fails or the file is damaged.
    pub fn read(&mut self, most: usize, batch: &mut Batch) -> Result<usize, TraceError> {
        while self.left == 0 {
            if self.group == self.trace.groups.len() {
                return Ok(0);
            }
            self.open_group()?;
        }
        let count = most.min(self.left);
        for column in &mut self.columns {
            let place = format!("in row group {}, column {}", self.group - 1, column.field.name());
            let read = guarded(&place, || column.read(count, batch))?;
            if read != count {
                let what = format!("{} rows are missing", count - read);
                return Err(TraceError::damaged(place, what));
            }
        }
        self.left -= count;
        batch.fill_absent(self.fields, batch.length + count);
        Ok(count)
    }

    /// The row group that the next rows come from.
    pub(crate) fn next_group(&self) -> usize {
        if self.left > 0 { self.group - 1 } else { self.group }
    }

    fn open_group(&mut self) -> Result<(), TraceError> {
        let trace = self.trace;
        let group = &trace.groups[self.group];
        self.columns.clear();
        for field in Field::ALL.into_iter().filter(|field| self.fields.has(*field)) {
            let Some(at) = group.columns[field.index()] else { continue };
            let place = format!("in row group {}, column {}", self.group, field.name());
            let source = &trace.sources[group.source];
            let column = guarded(&place, || OpenColumn::open(source, group, field, at))?;
            self.columns.push(column);
        }
        self.left = group.rows;
        self.group += 1;
        Ok(())
    }
}

/// A column chunk that is being read.
struct OpenColumn {
    field: Field,
    reader: Reader,
    levels: Option<Vec<i16>>,
}

enum Reader {
    Wide(Box<ColumnReaderImpl<Int64Type>>, Vec<i64>),
    Narrow(Box<ColumnReaderImpl<Int32Type>>, Vec<i32>),
    Text(Box<ColumnReaderImpl<ByteArrayType>>, Vec<ByteArray>),
}

impl OpenColumn {
    fn open<R: Read + Seek + Send + 'static>(
        source: &Source<R>,
        group: &Group,
        field: Field,
        at: usize,
    ) -> parquet::errors::Result<Self> {
        let metadata = group.metadata.column(at);
        let (start, length) = metadata.byte_range();
        let pages: Box<dyn PageReader> = if length <= HELD_MAX {
            let held = Held::new(source, start, usize::try_from(length)?)?;
            Box::new(SerializedPageReader::new(Arc::new(held), metadata, group.rows, None)?)
        } else {
            let shared = Arc::new(source.clone());
            Box::new(SerializedPageReader::new(shared, metadata, group.rows, None)?)
        };
        let descriptor = metadata.column_descr_ptr();
        let levels = (descriptor.max_def_level() > 0).then(Vec::new);
        let reader = match get_column_reader(descriptor, pages) {
            reader @ ColumnReader::Int64ColumnReader(_) if field.bits() > 0 => {
                Reader::Wide(Box::new(get_typed_column_reader(reader)), Vec::new())
            }
            reader @ ColumnReader::Int32ColumnReader(_) if field.bits() > 0 => {
                Reader::Narrow(Box::new(get_typed_column_reader(reader)), Vec::new())
            }
            reader @ ColumnReader::ByteArrayColumnReader(_) if field.bits() == 0 => {
                Reader::Text(Box::new(get_typed_column_reader(reader)), Vec::new())
            }
            _ => {
                let what = format!("it is a {}, not what a trace has", metadata.column_type());
                return Err(parquet::errors::ParquetError::General(what));
            }
        };
        Ok(OpenColumn { field, reader, levels })
    }

    /// Appends `count` rows to the batch's column; returns how many there were.
    fn read(&mut self, count: usize, batch: &mut Batch) -> parquet::errors::Result<usize> {
        let index = self.field.index();
        let mut levels = self.levels.take();
        if let Some(levels) = &mut levels {
            levels.clear();
        }
        let absent = self.field.when_absent();
        let (rows, values) = match &mut self.reader {
            Reader::Wide(reader, values) => {
                values.clear();
                let (rows, count, _) = reader.read_records(count, levels.as_mut(), None, values)?;
                if index < WIDE {
                    spread(&mut batch.wide[index], values, &levels, absent.cast_signed(), |v| *v);
                } else {
                    let narrow = |v: &i64| u32::try_from(*v).unwrap_or(u32::MAX).cast_signed();
                    spread(&mut batch.narrow[index - WIDE], values, &levels, 0, narrow);
                }
                (rows, count)
            }
            Reader::Narrow(reader, values) => {
                values.clear();
                let (rows, count, _) = reader.read_records(count, levels.as_mut(), None, values)?;
                if index < WIDE {
                    let wide = |v: &i32| i64::from(v.cast_unsigned());
                    spread(&mut batch.wide[index], values, &levels, absent.cast_signed(), wide);
                } else {
                    spread(&mut batch.narrow[index - WIDE], values, &levels, 0, |v| *v);
                }
                (rows, count)
            }
            Reader::Text(reader, values) => {
                values.clear();
                let (rows, count, _) = reader.read_records(count, levels.as_mut(), None, values)?;
                spread(&mut batch.commands, values, &levels, Command::default(), command);
                (rows, count)
            }
        };
        self.levels = levels;
        if values < rows && self.field.indispensable() {
            let what = format!("{} rows have no value", rows - values);
            return Err(parquet::errors::ParquetError::General(what));
        }
        Ok(rows)
    }
}

/// Appends values, with `absent` where the level says that there is none.
fn spread<F, T: Copy>(
    column: &mut Vec<T>,
    values: &[F],
    levels: &Option<Vec<i16>>,
    absent: T,
    convert: impl Fn(&F) -> T,
) {
    match levels {
        Some(levels) if levels.len() > values.len() => {
            let mut values = values.iter();
            column.extend(levels.iter().map(|level| match level {
                0 => absent,
                _ => values.next().map_or(absent, &convert),
            }));
        }
        _ => column.extend(values.iter().map(convert)),
    }
}

fn command(name: &ByteArray) -> Command {
    let mut command = Command::default();
    let bytes = name.data().iter().take(15);
    for (to, from) in command.0.iter_mut().zip(bytes) {
        *to = *from;
    }
    command
}
