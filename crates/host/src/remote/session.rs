//! A connection to a host over ssh. This program is sent to the host and answers requests there
//! ([`super::attend_host`]); a tunnel leads to the socket of its fio server. Nothing is installed:
//! when the connection ends, everything is removed from the host.

use super::program::ProgramImage;
use crate::tool::{command, wait_for_exit};
use serde::de::DeserializeOwned;
use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError, TryLockError};
use std::time::{Duration, Instant};
use steadfast_domain::text::shell_quoted;

/// Script for the host's shell.
const SHELL: &str = include_str!("attend.sh");

/// Size of one write while the program is sent, in bytes.
const CHUNK: usize = 1 << 18;

/// Time limit for an answer. Logging in may wait for a name server.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum length of an answer in bytes; a valid answer is far shorter.
const ANSWER_MAX: usize = 16 << 20;

/// Maximum length of a line of an answer, in bytes.
const LINE_MAX: usize = 1 << 20;

/// Lines that wait for their request; a host that sends more has to wait.
const LINES_AHEAD: usize = 16;

/// Interval between two keep-alive lines. A host that receives nothing for [`ANSWER_TIMEOUT`] ends
/// everything.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(3);

/// Time limit for a host to end its server.
const EXIT_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum length of ssh's error output that is kept, in bytes.
const STDERR_MAX: usize = 2000;

/// Failure of a request to a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteError {
    /// Host name as given by the user.
    pub host: String,
    /// Cause and remedy, in words.
    pub what: String,
}

impl RemoteError {
    /// Returns an error of this machine.
    pub(super) fn here(what: String) -> RemoteError {
        RemoteError { host: "here".to_owned(), what }
    }
}

impl fmt::Display for RemoteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "host {}: {}", self.host, self.what)
    }
}

impl std::error::Error for RemoteError {}

/// Input of a host for requests; `None` once it is closed.
type RequestInput = Arc<Mutex<Option<ChildStdin>>>;

/// A connection to one host.
#[derive(Debug)]
pub(super) struct RemoteSession {
    pub host: String,
    /// Our end of the tunnel to the host's fio server.
    pub socket: PathBuf,
    child: Child,
    requests: RequestInput,
    /// Number of bytes of the program sent so far.
    sent: Arc<AtomicU64>,
    answers: Receiver<String>,
    stderr: Arc<Mutex<String>>,
}

impl RemoteSession {
    /// Starts to log in. `name` is random; it names the directory on the host and the socket in
    /// `directory` here.
    pub fn begin(
        host: &str,
        ssh_config: Option<&Path>,
        device: &str,
        directory: &Path,
        name: &str,
    ) -> Result<RemoteSession, RemoteError> {
        let failed = |error: io::Error| RemoteError {
            host: host.to_owned(),
            what: match error.kind() {
                io::ErrorKind::NotFound => {
                    "ssh is not installed here; install the package openssh-client".to_owned()
                }
                _ => format!("ssh cannot be run: {error}"),
            },
        };
        let remote_directory = format!("/tmp/steadfast-{name}");
        let socket = directory.join(format!("{name}.socket"));
        let silence = ANSWER_TIMEOUT.as_secs();
        let (device, place) = (shell_quoted(device), shell_quoted(&remote_directory));
        let version = concat!("version='steadfast ", env!("CARGO_PKG_VERSION"), "'");
        let text = format!("device={device}\nplace={place}\n{version}\nsilence={silence}\n{SHELL}");
        let mut command = command(Path::new("ssh")).map_err(failed)?;
        if let Some(config) = ssh_config {
            command.arg("-F").arg(config);
        }
        for option in OPTIONS {
            command.args(["-o", option]);
        }
        let mut child = command
            .args([
                "-T",
                "-L",
                &format!("{}:{remote_directory}/socket", socket.display()),
                "--",
                host,
            ])
            .arg(format!("exec sh -c 'eval \"$(head -c {})\"'", text.len()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        let mut requests = child.stdin.take();
        // If this write fails, reading the first answer reports the cause.
        if let Some(pipe) = &mut requests {
            let _ = pipe.write_all(text.as_bytes()).and_then(|()| pipe.flush());
        }
        let answers = lines_of(child.stdout.take());
        let stderr = read_stderr(child.stderr.take());
        let requests = Arc::new(Mutex::new(requests));
        let sent = Arc::default();
        Ok(RemoteSession { host: host.to_owned(), socket, child, requests, sent, answers, stderr })
    }

    /// Waits for the shell and starts to send the program. Requests wait until it has been sent;
    /// afterwards a thread sends keep-alive lines.
    pub fn send_program(&mut self, program: &ProgramImage) -> Result<(), RemoteError> {
        let lines = self.answer()?;
        let machine = lines.iter().find_map(|line| line.strip_prefix("machine "));
        let bytes =
            if machine == Some(ProgramImage::MACHINE) { program.bytes() } else { Arc::default() };
        let requests = Arc::downgrade(&self.requests);
        let sent = Arc::clone(&self.sent);
        std::thread::spawn(move || {
            if let Some(requests) = requests.upgrade()
                && send(&requests, &bytes, &sent).is_err()
            {
                return;
            }
            drop(bytes);
            while requests.upgrade().is_some_and(|requests| write_to(&requests, "pulse").is_ok()) {
                std::thread::sleep(KEEP_ALIVE_INTERVAL);
            }
        });
        Ok(())
    }

    /// Waits until the program runs on the host.
    pub fn await_program(&mut self) -> Result<(), RemoteError> {
        self.answer().map(drop)
    }

    /// Sends a request and returns the lines of the answer.
    pub fn ask(&mut self, request: &str) -> Result<Vec<String>, RemoteError> {
        self.request(request)?;
        self.answer()
    }

    /// Sends a request. The caller must read the answer with [`RemoteSession::answer`].
    pub fn request(&mut self, request: &str) -> Result<(), RemoteError> {
        write_to(&self.requests, request).map_err(|_| self.lost("was lost"))
    }

    /// Sends a request and returns the value that follows `word` in the answer.
    pub fn value(&mut self, request: &str, word: &str) -> Result<String, RemoteError> {
        self.request(request)?;
        self.answered(word)
    }

    /// Waits for an answer and returns the value that follows `word`.
    pub fn answered(&mut self, word: &str) -> Result<String, RemoteError> {
        let lines = self.answer()?;
        let value = lines.iter().find_map(|line| line.strip_prefix(word));
        match value {
            Some(value) => Ok(value.trim().to_owned()),
            None => Err(self.error(format!("it did not answer with '{word}'"))),
        }
    }

    /// Waits for an answer and parses the JSON value that follows `word`.
    pub fn parsed<T: DeserializeOwned>(&mut self, word: &str) -> Result<T, RemoteError> {
        let text = self.answered(word)?;
        serde_json::from_str(&text).map_err(|error| {
            self.error(format!(
                "its answer '{word}' cannot be parsed ({error}); install the same version of \
                 steadfast there"
            ))
        })
    }

    /// Returns an error that names this host.
    pub fn error(&self, what: impl Into<String>) -> RemoteError {
        RemoteError { host: self.host.clone(), what: what.into() }
    }

    /// Waits for the lines of an answer, as long as sending the program makes progress and
    /// [`ANSWER_TIMEOUT`] beyond that.
    pub fn answer(&mut self) -> Result<Vec<String>, RemoteError> {
        let mut start = Instant::now();
        let mut sent = self.sent.load(Ordering::Relaxed);
        let mut lines = Vec::new();
        let mut length = 0;
        // A refusal is returned only at the end of its answer, so that the next line read belongs
        // to the next answer.
        let mut refusal: Option<String> = None;
        loop {
            match self.answers.recv_timeout(Duration::from_secs(1)) {
                Ok(line) if line == "." => {
                    return match refusal {
                        Some(why) => Err(self.error(why)),
                        None => Ok(lines),
                    };
                }
                Ok(line) => {
                    length += line.len() + 1;
                    if length > ANSWER_MAX {
                        self.hang_up();
                        return Err(self.error("its answer has no end"));
                    }
                    match line.strip_prefix('!') {
                        Some(why) => refusal = Some(why.to_owned()),
                        None => lines.push(line),
                    }
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(match refusal {
                        Some(why) => self.error(why),
                        None => self.lost("ended"),
                    });
                }
                Err(RecvTimeoutError::Timeout) => {
                    let now = self.sent.load(Ordering::Relaxed);
                    if now != sent {
                        sent = now;
                        start = Instant::now();
                    }
                    if start.elapsed() > ANSWER_TIMEOUT {
                        // A late answer would be mistaken for the answer to the next request.
                        self.hang_up();
                        let seconds = ANSWER_TIMEOUT.as_secs();
                        return Err(self.error(format!("no answer within {seconds} s")));
                    }
                }
            }
        }
    }

    /// Closes the input of the host, so that no further requests are sent.
    fn hang_up(&mut self) {
        if let Ok(mut requests) = self.requests.try_lock() {
            requests.take();
        }
    }

    /// Returns the error for a lost connection, with the error output of ssh.
    fn lost(&mut self, how: &str) -> RemoteError {
        let _ = self.wait(Duration::from_secs(1));
        let stderr = self.stderr.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let lines: Vec<&str> =
            stderr.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let output =
            if lines.is_empty() { "ssh printed nothing".to_owned() } else { lines.join("; ") };
        self.error(format!(
            "the connection {how}: {output}. Check it with: ssh -o BatchMode=yes {} true",
            self.host
        ))
    }

    /// Waits for ssh to exit, at most this long. Returns true if it has exited.
    fn wait(&mut self, timeout: Duration) -> bool {
        !matches!(wait_for_exit(&mut self.child, timeout, &mut |_| {}), Ok(None))
    }
}

impl Drop for RemoteSession {
    /// Closes the input of the host, which then ends its server.
    fn drop(&mut self) {
        match self.requests.try_lock() {
            Ok(mut requests) => drop(requests.take()),
            Err(TryLockError::Poisoned(requests)) => drop(requests.into_inner().take()),
            // The program is being sent; killing ssh ends that write.
            Err(TryLockError::WouldBlock) => {
                let _ = self.child.kill();
            }
        }
        if !self.wait(EXIT_TIMEOUT) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
        let _ = std::fs::remove_file(&self.socket);
    }
}

/// Options of ssh: no prompts, detection of a dead connection within 15 seconds, and no sharing of
/// the user's connections, which could outlive this one.
const OPTIONS: [&str; 10] = [
    "BatchMode=yes", "ConnectTimeout=20", "ServerAliveInterval=5", "ServerAliveCountMax=3",
    "ExitOnForwardFailure=yes", "StreamLocalBindMask=0177", "ControlMaster=no", "ControlPath=none",
    "ForwardX11=no", "ForwardAgent=no",
];

/// Sends the length of the program, then the program.
fn send(requests: &RequestInput, program: &[u8], sent: &AtomicU64) -> io::Result<()> {
    let mut requests = requests.lock().unwrap_or_else(PoisonError::into_inner);
    let pipe = requests.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
    writeln!(pipe, "{}", program.len())?;
    for chunk in program.chunks(CHUNK) {
        pipe.write_all(chunk)?;
        sent.fetch_add(chunk.len() as u64, Ordering::Relaxed);
    }
    pipe.flush()
}

fn write_to(requests: &RequestInput, line: &str) -> io::Result<()> {
    let mut requests = requests.lock().unwrap_or_else(PoisonError::into_inner);
    let pipe = requests.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
    writeln!(pipe, "{line}").and_then(|()| pipe.flush())
}

/// Reads lines in a thread. A line that is too long becomes a refusal and ends them.
pub(crate) fn lines_of(pipe: Option<impl Read + Send + 'static>) -> Receiver<String> {
    let (sender, receiver) = sync_channel(LINES_AHEAD);
    if let Some(pipe) = pipe {
        std::thread::spawn(move || {
            let mut reader = BufReader::new(pipe);
            let mut line = Vec::new();
            loop {
                line.clear();
                match reader.by_ref().take(LINE_MAX as u64).read_until(b'\n', &mut line) {
                    Ok(1..) => {}
                    _ => return,
                }
                let is_cut = line.len() == LINE_MAX && !line.ends_with(b"\n");
                let text = if is_cut {
                    format!("!a line of its answer is longer than {} MiB", LINE_MAX >> 20)
                } else {
                    String::from_utf8_lossy(&line).trim_end().to_owned()
                };
                if sender.send(text).is_err() || is_cut {
                    return;
                }
            }
        });
    }
    receiver
}

/// Reads the error output of ssh in a thread to its end and keeps its beginning.
fn read_stderr(pipe: Option<impl Read + Send + 'static>) -> Arc<Mutex<String>> {
    let stderr = Arc::new(Mutex::new(String::new()));
    if let Some(mut pipe) = pipe {
        let stderr = Arc::clone(&stderr);
        std::thread::spawn(move || {
            let mut buffer = [0; STDERR_MAX];
            loop {
                let length = match pipe.read(&mut buffer) {
                    Ok(length @ 1..) => length,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Ok(0) | Err(_) => return,
                };
                let mut stderr = stderr.lock().unwrap_or_else(PoisonError::into_inner);
                if stderr.len() < STDERR_MAX {
                    stderr.push_str(&String::from_utf8_lossy(&buffer[..length]));
                }
            }
        });
    }
    stderr
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_that_sends_no_line_end_is_refused_in_bounded_memory() {
        let endless = io::repeat(b'x').take(1 << 40);
        let lines: Vec<String> = lines_of(Some(endless)).iter().collect();
        assert_eq!(lines, ["!a line of its answer is longer than 1 MiB"]);
        let longest = [vec![b'x'; LINE_MAX - 1], b"\n.\n".to_vec()].concat();
        let lines: Vec<String> = lines_of(Some(io::Cursor::new(longest))).iter().collect();
        assert_eq!(lines.iter().map(String::len).collect::<Vec<_>>(), [LINE_MAX - 1, 1]);
    }

    #[test]
    fn error_output_of_ssh_is_kept_from_its_beginning_and_read_to_its_end() {
        let (mut sender, receiver) = std::os::unix::net::UnixStream::pair().unwrap();
        let stderr = read_stderr(Some(receiver));
        sender.write_all(b"no \xff route\n").unwrap();
        sender.write_all(&[b'y'; 1 << 20]).unwrap();
        drop(sender);
        // The thread holds the other reference until it has read everything.
        while Arc::strong_count(&stderr) > 1 {
            std::thread::yield_now();
        }
        let stderr = stderr.lock().unwrap();
        assert!(stderr.starts_with("no \u{fffd} route\ny"), "{stderr}");
        assert!(stderr.len() <= 4 * STDERR_MAX);
    }

    #[test]
    fn the_first_script_of_a_host_can_be_parsed_by_sh() {
        let mut child =
            std::process::Command::new("sh").arg("-n").stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(SHELL.as_bytes()).unwrap();
        assert!(child.wait().unwrap().success());
    }
}
