//! Options of a comparison of two captures.

use crate::replay::AddressMap;
use steadfast_analysis::PassOptions;
use steadfast_domain::script::Timing;

/// Options of a comparison of two captures, the original first.
#[derive(Debug, Clone, PartialEq)]
pub struct FidelityOptions {
    /// Selection of the I/Os of each capture.
    pub passes: [PassOptions; 2],
    /// Width of a step in plots over time, in nanoseconds; `None` to choose it by the length.
    pub step_ns: Option<u64>,
    /// Speed factor of the replay, by which the original's times are divided.
    pub faster: f64,
    /// Mapping of addresses that the replay used, applied to the original's offsets before they
    /// are compared; `None` to compare them unmapped.
    pub map: Option<AddressMap>,
}

impl Default for FidelityOptions {
    fn default() -> Self {
        FidelityOptions { passes: Default::default(), step_ns: None, faster: 1.0, map: None }
    }
}

impl FidelityOptions {
    /// Sets the speed factor to that of a replay. A closed loop ignores due times, so it is
    /// compared with the original times.
    pub fn played(self, timing: Timing) -> Self {
        let faster = match timing {
            Timing::Faster { thousandths } => thousandths as f64 / 1e3,
            Timing::Original | Timing::Closed => 1.0,
        };
        FidelityOptions { faster, ..self }
    }
}
