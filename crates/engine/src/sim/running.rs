//! A running load of any kind.

use super::concurrent::ConcurrentLoads;
use super::drive::SimulatedDrive;
use super::load::{AdvanceEnd, RunningLoad, SimContext, SimulatedMeasurement};
use super::script::RunningScript;
use crate::draw::DrawPlan;
use crate::handover::ActiveLoad;
use crate::play::ScriptReader;
use crate::prepared::StepRefusal;
use crate::start::StepStart;
use steadfast_domain::{Load, Nanos};

#[derive(Debug)]
pub(super) enum SimulatedLoad {
    Drawn(DrawPlan),
    Concurrent(Vec<DrawPlan>),
    Script(ScriptReader),
}

#[derive(Debug)]
pub(super) enum SimulatedRunKind {
    Drawn(Box<RunningLoad>),
    Concurrent(ConcurrentLoads),
    Script(Box<RunningScript>),
}

#[derive(Debug)]
pub(super) struct SimulatedRun {
    pub(super) load: Load,
    pub(super) kind: SimulatedRunKind,
}

impl ActiveLoad for SimulatedRun {
    fn is_of(&self, load: &Load) -> bool {
        self.load == *load
    }
}

impl SimulatedRun {
    /// Starts a load at `now` with all slots free.
    pub(super) fn begin(
        load: &Load,
        prepared: SimulatedLoad,
        start: &StepStart,
        now: u64,
    ) -> Result<SimulatedRun, StepRefusal> {
        if let Some(begins) = start.begins.filter(|begins| begins.0 < now) {
            let late = Nanos(now - begins.0);
            return Err(StepRefusal(format!(
                "the script was due to begin {late} ago; allow more time"
            )));
        }
        let kind = match (prepared, load) {
            (SimulatedLoad::Drawn(plan), Load::Stimulus(stimulus)) => {
                SimulatedRunKind::Drawn(Box::new(RunningLoad::begin(stimulus, plan, start, now)))
            }
            (SimulatedLoad::Concurrent(plans), Load::Together(stimuli)) => {
                SimulatedRunKind::Concurrent(ConcurrentLoads::begin(stimuli, plans, start, now))
            }
            (SimulatedLoad::Script(reader), Load::Script(script)) => {
                let running = RunningScript::begin(script, reader, start, now);
                SimulatedRunKind::Script(Box::new(
                    running.map_err(|error| StepRefusal(error.to_string()))?,
                ))
            }
            _ => return Err(StepRefusal("a different load was prepared".to_owned())),
        };
        Ok(SimulatedRun { load: load.clone(), kind })
    }

    pub(super) fn now(&self) -> u64 {
        match &self.kind {
            SimulatedRunKind::Drawn(load) => load.now,
            SimulatedRunKind::Concurrent(loads) => loads.now,
            SimulatedRunKind::Script(script) => script.now,
        }
    }

    /// Returns the time at which its measurement starts.
    pub(super) fn measured_from(&self) -> u64 {
        match &self.kind {
            SimulatedRunKind::Drawn(load) => load.measured_from,
            SimulatedRunKind::Concurrent(loads) => loads.measured_from(),
            SimulatedRunKind::Script(script) => script.began,
        }
    }

    /// Returns the time at which the load is complete; `None` if no time limit applies.
    pub(super) fn ends_at(&self) -> Option<u64> {
        match &self.kind {
            SimulatedRunKind::Drawn(load) => load.ends_at,
            SimulatedRunKind::Concurrent(loads) => loads.ends_at(),
            SimulatedRunKind::Script(_) => None,
        }
    }

    /// Runs up to `to`; an I/O that completes exactly at `to` belongs to the next call.
    pub(super) fn advance(&mut self, to: u64, context: &mut SimContext) -> AdvanceEnd {
        match &mut self.kind {
            SimulatedRunKind::Drawn(load) => load.advance(to, context),
            SimulatedRunKind::Concurrent(loads) => loads.advance(to, context),
            SimulatedRunKind::Script(script) => script.advance(to, context),
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        match &self.kind {
            SimulatedRunKind::Drawn(load) => load.is_idle(),
            SimulatedRunKind::Concurrent(loads) => loads.is_idle(),
            SimulatedRunKind::Script(script) => script.is_idle(),
        }
    }

    /// Completes the I/Os that are outstanding at the end of the load.
    pub(super) fn drain(
        &mut self,
        drive: &mut SimulatedDrive,
        measurement: &mut SimulatedMeasurement,
    ) {
        match &mut self.kind {
            SimulatedRunKind::Drawn(load) => load.drain(drive, measurement),
            SimulatedRunKind::Concurrent(loads) => loads.drain(drive, measurement),
            SimulatedRunKind::Script(script) => script.drain(measurement),
        }
    }
}
