//! The device table of an import.

use std::collections::HashMap;
use steadfast_domain::io_event::CapturedDevice;

/// Devices of a trace, numbered in the order of their first occurrence.
#[derive(Debug, Default)]
pub(super) struct DeviceNumbers {
    names: Vec<String>,
    numbers: HashMap<String, u16>,
}

impl DeviceNumbers {
    /// Returns the number of a device; `None` if there are more than 65,536.
    pub(super) fn number(&mut self, name: &str) -> Option<u16> {
        if let Some(number) = self.numbers.get(name) {
            return Some(*number);
        }
        let number = u16::try_from(self.names.len()).ok()?;
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        Some(number)
    }

    pub(super) fn captured(self) -> Vec<CapturedDevice> {
        let device = |name| CapturedDevice { name, ..CapturedDevice::default() };
        self.names.into_iter().map(device).collect()
    }
}
