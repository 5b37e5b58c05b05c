//! Requirements of a method. The numbers are in the module of their specification
//! (`pts::method`).

use crate::procedure_error::ProcedureError;
use crate::report_notation::number;
use steadfast_domain::settings::Geometry;
use steadfast_domain::stimulus::ActiveRange;
use steadfast_domain::{Bytes, Criteria, Demand, Nanos, Segments, Settings, StepPlace, WriteCache};

/// Shortest step that gives a meaningful result (our choice).
const STEP_TIME_MIN: Nanos = Nanos::from_millis(100);

/// Longest step (our choice).
const STEP_TIME_MAX: Nanos = Nanos::from_secs(86_400);

/// Unit of active ranges and amounts: 1 MiB, so that every block size of the matrix divides an
/// active range evenly.
pub const RANGE_UNIT: u64 = 1 << 20;

/// Smallest active range for a meaningful random test: 64 transfers of the largest size (our
/// choice).
const RANGE_MIN: Bytes = Bytes::mib(64);

/// Returns the first `percent` of a range, in units of [`RANGE_UNIT`]; the whole range at 100.
pub fn part_of(range: ActiveRange, percent: u8) -> ActiveRange {
    if percent == 100 {
        return range;
    }
    let length = Bytes(range.length.0 / 100 * u64::from(percent)).round_down(RANGE_UNIT);
    ActiveRange { length, ..range }
}

/// Requirements of a profile and a class.
#[derive(Debug, Clone, PartialEq)]
pub struct Method {
    /// Name of the document in reports.
    pub document: &'static str,
    /// Full name of the document in the report form.
    pub specification: &'static str,
    /// Revision field of the report form.
    pub revision: &'static str,
    /// Statement, printed on every page, that the method is not one of the PTS; `None` if it is.
    pub disclaimer: Option<&'static str>,
    pub criteria: Criteria,
    pub rounds_max: u32,
    pub step_time: Nanos,
    /// State of the volatile write cache; `None` leaves it unchanged.
    pub write_cache: Option<WriteCache>,
    /// Active range in percent of the capacity.
    pub active_range_percent: u8,
    /// Segments of the active range that are accessed; `None` accesses all of it.
    pub scatter: Option<Scatter>,
    /// Recommended demand of random tests.
    pub random_demand: Demand,
}

impl Method {
    /// Returns the length of a step: the user's choice, else the method's.
    pub fn step_time(&self, settings: &Settings) -> Result<Nanos, ProcedureError> {
        let time = settings.step_time.unwrap_or(self.step_time);
        if (STEP_TIME_MIN..=STEP_TIME_MAX).contains(&time) {
            return Ok(time);
        }
        Err(ProcedureError(format!("a step time of {time} is not possible; give 100 ms to 24 h")))
    }

    /// Returns the active range in percent of the capacity: the user's choice, else the method's.
    fn percent(&self, settings: &Settings) -> u8 {
        settings.active_range_percent.unwrap_or(self.active_range_percent)
    }

    /// Returns the part of the capacity that a test with this active range accesses.
    pub fn covering(&self, settings: &Settings, range: ActiveRange) -> CoveredRange {
        CoveredRange { percent: self.percent(settings), range }
    }

    /// Returns the active range of a run: the first part of the capacity, or segments scattered
    /// over it.
    pub fn active_range(
        &self,
        settings: &Settings,
        geometry: Geometry,
    ) -> Result<ActiveRange, ProcedureError> {
        let percent = self.percent(settings);
        let range = ActiveRange::first(percent, geometry.capacity, RANGE_UNIT);
        if range.length < RANGE_MIN {
            return Err(ProcedureError(format!(
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

/// A part of the capacity that a test accesses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CoveredRange {
    /// Active range in percent of the capacity.
    pub percent: u8,
    /// Active range in bytes.
    pub range: ActiveRange,
}

/// An amount of an active range, divided into equal segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scatter {
    pub amount: Bytes,
    pub segments: u32,
}

impl Scatter {
    /// Places the segments in a range at multiples of `unit` bytes; the run's seed decides where.
    pub fn over(
        self,
        range: ActiveRange,
        unit: u64,
        run_seed: u64,
    ) -> Result<ActiveRange, ProcedureError> {
        let count = u64::from(self.segments);
        if count == 0 || !self.amount.0.is_multiple_of(count * unit) {
            return Err(ProcedureError(format!(
                "an active range amount of {} cannot be divided into {} segments: each must be a \
                 multiple of {}; choose others with --set ar-amount=... --set ar-segments=...",
                self.amount.binary(),
                number(self.segments.into(), 0),
                Bytes(unit).binary()
            )));
        }
        let seed = StepPlace::new("segments", 0, 0, "").seed(run_seed);
        let size = Bytes(self.amount.0 / count);
        let segments = Segments { count: self.segments, size, unit: Bytes(unit), seed };
        match segments.fault(range) {
            None => Ok(ActiveRange { segments: Some(segments), ..range }),
            Some(fault) => Err(ProcedureError(format!(
                "{fault}; choose smaller amounts with --set ar-amount=... or fewer segments with \
                 --set ar-segments=..."
            ))),
        }
    }
}

/// Returns an error unless the logical sector size is a power of two from 512 to 4096 bytes.
pub fn check_geometry(geometry: Geometry) -> Result<(), ProcedureError> {
    let sector = geometry.logical_sector;
    if sector.is_power_of_two() && (512..=4096).contains(&sector) {
        return Ok(());
    }
    Err(ProcedureError(format!(
        "the logical sector size is {sector} bytes; only powers of two from 512 to 4096 can be \
         tested"
    )))
}
