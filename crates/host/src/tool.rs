//! The one place from which device tools are run: no shell, no standard input,
//! a time limit, both outputs captured.

use crate::error::HostError;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often a running tool is looked at.
const POLL: Duration = Duration::from_millis(5);

/// How long the outputs of a program that has ended may stay open.
const LINGER: Duration = Duration::from_millis(500);

/// A device tool and the Debian package that holds it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tool {
    pub program: &'static str,
    pub package: &'static str,
}

/// Lists signatures on a device.
pub(crate) const WIPEFS: Tool = Tool { program: "wipefs", package: "util-linux" };
/// Speaks NVMe.
pub(crate) const NVME: Tool = Tool { program: "nvme", package: "nvme-cli" };
/// Reads the health logs of ATA, SCSI and NVMe devices.
pub(crate) const SMARTCTL: Tool = Tool { program: "smartctl", package: "smartmontools" };
/// Tells what systemd will do.
pub(crate) const SYSTEMCTL: Tool = Tool { program: "systemctl", package: "systemd" };

/// Sends ATA commands.
pub(crate) const HDPARM: Tool = Tool { program: "hdparm", package: "hdparm" };
/// Sends SCSI FORMAT UNIT.
pub(crate) const SG_FORMAT: Tool = Tool { program: "sg_format", package: "sg3-utils" };
/// Sends SCSI SANITIZE.
pub(crate) const SG_SANITIZE: Tool = Tool { program: "sg_sanitize", package: "sg3-utils" };
/// Asks which SCSI commands a device takes.
pub(crate) const SG_OPCODES: Tool = Tool { program: "sg_opcodes", package: "sg3-utils" };
/// Asks how far a SCSI command has come.
pub(crate) const SG_REQUESTS: Tool = Tool { program: "sg_requests", package: "sg3-utils" };
/// Asks whether a SCSI device is ready.
pub(crate) const SG_TURS: Tool = Tool { program: "sg_turs", package: "sg3-utils" };

/// What runs tools: the machine, or in tests a transcript.
pub(crate) trait Tools {
    /// Runs a tool, whatever status it ends with. `each` is called again and
    /// again with the time since it began.
    ///
    /// # Errors
    /// Where it is not installed, or takes longer than `limit`.
    fn ask(
        &self,
        tool: Tool,
        arguments: &[&str],
        limit: Duration,
        each: &mut dyn FnMut(Duration),
    ) -> Result<Answer, HostError>;

    /// Lets time pass between two looks at a device.
    fn pause(&self, time: Duration);

    /// Runs a tool and returns what it printed to standard output.
    ///
    /// # Errors
    /// As [`Tools::ask`], and where it ends with a status other than 0.
    fn run(&self, tool: Tool, arguments: &[&str], limit: Duration) -> Result<String, HostError> {
        self.run_long(tool, arguments, limit, &mut |_| {})
    }

    /// The same, with a look at the time.
    ///
    /// # Errors
    /// As [`Tools::run`].
    fn run_long(
        &self,
        tool: Tool,
        arguments: &[&str],
        limit: Duration,
        each: &mut dyn FnMut(Duration),
    ) -> Result<String, HostError> {
        let answer = self.ask(tool, arguments, limit, each)?;
        if answer.status.success() {
            return Ok(answer.stdout);
        }
        let command = command_line(tool.program, arguments);
        Err(failed(command, answer.status.to_string(), &answer.stdout, &answer.stderr))
    }
}

/// The tools of this machine.
pub(crate) struct Installed;

impl Tools for Installed {
    fn ask(
        &self,
        tool: Tool,
        arguments: &[&str],
        limit: Duration,
        each: &mut dyn FnMut(Duration),
    ) -> Result<Answer, HostError> {
        ask_and_look(tool.program, tool.package, arguments, limit, each)
    }

    fn pause(&self, time: Duration) {
        std::thread::sleep(time);
    }
}

/// What a program said before it ended by itself.
#[derive(Debug)]
pub(crate) struct Answer {
    /// How it ended.
    pub status: ExitStatus,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

/// Runs a tool and returns what it printed to standard output.
///
/// # Errors
/// Where it is not installed, ends with a status other than 0, or takes longer
/// than `limit`; it is then ended.
pub(crate) fn run(tool: Tool, arguments: &[&str], limit: Duration) -> Result<String, HostError> {
    Installed.run(tool, arguments, limit)
}

/// Runs any program, whatever status it ends with: some tell of the device's
/// state in theirs, and a user's own command is known by its path alone.
///
/// # Errors
/// Where it is not installed, or takes longer than `limit`; it is then ended.
pub(crate) fn ask(
    program: &str,
    package: &'static str,
    arguments: &[&str],
    limit: Duration,
) -> Result<Answer, HostError> {
    ask_and_look(program, package, arguments, limit, &mut |_| {})
}

fn ask_and_look(
    program: &str,
    package: &'static str,
    arguments: &[&str],
    limit: Duration,
    each: &mut dyn FnMut(Duration),
) -> Result<Answer, HostError> {
    let mut child = spawn(program, package, arguments)?;
    let stdout = drain(child.stdout.take());
    let stderr = drain(child.stderr.take());
    let status = wait(&mut child, limit, each);
    if !matches!(status, Ok(Some(_))) {
        // Its pipes close only when it ends, and the readers wait for that.
        let _ = child.kill();
        let _ = child.wait();
    }
    let (stdout, stderr) = (collect(stdout), collect(stderr));
    let how = match status {
        Ok(Some(status)) => return Ok(Answer { status, stdout, stderr }),
        Ok(None) => format!("no answer within {} s", limit.as_secs()),
        Err(error) => error.to_string(),
    };
    Err(failed(command_line(program, arguments), how, &stdout, &stderr))
}

fn command_line(program: &str, arguments: &[&str]) -> String {
    format!("{program} {}", arguments.join(" ")).trim_end().to_owned()
}

fn failed(command: String, how: String, stdout: &str, stderr: &str) -> HostError {
    let said = if stderr.trim().is_empty() { stdout } else { stderr };
    HostError::ToolFailed { command, how, said: said.trim().replace('\n', "; ") }
}

fn spawn(program: &str, package: &'static str, arguments: &[&str]) -> Result<Child, HostError> {
    let path = std::env::var("PATH").unwrap_or_default();
    Command::new(program)
        .args(arguments)
        .env("LC_ALL", "C")
        // Device tools live where an ordinary user's path does not lead.
        .env("PATH", format!("{path}:/usr/sbin:/sbin:/usr/bin:/bin"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // Ctrl-C is for us: a device tool is not ended in the middle of it.
        .process_group(0)
        .spawn()
        .map_err(|error| match error.kind() {
            // A directory of the path that may not be searched answers with the latter.
            io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => {
                HostError::ToolMissing { tool: program.to_owned(), package }
            }
            _ => HostError::io("run it", program.as_ref(), error),
        })
}

fn wait(
    child: &mut Child,
    limit: Duration,
    each: &mut dyn FnMut(Duration),
) -> io::Result<Option<ExitStatus>> {
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if began.elapsed() >= limit {
            return Ok(None);
        }
        each(began.elapsed());
        std::thread::sleep(POLL);
    }
}

/// Reads a pipe to its end beside the wait, so that a talkative tool never blocks.
fn drain(pipe: Option<impl Read + Send + 'static>) -> Option<JoinHandle<Vec<u8>>> {
    let mut pipe = pipe?;
    Some(std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // What was read before an error still says something.
        let _ = pipe.read_to_end(&mut bytes);
        bytes
    }))
}

/// What a pipe gave. A program that left another behind with its output open
/// is not waited for longer than a moment: what it printed is then unknown.
fn collect(reader: Option<JoinHandle<Vec<u8>>>) -> String {
    let began = Instant::now();
    let finished = reader.filter(|reader| {
        while !reader.is_finished() && began.elapsed() < LINGER {
            std::thread::sleep(POLL);
        }
        reader.is_finished()
    });
    let bytes = finished.and_then(|reader| reader.join().ok()).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn tool(program: &'static str) -> Tool {
        Tool { program, package: "some-package" }
    }

    #[test]
    fn a_tool_is_given_its_arguments_as_they_are() {
        let said = run(tool("printf"), &["%s|", "a b", "$HOME", "; ls"], 10 * SECOND);
        assert_eq!(said.unwrap(), "a b|$HOME|; ls|");
    }

    #[test]
    fn more_output_than_a_pipe_holds_does_not_block() {
        let said = run(tool("head"), &["-c", "1000000", "/dev/zero"], 10 * SECOND);
        assert_eq!(said.unwrap().len(), 1_000_000);
    }

    #[test]
    fn a_missing_tool_names_its_package() {
        let error = run(tool("no-such-tool-here"), &[], SECOND).unwrap_err();
        assert_eq!(
            error.to_string(),
            "'no-such-tool-here' is not installed or may not be run; install the package some-package"
        );
    }

    #[test]
    fn a_failing_tool_says_why_and_a_hanging_one_is_ended() {
        let error = run(tool("ls"), &["/no/such/place"], 10 * SECOND).unwrap_err().to_string();
        assert!(error.contains("exit status: 2") && error.contains("No such file"), "{error}");
        let error = run(tool("sleep"), &["600"], Duration::from_millis(50)).unwrap_err();
        assert!(error.to_string().contains("no answer within"), "{error}");
    }

    #[test]
    fn a_program_left_behind_with_the_output_open_is_not_waited_for() {
        let began = Instant::now();
        let answer = ask("sh", "dash", &["-c", "sleep 5 & echo said"], 60 * SECOND).unwrap();
        assert!(answer.status.success());
        assert!(began.elapsed() < 5 * SECOND);
        assert_eq!(answer.stdout, "", "what is not complete is unknown");
    }
}
