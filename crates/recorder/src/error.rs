//! Errors of captures and marks.

use std::io;
use std::path::PathBuf;
use steadfast_capture::CaptureError;
use steadfast_host::{FileError, HostError};
use steadfast_tracefile::TraceError;

/// An error that keeps a capture from starting or ends it early.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The options are invalid or contradict each other.
    #[error(transparent)]
    Unsuitable(CaptureError),
    /// Content sampling needs the block layer, which is not captured.
    #[error("--content-sample reads block devices; add --layer block")]
    NoBlockLayer,
    /// The path names a file or a simulated device.
    #[error("{0} is not a block device; give one, such as /dev/nvme0n1")]
    NoBlockDevice(PathBuf),
    /// A mount point was given, but the block layer is asked for.
    #[error("{} is captured at the file-system layer; give --layer filesystem", .0.display())]
    NotABlockLayer(PathBuf),
    /// No process has this number.
    #[error("no process has PID {0}; give the PID of a running process")]
    NoProcess(u32),
    /// A device cannot be inspected.
    #[error(transparent)]
    Host(#[from] HostError),
    /// A file cannot be created.
    #[error(transparent)]
    File(#[from] FileError),
    /// The probes cannot be attached, or a device cannot be sampled.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// The file for marks cannot be created.
    #[error("cannot create the mark file of this capture")]
    Marks(#[source] MarkError),
    /// A file cannot be started; it holds nothing yet.
    #[error("cannot start {path}")]
    Uncreated {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        source: TraceError,
    },
    /// Writing the file failed.
    #[error("the capture ended: cannot write {path}; data written so far is readable")]
    Unwritable {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        source: TraceError,
    },
    /// The probes failed while the capture ran.
    #[error("the capture ended: the probes failed; data written to {path} so far is readable")]
    Broken {
        /// Path of the current file.
        path: PathBuf,
        /// Cause.
        source: CaptureError,
    },
    /// The current file was deleted.
    #[error(
        "the capture ended: {0} was deleted during the capture, and its data is lost; start a new \
         capture"
    )]
    Deleted(PathBuf),
}

/// An error of [`crate::mark`].
#[derive(Debug, thiserror::Error)]
pub enum MarkError {
    /// No capture is running.
    #[error("no capture is running; start one with steadfast capture")]
    NoCapture,
    /// No running capture writes the named trace, or more than one does.
    #[error(
        "{} does not name exactly one running capture; choose from: {}",
        wanted.display(), running.join(", ")
    )]
    NoSuchCapture {
        /// The trace that was named.
        wanted: PathBuf,
        /// The traces of the captures that run.
        running: Vec<String>,
    },
    /// The name is empty or too long.
    #[error("invalid mark name: it {0}; give a short one, such as \"backup begins\"")]
    Name(String),
    /// The directory of the marks is not what it should be.
    #[error(transparent)]
    Place(#[from] FileError),
    /// A file for marks cannot be created.
    #[error("cannot create {path}")]
    Make {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// A mark cannot be written.
    #[error("cannot write a mark to {path}")]
    Leave {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
}
