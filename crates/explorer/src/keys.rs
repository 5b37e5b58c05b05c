//! Numbers for streams and processes, given out as they are first seen, so that the
//! hot path counts in arrays. Bounded: what comes when all numbers are taken counts
//! as [`OTHERS`].

use serde::{Deserialize, Serialize};
use steadfast_analysis::questions::processes::ProcessKey;
use steadfast_domain::IoOp;
use steadfast_tracefile::StreamKey;

/// Numbers that are given out.
pub const NUMBERS: usize = 4096;
/// The number of everything that has none of its own.
pub const OTHERS: u16 = NUMBERS as u16;
/// A place of the table without a number.
const FREE: u16 = u16::MAX;
/// Places of the table: a power of two well above [`NUMBERS`].
const PLACES: usize = 1 << 14;
/// Multiplies hashes apart (2^64 over the golden ratio).
const APART: u64 = 0x9e37_79b9_7f4a_7c15;

/// Something that I/Os are told apart by.
pub trait Key: Copy + Ord {
    /// Many different keys have many different ones.
    fn hash(&self) -> u64;
}

impl Key for StreamKey {
    #[inline]
    fn hash(&self) -> u64 {
        u64::from(self.bytes) << 8 | (self.op as u64) << 1 | u64::from(self.sequential)
    }
}

impl Key for ProcessKey {
    #[inline]
    fn hash(&self) -> u64 {
        let name = u128::from_le_bytes(self.command.0);
        let folded = (name as u64) ^ ((name >> 64) as u64).rotate_left(23);
        folded.wrapping_mul(APART) ^ u64::from(self.pid)
    }
}

/// A process as an index file keeps it: number and command name.
pub type ProcessKeyKept = (u32, [u8; 16]);

/// What all I/Os of a key add up to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sum {
    /// I/Os.
    pub ios: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Sum {
    /// Adds more.
    pub fn add(&mut self, ios: u64, bytes: u64) {
        self.ios += ios;
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

/// The keys that have a number.
#[derive(Debug, Clone)]
pub struct Keys<K> {
    places: Vec<u16>,
    keys: Vec<K>,
}

impl<K> Default for Keys<K> {
    fn default() -> Self {
        Keys { places: vec![FREE; PLACES], keys: Vec::new() }
    }
}

impl<K: Key> Keys<K> {
    /// None yet.
    pub fn new() -> Self {
        Keys::default()
    }

    /// The number of a key; it gets one where there is one left.
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

    /// The keys by their number.
    pub fn keys(&self) -> &[K] {
        &self.keys
    }
}

/// A stream for people and for queries.
pub fn stream_id(key: &StreamKey) -> String {
    key.to_string()
}

/// A process for queries: its number, or its name where it has none.
pub fn process_id(key: &ProcessKey) -> String {
    if key.pid > 0 { key.pid.to_string() } else { key.command.to_string() }
}

/// An operation by the name that the command line gives it.
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
        let mut keys = Keys::new();
        for bytes in 0..9000 {
            let wanted = if bytes < NUMBERS as u32 { bytes as u16 } else { OTHERS };
            assert_eq!(keys.number(key(bytes)), wanted);
            assert_eq!(keys.number(key(bytes)), wanted);
        }
        assert_eq!(keys.number(key(7)), 7);
        assert_eq!(keys.keys()[4095].bytes, 4095);
    }
}
