//! Heat maps. Each series is a row of cells, the first at the bottom, and the shade is the value:
//! `y` gives its quantity and scale, `y_right` the quantity of the rows. If `y` has categories, a
//! value is the index of a category and has its color. Series on the right axis are lines over the
//! grid.

use super::axis::Ruler;
use super::chart::{Chart, ChartGrid};
use super::frame::{DrawingSize, LegendEntry, PlotFrame, Rulers, SeriesLook};
use super::lines;
use super::paint::{
    COLORS, INK, LETTERS, OTHERS, OTHERS_COLOR, SvgDrawing, TextAnchor, color, lighten, plain_dash,
    rgb,
};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use steadfast_domain::findings::{Axis, Plot, Scale, Series};

/// Maximum number of cells in either direction; of more, several are combined into one with the
/// largest of their values.
const CELLS: usize = 1000;
/// Number of shades, without the one for a missing value.
const SHADES: usize = 64;
/// Width of the scale bar with its labels, and the gap before it, in drawings as wide as a page and
/// in drawings half as wide.
const ROOM: (f64, f64) = (super::frame::BESIDE_TIME, 26.0);
const ROOM_SMALL: (f64, f64) = (118.0, 12.0);
/// Maximum number of row names.
const NAMES: usize = 18;
/// Colors from light to dark in one hue, in the same order in gray print. Even a single cell of the
/// lightest is distinguishable from white.
const STOPS: [[f64; 3]; 4] =
    [[150.0, 196.0, 226.0], [94.0, 154.0, 206.0], [33.0, 104.0, 172.0], [6.0, 32.0, 76.0]];

/// Values by row from the bottom and by column.
struct HeatMapCells {
    columns: usize,
    values: Vec<Vec<Option<f64>>>,
    /// Names of the series, from the bottom.
    names: Vec<String>,
    /// Start of the first column and end of the last.
    range: (f64, f64),
    /// True if a cell has the maximum of several values.
    folded: bool,
}

enum CellColors {
    /// A shade for each value of a range.
    Shades(Ruler),
    /// A color for each category.
    Colors(Vec<String>),
}

impl CellColors {
    fn new(plot: &Plot, values: &[f64]) -> CellColors {
        match &plot.y.scale {
            Scale::Categories(names) => CellColors::Colors(names.clone()),
            _ => CellColors::Shades(shade_ruler(plot, values)),
        }
    }

    /// Returns the index of a value in the palette; `None` if it has no color.
    fn place(&self, value: f64) -> Option<usize> {
        match self {
            CellColors::Shades(scale) => {
                scale.place(value).map(|part| shade_of(part.clamp(0.0, 1.0)))
            }
            CellColors::Colors(names) => {
                let place = (value >= 0.0).then_some(value as usize)?;
                (place < names.len()).then_some(place % PALETTE_MAX)
            }
        }
    }

    fn palette(&self) -> Vec<[u8; 3]> {
        match self {
            CellColors::Shades(_) => (0..SHADES).map(shade_color).collect(),
            CellColors::Colors(names) => {
                let colors = names.iter().take(PALETTE_MAX).enumerate();
                colors.map(|(place, name)| rgb(&of_category(place, name))).collect()
            }
        }
    }
}

/// Maximum number of colors of categories, limited by the palette.
const PALETTE_MAX: usize = 250;

/// Returns the color of a category: the colors of series, then the same in a lighter tone, as for
/// layers.
fn of_category(place: usize, name: &str) -> String {
    if name == OTHERS {
        return OTHERS_COLOR.to_owned();
    }
    match place / COLORS.len() % 2 {
        0 => color(place).to_owned(),
        _ => lighten(color(place), 0.6),
    }
}

pub fn draw(plot: &Plot, size: DrawingSize) -> (SvgDrawing, Option<Chart>) {
    let (over, rows): (Vec<&Series>, Vec<&Series>) = plot.series.iter().partition(|s| s.right);
    let cells = HeatMapCells::new(plot, &rows);
    let values: Vec<f64> = cells.values.iter().flatten().flatten().copied().collect();
    let shading = CellColors::new(plot, &values);
    let x = match plot.x.scale {
        Scale::Categories(_) => Ruler::across(&plot.x, &[]),
        _ => Ruler::exact(&plot.x, cells.range.0, cells.range.1),
    };
    let rulers = Rulers { x, y: Ruler::new(&rows_axis(&cells.names).scale, &[]), right: None };
    let rows = plot.y_right.as_ref().map(|axis| axis.label.as_str()).unwrap_or_default();
    let room = if size.is_small() { ROOM_SMALL } else { ROOM };
    let frame = PlotFrame::with_room(plot, size, rulers, room.0).entitled(rows, "");
    let frame = frame.explained(legend(&shading, &over));
    let mut drawing = frame.sheet();
    let area = &frame.area;
    if values.iter().any(|value| shading.place(*value).is_some()) {
        let dots = |value| shading.place(value);
        if let Some(png) = picture((cells.columns, &shading.palette()), &cells.values, dots) {
            let size = (area.width, area.height);
            drawing.picture((area.left, area.top), size, &STANDARD.encode(png));
        }
        if let CellColors::Shades(scale) = &shading {
            let colors = shading.palette();
            scale_bar(&mut drawing, &frame, room, (scale, &colors, &plot.y.label));
        }
    } else {
        frame.no_values(&mut drawing);
    }
    over.iter().enumerate().for_each(|(index, series)| {
        // A white edge separates a line from dark cells.
        for look in [edge(), over_cells(index)] {
            lines::draw_series(&mut drawing, &frame, series, &look, (index, over.len()));
        }
    });
    frame.axes(&mut drawing);
    frame.marks(&mut drawing);
    frame.legend(&mut drawing);
    let looks: Vec<SeriesLook> = (0..over.len()).map(over_cells).collect();
    let grid = ChartGrid::new(rows, &cells.names, (&cells.values, cells.folded));
    let chart = Chart::of_cells(plot, &frame, &over, &looks, grid);
    (drawing, Some(chart))
}

/// Returns the legend of colors and lines.
fn legend(shading: &CellColors, over: &[&Series]) -> Vec<LegendEntry> {
    let colors = match shading {
        CellColors::Shades(_) => &[][..],
        CellColors::Colors(names) => names,
    };
    let filled = |(place, name): (usize, &String)| LegendEntry {
        name: name.clone(),
        look: SeriesLook {
            color: of_category(place, name),
            width: 1.0,
            dash: None,
            marker: None,
            fill: Some(1.0),
        },
    };
    let line = |(index, series): (usize, &&Series)| LegendEntry {
        name: series.name.clone(),
        look: over_cells(index),
    };
    colors.iter().enumerate().map(filled).chain(over.iter().enumerate().map(line)).collect()
}

/// Returns the look of a line over cells, in a color that no shade has.
fn over_cells(index: usize) -> SeriesLook {
    const OVER: [&str; 3] = ["#d55e00", "#009e73", "#cc79a7"];
    let color = OVER[index % OVER.len()].to_owned();
    SeriesLook { color, width: 1.8, dash: plain_dash(index), marker: None, fill: None }
}

fn edge() -> SeriesLook {
    SeriesLook { color: "#ffffff".to_owned(), width: 3.6, dash: None, marker: None, fill: None }
}

/// Returns the axis of the shades, from the smallest value to the largest; a linear one includes
/// zero.
fn shade_ruler(plot: &Plot, values: &[f64]) -> Ruler {
    let logarithmic = matches!(plot.y.scale, Scale::Log10 | Scale::Log2);
    let usable = values.iter().copied().filter(|v| v.is_finite() && v.abs() < 1e18);
    let usable = usable.filter(|v| !logarithmic || *v > 1e-18);
    let (low, high) =
        usable.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), v| (lo.min(v), hi.max(v)));
    let (low, high) = if low <= high { (low, high) } else { (1.0, 10.0) };
    let axis = Axis::new("", if logarithmic { Scale::Log10 } else { Scale::LinearFitted });
    match (logarithmic, plot.y.scale == Scale::Linear) {
        (true, _) => Ruler::exact(&axis, low, if high > low { high } else { low * 10.0 }),
        (false, true) => Ruler::exact(&axis, low.min(0.0), if high > 0.0 { high } else { 1.0 }),
        (false, false) => {
            Ruler::exact(&axis, low, if high > low { high } else { low + low.abs().max(1.0) })
        }
    }
}

/// Returns an axis with the names of rows; if there are many, most are blank.
fn rows_axis(names: &[String]) -> Axis {
    // Rows of equal height have round names at round distances.
    let least = names.len().div_ceil(NAMES).max(1);
    let every = [1, 2, 5, 10, 20, 25, 50, 100].into_iter().find(|step| *step >= least);
    let every = every.unwrap_or(least);
    let shown = names.iter().enumerate().map(|(index, name)| {
        if index % every == 0 { super::frame::shown(name, 16) } else { String::new() }
    });
    Axis::new("", Scale::Categories(shown.collect()))
}

impl HeatMapCells {
    fn new(plot: &Plot, series_of_rows: &[&Series]) -> HeatMapCells {
        let mut xs: Vec<f64> =
            series_of_rows.iter().flat_map(|s| &s.points).map(|(x, _)| *x).collect();
        xs.retain(|x| x.is_finite() && x.abs() < 1e18);
        xs.sort_by(f64::total_cmp);
        xs.dedup();
        let step = xs.windows(2).map(|pair| pair[1] - pair[0]).fold(f64::INFINITY, f64::min);
        let step = if step.is_finite() { step } else { 1.0 };
        let first = xs.first().copied().unwrap_or(0.0);
        let last = xs.last().copied().unwrap_or(0.0) + step;
        // Evenly spaced, so that a column without values is a gap.
        let wanted = ((last - first) / step).round().max(1.0);
        let (first, step, wanted) = match &plot.x.scale {
            Scale::Categories(names) => (0.0, 1.0, names.len().max(1) as f64),
            _ => (first, step, wanted),
        };
        let (columns, rows) =
            (wanted.min(CELLS as f64) as usize, series_of_rows.len().clamp(1, CELLS));
        let mut values = vec![vec![None; columns]; rows];
        for (row, series) in series_of_rows.iter().enumerate() {
            let row = row * rows / series_of_rows.len().max(1);
            for (x, value) in &series.points {
                let column = ((x - first) / step).round();
                let inside = column.is_finite() && (0.0..wanted).contains(&column);
                let (true, Some(value)) = (inside, value.filter(|v| v.is_finite())) else {
                    continue;
                };
                let column = ((column * columns as f64 / wanted) as usize).min(columns - 1);
                let cell: &mut Option<f64> = &mut values[row][column];
                *cell = Some(cell.map_or(value, |there| there.max(value)));
            }
        }
        let names: Vec<String> = series_of_rows.iter().map(|s| s.name.clone()).collect();
        let folded = wanted > CELLS as f64 || names.len() > CELLS;
        HeatMapCells { columns, values, names, range: (first, first + step * wanted), folded }
    }
}

fn shade_of(part: f64) -> usize {
    ((part * SHADES as f64) as usize).min(SHADES - 1)
}

fn shade_color(shade: usize) -> [u8; 3] {
    let along = shade as f64 / (SHADES - 1) as f64 * (STOPS.len() - 1) as f64;
    let stop = (along as usize).min(STOPS.len() - 2);
    let part = along - stop as f64;
    [0, 1, 2].map(|c| (STOPS[stop][c] + (STOPS[stop + 1][c] - STOPS[stop][c]) * part).round() as u8)
}

/// Encodes the cells as a PNG with a palette, white for missing values. Every cell is several dots
/// wide, so that viewers do not blur it into its neighbors.
fn picture(
    (columns, colors): (usize, &[[u8; 3]]),
    rows: &[Vec<Option<f64>>],
    shade: impl Fn(f64) -> Option<usize>,
) -> Option<Vec<u8>> {
    let (across, up) = (1600usize.div_ceil(columns).min(40), 900usize.div_ceil(rows.len()).min(40));
    let mut dots = Vec::with_capacity(columns * across * rows.len() * up);
    for row in rows.iter().rev() {
        let line: Vec<u8> = row
            .iter()
            .map(|value| value.and_then(&shade).map_or(0, |shade| shade as u8 + 1))
            .flat_map(|dot| std::iter::repeat_n(dot, across))
            .collect();
        (0..up).for_each(|_| dots.extend_from_slice(&line));
    }
    let mut palette = vec![255; 3];
    palette.extend(colors.iter().flatten());
    let mut out = Vec::new();
    let size = ((columns * across) as u32, (rows.len() * up) as u32);
    let mut encoder = png::Encoder::new(&mut out, size.0, size.1);
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_palette(palette);
    encoder.set_compression(png::Compression::High);
    // Writing to a Vec cannot fail, and the sizes match.
    let mut writer = encoder.write_header().ok()?;
    writer.write_image_data(&dots).ok()?;
    writer.finish().ok()?;
    Some(out)
}

/// Draws the scale bar with its ticks and the key for white cells.
fn scale_bar(
    drawing: &mut SvgDrawing,
    frame: &PlotFrame,
    (room, gap): (f64, f64),
    (scale, colors, label): (&Ruler, &[[u8; 3]], &str),
) {
    let area = &frame.area;
    let (left, width, top, height) = (area.x(1.0) + gap, 18.0, area.top, area.height - 34.0);
    let y = |part: f64| top + (1.0 - part) * height;
    let shades: Vec<Vec<Option<f64>>> = (0..SHADES).map(|shade| vec![Some(shade as f64)]).collect();
    if let Some(png) = picture((1, colors), &shades, |shade| Some(shade as usize)) {
        drawing.picture((left, top), (width, height), &STANDARD.encode(png));
    }
    drawing.frame(left, top, width, height);
    let mut free = f64::INFINITY;
    for (part, name) in &scale.ticks.labelled {
        if free - y(*part) < 13.0 {
            continue;
        }
        free = y(*part);
        drawing.line((left + width, free), (left + width + 4.0, free), INK, 1.0);
        drawing.text((left + width + 7.0, free + 4.5), LETTERS, TextAnchor::Start, name);
    }
    drawing.frame(left, area.y(0.0) - 15.0, width, 15.0);
    drawing.text((left + width + 7.0, area.y(0.0) - 3.0), LETTERS, TextAnchor::Start, "none");
    let edge = area.x(1.0) + room - 8.0;
    drawing.text_upwards(
        (edge, y(0.5)),
        14.0,
        &super::frame::shown(label, if room < ROOM.0 { 22 } else { 34 }),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::findings::{PlotKind, Series, Stroke};

    /// Returns the palette entries of a picture, one per cell.
    fn decoded(png: &[u8], columns: usize, rows: usize) -> Vec<Vec<u8>> {
        let mut decoder = png::Decoder::new(std::io::Cursor::new(png));
        decoder.set_transformations(png::Transformations::IDENTITY);
        let mut reader = decoder.read_info().unwrap();
        let mut dots = vec![0; reader.output_buffer_size().unwrap()];
        let frame = reader.next_frame(&mut dots).unwrap();
        let (width, height) = (frame.width as usize, frame.height as usize);
        (0..rows)
            .map(|row| {
                let line = row * (height / rows) * width;
                (0..columns).map(|column| dots[line + column * (width / columns)]).collect()
            })
            .collect()
    }

    #[test]
    fn cells_have_their_place_and_shade() {
        let row = |name: &str, values: [Option<f64>; 3]| {
            let points = values.into_iter().zip([10.0, 20.0, 40.0]).map(|(v, x)| (x, v)).collect();
            Series::new(name, Stroke::Measured, points)
        };
        let axis = |label: &str| Axis::new(label, Scale::Linear);
        let plot = Plot::new(PlotKind::HeatMap, "m", "m", axis("x"), axis("hits"))
            .with(row("foot", [Some(0.0), Some(64.0), None]))
            .with(row("head", [Some(32.0), Some(f64::NAN), Some(63.9)]));
        let cells = HeatMapCells::new(&plot, &plot.series.iter().collect::<Vec<_>>());
        assert_eq!((cells.columns, cells.range), (4, (10.0, 50.0)));
        let colors: Vec<[u8; 3]> = (0..SHADES).map(shade_color).collect();
        let png = picture((cells.columns, &colors), &cells.values, |v| Some(shade_of(v / 64.0)));
        let png = png.unwrap();
        // The top row comes first; the column at 30 has no values.
        assert_eq!(decoded(&png, 4, 2), [[33, 0, 0, 64], [1, 64, 0, 0]]);
    }

    #[test]
    fn many_rows_have_names_at_round_distances() {
        let named = |count: usize| {
            let names: Vec<String> = (0..count).map(|row| format!("{row}")).collect();
            let Scale::Categories(shown) = rows_axis(&names).scale else { unreachable!() };
            shown.into_iter().filter(|name| !name.is_empty()).collect::<Vec<_>>()
        };
        assert_eq!(named(3), ["0", "1", "2"]);
        assert_eq!(named(200)[..3], ["0", "20", "40"]);
        assert!(named(1000).len() <= NAMES);
    }

    #[test]
    fn shades_darken_steadily() {
        let light = |shade: usize| {
            let [r, g, b] = shade_color(shade).map(f64::from);
            0.2126 * r + 0.7152 * g + 0.0722 * b
        };
        assert!((1..SHADES).all(|shade| light(shade) < light(shade - 1)));
        assert!((150.0..195.0).contains(&light(0)) && light(SHADES - 1) < 40.0);
    }

    #[test]
    fn lines_lie_over_the_rows_and_categories_have_colors() {
        let axis = |label: &str, scale| Axis::new(label, scale);
        let row = |name: &str, values: [Option<f64>; 2]| {
            let points = values.into_iter().zip([0.0, 1.0]).map(|(v, x)| (x, v)).collect();
            Series::new(name, Stroke::Measured, points)
        };
        let names = vec!["RND 4K R".to_owned(), "others".to_owned()];
        let of = |scale| {
            Plot::new(PlotKind::HeatMap, "m", "m", axis("x", Scale::Linear), axis("what", scale))
                .with(row("foot", [Some(0.0), Some(1.0)]))
                .with(row("head", [None, Some(7.0)]))
        };
        let colors = of(Scale::Categories(names));
        let cells = HeatMapCells::new(&colors, &colors.series.iter().collect::<Vec<_>>());
        let shading = CellColors::new(&colors, &[]);
        let png = picture((2, &shading.palette()), &cells.values, |v| shading.place(v)).unwrap();
        // 7 is not a category.
        assert_eq!(decoded(&png, 2, 2), [[0, 0], [1, 2]]);
        let twenty = (0..20).map(|place| of_category(place, "RND 4K R"));
        let all: std::collections::BTreeSet<String> =
            twenty.chain([of_category(1, OTHERS)]).collect();
        assert_eq!(all.len(), 21);
        let drawn = draw(&colors, super::super::frame::FULL).0.finish("");
        assert!(drawn.contains("RND 4K R") && drawn.contains("others"));
        // The middle of row 1 is at three quarters of the height.
        let line = Series::new("99 %", Stroke::Measured, vec![(0.5, Some(1.0)), (1.5, Some(1.0))]);
        let over = of(Scale::Linear).with(line.on_right());
        let drawn = draw(&over, super::super::frame::FULL).0.finish("");
        let y = 14.0 + 0.25 * 280.0;
        assert!(drawn.contains("99 %") && drawn.contains(&format!(",{y:.2}")), "{drawn}");
    }
}
