//! Values that every reader of results checks and adds up in the same way.

use steadfast_domain::{ForeignIos, ForeignOutcome};

/// Returns the outcome of a test whose reads and writes ran at the same time.
pub(super) fn read_write_outcome(
    label: String,
    reads: ForeignIos,
    writes: ForeignIos,
) -> ForeignOutcome {
    let all = ForeignIos::at_once(&[&reads, &writes]);
    ForeignOutcome { label, all, reads, writes, ..ForeignOutcome::default() }
}

/// Number above which no measured value lies: 2^53, up to which `f64` holds every integer.
const VALUE_MAX: f64 = 9_007_199_254_740_992.0;

/// Returns a value that a measurement can have: not negative and at most 2^53.
pub(super) fn plausible(value: f64) -> Option<f64> {
    Some(value).filter(|value| (0.0..=VALUE_MAX).contains(value))
}
