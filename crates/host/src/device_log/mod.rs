//! What a device counts about itself: the NVMe SMART log (02h) and the OCP log
//! (C0h), the ATA statistics log and attributes, the SCSI error counters.
//!
//! They are read through `nvme` and `smartctl`, always as JSON. A value that a
//! device does not tell, or whose unit is not certain, is `None`. A device that
//! did not answer the first time is not asked again.

pub(crate) mod json;
mod nvme;
mod nvme_smart;
mod reading;
mod smart;

use crate::error::HostError;
use crate::identity::controllers;
use crate::node::Node;
use crate::roots::{Roots, file_name};
use steadfast_domain::{Device, Transport};

pub(crate) use nvme::{LbaFormat, NvmeFacts};
pub use reading::{LogReading, SelfTest};

/// Failures in a row after which a device that had answered before is left alone.
const PATIENCE: u32 = 3;

/// The way to a device's logs.
#[derive(Debug, Clone, PartialEq, Eq)]
enum LogAccess {
    /// `nvme` on the controller; whether the OCP log is worth asking for.
    Nvme { path: String, ocp: bool },
    /// `smartctl` on the whole device.
    Smart { path: String, transport: Transport },
}

/// A device's logs, to be read as often as wanted.
#[derive(Debug, Clone)]
pub struct DeviceLogs {
    way: Option<LogAccess>,
    answered: bool,
    failures: u32,
    given_up: Option<String>,
}

impl DeviceLogs {
    /// The logs of a device; nothing is read yet. The logs are the whole
    /// drive's, also for a partition or one namespace of several.
    pub fn new(device: &Device, roots: &Roots) -> Self {
        DeviceLogs { way: way(device, roots), answered: false, failures: 0, given_up: None }
    }

    /// Whether reading is worth while: the device may have logs and has not
    /// refused them.
    pub fn are_there(&self) -> bool {
        self.way.is_some()
    }

    /// Why the logs are not read any more, where they were given up.
    pub fn given_up(&self) -> Option<&str> {
        self.given_up.as_deref()
    }

    /// Reads the counters. `None` where there is nothing to read; a device that
    /// refuses at first, or keeps refusing, is not asked again.
    pub fn read(&mut self) -> Option<LogReading> {
        let read = match self.way.as_mut()? {
            LogAccess::Nvme { path, ocp } => nvme::counters(path, ocp),
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

fn way(device: &Device, roots: &Roots) -> Option<LogAccess> {
    let whole = Node::named(&device.name, roots)?.whole();
    let path = |name: &str| roots.dev.join(name).to_string_lossy().into_owned();
    match device.transport {
        Transport::Nvme => {
            // The logs are the controller's, and some drives refuse them by namespace.
            let controller = controllers(&whole).first().map(|directory| file_name(directory));
            Some(LogAccess::Nvme { path: path(&controller.unwrap_or(whole.name)), ocp: true })
        }
        Transport::Sata | Transport::Sas | Transport::Usb => {
            Some(LogAccess::Smart { path: path(&whole.name), transport: device.transport.clone() })
        }
        _ => None,
    }
}

/// What a device tells about itself when it is asked for everything.
#[derive(Debug, Default)]
pub(crate) struct Health {
    /// Its counters and state.
    pub log: LogReading,
    /// What only an NVMe controller tells.
    pub nvme: NvmeFacts,
}

/// Asks a device for everything; `None` where it is of a kind that has no logs.
pub(crate) fn health(device: &Device, roots: &Roots) -> Option<Result<Health, HostError>> {
    Some(match way(device, roots)? {
        LogAccess::Nvme { path, mut ocp } => nvme::counters(&path, &mut ocp).map(|mut log| {
            log.self_test = nvme::self_test(&path);
            let namespace = Node::named(&device.name, roots).map(|node| node.whole().path(roots));
            Health { log, nvme: nvme::facts(&path, namespace.as_deref()) }
        }),
        LogAccess::Smart { path, transport } => smart::everything(&path, &transport)
            .map(|log| Health { log, nvme: NvmeFacts::default() }),
    })
}

#[cfg(test)]
mod tests;
