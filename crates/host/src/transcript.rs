//! Simulated device tools for tests, which answer from a transcript.

use crate::error::HostError;
use crate::tool::{Tool, ToolOutput, Tools};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

/// Expected commands in order, with their output.
#[derive(Default)]
pub(crate) struct Transcript {
    lines: RefCell<VecDeque<ExpectedCommand>>,
}

/// Exit code in a transcript that stands for no answer.
const HANGS: i32 = -1;

struct ExpectedCommand {
    command: String,
    code: i32,
    stdout: String,
    stderr: String,
    effect: Option<Box<dyn Fn()>>,
}

impl Transcript {
    /// Expects a command that prints this and exits with 0.
    pub fn says(self, command: &str, stdout: &str) -> Self {
        self.line(command, 0, stdout, "", None)
    }

    /// Expects a command that prints this and exits with 0; `effect` changes the simulated device.
    pub fn does(self, command: &str, stdout: &str, effect: impl Fn() + 'static) -> Self {
        self.line(command, 0, stdout, "", Some(Box::new(effect)))
    }

    /// Expects a command that fails with this exit code; 127 means that the tool is missing.
    pub fn fails(self, command: &str, code: i32, stderr: &str) -> Self {
        self.line(command, code, "", stderr, None)
    }

    /// Expects a command that does not answer in time.
    pub fn hangs(self, command: &str) -> Self {
        self.line(command, HANGS, "", "", None)
    }

    fn line(
        self,
        command: &str,
        code: i32,
        stdout: &str,
        stderr: &str,
        effect: Option<Box<dyn Fn()>>,
    ) -> Self {
        let (command, stdout, stderr) = (command.to_owned(), stdout.to_owned(), stderr.to_owned());
        self.lines.borrow_mut().push_back(ExpectedCommand {
            command,
            code,
            stdout,
            stderr,
            effect,
        });
        self
    }

    /// Returns true if every expected command was run.
    pub fn is_over(&self) -> bool {
        self.lines.borrow().is_empty()
    }
}

impl Tools for Transcript {
    fn ask(
        &self,
        tool: Tool,
        arguments: &[&str],
        _: Duration,
        each: &mut dyn FnMut(Duration),
    ) -> Result<ToolOutput, HostError> {
        let asked = format!("{} {}", tool.program, arguments.join(" "));
        let Some(line) = self.lines.borrow_mut().pop_front() else {
            panic!("unexpected command '{asked}'");
        };
        let (asked_of, device) = split_device(&asked);
        assert_eq!(split_device(&line.command).0, asked_of, "with {device}");
        if line.code == 127 {
            let tool = tool.program.to_owned();
            return Err(HostError::ToolMissing { tool, package: "some-package" });
        }
        if line.code == HANGS {
            let how = "no answer within the limit".to_owned();
            return Err(HostError::ToolFailed { command: asked, how, said: String::new() });
        }
        each(Duration::from_secs(1));
        if let Some(effect) = line.effect {
            effect();
        }
        Ok(ToolOutput {
            status: ExitStatus::from_raw(line.code << 8),
            stdout: line.stdout,
            stderr: line.stderr,
        })
    }

    fn pause(&self, _: Duration) {}

    fn path_of(&self, tool: Tool) -> Option<PathBuf> {
        Some(PathBuf::from("/usr/sbin").join(tool.program))
    }
}

/// Returns a command without the directory of its device, which differs between tests, and the
/// path of the device.
fn split_device(command: &str) -> (String, String) {
    let mut device = String::new();
    let words = command.split(' ').map(|word| match word.rsplit_once("dev/") {
        Some((directory, name)) if word.starts_with('/') => {
            device = format!("{directory}dev/{name}");
            name
        }
        _ => word,
    });
    (words.collect::<Vec<_>>().join(" "), device)
}
