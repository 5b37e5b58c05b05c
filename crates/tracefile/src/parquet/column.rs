//! Reads a column chunk into a batch. The Parquet library decodes numbers; texts reach it as
//! numbers too (see [`super::page_retyping`]), because it allocates a reference for each text.

use super::packed::{PackedPages, PageMemory};
use super::page_retyping::{NameTable, RetypedPages, Retyping, SharedNames};
use super::source::{HeldBytes, SharedMedium};
use crate::batch::Batch;
use crate::schema::{Field, NARROW, WIDE};
use parquet::basic::{Encoding, Repetition, Type as Physical};
use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::{DataType, Int32Type, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::schema::types::{ColumnDescriptor, Type};
use std::sync::{Arc, PoisonError};
use steadfast_domain::io_event::CommandName;
use steadfast_domain::{IoOp, Layer};

/// Largest column chunk that is read in one piece, in bytes.
const HELD_MAX: u64 = 8 << 20;
/// Rows decoded at a time, few enough for the L1 cache.
const ROWS_AT_ONCE: usize = 1024;

/// The rows that a call appended to a column.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowsRead {
    pub rows: usize,
    /// Number of rows that have a value.
    pub known: usize,
}

/// A column chunk that is being read.
pub(super) struct OpenColumn {
    pub field: Field,
    decoder: ColumnDecoder,
}

enum ColumnDecoder {
    Wide(NumberColumn<Int64Type>),
    Narrow(NumberColumn<Int32Type>),
    /// Numbers of 32 bits, decoded with 64.
    Widened(NumberColumn<Int64Type>),
    Names(NameColumn),
}

impl OpenColumn {
    /// Opens the chunk of a row group of `rows` rows.
    pub(super) fn open(
        source: &SharedMedium,
        held: Option<&HeldBytes>,
        metadata: &ColumnChunkMetaData,
        rows: usize,
        memory: &PageMemory,
        field: Field,
    ) -> Result<Self> {
        let packed = pages(source, held, metadata, rows, memory)?;
        let decoder = match (metadata.column_type(), field.bits()) {
            (Physical::BYTE_ARRAY, 0) => ColumnDecoder::Names(NameColumn::new(metadata, packed)?),
            (Physical::INT64, 8..) => ColumnDecoder::Wide(NumberColumn::new(metadata, packed)?),
            (Physical::INT32, 8..) if has_deltas(metadata) => {
                ColumnDecoder::Widened(NumberColumn::widened(metadata, packed)?)
            }
            (Physical::INT32, 8..) => ColumnDecoder::Narrow(NumberColumn::new(metadata, packed)?),
            _ => return Err(ParquetError::General("a trace has no column of its type".into())),
        };
        Ok(OpenColumn { field, decoder })
    }

    /// Appends up to `count` rows to the batch's column; returns the number of rows. A column is
    /// left empty as long as it holds only the value that stands for an absent one.
    pub(super) fn read(&mut self, count: usize, batch: &mut Batch) -> Result<usize> {
        let (before, mut rows) = (batch.length, 0);
        while rows < count {
            let is_empty = batch.rows_of(self.field) == 0;
            let read = self.append((count - rows).min(ROWS_AT_ONCE), batch)?;
            if read.rows == 0 {
                break;
            }
            if self.field.is_indispensable() {
                if read.known < read.rows {
                    let missing = read.rows - read.known;
                    return Err(ParquetError::General(format!("{missing} rows have no value")));
                }
            } else if is_empty {
                batch.keep_if_recorded(self.field, before + rows);
            }
            rows += read.rows;
        }
        let narrow = batch.narrow.get(self.field.index().wrapping_sub(WIDE));
        if let Some(numbers) = narrow.and_then(|column| column.get(before..)) {
            check_range(self.field, numbers)?;
        }
        Ok(rows)
    }

    /// Appends up to `count` rows to the batch's column.
    fn append(&mut self, count: usize, batch: &mut Batch) -> Result<RowsRead> {
        let (index, bits) = (self.field.index(), self.field.bits());
        let absent = self.field.when_absent().cast_signed();
        match &mut self.decoder {
            ColumnDecoder::Wide(numbers) if bits == 64 => {
                numbers.read(count, &mut batch.wide[index], absent)
            }
            ColumnDecoder::Wide(numbers) => {
                let mut too_large = None;
                let narrow = |number: &i64| match u32::try_from(*number) {
                    Ok(narrow) => narrow.cast_signed(),
                    Err(_) => {
                        too_large.get_or_insert(*number);
                        0
                    }
                };
                let read = numbers.read_as(count, &mut batch.narrow[index - WIDE], 0, narrow);
                match too_large {
                    Some(number) => Err(outside(number, (1 << bits) - 1)),
                    None => read,
                }
            }
            ColumnDecoder::Widened(numbers) if bits == 64 => {
                let wide = |number: &i64| i64::from(*number as u32);
                numbers.read_as(count, &mut batch.wide[index], absent, wide)
            }
            ColumnDecoder::Widened(numbers) => {
                let narrow = |number: &i64| *number as i32;
                numbers.read_as(count, &mut batch.narrow[index - WIDE], 0, narrow)
            }
            ColumnDecoder::Narrow(numbers) if bits == 64 => {
                let wide = |number: &i32| i64::from(number.cast_unsigned());
                numbers.read_as(count, &mut batch.wide[index], absent, wide)
            }
            ColumnDecoder::Narrow(numbers) => {
                numbers.read(count, &mut batch.narrow[index - WIDE], 0)
            }
            ColumnDecoder::Names(names) => {
                names.read(count, &mut batch.names[index - WIDE - NARROW])
            }
        }
    }
}

/// Rejects numbers out of range: those with more bits than a batch keeps, and unknown
/// operations and layers.
fn check_range(field: Field, numbers: &[i32]) -> Result<()> {
    let largest = match field {
        Field::Op => IoOp::ALL.len() as u32 - 1,
        Field::Layer => Layer::FileSystem as u32,
        _ if field.bits() == 16 => u32::from(u16::MAX),
        _ => return Ok(()),
    };
    let found = numbers.iter().fold(0, |most, number| number.cast_unsigned().max(most));
    if found <= largest { Ok(()) } else { Err(outside(found.into(), largest.into())) }
}

/// Returns whether a chunk may hold differences. Parquet allows them no more bits than the column
/// has, but DuckDB writes differences of 33 and 34 bits between numbers of 32.
fn has_deltas(metadata: &ColumnChunkMetaData) -> bool {
    metadata.encodings().any(|encoding| encoding == Encoding::DELTA_BINARY_PACKED)
}

/// Appends up to `count` rows of a column of 32 bits, with `absent` for a missing value.
pub(super) fn read_narrow(
    metadata: &ColumnChunkMetaData,
    packed: PackedPages,
    count: usize,
    column: &mut Vec<i32>,
    absent: i32,
) -> Result<RowsRead> {
    if has_deltas(metadata) && metadata.column_type() == Physical::INT32 {
        let mut numbers = NumberColumn::widened(metadata, packed)?;
        return numbers.read_as(count, column, absent, |number| *number as i32);
    }
    NumberColumn::<Int32Type>::new(metadata, packed)?.read(count, column, absent)
}

fn outside(number: i64, largest: i64) -> ParquetError {
    ParquetError::General(format!("the value {number} is not in 0 to {largest}"))
}

/// Opens the pages of a chunk, in memory if the chunk is held already or short.
pub(super) fn pages(
    source: &SharedMedium,
    held: Option<&HeldBytes>,
    metadata: &ColumnChunkMetaData,
    rows: usize,
    memory: &PageMemory,
) -> Result<PackedPages> {
    let (start, length) = metadata.byte_range();
    let held = match held {
        Some(held) => Some(held.clone()),
        None if length <= HELD_MAX => {
            Some(HeldBytes::new(source, start, usize::try_from(length)?)?)
        }
        None => None,
    };
    match held {
        Some(held) => PackedPages::open(Arc::new(held), metadata, rows, memory.clone()),
        None => PackedPages::open(Arc::new(source.clone()), metadata, rows, memory.clone()),
    }
}

pub(super) struct NumberColumn<D: DataType> {
    reader: ColumnReaderImpl<D>,
    nullable: bool,
    /// Definition levels of the rows read last: 1 for each row that has a value.
    levels: Vec<i16>,
    /// Scratch memory for values that are converted.
    values: Vec<D::T>,
}

impl<D: DataType<T: Copy>> NumberColumn<D> {
    pub(super) fn new(metadata: &ColumnChunkMetaData, packed: PackedPages) -> Result<Self> {
        if metadata.column_type() != D::get_physical_type() {
            return Err(ParquetError::General("it has another type".into()));
        }
        Self::retyped(metadata, packed, Retyping::None)
    }

    /// Opens a column chunk that is not nested, whose pages get values of this type.
    fn retyped(
        metadata: &ColumnChunkMetaData,
        packed: PackedPages,
        retyping: Retyping,
    ) -> Result<Self> {
        let descriptor = metadata.column_descr();
        let nullable = descriptor.max_def_level() > 0;
        let column = Type::primitive_type_builder(descriptor.name(), D::get_physical_type());
        let repetition = if nullable { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        let column = Arc::new(column.with_repetition(repetition).build()?);
        let path = descriptor.path().clone();
        let descriptor = ColumnDescriptor::new(column, i16::from(nullable), 0, path);
        let pages = Box::new(RetypedPages::new(packed, nullable, retyping));
        let reader = ColumnReaderImpl::new(Arc::new(descriptor), pages);
        Ok(NumberColumn { reader, nullable, levels: Vec::new(), values: Vec::new() })
    }

    /// Appends up to `count` rows, with `absent` for a missing value.
    pub(super) fn read(
        &mut self,
        count: usize,
        column: &mut Vec<D::T>,
        absent: D::T,
    ) -> Result<RowsRead> {
        let begin = column.len();
        self.levels.clear();
        let levels = self.nullable.then_some(&mut self.levels);
        let (rows, known, _) = self.reader.read_records(count, levels, None, column)?;
        spread_values(column, begin, &self.levels, absent);
        Ok(RowsRead { rows, known })
    }

    /// Appends converted rows like [`Self::read`].
    fn read_as<C: Copy>(
        &mut self,
        count: usize,
        column: &mut Vec<C>,
        absent: C,
        convert: impl FnMut(&D::T) -> C,
    ) -> Result<RowsRead> {
        let begin = column.len();
        self.levels.clear();
        self.values.clear();
        let levels = self.nullable.then_some(&mut self.levels);
        let (rows, known, _) = self.reader.read_records(count, levels, None, &mut self.values)?;
        column.extend(self.values.iter().map(convert));
        spread_values(column, begin, &self.levels, absent);
        Ok(RowsRead { rows, known })
    }
}

impl NumberColumn<Int64Type> {
    /// Opens a column chunk of 32 bits, to be decoded with 64.
    fn widened(metadata: &ColumnChunkMetaData, packed: PackedPages) -> Result<Self> {
        Self::retyped(metadata, packed, Retyping::Widened)
    }
}

/// Moves the values from `begin` on to the rows that have one. Without levels all rows do.
fn spread_values<T: Copy>(column: &mut Vec<T>, begin: usize, levels: &[i16], absent: T) {
    let mut left = column.len() - begin;
    if levels.len() <= left {
        return;
    }
    column.resize(begin + levels.len(), absent);
    let column = &mut column[begin..];
    for (row, level) in levels.iter().enumerate().rev() {
        column[row] = match (level, left.checked_sub(1)) {
            (1, Some(last)) => {
                left = last;
                column[last]
            }
            _ => absent,
        };
    }
}

pub(super) struct NameColumn {
    keys: NumberColumn<Int32Type>,
    names: SharedNames,
}

impl NameColumn {
    pub(super) fn new(metadata: &ColumnChunkMetaData, packed: PackedPages) -> Result<Self> {
        if metadata.column_type() != Physical::BYTE_ARRAY {
            return Err(ParquetError::General("it has another type".into()));
        }
        let names = SharedNames::default();
        let keys = NumberColumn::retyped(metadata, packed, Retyping::Keys(Arc::clone(&names)))?;
        Ok(NameColumn { keys, names })
    }

    /// Appends up to `count` rows, with an empty name for a missing value.
    pub(super) fn read(&mut self, count: usize, column: &mut Vec<CommandName>) -> Result<RowsRead> {
        let absent = CommandName::default();
        // The names of a page are known only after the page was read.
        let mut keys: Vec<i32> = std::mem::take(&mut self.keys.values);
        keys.clear();
        let read = self.keys.read(count, &mut keys, NameTable::NO_KEY)?;
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        column.extend(keys.iter().map(|key| names.get(*key).unwrap_or(absent)));
        names.drop_used();
        self.keys.values = keys;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::super::page_retyping::PageQueue;
    use super::*;
    use crate::testing::{FileStyle, number, write_column};
    use bytes::Bytes;
    use parquet::column::page::Page;
    use parquet::data_type::{ByteArray, ByteArrayType};
    use parquet::file::reader::FileReader;
    use parquet::file::serialized_reader::SerializedFileReader;
    use parquet::file::writer::SerializedFileWriter;

    const ROWS: u64 = 2003;

    /// Appends up to some number of rows of an open column.
    type ReadFn<T> = Box<dyn FnMut(usize, &mut Vec<T>) -> Result<RowsRead>>;

    /// Writes a file of one column; a nullable column has rows without a value.
    fn file<D: DataType>(
        style: FileStyle,
        value: fn(u64) -> D::T,
    ) -> (SerializedFileReader<Bytes>, Vec<Option<D::T>>) {
        let repetition = if style.nullable { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        let column = Type::primitive_type_builder("v", D::get_physical_type());
        let column = column.with_repetition(repetition).build().unwrap();
        let schema = Type::group_type_builder("s").with_fields(vec![Arc::new(column)]);
        let properties = match style.encoding {
            Encoding::RLE_DICTIONARY => style.properties(),
            other => style.properties().set_encoding(other),
        };
        let schema = Arc::new(schema.build().unwrap());
        let properties = Arc::new(properties.build());
        let values = (0..ROWS).map(|at| style.is_known(at).then(|| value(number(3, at))));
        let values: Vec<Option<D::T>> = values.collect();
        let mut writer = SerializedFileWriter::new(Vec::new(), schema, properties).unwrap();
        let mut group = writer.next_row_group().unwrap();
        write_column::<D>(&mut group, &values, style.nullable);
        group.close().unwrap();
        let bytes = Bytes::from(writer.into_inner().unwrap());
        (SerializedFileReader::new(bytes).unwrap(), values)
    }

    /// Reads all rows of a column whose pages were changed.
    fn read<T>(
        pages: Vec<Page>,
        at_once: usize,
        open: impl Fn(PackedPages) -> ReadFn<T>,
    ) -> Result<Vec<T>> {
        let mut column = Vec::new();
        let mut read = open(PackedPages::unpacked(Box::new(PageQueue(pages.into()))));
        loop {
            let before = column.len();
            let rows = read(at_once, &mut column)?.rows;
            assert_eq!(column.len(), before + rows);
            if rows < at_once {
                return Ok(column);
            }
        }
    }

    /// Checks that a column is read, some rows at a time, and that pages which end early or have
    /// changed bytes are errors or other values, but never fewer rows.
    fn check<T: PartialEq + std::fmt::Debug>(
        style: FileStyle,
        file: &SerializedFileReader<Bytes>,
        rows: &[T],
        open: impl Fn(&ColumnChunkMetaData, PackedPages) -> ReadFn<T>,
    ) {
        let open = |packed| open(file.metadata().row_group(0).column(0), packed);
        let pages = file.get_row_group(0).unwrap().get_column_page_reader(0).unwrap();
        let pages: Vec<Page> = pages.collect::<Result<_>>().unwrap();
        for at_once in [1, 31, 1000, 1 << 20] {
            assert!(read(pages.clone(), at_once, open).unwrap() == rows, "{style:?} {at_once}");
        }
        for which in 0..pages.len().min(3) {
            let bytes = pages[which].buffer();
            for at in (0..bytes.len()).filter(|at| *at < 40 || at % 97 == 0) {
                let changed = |bytes: Vec<u8>| {
                    let mut changed = pages.clone();
                    let (Page::DataPage { buf, .. }
                    | Page::DataPageV2 { buf, .. }
                    | Page::DictionaryPage { buf, .. }) = &mut changed[which];
                    *buf = bytes.into();
                    let read = || read(changed, 1 << 20, open);
                    super::super::guarded("here", read).ok()
                };
                let mut flipped = bytes.to_vec();
                flipped[at] ^= 1 << (at % 8) | 0x80;
                assert!(changed(flipped).is_none_or(|found| found.len() == rows.len()));
                // The padding of the last block may be missing.
                let is_right = changed(bytes[..at].to_vec()).is_none_or(|found| found == rows);
                assert!(is_right, "{style:?}, page {which} ends at byte {at}");
            }
        }
    }

    fn check_numbers<D: DataType<T: Copy>>(style: FileStyle, value: fn(u64) -> D::T, absent: D::T) {
        let (file, values) = file::<D>(style, value);
        let rows: Vec<D::T> = values.into_iter().map(|value| value.unwrap_or(absent)).collect();
        check(style, &file, &rows, |chunk, packed| {
            let mut column = NumberColumn::<D>::new(chunk, packed).unwrap();
            Box::new(move |count, rows| column.read(count, rows, absent))
        });
    }

    #[test]
    fn every_encoding_is_read_and_no_row_of_a_damaged_page_is_lost() {
        for style in FileStyle::all() {
            if style.is_for::<Int64Type>() {
                check_numbers::<Int64Type>(style, u64::cast_signed, -1);
                check_numbers::<Int32Type>(style, |number| number as i32, 0);
            }
            if style.is_for::<ByteArrayType>() {
                let (file, values) = file::<ByteArrayType>(style, |number| {
                    format!("kworker/{}", number % 99 * 10_000_007).as_str().into()
                });
                let name = |text: ByteArray| CommandName::new(text.as_utf8().unwrap());
                let rows = values.into_iter().map(|text| text.map_or(CommandName::default(), name));
                let rows: Vec<CommandName> = rows.collect();
                check(style, &file, &rows, |chunk, packed| {
                    let mut column = NameColumn::new(chunk, packed).unwrap();
                    Box::new(move |count, rows| column.read(count, rows))
                });
            }
        }
    }

    #[test]
    fn a_column_is_kept_from_its_first_recorded_value_on() {
        for first in [0, 1, 700, 1024, 4000, u64::MAX] {
            let events = |from: u64, to: u64| {
                let event = |n| steadfast_domain::IoEvent {
                    issued_ns: n,
                    queued_ns: u64::from(n >= first) * n % 5,
                    response_ns: if n < first { u64::MAX } else { n },
                    pid: u32::from(n >= first),
                    command: CommandName::new(if n < first { "" } else { "a" }),
                    ..steadfast_domain::IoEvent::default()
                };
                (from..to).map(event).collect::<Vec<_>>()
            };
            let conditions = steadfast_domain::CaptureConditions::default();
            let mut writer =
                crate::TraceWriter::new(Vec::new(), &conditions).unwrap().with_rows_per_group(2000);
            writer.write(&events(0, 5000)).unwrap();
            let bytes = std::io::Cursor::new(writer.finish(conditions).unwrap());
            let trace = crate::Trace::open(bytes).unwrap();
            for at_once in [300, 3000, 5000] {
                let mut batch = Batch::default();
                let mut batches = trace.batches(crate::Fields::ALL);
                while batches.read(at_once, &mut batch).unwrap() > 0 {
                    for field in [Field::Response, Field::Pid, Field::Command] {
                        let is_recorded = batch.len() as u64 > first;
                        let rows = if is_recorded { batch.len() } else { 0 };
                        assert_eq!(batch.rows_of(field), rows, "{field:?} {first} {at_once}");
                    }
                }
                let found: Vec<_> = (0..batch.len()).map(|row| batch.event(row)).collect();
                assert!(found == events(0, 5000), "{first} {at_once}");
            }
        }
    }
}
