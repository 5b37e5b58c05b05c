//! An NVMe drive that reports a fuzzer's input (fuzz/).

use crate::device_log::DeviceHealth;
use crate::error::HostError;
use crate::nvme::{AdminCommand, DrivePages, NvmeAdmin};
use std::sync::Mutex;

/// Bytes that a drive reports. Each command takes as many as it transfers; after the last byte,
/// zeros follow.
struct FuzzedDrive<'b>(Mutex<&'b [u8]>);

impl NvmeAdmin for FuzzedDrive<'_> {
    fn send(&self, command: &AdminCommand, data: &mut [u8]) -> Result<u32, HostError> {
        let mut rest = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let taken = data.len().min(rest.len());
        data[..taken].copy_from_slice(&rest[..taken]);
        *rest = &rest[taken..];
        Ok(command.words[0])
    }
}

/// Reads and decodes all pages of a drive that reports these bytes, one page after the other.
pub fn nvme_drive(bytes: &[u8]) {
    if let Ok(pages) = DrivePages::read(&FuzzedDrive(Mutex::new(bytes)), Some(1)) {
        DeviceHealth::from_pages(&pages);
    }
}
