//! The rule for percentiles: one is printed only if at least ten I/Os lie beyond it, since a
//! smaller tail is chance.
//!
//! [`Histogram::reportable_percentile`](crate::Histogram::reportable_percentile) applies it to our
//! response times, [`ForeignIos::percentile`](crate::ForeignIos::percentile) to those of other
//! tools.

/// Number of I/Os that must lie beyond a percentile for it to be printed.
pub const MIN_IOS_BEYOND_PERCENTILE: u64 = 10;
