//! The commands, each its own file.

pub mod devices;
pub mod measure;
pub mod plan;
pub mod report;
pub mod restore;
pub mod resume;
pub mod run;
pub mod shell;
pub mod study;
