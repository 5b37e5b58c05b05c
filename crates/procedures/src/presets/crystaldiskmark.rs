//! CrystalDiskMark 8: four tests, reads first, then writes, and the best of several attempts.
//!
//! The tests are those of the program's profiles "Default" and "NVMe SSD". Its defaults are 1 GiB,
//! five attempts, 5 s measured and 5 s between attempts.

use steadfast_domain::sequence::{Amount, Extent, SequenceEnd, SequenceRemark};
use steadfast_domain::stimulus::{Cursor, Op, Order};
use steadfast_domain::{
    Bytes, Demand, IoStream, Nanos, Sequence, SequenceLoad, SequenceStep, notation::AccessPattern,
};

/// A test of the program.
#[derive(Clone, Copy)]
struct MarkTest {
    is_random: bool,
    size: Bytes,
    demand: Demand,
}

impl MarkTest {
    const fn sequential(size: Bytes, threads: u32, depth: u32) -> Self {
        MarkTest { is_random: false, size, demand: Demand::new(threads, depth) }
    }

    const fn random_4k(threads: u32, depth: u32) -> Self {
        MarkTest { is_random: true, size: Bytes::kib(4), demand: Demand::new(threads, depth) }
    }

    /// Returns the name as on the program's buttons, such as `SEQ1M Q8T1`.
    fn name(self) -> String {
        let order = if self.is_random { "RND" } else { "SEQ" };
        let size = self.size.binary().replace("iB", "").replace(' ', "");
        format!("{order}{size} Q{}T{}", self.demand.depth, self.demand.threads)
    }

    fn pattern(self, read_percent: u8) -> AccessPattern {
        if self.is_random {
            AccessPattern::random(self.size, read_percent)
        } else {
            AccessPattern::sequential(self.size, read_percent)
        }
    }
}

/// Tests of the profile "Default".
const DEFAULT: [MarkTest; 4] = [
    MarkTest::sequential(Bytes::mib(1), 1, 8),
    MarkTest::sequential(Bytes::mib(1), 1, 1),
    MarkTest::random_4k(1, 32),
    MarkTest::random_4k(1, 1),
];

/// Tests of the profile "NVMe SSD".
const NVME: [MarkTest; 4] = [
    MarkTest::sequential(Bytes::mib(1), 1, 8),
    MarkTest::sequential(Bytes::kib(128), 1, 32),
    MarkTest::random_4k(16, 32),
    MarkTest::random_4k(1, 1),
];

/// Demand of the writes that fill the test range first, as the program writes its test file.
const FILL: Demand = Demand::new(1, 8);

/// Options of a run.
#[derive(Debug, Clone, Copy)]
pub struct CrystalDiskMark {
    /// Size of the tested range.
    pub test_size: Bytes,
    /// Number of attempts at each test.
    pub loops: u32,
    /// Measured time of an attempt.
    pub measure: Nanos,
    /// Pause before an attempt.
    pub interval: Nanos,
    /// True for the tests of the profile "NVMe SSD", false for "Default".
    pub nvme: bool,
    /// Percentage of reads of additional mixed tests; `None` for no mixed tests.
    pub mix: Option<u8>,
}

impl CrystalDiskMark {
    /// Returns the name of the profile, as in the program's result file.
    pub fn profile(&self) -> &'static str {
        match (self.nvme, self.mix.is_some()) {
            (false, false) => "Default",
            (false, true) => "Default [+Mix]",
            (true, false) => "NVMe SSD",
            (true, true) => "NVMe SSD [+Mix]",
        }
    }

    /// Returns the loads as a sequence.
    pub fn sequence(&self) -> Sequence {
        let tests = if self.nvme { NVME } else { DEFAULT };
        let mut steps = vec![self.fill()];
        steps.extend(tests.map(|test| self.step(test, "Read", 100)));
        steps.extend(tests.map(|test| self.step(test, "Write", 0)));
        if let Some(read_percent) = self.mix {
            steps.extend(tests.map(|test| self.step(test, "Mix", read_percent)));
        }
        Sequence {
            tool: "crystaldiskmark".into(),
            version: Some("8".into()),
            title: format!(
                "CrystalDiskMark {}, {} (x{})",
                self.profile(),
                self.test_size.binary(),
                self.loops
            ),
            steps,
            remarks: vec![SequenceRemark::whole(
                "CrystalDiskMark tests a file on NTFS, this run the target itself: without a file \
                 system, rates are slightly higher.",
            )],
            ..Sequence::default()
        }
    }

    /// Returns the tested range.
    fn extent(&self) -> Extent {
        Extent { length: Some(Amount::Bytes(self.test_size)), ..Extent::default() }
    }

    fn fill(&self) -> SequenceStep {
        let stream = IoStream::new(Op::Write, Order::Sequential(Cursor::Own), Bytes::mib(1));
        let load = SequenceLoad::new(vec![stream], FILL, SequenceEnd::laps(1));
        SequenceStep::new("Test data", load.within(self.extent())).preparing()
    }

    fn step(&self, test: MarkTest, direction: &str, read_percent: u8) -> SequenceStep {
        let streams = test.pattern(read_percent).streams();
        let load = SequenceLoad::new(streams, test.demand, SequenceEnd::time(self.measure));
        let name = test.name();
        SequenceStep {
            best_of: Some(self.loops),
            pause: self.interval,
            ..SequenceStep::new(format!("{name} {direction}"), load.within(self.extent()))
        }
        .dimension("Test", name)
        .dimension("Direction", direction)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(nvme: bool, mix: Option<u8>) -> Vec<String> {
        let preset = CrystalDiskMark {
            test_size: Bytes::gib(1),
            loops: 5,
            measure: Nanos::from_secs(5),
            interval: Nanos::ZERO,
            nvme,
            mix,
        };
        preset.sequence().steps.into_iter().map(|step| step.label).collect()
    }

    #[test]
    fn the_tests_have_the_names_of_the_program() {
        let default = [
            "Test data", "SEQ1M Q8T1 Read", "SEQ1M Q1T1 Read", "RND4K Q32T1 Read",
            "RND4K Q1T1 Read", "SEQ1M Q8T1 Write", "SEQ1M Q1T1 Write", "RND4K Q32T1 Write",
            "RND4K Q1T1 Write",
        ];
        assert_eq!(labels(false, None), default);
        let nvme = labels(true, Some(70));
        assert_eq!(nvme.len(), 13);
        assert_eq!(nvme[2..4], ["SEQ128K Q32T1 Read", "RND4K Q32T16 Read"]);
        assert_eq!(nvme[9], "SEQ1M Q8T1 Mix");
    }
}
