//! Errors of this crate. Each message says what failed, on which device or file, and what to do.

use crate::nvme::NvmeStatus;
use crate::user::permission_advice;
use std::io;
use std::path::{Path, PathBuf};
use steadfast_domain::Bytes;

/// An operation on this host failed.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// A system call failed.
    #[error("{path}: cannot {action}: {source}{}", advice(.path, .source))]
    Io {
        /// Action that failed, as a verb phrase such as "open for reading".
        action: &'static str,
        /// File or device that the call was made on.
        path: PathBuf,
        /// Error that the kernel returned.
        source: io::Error,
    },
    /// The path is neither a block device nor a regular file.
    #[error("{path} is {kind}; give a block device such as /dev/nvme0n1, or a regular file")]
    NotTestable {
        /// Path as given.
        path: PathBuf,
        /// File type that the path resolves to, such as "a directory".
        kind: &'static str,
    },
    /// Nothing is mounted at the directory.
    #[error("nothing is mounted at {path}; it lies on the mount {above}: give that")]
    NoMountPoint {
        /// Directory as given.
        path: PathBuf,
        /// Mount point that holds it.
        above: PathBuf,
    },
    /// sysfs does not list the block device.
    #[error("{path} is a block device that {sys} does not list; check that sysfs is mounted")]
    Unlisted {
        /// Device node.
        path: PathBuf,
        /// sysfs directory that was searched.
        sys: PathBuf,
    },
    /// A fact that arming depends on could not be determined.
    #[error("unknown {what}: {why}; a device whose state is unknown is refused")]
    Unclear {
        /// The unknown fact.
        what: String,
        /// Reason why the fact is unknown.
        why: String,
    },
    /// The file system has too little free space for the scratch file.
    #[error(
        "{path}: not enough space for a scratch file of {wanted}{}; \
         choose a smaller size or another file system", room(.free))]
    NoRoom {
        /// Scratch file.
        path: PathBuf,
        /// Requested size.
        wanted: Bytes,
        /// Free space of the file system; `None` if unknown.
        free: Option<Bytes>,
    },
    /// The scratch file would exceed the user's disk quota.
    #[error(
        "{path}: a scratch file of {wanted} exceeds the disk quota; choose a smaller size, or ask \
         for a larger quota"
    )]
    OverQuota {
        /// Scratch file.
        path: PathBuf,
        /// Requested size.
        wanted: Bytes,
    },
    /// The scratch file would exceed the maximum file size of the file system or the process.
    #[error(
        "{path}: a file of {wanted} exceeds the limit of this file system or of this process \
         (ulimit -f); choose a smaller size or another file system"
    )]
    FileTooLarge {
        /// Scratch file.
        path: PathBuf,
        /// Requested size.
        wanted: Bytes,
    },
    /// Another file exists at the path of the scratch file.
    #[error(
        "{path} exists with {found} bytes and is not a scratch file of steadfast; \
         remove it, or give another path"
    )]
    FileExists {
        /// Scratch file.
        path: PathBuf,
        /// Length of the existing file in bytes.
        found: u64,
    },
    /// The scratch file must be resized but is in use.
    #[error("cannot change the size of {path}: {why}")]
    FileBusy {
        /// Scratch file.
        path: PathBuf,
        /// Reason why its size cannot be changed.
        why: String,
    },
    /// A size was given for a block device.
    #[error("{path} is a block device, which has its own size; omit --size")]
    FixedSize {
        /// The device.
        path: PathBuf,
    },
    /// A scratch file was requested without a size.
    #[error("{path}: a scratch file needs a size, such as --size 4GiB")]
    NoSize {
        /// Scratch file.
        path: PathBuf,
    },
    /// A purge was requested of a target that was armed for reading only.
    #[error("{device} was armed for reading only; arm it for overwriting to purge it")]
    ReadingOnly {
        /// The device.
        device: String,
    },
    /// The requested purge method is unavailable for this device.
    #[error("{device} cannot be purged by {method}: {why}; possible here: {possible}")]
    NoSuchPurge {
        /// The device.
        device: String,
        /// Requested method.
        method: String,
        /// Reason why the method is unavailable.
        why: String,
        /// Values of `--purge` that this device supports.
        possible: String,
    },
    /// A purge was started and failed.
    #[error(
        "{device}: the purge ({method}) failed: {why}; choose another method with --purge, or \
         run without a purge: --purge-failed continue"
    )]
    PurgeFailed {
        /// The device.
        device: String,
        /// Method that was applied.
        method: String,
        /// Cause of the failure.
        why: String,
    },
    /// A process of a vendor's purge command still runs, after the command or before it is started.
    #[error(
        "process {process} of the purge command '{command}' still runs and may erase the device; \
         wait until it has ended (kill {process} ends it), then start or resume the run"
    )]
    PurgeStillRuns {
        /// Command that the user gave.
        command: String,
        /// ID of the process.
        process: u32,
    },
    /// A purge was started, here or by an earlier run, and it is unknown whether it has ended.
    #[error(
        "{device}: it is unknown whether the purge ({purge}) still erases the device: {why}; \
         {check}, then start or resume the run"
    )]
    PurgeEndUnknown {
        /// The device.
        device: String,
        /// Method, or the command that the user gave.
        purge: String,
        /// Reason why its end is unknown.
        why: String,
        /// Action by which the user finds the end, as an imperative.
        check: String,
    },
    /// After a vendor's purge command, or just before it, the device was not the armed one.
    #[error(
        "{device}: not the confirmed device around the purge command '{command}': {why}; nothing \
         more was written. Check the device and start the run again"
    )]
    PurgeChangedDevice {
        /// Device that was confirmed.
        device: String,
        /// Command that the user gave.
        command: String,
        /// Difference, as a clause.
        why: String,
    },
    /// The user stopped the purge.
    #[error("{device}: the purge was stopped; the device is not purged")]
    PurgeStopped {
        /// The device.
        device: String,
    },
    /// A change to the device was not made because it could not be journaled.
    #[error("the journal cannot be written: {0}")]
    Unjournaled(String),
    /// The end or the output of the user's power-cut command is not known whole.
    #[error(
        "it is unknown whether the power command '{command}' has cut the power ({how}): {output}; see \
         that the device has power, then resume the run"
    )]
    PowerCutUnknown {
        /// Command that the user gave.
        command: String,
        /// Reason why its end is unknown.
        how: String,
        /// Output of the command.
        output: String,
    },
    /// A device tool is not installed, or this user may not execute it.
    #[error("'{tool}' is not installed or may not be run; install the package {package}")]
    ToolMissing {
        /// Name of the program.
        tool: String,
        /// Debian package that contains the program.
        package: &'static str,
    },
    /// A device tool failed or its output could not be parsed.
    #[error("'{command}' failed ({how}): {output}")]
    ToolFailed {
        /// Program and arguments.
        command: String,
        /// Exit status, or why the run failed without one (time limit, unknown output).
        how: String,
        /// Text from stderr, or from stdout if stderr is empty.
        output: String,
    },
    /// An NVMe controller completed a command with an error.
    #[error("{path}: {command} failed: {status}")]
    NvmeStatus {
        /// Node of the controller.
        path: PathBuf,
        /// Name of the command.
        command: String,
        /// Status of the completion.
        status: NvmeStatus,
    },
    /// The kernel did not send an NVMe command, or gave up waiting for its completion.
    #[error("{path}: cannot send {command}: {source}{}", advice(.path, .source))]
    NvmeCommand {
        /// Node of the controller.
        path: PathBuf,
        /// Name of the command.
        command: String,
        /// Error that the kernel returned.
        source: io::Error,
    },
    /// A device node is not the NVMe device that sysfs describes.
    #[error("{path} is not the NVMe device of its name: {why}; check /dev, or restart udev")]
    NotNvme {
        /// Device node.
        path: PathBuf,
        /// Device that the kernel has there instead.
        why: String,
    },
    /// A host setting reads back another value than the one written.
    #[error("{setting} was set to '{wanted}' and reads back '{found}'; the device refuses it")]
    NotTaken {
        /// Name of the setting.
        setting: String,
        /// Value written.
        wanted: String,
        /// Value read back.
        found: String,
    },
    /// The kernel does not have a file of its control groups.
    #[error(
        "the control groups of this kernel have no {file}; use a kernel that has it, or omit its rule \
         from --set controls=..."
    )]
    NoGroupFile {
        /// Name of the file.
        file: String,
    },
    /// The journal names a setting that this program never changes.
    #[error("'{0}' is not a setting that steadfast changes; the journal is damaged")]
    UnknownSetting(String),
    /// The device of a setting or a run is not attached.
    #[error("{wanted} is not attached to this machine{}; attach it and try again", remark(.instead))]
    Absent {
        /// Device that was looked for, with its identity.
        wanted: String,
        /// Device that has its kernel name now, if any.
        instead: Option<String>,
    },
    /// More than one attached device has the identity.
    #[error("{wanted} is attached more than once ({found}); detach all but one")]
    Ambiguous {
        /// Device that was looked for.
        wanted: String,
        /// Names of all devices that match.
        found: String,
    },
}

impl HostError {
    /// Returns the error for tool output that could not be parsed; quotes its first 200 characters.
    pub(crate) fn not_understood(command: String, output: &str) -> Self {
        let output = output.trim().chars().take(200).collect();
        HostError::ToolFailed { command, how: "its output cannot be parsed".into(), output }
    }

    /// Returns true if the kernel refused the call for an NVMe command, so that the drive never saw
    /// the command.
    pub(crate) fn is_refused_call(&self) -> bool {
        let HostError::NvmeCommand { source, .. } = self else { return false };
        let refusals = [libc::EPERM, libc::EACCES, libc::ENOTTY, libc::EINVAL, libc::EOPNOTSUPP];
        source.raw_os_error().is_some_and(|errno| refusals.contains(&errno))
    }

    /// Returns true if the device may be erasing although the command that erases it failed with
    /// this error: its tool may have failed after it had sent the command, and a controller that is
    /// reset may carry it out.
    pub(crate) fn may_have_begun(&self) -> bool {
        match self {
            HostError::ToolFailed { .. } => true,
            HostError::NvmeCommand { .. } => !self.is_refused_call(),
            HostError::NvmeStatus { status, .. } => status.may_have_begun(),
            _ => false,
        }
    }

    /// Returns the error for a failed system call on a path.
    pub(crate) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        HostError::Io { action, path: path.to_owned(), source }
    }
}

fn advice(path: &Path, source: &io::Error) -> &'static str {
    // Users do not type paths in /proc and /sys: "check the spelling" would mislead there.
    let is_system = ["/proc", "/sys"].iter().any(|root| path.starts_with(root));
    match source.kind() {
        io::ErrorKind::PermissionDenied => permission_advice("; run as root"),
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
