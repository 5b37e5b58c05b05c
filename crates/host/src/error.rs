//! What can go wrong with the machine, said so that a person knows what to do.

use std::io;
use std::path::{Path, PathBuf};
use steadfast_domain::Bytes;

/// Something on this host did not work.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The system refused a call.
    #[error("{path}: cannot {action}: {source}{}", advice(.path, .source))]
    Io {
        /// What was tried, as in "open for reading".
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The path leads to something that holds no blocks.
    #[error("{path} is {kind}; give a block device such as /dev/nvme0n1, or a regular file")]
    NotTestable {
        /// The path.
        path: PathBuf,
        /// What it leads to.
        kind: &'static str,
    },
    /// The kernel lists no such block device.
    #[error("{path} is a block device that {sys} does not list; check that sysfs is mounted")]
    Unlisted {
        /// The device node.
        path: PathBuf,
        /// Where it was looked for.
        sys: PathBuf,
    },
    /// Something that must be known could not be found out.
    #[error("unknown {what}: {why}; a device whose state is unknown is refused")]
    Unclear {
        /// What is not known.
        what: String,
        /// Why not.
        why: String,
    },
    /// A scratch file would take more room than there is.
    #[error(
        "{path}: not enough space for a scratch file of {wanted}{}; \
         choose a smaller size or another file system", room(.free))]
    NoRoom {
        /// The file.
        path: PathBuf,
        /// The size asked for.
        wanted: Bytes,
        /// What the file system has left, where it tells.
        free: Option<Bytes>,
    },
    /// A scratch file would exceed the user's disk quota.
    #[error(
        "{path}: a scratch file of {wanted} exceeds the disk quota; choose a smaller size, or ask \
         for a larger quota"
    )]
    OverQuota {
        /// The file.
        path: PathBuf,
        /// The size asked for.
        wanted: Bytes,
    },
    /// A scratch file is larger than the file system or the process may make files.
    #[error(
        "{path}: a file of {wanted} is larger than this file system or this process may make one \
         (ulimit -f); choose a smaller size or another file system"
    )]
    FileTooLarge {
        /// The file.
        path: PathBuf,
        /// The size asked for.
        wanted: Bytes,
    },
    /// A file stands where the scratch file would be made.
    #[error(
        "{path} exists with {found} bytes and is not a scratch file of steadfast; \
         remove it, or give another path"
    )]
    FileExists {
        /// The file.
        path: PathBuf,
        /// Its length in bytes.
        found: u64,
    },
    /// A scratch file of another size is wanted and this one is in use.
    #[error("cannot change the size of {path}: {why}")]
    FileBusy {
        /// The file.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// A block device is to be given a size.
    #[error("{path} is a block device, which has its own size; omit --size")]
    FixedSize {
        /// The device.
        path: PathBuf,
    },
    /// A scratch file of no size.
    #[error("{path}: a scratch file needs a size, such as --size 4GiB")]
    NoSize {
        /// The file.
        path: PathBuf,
    },
    /// The target was armed for reading.
    #[error("{device} was armed for reading only; arm it for overwriting to purge it")]
    ReadingOnly {
        /// The device.
        device: String,
    },
    /// A purge that was asked for cannot be done to this device.
    #[error("{device} cannot be purged by {method}: {why}; possible here: {possible}")]
    NoSuchPurge {
        /// The device.
        device: String,
        /// What was asked for.
        method: String,
        /// Why not.
        why: String,
        /// What `--purge` could say instead.
        possible: String,
    },
    /// A purge was begun and did not do its work.
    #[error(
        "{device}: the purge ({method}) failed: {why}; choose another method with --purge, or \
         run without a purge: --purge-failed continue"
    )]
    PurgeFailed {
        /// The device.
        device: String,
        /// What was done.
        method: String,
        /// What went wrong.
        why: String,
    },
    /// A purge ended because the user asked for it.
    #[error("{device}: the purge was stopped; the device is not purged")]
    PurgeStopped {
        /// The device.
        device: String,
    },
    /// A change to the device could not be journaled, so it was not made.
    #[error("the journal cannot be written: {0}")]
    Unjournalled(String),
    /// A device tool is not there, or this user may not run it.
    #[error("'{tool}' is not installed or may not be run; install the package {package}")]
    ToolMissing {
        /// The program.
        tool: String,
        /// The package that holds it on Debian.
        package: &'static str,
    },
    /// A device tool failed.
    #[error("'{command}' failed ({how}): {said}")]
    ToolFailed {
        /// The program and its arguments.
        command: String,
        /// Its exit status, or that it was ended after its time.
        how: String,
        /// What it printed to stderr, or to stdout where that is empty.
        said: String,
    },
    /// A change of a host setting did not take.
    #[error("{setting} was set to '{wanted}' and reads back '{found}'; the device refuses it")]
    NotTaken {
        /// The setting.
        setting: String,
        /// The value written.
        wanted: String,
        /// The value read back.
        found: String,
    },
    /// A journaled setting that this program does not change.
    #[error("'{0}' is not a setting that steadfast changes; the journal is damaged")]
    UnknownSetting(String),
    /// The device that a setting or a run belongs to is not here.
    #[error("{wanted} is not attached to this machine{}; attach it and try again", remark(.instead))]
    Absent {
        /// The device that was looked for, with its identity.
        wanted: String,
        /// What has its name now, if anything.
        instead: Option<String>,
    },
    /// More than one device has the identity that was looked for.
    #[error("{wanted} is attached more than once ({found}); detach all but one")]
    Ambiguous {
        /// The device that was looked for.
        wanted: String,
        /// The names that fit.
        found: String,
    },
}

impl HostError {
    /// A tool's answer that makes no sense.
    pub(crate) fn not_understood(command: String, said: &str) -> Self {
        let said = said.trim().chars().take(200).collect();
        HostError::ToolFailed { command, how: "its output is not understood".into(), said }
    }

    /// A failed system call on a path.
    pub(crate) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        HostError::Io { action, path: path.to_owned(), source }
    }
    /// Whether the system denied permission.
    pub fn is_permission(&self) -> bool {
        matches!(self, HostError::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied)
    }
}

fn advice(path: &Path, source: &io::Error) -> &'static str {
    // What the kernel provides is not a name that a user has typed.
    let is_system = ["/proc", "/sys"].iter().any(|root| path.starts_with(root));
    match source.kind() {
        // SAFETY: asks for a number.
        io::ErrorKind::PermissionDenied if unsafe { libc::geteuid() } == 0 => {
            "; root may not do this here: a container, a mount option or a security module forbids it"
        }
        io::ErrorKind::PermissionDenied => "; run as root",
        io::ErrorKind::NotFound if is_system => "; check that /proc and /sys are mounted",
        io::ErrorKind::NotFound => "; check the spelling and whether the device is attached",
        _ => "",
    }
}

fn room(free: &Option<Bytes>) -> String {
    free.map(|free| format!(" ({free} free)")).unwrap_or_default()
}

fn remark(instead: &Option<String>) -> String {
    instead.as_ref().map(|text| format!(" ({text})")).unwrap_or_default()
}
