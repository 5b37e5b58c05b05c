//! Points joined by lines, with the legend beside the plot.

use super::axis::Ruler;
use super::paint::{Anchor, Drawing, FAINT, GRID, colour};
use steadfast_domain::findings::{Plot, Series, Stroke};

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 430.0;
const TOP: f64 = 14.0;
const LEFT: f64 = 96.0;
const BOTTOM: f64 = 58.0;
/// Room for a legend's line and its gap.
const LEGEND_MARK: f64 = 34.0;
const LEGEND_SIZE: f64 = 13.0;
const LABEL_SIZE: f64 = 13.0;
/// A generous mean width of a letter, relative to the font size.
const LETTER: f64 = 0.56;
/// A legend's names are cut beyond this many letters.
const NAME_MAX: usize = 34;

/// The rectangle that values are drawn in.
struct Area {
    left: f64,
    width: f64,
    height: f64,
}

impl Area {
    fn x(&self, part: f64) -> f64 {
        self.left + part * self.width
    }
    fn y(&self, part: f64) -> f64 {
        TOP + (1.0 - part) * self.height
    }
}

/// What a series looks like.
struct Look {
    colour: &'static str,
    width: f64,
    dash: Option<&'static str>,
    marker: Option<usize>,
}

pub fn draw(plot: &Plot) -> String {
    let longest = plot.series.iter().map(|s| shown(&s.name).chars().count()).max().unwrap_or(0);
    let legend = LEGEND_MARK + 24.0 + longest as f64 * LEGEND_SIZE * LETTER;
    let area = Area { left: LEFT, width: WIDTH - LEFT - legend, height: HEIGHT - TOP - BOTTOM };
    let points = plot.series.iter().flat_map(|s| &s.points);
    let xs: Vec<f64> = points.clone().map(|(x, _)| *x).collect();
    let ys: Vec<f64> = points.filter_map(|(_, y)| *y).collect();
    let (x, y) = (Ruler::new(&plot.x.scale, &xs), Ruler::new(&plot.y.scale, &ys));
    let mut drawing = Drawing::new(WIDTH, HEIGHT);
    grid(&mut drawing, &area, &x, &y);
    axes(&mut drawing, &area, plot, &x, &y);
    if !ys.iter().any(|v| v.is_finite()) {
        let middle = (area.x(0.5), area.y(0.5));
        drawing.text(middle, 16.0, Anchor::Middle, "no values");
    }
    let looks = looks(&plot.series);
    for (series, look) in plot.series.iter().zip(&looks) {
        draw_series(&mut drawing, &area, &x, &y, series, look);
    }
    draw_legend(&mut drawing, &area, &plot.series, &looks);
    drawing.finish()
}

fn looks(series: &[Series]) -> Vec<Look> {
    let mut measured = 0;
    series
        .iter()
        .map(|series| match series.stroke {
            Stroke::Measured => {
                measured += 1;
                let index = measured - 1;
                Look { colour: colour(index), width: 1.6, dash: None, marker: Some(index) }
            }
            Stroke::Average => Look { colour: "#444444", width: 1.4, dash: None, marker: None },
            Stroke::Limit => {
                Look { colour: "#444444", width: 1.2, dash: Some("7 4"), marker: None }
            }
            Stroke::Fit => Look { colour: "#c00000", width: 1.8, dash: None, marker: None },
            Stroke::Context => Look { colour: "#aaaaaa", width: 1.0, dash: None, marker: None },
        })
        .collect()
}

fn grid(drawing: &mut Drawing, area: &Area, x: &Ruler, y: &Ruler) {
    for part in &y.ticks.faint {
        drawing.line((area.x(0.0), area.y(*part)), (area.x(1.0), area.y(*part)), FAINT, 0.8);
    }
    for (part, _) in &y.ticks.labelled {
        drawing.line((area.x(0.0), area.y(*part)), (area.x(1.0), area.y(*part)), GRID, 1.0);
    }
    for (part, _) in &x.ticks.labelled {
        drawing.line((area.x(*part), area.y(0.0)), (area.x(*part), area.y(1.0)), GRID, 1.0);
    }
}

fn axes(drawing: &mut Drawing, area: &Area, plot: &Plot, x: &Ruler, y: &Ruler) {
    drawing.frame(area.left, TOP, area.width, area.height);
    for (part, label) in &y.ticks.labelled {
        drawing.text((area.left - 8.0, area.y(*part) + 4.5), LABEL_SIZE, Anchor::End, label);
    }
    for (part, label) in &x.ticks.labelled {
        drawing.text((area.x(*part), area.y(0.0) + 19.0), LABEL_SIZE, Anchor::Middle, label);
    }
    drawing.text((area.x(0.5), HEIGHT - 12.0), 14.0, Anchor::Middle, &plot.x.label);
    drawing.text_upwards((20.0, area.y(0.5)), 14.0, &plot.y.label);
}

fn draw_series(
    drawing: &mut Drawing,
    area: &Area,
    x: &Ruler,
    y: &Ruler,
    series: &Series,
    look: &Look,
) {
    let place =
        |point: &(f64, Option<f64>)| Some((area.x(x.place(point.0)?), area.y(y.place(point.1?)?)));
    // A missing value breaks the line.
    for run in series.points.split(|point| place(point).is_none()) {
        let run: Vec<(f64, f64)> = run.iter().filter_map(place).collect();
        if run.len() > 1 {
            drawing.path(&run, look.colour, look.width, look.dash);
        }
        if let Some(marker) = look.marker {
            run.iter().for_each(|at| drawing.marker(marker, *at, look.colour));
        }
    }
}

fn draw_legend(drawing: &mut Drawing, area: &Area, series: &[Series], looks: &[Look]) {
    let left = area.x(1.0) + 16.0;
    let step = (area.height / series.len().max(1) as f64).min(22.0);
    for (index, (series, look)) in series.iter().zip(looks).enumerate() {
        let y = TOP + 10.0 + index as f64 * step;
        drawing.path(&[(left, y), (left + 26.0, y)], look.colour, look.width, look.dash);
        if let Some(marker) = look.marker {
            drawing.marker(marker, (left + 13.0, y), look.colour);
        }
        let at = (left + LEGEND_MARK, y + 4.5);
        drawing.text(at, LEGEND_SIZE, Anchor::Start, &shown(&series.name));
    }
}

fn shown(name: &str) -> String {
    if name.chars().count() <= NAME_MAX {
        return name.to_owned();
    }
    name.chars().take(NAME_MAX - 1).chain(['…']).collect()
}
