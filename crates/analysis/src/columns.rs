//! Typed columns of a listing, each described once. Terminal tables, report tables and JSON are
//! selections of these columns.

use schemars::{Schema, json_schema};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Value, json};
use steadfast_domain::findings::{Cell, Row};

/// Reads the value of a column from a row, in its base unit: times in nanoseconds, sizes in bytes,
/// shares as fractions of 1. Only the values of the variants `Maybe...` can be unknown.
pub enum ColumnValue<T> {
    /// A whole number.
    Whole(fn(&T) -> u64),
    /// A whole number or nothing.
    MaybeWhole(fn(&T) -> Option<u64>),
    /// A real number; never infinite or NaN.
    Real(fn(&T) -> f64),
    /// A real number or nothing.
    MaybeReal(fn(&T) -> Option<f64>),
    /// A text.
    Text(fn(&T) -> String),
    /// A text or nothing.
    MaybeText(fn(&T) -> Option<String>),
    /// True or false; tables show `yes` or an empty cell.
    Flag(fn(&T) -> bool),
    /// A time span as (begin, end), or nothing. Only JSON shows it.
    MaybeSpan(fn(&T) -> Option<(u64, u64)>),
}

/// Format of a printed value. A number in a variant is its count of decimals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueFormat {
    /// The value unchanged.
    Plain(u8),
    /// A fraction of 1, as a percentage.
    Percent(u8),
    /// Bytes or bytes per second, in decimal megabytes.
    Megabytes(u8),
    /// Nanoseconds, in milliseconds.
    Milliseconds,
    /// Nanoseconds, in seconds.
    Seconds,
}

/// A column of a listing whose rows are `T`.
pub struct ListingColumn<T: 'static> {
    /// Name of the JSON field; `response.mean_ns` is a field of the object `response`.
    field: &'static str,
    /// Heading of the column.
    pub head: &'static str,
    /// Sentences that say what the value is, without the unit that the format implies.
    meaning: &'static str,
    print: ValueFormat,
    value: ColumnValue<T>,
}

impl<T> Clone for ColumnValue<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for ColumnValue<T> {}

impl<T> Clone for ListingColumn<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for ListingColumn<T> {}

impl<T> ListingColumn<T> {
    /// Returns whether the values are texts.
    pub const fn is_text(&self) -> bool {
        matches!(self.value, ColumnValue::Text(_) | ColumnValue::MaybeText(_))
    }
    /// Creates a column that only tables have.
    pub const fn shown(head: &'static str, print: ValueFormat, value: ColumnValue<T>) -> Self {
        Self::new("", head, "", print, value)
    }
    /// Creates a column of tables and JSON.
    pub const fn new(
        field: &'static str,
        head: &'static str,
        meaning: &'static str,
        print: ValueFormat,
        value: ColumnValue<T>,
    ) -> Self {
        ListingColumn { field, head, meaning, print, value }
    }
    /// Returns this column with another heading.
    pub const fn headed(self, head: &'static str) -> Self {
        ListingColumn { head, ..self }
    }
    /// Returns this column with another format.
    pub const fn printed(self, print: ValueFormat) -> Self {
        ListingColumn { print, ..self }
    }

    /// Returns the cell of a report table.
    pub fn cell(&self, row: &T) -> Cell {
        let number = |value: Option<f64>| self.print.cell(value);
        match self.value {
            ColumnValue::Whole(value) => number(Some(value(row) as f64)),
            ColumnValue::MaybeWhole(value) => number(value(row).map(|value| value as f64)),
            ColumnValue::Real(value) => number(Some(value(row))),
            ColumnValue::MaybeReal(value) => number(value(row)),
            ColumnValue::Text(value) => Cell::known(Some(value(row))),
            ColumnValue::MaybeText(value) => Cell::known(value(row)),
            ColumnValue::Flag(value) => Cell::known(Some(if value(row) { "yes" } else { "" })),
            ColumnValue::MaybeSpan(_) => Cell::Missing,
        }
    }

    /// Returns the text of a cell in a terminal table; a dash stands for an unknown value.
    pub fn text(&self, row: &T) -> String {
        let exact = match self.value {
            _ if self.print != ValueFormat::Plain(0) => None,
            ColumnValue::Whole(value) => Some(value(row)),
            ColumnValue::MaybeWhole(value) => value(row),
            _ => None,
        };
        match self.cell(row) {
            Cell::Number { value, decimals, .. } => exact.map_or_else(
                || format!("{value:.*}", decimals_shown(value, decimals)),
                |exact| exact.to_string(),
            ),
            Cell::Text(text) => text,
            Cell::Missing => "–".to_owned(),
        }
    }

    fn json(&self, row: &T) -> Value {
        match self.value {
            ColumnValue::Whole(value) => value(row).into(),
            ColumnValue::MaybeWhole(value) => value(row).into(),
            ColumnValue::Real(value) => value(row).into(),
            ColumnValue::MaybeReal(value) => value(row).into(),
            ColumnValue::Text(value) => value(row).into(),
            ColumnValue::MaybeText(value) => value(row).into(),
            ColumnValue::Flag(value) => value(row).into(),
            ColumnValue::MaybeSpan(value) => json!(value(row)),
        }
    }

    fn schema(&self) -> Schema {
        let unit = match self.print {
            ValueFormat::Plain(_) => "",
            ValueFormat::Percent(_) => " A fraction of 1.",
            ValueFormat::Megabytes(_) if self.field.ends_with("per_second") => {
                " In bytes per second."
            }
            ValueFormat::Megabytes(_) => " In bytes.",
            ValueFormat::Milliseconds | ValueFormat::Seconds => " In nanoseconds.",
        };
        let whole = json_schema!({ "type": "integer", "minimum": 0 });
        let mut schema = match self.value {
            ColumnValue::Whole(_) => whole,
            ColumnValue::MaybeWhole(_) => {
                json_schema!({ "type": ["integer", "null"], "minimum": 0 })
            }
            ColumnValue::Real(_) => json_schema!({ "type": "number" }),
            ColumnValue::MaybeReal(_) => json_schema!({ "type": ["number", "null"] }),
            ColumnValue::Text(_) => json_schema!({ "type": "string" }),
            ColumnValue::MaybeText(_) => json_schema!({ "type": ["string", "null"] }),
            ColumnValue::Flag(_) => json_schema!({ "type": "boolean" }),
            ColumnValue::MaybeSpan(_) => json_schema!({
                "type": ["array", "null"], "items": whole, "minItems": 2, "maxItems": 2,
            }),
        };
        schema.insert(
            "description".to_owned(),
            format!("{}{unit}", self.meaning.trim_start()).into(),
        );
        schema
    }
}

/// Returns the decimals of a printed value: as many as the column has, or as many as two
/// significant digits need if the value is below the last of these decimals.
fn decimals_shown(value: f64, decimals: u8) -> usize {
    let decimals = usize::from(decimals);
    let size = value.abs();
    if decimals == 0 || size == 0.0 || size >= 10f64.powi(-(decimals as i32)) {
        return decimals;
    }
    let first_digit = (-size.log10()).ceil() as usize;
    (first_digit + 1).min(9)
}

impl ValueFormat {
    fn cell(self, value: Option<f64>) -> Cell {
        let (decimals, factor, divisor) = match self {
            ValueFormat::Plain(decimals) => (decimals, 1.0, 1.0),
            ValueFormat::Percent(decimals) => (decimals, 100.0, 1.0),
            ValueFormat::Megabytes(decimals) => (decimals, 1.0, 1e6),
            ValueFormat::Milliseconds => (3, 1.0, 1e6),
            ValueFormat::Seconds => (4, 1.0, 1e9),
        };
        Cell::number(value.map(|value| value * factor / divisor), decimals)
    }
}

/// Returns the headings of some columns.
pub fn heads<T>(columns: &[ListingColumn<T>]) -> impl Iterator<Item = &'static str> {
    columns.iter().map(|column| column.head)
}

/// Returns the cells of a row; all cells are missing if `row` is `None`.
pub fn cells<T>(columns: &[ListingColumn<T>], row: Option<&T>) -> impl Iterator<Item = Cell> {
    columns.iter().map(move |column| row.map_or(Cell::Missing, |row| column.cell(row)))
}

/// Returns a row of a report table.
pub fn table_row<T>(head: impl Into<String>, columns: &[ListingColumn<T>], row: &T) -> Row {
    Row::new(head, cells(columns, Some(row)))
}

/// A row that serializes to a JSON object with one field per column.
#[derive(Clone)]
pub struct JsonRow<T: 'static> {
    columns: &'static [ListingColumn<T>],
    /// The row.
    pub row: T,
}

impl<T> JsonRow<T> {
    /// Creates a row with these columns.
    pub fn new(columns: &'static [ListingColumn<T>], row: T) -> Self {
        JsonRow { columns, row }
    }
}

impl<T> Serialize for JsonRow<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize(self.columns, &self.row, serializer)
    }
}

/// Writes a row as a JSON object with one field per column.
///
/// # Errors
/// Returns the error of the serializer.
pub fn serialize<T, S: Serializer>(
    columns: &[ListingColumn<T>],
    row: &T,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    JsonFields { columns, row, within: 0 }.serialize(serializer)
}

/// Returns the JSON schema of a row. Every column is required; an unknown value is null.
pub fn schema<T>(columns: &[ListingColumn<T>]) -> Schema {
    let mut schema = json_schema!({ "type": "object" });
    for column in columns {
        let parts: Vec<&str> = column.field.split('.').collect();
        insert(&mut schema, &parts, column.schema());
    }
    schema
}

/// Adds a field to the schema of an object, together with the objects that contain it.
fn insert(object: &mut Schema, path: &[&str], leaf: Schema) {
    let [name, rest @ ..] = path else { return };
    let mut field = match object.pointer(&format!("/properties/{name}")) {
        Some(there) => Schema::try_from(there.clone()).unwrap_or_default(),
        None if rest.is_empty() => leaf.clone(),
        None => json_schema!({ "type": "object" }),
    };
    insert(&mut field, rest, leaf);
    let whole = object.ensure_object();
    let required = whole.entry("required").or_insert_with(|| Vec::<String>::new().into());
    if let Some(required) = required.as_array_mut()
        && !required.iter().any(|there| there == name)
    {
        required.push((*name).into());
    }
    let properties = whole.entry("properties").or_insert_with(|| serde_json::Map::new().into());
    if let Some(properties) = properties.as_object_mut() {
        properties.insert((*name).to_owned(), field.to_value());
    }
}

/// Adjacent fields of one object. All their names share a prefix of `within` bytes, the path of the
/// object.
struct JsonFields<'a, T: 'static> {
    columns: &'a [ListingColumn<T>],
    row: &'a T,
    within: usize,
}

impl<T> Serialize for JsonFields<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let name = |column: &ListingColumn<T>| &column.field[self.within..];
        let object =
            |column: &ListingColumn<T>| name(column).split_once('.').map(|(object, _)| object);
        for same in self.columns.chunk_by(|a, b| object(a).is_some() && object(a) == object(b)) {
            let Some(first) = same.first() else { continue };
            match object(first) {
                Some(object) => {
                    let within = self.within + object.len() + 1;
                    map.serialize_entry(
                        object,
                        &JsonFields { columns: same, row: self.row, within },
                    )?;
                }
                None => map.serialize_entry(name(first), &first.json(self.row))?,
            }
        }
        map.end()
    }
}

/// Defines the columns that a row type has in JSON, with `JsonSchema` and `Serialize` by them. Each
/// column is its name, field, heading, format and value; its doc comment is its description in the
/// schema. The columns of content figures may follow.
macro_rules! json_columns {
    ($row:ident $(+ $content:expr)?; $(
        $(#[doc = $meaning:literal])+
        $name:ident = $field:literal, $head:literal, $print:expr, $value:expr;
    )*) => {
        impl $row {
            $(
                $(#[doc = $meaning])+
                const $name: ListingColumn<$row> =
                    ListingColumn::new($field, $head, concat!($($meaning),+), $print, $value);
            )*
            /// All columns that JSON has.
            pub const ALL: &'static [ListingColumn<$row>] = &[
                $(Self::$name,)*
                $($content[0], $content[1], $content[2], $content[3], $content[4], $content[5],)?
            ];
        }

        impl schemars::JsonSchema for $row {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($row).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                $crate::columns::schema(Self::ALL)
            }
        }

        impl serde::Serialize for $row {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                $crate::columns::serialize(Self::ALL, self, serializer)
            }
        }
    };
}

/// A selection of the columns of `Self`.
macro_rules! columns {
    ($($name:ident),* $(,)?) => {
        [$(Self::$name),*]
    };
}

pub(crate) use {columns, json_columns};

#[cfg(test)]
mod tests {
    use super::ColumnValue::*;
    use super::ValueFormat::*;
    use super::*;

    #[test]
    fn a_small_value_keeps_two_digits() {
        let shown = |value: f64, decimals| format!("{value:.*}", decimals_shown(value, decimals));
        assert_eq!(shown(0.0, 3), "0.000");
        assert_eq!(shown(0.0006, 3), "0.00060");
        assert_eq!((shown(0.0655, 1), shown(0.14, 1)), ("0.066".to_owned(), "0.1".to_owned()));
        assert_eq!(shown(0.000_041, 3), "0.000041");
        assert_eq!(shown(0.033, 1), "0.033");
        assert_eq!(shown(0.4, 0), "0");
    }

    struct Drink {
        name: &'static str,
        poured: u64,
        took_ns: Option<u64>,
        share: f64,
    }

    json_columns! {
        Drink;
        /// Name.
        NAME = "drink", "Drink", Plain(0), Text(|d| d.name.to_owned());
        /// Cups.
        POURED = "poured", "Poured", Plain(0), Whole(|d| d.poured);
        /// Mean time,
        /// if known.
        MEAN = "time.mean_ns", "ms", Milliseconds, MaybeWhole(|d| d.took_ns);
        /// Longest time.
        MAX = "time.max_ns", "max", Milliseconds, Whole(|_| 7);
        /// Share of all.
        SHARE = "share", "%", Percent(1), Real(|d| d.share);
    }

    #[test]
    fn a_column_is_described_once_and_printed_in_three_ways() {
        let tea = Drink { name: "tea", poured: u64::MAX, took_ns: Some(1_500_000), share: 0.25 };
        let texts: Vec<String> = Drink::ALL.iter().map(|column| column.text(&tea)).collect();
        assert_eq!(texts, ["tea", "18446744073709551615", "1.500", "0.0000070", "25.0"]);
        assert_eq!(Drink::SHARE.cell(&tea), Cell::number(Some(25.0), 1));
        let json = serde_json::to_string(&tea).unwrap();
        let expected = r#"{"drink":"tea","poured":18446744073709551615,"time":{"mean_ns":1500000,"max_ns":7},"share":0.25}"#;
        assert_eq!(json, expected);
        let none = Drink { name: "", poured: 0, took_ns: None, share: f64::NAN };
        let share = Drink::SHARE.headed("Share").printed(Plain(2));
        assert_eq!((share.head, share.text(&none)), ("Share", "–".to_owned()));
        assert_eq!(Drink::MEAN.text(&none), "–");
    }

    #[test]
    fn a_schema_has_the_type_and_the_unit_of_each_column() {
        let schema = schema(Drink::ALL).to_value();
        let time = &schema["properties"]["time"];
        assert_eq!(time["required"], json!(["mean_ns", "max_ns"]));
        let mean = json!({
            "type": ["integer", "null"], "minimum": 0, "description": "Mean time, if known. In nanoseconds.",
        });
        assert_eq!(time["properties"]["mean_ns"], mean);
        let share = json!({ "type": "number", "description": "Share of all. A fraction of 1." });
        assert_eq!(schema["properties"]["share"], share);
    }
}
