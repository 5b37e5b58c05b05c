//! Facts of a block device that a capture needs: its number, its request queue, its partition.

use crate::error::HostError;
use crate::host_settings::queues;
use crate::identity::kernel_write_cache;
use crate::mounts::{Mount, mounts};
use crate::sysfs_node::SysfsNode;
use crate::system_roots::SystemRoots;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use steadfast_domain::{Bytes, Device, DeviceNumber, WriteCache};

/// Number, queue type and partition of a block device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockQueue {
    /// Number of the device.
    pub number: DeviceNumber,
    /// True if the device has no request queue and receives bios directly (zram, device-mapper,
    /// md).
    pub bio_based: bool,
    /// Location of a partition on its disk; `None` for a whole device.
    pub partition_of: Option<Partition>,
}

/// Location of a partition on its disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    /// Name of the disk.
    pub disk: String,
    /// Number of the disk.
    pub disk_number: DeviceNumber,
    /// Capacity of the disk.
    pub disk_capacity: Bytes,
    /// Sectors of the partition on the disk, in units of 512 bytes; the end is exclusive.
    pub sectors: Range<u64>,
}

/// Returns the queue facts of a block device; `None` for a file or a simulated drive.
pub fn block_queue(device: &Device, roots: &SystemRoots) -> Option<BlockQueue> {
    queue_of_node(&SysfsNode::from_name(&device.name, roots)?)
}

/// Returns true if the kernel passes FUA writes on to the device, false if it writes and flushes
/// instead; `None` for a file, a simulated drive, and a device without a volatile cache, which
/// needs neither.
pub fn has_fua(device: &Device, roots: &SystemRoots) -> Option<bool> {
    let whole = SysfsNode::from_name(&device.name, roots)?.whole();
    if kernel_write_cache(&whole) != Some(WriteCache::Enabled) {
        return None;
    }
    whole.number::<u8>("queue/fua").map(|fua| fua != 0)
}

/// Returns false if the kernel drops flushes on their way to the device, because it treats the
/// write cache of the device, or of one below it, as non-volatile; `None` if that is unknown, as for
/// a file.
pub fn sends_flushes(device: &Device, roots: &SystemRoots) -> Option<bool> {
    let queues = queues(&SysfsNode::from_name(&device.name, roots)?.whole());
    let caches: Option<Vec<WriteCache>> = queues.iter().map(kernel_write_cache).collect();
    Some(caches?.iter().all(|cache| *cache == WriteCache::Enabled))
}

/// Returns the kernel's sequence number of the disk that currently has this major and minor
/// number. It changes if another disk gets the number or the medium is exchanged. `None` if no
/// disk has the number; 0 on kernels before 5.15.
pub fn disk_sequence(number: DeviceNumber, roots: &SystemRoots) -> Option<u64> {
    let node = SysfsNode::from_number(number, roots)?;
    Some(node.whole().number("diskseq").unwrap_or(0))
}

/// A file system that may be stored on a block device, by its device number.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeviceFileSystem {
    /// Device number in the superblock.
    pub number: DeviceNumber,
    /// File system type, such as `ext4`; `None` if nothing is mounted from it.
    pub kind: Option<String>,
}

/// Returns every file system that may be stored on a block device: on the device itself, on its
/// partitions and the devices built on them, and file systems mounted from these under an anonymous
/// number (btrfs).
pub fn file_systems_on(device: &Device, roots: &SystemRoots) -> Vec<DeviceFileSystem> {
    SysfsNode::from_name(&device.name, roots)
        .map(|node| file_systems_of(node, roots))
        .unwrap_or_default()
}

/// A mounted file system, found by the directory where it is mounted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MountedFileSystem {
    /// Directory where it is mounted.
    pub point: PathBuf,
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
    let point = std::fs::canonicalize(path).map_err(|e| HostError::io("find it", path, e))?;
    let mut all_mounts = mounts(roots)?;
    // Of several mounts at one place the last one covers the others.
    let Some(index) = all_mounts.iter().rposition(|mount| mount.point == point) else {
        let contains = |mount: &&Mount| point.starts_with(&mount.point);
        let nearest =
            all_mounts.iter().filter(contains).max_by_key(|mount| mount.point.as_os_str().len());
        let above = nearest.map(|mount| mount.point.clone()).unwrap_or_default();
        return Err(HostError::NoMountPoint { path: path.to_owned(), above });
    };
    let mount = all_mounts.swap_remove(index);
    Ok(MountedFileSystem { point, number: mount.number, kind: mount.kind, source: mount.source })
}

fn file_systems_of(node: SysfsNode, roots: &SystemRoots) -> Vec<DeviceFileSystem> {
    let mut nodes = vec![node];
    let mut index = 0;
    while let Some(node) = nodes.get(index).cloned() {
        let above = node.partitions().into_iter().chain(node.holders().unwrap_or_default());
        let new: Vec<SysfsNode> = above.filter(|node| !nodes.contains(node)).collect();
        nodes.extend(new);
        index += 1;
    }
    let mut kinds: BTreeMap<_, _> =
        nodes.iter().filter_map(SysfsNode::device_number).map(|number| (number, None)).collect();
    for mount in mounts(roots).unwrap_or_default() {
        if mount.nodes(roots).iter().any(|node| nodes.contains(node)) {
            kinds.insert(mount.number, Some(mount.kind));
        }
    }
    kinds.into_iter().map(|(number, kind)| DeviceFileSystem { number, kind }).collect()
}

fn queue_of_node(node: &SysfsNode) -> Option<BlockQueue> {
    let whole = node.whole();
    Some(BlockQueue {
        number: node.device_number()?,
        bio_based: !whole.directory.join("mq").is_dir(),
        partition_of: node.partition().and_then(|_| partition_of(node, &whole)),
    })
}

fn partition_of(node: &SysfsNode, disk: &SysfsNode) -> Option<Partition> {
    let (start, length): (u64, u64) = (node.number("start")?, node.number("size")?);
    Some(Partition {
        disk: disk.name.clone(),
        disk_number: disk.device_number()?,
        disk_capacity: disk.capacity(),
        sectors: start..start.saturating_add(length),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::machine::MachineFixture;
    use steadfast_domain::Transport;

    #[test]
    fn bio_based_devices_and_partitions_are_recognized() {
        let (machine, disk) = MachineFixture::with_sata(1 << 21);
        let part = machine.partition(&disk, "sda1", "8:1", 1 << 20);
        std::fs::write(part.directory.join("start"), "2048\n").unwrap();
        let queue = queue_of_node(&disk).unwrap();
        assert_eq!(
            (queue.number, queue.bio_based, queue.partition_of),
            (DeviceNumber::new(8, 0), true, None)
        );
        std::fs::create_dir_all(disk.directory.join("mq")).unwrap();
        assert!(!queue_of_node(&disk).unwrap().bio_based);
        let queue = queue_of_node(&part).unwrap();
        assert_eq!((queue.number, queue.bio_based), (DeviceNumber::new(8, 1), false));
        let partition = queue.partition_of.unwrap();
        assert_eq!(
            (partition.disk.as_str(), partition.disk_number),
            ("sda", DeviceNumber::new(8, 0))
        );
        assert_eq!(partition.sectors, 2048..2048 + (1 << 20));
    }

    #[test]
    fn a_write_through_queue_below_the_device_drops_flushes() {
        let (machine, disk) = MachineFixture::with_sata(1 << 21);
        machine.partition(&disk, "sda1", "8:1", 1 << 20);
        let device = Device {
            name: "sda1".into(),
            ..Device::new("/dev/sda1", Transport::Sata, Bytes::gib(1))
        };
        assert_eq!(sends_flushes(&device, &machine.roots), Some(true));
        std::fs::write(disk.directory.join("queue/write_cache"), "write through\n").unwrap();
        assert_eq!(sends_flushes(&device, &machine.roots), Some(false));
        std::fs::remove_file(disk.directory.join("queue/write_cache")).unwrap();
        assert_eq!(sends_flushes(&device, &machine.roots), None);
    }

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
