//! ATA: SECURITY ERASE UNIT and SANITIZE through `hdparm`.
//!
//! SECURITY ERASE UNIT needs a password on the drive. The password is journaled before it is set,
//! and the erase removes it. If the run dies in between,
//! [`crate::ata_security::clear_password`] removes it.

use super::ability::PurgeSupport;
use super::work::{PurgeContext, PurgeState};
use crate::ata_security::{ANSWER, AtaSecurity, PURGE_PASSWORD, set_password};
use crate::error::HostError;
use crate::host_settings;
use crate::sysfs_node::SysfsNode;
use crate::system_roots::SystemRoots;
use crate::tool::{HDPARM, Tools};
use std::time::Duration;
use steadfast_domain::PurgeMethod;
use steadfast_domain::record::HostChange;

/// The minimum time to wait for an erase, even if the drive estimates less.
const LIMIT_MIN: Duration = Duration::from_secs(12 * 3600);

/// A purge command for a drive.
#[derive(Debug)]
pub(super) struct AtaPurgeCommand {
    device: String,
    what: AtaPurgeAction,
}

#[derive(Debug)]
enum AtaPurgeAction {
    /// SECURITY ERASE UNIT: the option of `hdparm`, the journal entry for the password, and the
    /// drive's estimate in minutes.
    SecurityErase { option: &'static str, password: HostChange, minutes: Option<u64> },
    /// SANITIZE: the options of `hdparm` that precede the device.
    Sanitize(&'static [&'static str]),
}

/// Returns the methods of the drive, best first.
pub(super) fn abilities(
    whole: &SysfsNode,
    roots: &SystemRoots,
    tools: &dyn Tools,
) -> Vec<PurgeSupport<AtaPurgeCommand>> {
    let device = whole.path(roots).to_string_lossy().into_owned();
    let identity = AtaSecurity::ask(&device, tools).map_err(|error| error.to_string());
    let erase = |enhanced: bool| -> Result<AtaPurgeAction, String> {
        let identity = identity.as_ref().map_err(Clone::clone)?;
        identity.refuse_security(&device, enhanced)?;
        Ok(AtaPurgeAction::SecurityErase {
            option: if enhanced { "--security-erase-enhanced" } else { "--security-erase" },
            password: host_settings::password_change(whole, roots),
            minutes: if enhanced { identity.enhanced_minutes } else { identity.minutes },
        })
    };
    let sanitize = |has: fn(&AtaSecurity) -> bool, options| -> Result<AtaPurgeAction, String> {
        if has(identity.as_ref().map_err(Clone::clone)?) {
            may_sanitize(&device, tools).map(|()| AtaPurgeAction::Sanitize(options))
        } else {
            Err("the drive has no such SANITIZE command".into())
        }
    };
    const OVERWRITE: &[&str] =
        &["--sanitize-overwrite-passes", "1", "--sanitize-overwrite", "hex:00000000"];
    let ways = [
        (PurgeMethod::AtaSecurityErase, erase(false)),
        (PurgeMethod::AtaSanitizeBlock, sanitize(|i| i.block, &["--sanitize-block-erase"])),
        (PurgeMethod::AtaSanitizeCrypto, sanitize(|i| i.crypto, &["--sanitize-crypto-scramble"])),
        (PurgeMethod::AtaSecurityEraseEnhanced, erase(true)),
        (PurgeMethod::AtaSanitizeOverwrite, sanitize(|i| i.overwrite, OVERWRITE)),
    ];
    ways.into_iter()
        .map(|(method, what)| {
            PurgeSupport::sure(
                method,
                what.map(|what| AtaPurgeCommand { device: device.clone(), what }),
            )
        })
        .collect()
}

/// A frozen drive refuses SANITIZE until its power was off.
fn may_sanitize(device: &str, tools: &dyn Tools) -> Result<(), String> {
    let said = tools.run(HDPARM, &["--sanitize-status", device], ANSWER);
    let said = said.map_err(|error| error.to_string())?;
    if said.contains("SD1 Sanitize Frozen") {
        Err("the drive's SANITIZE is frozen; power-cycle it".into())
    } else {
        Ok(())
    }
}

impl AtaPurgeCommand {
    /// Sends the command and waits until the drive has finished.
    pub fn carry_out(&self, work: &mut PurgeContext<'_>) -> Result<(), HostError> {
        match &self.what {
            AtaPurgeAction::SecurityErase { option, password, minutes } => {
                self.security_erase(option, password, *minutes, work)
            }
            AtaPurgeAction::Sanitize(options) => self.sanitize(options, work),
        }
    }

    fn failed(&self, how: &str, said: &str) -> HostError {
        HostError::ToolFailed {
            command: format!("hdparm {}", self.device),
            how: how.to_owned(),
            said: said.trim().replace('\n', "; "),
        }
    }

    fn security_erase(
        &self,
        option: &str,
        password: &HostChange,
        minutes: Option<u64>,
        work: &mut PurgeContext<'_>,
    ) -> Result<(), HostError> {
        work.watch.journal(password).map_err(HostError::Unjournalled)?;
        set_password(&self.device, work.tools)?;
        if !AtaSecurity::ask(&self.device, work.tools)?.enabled {
            return Err(self.failed("the drive did not accept the password", ""));
        }
        let estimate = minutes.map(|minutes| format!(" (the drive estimates {minutes} min)"));
        let doing = format!("erasing{}", estimate.unwrap_or_default());
        let limit = Duration::from_secs(minutes.unwrap_or(0) * 60 * 3).max(LIMIT_MIN);
        let arguments = ["--user-master", "u", option, PURGE_PASSWORD, &self.device];
        let said = work.run_to_end(HDPARM, &arguments, limit, &doing)?;
        // A successful erase removes the password.
        if AtaSecurity::ask(&self.device, work.tools)?.enabled {
            Err(self.failed("the drive did not erase itself: its password is still set", &said))
        } else {
            Ok(())
        }
    }

    fn sanitize(&self, options: &[&str], work: &mut PurgeContext<'_>) -> Result<(), HostError> {
        let mut arguments = vec!["--yes-i-know-what-i-am-doing"];
        arguments.extend(options);
        arguments.push(&self.device);
        let tools = work.tools;
        tools.run(HDPARM, &arguments, ANSWER)?;
        let check = format!(
            "wait until 'hdparm --sanitize-status {}' reports that none is in progress",
            self.device
        );
        work.follow("sanitizing", &check, &mut || {
            let said = tools.run(HDPARM, &["--sanitize-status", &self.device], ANSWER)?;
            Ok(if said.contains("SD0") && !said.contains("unsuccessfully") {
                PurgeState::Ended
            } else if said.contains("SD2") {
                PurgeState::Running(percent(&said))
            } else {
                let how = "the drive reports that the sanitize failed";
                PurgeState::Failed(self.failed(how, &said))
            })
        })
    }
}

/// Parses the percentage in `    Progress: 0x7fff (49%)`.
fn percent(said: &str) -> Option<f64> {
    let (_, rest) = said.split_once("Progress:")?;
    rest.split_once('(')?.1.split_once('%')?.0.trim().parse().ok()
}

#[cfg(test)]
mod tests;
