//! Faults that a simulated drive can be given, to test what stands above it.

use steadfast_domain::Nanos;

/// A fault of the drive. I/Os are counted from the drive's making, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SimFault {
    /// Every n-th I/O fails with an I/O error (errno 5); 0 is 1.
    FailEvery(u64),
    /// After this many I/Os the drive is gone for good.
    GoneAfter(u64),
    /// At this virtual time after its making the drive is gone for good.
    GoneAt(Nanos),
    /// From `above` degrees Celsius on, until it has cooled to `below`, programs
    /// take this many percent longer; its log tells of it.
    Throttles {
        /// Where it begins.
        above: u8,
        /// Where it ends.
        below: u8,
        /// Percent.
        slower_percent: u32,
    },
    /// This I/O is never answered and none behind it: the step hangs, in real
    /// time, until it is stopped.
    HangAt(u64),
    /// From this virtual time after its making on, the drive completes nothing for a while:
    /// what would complete then completes so much later.
    Freezes {
        /// Where it begins.
        at: Nanos,
        /// How long it lasts.
        lasts: Nanos,
    },
    /// Programs take this many percent longer with every GiB that the host
    /// writes, so that no performance is ever steady. With 10, any five rounds
    /// of a write-intensive procedure slope by more than a tenth.
    NeverSteady {
        /// Percent per GiB.
        slower_percent_per_gib: u32,
    },
}

/// How often and how long a drive has throttled since it was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Throttling {
    pub(super) events: u64,
    pub(super) nanos: u64,
}

/// What becomes of an I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Completes,
    Fails,
    Gone,
    Hangs,
}

/// The fault and how near it is: one comparison per I/O.
#[derive(Debug, Clone, Default)]
pub(super) struct Fates {
    fault: Option<SimFault>,
    issued: u64,
    /// The number of the next I/O that does not simply complete.
    next: Option<u64>,
    is_throttled: bool,
    throttling: Throttling,
}

impl Fates {
    pub(super) fn set(&mut self, fault: SimFault) {
        self.next = match fault {
            SimFault::FailEvery(every) => Some(self.issued + every.max(1)),
            SimFault::GoneAfter(ios) => Some(ios.saturating_add(1)),
            SimFault::HangAt(io) => Some(io),
            SimFault::NeverSteady { .. }
            | SimFault::GoneAt(_)
            | SimFault::Throttles { .. }
            | SimFault::Freezes { .. } => None,
        };
        self.fault = Some(fault);
    }

    /// Counts an I/O and tells its fate.
    #[inline(always)]
    pub(super) fn of_next(&mut self) -> Fate {
        self.issued += 1;
        match self.next {
            Some(next) if self.issued >= next => self.fated(),
            _ => Fate::Completes,
        }
    }

    #[cold]
    fn fated(&mut self) -> Fate {
        match self.fault {
            Some(SimFault::FailEvery(every)) => {
                self.next = Some(self.issued + every.max(1));
                Fate::Fails
            }
            Some(SimFault::GoneAfter(_)) => Fate::Gone,
            Some(SimFault::HangAt(_)) => Fate::Hangs,
            _ => Fate::Completes,
        }
    }

    /// When an I/O completes that would complete at `done`.
    #[inline(always)]
    pub(super) fn thawed(&self, done: u64) -> u64 {
        match self.fault {
            Some(SimFault::Freezes { at, lasts }) if done >= at.0 && done - at.0 < lasts.0 => {
                done + lasts.0
            }
            _ => done,
        }
    }

    /// How much longer programs take after this many bytes of writes, at this
    /// temperature.
    pub(super) fn wear(&self, host_bytes: u64) -> f64 {
        match self.fault {
            Some(SimFault::NeverSteady { slower_percent_per_gib }) => {
                let gib = host_bytes as f64 / (1u64 << 30) as f64;
                (1.0 + f64::from(slower_percent_per_gib) / 100.0).powf(gib).min(10_000.0)
            }
            Some(SimFault::Throttles { slower_percent, .. }) if self.is_throttled => {
                1.0 + f64::from(slower_percent) / 100.0
            }
            _ => 1.0,
        }
    }

    /// The temperature after `passed` nanoseconds more.
    pub(super) fn feel(&mut self, celsius: f64, passed: u64) {
        let Some(SimFault::Throttles { above, below, .. }) = self.fault else { return };
        if self.is_throttled {
            self.throttling.nanos += passed;
            self.is_throttled = celsius > f64::from(below);
        } else if celsius >= f64::from(above) {
            self.is_throttled = true;
            self.throttling.events += 1;
        }
    }

    /// What its log tells; `None` where it keeps none.
    pub(super) fn throttling(&self) -> Option<Throttling> {
        matches!(self.fault, Some(SimFault::Throttles { .. })).then_some(self.throttling)
    }

    /// When the drive goes, in virtual time.
    pub(super) fn gone_at(&self) -> u64 {
        match self.fault {
            Some(SimFault::GoneAt(at)) => at.0,
            _ => u64::MAX,
        }
    }
}
