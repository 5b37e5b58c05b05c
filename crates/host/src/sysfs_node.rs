//! A block device in sysfs: its directory, and the devices above, below and next to it.

use crate::device_number::decode_dev;
use crate::error::HostError;
use crate::system_roots::{
    SystemRoots, entries, file_name, is_numbered, read_number, read_text, try_entries,
};
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use steadfast_domain::{Bytes, DeviceNumber};

/// Unit of sizes and transfers that the kernel reports for every block device, in bytes
/// (Documentation/ABI/stable/sysfs-block).
pub(crate) const KERNEL_SECTOR: u64 = 512;

/// A block device's sysfs directory. Two nodes are equal if they are the same device.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SysfsNode {
    /// Canonical path of the directory.
    pub directory: PathBuf,
    /// Kernel name, with `!` in place of `/`.
    pub name: String,
}

impl SysfsNode {
    fn at(directory: &Path) -> Option<SysfsNode> {
        let directory = fs::canonicalize(directory).ok()?;
        let name = file_name(&directory);
        Some(SysfsNode { directory, name })
    }

    /// Returns the device with this kernel name.
    pub fn from_name(name: &str, roots: &SystemRoots) -> Option<SysfsNode> {
        let plain = name.replace('/', "!");
        if plain.is_empty() || plain.starts_with('.') {
            return None;
        }
        SysfsNode::at(&roots.sys.join("class/block").join(plain))
    }

    /// Returns the device with this number.
    pub fn from_number(number: DeviceNumber, roots: &SystemRoots) -> Option<SysfsNode> {
        SysfsNode::at(&roots.sys.join(format!("dev/block/{number}")))
    }

    /// Returns the device of a device node: by its number, or by its name if the path is no node
    /// (as in a container).
    pub fn from_path(path: &Path, roots: &SystemRoots) -> Option<SysfsNode> {
        if let Ok(metadata) = fs::metadata(path)
            && metadata.file_type().is_block_device()
        {
            return SysfsNode::from_dev(metadata.rdev(), roots);
        }
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let relative = path.strip_prefix(&roots.dev).ok()?;
        SysfsNode::from_name(&relative.to_string_lossy(), roots)
    }

    /// Returns the device with this `st_rdev` or `st_dev`.
    pub fn from_dev(device: u64, roots: &SystemRoots) -> Option<SysfsNode> {
        SysfsNode::from_number(decode_dev(device), roots)
    }

    /// Returns all whole devices, ordered by name; those that sysfs does not list are missing.
    pub fn all(roots: &SystemRoots) -> Vec<SysfsNode> {
        entries(&roots.sys.join("block")).iter().filter_map(|path| SysfsNode::at(path)).collect()
    }

    /// Returns all whole devices, ordered by name.
    ///
    /// # Errors
    /// Returns [`HostError::Io`] if sysfs cannot be read.
    pub fn try_all(roots: &SystemRoots) -> Result<Vec<SysfsNode>, HostError> {
        let directory = roots.sys.join("block");
        fs::metadata(&directory).map_err(|e| HostError::io("list devices", &directory, e))?;
        Ok(try_entries(&directory)?.iter().filter_map(|path| SysfsNode::at(path)).collect())
    }

    /// Returns an attribute as text.
    pub fn text(&self, attribute: &str) -> Option<String> {
        read_text(&self.directory.join(attribute))
    }

    /// Returns an attribute as a number.
    pub fn number<T: std::str::FromStr>(&self, attribute: &str) -> Option<T> {
        read_number(&self.directory.join(attribute))
    }

    /// Returns the path of the device node.
    pub fn path(&self, roots: &SystemRoots) -> PathBuf {
        roots.dev.join(self.name.replace('!', "/"))
    }

    /// Returns the device number; `None` if sysfs does not list it.
    pub fn device_number(&self) -> Option<DeviceNumber> {
        self.number("dev")
    }

    /// Returns the user capacity; 0 if unknown.
    pub fn capacity(&self) -> Bytes {
        Bytes(self.number::<u64>("size").unwrap_or(0).saturating_mul(KERNEL_SECTOR))
    }

    /// Returns the partition number; `None` for a whole device.
    pub fn partition(&self) -> Option<u32> {
        self.number("partition")
    }

    /// Returns the whole device: itself, or the one that contains the partition.
    pub fn whole(&self) -> SysfsNode {
        match (self.partition(), self.directory.parent()) {
            (Some(_), Some(parent)) => {
                SysfsNode { directory: parent.to_owned(), name: file_name(parent) }
            }
            _ => self.clone(),
        }
    }

    /// Returns the partitions; empty if sysfs cannot be read.
    pub fn partitions(&self) -> Vec<SysfsNode> {
        self.try_partitions().unwrap_or_default()
    }

    /// Returns the partitions.
    ///
    /// # Errors
    /// Returns [`HostError::Io`] if sysfs cannot be read.
    pub fn try_partitions(&self) -> Result<Vec<SysfsNode>, HostError> {
        let entries = try_entries(&self.directory)?.into_iter();
        Ok(entries
            .filter(|path| path.join("partition").is_file())
            .map(|directory| SysfsNode { name: file_name(&directory), directory })
            .collect())
    }

    /// Returns the devices built on this one (device-mapper, md, bcache).
    ///
    /// # Errors
    /// Returns [`HostError::Io`] if sysfs cannot be read.
    pub fn holders(&self) -> Result<Vec<SysfsNode>, HostError> {
        self.linked("holders")
    }

    /// Returns the devices that this one is built from.
    ///
    /// # Errors
    /// Returns [`HostError::Io`] if sysfs cannot be read.
    pub fn slaves(&self) -> Result<Vec<SysfsNode>, HostError> {
        self.linked("slaves")
    }

    fn linked(&self, kind: &str) -> Result<Vec<SysfsNode>, HostError> {
        let links = try_entries(&self.directory.join(kind))?;
        Ok(links.iter().filter_map(|path| SysfsNode::at(path)).collect())
    }

    /// Returns the hidden paths of an NVMe namespace served by the kernel's multipath driver:
    /// `nvme0c1n1` for `nvme0n1`. Empty for any other device.
    pub fn nvme_paths(&self, roots: &SystemRoots) -> Vec<SysfsNode> {
        let Some((subsystem, namespace)) = nvme_numbers(&self.name) else { return Vec::new() };
        let is_path = |node: &SysfsNode| {
            let path = node.name.strip_prefix(&format!("nvme{subsystem}c"));
            path.and_then(|rest| rest.split_once('n')).is_some_and(|(controller, number)| {
                controller.parse::<u32>().is_ok() && number.parse() == Ok(namespace)
            })
        };
        SysfsNode::all(roots).into_iter().filter(is_path).collect()
    }

    /// Returns true for a loop device.
    pub fn is_loop(&self) -> bool {
        self.name.starts_with("loop") && self.name[4..].starts_with(|c: char| c.is_ascii_digit())
    }

    /// Returns true for a device that the kernel hides: one path of a multipath NVMe namespace.
    pub fn is_hidden(&self) -> bool {
        self.text("hidden").is_some_and(|hidden| hidden != "0")
    }

    /// Returns true for a device without hardware of its own: loop, zram, device-mapper, md, NBD,
    /// DRBD, ZFS volume.
    pub fn is_virtual(&self, roots: &SystemRoots) -> bool {
        let sys = fs::canonicalize(&roots.sys).unwrap_or_else(|_| roots.sys.clone());
        let whole = self.whole().directory;
        whole.starts_with(sys.join("devices/virtual")) && !whole.join("device").exists()
    }

    /// Returns true if the data is in memory only: a RAM disk, a null device, or zram without a
    /// backing device.
    pub fn is_in_memory(&self) -> bool {
        let whole = self.whole();
        match whole.text("backing_dev").as_deref() {
            None | Some("none") => {
                ["ram", "zram", "nullb"].iter().any(|prefix| is_numbered(&whole.name, prefix))
            }
            Some(_) => false,
        }
    }

    /// Returns the path of a loop device's backing file or device.
    pub fn backing_file(&self) -> Option<String> {
        self.text("loop/backing_file")
    }

    /// Returns the kernel name with the name known to administrators: `dm-0 (LVM vg-root)`.
    pub fn known_as(&self) -> String {
        let Some(mapped) = self.text("dm/name") else { return self.name.clone() };
        let uuid = self.text("dm/uuid").unwrap_or_default();
        let kind = match uuid.split('-').next().unwrap_or_default() {
            "LVM" => "LVM ",
            "CRYPT" => "crypt ",
            "mpath" => "multipath ",
            _ => "",
        };
        format!("{} ({kind}{mapped})", self.name)
    }
}

/// Returns the sysfs directories of the NVMe controllers of a namespace.
pub(crate) fn controllers(whole: &SysfsNode) -> Vec<PathBuf> {
    let Ok(above) = fs::canonicalize(whole.directory.join("device")) else { return Vec::new() };
    if above.join("address").is_file() {
        return vec![above];
    }
    // The parent of a multipath namespace is the subsystem, which links to its controllers.
    entries(&above)
        .iter()
        .filter_map(|path| fs::canonicalize(path).ok())
        .filter(|path| path.join("address").is_file())
        .collect()
}

/// Returns the sysfs directory of a SATA drive's port; `None` for other drives.
pub(crate) fn ata_port(whole: &SysfsNode) -> Option<PathBuf> {
    let is_port = |above: &&Path| is_numbered(&file_name(above), "ata");
    whole.directory.ancestors().find(is_port).map(Path::to_owned)
}

/// Returns the file with the link power management policy of a SATA port; `None` if the kernel has
/// none.
pub(crate) fn link_power_file(port: &Path) -> Option<PathBuf> {
    entries(port)
        .iter()
        .flat_map(|host| entries(&host.join("scsi_host")))
        .map(|host| host.join("link_power_management_policy"))
        .find(|file| file.is_file())
}

/// Parses the two numbers in the name of an NVMe namespace such as `nvme0n1`.
fn nvme_numbers(name: &str) -> Option<(u32, u32)> {
    let (subsystem, namespace) = name.strip_prefix("nvme")?.split_once('n')?;
    Some((subsystem.parse().ok()?, namespace.parse().ok()?))
}
