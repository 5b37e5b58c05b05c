//! A column chunk that is being read into a batch. The Parquet library decodes it, a few rows at
//! a time, from pages that [`Packed`] keeps within bounds.

use super::packed::{Packed, PageMemory, has_prefixes};
use super::source::{Held, Source};
use crate::batch::Batch;
use crate::schema::{Field, NARROW, WIDE};
use parquet::basic::{Encoding, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use std::io::{Read, Seek};
use std::sync::Arc;
use steadfast_domain::io_event::Command;
use steadfast_domain::{IoOp, Layer};

/// A column chunk up to this size is read at once.
const HELD_MAX: u64 = 8 << 20;
/// Rows that are decoded at once: few enough for the processor's nearest caches.
const ROWS_AT_ONCE: usize = 1024;
/// Bytes that the texts of a chunk may have in all where each is put together from the one
/// before it.
const TEXTS_MAX: usize = 1 << 30;
/// Bytes of a name that the kernel keeps.
const NAME_MAX: usize = 15;

/// A column chunk that is being read.
pub(super) struct OpenColumn {
    field: Field,
    reader: ColumnReader,
    /// Whether its numbers have 32 bits, whatever the reader decodes.
    is_narrow: bool,
    nullable: bool,
    rows_at_once: usize,
    /// Bytes that its texts may still have.
    text_bytes_left: usize,
}

impl OpenColumn {
    /// Opens the chunk of a row group that has so many rows.
    pub(super) fn open<R: Read + Seek + Send + 'static>(
        source: &Source<R>,
        held: Option<&Held>,
        metadata: &ColumnChunkMetaData,
        rows: usize,
        memory: &PageMemory,
        field: Field,
    ) -> Result<Self> {
        let pages = Box::new(pages(source, held, metadata, rows, memory)?);
        let descriptor = metadata.column_descr_ptr();
        let nullable = descriptor.max_def_level() > 0;
        let has_prefixes = has_prefixes(metadata);
        let reader = if has_only_differences(metadata) {
            // Parquet allows differences no more bits than their column has, but DuckDB writes
            // such of 33 and 34 bits between numbers of 32.
            ColumnReader::Int64ColumnReader(ColumnReaderImpl::new(descriptor, pages))
        } else {
            get_column_reader(descriptor, pages)
        };
        Ok(OpenColumn {
            field,
            reader,
            is_narrow: metadata.column_type() == Physical::INT32,
            nullable,
            // Texts that are put together are copies, each of which may be as long as a page.
            rows_at_once: if has_prefixes { 1 } else { ROWS_AT_ONCE },
            text_bytes_left: if has_prefixes { TEXTS_MAX } else { usize::MAX },
        })
    }

    /// Which it is.
    pub(super) fn field(&self) -> Field {
        self.field
    }

    /// Appends `count` rows to the batch's column; returns how many there were. A column that
    /// so far holds nothing but what an absent one stands for is left out, like that.
    pub(super) fn read(&mut self, count: usize, batch: &mut Batch) -> Result<usize> {
        let before = batch.length;
        let read = self.append(count, batch)?;
        if read.values < read.rows && self.field.indispensable() {
            let missing = read.rows - read.values;
            return Err(ParquetError::General(format!("{missing} rows have no value")));
        }
        if let Some(column) = batch.narrow.get(self.field.index().wrapping_sub(WIDE)) {
            check_range(self.field, column.get(before..).unwrap_or_default())?;
        }
        Ok(read.rows)
    }

    /// Appends rows to the batch's column.
    fn append(&mut self, count: usize, batch: &mut Batch) -> Result<RowsRead> {
        let field = self.field;
        let index = field.index();
        let is_narrow = self.is_narrow;
        let wanted = WantedRows {
            count,
            at_once: self.rows_at_once,
            nullable: self.nullable,
            before: batch.length,
            indispensable: field.indispensable(),
        };
        if index < WIDE {
            let column =
                Column { rows: &mut batch.wide[index], absent: field.when_absent().cast_signed() };
            return match &mut self.reader {
                ColumnReader::Int64ColumnReader(reader) if is_narrow => {
                    column.append(reader, &wanted, |values, wide| {
                        wide.extend(values.iter().map(|value| i64::from(*value as u32)));
                        Ok(())
                    })
                }
                ColumnReader::Int64ColumnReader(reader) => column.append(reader, &wanted, copy),
                ColumnReader::Int32ColumnReader(reader) => {
                    column.append(reader, &wanted, |values, wide| {
                        wide.extend(values.iter().map(|value| i64::from(value.cast_unsigned())));
                        Ok(())
                    })
                }
                _ => Err(unsuitable()),
            };
        }
        if index < WIDE + NARROW {
            let column = Column { rows: &mut batch.narrow[index - WIDE], absent: 0 };
            return match &mut self.reader {
                ColumnReader::Int64ColumnReader(reader) if is_narrow => {
                    column.append(reader, &wanted, |values, narrow| {
                        narrow.extend(values.iter().map(|value| *value as i32));
                        Ok(())
                    })
                }
                ColumnReader::Int64ColumnReader(reader) => {
                    column
                        .append(reader, &wanted, |values, narrow| to_narrow(field, values, narrow))
                }
                ColumnReader::Int32ColumnReader(reader) => column.append(reader, &wanted, copy),
                _ => Err(unsuitable()),
            };
        }
        let rows = &mut batch.names[index - WIDE - NARROW];
        let column = Column { rows, absent: Command::default() };
        let left = &mut self.text_bytes_left;
        match &mut self.reader {
            ColumnReader::ByteArrayColumnReader(reader) => {
                column.append(reader, &wanted, |texts, names| to_names(left, texts, names))
            }
            _ => Err(unsuitable()),
        }
    }
}

fn unsuitable() -> ParquetError {
    ParquetError::General("its type is one that a trace does not have".into())
}

/// Whether a chunk of 32 bits holds nothing but differences; levels have encodings as well.
fn has_only_differences(metadata: &ColumnChunkMetaData) -> bool {
    let is_level = |encoding| encoding == Encoding::RLE || encoding == Encoding::PLAIN;
    metadata.column_type() == Physical::INT32
        && metadata.dictionary_page_offset().is_none()
        && metadata.encodings().any(|encoding| encoding == Encoding::DELTA_BINARY_PACKED)
        && metadata
            .encodings()
            .all(|encoding| encoding == Encoding::DELTA_BINARY_PACKED || is_level(encoding))
}

fn copy<T: Copy>(values: &[T], column: &mut Vec<T>) -> Result<()> {
    column.extend_from_slice(values);
    Ok(())
}

fn to_narrow(field: Field, values: &[i64], narrow: &mut Vec<i32>) -> Result<()> {
    for value in values {
        let number = u32::try_from(*value);
        let number = number.map_err(|_| outside(*value, (1 << field.bits()) - 1))?;
        narrow.push(number.cast_signed());
    }
    Ok(())
}

/// Converts texts to names; `bytes_left` is what they may still have in all.
fn to_names(bytes_left: &mut usize, texts: &[ByteArray], names: &mut Vec<Command>) -> Result<()> {
    for text in texts {
        *bytes_left = bytes_left.checked_sub(text.len()).ok_or_else(|| {
            ParquetError::General(format!("its texts have more than {} MiB", TEXTS_MAX >> 20))
        })?;
        let text = text.data();
        let mut name = Command::default();
        let length = text.len().min(NAME_MAX);
        name.0[..length].copy_from_slice(&text[..length]);
        names.push(name);
    }
    Ok(())
}

/// Rows that are to be read.
struct WantedRows {
    count: usize,
    at_once: usize,
    nullable: bool,
    /// Rows that the batch has already.
    before: usize,
    /// Whether the column must not be left out.
    indispensable: bool,
}

/// Rows that were read, and how many of them have a value.
#[derive(Default)]
struct RowsRead {
    rows: usize,
    values: usize,
}

/// A column of a batch; no rows while all of them hold `absent`.
struct Column<'b, C> {
    rows: &'b mut Vec<C>,
    absent: C,
}

impl<C: Copy + PartialEq> Column<'_, C> {
    /// Appends rows that `convert` turns into the column's type.
    fn append<T: DataType>(
        self,
        reader: &mut ColumnReaderImpl<T>,
        wanted: &WantedRows,
        mut convert: impl FnMut(&[T::T], &mut Vec<C>) -> Result<()>,
    ) -> Result<RowsRead> {
        let mut read = RowsRead::default();
        let (mut values, mut levels, mut converted) = (Vec::new(), Vec::new(), Vec::new());
        while read.rows < wanted.count {
            values.clear();
            levels.clear();
            converted.clear();
            let most = (wanted.count - read.rows).min(wanted.at_once);
            let told = wanted.nullable.then_some(&mut levels);
            let (rows, known, _) = reader.read_records(most, told, None, &mut values)?;
            if rows == 0 {
                break;
            }
            let is_left_out = self.rows.is_empty() && !wanted.indispensable;
            if known == rows && !is_left_out {
                convert(&values, self.rows)?;
            } else {
                convert(&values, &mut converted)?;
                if !is_left_out || converted.iter().any(|value| *value != self.absent) {
                    self.rows.resize(wanted.before + read.rows, self.absent);
                    let mut values = converted.iter().copied();
                    levels.resize(rows, 1);
                    self.rows.extend(levels.iter().map(|level| match level {
                        0 => self.absent,
                        _ => values.next().unwrap_or(self.absent),
                    }));
                }
            }
            read.rows += rows;
            read.values += known;
        }
        Ok(read)
    }
}

/// Refuses numbers that the column cannot hold: of more bits than a batch keeps of them,
/// and operations and layers that there are not.
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

/// The pages of a chunk: in memory, where it was read already or is short.
fn pages<R: Read + Seek + Send + 'static>(
    source: &Source<R>,
    held: Option<&Held>,
    metadata: &ColumnChunkMetaData,
    rows: usize,
    memory: &PageMemory,
) -> Result<Packed> {
    let (start, length) = metadata.byte_range();
    let held = match held {
        Some(held) => Some(held.clone()),
        None if length <= HELD_MAX => Some(Held::new(source, start, usize::try_from(length)?)?),
        None => None,
    };
    match held {
        Some(held) => Packed::open(Arc::new(held), metadata, rows, memory.clone()),
        None => Packed::open(Arc::new(source.clone()), metadata, rows, memory.clone()),
    }
}
