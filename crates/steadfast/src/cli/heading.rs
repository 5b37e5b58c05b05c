//! Headings of option groups in `--help`, in the order in which they appear.

/// The device, and the consent to overwrite it.
pub const TARGET: &str = "Target";
/// What `measure` applies.
pub const LOAD: &str = "Load";
/// What a procedure does, and how.
pub const METHOD: &str = "Method";
/// Selection and replay of a capture.
pub const CAPTURED: &str = "Captured workloads";
/// What is written and printed.
pub const OUTPUT: &str = "Output";
