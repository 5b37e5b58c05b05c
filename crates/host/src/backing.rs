//! Identity of files, and the backing file of a loop device, by the kernel's numbers: device,
//! inode, and the number of a device node. The path that sysfs shows (`loop/backing_file`) is used
//! only in messages: a hard link, a bind mount, a second node made with mknod or a path in a
//! container may name the same file.

use crate::device_number::decode_dev;
use crate::error::HostError;
use crate::sysfs_node::SysfsNode;
use crate::system_roots::SystemRoots;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Identity of a file: `st_dev` and `st_ino`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FileId {
    pub device: u64,
    pub inode: u64,
}

impl FileId {
    pub fn from_metadata(metadata: &Metadata) -> Self {
        FileId { device: metadata.dev(), inode: metadata.ino() }
    }
}

/// Backing file or backing device of a loop device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LoopBacking {
    File(FileId),
    Device(SysfsNode),
}

/// `struct loop_info64` (linux/loop.h), 232 bytes: the fields that identify the backing file and
/// its range, then the rest.
#[repr(C)]
pub(crate) struct LoopStatus {
    /// `st_dev` of the backing file.
    pub device: u64,
    /// `st_ino` of the backing file.
    pub inode: u64,
    /// `st_rdev` of the backing device node; 0 for a regular file.
    pub node_of: u64,
    /// Offset of the device in the backing file, in bytes.
    pub offset: u64,
    /// Length of the device in the backing file, in bytes; 0 for the whole file.
    pub size_limit: u64,
    rest: [u64; 24],
}

impl LoopStatus {
    pub const fn new(device: u64, inode: u64, node_of: u64) -> Self {
        LoopStatus { device, inode, node_of, offset: 0, size_limit: 0, rest: [0; 24] }
    }

    /// Reads the status of a device from a file in [`SystemRoots::loops`].
    fn from_text(path: &Path) -> io::Result<LoopStatus> {
        let text = fs::read_to_string(path)?;
        let numbers: Vec<u64> = text.split_whitespace().map_while(|n| n.parse().ok()).collect();
        match numbers[..] {
            [device, inode, node_of] => Ok(LoopStatus::new(device, inode, node_of)),
            _ => Err(io::Error::other(format!("{} is not three numbers", path.display()))),
        }
    }

    /// Reads the status of an open loop device.
    pub fn read(file: &File) -> io::Result<LoopStatus> {
        let mut status = LoopStatus::new(0, 0, 0);
        // SAFETY: LOOP_GET_STATUS64 writes one loop_info64; `status` has its size and outlives the
        // call.
        match unsafe { libc::ioctl(file.as_raw_fd(), LOOP_GET_STATUS64, &mut status) } {
            0 => Ok(status),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// `LOOP_GET_STATUS64` of linux/loop.h.
const LOOP_GET_STATUS64: libc::Ioctl = 0x4c05;

/// Returns the backing file or device of a loop device; `None` for any other device and for a
/// detached loop device.
///
/// # Errors
/// The loop device is in use and its backing file cannot be determined.
pub(crate) fn backing(
    node: &SysfsNode,
    roots: &SystemRoots,
) -> Result<Option<LoopBacking>, HostError> {
    if !node.is_loop() || !node.directory.join("loop").exists() {
        return Ok(None);
    }
    let path = node.path(roots);
    let status = match loop_status(node, roots) {
        // The device was detached in the meantime.
        Err(error) if error.raw_os_error() == Some(libc::ENXIO) => return Ok(None),
        other => other.map_err(|e| HostError::io("find what it is built on", &path, e))?,
    };
    if status.node_of == 0 {
        return Ok(Some(LoopBacking::File(FileId { device: status.device, inode: status.inode })));
    }
    let number = decode_dev(status.node_of);
    match SysfsNode::from_number(number, roots) {
        Some(below) => Ok(Some(LoopBacking::Device(below))),
        None => Err(HostError::Unclear {
            what: format!("device below {}", path.display()),
            why: format!("sysfs does not list block device {number}"),
        }),
    }
}

/// Asks the kernel what a loop device is built on.
fn loop_status(node: &SysfsNode, roots: &SystemRoots) -> io::Result<LoopStatus> {
    match &roots.loops {
        Some(loops) => LoopStatus::from_text(&loops.join(&node.name)),
        None => LoopStatus::read(&open_node(node, roots, 0)?),
    }
}

/// Opens a device for reading through its node in `/dev`.
///
/// # Errors
/// The node cannot be opened, or its device number is not that of the device.
pub(crate) fn open_node(node: &SysfsNode, roots: &SystemRoots, flags: i32) -> io::Result<File> {
    let path = node.path(roots);
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags | libc::O_NONBLOCK | libc::O_CLOEXEC)
        .open(&path)?;
    let metadata = file.metadata()?;
    let number = decode_dev(metadata.rdev());
    if metadata.file_type().is_block_device() && node.device_number() == Some(number) {
        return Ok(file);
    }
    Err(io::Error::other(format!("{} is not the node of {}", path.display(), node.name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::machine::MachineFixture;

    #[test]
    fn a_status_has_the_size_that_the_kernel_writes() {
        assert_eq!(size_of::<LoopStatus>(), 232);
    }

    #[test]
    fn a_loop_device_whose_backing_is_unknown_is_an_error() {
        let machine = MachineFixture::new();
        let detached = machine.block("virtual/block/loop0", "7:0", 0);
        assert_eq!(backing(&detached, &machine.roots).unwrap(), None);
        let unreadable = machine.block("virtual/block/loop1", "7:1", 9);
        machine.set(&unreadable, "loop/offset", "0");
        let error = backing(&unreadable, &machine.roots).unwrap_err().to_string();
        assert!(error.contains("loop1: cannot find what it is built on"), "{error}");
        let unlisted = machine.block("virtual/block/loop2", "7:2", 9);
        machine.lay(&unlisted, &LoopStatus::new(5, 6, libc::makedev(8, 99)));
        let error = backing(&unlisted, &machine.roots).unwrap_err().to_string();
        assert!(error.contains("does not list block device 8:99"), "{error}");
    }
}
