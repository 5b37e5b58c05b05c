//! Sums of I/Os by key. A bounded number of keys, the smallest in their order
//! ([`crate::tables::smallest_keys`]), has sums of its own; everything else shares one tally.

use crate::cube::CellSums;
use crate::sums::io_sums::IoSums;
use crate::tables::recent_cache::RecentCache;
use crate::tables::smallest_keys::{Admission, SmallestKeys};
use rustc_hash::FxHashMap;
use std::hash::Hash;
use std::mem;

#[derive(Debug, Clone)]
pub(crate) struct BoundedTable<K, S = IoSums> {
    /// Index into `tallies` by key.
    indexes: FxHashMap<K, u32>,
    tallies: Vec<S>,
    smallest: SmallestKeys<K>,
    /// Number of times that an index passed to another key.
    evictions: u64,
}

/// Index of the shared tally of all other keys.
const REST: u32 = 0;

impl<K: Copy + Ord + Hash, S: CellSums + Clone> BoundedTable<K, S> {
    pub(crate) fn keeping(most: usize) -> Self {
        BoundedTable {
            indexes: FxHashMap::default(),
            tallies: vec![S::default()],
            smallest: SmallestKeys::new(most),
            evictions: 0,
        }
    }

    pub(crate) fn most(&self) -> usize {
        self.smallest.most()
    }

    /// Returns the keys with their tallies, in no particular order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, &S)> {
        self.indexes.iter().map(|(key, index)| (key, &self.tallies[*index as usize]))
    }

    /// Returns the number of keys with sums of their own.
    pub(crate) fn len(&self) -> usize {
        self.indexes.len()
    }

    /// Returns the tally of a key that has sums of its own.
    pub(crate) fn get(&self, key: &K) -> Option<&S> {
        self.indexes.get(key).map(|index| &self.tallies[*index as usize])
    }

    /// Returns the sums over all keys.
    pub(crate) fn total(&self) -> S {
        let mut total = self.rest().clone();
        self.iter().for_each(|(_, tally)| total.merge(tally));
        total
    }

    pub(crate) fn rest(&self) -> &S {
        &self.tallies[REST as usize]
    }

    pub(crate) fn rest_mut(&mut self) -> &mut S {
        self.at(REST)
    }

    pub(crate) fn merge(&mut self, mut other: Self) {
        self.rest_mut().merge(other.rest());
        for (key, index) in mem::take(&mut other.indexes) {
            self.tally(key).absorb(mem::take(other.at(index)));
        }
    }

    /// Returns the tally of a key, or the shared tally.
    pub(crate) fn tally(&mut self, key: K) -> &mut S {
        let index = self.index(key);
        self.at(index)
    }

    #[inline]
    fn at(&mut self, index: u32) -> &mut S {
        &mut self.tallies[index as usize]
    }

    /// Returns the index of a key. The next call may pass it to another key.
    fn index(&mut self, key: K) -> u32 {
        match self.indexes.get(&key) {
            Some(index) => *index,
            None => self.admit(key),
        }
    }

    /// Returns the tally of a key, or the shared tally. Its index is looked up in a cache by `code`
    /// first. The key is created only on a cache miss; `code` must determine it, and `number` must
    /// follow from `code`.
    #[inline(always)]
    pub(crate) fn cached_tally<C: Copy + PartialEq>(
        &mut self,
        cache: &mut RecentCache<C, u32>,
        number: u64,
        code: C,
        key: impl FnOnce() -> K,
    ) -> &mut S {
        let index = match cache.get(number, code) {
            Some(index) => index,
            None => {
                let index = self.index_and_invalidate(cache, key());
                cache.insert(number, code, index);
                index
            }
        };
        self.at(index)
    }

    /// Returns the index of a key; clears the cache if an index passed to another key.
    fn index_and_invalidate<C: Copy + PartialEq>(
        &mut self,
        cache: &mut RecentCache<C, u32>,
        key: K,
    ) -> u32 {
        let before = self.evictions;
        let index = self.index(key);
        if self.evictions != before {
            cache.clear();
        }
        index
    }

    fn admit(&mut self, key: K) -> u32 {
        let index = match self.smallest.admit(key) {
            Admission::Rejected => return REST,
            Admission::Free => {
                self.tallies.push(S::default());
                self.tallies.len() as u32 - 1
            }
            Admission::Replaced(largest) => self.evict(largest),
        };
        self.indexes.insert(key, index);
        index
    }

    /// Moves the tally of a key to the shared tally and returns the freed index.
    #[cold]
    fn evict(&mut self, key: K) -> u32 {
        let index = self.indexes.remove(&key).unwrap_or(REST);
        let tally = mem::take(self.at(index));
        self.rest_mut().merge(&tally);
        self.evictions += 1;
        index
    }
}

impl<K: Copy + Ord + Hash, S: CellSums + Clone + PartialEq> PartialEq for BoundedTable<K, S> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len()
            && self.rest() == other.rest()
            && self.iter().all(|(key, ours)| other.get(key) == Some(ours))
    }
}
