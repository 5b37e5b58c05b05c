//! One host's part of a step: a client of fio for every call, and the reports that it collects
//! from the host's server.
//!
//! Every server has a client of its own. A client of several servers reports only the survivors
//! if one dies, and does not say which is missing.

use super::super::counts::FioCounts;
use super::super::expression::{Expression, FioCallSpec};
use super::super::json_output::{self, FioReport};
use super::super::process::{confine, describe_exit, fault_text, signal};
use super::super::running::{OVERRUN_MAX, store_text};
use crate::stop::StopSignal;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use steadfast_domain::{Halt, Nanos};
use steadfast_host::Directory;

/// Interval between checks of a running client.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Time that a client may take to end on request.
const END_WAIT_MAX: Duration = Duration::from_secs(3);

pub(super) struct HostWork<'w> {
    pub host: &'w str,
    pub address: &'w str,
    pub filename: &'w str,
    /// Command that delays every thread of the first call until the common start.
    pub waits_by: Option<&'static str>,
    pub program: &'w Path,
    pub directory: &'w Directory,
    /// Prefix of its file names.
    pub name: String,
    pub place: &'w str,
    pub expression: Expression,
    pub fault_limit: u64,
    pub stop: &'w StopSignal,
    /// Set when another host has failed.
    pub called_off: &'w AtomicBool,
}

#[derive(Debug, Default)]
pub(super) struct HostResult {
    /// Counts at the end of each report, over all calls.
    pub reports: Vec<FioCounts>,
    /// Lines that fio printed outside its answers.
    pub messages: Vec<String>,
}

impl HostResult {
    pub(super) fn last(&self) -> FioCounts {
        self.reports.last().cloned().unwrap_or_default()
    }
}

impl HostWork<'_> {
    /// Applies the load in successive calls of fio. On failure, calls off the other hosts.
    pub(super) fn run(&self) -> Result<HostResult, Halt> {
        let result = self.calls();
        if result.is_err() {
            self.called_off.store(true, Ordering::Relaxed);
        }
        result
    }

    fn calls(&self) -> Result<HostResult, Halt> {
        let mut done = HostResult::default();
        let mut number = 0;
        loop {
            let before = done.last();
            let Some(part) = self.expression.next_part(before.elapsed, before.ios()) else {
                return Ok(done);
            };
            number += 1;
            let answers = self.call(&part, number, &mut done.messages)?;
            let counts = answers.iter().map(|answer| FioCounts::add(answer, &before));
            done.reports.extend(counts);
            self.check(&part, &before, &done.last(), &answers)?;
        }
    }

    /// Makes one call. Returns its answers; the last one is final.
    fn call(
        &self,
        part: &FioCallSpec,
        number: u32,
        messages: &mut Vec<String>,
    ) -> Result<Vec<FioReport>, Halt> {
        let file = |ending: &str| match number {
            1 => format!("{}.{ending}", self.name),
            _ => format!("{}-{number}.{ending}", self.name),
        };
        let mut text = self.expression.job_file(part, self.filename, self.place);
        if let Some(command) = self.waits_by.filter(|_| number == 1) {
            text += &format!("exec_prerun={command}\n");
        }
        // fio reads its job from memory and writes its answers there: a job file can contain
        // commands, and whoever may rename a directory above a file could replace it.
        let memory =
            |error: io::Error| Halt::Refused(format!("cannot create fio's job in memory: {error}"));
        let job = steadfast_host::sealed_text(&text).map_err(memory)?;
        let mut stdout = steadfast_host::memory_file().map_err(memory)?;
        let mut stderr = steadfast_host::memory_file().map_err(memory)?;
        store_text(self.directory, &file("fio"), &text)?;
        let child = self
            .begin(&job, &stdout, &stderr)
            .map_err(|error| Halt::Refused(format!("cannot start the fio client: {error}")))?;
        let status = self.wait(child, part)?;
        let answer = content(&mut stdout).map_err(memory)?;
        let errors = content(&mut stderr).map_err(memory)?;
        let answer_file = file("json");
        store_text(self.directory, &answer_file, &answer)?;
        if !errors.is_empty() {
            store_text(self.directory, &file("txt"), &errors)?;
        }
        let answer_path = self.directory.path().join(answer_file);
        let (before, json) = answer.split_at(answer.find("\n{\n").map_or(0, |at| at + 1));
        let lines = before.lines().chain(errors.lines()).map(str::trim);
        // The line that reports the command is expected and dropped.
        let lines = lines.filter(|line| !line.is_empty() && !line.contains("output of prerun"));
        let lines: Vec<String> = lines.map(str::to_owned).collect();
        let result = self.parse_output(json, status, &lines, &answer_path);
        messages.extend(lines);
        result
    }

    fn begin(&self, job: &File, stdout: &File, stderr: &File) -> io::Result<Child> {
        let (job, directory) = (job.as_raw_fd(), self.directory.handle().as_raw_fd());
        let mut command = steadfast_host::command(self.program)?;
        command
            .arg(format!("--client={}", self.address))
            .args(["--output-format=json+", "--eta=never", "--status-interval=1"])
            .arg(format!("/proc/self/fd/{job}"))
            .env("TMPDIR", format!("/proc/self/fd/{directory}"))
            .stdin(Stdio::null())
            .stdout(stdout.try_clone()?)
            .stderr(stderr.try_clone()?)
            .process_group(0);
        confine(&mut command, [job, directory], directory);
        command.spawn()
    }

    /// Waits for a client; ends it if the user or another host's failure requires that.
    fn wait(&self, mut child: Child, part: &FioCallSpec) -> Result<ExitStatus, Halt> {
        let begun = Instant::now();
        let lost = |error: io::Error| Halt::Refused(format!("waiting for fio failed: {error}"));
        loop {
            if let Some(status) = child.try_wait().map_err(lost)? {
                return Ok(status);
            }
            let late = part.time.filter(|time| begun.elapsed() > time.to_duration() + OVERRUN_MAX);
            let over = self.stop.is_requested() || self.called_off.load(Ordering::Relaxed);
            if over || late.is_some() {
                end(&mut child);
            }
            if over {
                return Err(Halt::Stopped);
            }
            if late.is_some() {
                return Err(self.failure(&format!(
                    "did not answer within {} s after the end of its load; it hangs, or its \
                     device does",
                    OVERRUN_MAX.as_secs()
                )));
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    fn parse_output(
        &self,
        json: &str,
        status: ExitStatus,
        messages: &[String],
        answer_path: &Path,
    ) -> Result<Vec<FioReport>, Halt> {
        let how = describe_exit(status);
        if messages.iter().any(|line| line.contains("disconnected")) {
            return Err(self.failure("died: its fio server has closed the connection"));
        }
        let joined = messages.join("; ");
        if !json.ends_with("}\n") {
            let joined = if joined.is_empty() { joined } else { format!(": {joined}") };
            return Err(self.failure(&format!("gave no answer: the fio client {how}{joined}")));
        }
        let answers = json_output::read_reports(json, self.expression.sections).map_err(|why| {
            let joined = if joined.is_empty() { joined } else { format!(" ({joined})") };
            let path = answer_path.display();
            self.failure(&format!("gave an unexpected answer{joined}: {why} ({path})"))
        })?;
        let failed = answers.iter().flat_map(|a| &a.sections).find(|s| s.error != 0);
        match failed {
            Some(section) => Err(self.faults(section.faults.max(1), section.error)),
            None if !status.success() => Err(self.failure(&format!(
                "failed: the fio client {how}: {}",
                messages.first().map_or("it printed nothing", String::as_str)
            ))),
            None => Ok(answers),
        }
    }

    /// Checks that a call did all that was requested, and that its answer is consistent.
    fn check(
        &self,
        part: &FioCallSpec,
        before: &FioCounts,
        after: &FioCounts,
        answers: &[FioReport],
    ) -> Result<(), Halt> {
        let faults = after.faults;
        if faults > self.fault_limit {
            return Err(self.faults(faults, after.first_error));
        }
        if let Some(last) = answers.last()
            && let Err(why) = json_output::check_final(last, &self.expression.sizes)
        {
            return Err(self.failure(&format!("gave an unexpected answer: {why}")));
        }
        let ran: Nanos = after.elapsed.saturating_sub(before.elapsed);
        let ios = after.ios() - before.ios() + faults;
        if part.is_done(ran, ios) {
            return Ok(());
        }
        Err(self.failure(&format!("ended early, after {ran} and {ios} I/Os")))
    }

    fn failure(&self, how: &str) -> Halt {
        Halt::Refused(format!("{}: host {} {how}; the step is void", self.place, self.host))
    }

    fn faults(&self, count: u64, errno: i32) -> Halt {
        let first = format!("{} (on host {})", fault_text(errno), self.host);
        Halt::Faults { place: self.place.to_owned(), count, first }
    }
}

/// Returns everything written to a file, with invalid UTF-8 replaced.
fn content(file: &mut File) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Ends a client: on SIGINT it requests that its server end the load.
fn end(child: &mut Child) {
    signal(child, libc::SIGINT);
    let begun = Instant::now();
    while begun.elapsed() < END_WAIT_MAX {
        if !matches!(child.try_wait(), Ok(None)) {
            return;
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    signal(child, libc::SIGKILL);
    let _ = child.wait();
}

/// Returns the common part of the names of a step's files of one host.
pub(super) fn file_prefix(number: u32, step: &str, host: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '.';
    format!("{number:04}-{step}-{}", host.replace(|c: char| !is_plain(c), "-"))
}
