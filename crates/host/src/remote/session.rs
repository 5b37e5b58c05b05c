//! A connection to a host over ssh: this program is sent there and answers requests
//! ([`super::attend_host`]), and a tunnel leads to the socket of the fio server that it keeps.
//! Nothing is installed there; when the connection ends, everything there is removed.

use super::program::SentProgram;
use crate::tool::command;
use serde::de::DeserializeOwned;
use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError, TryLockError};
use std::time::{Duration, Instant};

/// What the host's shell does.
const SHELL: &str = include_str!("attend.sh");

/// Bytes of the program that are written at once.
const CHUNK: usize = 1 << 18;

/// How long a host may take to answer: logging in may wait for a name server.
const PATIENCE: Duration = Duration::from_secs(60);
/// Lines of an answer: far more than any device has.
const ANSWER_LINES_MAX: usize = 100_000;

/// Time between two signs of life for a host, which ends everything after none for
/// [`PATIENCE`].
const PULSE: Duration = Duration::from_secs(3);

/// Time for a host to end its server.
const FAREWELL: Duration = Duration::from_secs(5);

/// How much of ssh's own words is kept.
const WORDS: usize = 2000;

/// A host that could not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteError {
    /// The host, as the user named it.
    pub host: String,
    /// What happened, and what to do.
    pub what: String,
}

impl fmt::Display for RemoteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "host {}: {}", self.host, self.what)
    }
}

impl std::error::Error for RemoteError {}

/// Where a host reads its requests; `None` once it was closed.
type Requests = Arc<Mutex<Option<ChildStdin>>>;

/// A host that answers.
#[derive(Debug)]
pub(super) struct Session {
    pub host: String,
    /// Our end of the tunnel to its fio server.
    pub socket: PathBuf,
    child: Child,
    requests: Requests,
    /// Bytes of the program that were sent.
    sent: Arc<AtomicU64>,
    answers: Receiver<String>,
    words: Arc<Mutex<String>>,
}

impl Session {
    /// Begins to log in. `name` is a random one: of the directory there and of the socket
    /// in `directory` here.
    pub fn begin(
        host: &str,
        ssh_config: Option<&Path>,
        device: &str,
        directory: &Path,
        name: &str,
    ) -> Result<Session, RemoteError> {
        let failed = |error: io::Error| RemoteError {
            host: host.to_owned(),
            what: match error.kind() {
                io::ErrorKind::NotFound => {
                    "ssh is not installed here; install the package openssh-client".to_owned()
                }
                _ => format!("ssh cannot be run: {error}"),
            },
        };
        let there = format!("/tmp/steadfast-{name}");
        let socket = directory.join(format!("{name}.socket"));
        let (path, place, silence) = (quoted(device), quoted(&there), PATIENCE.as_secs());
        let version = concat!("version='steadfast ", env!("CARGO_PKG_VERSION"), "'");
        let text = format!("device={path}\nplace={place}\n{version}\nsilence={silence}\n{SHELL}");
        let mut command = command(Path::new("ssh")).map_err(failed)?;
        if let Some(config) = ssh_config {
            command.arg("-F").arg(config);
        }
        for option in OPTIONS {
            command.args(["-o", option]);
        }
        let mut child = command
            .args(["-T", "-L", &format!("{}:{there}/socket", socket.display()), "--", host])
            .arg(format!("exec sh -c 'eval \"$(head -c {})\"'", text.len()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        let mut requests = child.stdin.take();
        // Where it cannot be written, the answer to the first question says why.
        if let Some(pipe) = &mut requests {
            let _ = pipe.write_all(text.as_bytes()).and_then(|()| pipe.flush());
        }
        let answers = lines_of(child.stdout.take());
        let words = words_of(child.stderr.take());
        let requests = Arc::new(Mutex::new(requests));
        let sent = Arc::default();
        Ok(Session { host: host.to_owned(), socket, child, requests, sent, answers, words })
    }

    /// Waits until the shell is there, and begins to send the program. Requests wait until
    /// it was sent. From then on, the host hears from here again and again.
    pub fn send_program(&mut self, program: &SentProgram) -> Result<(), RemoteError> {
        let lines = self.answer()?;
        let machine = lines.iter().find_map(|line| line.strip_prefix("machine "));
        let bytes =
            if machine == Some(SentProgram::MACHINE) { program.bytes() } else { Arc::default() };
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
                std::thread::sleep(PULSE);
            }
        });
        Ok(())
    }

    /// Waits until the program runs there.
    pub fn greet(&mut self) -> Result<(), RemoteError> {
        self.answer().map(drop)
    }

    /// Asks something and returns the lines of the answer.
    pub fn ask(&mut self, request: &str) -> Result<Vec<String>, RemoteError> {
        self.request(request)?;
        self.answer()
    }

    /// Sends a request; [`Session::answer`] is to follow.
    pub fn request(&mut self, request: &str) -> Result<(), RemoteError> {
        write_to(&self.requests, request).map_err(|_| self.lost("was lost"))
    }

    /// Asks something whose answer is one value.
    pub fn value(&mut self, request: &str, word: &str) -> Result<String, RemoteError> {
        self.request(request)?;
        self.answered(word)
    }

    /// Waits for an answer that is one value.
    pub fn answered(&mut self, word: &str) -> Result<String, RemoteError> {
        let lines = self.answer()?;
        let found = lines.iter().find_map(|line| line.strip_prefix(word));
        match found {
            Some(value) => Ok(value.trim().to_owned()),
            None => Err(self.error(format!("it did not answer with '{word}'"))),
        }
    }

    /// Waits for an answer that is one value as JSON.
    pub fn parsed<T: DeserializeOwned>(&mut self, word: &str) -> Result<T, RemoteError> {
        let text = self.answered(word)?;
        serde_json::from_str(&text).map_err(|error| {
            self.error(format!(
                "its answer '{word}' is not understood ({error}); install the same version of \
                 steadfast there"
            ))
        })
    }

    /// This host's trouble.
    pub fn error(&self, what: impl Into<String>) -> RemoteError {
        RemoteError { host: self.host.clone(), what: what.into() }
    }

    /// Waits for the lines of an answer, for as long as the program is being sent and
    /// [`PATIENCE`] beyond that.
    pub fn answer(&mut self) -> Result<Vec<String>, RemoteError> {
        let mut begun = Instant::now();
        let mut sent = self.sent.load(Ordering::Relaxed);
        let mut lines = Vec::new();
        // A refusal is returned with the end of its answer, so that what follows is the answer to
        // the next question.
        let mut refusal: Option<String> = None;
        loop {
            match self.answers.recv_timeout(Duration::from_secs(1)) {
                Ok(line) if line == "." => {
                    return match refusal {
                        Some(why) => Err(self.error(why)),
                        None => Ok(lines),
                    };
                }
                Ok(_) if lines.len() >= ANSWER_LINES_MAX => {
                    self.hang_up();
                    return Err(self.error("its answer has no end"));
                }
                Ok(line) => match line.strip_prefix('!') {
                    Some(why) => refusal = Some(why.to_owned()),
                    None => lines.push(line),
                },
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
                        begun = Instant::now();
                    }
                    if begun.elapsed() > PATIENCE {
                        // What it answers later would be taken for the answer to another question.
                        self.hang_up();
                        let seconds = PATIENCE.as_secs();
                        return Err(self.error(format!("no answer within {seconds} s")));
                    }
                }
            }
        }
    }

    /// Asks nothing more.
    fn hang_up(&mut self) {
        if let Ok(mut requests) = self.requests.try_lock() {
            requests.take();
        }
    }

    /// The connection is gone: what ssh said about it.
    fn lost(&mut self, how: &str) -> RemoteError {
        let _ = self.wait(Duration::from_secs(1));
        let words = self.words.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let said = words.lines().map(str::trim).filter(|line| !line.is_empty());
        let said: Vec<&str> = said.collect();
        let said = match said.is_empty() {
            true => "ssh printed nothing".to_owned(),
            false => said.join("; "),
        };
        self.error(format!(
            "the connection {how}: {said}. Check it with: ssh -o BatchMode=yes {} true",
            self.host
        ))
    }

    /// Whether ssh has ended, after waiting for it that long.
    fn wait(&mut self, patience: Duration) -> bool {
        let begun = Instant::now();
        while begun.elapsed() < patience {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        false
    }
}

impl Drop for Session {
    /// The host ends its server when it has no more requests.
    fn drop(&mut self) {
        match self.requests.try_lock() {
            Ok(mut requests) => drop(requests.take()),
            Err(TryLockError::Poisoned(requests)) => drop(requests.into_inner().take()),
            // The program is being sent: writing ends with ssh.
            Err(TryLockError::WouldBlock) => {
                let _ = self.child.kill();
            }
        }
        if !self.wait(FAREWELL) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
        let _ = std::fs::remove_file(&self.socket);
    }
}

/// How ssh is to behave: it asks nobody, notices a dead connection within a quarter of a
/// minute, and shares no connection of the user's, which could outlive this one.
const OPTIONS: [&str; 10] = [
    "BatchMode=yes",
    "ConnectTimeout=20",
    "ServerAliveInterval=5",
    "ServerAliveCountMax=3",
    "ExitOnForwardFailure=yes",
    "StreamLocalBindMask=0177",
    "ControlMaster=no",
    "ControlPath=none",
    "ForwardX11=no",
    "ForwardAgent=no",
];

/// Sends the length of the program, then the program.
fn send(requests: &Requests, program: &[u8], sent: &AtomicU64) -> io::Result<()> {
    let mut requests = requests.lock().unwrap_or_else(PoisonError::into_inner);
    let pipe = requests.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
    writeln!(pipe, "{}", program.len())?;
    for chunk in program.chunks(CHUNK) {
        pipe.write_all(chunk)?;
        sent.fetch_add(chunk.len() as u64, Ordering::Relaxed);
    }
    pipe.flush()
}

fn write_to(requests: &Requests, line: &str) -> io::Result<()> {
    let mut requests = requests.lock().unwrap_or_else(PoisonError::into_inner);
    let pipe = requests.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
    writeln!(pipe, "{line}").and_then(|()| pipe.flush())
}

/// A text as one word of a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

fn lines_of(pipe: Option<impl Read + Send + 'static>) -> Receiver<String> {
    let (sender, receiver) = channel();
    if let Some(pipe) = pipe {
        std::thread::spawn(move || {
            let mut reader = BufReader::new(pipe);
            let mut line = Vec::new();
            while matches!(reader.read_until(b'\n', &mut line), Ok(1..)) {
                let text = String::from_utf8_lossy(&line).trim_end().to_owned();
                if sender.send(text).is_err() {
                    return;
                }
                line.clear();
            }
        });
    }
    receiver
}

fn words_of(pipe: Option<impl Read + Send + 'static>) -> Arc<Mutex<String>> {
    let words = Arc::new(Mutex::new(String::new()));
    if let Some(pipe) = pipe {
        let words = Arc::clone(&words);
        std::thread::spawn(move || {
            for line in BufReader::new(pipe).lines().map_while(Result::ok) {
                let mut words = words.lock().unwrap_or_else(PoisonError::into_inner);
                if words.len() < WORDS {
                    words.push_str(&line);
                    words.push('\n');
                }
            }
        });
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_word_of_a_shell() {
        assert_eq!(quoted("/dev/it's; reboot"), "'/dev/it'\\''s; reboot'");
    }

    #[test]
    fn what_a_host_runs_first_is_a_shell_script() {
        let mut child =
            std::process::Command::new("sh").arg("-n").stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(SHELL.as_bytes()).unwrap();
        assert!(child.wait().unwrap().success());
    }
}
