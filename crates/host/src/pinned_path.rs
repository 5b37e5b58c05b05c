//! A path that is resolved once, so that the file inspected is the file opened, even if the path
//! changes in between.

use crate::error::HostError;
use crate::handles::{handle_path, open_for_reading, open_path};
use crate::layers::magic;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Magic numbers of the kernel's pseudo file systems (linux/magic.h). Their files store no data: a
/// write to one is a command to the kernel.
const PSEUDO_FILE_SYSTEMS: [u32; 13] = [
    0x9fa0,      // procfs
    0x6265_6572, // sysfs
    0x6462_6720, // debugfs
    0x7472_6163, // tracefs
    0x0027_e0eb, // cgroup
    0x6367_7270, // cgroup
    0x7363_6673, // securityfs
    0x6265_6570, // configfs
    0xde5e_81e4, // efivarfs
    0xcafe_4a11, // bpf
    0x6165_676c, // pstore
    0x4249_4e4d, // binfmt_misc
    0xf97c_ff8c, // selinuxfs
];

/// A block device node or regular file, pinned by an `O_PATH` handle. Such a handle does not open
/// the file: it neither wakes a device nor blocks on a pipe.
#[derive(Debug)]
pub(crate) struct PinnedPath {
    file: File,
    metadata: Metadata,
}

impl PinnedPath {
    /// Resolves a path, following links.
    ///
    /// # Errors
    /// The path does not exist, or is neither a block device nor a regular file with a name.
    pub fn at(path: &Path) -> Result<PinnedPath, HostError> {
        let failed = |error| HostError::io("find it", path, error);
        let file = open_path(path, 0).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        let kind = metadata.file_type();
        let refused = match (kind.is_block_device(), kind.is_file()) {
            (true, _) => None,
            // Only processes hold such a file, and the kernel does not count writers of a memfd.
            (_, true) if metadata.nlink() == 0 => {
                Some("a file without a name in any directory (deleted, memfd or O_TMPFILE)")
            }
            (_, true) if PSEUDO_FILE_SYSTEMS.contains(&magic(&file).map_err(failed)?) => {
                Some("a kernel file (procfs, sysfs and the like), not a data file")
            }
            (_, true) => None,
            _ => Some(kind_of(kind)),
        };
        match refused {
            Some(kind) => Err(HostError::NotTestable { path: path.to_owned(), kind }),
            None => Ok(PinnedPath { file, metadata }),
        }
    }

    /// Returns the `O_PATH` handle.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Returns the metadata read when the path was resolved.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Returns a path that refers to exactly this file; valid only in this process.
    pub fn path(&self) -> PathBuf {
        handle_path(&self.file)
    }

    /// Returns the real path, for messages.
    pub fn name(&self) -> io::Result<PathBuf> {
        fs::read_link(self.path())
    }

    /// Opens the file for reading.
    pub fn open(&self) -> io::Result<File> {
        open_for_reading(&self.path())
    }
}

/// Returns the file type in words, for a path that is neither a block device nor a regular file.
fn kind_of(kind: fs::FileType) -> &'static str {
    if kind.is_dir() {
        "a directory"
    } else if kind.is_char_device() {
        "a character device"
    } else if kind.is_fifo() {
        "a pipe"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "not a block device"
    }
}
