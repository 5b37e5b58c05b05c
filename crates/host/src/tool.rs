//! The only module that runs device tools: without a shell or standard input, with a time limit,
//! with stdout and stderr captured, and never a program that another user could have planted.

use crate::error::HostError;
use crate::nvme::{NvmeAdmin, NvmeNode};
use crate::user::is_root;
use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Interval between two searches for processes that a program left behind.
const DESCENDANTS_INTERVAL: Duration = Duration::from_millis(200);

/// Time that the output pipes of a program may stay open after it exits, and that its processes may
/// remain after it was killed.
const AFTER_EXIT_MAX: Duration = Duration::from_millis(500);

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

/// Runs device tools and opens devices for their own commands; implemented by the machine and, in
/// tests, by a transcript.
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

/// The tools installed on this machine.
pub(crate) struct InstalledTools;

impl Tools for InstalledTools {
    fn open_nvme<'a>(&'a self, node: &NvmeNode) -> Result<Box<dyn NvmeAdmin + 'a>, HostError> {
        Ok(Box::new(node.open()?))
    }

    fn ask(
        &self,
        tool: Tool,
        arguments: &[&str],
        limit: Duration,
        each: &mut dyn FnMut(Duration),
    ) -> Result<ToolOutput, HostError> {
        run_program(tool.program, tool.package, arguments, limit, each)
    }

    fn pause(&self, time: Duration) {
        std::thread::sleep(time);
    }

    fn path_of(&self, tool: Tool) -> Option<PathBuf> {
        find_program(tool.program.as_ref()).ok()
    }
}

/// Exit status and output of a program that exited by itself.
#[derive(Debug)]
pub(crate) struct ToolOutput {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

/// Runs a program that the user named and accepts any exit status.
///
/// # Errors
/// As [`Tools::ask`]; a program that takes longer than `limit` is killed.
pub(crate) fn ask(
    program: &str,
    arguments: &[&str],
    limit: Duration,
) -> Result<ToolOutput, HostError> {
    run_program(program, UNKNOWN_PACKAGE, arguments, limit, &mut |_| {})
}

fn run_program(
    program: &str,
    package: &'static str,
    arguments: &[&str],
    limit: Duration,
    each: &mut dyn FnMut(Duration),
) -> Result<ToolOutput, HostError> {
    let mut started = StartedProgram::new(spawn(program, package, arguments, None)?);
    let status = started.wait(limit, each);
    started.into_end(status, limit).into_output(command_line(program, arguments))
}

/// End of a program, as far as it is known.
#[derive(Debug)]
pub(crate) struct ProgramEnd {
    /// Exit status; the reason in words if the program was killed or its status is unknown.
    pub status: Result<ExitStatus, String>,
    /// Standard output, as far as it was read.
    pub stdout: String,
    /// Standard error, as far as it was read.
    pub stderr: String,
    /// True if standard output was read to its end.
    is_whole: bool,
}

impl ProgramEnd {
    /// Returns the output of a program that exited by itself.
    ///
    /// # Errors
    /// Returns [`HostError::ToolFailed`] for any other end.
    fn into_output(self, command: String) -> Result<ToolOutput, HostError> {
        let how = match self.status {
            Ok(status) if self.is_whole => {
                let (stdout, stderr) = (self.stdout, self.stderr);
                return Ok(ToolOutput { status, stdout, stderr });
            }
            Ok(_) => "a program that it started keeps its output open".to_owned(),
            Err(how) => how,
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
    program: &str,
    arguments: &[&str],
    variable: (&str, &str),
    limit: Duration,
    each: &mut dyn FnMut(Duration),
    left: &dyn Fn(u32) -> Result<Option<u32>, HostError>,
) -> Result<(ProgramEnd, LeftProcesses), HostError> {
    let spawned = spawn(program, UNKNOWN_PACKAGE, arguments, Some(variable))?;
    let mut started = StartedProgram::new(spawned);
    let status = started.wait(limit, each);
    let left_limit = if matches!(status, Ok(Some(_))) { limit } else { AFTER_EXIT_MAX };
    let left_processes = await_descendants(started.child.id(), left_limit, each, left);
    Ok((started.into_end(status, limit), left_processes))
}

/// Waits until `left` finds no process of a session, for at most `limit`.
fn await_descendants(
    session: u32,
    limit: Duration,
    each: &mut dyn FnMut(Duration),
    left: &dyn Fn(u32) -> Result<Option<u32>, HostError>,
) -> LeftProcesses {
    let mut awaited = Duration::ZERO;
    let began = Instant::now();
    loop {
        let running = left(session);
        if !matches!(running, Ok(Some(_))) || began.elapsed() >= limit {
            return LeftProcesses { running, awaited };
        }
        each(began.elapsed());
        std::thread::sleep(DESCENDANTS_INTERVAL);
        awaited = began.elapsed();
    }
}

/// A program whose output is being read.
struct StartedProgram {
    child: Child,
    stdout: PipeReader,
    stderr: PipeReader,
}

impl StartedProgram {
    fn new(mut child: Child) -> StartedProgram {
        let stdout = PipeReader::start(child.stdout.take());
        let stderr = PipeReader::start(child.stderr.take());
        StartedProgram { child, stdout, stderr }
    }

    /// Waits until the program exits. Kills it after `limit`, and then returns `None`.
    ///
    /// # Errors
    /// Returns the kernel's error if the exit status is unknown; the program is killed then.
    fn wait(
        &mut self,
        limit: Duration,
        each: &mut dyn FnMut(Duration),
    ) -> io::Result<Option<ExitStatus>> {
        let child = &mut self.child;
        let status = wait_for_exit(child, limit, each);
        if !matches!(status, Ok(Some(_))) {
            // Its pipes close only when it exits, and the reader threads wait for that. The
            // programs that it started belong to its process group.
            if status.is_ok() {
                // SAFETY: kill has no preconditions; the group exists until the child is waited
                // for.
                unsafe { libc::kill(-(child.id() as i32), libc::SIGKILL) };
            } else {
                // It may have been waited for, and another program may have its number.
                let _ = child.kill();
            }
            let _ = child.wait();
        }
        status
    }

    /// Collects the output. `status` and `limit` are those of [`Self::wait`].
    fn into_end(self, status: io::Result<Option<ExitStatus>>, limit: Duration) -> ProgramEnd {
        let (stdout, is_whole) = self.stdout.collect();
        let (stderr, _) = self.stderr.collect();
        let status = match status {
            Ok(Some(status)) => Ok(status),
            Ok(None) => Err(format!("no answer within {} s", limit.as_secs())),
            Err(error) => Err(format!("its exit status is unknown: {error}")),
        };
        ProgramEnd { status, stdout, stderr, is_whole }
    }
}

fn command_line(program: &str, arguments: &[&str]) -> String {
    format!("{program} {}", arguments.join(" ")).trim_end().to_owned()
}

fn failed(command: String, how: String, stdout: &str, stderr: &str) -> HostError {
    let output = if stderr.trim().is_empty() { stdout } else { stderr };
    HostError::ToolFailed { command, how, output: output.trim().replace('\n', "; ") }
}

/// Starts a program in a process group of its own; with a variable, in a session of its own.
fn spawn(
    program: &str,
    package: &'static str,
    arguments: &[&str],
    variable: Option<(&str, &str)>,
) -> Result<Child, HostError> {
    let missing = |error: io::Error| match error.kind() {
        // A directory in PATH without search permission causes PermissionDenied.
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => {
            HostError::ToolMissing { tool: program.to_owned(), package }
        }
        _ => HostError::io("run it", program.as_ref(), error),
    };
    let mut command = command(program.as_ref()).map_err(missing)?;
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // Ctrl-C must reach only this process: a device operation must not be interrupted.
    match variable {
        None => command.process_group(0),
        Some((name, value)) => {
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
    command.spawn().map_err(missing)
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
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if began.elapsed() >= limit {
            return Ok(None);
        }
        each(began.elapsed());
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Reads a pipe to its end in a thread of its own, so that a tool never blocks on a full pipe.
struct PipeReader {
    /// Content read so far.
    bytes: Arc<Mutex<Vec<u8>>>,
    /// True if the pipe was read to its end.
    thread: JoinHandle<bool>,
}

impl PipeReader {
    fn start(pipe: Option<impl Read + Send + 'static>) -> PipeReader {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&bytes);
        let thread = std::thread::spawn(move || {
            let Some(mut pipe) = pipe else { return false };
            let mut part = vec![0; 1 << 16];
            loop {
                match pipe.read(&mut part) {
                    Ok(0) => return true,
                    Ok(length) => {
                        shared
                            .lock()
                            .unwrap_or_else(PoisonError::into_inner)
                            .extend(&part[..length]);
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(_) => return false,
                }
            }
        });
        PipeReader { bytes, thread }
    }

    /// Returns the text that was read, and true if it is complete. If a child process keeps the
    /// pipe open after the program exits, waits at most [`AFTER_EXIT_MAX`].
    fn collect(self) -> (String, bool) {
        let began = Instant::now();
        while !self.thread.is_finished() && began.elapsed() < AFTER_EXIT_MAX {
            std::thread::sleep(POLL_INTERVAL);
        }
        let is_whole = self.thread.is_finished() && self.thread.join().unwrap_or(false);
        let bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        (String::from_utf8_lossy(&bytes).into_owned(), is_whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    const SECOND: Duration = Duration::from_secs(1);

    fn run(
        program: &'static str,
        arguments: &[&str],
        limit: Duration,
    ) -> Result<String, HostError> {
        InstalledTools.run(Tool { program, package: "some-package" }, arguments, limit)
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
        assert!(error.to_string().contains("keeps its output open"), "{error}");
        // Its messages are not needed.
        let quiet = "sleep 30 >/dev/null & echo done";
        let answer = ask("sh", &["-c", quiet], 60 * SECOND).unwrap();
        assert_eq!(answer.stdout, "done\n");
    }
}
