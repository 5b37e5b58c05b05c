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
    Replaced(K),
    /// All kept keys are smaller.
    Rejected,
}

impl<K: Ord + Copy> SmallestKeys<K> {
    pub(crate) fn new(most: usize) -> Self {
        SmallestKeys { most, keys: BinaryHeap::new() }
    }

    pub(crate) fn most(&self) -> usize {
        self.most
    }

    /// Admits a key that is not kept yet.
    pub(crate) fn admit(&mut self, key: K) -> Admission<K> {
        if self.keys.len() < self.most {
            self.keys.push(key);
            return Admission::Free;
        }
        match self.keys.peek_mut() {
            Some(mut largest) if key < *largest => {
                Admission::Replaced(std::mem::replace(&mut *largest, key))
            }
            _ => Admission::Rejected,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_keys_are_kept_in_any_order_of_arrival() {
        use Admission::*;
        let mut smallest = SmallestKeys::new(2);
        let outcomes = [5, 9, 7, 8, 1].map(|key| smallest.admit(key));
        assert_eq!(outcomes, [Free, Free, Replaced(9), Rejected, Replaced(7)]);
        assert_eq!(SmallestKeys::new(0).admit(1), Rejected);
    }
}
