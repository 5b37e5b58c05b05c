//! Purge: bringing a device near to the state of never having been written.
//!
//! What is done here is a discard, or a file made anew. Both are less than the
//! purge of the standard, and the record says so. Neither reaches beyond the
//! armed handle: on a partition the kernel bounds the discard to the partition.

use crate::error::HostError;
use crate::scratch;
use crate::target::Target;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Instant;
use steadfast_domain::{Bytes, Nanos, Purge, PurgeMethod};

/// `_IO(0x12, 119)` of linux/fs.h.
const BLKDISCARD: libc::Ioctl = 0x1277;

/// How many places are read back after a purge, the first and the last block
/// among them.
const PLACES: u64 = 64;

/// What is read at each place, in bytes, where the device allows it.
const BLOCK: u64 = 4096;

/// Purges the whole target by the best means that is safe here, and looks
/// whether blocks read back blank.
///
/// The handle stays valid. Where there is no means, the answer is
/// [`PurgeMethod::Nothing`] with the reason as its remark.
///
/// # Errors
/// Where the target was armed for reading, or the device failed half way.
pub fn purge(target: &mut Target) -> Result<Purge, HostError> {
    if !target.is_writable() {
        return Err(HostError::ReadingOnly { device: target.device().path.clone() });
    }
    let began = Instant::now();
    let (method, remark) = if target.is_file() { anew(target)? } else { discard(target)? };
    let took = Nanos::from(began.elapsed());
    let blank = match method {
        PurgeMethod::Nothing => None,
        _ => Some(is_blank(target)?),
    };
    let remark = match blank {
        Some(false) => format!("{remark}; not every block that was read back is blank"),
        _ => remark,
    };
    Ok(Purge { method, took, blank, remark })
}

fn discard(target: &Target) -> Result<(PurgeMethod, String), HostError> {
    let device = target.device();
    if !device.discard {
        return Ok(nothing(&device.name));
    }
    let range = [0, device.capacity.0];
    // SAFETY: BLKDISCARD reads two u64 (offset, length), which live through the
    // call; the descriptor is open for as long as `target`.
    let result = unsafe { libc::ioctl(target.file().as_raw_fd(), BLKDISCARD, range.as_ptr()) };
    if result == 0 {
        let remark = "the device was told that no block is in use; unlike a format or a secure \
                      erase it may keep what it likes";
        return Ok((PurgeMethod::Discard, remark.to_owned()));
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::EOPNOTSUPP | libc::ENOTTY) => Ok(nothing(&device.name)),
        _ => Err(HostError::io("discard every block", Path::new(&device.path), error)),
    }
}

fn nothing(name: &str) -> (PurgeMethod, String) {
    let remark = format!("{name} takes no discard; purge it beforehand with its maker's tool");
    (PurgeMethod::Nothing, remark)
}

/// Gives all blocks of a file back and allocates others, through the open
/// handle, so that the file keeps its place and its mark.
fn anew(target: &Target) -> Result<(PurgeMethod, String), HostError> {
    let (file, size) = (target.file(), target.device().capacity);
    let path = Path::new(&target.device().name);
    let punch = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    let emptied = match scratch::fallocate(file, punch, size) {
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {
            file.set_len(0).and_then(|()| file.set_len(size.0))
        }
        other => other,
    };
    // The blocks given back must be on disk before others are taken, or some
    // file systems hand out the same ones again without telling the drive.
    emptied
        .and_then(|()| file.sync_all())
        .map_err(|error| HostError::io("give its blocks back", path, error))?;
    scratch::allocate(file, path, size)?;
    let remark = "the drive below keeps its history; blocks not written since are answered by \
                  the file system alone";
    Ok((PurgeMethod::RecreateFile, remark.to_owned()))
}

/// Whether blocks all over the target read as zeros.
fn is_blank(target: &Target) -> Result<bool, HostError> {
    let unit = BLOCK.max(u64::from(target.offset_alignment())).min(target.length().0);
    let alignment = target.memory_alignment().max(1) as usize;
    let mut memory = vec![0u8; unit as usize + alignment];
    let start = memory.as_ptr().align_offset(alignment);
    let block = &mut memory[start..start + unit as usize];
    for offset in places(target.length(), unit) {
        target.file().read_exact_at(block, offset).map_err(|error| {
            HostError::io("read it back", Path::new(&target.device().path), error)
        })?;
        if block.iter().any(|byte| *byte != 0) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The offsets that are looked at: evenly spread, from the first whole unit to
/// the last.
fn places(length: Bytes, unit: u64) -> Vec<u64> {
    let last = (length.0 / unit.max(1)).saturating_sub(1);
    let count = PLACES.min(last + 1);
    let mut places: Vec<u64> = (0..count)
        .map(|place| (u128::from(last) * u128::from(place) / u128::from(count.max(2) - 1)) as u64)
        .map(|block| block * unit)
        .collect();
    places.dedup();
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roots::Roots;
    use crate::target::Access;
    use steadfast_domain::{Device, Transport};

    #[test]
    fn places_reach_from_the_first_block_to_the_last() {
        let many = places(Bytes::gib(1), 4096);
        assert_eq!((many.len(), many[0], many[63]), (64, 0, (1 << 30) - 4096));
        assert_eq!(places(Bytes(8192 + 512), 4096), [0, 4096]);
        assert_eq!(places(Bytes(512), 512), [0]);
        let huge = places(Bytes(u64::MAX), 4096);
        assert!(huge.iter().all(|offset| offset % 4096 == 0) && huge.len() == 64);
    }

    #[test]
    fn what_takes_no_discard_keeps_its_content_and_says_so() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("medium");
        for discard in [false, true] {
            std::fs::write(&path, [7; 8192]).unwrap();
            let file = crate::inspect(&path, &Roots::real()).unwrap();
            // A device that claims to take discards may still refuse them.
            let device = Device { transport: Transport::Sata, discard, name: "sda".into(), ..file };
            let mut target = Target::open(device, Access::Read).unwrap();
            assert!(matches!(purge(&mut target), Err(HostError::ReadingOnly { .. })));
            let (method, remark) = super::discard(&target).unwrap();
            assert_eq!(method, PurgeMethod::Nothing);
            assert!(remark.starts_with("sda takes no discard"), "{remark}");
            assert_eq!(std::fs::read(&path).unwrap(), [7; 8192]);
        }
    }
}
