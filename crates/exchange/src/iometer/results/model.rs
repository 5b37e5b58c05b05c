//! What a file of results holds.

use crate::iometer::config::{AccessSpec, TestType};
use crate::iometer::version::Version;
use std::collections::BTreeMap;

/// One run: what one start of Iometer appended to a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// The version that wrote it.
    pub version: Version,
    /// What was varied.
    pub test_type: TestType,
    /// What the test is called.
    pub description: String,
    /// When it began, as written.
    pub began: String,
    /// What was run, an access specification after the other.
    pub parts: Vec<Part>,
    /// How it ended.
    pub ending: Ending,
}

/// How a run ended, as far as its file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The file does not say; 2006 and 2008 never do.
    Untold,
    /// At its end (1.1.0).
    Complete,
    /// Somebody or an error stopped it.
    Aborted,
}

/// The tests of one access specification; of several where workers differ.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Part {
    /// The access specifications.
    pub specs: Vec<AccessSpec>,
    /// The tests.
    pub tables: Vec<Table>,
}

/// The results of one test.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    /// The rows, in order.
    pub rows: Vec<Row>,
    /// When it ended, as written.
    pub at: String,
}

/// What a row is about.
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
    /// Anything else: NETWORK, UNKNOWN.
    Other(String),
}

impl RowKind {
    /// The word in a file.
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
    /// By its word.
    pub fn parse(word: &str) -> Self {
        let known = [Self::All, Self::Manager, Self::Processor, Self::Worker, Self::Disk];
        let mut known = known.into_iter();
        known
            .find(|kind| kind.token().eq_ignore_ascii_case(word))
            .unwrap_or_else(|| RowKind::Other(word.to_owned()))
    }
}

/// One row: numbers by the names of their columns. A column without a value is not in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// What it is about.
    pub kind: RowKind,
    /// Its name.
    pub name: String,
    /// The access specification; empty where the row has none.
    pub spec: String,
    /// Its numbers.
    pub values: BTreeMap<String, f64>,
}

impl Row {
    /// The number in a column.
    pub fn get(&self, column: &str) -> Option<f64> {
        self.values.get(column).copied()
    }
}
