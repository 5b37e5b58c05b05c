//! Keeps the host awake during a run: prevents the machine from suspending and, on request, its
//! processors from idle states with a long exit latency. Both end with the process, even if it is
//! killed, so that nothing has to be restored.

use crate::error::HostError;
use crate::remote::lines_of;
use crate::system_roots::SystemRoots;
use crate::tool::command;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::Duration;

/// Time limit for the login manager to grant a lock.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// Line sent to the program that holds the lock, which must echo it.
const ECHOED_LINE: &str = "held";

/// A lock that prevents the machine from suspending until dropped.
#[derive(Debug)]
pub struct SleepInhibition {
    holder: Child,
    // The program runs until this pipe is closed, which the kernel does even if this process is
    // killed.
    stdin: Option<ChildStdin>,
}

/// Prevents the machine from suspending, through the login manager.
///
/// # Errors
/// `systemd-inhibit` is not installed, or the login manager does not answer. Such a machine
/// probably never suspends on its own, but that is not certain.
pub fn inhibit_sleep(why: &str) -> Result<SleepInhibition, HostError> {
    let why = format!("--why={why}");
    let lock = ["--what=sleep:idle", "--who=steadfast", &why, "--mode=block", "cat"];
    hold("systemd-inhibit", &lock)
}

/// Runs a program that holds the lock and echoes its input meanwhile.
fn hold(program: &str, arguments: &[&str]) -> Result<SleepInhibition, HostError> {
    let missing = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => {
            HostError::ToolMissing { tool: program.to_owned(), package: "systemd" }
        }
        _ => HostError::io("run it", program.as_ref(), error),
    };
    let mut holder = command(program.as_ref())
        .map_err(missing)?
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // The first Ctrl-C must reach only this process, which ends in order, and not the lock.
        .process_group(0)
        .spawn()
        .map_err(missing)?;
    let (stdin, stdout) = (holder.stdin.take(), holder.stdout.take());
    let mut lock = SleepInhibition { holder, stdin };
    if lock.answers(stdout) {
        return Ok(lock);
    }
    Err(HostError::ToolFailed {
        command: program.to_owned(),
        how: "no lock was granted".into(),
        output: lock.stderr_line(),
    })
}

impl SleepInhibition {
    /// Returns true if the program echoes [`ECHOED_LINE`] within [`LOCK_TIMEOUT`].
    fn answers(&mut self, stdout: Option<ChildStdout>) -> bool {
        let (Some(stdin), Some(stdout)) = (&mut self.stdin, stdout) else { return false };
        // If the program has already exited, reading its answer fails.
        let _ = stdin.write_all(format!("{ECHOED_LINE}\n").as_bytes());
        lines_of(Some(stdout)).recv_timeout(LOCK_TIMEOUT).is_ok_and(|line| line == ECHOED_LINE)
    }

    /// Kills the program and returns the first line of its stderr.
    fn stderr_line(mut self) -> String {
        self.end();
        let stderr = self.holder.stderr.take();
        let line = stderr.and_then(|stderr| BufReader::new(stderr).lines().next()?.ok());
        line.unwrap_or_default().trim().to_owned()
    }

    fn end(&mut self) {
        drop(self.stdin.take());
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}

impl Drop for SleepInhibition {
    fn drop(&mut self) {
        self.end();
    }
}

/// A request for an exit latency of 0; the processors may use deep idle states again once it is
/// dropped.
#[derive(Debug)]
pub struct IdleStateHold {
    _request: File,
}

/// Limits the processors' exit latency to 0 microseconds, through `/dev/cpu_dma_latency`
/// (Documentation/power/pm_qos_interface.rst).
///
/// # Errors
/// The kernel has no such device, or this user may not write to it.
pub fn hold_idle_states(roots: &SystemRoots) -> Result<IdleStateHold, HostError> {
    let path = roots.dev.join("cpu_dma_latency");
    let failed = |error| HostError::io("hold the processors' idle states", &path, error);
    let mut request = OpenOptions::new().write(true).open(&path).map_err(failed)?;
    request.write_all(&0i32.to_ne_bytes()).map_err(failed)?;
    Ok(IdleStateHold { _request: request })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::machine::MachineFixture;

    #[test]
    fn a_lock_lasts_until_it_is_dropped() {
        let lock = hold("cat", &[]).unwrap();
        let holder = lock.holder.id();
        let alive = || std::path::Path::new(&format!("/proc/{holder}/fd")).exists();
        assert!(alive());
        drop(lock);
        assert!(!alive());
    }

    #[test]
    fn a_lock_that_is_not_granted_says_why() {
        let refused = hold("sh", &["-c", "echo 'Failed to inhibit: no bus' >&2; exit 1"]);
        let error = refused.unwrap_err().to_string();
        assert!(error.contains("no lock was granted") && error.contains("no bus"), "{error}");
        let missing = hold("no-such-program-here", &[]).unwrap_err().to_string();
        assert!(missing.contains("install the package systemd"), "{missing}");
    }

    #[test]
    fn the_kernel_is_asked_for_no_latency_at_all() {
        let machine = MachineFixture::new();
        let error = hold_idle_states(&machine.roots).unwrap_err().to_string();
        assert!(error.contains("cannot hold the processors' idle states"), "{error}");
        assert!(!machine.path("dev/cpu_dma_latency").exists());
        machine.write("dev/cpu_dma_latency", "");
        let hold = hold_idle_states(&machine.roots).unwrap();
        assert_eq!(std::fs::read(machine.path("dev/cpu_dma_latency")).unwrap(), [0; 4]);
        drop(hold);
    }
}
