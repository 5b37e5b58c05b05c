//! Files that this program makes: under names that nobody else has, readable by
//! those who should read them, and removed only where they are its own.
//!
//! Everything is done relative to a directory that is open, never by a path a
//! second time: what a path leads to can change between two calls.

mod calls;
mod directory;
mod error;
mod existing;
mod new_file;
mod readers;
mod regular;
mod resolve;
mod sealed;
#[cfg(test)]
mod tests;

pub use directory::Directory;
pub use error::FileError;
pub use existing::Existing;
pub use new_file::NewFile;
pub use readers::Readers;
pub use regular::{open_regular, read_file, read_regular, read_regular_text};
pub use resolve::ForeignPower;
pub use sealed::sealed_text;
