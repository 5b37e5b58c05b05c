//! ATA: SECURITY ERASE UNIT and SANITIZE through `hdparm`.
//!
//! SECURITY ERASE UNIT needs a password on the drive. It is journalled before
//! it is set, the erase takes it away again, and where the run dies between,
//! [`clear_password`] does.

use super::Work;
use super::plan::{Ability, Way};
use crate::error::HostError;
use crate::node::Node;
use crate::roots::Roots;
use crate::settings;
use crate::tool::{HDPARM, Tools};
use std::time::Duration;
use steadfast_domain::PurgeMethod;
use steadfast_domain::record::HostChange;

/// The password that a SECURITY ERASE UNIT needs: fixed and documented, so that
/// nobody is ever locked out by it.
pub(crate) const PASSWORD: &str = "steadfast";

/// A drive that does not answer in this time is sick.
const ANSWER: Duration = Duration::from_secs(60);

/// How long an erase is waited for at least, whatever the drive reckons.
const LIMIT_MIN: Duration = Duration::from_secs(12 * 3600);

/// A Sanitize that takes longer is not waited for.
const SANITIZE_LIMIT: Duration = Duration::from_secs(48 * 3600);

/// How often a running Sanitize is looked at.
const LOOK: Duration = Duration::from_secs(1);

const UNFREEZE: &str = "the drive's security is frozen, as most BIOSes do at boot; suspend the \
                        machine to RAM and wake it, or plug the drive out and in again while the \
                        machine runs, or turn the BIOS's freeze lock off";

/// A command to a drive.
#[derive(Debug)]
pub(super) struct Command {
    device: String,
    what: What,
}

#[derive(Debug)]
enum What {
    /// The option of `hdparm`, the password's change, and the drive's own
    /// reckoning of the time.
    SecurityErase { option: &'static str, password: HostChange, minutes: Option<u64> },
    /// The options of `hdparm` before the device.
    Sanitize(&'static [&'static str]),
}

/// What a drive says of its security (ACS-4, 4.18) and its sanitize commands.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Identity {
    supported: bool,
    enabled: bool,
    locked: bool,
    frozen: bool,
    expired: bool,
    enhanced: bool,
    minutes: Option<u64>,
    enhanced_minutes: Option<u64>,
    block: bool,
    crypto: bool,
    overwrite: bool,
}

impl Identity {
    fn ask(device: &str, tools: &dyn Tools) -> Result<Identity, HostError> {
        let said = tools.run(HDPARM, &["-I", device], ANSWER)?;
        if said.contains("Model Number") {
            return Ok(Identity::parse(&said));
        }
        Err(HostError::ToolFailed {
            command: format!("hdparm -I {device}"),
            how: "its answer is not understood".into(),
            said: said.trim().chars().take(200).collect(),
        })
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
    fn refuse_security(&self, device: &str, enhanced: bool) -> Result<(), String> {
        let why = match self {
            Identity { supported: false, .. } => "the drive has no ATA security".to_owned(),
            _ if enhanced && !self.enhanced => "the drive has no enhanced erase".to_owned(),
            Identity { frozen: true, .. } => UNFREEZE.to_owned(),
            Identity { enabled: true, .. } | Identity { locked: true, .. } => format!(
                "a password is set on the drive{}; take it away with steadfast unlock --device \
                 {device} --password PASSWORD",
                if self.locked { ", which is locked" } else { "" }
            ),
            Identity { expired: true, .. } => {
                "the drive's count of password attempts is used up; switch its power off and on"
                    .to_owned()
            }
            _ => return Ok(()),
        };
        Err(why)
    }
}

/// What the drive says it can, the best first.
pub(super) fn abilities(whole: &Node, roots: &Roots, tools: &dyn Tools) -> Vec<Ability> {
    let device = whole.path(roots).to_string_lossy().into_owned();
    let identity = Identity::ask(&device, tools).map_err(|error| error.to_string());
    let erase = |enhanced: bool| -> Result<What, String> {
        let identity = identity.as_ref().map_err(Clone::clone)?;
        identity.refuse_security(&device, enhanced)?;
        Ok(What::SecurityErase {
            option: if enhanced { "--security-erase-enhanced" } else { "--security-erase" },
            password: settings::password_change(whole, roots),
            minutes: if enhanced { identity.enhanced_minutes } else { identity.minutes },
        })
    };
    let sanitize = |has: fn(&Identity) -> bool, options| -> Result<What, String> {
        match has(identity.as_ref().map_err(Clone::clone)?) {
            true => may_sanitize(&device, tools).map(|()| What::Sanitize(options)),
            false => Err("the drive has no such SANITIZE command".into()),
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
            let way = what.map(|what| Way::Ata(Command { device: device.clone(), what }));
            Ability::sure(method, way)
        })
        .collect()
}

/// A frozen drive refuses SANITIZE until its power was off.
fn may_sanitize(device: &str, tools: &dyn Tools) -> Result<(), String> {
    let said = tools.run(HDPARM, &["--sanitize-status", device], ANSWER);
    let said = said.map_err(|error| error.to_string())?;
    match said.contains("SD1 Sanitize Frozen") {
        true => Err("the drive's SANITIZE is frozen; switch its power off and on".into()),
        false => Ok(()),
    }
}

impl Command {
    /// Sends it and waits for its end.
    pub fn carry_out(&self, work: &mut Work<'_>) -> Result<(), HostError> {
        match &self.what {
            What::SecurityErase { option, password, minutes } => {
                self.security_erase(option, password, *minutes, work)
            }
            What::Sanitize(options) => self.sanitize(options, work),
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
        work: &mut Work<'_>,
    ) -> Result<(), HostError> {
        work.watch.journal(password).map_err(HostError::Unjournalled)?;
        set_password(&self.device, work.tools)?;
        if !Identity::ask(&self.device, work.tools)?.enabled {
            return Err(self.failed("the drive did not take the password", ""));
        }
        let reckoned = minutes.map(|minutes| format!(" (the drive reckons {minutes} min)"));
        let doing = format!("erasing{}", reckoned.unwrap_or_default());
        let limit = Duration::from_secs(minutes.unwrap_or(0) * 60 * 3).max(LIMIT_MIN);
        let arguments = ["--user-master", "u", option, PASSWORD, &self.device];
        let said = work.run_to_end(HDPARM, &arguments, limit, &doing)?;
        // A drive that has erased itself has no password any more.
        match Identity::ask(&self.device, work.tools)?.enabled {
            true => Err(self.failed("the drive has not erased itself: its password stands", &said)),
            false => Ok(()),
        }
    }

    fn sanitize(&self, options: &[&str], work: &mut Work<'_>) -> Result<(), HostError> {
        let mut arguments = vec!["--yes-i-know-what-i-am-doing"];
        arguments.extend(options);
        arguments.push(&self.device);
        work.tools.run(HDPARM, &arguments, ANSWER)?;
        while work.began.elapsed() < SANITIZE_LIMIT {
            let status = ["--sanitize-status", &self.device];
            let said = work.tools.run(HDPARM, &status, ANSWER)?;
            if said.contains("SD0") && !said.contains("unsuccessfully") {
                return Ok(());
            }
            if !said.contains("SD2") {
                return Err(self.failed("the drive says that the sanitize failed", &said));
            }
            work.tell("sanitizing", percent(&said));
            if work.watch.is_stopped() {
                work.tell("the drive goes on sanitizing by itself; it cannot be cancelled", None);
                return Err(work.stopped());
            }
            work.tools.pause(LOOK);
        }
        Err(self.failed("the sanitize has not ended in 48 hours", ""))
    }
}

/// `    Progress: 0x7fff (49%)`.
fn percent(said: &str) -> Option<f64> {
    let (_, rest) = said.split_once("Progress:")?;
    rest.split_once('(')?.1.split_once('%')?.0.trim().parse().ok()
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
        said: "the drive's password stands".into(),
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
        true => Err(failed("it does not take this password")),
        false => Ok(true),
    }
}

#[cfg(test)]
mod tests;
