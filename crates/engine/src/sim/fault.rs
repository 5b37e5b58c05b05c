//! Faults of a simulated drive, to test the layers above it.

use steadfast_domain::Nanos;

/// A fault of the drive. I/Os are counted from 1, and virtual time from 0, since the drive was
/// created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SimFault {
    /// Every n-th I/O from when the fault was set fails with EIO; 0 means 1.
    FailEvery(u64),
    /// The drive is gone for good after this many I/Os.
    GoneAfter(u64),
    /// The drive is gone for good at this virtual time.
    GoneAt(Nanos),
    /// From `above` degrees Celsius until the drive has cooled to `below`, flash programs take
    /// longer by `slower_percent`. The drive's log counts these times.
    Throttles {
        /// Temperature in degrees Celsius at which throttling starts.
        above: u8,
        /// Temperature in degrees Celsius at which it ends.
        below: u8,
        /// Additional duration of programs, in percent.
        slower_percent: u32,
    },
    /// Neither this I/O nor any later one completes: the step hangs, in real time, until it is
    /// stopped.
    HangAt(u64),
    /// From a virtual time on, the drive completes nothing for a while: an I/O that would
    /// complete in that time completes `lasts` later.
    Freezes {
        /// Virtual time at which the freeze starts.
        at: Nanos,
        /// Length of the freeze.
        lasts: Nanos,
    },
    /// At the start of every period except the first, the controller begins no command for a while.
    Stalls {
        /// Length of a period.
        every: Nanos,
        /// Length of the stall.
        lasts: Nanos,
    },
    /// Programs slow down with every GiB that the host writes, so that performance is never
    /// steady. With 10 percent per GiB, any five rounds of a write-intensive procedure have a
    /// slope excursion of more than 10 %.
    NeverSteady {
        /// Additional duration of programs, in percent per GiB written.
        slower_percent_per_gib: u32,
    },
}

/// Number and total duration of throttling events since the drive was created.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ThrottleCounts {
    pub(super) events: u64,
    pub(super) nanos: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IoOutcome {
    Completes,
    Fails,
    Gone,
    Hangs,
}

/// Fault state of a drive. An I/O costs one comparison.
#[derive(Debug, Clone, Default)]
pub(super) struct FaultState {
    fault: Option<SimFault>,
    issued: u64,
    /// Number of the next I/O that is affected by the fault.
    next: Option<u64>,
    is_throttled: bool,
    throttling: ThrottleCounts,
}

impl FaultState {
    pub(super) fn set(&mut self, fault: SimFault) {
        self.next = match fault {
            SimFault::FailEvery(every) => Some(self.issued + every.max(1)),
            SimFault::GoneAfter(ios) => Some(ios.saturating_add(1)),
            SimFault::HangAt(io) => Some(io),
            SimFault::NeverSteady { .. }
            | SimFault::GoneAt(_)
            | SimFault::Throttles { .. }
            | SimFault::Stalls { .. }
            | SimFault::Freezes { .. } => None,
        };
        self.fault = Some(fault);
    }

    #[inline(always)]
    pub(super) fn next_outcome(&mut self) -> IoOutcome {
        self.issued += 1;
        match self.next {
            Some(next) if self.issued >= next => self.outcome_by_fault(),
            _ => IoOutcome::Completes,
        }
    }

    #[cold]
    fn outcome_by_fault(&mut self) -> IoOutcome {
        match self.fault {
            Some(SimFault::FailEvery(every)) => {
                self.next = Some(self.issued + every.max(1));
                IoOutcome::Fails
            }
            Some(SimFault::GoneAfter(_)) => IoOutcome::Gone,
            Some(SimFault::HangAt(_)) => IoOutcome::Hangs,
            _ => IoOutcome::Completes,
        }
    }

    /// Returns the time at which an I/O completes that would complete at `done` without a freeze.
    #[inline(always)]
    pub(super) fn delayed_by_freeze(&self, done: u64) -> u64 {
        match self.fault {
            Some(SimFault::Freezes { at, lasts }) if done >= at.0 && done - at.0 < lasts.0 => {
                done + lasts.0
            }
            _ => done,
        }
    }

    /// Returns the factor for the duration of programs after this many bytes of host writes, in
    /// the current throttling state.
    pub(super) fn program_slowdown(&self, host_bytes: u64) -> f64 {
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

    /// Updates the throttling state: `celsius` is the temperature now, `elapsed` the
    /// nanoseconds since the last update.
    pub(super) fn update_throttling(&mut self, celsius: f64, elapsed: u64) {
        let Some(SimFault::Throttles { above, below, .. }) = self.fault else { return };
        if self.is_throttled {
            self.throttling.nanos += elapsed;
            self.is_throttled = celsius > f64::from(below);
        } else if celsius >= f64::from(above) {
            self.is_throttled = true;
            self.throttling.events += 1;
        }
    }

    /// Returns the drive's throttling log; `None` if it keeps none.
    pub(super) fn throttle_counts(&self) -> Option<ThrottleCounts> {
        matches!(self.fault, Some(SimFault::Throttles { .. })).then_some(self.throttling)
    }

    /// Returns the virtual time at which the drive is gone; `u64::MAX` if never.
    pub(super) fn gone_at(&self) -> u64 {
        match self.fault {
            Some(SimFault::GoneAt(at)) => at.0,
            _ => u64::MAX,
        }
    }
}
