//! [`Settings`]: everything that a user chose for a run, before it begins.

use crate::applied::AppliedWorkload;
use crate::nearest::UnknownName;
use crate::purge::{PurgeChoice, PurgeFailure};
use crate::sequence::Sequence;
use crate::stimulus::{DataPattern, Demand};
use crate::units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// The class that a device is tested as.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// PTS-E.
    #[default]
    Enterprise,
    /// PTS-C.
    Client,
}

/// Which document's method is followed.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
pub enum Profile {
    /// SNIA PTS 2.0.x.
    #[default]
    #[serde(rename = "pts-2.0")]
    Pts20,
    /// SNIA PTS-E 1.1 / PTS-C 1.2.
    #[serde(rename = "pts-1.1")]
    Pts11,
    /// TKperf 2.x, with its defects mended.
    #[serde(rename = "tkperf")]
    Tkperf,
    /// A small matrix with short steps: a look, not a measurement.
    #[serde(rename = "quick")]
    Quick,
}

/// How the rounds, or a saturation, end. Written `rounds`, `post-25`, `btw`,
/// `time:6h`, `bytes:8TB`, `fills:4`.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
pub enum SteadyStateMethod {
    /// Stop at the first window that meets the criteria.
    #[default]
    Rounds,
    /// Run 25 rounds and judge every window afterwards.
    Post25,
    /// Five one-minute measurements with writes between them meet the criteria.
    Btw,
    /// Pseudo steady state: after this much time.
    Time(Nanos),
    /// Pseudo steady state: after this many bytes written.
    Bytes(Bytes),
    /// Pseudo steady state: after the user capacity was written this often.
    Fills(u32),
}

/// The rules that a run begins with today. A run goes on by the rules that it
/// began with, also under a later version of the program.
///
/// 0: the rules of runs that record none. 1: a steady window of a continuous write counts
/// only once the drive was filled; a workload that only reads a purged drive is
/// refused.
pub const RULES: u32 = 1;

/// What a user chose. `None` takes the profile's and class's value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Settings {
    /// The procedure's name: `iops`.
    pub procedure: String,
    /// The method followed.
    pub profile: Profile,
    /// Enterprise or client.
    pub class: Class,
    /// Threads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// Outstanding I/Os per thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// Length of a step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_time: Option<Nanos>,
    /// Percent of the capacity that may be touched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_range_percent: Option<u8>,
    /// How the rounds end.
    pub steady_state: SteadyStateMethod,
    /// The most rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds_max: Option<u32>,
    /// What is written.
    pub data_pattern: DataPattern,
    /// Drives every random choice of the run.
    pub seed: u64,
    /// The rules that the run began with: see [`RULES`].
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rules: u32,
    /// Read-back comparison.
    #[serde(default)]
    pub verify: bool,
    /// How the device is purged.
    #[serde(default, skip_serializing_if = "PurgeChoice::is_auto")]
    pub purge: PurgeChoice,
    /// What becomes of the run when the purge fails.
    #[serde(default, skip_serializing_if = "PurgeFailure::halts")]
    pub purge_failed: PurgeFailure,
    /// What else the user gave up by name: a purge can reach the other
    /// namespaces of a controller.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also_destroyed: Vec<String>,
    /// Keep the processors out of idle states that are slow to leave.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hold_c_states: bool,
    /// A command that prints the power that the device takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_command: Option<String>,
    /// Parameters that only some procedures have, by name, as the user wrote
    /// them: `workload`, `mix`, `pre-write`, ...
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, String>,
    /// The captured workload that is applied, whole, so that the run needs its file no
    /// more; replay and the other tests of captured workloads have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<Box<AppliedWorkload>>,
    /// What another tool's file or a preset asks for, whole, so that the run needs its
    /// file no more; the procedure `sequence` has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequence: Option<Box<Sequence>>,
    /// The hosts that load the device, where it is not this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Box<HostList>>,
    /// A gap in virtual time; only a simulated device can have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sim_gap: Option<SimGap>,
    /// The command line that began the run.
    #[serde(default)]
    pub command: String,
    /// What only the user knows: sponsor, form factor, NAND type, ...
    #[serde(default)]
    pub meta: BTreeMap<String, String>,
}

impl Settings {
    /// The settings of a procedure with nothing chosen.
    pub fn new(procedure: &str, seed: u64) -> Self {
        Settings {
            procedure: procedure.to_owned(),
            profile: Profile::default(),
            class: Class::default(),
            threads: None,
            depth: None,
            step_time: None,
            active_range_percent: None,
            steady_state: SteadyStateMethod::default(),
            rounds_max: None,
            data_pattern: DataPattern::default(),
            seed,
            rules: RULES,
            verify: false,
            purge: PurgeChoice::default(),
            purge_failed: PurgeFailure::default(),
            also_destroyed: Vec::new(),
            hold_c_states: false,
            power_command: None,
            parameters: BTreeMap::new(),
            workload: None,
            sequence: None,
            hosts: None,
            sim_gap: None,
            command: String::new(),
            meta: BTreeMap::new(),
        }
    }
    /// `preset` with the user's threads and depth in place of its own.
    pub fn demand_or(&self, preset: Demand) -> Demand {
        Demand::new(self.threads.unwrap_or(preset.threads), self.depth.unwrap_or(preset.depth))
    }
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// Hosts that load one device together, and how they are reached.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct HostList {
    /// As ssh takes them; with `plain`, as `HOST` or `HOST:PORT`.
    pub names: Vec<String>,
    /// Their fio servers run already, and are spoken to without ssh.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub plain: bool,
    /// The configuration file that ssh is to use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ssh_config: Option<String>,
}

/// A pause in virtual time during which no run held the simulated device, as if the
/// run had been broken off there and resumed. Written `120:1h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct SimGap {
    /// Before this step of the run, from 1.
    pub before: u64,
    /// How long.
    pub lasts: Nanos,
}

impl fmt::Display for SimGap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}ns", self.before, self.lasts.0)
    }
}

impl FromStr for SimGap {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once(':');
        let parsed = parts.and_then(|(before, lasts)| {
            let lasts: Nanos = lasts.parse().ok()?;
            Some(SimGap { before: before.trim().parse().ok()?, lasts })
        });
        parsed.filter(|gap| gap.before > 0 && gap.lasts.0 > 0).ok_or_else(|| {
            format!("'{text}' is not a gap; write the step that follows it and its length: 120:1h")
        })
    }
}

impl TryFrom<String> for SimGap {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<SimGap> for String {
    fn from(gap: SimGap) -> String {
        gap.to_string()
    }
}

/// A change to a run's settings after it began, journaled beside them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Amendment {
    /// The user sets a new maximum of rounds: more of them to continue, as many
    /// as are finished to stop.
    RoundsMax(u32),
    /// The same for one loop of a procedure that has several: the loop whose
    /// steps stand under this phase in the journal.
    RoundsMaxOf {
        /// The phase: `rounds-128K`; with the part before it in a suite.
        phase: String,
        /// The most rounds of it.
        rounds: u32,
    },
}

/// Facts of the device that decide what a procedure does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    /// User capacity.
    pub capacity: Bytes,
    /// The smallest transfer, in bytes.
    pub logical_sector: u32,
}

macro_rules! names {
    ($type:ty, $kind:literal, $choices:expr, $($name:literal => $value:path),+) => {
        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(match self { $($value => $name),+ })
            }
        }
        impl std::str::FromStr for $type {
            type Err = $crate::nearest::UnknownName;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                match text {
                    $($name => Ok($value),)+
                    _ => Err($crate::nearest::UnknownName { kind: $kind, given: text.to_owned(), choices: $choices }),
                }
            }
        }
    };
}

names!(Class, "class", "enterprise, client",
    "enterprise" => Class::Enterprise, "client" => Class::Client);
names!(Profile, "profile", "pts-2.0, pts-1.1, tkperf, quick",
    "pts-2.0" => Profile::Pts20, "pts-1.1" => Profile::Pts11,
    "tkperf" => Profile::Tkperf, "quick" => Profile::Quick);

impl fmt::Display for SteadyStateMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SteadyStateMethod::Rounds => f.write_str("rounds"),
            SteadyStateMethod::Post25 => f.write_str("post-25"),
            SteadyStateMethod::Btw => f.write_str("btw"),
            SteadyStateMethod::Time(time) => write!(f, "time:{}s", time.as_secs_f64()),
            SteadyStateMethod::Bytes(bytes) => write!(f, "bytes:{}B", bytes.0),
            SteadyStateMethod::Fills(fills) => write!(f, "fills:{fills}"),
        }
    }
}

impl FromStr for SteadyStateMethod {
    type Err = UnknownName;
    fn from_str(text: &str) -> Result<Self, UnknownName> {
        let unknown = || UnknownName {
            kind: "steady-state method",
            given: text.to_owned(),
            choices: "rounds, post-25, btw, time:6h, bytes:8TB, fills:4",
        };
        let parsed = match text.split_once(':') {
            None => match text {
                "rounds" => Some(SteadyStateMethod::Rounds),
                "post-25" => Some(SteadyStateMethod::Post25),
                "btw" => Some(SteadyStateMethod::Btw),
                _ => None,
            },
            Some(("time", time)) => time.parse().ok().map(SteadyStateMethod::Time),
            Some(("bytes", bytes)) => bytes.parse().ok().map(SteadyStateMethod::Bytes),
            Some(("fills", fills)) => {
                fills.parse().ok().filter(|fills| *fills > 0).map(SteadyStateMethod::Fills)
            }
            Some(_) => None,
        };
        parsed.ok_or_else(unknown)
    }
}

impl TryFrom<String> for SteadyStateMethod {
    type Error = UnknownName;
    fn try_from(text: String) -> Result<Self, UnknownName> {
        text.parse()
    }
}

impl From<SteadyStateMethod> for String {
    fn from(method: SteadyStateMethod) -> String {
        method.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_reads_back_as_it_was_written() {
        for text in ["1:1ns", "12:500us", "120:1h"] {
            let gap: SimGap = text.parse().unwrap();
            assert_eq!(gap.to_string().parse(), Ok(gap), "{text}");
        }
        for text in ["", "12", "0:1h", "12:0s", "x:1h", "12:soon"] {
            assert!(text.parse::<SimGap>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_steady_state_method_reads_back_as_it_was_written() {
        for text in ["rounds", "post-25", "btw", "time:6h", "time:90s", "bytes:8TB", "fills:4"] {
            let method: SteadyStateMethod = text.parse().unwrap();
            assert_eq!(method.to_string().parse(), Ok(method), "{text}");
        }
        for text in ["", "time:", "time:x", "bytes:-1", "fills:0", "fills:1.5", "round"] {
            assert!(text.parse::<SteadyStateMethod>().is_err(), "{text}");
        }
    }
}
