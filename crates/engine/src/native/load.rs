//! A running load: its threads, and the accounting of the steps that cut it into pieces.

use super::clock::Clock;
use super::load_threads::ScriptProgress;
use super::part::{LoadContext, PartToStart, RunningPart};
use super::shared::{FaultSummary, LoadFailure, LocatedFault, SharedLoad, ThreadCpu};
use super::silence::SilenceWatch;
use crate::accounting::{LOCATED_FAULTS_MAX, StepMeter, by_operation};
use crate::engine::StartAgreement;
use crate::handover::ActiveLoad;
use crate::stall::{LateWakeup, STALL_MIN, Watchdog};
use crate::start::{StepStart, part_cursors};
use crate::stop::StopSignal;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use steadfast_domain::measurement::{
    CommonStart, CpuTime, Fault, Interval, LoadPart, Stall, StreamTally, UnmeasuredIos,
    Verification,
};
use steadfast_domain::step::is_partial;
use steadfast_domain::{Bytes, Halt, Load, Measurement, Nanos, Op, Step, StepPlace};
use steadfast_host::wall_clock_unix_ms;

/// Time from the moment everything is ready to the start of a script, so that the playing thread
/// is awake and its first I/O is not late.
const SCRIPT_START_DELAY_NS: u64 = 2_000_000;

/// Longest wait of the accounting thread, after which it looks for a stop, failures and stalls.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// An interval is extended to a cut or an end that follows within this time.
const MERGE_INTERVAL_NS: u64 = 50_000_000;

/// Longest wait for the outstanding I/Os of a load that is aborted.
const ABORT_TIMEOUT: Duration = Duration::from_millis(700);

pub(super) struct NativeLoad {
    /// The loads that run at once; usually one.
    parts: Vec<RunningPart>,
    clock: Clock,
    load: Load,
    script: Option<ScriptProgress>,
    /// Agreed and actual start of the load; `None` once a step has reported it.
    common_start: Option<CommonStart>,
    /// Ticks at which the current step's measurement begins.
    step_start: u64,
    /// Ticks at which the current interval begins.
    interval_start: u64,
    wall_clock: WallClockReading,
    /// Processor time of each thread when the step began.
    cpu: Vec<ThreadCpu>,
    ramp: Nanos,
    unmeasured: Vec<UnmeasuredIos>,
    stalls: Vec<Stall>,
    silence: SilenceWatch,
    /// I/Os still outstanding when the load was abandoned.
    abandoned: u64,
}

enum StepEnd {
    Complete,
    /// The step is cut; the load keeps running.
    Cut,
    /// The load's time is long over, and I/Os are still outstanding.
    Overdue,
}

/// The wall clock and the load's clock at the same moment.
#[derive(Debug, Clone, Copy, Default)]
struct WallClockReading {
    unix_ms: u64,
    ticks: u64,
}

impl WallClockReading {
    fn now(clock: Clock) -> WallClockReading {
        // Read back to back: threads that wake up may take this processor for a while.
        WallClockReading { ticks: clock.ticks(), unix_ms: wall_clock_unix_ms() }
    }

    /// Returns the wall-clock time in milliseconds at a later moment in ticks.
    fn unix_ms_at(self, ticks: u64, clock: Clock) -> u64 {
        self.unix_ms + clock.nanos(ticks.saturating_sub(self.ticks)) / 1_000_000
    }
}

/// A finished wait of the accounting thread.
#[derive(Debug, Clone, Copy)]
struct FinishedWait {
    /// Longest time that it was to take.
    limit: Duration,
    begun: u64,
    woken: u64,
}

impl FinishedWait {
    /// Returns its length. If it ended so late that the program may have been stalled, returns its
    /// limit: a stall must not count against the device.
    fn counted(&self, clock: Clock) -> Duration {
        let waited = self.woken.saturating_sub(self.begun);
        let waited = Duration::from_nanos(clock.nanos(waited));
        if waited < self.limit + STALL_MIN { waited } else { self.limit }
    }

    /// Checks that the clock did not restart: the cycle counter of a processor that was switched
    /// off begins again at zero. Readings of different processors may differ slightly. Returns
    /// [`Halt::ClockReset`] if the clock went back by more than a second.
    fn check_clock(&self, clock: Clock, place: &StepPlace) -> Result<(), Halt> {
        if self.woken >= self.begun.saturating_sub(clock.ticks_in(Nanos::SECOND.0)) {
            return Ok(());
        }
        Err(Halt::ClockReset { place: place.to_string() })
    }
}

impl ActiveLoad for NativeLoad {
    fn is_of(&self, load: &Load) -> bool {
        self.load == *load
    }
}

impl NativeLoad {
    /// Starts the threads with everything they need, then lets them begin. Adds to `notes` what
    /// this host could not provide.
    pub(super) fn start(
        load: &Load,
        parts: Vec<PartToStart>,
        start: &StepStart,
        context: &LoadContext<'_>,
        agree: StartAgreement<'_>,
        notes: &mut Vec<String>,
    ) -> Result<NativeLoad, Halt> {
        let mut running = NativeLoad {
            parts: Vec::with_capacity(parts.len()),
            clock: context.clock,
            load: load.clone(),
            script: None,
            common_start: None,
            step_start: 0,
            interval_start: 0,
            wall_clock: WallClockReading::default(),
            cpu: Vec::new(),
            ramp: load.ramp(),
            unmeasured: Vec::new(),
            stalls: Vec::new(),
            silence: SilenceWatch::default(),
            abandoned: 0,
        };
        let ready = running.start_parts(parts, start, context, notes);
        match ready.and_then(|()| agree()).and_then(|agreed_start| running.open(agreed_start)) {
            Ok(()) => Ok(running),
            Err(halt) => {
                drop(running.abort());
                Err(halt)
            }
        }
    }

    fn start_parts(
        &mut self,
        parts: Vec<PartToStart>,
        start: &StepStart,
        context: &LoadContext<'_>,
        notes: &mut Vec<String>,
    ) -> Result<(), Halt> {
        let at_once = matches!(self.load, Load::Together(_));
        for (number, part) in parts.into_iter().enumerate() {
            let part_start = if at_once { start.for_part(number) } else { start.clone() };
            let mut part = RunningPart::start(part, &part_start, context, notes)?;
            // A script is never one of several loads.
            self.script = self.script.take().or(part.script.take());
            self.parts.push(part);
        }
        self.cpu = self.cpu_times();
        Ok(())
    }

    /// Lets the threads begin: at the agreed start, or as soon as they can. Returns
    /// [`Halt::Refused`] if a script's agreed start has already passed.
    fn open(&mut self, agreed_start: Option<Nanos>) -> Result<(), Halt> {
        let clock = self.clock;
        let is_script = self.script.is_some();
        if let Some(agreed) = agreed_start {
            // The threads of a script wait for its start themselves.
            let late = if is_script { Nanos::ZERO } else { steadfast_host::wait_until(agreed) };
            self.common_start =
                Some(CommonStart { agreed, late: Some(late), ..CommonStart::default() });
        }
        let wall_clock = WallClockReading::now(clock);
        let now = wall_clock.ticks;
        let script_start = if is_script { Some(script_start(agreed_start, now)?) } else { None };
        // Loads that run at once start at the same tick.
        let common_start = script_start.or((self.parts.len() > 1).then_some(now));
        let is_measured_at_once = self.ramp == Nanos::ZERO;
        let mut step_start = now;
        for part in &mut self.parts {
            let limit = part.remaining_time.filter(|_| is_measured_at_once);
            let limit = limit.map(|time| clock.ticks_in(time.0));
            let delay = clock.ticks_in(part.delay.0);
            let undelayed_start = common_start.or((delay > 0).then_some(now));
            let part_start = undelayed_start.map(|start| start.saturating_add(delay));
            part.begins = part.shared.open(part_start, limit);
            step_start = part.begins - delay;
        }
        self.wall_clock = wall_clock;
        self.step_start = step_start;
        self.interval_start = step_start;
        if let Some(script) = &mut self.script {
            script.began = step_start;
        }
        Ok(())
    }

    fn all_ended(&self) -> bool {
        self.parts.iter().all(|part| part.shared.all_ended())
    }

    /// Returns the last deadline in ticks of the parts that still run, or of all if none does.
    fn deadline(&self) -> u64 {
        let running = self.parts.iter().filter(|part| !part.shared.all_ended());
        let last_running = running.map(|part| part.shared.deadline()).max();
        let last_of_all = || self.parts.iter().map(|part| part.shared.deadline()).max();
        last_running.or_else(last_of_all).unwrap_or(u64::MAX)
    }

    /// Waits until something changes in the first part that still runs, at most `time`.
    fn wait(&self, time: Duration) {
        let running = self.parts.iter().find(|part| !part.shared.all_ended());
        if let Some(part) = running.or(self.parts.first()) {
            part.shared.wait(time);
        }
    }

    fn cpu_times(&self) -> Vec<ThreadCpu> {
        self.parts.iter().flat_map(|part| part.shared.cpu_times()).collect()
    }

    /// Moves all accounts of the interval into a meter. Returns the ticks at which they end.
    fn move_accounts(&self, meter: &mut StepMeter) -> u64 {
        let (mut first, mut thread) = (0, 0);
        let mut ticks = self.interval_start;
        for part in &self.parts {
            ticks = part.move_accounts(meter, first, thread);
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
        let mut meter = StepMeter::for_load(&self.load);
        let watchdog = Watchdog::new();
        let end = loop {
            self.wait_and_observe(&watchdog, self.wait_limit(step), step)?;
            self.check_failure(step, device, stop)?;
            if self.all_ended() {
                break StepEnd::Complete;
            }
            self.check_device_completes(device)?;
            if self.parts.iter().all(RunningPart::is_done) {
                break StepEnd::Overdue;
            }
            let now = self.clock.ticks();
            if self.cut_at(step).is_some_and(|cut| now >= cut) {
                break StepEnd::Cut;
            }
            if now >= self.boundary(step)
                && !self.ends_soon(step)
                && let Some(interval) = self.close_interval(&mut meter, step, false)
            {
                watch(interval);
            }
        };
        let complete = !matches!(end, StepEnd::Cut);
        if matches!(end, StepEnd::Overdue) {
            self.abandon_outstanding(&mut meter);
        }
        if let Some(interval) = self.close_interval(&mut meter, step, complete) {
            watch(interval);
        }
        if matches!(end, StepEnd::Complete) {
            self.join_threads();
        }
        if complete {
            self.check_failure(step, device, &StopSignal::default())?;
        }
        self.silence.end();
        Ok(self.conclude(meter, complete))
    }

    /// Ends the load without its outstanding I/Os, which count with their time so far.
    fn abandon_outstanding(&mut self, meter: &mut StepMeter) {
        let mut first = 0;
        for part in &self.parts {
            let abandoned = part.shared.give_up_waiting();
            self.abandoned += abandoned.count;
            for io in abandoned.blocked {
                meter.add_outstanding(first + io.stream as usize, io.response_ns);
            }
            first += part.streams;
        }
    }

    /// Waits for the next event, at most `limit`. Records stalls, silences and the time without
    /// completions. Returns [`Halt::ClockReset`] if the clock restarted during the wait: the end of
    /// the step is unknown.
    fn wait_and_observe(
        &mut self,
        watchdog: &Watchdog,
        limit: Duration,
        step: &Step,
    ) -> Result<(), Halt> {
        let clock = self.clock;
        let begun = clock.ticks();
        let now = || clock.nanos(clock.ticks());
        let ((), late) = watchdog.observe(limit, now, || self.wait(limit));
        let wait = FinishedWait { limit, begun, woken: clock.ticks() };
        wait.check_clock(clock, &step.place)?;
        if let Some(late) = late {
            self.record_stall(&late);
        }
        self.update_timeouts(&wait);
        Ok(())
    }

    /// Records the part of a late wake-up in which no thread could run.
    fn record_stall(&mut self, late: &LateWakeup) {
        let deadline = self.deadline();
        let end = if deadline == u64::MAX { u64::MAX } else { self.clock.nanos(deadline) };
        let measured = self.clock.nanos(self.step_start)..end;
        self.stalls.extend(late.stall(self.time_without_reading(late), measured));
    }

    /// Adds a wait to the time in which the device completed nothing, unless it did or had nothing
    /// to complete.
    fn update_timeouts(&mut self, wait: &FinishedWait) {
        let waited = wait.counted(self.clock);
        let mut nothing_due = true;
        let mut progress = 0u64;
        for part in &mut self.parts {
            // Between two due times nothing completes, however long that is.
            let part_idles =
                wait.woken < part.begins || part.has_due_times() && !part.shared.waits_for_ios();
            part.add_wait(waited, wait.woken, part_idles);
            nothing_due &= part_idles || part.shared.all_ended();
            progress = progress.wrapping_add(part.shared.progress());
        }
        let now = Nanos(self.clock.nanos(wait.woken));
        self.silence.add_wait(waited, progress, nothing_due, now);
    }

    /// Returns how many nanoseconds of a delay passed without a clock reading of any thread.
    fn time_without_reading(&self, late: &LateWakeup) -> u64 {
        self.parts
            .iter()
            .map(|part| part.shared.time_without_reading(late))
            .min()
            .unwrap_or(u64::MAX)
    }

    /// Checks that the device still completes I/Os. Returns [`Halt::DeviceGone`] if none has
    /// completed for longer than a device may take.
    fn check_device_completes(&self, device: &str) -> Result<(), Halt> {
        let Some(silent) = self.parts.iter().find_map(RunningPart::silent_too_long) else {
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
        let ramp_end = self.step_start.saturating_add(clock.ticks_in(self.ramp.0));
        let watchdog = Watchdog::new();
        while clock.ticks() < ramp_end {
            let remaining = clock.nanos(ramp_end.saturating_sub(clock.ticks()));
            let limit = Duration::from_nanos(remaining).min(POLL_INTERVAL);
            self.wait_and_observe(&watchdog, limit, step)?;
            self.check_failure(step, device, stop)?;
            self.check_device_completes(device)?;
        }
        self.cpu = self.cpu_times();
        let mut meter = StepMeter::for_load(&self.load);
        let ticks = self.move_accounts(&mut meter);
        meter.close_interval([], Nanos::ZERO, self.ramp, false);
        let unmeasured = |stream: StreamTally| {
            let (ios, bytes) = (stream.tally.ios, stream.tally.bytes);
            UnmeasuredIos { op: stream.op, ios, bytes }
        };
        self.unmeasured.extend(meter.finish().0.into_iter().map(unmeasured));
        self.ramp = Nanos::ZERO;
        (self.step_start, self.interval_start) = (ticks, ticks);
        // A stalled ramp did not bring the device into the required state, so its stalls
        // count. The time without completions continues, but only its measured part is a silence.
        for stall in &mut self.stalls {
            stall.at = Nanos::ZERO;
        }
        self.silence.restart();
        for part in &self.parts {
            if let Some(time) = part.remaining_time {
                part.shared.set_deadline(ticks.saturating_add(clock.ticks_in(time.0)));
            }
        }
        Ok(())
    }

    /// Checks that the load runs and no stop was requested. Returns [`Halt::Stopped`] after a
    /// request, [`Halt::DeviceGone`] or [`Halt::Faults`] if I/Os failed, and [`Halt::Refused`]
    /// where the device is not to blame: a script that cannot be read, a kernel interface that
    /// fails, or a defect of this program.
    fn check_failure(&self, step: &Step, device: &str, stop: &StopSignal) -> Result<(), Halt> {
        if stop.is_requested() {
            return Err(Halt::Stopped);
        }
        let failure_of = |part: &RunningPart| part.shared.state().failure.clone();
        let Some(failure) = self.parts.iter().find_map(failure_of) else { return Ok(()) };
        let place = &step.place;
        Err(match failure {
            LoadFailure::Script(error) => Halt::Refused(format!("{place}: {error}")),
            LoadFailure::Gone(errno) => {
                Halt::DeviceGone { device: device.to_owned(), why: errno_text(errno) }
            }
            LoadFailure::Faults => {
                let FaultSummary { count, located } = self.take_faults();
                let first = located.first().map(|fault| describe(fault, device));
                Halt::Faults { place: place.to_string(), count, first: first.unwrap_or_default() }
            }
            LoadFailure::Broken(errno) => Halt::Refused(format!(
                "{place}: the kernel accepts no more I/Os for {device}: {}",
                errno_text(errno)
            )),
            LoadFailure::Died => Halt::Refused(format!(
                "{place}: a thread that did I/O on {device} ended unexpectedly. This is a bug in \
                 Steadfast; please report it with this message"
            )),
        })
    }

    /// Returns the ticks at which the current interval should end, on the step's grid of
    /// intervals.
    fn boundary(&self, step: &Step) -> u64 {
        let interval = self.clock.ticks_in(step.interval().0);
        let elapsed = self.interval_start.saturating_sub(self.step_start);
        self.step_start + (elapsed + interval / 2) / interval * interval + interval
    }

    fn cut_at(&self, step: &Step) -> Option<u64> {
        step.cut.map(|cut| self.step_start.saturating_add(self.clock.ticks_in(cut.0)))
    }

    /// Returns true if a cut or the end follows the end of the interval so closely that the
    /// interval is extended to it.
    fn ends_soon(&self, step: &Step) -> bool {
        let end = self.cut_at(step).unwrap_or(u64::MAX).min(self.deadline());
        end < self.boundary(step).saturating_add(self.clock.ticks_in(MERGE_INTERVAL_NS))
    }

    /// Returns the time until the accounting thread has something to do.
    fn wait_limit(&self, step: &Step) -> Duration {
        let clock = self.clock;
        let now = clock.ticks();
        if now >= self.deadline() {
            return POLL_INTERVAL;
        }
        let next = self.cut_at(step).unwrap_or(u64::MAX).min(self.boundary(step));
        Duration::from_nanos(clock.nanos(next.saturating_sub(now))).min(POLL_INTERVAL)
    }

    /// Closes the current interval and returns it, or `None` if it is empty. If the load
    /// `is_over`, the interval ends at the deadline or at the last completion before it.
    fn close_interval<'m>(
        &mut self,
        meter: &'m mut StepMeter,
        step: &Step,
        is_over: bool,
    ) -> Option<&'m Interval> {
        let mut ended = self.move_accounts(meter);
        if is_over {
            let last = self.parts.iter().map(|part| part.shared.ended_at()).max();
            ended = last.unwrap_or_default().max(self.interval_start);
        }
        if let Some(script) = &mut self.script {
            script.mark();
        }
        let step_time = |tick: u64| Nanos(self.clock.nanos(tick.saturating_sub(self.step_start)));
        let (begin, end) = (step_time(self.interval_start), step_time(ended));
        self.interval_start = ended;
        let partial = is_partial(end.saturating_sub(begin), step.interval());
        let is_empty = end <= begin && !meter.has_open_ios();
        (!is_empty).then(|| meter.close_interval([], begin, end, partial))
    }

    /// Returns the faults of all parts since the last call, in order of time.
    fn take_faults(&self) -> FaultSummary {
        let mut all = FaultSummary::default();
        for part in &self.parts {
            let faults = part.shared.take_faults();
            all.count += faults.count;
            all.located.extend(faults.located);
        }
        all.located.sort_by_key(|fault| fault.at);
        all.located.truncate(LOCATED_FAULTS_MAX);
        all
    }

    /// Returns the measured time of each part since the step began; empty for a load of one part.
    fn measured_parts(&self, elapsed: Nanos) -> Vec<LoadPart> {
        let load_part = |part: &RunningPart| {
            let nanos = |begin: u64, end: u64| Nanos(self.clock.nanos(end.saturating_sub(begin)));
            let begin = part.begins.max(self.step_start);
            let mut part_elapsed = elapsed.saturating_sub(nanos(self.step_start, begin));
            if part.shared.all_ended() {
                part_elapsed = part_elapsed.min(nanos(begin, part.shared.ended_at()));
            }
            let streams = u32::try_from(part.tallies).unwrap_or(u32::MAX);
            LoadPart { streams, elapsed: part_elapsed }
        };
        match self.load {
            Load::Together(_) => self.parts.iter().map(load_part).collect(),
            _ => Vec::new(),
        }
    }

    fn cursors(&self) -> BTreeMap<String, Bytes> {
        let cursors = self.parts.iter().map(RunningPart::cursors);
        match self.load {
            Load::Together(_) => {
                cursors.enumerate().flat_map(|(number, part)| part_cursors(number, part)).collect()
            }
            _ => cursors.flatten().collect(),
        }
    }

    /// Builds the measurement; the next one begins at the end of its last interval.
    fn conclude(&mut self, mut meter: StepMeter, complete: bool) -> Measurement {
        let clock = self.clock;
        let begin = self.step_start;
        let faults = self.take_faults();
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
            Some(script) => {
                let mut played = meter.finish_script();
                let replay = script.replay_result(&mut played, self.interval_start);
                (played.streams, played.intervals, Some(Box::new(replay)))
            }
        };
        let mut measurement = Measurement {
            began_unix_ms: self.wall_clock.unix_ms_at(begin, clock),
            elapsed,
            complete,
            streams,
            writes_alone,
            unmeasured: self.take_unmeasured(),
            outstanding: self.abandoned,
            stalls: std::mem::take(&mut self.stalls),
            start_error,
            silences: self.silence.take(Nanos(clock.nanos(begin))),
            intervals,
            threads,
            parts: self.measured_parts(elapsed),
            cursors: self.cursors(),
            seed: self.parts.first().and_then(|part| part.seed),
            cpu: Some(CpuTime {
                user: Nanos(used.iter().map(|thread| thread.user).sum()),
                system: Nanos(used.iter().map(|thread| thread.system).sum()),
            }),
            fault_count: faults.count,
            faults: faults.located.iter().map(located).collect(),
            verification: self.verification(),
            replay,
            common_start: self.common_start.take(),
            ..Measurement::default()
        };
        measurement.sensed.busiest_thread = busiest_thread(&used, elapsed);
        self.step_start = self.interval_start;
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
        by_operation(&std::mem::take(&mut self.unmeasured))
    }

    /// Ends the load: no more I/Os are issued, and outstanding ones are waited for, at most
    /// `timeout` and only briefly after a stop. Returns threads that still wait.
    pub(super) fn finish(mut self, timeout: Duration, stop: &StopSignal) -> Vec<StuckLoad> {
        for part in &self.parts {
            part.shared.finish();
        }
        let begun = Instant::now();
        while !self.all_ended() {
            let remaining = timeout.saturating_sub(begun.elapsed());
            let is_stopped = stop.is_requested() && begun.elapsed() > ABORT_TIMEOUT;
            if remaining.is_zero() || is_stopped {
                return self.into_stuck();
            }
            self.wait(remaining.min(POLL_INTERVAL));
        }
        self.join_threads();
        Vec::new()
    }

    fn join_threads(&mut self) {
        for part in &mut self.parts {
            part.join();
        }
    }

    /// Releases a complete load. Returns threads that still wait for I/Os.
    pub(super) fn into_stuck(self) -> Vec<StuckLoad> {
        let stuck = self.parts.into_iter().filter(|part| !part.threads.is_empty());
        stuck.map(|part| StuckLoad { shared: part.shared, threads: part.threads }).collect()
    }

    /// Ends a load whose step has failed or was stopped. Returns threads that still wait.
    pub(super) fn abort(self) -> Vec<StuckLoad> {
        self.finish(ABORT_TIMEOUT, &StopSignal::default())
    }
}

/// Threads of an aborted or abandoned load with I/Os stuck in the kernel. They own all memory that
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

    pub(super) fn progress(&self) -> u64 {
        self.shared.progress()
    }
}

/// Returns the processor time of the busiest thread as a share of the measured time. It is near 1
/// if a thread never waits: the device completes faster than the thread submits, or does its work
/// inside the submitting system calls (zram, a file in memory). A paced load spins shortly before
/// its I/Os are due, so part of its share is not work.
fn busiest_thread(used: &[ThreadCpu], elapsed: Nanos) -> Option<f64> {
    let busiest = used.iter().map(|thread| thread.user + thread.system).max()?;
    (elapsed > Nanos::ZERO).then(|| (busiest as f64 / elapsed.0 as f64).min(1.0))
}

/// Returns the tick at which a script starts, `now` being the current one: its clock counts
/// nanoseconds. Returns [`Halt::Refused`] if the agreed start has passed.
fn script_start(agreed_start: Option<Nanos>, now: u64) -> Result<u64, Halt> {
    let Some(agreed) = agreed_start else { return Ok(now.saturating_add(SCRIPT_START_DELAY_NS)) };
    match now.checked_sub(agreed.0) {
        None => Ok(agreed.0),
        Some(late) => Err(Halt::Refused(format!(
            "the script's agreed start passed {} before everything was ready; agree on a later \
             start",
            Nanos(late)
        ))),
    }
}

fn errno_text(errno: i32) -> String {
    io::Error::from_raw_os_error(errno).to_string()
}

fn describe(fault: &LocatedFault, device: &str) -> String {
    let op = fault.op.name();
    let why = match fault.errno {
        0 => "transferred fewer bytes than requested".to_owned(),
        errno => errno_text(errno),
    };
    let advice = match (fault.errno, fault.op) {
        (libc::EOPNOTSUPP, Op::Discard) => {
            "; the device cannot discard blocks: remove discards from the load (of a replay: \
             --leave-out discard)"
        }
        (libc::EOPNOTSUPP, Op::Write) => {
            "; the file system may not support FUA writes: remove FUA from the load (of a replay: \
             --leave-out fua)"
        }
        (libc::EINVAL, _) => {
            "; use transfer sizes and alignments that are multiples of its sectors"
        }
        (libc::ENOSPC, _) => "; free some space, or use a smaller file",
        (libc::EIO, _) => "; see the kernel log (dmesg) for the device's own error",
        // The block layer's error number for a medium error reported by the drive.
        (libc::ENODATA, _) => {
            "; the drive reports a medium error: see its own log (smartctl -x) and dmesg"
        }
        (0, _) => "; the device may be smaller than it reports",
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
    fn a_clock_that_restarts_voids_the_step() {
        let clock = Clock::monotonic();
        let second = |n: u64| n * Nanos::SECOND.0;
        let limit = POLL_INTERVAL;
        let place = StepPlace::new("rounds", 1, 2, "RND 4K R");
        let check = |begun, woken| FinishedWait { limit, begun, woken }.check_clock(clock, &place);
        assert_eq!(check(second(100), second(101)), Ok(()));
        assert_eq!(check(second(100), second(99)), Ok(()), "processors differ");
        let reset = Halt::ClockReset { place: place.to_string() };
        assert_eq!(check(second(100), second(99) - 1), Err(reset.clone()));
        assert_eq!(check(second(100), 7), Err(reset));
    }

    /// A wait counts with its length: it ends early whenever a thread ends. One that ends as late
    /// as a stall counts with its limit.
    #[test]
    fn a_wait_counts_with_its_length_unless_the_program_was_stalled() {
        let clock = Clock::monotonic();
        let counted = |millis: u64| {
            let woken = 5 + millis * 1_000_000;
            FinishedWait { limit: POLL_INTERVAL, begun: 5, woken }.counted(clock)
        };
        let expected = [(0, 0), (3, 3), (50, 50), (99, 99), (100, 50), (90_000, 50)];
        for (waited, as_counted) in expected {
            assert_eq!(counted(waited), Duration::from_millis(as_counted), "{waited}");
        }
        let back = FinishedWait { limit: POLL_INTERVAL, begun: 5, woken: 4 };
        assert_eq!(back.counted(clock), Duration::ZERO);
    }

    #[test]
    fn a_script_starts_when_agreed_or_soon() {
        assert_eq!(script_start(None, 1_000), Ok(1_000 + SCRIPT_START_DELAY_NS));
        assert_eq!(script_start(Some(Nanos(1_001)), 1_000), Ok(1_001));
        assert!(matches!(script_start(Some(Nanos(1_000)), 1_000), Err(Halt::Refused(_))));
    }

    #[test]
    fn busiest_thread_is_a_share_of_measured_time() {
        let thread = |user, system| ThreadCpu { user, system };
        let used = [thread(100, 200), thread(250, 500), thread(0, 0)];
        assert_eq!(busiest_thread(&used, Nanos(1000)), Some(0.75));
        assert_eq!(busiest_thread(&used, Nanos(500)), Some(1.0));
        assert_eq!(busiest_thread(&used, Nanos::ZERO), None);
        assert_eq!(busiest_thread(&[], Nanos(1000)), None);
    }
}
