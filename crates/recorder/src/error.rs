//! Why a capture cannot be begun, or ends before its time.

use std::io;
use std::path::PathBuf;
use steadfast_capture::CaptureError;
use steadfast_host::{FileError, HostError};
use steadfast_trace::TraceError;

/// A capture could not be begun, or ended before its time.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// What was asked for makes no sense.
    #[error(transparent)]
    Unsuitable(CaptureError),
    /// Written blocks are to be sampled where none are seen.
    #[error("--content-sample reads block devices; add --layer block")]
    NoBlockLayer,
    /// What was named is a file, or exists in virtual time only.
    #[error("{0} is not a block device; give one, such as /dev/nvme0n1")]
    NoBlockDevice(PathBuf),
    /// Nobody has this process number.
    #[error("no process {0} is running; give the number of a running process")]
    NoProcess(u32),
    /// A device cannot be looked at.
    #[error(transparent)]
    Host(#[from] HostError),
    /// A file cannot be made.
    #[error(transparent)]
    File(#[from] FileError),
    /// The probes cannot be attached, or a device cannot be sampled.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// There is no place for the marks.
    #[error("marks cannot reach this capture")]
    Marks(#[source] MarkError),
    /// The file cannot be written any more.
    #[error("the capture ended: cannot write {path} (the file is readable up to here)")]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: TraceError,
    },
    /// The probes have failed.
    #[error("the capture ended: its source failed ({path} is readable up to here)")]
    Broken {
        /// The file under way.
        path: PathBuf,
        /// What went wrong.
        source: CaptureError,
    },
    /// The file was deleted.
    #[error(
        "the capture ends here: {0} was deleted while it was written, and everything in it is \
         lost; begin another"
    )]
    Deleted(PathBuf),
}

/// A moment could not be named.
#[derive(Debug, thiserror::Error)]
pub enum MarkError {
    /// Nobody would hear of it.
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
    /// A file of marks cannot be made.
    #[error("cannot create {path}")]
    Make {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A mark cannot be written.
    #[error("cannot write a mark into {path}")]
    Leave {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}
