//! Health logs of a device: NVMe SMART log (02h) and OCP log (C0h), ATA device statistics and
//! attributes, SCSI error counters.
//!
//! The logs are read with `nvme` and `smartctl`, always as JSON. A value that the device does not
//! report, or whose unit is uncertain, is `None`. After a failed first read, the device is not
//! read again.

pub(crate) mod json;
mod nvme;
mod nvme_smart;
mod reading;
mod smart;

use crate::error::HostError;
use crate::identity::controllers;
use crate::sysfs_node::SysfsNode;
use crate::system_roots::{SystemRoots, file_name};
use crate::tool::InstalledTools;
use steadfast_domain::{Device, Transport};

pub(crate) use nvme::{LbaFormat, NvmeFacts};
pub use reading::{LogReading, SelfTest};

/// Number of consecutive failures after which a device that answered before is not read again.
const PATIENCE: u32 = 3;

/// Tool and device node for reading the logs.
#[derive(Debug, Clone, PartialEq, Eq)]
enum LogAccess {
    /// `nvme` on the controller; `ocp` is true until the OCP log is refused.
    Nvme { path: String, ocp: bool },
    /// `smartctl` on the whole device.
    Smart { path: String, transport: Transport },
}

/// Reader of a device's logs; may be called any number of times.
#[derive(Debug, Clone)]
pub struct DeviceLogs {
    way: Option<LogAccess>,
    answered: bool,
    failures: u32,
    given_up: Option<String>,
}

impl DeviceLogs {
    /// Creates a reader; reads nothing yet. For a partition or one of several namespaces, the logs
    /// are those of the whole drive.
    pub fn new(device: &Device, roots: &SystemRoots) -> Self {
        DeviceLogs { way: way(device, roots), answered: false, failures: 0, given_up: None }
    }

    /// Returns true if the device may have logs and reading has not been given up.
    pub fn are_there(&self) -> bool {
        self.way.is_some()
    }

    /// Returns why the logs are no longer read; `None` if they were not given up.
    pub fn given_up(&self) -> Option<&str> {
        self.given_up.as_deref()
    }

    /// Reads the counters. Returns `None` if the device has no logs or the read failed. Gives up
    /// after a failed first read, or after several failures in a row.
    pub fn read(&mut self) -> Option<LogReading> {
        let read = match self.way.as_mut()? {
            LogAccess::Nvme { path, ocp } => nvme::counters(path, ocp, &InstalledTools),
            LogAccess::Smart { path, transport } => smart::counters(path, transport),
        };
        match read {
            Ok(reading) if !reading.is_empty() => {
                (self.answered, self.failures) = (true, 0);
                Some(reading)
            }
            Ok(_) => self.fail("its logs contain no known counters".to_owned()),
            Err(error) => self.fail(error.to_string()),
        }
    }

    fn fail(&mut self, why: String) -> Option<LogReading> {
        self.failures += 1;
        if !self.answered || self.failures >= PATIENCE {
            self.way = None;
            self.given_up = Some(why);
        }
        None
    }
}

fn way(device: &Device, roots: &SystemRoots) -> Option<LogAccess> {
    let whole = SysfsNode::named(&device.name, roots)?.whole();
    let path = |name: &str| roots.dev.join(name).to_string_lossy().into_owned();
    match device.transport {
        Transport::Nvme => {
            // The logs belong to the controller; some drives refuse to return them per namespace.
            let controller = controllers(&whole).first().map(|directory| file_name(directory));
            Some(LogAccess::Nvme { path: path(&controller.unwrap_or(whole.name)), ocp: true })
        }
        Transport::Sata | Transport::Sas | Transport::Usb => {
            Some(LogAccess::Smart { path: path(&whole.name), transport: device.transport.clone() })
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
}

/// Reads all health data of a device; `None` if its transport has no logs.
pub(crate) fn health(
    device: &Device,
    roots: &SystemRoots,
) -> Option<Result<DeviceHealth, HostError>> {
    Some(match way(device, roots)? {
        LogAccess::Nvme { path, mut ocp } => {
            nvme::counters(&path, &mut ocp, &InstalledTools).map(|mut log| {
                log.self_test = nvme::self_test(&path);
                let namespace =
                    SysfsNode::named(&device.name, roots).map(|node| node.whole().path(roots));
                DeviceHealth { log, nvme: nvme::facts(&path, namespace.as_deref()) }
            })
        }
        LogAccess::Smart { path, transport } => smart::everything(&path, &transport)
            .map(|log| DeviceHealth { log, nvme: NvmeFacts::default() }),
    })
}

#[cfg(test)]
mod tests;
