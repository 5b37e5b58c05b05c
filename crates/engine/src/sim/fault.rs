//! Faults that a simulated drive can be given, to test what stands above it.

/// A fault of the drive. I/Os are counted from the drive's making, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SimFault {
    /// Every n-th I/O fails with an I/O error (errno 5); 0 is 1.
    FailEvery(u64),
    /// After this many I/Os the drive is gone for good.
    GoneAfter(u64),
    /// This I/O is never answered and none behind it: the step hangs, in real
    /// time, until it is stopped.
    HangAt(u64),
    /// Programs take this many percent longer with every GiB that the host
    /// writes, so that no performance is ever steady. With 10, any five rounds
    /// of a write-intensive procedure slope by more than a tenth.
    NeverSteady {
        /// Percent per GiB.
        slower_percent_per_gib: u32,
    },
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
}

impl Fates {
    pub(super) fn set(&mut self, fault: SimFault) {
        self.next = match fault {
            SimFault::FailEvery(every) => Some(self.issued + every.max(1)),
            SimFault::GoneAfter(ios) => Some(ios.saturating_add(1)),
            SimFault::HangAt(io) => Some(io),
            SimFault::NeverSteady { .. } => None,
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

    /// How much longer programs take after this many bytes of writes.
    pub(super) fn wear(&self, host_bytes: u64) -> f64 {
        let Some(SimFault::NeverSteady { slower_percent_per_gib }) = self.fault else {
            return 1.0;
        };
        let gib = host_bytes as f64 / (1u64 << 30) as f64;
        (1.0 + f64::from(slower_percent_per_gib) / 100.0).powf(gib).min(10_000.0)
    }
}
