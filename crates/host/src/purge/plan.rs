//! Purge methods of a target, and the choice among them.

use super::discard::{self, no_discard};
use super::purge_options::PurgeOptions;
use super::purge_support::PurgeSupport;
use super::vendor_command::VendorCommand;
use super::{ata, nvme, scsi};
use crate::arming::{Consent, arm};
use crate::error::HostError;
use crate::identity::{confirmation, describe};
use crate::sysfs_node::SysfsNode;
use crate::system_roots::SystemRoots;
use crate::target::Target;
use crate::tool::Tools;
use steadfast_domain::{PurgeChoice, PurgeMethod, Transport};

/// Way to carry out a purge.
#[derive(Debug)]
pub(super) enum PurgeCommand {
    Nothing,
    File,
    Discard,
    Nvme(nvme::NvmePurgeCommand),
    Ata(ata::AtaPurgeCommand),
    Scsi(scsi::ScsiPurgeCommand),
    Vendor(VendorCommand),
}

/// The chosen method, with every other device it erases armed and held.
pub(super) struct PurgePlan {
    pub method: PurgeMethod,
    pub command: PurgeCommand,
    pub remark: String,
    _others: Vec<Target>,
}

const FILE_REMARK: &str = "the drive below keeps its history; blocks not written since are \
                           answered by the file system alone";

impl PurgePlan {
    /// Chooses the method by the options; writes nothing.
    pub fn make(
        target: &Target,
        options: &PurgeOptions,
        roots: &SystemRoots,
        tools: &dyn Tools,
    ) -> Result<PurgePlan, HostError> {
        let candidates = PurgeCandidates::new(target, roots, tools);
        match options.choice {
            PurgeChoice::Auto => candidates.best(options),
            PurgeChoice::Method(PurgeMethod::Nothing) => {
                let remark = "--purge none; the device keeps its history".to_owned();
                Ok(PurgePlan::nothing(remark))
            }
            PurgeChoice::Method(PurgeMethod::VendorCommand) => {
                candidates.vendor_command(options, tools)
            }
            PurgeChoice::Method(method) => candidates.requested(method, options),
        }
    }

    fn nothing(remark: String) -> PurgePlan {
        let (method, command) = (PurgeMethod::Nothing, PurgeCommand::Nothing);
        PurgePlan { method, command, remark, _others: Vec::new() }
    }
}

/// A target with its purge methods.
struct PurgeCandidates<'a> {
    target: &'a Target,
    roots: &'a SystemRoots,
    abilities: Vec<PurgeSupport<PurgeCommand>>,
}

impl<'a> PurgeCandidates<'a> {
    fn new(target: &'a Target, roots: &'a SystemRoots, tools: &dyn Tools) -> Self {
        let mut abilities = commands(target, roots, tools);
        abilities.push(if target.is_file() {
            PurgeSupport::sure(PurgeMethod::RecreateFile, Ok(PurgeCommand::File))
        } else {
            discard_ability(target)
        });
        PurgeCandidates { target, roots, abilities }
    }

    /// Chooses the first supported method; the remark says why better ones are unavailable. Skips
    /// overwrites, which wear the device and take hours: they run only on request.
    fn best(self, options: &PurgeOptions) -> Result<PurgePlan, HostError> {
        let mut reasons: Vec<String> = Vec::new();
        let roots = self.roots;
        for PurgeSupport { method, unsure, command } in self.abilities {
            if is_overwrite(method) {
                continue;
            }
            let command = if unsure {
                Err("the device does not report whether it supports it".to_owned())
            } else {
                command
            };
            match command.and_then(|command| Ok((arm_siblings(&command, options, roots)?, command)))
            {
                Ok((others, command)) => {
                    let remark = weaker_remark(method, &reasons);
                    return Ok(PurgePlan { method, command, remark, _others: others });
                }
                Err(reason) => reasons.push(format!("{}: {reason}", method.name())),
            }
        }
        let remark = match reasons.as_slice() {
            [only] => only.trim_start_matches("discard: ").to_owned(),
            several => several.join("; "),
        };
        Ok(PurgePlan::nothing(remark))
    }

    fn requested(
        self,
        method: PurgeMethod,
        options: &PurgeOptions,
    ) -> Result<PurgePlan, HostError> {
        let possible = self.possible();
        let device = self.target.device();
        let refused = |why: String| HostError::NoSuchPurge {
            device: device.path.clone(),
            method: method.name().to_owned(),
            why,
            possible: possible.clone(),
        };
        let wanted = match method {
            PurgeMethod::Discard if self.target.is_file() => PurgeMethod::RecreateFile,
            other => other,
        };
        let ability = self.abilities.into_iter().find(|ability| ability.method == wanted);
        let Some(PurgeSupport { method, command, .. }) = ability else {
            let transport = &device.transport;
            let why = format!("the device ({transport}) does not support that command set");
            return Err(refused(why));
        };
        let command = command.map_err(&refused)?;
        let others = arm_siblings(&command, options, self.roots).map_err(&refused)?;
        Ok(PurgePlan { method, command, remark: weaker_remark(method, &[]), _others: others })
    }

    /// Plans the user's command. It may erase as much as a sanitize: all namespaces of an NVMe
    /// subsystem, and never a part of a drive.
    fn vendor_command(
        self,
        options: &PurgeOptions,
        tools: &dyn Tools,
    ) -> Result<PurgePlan, HostError> {
        let method = PurgeMethod::VendorCommand;
        let device = self.target.device();
        let refused = |why: String| HostError::NoSuchPurge {
            device: device.path.clone(),
            method: method.name().to_owned(),
            why,
            possible: self.possible(),
        };
        let line = options
            .command
            .as_ref()
            .ok_or_else(|| refused("no command is given (--purge-command)".into()))?;
        let node =
            SysfsNode::from_name(&device.name, self.roots).filter(|_| !self.target.is_file());
        let node = node.ok_or_else(|| refused("it is not a block device".into()))?;
        if node.partition().is_some() {
            return Err(refused(
                "it is a partition, and a vendor's command may erase the whole device".into(),
            ));
        }
        if matches!(device.transport, Transport::Mapped) {
            return Err(refused(
                "it is mapped, and a vendor's command may erase the drives below it".into(),
            ));
        }
        let siblings = match device.transport {
            Transport::Nvme => {
                nvme::other_namespaces(&node, self.roots, tools).map_err(&refused)?
            }
            _ => Vec::new(),
        };
        let command = VendorCommand::new(line, node, siblings, self.roots).map_err(&refused)?;
        let command = PurgeCommand::Vendor(command);
        let others = arm_siblings(&command, options, self.roots).map_err(&refused)?;
        Ok(PurgePlan { method, command, remark: String::new(), _others: others })
    }

    fn possible(&self) -> String {
        let names = self.abilities.iter().filter(|ability| ability.command.is_ok());
        let names = names.map(|ability| match ability.method {
            PurgeMethod::RecreateFile => PurgeMethod::Discard.name(),
            method => method.name(),
        });
        names.chain([PurgeMethod::Nothing.name()]).collect::<Vec<_>>().join(", ")
    }
}

const fn is_overwrite(method: PurgeMethod) -> bool {
    matches!(
        method,
        PurgeMethod::NvmeSanitizeOverwrite
            | PurgeMethod::AtaSanitizeOverwrite
            | PurgeMethod::ScsiSanitizeOverwrite
    )
}

/// Returns the remark for a method that guarantees less than the standards' purge commands, with
/// the reasons why those are unavailable; empty for other methods.
fn weaker_remark(method: PurgeMethod, reasons: &[String]) -> String {
    let what = match method {
        PurgeMethod::Discard => discard::REMARK,
        PurgeMethod::RecreateFile => FILE_REMARK,
        _ => return String::new(),
    };
    match reasons {
        [] => what.to_owned(),
        reasons => format!("{what}; {}", reasons.join("; ")),
    }
}

/// Returns the purge commands for the target's device, best first.
fn commands(
    target: &Target,
    roots: &SystemRoots,
    tools: &dyn Tools,
) -> Vec<PurgeSupport<PurgeCommand>> {
    let device = target.device();
    if target.is_file() {
        return Vec::new();
    }
    let Some(node) = SysfsNode::from_name(&device.name, roots) else { return Vec::new() };
    let whole = node.whole();
    let mut abilities = transport_commands(&whole, &device.transport, roots, tools);
    if node.partition().is_some() {
        let why = format!(
            "{} is a partition, and the command erases the whole device {}",
            device.path,
            whole.path(roots).display()
        );
        abilities.iter_mut().for_each(|ability| ability.command = Err(why.clone()));
    }
    abilities
}

/// Returns the purge commands of the transport's command set.
fn transport_commands(
    whole: &SysfsNode,
    transport: &Transport,
    roots: &SystemRoots,
    tools: &dyn Tools,
) -> Vec<PurgeSupport<PurgeCommand>> {
    fn all<C>(
        abilities: Vec<PurgeSupport<C>>,
        command: fn(C) -> PurgeCommand,
    ) -> Vec<PurgeSupport<PurgeCommand>> {
        abilities.into_iter().map(|ability| ability.map(command)).collect()
    }
    let scsi = || all(scsi::abilities(whole, roots, tools), PurgeCommand::Scsi);
    match transport {
        Transport::Nvme => all(nvme::abilities(whole, roots, tools), PurgeCommand::Nvme),
        Transport::Sata => all(ata::abilities(whole, roots, tools), PurgeCommand::Ata),
        // A disk behind a virtual SCSI controller (virtio-scsi) also accepts SCSI commands.
        Transport::Sas => scsi(),
        Transport::Virtio if whole.name.starts_with("sd") => scsi(),
        _ => Vec::new(),
    }
}

fn discard_ability(target: &Target) -> PurgeSupport<PurgeCommand> {
    let device = target.device();
    let command =
        if device.discard { Ok(PurgeCommand::Discard) } else { Err(no_discard(&device.name)) };
    PurgeSupport::sure(PurgeMethod::Discard, command)
}

/// Arms the devices that the command erases in addition to the target.
///
/// # Errors
/// One of them cannot be armed, with the reason in words.
fn arm_siblings(
    command: &PurgeCommand,
    options: &PurgeOptions,
    roots: &SystemRoots,
) -> Result<Vec<Target>, String> {
    let siblings = match command {
        PurgeCommand::Nvme(command) => &command.siblings,
        PurgeCommand::Vendor(command) => &command.siblings,
        _ => return Ok(Vec::new()),
    };
    siblings.iter().map(|sibling| arm_sibling(sibling, options, roots)).collect()
}

fn arm_sibling(
    sibling: &SysfsNode,
    options: &PurgeOptions,
    roots: &SystemRoots,
) -> Result<Target, String> {
    let device = describe(sibling, &sibling.path(roots), roots);
    let expected = confirmation(&device, roots).map_err(|error| error.to_string())?;
    let named = options.also_destroyed.iter().find(|name| name.trim() == expected);
    let consent = Consent::Destroy { confirmation: named.cloned() };
    arm(&device, &consent, &options.protected_paths, roots)
        .map_err(|why| format!("it also erases {}: {why}; {}", device.path, why.remedy()))
}
