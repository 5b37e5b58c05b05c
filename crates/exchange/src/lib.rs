//! Other tools' files, both ways.
//!
//! Each module reads and writes the files of one tool: bytes in, typed content out,
//! and back. What cannot be understood is named with its line; nothing is guessed.
//! What the content is used for is decided elsewhere: this crate knows no procedure.
#![forbid(unsafe_code)]
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod crystaldiskmark;
mod encoding;
pub mod fio;
pub mod fiosynth;
pub mod identify;
pub mod iometer;
mod misread;
#[cfg(test)]
mod mutations;
pub mod results;
pub mod tkperf;

pub use encoding::decode;
pub use misread::Misread;
