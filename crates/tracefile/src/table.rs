//! Plain tables as Parquet for DuckDB, pandas and Spark: named columns of one type each, in
//! which any value may be missing. The meaning of the contents is up to the caller.

use crate::error::TraceError;
use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{Type, TypePtr};
use std::io::Write;
use std::sync::Arc;
use steadfast_domain::findings::{Cell, Row, Table};

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnType {
    /// Text.
    Text,
    /// Integers of 64 bits.
    Integer,
    /// Floating-point numbers.
    Number,
    /// Booleans.
    Flag,
    /// Times, in milliseconds since 1970 (UTC).
    Moment,
}

/// One value of a table.
#[derive(Debug, Clone, PartialEq)]
pub enum TableValue {
    /// Text.
    Text(String),
    /// An integer, or a time in milliseconds since 1970 (UTC).
    Integer(i64),
    /// A floating-point number.
    Number(f64),
    /// A boolean.
    Flag(bool),
    /// No value; null in the file.
    Missing,
}

/// A table that is being written. Every method returns [`TraceError::Encode`] if writing fails.
pub struct TableWriter<W: Write + Send> {
    parquet: SerializedFileWriter<W>,
    kinds: Vec<ColumnType>,
    rows: u64,
}

impl<W: Write + Send> TableWriter<W> {
    /// Starts a table with these columns and these entries of the file's metadata.
    pub fn new(
        sink: W,
        columns: &[(&str, ColumnType)],
        metadata: &[(&str, String)],
    ) -> Result<Self, TraceError> {
        let level = ZstdLevel::try_new(3).map_err(TraceError::Encode)?;
        let entries =
            metadata.iter().map(|(key, text)| KeyValue::new((*key).to_owned(), text.clone()));
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(level))
            .set_key_value_metadata(Some(entries.collect()))
            .build();
        let parquet = SerializedFileWriter::new(sink, schema(columns)?, Arc::new(properties));
        let parquet = parquet.map_err(TraceError::Encode)?;
        let kinds = columns.iter().map(|(_, kind)| *kind).collect();
        Ok(TableWriter { parquet, kinds, rows: 0 })
    }

    /// Writes the rows as one row group. A row has one value per column; a value that is absent or
    /// of another type becomes null.
    pub fn add(&mut self, rows: &[Vec<TableValue>]) -> Result<(), TraceError> {
        if rows.is_empty() {
            return Ok(());
        }
        let mut group = self.parquet.next_row_group().map_err(TraceError::Encode)?;
        for (at, kind) in self.kinds.iter().enumerate() {
            let Some(mut column) = group.next_column().map_err(TraceError::Encode)? else { break };
            let values = rows.iter().map(|row| row.get(at).unwrap_or(&TableValue::Missing));
            write(&mut column, *kind, values).map_err(TraceError::Encode)?;
            column.close().map_err(TraceError::Encode)?;
        }
        group.close().map_err(TraceError::Encode)?;
        self.rows += rows.len() as u64;
        Ok(())
    }

    /// Returns the number of rows written so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Finishes the file and returns the sink.
    pub fn finish(self) -> Result<W, TraceError> {
        self.parquet.into_inner().map_err(TraceError::Encode)
    }
}

/// Rows per row group of a table of findings.
const ROW_GROUP: usize = 100_000;

/// Returns a table of findings as Parquet. A column is numeric unless one of its cells is text.
///
/// # Errors
/// Returns [`TraceError::Encode`] if writing fails.
pub fn table_file(table: &Table, software: &str) -> Result<Vec<u8>, TraceError> {
    let mut columns = vec![(table.corner.as_str(), ColumnType::Text)];
    for (at, column) in table.columns.iter().enumerate() {
        columns.push((column.name.as_str(), cell_type(table, at)));
    }
    let metadata =
        [("steadfast.table", table.id.clone()), ("steadfast.version", software.to_owned())];
    let mut writer = TableWriter::new(Vec::new(), &columns, &metadata)?;
    for part in table.rows.chunks(ROW_GROUP) {
        writer.add(&part.iter().map(row_values).collect::<Vec<_>>())?;
    }
    writer.finish()
}

/// Returns the type of the column with this index, which does not count the heads of the rows.
fn cell_type(table: &Table, at: usize) -> ColumnType {
    let is_text = table.rows.iter().any(|row| matches!(row.cells.get(at), Some(Cell::Text(_))));
    if is_text { ColumnType::Text } else { ColumnType::Number }
}

/// Returns the head of a row, then its cells.
fn row_values(row: &Row) -> Vec<TableValue> {
    let mut values = vec![TableValue::Text(row.head.clone())];
    values.extend(row.cells.iter().map(cell_value));
    values
}

fn cell_value(cell: &Cell) -> TableValue {
    match cell {
        Cell::Number { value, .. } if value.is_finite() => TableValue::Number(*value),
        Cell::Text(text) => TableValue::Text(text.clone()),
        Cell::Number { .. } | Cell::Missing => TableValue::Missing,
    }
}

fn schema(columns: &[(&str, ColumnType)]) -> Result<TypePtr, TraceError> {
    let fields = columns.iter().map(|(name, kind)| {
        let (physical, logical) = match kind {
            ColumnType::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            ColumnType::Integer => (Physical::INT64, None),
            ColumnType::Number => (Physical::DOUBLE, None),
            ColumnType::Flag => (Physical::BOOLEAN, None),
            ColumnType::Moment => {
                (Physical::INT64, Some(LogicalType::timestamp(true, TimeUnit::MILLIS)))
            }
        };
        Type::primitive_type_builder(name, physical)
            .with_logical_type(logical)
            .with_repetition(Repetition::OPTIONAL)
            .build()
            .map(Arc::new)
    });
    let fields = fields.collect::<Result<Vec<_>, _>>().map_err(TraceError::Encode)?;
    let schema = Type::group_type_builder("table").with_fields(fields).build();
    schema.map(Arc::new).map_err(TraceError::Encode)
}

fn write<'v>(
    column: &mut SerializedColumnWriter<'_>,
    kind: ColumnType,
    values: impl Iterator<Item = &'v TableValue>,
) -> parquet::errors::Result<()> {
    match kind {
        ColumnType::Text => write_values::<ByteArrayType>(column, values, |value| match value {
            TableValue::Text(text) => Some(ByteArray::from(text.as_str())),
            _ => None,
        }),
        ColumnType::Integer | ColumnType::Moment => {
            write_values::<Int64Type>(column, values, |value| match value {
                TableValue::Integer(number) => Some(*number),
                _ => None,
            })
        }
        ColumnType::Number => write_values::<DoubleType>(column, values, |value| match value {
            TableValue::Number(number) => Some(*number),
            _ => None,
        }),
        ColumnType::Flag => write_values::<BoolType>(column, values, |value| match value {
            TableValue::Flag(flag) => Some(*flag),
            _ => None,
        }),
    }
}

/// Writes converted values; a value that `convert` returns `None` for becomes null.
fn write_values<'v, T: DataType>(
    column: &mut SerializedColumnWriter<'_>,
    values: impl Iterator<Item = &'v TableValue>,
    convert: impl Fn(&TableValue) -> Option<T::T>,
) -> parquet::errors::Result<()> {
    let mut definition_levels = Vec::new();
    let mut present = Vec::new();
    for value in values.map(convert) {
        definition_levels.push(i16::from(value.is_some()));
        present.extend(value);
    }
    column.typed::<T>().write_batch(&present, Some(&definition_levels), None).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;

    #[test]
    fn values_are_read_as_written_and_absent_ones_are_null() {
        let columns = [
            ("name", ColumnType::Text),
            ("ios", ColumnType::Integer),
            ("iops", ColumnType::Number),
            ("whole", ColumnType::Flag),
        ];
        let metadata = [("software", "x 1".to_owned())];
        let mut table = TableWriter::new(Vec::new(), &columns, &metadata).unwrap();
        let complete = vec![
            TableValue::Text("a".into()),
            TableValue::Integer(10_007),
            TableValue::Number(0.5),
            TableValue::Flag(true),
        ];
        let partial = vec![TableValue::Missing, TableValue::Missing, TableValue::Integer(7)];
        table.add(&[complete, partial]).unwrap();
        table.add(&[]).unwrap();
        assert_eq!(table.rows(), 2);
        let bytes = table.finish().unwrap();
        let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
        let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
        let values = |at: usize| -> Vec<Field> {
            rows[at].get_column_iter().map(|(_, field)| field.clone()).collect()
        };
        let first =
            [Field::Str("a".into()), Field::Long(10_007), Field::Double(0.5), Field::Bool(true)];
        assert_eq!(values(0), first);
        assert_eq!(values(1), [Field::Null, Field::Null, Field::Null, Field::Null]);
    }
}
