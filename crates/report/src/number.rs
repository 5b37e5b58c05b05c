//! Formats numbers for reports.

use steadfast_domain::findings::{Cell, KeyFigure, Row, Table};
use steadfast_domain::text;

/// Text for a missing value.
pub(crate) const DASH: &str = "–";

/// Formats as `12,345.6`: thousands separated by commas, with a minus sign.
pub(crate) fn grouped(value: f64, decimals: usize) -> String {
    text::number(value, decimals).replace('-', "−")
}

/// Formats a difference as [`grouped`], with its sign: `+12.3`.
pub(crate) fn signed(value: f64, decimals: usize) -> String {
    let sign = if value > 0.0 { "+" } else { "" };
    format!("{sign}{}", grouped(value, decimals))
}

/// Formats a number with as many decimals as it needs, for ticks and legends.
pub(crate) fn short(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-6..1e12).contains(&size) {
        return format!("{value:e}");
    }
    let decimals = match size {
        v if v == 0.0 || v >= 100.0 || (v - v.round()).abs() < 1e-9 => 0,
        v if v >= 1.0 => 1,
        v if v >= 0.1 => 2,
        v if v >= 0.001 => 4,
        _ => 7,
    };
    trimmed(grouped(value, decimals))
}

/// Formats a multiple of `step` with enough decimals to distinguish it from the next one.
pub(crate) fn stepped(value: f64, step: f64) -> String {
    let decimals = (-step.log10().floor()).max(0.0);
    if !(0.0..=9.0).contains(&decimals) || value.abs() >= 1e12 {
        return short(value);
    }
    // The multiplication may turn zero into a tiny negative number.
    let value = if value.abs() < step / 2.0 { 0.0 } else { value };
    trimmed(grouped(value, decimals as usize))
}

/// Removes trailing zeros after the decimal point.
fn trimmed(text: String) -> String {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// Formats a cell with at most `decimals_max` decimals.
fn cell(cell: &Cell, decimals_max: usize) -> String {
    match cell {
        Cell::Number { value, decimals, signed, .. } if value.is_finite() => {
            let text = grouped(*value, usize::from(*decimals).min(decimals_max));
            let is_zero = !text.contains(|c: char| ('1'..='9').contains(&c));
            match (signed, is_zero) {
                (true, true) => text.trim_start_matches('−').to_owned(),
                (true, false) if *value > 0.0 => format!("+{text}"),
                _ => text,
            }
        }
        Cell::Text(text) => text.clone(),
        Cell::Number { .. } | Cell::Missing => DASH.to_owned(),
    }
}

/// Minimum number of significant digits of the smallest number of a column, if its cells have as
/// many.
const COLUMN_DIGITS: i32 = 3;
/// Significant digits of each number in a column of different quantities.
const OWN_DIGITS: i32 = 4;

/// Formats the cells of every row. The numbers of a column have the same number of decimals, so
/// that they align: as many as its smallest number needs for three digits, but at most as many as
/// the cells have. Columns under a common heading show one quantity and have the same number. If
/// the cells of a column have different numbers of decimals, they are different quantities, and
/// each gets four digits.
pub(crate) fn printed(table: &Table) -> Vec<Vec<String>> {
    let rows = &table.rows;
    let column_count = rows.iter().map(|row| row.cells.len()).max().unwrap_or(0);
    let table_decimals = match table.spanner {
        Some(_) => common_decimals(rows.iter().flat_map(|row| &row.cells)),
        None => None,
    };
    let column_decimals: Vec<Option<usize>> = (0..column_count)
        .map(|column| {
            let cells = rows.iter().filter_map(|row| row.cells.get(column));
            table_decimals.or_else(|| common_decimals(cells))
        })
        .collect();
    let format_row = |row: &Row| -> Vec<String> {
        let cells = row.cells.iter().zip(&column_decimals);
        cells
            .map(|(own, decimals)| cell(own, decimals.unwrap_or_else(|| own_decimals(own))))
            .collect()
    };
    rows.iter().map(format_row).collect()
}

/// Returns the number of decimals for all these numbers, or `None` if they are different
/// quantities.
fn common_decimals<'a>(cells: impl Iterator<Item = &'a Cell> + Clone) -> Option<usize> {
    let numbers = cells.filter_map(|cell| match cell {
        Cell::Number { value, decimals, .. } if value.is_finite() => {
            Some((value.abs(), usize::from(*decimals)))
        }
        _ => None,
    });
    let decimals_max = numbers.clone().map(|(_, decimals)| decimals).max().unwrap_or(0);
    if numbers.clone().any(|(_, decimals)| decimals != decimals_max) {
        return None;
    }
    // Numbers that round to zero even with all decimals do not count.
    let visible_from = 0.5 / 10f64.powi(decimals_max as i32);
    let visible = numbers.map(|(value, _)| value).filter(|value| *value >= visible_from);
    let smallest = visible.fold(f64::MAX, f64::min);
    Some(text::decimals_for(smallest, COLUMN_DIGITS).min(decimals_max))
}

/// Returns the number of decimals for a cell whose column has different quantities.
fn own_decimals(cell: &Cell) -> usize {
    match cell {
        Cell::Number { value, .. } => text::decimals_for(value.abs(), OWN_DIGITS),
        Cell::Text(_) | Cell::Missing => 0,
    }
}

/// Significant digits of the bounds of a key figure.
const BOUND_DIGITS: i32 = 3;

/// Formats the value of a key figure with its number of significant digits, or its bounds if they
/// are far apart.
pub(crate) fn figure(figure: &KeyFigure) -> String {
    if let Some(bounds) = figure.wide_bounds() {
        return format!(
            "{} to {}",
            significant(bounds.low, BOUND_DIGITS),
            significant(bounds.high, BOUND_DIGITS)
        );
    }
    match figure.value.filter(|value| value.is_finite()) {
        Some(value) => significant(value, i32::from(figure.digits.max(1))),
        None => figure.note.clone().unwrap_or_else(|| DASH.to_owned()),
    }
}

/// Returns the unit of a key figure with its note; empty if there is no value.
pub(crate) fn unit(figure: &KeyFigure) -> String {
    match (figure.value, &figure.note) {
        (None, _) => String::new(),
        (Some(_), None) => figure.unit.clone(),
        (Some(_), Some(note)) => format!("{} ({note})", figure.unit).trim_start().to_owned(),
    }
}

/// Formats a number with the given number of significant digits.
fn significant(value: f64, digits: i32) -> String {
    text::significant(value, digits).replace('-', "−")
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::ValueRange;

    #[test]
    fn thousands_are_separated() {
        assert_eq!(grouped(1234567.891, 1), "1,234,567.9");
        assert_eq!(grouped(-999.0, 0), "−999");
        assert_eq!(short(0.5), "0.5");
        assert_eq!(short(1024.0), "1,024");
        assert_eq!(short(0.00005), "0.00005");
        assert_eq!(short(2e15), "2e15");
        assert_eq!(cell(&Cell::Missing, 3), "–");
        let changes = [12.34, -0.04, -3.0].map(|v| cell(&Cell::change(Some(v), 1), 3));
        assert_eq!(changes, ["+12.3", "0.0", "−3.0"]);
        assert_eq!(stepped(1.25, 0.05), "1.25");
        assert_eq!(stepped(12_345.0, 5.0), "12,345");
        assert_eq!(stepped(-1e-17, 0.2), "0");
    }

    fn column(values: &[(f64, u8)]) -> Vec<String> {
        let cells = values.iter().map(|(value, decimals)| Cell::number(Some(*value), *decimals));
        let rows: Vec<Row> = cells.map(|cell| Row::new("", [cell])).collect();
        printed(&Table::new("", "", "").rows(rows)).concat()
    }

    #[test]
    fn a_column_has_the_decimals_that_its_smallest_number_needs() {
        assert_eq!(column(&[(499_097.2, 1), (248.6, 1)]), ["499,097", "249"]);
        assert_eq!(column(&[(12.34, 3), (0.0524, 3), (0.0, 3)]), ["12.340", "0.052", "0.000"]);
        assert_eq!(column(&[(98.76, 1), (101.23, 1)]), ["98.8", "101.2"]);
        assert_eq!(column(&[(1.0e6, 0), (3.0, 0)]), ["1,000,000", "3"]);
        assert_eq!(column(&[(-2.5, 2), (7.25, 2)]), ["−2.50", "7.25"]);
        assert_eq!(column(&[(0.0001, 2), (20.0, 2)]), ["0.0", "20.0"], "what prints as zero");
        assert_eq!(column(&[(12_345.678, 1), (0.071_234, 4)]), ["12,346", "0.0712"], "unlike");
        let mixed = [Row::new("", [Cell::Missing]), Row::new("", [Cell::text("void")])];
        assert_eq!(printed(&Table::new("", "", "").rows(mixed)).concat(), ["–", "void"]);
        let row = |values: [f64; 2]| Row::new("", values.map(|v| Cell::number(Some(v), 1)));
        let matrix = Table::new("", "", "").rows([row([9_994.0, 2_346.1]), row([100.2, 11.5])]);
        assert_eq!(printed(&matrix).concat(), ["9,994", "2,346.1", "100", "11.5"]);
        let matrix = matrix.spanner("Mix");
        assert_eq!(printed(&matrix).concat(), ["9,994.0", "2,346.1", "100.2", "11.5"]);
    }

    #[test]
    fn a_key_figure_has_its_digits_and_no_more() {
        let text = |value: f64, digits: u8| {
            figure(&KeyFigure { digits, ..KeyFigure::new("x", "x", Some(value), "x") })
        };
        assert_eq!(text(407_395.3, 4), "407,400");
        assert_eq!(text(61_969.4, 4), "61,970");
        assert_eq!(text(0.078_149, 3), "0.0781");
        assert_eq!(text(9.999_6, 4), "10.00");
        assert_eq!(text(99.96, 3), "100");
        assert_eq!(text(12.3456, 4), "12.35");
        assert_eq!(text(0.0, 4), "0");
        assert_eq!(text(-1234.5, 3), "−1,230");
        assert_eq!(figure(&KeyFigure::new("x", "x", None, "x")), "–");
        let bounded = |low, high| {
            KeyFigure::new("x", "x", Some(2.0), "").bounded(Some(ValueRange::new(low, high)))
        };
        assert_eq!(figure(&bounded(1.981, 2.02)), "2.000");
        assert_eq!(figure(&bounded(1.979, 2.0211)), "1.98 to 2.02");
        assert_eq!(
            figure(&bounded(1.5, 2.5).with_range(Some(ValueRange::new(1.5, 2.5)))),
            "1.50 to 2.50"
        );
    }
}
