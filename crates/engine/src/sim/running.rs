//! A load that runs, whatever it is.

use super::load::{Pause, RunningLoad, SimContext, Window};
use super::script::RunningScript;
use super::several::RunningSeveral;
use crate::draw::DrawPlan;
use crate::handover::Runs;
use crate::play::Source;
use crate::prepared::Refusal;
use crate::start::Start;
use steadfast_domain::{Load, Nanos};

/// What is made of a load before it begins.
#[derive(Debug)]
pub(super) enum SimulatedLoad {
    Drawn(DrawPlan),
    Several(Vec<DrawPlan>),
    Script(Source),
}

/// How its I/Os come about.
#[derive(Debug)]
pub(super) enum Course {
    Drawn(Box<RunningLoad>),
    Several(RunningSeveral),
    Script(Box<RunningScript>),
}

/// A load and how far it is.
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
    /// Begins a load at `now`, all its slots free.
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

    /// The virtual time that it has reached.
    pub(super) fn now(&self) -> u64 {
        match &self.course {
            Course::Drawn(load) => load.now(),
            Course::Several(loads) => loads.now(),
            Course::Script(script) => script.now(),
        }
    }

    /// When what it does begins to be measured.
    pub(super) fn measured_from(&self) -> u64 {
        match &self.course {
            Course::Drawn(load) => load.measured_from,
            Course::Several(loads) => loads.measured_from(),
            Course::Script(script) => script.began,
        }
    }

    /// When it is complete, where time limits it.
    pub(super) fn ends_at(&self) -> Option<u64> {
        match &self.course {
            Course::Drawn(load) => load.ends_at,
            Course::Several(loads) => loads.ends_at(),
            Course::Script(_) => None,
        }
    }

    /// Runs up to `to`; what completes at `to` belongs to what comes then.
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

    /// Whether nothing is outstanding.
    pub(super) fn is_idle(&self) -> bool {
        match &self.course {
            Course::Drawn(load) => load.is_idle(),
            Course::Several(loads) => loads.is_idle(),
            Course::Script(script) => script.is_idle(),
        }
    }

    /// Waits for what is outstanding when the load has ended.
    pub(super) fn drain(&mut self, window: &mut Window) {
        match &mut self.course {
            Course::Drawn(load) => load.drain(window),
            Course::Several(loads) => loads.drain(window),
            Course::Script(script) => script.drain(window),
        }
    }
}
