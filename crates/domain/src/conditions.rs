//! Conditions: settings of a device and its host that are made before a measurement.

use crate::io_control::IoControl;
use serde::{Deserialize, Serialize};
use std::fmt;

/// State of a device's volatile write cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WriteCache {
    /// WCE: writes may be acknowledged before they are durable.
    Enabled,
    /// WCD: writes are durable when acknowledged.
    Disabled,
}

impl fmt::Display for WriteCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            WriteCache::Enabled => "enabled (WCE)",
            WriteCache::Disabled => "disabled (WCD)",
        })
    }
}

/// Settings of host and device that a procedure requests, or that were read back. `None` requests
/// nothing, or could not be read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Conditions {
    /// State of the volatile write cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_cache: Option<WriteCache>,
    /// True if the kernel may merge adjacent I/Os (`queue/nomerges` below 2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merges: Option<bool>,
    /// I/O scheduler in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<String>,
    /// Maximum size of a request that the kernel sends to the device, in KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_kib_max: Option<u64>,
    /// Power management of a SATA drive's link (`link_power_management_policy` of its port).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link_power: Option<String>,
    /// True if an NVMe controller may change its power state by itself (APST).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_state_changes: Option<bool>,
    /// Rule for the I/O of the control groups that loads run in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io_control: Option<IoControl>,
    /// Requested conditions that were not met, and why: one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unmet: Vec<String>,
}
