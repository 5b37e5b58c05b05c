//! Results of a capture.

use std::path::PathBuf;
use steadfast_capture::CaptureCounters;
use steadfast_domain::CaptureConditions;

/// A completed file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapturedFile {
    /// Path of the file.
    pub path: PathBuf,
    /// Number of I/Os in the file.
    pub ios: u64,
    /// Number of rows if the file has one row per I/O stream and capture step; `None` if it has one
    /// row per I/O.
    pub step_rows: Option<u64>,
}

/// Results of a completed capture.
#[derive(Debug, Clone)]
pub struct CaptureResult {
    /// The conditions as written to the last file.
    pub conditions: CaptureConditions,
    /// Counters of I/Os that were lost, seen in part or not seen.
    pub counters: CaptureCounters,
    /// Number of I/Os in all files.
    pub ios: u64,
}

/// Processor time per I/O, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CostPerIo {
    /// Time in the kernel; `None` if not measured.
    pub kernel_ns: Option<f64>,
    /// Time in this process.
    pub own_ns: f64,
}

impl CaptureResult {
    /// Returns the processor time per I/O; `None` if there was no I/O or the time is not known.
    pub fn cost_per_io(&self) -> Option<CostPerIo> {
        let per_io = |nanos: u64| nanos as f64 / self.ios as f64;
        let cost = self.conditions.cost_ns?;
        (self.ios > 0).then(|| CostPerIo {
            kernel_ns: cost.kernel_ns.map(per_io),
            own_ns: per_io(cost.user_ns),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::io_event::CaptureCost;

    fn result(ios: u64, kernel_ns: Option<u64>) -> CaptureResult {
        CaptureResult {
            conditions: CaptureConditions {
                cost_ns: Some(CaptureCost { kernel_ns, user_ns: 3500 }),
                ..CaptureConditions::default()
            },
            counters: CaptureCounters { kernel_ns, ..CaptureCounters::default() },
            ios,
        }
    }

    #[test]
    fn the_cost_is_divided_among_the_ios() {
        let cost = result(7, Some(1400)).cost_per_io();
        assert_eq!(cost, Some(CostPerIo { kernel_ns: Some(200.0), own_ns: 500.0 }));
    }

    /// A kernel time that was not measured is not 0, and without an I/O there is no time per I/O.
    #[test]
    fn an_unmeasured_cost_is_unknown() {
        let cost = result(7, None).cost_per_io();
        assert_eq!(cost, Some(CostPerIo { kernel_ns: None, own_ns: 500.0 }));
        assert_eq!(result(0, Some(1400)).cost_per_io(), None);
    }
}
