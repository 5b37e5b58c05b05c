//! A load that fio carries: one or several calls of fio in turn, and the accounting of the steps
//! that cut it into pieces.
//!
//! fio counts from the start of a call and never resets. Seconds, ramps and cuts are differences
//! between its answers, which it gives on request while the load runs.

use super::counts::FioCounts;
use super::expression::{Expression, FioCallSpec};
use super::json_output::{self, FioReport};
use super::process::{FioCall, FioOutput, FioOutputEvent, FioProcess, describe_exit, fault_text};
use crate::handover::ActiveLoad;
use crate::stall::{LateWakeup, Watchdog};
use crate::stop::StopSignal;
use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};
use steadfast_domain::measurement::{Interval, Silence, Stall, UnmeasuredIos};
use steadfast_domain::step::is_partial;
use steadfast_domain::{Halt, Load, Measurement, Nanos, Step, Stimulus};
use steadfast_host::{Directory, NewFile, OverwritePolicy, ReadAccess, Target, wall_clock_unix_ms};

/// Interval between checks for a stop by a waiting accounting thread.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Time after which the first answer is requested, and again as long as nothing has been
/// measured: fio takes about a quarter of a second to start.
const FIRST_REQUEST_DELAY: Duration = Duration::from_millis(300);

/// Largest time before a boundary at which an answer still counts for it: fio counts
/// milliseconds, and a step may be shorter than requested by as much.
const BOUNDARY_TOLERANCE: Nanos = steadfast_domain::step::SHORTFALL_MAX;

/// An interval is not closed within this time before the end of a call, when fio is about to give
/// its last answer anyway.
const CALL_END_MARGIN: Nanos = Nanos::from_millis(200);

/// Longest time that fio may run beyond its end time before the load is called off.
pub(super) const OVERRUN_MAX: Duration = Duration::from_secs(60);

/// Maximum number of lines of text stored of a load.
const TEXT_LIMIT: usize = 200;

/// The step that a load is in, and everything that a call of fio needs of its engine.
pub(super) struct FioContext<'e> {
    pub step: &'e Step,
    pub program: &'e Path,
    /// Directory for job files and answers.
    pub directory: &'e Directory,
    pub target: &'e Target,
    pub fault_limit: u64,
    pub stop: &'e StopSignal,
    /// Number of the next job file.
    pub number: &'e mut u32,
}

pub(super) struct FioLoad {
    stimulus: Stimulus,
    /// Seed in use, if it is not the stimulus's own.
    seed: Option<u64>,
    expression: Expression,
    process: Option<FioProcess>,
    part: FioCallSpec,
    name: String,
    before_call: FioCounts,
    /// Counts as of the last answer, including the finished calls.
    latest: FioCounts,
    answer: String,
    /// Times of the last answer and of the start of the call.
    answered: Instant,
    called: Instant,
    /// True if the call has completed any I/O.
    is_under_way: bool,
    /// Counts at the start of the current step's measurement.
    begin: FioCounts,
    begin_unix_ms: u64,
    /// Ramp that is still to pass.
    ramp: Nanos,
    unmeasured: Vec<UnmeasuredIos>,
    stalls: Vec<Stall>,
    /// Output of fio other than its answers.
    pub text: Vec<String>,
}

struct FioMeter {
    interval: Nanos,
    intervals: Vec<Interval>,
    /// Counts at the end of the last interval.
    closed: FioCounts,
}

enum FioWaitOutcome {
    /// Nothing relevant has happened.
    Waiting,
    CallOver,
    Counted,
}

impl ActiveLoad for FioLoad {
    fn is_of(&self, load: &Load) -> bool {
        load.stimulus() == Some(&self.stimulus)
    }
}

impl FioLoad {
    pub(super) fn new(
        expression: Expression,
        context: &mut FioContext<'_>,
    ) -> Result<FioLoad, Halt> {
        let Some(stimulus) = context.step.load.stimulus() else {
            return Err(Halt::Refused(format!(
                "{}: the step was not prepared",
                context.step.place
            )));
        };
        let now = Instant::now();
        let mut running = FioLoad {
            stimulus: stimulus.clone(),
            seed: Some(expression.seed).filter(|seed| *seed != stimulus.seed),
            part: FioCallSpec { offset: 0, length: 0, ios: None, time: None, seed: 0 },
            expression,
            process: None,
            name: String::new(),
            before_call: FioCounts::default(),
            latest: FioCounts::default(),
            answer: String::new(),
            answered: now,
            called: now,
            is_under_way: false,
            begin: FioCounts::default(),
            begin_unix_ms: wall_clock_unix_ms(),
            ramp: stimulus.ramp,
            unmeasured: Vec::new(),
            stalls: Vec::new(),
            text: Vec::new(),
        };
        running.call_next(context)?;
        Ok(running)
    }

    /// Starts the next call of fio. Returns false if the load is complete.
    fn call_next(&mut self, context: &mut FioContext<'_>) -> Result<bool, Halt> {
        let done = &self.latest;
        let Some(part) = self.expression.next_part(done.elapsed, done.ios()) else {
            return Ok(false);
        };
        self.name = format!("{:04}-{}", context.number, slug(context.step));
        *context.number += 1;
        let target = context.target.fd();
        let filename = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&target));
        let text = self.expression.job_file(&part, &filename, &context.step.place.to_string());
        store_text(context.directory, &format!("{}.fio", self.name), &text)?;
        let process = FioProcess::begin(&FioCall {
            program: context.program,
            job: &text,
            directory: context.directory,
            target,
            writable: context.target.is_writable(),
        })
        .map_err(|error| Halt::Refused(format!("cannot start fio: {error}")))?;
        self.process = Some(process);
        self.part = part;
        self.called = Instant::now();
        self.is_under_way = false;
        self.answer.clear();
        self.before_call = self.latest.clone();
        Ok(true)
    }

    /// Measures a step until the load is complete or the step is cut.
    pub(super) fn measure(
        &mut self,
        context: &mut FioContext<'_>,
        watch: &mut dyn FnMut(&Interval),
    ) -> Result<Measurement, Halt> {
        let (interval, intervals) = (context.step.interval(), Vec::new());
        let mut meter = FioMeter { interval, intervals, closed: self.begin.clone() };
        let watchdog = Watchdog::new();
        let complete = loop {
            match self.wait_for_event(context, &watchdog)? {
                FioWaitOutcome::Waiting => self.request_if_due(context.step)?,
                FioWaitOutcome::Counted => {
                    self.pass_ramp(&mut meter, context)?;
                    if self.is_cut(context.step) {
                        break false;
                    }
                    if self.elapsed() + BOUNDARY_TOLERANCE >= meter.boundary(&self.begin)
                        && !self.ends_soon()
                    {
                        watch(meter.close(&self.latest, &self.begin));
                    }
                }
                FioWaitOutcome::CallOver => {
                    self.pass_ramp(&mut meter, context)?;
                    if !self.call_next(context)? {
                        break true;
                    }
                }
            }
        };
        if self.latest != meter.closed {
            watch(meter.close(&self.latest, &self.begin));
        }
        self.store_output(context)?;
        Ok(self.conclude(meter, complete))
    }

    fn wait_for_event(
        &mut self,
        context: &mut FioContext<'_>,
        watchdog: &Watchdog,
    ) -> Result<FioWaitOutcome, Halt> {
        if context.stop.is_requested() {
            return Err(Halt::Stopped);
        }
        self.check_runtime(context.step)?;
        let Some(process) = &self.process else { return Ok(FioWaitOutcome::CallOver) };
        let (time, called) = (self.poll_timeout(context.step), self.called);
        let now = || u64::try_from(called.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let (event, late) = watchdog.observe(time, now, || process.next_output(time));
        self.note_stall(late);
        match event {
            FioOutputEvent::Nothing => Ok(FioWaitOutcome::Waiting),
            FioOutputEvent::Output(FioOutput::Text(line)) => {
                if self.text.len() < TEXT_LIMIT {
                    self.text.push(line);
                }
                Ok(FioWaitOutcome::Waiting)
            }
            FioOutputEvent::Output(FioOutput::Truncated(text)) => {
                self.answer = text;
                self.store_output(context)?;
                Ok(FioWaitOutcome::Waiting)
            }
            FioOutputEvent::Output(FioOutput::Answer(text)) => {
                self.answer = text;
                self.take_answer(context)?;
                Ok(FioWaitOutcome::Counted)
            }
            FioOutputEvent::Closed => {
                self.finish_call(context)?;
                Ok(FioWaitOutcome::CallOver)
            }
        }
    }

    /// Records a stall of this program. fio's own threads cannot be observed: they may have
    /// stalled as well, and its answers do not show it.
    fn note_stall(&mut self, late: Option<LateWakeup>) {
        let is_measured = self.ramp == Nanos::ZERO;
        if let Some(stall) = late.and_then(|late| late.stall(u64::MAX, 0..u64::MAX))
            && is_measured
        {
            self.stalls.push(Stall { at: self.elapsed(), ..stall });
        }
    }

    /// Parses the last answer and updates the counts.
    fn take_answer(&mut self, context: &mut FioContext<'_>) -> Result<FioReport, Halt> {
        let answer = match json_output::read(&self.answer, self.expression.sections) {
            Ok(answer) => answer,
            Err(why) => return Err(self.unreadable(&why, context)),
        };
        let counts = FioCounts::add(&answer, &self.before_call);
        if counts.ios() > self.before_call.ios() {
            self.is_under_way = true;
        }
        self.answered = Instant::now();
        if self.begin.elapsed == Nanos::ZERO && self.latest.elapsed == Nanos::ZERO {
            self.begin_unix_ms = wall_clock_unix_ms().saturating_sub(counts.elapsed.0 / 1_000_000);
        }
        self.latest = counts;
        let faults = self.latest.since(&self.begin).faults;
        if faults > context.fault_limit {
            return Err(self.too_many_faults(faults, context));
        }
        Ok(answer)
    }

    /// Checks how a call ended, and its last answer.
    fn finish_call(&mut self, context: &mut FioContext<'_>) -> Result<(), Halt> {
        let Some(mut process) = self.process.take() else { return Ok(()) };
        let status = process.wait_for_exit(OVERRUN_MAX).map_err(|error| lost(&error))?;
        let Some(status) = status else {
            process.end(POLL_INTERVAL);
            return Err(self.failure("closed its output but did not exit", context));
        };
        let how = describe_exit(status);
        if status.code().is_none() {
            return Err(self.failure(&how, context));
        }
        if self.answer.is_empty() || !self.answer.ends_with("\n}\n") {
            return Err(self.failure(&format!("{how} without an answer"), context));
        }
        let answer = self.take_answer(context)?;
        if let Some(section) = answer.sections.iter().find(|s| s.error != 0)
            && !status.success()
        {
            self.latest.first_error = section.error;
            let count = self.latest.since(&self.begin).faults.max(1);
            return Err(self.too_many_faults(count, context));
        }
        if !status.success() {
            return Err(self.failure(&how, context));
        }
        if let Err(why) = json_output::check_final(&answer, &self.expression.sizes) {
            return Err(self.unreadable(&why, context));
        }
        self.check_length(context)?;
        self.store_output(context)
    }

    /// Checks that a call did all that was requested, whatever its exit status.
    fn check_length(&mut self, context: &mut FioContext<'_>) -> Result<(), Halt> {
        let ran = self.latest.elapsed.saturating_sub(self.before_call.elapsed);
        let ios = self.latest.ios() - self.before_call.ios() + self.latest.faults;
        if self.part.is_done(ran, ios) {
            return Ok(());
        }
        let requested = match (self.part.time, self.part.ios) {
            (Some(time), _) => time.to_string(),
            (None, ios) => format!("{} I/Os", ios.unwrap_or_default()),
        };
        let how = format!("ended after {ran} and {ios} I/Os of {requested}");
        Err(self.failure(&how, context))
    }

    /// Requests counts when an interval, the ramp or the step should end.
    fn request_if_due(&mut self, step: &Step) -> Result<(), Halt> {
        let Some(process) = &self.process else { return Ok(()) };
        if process.has_open_request() || Instant::now() < self.next_request(step) {
            return Ok(());
        }
        process.request_counts().map_err(|error| {
            Halt::Ledger(format!("cannot create a request to fio in its directory: {error}"))
        })
    }

    /// Returns when to request the next answer.
    fn next_request(&self, step: &Step) -> Instant {
        if !self.is_under_way {
            return self.answered.max(self.called) + FIRST_REQUEST_DELAY;
        }
        let mut next = self.next_boundary(step);
        if self.ramp > Nanos::ZERO {
            next = next.min(self.begin.elapsed + self.ramp);
        } else if let Some(cut) = step.cut {
            next = next.min(self.begin.elapsed + cut);
        }
        if self.call_ends().is_some_and(|end| next + CALL_END_MARGIN > end) {
            return self.answered + OVERRUN_MAX;
        }
        self.answered + next.saturating_sub(self.latest.elapsed).to_duration()
    }

    /// Returns the end of the step's current interval, in the load's time.
    fn next_boundary(&self, step: &Step) -> Nanos {
        let (elapsed, interval) = (self.elapsed() + BOUNDARY_TOLERANCE, step.interval().0);
        self.begin.elapsed + Nanos((elapsed.0 / interval + 1) * interval)
    }

    /// Returns the time at which the current call ends, in the load's time; `None` if no time
    /// limits it.
    fn call_ends(&self) -> Option<Nanos> {
        self.part.time.map(|time| self.before_call.elapsed + time)
    }

    fn ends_soon(&self) -> bool {
        self.call_ends().is_some_and(|end| self.latest.elapsed + CALL_END_MARGIN > end)
    }

    fn elapsed(&self) -> Nanos {
        self.latest.elapsed.saturating_sub(self.begin.elapsed)
    }

    fn is_cut(&self, step: &Step) -> bool {
        let is_measuring = self.process.is_some() && self.ramp == Nanos::ZERO;
        is_measuring && step.cut.is_some_and(|cut| self.elapsed() + BOUNDARY_TOLERANCE >= cut)
    }

    fn poll_timeout(&self, step: &Step) -> Duration {
        let remaining = self.next_request(step).saturating_duration_since(Instant::now());
        remaining.clamp(Duration::from_millis(1), POLL_INTERVAL)
    }

    /// Once the ramp is over, moves its counts to the unmeasured I/Os.
    fn pass_ramp(&mut self, meter: &mut FioMeter, context: &FioContext<'_>) -> Result<(), Halt> {
        if self.ramp == Nanos::ZERO || self.elapsed() + BOUNDARY_TOLERANCE < self.ramp {
            return Ok(());
        }
        self.store_answer("ramp.json", context)?;
        self.begin_unix_ms += self.elapsed().0 / 1_000_000;
        self.unmeasured.extend(self.expression.ops.iter().map(|op| self.latest.unmeasured(*op)));
        self.unmeasured.retain(|unmeasured| unmeasured.ios > 0);
        self.ramp = Nanos::ZERO;
        self.begin = self.latest.clone();
        meter.closed = self.latest.clone();
        Ok(())
    }

    /// Checks that fio does not run longer than its time allows.
    fn check_runtime(&mut self, step: &Step) -> Result<(), Halt> {
        let Some(time) = self.part.time else { return Ok(()) };
        if self.called.elapsed() < time.to_duration() + OVERRUN_MAX {
            return Ok(());
        }
        Err(Halt::Refused(format!(
            "{}: fio did not exit within {} s after its end time; the device hangs, or fio does \
             (see {}.fio)",
            step.place,
            OVERRUN_MAX.as_secs(),
            self.name
        )))
    }

    /// Builds the measurement; the next one begins with the current counts.
    fn conclude(&mut self, meter: FioMeter, complete: bool) -> Measurement {
        let done = self.latest.since(&self.begin);
        let mut measurement = Measurement {
            began_unix_ms: self.begin_unix_ms,
            elapsed: done.elapsed,
            complete,
            streams: done.stream_tallies(&self.stimulus, &self.expression.ops),
            unmeasured: std::mem::take(&mut self.unmeasured),
            stalls: std::mem::take(&mut self.stalls),
            silences: Silence::from_intervals(&self.stimulus.pace, &meter.intervals),
            intervals: meter.intervals,
            cursors: self.expression.cursors(self.latest.ios()),
            seed: self.seed,
            cpu: Some(done.cpu()),
            fault_count: done.faults,
            ..Measurement::default()
        };
        measurement.sensed.busiest_thread = done.busiest();
        self.begin_unix_ms += done.elapsed.0 / 1_000_000;
        self.begin = self.latest.clone();
        measurement
    }

    /// Stores the answer at the end of a step or a call, and fio's other output.
    fn store_output(&self, context: &FioContext<'_>) -> Result<(), Halt> {
        self.store_answer("json", context)?;
        if self.text.is_empty() {
            return Ok(());
        }
        store_text(
            context.directory,
            &self.file("txt", context.step),
            &(self.text.join("\n") + "\n"),
        )
    }

    fn store_answer(&self, ending: &str, context: &FioContext<'_>) -> Result<(), Halt> {
        if self.answer.is_empty() {
            return Ok(());
        }
        store_text(context.directory, &self.file(ending, context.step), &self.answer)
    }

    /// Returns the name of a file next to the job file, made of the number of the call and the
    /// place of the step.
    fn file(&self, ending: &str, step: &Step) -> String {
        let number = self.name.split('-').next().unwrap_or_default();
        format!("{number}-{}.{ending}", slug(step))
    }

    /// Returns the halt for an answer that cannot be parsed or is inconsistent.
    fn unreadable(&self, why: &str, context: &FioContext<'_>) -> Halt {
        if let Err(halt) = self.store_output(context) {
            return halt;
        }
        Halt::Refused(format!(
            "{}: fio's answer ({}) is unexpected: {why}. None of it was used; use the engine \
             uring, or another version of fio",
            context.step.place,
            context.directory.path().join(self.file("json", context.step)).display()
        ))
    }

    fn failure(&self, how: &str, context: &FioContext<'_>) -> Halt {
        if let Err(halt) = self.store_output(context) {
            return halt;
        }
        let output = match self.text.first() {
            Some(line) => format!("; its output: '{}'", line.trim_start_matches("stderr: ")),
            None => String::new(),
        };
        let path = context.directory.path().join(format!("{}.fio", self.name));
        Halt::Refused(format!("{}: fio {how} ({}){output}", context.step.place, path.display()))
    }

    fn too_many_faults(&self, count: u64, context: &FioContext<'_>) -> Halt {
        if let Err(halt) = self.store_output(context) {
            return halt;
        }
        let errno = self.latest.first_error;
        let why = fault_text(errno);
        if matches!(errno, libc::ENODEV | libc::ENXIO) || context.target.has_vanished() {
            return Halt::DeviceGone { device: context.target.device().path.clone(), why };
        }
        let detail = self.text.iter().find(|line| line.contains("io_u error"));
        let detail = detail.map_or("fio does not report where", String::as_str);
        Halt::Faults {
            place: context.step.place.to_string(),
            count,
            first: format!("{why} ({detail})"),
        }
    }

    /// Ends the load. Returns the process if it hangs.
    pub(super) fn end(mut self, timeout: Duration) -> Option<FioProcess> {
        self.process.take().and_then(|process| process.end(timeout))
    }
}

impl FioMeter {
    /// Returns the time at which the current interval should end, in the step's time.
    fn boundary(&self, begin: &FioCounts) -> Nanos {
        let closed = self.closed.elapsed.saturating_sub(begin.elapsed) + CALL_END_MARGIN;
        Nanos((closed.0 / self.interval.0 + 1) * self.interval.0)
    }

    fn close(&mut self, latest: &FioCounts, begin: &FioCounts) -> &Interval {
        let part = latest.since(&self.closed);
        let step_time = |counts: &FioCounts| counts.elapsed.saturating_sub(begin.elapsed);
        let index = self.intervals.len();
        self.intervals.push(Interval {
            begin: step_time(&self.closed),
            end: step_time(latest),
            partial: is_partial(part.elapsed, self.interval),
            tallies: part.interval_tallies(),
        });
        self.closed = latest.clone();
        &self.intervals[index]
    }
}

fn lost(error: &io::Error) -> Halt {
    Halt::Refused(format!("waiting for fio failed: {error}"))
}

/// Stores a text in the directory. A step that fails after its answer was stored overwrites it.
pub(super) fn store_text(directory: &Directory, name: &str, text: &str) -> Result<(), Halt> {
    NewFile::create_in(directory, OsStr::new(name), OverwritePolicy::Overwrite, ReadAccess::Usual)
        .and_then(|file| file.write_and_persist(text.as_bytes()))
        .map_err(|error| Halt::Ledger(error.to_string()))
}

/// Returns a place as part of a file name, such as `rounds-1-3-rnd-4k-rw65`.
pub(super) fn slug(step: &Step) -> String {
    let place = &step.place;
    let text = format!("{}-{}-{}-{}", place.phase, place.round, place.point, place.label);
    let mut slug = String::new();
    for c in text.to_lowercase().chars() {
        let c = if c.is_ascii_alphanumeric() { c } else { '-' };
        if !(c == '-' && slug.ends_with('-')) {
            slug.push(c);
        }
    }
    slug.truncate(80);
    slug.trim_matches('-').to_owned()
}
