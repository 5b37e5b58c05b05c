//! Purges by device tools that fail.
//!
//! The production code (`host::purge`) plans a purge of a simulated drive, runs its tools and reads
//! the drive back. The tools and the clock are simulated (`host::ProgramHost`), and so is the drive:
//! a file below simulated `/sys`, `/proc` and `/dev`.

use crate::dice::Dice;
use crate::fault::{CallKind, InjectedFault, PlannedFault, PlantedBug};
use crate::memory;
use crate::shrink::{Shrink, earlier_faults, fewer_faults, smaller_lives};
use crate::tool_drive::{DRIVES, DriveKind, SimulatedMachine};
use crate::world::{Process, TrialResult, World};
use std::cell::RefCell;
use std::io::{self, ErrorKind};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use steadfast_domain::purge::PurgeCommandRecord;
use steadfast_domain::record::HostChange;
use steadfast_domain::{Purge, PurgeChoice, PurgeFailure, PurgeMethod};
use steadfast_host::{
    HostError, HostedProgram, OutputStream, ProgramCall, ProgramHost, PurgeCommandLine,
    PurgeOptions, PurgeProgress, PurgeWatch, purge_simulated,
};

/// Runs of the tools in a purge that no fault hits; later ones hit none.
const RUNS: u64 = 14;

/// The same if the user's command purges: at most three queries, its version and the command.
const COMMAND_RUNS: u64 = 5;

/// Largest number of bytes that a purge may hold: the kept ends of two outputs as bytes and, each
/// byte replaced by three, as text, and copies of one of them.
const MEMORY_MAX: usize = 12 << 20;

/// Largest length of an error, in characters: an excerpt of an output and the text around it.
const ERROR_MAX: usize = 4000;

/// Longest time that a purge may take: that of a purge that the drive carries out by itself, and of
/// a command.
const PURGE_MAX: Duration = Duration::from_secs((48 + 2 * 12 + 1) * 3600);

/// A fault of a device tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolFault {
    /// It cannot be started.
    Start(i32),
    /// It is missing from now on.
    Removed,
    /// It exits with 1 or is killed by a signal, with or without having done its work.
    Exit { raw_status: i32, has_worked: bool },
    /// It never ends.
    Hang { has_worked: bool },
    /// It takes half of the time that it may take.
    Late,
    /// It prints nothing.
    Silent,
    /// It prints bytes that are no text.
    Garbage,
    /// Its output is cut off.
    Torn,
    /// It prints megabytes more to one of its outputs.
    Flood(OutputStream),
    /// A process that it leaves keeps its output open.
    KeptOutput,
    /// A process that it leaves does its work, and ends after this time.
    Left(Duration),
    /// It succeeds, and the drive does nothing.
    NoWork,
    /// The drive works without end.
    EndlessWork,
    /// The progress of the drive's work starts again.
    Restarted,
}

impl ToolFault {
    fn draw(dice: &mut Dice) -> ToolFault {
        let has_worked = dice.percent(50);
        match dice.below(18) {
            0 => ToolFault::Start(*dice.choose(&[libc::ENOENT, libc::EACCES, libc::EAGAIN])),
            1 => ToolFault::Removed,
            2 | 3 => ToolFault::Exit { raw_status: *dice.choose(&[1 << 8, 9, 11]), has_worked },
            4 => ToolFault::Hang { has_worked },
            5 => ToolFault::Late,
            6 => ToolFault::Silent,
            7 => ToolFault::Garbage,
            8 => ToolFault::Torn,
            9 => ToolFault::Flood(OutputStream::Stdout),
            10 => ToolFault::Flood(OutputStream::Stderr),
            11 => ToolFault::KeptOutput,
            12..=14 => ToolFault::Left(Duration::from_secs(*dice.choose(&[5, 5000, 500_000]))),
            15 => ToolFault::NoWork,
            16 => ToolFault::EndlessWork,
            _ => ToolFault::Restarted,
        }
    }
}

/// A purge of the drive.
#[derive(Debug, Clone)]
struct PurgeLife {
    choice: PurgeChoice,
    failed: PurgeFailure,
    faults: Vec<PlannedFault>,
}

impl PurgeLife {
    fn new(kind: DriveKind, dice: &mut Dice) -> PurgeLife {
        let choice = *dice.choose(kind.choices());
        let failed = *dice.choose(&[PurgeFailure::Halt, PurgeFailure::Continue]);
        let is_command = choice == PurgeChoice::Method(PurgeMethod::VendorCommand);
        let runs = if is_command { COMMAND_RUNS } else { RUNS };
        let mut faults = Vec::new();
        for _ in 0..dice.below(4) {
            let (call, fault) = (1 + dice.below(runs), ToolFault::draw(dice));
            // A tool that fails once may fail in the same way when it is run again.
            let repeats = *dice.choose(&[1, 1, 3, 100]);
            let is_long = matches!(fault, ToolFault::Flood(_));
            let repeats = if is_long { 1 } else { repeats };
            let fault = InjectedFault::Tool(fault);
            faults.extend((0..repeats).map(|_| PlannedFault { call, fault }));
        }
        if dice.percent(10) {
            faults.push(PlannedFault { call: 1 + dice.below(runs), fault: InjectedFault::Kill });
        }
        PurgeLife { choice, failed, faults }
    }
}

/// Purges of a drive, one after the other.
#[derive(Debug, Clone)]
pub struct ToolScenario {
    seed: u64,
    kind: DriveKind,
    lives: Vec<PurgeLife>,
}

impl ToolScenario {
    fn new(seed: u64) -> ToolScenario {
        let mut dice = Dice::new(seed ^ 0x746f_6f6c_7365_7421);
        let kind = *dice.choose(&DRIVES);
        let lives = (0..1 + dice.below(3)).map(|_| PurgeLife::new(kind, &mut dice)).collect();
        ToolScenario { seed, kind, lives }
    }

    /// Returns the number of faults.
    #[cfg(test)]
    pub fn faults(&self) -> usize {
        self.lives.iter().map(|life| life.faults.len()).sum()
    }
}

impl Shrink for ToolScenario {
    fn smaller(&self) -> Vec<ToolScenario> {
        let lives = smaller_lives(&self.lives, |life| {
            let halves = life.faults.chunks(life.faults.len().div_ceil(2).max(1));
            let halves = halves.filter(|half| half.len() < life.faults.len()).map(<[_]>::to_vec);
            let faults = halves.chain(fewer_faults(&life.faults));
            let faults = faults.chain(earlier_faults(&life.faults));
            faults.map(|faults| PurgeLife { faults, ..life.clone() }).collect()
        });
        lives.into_iter().map(|lives| ToolScenario { lives, ..self.clone() }).collect()
    }
}

/// Plays the scenario of a seed.
pub fn play_seed(seed: u64, bug: Option<PlantedBug>) -> (ToolScenario, TrialResult) {
    let scenario = ToolScenario::new(seed);
    let result = play(&scenario, bug);
    (scenario, result)
}

/// Plays a scenario. After its lives, the drive is purged without a fault.
pub fn play(scenario: &ToolScenario, bug: Option<PlantedBug>) -> TrialResult {
    let world = World::new(scenario.seed, bug, true);
    world.require(purge_again_and_again(&world, scenario).map_err(|error| error.to_string()));
    world.take_result()
}

fn purge_again_and_again(world: &Arc<World>, scenario: &ToolScenario) -> io::Result<()> {
    let bug = world.state().disk.bug;
    let machine = SimulatedMachine::new(scenario.kind, scenario.seed, bug)?;
    let machine = Rc::new(RefCell::new(machine));
    let last = PurgeLife {
        choice: scenario.kind.choices()[0],
        failed: PurgeFailure::Halt,
        faults: Vec::new(),
    };
    for (number, life) in (0..).zip(scenario.lives.iter().chain([&last])) {
        let about = format!("-- {:?} {:?} {:?}", life.choice, life.failed, life.faults);
        world.state().log(|| about);
        let is_last = number == scenario.lives.len();
        if is_last {
            machine.borrow_mut().rest();
        }
        machine.borrow_mut().begin_life()?;
        let end = live(world, &machine, life, number as u64);
        let mut machine = machine.borrow_mut();
        world.state().log(|| machine.plain(&format!("       {end:?}")));
        let checked = check(&machine, life, end.as_ref());
        let checked = checked.and_then(|()| machine.check_other_drive());
        world.require(checked.map_err(|violation| machine.plain(&violation)));
        if is_last && !machine.is_erased() {
            world.violate(|| format!("an undisturbed purge fails: {end:?}"));
        }
        machine.end_life()?;
    }
    Ok(())
}

/// The end of a purge.
#[derive(Debug)]
struct ToolEnd {
    result: Result<Purge, HostError>,
    watch: ToolWatch,
    peak: usize,
}

/// Executes a life; `None` if its process was killed.
fn live(
    world: &Arc<World>,
    machine: &Rc<RefCell<SimulatedMachine>>,
    life: &PurgeLife,
    number: u64,
) -> Option<ToolEnd> {
    let process = world.start(1, &life.faults)[0].clone();
    let (name, roots, tool) = {
        let machine = machine.borrow();
        (machine.kind.name(), machine.roots(), machine.tool_path())
    };
    let host = SimulatedHost { machine: machine.clone(), process: process.clone() };
    let command = PurgeCommandLine::parse(&format!("{} erase {{device}}", tool.display())).ok()?;
    let options = PurgeOptions {
        choice: life.choice,
        command: Some(command),
        failed: life.failed,
        seed: number,
        ..PurgeOptions::default()
    };
    process.run(|| {
        let mut watch = ToolWatch { machine: machine.clone(), record: None };
        let mut result = purge_simulated(name, &options, &mut watch, &roots, &host);
        if process.world.state().disk.bug == Some(PlantedBug::TrustedTool)
            && let Ok(purge) = &mut result
        {
            (purge.failed, purge.blank) = (None, Some(true));
        }
        ToolEnd { result, watch, peak: memory::peak() }
    })
}

/// Observer of a purge.
struct ToolWatch {
    machine: Rc<RefCell<SimulatedMachine>>,
    record: Option<PurgeCommandRecord>,
}

impl std::fmt::Debug for ToolWatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.record.fmt(f)
    }
}

impl PurgeWatch for ToolWatch {
    fn journal(&mut self, change: &HostChange) -> Result<(), String> {
        self.machine.borrow_mut().journal(change);
        Ok(())
    }
    fn report(&mut self, _: &PurgeProgress<'_>) {}
    fn keep_command(&mut self, record: PurgeCommandRecord) {
        self.record = Some(record);
    }
    fn is_stopped(&self) -> bool {
        false
    }
}

/// The simulated machine, for the programs of a process.
struct SimulatedHost {
    machine: Rc<RefCell<SimulatedMachine>>,
    process: Process,
}

impl ProgramHost for SimulatedHost {
    fn start(&self, call: &ProgramCall<'_>) -> io::Result<Box<dyn HostedProgram>> {
        let line = format!("{} {}", call.program, call.arguments.join(" "));
        let about = || self.machine.borrow().plain(&line);
        let fault = self.process.call(CallKind::Tool, &about, |_, fault| fault);
        let fault = match fault {
            Some(InjectedFault::Tool(fault)) => Some(fault),
            _ => None,
        };
        let id = self.machine.borrow_mut().start(call, fault)?;
        Ok(Box::new(SimulatedProgram { machine: self.machine.clone(), id }))
    }

    fn path_of(&self, program: &str) -> Option<PathBuf> {
        Some(PathBuf::from("/usr/sbin").join(program))
    }

    fn now(&self) -> Duration {
        self.machine.borrow().clock()
    }

    fn pause(&self, time: Duration) {
        let elapsed = self.machine.borrow_mut().pause(time);
        if elapsed > PURGE_MAX {
            self.process.exceed(|| format!("a purge took {elapsed:?} and did not end"));
        }
    }
}

/// A program of the simulated machine.
struct SimulatedProgram {
    machine: Rc<RefCell<SimulatedMachine>>,
    id: u32,
}

impl HostedProgram for SimulatedProgram {
    fn id(&self) -> u32 {
        self.id
    }

    fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        Ok(self.machine.borrow_mut().raw_status(self.id).map(ExitStatus::from_raw))
    }

    fn read(&mut self, stream: OutputStream, buffer: &mut [u8]) -> io::Result<usize> {
        self.machine.borrow_mut().read(self.id, stream, buffer).ok_or(ErrorKind::WouldBlock.into())
    }

    fn kill_group(&mut self) {
        self.machine.borrow_mut().kill(self.id);
    }
}

/// Checks the end of a purge; `None` if its process was killed.
fn check(
    machine: &SimulatedMachine,
    life: &PurgeLife,
    end: Option<&ToolEnd>,
) -> Result<(), String> {
    machine.check_programs(end.is_some())?;
    let Some(ToolEnd { result, watch, peak }) = end else { return Ok(()) };
    if *peak > MEMORY_MAX {
        return Err(format!("a purge held {} MiB of memory", peak >> 20));
    }
    let may_still_erase =
        matches!(result, Err(HostError::PurgeEndUnknown { .. } | HostError::PurgeStillRuns { .. }));
    if machine.is_erasing() && !may_still_erase {
        return Err(format!("the drive still erases after {result:?}"));
    }
    let record = match result {
        Ok(purge) => purge.command.as_ref(),
        Err(_) => watch.record.as_ref(),
    };
    if let Some(record) = record {
        check_length(&record.output)?;
        check_length(record.failure.as_deref().unwrap_or_default())?;
    }
    match result {
        Ok(Purge { failed: Some(why), .. }) => {
            check_length(why)?;
            let is_named = why.contains(&machine.device()) && machine.names_tool(why);
            if life.failed.halts() || !is_named {
                return Err(format!("a purge failed and continues: {why}"));
            }
        }
        Ok(Purge { method: PurgeMethod::Nothing | PurgeMethod::Discard, remark, .. }) => {
            if !life.choice.is_auto() || remark.is_empty() || machine.is_erasing() {
                return Err(format!("the drive was not purged: {result:?}"));
            }
        }
        Ok(purge) => {
            let is_blank = purge.blank == Some(true) || purge.method.is_cryptographic();
            if !machine.is_erased() || !is_blank {
                return Err(format!("the drive was reported as purged: {purge:?}"));
            }
        }
        Err(error) => check_error(machine, error)?,
    }
    Ok(())
}

/// Checks that an error names the device, the tool and what to do.
fn check_error(machine: &SimulatedMachine, error: &HostError) -> Result<(), String> {
    check_length(&error.to_string())?;
    let device = machine.device();
    let is_named = match error {
        HostError::PurgeFailed { device: named, why, .. } => {
            *named == device && machine.names_tool(why)
        }
        HostError::NoSuchPurge { device: named, why, possible, .. } => {
            if machine.has_changed() {
                return Err(format!("a refused purge has changed the drive: {error}"));
            }
            *named == device && !why.is_empty() && !possible.is_empty()
        }
        HostError::PurgeEndUnknown { device: named, why, check, .. } => {
            *named == device && !why.is_empty() && !check.is_empty()
        }
        HostError::PurgeStillRuns { command, .. } => command.contains(&device),
        _ => false,
    };
    if is_named { Ok(()) } else { Err(format!("not named: {error:?}")) }
}

fn check_length(text: &str) -> Result<(), String> {
    let length = text.chars().count();
    if length > ERROR_MAX { Err(format!("a text of {length} characters")) } else { Ok(()) }
}
