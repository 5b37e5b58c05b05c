//! What a profile and a class ask for, in numbers.

use super::scattered::Scatter;
use crate::Unsuitable;
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::settings::Geometry;
use steadfast_domain::stimulus::ActiveRange;
use steadfast_domain::{Bytes, Class, Criteria, Demand, Nanos, Profile, Settings, WriteCache};

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

/// The shortest step that means anything (our choice).
const STEP_TIME_MIN: Nanos = Nanos::from_millis(100);

/// The longest step (our choice).
const STEP_TIME_MAX: Nanos = Nanos::from_secs(86_400);

/// Workload-independent preconditioning: sequential 128 KiB writes at T1Q32
/// (PTS 2.0.1 p. 17) ...
pub const WIPC_PATTERN: AccessPattern = AccessPattern::sequential(Bytes::kib(128), 0);
/// ... with one thread and 32 outstanding I/Os (the 2.0.2 pseudo-code can be
/// read as the test's own demand instead; see docs/methods.md, WIPC demand) ...
pub const WIPC_DEMAND: Demand = Demand::new(1, 32);
/// ... of twice the user capacity.
pub const WIPC_CAPACITIES: u64 = 2;

/// Sequential cursors and amounts are whole numbers of this, so that every
/// block size of the matrix fits an active range evenly: 1 MiB.
const RANGE_UNIT: u64 = 1 << 20;

/// The least active range that leaves room for a meaningful random test: 64
/// of the largest transfers (our choice).
const RANGE_MIN: Bytes = Bytes::mib(64);

/// What a profile and a class ask for.
#[derive(Debug, Clone, PartialEq)]
pub struct Method {
    /// The document, as reports name it.
    pub document: &'static str,
    /// The report form's revision field.
    pub revision: &'static str,
    /// Where it is no method of the PTS, what it is: every page says so.
    pub lesser: Option<&'static str>,
    /// When a window is steady.
    pub criteria: Criteria,
    /// The most rounds.
    pub rounds_max: u32,
    /// Length of a step.
    pub step_time: Nanos,
    /// Volatile write cache; `None` leaves it as it is.
    pub write_cache: Option<WriteCache>,
    /// Percent of the capacity that is active.
    pub active_range_percent: u8,
    /// What is touched of that; all of it where absent.
    pub scatter: Option<Scatter>,
    /// Recommended demand of random tests.
    pub random_demand: Demand,
}

impl Method {
    /// The method of a profile and a class. The active range is in one piece
    /// also where the document scatters it (PTS-C 1.x): `scattered` makes the
    /// methods of its combinations.
    pub fn of(profile: Profile, class: Class) -> Method {
        let mut method = Method::of_class(class);
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
                method.lesser = Some("PROFILE QUICK: a short look, not a method of the PTS");
                method.rounds_max = QUICK_ROUNDS_MAX;
                method.step_time = QUICK_STEP_TIME;
            }
        }
        method
    }

    /// Length of a step: the user's, where it is possible, or the method's.
    pub fn step_time(&self, settings: &Settings) -> Result<Nanos, Unsuitable> {
        let time = settings.step_time.unwrap_or(self.step_time);
        if (STEP_TIME_MIN..=STEP_TIME_MAX).contains(&time) {
            return Ok(time);
        }
        Err(Unsuitable(format!("a step time of {time} is not possible; give 100 ms to 24 h")))
    }

    /// Percent of the capacity that is active: the user's or the method's.
    fn percent(&self, settings: &Settings) -> u8 {
        settings.active_range_percent.unwrap_or(self.active_range_percent)
    }

    /// What a test with this active range touches.
    pub fn covering(&self, settings: &Settings, range: ActiveRange) -> Covered {
        Covered { percent: self.percent(settings), range }
    }

    /// The class settings of PTS 2.0.x (SNIA tutorial, "Test Settings").
    fn of_class(class: Class) -> Method {
        let (revision, write_cache, percent, demand) = match class {
            Class::Enterprise => ("PTS-E 2.0", WriteCache::Disabled, 100, Demand::new(4, 32)),
            Class::Client => ("PTS-C 2.0", WriteCache::Enabled, 75, Demand::new(2, 16)),
        };
        Method {
            document: "PTS 2.0.x",
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
}

/// A part of the capacity that a test touches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Covered {
    /// Percent of the capacity.
    pub percent: u8,
    /// The bytes.
    pub range: ActiveRange,
}

/// The bytes that a run may touch: the first part of the capacity, or what the
/// method scatters over it.
pub fn active_range(
    settings: &Settings,
    method: &Method,
    geometry: Geometry,
) -> Result<ActiveRange, Unsuitable> {
    let percent = method.percent(settings);
    let range = ActiveRange::first(percent, geometry.capacity, RANGE_UNIT);
    if range.length < RANGE_MIN {
        return Err(Unsuitable(format!(
            "the device is too small: {percent} % of {} leaves an active range of {}, and at \
             least {RANGE_MIN} are needed",
            geometry.capacity, range.length
        )));
    }
    match method.scatter {
        None => Ok(range),
        Some(scatter) => scatter.over(range, RANGE_UNIT, settings.seed),
    }
}

/// Refuses a logical sector that no block size of the matrix could be made of.
pub fn check_geometry(geometry: Geometry) -> Result<(), Unsuitable> {
    let sector = geometry.logical_sector;
    if sector.is_power_of_two() && (512..=4096).contains(&sector) {
        return Ok(());
    }
    Err(Unsuitable(format!(
        "the logical sector size is {sector} bytes; only 512 to 4096 can be tested"
    )))
}
