//! NVMe: Format and Sanitize by admin commands; through `nvme` (nvme-cli) if the kernel does not take
//! them from this program.
//!
//! Format keeps the namespace's LBA format, metadata setting and protection information. It erases
//! one namespace, or all namespaces of the subsystem if the controller's FNA field says so. Sanitize
//! always erases the whole subsystem.

use super::purge_context::{PurgeContext, PurgeOutcome, PurgeState};
use super::purge_support::PurgeSupport;
use crate::error::HostError;
use crate::nvme::layouts::{controller, namespace, sanitize};
use crate::nvme::{
    FormatRequest, IdentifyData, NvmeAdmin, NvmeNode, ReadPage, SanitizeAction,
    identify_controller, identify_namespace, sanitize_status,
};
use crate::sysfs_node::SysfsNode;
use crate::system_roots::SystemRoots;
use crate::tool::{NVME, Tools};
use std::time::Duration;
use steadfast_domain::PurgeMethod;

/// Time limit for Sanitize sent by the tool, which returns when the operation has begun.
const SANITIZE_TIMEOUT: Duration = Duration::from_secs(30);

const FORMAT_TIMEOUT: Duration = Duration::from_secs(6 * 3600);

/// Number of namespaces that a message lists.
const NAMESPACES_SHOWN: usize = 8;

// Optional Admin Command Support (OACS; NVMe Base 2.1, 5.1.13.2.1).
const OACS_FORMAT: u128 = 1 << 1;
const OACS_NAMESPACES: u128 = 1 << 3;
// Format NVM Attributes (FNA; same clause).
const FNA_FORMATS_ALL: u128 = 1 << 0;
const FNA_ERASES_ALL: u128 = 1 << 1;
const FNA_CRYPTO: u128 = 1 << 2;

/// A purge command for a controller.
#[derive(Debug)]
pub(super) struct NvmePurgeCommand {
    method: PurgeMethod,
    node: NvmeNode,
    action: NvmePurgeAction,
    nsid: u32,
    /// True if the controller has the Sanitize command.
    has_sanitize: bool,
    /// Other namespaces that the command erases.
    pub siblings: Vec<SysfsNode>,
}

#[derive(Debug)]
enum NvmePurgeAction {
    Format(FormatRequest),
    Sanitize(SanitizeAction),
}

/// Returns the methods of the controller, best first.
pub(super) fn abilities(
    whole: &SysfsNode,
    roots: &SystemRoots,
    tools: &dyn Tools,
) -> Vec<PurgeSupport<NvmePurgeCommand>> {
    let controller = Controller::query(whole, roots, tools);
    let mut abilities = Vec::new();
    for (method, erase) in [(PurgeMethod::NvmeFormat, 1), (PurgeMethod::NvmeFormatCrypto, 2)] {
        abilities.push(PurgeSupport::sure(method, controller.format(method, erase)));
    }
    for (method, action, bit, name) in [
        (PurgeMethod::NvmeSanitizeBlock, SanitizeAction::BlockErase, 1, "block erase"),
        (PurgeMethod::NvmeSanitizeCrypto, SanitizeAction::CryptoErase, 0, "cryptographic erase"),
        (PurgeMethod::NvmeSanitizeOverwrite, SanitizeAction::Overwrite, 2, "overwrite"),
    ] {
        let command = controller.sanitize(method, action, bit, name);
        abilities.push(PurgeSupport::sure(method, command));
    }
    abilities
}

/// Returns the other namespaces of a namespace's subsystem.
///
/// # Errors
/// The controller cannot be queried, or the use of a namespace cannot be checked, with the reason in
/// words.
pub(super) fn other_namespaces(
    whole: &SysfsNode,
    roots: &SystemRoots,
    tools: &dyn Tools,
) -> Result<Vec<SysfsNode>, String> {
    Controller::query(whole, roots, tools).siblings
}

/// Identify data of a controller and of one of its namespaces.
struct ControllerIdentity {
    controller: ReadPage,
    namespace: ReadPage,
    /// Identifier of the namespace.
    nsid: u32,
}

/// A controller with its Identify data, and the other namespaces.
struct Controller {
    node: NvmeNode,
    identity: Result<ControllerIdentity, String>,
    siblings: Result<Vec<SysfsNode>, String>,
}

impl Controller {
    fn query(whole: &SysfsNode, roots: &SystemRoots, tools: &dyn Tools) -> Controller {
        let node = NvmeNode::of_namespace(whole, roots);
        let admin = tools.open_nvme(&node).map_err(|error| error.to_string());
        let identity =
            admin.as_ref().map_err(Clone::clone).and_then(|admin| identify(&node, &**admin));
        let siblings = match (&admin, &identity) {
            (Ok(admin), Ok(identity)) => siblings(whole, roots, &**admin, &identity.controller),
            (Err(why), _) | (_, Err(why)) => Err(why.clone()),
        };
        Controller { node, identity, siblings }
    }

    fn command(
        &self,
        method: PurgeMethod,
        action: NvmePurgeAction,
        reaches_all: bool,
    ) -> Result<NvmePurgeCommand, String> {
        let identity = self.identity.as_ref().map_err(Clone::clone)?;
        let siblings = if reaches_all { self.siblings.clone()? } else { Vec::new() };
        Ok(NvmePurgeCommand {
            method,
            node: self.node.clone(),
            action,
            nsid: identity.nsid,
            has_sanitize: identity.controller.number(&controller::SANICAP).unwrap_or(0) & 7 != 0,
            siblings,
        })
    }

    fn format(&self, method: PurgeMethod, erase: u8) -> Result<NvmePurgeCommand, String> {
        let identity = self.identity.as_ref().map_err(Clone::clone)?;
        let attribute = |field| identity.controller.number(field).unwrap_or(0);
        if attribute(&controller::OACS) & OACS_FORMAT == 0 {
            return Err("the controller has no Format command (OACS)".into());
        }
        let fna = attribute(&controller::FNA);
        if erase == 2 && fna & FNA_CRYPTO == 0 {
            return Err("the controller has no cryptographic erase (FNA)".into());
        }
        let of_namespace = |field| identity.namespace.count(field).and_then(|n| n.try_into().ok());
        let flbas = of_namespace(&namespace::FLBAS)
            .ok_or("the namespace does not report its LBA format (FLBAS)")?;
        let dps = of_namespace(&namespace::DPS).unwrap_or(0);
        let request = FormatRequest { nsid: identity.nsid, flbas, dps, erase };
        let reaches_all = fna & (FNA_FORMATS_ALL | FNA_ERASES_ALL) != 0;
        self.command(method, NvmePurgeAction::Format(request), reaches_all)
    }

    fn sanitize(
        &self,
        method: PurgeMethod,
        action: SanitizeAction,
        bit: u8,
        name: &str,
    ) -> Result<NvmePurgeCommand, String> {
        let identity = self.identity.as_ref().map_err(Clone::clone)?;
        let capabilities = identity.controller.number(&controller::SANICAP).unwrap_or(0);
        if capabilities & (1 << bit) == 0 {
            return Err(format!("the controller has no Sanitize by {name} (SANICAP)"));
        }
        self.command(method, NvmePurgeAction::Sanitize(action), true)
    }
}

/// Reads the Identify data, and checks that the controller is the one that sysfs describes.
fn identify(node: &NvmeNode, admin: &dyn NvmeAdmin) -> Result<ControllerIdentity, String> {
    let words = |error: HostError| error.to_string();
    let controller = identify_controller(admin).map_err(words)?;
    let serial = controller.text(&controller::SN);
    if serial.is_none() || serial != node.serial {
        let shown = |serial: &Option<String>| serial.clone().unwrap_or_else(|| "none".into());
        return Err(format!(
            "{} answers with the serial number {}, and sysfs has {}",
            node.path.display(),
            shown(&serial),
            shown(&node.serial)
        ));
    }
    let nsid = node.nsid.ok_or_else(|| {
        format!("sysfs lists no namespace identifier (nsid) for {}", node.path.display())
    })?;
    let namespace = identify_namespace(admin, nsid).map_err(words)?;
    Ok(ControllerIdentity { controller, namespace, nsid })
}

/// Returns the other namespaces of the controller's subsystem. Without the kernel's multipath
/// driver, each controller of a subsystem has namespaces of its own in sysfs.
///
/// # Errors
/// A namespace exists that is not a block device here, so that its use cannot be checked, or the
/// list or a subsystem cannot be read.
fn siblings(
    whole: &SysfsNode,
    roots: &SystemRoots,
    admin: &dyn NvmeAdmin,
    identity: &ReadPage,
) -> Result<Vec<SysfsNode>, String> {
    let own_subsystem = subsystem(whole)?;
    let mut siblings = Vec::new();
    for node in SysfsNode::try_all(roots).map_err(|error| error.to_string())? {
        let is_other = node.name.starts_with("nvme") && node != *whole && !node.is_hidden();
        if is_other && subsystem(&node)? == own_subsystem {
            siblings.push(node);
        }
    }
    if identity.number(&controller::OACS).unwrap_or(0) & OACS_NAMESPACES == 0 {
        return Ok(siblings);
    }
    let list = admin
        .identify(IdentifyData::AllocatedNamespaces, 0)
        .map_err(|error| format!("its other namespaces are unknown: {error}"))?;
    let known = |number: u32| {
        let is = |node: &SysfsNode| node.number::<u32>("nsid") == Some(number);
        is(whole) || siblings.iter().any(is)
    };
    // Up to 1024 numbers in ascending order, then zeros.
    let numbers = list.as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes));
    let hidden: Vec<u32> =
        numbers.take_while(|number| *number != 0).filter(|number| !known(*number)).collect();
    match hidden.as_slice() {
        [] => Ok(siblings),
        hidden => {
            let shown = &hidden[..hidden.len().min(NAMESPACES_SHOWN)];
            let more = match hidden.len() - shown.len() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            Err(format!(
                "it also erases namespaces that are not block devices here ({shown:?}{more}); attach \
                 them (nvme attach-ns) or delete them (nvme delete-ns)"
            ))
        }
    }
}

/// Returns the qualified name (NQN) of a namespace's subsystem.
fn subsystem(namespace: &SysfsNode) -> Result<String, String> {
    // `device` is the controller, or the subsystem with the kernel's multipath driver.
    namespace.text("device/subsysnqn").ok_or_else(|| {
        format!("{} does not report its subsystem (subsysnqn in sysfs)", namespace.name)
    })
}

impl NvmePurgeCommand {
    /// Sends the command and waits until the controller has finished.
    pub fn carry_out(&self, work: &mut PurgeContext<'_>) -> Result<PurgeOutcome, HostError> {
        let admin = work.tools.open_nvme(&self.node)?;
        // Between the plan and now, another controller may have taken over the node.
        identify(&self.node, &*admin).map_err(|why| HostError::PurgeFailed {
            device: work.target.device().path.clone(),
            method: self.method.to_string(),
            why,
        })?;
        work.check_stop()?;
        match &self.action {
            NvmePurgeAction::Format(request) => self.format(request, &*admin, work),
            NvmePurgeAction::Sanitize(action) => self.sanitize(*action, &*admin, work),
        }
    }

    fn format(
        &self,
        request: &FormatRequest,
        admin: &dyn NvmeAdmin,
        work: &mut PurgeContext<'_>,
    ) -> Result<PurgeOutcome, HostError> {
        let result = work.send_to_end(admin, &request.command(FORMAT_TIMEOUT), "formatting");
        let begun = sent_or_by_tool(result, &format_arguments(&self.node, request), |arguments| {
            work.run_to_end(NVME, arguments, FORMAT_TIMEOUT, "formatting")
        });
        // A Format without an error has ended.
        if !begun.as_ref().is_err_and(HostError::may_have_begun) {
            return begun;
        }
        let (node, nsid) = (self.node.path.display(), self.nsid);
        let mut check = format!(
            "wait until 'nvme id-ns {node} --namespace-id={nsid}' reports that nothing remains to be \
             formatted (fpi)"
        );
        if self.has_sanitize {
            check.push_str(&format!(", and 'nvme sanitize-log {node}' that no sanitize runs"));
        }
        work.follow_begun(begun, "formatting", &check, &mut || {
            // A drive that still sanitizes for an earlier run refuses a Format.
            if self.has_sanitize
                && let Some(running) = running_sanitize(&sanitize_status(admin)?)?
            {
                return Ok(running);
            }
            format_state(&identify_namespace(admin, nsid)?)
        })
    }

    fn sanitize(
        &self,
        action: SanitizeAction,
        admin: &dyn NvmeAdmin,
        work: &mut PurgeContext<'_>,
    ) -> Result<PurgeOutcome, HostError> {
        let result = admin.send(&action.command(), &mut []).map(drop);
        let begun = sent_or_by_tool(result, &sanitize_arguments(&self.node, action), |arguments| {
            work.tools.run(NVME, arguments, SANITIZE_TIMEOUT)
        });
        let node = self.node.path.display();
        let check = format!("wait until 'nvme sanitize-log {node}' reports its end");
        let device = work.target.device().path.clone();
        let has_begun = begun.is_ok();
        work.follow_begun(begun, "sanitizing", &check, &mut || {
            let log = sanitize_status(admin)?;
            if let Some(running) = running_sanitize(&log)? {
                return Ok(running);
            }
            // A drive that still formats for an earlier run refuses a Sanitize.
            if !has_begun
                && let Ok(running @ PurgeState::Running(_)) =
                    format_state(&identify_namespace(admin, self.nsid)?)
            {
                return Ok(running);
            }
            self.ended_sanitize(&device, &log, has_begun)
        })
    }

    /// Returns the state of a sanitize that does not run.
    ///
    /// # Errors
    /// The status contradicts the command that the drive has accepted.
    fn ended_sanitize(
        &self,
        device: &str,
        log: &ReadPage,
        has_begun: bool,
    ) -> Result<PurgeState, HostError> {
        let status = sanitize_status_code(log);
        let why = match status {
            1 | 4 => return Ok(PurgeState::Ended),
            3 => "the drive reports that the sanitize failed; it refuses I/O until a sanitize \
                  succeeds, or until `nvme sanitize --sanact=1` ends its failure mode"
                .to_owned(),
            // Never sanitized.
            _ if !has_begun => format!("the sanitize status log reports status {status}"),
            _ => return Err(unclear_sanitize(status)),
        };
        let (device, method) = (device.to_owned(), self.method.to_string());
        Ok(PurgeState::Failed(HostError::PurgeFailed { device, method, why }))
    }
}

/// Returns the status in bits 2:0 of SSTAT (NVMe Base 2.1, 5.1.12.1.33).
fn sanitize_status_code(log: &ReadPage) -> u64 {
    log.count(&sanitize::SSTAT).unwrap_or(0) & 0x7
}

fn unclear_sanitize(status: u64) -> HostError {
    HostError::Unclear {
        what: "state of the sanitize".to_owned(),
        why: format!("the sanitize status log reports status {status}"),
    }
}

/// Returns the state of a sanitize in progress; `None` if none runs.
///
/// # Errors
/// The status means nothing.
fn running_sanitize(log: &ReadPage) -> Result<Option<PurgeState>, HostError> {
    let progress = log.count(&sanitize::SPROG).unwrap_or(0);
    match sanitize_status_code(log) {
        2 => Ok(Some(PurgeState::Running(Some(100.0 * progress as f64 / 65_536.0)))),
        0..=4 => Ok(None),
        status => Err(unclear_sanitize(status)),
    }
}

/// Returns the outcome of a command. If the kernel did not take it, sends it by nvme-cli.
fn sent_or_by_tool(
    sent: Result<(), HostError>,
    arguments: &[String],
    by_tool: impl FnOnce(&[&str]) -> Result<String, HostError>,
) -> Result<PurgeOutcome, HostError> {
    match sent {
        Err(error) if error.is_refused_call() => {
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            match by_tool(&arguments) {
                Err(HostError::ToolMissing { .. }) => Err(error),
                sent => sent.map(|_| PurgeOutcome::PurgedBy(NVME)),
            }
        }
        sent => sent.map(|()| PurgeOutcome::Purged),
    }
}

/// Returns the state of a Format (FPI; NVM Command Set 1.0, figure 97: supported in bit 7, the
/// percentage that remains in bits 6:0).
///
/// # Errors
/// The drive does not report it.
fn format_state(page: &ReadPage) -> Result<PurgeState, HostError> {
    match page.count(&namespace::FPI) {
        Some(0x80) => Ok(PurgeState::Ended),
        Some(progress) if progress & 0x80 != 0 => {
            Ok(PurgeState::Running(Some(100.0 - (progress & 0x7f) as f64)))
        }
        _ => Err(HostError::Unclear {
            what: "progress of the format".to_owned(),
            why: "the namespace does not report it (FPI)".to_owned(),
        }),
    }
}

fn format_arguments(node: &NvmeNode, request: &FormatRequest) -> Vec<String> {
    vec![
        "format".to_owned(),
        node.path.to_string_lossy().into_owned(),
        format!("--namespace-id={}", request.nsid),
        format!("--lbaf={}", request.format()),
        format!("--ses={}", request.erase),
        format!("--ms={}", request.metadata()),
        format!("--pi={}", request.protection()),
        format!("--pil={}", request.location()),
        format!("--timeout={}", FORMAT_TIMEOUT.as_millis()),
        // Suppresses the prompt of nvme-cli: the user has already confirmed the device.
        "--force".to_owned(),
    ]
}

fn sanitize_arguments(node: &NvmeNode, action: SanitizeAction) -> Vec<String> {
    let mut arguments = vec![
        "sanitize".to_owned(),
        node.path.to_string_lossy().into_owned(),
        format!("--sanact={}", action as u8),
        "--ause".to_owned(),
    ];
    if action == SanitizeAction::Overwrite {
        arguments.extend(["--owpass=1".to_owned(), "--ovrpat=0".to_owned()]);
    }
    arguments
}

#[cfg(test)]
mod tests;
