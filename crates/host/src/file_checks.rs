//! Checks of a regular file that is to be written: nothing else may write to it, under any of its
//! inodes, and it is no file that must be kept.

use crate::backing::FileId;
use crate::created_files::is_created_here;
use crate::device_uses::DeviceUses;
use crate::error::HostError;
use crate::fuse::refuse_fuse;
use crate::handles::{handle_path, open_for_reading};
use crate::layers::{Inodes, MountTable};
use crate::locks::{self, WriterPresence};
use crate::mounts::mounts;
use crate::pinned_path::PinnedPath;
use crate::processes::{self, OpenFileQuery};
use crate::refusal::{ArmRefusal, title};
use crate::retry::retry_until;
use crate::scratch_mark::MarkStatus;
use crate::system_roots::{SystemRoots, file_name, try_entries};
use crate::target::{self, Target};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use steadfast_domain::Device;

/// A file whose other users are looked for.
pub(crate) struct SharedFileCheck<'a> {
    pub anchor: &'a PinnedPath,
    pub device: &'a Device,
    pub roots: &'a SystemRoots,
    /// Inode by which the path leads to it.
    pub id: FileId,
}

impl SharedFileCheck<'_> {
    /// Refuses a file that anything else may write to, under any of its inodes; returns the
    /// inodes. The kernel's count of openers decides. The lists name the users, and decide if
    /// the count is unavailable.
    pub(crate) fn refuse_shared(&self) -> Result<Inodes, ArmRefusal> {
        let path = Path::new(&self.device.path);
        let reading = self.anchor.open();
        let reading = reading.map_err(|e| HostError::io("open it for reading", path, e))?;
        let mut openers = FileOpeners::count(&reading);
        // An open handle on an overlay's file also counts as an opener of the file in its layer.
        drop(reading);
        let snapshot = match DeviceUses::take(self.roots) {
            Err(error) if !openers.are_none() => return Err(error.into()),
            // Without the lists, the kernel's count alone proves that nobody has it open.
            taken => taken,
        };
        let inodes = self.inodes(snapshot.as_ref().ok())?;
        for handle in &inodes.handles {
            let path = handle_path(handle);
            let reading = open_for_reading(&path);
            let reading =
                reading.map_err(|e| HostError::io("open it by another inode", &path, e))?;
            openers.add(&FileOpeners::count(&reading));
        }
        if openers.are_none() {
            return Ok(inodes);
        }
        self.refuse_listed_uses(&snapshot?, &inodes)?;
        if openers.writers == WriterPresence::Nobody && inodes.handles.len() <= 1 {
            return Ok(inodes);
        }
        let lock_owners = processes::locks_on(&inodes.ids, self.roots)?;
        if !lock_owners.is_empty() {
            return Err(ArmRefusal::HeldExclusively {
                device: self.device.path.clone(),
                by: lock_owners,
            });
        }
        if openers.writers == WriterPresence::Nobody {
            return Ok(inodes);
        }
        let query = OpenFileQuery::files(inodes.ids.clone());
        let mut by = processes::openers(&query, self.roots, true)?;
        if openers.writers == WriterPresence::Somebody && by.is_empty() {
            by.push("the kernel or a process that is not visible from here".into());
        }
        if by.is_empty() {
            processes::require_all(self.roots)?;
            return Ok(inodes);
        }
        Err(ArmRefusal::OpenForWriting { device: self.device.path.clone(), by })
    }

    /// Checks again after the file was opened and locked. This detects openers that came between
    /// the first check and the open; later ones are stopped by the lock. Returns the file's
    /// inodes: opening it for writing may have created another one in an overlay.
    pub(crate) fn refuse_newcomers(&self, target: &Target) -> Result<BTreeSet<FileId>, ArmRefusal> {
        let is_alone = || locks::is_alone(target.file());
        let snapshot = match DeviceUses::take(self.roots) {
            // Wait for readers that have the file open only for a moment.
            Err(error) if !retry_until(is_alone, |is_alone| *is_alone) => return Err(error.into()),
            taken => taken,
        };
        let inodes = self.inodes(snapshot.as_ref().ok())?;
        // A lease on an overlay's inode does not cover openers of the file in a layer.
        if inodes.handles.len() <= 1 && is_alone() {
            return Ok(inodes.ids);
        }
        self.refuse_listed_uses(&snapshot?, &inodes)?;
        let query = OpenFileQuery::files(inodes.ids.clone());
        let writers = || processes::openers(&query, self.roots, true);
        let by = retry_until(writers, |by| by.as_ref().is_ok_and(Vec::is_empty))?;
        if by.is_empty() {
            Ok(inodes.ids)
        } else {
            Err(ArmRefusal::OpenForWriting { device: self.device.path.clone(), by })
        }
    }

    /// Refuses a file that is in use according to the kernel's lists: through a loop device, a FUSE
    /// server or another name, or for swap.
    fn refuse_listed_uses(
        &self,
        snapshot: &DeviceUses<'_>,
        inodes: &Inodes,
    ) -> Result<(), ArmRefusal> {
        // A read-only loop device is no writer, but a file system may be mounted from it.
        let loops = snapshot.loops_over(&inodes.ids).map(|over| format!("backs {}", over.name));
        let uses: Vec<String> = loops.collect();
        if !uses.is_empty() {
            let remedy = "name the loop device, or detach it (losetup -d)".into();
            return Err(ArmRefusal::InUse { device: self.device.path.clone(), uses, remedy });
        }
        refuse_fuse(&inodes.ids, self.device, self.roots)?;
        snapshot.refuse_lost_uses(None)?;
        if snapshot.swaps_to(inodes)? {
            let path = PathBuf::from(&self.device.name);
            return Err(ArmRefusal::Kept { path, what: "a swap file in use".into() });
        }
        Ok(())
    }

    /// Returns all inodes of the file. A file whose layers cannot be determined is accepted only
    /// if this process created it.
    fn inodes(&self, snapshot: Option<&DeviceUses<'_>>) -> Result<Inodes, ArmRefusal> {
        let file = self.anchor.file();
        let inodes = match snapshot {
            Some(snapshot) => snapshot.inodes(file),
            None => MountTable::new(mounts(self.roots)?, self.roots).inodes(file),
        };
        match inodes {
            Err(_) if is_created_here(self.id) => Ok(Inodes::single(self.id)),
            other => other.map_err(|why| {
                let what = format!("use of {}", self.device.path);
                let why = format!("{why}; name a file that does not exist, and --size creates it");
                HostError::Unclear { what, why }.into()
            }),
        }
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

/// Checks that the file still has the inspected length.
pub(crate) fn verify_length(target: &Target) -> Result<(), ArmRefusal> {
    let (device, path) = (target.device(), Path::new(&target.device().path));
    let length =
        target::length_of(target.file()).map_err(|e| HostError::io("read its size", path, e))?;
    if length == device.capacity.0 {
        return Ok(());
    }
    let now = format!("a file of {length} bytes");
    Err(ArmRefusal::Changed { device: title(device), now })
}

/// Refuses, by inode, a file that must be kept: one of the kept paths, a file in a kept directory
/// under any name, or this program.
pub(crate) fn refuse_kept_file(
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
    for path in try_entries(directory)? {
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

/// Requires that the user typed the full path or the name of the file.
pub(crate) fn require_file_confirmation(
    target: &Target,
    name: &Path,
    status: &MarkStatus,
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
        losses: vec![match status {
            MarkStatus::Doubtful(why) => {
                format!("all {} bytes of the file ({why})", device.capacity.0)
            }
            _ => format!("all {} bytes of the file", device.capacity.0),
        }],
    })
}
