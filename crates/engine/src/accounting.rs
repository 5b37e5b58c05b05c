//! Counting I/Os.
