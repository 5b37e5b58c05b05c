//! Heat maps. Each series is a row of cells, the first at the bottom. The shade of a cell is its
//! value: `y` gives the quantity and scale of the values, `y_right` the quantity of the rows. If
//! `y` has categories, a value is the index of a category and has its color. Series on the right
//! axis are lines over the grid.

use super::axis::{self, Ruler, TickLabel};
use super::frame::{self, DrawingSize, LegendEntry, PlotFrame, Rulers, SeriesLook};
use super::lines;
use super::paint::{
    COLORS, INK, LETTERS, OTHERS, OTHERS_COLOR, SvgDrawing, TextAnchor, color, lighten, plain_dash,
    rgb,
};
use super::script_data::{Chart, ChartGrid};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use steadfast_domain::findings::{Axis, Plot, Scale, Series};

/// Maximum number of cells in either direction. Beyond it, several cells are combined into one with
/// the largest of their values.
const CELLS_MAX: usize = 1000;
/// Width of the scale bar, and of "none", the key for white cells.
const BAR_WIDTH: f64 = 18.0;
const NONE_WIDTH: f64 = 30.0;
/// Number of shades, without the one for a missing value.
const SHADES: usize = 64;

/// The space to the right of the cells, for the scale bar.
#[derive(Clone, Copy)]
struct ScaleBarSpace {
    /// Width of the gap, the bar and its labels.
    width: f64,
    /// Gap before the bar.
    gap: f64,
    /// Maximum number of letters of the title.
    letters: usize,
}

/// Space in drawings as wide as a page.
const WIDE_SPACE: ScaleBarSpace =
    ScaleBarSpace { width: frame::BESIDE_TIME, gap: 26.0, letters: 34 };
/// Space in drawings half as wide.
const NARROW_SPACE: ScaleBarSpace = ScaleBarSpace { width: 118.0, gap: 12.0, letters: 22 };
/// Space on a web page if the map has no scale bar.
const NO_SPACE: ScaleBarSpace = ScaleBarSpace { width: 14.0, gap: 0.0, letters: 0 };
const ROW_NAMES_MAX: usize = 18;
/// Colors from light to dark in one hue, in the same order in gray print. Even a single cell of the
/// lightest is distinguishable from white.
const STOPS: [[f64; 3]; 4] =
    [[150.0, 196.0, 226.0], [94.0, 154.0, 206.0], [33.0, 104.0, 172.0], [6.0, 32.0, 76.0]];

/// Values by row from the bottom and by column.
struct HeatMapCells {
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
    fn palette_index(&self, value: f64) -> Option<usize> {
        match self {
            CellColors::Shades(ruler) => {
                ruler.position(value).map(|part| shade_of(part.clamp(0.0, 1.0)))
            }
            CellColors::Colors(names) => {
                let category = (value >= 0.0).then_some(value as usize)?;
                (category < names.len()).then_some(category % PALETTE_MAX)
            }
        }
    }

    fn palette(&self) -> Vec<[u8; 3]> {
        match self {
            CellColors::Shades(_) => (0..SHADES).map(shade_color).collect(),
            CellColors::Colors(names) => {
                let names = names.iter().take(PALETTE_MAX).enumerate();
                names.map(|(category, name)| rgb(&category_color(category, name))).collect()
            }
        }
    }
}

/// Maximum number of colors of categories, limited by the palette.
const PALETTE_MAX: usize = 250;

/// Returns the color of a category: the colors of series, then the same in a lighter tone, as for
/// layers.
fn category_color(category: usize, name: &str) -> String {
    if name == OTHERS {
        OTHERS_COLOR.to_owned()
    } else if (category / COLORS.len()).is_multiple_of(2) {
        color(category).to_owned()
    } else {
        lighten(color(category), 0.6)
    }
}

pub fn draw(plot: &Plot, size: DrawingSize) -> (SvgDrawing, Option<Chart>) {
    let (overlays, rows): (Vec<&Series>, Vec<&Series>) = plot.series.iter().partition(|s| s.right);
    let cells = HeatMapCells::new(plot, &rows);
    let values: Vec<f64> = cells.values.iter().flatten().flatten().copied().collect();
    let colors = CellColors::new(plot, &values);
    let x = match plot.x.scale {
        Scale::Categories(_) => Ruler::across(&plot.x, &[]),
        _ => Ruler::exact(&plot.x, cells.range.0, cells.range.1),
    };
    let rulers = Rulers { x, y: Ruler::new(&rows_axis(&cells.names).scale, &[]), right: None };
    let row_quantity = plot.y_right.as_ref().map(|axis| axis.label.as_str()).unwrap_or_default();
    let space = if size.on_page {
        space_on_page(&colors)
    } else if size.is_small() {
        NARROW_SPACE
    } else {
        WIDE_SPACE
    };
    let frame = PlotFrame::with_room(plot, size, rulers, space.width)
        .with_y_titles(row_quantity, "")
        .with_legend_below(legend(&colors, &overlays));
    let mut drawing = frame.blank_drawing();
    let area = &frame.area;
    if values.iter().any(|value| colors.palette_index(*value).is_some()) {
        let palette_index = |value| colors.palette_index(value);
        if let Some(png) = picture(&cells.values, &colors.palette(), palette_index) {
            let size = (area.width, area.height);
            drawing.picture((area.left, area.top), size, &STANDARD.encode(png));
        }
        if let CellColors::Shades(ruler) = &colors {
            scale_bar(&mut drawing, &frame, space, ruler, &plot.y.label);
        }
    } else {
        frame.draw_no_values(&mut drawing);
    }
    for (index, series) in overlays.iter().enumerate() {
        // A white edge separates a line from dark cells.
        for look in [SeriesLook::line("#ffffff", 3.6, None), line_look(index)] {
            lines::draw_series(&mut drawing, &frame, series, &look, index, overlays.len());
        }
    }
    frame.finish(&mut drawing, true);
    let looks: Vec<SeriesLook> = (0..overlays.len()).map(line_look).collect();
    let grid = ChartGrid::new(row_quantity, &cells.names, &cells.values, cells.folded);
    let chart = Chart::of_cells(plot, &frame, &overlays, &looks, grid);
    (drawing, Some(chart))
}

/// Returns no more space than the scale bar needs.
fn space_on_page(colors: &CellColors) -> ScaleBarSpace {
    match colors {
        CellColors::Shades(ruler) => {
            let labels = frame::label_width(ruler).max(NONE_WIDTH);
            ScaleBarSpace { width: 16.0 + BAR_WIDTH + 7.0 + labels + 26.0, gap: 16.0, letters: 34 }
        }
        CellColors::Colors(_) => NO_SPACE,
    }
}

/// Returns the legend of categories and lines.
fn legend(colors: &CellColors, overlays: &[&Series]) -> Vec<LegendEntry> {
    let mut entries = Vec::new();
    if let CellColors::Colors(names) = colors {
        for (category, name) in names.iter().enumerate() {
            let color = category_color(category, name);
            let look = SeriesLook { width: 1.0, ..SeriesLook::opaque(color) };
            entries.push(LegendEntry { name: name.clone(), look });
        }
    }
    for (index, series) in overlays.iter().enumerate() {
        entries.push(LegendEntry { name: series.name.clone(), look: line_look(index) });
    }
    entries
}

/// Returns the look of a line over cells, in a color that no shade has.
fn line_look(index: usize) -> SeriesLook {
    const LINE_COLORS: [&str; 3] = ["#d55e00", "#009e73", "#cc79a7"];
    SeriesLook::line(LINE_COLORS[index % LINE_COLORS.len()], 1.8, plain_dash(index))
}

/// Returns the ruler of the shades, from the smallest value to the largest. A linear scale includes
/// zero.
fn shade_ruler(plot: &Plot, values: &[f64]) -> Ruler {
    let logarithmic = matches!(plot.y.scale, Scale::Log10 | Scale::Log2);
    let (low, high) = axis::range(values, logarithmic).unwrap_or((1.0, 10.0));
    let axis = Axis::new("", if logarithmic { Scale::Log10 } else { Scale::LinearFitted });
    if logarithmic {
        Ruler::exact(&axis, low, if high > low { high } else { low * 10.0 })
    } else if plot.y.scale == Scale::Linear {
        Ruler::exact(&axis, low.min(0.0), if high > 0.0 { high } else { 1.0 })
    } else {
        Ruler::exact(&axis, low, if high > low { high } else { low + low.abs().max(1.0) })
    }
}

/// Returns an axis with the names of rows; of many names, most are blank.
fn rows_axis(names: &[String]) -> Axis {
    // A round step, so that the names that remain are round numbers.
    let least = names.len().div_ceil(ROW_NAMES_MAX).max(1);
    let every = [1, 2, 5, 10, 20, 25, 50, 100].into_iter().find(|step| *step >= least);
    let every = every.unwrap_or(least);
    let shown = names.iter().enumerate().map(|(index, name)| {
        if index % every == 0 { frame::shown(name, 16) } else { String::new() }
    });
    Axis::new("", Scale::Categories(shown.collect()))
}

impl HeatMapCells {
    fn new(plot: &Plot, series_of_rows: &[&Series]) -> HeatMapCells {
        let xs = axis::distinct_xs(series_of_rows);
        let step = xs.windows(2).map(|pair| pair[1] - pair[0]).fold(f64::INFINITY, f64::min);
        let step = if step.is_finite() { step } else { 1.0 };
        let first = xs.first().copied().unwrap_or(0.0);
        let last = xs.last().copied().unwrap_or(0.0) + step;
        // Columns are evenly spaced, so that one without values is a gap.
        let wanted = ((last - first) / step).round().max(1.0);
        let (first, step, wanted) = match &plot.x.scale {
            Scale::Categories(names) => (0.0, 1.0, names.len().max(1) as f64),
            _ => (first, step, wanted),
        };
        let columns = wanted.min(CELLS_MAX as f64) as usize;
        let rows = series_of_rows.len().clamp(1, CELLS_MAX);
        let mut values = vec![vec![None; columns]; rows];
        for (row, series) in series_of_rows.iter().enumerate() {
            let row = row * rows / series_of_rows.len().max(1);
            for (x, value) in &series.points {
                let Some(value) = value.filter(|v| v.is_finite()) else { continue };
                let column = ((x - first) / step).round();
                // This also skips a column that is not a number.
                if !(0.0..wanted).contains(&column) {
                    continue;
                }
                let column = ((column * columns as f64 / wanted) as usize).min(columns - 1);
                let cell: &mut Option<f64> = &mut values[row][column];
                *cell = Some(cell.map_or(value, |largest| largest.max(value)));
            }
        }
        let names: Vec<String> = series_of_rows.iter().map(|s| s.name.clone()).collect();
        let folded = wanted > CELLS_MAX as f64 || names.len() > CELLS_MAX;
        HeatMapCells { values, names, range: (first, first + step * wanted), folded }
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
    rows: &[Vec<Option<f64>>],
    colors: &[[u8; 3]],
    palette_index: impl Fn(f64) -> Option<usize>,
) -> Option<Vec<u8>> {
    let columns = rows.first()?.len();
    let cell_width = 1600usize.div_ceil(columns).min(40);
    let cell_height = 900usize.div_ceil(rows.len()).min(40);
    let mut dots = Vec::with_capacity(columns * cell_width * rows.len() * cell_height);
    for row in rows.iter().rev() {
        let line: Vec<u8> = row
            .iter()
            .map(|value| value.and_then(&palette_index).map_or(0, |index| index as u8 + 1))
            .flat_map(|dot| std::iter::repeat_n(dot, cell_width))
            .collect();
        (0..cell_height).for_each(|_| dots.extend_from_slice(&line));
    }
    let mut palette = vec![255; 3];
    palette.extend(colors.iter().flatten());
    let mut out = Vec::new();
    let width = (columns * cell_width) as u32;
    let height = (rows.len() * cell_height) as u32;
    let mut encoder = png::Encoder::new(&mut out, width, height);
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
    space: ScaleBarSpace,
    ruler: &Ruler,
    label: &str,
) {
    let area = &frame.area;
    let (left, width, top, height) =
        (area.x(1.0) + space.gap, BAR_WIDTH, area.top, area.height - 34.0);
    let y = |part: f64| top + (1.0 - part) * height;
    let shades: Vec<Vec<Option<f64>>> = (0..SHADES).map(|shade| vec![Some(shade as f64)]).collect();
    let colors: Vec<[u8; 3]> = (0..SHADES).map(shade_color).collect();
    if let Some(png) = picture(&shades, &colors, |shade| Some(shade as usize)) {
        drawing.picture((left, top), (width, height), &STANDARD.encode(png));
    }
    drawing.frame(left, top, width, height);
    let mut last_tick = f64::INFINITY;
    for TickLabel { position, text } in &ruler.labels {
        let tick = y(*position);
        if last_tick - tick < 13.0 {
            continue;
        }
        last_tick = tick;
        drawing.line((left + width, tick), (left + width + 4.0, tick), INK, 1.0);
        drawing.text((left + width + 7.0, tick + 4.5), LETTERS, TextAnchor::Start, text);
    }
    drawing.frame(left, area.y(0.0) - 15.0, width, 15.0);
    drawing.text((left + width + 7.0, area.y(0.0) - 3.0), LETTERS, TextAnchor::Start, "none");
    let edge = area.x(1.0) + space.width - 8.0;
    drawing.text_upwards((edge, y(0.5)), 14.0, &frame::shown(label, space.letters));
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
        assert_eq!((cells.values[0].len(), cells.range), (4, (10.0, 50.0)));
        let colors: Vec<[u8; 3]> = (0..SHADES).map(shade_color).collect();
        let png = picture(&cells.values, &colors, |v| Some(shade_of(v / 64.0)));
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
        assert!(named(1000).len() <= ROW_NAMES_MAX);
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
        let png = picture(&cells.values, &shading.palette(), |v| shading.palette_index(v)).unwrap();
        // 7 is not a category.
        assert_eq!(decoded(&png, 2, 2), [[0, 0], [1, 2]]);
        let twenty = (0..20).map(|category| category_color(category, "RND 4K R"));
        let all: std::collections::BTreeSet<String> =
            twenty.chain([category_color(1, OTHERS)]).collect();
        assert_eq!(all.len(), 21);
        let drawn = draw(&colors, frame::FULL).0.finish("");
        assert!(drawn.contains("RND 4K R") && drawn.contains("others"));
        // The middle of row 1 is at three quarters of the height.
        let line = Series::new("99 %", Stroke::Measured, vec![(0.5, Some(1.0)), (1.5, Some(1.0))]);
        let over = of(Scale::Linear).with(line.on_right());
        let drawn = draw(&over, frame::FULL).0.finish("");
        let y = 14.0 + 0.25 * 280.0;
        assert!(drawn.contains("99 %") && drawn.contains(&format!(",{y:.2}")), "{drawn}");
    }
}
