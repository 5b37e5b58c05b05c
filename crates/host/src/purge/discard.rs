//! Discard: marks all blocks of a target as unused, piece by piece.

use super::purge_context::{PurgeContext, PurgeOutcome};
use crate::error::HostError;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

/// `_IO(0x12, 119)` of linux/fs.h.
const BLKDISCARD: libc::Ioctl = 0x1277;

/// Size of one discard in bytes. Between two of them, the purge can be stopped.
const PIECE: u64 = 1 << 30;

/// Remark in the report: a discard guarantees less than a format or a secure erase.
pub(super) const REMARK: &str = "every block was discarded; unlike a format or a \
                                 secure erase, a discard may leave data in the flash";

/// Returns the reason for a device without discard support.
pub(super) fn no_discard(name: &str) -> String {
    format!("{name} does not support discard; purge it before the run with its vendor's tool")
}

/// Discards the whole target, and nothing outside it: through the handle of a partition, the
/// kernel limits the discard to the partition.
pub(super) fn discard(work: &mut PurgeContext<'_>) -> Result<PurgeOutcome, HostError> {
    let device = work.target.device();
    let capacity = device.capacity.0;
    let mut offset = 0;
    while offset < capacity {
        work.check_stop()?;
        let length = PIECE.min(capacity - offset);
        match discard_piece(work, offset, length) {
            Err(error) if offset == 0 && is_unknown(&error) => return Ok(PurgeOutcome::Unknown),
            other => other.map_err(|error| {
                HostError::io("discard every block", Path::new(&device.path), error)
            })?,
        }
        offset += length;
        work.report("discarding", Some(100.0 * offset as f64 / capacity as f64));
    }
    Ok(PurgeOutcome::Purged)
}

fn discard_piece(work: &PurgeContext<'_>, offset: u64, length: u64) -> io::Result<()> {
    let range = [offset, length];
    let file = work.target.file().as_raw_fd();
    // SAFETY: BLKDISCARD reads two u64 (offset, length), which outlive the call; the descriptor is
    // open as long as the target exists.
    match unsafe { libc::ioctl(file, BLKDISCARD, range.as_ptr()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Returns true for the errors of a device that announces discard support and then refuses it.
fn is_unknown(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENOTTY))
}
