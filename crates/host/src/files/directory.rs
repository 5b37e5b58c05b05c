//! A directory that is open, and what lies in it.

use super::calls;
use super::error::FileError;
use super::existing::Existing;
use super::readers::Readers;
use std::ffi::{OsStr, OsString};
use std::fs::{File, FileType, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Opens a directory itself and nothing else.
const OPEN: i32 = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW;

/// A directory, whatever becomes of its path.
#[derive(Debug)]
pub struct Directory {
    file: File,
    path: PathBuf,
}

impl Directory {
    /// Opens one that is there.
    ///
    /// # Errors
    /// Where it is not, or this user may not read it.
    pub fn open(path: &Path) -> Result<Directory, FileError> {
        let file = OpenOptions::new().read(true).custom_flags(libc::O_DIRECTORY).open(place(path));
        let file = file.map_err(FileError::io("open the directory", path))?;
        Ok(Directory { file, path: path.to_owned() })
    }

    /// Opens one, and makes it and what lies above it where they are missing.
    ///
    /// # Errors
    /// Where it can be neither opened nor made.
    pub fn make(path: &Path, readers: Readers) -> Result<Directory, FileError> {
        let opened = Directory::open(path);
        match (&opened, path.parent(), path.file_name()) {
            (Err(error), Some(parent), Some(name)) if error.is_missing() => {
                Directory::make(parent, readers)?.make_in(name, readers)
            }
            _ => opened,
        }
    }

    fn make_in(&self, name: &OsStr, readers: Readers) -> Result<Directory, FileError> {
        let path = self.path.join(name);
        match calls::make_directory(&self.file, name, readers.first_mode(true)) {
            // Somebody was quicker, and it is theirs.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Directory::open(&path),
            made => {
                let granted = made.and_then(|()| {
                    let file = calls::open(&self.file, name, OPEN, 0)?;
                    readers.grant(&file, true)?;
                    Ok(file)
                });
                let file = granted.map_err(FileError::io("create the directory", &path))?;
                Ok(Directory { file, path })
            }
        }
    }

    /// Directories, one in the other below a place that only root can change,
    /// that only this user can enter; made where they are missing.
    ///
    /// # Errors
    /// Where one is a link, another user's, or was open to others.
    pub fn private(place: &Path, names: &[&str]) -> Result<Directory, FileError> {
        names.iter().try_fold(Directory::open(place)?, |above, name| {
            let name = OsStr::new(name);
            let failed = FileError::io("create the directory", &above.path.join(name));
            match calls::make_directory(&above.file, name, 0o700) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(failed(error)),
                _ => above.private_in(name),
            }
        })
    }

    /// The same, made by nobody: `None` where it is missing.
    ///
    /// # Errors
    /// As [`Directory::private`].
    pub fn private_if_there(place: &Path, names: &[&str]) -> Result<Option<Directory>, FileError> {
        let mut directory = Directory::open(place)?;
        for name in names {
            directory = match directory.private_in(OsStr::new(name)) {
                Err(error) if error.is_missing() => return Ok(None),
                other => other?,
            };
        }
        Ok(Some(directory))
    }

    fn private_in(&self, name: &OsStr) -> Result<Directory, FileError> {
        let path = self.path.join(name);
        let not_private = |why| FileError::NotPrivate { path: path.clone(), why };
        let file = match calls::open(&self.file, name, OPEN, 0) {
            Err(error) if matches!(error.raw_os_error(), Some(libc::ELOOP | libc::ENOTDIR)) => {
                return Err(not_private("is not a directory"));
            }
            other => other.map_err(FileError::io("open the directory", &path))?,
        };
        let failed = || FileError::io("examine the directory", &path);
        let found = file.metadata().map_err(failed())?;
        if found.uid() != calls::user() {
            return Err(not_private("belongs to another user"));
        }
        if found.mode() & 0o022 != 0 {
            return Err(not_private("can be written to by others"));
        }
        if found.mode() & 0o7777 != 0o700 {
            file.set_permissions(Permissions::from_mode(0o700)).map_err(failed())?;
        }
        Ok(Directory { file, path })
    }

    /// Where it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What has a name in it, itself where it is a link.
    ///
    /// # Errors
    /// Where that cannot be told.
    pub fn look(&self, name: &OsStr) -> Result<Option<Metadata>, FileError> {
        let found = calls::open(&self.file, name, libc::O_PATH | libc::O_NOFOLLOW, 0)
            .and_then(|file| file.metadata());
        match found {
            Ok(found) => Ok(Some(found)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(FileError::io("examine it", &self.path.join(name))(error)),
        }
    }

    /// Whether nothing has a name; `false` where a file has it that is to be
    /// overwritten.
    ///
    /// # Errors
    /// Where something has it that stays.
    pub fn is_free(&self, name: &OsStr, existing: Existing) -> Result<bool, FileError> {
        let Some(found) = self.look(name)? else { return Ok(true) };
        let path = self.path.join(name);
        match (existing, found.is_file()) {
            (Existing::Keep, true) => Err(FileError::Exists(path)),
            (Existing::Overwrite, true) => Ok(false),
            (_, false) => Err(FileError::NotRegular { path, kind: kind(found.file_type()) }),
        }
    }

    /// Opens a regular file for reading and appending; never waits.
    ///
    /// # Errors
    /// Where it is missing, a link, or no regular file.
    pub fn open_to_append(&self, name: &OsStr) -> io::Result<File> {
        let flags = libc::O_RDWR | libc::O_APPEND | libc::O_NOFOLLOW | libc::O_NONBLOCK;
        let file = calls::open(&self.file, name, flags, 0)?;
        match file.metadata()?.is_file() {
            true => Ok(file),
            false => Err(io::ErrorKind::InvalidInput.into()),
        }
    }

    /// Makes a file under a name that nothing has, for reading and appending.
    ///
    /// # Errors
    /// Where the name is taken, or the system refuses.
    pub fn create(&self, name: &OsStr, readers: Readers) -> io::Result<File> {
        let flags = libc::O_RDWR | libc::O_APPEND | libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW;
        let file = calls::open(&self.file, name, flags, readers.first_mode(false))?;
        match readers.grant(&file, false) {
            Ok(()) => Ok(file),
            Err(error) => {
                self.remove_own(name, &file);
                Err(error)
            }
        }
    }

    /// Whether a name is this open file's.
    pub fn is(&self, name: &OsStr, file: &File) -> bool {
        let identity = |of: Metadata| (of.dev(), of.ino());
        let found = self.look(name).ok().flatten().map(identity);
        found.is_some() && found == file.metadata().ok().map(identity)
    }

    /// Takes a name away where it is this open file's; never another's.
    pub fn remove_own(&self, name: &OsStr, file: &File) {
        if self.is(name, file) {
            // Gone already is as good.
            let _ = calls::remove(&self.file, name);
        }
    }

    /// The names in it.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn names(&self) -> Result<Vec<OsString>, FileError> {
        let failed = || FileError::io("list the directory", &self.path);
        let entries = std::fs::read_dir(place(&self.path)).map_err(failed())?;
        entries.map(|entry| Ok(entry.map_err(failed())?.file_name())).collect()
    }

    /// Gives a file of it a name that nothing has.
    pub(super) fn rename_to_free(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        match calls::rename(&self.file, from, to, libc::RENAME_NOREPLACE) {
            // Not every file system knows how; those that do not know links.
            Err(error) if matches!(error.raw_os_error(), Some(libc::EINVAL | libc::ENOSYS)) => {
                calls::link(&self.file, from, to)?;
                calls::remove(&self.file, from)
            }
            done => done,
        }
    }

    /// Gives a file of it the name of another, which is gone then.
    pub(super) fn rename_over(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        calls::rename(&self.file, from, to, 0)
    }

    /// Keeps new names through a loss of power, where the file system can.
    pub(super) fn sync(&self) {
        let _ = self.file.sync_all();
    }
}

/// Where the directory of a mere name is.
fn place(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}

/// The directory and the name of a path that is to be a file.
pub(super) fn parted(path: &Path) -> Result<(&Path, &OsStr), FileError> {
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) if !path.as_os_str().as_bytes().ends_with(b"/") => {
            Ok((parent, name))
        }
        _ => Err(FileError::io("create a file", path)(io::ErrorKind::IsADirectory.into())),
    }
}

fn kind(of: FileType) -> &'static str {
    match of {
        of if of.is_symlink() => "a symbolic link",
        of if of.is_dir() => "a directory",
        of if of.is_fifo() => "a FIFO",
        of if of.is_socket() => "a socket",
        of if of.is_block_device() || of.is_char_device() => "a device",
        _ => "not a regular file",
    }
}
