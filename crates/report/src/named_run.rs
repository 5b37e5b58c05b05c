//! [`NamedRun`]: the findings of a run under the name that tables print.

use steadfast_domain::Findings;

/// A run with the name that tables print.
#[derive(Debug, Clone)]
pub struct NamedRun {
    /// Name of the run, unique among those that are shown together.
    pub name: String,
    /// Findings of the run.
    pub findings: Findings,
}
