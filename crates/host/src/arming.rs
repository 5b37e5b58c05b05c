//! The only way to open a device: [`arm`] opens it or returns the reason for refusing it.
//!
//! A block device that is to be written must be free: not mounted, not used for swap, without
//! holders, not in a ZFS pool, not open for writing elsewhere, and not on the disk of the root
//! file system, this program or the run directory. The user cannot override this. A free device is
//! armed after the user has typed its [`Device::confirmation`]. The kernel's lists are read first
//! because they name the user of a device; a list that cannot be read refuses the device. The
//! exclusive open of the device and of everything that leads to the same blocks decides, since it
//! also detects users in no list and keeps the device free afterwards.
//!
//! A regular file must have no other writer and no lock. It is armed without a confirmation if it
//! has the mark of [`crate::create_scratch`] and is unchanged since this program wrote it. Any
//! other file needs a confirmation by its full path ([`Device::confirmation`]) or file name.

use crate::backing::FileId;
use crate::created_files::{is_made_here, is_new};
use crate::device_uses::{DeviceStack, DeviceUse, DeviceUses, UseKind};
use crate::error::HostError;
use crate::fuse;
use crate::identity::{self, describe, inspect_anchored};
use crate::layers::{Inodes, MountTable};
use crate::locks::{self, WriterPresence};
use crate::mounts::mounts;
use crate::pinned_path::PinnedPath;
use crate::processes::{self, OpenFileQuery};
use crate::refusal::ArmRefusal;
use crate::scratch_mark::{self, MarkStatus};
use crate::signatures;
use crate::sysfs_node::SysfsNode;
use crate::system_roots::{SystemRoots, file_name, listed as listed_in};
use crate::target::{self, AccessMode, Target};
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;
use steadfast_domain::{Device, Transport};

/// Access that the user permits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Consent {
    /// Read only. The device may be in use; reports should then show [`Device::in_use`].
    Read,
    /// Overwrite the whole device.
    Destroy {
        /// Text that the user typed to name the device; `None` if nothing was typed.
        confirmation: Option<String>,
    },
}

/// Opens a device for testing. Never writes to the disks of the paths in `keep`, such as the run
/// directory; these paths need not exist yet.
///
/// The target's facts are read again and must match the inspected `device`. The path is resolved
/// once, so the file inspected is the file opened.
///
/// # Errors
/// Returns a [`ArmRefusal`]; nothing was written in that case.
pub fn arm(
    device: &Device,
    consent: &Consent,
    keep: &[PathBuf],
    roots: &SystemRoots,
) -> Result<Target, ArmRefusal> {
    let path = Path::new(&device.path);
    let anchor = PinnedPath::at(path)?;
    let found = inspect_anchored(&anchor, path, roots)?;
    if !found.is_same(device) {
        return Err(ArmRefusal::Changed { device: title(device), now: title(&found) });
    }
    if found.capacity.0 == 0 {
        return Err(ArmRefusal::Empty { device: found.path });
    }
    let candidate = ArmCandidate { anchor, found, keep, roots };
    let is_file = candidate.found.transport == Transport::File;
    match consent {
        Consent::Read if is_file => candidate.file_for_reading(),
        Consent::Read => candidate.block_for_reading(),
        Consent::Destroy { confirmation } if is_file => candidate.file(confirmation.as_deref()),
        Consent::Destroy { confirmation } => candidate.block(confirmation.as_deref()),
    }
}

/// Checks again that nothing else uses a block device that this process holds.
///
/// # Errors
/// Returns a [`ArmRefusal`] that names the user.
pub(crate) fn verify_still_free(
    target: &mut Target,
    roots: &SystemRoots,
) -> Result<(), ArmRefusal> {
    let found = target.device().clone();
    let node = listed(&found, roots)?;
    verify_handle(target, &node, roots)?;
    let stack = refuse_in_use(&node, &found, &[], roots)?;
    claim(target, &stack, roots)?;
    refuse_writers(&stack, &found, roots)?;
    // Only the device itself has our lock, so locks of others show on the rest.
    let held = locks_of(stack.files, roots)?;
    if held.is_empty() {
        Ok(())
    } else {
        Err(ArmRefusal::HeldExclusively { device: found.path, by: held })
    }
}

/// A resolved target, and the paths whose disks must not be written.
struct ArmCandidate<'a> {
    anchor: PinnedPath,
    found: Device,
    keep: &'a [PathBuf],
    roots: &'a SystemRoots,
}

impl ArmCandidate<'_> {
    fn file_for_reading(self) -> Result<Target, ArmRefusal> {
        let target = self.open(AccessMode::Read)?;
        verify_length(&target)?;
        Ok(target)
    }

    fn block_for_reading(self) -> Result<Target, ArmRefusal> {
        let node = listed(&self.found, self.roots)?;
        let target = self.open(AccessMode::Read)?;
        verify_handle(&target, &node, self.roots)?;
        Ok(target)
    }

    fn block(self, confirmation: Option<&str>) -> Result<Target, ArmRefusal> {
        let roots = self.roots;
        processes::require_all(roots)?;
        let node = listed(&self.found, roots)?;
        let stack = refuse_in_use(&node, &self.found, self.keep, roots)?;
        if let Some(place) = signatures::zfs_member(&node, roots)? {
            return Err(ArmRefusal::ZfsMember { device: self.found.path, place });
        }
        refuse_other_users(&stack, &self.found, roots)?;
        let expected = identity::confirmation(&self.found, roots)?;
        if confirmation.is_none_or(|typed| typed.trim() != expected) {
            return Err(ArmRefusal::Unconfirmed {
                device: title(&self.found),
                expected,
                given: confirmation.map(str::to_owned),
                losses: signatures::losses(&node, roots)?,
            });
        }
        let mut target = self.open(AccessMode::Write)?;
        verify_handle(&target, &node, roots)?;
        lock(&target, BTreeSet::new(), roots)?;
        claim(&mut target, &stack, roots)?;
        // Detects users that came between the lists and the exclusive open; nobody can come later.
        let stack = refuse_in_use(&node, target.device(), self.keep, roots)?;
        claim(&mut target, &stack, roots)?;
        refuse_writers(&stack, target.device(), roots)?;
        Ok(target)
    }

    fn file(self, confirmation: Option<&str>) -> Result<Target, ArmRefusal> {
        let (roots, keep) = (self.roots, self.keep);
        let name = PathBuf::from(&self.found.name);
        let id = FileId::from_metadata(self.anchor.metadata());
        let ids = self.refuse_shared_file(id)?.ids;
        let mut target = self.open(AccessMode::Write)?;
        verify_length(&target)?;
        lock(&target, ids, roots)?;
        let ids = self.refuse_newcomers(id, &target)?;
        let standing = scratch_mark::standing(target.file())
            .map_err(|e| HostError::io("examine it", &name, e))?;
        if standing != MarkStatus::Ours {
            refuse_kept_file(&name, &ids, keep)?;
            if standing != MarkStatus::Unmarked || !is_new(id) {
                require_file_confirmation(&target, &name, &standing, confirmation)?;
            }
        }
        // A user's own file keeps needing a confirmation, even after it was overwritten once.
        if standing != MarkStatus::Unmarked {
            target.keep_mark();
        }
        Ok(target)
    }

    /// Refuses a file that anything else may write to, under any of its inodes; returns the
    /// inodes. The kernel's count of writers decides. The lists name the writers, and decide if
    /// the count is unavailable.
    fn refuse_shared_file(&self, id: FileId) -> Result<Inodes, ArmRefusal> {
        let device = || self.found.path.clone();
        let reading = self
            .anchor
            .open()
            .map_err(|e| HostError::io("open it for reading", Path::new(&self.found.path), e))?;
        let mut openers = FileOpeners::count(&reading);
        // An open handle on an overlay's file also counts as an opener of the file in its layer.
        drop(reading);
        let snapshot = match DeviceUses::take(self.roots) {
            Ok(snapshot) => Some(snapshot),
            // Without the lists, the kernel's count alone proves that nobody has it open.
            Err(_) if openers.are_none() => None,
            Err(error) => return Err(error.into()),
        };
        let inodes = self.inodes(id, snapshot.as_ref())?;
        for handle in &inodes.handles {
            let path = PathBuf::from(format!("/proc/self/fd/{}", handle.as_raw_fd()));
            let reading = OpenOptions::new()
                .read(true)
                .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
                .open(&path)
                .map_err(|e| HostError::io("open it by another inode", &path, e))?;
            openers.add(&FileOpeners::count(&reading));
        }
        if openers.are_none() {
            return Ok(inodes);
        }
        let snapshot = match snapshot {
            Some(snapshot) => snapshot,
            None => DeviceUses::take(self.roots)?,
        };
        // A read-only loop device is no writer, but a file system may be mounted from it.
        let loops = snapshot.loops_over(&inodes.ids).map(|over| format!("backs {}", over.name));
        let uses: Vec<String> = loops.collect();
        if !uses.is_empty() {
            let remedy = "name the loop device, or detach it (losetup -d)".into();
            return Err(ArmRefusal::InUse { device: device(), uses, remedy });
        }
        if !openers.alone {
            refuse_fuse(&inodes.ids, &self.found, self.roots)?;
            snapshot.refuse_lost_uses(None)?;
        }
        if openers.writers == WriterPresence::Nobody && inodes.handles.len() <= 1 {
            return Ok(inodes);
        }
        if snapshot.swaps_to(&inodes)? {
            let path = PathBuf::from(&self.found.name);
            return Err(ArmRefusal::Kept { path, what: "a swap file in use".into() });
        }
        let held = locks_of(inodes.ids.clone(), self.roots)?;
        if !held.is_empty() {
            return Err(ArmRefusal::HeldExclusively { device: device(), by: held });
        }
        if openers.writers == WriterPresence::Nobody {
            return Ok(inodes);
        }
        let sought = OpenFileQuery::files(inodes.ids.clone());
        let mut by = processes::openers(&sought, self.roots, true)?;
        if openers.writers == WriterPresence::Somebody && by.is_empty() {
            by.push("the kernel or a process that is not visible from here".into());
        }
        if by.is_empty() {
            processes::require_all(self.roots)?;
            return Ok(inodes);
        }
        Err(ArmRefusal::OpenForWriting { device: device(), by })
    }

    /// Checks again after the file was opened and locked. This detects openers that came between
    /// the first check and the open; later ones are stopped by the lock. Returns the file's
    /// inodes: opening it for writing may have created another one in an overlay.
    fn refuse_newcomers(
        &self,
        id: FileId,
        target: &Target,
    ) -> Result<BTreeSet<FileId>, ArmRefusal> {
        let roots = self.roots;
        let device = || self.found.path.clone();
        let is_alone = || locks::is_alone(target.file());
        let (snapshot, unseen) = match DeviceUses::take(roots) {
            Ok(snapshot) => (Some(snapshot), None),
            // Wait for readers that have the file open only for a moment.
            Err(error) if retry_until(is_alone, |is_alone| *is_alone) => (None, Some(error)),
            Err(error) => return Err(error.into()),
        };
        let inodes = self.inodes(id, snapshot.as_ref())?;
        // A lease on an overlay's inode does not cover openers of the file in a layer.
        if let Some(error) = unseen.filter(|_| inodes.handles.len() > 1) {
            return Err(error.into());
        }
        let Some(snapshot) = snapshot.filter(|_| inodes.handles.len() > 1 || !is_alone()) else {
            return Ok(inodes.ids);
        };
        let loops = snapshot.loops_over(&inodes.ids).map(|over| format!("backs {}", over.name));
        let uses: Vec<String> = loops.collect();
        if !uses.is_empty() {
            let remedy = "name the loop device, or detach it (losetup -d)".into();
            return Err(ArmRefusal::InUse { device: device(), uses, remedy });
        }
        refuse_fuse(&inodes.ids, &self.found, roots)?;
        snapshot.refuse_lost_uses(None)?;
        if snapshot.swaps_to(&inodes)? {
            let path = PathBuf::from(&self.found.name);
            return Err(ArmRefusal::Kept { path, what: "a swap file in use".into() });
        }
        let sought = OpenFileQuery::files(inodes.ids.clone());
        let look = || processes::openers(&sought, roots, true);
        let by = retry_until(look, |by| by.as_ref().is_ok_and(Vec::is_empty))?;
        if by.is_empty() {
            Ok(inodes.ids)
        } else {
            Err(ArmRefusal::OpenForWriting { device: device(), by })
        }
    }

    /// Returns all inodes of the file. A file whose layers cannot be determined is accepted only
    /// if this process created it.
    fn inodes(&self, id: FileId, snapshot: Option<&DeviceUses<'_>>) -> Result<Inodes, ArmRefusal> {
        let file = self.anchor.file();
        let found = match snapshot {
            Some(snapshot) => snapshot.inodes(file),
            None => MountTable::new(mounts(self.roots)?, self.roots).inodes(file),
        };
        match found {
            Err(_) if is_made_here(id) => Ok(Inodes::single(id)),
            other => other.map_err(|why| {
                let what = format!("use of {}", self.found.path);
                let why = format!("{why}; name a file that does not exist, and --size creates it");
                HostError::Unclear { what, why }.into()
            }),
        }
    }

    /// Opens the pinned path and translates the system's error into a refusal.
    fn open(&self, access: AccessMode) -> Result<Target, ArmRefusal> {
        let path = PathBuf::from(&self.found.path);
        let attempt = || Target::anchored(self.found.clone(), access, &self.anchor);
        let opened = retry_until(attempt, |opened| !is_busy(opened));
        opened.map_err(|error| match error.raw_os_error() {
            Some(libc::EBUSY) => {
                ArmRefusal::HeldExclusively { device: self.found.path.clone(), by: self.holders() }
            }
            Some(libc::EROFS) => ArmRefusal::ReadOnly { device: self.found.path.clone() },
            Some(libc::ETXTBSY) => {
                ArmRefusal::Kept { path, what: "a running program or a swap file".into() }
            }
            Some(libc::EWOULDBLOCK) => ArmRefusal::HeldExclusively {
                device: self.found.path.clone(),
                by: vec!["a lease".into()],
            },
            _ => {
                let action = match access {
                    AccessMode::Read => "open it for reading",
                    AccessMode::Write => "open it for writing",
                };
                HostError::io(action, &path, error).into()
            }
        })
    }

    /// Returns the processes that have an exclusively held device open, for the message; the
    /// refusal does not depend on it.
    fn holders(&self) -> Vec<String> {
        let Some(node) = SysfsNode::named(&self.found.name, self.roots) else { return Vec::new() };
        let group = [node.clone(), node.whole()].into_iter().chain(node.partitions());
        let numbers = group.filter_map(|node| node.device_number()).collect();
        let sought = OpenFileQuery { numbers, files: BTreeSet::new() };
        let by = processes::openers(&sought, self.roots, false).unwrap_or_default();
        by.into_iter().map(|process| format!("open in {process}")).collect()
    }
}

/// Other openers of a file, by the kernel's counts.
struct FileOpeners {
    writers: WriterPresence,
    /// True if nobody else has it open, not even for reading.
    alone: bool,
}

impl FileOpeners {
    fn count(reading: &File) -> FileOpeners {
        let writers =
            retry_until(|| locks::writers(reading), |writers| *writers != WriterPresence::Somebody);
        FileOpeners { writers, alone: locks::is_alone(reading) }
    }

    fn add(&mut self, other: &FileOpeners) {
        self.alone &= other.alone;
        self.writers = match (self.writers, other.writers) {
            (WriterPresence::Somebody, _) | (_, WriterPresence::Somebody) => {
                WriterPresence::Somebody
            }
            (WriterPresence::Unknown, _) | (_, WriterPresence::Unknown) => WriterPresence::Unknown,
            (WriterPresence::Nobody, WriterPresence::Nobody) => WriterPresence::Nobody,
        };
    }

    fn are_none(&self) -> bool {
        self.writers == WriterPresence::Nobody && self.alone
    }
}

/// Refuses a file that a FUSE server has open.
fn refuse_fuse(
    files: &BTreeSet<FileId>,
    found: &Device,
    roots: &SystemRoots,
) -> Result<(), ArmRefusal> {
    let servers = fuse::servers(files, roots)?;
    if servers.is_empty() {
        return Ok(());
    }
    let uses = servers.iter().map(|server| format!("served through FUSE by {server}")).collect();
    let remedy = "unmount the FUSE file system (fusermount -u)".into();
    Err(ArmRefusal::InUse { device: found.path.clone(), uses, remedy })
}

fn listed(found: &Device, roots: &SystemRoots) -> Result<SysfsNode, HostError> {
    SysfsNode::named(&found.name, roots).ok_or_else(|| HostError::Unlisted {
        path: found.path.clone().into(),
        sys: roots.sys.clone(),
    })
}

/// Formats a device for messages: path, model, serial number, capacity.
pub(crate) fn title(device: &Device) -> String {
    let mut parts: Vec<String> = Vec::new();
    parts.extend(device.model.clone());
    parts.extend(device.serial.as_ref().map(|serial| format!("serial number {serial}")));
    parts.push(device.capacity.to_string());
    format!("{} ({})", device.path, parts.join(", "))
}

/// Refuses a device that must not be written according to the kernel's lists (in use, holding data
/// to keep, read-only); no confirmation overrides this. Returns the stack of devices with the same
/// blocks.
fn refuse_in_use(
    node: &SysfsNode,
    found: &Device,
    keep: &[PathBuf],
    roots: &SystemRoots,
) -> Result<DeviceStack, ArmRefusal> {
    // UBI and UBIFS use flash without an entry in `holders`.
    let whole = node.whole().name;
    if whole.starts_with("mtdblock") || whole.starts_with("ubiblock") {
        return Err(HostError::NotTestable {
            path: PathBuf::from(&found.path),
            kind: "raw flash, whose users are unknown",
        }
        .into());
    }
    let snapshot = DeviceUses::take(roots)?;
    let uses = snapshot.uses(node)?;
    if !uses.is_empty() {
        return Err(ArmRefusal::InUse {
            device: found.path.clone(),
            remedy: remedies(&uses),
            uses: uses.iter().map(ToString::to_string).collect(),
        });
    }
    refuse_other_paths(node, found, &snapshot, roots)?;
    refuse_kept(node, &found.path, keep, &snapshot)?;
    let may_be_written = |node: &SysfsNode| node.number::<u8>("ro") == Some(0);
    if !may_be_written(node) || !may_be_written(&node.whole()) {
        return Err(ArmRefusal::ReadOnly { device: found.path.clone() });
    }
    Ok(snapshot.stack(node)?)
}

/// Refuses a device whose blocks another process may write to or has locked.
fn refuse_other_users(
    stack: &DeviceStack,
    found: &Device,
    roots: &SystemRoots,
) -> Result<(), ArmRefusal> {
    refuse_writers(stack, found, roots)?;
    if !stack.files.is_empty() {
        refuse_fuse(&stack.files, found, roots)?;
    }
    let mut files = stack.files.clone();
    let nodes = stack.nodes.iter().filter_map(|node| fs::metadata(node.path(roots)).ok());
    files.extend(nodes.map(|metadata| FileId::from_metadata(&metadata)));
    // udev's programs lock a device briefly.
    let held = retry_until(
        || locks_of(files.clone(), roots),
        |held| held.as_ref().is_ok_and(Vec::is_empty),
    )?;
    if held.is_empty() {
        Ok(())
    } else {
        Err(ArmRefusal::HeldExclusively { device: found.path.clone(), by: held })
    }
}

fn refuse_writers(
    stack: &DeviceStack,
    found: &Device,
    roots: &SystemRoots,
) -> Result<(), ArmRefusal> {
    // The creator of a loop device may keep its file open; a program that works on the file locks
    // it.
    let numbers = stack.nodes.iter().filter_map(SysfsNode::device_number).collect();
    let sought = OpenFileQuery { numbers, files: BTreeSet::new() };
    let look = || processes::openers(&sought, roots, true);
    let by = retry_until(look, |by| by.as_ref().is_ok_and(Vec::is_empty))?;
    if by.is_empty() {
        Ok(())
    } else {
        Err(ArmRefusal::OpenForWriting { device: found.path.clone(), by })
    }
}

fn locks_of(files: BTreeSet<FileId>, roots: &SystemRoots) -> Result<Vec<String>, HostError> {
    processes::locks_on(&files, roots)
}

/// Opens exclusively every other device that leads to the same blocks.
fn claim(target: &mut Target, stack: &DeviceStack, roots: &SystemRoots) -> Result<(), ArmRefusal> {
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

fn refuse_kept(
    node: &SysfsNode,
    device: &str,
    keep: &[PathBuf],
    snapshot: &DeviceUses<'_>,
) -> Result<(), ArmRefusal> {
    let own = snapshot.disks_below(node)?;
    let mut kept = Vec::new();
    for (what, path) in precious(keep) {
        let remedy = match path.to_str() {
            _ if keep.contains(&path) => "give -o DIR on a file system of a disk or in memory",
            Some("/") => ANOTHER_ROOT,
            _ => "copy the program to a file system of a disk or in memory",
        };
        let disks = snapshot.disks_of_path(&path).map_err(|error| with_remedy(error, remedy))?;
        kept.push((what, disks));
    }
    let disks = snapshot.disks_of_first_root().map_err(|error| with_remedy(error, ANOTHER_ROOT))?;
    kept.push(("the root file system of the host".to_owned(), disks));
    for (what, disks) in kept {
        if let Some(disk) = disks.intersection(&own).next() {
            return Err(ArmRefusal::HoldsKept {
                device: device.to_owned(),
                disk: disk.name.clone(),
                what,
            });
        }
    }
    Ok(())
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

/// Refuses a device whose disk is in use under another name. Without a multipath driver, a drive
/// with two ports appears twice, and the kernel does not know that both are one drive.
fn refuse_other_paths(
    node: &SysfsNode,
    found: &Device,
    snapshot: &DeviceUses<'_>,
    roots: &SystemRoots,
) -> Result<(), ArmRefusal> {
    let whole = node.whole();
    let own = describe(&whole, &whole.path(roots), roots);
    if own.wwid.is_none() || own.serial.is_none() {
        return Ok(());
    }
    let mut uses = Vec::new();
    for other in SysfsNode::every(roots)?.iter().filter(|other| **other != whole) {
        if describe(other, &other.path(roots), roots).is_same(&own) {
            let found = snapshot.uses(other)?;
            uses.extend(found.iter().map(|used| format!("as {}: {used}", other.name)));
        }
    }
    if uses.is_empty() {
        return Ok(());
    }
    let remedy = "it is the same disk by another path; free it there first".to_owned();
    Err(ArmRefusal::InUse { device: found.path.clone(), uses, remedy })
}

/// Returns the paths whose disks must not be written, with a description.
fn precious(keep: &[PathBuf]) -> Vec<(String, PathBuf)> {
    let mut paths = vec![("the root file system".to_owned(), PathBuf::from("/"))];
    // The program's path may lead to another file in this namespace.
    paths.push(("this program".to_owned(), "/proc/self/exe".into()));
    paths.extend(keep.iter().map(|path| (path.display().to_string(), path.clone())));
    paths
}

fn remedies(uses: &[DeviceUse]) -> String {
    let is_root = |found: &DeviceUse| match &found.kind {
        UseKind::Mounted(point) => point == Path::new("/"),
        _ => false,
    };
    if uses.iter().any(is_root) {
        // Nothing else on such a disk needs to be freed.
        return "it holds the running system: test another disk, or a scratch file".to_owned();
    }
    let mut texts: Vec<String> = uses
        .iter()
        .map(|found| match &found.kind {
            UseKind::Mounted(_) => "unmount it (umount)".to_owned(),
            UseKind::MountedElsewhere { point, process } => format!(
                "end process {process}, or unmount it there (nsenter --target {process} --mount \
                 umount {})",
                point.display()
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

/// Number of attempts, and the first pause between them; 2.5 s in total. udev's programs and
/// `losetup` open a changed device briefly, and the kernel closes the files of a killed process's
/// io_uring some time after the process is gone.
const ATTEMPTS: u32 = 8;
const FIRST_PAUSE: Duration = Duration::from_millis(10);

/// Repeats `look` with doubling pauses until `is_good` or the attempts are used up; returns the
/// last result.
fn retry_until<T>(mut look: impl FnMut() -> T, is_good: impl Fn(&T) -> bool) -> T {
    for looks in 0..ATTEMPTS {
        let seen = look();
        if is_good(&seen) {
            return seen;
        }
        std::thread::sleep(FIRST_PAUSE * 2u32.pow(looks));
    }
    look()
}

fn is_busy<T>(answer: &io::Result<T>) -> bool {
    answer.as_ref().is_err_and(|error| error.raw_os_error() == Some(libc::EBUSY))
}

/// Checks that the handle refers to the inspected device.
fn verify_handle(target: &Target, node: &SysfsNode, roots: &SystemRoots) -> Result<(), ArmRefusal> {
    let device = target.device();
    let path = Path::new(&device.path);
    let metadata = target.file().metadata().map_err(|e| HostError::io("examine it", path, e))?;
    let length =
        target::length_of(target.file()).map_err(|e| HostError::io("read its size", path, e))?;
    let number = (libc::major(metadata.rdev()), libc::minor(metadata.rdev()));
    let same = metadata.file_type().is_block_device() && node.device_number() == Some(number);
    if same && length == device.capacity.0 {
        let now = describe(node, path, roots);
        return if now.is_same(device) {
            Ok(())
        } else {
            Err(ArmRefusal::Changed { device: title(device), now: title(&now) })
        };
    }
    let now = format!("block device {}:{} of {length} bytes", number.0, number.1);
    Err(ArmRefusal::Changed { device: title(device), now })
}

/// Checks that the file still has the inspected length.
fn verify_length(target: &Target) -> Result<(), ArmRefusal> {
    let (device, path) = (target.device(), Path::new(&target.device().path));
    let length =
        target::length_of(target.file()).map_err(|e| HostError::io("read its size", path, e))?;
    if length == device.capacity.0 {
        return Ok(());
    }
    let now = format!("a file of {length} bytes");
    Err(ArmRefusal::Changed { device: title(device), now })
}

/// Locks the target as long as the handle exists. If another process has a lock, names it by
/// looking up `files`.
fn lock(target: &Target, files: BTreeSet<FileId>, roots: &SystemRoots) -> Result<(), ArmRefusal> {
    let device = target.device().path.clone();
    let taken = retry_until(|| locks::take(target.file()), |taken| matches!(taken, Ok(true)));
    match taken {
        Ok(true) => Ok(()),
        Ok(false) => {
            // The lock alone decides; its owner is only for the message.
            let by = locks_of(files, roots).unwrap_or_default();
            Err(ArmRefusal::HeldExclusively { device, by })
        }
        Err(error) => Err(HostError::io("lock it", Path::new(&device), error).into()),
    }
}

/// Refuses, by inode, a file that must be kept: one of the kept paths, a file in a kept directory
/// under any name, or this program.
fn refuse_kept_file(
    name: &Path,
    ids: &BTreeSet<FileId>,
    keep: &[PathBuf],
) -> Result<(), ArmRefusal> {
    let kept = |what: String| Err(ArmRefusal::Kept { path: name.to_owned(), what });
    let exe = std::env::current_exe().ok();
    for path in keep.iter().chain(&exe) {
        let metadata = match fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            other => other.map_err(|e| HostError::io("examine it", path, e))?,
        };
        if ids.contains(&FileId::from_metadata(&metadata)) {
            return kept("to be kept".into());
        }
        if metadata.is_dir() && (lies_in(name, &metadata)? || has_inside(path, ids)?) {
            let path = path.display();
            return kept(format!("not a scratch file and lies in {path}, which must be kept"));
        }
    }
    Ok(())
}

/// Returns true if the path lies in this directory.
fn lies_in(name: &Path, kept: &fs::Metadata) -> Result<bool, HostError> {
    for above in name.ancestors().skip(1) {
        let metadata = fs::metadata(above).map_err(|e| HostError::io("examine it", above, e))?;
        if FileId::from_metadata(&metadata) == FileId::from_metadata(kept) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns true if the file has a name in the directory or below it: a hard link, or a file bound
/// elsewhere.
fn has_inside(directory: &Path, ids: &BTreeSet<FileId>) -> Result<bool, HostError> {
    for path in listed_in(directory)? {
        let metadata = match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            other => other.map_err(|e| HostError::io("examine it", &path, e))?,
        };
        if ids.contains(&FileId::from_metadata(&metadata))
            || metadata.is_dir() && has_inside(&path, ids)?
        {
            return Ok(true);
        }
    }
    Ok(false)
}

fn require_file_confirmation(
    target: &Target,
    name: &Path,
    standing: &MarkStatus,
    confirmation: Option<&str>,
) -> Result<(), ArmRefusal> {
    let device = target.device();
    let typed = confirmation.map(str::trim);
    if typed.is_some_and(|typed| typed == device.confirmation() || typed == file_name(name)) {
        return Ok(());
    }
    Err(ArmRefusal::Unconfirmed {
        device: title(device),
        expected: file_name(name),
        given: confirmation.map(str::to_owned),
        losses: vec![match standing {
            MarkStatus::Doubtful(why) => {
                format!("all {} bytes of the file ({why})", device.capacity.0)
            }
            _ => format!("all {} bytes of the file", device.capacity.0),
        }],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::MachineFixture;

    fn refusal(machine: &MachineFixture, name: &str, keep: &[PathBuf]) -> String {
        let node = SysfsNode::named(name, &machine.roots).unwrap();
        let device = describe(&node, Path::new(name), &machine.roots);
        refuse_in_use(&node, &device, keep, &machine.roots)
            .map_or_else(|refusal| refusal.to_string(), |_| "armed".into())
    }

    #[test]
    fn the_root_disk_is_refused_through_every_layer() {
        let machine = MachineFixture::new();
        let disk = machine.sata("sda", "8:0", 1000);
        let part = machine.partition(&disk, "sda2", "8:2", 500);
        machine.partition(&disk, "sda3", "8:3", 100);
        let volumes: Vec<SysfsNode> = ["dm-0", "dm-1"]
            .iter()
            .enumerate()
            .map(|(n, name)| {
                let node = machine.block(&format!("virtual/block/{name}"), &format!("252:{n}"), 9);
                machine.stack(&node, &part);
                machine.write(&format!("tables/{name}"), format!("0 9 linear 8:2 {}\n", n * 9));
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
        let machine = MachineFixture::new();
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
        let machine = MachineFixture::new();
        let disk = machine.sata("sda", "8:0", 1000);
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
        let disk = SysfsNode::named("nvme0n1", &machine.roots).unwrap();
        machine.partition(&disk, "nvme0n1p3", "259:99", 100);
        let expected = |name: &str| {
            let node = SysfsNode::named(name, &machine.roots).unwrap();
            let device = describe(&node, Path::new(name), &machine.roots);
            identity::confirmation(&device, &machine.roots).unwrap()
        };
        let at = |name: &str| machine.roots.dev.join(name).display().to_string();
        assert_eq!(expected("nvme0n1"), format!("S1@{}", at("nvme0n1")));
        assert_eq!(expected("nvme1n1"), format!("S1@{}", at("nvme1n1")));
        assert_eq!(expected("nvme0n1p3"), format!("S1-part3@{}", at("nvme0n1p3")));
        assert_eq!(expected("nvme2n1"), "S2");
        // Two namespaces of one drive have names of their own; a hidden path is no device.
        machine.nvme(2, 2, 1000);
        let second = SysfsNode::named("nvme2n2", &machine.roots).unwrap();
        machine.set(&second, "device/serial", "S2");
        assert_eq!((expected("nvme2n1"), expected("nvme2n2")), ("S2-n1".into(), "S2-n2".into()));
        machine.set(&SysfsNode::named("nvme1n1", &machine.roots).unwrap(), "hidden", "1");
        assert_eq!(expected("nvme0n1"), "S1");
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
