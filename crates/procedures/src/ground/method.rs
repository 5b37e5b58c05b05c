//! What a method asks for: the numbers themselves are in the room of their
//! specification (`pts::method`).

use crate::unsuitable::Unsuitable;
use crate::words::number;
use steadfast_domain::settings::Geometry;
use steadfast_domain::stimulus::ActiveRange;
use steadfast_domain::{Bytes, Criteria, Demand, Nanos, Place, Segments, Settings, WriteCache};

/// The shortest step that means anything (our choice).
const STEP_TIME_MIN: Nanos = Nanos::from_millis(100);

/// The longest step (our choice).
const STEP_TIME_MAX: Nanos = Nanos::from_secs(86_400);

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
    /// The document by its full name, as the report form has it.
    pub specification: &'static str,
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

    /// The bytes that a run may touch: the first part of the capacity, or what
    /// the method scatters over it.
    pub fn active_range(
        &self,
        settings: &Settings,
        geometry: Geometry,
    ) -> Result<ActiveRange, Unsuitable> {
        let percent = self.percent(settings);
        let range = ActiveRange::first(percent, geometry.capacity, RANGE_UNIT);
        if range.length < RANGE_MIN {
            return Err(Unsuitable(format!(
                "the device is too small: {percent} % of {} leaves an active range of {}, and at \
                 least {RANGE_MIN} are needed",
                geometry.capacity, range.length
            )));
        }
        match self.scatter {
            None => Ok(range),
            Some(scatter) => scatter.over(range, RANGE_UNIT, settings.seed),
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

/// An amount of an active range in equal segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scatter {
    /// Bytes that are touched.
    pub amount: Bytes,
    /// How many segments they are in.
    pub segments: u32,
}

impl Scatter {
    /// Spread over a range at multiples of `unit`; the run's seed decides where.
    pub fn over(
        self,
        range: ActiveRange,
        unit: u64,
        run_seed: u64,
    ) -> Result<ActiveRange, Unsuitable> {
        let count = u64::from(self.segments);
        if count == 0 || !self.amount.0.is_multiple_of(count * unit) {
            return Err(Unsuitable(format!(
                "an active range amount of {} cannot be divided into {} segments: each must be a \
                 multiple of {}; choose others with --set ar-amount=... --set ar-segments=...",
                self.amount.binary(),
                number(self.segments.into(), 0),
                Bytes(unit).binary()
            )));
        }
        let seed = Place::new("segments", 0, 0, "").seed(run_seed);
        let size = Bytes(self.amount.0 / count);
        let segments = Segments { count: self.segments, size, unit: Bytes(unit), seed };
        match segments.fault(range) {
            None => Ok(ActiveRange { segments: Some(segments), ..range }),
            Some(fault) => Err(Unsuitable(format!(
                "{fault}; choose smaller amounts with --set ar-amount=... or fewer segments with \
                 --set ar-segments=..."
            ))),
        }
    }
}

/// Refuses a logical sector that no block size of a matrix could be made of.
pub fn check_geometry(geometry: Geometry) -> Result<(), Unsuitable> {
    let sector = geometry.logical_sector;
    if sector.is_power_of_two() && (512..=4096).contains(&sector) {
        return Ok(());
    }
    Err(Unsuitable(format!(
        "the logical sector size is {sector} bytes; only 512 to 4096 can be tested"
    )))
}
