//! SCSI: FORMAT UNIT and SANITIZE through sg3-utils.
//!
//! A device's report of supported commands is trusted. A device without such a report is formatted
//! only if the user selects the method: FORMAT UNIT is mandatory for disks (SBC-4, table 20), but
//! some return GOOD and erase nothing.

use super::purge_context::{PurgeContext, PurgeState};
use super::purge_support::PurgeSupport;
use crate::error::HostError;
use crate::sysfs_node::SysfsNode;
use crate::system_roots::{SystemRoots, entries, read_number};
use crate::tool::{self, SG_FORMAT, SG_OPCODES, SG_REQUESTS, SG_SANITIZE, SG_TURS, Tool, Tools};
use std::time::Duration;
use steadfast_domain::PurgeMethod;

/// Time limit of a query, and of a command that returns when its operation has begun.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(60);

/// Number of consecutive queries without progress after which a ready device counts as finished.
/// More than one, because some devices report no progress at first.
const QUIET_QUERIES: u32 = 3;

/// Exit status of sg3-utils for a medium or hardware error: a format or sanitize that failed.
/// Others say that the device is not ready yet, or that its state is unknown.
const MEDIUM_ERROR: i32 = 3;

// Operation codes (SBC-4).
const TEST_UNIT_READY: u8 = 0x00;
const FORMAT_UNIT: u8 = 0x04;
const SANITIZE: u8 = 0x48;

/// A purge command for a device.
#[derive(Debug)]
pub(super) struct ScsiPurgeCommand {
    device: String,
    action: ScsiPurgeAction,
}

#[derive(Debug)]
enum ScsiPurgeAction {
    /// FORMAT UNIT: the arguments of `sg_format` that precede the device.
    Format(Vec<&'static str>),
    /// SANITIZE: the arguments of `sg_sanitize` that precede the device.
    Sanitize(Vec<&'static str>),
}

/// Returns the methods of the device, best first.
pub(super) fn abilities(
    whole: &SysfsNode,
    roots: &SystemRoots,
    tools: &dyn Tools,
) -> Vec<PurgeSupport<ScsiPurgeCommand>> {
    let device = whole.path(roots).to_string_lossy().into_owned();
    let reported = tools.run(SG_OPCODES, &[&device], COMMAND_TIMEOUT);
    let reported = match reported.as_deref() {
        // Some tools exit with 0 although the device does not support the report.
        Ok(list) if !lists_commands(list) => Err("its list is empty".to_owned()),
        other => other.map_err(ToString::to_string),
    };
    let command = |action| ScsiPurgeCommand { device: device.clone(), action };
    let mut abilities = vec![PurgeSupport {
        method: PurgeMethod::ScsiFormatUnit,
        unsure: reported.is_err(),
        command: may_format(&reported)
            .map(|()| command(ScsiPurgeAction::Format(protection(whole)))),
    }];
    for (method, action, options) in [
        (PurgeMethod::ScsiSanitizeBlock, 2, vec!["--block"]),
        (PurgeMethod::ScsiSanitizeCrypto, 3, vec!["--crypto"]),
        (PurgeMethod::ScsiSanitizeOverwrite, 1, vec!["--overwrite", "--zero"]),
    ] {
        let allowed = may_sanitize(&reported, action);
        let sanitize = allowed.map(|()| command(ScsiPurgeAction::Sanitize(options)));
        abilities.push(PurgeSupport::sure(method, sanitize));
    }
    abilities
}

type SupportedCommands<'a> = Result<&'a str, String>;

fn may_format(reported: &SupportedCommands<'_>) -> Result<(), String> {
    match reported {
        Ok(list) if !is_reported(list, FORMAT_UNIT, None) => {
            Err("the device does not list this command as supported".into())
        }
        // Without sg_opcodes, sg_format is missing too: both are in sg3-utils.
        Err(why) if why.contains("not installed") => Err(why.clone()),
        _ => Ok(()),
    }
}

fn may_sanitize(reported: &SupportedCommands<'_>, action: u8) -> Result<(), String> {
    let list = reported
        .as_ref()
        .map_err(|why| format!("the device does not report which commands it supports ({why})"))?;
    if is_reported(list, SANITIZE, Some(action)) {
        Ok(())
    } else {
        Err("the device does not list this command as supported".into())
    }
}

/// Returns true if the text is a list of commands: TEST UNIT READY is mandatory for all devices.
fn lists_commands(list: &str) -> bool {
    is_reported(list, TEST_UNIT_READY, None)
}

/// Returns true if `sg_opcodes` lists a command, as ` 48     2     10    Sanitize, block erase` or
/// in compact form ` 48,2   Sanitize, block erase`.
fn is_reported(list: &str, opcode: u8, action: Option<u8>) -> bool {
    let hex = |word: &str| u8::from_str_radix(word, 16).ok();
    list.lines().any(|line| {
        let mut words =
            line.split(|c: char| c.is_whitespace() || c == ',').filter(|w| !w.is_empty());
        let code = words.next().filter(|word| word.len() == 2).and_then(hex);
        code == Some(opcode) && action.is_none_or(|_| words.next().and_then(hex) == action)
    })
}

/// Returns the options for FMTPINFO and PROTECTION FIELD USAGE that keep the protection type the
/// kernel reports (SBC-4, table 48); without them, a format removes the protection.
fn protection(whole: &SysfsNode) -> Vec<&'static str> {
    let disks = entries(&whole.directory.join("device/scsi_disk"));
    let kind = disks.iter().find_map(|disk| read_number::<u8>(&disk.join("protection_type")));
    match kind {
        Some(1) => vec!["--fmtpinfo=2"],
        Some(2) => vec!["--fmtpinfo=3"],
        Some(3) => vec!["--fmtpinfo=3", "--pfu=1"],
        _ => Vec::new(),
    }
}

impl ScsiPurgeCommand {
    /// Returns the tool that sends the command.
    pub const fn tool(&self) -> Tool {
        match self.action {
            ScsiPurgeAction::Format(_) => SG_FORMAT,
            ScsiPurgeAction::Sanitize(_) => SG_SANITIZE,
        }
    }

    /// Sends the command and waits until the device has finished.
    pub fn carry_out(&self, work: &mut PurgeContext<'_>) -> Result<(), HostError> {
        work.check_stop()?;
        let (begin, options, doing) = match &self.action {
            // Without --size, the block size is kept.
            ScsiPurgeAction::Format(options) => ("--format", options, "formatting"),
            ScsiPurgeAction::Sanitize(options) => ("--ause", options, "sanitizing"),
        };
        let mut arguments = vec![begin, "--quick", "--early"];
        arguments.extend(options);
        arguments.push(&self.device);
        let tools = work.tools;
        let begun = tools.run(self.tool(), &arguments, COMMAND_TIMEOUT);
        let progress_query = ["--progress", &self.device];
        let check =
            format!("wait until 'sg_requests --progress {}' reports no progress", self.device);
        let mut quiet = 0;
        let mut query = || {
            let output = tools.run(SG_REQUESTS, &progress_query, COMMAND_TIMEOUT);
            let percent = progress(&output.inspect_err(|_| quiet = 0)?);
            quiet = if percent.is_some() { 0 } else { quiet + 1 };
            if quiet < QUIET_QUERIES {
                return Ok(PurgeState::Running(percent));
            }
            self.state_of_ready(tools)
        };
        work.follow_begun(begun, doing, &check, &mut query).map(drop)
    }

    /// Returns the state of a device that reports no progress.
    ///
    /// # Errors
    /// The device is not ready, or its state cannot be read.
    fn state_of_ready(&self, tools: &dyn Tools) -> Result<PurgeState, HostError> {
        let ready = tools.ask(SG_TURS, &[&self.device], COMMAND_TIMEOUT, &mut |_| {})?;
        if ready.status.success() {
            return Ok(PurgeState::Ended);
        }
        let command = format!("sg_turs {}", self.device);
        let error = tool::failed(command, ready.status.to_string(), &ready.stdout, &ready.stderr);
        if ready.status.code() == Some(MEDIUM_ERROR) {
            Ok(PurgeState::Failed(error))
        } else {
            Err(error)
        }
    }
}

/// Parses the percentage in `Progress indication: 12.34% done`.
fn progress(output: &str) -> Option<f64> {
    let (_, rest) = output.split_once("Progress indication:")?;
    rest.split_once('%')?.0.trim().parse().ok()
}

#[cfg(test)]
mod tests;
