//! Opens files and cgroups by their numbers: the kernel finds what is open or cached by a handle
//! that contains the number, without a search.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A file handle of the kernel (`struct file_handle`). One that a file system makes of a file
/// contains the generation of the inode, so that it differs from that of a later file with the same
/// inode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileHandle {
    kind: i32,
    bytes: Vec<u8>,
}

/// Maximum length of a handle in bytes (MAX_HANDLE_SZ of include/linux/exportfs.h).
const HANDLE_BYTES_MAX: usize = 128;

/// `struct file_handle` with room for any.
#[repr(C)]
struct AnyHandle {
    bytes: u32,
    kind: i32,
    number: [u8; HANDLE_BYTES_MAX],
}

impl FileHandle {
    /// Returns the handle of a cgroup: FILEID_KERNFS of include/linux/exportfs.h.
    pub(crate) fn of_cgroup(id: u64) -> FileHandle {
        FileHandle { kind: 0xfe, bytes: id.to_ne_bytes().to_vec() }
    }

    /// Returns the handle of an inode of ext4, whichever file has it at the moment: FILEID_INO32_GEN
    /// with the generation 0, which stands for any.
    pub(crate) fn of_inode(inode: u32) -> FileHandle {
        FileHandle { kind: 1, bytes: u64::from(inode).to_le_bytes().to_vec() }
    }

    /// Returns the handle of the file that lies at a path. Fails if there is none, or if its file
    /// system makes no handles.
    pub(crate) fn of_path(path: &Path) -> io::Result<FileHandle> {
        let path = CString::new(path.as_os_str().as_bytes())?;
        let mut handle =
            AnyHandle { bytes: HANDLE_BYTES_MAX as u32, kind: 0, number: [0; HANDLE_BYTES_MAX] };
        let mut mount = 0i32;
        // SAFETY: `path` ends with a zero byte; `handle` is laid out as the kernel has it and has as
        // much room as it says; both and `mount` live through the call.
        let failed = unsafe {
            libc::syscall(
                libc::SYS_name_to_handle_at,
                libc::AT_FDCWD,
                path.as_ptr(),
                &raw mut handle,
                &raw mut mount,
                libc::AT_SYMLINK_FOLLOW,
            )
        };
        if failed != 0 {
            return Err(io::Error::last_os_error());
        }
        let bytes = handle.number.get(..handle.bytes as usize).unwrap_or_default().to_vec();
        Ok(FileHandle { kind: handle.kind, bytes })
    }

    /// Opens the file or cgroup, wherever it lies now, on the file system of `mount` and without
    /// read access. Fails if it is deleted, even if another file has its inode.
    pub(crate) fn open(&self, mount: &File) -> io::Result<File> {
        let length = self.bytes.len();
        let mut handle =
            AnyHandle { bytes: length as u32, kind: self.kind, number: [0; HANDLE_BYTES_MAX] };
        handle.number[..length].copy_from_slice(&self.bytes);
        let flags = libc::O_PATH | libc::O_CLOEXEC;
        // SAFETY: `handle` is laid out as the kernel has it and lives through the call; the result
        // is a new descriptor or -1.
        let fd = unsafe {
            libc::syscall(libc::SYS_open_by_handle_at, mount.as_raw_fd(), &raw mut handle, flags)
        };
        let fd = i32::try_from(fd).ok().filter(|fd| *fd >= 0);
        // SAFETY: the kernel just returned this descriptor, and nothing else owns it.
        fd.map(|fd| unsafe { File::from_raw_fd(fd) }).ok_or_else(io::Error::last_os_error)
    }
}

/// Where an open file lies.
pub(crate) fn path(file: &File) -> io::Result<PathBuf> {
    std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()))
}
