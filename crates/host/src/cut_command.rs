//! The user's command that cuts the power of a device or a host: a relay, a PDU, IPMI.

use crate::error::HostError;
use crate::tool::{self, InstalledTools, ProgramHost};
use std::time::Duration;

/// Time limit of the command, which usually waits before it restores the power.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(600);

/// Runs the command without a shell; it is split at blanks.
///
/// # Errors
/// The program is not installed or exits with a status other than 0;
/// [`HostError::PowerCutUnknown`] if it takes longer than ten minutes or leaves a program behind
/// that holds its output open.
pub fn cut_power(command: &str) -> Result<(), HostError> {
    cut_power_on(&InstalledTools, command)
}

/// Runs the command as [`cut_power`] does, on a host.
///
/// # Errors
/// As [`cut_power`].
#[doc(hidden)]
pub fn cut_power_on(host: &dyn ProgramHost, command: &str) -> Result<(), HostError> {
    cut_power_within(host, command, COMMAND_TIMEOUT)
}

fn cut_power_within(
    host: &dyn ProgramHost,
    command: &str,
    timeout: Duration,
) -> Result<(), HostError> {
    let mut words = command.split_whitespace();
    let program = words.next().unwrap_or_default();
    let arguments: Vec<&str> = words.collect();
    let answer = match tool::ask_on(host, program, &arguments, timeout) {
        // The command began, so the power may be off.
        Err(HostError::ToolFailed { command, how, output }) => {
            return Err(HostError::PowerCutUnknown { command, how, output });
        }
        answer => answer?,
    };
    if answer.status.success() {
        return Ok(());
    }
    let output = format!("{} {}", answer.stdout.trim(), answer.stderr.trim());
    Err(HostError::ToolFailed {
        command: command.to_owned(),
        how: answer.status.to_string(),
        output: tool::excerpt_end(&output),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_command_that_does_not_end_by_itself_is_no_failure_but_unknown() {
        let scratch = tempfile::tempdir().unwrap();
        let relay = scratch.path().join("relay");
        let run = |script: &str, limit| {
            fs::write(&relay, format!("#!/bin/sh\n{script}\n")).unwrap();
            fs::set_permissions(&relay, PermissionsExt::from_mode(0o755)).unwrap();
            cut_power_within(&InstalledTools, &format!("{} off", relay.display()), limit)
        };
        run("[ $# = 1 ] && [ $1 = off ]", COMMAND_TIMEOUT).unwrap();
        let error = run("echo port 7 is locked; exit 2", COMMAND_TIMEOUT).unwrap_err();
        assert!(matches!(&error, HostError::ToolFailed { .. }), "{error}");
        let wordy = "head -c 300000 /dev/zero | tr '\\0' x; echo port 7 is locked; exit 2";
        let error = run(wordy, COMMAND_TIMEOUT).unwrap_err().to_string();
        assert!(error.len() < 4000 && error.ends_with("port 7 is locked"), "{error}");
        for (script, limit, reason) in [
            ("echo off; exec sleep 600", Duration::from_millis(50), "no answer within"),
            ("echo off; sleep 30 &", COMMAND_TIMEOUT, "keeps its output open"),
        ] {
            let error = run(script, limit).unwrap_err();
            let HostError::PowerCutUnknown { how, .. } = &error else { panic!("{error}") };
            assert!(how.contains(reason), "{how}");
        }
    }
}
