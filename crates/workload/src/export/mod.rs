//! Exports for other tools: single I/Os of a trace as text ([`write_ios`]) or as a new trace
//! ([`copy_ios`]), and workloads as loads ([`loads`]) for the writers of other tools' files, with
//! the necessary concessions ([`conceded`]).

mod blkparse;
mod concessions;
mod loads;
mod single_ios;

pub use concessions::conceded;
pub use loads::{LoadChoice, PortableLoad, loads, own_loads};
pub use single_ios::{ExportedIos, IoTextFormat, copy_ios, write_ios};
