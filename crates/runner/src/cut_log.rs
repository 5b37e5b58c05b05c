//! The logs of acknowledged writes of a power cut: one in the run directory, which is never on the
//! target's disk, and a second one at a place that the user chooses.

use crate::storage::{RunStorage, StoredFile};
use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use steadfast_domain::Nanos;
use steadfast_domain::power_cut::{AcknowledgedWrites, Acknowledgment};
use steadfast_engine::power_cut::AcknowledgmentLog;
use steadfast_host::{Directory, ReadAccess, open_regular};

/// Name of the log in the run directory.
pub const CUT_LOG: &str = "power-cut.log";

/// Name of the file in the run directory into which the user copies a listener's lines.
pub const RECEIVED_LOG: &str = "received.log";

/// Interval between two syncs of the logs; the first sync follows the first acknowledgment.
/// Acknowledgments after the last sync may be lost with the host; fewer writes are then required to
/// have survived.
const SYNC_INTERVAL: Nanos = Nanos::from_millis(20);

/// Longest wait for a listener or a terminal.
const WAIT_MAX: Duration = Duration::from_secs(10);

/// Pause before a terminal that takes nothing is tried again.
const TERMINAL_PAUSE: Duration = Duration::from_millis(1);

/// Largest part of a log that is read, in bytes, from its end.
const READ_MAX: u64 = 1 << 30;

/// Largest length of a line in bytes, rounded up.
const LINE_MAX: usize = 128;

/// Beginning of a log.
const LOG_HEAD: &[u8] = b"power-cut ";

/// Place of the second log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogPlace {
    /// A file or a terminal.
    File(PathBuf),
    /// A listener, `HOST:PORT`.
    Listener(String),
}

impl LogPlace {
    /// Parses `FILE` or `HOST:PORT`; a path with a slash is a file.
    pub fn parse(text: &str) -> LogPlace {
        let is_listener = !text.contains('/')
            && text.rsplit_once(':').is_some_and(|(host, port)| {
                !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0)
            });
        if is_listener {
            LogPlace::Listener(text.to_owned())
        } else {
            LogPlace::File(PathBuf::from(text))
        }
    }

    fn name(&self) -> String {
        match self {
            LogPlace::File(path) => path.display().to_string(),
            LogPlace::Listener(address) => address.clone(),
        }
    }

    fn open(&self) -> io::Result<SecondLog<File>> {
        match self {
            LogPlace::File(path) => match path.metadata() {
                Ok(found) if found.file_type().is_char_device() => {
                    Ok(SecondLog::Stream(Box::new(Terminal::open(path)?)))
                }
                _ => {
                    let (directory, name) = Directory::of_file(path).map_err(io::Error::other)?;
                    Ok(SecondLog::File(open_second_log(&directory, name)?))
                }
            },
            LogPlace::Listener(address) => Ok(SecondLog::Stream(Box::new(connect(address)?))),
        }
    }

    /// Opens the log for reading; `None` if it does not exist, or if its place stores nothing that
    /// could be read back.
    ///
    /// # Errors
    /// Returns an error if the file cannot be opened.
    pub(crate) fn open_to_read(&self) -> io::Result<Option<File>> {
        match self {
            LogPlace::File(path) if path.is_file() => {
                open_regular(path).map(Some).map_err(io::Error::other)
            }
            LogPlace::File(_) | LogPlace::Listener(_) => Ok(None),
        }
    }
}

/// An open second log.
pub enum SecondLog<F> {
    /// A regular file.
    File(F),
    /// A terminal or a listener.
    Stream(Box<dyn Write + Send>),
}

/// Opens a regular file to append to it, or creates it; its name is on disk when this returns.
fn open_to_append<D: RunStorage>(directory: &D, name: &OsStr) -> io::Result<D::File> {
    match directory.open_to_append(name) {
        Err(error) if error.is_missing() => {
            let file = directory.create(name, ReadAccess::Owner)?;
            directory.sync()?;
            Ok(file)
        }
        opened => opened.map_err(io::Error::other),
    }
}

/// Opens the second log in a directory for appending. It must be new, empty or a log: no other file
/// and no block device is written to.
///
/// # Errors
/// Returns an error if the file cannot be opened or has other content.
pub fn open_second_log<D: RunStorage>(directory: &D, name: &OsStr) -> io::Result<D::File> {
    let mut file = open_to_append(directory, name)?;
    let begin = read_from(&file, 0, LINE_MAX)?;
    // A crash may keep the size of the first line without its content.
    let is_blank = file.size()? <= LINE_MAX as u64 && begin.iter().all(|byte| *byte == 0);
    let head = &begin[..begin.len().min(LOG_HEAD.len())];
    if !is_blank && !LOG_HEAD.starts_with(head) {
        return Err(io::Error::other("it is not a log of acknowledged writes; name a new file"));
    }
    if begin.is_empty() {
        return Ok(file);
    }
    if is_blank || head.len() < LOG_HEAD.len() {
        // With a line break after it, the next trial would not recognize the file.
        file.set_size(0)?;
        file.refresh()?;
    } else {
        end_torn_line(&mut file)?;
    }
    Ok(file)
}

/// Ends the last line if a crash has torn it; otherwise the next acknowledgment would become a part
/// of it. The line break is on disk when this returns.
///
/// The torn line stays: another run may append to the same file.
fn end_torn_line<F: StoredFile>(file: &mut F) -> io::Result<()> {
    // The cache may have a line break that a failed sync has lost.
    file.refresh()?;
    let Some(last) = file.size()?.checked_sub(1) else { return Ok(()) };
    if read_from(file, last, 1)? == b"\n" {
        return Ok(());
    }
    file.write_all(b"\n")?;
    file.sync()
}

/// Reads at most `length` bytes from an offset on.
fn read_from<F: StoredFile>(file: &F, offset: u64, length: usize) -> io::Result<Vec<u8>> {
    let available = file.size()?.saturating_sub(offset);
    let mut content = vec![0; usize::try_from(available).unwrap_or(length).min(length)];
    let mut filled = 0;
    while filled < content.len() {
        match file.read_at(&mut content[filled..], offset + filled as u64) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    content.truncate(filled);
    Ok(content)
}

/// A terminal. It is opened without waiting for a carrier and never waits longer than the limit.
struct Terminal(File);

impl Terminal {
    fn open(path: &Path) -> io::Result<Terminal> {
        let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
        let file = OpenOptions::new().write(true).custom_flags(flags).open(path)?;
        if file.is_terminal() {
            Ok(Terminal(file))
        } else {
            Err(io::Error::other("it is neither a regular file nor a terminal"))
        }
    }
}

impl Write for Terminal {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let began = Instant::now();
        loop {
            match self.0.write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if began.elapsed() >= WAIT_MAX {
                        return Err(io::ErrorKind::TimedOut.into());
                    }
                    std::thread::sleep(TERMINAL_PAUSE);
                }
                other => return other,
            }
        }
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn connect(address: &str) -> io::Result<TcpStream> {
    let mut last = io::Error::other("the host has no address");
    for address in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, WAIT_MAX) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                stream.set_write_timeout(Some(WAIT_MAX))?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// The open logs of a trial.
pub struct CutLog<F: StoredFile = File> {
    run: F,
    second: Option<SecondLog<F>>,
    key: u64,
    /// Time of the acknowledgment before the last sync; `None` before the first.
    synced_at: Option<Nanos>,
}

impl CutLog<File> {
    /// Opens both logs on this machine for appending.
    pub(crate) fn open(
        directory: &Directory,
        second: Option<&LogPlace>,
        key: u64,
    ) -> io::Result<Self> {
        let second = second
            .map(|place| place.open().map_err(|error| with_name(&place.name(), &error)))
            .transpose()?;
        CutLog::open_in(directory, second, key)
    }
}

impl<F: StoredFile> CutLog<F> {
    /// Opens the log of the run directory for appending.
    ///
    /// # Errors
    /// Returns an error if it cannot be opened, or if its torn last line cannot be ended.
    pub fn open_in<D: RunStorage<File = F>>(
        directory: &D,
        second: Option<SecondLog<F>>,
        key: u64,
    ) -> io::Result<Self> {
        let name = || directory.path().join(CUT_LOG).display().to_string();
        let mut run = open_to_append(directory, OsStr::new(CUT_LOG))
            .map_err(|error| with_name(&name(), &error))?;
        end_torn_line(&mut run).map_err(|error| with_name(&name(), &error))?;
        Ok(CutLog { run, second, key, synced_at: None })
    }
}

fn with_name(log: &str, error: &io::Error) -> io::Error {
    io::Error::other(format!("{log}: {error}"))
}

impl<F: StoredFile + Send> AcknowledgmentLog for CutLog<F> {
    fn append(&mut self, flush: Acknowledgment) -> io::Result<()> {
        let line = flush.line(self.key);
        self.run.write_all(line.as_bytes())?;
        match &mut self.second {
            Some(SecondLog::File(second)) => second.write_all(line.as_bytes())?,
            Some(SecondLog::Stream(second)) => second.write_all(line.as_bytes())?,
            None => {}
        }
        let is_due = |synced_at: Nanos| flush.at.saturating_sub(synced_at) >= SYNC_INTERVAL;
        if self.synced_at.is_none_or(is_due) {
            self.run.sync()?;
            if let Some(SecondLog::File(second)) = &self.second {
                second.sync()?;
            }
            self.synced_at = Some(flush.at);
        }
        Ok(())
    }
}

/// Reads the acknowledgments of a trial from every log that exists.
///
/// # Errors
/// Returns an error if a log cannot be read.
pub fn read_logs<D: RunStorage>(
    directory: &D,
    second: Option<D::File>,
    key: u64,
) -> io::Result<AcknowledgedWrites> {
    let mut files: Vec<D::File> = second.into_iter().collect();
    for name in [CUT_LOG, RECEIVED_LOG] {
        match directory.open_file(OsStr::new(name)) {
            Err(error) if error.is_missing() => {}
            opened => files.push(opened.map_err(io::Error::other)?),
        }
    }
    let mut log = AcknowledgedWrites::default();
    for file in files {
        // The lines of the last trial are at the end.
        let skipped = file.size()?.saturating_sub(READ_MAX);
        let content = read_from(&file, skipped, READ_MAX as usize)?;
        log.add_log(&String::from_utf8_lossy(&content), key);
    }
    Ok(log)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};
    use std::net::TcpListener;

    #[test]
    fn a_log_is_a_file_or_a_listener() {
        let listener = |text: &str| LogPlace::Listener(text.to_owned());
        assert_eq!(LogPlace::parse("other:7007"), listener("other:7007"));
        assert_eq!(LogPlace::parse("[::1]:7007"), listener("[::1]:7007"));
        for path in ["log", "/mnt/log:1", "dev/ttyS0", "log:", ":7", "a:0", "a:b"] {
            assert_eq!(LogPlace::parse(path), LogPlace::File(path.into()), "{path}");
        }
    }

    #[test]
    fn the_second_log_replaces_no_other_file() {
        let scratch = tempfile::tempdir().unwrap();
        let open = |path: &Path| LogPlace::File(path.to_owned()).open().map(drop);
        let [log, other, link] = ["log", "other", "link"].map(|name| scratch.path().join(name));
        open(&log).unwrap();
        std::fs::write(&log, Acknowledgment { sequence: 32, at: Nanos(1) }.line(9)).unwrap();
        open(&log).unwrap();
        std::fs::write(&other, "root:x:0:0\n").unwrap();
        std::os::unix::fs::symlink(&log, &link).unwrap();
        for refused in [other.as_path(), link.as_path(), Path::new("/dev/null")] {
            assert!(open(refused).is_err(), "{}", refused.display());
        }
        // A first line whose content a crash has lost, and a file of zeros that is longer.
        std::fs::write(&other, [0; 70]).unwrap();
        open(&other).unwrap();
        assert_eq!(std::fs::read(&other).unwrap(), b"");
        std::fs::write(&other, [0; 129]).unwrap();
        assert!(open(&other).is_err());
        assert_eq!(std::fs::read(&other).unwrap(), [0; 129]);
    }

    #[test]
    fn lines_received_by_a_listener_count() {
        let scratch = tempfile::tempdir().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let place = LogPlace::parse(&listener.local_addr().unwrap().to_string());
        let directory = Directory::open(scratch.path()).unwrap();
        let mut log = CutLog::open(&directory, Some(&place), 9).unwrap();
        let received = std::thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            BufReader::new(stream).lines().map(|line| line.unwrap() + "\n").collect::<String>()
        });
        for n in 1..=3 {
            log.append(Acknowledgment { sequence: 32 * n, at: Nanos(n) }).unwrap();
        }
        drop(log);
        let own = std::fs::read_to_string(scratch.path().join(CUT_LOG)).unwrap();
        let received = received.join().unwrap();
        assert_eq!(received, own);
        let newest = || {
            let read = read_logs(&directory, place.open_to_read().unwrap(), 9).unwrap();
            (read.newest().map(|flush| flush.sequence), read.flush_count())
        };
        assert_eq!(newest(), (Some(96), 3));
        std::fs::write(scratch.path().join(CUT_LOG), &own[..own.len() - 9]).unwrap();
        assert_eq!(newest(), (Some(64), 2));
        std::fs::write(scratch.path().join(RECEIVED_LOG), received).unwrap();
        assert_eq!(newest(), (Some(96), 3));
    }

    fn acknowledgment(number: u64) -> Acknowledgment {
        Acknowledgment { sequence: 32 * number, at: Nanos::from_millis(7 * number) }
    }

    /// A crash may tear a log at any byte, or store a size without its data. The trial after it has
    /// its own acknowledgments, and the torn one those whose lines are whole.
    #[test]
    fn a_torn_line_does_not_affect_the_next_trial() {
        const TORN: u64 = 9;
        const NEXT: u64 = 10;
        let lines: Vec<String> = (1..=3).map(|number| acknowledgment(number).line(TORN)).collect();
        let whole = lines.concat().into_bytes();
        for torn_at in 0..=whole.len() {
            for zeros in [0, 5] {
                // Syncs take no time there.
                let scratch = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
                let scratch = scratch.unwrap();
                let directory = Directory::open(scratch.path()).unwrap();
                let place = LogPlace::File(scratch.path().join("second"));
                let torn = [&whole[..torn_at], &vec![0; zeros]].concat();
                std::fs::write(scratch.path().join(CUT_LOG), &torn).unwrap();
                std::fs::write(scratch.path().join("second"), &whole[..torn_at]).unwrap();
                let mut log = CutLog::open(&directory, Some(&place), NEXT).unwrap();
                for number in 1..=4 {
                    log.append(acknowledgment(number)).unwrap();
                }
                drop(log);
                let read = |log: &str, key| {
                    let mut found = AcknowledgedWrites::default();
                    let text = std::fs::read(scratch.path().join(log)).unwrap();
                    found.add_log(&String::from_utf8_lossy(&text), key);
                    found
                };
                let mut appended = AcknowledgedWrites::default();
                (1..=4).for_each(|number| appended.add(acknowledgment(number)));
                let ends = lines.iter().scan(0, |end, line| {
                    *end += line.len();
                    Some(*end)
                });
                // A line is whole without its line break, too.
                let whole_lines = |zeros: usize| {
                    let reach = torn_at + usize::from(zeros == 0);
                    ends.clone().filter(|end| *end <= reach).count() as u64
                };
                for (log, zeros) in [(CUT_LOG, zeros), ("second", 0)] {
                    let found = read(log, NEXT);
                    let context = format!("{log} torn at {torn_at} before {zeros} zeros");
                    assert_eq!(
                        (found.flush_count(), found.newest()),
                        (4, appended.newest()),
                        "{context}"
                    );
                    assert_eq!(read(log, TORN).flush_count(), whole_lines(zeros), "{context}");
                }
                let both = read_logs(&directory, place.open_to_read().unwrap(), NEXT).unwrap();
                assert_eq!((both.flush_count(), both.newest()), (4, appended.newest()));
                // The file is a second log to the trial after the next, too.
                CutLog::open(&directory, Some(&place), 11).unwrap();
            }
        }
    }
}
