//! Scratch files: files that this program made to be overwritten.
//!
//! A scratch file carries a mark, the extended attribute
//! `user.steadfast.scratch`; it may be overwritten without another word. Any
//! other file is somebody's, and overwriting it needs a confirmation. Where the
//! file system keeps no extended attributes, a scratch file is unmarked and
//! needs the confirmation, too.

use crate::error::HostError;
use crate::occupancy;
use crate::roots::Roots;
use std::ffi::CStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;
use steadfast_domain::Bytes;

/// The extended attribute that marks a scratch file.
const MARK: &CStr = c"user.steadfast.scratch";

/// Makes a scratch file of this size with all its blocks allocated.
///
/// A regular file of exactly this size is taken as it is; it is not marked by
/// that, so that arming it still needs a confirmation unless it was made here.
/// A scratch file of another size is made anew. Any other file is left alone.
///
/// # Errors
/// Where the size is 0, another file stands there, or there is no room; what
/// was begun is then removed.
pub fn create_scratch(path: &Path, size: Bytes) -> Result<(), HostError> {
    if size.0 == 0 {
        return Err(HostError::NoSize { path: path.to_owned() });
    }
    match fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => Err(HostError::NotTestable {
            path: path.to_owned(),
            kind: crate::identity::kind_of(metadata.file_type()),
        }),
        Ok(metadata) if metadata.len() == size.0 => Ok(()),
        Ok(metadata) => resize(path, metadata.len(), size),
        Err(error) if error.kind() == io::ErrorKind::NotFound => create(path, size),
        Err(error) => Err(HostError::io("find it", path, error)),
    }
}

fn create(path: &Path, size: Bytes) -> Result<(), HostError> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map_err(|e| HostError::io("create it", path, e))?;
    mark(&file);
    let made = allocate(&file, path, size);
    if made.is_err() {
        // It was made a moment ago and nobody has it; an error to remove it
        // changes nothing about what is to be reported.
        let _ = fs::remove_file(path);
    }
    made
}

fn resize(path: &Path, found: u64, size: Bytes) -> Result<(), HostError> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .map_err(|e| HostError::io("open it for writing", path, e))?;
    if !is_marked(&file) {
        return Err(HostError::FileExists { path: path.to_owned(), found });
    }
    refuse_busy(&file, path)?;
    file.set_len(0).map_err(|e| HostError::io("empty it", path, e))?;
    allocate(&file, path, size)
}

/// Refuses a scratch file that another run holds or that backs a loop device.
fn refuse_busy(file: &File, path: &Path) -> Result<(), HostError> {
    let name = fs::canonicalize(path).map_err(|e| HostError::io("find it", path, e))?;
    if let Some(over) = occupancy::loops_over(&name, &Roots::real()).first() {
        return Err(HostError::FileBusy { path: name, by: over.name.clone() });
    }
    match lock(file) {
        Ok(true) => Ok(()),
        Ok(false) => Err(HostError::FileBusy { path: name, by: "another run".into() }),
        Err(error) => Err(HostError::io("lock it", path, error)),
    }
}

/// How often a lock is asked for, and the pause between: two seconds, because
/// the kernel closes the files of a killed process's I/O ring a while after the
/// process is gone.
const LOCK_LOOKS: u32 = 40;
const LOCK_PAUSE: Duration = Duration::from_millis(50);

/// Takes a file for this handle alone, until it is closed; false where another
/// handle has it. A file system without locks cannot tell and lets everybody.
pub(crate) fn lock(file: &File) -> io::Result<bool> {
    for _ in 1..LOCK_LOOKS {
        if try_lock(file)? {
            return Ok(true);
        }
        std::thread::sleep(LOCK_PAUSE);
    }
    try_lock(file)
}

fn try_lock(file: &File) -> io::Result<bool> {
    // SAFETY: takes only integers; the descriptor is open for as long as `file`.
    if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0 {
        return Ok(true);
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::EWOULDBLOCK) => Ok(false),
        Some(libc::EOPNOTSUPP | libc::ENOLCK | libc::EINVAL) => Ok(true),
        _ => Err(error),
    }
}

/// Gives a file its size and all its blocks.
pub(crate) fn allocate(file: &File, path: &Path, size: Bytes) -> Result<(), HostError> {
    let allocated = match fallocate(file, 0, size) {
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => write_zeros(file, size),
        other => other,
    };
    allocated.and_then(|()| file.sync_all()).map_err(|error| match error.raw_os_error() {
        Some(libc::ENOSPC | libc::EDQUOT | libc::EFBIG) => {
            HostError::NoRoom { path: path.to_owned(), wanted: size, free: free_beside(path) }
        }
        _ => HostError::io("allocate it", path, error),
    })
}

/// fallocate(2) over the first `size` bytes.
pub(crate) fn fallocate(file: &File, mode: i32, size: Bytes) -> io::Result<()> {
    let length = i64::try_from(size.0).map_err(|_| io::Error::from_raw_os_error(libc::EFBIG))?;
    // SAFETY: takes only integers; the descriptor is open for as long as `file`.
    match unsafe { libc::fallocate(file.as_raw_fd(), mode, 0, length) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Allocates by writing, for a file system without fallocate.
fn write_zeros(mut file: &File, size: Bytes) -> io::Result<()> {
    let zeros = vec![0u8; 1 << 20];
    let mut left = size.0;
    while left > 0 {
        let length = left.min(zeros.len() as u64) as usize;
        file.write_all(&zeros[..length])?;
        left -= length as u64;
    }
    Ok(())
}

/// What is free on the file system around a path, for an unprivileged user.
fn free_beside(path: &Path) -> Option<Bytes> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let directory = directory.unwrap_or(Path::new(".")).as_os_str().as_bytes();
    let directory = std::ffi::CString::new(directory).ok()?;
    // SAFETY: statvfs is plain integers, for which all zeros is a value.
    let mut told: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: the path ends with a zero byte and `told` lives through the call.
    let result = unsafe { libc::statvfs(directory.as_ptr(), &mut told) };
    (result == 0).then(|| Bytes(told.f_bavail.saturating_mul(told.f_frsize)))
}

/// Marks a file as made to be overwritten, where its file system can.
fn mark(file: &File) {
    // SAFETY: name and value live through the call and the value has one byte.
    // A refusal leaves the file unmarked, which costs a confirmation later.
    let _ = unsafe { libc::fsetxattr(file.as_raw_fd(), MARK.as_ptr(), c"1".as_ptr().cast(), 1, 0) };
}

/// Whether a file carries the mark.
pub(crate) fn is_marked(file: &File) -> bool {
    // SAFETY: the name lives through the call; a null buffer of no length asks
    // for the value's length alone.
    unsafe { libc::fgetxattr(file.as_raw_fd(), MARK.as_ptr(), std::ptr::null_mut(), 0) >= 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

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
    fn only_a_marked_file_is_made_anew() {
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
        if !is_marked(&File::open(&path).unwrap()) {
            let told = "SKIPPED: only_a_marked_file_is_made_anew: no extended attributes here\n";
            io::stderr().write_all(told.as_bytes()).unwrap();
            return;
        }
        create_scratch(&path, Bytes(8192)).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().len(), 8192);
    }

    #[test]
    fn without_room_nothing_is_left_behind() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("scratch");
        let error = create_scratch(&path, Bytes(1 << 60)).unwrap_err();
        assert!(error.to_string().contains("there is no room"), "{error}");
        assert!(!path.exists());
        assert!(matches!(create_scratch(&path, Bytes(0)), Err(HostError::NoSize { .. })));
        let error = create_scratch(directory.path(), Bytes(4096)).unwrap_err();
        assert!(error.to_string().contains("is a directory"), "{error}");
    }
}
