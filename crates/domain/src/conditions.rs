//! Conditions and purge: what is set and done to a device before it is measured.

use crate::units::Nanos;
use serde::{Deserialize, Serialize};
use std::fmt;

/// State of a device's volatile write cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
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

/// Settings of host and device that a procedure asks for, or that were read
/// back. `None` asks for nothing, or could not be read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conditions {
    /// The volatile write cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_cache: Option<WriteCache>,
    /// The kernel may merge adjacent I/Os (`queue/nomerges` below 2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merges: Option<bool>,
    /// The I/O scheduler in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<String>,
    /// The longest request that the kernel sends to the device, in KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_kib_max: Option<u64>,
    /// What was asked for and is not so, and why: one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unmet: Vec<String>,
}

/// How a device was brought to the state of never having been written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PurgeMethod {
    /// NVMe Format, user data erase.
    NvmeFormat,
    /// NVMe Format, cryptographic erase.
    NvmeFormatCrypto,
    /// NVMe, ATA or SCSI Sanitize.
    Sanitize,
    /// ATA SECURITY ERASE UNIT.
    AtaSecurityErase,
    /// SCSI FORMAT UNIT.
    ScsiFormatUnit,
    /// Every block discarded: a lesser purge than the standard's.
    Discard,
    /// The scratch file was made anew.
    RecreateFile,
    /// The simulated drive's own.
    Simulated,
    /// None: the device keeps its history.
    Nothing,
}

impl PurgeMethod {
    /// Whether the PTS lists it (ATA security erase, SCSI format, NVMe format,
    /// or a vendor's command).
    pub const fn in_standard(self) -> bool {
        matches!(
            self,
            PurgeMethod::NvmeFormat
                | PurgeMethod::NvmeFormatCrypto
                | PurgeMethod::Sanitize
                | PurgeMethod::AtaSecurityErase
                | PurgeMethod::ScsiFormatUnit
                | PurgeMethod::Simulated
        )
    }
}

impl fmt::Display for PurgeMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PurgeMethod::NvmeFormat => "NVMe Format (user data erase)",
            PurgeMethod::NvmeFormatCrypto => "NVMe Format (cryptographic erase)",
            PurgeMethod::Sanitize => "Sanitize",
            PurgeMethod::AtaSecurityErase => "ATA SECURITY ERASE UNIT",
            PurgeMethod::ScsiFormatUnit => "SCSI FORMAT UNIT",
            PurgeMethod::Discard => "discard of every block (blkdiscard)",
            PurgeMethod::RecreateFile => "file made anew",
            PurgeMethod::Simulated => "simulated purge",
            PurgeMethod::Nothing => "none",
        })
    }
}

/// A purge as it was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Purge {
    /// How.
    pub method: PurgeMethod,
    /// How long it took.
    pub took: Nanos,
    /// Whether blocks read back afterwards were blank; `None` where not looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blank: Option<bool>,
    /// What else is to be known: why no better method, what the tool said.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub remark: String,
}
