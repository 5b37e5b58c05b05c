//! Marks that programs set in running captures.
//!
//! Captures read marks from their files, and other programs append to these, both with the production
//! code (`recorder::MarkFile`, `recorder::mark_in`). A mark that was reported as written is in every
//! capture that it names, once, if the capture ends by itself.

use crate::dice::Dice;
use crate::directory::SimulatedDirectory;
use crate::disk::ROOT;
use crate::fault::{CallKind, InjectedFault, PlannedFault, PlantedBug};
use crate::shrink::{Shrink, earlier_faults, fewer_faults};
use crate::world::{Process, TrialResult, World};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use steadfast_domain::io_event::Mark;
use steadfast_recorder::{MarkError, MarkFile, mark_in};
use steadfast_runner::storage::RunStorage;

const DIRECTORY: &str = "captures";

/// Captures that run at the same time, and programs that mark.
#[derive(Debug, Clone)]
pub struct MarksScenario {
    seed: u64,
    /// Number of times that each capture reads its marks before it ends.
    captures: Vec<u64>,
    /// Number of marks that each other program sets.
    markers: Vec<u64>,
    faults: Vec<PlannedFault>,
}

impl MarksScenario {
    fn new(seed: u64) -> MarksScenario {
        use InjectedFault::{Error, Full, Interrupted, Kill, NoSpace, Short};
        let all = [Error, Error, Full, Interrupted, Kill, NoSpace, Short, Short];
        let mut dice = Dice::new(seed ^ 0x6d61_726b_7365_7421);
        let captures = (0..1 + dice.below(2)).map(|_| 1 + dice.below(12)).collect();
        let markers = (0..1 + dice.below(3)).map(|_| 1 + dice.below(4)).collect();
        let fault =
            |dice: &mut Dice| PlannedFault { call: 1 + dice.below(120), fault: *dice.choose(&all) };
        let faults = (0..dice.below(4)).map(|_| fault(&mut dice)).collect();
        MarksScenario { seed, captures, markers, faults }
    }

    /// Returns the number of faults.
    #[cfg(test)]
    pub fn faults(&self) -> usize {
        self.faults.len()
    }
}

impl Shrink for MarksScenario {
    fn smaller(&self) -> Vec<MarksScenario> {
        let mut smaller = Vec::new();
        if self.captures.len() > 1 {
            smaller.push(MarksScenario { captures: self.captures[1..].to_vec(), ..self.clone() });
        }
        if self.markers.len() > 1 {
            smaller.push(MarksScenario { markers: self.markers[1..].to_vec(), ..self.clone() });
        }
        let faults = fewer_faults(&self.faults).into_iter().chain(earlier_faults(&self.faults));
        smaller.extend(faults.map(|faults| MarksScenario { faults, ..self.clone() }));
        smaller
    }
}

/// A mark that a program reported as written.
#[derive(Debug, Clone)]
struct ReportedMark {
    mark: Mark,
    traces: Vec<PathBuf>,
}

/// Plays the scenario of a seed.
pub fn play_seed(seed: u64, bug: Option<PlantedBug>) -> (MarksScenario, TrialResult) {
    let scenario = MarksScenario::new(seed);
    let result = play(&scenario, bug);
    (scenario, result)
}

/// Plays a scenario.
pub fn play(scenario: &MarksScenario, bug: Option<PlantedBug>) -> TrialResult {
    let world = World::new(scenario.seed, bug, true);
    world.require(mark_captures(&world, scenario));
    world.take_result()
}

fn mark_captures(world: &Arc<World>, scenario: &MarksScenario) -> Result<(), String> {
    world.state().disk.create(ROOT, DIRECTORY, true).map_err(|error| error.to_string())?;
    world.state().log(|| format!("-- {scenario:?}"));
    let reported = Mutex::new(Vec::new());
    let count = scenario.captures.len();
    let processes = world.start(count + scenario.markers.len(), &scenario.faults);
    let (capturing, marking) = processes.split_at(count);
    let ends: Vec<Option<Vec<Mark>>> = thread::scope(|scope| {
        for (process, marks) in marking.iter().zip(&scenario.markers) {
            let reported = &reported;
            scope.spawn(move || process.run(|| set_marks(process, *marks, reported)));
        }
        let start = |(process, reads): (&Process, &u64)| {
            let (process, reads) = (process.clone(), *reads);
            scope.spawn(move || process.run(|| capture(&process, reads)))
        };
        let threads: Vec<_> = capturing.iter().zip(&scenario.captures).map(start).collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or(None)?.ok()).collect()
    });
    let reported = reported.into_inner().unwrap_or_else(PoisonError::into_inner);
    world.state().log(|| format!("       {reported:?}, {ends:?}"));
    for (number, end) in ends.iter().enumerate() {
        let Some(marks) = end else { continue };
        let names: BTreeSet<&String> = marks.iter().map(|mark| &mark.name).collect();
        if names.len() < marks.len() {
            return Err(format!("capture {number} has a mark twice: {marks:?}"));
        }
        let is_named = |one: &&ReportedMark| one.traces.contains(&trace_of(number));
        if let Some(lost) = reported.iter().filter(is_named).find(|one| !marks.contains(&one.mark))
        {
            return Err(format!("capture {number} lacks {lost:?}, of {marks:?}"));
        }
    }
    world.state().disk.check_bystanders()?;
    check_end(world)
}

/// Checks that the next program finds no capture and removes the files of killed ones.
fn check_end(world: &Arc<World>) -> Result<(), String> {
    let process = &world.start(1, &[])[0];
    let directory = directory(process)?;
    let marked = mark_in(&directory, "too late", None, 7);
    let names = RunStorage::names(&directory).map_err(|error| error.to_string())?;
    match marked {
        Err(MarkError::NoCapture) if names.is_empty() => Ok(()),
        _ => Err(format!("after all captures: {marked:?}, and the files {names:?}")),
    }
}

fn trace_of(capture: usize) -> PathBuf {
    format!("/traces/{capture}.parquet").into()
}

fn directory(process: &Process) -> Result<SimulatedDirectory, String> {
    let root = SimulatedDirectory::root(process);
    root.enter(OsStr::new(DIRECTORY)).map_err(|error| error.to_string())
}

/// Waits for one turn.
fn wait(process: &Process) {
    process.call(CallKind::Idle, &String::new, |_, _| ());
}

/// Reads the marks of a capture until its end, and returns them.
fn capture(process: &Process, reads: u64) -> Result<Vec<Mark>, String> {
    let trace = trace_of(process.number);
    let mut file =
        MarkFile::in_directory(directory(process)?, &trace).map_err(|error| error.to_string())?;
    let mut marks = Vec::new();
    for _ in 0..reads {
        // What cannot be read now is read later.
        marks.extend(file.read(0).unwrap_or_default());
        wait(process);
    }
    marks.extend(file.end(0).map_err(|error| error.to_string())?);
    Ok(marks)
}

/// Sets marks in all running captures, as `steadfast mark` does.
fn set_marks(process: &Process, count: u64, reported: &Mutex<Vec<ReportedMark>>) {
    for number in 0..count {
        wait(process);
        let name = format!("mark {number} of {}", process.number);
        let at_ns = process.world.state().monotonic_ms * 1_000_000;
        let Ok(directory) = directory(process) else { continue };
        if let Ok(marked) = mark_in(&directory, &name, None, at_ns) {
            let (mark, traces) = (Mark { at_ns, name }, marked.traces);
            let mut reported = reported.lock().unwrap_or_else(PoisonError::into_inner);
            reported.push(ReportedMark { mark, traces });
        }
    }
}
