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
        let Some(place) = self.waiting_place(&step.place) else { return Ok(None) };
        let since = self.barrier.clock.now();
        let lead = match step.load {
            Load::Stimulus(_) | Load::Together(_) => LEAD,
            Load::Script(_) => SCRIPT_LEAD,
        };
        let mut state = self.barrier.lock();
        if state.runs[self.number] == BarrierSlot::Left {
            return Ok(None);
        }
        state.runs[self.number] = BarrierSlot::Waits { place, lead };
        self.barrier.release(&mut state);
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
            waited: start.saturating_sub(lead).saturating_sub(since),
            targets,
        }))
    }

    /// Returns the place under which it waits for the others before a load; `None` if it need not
    /// wait.
    fn waiting_place(&mut self, place: &StepPlace) -> Option<StepPlace> {
        let is_new = self.phase.as_ref() != Some(&place.phase);
        self.phase = Some(place.phase.clone());
        (is_new || self.sync != StartSync::Phases).then(|| place.clone())
    }

    fn leave(&self) {
        let mut state = self.barrier.lock();
        state.runs[self.number] = BarrierSlot::Left;
        self.barrier.release(&mut state);
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

    fn release(&self, state: &mut BarrierState) {
        state.release(self.clock.now());
        self.changed.notify_all();
    }

    fn wait_for_release(&self, number: usize) {
        let is_held =
            |state: &mut BarrierState| !matches!(state.runs[number], BarrierSlot::Released(_));
        drop(self.changed.wait_timeout_while(self.lock(), STOP_CHECK_INTERVAL, is_held));
    }
}

impl BarrierState {
    /// Releases the runs that wait at the earliest place, once all runs wait.
    fn release(&mut self, now: Nanos) {
        let busy = |run: &BarrierSlot| matches!(run, BarrierSlot::Busy | BarrierSlot::Released(_));
        if self.runs.iter().any(busy) {
            return;
        }
        let waiting = self.runs.iter().filter_map(|run| match run {
            BarrierSlot::Waits { place, lead } => Some((place.clone(), *lead)),
            _ => None,
        });
        let waiting: Vec<(StepPlace, Nanos)> = waiting.collect();
        let keys: Vec<_> = waiting.iter().map(|(place, _)| self.key(place)).collect();
        let Some(first) = keys.iter().min().copied() else { return };
        let together = keys.iter().filter(|key| **key == first).count();
        let leads = waiting.iter().zip(&keys).filter(|(_, key)| **key == first);
        let lead = leads.map(|((_, lead), _)| *lead).max().unwrap_or(LEAD);
        let agreed = (together > 1).then(|| Agreement {
            start: now + lead,
            lead,
            targets: u32::try_from(together).unwrap_or(0),
        });
        let mut keys = keys.into_iter();
        for run in &mut self.runs {
            if matches!(run, BarrierSlot::Waits { .. }) && keys.next() == Some(first) {
                *run = BarrierSlot::Released(agreed);
            }
        }
    }

    /// Returns a key that orders places by time.
    fn key(&mut self, place: &StepPlace) -> (usize, u32, u32) {
        let position = self.order.position(place);
        match self.sync {
            // Runs need not begin a phase with the same step.
            StartSync::Phases => (self.order.start_of_phase(position), 0, 0),
            StartSync::Steps | StartSync::Start => (position, place.round, place.point),
        }
    }
}

/// Returns the caveat on resources that targets of one host share.
pub fn shared_host(others: &[&str], processors: Option<u32>) -> Caveat {
    let targets = others.len() + 1;
    let scarce = processors.filter(|processors| (*processors as usize) < 2 * targets);
    let processors = match (processors, scarce) {
        (_, Some(few)) => format!(
            "its processors (only {few} for {targets} targets, so that the host and not the device \
             may set the pace)"
        ),
        (Some(processors), None) => format!("its {processors} processors"),
        (None, None) => "its processors".to_owned(),
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
    use std::sync::mpsc::{Receiver, channel};
    use std::thread::JoinHandle;
    use steadfast_domain::script::Timing;
    use steadfast_domain::stimulus::{ActiveRange, LoadLimits};
    use steadfast_domain::{Bytes, Demand, ScriptLoad, Stimulus};

    type ReleasedStart = (String, Option<CommonStart>);

    fn step(place: (&str, u32, u32)) -> Step {
        let range = ActiveRange::new(Bytes(0), Bytes(0));
        let stimulus = Stimulus::new(Vec::new(), range, Demand::new(1, 1), LoadLimits::ios(1));
        Step::alone(StepPlace::new(place.0, place.1, place.2, ""), stimulus)
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

    /// Does these steps in a run of its own, one after another, and leaves.
    fn run(
        mut ticket: StartTicket,
        steps: Vec<(&'static str, u32, u32)>,
    ) -> JoinHandle<Vec<ReleasedStart>> {
        std::thread::spawn(move || {
            let each = steps.into_iter().map(|place| {
                let met = ticket.wait(&step(place), &StopSignal::default()).unwrap();
                (format!("{} {} {}", place.0, place.1, place.2), met)
            });
            each.collect()
        })
    }

    fn order(places: &[(&str, u32, u32)]) -> StartOrder {
        let places = places.iter().map(|place| StepPlace::new(place.0, place.1, place.2, ""));
        StartOrder::new(vec![places.collect()])
    }

    fn tickets(runs: usize) -> Vec<StartTicket> {
        // The last step is of the second phase again.
        let order = order(&[("wipc", 0, 1), ("rounds", 1, 1), ("end", 0, 1), ("rounds", 0, 9)]);
        start_tickets(runs, order, StartSync::Steps, Arc::new(HostClock))
    }

    #[test]
    fn shared_steps_start_together() {
        let places = vec![("wipc", 0, 1), ("rounds", 1, 1), ("rounds", 1, 2)];
        let runs: Vec<_> =
            tickets(3).into_iter().map(|ticket| run(ticket, places.clone())).collect();
        let met: Vec<Vec<ReleasedStart>> =
            runs.into_iter().map(|run| run.join().unwrap()).collect();
        for at in 0..3 {
            let starts: Vec<CommonStart> = met.iter().map(|all| all[at].1.unwrap()).collect();
            assert!(starts.iter().all(|s| (s.agreed, s.targets) == (starts[0].agreed, 3)));
        }
        assert!(met[0][0].1.unwrap().agreed < met[0][1].1.unwrap().agreed);
    }

    #[test]
    fn the_run_that_is_behind_continues_alone() {
        let mut tickets = tickets(2).into_iter();
        let quick = run(tickets.next().unwrap(), vec![("rounds", 1, 1), ("end", 0, 1)]);
        let slow = vec![("rounds", 1, 1), ("rounds", 2, 1), ("rounds", 3, 1), ("end", 0, 1)];
        let slow = run(tickets.next().unwrap(), slow).join().unwrap();
        let quick = quick.join().unwrap();
        let common: Vec<bool> = slow.iter().map(|(_, met)| met.is_some()).collect();
        assert_eq!(common, [true, false, false, true]);
        assert_eq!(quick[1].1.unwrap().agreed, slow[3].1.unwrap().agreed);
    }

    #[test]
    fn a_phase_that_continues_after_others_is_later() {
        let mut tickets = tickets(2).into_iter();
        let quick = run(tickets.next().unwrap(), vec![("rounds", 0, 9)]);
        let slow = vec![("rounds", 0, 1), ("end", 0, 1), ("rounds", 0, 9)];
        let slow = run(tickets.next().unwrap(), slow).join().unwrap();
        assert_eq!(quick.join().unwrap()[0].1.unwrap().agreed, slow[2].1.unwrap().agreed);
        assert!(slow[1].1.is_none());
    }

    /// After a gap, which only one of them had.
    #[test]
    fn a_run_that_repeats_a_step_is_behind() {
        let mut tickets = tickets(2).into_iter();
        let quick = run(tickets.next().unwrap(), vec![("rounds", 1, 1), ("rounds", 1, 2)]);
        let slow = vec![
            ("rounds", 1, 1),
            // No run without a gap has this phase.
            ("refresh (attempt 2)", 3, 1),
            ("rounds (attempt 2)", 1, 1),
            ("rounds", 1, 2),
        ];
        let slow = run(tickets.next().unwrap(), slow).join().unwrap();
        let common: Vec<bool> = slow.iter().map(|(_, met)| met.is_some()).collect();
        assert_eq!(common, [true, false, false, true]);
        assert_eq!(quick.join().unwrap()[1].1.unwrap().agreed, slow[3].1.unwrap().agreed);
    }

    /// Rounds may span several phases, as in `factors`.
    #[test]
    fn a_run_that_repeats_a_step_of_an_earlier_phase_and_round_is_behind() {
        let places = [("a", 1, 1), ("b", 1, 1), ("a", 2, 1), ("b", 2, 1)];
        for (sync, common) in [
            (StartSync::Steps, [true, true, false, true, true]),
            (StartSync::Phases, [true, true, false, true, true]),
        ] {
            let mut tickets =
                start_tickets(2, order(&places), sync, Arc::new(HostClock)).into_iter();
            let quick = run(tickets.next().unwrap(), places.to_vec());
            let mut steps = places.to_vec();
            steps.insert(2, ("b (attempt 2)", 1, 1));
            let slow = run(tickets.next().unwrap(), steps).join().unwrap();
            let met: Vec<bool> = slow.iter().map(|(_, met)| met.is_some()).collect();
            assert_eq!(met, common, "{sync:?}");
            assert!(quick.join().unwrap().iter().all(|(_, met)| met.is_some()), "{sync:?}");
        }
    }

    #[test]
    fn a_run_that_ends_or_fails_releases_the_others() {
        let mut tickets = tickets(3).into_iter();
        let short = run(tickets.next().unwrap(), vec![("rounds", 1, 1)]);
        let failing = tickets.next().unwrap();
        let failed = std::thread::spawn(move || {
            let _ticket = failing;
            std::panic::resume_unwind(Box::new("failed"));
        });
        let long = run(tickets.next().unwrap(), vec![("rounds", 1, 1), ("rounds", 1, 2)]);
        assert!(failed.join().is_err());
        assert_eq!(short.join().unwrap().len(), 1);
        let long = long.join().unwrap();
        assert!(long[1].1.is_none(), "{long:?}");
    }

    /// The lead of a script is no time that the other load waited.
    #[test]
    fn the_lead_of_a_script_is_not_waiting_time() {
        let mut tickets = tickets(2).into_iter();
        let (mut first, mut last) = (tickets.next().unwrap(), tickets.next().unwrap());
        let mut script = step(("rounds", 1, 1));
        script.load = Load::Script(script_load());
        let waiting =
            std::thread::spawn(move || first.wait(&script, &StopSignal::default()).unwrap());
        let own = last.wait(&step(("rounds", 1, 1)), &StopSignal::default()).unwrap().unwrap();
        assert_eq!(own.agreed, waiting.join().unwrap().unwrap().agreed);
        assert!(own.waited < Nanos::from_secs(2), "{}", own.waited);
    }

    #[test]
    fn a_stop_ends_the_wait_for_others() {
        let mut tickets = tickets(2);
        let stop = StopSignal::default();
        stop.request();
        assert_eq!(tickets[0].wait(&step(("rounds", 1, 1)), &stop), Err(Halt::Stopped));
    }

    #[test]
    fn only_the_first_loads_start_together() {
        let places = vec![("rounds", 1, 1), ("rounds", 1, 2)];
        let tickets =
            start_tickets(2, StartOrder::default(), StartSync::Start, Arc::new(HostClock));
        let runs: Vec<_> = tickets.into_iter().map(|ticket| run(ticket, places.clone())).collect();
        for run in runs {
            let met = run.join().unwrap();
            assert!(met[0].1.is_some() && met[1].1.is_none(), "{met:?}");
        }
    }

    #[test]
    fn the_first_loads_of_every_phase_start_together() {
        let order = order(&[("wipc", 0, 1), ("replay", 0, 1)]);
        let tickets = start_tickets(2, order, StartSync::Phases, Arc::new(HostClock));
        let places = [
            vec![("wipc", 0, 1), ("replay", 0, 1), ("replay", 0, 2)],
            vec![("wipc", 0, 1), ("wipc", 0, 2), ("replay", 0, 3), ("replay", 0, 5)],
        ];
        let runs = tickets.into_iter().zip(places).map(|(ticket, places)| run(ticket, places));
        let runs: Vec<_> = runs.collect();
        let met: Vec<Vec<ReleasedStart>> =
            runs.into_iter().map(|run| run.join().unwrap()).collect();
        let began = |run: usize| -> Vec<bool> { met[run].iter().map(|m| m.1.is_some()).collect() };
        assert_eq!((began(0), began(1)), (vec![true, true, false], vec![true, false, true, false]));
        assert_eq!(met[0][1].1.unwrap().agreed, met[1][2].1.unwrap().agreed);
    }

    #[test]
    fn no_run_starts_before_the_last_arrives() {
        let mut tickets = tickets(2).into_iter();
        let (first, mut last) = (tickets.next().unwrap(), tickets.next().unwrap());
        let (tell, told): (_, Receiver<()>) = channel();
        let waiting = std::thread::spawn(move || {
            let met = run(first, vec![("rounds", 1, 1)]).join().unwrap();
            tell.send(()).unwrap();
            met
        });
        assert!(told.recv_timeout(STOP_CHECK_INTERVAL * 3).is_err(), "it went alone");
        let own = last.wait(&step(("rounds", 1, 1)), &StopSignal::default()).unwrap().unwrap();
        let first = waiting.join().unwrap()[0].1.unwrap();
        assert_eq!(own.agreed, first.agreed);
        assert!(own.waited < first.waited);
    }
}
