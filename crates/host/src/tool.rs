//! The only module that runs device tools: without a shell or standard input, with a time limit,
//! with the end of stdout and stderr captured, and never a program that another user could have
//! planted.

use crate::clocks::monotonic;
use crate::error::HostError;
use crate::locks::clear_flags;
use crate::nvme::{AdminQueue, NvmeAdmin, NvmeController, NvmeNode};
use crate::user::is_root;
use rustix::fs::{OFlags, fcntl_setfl};
use std::env;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Interval between two looks at a call that blocks until a device has finished.
const SEND_INTERVAL: Duration = Duration::from_millis(50);

/// Interval between two searches for processes that a program left behind.
const DESCENDANTS_INTERVAL: Duration = Duration::from_millis(200);

/// Time that the output pipes of a program may stay open after it exits, and that its processes may
/// remain after it was killed.
const AFTER_EXIT_MAX: Duration = Duration::from_millis(500);

/// Number of bytes that are kept of each of a program's outputs, from its end.
const OUTPUT_MAX: usize = 1 << 20;

/// Number of bytes that are read at once.
const PART: usize = 1 << 16;

/// Number of parts of an output that are read before the time limit is checked again.
const PARTS_MAX: usize = 16;

/// Number of characters of an output that messages and records keep, from its end.
const EXCERPT_MAX: usize = 2000;

const SYSTEM_DIRECTORIES: [&str; 4] = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"];

const LOCAL_DIRECTORIES: [&str; 2] = ["/usr/local/sbin", "/usr/local/bin"];

/// Returns the absolute path of a program. Searches the system directories, then `/usr/local`,
/// then the directories of `PATH`. Skips relative directories; for root, also directories and
/// programs that others can write to. A `name` that contains a slash is used as a path.
///
/// # Errors
/// The program was not found.
pub fn find_program(name: &Path) -> io::Result<PathBuf> {
    if name.components().count() > 1 || name.is_absolute() {
        return std::path::absolute(name);
    }
    let is_program = |path: &PathBuf| {
        path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.mode() & 0o111 != 0)
    };
    let mut paths = search_path().into_iter().map(|directory| directory.join(name));
    let is_root = is_root();
    paths
        .find(|path| is_program(path) && (!is_root || only_root_changes(path)))
        .ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// Returns true if only root can change or replace the program, links followed.
fn only_root_changes(path: &Path) -> bool {
    let Ok(real) = fs::canonicalize(path) else { return false };
    let is_roots =
        real.metadata().is_ok_and(|metadata| metadata.uid() == 0 && metadata.mode() & 0o022 == 0);
    is_roots && real.parent().is_some_and(|above| root_directory(above).is_some())
}

/// Returns a command for a program, whose own `PATH` is the search path of [`find_program`].
///
/// # Errors
/// As [`find_program`].
pub fn command(name: &Path) -> io::Result<Command> {
    let mut command = Command::new(find_program(name)?);
    // Joining fails only if a name contains a colon; an empty PATH is safer then.
    command.env("PATH", env::join_paths(search_path()).unwrap_or_default()).env("LC_ALL", "C");
    Ok(command)
}

fn search_path() -> Vec<PathBuf> {
    search_path_of(&env::var_os("PATH").unwrap_or_default(), is_root())
}

fn search_path_of(path: &OsStr, is_root: bool) -> Vec<PathBuf> {
    let local = LOCAL_DIRECTORIES.iter().filter_map(|local| root_directory(Path::new(local)));
    let named = env::split_paths(path).filter(|directory| directory.is_absolute());
    let named = named
        .filter_map(|directory| if is_root { root_directory(&directory) } else { Some(directory) });
    let mut directories: Vec<PathBuf> = SYSTEM_DIRECTORIES.map(PathBuf::from).to_vec();
    for directory in local.chain(named) {
        if !directories.contains(&directory) {
            directories.push(directory);
        }
    }
    directories
}

/// Returns the canonical path of a directory that only root can write to or replace, which
/// includes all its parents; `None` for any other directory.
fn root_directory(directory: &Path) -> Option<PathBuf> {
    let real = fs::canonicalize(directory).ok()?;
    let is_roots = |path: &Path, exempt: u32| {
        path.metadata().is_ok_and(|metadata| {
            let mode = metadata.mode();
            metadata.is_dir() && metadata.uid() == 0 && (mode & 0o022 == 0 || mode & exempt != 0)
        })
    };
    // In a sticky directory, other users cannot rename files of root.
    let above = real.ancestors().skip(1).all(|above| is_roots(above, 0o1000));
    (above && is_roots(&real, 0)).then_some(real)
}

/// A device tool and the Debian package that contains it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tool {
    pub program: &'static str,
    pub package: &'static str,
}

/// Package of a program that the user named: completes "install the package …".
const UNKNOWN_PACKAGE: &str = "that provides it";

/// Lists signatures on a device.
pub(crate) const WIPEFS: Tool = Tool { program: "wipefs", package: "util-linux" };
/// Sends NVMe admin commands; used for a purge that the kernel does not take from this program.
pub(crate) const NVME: Tool = Tool { program: "nvme", package: "nvme-cli" };
/// Reads the health logs of ATA and SCSI devices.
pub(crate) const SMARTCTL: Tool = Tool { program: "smartctl", package: "smartmontools" };
/// Queries systemd units.
pub(crate) const SYSTEMCTL: Tool = Tool { program: "systemctl", package: "systemd" };

/// Sends ATA commands.
pub(crate) const HDPARM: Tool = Tool { program: "hdparm", package: "hdparm" };
/// Sends SCSI FORMAT UNIT.
pub(crate) const SG_FORMAT: Tool = Tool { program: "sg_format", package: "sg3-utils" };
/// Sends SCSI SANITIZE.
pub(crate) const SG_SANITIZE: Tool = Tool { program: "sg_sanitize", package: "sg3-utils" };
/// Lists the SCSI commands that a device supports.
pub(crate) const SG_OPCODES: Tool = Tool { program: "sg_opcodes", package: "sg3-utils" };
/// Reads the progress of a SCSI command.
pub(crate) const SG_REQUESTS: Tool = Tool { program: "sg_requests", package: "sg3-utils" };
/// Checks whether a SCSI device is ready.
pub(crate) const SG_TURS: Tool = Tool { program: "sg_turs", package: "sg3-utils" };

/// A program to start.
#[derive(Debug, Clone, Copy)]
pub struct ProgramCall<'a> {
    /// Name or path, as [`find_program`] takes it.
    pub program: &'a str,
    /// Arguments, given to no shell.
    pub arguments: &'a [&'a str],
    /// Variable that the program and its children have in their environment.
    pub variable: Option<EnvironmentVariable<'a>>,
}

/// A variable in the environment of a program.
#[derive(Debug, Clone, Copy)]
pub struct EnvironmentVariable<'a> {
    /// Name, without `=`.
    pub name: &'a str,
    /// Value.
    pub value: &'a str,
}

/// Starts programs and measures their time; implemented by this machine and by the fault simulator.
pub trait ProgramHost {
    /// Starts a program in a process group of its own; with a variable, in a session of its own.
    ///
    /// # Errors
    /// The program was not found or cannot be executed.
    fn start(&self, call: &ProgramCall<'_>) -> io::Result<Box<dyn HostedProgram>>;

    /// Returns the path of an installed program; `None` if it was not found.
    fn path_of(&self, program: &str) -> Option<PathBuf>;

    /// Returns the time of a monotonic clock.
    fn now(&self) -> Duration;

    /// Waits for at least this long.
    fn pause(&self, time: Duration);

    /// Opens an NVMe controller.
    ///
    /// # Errors
    /// The node cannot be opened, or is another device.
    fn open_admin_queue(&self, node: &NvmeNode) -> Result<Box<dyn AdminQueue>, HostError> {
        Ok(Box::new(node.open()?))
    }

    /// Calls `send`, which blocks, in a thread of its own, and `each` repeatedly until it returns.
    ///
    /// # Errors
    /// Returns the error of `send`.
    fn send_in_thread(
        &self,
        send: &mut BlockingCall<'_>,
        each: &mut dyn FnMut(),
    ) -> Result<u32, HostError> {
        thread::scope(|scope| {
            let sent = scope.spawn(send);
            loop {
                each();
                if sent.is_finished() {
                    break;
                }
                thread::sleep(SEND_INTERVAL);
            }
            sent.join().unwrap_or_else(|panic| resume_unwind(panic))
        })
    }
}

/// A call that blocks, such as an NVMe command that completes when the device has finished.
pub type BlockingCall<'a> = dyn FnMut() -> Result<u32, HostError> + Send + 'a;

/// An output of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// A program that a [`ProgramHost`] started.
pub trait HostedProgram {
    /// Returns the process ID, which is also the ID of its process group.
    fn id(&self) -> u32;

    /// Returns the exit status; `None` if the program still runs.
    ///
    /// # Errors
    /// The kernel's error if the exit status is unknown.
    fn try_wait(&mut self) -> io::Result<Option<ExitStatus>>;

    /// Reads what an output has; 0 at its end.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] if the output has nothing now.
    fn read(&mut self, stream: OutputStream, buffer: &mut [u8]) -> io::Result<usize>;

    /// Kills the program with its process group, and waits until it has ended.
    fn kill_group(&mut self);
}

/// Runs device tools and opens devices for their own commands; implemented for every
/// [`ProgramHost`] and, in tests, by a transcript.
pub(crate) trait Tools {
    /// Opens an NVMe controller for admin commands.
    ///
    /// # Errors
    /// The node cannot be opened, or is another device.
    fn open_nvme<'a>(&'a self, node: &NvmeNode) -> Result<Box<dyn NvmeAdmin + 'a>, HostError>;

    /// Runs a tool and accepts any exit status. Calls `each` repeatedly with the time since the
    /// tool started.
    ///
    /// # Errors
    /// The tool is not installed, takes longer than `limit`, or its output remains open after it
    /// exits.
    fn ask(
        &self,
        tool: Tool,
        arguments: &[&str],
        limit: Duration,
        each: &mut dyn FnMut(Duration),
    ) -> Result<ToolOutput, HostError>;

    /// Returns the host that runs the user's programs.
    fn host(&self) -> &dyn ProgramHost;

    /// Waits between two queries of a device.
    fn pause(&self, time: Duration);

    /// Returns the path of the tool's program; `None` if it is not installed.
    fn path_of(&self, tool: Tool) -> Option<PathBuf>;

    /// Runs a tool and returns what it printed to standard output.
    ///
    /// # Errors
    /// As [`Tools::ask`], and if the tool exits with a status other than 0.
    fn run(&self, tool: Tool, arguments: &[&str], limit: Duration) -> Result<String, HostError> {
        self.run_long(tool, arguments, limit, &mut |_| {})
    }

    /// Runs a tool as [`Tools::run`] does. Calls `each` repeatedly with the time since it started.
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

impl<H: ProgramHost> Tools for H {
    fn open_nvme<'a>(&'a self, node: &NvmeNode) -> Result<Box<dyn NvmeAdmin + 'a>, HostError> {
        let queue = self.open_admin_queue(node)?;
        Ok(Box::new(NvmeController { queue, path: node.path.clone() }))
    }

    fn ask(
        &self,
        tool: Tool,
        arguments: &[&str],
        limit: Duration,
        each: &mut dyn FnMut(Duration),
    ) -> Result<ToolOutput, HostError> {
        let call = ProgramCall { program: tool.program, arguments, variable: None };
        run_program(self, &call, tool.package, limit, each)
    }

    fn host(&self) -> &dyn ProgramHost {
        self
    }

    fn pause(&self, time: Duration) {
        ProgramHost::pause(self, time);
    }

    fn path_of(&self, tool: Tool) -> Option<PathBuf> {
        ProgramHost::path_of(self, tool.program)
    }
}

/// The tools installed on this machine.
pub(crate) struct InstalledTools;

impl ProgramHost for InstalledTools {
    fn start(&self, call: &ProgramCall<'_>) -> io::Result<Box<dyn HostedProgram>> {
        let mut command = command(call.program.as_ref())?;
        command.args(call.arguments);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Ctrl-C must reach only this process: a device operation must not be interrupted.
        match call.variable {
            None => command.process_group(0),
            Some(EnvironmentVariable { name, value }) => {
                // SAFETY: setsid is async-signal-safe and touches no memory. It cannot fail here,
                // because a newly forked process does not lead a group.
                unsafe {
                    command.env(name, value).pre_exec(|| {
                        libc::setsid();
                        Ok(())
                    })
                }
            }
        };
        Ok(Box::new(ChildProgram::new(command.spawn()?)))
    }

    fn path_of(&self, program: &str) -> Option<PathBuf> {
        find_program(program.as_ref()).ok()
    }

    fn now(&self) -> Duration {
        Duration::from_nanos(monotonic().0)
    }

    fn pause(&self, time: Duration) {
        thread::sleep(time);
    }
}

/// A child process of this program. Its pipes are `None` once they were read to their end.
struct ChildProgram {
    child: Child,
    stdout: Option<File>,
    stderr: Option<File>,
}

impl ChildProgram {
    fn new(mut child: Child) -> ChildProgram {
        fn unblocked(pipe: impl Into<OwnedFd>) -> Option<File> {
            let pipe = File::from(pipe.into());
            fcntl_setfl(&pipe, OFlags::NONBLOCK).ok().map(|()| pipe)
        }
        let stdout = child.stdout.take().and_then(unblocked);
        let stderr = child.stderr.take().and_then(unblocked);
        ChildProgram { child, stdout, stderr }
    }
}

impl HostedProgram for ChildProgram {
    fn id(&self) -> u32 {
        self.child.id()
    }

    fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    fn read(&mut self, stream: OutputStream, buffer: &mut [u8]) -> io::Result<usize> {
        let pipe = match stream {
            OutputStream::Stdout => &mut self.stdout,
            OutputStream::Stderr => &mut self.stderr,
        };
        let length = pipe.as_mut().ok_or(io::ErrorKind::BrokenPipe)?.read(buffer)?;
        if length == 0 {
            *pipe = None;
        }
        Ok(length)
    }

    fn kill_group(&mut self) {
        // SAFETY: kill has no preconditions; the group exists until the child is waited for.
        unsafe { libc::kill(-(self.child.id() as i32), libc::SIGKILL) };
        let _ = self.child.wait();
    }
}

impl Drop for ChildProgram {
    /// Leaves readers to the processes that still have the pipes open: without a reader, their next
    /// output would kill them in the middle of a device operation.
    fn drop(&mut self) {
        for mut pipe in [self.stdout.take(), self.stderr.take()].into_iter().flatten() {
            if clear_flags(&pipe, libc::O_NONBLOCK).is_ok() {
                let drain = move || io::copy(&mut pipe, &mut io::sink());
                let _ = thread::Builder::new().spawn(drain);
            }
        }
    }
}

/// Exit status and output of a program that exited by itself.
#[derive(Debug)]
pub(crate) struct ToolOutput {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

/// Runs a program that the user named on a host, and accepts any exit status.
///
/// # Errors
/// As [`Tools::ask`]; a program that takes longer than `limit` is killed.
pub(crate) fn ask_on(
    host: &dyn ProgramHost,
    program: &str,
    arguments: &[&str],
    limit: Duration,
) -> Result<ToolOutput, HostError> {
    let call = ProgramCall { program, arguments, variable: None };
    run_program(host, &call, UNKNOWN_PACKAGE, limit, &mut |_| {})
}

fn run_program(
    host: &dyn ProgramHost,
    call: &ProgramCall<'_>,
    package: &'static str,
    limit: Duration,
    each: &mut dyn FnMut(Duration),
) -> Result<ToolOutput, HostError> {
    let mut started = StartedProgram::start(host, call, package)?;
    let status = started.wait(limit, each);
    started.into_end(status, limit).into_output(command_line(call.program, call.arguments))
}

/// End of a program, as far as it is known.
#[derive(Debug)]
pub(crate) struct ProgramEnd {
    /// Exit status; the reason in words if the program was killed or its status is unknown.
    pub status: Result<ExitStatus, String>,
    /// The last [`OUTPUT_MAX`] bytes of standard output, as far as it was read.
    pub stdout: String,
    /// The same for standard error.
    pub stderr: String,
    /// Reason why `stdout` is not the whole output; `None` if it is.
    missing: Option<String>,
}

impl ProgramEnd {
    /// Returns the output of a program that exited by itself.
    ///
    /// # Errors
    /// Returns [`HostError::ToolFailed`] for any other end.
    fn into_output(self, command: String) -> Result<ToolOutput, HostError> {
        let how = match (self.status, self.missing) {
            (Ok(status), None) => {
                let (stdout, stderr) = (self.stdout, self.stderr);
                return Ok(ToolOutput { status, stdout, stderr });
            }
            (Ok(status), Some(missing)) if status.success() => missing,
            (Ok(status), Some(missing)) => format!("{status}; {missing}"),
            (Err(how), _) => how,
        };
        Err(failed(command, how, &self.stdout, &self.stderr))
    }
}

/// Processes that a program left when it ended.
#[derive(Debug)]
pub(crate) struct LeftProcesses {
    /// A process that still ran when the time was over; `None` if all had ended. The error if they
    /// could not be listed.
    pub running: Result<Option<u32>, HostError>,
    /// Time that was spent waiting for them.
    pub awaited: Duration,
}

/// Runs a program that the user named in a session of its own, with a variable in its environment
/// that its children inherit, and then waits until none of its processes is left, for at most
/// `limit`. `left` returns one of them: a process of the session, or one with the variable. A
/// process that is left is not killed, because a device operation must not be interrupted.
///
/// # Errors
/// The program cannot be started.
pub(crate) fn run_with_descendants(
    host: &dyn ProgramHost,
    call: &ProgramCall<'_>,
    limit: Duration,
    each: &mut dyn FnMut(Duration),
    left: &dyn Fn(u32) -> Result<Option<u32>, HostError>,
) -> Result<(ProgramEnd, LeftProcesses), HostError> {
    let mut started = StartedProgram::start(host, call, UNKNOWN_PACKAGE)?;
    let status = started.wait(limit, each);
    let left_limit = if matches!(status, Ok(Some(_))) { limit } else { AFTER_EXIT_MAX };
    let left_processes = started.await_descendants(left_limit, each, left);
    Ok((started.into_end(status, limit), left_processes))
}

/// A program whose output is being read.
struct StartedProgram<'h> {
    host: &'h dyn ProgramHost,
    program: Box<dyn HostedProgram>,
    stdout: ProgramOutput,
    stderr: ProgramOutput,
    /// Buffer of [`PART`] bytes.
    part: Vec<u8>,
}

impl<'h> StartedProgram<'h> {
    fn start(
        host: &'h dyn ProgramHost,
        call: &ProgramCall<'_>,
        package: &'static str,
    ) -> Result<StartedProgram<'h>, HostError> {
        let program = host.start(call).map_err(|error| match error.kind() {
            // A directory in PATH without search permission causes PermissionDenied.
            io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => {
                HostError::ToolMissing { tool: call.program.to_owned(), package }
            }
            _ => HostError::io("run it", call.program.as_ref(), error),
        })?;
        let (stdout, stderr) = (ProgramOutput::default(), ProgramOutput::default());
        Ok(StartedProgram { host, program, stdout, stderr, part: vec![0; PART] })
    }

    /// Reads what the program has printed, so that it does not block on a full pipe.
    fn read(&mut self) {
        self.stdout.read(OutputStream::Stdout, &mut *self.program, &mut self.part);
        self.stderr.read(OutputStream::Stderr, &mut *self.program, &mut self.part);
    }

    /// Waits until the program exits. Kills it after `limit`, and then returns `None`.
    ///
    /// # Errors
    /// Returns the kernel's error if the exit status is unknown.
    fn wait(
        &mut self,
        limit: Duration,
        each: &mut dyn FnMut(Duration),
    ) -> io::Result<Option<ExitStatus>> {
        let status = poll_exit(self.host, limit, each, &mut || {
            self.read();
            self.program.try_wait()
        });
        // A program of unknown status is no child any more, and another one may have its number.
        if matches!(status, Ok(None)) {
            self.program.kill_group();
        }
        status
    }

    /// Waits until `left` finds no process of the program's session, for at most `limit`.
    fn await_descendants(
        &mut self,
        limit: Duration,
        each: &mut dyn FnMut(Duration),
        left: &dyn Fn(u32) -> Result<Option<u32>, HostError>,
    ) -> LeftProcesses {
        let mut awaited = Duration::ZERO;
        let began = self.host.now();
        loop {
            let running = left(self.program.id());
            if !matches!(running, Ok(Some(_))) || self.host.now() - began >= limit {
                return LeftProcesses { running, awaited };
            }
            each(self.host.now() - began);
            self.host.pause(DESCENDANTS_INTERVAL);
            self.read();
            awaited = self.host.now() - began;
        }
    }

    /// Collects the output; waits at most [`AFTER_EXIT_MAX`] if a child process keeps it open after
    /// the program exits. `status` and `limit` are those of [`Self::wait`].
    fn into_end(mut self, status: io::Result<Option<ExitStatus>>, limit: Duration) -> ProgramEnd {
        let began = self.host.now();
        self.read();
        while !(self.stdout.is_over && self.stderr.is_over)
            && self.host.now() - began < AFTER_EXIT_MAX
        {
            self.host.pause(POLL_INTERVAL);
            self.read();
        }
        let status = match status {
            Ok(Some(status)) => Ok(status),
            Ok(None) => Err(format!("no answer within {} s", limit.as_secs())),
            Err(error) => Err(format!("its exit status is unknown: {error}")),
        };
        self.stdout.cut();
        self.stderr.cut();
        let missing = self.stdout.missing();
        let (stdout, stderr) = (self.stdout.into_text(), self.stderr.into_text());
        ProgramEnd { status, stdout, stderr, missing }
    }
}

/// The end of an output of a program, as far as it was read.
#[derive(Debug, Default)]
struct ProgramOutput {
    bytes: Vec<u8>,
    /// True if earlier bytes were dropped.
    is_cut: bool,
    /// True if nothing more can be read.
    is_over: bool,
    /// True if it was read to its end.
    is_ended: bool,
}

impl ProgramOutput {
    /// Reads what the program has printed, at most [`PARTS_MAX`] parts of it.
    fn read(&mut self, stream: OutputStream, program: &mut dyn HostedProgram, part: &mut [u8]) {
        if self.is_over {
            return;
        }
        for _ in 0..PARTS_MAX {
            match program.read(stream, part) {
                Ok(0) => {
                    (self.is_over, self.is_ended) = (true, true);
                    return;
                }
                Ok(length) => self.append(&part[..length]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.is_over = error.kind() != io::ErrorKind::WouldBlock;
                    return;
                }
            }
        }
    }

    fn append(&mut self, part: &[u8]) {
        self.bytes.extend(part);
        // Seldom, because the rest is moved.
        if self.bytes.len() >= 2 * OUTPUT_MAX {
            self.cut();
        }
    }

    fn cut(&mut self) {
        let excess = self.bytes.len().saturating_sub(OUTPUT_MAX);
        self.bytes.drain(..excess);
        self.is_cut |= excess > 0;
    }

    /// Returns the reason why this is not the whole output; `None` if it is.
    fn missing(&self) -> Option<String> {
        if !self.is_ended {
            Some("a program that it started keeps its output open".to_owned())
        } else if self.is_cut {
            Some(format!("it printed more than {} KiB", OUTPUT_MAX >> 10))
        } else {
            None
        }
    }

    fn into_text(self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

fn command_line(program: &str, arguments: &[&str]) -> String {
    format!("{program} {}", arguments.join(" ")).trim_end().to_owned()
}

/// Returns the error of a command with the end of its standard error, or of its standard output if
/// standard error is empty.
pub(crate) fn failed(command: String, how: String, stdout: &str, stderr: &str) -> HostError {
    let output = if stderr.trim().is_empty() { stdout } else { stderr };
    let output = excerpt_end(&output.trim().replace('\n', "; "));
    HostError::ToolFailed { command, how, output }
}

/// Returns the end of a program's output in printable characters.
pub(crate) fn excerpt_end(output: &str) -> String {
    let is_kept = |c: &char| *c == '\n' || !c.is_control();
    let kept = output.trim().chars().rev().filter(is_kept).take(EXCERPT_MAX);
    kept.collect::<Vec<_>>().into_iter().rev().collect()
}

/// Waits until a process exits; returns `None` if it still runs after `limit`. Calls `each`
/// repeatedly with the time since the call.
///
/// # Errors
/// Returns the kernel's error if the exit status is unknown.
pub(crate) fn wait_for_exit(
    child: &mut Child,
    limit: Duration,
    each: &mut dyn FnMut(Duration),
) -> io::Result<Option<ExitStatus>> {
    poll_exit(&InstalledTools, limit, each, &mut || child.try_wait())
}

/// Waits as [`wait_for_exit`] does; `try_wait` returns the exit status once the process has ended.
fn poll_exit(
    host: &dyn ProgramHost,
    limit: Duration,
    each: &mut dyn FnMut(Duration),
    try_wait: &mut dyn FnMut() -> io::Result<Option<ExitStatus>>,
) -> io::Result<Option<ExitStatus>> {
    let began = host.now();
    loop {
        if let Some(status) = try_wait()? {
            return Ok(Some(status));
        }
        let elapsed = host.now() - began;
        if elapsed >= limit {
            return Ok(None);
        }
        each(elapsed);
        host.pause(POLL_INTERVAL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::time::Instant;

    const SECOND: Duration = Duration::from_secs(1);

    fn run(
        program: &'static str,
        arguments: &[&str],
        limit: Duration,
    ) -> Result<String, HostError> {
        InstalledTools.run(Tool { program, package: "some-package" }, arguments, limit)
    }

    fn ask(program: &str, arguments: &[&str], limit: Duration) -> Result<ToolOutput, HostError> {
        ask_on(&InstalledTools, program, arguments, limit)
    }

    #[test]
    fn the_end_of_an_output_is_kept_without_control_characters() {
        assert_eq!(excerpt_end(" a\u{1b}[31m\nb\r\n"), "a[31m\nb");
        let long: String = (0..3000).map(|n| if n == 2999 { 'z' } else { 'a' }).collect();
        let end = excerpt_end(&long);
        assert_eq!((end.len(), end.ends_with("az")), (EXCERPT_MAX, true));
        let lines = failed("tool".to_owned(), "it failed".to_owned(), &"y\n".repeat(3000), "");
        let HostError::ToolFailed { output, .. } = &lines else { panic!("{lines}") };
        assert_eq!((output.len(), output.ends_with("; y; y")), (EXCERPT_MAX, true));
    }

    #[test]
    fn an_output_beyond_the_limit_is_read_and_dropped() {
        let print = |bytes: usize| format!("head -c {bytes} /dev/zero; echo end");
        let whole = ask("sh", &["-c", &print(OUTPUT_MAX - 4)], 60 * SECOND).unwrap();
        assert_eq!(whole.stdout.len(), OUTPUT_MAX);
        let error = ask("sh", &["-c", &print(5 << 20)], 60 * SECOND).unwrap_err();
        let HostError::ToolFailed { how, output, .. } = &error else { panic!("{error}") };
        assert_eq!((how.as_str(), output.as_str()), ("it printed more than 1024 KiB", "end"));
    }

    /// The status of its child was taken by another.
    struct LostProgram;

    impl HostedProgram for LostProgram {
        fn id(&self) -> u32 {
            1
        }
        fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
            Err(io::Error::from_raw_os_error(libc::ECHILD))
        }
        fn read(&mut self, _: OutputStream, _: &mut [u8]) -> io::Result<usize> {
            Ok(0)
        }
        fn kill_group(&mut self) {
            panic!("another program may have its number");
        }
    }

    /// Host of a [`LostProgram`].
    struct LosingHost;

    impl ProgramHost for LosingHost {
        fn start(&self, _: &ProgramCall<'_>) -> io::Result<Box<dyn HostedProgram>> {
            Ok(Box::new(LostProgram))
        }
        fn path_of(&self, _: &str) -> Option<PathBuf> {
            None
        }
        fn now(&self) -> Duration {
            ProgramHost::now(&InstalledTools)
        }
        fn pause(&self, time: Duration) {
            thread::sleep(time);
        }
    }

    #[test]
    fn a_program_of_unknown_status_is_not_killed() {
        let error = ask_on(&LosingHost, "tool", &[], SECOND).unwrap_err().to_string();
        assert!(error.contains("its exit status is unknown: No child processes"), "{error}");
    }

    /// Without a reader, its next output would kill it.
    #[test]
    fn a_process_that_is_left_behind_can_still_print() {
        let scratch = tempfile::tempdir().unwrap();
        let done = scratch.path().join("done");
        let script = format!("(sleep 1; seq 30000; touch {}) &", done.display());
        ask("sh", &["-c", &script], 60 * SECOND).unwrap_err();
        let began = Instant::now();
        while !done.exists() {
            assert!(began.elapsed() < 60 * SECOND);
            thread::sleep(POLL_INTERVAL);
        }
    }

    #[test]
    fn a_tool_is_given_its_arguments_as_they_are() {
        let output = run("printf", &["%s|", "a b", "$HOME", "; ls"], 10 * SECOND);
        assert_eq!(output.unwrap(), "a b|$HOME|; ls|");
    }

    #[test]
    fn more_output_than_a_pipe_holds_does_not_block() {
        let output = run("head", &["-c", "1000000", "/dev/zero"], 10 * SECOND);
        assert_eq!(output.unwrap().len(), 1_000_000);
    }

    #[test]
    fn tools_come_from_the_system_first_and_never_from_the_working_directory() {
        let own = tempfile::tempdir().unwrap();
        let open = own.path().join("open");
        std::fs::create_dir(&open).unwrap();
        std::fs::set_permissions(&open, PermissionsExt::from_mode(0o777)).unwrap();
        let path = format!("::.:bin:{}:{}:/usr/bin:", own.path().display(), open.display());
        for is_root in [true, false] {
            let directories = search_path_of(path.as_ref(), is_root);
            assert!(directories.iter().all(|directory| directory.is_absolute()), "{directories:?}");
            assert_eq!(directories[..4], SYSTEM_DIRECTORIES.map(PathBuf::from));
            assert_eq!(
                directories.iter().filter(|directory| directory.ends_with("usr/bin")).count(),
                1
            );
            assert_eq!(directories.contains(&open), !is_root);
            let is_ours = own.path().metadata().unwrap().uid() == 0;
            assert_eq!(directories.contains(&own.path().to_owned()), !is_root || is_ours);
        }
        // A link may be changed before the program is run, and another user may move a directory
        // away and put a new one in its place.
        let (link, inner) = (own.path().join("link"), open.join("inner"));
        std::os::unix::fs::symlink(own.path(), &link).unwrap();
        std::fs::create_dir(&inner).unwrap();
        let path = format!("{}:{}", link.display(), inner.display());
        let directories = search_path_of(path.as_ref(), true);
        assert!(!directories.contains(&link) && !directories.contains(&inner), "{directories:?}");
        assert_eq!(search_path_of("".as_ref(), true)[..4], SYSTEM_DIRECTORIES.map(PathBuf::from));
        assert!(find_program("sh".as_ref()).unwrap().is_absolute());
        assert!(find_program("./sh".as_ref()).unwrap().is_absolute());
        assert!(find_program("no-such-tool-here".as_ref()).is_err());
    }

    #[test]
    fn a_tool_has_our_search_path() {
        let path = run("sh", &["-c", "echo $PATH"], 10 * SECOND).unwrap();
        assert!(path.starts_with("/usr/sbin:/usr/bin:/sbin:/bin"), "{path}");
        assert!(path.trim().split(':').all(|directory| directory.starts_with('/')), "{path}");
    }

    #[test]
    fn a_missing_tool_names_its_package() {
        let error = run("no-such-tool-here", &[], SECOND).unwrap_err();
        assert_eq!(
            error.to_string(),
            "'no-such-tool-here' is not installed or may not be run; install the package some-package"
        );
    }

    #[test]
    fn a_failing_tool_says_why_and_a_hanging_one_is_ended() {
        let error = run("ls", &["/no/such/place"], 10 * SECOND).unwrap_err().to_string();
        assert!(error.contains("exit status: 2") && error.contains("No such file"), "{error}");
        let error = run("sleep", &["600"], Duration::from_millis(50)).unwrap_err();
        assert!(error.to_string().contains("no answer within"), "{error}");
    }

    #[test]
    fn a_program_left_behind_with_the_output_open_is_not_waited_for() {
        let began = Instant::now();
        let error = ask("sh", &["-c", "sleep 30 & echo done"], 60 * SECOND).unwrap_err();
        assert!(began.elapsed() < 30 * SECOND);
        assert!(error.to_string().contains("(a program that it started keeps its"), "{error}");
        let error = ask("sh", &["-c", "sleep 30 & exit 3"], 60 * SECOND).unwrap_err().to_string();
        assert!(error.contains("(exit status: 3; a program that it started keeps its"), "{error}");
        // Its messages are not needed.
        let quiet = "sleep 30 >/dev/null & echo done";
        let answer = ask("sh", &["-c", quiet], 60 * SECOND).unwrap();
        assert_eq!(answer.stdout, "done\n");
    }
}
