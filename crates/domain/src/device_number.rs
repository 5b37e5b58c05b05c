//! Numbers of devices.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Major and minor number of a device, or of a file system without a device.
///
/// ```
/// use steadfast_domain::DeviceNumber;
///
/// let number: DeviceNumber = "259:3".parse().unwrap();
/// assert_eq!(number, DeviceNumber::new(259, 3));
/// assert_eq!(number.to_string(), "259:3");
/// ```
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(from = "(u32, u32)", into = "(u32, u32)")]
pub struct DeviceNumber {
    /// Number of the driver.
    pub major: u32,
    /// Number of the device among those of its driver.
    pub minor: u32,
}

impl DeviceNumber {
    /// Returns a number by its two parts.
    pub const fn new(major: u32, minor: u32) -> Self {
        DeviceNumber { major, minor }
    }

    /// Returns the number in the kernel's own encoding (`dev_t` of linux/kdev_t.h).
    pub const fn kernel_encoding(self) -> u32 {
        self.major << 20 | self.minor
    }
}

impl From<(u32, u32)> for DeviceNumber {
    fn from((major, minor): (u32, u32)) -> Self {
        DeviceNumber { major, minor }
    }
}

impl From<DeviceNumber> for (u32, u32) {
    fn from(number: DeviceNumber) -> Self {
        (number.major, number.minor)
    }
}

impl fmt::Display for DeviceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

/// The text is not two numbers with a colon in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a device number such as 8:16")]
pub struct InvalidDeviceNumber;

impl FromStr for DeviceNumber {
    type Err = InvalidDeviceNumber;

    fn from_str(text: &str) -> Result<Self, InvalidDeviceNumber> {
        let (major, minor) = text.split_once(':').ok_or(InvalidDeviceNumber)?;
        let parsed = |part: &str| part.parse().map_err(|_| InvalidDeviceNumber);
        Ok(DeviceNumber { major: parsed(major)?, minor: parsed(minor)? })
    }
}
