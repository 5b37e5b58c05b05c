//! Rehearsal: a procedure conducted against a bench that only adds up time and
//! bytes. Plan and time left come from it, by the procedure's own code path.

use std::collections::BTreeMap;
use steadfast_domain::measurement::StreamTally;
use steadfast_domain::{
    Bench, Bytes, Conditions, Halt, Load, Measurement, Nanos, Note, Outcome, Procedure, Purge,
    PurgeMethod, Step, Stimulus, Tally,
};

/// How the rehearsed drive behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outlook {
    /// Every round like the one before: steady at the first chance.
    Best,
    /// Every round far from the one before: never steady.
    Worst,
}

/// One step of a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Planned {
    /// Its phase.
    pub phase: String,
    /// Its round; 0 outside rounds.
    pub round: u32,
    /// What it does.
    pub label: String,
    /// How long it takes; `None` where that depends on the drive's speed.
    pub time: Option<Nanos>,
    /// How many bytes it moves, where that ends it.
    pub bytes: Option<Bytes>,
}

/// What would run, in order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Plan {
    /// Every step.
    pub steps: Vec<Planned>,
}

impl Plan {
    /// Time of the steps whose time is known.
    pub fn time(&self) -> Nanos {
        Nanos(self.steps.iter().filter_map(|s| s.time).map(|t| t.0).sum())
    }
    /// Bytes of the steps whose time depends on the drive's speed.
    pub fn bytes_of_unknown_time(&self) -> Bytes {
        let unknown = self.steps.iter().filter(|s| s.time.is_none());
        Bytes(unknown.filter_map(|s| s.bytes).map(|b| b.0).sum())
    }
    /// Rounds of the plan.
    pub fn rounds(&self) -> u32 {
        self.steps.iter().map(|s| s.round).max().unwrap_or(0)
    }
}

/// Rehearses a procedure. With an assumed rate of sequential writes (bytes per
/// second), steps that end by bytes get a time.
pub fn rehearse(
    procedure: &dyn Procedure,
    outlook: Outlook,
    bytes_per_second: Option<u64>,
) -> Result<Plan, Halt> {
    let mut bench = Rehearsal { outlook, bytes_per_second, plan: Plan::default() };
    procedure.conduct(&mut bench)?;
    Ok(bench.plan)
}

struct Rehearsal {
    outlook: Outlook,
    bytes_per_second: Option<u64>,
    plan: Plan,
}

impl Rehearsal {
    /// Time and bytes of a step as a whole: a load that runs on from cut to cut
    /// is rehearsed as one.
    fn extent(&self, load: &Load) -> (Option<Nanos>, Option<Bytes>) {
        match load {
            Load::Script(script) => (Some(script.span), Some(script.bytes)),
            Load::Stimulus(stimulus) => {
                let until = stimulus.until;
                let by_bytes = until.bytes.zip(self.bytes_per_second.filter(|rate| *rate > 0)).map(
                    |(bytes, rate)| {
                        Nanos::from(std::time::Duration::from_secs_f64(
                            bytes.0 as f64 / rate as f64,
                        ))
                    },
                );
                let shortest = [until.time, by_bytes].into_iter().flatten().min();
                (shortest.map(|time| time + stimulus.ramp), until.bytes)
            }
        }
    }

    /// Constant rounds for the best outlook; rounds that double for the worst.
    fn iops(&self, step: &Step) -> u64 {
        match self.outlook {
            Outlook::Best => 1 << 20,
            Outlook::Worst => 1 << (step.place.round % 2 * 8 + 10),
        }
    }
}

fn imagined(stimulus: &Stimulus, iops: u64) -> Measurement {
    let elapsed = Nanos::SECOND;
    let weights: u64 = stimulus.streams.iter().map(|s| u64::from(s.weight)).sum::<u64>().max(1);
    let streams = stimulus
        .streams
        .iter()
        .map(|stream| {
            let ios = iops * u64::from(stream.weight) / weights;
            let tally = Tally { ios, bytes: Bytes(ios * stream.size.0), ..Tally::default() };
            StreamTally { op: stream.op, tally }
        })
        .collect();
    Measurement { elapsed, complete: true, streams, ..Measurement::default() }
}

impl Bench for Rehearsal {
    fn settle(&mut self, wanted: &Conditions) -> Result<Conditions, Halt> {
        Ok(wanted.clone())
    }
    fn purge(&mut self) -> Result<Purge, Halt> {
        self.plan.steps.push(Planned {
            phase: "purge".into(),
            round: 0,
            label: "purge".into(),
            time: None,
            bytes: None,
        });
        Ok(Purge {
            method: PurgeMethod::Nothing,
            took: Nanos::ZERO,
            blank: None,
            remark: String::new(),
        })
    }
    fn apply(&mut self, step: &Step) -> Result<Outcome, Halt> {
        let (time, bytes) = self.extent(&step.load);
        self.plan.steps.push(Planned {
            phase: step.place.phase.clone(),
            round: step.place.round,
            label: step.place.label.clone(),
            time,
            bytes,
        });
        let stimulus = step.load.stimulus().ok_or_else(|| {
            Halt::Refused(format!("{}: a script cannot be rehearsed yet", step.place))
        })?;
        let measurement = imagined(stimulus, self.iops(step));
        Ok(Outcome { measurement, gap_before: None })
    }
    fn idle(&mut self, time: Nanos) -> Result<(), Halt> {
        self.plan.steps.push(Planned {
            phase: "idle".into(),
            round: 0,
            label: "idle".into(),
            time: Some(time),
            bytes: None,
        });
        Ok(())
    }
    fn note(&mut self, _: &Note) {}
}
