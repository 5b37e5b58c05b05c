//! Compares the IOPS of a chosen demand in the sweep with its IOPS when it is applied again.

use steadfast_domain::{Caveat, Demand, caveats as ids};

/// Largest difference from the rate in the sweep, as a fraction, at which the rate was held: the PTS's
/// limit for the data excursion.
const RATE_TOLERANCE: f64 = 0.2;

/// A chosen demand, with its rate in the sweep and when it was applied again.
pub(crate) struct ChosenRate {
    /// Name of the point, such as `MaxIOPS`.
    pub point: &'static str,
    pub demand: Demand,
    /// IOPS in the sweep that it was chosen from.
    pub sweep_iops: f64,
    /// IOPS when it was applied again for its response-time histogram.
    pub repeat_iops: f64,
}

impl ChosenRate {
    fn is_held(&self) -> bool {
        (self.repeat_iops - self.sweep_iops).abs() <= RATE_TOLERANCE * self.sweep_iops
    }
}

/// Returns a caveat on the points whose rate was not reached again; `None` if there are none.
pub(crate) fn caveat(rates: &[ChosenRate], remedy: &str) -> Option<Caveat> {
    let not_held: Vec<String> = rates
        .iter()
        .filter(|rate| !rate.is_held())
        .map(|rate| {
            format!(
                "{} at {}: {:.0} IOPS when it was chosen, {:.0} IOPS in its histogram",
                rate.point, rate.demand, rate.sweep_iops, rate.repeat_iops
            )
        })
        .collect();
    (!not_held.is_empty()).then(|| {
        Caveat::invalidates(
            ids::MAX_IOPS_NOT_HELD,
            format!(
                "RATE NOT HELD: {}. The drive was less steady than its verdict says, so the chosen \
                 demands may be wrong.",
                not_held.join("; ")
            ),
            remedy,
        )
    })
}
