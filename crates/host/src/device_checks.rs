//! Checks of a block device that is to be written: nothing else uses it or its blocks, and its disk
//! holds nothing that must be kept.

use crate::backing::FileId;
use crate::device_number::decode_dev;
use crate::device_uses::{DeviceStack, DeviceUse, DeviceUses, UseKind};
use crate::error::HostError;
use crate::fuse::refuse_fuse;
use crate::identity::describe;
use crate::processes::{self, OpenFileQuery};
use crate::refusal::{ArmRefusal, title};
use crate::retry::{is_busy, retry_until};
use crate::sysfs_node::SysfsNode;
use crate::system_roots::SystemRoots;
use crate::target::{self, Target};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use steadfast_domain::Device;
use steadfast_domain::text::shell_quoted;

/// Finds an inspected device in sysfs.
pub(crate) fn find_node(device: &Device, roots: &SystemRoots) -> Result<SysfsNode, HostError> {
    SysfsNode::from_name(&device.name, roots).ok_or_else(|| HostError::Unlisted {
        path: device.path.clone().into(),
        sys: roots.sys.clone(),
    })
}

/// Checks that the handle refers to the inspected device.
pub(crate) fn verify_handle(
    target: &Target,
    node: &SysfsNode,
    roots: &SystemRoots,
) -> Result<(), ArmRefusal> {
    let device = target.device();
    let path = Path::new(&device.path);
    let metadata = target.file().metadata().map_err(|e| HostError::io("examine it", path, e))?;
    let length =
        target::length_of(target.file()).map_err(|e| HostError::io("read its size", path, e))?;
    let number = decode_dev(metadata.rdev());
    let is_node = metadata.file_type().is_block_device() && node.device_number() == Some(number);
    if !is_node || length != device.capacity.0 {
        let now = format!("block device {number} of {length} bytes");
        return Err(ArmRefusal::Changed { device: title(device), now });
    }
    let current = describe(node, path, roots);
    if current.is_same(device) {
        Ok(())
    } else {
        Err(ArmRefusal::Changed { device: title(device), now: title(&current) })
    }
}

/// Refuses a device that must not be written according to the kernel's lists (in use, holding data
/// to keep, read-only); no confirmation overrides this. Returns the stack of devices with the same
/// blocks.
pub(crate) fn refuse_in_use(
    node: &SysfsNode,
    device: &Device,
    keep: &[PathBuf],
    roots: &SystemRoots,
) -> Result<DeviceStack, ArmRefusal> {
    // UBI and UBIFS use flash without an entry in `holders`.
    let whole = node.whole().name;
    if whole.starts_with("mtdblock") || whole.starts_with("ubiblock") {
        return Err(HostError::NotTestable {
            path: PathBuf::from(&device.path),
            kind: "raw flash, whose users are unknown",
        }
        .into());
    }
    let snapshot = DeviceUses::take(roots)?;
    let uses = snapshot.uses(node)?;
    if !uses.is_empty() {
        return Err(ArmRefusal::InUse {
            device: device.path.clone(),
            remedy: remedies(&uses),
            uses: uses.iter().map(ToString::to_string).collect(),
        });
    }
    refuse_other_paths(node, device, &snapshot, roots)?;
    refuse_kept(node, &device.path, keep, &snapshot)?;
    let may_be_written = |node: &SysfsNode| node.number::<u8>("ro") == Some(0);
    if !may_be_written(node) || !may_be_written(&node.whole()) {
        return Err(ArmRefusal::ReadOnly { device: device.path.clone() });
    }
    Ok(snapshot.stack(node)?)
}

/// Returns the ways to end these uses.
fn remedies(uses: &[DeviceUse]) -> String {
    let is_root = |device_use: &DeviceUse| match &device_use.kind {
        UseKind::Mounted(point) => point == Path::new("/"),
        _ => false,
    };
    if uses.iter().any(is_root) {
        // Nothing else on such a disk needs to be freed.
        return "it holds the running system: test another disk, or a scratch file".to_owned();
    }
    let mut texts: Vec<String> = uses
        .iter()
        .map(|device_use| match &device_use.kind {
            UseKind::Mounted(_) => "unmount it (umount)".to_owned(),
            UseKind::MountedElsewhere { point, process } => format!(
                "end process {process}, or unmount it there (nsenter --target {process} --mount \
                 umount {})",
                shell_quoted(&point.to_string_lossy())
            ),
            UseKind::Swap => "stop swapping to it (swapoff)".to_owned(),
            UseKind::Held(_) => "stop what is built on it (vgchange -an, mdadm --stop, \
                 cryptsetup close, losetup -d)"
                .to_owned(),
            UseKind::SharedFile(_) => "detach the other loop device (losetup -d)".to_owned(),
        })
        .collect();
    texts.sort_unstable();
    texts.dedup();
    texts.join("; ")
}

/// Refuses a device whose disk is in use under another name. Without a multipath driver, a drive
/// with two ports appears twice, and the kernel does not know that both are one drive.
fn refuse_other_paths(
    node: &SysfsNode,
    device: &Device,
    snapshot: &DeviceUses<'_>,
    roots: &SystemRoots,
) -> Result<(), ArmRefusal> {
    let whole = node.whole();
    let disk = describe(&whole, &whole.path(roots), roots);
    if disk.wwid.is_none() || disk.serial.is_none() {
        return Ok(());
    }
    let mut uses = Vec::new();
    for other in SysfsNode::try_all(roots)?.iter().filter(|other| **other != whole) {
        if describe(other, &other.path(roots), roots).is_same(&disk) {
            let other_uses = snapshot.uses(other)?;
            uses.extend(other_uses.iter().map(|used| format!("as {}: {used}", other.name)));
        }
    }
    if uses.is_empty() {
        return Ok(());
    }
    let remedy = "it is the same disk by another path; free it there first".to_owned();
    Err(ArmRefusal::InUse { device: device.path.clone(), uses, remedy })
}

/// Refuses a device on a disk that stores the root file system, this program or a kept path.
fn refuse_kept(
    node: &SysfsNode,
    device: &str,
    keep: &[PathBuf],
    snapshot: &DeviceUses<'_>,
) -> Result<(), ArmRefusal> {
    let own_disks = snapshot.disks_below(node)?;
    let mut kept_disks = Vec::new();
    for (what, path) in protected_paths(keep) {
        let remedy = match path.to_str() {
            _ if keep.contains(&path) => "give -o DIR on a file system of a disk or in memory",
            Some("/") => ANOTHER_ROOT,
            _ => "copy the program to a file system of a disk or in memory",
        };
        let disks = snapshot.disks_of_path(&path).map_err(|error| with_remedy(error, remedy))?;
        kept_disks.push((what, disks));
    }
    let disks = snapshot.disks_of_first_root().map_err(|error| with_remedy(error, ANOTHER_ROOT))?;
    kept_disks.push(("the root file system of the host".to_owned(), disks));
    for (what, disks) in kept_disks {
        if let Some(disk) = disks.intersection(&own_disks).next() {
            return Err(ArmRefusal::HoldsKept {
                device: device.to_owned(),
                disk: disk.name.clone(),
                what,
            });
        }
    }
    Ok(())
}

/// Returns the paths whose disks must not be written, with a description.
fn protected_paths(keep: &[PathBuf]) -> Vec<(String, PathBuf)> {
    let mut paths = vec![
        ("the root file system".to_owned(), PathBuf::from("/")),
        // The program's path may lead to another file in this namespace.
        ("this program".to_owned(), "/proc/self/exe".into()),
    ];
    paths.extend(keep.iter().map(|path| (path.display().to_string(), path.clone())));
    paths
}

/// Remedy if the disk of the root file system is unknown.
const ANOTHER_ROOT: &str = "boot a system whose root file system lies on a disk or in memory";

/// Appends a remedy to the reason why the disk of a path is unknown.
fn with_remedy(error: HostError, remedy: &str) -> HostError {
    match error {
        HostError::Unclear { what, why } => {
            HostError::Unclear { what, why: format!("{why}; {remedy}") }
        }
        other => other,
    }
}

/// Refuses a device whose blocks another process may write to or has locked.
pub(crate) fn refuse_other_users(
    stack: &DeviceStack,
    device: &Device,
    roots: &SystemRoots,
) -> Result<(), ArmRefusal> {
    refuse_writers(stack, device, roots)?;
    if !stack.files.is_empty() {
        refuse_fuse(&stack.files, device, roots)?;
    }
    let mut files = stack.files.clone();
    let nodes = stack.nodes.iter().filter_map(|node| fs::metadata(node.path(roots)).ok());
    files.extend(nodes.map(|metadata| FileId::from_metadata(&metadata)));
    // udev's programs lock a device briefly.
    let lock_owners = retry_until(
        || processes::locks_on(&files, roots),
        |lock_owners| lock_owners.as_ref().is_ok_and(Vec::is_empty),
    )?;
    if lock_owners.is_empty() {
        Ok(())
    } else {
        Err(ArmRefusal::HeldExclusively { device: device.path.clone(), by: lock_owners })
    }
}

/// Refuses a device that a process has open for writing, by any way to the same blocks.
pub(crate) fn refuse_writers(
    stack: &DeviceStack,
    device: &Device,
    roots: &SystemRoots,
) -> Result<(), ArmRefusal> {
    // The creator of a loop device may keep its file open; a program that works on the file locks
    // it.
    let numbers = stack.nodes.iter().filter_map(SysfsNode::device_number).collect();
    let query = OpenFileQuery { numbers, files: BTreeSet::new() };
    let writers = || processes::openers(&query, roots, true);
    let by = retry_until(writers, |by| by.as_ref().is_ok_and(Vec::is_empty))?;
    if by.is_empty() {
        Ok(())
    } else {
        Err(ArmRefusal::OpenForWriting { device: device.path.clone(), by })
    }
}

/// Opens exclusively every other device that leads to the same blocks.
pub(crate) fn claim(
    target: &mut Target,
    stack: &DeviceStack,
    roots: &SystemRoots,
) -> Result<(), ArmRefusal> {
    for node in &stack.claims {
        let claimed = retry_until(|| target.claim(node, roots), |claimed| !is_busy(claimed));
        claimed.map_err(|error| match error.raw_os_error() {
            Some(libc::EBUSY) => ArmRefusal::HeldExclusively {
                device: target.device().path.clone(),
                by: vec![format!("by way of {}, which has the same blocks", node.name)],
            },
            _ => HostError::io("hold it exclusively", &node.path(roots), error).into(),
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity;
    use crate::testing::machine::MachineFixture;

    fn refusal(machine: &MachineFixture, name: &str, keep: &[PathBuf]) -> String {
        let node = machine.node(name);
        let device = describe(&node, Path::new(name), &machine.roots);
        refuse_in_use(&node, &device, keep, &machine.roots)
            .map_or_else(|refusal| refusal.to_string(), |_| "armed".into())
    }

    #[test]
    fn the_root_disk_is_refused_through_every_layer() {
        let (machine, disk) = MachineFixture::with_sata(1000);
        let part = machine.partition(&disk, "sda2", "8:2", 500);
        machine.partition(&disk, "sda3", "8:3", 100);
        for (n, name) in ["dm-0", "dm-1"].iter().enumerate() {
            let node = machine.block(&format!("virtual/block/{name}"), &format!("252:{n}"), 9);
            machine.stack(&node, &part);
            machine.write(&format!("tables/{name}"), format!("0 9 linear 8:2 {}\n", n * 9));
        }
        machine.nvme(0, 1, 1000);
        machine.mount(&[("252:0", "/", "ext4", "/dev/mapper/vg-root")]);
        for unused in ["sda3", "dm-1"] {
            let expected =
                format!("{unused} lies on the disk (sda) that holds the root file system");
            assert_eq!(refusal(&machine, unused, &[]), expected);
        }
        assert!(refusal(&machine, "sda", &[]).contains("sda2: held by dm-0"));
        assert_eq!(refusal(&machine, "nvme0n1", &[]), "armed");
    }

    #[test]
    fn the_disk_of_a_kept_path_is_refused() {
        let (machine, disk) = MachineFixture::with_sata(1000);
        machine.partition(&disk, "sda1", "8:1", 100);
        machine.partition(&disk, "sda2", "8:2", 100);
        let runs = machine.path("runs");
        fs::create_dir(&runs).unwrap();
        machine.mount(&[
            ("0:20", "/", "tmpfs", "tmpfs"),
            ("0:33", runs.to_str().unwrap(), "btrfs", "/dev/sda1"),
        ]);
        let keep = runs.join("run-1");
        let expected = format!("sda2 lies on the disk (sda) that holds {}", keep.display());
        assert_eq!(refusal(&machine, "sda2", std::slice::from_ref(&keep)), expected);
        assert_eq!(refusal(&machine, "sda2", &[]), "armed");
    }

    #[test]
    fn a_read_only_disk_makes_its_partitions_read_only() {
        let (machine, disk) = MachineFixture::with_sata(1000);
        machine.partition(&disk, "sda1", "8:1", 100);
        machine.set(&disk, "ro", "1");
        assert_eq!(refusal(&machine, "sda1", &[]), "sda1 is read-only");
    }

    /// One serial number names neither of two disks.
    #[test]
    fn a_serial_number_of_two_disks_needs_the_path_of_one() {
        let machine = MachineFixture::new();
        for (n, serial) in ["S1", "S1", "S2"].iter().enumerate() {
            let node = machine.nvme(n as u32, 1, 1000);
            machine.set(&node, "device/serial", serial);
        }
        machine.partition(&machine.node("nvme0n1"), "nvme0n1p3", "259:99", 100);
        let expected = |name: &str| {
            let device = describe(&machine.node(name), Path::new(name), &machine.roots);
            identity::confirmation(&device, &machine.roots).unwrap()
        };
        let at = |name: &str| machine.roots.dev.join(name).display().to_string();
        assert_eq!(expected("nvme0n1"), format!("S1@{}", at("nvme0n1")));
        assert_eq!(expected("nvme1n1"), format!("S1@{}", at("nvme1n1")));
        assert_eq!(expected("nvme0n1p3"), format!("S1-part3@{}", at("nvme0n1p3")));
        assert_eq!(expected("nvme2n1"), "S2");
        // Two namespaces of one drive have names of their own; a hidden path is no device.
        machine.nvme(2, 2, 1000);
        machine.set(&machine.node("nvme2n2"), "device/serial", "S2");
        assert_eq!((expected("nvme2n1"), expected("nvme2n2")), ("S2-n1".into(), "S2-n2".into()));
        machine.set(&machine.node("nvme1n1"), "hidden", "1");
        assert_eq!(expected("nvme0n1"), "S1");
    }

    #[test]
    fn a_mount_point_is_a_word_of_the_command_that_unmounts_it() {
        let kind = UseKind::MountedElsewhere {
            point: "/mnt/it's $(reboot)".into(),
            process: "77".to_owned(),
        };
        let remedy = remedies(&[DeviceUse { place: None, kind }]);
        assert!(remedy.contains(r"--mount umount '/mnt/it'\''s $(reboot)')"), "{remedy}");
    }

    #[test]
    fn a_disk_in_use_by_its_other_path_is_refused() {
        let machine = MachineFixture::new();
        for (n, name) in ["sda", "sdb", "sdc"].iter().enumerate() {
            let target = format!("pci0000:00/0000:02:00.0/host{n}/target{n}:0:0/{n}:0:0:0");
            let node = machine.scsi(&target, name, &format!("8:{}", n * 16), 1000);
            let drive = if *name == "sdc" { "2" } else { "1" };
            machine.set(&node, "device/wwid", format!("naa.500{drive}"));
            machine.set(&node, "device/vpd_pg80", [0, 0x80, 0, 2, b'S', drive.as_bytes()[0]]);
        }
        machine.mount(&[("8:0", "/srv", "xfs", "/dev/sda")]);
        assert!(refusal(&machine, "sdb", &[]).contains("as sda: mounted on /srv"));
        assert_eq!(refusal(&machine, "sdc", &[]), "armed");
    }
}
