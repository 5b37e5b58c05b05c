//! Drives of a guest and their QEMU arguments.

use crate::lossy_drive::LossyDrive;
use steadfast_domain::power_cut::PowerLossBehavior;

/// A drive over empty images.
#[derive(Debug, Clone)]
pub struct GuestDrive {
    /// Serial number; also QEMU's id for the device.
    pub serial: &'static str,
    interface: DriveInterface,
    /// One medium, or the namespaces of an NVMe drive, numbered from 1.
    media: Vec<Medium>,
    /// True if a second controller leads to the same namespaces.
    has_two_paths: bool,
}

/// Command set and transport of a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DriveInterface {
    Nvme,
    Scsi,
    Sata,
}

/// The storage behind a drive or namespace.
#[derive(Debug, Clone)]
pub struct Medium {
    mib: u64,
    sector: u32,
    iops: Option<u32>,
    faults: Vec<MediumFault>,
    loses: Option<PowerLossBehavior>,
    is_read_only: bool,
    zone_mib: Option<u64>,
}

/// An injected medium error: all I/Os of one direction, or those that touch one sector of 512
/// bytes.
#[derive(Debug, Clone, Copy)]
struct MediumFault {
    direction: FaultDirection,
    sector: Option<u64>,
}

/// Direction of the failing I/Os.
#[derive(Debug, Clone, Copy)]
pub enum FaultDirection {
    /// Reads.
    Reads,
    /// Writes.
    Writes,
}

impl Medium {
    /// Returns a faultless medium with sectors of 512 bytes.
    pub fn new(mib: u64) -> Self {
        Medium {
            mib,
            sector: 512,
            iops: None,
            faults: Vec::new(),
            loses: None,
            is_read_only: false,
            zone_mib: None,
        }
    }

    /// Sets the logical and physical sector size, in bytes.
    pub fn with_sector(self, sector: u32) -> Self {
        Medium { sector, ..self }
    }

    /// Limits the medium to this many I/Os per second.
    pub fn capped(self, iops: u32) -> Self {
        Medium { iops: Some(iops), ..self }
    }

    /// Adds a fault.
    pub fn failing(mut self, direction: FaultDirection, sector: Option<u64>) -> Self {
        self.faults.push(MediumFault { direction, sector });
        self
    }

    /// Serves the medium from the lab's memory; it loses content when its power is cut.
    pub fn losing(self, behavior: PowerLossBehavior) -> Self {
        Medium { loses: Some(behavior), ..self }
    }

    /// Protects the medium against writes.
    pub fn read_only(self) -> Self {
        Medium { is_read_only: true, ..self }
    }

    /// Divides the medium into zones that are written in order.
    pub fn zoned(self, zone_mib: u64) -> Self {
        Medium { zone_mib: Some(zone_mib), ..self }
    }

    /// Returns the options of `-drive` for this image file.
    fn options(&self, node: &str, image: &str, serial: &str) -> String {
        if self.loses.is_some() {
            return format!(
                "if=none,id={node},driver=raw,cache=writeback,file.driver=nbd,\
                 file.server.type=unix,file.server.path={serial}.sock"
            );
        }
        let mut parts = vec![format!("if=none,id={node},driver=raw,cache=unsafe,discard=unmap")];
        parts.extend(self.is_read_only.then(|| "readonly=on".to_owned()));
        if self.faults.is_empty() {
            parts.push(format!("file.driver=file,file.filename={image}"));
        } else {
            parts.push("file.driver=blkdebug,file.image.driver=file".to_owned());
            parts.push(format!("file.image.filename={image}"));
        }
        parts.extend(self.iops.map(|iops| format!("throttling.iops-total={iops}")));
        parts.extend(self.faults.iter().enumerate().map(|(n, fault)| fault.rule(n)));
        parts.join(",")
    }
}

impl MediumFault {
    /// Returns the options of a blkdebug rule. Errno 5 is EIO, which QEMU reports as a medium
    /// error.
    fn rule(self, number: usize) -> String {
        let key = format!("file.inject-error.{number}");
        let direction = match self.direction {
            FaultDirection::Reads => "read",
            FaultDirection::Writes => "write",
        };
        let place = self.sector.map(|sector| format!(",{key}.sector={sector}"));
        let place = place.unwrap_or_default();
        format!("{key}.event=none,{key}.iotype={direction},{key}.errno=5{place}")
    }
}

impl GuestDrive {
    /// Returns an NVMe drive with one namespace.
    pub fn nvme(serial: &'static str, medium: Medium) -> Self {
        GuestDrive {
            serial,
            interface: DriveInterface::Nvme,
            media: vec![medium],
            has_two_paths: false,
        }
    }

    /// Adds a namespace.
    pub fn and_namespace(mut self, medium: Medium) -> Self {
        self.media.push(medium);
        self
    }

    /// Returns a SCSI disk of vendor LAB, product LABDISK, revision 0042, behind a controller of
    /// its own.
    pub fn scsi(serial: &'static str, medium: Medium) -> Self {
        GuestDrive {
            serial,
            interface: DriveInterface::Scsi,
            media: vec![medium],
            has_two_paths: false,
        }
    }

    /// Returns an ATA disk of model LABSATA, firmware 0042.
    pub fn sata(serial: &'static str, medium: Medium) -> Self {
        GuestDrive {
            serial,
            interface: DriveInterface::Sata,
            media: vec![medium],
            has_two_paths: false,
        }
    }

    /// Adds a controller that leads to the same namespaces.
    pub fn and_path(self) -> Self {
        GuestDrive { has_two_paths: true, ..self }
    }

    /// Returns file name and size in MiB of each image.
    pub fn images(&self) -> impl Iterator<Item = (String, u64)> {
        let media = self.media.iter().zip(1..).filter(|(medium, _)| medium.loses.is_none());
        media.map(|(medium, number)| (self.image(number), medium.mib))
    }

    /// Returns the drive that the lab itself serves, if it is one.
    pub fn lossy(&self) -> Option<LossyDrive> {
        let medium = self.media.first()?;
        Some(LossyDrive::new(medium.loses?, (medium.mib << 20) as usize))
    }

    fn image(&self, number: u32) -> String {
        format!("{}-{number}.img", self.serial)
    }

    /// Returns the arguments for QEMU.
    pub fn arguments(&self) -> Vec<String> {
        let serial = self.serial;
        let mut devices: Vec<String> = match self.interface {
            DriveInterface::Nvme if self.has_two_paths => vec![
                format!("nvme-subsys,id={serial}-subsystem,nqn={serial}"),
                format!("nvme,id={serial},serial={serial},subsys={serial}-subsystem"),
                format!("nvme,id={serial}-second,serial={serial},subsys={serial}-subsystem"),
            ],
            DriveInterface::Nvme => vec![format!("nvme,id={serial},serial={serial}")],
            DriveInterface::Scsi => vec![format!("pvscsi,id={serial}")],
            DriveInterface::Sata => Vec::new(),
        };
        devices.extend(self.media.iter().zip(1..).map(|(m, number)| self.disk(m, number)));
        let media = self.media.iter().zip(1..).map(|(medium, number)| {
            ["-drive".to_owned(), medium.options(&self.node(number), &self.image(number), serial)]
        });
        let devices = devices.into_iter().map(|device| ["-device".to_owned(), device]);
        media.chain(devices).flatten().collect()
    }

    fn node(&self, number: u32) -> String {
        format!("{}-{number}", self.serial)
    }

    fn disk(&self, medium: &Medium, number: u32) -> String {
        let (serial, sector) = (self.serial, medium.sector);
        let (kind, identity) = match self.interface {
            DriveInterface::Nvme => ("nvme-ns", format!("bus={serial},nsid={number}")),
            DriveInterface::Scsi => (
                "scsi-hd",
                format!("bus={serial}.0,serial={serial},vendor=LAB,product=LABDISK,ver=0042"),
            ),
            DriveInterface::Sata => {
                ("ide-hd", format!("bus=ide.0,serial={serial},model=LABSATA,ver=0042"))
            }
        };
        let zones = medium.zone_mib.map(|mib| format!(",zoned=on,zoned.zone_size={mib}M"));
        format!(
            "{kind},drive={},{identity}{},logical_block_size={sector},physical_block_size={sector}",
            self.node(number),
            zones.unwrap_or_default()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drive_in_qemus_words() {
        let medium = Medium::new(64).with_sector(4096).failing(FaultDirection::Reads, Some(7));
        let drive = GuestDrive::nvme("A1", medium).and_namespace(Medium::new(32).capped(9));
        assert_eq!(
            drive.arguments(),
            [
                "-drive",
                "if=none,id=A1-1,driver=raw,cache=unsafe,discard=unmap,file.driver=blkdebug,\
                 file.image.driver=file,file.image.filename=A1-1.img,\
                 file.inject-error.0.event=none,file.inject-error.0.iotype=read,\
                 file.inject-error.0.errno=5,file.inject-error.0.sector=7",
                "-drive",
                "if=none,id=A1-2,driver=raw,cache=unsafe,discard=unmap,file.driver=file,\
                 file.filename=A1-2.img,throttling.iops-total=9",
                "-device",
                "nvme,id=A1,serial=A1",
                "-device",
                "nvme-ns,drive=A1-1,bus=A1,nsid=1,logical_block_size=4096,\
                 physical_block_size=4096",
                "-device",
                "nvme-ns,drive=A1-2,bus=A1,nsid=2,logical_block_size=512,physical_block_size=512",
            ]
        );
        let images: Vec<_> = drive.images().collect();
        assert_eq!(images, [("A1-1.img".to_owned(), 64), ("A1-2.img".to_owned(), 32)]);
    }
}
