//! One stimulus, or the script, of a load that runs: its threads and what they share.
//!
//! A load has several parts where several stimuli are applied at once. Each part has
//! threads, a budget, an end and cursors of its own; `load` accounts for all of them.

use super::clock::Clock;
use super::crew::{Parts, Provision, Provisions, Score, make, spawn};
use super::patience::Patience;
use super::pattern::StampKey;
use super::queue::Carrier;
use super::shared::{Budget, Failure, Shared};
use super::verify::WrittenSectors;
use crate::accounting::Meter;
use crate::draw::DrawPlan;
use crate::start::Start;
use crate::stop::Stop;
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use steadfast_domain::stimulus::Pace;
use steadfast_domain::{Bytes, Halt, Load, Nanos, Op, Stimulus};

/// Everything that a load needs of its engine.
pub(super) struct LoadContext<'e> {
    pub block_device: bool,
    pub memory_alignment: u32,
    pub key: StampKey,
    pub fault_limit: u64,
    pub patience: Duration,
    pub written: Option<&'e Arc<WrittenSectors>>,
    pub clock: Clock,
    pub stop: &'e Stop,
}

/// What only one part gets.
pub(super) struct Handles {
    pub file: OwnedFd,
    pub wake: OwnedFd,
    /// Above the sequence numbers of every earlier part.
    pub sequence: u64,
}

/// One of the loads that run at once; or the only one.
pub(super) struct Part {
    pub shared: Arc<Shared>,
    pub threads: Vec<JoinHandle<()>>,
    /// Where its I/Os are drawn from, where they are.
    plan: Option<Arc<DrawPlan>>,
    /// What they are drawn with, where that is not the stimulus's own seed.
    pub seed: Option<u64>,
    pub time_left: Option<Nanos>,
    /// Time from the start of the load to its first I/O.
    pub delay: Nanos,
    /// Ticks at which it begins; 0 before the load was opened.
    pub begins: u64,
    pub patience: Patience,
    pace: Pace,
    /// Its I/O streams.
    pub streams: usize,
}

impl Part {
    /// Makes the threads and everything that they need; they wait to begin. Returns
    /// what is played, where it is a script, and what could not be had.
    pub(super) fn start(
        load: &Load,
        provisions: Provisions,
        start: &Start,
        handles: Handles,
        context: &LoadContext<'_>,
    ) -> Result<(Part, Option<Score>, Vec<String>), Halt> {
        let Provisions { origin, content, backend, shape } = provisions;
        let Handles { file, wake, sequence } = handles;
        let carrier =
            Carrier { file, wake, block_device: context.block_device, depth: shape.depth };
        let counted = (shape.threads, shape.streams);
        let stimulus = load.stimulus();
        let budget = stimulus.map_or(Budget::new(None, None, &[]), |s| budget(s, start));
        let shared = Shared::new(context.clock, carrier, budget, counted, context.fault_limit);
        let shared = Arc::new(shared);
        let Parts { task, plan, score } = make(load, origin, start, context.written, context.stop)?;
        let provision = Arc::new(Provision {
            task,
            shape,
            content,
            key: context.key,
            sequence,
            backend,
            memory_alignment: context.memory_alignment,
        });
        let (threads, notes) = spawn(&shared, &provision, shape.threads)?;
        let limit = stimulus.and_then(|stimulus| stimulus.until.time);
        let part = Part {
            shared,
            threads,
            plan,
            seed: stimulus.and_then(|stimulus| start.other_seed(stimulus.seed)),
            time_left: limit.map(|time| time.saturating_sub(start.done.time)),
            delay: stimulus.map_or(Nanos::ZERO, |s| s.delay.saturating_sub(start.done.time)),
            begins: 0,
            patience: Patience::new(context.patience),
            pace: stimulus.map_or(Pace::Closed, |stimulus| stimulus.pace),
            streams: shape.streams,
        };
        Ok((part, score, notes))
    }

    /// So much time has passed by these ticks; `waits` where nothing need come back.
    pub(super) fn pass(&mut self, time: Duration, woken: u64, waits: bool) {
        if self.shared.all_ended() {
            return self.patience.rest();
        }
        let is_over = woken >= self.shared.deadline();
        self.patience.passed(time, self.shared.progress(), is_over);
        if waits {
            self.patience.rest();
        }
    }

    /// Whether its I/Os have due times, between which nothing may be outstanding.
    pub(super) fn has_due_times(&self) -> bool {
        self.plan.is_none() || self.pace != Pace::Closed
    }

    /// For how long nothing came back, where that is too long.
    pub(super) fn is_lost_for(&self) -> Option<Duration> {
        self.patience.lost_by(self.pace)
    }

    /// Whether nothing more is waited for: it has ended, or should have long ago.
    pub(super) fn is_done(&self) -> bool {
        self.shared.all_ended() || self.patience.is_at_an_end()
    }

    /// Adds its threads' accounts to a meter, from this stream on; the ticks of the turn.
    pub(super) fn turn_over(&self, meter: &mut Meter, first: usize) -> u64 {
        // SAFETY: the accounts of the last turn are not held any more.
        let (ticks, accounts) = unsafe { self.shared.turn_over() };
        accounts.into_iter().for_each(|account| meter.add(account, first));
        ticks
    }

    /// Where its sequential cursors stand.
    pub(super) fn cursors(&self) -> BTreeMap<String, Bytes> {
        self.plan.as_ref().map_or_else(BTreeMap::new, |plan| plan.cursors())
    }

    /// Waits for the threads of a complete load; they have nothing left to do.
    pub(super) fn join(&mut self) {
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                self.shared.fail(Failure::Died);
            }
        }
    }
}

fn budget(stimulus: &Stimulus, start: &Start) -> Budget {
    let until = stimulus.until;
    let sizes: Vec<u32> = stimulus
        .streams
        .iter()
        .filter(|s| s.weight > 0)
        .map(|s| if s.op == Op::Flush { 0 } else { s.size.0 as u32 })
        .collect();
    Budget::new(
        until.ios.map(|ios| ios.saturating_sub(start.done.ios)),
        until.bytes.map(|bytes| Bytes(bytes.0.saturating_sub(start.done.bytes.0))),
        &sizes,
    )
}
