//! Sums of I/Os by key. A bounded number of keys, the smallest in their order
//! ([`crate::tables::smallest_keys`]), has sums of its own; everything else shares one tally.

use crate::sums::io_sums::IoSums;
use crate::tables::recent_cache::RecentCache;
use crate::tables::smallest_keys::{Admission, SmallestKeys};
use rustc_hash::FxHashMap;
use std::hash::Hash;
use std::mem;

/// Tallies by key.
#[derive(Debug, Clone)]
pub(crate) struct BoundedTable<K> {
    /// Index into `tallies` by key.
    places: FxHashMap<K, u32>,
    tallies: Vec<IoSums>,
    firsts: SmallestKeys<K>,
    /// Number of times that an index passed to another key.
    given_away: u64,
}

/// Index of the shared tally of all other keys.
const REST: u32 = 0;

impl<K: Copy + Ord + Hash> BoundedTable<K> {
    /// Creates a table for at most `most` keys.
    pub(crate) fn keeping(most: usize) -> Self {
        BoundedTable {
            places: FxHashMap::default(),
            tallies: vec![IoSums::default()],
            firsts: SmallestKeys::new(most),
            given_away: 0,
        }
    }

    /// Returns the maximum number of keys.
    pub(crate) fn most(&self) -> usize {
        self.firsts.most()
    }

    /// Returns the keys with their tallies, in no particular order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, &IoSums)> {
        self.places.iter().map(|(key, place)| (key, &self.tallies[*place as usize]))
    }

    /// Returns the shared tally of all other keys.
    pub(crate) fn rest(&self) -> &IoSums {
        &self.tallies[REST as usize]
    }

    /// Returns the shared tally of all other keys for adding to it.
    pub(crate) fn rest_mut(&mut self) -> &mut IoSums {
        self.at(REST)
    }

    /// Adds the tallies of another part.
    pub(crate) fn merge(&mut self, mut other: Self) {
        self.rest_mut().merge(other.rest());
        for (key, place) in mem::take(&mut other.places) {
            self.tally(key).take_in(mem::take(other.at(place)));
        }
    }

    /// Returns the tally of a key, or the shared tally.
    pub(crate) fn tally(&mut self, key: K) -> &mut IoSums {
        let place = self.place(key);
        self.at(place)
    }

    /// Returns the tally at an index that was obtained after the last new key.
    #[inline]
    pub(crate) fn at(&mut self, place: u32) -> &mut IoSums {
        &mut self.tallies[place as usize]
    }

    /// Returns the index for a key. The next call may give it to another key.
    fn place(&mut self, key: K) -> u32 {
        match self.places.get(&key) {
            Some(place) => *place,
            None => self.admit(key),
        }
    }

    /// Returns the index for a key, looked up in a cache by `kind` first. The key is created only
    /// on a cache miss; `kind` must determine it.
    #[inline(always)]
    pub(crate) fn place_lately<A: Copy + PartialEq>(
        &mut self,
        lately: &mut RecentCache<A, u32>,
        (number, kind): (u64, A),
        key: impl FnOnce() -> K,
    ) -> u32 {
        match lately.get(number, kind) {
            Some(place) => place,
            None => {
                let place = self.place_keeping(lately, key());
                lately.keep(number, kind, place);
                place
            }
        }
    }

    /// Returns the index for a key; clears the cache if an index passed to another key.
    fn place_keeping<A: Copy + PartialEq>(
        &mut self,
        lately: &mut RecentCache<A, u32>,
        key: K,
    ) -> u32 {
        let before = self.given_away;
        let place = self.place(key);
        if self.given_away != before {
            lately.clear();
        }
        place
    }

    fn admit(&mut self, key: K) -> u32 {
        let place = match self.firsts.admit(key) {
            Admission::None => return REST,
            Admission::Free => {
                self.tallies.push(IoSums::default());
                self.tallies.len() as u32 - 1
            }
            Admission::Of(last) => self.take_from(last),
        };
        self.places.insert(key, place);
        place
    }

    /// Moves the tally of a key to the shared tally and returns the freed index.
    #[cold]
    fn take_from(&mut self, last: K) -> u32 {
        let place = self.places.remove(&last).unwrap_or(REST);
        let gone = mem::take(self.at(place));
        self.rest_mut().merge(&gone);
        self.given_away += 1;
        place
    }
}

impl<K: Eq + Hash> PartialEq for BoundedTable<K> {
    fn eq(&self, other: &Self) -> bool {
        let is_alike = |(key, ours): (&K, &u32)| {
            let theirs = other.places.get(key).map(|theirs| &other.tallies[*theirs as usize]);
            theirs == Some(&self.tallies[*ours as usize])
        };
        self.places.len() == other.places.len()
            && self.tallies.first() == other.tallies.first()
            && self.places.iter().all(is_alike)
    }
}
