//! The key figures of several runs: one table of the values and what they are of the first
//! run's, and one picture.

use super::side::Side;
use steadfast_domain::findings::{
    Axis, Cell, Column, KeyFigure, Plot, PlotKind, Row, Scale, Series, Stroke, Table,
};

/// Name of the picture.
pub(super) const PLOT: &str = "key-figures-compared";

/// A figure with the value of each run.
struct Compared<'a> {
    figure: &'a KeyFigure,
    values: Vec<Option<f64>>,
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
        let value = |side: &Side<'a>| of(side).iter().find(same).and_then(|one| one.value);
        all.push(Compared { figure, values: sides.iter().map(value).collect() });
    }
    all.retain(|one| one.values.iter().flatten().count() > 1);
    all
}

/// The figures, one row each: every run's value, and what it is of the first's.
pub(super) fn table(sides: &[Side<'_>]) -> Option<Table> {
    let rows: Vec<Row> = compared(sides)
        .iter()
        .map(|one| {
            let figure = one.figure;
            let cell = |value: &Option<f64>| Cell::text(value_text(figure, *value));
            let percent = (1..sides.len()).map(|at| Cell::number(one.percent(at), 1));
            let head = format!("{}, {}", figure.label, figure.unit);
            let head = head.trim_end_matches(", ").to_owned();
            Row::new(head, one.values.iter().map(cell).chain(percent)).named(&figure.id)
        })
        .collect();
    let letters = sides.iter().map(|side| Column::from(side.letter.to_string()));
    let percent = sides.iter().skip(1).map(|side| Column::from(format!("{}/A %", side.letter)));
    let table = Table::new("key-figures", "Key figures", "Figure");
    (!rows.is_empty()).then(|| table.columns(letters.chain(percent)).rows(rows))
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
        Series::new(side.name.clone(), Stroke::Measured, points.collect())
    });
    let (x, y) = (Axis::new("", Scale::Categories(names)), Axis::new("% of A", Scale::Linear));
    let plot = Plot::new(PlotKind::Bars, PLOT, "Key figures, in percent of run A", x, y);
    Some(plot.caption("Of response times less is better, of rates more.").series(series))
}
