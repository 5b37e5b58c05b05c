//! The one place from which device tools are run: no shell, no standard input,
//! a time limit, both outputs captured, and no program that somebody else could
//! have put where it was found.

use crate::error::HostError;
use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often a running tool is looked at.
const POLL: Duration = Duration::from_millis(5);

/// How long the outputs of a program that has ended may stay open.
const LINGER: Duration = Duration::from_millis(500);

/// Where the system's own programs are.
const SYSTEM: [&str; 4] = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// Where the administrator's own are.
const LOCAL: [&str; 2] = ["/usr/local/sbin", "/usr/local/bin"];

/// Where a program lies: in the system's directories, then in the
/// administrator's, then along the user's path. Root takes nothing from a
/// directory that others can write to, and nobody anything from one that is
/// named relative to wherever we are. What is given as a path is that path.
///
/// # Errors
/// Where it is nowhere.
pub fn find_program(name: &Path) -> io::Result<PathBuf> {
    if name.components().count() > 1 || name.is_absolute() {
        return std::path::absolute(name);
    }
    let is_program = |path: &PathBuf| {
        path.metadata().is_ok_and(|found| found.is_file() && found.mode() & 0o111 != 0)
    };
    let mut found = search_path().into_iter().map(|directory| directory.join(name));
    // SAFETY: geteuid has no preconditions and cannot fail.
    let is_root = unsafe { libc::geteuid() } == 0;
    found
        .find(|path| is_program(path) && (!is_root || is_roots_alone(path)))
        .ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// Returns true if only root can change or replace the program, links followed.
fn is_roots_alone(path: &Path) -> bool {
    let Ok(real) = fs::canonicalize(path) else { return false };
    let is_roots = real.metadata().is_ok_and(|found| found.uid() == 0 && found.mode() & 0o022 == 0);
    is_roots && real.parent().is_some_and(|above| roots_alone(above).is_some())
}

/// A program that is about to be run, which finds others where we do.
///
/// # Errors
/// As [`find_program`].
pub fn command(name: &Path) -> io::Result<Command> {
    let mut command = Command::new(find_program(name)?);
    // Joining fails only on a colon in a name, and then none is better.
    command.env("PATH", env::join_paths(search_path()).unwrap_or_default()).env("LC_ALL", "C");
    Ok(command)
}

fn search_path() -> Vec<PathBuf> {
    // SAFETY: geteuid has no preconditions and cannot fail.
    let is_root = unsafe { libc::geteuid() } == 0;
    search_path_of(&env::var_os("PATH").unwrap_or_default(), is_root)
}

fn search_path_of(path: &OsStr, is_root: bool) -> Vec<PathBuf> {
    let local = LOCAL.map(PathBuf::from).into_iter().filter_map(|place| roots_alone(&place));
    let own = env::split_paths(path).filter(|place| place.is_absolute());
    let own = own.filter_map(|place| if is_root { roots_alone(&place) } else { Some(place) });
    let mut places: Vec<PathBuf> = SYSTEM.map(PathBuf::from).to_vec();
    for place in local.chain(own) {
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places
}

/// The real path of a directory that nobody but root can put anything into, nor
/// exchange for another: neither it nor what lies above it, and no link to it.
fn roots_alone(place: &Path) -> Option<PathBuf> {
    let real = fs::canonicalize(place).ok()?;
    let is_roots = |above: &Path, may: u32| {
        above.metadata().is_ok_and(|found| {
            let mode = found.permissions().mode();
            found.is_dir() && found.uid() == 0 && (mode & 0o022 == 0 || mode & may != 0)
        })
    };
    // In a sticky directory, others cannot rename what is root's.
    let above = real.ancestors().skip(1).all(|above| is_roots(above, 0o1000));
    (above && is_roots(&real, 0)).then_some(real)
}

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

    /// The path of the program that a tool is, where one is run.
    fn path_of(&self, tool: Tool) -> Option<PathBuf>;

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

    fn path_of(&self, tool: Tool) -> Option<PathBuf> {
        find_program(tool.program.as_ref()).ok()
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
    let missing = |error: io::Error| match error.kind() {
        // A directory of the path that may not be searched answers with the latter.
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => {
            HostError::ToolMissing { tool: program.to_owned(), package }
        }
        _ => HostError::io("run it", program.as_ref(), error),
    };
    command(program.as_ref())
        .map_err(missing)?
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // Ctrl-C is for us: a device tool is not ended in the middle of it.
        .process_group(0)
        .spawn()
        .map_err(missing)
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
    fn tools_come_from_the_system_first_and_never_from_where_we_are() {
        let own = tempfile::tempdir().unwrap();
        let open = own.path().join("open");
        std::fs::create_dir(&open).unwrap();
        std::fs::set_permissions(&open, PermissionsExt::from_mode(0o777)).unwrap();
        let path = format!("::.:bin:{}:{}:/usr/bin:", own.path().display(), open.display());
        for is_root in [true, false] {
            let places = search_path_of(path.as_ref(), is_root);
            assert!(places.iter().all(|place| place.is_absolute()), "{places:?}");
            assert_eq!(places[..4], SYSTEM.map(PathBuf::from));
            assert_eq!(places.iter().filter(|place| place.ends_with("usr/bin")).count(), 1);
            assert_eq!(places.contains(&open), !is_root);
            let is_ours = own.path().metadata().unwrap().uid() == 0;
            assert_eq!(places.contains(&own.path().to_owned()), !is_root || is_ours);
        }
        // A link may lead elsewhere by the time that the program is run, and what
        // is moved away makes room for something else.
        let (link, inner) = (own.path().join("link"), open.join("inner"));
        std::os::unix::fs::symlink(own.path(), &link).unwrap();
        std::fs::create_dir(&inner).unwrap();
        let path = format!("{}:{}", link.display(), inner.display());
        let places = search_path_of(path.as_ref(), true);
        assert!(!places.contains(&link) && !places.contains(&inner), "{places:?}");
        assert_eq!(search_path_of("".as_ref(), true)[..4], SYSTEM.map(PathBuf::from));
        assert!(find_program("sh".as_ref()).unwrap().is_absolute());
        assert!(find_program("./sh".as_ref()).unwrap().is_absolute());
        assert!(find_program("no-such-tool-here".as_ref()).is_err());
    }

    #[test]
    fn a_tool_finds_others_where_we_do() {
        let said = run(tool("sh"), &["-c", "echo $PATH"], 10 * SECOND).unwrap();
        assert!(said.starts_with("/usr/sbin:/usr/bin:/sbin:/bin"), "{said}");
        assert!(said.trim().split(':').all(|place| place.starts_with('/')), "{said}");
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
        let answer = ask("sh", "dash", &["-c", "sleep 30 & echo said"], 60 * SECOND).unwrap();
        assert!(answer.status.success());
        assert!(began.elapsed() < 30 * SECOND);
        assert_eq!(answer.stdout, "", "what is not complete is unknown");
    }
}
