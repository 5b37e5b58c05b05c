//! [`DiskWatch`]: notices when a captured disk goes away. The probes go by device numbers, which
//! the kernel gives to the next disk: its I/Os must not stand under the name of the one before.

use steadfast_domain::io_event::CapturedDevice;
use steadfast_host::Roots;

/// A disk that is captured.
#[derive(Debug)]
struct Watched {
    number: (u32, u32),
    name: String,
    /// The sequence number of the disk that was there at the last look; `None` if there was none.
    sequence: Option<u64>,
    /// The place of its present identity among the devices of the capture.
    device: u16,
}

/// The captured disks, by the numbers that the probes know them by.
#[derive(Debug)]
pub(crate) struct DiskWatch {
    disks: Vec<Watched>,
    /// Devices of the capture so far.
    devices: usize,
    /// Those that were found since they were last taken.
    replaced: Vec<Replaced>,
    read: fn((u32, u32)) -> Option<u64>,
}

/// What is known of a disk that took the number of another one.
#[derive(Debug)]
pub(crate) struct Replaced {
    pub(crate) device: CapturedDevice,
    pub(crate) remark: String,
}

impl DiskWatch {
    /// Begins with the disks that have these numbers and names now.
    pub(crate) fn new(disks: impl Iterator<Item = ((u32, u32), String)>) -> Self {
        Self::reading(disks, |number| steadfast_host::disk_sequence(number, &Roots::real()))
    }

    fn reading(
        disks: impl Iterator<Item = ((u32, u32), String)>,
        read: fn((u32, u32)) -> Option<u64>,
    ) -> Self {
        let watched: Vec<Watched> = disks
            .zip(0u16..)
            .map(|((number, name), device)| Watched {
                number,
                name,
                sequence: read(number),
                device,
            })
            .collect();
        DiskWatch { devices: watched.len(), disks: watched, replaced: Vec::new(), read }
    }

    /// Looks whether the disks are still there. One that is not has a new place at the end of the
    /// capture's devices from now on. What was taken from the probes before is looked at after
    /// it, so that no I/O of another disk keeps the name. Returns whether one was replaced.
    pub(crate) fn look(&mut self) -> bool {
        let before = self.devices;
        for disk in &mut self.disks {
            let sequence = (self.read)(disk.number);
            if sequence == disk.sequence {
                continue;
            }
            disk.sequence = sequence;
            let Ok(device) = u16::try_from(self.devices) else { continue };
            disk.device = device;
            self.devices += 1;
            let (major, minor) = disk.number;
            let now = match sequence {
                Some(sequence) if sequence > 0 => format!("disk sequence {sequence}"),
                Some(_) => "present again".to_owned(),
                None => "absent".to_owned(),
            };
            self.replaced.push(Replaced {
                device: CapturedDevice {
                    name: format!("{} ({now})", disk.name),
                    ..CapturedDevice::default()
                },
                remark: format!(
                    "{} went away during the capture. What was done on device number \
                     {major}:{minor} from then on, and shortly before, is listed as '{} ({now})'.",
                    disk.name, disk.name
                ),
            });
        }
        self.devices > before
    }

    /// Takes the devices that were found since the last call.
    pub(crate) fn take_replaced(&mut self) -> Vec<Replaced> {
        std::mem::take(&mut self.replaced)
    }

    /// The places of all disks, by what the probes call them.
    pub(crate) fn places(&self) -> Vec<u16> {
        self.disks.iter().map(|disk| disk.device).collect()
    }

    /// The place among the capture's devices of what the probes call a device.
    pub(crate) fn device(&self, number: u16) -> u16 {
        self.disks.get(usize::from(number)).map_or(number, |disk| disk.device)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// 0 for no disk.
    static SEQUENCE: AtomicU64 = AtomicU64::new(7);

    #[test]
    fn another_disk_of_the_number_has_another_identity() {
        let read = |(_, minor): (u32, u32)| match minor {
            0 => Some(3),
            _ => Some(SEQUENCE.load(Ordering::Relaxed)).filter(|sequence| *sequence > 0),
        };
        let disks = [((7, 0), "loop0".to_owned()), ((7, 4), "loop4".to_owned())];
        let mut watch = DiskWatch::reading(disks.into_iter(), read);
        watch.look();
        assert!(watch.take_replaced().is_empty());
        SEQUENCE.store(0, Ordering::Relaxed);
        watch.look();
        let gone = watch.take_replaced();
        assert_eq!((gone.len(), gone[0].device.name.as_str()), (1, "loop4 (absent)"));
        assert_eq!([0, 1].map(|number| watch.device(number)), [0, 2]);
        SEQUENCE.store(9, Ordering::Relaxed);
        watch.look();
        let other = watch.take_replaced();
        assert_eq!(other[0].device.name, "loop4 (disk sequence 9)");
        assert_eq!((watch.device(0), watch.device(1)), (0, 3));
        watch.look();
        assert!(watch.take_replaced().is_empty());
    }
}
