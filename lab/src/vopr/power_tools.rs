//! Commands of the user that fail: one that cuts the power of a drive, and one that measures it.
//!
//! The production code runs the commands (`host::cut_power_on`, `host::PowerMeter`); they and the
//! clock are simulated (`host::ProgramHost`).

use crate::device_tools::{SharedMachine, SimulatedHost, ToolFault, check_length, lock};
use crate::dice::Dice;
use crate::fault::{InjectedFault, PlannedFault, PlantedBug};
use crate::memory;
use crate::shrink::{Shrink, earlier_faults, fewer_faults, smaller_lives};
use crate::tool_drive::{DriveKind, SimulatedMachine};
use crate::world::{TrialResult, World};
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use steadfast_host::{HostError, PowerMeter, PowerSource, cut_power_on};

/// Largest number of bytes that a command may cost: the kept ends of its outputs as bytes and text.
const MEMORY_MAX: usize = 12 << 20;

/// Shortest time between two readings.
const INTERVAL: Duration = Duration::from_secs(1);

/// Purpose for which a program runs the user's command.
#[derive(Debug, Clone, Copy)]
enum PowerTask {
    Cut,
    /// Reads the power for this time.
    Measure(Duration),
}

/// A program that runs the user's command.
#[derive(Debug, Clone)]
struct PowerLife {
    task: PowerTask,
    faults: Vec<PlannedFault>,
}

impl PowerLife {
    fn new(dice: &mut Dice) -> PowerLife {
        let seconds = 1 + dice.below(30);
        let (task, runs) = match dice.below(2) {
            0 => (PowerTask::Cut, 1),
            _ => (PowerTask::Measure(Duration::from_secs(seconds)), seconds),
        };
        let mut faults = Vec::new();
        for _ in 0..dice.below(4) {
            let fault = match ToolFault::draw(dice) {
                // A number without its end is a number, and success without work cannot be seen.
                ToolFault::Torn | ToolFault::NoWork => ToolFault::Silent,
                fault => fault,
            };
            faults.push(PlannedFault {
                call: 1 + dice.below(runs),
                fault: InjectedFault::Tool(fault),
            });
        }
        if dice.percent(10) {
            faults.push(PlannedFault { call: 1 + dice.below(runs), fault: InjectedFault::Kill });
        }
        PowerLife { task, faults }
    }
}

/// Programs that run the user's commands, one after the other.
#[derive(Debug, Clone)]
pub struct PowerScenario {
    seed: u64,
    lives: Vec<PowerLife>,
}

impl PowerScenario {
    fn new(seed: u64) -> PowerScenario {
        let mut dice = Dice::new(seed ^ 0x706f_7765_7273_2121);
        let lives = (0..1 + dice.below(8)).map(|_| PowerLife::new(&mut dice)).collect();
        PowerScenario { seed, lives }
    }

    /// Returns the number of faults.
    #[cfg(test)]
    pub fn faults(&self) -> usize {
        self.lives.iter().map(|life| life.faults.len()).sum()
    }
}

impl Shrink for PowerScenario {
    fn smaller(&self) -> Vec<PowerScenario> {
        let lives = smaller_lives(&self.lives, |life| {
            let faults = fewer_faults(&life.faults).into_iter().chain(earlier_faults(&life.faults));
            faults.map(|faults| PowerLife { faults, ..life.clone() }).collect()
        });
        lives.into_iter().map(|lives| PowerScenario { lives, ..self.clone() }).collect()
    }
}

/// Plays the scenario of a seed.
pub fn play_seed(seed: u64, bug: Option<PlantedBug>) -> (PowerScenario, TrialResult) {
    let scenario = PowerScenario::new(seed);
    let result = play(&scenario, bug);
    (scenario, result)
}

/// Runs the programs of a scenario, with its faults.
pub fn play(scenario: &PowerScenario, bug: Option<PlantedBug>) -> TrialResult {
    let world = World::new(scenario.seed, bug, true);
    world.require(run_commands(&world, scenario).map_err(|error| error.to_string()));
    world.take_result()
}

fn run_commands(world: &Arc<World>, scenario: &PowerScenario) -> io::Result<()> {
    let bug = world.state().disk.bug;
    let machine = SimulatedMachine::new(DriveKind::Nvme, scenario.seed, bug)?;
    let machine = Arc::new(Mutex::new(machine));
    for life in &scenario.lives {
        world.state().log(|| format!("-- {:?} {:?}", life.task, life.faults));
        lock(&machine).begin_life(None)?;
        let checked = live(world, &machine, life);
        world.require(checked.map_err(|violation| lock(&machine).plain(&violation)));
        lock(&machine).end_life()?;
    }
    Ok(())
}

/// Executes a life and checks its end.
fn live(world: &Arc<World>, machine: &SharedMachine, life: &PowerLife) -> Result<(), String> {
    let process = world.start(1, &life.faults)[0].clone();
    let tool = lock(machine).tool_path().to_string_lossy().into_owned();
    let host = SimulatedHost { machine: machine.clone(), process: process.clone() };
    let bug = process.world.state().disk.bug;
    match life.task {
        PowerTask::Cut => {
            let ended =
                process.run(|| (cut_power_on(&host, &format!("{tool} off")), memory::peak()));
            lock(machine).check_programs(ended.is_some())?;
            let Some((mut result, peak)) = ended else { return Ok(()) };
            if bug == Some(PlantedBug::TrustedCut)
                && matches!(result, Err(HostError::PowerCutUnknown { .. }))
            {
                result = Ok(());
            }
            check_cut(&lock(machine), life, &result)?;
            check_peak(peak)
        }
        PowerTask::Measure(time) => {
            let source = PowerSource::command(&format!("{tool} power")).ok_or("no command")?;
            let end = lock(machine).elapsed() + time;
            let mut wait = |time: Duration| {
                let time = if bug == Some(PlantedBug::EarlyWake) { time / 2 } else { time };
                lock(machine).pause_for(time) < end
            };
            let meter = || (PowerMeter::simulate(source, &host, &mut wait), memory::peak());
            let ended = process.run(meter);
            lock(machine).check_programs(ended.is_some())?;
            let Some((meter, peak)) = ended else { return Ok(()) };
            check_meter(&lock(machine), &meter)?;
            check_peak(peak)
        }
    }
}

fn check_peak(peak: usize) -> Result<(), String> {
    if peak > MEMORY_MAX {
        return Err(format!("a command cost {} MiB of memory", peak >> 20));
    }
    Ok(())
}

/// Checks the end of a command that cuts the power.
fn check_cut(
    machine: &SimulatedMachine,
    life: &PowerLife,
    result: &Result<(), HostError>,
) -> Result<(), String> {
    let Err(error) = result else {
        return if machine.is_cut() { Ok(()) } else { Err("the power was not cut".to_owned()) };
    };
    let text = error.to_string();
    check_length(&text)?;
    let is_true = match error {
        HostError::PowerCutUnknown { .. } => !life.faults.is_empty(),
        HostError::ToolFailed { .. } => machine.has_ended_by_itself(),
        HostError::ToolMissing { .. } | HostError::Io { .. } => !machine.is_cut(),
        _ => false,
    };
    let is_named = text.contains(&*machine.tool_path().to_string_lossy());
    if is_true && is_named { Ok(()) } else { Err(format!("a false error: {error:?}")) }
}

/// Checks the readings of a power meter.
fn check_meter(machine: &SimulatedMachine, meter: &PowerMeter) -> Result<(), String> {
    let (starts, readings) = machine.power_readings();
    let report = meter.report();
    check_length(report.last_failure.as_deref().unwrap_or_default())?;
    if report.readings != readings.len() as u64
        || report.readings + report.failures != starts.len() as u64
    {
        return Err(format!("{report:?} of {} commands, {readings:?}", starts.len()));
    }
    let mean = readings.iter().sum::<f64>() / readings.len() as f64;
    let is_mean = match meter.mean_milliwatts() {
        Some(measured) => (measured - mean).abs() < 1e-6,
        None => readings.is_empty(),
    };
    if !is_mean {
        return Err(format!("{:?} mW instead of {mean}", meter.mean_milliwatts()));
    }
    if starts.windows(2).any(|pair| pair[1] - pair[0] < INTERVAL) {
        return Err("readings are less than a second apart".to_owned());
    }
    Ok(())
}
