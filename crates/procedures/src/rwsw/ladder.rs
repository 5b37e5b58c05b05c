//! The loop of demands of RWSW DIRTH: applies the composite once with each number of outstanding
//! I/Os.

use crate::common::ProcedureSetup;
use crate::common::applied::ApplicableWorkload;
use crate::parameters::Parameter;
use crate::procedure_error::ProcedureError;
use steadfast_domain::{Bench, Demand, Halt, Outcome, Settings, StepPlace};

/// Maximum number of outstanding I/Os per thread, and of threads: T32Q32 is the highest demand of
/// the PTS's DIRTH.
const MOST: u32 = 32;

pub const OUTSTANDING: Parameter = Parameter {
    of_demand: true,
    name: "outstanding",
    default: "1024,512,256,128,64,32,16,8,4,2,1",
    quick: Some("1024,32,8,1"),
    meaning: "outstanding I/Os of the demands in their order, each 1 to 32 or a multiple of 32 up \
              to 1024; as few threads as give it, 32 outstanding I/Os in each",
    source: "the range of 1 to 1,024 is the document's (SNIA tutorial, RWSW); steps, order and \
             threads are ours, from high to low as in the PTS's DIRTH",
    ..Parameter::UNVERIFIED
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DemandLadder {
    /// Demands in the order in which they are applied.
    pub demands: Vec<Demand>,
}

impl DemandLadder {
    pub fn parse(parameter: &Parameter, settings: &Settings) -> Result<Self, ProcedureError> {
        let demands = parameter.list(settings, |text| demand(text.parse().ok()?))?;
        Ok(DemandLadder { demands })
    }

    /// Returns the demand with the most outstanding I/Os.
    pub fn highest(&self) -> Demand {
        let highest = self.demands.iter().copied().max_by_key(|demand| demand.outstanding());
        highest.unwrap_or(Demand::new(1, 1))
    }

    /// Applies a workload once with each demand and returns the outcomes in order.
    pub fn conduct(
        &self,
        bench: &mut dyn Bench,
        setup: &ProcedureSetup,
        applied: &impl ApplicableWorkload,
        phase: &str,
    ) -> Result<Vec<Outcome>, Halt> {
        let apply = |(point, demand): (u32, &Demand)| {
            let place = StepPlace::new(phase, 0, point, format!("{applied} {demand}"));
            bench.apply(&setup.step(place, applied, *demand, setup.step_time))
        };
        (1..).zip(&self.demands).map(apply).collect()
    }
}

/// Returns the demand with this number of outstanding I/Os and the fewest threads; `None` unless
/// the number is 1 to 32 or a multiple of 32 up to 1024.
fn demand(outstanding: u32) -> Option<Demand> {
    match outstanding {
        1..=MOST => Some(Demand::new(1, outstanding)),
        many if many > 0 && many.is_multiple_of(MOST) && many <= MOST * MOST => {
            Some(Demand::new(many / MOST, MOST))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::scripted::{set, settings_of};

    #[test]
    fn every_count_has_as_few_threads_as_give_it() {
        let settings = Settings::new("rwsw-dirth", 1);
        let ladder = DemandLadder::parse(&OUTSTANDING, &settings).unwrap();
        let counts: Vec<u64> = ladder.demands.iter().map(|d| d.outstanding()).collect();
        assert_eq!(counts, [1024, 512, 256, 128, 64, 32, 16, 8, 4, 2, 1]);
        assert_eq!(ladder.demands[0], Demand::new(32, 32));
        assert_eq!(ladder.demands[4..6], [Demand::new(2, 32), Demand::new(1, 32)]);
        assert_eq!(ladder.highest(), Demand::new(32, 32));
    }

    #[test]
    fn counts_that_no_threads_give_are_none() {
        let ladder = |counts: &str| {
            DemandLadder::parse(
                &OUTSTANDING,
                &settings_of("rwsw-dirth", set("outstanding", counts)),
            )
        };
        for bad in ["", "0", "33", "1056", "1,1", "8;4", "x"] {
            assert!(ladder(bad).is_err(), "{bad}");
        }
        assert_eq!(ladder("8, 1").unwrap().demands, [Demand::new(1, 8), Demand::new(1, 1)]);
    }
}
