//! The user's command that cuts the power of a device or a host: a relay, a PDU, IPMI.

use crate::error::HostError;
use crate::tool;
use std::time::Duration;

/// Time limit of the command, which usually waits before it restores the power.
const LIMIT: Duration = Duration::from_secs(600);

/// Runs the command without a shell; it is split at blanks.
///
/// # Errors
/// The program is not installed or exits with a status other than 0;
/// [`HostError::PowerCutUnknown`] if it takes longer than ten minutes or leaves a program behind
/// that holds its output open.
pub fn cut_power(command: &str) -> Result<(), HostError> {
    let mut words = command.split_whitespace();
    let program = words.next().unwrap_or_default();
    let arguments: Vec<&str> = words.collect();
    let answer =
        tool::ask(program, "that has it", &arguments, LIMIT).map_err(|error| match error {
            HostError::ToolFailed { command, how, said } => {
                HostError::PowerCutUnknown { command, how, said }
            }
            other => other,
        })?;
    if answer.status.success() {
        return Ok(());
    }
    Err(HostError::ToolFailed {
        command: command.to_owned(),
        how: answer.status.to_string(),
        said: format!("{} {}", answer.stdout.trim(), answer.stderr.trim()).trim().to_owned(),
    })
}
