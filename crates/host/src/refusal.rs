//! Reasons why a device is not armed.

use crate::error::HostError;
use std::path::PathBuf;
use steadfast_domain::Device;

/// Formats a device for messages: path, model, serial number, capacity.
pub(crate) fn title(device: &Device) -> String {
    let mut parts: Vec<String> = Vec::new();
    parts.extend(device.model.clone());
    parts.extend(device.serial.as_ref().map(|serial| format!("serial number {serial}")));
    parts.push(device.capacity.to_string());
    format!("{} ({})", device.path, parts.join(", "))
}

/// Reason why a device was not armed, printed in one line; [`ArmRefusal::remedy`] says what to do.
/// Only [`ArmRefusal::Unconfirmed`] can be overridden by a confirmation of the user.
#[derive(Debug, thiserror::Error)]
pub enum ArmRefusal {
    /// The device is mounted, used as swap, held by another device, or has a device stacked on it.
    #[error("{device} is in use: {}", uses.join("; "))]
    InUse {
        /// Device.
        device: String,
        /// Every use of the device.
        uses: Vec<String>,
        /// Ways to end these uses.
        remedy: String,
    },
    /// The device is, or is part of, a disk that holds data to be kept.
    #[error("{device} lies on the disk ({disk}) that holds {what}")]
    HoldsKept {
        /// Device.
        device: String,
        /// Physical disk.
        disk: String,
        /// The data to be kept, with its path.
        what: String,
    },
    /// The file must be kept.
    #[error("{path} is {what}")]
    Kept {
        /// File.
        path: PathBuf,
        /// Role of the file.
        what: String,
    },
    /// The device belongs to a ZFS pool, whose use of the device no kernel list shows.
    #[error("{device} carries the label of a ZFS pool (on {place})")]
    ZfsMember {
        /// Device.
        device: String,
        /// Device or partition that has the label.
        place: String,
    },
    /// A process has the device open for writing.
    #[error("{device} is open for writing in {}", by.join(", "))]
    OpenForWriting {
        /// Device.
        device: String,
        /// Name and process ID of each writer.
        by: Vec<String>,
    },
    /// Another process or the kernel holds the device exclusively.
    #[error("{device} is held exclusively by another process or by the kernel{}", in_parentheses(.by))]
    HeldExclusively {
        /// Device.
        device: String,
        /// Description of each visible holder; may be empty.
        by: Vec<String>,
    },
    /// The device is read-only.
    #[error("{device} is read-only")]
    ReadOnly {
        /// Device.
        device: String,
    },
    /// The device has size 0.
    #[error("{device} has no size")]
    Empty {
        /// Device.
        device: String,
    },
    /// The path no longer refers to the device that was inspected.
    #[error("{device} is no longer the device that was checked: it is now {now}")]
    Changed {
        /// Device that was inspected.
        device: String,
        /// Device at the path now.
        now: String,
    },
    /// The user has not confirmed that the device may be overwritten.
    #[error("overwriting {device} is not confirmed{}; it would destroy: {}", given_text(.given), losses_text(.losses))]
    Unconfirmed {
        /// Device.
        device: String,
        /// Text that confirms it.
        expected: String,
        /// Text that the user gave, if any.
        given: Option<String>,
        /// Data that overwriting would destroy.
        losses: Vec<String>,
    },
    /// An operation on the host failed.
    #[error(transparent)]
    Host(#[from] HostError),
}

impl ArmRefusal {
    /// Returns what the user can do, without a final period; empty if the error itself says it.
    pub fn remedy(&self) -> String {
        match self {
            ArmRefusal::InUse { remedy, .. } => remedy.clone(),
            ArmRefusal::HoldsKept { .. } => {
                "test another disk, or a scratch file on this one (--size)".into()
            }
            ArmRefusal::Kept { .. } => "name another file".into(),
            ArmRefusal::ZfsMember { device, .. } => format!(
                "destroy or export the pool and clear the label (zpool labelclear {device})"
            ),
            ArmRefusal::OpenForWriting { .. } => "end that process first".into(),
            ArmRefusal::HeldExclusively { .. } => {
                "end the program that holds it (find it with lsblk, fuser or lsof), also in \
                 other containers and virtual machines"
                    .into()
            }
            ArmRefusal::ReadOnly { .. } => {
                "clear the write protection (blockdev --setrw, or the drive's switch)".into()
            }
            ArmRefusal::Empty { .. } => "insert a medium or give the file a size (--size)".into(),
            ArmRefusal::Changed { .. } => {
                "check which device is which (steadfast devices), and start again".into()
            }
            ArmRefusal::Unconfirmed { expected, .. } => {
                format!("to destroy all of that, confirm with --yes-destroy '{expected}'")
            }
            ArmRefusal::Host(_) => String::new(),
        }
    }
}

fn in_parentheses(by: &[String]) -> String {
    if by.is_empty() { String::new() } else { format!(" ({})", by.join(", ")) }
}

/// Names the wrong confirmation that was given.
fn given_text(given: &Option<String>) -> String {
    given.as_ref().map(|given| format!(" by '{given}'")).unwrap_or_default()
}

/// Lists what overwriting would destroy.
pub(crate) fn losses_text(losses: &[String]) -> String {
    if losses.is_empty() {
        return "all of its content (no partition table or file system recognized)".into();
    }
    losses.join("; ")
}
