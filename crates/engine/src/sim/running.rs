//! A running load of any kind.

use super::load::{Pause, RunningLoad, SimContext, Window};
use super::script::RunningScript;
use super::several::RunningSeveral;
use crate::draw::DrawPlan;
use crate::handover::Runs;
use crate::play::Source;
use crate::prepared::Refusal;
use crate::start::Start;
use steadfast_domain::{Load, Nanos};

/// A load that can begin.
#[derive(Debug)]
pub(super) enum SimulatedLoad {
    Drawn(DrawPlan),
    Several(Vec<DrawPlan>),
    Script(Source),
}

/// A running load by kind.
#[derive(Debug)]
pub(super) enum Course {
    Drawn(Box<RunningLoad>),
    Several(RunningSeveral),
    Script(Box<RunningScript>),
}

/// A load and its progress.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) load: Load,
    pub(super) course: Course,
}

impl Runs for Running {
    fn is_of(&self, load: &Load) -> bool {
        self.load == *load
    }
}

impl Running {
    /// Starts a load at `now` with all slots free.
    pub(super) fn begin(
        load: &Load,
        prepared: SimulatedLoad,
        start: &Start,
        now: u64,
    ) -> Result<Running, Refusal> {
        if let Some(begins) = start.begins.filter(|begins| begins.0 < now) {
            let late = Nanos(now - begins.0);
            return Err(Refusal(format!(
                "the script was due to begin {late} ago; allow more time"
            )));
        }
        let course = match (prepared, load) {
            (SimulatedLoad::Drawn(plan), Load::Stimulus(stimulus)) => {
                Course::Drawn(Box::new(RunningLoad::begin(stimulus, plan, start, now)))
            }
            (SimulatedLoad::Several(plans), Load::Together(stimuli)) => {
                Course::Several(RunningSeveral::begin(stimuli, plans, start, now))
            }
            (SimulatedLoad::Script(source), Load::Script(script)) => {
                let running = RunningScript::begin(script, source, start, now);
                Course::Script(Box::new(running.map_err(|error| Refusal(error.to_string()))?))
            }
            _ => return Err(Refusal("a different load was prepared".to_owned())),
        };
        Ok(Running { load: load.clone(), course })
    }

    /// Returns the virtual time that the load has reached.
    pub(super) fn now(&self) -> u64 {
        match &self.course {
            Course::Drawn(load) => load.now(),
            Course::Several(loads) => loads.now(),
            Course::Script(script) => script.now(),
        }
    }

    /// Returns the time at which its measurement starts.
    pub(super) fn measured_from(&self) -> u64 {
        match &self.course {
            Course::Drawn(load) => load.measured_from,
            Course::Several(loads) => loads.measured_from(),
            Course::Script(script) => script.began,
        }
    }

    /// Returns the time at which the load is complete; `None` if no time limit applies.
    pub(super) fn ends_at(&self) -> Option<u64> {
        match &self.course {
            Course::Drawn(load) => load.ends_at,
            Course::Several(loads) => loads.ends_at(),
            Course::Script(_) => None,
        }
    }

    /// Runs up to `to`; an I/O that completes exactly at `to` belongs to the next call.
    pub(super) fn advance(
        &mut self,
        to: u64,
        context: &mut SimContext,
        window: &mut Window,
    ) -> Pause {
        match &mut self.course {
            Course::Drawn(load) => load.advance(to, context, window),
            Course::Several(loads) => loads.advance(to, context, window),
            Course::Script(script) => script.advance(to, context, window),
        }
    }

    /// Returns true if nothing is outstanding.
    pub(super) fn is_idle(&self) -> bool {
        match &self.course {
            Course::Drawn(load) => load.is_idle(),
            Course::Several(loads) => loads.is_idle(),
            Course::Script(script) => script.is_idle(),
        }
    }

    /// Completes the I/Os that are outstanding at the end of the load.
    pub(super) fn drain(&mut self, window: &mut Window) {
        match &mut self.course {
            Course::Drawn(load) => load.drain(window),
            Course::Several(loads) => loads.drain(window),
            Course::Script(script) => script.drain(window),
        }
    }
}
