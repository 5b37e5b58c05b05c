//! The threads of a load. Each gets its memory, a queue to the kernel, and a plan to draw from or
//! a script to play, before any of them begins.

use super::aio::AioQueue;
use super::blocking::BlockingQueue;
use super::buffers::ThreadBuffers;
use super::memory::{Arena, page_size};
use super::pace_schedule::PaceSchedule;
use super::pattern::{FillPattern, PatternWriter, StampKey, WriteShape};
use super::pool::PoolQueue;
use super::prefetch::Prefetcher;
use super::queue::Queue;
use super::ring::Ring;
use super::scheduling_class::SchedulingClass;
use super::script_worker::ScriptWorker;
use super::shared::{LoadFailure, SharedLoad};
use super::thread_ios::ThreadIos;
use super::verify::{ReadVerifier, WrittenSectors};
use super::worker::Worker;
use crate::accounting::{IntervalAccount, PlayedScript, SCRIPT_STREAMS, account_streams};
use crate::commits::CommitGroups;
use crate::draw::{DrawPlan, IoGenerator};
use crate::kernel::Backend;
use crate::play::{PlayCounts, ScriptPlayer, ScriptReader};
use crate::start::StepStart;
use crate::stop::StopSignal;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use steadfast_domain::replayed::ScriptPosition;
use steadfast_domain::script::Timing;
use steadfast_domain::{Halt, Nanos, Op, ReplayResult, ScriptLoad, Stimulus};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LoadInterface {
    pub(super) backend: Backend,
    /// Kind of loads that the engine's own interface does not carry; `None` if it carries this one.
    pub(super) exception: Option<&'static str>,
}

/// A load that can begin, with everything that is made without touching the device.
#[derive(Debug)]
pub(super) struct PreparedLoad {
    pub(super) source: IoSource,
    pub(super) content: Arc<FillPattern>,
    pub(super) interface: LoadInterface,
    pub(super) dimensions: LoadDimensions,
}

#[derive(Debug)]
pub(super) enum IoSource {
    Drawn(DrawPlan),
    /// A script, and whether the target can discard.
    Script {
        reader: ScriptReader,
        discards: bool,
    },
}

#[derive(Debug, Clone, Copy)]
pub(super) struct LoadDimensions {
    pub threads: u32,
    /// Outstanding I/Os per thread.
    pub depth: u32,
    /// Largest read in bytes; 0 if nothing is read.
    pub read: u32,
    /// Largest write in bytes; 0 if nothing is written.
    pub write: u32,
    /// I/O streams that each thread accounts for.
    pub streams: usize,
}

impl LoadDimensions {
    /// Returns the dimensions of a stimulus. The threads backend has one thread per outstanding I/O.
    pub(super) fn from_stimulus(stimulus: &Stimulus, backend: Backend) -> LoadDimensions {
        let demand = stimulus.demand;
        let (threads, depth) = match backend {
            Backend::Threads => (demand.threads.saturating_mul(demand.depth), 1),
            Backend::Uring | Backend::Aio => (demand.threads, demand.depth),
        };
        let (read, write) = (largest(stimulus, Op::Read), largest(stimulus, Op::Write));
        let streams = account_streams(&stimulus.streams);
        LoadDimensions { threads, depth, read, write, streams }
    }

    /// Returns the dimensions of a script, which one thread plays.
    pub(super) fn from_script(script: &ScriptLoad) -> LoadDimensions {
        let depth = u32::try_from(script.demand.outstanding()).unwrap_or(u32::MAX);
        let largest = u32::try_from(script.largest.0).unwrap_or(u32::MAX);
        let size_if_any = |ios: u64| if ios > 0 { largest } else { 0 };
        let (read, write) = (size_if_any(script.counts.reads), size_if_any(script.counts.writes));
        LoadDimensions { threads: 1, depth, read, write, streams: SCRIPT_STREAMS }
    }

    /// Returns the distance in bytes between the read buffers of two slots; 0 if nothing is read.
    fn read_stride(self) -> usize {
        (self.read as usize).next_multiple_of(page_size())
    }

    /// Returns the memory of a load's transfers and accounts, in bytes.
    pub(super) fn memory(self, alignment: u32) -> u64 {
        let read = self.read_stride() as u64 * u64::from(self.depth);
        let write = match self.write {
            0 => 0,
            largest => WriteShape::new(self.depth, largest, alignment).total(),
        };
        let accounts = 2 * IntervalAccount::memory(self.streams);
        (read + write + accounts).saturating_mul(u64::from(self.threads))
    }
}

/// Data that all threads of a load share before they begin.
pub(super) struct ThreadSetup {
    pub task: LoadTask,
    pub dimensions: LoadDimensions,
    pub content: Arc<FillPattern>,
    pub key: StampKey,
    pub sequence: u64,
    pub backend: Backend,
    pub memory_alignment: u32,
}

pub(super) enum LoadTask {
    Draw {
        stimulus: Stimulus,
        plan: Arc<DrawPlan>,
        seed: u64,
        written: Option<Arc<WrittenSectors>>,
    },
    /// A script, taken by the one thread that plays it.
    Play(Mutex<Option<ScriptHandoff>>),
}

/// A script on its way to the playing thread.
pub(super) struct ScriptHandoff {
    player: ScriptPlayer<Prefetcher>,
    /// Playing time before it was resumed.
    time_before: Nanos,
    /// True if I/Os are submitted by their due times.
    is_timed: bool,
}

pub(super) struct ScriptProgress {
    counts: Arc<PlayCounts>,
    /// Ticks at which it began or was resumed.
    pub began: u64,
    time_before: Nanos,
    /// I/Os played by the end of the last interval.
    position: u64,
}

/// Returns the largest transfer of an operation in bytes; 0 if there is none.
fn largest(stimulus: &Stimulus, op: Op) -> u32 {
    let streams = stimulus.streams.iter().filter(|stream| stream.op == op && stream.weight > 0);
    let size_max = streams.map(|stream| stream.size.0).max();
    size_max.map_or(0, |size| u32::try_from(size).unwrap_or(u32::MAX))
}

/// Starts the threads and waits until each has its memory and its queue. Adds to `notes` what this
/// host could not provide.
pub(super) fn start_threads(
    shared: &Arc<SharedLoad>,
    setup: &Arc<ThreadSetup>,
    count: u32,
    notes: &mut Vec<String>,
) -> Result<Vec<JoinHandle<()>>, Halt> {
    let mut threads = Vec::with_capacity(count as usize);
    for lane in 0..count {
        let (thread_shared, setup) = (Arc::clone(shared), Arc::clone(setup));
        let body = move || thread_body(&thread_shared, &setup, lane);
        match std::thread::Builder::new().name(format!("io-{lane}")).spawn(body) {
            Ok(thread) => threads.push(thread),
            Err(error) => {
                let why = format!("cannot create thread {} of {count}: {error}", lane + 1);
                shared.report_unready(why);
                break;
            }
        }
    }
    match shared.await_ready() {
        Ok(thread_notes) => {
            for note in thread_notes {
                if !notes.contains(&note) {
                    notes.push(note);
                }
            }
            Ok(threads)
        }
        Err(why) => {
            shared.finish();
            for thread in threads {
                drop(thread.join());
            }
            Err(Halt::Refused(why))
        }
    }
}

/// Reports the end of a thread when dropped, also after a panic.
struct EndNotice<'s> {
    shared: &'s SharedLoad,
    lane: usize,
}

impl Drop for EndNotice<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.shared.fail(LoadFailure::Died);
        }
        self.shared.thread_ended(self.lane);
    }
}

/// One thread of a load, from its memory to its last I/O.
fn thread_body(shared: &SharedLoad, setup: &ThreadSetup, lane: u32) {
    let _end_notice = EndNotice { shared, lane: lane as usize };
    if let Err(why) = run_on_backend(shared, setup, lane) {
        shared.report_unready(why);
    }
}

/// Creates the thread's memory and its queue on the backend, and does its work.
fn run_on_backend(shared: &SharedLoad, setup: &ThreadSetup, lane: u32) -> Result<(), String> {
    let depth = shared.target.depth;
    let buffers = buffers(setup, lane)
        .map_err(|error| format!("cannot allocate the buffers of this load: {error}"))?;
    let mut notes = Vec::new();
    match (setup.backend, &setup.task) {
        (Backend::Uring, _) => {
            let mut ring =
                Ring::new(depth).map_err(|error| format!("cannot create an io_uring: {error}"))?;
            let reads = buffers.read_buffers(depth);
            let writes = buffers.write_buffers(depth);
            // SAFETY: the worker owns queue and buffers, frees the memory only when no I/O is
            // outstanding, and drops the queue first.
            let queue = unsafe { ring.queue(&shared.target, &reads, &writes, &mut notes) };
            run_task(shared, setup, lane, queue, buffers, notes);
        }
        (Backend::Aio, _) => {
            let queue = AioQueue::new(&shared.target).map_err(|error| {
                format!("cannot create a Linux AIO context of {depth} I/Os: {error}")
            })?;
            run_task(shared, setup, lane, queue, buffers, notes);
        }
        (Backend::Threads, LoadTask::Draw { .. }) => {
            let queue = BlockingQueue::new(&shared.target);
            run_task(shared, setup, lane, queue, buffers, notes);
        }
        (Backend::Threads, LoadTask::Play(_)) => {
            let queue = PoolQueue::new(&shared.target)
                .map_err(|error| format!("cannot create {depth} threads for I/Os: {error}"))?;
            run_task(shared, setup, lane, queue, buffers, notes);
        }
    }
    Ok(())
}

fn buffers(setup: &ThreadSetup, lane: u32) -> io::Result<ThreadBuffers> {
    let dimensions = setup.dimensions;
    let read_stride = dimensions.read_stride();
    let reads = match read_stride {
        0 => None,
        stride => {
            let mut arena = Arena::new(stride * dimensions.depth as usize)?;
            // Touched now, so that no I/O waits for a page fault.
            arena.bytes_mut().fill(0);
            Some(arena)
        }
    };
    let writer = match dimensions.write {
        0 => None,
        largest => {
            let shape = WriteShape::new(dimensions.depth, largest, setup.memory_alignment);
            let ThreadSetup { content, key, sequence, .. } = setup;
            Some(PatternWriter::new(content, *key, shape, lane, *sequence)?)
        }
    };
    Ok(ThreadBuffers { reads, read_stride, writer })
}

fn run_task<Q: Queue>(
    shared: &SharedLoad,
    setup: &ThreadSetup,
    lane: u32,
    queue: Q,
    buffers: ThreadBuffers,
    mut notes: Vec<String>,
) {
    notes.extend(buffers.pages().map(|pages| pages.name().to_owned()));
    let ios = ThreadIos::new(shared, lane as usize, queue, buffers);
    ios.lane.publish(0, 0);
    match &setup.task {
        LoadTask::Draw { stimulus, plan, seed, written } => {
            let generator = IoGenerator::new(Arc::clone(plan), *seed, lane);
            let depth = shared.target.depth;
            let verifier = written.as_ref().filter(|_| stimulus.verify).map(|written| {
                let contended = stimulus.streams.iter().any(|stream| stream.op == Op::Write);
                let largest = setup.dimensions.read;
                ReadVerifier::new(Arc::clone(written), setup.key, depth, largest, contended)
            });
            let commits = CommitGroups::new(&stimulus.streams, depth);
            let worker = Worker::new(ios, generator, commits, verifier);
            shared.report_ready(notes);
            let Some(start) = shared.await_start() else { return };
            if stimulus.delay > Nanos::ZERO && !shared.await_ticks(start) {
                return;
            }
            let threads = shared.lanes.len() as u32;
            let clock = shared.clock;
            worker.run(PaceSchedule::new(stimulus, lane, threads, *seed, clock, start));
        }
        LoadTask::Play(play) => {
            let handoff = play.lock().unwrap_or_else(PoisonError::into_inner).take();
            let Some(ScriptHandoff { mut player, time_before, is_timed }) = handoff else { return };
            let mut scheduling = SchedulingClass::unchanged();
            if is_timed {
                let (raised, note) = SchedulingClass::raise();
                scheduling = raised;
                notes.push(note.to_owned());
            }
            shared.report_ready(notes);
            let Some(start) = shared.await_start() else { return };
            player.begin(start, time_before);
            ScriptWorker::new(ios, player, scheduling).run();
        }
    }
}

/// Creates the player of a script, which has read the first batches ahead.
pub(super) fn script_player(
    script: &ScriptLoad,
    reader: ScriptReader,
    discards: bool,
    start: &StepStart,
    stop: &StopSignal,
) -> Result<ScriptPlayer<Prefetcher>, Halt> {
    let first = start.script.ios;
    let feed = Prefetcher::begin(reader, first, stop)?;
    Ok(ScriptPlayer::new(script, feed, first, discards))
}

impl ScriptHandoff {
    pub(super) fn new(
        script: &ScriptLoad,
        player: ScriptPlayer<Prefetcher>,
        time_before: Nanos,
    ) -> ScriptHandoff {
        ScriptHandoff { player, time_before, is_timed: script.timing != Timing::Closed }
    }
}

impl ScriptProgress {
    pub(super) fn new(player: &ScriptPlayer<Prefetcher>, start: ScriptPosition) -> ScriptProgress {
        ScriptProgress {
            counts: player.counts(),
            began: 0,
            time_before: start.time,
            position: start.ios,
        }
    }

    pub(super) fn mark(&mut self) {
        self.position = self.counts.position();
    }

    /// Returns the result of the replay since the last cut, which takes what it reports of
    /// `played`; `now` is the time of this one in ticks.
    pub(super) fn replay_result(&self, played: &mut PlayedScript, now: u64) -> ReplayResult {
        let time = self.time_before + Nanos(now.saturating_sub(self.began));
        self.counts.take(played, ScriptPosition { ios: self.position, time })
    }
}
