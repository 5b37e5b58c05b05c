//! Verdict on a drive by its ratio of flushed to plain writes.
//!
//! The verdict compares a commit with its own write alone, not with the plain writes next to it:
//! those can fill the drive's cache, so that each waits for flash itself.

use super::results::CommitResults;
use super::setup::{Commit, CommitKind, CommitOrder};
use crate::report_notation::number;
use steadfast_domain::{Bytes, Record, WriteCache};

/// Times of a committer's writes with and without durability.
pub(super) struct FlushCost {
    pub order: CommitOrder,
    pub size: Bytes,
    /// Mean time of a plain write, in milliseconds.
    pub plain: f64,
    /// Mean time of a FUA write, in milliseconds.
    pub fua: Option<f64>,
    /// Mean time of a write and its flush, in milliseconds.
    pub commit: f64,
    /// Mean time of that write without the flush, in milliseconds.
    pub alone: f64,
    /// Mean time of that flush, in milliseconds.
    pub flush: f64,
}

impl FlushCost {
    /// Returns the time of a commit as a multiple of that of a plain write.
    pub fn plain_ratio(&self) -> f64 {
        self.commit / self.plain
    }

    /// Returns the time of a commit as a multiple of that of its write alone.
    pub fn ratio(&self) -> f64 {
        self.commit / self.alone
    }

    /// Returns the time of a FUA write as a multiple of that of a plain write.
    pub fn fua_ratio(&self) -> Option<f64> {
        self.fua.map(|fua| fua / self.plain)
    }
}

/// Returns the costs of each pattern with the fewest committers of page one, the numbers that all
/// block sizes are measured with; patterns that were not measured are left out.
pub(super) fn flush_costs(test: &Commit, results: &CommitResults<'_>) -> Vec<FlushCost> {
    let Some(fewest) = test.page_one().first().copied() else { return Vec::new() };
    let mut costs = Vec::new();
    for order in CommitOrder::ALL {
        for size in &test.sizes {
            let point = |kind| results.point(order, *size, kind, fewest);
            let mean = |kind| point(kind).and_then(|point| point.mean_ms());
            if let Some(flushed) = point(CommitKind::Flush)
                && let (Some(plain), Some(commit)) = (mean(CommitKind::Plain), flushed.mean_ms())
                && let (Some(alone), Some(flush)) = (flushed.alone_ms(), flushed.flush_ms())
                && plain.min(alone) > 0.0
            {
                let fua = mean(CommitKind::Fua);
                costs.push(FlushCost { order, size: *size, plain, fua, commit, alone, flush });
            }
        }
    }
    costs
}

/// Ratio of a commit to its write alone up to which a flush costs nothing (our choice): a flush
/// that has nothing to write still takes as long as a command, so that the ratio is about 2, and
/// one that waits for flash takes tens of writes into a cache.
pub(super) const FREE_UP_TO: f64 = 3.0;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum FlushVerdict {
    /// Too little was measured.
    Unknown,
    /// The kernel sends no flush, because the queue is write through.
    NothingFlushed,
    /// A flush takes no longer than a command, with every pattern.
    Free,
    /// A flush waits for something, with every pattern.
    Costs,
    /// A flush waits with some patterns.
    Mixed,
}

pub(super) fn flush_verdict(costs: &[FlushCost], record: &Record) -> FlushVerdict {
    let free = costs.iter().filter(|cost| cost.ratio() <= FREE_UP_TO).count();
    if costs.is_empty() {
        FlushVerdict::Unknown
    } else if is_write_through(record) {
        FlushVerdict::NothingFlushed
    } else if free == costs.len() {
        FlushVerdict::Free
    } else if free == 0 {
        FlushVerdict::Costs
    } else {
        FlushVerdict::Mixed
    }
}

/// Returns true if the device has no volatile write cache that is enabled, as last read back.
fn is_write_through(record: &Record) -> bool {
    let found = record.opening().and_then(|opening| opening.device.write_cache);
    let read_back = record.conditions_last().and_then(|(got, _)| got.write_cache);
    read_back.or(found) == Some(WriteCache::Disabled)
}

/// Returns the verdict as a sentence; `None` if there is none.
pub(super) fn flush_sentence(verdict: FlushVerdict, costs: &[FlushCost]) -> Option<String> {
    let takes = format!(
        "a commit takes {} times its write alone and {} times a plain write",
        span(costs.iter().map(FlushCost::ratio), 1),
        span(costs.iter().map(FlushCost::plain_ratio), 1)
    );
    match verdict {
        FlushVerdict::Unknown => None,
        FlushVerdict::NothingFlushed => Some(format!(
            "Nothing was flushed: the queue is write through, so the kernel sends no flush; {takes}."
        )),
        FlushVerdict::Free => Some(format!(
            "A flush costs nothing: {takes}. Either the drive has power-loss protection or it \
             ignores flushes; only a power cut can tell."
        )),
        FlushVerdict::Costs => {
            let flushes = span(costs.iter().map(|cost| cost.flush), 3);
            Some(format!("A flush costs {flushes} ms: {takes}."))
        }
        FlushVerdict::Mixed => Some(format!("What a flush costs depends on the pattern: {takes}.")),
    }
}

/// Returns the smallest and the largest of the values, or the one that both print as.
fn span(values: impl Iterator<Item = f64> + Clone, decimals: usize) -> String {
    let low = number(values.clone().fold(f64::INFINITY, f64::min), decimals);
    let high = number(values.fold(f64::NEG_INFINITY, f64::max), decimals);
    if low == high { low } else { format!("{low} to {high}") }
}
