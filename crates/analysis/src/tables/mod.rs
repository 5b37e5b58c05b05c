//! Bounded tables and caches that folds share.

pub mod bounded_table;
pub mod recent_cache;
pub mod smallest_keys;
