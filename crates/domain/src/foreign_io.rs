//! I/Os that a device received during a step from other sources: the difference between the
//! kernel's counts and the step's own.
//!
//! Bytes decide: a kernel that splits or merges I/Os counts a different number of I/Os than the
//! step, but the same number of bytes. Bytes above the step's own come from another source. Only if
//! the bytes agree do the numbers of I/Os show whether some were split.

use crate::kernel_counts::OpCount;
use crate::measurement::Measurement;
use crate::step::{Load, Step};
use crate::stimulus::{Op, Stimulus};
use crate::units::Bytes;
use serde::Serialize;

/// I/Os of one operation that a device received during a step from other sources.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, schemars::JsonSchema)]
pub struct ForeignIo {
    /// Read or write.
    pub op: Op,
    /// I/Os above the step's own. If the kernel splits I/Os of the step, the parts are included.
    pub ios: u64,
    /// Bytes above the step's own.
    pub bytes: Bytes,
    /// These bytes as a share of all bytes that the device transferred during the step, 0 to 1.
    pub share: f64,
}

/// Tolerance in percent of the step's own counts. In a step that takes over a running load or
/// leaves one running, the load continues while the kernel's counters are read, which explains a
/// difference of this size.
const CHAINED_PERCENT: u64 = 1;

impl Measurement {
    /// Returns the I/Os that the device received from other sources during the step, by operation.
    /// Empty if the counts agree, or if the kernel reports none.
    pub fn foreign_ios(&self, step: &Step) -> Vec<ForeignIo> {
        let Some(kernel) = self.kernel else { return Vec::new() };
        let moved = kernel.read_bytes.0 + kernel.write_bytes.0;
        let mut found = Vec::new();
        for op in [Op::Read, Op::Write] {
            let (own, seen) = (self.own_counts(op), kernel.direction(op));
            let allowance = self.allowance(step, own);
            let bytes = seen.bytes.saturating_sub(own.bytes);
            if bytes > allowance.bytes {
                found.push(ForeignIo {
                    op,
                    ios: seen.ios.saturating_sub(own.ios),
                    bytes: Bytes(bytes),
                    share: bytes as f64 / moved as f64,
                });
            }
        }
        found
    }

    /// Returns true if the kernel split I/Os of the step: it counted the same bytes of an operation
    /// in over 10 % more I/Os. Returns false if the kernel reports no counts.
    pub fn is_split(&self, step: &Step) -> bool {
        let Some(kernel) = self.kernel else { return false };
        [Op::Read, Op::Write].into_iter().any(|op| {
            let (own, seen) = (self.own_counts(op), kernel.direction(op));
            let allowance = self.allowance(step, own);
            // The kernel may count a flush as an empty write.
            let flushes = if op == Op::Write { self.own_counts(Op::Flush).ios } else { 0 };
            let extra_ios = seen.ios.saturating_sub(own.ios + flushes);
            own.bytes > 0
                && seen.bytes.abs_diff(own.bytes) <= allowance.bytes
                && extra_ios > allowance.ios.max(own.ios / 10)
        })
    }

    /// Returns the step's own I/Os of one operation, in and outside the measured time.
    fn own_counts(&self, op: Op) -> OpCount {
        let measured = self.direction(op);
        let mut own = OpCount { ios: measured.ios, bytes: measured.bytes.0 };
        for outside in self.unmeasured.iter().filter(|part| part.op == op) {
            own.ios += outside.ios;
            own.bytes += outside.bytes.0;
        }
        own
    }

    /// Returns the difference from the kernel's counts that the step itself can explain: failed
    /// I/Os, I/Os that never completed, and those at the boundaries of a step that continues a load
    /// or leaves it running.
    fn allowance(&self, step: &Step, own: OpCount) -> OpCount {
        let is_chained = step.continues || !self.complete;
        // Twice: at the start and at the end of the step.
        let at_boundaries = if is_chained { 2 * untallied(&step.load) } else { 0 };
        let ios = self.fault_count + self.outstanding + at_boundaries;
        let percent = if is_chained { CHAINED_PERCENT } else { 0 };
        OpCount {
            ios: ios + own.ios / 100 * percent,
            bytes: ios.saturating_mul(largest(&step.load)) + own.bytes / 100 * percent,
        }
    }
}

/// Returns the maximum number of I/Os of a load that have begun and are in no tally.
fn untallied(load: &Load) -> u64 {
    match load {
        Load::Script(script) => script.demand.outstanding(),
        Load::Stimulus(_) | Load::Together(_) => load.stimuli().iter().map(untallied_of_one).sum(),
    }
}

/// Returns the same for one stimulus: I/Os that are outstanding, or written and waiting for their
/// flush.
fn untallied_of_one(stimulus: &Stimulus) -> u64 {
    let demand = stimulus.demand;
    let group = stimulus.flush_every().map_or(0, |every| u64::from(every.get()));
    demand.outstanding().max(group * u64::from(demand.threads))
}

fn largest(load: &Load) -> u64 {
    match load {
        Load::Script(script) => script.largest.0,
        Load::Stimulus(_) | Load::Together(_) => {
            load.streams().map(|stream| stream.size.0).max().unwrap_or(0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::{KernelCounters, StreamTally, UnmeasuredIos};
    use crate::stimulus::{ActiveRange, Demand, IoStream, LoadLimits, Order, Stimulus};
    use crate::{Nanos, StepPlace, Tally};

    fn step() -> Step {
        let streams = vec![IoStream::new(Op::Write, Order::Random, Bytes(4096))];
        let range = ActiveRange::new(Bytes(0), Bytes::mib(1));
        let until = LoadLimits::time(Nanos::SECOND);
        Step::alone(
            StepPlace::new("x", 0, 1, ""),
            Stimulus::new(streams, range, Demand::new(2, 4), until),
        )
    }

    /// 1,000 writes of 4 KiB in the measured time, 8 after it, as the kernel counted them.
    fn measurement() -> Measurement {
        let bytes = Bytes(1000 * 4096);
        let tally = Tally { ios: 1000, bytes, ..Tally::default() };
        let late = UnmeasuredIos { op: Op::Write, ios: 8, bytes: Bytes(8 * 4096) };
        Measurement {
            complete: true,
            streams: vec![StreamTally { op: Op::Write, tally }],
            unmeasured: vec![late],
            kernel: Some(KernelCounters {
                writes: 1008,
                write_bytes: Bytes(1008 * 4096),
                ..KernelCounters::default()
            }),
            ..Measurement::default()
        }
    }

    fn kernel(change: impl FnOnce(&mut KernelCounters)) -> Measurement {
        let mut measurement = measurement();
        change(measurement.kernel.as_mut().unwrap());
        measurement
    }

    #[test]
    fn equal_byte_counts_show_no_foreign_io() {
        let merged = kernel(|k| (k.writes, k.write_merges) = (8, 1000));
        let split = kernel(|k| k.writes = 2016);
        for (measurement, is_split) in [(measurement(), false), (merged, false), (split, true)] {
            assert_eq!(measurement.foreign_ios(&step()), []);
            assert_eq!(measurement.is_split(&step()), is_split);
        }
    }

    #[test]
    fn flushes_counted_as_writes_are_no_split() {
        let mut flushed = kernel(|k| k.writes = 2016);
        let tally = Tally { ios: 1008, ..Tally::default() };
        flushed.streams.push(StreamTally { op: Op::Flush, tally });
        assert!(!flushed.is_split(&step()));
        flushed.kernel.as_mut().unwrap().writes = 3024;
        assert!(flushed.is_split(&step()));
    }

    #[test]
    fn foreign_ios_are_counted_by_operation() {
        let reads = kernel(|k| (k.reads, k.read_bytes) = (18_328, Bytes(18_328 * 512)));
        let found = reads.foreign_ios(&step());
        let share = 18_328.0 * 512.0 / (18_328.0 * 512.0 + 1008.0 * 4096.0);
        let expected = ForeignIo { op: Op::Read, ios: 18_328, bytes: Bytes(18_328 * 512), share };
        assert_eq!(found, [expected]);
        assert!(!reads.is_split(&step()));

        let writes = kernel(|k| {
            k.writes += 500;
            k.write_bytes.0 += 500 * 512;
        });
        let found = writes.foreign_ios(&step());
        assert_eq!((found[0].op, found[0].ios, found[0].bytes.0), (Op::Write, 500, 500 * 512));
        assert!(!writes.is_split(&step()));
    }

    #[test]
    fn failed_ios_and_boundaries_of_a_chain_explain_a_difference() {
        let more = |k: &mut KernelCounters| {
            k.writes += 3;
            k.write_bytes.0 += 3 * 4096;
        };
        let failed = Measurement { fault_count: 3, ..kernel(more) };
        let lost = Measurement { outstanding: 3, ..kernel(more) };
        let cut = Measurement { complete: false, ..kernel(more) };
        for allowed in [failed, lost, cut] {
            assert_eq!(allowed.foreign_ios(&step()), []);
        }
        assert_eq!(kernel(more).foreign_ios(&step()).len(), 1);
        let far = kernel(|k| k.write_bytes.0 += 100 * 4096);
        assert_eq!(Measurement { complete: false, ..far }.foreign_ios(&step()).len(), 1);
    }

    #[test]
    fn unknown_counts_show_no_foreign_io() {
        let unknown = Measurement { kernel: None, ..measurement() };
        assert!(unknown.foreign_ios(&step()).is_empty() && !unknown.is_split(&step()));
    }
}
