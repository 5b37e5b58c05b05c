//! Values that every reader of results checks and adds up alike.

use steadfast_domain::{ForeignIos, ForeignOutcome};

/// Returns a test of reads and writes that ran at the same time.
pub(super) fn of_directions(
    label: String,
    reads: ForeignIos,
    writes: ForeignIos,
) -> ForeignOutcome {
    let all = ForeignIos::at_once(&[&reads, &writes]);
    ForeignOutcome { label, all, reads, writes, ..ForeignOutcome::default() }
}

/// Returns a value that a measurement can have: finite and not negative.
pub(super) fn plausible(value: f64) -> Option<f64> {
    Some(value).filter(|value| value.is_finite() && *value >= 0.0)
}
