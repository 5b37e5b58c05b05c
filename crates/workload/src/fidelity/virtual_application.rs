//! A derived workload applied without a device: its I/Os are drawn by an engine's generator, issued
//! at their due times as the demand allows, and completed after captured response times.

use super::aspects::TraceProfile;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::Cursor;
use steadfast_analysis::Captured;
use steadfast_domain::io_event::{CapturedDevice, RESPONSE_UNKNOWN};
use steadfast_domain::random_bits::mix64;
use steadfast_domain::{Bytes, CaptureConditions, Demand, IoEvent, IoOp};
use steadfast_tracefile::error::TraceError;
use steadfast_tracefile::parquet::TraceWriter;

/// Maximum number of I/Os that are drawn: 60 MB of memory.
pub const DRAWN_MAX: u64 = 1 << 22;

const EVENTS_AT_ONCE: usize = 4096;

/// An I/O drawn by a generator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AppliedIo {
    /// Operation.
    pub op: IoOp,
    /// Offset of its first byte.
    pub offset: u64,
    /// Transfer size in bytes.
    pub bytes: u32,
}

/// Source of the I/Os of a load and of their due times: an engine's generator.
pub trait DrawnLoad {
    /// Returns when the next I/O is due, in nanoseconds since the start; 0 in a closed loop, `None`
    /// while that depends on a completion.
    fn due_ns(&self) -> Option<u64>;
    /// Draws the next I/O.
    fn draw(&mut self) -> AppliedIo;
    /// Notes that all I/Os have completed at this time.
    fn all_complete(&mut self, now_ns: u64);
}

/// Settings for applying a derived workload without a device.
#[derive(Debug, Clone)]
pub struct VirtualApplication {
    /// Number of I/Os.
    pub ios: u64,
    /// Threads and outstanding I/Os of each.
    pub demand: Demand,
    /// Length of the address range in bytes.
    pub range: u64,
    /// Seed of the response times.
    pub seed: u64,
}

impl VirtualApplication {
    /// Applies the I/Os of a load and captures them in memory. An I/O takes as long as one of the
    /// same operation in `captured`, chosen at random.
    ///
    /// # Errors
    /// Returns a [`TraceError`] if the trace cannot be written or read in memory.
    pub fn apply(
        &self,
        captured: &TraceProfile,
        load: &mut impl DrawnLoad,
    ) -> Result<Captured, TraceError> {
        let capacity = Some(Bytes(self.range));
        let device = CapturedDevice { name: "drawn".into(), capacity, ..Default::default() };
        let conditions = CaptureConditions { devices: vec![device], ..Default::default() };
        let mut writer = TraceWriter::new(Vec::new(), &conditions)?;
        let mut clock = IssueClock::new(self.demand);
        let mut events = Vec::with_capacity(EVENTS_AT_ONCE);
        for number in 0..self.ios {
            let due_ns = clock.next_due_ns(load);
            let AppliedIo { op, offset, bytes } = load.draw();
            let choice = mix64(self.seed ^ mix64(number));
            let response_ns = captured.response_ns(op, choice);
            let (issued_ns, depth) = clock.issue(due_ns, response_ns.unwrap_or(0));
            let response_ns = response_ns.unwrap_or(RESPONSE_UNKNOWN);
            events.push(IoEvent {
                issued_ns,
                response_ns,
                offset,
                bytes,
                op,
                depth,
                ..Default::default()
            });
            if events.len() == EVENTS_AT_ONCE {
                writer.write(&events)?;
                events.clear();
            }
        }
        writer.write(&events)?;
        let lasted_ns = clock.last_ns.saturating_add(1);
        let file = writer.finish(CaptureConditions { lasted_ns, ..conditions })?;
        Captured::open(Cursor::new(file))
    }
}

/// Issue times by due times and demand.
#[derive(Default)]
struct IssueClock {
    /// Largest number of outstanding I/Os.
    slots: u64,
    /// Issue time of the last I/O.
    last_ns: u64,
    /// Completion times of the outstanding I/Os.
    outstanding: BinaryHeap<Reverse<u64>>,
    /// Latest completion so far.
    idle_from_ns: u64,
}

impl IssueClock {
    fn new(demand: Demand) -> Self {
        IssueClock { slots: demand.outstanding().max(1), ..IssueClock::default() }
    }

    /// Returns when the next I/O of a load is due; completes all others first if that decides it.
    fn next_due_ns(&self, load: &mut impl DrawnLoad) -> u64 {
        if load.due_ns().is_none() {
            load.all_complete(self.idle_from_ns);
        }
        load.due_ns().unwrap_or(self.idle_from_ns)
    }

    /// Returns the issue time of an I/O that is due at `due_ns` and the number of I/Os outstanding
    /// then, itself included.
    fn issue(&mut self, due_ns: u64, response_ns: u64) -> (u64, u32) {
        let mut at_ns = due_ns.max(self.last_ns);
        while let Some(Reverse(done_ns)) = self.outstanding.peek().copied() {
            if done_ns > at_ns && (self.outstanding.len() as u64) < self.slots {
                break;
            }
            at_ns = at_ns.max(done_ns);
            self.outstanding.pop();
        }
        let done_ns = at_ns.saturating_add(response_ns);
        self.outstanding.push(Reverse(done_ns));
        self.idle_from_ns = self.idle_from_ns.max(done_ns);
        self.last_ns = at_ns;
        (at_ns, u32::try_from(self.outstanding.len()).unwrap_or(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn issued(dues: [u64; 6], depth: u32, response_ns: u64) -> Vec<(u64, u32)> {
        let mut clock = IssueClock::new(Demand::new(1, depth));
        dues.map(|due| clock.issue(due, response_ns)).to_vec()
    }

    #[test]
    fn an_io_is_issued_when_it_is_due_and_a_slot_is_free() {
        let closed = [(0, 1), (0, 2), (100, 1), (100, 2), (200, 1), (200, 2)];
        assert_eq!(issued([0; 6], 2, 100), closed);
        let fixed = [0, 50, 100, 150, 200, 250];
        let even = [(0, 1), (50, 2), (100, 3), (150, 3), (200, 3), (250, 3)];
        assert_eq!(issued(fixed, 8, 120), even);
        let late = [(0, 1), (120, 1), (240, 1), (360, 1), (480, 1), (600, 1)];
        assert_eq!(issued(fixed, 1, 120), late);
    }

    /// Bursts of three, each due 1,000 ns after all of the one before have completed.
    struct Bursts {
        drawn: u32,
        due_ns: Option<u64>,
    }

    impl DrawnLoad for Bursts {
        fn due_ns(&self) -> Option<u64> {
            self.due_ns
        }
        fn draw(&mut self) -> AppliedIo {
            self.drawn += 1;
            if self.drawn.is_multiple_of(3) {
                self.due_ns = None;
            }
            AppliedIo { op: IoOp::Read, offset: 0, bytes: 4096 }
        }
        fn all_complete(&mut self, now_ns: u64) {
            self.due_ns = Some(now_ns + 1000);
        }
    }

    #[test]
    fn a_pause_begins_with_the_last_completion() {
        let mut load = Bursts { drawn: 0, due_ns: Some(0) };
        let mut clock = IssueClock::new(Demand::new(1, 8));
        let mut next = || {
            let due_ns = clock.next_due_ns(&mut load);
            load.draw();
            clock.issue(due_ns, 10)
        };
        let issued = [(); 6].map(|()| next());
        assert_eq!(issued, [(0, 1), (0, 2), (0, 3), (1010, 1), (1010, 2), (1010, 3)]);
    }
}
