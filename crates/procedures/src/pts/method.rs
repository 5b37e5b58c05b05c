//! Numbers of each profile and class.

use crate::common::ProcedureSetup;
use crate::common::method::Method;
use crate::common::procedure_request::ProcedureRequest;
use crate::procedure_error::ProcedureError;
use steadfast_domain::{Class, Criteria, Demand, Nanos, Profile, Settings, Verdict, WriteCache};

const SPECIFICATION: &str = "Solid State Storage Performance Test Spec (PTS)";

/// Steady-state criteria: five rounds, data excursion of 20 % and slope excursion of 10 % of the
/// average, both inclusive (PTS 2.0.2 clause 2.1.24; its heading says "less than", its body "no
/// more than").
pub const TWENTY_TEN: Criteria =
    Criteria { window: 5, data_excursion: 0.20, slope_excursion: 0.10 };

/// Returns the rounds over which means are reported: the steady or last window of the verdict, else
/// the last five of `rounds`.
pub fn reported_rounds(verdict: Option<&Verdict>, rounds: u32) -> Vec<u32> {
    match verdict.and_then(|verdict| verdict.window) {
        Some((first, last)) => (first..=last).collect(),
        None => (rounds.saturating_sub(TWENTY_TEN.window) + 1..=rounds).collect(),
    }
}

/// Maximum number of rounds (PTS 2.0.2 IOPS pseudo-code; PTS-E 1.1 p. 30).
pub const ROUNDS_MAX: u32 = 25;

/// Maximum number of rounds in profile `quick`: our choice, for a check that takes minutes.
const QUICK_ROUNDS_MAX: u32 = 10;

/// Length of a step: one minute (PTS 2.0.2 IOPS pseudo-code).
pub const STEP_TIME: Nanos = Nanos::from_secs(60);

/// Length of a step in profile `quick`: our choice.
const QUICK_STEP_TIME: Nanos = Nanos::from_secs(1);

pub fn setup(request: &ProcedureRequest<'_>) -> Result<ProcedureSetup, ProcedureError> {
    ProcedureSetup::new(request, for_profile(request.settings.profile, request.settings.class))
}

/// Returns true if the latency and WSAT tests of a profile have a histogram run. Those of PTS 1.1
/// and TKperf end with the rounds or the saturation.
pub fn has_histogram(profile: Profile) -> bool {
    matches!(profile, Profile::Pts20 | Profile::Quick)
}

/// Returns the method that a test of our own starts from: that of profile quick, else of PTS 2.0.
pub fn for_own_test(settings: &Settings) -> Method {
    let profile = match settings.profile {
        Profile::Quick => Profile::Quick,
        _ => Profile::Pts20,
    };
    for_profile(profile, settings.class)
}

/// Returns the method of a profile and a class. Its active range is in one piece even if the
/// document scatters it (PTS-C 1.x): `scattered` builds the methods of the combinations.
pub fn for_profile(profile: Profile, class: Class) -> Method {
    let mut method = of_class(class);
    match (profile, class) {
        (Profile::Pts20, _) => {}
        (Profile::Pts11, Class::Enterprise) => {
            method.document = "PTS-E 1.1";
            method.revision = "PTS-E 1.1";
        }
        (Profile::Pts11, Class::Client) => {
            method.document = "PTS-C 1.x";
            method.revision = "PTS-C 1.x";
        }
        (Profile::Tkperf, _) => {
            method.document = "TKperf 2.x";
            method.revision = "TKperf";
            method.disclaimer = Some("PROFILE TKPERF: the method of TKperf 2.x, not of the PTS");
            method.write_cache = None;
            method.active_range_percent = 100;
            method.random_demand = Demand::new(1, 1);
        }
        (Profile::Quick, class) => {
            method.document = "profile quick";
            method.revision = match class {
                Class::Enterprise => "Quick-E",
                Class::Client => "Quick-C",
            };
            method.disclaimer = Some("PROFILE QUICK: a quick check, not a method of the PTS");
            method.rounds_max = QUICK_ROUNDS_MAX;
            method.step_time = QUICK_STEP_TIME;
        }
    }
    method
}

/// Returns the method of PTS 2.0.x for a class (SNIA tutorial, "Test Settings").
fn of_class(class: Class) -> Method {
    let (revision, write_cache, percent, demand) = match class {
        Class::Enterprise => ("PTS-E 2.0", WriteCache::Disabled, 100, Demand::new(4, 32)),
        Class::Client => ("PTS-C 2.0", WriteCache::Enabled, 75, Demand::new(2, 16)),
    };
    Method {
        document: "PTS 2.0.x",
        specification: SPECIFICATION,
        revision,
        disclaimer: None,
        criteria: TWENTY_TEN,
        rounds_max: ROUNDS_MAX,
        step_time: STEP_TIME,
        write_cache: Some(write_cache),
        active_range_percent: percent,
        scatter: None,
        random_demand: demand,
    }
}
