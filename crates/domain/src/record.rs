//! A [`Record`]: everything that happened in a run, in order, never edited.
//!
//! The ledger of `runner` stores it; `Procedure::study` reads it. Findings can be recomputed from
//! it at any time.

use crate::conditions::Conditions;
use crate::device::{Device, Host};
use crate::drive_page::DrivePage;
use crate::findings::Caveat;
use crate::outcome::Outcome;
use crate::power_cut::{CutEvidence, PowerCounters, PowerCutOutcome, PowerCutTrial};
use crate::proof::{DirectoryProof, Proof};
use crate::purge::{Purge, PurgeCommandRecord};
use crate::serde_text::is_default;
use crate::settings::{Amendment, Settings};
use crate::steady_state::Verdict;
use crate::step::Step;
use crate::units::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Version of the record that this program writes and reads. Versions below it were written by
/// programs that were never released.
pub const RECORD_VERSION: u32 = 4;

/// An observation that a procedure records and shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Note {
    /// Current state of the tracking variables.
    Verdict(Verdict),
    /// A disclosure.
    Caveat(Caveat),
    /// Start of a procedure of a suite: the name of the procedure.
    Part(String),
    /// A choice made from measured values.
    Chosen {
        /// Subject of the choice.
        what: String,
        /// Value chosen.
        value: String,
    },
}

/// Result of a check of something that can spoil a measurement.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum CheckState {
    /// As it should be.
    Good,
    /// The check found nothing out, or does not apply here.
    Unknown,
    /// It can disturb the numbers.
    Attention,
    /// The numbers would not be those of the device.
    Bad,
}

/// A check made before a run: link, governor, timers, wear, ...
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// Short name, stable across versions, such as `pcie-link`.
    pub id: String,
    /// Subject of the check, such as `PCIe link`.
    pub subject: String,
    /// Result of the check.
    pub state: CheckState,
    /// Finding, with its numbers.
    pub found: String,
    /// Advice; empty if there is nothing to do.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub advice: String,
}

/// A change of a host setting, journaled before it is made.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostChange {
    /// Setting: a path under `/sys`, or a device feature.
    pub setting: String,
    /// Value before the change.
    pub before: String,
    /// Value after the change.
    pub after: String,
    /// Boot ID of the kernel at the time of the change: a restart resets settings that only the
    /// kernel keeps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_id: Option<String>,
    /// Kernel's sequence number of the disk (`diskseq`), unique within a boot whatever the disk's
    /// name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_sequence: Option<u64>,
}

/// Occasion on which the bench reads conditions again that a procedure had settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RereadOccasion {
    /// After a purge, which can reset a drive: the conditions were set again.
    Purge,
    /// After the phase that followed the purge.
    Preconditioning,
    /// Before the rule of the control groups is replaced.
    NextRule,
    /// At the end of the run.
    End,
}

impl std::fmt::Display for RereadOccasion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            RereadOccasion::Purge => "after the purge",
            RereadOccasion::Preconditioning => "after the preconditioning",
            RereadOccasion::NextRule => "before the next rule of the control groups",
            RereadOccasion::End => "at the end of the run",
        })
    }
}

/// Wait until a device is cool enough for a test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CoolDown {
    /// Temperature that the device had to be below, in degrees Celsius.
    pub below: f64,
    /// Temperature at the beginning of the wait, in degrees Celsius.
    pub from: f64,
    /// Temperature at its end, in degrees Celsius.
    pub to: f64,
    /// Time waited; zero if the device was cool enough at once.
    pub waited: Nanos,
    /// Number of readings that failed meanwhile.
    #[serde(default, skip_serializing_if = "is_default")]
    pub failed_readings: u32,
}

/// One line of the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum JournalEntry {
    /// A process opened the run, for the first time or to resume it.
    Opened {
        /// Name and version of the program.
        software: String,
        /// Engine that moves the data, with the features that it could and could not use.
        engine: String,
        /// Device as found by this process.
        device: Box<Device>,
        /// Host as found by this process.
        host: Box<Host>,
        /// Proof of the device's identity; `None` for a simulated drive.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        proof: Option<Box<Proof>>,
        /// Run directory; `None` for a run on a simulated drive.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        directory: Option<Box<DirectoryProof>>,
    },
    /// Host and device were checked before the run touched anything.
    Examined(Vec<Check>),
    /// Pages read from the drive, before the run touched anything or at its end.
    DrivePages(Vec<DrivePage>),
    /// The settings were amended.
    Amended(Amendment),
    /// A host setting is about to be changed.
    HostChange(HostChange),
    /// A host setting was restored.
    HostRestored(HostChange),
    /// Conditions were requested and read back.
    Settled {
        /// Conditions that the procedure requested.
        wanted: Conditions,
        /// Conditions read back.
        got: Conditions,
    },
    /// The conditions were set or read again.
    Resettled {
        /// Conditions read back this time.
        got: Conditions,
        /// Occasion; `None` if the run was resumed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        when: Option<RereadOccasion>,
    },
    /// A vendor's purge command is about to run: the command as the user gave it.
    PurgeCommand(String),
    /// A vendor's purge command was run, and the purge failed or its end is unknown.
    PurgeCommandFailed(PurgeCommandRecord),
    /// The device was purged.
    Purged(Purge),
    /// The bench waited until the device was cool enough for the first load of a test.
    Cooled(CoolDown),
    /// A step was applied.
    Applied {
        /// The step.
        step: Box<Step>,
        /// Outcome of the step.
        outcome: Box<Outcome>,
    },
    /// The device was idle for this time.
    Idled(Nanos),
    /// A trial of a power cut is about to write. Its stamps carry the nonce.
    PowerCutBegan {
        /// The trial.
        trial: Box<PowerCutTrial>,
        /// Number that is different in every run.
        nonce: u64,
        /// Command that cuts the power; `None` if the user cuts it by hand.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        command: Option<String>,
        /// The drive's own counters before the writes.
        #[serde(default)]
        counters: PowerCounters,
        /// True if the kernel sends the drive no flush.
        #[serde(default)]
        without_flushes: bool,
    },
    /// The writes of a trial ended with this evidence of a cut.
    PowerCutSeen(CutEvidence),
    /// The blocks of the last trial were read back and judged.
    PowerCutJudged(Box<PowerCutOutcome>),
    /// The procedure recorded a note.
    Noted(Box<Note>),
    /// The run halted before its end, for this reason.
    Halted(String),
    /// The procedure ended.
    Ended,
}

impl JournalEntry {
    /// Returns the step with its outcome; `None` for any other entry.
    pub fn applied(&self) -> Option<(&Step, &Outcome)> {
        if let JournalEntry::Applied { step, outcome } = self {
            Some((step, outcome))
        } else {
            None
        }
    }
}

/// Everything that happened in a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Record {
    /// Version of the record format.
    pub version: u32,
    /// Settings that the user chose.
    pub settings: Settings,
    /// Wall-clock time at which the run began, in milliseconds since 1970 (UTC).
    pub began_unix_ms: u64,
    /// Wall-clock time of the end or the last entry, in milliseconds since 1970 (UTC).
    pub ended_unix_ms: u64,
    /// SHA-256 of everything measured (conditions, purges, steps, notes), in hexadecimal. For a
    /// simulated drive it is the same however often the run was interrupted. Empty if there is no
    /// journal.
    pub digest: String,
    /// All entries, in order.
    pub entries: Vec<JournalEntry>,
}

/// Device, host, engine and program as the first process of a run found them.
#[derive(Debug, Clone, Copy)]
pub struct RunOpening<'a> {
    /// Device that is tested.
    pub device: &'a Device,
    /// Host that the process runs on.
    pub host: &'a Host,
    /// Engine that moves the data, with the features that it could and could not use.
    pub engine: &'a str,
    /// Name and version of the program.
    pub software: &'a str,
}

impl Record {
    /// Returns the waits until the device was cool enough for a test, in order.
    pub fn cool_downs(&self) -> impl Iterator<Item = &CoolDown> {
        self.entries.iter().filter_map(|entry| match entry {
            JournalEntry::Cooled(cooling) => Some(cooling),
            _ => None,
        })
    }
    /// Returns all steps with their outcomes, in order.
    pub fn steps(&self) -> impl Iterator<Item = (&Step, &Outcome)> {
        self.entries.iter().filter_map(JournalEntry::applied)
    }
    /// Returns the trials of power cuts with their outcomes, in order. The outcome of the last is
    /// `None` if it was not read back.
    pub fn power_cuts(&self) -> Vec<(&PowerCutTrial, Option<&PowerCutOutcome>)> {
        let mut trials: Vec<(&PowerCutTrial, Option<&PowerCutOutcome>)> = Vec::new();
        for entry in &self.entries {
            match entry {
                JournalEntry::PowerCutBegan { trial, .. } => trials.push((trial, None)),
                JournalEntry::PowerCutJudged(outcome) => {
                    if let Some(last) = trials.last_mut() {
                        last.1 = Some(outcome);
                    }
                }
                _ => {}
            }
        }
        trials
    }
    /// Returns what the first process that opened the run found, or `None` if no process did.
    pub fn opening(&self) -> Option<RunOpening<'_>> {
        self.entries.iter().find_map(|entry| match entry {
            JournalEntry::Opened { software, engine, device, host, .. } => {
                Some(RunOpening { device, host, engine, software })
            }
            _ => None,
        })
    }
    /// Returns all purges, in order.
    pub fn purges(&self) -> impl Iterator<Item = &Purge> {
        self.entries.iter().filter_map(|entry| match entry {
            JournalEntry::Purged(purge) => Some(purge),
            _ => None,
        })
    }
    /// Returns the last purge, or `None` if there was none.
    pub fn purge(&self) -> Option<&Purge> {
        self.purges().last()
    }
    /// Returns the conditions requested and read back when a procedure last settled them, or `None`
    /// if none did.
    pub fn conditions(&self) -> Option<(&Conditions, &Conditions)> {
        self.entries.iter().rev().find_map(|entry| match entry {
            JournalEntry::Settled { wanted, got } => Some((wanted, got)),
            _ => None,
        })
    }
    /// Returns the conditions as last read back, whether settled or read again, and the occasion of
    /// a later reading. The occasion is `None` for settled conditions and for a resumed run.
    pub fn conditions_last(&self) -> Option<(&Conditions, Option<RereadOccasion>)> {
        self.entries.iter().rev().find_map(|entry| match entry {
            JournalEntry::Settled { got, .. } => Some((got, None)),
            JournalEntry::Resettled { got, when } => Some((got, *when)),
            _ => None,
        })
    }
    /// Returns the last checks of host and device, or `None` if there were none.
    pub fn checks(&self) -> Option<&[Check]> {
        self.entries.iter().rev().find_map(|entry| match entry {
            JournalEntry::Examined(checks) => Some(checks.as_slice()),
            _ => None,
        })
    }
    /// Returns the readings of the drive's pages, in order.
    pub fn drive_pages(&self) -> impl Iterator<Item = &[DrivePage]> {
        self.entries.iter().filter_map(|entry| match entry {
            JournalEntry::DrivePages(pages) => Some(pages.as_slice()),
            _ => None,
        })
    }
    /// Returns all notes, in order.
    pub fn notes(&self) -> impl Iterator<Item = &Note> {
        self.entries.iter().filter_map(|entry| match entry {
            JournalEntry::Noted(note) => Some(&**note),
            _ => None,
        })
    }
    /// Returns all amendments, in order.
    pub fn amendments(&self) -> impl Iterator<Item = &Amendment> {
        self.entries.iter().filter_map(|entry| match entry {
            JournalEntry::Amended(amendment) => Some(amendment),
            _ => None,
        })
    }
    /// Returns true if the procedure ran to its end.
    pub fn has_ended(&self) -> bool {
        matches!(self.entries.last(), Some(JournalEntry::Ended | JournalEntry::HostRestored(_)))
            && self.entries.iter().any(|e| matches!(e, JournalEntry::Ended))
    }
}
