//! Columns in perspective: one row of columns per series, one column per category.
//!
//! The last series is at the front, whatever its values, so that the rows of all reports are in the
//! same order. Rows at the back are drawn first.

use super::axis::Ruler;
use super::frame::shown;
use super::paint::{GRID, INK, LETTERS, SvgDrawing, TextAnchor, color, lighten, shade};
use super::script_data::Chart;
use steadfast_domain::findings::{Plot, Scale, Series};

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 445.0;
/// Front left corner of the floor.
const ORIGIN: (f64, f64) = (96.0, 385.0);
/// Length of the floor's front edge.
const ACROSS: f64 = 380.0;
/// Offset from the front of the floor to its back: right and up.
const BACK: (f64, f64) = (135.0, 120.0);
/// Height of the tallest column.
const RISE: f64 = 235.0;
/// Maximum number of letters of a series name, given by the row at the back, which has the least
/// space.
const NAME_MAX: usize = 14;
/// Fraction of its field that a column fills.
const FILL: f64 = 0.62;

/// Projects fractions of width, depth and height to drawing coordinates.
fn project(across: f64, back: f64, up: f64) -> (f64, f64) {
    (ORIGIN.0 + across * ACROSS + back * BACK.0, ORIGIN.1 - back * BACK.1 - up * RISE)
}

pub fn draw(plot: &Plot) -> (SvgDrawing, Option<Chart>) {
    let names: &[String] = match &plot.x.scale {
        Scale::Categories(names) => names,
        _ => &[],
    };
    let values: Vec<f64> =
        plot.series.iter().flat_map(|s| &s.points).filter_map(|(_, y)| *y).collect();
    let ruler = Ruler::new(&plot.y.scale, &values);
    let mut drawing = SvgDrawing::new(WIDTH, HEIGHT);
    room(&mut drawing, &ruler, plot);
    if !values.iter().any(|v| v.is_finite()) {
        drawing.text(project(0.5, 0.5, 0.5), 16.0, TextAnchor::Middle, "no values");
    }
    let rows = rows(&plot.series);
    let depth = rows.len().max(1) as f64;
    for (position, (index, series)) in rows.iter().enumerate().rev() {
        let back = (position as f64 + (1.0 - FILL) / 2.0) / depth;
        for (x, y) in &series.points {
            let Some(up) = y.and_then(|y| ruler.position(y)) else { continue };
            if !(0.0..=names.len().max(1) as f64 - 1.0).contains(x) {
                continue;
            }
            let across = (x + (1.0 - FILL) / 2.0) / names.len().max(1) as f64;
            let size = (FILL / names.len().max(1) as f64, FILL / depth);
            drawing.begin_value(*index, *x);
            column(&mut drawing, (across, back), size, up.clamp(0.0, 1.0), color(*index));
            drawing.end();
        }
    }
    labels(&mut drawing, names, &rows, plot);
    let chart = Chart::of_columns(plot, &ruler, color);
    (drawing, Some(chart))
}

/// Returns the series from front to back, with the indices of their colors.
fn rows(series: &[Series]) -> Vec<(usize, &Series)> {
    series.iter().enumerate().rev().collect()
}

/// Draws floor, back wall and side wall with the grid.
fn room(drawing: &mut SvgDrawing, ruler: &Ruler, plot: &Plot) {
    let corner = |a, b, u| project(a, b, u);
    drawing.polygon(
        &[corner(0., 0., 0.), corner(1., 0., 0.), corner(1., 1., 0.), corner(0., 1., 0.)],
        "#f4f4f4",
        GRID,
    );
    drawing.polygon(
        &[corner(0., 1., 0.), corner(1., 1., 0.), corner(1., 1., 1.), corner(0., 1., 1.)],
        "#fbfbfb",
        GRID,
    );
    drawing.polygon(
        &[corner(0., 0., 0.), corner(0., 1., 0.), corner(0., 1., 1.), corner(0., 0., 1.)],
        "#f8f8f8",
        GRID,
    );
    for label in &ruler.labels {
        let up = label.position;
        drawing.line(corner(0., 0., up), corner(0., 1., up), GRID, 1.0);
        drawing.line(corner(0., 1., up), corner(1., 1., up), GRID, 1.0);
        let (x, y) = corner(0., 0., up);
        drawing.text((x - 8.0, y + 4.5), LETTERS, TextAnchor::End, &label.text);
    }
    let (_, middle) = corner(0., 0., 0.5);
    drawing.text_upwards((20.0, middle), 14.0, &plot.y.label);
}

fn column(drawing: &mut SvgDrawing, at: (f64, f64), size: (f64, f64), up: f64, color: &str) {
    let corner = |a: f64, b: f64, u: f64| project(at.0 + a * size.0, at.1 + b * size.1, u);
    let front = [corner(0., 0., 0.), corner(1., 0., 0.), corner(1., 0., up), corner(0., 0., up)];
    let side = [corner(1., 0., 0.), corner(1., 1., 0.), corner(1., 1., up), corner(1., 0., up)];
    let top = [corner(0., 0., up), corner(1., 0., up), corner(1., 1., up), corner(0., 1., up)];
    drawing.polygon(&side, &shade(color, 0.62), INK);
    drawing.polygon(&front, &shade(color, 0.85), INK);
    drawing.polygon(&top, &lighten(color, 0.35), INK);
}

fn labels(drawing: &mut SvgDrawing, names: &[String], rows: &[(usize, &Series)], plot: &Plot) {
    let fields = names.len().max(1) as f64;
    // A letter is about 7 wide; names that would overlap are omitted.
    let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0) as f64;
    let every = (longest * 7.0 / (ACROSS / fields)).ceil().max(1.0) as usize;
    for (index, name) in names.iter().enumerate().step_by(every) {
        let (x, y) = project((index as f64 + 0.5) / fields, 0.0, 0.0);
        drawing.text((x, y + 18.0), LETTERS, TextAnchor::Middle, name);
    }
    let (x, y) = project(0.5, 0.0, 0.0);
    drawing.text((x, y + 42.0), 14.0, TextAnchor::Middle, &plot.x.label);
    let depth = rows.len().max(1) as f64;
    let every = (LETTERS * depth / BACK.1).ceil().max(1.0) as usize;
    for (position, (_, series)) in rows.iter().enumerate().step_by(every) {
        let (x, y) = project(1.0, (position as f64 + 0.5) / depth, 0.0);
        let name = shown(&series.name, NAME_MAX);
        drawing.text((x + 9.0, y + 0.36 * LETTERS), LETTERS, TextAnchor::Start, &name);
    }
}
