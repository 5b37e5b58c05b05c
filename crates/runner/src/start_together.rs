//! Several devices of one host, each in a run of its own, whose loads start together.
//!
//! Every run has a [`StartTicket`]. Before a load starts, its run waits at the load's place until
//! every other run waits too, or has left. Those that wait at the same place are released together
//! and agree on a time shortly ahead, so that each can start then: its engine has created its
//! threads and memory before. Runs need not do the same steps: if they wait at different places,
//! the one that is behind continues alone, and the others wait until it reaches theirs. A run that
//! ends, halts or fails leaves, and the others continue.
//!
//! A load that continues from step to step waits only before its first step.

use crate::start_order::StartOrder;
use serde::{Deserialize, Serialize};
use std::fmt::Debug;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use steadfast_domain::measurement::CommonStart;
use steadfast_domain::{Caveat, Halt, Load, Nanos, Step, StepPlace, caveats};
use steadfast_engine::StopSignal;

/// Time from the agreement to the common start: threads and memory are ready by then, and only
/// waiting threads have to be woken.
const LEAD: Nanos = Nanos::from_millis(100);

/// The same for a script, which cannot start late, and whose first I/Os are decoded first.
const SCRIPT_LEAD: Nanos = Nanos::from_secs(3);

/// Interval between checks for a stop by a waiting run.
const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// Set of loads that start together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StartSync {
    /// Loads of every step that all runs have.
    Steps,
    /// First load of every phase; within a phase each run continues at its own pace.
    Phases,
    /// Only the first load of the run.
    Start,
}

/// A run's part in the common starts. Dropping it removes the run.
#[derive(Debug)]
pub struct StartTicket {
    barrier: Arc<StartBarrier>,
    number: usize,
    sync: StartSync,
    /// Phase whose first load has started.
    phase: Option<String>,
}

/// The clock by which runs agree on a start, and on which they wait for each other.
pub trait StartClock: Debug + Send + Sync {
    /// Returns the time of a monotonic clock.
    fn now(&self) -> Nanos;
    /// Lets a run wait; `until_changed` returns once another run arrives or leaves, or after a
    /// short time.
    fn pause(&self, until_changed: &dyn Fn());
}

/// The clock of this host, `CLOCK_MONOTONIC`.
#[derive(Debug)]
pub struct HostClock;

impl StartClock for HostClock {
    fn now(&self) -> Nanos {
        steadfast_host::monotonic()
    }
    fn pause(&self, until_changed: &dyn Fn()) {
        until_changed();
    }
}

/// State shared by the runs.
#[derive(Debug)]
struct StartBarrier {
    clock: Arc<dyn StartClock>,
    state: Mutex<BarrierState>,
    changed: Condvar,
}

/// State of every run.
#[derive(Debug)]
struct BarrierState {
    runs: Vec<BarrierSlot>,
    order: StartOrder,
    sync: StartSync,
}

/// State of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
enum BarrierSlot {
    /// It does not wait.
    Busy,
    /// It waits to start a load.
    Waits { place: StepPlace, lead: Nanos },
    /// It may continue; `None` if it starts alone.
    Released(Option<Agreement>),
    /// It has ended.
    Left,
}

/// A run that waits to start a load.
struct WaitingRun {
    /// Index of its ticket.
    number: usize,
    position: StartPosition,
    lead: Nanos,
}

/// Position of a load among those of all runs, in the order of time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct StartPosition {
    /// Position in the [`StartOrder`].
    position: usize,
    round: u32,
    point: u32,
}

/// A common start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Agreement {
    /// Time of the start by the monotonic clock.
    start: Nanos,
    /// Time from the agreement to the start.
    lead: Nanos,
    /// Number of loads.
    targets: u32,
}

/// Creates tickets for this many runs. `order` has the known loads of their procedures.
pub fn start_tickets(
    runs: usize,
    order: StartOrder,
    sync: StartSync,
    clock: Arc<dyn StartClock>,
) -> Vec<StartTicket> {
    let state = Mutex::new(BarrierState { runs: vec![BarrierSlot::Busy; runs], order, sync });
    let barrier = Arc::new(StartBarrier { clock, state, changed: Condvar::new() });
    let ticket = |number| StartTicket { barrier: Arc::clone(&barrier), number, sync, phase: None };
    (0..runs).map(ticket).collect()
}

impl StartTicket {
    /// Waits until this step's load may start. `None` if no other run starts with it.
    ///
    /// # Errors
    /// Returns [`Halt::Stopped`] if the user requests a stop meanwhile.
    pub fn wait(&mut self, step: &Step, stop: &StopSignal) -> Result<Option<CommonStart>, Halt> {
        if !self.must_wait(&step.place.phase) {
            return Ok(None);
        }
        let place = step.place.clone();
        let arrived = self.barrier.clock.now();
        let lead = match step.load {
            Load::Stimulus(_) | Load::Together(_) => LEAD,
            Load::Script(_) => SCRIPT_LEAD,
        };
        let mut state = self.barrier.lock();
        if state.runs[self.number] == BarrierSlot::Left {
            return Ok(None);
        }
        state.runs[self.number] = BarrierSlot::Waits { place, lead };
        self.barrier.release_earliest(&mut state);
        let agreed = loop {
            if let BarrierSlot::Released(agreed) = state.runs[self.number] {
                state.runs[self.number] = BarrierSlot::Busy;
                break agreed;
            }
            if stop.is_requested() {
                state.runs[self.number] = BarrierSlot::Busy;
                return Err(Halt::Stopped);
            }
            drop(state);
            self.barrier.clock.pause(&|| self.barrier.wait_for_release(self.number));
            state = self.barrier.lock();
        };
        drop(state);
        if agreed.is_some() && self.sync == StartSync::Start {
            self.leave();
        }
        Ok(agreed.map(|Agreement { start, lead, targets }| CommonStart {
            agreed: start,
            late: None,
            waited: start.saturating_sub(lead).saturating_sub(arrived),
            targets,
        }))
    }

    /// Begins a load of this phase. Returns true if it must wait for the others.
    fn must_wait(&mut self, phase: &str) -> bool {
        let is_new = self.phase.as_deref() != Some(phase);
        self.phase = Some(phase.to_owned());
        is_new || self.sync != StartSync::Phases
    }

    fn leave(&self) {
        let mut state = self.barrier.lock();
        state.runs[self.number] = BarrierSlot::Left;
        self.barrier.release_earliest(&mut state);
    }
}

impl Drop for StartTicket {
    fn drop(&mut self) {
        self.leave();
    }
}

impl StartBarrier {
    /// Locks the state; a run that panics leaves no half-made change in it.
    fn lock(&self) -> MutexGuard<'_, BarrierState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn release_earliest(&self, state: &mut BarrierState) {
        state.release_earliest(self.clock.now());
        self.changed.notify_all();
    }

    fn wait_for_release(&self, number: usize) {
        let must_wait =
            |state: &mut BarrierState| !matches!(state.runs[number], BarrierSlot::Released(_));
        drop(self.changed.wait_timeout_while(self.lock(), STOP_CHECK_INTERVAL, must_wait));
    }
}

impl BarrierState {
    /// Releases the runs that wait at the earliest place, once all runs wait.
    fn release_earliest(&mut self, now: Nanos) {
        let is_working =
            |run: &BarrierSlot| matches!(run, BarrierSlot::Busy | BarrierSlot::Released(_));
        if self.runs.iter().any(is_working) {
            return;
        }
        let mut waiting = Vec::new();
        for (number, run) in self.runs.iter().enumerate() {
            if let BarrierSlot::Waits { place, lead } = run {
                let position = start_position(&mut self.order, self.sync, place);
                waiting.push(WaitingRun { number, position, lead: *lead });
            }
        }
        let Some(first) = waiting.iter().map(|run| run.position).min() else { return };
        waiting.retain(|run| run.position == first);
        let targets = waiting.len() as u32;
        let lead = waiting.iter().map(|run| run.lead).max().unwrap_or_default();
        let agreed = (targets > 1).then(|| Agreement { start: now + lead, lead, targets });
        for run in waiting {
            self.runs[run.number] = BarrierSlot::Released(agreed);
        }
    }
}

fn start_position(order: &mut StartOrder, sync: StartSync, place: &StepPlace) -> StartPosition {
    let position = order.position(place);
    match sync {
        // Runs need not begin a phase with the same step.
        StartSync::Phases => {
            StartPosition { position: order.start_of_phase(position), ..StartPosition::default() }
        }
        StartSync::Steps | StartSync::Start => {
            StartPosition { position, round: place.round, point: place.point }
        }
    }
}

/// Returns the caveat on resources that targets of one host share.
pub fn shared_host(others: &[&str], processors: Option<u32>) -> Caveat {
    let targets = others.len() + 1;
    let processors = match processors {
        None => "its processors".to_owned(),
        Some(few) if (few as usize) < 2 * targets => format!(
            "its processors (only {few} for {targets} targets, so that the host and not the device \
             may set the pace)"
        ),
        Some(processors) => format!("its {processors} processors"),
    };
    Caveat::deviation(
        caveats::SHARED_HOST,
        format!(
            "Tested at the same time as {}: they share {processors}, its memory, PCIe lanes, host \
             bus adapters and caches. A number can be lower than that of this device alone.",
            others.join(", ")
        ),
        "Where a difference matters, test one target at a time.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread::JoinHandle;
    use steadfast_domain::script::Timing;
    use steadfast_domain::stimulus::{ActiveRange, LoadLimits};
    use steadfast_domain::{Bytes, Demand, ScriptLoad, Stimulus};

    /// Phase, round and point.
    type Place = (&'static str, u32, u32);

    fn step((phase, round, point): Place) -> Step {
        let range = ActiveRange::new(Bytes(0), Bytes(0));
        let stimulus = Stimulus::new(Vec::new(), range, Demand::new(1, 1), LoadLimits::ios(1));
        Step::alone(StepPlace::new(phase, round, point, ""), stimulus)
    }

    fn script_load() -> ScriptLoad {
        ScriptLoad {
            bytes: Bytes(4096),
            span: Nanos::SECOND,
            largest: Bytes(4096),
            unit: Bytes(4096),
            reach: Bytes(4096),
            timing: Timing::Closed,
            ..ScriptLoad::new("list", Demand::new(1, 1))
        }
    }

    /// Waits for these steps in a thread, one after another, and leaves. Returns their starts.
    fn run(mut ticket: StartTicket, steps: &[Place]) -> JoinHandle<Vec<Option<CommonStart>>> {
        let steps = steps.to_vec();
        std::thread::spawn(move || {
            let wait = |place| ticket.wait(&step(place), &StopSignal::default()).unwrap();
            steps.into_iter().map(wait).collect()
        })
    }

    fn are_common(starts: &[Option<CommonStart>]) -> Vec<bool> {
        starts.iter().map(Option::is_some).collect()
    }

    fn order(places: &[Place]) -> StartOrder {
        StartOrder::new(vec![places.iter().map(|place| step(*place).place).collect()])
    }

    fn tickets_of<const RUNS: usize>(order: StartOrder, sync: StartSync) -> [StartTicket; RUNS] {
        start_tickets(RUNS, order, sync, Arc::new(HostClock)).try_into().unwrap()
    }

    fn tickets<const RUNS: usize>() -> [StartTicket; RUNS] {
        // The last step is of the second phase again.
        let order = order(&[("wipc", 0, 1), ("rounds", 1, 1), ("end", 0, 1), ("rounds", 0, 9)]);
        tickets_of(order, StartSync::Steps)
    }

    #[test]
    fn shared_steps_start_together() {
        let places = [("wipc", 0, 1), ("rounds", 1, 1), ("rounds", 1, 2)];
        let runs = tickets::<3>().map(|ticket| run(ticket, &places));
        let starts = runs.map(|run| run.join().unwrap());
        for step in 0..3 {
            let starts: Vec<CommonStart> = starts.iter().map(|run| run[step].unwrap()).collect();
            assert!(starts.iter().all(|s| (s.agreed, s.targets) == (starts[0].agreed, 3)));
        }
        assert!(starts[0][0].unwrap().agreed < starts[0][1].unwrap().agreed);
    }

    #[test]
    fn the_run_that_is_behind_continues_alone() {
        let [quick, slow] = tickets();
        let quick = run(quick, &[("rounds", 1, 1), ("end", 0, 1)]);
        let steps = [("rounds", 1, 1), ("rounds", 2, 1), ("rounds", 3, 1), ("end", 0, 1)];
        let slow = run(slow, &steps).join().unwrap();
        assert_eq!(are_common(&slow), [true, false, false, true]);
        assert_eq!(quick.join().unwrap()[1].unwrap().agreed, slow[3].unwrap().agreed);
    }

    #[test]
    fn a_phase_that_continues_after_others_is_later() {
        let [quick, slow] = tickets();
        let quick = run(quick, &[("rounds", 0, 9)]);
        let slow = run(slow, &[("rounds", 0, 1), ("end", 0, 1), ("rounds", 0, 9)]).join().unwrap();
        assert_eq!(quick.join().unwrap()[0].unwrap().agreed, slow[2].unwrap().agreed);
        assert!(slow[1].is_none());
    }

    /// A gap that only one of them had makes it repeat a step.
    #[test]
    fn a_run_that_repeats_a_step_is_behind() {
        let [quick, slow] = tickets();
        let quick = run(quick, &[("rounds", 1, 1), ("rounds", 1, 2)]);
        let steps = [
            ("rounds", 1, 1),
            // No run without a gap has this phase.
            ("refresh (attempt 2)", 3, 1),
            ("rounds (attempt 2)", 1, 1),
            ("rounds", 1, 2),
        ];
        let slow = run(slow, &steps).join().unwrap();
        assert_eq!(are_common(&slow), [true, false, false, true]);
        assert_eq!(quick.join().unwrap()[1].unwrap().agreed, slow[3].unwrap().agreed);
    }

    /// Rounds may span several phases, as in `factors`.
    #[test]
    fn a_run_that_repeats_a_step_of_an_earlier_phase_and_round_is_behind() {
        let places = [("a", 1, 1), ("b", 1, 1), ("a", 2, 1), ("b", 2, 1)];
        for sync in [StartSync::Steps, StartSync::Phases] {
            let [quick, slow] = tickets_of(order(&places), sync);
            let quick = run(quick, &places);
            let mut steps = places.to_vec();
            steps.insert(2, ("b (attempt 2)", 1, 1));
            let slow = run(slow, &steps).join().unwrap();
            assert_eq!(are_common(&slow), [true, true, false, true, true], "{sync:?}");
            assert!(quick.join().unwrap().iter().all(Option::is_some), "{sync:?}");
        }
    }

    #[test]
    fn a_run_that_ends_or_fails_releases_the_others() {
        let [short, failing, long] = tickets();
        let short = run(short, &[("rounds", 1, 1)]);
        let failed = std::thread::spawn(move || {
            let _ticket = failing;
            std::panic::resume_unwind(Box::new("failed"));
        });
        let long = run(long, &[("rounds", 1, 1), ("rounds", 1, 2)]);
        assert!(failed.join().is_err());
        assert_eq!(short.join().unwrap().len(), 1);
        let long = long.join().unwrap();
        assert!(long[1].is_none(), "{long:?}");
    }

    /// The lead of a script is no time that the other load waited.
    #[test]
    fn the_lead_of_a_script_is_not_waiting_time() {
        let [mut first, mut last] = tickets();
        let mut script = step(("rounds", 1, 1));
        script.load = Load::Script(script_load());
        let waiting =
            std::thread::spawn(move || first.wait(&script, &StopSignal::default()).unwrap());
        let last = last.wait(&step(("rounds", 1, 1)), &StopSignal::default()).unwrap().unwrap();
        assert_eq!(last.agreed, waiting.join().unwrap().unwrap().agreed);
        assert!(last.waited < Nanos::from_secs(2), "{}", last.waited);
    }

    #[test]
    fn a_stop_ends_the_wait_for_others() {
        let [mut ticket, _other] = tickets();
        let stop = StopSignal::default();
        stop.request();
        assert_eq!(ticket.wait(&step(("rounds", 1, 1)), &stop), Err(Halt::Stopped));
    }

    #[test]
    fn only_the_first_loads_start_together() {
        let places = [("rounds", 1, 1), ("rounds", 1, 2)];
        let tickets: [StartTicket; 2] = tickets_of(StartOrder::default(), StartSync::Start);
        for run in tickets.map(|ticket| run(ticket, &places)) {
            assert_eq!(are_common(&run.join().unwrap()), [true, false]);
        }
    }

    #[test]
    fn the_first_loads_of_every_phase_start_together() {
        let order = order(&[("wipc", 0, 1), ("replay", 0, 1)]);
        let [one, other] = tickets_of(order, StartSync::Phases);
        let one = run(one, &[("wipc", 0, 1), ("replay", 0, 1), ("replay", 0, 2)]);
        let steps = [("wipc", 0, 1), ("wipc", 0, 2), ("replay", 0, 3), ("replay", 0, 5)];
        let other = run(other, &steps).join().unwrap();
        let one = one.join().unwrap();
        assert_eq!(are_common(&one), [true, true, false]);
        assert_eq!(are_common(&other), [true, false, true, false]);
        assert_eq!(one[1].unwrap().agreed, other[2].unwrap().agreed);
    }

    #[test]
    fn no_run_starts_before_the_last_arrives() {
        let [first, mut last] = tickets();
        let waiting = run(first, &[("rounds", 1, 1)]);
        std::thread::sleep(STOP_CHECK_INTERVAL * 3);
        assert!(!waiting.is_finished(), "it started alone");
        let last = last.wait(&step(("rounds", 1, 1)), &StopSignal::default()).unwrap().unwrap();
        let first = waiting.join().unwrap()[0].unwrap();
        assert_eq!(last.agreed, first.agreed);
        assert!(last.waited < first.waited);
    }
}
