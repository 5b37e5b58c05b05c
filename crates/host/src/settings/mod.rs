//! Settings of the kernel's queue and of a device's write cache: read, planned,
//! changed, put back.
//!
//! The write cache is set on the device itself, never in `queue/write_cache`,
//! which only changes what the kernel believes: on SCSI and SATA through the
//! disk's `cache_type`, which sends MODE SELECT (libata makes SET FEATURES of
//! it) and reads the page again; on virtio through the disk's own; on NVMe by
//! feature 06h.
//!
//! A change names its device by identity as well as by name, because a journal
//! may be taken up after a restart, when the name may be another device's; and by
//! the kernel's own number of the disk, because a loop device or a zram has no
//! identity. A change is undone only on that device, and only where the setting
//! still has the value that it was given.

mod place;
mod setting;
#[cfg(test)]
mod tests;
mod wanted;

pub use wanted::{conditions, plan_changes};

use crate::ata_security::{PASSWORD, clear_password};
use crate::error::HostError;
use crate::node::Node;
use crate::roots::{Roots, entries, read_text};
use crate::tool::Installed;
use place::{Place, Whereabouts, change_of};
use setting::{HostSetting, NO_PASSWORD, PASSWORD_SET};
use std::path::Path;
use steadfast_domain::record::HostChange;

/// How the undoing of a change ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Undone {
    /// The setting has its old value again.
    PutBack,
    /// It had it already.
    AlreadySo,
    /// The device is gone, or a restart has reset it: nothing is left to undo.
    Gone(&'static str),
    /// Somebody else has changed it since, and it was left as it is.
    Left(String),
}

/// Changes a setting and reads it back. Journal the change before.
///
/// # Errors
/// Where the device is not here, or the setting does not read back as written.
pub fn make_change(change: &HostChange, roots: &Roots) -> Result<(), HostError> {
    let place = Place::read(change)?;
    let whole = place.find(roots)?;
    if place.setting.read(&whole, roots)? == change.after {
        return Ok(());
    }
    place.give(&whole, &change.after, roots)
}

/// Puts a setting back to what it was, on the same device whatever its name is
/// now, where it still has the value that the change gave it. What somebody else
/// has set since is left.
///
/// # Errors
/// Where the device is not here, or the setting does not read back as written.
pub fn undo_change(change: &HostChange, roots: &Roots) -> Result<Undone, HostError> {
    let place = Place::read(change)?;
    let whole = match place.look_for(change, roots)? {
        Whereabouts::Here(whole) => whole,
        Whereabouts::Gone(why) => return Ok(Undone::Gone(why)),
    };
    let found = place.setting.read(&whole, roots)?;
    if found == change.before {
        return Ok(Undone::AlreadySo);
    }
    if found != change.after {
        let why = format!("it is {found} now, not {}, which this program had set", change.after);
        return Ok(Undone::Left(why));
    }
    place.give(&whole, &change.before, roots)?;
    Ok(Undone::PutBack)
}

/// The change that sets a password on an ATA drive without one.
pub(crate) fn password_change(whole: &Node, roots: &Roots) -> HostChange {
    change_of(HostSetting::AtaPassword, whole, NO_PASSWORD, PASSWORD_SET, roots)
}

/// Whether a change set a password, which must not outlast a purge.
pub fn is_password(change: &HostChange) -> bool {
    Place::parse(&change.setting).is_some_and(|place| place.setting == HostSetting::AtaPassword)
}

/// Takes a drive's user password away, which a locked drive is unlocked with
/// for that. Answers whether there was one.
///
/// # Errors
/// Where the drive is no ATA drive, is frozen, or does not take the password.
pub fn unlock(device: &Path, password: &str) -> Result<bool, HostError> {
    clear_password(&device.to_string_lossy(), password, &Installed)
}

/// The password that a purge sets for as long as it lasts.
pub const PURGE_PASSWORD: &str = PASSWORD;

/// The processor frequency governors in force, each once.
pub(crate) fn governors(roots: &Roots) -> Option<String> {
    let mut names: Vec<String> = entries(&roots.sys.join("devices/system/cpu"))
        .iter()
        .filter_map(|cpu| read_text(&cpu.join("cpufreq/scaling_governor")))
        .collect();
    names.sort();
    names.dedup();
    (!names.is_empty()).then(|| names.join(", "))
}
