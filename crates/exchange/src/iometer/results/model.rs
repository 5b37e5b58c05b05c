//! The content of a file of results.

use crate::iometer::config::{AccessSpec, TestType};
use crate::iometer::version::IometerVersion;
use std::collections::BTreeMap;

/// A run: everything that one start of Iometer appended to a file.
#[derive(Debug, Clone, PartialEq)]
pub struct ResultRun {
    /// Version that wrote it.
    pub version: IometerVersion,
    /// The quantity varied from test to test.
    pub test_type: TestType,
    /// Test description.
    pub description: String,
    /// Start time, as written.
    pub began: String,
    /// Tests by access specification, in order.
    pub parts: Vec<SpecResults>,
    /// End of the run.
    pub ending: RunEnding,
}

/// End of a run, as far as the file states it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEnding {
    /// Not stated; files of 2006 and 2008 never state it.
    NotStated,
    /// The run ended normally (1.1.0).
    Complete,
    /// The user or an error stopped the run.
    Aborted,
}

/// Tests of one access specification, or of several if workers differ.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SpecResults {
    /// Access specifications.
    pub specs: Vec<AccessSpec>,
    /// Tests.
    pub tables: Vec<ResultTable>,
}

/// Results of one test.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ResultTable {
    /// Rows, in order.
    pub rows: Vec<ResultRow>,
    /// End time, as written.
    pub at: String,
}

/// Subject of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowKind {
    /// All managers together.
    All,
    /// A manager.
    Manager,
    /// A processor of a manager.
    Processor,
    /// A worker.
    Worker,
    /// A disk of a worker.
    Disk,
    /// Any other word, such as NETWORK or UNKNOWN.
    Other(String),
}

impl RowKind {
    /// Returns the word used in files.
    pub fn token(&self) -> &str {
        match self {
            RowKind::All => "ALL",
            RowKind::Manager => "MANAGER",
            RowKind::Processor => "PROCESSOR",
            RowKind::Worker => "WORKER",
            RowKind::Disk => "DISK",
            RowKind::Other(word) => word,
        }
    }
    /// Parses a word.
    pub fn parse(word: &str) -> Self {
        let known = [Self::All, Self::Manager, Self::Processor, Self::Worker, Self::Disk];
        let mut known = known.into_iter();
        known
            .find(|kind| kind.token().eq_ignore_ascii_case(word))
            .unwrap_or_else(|| RowKind::Other(word.to_owned()))
    }
}

/// A row: numbers by the names of their columns. Columns without a value are absent.
#[derive(Debug, Clone, PartialEq)]
pub struct ResultRow {
    /// Subject of the row.
    pub kind: RowKind,
    /// Name of the subject.
    pub name: String,
    /// Access specification; empty if the row has none.
    pub spec: String,
    /// Numbers by column.
    pub values: BTreeMap<String, f64>,
}

impl ResultRow {
    /// Returns the number in a column, or `None` if the row has none there.
    pub fn get(&self, column: &str) -> Option<f64> {
        self.values.get(column).copied()
    }
}
