//! Reads and writes the text results of CrystalDiskMark, versions 2 to 8.
//!
//! Every line of a test has a name, a colon and a rate in MB/s (10^6 bytes), since version 3 also
//! IOPS, since version 7 a mean response time. Up to version 6 the name states the direction; from
//! version 7 on a heading in brackets does.

mod figures;
mod reading;
mod saved;
#[cfg(test)]
mod tests;
mod writing;

pub use figures::findings;
pub use reading::read;
pub use saved::{DiskMarkDirection, DiskMarkTest, SavedResult};
pub use writing::write;
