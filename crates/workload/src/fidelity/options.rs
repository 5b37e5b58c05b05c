//! How two captures are compared.

use crate::replay::AddressMap;
use steadfast_analysis::Pass;
use steadfast_domain::script::Timing;

/// How two captures are compared: the original first.
#[derive(Debug, Clone, PartialEq)]
pub struct FidelityOptions {
    /// Which I/Os of each.
    pub passes: [Pass; 2],
    /// Width of a step of the pictures over time; chosen by the length unless set.
    pub step_ns: Option<u64>,
    /// The replay was played so many times as fast: the original's times are divided
    /// by it.
    pub faster: f64,
    /// Where the replay put the original's I/Os; offsets are compared after it.
    pub map: Option<AddressMap>,
}

impl Default for FidelityOptions {
    fn default() -> Self {
        FidelityOptions { passes: Default::default(), step_ns: None, faster: 1.0, map: None }
    }
}

impl FidelityOptions {
    /// For a replay that was played like this. In a closed loop due times did not
    /// count; it is compared with the original's own.
    pub fn played(self, timing: Timing) -> Self {
        let faster = match timing {
            Timing::Faster { thousandths } => thousandths as f64 / 1e3,
            Timing::Original | Timing::Closed => 1.0,
        };
        FidelityOptions { faster, ..self }
    }
}
