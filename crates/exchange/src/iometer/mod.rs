//! Reads and writes Iometer's files: configurations (.icf) and results (.csv).
//!
//! Covers the versions from 1998 to 1.1.0. [`read`] parses every section and reports what it cannot
//! parse with its line. [`tests_of`] returns the tests that Iometer would run for a configuration,
//! in its order, and [`plan`] converts them into loads. [`results`] holds the rows that Iometer
//! would write about them.
//!
//! `icf` reads and writes a whole configuration, `sections` its sections key by key, `access_specs`
//! its access specifications, and `values` single values.

mod access_specs;
mod config;
mod expansion;
mod export;
mod grammar;
mod icf;
mod lines;
pub mod results;
mod saved;
mod sections;
mod sequence;
#[cfg(test)]
mod tests;
mod values;
mod version;

pub use config::{
    AccessLine, AccessSpec, AssignedSpec, Assignment, Cycling, DepthCycling, DiskArea, FixedSeed,
    GrowthKind, IDLE, IometerConfig, IometerManager, IometerTarget, IometerWorker, LineNumber,
    ManagerName, OutstandingIos, RecordedRows, RunTime, TargetDefaults, TestSetup, TestType,
    WorkerCount, WorkerKind,
};
pub use expansion::{ActiveWorker, IometerTest, is_same_disk, tests_of};
pub use export::{ConfigExport, ConfigHeading, export};
pub use icf::{ParsedConfig, read, write, write_with_comments};
pub use saved::findings;
pub use sequence::{DIMENSIONS, DiskChoice, PlanOptions, TestPlan, loads_of_workers, plan};
pub use version::{Dialect, IometerVersion};
