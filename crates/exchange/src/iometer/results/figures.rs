//! Measured figures from which rows of results are made.

/// I/Os of one direction.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DirectionTotals {
    /// Completed I/Os.
    pub ios: u64,
    /// Bytes transferred.
    pub bytes: u64,
    /// Sum of the response times, in nanoseconds.
    pub response_sum_ns: u64,
    /// Number of response times in that sum.
    pub responses: u64,
    /// Longest response time, in nanoseconds.
    pub response_max_ns: u64,
}

/// Failed I/Os.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorTotals {
    /// Failed I/Os of both directions.
    pub all: u64,
    /// Failed reads; `None` if reads and writes were not counted separately.
    pub reads: Option<u64>,
}

impl Default for ErrorTotals {
    fn default() -> ErrorTotals {
        ErrorTotals { all: 0, reads: Some(0) }
    }
}

impl ErrorTotals {
    /// Returns the failed I/Os of both together.
    pub fn with(&self, other: &ErrorTotals) -> ErrorTotals {
        let reads = self.reads.zip(other.reads).map(|(own, other)| own + other);
        ErrorTotals { all: self.all + other.all, reads }
    }

    /// Returns the failed writes; `None` if reads and writes were not counted separately.
    pub(super) fn writes(&self) -> Option<u64> {
        self.reads.map(|reads| self.all.saturating_sub(reads))
    }
}

impl DirectionTotals {
    pub(super) fn with(&self, other: &DirectionTotals) -> DirectionTotals {
        DirectionTotals {
            ios: self.ios + other.ios,
            bytes: self.bytes + other.bytes,
            response_sum_ns: self.response_sum_ns + other.response_sum_ns,
            responses: self.responses + other.responses,
            response_max_ns: self.response_max_ns.max(other.response_max_ns),
        }
    }
}

/// Processor utilization, in percent.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ProcessorUse {
    /// Time in user space.
    pub user: f64,
    /// Time in the kernel, interrupts included.
    pub system: f64,
    /// Time in soft interrupts, the counterpart of Windows' deferred procedure calls; `None` if it
    /// was not observed.
    pub soft_interrupts: Option<f64>,
    /// Time in interrupt handlers; `None` if it was not observed.
    pub interrupts: Option<f64>,
}

/// Interrupts and network packets of the host. A field is `None` if it was not observed.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct HostRates {
    /// Interrupts per second.
    pub interrupts: Option<f64>,
    /// Packets received and sent per second.
    pub packets: Option<f64>,
    /// Packets with errors.
    pub packet_errors: Option<f64>,
    /// TCP segments sent again per second.
    pub segments_retransmitted: Option<f64>,
}

/// Figures of a test, from which a row is made.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TestFigures {
    /// Number of managers.
    pub managers: u64,
    /// Number of workers.
    pub workers: u64,
    /// Number of disks; a disk used by two workers counts twice.
    pub disks: u64,
    /// Reads and writes; `None` if they were not counted separately for this row.
    pub sides: Option<(DirectionTotals, DirectionTotals)>,
    /// Failed I/Os; `None` if they were not counted separately for this row.
    pub errors: Option<ErrorTotals>,
    /// Measured time, in nanoseconds.
    pub elapsed_ns: u64,
    /// The first sector; `None` where workers differ.
    pub start: Option<u64>,
    /// Sectors, 0 for all; `None` where workers differ.
    pub sectors: Option<u64>,
    /// Outstanding I/Os of each disk of each worker; `None` where workers differ.
    pub depth: Option<u64>,
    /// The processors, where they were observed.
    pub processors: Option<ProcessorUse>,
    /// Interrupts and packets of the host.
    pub host: HostRates,
    /// I/Os by response time, one count per bin of [`LATENCY_BINS`](super::LATENCY_BINS).
    pub bins: Option<Vec<u64>>,
}
