//! Start errors: how late the program handed the I/Os of a paced load to the kernel.

use crate::histogram::CoarseHistogram;
use crate::units::Nanos;
use serde::{Deserialize, Serialize};

/// Largest 99 % start error, as a share of the mean response time, at which response times are
/// those of the device (our choice). Above it they need a caveat.
pub const START_ERROR_LIMIT: f64 = 0.1;

/// Start errors of the I/Os of a paced load: the program's own part of their response times.
///
/// The start error of an I/O is the time from its due time to the system call that submits it,
/// without the time for which it waited because all slots of its thread were busy, or had to wait
/// for a flush. So a device that is too slow for the rate has long response times and small start
/// errors, and a program that is too slow has both. An I/O that came due while its thread did not
/// run, and then had no slot either, is late by the first of the two. A completion frees its slot
/// when the thread sees it: a thread that does not run while all slots are busy looks like a slow
/// device.
///
/// A thread inside a system call cannot submit: where the kernel does the I/O in the submitting
/// call (files in memory, zram), that time is start error of the I/Os that come due meanwhile.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct StartError {
    /// Longest start error, exact.
    pub max: Nanos,
    /// Distribution of the start errors of the I/Os that completed in the measured time; a bucket
    /// is up to 6.25 % wide.
    pub histogram: CoarseHistogram,
}

impl StartError {
    /// Returns the number of I/Os.
    pub fn ios(&self) -> u64 {
        self.histogram.total()
    }

    /// Returns the start error that half of the I/Os did not exceed; `None` if fewer than ten
    /// exceed it.
    pub fn p50(&self) -> Option<Nanos> {
        self.percentile(0.5)
    }

    /// Returns the start error that 99 % of the I/Os did not exceed; `None` if fewer than ten
    /// exceed it.
    pub fn p99(&self) -> Option<Nanos> {
        self.percentile(0.99)
    }

    fn percentile(&self, fraction: f64) -> Option<Nanos> {
        Some(self.histogram.reportable_percentile(fraction)?.min(self.max))
    }

    /// Adds the start errors of another thread, process or load.
    pub fn merge(&mut self, other: &StartError) {
        self.max = self.max.max(other.max);
        self.histogram.merge(&other.histogram);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors(values: &[u64]) -> StartError {
        let max = Nanos(values.iter().copied().max().unwrap_or(0));
        let histogram = CoarseHistogram::from_counts(values.iter().map(|ns| (*ns, 1)));
        StartError { max, histogram }
    }

    #[test]
    fn percentiles_need_ten_ios_beyond_them_and_never_exceed_the_longest() {
        let all: Vec<u64> = (0..1000).map(|n| if n < 985 { 3 } else { 1_000_003 }).collect();
        let mut error = errors(&all[..400]);
        error.merge(&errors(&all[400..]));
        assert_eq!((error.ios(), error.max), (1000, Nanos(1_000_003)));
        assert_eq!((error.p50(), error.p99()), (Some(Nanos(3)), Some(Nanos(1_000_003))));
        let few = errors(&all[500..]);
        assert_eq!((few.p50(), few.p99()), (Some(Nanos(3)), None));
        assert_eq!(StartError::default().p50(), None);
    }
}
