//! [`OverflowGuard`]: refuses traces whose times would overflow the sums over them.

use steadfast_domain::io_event::RESPONSE_UNKNOWN;
use steadfast_tracefile::batch::Batch;
use steadfast_tracefile::error::TraceError;
use steadfast_tracefile::parquet::Field;
use steadfast_tracefile::simd;

/// Response times below this are short: a sum of fewer than [`SHORT_TIMES_MAX`] of them fits into 64
/// bits.
const SHORT_TIME_NS: i64 = 1 << 31;

/// Maximum number of short response times that are summed in 64 bits.
const SHORT_TIMES_MAX: usize = 1 << 31;

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
    /// Adds the times of a batch; returns the bitwise OR of its response times.
    ///
    /// # Errors
    /// Returns [`TraceError::Damaged`] if a sum exceeds 64 bits.
    pub(crate) fn add(&mut self, batch: &Batch) -> Result<i64, TraceError> {
        let responses = batch.responses();
        let (response_bits, short_sum) = simd::bits_and_sum(responses);
        let are_short = (0..SHORT_TIME_NS).contains(&response_bits);
        let response_sum = if are_short && responses.len() < SHORT_TIMES_MAX {
            short_sum.into()
        } else {
            sum_without(responses, Some(UNKNOWN))
        };
        self.responses = checked_sum(self.responses, response_sum, Field::Response)?;
        let queued_sum = sum_without(batch.queue_times(), None);
        self.queued = checked_sum(self.queued, queued_sum, Field::Queued)?;
        Ok(response_bits)
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
