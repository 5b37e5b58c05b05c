//! The settings that this program changes: where each is, how it is read and written.

use crate::ata_security::{self, AtaSecurity, PURGE_PASSWORD};
use crate::error::HostError;
use crate::nvme::NvmeNode;
use crate::sysfs_node::{SysfsNode, ata_port, controllers, link_power_file};
use crate::system_roots::{SystemRoots, entries};
use crate::tool::{InstalledTools, Tools};
use std::fs;
use std::path::PathBuf;

/// Feature identifier of the volatile write cache (NVMe Base 2.1, 5.1.25.1).
const NVME_WRITE_CACHE: u8 = 0x06;

// The password for SECURITY ERASE UNIT: name of the setting and its two values.
const ATA_PASSWORD: &str = "ATA password";
pub(super) const NO_PASSWORD: &str = "none";
pub(super) const PASSWORD_SET: &str = "set";

/// A setting that this program changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HostSetting {
    Merges,
    Scheduler,
    RequestSize,
    LinkPower,
    PowerStateChanges,
    ScsiWriteCache,
    VirtioWriteCache,
    NvmeWriteCache,
    AtaPassword,
}

/// Text between the values of several controllers.
pub const BETWEEN_CONTROLLERS: &str = ",";

impl HostSetting {
    pub const ALL: [HostSetting; 9] = [
        HostSetting::Merges,
        HostSetting::Scheduler,
        HostSetting::RequestSize,
        HostSetting::LinkPower,
        HostSetting::PowerStateChanges,
        HostSetting::ScsiWriteCache,
        HostSetting::VirtioWriteCache,
        HostSetting::NvmeWriteCache,
        HostSetting::AtaPassword,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            HostSetting::Merges => "queue/nomerges",
            HostSetting::Scheduler => "queue/scheduler",
            HostSetting::RequestSize => "queue/max_sectors_kb",
            HostSetting::LinkPower => "link_power_management_policy",
            HostSetting::PowerStateChanges => "power/pm_qos_latency_tolerance_us",
            HostSetting::ScsiWriteCache => "write cache (caching mode page)",
            HostSetting::VirtioWriteCache => "write cache (virtio)",
            HostSetting::NvmeWriteCache => "write cache (NVMe feature 06h)",
            HostSetting::AtaPassword => ATA_PASSWORD,
        }
    }

    /// Returns true if the kernel keeps the value, which is lost with the disk; false if the device
    /// keeps it.
    pub const fn is_kept_by_the_kernel(self) -> bool {
        matches!(
            self,
            HostSetting::Merges
                | HostSetting::Scheduler
                | HostSetting::RequestSize
                | HostSetting::LinkPower
                | HostSetting::PowerStateChanges
        )
    }

    /// Returns the sysfs attribute of the setting; `None` if the device's own commands read and write
    /// it.
    pub fn attribute(self, whole: &SysfsNode) -> Option<PathBuf> {
        match self {
            HostSetting::NvmeWriteCache | HostSetting::AtaPassword => None,
            HostSetting::ScsiWriteCache => entries(&whole.directory.join("device/scsi_disk"))
                .into_iter()
                .map(|disk| disk.join("cache_type"))
                .find(|attribute| attribute.is_file()),
            HostSetting::VirtioWriteCache => Some(whole.directory.join("cache_type")),
            HostSetting::LinkPower => {
                let file = ata_port(whole).and_then(|port| link_power_file(&port));
                Some(file.unwrap_or_else(|| whole.directory.join(self.name())))
            }
            HostSetting::PowerStateChanges => self.of_controllers(whole).into_iter().next(),
            _ => Some(whole.directory.join(self.name())),
        }
    }

    /// Returns the attribute of every controller that leads to the device, by name: with
    /// multipath, the kernel chooses one for each I/O.
    fn of_controllers(self, whole: &SysfsNode) -> Vec<PathBuf> {
        let mut directories = controllers(whole);
        directories.sort();
        if directories.is_empty() {
            directories.push(whole.directory.clone());
        }
        directories.into_iter().map(|directory| directory.join(self.name())).collect()
    }

    /// Reads the value of every controller: one if all have the same, else all of them in order.
    fn read_controllers(self, whole: &SysfsNode) -> Result<String, HostError> {
        let mut values = Vec::new();
        for file in self.of_controllers(whole) {
            let text = fs::read_to_string(&file);
            let text = text.map_err(|e| HostError::io("read the setting", &file, e))?;
            values.push(text.trim().to_owned());
        }
        if values.iter().all(|value| *value == values[0]) {
            values.truncate(1);
        }
        Ok(values.join(BETWEEN_CONTROLLERS))
    }

    /// Writes one value to every controller, or to each its own value. After a failure, restores
    /// the old values of the controllers already written.
    fn write_controllers(self, whole: &SysfsNode, value: &str) -> Result<(), HostError> {
        let files = self.of_controllers(whole);
        let values: Vec<&str> = value.split(BETWEEN_CONTROLLERS).collect();
        let mut written: Vec<(&PathBuf, String)> = Vec::new();
        for (at, file) in files.iter().enumerate() {
            let value = if values.len() == 1 { Some(&values[0]) } else { values.get(at) };
            let missing = || std::io::Error::other("the number of controllers has changed");
            let before = fs::read_to_string(file);
            let changed = before.and_then(|before| {
                fs::write(file, value.ok_or_else(missing)?)?;
                Ok(before)
            });
            match changed {
                Ok(before) => written.push((file, before)),
                Err(error) => {
                    for (file, before) in written {
                        let _ = fs::write(file, before.trim());
                    }
                    return Err(HostError::io("change the setting", file, error));
                }
            }
        }
        Ok(())
    }

    pub fn read(self, whole: &SysfsNode, roots: &SystemRoots) -> Result<String, HostError> {
        if self == HostSetting::PowerStateChanges {
            return self.read_controllers(whole);
        }
        let Some(attribute) = self.attribute(whole) else {
            return self.read_from_device(whole, roots);
        };
        let text = fs::read_to_string(&attribute)
            .map_err(|e| HostError::io("read the setting", &attribute, e))?;
        Ok(match self {
            HostSetting::Scheduler => active_scheduler(&text).to_owned(),
            _ => text.trim().to_owned(),
        })
    }

    pub fn write(
        self,
        whole: &SysfsNode,
        value: &str,
        roots: &SystemRoots,
    ) -> Result<(), HostError> {
        if self == HostSetting::PowerStateChanges {
            return self.write_controllers(whole, value);
        }
        let Some(attribute) = self.attribute(whole) else {
            return self.write_to_device(whole, value, roots);
        };
        fs::write(&attribute, value).map_err(|e| HostError::io("change the setting", &attribute, e))
    }

    fn read_from_device(self, whole: &SysfsNode, roots: &SystemRoots) -> Result<String, HostError> {
        if self != HostSetting::AtaPassword {
            let node = NvmeNode::of_namespace(whole, roots);
            return nvme_write_cache(&node, &InstalledTools);
        }
        let device = whole.path(roots);
        let security = AtaSecurity::read(&device.to_string_lossy(), &InstalledTools)?;
        Ok(if security.enabled { PASSWORD_SET } else { NO_PASSWORD }.to_owned())
    }

    fn write_to_device(
        self,
        whole: &SysfsNode,
        value: &str,
        roots: &SystemRoots,
    ) -> Result<(), HostError> {
        let device = whole.path(roots);
        let device = device.to_string_lossy();
        match (self, value) {
            (HostSetting::AtaPassword, NO_PASSWORD) => {
                ata_security::clear_password(&device, PURGE_PASSWORD, &InstalledTools).map(drop)
            }
            (HostSetting::AtaPassword, _) => ata_security::set_password(&device, &InstalledTools),
            _ => {
                let node = NvmeNode::of_namespace(whole, roots);
                set_nvme_write_cache(&node, value == "1", &InstalledTools)
            }
        }
    }
}

/// Returns the active scheduler in `queue/scheduler`, which is in brackets: `[none] mq-deadline`.
pub(crate) fn active_scheduler(text: &str) -> &str {
    let text = text.trim();
    text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map_or(text, |(name, _)| name)
}

/// Returns the volatile write cache of an NVMe controller: `0` or `1`.
fn nvme_write_cache(node: &NvmeNode, tools: &dyn Tools) -> Result<String, HostError> {
    let value = tools.open_nvme(node)?.feature(NVME_WRITE_CACHE)?;
    // Bit 0: Volatile Write Cache Enable.
    Ok((value & 1).to_string())
}

fn set_nvme_write_cache(node: &NvmeNode, is_on: bool, tools: &dyn Tools) -> Result<(), HostError> {
    tools.open_nvme(node)?.set_feature(NVME_WRITE_CACHE, u32::from(is_on))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::machine::MachineFixture;
    use crate::testing::transcript::Transcript;

    #[test]
    fn the_write_cache_of_nvme_is_feature_06h() {
        let (machine, disk) = MachineFixture::with_nvme(1000);
        let node = NvmeNode::of_namespace(&disk, &machine.roots);
        let tools = Transcript::default().nvme_completes_then("Set Features 06h", || ());
        set_nvme_write_cache(&node, true, &tools).unwrap();
        assert_eq!(tools.last_dwords(), [6, 1, 0, 0, 0, 0]);
        let tools = Transcript::default().nvme_fails("Get Features 06h", 0x2002);
        let error = nvme_write_cache(&node, &tools).unwrap_err().to_string();
        assert!(error.contains("Get Features 06h failed: Invalid Field in Command"), "{error}");
        // The simulated machine has a file in the place of the node.
        let error = HostSetting::NvmeWriteCache.read(&disk, &machine.roots);
        assert!(matches!(error, Err(HostError::NotNvme { .. })), "{error:?}");
    }

    #[test]
    fn the_active_scheduler_is_in_brackets() {
        assert_eq!(active_scheduler("mq-deadline kyber [none]\n"), "none");
        assert_eq!(active_scheduler("none\n"), "none");
    }
}
