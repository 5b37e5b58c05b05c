//! Iometer's results (.csv), both ways.
//!
//! A file holds one run after another; a run holds, for each access specification, the
//! tests that were made with it; a test holds a table of rows. Columns are found by
//! their names: their number and order differ between builds.

mod columns;
mod figures;
mod model;
mod read;
mod write;

pub use columns::LATENCY_BINS;
pub use figures::{Figures, Processors, Side};
pub use model::{Ending, Part, Row, RowKind, Run, Table};
pub use read::read;
pub use write::write;
