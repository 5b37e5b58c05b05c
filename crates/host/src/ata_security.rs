//! The security of an ATA drive, through `hdparm`: what it says of itself, and the
//! password that SECURITY ERASE UNIT needs.

use crate::error::HostError;
use crate::tool::{HDPARM, Tools};
use std::time::Duration;

/// The password that a SECURITY ERASE UNIT needs: fixed and documented, so that
/// nobody is ever locked out by it.
pub(crate) const PASSWORD: &str = "steadfast";

/// A drive that does not answer in this time is sick.
pub(crate) const ANSWER: Duration = Duration::from_secs(60);

const UNFREEZE: &str = "the drive's security is frozen, as most BIOSes do at boot; suspend the \
                        machine to RAM and wake it, or unplug and replug the drive while the \
                        machine runs, or turn the BIOS's freeze lock off";

/// What a drive says of its security (ACS-4, 4.18) and its sanitize commands.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    pub supported: bool,
    pub enabled: bool,
    pub locked: bool,
    pub frozen: bool,
    pub expired: bool,
    pub enhanced: bool,
    pub minutes: Option<u64>,
    pub enhanced_minutes: Option<u64>,
    pub block: bool,
    pub crypto: bool,
    pub overwrite: bool,
}

impl Identity {
    /// Asks a drive.
    pub fn ask(device: &str, tools: &dyn Tools) -> Result<Identity, HostError> {
        let said = tools.run(HDPARM, &["-I", device], ANSWER)?;
        if said.contains("Model Number") {
            return Ok(Identity::parse(&said));
        }
        Err(HostError::not_understood(format!("hdparm -I {device}"), &said))
    }

    /// Reads what `hdparm -I` prints: the section `Security:`, and the starred
    /// lines of the feature list, which are those in force.
    fn parse(said: &str) -> Identity {
        let feature = |name: &str| {
            said.lines().any(|line| line.trim_start().starts_with('*') && line.contains(name))
        };
        let sanitize = feature("SANITIZE feature set");
        let mut identity = Identity {
            block: sanitize && feature("BLOCK_ERASE_EXT"),
            crypto: sanitize && feature("CRYPTO_SCRAMBLE_EXT"),
            overwrite: sanitize && feature("OVERWRITE_EXT"),
            ..Identity::default()
        };
        let section = said.lines().skip_while(|line| !line.starts_with("Security:")).skip(1);
        let lines = section.take_while(|line| line.starts_with(char::is_whitespace));
        lines.for_each(|line| identity.security_line(line));
        identity
    }

    fn security_line(&mut self, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (is, words) = match words.split_first() {
            Some((&"not", rest)) => (false, rest),
            _ => (true, words.as_slice()),
        };
        match words {
            ["supported"] => self.supported = is,
            ["enabled"] => self.enabled = is,
            ["locked"] => self.locked = is,
            ["frozen"] => self.frozen = is,
            ["expired:", ..] => self.expired = is,
            ["supported:", "enhanced", ..] => self.enhanced = is,
            _ if line.contains("SECURITY ERASE UNIT") => self.times(line),
            _ => {}
        }
    }

    /// `2min for SECURITY ERASE UNIT. 8min for ENHANCED SECURITY ERASE UNIT.`,
    /// either of them alone, or `more than 508min`.
    fn times(&mut self, line: &str) {
        for sentence in line.split('.') {
            let Some((time, what)) = sentence.split_once("min for ") else { continue };
            let minutes = time.split_whitespace().last().and_then(|number| number.parse().ok());
            match what.trim().starts_with("ENHANCED") {
                true => self.enhanced_minutes = minutes,
                false => self.minutes = minutes,
            }
        }
    }

    /// Why the drive takes no password and no erase now.
    pub fn refuse_security(&self, device: &str, enhanced: bool) -> Result<(), String> {
        let why = match self {
            Identity { supported: false, .. } => "the drive has no ATA security".to_owned(),
            _ if enhanced && !self.enhanced => "the drive has no enhanced erase".to_owned(),
            Identity { frozen: true, .. } => UNFREEZE.to_owned(),
            Identity { enabled: true, .. } | Identity { locked: true, .. } => format!(
                "a password is set on the drive{}; remove it with steadfast unlock --device \
                 {device} --password PASSWORD",
                if self.locked { ", which is locked" } else { "" }
            ),
            Identity { expired: true, .. } => {
                "the drive's password attempts are used up; power-cycle it".to_owned()
            }
            _ => return Ok(()),
        };
        Err(why)
    }
}

/// Sets [`PASSWORD`] as the user password. Journal it before.
pub(crate) fn set_password(device: &str, tools: &dyn Tools) -> Result<(), HostError> {
    let arguments = ["--user-master", "u", "--security-set-pass", PASSWORD, device];
    tools.run(HDPARM, &arguments, ANSWER).map(drop)
}

/// Whether a password is set.
pub(crate) fn has_password(device: &str, tools: &dyn Tools) -> Result<bool, HostError> {
    Identity::ask(device, tools).map(|identity| identity.enabled)
}

/// Takes the user password away; unlocks the drive for that where it is locked.
/// Answers whether there was one.
pub(crate) fn clear_password(
    device: &str,
    password: &str,
    tools: &dyn Tools,
) -> Result<bool, HostError> {
    let before = Identity::ask(device, tools)?;
    if !before.enabled {
        return Ok(false);
    }
    let failed = |how: &str| HostError::ToolFailed {
        command: format!("hdparm --security-disable {device}"),
        how: how.to_owned(),
        said: "the drive's password is still set".into(),
    };
    if before.frozen {
        return Err(failed(UNFREEZE));
    }
    if before.locked {
        let unlock = ["--user-master", "u", "--security-unlock", password, device];
        tools.run(HDPARM, &unlock, ANSWER)?;
    }
    let disable = ["--user-master", "u", "--security-disable", password, device];
    tools.run(HDPARM, &disable, ANSWER)?;
    match Identity::ask(device, tools)?.enabled {
        true => Err(failed("the drive does not accept this password")),
        false => Ok(true),
    }
}

#[cfg(test)]
pub(crate) mod tests;
