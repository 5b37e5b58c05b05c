//! A [`Record`]: what happened, in order, never edited.
//!
//! The ledger of `runner` stores it; `Procedure::study` reads it. Findings can
//! be computed from it again at any time.

use crate::conditions::Conditions;
use crate::device::{Device, Host};
use crate::findings::Caveat;
use crate::outcome::Outcome;
use crate::proof::{DirectoryProof, Proof};
use crate::purge::Purge;
use crate::sequence::Sequence;
use crate::settings::{Amendment, Settings};
use crate::steady_state::Verdict;
use crate::step::Step;
use crate::units::Nanos;
use serde::{Deserialize, Serialize};

/// The newest version of the record that this program writes and reads. Version 1 had no
/// [`Proof`], and a length for every [`Gap`](crate::Gap); 2 had no loads that are applied
/// at once, and no steps with numbers of their own. A record has the lowest version that can
/// hold it ([`version_for`]).
pub const RECORD_VERSION: u32 = 3;

/// The lowest version of the record that can hold a run of these settings, so that older
/// programs read every run that they understand, and refuse the others.
pub fn version_for(settings: &Settings) -> u32 {
    let is_newer = |sequence: &Sequence| sequence.is_at_once() || sequence.is_numbered();
    match settings.sequence.as_deref().is_some_and(is_newer) {
        true => RECORD_VERSION,
        false => 2,
    }
}

/// Something that a procedure wants remembered and shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Note {
    /// Where the tracking variables stand.
    Verdict(Verdict),
    /// Something to be disclosed.
    Caveat(Caveat),
    /// A procedure of a suite begins: its name.
    Part(String),
    /// A choice made from measured values: what, and which.
    Chosen {
        /// What was chosen.
        what: String,
        /// The choice.
        value: String,
    },
}

/// How a thing stands that can spoil a measurement.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum CheckState {
    /// As it should be.
    Good,
    /// Nothing could be found out, or it does not apply here.
    Unknown,
    /// It can disturb the numbers.
    Attention,
    /// The numbers would not be the device's.
    Bad,
}

/// One thing that was looked at before a run: link, governor, timers, wear, ...
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Check {
    /// A short name, stable across versions: `pcie-link`.
    pub id: String,
    /// What was looked at: `PCIe link`.
    pub subject: String,
    /// How it stands.
    pub state: CheckState,
    /// What was found, with the numbers.
    pub found: String,
    /// What to do about it; empty where nothing is to be done.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub advice: String,
}

/// A host setting that was changed: journaled before the change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct HostChange {
    /// The setting: a path under `/sys`, or a device feature.
    pub setting: String,
    /// Its value before.
    pub before: String,
    /// The value that it was given.
    pub after: String,
    /// The kernel's identifier of the boot in which it was changed: a restart
    /// resets what only the kernel keeps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_id: Option<String>,
    /// The kernel's number of the disk (`diskseq`), which no other disk has in
    /// the same boot, whatever its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_sequence: Option<u64>,
}

/// When the bench reads conditions again that a procedure had settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReadAgain {
    /// After a purge, which can reset a drive: they were set again.
    Purge,
    /// After the phase that followed the purge.
    Preconditioning,
    /// At the end of the run.
    End,
}

impl std::fmt::Display for ReadAgain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            ReadAgain::Purge => "after the purge",
            ReadAgain::Preconditioning => "after the preconditioning",
            ReadAgain::End => "at the end of the run",
        })
    }
}

/// One line of the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Entry {
    /// A process took up the run: software version and the device as it saw it.
    Opened {
        /// Name and version of the program.
        software: String,
        /// The engine that moves the data, with what it could and could not use.
        engine: String,
        /// The device, as found this time.
        device: Box<Device>,
        /// The host, as found this time.
        host: Box<Host>,
        /// What proves that the device is this one. A simulated drive has none,
        /// nor has a record of version 1.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        proof: Option<Box<Proof>>,
        /// The run directory. A run on a simulated drive has none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        directory: Option<Box<DirectoryProof>>,
    },
    /// Host and device were looked over before the run touched anything.
    Examined(Vec<Check>),
    /// The settings were amended.
    Amended(Amendment),
    /// A host setting is about to be changed.
    HostChange(HostChange),
    /// A host setting was put back.
    HostRestored(HostChange),
    /// Conditions asked for and read back.
    Settled {
        /// What the procedure asked for.
        wanted: Conditions,
        /// What was read back.
        got: Conditions,
    },
    /// The conditions were set or read again: what was read back this time.
    Resettled {
        /// What was read back.
        got: Conditions,
        /// On which occasion; `None` when the run was resumed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        when: Option<ReadAgain>,
    },
    /// The device was purged.
    Purged(Purge),
    /// A step was applied.
    Applied {
        /// The step.
        step: Box<Step>,
        /// What it did.
        outcome: Box<Outcome>,
    },
    /// The device was left alone.
    Idled(Nanos),
    /// The procedure noted something.
    Noted(Box<Note>),
    /// The run halted before its end, and why.
    Halted(String),
    /// The procedure ended.
    Ended,
}

/// What happened in a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Record {
    /// Version of this shape.
    pub version: u32,
    /// What the user chose.
    pub settings: Settings,
    /// Wall-clock time at its beginning, in milliseconds since 1970 (UTC).
    pub began_unix_ms: u64,
    /// Wall-clock time of the last entry, in milliseconds since 1970 (UTC).
    pub ended_unix_ms: u64,
    /// SHA-256 of what was measured (conditions, purges, steps, notes), in
    /// hexadecimal: the same for a run on a simulated drive however often it
    /// was interrupted. Empty where there is no journal.
    pub digest: String,
    /// Every entry, in order.
    pub entries: Vec<Entry>,
}

impl Record {
    /// Every step with what it did, in order.
    pub fn steps(&self) -> impl Iterator<Item = (&Step, &Outcome)> {
        self.entries.iter().filter_map(|entry| match entry {
            Entry::Applied { step, outcome } => Some((&**step, &**outcome)),
            _ => None,
        })
    }
    /// The device, host, engine and software as first found.
    pub fn opening(&self) -> Option<(&Device, &Host, &str, &str)> {
        self.entries.iter().find_map(|entry| match entry {
            Entry::Opened { software, engine, device, host, .. } => {
                Some((&**device, &**host, engine.as_str(), software.as_str()))
            }
            _ => None,
        })
    }
    /// Every purge, in order.
    pub fn purges(&self) -> impl Iterator<Item = &Purge> {
        self.entries.iter().filter_map(|entry| match entry {
            Entry::Purged(purge) => Some(purge),
            _ => None,
        })
    }
    /// The last purge.
    pub fn purge(&self) -> Option<&Purge> {
        self.purges().last()
    }
    /// The last conditions: asked for, read back.
    pub fn conditions(&self) -> Option<(&Conditions, &Conditions)> {
        self.entries.iter().rev().find_map(|entry| match entry {
            Entry::Settled { wanted, got } => Some((wanted, got)),
            _ => None,
        })
    }
    /// The conditions as they were read last, set or read again, and when.
    pub fn conditions_last(&self) -> Option<(&Conditions, Option<ReadAgain>)> {
        self.entries.iter().rev().find_map(|entry| match entry {
            Entry::Settled { got, .. } => Some((got, None)),
            Entry::Resettled { got, when } => Some((got, *when)),
            _ => None,
        })
    }
    /// The last examination of host and device.
    pub fn checks(&self) -> Option<&[Check]> {
        self.entries.iter().rev().find_map(|entry| match entry {
            Entry::Examined(checks) => Some(checks.as_slice()),
            _ => None,
        })
    }
    /// What was noted.
    pub fn notes(&self) -> impl Iterator<Item = &Note> {
        self.entries.iter().filter_map(|entry| match entry {
            Entry::Noted(note) => Some(&**note),
            _ => None,
        })
    }
    /// The amendments, in order.
    pub fn amendments(&self) -> impl Iterator<Item = &Amendment> {
        self.entries.iter().filter_map(|entry| match entry {
            Entry::Amended(amendment) => Some(amendment),
            _ => None,
        })
    }
    /// Whether the procedure ran to its end.
    pub fn has_ended(&self) -> bool {
        matches!(self.entries.last(), Some(Entry::Ended | Entry::HostRestored(_)))
            && self.entries.iter().any(|e| matches!(e, Entry::Ended))
    }
}
