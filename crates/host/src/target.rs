//! A [`Target`]: an open handle on a device that may be read, or overwritten.
//! Only [`crate::arm`] makes one, from an [`Anchor`].

use crate::anchor::Anchor;
use crate::backing::open_node;
use crate::locks::clear_flags;
use crate::mark::MarkKeeper;
use crate::node::Node;
use crate::roots::Roots;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt};
use std::path::Path;
use steadfast_domain::{Bytes, Device, DirectBuffer, Transport};

/// The largest alignment that is tried where the kernel names none.
const ALIGNMENT_MAX: usize = 4096;

/// An armed handle on a device. A block device that may be written is held
/// exclusively, a file under a lock, until this is dropped.
#[derive(Debug)]
pub struct Target {
    device: Device,
    file: File,
    access: Access,
    direct: bool,
    memory_alignment: u32,
    offset_alignment: u32,
    mark: Option<MarkKeeper>,
    /// What else leads to the same blocks, held exclusively.
    claims: Vec<(Node, File)>,
}

/// What a handle is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Reading; others may use the device meanwhile.
    Read,
    /// Overwriting; a block device is then held exclusively.
    Write,
}

impl Target {
    /// The device's facts at the time of arming.
    pub fn device(&self) -> &Device {
        &self.device
    }
    /// The handle. It stays valid through a purge.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
    /// Whether it may be overwritten.
    pub fn is_writable(&self) -> bool {
        self.access == Access::Write
    }
    /// Whether I/O goes past the page cache.
    pub fn is_direct(&self) -> bool {
        self.direct
    }
    /// What offsets and lengths must be a multiple of, in bytes.
    pub fn offset_alignment(&self) -> u32 {
        self.offset_alignment
    }
    /// What buffer addresses must be a multiple of, in bytes.
    pub fn memory_alignment(&self) -> u32 {
        self.memory_alignment
    }
    /// Length that can be tested: the capacity, down to a whole number of
    /// logical sectors.
    pub fn length(&self) -> Bytes {
        self.device.capacity.round_down(u64::from(self.offset_alignment.max(1)))
    }
    /// Whether a block device has lost its capacity, which the kernel takes
    /// away when a drive is pulled out or given up: reads then end short and
    /// writes find no room, instead of failing with an error that says so.
    pub fn has_vanished(&self) -> bool {
        !self.is_file() && length_of(&self.file).is_ok_and(|length| length == 0)
    }
    /// The nonce in the mark of a scratch file that may be overwritten.
    pub fn mark_nonce(&self) -> Option<&str> {
        self.mark.as_ref().map(MarkKeeper::nonce)
    }
    /// Keeps the scratch file's mark true for as long as this handle lives. A
    /// mark that cannot be renewed goes stale, and the next run asks for a
    /// confirmation.
    pub(crate) fn keep_mark(&mut self) {
        self.mark = MarkKeeper::begin(&self.file).ok();
    }
    pub(crate) fn file(&self) -> &File {
        &self.file
    }
    pub(crate) fn is_file(&self) -> bool {
        self.device.transport == Transport::File
    }

    /// Opens a device by its path.
    #[cfg(test)]
    pub(crate) fn open(device: Device, access: Access) -> io::Result<Target> {
        let anchor = Anchor::at(Path::new(&device.path)).map_err(io::Error::other)?;
        Target::anchored(device, access, &anchor)
    }

    /// Makes an open file stand for a device that is not there.
    #[cfg(test)]
    pub(crate) fn be(&mut self, device: Device) {
        self.device = device;
    }

    /// Holds another device exclusively for as long as this handle lives.
    pub(crate) fn claim(&mut self, node: &Node, roots: &Roots) -> io::Result<()> {
        if !self.claims.iter().any(|(held, _)| held == node) {
            self.claims.push((node.clone(), open_node(node, roots, libc::O_EXCL)?));
        }
        Ok(())
    }

    /// Opens the device that is anchored, past the page cache where its file
    /// system allows it.
    pub(crate) fn anchored(device: Device, access: Access, anchor: &Anchor) -> io::Result<Target> {
        let path = &anchor.path();
        let exclusive = access == Access::Write && device.transport != Transport::File;
        let (file, direct) = match open_with(path, access, exclusive, libc::O_DIRECT) {
            Ok(file) => (file, true),
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
                (open_with(path, access, exclusive, 0)?, false)
            }
            Err(error) => return Err(error),
        };
        // It must not wait for a lease or for the other end of a pipe while it is
        // opened, and must while it works.
        clear_flags(&file, libc::O_NONBLOCK)?;
        let sector = device.logical_sector.max(1);
        let asked = if direct { alignment(&file, sector)? } else { None };
        let direct = asked.is_some();
        if !direct {
            clear_flags(&file, libc::O_DIRECT)?;
        }
        let (memory_alignment, offset_alignment) = asked.unwrap_or((sector, sector));
        Ok(Target {
            device,
            file,
            access,
            direct,
            memory_alignment,
            offset_alignment,
            mark: None,
            claims: Vec::new(),
        })
    }
}

fn open_with(path: &Path, access: Access, exclusive: bool, direct: i32) -> io::Result<File> {
    // On a block device O_EXCL without O_CREAT claims it: no file system, swap,
    // device-mapper, md or other exclusive opener can have it meanwhile.
    let claim = if exclusive { libc::O_EXCL } else { 0 };
    OpenOptions::new()
        .read(true)
        .write(access == Access::Write)
        .custom_flags(claim | direct | libc::O_NONBLOCK | libc::O_CLOEXEC)
        .open(path)
}

/// What direct I/O on an open handle must be aligned to, as `(memory, offset)`
/// in bytes; `None` where it takes no direct I/O.
fn alignment(file: &File, sector: u32) -> io::Result<Option<(u32, u32)>> {
    match told_alignment(file.as_raw_fd(), c"", libc::AT_EMPTY_PATH) {
        Some((_, 0)) => Ok(None),
        Some(told) => Ok(Some(told)),
        None if file.metadata()?.file_type().is_block_device() => Ok(Some((sector, sector))),
        None => Ok(probed_alignment(file)),
    }
}

/// What direct I/O on a path must be aligned to, as `(memory, offset)` in
/// bytes; `None` where the kernel does not tell (before Linux 6.1) or where it
/// takes none.
pub(crate) fn direct_alignment(path: &Path) -> Option<(u32, u32)> {
    let path = std::ffi::CString::new(path.as_os_str().as_bytes()).ok()?;
    told_alignment(libc::AT_FDCWD, &path, 0).filter(|(_, offset)| *offset > 0)
}

fn told_alignment(directory: i32, path: &std::ffi::CStr, flags: i32) -> Option<(u32, u32)> {
    // SAFETY: statx is plain integers, for which all zeros is a value.
    let mut told: libc::statx = unsafe { std::mem::zeroed() };
    // SAFETY: the path ends with a zero byte and `told` lives through the call.
    let result =
        unsafe { libc::statx(directory, path.as_ptr(), flags, libc::STATX_DIOALIGN, &mut told) };
    let answered = result == 0 && told.stx_mask & libc::STATX_DIOALIGN != 0;
    answered.then_some((told.stx_dio_mem_align, told.stx_dio_offset_align))
}

/// Finds the alignment of offsets by reading: the smallest power of two that is
/// taken. That of memory is not tried out: what takes less than a page may harm
/// what lies before it (see `DirectBuffer`).
fn probed_alignment(file: &File) -> Option<(u32, u32)> {
    let mut buffer = DirectBuffer::new(ALIGNMENT_MAX);
    [512usize, 1024, 2048, ALIGNMENT_MAX].into_iter().find_map(|unit| {
        let taken = file.read_at(&mut buffer[..unit], unit as u64).is_ok();
        taken.then_some((ALIGNMENT_MAX as u32, unit as u32))
    })
}

/// The length in bytes of an open file or block device.
pub(crate) fn length_of(file: &File) -> io::Result<u64> {
    let metadata = file.metadata()?;
    if !metadata.file_type().is_block_device() {
        return Ok(metadata.len());
    }
    let mut length = 0u64;
    // SAFETY: BLKGETSIZE64 writes one u64, which lives through the call.
    match unsafe { libc::ioctl(file.as_raw_fd(), BLKGETSIZE64, &mut length) } {
        0 => Ok(length),
        _ => Err(io::Error::last_os_error()),
    }
}

/// `_IOR(0x12, 114, size_t)` of linux/fs.h, as on every architecture with the
/// generic ioctl numbers (x86-64, arm64, riscv64).
const BLKGETSIZE64: libc::Ioctl = 0x8008_1272;
