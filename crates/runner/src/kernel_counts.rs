//! Reads the kernel's I/O counts of a step until they are complete.

use std::time::Duration;
use steadfast_domain::measurement::KernelCounters;
use steadfast_domain::{Measurement, Op};

/// Maximum number of times that the kernel's counters are read after a step. With pauses of 1 to 10 ms
/// the kernel needs fewer.
const ATTEMPTS_MAX: u32 = 10;

/// Returns what the kernel counted since `before`; `None` if its counters cannot be read, or count
/// nothing of the step.
///
/// `read` returns the current counters. The kernel counts an I/O shortly after its completion, so
/// counts below those of `measurement` are read again after `pause`. If they stay too low, the last
/// ones are returned.
pub(crate) fn counts_since(
    before: &KernelCounters,
    measurement: &Measurement,
    pause: Duration,
    mut read: impl FnMut() -> Option<KernelCounters>,
) -> Option<KernelCounters> {
    // I/Os and bytes read and written, inside and outside the measured time.
    let mut expected_ios = 0;
    let mut expected_bytes = 0;
    for op in [Op::Read, Op::Write] {
        let measured = measurement.direction(op);
        expected_ios += measured.ios;
        expected_bytes += measured.bytes.0;
        for outside in measurement.unmeasured.iter().filter(|outside| outside.op == op) {
            expected_ios += outside.ios;
            expected_bytes += outside.bytes.0;
        }
    }
    let mut attempts = 0;
    loop {
        let kernel = read()?.since(before);
        attempts += 1;
        // The kernel may count more I/Os if it splits some, and fewer if it merges some.
        let ios = kernel.reads + kernel.writes + kernel.read_merges + kernel.write_merges;
        let bytes = kernel.read_bytes.0 + kernel.write_bytes.0;
        if ios >= expected_ios && bytes >= expected_bytes {
            return Some(kernel);
        }
        if attempts == ATTEMPTS_MAX {
            // Counters that count none of the step's I/Os belong to another device, or are not
            // maintained, and prove nothing.
            return (!kernel.is_zero() || expected_bytes == 0).then_some(kernel);
        }
        std::thread::sleep(pause);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::Bytes;
    use steadfast_domain::measurement::UnmeasuredIos;

    fn counts(reads: u64, read_merges: u64) -> KernelCounters {
        let read_bytes = Bytes((reads + read_merges) * 4096);
        KernelCounters { reads, read_merges, read_bytes, ..KernelCounters::default() }
    }

    /// 10 I/Os outside the measured time, which the kernel counts too.
    fn done() -> Measurement {
        let outside = UnmeasuredIos { op: Op::Read, ios: 10, bytes: Bytes(40_960) };
        Measurement { unmeasured: vec![outside], ..Measurement::default() }
    }

    #[test]
    fn low_counts_are_read_again_a_limited_number_of_times() {
        let mut later = [7 + 3, 7 + 9, 7 + 10, 7 + 99].into_iter();
        let read = || later.next().map(|reads| counts(reads, 0));
        let counted = counts_since(&counts(7, 0), &done(), Duration::ZERO, read);
        assert_eq!(counted, Some(counts(10, 0)));
        let mut reads = 0;
        let never = || {
            reads += 1;
            Some(counts(0, 0))
        };
        assert_eq!(counts_since(&counts(0, 0), &done(), Duration::ZERO, never), None);
        assert_eq!(reads, ATTEMPTS_MAX);
        assert_eq!(counts_since(&counts(0, 0), &done(), Duration::ZERO, || None), None);
    }

    #[test]
    fn merged_ios_count() {
        let counted = counts_since(&counts(0, 0), &done(), Duration::ZERO, || Some(counts(4, 6)));
        assert_eq!(counted, Some(counts(4, 6)));
    }
}
