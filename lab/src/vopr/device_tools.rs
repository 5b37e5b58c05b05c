//! Purges by device tools and NVMe commands that fail.
//!
//! The production code (`host::purge`) plans a purge of a simulated drive, runs its tools or sends
//! its commands, and reads the drive back. The tools, the controller and the clock are simulated
//! (`host::ProgramHost`, `host::AdminQueue`), and so is the drive: a file below simulated `/sys`,
//! `/proc` and `/dev`.

use crate::dice::Dice;
use crate::fault::{CallKind, InjectedFault, PlannedFault, PlantedBug};
use crate::memory;
use crate::shrink::{Shrink, earlier_faults, fewer_faults, smaller_lives};
use crate::tool_drive::{DRIVES, DriveKind, SimulatedMachine};
use crate::world::{Process, TrialResult, World};
use std::io::{self, ErrorKind};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use steadfast_domain::purge::PurgeCommandRecord;
use steadfast_domain::record::HostChange;
use steadfast_domain::{Purge, PurgeChoice, PurgeFailure, PurgeMethod};
use steadfast_host::{
    AdminCommand, AdminCompletion, AdminQueue, BlockingCall, HostError, HostedProgram, NvmeNode,
    OutputStream, ProgramCall, ProgramHost, PurgeCommandLine, PurgeOptions, PurgeProgress,
    PurgeWatch, purge_simulated,
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
    /// The tool's output is truncated.
    Torn,
    /// It fails and prints a long text, which is still short enough to be read in full.
    Wordy,
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
    pub fn draw(dice: &mut Dice) -> ToolFault {
        let has_worked = dice.percent(50);
        match dice.below(19) {
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
            17 => ToolFault::Wordy,
            _ => ToolFault::Restarted,
        }
    }

    /// Returns true if the program cannot use the output of a tool that this fault hits.
    pub fn spoils_output(self) -> bool {
        use ToolFault::{Exit, Flood, Garbage, Hang, KeptOutput, Silent, Torn, Wordy};
        match self {
            Exit { .. } | Garbage | Hang { .. } | KeptOutput | Silent | Torn | Wordy => true,
            Flood(stream) => stream == OutputStream::Stdout,
            _ => false,
        }
    }
}

/// A purge of the drive.
#[derive(Debug, Clone)]
struct PurgeLife {
    choice: PurgeChoice,
    failed: PurgeFailure,
    /// Time after which the user stops the run.
    stop: Option<Duration>,
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
        let is_stopped = dice.percent(30);
        let within = *dice.choose(&[20, 700, 50_000]);
        let stop = is_stopped.then(|| Duration::from_secs(dice.below(within)));
        PurgeLife { choice, failed, stop, faults }
    }
}

/// The machine, for all threads of a process.
pub type SharedMachine = Arc<Mutex<SimulatedMachine>>;

pub fn lock(machine: &SharedMachine) -> MutexGuard<'_, SimulatedMachine> {
    machine.lock().unwrap_or_else(PoisonError::into_inner)
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
            let with_faults = faults.map(|faults| PurgeLife { faults, ..life.clone() });
            let without_stop = life.stop.map(|_| PurgeLife { stop: None, ..life.clone() });
            with_faults.chain(without_stop).collect()
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
    let machine = Arc::new(Mutex::new(machine));
    let last = PurgeLife {
        choice: scenario.kind.choices()[0],
        failed: PurgeFailure::Halt,
        stop: None,
        faults: Vec::new(),
    };
    for (number, life) in (0..).zip(scenario.lives.iter().chain([&last])) {
        let PurgeLife { choice, failed, stop, faults } = life;
        let about = format!("-- {choice:?} {failed:?} stop {stop:?} {faults:?}");
        world.state().log(|| about);
        let is_last = number == scenario.lives.len();
        if is_last {
            lock(&machine).rest();
        }
        lock(&machine).begin_life(life.stop)?;
        let end = live(world, &machine, life, number as u64);
        let mut machine = lock(&machine);
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
    machine: &SharedMachine,
    life: &PurgeLife,
    number: u64,
) -> Option<ToolEnd> {
    let process = world.start(1, &life.faults)[0].clone();
    let (name, roots, tool) = {
        let machine = lock(machine);
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
        if process.world.state().disk.bug == Some(PlantedBug::SilentStop)
            && let Err(HostError::PurgeEndUnknown { device, why, .. }) = &result
            && why.contains("stopped")
        {
            result = Err(HostError::PurgeStopped { device: device.clone() });
        }
        ToolEnd { result, watch, peak: memory::peak() }
    })
}

/// Observer of a purge.
struct ToolWatch {
    machine: SharedMachine,
    record: Option<PurgeCommandRecord>,
}

impl std::fmt::Debug for ToolWatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.record.fmt(f)
    }
}

impl PurgeWatch for ToolWatch {
    fn journal(&mut self, change: &HostChange) -> Result<(), String> {
        lock(&self.machine).journal(change);
        Ok(())
    }
    fn report(&mut self, _: &PurgeProgress<'_>) {}
    fn keep_command(&mut self, record: PurgeCommandRecord) {
        self.record = Some(record);
    }
    fn is_stopped(&self) -> bool {
        lock(&self.machine).shows_stop()
    }
}

/// The simulated machine, for the programs of a process.
pub struct SimulatedHost {
    pub machine: SharedMachine,
    pub process: Process,
}

impl ProgramHost for SimulatedHost {
    fn start(&self, call: &ProgramCall<'_>) -> io::Result<Box<dyn HostedProgram>> {
        let line = format!("{} {}", call.program, call.arguments.join(" "));
        let fault = tool_fault(&self.machine, &self.process, &line);
        let id = lock(&self.machine).start(call, fault)?;
        Ok(Box::new(SimulatedProgram { machine: self.machine.clone(), id }))
    }

    fn path_of(&self, program: &str) -> Option<PathBuf> {
        Some(PathBuf::from("/usr/sbin").join(program))
    }

    fn now(&self) -> Duration {
        lock(&self.machine).clock()
    }

    fn pause(&self, time: Duration) {
        let elapsed = lock(&self.machine).pause(time);
        if elapsed > PURGE_MAX {
            self.process.exceed(|| format!("a purge took {elapsed:?} and did not end"));
        }
    }

    fn open_admin_queue(&self, _: &NvmeNode) -> Result<Box<dyn AdminQueue>, HostError> {
        let (machine, process) = (self.machine.clone(), self.process.clone());
        Ok(Box::new(SimulatedController { machine, process }))
    }

    /// Calls `send` in this thread: the clock stands still meanwhile for the program.
    fn send_in_thread(
        &self,
        send: &mut BlockingCall<'_>,
        each: &mut dyn FnMut(),
    ) -> Result<u32, HostError> {
        each();
        let sent = send();
        each();
        sent
    }
}

/// Makes a call to a tool or a controller. Returns the fault that hits it, if any.
fn tool_fault(machine: &SharedMachine, process: &Process, line: &str) -> Option<ToolFault> {
    let about = || lock(machine).plain(line);
    match process.call(CallKind::Tool, &about, |_, fault| fault) {
        Some(InjectedFault::Tool(fault)) => Some(fault),
        _ => None,
    }
}

/// The controller of the simulated machine.
struct SimulatedController {
    machine: SharedMachine,
    process: Process,
}

impl AdminQueue for SimulatedController {
    fn submit(&self, command: &AdminCommand, data: &mut [u8]) -> io::Result<AdminCompletion> {
        let fault = tool_fault(&self.machine, &self.process, &command.name);
        lock(&self.machine).submit(command, data, fault)
    }
}

/// A program of the simulated machine.
struct SimulatedProgram {
    machine: SharedMachine,
    id: u32,
}

impl HostedProgram for SimulatedProgram {
    fn id(&self) -> u32 {
        self.id
    }

    fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        Ok(lock(&self.machine).raw_status(self.id).map(ExitStatus::from_raw))
    }

    fn read(&mut self, stream: OutputStream, buffer: &mut [u8]) -> io::Result<usize> {
        lock(&self.machine).read(self.id, stream, buffer).ok_or(ErrorKind::WouldBlock.into())
    }

    fn kill_group(&mut self) {
        lock(&self.machine).kill(self.id);
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
    machine.check_end_after_stop()?;
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
        Ok(Purge { failed: Some(why), method, .. }) => {
            check_length(why)?;
            let is_named = why.contains(&machine.device()) && machine.names_tool(why);
            if life.failed.halts() || !is_named {
                return Err(format!("a purge failed and continues: {why}"));
            }
            // The user's command says nothing about what the drive did before it.
            if machine.has_refused() && *method != PurgeMethod::VendorCommand {
                return Err(format!("the run continues on a drive that erases: {why}"));
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
        HostError::PurgeStopped { device: named } => *named == device && machine.shows_stop(),
        _ => false,
    };
    if is_named { Ok(()) } else { Err(format!("not named: {error:?}")) }
}

pub fn check_length(text: &str) -> Result<(), String> {
    let length = text.chars().count();
    if length > ERROR_MAX { Err(format!("a text of {length} characters")) } else { Ok(()) }
}
