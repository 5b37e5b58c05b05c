//! Completion times of the outstanding I/Os, earliest first.
//!
//! A tree of minima over a fixed number of slots: replacing the earliest entry, which a closed
//! loop does once per I/O, takes one branchless comparison per level. A key holds a time and its
//! slot in one word, so that equal times are ordered by slot and every run gives the same result.

/// Bits of a key that hold the slot.
const SLOT_BITS: u32 = 16;

pub(super) const SLOTS_MAX: u64 = 1 << SLOT_BITS;

/// Times are relative to an origin, which advances before they reach 2^48 ns (78 hours).
const REBASE: u64 = 1 << 47;

/// Key of a slot without an I/O.
const NEVER: u64 = u64::MAX;

#[derive(Debug)]
pub(super) struct EventCalendar {
    /// `keys[1]` is the earliest; the keys of the slots are in the upper half.
    keys: Box<[u64]>,
    leaves: usize,
    origin: u64,
}

impl EventCalendar {
    /// Creates a calendar of this many slots, at most [`SLOTS_MAX`].
    pub(super) fn new(slots: usize, origin: u64) -> Self {
        let leaves = slots.next_power_of_two();
        EventCalendar { keys: vec![NEVER; 2 * leaves].into(), leaves, origin }
    }

    /// Returns the earliest completion and its slot; `None` if nothing is outstanding.
    #[inline(always)]
    pub(super) fn first(&self) -> Option<(u64, usize)> {
        let key = self.keys[1];
        (key != NEVER).then(|| (self.origin + (key >> SLOT_BITS), (key & (SLOTS_MAX - 1)) as usize))
    }

    #[inline(always)]
    pub(super) fn set(&mut self, slot: usize, time: u64) {
        let relative = time - self.origin;
        if relative >= REBASE {
            self.rebase(time);
        }
        self.put(slot, (time - self.origin) << SLOT_BITS | slot as u64);
    }

    pub(super) fn clear(&mut self, slot: usize) {
        self.put(slot, NEVER);
    }

    #[inline(always)]
    fn put(&mut self, slot: usize, key: u64) {
        let mut at = self.leaves + slot;
        let mut least = key;
        self.keys[at] = key;
        while at > 1 {
            least = least.min(self.keys[at ^ 1]);
            at >>= 1;
            self.keys[at] = least;
        }
    }

    /// Moves the origin to the earliest entry, or to `time` if there is none.
    #[cold]
    fn rebase(&mut self, time: u64) {
        let earliest = self.first().map_or(time, |(earliest, _)| earliest);
        let shift = (earliest - self.origin) << SLOT_BITS;
        self.origin = earliest;
        for key in self.keys.iter_mut().filter(|key| **key != NEVER) {
            *key -= shift;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xoshiro::Xoshiro256;
    use std::collections::BTreeSet;

    #[test]
    fn completions_come_in_order() {
        let mut random = Xoshiro256::new(1, 1);
        for slots in [1, 2, 3, 31, 64, 70] {
            let mut calendar = EventCalendar::new(slots, 1000);
            let mut oracle = BTreeSet::new();
            for slot in 0..slots {
                calendar.set(slot, 1000 + slot as u64 % 7);
                oracle.insert((1000 + slot as u64 % 7, slot));
            }
            for _ in 0..5000 {
                let first = calendar.first();
                assert_eq!(first, oracle.pop_first());
                let Some((now, slot)) = first else { break };
                if random.below(500) == 0 {
                    calendar.clear(slot);
                    continue;
                }
                let reach = 1 << (1 + random.below(45));
                let time = now + random.below(reach);
                calendar.set(slot, time);
                oracle.insert((time, slot));
            }
        }
    }

    #[test]
    fn years_pass() {
        let mut calendar = EventCalendar::new(2, 0);
        let mut now = 0;
        for step in 0..1000 {
            now += 1 << 45;
            calendar.set(0, now);
            calendar.set(1, now + step);
            assert_eq!(calendar.first(), Some((now, 0)));
            if step % 5 == 0 {
                calendar.clear(0);
                calendar.clear(1);
            }
        }
    }
}
