//! Fixtures of the tests of this crate.

pub(crate) mod machine;
pub(crate) mod transcript;
