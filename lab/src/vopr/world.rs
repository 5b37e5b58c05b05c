//! The simulated world of a program: its processes, the disk, the host and the clock.
//!
//! Each process is a thread, but only one runs at a time: before each call to the world, the seed
//! decides which process continues. A process that dies unwinds, and none of its later calls takes
//! effect.

use crate::dice::Dice;
use crate::disk::Disk;
use crate::fault::{CallKind, InjectedFault, PlannedFault, PlantedBug};
use crate::memory::{self, MEMORY_MAX};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Number of calls after which a process counts as hung.
const CALLS_MAX: u64 = 30_000;

/// Milliseconds by which the wall clock is ahead of the drive's clock when the world begins.
const EPOCH_SHIFT_MS: i64 = 1_000_000;

/// Original value of the host setting.
pub const ORIGINAL_SETTING: &str = "0";

/// Panic payload of a killed process.
pub struct Killed;

/// Everything outside the processes.
#[derive(Debug)]
pub struct WorldState {
    pub dice: Dice,
    pub disk: Disk,
    /// A setting of the host.
    pub setting: String,
    /// True if the setting survives a loss of power.
    pub setting_is_kept: bool,
    /// Number of times the machine was started.
    pub boots: u64,
    /// Milliseconds by which the wall clock is ahead of the drive's clock.
    pub clock_shift: i64,
    /// Number of times the drive vanished.
    pub drive_changes: u32,
    /// Number of processes currently using the drive.
    pub drive_users: u32,
    faults: Vec<PlannedFault>,
    calls: u64,
    alive: Vec<usize>,
    turn: usize,
    /// The first violated invariant of the simulated program, if any.
    pub violation: Option<String>,
    trace: Option<Vec<String>>,
}

/// The world of a scenario.
#[derive(Debug)]
pub struct World {
    state: Mutex<WorldState>,
    turns: Condvar,
}

/// A process in a world. A clone is the same process.
#[derive(Debug, Clone)]
pub struct Process {
    pub world: Arc<World>,
    pub number: usize,
}

impl World {
    pub fn new(seed: u64, bug: Option<PlantedBug>, is_traced: bool) -> Arc<World> {
        let mut disk = Disk::new(bug);
        disk.put_bystanders();
        let state = WorldState {
            dice: Dice::new(seed),
            disk,
            setting: ORIGINAL_SETTING.to_owned(),
            setting_is_kept: false,
            boots: 1,
            clock_shift: EPOCH_SHIFT_MS,
            drive_changes: 0,
            drive_users: 0,
            faults: Vec::new(),
            calls: 0,
            alive: Vec::new(),
            turn: 0,
            violation: None,
            trace: is_traced.then(Vec::new),
        };
        Arc::new(World { state: Mutex::new(state), turns: Condvar::new() })
    }

    pub fn state(&self) -> MutexGuard<'_, WorldState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts processes that these faults will hit.
    pub fn start(self: &Arc<World>, processes: usize, faults: &[PlannedFault]) -> Vec<Process> {
        let mut state = self.state();
        state.faults = faults.to_vec();
        state.calls = 0;
        state.disk.is_full = false;
        state.drive_users = 0;
        state.alive = (0..processes).collect();
        state.turn = 0;
        let process = |number| Process { world: self.clone(), number };
        (0..processes).map(process).collect()
    }

    /// Returns the calls since the last start.
    pub fn calls(&self) -> u64 {
        self.state().calls
    }

    pub fn take_trace(&self) -> Vec<String> {
        self.state().trace.take().unwrap_or_default()
    }

    /// Records a violated invariant; only the first one is kept.
    pub fn violate(&self, what: impl FnOnce() -> String) {
        self.state().violation.get_or_insert_with(what);
    }
}

impl WorldState {
    /// Adds a line to the trace.
    pub fn say(&mut self, line: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            trace.push(line());
        }
    }

    pub fn boot_id(&self) -> String {
        format!("boot-{}", self.boots)
    }

    fn next_fault(&mut self, call: CallKind) -> Option<InjectedFault> {
        let calls = self.calls;
        let hits = |planned: &PlannedFault| planned.call <= calls && planned.fault.fits(call);
        let position = self.faults.iter().position(hits)?;
        Some(self.faults.remove(position).fault)
    }

    /// Ends all processes and loses the cache of the disk.
    pub fn lose_power(&mut self) {
        let WorldState { disk, dice, .. } = self;
        disk.crash(dice);
        if !self.setting_is_kept {
            ORIGINAL_SETTING.clone_into(&mut self.setting);
        }
        self.boots += 1;
        self.alive.clear();
    }

    fn end(&mut self, process: usize) {
        self.alive.retain(|other| *other != process);
        self.disk.unlock_all(process);
        if self.turn == process {
            self.turn = self.alive.first().copied().unwrap_or(0);
        }
    }
}

impl Process {
    /// Makes a call. `effect` receives the fault that hits the call, if any.
    pub fn call<T>(
        &self,
        kind: CallKind,
        about: &dyn Fn() -> String,
        effect: impl FnOnce(&mut WorldState, Option<InjectedFault>) -> T,
    ) -> T {
        let mut state = self.wait_for_turn(self.world.state());
        let WorldState { dice, alive, .. } = &mut *state;
        let next = if alive.len() > 1 { *dice.choose(alive) } else { self.number };
        if next != self.number {
            state.turn = next;
            self.world.turns.notify_all();
            state = self.wait_for_turn(state);
        }
        if !state.alive.contains(&self.number) {
            drop(state);
            die();
        }
        state.calls += 1;
        let fault = state.next_fault(kind);
        let (calls, number) = (state.calls, self.number);
        state.say(|| {
            let fault = fault.map(|fault| format!("  <- {fault:?}")).unwrap_or_default();
            format!("{calls:>6} p{number} {kind:?} {}{fault}", about())
        });
        if state.calls > CALLS_MAX {
            let hang = || format!("a process made {CALLS_MAX} calls and did not end");
            state.violation.get_or_insert_with(hang);
            state.alive.clear();
        }
        if memory::peak() > MEMORY_MAX {
            let peak = memory::peak() >> 20;
            let growth = || format!("a process has {peak} MiB of memory, more than its limit");
            state.violation.get_or_insert_with(growth);
            state.alive.clear();
        }
        match fault {
            Some(InjectedFault::PowerLoss) => state.lose_power(),
            Some(InjectedFault::Kill) => state.alive.retain(|other| *other != self.number),
            Some(InjectedFault::ClockJump(by)) => state.clock_shift += by,
            _ => {}
        }
        if !state.alive.contains(&self.number) {
            drop(state);
            self.world.turns.notify_all();
            die();
        }
        effect(&mut state, fault)
    }

    /// Waits until it is this process's turn or the process is dead.
    fn wait_for_turn<'s>(
        &self,
        mut state: MutexGuard<'s, WorldState>,
    ) -> MutexGuard<'s, WorldState> {
        while state.turn != self.number && state.alive.contains(&self.number) {
            let woken = self.world.turns.wait(state);
            state = woken.unwrap_or_else(PoisonError::into_inner);
        }
        state
    }

    /// Records a violated limit and ends all processes.
    pub fn exceed(&self, what: impl FnOnce() -> String) -> ! {
        let mut state = self.world.state();
        state.violation.get_or_insert_with(what);
        state.alive.clear();
        drop(state);
        self.world.turns.notify_all();
        die()
    }

    /// Ends the process and releases its locks and the drive.
    pub fn end(&self) {
        self.world.state().end(self.number);
        self.world.turns.notify_all();
    }
}

fn die() -> ! {
    std::panic::resume_unwind(Box::new(Killed))
}
