//! A derived workload applied without a device: its I/Os are drawn by an engine's generator, issued
//! by its pace and demand, and completed after captured response times.

use super::aspects::TraceProfile;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::Cursor;
use steadfast_analysis::Captured;
use steadfast_domain::empirical::EmpiricalTimes;
use steadfast_domain::io_event::{CapturedDevice, RESPONSE_UNKNOWN};
use steadfast_domain::step::mix64;
use steadfast_domain::stimulus::Pace;
use steadfast_domain::{Bytes, CaptureConditions, Demand, IoEvent, IoOp, Nanos};
use steadfast_tracefile::error::TraceError;
use steadfast_tracefile::parquet::TraceWriter;

/// Maximum number of I/Os that are drawn: 60 MB of memory.
pub const DRAWN_MAX: u64 = 1 << 22;

/// Number of events that are written at once.
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

/// Settings for applying a derived workload without a device.
#[derive(Debug, Clone)]
pub struct VirtualApplication {
    /// Number of I/Os.
    pub ios: u64,
    /// Schedule of the I/Os.
    pub pace: Pace,
    /// Threads and outstanding I/Os of each.
    pub demand: Demand,
    /// Length of the address range in bytes.
    pub range: u64,
    /// Seed of gaps and response times.
    pub seed: u64,
}

impl VirtualApplication {
    /// Applies the I/Os that `draw` returns and captures them in memory. An I/O takes as long as one
    /// of the same operation in `captured`, chosen at random.
    ///
    /// # Errors
    /// Returns a [`TraceError`] if the trace cannot be written or read in memory.
    pub fn apply(
        &self,
        captured: &TraceProfile,
        mut draw: impl FnMut() -> AppliedIo,
    ) -> Result<Captured<Cursor<Vec<u8>>>, TraceError> {
        let capacity = Some(Bytes(self.range));
        let device = CapturedDevice { name: "drawn".into(), capacity, ..Default::default() };
        let conditions = CaptureConditions { devices: vec![device], ..Default::default() };
        let mut writer = TraceWriter::new(Vec::new(), &conditions)?;
        let mut clock = IssueClock::new(self);
        let mut events = Vec::with_capacity(EVENTS_AT_ONCE);
        for number in 0..self.ios {
            let AppliedIo { op, offset, bytes } = draw();
            let choice = mix64(self.seed ^ mix64(number));
            let response_ns = captured.response_ns(op, choice);
            let (issued_ns, depth) = clock.issue(response_ns.unwrap_or(0));
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

/// Issue times by pace and demand.
struct IssueClock {
    pace: Pace,
    /// Arrivals drawn from measured distributions.
    drawn: Option<EmpiricalTimes>,
    slots: u64,
    random: u64,
    issued: u64,
    /// Due time of the next I/O in nanoseconds.
    due_ns: f64,
    last_ns: u64,
    /// Completion times of the outstanding I/Os.
    outstanding: BinaryHeap<Reverse<u64>>,
    /// Latest completion so far.
    idle_from_ns: u64,
}

impl IssueClock {
    fn new(application: &VirtualApplication) -> Self {
        IssueClock {
            drawn: match &application.pace {
                Pace::Empirical(arrivals) => Some(EmpiricalTimes::new((**arrivals).clone())),
                _ => None,
            },
            pace: application.pace.clone(),
            slots: application.demand.outstanding().max(1),
            random: mix64(application.seed),
            issued: 0,
            due_ns: 0.0,
            last_ns: 0,
            outstanding: BinaryHeap::new(),
            idle_from_ns: 0,
        }
    }

    /// Returns the issue time of the next I/O and the number of I/Os outstanding then, itself
    /// included.
    fn issue(&mut self, response_ns: u64) -> (u64, u32) {
        let mut at_ns = (self.due() as u64).max(self.last_ns);
        while let Some(Reverse(done)) = self.outstanding.peek().copied() {
            if done > at_ns && (self.outstanding.len() as u64) < self.slots {
                break;
            }
            at_ns = at_ns.max(done);
            self.outstanding.pop();
        }
        let done_ns = at_ns.saturating_add(response_ns);
        self.outstanding.push(Reverse(done_ns));
        self.idle_from_ns = self.idle_from_ns.max(done_ns);
        (self.last_ns, self.issued) = (at_ns, self.issued + 1);
        (at_ns, u32::try_from(self.outstanding.len()).unwrap_or(u32::MAX))
    }

    /// Returns the due time of this I/O in nanoseconds.
    fn due(&mut self) -> f64 {
        let random = &mut self.random;
        // In (0, 1], so that its logarithm is finite.
        let mut fraction = || {
            *random = random.wrapping_add(1);
            ((mix64(mix64(*random)) >> 11) + 1) as f64 / 2f64.powi(53)
        };
        if let Some(drawn) = &mut self.drawn {
            return drawn.next_ns(fraction);
        }
        match &self.pace {
            Pace::Closed | Pace::Empirical(_) => 0.0,
            Pace::Fixed { ios, per } => self.issued as f64 * gap(*ios, *per),
            Pace::Poisson { ios, per } => {
                self.due_ns -= fraction().ln() * gap(*ios, *per);
                self.due_ns
            }
            Pace::Burst { ios, delay } => {
                if self.issued > 0 && self.issued.is_multiple_of((*ios).max(1)) {
                    self.due_ns = self.idle_from_ns.saturating_add(delay.0) as f64;
                }
                self.due_ns
            }
        }
    }
}

fn gap(ios: u64, per: Nanos) -> f64 {
    per.0 as f64 / ios.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn issued(pace: &Pace, depth: u32, response_ns: u64) -> Vec<(u64, u32)> {
        let demand = Demand::new(1, depth);
        let application =
            VirtualApplication { ios: 6, pace: pace.clone(), demand, range: 1, seed: 1 };
        let mut clock = IssueClock::new(&application);
        (0..6).map(|_| clock.issue(response_ns)).collect()
    }

    #[test]
    fn closed_loops_fixed_rates_and_bursts_issue_as_an_engine_does() {
        let closed = [(0, 1), (0, 2), (100, 1), (100, 2), (200, 1), (200, 2)];
        assert_eq!(issued(&Pace::Closed, 2, 100), closed);
        let fixed = Pace::Fixed { ios: 2, per: Nanos(100) };
        let even = [(0, 1), (50, 2), (100, 3), (150, 3), (200, 3), (250, 3)];
        assert_eq!(issued(&fixed, 8, 120), even);
        let late = [(0, 1), (120, 1), (240, 1), (360, 1), (480, 1), (600, 1)];
        assert_eq!(issued(&fixed, 1, 120), late);
        let burst = Pace::Burst { ios: 3, delay: Nanos(1000) };
        assert_eq!(
            issued(&burst, 8, 10),
            [(0, 1), (0, 2), (0, 3), (1010, 1), (1010, 2), (1010, 3)]
        );
    }
}
