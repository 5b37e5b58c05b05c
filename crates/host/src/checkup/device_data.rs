//! Kind of the device, and other data stored on it.

use super::subject::CheckSubject;
use super::topic::CheckTopic;
use crate::device_uses::{DeviceUses, UseKind, disks_below, disks_of_path};
use crate::mounts::mounts;
use crate::sysfs_node::SysfsNode;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use steadfast_domain::record::Check;
use steadfast_domain::{Transport, ZoneModel};

const KIND: CheckTopic = CheckTopic("device-kind", "Kind of device");
const BOOT: CheckTopic = CheckTopic("boot-disk", "Boot disk");
const IN_USE: CheckTopic = CheckTopic("in-use", "Use");
const READ_ONLY: CheckTopic = CheckTopic("write-protect", "Write protection");

/// Directories that the running system uses at any time.
const SYSTEM: [&str; 6] = ["/", "/boot", "/boot/efi", "/usr", "/var", "/home"];

pub(super) fn checks(subject: &CheckSubject<'_>) -> Vec<Check> {
    let mut checks = vec![kind(subject), boot_disk(subject), in_use(subject)];
    checks.extend(read_only(subject));
    checks
}

fn kind(subject: &CheckSubject<'_>) -> Check {
    let device = subject.device;
    let model = device.model.as_deref().unwrap_or("no model name");
    let found = format!("{}, {model}", device.transport);
    let between = match device.transport {
        Transport::Nvme | Transport::Sata | Transport::Sas => None,
        Transport::Usb => Some("the USB bridge and its protocol"),
        Transport::Virtio => Some("the host of this virtual machine"),
        Transport::Loop => Some("the file, its file system and the disk below"),
        Transport::File => Some("the file system and the disk below"),
        Transport::Zram => Some("the processors, which compress into memory"),
        Transport::Mapped => Some("device-mapper or md and every device below"),
        Transport::Simulated | Transport::Other => Some("the layers below"),
    };
    // Virtual disks report themselves as rotational by default.
    let spins = device.rotational == Some(true)
        && matches!(device.transport, Transport::Sata | Transport::Sas | Transport::Usb);
    match between {
        _ if device.zoned == Some(ZoneModel::HostManaged) => KIND.bad(
            format!("{found}, host-managed zones"),
            "It can only be written in sequence, zone by zone: loads that write in another order \
             are refused.",
        ),
        _ if device.zoned == Some(ZoneModel::HostAware) => KIND.attention(
            format!("{found}, host-aware zones"),
            "Writes that are not sequential are slower and leave work behind; state that it is \
             zoned with the numbers.",
        ),
        _ if spins => KIND.attention(
            format!("{found}; it spins"),
            "The procedures are for solid-state storage; a hard disk's numbers are not comparable.",
        ),
        Some(between) => KIND.attention(
            found,
            format!(
                "The numbers include {between}; for an SSD's own numbers, test the SSD directly."
            ),
        ),
        None => KIND.good(found),
    }
}

/// Returns the disks that store the device's data; for a loop device, those below its file.
fn own_disks(subject: &CheckSubject<'_>) -> BTreeSet<SysfsNode> {
    let below_file = |file: &str| disks_of_path(Path::new(file), subject.roots);
    let Some(node) = &subject.node else { return below_file(&subject.device.name) };
    let disks = disks_below(node, subject.roots);
    let files = disks.iter().filter_map(SysfsNode::backing_file);
    let below: BTreeSet<SysfsNode> = files.flat_map(|file| below_file(&file)).collect();
    if below.is_empty() { disks } else { below }
}

fn boot_disk(subject: &CheckSubject<'_>) -> Check {
    let disks = own_disks(subject);
    if disks.is_empty() {
        return BOOT.unknown("the disk below is unknown");
    }
    let table = mounts(subject.roots).unwrap_or_default();
    let points: Vec<PathBuf> = table.into_iter().map(|mount| mount.point).collect();
    let carries = |path: &&str| {
        points.iter().any(|point| point == Path::new(path))
            && disks_of_path(Path::new(path), subject.roots).iter().any(|disk| disks.contains(disk))
    };
    let mut holds: Vec<&str> = SYSTEM.into_iter().filter(carries).collect();
    if swaps_to(&disks, subject) {
        holds.push("swap");
    }
    let names: Vec<&str> = disks.iter().map(|disk| disk.name.as_str()).collect();
    let names = names.join(", ");
    if holds.is_empty() {
        return BOOT.good(format!("{names} holds nothing of the running system"));
    }
    let found = format!("{names} holds {}", holds.join(", "));
    let advice = "The system reads and writes this disk at any time; test another disk.";
    // The numbers of a file are not expected to be those of a device.
    if matches!(subject.device.transport, Transport::File | Transport::Loop) {
        BOOT.attention(found, advice)
    } else {
        BOOT.bad(found, advice)
    }
}

fn swaps_to(own: &BTreeSet<SysfsNode>, subject: &CheckSubject<'_>) -> bool {
    let Ok(snapshot) = DeviceUses::take(subject.roots) else { return false };
    let uses = own.iter().filter_map(|disk| snapshot.uses(disk).ok()).flatten();
    uses.into_iter().any(|device_use| device_use.kind == UseKind::Swap)
}

fn in_use(subject: &CheckSubject<'_>) -> Check {
    match subject.device.in_use.as_slice() {
        [] => IN_USE.good("free"),
        uses => IN_USE.bad(
            uses.join("; "),
            "End these uses (umount, swapoff, vgchange -an, mdadm --stop); a run that writes is refused.",
        ),
    }
}

fn read_only(subject: &CheckSubject<'_>) -> Option<Check> {
    let node = subject.node.as_ref()?;
    Some(match (node.number::<u8>("ro"), node.whole().number::<u8>("ro")) {
        (Some(0), Some(0)) => READ_ONLY.good("none"),
        (None, None) => READ_ONLY.unknown("not reported by the kernel"),
        _ => READ_ONLY.bad(
            "read-only in the kernel",
            format!(
                "Check for a switch, the end of its life (critical warning) or a write-protected \
                 namespace, then: blockdev --setrw {}",
                subject.device.path
            ),
        ),
    })
}
