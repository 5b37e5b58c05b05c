//! An open directory and operations on its entries.

use super::calls;
use super::error::{self, FileError, kind};
use super::output_storage::OutputStorage;
use super::overwrite_policy::OverwritePolicy;
use super::readers::ReadAccess;
use super::regular::read_file;
use super::resolve::{ForeignControl, ResolvedDirectory, control_in, resolve};
use crate::user::{effective_uid, is_root};
use rustix::fs::{OFlags, RenameFlags};
use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata, Permissions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Flags to open a directory itself, without following links.
const OPEN: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW);

/// A directory opened once. All entries are created, read, renamed and removed relative to the
/// handle, even if the path changes meanwhile.
#[derive(Debug, Clone)]
pub struct Directory {
    file: Arc<File>,
    path: PathBuf,
    /// Another user who can replace the directory; `None` if nobody can.
    replaceable_by: Option<ForeignControl>,
}

impl Directory {
    /// Opens an existing directory.
    ///
    /// # Errors
    /// Returns [`FileError::Io`] if it is missing or unreadable, and as root
    /// [`FileError::Misleading`] if another user decides where the path leads.
    pub fn open(path: &Path) -> Result<Directory, FileError> {
        let resolved = resolve(directory_path(path));
        let ResolvedDirectory { file, replaceable_by } =
            resolved.map_err(|why| FileError::from_resolve(path, why))?;
        Ok(Directory { file: Arc::new(file), path: path.to_owned(), replaceable_by })
    }

    /// Opens the parent directory of a file; returns it with the file's name.
    ///
    /// # Errors
    /// Returns the errors of [`Directory::open`], and an error if the path can only name a
    /// directory.
    pub fn of_file(path: &Path) -> Result<(Directory, &OsStr), FileError> {
        let (directory, name) = split_file_path(path)?;
        Ok((Directory::open(directory)?, name))
    }

    /// Opens a directory; creates it and its parents if missing.
    ///
    /// # Errors
    /// Returns the errors of [`Directory::open`], and [`FileError::Io`] if it cannot be created.
    pub fn make(path: &Path, readers: ReadAccess) -> Result<Directory, FileError> {
        let opened = Directory::open(path);
        match (&opened, path.parent(), path.file_name()) {
            (Err(error), Some(parent), Some(name)) if error.is_missing() => {
                let parent = Directory::make(parent, readers)?;
                match parent.make_new(name, readers) {
                    // Another process was faster.
                    Err(FileError::Exists(_)) => parent.enter(name),
                    made => made,
                }
            }
            _ => opened,
        }
    }

    /// Creates a directory under an unused name, which is on disk when this returns.
    ///
    /// # Errors
    /// Returns [`FileError::Exists`] if something has the name, [`FileError::Foreign`] if
    /// another user put something into its place, and [`FileError::Io`] otherwise.
    pub fn make_new(&self, name: &OsStr, readers: ReadAccess) -> Result<Directory, FileError> {
        let path = self.path.join(name);
        match calls::make_directory(&self.file, name, readers.first_mode(true)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(FileError::Exists(path));
            }
            result => result.map_err(FileError::io("create the directory", &path))?,
        }
        let directory = self.enter(name).inspect_err(|_| {
            // There is no handle that proves that the entry is ours. Only root knows that no other
            // user can have replaced it.
            if effective_uid() == 0 && self.replaceable_by.is_none() {
                let _ = calls::remove_directory(&self.file, name);
            }
        })?;
        // It may have been replaced: accept it only if no other user could have created it.
        directory.refuse_foreign()?;
        let listed = directory.names();
        if listed.as_ref().is_ok_and(|names| !names.is_empty()) {
            return Err(FileError::Exists(path));
        }
        // Synced content of a directory is lost if the directory's own name is not durable.
        let created = match listed {
            Ok(_) => readers
                .grant(&directory.file, true)
                .and_then(|()| self.sync())
                .map_err(FileError::io("create the directory", &path)),
            Err(error) => Err(error),
        };
        if let Err(error) = created {
            // If it stayed, a repeated command would find the name in use.
            self.remove_made(&directory);
            return Err(error);
        }
        Ok(directory)
    }

    /// Opens a directory in this one.
    ///
    /// # Errors
    /// Returns [`FileError::Io`] if it is missing, a link or no directory.
    pub fn enter(&self, name: &OsStr) -> Result<Directory, FileError> {
        let path = self.path.join(name);
        let failed = || FileError::io("open the directory", &path);
        let file = calls::open(&self.file, name, OPEN, 0).map_err(failed())?;
        let replaceable_by = match (&self.replaceable_by, effective_uid()) {
            (Some(control), _) => Some(control.clone()),
            (None, 0) => {
                let owner = file.metadata().map_err(failed())?.uid();
                control_in(&self.path, &self.metadata()?, owner)
            }
            (None, _) => None,
        };
        Ok(Directory { file: Arc::new(file), path, replaceable_by })
    }

    /// As root, refuses a directory that another user can replace.
    ///
    /// # Errors
    /// Returns [`FileError::Exchangeable`].
    pub fn refuse_exchangeable(&self) -> Result<(), FileError> {
        match &self.replaceable_by {
            Some(control) => {
                Err(FileError::Exchangeable { path: self.path.clone(), control: control.clone() })
            }
            None => Ok(()),
        }
    }

    /// As root, refuses a directory that belongs to another user or that others can write to.
    ///
    /// # Errors
    /// Returns [`FileError::Foreign`].
    pub fn refuse_foreign(&self) -> Result<(), FileError> {
        let metadata = self.metadata()?;
        let why = match (effective_uid(), metadata.uid(), metadata.mode() & 0o022) {
            (0, 0, 0) | (1.., ..) => return Ok(()),
            (0, 0, _) => "is writable by users other than root".to_owned(),
            (0, owner, _) => format!("belongs to user {owner}"),
        };
        Err(FileError::Foreign { path: self.path.clone(), why })
    }

    /// Checks whether root may create a directory at this path and work in it.
    ///
    /// # Errors
    /// Returns [`FileError::Exchangeable`] if another user can replace it or its parent.
    pub fn check_place(path: &Path) -> Result<(), FileError> {
        match (Directory::open(path), path.parent()) {
            (Err(error), Some(parent)) if error.is_missing() || error.is_not_a_directory() => {
                Directory::check_place(parent)?;
                match Directory::open(parent) {
                    Ok(above) => above.refuse_foreign_entries(path),
                    Err(_) => Ok(()),
                }
            }
            (opened, _) => opened?.refuse_exchangeable(),
        }
    }

    /// As root, refuses to create an entry where another user can replace it.
    fn refuse_foreign_entries(&self, path: &Path) -> Result<(), FileError> {
        if !is_root() {
            return Ok(());
        }
        match control_in(&self.path, &self.metadata()?, effective_uid()) {
            Some(control) => Err(FileError::Exchangeable { path: path.to_owned(), control }),
            None => Ok(()),
        }
    }

    /// Returns owner, mode and identity of the directory.
    ///
    /// # Errors
    /// Returns [`FileError::Io`] if the system refuses.
    pub fn metadata(&self) -> Result<Metadata, FileError> {
        self.file.metadata().map_err(FileError::io("examine the directory", &self.path))
    }

    /// Locks the directory until it is closed. Returns false if the lock is not granted.
    pub fn try_lock(&self) -> bool {
        self.file.try_lock().is_ok()
    }

    /// Returns the handle, for a program that runs in the directory.
    pub fn handle(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Opens nested directories below `place` that only this user can enter, and creates missing
    /// ones. `place` should be writable by root only.
    ///
    /// # Errors
    /// Returns [`FileError::NotPrivate`] if one is a link, belongs to another user or was writable
    /// by others.
    pub fn private(place: &Path, names: &[&str]) -> Result<Directory, FileError> {
        names.iter().try_fold(Directory::open(place)?, |above, name| above.private_in(name))
    }

    /// Creates or opens a subdirectory that only this user can enter.
    ///
    /// # Errors
    /// Returns the errors of [`Directory::private`].
    pub fn private_in(&self, name: &str) -> Result<Directory, FileError> {
        let failed = FileError::io("create the directory", &self.path.join(name));
        match calls::make_directory(&self.file, OsStr::new(name), 0o700) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(failed(error)),
            _ => self.enter_private(OsStr::new(name)),
        }
    }

    /// Like [`Directory::private`], but creates nothing: `None` if a directory is missing.
    ///
    /// # Errors
    /// Returns the errors of [`Directory::private`].
    pub fn private_if_there(place: &Path, names: &[&str]) -> Result<Option<Directory>, FileError> {
        let mut directory = Directory::open(place)?;
        for name in names {
            directory = match directory.enter_private(OsStr::new(name)) {
                Err(error) if error.is_missing() => return Ok(None),
                other => other?,
            };
        }
        Ok(Some(directory))
    }

    fn enter_private(&self, name: &OsStr) -> Result<Directory, FileError> {
        let path = self.path.join(name);
        let not_private = |why| FileError::NotPrivate { path: path.clone(), why };
        let file = match calls::open(&self.file, name, OPEN, 0) {
            Err(error) if matches!(error.raw_os_error(), Some(libc::ELOOP | libc::ENOTDIR)) => {
                return Err(not_private("is not a directory"));
            }
            other => other.map_err(FileError::io("open the directory", &path))?,
        };
        let failed = || FileError::io("examine the directory", &path);
        let metadata = file.metadata().map_err(failed())?;
        if metadata.uid() != effective_uid() {
            return Err(not_private("belongs to another user"));
        }
        if metadata.mode() & 0o022 != 0 {
            return Err(not_private("can be written to by others"));
        }
        if metadata.mode() & 0o7777 != 0o700 {
            file.set_permissions(Permissions::from_mode(0o700)).map_err(failed())?;
        }
        Ok(Directory { file: Arc::new(file), path, replaceable_by: self.replaceable_by.clone() })
    }

    /// Returns the path that it was opened by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the permissions for a new file next to a file of the directory: whoever may read that
    /// file may read the new one. A link says nothing about readers.
    pub fn readers_of(&self, name: &OsStr) -> ReadAccess {
        match self.entry_metadata(name) {
            Ok(Some(metadata)) if metadata.is_file() => ReadAccess::like(&metadata),
            _ => ReadAccess::Usual,
        }
    }

    /// Returns the metadata of an entry, of the link itself if it is one; `None` if it is missing.
    ///
    /// # Errors
    /// Returns [`FileError::Io`] if the entry cannot be examined.
    pub fn entry_metadata(&self, name: &OsStr) -> Result<Option<Metadata>, FileError> {
        let metadata = calls::open(&self.file, name, OFlags::PATH | OFlags::NOFOLLOW, 0)
            .and_then(|file| file.metadata());
        match metadata {
            Ok(metadata) => Ok(Some(metadata)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(FileError::io(error::EXAMINE, &self.path.join(name))(error)),
        }
    }

    /// Returns true if the name is unused, and false if a regular file has it and may be
    /// overwritten.
    ///
    /// # Errors
    /// Returns [`FileError::Exists`] or [`FileError::NotRegular`] if the name is in use and must
    /// not be overwritten.
    pub fn check_overwrite(
        &self,
        name: &OsStr,
        existing: OverwritePolicy,
    ) -> Result<bool, FileError> {
        let Some(metadata) = self.entry_metadata(name)? else { return Ok(true) };
        let path = self.path.join(name);
        match (existing, metadata.is_file()) {
            (OverwritePolicy::Keep, true) => Err(FileError::Exists(path)),
            (OverwritePolicy::Overwrite, true) => Ok(false),
            (_, false) => Err(FileError::NotRegular { path, kind: kind(metadata.file_type()) }),
        }
    }

    /// Opens a regular file for reading; never blocks.
    ///
    /// # Errors
    /// Returns [`FileError::Unreadable`] if it is anything else, a link included, and
    /// [`FileError::Io`] if it is missing.
    pub fn open_file(&self, name: &OsStr) -> Result<File, FileError> {
        self.open_regular(name, OFlags::RDONLY)
    }

    /// Opens a regular file for reading and appending; never blocks.
    ///
    /// # Errors
    /// Returns the errors of [`Directory::open_file`].
    pub fn open_to_append(&self, name: &OsStr) -> Result<File, FileError> {
        self.open_regular(name, OFlags::RDWR | OFlags::APPEND)
    }

    fn open_regular(&self, name: &OsStr, access: OFlags) -> Result<File, FileError> {
        let path = self.path.join(name);
        if let Some(metadata) = self.entry_metadata(name)?.filter(|metadata| !metadata.is_file()) {
            return Err(FileError::Unreadable { path, kind: kind(metadata.file_type()) });
        }
        let flags = access | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        let failed = || FileError::io(error::OPEN, &path);
        let file = calls::open(&self.file, name, flags, 0).map_err(failed())?;
        let metadata = file.metadata().map_err(failed())?;
        if metadata.is_file() {
            Ok(file)
        } else {
            Err(FileError::Unreadable { kind: kind(metadata.file_type()), path })
        }
    }

    /// Reads a regular file of at most `most` bytes.
    ///
    /// # Errors
    /// Returns the errors of [`Directory::open_file`], and [`FileError::TooLong`].
    pub fn read(&self, name: &OsStr, most: u64) -> Result<Vec<u8>, FileError> {
        read_file(&self.open_file(name)?, &self.path.join(name), most)
    }

    /// Renames a file, replacing an existing one.
    ///
    /// # Errors
    /// Returns [`FileError::Io`] if the system refuses.
    pub fn rename(&self, from: &OsStr, to: &OsStr) -> Result<(), FileError> {
        calls::rename(&self.file, from, to, RenameFlags::empty())
            .map_err(FileError::io("rename it", &self.path.join(from)))
    }

    /// Removes a file.
    ///
    /// # Errors
    /// Returns [`FileError::Io`] if the system refuses.
    pub fn remove(&self, name: &OsStr) -> Result<(), FileError> {
        let failed = FileError::io("remove it", &self.path.join(name));
        calls::remove(&self.file, name).map_err(failed)
    }

    /// Removes an empty subdirectory if it is still the one opened as `made`.
    pub fn remove_made(&self, made: &Directory) {
        let Some(name) = made.path.file_name() else { return };
        if self.is(name, &made.file) {
            // A directory that is not empty stays: its content is not ours.
            let _ = calls::remove_directory(&self.file, name);
        }
    }

    /// Creates a file under an unused name, for reading and appending.
    ///
    /// # Errors
    /// Returns an error if the name is in use or the system refuses.
    pub fn create(&self, name: &OsStr, readers: ReadAccess) -> io::Result<File> {
        let flags =
            OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let file = calls::open(&self.file, name, flags, readers.first_mode(false))?;
        match readers.grant(&file, false) {
            Ok(()) => Ok(file),
            Err(error) => {
                self.remove_own(name, &file);
                Err(error)
            }
        }
    }

    /// Returns true if the entry is this open file.
    pub fn is(&self, name: &OsStr, file: &File) -> bool {
        let identity = |of: Metadata| (of.dev(), of.ino());
        let entry = self.entry_metadata(name).ok().flatten().map(identity);
        entry.is_some() && entry == file.metadata().ok().map(identity)
    }

    /// Removes the entry if it is this open file.
    pub fn remove_own(&self, name: &OsStr, file: &File) {
        if self.is(name, file) {
            // It may be gone already.
            let _ = calls::remove(&self.file, name);
        }
    }

    /// Returns the names of all entries.
    ///
    /// # Errors
    /// Returns [`FileError::Io`] if it cannot be read.
    pub fn names(&self) -> Result<Vec<OsString>, FileError> {
        calls::list_names(&self.file).map_err(FileError::io("list the directory", &self.path))
    }

    /// Makes new names durable. A file system that cannot sync a directory keeps its own order.
    ///
    /// # Errors
    /// Returns the kernel's error if the names may be lost, such as `EIO`.
    pub fn sync(&self) -> io::Result<()> {
        match self.file.sync_all() {
            Err(error) if matches!(error.raw_os_error(), Some(libc::EINVAL | libc::EBADF)) => {
                Ok(())
            }
            synced => synced,
        }
    }
}

impl OutputStorage for Directory {
    type File = File;
    fn path(&self) -> &Path {
        self.path()
    }
    fn check_name(&self, name: &OsStr, existing: OverwritePolicy) -> Result<bool, FileError> {
        self.check_overwrite(name, existing)
    }
    fn create_file(&self, name: &OsStr, readers: ReadAccess) -> io::Result<File> {
        self.create(name, readers)
    }
    fn has_file(&self, name: &OsStr, file: &File) -> bool {
        self.is(name, file)
    }
    fn rename_to_unused(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        match calls::rename(&self.file, from, to, RenameFlags::NOREPLACE) {
            // File systems without RENAME_NOREPLACE support hard links.
            Err(error) if matches!(error.raw_os_error(), Some(libc::EINVAL | libc::ENOSYS)) => {
                calls::link(&self.file, from, to)?;
                calls::remove(&self.file, from)
            }
            done => done,
        }
    }
    fn rename_over(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        calls::rename(&self.file, from, to, RenameFlags::empty())
    }
    fn remove_own(&self, name: &OsStr, file: &File) {
        Directory::remove_own(self, name, file);
    }
    fn sync_names(&self) -> io::Result<()> {
        self.sync()
    }
    fn duplicate(file: &File) -> io::Result<File> {
        file.try_clone()
    }
    fn sync_file(file: &File) -> io::Result<()> {
        file.sync_all()
    }
    fn has_name(file: &File) -> io::Result<bool> {
        Ok(file.metadata()?.nlink() > 0)
    }
}

/// Returns the path of a directory to open: `.` for the parent of a bare name, which is empty.
fn directory_path(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}

fn split_file_path(path: &Path) -> Result<(&Path, &OsStr), FileError> {
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) if !path.as_os_str().as_bytes().ends_with(b"/") => {
            Ok((parent, name))
        }
        _ => Err(FileError::io("create a file", path)(io::ErrorKind::IsADirectory.into())),
    }
}
