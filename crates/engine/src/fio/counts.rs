//! Cumulative counts of a load, and differences between them.

use super::json_output::{DIRECTIONS, FioReport};
use crate::accounting::{NO_RESPONSE, WideCounts};
use steadfast_domain::measurement::{CpuTime, IntervalTally, StreamTally, UnmeasuredIos};
use steadfast_domain::{Bytes, FineHistogram, IoStream, Nanos, Op, Stimulus, Tally};

/// Counts of a load since it began, over all calls of fio.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct FioCounts {
    pub elapsed: Nanos,
    /// In the order of [`DIRECTIONS`].
    pub directions: [WideCounts; 2],
    /// Processor use of each job section.
    pub threads: Vec<ThreadTimes>,
    pub faults: u64,
    pub first_error: i32,
}

/// Processor time and run time of a section's threads, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct ThreadTimes {
    pub user: u64,
    pub system: u64,
    pub ran: u64,
}

impl FioCounts {
    /// Returns the counts of an answer added to those of earlier calls.
    pub(super) fn add(answer: &FioReport, before: &FioCounts) -> FioCounts {
        let mut counts = before.clone();
        let mut ran = 0;
        counts.threads.resize(answer.sections.len(), ThreadTimes::default());
        for (section, thread) in answer.sections.iter().zip(&mut counts.threads) {
            thread.user += section.user_ns;
            thread.system += section.system_ns;
            thread.ran += section.run_ns;
            counts.faults += section.faults;
            if counts.first_error == 0 {
                counts.first_error = section.first_error;
            }
            for (sum, direction) in counts.directions.iter_mut().zip(&section.directions) {
                let total = direction.response_mean * direction.completed as f64;
                sum.ios += direction.counted();
                sum.bytes += direction.bytes;
                sum.response_sum += total.round() as u64;
                // fio writes 0 where nothing has completed.
                if direction.completed > 0 {
                    sum.response_min = sum.response_min.min(direction.response_min);
                }
                sum.response_max = sum.response_max.max(direction.response_max);
                for bucket in &direction.buckets {
                    sum.buckets[bucket.index] += bucket.count;
                }
                ran = ran.max(direction.run_ns);
            }
        }
        counts.elapsed += Nanos(ran);
        counts
    }

    /// Adds the counts of another host for the same time; `elapsed` is unchanged.
    pub(super) fn join(&mut self, other: &FioCounts) {
        for (sum, more) in self.directions.iter_mut().zip(&other.directions) {
            sum.merge(more);
        }
        self.threads.extend(&other.threads);
        self.faults += other.faults;
        if self.first_error == 0 {
            self.first_error = other.first_error;
        }
    }

    pub(super) fn bytes(&self) -> Bytes {
        Bytes(self.directions.iter().map(|sum| sum.bytes).sum())
    }

    /// Returns the sum of the response times of both operations.
    pub(super) fn response_sum(&self) -> Nanos {
        Nanos(self.directions.iter().map(|sum| sum.response_sum).sum())
    }

    /// Returns the longest response time of both operations.
    pub(super) fn response_max(&self) -> Nanos {
        Nanos(self.directions.iter().map(|sum| sum.response_max).max().unwrap_or(0))
    }

    pub(super) fn cpu(&self) -> CpuTime {
        CpuTime {
            user: Nanos(self.threads.iter().map(|thread| thread.user).sum()),
            system: Nanos(self.threads.iter().map(|thread| thread.system).sum()),
        }
    }

    /// Returns the tallies by stream, if each is alone in its direction, and otherwise one tally
    /// per direction: fio counts by direction.
    pub(super) fn stream_tallies(&self, stimulus: &Stimulus, ops: &[Op]) -> Vec<StreamTally> {
        let streams = &stimulus.streams;
        let in_direction = |op: Op| streams.iter().filter(move |stream| stream.op == op).count();
        let tally = |op: Op| StreamTally { op, tally: self.direction(op).tally() };
        if DIRECTIONS.iter().all(|(op, _)| in_direction(*op) <= 1) {
            let tally_of = |stream: &IoStream| match stream.weight {
                0 => StreamTally { op: stream.op, tally: Tally::default() },
                _ => tally(stream.op),
            };
            return streams.iter().map(tally_of).collect();
        }
        ops.iter().map(|op| tally(*op)).collect()
    }

    pub(super) fn ios(&self) -> u64 {
        self.directions.iter().map(|sum| sum.ios).sum()
    }

    /// Returns the counts after `before`. The longest response time is exact if it exceeds all
    /// earlier ones; otherwise it is the upper edge of the highest bucket, at most 1.6 % too
    /// long. The shortest one is exact if it is below all earlier ones; otherwise it is the lower
    /// edge of the lowest bucket, at most 1.6 % too short.
    pub(super) fn since(&self, before: &FioCounts) -> FioCounts {
        let mut counts = self.clone();
        counts.elapsed = self.elapsed.saturating_sub(before.elapsed);
        counts.faults = self.faults.saturating_sub(before.faults);
        for (sum, earlier) in counts.directions.iter_mut().zip(&before.directions) {
            subtract(sum, earlier);
        }
        for (thread, earlier) in counts.threads.iter_mut().zip(&before.threads) {
            thread.user = thread.user.saturating_sub(earlier.user);
            thread.system = thread.system.saturating_sub(earlier.system);
            thread.ran = thread.ran.saturating_sub(earlier.ran);
        }
        counts
    }

    /// Returns the share of its run time for which the busiest thread used a processor. If fio
    /// adds its jobs up, returns the share of all of them together.
    pub(super) fn busiest(&self) -> Option<f64> {
        let share = |thread: &ThreadTimes| (thread.user + thread.system) as f64 / thread.ran as f64;
        let shares = self.threads.iter().filter(|thread| thread.ran > 0).map(share);
        shares.reduce(f64::max).map(|share| share.min(1.0))
    }

    /// Returns the tallies of an interval by operation, without operations that had no I/O.
    pub(super) fn interval_tallies(&self) -> Vec<IntervalTally> {
        let sums = DIRECTIONS.iter().zip(&self.directions).filter(|(_, sum)| sum.ios > 0);
        sums.map(|((op, _), sum)| sum.interval_tally(*op)).collect()
    }

    /// Returns the I/Os of one operation in a ramp that has just ended.
    pub(super) fn unmeasured(&self, op: Op) -> UnmeasuredIos {
        let sum = self.direction(op);
        UnmeasuredIos { op, ios: sum.ios, bytes: Bytes(sum.bytes) }
    }

    pub(super) fn direction(&self, op: Op) -> &WideCounts {
        &self.directions[usize::from(op == Op::Write)]
    }
}

/// Subtracts earlier counts, as [`FioCounts::since`] describes.
fn subtract(sum: &mut WideCounts, earlier: &WideCounts) {
    sum.bytes = sum.bytes.saturating_sub(earlier.bytes);
    sum.response_sum = sum.response_sum.saturating_sub(earlier.response_sum);
    for (count, before) in sum.buckets.iter_mut().zip(&earlier.buckets) {
        *count = count.saturating_sub(*before);
    }
    sum.ios = sum.buckets.iter().sum();
    if sum.response_max == earlier.response_max {
        let highest = sum.buckets.iter().rposition(|count| *count > 0);
        let edge = highest.map_or(0, |index| FineHistogram::bounds(index).1);
        sum.response_max = sum.response_max.min(edge);
    }
    if sum.response_min == earlier.response_min {
        let lowest = sum.buckets.iter().position(|count| *count > 0);
        sum.response_min =
            lowest.map_or(NO_RESPONSE, |index| bin_start(index).max(sum.response_min));
    }
}

/// Returns the lower edge of fio's bin, which is two of our buckets from 128 ns on: its counts
/// are in the upper one.
fn bin_start(bucket: usize) -> u64 {
    let first = if bucket < 128 { bucket } else { bucket & !1 };
    FineHistogram::bounds(first).0
}
