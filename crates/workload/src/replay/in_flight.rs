//! I/Os in flight at the same time ([`InFlight`]): their largest number, and those that touch the
//! same bytes. The times are those of the capture; on another device they differ.

use super::granules::GRANULE;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

const TRACKED_MAX: usize = 1 << 16;
/// Most granules examined per I/O; the rest of a very large discard is not examined.
const GRANULES_MAX: u64 = 64;

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
    fn conflicts_with(&self, other: &InFlightIo) -> bool {
        (self.alters || other.alters) && self.begin < other.end && other.begin < self.end
    }
}

#[derive(Default)]
pub(super) struct InFlight {
    by_completion: BinaryHeap<Reverse<InFlightIo>>,
    by_granule: HashMap<u64, Vec<InFlightIo>>,
    /// I/Os that touched bytes of another I/O in flight, if at least one of the two alters them.
    pub(super) overlapping: u64,
    /// Largest number in flight.
    pub(super) most_at_once: u64,
    /// I/Os whose completion was not seen; they are not tracked as in flight.
    pub(super) without_completion: u64,
}

impl InFlight {
    /// Adds the I/O that is due at `due_ns`. I/Os must come in the order of their due times.
    pub(super) fn add(
        &mut self,
        due_ns: u64,
        completed_ns: Option<u64>,
        begin: u64,
        size: u64,
        alters: bool,
    ) {
        self.remove_completed(due_ns);
        let end = begin.saturating_add(size);
        let io = InFlightIo { completed_ns: completed_ns.unwrap_or(due_ns), begin, end, alters };
        let has_conflict = |granule| {
            self.by_granule.get(&granule).is_some_and(|ios: &Vec<InFlightIo>| {
                ios.iter().any(|other| io.conflicts_with(other))
            })
        };
        let overlaps = size > 0 && io.granules().any(has_conflict);
        self.overlapping += u64::from(overlaps);
        self.without_completion += u64::from(completed_ns.is_none());
        self.most_at_once = self.most_at_once.max(self.by_completion.len() as u64 + 1);
        if completed_ns.is_some() && self.by_completion.len() < TRACKED_MAX {
            self.track(io);
        }
    }

    fn track(&mut self, io: InFlightIo) {
        self.by_completion.push(Reverse(io));
        if io.end > io.begin {
            for granule in io.granules() {
                self.by_granule.entry(granule).or_default().push(io);
            }
        }
    }

    fn remove_completed(&mut self, now_ns: u64) {
        while self.by_completion.peek().is_some_and(|first| first.0.completed_ns <= now_ns) {
            let Some(Reverse(io)) = self.by_completion.pop() else { return };
            if io.end > io.begin {
                io.granules().for_each(|granule| self.remove(granule, &io));
            }
        }
    }

    fn remove(&mut self, granule: u64, io: &InFlightIo) {
        if let Some(ios) = self.by_granule.get_mut(&granule) {
            if let Some(at) = ios.iter().position(|other| other == io) {
                ios.swap_remove(at);
            }
            if ios.is_empty() {
                self.by_granule.remove(&granule);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ios_in_flight_at_once_of_which_one_alters_data_overlap() {
        let mut flight = InFlight::default();
        flight.add(0, Some(100), 0, 8192, true);
        flight.add(10, Some(200), 4096, 4096, false);
        assert_eq!(flight.overlapping, 1, "a read of bytes that are being written");
        flight.add(20, Some(200), 4096, 4096, false);
        assert_eq!(flight.overlapping, 2);
        flight.add(150, Some(300), 6144, 512, false);
        assert_eq!(flight.overlapping, 2, "the write has completed; two reads do not conflict");
        flight.add(160, Some(300), 8192, 4096, true);
        assert_eq!(flight.overlapping, 2, "adjacent is not overlapping");
        flight.add(170, None, 0, 0, false);
        assert_eq!((flight.most_at_once, flight.without_completion), (5, 1));
        flight.add(1000, Some(1100), 0, 4096, true);
        assert_eq!(flight.by_granule.len(), 1, "completed I/Os take no memory");
    }

    #[test]
    fn an_io_across_granules_is_found_from_either() {
        let mut flight = InFlight::default();
        flight.add(0, Some(100), GRANULE - 4096, 8192, true);
        flight.add(1, Some(100), GRANULE, 512, false);
        flight.add(2, Some(3), GRANULE - 512, 512, false);
        assert_eq!(flight.overlapping, 2);
    }
}
