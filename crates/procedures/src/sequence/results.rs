//! What every attempt at every step gave, and which attempt counts.

use super::setup::{Planned, Sequenced};
use steadfast_domain::findings::Exhibit;
use steadfast_domain::sequence::StepRole;
use steadfast_domain::{Measurement, Nanos, Op, Record, SequenceStep, Tally};

/// The exhibits that users of one tool look for: a page's title and what is on it.
pub(super) type Figures = (&'static str, Vec<Exhibit>);

/// Everything that the exhibits are made of.
pub(super) struct Results<'a> {
    /// The steps that measure, in order.
    pub measured: Vec<Measured<'a>>,
    /// Those that prepare.
    pub prepared: Vec<Measured<'a>>,
}

/// A step and what it gave.
pub(super) struct Measured<'a> {
    /// What was asked for.
    pub step: &'a SequenceStep,
    /// Every attempt that was finished or begun, in order.
    pub attempts: Vec<Attempt>,
}

/// One attempt at a step, its parts added up.
#[derive(Default)]
pub(super) struct Attempt {
    /// All I/Os.
    pub total: Tally,
    /// Reads alone.
    pub reads: Tally,
    /// Writes alone.
    pub writes: Tally,
    /// Measured time.
    pub elapsed: Nanos,
    /// I/Os that failed.
    pub faults: u64,
    /// Share of all processors' time that was used, user and system, 0 to 1.
    pub cpu: Option<f64>,
    /// Each of several loads that were applied at once, in the step's order.
    pub apart: Vec<Attempt>,
}

impl<'a> Results<'a> {
    /// The results of a record.
    pub fn of(sequenced: &'a Sequenced, record: &Record) -> Self {
        let of = |role| {
            let steps = sequenced.steps.iter().filter(move |p| p.step.role == role);
            steps.map(|planned| measured(planned, record)).collect()
        };
        Results { measured: of(StepRole::Measure), prepared: of(StepRole::Prepare) }
    }
}

fn measured<'a>(planned: &'a Planned, record: &Record) -> Measured<'a> {
    let attempts = (1..=planned.step.attempts()).filter_map(|number| {
        let phase = planned.phase(number);
        let mut attempt = Attempt::default();
        let mut cpu = (0.0, 0.0);
        for (_, outcome) in record.steps().filter(|(step, _)| step.place.phase == phase) {
            let m = &outcome.measurement;
            attempt.total.merge(&m.total());
            attempt.reads.merge(&m.direction(Op::Read));
            attempt.writes.merge(&m.direction(Op::Write));
            attempt.elapsed += m.elapsed;
            attempt.faults += m.fault_count;
            attempt.take_apart(m);
            if let Some(host) = m.sensed.host_cpu {
                let seconds = m.elapsed.as_secs_f64();
                cpu = (cpu.0 + (host.user + host.system) * seconds, cpu.1 + seconds);
            }
        }
        attempt.cpu = (cpu.1 > 0.0).then(|| cpu.0 / cpu.1);
        (attempt.elapsed.0 > 0).then_some(attempt)
    });
    Measured { step: &planned.step, attempts: attempts.collect() }
}

impl Measured<'_> {
    /// The attempt that counts: the one with the most bytes per second.
    pub fn best(&self) -> Option<&Attempt> {
        let rate = |attempt: &&Attempt| attempt.mb_per_second().unwrap_or_default();
        self.attempts.iter().max_by(|a, b| rate(a).total_cmp(&rate(b)))
    }
    /// The value of a dimension.
    pub fn dimension(&self, name: &str) -> Option<&str> {
        let found = self.step.dimensions.iter().find(|(of, _)| of == name);
        found.map(|(_, value)| value.as_str())
    }
}

impl Attempt {
    fn take_apart(&mut self, measurement: &Measurement) {
        self.apart.resize_with(measurement.parts.len(), Attempt::default);
        for (own, (streams, elapsed)) in self.apart.iter_mut().zip(measurement.apart()) {
            for stream in streams {
                own.total.merge(&stream.tally);
                match stream.op {
                    Op::Read => own.reads.merge(&stream.tally),
                    Op::Write => own.writes.merge(&stream.tally),
                    Op::Discard | Op::Flush => {}
                }
            }
            own.elapsed += elapsed;
        }
    }
    /// I/Os per second of a tally of this attempt.
    pub fn rate(&self, count: u64) -> Option<f64> {
        let seconds = self.elapsed.as_secs_f64();
        (seconds > 0.0).then(|| count as f64 / seconds)
    }
    /// I/Os per second.
    pub fn iops(&self) -> Option<f64> {
        self.rate(self.total.ios)
    }
    /// MB (10^6 bytes) per second.
    pub fn mb_per_second(&self) -> Option<f64> {
        self.rate(self.total.bytes.0).map(|bytes| bytes / 1e6)
    }
    /// The mean response time in milliseconds.
    pub fn mean_ms(&self) -> Option<f64> {
        self.total.response_mean_ms()
    }
}
