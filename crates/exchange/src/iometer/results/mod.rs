//! Reads and writes Iometer's results (.csv).
//!
//! A file holds one run after another. A run holds, for each access specification, the tests made
//! with it; a test holds a table of rows. Columns are found by name, because their number and order
//! differ between builds.

mod columns;
mod figures;
mod file;
mod model;

pub use columns::LATENCY_BINS;
pub use figures::{DirectionTotals, ErrorTotals, HostRates, ProcessorUse, TestFigures};
pub use file::{read, write};
pub use model::{ResultRow, ResultRun, ResultTable, RowKind, RunEnding, SpecResults};
