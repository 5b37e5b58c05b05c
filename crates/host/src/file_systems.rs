//! File systems that lie on a block device or are mounted at a directory.

use crate::error::HostError;
use crate::mounts::{Mount, mounts};
use crate::sysfs_node::SysfsNode;
use crate::system_roots::SystemRoots;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use steadfast_domain::{Device, DeviceNumber};

/// A file system that may be stored on a block device, by its device number.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeviceFileSystem {
    /// Device number in the superblock.
    pub number: DeviceNumber,
    /// File system type, such as `ext4`; `None` if nothing is mounted from it.
    pub kind: Option<String>,
}

/// Returns the file systems that may be stored on a block device, its partitions and the devices built
/// on them. A file system with an anonymous device number, such as btrfs, is found by its mounts.
pub fn file_systems_on(device: &Device, roots: &SystemRoots) -> Vec<DeviceFileSystem> {
    SysfsNode::from_name(&device.name, roots)
        .map(|node| file_systems_of(node, roots))
        .unwrap_or_default()
}

/// A mounted file system, found by the directory where it is mounted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MountedFileSystem {
    /// Directory where it is mounted.
    pub mount_point: PathBuf,
    /// Device number in the superblock.
    pub number: DeviceNumber,
    /// File system type, such as `nfs4`, `overlay` or `fuse.sshfs`.
    pub kind: String,
    /// Source of the mount, such as `server:/export`.
    pub source: String,
}

/// Returns the file system that is mounted at a directory.
///
/// # Errors
/// Returns [`HostError::Io`] if the directory cannot be resolved, an error if the mounts cannot be
/// read, and [`HostError::NoMountPoint`] if nothing is mounted there.
pub fn mounted_at(path: &Path, roots: &SystemRoots) -> Result<MountedFileSystem, HostError> {
    let mount_point = std::fs::canonicalize(path).map_err(|e| HostError::io("find it", path, e))?;
    let mut all_mounts = mounts(roots)?;
    // Of several mounts at one place the last one covers the others.
    let Some(index) = all_mounts.iter().rposition(|mount| mount.point == mount_point) else {
        let contains = |mount: &&Mount| mount_point.starts_with(&mount.point);
        let nearest =
            all_mounts.iter().filter(contains).max_by_key(|mount| mount.point.as_os_str().len());
        let above = nearest.map(|mount| mount.point.clone()).unwrap_or_default();
        return Err(HostError::NoMountPoint { path: path.to_owned(), above });
    };
    let Mount { number, kind, source, .. } = all_mounts.swap_remove(index);
    Ok(MountedFileSystem { mount_point, number, kind, source })
}

fn file_systems_of(node: SysfsNode, roots: &SystemRoots) -> Vec<DeviceFileSystem> {
    let mut nodes = vec![node];
    let mut index = 0;
    // Breadth first: the devices built on a node are visited after it.
    while let Some(node) = nodes.get(index).cloned() {
        let above = node.partitions().into_iter().chain(node.holders().unwrap_or_default());
        let new: Vec<SysfsNode> = above.filter(|node| !nodes.contains(node)).collect();
        nodes.extend(new);
        index += 1;
    }
    let mut kinds: BTreeMap<DeviceNumber, Option<String>> =
        nodes.iter().filter_map(SysfsNode::device_number).map(|number| (number, None)).collect();
    for mount in mounts(roots).unwrap_or_default() {
        if mount.nodes(roots).iter().any(|node| nodes.contains(node)) {
            kinds.insert(mount.number, Some(mount.kind));
        }
    }
    kinds.into_iter().map(|(number, kind)| DeviceFileSystem { number, kind }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::machine::MachineFixture;

    #[test]
    fn file_systems_are_found_on_partitions_and_under_numbers_of_their_own() {
        let (machine, disk) = MachineFixture::with_sata(1 << 21);
        machine.partition(&disk, "sda1", "8:1", 1 << 20);
        machine.sata("sdb", "8:16", 1 << 21);
        let lines = "36 35 0:32 / /data rw - btrfs /dev/sda1 rw\n\
                     37 35 0:33 / /other rw - btrfs /dev/sdb rw\n";
        machine.write("proc/self/mountinfo", lines);
        let on = |major, minor, kind: Option<&str>| DeviceFileSystem {
            number: DeviceNumber::new(major, minor),
            kind: kind.map(str::to_owned),
        };
        let expected = [on(0, 32, Some("btrfs")), on(8, 0, None), on(8, 1, None)];
        assert_eq!(file_systems_of(disk, &machine.roots), expected);
    }
}
