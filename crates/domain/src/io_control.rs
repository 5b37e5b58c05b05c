//! Control of the I/O of loads that share a device: the groups that they run in, and the rule that
//! the kernel applies to these groups.

use crate::units::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Control group of a load, which then runs in a process of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LoadGroup {
    /// The load whose response times matter.
    Victim,
    /// The load that disturbs it.
    Offender,
}

impl LoadGroup {
    /// Both groups.
    pub const ALL: [LoadGroup; 2] = [LoadGroup::Victim, LoadGroup::Offender];

    /// Returns the name: `victim` or `offender`.
    pub const fn name(self) -> &'static str {
        match self {
            LoadGroup::Victim => "victim",
            LoadGroup::Offender => "offender",
        }
    }
}

impl fmt::Display for LoadGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Rule for the I/O of the control groups of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IoControl {
    /// Two groups without a rule.
    Uncontrolled,
    /// Upper limits of the offender: `io.max` of cgroup version 2, `blkio.throttle` of version 1.
    Max(GroupLimits),
    /// Shares of the device while both groups wait for it, by the scheduler BFQ: `io.bfq.weight`
    /// of version 2, `blkio.bfq.weight` of version 1.
    BfqWeight {
        /// Weight of the victim, 1 to 1000.
        victim: u32,
        /// Weight of the offender, 1 to 1000.
        offender: u32,
    },
    /// Shares of the device by a model of the cost of each I/O: `io.weight` of version 2, with
    /// `io.cost.qos` enabled for the device.
    Cost {
        /// Weight of the victim, 1 to 10000.
        victim: u32,
        /// Weight of the offender, 1 to 10000.
        offender: u32,
    },
    /// Mean response time of the victim for which the kernel throttles the offender: `io.latency`
    /// of version 2.
    Latency {
        /// Target of the victim.
        target: Nanos,
    },
}

impl fmt::Display for IoControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IoControl::Uncontrolled => f.write_str("none"),
            IoControl::Max(limits) => {
                f.write_str("io.max")?;
                let all = [
                    ("rbps", limits.read_bytes),
                    ("wbps", limits.write_bytes),
                    ("riops", limits.read_ios),
                    ("wiops", limits.write_ios),
                ];
                all.into_iter()
                    .filter_map(|(key, value)| Some((key, value?)))
                    .try_for_each(|(key, value)| write!(f, " {key}={value}"))
            }
            IoControl::BfqWeight { victim, offender } => {
                write!(f, "io.bfq.weight {victim}:{offender}")
            }
            IoControl::Cost { victim, offender } => write!(f, "io.cost {victim}:{offender}"),
            IoControl::Latency { target } => write!(f, "io.latency {target}"),
        }
    }
}

/// Upper limits per second; `None` for no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GroupLimits {
    /// Bytes read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_bytes: Option<u64>,
    /// Bytes written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_bytes: Option<u64>,
    /// Reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_ios: Option<u64>,
    /// Writes and discards. The kernel counts a discard as a write of one sector, so that only
    /// their number can be limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_ios: Option<u64>,
}
