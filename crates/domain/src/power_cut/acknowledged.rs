//! The log of acknowledged writes, which survives the power cut.
//!
//! One line per flush: `power-cut KEY SEQUENCE NANOSECONDS CHECK`, with KEY and CHECK in
//! hexadecimal. A serial console or a listener on another host may add lines of its own, which are
//! skipped; the last line may be torn. A missing line only weakens the test, because fewer writes
//! are required to have survived.

use crate::random_bits::mix64;
use crate::units::Nanos;

const FIRST_WORD: &str = "power-cut";

/// An acknowledged flush.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Acknowledgment {
    /// Last write that the flush covers.
    pub sequence: u64,
    /// Time from the first write of the trial until the flush returned.
    pub at: Nanos,
}

impl Acknowledgment {
    fn checksum(self, key: u64) -> u64 {
        mix64(key ^ mix64(self.sequence ^ mix64(self.at.0)))
    }

    /// Returns the line in a trial's log, with its line feed.
    pub fn line(self, key: u64) -> String {
        let Acknowledgment { sequence, at } = self;
        format!("{FIRST_WORD} {key:016x} {sequence} {} {:016x}\n", at.0, self.checksum(key))
    }

    /// Parses a line. Returns `None` for a line that does not belong to the trial with this key,
    /// and an error for a damaged line.
    fn parse(line: &str, key: u64) -> Option<Result<Self, DamagedLine>> {
        let rest = line.strip_prefix(FIRST_WORD)?.strip_prefix(' ')?;
        match Self::parse_words(rest) {
            Some((line_key, flush)) => (line_key == key).then_some(Ok(flush)),
            None => Some(Err(DamagedLine)),
        }
    }

    /// Parses the words after the first one and returns the key of the line too; `None` if the line
    /// is damaged.
    fn parse_words(text: &str) -> Option<(u64, Self)> {
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        let &[key, sequence, at, checksum] = words.as_slice() else { return None };
        let key = u64::from_str_radix(key, 16).ok()?;
        let checksum = u64::from_str_radix(checksum, 16).ok()?;
        let flush =
            Acknowledgment { sequence: sequence.parse().ok()?, at: Nanos(at.parse().ok()?) };
        (checksum == flush.checksum(key)).then_some((key, flush))
    }
}

struct DamagedLine;

/// The acknowledged writes of a trial.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AcknowledgedWrites {
    /// Flushes that returned, by sequence number.
    flushes: Vec<Acknowledgment>,
    /// Number of damaged lines of any trial.
    pub damaged_lines: u64,
}

impl AcknowledgedWrites {
    /// Adds a flush that returned after all flushes added so far.
    pub fn add(&mut self, flush: Acknowledgment) {
        self.flushes.push(flush);
    }

    /// Adds the lines of a log that belong to the trial with this key. Lines already added from
    /// another log are counted once.
    pub fn add_log(&mut self, log: &str, key: u64) {
        for parsed in log.lines().filter_map(|line| Acknowledgment::parse(line, key)) {
            match parsed {
                Ok(flush) => self.flushes.push(flush),
                Err(DamagedLine) => self.damaged_lines += 1,
            }
        }
        self.flushes.sort_unstable();
        self.flushes.dedup_by_key(|flush| flush.sequence);
    }

    /// Returns the number of flushes.
    pub fn flush_count(&self) -> u64 {
        self.flushes.len() as u64
    }

    /// Returns the newest acknowledgment; `None` if there is none.
    pub fn newest(&self) -> Option<Acknowledgment> {
        self.flushes.last().copied()
    }

    /// Returns the time at which the first flush that covers this write returned; `None` if none
    /// did.
    pub fn flushed_at(&self, sequence: u64) -> Option<Nanos> {
        let index = self.flushes.partition_point(|flush| flush.sequence < sequence);
        self.flushes.get(index).map(|flush| flush.at)
    }
}
