//! Identity and properties of a [`Device`] and of its [`Host`]. Holds no handle: only `host::arm`
//! makes a `Target`, which can be written.

use crate::conditions::WriteCache;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Transport between host and device.
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
    /// Disk of a virtual machine.
    Virtio,
    /// File behind a loop device.
    Loop,
    /// Compressed memory (zram).
    Zram,
    /// Device-mapper or md device.
    Mapped,
    /// File in a file system.
    File,
    /// Simulated SSD in virtual time.
    Simulated,
    /// Any other block device.
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

/// Kind of a device whose zones are meant to be written sequentially.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ZoneModel {
    /// Zones may be written in any order, at a cost.
    HostAware,
    /// Zones can only be written sequentially.
    HostManaged,
}

/// An array of disks as its driver reports it (sysfs).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
pub struct DiskArray {
    /// Level, such as `raid5`; `None` behind a controller, which does not report it here.
    pub level: Option<String>,
    /// Members, each with its model and serial number if known; empty behind a controller.
    pub members: Vec<String>,
    /// Members that the array should have; `None` if unknown.
    pub wanted: Option<u32>,
    /// Bytes that lie on one member before the next one follows; `None` if unknown.
    pub chunk: Option<Bytes>,
    /// Bytes of a full stripe; `None` if unknown.
    pub stripe: Option<Bytes>,
}

impl fmt::Display for ZoneModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ZoneModel::HostAware => "host-aware zones",
            ZoneModel::HostManaged => "host-managed zones",
        })
    }
}

/// A device, a scratch file or a simulated drive, as found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Device {
    /// Target as the user named it: `/dev/nvme0n1`, a path or `sim:NAME`.
    pub path: String,
    /// Kernel name (`nvme0n1`); the path of a file, or the name of a simulated drive.
    pub name: String,
    /// Transport between host and device.
    pub transport: Transport,
    /// Model number; `None` if unknown.
    pub model: Option<String>,
    /// Serial number, followed by the namespace if the controller has several, and by the
    /// partition; `None` if unknown.
    pub serial: Option<String>,
    /// Firmware revision; `None` if unknown.
    pub firmware: Option<String>,
    /// World-wide identifier (EUI, NGUID, NAA), followed by the partition; `None` if unknown.
    pub wwid: Option<String>,
    /// User capacity in bytes.
    pub capacity: Bytes,
    /// Logical sector size in bytes, the smallest transfer.
    pub logical_sector: u32,
    /// Physical sector size in bytes.
    pub physical_sector: u32,
    /// True if the device rotates; `None` if unknown.
    pub rotational: Option<bool>,
    /// True if blocks can be discarded.
    pub discard: bool,
    /// State of the volatile write cache as found; `None` if unknown.
    pub write_cache: Option<WriteCache>,
    /// Link as the kernel reports it, such as `PCIe 16.0 GT/s x4`; `None` if unknown.
    pub link: Option<String>,
    /// Zone model; `None` if the device has no zones, or the kernel does not report them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zoned: Option<ZoneModel>,
    /// The array that the device is; `None` if it is none, or nothing reports one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array: Option<DiskArray>,
    /// Users of the device: mount points, swap, holders; empty if it is free.
    pub in_use: Vec<String>,
}

impl Device {
    /// Creates a device known only by its path, with sectors of 512 bytes and without discards.
    pub fn new(path: &str, transport: Transport, capacity: Bytes) -> Self {
        Device {
            path: path.to_owned(),
            name: path.to_owned(),
            transport,
            model: None,
            serial: None,
            firmware: None,
            wwid: None,
            capacity,
            logical_sector: 512,
            physical_sector: 512,
            rotational: None,
            discard: false,
            write_cache: None,
            link: None,
            zoned: None,
            array: None,
            in_use: Vec::new(),
        }
    }
    /// Returns the text that a user types to confirm that the device may be overwritten: the serial
    /// number with its suffixes, or the kernel name if there is no serial number.
    pub fn confirmation(&self) -> &str {
        self.serial.as_deref().unwrap_or(&self.name)
    }
    /// Returns true if the device has a unique identifier: a WWID or a serial number.
    pub fn has_identity(&self) -> bool {
        self.wwid.is_some() || self.serial.is_some()
    }
    /// Returns true if the device exists only in virtual time.
    pub fn is_simulated(&self) -> bool {
        self.transport == Transport::Simulated
    }
    /// Returns true if `other` describes the same device. Compares identity, capacity and
    /// transport, never the name under `/dev`, which changes from boot to boot. A device without an
    /// identifier is compared by its path.
    pub fn is_same(&self, other: &Device) -> bool {
        let identity = |d: &Device| (d.wwid.clone(), d.serial.clone(), d.model.clone());
        let is_same = if self.has_identity() {
            identity(self) == identity(other)
        } else {
            self.path == other.path
        };
        is_same && self.capacity == other.capacity && self.transport == other.transport
    }
}

/// The machine on which a run takes place. A field is `None` if the machine does not report it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Host {
    /// Host name.
    pub name: Option<String>,
    /// System vendor and product.
    pub product: Option<String>,
    /// Mainboard vendor and product.
    pub motherboard: Option<String>,
    /// CPU model.
    pub cpu: Option<String>,
    /// Number of CPUs online.
    pub cpus: Option<u32>,
    /// Nominal CPU frequency in Hz, of the first CPU; `None` if the kernel does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_hz: Option<u64>,
    /// Memory size.
    pub memory: Option<Bytes>,
    /// Distribution and its version.
    pub operating_system: Option<String>,
    /// Kernel release.
    pub kernel: Option<String>,
    /// CPU frequency governor.
    pub governor: Option<String>,
    /// Storage controller (HBA) between CPU and device.
    pub hba: Option<String>,
}
