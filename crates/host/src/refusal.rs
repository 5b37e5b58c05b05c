//! Why a device is not armed.

use crate::error::HostError;
use std::path::PathBuf;

/// A device was not armed, and why: one line each, with what to do about it in
/// [`Refusal::remedy`]. Only [`Refusal::Unconfirmed`] gives way to a word from
/// the user.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// Mounted, swapped to, held by another device, or stacked upon.
    #[error("{device} is in use: {}", uses.join("; "))]
    InUse {
        /// The device.
        device: String,
        /// Each use.
        uses: Vec<String>,
        /// How each can be ended.
        remedy: String,
    },
    /// It is, or is cut from, the disk that carries something that must live.
    #[error("{device} lies on the disk ({disk}) that holds {what}")]
    HoldsKept {
        /// The device.
        device: String,
        /// The physical disk.
        disk: String,
        /// What must live, with its path.
        what: String,
    },
    /// A file that must live.
    #[error("{path} is {what}")]
    Kept {
        /// The file.
        path: PathBuf,
        /// What it is.
        what: String,
    },
    /// It belongs to a ZFS pool, which keeps no sign of its use in the kernel's lists.
    #[error("{device} carries the label of a ZFS pool (on {place})")]
    ZfsMember {
        /// The device.
        device: String,
        /// The device or partition that carries the label.
        place: String,
    },
    /// Another process may write to it.
    #[error("{device} is open for writing in {}", by.join(", "))]
    OpenForWriting {
        /// The device.
        device: String,
        /// Each process, with its number.
        by: Vec<String>,
    },
    /// Something else holds it exclusively.
    #[error("{device} is held exclusively by another process or by the kernel{}", in_list(.by))]
    HeldExclusively {
        /// The device.
        device: String,
        /// How each holder that is seen holds it.
        by: Vec<String>,
    },
    /// It cannot be written.
    #[error("{device} is read-only")]
    ReadOnly {
        /// The device.
        device: String,
    },
    /// It has no size.
    #[error("{device} has no size")]
    Empty {
        /// The device.
        device: String,
    },
    /// What stands at the path is not what was inspected.
    #[error("{device} is no longer the device that was checked: it is now {now}")]
    Changed {
        /// The device as it was.
        device: String,
        /// What is there.
        now: String,
    },
    /// The user has not said that it may be overwritten.
    #[error("overwriting {device} is not confirmed{}; it would destroy: {}", but(.given), lost(.losses))]
    Unconfirmed {
        /// The device.
        device: String,
        /// What must be typed to confirm.
        expected: String,
        /// What was typed.
        given: Option<String>,
        /// What overwriting would destroy.
        losses: Vec<String>,
    },
    /// The host did not answer.
    #[error(transparent)]
    Host(#[from] HostError),
}

impl Refusal {
    /// What to do about it, in one sentence.
    pub fn remedy(&self) -> String {
        match self {
            Refusal::InUse { remedy, .. } => remedy.clone(),
            Refusal::HoldsKept { .. } => {
                "test another disk, or a scratch file on this one (--size)".into()
            }
            Refusal::Kept { .. } => "name another file".into(),
            Refusal::ZfsMember { device, .. } => format!(
                "destroy or export the pool and clear the label (zpool labelclear {device})"
            ),
            Refusal::OpenForWriting { .. } => "end that process first".into(),
            Refusal::HeldExclusively { .. } => {
                "end the program that holds it (find it with lsblk, fuser or lsof), also in \
                 other containers and virtual machines"
                    .into()
            }
            Refusal::ReadOnly { .. } => {
                "clear the write protection (blockdev --setrw, or the drive's switch)".into()
            }
            Refusal::Empty { .. } => "insert a medium or give the file a size (--size)".into(),
            Refusal::Changed { .. } => {
                "check which device is which (steadfast devices), and start again".into()
            }
            Refusal::Unconfirmed { expected, .. } => {
                format!("to destroy all of that, confirm with --yes-destroy '{expected}'")
            }
            Refusal::Host(_) => String::new(),
        }
    }
}

fn in_list(by: &[String]) -> String {
    if by.is_empty() { String::new() } else { format!(" ({})", by.join(", ")) }
}

fn but(given: &Option<String>) -> String {
    given.as_ref().map(|given| format!(" by '{given}'")).unwrap_or_default()
}

fn lost(losses: &[String]) -> String {
    if losses.is_empty() {
        return "all of its content (no partition table or file system recognized)".into();
    }
    losses.join("; ")
}
