//! ATA security through `hdparm`: the security state of a drive, and the password that SECURITY
//! ERASE UNIT needs.

use crate::error::HostError;
use crate::tool::{HDPARM, InstalledTools, Tools};
use std::path::Path;
use std::time::Duration;

/// Password set for SECURITY ERASE UNIT. It is fixed and documented so that a failed erase cannot
/// lock a user out.
pub const PURGE_PASSWORD: &str = "steadfast";

/// Time limit for an ATA command other than an erase.
pub(crate) const COMMAND_TIMEOUT: Duration = Duration::from_secs(60);

/// Advice for a drive whose security state cannot be changed before a power cycle.
const UNFREEZE: &str = "the drive's security is frozen, as most BIOSes do at boot; suspend the \
                        machine to RAM and wake it, or unplug and replug the drive while the \
                        machine runs, or disable the freeze lock in the BIOS";

/// States that the section `Security:` of `hdparm -I` has for every drive, each after "not" or a
/// blank.
const STATES: [&str; 5] = ["supported", "enabled", "locked", "frozen", "expired:"];

/// Beginnings of lines that `hdparm -I` prints after the section `Security:`. It prints the last or
/// the one before it for every drive since ATA-5.
const LATER_LINES: [&str; 4] = [
    "Logical Unit WWN Device Identifier:", "HW reset results:", "Checksum:",
    "Integrity word not set",
];

/// Security state (ACS-4, 4.18) and sanitize commands of a drive. Erase times are the drive's
/// estimates in minutes; `None` if it gives none.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct AtaSecurity {
    pub supported: bool,
    pub enabled: bool,
    pub locked: bool,
    pub frozen: bool,
    pub expired: bool,
    pub enhanced_erase: bool,
    pub erase_minutes: Option<u64>,
    pub enhanced_erase_minutes: Option<u64>,
    pub sanitize_block: bool,
    pub sanitize_crypto: bool,
    pub sanitize_overwrite: bool,
}

impl AtaSecurity {
    /// Reads the state from a drive.
    pub fn read(device: &str, tools: &dyn Tools) -> Result<AtaSecurity, HostError> {
        let output = tools.run(HDPARM, &["-I", device], COMMAND_TIMEOUT)?;
        AtaSecurity::parse(&output)
            .ok_or_else(|| HostError::not_understood(format!("hdparm -I {device}"), &output))
    }

    /// Parses the output of `hdparm -I`: the section `Security:` and the starred lines of the
    /// feature list, which mark enabled features. Returns `None` if the state of the drive is not
    /// in the output, unless the drive lacks the feature set.
    fn parse(output: &str) -> Option<AtaSecurity> {
        let feature = |name: &str| {
            output.lines().any(|line| line.trim_start().starts_with('*') && line.contains(name))
        };
        let sanitize = feature("SANITIZE feature set");
        let mut security = AtaSecurity {
            sanitize_block: sanitize && feature("BLOCK_ERASE_EXT"),
            sanitize_crypto: sanitize && feature("CRYPTO_SCRAMBLE_EXT"),
            sanitize_overwrite: sanitize && feature("OVERWRITE_EXT"),
            ..AtaSecurity::default()
        };
        let mut lines = output.lines().skip_while(|line| !line.starts_with("Security:"));
        if lines.next().is_none() {
            return lacks_security(output).then_some(security);
        }
        let section: Vec<&str> =
            lines.take_while(|line| line.starts_with(char::is_whitespace)).collect();
        section.iter().for_each(|line| security.parse_line(line));
        let is_stated = |state: &str| {
            section.iter().any(|line| line.split_whitespace().any(|word| word == state))
        };
        STATES.into_iter().all(is_stated).then_some(security)
    }

    /// Parses a line of the section `Security:`.
    fn parse_line(&mut self, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (is_set, words) = match words.split_first() {
            Some((&("not" | "(?)"), rest)) => (false, rest),
            _ => (true, words.as_slice()),
        };
        match words {
            ["supported"] => self.supported = is_set,
            ["enabled"] => self.enabled = is_set,
            ["locked"] => self.locked = is_set,
            ["frozen"] => self.frozen = is_set,
            ["expired:", ..] => self.expired = is_set,
            ["supported:", "enhanced", ..] => self.enhanced_erase = is_set,
            _ if line.contains("SECURITY ERASE UNIT") => self.parse_erase_times(line),
            _ => {}
        }
    }

    /// Parses `2min for SECURITY ERASE UNIT. 8min for ENHANCED SECURITY ERASE UNIT.`, either
    /// sentence alone, or `more than 508min`.
    fn parse_erase_times(&mut self, line: &str) {
        for sentence in line.split('.') {
            let Some((time, what)) = sentence.split_once("min for ") else { continue };
            let minutes = time.split_whitespace().last().and_then(|number| number.parse().ok());
            if what.trim().starts_with("ENHANCED") {
                self.enhanced_erase_minutes = minutes;
            } else {
                self.erase_minutes = minutes;
            }
        }
    }

    /// Checks that the drive accepts a password and an erase now.
    ///
    /// # Errors
    /// Returns the reason why it does not.
    pub fn check_erase(&self, device: &str, enhanced: bool) -> Result<(), String> {
        let why = match self {
            AtaSecurity { supported: false, .. } => "the drive has no ATA security".to_owned(),
            _ if enhanced && !self.enhanced_erase => "the drive has no enhanced erase".to_owned(),
            AtaSecurity { frozen: true, .. } => UNFREEZE.to_owned(),
            AtaSecurity { enabled: true, .. } | AtaSecurity { locked: true, .. } => format!(
                "a password is set on the drive{}; remove it with steadfast unlock --target \
                 {device} --password PASSWORD",
                if self.locked { ", which is locked" } else { "" }
            ),
            AtaSecurity { expired: true, .. } => {
                "the drive's password attempts are used up; power-cycle it".to_owned()
            }
            _ => return Ok(()),
        };
        Err(why)
    }
}

/// Returns true if the output of `hdparm -I`, which has no section `Security:`, is that of a drive
/// without the Security feature set, and not one that is cut off before the section.
fn lacks_security(output: &str) -> bool {
    let is_later = |line: &str| LATER_LINES.iter().any(|later| line.starts_with(later));
    output.lines().any(is_later) && !output.contains("Security Mode feature set")
}

/// Sets [`PURGE_PASSWORD`] as the user password. The caller must journal this change first.
pub(crate) fn set_password(device: &str, tools: &dyn Tools) -> Result<(), HostError> {
    let arguments = ["--user-master", "u", "--security-set-pass", PURGE_PASSWORD, device];
    tools.run(HDPARM, &arguments, COMMAND_TIMEOUT).map(drop)
}

/// Removes a drive's user password; unlocks the drive first if it is locked. Returns true if a
/// password was set.
///
/// # Errors
/// Returns [`HostError`] if the drive is not an ATA drive, is frozen, or does not accept the
/// password.
pub fn unlock(device: &Path, password: &str) -> Result<bool, HostError> {
    clear_password(&device.to_string_lossy(), password, &InstalledTools)
}

/// Removes the user password with the given tools; see [`unlock`].
pub(crate) fn clear_password(
    device: &str,
    password: &str,
    tools: &dyn Tools,
) -> Result<bool, HostError> {
    let before = AtaSecurity::read(device, tools)?;
    if !before.enabled {
        return Ok(false);
    }
    let failed = |how: &str| HostError::ToolFailed {
        command: format!("hdparm --security-disable {device}"),
        how: how.to_owned(),
        output: "the drive's password is still set".into(),
    };
    if before.frozen {
        return Err(failed(UNFREEZE));
    }
    let run = |option: &str| {
        let arguments = ["--user-master", "u", option, password, device];
        tools
            .run(HDPARM, &arguments, COMMAND_TIMEOUT)
            .map_err(|error| without_password(error, password))
    };
    if before.locked {
        run("--security-unlock")?;
    }
    run("--security-disable")?;
    if AtaSecurity::read(device, tools)?.enabled {
        Err(failed("the drive does not accept this password"))
    } else {
        Ok(true)
    }
}

/// Returns the error without the password, which is in the command and in the output of `hdparm`.
fn without_password(error: HostError, password: &str) -> HostError {
    let HostError::ToolFailed { command, how, output } = error else { return error };
    HostError::ToolFailed {
        command: command.replace(&format!(" {password} "), " PASSWORD "),
        how,
        output: output.replace(&format!("\"{password}\""), "\"PASSWORD\""),
    }
}

#[cfg(test)]
pub(crate) mod tests;
