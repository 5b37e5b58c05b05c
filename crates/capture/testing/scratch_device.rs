//! Block devices that the tests and the bench create, and remove on drop.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::PathBuf;
use std::process::Command;
use steadfast_capture::{CaptureDevice, CaptureFileSystem, WHOLE_DISK};
use steadfast_domain::DeviceNumber;

/// A block device with its data in memory.
pub struct ScratchDevice {
    pub path: PathBuf,
    kind: ScratchKind,
}

enum ScratchKind {
    Loop { _backing_file: tempfile::NamedTempFile },
    Zram { number: String },
}

impl ScratchDevice {
    /// Creates a loop device of `size` bytes, which has a request queue.
    pub fn loop_device(size: u64, options: &[&str]) -> io::Result<ScratchDevice> {
        let file = tempfile::Builder::new().tempfile_in("/dev/shm")?;
        file.as_file().set_len(size)?;
        let mut losetup = Command::new("losetup");
        losetup.args(["--find", "--show"]).args(options).arg(file.path());
        let output = losetup.output()?;
        if !output.status.success() {
            return Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()));
        }
        let path = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
        Ok(ScratchDevice { path, kind: ScratchKind::Loop { _backing_file: file } })
    }

    /// Creates a zram device (compressed memory) of `size` bytes, which has no request queue.
    pub fn zram(size: u64) -> io::Result<ScratchDevice> {
        let number = fs::read_to_string("/sys/class/zram-control/hot_add")?.trim().to_owned();
        let path = PathBuf::from(format!("/dev/zram{number}"));
        let disksize = format!("/sys/block/zram{number}/disksize");
        let device = ScratchDevice { path, kind: ScratchKind::Zram { number } };
        fs::write(disksize, size.to_string())?;
        Ok(device)
    }

    pub fn capture_device(&self) -> CaptureDevice {
        let device = fs::metadata(&self.path).map_or(0, |metadata| metadata.rdev());
        let number = DeviceNumber::new(libc::major(device), libc::minor(device));
        CaptureDevice {
            name: self.path.display().to_string(),
            number,
            sectors: WHOLE_DISK,
            bio_based: matches!(self.kind, ScratchKind::Zram { .. }),
            file_systems: vec![CaptureFileSystem { number, kind: Some("ext4".to_owned()) }],
        }
    }

    /// Opens the device for reading and writing past the page cache.
    pub fn open_direct(&self) -> io::Result<File> {
        OpenOptions::new().read(true).write(true).custom_flags(libc::O_DIRECT).open(&self.path)
    }
}

impl Drop for ScratchDevice {
    fn drop(&mut self) {
        let _ = match &self.kind {
            ScratchKind::Loop { .. } => {
                Command::new("losetup").arg("--detach").arg(&self.path).status().map(drop)
            }
            ScratchKind::Zram { number } => fs::write("/sys/class/zram-control/hot_remove", number),
        };
    }
}
