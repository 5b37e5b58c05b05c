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
    /// Content is to be sampled, but the block layer is not captured.
    #[error("--content-sample reads block devices; add --layer block")]
    NoBlockLayer,
    /// The path names a file or a simulated device.
    #[error("{0} is not a block device; give one, such as /dev/nvme0n1")]
    NoBlockDevice(PathBuf),
    /// A mount point was given, but the block layer is asked for.
    #[error("{} is captured at the file-system layer; give --layer filesystem", .0.display())]
    NotABlockLayer(PathBuf),
    /// No process has this number.
    #[error("no process {0} is running; give the number of a running process")]
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
    #[error("marks cannot reach this capture")]
    Marks(#[source] MarkError),
    /// Writing the file failed.
    #[error("the capture ended: cannot write {path} (the file is readable up to here)")]
    Unwritable {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        source: TraceError,
    },
    /// The probes failed while the capture ran.
    #[error("the capture ended: its source failed ({path} is readable up to here)")]
    Broken {
        /// Path of the current file.
        path: PathBuf,
        /// Cause.
        source: CaptureError,
    },
    /// The current file was deleted.
    #[error(
        "the capture ended: {0} was deleted while it was written, and everything in it is \
         lost; start another capture"
    )]
    Deleted(PathBuf),
}

/// An error of [`crate::mark`].
#[derive(Debug, thiserror::Error)]
pub enum MarkError {
    /// No capture is running.
    #[error("no capture is running; start one with steadfast capture")]
    NoCapture,
    /// No running capture writes such a trace, or several do.
    #[error(
        "no single running capture writes {}; running: {} (give one of these)",
        wanted.display(), running.join(", ")
    )]
    NoSuchCapture {
        /// The trace that was named.
        wanted: PathBuf,
        /// The traces of the captures that run.
        running: Vec<String>,
    },
    /// The name is none.
    #[error("the name of the mark {0}; give a short one, such as \"backup begins\"")]
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
