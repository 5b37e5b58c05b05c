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
    power_loss: Option<PowerLossBehavior>,
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
    Reads,
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
            power_loss: None,
            is_read_only: false,
            zone_mib: None,
        }
    }

    /// Sets the logical and physical sector size, in bytes.
    pub fn with_sector(self, sector: u32) -> Self {
        Medium { sector, ..self }
    }

    /// Limits the medium to this many I/Os per second.
    pub fn with_iops_limit(self, iops: u32) -> Self {
        Medium { iops: Some(iops), ..self }
    }

    pub fn with_fault(mut self, direction: FaultDirection, sector: Option<u64>) -> Self {
        self.faults.push(MediumFault { direction, sector });
        self
    }

    /// Serves the medium from the lab's memory; it loses content when its power is cut.
    pub fn with_power_loss(self, behavior: PowerLossBehavior) -> Self {
        Medium { power_loss: Some(behavior), ..self }
    }

    /// Protects the medium against writes.
    pub fn read_only(self) -> Self {
        Medium { is_read_only: true, ..self }
    }

    /// Divides the medium into zones that are written in order.
    pub fn zoned(self, zone_mib: u64) -> Self {
        Medium { zone_mib: Some(zone_mib), ..self }
    }

    /// Returns the options of `-drive` for this image file, or for the socket of the drive if the
    /// lab serves it.
    fn options(&self, drive_id: &str, image: &str, serial: &str) -> String {
        let cache = match self.power_loss {
            Some(_) => "cache=writeback",
            None => "cache=unsafe,discard=unmap",
        };
        let mut parts = vec![format!("if=none,id={drive_id},driver=raw,{cache}")];
        parts.extend(self.is_read_only.then(|| "readonly=on".to_owned()));
        parts.extend((!self.faults.is_empty()).then(|| "file.driver=blkdebug".to_owned()));
        let key = if self.faults.is_empty() { "file" } else { "file.image" };
        parts.push(match self.power_loss {
            Some(_) => {
                format!("{key}.driver=nbd,{key}.server.type=unix,{key}.server.path={serial}.sock")
            }
            None => format!("{key}.driver=file,{key}.filename={image}"),
        });
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
        let sector = self.sector.map(|s| format!(",{key}.sector={s}")).unwrap_or_default();
        format!("{key}.event=none,{key}.iotype={direction},{key}.errno=5{sector}")
    }
}

impl GuestDrive {
    fn new(serial: &'static str, interface: DriveInterface, medium: Medium) -> Self {
        GuestDrive { serial, interface, media: vec![medium], has_two_paths: false }
    }

    /// Returns an NVMe drive with one namespace.
    pub fn nvme(serial: &'static str, medium: Medium) -> Self {
        GuestDrive::new(serial, DriveInterface::Nvme, medium)
    }

    /// # Panics
    /// Panics if a namespace loses content without power: the lab serves one medium per drive.
    pub fn with_namespace(mut self, medium: Medium) -> Self {
        self.media.push(medium);
        let is_served = self.media.iter().any(|medium| medium.power_loss.is_some());
        assert!(!is_served, "{}: a drive that the lab serves has one namespace", self.serial);
        self
    }

    /// Returns a SCSI disk of vendor LAB, product LABDISK, revision 0042, behind a controller of
    /// its own.
    pub fn scsi(serial: &'static str, medium: Medium) -> Self {
        GuestDrive::new(serial, DriveInterface::Scsi, medium)
    }

    /// Returns an ATA disk of model LABSATA, firmware 0042.
    pub fn sata(serial: &'static str, medium: Medium) -> Self {
        GuestDrive::new(serial, DriveInterface::Sata, medium)
    }

    /// Adds a controller that leads to the same namespaces.
    pub fn with_second_path(self) -> Self {
        GuestDrive { has_two_paths: true, ..self }
    }

    /// Returns file name and size in MiB of each image.
    pub fn images(&self) -> impl Iterator<Item = (String, u64)> {
        let media = self.media.iter().zip(1..).filter(|(medium, _)| medium.power_loss.is_none());
        media.map(|(medium, number)| (self.image(number), medium.mib))
    }

    /// Returns the drive that the lab itself serves, if it is one.
    pub fn lossy(&self) -> Option<LossyDrive> {
        let medium = self.media.first()?;
        Some(LossyDrive::new(medium.power_loss?, (medium.mib << 20) as usize))
    }

    fn image(&self, number: u32) -> String {
        format!("{}-{number}.img", self.serial)
    }

    pub fn qemu_arguments(&self) -> Vec<String> {
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
        devices
            .extend(self.media.iter().zip(1..).map(|(m, number)| self.device_argument(m, number)));
        let media = self.media.iter().zip(1..).map(|(medium, number)| {
            [
                "-drive".to_owned(),
                medium.options(&self.drive_id(number), &self.image(number), serial),
            ]
        });
        let devices = devices.into_iter().map(|device| ["-device".to_owned(), device]);
        media.chain(devices).flatten().collect()
    }

    fn drive_id(&self, number: u32) -> String {
        format!("{}-{number}", self.serial)
    }

    fn device_argument(&self, medium: &Medium, number: u32) -> String {
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
            self.drive_id(number),
            zones.unwrap_or_default()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn qemu_arguments_of_a_drive_with_two_namespaces() {
        let medium = Medium::new(64).with_sector(4096).with_fault(FaultDirection::Reads, Some(7));
        let drive =
            GuestDrive::nvme("A1", medium).with_namespace(Medium::new(32).with_iops_limit(9));
        assert_eq!(
            drive.qemu_arguments(),
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

    /// A drive that the lab serves has every option that one on an image file has.
    #[test]
    fn a_served_medium_drops_none_of_its_options() {
        let with_every_option = Medium::new(64)
            .read_only()
            .with_iops_limit(9)
            .with_fault(FaultDirection::Writes, None)
            .with_sector(4096)
            .zoned(4);
        let on_image = GuestDrive::nvme("A1", with_every_option.clone()).qemu_arguments();
        let behavior = PowerLossBehavior::Honest;
        let served = GuestDrive::nvme("A1", with_every_option.with_power_loss(behavior));
        let image = "cache=unsafe,discard=unmap,readonly=on,file.driver=blkdebug,\
                     file.image.driver=file,file.image.filename=A1-1.img,";
        let socket = "cache=writeback,readonly=on,file.driver=blkdebug,file.image.driver=nbd,\
                      file.image.server.type=unix,file.image.server.path=A1.sock,";
        let expected: Vec<String> =
            on_image.iter().map(|argument| argument.replace(image, socket)).collect();
        assert_ne!(on_image, expected);
        assert_eq!(served.qemu_arguments(), expected);
        assert!(served.lossy().is_some() && served.images().next().is_none());
    }

    #[test]
    #[should_panic(expected = "has one namespace")]
    fn a_served_drive_has_one_namespace() {
        let served = Medium::new(64).with_power_loss(PowerLossBehavior::Honest);
        let _ = GuestDrive::nvme("A1", Medium::new(64)).with_namespace(served);
    }
}
