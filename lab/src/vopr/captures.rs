//! Captures that write into the simulated world.
//!
//! The recorder's own loop (`recorder::record_from`) records a simulated source of I/Os on a
//! simulated host: files fail, the process is killed, the power is lost, the wall clock jumps, the
//! process is stopped for seconds, buffers overflow, and a user marks, ends and deletes. Afterwards
//! the files are read with the production reader and compared with what the source yielded.

use crate::dice::Dice;
use crate::directory::SimulatedDirectory;
use crate::disk::{ROOT, error};
use crate::fault::{CallKind, InjectedFault, PlannedFault, PlantedBug};
use crate::memory;
use crate::scenario::choose_call;
use crate::shrink::{Shrink, earlier_faults, fewer_faults};
use crate::world::{Killed, Process, TrialResult, World, WorldState};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, Cursor};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use steadfast_analysis::Captured;
use steadfast_domain::io_event::{
    CapturedDevice, Mark, RESPONSE_UNKNOWN, StreamInStep, TimeZoneChange,
};
use steadfast_domain::{Bytes, CaptureConditions, IoEvent, IoOp, Layer, Nanos, TimeZone};
use steadfast_host::ProcessorTimes;
use steadfast_recorder::{
    CaptureCounters, CaptureError, CaptureResult, Output, RecordError, Recording, RecordingEvent,
    RecordingHost, RecordingProgress, RecordingSource, ReplacedDisk, StepParts, record_from,
};
use steadfast_tracefile::{Batch, Fields, Trace, TraceError};

const FIRST: &str = "t.parquet";
/// Content of a file that another program put there.
const FOREIGN: &[u8] = b"not a trace";
/// Time of the host's clock when the world begins.
const BOOT_NS: u64 = 77_000_000_000;
const SECOND: u64 = 1_000_000_000;
const MILLISECOND: u64 = 1_000_000;
/// Longest time for which a process is stopped.
const STOP_MAX_NS: u64 = 3 * SECOND;
/// Longest time for which captured I/Os are only in memory, with a poll before and after.
const IN_MEMORY_NS: u64 = 5 * SECOND + 2 * STOP_MAX_NS;

/// The capture of a seed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaptureScenario {
    seed: u64,
    duration: Option<Nanos>,
    /// Time of the host at which the user ends the capture.
    stopped_ns: u64,
    step: Option<Nanos>,
    rotate_time: Option<Nanos>,
    rotate_size: Option<Bytes>,
    gap_ns: u64,
    /// Number of I/Os that the buffer holds.
    buffer: usize,
    /// Names that another program used before.
    taken_names: Vec<&'static str>,
    /// Time of the host at which the user deletes the newest file.
    deleted_ns: Option<u64>,
    /// Times of the host at which the user sets marks.
    marked_ns: Vec<u64>,
    faults: Vec<PlannedFault>,
    /// True if the power is lost after the process has ended.
    loses_power: bool,
}

impl CaptureScenario {
    fn new(seed: u64, dice: &mut Dice) -> CaptureScenario {
        let lasts = SECOND + dice.below(24 * SECOND);
        let any_time = |dice: &mut Dice| BOOT_NS + dice.below(lasts + SECOND);
        let marks = dice.below(4);
        CaptureScenario {
            seed,
            duration: dice.percent(50).then_some(Nanos(lasts)),
            stopped_ns: BOOT_NS + lasts,
            step: dice.percent(30).then_some(Nanos(SECOND / 4)),
            rotate_time: dice.percent(40).then(|| Nanos(SECOND + dice.below(8 * SECOND))),
            rotate_size: dice.percent(20).then(|| Bytes(6000 + dice.below(20_000))),
            gap_ns: *dice.choose(&[5, 20, 20, 100, 1500]) * MILLISECOND,
            buffer: *dice.choose(&[3, 1000, 1000]),
            taken_names: match dice.below(10) {
                0 => vec![FIRST],
                1 | 2 => vec!["t.2.parquet"],
                3 => vec!["t.2.parquet", "t.3.parquet"],
                _ => Vec::new(),
            },
            deleted_ns: dice.percent(10).then(|| any_time(dice)),
            marked_ns: (0..marks).map(|_| any_time(dice)).collect(),
            faults: Vec::new(),
            loses_power: dice.percent(40),
        }
    }

    /// Adds faults to a capture that makes this many calls.
    fn add_faults(&mut self, dice: &mut Dice, calls: u64) {
        for _ in 0..dice.below(4) {
            self.faults.push(PlannedFault { call: choose_call(dice, calls), fault: fault(dice) });
        }
    }

    /// Returns the number of faults.
    #[cfg(test)]
    pub fn faults(&self) -> usize {
        self.faults.len()
    }

    fn recording(&self) -> Recording {
        Recording {
            layers: vec![Layer::Block],
            duration: self.duration,
            step: self.step,
            commands: true,
            output: Output {
                path: FIRST.into(),
                rotate_size: self.rotate_size,
                rotate_time: self.rotate_time,
                ..Output::default()
            },
            software: "steadfast 0".into(),
            ..Recording::default()
        }
    }
}

fn fault(dice: &mut Dice) -> InjectedFault {
    use InjectedFault::{
        ClockJump, Error, Full, Interrupted, Kill, LostSync, NoSpace, PowerLoss, Short,
    };
    let jump = ClockJump(dice.below(7_200_000) as i64 - 3_600_000);
    let all = [
        Error, Full, Interrupted, Kill, Kill, LostSync, NoSpace, NoSpace, PowerLoss, Short, jump,
        jump,
    ];
    *dice.choose(&all)
}

/// True history of a simulated capture, against which its files are judged.
#[derive(Debug, Default)]
struct CaptureHistory {
    now_ns: u64,
    began_ns: u64,
    /// I/Os that the source yielded, by their offset, with the time of the host.
    taken: BTreeMap<u64, (IoEvent, u64)>,
    /// I/Os that did not fit into the buffer.
    lost: u64,
    /// Runs of the probes that the kernel skipped.
    skipped: u64,
    /// True if a call of the probes has failed.
    source_failed: bool,
    /// Marks that the recorder has received.
    marks: Vec<Mark>,
    /// True if the last marks could not be read.
    marks_failed: bool,
    deleted: Option<String>,
    /// Files that the recorder reported as written.
    written: u64,
}

type SharedHistory = Rc<RefCell<CaptureHistory>>;

/// A source of I/Os, each with an offset of its own.
struct SimulatedProbes {
    process: Process,
    dice: Dice,
    history: SharedHistory,
    gap_ns: u64,
    buffer: usize,
    step_ns: Option<u64>,
    next_issue_ns: u64,
    next_offset: u64,
    outstanding: Vec<IoEvent>,
    ended_ns: Option<u64>,
}

impl SimulatedProbes {
    fn completed(&mut self) -> Vec<IoEvent> {
        let now_ns = self.lasted_ns();
        while self.next_issue_ns <= now_ns {
            self.outstanding.push(IoEvent {
                issued_ns: self.next_issue_ns,
                response_ns: 50_000 + self.dice.below(30 * MILLISECOND),
                offset: self.next_offset,
                bytes: 4096,
                pid: 7,
                op: if self.dice.percent(50) { IoOp::Read } else { IoOp::Write },
                ..IoEvent::default()
            });
            self.next_offset += 4096;
            self.next_issue_ns += 1 + self.dice.below(2 * self.gap_ns);
        }
        let is_over = |io: &mut IoEvent| io.issued_ns + io.response_ns <= now_ns;
        let mut all: Vec<IoEvent> = self.outstanding.extract_if(.., is_over).collect();
        let lost = all.len().saturating_sub(self.buffer);
        all.truncate(self.buffer);
        self.history.borrow_mut().lost += lost as u64;
        all
    }

    fn call(&self, what: &'static str) -> Result<(), CaptureError> {
        let call = |state: &mut WorldState, fault| (fault, state.disk.bug);
        let (fault, bug) = self.process.call(CallKind::Take, &|| what.to_owned(), call);
        if fault != Some(InjectedFault::Error) {
            return Ok(());
        }
        self.history.borrow_mut().source_failed = true;
        if bug == Some(PlantedBug::IgnoredSourceError) {
            return Ok(());
        }
        Err(CaptureError::new("the probes failed", "restart"))
    }

    /// Takes the completed I/Os from the probes. If that fails, they are lost.
    fn take_completed(&mut self) -> Result<Vec<IoEvent>, CaptureError> {
        let called = self.call("I/Os");
        let completed = self.completed();
        self.yielded(&completed);
        called.map(|()| completed)
    }

    fn yielded(&self, events: &[IoEvent]) {
        let mut history = self.history.borrow_mut();
        let now_ns = history.now_ns;
        history.taken.extend(events.iter().map(|event| (event.offset, (*event, now_ns))));
    }
}

impl RecordingSource for SimulatedProbes {
    fn describe(&self) -> String {
        "simulation".to_owned()
    }

    fn remarks(&self) -> &[String] {
        &[]
    }

    fn lasted_ns(&self) -> u64 {
        let history = self.history.borrow();
        self.ended_ns.unwrap_or(history.now_ns) - history.began_ns
    }

    fn fullness(&self) -> Option<f64> {
        Some(self.history.borrow().taken.len() as f64 % 8.0 / 8.0)
    }

    fn take(&mut self, into: &mut Vec<IoEvent>) -> Result<(), CaptureError> {
        into.extend(self.take_completed()?);
        Ok(())
    }

    fn end(&mut self, into: &mut Vec<IoEvent>) -> Result<(), CaptureError> {
        self.ended_ns = Some(self.history.borrow().now_ns);
        self.call("end")?;
        if self.step_ns.is_none() {
            into.extend(self.take_completed()?);
            let unfinished = std::mem::take(&mut self.outstanding).into_iter();
            let unfinished = unfinished.map(|io| IoEvent { response_ns: RESPONSE_UNKNOWN, ..io });
            let unfinished: Vec<IoEvent> = unfinished.collect();
            self.yielded(&unfinished);
            into.extend(unfinished);
        }
        Ok(())
    }

    fn take_steps(&mut self, into: &mut StepParts) -> Result<(), CaptureError> {
        into.streams.extend(self.take_completed()?.iter().map(|io| StreamInStep {
            step: io.issued_ns / self.step_ns.unwrap_or(1),
            op: io.op,
            bytes: io.bytes,
            pid: io.pid,
            ios: 1,
            ..StreamInStep::default()
        }));
        Ok(())
    }

    fn take_replaced(&mut self) -> Vec<ReplacedDisk> {
        Vec::new()
    }

    fn count(&mut self, _: &mut CaptureConditions) -> Result<CaptureCounters, CaptureError> {
        self.call("counters")?;
        let mut history = self.history.borrow_mut();
        history.skipped += self.dice.below(3);
        let (lost, skipped) = (history.lost, history.skipped);
        Ok(CaptureCounters { lost, skipped, ..CaptureCounters::default() })
    }
}

/// The host of a simulated capture, and its user.
struct SimulatedCaptureHost<'s> {
    process: Process,
    dice: Dice,
    history: SharedHistory,
    scenario: &'s CaptureScenario,
    /// Number of the scenario's marks that were given to the recorder, in the order of time.
    marks: Vec<u64>,
}

impl SimulatedCaptureHost<'_> {
    fn delete_newest(&self) {
        let mut state = self.process.world.state();
        let foreign = &self.scenario.taken_names;
        let names = state.disk.names(ROOT).into_iter();
        let part = |name: &String| if name == FIRST { Some(1) } else { part_of(name) };
        let ours = names.filter(|name| !foreign.contains(&name.as_str()));
        if let Some(newest) = ours.filter(|name| part(name).is_some()).max_by_key(part) {
            state.log(|| format!("       the user deletes {newest}"));
            self.history.borrow_mut().deleted =
                state.disk.remove(ROOT, &newest).is_ok().then_some(newest);
        }
    }
}

/// Returns the number in `t.NUMBER.parquet`.
fn part_of(name: &str) -> Option<u32> {
    name.strip_prefix("t.")?.strip_suffix(".parquet")?.parse().ok()
}

impl RecordingHost for SimulatedCaptureHost<'_> {
    fn monotonic_ns(&self) -> u64 {
        self.history.borrow().now_ns
    }

    fn unix_ms(&self) -> u64 {
        let now_ms = self.history.borrow().now_ns / MILLISECOND;
        now_ms.saturating_add_signed(100_000_000 + self.process.world.state().clock_shift)
    }

    fn sleep(&mut self, time: Duration) {
        self.process.call(CallKind::Idle, &|| format!("{time:?}"), |_, _| ());
        let stopped = if self.dice.percent(1) { self.dice.below(STOP_MAX_NS) } else { 0 };
        let mut history = self.history.borrow_mut();
        history.now_ns += time.as_nanos() as u64 + 10_000 + stopped;
        let is_time = self.scenario.deleted_ns.is_some_and(|at| at <= history.now_ns);
        let is_first = history.deleted.is_none();
        drop(history);
        if is_time && is_first {
            self.delete_newest();
        }
    }

    fn is_stopped(&self) -> bool {
        self.scenario.duration.is_none() && self.monotonic_ns() >= self.scenario.stopped_ns
    }

    fn random_id(&self) -> String {
        "capture".to_owned()
    }

    fn zone(&self, _: u64) -> Option<TimeZone> {
        None
    }

    fn zone_change(&self, _: u64, _: u64) -> Option<TimeZoneChange> {
        None
    }

    fn own_cpu_time_ns(&self) -> u64 {
        0
    }

    fn processor_times(&self) -> Option<ProcessorTimes> {
        None
    }

    fn marks(&mut self, began_ns: u64) -> io::Result<Vec<Mark>> {
        let now_ns = self.monotonic_ns();
        let is_due = |at: &u64| *at <= now_ns;
        if !self.marks.iter().any(is_due) {
            return Ok(Vec::new());
        }
        self.process.call(CallKind::Read, &|| "marks".to_owned(), |_, fault| {
            let fails = fault == Some(InjectedFault::Error);
            if fails { Err(error(libc::EIO)) } else { Ok(()) }
        })?;
        let due: Vec<u64> = self.marks.extract_if(.., |at| is_due(at)).collect();
        let named = |at: &u64| format!("mark at {at}");
        let begun_ns = self.history.borrow().began_ns;
        let real = due.iter().map(|at| Mark { at_ns: at - begun_ns, name: named(at) });
        self.history.borrow_mut().marks.extend(real);
        Ok(due.iter().map(|at| Mark { at_ns: at - began_ns, name: named(at) }).collect())
    }

    fn last_marks(&mut self, began_ns: u64) -> io::Result<Vec<Mark>> {
        let marks = self.marks(began_ns);
        self.history.borrow_mut().marks_failed = marks.is_err();
        marks
    }
}

/// Counts the files that the recorder reports.
struct FileCount(SharedHistory);

impl RecordingProgress for FileCount {
    fn report(&mut self, event: &RecordingEvent<'_>) {
        if matches!(event, RecordingEvent::Written(_)) {
            self.0.borrow_mut().written += 1;
        }
    }
}

enum CaptureEnd {
    Recorded(Box<CaptureResult>),
    Refused(RecordError),
    /// Killed, or without power.
    Died,
    Panicked(String),
}

impl Shrink for CaptureScenario {
    fn smaller(&self) -> Vec<CaptureScenario> {
        let with = |faults| CaptureScenario { faults, ..self.clone() };
        let mut smaller: Vec<_> = fewer_faults(&self.faults).into_iter().map(with).collect();
        smaller.extend([
            CaptureScenario { loses_power: false, ..self.clone() },
            CaptureScenario { deleted_ns: None, ..self.clone() },
            CaptureScenario { marked_ns: Vec::new(), ..self.clone() },
            CaptureScenario { taken_names: Vec::new(), ..self.clone() },
            CaptureScenario { rotate_time: None, ..self.clone() },
            CaptureScenario { rotate_size: None, ..self.clone() },
            CaptureScenario { step: None, ..self.clone() },
        ]);
        smaller.retain(|simpler| simpler != self);
        if self.stopped_ns > BOOT_NS + 2 * SECOND {
            let lasts = (self.stopped_ns - BOOT_NS) / 2;
            let duration = self.duration.map(|_| Nanos(lasts));
            let stopped_ns = BOOT_NS + lasts;
            smaller.push(CaptureScenario { duration, stopped_ns, ..self.clone() });
        }
        smaller.extend(earlier_faults(&self.faults).into_iter().map(with));
        smaller
    }
}

/// Plays the capture of a seed without faults, which must succeed, and then with its faults. Returns
/// the scenario that was played last, and its result.
pub fn play_seed(seed: u64, bug: Option<PlantedBug>) -> (CaptureScenario, TrialResult) {
    let mut dice = Dice::new(seed ^ 0x6361_7074_7572_6573);
    let mut scenario = CaptureScenario::new(seed, &mut dice);
    let undisturbed = capture(&scenario, bug);
    let result = undisturbed.result(&scenario);
    if result.violation.is_some() {
        return (scenario, result);
    }
    scenario.add_faults(&mut dice, undisturbed.calls);
    let result = play(&scenario, bug);
    (scenario, result)
}

/// Plays a scenario and returns what came of it.
pub fn play(scenario: &CaptureScenario, bug: Option<PlantedBug>) -> TrialResult {
    capture(scenario, bug).result(scenario)
}

struct EndedCapture {
    world: Arc<World>,
    history: SharedHistory,
    end: CaptureEnd,
    calls: u64,
}

fn capture(scenario: &CaptureScenario, bug: Option<PlantedBug>) -> EndedCapture {
    let world = World::new(scenario.seed, bug, true);
    world.state().log(|| format!("-- {scenario:?}"));
    put_foreign_files(&world, scenario);
    let history: SharedHistory = Rc::default();
    history.borrow_mut().began_ns = BOOT_NS;
    history.borrow_mut().now_ns = BOOT_NS + 300_000;
    let end = live(&world, scenario, &history, &mut Dice::new(scenario.seed));
    let calls = world.calls();
    if scenario.loses_power {
        world.state().log(|| "-- the power is lost".to_owned());
        world.state().lose_power();
    }
    EndedCapture { world, history, end, calls }
}

impl EndedCapture {
    fn result(&self, scenario: &CaptureScenario) -> TrialResult {
        let EndedCapture { world, history, end, .. } = self;
        world.require(check(world, scenario, &history.borrow(), end));
        let is_prevented = scenario.deleted_ns.is_some() || scenario.taken_names.contains(&FIRST);
        let must_succeed = scenario.faults.is_empty();
        if must_succeed && !is_prevented && !matches!(end, CaptureEnd::Recorded(_)) {
            world.violate(|| "an undisturbed capture failed".to_owned());
        }
        world.take_result()
    }
}

fn put_foreign_files(world: &Arc<World>, scenario: &CaptureScenario) {
    let mut state = world.state();
    for name in &scenario.taken_names {
        if let Ok(file) = state.disk.create(ROOT, name, false) {
            // A new disk has room.
            let _ = state.disk.append(file, FOREIGN);
            state.disk.store_all(ROOT, file);
        }
    }
}

fn live(
    world: &Arc<World>,
    scenario: &CaptureScenario,
    history: &SharedHistory,
    dice: &mut Dice,
) -> CaptureEnd {
    let process = &world.start(1, &scenario.faults)[0];
    let recording = scenario.recording();
    let conditions = CaptureConditions {
        devices: vec![CapturedDevice { name: "x".into(), ..CapturedDevice::default() }],
        layers: vec![Layer::Block],
        step_ns: scenario.step.map(|step| step.0),
        ..CaptureConditions::default()
    };
    let mut source = SimulatedProbes {
        process: process.clone(),
        dice: Dice::new(dice.below(u64::MAX)),
        history: Rc::clone(history),
        gap_ns: scenario.gap_ns,
        buffer: scenario.buffer,
        step_ns: scenario.step.map(|step| step.0),
        next_issue_ns: 0,
        next_offset: 0,
        outstanding: Vec::new(),
        ended_ns: None,
    };
    let mut host = SimulatedCaptureHost {
        process: process.clone(),
        dice: Dice::new(dice.below(u64::MAX)),
        history: Rc::clone(history),
        scenario,
        marks: scenario.marked_ns.clone(),
    };
    let directory = SimulatedDirectory::root(process);
    let mut progress = FileCount(Rc::clone(history));
    memory::restart();
    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let (source, host) = (&mut source, &mut host);
        record_from(&recording, conditions, source, host, &directory, &mut progress)
    }));
    process.end();
    let end = match ended {
        Ok(Ok(recorded)) => CaptureEnd::Recorded(Box::new(recorded)),
        Ok(Err(error)) => CaptureEnd::Refused(error),
        Err(payload) if payload.is::<Killed>() => CaptureEnd::Died,
        Err(payload) => {
            CaptureEnd::Panicked(format!("panicked: {:?}", payload.downcast_ref::<String>()))
        }
    };
    world.state().log(|| match &end {
        CaptureEnd::Recorded(recorded) => format!("       recorded {} I/Os", recorded.ios),
        CaptureEnd::Refused(error) => format!("       ended: {error}"),
        CaptureEnd::Died => "       died".to_owned(),
        CaptureEnd::Panicked(text) => text.clone(),
    });
    end
}

/// Content of all files of a capture.
#[derive(Debug, Default)]
struct FoundFiles {
    ios: BTreeMap<u64, IoEvent>,
    /// Number of I/Os, of single ones or in steps.
    count: u64,
    /// Numbers of the complete files within their capture.
    parts: Vec<u32>,
    last: Option<CaptureConditions>,
}

fn check(
    world: &Arc<World>,
    scenario: &CaptureScenario,
    history: &CaptureHistory,
    end: &CaptureEnd,
) -> Result<(), String> {
    if let CaptureEnd::Panicked(text) = end {
        return Err(text.clone());
    }
    let had_power = world.state().boots == 1;
    check_foreign_files(world, scenario)?;
    if scenario.taken_names.contains(&FIRST) {
        return match end {
            CaptureEnd::Recorded(_) => Err(format!("{FIRST} existed, and was captured into")),
            _ => Ok(()),
        };
    }
    // Complete files are durable once the recorder has said that it is done.
    let is_whole = matches!(end, CaptureEnd::Recorded(_));
    let found = read_files(world, scenario, is_whole)?;
    for (offset, event) in &found.ios {
        match history.taken.get(offset) {
            Some((taken, _)) if taken == event => {}
            taken => return Err(format!("{event:?} was recorded, and was {taken:?}")),
        }
    }
    if found.count > history.taken.len() as u64 {
        return Err(format!("{} I/Os of {} in steps", found.count, history.taken.len()));
    }
    if let Some(last) = &found.last
        && (last.lost > history.lost
            || last.skipped > history.skipped
            || !last.marks.iter().all(|one| history.marks.contains(one)))
    {
        return Err(format!("{history:?} in {last:?}"));
    }
    if let CaptureEnd::Recorded(recorded) = end {
        return check_recorded(history, recorded, &found);
    }
    if had_power && history.deleted.is_none() && scenario.step.is_none() {
        let until_ns = history.now_ns.saturating_sub(IN_MEMORY_NS);
        let mut early = history.taken.iter().filter(|(_, (_, at))| *at < until_ns);
        if let Some((_, lost)) = early.find(|(offset, _)| !found.ios.contains_key(offset)) {
            return Err(format!("at {}, this was still not in a file: {lost:?}", history.now_ns));
        }
    }
    Ok(())
}

/// Checks a capture that was reported as complete.
fn check_recorded(
    history: &CaptureHistory,
    recorded: &CaptureResult,
    found: &FoundFiles,
) -> Result<(), String> {
    if history.source_failed {
        return Err("the probes failed, and the capture was called complete".to_owned());
    }
    if let Some(deleted) = &history.deleted {
        // The file may have been complete.
        let part = part_of(deleted).unwrap_or(1);
        return if found.parts.iter().any(|other| *other > part) {
            Ok(())
        } else {
            Err(format!("{deleted} was deleted during the capture, which was called complete"))
        };
    }
    let all = history.taken.len() as u64;
    if (found.count, recorded.ios) != (all, all) {
        return Err(format!("{} of {all} I/Os, {} reported", found.count, recorded.ios));
    }
    let Some(last) = &found.last else { return Err("there is no file".to_owned()) };
    let counted = (history.lost, history.skipped);
    let reported = (recorded.counters.lost, recorded.counters.skipped);
    if (last.lost, last.skipped) != counted || reported != counted {
        return Err(format!("{counted:?} lost and skipped, {reported:?} reported, in {last:?}"));
    }
    if history.marks_failed == last.remarks.is_empty() {
        return Err(format!("unread marks: {}, {:?}", history.marks_failed, last.remarks));
    }
    if last.marks != history.marks {
        return Err(format!("marks: {:?}, and the file has {:?}", history.marks, last.marks));
    }
    let numbers: Vec<u32> = (1..).take(found.parts.len()).collect();
    if found.parts != numbers || history.written != numbers.len() as u64 {
        return Err(format!("files {:?}, and {} reported", found.parts, history.written));
    }
    Ok(())
}

fn check_foreign_files(world: &Arc<World>, scenario: &CaptureScenario) -> Result<(), String> {
    let state = world.state();
    state.disk.check_bystanders()?;
    for name in &scenario.taken_names {
        let file = state.disk.find(ROOT, name);
        if !file.is_ok_and(|file| state.disk.read(file, 0, usize::MAX) == FOREIGN) {
            return Err(format!("{name} belonged to another program, and was changed"));
        }
    }
    Ok(())
}

/// Reads all files of the capture, in order. Without `is_whole`, parts of them may be damaged.
fn read_files(
    world: &Arc<World>,
    scenario: &CaptureScenario,
    is_whole: bool,
) -> Result<FoundFiles, String> {
    let mut files = BTreeMap::new();
    {
        let state = world.state();
        for name in state.disk.names(ROOT) {
            let part = if name == FIRST { Some(1) } else { part_of(&name) };
            let is_ours = !scenario.taken_names.contains(&name.as_str());
            if let Some(part) = part.filter(|_| is_ours) {
                let file = state.disk.find(ROOT, &name).map_err(|error| error.to_string())?;
                files.insert(part, state.disk.read(file, 0, usize::MAX).to_vec());
            }
        }
    }
    let mut found = FoundFiles::default();
    for (number, bytes) in files {
        let read = if scenario.step.is_some() { read_sums(bytes) } else { read_ios(bytes) };
        let file = match read {
            Ok(file) => file,
            // A file without a complete row group is refused.
            Err(_) if !is_whole => continue,
            Err(error) => return Err(format!("file {number}: {error}")),
        };
        if is_whole && file.is_damaged {
            return Err(format!("file {number} is damaged"));
        }
        found.count += file.count;
        for event in file.ios {
            if found.ios.insert(event.offset, event).is_some() {
                return Err(format!("file {number}: {event:?} was recorded twice"));
            }
        }
        found.parts.extend(file.conditions.part.as_ref().map(|part| part.last));
        found.last = Some(file.conditions);
    }
    Ok(found)
}

struct FoundFile {
    conditions: CaptureConditions,
    count: u64,
    ios: Vec<IoEvent>,
    is_damaged: bool,
}

fn read_sums(bytes: Vec<u8>) -> Result<FoundFile, TraceError> {
    let file = Captured::recover(Cursor::new(bytes))?;
    Ok(FoundFile {
        conditions: file.conditions().clone(),
        count: file.ios_in_sums().unwrap_or_default(),
        ios: Vec::new(),
        is_damaged: !file.integrity().damaged.is_empty(),
    })
}

fn read_ios(bytes: Vec<u8>) -> Result<FoundFile, TraceError> {
    let trace = Trace::recover(Cursor::new(bytes))?;
    let (mut batches, mut batch) = (trace.batches(Fields::ALL), Batch::default());
    while batches.read(1 << 16, &mut batch)? > 0 {}
    Ok(FoundFile {
        conditions: trace.conditions().clone(),
        count: batch.len() as u64,
        ios: (0..batch.len()).map(|row| batch.event(row)).collect(),
        is_damaged: !trace.integrity().damaged.is_empty(),
    })
}
