//! [`DeviceLayer`]: the key by which the figures of devices are counted.

use steadfast_domain::{CaptureConditions, Layer};

/// One device at one layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceLayer {
    /// Index into the devices of the conditions.
    pub device: u16,
    /// Layer at which the I/Os were seen.
    pub layer: Layer,
}

impl DeviceLayer {
    /// Returns the name with the layer: `nvme0n1, block`.
    pub fn name(&self, conditions: &CaptureConditions) -> String {
        format!("{}, {}", self.device_name(conditions), self.layer)
    }

    /// Returns the name of the device: `nvme0n1`.
    pub fn device_name(&self, conditions: &CaptureConditions) -> String {
        device_name(conditions, self.device)
    }
}

/// Returns the name of a device in the conditions, or its number if it has no name there.
pub fn device_name(conditions: &CaptureConditions, device: u16) -> String {
    let named = conditions.devices.get(usize::from(device));
    let name = named.map(|device| device.name.clone()).filter(|name| !name.is_empty());
    name.unwrap_or_else(|| format!("device {device}"))
}
