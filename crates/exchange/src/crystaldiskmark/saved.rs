//! The content of a saved result.

use steadfast_domain::Bytes;

/// A result saved by CrystalDiskMark.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SavedResult {
    /// First line: program, version and edition.
    pub heading: String,
    /// True if KDiskMark saved the file.
    pub is_kdiskmark: bool,
    /// True if rates of KDiskMark were corrected to 10^6 bytes.
    pub corrected: bool,
    /// The program's version, where the first line has one.
    pub version: Option<String>,
    /// Reads among the I/Os of mixed tests, in percent; `None` if there are no mixed tests.
    pub mix: Option<u8>,
    /// Tests, in the order of the file.
    pub tests: Vec<DiskMarkTest>,
    /// Names and values of the lines below the tests: `Profile`, `Test`, `Date`, `OS` and others.
    pub facts: Vec<(String, String)>,
    /// Unknown lines with their numbers.
    pub not_understood: Vec<(u64, String)>,
}

/// Direction of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DiskMarkDirection {
    /// Reads only.
    Read,
    /// Writes only.
    Write,
    /// Reads and writes.
    Mix,
}

impl DiskMarkDirection {
    /// All directions, in the order of result files.
    pub const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Mix];

    /// Returns the name used in table headings.
    pub const fn name(self) -> &'static str {
        match self {
            DiskMarkDirection::Read => "Read",
            DiskMarkDirection::Write => "Write",
            DiskMarkDirection::Mix => "Mix",
        }
    }
}

/// A test and its results.
#[derive(Debug, Clone, PartialEq)]
pub struct DiskMarkTest {
    /// Direction of the I/Os.
    pub direction: DiskMarkDirection,
    /// True for random I/Os, false for sequential ones.
    pub random: bool,
    /// Transfer size; `None` if not stated, as for sequential tests of old versions.
    pub size: Option<Bytes>,
    /// Queue depth per thread; `None` if not stated.
    pub queues: Option<u32>,
    /// Number of threads; `None` if not stated.
    pub threads: Option<u32>,
    /// Throughput in MB/s (10^6 bytes per second).
    pub mb: f64,
    /// IOPS; `None` if not stated.
    pub iops: Option<f64>,
    /// Mean response time in microseconds; `None` if not stated.
    pub micros: Option<f64>,
}

impl DiskMarkTest {
    /// Returns a test from its label on a button, such as `SEQ1M Q8T1`; `None` if the label is
    /// invalid.
    pub fn named(name: &str, direction: DiskMarkDirection, mb: f64) -> Option<DiskMarkTest> {
        let (kind, demand) = name.split_once(' ')?;
        let (random, size) = match kind.split_at_checked(3)? {
            ("SEQ", size) => (false, size),
            ("RND", size) => (true, size),
            _ => return None,
        };
        let (queues, threads) = demand.strip_prefix('Q')?.split_once('T')?;
        Some(DiskMarkTest {
            direction,
            random,
            size: Some(size.parse().ok()?),
            queues: Some(queues.parse().ok()?),
            threads: Some(threads.parse().ok()?),
            mb,
            iops: None,
            micros: None,
        })
    }

    /// Returns the label on the button, without the parts that are not known.
    pub fn name(&self) -> String {
        let order = if self.random { "RND" } else { "SEQ" };
        let size = self.size.map(|size| size.binary().replace("iB", "").replace(' ', ""));
        let size = size.unwrap_or_default();
        let demand = match (self.queues, self.threads) {
            (None, None) => String::new(),
            (queues, threads) => {
                format!(" Q{}T{}", queues.unwrap_or(1), threads.unwrap_or(1))
            }
        };
        format!("{order}{size}{demand}")
    }
}
