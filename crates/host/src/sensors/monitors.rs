//! Hardware monitors (hwmon) of a device.

use crate::sysfs_node::{SysfsNode, controllers};
use crate::system_roots::{SystemRoots, entries, file_name};
use std::path::{Path, PathBuf};
use steadfast_domain::{Device, Transport};

/// Returns the hwmon directories of the device itself, and of nothing else in the host.
pub(super) fn own_monitors(device: &Device, roots: &SystemRoots) -> Vec<PathBuf> {
    if device.transport == Transport::File {
        return Vec::new();
    }
    let Some(node) = SysfsNode::from_name(&device.name, roots) else { return Vec::new() };
    let whole = node.whole();
    let mut directories = controllers(&whole);
    directories.push(whole.directory.join("device"));
    directories.iter().flat_map(|directory| monitors(directory)).collect()
}

/// Returns the hwmon directories in a sysfs directory, directly in it or in its `hwmon`.
fn monitors(directory: &Path) -> Vec<PathBuf> {
    let mut directories = entries(&directory.join("hwmon"));
    directories.extend(entries(directory).into_iter().filter(|path| {
        file_name(path).strip_prefix("hwmon").is_some_and(|number| !number.is_empty())
    }));
    directories
}
