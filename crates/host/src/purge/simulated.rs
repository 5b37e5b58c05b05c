//! Purges of simulated devices, for the fault simulator (lab/src/vopr).

use super::{PurgeOptions, PurgeWatch, purge_with};
use crate::error::HostError;
use crate::identity::describe;
use crate::pinned_path::PinnedPath;
use crate::sysfs_node::SysfsNode;
use crate::system_roots::SystemRoots;
use crate::target::{AccessMode, Target};
use crate::tool::ProgramHost;
use steadfast_domain::Purge;

/// Purges a simulated device with programs that `host` starts. The device is described below
/// `roots`, and its node is a regular file; a real device is refused.
///
/// # Errors
/// As [`super::purge`], and if there is no such simulated device.
#[doc(hidden)]
pub fn purge_simulated(
    name: &str,
    options: &PurgeOptions,
    watch: &mut dyn PurgeWatch,
    roots: &SystemRoots,
    host: &impl ProgramHost,
) -> Result<Purge, HostError> {
    let path = roots.dev.join(name);
    let unlisted = || HostError::Unlisted { path: path.clone(), sys: roots.sys.clone() };
    let node = SysfsNode::from_name(name, roots).ok_or_else(unlisted)?;
    let anchor = PinnedPath::at(&path)?;
    if !anchor.metadata().is_file() {
        return Err(HostError::NotTestable { path, kind: "a block device" });
    }
    let target = Target::anchored(describe(&node, &path, roots), AccessMode::Write, &anchor)
        .map_err(|error| HostError::io("open it", &path, error))?;
    purge_with(&target, options, watch, roots, host)
}
