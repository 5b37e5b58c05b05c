//! [`Findings`]: what a record means, in a form that a report can print
//! without knowing any procedure by name.

use crate::steady_state::Verdict;
use serde::{Deserialize, Serialize};

/// The version of the findings that this program writes.
pub const FINDINGS_VERSION: u32 = 1;

/// What kind of disclosure a caveat is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CaveatKind {
    /// The numbers are not what the title says: not the full method, no steady state.
    Invalidates,
    /// The method was departed from.
    Deviation,
    /// A rule whose wording in the standard could not be checked.
    Unverified,
    /// Something that a reader should know.
    Remark,
}

/// A disclosure with its remedy, kept with the numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caveat {
    /// A short name, stable across versions: `purge-lesser`.
    pub id: String,
    /// What kind.
    pub kind: CaveatKind,
    /// What is so, with the numbers.
    pub text: String,
    /// What to do about it; empty where nothing can be done.
    #[serde(default)]
    pub remedy: String,
}

impl Caveat {
    /// A caveat.
    pub fn new(
        kind: CaveatKind,
        id: &str,
        text: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Caveat { id: id.to_owned(), kind, text: text.into(), remedy: remedy.into() }
    }
}

/// The head of the SNIA report form: four blocks of labelled values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FormHeader {
    /// Whose form it is: `SNIA SSS TWG`.
    #[serde(default = "sss_twg")]
    pub issuer: String,
    /// The document that is followed: `Solid State Storage Performance Test Spec (PTS)`.
    #[serde(default = "sss_pts")]
    pub specification: String,
    /// Where less than that was done, every page says so: in one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lesser: Option<String>,
    /// `IOPS Test (REQUIRED)`.
    pub test: String,
    /// `IOPS - Block Size x RW Mix Matrix`.
    pub subtitle: String,
    /// `PTS-E 2.0`.
    pub revision: String,
    /// Vendor of the device.
    pub vendor: Option<String>,
    /// Model of the device.
    pub model: Option<String>,
    /// Who had the test done.
    pub sponsor: Option<String>,
    /// Test platform, device under test, set-up parameters, test parameters.
    pub blocks: Vec<FormBlock>,
}

impl FormHeader {
    /// Who issues the PTS.
    pub const SSS_TWG: &str = "SNIA SSS TWG";
    /// The PTS by its full name.
    pub const SSS_PTS: &str = "Solid State Storage Performance Test Spec (PTS)";
}

/// Findings of earlier versions had one form only.
fn sss_twg() -> String {
    FormHeader::SSS_TWG.to_owned()
}

fn sss_pts() -> String {
    FormHeader::SSS_PTS.to_owned()
}

/// One block of the form's head.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FormBlock {
    /// Its title.
    pub title: String,
    /// Label and value; an unknown value prints a dash.
    pub rows: Vec<(String, Option<String>)>,
}

/// What a measured procedure found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Findings {
    /// Version of this shape.
    pub version: u32,
    /// What was run: `IOPS`.
    pub title: String,
    /// The method followed, in one line.
    pub method: String,
    /// The settings string: `PTS-E  WCD  T4/Q32  DP=RND  AR100  Aln=4K`.
    pub headline: String,
    /// On a simulated drive: every page says so.
    pub simulated: bool,
    /// Wall-clock beginning and end, in milliseconds since 1970 (UTC); 0 where
    /// nobody knows.
    pub run_unix_ms: (u64, u64),
    /// SHA-256 of the measured entries that this was computed from.
    pub digest: String,
    /// The program and version that computed it.
    pub software: String,
    /// Whether the run came to its end, and how: one sentence.
    pub ending: String,
    /// The head of the report form.
    pub header: FormHeader,
    /// The verdict on steady state, where the procedure has one.
    pub verdict: Option<Verdict>,
    /// Every disclosure.
    pub caveats: Vec<Caveat>,
    /// The numbers that a terminal shows.
    pub summary: Vec<Exhibit>,
    /// The pages of the SNIA report form, in order.
    pub form_pages: Vec<Page>,
    /// The chapters behind them.
    pub chapters: Vec<Page>,
    /// Tables too long to print: they go into CSV files only.
    pub long_tables: Vec<Table>,
    /// The findings of the procedures that a suite is made of, in order; each
    /// has its own form pages and chapters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Findings>,
}

impl Findings {
    /// Whether all that had to be steady was: its own verdict and those of its
    /// parts. `None` where nothing is judged. The exit code and page one go by it.
    pub fn steady(&self) -> Option<bool> {
        let own = self.verdict.as_ref().map(|verdict| verdict.steady);
        let of_parts = self.parts.iter().map(Findings::steady);
        std::iter::once(own).chain(of_parts).flatten().reduce(|a, b| a && b)
    }
}

/// A page of the form, or a chapter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Page {
    /// Its title.
    pub title: String,
    /// What is on it, in order.
    pub exhibits: Vec<Exhibit>,
}

/// A table, a plot or a text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Exhibit {
    /// Rows and columns; also written as a CSV file.
    Table(Table),
    /// A drawing.
    Plot(Plot),
    /// Labelled values.
    Facts(Facts),
    /// A paragraph.
    Text(String),
    /// Preformatted lines, such as a procedure's loop.
    Listing(String),
}

/// Labelled values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// Its title.
    pub title: String,
    /// Label and value; an unknown value prints a dash.
    pub rows: Vec<(String, Option<String>)>,
}

/// Rows and columns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// File name of its CSV, without the ending.
    pub id: String,
    /// Its title, with the unit of the values.
    pub title: String,
    /// What the first column holds.
    pub corner: String,
    /// A heading over the columns: `Read / Write Mix %`.
    pub spanner: Option<String>,
    /// Names of the columns after the first.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<Row>,
}

/// One row of a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The first column.
    pub head: String,
    /// The others.
    pub cells: Vec<Cell>,
    /// Set off from the other rows.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub strong: bool,
}

/// One cell of a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cell {
    /// A number and how many decimals print.
    Number {
        /// The value, not rounded.
        value: f64,
        /// Decimals in print.
        decimals: u8,
        /// On a scale whose zero is arbitrary, such as degrees Celsius: two of
        /// them have a difference and no ratio.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        interval: bool,
    },
    /// A text.
    Text(String),
    /// Not measured: prints a dash.
    Missing,
}

impl Cell {
    /// A number, or a dash where there is none.
    pub fn number(value: Option<f64>, decimals: u8) -> Self {
        match value {
            Some(value) if value.is_finite() => Cell::Number { value, decimals, interval: false },
            _ => Cell::Missing,
        }
    }
    /// A temperature in degrees Celsius, or a dash where there is none.
    pub fn celsius(value: Option<f64>, decimals: u8) -> Self {
        match Cell::number(value, decimals) {
            Cell::Number { value, decimals, .. } => {
                Cell::Number { value, decimals, interval: true }
            }
            other => other,
        }
    }
    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Cell::Text(text.into())
    }
}

/// A drawing: data and how to look at it, rendered by `report` alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plot {
    /// A short name, unique in the findings.
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
    pub fn new(kind: PlotKind, id: &str, title: &str, x: Axis, y: Axis) -> Self {
        Plot {
            id: id.to_owned(),
            title: title.to_owned(),
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
}

/// A vertical line at a value of the x axis: a percentile, an event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Marker {
    /// Where.
    pub x: f64,
    /// What it marks.
    pub label: String,
}

/// Kinds of drawing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlotKind {
    /// Points joined by lines.
    Lines,
    /// Columns in perspective: one row of columns per series, one column per
    /// category of the x axis.
    Columns3d,
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
    /// spreads it over the shades; the label of `y_right`, if there is one,
    /// says what the rows are.
    HeatMap,
}

/// An axis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// What it shows, with the unit.
    pub label: String,
    /// How values are spread along it.
    pub scale: Scale,
}

impl Axis {
    /// An axis.
    pub fn new(label: &str, scale: Scale) -> Self {
        Axis { label: label.to_owned(), scale }
    }
}

/// How values are spread along an axis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// Evenly, from zero.
    Linear,
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
}

/// A named row of points.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// How it is drawn.
    pub stroke: Stroke,
    /// x and y; a missing y breaks the line.
    pub points: Vec<(f64, Option<f64>)>,
    /// Drawn against the axis on the right.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub right: bool,
}

impl Series {
    /// A series drawn against the axis on the left.
    pub fn new(name: impl Into<String>, stroke: Stroke, points: Vec<(f64, Option<f64>)>) -> Self {
        Series { name: name.into(), stroke, points, right: false }
    }
    /// The same against the axis on the right.
    pub fn on_right(mut self) -> Self {
        self.right = true;
        self
    }
}
