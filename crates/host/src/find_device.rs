//! Finds the device of an interrupted run after a reboot or on another port.

use crate::error::HostError;
use crate::identity::{describe, inspect};
use crate::refusal::title;
use crate::sysfs_node::SysfsNode;
use crate::system_roots::SystemRoots;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use steadfast_domain::{Device, DirectBuffer, Transport};

/// Number of bytes that a returned device must be able to read.
const TEST_READ: usize = 4096;

/// Finds the device of an earlier run by world-wide identifier or serial number (with namespace and
/// partition) and by capacity, never by its name in `/dev`.
///
/// A file is found by its absolute path. A device that reports neither identifier (loop, zram, some
/// virtual disks) is found by name and size. Both may have been replaced: compare with
/// [`crate::proof()`] and [`steadfast_domain::Proof::differences`].
///
/// # Errors
/// [`HostError::Absent`] if no device matches, with the device that has its name now;
/// [`HostError::Ambiguous`] if more than one matches; the errors of [`inspect`] for a file.
pub fn find_again(device: &Device, roots: &SystemRoots) -> Result<Device, HostError> {
    let path = Path::new(&device.path);
    if device.transport == Transport::File {
        return same_file(device, roots);
    }
    let nodes: Vec<SysfsNode> = every_node(roots)
        .into_iter()
        .filter(|node| matches_identity(&describe(node, path, roots), device))
        .collect();
    match nodes.as_slice() {
        [node] => Ok(describe(node, &path_to(node, path, roots), roots)),
        [] => Err(absent(device, inspect(path, roots).ok())),
        several => {
            let names: Vec<&str> = several.iter().map(|node| node.name.as_str()).collect();
            Err(HostError::Ambiguous { wanted: title(device), found: names.join(", ") })
        }
    }
}

/// Returns true if the device of an earlier run is attached again and answers a read.
pub fn has_returned(device: &Device, roots: &SystemRoots) -> bool {
    let Ok(current) = find_again(device, roots) else { return false };
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_DIRECT | libc::O_NONBLOCK)
        .open(&current.path)
        .or_else(|_| File::open(&current.path));
    let mut content = DirectBuffer::new(TEST_READ);
    opened.is_ok_and(|file| file.read_exact_at(&mut content, 0).is_ok())
}

/// Returns all disks and partitions, without the hidden paths of NVMe drives.
fn every_node(roots: &SystemRoots) -> Vec<SysfsNode> {
    let mut nodes = Vec::new();
    for whole in SysfsNode::all(roots).into_iter().filter(|node| !node.is_hidden()) {
        let parts = whole.partitions();
        nodes.push(whole);
        nodes.extend(parts);
    }
    nodes
}

/// Returns true if a device found now is the wanted one, as far as its identity shows.
fn matches_identity(found: &Device, wanted: &Device) -> bool {
    let same_identity = match (&found.wwid, &wanted.wwid, &wanted.serial) {
        (Some(here), Some(there), _) => here == there && same_serial(found, wanted),
        (_, None, Some(_)) => same_serial(found, wanted),
        // If neither side has an identity, only the name can be compared.
        (None, None, None) => found.serial.is_none() && found.name == wanted.name,
        _ => false,
    };
    // The model of a loop device is the path of its backing file, which proves nothing.
    let same_kind = found.transport == wanted.transport
        && (found.model == wanted.model || found.transport == Transport::Loop);
    same_identity && same_kind && found.capacity == wanted.capacity
}

/// Returns true if the serial numbers match. Ignores a namespace suffix that only one of them has:
/// it appears or disappears when the controller gains or loses another namespace.
fn same_serial(a: &Device, b: &Device) -> bool {
    let extends = |long: &str, short: &str| {
        long.strip_prefix(short)
            .and_then(|rest| rest.strip_prefix("-n"))
            .is_some_and(|number| number.bytes().all(|b| b.is_ascii_digit()))
    };
    match (&a.serial, &b.serial) {
        (Some(a), Some(b)) => a == b || extends(a, b) || extends(b, a),
        (None, None) => true,
        _ => false,
    }
}

/// Returns the path that the user gave if it still refers to the device (it may be a persistent
/// link), otherwise the kernel's.
fn path_to(node: &SysfsNode, named: &Path, roots: &SystemRoots) -> PathBuf {
    match SysfsNode::from_path(named, roots) {
        Some(found) if found == *node => named.to_owned(),
        _ => node.path(roots),
    }
}

fn same_file(device: &Device, roots: &SystemRoots) -> Result<Device, HostError> {
    let current = inspect(Path::new(&device.name), roots)?;
    let same = current.transport == device.transport && current.capacity == device.capacity;
    if same { Ok(current) } else { Err(absent(device, Some(current))) }
}

fn absent(device: &Device, instead: Option<Device>) -> HostError {
    HostError::Absent {
        wanted: title(device),
        instead: instead.map(|now| format!("{} is attached instead", title(&now))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::machine::MachineFixture;
    use std::fs;

    fn facts(machine: &MachineFixture, name: &str) -> Device {
        machine.device(&machine.node(name))
    }

    /// Simulates a machine whose drives were named in another order after a reboot.
    fn after_restart(of: &Device, controllers: &[(u32, &str)]) -> (MachineFixture, Device) {
        let machine = MachineFixture::new();
        for (controller, serial) in controllers {
            let node = machine.nvme(*controller, 1, 1000);
            machine.set(&node, "device/serial", serial);
            machine.set(&node, "wwid", format!("eui.{serial}"));
        }
        let path = machine.roots.dev.join(&of.name).to_str().unwrap().to_owned();
        (machine, Device { path, ..of.clone() })
    }

    fn earlier() -> Device {
        let (machine, node) = MachineFixture::with_nvme(1000);
        machine.set(&node, "device/serial", "AAA");
        machine.set(&node, "wwid", "eui.AAA");
        facts(&machine, "nvme0n1")
    }

    #[test]
    fn a_drive_is_found_under_its_new_name() {
        let (machine, device) = after_restart(&earlier(), &[(0, "BBB"), (1, "AAA")]);
        let found = find_again(&device, &machine.roots).unwrap();
        assert_eq!(found.name, "nvme1n1");
        assert_eq!(Path::new(&found.path), machine.roots.dev.join("nvme1n1"));
        assert!(found.is_same(&device));
    }

    #[test]
    fn a_drive_that_is_gone_is_not_taken_for_its_neighbor() {
        let (machine, device) = after_restart(&earlier(), &[(0, "BBB")]);
        let error = find_again(&device, &machine.roots).unwrap_err();
        assert!(matches!(error, HostError::Absent { .. }), "{error}");
        assert!(error.to_string().contains("serial number AAA"), "{error}");
    }

    #[test]
    fn the_same_identity_twice_is_nobody() {
        let (machine, device) = after_restart(&earlier(), &[(0, "AAA"), (1, "AAA")]);
        let error = find_again(&device, &machine.roots).unwrap_err();
        assert!(error.to_string().contains("nvme0n1, nvme1n1"), "{error}");
    }

    #[test]
    fn another_capacity_is_another_device() {
        let (machine, device) = after_restart(&earlier(), &[(0, "AAA")]);
        let smaller = Device { capacity: steadfast_domain::Bytes(512), ..device };
        assert!(find_again(&smaller, &machine.roots).is_err());
    }

    #[test]
    fn a_new_sibling_namespace_does_not_hide_a_drive() {
        let (machine, device) = after_restart(&earlier(), &[(0, "AAA")]);
        let sibling = machine.nvme(0, 2, 1000);
        machine.set(&sibling, "device/serial", "AAA");
        let found = find_again(&device, &machine.roots).unwrap();
        assert_eq!((found.name.as_str(), found.confirmation()), ("nvme0n1", "AAA-n1"));
    }

    #[test]
    fn partitions_of_the_same_size_are_distinguished() {
        let (machine, disk) = MachineFixture::with_nvme(1000);
        machine.partition(&disk, "nvme0n1p1", "259:91", 100);
        machine.partition(&disk, "nvme0n1p2", "259:92", 100);
        let second = facts(&machine, "nvme0n1p2");
        assert_eq!(find_again(&second, &machine.roots).unwrap().name, "nvme0n1p2");
    }

    #[test]
    fn a_loop_device_is_found_by_name_and_size_whatever_the_path_of_its_file() {
        let machine = MachineFixture::new();
        let node = machine.block("virtual/block/loop0", "7:0", 100);
        machine.lay_over(&node, "/image");
        let device = facts(&machine, "loop0");
        assert_eq!(find_again(&device, &machine.roots).unwrap(), device);
        machine.lay_over(&node, "/alias");
        assert_eq!(find_again(&device, &machine.roots).unwrap().name, "loop0");
        machine.set(&node, "size", "200");
        assert!(find_again(&device, &machine.roots).is_err());
    }

    #[test]
    fn a_file_is_found_by_path_and_size() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("scratch");
        fs::write(&path, [0; 4096]).unwrap();
        let roots = SystemRoots::real();
        let device = inspect(&path, &roots).unwrap();
        assert!(find_again(&device, &roots).unwrap().is_same(&device));
        // A relative path is found from any current directory.
        let named = Device { path: "elsewhere/scratch".into(), ..device.clone() };
        assert_eq!(find_again(&named, &roots).unwrap().name, device.name);
        fs::write(&path, [0; 8192]).unwrap();
        let error = find_again(&device, &roots).unwrap_err().to_string();
        assert!(error.contains("8.19 kB) is attached instead"), "{error}");
        fs::remove_file(&path).unwrap();
        assert!(find_again(&device, &roots).is_err());
    }
}
