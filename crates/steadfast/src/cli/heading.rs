//! Headings of option groups in `--help`, in the order in which they appear.

/// The device, and the consent to overwrite it.
pub const TARGET: &str = "Target";
/// The load of `measure`.
pub const LOAD: &str = "Load";
/// Parameters of the procedure.
pub const METHOD: &str = "Method";
/// Applying or replaying a captured workload.
pub const CAPTURED: &str = "Captured workload";
/// Conditions on the I/Os of a capture.
pub const SELECTION: &str = "Selection of captured I/Os";
/// Files and printed output.
pub const OUTPUT: &str = "Output";
