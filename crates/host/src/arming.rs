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
use crate::created_files::is_new;
use crate::device_checks::{
    claim, find_node, refuse_in_use, refuse_other_users, refuse_writers, verify_handle,
};
use crate::error::HostError;
use crate::file_checks::{
    SharedFileCheck, refuse_kept_file, require_file_confirmation, verify_length,
};
use crate::identity::{self, inspect_anchored};
use crate::locks;
use crate::pinned_path::PinnedPath;
use crate::processes::{self, OpenFileQuery};
use crate::refusal::{ArmRefusal, title};
use crate::retry::{is_busy, retry_until};
use crate::scratch_mark::{self, MarkStatus};
use crate::signatures;
use crate::sysfs_node::SysfsNode;
use crate::system_roots::SystemRoots;
use crate::target::{AccessMode, Target};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
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
/// Returns an [`ArmRefusal`]; nothing was written in that case.
pub fn arm(
    device: &Device,
    consent: &Consent,
    keep: &[PathBuf],
    roots: &SystemRoots,
) -> Result<Target, ArmRefusal> {
    let path = Path::new(&device.path);
    let anchor = PinnedPath::at(path)?;
    let current_device = inspect_anchored(&anchor, path, roots)?;
    if !current_device.is_same(device) {
        return Err(ArmRefusal::Changed { device: title(device), now: title(&current_device) });
    }
    if current_device.capacity.0 == 0 {
        return Err(ArmRefusal::Empty { device: current_device.path });
    }
    let candidate = ArmCandidate { anchor, device: current_device, keep, roots };
    let is_file = candidate.device.transport == Transport::File;
    match consent {
        Consent::Read if is_file => candidate.file_for_reading(),
        Consent::Read => candidate.block_for_reading(),
        Consent::Destroy { confirmation } if is_file => {
            candidate.file_for_overwriting(confirmation.as_deref())
        }
        Consent::Destroy { confirmation } => {
            candidate.block_for_overwriting(confirmation.as_deref())
        }
    }
}

/// Checks again that nothing else uses a block device that this process holds.
///
/// # Errors
/// Returns an [`ArmRefusal`] that names the user.
pub(crate) fn verify_still_free(
    target: &mut Target,
    roots: &SystemRoots,
) -> Result<(), ArmRefusal> {
    let device = target.device().clone();
    let node = find_node(&device, roots)?;
    verify_handle(target, &node, roots)?;
    let stack = refuse_in_use(&node, &device, &[], roots)?;
    claim(target, &stack, roots)?;
    refuse_writers(&stack, &device, roots)?;
    // Only the device itself has our lock, so locks of others show on the rest.
    let lock_owners = processes::locks_on(&stack.files, roots)?;
    if lock_owners.is_empty() {
        Ok(())
    } else {
        Err(ArmRefusal::HeldExclusively { device: device.path, by: lock_owners })
    }
}

/// A resolved target, and the paths whose disks must not be written.
struct ArmCandidate<'a> {
    anchor: PinnedPath,
    device: Device,
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
        let node = find_node(&self.device, self.roots)?;
        let target = self.open(AccessMode::Read)?;
        verify_handle(&target, &node, self.roots)?;
        Ok(target)
    }

    fn block_for_overwriting(self, confirmation: Option<&str>) -> Result<Target, ArmRefusal> {
        let roots = self.roots;
        processes::require_all(roots)?;
        let node = find_node(&self.device, roots)?;
        let stack = refuse_in_use(&node, &self.device, self.keep, roots)?;
        if let Some(place) = signatures::zfs_member(&node, roots)? {
            return Err(ArmRefusal::ZfsMember { device: self.device.path, place });
        }
        refuse_other_users(&stack, &self.device, roots)?;
        let expected = identity::confirmation(&self.device, roots)?;
        if confirmation.is_none_or(|typed| typed.trim() != expected) {
            return Err(ArmRefusal::Unconfirmed {
                device: title(&self.device),
                expected,
                given: confirmation.map(str::to_owned),
                losses: signatures::losses(&node, roots)?,
            });
        }
        let mut target = self.open(AccessMode::Write)?;
        verify_handle(&target, &node, roots)?;
        lock(&target, &BTreeSet::new(), roots)?;
        claim(&mut target, &stack, roots)?;
        // Detects users that appeared between the lists and the exclusive open; none can appear later.
        let stack = refuse_in_use(&node, target.device(), self.keep, roots)?;
        claim(&mut target, &stack, roots)?;
        refuse_writers(&stack, target.device(), roots)?;
        Ok(target)
    }

    fn file_for_overwriting(self, confirmation: Option<&str>) -> Result<Target, ArmRefusal> {
        let (roots, keep) = (self.roots, self.keep);
        let name = PathBuf::from(&self.device.name);
        let id = FileId::from_metadata(self.anchor.metadata());
        let check = SharedFileCheck { anchor: &self.anchor, device: &self.device, roots, id };
        let ids = check.refuse_shared()?.ids;
        let mut target = self.open(AccessMode::Write)?;
        verify_length(&target)?;
        lock(&target, &ids, roots)?;
        let ids = check.refuse_newcomers(&target)?;
        let status = scratch_mark::mark_status(target.file())
            .map_err(|e| HostError::io("examine it", &name, e))?;
        if status != MarkStatus::Ours {
            refuse_kept_file(&name, &ids, keep)?;
            if status != MarkStatus::Unmarked || !is_new(id) {
                require_file_confirmation(&target, &name, &status, confirmation)?;
            }
        }
        // A user's own file keeps needing a confirmation, even after it was overwritten once.
        if status != MarkStatus::Unmarked {
            target.keep_mark();
        }
        Ok(target)
    }

    /// Opens the pinned path and translates the system's error into a refusal.
    fn open(&self, access: AccessMode) -> Result<Target, ArmRefusal> {
        let path = PathBuf::from(&self.device.path);
        let attempt = || Target::anchored(self.device.clone(), access, &self.anchor);
        let opened = retry_until(attempt, |opened| !is_busy(opened));
        opened.map_err(|error| match error.raw_os_error() {
            Some(libc::EBUSY) => {
                ArmRefusal::HeldExclusively { device: self.device.path.clone(), by: self.holders() }
            }
            Some(libc::EROFS) => ArmRefusal::ReadOnly { device: self.device.path.clone() },
            Some(libc::ETXTBSY) => {
                ArmRefusal::Kept { path, what: "a running program or a swap file".into() }
            }
            Some(libc::EWOULDBLOCK) => ArmRefusal::HeldExclusively {
                device: self.device.path.clone(),
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
        let Some(node) = SysfsNode::from_name(&self.device.name, self.roots) else {
            return Vec::new();
        };
        let group = [node.clone(), node.whole()].into_iter().chain(node.partitions());
        let numbers = group.filter_map(|node| node.device_number()).collect();
        let query = OpenFileQuery { numbers, files: BTreeSet::new() };
        let by = processes::openers(&query, self.roots, false).unwrap_or_default();
        by.into_iter().map(|process| format!("open in {process}")).collect()
    }
}

/// Locks the target as long as the handle exists. If another process has a lock, names it by
/// looking up `files`.
fn lock(target: &Target, files: &BTreeSet<FileId>, roots: &SystemRoots) -> Result<(), ArmRefusal> {
    let device = target.device().path.clone();
    match retry_until(|| locks::take(target.file()), |taken| matches!(taken, Ok(true))) {
        Ok(true) => Ok(()),
        Ok(false) => {
            // The lock alone decides; its owner is only for the message.
            let by = processes::locks_on(files, roots).unwrap_or_default();
            Err(ArmRefusal::HeldExclusively { device, by })
        }
        Err(error) => Err(HostError::io("lock it", Path::new(&device), error).into()),
    }
}
