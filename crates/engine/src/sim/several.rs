//! Several loads at once, in virtual time: the one whose next event comes first goes on.

use super::load::{Pause, RunningLoad, SimContext, Window};
use crate::draw::DrawPlan;
use crate::start::{Start, cursors_of_part};
use std::collections::BTreeMap;
use steadfast_domain::measurement::LoadPart;
use steadfast_domain::{Bytes, Nanos, Stimulus};

/// Loads that began at one moment.
#[derive(Debug)]
pub(super) struct RunningSeveral {
    loads: Vec<One>,
    now: u64,
    /// Since when none of them has an I/O outstanding, while that is so.
    idle_since: Option<u64>,
}

/// One of them.
#[derive(Debug)]
struct One {
    load: RunningLoad,
    streams: u32,
    ended: Option<u64>,
}

impl RunningSeveral {
    /// Begins all of them at `now`.
    pub(super) fn begin(
        stimuli: &[Stimulus],
        plans: Vec<DrawPlan>,
        start: &Start,
        now: u64,
    ) -> Self {
        let mut first = 0;
        let mut loads = Vec::with_capacity(stimuli.len());
        for (number, (stimulus, plan)) in stimuli.iter().zip(plans).enumerate() {
            let streams = u32::try_from(stimulus.streams.len()).unwrap_or(u32::MAX);
            let load = RunningLoad::begin(stimulus, plan, &start.of_part(number), now);
            loads.push(One { load: load.accompanied(first), streams, ended: None });
            first += streams;
        }
        RunningSeveral { loads, now, idle_since: Some(now) }
    }

    /// The virtual time that they have reached.
    pub(super) fn now(&self) -> u64 {
        self.now
    }

    /// When what they do begins to be measured.
    pub(super) fn measured_from(&self) -> u64 {
        self.loads.iter().map(|one| one.load.measured_from).max().unwrap_or(self.now)
    }

    /// When the last of them is complete, where time limits all of them.
    pub(super) fn ends_at(&self) -> Option<u64> {
        let ends: Option<Vec<u64>> = self.loads.iter().map(|one| one.load.ends_at).collect();
        ends?.into_iter().max()
    }

    /// What the first draws with, where that is not its stimulus's own seed.
    pub(super) fn seed(&self) -> Option<u64> {
        self.loads.first().and_then(|one| one.load.seed)
    }

    /// Runs up to `to`; what completes at `to` belongs to what comes then.
    pub(super) fn advance(
        &mut self,
        to: u64,
        context: &mut SimContext,
        window: &mut Window,
    ) -> Pause {
        if to <= self.now {
            return Pause::Reached;
        }
        loop {
            let running = self.loads.iter().enumerate().filter(|(_, one)| one.ended.is_none());
            let Some((at, number)) = running.map(|(n, one)| (one.next(), n)).min() else {
                let ends = self.loads.iter().filter_map(|one| one.ended);
                self.now = ends.max().unwrap_or(self.now).max(self.now);
                return Pause::Complete;
            };
            if at >= to && self.loads[number].load.ends_at != Some(to) {
                self.now = to;
                return Pause::Reached;
            }
            self.pass_idle_time(at, context, window);
            let pause = self.loads[number].go_on(at, context, window);
            if !matches!(pause, Pause::Reached | Pause::Complete) {
                self.now = self.now.max(at);
                return pause;
            }
            self.idle_since = self.is_idle().then_some(at);
        }
    }

    /// The drive may rest while none of them has anything outstanding.
    fn pass_idle_time(&mut self, at: u64, context: &mut SimContext, window: &mut Window) {
        if let Some(since) = self.idle_since.filter(|since| *since < at) {
            context.drive.rest(since, at);
            window.end_idle_time(at);
        }
    }

    /// Whether nothing is outstanding.
    pub(super) fn is_idle(&self) -> bool {
        self.loads.iter().all(|one| one.load.is_idle())
    }

    /// Waits for what is outstanding when the loads have ended.
    pub(super) fn drain(&mut self, window: &mut Window) {
        for one in &mut self.loads {
            one.load.drain(window);
            self.now = self.now.max(one.load.now());
        }
    }

    /// Where the sequential cursors stand.
    pub(super) fn cursors(&self) -> BTreeMap<String, Bytes> {
        let own = |(number, one): (usize, &One)| {
            let prefix = cursors_of_part(number);
            let cursors = one.load.plan().cursors().into_iter();
            cursors.map(move |(key, at)| (format!("{prefix}{key}"), at)).collect::<Vec<_>>()
        };
        self.loads.iter().enumerate().flat_map(own).collect()
    }

    /// Each of them, with its own measured time since `begin`.
    pub(super) fn parts(&self, begin: u64, elapsed: Nanos) -> Vec<LoadPart> {
        let of = |one: &One| {
            let own_begin = one.load.begins.max(begin);
            let own = one.ended.map(|ended| Nanos(ended.saturating_sub(own_begin)));
            let elapsed = elapsed.saturating_sub(Nanos(own_begin - begin));
            let elapsed = own.map_or(elapsed, |own| own.min(elapsed));
            LoadPart { streams: one.streams, elapsed }
        };
        self.loads.iter().map(of).collect()
    }
}

impl One {
    /// When something happens next: its end, or something that it does.
    fn next(&self) -> u64 {
        self.load.next_event().min(self.load.ends_at.unwrap_or(u64::MAX))
    }

    /// Lets happen what happens at this time.
    fn go_on(&mut self, at: u64, context: &mut SimContext, window: &mut Window) -> Pause {
        if self.load.ends_at.is_some_and(|end| end <= at) {
            self.ended = Some(at);
            self.load.drain(window);
            return Pause::Complete;
        }
        let pause = self.load.advance(at.saturating_add(1), context, window);
        if pause == Pause::Complete {
            self.ended = Some(self.load.now());
        }
        pause
    }
}
