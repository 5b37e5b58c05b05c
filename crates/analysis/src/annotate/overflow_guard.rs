//! [`OverflowGuard`]: refuses traces whose times would overflow the sums over them.

use steadfast_domain::io_event::RESPONSE_UNKNOWN;
use steadfast_tracefile::batch::Batch;
use steadfast_tracefile::error::TraceError;
use steadfast_tracefile::parquet::Field;

/// An unknown response time, as a batch stores it.
const UNKNOWN: i64 = RESPONSE_UNKNOWN.cast_signed();

/// Checks that the sums of response and of queue times fit into 64 bits. Then so does the sum of any
/// subset.
#[derive(Default)]
pub(crate) struct OverflowGuard {
    responses: u64,
    queued: u64,
}

impl OverflowGuard {
    /// Adds the times of a batch.
    ///
    /// # Errors
    /// Returns [`TraceError::Damaged`] if a sum exceeds 64 bits.
    pub(crate) fn add(&mut self, batch: &Batch) -> Result<(), TraceError> {
        let response_sum = sum_without(batch.responses(), Some(UNKNOWN));
        self.responses = checked_sum(self.responses, response_sum, Field::Response)?;
        let queued_sum = sum_without(batch.queue_times(), None);
        self.queued = checked_sum(self.queued, queued_sum, Field::Queued)?;
        Ok(())
    }
}

fn checked_sum(sum: u64, more: u128, column: Field) -> Result<u64, TraceError> {
    u64::try_from(u128::from(sum) + more).map_err(|_| {
        let what = "the times add up to more than 584 years";
        TraceError::damaged(format!("in column {}", column.name()), what)
    })
}

/// Returns the sum of some times, without those that equal `unknown`.
fn sum_without(times: &[i64], unknown: Option<i64>) -> u128 {
    // The sums of the low and of the high 32 bits each fit into 64 bits.
    let (mut low, mut high) = (0u64, 0u64);
    for time in times {
        let known = if Some(*time) == unknown { 0 } else { time.cast_unsigned() };
        low += known & u64::from(u32::MAX);
        high += known >> u32::BITS;
    }
    u128::from(low) + (u128::from(high) << u32::BITS)
}
