//! Files of this program: created under unused names, with defined permissions, and removed only
//! if they are its own.
//!
//! All operations are relative to an open directory and never resolve a path twice: the target of
//! a path can change between two calls.

mod calls;
mod directory;
mod error;
mod memory_file;
mod new_file;
mod output_storage;
mod overwrite_policy;
mod readers;
mod regular;
mod resolve;
#[cfg(test)]
mod tests;

pub use directory::Directory;
pub use error::FileError;
pub use memory_file::{memory_file, sealed_text};
pub use new_file::NewFile;
pub use output_storage::OutputStorage;
pub use overwrite_policy::OverwritePolicy;
pub use readers::ReadAccess;
pub use regular::{open_regular, read_file, read_regular, read_regular_text, read_sized};
pub use resolve::ForeignControl;
