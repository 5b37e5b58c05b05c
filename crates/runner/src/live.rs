//! The live bench: every finished step is in the ledger before the procedure sees it, and steps in
//! the ledger are not repeated.
//!
//! Resuming is replaying: the procedure runs from its start, and the ledger answers its calls
//! until its entries are used up. Each journaled step must equal the requested one (load, seed,
//! place); otherwise the run is refused, as the procedure is not the one that started.

use crate::applied_settings::SettledConditions;
use crate::cooling::wait_until_cool;
use crate::gap;
use crate::host_changes::remove_undone;
use crate::journal_cursor::{BegunTrial, JournalCursor, TrialProgress};
use crate::ledger::{ClockReading, JournalLine, Ledger, LedgerError};
use crate::progress::{PowerCutStage, ProgressSink, RunEvent};
use crate::rig::{FlushDelivery, Rig};
use crate::run_position::RunPosition;
use crate::storage::RunStorage;
use std::fmt::Display;
use steadfast_domain::drive_page::DrivePage;
use steadfast_domain::power_cut::{CutEvidence, PowerCutOutcome, PowerCutTrial, WritePlan};
use steadfast_domain::record::{Check, CoolDown, HostChange, RereadOccasion};
use steadfast_domain::{
    Bench, Bytes, Caveat, Conditions, Gap, Halt, JournalEntry, Measurement, Nanos, Note, Outcome,
    Purge, Step,
};
use steadfast_host::{Directory, Examination, PurgeProgress};

/// A bench that measures.
pub struct LiveBench<'a, D: RunStorage = Directory> {
    rig: &'a mut dyn Rig,
    ledger: Ledger<D>,
    progress: &'a mut dyn ProgressSink,
    /// Journaled entries that are not replayed yet.
    replay: JournalCursor,
    /// Interruption before the next step.
    gap: Option<Gap>,
    settled: SettledConditions,
    /// True if the settled conditions are from before the interruption and must be set again.
    must_resettle: bool,
    /// Host changes that are not restored yet, oldest first.
    unrestored: Vec<HostChange>,
    /// True once the journal is replayed and the bench measures.
    is_live: bool,
    position: RunPosition,
    /// True while the load of the last step still runs because the step ended before it.
    has_running_load: bool,
    /// Error of `note`, which cannot return it; the next call or [`LiveBench::finish`] does.
    note_error: Option<Halt>,
    /// Checks of device and host that are in the journal.
    examined: Vec<Check>,
    /// True until the first load of a test: the device may have to cool down before it.
    awaits_first_load: bool,
    /// Evidence of the cut in the last trial, if the journal does not have it.
    cut_evidence: CutEvidence,
}

impl<'a, D: RunStorage> LiveBench<'a, D> {
    /// Creates a bench on a ledger that already contains `lines`.
    pub fn new(
        rig: &'a mut dyn Rig,
        ledger: Ledger<D>,
        lines: &[JournalLine],
        progress: &'a mut dyn ProgressSink,
    ) -> Self {
        let replay = JournalCursor::new(lines);
        let cut_evidence = if gap::restarted_in_trial(lines, rig.proof().as_ref()) {
            CutEvidence::HostRestarted
        } else {
            CutEvidence::Nothing
        };
        // A simulated drive is not affected by an interruption.
        let (gap, resumptions) = if rig.is_simulated() {
            (None, 0)
        } else {
            let is_opening =
                |line: &&JournalLine| matches!(line.entry, JournalEntry::Opened { .. });
            let resumptions = lines.iter().filter(is_opening).count() as u64;
            (gap::gap(lines, rig.now(), rig.proof()), resumptions)
        };
        if !replay.is_at_end() {
            progress.report(&RunEvent::Replaying { steps: replay.steps() });
        }
        LiveBench {
            rig,
            ledger,
            progress,
            replay,
            gap,
            settled: SettledConditions::default(),
            must_resettle: false,
            unrestored: unrestored(lines),
            is_live: false,
            position: RunPosition::new(resumptions),
            has_running_load: false,
            note_error: None,
            examined: Vec::new(),
            awaits_first_load: true,
            cut_evidence,
        }
    }

    /// Appends an entry to the ledger.
    pub fn journal(&mut self, entry: &JournalEntry) -> Result<(), Halt> {
        let now = self.rig.now();
        Ok(self.ledger.append(now, entry)?)
    }

    /// Returns true if the ledger was deleted.
    pub fn is_lost(&self) -> bool {
        matches!(self.ledger.check_not_deleted(), Err(LedgerError::Deleted { .. }))
    }

    /// Checks device and host, and journals the results. A simulated device has no checks.
    pub fn examine(&mut self) -> Result<(), Halt> {
        let Examination { checks, pages } = self.rig.examine();
        self.examined = checks;
        if self.examined.is_empty() {
            return Ok(());
        }
        self.progress.report(&RunEvent::Examined(&self.examined));
        self.journal(&JournalEntry::Examined(self.examined.clone()))?;
        self.journal_pages(pages)
    }

    /// Journals checks of the run's own sensors and of the host, in addition to those made before
    /// the run, and what the drive reports about itself now.
    pub fn check_after_run(&mut self) -> Result<(), Halt> {
        let pages = self.rig.drive_pages();
        self.journal_pages(pages)?;
        let checks = self.rig.check_after_run();
        if checks.is_empty() {
            return Ok(());
        }
        self.examined.extend(checks);
        self.journal(&JournalEntry::Examined(self.examined.clone()))
    }

    fn journal_pages(&mut self, pages: Vec<DrivePage>) -> Result<(), Halt> {
        if pages.is_empty() {
            return Ok(());
        }
        self.journal(&JournalEntry::DrivePages(pages))
    }

    /// Ends the load of the last step if it still runs.
    pub fn end_load(&mut self) {
        if std::mem::take(&mut self.has_running_load) {
            self.rig.end_load();
        }
    }

    /// Restores all host settings changed by this run, latest first. A change that cannot be
    /// restored or journaled does not stop the others; returns the first error.
    pub fn restore(&mut self) -> Result<(), Halt> {
        let mut result = Ok(());
        for change in std::mem::take(&mut self.unrestored).into_iter().rev() {
            let entry = JournalEntry::HostRestored(change.clone());
            let restored = self.rig.restore(&change).and_then(|()| self.journal(&entry));
            if restored.is_err() {
                self.unrestored.insert(0, change);
            }
            result = result.and(restored);
        }
        result
    }

    /// Starts measuring where the ledger ends. On a real device the settled conditions are set
    /// again, since a reboot resets them.
    fn go_live(&mut self) -> Result<(), Halt> {
        if let Some(halt) = self.note_error.take() {
            return Err(halt);
        }
        if std::mem::replace(&mut self.is_live, true) {
            return Ok(());
        }
        self.progress.report(&RunEvent::Live { gap: self.gap.as_ref() });
        if std::mem::take(&mut self.must_resettle)
            && let Some(wanted) = self.settled.wanted.clone()
        {
            let got = self.settle_rig(&wanted)?;
            self.journal_reread(got, None)?;
        }
        Ok(())
    }

    /// Reads back the settled conditions and journals them.
    fn reread_conditions(&mut self, when: RereadOccasion) -> Result<(), Halt> {
        if self.settled.wanted.is_none() {
            return Ok(());
        }
        match self.rig.read_back() {
            Some(found) => self.journal_reread(found, Some(when)),
            None => Ok(()),
        }
    }

    /// Sets the settled conditions again after a purge, which can reset a drive, and journals what
    /// was read back.
    fn settle_after_purge(&mut self) -> Result<(), Halt> {
        let Some(wanted) = self.settled.wanted.clone() else { return Ok(()) };
        if self.rig.read_back().is_none() {
            return Ok(());
        }
        let got = self.settle_rig(&wanted)?;
        self.journal_reread(got, Some(RereadOccasion::Purge))
    }

    /// Journals conditions that were set or read again, and a caveat if they changed. `when` is
    /// `None` for a resumed run.
    fn journal_reread(
        &mut self,
        got: Conditions,
        when: Option<RereadOccasion>,
    ) -> Result<(), Halt> {
        self.journal(&JournalEntry::Resettled { got: got.clone(), when })?;
        let Some(caveat) = self.settled.record_reading(&got, when) else { return Ok(()) };
        self.journal_caveat(caveat)
    }

    /// Shows and journals a caveat of the bench or its rig.
    fn journal_caveat(&mut self, caveat: Caveat) -> Result<(), Halt> {
        let note = Note::Caveat(caveat);
        self.progress.report(&RunEvent::Noted(&note));
        self.journal(&JournalEntry::Noted(Box::new(note)))
    }

    /// Ends a run whose procedure has ended: reads back the settled conditions if it measured.
    ///
    /// # Errors
    /// Returns an error if the last notes or the conditions could not be journaled.
    pub fn finish(&mut self) -> Result<(), Halt> {
        if let Some(halt) = self.note_error.take() {
            return Err(halt);
        }
        if self.is_live { self.reread_conditions(RereadOccasion::End) } else { Ok(()) }
    }

    fn settle_rig(&mut self, wanted: &Conditions) -> Result<Conditions, Halt> {
        let LiveBench { rig, ledger, unrestored, .. } = self;
        let now = rig.now();
        rig.settle(wanted, &mut |change| journal_change(ledger, unrestored, now, change))
    }

    fn purge_rig(&mut self) -> Result<Purge, Halt> {
        let LiveBench { rig, ledger, unrestored, progress, .. } = self;
        let now = rig.now();
        let mut journal = |change: &HostChange| journal_change(ledger, unrestored, now, change);
        let mut report = |done: &PurgeProgress<'_>| {
            progress.report(&RunEvent::PurgeProgress(done));
        };
        let purge = rig.purge(&mut journal, &mut report);
        match (purge, self.clear_passwords()) {
            (purge, Ok(())) => purge,
            (Ok(_), Err(why)) => Err(password_left(None, &why)),
            (Err(halt), Err(why)) => Err(password_left(Some(&halt), &why)),
        }
    }

    /// Removes the password that a purge set on the drive: after the purge, whether or not it
    /// succeeded, and when a run is resumed that died during a purge.
    pub fn clear_passwords(&mut self) -> Result<(), Halt> {
        let passwords = self.unrestored.iter().filter(|change| steadfast_host::is_password(change));
        for change in passwords.cloned().collect::<Vec<_>>() {
            self.rig.restore(&change)?;
            self.unrestored.retain(|other| *other != change);
            self.journal(&JournalEntry::HostRestored(change))?;
        }
        Ok(())
    }

    fn cool_down(&mut self) -> Result<Option<CoolDown>, Halt> {
        let Some(wanted) = self.rig.start_below() else { return Ok(None) };
        self.end_load();
        wait_until_cool(self.rig, self.progress, wanted).map(Some)
    }

    fn measure(&mut self, step: &Step) -> Result<Measurement, Halt> {
        let prepared = self.rig.prepare(step).map_err(|refusal| refusal.at_step(step))?;
        if !step.continues {
            self.end_load();
        }
        if let Some(gap) = self.rig.gap_before() {
            self.gap = Some(gap);
        }
        let start = self.position.start(step);
        let LiveBench { rig, progress, .. } = self;
        progress.report(&RunEvent::Begins(step));
        let result = rig.apply(prepared, &start, &mut |interval| {
            progress.report(&RunEvent::Interval(interval))
        });
        self.has_running_load = matches!(&result, Ok(m) if !m.complete);
        let measurement = result?;
        self.position.advance(step, &measurement);
        Ok(measurement)
    }

    /// Restores the state of a simulated device by repeating a step, which must give the same
    /// result.
    fn repeat_step(&mut self, step: &Step, journaled: &Outcome) -> Result<(), Halt> {
        let measurement = self.measure(step)?;
        // The gap is in the journal already.
        self.gap = None;
        if measurement == journaled.measurement { Ok(()) } else { Err(diverged(&step.place)) }
    }

    /// Opens what a trial needs and journals that it begins.
    fn begin_trial(&mut self, trial: &PowerCutTrial) -> Result<BegunTrial, Halt> {
        let nonce = self.rig.now_unix_ms();
        let plan = WritePlan::new(trial, nonce);
        let without_flushes = self.rig.prepare_cut(&plan)? == FlushDelivery::Dropped;
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

    fn write_until_cut(&mut self, plan: &WritePlan) -> Result<CutEvidence, Halt> {
        self.end_load();
        let LiveBench { rig, progress, .. } = self;
        let mut report = |stage: PowerCutStage<'_>| {
            progress.report(&RunEvent::PowerCut(&plan.trial, stage));
        };
        report(PowerCutStage::Writes);
        let result = rig.write_until_cut(plan, &mut report);
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

    fn read_after_cut(
        &mut self,
        begun: &BegunTrial,
        evidence: CutEvidence,
    ) -> Result<PowerCutOutcome, Halt> {
        let BegunTrial { plan, counters, without_flushes } = begun;
        self.progress.report(&RunEvent::PowerCut(&plan.trial, PowerCutStage::Reads));
        let counted = self.rig.power_counters().since(counters);
        let judged = self.rig.read_after_cut(plan)?;
        Ok(PowerCutOutcome { evidence, counted, without_flushes: *without_flushes, ..judged })
    }

    /// Repeats a trial on a simulated drive, which must give the same result.
    fn repeat_trial(
        &mut self,
        begun: &BegunTrial,
        journaled: &PowerCutOutcome,
    ) -> Result<(), Halt> {
        let evidence = self.write_until_cut(&begun.plan)?;
        if self.read_after_cut(begun, evidence)? == *journaled {
            return Ok(());
        }
        Err(diverged(format_args!("power cut {}", begun.plan.trial.cycle)))
    }

    /// Replays a finished step: repeats it on a simulated drive; on a real one, only moves the
    /// position past it.
    fn replay_step(&mut self, step: &Step, outcome: Outcome) -> Result<Outcome, Halt> {
        let is_first = std::mem::take(&mut self.awaits_first_load);
        if self.rig.is_simulated() {
            if is_first {
                self.cool_down()?;
            }
            self.repeat_step(step, &outcome)?;
        } else {
            self.position.advance(step, &outcome.measurement);
        }
        self.progress.report(&RunEvent::Finished { step, outcome: &outcome, replayed: true });
        Ok(outcome)
    }
}

/// Returns the host changes that no later entry restored.
pub fn unrestored(lines: &[JournalLine]) -> Vec<HostChange> {
    let mut changes: Vec<HostChange> = Vec::new();
    for line in lines {
        match &line.entry {
            JournalEntry::HostChange(change) => changes.push(change.clone()),
            JournalEntry::HostRestored(change) => remove_undone(&mut changes, change),
            _ => {}
        }
    }
    changes
}

/// Returns the refusal of a run whose drive is locked until the password is removed.
fn password_left(halt: Option<&Halt>, why: &Halt) -> Halt {
    let halt = halt.map(|halt| format!("{halt}; ")).unwrap_or_default();
    Halt::Refused(format!(
        "{halt}the ATA password that the purge set could not be removed ({why}); remove it with: \
         steadfast unlock RUN_DIR"
    ))
}

/// Returns the refusal of a journal that the simulated drive contradicts.
fn diverged(what: impl Display) -> Halt {
    Halt::Mismatch(format!(
        "{what}: the simulated drive did not repeat its earlier result; resume with the version of \
         steadfast that started the run"
    ))
}

/// Journals a change before it is made.
fn journal_change<D: RunStorage>(
    ledger: &mut Ledger<D>,
    unrestored: &mut Vec<HostChange>,
    now: ClockReading,
    change: &HostChange,
) -> Result<(), Halt> {
    ledger.append(now, &JournalEntry::HostChange(change.clone()))?;
    unrestored.push(change.clone());
    Ok(())
}

impl<D: RunStorage> Bench for LiveBench<'_, D> {
    fn settle(&mut self, wanted: &Conditions) -> Result<Conditions, Halt> {
        let got = if let Some(got) = self.replay.take_settled(wanted)? {
            if self.rig.is_simulated() {
                self.settle_rig(wanted)?;
            } else {
                self.must_resettle = true;
            }
            got
        } else {
            self.go_live()?;
            if self.settled.replaces_rule(wanted) {
                self.reread_conditions(RereadOccasion::NextRule)?;
            }
            let got = self.settle_rig(wanted)?;
            self.journal(&JournalEntry::Settled { wanted: wanted.clone(), got: got.clone() })?;
            got
        };
        self.settled.set(wanted, &got);
        self.progress.report(&RunEvent::Settled(&got));
        Ok(got)
    }

    fn purge(&mut self) -> Result<Purge, Halt> {
        let purge = if let Some(purge) = self.replay.take_purged()? {
            if self.rig.is_simulated() {
                self.purge_rig()?;
            }
            purge
        } else {
            self.go_live()?;
            self.end_load();
            self.progress.report(&RunEvent::Purging);
            if let Some(command) = self.rig.purge_command() {
                self.journal(&JournalEntry::PurgeCommand(command))?;
            }
            let purge = match self.purge_rig() {
                Ok(purge) => purge,
                Err(halt) => {
                    if let Some(record) = self.rig.failed_purge_command() {
                        self.journal(&JournalEntry::PurgeCommandFailed(record))?;
                    }
                    return Err(halt);
                }
            };
            // The purge sets the count of written bytes back to zero.
            if let Some(gap) = &mut self.gap {
                gap.written = Some(Bytes(0));
            }
            self.journal(&JournalEntry::Purged(purge.clone()))?;
            self.settle_after_purge()?;
            purge
        };
        self.settled.note_purge();
        self.awaits_first_load = true;
        self.progress.report(&RunEvent::Purged(&purge));
        Ok(purge)
    }

    fn apply(&mut self, step: &Step) -> Result<Outcome, Halt> {
        // Phases are counted in replayed steps, too.
        let ends_preconditioning = self.settled.begin_phase(&step.place.phase);
        if let Some(outcome) = self.replay.take_applied(step)? {
            return self.replay_step(step, outcome);
        }
        self.go_live()?;
        // A deleted ledger must be noticed before a step that may take an hour.
        self.ledger.check_not_deleted()?;
        if ends_preconditioning {
            self.end_load();
            self.reread_conditions(RereadOccasion::Preconditioning)?;
        }
        if std::mem::take(&mut self.awaits_first_load)
            && let Some(cooling) = self.cool_down()?
        {
            self.journal(&JournalEntry::Cooled(cooling))?;
        }
        let result = self.measure(step);
        for caveat in self.rig.take_caveats() {
            self.journal_caveat(caveat)?;
        }
        let outcome = Outcome { measurement: result?, gap_before: self.gap.take() };
        self.journal(&JournalEntry::Applied {
            step: Box::new(step.clone()),
            outcome: Box::new(outcome.clone()),
        })?;
        self.progress.report(&RunEvent::Finished { step, outcome: &outcome, replayed: false });
        Ok(outcome)
    }

    fn idle(&mut self, time: Nanos) -> Result<(), Halt> {
        if self.replay.take_idled(time)? {
            return if self.rig.is_simulated() { self.rig.idle(time) } else { Ok(()) };
        }
        self.go_live()?;
        self.end_load();
        self.rig.idle(time)?;
        self.journal(&JournalEntry::Idled(time))
    }

    fn cut_power(&mut self, trial: &PowerCutTrial) -> Result<PowerCutOutcome, Halt> {
        let journaled = self.replay.take_trial(trial)?;
        if let TrialProgress::Judged { trial: begun, outcome } = journaled {
            if self.rig.is_simulated() {
                self.repeat_trial(&begun, &outcome)?;
            }
            return Ok(*outcome);
        }
        self.go_live()?;
        let (begun, evidence) = match journaled {
            // A simulated drive lost the writes: repeat them.
            TrialProgress::Begun { trial, .. } if self.rig.is_simulated() => {
                let evidence = self.write_until_cut(&trial.plan)?;
                (trial, evidence)
            }
            TrialProgress::Begun { trial, evidence: Some(evidence) } => (trial, evidence),
            TrialProgress::Begun { trial, evidence: None } => {
                // The cut ended the process before it could journal any evidence.
                if self.cut_evidence != CutEvidence::Nothing {
                    self.journal(&JournalEntry::PowerCutSeen(self.cut_evidence))?;
                }
                (trial, self.cut_evidence)
            }
            _ => {
                // A deleted ledger must be noticed before the logs of the trial are created.
                self.ledger.check_not_deleted()?;
                let begun = self.begin_trial(trial)?;
                let evidence = self.write_until_cut(&begun.plan)?;
                (begun, evidence)
            }
        };
        let outcome = self.read_after_cut(&begun, evidence)?;
        self.journal(&JournalEntry::PowerCutJudged(Box::new(outcome.clone())))?;
        self.progress.report(&RunEvent::PowerCut(trial, PowerCutStage::Judged(&outcome)));
        Ok(outcome)
    }

    fn note(&mut self, note: &Note) {
        self.progress.report(&RunEvent::Noted(note));
        if self.replay.take_note() {
            return;
        }
        // A resumed run assumes that the journaled notes are the first ones, so none may follow a
        // lost note.
        if self.replay.is_at_end()
            && self.note_error.is_none()
            && let Err(halt) = self.journal(&JournalEntry::Noted(Box::new(note.clone())))
        {
            self.note_error = Some(halt);
        }
    }
}
