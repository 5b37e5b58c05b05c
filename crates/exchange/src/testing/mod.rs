//! Fixtures for tests.

pub mod mutations;
