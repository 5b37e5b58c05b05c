//! NVMe: Format and Sanitize through `nvme` (nvme-cli).
//!
//! Format keeps the namespace's LBA format, metadata setting and protection information. It erases
//! one namespace, or all namespaces of the subsystem if the controller's FNA field says so. Sanitize
//! always erases the whole subsystem.

use super::ability::PurgeSupport;
use super::work::PurgeContext;
use crate::device_log::json::{named, object};
use crate::error::HostError;
use crate::identity::controllers;
use crate::sysfs_node::SysfsNode;
use crate::system_roots::{SystemRoots, file_name};
use crate::tool::{NVME, Tools};
use serde_json::Value;
use std::time::Duration;
use steadfast_domain::PurgeMethod;

/// Time limit for an admin command other than Format.
const ANSWER: Duration = Duration::from_secs(30);

/// Time limit for Format, also passed to `nvme` as the command's timeout.
const FORMAT_LIMIT: Duration = Duration::from_secs(6 * 3600);

/// Time limit for Sanitize.
const SANITIZE_LIMIT: Duration = Duration::from_secs(48 * 3600);

/// Interval between two status queries of a running Sanitize.
const LOOK: Duration = Duration::from_secs(1);

// Optional Admin Command Support (OACS; NVMe Base 2.0, figure 276).
const OACS_FORMAT: u64 = 1 << 1;
const OACS_NAMESPACES: u64 = 1 << 3;
// Format NVM Attributes (FNA; same figure).
const FNA_FORMATS_ALL: u64 = 1 << 0;
const FNA_ERASES_ALL: u64 = 1 << 1;
const FNA_CRYPTO: u64 = 1 << 2;

/// A purge command for a controller.
#[derive(Debug)]
pub(super) struct NvmePurgeCommand {
    controller: String,
    what: NvmePurgeAction,
    /// Other namespaces that the command erases.
    pub siblings: Vec<SysfsNode>,
}

#[derive(Debug)]
enum NvmePurgeAction {
    /// Format: the arguments of `nvme format` that follow the device.
    Format(Vec<String>),
    /// Sanitize: the value of `nvme sanitize --sanact`.
    Sanitize(u8),
}

/// Returns the methods of the controller, best first.
pub(super) fn abilities(
    whole: &SysfsNode,
    roots: &SystemRoots,
    tools: &dyn Tools,
) -> Vec<PurgeSupport<NvmePurgeCommand>> {
    let snapshot = Controller::ask(whole, roots, tools);
    let format = [(PurgeMethod::NvmeFormat, 1), (PurgeMethod::NvmeFormatCrypto, 2)];
    let sanitize = [
        (PurgeMethod::NvmeSanitizeBlock, 2, 1, "block erase"),
        (PurgeMethod::NvmeSanitizeCrypto, 4, 0, "cryptographic erase"),
        (PurgeMethod::NvmeSanitizeOverwrite, 3, 2, "overwrite"),
    ];
    let formats = format.into_iter().map(|(method, erase)| (method, snapshot.format(erase)));
    let sanitizes = sanitize
        .into_iter()
        .map(|(method, action, bit, name)| (method, snapshot.sanitize(action, bit, name)));
    formats.chain(sanitizes).map(|(method, way)| PurgeSupport::sure(method, way)).collect()
}

/// Identify data of a controller and one of its namespaces, and the other namespaces.
struct Controller {
    path: String,
    asked: Result<(Value, Value), String>,
    siblings: Result<Vec<SysfsNode>, String>,
    namespace: u64,
}

impl Controller {
    fn ask(whole: &SysfsNode, roots: &SystemRoots, tools: &dyn Tools) -> Controller {
        let name = controllers(whole).first().map(|directory| file_name(directory));
        let path = roots.dev.join(name.unwrap_or_default()).to_string_lossy().into_owned();
        let namespace = whole.number("nsid").unwrap_or(1);
        let ask = || -> Result<(Value, Value), HostError> {
            let identity = answer(tools, &["id-ctrl", &path, "-o", "json"])?;
            let number = format!("--namespace-id={namespace}");
            Ok((identity, answer(tools, &["id-ns", &path, &number, "-o", "json"])?))
        };
        let asked = ask().map_err(|error| error.to_string());
        let siblings = siblings(whole, &path, roots, tools, &asked);
        Controller { path, asked, siblings, namespace }
    }

    fn command(
        &self,
        what: NvmePurgeAction,
        reaches_all: bool,
    ) -> Result<NvmePurgeCommand, String> {
        let siblings = if reaches_all { self.siblings.clone()? } else { Vec::new() };
        Ok(NvmePurgeCommand { controller: self.path.clone(), what, siblings })
    }

    fn format(&self, erase: u64) -> Result<NvmePurgeCommand, String> {
        let (controller, namespace) = self.asked.as_ref().map_err(Clone::clone)?;
        let attribute = |name: &str| named(controller, &[name]).unwrap_or(0);
        if attribute("oacs") & OACS_FORMAT == 0 {
            return Err("the controller has no Format command (OACS)".into());
        }
        let fna = attribute("fna");
        if erase == 2 && fna & FNA_CRYPTO == 0 {
            return Err("the controller has no cryptographic erase (FNA)".into());
        }
        let arguments = format_arguments(namespace, self.namespace, erase)
            .ok_or("the namespace does not report its LBA format (FLBAS)")?;
        self.command(
            NvmePurgeAction::Format(arguments),
            fna & (FNA_FORMATS_ALL | FNA_ERASES_ALL) != 0,
        )
    }

    fn sanitize(&self, action: u8, bit: u8, name: &str) -> Result<NvmePurgeCommand, String> {
        let (controller, _) = self.asked.as_ref().map_err(Clone::clone)?;
        let capabilities = named(controller, &["sanicap"]).unwrap_or(0);
        if capabilities & (1 << bit) == 0 {
            return Err(format!("the controller has no Sanitize by {name} (SANICAP)"));
        }
        self.command(NvmePurgeAction::Sanitize(action), true)
    }
}

fn answer(tools: &dyn Tools, arguments: &[&str]) -> Result<Value, HostError> {
    let said = tools.run(NVME, arguments, ANSWER)?;
    object(&said)
        .ok_or_else(|| HostError::not_understood(format!("nvme {}", arguments.join(" ")), &said))
}

/// Returns arguments of `nvme format` that keep the current FLBAS and DPS values (NVMe NVM Command
/// Set 1.0, figure 97), so that only the content changes. `None` if FLBAS is not reported.
fn format_arguments(namespace: &Value, number: u64, erase: u64) -> Option<Vec<String>> {
    let flbas = named(namespace, &["flbas"])?;
    let dps = named(namespace, &["dps"]).unwrap_or(0);
    let format = (flbas & 0xf) | (flbas >> 5 & 0x3) << 4;
    Some(vec![
        format!("--namespace-id={number}"),
        format!("--lbaf={format}"),
        format!("--ses={erase}"),
        format!("--ms={}", flbas >> 4 & 1),
        format!("--pi={}", dps & 0x7),
        format!("--pil={}", dps >> 3 & 1),
        format!("--timeout={}", FORMAT_LIMIT.as_millis()),
        // Suppresses the prompt of nvme-cli: the user has already confirmed the device.
        "--force".to_owned(),
    ])
}

/// Returns the other namespaces of the controller's subsystem. Without the kernel's multipath
/// driver, each controller of a subsystem has namespaces of its own in sysfs.
///
/// # Errors
/// A namespace exists that is not a block device here, so that its use cannot be checked, or the
/// list or a subsystem cannot be read.
fn siblings(
    whole: &SysfsNode,
    path: &str,
    roots: &SystemRoots,
    tools: &dyn Tools,
    asked: &Result<(Value, Value), String>,
) -> Result<Vec<SysfsNode>, String> {
    let own = subsystem(whole)?;
    let mut seen = Vec::new();
    for node in SysfsNode::every(roots).map_err(|error| error.to_string())? {
        let is_hidden = node.text("hidden").is_some_and(|hidden| hidden != "0");
        let is_other = node.name.starts_with("nvme") && node != *whole && !is_hidden;
        if is_other && subsystem(&node)? == own {
            seen.push(node);
        }
    }
    let manages = asked.as_ref().ok().and_then(|(controller, _)| named(controller, &["oacs"]));
    if manages.unwrap_or(0) & OACS_NAMESPACES == 0 {
        return Ok(seen);
    }
    let list = answer(tools, &["list-ns", path, "--all", "-o", "json"])
        .map_err(|error| format!("its other namespaces are unknown: {error}"))?;
    let known = |number: u64| {
        let is = |node: &SysfsNode| node.number::<u64>("nsid") == Some(number);
        is(whole) || seen.iter().any(is)
    };
    let listed = list.get("nsid_list").and_then(Value::as_array).cloned().unwrap_or_default();
    let numbers = listed.iter().filter_map(|entry| named(entry, &["nsid"]));
    match numbers.filter(|number| !known(*number)).collect::<Vec<_>>().as_slice() {
        [] => Ok(seen),
        hidden => Err(format!(
            "it also erases namespaces that are not block devices here ({hidden:?}); attach them \
             (nvme attach-ns) or delete them (nvme delete-ns)"
        )),
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
    pub fn carry_out(&self, work: &mut PurgeContext<'_>) -> Result<(), HostError> {
        match &self.what {
            NvmePurgeAction::Format(options) => self.format(options, work),
            NvmePurgeAction::Sanitize(action) => self.sanitize(*action, work),
        }
    }

    fn format(&self, options: &[String], work: &mut PurgeContext<'_>) -> Result<(), HostError> {
        let mut arguments = vec!["format", self.controller.as_str()];
        arguments.extend(options.iter().map(String::as_str));
        work.run_to_end(NVME, &arguments, FORMAT_LIMIT, "formatting").map(drop)
    }

    fn sanitize(&self, action: u8, work: &mut PurgeContext<'_>) -> Result<(), HostError> {
        let action = format!("--sanact={action}");
        let mut arguments = vec!["sanitize", self.controller.as_str(), &action];
        // AUSE makes it possible to leave the failure mode after a failed sanitize.
        arguments.push("--ause");
        if action.ends_with('3') {
            arguments.extend(["--owpass=1", "--ovrpat=0"]);
        }
        work.tools.run(NVME, &arguments, ANSWER)?;
        self.await_sanitize(work)
    }

    fn await_sanitize(&self, work: &mut PurgeContext<'_>) -> Result<(), HostError> {
        let arguments = ["sanitize-log", self.controller.as_str(), "-o", "json"];
        let failed = |how: &str, said: String| HostError::ToolFailed {
            command: format!("nvme {}", arguments.join(" ")),
            how: how.to_owned(),
            said,
        };
        while work.began.elapsed() < SANITIZE_LIMIT {
            let log = answer(work.tools, &arguments)?;
            match sanitize_state(&log) {
                Some((_, 1 | 4)) => return Ok(()),
                Some((progress, 2)) => {
                    work.tell("sanitizing", Some(100.0 * progress as f64 / 65_536.0));
                }
                Some((_, 3)) => {
                    let said = "the drive refuses I/O until a sanitize succeeds, or until \
                                `nvme sanitize --sanact=1` ends its failure mode";
                    return Err(failed("the drive reports that the sanitize failed", said.into()));
                }
                _ => return Err(failed("its output cannot be parsed", log.to_string())),
            }
            if work.watch.is_stopped() {
                work.tell("the drive continues sanitizing; it cannot be canceled", None);
                return Err(work.stopped());
            }
            work.tools.pause(LOOK);
        }
        Err(failed("the sanitize did not end within 48 hours", String::new()))
    }
}

/// Returns progress (in 1/65536) and status from the Sanitize log (81h). nvme-cli may nest the log
/// under the controller's name and print the status as a number or as `(2) Sanitize in Progress.`.
fn sanitize_state(log: &Value) -> Option<(u64, u64)> {
    let page = match log.get("sstat") {
        Some(_) => log,
        None => log.as_object()?.values().find(|value| value.get("sstat").is_some())?,
    };
    let progress = named(page, &["sprog"])?;
    let status = page.get("sstat")?;
    let status = match status.get("status") {
        Some(Value::String(words)) => words.trim_start_matches('(').split(')').next()?.parse().ok(),
        Some(_) => named(status, &["status"]),
        None => named(page, &["sstat"]),
    };
    Some((progress, status? & 0x7))
}

#[cfg(test)]
mod tests;
