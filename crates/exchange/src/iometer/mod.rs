//! Reads and writes Iometer's files: configurations (.icf) and results (.csv).
//!
//! Covers the versions from 1998 to 1.1.0. [`read`] parses every section and reports what it cannot
//! parse with its line. [`tests_of`] returns the tests that Iometer would run for a configuration,
//! in its order, and [`plan`] converts them into loads. [`results`] holds the rows that Iometer
//! would write about them.

mod config;
mod expansion;
mod export;
mod file;
mod grammar;
mod lines;
pub mod results;
mod saved;
mod sections;
mod sequence;
mod specs;
#[cfg(test)]
mod tests;
mod values;
mod version;

pub use config::{
    AccessLine, AccessSpec, AssignedSpec, Assignment, Bar, BarSubject, Config, Cycling, Defaults,
    DepthCycling, DiskArea, Display, FixedSeed, IDLE, Line, Manager, Outstanding, RecordedRows,
    RunTime, Setup, Spawn, StepKind, Target, TestType, Update, UpdateType, Worker, WorkerKind,
};
pub use expansion::{Active, Test, is_same_disk, tests_of};
pub use export::{Export, Heading, export};
pub use file::{ParsedConfig, read, write};
pub use saved::findings;
pub use sequence::{Circumstances, DIMENSIONS, Disk, Plan, loads_of_workers, plan};
pub use version::{Dialect, Version};
