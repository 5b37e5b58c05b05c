//! [`Findings`]: what a record means, in a form that a report can print
//! without knowing any procedure by name.

mod caveat;
mod plot;
mod setting;
mod table;

pub use caveat::{Caveat, CaveatKind};
pub use plot::{Axis, Marker, Plot, PlotKind, Scale, Series, Stroke};
pub use setting::{Facts, Known, Origin, Role, Setting};
pub use table::{Cell, Column, Row, Table};

use crate::steady_state::Verdict;
use serde::{Deserialize, Serialize};

/// The version of the findings that this program writes.
pub const FINDINGS_VERSION: u32 = 1;

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

impl FormBlock {
    /// A block of labelled values.
    pub fn new(title: &str, rows: impl IntoIterator<Item = Setting>) -> Self {
        FormBlock {
            title: title.to_owned(),
            rows: rows.into_iter().map(Setting::printed).collect(),
        }
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

impl Page {
    /// A page.
    pub fn new(title: impl Into<String>, exhibits: Vec<Exhibit>) -> Self {
        Page { title: title.into(), exhibits }
    }
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
