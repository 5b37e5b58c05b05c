//! A [`Proof`]: facts that the kernel reports about a device when a run opens it, so that a resumed
//! run writes to exactly this device and to no other.
//!
//! A serial number or a world-wide identifier identifies a drive permanently. Anything else needs
//! more: a path can lead to another file, a loop device can be attached to another file, and a disk
//! without a serial number is known only while it remains attached. A device whose identity is not
//! proven counts as a different one.

use crate::device::{Device, Transport};
use serde::{Deserialize, Serialize};

/// Facts that, together with identity and size, prove that a device is the one that a user
/// confirmed. Each is `None` or empty if it does not apply or the kernel does not report it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct Proof {
    /// Installed system: `/etc/machine-id`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// Boot of the machine: `/proc/sys/kernel/random/boot_id`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boot: Option<String>,
    /// Device number of a block device, such as `259:0`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<String>,
    /// Sequence number of the disk: the kernel assigns one to every disk that is attached, and
    /// never reuses it within a boot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sequence: Option<u64>,
    /// First sector of a partition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<u64>,
    /// File: the target itself, or the one behind a loop device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<FileProof>,
    /// Part of the file that a loop device shows: first byte and length in bytes (0: to the end of
    /// the file).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<(u64, u64)>,
    /// Nonce of a scratch file's mark; `None` if another program wrote to the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mark: Option<String>,
    /// Disks from which a mapped device is built.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub below: Vec<String>,
}

/// Identity of a file, independent of the path that leads to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FileProof {
    /// Device number of its file system, such as `8:1`.
    pub device: String,
    /// Inode number.
    pub inode: u64,
    /// Creation time, in nanoseconds since 1970, because inode numbers are reused; `None` if the
    /// file system does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub born: Option<u64>,
}

/// Identity of a run directory. A directory that replaced another one belongs to another run, which
/// was confirmed for another device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct DirectoryProof {
    /// Path without symbolic links.
    pub path: String,
    /// File system, inode and creation time.
    pub file: FileProof,
}

impl DirectoryProof {
    /// Returns the reasons why `now` is not the directory in which the run was last opened; empty
    /// if it is.
    pub fn differences(&self, now: &DirectoryProof) -> Vec<String> {
        let mut all = Vec::new();
        if self.path != now.path {
            all.push(format!(
                "the run directory was {} when the run last wrote to its device",
                self.path
            ));
        }
        if (self.file.inode, self.file.born) != (now.file.inode, now.file.born) {
            all.push("the run directory is a copy, or took the place of another".into());
        }
        all
    }
}

impl Proof {
    /// Returns the facts about `device` that differ from `now` or cannot be proven; empty if both
    /// describe the same device.
    pub fn differences(&self, now: &Proof, device: &Device) -> Vec<String> {
        let mut all: Vec<String> = self.machine_difference(now).into_iter().collect();
        match device.transport {
            Transport::Simulated => return Vec::new(),
            Transport::File => all.extend(self.file_differences(now)),
            Transport::Loop => all.extend(self.loop_differences(now)),
            _ => all.extend(self.disk_differences(now, device)),
        }
        if self.start != now.start {
            all.push("the partition begins at another sector".into());
        }
        all
    }

    /// Returns true if two proofs taken at nearly the same time describe the same device. Ignores
    /// the mark of a scratch file, which may be renewed in between.
    pub fn is_same_device(&self, now: &Proof) -> bool {
        let unmarked = |proof: &Proof| Proof { mark: None, ..proof.clone() };
        unmarked(self) == unmarked(now)
    }

    fn is_same_boot(&self, now: &Proof) -> bool {
        self.boot.is_some() && self.boot == now.boot
    }

    /// Returns true if the disk was attached once and has not been detached since.
    fn is_still_attached(&self, now: &Proof) -> bool {
        self.sequence.is_some()
            && self.sequence == now.sequence
            && self.number == now.number
            && self.is_same_boot(now)
    }

    fn machine_difference(&self, now: &Proof) -> Option<String> {
        match (&self.machine, &now.machine) {
            (Some(then), Some(now)) if then == now => None,
            (Some(_), Some(_)) => Some("the run began on another machine (its machine-id)".into()),
            _ if self.is_same_boot(now) => None,
            _ => Some("no machine-id shows that the run began on this machine".into()),
        }
    }

    fn file_differences(&self, now: &Proof) -> Vec<String> {
        let mut all = self.inode_differences(now, self.mark.is_some() && self.mark == now.mark);
        if self.mark.is_some() && self.mark != now.mark {
            all.push("the file's scratch mark is gone, or the file was written to since".into());
        }
        all
    }

    /// Returns the differences between the files. If `is_identified`, something other than the inode
    /// identifies the file, so an unknown creation time is accepted.
    fn inode_differences(&self, now: &Proof, is_identified: bool) -> Vec<String> {
        let (Some(then), Some(file)) = (&self.file, &now.file) else {
            return vec!["the kernel does not report which file it is".into()];
        };
        let mut all = Vec::new();
        if then.inode != file.inode {
            all.push(format!("it is another file (inode {}, was {})", file.inode, then.inode));
        } else if then.born.is_some() && file.born.is_some() && then.born != file.born {
            all.push("it is another file (created at another time)".into());
        } else if then.born != file.born || (then.born.is_none() && !is_identified) {
            all.push("the file system does not report when the file was created".into());
        }
        // File systems may get other device numbers after a restart.
        if then.device != file.device && self.is_same_boot(now) {
            all.push(format!(
                "the file is on another file system ({}, was {})",
                file.device, then.device
            ));
        }
        all
    }

    fn loop_differences(&self, now: &Proof) -> Vec<String> {
        let attached = self.is_still_attached(now);
        let mut all = match (&self.file, &now.file) {
            (None, None) if attached => Vec::new(),
            _ => self.inode_differences(now, attached),
        };
        if !all.is_empty() {
            all.insert(0, "the loop device is attached to something else".into());
        }
        if self.window != now.window {
            all.push("the loop device shows another part of its file".into());
        }
        all
    }

    fn disk_differences(&self, now: &Proof, device: &Device) -> Vec<String> {
        let mut all = Vec::new();
        if self.below != now.below {
            all.push("the device is built from other disks".into());
        }
        // Resetting a zram device empties it but leaves it attached.
        let is_attached = self.is_still_attached(now) && device.transport != Transport::Zram;
        if device.has_identity() || is_attached {
            return all;
        }
        let anonymous = "the disk has no serial number and no world-wide identifier, and";
        all.push(if !self.is_same_boot(now) {
            format!("{anonymous} the machine was restarted")
        } else if self.number != now.number {
            format!("{anonymous} its device number changed")
        } else if device.transport == Transport::Zram {
            "the kernel does not report whether the zram device was reset".into()
        } else if self.sequence.is_none() || now.sequence.is_none() {
            format!("{anonymous} this kernel does not report whether it stayed attached")
        } else {
            format!("{anonymous} it was attached again")
        });
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Bytes;

    fn device(transport: Transport, serial: Option<&str>) -> Device {
        Device {
            name: "x".into(),
            serial: serial.map(str::to_owned),
            ..Device::new("/dev/x", transport, Bytes::gib(1))
        }
    }

    fn proof() -> Proof {
        Proof {
            machine: Some("m".into()),
            boot: Some("b".into()),
            number: Some("7:0".into()),
            sequence: Some(9),
            start: None,
            file: Some(FileProof { device: "8:1".into(), inode: 12, born: Some(5) }),
            window: Some((0, 0)),
            mark: Some("nonce".into()),
            below: Vec::new(),
        }
    }

    /// Every way in which a device can differ, and the devices whose identity it puts in doubt.
    #[test]
    fn every_difference_is_reported() {
        let file = |change: fn(&mut FileProof)| {
            move |proof: &mut Proof| change(proof.file.as_mut().unwrap())
        };
        type Change = Box<dyn Fn(&mut Proof)>;
        // The change, and whether it makes a file, a loop device, a disk without and a disk with a
        // serial number a different device.
        let cases: Vec<(&str, Change, [bool; 4])> = vec![
            ("nothing", Box::new(|_| ()), [false; 4]),
            ("machine", Box::new(|p| p.machine = Some("n".into())), [true; 4]),
            ("no machine-id, same boot", Box::new(|p| p.machine = None), [false; 4]),
            (
                "no machine-id, other boot",
                Box::new(|p| (p.machine, p.boot) = (None, Some("c".into()))),
                [true; 4],
            ),
            ("boot", Box::new(|p| p.boot = Some("c".into())), [false, false, true, false]),
            ("unknown boot", Box::new(|p| p.boot = None), [false, false, true, false]),
            ("number", Box::new(|p| p.number = Some("7:1".into())), [false, false, true, false]),
            ("attached again", Box::new(|p| p.sequence = Some(10)), [false, false, true, false]),
            ("old kernel", Box::new(|p| p.sequence = None), [false, false, true, false]),
            ("inode", Box::new(file(|f| f.inode = 13)), [true, true, false, false]),
            ("created", Box::new(file(|f| f.born = Some(6))), [true, true, false, false]),
            ("creation unknown", Box::new(file(|f| f.born = None)), [true, true, false, false]),
            (
                "file system",
                Box::new(file(|f| f.device = "8:2".into())),
                [true, true, false, false],
            ),
            ("window", Box::new(|p| p.window = Some((512, 0))), [false, true, false, false]),
            ("mark", Box::new(|p| p.mark = None), [true, false, false, false]),
            ("no file", Box::new(|p| p.file = None), [true, true, false, false]),
            ("partition", Box::new(|p| p.start = Some(2048)), [true; 4]),
            ("below", Box::new(|p| p.below = vec!["y".into()]), [false, false, true, true]),
        ];
        let devices = [
            device(Transport::File, None),
            device(Transport::Loop, None),
            device(Transport::Virtio, None),
            device(Transport::Nvme, Some("S1")),
        ];
        for (name, change, expected) in &cases {
            let mut now = proof();
            change(&mut now);
            for (device, expected) in devices.iter().zip(expected) {
                let found = proof().differences(&now, device);
                assert_eq!(!found.is_empty(), *expected, "{name}, {}: {found:?}", device.transport);
            }
        }
    }

    /// After a restart a file system may have another device number; the file is identified by its
    /// inode and creation time.
    #[test]
    fn device_numbers_of_file_systems_may_change_after_a_restart() {
        let mut now = proof();
        now.boot = Some("c".into());
        now.sequence = Some(1);
        now.file.as_mut().unwrap().device = "8:17".into();
        for transport in [Transport::File, Transport::Loop] {
            assert!(proof().differences(&now, &device(transport, None)).is_empty());
        }
    }

    /// Without a creation time, a loop device is identified while it remains attached, and a file
    /// by its mark.
    #[test]
    fn a_file_without_a_creation_time_needs_other_proof() {
        let mut then = proof();
        then.file.as_mut().unwrap().born = None;
        let mut now = then.clone();
        for transport in [Transport::File, Transport::Loop] {
            assert!(then.differences(&now, &device(transport, None)).is_empty());
        }
        (now.sequence, now.mark) = (Some(10), None);
        then.mark = None;
        for transport in [Transport::File, Transport::Loop] {
            assert!(!then.differences(&now, &device(transport.clone(), None)).is_empty());
        }
    }

    #[test]
    fn a_zram_device_is_never_proven() {
        let zram = device(Transport::Zram, None);
        assert_eq!(proof().differences(&proof(), &zram).len(), 1);
    }

    #[test]
    fn a_directory_that_replaced_the_run_directory_differs() {
        let file = |inode, born| FileProof { device: "8:1".into(), inode, born };
        let directory = |path: &str, file| DirectoryProof { path: path.into(), file };
        let own = directory("/runs/a", file(7, Some(5)));
        let differs = |now: DirectoryProof| !own.differences(&now).is_empty();
        assert!(!differs(own.clone()));
        // File systems may get other device numbers after a restart.
        let renumbered = FileProof { device: "8:17".into(), ..file(7, Some(5)) };
        assert!(!differs(directory("/runs/a", renumbered)));
        for (path, file) in [
            ("/runs/b", file(7, Some(5))),
            ("/runs/a", file(8, Some(5))),
            ("/runs/a", file(7, Some(6))),
            ("/runs/a", file(7, None)),
        ] {
            assert!(differs(directory(path, file.clone())), "{path} {file:?}");
        }
    }

    #[test]
    fn a_proof_is_stored_without_unknown_facts() {
        assert_eq!(serde_json::to_string(&Proof::default()).unwrap(), "{}");
        let text = serde_json::to_string(&proof()).unwrap();
        assert_eq!(serde_json::from_str::<Proof>(&text).unwrap(), proof());
    }
}
