//! Results of a sequence: the attempts at each step, and the best of them.

use super::setup::{DeviceStep, SequenceProcedure};
use crate::report_notation::distinct;
use steadfast_domain::findings::Exhibit;
use steadfast_domain::sequence::StepRole;
use steadfast_domain::{Measurement, Nanos, Op, Record, SequenceStep, Tally};

/// A page for the users of one tool.
pub(super) struct ToolExhibits {
    pub title: &'static str,
    pub exhibits: Vec<Exhibit>,
}

pub(super) type AttemptValue = fn(&Attempt) -> Option<f64>;

pub struct SequenceResults<'a> {
    /// Steps that measure, in order.
    pub measured: Vec<MeasuredStep<'a>>,
    /// Steps that prepare, in order.
    pub prepared: Vec<MeasuredStep<'a>>,
}

pub struct MeasuredStep<'a> {
    pub step: &'a SequenceStep,
    /// Attempts with measured time, in order; the last one may be unfinished.
    pub attempts: Vec<Attempt>,
}

/// One attempt at a step: the sum of its parts.
#[derive(Default)]
pub struct Attempt {
    pub total: Tally,
    pub reads: Tally,
    pub writes: Tally,
    pub elapsed: Nanos,
    pub faults: u64,
    /// Share of all processors' time spent in user space and kernel, 0 to 1; `None` if it was not
    /// measured.
    pub cpu: Option<f64>,
    /// Results of each load if several were applied at once, in the order of the step.
    pub loads: Vec<Attempt>,
}

impl<'a> SequenceResults<'a> {
    pub fn new(sequenced: &'a SequenceProcedure, record: &Record) -> Self {
        let steps_with = |role| {
            let steps = sequenced.steps.iter().filter(move |p| p.step.role == role);
            steps.map(|device_step| measured_step(device_step, record)).collect()
        };
        SequenceResults {
            measured: steps_with(StepRole::Measure),
            prepared: steps_with(StepRole::Prepare),
        }
    }

    /// Returns the values that the measured steps have in a dimension, without repetitions.
    pub fn values(&self, dimension: &str) -> Vec<String> {
        let values = self.measured.iter().filter_map(|measured| measured.dimension(dimension));
        distinct(values.map(str::to_owned))
    }

    /// Returns the measured steps with these values in these dimensions.
    pub fn having(&self, values: [(&str, &str); 2]) -> impl Iterator<Item = &MeasuredStep<'a>> {
        self.measured.iter().filter(move |measured| {
            values.iter().all(|(dimension, value)| measured.dimension(dimension) == Some(*value))
        })
    }
}

fn measured_step<'a>(device_step: &'a DeviceStep, record: &Record) -> MeasuredStep<'a> {
    let attempts = (1..=device_step.step.attempts()).filter_map(|number| {
        let phase = device_step.phase(number);
        let mut attempt = Attempt::default();
        let (mut busy_seconds, mut sensed_seconds) = (0.0, 0.0);
        for (_, outcome) in record.steps().filter(|(step, _)| step.place.phase == phase) {
            let m = &outcome.measurement;
            attempt.total.merge(&m.total());
            attempt.reads.merge(&m.direction(Op::Read));
            attempt.writes.merge(&m.direction(Op::Write));
            attempt.elapsed += m.elapsed;
            attempt.faults += m.fault_count;
            attempt.add_loads(m);
            if let Some(host) = m.sensed.host_cpu {
                let seconds = m.elapsed.as_secs_f64();
                busy_seconds += (host.user + host.system) * seconds;
                sensed_seconds += seconds;
            }
        }
        attempt.cpu = (sensed_seconds > 0.0).then(|| busy_seconds / sensed_seconds);
        (attempt.elapsed.0 > 0).then_some(attempt)
    });
    MeasuredStep { step: &device_step.step, attempts: attempts.collect() }
}

impl MeasuredStep<'_> {
    /// Returns the attempt with the most bytes per second, which is reported.
    pub fn best(&self) -> Option<&Attempt> {
        let rate = |attempt: &&Attempt| attempt.mb_per_second().unwrap_or_default();
        self.attempts.iter().max_by(|a, b| rate(a).total_cmp(&rate(b)))
    }
    /// Returns the value of a dimension, or `None` if the step does not have it.
    pub fn dimension(&self, name: &str) -> Option<&str> {
        let found = self.step.dimensions.iter().find(|(of, _)| of == name);
        found.map(|(_, value)| value.as_str())
    }
}

impl Attempt {
    /// Adds the results of each load of a step that applied several at once.
    fn add_loads(&mut self, measurement: &Measurement) {
        self.loads.resize_with(measurement.parts.len(), Attempt::default);
        for (own, load) in self.loads.iter_mut().zip(measurement.concurrent_loads()) {
            for stream in load.streams {
                if stream.op != Op::Flush {
                    own.total.merge(&stream.tally);
                }
                match stream.op {
                    Op::Read => own.reads.merge(&stream.tally),
                    Op::Write => own.writes.merge(&stream.tally),
                    Op::Discard | Op::Flush => {}
                }
            }
            own.elapsed += load.elapsed;
        }
    }
    /// Returns `count` per second of this attempt; `None` if no time was measured.
    pub fn rate(&self, count: u64) -> Option<f64> {
        let seconds = self.elapsed.as_secs_f64();
        (seconds > 0.0).then(|| count as f64 / seconds)
    }
    /// Returns the I/Os per second.
    pub fn iops(&self) -> Option<f64> {
        self.rate(self.total.ios)
    }
    pub fn mb_per_second(&self) -> Option<f64> {
        self.rate(self.total.bytes.0).map(|bytes| bytes / 1e6)
    }
    pub fn mean_ms(&self) -> Option<f64> {
        self.total.response_mean_ms()
    }
}
