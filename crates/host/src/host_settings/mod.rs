//! Settings of the kernel's queue and of a device's write cache, and the control groups of loads:
//! reads, plans, makes and undoes changes.
//!
//! The write cache is set on the device itself, never in `queue/write_cache`, which only changes
//! what the kernel assumes: on SCSI and SATA through the disk's `cache_type`, which sends MODE
//! SELECT (libata translates it to SET FEATURES) and reads the page back; on virtio through the
//! disk's own `cache_type`; on NVMe through feature 06h.
//!
//! A change identifies its device by name and by identity, because a journal may be used after a
//! reboot, when another device may have the name; and by the kernel's sequence number of the disk,
//! because loop and zram devices have no identity. A change is undone only on that device, and only
//! if the setting still has the value that the change set.

mod change_plan;
mod device_setting;
mod load_cgroups;
mod setting;
#[cfg(test)]
mod tests;

pub(crate) use change_plan::queues;
pub use change_plan::{ChangePlan, conditions, plan_changes, with_power_management};
pub use load_cgroups::LoadCgroups;
pub(crate) use setting::active_scheduler;

use crate::error::HostError;
use crate::sysfs_node::SysfsNode;
use crate::system_roots::{SystemRoots, entries, read_text};
use device_setting::{DeviceLookup, DeviceSetting, change_of};
use load_cgroups::GroupSetting;
use setting::{HostSetting, NO_PASSWORD, PASSWORD_SET};
use steadfast_domain::record::HostChange;

/// Outcome of undoing a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UndoOutcome {
    /// The old value was restored.
    Restored,
    /// The setting already had its old value.
    AlreadyRestored,
    /// Nothing is left to undo: the device is gone, or a reboot has reset it. Holds the reason.
    Gone(&'static str),
    /// The setting was left as it is, because something else changed or uses it. Holds the reason.
    LeftUnchanged(String),
}

/// Changes a setting and reads it back. The caller must journal the change first.
///
/// # Errors
/// Returns [`HostError`] if the device is not attached or the setting does not read back as written.
pub fn make_change(change: &HostChange, roots: &SystemRoots) -> Result<(), HostError> {
    if let Some(group) = GroupSetting::parse(&change.setting, roots) {
        return group.write(&change.after);
    }
    let target = DeviceSetting::read(change)?;
    let disk = target.find(roots)?;
    if target.setting.read(&disk, roots)? == change.after {
        return Ok(());
    }
    target.write(&disk, &change.after, roots)
}

/// Restores the old value of a setting on the same device, even if its name has changed. Does so
/// only if the setting still has the value that the change set.
///
/// # Errors
/// Returns [`HostError`] if the device is not attached or the setting does not read back as written.
pub fn undo_change(change: &HostChange, roots: &SystemRoots) -> Result<UndoOutcome, HostError> {
    if let Some(group) = GroupSetting::parse(&change.setting, roots) {
        // Control groups do not outlive a restart: a group of this name now belongs to another
        // program, and its device number may be that of another device.
        if let (Some(then), Some(now)) = (&change.boot_id, roots.boot_id())
            && *then != now
        {
            return Ok(UndoOutcome::Gone("the restart since then removed it"));
        }
        if group.read() == change.before {
            return Ok(UndoOutcome::AlreadyRestored);
        }
        if group.is_used_by_another_run() {
            let why = "control groups of another run use it; restore it after that run has ended";
            return Ok(UndoOutcome::LeftUnchanged(why.to_owned()));
        }
        group.write(&change.before)?;
        return Ok(UndoOutcome::Restored);
    }
    let target = DeviceSetting::read(change)?;
    let disk = match target.find_to_undo(change, roots)? {
        DeviceLookup::Found(disk) => disk,
        DeviceLookup::Gone(why) => return Ok(UndoOutcome::Gone(why)),
    };
    let value = target.setting.read(&disk, roots)?;
    if value == change.before {
        return Ok(UndoOutcome::AlreadyRestored);
    }
    if value != change.after {
        let why = format!("it is {value} now, not {}, which this program had set", change.after);
        return Ok(UndoOutcome::LeftUnchanged(why));
    }
    target.write(&disk, &change.before, roots)?;
    Ok(UndoOutcome::Restored)
}

/// Returns the change that sets a password on an ATA drive without one.
pub(crate) fn password_change(whole: &SysfsNode, roots: &SystemRoots) -> HostChange {
    change_of(HostSetting::AtaPassword, whole, NO_PASSWORD, PASSWORD_SET, roots)
}

/// Returns true if a change sets a password, which must not outlast a purge.
pub fn is_password(change: &HostChange) -> bool {
    DeviceSetting::parse(&change.setting)
        .is_some_and(|target| target.setting == HostSetting::AtaPassword)
}

/// Returns the active processor frequency governors without duplicates; `None` if unknown.
pub(crate) fn governors(roots: &SystemRoots) -> Option<String> {
    let mut names: Vec<String> = entries(&roots.sys.join("devices/system/cpu"))
        .iter()
        .filter_map(|cpu| read_text(&cpu.join("cpufreq/scaling_governor")))
        .collect();
    names.sort();
    names.dedup();
    (!names.is_empty()).then(|| names.join(", "))
}
