//! Plots: data and how to look at it, rendered by `report` alone.

use serde::{Deserialize, Serialize};

/// A drawing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Plot {
    /// A short name, stable across versions, unique in the findings.
    pub id: String,
    /// Its title.
    pub title: String,
    /// A sentence under it.
    pub caption: String,
    /// What kind of drawing.
    pub kind: PlotKind,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis, on the left.
    pub y: Axis,
    /// A second vertical axis, on the right.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub y_right: Option<Axis>,
    /// What is drawn.
    pub series: Vec<Series>,
    /// Vertical lines with a label at their head.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub markers: Vec<Marker>,
}

impl Plot {
    /// A drawing with one vertical axis and no markers.
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
    /// With a sentence under it.
    pub fn caption(mut self, caption: impl Into<String>) -> Self {
        self.caption = caption.into();
        self
    }
    /// With another series.
    pub fn with(mut self, series: Series) -> Self {
        self.series.push(series);
        self
    }
    /// With more series.
    pub fn series(mut self, series: impl IntoIterator<Item = Series>) -> Self {
        self.series.extend(series);
        self
    }
    /// With an axis on the right.
    pub fn right(self, axis: Axis) -> Self {
        Plot { y_right: Some(axis), ..self }
    }
    /// With vertical lines.
    pub fn markers(mut self, markers: impl IntoIterator<Item = Marker>) -> Self {
        self.markers.extend(markers);
        self
    }
}

/// A vertical line at a value of the x axis: a percentile, an event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Marker {
    /// Where.
    pub x: f64,
    /// What it marks.
    pub label: String,
}

/// Kinds of drawing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PlotKind {
    /// Points joined by lines.
    Lines,
    /// Columns in perspective: one row of columns per series, one column per
    /// category of the x axis.
    Columns3d,
    /// Bars side by side: one group per category of the x axis, one bar per series.
    Bars,
    /// Points alone.
    Scatter,
    /// Filled steps: a count over each bin, which reaches from its x to the
    /// next point's. Series on the right axis are lines.
    Histogram,
    /// Columns on top of one another, one stack per x: shares and streams over
    /// time. Series on the right axis are lines.
    Stacked,
    /// A grid of shades: one row of cells per series, from below, one cell per
    /// x; y is the value that is shaded. The plot's `y` names that value and
    /// spreads it over the shades, or names what the values stand for where its
    /// scale has categories: then each has a color. The label of `y_right`, if there is
    /// one, says what the rows are. Series on the right axis are lines over the grid;
    /// n is the middle of row n, counted from 0.
    HeatMap,
}

/// An axis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Axis {
    /// What it shows, with the unit.
    pub label: String,
    /// How values are spread along it.
    pub scale: Scale,
    /// Its values are times in this unit: its ticks are those of a clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<TimeUnit>,
    /// What a clock showed along an axis of time, in order; without one its ticks are times
    /// since its beginning.
    #[serde(default, skip_serializing_if = "<[ClockTime]>::is_empty")]
    pub clock: Box<[ClockTime]>,
}

/// What a clock showed on a part of an axis.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ClockTime {
    /// The first value of the part.
    pub from: f64,
    /// What the clock would show at value 0: seconds since 1970, in local time.
    pub ahead_s: f64,
}

impl Axis {
    /// An axis.
    pub fn new(label: impl Into<String>, scale: Scale) -> Self {
        Axis { label: label.into(), scale, time: None, clock: Box::default() }
    }
    /// An axis of time; its label ends with the unit in brackets.
    pub fn time(name: &str, unit: TimeUnit) -> Self {
        let label = format!("{name} ({})", unit.symbol());
        Axis { time: Some(unit), ..Axis::new(label, Scale::Linear) }
    }
    /// With what a clock showed.
    pub fn by_clock(self, clock: Vec<ClockTime>) -> Self {
        Axis { clock: clock.into(), ..self }
    }
    /// The label of an axis whose ticks name their own unit.
    pub fn bare_label(&self) -> &str {
        let unit = self.time.map(|unit| format!(" ({})", unit.symbol()));
        unit.and_then(|unit| self.label.strip_suffix(&unit)).unwrap_or(&self.label)
    }
}

/// A unit of time in which an axis counts.
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
    /// Its length in seconds.
    pub const fn seconds(self) -> f64 {
        match self {
            TimeUnit::Seconds => 1.0,
            TimeUnit::Minutes => 60.0,
            TimeUnit::Hours => 3600.0,
        }
    }
    /// Its symbol.
    pub const fn symbol(self) -> &'static str {
        match self {
            TimeUnit::Seconds => "s",
            TimeUnit::Minutes => "min",
            TimeUnit::Hours => "h",
        }
    }
}

/// How values are spread along an axis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// Evenly, from zero.
    Linear,
    /// Percent, evenly from zero; the axis never reaches beyond 100.
    Percent,
    /// Evenly, over the range of the values only.
    LinearFitted,
    /// Whole numbers, evenly (rounds).
    Integers,
    /// Decades.
    Log10,
    /// Powers of two.
    Log2,
    /// Named positions 0, 1, 2, ...
    Categories(Vec<String>),
}

/// How a series is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Stroke {
    /// A solid line with a marker at each point: measured values.
    Measured,
    /// A solid line without markers: an average.
    Average,
    /// A dashed line: an allowed band.
    Limit,
    /// A solid accent line: a fit.
    Fit,
    /// Grey and thin: context.
    Context,
    /// The area between the points and [`Series::upper`].
    Band,
}

/// A named row of points.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Series {
    /// A short name, stable across versions, by which series of several runs are put
    /// together.
    pub id: String,
    /// Its name in the legend.
    pub name: String,
    /// How it is drawn.
    pub stroke: Stroke,
    /// x and y; a missing y breaks the line.
    pub points: Vec<(f64, Option<f64>)>,
    /// Drawn against the axis on the right.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub right: bool,
    /// The upper edge of a band, one value for each point; its lower edge are the points.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub upper: Vec<Option<f64>>,
}

impl Series {
    /// A series drawn against the axis on the left; its name in the legend is its name.
    pub fn new(name: impl Into<String>, stroke: Stroke, points: Vec<(f64, Option<f64>)>) -> Self {
        let name = name.into();
        Series { id: name.clone(), name, stroke, points, right: false, upper: Vec::new() }
    }
    /// The same under another name than that in the legend.
    pub fn named(self, id: impl Into<String>) -> Self {
        Series { id: id.into(), ..self }
    }
    /// A filled band: x, its lower and its upper edge.
    pub fn band(name: impl Into<String>, edges: &[(f64, Option<f64>, Option<f64>)]) -> Self {
        let points = edges.iter().map(|(x, low, _)| (*x, *low)).collect();
        let upper = edges.iter().map(|(_, _, high)| *high).collect();
        Series { upper, ..Series::new(name, Stroke::Band, points) }
    }
    /// The same against the axis on the right.
    pub fn on_right(mut self) -> Self {
        self.right = true;
        self
    }
}
