//! Bounded tables and caches that folds share.

pub(crate) mod bounded_table;
pub mod recent_cache;
pub(crate) mod smallest_keys;
