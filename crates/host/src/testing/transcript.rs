//! Simulated device tools and NVMe controllers for tests, which answer from a transcript.

use crate::error::HostError;
use crate::nvme::{AdminCommand, NvmeAdmin, NvmeNode, NvmeStatus};
use crate::tool::{InstalledTools, ProgramHost, Tool, ToolOutput, Tools};
use std::collections::VecDeque;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

/// Expected commands in order, with their output.
#[derive(Default)]
pub(crate) struct Transcript {
    expected: Mutex<VecDeque<ExpectedCommand>>,
    last_dwords: Mutex<[u32; 6]>,
}

struct ExpectedCommand {
    command: String,
    answer: ExpectedAnswer,
    effect: Option<Box<dyn Fn() + Send>>,
}

enum ExpectedAnswer {
    /// Exit code and output of a tool.
    Tool { code: i32, stdout: String, stderr: String },
    /// Data that an NVMe command returns.
    Data(Vec<u8>),
    /// Status of an NVMe command.
    Status(u16),
    /// Error of the kernel's call for an NVMe command.
    Call(i32),
}

impl Transcript {
    /// Expects a command that prints this and exits with 0.
    pub fn tool_prints(self, command: &str, stdout: &str) -> Self {
        self.expect_tool(command, 0, stdout, "", None)
    }

    /// Expects a command that prints this and exits with 0; `effect` changes the simulated device.
    pub fn tool_prints_then(
        self,
        command: &str,
        stdout: &str,
        effect: impl Fn() + Send + 'static,
    ) -> Self {
        self.expect_tool(command, 0, stdout, "", Some(Box::new(effect)))
    }

    /// Expects a command that fails with this exit code; 127 means that the tool is missing.
    pub fn tool_fails(self, command: &str, code: i32, stderr: &str) -> Self {
        self.expect_tool(command, code, "", stderr, None)
    }

    /// Expects an NVMe command that succeeds with this data.
    pub fn nvme_returns(self, command: &str, data: Vec<u8>) -> Self {
        self.expect(command, ExpectedAnswer::Data(data), None)
    }

    /// Expects an NVMe command without data; `effect` changes the simulated device.
    pub fn nvme_completes_then(self, command: &str, effect: impl Fn() + Send + 'static) -> Self {
        self.expect(command, ExpectedAnswer::Data(Vec::new()), Some(Box::new(effect)))
    }

    /// Expects an NVMe command that the controller completes with this status.
    pub fn nvme_fails(self, command: &str, status: u16) -> Self {
        self.expect(command, ExpectedAnswer::Status(status), None)
    }

    /// Expects an NVMe command that the kernel does not send.
    pub fn nvme_call_fails(self, command: &str, errno: i32) -> Self {
        self.expect(command, ExpectedAnswer::Call(errno), None)
    }

    /// Returns the command dwords 10 to 15 of the last NVMe command.
    pub fn last_dwords(&self) -> [u32; 6] {
        *self.last_dwords.lock().unwrap()
    }

    fn expect_tool(
        self,
        command: &str,
        code: i32,
        stdout: &str,
        stderr: &str,
        effect: Option<Box<dyn Fn() + Send>>,
    ) -> Self {
        let (stdout, stderr) = (stdout.to_owned(), stderr.to_owned());
        self.expect(command, ExpectedAnswer::Tool { code, stdout, stderr }, effect)
    }

    fn expect(
        self,
        command: &str,
        answer: ExpectedAnswer,
        effect: Option<Box<dyn Fn() + Send>>,
    ) -> Self {
        self.expected().push_back(ExpectedCommand { command: command.to_owned(), answer, effect });
        self
    }

    fn expected(&self) -> MutexGuard<'_, VecDeque<ExpectedCommand>> {
        self.expected.lock().unwrap()
    }

    /// Returns true if every expected command was run.
    pub fn is_over(&self) -> bool {
        self.expected().is_empty()
    }
}

impl NvmeAdmin for &Transcript {
    fn send(&self, command: &AdminCommand, data: &mut [u8]) -> Result<u32, HostError> {
        *self.last_dwords.lock().unwrap() = command.words;
        let Some(next) = self.expected().pop_front() else {
            panic!("unexpected NVMe command '{command}'");
        };
        assert_eq!(next.command, command.to_string());
        if let Some(effect) = next.effect {
            effect();
        }
        let (path, command) = (PathBuf::from("/dev/nvme0"), command.to_string());
        match next.answer {
            ExpectedAnswer::Data(bytes) => {
                data[..bytes.len()].copy_from_slice(&bytes);
                Ok(0)
            }
            ExpectedAnswer::Status(status) => {
                let status = NvmeStatus::new(status);
                Err(HostError::NvmeStatus { path, command, status })
            }
            ExpectedAnswer::Call(errno) => {
                let source = io::Error::from_raw_os_error(errno);
                Err(HostError::NvmeCommand { path, command, source })
            }
            ExpectedAnswer::Tool { .. } => panic!("'{command}' is an NVMe command"),
        }
    }
}

impl Tools for Transcript {
    fn open_nvme<'a>(&'a self, _: &NvmeNode) -> Result<Box<dyn NvmeAdmin + 'a>, HostError> {
        Ok(Box::new(self))
    }

    fn ask(
        &self,
        tool: Tool,
        arguments: &[&str],
        _: Duration,
        each: &mut dyn FnMut(Duration),
    ) -> Result<ToolOutput, HostError> {
        let command = format!("{} {}", tool.program, arguments.join(" "));
        let Some(next) = self.expected().pop_front() else {
            panic!("unexpected command '{command}'");
        };
        let (given, device) = split_device(&command);
        assert_eq!(split_device(&next.command).0, given, "with {device}");
        let ExpectedAnswer::Tool { code, stdout, stderr } = next.answer else {
            panic!("'{command}' is not an NVMe command");
        };
        if code == 127 {
            let tool = tool.program.to_owned();
            return Err(HostError::ToolMissing { tool, package: "some-package" });
        }
        each(Duration::from_secs(1));
        if let Some(effect) = next.effect {
            effect();
        }
        Ok(ToolOutput { status: ExitStatus::from_raw(code << 8), stdout, stderr })
    }

    fn host(&self) -> &dyn ProgramHost {
        &InstalledTools
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
