//! Trace files: Parquet with one column per field of an `IoEvent`, the capture
//! conditions in its metadata, and recovery blocks for the case that its writer
//! is killed. `docs/formats.md` describes them.

mod block;
mod footer;
pub(crate) mod mark;
mod names;
mod parts;
mod reader;
mod recovery;
pub(crate) mod schema;
mod source;
mod writer;

pub(crate) use footer::{footer, text_column, wide_column};
pub use parts::is_same_capture;
pub use reader::{Batches, Trace};
pub use recovery::Recovery;
pub use schema::{FORMAT_VERSION, Field, Fields, KEY_FINAL, KEY_FORMAT, KEY_START};
pub(crate) use source::Source;
pub(crate) use writer::conditions_json;
pub use writer::{ROWS_PER_GROUP, Writer};

#[cfg(test)]
mod tests;
