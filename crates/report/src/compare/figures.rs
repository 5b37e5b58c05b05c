//! Key figures of several runs: a table of values, a table of changes relative to the first run,
//! and a plot.

use super::side::{ComparedRun, letters};
use crate::grouping::unique_by;
use crate::number::{self, signed};
use steadfast_domain::ValueRange;
use steadfast_domain::findings::{
    Axis, Cell, Column, KeyFigure, MetricGoal, Plot, PlotKind, Row, Scale, Series, Stroke, Table,
    may_be_noise,
};

/// A key figure in each run.
struct FigureComparison<'a> {
    /// The figure of the first run that has it.
    figure: &'a KeyFigure,
    runs: Vec<Option<&'a KeyFigure>>,
}

impl FigureComparison<'_> {
    fn value(&self, at: usize) -> Option<f64> {
        self.runs[at]?.value
    }

    fn range(&self, at: usize) -> Option<ValueRange> {
        self.runs[at]?.range
    }

    /// Returns true if the noise of every run is known, and no run differs from the first by more.
    fn is_within_noise(&self) -> bool {
        (0..self.runs.len()).all(|at| {
            let is_known = self.value(at).is_some() && self.range(at).is_some();
            is_known && may_be_noise(self.range(0), self.range(at))
        })
    }

    /// Returns a run's value in percent of the first run's; `None` if either is missing or the
    /// first is 0.
    fn percent(&self, at: usize) -> Option<f64> {
        let base = self.value(0).filter(|base| *base != 0.0)?;
        Some(self.value(at)? / base * 100.0)
    }

    /// Returns the noise of a run in percent of its value: half the spread of its rounds. `None` if
    /// it is unknown.
    fn noise_percent(&self, at: usize) -> Option<f64> {
        let value = self.value(at).filter(|value| *value != 0.0)?;
        Some(self.range(at)?.width() / 2.0 / value.abs() * 100.0)
    }
}

/// Returns the figures that at least two runs have, in order of first appearance.
fn compared<'a>(sides: &[ComparedRun<'a>]) -> Vec<FigureComparison<'a>> {
    let of = |side: &ComparedRun<'a>| -> &'a [KeyFigure] {
        side.findings.map(|findings| findings.front.figures.as_slice()).unwrap_or_default()
    };
    let is_same = |one: &&KeyFigure, other: &&KeyFigure| {
        (&one.id, &one.unit, &one.subject) == (&other.id, &other.unit, &other.subject)
    };
    let mut all = Vec::new();
    for figure in unique_by(sides.iter().flat_map(of), is_same) {
        let in_run = |side| of(side).iter().find(|other| is_same(&figure, other));
        let runs: Vec<Option<&KeyFigure>> = sides.iter().map(in_run).collect();
        let present = || runs.iter().flatten();
        let stated = present().filter(|one| one.value.is_some() || one.note.is_some()).count();
        if stated > 1 && present().any(|one| one.value.is_some()) {
            all.push(FigureComparison { figure, runs });
        }
    }
    all
}

/// Returns true if page one of a run answers questions: a reader compares answers, and those that
/// are equal within the noise are left out.
fn answers_questions(sides: &[ComparedRun<'_>]) -> bool {
    sides.iter().any(|side| side.findings.is_some_and(|f| !f.front.questions.is_empty()))
}

fn tabulated<'a>(sides: &[ComparedRun<'a>]) -> Vec<FigureComparison<'a>> {
    let mut all = compared(sides);
    if answers_questions(sides) {
        all.retain(|one| !one.is_within_noise());
    }
    all
}

/// Returns a sentence on the figures that the tables leave out; `None` if they have all.
pub(super) fn left_out(sides: &[ComparedRun<'_>]) -> Option<String> {
    let count = compared(sides).len() - tabulated(sides).len();
    match count {
        0 => None,
        1 => Some("1 key figure is equal within the noise and left out.".to_owned()),
        _ => Some(format!("{count} key figures are equal within the noise and left out.")),
    }
}

/// Returns the table of values, one row per figure.
pub(super) fn table(sides: &[ComparedRun<'_>]) -> Option<Table> {
    let row = |one: &FigureComparison<'_>| {
        let cell = |run: &Option<&KeyFigure>| run.map_or(Cell::Missing, value_cell);
        Row::new(head(one.figure), one.runs.iter().map(cell)).with_id(&one.figure.id)
    };
    let rows: Vec<Row> = tabulated(sides).iter().map(row).collect();
    let table = Table::new(VALUES, "Key figures", "Figure").columns(letters(sides));
    (!rows.is_empty()).then(|| table.rows(rows))
}

/// Meaning of the marks in tables of changes.
pub(super) const MARKS: &str = "bold or *: beyond the noise of both, others: within it or unknown";

/// Returns the table of changes from the first run to each other, in percent: marked if beyond the
/// noise of the measurement windows, gray if within it or if the noise is unknown. The noise of each
/// run follows if that of any figure is known.
pub(super) fn changes(sides: &[ComparedRun<'_>]) -> Option<Table> {
    let all = tabulated(sides);
    let has_noise = |at| all.iter().any(|one| one.noise_percent(at).is_some());
    let noisy: Vec<usize> =
        if (0..sides.len()).any(has_noise) { (0..sides.len()).collect() } else { Vec::new() };
    let row = |one: &FigureComparison<'_>| {
        let changes = (1..sides.len())
            .map(|at| Cell::change(one.percent(at).map(|percent| percent - 100.0), 1));
        let noise = noisy.iter().map(|at| Cell::number(one.noise_percent(*at), 1));
        let (within, beyond): (Vec<usize>, Vec<usize>) =
            (1..sides.len()).partition(|at| may_be_noise(one.range(0), one.range(*at)));
        Row::new(label(one.figure, &all), changes.chain(noise))
            .with_id(&one.figure.id)
            .marked(beyond.into_iter().map(|at| at - 1))
            .gray(within.into_iter().map(|at| at - 1))
    };
    let rows: Vec<Row> = all.iter().map(row).collect();
    let noise = noisy.iter().map(|at| {
        let letter = sides[*at].letter;
        Column::new(format!("noise-{letter}"), format!("Noise {letter}, ± %"))
    });
    let title = format!("Change against A, %; {MARKS}");
    let table = Table::new(CHANGES, title, "Figure").columns(letters(&sides[1..]).chain(noise));
    (!rows.is_empty()).then(|| table.rows(rows))
}

/// Returns the label of a figure, with its unit if another figure has the same label.
fn label(figure: &KeyFigure, all: &[FigureComparison<'_>]) -> String {
    let same = all.iter().filter(|one| one.figure.label == figure.label).count();
    if same > 1 { head(figure) } else { figure.label.clone() }
}

/// IDs of the two tables.
const VALUES: &str = "key-figures";
const CHANGES: &str = "key-figure-changes";

fn head(figure: &KeyFigure) -> String {
    format!("{}, {}", figure.label, figure.unit).trim_end_matches(", ").to_owned()
}

fn value_cell(figure: &KeyFigure) -> Cell {
    let value = number::figure(figure);
    match figure.note.as_ref().filter(|_| figure.value.is_some()) {
        Some(note) => Cell::text(format!("{value} ({note})")),
        None => Cell::text(value),
    }
}

/// IDs of the two plots: rates (higher is better) and times (lower is better).
const RATES: &str = "key-rates-compared";
const TIMES: &str = "key-times-compared";

/// Largest change in percent that is drawn in full. An axis that reached farther would make small
/// changes invisible.
const DRAWN_MAX: f64 = 100.0;

/// Draws the changes relative to the first run as bars, with separate plots for rates and times.
/// The axis fits the changes up to [`DRAWN_MAX`], so that one percent is visible.
pub(super) fn plots(sides: &[ComparedRun<'_>]) -> Vec<Plot> {
    let all = compared(sides);
    let chart = |id, title, goal| {
        let has_goal =
            |one: &&FigureComparison<'_>| MetricGoal::from_unit(&one.figure.unit) == Some(goal);
        let has_change =
            |one: &&FigureComparison<'_>| (1..sides.len()).any(|at| one.percent(at).is_some());
        let figures: Vec<&FigureComparison<'_>> =
            all.iter().filter(has_goal).filter(has_change).collect();
        let names = figures.iter().map(|one| label(one.figure, &all)).collect();
        let across = Axis::new("", Scale::Categories(names));
        let plot =
            Plot::new(PlotKind::Bars, id, title, across, Axis::new("Change, %", Scale::Percent));
        with_bars(plot, sides, &figures)
    };
    let rates = chart(RATES, "Rates: change against A (more is better)", MetricGoal::More);
    let times = chart(TIMES, "Response times: change against A (less is better)", MetricGoal::Less);
    rates.into_iter().chain(times).collect()
}

/// Returns the plot with a bar per figure and run; `None` if there is none to draw. Bars beyond
/// [`DRAWN_MAX`] are cut off at the edge; title and caption say so.
fn with_bars(
    plot: Plot,
    sides: &[ComparedRun<'_>],
    figures: &[&FigureComparison<'_>],
) -> Option<Plot> {
    let mut cut_off: Vec<String> = Vec::new();
    let mut series = Vec::new();
    for (at, side) in sides.iter().enumerate() {
        let mut points = Vec::new();
        for (x, one) in (0u32..).zip(figures) {
            let change = one.percent(at).map(|percent| percent - 100.0);
            if let Some(change) = change.filter(|change| change.abs() > DRAWN_MAX) {
                let change = signed(change, 0);
                cut_off.push(format!("{}, {}: {change} %", one.figure.label, side.letter));
            }
            points.push((f64::from(x), change));
        }
        let letter = side.letter.to_string();
        series.push(Series::new(letter, Stroke::Measured, points).with_id(side.name.clone()));
    }
    // Run A keeps its place, so that each run keeps its color.
    let is_bar = |value: &Option<f64>| value.is_some_and(|change| change != 0.0);
    let is_drawn = |series: &Series| series.points.iter().any(|(_, value)| is_bar(value));
    if !series.iter().skip(1).any(is_drawn) {
        return None;
    }
    let plot = if cut_off.is_empty() {
        plot
    } else {
        let title = format!("{}; bars cut off at ±{DRAWN_MAX}\u{a0}%", plot.title);
        let caption = format!("Cut off at the edge: {}.", cut_off.join("; "));
        Plot { title, ..plot }.caption(caption)
    };
    Some(plot.series(series))
}

/// Number of changes per procedure in the table of all procedures.
const HEADLINE_MAX: usize = 4;

/// Returns the changes of a procedure's first figures, for the table of all procedures.
pub(super) fn headline(sides: &[ComparedRun<'_>]) -> Vec<KeyFigure> {
    let all = compared(sides);
    let of = |one: &FigureComparison<'_>| -> Vec<KeyFigure> {
        let figure = |at: usize| {
            let label = format!("{}, {}", one.figure.label, sides[at].letter);
            let id = format!("{}-{}", one.figure.id, sides[at].letter);
            KeyFigure::new(&id, label, one.percent(at), "% of A")
        };
        (1..sides.len()).map(figure).filter(|figure| figure.value.is_some()).collect()
    };
    all.iter().flat_map(of).take(HEADLINE_MAX).collect()
}
