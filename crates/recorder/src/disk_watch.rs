//! Detects that a captured disk has gone away. The probes select disks by device number, which the
//! kernel reuses for the next disk: the I/Os of the new disk must not appear under the old name.

use steadfast_capture::CaptureDevice;
use steadfast_domain::DeviceNumber;
use steadfast_domain::io_event::CapturedDevice;
use steadfast_host::SystemRoots;

#[derive(Debug)]
struct WatchedDisk {
    number: DeviceNumber,
    name: String,
    /// Disk sequence number at the last check; `None` if no disk had this device number.
    sequence: Option<u64>,
    /// Index of its current identity among the devices of the capture.
    device: u16,
}

/// The captured disks, in the order in which the probes number them.
#[derive(Debug)]
pub(crate) struct DiskWatch {
    disks: Vec<WatchedDisk>,
    /// Number of devices in the capture so far, replaced ones included.
    devices: usize,
    /// Replacements not yet taken by the session.
    replaced: Vec<ReplacedDisk>,
    read_sequence: fn(DeviceNumber) -> Option<u64>,
}

/// A disk that took over the device number of another, and the remark about it.
#[derive(Debug)]
pub struct ReplacedDisk {
    /// Disk that has the device number now.
    pub device: CapturedDevice,
    /// Sentence about it for readers of the capture.
    pub remark: String,
}

impl DiskWatch {
    /// Starts with the disks that have the numbers of these devices now.
    pub(crate) fn new(devices: &[CaptureDevice]) -> Self {
        let read = |number| steadfast_host::disk_sequence(number, &SystemRoots::real());
        Self::with_sequences(devices, read)
    }

    fn with_sequences(
        devices: &[CaptureDevice],
        read_sequence: fn(DeviceNumber) -> Option<u64>,
    ) -> Self {
        let disks: Vec<WatchedDisk> = (0u16..)
            .zip(devices)
            .map(|(index, device)| WatchedDisk {
                number: device.number,
                name: device.name.clone(),
                sequence: read_sequence(device.number),
                device: index,
            })
            .collect();
        DiskWatch { devices: disks.len(), disks, replaced: Vec::new(), read_sequence }
    }

    /// Checks whether the disks are still present. A disk that is not gets a new index at the end
    /// of the capture's devices. Must be called after events are taken from the probes and before
    /// these events are labeled, so that no I/O of another disk keeps the old name.
    pub(crate) fn update(&mut self) {
        for disk in &mut self.disks {
            let sequence = (self.read_sequence)(disk.number);
            if sequence == disk.sequence {
                continue;
            }
            disk.sequence = sequence;
            let Ok(device) = u16::try_from(self.devices) else { continue };
            disk.device = device;
            self.devices += 1;
            let state = match sequence {
                Some(sequence) if sequence > 0 => format!("disk sequence {sequence}"),
                Some(_) => "present again".to_owned(),
                None => "absent".to_owned(),
            };
            self.replaced.push(ReplacedDisk {
                device: CapturedDevice {
                    name: format!("{} ({state})", disk.name),
                    ..CapturedDevice::default()
                },
                remark: format!(
                    "{name} went away during the capture. I/Os on device number {} from then on, and \
                     shortly before, are listed as '{name} ({state})'.",
                    disk.number,
                    name = disk.name
                ),
            });
        }
    }

    /// Returns the replacements found since the last call.
    pub(crate) fn take_replaced(&mut self) -> Vec<ReplacedDisk> {
        std::mem::take(&mut self.replaced)
    }

    /// Returns the index among the capture's devices for the probes' index of a disk.
    pub(crate) fn device(&self, index: u16) -> u16 {
        self.disks.get(usize::from(index)).map_or(index, |disk| disk.device)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};
    use steadfast_capture::WHOLE_DISK;

    /// 0 stands for no disk.
    static SEQUENCE: AtomicU64 = AtomicU64::new(7);

    #[test]
    fn another_disk_with_the_same_number_is_another_device() {
        let read = |number: DeviceNumber| match number.minor {
            0 => Some(3),
            _ => Some(SEQUENCE.load(Ordering::Relaxed)).filter(|sequence| *sequence > 0),
        };
        let device = |name: &str, minor| CaptureDevice {
            name: name.to_owned(),
            number: DeviceNumber::new(7, minor),
            sectors: WHOLE_DISK,
            bio_based: false,
            file_systems: Vec::new(),
        };
        let devices = [device("loop0", 0), device("loop4", 4)];
        let mut watch = DiskWatch::with_sequences(&devices, read);
        watch.update();
        assert!(watch.take_replaced().is_empty());
        SEQUENCE.store(0, Ordering::Relaxed);
        watch.update();
        let replaced = watch.take_replaced();
        assert_eq!((replaced.len(), replaced[0].device.name.as_str()), (1, "loop4 (absent)"));
        assert_eq!([0, 1].map(|number| watch.device(number)), [0, 2]);
        SEQUENCE.store(9, Ordering::Relaxed);
        watch.update();
        assert_eq!(watch.take_replaced()[0].device.name, "loop4 (disk sequence 9)");
        assert_eq!((watch.device(0), watch.device(1)), (0, 3));
        watch.update();
        assert!(watch.take_replaced().is_empty());
    }
}
