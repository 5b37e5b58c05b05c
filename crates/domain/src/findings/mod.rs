//! [`Findings`]: what a record means, in a form that a report can print
//! without knowing any procedure by name.

mod caveat;
mod end;
mod front;
mod metric;
mod plot;
mod setting;
mod table;

pub use caveat::{Caveat, CaveatKind};
pub use end::EndState;
pub use front::{Front, KeyFigure};
pub use metric::{COMPARED, Metric, may_be_noise};
pub use plot::{Axis, ClockTime, Marker, Plot, PlotKind, Scale, Series, Stroke, TimeUnit};
pub use setting::{Facts, Known, Origin, Role, Setting};
pub use table::{Cell, Column, Row, Table};

use crate::steady_state::Verdict;
use serde::{Deserialize, Serialize};

/// The version of the findings that this program writes. In version 1 labeled values were
/// pairs of texts, columns were texts, and nothing but texts said how a run ended.
pub const FINDINGS_VERSION: u32 = 2;

/// The head of a report form: whose it is, and blocks of labeled values. Whoever makes the
/// findings fills it in: nothing that prints one knows a form by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FormHeader {
    /// Whose form it is: `SNIA SSS TWG`.
    pub issuer: String,
    /// The document that is followed, or what was done where none is.
    pub specification: String,
    /// Where less than that was done, every page says so: in one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lesser: Option<String>,
    /// `IOPS Test (REQUIRED)`.
    pub test: String,
    /// `IOPS - Block Size x RW Mix Matrix`.
    pub subtitle: String,
    /// The document's revision: `PTS-E 2.0`.
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
    /// The rows of the first block about this.
    pub fn rows_about(&self, subject: Subject) -> &[Setting] {
        let block = self.blocks.iter().find(|block| block.about == subject);
        block.map(|block| block.rows.as_slice()).unwrap_or_default()
    }
}

/// What a block of the form's head is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// The machine and the programs on it.
    Platform,
    /// The device.
    Device,
    /// What was done.
    Procedure,
}

/// One block of the form's head.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FormBlock {
    /// Its title.
    pub title: String,
    /// What it is about.
    pub about: Subject,
    /// Its values.
    pub rows: Vec<Setting>,
}

impl FormBlock {
    /// A block of values about what was done.
    pub fn new(title: &str, rows: impl IntoIterator<Item = Setting>) -> Self {
        let rows = rows.into_iter().collect();
        FormBlock { title: title.to_owned(), about: Subject::Procedure, rows }
    }
    /// The same about something else.
    pub fn about(self, about: Subject) -> Self {
        FormBlock { about, ..self }
    }
}

/// What a measured procedure found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Findings {
    /// Version of this shape.
    pub version: u32,
    /// A short name of what was run, stable across versions, unique among the parts of a
    /// run: comparisons and limits find it by this.
    pub id: String,
    /// What was run: `IOPS`.
    pub title: String,
    /// The method followed, in one line.
    pub method: String,
    /// The settings string: `PTS-E  WCD  T4/Q32  DP=RND  AR100  Aln=4K`.
    pub headline: String,
    /// On a simulated drive: every page says so.
    pub simulated: bool,
    /// Wall-clock beginning and end, in milliseconds since 1970 (UTC); 0 where
    /// unknown.
    pub run_unix_ms: (u64, u64),
    /// SHA-256 of the measured entries that this was computed from.
    pub digest: String,
    /// The program and version that computed it.
    pub software: String,
    /// How the run ended, its parts left aside: [`Findings::whole_end`].
    pub end: EndState,
    /// The same in words: one sentence.
    pub ending: String,
    /// The head of the report form.
    pub header: FormHeader,
    /// The verdict on steady state, where the procedure has one.
    pub verdict: Option<Verdict>,
    /// Every disclosure.
    pub caveats: Vec<Caveat>,
    /// What stands on page one.
    #[serde(default, skip_serializing_if = "Front::is_empty")]
    pub front: Front,
    /// The numbers that a terminal shows.
    pub summary: Vec<Exhibit>,
    /// The pages of the report form, in order.
    pub form_pages: Vec<Page>,
    /// The chapters behind them.
    pub chapters: Vec<Page>,
    /// Tables too long to print: they go into CSV files only.
    pub long_tables: Vec<Table>,
    /// Every measured number in long form: what the tables fold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<Metric>,
    /// The findings of the procedures that a suite is made of, in order; each
    /// has its own form pages and chapters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Findings>,
}

impl Findings {
    /// Findings of something that came to its end, with nothing in them yet; its title is
    /// its name.
    pub fn new(title: &str, header: FormHeader) -> Self {
        Findings {
            version: FINDINGS_VERSION,
            id: title.to_owned(),
            title: title.to_owned(),
            method: String::new(),
            headline: String::new(),
            simulated: false,
            run_unix_ms: (0, 0),
            digest: String::new(),
            software: String::new(),
            end: EndState::Complete,
            ending: String::new(),
            header,
            verdict: None,
            caveats: Vec::new(),
            front: Front::default(),
            summary: Vec::new(),
            form_pages: Vec::new(),
            chapters: Vec::new(),
            long_tables: Vec::new(),
            metrics: Vec::new(),
            parts: Vec::new(),
        }
    }
    /// With a verdict, and ended as it says; what is unfinished stays so.
    pub fn judged(self, verdict: Option<Verdict>) -> Self {
        let end = EndState::of(self.end.is_final(), verdict.as_ref());
        Findings { end, verdict, ..self }
    }
    /// With these numbers and plots on page one; the plots by their ids.
    pub fn fronted(
        mut self,
        figures: impl IntoIterator<Item = KeyFigure>,
        plots: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        self.front.figures.extend(figures);
        self.front.plots.extend(plots.into_iter().map(Into::into));
        self
    }
    /// How the run and its parts ended: as the worst of them. The exit code, page one and
    /// comparisons go by it.
    pub fn whole_end(&self) -> EndState {
        self.parts.iter().map(Findings::whole_end).fold(self.end, EndState::max)
    }
    /// Form pages and chapters, in print order.
    pub fn pages(&self) -> impl Iterator<Item = &Page> {
        self.form_pages.iter().chain(&self.chapters)
    }
}

/// A page of the form, or a chapter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Page {
    /// A short name, stable across versions, by which pages of several runs are put
    /// together.
    pub id: String,
    /// Its title.
    pub title: String,
    /// What is on it, in order.
    pub exhibits: Vec<Exhibit>,
}

impl Page {
    /// A page; its title is its name.
    pub fn new(title: impl Into<String>, exhibits: Vec<Exhibit>) -> Self {
        let title = title.into();
        Page { id: title.clone(), title, exhibits }
    }
    /// The same under another name.
    pub fn named(self, id: &str) -> Self {
        Page { id: id.to_owned(), ..self }
    }
}

/// A table, a plot or a text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
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
