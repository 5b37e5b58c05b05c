//! A block device as sysfs shows it: its directory, and what lies above, below
//! and beside it.

use crate::error::HostError;
use crate::roots::{Roots, entries, file_name, listed, read_number, read_text};
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use steadfast_domain::Bytes;

/// The kernel counts sizes and transfers of every block device in this unit,
/// whatever its sector size (Documentation/ABI/stable/sysfs-block).
pub(crate) const KERNEL_SECTOR: u64 = 512;

/// A block device's directory in sysfs. Two are equal when they are one device.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Node {
    /// The real directory, all links resolved.
    pub directory: PathBuf,
    /// The kernel's name, with `!` where the device node has `/`.
    pub name: String,
}

impl Node {
    fn at(directory: &Path) -> Option<Node> {
        let directory = fs::canonicalize(directory).ok()?;
        let name = file_name(&directory);
        Some(Node { directory, name })
    }

    /// The device with this kernel name.
    pub fn named(name: &str, roots: &Roots) -> Option<Node> {
        let plain = name.replace('/', "!");
        if plain.is_empty() || plain.starts_with('.') {
            return None;
        }
        Node::at(&roots.sys.join("class/block").join(plain))
    }

    /// The device with this number, `MAJOR:MINOR`.
    pub fn numbered(major: u32, minor: u32, roots: &Roots) -> Option<Node> {
        Node::at(&roots.sys.join(format!("dev/block/{major}:{minor}")))
    }

    /// The device that a device node leads to: by its number, or by its name
    /// where a container has no node for it.
    pub fn of_path(path: &Path, roots: &Roots) -> Option<Node> {
        if let Ok(metadata) = fs::metadata(path)
            && metadata.file_type().is_block_device()
        {
            return Node::of_number(metadata.rdev(), roots);
        }
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let relative = path.strip_prefix(&roots.dev).ok()?;
        Node::named(&relative.to_string_lossy(), roots)
    }

    /// The device with this `st_rdev` or `st_dev`.
    pub fn of_number(number: u64, roots: &Roots) -> Option<Node> {
        Node::numbered(libc::major(number), libc::minor(number), roots)
    }

    /// Every whole device, in the order of the names.
    pub fn all(roots: &Roots) -> Vec<Node> {
        entries(&roots.sys.join("block")).iter().filter_map(|path| Node::at(path)).collect()
    }

    /// Every whole device, in the order of the names.
    ///
    /// # Errors
    /// Where sysfs cannot be read or is not there.
    pub fn every(roots: &Roots) -> Result<Vec<Node>, HostError> {
        let directory = roots.sys.join("block");
        fs::metadata(&directory).map_err(|e| HostError::io("list devices", &directory, e))?;
        Ok(listed(&directory)?.iter().filter_map(|path| Node::at(path)).collect())
    }

    /// An attribute's text.
    pub fn text(&self, attribute: &str) -> Option<String> {
        read_text(&self.directory.join(attribute))
    }

    /// An attribute's number.
    pub fn number<T: std::str::FromStr>(&self, attribute: &str) -> Option<T> {
        read_number(&self.directory.join(attribute))
    }

    /// The device node's path.
    pub fn path(&self, roots: &Roots) -> PathBuf {
        roots.dev.join(self.name.replace('!', "/"))
    }

    /// Its number as `(major, minor)`.
    pub fn device_number(&self) -> Option<(u32, u32)> {
        parse_device_number(&self.text("dev")?)
    }

    /// User capacity.
    pub fn capacity(&self) -> Bytes {
        Bytes(self.number::<u64>("size").unwrap_or(0).saturating_mul(KERNEL_SECTOR))
    }

    /// The partition's number, where it is one.
    pub fn partition(&self) -> Option<u32> {
        self.number("partition")
    }

    /// The whole device: itself, or the one that the partition is cut from.
    pub fn whole(&self) -> Node {
        match (self.partition(), self.directory.parent()) {
            (Some(_), Some(parent)) => {
                Node { directory: parent.to_owned(), name: file_name(parent) }
            }
            _ => self.clone(),
        }
    }

    /// The partitions cut from it, as far as sysfs tells.
    pub fn partitions(&self) -> Vec<Node> {
        self.parts().unwrap_or_default()
    }

    /// The partitions cut from it.
    ///
    /// # Errors
    /// Where sysfs cannot be read.
    pub fn parts(&self) -> Result<Vec<Node>, HostError> {
        let found = listed(&self.directory)?.into_iter();
        Ok(found
            .filter(|path| path.join("partition").is_file())
            .map(|directory| Node { name: file_name(&directory), directory })
            .collect())
    }

    /// The devices built upon it (device-mapper, md, bcache).
    ///
    /// # Errors
    /// Where sysfs cannot be read.
    pub fn holders(&self) -> Result<Vec<Node>, HostError> {
        self.linked("holders")
    }

    /// The devices that it is built from.
    ///
    /// # Errors
    /// Where sysfs cannot be read.
    pub fn slaves(&self) -> Result<Vec<Node>, HostError> {
        self.linked("slaves")
    }

    fn linked(&self, kind: &str) -> Result<Vec<Node>, HostError> {
        let links = listed(&self.directory.join(kind))?;
        Ok(links.iter().filter_map(|path| Node::at(path)).collect())
    }

    /// The paths of an NVMe namespace that the kernel's own multipath serves: hidden devices,
    /// `nvme0c1n1` for `nvme0n1`. Empty for any other device.
    pub fn nvme_paths(&self, roots: &Roots) -> Vec<Node> {
        let Some((subsystem, namespace)) = nvme_numbers(&self.name) else { return Vec::new() };
        let is_path = |node: &Node| {
            let path = node.name.strip_prefix(&format!("nvme{subsystem}c"));
            path.and_then(|rest| rest.split_once('n')).is_some_and(|(controller, number)| {
                controller.parse::<u32>().is_ok() && number.parse() == Ok(namespace)
            })
        };
        Node::all(roots).into_iter().filter(is_path).collect()
    }

    /// Whether it is a loop device.
    pub fn is_loop(&self) -> bool {
        self.name.starts_with("loop") && self.name[4..].starts_with(|c: char| c.is_ascii_digit())
    }

    /// Whether it is a device that a driver makes without hardware of its own: loop, zram,
    /// device-mapper, md, NBD, DRBD, a ZFS volume. A drive has a link to its hardware.
    pub fn is_virtual(&self, roots: &Roots) -> bool {
        let sys = fs::canonicalize(&roots.sys).unwrap_or_else(|_| roots.sys.clone());
        let whole = self.whole().directory;
        whole.starts_with(sys.join("devices/virtual")) && !whole.join("device").exists()
    }

    /// Whether it keeps its data in memory alone: a RAM disk, a null device, or zram without a
    /// device to write back to.
    pub fn is_in_memory(&self) -> bool {
        let whole = self.whole();
        let is_numbered = |prefix: &str| {
            let number = whole.name.strip_prefix(prefix);
            number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
        };
        match whole.text("backing_dev").as_deref() {
            None | Some("none") => ["ram", "zram", "nullb"].into_iter().any(is_numbered),
            Some(_) => false,
        }
    }

    /// What a loop device is laid over: a file, or a block device's node.
    pub fn backing_file(&self) -> Option<String> {
        self.text("loop/backing_file")
    }

    /// The kernel's name with the one that an administrator knows: `dm-0 (LVM vg-root)`.
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

/// The two numbers of an NVMe namespace's name: `nvme0n1`.
fn nvme_numbers(name: &str) -> Option<(u32, u32)> {
    let (subsystem, namespace) = name.strip_prefix("nvme")?.split_once('n')?;
    Some((subsystem.parse().ok()?, namespace.parse().ok()?))
}

/// Parses `259:0`.
pub(crate) fn parse_device_number(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.trim().split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
