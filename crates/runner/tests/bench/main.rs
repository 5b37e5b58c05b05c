//! The live bench on a rig in memory: whole procedures, interrupted at every point.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr)]

mod cooling;
mod hidden;
mod once;
mod one_pass;
mod portrait;
mod power_cut;
mod read_back;
mod scripts;
mod verify_write;

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use steadfast_domain::measurement::StreamTally;
use steadfast_domain::purge::PurgeCommandRecord;
use steadfast_domain::record::{Check, CheckState, HostChange};
use steadfast_domain::settings::{Amendment, StartBelow};
use steadfast_domain::{
    Bytes, Caveat, Conditions, Device, EndState, Findings, Halt, Host, JournalEntry, Load,
    Measurement, Nanos, Op, Procedure, Profile, Proof, Purge, PurgeMethod, Settings, Step, Tally,
    Transport, caveats,
};
use steadfast_engine::{PreparedStep, StepRefusal, StepStart};
use steadfast_host::Examination;
use steadfast_runner::ledger::JournalLine;
use steadfast_runner::live::unrestored;
use steadfast_runner::progress::{NoProgress, ProgressSink};
use steadfast_runner::rig::{IntervalCallback, Journal, PurgeCallback};
use steadfast_runner::run::{self, RunOutcome, amendments, conduct};
use steadfast_runner::{ClockReading, HostRequests, Ledger, Rig, RunPlan};

const SETTING: &str = "queue/nomerges";

/// State of a rig that a test checks afterwards.
#[derive(Debug, Default)]
struct RigLog {
    applied: Vec<String>,
    starts: Vec<StepStart>,
    setting: String,
    purges: u32,
    /// Whether a purge sets a password while it lasts, as ATA drives require.
    needs_password: bool,
    has_password: bool,
    /// Setting that cannot be restored.
    stuck: Option<&'static str>,
    /// Caveats that arise in the next step.
    caveats: Vec<Caveat>,
    /// Temperature that the user wants, and the temperatures that the device reports, one after
    /// the other; the last one lasts. A reading that fails is no number.
    start_below: Option<StartBelow>,
    temperatures: VecDeque<f64>,
    /// Vendor's purge command.
    purge_command: Option<&'static str>,
    /// Record of that command, if it fails.
    failed_purge_command: Option<PurgeCommandRecord>,
    /// Time that the device was left idle.
    idled: Nanos,
    /// Write cache of the device; `None` if its conditions are not read back.
    cache: Option<read_back::WriteCacheModel>,
}

const PASSWORD: &str = "ATA password of memory, M1";

/// A device in memory: the same step gives the same result.
struct MemoryRig<'a> {
    device: Device,
    is_simulated: bool,
    halt_after: usize,
    log: &'a mut RigLog,
    clock: u64,
    /// Boot ID and time since boot.
    boot: Option<(&'static str, Nanos)>,
    /// Number of a step and a directory that is deleted before it.
    deletes: Option<(usize, PathBuf)>,
}

fn device() -> Device {
    Device {
        name: "memory".into(),
        model: Some("Memory".into()),
        serial: Some("M1".into()),
        discard: true,
        ..Device::new("/dev/memory", Transport::Other, Bytes::gib(1))
    }
}

fn real_rig(log: &mut RigLog) -> MemoryRig<'_> {
    MemoryRig {
        device: device(),
        is_simulated: false,
        halt_after: usize::MAX,
        log,
        clock: 1_000_000,
        boot: None,
        deletes: None,
    }
}

fn simulated_rig(log: &mut RigLog) -> MemoryRig<'_> {
    MemoryRig { is_simulated: true, ..real_rig(log) }
}

impl MemoryRig<'_> {
    /// Halts the run after this many steps.
    fn halting_after(self, steps: usize) -> Self {
        MemoryRig { halt_after: steps, ..self }
    }
}

fn check(id: &str, found: &str) -> Check {
    Check {
        id: id.into(),
        subject: id.into(),
        state: CheckState::Good,
        found: found.into(),
        advice: String::new(),
    }
}

/// Measures a step: a load limited by bytes (WIPC) moves an eighth of them, whatever the speed.
fn measure(step: &Step, start: &StepStart) -> Measurement {
    if let Load::Script(script) = &step.load {
        let tally = Tally { ios: script.counts.writes, bytes: script.bytes, ..Tally::default() };
        let streams = vec![StreamTally { op: Op::Write, tally }];
        let elapsed = Nanos::from_secs(60);
        return Measurement { elapsed, complete: true, streams, ..Measurement::default() };
    }
    let stimulus = step.load.stimulus().unwrap();
    let mut elapsed = stimulus.until.time.unwrap_or(Nanos::from_secs(60));
    let mut ios = 1000 + stimulus.seed % 50;
    let mut complete = true;
    let mut cursors = BTreeMap::new();
    if let Some(total) = stimulus.until.bytes {
        ios = total.0 / stimulus.streams[0].size.0 / 8;
        let done = start.done.bytes.0 + ios * stimulus.streams[0].size.0;
        complete = done >= total.0;
        cursors.insert("SEQ 128K W".to_owned(), Bytes(done % stimulus.active_range.length.0));
        elapsed = Nanos::from_secs(60);
    }
    let streams = stimulus
        .streams
        .iter()
        .map(|s| StreamTally {
            op: s.op,
            tally: Tally { ios, bytes: Bytes(ios * s.size.0), ..Tally::default() },
        })
        .collect();
    Measurement { elapsed, complete, streams, cursors, ..Measurement::default() }
}

impl Rig for MemoryRig<'_> {
    fn device(&self) -> &Device {
        &self.device
    }
    fn host(&self) -> Host {
        Host::default()
    }
    fn engine(&self) -> String {
        "memory".into()
    }
    fn now_unix_ms(&self) -> u64 {
        self.clock
    }
    fn now(&self) -> ClockReading {
        ClockReading { unix_ms: self.clock, up: self.boot.map(|(_, up)| up), kernel: None }
    }
    fn proof(&self) -> Option<Proof> {
        self.boot.map(|(boot, _)| Proof { boot: Some(boot.to_owned()), ..Proof::default() })
    }
    fn is_simulated(&self) -> bool {
        self.is_simulated
    }
    fn examine(&mut self) -> Examination {
        Examination { checks: vec![check("load", "quiet")], ..Examination::default() }
    }
    fn check_after_run(&mut self) -> Vec<Check> {
        vec![check("power-readings", "all succeeded")]
    }
    fn settle(&mut self, wanted: &Conditions, journal: Journal<'_>) -> Result<Conditions, Halt> {
        if self.log.setting != "2" {
            let change = HostChange {
                setting: SETTING.into(),
                before: self.log.setting.clone(),
                after: "2".into(),
                ..HostChange::default()
            };
            journal(&change)?;
            self.log.setting = "2".into();
        }
        match &mut self.log.cache {
            Some(cache) => cache.settle(wanted, journal),
            None => Ok(wanted.clone()),
        }
    }
    fn read_back(&mut self) -> Option<Conditions> {
        self.log.cache.as_ref().map(read_back::WriteCacheModel::read_back)
    }
    fn set_requests(&mut self, _: &HostRequests) {}
    fn foresee_purge(&mut self) -> Result<PurgeMethod, Halt> {
        Ok(PurgeMethod::Discard)
    }
    fn purge(&mut self, journal: Journal<'_>, _: PurgeCallback<'_>) -> Result<Purge, Halt> {
        assert!(!self.log.has_password, "a drive with a password is not purged");
        if self.log.failed_purge_command.is_some() {
            return Err(Halt::Refused("the purge failed".into()));
        }
        if self.log.needs_password {
            journal(&HostChange {
                setting: PASSWORD.into(),
                before: "none".into(),
                after: "set".into(),
                ..HostChange::default()
            })?;
            self.log.has_password = true;
        }
        self.log.purges += 1;
        if let Some(cache) = &mut self.log.cache {
            cache.turn_on();
        }
        Ok(Purge::new(PurgeMethod::Discard, Nanos(1)))
    }
    fn prepare(&mut self, step: &Step) -> Result<PreparedStep, StepRefusal> {
        Ok(PreparedStep::plain(step.clone()))
    }
    fn apply(
        &mut self,
        prepared: PreparedStep,
        start: &StepStart,
        _: IntervalCallback<'_>,
    ) -> Result<Measurement, Halt> {
        let step = prepared.step();
        if self.log.applied.len() >= self.halt_after {
            return Err(Halt::Stopped);
        }
        if let Some((number, directory)) = &self.deletes
            && *number == self.log.applied.len()
        {
            std::fs::remove_dir_all(directory).unwrap();
        }
        let place = &step.place;
        self.log.applied.push(format!("{} {} {}", place.phase, place.round, place.point));
        self.log.starts.push(start.clone());
        if let Some(cache) = &mut self.log.cache {
            cache.note_step(&place.phase);
        }
        Ok(measure(step, start))
    }
    fn end_load(&mut self) {}
    fn take_caveats(&mut self) -> Vec<Caveat> {
        std::mem::take(&mut self.log.caveats)
    }
    fn idle(&mut self, time: Nanos) -> Result<(), Halt> {
        self.log.idled += time;
        Ok(())
    }
    fn start_below(&self) -> Option<StartBelow> {
        self.log.start_below
    }
    fn temperature(&mut self) -> Option<f64> {
        let read = match self.log.temperatures.len() {
            0 | 1 => self.log.temperatures.front().copied(),
            _ => self.log.temperatures.pop_front(),
        };
        read.filter(|celsius| !celsius.is_nan())
    }
    fn purge_command(&self) -> Option<String> {
        self.log.purge_command.map(str::to_owned)
    }
    fn failed_purge_command(&mut self) -> Option<PurgeCommandRecord> {
        self.log.failed_purge_command.take()
    }
    fn restore(&mut self, change: &HostChange) -> Result<(), Halt> {
        if self.log.stuck == Some(change.setting.as_str()) {
            return Err(Halt::Refused(format!("{} is stuck", change.setting)));
        }
        match (change.setting.as_str(), &mut self.log.cache) {
            (PASSWORD, _) => self.log.has_password = false,
            ("write_cache", Some(cache)) => cache.turn_on(),
            _ => self.log.setting = change.before.clone(),
        }
        Ok(())
    }
}

fn plan_with(change: impl FnOnce(&mut Settings)) -> RunPlan {
    let mut settings = Settings::new("iops", 7);
    settings.profile = Profile::Quick;
    change(&mut settings);
    RunPlan::new("steadfast 0", 1, "memory", device(), settings)
}

/// Returns the plan of a quick run of `iops`.
fn quick_plan() -> RunPlan {
    plan_with(|_| ())
}

fn procedure(plan: &RunPlan, amendments: &[Amendment]) -> Box<dyn Procedure> {
    steadfast_procedures::procedure(&plan.settings, plan.geometry(), amendments).unwrap()
}

/// Conducts a run from its beginning.
fn begin(directory: &Path, plan: &RunPlan, rig: &mut dyn Rig) -> RunOutcome {
    let ledger = Ledger::create(directory, plan).unwrap();
    let procedure = procedure(plan, &[]);
    conduct(procedure.as_ref(), rig, ledger, &[], "steadfast 0", &mut NoProgress).unwrap()
}

fn resume(directory: &Path, rig: &mut dyn Rig) -> RunOutcome {
    resume_shown(directory, rig, &mut NoProgress)
}

/// Resumes a run, and shows its events.
fn resume_shown(
    directory: &Path,
    rig: &mut dyn Rig,
    progress: &mut dyn ProgressSink,
) -> RunOutcome {
    let (ledger, contents) = Ledger::open(directory).unwrap();
    let procedure = procedure(&contents.plan, &amendments(&contents.lines));
    conduct(procedure.as_ref(), rig, ledger, &contents.lines, "steadfast 0", progress).unwrap()
}

fn findings(directory: &Path) -> Findings {
    let contents = Ledger::read(directory).unwrap();
    let procedure = procedure(&contents.plan, &amendments(&contents.lines));
    procedure.study(&contents.into_record())
}

fn journaled_steps(directory: &Path) -> Vec<String> {
    let lines = Ledger::read(directory).unwrap().lines;
    let place = |line: &JournalLine| match &line.entry {
        JournalEntry::Applied { step, .. } => {
            Some(format!("{} {} {}", step.place.phase, step.place.round, step.place.point))
        }
        _ => None,
    };
    lines.iter().filter_map(place).collect()
}

/// Copies a run directory with the first `keep` lines of its journal, as a crash leaves it. Returns
/// the copy.
fn interrupted_run(whole: &Path, keep: usize) -> PathBuf {
    let copy = whole.with_file_name(format!("interrupted-{keep}"));
    std::fs::create_dir_all(&copy).unwrap();
    std::fs::copy(whole.join("settings.json"), copy.join("settings.json")).unwrap();
    let journal = std::fs::read_to_string(whole.join("journal.jsonl")).unwrap();
    let kept: String = journal.split_inclusive('\n').take(keep).collect();
    std::fs::write(copy.join("journal.jsonl"), kept).unwrap();
    copy
}

/// Returns a scratch directory and a path in it at which nothing exists.
fn scratch_path() -> (tempfile::TempDir, PathBuf) {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("run");
    (scratch, path)
}

#[test]
fn a_run_journals_every_step_and_restores_the_host() {
    let (_scratch, directory) = scratch_path();
    let mut log = RigLog { setting: "0".into(), ..RigLog::default() };
    let ending = begin(&directory, &quick_plan(), &mut real_rig(&mut log));
    assert_eq!(ending, RunOutcome::Complete);
    assert_eq!(log.setting, "0");
    assert_eq!(journaled_steps(&directory), log.applied);
    assert_eq!(log.applied.len(), 8 + 5 * 9);
    assert!(findings(&directory).verdict.unwrap().steady);
}

/// Interrupted after any line of its journal, a run on a real device repeats no finished step, and
/// reports the gap.
#[test]
fn no_finished_step_is_repeated_after_an_interruption() {
    let (_scratch, whole) = scratch_path();
    let mut log = RigLog { setting: "0".into(), ..RigLog::default() };
    begin(&whole, &quick_plan(), &mut real_rig(&mut log));
    let lines = Ledger::read(&whole).unwrap().lines;
    for keep in 1..lines.len() {
        let directory = interrupted_run(&whole, keep);
        let finished = journaled_steps(&directory);
        // A crash leaves the changes that the journal records.
        let setting = if unrestored(&lines[..keep]).is_empty() { "0" } else { "2" };
        let mut again = RigLog { setting: setting.into(), ..RigLog::default() };
        assert_eq!(resume(&directory, &mut real_rig(&mut again)), RunOutcome::Complete);
        assert!(again.applied.iter().all(|step| !finished.contains(step)), "after {keep} lines");
        let mut expected = finished.clone();
        expected.extend(again.applied.clone());
        assert_eq!(journaled_steps(&directory), expected);
        assert_eq!(again.setting, "0", "restored after {keep} lines");
        let findings = findings(&directory);
        let gaps = findings.caveats.iter().filter(|c| c.id == "gap").count();
        let was_settled =
            lines[..keep].iter().any(|l| matches!(l.entry, JournalEntry::Settled { .. }));
        let expected = was_settled && !again.applied.is_empty();
        assert_eq!(gaps, usize::from(expected), "after {keep} lines");
        assert!(findings.verdict.unwrap().steady);
    }
}

/// Only the process that wrote the sectors knows which were written.
#[test]
fn an_interrupted_verify_write_writes_everything_again() {
    let (_scratch, directory) = scratch_path();
    let plan = plan_with(|settings| settings.procedure = "verify-write".into());
    let mut log = RigLog::default();
    let mut first = real_rig(&mut log).halting_after(3);
    assert_eq!(begin(&directory, &plan, &mut first), RunOutcome::Halted(Halt::Stopped));
    let mut again = RigLog::default();
    assert_eq!(resume(&directory, &mut real_rig(&mut again)), RunOutcome::Complete);
    let pieces = |phase: &str, from: u32| -> Vec<String> {
        (from..=8).map(|n| format!("{phase} 0 {n}")).collect()
    };
    let expected =
        [pieces("fill", 4), pieces("fill (attempt 2)", 1), pieces("read-back (attempt 2)", 1)];
    assert_eq!(again.applied, expected.concat());
    assert_eq!(again.purges, 0);
    // This rig verifies nothing, which must not count as a success.
    assert_eq!(findings(&directory).end, EndState::Void);
}

#[test]
fn preconditioning_continues_from_its_checkpoint() {
    let (_scratch, directory) = scratch_path();
    let mut log = RigLog::default();
    let mut first = real_rig(&mut log).halting_after(3);
    assert_eq!(begin(&directory, &quick_plan(), &mut first), RunOutcome::Halted(Halt::Stopped));
    let mut again = RigLog::default();
    resume(&directory, &mut real_rig(&mut again));
    assert_eq!(again.applied[0], "wipc 0 4");
    assert_eq!(again.starts[0].done.bytes, Bytes(3 * (2 << 30) / 8));
    assert_eq!(again.starts[0].cursors["SEQ 128K W"], Bytes(3 * (2 << 30) / 8));
    // Only the first load after a resume may have lost I/Os that it drew.
    assert!(log.starts.iter().all(|start| start.resumed == 0));
    let resumed: Vec<u64> = again.starts.iter().map(|start| start.resumed).collect();
    assert!(resumed[0] == 1 && resumed[1..].iter().all(|count| *count == 0), "{resumed:?}");
    assert_eq!(again.purges, 0, "the purge is not repeated");
    let text = findings(&directory).caveat("gap").unwrap().text.clone();
    assert!(text.contains("stopped on request"), "{text}");
}

/// Host and device are checked whenever a process starts or resumes the run, and the checks of
/// the run itself are added when it ends.
#[test]
fn every_process_checks_host_and_device() {
    let (_scratch, directory) = scratch_path();
    let mut log = RigLog::default();
    let mut first = real_rig(&mut log).halting_after(3);
    begin(&directory, &quick_plan(), &mut first);
    resume(&directory, &mut real_rig(&mut RigLog::default()));
    let contents = Ledger::read(&directory).unwrap();
    let event = |line: &JournalLine| match &line.entry {
        JournalEntry::Opened { .. } => Some("opened"),
        JournalEntry::Examined(checks) if checks.len() == 1 => Some("before"),
        JournalEntry::Examined(_) => Some("after"),
        JournalEntry::Halted(_) => Some("halted"),
        JournalEntry::Ended => Some("ended"),
        _ => None,
    };
    let events: Vec<&str> = contents.lines.iter().filter_map(event).collect();
    let process = |end| ["opened", "before", "after", end];
    assert_eq!(events, [process("halted"), process("ended")].concat());
    let record = contents.into_record();
    let ids: Vec<&str> = record.checks().unwrap().iter().map(|c| c.id.as_str()).collect();
    assert_eq!(ids, ["load", "power-readings"]);
    assert!(record.has_ended());
}

/// Caveats of an engine are journaled between the steps. The procedure did not note them, and is
/// replayed around them.
#[test]
fn caveats_of_an_engine_do_not_prevent_a_resume() {
    let (_scratch, directory) = scratch_path();
    let caveat = |text| Caveat::remark(caveats::FIO_MESSAGES, text, "");
    let mut log = RigLog { setting: "0".into(), ..RigLog::default() };
    log.caveats = vec![caveat("one"), caveat("two")];
    let mut first = real_rig(&mut log).halting_after(20);
    assert_eq!(begin(&directory, &quick_plan(), &mut first), RunOutcome::Halted(Halt::Stopped));
    log.caveats = vec![caveat("three")];
    let mut second = real_rig(&mut log).halting_after(40);
    assert_eq!(resume(&directory, &mut second), RunOutcome::Halted(Halt::Stopped));
    assert_eq!(resume(&directory, &mut real_rig(&mut log)), RunOutcome::Complete);
    assert_eq!(journaled_steps(&directory), log.applied);
    let texts: Vec<String> = findings(&directory)
        .caveats
        .into_iter()
        .filter(|caveat| caveat.id == caveats::FIO_MESSAGES)
        .map(|caveat| caveat.text)
        .collect();
    assert_eq!(texts, ["one", "two", "three"]);
}

/// A simulated drive has no gap: the findings are those of an uninterrupted run.
#[test]
fn a_resumed_simulated_run_has_identical_findings() {
    let (_scratch, whole) = scratch_path();
    begin(&whole, &quick_plan(), &mut simulated_rig(&mut RigLog::default()));
    let uninterrupted = findings(&whole);
    let lines = Ledger::read(&whole).unwrap().lines.len();
    for keep in (1..lines).step_by(7) {
        let directory = interrupted_run(&whole, keep);
        let ending = resume(&directory, &mut simulated_rig(&mut RigLog::default()));
        assert_eq!(ending, RunOutcome::Complete);
        assert_eq!(findings(&directory), uninterrupted, "after {keep} lines");
    }
}

#[test]
fn an_amendment_continues_or_stops_the_rounds() {
    let (_scratch, directory) = scratch_path();
    let plan = plan_with(|settings| settings.rounds_max = Some(4));
    begin(&directory, &plan, &mut real_rig(&mut RigLog::default()));
    assert!(!findings(&directory).verdict.unwrap().steady);
    let amend = |rounds| {
        let (mut ledger, mut contents) = Ledger::open(&directory).unwrap();
        run::amend(&mut ledger, &mut contents, Amendment::RoundsMax(rounds), 9).unwrap();
        drop(ledger);
        let mut log = RigLog::default();
        assert_eq!(resume(&directory, &mut real_rig(&mut log)), RunOutcome::Complete);
        log.applied.len()
    };
    assert_eq!(amend(9), 5 * 9, "rounds 5 to 9: the window restarts after the gap");
    assert_eq!(findings(&directory).verdict.unwrap().window, Some((5, 9)));
    assert_eq!(amend(3), 0, "stopping needs no step");
    assert!(!findings(&directory).verdict.unwrap().steady);
}

#[test]
fn a_ledger_of_another_procedure_is_refused() {
    let (_scratch, directory) = scratch_path();
    begin(&directory, &quick_plan(), &mut real_rig(&mut RigLog::default()));
    let (ledger, contents) = Ledger::open(&directory).unwrap();
    let other = procedure(&plan_with(|s| s.seed = 8), &[]);
    let mut log = RigLog::default();
    let ending = conduct(
        other.as_ref(),
        &mut real_rig(&mut log),
        ledger,
        &contents.lines,
        "steadfast 0",
        &mut NoProgress,
    )
    .unwrap();
    let RunOutcome::Halted(Halt::Mismatch(why)) = ending else { panic!("{ending:?}") };
    assert!(why.contains("another seed") && why.contains("wipc"), "{why}");
    assert!(log.applied.is_empty());
}

#[test]
fn restore_undoes_the_changes_of_a_dead_run() {
    let (_scratch, whole) = scratch_path();
    let mut log = RigLog { setting: "1".into(), ..RigLog::default() };
    begin(&whole, &quick_plan(), &mut real_rig(&mut log));
    let directory = interrupted_run(&whole, 6);
    let mut undone = Vec::new();
    let restored = run::restore(&directory, 9, |_| true, &mut |change| {
        undone.push((change.setting.clone(), change.before.clone()));
        Ok(())
    });
    assert_eq!(restored.unwrap().len(), 1);
    assert_eq!(undone, [(SETTING.to_owned(), "1".to_owned())]);
    assert!(run::restore(&directory, 9, |_| true, &mut |_| panic!("twice")).unwrap().is_empty());
}

/// One setting that cannot be restored keeps no other changed.
#[test]
fn restore_continues_after_a_change_that_cannot_be_undone() {
    let (_scratch, whole) = scratch_path();
    let mut log = RigLog { setting: "1".into(), ..RigLog::default() };
    begin(&whole, &quick_plan(), &mut real_rig(&mut log));
    let directory = interrupted_run(&whole, 6);
    let stuck = HostChange { setting: "stuck".into(), ..HostChange::default() };
    let (mut ledger, _) = Ledger::open(&directory).unwrap();
    ledger.append(8, &JournalEntry::HostChange(stuck.clone())).unwrap();
    drop(ledger);
    let mut tried = Vec::new();
    let restored = run::restore(&directory, 9, |_| true, &mut |change| {
        tried.push(change.setting.clone());
        if *change == stuck { Err(Halt::Refused("it is stuck".into())) } else { Ok(()) }
    });
    assert_eq!(restored, Err(Halt::Refused("it is stuck".into())));
    assert_eq!(tried, ["stuck", SETTING]);
    assert_eq!(unrestored(&Ledger::read(&directory).unwrap().lines), [stuck]);
}

/// Wherever the run was interrupted, the password is removed when the drive is used again.
#[test]
fn the_password_of_a_purge_is_removed() {
    let (_scratch, whole) = scratch_path();
    let new_log = || RigLog { setting: "1".into(), needs_password: true, ..RigLog::default() };
    let mut log = new_log();
    begin(&whole, &quick_plan(), &mut real_rig(&mut log));
    assert!(!log.has_password);
    let lines = Ledger::read(&whole).unwrap().lines;
    let event = |line: &JournalLine| match &line.entry {
        JournalEntry::HostChange(change) if change.setting == PASSWORD => Some("set"),
        JournalEntry::HostRestored(change) if change.setting == PASSWORD => Some("removed"),
        JournalEntry::Purged(_) => Some("purged"),
        _ => None,
    };
    let events: Vec<_> = lines.iter().filter_map(event).collect();
    assert_eq!(events, ["set", "removed", "purged"]);
    let set = lines.iter().position(|line| event(line) == Some("set")).unwrap() + 1;

    // The process died during the purge.
    let directory = interrupted_run(&whole, set);
    let mut again = RigLog { has_password: true, ..new_log() };
    assert_eq!(resume(&directory, &mut real_rig(&mut again)), RunOutcome::Complete);
    assert!(!again.has_password);
    assert_eq!(unrestored(&Ledger::read(&directory).unwrap().lines), []);

    // The user unlocks the drive.
    let directory = interrupted_run(&whole, set);
    let mut undone = Vec::new();
    let mut undo = |change: &HostChange| {
        undone.push(change.setting.clone());
        Ok(())
    };
    run::restore(&directory, 9, steadfast_host::is_password, &mut undo).unwrap();
    assert_eq!(undone, [PASSWORD]);
}

#[test]
fn an_impossible_step_is_named_in_advance() {
    let procedure = procedure(&plan_with(|s| s.profile = Profile::Pts20), &[]);
    let mut prepared = 0;
    let mut accept = |step: &Step| {
        prepared += 1;
        Ok(PreparedStep::plain(step.clone()))
    };
    assert_eq!(steadfast_runner::refusal(procedure.as_ref(), &mut accept), None);
    assert_eq!(prepared, 57, "preconditioning and one round");
    let mut refuse_small = |step: &Step| {
        if step.place.label.starts_with("RND 0.5K") {
            Err(StepRefusal("no".to_owned()))
        } else {
            Ok(PreparedStep::plain(step.clone()))
        }
    };
    let why = steadfast_runner::refusal(procedure.as_ref(), &mut refuse_small).unwrap();
    assert_eq!(why, "round 1, step 8 (RND 0.5K R): no");
}

/// The run directory is deleted during a step: no further step is measured, the host is restored,
/// and the loss is reported.
#[test]
fn a_deleted_run_directory_ends_the_run_within_a_step() {
    let (_scratch, directory) = scratch_path();
    let mut log = RigLog { setting: "0".into(), ..RigLog::default() };
    let mut rig = real_rig(&mut log);
    rig.deletes = Some((7, directory.clone()));
    let ending = begin(&directory, &quick_plan(), &mut rig);
    let RunOutcome::Lost(halt) = ending else { panic!("{ending:?}") };
    let text = halt.to_string();
    assert!(text.contains("was deleted during the run: 7 finished steps are lost"), "{text}");
    assert_eq!(log.applied.len(), 8, "the running step, and no other");
    assert_eq!(log.setting, "0", "restored though it cannot be journaled");
    assert!(!directory.exists());
}

/// Every host setting is restored even if the journal accepts no more lines.
#[test]
fn settings_are_restored_without_a_journal() {
    let (_scratch, directory) = scratch_path();
    let mut log = RigLog { setting: "0".into(), needs_password: true, ..RigLog::default() };
    let mut first = real_rig(&mut log);
    first.deletes = Some((0, directory.clone()));
    let ending = begin(&directory, &quick_plan(), &mut first);
    assert!(matches!(ending, RunOutcome::Lost(_)), "{ending:?}");
    assert_eq!((log.setting.as_str(), log.has_password), ("0", false));
}

/// Resumed twice, with `restore` in between and the clock set: the gap counts from the last step,
/// and a length that cannot be known is not guessed. Whatever its length, the procedure sees it
/// as a gap.
#[test]
fn a_gap_counts_from_the_last_step_by_the_boot_clock() {
    // The rig's clock was at 1,000 s.
    for (clock, up, boot, expected) in [
        (1_020_000, 5020, "a", Some(20)),
        (0, 5020, "a", Some(20)),
        (9_000_000, 5020, "a", Some(20)),
        (1_500_000, 60, "b", Some(500)),
        (900_000, 60, "b", None),
        (1_030_000, 60, "b", None),
    ] {
        let (_scratch, directory) = scratch_path();
        let mut log = RigLog::default();
        let mut first = real_rig(&mut log);
        (first.halt_after, first.boot) = (20, Some(("a", Nanos::from_secs(5000))));
        begin(&directory, &quick_plan(), &mut first);
        // Resumed a moment earlier, without a step, and then restored.
        let mut second = real_rig(&mut log);
        (second.halt_after, second.boot) = (20, Some((boot, Nanos::from_secs(up - 1))));
        resume(&directory, &mut second);
        run::restore(&directory, clock, |_| true, &mut |_| Ok(())).unwrap();
        let mut third = real_rig(&mut log);
        (third.clock, third.boot) = (clock, Some((boot, Nanos::from_secs(up))));
        assert_eq!(resume(&directory, &mut third), RunOutcome::Complete);
        let gaps: Vec<_> = Ledger::read(&directory)
            .unwrap()
            .into_record()
            .steps()
            .filter_map(|(_, outcome)| outcome.gap_before.clone())
            .collect();
        assert_eq!(gaps.len(), 1);
        assert_eq!(gaps[0].lasted, expected.map(Nanos::from_secs), "{clock} {up} {boot}");
        let texts = findings(&directory).caveats.into_iter().filter(|c| c.id == "gap");
        let text: String = texts.map(|caveat| caveat.text).collect();
        assert!(text.starts_with("Gap of ") && text.contains("void"), "{text}");
        assert_eq!(expected.is_none(), text.contains("unknown length"), "{text}");
    }
}
