//! The settings that this program changes: where each is, how it is read and written.

use crate::ata_security::{self, PASSWORD};
use crate::error::HostError;
use crate::identity::controllers;
use crate::sysfs_node::SysfsNode;
use crate::system_roots::{SystemRoots, entries, file_name};
use crate::tool::{self, InstalledTools, NVME};
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

/// Time limit for an NVMe admin command.
const NVME_LIMIT: Duration = Duration::from_secs(30);

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
    ScsiWriteCache,
    VirtioWriteCache,
    NvmeWriteCache,
    AtaPassword,
}

impl HostSetting {
    pub const ALL: [HostSetting; 7] = [
        HostSetting::Merges,
        HostSetting::Scheduler,
        HostSetting::RequestSize,
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
            HostSetting::ScsiWriteCache => "write cache (caching mode page)",
            HostSetting::VirtioWriteCache => "write cache (virtio)",
            HostSetting::NvmeWriteCache => "write cache (NVMe feature 06h)",
            HostSetting::AtaPassword => ATA_PASSWORD,
        }
    }

    /// Returns true if the kernel keeps the value, which is lost with the disk; false if the device
    /// keeps it.
    pub const fn is_kept_by_the_kernel(self) -> bool {
        matches!(self, HostSetting::Merges | HostSetting::Scheduler | HostSetting::RequestSize)
    }

    /// Returns the sysfs attribute of the setting; `None` if a tool reads and writes it.
    pub fn attribute(self, whole: &SysfsNode) -> Option<PathBuf> {
        match self {
            HostSetting::NvmeWriteCache | HostSetting::AtaPassword => None,
            HostSetting::ScsiWriteCache => entries(&whole.directory.join("device/scsi_disk"))
                .into_iter()
                .map(|disk| disk.join("cache_type"))
                .find(|attribute| attribute.is_file()),
            HostSetting::VirtioWriteCache => Some(whole.directory.join("cache_type")),
            _ => Some(whole.directory.join(self.name())),
        }
    }

    pub fn read(self, whole: &SysfsNode, roots: &SystemRoots) -> Result<String, HostError> {
        let Some(attribute) = self.attribute(whole) else { return self.read_by_tool(whole, roots) };
        let text = fs::read_to_string(&attribute)
            .map_err(|e| HostError::io("read the setting", &attribute, e))?;
        Ok(match self {
            HostSetting::Scheduler => in_force(&text).to_owned(),
            _ => text.trim().to_owned(),
        })
    }

    pub fn write(
        self,
        whole: &SysfsNode,
        value: &str,
        roots: &SystemRoots,
    ) -> Result<(), HostError> {
        let Some(attribute) = self.attribute(whole) else {
            return self.write_by_tool(whole, value, roots);
        };
        fs::write(&attribute, value).map_err(|e| HostError::io("change the setting", &attribute, e))
    }

    fn read_by_tool(self, whole: &SysfsNode, roots: &SystemRoots) -> Result<String, HostError> {
        if self != HostSetting::AtaPassword {
            return nvme_feature(whole, roots, None);
        }
        let device = whole.path(roots);
        let set = ata_security::has_password(&device.to_string_lossy(), &InstalledTools)?;
        Ok(if set { PASSWORD_SET } else { NO_PASSWORD }.to_owned())
    }

    fn write_by_tool(
        self,
        whole: &SysfsNode,
        value: &str,
        roots: &SystemRoots,
    ) -> Result<(), HostError> {
        let device = whole.path(roots);
        let device = device.to_string_lossy();
        match (self, value) {
            (HostSetting::AtaPassword, NO_PASSWORD) => {
                ata_security::clear_password(&device, PASSWORD, &InstalledTools).map(drop)
            }
            (HostSetting::AtaPassword, _) => ata_security::set_password(&device, &InstalledTools),
            _ => nvme_feature(whole, roots, Some(value)).map(drop),
        }
    }
}

/// Returns the active scheduler, which is in brackets: `[none] mq-deadline`.
fn in_force(text: &str) -> &str {
    let text = text.trim();
    text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map_or(text, |(name, _)| name)
}

/// Reads or sets the volatile write cache of an NVMe controller; returns `0` or `1`.
fn nvme_feature(
    whole: &SysfsNode,
    roots: &SystemRoots,
    set: Option<&str>,
) -> Result<String, HostError> {
    // The feature belongs to the controller; some drives refuse it per namespace.
    let controller = controllers(whole).first().map(|directory| file_name(directory));
    let path = roots.dev.join(controller.unwrap_or_else(|| whole.name.clone()));
    let path = path.to_string_lossy().into_owned();
    if let Some(value) = set {
        let arguments = ["set-feature", &path, "-f", "6", "-v", value];
        return tool::run(NVME, &arguments, NVME_LIMIT);
    }
    let said = tool::run(NVME, &["get-feature", &path, "-f", "6"], NVME_LIMIT)?;
    parse_feature(&said)
        .map(|value| (value & 1).to_string())
        .ok_or_else(|| HostError::not_understood(format!("nvme get-feature {path} -f 6"), &said))
}

/// Parses the value in `get-feature:0x06 (Volatile Write Cache), Current value:0x00000001`.
fn parse_feature(said: &str) -> Option<u32> {
    let (_, value) = said.split_once("value:")?;
    let value = value.trim_start();
    let digits = |text: &str, base: u32| {
        let end = text.find(|c: char| !c.is_digit(base)).unwrap_or(text.len());
        u32::from_str_radix(&text[..end], base).ok()
    };
    match value.strip_prefix("0x") {
        Some(hexadecimal) => digits(hexadecimal, 16),
        None => digits(value, 10),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_of_nvme_is_read() {
        for (said, value) in [
            ("get-feature:0x06 (Volatile Write Cache), Current value:0x00000001\n", Some(1)),
            ("get-feature:0x6 (Volatile Write Cache), Current value:00000000\n", Some(0)),
            ("get-feature:0x06 (Volatile Write Cache), Current value: 0x1 \n", Some(1)),
            ("NVMe status: Invalid Field in Command", None),
            ("Current value:", None),
            ("", None),
        ] {
            assert_eq!(parse_feature(said), value, "{said}");
        }
    }

    #[test]
    fn the_scheduler_in_force_stands_in_brackets() {
        assert_eq!(in_force("mq-deadline kyber [none]\n"), "none");
        assert_eq!(in_force("none\n"), "none");
    }
}
