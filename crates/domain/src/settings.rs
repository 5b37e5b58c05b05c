//! [`Settings`]: everything that a user chose for a run before it began.

use crate::applied::AppliedWorkload;
use crate::purge::{PurgeChoice, PurgeFailure};
use crate::rate::OfferedLoad;
use crate::sequence::Sequence;
use crate::serde_text::serde_text;
use crate::service_level::ServiceLevel;
use crate::stimulus::{DataPattern, Demand};
use crate::suggestion::{UnknownName, choice_names};
use crate::text::excerpt;
use crate::units::{Bytes, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

/// Device class that is tested.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// Enterprise (PTS-E).
    #[default]
    Enterprise,
    /// Client (PTS-C).
    Client,
}

/// Document whose method is followed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Profile {
    /// SNIA PTS 2.0.x.
    #[default]
    #[serde(rename = "pts-2.0")]
    Pts20,
    /// SNIA PTS-E 1.1 / PTS-C 1.2.
    #[serde(rename = "pts-1.1")]
    Pts11,
    /// TKperf 2.x, with its defects corrected.
    #[serde(rename = "tkperf")]
    Tkperf,
    /// A small matrix with short steps: a quick look, not a measurement.
    #[serde(rename = "quick")]
    Quick,
}

/// Condition that ends the rounds or a saturation. Written `rounds`, `post-25`, `btw`, `time:6h`,
/// `bytes:8TB` or `fills:4`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub enum SteadyStateMethod {
    /// Stop at the first window that meets the criteria.
    #[default]
    Rounds,
    /// Run 25 rounds and judge every window afterward.
    Post25,
    /// Stop when five one-minute measurements with writes between them meet the criteria.
    Btw,
    /// Pseudo steady state: stop after this time.
    Time(Nanos),
    /// Pseudo steady state: stop after this many bytes written.
    Bytes(Bytes),
    /// Pseudo steady state: stop after the user capacity has been written this many times.
    Fills(u32),
}

/// Setting that always holds a value, which therefore does not show who decided it.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum SettingName {
    /// [`Settings::profile`].
    Profile,
    /// [`Settings::class`].
    Class,
    /// [`Settings::steady_state`].
    SteadyState,
    /// [`Settings::data_pattern`].
    DataPattern,
    /// [`Settings::seed`].
    Seed,
    /// [`Settings::verify`].
    Verify,
    /// [`Settings::purge`].
    Purge,
    /// [`Settings::purge_failed`].
    PurgeFailed,
}

/// Settings that a user chose. `None` selects the value of the profile and class.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Settings {
    /// Name of the procedure, such as `iops`.
    pub procedure: String,
    /// Method to follow.
    pub profile: Profile,
    /// Device class: enterprise or client.
    pub class: Class,
    /// Settings that the user gave, among those that always hold a value. A setting that can be
    /// `None` was given if it is not.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub given: BTreeSet<SettingName>,
    /// Number of threads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// Outstanding I/Os per thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// Rate at which the measured I/Os are offered; `None` for a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<OfferedLoad>,
    /// Service level whose highest rate is searched for; `None` for no search.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slo: Option<ServiceLevel>,
    /// Length of a step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_time: Option<Nanos>,
    /// Share of the capacity that may be touched, in percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_range_percent: Option<u8>,
    /// Condition that ends the rounds.
    pub steady_state: SteadyStateMethod,
    /// Maximum number of rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds_max: Option<u32>,
    /// Data pattern of the writes.
    pub data_pattern: DataPattern,
    /// Seed of every random choice of the run.
    pub seed: u64,
    /// True to read data back and compare them.
    #[serde(default)]
    pub verify: bool,
    /// Purge method.
    #[serde(default, skip_serializing_if = "PurgeChoice::is_auto")]
    pub purge: PurgeChoice,
    /// Action after a failed purge.
    #[serde(default, skip_serializing_if = "PurgeFailure::halts")]
    pub purge_failed: PurgeFailure,
    /// Further devices that the user allowed to be destroyed, by name: a purge can reach the other
    /// namespaces of a controller.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also_destroyed: Vec<String>,
    /// True for a part of a run that starts from the state that the parts before it left: it
    /// neither purges nor writes its workload-independent preconditioning.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shares_preconditioning: bool,
    /// True to keep the CPUs out of idle states with a long exit latency.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hold_c_states: bool,
    /// Command that prints the power that the device draws.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_command: Option<String>,
    /// Sensor of the ambient temperature: the path of its file, or its hwmon label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ambient_sensor: Option<String>,
    /// Temperature that the device must be below before the first load of a test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_below: Option<StartBelow>,
    /// Vendor's purge command, with `{device}` in the place of the device's path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purge_command: Option<String>,
    /// Command that cuts the power of the device or of the host, and restores it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_command: Option<String>,
    /// Second log of the acknowledged writes: a file, a terminal, or `HOST:PORT`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_to: Option<String>,
    /// Parameters of single procedures, by name, as the user wrote them: `workload`, `mix`,
    /// `pre-write`, ...
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, String>,
    /// Captured workload to apply, stored completely, so that the run no longer needs its file;
    /// `None` except for replay and the other tests of captured workloads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<Box<AppliedWorkload>>,
    /// Loads from another tool's file or a preset, stored completely, so that the run no longer
    /// needs the file; `None` except for the procedure `sequence`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequence: Option<Box<Sequence>>,
    /// Hosts that load the device; `None` if this host does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Box<HostList>>,
    /// Gap in virtual time; `None` except for a simulated device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sim_gap: Option<SimGap>,
    /// Command line that began the run, for readers only: no program interprets it.
    #[serde(default)]
    pub command: String,
    /// Facts that only the user knows: sponsor, form factor, NAND type, ...
    #[serde(default)]
    pub meta: BTreeMap<String, String>,
}

impl Settings {
    /// Creates the default settings of a procedure.
    pub fn new(procedure: &str, seed: u64) -> Self {
        Settings { procedure: procedure.to_owned(), seed, ..Settings::default() }
    }
    /// Sets a parameter of the procedure, as the user would write it.
    pub fn set(&mut self, name: &str, value: &str) {
        self.parameters.insert(name.to_owned(), value.to_owned());
    }
    /// Returns `preset` with the user's threads and depth where they are set.
    pub fn demand_or(&self, preset: Demand) -> Demand {
        Demand::new(self.threads.unwrap_or(preset.threads), self.depth.unwrap_or(preset.depth))
    }
}

/// Temperature that a device must be below before the first load of a test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StartBelow {
    /// Temperature in degrees Celsius.
    pub celsius: f64,
    /// Longest wait; a run whose device is not cool enough by then halts.
    pub limit: Nanos,
}

impl StartBelow {
    /// Longest wait unless the user gives another (our choice).
    pub const LIMIT: Nanos = Nanos::from_secs(30 * 60);
}

/// Hosts that load one device together, and the way to reach them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostList {
    /// Host names as ssh takes them; with `plain`, `HOST` or `HOST:PORT`.
    pub names: Vec<String>,
    /// True if the fio servers of the hosts are already running and are reached without ssh.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub plain: bool,
    /// Configuration file for ssh; `None` for its default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ssh_config: Option<String>,
}

/// A pause in virtual time during which no run used the simulated device, as if the run had been
/// interrupted and resumed. Written `120:1h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct SimGap {
    /// Number of the step before which the gap occurs, starting at 1.
    pub before: u64,
    /// Length of the gap.
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
            format!(
                "'{}' is not a gap; write the step that follows it and its length: 120:1h",
                excerpt(text)
            )
        })
    }
}

serde_text!(SimGap);

/// A change to the settings of a run after it began, kept in its journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Amendment {
    /// New maximum number of rounds: a higher number continues the run, the number of finished
    /// rounds stops it.
    RoundsMax(u32),
    /// New maximum number of rounds of one loop, for a procedure that has several: the loop whose
    /// steps the journal lists under this phase.
    RoundsMaxOf {
        /// Phase of the loop, such as `rounds-128K`, preceded by the part in a suite.
        phase: String,
        /// Maximum number of rounds of the loop.
        rounds: u32,
    },
}

/// Device properties that determine the steps of a procedure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Geometry {
    /// User capacity in bytes.
    pub capacity: Bytes,
    /// Logical sector size in bytes, the smallest transfer.
    pub logical_sector: u32,
}

choice_names!(Class, "class", "enterprise, client",
    "enterprise" => Class::Enterprise, "client" => Class::Client);
choice_names!(Profile, "profile", "pts-2.0, pts-1.1, tkperf, quick",
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
        let method = match text.split_once(':') {
            None if text == "rounds" => Some(SteadyStateMethod::Rounds),
            None if text == "post-25" => Some(SteadyStateMethod::Post25),
            None if text == "btw" => Some(SteadyStateMethod::Btw),
            Some(("time", time)) => time.parse().ok().map(SteadyStateMethod::Time),
            Some(("bytes", bytes)) => bytes.parse().ok().map(SteadyStateMethod::Bytes),
            Some(("fills", fills)) => fills.parse().ok().map(SteadyStateMethod::Fills),
            _ => None,
        };
        let is_zero = matches!(
            method,
            Some(
                SteadyStateMethod::Time(Nanos::ZERO)
                    | SteadyStateMethod::Bytes(Bytes(0))
                    | SteadyStateMethod::Fills(0)
            )
        );
        method.filter(|_| !is_zero).ok_or_else(|| UnknownName {
            kind: "steady-state method",
            given: text.to_owned(),
            choices: "rounds, post-25, btw, time:6h, bytes:8TB, fills:4",
        })
    }
}

serde_text!(SteadyStateMethod);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_parses_as_it_prints() {
        for text in ["1:1ns", "12:500us", "120:1h"] {
            let gap: SimGap = text.parse().unwrap();
            assert_eq!(gap.to_string().parse(), Ok(gap), "{text}");
        }
        for text in ["", "12", "0:1h", "12:0s", "x:1h", "12:soon"] {
            assert!(text.parse::<SimGap>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_steady_state_method_parses_as_it_prints() {
        for text in ["rounds", "post-25", "btw", "time:6h", "time:90s", "bytes:8TB", "fills:4"] {
            let method: SteadyStateMethod = text.parse().unwrap();
            assert_eq!(method.to_string().parse(), Ok(method), "{text}");
        }
        for text in [
            "", "time:", "time:x", "bytes:-1", "time:0", "bytes:0", "fills:0", "fills:1.5", "round",
        ] {
            assert!(text.parse::<SteadyStateMethod>().is_err(), "{text}");
        }
    }
}
