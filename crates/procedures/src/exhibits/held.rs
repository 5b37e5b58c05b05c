//! Whether a rate by which a demand was chosen was held when that demand was applied again.

use steadfast_domain::caveats as ids;
use steadfast_domain::{Caveat, CaveatKind, Demand};

/// Rates of the same demand differ by more than this share. The PTS's own limit for the
/// excursion of a steady variable.
const HELD_WITHIN: f64 = 0.2;

/// A chosen demand with the rate that it was chosen by and the rate that it gave afterward.
pub(crate) struct ChosenRate {
    /// What the report calls the point.
    pub point: &'static str,
    /// Its demand.
    pub demand: Demand,
    /// IOPS in the sweep.
    pub swept: f64,
    /// IOPS in its histogram.
    pub held: f64,
}

impl ChosenRate {
    fn is_held(&self) -> bool {
        (self.held - self.swept).abs() <= HELD_WITHIN * self.swept
    }
}

/// The caveat of the points whose rate was only passed through; `None` where all were held.
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
        Caveat::new(
            CaveatKind::Invalidates,
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
