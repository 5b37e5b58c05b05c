//! What was found for the keys that were asked for lately. Most I/Os are of the same few
//! processes and streams: looking for what belongs to one of them in a large table takes
//! longer than adding to it.

use rustc_hash::FxBuildHasher;
use std::hash::BuildHasher;
use steadfast_domain::IoOp;

/// Keys that are kept at hand: far more than are asked for together, so that two seldom
/// have one place.
pub(crate) const PLACES: usize = 1 << 10;

/// Keys that were asked for lately, each with what was found for it. Two keys of one place
/// push each other out, so that whoever chooses the keys can make it useless, no more.
#[derive(Debug)]
pub(crate) struct RecentCache<K, V>([Option<(K, V)>; PLACES]);

impl<K: Copy + PartialEq, V: Copy> RecentCache<K, V> {
    /// Without a key.
    #[inline]
    pub(crate) fn new() -> Self {
        RecentCache([None; PLACES])
    }

    /// What belongs to a key; it is looked for where it is not at hand. `number` is made of
    /// the key.
    #[inline(always)]
    pub(crate) fn get_or(&mut self, number: u64, key: K, find: impl FnOnce() -> V) -> V {
        match self.get(number, key) {
            Some(found) => found,
            None => {
                let found = find();
                self.keep(number, key, found);
                found
            }
        }
    }

    /// What belongs to a key, where it is at hand.
    #[inline(always)]
    pub(crate) fn get(&self, number: u64, key: K) -> Option<V> {
        match self.0[place(number)] {
            Some((seen, found)) if seen == key => Some(found),
            _ => None,
        }
    }

    /// Keeps what was found for a key.
    #[inline]
    pub(crate) fn keep(&mut self, number: u64, key: K, found: V) {
        self.0[place(number)] = Some((key, found));
    }

    /// Forgets all of them.
    pub(crate) fn clear(&mut self) {
        self.0.fill(None);
    }
}

/// An I/O stream as a number: no two have the same.
#[inline(always)]
pub(crate) fn stream_number(op: IoOp, sequential: bool, bytes: u32) -> u64 {
    u64::from(bytes) << 4 | (op as u64) << 1 | u64::from(sequential)
}

/// The place of a number.
#[inline(always)]
pub(crate) fn place(number: u64) -> usize {
    FxBuildHasher.hash_one(number) as usize % PLACES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_one_place_are_told_apart() {
        let mut lately = RecentCache::new();
        let found =
            [("a", 1), ("b", 2), ("a", 1)].map(|(key, found)| lately.get_or(7, key, || found));
        assert_eq!((found, lately.get(7, "a"), lately.get(7, "b")), ([1, 2, 1], Some(1), None));
        lately.clear();
        assert_eq!(lately.get(7, "a"), None);
    }
}
