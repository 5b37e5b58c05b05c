//! Tables: values that are found by the names of their table, row and column,
//! whatever their titles say.

use serde::{Deserialize, Serialize};

/// Rows and columns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Table {
    /// A short name, stable across versions; file name of its CSV, without the ending.
    pub id: String,
    /// Its title, with the unit of the values.
    pub title: String,
    /// What the first column holds.
    pub corner: String,
    /// A heading over the columns: `Read / Write Mix %`.
    pub spanner: Option<String>,
    /// The columns after the first.
    pub columns: Vec<Column>,
    /// The columns are several such blocks side by side; the first column of each names
    /// what the others of the block are of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<usize>,
    /// The rows.
    pub rows: Vec<Row>,
}

impl Table {
    /// A table without a heading over its columns; no columns and no rows yet.
    pub fn new(id: &str, title: impl Into<String>, corner: &str) -> Self {
        Table {
            id: id.to_owned(),
            title: title.into(),
            corner: corner.to_owned(),
            spanner: None,
            columns: Vec::new(),
            block: None,
            rows: Vec::new(),
        }
    }
    /// With a heading over the columns.
    pub fn spanner(self, spanner: impl Into<String>) -> Self {
        Table { spanner: Some(spanner.into()), ..self }
    }
    /// With more columns: names, or a name and what prints.
    pub fn columns<C: Into<Column>>(mut self, columns: impl IntoIterator<Item = C>) -> Self {
        self.columns.extend(columns.into_iter().map(C::into));
        self
    }
    /// With another column.
    pub fn column(mut self, column: impl Into<Column>) -> Self {
        self.columns.push(column.into());
        self
    }
    /// Every so many columns are a block of their own.
    pub fn in_blocks_of(self, columns: usize) -> Self {
        Table { block: Some(columns), ..self }
    }
    /// With another row.
    pub fn row(mut self, row: Row) -> Self {
        self.rows.push(row);
        self
    }
    /// With more rows.
    pub fn rows(mut self, rows: impl IntoIterator<Item = Row>) -> Self {
        self.rows.extend(rows);
        self
    }
    /// The same under another name, so that every CSV file is its own.
    pub fn named(self, id: &str) -> Self {
        Table { id: id.to_owned(), ..self }
    }
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Column {
    /// A short name, stable across versions, by which comparisons and limits find it.
    pub id: String,
    /// What stands at its head.
    pub name: String,
}

impl Column {
    /// A column whose name is not what prints at its head.
    pub fn new(id: impl Into<String>, name: impl Into<String>) -> Self {
        Column { id: id.into(), name: name.into() }
    }
}

impl From<&str> for Column {
    fn from(name: &str) -> Self {
        Column::new(name, name)
    }
}

impl From<String> for Column {
    fn from(name: String) -> Self {
        Column::new(name.clone(), name)
    }
}

impl From<(&str, &str)> for Column {
    fn from((id, name): (&str, &str)) -> Self {
        Column::new(id, name)
    }
}

/// One row of a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Row {
    /// A short name, stable across versions, by which comparisons and limits find it.
    pub id: String,
    /// The first column.
    pub head: String,
    /// The others.
    pub cells: Vec<Cell>,
    /// Set off from the other rows.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub strong: bool,
    /// Cells set off from the others, counted from 0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marked: Vec<usize>,
    /// Cells that print gray, counted from 0: their value says less than it seems to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gray: Vec<usize>,
}

impl Row {
    /// A row whose name is its head.
    pub fn new(head: impl Into<String>, cells: impl IntoIterator<Item = Cell>) -> Self {
        let head = head.into();
        Row {
            id: head.clone(),
            head,
            cells: cells.into_iter().collect(),
            strong: false,
            marked: Vec::new(),
            gray: Vec::new(),
        }
    }
    /// The same under another name than its head.
    pub fn named(self, id: impl Into<String>) -> Self {
        Row { id: id.into(), ..self }
    }
    /// Set off from the other rows, or not.
    pub fn strong(self, strong: bool) -> Self {
        Row { strong, ..self }
    }
    /// With these cells set off from the others.
    pub fn marked(self, cells: impl IntoIterator<Item = usize>) -> Self {
        Row { marked: cells.into_iter().collect(), ..self }
    }
    /// With these cells in gray.
    pub fn gray(self, cells: impl IntoIterator<Item = usize>) -> Self {
        Row { gray: cells.into_iter().collect(), ..self }
    }
}

/// One cell of a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cell {
    /// A number and how many decimals print.
    Number {
        /// The value, not rounded.
        value: f64,
        /// Decimals in print.
        decimals: u8,
        /// On a scale whose zero is arbitrary, such as degrees Celsius: two of
        /// them have a difference and no ratio.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        interval: bool,
        /// A difference: prints its sign.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        signed: bool,
    },
    /// A text.
    Text(String),
    /// Not measured: prints a dash.
    Missing,
}

impl Cell {
    /// A number, or a dash where there is none.
    pub fn number(value: Option<f64>, decimals: u8) -> Self {
        match value {
            Some(value) if value.is_finite() => {
                Cell::Number { value, decimals, interval: false, signed: false }
            }
            _ => Cell::Missing,
        }
    }
    /// A count.
    pub fn count(value: u64) -> Self {
        Cell::number(Some(value as f64), 0)
    }
    /// A temperature in degrees Celsius, or a dash where there is none.
    pub fn celsius(value: Option<f64>, decimals: u8) -> Self {
        match Cell::number(value, decimals) {
            Cell::Number { value, decimals, signed, .. } => {
                Cell::Number { value, decimals, interval: true, signed }
            }
            other => other,
        }
    }
    /// A difference, which prints with its sign, or a dash where there is none.
    pub fn change(value: Option<f64>, decimals: u8) -> Self {
        match Cell::number(value, decimals) {
            Cell::Number { value, decimals, interval, .. } => {
                Cell::Number { value, decimals, interval, signed: true }
            }
            other => other,
        }
    }
    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Cell::Text(text.into())
    }
    /// A text, or a dash where there is none.
    pub fn known(text: Option<impl Into<String>>) -> Self {
        text.map_or(Cell::Missing, Cell::text)
    }
    /// Whether it is as it has to be: `yes` or, to be seen, `NO`.
    pub fn verdict(good: bool) -> Self {
        Cell::text(if good { "yes" } else { "NO" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_built_piece_by_piece() {
        let cells = |value| [Cell::count(value), Cell::verdict(false)];
        let table = Table::new("iops", "IOPS", "Block size")
            .spanner("Mix")
            .columns(["100/0"])
            .column(("steady", "Steady"))
            .rows([Row::new("4", cells(7)).strong(true)])
            .row(Row::new("8 KiB", cells(9)).named("8"));
        assert_eq!(table.columns[0], Column::new("100/0", "100/0"));
        assert_eq!(table.columns[1].name, "Steady");
        let names: Vec<(&str, bool)> =
            table.rows.iter().map(|row| (row.id.as_str(), row.strong)).collect();
        assert_eq!(names, [("4", true), ("8", false)]);
        assert_eq!(table.rows[1].cells[1], Cell::Text("NO".into()));
        assert_eq!(Cell::known(None::<String>), Cell::Missing);
    }
}
