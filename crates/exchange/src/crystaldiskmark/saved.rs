//! What a saved result holds.

use steadfast_domain::Bytes;

/// A saved result.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Saved {
    /// Its first line: the program, its version and edition.
    pub heading: String,
    /// Whether KDiskMark saved it.
    pub is_kdiskmark: bool,
    /// Whether rates of KDiskMark were corrected to 10^6 bytes.
    pub corrected: bool,
    /// The program's version, where the first line has one.
    pub version: Option<String>,
    /// Percent of the mixed tests' I/Os that read, where it has such tests.
    pub mix: Option<u8>,
    /// The tests, in the order of the file.
    pub tests: Vec<Test>,
    /// The lines below them: `Profile`, `Test`, `Date`, `OS` and others.
    pub facts: Vec<(String, String)>,
    /// Lines of which nothing was understood, with their numbers.
    pub not_understood: Vec<(u64, String)>,
}

/// Which way a test moves data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// It reads.
    Read,
    /// It writes.
    Write,
    /// Both.
    Mix,
}

impl Direction {
    /// As a table's head has it.
    pub const fn name(self) -> &'static str {
        match self {
            Direction::Read => "Read",
            Direction::Write => "Write",
            Direction::Mix => "Mix",
        }
    }
}

/// One test and what it gave.
#[derive(Debug, Clone, PartialEq)]
pub struct Test {
    /// Which way.
    pub direction: Direction,
    /// At random.
    pub random: bool,
    /// Transfer size; old versions do not say that of sequential tests.
    pub size: Option<Bytes>,
    /// Queues (outstanding I/Os of a thread), where it says them.
    pub queues: Option<u32>,
    /// Threads, where it says them.
    pub threads: Option<u32>,
    /// MB (10^6 bytes) per second.
    pub mb: f64,
    /// I/Os per second.
    pub iops: Option<f64>,
    /// Mean response time in microseconds.
    pub micros: Option<f64>,
}

impl Test {
    /// A test by its name on a button: `SEQ1M Q8T1`.
    pub fn named(name: &str, direction: Direction, mb: f64) -> Option<Test> {
        let (kind, demand) = name.split_once(' ')?;
        let (random, size) = match kind.split_at_checked(3)? {
            ("SEQ", size) => (false, size),
            ("RND", size) => (true, size),
            _ => return None,
        };
        let (queues, threads) = demand.strip_prefix('Q')?.split_once('T')?;
        Some(Test {
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

    /// The name on the button, with what is known.
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
