//! The threads of a load, and what each needs before it begins: memory, a queue
//! to the kernel, and something to draw from or to play.

use super::ahead::Ahead;
use super::aio::AioQueue;
use super::memory::{Arena, page_size};
use super::pace::Schedule;
use super::pattern::{Content, StampKey, WriteShape, Writer};
use super::performer::Performer;
use super::pool::PoolQueue;
use super::precedence::Precedence;
use super::queue::Queue;
use super::ring::Ring;
use super::shared::{Failure, Shared};
use super::threads::BlockingQueue;
use super::verify::{Checker, WrittenSectors};
use super::worker::{Transfers, Worker};
use crate::accounting::{Account, Played, SCRIPT_STREAMS};
use crate::draw::{DrawPlan, Drawer};
use crate::kernel::Backend;
use crate::play::{PlayCounts, Player, Source};
use crate::start::Start;
use crate::stop::Stop;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use steadfast_domain::measurement::{Interval, StreamTally};
use steadfast_domain::replayed::ScriptPosition;
use steadfast_domain::script::Timing;
use steadfast_domain::{Halt, Load, Nanos, Op, Replayed, ScriptLoad, Stimulus};

/// What is made of a load before it begins.
#[derive(Debug)]
pub(super) struct Provisions {
    pub(super) origin: Origin,
    pub(super) content: Arc<Content>,
    pub(super) backend: Backend,
    pub(super) shape: Shape,
}

/// Where a load's I/Os come from.
#[derive(Debug)]
pub(super) enum Origin {
    Drawn(DrawPlan),
    Script {
        source: Source,
        /// Whether the target can discard.
        discards: bool,
    },
}

/// What a load needs of threads and memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    pub threads: u32,
    /// I/Os outstanding of each thread.
    pub depth: u32,
    /// The largest read and write; 0 where there is none.
    pub read: u32,
    pub write: u32,
    /// What a thread's accounts are of.
    pub streams: usize,
}

impl Shape {
    /// That of a stimulus on a backend.
    pub(super) fn of(stimulus: &Stimulus, backend: Backend) -> Shape {
        let demand = stimulus.demand;
        let (threads, depth) = match backend {
            Backend::Threads => (demand.threads.saturating_mul(demand.depth), 1),
            Backend::Uring | Backend::Aio => (demand.threads, demand.depth),
        };
        let (read, write) = (largest(stimulus, Op::Read), largest(stimulus, Op::Write));
        Shape { threads, depth, read, write, streams: stimulus.streams.len() }
    }

    /// That of a script: one thread plays it.
    pub(super) fn of_script(script: &ScriptLoad) -> Shape {
        let depth = u32::try_from(script.demand.outstanding()).unwrap_or(u32::MAX);
        let largest = u32::try_from(script.largest.0).unwrap_or(u32::MAX);
        let of = |ios: u64| if ios > 0 { largest } else { 0 };
        let (read, write) = (of(script.counts.reads), of(script.counts.writes));
        Shape { threads: 1, depth, read, write, streams: SCRIPT_STREAMS }
    }

    /// From one slot's read buffer to the next; 0 where nothing is read.
    fn read_stride(self) -> usize {
        (self.read as usize).next_multiple_of(page_size())
    }

    /// Bytes of memory that a load's transfers and accounts take.
    pub(super) fn memory(self, alignment: u32) -> u64 {
        let read = self.read_stride() as u64 * u64::from(self.depth);
        let write = match self.write {
            0 => 0,
            largest => WriteShape::new(self.depth, largest, alignment).total(),
        };
        let accounts = 2 * Account::memory(self.streams);
        (read + write + accounts).saturating_mul(u64::from(self.threads))
    }
}

/// What a thread needs before it begins, shared by all of a load.
pub(super) struct Provision {
    pub task: Task,
    pub shape: Shape,
    pub content: Arc<Content>,
    pub key: StampKey,
    pub sequence: u64,
    pub backend: Backend,
    pub memory_alignment: u32,
}

/// What the threads of a load do.
pub(super) enum Task {
    Draw {
        stimulus: Stimulus,
        plan: Arc<DrawPlan>,
        /// What the I/Os are drawn with.
        seed: u64,
        written: Option<Arc<WrittenSectors>>,
    },
    /// One of them takes it.
    Play(Mutex<Option<Play>>),
}

/// A script on its way to the thread that plays it.
pub(super) struct Play {
    player: Player<Ahead>,
    /// Playing time that has passed already.
    passed: Nanos,
    /// Whether due times count.
    timed: bool,
}

/// A script that runs, as its accountant sees it.
pub(super) struct Score {
    counts: Arc<PlayCounts>,
    /// Ticks at which it began or went on, and the playing time until then.
    pub began: u64,
    passed: Nanos,
    /// How far it was at the end of the last interval.
    position: u64,
}

/// The largest transfer of an operation; 0 where there is none.
fn largest(stimulus: &Stimulus, op: Op) -> u32 {
    let sizes = stimulus.streams.iter().filter(|s| s.op == op && s.weight > 0).map(|s| s.size.0);
    sizes.max().map_or(0, |size| u32::try_from(size).unwrap_or(u32::MAX))
}

/// Starts the threads and waits until every one has all that it needs.
pub(super) fn spawn(
    shared: &Arc<Shared>,
    provision: &Arc<Provision>,
    count: u32,
) -> Result<(Vec<JoinHandle<()>>, Vec<String>), Halt> {
    let mut threads = Vec::with_capacity(count as usize);
    for lane in 0..count {
        let (ours, provision) = (Arc::clone(shared), Arc::clone(provision));
        let body = move || thread_body(&ours, &provision, lane);
        match std::thread::Builder::new().name(format!("io-{lane}")).spawn(body) {
            Ok(thread) => threads.push(thread),
            Err(error) => {
                let why = format!("thread {} of {count} cannot be created: {error}", lane + 1);
                shared.report_unready(why);
                break;
            }
        }
    }
    match shared.await_ready() {
        Ok(notes) => Ok((threads, notes)),
        Err(why) => {
            shared.finish();
            threads.into_iter().for_each(|thread| drop(thread.join()));
            Err(Halt::Refused(why))
        }
    }
}

/// Tells that a thread has ended, however it ends.
struct Farewell<'s> {
    shared: &'s Shared,
    lane: usize,
}

impl Drop for Farewell<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.shared.fail(Failure::Died);
        }
        self.shared.thread_ended(self.lane);
    }
}

/// One thread of a load, from its memory to its last I/O.
fn thread_body(shared: &Shared, provision: &Provision, lane: u32) {
    let _farewell = Farewell { shared, lane: lane as usize };
    if let Err(why) = carry(shared, provision, lane) {
        shared.report_unready(why);
    }
}

fn carry(shared: &Shared, provision: &Provision, lane: u32) -> Result<(), String> {
    let depth = shared.carrier.depth;
    let transfers = transfers(provision, lane)
        .map_err(|error| format!("no memory for the transfers of this load: {error}"))?;
    let mut notes = Vec::new();
    match (provision.backend, &provision.task) {
        (Backend::Uring, _) => {
            let mut ring = Ring::new(depth).map_err(|error| format!("no io_uring: {error}"))?;
            let reads = transfers.read_buffers(depth);
            let writes = transfers.write_buffers(depth);
            // SAFETY: the worker owns queue and transfers, gives the memory back
            // only when no I/O is outstanding, and leaves the queue first.
            let queue = unsafe { ring.queue(&shared.carrier, &reads, &writes, &mut notes) };
            work(shared, provision, lane, queue, transfers, notes);
        }
        (Backend::Aio, _) => {
            let queue = AioQueue::new(&shared.carrier)
                .map_err(|error| format!("no Linux AIO context of {depth} I/Os: {error}"))?;
            work(shared, provision, lane, queue, transfers, notes);
        }
        (Backend::Threads, Task::Draw { .. }) => {
            let queue = BlockingQueue::new(&shared.carrier);
            work(shared, provision, lane, queue, transfers, notes);
        }
        (Backend::Threads, Task::Play(_)) => {
            let queue = PoolQueue::new(&shared.carrier)
                .map_err(|error| format!("no {depth} threads for I/Os: {error}"))?;
            work(shared, provision, lane, queue, transfers, notes);
        }
    }
    Ok(())
}

fn transfers(provision: &Provision, lane: u32) -> io::Result<Transfers> {
    let shape = provision.shape;
    let read_stride = shape.read_stride();
    let reads = match read_stride {
        0 => None,
        stride => {
            let mut arena = Arena::new(stride * shape.depth as usize)?;
            // Touched now, so that no I/O waits for a page.
            arena.bytes_mut().fill(0);
            Some(arena)
        }
    };
    let writer = match shape.write {
        0 => None,
        largest => {
            let shape = WriteShape::new(shape.depth, largest, provision.memory_alignment);
            let Provision { content, key, sequence, .. } = provision;
            Some(Writer::new(content, *key, shape, lane, *sequence)?)
        }
    };
    Ok(Transfers::new(reads, read_stride, writer))
}

fn work<Q: Queue>(
    shared: &Shared,
    provision: &Provision,
    lane: u32,
    queue: Q,
    transfers: Transfers,
    mut notes: Vec<String>,
) {
    notes.extend(transfers.pages().map(|pages| pages.name().to_owned()));
    shared.lanes[lane as usize].tell(0, 0);
    match &provision.task {
        Task::Draw { stimulus, plan, seed, written } => {
            let drawer = Drawer::new(Arc::clone(plan), *seed, lane);
            let depth = shared.carrier.depth;
            let checker = written.as_ref().filter(|_| stimulus.verify).map(|written| {
                let contended = stimulus.streams.iter().any(|s| s.op == Op::Write);
                let largest = provision.shape.read;
                Checker::new(Arc::clone(written), provision.key, depth, largest, contended)
            });
            let worker = Worker::new(shared, lane as usize, queue, drawer, transfers, checker);
            shared.report_ready(notes);
            let Some(start) = shared.await_start() else { return };
            if stimulus.delay > Nanos::ZERO && !shared.await_ticks(start) {
                return;
            }
            let (place, clock) = ((lane, shared.lanes.len() as u32), shared.clock);
            worker.run(Schedule::new(stimulus.pace, place, *seed, clock, start));
        }
        Task::Play(play) => {
            let play = play.lock().unwrap_or_else(PoisonError::into_inner).take();
            let Some(Play { mut player, passed, timed }) = play else { return };
            let (precedence, told) = match timed {
                true => Precedence::take(),
                false => (Precedence::none(), ""),
            };
            notes.extend(timed.then(|| told.to_owned()));
            shared.report_ready(notes);
            let Some(start) = shared.await_start() else { return };
            player.begin(start, passed);
            Performer::new(shared, lane as usize, queue, player, (transfers, precedence)).run();
        }
    }
}

/// What a load is made of: for its threads, and for its accountant.
pub(super) struct Parts {
    pub task: Task,
    pub plan: Option<Arc<DrawPlan>>,
    pub score: Option<Score>,
}

/// Makes what the threads and the accountant of a load need.
pub(super) fn make(
    load: &Load,
    origin: Origin,
    start: &Start,
    written: Option<&Arc<WrittenSectors>>,
    stop: &Stop,
) -> Result<Parts, Halt> {
    match (origin, load) {
        (Origin::Drawn(plan), Load::Stimulus(stimulus)) => {
            let plan = Arc::new(plan.going_on_from(&start.cursors));
            let task = Task::Draw {
                stimulus: stimulus.clone(),
                plan: Arc::clone(&plan),
                seed: start.seed(stimulus.seed),
                written: written.cloned(),
            };
            Ok(Parts { task, plan: Some(plan), score: None })
        }
        (Origin::Script { source, discards }, Load::Script(script)) => {
            let ScriptPosition { ios, time: passed } = start.script;
            let ahead = Ahead::begin(source, ios, stop)?;
            let player = Player::new(script, ahead, ios, discards);
            let counts = player.counts();
            let score = Score { counts, began: 0, passed, position: ios };
            let timed = script.timing != Timing::Closed;
            let task = Task::Play(Mutex::new(Some(Play { player, passed, timed })));
            Ok(Parts { task, plan: None, score: Some(score) })
        }
        _ => Err(Halt::Refused("a different load was prepared".to_owned())),
    }
}

impl Score {
    /// Notes how far it is, at the end of an interval.
    pub(super) fn mark(&mut self) {
        self.position = self.counts.position();
    }

    /// What was played since the last cut; `now` is the moment of this one.
    pub(super) fn conclude(
        &self,
        mut played: Played,
        now: u64,
    ) -> (Vec<StreamTally>, Vec<Interval>, Option<Box<Replayed>>) {
        let time = self.passed + Nanos(now.saturating_sub(self.began));
        let position = ScriptPosition { ios: self.position, time };
        let replay = self.counts.take(&mut played, position);
        (played.streams, played.intervals, Some(Box::new(replay)))
    }
}
