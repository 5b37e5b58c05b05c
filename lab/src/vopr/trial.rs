//! A trial: executes a scenario and checks the invariants.

use crate::cuts::SharedCut;
use crate::directory::SimulatedDirectory;
use crate::disk::ROOT;
use crate::drive::RememberedDrive;
use crate::fault::{InjectedFault, PlantedBug};
use crate::groups::{self, OpenRun, TestedGroup};
use crate::memory;
use crate::reports::{check_group_report, check_report, missing_metrics};
use crate::rig::{SharedDrive, SimulatedHostRig, restore_setting};
use crate::scenario::{DRIVE, Life, RUNS, Scenario, UserAction};
use crate::world::{EndOnDrop, ORIGINAL_SETTING, Process, TrialResult, World, WorldClock};
use std::any::Any;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use steadfast_domain::power_cut::PowerCutOutcome;
use steadfast_domain::{
    EndState, Findings, JournalEntry, Measurement, Nanos, Outcome, Procedure, Step, caveats as ids,
};
use steadfast_host::{FileError, ReadAccess};
use steadfast_report::{GroupTarget, StudiedTarget, TargetEnd, combined_findings, targets_text};
use steadfast_runner::ledger::{JournalLine, LedgerContents};
use steadfast_runner::live::unrestored;
use steadfast_runner::progress::PowerCutStage;
use steadfast_runner::run::{RunOutcome, conduct, restore_opened};
use steadfast_runner::storage::RunStorage;
use steadfast_runner::{
    GroupMember, Ledger, LedgerError, ProgressSink, ReadyRun, Rig, RunEnd, RunEvent, RunGroup,
    RunPlan, StartSync, conduct_all, start_together,
};

/// Name of the run that cuts the power of its drive.
const POWER_CUT: &str = "power-cut";

const RUN: &str = "run";

/// An undisturbed run.
pub struct UndisturbedRun {
    /// Number of calls.
    pub calls: u64,
    findings: Findings,
}

/// The program of a process.
#[derive(Debug, Clone, Copy)]
enum Program {
    Resume,
    Restore,
}

/// A step that the program reported as finished.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FinishedStep {
    place: String,
    began_unix_ms: u64,
    elapsed: Nanos,
    bytes: u64,
}

impl FinishedStep {
    fn new(step: &Step, outcome: &Outcome) -> FinishedStep {
        let measured: &Measurement = &outcome.measurement;
        FinishedStep {
            place: format!("{} {}", step.place, step.place.phase),
            began_unix_ms: measured.began_unix_ms,
            elapsed: measured.elapsed,
            bytes: measured.bytes().0,
        }
    }
}

struct Trial<'a> {
    scenario: &'a Scenario,
    world: Arc<World>,
    bug: Option<PlantedBug>,
    plan: RunPlan,
    procedure: Box<dyn Procedure>,
    /// Several targets; `None` for a single one.
    group: Option<TestedGroup>,
    targets: Vec<TestedTarget>,
}

struct TestedTarget {
    number: usize,
    drive: SharedDrive,
    cut: SharedCut,
    /// Steps that the program reported as finished, in order.
    finished: Mutex<Vec<FinishedStep>>,
    /// Results of power cuts that the program reported, in order.
    judged: Mutex<Vec<PowerCutOutcome>>,
}

impl TestedTarget {
    fn new(number: usize) -> TestedTarget {
        TestedTarget {
            number,
            drive: new_drive(),
            cut: SharedCut::default(),
            finished: Mutex::default(),
            judged: Mutex::default(),
        }
    }

    fn finished(&self) -> MutexGuard<'_, Vec<FinishedStep>> {
        self.finished.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn judged(&self) -> MutexGuard<'_, Vec<PowerCutOutcome>> {
        self.judged.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Executes each run without faults.
pub fn undisturbed() -> Vec<UndisturbedRun> {
    let play_alone = |run| {
        let scenario = Scenario {
            seed: 0,
            run,
            targets: 1,
            together: StartSync::Steps,
            drive_forgets: true,
            setting_is_kept: true,
            lives: Vec::new(),
        };
        let trial = Trial::new(&scenario, None, false);
        let is_complete = trial.live(&Life { action: UserAction::Continue, faults: Vec::new() });
        let calls = trial.world.calls();
        let contents = trial.read(&trial.targets[0]);
        let violation = trial.world.state().violation.take();
        match (contents, violation) {
            (Ok(Some(contents)), None) if is_complete => {
                let lines = contents.lines.clone();
                let findings = contents.study(trial.procedure.as_ref());
                check_report(&lines, &findings)
                    .unwrap_or_else(|violation| panic!("{}: {violation}", RUNS[run].name));
                UndisturbedRun { calls, findings }
            }
            (contents, violation) => {
                panic!("{} does not run undisturbed: {violation:?} {contents:?}", RUNS[run].name)
            }
        }
    };
    (0..RUNS.len()).map(play_alone).collect()
}

/// Executes a scenario.
pub fn play(
    scenario: &Scenario,
    undisturbed: &[UndisturbedRun],
    bug: Option<PlantedBug>,
    is_traced: bool,
) -> TrialResult {
    let trial = Trial::new(scenario, bug, is_traced);
    let undisturbed = &undisturbed[scenario.run];
    for life in &scenario.lives {
        let has_completed = trial.live(life);
        trial.check(has_completed.then_some(undisturbed));
    }
    trial.check_damage();
    // Safety was checked above. No more faults are injected, so the run must now complete.
    let has_completed = trial.live(&Life { action: UserAction::Continue, faults: Vec::new() });
    if !has_completed {
        trial.world.violate(|| "an undisturbed resume does not complete the run".to_owned());
    }
    trial.check(Some(undisturbed));
    if trial.world.state().violation.is_none() {
        let reported = trial.targets.iter().map(|target| trial.check_report(target, undisturbed));
        let reported = reported.collect::<Result<(), String>>();
        trial.world.require(reported.and_then(|()| trial.check_group_report(undisturbed)));
    }
    trial.world.take_result()
}

impl Trial<'_> {
    fn new(scenario: &Scenario, bug: Option<PlantedBug>, is_traced: bool) -> Trial<'_> {
        let plan = RUNS[scenario.run].plan();
        let procedure = procedure(&plan);
        let world = World::new(scenario.seed, bug, is_traced);
        world.state().setting_is_kept = scenario.setting_is_kept;
        Trial {
            scenario,
            world,
            bug,
            group: (scenario.targets > 1)
                .then(|| TestedGroup::new(&plan, scenario.targets, scenario.together)),
            plan,
            procedure,
            targets: (0..scenario.targets).map(TestedTarget::new).collect(),
        }
    }

    fn log(&self, line: impl FnOnce() -> String) {
        self.world.state().log(line);
    }

    /// Executes one life. Returns true if a program reported that the run is complete.
    fn live(&self, life: &Life) -> bool {
        use UserAction::{Continue, ContinueTwice, Restore, RestoreAndContinue};
        self.log(|| format!("-- {:?}, {:?}", life.action, life.faults));
        let programs: &[Program] = match life.action {
            Continue => &[Program::Resume],
            ContinueTwice => &[Program::Resume, Program::Resume],
            Restore => &[Program::Restore],
            RestoreAndContinue => &[Program::Restore, Program::Resume],
        };
        let processes = self.world.start(programs.len(), &life.faults);
        thread::scope(|scope| {
            let pairs = processes.iter().zip(programs);
            let threads: Vec<_> = pairs
                .map(|(process, program)| {
                    scope.spawn(move || {
                        let _ended = EndOnDrop(process);
                        memory::restart();
                        match program {
                            Program::Resume => self.resume(process),
                            Program::Restore => self.restore(process),
                        }
                    })
                })
                .collect();
            let ends: Vec<_> = threads.into_iter().map(|thread| thread.join()).collect();
            // All results are judged, even if an earlier one completed the run.
            ends.into_iter().fold(false, |any, end| any | self.judge_end(end))
        })
    }

    fn judge_end(&self, end: Result<Result<bool, String>, Box<dyn Any + Send>>) -> bool {
        match end {
            Ok(Ok(has_completed)) => has_completed,
            Ok(Err(why)) => {
                self.log(|| format!("       ended: {why}"));
                false
            }
            Err(payload) => {
                if self.world.note_panic(&*payload) {
                    self.log(|| "       died".to_owned());
                }
                false
            }
        }
    }

    /// Resumes or starts the run, or all runs of several targets.
    fn resume(&self, process: &Process) -> Result<bool, String> {
        match &self.group {
            None => self.resume_single(process),
            Some(tested) => self.resume_group(process, tested),
        }
    }

    /// Resumes or starts the runs of several targets, as `steadfast run` does.
    fn resume_group(&self, process: &Process, tested: &TestedGroup) -> Result<bool, String> {
        let (group, opened) = tested.open_or_create(process).map_err(text_of)?;
        let mut runs: Vec<ReadyRun<SimulatedDirectory>> =
            opened.into_iter().map(|run| self.ready_run(process, tested, run)).collect();
        let clock = Arc::new(WorldClock(process.clone()));
        start_together(&mut runs, group.list.together, clock).map_err(text_of)?;
        let names: Vec<String> = runs.iter().map(|run| run.name.clone()).collect();
        let first = process.fork(runs.len());
        let thread_of = |name: &String| first + names.iter().take_while(|n| *n != name).count();
        let ends = conduct_all(runs, |run| {
            let target = &self.targets[tested.position(&run.name)];
            process.execute(thread_of(&run.name), || {
                run.conduct("steadfast 0", &mut Witness::new(&self.world, target))
            })
        });
        process.check_alive();
        let starts = self.world.state().starts.clone();
        let own: Vec<_> = starts.into_iter().filter(|s| s.process == process.number).collect();
        let mut checked = tested.check_starts(&own, !self.scenario.drive_forgets);
        for end in &ends {
            if end.ending != Ok(RunOutcome::Complete) && !process.was_hit(thread_of(&end.name)) {
                let (name, ending) = (&end.name, &end.ending);
                checked = checked.and(Err(format!("{name} was hit by no fault: {ending:?}")));
            }
        }
        self.world.require(checked);
        let results = self.results(&group, &ends);
        self.world.require(check_results(&group, &ends, &results));
        match ends.into_iter().find(|end| end.ending != Ok(RunOutcome::Complete)) {
            None => Ok(true),
            Some(end) => Err(format!("{}: {:?}", end.name, end.ending)),
        }
    }

    fn ready_run(
        &self,
        process: &Process,
        tested: &TestedGroup,
        run: OpenRun,
    ) -> ReadyRun<SimulatedDirectory> {
        let OpenRun { member, ledger, contents } = run;
        let plan = tested.plans[member].clone();
        ReadyRun {
            name: tested.list.members[member].directory.clone(),
            rig: Box::new(self.rig(process, &self.targets[member], &ledger)),
            ledger,
            procedure: procedure(&plan),
            plan,
            lines: self.resumed_lines(contents.map(|contents| contents.lines).unwrap_or_default()),
        }
    }

    /// Returns the result of each target of a group, as `steadfast run` reports it.
    fn results<'g>(
        &self,
        group: &'g RunGroup<SimulatedDirectory>,
        ends: &[RunEnd],
    ) -> Vec<GroupTarget<'g>> {
        let result = |member: &'g GroupMember| {
            let end = ends.iter().find(|end| end.name == member.directory);
            let end = match end.map(|end| &end.ending) {
                None | Some(Ok(RunOutcome::Complete)) => match group.read_member(member) {
                    Ok(contents) => TargetEnd::Studied(Box::new(StudiedTarget {
                        starts: contents.common_starts(),
                        findings: contents.study(self.procedure.as_ref()),
                    })),
                    Err(_) => TargetEnd::Failed,
                },
                Some(Ok(RunOutcome::Halted(_))) => TargetEnd::Halted,
                Some(Ok(RunOutcome::Lost(_)) | Err(_)) => TargetEnd::Failed,
            };
            GroupTarget {
                target: &member.target,
                name: &member.directory,
                directory: group.directory_of(member),
                exit_code: 0,
                end,
            }
        };
        let mut results: Vec<GroupTarget<'_>> = group.list.members.iter().map(result).collect();
        if self.bug == Some(PlantedBug::SilentTarget) {
            results.retain(|one| one.studied().is_some());
        }
        results
    }

    /// Checks the report over all targets of a complete group.
    fn check_group_report(&self, undisturbed: &UndisturbedRun) -> Result<(), String> {
        if self.group.is_none() {
            return Ok(());
        }
        let group = groups::find(&self.world)?.ok_or("there is no group")?;
        let mut results = self.results(&group, &[]);
        let studied = results.iter().map(|one| one.studied().cloned().ok_or("a run has not ended"));
        let studied = studied.collect::<Result<Vec<StudiedTarget>, _>>()?;
        if self.bug == Some(PlantedBug::LostTarget) && results.len() == 3 {
            results.pop();
        }
        if self.bug == Some(PlantedBug::SwappedTargets)
            && let [first, second, ..] = results.as_mut_slice()
        {
            std::mem::swap(&mut first.end, &mut second.end);
        }
        let mut whole = report_over_all(&results)?;
        if self.bug == Some(PlantedBug::LostTargetCaveat) {
            whole.caveats.pop();
        }
        if !self.scenario.drive_forgets {
            let names = group.list.members.iter().map(|member| member.directory.as_str());
            return check_group_report(&names.zip(&studied).collect::<Vec<_>>(), &whole);
        }
        let mut expected = self.results(&group, &[]);
        for one in &mut expected {
            let findings = undisturbed.findings.clone();
            let studied = StudiedTarget { findings, starts: Vec::new() };
            one.end = TargetEnd::Studied(Box::new(studied));
        }
        if whole != report_over_all(&expected)? {
            return Err("the report over all targets is not that of undisturbed runs".into());
        }
        Ok(())
    }

    /// Resumes or starts the run of a single target. Resumes it again after a power cut of the
    /// drive, as `steadfast run` does.
    fn resume_single(&self, process: &Process) -> Result<bool, String> {
        let target = &self.targets[0];
        let mut last_cycle = None;
        loop {
            let (ledger, lines) = self.open_or_create(process)?;
            let rig = self.rig(process, target, &ledger);
            let halt = match self.conduct(target, ledger, lines, rig)? {
                RunOutcome::Complete => return Ok(true),
                RunOutcome::Halted(halt) | RunOutcome::Lost(halt) => halt,
            };
            if RUNS[self.scenario.run].name != POWER_CUT {
                return Err(halt.to_string());
            }
            let contents = Ledger::read_in(&self.directory(process, target).map_err(text_of)?)
                .map_err(text_of)?;
            let cycle = contents.awaited_trial().map(|trial| trial.cycle);
            // The same error would halt the reading again.
            if cycle.is_none() || last_cycle == cycle {
                return Err(halt.to_string());
            }
            last_cycle = cycle;
        }
    }

    fn open_or_create(
        &self,
        process: &Process,
    ) -> Result<(Ledger<SimulatedDirectory>, Vec<JournalLine>), String> {
        let root = SimulatedDirectory::root(process);
        let name = OsStr::new(RUN);
        match root.enter(name) {
            Err(error) if error.is_missing() => {
                let made = Ledger::create_below(&root, name, ReadAccess::Usual, &self.plan);
                Ok((made.map_err(text_of)?, Vec::new()))
            }
            entered => {
                let (ledger, contents) =
                    Ledger::open_in(entered.map_err(text_of)?).map_err(text_of)?;
                Ok((ledger, contents.lines))
            }
        }
    }

    fn directory(
        &self,
        process: &Process,
        target: &TestedTarget,
    ) -> Result<SimulatedDirectory, FileError> {
        let root = SimulatedDirectory::root(process);
        match &self.group {
            None => root.enter(OsStr::new(RUN)),
            Some(tested) => {
                let group = root.enter(OsStr::new(groups::GROUP))?;
                group.enter(OsStr::new(&tested.list.members[target.number].directory))
            }
        }
    }

    fn rig(
        &self,
        process: &Process,
        target: &TestedTarget,
        ledger: &Ledger<SimulatedDirectory>,
    ) -> SimulatedHostRig {
        let forgets = self.scenario.drive_forgets;
        let drive = if forgets { new_drive() } else { target.drive.clone() };
        let mut rig = SimulatedHostRig::new(process, target.number, drive, forgets);
        rig.keep_cut_logs(ledger.directory(), &target.cut);
        rig
    }

    /// Returns the lines of a resumed run, without its last step if the bug that forgets it is planted.
    fn resumed_lines(&self, mut lines: Vec<JournalLine>) -> Vec<JournalLine> {
        if self.bug == Some(PlantedBug::ForgottenStep)
            && let Some(last) = lines.iter().rposition(|line| line.entry.applied().is_some())
        {
            lines.truncate(last);
        }
        lines
    }

    fn conduct(
        &self,
        target: &TestedTarget,
        ledger: Ledger<SimulatedDirectory>,
        lines: Vec<JournalLine>,
        mut rig: SimulatedHostRig,
    ) -> Result<RunOutcome, String> {
        let lines = self.resumed_lines(lines);
        let mut witness = Witness::new(&self.world, target);
        let procedure = self.procedure.as_ref();
        conduct(procedure, &mut rig, ledger, &lines, "steadfast 0", &mut witness).map_err(text_of)
    }

    /// Restores the host, as `steadfast restore` does with each run directory.
    fn restore(&self, process: &Process) -> Result<bool, String> {
        for target in &self.targets {
            let directory = self.directory(process, target).map_err(text_of)?;
            let (mut ledger, contents) = Ledger::open_in(directory).map_err(text_of)?;
            let now = self.rig(process, target, &ledger).now_unix_ms();
            let mut undo = |change: &_| restore_setting(process, target.number, change);
            restore_opened(&mut ledger, &contents, now, |_| true, &mut undo).map_err(text_of)?;
        }
        Ok(false)
    }

    /// Reads the ledger of a target without faults; `None` if there is no run directory.
    fn read(&self, target: &TestedTarget) -> Result<Option<LedgerContents>, LedgerError> {
        let process = &self.world.start(1, &[])[0];
        match self.directory(process, target) {
            Err(error) if error.is_missing() => Ok(None),
            entered => Ledger::read_in(&entered?).map(Some),
        }
    }

    /// Checks the invariants after every life, and those of a complete run.
    fn check(&self, complete: Option<&UndisturbedRun>) {
        self.log(|| "-- check".to_owned());
        self.world.require(self.check_runs(complete));
    }

    fn check_runs(&self, complete: Option<&UndisturbedRun>) -> Result<(), String> {
        self.world.state().disk.check_bystanders()?;
        let mut begun = 0;
        for target in &self.targets {
            begun += usize::from(self.check_ledger(target, complete)?);
        }
        let may_resume = match &self.group {
            None => begun > 0 && !self.is_lost(),
            Some(tested) => tested.check(&self.world, begun)?,
        };
        if !may_resume {
            // The user can start it again.
            let name = if self.group.is_some() { groups::GROUP } else { RUN };
            self.world.state().disk.remove_all(ROOT, name);
        }
        Ok(())
    }

    /// Returns true if the run has begun only in the cache of the disk: `resume` says that there is
    /// nothing to resume.
    fn is_lost(&self) -> bool {
        let disk = &self.world.state().disk;
        let run = disk.find(ROOT, RUN).and_then(|run| disk.find(run, "journal.jsonl"));
        self.targets[0].finished().is_empty()
            && run.is_ok_and(|journal| disk.has_lost_first_line(journal))
    }

    /// Checks the run of a target. Returns false if it has not begun.
    fn check_ledger(
        &self,
        target: &TestedTarget,
        complete: Option<&UndisturbedRun>,
    ) -> Result<bool, String> {
        let contents = match self.read(target) {
            Ok(Some(contents)) if contents.opening().is_some() => contents,
            Ok(_) | Err(LedgerError::NotARun(_)) => {
                self.check_not_begun(target)?;
                return match complete {
                    Some(_) => Err("a complete run has not begun".into()),
                    None => Ok(false),
                };
            }
            Err(error) => return Err(format!("the ledger cannot be read: {error}")),
        };
        check_steps(target, &contents.lines)?;
        self.check_power_cuts(target, &contents.lines)?;
        self.check_host(target, &contents.lines)?;
        if let Some(undisturbed) = complete {
            self.check_complete(target, contents, undisturbed)?;
        }
        Ok(true)
    }

    /// Checks a run without a ledger, which must not have lost a step.
    fn check_not_begun(&self, target: &TestedTarget) -> Result<(), String> {
        let steps = target.finished().len() + target.judged().len();
        if steps > 0 {
            return Err(format!("{steps} finished steps are lost with the whole run"));
        }
        if self.world.state().drives[target.number].setting != ORIGINAL_SETTING {
            return Err("a changed host setting is in no journal".into());
        }
        Ok(())
    }

    /// Checks that a group with a damaged run directory says so.
    fn check_damage(&self) {
        let Some(tested) = &self.group else { return };
        if self.world.state().violation.is_none() {
            self.world.require(tested.check_damage(&self.world));
        }
    }

    /// Checks that no result of a power cut is lost or counted twice, and that an honest drive has
    /// no violation.
    fn check_power_cuts(&self, target: &TestedTarget, lines: &[JournalLine]) -> Result<(), String> {
        let mut journaled: Vec<PowerCutOutcome> = Vec::new();
        let mut cycles = BTreeSet::new();
        for line in lines {
            match &line.entry {
                JournalEntry::PowerCutBegan { trial, .. } => {
                    cycles.insert(trial.cycle);
                }
                JournalEntry::PowerCutJudged(outcome) => journaled.push((**outcome).clone()),
                _ => {}
            }
        }
        // A result may be in the journal although its process died before it could report it. A
        // later process does not report it again.
        let mut unreported = journaled.iter();
        if !target.judged().iter().all(|reported| unreported.any(|outcome| outcome == reported)) {
            return Err("a reported power cut is not in the journal".into());
        }
        if journaled.len() > cycles.len() {
            let (judged, begun) = (journaled.len(), cycles.len());
            return Err(format!("{judged} results of {begun} power cuts are in the journal"));
        }
        let lies = || self.scenario.faults().any(|fault| fault == InjectedFault::WrongData);
        match journaled.iter().find(|outcome| outcome.violation_count() > 0) {
            Some(outcome) if !lies() => Err(format!("an honest drive was accused: {outcome:?}")),
            _ => Ok(()),
        }
    }

    /// Checks that every host change is reverted or in the journal.
    fn check_host(&self, target: &TestedTarget, lines: &[JournalLine]) -> Result<(), String> {
        let setting = self.world.state().drives[target.number].setting.clone();
        let open = unrestored(lines);
        if setting == ORIGINAL_SETTING || open.iter().any(|change| change.after == setting) {
            return Ok(());
        }
        Err(format!("the host setting is {setting}, and the journal has only {open:?}"))
    }

    /// Checks the report of the complete run, as its user makes it.
    fn check_report(
        &self,
        target: &TestedTarget,
        undisturbed: &UndisturbedRun,
    ) -> Result<(), String> {
        let Ok(Some(contents)) = self.read(target) else { return Err("there is no run".into()) };
        let lines = contents.lines.clone();
        let mut findings = contents.study(self.procedure.as_ref());
        if self.bug == Some(PlantedBug::LostCaveat) {
            findings.caveats.retain(|caveat| caveat.id != ids::GAP);
        }
        if self.bug == Some(PlantedBug::LostMetric) {
            findings.metrics.pop();
        }
        let has_gap = steps(&lines).any(|(_, outcome)| outcome.gap_before.is_some());
        let missing = missing_metrics(&undisturbed.findings, &findings);
        // What a gap makes void has no number.
        if !has_gap && !missing.is_empty() {
            return Err(format!("the findings lack {missing:?}"));
        }
        // Equal findings have equal reports, and that of the undisturbed run was checked.
        if findings == undisturbed.findings { Ok(()) } else { check_report(&lines, &findings) }
    }

    fn check_complete(
        &self,
        target: &TestedTarget,
        contents: LedgerContents,
        undisturbed: &UndisturbedRun,
    ) -> Result<(), String> {
        let lines = &contents.lines;
        if steps(lines).count() != target.finished().len() {
            return Err("a complete run has a step that was not finished".into());
        }
        let mut entries = lines.iter().rev().map(|line| &line.entry);
        if !entries.any(|entry| matches!(entry, JournalEntry::Ended)) {
            return Err("a complete run has no end in its journal".into());
        }
        let setting = self.world.state().drives[target.number].setting.clone();
        if setting != ORIGINAL_SETTING || !unrestored(lines).is_empty() {
            return Err("a complete run has not restored the host".into());
        }
        if self.scenario.drive_forgets {
            let findings = contents.study(self.procedure.as_ref());
            if findings != undisturbed.findings {
                return Err("the findings are not those of the undisturbed run".into());
            }
            return Ok(());
        }
        check_gaps(lines)?;
        let has_gap = steps(lines).any(|(_, outcome)| outcome.gap_before.is_some());
        let is_wrong = steps(lines).any(|(_, outcome)| {
            outcome.measurement.verification.as_ref().is_some_and(|found| found.miscompares > 0)
        }) || target
            .judged()
            .iter()
            .any(|outcome| outcome.is_test() && outcome.violation_count() > 0);
        let findings = contents.study(self.procedure.as_ref());
        let mut caveats = findings.parts.iter().chain([&findings]).flat_map(|part| &part.caveats);
        if has_gap != caveats.any(|caveat| caveat.id == ids::GAP) {
            return Err(format!("gaps: {has_gap}, and the caveats say otherwise"));
        }
        if is_wrong && findings.whole_end() != EndState::Failed {
            return Err(format!("wrong data were read, and the end is {:?}", findings.end));
        }
        Ok(())
    }
}

fn report_over_all(results: &[GroupTarget<'_>]) -> Result<Findings, String> {
    let whole = combined_findings(results.iter()).map_err(text_of)?;
    whole.ok_or_else(|| "a complete group has no report over all targets".to_owned())
}

/// Checks that the printed results have every target, and name those that have not ended.
fn check_results(
    group: &RunGroup<SimulatedDirectory>,
    ends: &[RunEnd],
    results: &[GroupTarget<'_>],
) -> Result<(), String> {
    let text = targets_text(results.iter());
    let last = text.lines().last().unwrap_or_default();
    for member in &group.list.members {
        let is_own = |line: &&str| line.split_whitespace().next() == Some(&member.target);
        let row = text.lines().find(is_own);
        let row = row.ok_or_else(|| format!("the results lack {}:\n{text}", member.target))?;
        let end = ends.iter().find(|end| end.name == member.directory);
        let has_ended = end.is_none_or(|end| end.ending == Ok(RunOutcome::Complete));
        let is_named = last.starts_with("No report") && last.contains(&member.target);
        let is_bad = row.contains("HALTED") || row.contains("FAILED");
        if !(has_ended || is_named && is_bad) {
            return Err(format!("{} has not ended, and the results are:\n{text}", member.target));
        }
    }
    Ok(())
}

/// Checks that no finished step is lost or counted twice.
fn check_steps(target: &TestedTarget, lines: &[JournalLine]) -> Result<(), String> {
    let journaled: Vec<FinishedStep> =
        steps(lines).map(|(step, outcome)| FinishedStep::new(step, outcome)).collect();
    let finished = target.finished();
    if !journaled.starts_with(&finished) {
        return Err(format!(
            "{} steps were finished, and the journal has these: {:?}",
            finished.len(),
            journaled.iter().map(|step| &step.place).collect::<Vec<_>>()
        ));
    }
    // A step may be on disk although its process died before it could report it.
    if journaled.len() > finished.len() + 1 {
        let count = journaled.len() - finished.len();
        return Err(format!("{count} journaled steps were never finished"));
    }
    let places: BTreeSet<&String> = journaled.iter().map(|step| &step.place).collect();
    if places.len() < journaled.len() {
        return Err("a step is in the journal twice".into());
    }
    Ok(())
}

/// Checks that the first step after an interruption, and no other, has the gap.
fn check_gaps(lines: &[JournalLine]) -> Result<(), String> {
    let (mut has_held, mut is_interrupted) = (false, false);
    for line in lines {
        match &line.entry {
            JournalEntry::Opened { .. } => is_interrupted = has_held,
            JournalEntry::Settled { .. } | JournalEntry::Purged(_) | JournalEntry::Idled(_) => {
                has_held = true;
            }
            JournalEntry::Applied { step, outcome } => {
                if outcome.gap_before.is_some() != is_interrupted {
                    let gap = &outcome.gap_before;
                    return Err(format!("{}: interrupted {is_interrupted}, {gap:?}", step.place));
                }
                (has_held, is_interrupted) = (true, false);
            }
            _ => {}
        }
    }
    Ok(())
}

fn steps(lines: &[JournalLine]) -> impl Iterator<Item = (&Step, &Outcome)> {
    lines.iter().filter_map(|line| line.entry.applied())
}

fn procedure(plan: &RunPlan) -> Box<dyn Procedure> {
    steadfast_procedures::procedure(&plan.settings, plan.geometry(), &[])
        .unwrap_or_else(|error| panic!("{}: {error}", plan.settings.procedure))
}

/// Returns a factory-new drive.
pub fn new_drive() -> SharedDrive {
    Arc::new(Mutex::new(RememberedDrive::new(&DRIVE)))
}

fn text_of(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Records the steps that a program reports as finished.
struct Witness<'t> {
    world: &'t World,
    target: &'t TestedTarget,
    /// Number of steps reported by this process.
    position: usize,
}

impl<'t> Witness<'t> {
    fn new(world: &'t World, target: &'t TestedTarget) -> Witness<'t> {
        Witness { world, target, position: 0 }
    }
}

impl ProgressSink for Witness<'_> {
    fn report(&mut self, event: &RunEvent<'_>) {
        if let RunEvent::PowerCut(_, PowerCutStage::Judged(outcome)) = event {
            self.target.judged().push((*outcome).clone());
        }
        let RunEvent::Finished { step, outcome, replayed } = event else { return };
        let step = FinishedStep::new(step, outcome);
        let mut finished = self.target.finished();
        match (finished.get(self.position), replayed) {
            (None, _) => finished.push(step),
            (Some(known), true) if *known == step => {}
            (Some(known), _) => {
                let place = known.place.clone();
                self.world.violate(|| format!("finished, and measured again: {place}"));
            }
        }
        self.position += 1;
    }
}
