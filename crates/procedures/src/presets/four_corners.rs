//! Viking's SSD benchmarking guide (AN0006 rev C, 2017): four corners by Iometer.
//!
//! From the guide: the four tests and their sizes, 30 s measured after a ramp of 10 s, queue depths
//! 1, 2, 4, ... 32, one worker, random data, offsets that are multiples of 4 KiB (8 KiB on drives
//! of more than 256 GB), preconditioning by sequential writes.
//!
//! Our choice: the guide writes for 2 to 3 hours until the entire drive was written; here the whole
//! target is written a number of times, which takes time in proportion to its capacity. A purge
//! before each test of writes makes the drive fresh; its reads are not measured, because there is
//! nothing to read.

use steadfast_domain::sequence::{SequenceEnd, SequenceRemark};
use steadfast_domain::stimulus::{Cursor, DataPattern, Op, Order};
use steadfast_domain::{Bytes, Demand, IoStream, Nanos, Sequence, SequenceLoad, SequenceStep};

/// Id of the tool in a sequence.
pub const TOOL: &str = "viking";
/// Dimension of a step: [`FRESH`] or [`PRECONDITIONED`].
pub const PASS: &str = "Pass";
/// Dimension of a step: the name of the test in the guide.
pub const TEST: &str = "Test";
/// Dimension of a step: the number of outstanding I/Os.
pub const DEPTH: &str = "Queue depth";
/// Pass on a purged drive.
pub const FRESH: &str = "Fresh";
/// Pass after the preconditioning.
pub const PRECONDITIONED: &str = "Preconditioned";

/// One of the four corner tests.
#[derive(Debug, Clone, Copy)]
pub struct CornerTest {
    /// Name in the guide.
    pub name: &'static str,
    /// Description in the words of the guide.
    pub description: &'static str,
    /// Name of the metric.
    pub metric: &'static str,
    /// True if the metric is in IOPS, false if it is in MB/s.
    pub in_iops: bool,
    op: Op,
    order: Order,
    size: Bytes,
}

const SEQUENTIAL: Order = Order::Sequential(Cursor::Own);

/// Corners in the order of table 3-1 of the guide.
pub const CORNERS: [CornerTest; 4] = [
    CornerTest {
        name: "128k_seq_100rd",
        description: "128K block size, 100% read",
        metric: "Sequential read",
        in_iops: false,
        op: Op::Read,
        order: SEQUENTIAL,
        size: Bytes::kib(128),
    },
    CornerTest {
        name: "128k_seq_100wr",
        description: "128K block size, 100% write",
        metric: "Sequential write",
        in_iops: false,
        op: Op::Write,
        order: SEQUENTIAL,
        size: Bytes::kib(128),
    },
    CornerTest {
        name: "4k_ran_100rd",
        description: "4K block size, 100% random read",
        metric: "Random read",
        in_iops: true,
        op: Op::Read,
        order: Order::Random,
        size: Bytes::kib(4),
    },
    CornerTest {
        name: "4k_ran_100wr",
        description: "4K block size, 100% random write",
        metric: "Random write",
        in_iops: true,
        op: Op::Write,
        order: Order::Random,
        size: Bytes::kib(4),
    },
];

/// Capacity above which offsets are multiples of 8 KiB: 256 GB.
const ALIGNED_TO_4K_MAX: Bytes = Bytes(256_000_000_000);
/// Queue depths of each corner.
const DEPTHS: [u32; 6] = [1, 2, 4, 8, 16, 32];
/// Measured time of a test.
const TIME: Nanos = Nanos::from_secs(30);
/// Ramp before the measured time.
const RAMP: Nanos = Nanos::from_secs(10);

/// Options of a run.
#[derive(Debug, Clone, Copy)]
pub struct FourCornersOptions {
    /// Capacity of the target, which decides the alignment.
    pub capacity: Bytes,
    /// Measured time of a test; `None` for that of the guide.
    pub time: Option<Nanos>,
    /// Number of times that the preconditioning writes the whole target.
    pub fills: u64,
    /// True if the fresh drive is tested too.
    pub fresh: bool,
}

impl FourCornersOptions {
    fn alignment(&self) -> Bytes {
        if self.capacity > ALIGNED_TO_4K_MAX { Bytes::kib(8) } else { Bytes::kib(4) }
    }

    /// Returns the loads as a sequence: the writes of the fresh drive if requested, the
    /// preconditioning, the four corners.
    pub fn sequence(&self) -> Sequence {
        let mut steps = Vec::new();
        if self.fresh {
            for corner in CORNERS.iter().filter(|corner| corner.op == Op::Write) {
                let mut corner_steps = self.steps(FRESH, corner);
                corner_steps[0].purge = true;
                steps.extend(corner_steps);
            }
        }
        steps.push(self.precondition());
        steps.extend(CORNERS.iter().flat_map(|corner| self.steps(PRECONDITIONED, corner)));
        let mut remarks = vec![SequenceRemark::whole(format!(
            "The guide preconditions by 2 to 3 hours of sequential writes; here the whole target is \
             written {} times. Offsets are multiples of {}, as the guide asks for this capacity.",
            self.fills,
            self.alignment().binary()
        ))];
        if self.fresh {
            remarks.push(SequenceRemark::whole(
                "Fresh: the drive is purged before each test of writes, and writes of the smaller \
                 queue depths come before those of the larger. Reads of a fresh drive are not \
                 measured: there is nothing to read.",
            ));
        }
        Sequence {
            tool: TOOL.into(),
            version: Some("AN0006 rev C".into()),
            title: "Viking SSD benchmarking, four corners".into(),
            steps,
            remarks,
            ..Sequence::default()
        }
    }

    fn stream(&self, corner: &CornerTest) -> IoStream {
        let alignment = Some(self.alignment()).filter(|alignment| *alignment != corner.size);
        IoStream { alignment, ..IoStream::new(corner.op, corner.order, corner.size) }
    }

    fn precondition(&self) -> SequenceStep {
        let stream = IoStream::new(Op::Write, SEQUENTIAL, Bytes::kib(128));
        let load = SequenceLoad {
            data_pattern: Some(DataPattern::RandomUnique),
            ..SequenceLoad::new(vec![stream], Demand::new(1, 32), SequenceEnd::laps(self.fills))
        };
        SequenceStep::new("Preconditioning", load).preparing()
    }

    /// Returns the steps of a corner, one per queue depth.
    fn steps(&self, pass: &str, corner: &CornerTest) -> [SequenceStep; DEPTHS.len()] {
        DEPTHS.map(|depth| {
            let end = SequenceEnd::time(self.time.unwrap_or(TIME));
            let load = SequenceLoad {
                ramp: RAMP,
                data_pattern: Some(DataPattern::RandomUnique),
                ..SequenceLoad::new(vec![self.stream(corner)], Demand::new(1, depth), end)
            };
            SequenceStep::new(format!("{pass}: {} Q{depth}", corner.name), load)
                .dimension(PASS, pass)
                .dimension(TEST, corner.name)
                .dimension(DEPTH, depth.to_string())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::sequence::StepRole;

    fn sequence(capacity: u64, fresh: bool) -> Sequence {
        FourCornersOptions { capacity: Bytes(capacity), time: None, fills: 2, fresh }.sequence()
    }

    #[test]
    fn the_four_corners_have_six_depths_before_and_after_the_preconditioning() {
        let sequence = sequence(100_000_000_000, true);
        let labels: Vec<&str> = sequence.steps.iter().map(|step| step.label.as_str()).collect();
        assert_eq!(labels.len(), 2 * 6 + 1 + 4 * 6);
        assert_eq!(labels[0], "Fresh: 128k_seq_100wr Q1");
        assert_eq!(labels[12], "Preconditioning");
        assert_eq!(labels[36], "Preconditioned: 4k_ran_100wr Q32");
        let purged: Vec<usize> = (0..37).filter(|index| sequence.steps[*index].purge).collect();
        assert_eq!(purged, [0, 6]);
        assert_eq!(sequence.steps[12].role, StepRole::Prepare);
        let load = &sequence.steps[36].load;
        assert_eq!((load.ramp, load.until.time), (RAMP, Some(TIME)));
    }

    #[test]
    fn large_drives_are_aligned_to_8_kib() {
        let random = |capacity| sequence(capacity, false).steps[24].load.streams[0].alignment();
        assert_eq!(random(256_000_000_000), Bytes::kib(4));
        assert_eq!(random(256_000_000_512), Bytes::kib(8));
        assert_eq!(sequence(1 << 40, false).steps.len(), 25);
    }
}
