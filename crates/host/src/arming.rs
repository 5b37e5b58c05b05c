//! The one door to a device: [`arm`] opens it, or says why not.
//!
//! For writing, a block device must be free: not mounted, not swapped to, not
//! held, not part of a ZFS pool, not open for writing elsewhere, not the disk
//! that carries the root file system, this program or the run directory. No
//! word from the user changes that. A free device is armed once the user has
//! named what [`Device::confirmation`] says. The lists of the kernel are read
//! first, for they explain; the exclusive open decides, for it also sees what
//! other mount namespaces hold, and keeps the device free afterwards.
//!
//! A regular file is armed without a word when it carries the mark of
//! [`crate::create_scratch`]; any other file when the user has named it by its
//! full path ([`Device::confirmation`]) or by its file name.

use crate::error::HostError;
use crate::identity::{describe, inspect};
use crate::node::Node;
use crate::occupancy::{self, Use, UseKind};
use crate::refusal::Refusal;
use crate::roots::{Roots, entries, file_name, read_text};
use crate::scratch::{self, is_marked};
use crate::signatures;
use crate::target::{self, Access, Target};
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;
use steadfast_domain::{Device, Transport};

/// What the user allows to be done to a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Consent {
    /// Reading. The device may be in use meanwhile; [`Device::in_use`] tells,
    /// and a report should.
    Read,
    /// Overwriting all of it.
    Destroy {
        /// What the user typed to name the device that may be lost.
        confirmation: Option<String>,
    },
}

/// Opens a device for testing. `keep` are paths whose disks must live, such as
/// the run directory; they need not exist yet.
///
/// The target's facts are those found now; they must be of the device that was
/// inspected.
///
/// # Errors
/// A [`Refusal`]; nothing was written then.
pub fn arm(
    device: &Device,
    consent: &Consent,
    keep: &[PathBuf],
    roots: &Roots,
) -> Result<Target, Refusal> {
    let found = inspect(Path::new(&device.path), roots)?;
    if !found.is_same(device) {
        return Err(Refusal::Changed { device: title(device), now: title(&found) });
    }
    if found.capacity.0 == 0 {
        return Err(Refusal::Empty { device: found.path });
    }
    let is_file = found.transport == Transport::File;
    match consent {
        Consent::Read if is_file => arm_file_for_reading(found, roots),
        Consent::Read => arm_block_for_reading(found, roots),
        Consent::Destroy { confirmation } if is_file => {
            arm_file(found, confirmation.as_deref(), keep, roots)
        }
        Consent::Destroy { confirmation } => arm_block(found, confirmation.as_deref(), keep, roots),
    }
}

fn arm_file_for_reading(found: Device, roots: &Roots) -> Result<Target, Refusal> {
    let name = PathBuf::from(&found.name);
    let target = open(found, Access::Read, roots)?;
    verify_file(&target, &name)?;
    Ok(target)
}

fn arm_block_for_reading(found: Device, roots: &Roots) -> Result<Target, Refusal> {
    let node = listed(&found, roots)?;
    let target = open(found, Access::Read, roots)?;
    verify_handle(&target, &node, roots)?;
    Ok(target)
}

fn listed(found: &Device, roots: &Roots) -> Result<Node, HostError> {
    Node::named(&found.name, roots).ok_or_else(|| HostError::Unlisted {
        path: found.path.clone().into(),
        sys: roots.sys.clone(),
    })
}

/// A device as a person knows it: path, model, serial number, capacity.
pub(crate) fn title(device: &Device) -> String {
    let mut parts: Vec<String> = Vec::new();
    parts.extend(device.model.clone());
    parts.extend(device.serial.as_ref().map(|serial| format!("serial number {serial}")));
    parts.push(device.capacity.to_string());
    format!("{} ({})", device.path, parts.join(", "))
}

fn arm_block(
    found: Device,
    confirmation: Option<&str>,
    keep: &[PathBuf],
    roots: &Roots,
) -> Result<Target, Refusal> {
    let node = listed(&found, roots)?;
    refuse_unfit(&node, &found, keep, roots)?;
    if let Some(place) = signatures::zfs_member(&node, roots)? {
        return Err(Refusal::ZfsMember { device: found.path, place });
    }
    let by = patiently(|| openers(&node, roots, true), |by| by.is_empty());
    if !by.is_empty() {
        return Err(Refusal::OpenForWriting { device: found.path, by });
    }
    if confirmation.is_none_or(|typed| typed.trim() != found.confirmation()) {
        return Err(Refusal::Unconfirmed {
            device: title(&found),
            expected: found.confirmation().to_owned(),
            given: confirmation.map(str::to_owned),
            losses: signatures::losses(&node, roots)?,
        });
    }
    let target = open(found, Access::Write, roots)?;
    verify_handle(&target, &node, roots)?;
    // Whoever came between the lists and the exclusive open is seen now, and
    // nobody can come later.
    refuse_unfit(&node, target.device(), keep, roots)?;
    Ok(target)
}

/// Refuses what no word from the user makes fit to be overwritten, as far as
/// the kernel's lists tell.
fn refuse_unfit(
    node: &Node,
    found: &Device,
    keep: &[PathBuf],
    roots: &Roots,
) -> Result<(), Refusal> {
    let uses = occupancy::uses(node, roots);
    if !uses.is_empty() {
        return Err(Refusal::InUse {
            device: found.path.clone(),
            remedy: remedies(&uses),
            uses: uses.iter().map(ToString::to_string).collect(),
        });
    }
    refuse_other_paths(node, found, roots)?;
    refuse_kept(node, &found.path, keep, roots)?;
    let read_only = |node: &Node| node.number::<u8>("ro").is_some_and(|ro| ro != 0);
    if read_only(node) || read_only(&node.whole()) {
        return Err(Refusal::ReadOnly { device: found.path.clone() });
    }
    Ok(())
}

fn refuse_kept(node: &Node, device: &str, keep: &[PathBuf], roots: &Roots) -> Result<(), Refusal> {
    let own = occupancy::disks_below(node, roots);
    for (what, path) in precious(keep) {
        let disks = occupancy::disks_of_path(&path, roots);
        if let Some(disk) = disks.intersection(&own).next() {
            return Err(Refusal::HoldsKept {
                device: device.to_owned(),
                disk: disk.name.clone(),
                what,
            });
        }
    }
    Ok(())
}

/// Refuses a device whose disk is in use under another name: a drive with two
/// ports shows up twice where no multipath driver joins the paths, and the
/// kernel does not know that they are one.
fn refuse_other_paths(node: &Node, found: &Device, roots: &Roots) -> Result<(), Refusal> {
    let whole = node.whole();
    let own = describe(&whole, &whole.path(roots), roots);
    if own.wwid.is_none() || own.serial.is_none() {
        return Ok(());
    }
    let uses: Vec<String> = Node::all(roots)
        .iter()
        .filter(|other| **other != whole)
        .map(|other| describe(other, &other.path(roots), roots))
        .filter(|other| other.is_same(&own))
        .flat_map(|other| {
            other.in_use.into_iter().map(move |used| format!("as {}: {used}", other.name))
        })
        .collect();
    if uses.is_empty() {
        return Ok(());
    }
    let remedy = "it is the same disk by another path; free it there first".to_owned();
    Err(Refusal::InUse { device: found.path.clone(), uses, remedy })
}

/// The paths whose disks must live, and what they are.
fn precious(keep: &[PathBuf]) -> Vec<(String, PathBuf)> {
    let mut paths = vec![("the root file system".to_owned(), PathBuf::from("/"))];
    paths.extend(std::env::current_exe().ok().map(|exe| ("this program".to_owned(), exe)));
    paths.extend(keep.iter().map(|path| (path.display().to_string(), path.clone())));
    paths
}

fn remedies(uses: &[Use]) -> String {
    let mut texts: Vec<&str> = uses
        .iter()
        .map(|found| match &found.kind {
            UseKind::Mounted(point) if point == Path::new("/") => {
                "it carries the running system: test another disk, or a scratch file"
            }
            UseKind::Mounted(_) => "unmount it (umount)",
            UseKind::Swap => "stop swapping to it (swapoff)",
            UseKind::Held(_) => {
                "take apart what is built upon it (vgchange -an, mdadm --stop, \
                 cryptsetup close, losetup -d)"
            }
            UseKind::SharedFile(_) => "detach the other loop device (losetup -d)",
        })
        .collect();
    texts.sort_unstable();
    texts.dedup();
    texts.join("; ")
}

/// Opens a device and puts the system's answer in words.
fn open(device: Device, access: Access, roots: &Roots) -> Result<Target, Refusal> {
    let path = PathBuf::from(&device.path);
    let name = device.name.clone();
    let action = match access {
        Access::Read => "open it for reading",
        Access::Write => "open it for writing",
    };
    let busy = |opened: &io::Result<Target>| {
        opened.as_ref().is_err_and(|error| error.raw_os_error() == Some(libc::EBUSY))
    };
    let opened = patiently(|| Target::open(device.clone(), access), |opened| !busy(opened));
    opened.map_err(|error| match error.raw_os_error() {
        Some(libc::EBUSY) => Refusal::HeldExclusively {
            device: path.display().to_string(),
            by: Node::named(&name, roots).map(|n| openers(&n, roots, false)).unwrap_or_default(),
        },
        Some(libc::EROFS) => Refusal::ReadOnly { device: path.display().to_string() },
        Some(libc::ETXTBSY) => {
            Refusal::Kept { path, what: "a running program or a swap file".into() }
        }
        _ => HostError::io(action, &path, error).into(),
    })
}

/// Looks again for two seconds until the answer is good: udev's programs and
/// `losetup` take a device for a moment whenever it changes, and let go.
fn patiently<T>(look: impl Fn() -> T, is_good: impl Fn(&T) -> bool) -> T {
    for _ in 0..40 {
        let seen = look();
        if is_good(&seen) {
            return seen;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    look()
}

/// Makes sure that the handle leads to the device that was looked at.
fn verify_handle(target: &Target, node: &Node, roots: &Roots) -> Result<(), Refusal> {
    let device = target.device();
    let path = Path::new(&device.path);
    let metadata = target.file().metadata().map_err(|e| HostError::io("look at it", path, e))?;
    let length = target::length_of(target.file()).map_err(|e| HostError::io("size it", path, e))?;
    let number = (libc::major(metadata.rdev()), libc::minor(metadata.rdev()));
    let same = metadata.file_type().is_block_device() && node.device_number() == Some(number);
    if same && length == device.capacity.0 {
        let now = describe(node, path, roots);
        return match now.is_same(device) {
            true => Ok(()),
            false => Err(Refusal::Changed { device: title(device), now: title(&now) }),
        };
    }
    let now = format!("block device {}:{} of {length} bytes", number.0, number.1);
    Err(Refusal::Changed { device: title(device), now })
}

/// The other processes that have the device, its partitions or (for a
/// partition) the whole device open, as far as this user may see; `writing`
/// leaves out those that only read.
fn openers(node: &Node, roots: &Roots, writing: bool) -> Vec<String> {
    let mut numbers: Vec<(u32, u32)> =
        node.partitions().iter().filter_map(Node::device_number).collect();
    numbers.extend(node.device_number());
    numbers.extend(node.whole().device_number());
    let own = std::process::id().to_string();
    entries(&roots.proc)
        .iter()
        .filter(|process| file_name(process).bytes().all(|b| b.is_ascii_digit()))
        .filter(|process| file_name(process) != own)
        .filter(|process| has_open(process, &numbers, writing))
        .map(|process| {
            let name = read_text(&process.join("comm")).unwrap_or_else(|| "a process".into());
            format!("{name} (process {})", file_name(process))
        })
        .collect()
}

fn has_open(process: &Path, numbers: &[(u32, u32)], writing: bool) -> bool {
    entries(&process.join("fd")).iter().any(|link| {
        let Ok(metadata) = fs::metadata(link) else { return false };
        let number = (libc::major(metadata.rdev()), libc::minor(metadata.rdev()));
        metadata.file_type().is_block_device()
            && numbers.contains(&number)
            && (!writing || is_for_writing(&process.join("fdinfo").join(file_name(link))))
    })
}

/// Whether a line `flags: 0100002` tells of an access mode other than reading.
fn is_for_writing(fdinfo: &Path) -> bool {
    let text = fs::read_to_string(fdinfo).unwrap_or_default();
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| i32::from_str_radix(flags.trim(), 8).ok());
    flags.is_some_and(|flags| flags & libc::O_ACCMODE != libc::O_RDONLY)
}

fn arm_file(
    found: Device,
    confirmation: Option<&str>,
    keep: &[PathBuf],
    roots: &Roots,
) -> Result<Target, Refusal> {
    let name = PathBuf::from(&found.name);
    if !found.in_use.is_empty() {
        return Err(Refusal::InUse {
            device: found.path,
            uses: found.in_use,
            remedy: "name the loop device, or detach it (losetup -d)".into(),
        });
    }
    if occupancy::is_swap_file(&name, roots) {
        return Err(Refusal::Kept { path: name, what: "a swap file in use".into() });
    }
    let target = open(found, Access::Write, roots)?;
    verify_file(&target, &name)?;
    lock(&target)?;
    if !is_marked(target.file()) {
        refuse_kept_file(&name, keep)?;
        require_file_confirmation(&target, &name, confirmation)?;
    }
    Ok(target)
}

/// Makes sure that the handle leads to the file that was looked at.
fn verify_file(target: &Target, name: &Path) -> Result<(), Refusal> {
    let handle = target.file().metadata().map_err(|e| HostError::io("look at it", name, e))?;
    let there = target::metadata(name)?;
    let same = (handle.dev(), handle.ino()) == (there.dev(), there.ino());
    if same && handle.is_file() && handle.len() == target.device().capacity.0 {
        return Ok(());
    }
    Err(Refusal::Changed { device: title(target.device()), now: "another file".into() })
}

/// Keeps a second run off the file for as long as the handle lives.
fn lock(target: &Target) -> Result<(), Refusal> {
    let device = target.device().path.clone();
    match scratch::lock(target.file()) {
        Ok(true) => Ok(()),
        Ok(false) => Err(Refusal::HeldExclusively { device, by: Vec::new() }),
        Err(error) => Err(HostError::io("lock it", Path::new(&device), error).into()),
    }
}

/// Refuses a file that must live: one of the kept paths, or in one of them.
fn refuse_kept_file(name: &Path, keep: &[PathBuf]) -> Result<(), Refusal> {
    let exe = std::env::current_exe().ok();
    for kept in keep.iter().chain(&exe) {
        let Ok(kept) = fs::canonicalize(kept) else { continue };
        if name.starts_with(&kept) {
            let what = if name == kept { "to be kept".into() } else { inside(&kept) };
            return Err(Refusal::Kept { path: name.to_owned(), what });
        }
    }
    Ok(())
}

fn inside(kept: &Path) -> String {
    format!("no scratch file and lies in {}, which is to be kept", kept.display())
}

fn require_file_confirmation(
    target: &Target,
    name: &Path,
    confirmation: Option<&str>,
) -> Result<(), Refusal> {
    let device = target.device();
    let typed = confirmation.map(str::trim);
    if typed.is_some_and(|typed| typed == device.confirmation() || typed == file_name(name)) {
        return Ok(());
    }
    Err(Refusal::Unconfirmed {
        device: title(device),
        expected: file_name(name),
        given: confirmation.map(str::to_owned),
        losses: vec![format!("all {} bytes of the file", device.capacity.0)],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Machine;

    fn refusal(machine: &Machine, name: &str, keep: &[PathBuf]) -> String {
        let node = Node::named(name, &machine.roots).unwrap();
        let device = describe(&node, Path::new(name), &machine.roots);
        refuse_unfit(&node, &device, keep, &machine.roots)
            .map_or_else(|refusal| refusal.to_string(), |()| "armed".into())
    }

    #[test]
    fn the_root_disk_is_refused_through_every_layer() {
        let machine = Machine::new();
        let disk = machine.sata("sda", "8:0", 1000);
        let part = machine.partition(&disk, "sda2", "8:2", 500);
        machine.partition(&disk, "sda3", "8:3", 100);
        let volumes: Vec<Node> = ["dm-0", "dm-1"]
            .iter()
            .enumerate()
            .map(|(n, name)| {
                let node = machine.block(&format!("virtual/block/{name}"), &format!("252:{n}"), 9);
                machine.stack(&node, &part);
                node
            })
            .collect();
        assert_eq!(volumes.len(), 2);
        machine.nvme(0, 1, 1000);
        machine.mount(&[("252:0", "/", "ext4", "/dev/mapper/vg-root")]);
        for unused in ["sda3", "dm-1"] {
            let said = refusal(&machine, unused, &[]);
            assert_eq!(
                said,
                format!("{unused} lies on the disk (sda) that holds the root file system")
            );
        }
        assert!(refusal(&machine, "sda", &[]).contains("sda2: held by dm-0"));
        assert_eq!(refusal(&machine, "nvme0n1", &[]), "armed");
    }

    #[test]
    fn the_disk_of_a_kept_path_is_refused() {
        let machine = Machine::new();
        let disk = machine.sata("sda", "8:0", 1000);
        machine.partition(&disk, "sda1", "8:1", 100);
        machine.partition(&disk, "sda2", "8:2", 100);
        let runs = machine.path("runs");
        fs::create_dir(&runs).unwrap();
        machine.mount(&[
            ("0:20", "/", "tmpfs", "tmpfs"),
            ("0:33", runs.to_str().unwrap(), "btrfs", "/dev/sda1"),
        ]);
        let keep = runs.join("run-1");
        let said = refusal(&machine, "sda2", std::slice::from_ref(&keep));
        assert_eq!(said, format!("sda2 lies on the disk (sda) that holds {}", keep.display()));
        assert_eq!(refusal(&machine, "sda2", &[]), "armed");
    }

    #[test]
    fn a_read_only_disk_makes_its_partitions_read_only() {
        let machine = Machine::new();
        let disk = machine.sata("sda", "8:0", 1000);
        machine.partition(&disk, "sda1", "8:1", 100);
        machine.set(&disk, "ro", "1");
        assert_eq!(refusal(&machine, "sda1", &[]), "sda1 is read-only");
    }

    #[test]
    fn a_disk_in_use_by_its_other_path_is_refused() {
        let machine = Machine::new();
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

    #[test]
    fn access_modes_are_read_from_the_flags() {
        let machine = Machine::new();
        for (flags, writing) in
            [("0100000", false), ("0100002", true), ("0140001", true), ("x", false)]
        {
            machine.write("fdinfo", format!("pos:\t0\nflags:\t{flags}\nmnt_id:\t9\n"));
            assert_eq!(is_for_writing(&machine.path("fdinfo")), writing, "{flags}");
        }
    }
}
