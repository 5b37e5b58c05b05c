//! Scratch files: files that this program creates to be overwritten.
//!
//! A scratch file has a mark ([`crate::scratch_mark`]). As long as its content is what this program wrote,
//! it may be overwritten without a confirmation. Any other file is the user's own, and overwriting
//! it needs one. On a file system without extended attributes, a scratch file is unmarked and also
//! needs a confirmation.

use crate::arming::{Consent, arm};
use crate::created_files;
use crate::error::HostError;
use crate::files::{Directory, FileError, ReadAccess};
use crate::identity::inspect;
use crate::pinned_path::PinnedPath;
use crate::refusal::ArmRefusal;
use crate::scratch_mark;
use crate::system_roots::SystemRoots;
use rustix::fs::{FallocateFlags, fstatvfs};
use rustix::io::retry_on_intr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use steadfast_domain::Bytes;

/// Creates a scratch file of this size with all blocks allocated.
///
/// A regular file of exactly this size is kept unchanged. It does not get a mark, so arming it
/// needs a confirmation unless this process created it. A scratch file of another size is resized
/// and loses its content. Any other file is not changed.
///
/// # Errors
/// Returns an error if the size is 0, another file has the name, or there is not enough space. If
/// the free space is plainly too small, nothing is changed. If the allocation fails, a file
/// created by this call is removed, and a scratch file gets its previous size back.
pub fn create_scratch(path: &Path, size: Bytes) -> Result<(), HostError> {
    if size.0 == 0 {
        return Err(HostError::NoSize { path: path.to_owned() });
    }
    let metadata = match PinnedPath::at(path) {
        Err(HostError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            return create(path, size);
        }
        other => other?.metadata().clone(),
    };
    if !metadata.is_file() {
        return Err(HostError::FixedSize { path: path.to_owned() });
    }
    if metadata.len() == size.0 { Ok(()) } else { resize(path, metadata.len(), size) }
}

fn create(path: &Path, size: Bytes) -> Result<(), HostError> {
    let (directory, name) = Directory::of_file(path).map_err(|error| match error {
        FileError::Io { source, .. } => HostError::io("create it", path, source),
        refused => HostError::io("create it", path, io::Error::other(refused)),
    })?;
    refuse_without_room(directory.handle(), path, size, Bytes(0))?;
    let file = directory
        .create(name, ReadAccess::Owner)
        .map_err(|e| HostError::io("create it", path, e))?;
    let result = allocate(&file, path, size);
    if result.is_ok() {
        let _ = scratch_mark::mark_file(&file);
        created_files::remember(&file).map_err(|e| HostError::io("examine it", path, e))?;
    } else {
        directory.remove_own(name, &file);
    }
    result
}

/// Resizes a scratch file. It is armed first: whatever prevents overwriting prevents resizing.
fn resize(path: &Path, old_length: u64, size: Bytes) -> Result<(), HostError> {
    let roots = SystemRoots::real();
    let consent = Consent::Destroy { confirmation: None };
    let target = arm(&inspect(path, &roots)?, &consent, &[], &roots).map_err(|why| match why {
        ArmRefusal::Unconfirmed { .. } => {
            HostError::FileExists { path: path.to_owned(), found: old_length }
        }
        ArmRefusal::Host(error) => error,
        why => HostError::FileBusy { path: path.to_owned(), why: why.to_string() },
    })?;
    let file = target.file();
    refuse_without_room(file.as_fd(), path, size, allocated(file, path)?)?;
    let reallocate = |size| {
        file.set_len(0).map_err(|e| HostError::io("empty it", path, e))?;
        allocate(file, path, size)
    };
    let result = reallocate(size);
    if result.is_err() {
        // Its blocks are free again; if another program was faster, the first error still says why.
        let _ = reallocate(Bytes(old_length));
    }
    result
}

/// Refuses a size that plainly does not fit: an allocation that is tried takes all free space until
/// it fails, and every other program finds the file system full meanwhile. `held` are the bytes
/// that the file frees before it is allocated.
pub(crate) fn refuse_without_room(
    handle: BorrowedFd<'_>,
    path: &Path,
    size: Bytes,
    held: Bytes,
) -> Result<(), HostError> {
    if i64::try_from(size.0).is_err() {
        return Err(HostError::FileTooLarge { path: path.to_owned(), wanted: size });
    }
    match free_space(handle) {
        Some(free) if size.0 > free.0.saturating_add(held.0) => {
            Err(HostError::NoRoom { path: path.to_owned(), wanted: size, free: Some(free) })
        }
        _ => Ok(()),
    }
}

pub(crate) fn allocated(file: &File, path: &Path) -> Result<Bytes, HostError> {
    let metadata = file.metadata().map_err(|e| HostError::io("examine it", path, e))?;
    Ok(Bytes(metadata.blocks().saturating_mul(512)))
}

/// Sets the size of a file and allocates all its blocks.
pub(crate) fn allocate(file: &File, path: &Path, size: Bytes) -> Result<(), HostError> {
    // Asked first: a failed fallocate(2) may keep the blocks that it got.
    let free = free_space(file.as_fd());
    let allocated = match fallocate(file, 0, size) {
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => write_zeros(file, size),
        other => other,
    };
    allocated.and_then(|()| file.sync_all()).map_err(|error| match error.raw_os_error() {
        Some(libc::ENOSPC) => HostError::NoRoom { path: path.to_owned(), wanted: size, free },
        Some(libc::EDQUOT) => HostError::OverQuota { path: path.to_owned(), wanted: size },
        Some(libc::EFBIG) => HostError::FileTooLarge { path: path.to_owned(), wanted: size },
        _ => HostError::io("allocate it", path, error),
    })
}

/// Calls fallocate(2) for the first `size` bytes.
pub(crate) fn fallocate(file: &File, mode: i32, size: Bytes) -> io::Result<()> {
    if i64::try_from(size.0).is_err() {
        return Err(io::Error::from_raw_os_error(libc::EFBIG));
    }
    let mode = FallocateFlags::from_bits_retain(mode as u32);
    Ok(retry_on_intr(|| rustix::fs::fallocate(file, mode, 0, size.0))?)
}

/// Allocates by writing zeros, for a file system without fallocate(2).
fn write_zeros(file: &File, size: Bytes) -> io::Result<()> {
    let zeros = vec![0u8; 1 << 20];
    let mut written = 0;
    while written < size.0 {
        let length = (size.0 - written).min(zeros.len() as u64) as usize;
        file.write_all_at(&zeros[..length], written)?;
        written += length as u64;
    }
    Ok(())
}

/// Returns the free space for unprivileged users on the file system of an open file; `None` if
/// unknown, as on a tmpfs without a limit, which reports no blocks at all.
fn free_space(handle: BorrowedFd<'_>) -> Option<Bytes> {
    let facts = fstatvfs(handle).ok()?;
    (facts.f_blocks > 0).then(|| Bytes(facts.f_bavail.saturating_mul(facts.f_frsize)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::skip;
    use std::fs;
    use std::time::{Duration, SystemTime};

    /// A size beyond the free space of a directory's file system.
    fn beyond_free(directory: &Path) -> Bytes {
        let free = free_space(File::open(directory).unwrap().as_fd()).unwrap();
        Bytes(free.0 + (64 << 30))
    }

    #[test]
    fn a_scratch_file_has_its_size_and_its_blocks() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("scratch");
        create_scratch(&path, Bytes(1_000_003)).unwrap();
        let metadata = fs::metadata(&path).unwrap();
        assert_eq!(metadata.len(), 1_000_003);
        assert!(metadata.blocks() * 512 >= 1_000_003, "{} blocks", metadata.blocks());
        create_scratch(&path, Bytes(1_000_003)).unwrap();
    }

    #[test]
    fn only_a_marked_file_is_recreated() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("letters");
        fs::write(&path, b"dear aunt").unwrap();
        let error = create_scratch(&path, Bytes(4096)).unwrap_err();
        assert!(matches!(error, HostError::FileExists { found: 9, .. }), "{error}");
        assert_eq!(fs::read(&path).unwrap(), b"dear aunt");
        create_scratch(&path, Bytes(9)).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"dear aunt");

        let path = directory.path().join("scratch");
        create_scratch(&path, Bytes(4096)).unwrap();
        if scratch_mark::scratch_mark(&path).is_none() {
            return skip("no extended attributes here");
        }
        create_scratch(&path, Bytes(8192)).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().len(), 8192);
        // A file that is emptied and allocated again has another time of its last write.
        let facts = |metadata: fs::Metadata| {
            (metadata.len(), metadata.blocks(), metadata.modified().unwrap())
        };
        let before = facts(fs::metadata(&path).unwrap());
        std::thread::sleep(Duration::from_millis(50));
        let error = create_scratch(&path, beyond_free(directory.path())).unwrap_err();
        assert!(matches!(error, HostError::NoRoom { .. }), "{error}");
        assert_eq!(facts(fs::metadata(&path).unwrap()), before);
    }

    #[test]
    fn the_blocks_that_a_file_frees_count_as_room() {
        let directory = tempfile::tempdir().unwrap();
        let handle = File::open(directory.path()).unwrap();
        let Bytes(free) = free_space(handle.as_fd()).unwrap();
        let check = |size, held| {
            refuse_without_room(handle.as_fd(), directory.path(), Bytes(size), Bytes(held))
        };
        let wanted = free + (64 << 30);
        assert!(matches!(check(wanted, 0), Err(HostError::NoRoom { .. })));
        assert!(check(wanted, wanted).is_ok());
        // On a file system that reports no blocks, only the attempt can tell.
        let unlimited = File::open("/proc").unwrap();
        assert_eq!(free_space(unlimited.as_fd()), None);
    }

    #[test]
    fn without_room_nothing_is_left_behind() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("scratch");
        // A file that is created and removed changes the time of its directory.
        let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1);
        let handle = File::open(directory.path()).unwrap();
        handle.set_modified(long_ago).unwrap();
        let error = create_scratch(&path, beyond_free(directory.path())).unwrap_err();
        assert!(matches!(error, HostError::NoRoom { .. }), "{error}");
        assert!(!path.exists());
        assert_eq!(handle.metadata().unwrap().modified().unwrap(), long_ago);
        // More than any file may have is no matter of room.
        let error = create_scratch(&path, Bytes(u64::MAX)).unwrap_err();
        assert!(matches!(error, HostError::FileTooLarge { .. }), "{error}");
        assert!(!path.exists());
        assert!(matches!(create_scratch(&path, Bytes(0)), Err(HostError::NoSize { .. })));
        let error = create_scratch(directory.path(), Bytes(4096)).unwrap_err();
        assert!(error.to_string().contains("is a directory"), "{error}");
    }
}
