//! A vendor's purge command: a program that the user names, run on the target without a shell.

use super::purge_command_line::PurgeCommandLine;
use super::purge_context::PurgeContext;
use crate::error::HostError;
use crate::identity::describe;
use crate::processes;
use crate::sysfs_node::SysfsNode;
use crate::system_roots::{self, SystemRoots};
use crate::target::{Target, length_of};
use crate::tool::{self, EnvironmentVariable, ProgramCall, ProgramHost};
use std::os::unix::fs::MetadataExt;
use std::time::Duration;
use steadfast_domain::Nanos;
use steadfast_domain::purge::PurgeCommandRecord;
use steadfast_domain::text::excerpt;

const VERSION_TIMEOUT: Duration = Duration::from_secs(10);

/// Environment variable that marks the command and every process that it starts; its value is the
/// device's kernel name.
const PURGE_VARIABLE: &str = "STEADFAST_PURGES";

/// A vendor's command for one device.
#[derive(Debug)]
pub(super) struct VendorCommand {
    words: Vec<String>,
    limit: Duration,
    node: SysfsNode,
    roots: SystemRoots,
    /// Other namespaces that the command may erase.
    pub siblings: Vec<SysfsNode>,
}

impl VendorCommand {
    /// Creates the command for a whole device.
    ///
    /// # Errors
    /// The program is not installed, with the reason in words.
    pub fn new(
        line: &PurgeCommandLine,
        node: SysfsNode,
        siblings: Vec<SysfsNode>,
        roots: &SystemRoots,
    ) -> Result<VendorCommand, String> {
        let words = line.words_for(&node.path(roots).to_string_lossy());
        match tool::find_program(words[0].as_ref()) {
            Ok(path) if path.is_file() => {
                Ok(VendorCommand { words, limit: line.limit, node, roots: roots.clone(), siblings })
            }
            _ => Err(format!("'{}' is not installed", words[0])),
        }
    }

    /// Runs the command, with the device's identity checked before and after it.
    pub fn carry_out(&self, work: &mut PurgeContext<'_>) -> Result<(), HostError> {
        self.check_identity(work.target)?;
        self.refuse_second(work.target)?;
        let version = self.version(work.tools.host());
        work.check_stop()?;
        // Asking for the version ran the program, which may have taken seconds.
        self.check_identity(work.target)?;
        let ran = self.run(work, version);
        // Also after a failure: the run may continue without a purge.
        self.check_identity(work.target)?;
        ran
    }

    /// Refuses to start the command while an earlier one still runs, such as one left by a killed run.
    fn refuse_second(&self, target: &Target) -> Result<(), HostError> {
        match self.find_running() {
            Ok(None) => Ok(()),
            Ok(Some(process)) => Err(self.still_runs(process)),
            Err(error) => Err(self.end_unknown(target, &error)),
        }
    }

    /// Returns the ID of a process that runs the command or was started by it.
    fn find_running(&self) -> Result<Option<u32>, HostError> {
        let left = processes::in_session_or_with(None, &self.variable(), &self.roots)?;
        if left.is_some() {
            return Ok(left);
        }
        let arguments: Vec<&[u8]> = self.words[1..].iter().map(|word| word.as_bytes()).collect();
        let program = file_name(self.words[0].as_bytes());
        for process in processes::all(&self.roots)? {
            let Some(line) = processes::read_file(&process, "cmdline", &self.roots)? else {
                continue;
            };
            let line = line.strip_suffix(b"\0").unwrap_or(&line);
            let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
            // An interpreter or sudo may precede the program.
            let index = words.len().checked_sub(arguments.len() + 1);
            let word = index.map(|index| file_name(words[index]));
            if words.ends_with(&arguments) && word == Some(program) {
                return Ok(system_roots::file_name(&process).parse().ok());
            }
        }
        Ok(None)
    }

    fn still_runs(&self, process: u32) -> HostError {
        HostError::PurgeStillRuns { command: self.words.join(" "), process }
    }

    fn end_unknown(&self, target: &Target, error: &HostError) -> HostError {
        HostError::PurgeEndUnknown {
            device: target.device().path.clone(),
            purge: self.words.join(" "),
            why: error.to_string(),
            check: "see with 'ps -e' that none of its processes runs".to_owned(),
        }
    }

    /// Returns the environment variable that marks the command's processes, as it is in `/proc`.
    fn variable(&self) -> String {
        format!("{PURGE_VARIABLE}={}", self.node.name)
    }

    /// Runs the command and waits until all its processes have ended, because one that it leaves
    /// behind may still erase. Sets the record of the command, however it ended.
    fn run(&self, work: &mut PurgeContext<'_>, version: Option<String>) -> Result<(), HostError> {
        let doing = format!("running {}", self.words[0]);
        let arguments: Vec<&str> = self.words[1..].iter().map(String::as_str).collect();
        let (variable, command) = (self.variable(), self.words.join(" "));
        let call = ProgramCall {
            program: &self.words[0],
            arguments: &arguments,
            variable: Some(EnvironmentVariable { name: PURGE_VARIABLE, value: &self.node.name }),
        };
        let (ended, left) = tool::run_with_descendants(
            work.tools.host(),
            &call,
            self.limit,
            &mut |_| work.report_uncancelable(&doing),
            &|session| processes::in_session_or_with(Some(session), &variable, &self.roots),
        )?;
        let output =
            tool::excerpt_end(&format!("{}\n{}", ended.stdout.trim(), ended.stderr.trim()));
        let how = match ended.status {
            Ok(status) if status.success() => None,
            Ok(status) => Some(status.to_string()),
            Err(how) => Some(how),
        };
        let end = match left.running {
            Err(error) => Err(self.end_unknown(work.target, &error)),
            Ok(Some(process)) => Err(self.still_runs(process)),
            Ok(None) => match &how {
                None => Ok(()),
                Some(how) => Err(HostError::ToolFailed {
                    command: command.clone(),
                    how: how.clone(),
                    output: output.replace('\n', "; "),
                }),
            },
        };
        let failure = match &end {
            Err(HostError::ToolFailed { .. }) | Ok(()) => how,
            Err(error) => Some(error.to_string()),
        };
        let awaited = Nanos::from(left.awaited);
        work.command = Some(PurgeCommandRecord { command, version, output, failure, awaited });
        end
    }

    /// Returns the first line that the program prints for `--version`; `None` if there is none.
    fn version(&self, host: &dyn ProgramHost) -> Option<String> {
        let answer = tool::ask_on(host, &self.words[0], &["--version"], VERSION_TIMEOUT).ok()?;
        let text = if answer.stdout.trim().is_empty() { answer.stderr } else { answer.stdout };
        let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
        answer.status.success().then(|| excerpt(line).to_string())
    }

    /// Checks that the path in the command leads to the armed device, and that the device has kept
    /// its identity and size.
    fn check_identity(&self, target: &Target) -> Result<(), HostError> {
        let armed = target.device();
        let changed = |why: String| HostError::PurgeChangedDevice {
            device: armed.path.clone(),
            command: self.words.join(" "),
            why,
        };
        let path = self.node.path(&self.roots);
        let path_device = path.metadata().map(|metadata| metadata.rdev()).ok();
        let target_device = target.file().metadata().map(|metadata| metadata.rdev()).ok();
        if path_device.is_none() || path_device != target_device {
            return Err(changed(format!("{} is another device now", path.display())));
        }
        if length_of(target.file()).ok() != Some(armed.capacity.0) {
            return Err(changed("its capacity has changed".to_owned()));
        }
        let current = describe(&self.node, &path, &self.roots);
        for (what, before, after) in [
            ("serial number", &armed.serial, &current.serial),
            ("model", &armed.model, &current.model),
            ("identifier (wwid)", &armed.wwid, &current.wwid),
        ] {
            if before != after {
                let shown = |text: &Option<String>| text.clone().unwrap_or_else(|| "none".into());
                let (before, after) = (shown(before), shown(after));
                return Err(changed(format!("its {what} was {before} and is {after}")));
            }
        }
        if armed.logical_sector != current.logical_sector {
            return Err(changed(format!(
                "its sectors had {} bytes and have {}",
                armed.logical_sector, current.logical_sector
            )));
        }
        Ok(())
    }
}

/// Returns the part of a path after its last slash.
fn file_name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}
