//! Imports tables with named columns: text with a header, and Parquet.

use super::columns::import_rows;
use super::input::{EventSink, ImportError, ImportInput, ImportOutcome, ImportResult};
use super::lines::LineReader;
use super::mapping::ColumnMapping;
use super::plan::ColumnPlan;
use super::rows::{LineRows, TableRows};
use crate::error::TraceError;
use crate::parquet::{ForeignTable, SharedMedium, TraceMedium, guarded};
use parquet::basic::{ConvertedType, LogicalType, Type as PhysicalType};
use parquet::file::reader::FileReader;
use parquet::record::Field;
use parquet::record::reader::RowIter;
use parquet::schema::types::{Type, TypePtr};
use std::sync::Arc;

/// Limits below which floating-point numbers of 64 and 32 bits represent every integer.
const EXACT_BELOW: f64 = 9_007_199_254_740_992.0;
const EXACT_BELOW_SINGLE: f64 = 16_777_216.0;

/// Imports a text whose first line names the columns.
pub(super) fn import_text(
    mapping: &ColumnMapping,
    input: ImportInput<'_>,
    sink: &mut EventSink<'_>,
) -> ImportOutcome {
    let mut rows = LineRows::new(&mapping.plan, LineReader::new(input));
    let mut skipped = 0;
    let plan = loop {
        if !rows.advance()? {
            return Err(rows.malformed("expected a line with the names of the columns".into(), 0));
        }
        if rows.number() > mapping.plan.skip {
            break mapping.resolve(&rows.columns()).map_err(|what| rows.malformed(what, 0))?;
        }
        skipped += 1;
    };
    let plan = ColumnPlan { skip: 0, header: Some(false), ..plan };
    let mut imported = import_rows(&plan, &mut rows, sink)?;
    imported.passed_over += skipped + 1;
    imported.records += 1;
    Ok(imported)
}

/// Imports a Parquet file of another program.
///
/// # Errors
/// Returns [`ImportError::Malformed`] if the file is damaged, lacks a column, or has a value that
/// the mapping does not allow; [`ImportError::Unsuitable`] if it has no rows; and the errors of
/// [`import`](super::import).
pub fn import_parquet(
    mapping: &ColumnMapping,
    name: &str,
    medium: impl TraceMedium,
    sink: &mut EventSink<'_>,
) -> Result<ImportResult, ImportError> {
    let at_footer = |what: String| ImportError::malformed(name, "footer".to_owned(), what, 0);
    let source = SharedMedium::new(medium)
        .map_err(|error| ImportError::unreadable(name, "its end".to_owned(), error))?;
    let open = || Ok(Box::new(ForeignTable::open(source)?));
    let reader = guarded("in its footer", open).map_err(|error| at_footer(error.to_string()))?;
    let schema = reader.metadata().file_metadata().schema_descr().root_schema_ptr();
    let is_read = |column: &&TypePtr| mapping.names.iter().any(|name| name == column.name());
    let columns: Vec<TypePtr> = schema.get_fields().iter().filter(is_read).cloned().collect();
    let header: Vec<&str> = columns.iter().map(|column| column.name()).collect();
    // A name that is missing or ambiguous is reported with the names of all columns.
    let all_names: Vec<&str> = schema.get_fields().iter().map(|column| column.name()).collect();
    mapping.resolve(&all_names).map_err(at_footer)?;
    let plan = mapping.resolve(&header).map_err(at_footer)?;
    check_types(&plan, &columns).map_err(at_footer)?;
    let labels = header.iter().map(|name| (*name).to_owned()).collect();
    let projected = || {
        let columns = Type::group_type_builder(schema.name()).with_fields(columns).build()?;
        RowIter::from_file_into(reader).project(Some(columns))
    };
    let iterator =
        guarded("in its schema", projected).map_err(|error| at_footer(error.to_string()))?;
    let plan = ColumnPlan { header: Some(false), skip: 0, ..plan };
    let mut rows =
        ParquetRows { name: name.to_owned(), labels, rows: iterator, texts: Vec::new(), number: 0 };
    let imported = import_rows(&plan, &mut rows, sink)?;
    if imported.events == 0 {
        return Err(ImportError::Unsuitable(format!("{name}: the table has no rows")));
    }
    Ok(imported)
}

/// Rejects nested columns, and times whose type has a different unit.
fn check_types(plan: &ColumnPlan, columns: &[Arc<Type>]) -> Result<(), String> {
    if let Some(nested) = columns.iter().find(|column| !column.is_primitive()) {
        return Err(format!("column {} is nested; it must have one value per row", nested.name()));
    }
    // The library truncates them to milliseconds.
    let is_wide = |column: &&Arc<Type>| column.get_physical_type() == PhysicalType::INT96;
    if let Some(wide) = columns.iter().find(is_wide) {
        return Err(format!(
            "column {} has timestamps of 96 bits, which are not read; store them in 64 bits",
            wide.name()
        ));
    }
    let Some(time) = plan.time else { return Ok(()) };
    let Some(column) = columns.get(time.number - 1) else { return Ok(()) };
    let info = column.get_basic_info();
    let unit = match (info.logical_type_ref(), info.converted_type()) {
        (Some(LogicalType::Timestamp(kind)), _) => match kind.unit {
            parquet::basic::TimeUnit::MILLIS => "ms",
            parquet::basic::TimeUnit::MICROS => "us",
            parquet::basic::TimeUnit::NANOS => "ns",
        },
        // Files of earlier versions have converted types alone.
        (None, ConvertedType::TIMESTAMP_MILLIS) => "ms",
        (None, ConvertedType::TIMESTAMP_MICROS) => "us",
        _ => return Ok(()),
    };
    if unit.parse() != Ok(time.unit) {
        return Err(format!(
            "column {} counts timestamps in {unit}; give unit = \"{unit}\"",
            column.name()
        ));
    }
    Ok(())
}

struct ParquetRows {
    name: String,
    labels: Vec<String>,
    rows: RowIter<'static>,
    texts: Vec<String>,
    number: u64,
}

impl TableRows for ParquetRows {
    fn advance(&mut self) -> Result<bool, ImportError> {
        self.number += 1;
        let next = match guarded("in its rows", || self.rows.next().transpose()) {
            Ok(next) => next,
            Err(TraceError::Io(error)) => {
                return Err(ImportError::unreadable(&self.name, self.place(), error));
            }
            Err(error) => return Err(self.malformed(error.to_string(), self.number - 1)),
        };
        let Some(row) = next else { return Ok(false) };
        self.texts.clear();
        self.texts.extend(row.get_column_iter().map(|(_, field)| csv_text(field)));
        Ok(true)
    }

    fn get(&self, number: usize) -> Option<&str> {
        self.texts.get(number.checked_sub(1)?).map(String::as_str)
    }

    fn width(&self) -> usize {
        self.texts.len()
    }

    fn number(&self) -> u64 {
        self.number
    }

    fn unit(&self) -> &'static str {
        "row"
    }

    fn label(&self, number: usize) -> String {
        format!("column {}", self.labels.get(number - 1).map_or("?", String::as_str))
    }

    fn malformed(&self, what: String, read: u64) -> ImportError {
        ImportError::malformed(&self.name, self.place(), what, read)
    }
}

/// Returns a value as it would be written in a CSV file. A missing value, which pandas stores as
/// NaN in a column of numbers, is empty.
fn csv_text(field: &Field) -> String {
    match field {
        Field::Null => String::new(),
        Field::Str(text) => text.clone(),
        Field::Bytes(bytes) => String::from_utf8_lossy(bytes.data()).into_owned(),
        Field::TimestampMillis(time) | Field::TimestampMicros(time) => time.to_string(),
        Field::Float(value) => csv_number(f64::from(*value), EXACT_BELOW_SINGLE),
        Field::Double(value) => csv_number(*value, EXACT_BELOW),
        other => other.to_string(),
    }
}

/// Formats a number. Numbers of `exact_below` and more get an exponent, which no importer accepts.
fn csv_number(value: f64, exact_below: f64) -> String {
    if value.is_nan() {
        String::new()
    } else if value.abs() < exact_below {
        value.to_string()
    } else {
        format!("{value:e}")
    }
}
