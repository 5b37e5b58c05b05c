//! ATTO Disk Benchmark 4: sequential writes and reads of every transfer size.
//!
//! The program's defaults are 512 B to 64 MB, four outstanding I/Os ("overlapped") and a total
//! length of 256 MB. The length is transferred once with every size.

use steadfast_domain::sequence::{Amount, Extent, SequenceEnd, SequenceRemark};
use steadfast_domain::stimulus::{Cursor, Op, Order};
use steadfast_domain::{Bytes, Demand, IoStream, Sequence, SequenceLoad, SequenceStep};

/// Transfer sizes of the program that are not powers of two: three between the largest ones.
const INTERMEDIATE_SIZES: [Bytes; 3] = [Bytes::mib(12), Bytes::mib(24), Bytes::mib(48)];
const SMALLEST: u64 = 512;
const LARGEST: u64 = 64 << 20;

/// Options of a run.
#[derive(Debug, Clone, Copy)]
pub struct Atto {
    /// Smallest transfer size.
    pub from: Bytes,
    /// Largest transfer size.
    pub to: Bytes,
    /// Size of the tested range.
    pub length: Bytes,
    /// Number of outstanding I/Os.
    pub depth: u32,
}

impl Atto {
    /// Returns the transfer sizes in ascending order.
    fn sizes(&self) -> Vec<Bytes> {
        let powers_of_two = SMALLEST.ilog2()..=LARGEST.ilog2();
        let mut sizes: Vec<Bytes> = powers_of_two.map(|power| Bytes(1 << power)).collect();
        sizes.extend(INTERMEDIATE_SIZES);
        sizes.sort_unstable();
        sizes.retain(|size| (self.from..=self.to.min(self.length)).contains(size));
        sizes
    }

    /// Returns the loads as a sequence: for each size, the writes before the reads.
    pub fn sequence(&self) -> Sequence {
        let mut steps = Vec::new();
        for size in self.sizes() {
            steps.push(self.step(size, "Write", Op::Write));
            steps.push(self.step(size, "Read", Op::Read));
        }
        Sequence {
            tool: "atto".into(),
            version: Some("4".into()),
            title: format!(
                "ATTO Disk Benchmark, {} to {}, queue depth {}, length {}",
                self.from.binary(),
                self.to.binary(),
                self.depth,
                self.length.binary()
            ),
            steps,
            remarks: vec![SequenceRemark::whole(
                "Every transfer size moves the length once. ATTO tests a file, this run the target \
                 itself.",
            )],
            ..Sequence::default()
        }
    }

    fn step(&self, size: Bytes, direction: &str, op: Op) -> SequenceStep {
        let stream = IoStream::new(op, Order::Sequential(Cursor::Own), size);
        let demand = Demand::new(1, self.depth);
        let length = Some(Amount::Bytes(self.length));
        let load = SequenceLoad::new(vec![stream], demand, SequenceEnd::laps(1))
            .within(Extent { length, ..Extent::default() });
        SequenceStep {
            may_be_left_out: true,
            ..SequenceStep::new(format!("{} {direction}", size.binary()), load)
        }
        .dimension("Transfer size", size.binary())
        .dimension("Direction", direction)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_the_program_between_the_limits() {
        let preset = |from, to| Atto { from, to, length: Bytes::mib(256), depth: 4 };
        let all = preset(Bytes(512), Bytes::mib(64)).sequence();
        assert_eq!(all.steps.len(), 2 * 21);
        assert_eq!(all.steps[0].label, "512 B Write");
        assert_eq!(all.steps[41].label, "64 MiB Read");
        let sizes = preset(Bytes::mib(8), Bytes::mib(20)).sizes();
        assert_eq!(sizes, [Bytes::mib(8), Bytes::mib(12), Bytes::mib(16)]);
        let short = Atto { length: Bytes::kib(2), ..preset(Bytes(512), Bytes::mib(64)) };
        assert_eq!(short.sizes().len(), 3, "none is longer than what is tested");
    }
}
