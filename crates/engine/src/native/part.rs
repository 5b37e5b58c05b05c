//! One stimulus, or the script, of a running load: its threads and what they share.
//!
//! A load has several parts if several stimuli are applied at once. Each part has
//! threads, a budget, an end and cursors of its own; `load` accounts for all of them.

use super::clock::Clock;
use super::completion_timeout::CompletionTimeout;
use super::load_threads::{
    IoSource, LoadTask, PreparedLoad, ScriptHandoff, ScriptProgress, ThreadSetup, script_player,
    start_threads,
};
use super::pattern::StampKey;
use super::queue::QueueTarget;
use super::shared::{IoBudget, LoadFailure, SharedLoad};
use super::verify::WrittenSectors;
use crate::accounting::{StepMeter, tallied_streams};
use crate::draw::DrawPlan;
use crate::start::StepStart;
use crate::stop::StopSignal;
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;
use steadfast_domain::stimulus::Pace;
use steadfast_domain::{Bytes, Halt, Load, Nanos, Op, Stimulus};

/// Settings and state of the engine that a load uses.
pub(super) struct LoadContext<'e> {
    pub is_block_device: bool,
    pub memory_alignment: u32,
    pub key: StampKey,
    /// From [`NativeOptions`](super::NativeOptions).
    pub fault_limit: u64,
    /// From [`NativeOptions`](super::NativeOptions).
    pub completion_timeout: Duration,
    pub written: Option<&'e Arc<WrittenSectors>>,
    pub clock: Clock,
    pub stop: &'e StopSignal,
}

/// Descriptors of a part, and the first number of its writes.
pub(super) struct PartHandles {
    pub file: OwnedFd,
    /// An eventfd that wakes the part's threads.
    pub wake: OwnedFd,
    /// First sequence number of its writes, above those of every part started before.
    pub sequence: u64,
}

/// A part whose threads do not exist yet.
pub(super) struct PartToStart {
    pub load: Load,
    pub prepared: PreparedLoad,
    pub handles: PartHandles,
}

/// A part whose threads exist.
pub(super) struct RunningPart {
    pub shared: Arc<SharedLoad>,
    pub threads: Vec<JoinHandle<()>>,
    /// Plan that its I/Os are drawn from; `None` for a script.
    plan: Option<Arc<DrawPlan>>,
    /// Progress of a script, until the load takes it; `None` for a stimulus.
    pub script: Option<ScriptProgress>,
    /// Seed in use, if it is not the stimulus's own.
    pub seed: Option<u64>,
    /// Rest of its time limit; `None` without one.
    pub remaining_time: Option<Nanos>,
    /// Time from the start of the load to its first I/O.
    pub delay: Nanos,
    /// Ticks at which it begins; 0 until the load is opened.
    pub begins: u64,
    timeout: CompletionTimeout,
    pace: Pace,
    /// Number of streams in the account of each thread; one more than `tallies` if it flushes after
    /// every N writes.
    pub streams: usize,
    /// Number of its tallies in a measurement; 0 for a script.
    pub tallies: usize,
    counts_by_thread: bool,
}

impl RunningPart {
    /// Creates the threads and their memory; they wait to begin. Adds to `notes` what this host
    /// could not provide.
    pub(super) fn start(
        part: PartToStart,
        start: &StepStart,
        context: &LoadContext<'_>,
        notes: &mut Vec<String>,
    ) -> Result<RunningPart, Halt> {
        let PartToStart { load, prepared, handles } = part;
        let PreparedLoad { source, content, interface, dimensions } = prepared;
        let PartHandles { file, wake, sequence } = handles;
        let target = QueueTarget {
            file,
            wake,
            is_block_device: context.is_block_device,
            depth: dimensions.depth,
        };
        let stimulus = load.stimulus();
        let budget = match stimulus {
            Some(stimulus) => remaining_budget(stimulus, start),
            None => IoBudget::new(None, None, &[]),
        };
        let shared = Arc::new(SharedLoad::new(
            context.clock, target, budget, dimensions.threads, dimensions.streams,
            context.fault_limit,
        ));
        let (task, plan, script) = match (source, &load) {
            (IoSource::Drawn(plan), Load::Stimulus(stimulus)) => {
                let plan = Arc::new(plan.with_cursors(&start.cursors));
                let task = LoadTask::Draw {
                    stimulus: stimulus.clone(),
                    plan: Arc::clone(&plan),
                    seed: start.seed(stimulus.seed),
                    written: context.written.cloned(),
                };
                (task, Some(plan), None)
            }
            (IoSource::Script { reader, discards }, Load::Script(script)) => {
                let player = script_player(script, reader, discards, start, context.stop)?;
                let progress = ScriptProgress::new(&player, start.script);
                let handoff = ScriptHandoff::new(script, player, start.script.time);
                (LoadTask::Play(Mutex::new(Some(handoff))), None, Some(progress))
            }
            _ => {
                return Err(Halt::Refused(
                    "the prepared load is not that of the step: report this as a defect".to_owned(),
                ));
            }
        };
        let setup = Arc::new(ThreadSetup {
            task,
            dimensions,
            content,
            key: context.key,
            sequence,
            backend: interface.backend,
            memory_alignment: context.memory_alignment,
        });
        let threads = start_threads(&shared, &setup, dimensions.threads, notes)?;
        let limit = stimulus.and_then(|stimulus| stimulus.until.time);
        let (delay, ramp) = stimulus.map_or((Nanos::ZERO, Nanos::ZERO), |s| (s.delay, s.ramp));
        Ok(RunningPart {
            shared,
            threads,
            plan,
            script,
            seed: stimulus.and_then(|stimulus| start.other_seed(stimulus.seed)),
            remaining_time: limit.map(|time| time.saturating_sub(start.measured_time(delay, ramp))),
            delay: delay.saturating_sub(start.elapsed_with(ramp)),
            begins: 0,
            timeout: CompletionTimeout::new(context.completion_timeout),
            pace: stimulus.map_or(Pace::Closed, |stimulus| stimulus.pace.clone()),
            streams: dimensions.streams,
            tallies: stimulus.map_or(0, |stimulus| tallied_streams(&stimulus.streams)),
            counts_by_thread: stimulus.is_some_and(|stimulus| stimulus.by_thread),
        })
    }

    /// Adds a wait of the accounting thread, which ended at the ticks `woken`, to the time without
    /// completions. `is_idle` means that nothing is outstanding and nothing due.
    pub(super) fn add_wait(&mut self, waited: Duration, woken: u64, is_idle: bool) {
        if self.shared.all_ended() {
            return self.timeout.note_idle();
        }
        let is_over = woken >= self.shared.deadline();
        self.timeout.add_wait(waited, self.shared.progress(), is_over);
        // An idle wait is no silence, but counts toward the time overdue.
        if is_idle {
            self.timeout.note_idle();
        }
    }

    /// Returns true if its I/Os have due times, so that none need be outstanding between two of
    /// them.
    pub(super) fn has_due_times(&self) -> bool {
        let is_script = self.plan.is_none();
        is_script || self.pace != Pace::Closed
    }

    /// Returns how long no I/O completed, if that is longer than the device may take.
    pub(super) fn silent_too_long(&self) -> Option<Duration> {
        self.timeout.silent_too_long(&self.pace)
    }

    /// Returns true if it has ended, or is so overdue that its outstanding I/Os are abandoned.
    pub(super) fn is_done(&self) -> bool {
        self.shared.all_ended() || self.timeout.is_expired()
    }

    /// Adds its threads' accounts to a meter as the streams from `first_stream` and the
    /// threads from `first_thread` on. Returns the ticks at which the accounts end.
    pub(super) fn move_accounts(
        &self,
        meter: &mut StepMeter,
        first_stream: usize,
        first_thread: usize,
    ) -> u64 {
        // SAFETY: only the accounting thread calls this, and it has dropped the accounts of the
        // previous turn.
        let turn = unsafe { self.shared.begin_turn() };
        for (number, account) in turn.accounts.into_iter().enumerate() {
            if self.counts_by_thread {
                meter.add_for_thread(account, first_stream, first_thread + number);
            } else {
                meter.add(account, first_stream);
            }
        }
        turn.ended
    }

    pub(super) fn cursors(&self) -> BTreeMap<String, Bytes> {
        self.plan.as_ref().map_or_else(BTreeMap::new, |plan| plan.cursors())
    }

    /// Joins its threads, which must have ended.
    pub(super) fn join(&mut self) {
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                self.shared.fail(LoadFailure::Died);
            }
        }
    }
}

/// Returns what is left of the limits of a stimulus in I/Os and bytes.
fn remaining_budget(stimulus: &Stimulus, start: &StepStart) -> IoBudget {
    let until = stimulus.until;
    let streams = stimulus.streams.iter();
    let sizes: Vec<u32> = streams
        .filter(|s| s.weight > 0)
        .map(|s| if s.op == Op::Flush { 0 } else { s.size.0 as u32 })
        .collect();
    IoBudget::new(
        until.ios.map(|ios| ios.saturating_sub(start.done.ios)),
        until.bytes.map(|bytes| Bytes(bytes.0.saturating_sub(start.done.bytes.0))),
        &sizes,
    )
}
