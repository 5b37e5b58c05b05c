//! A cache of recent lookups. Most I/Os belong to the same few processes and streams, and looking
//! one up in a large table takes longer than adding to it.

use rustc_hash::FxBuildHasher;
use std::hash::BuildHasher;

/// Number of slots: far more than keys in use at a time, so that two keys seldom share a slot.
pub(crate) const PLACES: usize = 1 << 10;

/// Recently used keys with their values. Keys that share a slot evict each other, so an adversary
/// who chooses the keys can make the cache useless, but no worse.
#[derive(Debug, Clone)]
pub struct RecentCache<K, V>([Option<(K, V)>; PLACES]);

impl<K: Copy + PartialEq, V: Copy> Default for RecentCache<K, V> {
    fn default() -> Self {
        RecentCache::new()
    }
}

impl<K: Copy + PartialEq, V: Copy> RecentCache<K, V> {
    /// Creates an empty cache.
    #[inline]
    pub fn new() -> Self {
        RecentCache([None; PLACES])
    }

    /// Returns the value of a key; calls `find` on a miss. `number` is hashed and must follow from
    /// the key.
    #[inline(always)]
    pub fn get_or(&mut self, number: u64, key: K, find: impl FnOnce() -> V) -> V {
        match self.get(number, key) {
            Some(found) => found,
            None => {
                let found = find();
                self.keep(number, key, found);
                found
            }
        }
    }

    /// Returns the value of a key if it is cached.
    #[inline(always)]
    pub(crate) fn get(&self, number: u64, key: K) -> Option<V> {
        match self.0[place(number)] {
            Some((seen, found)) if seen == key => Some(found),
            _ => None,
        }
    }

    /// Caches the value of a key.
    #[inline]
    pub(crate) fn keep(&mut self, number: u64, key: K, found: V) {
        self.0[place(number)] = Some((key, found));
    }

    /// Removes all keys.
    pub(crate) fn clear(&mut self) {
        self.0.fill(None);
    }
}

/// Returns the slot of a number.
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
