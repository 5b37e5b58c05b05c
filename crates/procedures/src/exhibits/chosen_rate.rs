//! Checks whether the rate at which a demand was chosen is reached again when the demand is
//! reapplied.

use steadfast_domain::{Caveat, Demand, caveats as ids};

/// Relative difference above which two rates of the same demand differ: the PTS's limit for the
/// data excursion of a steady variable.
const HELD_WITHIN: f64 = 0.2;

/// A chosen demand, with its rate in the sweep and the rate when it was reapplied.
pub(crate) struct ChosenRate {
    pub point: &'static str,
    pub demand: Demand,
    /// IOPS in the sweep that it was chosen from.
    pub swept: f64,
    /// IOPS when it was reapplied for its histogram.
    pub held: f64,
}

impl ChosenRate {
    fn is_held(&self) -> bool {
        (self.held - self.swept).abs() <= HELD_WITHIN * self.swept
    }
}

/// Returns a caveat on the points whose rate was not reached again; `None` if there are none.
pub(crate) fn caveat(rates: &[ChosenRate], remedy: &str) -> Option<Caveat> {
    let lost: Vec<String> = rates
        .iter()
        .filter(|rate| !rate.is_held())
        .map(|rate| {
            format!(
                "{} at {}: {:.0} IOPS when it was chosen, {:.0} IOPS in its histogram",
                rate.point, rate.demand, rate.swept, rate.held
            )
        })
        .collect();
    (!lost.is_empty()).then(|| {
        Caveat::invalidates(
            ids::MAX_IOPS_NOT_HELD,
            format!(
                "RATE NOT HELD: {}. The drive was not as steady as it was found, and the demands \
                 may be chosen wrongly.",
                lost.join("; ")
            ),
            remedy,
        )
    })
}
