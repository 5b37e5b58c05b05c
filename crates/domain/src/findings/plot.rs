//! Plots: data and how to show them. Only `report` renders them.

use serde::{Deserialize, Serialize};

/// A plot: series of points and their axes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Plot {
    /// Short name, stable across versions and unique in the findings.
    pub id: String,
    /// Title of the plot.
    pub title: String,
    /// Sentence below the plot.
    pub caption: String,
    /// Kind of plot.
    pub kind: PlotKind,
    /// Horizontal axis.
    pub x: Axis,
    /// Left vertical axis.
    pub y: Axis,
    /// Right vertical axis; `None` if there is only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub y_right: Option<Axis>,
    /// Series in drawing order.
    pub series: Vec<Series>,
    /// Vertical lines with a label at the top.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub markers: Vec<Marker>,
}

impl Plot {
    /// Creates a plot with one vertical axis, no series and no markers.
    pub fn new(kind: PlotKind, id: &str, title: impl Into<String>, x: Axis, y: Axis) -> Self {
        Plot {
            id: id.to_owned(),
            title: title.into(),
            caption: String::new(),
            kind,
            x,
            y,
            y_right: None,
            series: Vec::new(),
            markers: Vec::new(),
        }
    }
    /// Creates a plot of lines with one vertical axis.
    pub fn lines(id: &str, title: impl Into<String>, x: Axis, y: Axis) -> Self {
        Plot::new(PlotKind::Lines, id, title, x, y)
    }
    /// Sets the sentence below the plot.
    pub fn caption(mut self, caption: impl Into<String>) -> Self {
        self.caption = caption.into();
        self
    }
    /// Adds a series.
    pub fn with(mut self, series: Series) -> Self {
        self.series.push(series);
        self
    }
    /// Adds several series.
    pub fn series(mut self, series: impl IntoIterator<Item = Series>) -> Self {
        self.series.extend(series);
        self
    }
    /// Sets the right vertical axis.
    pub fn right(self, axis: Axis) -> Self {
        Plot { y_right: Some(axis), ..self }
    }
    /// Adds vertical lines.
    pub fn markers(mut self, markers: impl IntoIterator<Item = Marker>) -> Self {
        self.markers.extend(markers);
        self
    }
}

/// A vertical line at a value of the x axis, such as a percentile or an event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Marker {
    /// Value on the x axis.
    pub x: f64,
    /// Label of the line.
    pub label: String,
}

/// Kind of plot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PlotKind {
    /// Points joined by lines.
    Lines,
    /// Columns in perspective: one row of columns per series, one column per category of the x
    /// axis.
    Columns3d,
    /// Bars: one group per category of the x axis, one bar per series.
    Bars,
    /// Points without lines.
    Scatter,
    /// Filled steps: a count over each bin, which extends from its x to that of the next point.
    /// Series on the right axis are lines.
    Histogram,
    /// Stacked columns, one stack per x: shares and streams over time. Series on the right axis are
    /// lines.
    Stacked,
    /// Grid of shaded cells: one row per series, from the bottom, one cell per x; y is the shaded
    /// value. The plot's `y` axis names that value and maps it to shades. If the scale of `y` has
    /// categories, the axis names what the values stand for, and each category has a color. The
    /// label of `y_right`, if present, describes the rows. Series on the right axis are lines over
    /// the grid; their value n is the middle of row n, counted from 0.
    HeatMap,
}

/// An axis of a plot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Axis {
    /// Quantity, with its unit.
    pub label: String,
    /// Mapping of values to positions.
    pub scale: Scale,
    /// Unit of time of the values, with ticks as on a clock; `None` if the values are not times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<TimeUnit>,
    /// Wall-clock times along an axis of time, in order; if empty, ticks show the time since the
    /// axis begins.
    #[serde(default, skip_serializing_if = "<[ClockTime]>::is_empty")]
    pub clock: Box<[ClockTime]>,
}

/// Wall-clock time on a part of an axis.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ClockTime {
    /// First value of the part.
    pub from: f64,
    /// Wall-clock time at value 0, in seconds since 1970, in local time.
    pub ahead_s: f64,
}

impl Axis {
    /// Creates an axis without times.
    pub fn new(label: impl Into<String>, scale: Scale) -> Self {
        Axis { label: label.into(), scale, time: None, clock: Box::default() }
    }
    /// Creates an axis of time; its label ends with the unit in parentheses.
    pub fn time(name: &str, unit: TimeUnit) -> Self {
        let label = format!("{name} ({})", unit.symbol());
        Axis { time: Some(unit), ..Axis::new(label, Scale::Linear) }
    }
    /// Sets the wall-clock times along the axis.
    pub fn by_clock(self, clock: Vec<ClockTime>) -> Self {
        Axis { clock: clock.into(), ..self }
    }
    /// Returns the label without the unit, for an axis whose ticks name their own units.
    pub fn bare_label(&self) -> &str {
        let unit = self.time.map(|unit| format!(" ({})", unit.symbol()));
        unit.and_then(|unit| self.label.strip_suffix(&unit)).unwrap_or(&self.label)
    }
}

/// Unit of time of an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TimeUnit {
    /// Seconds.
    Seconds,
    /// Minutes.
    Minutes,
    /// Hours.
    Hours,
}

impl TimeUnit {
    /// Returns the length of the unit in seconds.
    pub const fn seconds(self) -> f64 {
        match self {
            TimeUnit::Seconds => 1.0,
            TimeUnit::Minutes => 60.0,
            TimeUnit::Hours => 3600.0,
        }
    }
    /// Returns the symbol of the unit: `s`, `min` or `h`.
    pub const fn symbol(self) -> &'static str {
        match self {
            TimeUnit::Seconds => "s",
            TimeUnit::Minutes => "min",
            TimeUnit::Hours => "h",
        }
    }
}

/// Mapping of values to positions along an axis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// Linear from zero.
    Linear,
    /// Percent, evenly from zero; the axis never reaches beyond 100, nor below -100.
    Percent,
    /// Evenly, over the range of the values only.
    LinearFitted,
    /// Linear over whole numbers, such as rounds.
    Integers,
    /// Logarithmic to base 10.
    Log10,
    /// Logarithmic to base 2.
    Log2,
    /// Named positions 0, 1, 2, ...
    Categories(Vec<String>),
}

/// Drawing style of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Stroke {
    /// Solid line with a marker at each point, for measured values.
    Measured,
    /// Solid line without markers, for an average.
    Average,
    /// Dashed line, for an allowed band.
    Limit,
    /// Solid accented line, for a fit.
    Fit,
    /// Thin gray line, for context.
    Context,
    /// Area between the points and [`Series::upper`].
    Band,
}

/// A named series of points.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Series {
    /// Short name, stable across versions, by which series of several runs are matched.
    pub id: String,
    /// Name in the legend.
    pub name: String,
    /// Drawing style.
    pub stroke: Stroke,
    /// Points (x, y); a missing y interrupts the line.
    pub points: Vec<(f64, Option<f64>)>,
    /// True if the series uses the right vertical axis.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub right: bool,
    /// Upper edge of a band, one value per point; the points are the lower edge. Empty for other
    /// styles.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub upper: Vec<Option<f64>>,
}

/// Lower and upper edge of a band at one x; a missing edge interrupts the band.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BandEdge {
    /// Value on the x axis.
    pub x: f64,
    /// Lower edge.
    pub low: Option<f64>,
    /// Upper edge.
    pub high: Option<f64>,
}

impl Series {
    /// Creates a series on the left axis; `name` is also the ID.
    pub fn new(name: impl Into<String>, stroke: Stroke, points: Vec<(f64, Option<f64>)>) -> Self {
        let name = name.into();
        Series { id: name.clone(), name, stroke, points, right: false, upper: Vec::new() }
    }
    /// Sets an ID that differs from the name in the legend.
    pub fn with_id(self, id: impl Into<String>) -> Self {
        Series { id: id.into(), ..self }
    }
    /// Creates a filled band.
    pub fn band(name: impl Into<String>, edges: &[BandEdge]) -> Self {
        let points = edges.iter().map(|edge| (edge.x, edge.low)).collect();
        let upper = edges.iter().map(|edge| edge.high).collect();
        Series { upper, ..Series::new(name, Stroke::Band, points) }
    }
    /// Moves the series to the right vertical axis.
    pub fn on_right(mut self) -> Self {
        self.right = true;
        self
    }
}
