//! What a profile and a class ask for, in numbers.

use crate::ground::Ground;
use crate::ground::asked::Asked;
use crate::ground::method::Method;
use crate::unsuitable::Unsuitable;
use steadfast_domain::{Class, Criteria, Demand, Nanos, Profile, WriteCache};

/// The PTS by its full name.
const SPECIFICATION: &str = "Solid State Storage Performance Test Spec (PTS)";

/// Five rounds; data excursion 20 % and slope excursion 10 % of the average,
/// both inclusive (PTS 2.0.2 clause 2.1.24; its heading says "less than", its
/// body "no more than").
pub const TWENTY_TEN: Criteria =
    Criteria { window: 5, data_excursion: 0.20, slope_excursion: 0.10 };

/// The cap on rounds (PTS 2.0.2 IOPS pseudo-code; PTS-E 1.1 p. 30).
pub const ROUNDS_MAX: u32 = 25;

/// The cap on rounds of profile `quick`: our choice, for a look of minutes.
const QUICK_ROUNDS_MAX: u32 = 10;

/// One step: a minute (PTS 2.0.2 IOPS pseudo-code).
pub const STEP_TIME: Nanos = Nanos::from_secs(60);

/// One step of profile `quick`: our choice.
const QUICK_STEP_TIME: Nanos = Nanos::from_secs(1);

/// The ground of a test by the method of its profile and class.
pub fn ground(asked: &Asked<'_>) -> Result<Ground, Unsuitable> {
    Ground::new(asked, of(asked.settings.profile, asked.settings.class))
}

/// The method of a profile and a class. The active range is in one piece
/// also where the document scatters it (PTS-C 1.x): `scattered` makes the
/// methods of its combinations.
pub fn of(profile: Profile, class: Class) -> Method {
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
            method.lesser = Some("PROFILE TKPERF: the method of TKperf 2.x, not of the PTS");
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
            method.lesser = Some("PROFILE QUICK: a quick check, not a method of the PTS");
            method.rounds_max = QUICK_ROUNDS_MAX;
            method.step_time = QUICK_STEP_TIME;
        }
    }
    method
}

/// The class settings of PTS 2.0.x (SNIA tutorial, "Test Settings").
fn of_class(class: Class) -> Method {
    let (revision, write_cache, percent, demand) = match class {
        Class::Enterprise => ("PTS-E 2.0", WriteCache::Disabled, 100, Demand::new(4, 32)),
        Class::Client => ("PTS-C 2.0", WriteCache::Enabled, 75, Demand::new(2, 16)),
    };
    Method {
        document: "PTS 2.0.x",
        specification: SPECIFICATION,
        revision,
        lesser: None,
        criteria: TWENTY_TEN,
        rounds_max: ROUNDS_MAX,
        step_time: STEP_TIME,
        write_cache: Some(write_cache),
        active_range_percent: percent,
        scatter: None,
        random_demand: demand,
    }
}
