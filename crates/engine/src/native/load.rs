//! A running load: its threads, and the accounting of the steps that cut it into pieces.

use super::clock::Clock;
use super::load_threads::{PreparedLoad, ScriptProgress};
use super::part::{LoadContext, PartHandles, RunningPart};
use super::shared::{FAULTS_KEPT, LoadFailure, LocatedFault, SharedLoad, ThreadCpu};
use super::silence::SilenceWatch;
use crate::accounting::StepMeter;
use crate::engine::StartAgreement;
use crate::handover::ActiveLoad;
use crate::stall::{LateWakeup, Watchdog};
use crate::start::{StepStart, cursors_of_part};
use crate::stop::StopSignal;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use steadfast_domain::measurement::{
    CommonStart, CpuTime, Fault, Interval, LoadPart, Stall, StreamTally, UnmeasuredIos,
    Verification,
};
use steadfast_domain::step::is_partial;
use steadfast_domain::{Bytes, Halt, Load, Measurement, Nanos, Op, Step};

/// Time from the moment everything is ready to the start of a script, so that the playing thread
/// is awake and its first I/O is not late.
const HEADWAY_NS: u64 = 2_000_000;

/// Interval between checks for a stop by a waiting accounting thread.
const LOOK: Duration = Duration::from_millis(50);

/// An interval is extended to a cut or an end that follows within this time.
const SLACK_NS: u64 = 50_000_000;

/// Longest wait for the outstanding I/Os of a load that is called off.
const PATIENCE: Duration = Duration::from_millis(700);

/// A load with running threads.
pub(super) struct NativeLoad {
    /// The loads that run at once; usually one.
    parts: Vec<RunningPart>,
    clock: Clock,
    load: Load,
    /// Progress of the script, if the load is one.
    script: Option<ScriptProgress>,
    /// Agreed and actual start of the load; `None` once a step has reported it.
    common_start: Option<CommonStart>,
    /// Ticks at which the current step's measurement begins.
    begin: u64,
    /// Wall clock in milliseconds since 1970, and the ticks at the same moment.
    wall: (u64, u64),
    /// Ticks at which the last interval ended.
    turned: u64,
    /// Processor time of each thread when the step began.
    cpu: Vec<ThreadCpu>,
    ramp: Nanos,
    unmeasured: Vec<UnmeasuredIos>,
    stalls: Vec<Stall>,
    silence: SilenceWatch,
    /// Number of I/Os that were given up.
    outstanding: u64,
}

/// Why a step ends.
enum StepEnd {
    /// The load is complete.
    Complete,
    /// The step is cut; the load keeps running.
    Cut,
    /// The load's time is long over, and I/Os are still outstanding.
    Overdue,
}

impl ActiveLoad for NativeLoad {
    fn is_of(&self, load: &Load) -> bool {
        self.load == *load
    }
}

impl NativeLoad {
    /// Starts the threads with everything they need, then lets them begin. Also returns notes on
    /// what this host could not provide.
    pub(super) fn start(
        load: &Load,
        made: Vec<(PreparedLoad, PartHandles)>,
        start: &StepStart,
        context: &LoadContext<'_>,
        agree: StartAgreement<'_>,
    ) -> Result<(NativeLoad, Vec<String>), Halt> {
        let mut running = NativeLoad {
            parts: Vec::with_capacity(made.len()),
            clock: context.clock,
            load: load.clone(),
            script: None,
            common_start: None,
            begin: 0,
            wall: (0, 0),
            turned: 0,
            cpu: Vec::new(),
            ramp: load.ramp(),
            unmeasured: Vec::new(),
            stalls: Vec::new(),
            silence: SilenceWatch::default(),
            outstanding: 0,
        };
        let mut notes = Vec::new();
        let ready = running.make_parts(made, start, context, &mut notes);
        match ready.and_then(|()| agree()).and_then(|begins| running.open(begins)) {
            Ok(()) => Ok((running, notes)),
            Err(halt) => {
                drop(running.call_off());
                Err(halt)
            }
        }
    }

    fn make_parts(
        &mut self,
        made: Vec<(PreparedLoad, PartHandles)>,
        start: &StepStart,
        context: &LoadContext<'_>,
        notes: &mut Vec<String>,
    ) -> Result<(), Halt> {
        let stimuli: Vec<Load> = match &self.load {
            Load::Together(stimuli) => stimuli.iter().cloned().map(Load::Stimulus).collect(),
            one => vec![one.clone()],
        };
        let at_once = matches!(self.load, Load::Together(_));
        for (number, (load, (prepared, handles))) in stimuli.iter().zip(made).enumerate() {
            let own = if at_once { start.of_part(number) } else { start.clone() };
            let (part, script, missing) =
                RunningPart::start(load, prepared, &own, handles, context)?;
            self.parts.push(part);
            self.script = script;
            for note in missing {
                if !notes.contains(&note) {
                    notes.push(note);
                }
            }
        }
        self.cpu = self.cpu_times();
        Ok(())
    }

    /// Lets the threads begin. Errors: a script's agreed start has already passed.
    fn open(&mut self, begins: Option<Nanos>) -> Result<(), Halt> {
        let clock = self.clock;
        if let Some(agreed) = begins {
            let waits = self.script.is_none();
            let late = if waits { steadfast_host::wait_until(agreed) } else { Nanos::ZERO };
            self.common_start =
                Some(CommonStart { agreed, late: Some(late), ..CommonStart::default() });
        }
        // Read back to back: threads that wake up may take this processor for a while.
        let (now, now_unix_ms) = (clock.ticks(), unix_ms());
        // The threads of a script wait for its start themselves; its clock counts nanoseconds.
        let soon = Nanos(now.saturating_add(HEADWAY_NS));
        let at = self.script.is_some().then(|| begins.unwrap_or(soon).0);
        if let Some(late) = at.and_then(|at| now.checked_sub(at)) {
            return Err(Halt::Refused(format!(
                "the script was due to begin {} before everything was ready; allow more time",
                Nanos(late)
            )));
        }
        // Loads that run at once start at the same tick.
        let at = at.or((self.parts.len() > 1).then_some(now));
        let measured_at_once = self.ramp == Nanos::ZERO;
        let mut begin = now;
        for part in &mut self.parts {
            let limit = part.time_left.filter(|_| measured_at_once).map(|t| clock.ticks_in(t.0));
            let delay = clock.ticks_in(part.delay.0);
            let at = at.or((delay > 0).then_some(now)).map(|at| at.saturating_add(delay));
            part.begins = part.shared.open(at, limit);
            begin = part.begins - delay;
        }
        let begin_unix_ms = now_unix_ms + clock.nanos(begin.saturating_sub(now)) / 1_000_000;
        (self.begin, self.turned, self.wall) = (begin, begin, (begin_unix_ms, begin));
        if let Some(script) = &mut self.script {
            script.began = begin;
        }
        Ok(())
    }

    fn meter(&self) -> StepMeter {
        match &self.load {
            Load::Script(_) => StepMeter::of_script(),
            drawn => StepMeter::new(drawn.stimuli().iter().map(|one| &one.streams[..])),
        }
    }

    fn all_ended(&self) -> bool {
        self.parts.iter().all(|part| part.shared.all_ended())
    }

    /// Returns the deadline in ticks of the last part that still runs.
    fn deadline(&self) -> u64 {
        let running = self.parts.iter().filter(|part| !part.shared.all_ended());
        let all = || self.parts.iter().map(|part| part.shared.deadline()).max();
        running.map(|part| part.shared.deadline()).max().or_else(all).unwrap_or(u64::MAX)
    }

    /// Waits until something changes in a part that still runs, at most `time`.
    fn wait(&self, time: Duration) {
        let running = self.parts.iter().find(|part| !part.shared.all_ended());
        if let Some(part) = running.or(self.parts.first()) {
            part.shared.wait(time);
        }
    }

    fn cpu_times(&self) -> Vec<ThreadCpu> {
        self.parts.iter().flat_map(|part| part.shared.cpu_times()).collect()
    }

    /// Moves all accounts of the interval into a meter and returns the ticks of the turn.
    fn turn_over(&self, meter: &mut StepMeter) -> u64 {
        let (mut first, mut thread) = (0, 0);
        let mut ticks = self.turned;
        for part in &self.parts {
            ticks = part.turn_over(meter, first, thread);
            first += part.streams;
            thread += part.shared.lanes.len();
        }
        ticks
    }

    /// Measures a step until the load is complete or the step is cut.
    pub(super) fn measure(
        &mut self,
        step: &Step,
        device: &str,
        stop: &StopSignal,
        watch: &mut dyn FnMut(&Interval),
    ) -> Result<Measurement, Halt> {
        if self.ramp > Nanos::ZERO {
            self.pass_ramp(step, device, stop)?;
        }
        let mut meter = self.meter();
        let watchdog = Watchdog::new();
        let end = loop {
            self.rest(&watchdog, self.time_to_look(step), step)?;
            self.check(step, device, stop)?;
            if self.all_ended() {
                break StepEnd::Complete;
            }
            self.check_answers(device)?;
            if self.parts.iter().all(RunningPart::is_done) {
                break StepEnd::Overdue;
            }
            let now = self.clock.ticks();
            if self.cut_at(step).is_some_and(|cut| now >= cut) {
                break StepEnd::Cut;
            }
            if now >= self.boundary(step) && !self.ends_soon(step) {
                self.close_interval(&mut meter, step, false).into_iter().for_each(&mut *watch);
            }
        };
        let complete = !matches!(end, StepEnd::Cut);
        if matches!(end, StepEnd::Overdue) {
            self.give_up_waiting(&mut meter);
        }
        self.close_interval(&mut meter, step, complete).into_iter().for_each(watch);
        if matches!(end, StepEnd::Complete) {
            self.parts.iter_mut().for_each(RunningPart::join);
        }
        if complete {
            self.check(step, device, &StopSignal::default())?;
        }
        self.silence.end();
        Ok(self.conclude(meter, complete))
    }

    /// Ends the load without its outstanding I/Os, which count with their time so far.
    fn give_up_waiting(&mut self, meter: &mut StepMeter) {
        let mut first = 0;
        for part in &self.parts {
            let (count, silent) = part.shared.give_up_waiting();
            self.outstanding += count;
            for (stream, response_ns) in silent {
                meter.add_outstanding(first + stream as usize, response_ns);
            }
            first += part.streams;
        }
    }

    /// Waits for the next event, and records a stall if no thread could run meanwhile.
    fn rest(&mut self, watchdog: &Watchdog, time: Duration, step: &Step) -> Result<(), Halt> {
        let clock = self.clock;
        let begun = clock.ticks();
        let now = || clock.nanos(clock.ticks());
        let ((), late) = watchdog.over(time, now, || self.wait(time));
        let deadline = self.deadline();
        let end = if deadline == u64::MAX { u64::MAX } else { clock.nanos(deadline) };
        let measured = (clock.nanos(self.begin), end);
        let stall = late.and_then(|late| late.stall(self.not_seen_in(&late), measured));
        self.stalls.extend(stall);
        let woken = clock.ticks();
        let mut all_wait = true;
        let mut progress = 0u64;
        for part in &mut self.parts {
            // Between two due times nothing comes back, however long that is.
            let waits = woken < part.begins || part.has_due_times() && !part.shared.waits_for_ios();
            part.pass(time, woken, waits);
            all_wait &= waits || part.shared.all_ended();
            progress = progress.wrapping_add(part.shared.progress());
        }
        self.silence.passed(time, progress, all_wait, Nanos(clock.nanos(woken)));
        if woken >= begun.saturating_sub(clock.ticks_in(Nanos::SECOND.0)) {
            return Ok(());
        }
        // The counter of a processor that was switched off starts again at zero, so the end of
        // the step can no longer be determined.
        let stalled = Nanos(self.stalls.iter().map(|stall| stall.lasted.0).sum());
        Err(Halt::Stalled { place: step.place.to_string(), stalled, elapsed: stalled })
    }

    /// Returns how many nanoseconds of a delay passed without a clock reading of any thread.
    fn not_seen_in(&self, late: &LateWakeup) -> u64 {
        self.parts.iter().map(|part| part.shared.not_seen_in(late)).min().unwrap_or(u64::MAX)
    }

    /// Errors: the device has stopped completing I/Os.
    fn check_answers(&self, device: &str) -> Result<(), Halt> {
        let Some(silent) = self.parts.iter().find_map(RunningPart::is_lost_for) else {
            return Ok(());
        };
        Err(Halt::DeviceGone {
            device: device.to_owned(),
            why: format!(
                "none of its outstanding I/Os has completed for {} s; see the kernel log (dmesg)",
                silent.as_secs()
            ),
        })
    }

    /// Waits for the end of the ramp and moves what it counted to the unmeasured I/Os.
    fn pass_ramp(&mut self, step: &Step, device: &str, stop: &StopSignal) -> Result<(), Halt> {
        let clock = self.clock;
        let over = self.begin.saturating_add(clock.ticks_in(self.ramp.0));
        while clock.ticks() < over {
            let left = Duration::from_nanos(clock.nanos(over.saturating_sub(clock.ticks())));
            self.wait(left.min(LOOK));
            self.check(step, device, stop)?;
        }
        self.cpu = self.cpu_times();
        let mut meter = self.meter();
        let ticks = self.turn_over(&mut meter);
        meter.close_interval([], Nanos::ZERO, self.ramp, false);
        let passed = |stream: StreamTally| {
            let (ios, bytes) = (stream.tally.ios, stream.tally.bytes);
            UnmeasuredIos { op: stream.op, ios, bytes }
        };
        self.unmeasured.extend(meter.finish().0.into_iter().map(passed));
        self.ramp = Nanos::ZERO;
        (self.begin, self.turned) = (ticks, ticks);
        for part in &self.parts {
            if let Some(time) = part.time_left {
                part.shared.set_deadline(ticks.saturating_add(clock.ticks_in(time.0)));
            }
        }
        Ok(())
    }

    /// Errors: a stop was requested, or the load has failed.
    fn check(&self, step: &Step, device: &str, stop: &StopSignal) -> Result<(), Halt> {
        if stop.is_requested() {
            return Err(Halt::Stopped);
        }
        let failure_of = |part: &RunningPart| part.shared.state().failure.clone();
        let failure = self.parts.iter().find_map(failure_of);
        let error = |errno| io::Error::from_raw_os_error(errno).to_string();
        match failure {
            None => Ok(()),
            Some(LoadFailure::Script(error)) => {
                Err(Halt::Refused(format!("{}: {error}", step.place)))
            }
            Some(LoadFailure::Gone(errno)) => {
                Err(Halt::DeviceGone { device: device.to_owned(), why: error(errno) })
            }
            Some(LoadFailure::Faults) => {
                let (count, faults) = self.take_faults();
                let first = faults.first().map(|f| describe(f, device)).unwrap_or_default();
                Err(Halt::Faults { place: step.place.to_string(), count, first })
            }
            Some(LoadFailure::Broken(errno)) => Err(Halt::Refused(format!(
                "{}: the kernel accepts no more I/Os for {device}: {}",
                step.place,
                error(errno)
            ))),
            Some(LoadFailure::Died) => Err(Halt::Refused(format!(
                "{}: a thread that did I/O on {device} ended unexpectedly; this is a defect of \
                 the engine, please report it",
                step.place
            ))),
        }
    }

    /// Returns the ticks at which the current interval should end, on the step's grid of
    /// intervals.
    fn boundary(&self, step: &Step) -> u64 {
        let interval = self.clock.ticks_in(step.interval().0);
        let passed = self.turned.saturating_sub(self.begin);
        self.begin + (passed + interval / 2) / interval * interval + interval
    }

    fn cut_at(&self, step: &Step) -> Option<u64> {
        step.cut.map(|cut| self.begin.saturating_add(self.clock.ticks_in(cut.0)))
    }

    /// Returns true if a cut or the end follows the end of the interval so closely that the
    /// interval is extended to it.
    fn ends_soon(&self, step: &Step) -> bool {
        let end = self.cut_at(step).unwrap_or(u64::MAX).min(self.deadline());
        end < self.boundary(step).saturating_add(self.clock.ticks_in(SLACK_NS))
    }

    fn time_to_look(&self, step: &Step) -> Duration {
        let clock = self.clock;
        let now = clock.ticks();
        if now >= self.deadline() {
            return LOOK;
        }
        let next = self.cut_at(step).unwrap_or(u64::MAX).min(self.boundary(step));
        Duration::from_nanos(clock.nanos(next.saturating_sub(now))).min(LOOK)
    }

    /// Closes the current interval: now, or, if the load `is_over`, at its deadline or at the last
    /// completion before that. `None` if nothing is left to close.
    fn close_interval<'m>(
        &mut self,
        meter: &'m mut StepMeter,
        step: &Step,
        is_over: bool,
    ) -> Option<&'m Interval> {
        let mut ended = self.turn_over(meter);
        if is_over {
            let last = self.parts.iter().map(|part| part.shared.ended_at()).max();
            ended = last.unwrap_or_default().max(self.turned);
        }
        self.script.iter_mut().for_each(ScriptProgress::mark);
        let since = |tick: u64| Nanos(self.clock.nanos(tick.saturating_sub(self.begin)));
        let (begin, end) = (since(self.turned), since(ended));
        self.turned = ended;
        let partial = is_partial(end.saturating_sub(begin), step.interval());
        let any = end > begin || meter.has_open_ios();
        any.then(|| meter.close_interval([], begin, end, partial))
    }

    /// Returns the number of faults since the last call, and the first of them in order of time.
    fn take_faults(&self) -> (u64, Vec<LocatedFault>) {
        let (mut count, mut faults) = (0, Vec::new());
        for part in &self.parts {
            let (more, first) = part.shared.take_faults();
            count += more;
            faults.extend(first);
        }
        faults.sort_by_key(|fault| fault.at);
        faults.truncate(FAULTS_KEPT);
        (count, faults)
    }

    /// Returns the measured time of each part since the step began; empty for a load of one part.
    fn apart(&self, elapsed: Nanos) -> Vec<LoadPart> {
        let load_part = |part: &RunningPart| {
            let ended = part.shared.all_ended().then(|| part.shared.ended_at());
            let begin = part.begins.max(self.begin);
            let passed = |end: u64| Nanos(self.clock.nanos(end.saturating_sub(begin)));
            let late = Nanos(self.clock.nanos(begin - self.begin));
            let elapsed = elapsed.saturating_sub(late);
            let elapsed = ended.map_or(elapsed, |end| passed(end).min(elapsed));
            LoadPart { streams: u32::try_from(part.tallies).unwrap_or(u32::MAX), elapsed }
        };
        match self.load {
            Load::Together(_) => self.parts.iter().map(load_part).collect(),
            _ => Vec::new(),
        }
    }

    /// Returns the offset of each sequential cursor.
    fn cursors(&self) -> BTreeMap<String, Bytes> {
        let own = |(number, part): (usize, &RunningPart)| {
            let prefix = match self.load {
                Load::Together(_) => cursors_of_part(number),
                _ => String::new(),
            };
            let cursors = part.cursors().into_iter();
            cursors.map(move |(key, at)| (format!("{prefix}{key}"), at)).collect::<Vec<_>>()
        };
        self.parts.iter().enumerate().flat_map(own).collect()
    }

    /// Builds the measurement; the next one begins at the end of its last interval.
    fn conclude(&mut self, mut meter: StepMeter, complete: bool) -> Measurement {
        let clock = self.clock;
        let begin = self.begin;
        let (fault_count, faults) = self.take_faults();
        let located = |fault: &LocatedFault| Fault {
            op: fault.op,
            offset: Bytes(fault.offset),
            size: Bytes(fault.size.into()),
            errno: fault.errno,
            at: Nanos(clock.nanos(fault.at.saturating_sub(begin))),
        };
        let cpu = self.cpu_times();
        let used: Vec<ThreadCpu> = cpu
            .iter()
            .zip(&self.cpu)
            .map(|(now, before)| ThreadCpu {
                user: now.user.saturating_sub(before.user),
                system: now.system.saturating_sub(before.system),
            })
            .collect();
        let elapsed = meter.elapsed();
        let threads = meter.take_threads();
        let writes_alone = meter.writes_alone();
        let start_error = meter.start_error();
        let (streams, intervals, replay) = match &self.script {
            None => {
                let (streams, intervals) = meter.finish();
                (streams, intervals, None)
            }
            Some(script) => script.conclude(meter.finish_script(), self.turned),
        };
        let mut measurement = Measurement {
            began_unix_ms: self.wall.0 + clock.nanos(begin.saturating_sub(self.wall.1)) / 1_000_000,
            elapsed,
            complete,
            streams,
            writes_alone,
            unmeasured: self.take_unmeasured(),
            outstanding: self.outstanding,
            stalls: std::mem::take(&mut self.stalls),
            start_error,
            silences: self.silence.take(Nanos(clock.nanos(begin))),
            intervals,
            threads,
            parts: self.apart(elapsed),
            cursors: self.cursors(),
            seed: self.parts.first().and_then(|part| part.seed),
            cpu: Some(CpuTime {
                user: Nanos(used.iter().map(|thread| thread.user).sum()),
                system: Nanos(used.iter().map(|thread| thread.system).sum()),
            }),
            fault_count,
            faults: faults.iter().map(located).collect(),
            verification: self.verification(),
            replay,
            common_start: self.common_start.take(),
            ..Measurement::default()
        };
        measurement.sensed.busiest_thread = busiest(&used, elapsed);
        self.begin = self.turned;
        self.cpu = cpu;
        measurement
    }

    /// Returns the result of the read-back; `None` if the load does not verify.
    fn verification(&self) -> Option<Verification> {
        self.load.stimulus().filter(|stimulus| stimulus.verify)?;
        self.parts.first().map(|part| part.shared.findings.take())
    }

    /// Returns the I/Os completed in the ramp or after the end since the last call, by operation.
    fn take_unmeasured(&mut self) -> Vec<UnmeasuredIos> {
        let late = self.parts.iter().flat_map(|part| part.shared.take_late());
        self.unmeasured.extend(late);
        let parts = std::mem::take(&mut self.unmeasured);
        let unmeasured_of = |op: Op| {
            let matching = || parts.iter().filter(move |part| part.op == op);
            let bytes = Bytes(matching().map(|part| part.bytes.0).sum());
            UnmeasuredIos { op, ios: matching().map(|part| part.ios).sum(), bytes }
        };
        Op::ALL.into_iter().map(unmeasured_of).filter(|part| part.ios > 0).collect()
    }

    /// Ends the load: no more I/Os are issued, and outstanding ones are waited for, at most
    /// `patience` and only briefly after a stop. Returns threads that still wait.
    pub(super) fn end(mut self, patience: Duration, stop: &StopSignal) -> Vec<StuckLoad> {
        self.parts.iter().for_each(|part| part.shared.finish());
        let begun = Instant::now();
        while !self.all_ended() {
            let left = patience.saturating_sub(begun.elapsed());
            let stopped = stop.is_requested() && begun.elapsed() > PATIENCE;
            if left.is_zero() || stopped {
                return self.leave();
            }
            self.wait(left.min(LOOK));
        }
        self.parts.iter_mut().for_each(RunningPart::join);
        Vec::new()
    }

    /// Releases a complete load. Returns threads that still wait for I/Os.
    pub(super) fn leave(self) -> Vec<StuckLoad> {
        let left = self.parts.into_iter().filter(|part| !part.threads.is_empty());
        left.map(|part| StuckLoad { shared: part.shared, threads: part.threads }).collect()
    }

    /// Ends a load whose step has failed or was stopped. Returns threads that still wait.
    pub(super) fn call_off(self) -> Vec<StuckLoad> {
        self.end(PATIENCE, &StopSignal::default())
    }
}

/// Threads of a load that was called off with I/Os stuck in the kernel. They own all memory that
/// those I/Os may still access.
pub(super) struct StuckLoad {
    shared: Arc<SharedLoad>,
    threads: Vec<JoinHandle<()>>,
}

impl StuckLoad {
    /// Returns true if all of its I/Os have completed and its threads have ended.
    pub(super) fn is_over(&self) -> bool {
        self.shared.all_ended() && self.threads.iter().all(JoinHandle::is_finished)
    }

    /// Returns a number that changes whenever one of its I/Os completes.
    pub(super) fn progress(&self) -> u64 {
        self.shared.progress()
    }
}

/// Returns the processor time of the busiest thread as a share of the measured time. It is near 1
/// if a thread never waits: the device completes faster than the thread submits, or does its work
/// inside the submitting system calls (zram, a file in memory). A paced load spins shortly before
/// its I/Os are due, so part of its share is not work.
fn busiest(used: &[ThreadCpu], elapsed: Nanos) -> Option<f64> {
    let most = used.iter().map(|thread| thread.user + thread.system).max()?;
    (elapsed > Nanos::ZERO).then(|| (most as f64 / elapsed.0 as f64).min(1.0))
}

fn unix_ms() -> u64 {
    let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Describes a failed I/O, with advice where the cause is known.
fn describe(fault: &LocatedFault, device: &str) -> String {
    let op = match fault.op {
        Op::Read => "read",
        Op::Write => "write",
        Op::Discard => "discard",
        Op::Flush => "flush",
    };
    let why = match fault.errno {
        0 => "moved fewer bytes than requested".to_owned(),
        errno => io::Error::from_raw_os_error(errno).to_string(),
    };
    let advice = match (fault.errno, fault.op) {
        (libc::EOPNOTSUPP, Op::Discard) => "; the device cannot discard blocks: omit discards",
        (libc::EOPNOTSUPP, Op::Write) => "; the file system may not support FUA writes: omit FUA",
        (libc::EINVAL, _) => {
            "; use transfer sizes and alignments that are multiples of its sectors"
        }
        (libc::ENOSPC, _) => "; free some space, or use a smaller file",
        (libc::EIO, _) => "; see the kernel log (dmesg) for the device's own error",
        // The block layer's error number for a medium error reported by the drive.
        (libc::ENODATA, _) => {
            "; the drive reports a medium error: see its own log (smartctl -x) and dmesg"
        }
        (0, _) => "; it may be smaller than it claims",
        _ => "",
    };
    format!(
        "{op} of {} at byte {} of {device}: {why}{advice}",
        Bytes(fault.size.into()).transfer_size(),
        fault.offset
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_thread_is_told_as_a_share_of_the_measured_time() {
        let thread = |user, system| ThreadCpu { user, system };
        let used = [thread(100, 200), thread(250, 500), thread(0, 0)];
        assert_eq!(busiest(&used, Nanos(1000)), Some(0.75));
        assert_eq!(busiest(&used, Nanos(500)), Some(1.0));
        assert_eq!(busiest(&used, Nanos::ZERO), None);
        assert_eq!(busiest(&[], Nanos(1000)), None);
    }
}
