//! I/Os in flight at the same time: their largest number, and those that touch the same bytes.
//! The times are those of the capture; on another device they differ.

use super::granules::GRANULE;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// Most I/Os in flight that are tracked.
const FOLLOWED_MAX: usize = 1 << 16;
/// Most granules examined per I/O; the rest of a very large discard is not examined.
const GRANULES_MAX: u64 = 64;

/// One I/O in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct InFlightIo {
    pub(super) completed_ns: u64,
    pub(super) begin: u64,
    pub(super) end: u64,
    pub(super) alters: bool,
}

impl InFlightIo {
    fn granules(&self) -> impl Iterator<Item = u64> + use<> {
        let last = self.end.max(self.begin + 1) - 1;
        (self.begin / GRANULE..=last / GRANULE).take(GRANULES_MAX as usize)
    }
    fn meets(&self, other: &InFlightIo) -> bool {
        (self.alters || other.alters) && self.begin < other.end && other.begin < self.end
    }
}

/// The set of I/Os in flight.
#[derive(Default)]
pub(super) struct InFlight {
    by_end: BinaryHeap<Reverse<InFlightIo>>,
    by_granule: HashMap<u64, Vec<InFlightIo>>,
    /// I/Os that touched bytes of another I/O in flight, if at least one of the two alters them.
    pub(super) overlapping: u64,
    /// Largest number in flight.
    pub(super) most: u64,
    /// I/Os whose completion was not seen; they are not tracked as in flight.
    pub(super) unended: u64,
}

impl InFlight {
    /// Adds the I/O that is due at `due_ns`. I/Os must come in the order of their due times.
    pub(super) fn take(
        &mut self,
        due_ns: u64,
        completed_ns: Option<u64>,
        io: (u64, u64),
        alters: bool,
    ) {
        self.land(due_ns);
        let (begin, size) = io;
        let flying = InFlightIo {
            completed_ns: completed_ns.unwrap_or(due_ns),
            begin,
            end: begin.saturating_add(size),
            alters,
        };
        let here = |granule| self.by_granule.get(&granule).into_iter().flatten();
        let meets = size > 0 && flying.granules().flat_map(here).any(|other| flying.meets(other));
        self.overlapping += u64::from(meets);
        self.unended += u64::from(completed_ns.is_none());
        self.most = self.most.max(self.by_end.len() as u64 + 1);
        if completed_ns.is_some() && self.by_end.len() < FOLLOWED_MAX {
            self.start(flying);
        }
    }

    fn start(&mut self, flying: InFlightIo) {
        self.by_end.push(Reverse(flying));
        if flying.end > flying.begin {
            for granule in flying.granules() {
                self.by_granule.entry(granule).or_default().push(flying);
            }
        }
    }

    /// Removes the I/Os that completed by `now_ns`.
    fn land(&mut self, now_ns: u64) {
        while self.by_end.peek().is_some_and(|first| first.0.completed_ns <= now_ns) {
            let Some(Reverse(gone)) = self.by_end.pop() else { return };
            if gone.end > gone.begin {
                gone.granules().for_each(|granule| self.forget(granule, &gone));
            }
        }
    }

    fn forget(&mut self, granule: u64, gone: &InFlightIo) {
        if let Some(flying) = self.by_granule.get_mut(&granule) {
            if let Some(at) = flying.iter().position(|one| one == gone) {
                flying.swap_remove(at);
            }
            if flying.is_empty() {
                self.by_granule.remove(&granule);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_in_flight_together_and_altered_overlaps() {
        let mut flight = InFlight::default();
        flight.take(0, Some(100), (0, 8192), true);
        flight.take(10, Some(200), (4096, 4096), false);
        assert_eq!(flight.overlapping, 1, "a read of what is being written");
        flight.take(20, Some(200), (4096, 4096), false);
        assert_eq!(flight.overlapping, 2);
        flight.take(150, Some(300), (6144, 512), false);
        assert_eq!(flight.overlapping, 2, "the write is over; reads do no harm");
        flight.take(160, Some(300), (8192, 4096), true);
        assert_eq!(flight.overlapping, 2, "adjacent is not overlapping");
        flight.take(170, None, (0, 0), false);
        assert_eq!((flight.most, flight.unended), (5, 1));
        flight.take(1000, Some(1100), (0, 4096), true);
        assert_eq!(flight.by_granule.len(), 1, "what has ended takes no memory");
    }

    #[test]
    fn an_io_across_granules_is_found_from_either() {
        let mut flight = InFlight::default();
        flight.take(0, Some(100), (GRANULE - 4096, 8192), true);
        flight.take(1, Some(100), (GRANULE, 512), false);
        flight.take(2, Some(3), (GRANULE - 512, 512), false);
        assert_eq!(flight.overlapping, 2);
    }
}
