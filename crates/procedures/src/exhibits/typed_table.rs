//! Tables with typed columns: each column has a heading and the function that reads its value.

use steadfast_domain::findings::{Cell, Column, Row, Table};

/// A column of a table whose rows are values of type `T`.
pub(crate) struct TypedColumn<T> {
    pub heading: &'static str,
    /// ID of the column; empty if it is the heading.
    id: &'static str,
    cell: CellSource<T>,
}

enum CellSource<T> {
    Count(fn(&T) -> Option<u64>),
    Number { decimals: u8, value: fn(&T) -> Option<f64> },
    Cell(fn(&T) -> Cell),
}

impl<T> TypedColumn<T> {
    /// Creates a column of numbers, printed with this number of decimals.
    pub const fn number(heading: &'static str, decimals: u8, value: fn(&T) -> Option<f64>) -> Self {
        TypedColumn { heading, id: "", cell: CellSource::Number { decimals, value } }
    }

    pub const fn count(heading: &'static str, count: fn(&T) -> Option<u64>) -> Self {
        TypedColumn { heading, id: "", cell: CellSource::Count(count) }
    }

    /// Creates a column of any cells.
    pub const fn cell(heading: &'static str, cell: fn(&T) -> Cell) -> Self {
        TypedColumn { heading, id: "", cell: CellSource::Cell(cell) }
    }

    /// Sets an ID that differs from the heading.
    pub const fn with_id(self, id: &'static str) -> Self {
        TypedColumn { id, ..self }
    }

    pub fn column(&self) -> Column {
        match self.id {
            "" => Column::from(self.heading),
            id => Column::new(id, self.heading),
        }
    }

    pub fn render(&self, row: &T) -> Cell {
        match self.cell {
            CellSource::Number { decimals, value } => Cell::number(value(row), decimals),
            CellSource::Count(count) => Cell::number(count(row).map(|n| n as f64), 0),
            CellSource::Cell(cell) => cell(row),
        }
    }
}

pub(crate) fn typed_row<T>(head: impl Into<String>, columns: &[TypedColumn<T>], row: &T) -> Row {
    Row::new(head, columns.iter().map(|column| column.render(row)))
}

/// Returns a table with these columns and no row yet.
pub(crate) fn typed_table<T>(
    id: &str,
    title: impl Into<String>,
    corner: &str,
    columns: &[TypedColumn<T>],
) -> Table {
    Table::new(id, title, corner).columns(columns.iter().map(TypedColumn::column))
}
