//! A bound for the number of things kept apart that does not depend on the order
//! in which they are seen: the first by a fixed order of their keys are kept.
//!
//! A key that is among the first of a whole is among the first of every part in
//! which it occurs, so nothing of it was ever put with the rest: folds over parts
//! merge to the fold over the whole.

use std::collections::BinaryHeap;

/// The first keys of all that were seen, up to a number.
#[derive(Debug, Clone)]
pub(crate) struct SmallestKeys<K> {
    most: usize,
    keys: BinaryHeap<K>,
}

/// What a new key finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place<K> {
    /// A place of its own.
    Free,
    /// The place of a later key, which has to go.
    Of(K),
    /// None: all those kept come before it.
    None,
}

impl<K: Ord + Copy> SmallestKeys<K> {
    pub(crate) fn new(most: usize) -> Self {
        SmallestKeys { most, keys: BinaryHeap::new() }
    }

    /// How many are kept at most.
    pub(crate) fn most(&self) -> usize {
        self.most
    }

    /// Whether another key finds no free place.
    pub(crate) fn is_full(&self) -> bool {
        self.keys.len() >= self.most
    }

    /// Takes in a key that is not kept yet.
    pub(crate) fn admit(&mut self, key: K) -> Place<K> {
        if !self.is_full() {
            self.keys.push(key);
            return Place::Free;
        }
        match self.keys.peek_mut() {
            Some(mut last) if key < *last => Place::Of(std::mem::replace(&mut *last, key)),
            _ => Place::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_by_their_order_are_kept_whatever_comes_first() {
        let mut firsts = SmallestKeys::new(2);
        let places: Vec<Place<u8>> = [5, 9, 7, 8, 1].map(|key| firsts.admit(key)).to_vec();
        assert_eq!(places, [Place::Free, Place::Free, Place::Of(9), Place::None, Place::Of(7)]);
        assert_eq!(SmallestKeys::new(0).admit(1), Place::None);
    }
}
