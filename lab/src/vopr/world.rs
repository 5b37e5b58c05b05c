//! The simulated world of a program: its processes, the disk, the host and the clock.
//!
//! Each process is a thread, or several, but only one thread runs at a time: before each call to the
//! world, the seed decides which continues. A process that dies unwinds, and none of its later calls
//! takes effect.

use crate::dice::Dice;
use crate::disk::Disk;
use crate::fault::{CallKind, InjectedFault, PlannedFault, PlantedBug};
use crate::memory::{self, MEMORY_MAX};
use std::any::Any;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use steadfast_domain::measurement::CommonStart;
use steadfast_domain::{Nanos, StepPlace};
use steadfast_runner::StartClock;

/// Number of calls after which a process counts as hung.
const CALLS_MAX: u64 = 30_000;

/// Milliseconds by which the wall clock is ahead of the drive's clock when the world begins.
const EPOCH_SHIFT_MS: i64 = 1_000_000;

/// Original value of the host setting.
pub const ORIGINAL_SETTING: &str = "0";

/// Maximum number of drives that a process tests at once.
pub const DRIVES_MAX: usize = 3;

thread_local! {
    /// Number of this thread, if it is not the first of its process.
    static THREAD: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Panic payload of a killed process.
pub struct Killed;

/// The start of a load.
#[derive(Debug, Clone)]
pub struct LoadStart {
    /// Number of the process.
    pub process: usize,
    /// Number of the drive.
    pub drive: usize,
    pub place: StepPlace,
    /// The start that it has in common with others; `None` if it starts alone.
    pub common: Option<CommonStart>,
    /// The host's setting for the drive.
    pub setting: String,
}

/// The monotonic clock of a process.
#[derive(Debug)]
pub struct WorldClock(pub Process);

impl StartClock for WorldClock {
    fn now(&self) -> Nanos {
        Nanos::from_millis(self.0.world.state().monotonic_ms)
    }
    fn pause(&self, _: &dyn Fn()) {
        self.0.call(CallKind::Wait, &String::new, |_, _| ());
    }
}

/// A drive as the host sees it.
#[derive(Debug, Clone)]
pub struct AttachedDrive {
    /// The host's setting for it.
    pub setting: String,
    /// Number of times it vanished.
    pub changes: u32,
    /// Number of processes currently using it.
    pub users: u32,
}

/// Everything outside the processes.
#[derive(Debug)]
pub struct WorldState {
    pub dice: Dice,
    pub disk: Disk,
    pub drives: [AttachedDrive; DRIVES_MAX],
    /// True if the host's settings survive a loss of power.
    pub setting_is_kept: bool,
    /// Number of times the machine was started.
    pub boots: u64,
    /// Milliseconds by which the wall clock is ahead of the drive's clock.
    pub clock_shift: i64,
    faults: Vec<PlannedFault>,
    calls: u64,
    /// Calls and waits since the last start.
    turns_taken: u64,
    /// Virtual time of a monotonic clock, in milliseconds.
    pub monotonic_ms: u64,
    /// Threads that a fault has hit.
    hit: BTreeSet<usize>,
    /// Loads that processes have started.
    pub starts: Vec<LoadStart>,
    /// Process of each thread. The first thread of a process has its number.
    processes: Vec<usize>,
    /// Threads that may make calls.
    alive: Vec<usize>,
    turn: usize,
    /// The first violated invariant of the simulated program, if any.
    pub violation: Option<String>,
    trace: Option<Vec<String>>,
}

/// Result of a trial.
pub struct TrialResult {
    /// The first violated invariant; `None` if all held.
    pub violation: Option<String>,
    /// The calls, if they were requested.
    pub trace: Vec<String>,
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
        let setting = ORIGINAL_SETTING.to_owned();
        let drive = AttachedDrive { setting, changes: 0, users: 0 };
        let state = WorldState {
            dice: Dice::new(seed),
            disk,
            drives: std::array::from_fn(|_| drive.clone()),
            setting_is_kept: false,
            boots: 1,
            clock_shift: EPOCH_SHIFT_MS,
            faults: Vec::new(),
            calls: 0,
            turns_taken: 0,
            monotonic_ms: 0,
            hit: BTreeSet::new(),
            starts: Vec::new(),
            processes: Vec::new(),
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
        state.turns_taken = 0;
        state.hit.clear();
        state.starts.clear();
        state.disk.is_full = false;
        state.drives.iter_mut().for_each(|drive| drive.users = 0);
        state.processes = (0..processes).collect();
        state.alive = state.processes.clone();
        state.turn = 0;
        let process = |number| Process { world: self.clone(), number };
        (0..processes).map(process).collect()
    }

    /// Returns the calls since the last start.
    pub fn calls(&self) -> u64 {
        self.state().calls
    }

    /// Takes the first violated invariant and the trace.
    pub fn take_result(&self) -> TrialResult {
        let mut state = self.state();
        let trace = state.trace.take().unwrap_or_default();
        TrialResult { violation: state.violation.take(), trace }
    }

    /// Records a panic, unless it is that of a killed process. Returns true if it is.
    pub fn note_panic(&self, payload: &(dyn Any + Send)) -> bool {
        if payload.is::<Killed>() {
            return true;
        }
        let text = payload.downcast_ref::<String>().cloned();
        let text = text.or(payload.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        self.violate(|| format!("panicked: {}", text.unwrap_or_default()));
        false
    }

    /// Records the invariant that a check found violated.
    pub fn require(&self, checked: Result<(), String>) {
        if let Err(violation) = checked {
            self.violate(|| violation);
        }
    }

    /// Records a violated invariant; only the first one is kept.
    pub fn violate(&self, what: impl FnOnce() -> String) {
        self.state().violation.get_or_insert_with(what);
    }
}

impl WorldState {
    /// Adds a line to the trace.
    pub fn log(&mut self, line: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            trace.push(line());
        }
    }

    /// Records a violated limit and ends all processes.
    fn exceed(&mut self, what: impl FnOnce() -> String) {
        self.violation.get_or_insert_with(what);
        self.alive.clear();
    }

    pub fn boot_id(&self) -> String {
        format!("boot-{}", self.boots)
    }

    /// Returns true if a fault has hit another thread than this one.
    pub fn has_hit_other(&self, thread: usize) -> bool {
        self.hit.iter().any(|hit| *hit != thread)
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
            for drive in &mut self.drives {
                ORIGINAL_SETTING.clone_into(&mut drive.setting);
            }
        }
        self.boots += 1;
        self.alive.clear();
    }

    /// Ends all threads of a process. Others continue when its first thread has ended, too.
    fn kill(&mut self, process: usize) {
        let WorldState { alive, processes, .. } = self;
        alive.retain(|thread| processes[*thread] != process);
        self.turn = process;
    }

    /// Replaces the first thread of a process by others. Returns the number of the first of them.
    fn fork(&mut self, process: usize, threads: usize) -> usize {
        let first = self.processes.len();
        if threads == 0 {
            return first;
        }
        self.processes.resize(first + threads, process);
        if self.alive.contains(&process) {
            self.alive.retain(|thread| *thread != process);
            self.alive.extend(first..first + threads);
            self.turn = first;
        }
        first
    }

    fn end(&mut self, thread: usize) {
        let process = self.processes[thread];
        let was_alive = self.alive.contains(&thread);
        self.alive.retain(|other| *other != thread);
        let mut next = self.alive.first().copied().unwrap_or(0);
        if thread == process {
            self.disk.unlock_all(process);
        } else if was_alive && !self.alive.iter().any(|other| self.processes[*other] == process) {
            // The first thread has waited for the others.
            self.alive.push(process);
            next = process;
        }
        if self.turn == thread {
            self.turn = next;
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
        let thread = self.thread();
        let WorldState { dice, alive, .. } = &mut *state;
        let next = if alive.len() > 1 { *dice.choose(alive) } else { thread };
        if next != thread {
            state.turn = next;
            self.world.turns.notify_all();
            state = self.wait_for_turn(state);
        }
        if !state.alive.contains(&thread) {
            drop(state);
            die();
        }
        state.turns_taken += 1;
        state.monotonic_ms += 1;
        let mut fault = None;
        if kind != CallKind::Wait {
            state.calls += 1;
            fault = state.next_fault(kind);
            state.hit.extend(fault.map(|_| thread));
            let calls = state.calls;
            state.log(|| {
                let fault = fault.map(|fault| format!("  <- {fault:?}")).unwrap_or_default();
                format!("{calls:>6} p{thread} {kind:?} {}{fault}", about())
            });
        }
        if state.turns_taken > CALLS_MAX {
            state.exceed(|| format!("a process made {CALLS_MAX} calls and did not end"));
        }
        if memory::peak() > MEMORY_MAX {
            let peak = memory::peak() >> 20;
            state.exceed(|| format!("a process has {peak} MiB of memory, more than its limit"));
        }
        match fault {
            Some(InjectedFault::PowerLoss) => state.lose_power(),
            Some(InjectedFault::Kill) => state.kill(self.number),
            Some(InjectedFault::ClockJump(by)) => state.clock_shift += by,
            _ => {}
        }
        if !state.alive.contains(&thread) {
            drop(state);
            self.world.turns.notify_all();
            die();
        }
        effect(&mut state, fault)
    }

    /// Numbers threads that run instead of the first one, until all of them have ended. Returns the
    /// number of the first of them.
    pub fn fork(&self, threads: usize) -> usize {
        let first = self.world.state().fork(self.number, threads);
        self.world.turns.notify_all();
        first
    }

    /// Executes a job in the calling thread, which gets this number.
    pub fn execute<R>(&self, number: usize, job: impl FnOnce() -> R) -> R {
        THREAD.set(Some(number));
        memory::restart();
        let _ended = EndOnDrop(self);
        catch_unwind(AssertUnwindSafe(job)).unwrap_or_else(|payload| {
            self.world.note_panic(&*payload);
            resume_unwind(payload)
        })
    }

    /// Executes a program in the calling thread and ends the process. Returns its result; `None` if
    /// the process was killed or has panicked.
    pub fn run<R>(&self, program: impl FnOnce() -> R) -> Option<R> {
        memory::restart();
        let ended = catch_unwind(AssertUnwindSafe(program));
        // The other programs continue only when the process has ended, so that the trace has the
        // same order every time.
        self.end();
        ended.map_err(|payload| self.world.note_panic(&*payload)).ok()
    }

    /// Returns true if a fault has hit this thread, or filled the disk.
    pub fn was_hit(&self, thread: usize) -> bool {
        let state = self.world.state();
        state.hit.contains(&thread) || state.disk.is_full
    }

    /// Ends the calling thread if its process was killed.
    pub fn check_alive(&self) {
        let is_alive = self.world.state().alive.contains(&self.thread());
        if !is_alive {
            die();
        }
    }

    /// Returns the number of the calling thread.
    pub fn thread(&self) -> usize {
        THREAD.get().unwrap_or(self.number)
    }

    /// Waits until it is this thread's turn or the process is dead.
    fn wait_for_turn<'s>(
        &self,
        mut state: MutexGuard<'s, WorldState>,
    ) -> MutexGuard<'s, WorldState> {
        let thread = self.thread();
        while state.turn != thread && state.alive.contains(&thread) {
            let woken = self.world.turns.wait(state);
            state = woken.unwrap_or_else(PoisonError::into_inner);
        }
        state
    }

    /// Records a violated limit and ends all processes.
    pub fn exceed(&self, what: impl FnOnce() -> String) -> ! {
        self.world.state().exceed(what);
        self.world.turns.notify_all();
        die()
    }

    /// Ends the calling thread. The first thread of the process releases its locks.
    pub fn end(&self) {
        self.world.state().end(self.thread());
        self.world.turns.notify_all();
    }
}

/// Ends a thread of a process, however its program ended.
pub struct EndOnDrop<'p>(pub &'p Process);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

fn die() -> ! {
    resume_unwind(Box::new(Killed))
}
