//! ATA: SECURITY ERASE UNIT and SANITIZE through `hdparm`.
//!
//! SECURITY ERASE UNIT needs a password on the drive. The password is journaled before it is set,
//! and the erase removes it. If the run dies in between,
//! [`crate::ata_security::clear_password`] removes it.

use super::purge_context::{PurgeContext, PurgeState};
use super::purge_support::PurgeSupport;
use crate::ata_security::{AtaSecurity, COMMAND_TIMEOUT, PURGE_PASSWORD, set_password};
use crate::error::HostError;
use crate::host_settings;
use crate::sysfs_node::SysfsNode;
use crate::system_roots::SystemRoots;
use crate::tool::{self, HDPARM, Tools};
use std::time::Duration;
use steadfast_domain::PurgeMethod;
use steadfast_domain::record::HostChange;

/// The minimum time to wait for an erase, even if the drive estimates less.
const LIMIT_MIN: Duration = Duration::from_secs(12 * 3600);

/// An erase may take this many times the drive's estimate (our choice).
const ESTIMATE_FACTOR: u64 = 3;

/// The drive is idle without having completed the sanitize, or says that it failed.
const SANITIZE_FAILED: &str = "the drive does not report that the sanitize completed";

/// States of a drive in which no sanitize is in progress (ACS-4, 4.17): idle, frozen, failed,
/// antifreeze.
const OTHER_STATES: [&str; 4] = ["SD0", "SD1", "SD3", "SD4"];

/// A purge command for a drive.
#[derive(Debug)]
pub(super) struct AtaPurgeCommand {
    device: String,
    action: AtaPurgeAction,
}

#[derive(Debug)]
enum AtaPurgeAction {
    SecurityErase(SecurityErase),
    /// SANITIZE: the options of `hdparm` that precede the device.
    Sanitize(&'static [&'static str]),
}

/// A SECURITY ERASE UNIT command, for which the drive needs a password.
#[derive(Debug)]
struct SecurityErase {
    /// Option of `hdparm` that sends it.
    option: &'static str,
    /// Journal entry for the password.
    password: HostChange,
    /// The drive's estimate in minutes.
    minutes: Option<u64>,
    /// True if the drive has a SANITIZE command.
    has_sanitize: bool,
}

/// Returns the methods of the drive, best first.
pub(super) fn abilities(
    whole: &SysfsNode,
    roots: &SystemRoots,
    tools: &dyn Tools,
) -> Vec<PurgeSupport<AtaPurgeCommand>> {
    let device = whole.path(roots).to_string_lossy().into_owned();
    let security = AtaSecurity::read(&device, tools).map_err(|error| error.to_string());
    let erase = |enhanced: bool| -> Result<AtaPurgeAction, String> {
        let security = security.as_ref().map_err(Clone::clone)?;
        security.check_erase(&device, enhanced)?;
        Ok(AtaPurgeAction::SecurityErase(SecurityErase {
            option: if enhanced { "--security-erase-enhanced" } else { "--security-erase" },
            password: host_settings::password_change(whole, roots),
            minutes: if enhanced {
                security.enhanced_erase_minutes
            } else {
                security.erase_minutes
            },
            has_sanitize: security.sanitize_block
                || security.sanitize_crypto
                || security.sanitize_overwrite,
        }))
    };
    let sanitize = |has: fn(&AtaSecurity) -> bool, options| -> Result<AtaPurgeAction, String> {
        if has(security.as_ref().map_err(Clone::clone)?) {
            refuse_frozen_sanitize(&device, tools).map(|()| AtaPurgeAction::Sanitize(options))
        } else {
            Err("the drive has no such SANITIZE command".into())
        }
    };
    const OVERWRITE: &[&str] =
        &["--sanitize-overwrite-passes", "1", "--sanitize-overwrite", "hex:00000000"];
    let methods = [
        (PurgeMethod::AtaSecurityErase, erase(false)),
        (
            PurgeMethod::AtaSanitizeBlock,
            sanitize(|s| s.sanitize_block, &["--sanitize-block-erase"]),
        ),
        (
            PurgeMethod::AtaSanitizeCrypto,
            sanitize(|s| s.sanitize_crypto, &["--sanitize-crypto-scramble"]),
        ),
        (PurgeMethod::AtaSecurityEraseEnhanced, erase(true)),
        (PurgeMethod::AtaSanitizeOverwrite, sanitize(|s| s.sanitize_overwrite, OVERWRITE)),
    ];
    methods
        .into_iter()
        .map(|(method, action)| {
            let command = action.map(|action| AtaPurgeCommand { device: device.clone(), action });
            PurgeSupport::sure(method, command)
        })
        .collect()
}

/// Returns the reason if the drive has frozen SANITIZE, which lasts until a power cycle.
fn refuse_frozen_sanitize(device: &str, tools: &dyn Tools) -> Result<(), String> {
    let status = tools.run(HDPARM, &["--sanitize-status", device], COMMAND_TIMEOUT);
    if status.map_err(|error| error.to_string())?.contains("SD1 Sanitize Frozen") {
        Err("the drive's SANITIZE is frozen; power-cycle it".into())
    } else {
        Ok(())
    }
}

impl AtaPurgeCommand {
    /// Sends the command and waits until the drive has finished.
    pub fn carry_out(&self, work: &mut PurgeContext<'_>) -> Result<(), HostError> {
        work.check_stop()?;
        match &self.action {
            AtaPurgeAction::SecurityErase(erase) => self.security_erase(erase, work),
            AtaPurgeAction::Sanitize(options) => self.sanitize(options, work),
        }
    }

    fn failed(&self, how: &str, output: &str) -> HostError {
        tool::failed(format!("hdparm {}", self.device), how.to_owned(), output, "")
    }

    fn security_erase(
        &self,
        erase: &SecurityErase,
        work: &mut PurgeContext<'_>,
    ) -> Result<(), HostError> {
        let SecurityErase { option, password, minutes, has_sanitize } = erase;
        work.watch.journal(password).map_err(HostError::Unjournaled)?;
        match set_password(&self.device, work.tools) {
            // A drive that still sanitizes for an earlier run accepts no password.
            Err(error) if *has_sanitize => return self.follow_sanitize(Err(error), work),
            set => set?,
        }
        if !AtaSecurity::read(&self.device, work.tools)?.enabled {
            return Err(self.failed("the drive did not accept the password", ""));
        }
        work.check_stop()?;
        let estimate = minutes.map(|minutes| format!(" (the drive estimates {minutes} min)"));
        let doing = format!("erasing{}", estimate.unwrap_or_default());
        let limit = Duration::from_secs(minutes.unwrap_or(0) * 60 * ESTIMATE_FACTOR).max(LIMIT_MIN);
        let arguments = ["--user-master", "u", option, PURGE_PASSWORD, &self.device];
        let begun = work.run_to_end(HDPARM, &arguments, limit, &doing);
        let output = begun.as_ref().cloned().unwrap_or_default();
        let tools = work.tools;
        let check = format!("wait until 'hdparm -I {}' prints the security state", self.device);
        // A drive that erases answers no other command; a successful erase removes the password.
        let mut query = || {
            Ok(if AtaSecurity::read(&self.device, tools)?.enabled {
                let how = "the drive did not erase itself: its password is still set";
                PurgeState::Failed(self.failed(how, &output))
            } else {
                PurgeState::Ended
            })
        };
        work.follow_begun(begun, &doing, &check, &mut query).map(drop)
    }

    fn sanitize(&self, options: &[&str], work: &mut PurgeContext<'_>) -> Result<(), HostError> {
        let mut arguments = vec!["--yes-i-know-what-i-am-doing"];
        arguments.extend(options);
        arguments.push(&self.device);
        let tools = work.tools;
        let begun = tools.run(HDPARM, &arguments, COMMAND_TIMEOUT);
        self.follow_sanitize(begun.map(drop), work)
    }

    /// Waits until no sanitize is in progress. Returns the outcome of the command before it.
    fn follow_sanitize(
        &self,
        begun: Result<(), HostError>,
        work: &mut PurgeContext<'_>,
    ) -> Result<(), HostError> {
        let tools = work.tools;
        let check = format!(
            "wait until 'hdparm --sanitize-status {}' reports that none is in progress",
            self.device
        );
        let mut query = || self.sanitize_state(tools);
        work.follow_begun(begun, "sanitizing", &check, &mut query)
    }

    /// Returns the state of a sanitize.
    ///
    /// # Errors
    /// It cannot be read.
    fn sanitize_state(&self, tools: &dyn Tools) -> Result<PurgeState, HostError> {
        let query = ["--sanitize-status", &self.device];
        let status = match tools.run(HDPARM, &query, COMMAND_TIMEOUT) {
            Ok(status) => status,
            // hdparm reports a failed sanitize on standard error and exits with a status other
            // than 0.
            Err(HostError::ToolFailed { output, .. }) if output.contains("SD3") => {
                return Ok(PurgeState::Failed(self.failed(SANITIZE_FAILED, &output)));
            }
            Err(error) => return Err(error),
        };
        if status.contains("SD2") {
            Ok(PurgeState::Running(percent(&status)))
        } else if status.contains("Completed Without Error") {
            Ok(PurgeState::Ended)
        } else if OTHER_STATES.iter().any(|state| status.contains(state)) {
            Ok(PurgeState::Failed(self.failed(SANITIZE_FAILED, &status)))
        } else {
            let command = format!("hdparm --sanitize-status {}", self.device);
            Err(HostError::not_understood(command, &status))
        }
    }
}

/// Parses the percentage in `    Progress: 0x7fff (49%)`.
fn percent(status: &str) -> Option<f64> {
    let (_, rest) = status.split_once("Progress:")?;
    rest.split_once('(')?.1.split_once('%')?.0.trim().parse().ok()
}

#[cfg(test)]
mod tests;
