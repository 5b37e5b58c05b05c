//! The kernel's counts of a step, read once they are complete.

use std::time::Duration;
use steadfast_domain::measurement::KernelCounters;
use steadfast_domain::{Measurement, Op};

/// Maximum number of reads of the kernel's counters after a step.
const READS_MAX: u32 = 10;

/// Returns the kernel's counts of a step since `before`; `read` returns the current counters. The
/// kernel counts an I/O's bytes, and then the I/O, a moment after its completion, so counts that
/// fall short are read again after `pause`. `None` if the counters cannot be read or count
/// nothing of the step.
pub(crate) fn counts_since(
    before: &KernelCounters,
    done: &Measurement,
    pause: Duration,
    mut read: impl FnMut() -> Option<KernelCounters>,
) -> Option<KernelCounters> {
    // I/Os and bytes read and written, inside and outside the measured time.
    let (mut ios, mut bytes) = (0, 0);
    for op in [Op::Read, Op::Write] {
        let measured = done.direction(op);
        ios += measured.ios;
        bytes += measured.bytes.0;
        for outside in done.unmeasured.iter().filter(|outside| outside.op == op) {
            ios += outside.ios;
            bytes += outside.bytes.0;
        }
    }
    let mut reads = 0;
    loop {
        let kernel = read()?.since(before);
        reads += 1;
        // The kernel may count more I/Os if it splits some, and fewer if it merges some.
        let merges = kernel.read_merges + kernel.write_merges;
        if kernel.reads + kernel.writes + merges >= ios
            && kernel.read_bytes.0 + kernel.write_bytes.0 >= bytes
        {
            return Some(kernel);
        }
        if reads == READS_MAX {
            // Counters that count none of the step's I/Os belong to another device, or are not
            // maintained, and prove nothing.
            return (!kernel.is_zero() || bytes == 0).then_some(kernel);
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
        assert_eq!(reads, READS_MAX);
        assert_eq!(counts_since(&counts(0, 0), &done(), Duration::ZERO, || None), None);
    }

    #[test]
    fn merged_ios_count() {
        let counted = counts_since(&counts(0, 0), &done(), Duration::ZERO, || Some(counts(4, 6)));
        assert_eq!(counted, Some(counts(4, 6)));
    }
}
