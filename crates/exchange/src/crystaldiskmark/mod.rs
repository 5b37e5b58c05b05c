//! The text result that CrystalDiskMark saves, of its versions 2 to 8, read and written. That of
//! KDiskMark, which has the same lines, is read.
//!
//! Every line of a test has a name, a colon and a rate in MB/s (10^6 bytes), since version
//! 3 also IOPS, since 7 a mean response time. Until version 6 the name says whether it
//! reads or writes; from 7 on a heading in brackets does.

mod figures;
mod reading;
mod saved;
#[cfg(test)]
mod tests;
mod writing;

pub use figures::findings;
pub use reading::read;
pub use saved::{Direction, Saved, Test};
pub use writing::write;
