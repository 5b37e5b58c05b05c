//! The live bench: every finished step is in the ledger before the procedure sees it, and steps in
//! the ledger are not repeated.
//!
//! Resuming is replaying: the procedure runs from its start, and the ledger answers its calls
//! until its entries are used up. Each journaled step must equal the requested one (load, seed,
//! place); otherwise the run is refused, as the procedure is not the one that started.

use crate::applied_settings::SettledConditions;
use crate::host_changes::close;
use crate::ledger::{ClockReading, JournalLine, Ledger, LedgerError, is_measured};
use crate::outage;
use crate::progress::{PowerCutStage, ProgressSink, RunEvent};
use crate::rig::Rig;
use crate::storage::RunStorage;
use std::collections::{BTreeMap, VecDeque};
use steadfast_domain::drive_page::DrivePage;
use steadfast_domain::power_cut::{
    CutEvidence, PowerCounters, PowerCutOutcome, PowerCutTrial, WritePlan,
};
use steadfast_domain::record::{Check, CoolDown, HostChange, RereadOccasion};
use steadfast_domain::replayed::ScriptPosition;
use steadfast_domain::{
    Bench, Bytes, Caveat, Conditions, Gap, Halt, JournalEntry, Load, Measurement, Nanos, Note,
    Outcome, Purge, Step, caveats as ids,
};
use steadfast_engine::{StepStart, WorkDone};
use steadfast_host::{Directory, Examination, PurgeProgress};

/// A bench that measures.
pub struct LiveBench<'a, D: RunStorage = Directory> {
    rig: &'a mut dyn Rig,
    ledger: Ledger<D>,
    progress: &'a mut dyn ProgressSink,
    /// Journaled entries that are not replayed yet.
    past: VecDeque<JournalEntry>,
    /// Interruption before the next step.
    gap: Option<Gap>,
    /// Conditions wanted and obtained before the interruption, to be set again in `go_live`.
    resumed: Option<(Conditions, Conditions)>,
    settled: SettledConditions,
    /// Host changes that are not restored yet, oldest first.
    changed: Vec<HostChange>,
    /// True once the journal is replayed and the bench measures.
    is_live: bool,
    position: RunPosition,
    /// Error of `note`, which cannot return it; the next call or [`LiveBench::finish`] does.
    latched: Option<Halt>,
    /// Checks journaled so far.
    examined: Vec<Check>,
    /// True until the first load of a test: the device may have to cool down before it.
    at_start: bool,
    /// Evidence of the cut in the last trial, if the journal does not have it.
    cut_evidence: CutEvidence,
}

/// A trial of a power cut that is in the journal.
struct BegunTrial {
    plan: WritePlan,
    /// The drive's own counters before the writes.
    counters: PowerCounters,
    /// True if the kernel sends the drive no flush.
    without_flushes: bool,
}

/// Position of the run, from which the next step starts.
#[derive(Default)]
struct RunPosition {
    cursors: BTreeMap<String, Bytes>,
    done: WorkDone,
    /// Work done by each of several concurrent loads.
    done_apart: Vec<WorkDone>,
    script: ScriptPosition,
    running: bool,
    /// Number of resumptions since the last load was started.
    resumed: u64,
}

impl RunPosition {
    fn start(&mut self, step: &Step) -> StepStart {
        let done = if step.continues { self.done } else { WorkDone::default() };
        let done_apart = if step.continues { self.done_apart.clone() } else { Vec::new() };
        let script = if step.continues { self.script } else { ScriptPosition::default() };
        let resumed = std::mem::take(&mut self.resumed);
        let cursors = self.cursors.clone();
        StepStart { cursors, done, done_apart, script, resumed, begins: None }
    }
    fn advance(&mut self, step: &Step, measurement: &Measurement) {
        if !step.continues {
            self.done = WorkDone::default();
            self.done_apart.clear();
        }
        self.advance_apart(step, measurement);
        self.done.time += measurement.elapsed;
        self.done.bytes += measurement.bytes();
        self.done.ios += measurement.drawn_ios();
        self.cursors.extend(measurement.cursors.clone());
        self.script = measurement.replay.as_ref().map_or(ScriptPosition::default(), |r| r.position);
    }
}

impl RunPosition {
    /// Concurrent loads end independently: one that has ended is not started again.
    fn advance_apart(&mut self, step: &Step, measurement: &Measurement) {
        self.done_apart.resize(measurement.parts.len(), WorkDone::default());
        let loads = step.load.stimuli();
        let parts = self.done_apart.iter_mut().zip(measurement.apart());
        for (at, (done, (streams, _))) in parts.enumerate() {
            done.time += measurement.elapsed;
            done.bytes += Bytes(streams.iter().map(|s| s.tally.bytes.0).sum());
            // The last tally of a load that flushes after its writes is that of the flushes.
            let flushes = loads.get(at).is_some_and(|load| load.flush_every().is_some());
            let drawn = &streams[..streams.len().saturating_sub(usize::from(flushes))];
            done.ios += drawn.iter().map(|s| s.tally.ios).sum::<u64>();
        }
    }
}

impl<'a, D: RunStorage> LiveBench<'a, D> {
    /// Creates a bench on a ledger that already contains `lines`.
    pub fn new(
        rig: &'a mut dyn Rig,
        ledger: Ledger<D>,
        lines: &[JournalLine],
        progress: &'a mut dyn ProgressSink,
    ) -> Self {
        let past: VecDeque<JournalEntry> = lines
            .iter()
            .map(|line| &line.entry)
            .filter(|entry| is_measured(entry) && !is_own_note(entry))
            .cloned()
            .collect();
        let steps = past.iter().filter(|e| matches!(e, JournalEntry::Applied { .. })).count();
        let gap = if rig.forgets() { None } else { outage::gap(lines, rig.now(), rig.proof()) };
        let cut_evidence = if outage::restarted_in_trial(lines, rig.proof().as_ref()) {
            CutEvidence::HostRestarted
        } else {
            CutEvidence::Nothing
        };
        // A simulated drive is not affected by an interrupted step.
        let opened =
            lines.iter().filter(|l| matches!(l.entry, JournalEntry::Opened { .. })).count() as u64;
        let resumed = if rig.forgets() { 0 } else { opened };
        if !past.is_empty() {
            progress.tell(&RunEvent::Replaying { steps });
        }
        LiveBench {
            rig,
            ledger,
            progress,
            past,
            gap,
            resumed: None,
            settled: SettledConditions::default(),
            changed: unrestored(lines),
            is_live: false,
            position: RunPosition { resumed, ..RunPosition::default() },
            latched: None,
            examined: Vec::new(),
            at_start: true,
            cut_evidence,
        }
    }

    /// Writes an entry that is not part of the procedure.
    pub fn journal(&mut self, entry: &JournalEntry) -> Result<(), Halt> {
        let now = self.rig.now();
        self.ledger.append(now, entry).map_err(failed)
    }

    /// Returns true if the ledger was deleted.
    pub fn is_lost(&self) -> bool {
        matches!(self.ledger.is_there(), Err(LedgerError::Deleted { .. }))
    }

    /// Checks device and host, and journals the results. A simulated device has none.
    pub fn examine(&mut self) -> Result<(), Halt> {
        let Examination { checks, pages } = self.rig.examine();
        self.examined = checks;
        if self.examined.is_empty() {
            return Ok(());
        }
        self.progress.tell(&RunEvent::Examined(&self.examined));
        self.journal(&JournalEntry::Examined(self.examined.clone()))?;
        self.journal_pages(pages)
    }

    /// Journals checks of the run's own sensors and of the host, in addition to those made before
    /// the run, and what the drive reports about itself now.
    pub fn check_after_run(&mut self) -> Result<(), Halt> {
        let pages = self.rig.drive_pages();
        self.journal_pages(pages)?;
        let shown = self.rig.check_after_run();
        if shown.is_empty() {
            return Ok(());
        }
        self.examined.extend(shown);
        self.journal(&JournalEntry::Examined(self.examined.clone()))
    }

    fn journal_pages(&mut self, pages: Vec<DrivePage>) -> Result<(), Halt> {
        if pages.is_empty() {
            return Ok(());
        }
        self.journal(&JournalEntry::DrivePages(pages))
    }

    /// Ends a load that was left running by a cut.
    pub fn end_load(&mut self) {
        if std::mem::take(&mut self.position.running) {
            self.rig.end_load();
        }
    }

    /// Restores all host settings changed by this run, latest first. A change that cannot be
    /// restored or journaled does not stop the others; returns the first error.
    pub fn restore(&mut self) -> Result<(), Halt> {
        let mut result = Ok(());
        for change in std::mem::take(&mut self.changed).into_iter().rev() {
            let entry = JournalEntry::HostRestored(change.clone());
            let restored = self.rig.restore(&change).and_then(|()| self.journal(&entry));
            if restored.is_err() {
                self.changed.insert(0, change);
            }
            result = result.and(restored);
        }
        result
    }

    /// Starts measuring where the ledger ends. On a real device the settled conditions are set
    /// again, since a reboot resets them.
    fn go_live(&mut self) -> Result<(), Halt> {
        if let Some(halt) = self.latched.take() {
            return Err(halt);
        }
        if std::mem::replace(&mut self.is_live, true) {
            return Ok(());
        }
        self.progress.tell(&RunEvent::Live { gap: self.gap.as_ref() });
        let Some((wanted, before)) = self.resumed.take() else { return Ok(()) };
        let got = self.settle_rig(&wanted)?;
        self.journal(&JournalEntry::Resettled { got: got.clone(), when: None })?;
        self.settled.set(&wanted, &got);
        if got != before {
            let caveat = Caveat::deviation(
                ids::CONDITIONS_CHANGED,
                "Host or device settings changed while the run was interrupted.",
                "Compare the conditions in the chapter of settings.",
            );
            self.journal(&JournalEntry::Noted(Box::new(Note::Caveat(caveat))))?;
        }
        Ok(())
    }

    /// Reads back the settled conditions, journals them, and adds a caveat if they changed. Sets
    /// them again first if `set` is true.
    fn read_again(&mut self, when: RereadOccasion, set: bool) -> Result<(), Halt> {
        let (Some(wanted), Some(found)) = (self.settled.wanted(), self.rig.read_back()) else {
            return Ok(());
        };
        let got = if set { self.settle_rig(&wanted)? } else { found };
        self.journal(&JournalEntry::Resettled { got: got.clone(), when: Some(when) })?;
        let Some(caveat) = self.settled.read(&got, when) else { return Ok(()) };
        let note = Note::Caveat(caveat);
        self.progress.tell(&RunEvent::Noted(&note));
        self.journal(&JournalEntry::Noted(Box::new(note)))
    }

    /// Ends a run whose procedure has ended: reads back the settled conditions if it measured.
    ///
    /// # Errors
    /// Returns an error if the last notes or the conditions could not be journaled.
    pub fn finish(&mut self) -> Result<(), Halt> {
        if let Some(halt) = self.latched.take() {
            return Err(halt);
        }
        if self.is_live { self.read_again(RereadOccasion::End, false) } else { Ok(()) }
    }

    fn settle_rig(&mut self, wanted: &Conditions) -> Result<Conditions, Halt> {
        let LiveBench { rig, ledger, changed, .. } = self;
        let now = rig.now();
        rig.settle(wanted, &mut |change| keep(ledger, changed, now, change))
    }

    fn purge_rig(&mut self) -> Result<Purge, Halt> {
        let LiveBench { rig, ledger, changed, progress, .. } = self;
        let now = rig.now();
        let mut journal = |change: &HostChange| keep(ledger, changed, now, change);
        let mut tell = |done: &PurgeProgress<'_>| progress.tell(&RunEvent::PurgeProgress(done));
        let purge = rig.purge(&mut journal, &mut tell);
        match (purge, self.clear_passwords()) {
            (purge, Ok(())) => purge,
            (Ok(_), Err(left)) => Err(password_left(None, &left)),
            (Err(halt), Err(left)) => Err(password_left(Some(&halt), &left)),
        }
    }

    /// Removes the password that a purge set on the drive: after the purge, whether or not it
    /// succeeded, and when a run is resumed that died during a purge.
    pub fn clear_passwords(&mut self) -> Result<(), Halt> {
        let passwords = self.changed.iter().filter(|change| steadfast_host::is_password(change));
        for change in passwords.cloned().collect::<Vec<_>>() {
            self.rig.restore(&change)?;
            self.changed.retain(|other| *other != change);
            self.journal(&JournalEntry::HostRestored(change))?;
        }
        Ok(())
    }

    /// Waits until the device is as cool as the user wants it before the first load of a test.
    fn cool_down(&mut self) -> Result<Option<CoolDown>, Halt> {
        let Some(wanted) = self.rig.start_below() else { return Ok(None) };
        self.end_load();
        let (below, mut from, mut waited) = (wanted.celsius, None, Nanos::ZERO);
        let (mut failed_readings, mut failed_in_a_row) = (0, 0);
        let mut last = None;
        loop {
            if let Some(to) = self.rig.temperature() {
                failed_in_a_row = 0;
                let from = *from.get_or_insert(to);
                let cooling = CoolDown { below, from, to, waited, failed_readings };
                if to < below {
                    self.progress.tell(&RunEvent::Cooled(&cooling));
                    return Ok(Some(cooling));
                }
                last = Some(cooling);
            } else {
                failed_readings += 1;
                failed_in_a_row += 1;
            }
            let left = wanted.limit.saturating_sub(waited);
            let device = &self.rig.device().path;
            if failed_in_a_row == READINGS_FAILED || (left == Nanos::ZERO && last.is_none()) {
                return Err(no_temperature(device, failed_in_a_row));
            }
            if let Some(cooling) = &last {
                if left == Nanos::ZERO {
                    return Err(too_warm(device, &CoolDown { waited, ..*cooling }));
                }
                self.progress.tell(&RunEvent::Cooling { cooling, limit: wanted.limit });
            }
            let pause = left.min(COOLING_LOOK);
            self.rig.idle(pause)?;
            waited += pause;
        }
    }

    fn run(&mut self, step: &Step) -> Result<Measurement, Halt> {
        let prepared = self.rig.prepare(step).map_err(|refusal| refusal.at_step(step))?;
        if !step.continues {
            self.end_load();
        }
        if let Some(gap) = self.rig.gap_before() {
            self.gap = Some(gap);
        }
        let start = self.position.start(step);
        let LiveBench { rig, progress, .. } = self;
        progress.tell(&RunEvent::Begins(step));
        let result = rig
            .apply(prepared, &start, &mut |interval| progress.tell(&RunEvent::Interval(interval)));
        self.position.running = matches!(&result, Ok(m) if !m.complete);
        let measurement = result?;
        self.position.advance(step, &measurement);
        Ok(measurement)
    }

    /// Journals the caveats of a step, whether or not it succeeded.
    fn keep_caveats(&mut self) -> Result<(), Halt> {
        for caveat in self.rig.take_caveats() {
            let note = Note::Caveat(caveat);
            self.progress.tell(&RunEvent::Noted(&note));
            self.journal(&JournalEntry::Noted(Box::new(note)))?;
        }
        Ok(())
    }

    /// Restores the state of a simulated device by repeating a step, which must give the same
    /// result.
    fn run_again(&mut self, step: &Step, journaled: &Outcome) -> Result<(), Halt> {
        let measurement = self.run(step)?;
        // The gap is in the journal already.
        self.gap = None;
        if measurement == journaled.measurement {
            return Ok(());
        }
        Err(Halt::Mismatch(format!(
            "{}: the simulated drive did not repeat its earlier result; resume with the version of \
             steadfast that started the run",
            step.place
        )))
    }

    /// Opens what a trial needs and journals that it begins.
    fn begin_trial(&mut self, trial: &PowerCutTrial) -> Result<BegunTrial, Halt> {
        let nonce = self.rig.now_unix_ms();
        let plan = WritePlan::new(trial, nonce);
        let without_flushes = self.rig.prepare_cut(&plan)?;
        let counters = self.rig.power_counters();
        self.journal(&JournalEntry::PowerCutBegan {
            trial: Box::new(trial.clone()),
            nonce,
            command: self.rig.cut_command(),
            counters,
            without_flushes,
        })?;
        Ok(BegunTrial { plan, counters, without_flushes })
    }

    /// Writes the blocks of a trial until the power is cut.
    fn write_until_cut(&mut self, plan: &WritePlan) -> Result<CutEvidence, Halt> {
        self.end_load();
        let LiveBench { rig, progress, .. } = self;
        progress.tell(&RunEvent::PowerCut(&plan.trial, PowerCutStage::Writes));
        let mut tell = |stage: PowerCutStage<'_>| {
            progress.tell(&RunEvent::PowerCut(&plan.trial, stage));
        };
        let result = rig.write_until_cut(plan, &mut tell);
        match &result {
            Err(Halt::PowerCut { .. }) => {
                self.journal(&JournalEntry::PowerCutSeen(CutEvidence::DeviceFailed))?;
            }
            Ok(CutEvidence::MediumError) => {
                self.journal(&JournalEntry::PowerCutSeen(CutEvidence::MediumError))?;
            }
            _ => {}
        }
        result
    }

    /// Reads the blocks of a trial back and judges them.
    fn read_after_cut(
        &mut self,
        begun: &BegunTrial,
        evidence: CutEvidence,
    ) -> Result<PowerCutOutcome, Halt> {
        let BegunTrial { plan, counters, without_flushes } = begun;
        self.progress.tell(&RunEvent::PowerCut(&plan.trial, PowerCutStage::Reads));
        let counted = self.rig.power_counters().since(counters);
        let judged = self.rig.read_after_cut(plan)?;
        Ok(PowerCutOutcome { evidence, counted, without_flushes: *without_flushes, ..judged })
    }

    /// Repeats a trial on a simulated drive, which must give the same result.
    fn cut_again(&mut self, begun: &BegunTrial, journaled: &PowerCutOutcome) -> Result<(), Halt> {
        let evidence = self.write_until_cut(&begun.plan)?;
        if self.read_after_cut(begun, evidence)? == *journaled {
            return Ok(());
        }
        Err(Halt::Mismatch(format!(
            "power cut {}: the simulated drive did not repeat its earlier result; resume with the \
             version of steadfast that started the run",
            begun.plan.trial.cycle
        )))
    }

    fn replay(&mut self, step: &Step, past: &Step, outcome: Outcome) -> Result<Outcome, Halt> {
        check_same(step, past)?;
        let is_first = std::mem::take(&mut self.at_start);
        if self.rig.forgets() {
            if is_first {
                self.cool_down()?;
            }
            self.run_again(step, &outcome)?;
        } else {
            self.position.advance(step, &outcome.measurement);
        }
        self.progress.tell(&RunEvent::Finished { step, outcome: &outcome, replayed: true });
        Ok(outcome)
    }
}

/// Returns true for notes of the bench or its rig. A replayed procedure does not make them, so
/// they must not be expected.
fn is_own_note(entry: &JournalEntry) -> bool {
    let JournalEntry::Noted(note) = entry else { return false };
    match note.as_ref() {
        Note::Caveat(caveat) => ids::BENCH_CAVEATS.contains(&caveat.id.as_str()),
        _ => false,
    }
}

/// Returns the host changes that no later entry restored.
pub fn unrestored(lines: &[JournalLine]) -> Vec<HostChange> {
    let mut open: Vec<HostChange> = Vec::new();
    for line in lines {
        match &line.entry {
            JournalEntry::HostChange(change) => open.push(change.clone()),
            JournalEntry::HostRestored(change) => close(&mut open, change),
            _ => {}
        }
    }
    open
}

/// Returns a refusal that names the password first: the drive is locked until it is removed.
fn password_left(halt: Option<&Halt>, why: &Halt) -> Halt {
    let halt = halt.map(|halt| format!("{halt}; ")).unwrap_or_default();
    Halt::Refused(format!(
        "{halt}the ATA password that the purge set could not be removed ({why}); remove it with: \
         steadfast unlock RUN_DIR"
    ))
}

/// Journals a change before it is made.
fn keep<D: RunStorage>(
    ledger: &mut Ledger<D>,
    changed: &mut Vec<HostChange>,
    now: ClockReading,
    change: &HostChange,
) -> Result<(), Halt> {
    let entry = JournalEntry::HostChange(change.clone());
    ledger.append(now, &entry).map_err(failed)?;
    changed.push(change.clone());
    Ok(())
}

/// Interval between two looks at the temperature of a device that cools down: a look may take a
/// tool some hundred milliseconds.
const COOLING_LOOK: Nanos = Nanos::from_secs(10);

/// Number of failed readings in a row after which the temperature counts as lost.
const READINGS_FAILED: u32 = 3;

fn no_temperature(device: &str, readings: u32) -> Halt {
    Halt::Refused(format!(
        "{device} no longer reports its temperature, which --start-below needs: the last {readings} \
         readings failed; check its sensor, then resume the run"
    ))
}

fn too_warm(device: &str, cooling: &CoolDown) -> Halt {
    Halt::Refused(format!(
        "{device}: after {} without I/O, the device has {:.1} C and not less than {:.1} C \
         (--start-below); cool it, then resume the run, which waits again",
        cooling.waited, cooling.to, cooling.below
    ))
}

fn failed(error: LedgerError) -> Halt {
    Halt::Ledger(error.to_string())
}

fn check_same(asked: &Step, journaled: &Step) -> Result<(), Halt> {
    let same_place = (&asked.place.phase, asked.place.round, asked.place.point)
        == (&journaled.place.phase, journaled.place.round, journaled.place.point);
    let same_load = asked.load == journaled.load
        && (asked.cut, asked.continues) == (journaled.cut, journaled.continues)
        && (&asked.groups, asked.interval) == (&journaled.groups, journaled.interval);
    if same_place && same_load {
        return Ok(());
    }
    let what = match (&asked.load, &journaled.load) {
        _ if !same_place => "another place",
        (Load::Stimulus(a), Load::Stimulus(b)) if a.seed != b.seed => "another seed",
        _ => "another load",
    };
    Err(Halt::Mismatch(format!("the journal has {} with {what}: {}", asked.place, journaled.place)))
}

fn unexpected(wanted: &str, found: &JournalEntry) -> Halt {
    let found = match found {
        JournalEntry::Settled { .. } => "settled conditions".to_owned(),
        JournalEntry::Purged(_) => "a purge".to_owned(),
        JournalEntry::Applied { step, .. } => format!("{}", step.place),
        JournalEntry::Idled(_) => "an idle time".to_owned(),
        JournalEntry::PowerCutBegan { trial, .. } => format!("power cut {}", trial.cycle),
        JournalEntry::Noted(_) => "a note".to_owned(),
        _ => "another entry".to_owned(),
    };
    Halt::Mismatch(format!("the procedure asks for {wanted}, the journal has {found}"))
}

impl<D: RunStorage> Bench for LiveBench<'_, D> {
    fn settle(&mut self, wanted: &Conditions) -> Result<Conditions, Halt> {
        let got = match self.past.pop_front() {
            Some(JournalEntry::Settled { wanted: before, got }) if before == *wanted => {
                if self.rig.forgets() {
                    self.settle_rig(wanted)?;
                } else {
                    self.resumed = Some((wanted.clone(), got.clone()));
                }
                got
            }
            Some(other) => return Err(unexpected("settled conditions", &other)),
            None => {
                self.go_live()?;
                if self.settled.replaces_rule(wanted) {
                    self.read_again(RereadOccasion::NextRule, false)?;
                }
                let got = self.settle_rig(wanted)?;
                self.journal(&JournalEntry::Settled { wanted: wanted.clone(), got: got.clone() })?;
                got
            }
        };
        self.settled.set(wanted, &got);
        self.progress.tell(&RunEvent::Settled(&got));
        Ok(got)
    }

    fn purge(&mut self) -> Result<Purge, Halt> {
        let purge = match self.past.pop_front() {
            Some(JournalEntry::Purged(purge)) => {
                if self.rig.forgets() {
                    self.purge_rig()?;
                }
                purge
            }
            Some(other) => return Err(unexpected("a purge", &other)),
            None => {
                self.go_live()?;
                self.end_load();
                self.progress.tell(&RunEvent::Purging);
                if let Some(command) = self.rig.purge_command() {
                    self.journal(&JournalEntry::PurgeCommand(command))?;
                }
                let purge = self.purge_rig()?;
                // Written bytes are counted from the purge on.
                if let Some(gap) = &mut self.gap {
                    gap.written = Some(Bytes(0));
                }
                self.journal(&JournalEntry::Purged(purge.clone()))?;
                self.read_again(RereadOccasion::Purge, true)?;
                purge
            }
        };
        self.settled.purged();
        self.at_start = true;
        self.progress.tell(&RunEvent::Purged(&purge));
        Ok(purge)
    }

    fn apply(&mut self, step: &Step) -> Result<Outcome, Halt> {
        let precondition_ends = self.settled.precondition_ends(&step.place.phase);
        match self.past.pop_front() {
            Some(JournalEntry::Applied { step: past, outcome }) => {
                self.replay(step, &past, *outcome)
            }
            Some(other) => Err(unexpected(&step.place.to_string(), &other)),
            None => {
                self.go_live()?;
                // Do not start a step of an hour if the journal is gone.
                self.ledger.is_there().map_err(failed)?;
                if precondition_ends {
                    self.end_load();
                    self.read_again(RereadOccasion::Preconditioning, false)?;
                }
                if std::mem::take(&mut self.at_start)
                    && let Some(cooling) = self.cool_down()?
                {
                    self.journal(&JournalEntry::Cooled(cooling))?;
                }
                let result = self.run(step);
                self.keep_caveats()?;
                let measurement = result?;
                let outcome = Outcome { measurement, gap_before: self.gap.take() };
                self.journal(&JournalEntry::Applied {
                    step: Box::new(step.clone()),
                    outcome: Box::new(outcome.clone()),
                })?;
                self.progress.tell(&RunEvent::Finished {
                    step,
                    outcome: &outcome,
                    replayed: false,
                });
                Ok(outcome)
            }
        }
    }

    fn idle(&mut self, time: Nanos) -> Result<(), Halt> {
        match self.past.pop_front() {
            Some(JournalEntry::Idled(past)) if past == time => {
                if self.rig.forgets() {
                    self.rig.idle(time)
                } else {
                    Ok(())
                }
            }
            Some(other) => Err(unexpected("an idle time", &other)),
            None => {
                self.go_live()?;
                self.end_load();
                self.rig.idle(time)?;
                self.journal(&JournalEntry::Idled(time))
            }
        }
    }

    fn cut_power(&mut self, trial: &PowerCutTrial) -> Result<PowerCutOutcome, Halt> {
        let wanted = || format!("power cut {}", trial.cycle);
        let begun = match self.past.pop_front() {
            Some(JournalEntry::PowerCutBegan {
                trial: past,
                nonce,
                counters,
                without_flushes,
                ..
            }) if *past == *trial => {
                Some(BegunTrial { plan: WritePlan::new(trial, nonce), counters, without_flushes })
            }
            Some(other) => return Err(unexpected(&wanted(), &other)),
            None => None,
        };
        let seen = match self.past.front() {
            Some(JournalEntry::PowerCutSeen(evidence)) => Some(*evidence),
            _ => None,
        };
        if seen.is_some() {
            self.past.pop_front();
        }
        let outcome = match (begun, self.past.pop_front()) {
            (Some(begun), Some(JournalEntry::PowerCutJudged(outcome))) => {
                if self.rig.forgets() {
                    self.cut_again(&begun, &outcome)?;
                }
                return Ok(*outcome);
            }
            (_, Some(other)) => return Err(unexpected(&wanted(), &other)),
            (Some(begun), None) if !self.rig.forgets() => {
                self.go_live()?;
                let evidence = seen.unwrap_or(self.cut_evidence);
                if seen.is_none() && evidence != CutEvidence::Nothing {
                    self.journal(&JournalEntry::PowerCutSeen(evidence))?;
                }
                self.read_after_cut(&begun, evidence)?
            }
            (begun, None) => {
                self.go_live()?;
                self.ledger.is_there().map_err(failed)?;
                let begun = match begun {
                    Some(begun) => begun,
                    None => self.begin_trial(trial)?,
                };
                let evidence = self.write_until_cut(&begun.plan)?;
                self.read_after_cut(&begun, evidence)?
            }
        };
        self.journal(&JournalEntry::PowerCutJudged(Box::new(outcome.clone())))?;
        let stage = PowerCutStage::Judged(&outcome);
        self.progress.tell(&RunEvent::PowerCut(trial, stage));
        Ok(outcome)
    }

    fn note(&mut self, note: &Note) {
        self.progress.tell(&RunEvent::Noted(note));
        // A newer version may phrase a note differently, so journaled notes are not compared; they
        // follow from the same steps.
        if let Some(JournalEntry::Noted(_)) = self.past.front() {
            self.past.pop_front();
            return;
        }
        // A resumed run assumes that the journaled notes are the first ones, so none may follow a
        // lost note.
        if self.past.is_empty()
            && self.latched.is_none()
            && let Err(halt) = self.journal(&JournalEntry::Noted(Box::new(note.clone())))
        {
            self.latched = Some(halt);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::stimulus::{ActiveRange, LoadLimits};
    use steadfast_domain::{Bytes, Demand, ReplayResult, StepPlace, Stimulus};

    #[test]
    fn a_script_that_continues_goes_on_where_its_last_step_left_it() {
        let range = ActiveRange::new(Bytes(0), Bytes(0));
        let stimulus = Stimulus::new(Vec::new(), range, Demand::new(1, 1), LoadLimits::ios(1));
        let mut step = Step::alone(StepPlace::new("replay", 0, 1, ""), stimulus);
        let mut position = RunPosition::default();
        assert_eq!(position.start(&step).script, ScriptPosition::default());
        let at = ScriptPosition { ios: 7, time: Nanos::SECOND };
        let replay = Some(Box::new(ReplayResult { position: at, ..ReplayResult::default() }));
        position.advance(&step, &Measurement { replay, ..Measurement::default() });
        step.continues = true;
        assert_eq!(position.start(&step).script, at);
        step.continues = false;
        assert_eq!(position.start(&step).script, ScriptPosition::default());
        position.advance(&step, &Measurement::default());
        step.continues = true;
        assert_eq!(position.start(&step).script, ScriptPosition::default());
    }
}
