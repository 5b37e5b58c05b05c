//! Arrays of disks: level, members and chunk size, as the kernel's drivers report them.
//!
//! md has attributes of its own (Documentation/admin-guide/md.rst), a mapped device has its
//! slaves, and two drivers of RAID controllers name the level of a volume. What lies behind any
//! other controller is hidden from Linux.

use crate::sysfs_node::SysfsNode;
use steadfast_domain::{Bytes, DiskArray};

/// Returns the array that a whole device is; `None` if nothing reports one. `name` returns what a
/// member is called.
pub(crate) fn read(whole: &SysfsNode, name: impl Fn(&SysfsNode) -> String) -> Option<DiskArray> {
    let members: Vec<String> = whole.slaves().unwrap_or_default().iter().map(name).collect();
    let known = |bytes: Option<u64>| bytes.filter(|bytes| *bytes > 0).map(Bytes);
    let stripe = known(whole.number("queue/optimal_io_size"));
    // A limit that equals the stripe, or stands alone, is no chunk.
    let least = known(whole.number("queue/minimum_io_size"));
    let least = least.filter(|least| stripe.is_some_and(|stripe| stripe > *least));
    if let Some(level) = whole.text("md/level").filter(|level| !level.is_empty()) {
        return Some(DiskArray {
            level: Some(level),
            members,
            wanted: whole.number("md/raid_disks"),
            chunk: known(whole.number("md/chunk_size")),
            stripe,
        });
    }
    // hpsa and smartpqi; a disk that the controller passes through is "N/A".
    let level = whole.text("device/raid_level").filter(|level| level != "N/A");
    let is_mapped = whole.name.starts_with("dm-") && members.len() > 1;
    if level.is_none() && !is_mapped {
        return None;
    }
    Some(DiskArray { level, members, wanted: None, chunk: least, stripe })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::machine::MachineFixture;

    fn named(member: &SysfsNode) -> String {
        format!("{} ({})", member.name, member.text("device/model").unwrap_or_default())
    }

    #[test]
    fn an_md_array_has_its_level_members_and_chunk() {
        let machine = MachineFixture::new();
        let array = machine.block("virtual/block/md0", "9:0", 6000);
        for controller in 0..3 {
            let disk = machine.nvme(controller, 1, 3000);
            machine.set(&disk, "device/model", format!("Model {controller}\n"));
            machine.stack(&array, &disk);
        }
        for (attribute, value) in [
            ("md/level", "raid5\n"),
            ("md/raid_disks", "3\n"),
            ("md/chunk_size", "524288\n"),
            ("queue/minimum_io_size", "524288\n"),
            ("queue/optimal_io_size", "1048576\n"),
        ] {
            machine.set(&array, attribute, value);
        }
        let found = read(&array, named).unwrap();
        assert_eq!(found.level.as_deref(), Some("raid5"));
        assert_eq!((found.wanted, found.chunk), (Some(3), Some(Bytes(524_288))));
        assert_eq!(found.stripe, Some(Bytes(1_048_576)));
        let names: Vec<&str> = found.members.iter().map(|m| m.split(' ').next().unwrap()).collect();
        assert_eq!(names, ["nvme0n1", "nvme1n1", "nvme2n1"]);
        assert!(found.members[1].contains("Model 1"), "{found:?}");
        // A mirror has no chunks.
        machine.set(&array, "md/chunk_size", "0\n");
        assert_eq!(read(&array, named).unwrap().chunk, None);
    }

    #[test]
    fn a_controller_may_name_the_level_and_a_disk_is_no_array() {
        let machine = MachineFixture::new();
        let volume = machine.scsi("2:1:0:0", "sdd", "8:48", 6000);
        assert_eq!(read(&volume, named), None);
        machine.set(&volume, "device/raid_level", "N/A\n");
        assert_eq!(read(&volume, named), None);
        machine.set(&volume, "device/raid_level", "RAID 5\n");
        machine.set(&volume, "queue/minimum_io_size", "262144\n");
        machine.set(&volume, "queue/optimal_io_size", "786432\n");
        let found = read(&volume, named).unwrap();
        assert_eq!(found.level.as_deref(), Some("RAID 5"));
        assert_eq!((found.chunk, found.stripe), (Some(Bytes(262_144)), Some(Bytes(786_432))));
        assert!(found.members.is_empty() && found.wanted.is_none());
    }

    #[test]
    fn a_mapped_device_over_several_disks_is_an_array_and_over_one_is_not() {
        let machine = MachineFixture::new();
        let mapped = machine.block("virtual/block/dm-0", "253:0", 4000);
        machine.stack(&mapped, &machine.nvme(0, 1, 3000));
        assert_eq!(read(&mapped, named), None);
        machine.stack(&mapped, &machine.nvme(1, 1, 3000));
        assert_eq!(read(&mapped, named).unwrap().members.len(), 2);
    }
}
