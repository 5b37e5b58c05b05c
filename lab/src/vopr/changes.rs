//! Host settings that commands without a run directory change.
//!
//! `measure` journals and undoes its changes with the production code (`runner::apply_once`,
//! `runner::HostChanges`), and `restore` undoes what dead processes left
//! (`runner::host_changes::abandoned_changes_in`). After every life each setting must have its
//! original value or be in a journal.

use crate::dice::Dice;
use crate::directory::SimulatedDirectory;
use crate::fault::{InjectedFault, PlannedFault, PlantedBug};
use crate::rig::{SimulatedHostRig, WANTED_SETTING, restore_setting};
use crate::shrink::{Shrink, earlier_faults, fewer_faults, smaller_lives};
use crate::trial::new_drive;
use crate::world::{ORIGINAL_SETTING, Process, TrialResult, World};
use std::ffi::OsStr;
use std::io;
use std::sync::Arc;
use std::thread;
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::{Bytes, Demand, Nanos};
use steadfast_host::{FileError, ReadAccess};
use steadfast_runner::host_changes::{AbandonedChanges, abandoned_changes_in};
use steadfast_runner::storage::RunStorage;
use steadfast_runner::{HostChanges, Rig, SingleLoad, apply_once};

const DIRECTORY: &str = "host-changes";

/// Calls of the programs that no fault hits; later ones hit none.
const CALLS: u64 = 50;

/// A command without a run directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SettingCommand {
    /// Measures the drive of this number.
    Measure(usize),
    Restore,
}

/// Commands that are started at the same time.
#[derive(Debug, Clone)]
struct CommandLife {
    commands: Vec<SettingCommand>,
    faults: Vec<PlannedFault>,
}

impl CommandLife {
    fn new(dice: &mut Dice) -> CommandLife {
        use InjectedFault::{
            DeviceErrors, Error, Full, HostError, Interrupted, Kill, LostSync, NoSpace, PowerLoss,
            Short,
        };
        use SettingCommand::{Measure, Restore};
        let all = [
            DeviceErrors, Error, Error, Full, HostError, HostError, Interrupted, Kill, Kill,
            LostSync, NoSpace, PowerLoss, PowerLoss, Short,
        ];
        let commands: [&[SettingCommand]; 6] = [
            &[Measure(0)],
            &[Measure(0), Measure(1)],
            &[Measure(0), Measure(1), Restore],
            &[Measure(1), Restore],
            &[Restore],
            &[Restore, Restore],
        ];
        let fault = |dice: &mut Dice| PlannedFault {
            call: 1 + dice.below(CALLS),
            fault: *dice.choose(&all),
        };
        let commands = dice.choose(&commands).to_vec();
        let faults = (0..dice.below(4)).map(|_| fault(dice)).collect();
        CommandLife { commands, faults }
    }
}

/// Commands in the order in which they are started.
#[derive(Debug, Clone)]
pub struct ChangesScenario {
    seed: u64,
    /// True if the host's settings survive a power loss.
    setting_is_kept: bool,
    lives: Vec<CommandLife>,
}

impl ChangesScenario {
    fn new(seed: u64) -> ChangesScenario {
        let mut dice = Dice::new(seed ^ 0x6368_616e_6765_7321);
        let (setting_is_kept, count) = (dice.percent(50), 1 + dice.below(4));
        let lives = (0..count).map(|_| CommandLife::new(&mut dice)).collect();
        ChangesScenario { seed, setting_is_kept, lives }
    }

    /// Returns the number of faults.
    #[cfg(test)]
    pub fn faults(&self) -> usize {
        self.lives.iter().map(|life| life.faults.len()).sum()
    }
}

impl Shrink for ChangesScenario {
    fn smaller(&self) -> Vec<ChangesScenario> {
        let lives = smaller_lives(&self.lives, |life| {
            let mut smaller = Vec::new();
            for command in 0..life.commands.len() {
                let mut fewer = life.clone();
                fewer.commands.remove(command);
                smaller.push(fewer);
            }
            let faults = fewer_faults(&life.faults).into_iter().chain(earlier_faults(&life.faults));
            smaller.extend(faults.map(|faults| CommandLife { faults, ..life.clone() }));
            smaller
        });
        lives.into_iter().map(|lives| ChangesScenario { lives, ..self.clone() }).collect()
    }
}

/// Plays the scenario of a seed.
pub fn play_seed(seed: u64, bug: Option<PlantedBug>) -> (ChangesScenario, TrialResult) {
    let scenario = ChangesScenario::new(seed);
    let result = play(&scenario, bug);
    (scenario, result)
}

/// Plays a scenario. After its lives, everything is restored without a fault.
pub fn play(scenario: &ChangesScenario, bug: Option<PlantedBug>) -> TrialResult {
    let world = World::new(scenario.seed, bug, true);
    world.state().setting_is_kept = scenario.setting_is_kept;
    let last = CommandLife { commands: vec![SettingCommand::Restore], faults: Vec::new() };
    for (number, life) in (0..).zip(scenario.lives.iter().chain([&last])) {
        world.state().log(|| format!("-- {:?}, {:?}", life.commands, life.faults));
        world.require(live(&world, number, life));
    }
    let is_original = world.state().drives.iter().all(|drive| drive.setting == ORIGINAL_SETTING);
    if !is_original {
        world.violate(|| "an undisturbed restore leaves a setting changed".to_owned());
    }
    world.take_result()
}

/// Executes a life, and checks the invariants.
fn live(world: &Arc<World>, number: u64, life: &CommandLife) -> Result<(), String> {
    let is_clean = journaled(world)?.is_empty();
    let processes = world.start(life.commands.len(), &life.faults);
    let ends: Vec<Option<Result<(), String>>> = thread::scope(|scope| {
        let start = |(process, command): (&Process, &SettingCommand)| {
            let (process, command) = (process.clone(), *command);
            scope.spawn(move || {
                process.run(|| match command {
                    SettingCommand::Measure(drive) => measure(&process, drive, number),
                    SettingCommand::Restore => restore(&process),
                })
            })
        };
        let threads: Vec<_> = processes.iter().zip(&life.commands).map(start).collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or(None)).collect()
    });
    let starts = world.state().starts.clone();
    for (command, end) in life.commands.iter().zip(&ends) {
        world.state().log(|| format!("       {command:?}: {end:?}"));
        // Otherwise the setting may be that of a dead process, which `restore` takes away.
        if let (SettingCommand::Measure(drive), Some(Ok(())), true) = (command, end, is_clean)
            && starts.iter().any(|start| start.drive == *drive && start.setting != WANTED_SETTING)
        {
            return Err(format!("the setting of drive {drive} was undone while it was measured"));
        }
    }
    world.state().disk.check_bystanders()?;
    let open = journaled(world)?;
    let settings: Vec<String> =
        world.state().drives.iter().map(|drive| drive.setting.clone()).collect();
    for (drive, setting) in settings.iter().enumerate() {
        let has_succeeded = life.commands.iter().zip(&ends).any(|(command, end)| {
            *command == SettingCommand::Measure(drive) && *end == Some(Ok(())) && is_clean
        });
        let is_journaled = !has_succeeded && open.contains(&(drive, setting.clone()));
        if setting != ORIGINAL_SETTING && !is_journaled {
            return Err(format!("the setting of drive {drive} is {setting}; journaled: {open:?}"));
        }
    }
    if life.commands == [SettingCommand::Restore] && life.faults.is_empty() && !open.is_empty() {
        return Err(format!("an undisturbed restore leaves changes in journals: {open:?}"));
    }
    Ok(())
}

/// Returns drive and new value of each change that is journaled and not undone.
fn journaled(world: &Arc<World>) -> Result<Vec<(usize, String)>, String> {
    let process = &world.start(1, &[])[0];
    let left = abandoned(process).map_err(|error| format!("the journals: {error}"))?;
    let open = left
        .iter()
        .flat_map(|left| left.changes.iter().map(|change| (drive_of(left), change.after.clone())));
    Ok(open.collect())
}

fn abandoned(process: &Process) -> io::Result<Vec<AbandonedChanges<SimulatedDirectory>>> {
    match SimulatedDirectory::root(process).enter(OsStr::new(DIRECTORY)) {
        Err(error) if error.is_missing() => Ok(Vec::new()),
        entered => abandoned_changes_in(&entered.map_err(io::Error::other)?),
    }
}

/// Returns the number of the drive, the last word of the command line.
fn drive_of(left: &AbandonedChanges<SimulatedDirectory>) -> usize {
    let number = left.owner.command.rsplit(' ').next().unwrap_or_default();
    number.parse().unwrap_or(usize::MAX)
}

/// Measures a drive, as `steadfast measure` does.
fn measure(process: &Process, drive: usize, life: u64) -> Result<(), String> {
    // As `steadfast` does, which reminds the user of abandoned changes.
    drop(abandoned(process));
    let root = SimulatedDirectory::root(process);
    let open = move || {
        let made = match root.make_new(OsStr::new(DIRECTORY), ReadAccess::Owner) {
            Err(FileError::Exists(_)) => root.enter(OsStr::new(DIRECTORY)),
            made => made,
        };
        made.map_err(io::Error::other)
    };
    let began_unix_ms = life * 10 + process.number as u64;
    // Lines of the journal cross the border of a sector.
    let command = format!("{} {drive}", "measure".repeat(60));
    let mut changes =
        HostChanges::new_in(DIRECTORY.to_owned(), Box::new(open), command, began_unix_ms);
    let mut rig = SimulatedHostRig::new(process, drive, new_drive(), true);
    let pattern = AccessPattern::random(Bytes::kib(4), 0);
    let load = SingleLoad {
        name: pattern.to_string(),
        streams: pattern.streams(),
        demand: Demand::new(1, 4),
        pace: Default::default(),
        data_pattern: Default::default(),
        active_range_percent: 50,
        ramp: Nanos::ZERO,
        time: None,
        ios: Some(64),
        seed: 7,
        verify: false,
    };
    let step = load.step(rig.device(), 1);
    let prepared = rig.prepare(&step).map_err(|refusal| refusal.at_step(&step).to_string())?;
    let result = apply_once(&mut rig, prepared, true, &mut changes, &mut |_| ());
    result.failure().map_or(Ok(()), |halt| Err(halt.to_string()))
}

/// Restores what dead processes left, as `steadfast restore` does.
fn restore(process: &Process) -> Result<(), String> {
    let mut failures = Vec::new();
    for left in abandoned(process).map_err(|error| error.to_string())? {
        let drive = drive_of(&left);
        let undone = left.undo(&mut |change| restore_setting(process, drive, change));
        failures.extend(undone.into_iter().filter_map(|(_, undone)| undone.err()));
    }
    failures.first().map_or(Ok(()), |halt| Err(halt.to_string()))
}
