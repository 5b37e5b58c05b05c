//! Facts of a block device: number, partition, and how its kernel queue treats I/Os and flushes.

use crate::host_settings::queues;
use crate::identity::kernel_write_cache;
use crate::sysfs_node::SysfsNode;
use crate::system_roots::SystemRoots;
use std::ops::Range;
use steadfast_domain::{Bytes, Device, DeviceNumber, WriteCache};

/// Number, kind of queue and partition of a block device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockDeviceFacts {
    /// Number of the device.
    pub number: DeviceNumber,
    /// True if the device has no request queue and receives bios directly (zram, device-mapper,
    /// md).
    pub is_bio_based: bool,
    /// `None` for a whole device.
    pub partition: Option<Partition>,
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

/// Returns the facts of a block device; `None` for a file or a simulated drive.
pub fn block_device_facts(device: &Device, roots: &SystemRoots) -> Option<BlockDeviceFacts> {
    facts_of_node(&SysfsNode::from_name(&device.name, roots)?)
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

fn facts_of_node(node: &SysfsNode) -> Option<BlockDeviceFacts> {
    let whole = node.whole();
    Some(BlockDeviceFacts {
        number: node.device_number()?,
        is_bio_based: !whole.directory.join("mq").is_dir(),
        partition: if node.partition().is_some() { partition_of(node, &whole) } else { None },
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
        let facts = facts_of_node(&disk).unwrap();
        assert_eq!(
            (facts.number, facts.is_bio_based, facts.partition),
            (DeviceNumber::new(8, 0), true, None)
        );
        std::fs::create_dir_all(disk.directory.join("mq")).unwrap();
        assert!(!facts_of_node(&disk).unwrap().is_bio_based);
        let facts = facts_of_node(&part).unwrap();
        assert_eq!((facts.number, facts.is_bio_based), (DeviceNumber::new(8, 1), false));
        let partition = facts.partition.unwrap();
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
}
