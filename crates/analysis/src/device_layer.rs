//! [`DeviceLayer`]: the key by which the figures of devices are counted.

use crate::cells::{BusyInStep, CubeCell};
use serde::{Deserialize, Serialize};
use steadfast_domain::{CaptureConditions, Layer};

/// One device at one layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DeviceLayer {
    /// Index into the devices of the conditions.
    pub device: u16,
    /// Layer at which the I/Os were seen.
    pub layer: Layer,
}

impl DeviceLayer {
    /// Returns the device whose [`device_layer_index`] this is.
    pub(crate) fn from_index(index: usize) -> Self {
        let layer = if index % 2 == 1 { Layer::FileSystem } else { Layer::Block };
        DeviceLayer { device: (index / 2) as u16, layer }
    }

    /// Returns the name with the layer: `nvme0n1, block`.
    pub fn name(&self, conditions: &CaptureConditions) -> String {
        format!("{}, {}", self.device_name(conditions), self.layer)
    }

    /// Returns the name of the device: `nvme0n1`.
    pub fn device_name(&self, conditions: &CaptureConditions) -> String {
        device_name(conditions, self.device)
    }
}

impl From<&CubeCell> for DeviceLayer {
    fn from(cell: &CubeCell) -> Self {
        DeviceLayer { device: cell.device, layer: cell.layer }
    }
}

impl From<&BusyInStep> for DeviceLayer {
    fn from(busy: &BusyInStep) -> Self {
        DeviceLayer { device: busy.device, layer: busy.layer }
    }
}

/// Returns the index of a device at a layer in an array of both layers of all devices.
pub(crate) fn device_layer_index(device: u16, is_file: bool) -> usize {
    usize::from(device) * 2 + usize::from(is_file)
}

/// Returns the name of a device in the conditions, or its number if it has no name there.
pub fn device_name(conditions: &CaptureConditions, device: u16) -> String {
    let named = conditions.devices.get(usize::from(device));
    let name = named.map(|device| device.name.clone()).filter(|name| !name.is_empty());
    name.unwrap_or_else(|| format!("device {device}"))
}

/// Returns the names of all devices in the conditions.
pub fn device_names(conditions: &CaptureConditions) -> impl Iterator<Item = String> {
    (0u16..).zip(&conditions.devices).map(|(device, _)| device_name(conditions, device))
}
