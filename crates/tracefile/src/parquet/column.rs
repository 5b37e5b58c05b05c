//! Reads a column chunk into a batch. Nearly all chunks are decoded here; the Parquet library
//! decodes those of other encodings or types.

use super::packed::{PackedPages, PageMemory};
use super::pages::{ColumnPages, are_decoded_here};
use super::source::{HeldBytes, SharedMedium};
use super::value::command;
use crate::batch::Batch;
use crate::schema::{Field, NARROW, WIDE};
use parquet::basic::Type as Physical;
use parquet::column::page::PageReader;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type::DataType;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use std::io::{Read, Seek};
use std::sync::Arc;
use steadfast_domain::io_event::CommandName;
use steadfast_domain::{IoOp, Layer};

/// Largest column chunk that is read in one piece, in bytes.
const HELD_MAX: u64 = 8 << 20;
/// Rows converted at a time, few enough for the L1 cache.
const CONVERTED_AT_ONCE: usize = 1024;

/// A column chunk that is being read.
pub(super) struct OpenColumn {
    field: Field,
    reader: ColumnDecoder,
}

enum ColumnDecoder {
    Wide(ColumnPages<i64>),
    Narrow(ColumnPages<i32>),
    Names(ColumnPages<CommandName>),
    Library(Box<LibraryDecoder>),
}

impl OpenColumn {
    /// Opens the chunk of a row group of `rows` rows.
    pub(super) fn open<R: Read + Seek + Send + 'static>(
        source: &SharedMedium<R>,
        held: Option<&HeldBytes>,
        metadata: &ColumnChunkMetaData,
        rows: usize,
        memory: &PageMemory,
        field: Field,
    ) -> Result<Self> {
        let nullable = metadata.column_descr().max_def_level() > 0;
        let pages = pages(source, held, metadata, rows, memory)?;
        let reader = match (metadata.column_type(), field.bits()) {
            (Physical::INT64, 64) if are_decoded_here(metadata) => {
                ColumnDecoder::Wide(ColumnPages::new(pages, nullable))
            }
            (Physical::INT32, 8..=32) if are_decoded_here(metadata) => {
                ColumnDecoder::Narrow(ColumnPages::new(pages, nullable))
            }
            (Physical::BYTE_ARRAY, 0) if are_decoded_here(metadata) => {
                ColumnDecoder::Names(ColumnPages::new(pages, nullable))
            }
            _ => ColumnDecoder::Library(Box::new(LibraryDecoder::new(metadata, Box::new(pages)))),
        };
        Ok(OpenColumn { field, reader })
    }

    /// Returns the field that the column holds.
    pub(super) fn field(&self) -> Field {
        self.field
    }

    /// Appends up to `count` rows to the batch's column; returns the number of rows. A column is
    /// left empty as long as it holds only the value that stands for an absent one, if this can
    /// be seen from runs in its pages.
    pub(super) fn read(&mut self, count: usize, batch: &mut Batch) -> Result<usize> {
        let before = batch.length;
        let absent = if batch.rows_of(self.field) == 0 && !self.field.indispensable() {
            self.pass_over_absent(count)?
        } else {
            0
        };
        if absent == count && count > 0 {
            return Ok(count);
        }
        batch.fill(self.field, before + absent);
        let (rows, values) = self.append(count - absent, batch)?;
        if values < rows && self.field.indispensable() {
            return Err(ParquetError::General(format!("{} rows have no value", rows - values)));
        }
        if let Some(column) = batch.narrow.get(self.field.index().wrapping_sub(WIDE)) {
            check_range(self.field, &column[before..])?;
        }
        Ok(absent + rows)
    }

    /// Skips rows that hold the value of an absent column, as far as this can be seen without
    /// decoding each; returns their number.
    fn pass_over_absent(&mut self, count: usize) -> Result<usize> {
        let absent = self.field.when_absent().cast_signed();
        match &mut self.reader {
            ColumnDecoder::Wide(pages) => pages.pass_over(count, absent),
            ColumnDecoder::Narrow(pages) => pages.pass_over(count, 0),
            ColumnDecoder::Names(pages) => pages.pass_over(count, CommandName::default()),
            ColumnDecoder::Library(_) => Ok(0),
        }
    }

    /// Appends rows to the batch's column; returns the number of rows, and of those with a value.
    fn append(&mut self, count: usize, batch: &mut Batch) -> Result<(usize, usize)> {
        let index = self.field.index();
        let absent = self.field.when_absent().cast_signed();
        match &mut self.reader {
            ColumnDecoder::Wide(pages) => pages.read(count, &mut batch.wide[index], absent),
            ColumnDecoder::Narrow(pages) => pages.read(count, &mut batch.narrow[index - WIDE], 0),
            ColumnDecoder::Names(pages) => {
                let names = &mut batch.names[index - WIDE - NARROW];
                pages.read(count, names, CommandName::default())
            }
            ColumnDecoder::Library(library) => library.read(self.field, count, batch),
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

fn outside(number: i64, largest: i64) -> ParquetError {
    ParquetError::General(format!("the value {number} is not in 0 to {largest}"))
}

/// Opens the pages of a chunk, in memory if the chunk is held already or short.
pub(super) fn pages<R: Read + Seek + Send + 'static>(
    source: &SharedMedium<R>,
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

/// A column chunk that the Parquet library decodes.
struct LibraryDecoder {
    reader: ColumnReader,
    nullable: bool,
}

impl LibraryDecoder {
    fn new(metadata: &ColumnChunkMetaData, pages: Box<dyn PageReader>) -> Self {
        let descriptor = metadata.column_descr_ptr();
        let nullable = descriptor.max_def_level() > 0;
        LibraryDecoder { reader: get_column_reader(descriptor, pages), nullable }
    }

    /// Appends rows to the batch's column; returns the number of rows, and of those with a value.
    fn read(&mut self, field: Field, count: usize, batch: &mut Batch) -> Result<(usize, usize)> {
        let index = field.index();
        let absent = field.when_absent().cast_signed();
        let wanted = (count, self.nullable);
        match &mut self.reader {
            ColumnReader::Int64ColumnReader(reader) if index < WIDE => {
                converted(reader, wanted, (&mut batch.wide[index], absent), |value| *value)
            }
            ColumnReader::Int64ColumnReader(reader) if index < WIDE + NARROW => {
                let mut beyond = None;
                let narrow = |v: &i64| {
                    let number = u32::try_from(*v).ok();
                    beyond = beyond.or(number.is_none().then_some(*v));
                    number.unwrap_or(0).cast_signed()
                };
                let read = converted(reader, wanted, (&mut batch.narrow[index - WIDE], 0), narrow);
                beyond.map_or(read, |number| Err(outside(number, (1 << field.bits()) - 1)))
            }
            ColumnReader::Int32ColumnReader(reader) if index < WIDE => {
                let wide = |v: &i32| i64::from(v.cast_unsigned());
                converted(reader, wanted, (&mut batch.wide[index], absent), wide)
            }
            ColumnReader::Int32ColumnReader(reader) if index < WIDE + NARROW => {
                converted(reader, wanted, (&mut batch.narrow[index - WIDE], 0), |value| *value)
            }
            ColumnReader::ByteArrayColumnReader(reader) if index >= WIDE + NARROW => {
                let names = (&mut batch.names[index - WIDE - NARROW], CommandName::default());
                converted(reader, wanted, names, |name| command(name.data()))
            }
            _ => Err(ParquetError::General("its type is one that a trace does not have".into())),
        }
    }
}

/// Appends rows, converted from the type of the file; returns the number of rows, and of
/// those with a value.
fn converted<T: DataType, C: Copy>(
    reader: &mut ColumnReaderImpl<T>,
    (count, nullable): (usize, bool),
    (column, absent): (&mut Vec<C>, C),
    mut convert: impl FnMut(&T::T) -> C,
) -> Result<(usize, usize)> {
    let (mut rows, mut known) = (0, 0);
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    while rows < count {
        values.clear();
        levels.clear();
        let most = (count - rows).min(CONVERTED_AT_ONCE);
        let told = nullable.then_some(&mut levels);
        let (read, found, _) = reader.read_records(most, told, None, &mut values)?;
        if read == 0 {
            break;
        }
        (rows, known) = (rows + read, known + found);
        let mut values = values.iter();
        if levels.len() > values.len() {
            column.extend(levels.iter().map(|level| match level {
                0 => absent,
                _ => values.next().map_or(absent, &mut convert),
            }))
        } else {
            column.extend(values.map(&mut convert))
        }
    }
    Ok((rows, known))
}
