//! The current settings, and the changes that bring them to the requested conditions.

use super::device_setting::change_of;
use super::setting::{BETWEEN_CONTROLLERS, HostSetting};
use crate::identity::{kernel_write_cache, parse_write_cache};
use crate::sysfs_node::SysfsNode;
use crate::system_roots::{SystemRoots, read_text};
use crate::target::Target;
use steadfast_domain::record::HostChange;
use steadfast_domain::{Conditions, Transport, WriteCache};

/// `queue/nomerges`: 0 merges, 1 merges only with the last request, 2 never merges.
const NO_MERGES: u8 = 2;

/// Value of `power/pm_qos_latency_tolerance_us` with which the kernel turns APST off.
const APST_OFF: &str = "0";
/// The kernel's default value of it (drivers/nvme/host/core.c, `default_ps_max_latency_us`).
const APST_DEFAULT: &str = "100000";

/// Policy of a link that the kernel prints but does not take (drivers/ata/libata-sata.c,
/// `ata_scsi_lpm_store`): a change of it could not be undone.
const FIRMWARE_POLICY: &str = "keep_firmware_settings";

/// Returns the setting for the write cache of a device; `None` if it cannot be set.
fn write_cache_setting(whole: &SysfsNode, transport: &Transport) -> Option<HostSetting> {
    match transport {
        Transport::Nvme => Some(HostSetting::NvmeWriteCache),
        // A disk of a virtual machine is a SCSI disk (sd) or has a virtio attribute (vd).
        Transport::Sata | Transport::Sas | Transport::Usb | Transport::Virtio => {
            [HostSetting::ScsiWriteCache, HostSetting::VirtioWriteCache]
                .into_iter()
                .find(|setting| setting.attribute(whole).is_some_and(|path| path.is_file()))
        }
        _ => None,
    }
}

/// Returns the write cache mode as reported by the device, otherwise as assumed by the kernel.
fn write_cache(
    whole: &SysfsNode,
    transport: &Transport,
    roots: &SystemRoots,
) -> Option<WriteCache> {
    write_cache_setting(whole, transport)
        .and_then(|setting| setting.read(whole, roots).ok())
        .and_then(|text| match text.as_str() {
            "1" => Some(WriteCache::Enabled),
            "0" => Some(WriteCache::Disabled),
            words => parse_write_cache(words),
        })
        .or_else(|| kernel_write_cache(whole))
}

/// Returns the device and all devices below it: a request can be merged in each queue that it
/// passes through.
pub(crate) fn queues(whole: &SysfsNode) -> Vec<SysfsNode> {
    let mut nodes = vec![whole.clone()];
    let mut next = 0;
    while let Some(below) = nodes.get(next).map(|node| node.slaves().unwrap_or_default()) {
        for lower in below.iter().map(SysfsNode::whole) {
            if !nodes.contains(&lower) {
                nodes.push(lower);
            }
        }
        next += 1;
    }
    nodes
}

fn merges(whole: &SysfsNode, roots: &SystemRoots) -> Option<bool> {
    let levels: Vec<u8> = queues(whole)
        .iter()
        .filter_map(|node| HostSetting::Merges.read(node, roots).ok()?.parse().ok())
        .collect();
    (!levels.is_empty()).then(|| levels.iter().any(|level| *level < NO_MERGES))
}

fn node_of(target: &Target, roots: &SystemRoots) -> Option<SysfsNode> {
    if target.is_file() {
        return None;
    }
    SysfsNode::from_name(&target.device().name, roots).map(|node| node.whole())
}

/// Reads the current settings. All are `None` for a file, because the queue below a file system
/// does not belong to the file.
pub fn conditions(target: &Target, roots: &SystemRoots) -> Conditions {
    let Some(whole) = node_of(target, roots) else { return Conditions::default() };
    let transport = &target.device().transport;
    Conditions {
        write_cache: write_cache(&whole, transport, roots),
        merges: merges(&whole, roots),
        scheduler: HostSetting::Scheduler.read(&whole, roots).ok(),
        request_kib_max: whole.number("queue/max_sectors_kb"),
        ..Conditions::default()
    }
}

/// Adds the power management of link and controller to conditions that were read, as far as it was
/// requested: other runs neither change nor watch it.
pub fn with_power_management(
    got: Conditions,
    wanted: &Conditions,
    target: &Target,
    roots: &SystemRoots,
) -> Conditions {
    let Some(whole) = node_of(target, roots) else { return got };
    let read = |setting: HostSetting| setting.read(&whole, roots).ok();
    let link_power = wanted.link_power.as_ref().and_then(|_| read(HostSetting::LinkPower));
    let latency = wanted.power_state_changes.and_then(|_| read(HostSetting::PowerStateChanges));
    let power_state_changes = latency.map(|latency| latency != APST_OFF);
    Conditions { link_power, power_state_changes, ..got }
}

/// Returns the changes that establish these conditions. Changes nothing: journal each change first,
/// then call [`super::make_change`].
pub fn plan_changes(wanted: &Conditions, target: &Target, roots: &SystemRoots) -> ChangePlan {
    let mut planner = ChangePlanner { roots, plan: ChangePlan::default() };
    match node_of(target, roots) {
        None => planner.refuse_all(wanted, &target.device().name),
        Some(whole) => planner.plan_all(wanted, &whole, &target.device().transport),
    }
    planner.plan
}

/// Changes that establish conditions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangePlan {
    /// The changes, in the order in which they are to be made.
    pub changes: Vec<HostChange>,
    /// One sentence for each condition that cannot be met.
    pub unmet: Vec<String>,
}

struct ChangePlanner<'a> {
    roots: &'a SystemRoots,
    plan: ChangePlan,
}

impl ChangePlanner<'_> {
    fn refuse_all(&mut self, wanted: &Conditions, name: &str) {
        let requested = [
            wanted.write_cache.map(|cache| format!("write cache {cache}")),
            wanted.merges.map(|on| format!("merges {}", if on { "on" } else { "off" })),
            wanted.scheduler.as_ref().map(|scheduler| format!("scheduler {scheduler}")),
            wanted.request_kib_max.map(|kib| format!("requests of {kib} KiB")),
            wanted.link_power.as_ref().map(|policy| format!("link power {policy}")),
            wanted
                .power_state_changes
                .map(|on| format!("power state changes {}", if on { "on" } else { "off" })),
        ];
        self.plan.unmet.extend(requested.into_iter().flatten().map(|what| {
            format!("{what}: {name} is a file, and the device below it is not changed")
        }));
    }

    fn plan_all(&mut self, wanted: &Conditions, whole: &SysfsNode, transport: &Transport) {
        if let Some(cache) = wanted.write_cache {
            self.write_cache(cache, whole, transport);
        }
        if let Some(on) = wanted.merges {
            self.merges(on, whole);
        }
        if let Some(scheduler) = &wanted.scheduler {
            self.change(HostSetting::Scheduler, whole, scheduler);
        }
        if let Some(kib) = wanted.request_kib_max {
            self.request_size(kib, whole);
        }
        if let Some(policy) = &wanted.link_power {
            match HostSetting::LinkPower.read(whole, self.roots) {
                Ok(now) if now == FIRMWARE_POLICY => self.plan.unmet.push(format!(
                    "link power {policy}: it is {now}, which the kernel does not take back"
                )),
                _ => self.change(HostSetting::LinkPower, whole, policy),
            }
        }
        if let Some(on) = wanted.power_state_changes {
            self.power_state_changes(on, whole);
        }
    }

    /// Plans the controller's tolerated wake-up latency; a latency of zero turns APST off.
    fn power_state_changes(&mut self, on: bool, whole: &SysfsNode) {
        let now = HostSetting::PowerStateChanges.read(whole, self.roots).ok();
        let is_met =
            |now: String| now.split(BETWEEN_CONTROLLERS).all(|latency| (latency != APST_OFF) == on);
        if now.is_some_and(is_met) {
            return;
        }
        let file = self.roots.sys.join("module/nvme_core/parameters/default_ps_max_latency_us");
        // A preset of zero would leave APST off.
        let preset = read_text(&file).filter(|latency| latency != APST_OFF);
        let latency = if on { preset.as_deref().unwrap_or(APST_DEFAULT) } else { APST_OFF };
        self.change(HostSetting::PowerStateChanges, whole, latency);
    }

    fn write_cache(&mut self, wanted: WriteCache, whole: &SysfsNode, transport: &Transport) {
        if write_cache(whole, transport, self.roots) == Some(wanted) {
            return;
        }
        match write_cache_setting(whole, transport) {
            Some(HostSetting::NvmeWriteCache) => {
                let value = if wanted == WriteCache::Enabled { "1" } else { "0" };
                self.change(HostSetting::NvmeWriteCache, whole, value);
            }
            Some(setting) => {
                let enabled = wanted == WriteCache::Enabled;
                self.change(setting, whole, if enabled { "write back" } else { "write through" });
            }
            None => self.plan.unmet.push(format!(
                "write cache {wanted}: {} ({transport}) has no write cache that steadfast can set",
                whole.name
            )),
        }
    }

    /// Plans the change in all queues, because a merge in any of them counts.
    fn merges(&mut self, on: bool, whole: &SysfsNode) {
        let level = if on { 0 } else { NO_MERGES };
        let queues: Vec<SysfsNode> = queues(whole)
            .into_iter()
            .filter(|node| HostSetting::Merges.attribute(node).is_some_and(|path| path.is_file()))
            .collect();
        if queues.is_empty() {
            let wish = if on { "on" } else { "off" };
            self.plan.unmet.push(format!("merges {wish}: {} has no queue/nomerges", whole.name));
        }
        for node in &queues {
            // Levels 0 and 1 both merge: change only between merging and not merging.
            let now = node.number::<u8>("queue/nomerges").map(|now| now < NO_MERGES);
            if now != Some(on) {
                self.change(HostSetting::Merges, node, &level.to_string());
            }
        }
    }

    fn request_size(&mut self, kib: u64, whole: &SysfsNode) {
        match whole.number::<u64>("queue/max_hw_sectors_kb") {
            Some(most) if kib > most => self.plan.unmet.push(format!(
                "requests of {kib} KiB: {} accepts at most {most} KiB in one request",
                whole.name
            )),
            _ => self.change(HostSetting::RequestSize, whole, &kib.to_string()),
        }
    }

    /// Plans one change unless the setting already has the value.
    fn change(&mut self, setting: HostSetting, whole: &SysfsNode, after: &str) {
        match setting.read(whole, self.roots) {
            Ok(before) if before == after => {}
            Ok(before) => {
                self.plan.changes.push(change_of(setting, whole, &before, after, self.roots));
            }
            Err(error) => {
                self.plan.unmet.push(format!(
                    "{} {after} on {}: {error}",
                    setting.name(),
                    whole.name
                ));
            }
        }
    }
}
