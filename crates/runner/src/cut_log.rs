//! The logs of acknowledged writes of a power cut: one in the run directory, which is never on the
//! target's disk, and a second one at a place that the user chooses.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Read, Seek, SeekFrom, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use steadfast_domain::power_cut::{AcknowledgedWrites, Acknowledgment};
use steadfast_engine::power_cut::AcknowledgmentLog;
use steadfast_host::{Directory, ReadAccess, open_regular};

/// Name of the log in the run directory.
pub const CUT_LOG: &str = "power-cut.log";

/// Name of the file in the run directory into which the user copies a listener's lines.
pub const RECEIVED_LOG: &str = "received.log";

/// Interval between two syncs of the log in the run directory. Acknowledgments after the last sync
/// may be lost with the host; fewer writes are then required to have survived.
const SYNC_INTERVAL: Duration = Duration::from_millis(20);

/// Longest wait for a listener or a terminal.
const WAIT_MAX: Duration = Duration::from_secs(10);

/// Pause before a terminal that takes nothing is tried again.
const TERMINAL_PAUSE: Duration = Duration::from_millis(1);

/// Largest part of a log that is read, in bytes, from its end.
const READ_MAX: u64 = 1 << 30;

/// Beginning of a log.
const HEAD: &[u8] = b"power-cut ";

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

    fn open(&self) -> io::Result<Box<dyn Write + Send>> {
        match self {
            LogPlace::File(path) => match path.metadata() {
                Ok(found) if found.file_type().is_char_device() => {
                    Ok(Box::new(Terminal::open(path)?))
                }
                _ => Ok(Box::new(open_second_log(path)?)),
            },
            LogPlace::Listener(address) => Ok(Box::new(connect(address)?)),
        }
    }
}

/// Opens a regular file to append to it, or creates it; its name is on disk when this returns.
fn open_to_append(directory: &Directory, name: &OsStr) -> io::Result<File> {
    match directory.open_to_append(name) {
        Err(error) if error.is_missing() => {
            let file = directory.create(name, ReadAccess::Owner)?;
            directory.sync()?;
            Ok(file)
        }
        opened => opened.map_err(io::Error::other),
    }
}

/// Opens the second log, which must be new, empty or such a log: no file of another kind and no
/// block device is written to.
fn open_second_log(path: &Path) -> io::Result<File> {
    let (directory, name) = Directory::of_file(path).map_err(io::Error::other)?;
    let file = open_to_append(&directory, name)?;
    let mut head = Vec::new();
    (&file).take(HEAD.len() as u64).read_to_end(&mut head)?;
    if HEAD.starts_with(&head) {
        return Ok(file);
    }
    Err(io::Error::other("it holds something else; name a new file"))
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
            Err(io::Error::other("it is neither a file nor a terminal"))
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
pub(crate) struct CutLog {
    run: File,
    second: Option<Box<dyn Write + Send>>,
    key: u64,
    synced: Instant,
}

impl CutLog {
    /// Opens both logs for appending.
    pub(crate) fn open(
        directory: &Directory,
        second: Option<&LogPlace>,
        key: u64,
    ) -> io::Result<Self> {
        let named = |what: String, error: io::Error| io::Error::other(format!("{what}: {error}"));
        let path = directory.path().join(CUT_LOG);
        let run = open_to_append(directory, OsStr::new(CUT_LOG))
            .map_err(|error| named(path.display().to_string(), error))?;
        let second = second
            .map(|place| place.open().map_err(|error| named(place.name(), error)))
            .transpose()?;
        Ok(CutLog { run, second, key, synced: Instant::now() })
    }
}

impl AcknowledgmentLog for CutLog {
    fn append(&mut self, flush: Acknowledgment) -> io::Result<()> {
        let line = flush.line(self.key);
        self.run.write_all(line.as_bytes())?;
        if let Some(second) = &mut self.second {
            second.write_all(line.as_bytes())?;
        }
        if self.synced.elapsed() >= SYNC_INTERVAL {
            self.run.sync_data()?;
            self.synced = Instant::now();
        }
        Ok(())
    }
}

/// Reads the acknowledgments of a trial from every log that exists.
///
/// # Errors
/// Returns an error if a log cannot be read.
pub(crate) fn read_logs(
    directory: &Directory,
    second: Option<&LogPlace>,
    key: u64,
) -> io::Result<AcknowledgedWrites> {
    let mut opened = vec![
        directory.open_file(OsStr::new(CUT_LOG)),
        directory.open_file(OsStr::new(RECEIVED_LOG)),
    ];
    if let Some(LogPlace::File(path)) = second {
        // A terminal stores nothing that could be read back.
        opened.extend(path.is_file().then(|| open_regular(path)));
    }
    let mut log = AcknowledgedWrites::default();
    for file in opened {
        let mut file = match file {
            Err(error) if error.is_missing() => continue,
            other => other.map_err(io::Error::other)?,
        };
        // The lines of the last trial are at the end.
        let skipped = file.metadata()?.len().saturating_sub(READ_MAX);
        file.seek(SeekFrom::Start(skipped))?;
        let mut content = Vec::new();
        file.take(READ_MAX).read_to_end(&mut content)?;
        log.add_log(&String::from_utf8_lossy(&content), key);
    }
    Ok(log)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};
    use std::net::TcpListener;
    use steadfast_domain::Nanos;

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
    fn the_second_log_replaces_nothing_and_is_never_a_device() {
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
    }

    #[test]
    fn what_a_listener_received_counts_although_the_own_log_was_lost() {
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
            let read = read_logs(&directory, Some(&place), 9).unwrap();
            (read.newest().map(|flush| flush.sequence), read.flushes())
        };
        assert_eq!(newest(), (Some(96), 3));
        std::fs::write(scratch.path().join(CUT_LOG), &own[..own.len() - 9]).unwrap();
        assert_eq!(newest(), (Some(64), 2));
        std::fs::write(scratch.path().join(RECEIVED_LOG), received).unwrap();
        assert_eq!(newest(), (Some(96), 3));
    }
}
