//! A setting of one device: its notation in the journal, and the device it belongs to.

use super::setting::HostSetting;
use crate::error::HostError;
use crate::identity::describe;
use crate::sysfs_node::SysfsNode;
use crate::system_roots::SystemRoots;
use std::fmt;
use steadfast_domain::record::HostChange;

/// A setting of one device, written in the journal as
/// `queue/nomerges of nvme0n1, eui.0025385b01234567`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DeviceSetting {
    pub setting: HostSetting,
    pub name: String,
    pub identity: Option<String>,
}

impl fmt::Display for DeviceSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.setting.name(), self.name)?;
        self.identity.as_ref().map_or(Ok(()), |identity| write!(f, ", {identity}"))
    }
}

/// Result of looking for the device of a change.
pub(super) enum DeviceLookup {
    Found(SysfsNode),
    /// Nothing is left to undo, for this reason.
    Gone(&'static str),
}

impl DeviceSetting {
    fn of_disk(setting: HostSetting, whole: &SysfsNode, roots: &SystemRoots) -> DeviceSetting {
        DeviceSetting { setting, name: whole.name.clone(), identity: identity(whole, roots) }
    }

    /// Returns the setting that a change names.
    pub fn read(change: &HostChange) -> Result<DeviceSetting, HostError> {
        let unknown = || HostError::UnknownSetting(change.setting.clone());
        DeviceSetting::parse(&change.setting).ok_or_else(unknown)
    }

    /// Writes a value and reads it back.
    pub fn write(
        &self,
        whole: &SysfsNode,
        value: &str,
        roots: &SystemRoots,
    ) -> Result<(), HostError> {
        self.setting.write(whole, value, roots)?;
        let current = self.setting.read(whole, roots)?;
        if current == value {
            return Ok(());
        }
        let (setting, wanted) = (self.to_string(), value.to_owned());
        Err(HostError::NotTaken { setting, wanted, found: current })
    }

    pub fn parse(text: &str) -> Option<DeviceSetting> {
        let (setting, place) = text.split_once(" of ")?;
        let setting = HostSetting::ALL.into_iter().find(|known| known.name() == setting)?;
        let (name, identity) = match place.split_once(", ") {
            Some((name, identity)) => (name, Some(identity.to_owned())),
            None => (place, None),
        };
        Some(DeviceSetting { setting, name: name.to_owned(), identity })
    }

    /// Finds the device of a change: by the kernel's sequence number in the same boot; by name and
    /// identity after a reboot or without a sequence number.
    pub fn find_to_undo(
        &self,
        change: &HostChange,
        roots: &SystemRoots,
    ) -> Result<DeviceLookup, HostError> {
        let restarted = match (&change.boot_id, roots.boot_id()) {
            (Some(then), Some(now)) => *then != now,
            _ => false,
        };
        if restarted && self.setting.is_kept_by_the_kernel() {
            return Ok(DeviceLookup::Gone("the restart since then reset it"));
        }
        let Some(sequence) = change.disk_sequence else {
            return self.find(roots).map(DeviceLookup::Found);
        };
        if !restarted {
            let candidates: Vec<_> =
                SysfsNode::all(roots).into_iter().map(|n| (sequence_of(&n), n)).collect();
            if let Some((_, node)) = candidates.iter().find(|(found, _)| *found == Some(sequence)) {
                return Ok(DeviceLookup::Found(node.clone()));
            }
            let is_certain = candidates.iter().any(|(found, _)| found.is_some());
            if is_certain && (self.setting.is_kept_by_the_kernel() || self.identity.is_none()) {
                return Ok(DeviceLookup::Gone("the device is gone; another device has its name"));
            }
        } else if self.identity.is_none() {
            return Ok(DeviceLookup::Gone("the machine was restarted; the device has no identity"));
        }
        self.find(roots).map(DeviceLookup::Found)
    }

    /// Finds the device: the one with this name if the identity matches, otherwise the one with
    /// this identity.
    pub fn find(&self, roots: &SystemRoots) -> Result<SysfsNode, HostError> {
        let fits =
            |node: &SysfsNode| self.identity.is_none() || identity(node, roots) == self.identity;
        SysfsNode::from_name(&self.name, roots)
            .filter(|node| fits(node))
            .or_else(|| {
                self.identity.as_ref()?;
                SysfsNode::all(roots).into_iter().find(|node| fits(node))
            })
            .ok_or_else(|| HostError::Absent {
                wanted: format!("{} ({})", self.name, self.identity.as_deref().unwrap_or("–")),
                instead: None,
            })
    }
}

/// Returns the journal entry for a change made in this boot.
pub(super) fn change_of(
    setting: HostSetting,
    whole: &SysfsNode,
    before: &str,
    after: &str,
    roots: &SystemRoots,
) -> HostChange {
    HostChange {
        setting: DeviceSetting::of_disk(setting, whole, roots).to_string(),
        before: before.to_owned(),
        after: after.to_owned(),
        boot_id: roots.boot_id(),
        disk_sequence: sequence_of(whole),
    }
}

/// Returns the kernel's sequence number of the disk; `None` on kernels before 5.15.
fn sequence_of(whole: &SysfsNode) -> Option<u64> {
    whole.number("diskseq")
}

fn identity(whole: &SysfsNode, roots: &SystemRoots) -> Option<String> {
    let device = describe(whole, &whole.path(roots), roots);
    device.wwid.or(device.serial)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_survives_the_journal() {
        for identity in
            [None, Some("eui.0025385b01234567".to_owned()), Some("t10.A B, C of D".into())]
        {
            for setting in HostSetting::ALL {
                let place =
                    DeviceSetting { setting, name: "nvme0n1".into(), identity: identity.clone() };
                assert_eq!(DeviceSetting::parse(&place.to_string()), Some(place));
            }
        }
        for bad in ["", "queue/nomerges", "../../etc/shadow of sda", "/etc/shadow"] {
            assert_eq!(DeviceSetting::parse(bad), None, "{bad}");
        }
    }
}
