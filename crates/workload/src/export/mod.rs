//! Exports for other tools: single I/Os of a trace as text ([`write_ios`]) or as a new trace
//! ([`copy_ios`]), and workloads as loads ([`loads`]) for the writers of other tools' files, with
//! the necessary concessions ([`express_with_concessions`]).

mod blkparse;
mod concessions;
mod loads;
mod shares;
mod single_ios;

pub use concessions::{Expressed, express_with_concessions};
pub use loads::{LoadOptions, PortableLoad, loads, loads_by_stream};
pub use single_ios::{ExportedIos, IoTextFormat, copy_ios, write_ios};
