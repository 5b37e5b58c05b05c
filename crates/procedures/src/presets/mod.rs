//! Tests of other tools that need no file: each returns its loads as a `Sequence`, with the options
//! that the user chose.

mod atto;
mod crystaldiskmark;
pub(crate) mod four_corners;

pub use atto::Atto;
pub use crystaldiskmark::CrystalDiskMark;
pub use four_corners::FourCornersOptions;
