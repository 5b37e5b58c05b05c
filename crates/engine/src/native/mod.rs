//! Engine for a real device or file, on io_uring, Linux AIO or plain system calls.
//!
//! [`Native`] turns a step into threads that keep T x Q I/Os outstanding (`load_threads`,
//! `worker`), or into one that plays a script (`script_worker`, `prefetch`), and accounts for their
//! I/Os (`load`, `shared`). The kernel interface is one of three behind one small boundary
//! (`queue`): a raw io_uring per thread (`ring`), Linux AIO (`aio`), or a thread per outstanding
//! I/O (`blocking`, `pool`).

mod aio;
mod blocking;
mod buffers;
mod clock;
mod completion_timeout;
mod grouped;
mod load;
mod load_threads;
mod memory;
mod pace_schedule;
mod part;
mod pattern;
mod pool;
mod prefetch;
mod queue;
mod ring;
mod scheduling_class;
mod script_worker;
mod shared;
mod silence;
mod sleep_planner;
mod slot_waits;
mod thread_ios;
mod verify;
mod worker;

use crate::draw::DrawPlan;
use crate::engine::{Engine, StartAgreement, TargetEngine};
use crate::handover::{Handover, take_over, takes_over};
pub use crate::kernel::Backend;
use crate::kernel::{KernelInterface, transfer_memory_limit};
use crate::play::ScriptReader;
use crate::prepared::{PreparedStep, StepRefusal};
use crate::refusals::{
    limit_refusal, memory_refusal, range_refusal, script_refusal, sector_refusal,
};
use crate::stall::refuse_void;
use crate::start::StepStart;
use crate::stop::StopSignal;
use crate::zones::check_zones;
use clock::Clock;
use completion_timeout::CompletionTimeout;
pub use grouped::attend_load;
use load::{NativeLoad, StuckLoad};
use load_threads::{IoSource, LoadDimensions, LoadInterface, PreparedLoad};
use part::{LoadContext, PartHandles, PartToStart};
use pattern::{FillPattern, StampKey};
use serde::{Deserialize, Serialize};
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;
use steadfast_domain::measurement::Interval;
use steadfast_domain::stimulus::{DataPattern, Durability};
use steadfast_domain::{
    Bytes, Demand, Halt, IoStream, Load, Measurement, Op, ScriptLoad, Step, Stimulus, Transport,
};
use steadfast_host::{LoadCgroups, Target};
use verify::WrittenSectors;

const THREADS_LIMIT: u32 = 4096;

const DEPTH_LIMIT: u32 = 16_384;

/// Maximum transfer size in bytes; the kernel splits longer transfers.
const SIZE_LIMIT: u64 = 1 << 30;

const DISCARD_LIMIT: u64 = 3 << 30;

/// The kernel gives up an I/O of most devices after this time.
const COMPLETION_TIMEOUT: Duration = Duration::from_secs(30);

/// Interval between checks of I/Os that were abandoned.
const STUCK_POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Options of a [`Native`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct NativeOptions {
    /// Kernel interface to use. `None` selects the best that works: io_uring, but Linux AIO for a
    /// target that cannot issue I/Os without blocking (no `NOWAIT`, as tmpfs and zram). io_uring
    /// passes each I/O of such a target to a kernel thread, and the two context switches would be
    /// measured as the device's time. A load of commits one at a time uses plain system calls,
    /// since both pass each flush to a kernel thread.
    pub backend: Option<Backend>,
    /// A step with more failed I/Os than this is void.
    pub fault_limit: u64,
    /// Longest wait for the outstanding I/Os at the end of a load. A device that completes none of
    /// them in this time is gone.
    pub completion_timeout: Duration,
}

impl Default for NativeOptions {
    fn default() -> Self {
        NativeOptions { backend: None, fault_limit: 100, completion_timeout: COMPLETION_TIMEOUT }
    }
}

/// A data pattern and what it fills buffers with.
struct ResolvedPattern {
    pattern: DataPattern,
    content: Arc<FillPattern>,
}

/// Applies loads to an armed target.
pub struct Native {
    target: Target,
    stop: StopSignal,
    options: NativeOptions,
    backend: Backend,
    /// Description of the kernel interface and of the features that it could not use.
    interface: String,
    /// Interfaces of the last load that are not the engine's own, with the reasons.
    exceptions: Vec<String>,
    /// Notes on what this host could not provide to the last load.
    notes: Vec<String>,
    clock: Clock,
    key: StampKey,
    loads: u64,
    /// The pattern used last: a file is read once, even if many steps write it.
    last_pattern: Option<ResolvedPattern>,
    written: Option<Arc<WrittenSectors>>,
    running: Option<NativeLoad>,
    /// Control groups of the loads that run in processes of their own; `None` to leave these in
    /// the program's group.
    groups: Option<LoadCgroups>,
    stuck: Vec<StuckLoad>,
}

impl Native {
    /// Selects the kernel interface and calibrates the clock (20 ms).
    ///
    /// # Errors
    /// Returns [`Halt::Refused`] if the options force an interface that this host does not provide.
    pub fn new(target: Target, stop: StopSignal, options: NativeOptions) -> Result<Self, Halt> {
        let interface = match options.backend {
            Some(forced) => KernelInterface::first_of(&[forced]),
            None => KernelInterface::best_for(&target),
        };
        Ok(Native::with_interface(target, stop, options, interface.map_err(Halt::Refused)?))
    }

    fn with_interface(
        target: Target,
        stop: StopSignal,
        options: NativeOptions,
        interface: KernelInterface,
    ) -> Native {
        Native {
            target,
            stop,
            options,
            backend: interface.backend,
            interface: interface.description,
            exceptions: Vec::new(),
            notes: Vec::new(),
            clock: Clock::get(),
            key: StampKey::new(),
            loads: 0,
            last_pattern: None,
            written: None,
            running: None,
            groups: None,
            stuck: Vec::new(),
        }
    }

    /// Returns the kernel interface in use.
    pub fn backend(&self) -> Backend {
        self.backend
    }

    fn path(&self) -> &str {
        &self.target.device().path
    }

    fn is_block_device(&self) -> bool {
        self.target.device().transport != Transport::File
    }

    /// Returns the interface for a load: the engine's own, unless plain system calls carry such a
    /// load better.
    fn interface_for(&self, discards: bool, commits_alone: bool) -> LoadInterface {
        let can_discard = match self.backend {
            Backend::Uring => !self.is_block_device() || ring::discards_blocks(),
            Backend::Aio => false,
            Backend::Threads => true,
        };
        let exception = if self.backend == Backend::Threads {
            None
        } else if discards && !can_discard {
            Some("loads with discards")
        } else if commits_alone && self.options.backend.is_none() {
            Some("commits at queue depth 1")
        } else {
            None
        };
        let backend = if exception.is_some() { Backend::Threads } else { self.backend };
        LoadInterface { backend, exception }
    }

    fn begin(
        &mut self,
        load: &Load,
        prepared: Vec<PreparedLoad>,
        start: &StepStart,
        agree: StartAgreement<'_>,
    ) -> Result<NativeLoad, Halt> {
        self.track_written_sectors(load);
        let mut exceptions = Vec::new();
        for LoadInterface { backend, exception } in prepared.iter().map(|load| load.interface) {
            let Some(loads) = exception else { continue };
            let text = format!("{backend} for {loads}");
            if !exceptions.contains(&text) {
                exceptions.push(text);
            }
        }
        let loads = match load {
            Load::Together(stimuli) => stimuli.iter().cloned().map(Load::Stimulus).collect(),
            single => vec![single.clone()],
        };
        let mut parts = Vec::with_capacity(prepared.len());
        for (load, prepared) in loads.into_iter().zip(prepared) {
            parts.push(PartToStart { load, prepared, handles: self.handles()? });
        }
        let context = LoadContext {
            is_block_device: self.is_block_device(),
            memory_alignment: self.target.memory_alignment(),
            key: self.key,
            fault_limit: self.options.fault_limit,
            completion_timeout: self.options.completion_timeout,
            written: self.written.as_ref(),
            clock: clock_of(load, self.clock),
            stop: &self.stop,
        };
        let mut notes = Vec::new();
        let running = NativeLoad::start(load, parts, start, &context, agree, &mut notes)?;
        if matches!(load, Load::Script(_)) {
            notes.push("CLOCK_MONOTONIC for scripts".to_owned());
        }
        self.exceptions = exceptions;
        self.notes = notes;
        Ok(running)
    }

    fn handles(&mut self) -> Result<PartHandles, Halt> {
        let failed = |what: &str, error: io::Error| {
            Halt::Refused(format!("{}: {what}: {error}", self.target.device().path))
        };
        let file = self.target.fd().try_clone_to_owned();
        let file = file.map_err(|error| failed("cannot duplicate its file descriptor", error))?;
        let wake = wake_handle().map_err(|error| failed("cannot create an eventfd", error))?;
        self.loads += 1;
        Ok(PartHandles { file, wake, sequence: self.loads << 40 })
    }

    /// Starts to record written sectors with the first load that verifies, and forgets them when
    /// a load changes sectors without stamping them.
    fn track_written_sectors(&mut self, load: &Load) {
        let leaves_stamps = match load {
            Load::Stimulus(_) | Load::Together(_) => load.stimuli().iter().all(leaves_stamps),
            Load::Script(script) => {
                script.data_pattern == DataPattern::RandomUnique && !script.plays_discards()
            }
        };
        if load.stimulus().is_some_and(|stimulus| stimulus.verify) {
            let length = self.target.length();
            self.written.get_or_insert_with(|| Arc::new(WrittenSectors::new(length)));
        } else if load.alters() && !leaves_stamps {
            self.written = None;
        }
    }

    fn prepare_stimulus(&mut self, stimulus: &Stimulus) -> Result<PreparedLoad, StepRefusal> {
        let discards = stimulus.streams.iter().any(|s| s.op == Op::Discard);
        let interface = self.interface_for(discards, commits_alone(stimulus));
        let backend = interface.backend;
        let dimensions = LoadDimensions::from_stimulus(stimulus, backend);
        let refusal = stimulus
            .fault()
            .or_else(|| self.refuse_place(stimulus))
            .or_else(|| stimulus.streams.iter().find_map(|s| self.refuse_stream(s)))
            .or_else(|| limit_refusal(stimulus, self.sector()))
            .or_else(|| refuse_unverifiable(stimulus))
            .or_else(|| refuse_shared_flush(stimulus, backend))
            .or_else(|| self.refuse_demand(stimulus.demand, dimensions, backend));
        if let Some(why) = refusal {
            return Err(StepRefusal(why));
        }
        let source = IoSource::Drawn(DrawPlan::new(stimulus)?);
        let content = self.resolve(&stimulus.data_pattern)?;
        Ok(PreparedLoad { source, content, interface, dimensions })
    }

    fn prepare_script(&mut self, script: &ScriptLoad) -> Result<PreparedLoad, StepRefusal> {
        // I/Os that the target cannot discard are omitted and counted.
        let discards = !self.is_block_device() || self.target.device().discard;
        let interface = self.interface_for(discards && script.plays_discards(), false);
        let dimensions = LoadDimensions::from_script(script);
        let refusal = script
            .fault()
            .or_else(|| self.refuse_script(script))
            .or_else(|| self.refuse_demand(script.demand, dimensions, interface.backend));
        if let Some(why) = refusal {
            return Err(StepRefusal(why));
        }
        let content = self.resolve(&script.data_pattern)?;
        let reader = ScriptReader::open(script).map_err(|error| StepRefusal(error.to_string()))?;
        let source = IoSource::Script { reader, discards };
        Ok(PreparedLoad { source, content, interface, dimensions })
    }

    fn prepare_load(&mut self, load: &Load) -> Result<Vec<PreparedLoad>, StepRefusal> {
        match load {
            Load::Stimulus(stimulus) => Ok(vec![self.prepare_stimulus(stimulus)?]),
            Load::Script(script) => Ok(vec![self.prepare_script(script)?]),
            Load::Together(stimuli) => self.prepare_together(stimuli),
        }
    }

    fn prepare_together(&mut self, stimuli: &[Stimulus]) -> Result<Vec<PreparedLoad>, StepRefusal> {
        if let Some(why) = Load::fault_at_once(stimuli) {
            return Err(StepRefusal(why));
        }
        let prepared: Vec<PreparedLoad> = stimuli
            .iter()
            .map(|stimulus| self.prepare_stimulus(stimulus))
            .collect::<Result<_, _>>()?;
        let dimensions = || prepared.iter().map(|load| load.dimensions);
        let threads: u64 = dimensions().map(|load| u64::from(load.threads)).sum();
        if threads > u64::from(THREADS_LIMIT) {
            return Err(StepRefusal(format!(
                "the loads that are applied at once have {threads} threads; at most {THREADS_LIMIT} \
                 are supported"
            )));
        }
        let alignment = self.target.memory_alignment();
        let mut memory = 0u64;
        for load in dimensions() {
            memory = memory.saturating_add(load.memory(alignment));
        }
        let limit = transfer_memory_limit();
        if memory > limit {
            return Err(StepRefusal(format!(
                "the loads that are applied at once need {} of memory; this host can provide {}: \
                 lower the threads, the queue depths or the transfer sizes",
                Bytes(memory),
                Bytes(limit)
            )));
        }
        Ok(prepared)
    }

    /// Returns why this target cannot take the I/Os that a script announces.
    fn refuse_script(&self, script: &ScriptLoad) -> Option<String> {
        let (name, path) = (&script.name, self.path());
        if let Some(why) = script_refusal(script, path, self.target.length(), self.sector()) {
            return Some(why);
        }
        if script.alters() && !self.target.is_writable() {
            return Some(format!("{path} is armed for reading only; script '{name}' writes"));
        }
        (script.largest.0 > SIZE_LIMIT)
            .then(|| format!("script '{name}': one I/O moves at most 1 GiB; split larger ones"))
    }

    fn resolve(&mut self, pattern: &DataPattern) -> Result<Arc<FillPattern>, StepRefusal> {
        if let Some(last) = &self.last_pattern
            && last.pattern == *pattern
        {
            return Ok(Arc::clone(&last.content));
        }
        let content = Arc::new(FillPattern::new(pattern)?);
        self.last_pattern =
            Some(ResolvedPattern { pattern: pattern.clone(), content: Arc::clone(&content) });
        Ok(content)
    }

    /// Returns the smallest unit of a transfer in bytes.
    fn sector(&self) -> u64 {
        u64::from(self.target.offset_alignment()).max(pattern::SECTOR as u64)
    }

    fn refuse_place(&self, stimulus: &Stimulus) -> Option<String> {
        let path = self.path();
        range_refusal(stimulus.active_range, path, self.target.length()).or_else(|| {
            (stimulus.alters() && !self.target.is_writable())
                .then(|| format!("{path} is armed for reading only; this load writes or discards"))
        })
    }

    fn refuse_stream(&self, stream: &IoStream) -> Option<String> {
        if stream.op == Op::Flush {
            return None;
        }
        if stream.op == Op::Discard && self.is_block_device() && !self.target.device().discard {
            return Some(format!("{} cannot discard blocks, which '{stream}' needs", self.path()));
        }
        if let Some(why) = sector_refusal(stream, self.sector()) {
            return Some(format!("'{stream}': {why} on {}", self.path()));
        }
        // A discard has no buffer; its size only has to fit into 32 bits.
        let limit = if stream.op == Op::Discard { DISCARD_LIMIT } else { SIZE_LIMIT };
        (stream.size.0 > limit).then(|| {
            format!(
                "'{stream}': one I/O moves at most {}; choose a smaller size",
                Bytes(limit).binary()
            )
        })
    }

    fn refuse_demand(
        &self,
        demand: Demand,
        dimensions: LoadDimensions,
        backend: Backend,
    ) -> Option<String> {
        // A script is played by one thread, for which others may carry its I/Os.
        let carried = backend == Backend::Threads && dimensions.depth > THREADS_LIMIT;
        if dimensions.threads > THREADS_LIMIT || dimensions.depth > DEPTH_LIMIT || carried {
            return Some(format!(
                "demand {demand} is more than this engine supports with {backend}: at most \
                 {THREADS_LIMIT} threads with {DEPTH_LIMIT} I/Os each"
            ));
        }
        memory_refusal(demand, dimensions.memory(self.target.memory_alignment()))
    }

    fn abort(&mut self, running: NativeLoad) {
        self.stuck.extend(running.abort());
    }
}

/// Returns true if every sector that the load changes still carries a valid stamp.
fn leaves_stamps(stimulus: &Stimulus) -> bool {
    stimulus.data_pattern == DataPattern::RandomUnique
        && stimulus.streams.iter().all(|s| s.op != Op::Discard)
}

/// Returns true if each thread has one I/O outstanding and some of them are flushes.
///
/// io_uring and Linux AIO pass every flush to a kernel thread, whose wake-up would be measured as
/// part of the commit. Such a thread has nothing else to do while it waits, so that it can call
/// fdatasync(2) as an application does. FUA writes are excepted: in a blocking call, the kernel
/// flushes after each of them.
fn commits_alone(stimulus: &Stimulus) -> bool {
    let streams = || stimulus.streams.iter().filter(|stream| stream.weight > 0);
    let flushes = |s: &IoStream| s.op == Op::Flush || matches!(s.durability, Durability::Flush(_));
    stimulus.demand.depth == 1
        && streams().any(flushes)
        && streams().all(|stream| flushes(stream) || stream.durability.is_cached())
}

/// Returns why the load cannot be verified as requested.
fn refuse_unverifiable(stimulus: &Stimulus) -> Option<String> {
    (stimulus.verify && !leaves_stamps(stimulus)).then(|| {
        "only sectors that were written random-unique can be verified, and the I/Os must not \
         include discards"
            .to_owned()
    })
}

/// Returns why writes of one thread cannot share a flush.
fn refuse_shared_flush(stimulus: &Stimulus, backend: Backend) -> Option<String> {
    let every = stimulus.flush_every().filter(|every| every.get() > 1)?;
    (backend == Backend::Threads && stimulus.demand.depth > 1).then(|| {
        format!(
            "FLUSH/{every} with several outstanding writes per thread needs io_uring or Linux AIO, \
             which cannot be used here: use FLUSH/1 or a queue depth of 1"
        )
    })
}

impl Engine for Native {
    fn describe(&self) -> String {
        let mut parts = vec![self.interface.clone()];
        parts.extend(self.exceptions.iter().chain(&self.notes).cloned());
        parts.push(self.clock.name().to_owned());
        if !self.target.is_direct() {
            parts.push("through the page cache (no O_DIRECT here)".to_owned());
        }
        format!("uring: {}", parts.join("; "))
    }

    fn prepare(&mut self, step: &Step) -> Result<PreparedStep, StepRefusal> {
        check_zones(self.target.device(), &step.load)?;
        if !step.groups.is_empty() {
            self.check_grouped(step)?;
            return Ok(PreparedStep::plain(step.clone()));
        }
        PreparedStep::with(step, takes_over(&self.running, step), |load| self.prepare_load(load))
    }

    fn apply(
        &mut self,
        prepared: PreparedStep,
        start: &StepStart,
        watch: &mut dyn FnMut(&Interval),
    ) -> Result<Measurement, Halt> {
        self.apply_at_common_start(prepared, start, &mut || Ok(start.begins), watch)
    }

    fn apply_at_common_start(
        &mut self,
        prepared: PreparedStep,
        start: &StepStart,
        agree: StartAgreement<'_>,
        watch: &mut dyn FnMut(&Interval),
    ) -> Result<Measurement, Halt> {
        let (step, prepared) = prepared.into_parts();
        if !step.groups.is_empty() {
            return self.apply_grouped(&step, start, agree, watch);
        }
        let mut running = self.load_for(&step, prepared, start, agree)?;
        let stop = self.stop.clone();
        let device = self.path().to_owned();
        let result = running.measure(&step, &device, &stop, watch);
        let result = result.and_then(|measurement| refuse_void(measurement, &step));
        let result = result.map(|measurement| Measurement {
            interface: (!self.exceptions.is_empty()).then(|| self.exceptions.join("; ")),
            ..measurement
        });
        match self.unless_vanished(result) {
            Ok(measurement) if !measurement.complete => {
                self.running = Some(running);
                Ok(measurement)
            }
            Ok(measurement) => {
                self.stuck.extend(running.into_stuck());
                Ok(measurement)
            }
            Err(halt) => {
                self.abort(running);
                Err(halt)
            }
        }
    }

    fn end_load(&mut self) {
        if let Some(running) = self.running.take() {
            self.stuck.extend(running.finish(self.options.completion_timeout, &self.stop));
        }
        self.await_stuck();
    }
}

impl Native {
    /// Returns the load that the step continues, or a new one.
    fn load_for(
        &mut self,
        step: &Step,
        prepared: Option<Vec<PreparedLoad>>,
        start: &StepStart,
        agree: StartAgreement<'_>,
    ) -> Result<NativeLoad, Halt> {
        match take_over(&mut self.running, step) {
            Handover::Same(running) => return Ok(running),
            Handover::Other(running, halt) => {
                self.abort(running);
                return Err(halt);
            }
            Handover::New => self.end_load(),
        }
        self.refuse_stuck()?;
        // A load that should be continued but has ended meanwhile starts again.
        let prepared = match prepared {
            Some(prepared) => prepared,
            None => self.prepare_load(&step.load).map_err(|refusal| refusal.at_step(step))?,
        };
        self.begin(&step.load, prepared, start, agree)
    }

    /// Turns I/O errors into [`Halt::DeviceGone`] if the device no longer exists.
    fn unless_vanished(&self, result: Result<Measurement, Halt>) -> Result<Measurement, Halt> {
        let faulty = match &result {
            Ok(measurement) => measurement.fault_count > 0,
            Err(halt) => matches!(halt, Halt::Faults { .. }),
        };
        if !(faulty && self.target.has_vanished()) {
            return result;
        }
        Err(Halt::DeviceGone {
            device: self.path().to_owned(),
            why: "the kernel reports no capacity for it, as after a drive is removed".to_owned(),
        })
    }

    /// Waits for I/Os that were abandoned, as long as some of them complete.
    fn await_stuck(&mut self) {
        let mut timeout = CompletionTimeout::new(self.options.completion_timeout);
        loop {
            self.stuck.retain(|load| !load.is_over());
            let progress = self.stuck.iter().map(StuckLoad::progress);
            timeout.add_wait(STUCK_POLL_INTERVAL, progress.fold(0, u64::wrapping_add), false);
            let is_silent = timeout.silent >= self.options.completion_timeout;
            if self.stuck.is_empty() || is_silent || self.stop.is_requested() {
                return;
            }
            std::thread::sleep(STUCK_POLL_INTERVAL);
        }
    }

    /// Checks that no I/Os of an earlier load are stuck. Returns [`Halt::DeviceGone`] if any are.
    fn refuse_stuck(&mut self) -> Result<(), Halt> {
        self.stuck.retain(|load| !load.is_over());
        if self.stuck.is_empty() {
            return Ok(());
        }
        Err(Halt::DeviceGone {
            device: self.path().to_owned(),
            why: "I/Os of an earlier load have not completed".to_owned(),
        })
    }
}

impl TargetEngine for Native {
    fn target(&self) -> &Target {
        &self.target
    }

    fn target_mut(&mut self) -> &mut Target {
        self.end_load();
        &mut self.target
    }

    fn use_groups(&mut self, groups: LoadCgroups) {
        self.groups = Some(groups);
    }
}

impl Drop for Native {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            self.abort(running);
        }
    }
}

/// Returns the clock for a load. A script uses `CLOCK_MONOTONIC`: the rate of the counter is
/// known only to a few parts per million, which adds up over hours, and differs between two
/// processes.
fn clock_of(load: &Load, engine_clock: Clock) -> Clock {
    match load {
        Load::Stimulus(_) | Load::Together(_) => engine_clock,
        Load::Script(_) => Clock::monotonic(),
    }
}

fn wake_handle() -> io::Result<OwnedFd> {
    // SAFETY: makes a new descriptor or fails.
    let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new and has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}
