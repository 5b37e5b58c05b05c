//! Facts of a [`Device`] and of the [`Host`] it hangs on. No handle: a
//! `Target`, which can be written, is made by `host::arm` alone.

use crate::conditions::WriteCache;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What carries the commands.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// PCIe, NVMe command set.
    Nvme,
    /// SATA.
    Sata,
    /// SAS or another SCSI transport.
    Sas,
    /// USB.
    Usb,
    /// A virtual machine's disk.
    Virtio,
    /// A file behind a loop device.
    Loop,
    /// Compressed memory.
    Zram,
    /// device-mapper or md.
    Mapped,
    /// A file of a file system.
    File,
    /// An SSD in virtual time.
    Simulated,
    /// Anything else that the kernel calls a block device.
    Other,
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Transport::Nvme => "NVMe",
            Transport::Sata => "SATA",
            Transport::Sas => "SAS/SCSI",
            Transport::Usb => "USB",
            Transport::Virtio => "virtio",
            Transport::Loop => "loop",
            Transport::Zram => "zram",
            Transport::Mapped => "device-mapper/md",
            Transport::File => "file",
            Transport::Simulated => "simulated",
            Transport::Other => "block",
        })
    }
}

/// A device that is divided into zones, which want to be written in sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Zoned {
    /// Zones may be written in any order, at a cost.
    HostAware,
    /// Zones can only be written in sequence.
    HostManaged,
}

impl fmt::Display for Zoned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Zoned::HostAware => "host-aware zones",
            Zoned::HostManaged => "host-managed zones",
        })
    }
}

/// A device, a scratch file or a simulated drive, as found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Device {
    /// What the user named: `/dev/nvme0n1`, a path, `sim:NAME`.
    pub path: String,
    /// The kernel's name (`nvme0n1`); the path for a file, the name for a simulation.
    pub name: String,
    /// What carries the commands.
    pub transport: Transport,
    /// Model number.
    pub model: Option<String>,
    /// Serial number.
    pub serial: Option<String>,
    /// Firmware revision.
    pub firmware: Option<String>,
    /// World-wide identifier (EUI, NGUID, NAA), with the namespace.
    pub wwid: Option<String>,
    /// User capacity.
    pub capacity: Bytes,
    /// Logical sector size in bytes: the smallest transfer.
    pub logical_sector: u32,
    /// Physical sector size in bytes.
    pub physical_sector: u32,
    /// Whether it spins.
    pub rotational: Option<bool>,
    /// Whether blocks can be discarded.
    pub discard: bool,
    /// The write cache as found.
    pub write_cache: Option<WriteCache>,
    /// The link, as the kernel tells it: `PCIe 16.0 GT/s x4`.
    pub link: Option<String>,
    /// How it is zoned; `None` if it has no zones, or the kernel does not report them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zoned: Option<Zoned>,
    /// Who uses it: mount points, swap, holders; empty when it is free.
    pub in_use: Vec<String>,
}

impl Device {
    /// What a user types to confirm that this device may be overwritten: the
    /// serial number, with the namespace where there is more than one; the
    /// kernel's name where there is no serial number.
    pub fn confirmation(&self) -> &str {
        self.serial.as_deref().unwrap_or(&self.name)
    }
    /// Whether it has a name of its own that no other device has.
    pub fn has_identity(&self) -> bool {
        self.wwid.is_some() || self.serial.is_some()
    }
    /// Whether it exists in virtual time only.
    pub fn is_simulated(&self) -> bool {
        self.transport == Transport::Simulated
    }
    /// Whether another sight of a device is this one: identity and size, never
    /// the name under `/dev`, which changes from boot to boot.
    pub fn is_same(&self, other: &Device) -> bool {
        let identity = |d: &Device| (d.wwid.clone(), d.serial.clone(), d.model.clone());
        let alike = if self.has_identity() {
            identity(self) == identity(other)
        } else {
            self.path == other.path
        };
        alike && self.capacity == other.capacity && self.transport == other.transport
    }
}

/// The machine that a run runs on; `None` where it does not tell.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Host {
    /// Host name.
    pub name: Option<String>,
    /// System vendor and product.
    pub product: Option<String>,
    /// Mainboard vendor and product.
    pub motherboard: Option<String>,
    /// Processor model.
    pub cpu: Option<String>,
    /// Processors online.
    pub cpus: Option<u32>,
    /// Memory.
    pub memory: Option<Bytes>,
    /// Distribution.
    pub operating_system: Option<String>,
    /// Kernel release.
    pub kernel: Option<String>,
    /// Processor frequency governor.
    pub governor: Option<String>,
    /// The controller between processor and device.
    pub hba: Option<String>,
}
