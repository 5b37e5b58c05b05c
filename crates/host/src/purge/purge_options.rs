//! [`PurgeOptions`]: the user's choices for a purge.

use super::purge_command_line::PurgeCommandLine;
use std::path::PathBuf;
use steadfast_domain::{PurgeChoice, PurgeFailure};

/// The user's choices for a purge.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PurgeOptions {
    /// Method, or `auto`.
    pub choice: PurgeChoice,
    /// Command of a vendor's purge.
    pub command: Option<PurgeCommandLine>,
    /// Policy if the purge fails.
    pub failed: PurgeFailure,
    /// Seed that selects the sample places that are read back.
    pub seed: u64,
    /// Other devices that the purge may erase, each by its
    /// [`steadfast_domain::Device::confirmation`].
    pub also_destroyed: Vec<String>,
    /// Paths whose disks must not be erased.
    pub protected_paths: Vec<PathBuf>,
}
