//! [`Target`]: an open handle on a device, armed for reading or for overwriting. Only
//! [`crate::arm`] creates one, from a [`PinnedPath`]; a child process of the program that armed it
//! inherits the same open handle.

use crate::backing::open_node;
use crate::locks::clear_flags;
use crate::pinned_path::PinnedPath;
use crate::scratch_mark::MarkKeeper;
use crate::sysfs_node::SysfsNode;
use crate::system_roots::SystemRoots;
use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use steadfast_domain::{Bytes, Device, DirectBuffer, Transport};

/// Largest alignment in bytes that is probed if the kernel reports none.
const ALIGNMENT_MAX: usize = 4096;

/// An armed handle on a device. Until it is dropped, a writable block device is held exclusively,
/// and a file is locked.
#[derive(Debug)]
pub struct Target {
    facts: ArmedFacts,
    file: File,
    mark: Option<MarkKeeper>,
    /// Other devices that share blocks with this one, held exclusively.
    claims: Vec<ClaimedDevice>,
}

/// A device held exclusively for as long as its handle is open.
#[derive(Debug)]
struct ClaimedDevice {
    node: SysfsNode,
    _handle: File,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct ArmedFacts {
    device: Device,
    access: AccessMode,
    direct: bool,
    memory_alignment: u32,
    offset_alignment: u32,
}

/// Facts about an armed target for the child process that inherits its handle.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct InheritedTarget {
    facts: ArmedFacts,
    /// Number of the block device, or device and inode of the file.
    number: (u64, u64),
}

/// Access mode of a handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum AccessMode {
    /// Reading; others may use the device at the same time.
    Read,
    /// Overwriting; a block device is held exclusively.
    Write,
}

impl Target {
    /// Returns the device's facts at the time of arming.
    pub fn device(&self) -> &Device {
        &self.facts.device
    }
    /// Returns the handle, which stays valid through a purge.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
    /// Returns true if the device may be overwritten.
    pub fn is_writable(&self) -> bool {
        self.facts.access == AccessMode::Write
    }
    /// Returns true if I/O bypasses the page cache (O_DIRECT).
    pub fn is_direct(&self) -> bool {
        self.facts.direct
    }
    /// Returns the required alignment of offsets and lengths in bytes.
    pub fn offset_alignment(&self) -> u32 {
        self.facts.offset_alignment
    }
    /// Returns the required alignment of buffer addresses in bytes.
    pub fn memory_alignment(&self) -> u32 {
        self.facts.memory_alignment
    }
    /// Returns the testable length: the capacity, rounded down to a multiple of the offset
    /// alignment.
    pub fn length(&self) -> Bytes {
        self.device().capacity.round_down(u64::from(self.offset_alignment().max(1)))
    }
    /// Returns true if a block device has capacity 0, which the kernel sets when a drive is
    /// unplugged or taken offline. Reads then return short and writes fail with ENOSPC instead of
    /// an I/O error.
    pub fn has_vanished(&self) -> bool {
        !self.is_file() && length_of(&self.file).is_ok_and(|length| length == 0)
    }
    /// Returns the nonce in the mark of a writable scratch file; `None` for other targets.
    pub fn mark_nonce(&self) -> Option<&str> {
        self.mark.as_ref().map(MarkKeeper::nonce)
    }
    /// Renews the scratch file's mark as long as this handle exists. If renewal fails, the mark
    /// becomes stale and the next run asks for a confirmation.
    pub(crate) fn keep_mark(&mut self) {
        self.mark = MarkKeeper::begin(&self.file).ok();
    }
    pub(crate) fn file(&self) -> &File {
        &self.file
    }
    pub(crate) fn is_file(&self) -> bool {
        self.device().transport == Transport::File
    }

    /// Returns a duplicate of the handle and the facts for a child process.
    pub(crate) fn inheritable(&self) -> io::Result<(OwnedFd, InheritedTarget)> {
        let inherited =
            InheritedTarget { facts: self.facts.clone(), number: number_of(&self.file)? };
        Ok((self.fd().try_clone_to_owned()?, inherited))
    }
    /// Takes over an inherited handle. The parent keeps the mark and the claims.
    pub(crate) fn inherited(handle: OwnedFd, inherited: InheritedTarget) -> io::Result<Target> {
        let file = File::from(handle);
        if number_of(&file)? != inherited.number {
            return Err(io::Error::other("the inherited handle is not that of the armed device"));
        }
        Ok(Target { facts: inherited.facts, file, mark: None, claims: Vec::new() })
    }

    /// Opens a device by its path, for tests.
    #[cfg(test)]
    pub(crate) fn open(device: Device, access: AccessMode) -> io::Result<Target> {
        let anchor = PinnedPath::at(Path::new(&device.path)).map_err(io::Error::other)?;
        Target::anchored(device, access, &anchor)
    }

    /// Replaces the device's facts, so that an open file stands for a simulated device.
    #[cfg(test)]
    pub(crate) fn set_device(&mut self, device: Device) {
        self.facts.device = device;
    }

    /// Holds another device exclusively as long as this handle exists.
    pub(crate) fn claim(&mut self, node: &SysfsNode, roots: &SystemRoots) -> io::Result<()> {
        if !self.claims.iter().any(|claim| claim.node == *node) {
            let handle = open_node(node, roots, libc::O_EXCL)?;
            self.claims.push(ClaimedDevice { node: node.clone(), _handle: handle });
        }
        Ok(())
    }

    /// Opens the anchored device, with O_DIRECT if its file system supports it.
    pub(crate) fn anchored(
        device: Device,
        access: AccessMode,
        anchor: &PinnedPath,
    ) -> io::Result<Target> {
        let path = &anchor.path();
        let exclusive = access == AccessMode::Write && device.transport != Transport::File;
        let (file, direct) = match open_with(path, access, exclusive, libc::O_DIRECT) {
            Ok(file) => (file, true),
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
                (open_with(path, access, exclusive, 0)?, false)
            }
            Err(error) => return Err(error),
        };
        // The open must not block on a lease or a pipe; later I/O must block.
        clear_flags(&file, libc::O_NONBLOCK)?;
        let sector = device.logical_sector.max(1);
        let alignment = if direct { alignment(&file, sector)? } else { None };
        let direct = alignment.is_some();
        if !direct {
            clear_flags(&file, libc::O_DIRECT)?;
        }
        let alignment = alignment.unwrap_or_else(|| DirectAlignment::new(sector, sector));
        let facts = ArmedFacts {
            device,
            access,
            direct,
            memory_alignment: alignment.memory,
            offset_alignment: alignment.offset,
        };
        Ok(Target { facts, file, mark: None, claims: Vec::new() })
    }
}

fn open_with(path: &Path, access: AccessMode, exclusive: bool, direct: i32) -> io::Result<File> {
    // O_EXCL without O_CREAT claims a block device: no file system, swap, device-mapper, md or
    // other exclusive opener can use it meanwhile.
    let claim = if exclusive { libc::O_EXCL } else { 0 };
    OpenOptions::new()
        .read(true)
        .write(access == AccessMode::Write)
        .custom_flags(claim | direct | libc::O_NONBLOCK | libc::O_CLOEXEC)
        .open(path)
}

/// Returns the number of an open block device, or device and inode of a file.
fn number_of(file: &File) -> io::Result<(u64, u64)> {
    let metadata = file.metadata()?;
    let is_block_device = metadata.file_type().is_block_device();
    Ok(if is_block_device { (metadata.rdev(), 0) } else { (metadata.dev(), metadata.ino()) })
}

/// Alignment that direct I/O requires, in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DirectAlignment {
    /// Alignment of buffer addresses in bytes.
    memory: u32,
    /// Alignment of offsets and lengths in bytes; 0 if direct I/O is not supported.
    pub offset: u32,
}

impl DirectAlignment {
    fn new(memory: u32, offset: u32) -> DirectAlignment {
        DirectAlignment { memory, offset }
    }
}

/// Returns the alignment for an open handle; `None` if direct I/O is not supported.
fn alignment(file: &File, sector: u32) -> io::Result<Option<DirectAlignment>> {
    match reported_alignment(file, Path::new(""), AtFlags::EMPTY_PATH) {
        Some(reported) => Ok((reported.offset > 0).then_some(reported)),
        None if file.metadata()?.file_type().is_block_device() => {
            Ok(Some(DirectAlignment::new(sector, sector)))
        }
        None => Ok(probed_alignment(file)),
    }
}

/// Returns the alignment for a path; `None` if the kernel does not report it (before Linux 6.1) or
/// direct I/O is not supported.
pub(crate) fn direct_alignment(path: &Path) -> Option<DirectAlignment> {
    reported_alignment(CWD, path, AtFlags::empty()).filter(|reported| reported.offset > 0)
}

fn reported_alignment(
    directory: impl AsFd,
    path: &Path,
    flags: AtFlags,
) -> Option<DirectAlignment> {
    let status = statx(directory, path, flags, StatxFlags::DIOALIGN).ok()?;
    let is_reported = status.stx_mask & StatxFlags::DIOALIGN.bits() != 0;
    is_reported.then(|| DirectAlignment::new(status.stx_dio_mem_align, status.stx_dio_offset_align))
}

/// Probes the offset alignment with reads: the smallest power of two that succeeds. The memory
/// alignment is not probed: a device that accepts less than a page may damage the memory before
/// the buffer (see `DirectBuffer`).
fn probed_alignment(file: &File) -> Option<DirectAlignment> {
    let mut buffer = DirectBuffer::new(ALIGNMENT_MAX);
    [512usize, 1024, 2048, ALIGNMENT_MAX].into_iter().find_map(|unit| {
        let is_accepted = file.read_at(&mut buffer[..unit], unit as u64).is_ok();
        is_accepted.then(|| DirectAlignment::new(ALIGNMENT_MAX as u32, unit as u32))
    })
}

/// Returns the length of an open file or block device in bytes.
pub(crate) fn length_of(file: &File) -> io::Result<u64> {
    let metadata = file.metadata()?;
    if !metadata.file_type().is_block_device() {
        return Ok(metadata.len());
    }
    let mut length = 0u64;
    // SAFETY: BLKGETSIZE64 writes one u64, which outlives the call.
    match unsafe { libc::ioctl(file.as_raw_fd(), BLKGETSIZE64, &mut length) } {
        0 => Ok(length),
        _ => Err(io::Error::last_os_error()),
    }
}

/// `_IOR(0x12, 114, size_t)` of linux/fs.h, on architectures with the generic ioctl numbers
/// (x86-64, arm64, riscv64).
const BLKGETSIZE64: libc::Ioctl = 0x8008_1272;
