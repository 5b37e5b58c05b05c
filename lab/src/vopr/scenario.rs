//! Scenarios, each determined by a seed.

use crate::dice::Dice;
use crate::drive::RememberedDrive;
use crate::fault::{InjectedFault, PlannedFault};
use crate::shrink::{Shrink, earlier_faults, fewer_faults, smaller_lives};
use crate::workload::{sequence, workload};
use crate::world::DRIVES_MAX;
use std::sync::LazyLock;
use steadfast_domain::{Nanos, Profile, Settings};
use steadfast_engine::sim::{DriveSpec, drive};
use steadfast_runner::{RunPlan, StartSync};

/// A run into which scenarios inject faults.
pub struct PlannedRun {
    pub name: &'static str,
    /// Changes the settings that differ from those of every short run.
    adjust: fn(&mut Settings),
}

const fn run(name: &'static str, adjust: fn(&mut Settings)) -> PlannedRun {
    PlannedRun { name, adjust }
}

/// Number of runs that existed when the regression seeds of `tests.rs` were found.
#[cfg(test)]
pub const FIRST_RUNS: usize = 6;

/// All runs, which are short. New ones are added before the longer ones.
pub const RUNS: [PlannedRun; 30] = [
    run("throughput", |s| s.rounds_max = Some(2)),
    run("latency", |s| s.rounds_max = Some(1)),
    run("iops", |s| s.rounds_max = Some(1)),
    run("verify-write", |_| ()),
    run("commit", |s| {
        set(s, &[("committers", "1"), ("block-sizes", "4K")]);
        s.rounds_max = Some(2);
    }),
    run("fill", |s| set(s, &[("levels", "0"), ("idle-times", "10s")])),
    run("power-cut", |s| {
        set(s, &[("cycles", "3"), ("within", "1s"), ("area", "1"), ("block", "64")]);
        set(s, &[("flush-every", "4")]);
    }),
    run("load-curve", |s| {
        set(s, &[("preconditioning", "none"), ("points", "50,102"), ("settling", "100ms")]);
        set(s, &[("point-time", "1s"), ("point-time-max", "1s")]);
    }),
    run("neighbors", |s| set(s, &[("cycles", "2"), ("controls", "none")])),
    run("idle-exit", |s| {
        set(s, &[("idle-times", "10ms,1s"), ("samples", "3"), ("most", "3s")]);
        set(s, &[("baseline-time", "1s")]);
    }),
    run("wsat", |s| {
        set(s, &[("between-time", "2s"), ("least-fills", "0"), ("histogram-time", "1s")]);
        s.rounds_max = Some(2);
    }),
    run("replay-native", |s| {
        set(s, &[("preconditioning", "none"), ("pauses", "keep")]);
        s.workload = Some(Box::new(workload()));
    }),
    run("multi-wsat", |s| {
        set(s, &[("preconditioning", "none"), ("between-time", "2s"), ("least-fills", "0")]);
        s.workload = Some(Box::new(workload()));
        s.rounds_max = Some(2);
    }),
    run("composite", |s| {
        set(s, &[("between-time", "2s"), ("least-fills", "0"), ("histogram-time", "1s")]);
        s.rounds_max = Some(2);
    }),
    run("xsr", |s| set(s, &[("first-time", "3s"), ("middle-time", "2s"), ("last-time", "3s")])),
    run("hir", |s| {
        set(s, &[("between-time", "2s"), ("idle-times", "1s,2s"), ("accesses", "2")]);
        s.rounds_max = Some(2);
    }),
    run("write-amplification", |s| {
        set(s, &[("workloads", "uniform"), ("used", "10"), ("window", "10"), ("limit", "1")]);
    }),
    run("individual-streams", |s| {
        set(s, &[("preconditioning", "none"), ("between-time", "2s"), ("least-fills", "0")]);
        s.workload = Some(Box::new(workload()));
        s.rounds_max = Some(2);
    }),
    run("rwsw-dirth", |s| {
        set(s, &[("preconditioning", "none"), ("run-in", "1s"), ("histogram-time", "1s")]);
        s.workload = Some(Box::new(workload()));
        s.rounds_max = Some(1);
    }),
    run("sequence", |s| s.sequence = Some(Box::new(sequence()))),
    run("hdd-iops", |s| set(s, &[("zones", "2")])),
    run("hdd-throughput", |s| set(s, &[("zones", "3")])),
    run("portrait", |s| {
        set(s, &[("length", "1h"), ("fill.idle-times", "10s"), ("latency.histogram-time", "1s")]);
        set(s, &[("commit.committers", "1"), ("commit.between-time", "2s")]);
        set(s, &[("load-curve.points", "50"), ("load-curve.point-time", "1s")]);
        set(s, &[("load-curve.point-time-max", "1s"), ("idle-exit.idle-times", "10ms")]);
        set(s, &[("idle-exit.samples", "3"), ("idle-exit.most", "1s")]);
        set(s, &[("idle-exit.baseline-time", "1s")]);
        s.rounds_max = Some(1);
    }),
    run("factors", |s| {
        set(s, &[("rounds", "2"), ("used", "100"), ("entropies", "0,100")]);
        set(s, &[("random-percents", "0,100"), ("alignments", "4K"), ("sustained-steps", "2")]);
    }),
    run("suite", |s| s.rounds_max = Some(1)),
    run("dirth", |s| {
        set(s, &[("histogram-time", "1s"), ("pre-write", "1s"), ("loops", "2,1")]);
        set(s, &[("point-pre-write", "1s"), ("between-time", "2s")]);
        // A round with a gap does not count.
        s.rounds_max = Some(6);
    }),
    run("composite-dirth", |s| {
        set(s, &[("histogram-time", "1s"), ("pre-write", "1s"), ("loops", "2,1")]);
        set(s, &[("point-pre-write", "1s"), ("between-time", "2s")]);
        s.rounds_max = Some(6);
    }),
    run("wsat-campaign", |s| {
        set(s, &[("workloads", "oltp,video"), ("between-time", "2s"), ("least-fills", "0")]);
        set(s, &[("histogram-time", "1s")]);
        s.rounds_max = Some(2);
    }),
    run("dirth-campaign", |s| {
        set(s, &[("workloads", "metadata,composite"), ("histogram-time", "1s")]);
        set(s, &[("pre-write", "1s"), ("loops", "2,1"), ("point-pre-write", "1s")]);
        set(s, &[("between-time", "2s")]);
        s.rounds_max = Some(6);
    }),
    run("tkperf", |s| {
        set(s, &[("tests", "tp,writesat")]);
        s.rounds_max = Some(2);
    }),
];

/// Number of runs before the longer ones, which are chosen a quarter as often.
const SHORT_RUNS: usize = 22;

/// Runs that are played on several targets: those with few calls, and one whose rounds span several
/// phases. New ones are added at the end.
const GROUP_RUNS: [&str; 8] = [
    "throughput", "verify-write", "commit", "fill", "load-curve", "idle-exit", "factors",
    "sequence",
];

/// Number of them that existed when the regression seeds of `tests.rs` were found.
#[cfg(test)]
const FIRST_GROUP_RUNS: usize = 6;

fn set(settings: &mut Settings, parameters: &[(&str, &str)]) {
    for (name, value) in parameters {
        settings.set(name, value);
    }
}

/// A drive of 64 MiB, the smallest that every run accepts. It is slow, so that a step has few I/Os.
pub static DRIVE: LazyLock<DriveSpec> = LazyLock::new(|| {
    let small = drive("small").unwrap_or_else(|| &steadfast_engine::sim::drives()[0]);
    DriveSpec { logical_pages: 1 << 14, superblocks: 40, program_ns: 20_000_000, ..small.clone() }
});

impl PlannedRun {
    /// Returns true if the run compares what it reads: its findings must report wrong data from the
    /// drive.
    fn compares(&self) -> bool {
        matches!(self.name, "verify-write" | "power-cut")
    }

    /// Returns the plan of the run.
    pub fn plan(&self) -> RunPlan {
        let mut settings = Settings::new(self.name, 7);
        settings.profile = Profile::Quick;
        settings.step_time = Some(Nanos::SECOND);
        (self.adjust)(&mut settings);
        let drive = RememberedDrive::new(&DRIVE);
        RunPlan::new("steadfast 0", drive.now_unix_ms(), "sim", drive.device().clone(), settings)
    }
}

/// Programs that a user starts after the previous ones have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserAction {
    Continue,
    /// Resumes the run twice at the same time.
    ContinueTwice,
    Restore,
    /// Restores the host while the run is resumed.
    RestoreAndContinue,
}

/// One start of programs, and the faults that hit them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Life {
    pub action: UserAction,
    pub faults: Vec<PlannedFault>,
}

/// The history of a disturbed run. After its lives, the run is resumed without faults.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scenario {
    pub seed: u64,
    /// Position in [`RUNS`].
    pub run: usize,
    /// Number of targets; more than one are tested by a group of runs.
    pub targets: usize,
    /// Loads of a group that start together.
    pub together: StartSync,
    /// True if a drive is factory-new in every process.
    pub drive_forgets: bool,
    /// True if the host's settings survive a power loss.
    pub setting_is_kept: bool,
    pub lives: Vec<Life>,
}

impl Scenario {
    /// Returns the scenario of a seed. `calls` has the number of calls of each undisturbed run from
    /// which the seed chooses.
    pub fn new(seed: u64, calls: &[u64]) -> Scenario {
        let mut dice = Dice::new(seed);
        let run = choose_run(&mut dice, calls.len());
        Scenario::with_dice(seed, run, calls[run], &mut dice)
    }

    /// Returns the scenario of a seed that plays this run.
    #[cfg(test)]
    pub fn of_run(seed: u64, run: usize, calls: u64) -> Scenario {
        Scenario::with_dice(seed, run, calls, &mut Dice::new(seed))
    }

    /// Returns the scenario of a seed that plays a group of runs.
    pub fn of_group(seed: u64, calls: &[u64]) -> Scenario {
        Scenario::of_group_of(&GROUP_RUNS, seed, calls)
    }

    /// Returns the scenario of a seed that plays a group of one of the first runs.
    #[cfg(test)]
    pub fn of_first_group(seed: u64, calls: &[u64]) -> Scenario {
        Scenario::of_group_of(&GROUP_RUNS[..FIRST_GROUP_RUNS], seed, calls)
    }

    fn of_group_of(names: &[&str], seed: u64, calls: &[u64]) -> Scenario {
        let mut dice = Dice::new(seed ^ 0x6772_6f75_7073_2121);
        let name = dice.choose(names);
        let run = RUNS.iter().position(|run| run.name == *name).unwrap_or(0);
        let targets = 2 + dice.below(DRIVES_MAX as u64 - 1);
        let calls = calls[run] * targets;
        let scenario = Scenario::with_dice(seed, run, calls, &mut dice);
        let choices = [StartSync::Steps, StartSync::Steps, StartSync::Phases, StartSync::Start];
        let together = choices[(seed % 4) as usize];
        Scenario { targets: targets as usize, together, ..scenario }
    }

    fn with_dice(seed: u64, run: usize, calls: u64, dice: &mut Dice) -> Scenario {
        let drive_forgets = dice.percent(70);
        let setting_is_kept = dice.percent(50);
        let count = 1 + dice.below(4);
        let mut lives: Vec<Life> =
            (0..count).map(|_| choose_life(dice, calls, RUNS[run].compares())).collect();
        // Host errors have dice of their own, so that they do not change the rest of the scenario.
        let mut host_dice = Dice::new(seed ^ 0x686f_7374_6572_726f);
        for life in &mut lives {
            if host_dice.percent(25) {
                let call = choose_call(&mut host_dice, calls);
                life.faults.insert(0, PlannedFault { call, fault: InjectedFault::HostError });
            }
        }
        let together = StartSync::Steps;
        Scenario { seed, run, targets: 1, together, drive_forgets, setting_is_kept, lives }
    }

    /// Returns the faults of all lives.
    pub fn faults(&self) -> impl Iterator<Item = InjectedFault> {
        self.lives.iter().flat_map(|life| life.faults.iter().map(|planned| planned.fault))
    }
}

impl Shrink for Scenario {
    fn smaller(&self) -> Vec<Scenario> {
        let mut smaller = Vec::new();
        if self.targets > 2 {
            smaller.push(Scenario { targets: self.targets - 1, ..self.clone() });
        }
        let lives = smaller_lives(&self.lives, |life| {
            let with = |faults| Life { faults, action: life.action };
            let mut smaller: Vec<Life> = fewer_faults(&life.faults).into_iter().map(with).collect();
            if life.action != UserAction::Continue {
                smaller.push(Life { action: UserAction::Continue, ..life.clone() });
            }
            smaller.extend(earlier_faults(&life.faults).into_iter().map(with));
            smaller
        });
        smaller.extend(lives.into_iter().map(|lives| Scenario { lives, ..self.clone() }));
        smaller
    }
}

/// Chooses a run. If all of [`RUNS`] are available, the longer ones are chosen a quarter as often as
/// the others.
fn choose_run(dice: &mut Dice, runs: usize) -> usize {
    let short = runs.min(SHORT_RUNS);
    let chances = if runs > short { 4 } else { 1 };
    let chosen = dice.below((short * chances + runs - short) as u64) as usize;
    if chosen < short * chances { chosen / chances } else { short + chosen - short * chances }
}

fn choose_life(dice: &mut Dice, calls: u64, compares: bool) -> Life {
    use UserAction::{Continue, ContinueTwice, Restore, RestoreAndContinue};
    let actions =
        [Continue, Continue, Continue, Continue, ContinueTwice, Restore, RestoreAndContinue];
    let mut faults = Vec::new();
    for _ in 0..dice.below(4) {
        let call = choose_call(dice, calls);
        faults.push(PlannedFault { call, fault: choose_fault(dice, compares) });
    }
    let end = match dice.below(5) {
        0 | 1 => Some(InjectedFault::Kill),
        2 | 3 => Some(InjectedFault::PowerLoss),
        _ => None,
    };
    if let Some(fault) = end {
        // Some end just after another fault, before the program has handled it.
        let call = match faults.last() {
            Some(last) if dice.percent(40) => last.call + 1 + dice.below(6),
            _ => choose_call(dice, calls),
        };
        faults.push(PlannedFault { call, fault });
    }
    Life { action: *dice.choose(&actions), faults }
}

/// Chooses a call: any, one of the first, or one of the last.
pub fn choose_call(dice: &mut Dice, calls: u64) -> u64 {
    match dice.below(4) {
        0 => 1 + dice.below(40),
        1 => 1 + calls.saturating_sub(dice.below(25)),
        _ => 1 + dice.below(calls),
    }
}

fn choose_fault(dice: &mut Dice, compares: bool) -> InjectedFault {
    use InjectedFault::{
        ClockJump, DeviceErrors, DeviceGone, DeviceReset, DeviceStall, Error, Full, Interrupted,
        LostSync, NoSpace, Short, WrongData,
    };
    let jump = dice.below(7_200_000) as i64 - 3_600_000;
    let faults = [
        Error,
        Error,
        NoSpace,
        Full,
        Short,
        Interrupted,
        LostSync,
        LostSync,
        ClockJump(jump),
        DeviceErrors,
        DeviceReset,
        DeviceStall,
        DeviceGone,
    ];
    if compares && dice.percent(20) { WrongData } else { *dice.choose(&faults) }
}
