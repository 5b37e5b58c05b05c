//! Tallies by key, of which a bounded number is kept apart: the first in order of their
//! keys ([`crate::tables::smallest_keys`]). Everything else is added up together.

use crate::tables::recent_cache::RecentCache;
use crate::tables::smallest_keys::{Place, SmallestKeys};
use rustc_hash::FxHashMap;
use std::hash::Hash;
use std::mem;

/// What is added up.
pub(crate) trait Tally: Default {
    /// Adds another part.
    fn merge(&mut self, other: &Self);
}

/// Tallies by key.
#[derive(Debug, Clone)]
pub(crate) struct BoundedTable<K, T> {
    /// Where the tally of a key lies.
    places: FxHashMap<K, u32>,
    tallies: Vec<T>,
    firsts: SmallestKeys<K>,
    /// How often a place was given to another key.
    given_away: u64,
}

/// Where everything lies that is not kept apart.
const REST: u32 = 0;

impl<K: Copy + Ord + Hash, T: Tally> BoundedTable<K, T> {
    /// Keeps at most so many apart.
    pub(crate) fn keeping(most: usize) -> Self {
        BoundedTable {
            places: FxHashMap::default(),
            tallies: vec![T::default()],
            firsts: SmallestKeys::new(most),
            given_away: 0,
        }
    }

    /// How many are kept apart at most.
    pub(crate) fn most(&self) -> usize {
        self.firsts.most()
    }

    /// Those that are kept apart, in no particular order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, &T)> {
        self.places.iter().map(|(key, place)| (key, &self.tallies[*place as usize]))
    }

    /// Everything else together.
    pub(crate) fn rest(&self) -> &T {
        &self.tallies[REST as usize]
    }

    /// The same, to add to it.
    pub(crate) fn rest_mut(&mut self) -> &mut T {
        self.at(REST)
    }

    /// Those that are kept apart, by value.
    pub(crate) fn into_apart(mut self) -> impl Iterator<Item = (K, T)> {
        let places = mem::take(&mut self.places).into_iter();
        places.map(move |(key, place)| (key, mem::take(&mut self.tallies[place as usize])))
    }

    /// What a key's I/Os are added to.
    pub(crate) fn tally(&mut self, key: K) -> &mut T {
        let place = self.place(key);
        self.at(place)
    }

    /// What lies at a place that was asked for after the last new key.
    #[inline]
    pub(crate) fn at(&mut self, place: u32) -> &mut T {
        &mut self.tallies[place as usize]
    }

    /// The place of a key. It may be given to another one as soon as the next is asked for.
    fn place(&mut self, key: K) -> u32 {
        match self.places.get(&key) {
            Some(place) => *place,
            None => self.admit(key),
        }
    }

    /// The place of a key, of which `kind` says enough, and which is made only where that
    /// was not asked for lately.
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

    /// The place of a key; what is at hand is forgotten where it may be wrong from now on.
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
            Place::None => return REST,
            Place::Free => {
                self.tallies.push(T::default());
                self.tallies.len() as u32 - 1
            }
            Place::Of(last) => self.take_from(last),
        };
        self.places.insert(key, place);
        place
    }

    /// Takes the place of a key, whose tally goes to the rest.
    #[cold]
    fn take_from(&mut self, last: K) -> u32 {
        let place = self.places.remove(&last).unwrap_or(REST);
        let gone = mem::take(self.at(place));
        self.rest_mut().merge(&gone);
        self.given_away += 1;
        place
    }
}

impl<K: Eq + Hash, T: PartialEq> PartialEq for BoundedTable<K, T> {
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
