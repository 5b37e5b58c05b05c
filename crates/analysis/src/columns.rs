//! Typed columns of a listing, each described once. Terminal tables, report tables and JSON are
//! selections of these columns.

use schemars::{Schema, json_schema};
use serde::ser::{Serialize, SerializeMap, Serializer};
use steadfast_domain::findings::{Cell, Row};

/// A value in its base unit: times in nanoseconds, sizes in bytes, shares as fractions of 1. `None`
/// is an unknown value.
#[derive(Debug, Clone, PartialEq)]
pub enum ListingValue {
    /// A whole number.
    Whole(Option<u64>),
    /// A real number.
    Real(Option<f64>),
    /// A text.
    Text(Option<String>),
    /// A time span as (begin, end).
    Span(Option<(u64, u64)>),
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
#[derive(Debug)]
pub struct ListingColumn<T: 'static> {
    /// Name of the JSON field; `response.mean_ns` is a field of the object `response`.
    pub field: &'static str,
    /// Heading of the column.
    pub head: &'static str,
    print: ValueFormat,
    value: fn(&T) -> ListingValue,
}

impl<T> Clone for ListingColumn<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for ListingColumn<T> {}

impl<T> ListingColumn<T> {
    /// Creates a column.
    pub const fn new(
        field: &'static str,
        head: &'static str,
        print: ValueFormat,
        value: fn(&T) -> ListingValue,
    ) -> Self {
        ListingColumn { field, head, print, value }
    }
    /// Returns this column with another heading.
    pub const fn headed(self, head: &'static str) -> Self {
        ListingColumn { field: self.field, head, print: self.print, value: self.value }
    }
    /// Returns this column with another format.
    pub const fn printed(self, print: ValueFormat) -> Self {
        ListingColumn { field: self.field, head: self.head, print, value: self.value }
    }

    /// Returns the cell of a report table.
    pub fn cell(&self, row: &T) -> Cell {
        let decimals = match self.print {
            ValueFormat::Plain(decimals)
            | ValueFormat::Percent(decimals)
            | ValueFormat::Megabytes(decimals) => decimals,
            ValueFormat::Milliseconds => 3,
            ValueFormat::Seconds => 4,
        };
        match (self.value)(row) {
            ListingValue::Whole(value) => {
                Cell::number(value.map(|value| self.print.scaled(value as f64)), decimals)
            }
            ListingValue::Real(value) => {
                Cell::number(value.map(|value| self.print.scaled(value)), decimals)
            }
            ListingValue::Text(text) => Cell::known(text),
            ListingValue::Span(_) => Cell::Missing,
        }
    }

    /// Returns the text of a cell in a terminal table; a dash stands for an unknown value.
    pub fn text(&self, row: &T) -> String {
        if let (ValueFormat::Plain(0), ListingValue::Whole(Some(exact))) =
            (self.print, (self.value)(row))
        {
            return exact.to_string();
        }
        match self.cell(row) {
            Cell::Number { value, decimals, .. } => format!("{value:.*}", usize::from(decimals)),
            Cell::Text(text) => text,
            Cell::Missing => "–".to_owned(),
        }
    }
}

impl ValueFormat {
    fn scaled(self, value: f64) -> f64 {
        match self {
            ValueFormat::Plain(_) => value,
            ValueFormat::Percent(_) => value * 100.0,
            ValueFormat::Megabytes(_) | ValueFormat::Milliseconds => value / 1e6,
            ValueFormat::Seconds => value / 1e9,
        }
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
#[derive(Debug, Clone)]
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

/// Returns the JSON schema of a row: every column is required, and an unknown value is null.
pub fn schema<T>(columns: &[ListingColumn<T>]) -> Schema {
    let mut schema = json_schema!({ "type": "object" });
    for column in columns {
        let parts: Vec<&str> = column.field.split('.').collect();
        insert(&mut schema, &parts, column.head);
    }
    schema
}

/// Adds a field to the schema of an object, together with the objects that contain it.
fn insert(object: &mut Schema, path: &[&str], head: &str) {
    let [name, rest @ ..] = path else { return };
    let mut field = match object.pointer(&format!("/properties/{name}")) {
        Some(there) => Schema::try_from(there.clone()).unwrap_or_default(),
        None if rest.is_empty() => json_schema!({
            "type": ["number", "string", "array", "null"],
            "description": head,
        }),
        None => json_schema!({ "type": "object" }),
    };
    insert(&mut field, rest, head);
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
                None => map.serialize_entry(name(first), &(first.value)(self.row))?,
            }
        }
        map.end()
    }
}

impl Serialize for ListingValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            ListingValue::Whole(value) => value.serialize(serializer),
            ListingValue::Real(value) => value.serialize(serializer),
            ListingValue::Text(text) => text.serialize(serializer),
            ListingValue::Span(span) => span.serialize(serializer),
        }
    }
}

macro_rules! known {
    ($($type:ty => $kind:ident as $as:ty;)*) => {
        $(impl From<$type> for ListingValue {
            fn from(value: $type) -> Self {
                ListingValue::$kind(Some(<$as>::from(value)))
            }
        }
        impl From<Option<$type>> for ListingValue {
            fn from(value: Option<$type>) -> Self {
                ListingValue::$kind(value.map(<$as>::from))
            }
        })*
    };
}

known! {
    u64 => Whole as u64;
    u32 => Whole as u64;
    f64 => Real as f64;
    String => Text as String;
    &str => Text as String;
    (u64, u64) => Span as (u64, u64);
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Drink {
        name: &'static str,
        poured: u64,
        took_ns: Option<u64>,
        share: f64,
    }

    const COLUMNS: [ListingColumn<Drink>; 5] = [
        ListingColumn::new("drink", "Drink", ValueFormat::Plain(0), |drink| drink.name.into()),
        ListingColumn::new("poured", "Poured", ValueFormat::Plain(0), |drink| drink.poured.into()),
        ListingColumn::new("time.mean_ns", "ms", ValueFormat::Milliseconds, |drink| {
            drink.took_ns.into()
        }),
        ListingColumn::new("time.max_ns", "max", ValueFormat::Milliseconds, |_| {
            ListingValue::Whole(Some(7))
        }),
        ListingColumn::new("share", "%", ValueFormat::Percent(1), |drink| drink.share.into()),
    ];

    #[test]
    fn a_column_is_described_once_and_printed_in_three_ways() {
        let tea = Drink { name: "tea", poured: u64::MAX, took_ns: Some(1_500_000), share: 0.25 };
        let texts: Vec<String> = COLUMNS.iter().map(|column| column.text(&tea)).collect();
        assert_eq!(texts, ["tea", "18446744073709551615", "1.500", "0.000", "25.0"]);
        assert_eq!(COLUMNS[4].cell(&tea), Cell::number(Some(25.0), 1));
        let json = serde_json::to_string(&JsonRow::new(&COLUMNS, tea)).unwrap();
        let expected = r#"{"drink":"tea","poured":18446744073709551615,"time":{"mean_ns":1500000,"max_ns":7},"share":0.25}"#;
        assert_eq!(json, expected);
        let none = Drink { name: "", poured: 0, took_ns: None, share: f64::NAN };
        let share = COLUMNS[4].headed("Share").printed(ValueFormat::Plain(2));
        assert_eq!((share.head, share.text(&none)), ("Share", "–".to_owned()));
        assert_eq!(COLUMNS[2].text(&none), "–");
    }
}
