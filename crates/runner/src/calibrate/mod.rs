//! Runs the same points through this program's engine and fio in turn, and compares the two; and
//! measures what commits and rates cost the engine itself.

mod judging;
mod own_cost;
mod point;

pub use judging::{CalibrationReading, Comparison, FlushCounts, Judgement, agree, median_run};
pub use own_cost::OwnCost;
pub use point::CalibrationPoint;

use crate::host_changes::HostChanges;
use crate::rig::Rig;
use crate::single_step::apply_once;
use std::fmt;
use steadfast_domain::record::Check;
use steadfast_domain::stimulus::{ActiveRange, LoadLimits, Pace};
use steadfast_domain::{Bytes, Caveat, Halt, Load, Measurement, Nanos, Step, StepPlace, Stimulus};
use steadfast_engine::StepRefusal;

/// Seconds that a run takes in addition to its load.
const OVERHEAD_SECONDS: f64 = 0.5;

/// One of the two engines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CalibrationEngine {
    /// This program's own engine.
    Uring,
    /// fio.
    Fio,
}

impl fmt::Display for CalibrationEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CalibrationEngine::Uring => "uring",
            CalibrationEngine::Fio => "fio",
        })
    }
}

/// Points to compare, and how.
#[derive(Debug, Clone)]
pub struct Calibration {
    /// Points to compare the engines at, in order.
    pub points: Vec<CalibrationPoint>,
    /// Part of the target that is used.
    pub range: ActiveRange,
    /// Measured time of every run.
    pub time: Nanos,
    /// Time before the measurement that is not measured.
    pub ramp: Nanos,
    /// Number of runs per point and engine.
    pub repeats: u32,
    /// Largest difference in IOPS, in percent, at which the engines agree.
    pub within_percent: f64,
    /// Seed of every random choice.
    pub seed: u64,
    /// True if the target may be written: it is then filled first, and request merging is off.
    pub may_write: bool,
    /// True if the kernel passes flushes to the target.
    pub sends_flushes: bool,
}

/// Result of a calibration.
#[derive(Debug)]
pub struct CalibrationResult {
    /// Both engines, as they describe themselves.
    pub engines: [String; 2],
    /// Results, one per point in the order of [`Calibration::points`].
    pub comparisons: Vec<Comparison>,
    /// Costs of this program's engine: of commits if the target may be written, then of rates, the
    /// highest first.
    pub own_costs: Vec<OwnCost>,
}

/// Why two engines could not be compared.
#[derive(Debug, thiserror::Error)]
pub enum CalibrateError {
    /// An engine cannot apply a point.
    #[error("{point} with the engine {engine}: {why}")]
    Refused {
        /// The point.
        point: CalibrationPoint,
        /// The engine.
        engine: CalibrationEngine,
        /// The reason.
        why: StepRefusal,
    },
    /// An engine completed no I/O.
    #[error("{point} with the engine {engine}: no I/O completed")]
    Nothing {
        /// The point.
        point: CalibrationPoint,
        /// The engine.
        engine: CalibrationEngine,
    },
    /// A run was halted.
    #[error(transparent)]
    Halted(#[from] Halt),
}

/// An event of a calibration.
#[derive(Debug)]
pub enum CalibrationEvent<'a> {
    /// The range is being written, so that reads find data on the medium.
    Filling(Bytes),
    /// A run has finished.
    Read {
        /// The point.
        point: &'a CalibrationPoint,
        /// Number of the run at this point, from 1.
        repeat: u32,
        /// The engine.
        engine: CalibrationEngine,
        /// The result.
        reading: &'a CalibrationReading,
    },
    /// A cost of this program's engine was measured.
    OwnCost(&'a OwnCost),
    /// Checks and caveats that concern the numbers.
    Remarks {
        /// Checks of device and host.
        checks: &'a [Check],
        /// Caveats of the engine.
        caveats: &'a [Caveat],
    },
}

/// Provides the target and receives the events of a calibration.
pub trait CalibrationContext {
    /// Error type of the implementation.
    type Error: From<CalibrateError>;

    /// Arms the target with one of the engines.
    ///
    /// # Errors
    /// Returns an error if it cannot be armed or the engine cannot be started.
    fn rig(&mut self, engine: CalibrationEngine) -> Result<Box<dyn Rig>, Self::Error>;

    /// Returns a journal for the host changes of one step.
    fn journal(&mut self) -> HostChanges;

    /// Reports an event.
    fn report(&mut self, event: &CalibrationEvent<'_>);
}

impl Calibration {
    /// Returns the beginning of a target, in whole transfers of every point.
    pub fn range(points: &[CalibrationPoint], wanted: Bytes, capacity: Bytes) -> ActiveRange {
        let unit = points.iter().map(|point| point.pattern.size.0).max().unwrap_or(512);
        let length = Bytes(wanted.0.min(capacity.0)).round_down(unit.max(4096));
        ActiveRange::new(Bytes(0), length)
    }

    /// Returns the approximate duration of all runs in seconds.
    pub fn expected_seconds(&self) -> f64 {
        let own = u32::from(self.may_write) + 1 + own_cost::SHARES.len() as u32;
        let runs = self.points.len() as u32 * 2 * self.repeats + own;
        f64::from(runs) * ((self.time + self.ramp).as_secs_f64() + OVERHEAD_SECONDS)
    }

    /// Compares the engines.
    ///
    /// # Errors
    /// Returns [`CalibrateError::Refused`], before anything is done, if an engine cannot apply a
    /// point, and other errors if a run fails.
    pub fn conduct<A: CalibrationContext>(
        &self,
        context: &mut A,
    ) -> Result<CalibrationResult, A::Error> {
        let engines = [
            self.describe_engine(CalibrationEngine::Uring, context)?,
            self.describe_engine(CalibrationEngine::Fio, context)?,
        ];
        if self.may_write {
            self.fill(context)?;
        }
        let points = (1..).zip(&self.points);
        let compared = points.map(|(number, point)| self.compare(point, number, context));
        let comparisons = compared.collect::<Result<_, _>>()?;
        Ok(CalibrationResult { engines, comparisons, own_costs: self.own_costs(context)? })
    }

    fn own_costs<A: CalibrationContext>(&self, context: &mut A) -> Result<Vec<OwnCost>, A::Error> {
        let mut costs = Vec::new();
        if self.may_write {
            costs.push(self.own_cost(&CalibrationPoint::commits(), Pace::Closed, 1, context)?);
        }
        let reads = CalibrationPoint::rates();
        let highest = self.own_cost(&reads, own_cost::highest_pace(), 2, context)?;
        let rate = highest.iops;
        costs.push(highest);
        for (number, share) in (3..).zip(own_cost::SHARES) {
            costs.push(self.own_cost(&reads, Pace::poisson(rate * share), number, context)?);
        }
        Ok(costs)
    }

    fn own_cost<A: CalibrationContext>(
        &self,
        point: &CalibrationPoint,
        pace: Pace,
        number: u32,
        context: &mut A,
    ) -> Result<OwnCost, A::Error> {
        let engine = CalibrationEngine::Uring;
        let mut step = self.step(point, 0, number);
        if let Load::Stimulus(stimulus) = &mut step.load {
            stimulus.pace = pace.clone();
        }
        let measured = self.apply(engine, &step, context)?;
        let cost = OwnCost::from_measurement(point.to_string(), &pace, &measured)
            .ok_or_else(|| CalibrateError::Nothing { point: point.clone(), engine })?;
        context.report(&CalibrationEvent::OwnCost(&cost));
        Ok(cost)
    }

    /// Checks that an engine can apply every point before anything is done. Returns its
    /// description of itself.
    fn describe_engine<A: CalibrationContext>(
        &self,
        engine: CalibrationEngine,
        context: &mut A,
    ) -> Result<String, A::Error> {
        let mut rig = context.rig(engine)?;
        let mut points = self.points.clone();
        if engine == CalibrationEngine::Uring {
            points.push(CalibrationPoint::rates());
            points.extend(self.may_write.then(CalibrationPoint::commits));
        }
        for point in &points {
            if let Err(why) = rig.prepare(&self.step(point, 1, 1)) {
                return Err(CalibrateError::Refused { point: point.clone(), engine, why }.into());
            }
        }
        Ok(rig.engine())
    }

    /// Writes the range once.
    fn fill<A: CalibrationContext>(&self, context: &mut A) -> Result<(), A::Error> {
        context.report(&CalibrationEvent::Filling(self.range.length));
        let until = LoadLimits::bytes(self.range.length);
        let step = self.step_until(&CalibrationPoint::filling(), 0, 0, until, Nanos::ZERO);
        self.apply(CalibrationEngine::Uring, &step, context).map(drop)
    }

    /// Compares the engines at one point, in the order A B, B A, A B, ...
    fn compare<A: CalibrationContext>(
        &self,
        point: &CalibrationPoint,
        number: u32,
        context: &mut A,
    ) -> Result<Comparison, A::Error> {
        let (mut uring, mut fio) = (Vec::new(), Vec::new());
        for repeat in 1..=self.repeats {
            let order = match repeat % 2 {
                1 => [CalibrationEngine::Uring, CalibrationEngine::Fio],
                _ => [CalibrationEngine::Fio, CalibrationEngine::Uring],
            };
            for engine in order {
                let measurement = self.apply(engine, &self.step(point, repeat, number), context)?;
                let nothing = || CalibrateError::Nothing { point: point.clone(), engine };
                let mut reading =
                    CalibrationReading::from_measurement(&measurement).ok_or_else(nothing)?;
                if engine == CalibrationEngine::Fio && point.has_commits() {
                    reading = reading.without_times();
                }
                context.report(&CalibrationEvent::Read {
                    point,
                    repeat,
                    engine,
                    reading: &reading,
                });
                match engine {
                    CalibrationEngine::Uring => uring.push(reading),
                    CalibrationEngine::Fio => fio.push(reading),
                }
            }
        }
        Ok(Comparison::new(point, uring, fio, self.within_percent, self.sends_flushes))
    }

    fn apply<A: CalibrationContext>(
        &self,
        engine: CalibrationEngine,
        step: &Step,
        context: &mut A,
    ) -> Result<Measurement, A::Error> {
        let mut rig = context.rig(engine)?;
        let prepared =
            rig.prepare(step).map_err(|why| CalibrateError::Halted(why.at_step(step)))?;
        let once =
            apply_once(rig.as_mut(), prepared, self.may_write, &mut context.journal(), &mut |_| ());
        context.report(&CalibrationEvent::Remarks { checks: &once.checks, caveats: &once.caveats });
        match once.failure() {
            Some(halt) => Err(CalibrateError::Halted(halt).into()),
            None => Ok(once.result.map_err(CalibrateError::Halted)?),
        }
    }

    fn step(&self, point: &CalibrationPoint, repeat: u32, number: u32) -> Step {
        self.step_until(point, repeat, number, LoadLimits::time(self.time), self.ramp)
    }

    fn step_until(
        &self,
        point: &CalibrationPoint,
        repeat: u32,
        number: u32,
        until: LoadLimits,
        ramp: Nanos,
    ) -> Step {
        let place = StepPlace::new("calibrate", repeat, number, point.to_string());
        let stimulus = Stimulus::new(point.pattern.streams(), self.range, point.demand, until)
            .ramp(ramp)
            .seed(place.seed(self.seed));
        Step::alone(place, stimulus)
    }
}
