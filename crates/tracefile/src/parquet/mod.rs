//! Trace files: Parquet with one column per field of an `IoEvent`, the capture conditions in
//! the metadata, and recovery blocks for a writer that is killed. `docs/formats.md` describes
//! the format.

mod checksums;
pub(crate) mod chunk;
mod column;
mod footer;
mod foreign_table;
mod guard;
mod integrity;
mod names;
mod output;
mod packed;
mod page_retyping;
pub mod parts;
mod reader;
mod recovery;
mod recovery_block;
mod source;
mod writer;

pub use crate::schema::{Field, Fields};
pub(crate) use checksums::ChecksumSink;
pub use checksums::FoundGroup;
pub use footer::{Footer, footer, footer_or_blocks};
pub(crate) use foreign_table::ForeignTable;
pub(crate) use guard::guarded;
pub use guard::panics_are_caught;
pub use integrity::{Damage, Integrity, OmittedFile};
pub use output::RowGroupExtent;
pub(crate) use output::TraceOutput;
pub use parts::is_same_capture;
pub use reader::{Trace, TraceBatches, TraceRef};
pub use recovery::Recovery;
pub(crate) use source::HeldBytes;
pub use source::{SharedMedium, TraceMedium};
pub use writer::{ROWS_PER_GROUP, TraceWriter};

#[cfg(test)]
mod foreign_tests;
#[cfg(test)]
mod tests;
