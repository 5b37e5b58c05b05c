//! Data for the script of a web page: the positions and values of a drawing over two axes.

use super::axis::Ruler;
use super::frame::{PlotFrame, SeriesLook};
use serde::Serialize;
use steadfast_domain::findings::{Axis, Plot, Scale, Series, TimeUnit};

/// Maximum number of points of a series; of longer ones, each slice keeps its first, smallest,
/// largest and last point.
const POINTS_MAX: usize = 3000;
/// Significant digits of values under the pointer.
const DIGITS: i32 = 6;
/// Significant digits of cells; few, because there are many cells.
const CELL_DIGITS: i32 = 4;
/// Maximum number of values in a grid; in larger ones, several columns share one value.
const CELLS_MAX: usize = 40_000;

/// Axes and values of a drawing.
#[derive(Debug, Serialize)]
pub struct Chart {
    /// Left, top, width and height of the plot area.
    area: [f64; 4],
    /// True if the horizontal axis can be zoomed: the values are lines or points.
    zoom: bool,
    /// True if every value is a separate shape and there is no plot area.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    solid: bool,
    x: ChartAxis,
    y: ChartAxis,
    #[serde(skip_serializing_if = "Option::is_none")]
    right: Option<ChartAxis>,
    #[serde(skip_serializing_if = "Option::is_none")]
    grid: Option<ChartGrid>,
    series: Vec<ChartSeries>,
}

/// Cells below the lines: rows of equal height from the bottom, columns of equal width.
#[derive(Debug, Serialize)]
pub struct ChartGrid {
    /// Quantity of the rows.
    label: String,
    /// Name at the start of each row.
    names: Vec<String>,
    values: Vec<Vec<Option<f64>>>,
    /// Number of columns in the drawing, and number of columns that share one value.
    columns: usize,
    together: usize,
    /// True if a value is the maximum of several.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    folded: bool,
}

impl ChartGrid {
    /// Returns the grid of cells whose rows are these series; `folded` is true if a cell is already
    /// the maximum of several values.
    pub fn new(
        label: &str,
        series: &[String],
        cells: &[Vec<Option<f64>>],
        folded: bool,
    ) -> ChartGrid {
        let rows = cells.len().max(1);
        let columns = cells.first().map_or(0, Vec::len);
        let together = (columns * rows).div_ceil(CELLS_MAX).max(1);
        let cell = |cells: &[Option<f64>]| -> Option<f64> {
            cells.iter().flatten().copied().reduce(f64::max).map(|v| rounded_to(v, CELL_DIGITS))
        };
        // The first of the series combined in a row.
        let first = |row: usize| (row * series.len()).div_ceil(rows);
        let name = |row: usize| series.get(first(row)).cloned().unwrap_or_default();
        ChartGrid {
            label: label.to_owned(),
            names: (0..rows).map(name).collect(),
            values: cells.iter().map(|row| row.chunks(together).map(cell).collect()).collect(),
            columns,
            together,
            folded: folded || together > 1,
        }
    }
}

/// An axis and its range.
#[derive(Debug, Serialize)]
struct ChartAxis {
    label: String,
    low: f64,
    high: f64,
    log: bool,
    /// Length of the axis unit in seconds, for an axis of time.
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<f64>,
    /// Clock changes: pairs of a value of the axis from which the second entry applies, and the
    /// clock time at value 0 in seconds since 1970.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    clock: Vec<[f64; 2]>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    names: Vec<String>,
}

#[derive(Debug, Serialize)]
struct ChartSeries {
    name: String,
    color: String,
    width: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    dash: Option<&'static str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    right: bool,
    x: Vec<f64>,
    y: Vec<Option<f64>>,
    /// Upper edge of a band.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    upper: Vec<Option<f64>>,
}

impl Chart {
    /// Returns left, top, width and height of the plot area; `None` for columns in perspective.
    pub fn area(&self) -> Option<[f64; 4]> {
        (!self.solid).then_some(self.area)
    }

    /// Returns the chart of a drawing with these looks of its series.
    pub fn new(plot: &Plot, frame: &PlotFrame, looks: &[SeriesLook], zoom: bool) -> Chart {
        let area = &frame.area;
        let numbers = !matches!(plot.x.scale, Scale::Categories(_));
        let right = frame.rulers.right.as_ref().zip(plot.y_right.as_ref());
        let series = plot.series.iter().zip(looks);
        Chart {
            area: [area.left, area.top, area.width, area.height],
            zoom: zoom && numbers,
            solid: false,
            grid: None,
            x: ChartAxis::new(&plot.x, &frame.rulers.x),
            y: ChartAxis::new(&plot.y, &frame.rulers.y),
            right: right.map(|(ruler, axis)| ChartAxis::new(axis, ruler)),
            series: series.map(|(series, look)| ChartSeries::new(plot, series, look)).collect(),
        }
    }

    /// Returns the chart of stacked columns. Each layer has a name, a color and its heights;
    /// `lines` are drawn over the layers.
    pub fn of_layers<'a>(
        plot: &Plot,
        frame: &PlotFrame,
        xs: &[f64],
        layers: impl Iterator<Item = (&'a str, &'a str, &'a [f64])>,
        lines: &[(&Series, SeriesLook)],
    ) -> Chart {
        let layers = layers.map(|(name, color, heights)| ChartSeries {
            name: name.to_owned(),
            color: color.to_owned(),
            width: 0.0,
            dash: None,
            right: false,
            x: xs.iter().copied().map(rounded).collect(),
            y: heights.iter().map(|height| Some(rounded(*height))).collect(),
            upper: Vec::new(),
        });
        let lines = lines.iter().map(|(series, look)| ChartSeries::new(plot, series, look));
        Chart { series: layers.chain(lines).collect(), ..Chart::new(plot, frame, &[], false) }
    }

    /// Returns the chart of cells with lines over them.
    pub fn of_cells(
        plot: &Plot,
        frame: &PlotFrame,
        over: &[&Series],
        looks: &[SeriesLook],
        grid: ChartGrid,
    ) -> Chart {
        let lines =
            over.iter().zip(looks).map(|(series, look)| ChartSeries::new(plot, series, look));
        Chart {
            series: lines.collect(),
            grid: Some(grid),
            right: None,
            ..Chart::new(plot, frame, &[], false)
        }
    }

    /// Returns the chart of columns in perspective over a vertical axis.
    pub fn of_columns(plot: &Plot, y: &Ruler, color: impl Fn(usize) -> &'static str) -> Chart {
        let series = plot.series.iter().enumerate().map(|(index, series)| {
            let look = SeriesLook::opaque(color(index).to_owned());
            ChartSeries::new(plot, series, &look)
        });
        Chart {
            area: [0.0; 4],
            zoom: false,
            solid: true,
            x: ChartAxis::new(&plot.x, &Ruler::new(&plot.x.scale, &[])),
            y: ChartAxis::new(&plot.y, y),
            right: None,
            grid: None,
            series: series.collect(),
        }
    }
}

impl ChartAxis {
    fn new(axis: &Axis, ruler: &Ruler) -> ChartAxis {
        let Ruler { low, high, logarithmic: log, .. } = *ruler;
        let names = match &axis.scale {
            Scale::Categories(names) => names.clone(),
            _ => Vec::new(),
        };
        let time = axis.time.map(TimeUnit::seconds);
        let clock = axis.clock.iter().map(|part| [part.from, part.ahead_s]).collect();
        let label = if axis.clock.is_empty() { axis.label.as_str() } else { axis.bare_label() };
        ChartAxis { label: label.to_owned(), low, high, log, time, clock, names }
    }
}

/// Addition to the name of a series without any value.
pub const NO_VALUE: &str = ": no value";

/// Returns true if a series has points but no value.
pub fn is_void(series: &Series) -> bool {
    !series.points.is_empty() && series.points.iter().all(|(_, y)| y.is_none())
}

impl ChartSeries {
    fn new(plot: &Plot, series: &Series, look: &SeriesLook) -> ChartSeries {
        // A band is already thinned: its creator reduces both edges in the same way.
        let is_band = !series.upper.is_empty();
        let points = if is_band { series.points.clone() } else { envelope(&series.points) };
        let value = |y: Option<f64>| y.filter(|y| y.is_finite()).map(rounded);
        ChartSeries {
            name: format!("{}{}", series.name, if is_void(series) { NO_VALUE } else { "" }),
            color: look.color.clone(),
            width: look.width,
            dash: look.dash,
            right: series.right && plot.y_right.is_some(),
            x: points.iter().map(|(x, _)| rounded(*x)).collect(),
            y: points.iter().map(|(_, y)| value(*y)).collect(),
            upper: series.upper.iter().map(|y| value(*y)).collect(),
        }
    }
}

/// Thins a long series to the points that determine its shape: of every slice the first, smallest,
/// largest and last one, and one gap.
fn envelope(points: &[(f64, Option<f64>)]) -> Vec<(f64, Option<f64>)> {
    let finite = |point: &&(f64, Option<f64>)| point.0.is_finite();
    if points.len() <= POINTS_MAX {
        return points.iter().filter(finite).copied().collect();
    }
    let slice = points.len().div_ceil(POINTS_MAX / 5).max(1);
    let mut out = Vec::new();
    for slice in points.chunks(slice) {
        let value = |at: &usize| slice[*at].1.filter(|y| y.is_finite());
        let known = || (0..slice.len()).filter_map(|at| Some((at, value(&at)?)));
        let least = known().min_by(|one, other| one.1.total_cmp(&other.1)).map(|(at, _)| at);
        let greatest = known().max_by(|one, other| one.1.total_cmp(&other.1)).map(|(at, _)| at);
        let gap = (0..slice.len()).find(|at| value(at).is_none());
        let mut kept: Vec<usize> =
            [Some(0), least, greatest, gap, Some(slice.len() - 1)].into_iter().flatten().collect();
        kept.sort_unstable();
        kept.dedup();
        out.extend(kept.into_iter().map(|at| slice[at]).filter(|point| point.0.is_finite()));
    }
    out
}

/// Rounds a number to the digits that the pointer shows.
fn rounded(value: f64) -> f64 {
    rounded_to(value, DIGITS)
}

fn rounded_to(value: f64, digits: i32) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return 0.0;
    }
    let scale = 10f64.powi(digits - 1 - value.abs().log10().floor() as i32);
    match (value * scale).round() / scale {
        tidy if tidy.is_finite() => tidy,
        _ => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_series_keeps_its_peaks_and_gaps() {
        let mut points: Vec<(f64, Option<f64>)> =
            (0..10_007).map(|n| (f64::from(n), Some(f64::from(n % 7)))).collect();
        (points[5003].1, points[7001].1, points[9001].1) = (Some(99.0), Some(-5.0), None);
        let kept = envelope(&points);
        assert!(kept.len() <= POINTS_MAX + 5, "{}", kept.len());
        for at in [0, 5003, 7001, 9001, 10_006] {
            assert!(kept.contains(&points[at]), "{at}");
        }
        assert!(kept.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }

    #[test]
    fn a_large_grid_keeps_its_greatest_values() {
        let mut cells = vec![vec![Some(1.0); 1000]; 100];
        cells[3][999] = Some(123_456.0);
        cells[4][0..3].fill(None);
        let names: Vec<String> = (0..200).map(|row| format!("{row} %")).collect();
        let grid = ChartGrid::new("LBA", &names, &cells, false);
        assert!(grid.folded && grid.values[0].len() * grid.values.len() <= CELLS_MAX);
        assert_eq!((grid.values[3].last(), grid.values[4][0]), (Some(&Some(123_500.0)), None));
        assert_eq!((grid.names.len(), grid.names[7].as_str()), (100, "14 %"));
        assert_eq!((grid.columns, grid.together), (1000, 3));
        let small = ChartGrid::new("", &["a".into()], &[vec![Some(7.0), None]], false);
        assert_eq!((small.folded, small.values), (false, vec![vec![Some(7.0), None]]));
    }

    #[test]
    fn numbers_have_six_digits() {
        assert_eq!(rounded(123_456.789), 123_457.0);
        assert_eq!(rounded(0.000_123_456_789), 0.000_123_457);
        assert!((rounded(1e300) / 1e300 - 1.0).abs() < 1e-12, "{}", rounded(1e300));
    }
}
