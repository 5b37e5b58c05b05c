//! What came of a capture.

use std::path::PathBuf;
use steadfast_capture::Counters;
use steadfast_domain::CaptureConditions;

/// A file that a capture wrote to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Its name.
    pub path: PathBuf,
    /// I/Os in it.
    pub ios: u64,
    /// Its rows, where it has one for every I/O stream of every capture step, and
    /// not one for every I/O.
    pub step_rows: Option<u64>,
}

/// A capture that came to its end.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// The conditions, as they stand in the last file.
    pub conditions: CaptureConditions,
    /// What was lost, seen in part or not seen at all.
    pub counters: Counters,
    /// I/Os in all files.
    pub ios: u64,
}

/// Processor time for each I/O, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CostPerIo {
    /// In the kernel; `None` where it was not measured.
    pub kernel_ns: Option<f64>,
    /// In this process.
    pub own_ns: f64,
}

impl Recorded {
    /// What an I/O cost, where there was one.
    pub fn cost_per_io(&self) -> Option<CostPerIo> {
        let per_io = |nanos: u64| nanos as f64 / self.ios as f64;
        let (_, own) = self.conditions.cost_ns?;
        (self.ios > 0).then(|| CostPerIo {
            kernel_ns: self.counters.kernel_ns.map(per_io),
            own_ns: per_io(own),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(ios: u64, kernel_ns: Option<u64>) -> Recorded {
        Recorded {
            conditions: CaptureConditions {
                cost_ns: Some((kernel_ns.unwrap_or(0), 3500)),
                ..CaptureConditions::default()
            },
            counters: Counters { kernel_ns, ..Counters::default() },
            ios,
        }
    }

    #[test]
    fn the_cost_is_shared_out_among_the_ios() {
        let cost = recorded(7, Some(1400)).cost_per_io();
        assert_eq!(cost, Some(CostPerIo { kernel_ns: Some(200.0), own_ns: 500.0 }));
    }

    /// A kernel time that was not measured is no time of 0, and without an I/O
    /// there is no share.
    #[test]
    fn what_was_not_measured_has_no_share() {
        let cost = recorded(7, None).cost_per_io();
        assert_eq!(cost, Some(CostPerIo { kernel_ns: None, own_ns: 500.0 }));
        assert_eq!(recorded(0, Some(1400)).cost_per_io(), None);
    }
}
