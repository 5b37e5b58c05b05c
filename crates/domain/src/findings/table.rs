//! Tables: values found by the IDs of table, row and column, independent of printed titles.

use serde::{Deserialize, Serialize};

/// A table of rows and columns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Table {
    /// Short name, stable across versions; also the name of its CSV file, without the extension.
    pub id: String,
    /// Title, with the unit of the values.
    pub title: String,
    /// Heading of the first column.
    pub corner: String,
    /// Heading over the columns, such as `Read / Write Mix %`; `None` if there is none.
    pub spanner: Option<String>,
    /// Columns after the first.
    pub columns: Vec<Column>,
    /// Number of columns per block, if the columns form several blocks next to each other. The
    /// first column of each block names the subject of the others in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<usize>,
    /// Rows in print order.
    pub rows: Vec<Row>,
}

impl Table {
    /// Creates a table without columns, rows or a heading over the columns.
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
    /// Sets the heading over the columns.
    pub fn spanner(self, spanner: impl Into<String>) -> Self {
        Table { spanner: Some(spanner.into()), ..self }
    }
    /// Adds columns, given as names or as pairs of ID and printed name.
    pub fn columns<C: Into<Column>>(mut self, columns: impl IntoIterator<Item = C>) -> Self {
        self.columns.extend(columns.into_iter().map(C::into));
        self
    }
    /// Adds a column.
    pub fn column(mut self, column: impl Into<Column>) -> Self {
        self.columns.push(column.into());
        self
    }
    /// Divides the columns into blocks of `columns` columns.
    pub fn in_blocks_of(self, columns: usize) -> Self {
        Table { block: Some(columns), ..self }
    }
    /// Adds a row.
    pub fn row(mut self, row: Row) -> Self {
        self.rows.push(row);
        self
    }
    /// Adds several rows.
    pub fn rows(mut self, rows: impl IntoIterator<Item = Row>) -> Self {
        self.rows.extend(rows);
        self
    }
    /// Returns the cell in the row and column with these IDs; `None` if there is none.
    pub fn cell(&self, row: &str, column: &str) -> Option<&Cell> {
        let at = self.columns.iter().position(|own| own.id == column)?;
        self.rows.iter().find(|own| own.id == row)?.cells.get(at)
    }
    /// Sets a different ID, so that every CSV file has a unique name.
    pub fn with_id(self, id: &str) -> Self {
        Table { id: id.to_owned(), ..self }
    }
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Column {
    /// Short name, stable across versions, used by comparisons and limits.
    pub id: String,
    /// Heading in print.
    pub name: String,
}

impl Column {
    /// Creates a column whose ID differs from its heading.
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
    /// Short name, stable across versions, used by comparisons and limits.
    pub id: String,
    /// Text of the first column.
    pub head: String,
    /// Cells of the other columns.
    pub cells: Vec<Cell>,
    /// True if the row is emphasized.
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
    /// Creates a row; `head` is also the ID.
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
    /// Sets an ID that differs from the text of the first column.
    pub fn with_id(self, id: impl Into<String>) -> Self {
        Row { id: id.into(), ..self }
    }
    /// Emphasizes the row, or not.
    pub fn strong(self, strong: bool) -> Self {
        Row { strong, ..self }
    }
    /// Highlights these cells.
    pub fn marked(self, cells: impl IntoIterator<Item = usize>) -> Self {
        Row { marked: cells.into_iter().collect(), ..self }
    }
    /// Grays out these cells.
    pub fn gray(self, cells: impl IntoIterator<Item = usize>) -> Self {
        Row { gray: cells.into_iter().collect(), ..self }
    }
}

/// One cell of a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cell {
    /// A number and its printed precision.
    Number {
        /// Value, not rounded.
        value: f64,
        /// Number of decimals in print.
        decimals: u8,
        /// True if the scale has an arbitrary zero, as degrees Celsius have: two values have a
        /// difference but no ratio.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        interval: bool,
        /// True for a difference, which is printed with its sign.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        signed: bool,
    },
    /// Text.
    Text(String),
    /// Not measured; printed as a dash.
    Missing,
}

impl Cell {
    /// Creates a number; a missing or non-finite value becomes [`Cell::Missing`].
    pub fn number(value: Option<f64>, decimals: u8) -> Self {
        match value {
            Some(value) if value.is_finite() => {
                Cell::Number { value, decimals, interval: false, signed: false }
            }
            _ => Cell::Missing,
        }
    }
    /// Returns the value of a number; `None` for any other cell.
    pub fn value(&self) -> Option<f64> {
        if let Cell::Number { value, .. } = self { Some(*value) } else { None }
    }
    /// Creates a count, printed without decimals.
    pub fn count(value: u64) -> Self {
        Cell::number(Some(value as f64), 0)
    }
    /// Creates a temperature in degrees Celsius; a missing value becomes [`Cell::Missing`].
    pub fn celsius(value: Option<f64>, decimals: u8) -> Self {
        let mut cell = Cell::number(value, decimals);
        if let Cell::Number { interval, .. } = &mut cell {
            *interval = true;
        }
        cell
    }
    /// Creates a difference, printed with its sign; a missing value becomes [`Cell::Missing`].
    pub fn change(value: Option<f64>, decimals: u8) -> Self {
        let mut cell = Cell::number(value, decimals);
        if let Cell::Number { signed, .. } = &mut cell {
            *signed = true;
        }
        cell
    }
    /// Creates a text cell.
    pub fn text(text: impl Into<String>) -> Self {
        Cell::Text(text.into())
    }
    /// Creates a text cell, or [`Cell::Missing`] if there is no text.
    pub fn known(text: Option<impl Into<String>>) -> Self {
        text.map_or(Cell::Missing, Cell::text)
    }
    /// Creates a `yes` cell if `good`, otherwise a conspicuous `NO`.
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
            .row(Row::new("8 KiB", cells(9)).with_id("8"));
        assert_eq!(table.columns[0], Column::new("100/0", "100/0"));
        assert_eq!(table.columns[1].name, "Steady");
        let names: Vec<(&str, bool)> =
            table.rows.iter().map(|row| (row.id.as_str(), row.strong)).collect();
        assert_eq!(names, [("4", true), ("8", false)]);
        assert_eq!(table.rows[1].cells[1], Cell::Text("NO".into()));
        assert_eq!(Cell::known(None::<String>), Cell::Missing);
    }
}
