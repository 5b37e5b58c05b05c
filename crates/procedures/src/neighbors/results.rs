//! Results of neighbors: the victim's response times with the offender off and on, and what the
//! offender moved.

use super::control::{ControlName, is_met, reason};
use super::setup::{Neighbors, OFF, VICTIM_MAX, alone_phase, cycles_phase};
use crate::common::attempts::{measurements, steps_of};
use steadfast_domain::stimulus::Pace;
use steadfast_domain::{
    Bytes, Conditions, IoControl, JournalEntry, Measurement, Nanos, Op, Outcome, Record, Step,
    Tally,
};

/// Fraction of the I/Os whose response time isolation compares.
pub const ISOLATION_AT: f64 = 0.99;

pub struct NeighborsResults {
    /// IOPS of the victim alone in a closed loop; `None` if its rate was given.
    pub victim_max: Option<f64>,
    /// Rate offered by the victim, in IOPS; `None` before its first step.
    pub offered: Option<f64>,
    pub controls: Vec<ControlState>,
    /// Offenders under each available control, in the order of the run.
    pub disturbances: Vec<Disturbance>,
}

/// A control that was tried before the purge.
pub struct ControlState {
    pub name: ControlName,
    /// Reason why it is unavailable; `None` if it is available.
    pub unavailable: Option<String>,
}

/// The victim with an offender off and on, under a control.
pub struct Disturbance {
    pub offender: String,
    /// Number of the offender, from 0.
    pub number: usize,
    pub control: ControlName,
    /// Limit of the offender in bytes per second; `None` without one.
    pub limit: Option<f64>,
    /// Bytes per second of the offender alone, without a rule.
    pub alone: Option<f64>,
    pub off: VictimSide,
    pub on: VictimSide,
    /// Bytes that the offender moved in steps with the victim.
    pub offender_bytes: Bytes,
    /// Measured time of the offender in steps with the victim.
    pub offender_time: Nanos,
    /// Response times of the victim in milliseconds at [`ISOLATION_AT`] in each step, off and on
    /// in turn.
    pub course: Vec<Option<f64>>,
}

/// The victim in all steps with the offender off, or on.
#[derive(Default)]
pub struct VictimSide {
    pub tally: Tally,
    pub elapsed: Nanos,
    /// True if a step completed fewer I/Os than were offered.
    pub fell_behind: bool,
}

impl VictimSide {
    fn add(&mut self, measurement: &Measurement, pace: &Pace) {
        let own = victim_part(measurement);
        self.elapsed += own.elapsed;
        self.fell_behind |= own.kept_up(pace) == Some(false);
        self.tally.merge(&own.total());
    }

    /// Returns a response time in milliseconds; `None` if the victim fell behind: its queue, and with
    /// it every response time, grows for as long as the step lasts.
    pub fn response_ms(&self, fraction: f64) -> Option<f64> {
        self.elapsed_response_ms(fraction).filter(|_| !self.fell_behind)
    }

    /// Returns a response time in milliseconds, also if the victim fell behind.
    fn elapsed_response_ms(&self, fraction: f64) -> Option<f64> {
        self.tally.percentile(fraction).map(Nanos::as_millis_f64)
    }

    pub fn iops(&self) -> Option<f64> {
        per_second(self.tally.ios as f64, self.elapsed)
    }
}

impl Disturbance {
    /// Returns the names of offender and control.
    pub fn name(&self) -> String {
        format!("{} / {}", self.offender, self.control.name())
    }

    /// Returns the bytes per second of the offender in steps with the victim.
    pub fn offender_rate(&self) -> Option<f64> {
        per_second(self.offender_bytes.0 as f64, self.offender_time)
    }

    /// Returns isolation (our definition): the victim's 99 % response time with the offender off,
    /// divided by that with the offender on. 1 if the offender is not felt; `None` if the victim fell
    /// behind.
    pub fn isolation(&self) -> Option<f64> {
        let (off, on) = (self.off.response_ms(ISOLATION_AT)?, self.on.response_ms(ISOLATION_AT)?);
        (on > 0.0).then(|| off / on)
    }

    /// Returns utilization (our definition): bytes per second of victim and offender together,
    /// divided by those of the offender alone without a rule.
    pub fn utilization(&self) -> Option<f64> {
        let victim = per_second(self.on.tally.bytes.0 as f64, self.on.elapsed)?;
        let alone = self.alone.filter(|alone| *alone > 0.0)?;
        Some((victim + self.offender_rate()?) / alone)
    }

    fn add(&mut self, step: &Step, measurement: &Measurement) {
        let pace = step.load.stimuli().first().map_or(&Pace::Closed, |victim| &victim.pace);
        let mut side = VictimSide::default();
        side.add(measurement, pace);
        self.course.push(side.elapsed_response_ms(ISOLATION_AT));
        if step.place.point == OFF {
            self.off.add(measurement, pace);
            return;
        }
        self.on.add(measurement, pace);
        if let Some(offender) = measurement.concurrent_loads().nth(1) {
            self.offender_bytes += Bytes(offender.streams.iter().map(|s| s.tally.bytes.0).sum());
            self.offender_time += offender.elapsed;
        }
    }
}

impl NeighborsResults {
    /// Computes the results of a record, which may end anywhere.
    pub fn new(test: &Neighbors, record: &Record) -> Self {
        let first = |phase: &str| measurements(&steps_of(record, phase)).first().copied();
        let victim_max = first(VICTIM_MAX).and_then(Measurement::iops);
        let controls = controls(test, record);
        let mut disturbances = Vec::new();
        for (number, offender) in test.offenders.iter().enumerate() {
            let alone = first(&alone_phase(number)).and_then(Measurement::bytes_per_second);
            for control in controls.iter().filter(|control| control.unavailable.is_none()) {
                let phase = cycles_phase(control.name, number);
                let steps = steps_under_control(record, &phase);
                if steps.is_empty() {
                    continue;
                }
                let mut disturbance = Disturbance {
                    offender: offender.name.clone(),
                    number,
                    control: control.name,
                    limit: limit_before(record, &phase),
                    alone,
                    off: VictimSide::default(),
                    on: VictimSide::default(),
                    offender_bytes: Bytes(0),
                    offender_time: Nanos::ZERO,
                    course: Vec::new(),
                };
                for (step, outcome) in steps {
                    disturbance.add(step, &outcome.measurement);
                }
                disturbances.push(disturbance);
            }
        }
        let mut paced = record.steps().filter_map(|(step, _)| step.load.stimuli().first());
        let offered = paced.find_map(|stimulus| stimulus.pace.offered_iops());
        NeighborsResults { victim_max, offered, controls, disturbances }
    }

    /// Returns the offender that the victim feels most under a control: the first next to which it
    /// could not keep up, else the one with the lowest isolation.
    pub fn worst(&self, control: ControlName) -> Option<&Disturbance> {
        let mut worst: Option<(f64, &Disturbance)> = None;
        for disturbance in self.disturbances.iter().filter(|other| other.control == control) {
            let isolation =
                if disturbance.on.fell_behind { Some(0.0) } else { disturbance.isolation() };
            let Some(isolation) = isolation else { continue };
            if worst.is_none_or(|(lowest, _)| isolation < lowest) {
                worst = Some((isolation, disturbance));
            }
        }
        worst.map(|(_, disturbance)| disturbance)
    }
}

/// Returns the steps of a phase with its control in effect: a resumed run can find that the kernel
/// no longer has it.
fn steps_under_control<'a>(record: &'a Record, phase: &str) -> Vec<(&'a Step, &'a Outcome)> {
    let mut wanted: Option<&Conditions> = None;
    let mut is_in_effect = true;
    let mut steps: Vec<(&Step, &Outcome)> = Vec::new();
    for entry in &record.entries {
        match entry {
            JournalEntry::Settled { wanted: requested, got } => {
                wanted = Some(requested);
                is_in_effect = is_met(requested, got);
            }
            JournalEntry::Resettled { got, when: None } => {
                is_in_effect = wanted.is_none_or(|wanted| is_met(wanted, got));
            }
            JournalEntry::Applied { step, outcome }
                if is_in_effect && step.place.phase == phase =>
            {
                steps.push((&**step, &**outcome));
            }
            _ => {}
        }
    }
    steps
}

/// Returns the measurement of the victim alone: the first of the loads of a step.
fn victim_part(measurement: &Measurement) -> Measurement {
    let (streams, elapsed) = match measurement.concurrent_loads().next() {
        Some(victim) => (victim.streams.to_vec(), victim.elapsed),
        None => (measurement.streams.clone(), measurement.elapsed),
    };
    let flushes = streams.iter().any(|stream| stream.op == Op::Flush);
    // The writes before flushes are counted for all loads together.
    let is_alone = measurement.concurrent_loads().count() < 2;
    let writes_alone = measurement.writes_alone.clone().filter(|_| flushes && is_alone);
    Measurement { streams, elapsed, writes_alone, ..Measurement::default() }
}

/// Returns the state of every control that was tried, as found before the purge.
fn controls(test: &Neighbors, record: &Record) -> Vec<ControlState> {
    let settled = || {
        record.entries.iter().filter_map(|entry| match entry {
            JournalEntry::Settled { wanted, got } => Some((wanted, got)),
            _ => None,
        })
    };
    let mut controls = Vec::new();
    for name in [ControlName::Uncontrolled].iter().chain(&test.controls.names) {
        let mut tried =
            settled().filter(|(wanted, _)| wanted.io_control.and_then(name_of) == Some(*name));
        if let (Some((_, initial)), Some((wanted, got))) = (settled().next(), tried.next()) {
            let unavailable = (!is_met(wanted, got)).then(|| reason(initial, got));
            controls.push(ControlState { name: *name, unavailable });
        }
    }
    controls
}

fn name_of(control: IoControl) -> Option<ControlName> {
    Some(match control {
        IoControl::Uncontrolled => ControlName::Uncontrolled,
        IoControl::Max(_) => ControlName::Max,
        IoControl::BfqWeight { .. } => ControlName::BfqWeight,
        IoControl::Cost { .. } => ControlName::Cost,
        IoControl::Latency { .. } => ControlName::Latency,
    })
}

/// Returns the limit of bytes per second that was in effect when a phase began.
fn limit_before(record: &Record, phase: &str) -> Option<f64> {
    let mut limit = None;
    for entry in &record.entries {
        match entry {
            JournalEntry::Settled { got, .. } => {
                limit = match got.io_control {
                    Some(IoControl::Max(limits)) => {
                        let bytes = [limits.read_bytes, limits.write_bytes];
                        bytes.into_iter().flatten().reduce(|a, b| a + b)
                    }
                    _ => None,
                };
            }
            JournalEntry::Applied { step, .. } if step.place.phase == phase => break,
            _ => {}
        }
    }
    limit.map(|bytes| bytes as f64)
}

fn per_second(amount: f64, time: Nanos) -> Option<f64> {
    (time > Nanos::ZERO).then(|| amount / time.as_secs_f64())
}
