//! Parsers of data from devices, tools and other hosts, for the fuzz targets (fuzz/). Each function
//! returns false if the input was refused.

use crate::device_log::{DeviceHealth, log_reading, object, parse_power_counters};
use crate::error::HostError;
use crate::nvme::{AdminCommand, DrivePages, NvmeAdmin};
use crate::remote::{HostVerdict, HostView, lines_of};
use std::io::Cursor;
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
pub fn nvme_drive(bytes: &[u8]) -> bool {
    let pages = DrivePages::read(&FuzzedDrive(Mutex::new(bytes)), Some(1));
    pages.map(|pages| DeviceHealth::from_pages(&pages)).is_ok()
}

/// Reads the output of `smartctl --json`.
pub fn smartctl(bytes: &[u8]) -> bool {
    let Some(log) = object(&String::from_utf8_lossy(bytes)) else { return false };
    log_reading(&log);
    parse_power_counters(&log);
    true
}

/// Reads the lines that another host sends, and parses each as every kind of answer.
pub fn host_answers(bytes: &[u8]) -> bool {
    let mut is_understood = false;
    for line in lines_of(Some(Cursor::new(bytes.to_vec()))) {
        let line = line.strip_prefix("view ").or(line.strip_prefix("verdict ")).unwrap_or(&line);
        if let Ok(view) = serde_json::from_str::<HostView>(line) {
            is_understood = true;
            view.unusable();
            view.differs_from(&view);
        }
        is_understood |= serde_json::from_str::<HostVerdict>(line).is_ok();
    }
    is_understood
}
