//! Health logs of a device: NVMe SMART log (02h) and OCP log (C0h), ATA device statistics and
//! attributes, SCSI error counters.
//!
//! NVMe logs are read by admin commands ([`crate::nvme`]), the others with `smartctl` as JSON. A
//! value that the device does not report, or whose unit is uncertain, is `None`. After a failed
//! first read, the device is not read again.

mod json;
mod nvme;
mod reading;
mod smart;
mod units;

use crate::error::HostError;
use crate::nvme::{DrivePages, NvmeNode, smart_log};
use crate::sysfs_node::SysfsNode;
use crate::system_roots::SystemRoots;
use crate::tool::{InstalledTools, Tools};
use nvme::{LatencyAccess, OcpAccess};
use steadfast_domain::drive_page::DrivePage;
use steadfast_domain::power_cut::PowerCounters;
use steadfast_domain::{Device, Transport};
use units::LearnedUnit;

pub(crate) use json::object;
#[cfg(test)]
pub(crate) use nvme::{LatencyMonitor, LifeWrites, PowerState};
pub(crate) use nvme::{LbaFormat, NvmeFacts};
pub use reading::{LogReading, SelfTest};
pub(crate) use smart::{log_reading, parse_power_counters};

/// Number of consecutive failures after which a device that answered before is not read again.
const FAILURES_MAX: u32 = 3;

/// Means of reading the logs.
#[derive(Debug, Clone, PartialEq, Eq)]
enum LogAccess {
    /// Admin commands to the controller.
    Nvme { node: NvmeNode, ocp: OcpAccess, latency: LatencyAccess },
    /// `smartctl` on the whole device.
    Smart { path: String, transport: Transport },
}

/// Reader of a device's logs; may be called any number of times.
#[derive(Debug, Clone)]
pub struct DeviceLogs {
    /// `None` if the device has no logs or reading was given up.
    access: Option<LogAccess>,
    answered: bool,
    failures: u32,
    given_up: Option<String>,
    host_unit: LearnedUnit,
    nand_unit: LearnedUnit,
}

impl DeviceLogs {
    /// Creates a reader; reads nothing yet. For a partition or one of several namespaces, the logs
    /// are those of the whole drive.
    pub fn new(device: &Device, roots: &SystemRoots) -> Self {
        DeviceLogs {
            access: log_access(device, roots),
            answered: false,
            failures: 0,
            given_up: None,
            host_unit: LearnedUnit::default(),
            nand_unit: LearnedUnit::default(),
        }
    }

    /// Returns why the logs are no longer read; `None` if they were not given up.
    pub fn given_up(&self) -> Option<&str> {
        self.given_up.as_deref()
    }

    /// Reads the counters, each with the unit in which it was seen to advance. Returns `None` if the
    /// device has no logs or the read failed. Gives up after a failed first read, or after several
    /// failures in a row.
    pub fn read(&mut self) -> Option<LogReading> {
        let result = match self.access.as_mut()? {
            LogAccess::Nvme { node, ocp, latency } => {
                nvme::counters(node, ocp, latency, &InstalledTools)
            }
            LogAccess::Smart { path, transport } => smart::counters(path, transport),
        };
        match result {
            Ok(reading) if !reading.is_empty() => {
                (self.answered, self.failures) = (true, 0);
                let host_unit = self.host_unit.learn(reading.host_written, reading.host_unit);
                let nand_unit = self.nand_unit.learn(reading.nand_written, reading.nand_unit);
                Some(LogReading { host_unit, nand_unit, ..reading })
            }
            Ok(_) => self.fail("its logs contain no known counters".to_owned()),
            Err(error) => self.fail(error.to_string()),
        }
    }

    fn fail(&mut self, why: String) -> Option<LogReading> {
        self.failures += 1;
        if !self.answered || self.failures >= FAILURES_MAX {
            self.access = None;
            self.given_up = Some(why);
        }
        None
    }
}

fn log_access(device: &Device, roots: &SystemRoots) -> Option<LogAccess> {
    let whole = SysfsNode::from_name(&device.name, roots)?.whole();
    match device.transport {
        Transport::Nvme => Some(LogAccess::Nvme {
            node: NvmeNode::of_namespace(&whole, roots),
            ocp: OcpAccess::Unknown,
            latency: LatencyAccess::Unknown,
        }),
        Transport::Sata | Transport::Sas | Transport::Usb => {
            let path = roots.dev.join(&whole.name).to_string_lossy().into_owned();
            Some(LogAccess::Smart { path, transport: device.transport.clone() })
        }
        _ => None,
    }
}

/// All health data of a device.
#[derive(Debug, Default)]
pub(crate) struct DeviceHealth {
    /// Counters and current state.
    pub log: LogReading,
    /// Fields that only NVMe reports.
    pub nvme: NvmeFacts,
    /// Pages that the data comes from; empty if a tool read them.
    pub pages: Vec<DrivePage>,
}

impl DeviceHealth {
    /// Returns the health data in an NVMe drive's pages.
    pub fn from_pages(pages: &DrivePages) -> DeviceHealth {
        DeviceHealth {
            log: nvme::log(pages),
            nvme: NvmeFacts::from_pages(pages),
            pages: pages.records(),
        }
    }
}

/// Reads all health data of a device; `None` if its transport has no logs.
pub(crate) fn health(
    device: &Device,
    roots: &SystemRoots,
) -> Option<Result<DeviceHealth, HostError>> {
    Some(match log_access(device, roots)? {
        LogAccess::Nvme { node, .. } => {
            read_pages(&node).map(|pages| DeviceHealth::from_pages(&pages))
        }
        LogAccess::Smart { path, transport } => smart::health(&path, &transport)
            .map(|log| DeviceHealth { log, ..DeviceHealth::default() }),
    })
}

/// Reads the drive's own count of power losses; empty if it cannot be read.
pub fn power_counters(device: &Device, roots: &SystemRoots) -> PowerCounters {
    let read = || match log_access(device, roots)? {
        LogAccess::Nvme { node, .. } => {
            let admin = InstalledTools.open_nvme(&node).ok()?;
            Some(nvme::power_counters(&smart_log(&*admin).ok()?))
        }
        LogAccess::Smart { path, .. } => smart::power_counters(&path).ok(),
    };
    read().unwrap_or_default()
}

/// Reads the pages of an NVMe drive; empty for other devices, or if they cannot be read.
pub fn drive_pages(device: &Device, roots: &SystemRoots) -> Vec<DrivePage> {
    match log_access(device, roots) {
        Some(LogAccess::Nvme { node, .. }) => {
            read_pages(&node).map(|pages| pages.records()).unwrap_or_default()
        }
        _ => Vec::new(),
    }
}

fn read_pages(node: &NvmeNode) -> Result<DrivePages, HostError> {
    DrivePages::read(&*InstalledTools.open_nvme(node)?, node.nsid)
}

#[cfg(test)]
mod tests;
