//! Reads and writes the files of other tools.
//!
//! Each module handles the files of one tool: it parses bytes into typed content and writes it
//! back. Input that cannot be parsed is reported with its line; nothing is guessed. The crate knows
//! no procedure and does not decide what the content is used for.
#![forbid(unsafe_code)]
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod crystaldiskmark;
mod encoding;
mod file_kind;
pub mod fio;
pub mod fiosynth;
pub mod identify;
pub mod iometer;
mod parse_error;
pub mod results;
#[cfg(test)]
mod testing;
pub mod tkperf;
pub mod vdbench;
mod xml;

pub use encoding::decode;
pub use parse_error::ParseError;
