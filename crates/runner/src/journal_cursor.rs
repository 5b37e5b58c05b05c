//! The journaled entries of a resumed run, which answer the calls of its procedure until they are
//! used up.
//!
//! Every entry must match the call: otherwise the procedure is not the one that started the run,
//! and the run is refused.

use crate::ledger::{JournalLine, is_measured};
use std::collections::VecDeque;
use steadfast_domain::power_cut::{
    CutEvidence, PowerCounters, PowerCutOutcome, PowerCutTrial, WritePlan,
};
use steadfast_domain::{
    Conditions, Halt, JournalEntry, Load, Nanos, Note, Outcome, Purge, Step, caveats as ids,
};

/// Position in the journaled entries of a run. `take_settled` and the methods like it take the next
/// entry as the answer to that call.
pub(crate) struct JournalCursor {
    /// Entries that did not answer a call yet.
    entries: VecDeque<JournalEntry>,
}

/// A power-cut trial whose beginning is journaled.
pub(crate) struct BegunTrial {
    pub plan: WritePlan,
    /// The drive's own counters before the writes.
    pub counters: PowerCounters,
    /// True if the kernel sends the drive no flush.
    pub without_flushes: bool,
}

/// Progress of a trial of a power cut according to the journal.
pub(crate) enum TrialProgress {
    /// The journal has no entry of the trial.
    NotBegun,
    /// The writes of the trial began; its blocks were not read back yet.
    Begun {
        trial: BegunTrial,
        /// Evidence of the cut; `None` if the process ended before it was journaled.
        evidence: Option<CutEvidence>,
    },
    /// The blocks of the trial were read back and judged.
    Judged { trial: BegunTrial, outcome: Box<PowerCutOutcome> },
}

impl JournalCursor {
    /// Creates a cursor at the first of the entries that answer a procedure's calls.
    pub fn new(lines: &[JournalLine]) -> JournalCursor {
        let entries = lines.iter().map(|line| &line.entry);
        let replayed = entries.filter(|entry| is_measured(entry) && !is_bench_note(entry));
        JournalCursor { entries: replayed.cloned().collect() }
    }

    /// Returns true if all entries are used up.
    pub fn is_at_end(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the number of steps ahead.
    pub fn steps(&self) -> usize {
        let is_step = |entry: &&JournalEntry| matches!(entry, JournalEntry::Applied { .. });
        self.entries.iter().filter(is_step).count()
    }

    /// Returns the conditions that the run obtained when it requested `wanted`; `None` at the end.
    ///
    /// # Errors
    /// Returns [`Halt::Mismatch`] if the next entry does not answer this call, as do the other
    /// methods.
    pub fn take_settled(&mut self, wanted: &Conditions) -> Result<Option<Conditions>, Halt> {
        match self.entries.pop_front() {
            None => Ok(None),
            Some(JournalEntry::Settled { wanted: before, got }) if before == *wanted => {
                Ok(Some(got))
            }
            Some(other) => Err(unexpected("settled conditions", &other)),
        }
    }

    /// Returns the result of a purge; `None` at the end.
    pub fn take_purged(&mut self) -> Result<Option<Purge>, Halt> {
        match self.entries.pop_front() {
            None => Ok(None),
            Some(JournalEntry::Purged(purge)) => Ok(Some(purge)),
            Some(other) => Err(unexpected("a purge", &other)),
        }
    }

    /// Returns the outcome of a step; `None` at the end.
    pub fn take_applied(&mut self, step: &Step) -> Result<Option<Outcome>, Halt> {
        match self.entries.pop_front() {
            None => Ok(None),
            Some(JournalEntry::Applied { step: journaled, outcome }) => {
                check_same(step, &journaled)?;
                Ok(Some(*outcome))
            }
            Some(other) => Err(unexpected(&step.place.to_string(), &other)),
        }
    }

    /// Returns true if the device was left idle for `time`; false at the end.
    pub fn take_idled(&mut self, time: Nanos) -> Result<bool, Halt> {
        match self.entries.pop_front() {
            None => Ok(false),
            Some(JournalEntry::Idled(journaled)) if journaled == time => Ok(true),
            Some(other) => Err(unexpected("an idle time", &other)),
        }
    }

    /// Returns the progress of a trial of a power cut.
    pub fn take_trial(&mut self, trial: &PowerCutTrial) -> Result<TrialProgress, Halt> {
        let name = || format!("power cut {}", trial.cycle);
        let begun = match self.entries.pop_front() {
            None => return Ok(TrialProgress::NotBegun),
            Some(JournalEntry::PowerCutBegan {
                trial: journaled,
                nonce,
                counters,
                without_flushes,
                ..
            }) if *journaled == *trial => {
                BegunTrial { plan: WritePlan::new(trial, nonce), counters, without_flushes }
            }
            Some(other) => return Err(unexpected(&name(), &other)),
        };
        let mut evidence = None;
        if let Some(JournalEntry::PowerCutSeen(seen)) = self.entries.front() {
            evidence = Some(*seen);
            self.entries.pop_front();
        }
        match self.entries.pop_front() {
            None => Ok(TrialProgress::Begun { trial: begun, evidence }),
            Some(JournalEntry::PowerCutJudged(outcome)) => {
                Ok(TrialProgress::Judged { trial: begun, outcome })
            }
            Some(other) => Err(unexpected(&name(), &other)),
        }
    }

    /// Skips the next entry if it is a note; returns true if it was. The text is not compared: the
    /// steps that lead to it are, and a newer version may phrase it differently.
    pub fn take_note(&mut self) -> bool {
        self.entries.pop_front_if(|entry| matches!(entry, JournalEntry::Noted(_))).is_some()
    }
}

/// Returns true for notes of the bench or its rig. A replayed procedure does not make them, so
/// they must not be expected.
fn is_bench_note(entry: &JournalEntry) -> bool {
    let JournalEntry::Noted(note) = entry else { return false };
    match note.as_ref() {
        Note::Caveat(caveat) => ids::BENCH_CAVEATS.contains(&caveat.id.as_str()),
        _ => false,
    }
}

fn check_same(requested: &Step, journaled: &Step) -> Result<(), Halt> {
    // The label is not compared: a newer version may word it differently.
    let same_place = requested.place.phase == journaled.place.phase
        && requested.place.round == journaled.place.round
        && requested.place.point == journaled.place.point;
    let same_load = requested.load == journaled.load
        && requested.cut == journaled.cut
        && requested.continues == journaled.continues
        && requested.groups == journaled.groups
        && requested.interval == journaled.interval;
    if same_place && same_load {
        return Ok(());
    }
    let what = match (&requested.load, &journaled.load) {
        _ if !same_place => "another place",
        (Load::Stimulus(a), Load::Stimulus(b)) if a.seed != b.seed => "another seed",
        _ => "another load",
    };
    Err(Halt::Mismatch(format!(
        "the journal has {} with {what}: {}",
        requested.place, journaled.place
    )))
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
