//! A bound on the number of separate entries that does not depend on the order of arrival: the
//! smallest keys in a fixed order are kept.
//!
//! A key that is among the smallest of a whole is among the smallest of every part in which it
//! occurs, so none of its data ever went to the shared rest. Therefore folds over parts merge to
//! the fold over the whole.

use std::collections::BinaryHeap;

/// The smallest keys seen so far, up to a limit.
#[derive(Debug, Clone)]
pub(crate) struct SmallestKeys<K> {
    most: usize,
    keys: BinaryHeap<K>,
}

/// Outcome of admitting a new key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Admission<K> {
    /// The key got a free slot.
    Free,
    /// The key took the slot of this larger key.
    Of(K),
    /// The key was rejected: all kept keys are smaller.
    None,
}

impl<K: Ord + Copy> SmallestKeys<K> {
    pub(crate) fn new(most: usize) -> Self {
        SmallestKeys { most, keys: BinaryHeap::new() }
    }

    /// Returns the maximum number of keys.
    pub(crate) fn most(&self) -> usize {
        self.most
    }

    /// Returns true if there is no free slot.
    pub(crate) fn is_full(&self) -> bool {
        self.keys.len() >= self.most
    }

    /// Admits a key that is not kept yet.
    pub(crate) fn admit(&mut self, key: K) -> Admission<K> {
        if !self.is_full() {
            self.keys.push(key);
            return Admission::Free;
        }
        match self.keys.peek_mut() {
            Some(mut last) if key < *last => Admission::Of(std::mem::replace(&mut *last, key)),
            _ => Admission::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_by_their_order_are_kept_whatever_comes_first() {
        let mut firsts = SmallestKeys::new(2);
        let places: Vec<Admission<u8>> = [5, 9, 7, 8, 1].map(|key| firsts.admit(key)).to_vec();
        assert_eq!(
            places,
            [Admission::Free, Admission::Free, Admission::Of(9), Admission::None, Admission::Of(7)]
        );
        assert_eq!(SmallestKeys::new(0).admit(1), Admission::None);
    }
}
