//! Files and cgroups by their numbers: what is open or cached is found without a
//! search, by a handle that is made of the number.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::path::PathBuf;

/// `struct file_handle` with the 8 bytes that are needed here.
#[repr(C)]
struct Handle {
    bytes: u32,
    kind: i32,
    number: [u8; 8],
}

/// What a number is that a handle is made of.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Number {
    /// A cgroup's.
    Cgroup(u64),
    /// An inode of ext4, whichever file it is of at the moment.
    Inode(u32),
}

impl Number {
    fn handle(self) -> Handle {
        let (kind, number) = match self {
            // FILEID_KERNFS of include/linux/exportfs.h.
            Number::Cgroup(id) => (0xfe, id.to_ne_bytes()),
            // FILEID_INO32_GEN: inode and generation, 0 for any.
            Number::Inode(inode) => (1, u64::from(inode).to_le_bytes()),
        };
        Handle { bytes: 8, kind, number }
    }
}

/// Opens what has this number on the file system that `mount` lies on, without the
/// right to read it.
pub(crate) fn open(mount: &File, number: Number) -> io::Result<File> {
    let mut handle = number.handle();
    let flags = libc::O_PATH | libc::O_CLOEXEC;
    // SAFETY: `handle` is laid out as the kernel has it and lives through the call; the
    // result is a new descriptor or -1.
    let fd = unsafe {
        libc::syscall(libc::SYS_open_by_handle_at, mount.as_raw_fd(), &raw mut handle, flags)
    };
    let fd = i32::try_from(fd).ok().filter(|fd| *fd >= 0).ok_or_else(io::Error::last_os_error)?;
    // SAFETY: a descriptor that nobody else has.
    Ok(unsafe { File::from_raw_fd(fd) })
}

/// Where an open file lies.
pub(crate) fn path(file: &File) -> io::Result<PathBuf> {
    std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()))
}
