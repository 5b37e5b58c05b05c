//! A host's own shell, over ssh: questions and answers, and a tunnel to the socket of the
//! fio server that it keeps. Nothing of ours is installed there; when the connection ends,
//! the shell ends the server with all of its processes.

use super::sight::Sight;
use crate::tool::command;
use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What the host's shell does.
const ATTENDANT: &str = include_str!("attend.sh");

/// How long a host may take to answer: logging in may wait for a name server.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often a shell that keeps a server hears from us. It ends everything when it has heard
/// nothing for [`PATIENCE`].
const PULSE: Duration = Duration::from_secs(3);

/// How long a shell may take to end its server.
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

/// Where a shell reads its requests; `None` once it was closed.
type Requests = Arc<Mutex<Option<ChildStdin>>>;

/// A shell on a host.
#[derive(Debug)]
pub(super) struct Session {
    pub host: String,
    /// Our end of the tunnel to its fio server.
    pub socket: PathBuf,
    child: Child,
    requests: Requests,
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
        let text = format!("device={path}\nplace={place}\nsilence={silence}\n{ATTENDANT}");
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
        Ok(Session { host: host.to_owned(), socket, child, requests, answers, words })
    }

    /// Waits until the shell is there.
    pub fn greet(&mut self) -> Result<(), RemoteError> {
        self.answer(PATIENCE).map(drop)
    }

    /// Asks something and returns the lines of the answer.
    pub fn ask(&mut self, request: &str) -> Result<Vec<String>, RemoteError> {
        self.send(request)?;
        self.answer(PATIENCE)
    }

    /// Has the host keep a fio server, for as long as this session lasts.
    pub fn serve(&mut self) -> Result<(), RemoteError> {
        self.ask("serve")?;
        let requests = Arc::downgrade(&self.requests);
        std::thread::spawn(move || {
            while requests.upgrade().is_some_and(|requests| write_to(&requests, "pulse").is_ok()) {
                std::thread::sleep(PULSE);
            }
        });
        Ok(())
    }

    fn send(&mut self, request: &str) -> Result<(), RemoteError> {
        write_to(&self.requests, request).map_err(|_| self.lost("was lost"))
    }

    /// Asks something whose answer is one value.
    pub fn value(&mut self, request: &str, word: &str) -> Result<String, RemoteError> {
        let lines = self.ask(request)?;
        let found = lines.iter().find_map(|line| line.strip_prefix(word));
        match found {
            Some(value) => Ok(value.trim().to_owned()),
            None => Err(self.error(format!("it did not answer '{request}'"))),
        }
    }

    /// Has the host begin to look the device over; [`Session::seen`] is to follow.
    pub fn look(&mut self) -> Result<(), RemoteError> {
        self.send("look")
    }

    /// What it has seen.
    pub fn seen(&mut self) -> Result<Sight, RemoteError> {
        let lines = self.answer(PATIENCE)?;
        Sight::read(&lines).map_err(|why| {
            self.error(format!("{why}; a device whose state is unknown is not used"))
        })
    }

    /// This host's trouble.
    pub fn error(&self, what: impl Into<String>) -> RemoteError {
        RemoteError { host: self.host.clone(), what: what.into() }
    }

    fn answer(&mut self, patience: Duration) -> Result<Vec<String>, RemoteError> {
        let begun = Instant::now();
        let mut lines = Vec::new();
        loop {
            match self.answers.recv_timeout(patience.saturating_sub(begun.elapsed())) {
                Ok(line) if line == "." => return Ok(lines),
                Ok(line) => match line.strip_prefix('!') {
                    Some(why) => return Err(self.error(why)),
                    None => lines.push(line),
                },
                Err(RecvTimeoutError::Disconnected) => return Err(self.lost("ended")),
                Err(RecvTimeoutError::Timeout) => {
                    return Err(self.error(format!("no answer within {} s", patience.as_secs())));
                }
            }
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
    /// The shell ends its server when it has no more requests.
    fn drop(&mut self) {
        drop(self.requests.lock().unwrap_or_else(PoisonError::into_inner).take());
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
    fn the_attendant_is_a_shell_script() {
        let mut child =
            std::process::Command::new("sh").arg("-n").stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(ATTENDANT.as_bytes()).unwrap();
        assert!(child.wait().unwrap().success());
    }
}
