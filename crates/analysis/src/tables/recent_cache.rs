//! A cache of recent lookups. Most I/Os belong to the same few processes and streams, and looking
//! one up in a large table takes longer than adding to it.

use rustc_hash::FxBuildHasher;
use std::hash::BuildHasher;

/// Number of slots: far more than keys in use at a time, so that two keys seldom share a slot.
const SLOTS: usize = 1 << 10;

/// Recently used keys with their values. Keys that share a slot evict each other, so an adversary
/// who chooses the keys can make the cache useless, but no worse.
#[derive(Debug, Clone)]
pub struct RecentCache<K, V>([Option<(K, V)>; SLOTS]);

impl<K: Copy + PartialEq, V: Copy> Default for RecentCache<K, V> {
    fn default() -> Self {
        RecentCache::new()
    }
}

impl<K: Copy + PartialEq, V: Copy> RecentCache<K, V> {
    /// Creates an empty cache.
    #[inline]
    pub fn new() -> Self {
        RecentCache([None; SLOTS])
    }

    /// Returns the value of a key; calls `find` on a miss. `number` is hashed and must follow from
    /// the key.
    #[inline(always)]
    pub fn get_or(&mut self, number: u64, key: K, find: impl FnOnce() -> V) -> V {
        match self.get(number, key) {
            Some(value) => value,
            None => {
                let value = find();
                self.insert(number, key, value);
                value
            }
        }
    }

    #[inline(always)]
    pub(crate) fn get(&self, number: u64, key: K) -> Option<V> {
        match self.0[slot(number)] {
            Some((cached, value)) if cached == key => Some(value),
            _ => None,
        }
    }

    #[inline]
    pub(crate) fn insert(&mut self, number: u64, key: K, value: V) {
        self.0[slot(number)] = Some((key, value));
    }

    pub(crate) fn clear(&mut self) {
        self.0.fill(None);
    }
}

#[inline(always)]
fn slot(number: u64) -> usize {
    FxBuildHasher.hash_one(number) as usize % SLOTS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_share_a_slot_are_distinguished() {
        let mut cache = RecentCache::new();
        let values =
            [("a", 1), ("b", 2), ("a", 1)].map(|(key, value)| cache.get_or(7, key, || value));
        assert_eq!((values, cache.get(7, "a"), cache.get(7, "b")), ([1, 2, 1], Some(1), None));
        cache.clear();
        assert_eq!(cache.get(7, "a"), None);
    }
}
