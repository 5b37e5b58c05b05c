//! Rehearsal: a procedure conducted on a bench that only adds up time and bytes. The plan and the
//! time left come from it, through the procedure's own code.

use std::collections::HashSet;
use std::time::Duration;
use steadfast_domain::measurement::{LoadPart, LogDelta, StreamTally};
use steadfast_domain::power_cut::{CutEvidence, PowerCutOutcome, PowerCutTrial};
use steadfast_domain::{
    Bench, Bytes, Conditions, Demand, Halt, Load, Measurement, Nanos, Note, Op, Outcome, Procedure,
    Purge, PurgeMethod, ScriptLoad, Step, StepPlace, Stimulus, Tally, WriteCache,
};
use steadfast_engine::{PreparedStep, StepRefusal};

/// Maximum number of steps of a plan: 173 days of a load that is journaled once a minute. A file
/// of another tool can ask for billions.
const STEPS_MAX: usize = 250_000;

/// Behavior of the rehearsed drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DriveOutlook {
    /// Every round is like the one before: steady at the first chance.
    Best,
    /// Every round differs greatly from the one before: steady in the last round at the earliest, so
    /// that the phases after steady state may still follow.
    Worst,
}

/// One step of a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedStep {
    /// Phase of the step.
    pub phase: String,
    /// Round of the step; 0 outside rounds.
    pub round: u32,
    /// Point within the round or phase; 0 for a purge or an idle time.
    pub point: u32,
    /// Description of the step, as in reports.
    pub label: String,
    /// Duration; `None` if it depends on the drive's speed.
    pub time: Option<Nanos>,
    /// Bytes moved, if they end the step.
    pub bytes: Option<Bytes>,
    /// Bytes at which its load ends before its time.
    pub bytes_at_most: Option<Bytes>,
    /// Threads and outstanding I/Os; `None` for a purge, an idle time, a script and several loads at
    /// once.
    pub demand: Option<Demand>,
}

impl PlannedStep {
    /// Returns true for a purge or an idle time.
    pub(crate) fn is_pause(&self) -> bool {
        (self.round, self.point) == (0, 0)
    }

    /// Returns a purge or an idle time, which moves no data.
    fn pause(what: &str, time: Option<Nanos>) -> Self {
        PlannedStep {
            phase: what.to_owned(),
            round: 0,
            point: 0,
            label: what.to_owned(),
            time,
            bytes: None,
            bytes_at_most: None,
            demand: None,
        }
    }
}

/// The steps of a run, in order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StepPlan {
    /// All steps, in order.
    pub steps: Vec<PlannedStep>,
    /// Write cache setting that the procedure asks for; `None` if it leaves the cache alone.
    pub write_cache: Option<WriteCache>,
}

impl StepPlan {
    /// Adds the phases that only the other plan has, which follow steady state: the last round
    /// may still reach it. Each is inserted after the phase that it follows in the other plan.
    fn with_later_phases(mut self, other: StepPlan) -> StepPlan {
        let known: HashSet<String> = self.steps.iter().map(|step| step.phase.clone()).collect();
        let mut at = 0;
        for step in other.steps {
            if known.contains(&step.phase) {
                let last = self.steps.iter().rposition(|other| other.phase == step.phase);
                at = last.map_or(at, |last| last + 1);
            } else {
                self.steps.insert(at, step);
                at += 1;
            }
        }
        self
    }
    /// Returns the number of rounds.
    pub fn rounds(&self) -> u32 {
        self.steps.iter().map(|s| s.round).max().unwrap_or(0)
    }
}

/// Returns the total time of the steps of known duration.
pub(crate) fn known_time(steps: &[PlannedStep]) -> Nanos {
    Nanos(steps.iter().filter_map(|step| step.time).map(|time| time.0).sum())
}

/// Returns the total bytes of the steps whose duration depends on the drive's speed.
pub(crate) fn bytes_of_unknown_time(steps: &[PlannedStep]) -> Bytes {
    let unknown = steps.iter().filter(|step| step.time.is_none());
    Bytes(unknown.filter_map(|step| step.bytes).map(|bytes| bytes.0).sum())
}

/// Rehearses a procedure. An assumed rate of sequential writes, in bytes per second, gives steps
/// that end by bytes a duration.
pub fn rehearse(
    procedure: &dyn Procedure,
    outlook: DriveOutlook,
    bytes_per_second: Option<u64>,
) -> Result<StepPlan, Halt> {
    let plan = |outlook| {
        let mut bench = Rehearsal::new(outlook, bytes_per_second);
        procedure.conduct(&mut bench)?;
        Ok(bench.plan)
    };
    match outlook {
        DriveOutlook::Best => plan(DriveOutlook::Best),
        DriveOutlook::Worst => {
            Ok(plan(DriveOutlook::Worst)?.with_later_phases(plan(DriveOutlook::Best)?))
        }
    }
}

/// Returns why one of the procedure's steps cannot be applied, before anything is done; `None` if
/// all can be. Steps that repeat in later rounds are checked once.
pub fn refusal(
    procedure: &dyn Procedure,
    prepare: &mut dyn FnMut(&Step) -> Result<PreparedStep, StepRefusal>,
) -> Option<String> {
    let mut refusal = None;
    // Only a refused step counts; any other halt is reported by the run itself.
    let _ = visit_new_steps(procedure, &mut |step| match prepare(step) {
        Ok(_) => Ok(()),
        Err(why) => {
            let why = format!("{}: {why}", step.place);
            refusal = Some(why.clone());
            Err(Halt::Refused(why))
        }
    });
    refusal
}

/// Returns the steps of a procedure that is steady at once, in order. Steps that repeat in later
/// rounds are included once.
///
/// # Errors
/// Returns an error if the procedure halts regardless of the results of its steps.
pub fn steps_of(procedure: &dyn Procedure) -> Result<Vec<Step>, Halt> {
    let mut steps = Vec::new();
    visit_new_steps(procedure, &mut |step| {
        steps.push(step.clone());
        Ok(())
    })?;
    Ok(steps)
}

/// Rehearses a procedure that is steady at once, and calls `visit` for every step that repeats none
/// of an earlier round. Ends if `visit` returns an error.
fn visit_new_steps(procedure: &dyn Procedure, visit: StepVisitor<'_>) -> Result<(), Halt> {
    let mut bench = Rehearsal::new(DriveOutlook::Best, None);
    bench.visit = Some(visit);
    procedure.conduct(&mut bench)
}

type StepVisitor<'a> = &'a mut dyn FnMut(&Step) -> Result<(), Halt>;

/// A bench that plans the steps.
struct Rehearsal<'a> {
    outlook: DriveOutlook,
    bytes_per_second: Option<u64>,
    /// Time that the load of the last step, which ended early, has run so far.
    running: Nanos,
    plan: StepPlan,
    /// Time of the plan so far, in nanoseconds.
    time_ns: u64,
    /// Called with every step that repeats none of an earlier round.
    visit: Option<StepVisitor<'a>>,
    /// Phase, point and label of the visited steps.
    visited: HashSet<(String, u32, String)>,
}

/// Planned result of one call of `apply`.
struct RehearsedStep {
    time: Option<Nanos>,
    bytes: Option<Bytes>,
    complete: bool,
}

impl Rehearsal<'_> {
    fn new(outlook: DriveOutlook, bytes_per_second: Option<u64>) -> Self {
        Rehearsal {
            outlook,
            bytes_per_second,
            running: Nanos::ZERO,
            plan: StepPlan::default(),
            time_ns: 0,
            visit: None,
            visited: HashSet::new(),
        }
    }

    /// Adds a step to the plan; refuses a plan with too many steps, or with a time that cannot be
    /// counted.
    fn add(&mut self, planned: PlannedStep) -> Result<(), Halt> {
        if self.plan.steps.len() >= STEPS_MAX {
            return Err(Halt::Refused(format!(
                "the run has more than {STEPS_MAX} steps; each step covers up to a minute of a \
                 long load: choose shorter times or smaller counts"
            )));
        }
        let more = planned.time.unwrap_or_default();
        self.time_ns = self.time_ns.checked_add(more.0).ok_or_else(|| {
            Halt::Refused("the run takes more than 584 years; choose shorter times".into())
        })?;
        self.plan.steps.push(planned);
        Ok(())
    }

    /// Plans a step, or the next part of its load.
    fn plan_step(&mut self, step: &Step) -> RehearsedStep {
        if !step.continues {
            self.running = Nanos::ZERO;
        }
        match &step.load {
            Load::Script(script) => match (script.lasts(), step.cut) {
                (Some(time), Some(cut)) => self.plan_part(time, Nanos::ZERO, cut),
                (time, _) => RehearsedStep { time, bytes: Some(script.bytes), complete: true },
            },
            Load::Together(stimuli) => self.plan_concurrent(stimuli, step.cut),
            Load::Stimulus(stimulus) => {
                match (stimulus.until.time, step.cut) {
                    // Limited by bytes alone: its parts are planned as one step.
                    (None, _) => {
                        let bytes = stimulus.until.bytes;
                        let time = bytes.and_then(|bytes| self.write_time(bytes));
                        let time = time.map(|time| time + stimulus.ramp);
                        RehearsedStep { time, bytes, complete: true }
                    }
                    (Some(time), None) => RehearsedStep {
                        time: Some(self.duration(stimulus, time) + stimulus.ramp),
                        bytes: stimulus.until.bytes,
                        complete: true,
                    },
                    (Some(time), Some(part)) => {
                        self.plan_part(self.duration(stimulus, time), stimulus.ramp, part)
                    }
                }
            }
        }
    }

    /// Plans loads that are applied at once; they last as long as the longest of them.
    fn plan_concurrent(&mut self, stimuli: &[Stimulus], cut: Option<Nanos>) -> RehearsedStep {
        let ramp = stimuli.first().map_or(Nanos::ZERO, |stimulus| stimulus.ramp);
        let lasts = |stimulus: &Stimulus| match stimulus.until.time {
            Some(time) => Some(self.duration(stimulus, time)),
            None => stimulus.until.bytes.and_then(|bytes| self.write_time(bytes)),
        };
        let each: Option<Vec<Nanos>> = stimuli.iter().map(lasts).collect();
        let longest = each.and_then(|each| each.into_iter().max());
        match (longest, cut) {
            (Some(time), Some(cut)) => self.plan_part(time, ramp, cut),
            (Some(time), None) => {
                RehearsedStep { time: Some(time + ramp), bytes: None, complete: true }
            }
            (None, _) => {
                let known = stimuli.iter().filter_map(|stimulus| stimulus.until.bytes);
                let bytes = Bytes(known.map(|bytes| bytes.0).sum());
                RehearsedStep { time: None, bytes: Some(bytes), complete: true }
            }
        }
    }

    /// Plans the next part, of length `part`, of a load that takes `lasts` after its ramp, which
    /// precedes the first part.
    fn plan_part(&mut self, lasts: Nanos, ramp: Nanos, part: Nanos) -> RehearsedStep {
        let ramp = if self.running == Nanos::ZERO { ramp } else { Nanos::ZERO };
        let time = part.min(lasts.saturating_sub(self.running));
        self.running += time;
        RehearsedStep { time: Some(time + ramp), bytes: None, complete: self.running >= lasts }
    }

    /// Returns how long a load with a time limit takes: until the limit, or until its bytes are
    /// written at the assumed rate.
    fn duration(&self, stimulus: &Stimulus, time: Nanos) -> Nanos {
        let by_bytes = stimulus.until.bytes.and_then(|bytes| self.write_time(bytes));
        by_bytes.map_or(time, |by_bytes| by_bytes.min(time))
    }

    /// Returns how long writing these bytes takes at the assumed rate; `None` without one.
    fn write_time(&self, bytes: Bytes) -> Option<Nanos> {
        let rate = self.bytes_per_second.filter(|rate| *rate > 0)?;
        let seconds = Duration::try_from_secs_f64(bytes.0 as f64 / rate as f64).ok()?;
        Some(Nanos::from(seconds))
    }

    /// Returns the IOPS of a step: constant for the best outlook, far apart from round to round
    /// for the worst. In the best case filling the drive takes negligible time.
    fn iops(&self, step: &Step) -> u64 {
        match self.outlook {
            DriveOutlook::Best => 1 << 24,
            DriveOutlook::Worst => 1 << (step.place.round % 2 * 8 + 6),
        }
    }

    /// Returns the counters of a drive whose write amplification is constant for the best outlook,
    /// and far apart from round to round for the worst.
    fn log(&self, step: &Step, written: Bytes) -> LogDelta {
        let amplification = match self.outlook {
            DriveOutlook::Best => 1,
            DriveOutlook::Worst => 1 + u64::from(step.place.round % 2),
        };
        LogDelta {
            host_written: Some(written),
            nand_written: Some(Bytes(written.0.saturating_mul(amplification))),
            ..LogDelta::default()
        }
    }
}

/// Returns the measurement of a drive of constant speed.
fn rehearsed(stimulus: &Stimulus, iops: u64, planned: &RehearsedStep) -> Measurement {
    let elapsed = planned.time.unwrap_or(Nanos::SECOND).max(Nanos::from_millis(1));
    let total_ios = (iops as f64 * elapsed.as_secs_f64()) as u64;
    let weights: u64 = stimulus.streams.iter().map(|s| u64::from(s.weight)).sum::<u64>().max(1);
    let streams = stimulus
        .streams
        .iter()
        .map(|stream| {
            let share = u128::from(total_ios) * u128::from(stream.weight) / u128::from(weights);
            let ios = share as u64;
            let bytes = Bytes(ios.saturating_mul(stream.size.0));
            StreamTally { op: stream.op, tally: Tally { ios, bytes, ..Tally::default() } }
        })
        .collect();
    Measurement { elapsed, complete: planned.complete, streams, ..Measurement::default() }
}

/// Returns the measurement of loads that are applied at once.
fn rehearsed_concurrent(stimuli: &[Stimulus], iops: u64, planned: &RehearsedStep) -> Measurement {
    let mut combined = Measurement::default();
    for stimulus in stimuli {
        let load = rehearsed(stimulus, iops / stimuli.len() as u64, planned);
        let streams = u32::try_from(load.streams.len()).unwrap_or(u32::MAX);
        combined.parts.push(LoadPart { streams, elapsed: load.elapsed });
        combined.streams.extend(load.streams);
        (combined.elapsed, combined.complete) = (load.elapsed, load.complete);
    }
    combined
}

/// Returns the measurement of a drive that keeps up with a script, whose I/Os are assumed to be
/// spread evenly over its time.
fn rehearsed_replay(script: &ScriptLoad, planned: &RehearsedStep) -> Measurement {
    let elapsed = planned.time.unwrap_or(Nanos::SECOND).max(Nanos::from_millis(1));
    let whole = script.lasts().map_or(elapsed, |lasts| lasts.max(elapsed));
    let part =
        |total: u64| (u128::from(total) * u128::from(elapsed.0) / u128::from(whole.0)) as u64;
    let counts = script.counts;
    let moving = counts.reads + counts.writes;
    let mut streams = Vec::new();
    for op in Op::ALL.into_iter().filter(|op| counts.get(*op) > 0) {
        let ios = counts.get(op);
        let moved = if matches!(op, Op::Read | Op::Write) { ios } else { 0 };
        let share = u128::from(script.bytes.0) * u128::from(moved) / u128::from(moving.max(1));
        let bytes = Bytes(part(share as u64));
        streams
            .push(StreamTally { op, tally: Tally { ios: part(ios), bytes, ..Tally::default() } });
    }
    Measurement { elapsed, complete: planned.complete, streams, ..Measurement::default() }
}

impl Bench for Rehearsal<'_> {
    fn settle(&mut self, wanted: &Conditions) -> Result<Conditions, Halt> {
        self.plan.write_cache = wanted.write_cache;
        Ok(wanted.clone())
    }
    fn purge(&mut self) -> Result<Purge, Halt> {
        self.add(PlannedStep::pause("purge", None))?;
        Ok(Purge::new(PurgeMethod::Simulated, Nanos::ZERO))
    }
    fn apply(&mut self, step: &Step) -> Result<Outcome, Halt> {
        if let Some(visit) = &mut self.visit {
            let StepPlace { phase, point, label, .. } = step.place.clone();
            if self.visited.insert((phase, point, label)) {
                visit(step)?;
            }
        }
        let planned = self.plan_step(step);
        self.add(PlannedStep {
            phase: step.place.phase.clone(),
            round: step.place.round,
            point: step.place.point,
            label: step.place.label.clone(),
            time: planned.time,
            bytes: planned.bytes,
            bytes_at_most: step
                .load
                .stimulus()
                .and_then(|stimulus| stimulus.until.time.and(stimulus.until.bytes)),
            demand: step.load.stimulus().map(|stimulus| stimulus.demand),
        })?;
        let mut measurement = match &step.load {
            Load::Stimulus(stimulus) => rehearsed(stimulus, self.iops(step), &planned),
            Load::Together(stimuli) => rehearsed_concurrent(stimuli, self.iops(step), &planned),
            Load::Script(script) => rehearsed_replay(script, &planned),
        };
        measurement.sensed.log = Some(self.log(step, measurement.written()));
        Ok(Outcome { measurement, gap_before: None })
    }
    fn idle(&mut self, time: Nanos) -> Result<(), Halt> {
        self.add(PlannedStep::pause("idle", Some(time)))
    }
    fn cut_power(&mut self, trial: &PowerCutTrial) -> Result<PowerCutOutcome, Halt> {
        let area = Bytes(trial.blocks * trial.block.0);
        let write = PlannedStep::pause("write until the power is cut", Some(trial.cut_after));
        let read = PlannedStep {
            bytes: Some(area),
            ..PlannedStep::pause("read back", self.write_time(area))
        };
        for step in [write, read] {
            let phase = "power-cut".to_owned();
            self.add(PlannedStep { phase, point: trial.cycle, ..step })?;
        }
        let evidence = CutEvidence::Simulated;
        Ok(PowerCutOutcome { evidence, acknowledged: 1, ..PowerCutOutcome::default() })
    }
    fn note(&mut self, _: &Note) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::script::{OpCounts, Timing};
    use steadfast_domain::stimulus::{ActiveRange, LoadLimits};
    use steadfast_domain::{Findings, Record};

    /// Plays a script, cut every minute, until it is complete.
    struct ScriptReplay(ScriptLoad);

    impl Procedure for ScriptReplay {
        fn conduct(&self, bench: &mut dyn Bench) -> Result<(), Halt> {
            let load = Load::Script(self.0.clone());
            let place = StepPlace::new("replay", 0, 1, "list");
            let mut step = Step::part(place, load, Nanos::from_secs(60), false);
            let (mut reads, mut bytes) = (0, 0);
            let mut complete = false;
            while !complete {
                let done = bench.apply(&step)?.measurement;
                reads += done.direction(Op::Read).ios;
                bytes += done.bytes().0;
                complete = done.complete;
                step.continues = true;
            }
            assert_eq!((reads, bytes), (1000, 6_000_000));
            Ok(())
        }
        fn study(&self, _: &Record) -> Findings {
            unreachable!("it is only rehearsed")
        }
    }

    /// A load of 150 s after a ramp of 20 s takes 170 s, alone or with another one, in one piece
    /// or cut every minute.
    #[test]
    fn a_ramp_counts_once() {
        let until = LoadLimits::time(Nanos::from_secs(150));
        let range = ActiveRange::new(Bytes(0), Bytes::gib(1));
        let stimulus =
            Stimulus::new(Vec::new(), range, Demand::new(1, 1), until).ramp(Nanos::from_secs(20));
        let minute = Some(Nanos::from_secs(60));
        let together = Load::Together(vec![stimulus.clone(), stimulus.clone()]);
        for (load, cut, expected) in [
            (Load::Stimulus(stimulus.clone()), None, &[170][..]),
            (Load::Stimulus(stimulus), minute, &[80, 60, 30]),
            (together.clone(), None, &[170]),
            (together, minute, &[80, 60, 30]),
        ] {
            let place = StepPlace::new("load", 0, 1, "ramp");
            let mut step = Step { cut, ..Step::alone(place, load) };
            let mut bench = Rehearsal::new(DriveOutlook::Best, None);
            while !bench.apply(&step).unwrap().measurement.complete {
                step.continues = true;
            }
            let times = bench.plan.steps.iter().map(|step| step.time.unwrap().0 / 1_000_000_000);
            assert_eq!(times.collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn the_timing_determines_the_duration_of_a_script() {
        let mut script = ScriptLoad {
            counts: OpCounts { reads: 1000, writes: 500, discards: 0, flushes: 0 },
            bytes: Bytes(6_000_000),
            span: Nanos::from_secs(200),
            largest: Bytes(4096),
            unit: Bytes(4096),
            reach: Bytes(1 << 20),
            timing: Timing::Faster { thousandths: 2000 },
            ..ScriptLoad::new("list", Demand::new(1, 1))
        };
        let plan =
            |script: &ScriptLoad| rehearse(&ScriptReplay(script.clone()), DriveOutlook::Best, None);
        let planned = plan(&script).unwrap();
        assert_eq!((planned.steps.len(), known_time(&planned.steps)), (2, Nanos::from_secs(100)));
        // A script of 292 years is refused before its parts exhaust the memory.
        let endless = ScriptLoad { span: Nanos(1 << 63), ..script.clone() };
        assert!(matches!(plan(&endless), Err(Halt::Refused(_))));
        // In a closed loop the duration depends on the device.
        script.timing = Timing::Closed;
        let planned = plan(&script).unwrap();
        assert_eq!((planned.steps.len(), known_time(&planned.steps)), (1, Nanos::ZERO));
        assert_eq!(bytes_of_unknown_time(&planned.steps), Bytes(6_000_000));
    }
}
