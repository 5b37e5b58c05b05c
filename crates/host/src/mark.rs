//! The mark of a scratch file: the extended attribute `user.steadfast.scratch`.
//!
//! A mark says that the content of this very file is what this program left:
//! it names the file's device number, inode, length and last-write time. A file
//! that was copied over a scratch file, restored from a backup with its
//! attributes, or written to by somebody else does not fit its mark, and
//! overwriting it needs a confirmation like any other file.
//!
//! Some file systems (tmpfs, ramfs, overlayfs upon them) do not change the
//! last-write time of a file that is written to through a mapping. A file there
//! gets no mark: whether it does is tried out before a file is marked.
//!
//! While a [`crate::Target`] holds the file, a thread renews the mark every
//! [`PERIOD`], and once more when the target is let go. A mark left by a killed
//! process is therefore at most a few seconds older than its last write: such a
//! file still fits when nobody wrote to it later than [`GRACE`] after the last
//! renewal.

use std::ffi::CStr;
use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const NAME: &CStr = c"user.steadfast.scratch";

/// Begins the text of a mark that this version understands. Version 1 was the
/// text `1`, bound to nothing.
const VERSION: &str = "2";

/// How often the mark of a held file is renewed.
pub(crate) const PERIOD: Duration = Duration::from_secs(5);

/// How long after the last renewal a killed process may have written: two
/// renewals that a busy machine held up, and one that was not yet due.
pub(crate) const GRACE: Duration = Duration::from_secs(15);

/// What a scratch file's mark says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScratchMark {
    /// Drawn at random when the file was marked; renewals keep it.
    pub nonce: String,
    /// `st_dev` of the file that was marked.
    pub device: u64,
    /// Its inode.
    pub inode: u64,
    /// Its length in bytes.
    pub length: u64,
    /// Its last-write time when the mark was renewed, in ns since 1970.
    pub written_ns: i64,
    /// The time of the last renewal, where no process has let go of the file
    /// since: one holds it now, or was killed.
    pub held_ns: Option<i64>,
}

/// The mark of the file at a path; `None` where it has none that this version
/// understands. Whether it fits the file, [`ScratchMark::misfit`] says.
pub fn scratch_mark(path: &Path) -> Option<ScratchMark> {
    ScratchMark::of(&open_plain(path).ok()?)
}

/// Opens without waiting for whoever holds the other end of a pipe.
fn open_plain(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC).open(path)
}

impl ScratchMark {
    pub(crate) fn of(file: &File) -> Option<Self> {
        Self::parse(&read(file)?)
    }

    /// A new mark for a file, with a nonce of its own.
    fn new(metadata: &Metadata) -> io::Result<Self> {
        Ok(ScratchMark { nonce: draw_nonce()?, ..Self::seen(metadata) })
    }

    /// What a mark without a nonce would say of a file that nobody holds.
    fn seen(metadata: &Metadata) -> Self {
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

    /// Why the file is not what this program left, where it is not.
    pub fn misfit(&self, metadata: &Metadata) -> Option<&'static str> {
        if (self.device, self.inode) != (metadata.dev(), metadata.ino()) {
            return Some("its mark was put on another file (this one is a copy or was restored)");
        }
        if self.length != metadata.len() {
            return Some("its length has changed since this program wrote to it");
        }
        let latest = match self.held_ns {
            Some(held) => held.saturating_add(GRACE.as_nanos() as i64).max(self.written_ns),
            None => self.written_ns,
        };
        let written = last_write_ns(metadata);
        (written < self.written_ns || written > latest)
            .then_some("something else has written to it since this program did")
    }
}

/// What a file's mark makes of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Its content is what this program left.
    Ours,
    /// It is marked, and yet somebody's, for this reason.
    Doubtful(&'static str),
    /// It has no mark.
    Unmarked,
}

/// What an open file's mark makes of it.
pub(crate) fn standing(file: &File) -> io::Result<Standing> {
    let Some(text) = read(file) else { return Ok(Standing::Unmarked) };
    let Some(mark) = ScratchMark::parse(&text) else {
        return Ok(Standing::Doubtful(
            "its mark is of another version of this program and says nothing about its content",
        ));
    };
    Ok(mark.misfit(&file.metadata()?).map_or(Standing::Ours, Standing::Doubtful))
}

/// Marks a file as made to be overwritten, where its file system can: a refusal
/// leaves it unmarked, which costs a confirmation later.
pub(crate) fn put_on(file: &File) -> io::Result<()> {
    require_times(file)?;
    write(file, &ScratchMark::new(&file.metadata()?)?)
}

/// Makes sure that a write through a mapping changes the file's last-write time,
/// also of a page that was read through it before: the time is set to a moment of
/// long ago, and the kernel does what it does before such a write. The content
/// stays as it is.
///
/// # Errors
/// Where the time does not change, or this cannot be tried out.
fn require_times(file: &File) -> io::Result<()> {
    let before = file.metadata()?.modified()?;
    let long_ago = UNIX_EPOCH + Duration::from_secs(1);
    let both = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: the kernel chooses the address; the descriptor is open for as long as `file`.
    let at =
        unsafe { libc::mmap(std::ptr::null_mut(), 1, both, libc::MAP_SHARED, file.as_raw_fd(), 0) };
    if at == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    let tried = populate(at, libc::MADV_POPULATE_READ)
        .and_then(|()| file.set_modified(long_ago))
        .and_then(|()| populate(at, libc::MADV_POPULATE_WRITE))
        .and_then(|()| file.metadata()?.modified());
    // SAFETY: as above; it is undone once.
    unsafe { libc::munmap(at, 1) };
    if tried.as_ref().is_ok_and(|after| *after != long_ago) {
        return file.sync_data();
    }
    file.set_modified(before)?;
    tried.and(Err(io::ErrorKind::Unsupported.into()))
}

/// Has the kernel make the first page of a mapping ready to be read or written.
fn populate(mapping: *mut libc::c_void, advice: i32) -> io::Result<()> {
    // SAFETY: the address is only looked up by the kernel, which neither changes nor moves
    // what is mapped; where a page cannot be had, madvise(2) fails and raises no signal.
    match unsafe { libc::madvise(mapping, 1, advice) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn draw_nonce() -> io::Result<String> {
    let mut bytes = [0u8; 16];
    // SAFETY: getrandom(2) writes at most as many bytes as the buffer has.
    let drawn = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    match usize::try_from(drawn) {
        Ok(count) if count == bytes.len() => {
            Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
        }
        _ => Err(io::Error::last_os_error()),
    }
}

fn last_write_ns(metadata: &Metadata) -> i64 {
    metadata.mtime().saturating_mul(1_000_000_000).saturating_add(metadata.mtime_nsec())
}

fn now_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// The attribute's text; one that is no text is empty and fits no version.
fn read(file: &File) -> Option<String> {
    let mut value = [0u8; 256];
    // SAFETY: name and buffer live through the call, which writes no more than
    // the buffer's length.
    let length = unsafe {
        libc::fgetxattr(file.as_raw_fd(), NAME.as_ptr(), value.as_mut_ptr().cast(), value.len())
    };
    match usize::try_from(length) {
        Ok(length) => Some(String::from_utf8(value[..length].to_vec()).unwrap_or_default()),
        // A value longer than any of ours is a mark that nobody here wrote.
        Err(_) if io::Error::last_os_error().raw_os_error() == Some(libc::ERANGE) => {
            Some(String::new())
        }
        Err(_) => None,
    }
}

fn write(file: &File, mark: &ScratchMark) -> io::Result<()> {
    let text = mark.text();
    // SAFETY: name and value live through the call.
    let result = unsafe {
        libc::fsetxattr(file.as_raw_fd(), NAME.as_ptr(), text.as_ptr().cast(), text.len(), 0)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Keeps the mark of a held scratch file true until it is dropped.
#[derive(Debug)]
pub(crate) struct MarkKeeper {
    nonce: String,
    /// Dropped to end the thread.
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl MarkKeeper {
    /// Takes over the mark of a file that is [`Standing::Ours`], or gives a
    /// file whose mark did not fit a new one: the user has confirmed its loss.
    pub fn begin(file: &File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        let mark = match ScratchMark::of(file) {
            Some(mark) if mark.misfit(&metadata).is_none() => mark,
            _ => {
                require_times(file)?;
                ScratchMark::new(&metadata)?
            }
        };
        let (nonce, file) = (mark.nonce.clone(), file.try_clone()?);
        renew(&file, &nonce, true)?;
        let (end, ended) = mpsc::channel::<()>();
        let kept = nonce.clone();
        let thread = std::thread::Builder::new().name("scratch mark".into()).spawn(move || {
            // What cannot be renewed costs a confirmation later, and no run.
            while ended.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
                let _ = renew(&file, &kept, true);
            }
            let _ = renew(&file, &kept, false);
        })?;
        Ok(MarkKeeper { nonce, end: Some(end), thread: Some(thread) })
    }

    /// The mark's nonce.
    pub fn nonce(&self) -> &str {
        &self.nonce
    }
}

/// Writes the mark that fits the file as it is now.
fn renew(file: &File, nonce: &str, held: bool) -> io::Result<()> {
    let held_ns = held.then(now_ns);
    let seen = ScratchMark::seen(&file.metadata()?);
    write(file, &ScratchMark { nonce: nonce.to_owned(), held_ns, ..seen })
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
    use std::fs;
    use std::io::Write;

    /// A marked file of 4096 bytes; `None` where the file system keeps no
    /// extended attributes.
    fn marked(test: &str) -> Option<(tempfile::TempDir, std::path::PathBuf)> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("scratch");
        fs::write(&path, [0; 4096]).unwrap();
        if put_on(&OpenOptions::new().read(true).write(true).open(&path).unwrap()).is_err() {
            let told = format!("SKIPPED: {test}: no extended attributes here\n");
            io::stderr().write_all(told.as_bytes()).unwrap();
            return None;
        }
        Some((directory, path))
    }

    /// tmpfs does not change the last-write time of what is written to through a mapping.
    #[test]
    fn no_mark_is_put_on_where_times_say_nothing() {
        let Ok(mut file) = tempfile::tempfile_in("/dev/shm") else { return };
        file.write_all(&[7; 4096]).unwrap();
        let before = file.metadata().unwrap().modified().unwrap();
        assert_eq!(put_on(&file).unwrap_err().kind(), io::ErrorKind::Unsupported);
        assert!(read(&file).is_none());
        assert_eq!(file.metadata().unwrap().modified().unwrap(), before);
        // Somebody's mark that does not fit makes it no file of ours.
        let other =
            ScratchMark { inode: 1, ..ScratchMark::new(&file.metadata().unwrap()).unwrap() };
        if write(&file, &other).is_ok() {
            assert!(MarkKeeper::begin(&file).is_err());
            assert!(matches!(standing(&file).unwrap(), Standing::Doubtful(_)));
        }
    }

    fn stand(path: &Path) -> Standing {
        standing(&File::open(path).unwrap()).unwrap()
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
    fn a_file_copied_over_a_scratch_file_is_somebody_s() {
        let test = "a_file_copied_over_a_scratch_file_is_somebody_s";
        let Some((directory, scratch)) = marked(test) else { return };
        assert_eq!(stand(&scratch), Standing::Ours);
        let precious = directory.path().join("precious");
        fs::write(&precious, [b'x'; 4096]).unwrap();
        run("cp", &[&precious, &scratch]);
        assert!(read(&File::open(&scratch).unwrap()).is_some(), "the mark survives the copy");
        assert!(matches!(stand(&scratch), Standing::Doubtful(why) if why.contains("written")));
        // With an older time, too, as a copy that preserves times leaves it.
        run("touch", &[Path::new("--date=2001-01-01"), &scratch]);
        assert!(matches!(stand(&scratch), Standing::Doubtful(why) if why.contains("written")));
        run("truncate", &[Path::new("--size=100"), &scratch]);
        assert!(matches!(stand(&scratch), Standing::Doubtful(why) if why.contains("length")));
    }

    #[test]
    fn a_copied_mark_fits_no_other_file_and_a_hard_link_is_the_same_one() {
        let test = "a_copied_mark_fits_no_other_file_and_a_hard_link_is_the_same_one";
        let Some((directory, scratch)) = marked(test) else { return };
        let copy = directory.path().join("copy");
        run("cp", &[Path::new("--preserve=all"), &scratch, &copy]);
        let why = "its mark was put on another file (this one is a copy or was restored)";
        assert_eq!(stand(&copy), Standing::Doubtful(why));
        let link = directory.path().join("link");
        fs::hard_link(&scratch, &link).unwrap();
        assert_eq!(stand(&link), Standing::Ours);
        assert_eq!(scratch_mark(&link), scratch_mark(&scratch));
    }

    #[test]
    fn a_mark_of_the_first_version_says_nothing() {
        let Some((_directory, scratch)) = marked("a_mark_of_the_first_version_says_nothing") else {
            return;
        };
        let file = OpenOptions::new().read(true).write(true).open(&scratch).unwrap();
        // SAFETY: name and value live through the call and the value has one byte.
        let set =
            unsafe { libc::fsetxattr(file.as_raw_fd(), NAME.as_ptr(), c"1".as_ptr().cast(), 1, 0) };
        assert_eq!(set, 0);
        assert!(matches!(stand(&scratch), Standing::Doubtful(why) if why.contains("version")));
        assert_eq!(scratch_mark(&scratch), None);
        drop(MarkKeeper::begin(&file).unwrap());
        assert_eq!(stand(&scratch), Standing::Ours);
    }

    #[test]
    fn a_keeper_renews_the_mark_and_keeps_its_nonce() {
        let test = "a_keeper_renews_the_mark_and_keeps_its_nonce";
        let Some((_directory, scratch)) = marked(test) else { return };
        let nonce = scratch_mark(&scratch).unwrap().nonce;
        let mut file = OpenOptions::new().read(true).write(true).open(&scratch).unwrap();
        let keeper = MarkKeeper::begin(&file).unwrap();
        assert_eq!(keeper.nonce(), nonce);
        let held = scratch_mark(&scratch).unwrap();
        assert!(held.held_ns.is_some());
        file.write_all(b"by us").unwrap();
        // As a process that is killed now would leave it.
        assert_eq!(stand(&scratch), Standing::Ours);
        drop(keeper);
        assert_eq!(stand(&scratch), Standing::Ours);
        let left = scratch_mark(&scratch).unwrap();
        assert_eq!((left.nonce, left.held_ns), (nonce, None));
    }

    #[test]
    fn after_a_kill_a_write_of_a_minute_later_is_somebody_s() {
        let test = "after_a_kill_a_write_of_a_minute_later_is_somebody_s";
        let Some((_directory, scratch)) = marked(test) else { return };
        let file = OpenOptions::new().write(true).open(&scratch).unwrap();
        let mark = scratch_mark(&scratch).unwrap();
        let at = |seconds: i64| {
            let ns = mark.written_ns - seconds * 1_000_000_000;
            write(&file, &ScratchMark { written_ns: ns, held_ns: Some(ns), ..mark.clone() })
                .unwrap();
            stand(&scratch)
        };
        assert_eq!(at(0), Standing::Ours);
        assert_eq!(at(10), Standing::Ours);
        assert!(matches!(at(60), Standing::Doubtful(_)));
        // The clock was set back, or an old time was restored.
        assert!(matches!(at(-1), Standing::Doubtful(_)));
    }
}
