//! The key figures of several runs: a table of the values, one of what changed against the
//! first run, and one picture.

use super::side::Side;
use steadfast_domain::findings::{
    Axis, Cell, Column, KeyFigure, Plot, PlotKind, Row, Scale, Series, Stroke, Table, within_noise,
};

/// Name of the picture.
pub(super) const PLOT: &str = "key-figures-compared";

/// A figure with the value of each run.
struct Compared<'a> {
    figure: &'a KeyFigure,
    values: Vec<Option<f64>>,
    /// How far each moved while it was measured.
    ranges: Vec<Option<(f64, f64)>>,
}

impl Compared<'_> {
    /// A run's value in percent of the first run's.
    fn percent(&self, at: usize) -> Option<f64> {
        let base = self.values[0].filter(|base| *base != 0.0)?;
        Some(self.values[at]? / base * 100.0)
    }
}

/// The figures that at least two runs have, in the order of the first that has them.
fn compared<'a>(sides: &[Side<'a>]) -> Vec<Compared<'a>> {
    let of = |side: &Side<'a>| -> &'a [KeyFigure] {
        side.findings.map(|findings| findings.front.figures.as_slice()).unwrap_or_default()
    };
    let mut all: Vec<Compared<'a>> = Vec::new();
    for figure in sides.iter().flat_map(of) {
        let same = |one: &&KeyFigure| (&one.id, &one.unit) == (&figure.id, &figure.unit);
        if all.iter().any(|one| same(&one.figure)) {
            continue;
        }
        let found = |side: &Side<'a>| of(side).iter().find(same);
        let values = sides.iter().map(|side| found(side).and_then(|one| one.value)).collect();
        let ranges = sides.iter().map(|side| found(side).and_then(|one| one.range)).collect();
        all.push(Compared { figure, values, ranges });
    }
    all.retain(|one| one.values.iter().flatten().count() > 1);
    all
}

/// The figures, one row each: every run's value.
pub(super) fn table(sides: &[Side<'_>]) -> Option<Table> {
    let row = |one: &Compared<'_>| {
        let figure = one.figure;
        let cell = |value: &Option<f64>| Cell::text(value_text(figure, *value));
        Row::new(head(figure), one.values.iter().map(cell)).named(&figure.id)
    };
    let rows: Vec<Row> = compared(sides).iter().map(row).collect();
    let letters = sides.iter().map(|side| Column::from(side.letter.to_string()));
    let table = Table::new(VALUES, "Key figures", "Figure").columns(letters);
    (!rows.is_empty()).then(|| table.rows(rows))
}

/// What changed from the first run to each other one, in percent; gray within the noise of the
/// measurement windows.
pub(super) fn changes(sides: &[Side<'_>]) -> Option<Table> {
    let row = |one: &Compared<'_>| {
        let cells = (1..sides.len())
            .map(|at| Cell::change(one.percent(at).map(|percent| percent - 100.0), 1));
        let noise = (1..sides.len()).filter(|at| within_noise(one.ranges[0], one.ranges[*at]));
        Row::new(one.figure.label.clone(), cells).named(&one.figure.id).gray(noise.map(|at| at - 1))
    };
    let rows: Vec<Row> = compared(sides).iter().map(row).collect();
    let letters = sides.iter().skip(1).map(|side| Column::from(side.letter.to_string()));
    let title = "Change against A, %; gray: within the rounds of both windows";
    let table = Table::new(CHANGES, title, "Figure").columns(letters);
    (!rows.is_empty()).then(|| table.rows(rows))
}

/// Names of the two tables.
pub(super) const VALUES: &str = "key-figures";
pub(super) const CHANGES: &str = "key-figure-changes";

fn head(figure: &KeyFigure) -> String {
    format!("{}, {}", figure.label, figure.unit).trim_end_matches(", ").to_owned()
}

fn value_text(figure: &KeyFigure, value: Option<f64>) -> String {
    crate::number::figure(&KeyFigure { value, ..figure.clone() })
}

/// The same as bars: every figure in percent of the first run's.
pub(super) fn plot(sides: &[Side<'_>]) -> Option<Plot> {
    let all = compared(sides);
    if all.iter().all(|one| one.percent(0).is_none()) {
        return None;
    }
    let names = all.iter().map(|one| one.figure.label.clone()).collect();
    let series = sides.iter().enumerate().map(|(at, side)| {
        let points = (0u32..).zip(&all).map(|(x, one)| (f64::from(x), one.percent(at)));
        let letter = side.letter.to_string();
        Series::new(letter, Stroke::Measured, points.collect()).named(side.name.clone())
    });
    let (x, y) = (Axis::new("", Scale::Categories(names)), Axis::new("% of A", Scale::Linear));
    let plot = Plot::new(PlotKind::Bars, PLOT, "Key figures, in percent of run A", x, y);
    Some(plot.caption("Of response times less is better, of rates more.").series(series))
}
