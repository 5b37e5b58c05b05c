//! Subject of the checks: a device, its disk and its controller.

use crate::device_uses::NodeAndDisk;
use crate::facts::pci_function;
use crate::sysfs_node::SysfsNode;
use crate::system_roots::SystemRoots;
use std::path::PathBuf;
use steadfast_domain::{Device, Transport};

pub(super) struct CheckSubject<'a> {
    pub device: &'a Device,
    pub roots: &'a SystemRoots,
    /// The device or partition itself; `None` for a file.
    pub node: Option<SysfsNode>,
    /// Disk that serves the I/Os: the whole device, or the disk below a file; `None` if a file has
    /// several.
    pub whole: Option<SysfsNode>,
    /// sysfs directory of the disk's PCI function.
    pub function: Option<PathBuf>,
}

impl<'a> CheckSubject<'a> {
    pub fn new(device: &'a Device, roots: &'a SystemRoots) -> Self {
        let NodeAndDisk { node, disk: whole } = NodeAndDisk::find(device, roots);
        let function = whole.as_ref().and_then(pci_function);
        CheckSubject { device, roots, node, whole, function }
    }

    pub fn is_file(&self) -> bool {
        self.device.transport == Transport::File
    }

    /// Returns an attribute of the whole device's queue.
    pub fn queue(&self, attribute: &str) -> Option<u64> {
        self.whole.as_ref()?.number(&format!("queue/{attribute}"))
    }
}
