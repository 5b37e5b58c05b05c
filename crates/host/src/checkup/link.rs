//! The link between processor and device: width, speed and power management.

use super::subject::CheckSubject;
use super::topic::CheckTopic;
use crate::device_log::NvmeFacts;
use crate::sysfs_node::{ata_port, controllers, link_power_file};
use crate::system_roots::{entries, file_name, read_number, read_text};
use std::fs;
use std::path::{Path, PathBuf};
use steadfast_domain::Transport;
use steadfast_domain::record::Check;

const PCIE: CheckTopic = CheckTopic("pcie-link", "PCIe link");
const SATA: CheckTopic = CheckTopic("sata-link", "SATA link");
const MODE: CheckTopic = CheckTopic("sata-mode", "SATA controller mode");
const LINK_POWER: CheckTopic = CheckTopic("link-power", "Link power management");
const ASPM: CheckTopic = CheckTopic("aspm", "PCIe power management (ASPM)");
const RUNTIME: CheckTopic = CheckTopic("runtime-pm", "Runtime power management");
const APST: CheckTopic = CheckTopic("apst", "NVMe power state changes (APST)");
const POWER_STATE: CheckTopic = CheckTopic("power-state", "NVMe power state");

pub(super) fn checks(subject: &CheckSubject<'_>, facts: Option<&NvmeFacts>) -> Vec<Check> {
    let mut checks = Vec::new();
    checks.extend(pcie_link(subject));
    checks.extend(sata_link(subject));
    checks.extend(sata_mode(subject));
    checks.extend(sata_power(subject));
    checks.extend(aspm(subject));
    checks.extend(runtime(subject));
    checks.extend(apst(subject, facts));
    checks.extend(facts.and_then(|facts| power_state(subject, facts)));
    checks
}

/// A PCIe link: number of lanes, and speed per lane in GT/s.
#[derive(Debug, Clone, Copy, PartialEq)]
struct PcieLink {
    speed: f64,
    width: u32,
}

impl PcieLink {
    /// Reads the link of a PCI function; `which` is `current` or `max`.
    fn read(function: &Path, which: &str) -> Option<PcieLink> {
        let speed = read_text(&function.join(format!("{which}_link_speed")))?;
        let speed = speed.split_whitespace().next()?.parse::<f64>().ok()?;
        let width = read_number::<u32>(&function.join(format!("{which}_link_width")))?;
        // The kernel reports 0 or 255 for an unknown width.
        (speed > 0.0 && (1..=64).contains(&width)).then_some(PcieLink { speed, width })
    }
    fn shown(self) -> String {
        format!("{} GT/s x{}", self.speed, self.width)
    }
}

fn pcie_link(subject: &CheckSubject<'_>) -> Option<Check> {
    let is_nvme = subject.device.transport == Transport::Nvme;
    let link = subject.function.as_ref().and_then(|function| {
        Some((function, PcieLink::read(function, "current")?, PcieLink::read(function, "max")?))
    });
    let Some((function, now, most)) = link else {
        return is_nvme.then(|| PCIE.unknown("the kernel reports no PCIe link"));
    };
    let of = if is_nvme { "the device" } else { "its controller" };
    let found = format!("{}; {of} supports {}", now.shown(), most.shown());
    if now.speed >= most.speed && now.width >= most.width {
        return Some(PCIE.good(found));
    }
    let slot = function.parent().and_then(|port| PcieLink::read(port, "max"));
    let slot =
        slot.map(|slot| format!(" (the slot supports {})", slot.shown())).unwrap_or_default();
    let advice = format!(
        "The link, not the device, limits large transfers{slot}: use a slot with more or faster \
         lanes, reseat the device, check the firmware's settings."
    );
    Some(PCIE.bad(found, advice))
}

fn sata_link(subject: &CheckSubject<'_>) -> Option<Check> {
    let port = ata_port(subject.whole.as_ref()?)?;
    let links: Vec<PathBuf> =
        entries(&port).iter().flat_map(|link| entries(&link.join("ata_link"))).collect();
    let read = |name: &str| {
        let text = links.iter().find_map(|link| read_text(&link.join(name)))?;
        let speed = text.split_whitespace().next()?.parse::<f64>().ok()?;
        Some((speed, text))
    };
    let Some((speed, text)) = read("sata_spd") else {
        return Some(SATA.unknown("the kernel reports no SATA speed"));
    };
    let most = read("hw_sata_spd_limit").map_or(6.0, |(most, _)| most.min(6.0));
    Some(if speed >= most {
        SATA.good(text)
    } else {
        SATA.bad(
            format!("{text}; the port supports {most} Gbps"),
            "The link limits large transfers: use another port or cable, and check dmesg for errors.",
        )
    })
}

/// Checks the driver of the SATA controller: the legacy modes have no native command queuing.
fn sata_mode(subject: &CheckSubject<'_>) -> Option<Check> {
    ata_port(subject.whole.as_ref()?)?;
    let function = subject.function.as_ref()?;
    let driver = fs::read_link(function.join("driver")).ok().map(|link| file_name(&link))?;
    Some(match driver.as_str() {
        "ahci" | "mv-ahci" | "sata_sil24" | "sata_mv" => MODE.good(driver),
        "ata_piix" | "ata_generic" | "pata_acpi" => MODE.attention(
            format!("{driver}: a legacy mode without command queuing"),
            "Set the controller to AHCI in the firmware's setup.",
        ),
        _ => MODE.unknown(driver),
    })
}

fn sata_power(subject: &CheckSubject<'_>) -> Option<Check> {
    let port = ata_port(subject.whole.as_ref()?)?;
    let policy = read_text(&link_power_file(&port)?)?;
    Some(match policy.as_str() {
        "max_performance" => LINK_POWER.good(policy),
        _ => LINK_POWER.attention(
            format!("{policy}: the link sleeps between I/Os"),
            "echo max_performance | tee /sys/class/scsi_host/host*/link_power_management_policy",
        ),
    })
}

fn aspm(subject: &CheckSubject<'_>) -> Option<Check> {
    let function = subject.function.as_ref()?;
    // A function without its own link, as in a virtual machine, has no link states.
    PcieLink::read(function, "current")?;
    let states: Vec<String> = entries(&function.join("link"))
        .iter()
        .filter(|attribute| read_number::<u8>(attribute) == Some(1))
        .map(|attribute| file_name(attribute))
        .collect();
    let policy = read_text(&subject.roots.sys.join("module/pcie_aspm/parameters/policy"))
        .and_then(|text| Some(text.split_once('[')?.1.split_once(']')?.0.to_owned()));
    let stated = policy.as_ref().map(|p| format!("policy {p}")).unwrap_or_default();
    let controllable = !entries(&function.join("link")).is_empty();
    Some(match (states.is_empty(), policy.as_deref()) {
        (false, _) => ASPM.attention(
            format!("{} on; {stated}", states.join(", ")).trim_end_matches("; ").to_owned(),
            "echo performance > /sys/module/pcie_aspm/parameters/policy",
        ),
        (true, _) if controllable => ASPM.good(format!("off on this link; {stated}")),
        (true, Some("performance")) => ASPM.good(stated),
        (true, Some(_)) => ASPM
            .unknown(format!("{stated}: the firmware decides, and the link state is not reported")),
        (true, None) => ASPM.unknown("the kernel does not manage it"),
    })
}

/// Checks whether the kernel may suspend the device or its controller when idle
/// (Documentation/power/runtime_pm.rst: `control` is `auto` where it may, and `runtime_status` is
/// `unsupported` where nothing implements it).
fn runtime(subject: &CheckSubject<'_>) -> Option<Check> {
    let device = subject.whole.as_ref().map(|whole| whole.directory.join("device"));
    let mut found = Vec::new();
    let mut is_automatic = false;
    for (name, directory) in [("device", device), ("controller", subject.function.clone())] {
        let Some(power) = directory.map(|directory| directory.join("power")) else { continue };
        let status = read_text(&power.join("runtime_status"));
        let Some(status) = status.filter(|status| status != "unsupported") else { continue };
        let Some(control) = read_text(&power.join("control")) else { continue };
        is_automatic |= control == "auto";
        found.push(format!("{name} {control} ({status})"));
    }
    if found.is_empty() {
        return None;
    }
    let found = found.join(", ");
    Some(if is_automatic {
        let advice = "echo on into power/control of the device in sysfs keeps it awake.";
        RUNTIME.attention(format!("{found}: may be suspended when idle"), advice)
    } else {
        RUNTIME.good(found)
    })
}

/// Checks autonomous power state transitions: whether the controller supports them, and the maximum
/// exit latency that the kernel allows (Documentation/admin-guide/pm).
fn apst(subject: &CheckSubject<'_>, facts: Option<&NvmeFacts>) -> Option<Check> {
    if subject.device.transport != Transport::Nvme {
        return None;
    }
    let whole = subject.whole.as_ref()?;
    let module = subject.roots.sys.join("module/nvme_core/parameters/default_ps_max_latency_us");
    let allowed = controllers(whole)
        .iter()
        .find_map(|controller| read_number(&controller.join("power/pm_qos_latency_tolerance_us")))
        .or_else(|| read_number::<u64>(&module));
    Some(match (allowed, facts.and_then(|facts| facts.autonomous_power_states)) {
        (_, Some(false)) => APST.good("the controller has none"),
        (Some(0), _) => APST.good("off"),
        (Some(latency), Some(true)) => APST.attention(
            format!("on: an idle controller may take up to {latency} us to wake"),
            "Boot with nvme_core.default_ps_max_latency_us=0, especially for tests with idle times \
             or T1Q1.",
        ),
        (Some(latency), None) => APST.unknown(format!(
            "up to {latency} us to wake allowed; the controller's support is unknown"
        )),
        (None, _) => APST.unknown("not reported by the kernel"),
    })
}

/// Checks the power state that the controller is in: another one than 0 limits its power, and often
/// its throughput.
fn power_state(subject: &CheckSubject<'_>, facts: &NvmeFacts) -> Option<Check> {
    let number = facts.power_state?;
    let states = &facts.power_states;
    let watts = |number: usize| states.get(number).and_then(|state| state.watts);
    let shown = |number: usize| {
        watts(number).map(|watts| format!(", up to {watts:.2} W")).unwrap_or_default()
    };
    let found = format!("{number} of 0 to {}{}", states.len().saturating_sub(1), shown(number));
    if number == 0 {
        return Some(POWER_STATE.good(found));
    }
    let sleeps = states.get(number).is_some_and(|state| !state.is_operational);
    let found = format!("{found}{}; state 0{}", if sleeps { ", idle" } else { "" }, shown(0));
    let path = &subject.device.path;
    Some(POWER_STATE.attention(
        found,
        format!("nvme set-feature {path} -f 2 -v 0, or report the state with the numbers."),
    ))
}
