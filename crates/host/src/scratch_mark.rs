//! The mark of a scratch file: the extended attribute `user.steadfast.scratch`.
//!
//! A mark states that this program wrote the file's current content. It holds the file's device
//! number, inode, length and last-write time. A file that was copied over a scratch file, restored
//! from a backup with its attributes, or written by another program does not match its mark;
//! overwriting it needs a confirmation like any other file.
//!
//! Some file systems (tmpfs, ramfs, overlayfs on top of them) do not update the last-write time
//! when a file is written through a memory mapping. Files there are not marked: this is tested
//! before each file is marked.
//!
//! While a [`crate::Target`] holds the file, a thread renews the mark every [`RENEWAL_INTERVAL`], and
//! once more when the target is dropped. A mark left by a killed process is therefore at most a few
//! seconds older than the last write: the file still matches if its last write is no later than
//! [`GRACE_PERIOD`] after the last renewal.

use crate::clocks::unix_nanos;
use crate::handles::open_for_reading;
use rustix::fs::{XattrFlags, fgetxattr, fsetxattr};
use rustix::io::Errno;
use std::ffi::CStr;
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, UNIX_EPOCH};
use steadfast_domain::hex::to_hex;

const NAME: &CStr = c"user.steadfast.scratch";

/// First field of a mark that this program reads. Version 1 was the text `1`, without the
/// identity of a file.
const VERSION: &str = "2";

const RENEWAL_INTERVAL: Duration = Duration::from_secs(5);

/// Time after the last renewal within which a killed process may have written: two renewals
/// delayed by a busy machine, and one not yet due.
const GRACE_PERIOD: Duration = Duration::from_secs(15);

/// Content of a scratch file's mark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScratchMark {
    /// Random number drawn when the file was marked; kept by renewals.
    pub nonce: String,
    /// `st_dev` of the marked file.
    pub device: u64,
    /// Inode of the marked file.
    pub inode: u64,
    /// Length of the marked file in bytes.
    pub length: u64,
    /// Last-write time at the last renewal, in nanoseconds since 1970 (UTC).
    pub written_ns: i64,
    /// Time of the last renewal in nanoseconds since 1970 (UTC), if a process holds the file or was
    /// killed while it did; `None` after a regular release.
    pub held_ns: Option<i64>,
}

/// Reads the mark of the file at a path; `None` if the file has no mark of the current version.
/// [`ScratchMark::misfit`] checks whether the mark matches the file.
pub fn scratch_mark(path: &Path) -> Option<ScratchMark> {
    ScratchMark::read(&open_for_reading(path).ok()?)
}

impl ScratchMark {
    pub(crate) fn read(file: &File) -> Option<Self> {
        Self::parse(&read(file)?)
    }

    /// Creates a mark with a new nonce for a file.
    fn new(metadata: &Metadata) -> io::Result<Self> {
        Ok(ScratchMark { nonce: draw_nonce()?, ..Self::unheld(metadata) })
    }

    /// Returns the mark that matches a file which no process holds, with an empty nonce.
    fn unheld(metadata: &Metadata) -> Self {
        ScratchMark {
            nonce: String::new(),
            device: metadata.dev(),
            inode: metadata.ino(),
            length: metadata.len(),
            written_ns: last_write_ns(metadata),
            held_ns: None,
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let mut fields = text.split(' ');
        if fields.next()? != VERSION {
            return None;
        }
        let mark = ScratchMark {
            nonce: fields.next().filter(|nonce| !nonce.is_empty())?.to_owned(),
            device: fields.next()?.parse().ok()?,
            inode: fields.next()?.parse().ok()?,
            length: fields.next()?.parse().ok()?,
            written_ns: fields.next()?.parse().ok()?,
            held_ns: match fields.next()? {
                "-" => None,
                held => Some(held.parse().ok()?),
            },
        };
        fields.next().is_none().then_some(mark)
    }

    fn text(&self) -> String {
        let held = self.held_ns.map_or_else(|| "-".to_owned(), |held| held.to_string());
        format!(
            "{VERSION} {} {} {} {} {} {held}",
            self.nonce, self.device, self.inode, self.length, self.written_ns
        )
    }

    /// Returns why the mark does not match the file; `None` if it matches.
    pub fn misfit(&self, metadata: &Metadata) -> Option<&'static str> {
        if (self.device, self.inode) != (metadata.dev(), metadata.ino()) {
            return Some("its mark was put on another file (this one is a copy or was restored)");
        }
        if self.length != metadata.len() {
            return Some("its length has changed since this program wrote to it");
        }
        let latest = match self.held_ns {
            Some(held) => held.saturating_add(GRACE_PERIOD.as_nanos() as i64).max(self.written_ns),
            None => self.written_ns,
        };
        let written = last_write_ns(metadata);
        (written < self.written_ns || written > latest)
            .then_some("something else has written to it since this program did")
    }
}

/// Result of checking a file's mark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MarkStatus {
    /// The mark matches: this program wrote the content.
    Ours,
    /// The file has a mark that does not match, for this reason.
    Doubtful(&'static str),
    /// The file has no mark.
    Unmarked,
}

/// Checks the mark of an open file.
pub(crate) fn mark_status(file: &File) -> io::Result<MarkStatus> {
    let Some(text) = read(file) else { return Ok(MarkStatus::Unmarked) };
    let Some(mark) = ScratchMark::parse(&text) else {
        return Ok(MarkStatus::Doubtful(
            "its mark is of another version of this program and says nothing about its content",
        ));
    };
    Ok(mark.misfit(&file.metadata()?).map_or(MarkStatus::Ours, MarkStatus::Doubtful))
}

/// Marks a file as a scratch file. If this fails, the file stays unmarked, and overwriting it
/// later needs a confirmation.
pub(crate) fn mark_file(file: &File) -> io::Result<()> {
    require_times(file)?;
    write(file, &ScratchMark::new(&file.metadata()?)?)
}

/// Checks that a write through a memory mapping updates the file's last-write time, even for a page
/// that was read through the mapping before: sets the time to a date long ago and lets the kernel
/// prepare the page for a write. Does not change the content.
///
/// # Errors
/// The time does not change, or the test cannot be made.
fn require_times(file: &File) -> io::Result<()> {
    let before = file.metadata()?.modified()?;
    let long_ago = UNIX_EPOCH + Duration::from_secs(1);
    let both = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: the kernel chooses the address; the descriptor is open as long as `file` exists.
    let at =
        unsafe { libc::mmap(std::ptr::null_mut(), 1, both, libc::MAP_SHARED, file.as_raw_fd(), 0) };
    if at == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    let tried = populate(at, libc::MADV_POPULATE_READ)
        .and_then(|()| file.set_modified(long_ago))
        .and_then(|()| populate(at, libc::MADV_POPULATE_WRITE))
        .and_then(|()| file.metadata()?.modified());
    // SAFETY: `at` is the mapping made above; it is unmapped once.
    unsafe { libc::munmap(at, 1) };
    if tried.as_ref().is_ok_and(|after| *after != long_ago) {
        return file.sync_data();
    }
    file.set_modified(before)?;
    tried.and(Err(io::ErrorKind::Unsupported.into()))
}

/// Lets the kernel populate the first page of a mapping for reading or writing.
fn populate(mapping: *mut libc::c_void, advice: i32) -> io::Result<()> {
    // SAFETY: the kernel only looks up the address and neither changes nor moves the mapping; if
    // the page is unavailable, madvise(2) fails without raising a signal.
    match unsafe { libc::madvise(mapping, 1, advice) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn draw_nonce() -> io::Result<String> {
    let mut bytes = [0u8; 16];
    // SAFETY: getrandom(2) writes at most the length of the buffer.
    let drawn = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    match usize::try_from(drawn) {
        Ok(count) if count == bytes.len() => Ok(to_hex(&bytes)),
        _ => Err(io::Error::last_os_error()),
    }
}

fn last_write_ns(metadata: &Metadata) -> i64 {
    metadata.mtime().saturating_mul(1_000_000_000).saturating_add(metadata.mtime_nsec())
}

fn now_ns() -> i64 {
    i64::try_from(unix_nanos()).unwrap_or(i64::MAX)
}

/// Reads the attribute's text; `None` if there is none. A value that is not UTF-8 or is too long
/// becomes the empty string, which no version accepts.
fn read(file: &File) -> Option<String> {
    let mut value = [0u8; 256];
    match fgetxattr(file, NAME, &mut value) {
        Ok(length) => Some(String::from_utf8(value[..length].to_vec()).unwrap_or_default()),
        // This program never writes a value of that length.
        Err(Errno::RANGE) => Some(String::new()),
        Err(_) => None,
    }
}

fn write(file: &File, mark: &ScratchMark) -> io::Result<()> {
    Ok(fsetxattr(file, NAME, mark.text().as_bytes(), XattrFlags::empty())?)
}

/// Renews the mark of a held scratch file until dropped.
#[derive(Debug)]
pub(crate) struct MarkKeeper {
    nonce: String,
    /// Dropped to stop the thread.
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl MarkKeeper {
    /// Keeps the mark of a file that is [`MarkStatus::Ours`]. Gives any other file a new mark: the
    /// user has confirmed that its content may be lost.
    pub fn begin(file: &File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        let mark = match ScratchMark::read(file) {
            Some(mark) if mark.misfit(&metadata).is_none() => mark,
            _ => {
                require_times(file)?;
                ScratchMark::new(&metadata)?
            }
        };
        let (nonce, file) = (mark.nonce, file.try_clone()?);
        renew(&file, &nonce, true)?;
        let (end, ended) = mpsc::channel::<()>();
        let renewed = nonce.clone();
        let thread = std::thread::Builder::new().name("scratch mark".into()).spawn(move || {
            // A failed renewal does not stop the run; it only costs a confirmation later.
            while ended.recv_timeout(RENEWAL_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                let _ = renew(&file, &renewed, true);
            }
            let _ = renew(&file, &renewed, false);
        })?;
        Ok(MarkKeeper { nonce, end: Some(end), thread: Some(thread) })
    }

    /// Returns the mark's nonce.
    pub fn nonce(&self) -> &str {
        &self.nonce
    }
}

/// Writes the mark that matches the file's current state.
fn renew(file: &File, nonce: &str, held: bool) -> io::Result<()> {
    let held_ns = held.then(now_ns);
    let unheld = ScratchMark::unheld(&file.metadata()?);
    write(file, &ScratchMark { nonce: nonce.to_owned(), held_ns, ..unheld })
}

impl Drop for MarkKeeper {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::skip;
    use std::fs::{self, OpenOptions};
    use std::io::Write;

    /// Creates a marked file of 4096 bytes; `None` if the file system does not support extended
    /// attributes.
    fn marked() -> Option<(tempfile::TempDir, std::path::PathBuf)> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("scratch");
        fs::write(&path, [0; 4096]).unwrap();
        if mark_file(&OpenOptions::new().read(true).write(true).open(&path).unwrap()).is_err() {
            skip("no extended attributes here");
            return None;
        }
        Some((directory, path))
    }

    /// tmpfs does not update the last-write time on writes through a memory mapping.
    #[test]
    fn no_mark_is_put_on_a_file_whose_write_time_proves_nothing() {
        let Ok(mut file) = tempfile::tempfile_in("/dev/shm") else { return };
        file.write_all(&[7; 4096]).unwrap();
        let before = file.metadata().unwrap().modified().unwrap();
        assert_eq!(mark_file(&file).unwrap_err().kind(), io::ErrorKind::Unsupported);
        assert!(read(&file).is_none());
        assert_eq!(file.metadata().unwrap().modified().unwrap(), before);
        // A mark that does not match does not make the file a scratch file.
        let other =
            ScratchMark { inode: 1, ..ScratchMark::new(&file.metadata().unwrap()).unwrap() };
        if write(&file, &other).is_ok() {
            assert!(MarkKeeper::begin(&file).is_err());
            assert!(matches!(mark_status(&file).unwrap(), MarkStatus::Doubtful(_)));
        }
    }

    fn status(path: &Path) -> MarkStatus {
        mark_status(&File::open(path).unwrap()).unwrap()
    }

    fn run(program: &str, arguments: &[&Path]) {
        let status = std::process::Command::new(program).args(arguments).status().unwrap();
        assert!(status.success(), "{program} {arguments:?}");
    }

    #[test]
    fn a_mark_is_read_as_it_was_written() {
        let mark = ScratchMark {
            nonce: "00ff".into(),
            device: 7,
            inode: 9,
            length: 4096,
            written_ns: -1,
            held_ns: Some(5),
        };
        for mark in [mark.clone(), ScratchMark { held_ns: None, ..mark }] {
            assert_eq!(ScratchMark::parse(&mark.text()), Some(mark));
        }
        for other in ["", "1", "2", "3 00ff 7 9 4096 1 -", "2 00ff 7 9 4096 1", "2  7 9 4096 1 -"] {
            assert_eq!(ScratchMark::parse(other), None, "{other}");
        }
        assert_eq!(ScratchMark::parse("2 00ff 7 9 4096 1 - more"), None);
    }

    #[test]
    fn a_file_copied_over_a_scratch_file_belongs_to_the_user() {
        let Some((directory, scratch)) = marked() else { return };
        assert_eq!(status(&scratch), MarkStatus::Ours);
        let precious = directory.path().join("precious");
        fs::write(&precious, [b'x'; 4096]).unwrap();
        run("cp", &[&precious, &scratch]);
        assert!(read(&File::open(&scratch).unwrap()).is_some(), "the mark survives the copy");
        assert!(matches!(status(&scratch), MarkStatus::Doubtful(why) if why.contains("written")));
        // Also with an older time, as left by a copy that preserves times.
        run("touch", &[Path::new("--date=2001-01-01"), &scratch]);
        assert!(matches!(status(&scratch), MarkStatus::Doubtful(why) if why.contains("written")));
        run("truncate", &[Path::new("--size=100"), &scratch]);
        assert!(matches!(status(&scratch), MarkStatus::Doubtful(why) if why.contains("length")));
    }

    #[test]
    fn a_copied_mark_matches_no_other_file_and_a_hard_link_is_the_same_one() {
        let Some((directory, scratch)) = marked() else { return };
        let copy = directory.path().join("copy");
        run("cp", &[Path::new("--preserve=all"), &scratch, &copy]);
        let why = "its mark was put on another file (this one is a copy or was restored)";
        assert_eq!(status(&copy), MarkStatus::Doubtful(why));
        let link = directory.path().join("link");
        fs::hard_link(&scratch, &link).unwrap();
        assert_eq!(status(&link), MarkStatus::Ours);
        assert_eq!(scratch_mark(&link), scratch_mark(&scratch));
    }

    #[test]
    fn a_mark_of_the_first_version_proves_nothing() {
        let Some((_directory, scratch)) = marked() else { return };
        let file = OpenOptions::new().read(true).write(true).open(&scratch).unwrap();
        fsetxattr(&file, NAME, b"1", XattrFlags::empty()).unwrap();
        assert!(matches!(status(&scratch), MarkStatus::Doubtful(why) if why.contains("version")));
        assert_eq!(scratch_mark(&scratch), None);
        drop(MarkKeeper::begin(&file).unwrap());
        assert_eq!(status(&scratch), MarkStatus::Ours);
    }

    #[test]
    fn a_keeper_renews_the_mark_and_keeps_its_nonce() {
        let Some((_directory, scratch)) = marked() else { return };
        let nonce = scratch_mark(&scratch).unwrap().nonce;
        let mut file = OpenOptions::new().read(true).write(true).open(&scratch).unwrap();
        let keeper = MarkKeeper::begin(&file).unwrap();
        assert_eq!(keeper.nonce(), nonce);
        let held = scratch_mark(&scratch).unwrap();
        assert!(held.held_ns.is_some());
        file.write_all(b"by us").unwrap();
        // The state that a process killed now would leave.
        assert_eq!(status(&scratch), MarkStatus::Ours);
        drop(keeper);
        assert_eq!(status(&scratch), MarkStatus::Ours);
        let left = scratch_mark(&scratch).unwrap();
        assert_eq!((left.nonce, left.held_ns), (nonce, None));
    }

    #[test]
    fn after_a_kill_a_write_of_a_minute_later_is_another_program_s() {
        let Some((_directory, scratch)) = marked() else { return };
        let file = OpenOptions::new().write(true).open(&scratch).unwrap();
        let mark = scratch_mark(&scratch).unwrap();
        let at = |seconds: i64| {
            let ns = mark.written_ns - seconds * 1_000_000_000;
            write(&file, &ScratchMark { written_ns: ns, held_ns: Some(ns), ..mark.clone() })
                .unwrap();
            status(&scratch)
        };
        assert_eq!(at(0), MarkStatus::Ours);
        assert_eq!(at(10), MarkStatus::Ours);
        assert!(matches!(at(60), MarkStatus::Doubtful(_)));
        // The clock was set back, or an old time was restored.
        assert!(matches!(at(-1), MarkStatus::Doubtful(_)));
    }
}
