//! Numbers for streams and processes, assigned in order of first occurrence, so that the hot path
//! counts in arrays. They are bounded: keys that come when all numbers are taken count as
//! [`OTHERS`].

use serde::{Deserialize, Serialize};
use steadfast_analysis::questions::processes::ProcessKey;
use steadfast_domain::IoOp;
use steadfast_tracefile::StreamKey;

/// Number of keys that get a number.
pub const NUMBERS: usize = 4096;
/// Number shared by all keys that have none of their own.
pub const OTHERS: u16 = NUMBERS as u16;
/// A free slot of the table.
const FREE: u16 = u16::MAX;
/// Slots of the table: a power of two well above [`NUMBERS`].
const PLACES: usize = 1 << 14;
/// Multiplier that spreads hashes (2^64 over the golden ratio).
const APART: u64 = 0x9e37_79b9_7f4a_7c15;

/// A key by which I/Os are counted.
pub trait CountKey: Copy + Ord {
    /// Returns a hash that differs for most keys.
    fn hash(&self) -> u64;
}

impl CountKey for StreamKey {
    #[inline]
    fn hash(&self) -> u64 {
        u64::from(self.bytes) << 8 | (self.op as u64) << 1 | u64::from(self.sequential)
    }
}

impl CountKey for ProcessKey {
    #[inline]
    fn hash(&self) -> u64 {
        let name = u128::from_le_bytes(self.command.0);
        let folded = (name as u64) ^ ((name >> 64) as u64).rotate_left(23);
        folded.wrapping_mul(APART) ^ u64::from(self.pid)
    }
}

/// A process in the form of an index file: number and command name.
pub type StoredProcessKey = (u32, [u8; 16]);

/// Sums over the I/Os of a key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeySum {
    /// Number of I/Os.
    pub ios: u64,
    /// Number of bytes.
    pub bytes: u64,
}

impl KeySum {
    /// Adds I/Os and bytes.
    pub fn add(&mut self, ios: u64, bytes: u64) {
        self.ios += ios;
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

/// The keys that have a number.
#[derive(Debug, Clone)]
pub struct NumberedKeys<K> {
    places: Vec<u16>,
    keys: Vec<K>,
}

impl<K> Default for NumberedKeys<K> {
    fn default() -> Self {
        NumberedKeys { places: vec![FREE; PLACES], keys: Vec::new() }
    }
}

impl<K: CountKey> NumberedKeys<K> {
    /// Creates an empty table.
    pub fn new() -> Self {
        NumberedKeys::default()
    }

    /// Returns the number of a key, and assigns one if it is new and a number is left.
    #[inline]
    pub fn number(&mut self, key: K) -> u16 {
        let mut at = (key.hash().wrapping_mul(APART) >> 40) as usize & (PLACES - 1);
        loop {
            let number = self.places[at];
            match self.keys.get(usize::from(number)) {
                Some(found) if *found == key => return number,
                Some(_) => at = (at + 1) & (PLACES - 1),
                None => return self.give(key, at),
            }
        }
    }

    #[cold]
    fn give(&mut self, key: K, at: usize) -> u16 {
        if self.keys.len() == NUMBERS {
            return OTHERS;
        }
        let number = self.keys.len() as u16;
        self.places[at] = number;
        self.keys.push(key);
        number
    }

    /// Returns the keys by number.
    pub fn keys(&self) -> &[K] {
        &self.keys
    }
}

/// Returns the name of a stream for display and for queries.
pub fn stream_id(key: &StreamKey) -> String {
    key.to_string()
}

/// Returns the name of a process for queries: its number, or its command name if the number is
/// unknown.
pub fn process_id(key: &ProcessKey) -> String {
    if key.pid > 0 { key.pid.to_string() } else { key.command.to_string() }
}

/// Returns the operation with a name of the command line.
pub fn op_named(name: &str) -> Option<IoOp> {
    match name {
        "read" | "r" => Some(IoOp::Read),
        "write" | "w" => Some(IoOp::Write),
        "discard" | "trim" => Some(IoOp::Discard),
        "flush" => Some(IoOp::Flush),
        "other" => Some(IoOp::Other),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_kept_and_bounded() {
        let key = |bytes| StreamKey { op: IoOp::Read, sequential: false, bytes };
        let mut keys = NumberedKeys::new();
        for bytes in 0..9000 {
            let wanted = if bytes < NUMBERS as u32 { bytes as u16 } else { OTHERS };
            assert_eq!(keys.number(key(bytes)), wanted);
            assert_eq!(keys.number(key(bytes)), wanted);
        }
        assert_eq!(keys.number(key(7)), 7);
        assert_eq!(keys.keys()[4095].bytes, 4095);
    }
}
