//! [`Findings`]: the meaning of a record, in a form that a report can print without knowing any
//! procedure by name.

mod caveat;
mod end;
mod front_page;
mod metric;
mod plot;
mod setting;
mod table;

pub use caveat::{Caveat, CaveatKind};
pub use end::EndState;
pub use front_page::{FrontAnswer, FrontPage, FrontQuestion, KeyFigure};
pub use metric::{COMPARED, COMPARED_SECONDARY, Metric, MetricGoal, may_be_noise};
pub use plot::{
    Axis, BandEdge, ClockTime, Marker, Plot, PlotKind, Scale, Series, Stroke, TimeUnit,
};
pub use setting::{Facts, OptionalText, Origin, Role, Setting};
pub use table::{Cell, Column, Row, Table};

use crate::serde_text::is_default;
use crate::steady_state::Verdict;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Version of the findings that this program writes and reads.
pub const FINDINGS_VERSION: u32 = 3;

/// Head of a report form: its issuer, and blocks of labeled values. The code that creates the
/// findings fills it in: nothing that prints one knows a form by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FormHeader {
    /// Issuer of the form, such as `SNIA SSS TWG`.
    pub issuer: String,
    /// Document that was followed, or a description of the test if there is none.
    pub specification: String,
    /// Statement printed on every page that the test is not the full method of the document, in
    /// one line; `None` if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disclaimer: Option<String>,
    /// Name of the test, such as `IOPS Test (REQUIRED)`.
    pub test: String,
    /// Subtitle, such as `IOPS - Block Size x RW Mix Matrix`.
    pub subtitle: String,
    /// Revision of the document, such as `PTS-E 2.0`.
    pub revision: String,
    /// Vendor of the device; `None` if unknown.
    pub vendor: Option<String>,
    /// Model of the device; `None` if unknown.
    pub model: Option<String>,
    /// Organization that commissioned the test; `None` if unknown.
    pub sponsor: Option<String>,
    /// Blocks: test platform, device under test, set-up parameters, test parameters.
    pub blocks: Vec<FormBlock>,
}

impl FormHeader {
    /// Returns the rows of the first block with this subject; empty if there is none.
    pub fn rows_of(&self, subject: FormSubject) -> &[Setting] {
        let block = self.blocks.iter().find(|block| block.subject == subject);
        block.map(|block| block.rows.as_slice()).unwrap_or_default()
    }
}

/// Subject of a block of the form's head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FormSubject {
    /// Machine and programs that ran the test.
    Platform,
    /// Device under test.
    Device,
    /// Test procedure and its parameters.
    Procedure,
}

/// One block of the form's head.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FormBlock {
    /// Title of the block.
    pub title: String,
    /// Subject of the block.
    pub subject: FormSubject,
    /// Labeled values.
    pub rows: Vec<Setting>,
}

impl FormBlock {
    /// Creates a block about the procedure.
    pub fn new(title: &str, rows: impl IntoIterator<Item = Setting>) -> Self {
        let rows = rows.into_iter().collect();
        FormBlock { title: title.to_owned(), subject: FormSubject::Procedure, rows }
    }
    /// Sets the subject of the block.
    pub fn with_subject(self, subject: FormSubject) -> Self {
        FormBlock { subject, ..self }
    }
}

/// The activity that findings describe.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Activity {
    /// A run of a procedure.
    #[default]
    Run,
    /// The capture of a workload.
    Capture,
}

/// Results of a procedure.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Findings {
    /// Version of the findings format.
    pub version: u32,
    /// Short name of the procedure, stable across versions and unique among the parts of a run:
    /// comparisons and limits use it.
    pub id: String,
    /// Title, such as `IOPS`.
    pub title: String,
    /// Method that was followed, in one line.
    pub method: String,
    /// Settings in one line: `PTS-E  WCD  T4/Q32  DP=RND  AR100  Aln=4K`.
    pub headline: String,
    /// True for a simulated drive: every page says so.
    pub simulated: bool,
    /// Wall-clock time of the beginning, in milliseconds since 1970 (UTC); 0 if unknown.
    pub began_unix_ms: u64,
    /// Wall-clock time of the end, in milliseconds since 1970 (UTC); 0 if unknown.
    pub ended_unix_ms: u64,
    /// The activity that began and ended at these times.
    #[serde(default, skip_serializing_if = "is_default")]
    pub activity: Activity,
    /// SHA-256 of the measured entries from which the findings were computed.
    pub digest: String,
    /// Name and version of the program that computed the findings.
    pub software: String,
    /// State in which the run ended, regardless of its parts; [`Findings::whole_end`] includes
    /// them.
    pub end: EndState,
    /// End state in words, one sentence.
    pub ending: String,
    /// Head of the report form.
    pub header: FormHeader,
    /// Verdict on steady state; `None` if the procedure has none.
    pub verdict: Option<Verdict>,
    /// All disclosures.
    pub caveats: Vec<Caveat>,
    /// Content of page one.
    #[serde(default, skip_serializing_if = "is_default")]
    pub front: FrontPage,
    /// Numbers shown on a terminal.
    pub summary: Vec<Exhibit>,
    /// Pages of the report form, in order.
    pub form_pages: Vec<Page>,
    /// Chapters that follow the form pages.
    pub chapters: Vec<Page>,
    /// Tables too long to print; they are only written as CSV files.
    pub long_tables: Vec<Table>,
    /// Every measured number in long form; the tables are arranged from these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<Metric>,
    /// Findings of the procedures of a suite, in order; each has its own form pages and chapters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Findings>,
}

impl Findings {
    /// Creates empty findings of a completed run; `title` is also the ID.
    pub fn new(title: &str, header: FormHeader) -> Self {
        Findings {
            version: FINDINGS_VERSION,
            id: title.to_owned(),
            title: title.to_owned(),
            header,
            ..Findings::default()
        }
    }
    /// Sets the verdict and the end state that follows from it; an unfinished run remains
    /// unfinished.
    pub fn with_verdict(self, verdict: Option<Verdict>) -> Self {
        let end = EndState::new(self.end.is_final(), verdict.as_ref());
        Findings { end, verdict, ..self }
    }
    /// Adds numbers and plots to page one; plots are given by ID.
    pub fn with_front_page(
        mut self,
        figures: impl IntoIterator<Item = KeyFigure>,
        plots: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        self.front.figures.extend(figures);
        self.front.plots.extend(plots.into_iter().map(Into::into));
        self
    }
    /// Returns the worst end state of the run and its parts. Determines the exit code, page one and
    /// comparisons.
    pub fn whole_end(&self) -> EndState {
        self.parts.iter().map(Findings::whole_end).fold(self.end, EndState::max)
    }
    /// Returns the parts, and the parts of those, in print order.
    pub fn all_parts(&self) -> Vec<&Findings> {
        self.parts.iter().flat_map(Findings::self_and_parts).collect()
    }
    /// Returns the findings, followed by [`Findings::all_parts`].
    pub fn self_and_parts(&self) -> Vec<&Findings> {
        std::iter::once(self).chain(self.all_parts()).collect()
    }
    /// Returns the device model, or that of the first part that has one.
    pub fn model(&self) -> Option<&str> {
        self.self_and_parts().into_iter().find_map(|findings| findings.header.model.as_deref())
    }
    /// Returns form pages and chapters, in print order.
    pub fn pages(&self) -> impl Iterator<Item = &Page> {
        self.form_pages.iter().chain(&self.chapters)
    }
    /// Returns the exhibits of the summary and of all pages, in print order.
    pub fn exhibits(&self) -> impl Iterator<Item = &Exhibit> {
        self.summary.iter().chain(self.pages().flat_map(|page| &page.exhibits))
    }
    /// Returns every table, printed ones and those too long to print.
    pub fn tables(&self) -> impl Iterator<Item = &Table> {
        self.exhibits().filter_map(Exhibit::as_table).chain(&self.long_tables)
    }
    /// Returns the table with this ID; `None` if there is none.
    pub fn table(&self, id: &str) -> Option<&Table> {
        self.tables().find(|table| table.id == id)
    }
    /// Returns the plot with this ID; `None` if there is none.
    pub fn plot(&self, id: &str) -> Option<&Plot> {
        self.exhibits().filter_map(Exhibit::as_plot).find(|plot| plot.id == id)
    }
    /// Returns the first disclosure with this ID; `None` if there is none.
    pub fn caveat(&self, id: &str) -> Option<&Caveat> {
        self.caveats.iter().find(|caveat| caveat.id == id)
    }
    /// Returns the number on page one with this ID; `None` if there is none.
    pub fn figure(&self, id: &str) -> Option<&KeyFigure> {
        self.front.figures.iter().find(|figure| figure.id == id)
    }
}

/// A page of the form, or a chapter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Page {
    /// Short name, stable across versions, by which pages of several runs are matched.
    pub id: String,
    /// Title of the page.
    pub title: String,
    /// Content of the page, in order.
    pub exhibits: Vec<Exhibit>,
}

impl Page {
    /// Creates a page; `title` is also the ID.
    pub fn new(title: impl Into<String>, exhibits: Vec<Exhibit>) -> Self {
        let title = title.into();
        Page { id: title.clone(), title, exhibits }
    }
    /// Sets a different ID.
    pub fn with_id(self, id: &str) -> Self {
        Page { id: id.to_owned(), ..self }
    }
}

/// A table, a plot, labeled values or text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Exhibit {
    /// Table; also written as a CSV file.
    Table(Table),
    /// Plot.
    Plot(Plot),
    /// Labeled values.
    Facts(Facts),
    /// Paragraph of text.
    Text(String),
    /// Preformatted lines, such as the loop of a procedure.
    Listing(String),
}

impl Exhibit {
    /// Returns the table; `None` for any other exhibit.
    pub fn as_table(&self) -> Option<&Table> {
        if let Exhibit::Table(table) = self { Some(table) } else { None }
    }
    /// Returns the plot; `None` for any other exhibit.
    pub fn as_plot(&self) -> Option<&Plot> {
        if let Exhibit::Plot(plot) = self { Some(plot) } else { None }
    }
    /// Returns the labeled values; `None` for any other exhibit.
    pub fn as_facts(&self) -> Option<&Facts> {
        if let Exhibit::Facts(facts) = self { Some(facts) } else { None }
    }
    /// Returns the preformatted lines; `None` for any other exhibit.
    pub fn as_listing(&self) -> Option<&str> {
        if let Exhibit::Listing(lines) = self { Some(lines) } else { None }
    }
}
