//! fio as a process: it inherits the descriptors of the target, of its job file and of its
//! directory, reports its counts on request, and is killed when this program ends.

use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};
use steadfast_host::{Directory, ReadAccess};

/// Name of the file in `TMPDIR` that requests an answer. fio looks for it ten times in a tenth of
/// a second, removes it and answers.
const REQUEST: &str = "fio-dump-status";

/// Interval between checks of a process that should end.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FioOutput {
    Answer(String),
    /// The beginning of a JSON object, cut off by the end of the output.
    Truncated(String),
    /// A line of text, prefixed with its stream.
    Text(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FioOutputEvent {
    Output(FioOutput),
    Nothing,
    Closed,
}

#[derive(Debug)]
pub(super) struct FioProcess {
    child: Child,
    output: Receiver<FioOutput>,
    directory: Directory,
}

pub(super) struct FioCall<'c> {
    pub program: &'c Path,
    /// Text of the job file.
    pub job: &'c str,
    /// Working directory of fio, in which it looks for requests; used by nothing else.
    pub directory: &'c Directory,
    pub target: BorrowedFd<'c>,
    pub writable: bool,
}

impl FioProcess {
    /// Starts fio with a job file. The target's descriptor keeps its number, the process dies
    /// with the thread that started it, and Ctrl-C reaches only this program.
    pub(super) fn begin(call: &FioCall<'_>) -> io::Result<FioProcess> {
        remove_stale_request(call.directory)?;
        // fio trusts its job file, so it reads it by descriptor and not by name.
        let job = steadfast_host::sealed_text(call.job)?;
        let (job, directory) = (job.as_raw_fd(), call.directory.handle().as_raw_fd());
        let inherited = [job, directory, call.target.as_raw_fd()];
        let mut command = steadfast_host::command(call.program)?;
        command.args(["--output-format=json+", "--eta=never"]);
        if !call.writable {
            command.arg("--readonly");
        }
        command
            .arg(format!("/proc/self/fd/{job}"))
            .env("TMPDIR", format!("/proc/self/fd/{directory}"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        confine(&mut command, inherited, directory);
        let mut child = command.spawn()?;
        let (sender, output) = channel();
        if let Some(pipe) = child.stdout.take() {
            let sender = sender.clone();
            std::thread::spawn(move || pass_answers(pipe, &sender));
        }
        if let Some(pipe) = child.stderr.take() {
            std::thread::spawn(move || pass_text(pipe, &sender));
        }
        Ok(FioProcess { child, output, directory: call.directory.clone() })
    }

    /// Requests the counts so far, unless a request is still open.
    pub(super) fn request_counts(&self) -> io::Result<()> {
        match self.directory.create(OsStr::new(REQUEST), ReadAccess::Usual) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            made => made.map(drop),
        }
    }

    pub(super) fn has_open_request(&self) -> bool {
        matches!(self.directory.entry_metadata(OsStr::new(REQUEST)), Ok(Some(_)))
    }

    pub(super) fn next_output(&self, wait: Duration) -> FioOutputEvent {
        match self.output.recv_timeout(wait) {
            Ok(output) => FioOutputEvent::Output(output),
            Err(RecvTimeoutError::Timeout) => FioOutputEvent::Nothing,
            Err(RecvTimeoutError::Disconnected) => FioOutputEvent::Closed,
        }
    }

    /// Returns the exit status, once fio has closed its output; `None` if it does not exit within
    /// `timeout`.
    pub(super) fn wait_for_exit(&mut self, timeout: Duration) -> io::Result<Option<ExitStatus>> {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait()? {
                let _ = self.directory.remove(OsStr::new(REQUEST));
                return Ok(Some(status));
            }
            if begun.elapsed() > timeout {
                return Ok(None);
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Ends the process: asks it to end, waits for its outstanding I/Os, then kills it. Returns
    /// it if it still hangs in the kernel.
    pub(super) fn end(mut self, timeout: Duration) -> Option<FioProcess> {
        signal(&self.child, libc::SIGTERM);
        // Its output must be read, or it could not end.
        let begun = Instant::now();
        while begun.elapsed() < timeout && self.next_output(POLL_INTERVAL) != FioOutputEvent::Closed
        {
        }
        let left = timeout.saturating_sub(begun.elapsed());
        if !self.is_over(left) {
            signal(&self.child, libc::SIGKILL);
            if !self.is_over(timeout) {
                return Some(self);
            }
        }
        None
    }

    /// Returns true if it has ended, after waiting for at most `timeout`.
    pub(super) fn is_over(&mut self, timeout: Duration) -> bool {
        !matches!(self.wait_for_exit(timeout), Ok(None))
    }
}

/// Lets a child inherit some descriptors, work in a directory, and die with the thread that starts
/// it.
pub(super) fn confine<const N: usize>(command: &mut Command, inherited: [i32; N], directory: i32) {
    // SAFETY: between fork and exec only system calls are made, on plain integers.
    unsafe {
        command.pre_exec(move || {
            if inherited.iter().any(|number| libc::fcntl(*number, libc::F_SETFD, 0) == -1)
                || libc::fchdir(directory) == -1
                || libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) == -1
            {
                return Err(io::Error::last_os_error());
            }
            Ok(())
        });
    }
}

pub(super) fn signal(child: &Child, signal: i32) {
    let Ok(id) = i32::try_from(child.id()) else { return };
    // SAFETY: the child has not been waited for, so the ID is still its own.
    unsafe { libc::kill(id, signal) };
}

/// Returns why an I/O failed, by its error number.
pub(super) fn fault_text(errno: i32) -> String {
    match errno {
        0 => "transfer that moved fewer bytes than requested".to_owned(),
        errno => io::Error::from_raw_os_error(errno).to_string(),
    }
}

/// Removes a request that a dead fio never answered, which is empty. A file that is not empty
/// belongs to someone else, and fio would remove it.
fn remove_stale_request(directory: &Directory) -> io::Result<()> {
    let request = OsStr::new(REQUEST);
    match directory.entry_metadata(request).map_err(io::Error::other)? {
        None => Ok(()),
        Some(found) if found.is_file() && found.len() == 0 => {
            directory.remove(request).map_err(io::Error::other)
        }
        Some(_) => Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            format!(
                "{} exists, and fio would remove it; move it",
                directory.path().join(request).display()
            ),
        )),
    }
}

pub(super) fn describe_exit(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with status {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}

/// Splits standard output: fio's objects begin with a line that ends in `{` and end with a line
/// that is `}`; everything outside is text.
fn pass_answers(pipe: impl Read, sender: &Sender<FioOutput>) {
    let mut answer: Option<String> = None;
    for line in lines(pipe) {
        let output = match &mut answer {
            Some(open) => {
                open.push_str(&line);
                open.push('\n');
                (line == "}").then(|| FioOutput::Answer(answer.take().unwrap_or_default()))
            }
            None if line.ends_with('{') => {
                answer = Some("{\n".to_owned());
                let before = line.trim_end_matches('{').trim();
                (!before.is_empty()).then(|| FioOutput::Text(format!("stdout: {before}")))
            }
            None => (!line.trim().is_empty()).then(|| FioOutput::Text(format!("stdout: {line}"))),
        };
        if output.is_some_and(|output| sender.send(output).is_err()) {
            return;
        }
    }
    if let Some(truncated) = answer {
        let _ = sender.send(FioOutput::Truncated(truncated));
    }
}

fn pass_text(pipe: impl Read, sender: &Sender<FioOutput>) {
    for line in lines(pipe).filter(|line| !line.trim().is_empty()) {
        if sender.send(FioOutput::Text(format!("stderr: {line}"))).is_err() {
            return;
        }
    }
}

/// Returns lines without their ends, with invalid UTF-8 replaced.
fn lines(pipe: impl Read) -> impl Iterator<Item = String> {
    let mut reader = BufReader::new(pipe);
    std::iter::from_fn(move || {
        let mut line = Vec::new();
        match reader.read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r']).to_owned()),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn parsed(output: &str) -> Vec<FioOutput> {
        let (sender, receiver) = channel();
        pass_answers(output.as_bytes(), &sender);
        drop(sender);
        receiver.iter().collect()
    }

    #[test]
    fn only_a_request_that_was_never_answered_is_removed() {
        let directory = tempfile::tempdir().unwrap();
        let request = directory.path().join(REQUEST);
        let opened = Directory::open(directory.path()).unwrap();
        remove_stale_request(&opened).unwrap();
        fs::write(&request, "").unwrap();
        remove_stale_request(&opened).unwrap();
        assert!(!request.exists());
        fs::write(&request, "mine").unwrap();
        let error = remove_stale_request(&opened).unwrap_err().to_string();
        assert!(error.contains("fio would remove it"), "{error}");
        assert_eq!(fs::read_to_string(&request).unwrap(), "mine");
    }

    #[test]
    fn answers_and_text_are_distinguished() {
        let output = "fio: a remark\n{\n  \"a\" : {\n  }\n}\n\n{\n  \"b\" : 1\n}\nbye\n";
        assert_eq!(
            parsed(output),
            [
                FioOutput::Text("stdout: fio: a remark".into()),
                FioOutput::Answer("{\n  \"a\" : {\n  }\n}\n".into()),
                FioOutput::Answer("{\n  \"b\" : 1\n}\n".into()),
                FioOutput::Text("stdout: bye".into()),
            ]
        );
    }

    #[test]
    fn text_without_a_line_end_does_not_hide_an_answer() {
        let expected = [FioOutput::Text("stdout: hm".into()), FioOutput::Answer("{\n}\n".into())];
        assert_eq!(parsed("hm {\n}\n"), expected);
    }

    #[test]
    fn an_answer_that_breaks_off_is_truncated() {
        assert_eq!(parsed("{\n  \"a\" : 1"), [FioOutput::Truncated("{\n  \"a\" : 1\n".into())]);
        assert_eq!(parsed(""), []);
    }
}
