//! Several loads at once, in virtual time: the load with the earliest next event advances first.

use super::drive::SimulatedDrive;
use super::load::{AdvanceEnd, RunningLoad, SimContext, SimulatedMeasurement};
use crate::accounting::{account_streams, tallied_streams};
use crate::draw::DrawPlan;
use crate::start::{StepStart, part_cursors};
use std::collections::BTreeMap;
use steadfast_domain::measurement::LoadPart;
use steadfast_domain::{Bytes, Nanos, Stimulus};

/// Loads that started at the same time.
#[derive(Debug)]
pub(super) struct ConcurrentLoads {
    loads: Vec<ConcurrentLoad>,
    pub(super) now: u64,
    /// Time since when no load has an I/O outstanding; `None` while one has.
    idle_since: Option<u64>,
}

#[derive(Debug)]
struct ConcurrentLoad {
    load: RunningLoad,
    streams: u32,
    /// Time at which it ended; `None` while it runs.
    ended_at: Option<u64>,
}

impl ConcurrentLoads {
    pub(super) fn begin(
        stimuli: &[Stimulus],
        plans: Vec<DrawPlan>,
        start: &StepStart,
        now: u64,
    ) -> Self {
        let mut first = 0;
        let mut loads = Vec::with_capacity(stimuli.len());
        for (number, (stimulus, plan)) in stimuli.iter().zip(plans).enumerate() {
            let streams = tallied_streams(&stimulus.streams) as u32;
            let load = RunningLoad::begin(stimulus, plan, &start.for_part(number), now);
            loads.push(ConcurrentLoad { load: load.among_others(first), streams, ended_at: None });
            first += account_streams(&stimulus.streams) as u32;
        }
        ConcurrentLoads { loads, now, idle_since: Some(now) }
    }

    /// Returns the time at which their measurement starts.
    pub(super) fn measured_from(&self) -> u64 {
        self.loads.iter().map(|running| running.load.measured_from).max().unwrap_or(self.now)
    }

    /// Returns the time at which the last load is complete; `None` unless time limits all of
    /// them.
    pub(super) fn ends_at(&self) -> Option<u64> {
        let ends: Option<Vec<u64>> =
            self.loads.iter().map(|running| running.load.ends_at).collect();
        ends?.into_iter().max()
    }

    /// Returns the seed of the first load, if it is not its stimulus's own.
    pub(super) fn seed(&self) -> Option<u64> {
        self.loads.first().and_then(|running| running.load.seed)
    }

    /// Runs up to `to`; an I/O that completes exactly at `to` belongs to the next call.
    pub(super) fn advance(&mut self, to: u64, context: &mut SimContext) -> AdvanceEnd {
        if to <= self.now {
            return AdvanceEnd::Reached;
        }
        loop {
            let running = self.loads.iter().enumerate().filter(|(_, load)| load.ended_at.is_none());
            let Some((at, number)) = running.map(|(index, load)| (load.next_event(), index)).min()
            else {
                let ends = self.loads.iter().filter_map(|load| load.ended_at);
                self.now = ends.max().unwrap_or(self.now).max(self.now);
                return AdvanceEnd::Complete;
            };
            if at >= to && self.loads[number].load.ends_at != Some(to) {
                self.now = to;
                return AdvanceEnd::Reached;
            }
            self.pass_idle_time(at, context);
            let end = self.loads[number].handle_event(at, context);
            if !matches!(end, AdvanceEnd::Reached | AdvanceEnd::Complete) {
                self.now = self.now.max(at);
                return end;
            }
            self.idle_since = self.is_idle().then_some(at);
        }
    }

    /// Lets the drive collect garbage while no load has an I/O outstanding.
    fn pass_idle_time(&mut self, at: u64, context: &mut SimContext) {
        if let Some(idle_since) = self.idle_since.filter(|idle_since| *idle_since < at) {
            context.drive.idle(idle_since, at);
            context.measurement.end_idle_time(at);
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.loads.iter().all(|running| running.load.is_idle())
    }

    /// Completes the I/Os that are outstanding at the end of the loads.
    pub(super) fn drain(
        &mut self,
        drive: &mut SimulatedDrive,
        measurement: &mut SimulatedMeasurement,
    ) {
        for ConcurrentLoad { load, .. } in &mut self.loads {
            load.drain(drive, measurement);
            self.now = self.now.max(load.now);
        }
    }

    pub(super) fn cursors(&self) -> BTreeMap<String, Bytes> {
        let mut cursors = BTreeMap::new();
        for (number, running) in self.loads.iter().enumerate() {
            cursors.extend(part_cursors(number, running.load.plan.cursors()));
        }
        cursors
    }

    /// Returns the measured time of each load since `begin`.
    pub(super) fn parts(&self, begin: u64, elapsed: Nanos) -> Vec<LoadPart> {
        let load_part = |running: &ConcurrentLoad| {
            let load_begin = running.load.begins.max(begin);
            let mut load_elapsed = elapsed.saturating_sub(Nanos(load_begin - begin));
            if let Some(ended_at) = running.ended_at {
                load_elapsed = load_elapsed.min(Nanos(ended_at.saturating_sub(load_begin)));
            }
            LoadPart { streams: running.streams, elapsed: load_elapsed }
        };
        self.loads.iter().map(load_part).collect()
    }
}

impl ConcurrentLoad {
    /// Returns the time of the next event: the load's end, or its next I/O.
    fn next_event(&self) -> u64 {
        self.load.next_event().min(self.load.ends_at.unwrap_or(u64::MAX))
    }

    fn handle_event(&mut self, at: u64, context: &mut SimContext) -> AdvanceEnd {
        if self.load.ends_at.is_some_and(|end| end <= at) {
            self.ended_at = Some(at);
            self.load.drain(context.drive, context.measurement);
            return AdvanceEnd::Complete;
        }
        context.drive.set_data_pattern(&self.load.stimulus.data_pattern);
        let end = self.load.advance(at.saturating_add(1), context);
        if end == AdvanceEnd::Complete {
            self.ended_at = Some(self.load.now);
        }
        end
    }
}
