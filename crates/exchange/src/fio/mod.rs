//! fio's job files, read and written.
//!
//! [`JobFile`] is the text: sections with their options, globals and includes resolved,
//! every option with its line. [`sequence`] is what of it can be applied here: each option
//! is understood, is of no consequence, or is refused by name. Where anything is refused
//! nothing is applied. The rules are those of fio 3.

mod engines;
mod files;
mod jobs;
mod known;
mod load;
mod options;
mod sizes;
#[cfg(test)]
mod tests;
mod text;

pub(crate) use jobs::NAMED_MAX;
pub use jobs::{files, sequence};
pub use known::{is_switch, names as option_names};
pub use options::TargetFacts;
pub use text::{FioCommandLine, JobFile, JobFileContext, JobOption, JobSection};
