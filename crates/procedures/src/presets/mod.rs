//! Tests of other tools that need no file: their loads as a `Sequence`, with what the
//! user chose of their options.

mod atto;
mod crystaldiskmark;
pub(crate) mod viking;

pub use atto::Atto;
pub use crystaldiskmark::CrystalDiskMark;
pub use viking::Viking;
