//! The drives of a guest, and how QEMU is told of them.

/// A drive over empty images.
#[derive(Debug, Clone)]
pub struct Drive {
    /// The serial number; also QEMU's name for the device.
    pub serial: &'static str,
    interface: Interface,
    /// One, or an NVMe drive's namespaces, numbered from 1.
    media: Vec<Medium>,
}

/// What carries the commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Interface {
    Nvme,
    Scsi,
    Sata,
}

/// What holds the blocks.
#[derive(Debug, Clone)]
pub struct Medium {
    mib: u64,
    sector: u32,
    iops: Option<u32>,
    faults: Vec<MediumFault>,
}

/// I/Os that fail with a medium error: all of one direction, or those that
/// touch one sector of 512 bytes.
#[derive(Debug, Clone, Copy)]
struct MediumFault {
    direction: Failing,
    sector: Option<u64>,
}

/// The direction that fails.
#[derive(Debug, Clone, Copy)]
pub enum Failing {
    /// Reads.
    Reads,
    /// Writes.
    Writes,
}

impl Medium {
    /// A faultless one with sectors of 512 bytes.
    pub fn new(mib: u64) -> Self {
        Medium { mib, sector: 512, iops: None, faults: Vec::new() }
    }

    /// With other sectors, in bytes, logical and physical.
    pub fn with_sector(self, sector: u32) -> Self {
        Medium { sector, ..self }
    }

    /// That does so many I/Os per second and no more.
    pub fn capped(self, iops: u32) -> Self {
        Medium { iops: Some(iops), ..self }
    }

    /// With one more fault.
    pub fn failing(mut self, direction: Failing, sector: Option<u64>) -> Self {
        self.faults.push(MediumFault { direction, sector });
        self
    }

    /// The options of `-drive`, with the image's file name.
    fn options(&self, node: &str, image: &str) -> String {
        let mut parts = vec![format!("if=none,id={node},driver=raw,cache=unsafe,discard=unmap")];
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
    /// Error 5 is EIO: QEMU makes a medium error of it.
    fn rule(self, number: usize) -> String {
        let key = format!("file.inject-error.{number}");
        let direction = match self.direction {
            Failing::Reads => "read",
            Failing::Writes => "write",
        };
        let place = self.sector.map(|sector| format!(",{key}.sector={sector}"));
        let place = place.unwrap_or_default();
        format!("{key}.event=none,{key}.iotype={direction},{key}.errno=5{place}")
    }
}

impl Drive {
    /// An NVMe drive of one namespace.
    pub fn nvme(serial: &'static str, medium: Medium) -> Self {
        Drive { serial, interface: Interface::Nvme, media: vec![medium] }
    }

    /// An NVMe drive with one more namespace.
    pub fn and_namespace(mut self, medium: Medium) -> Self {
        self.media.push(medium);
        self
    }

    /// A SCSI disk of vendor LAB, product LABDISK, revision 0042, behind a
    /// controller of its own.
    pub fn scsi(serial: &'static str, medium: Medium) -> Self {
        Drive { serial, interface: Interface::Scsi, media: vec![medium] }
    }

    /// An ATA disk of model LABSATA, firmware 0042.
    pub fn sata(serial: &'static str, medium: Medium) -> Self {
        Drive { serial, interface: Interface::Sata, media: vec![medium] }
    }

    /// Each image's file name and size in MiB.
    pub fn images(&self) -> impl Iterator<Item = (String, u64)> {
        self.media.iter().zip(1..).map(|(medium, number)| (self.image(number), medium.mib))
    }

    fn image(&self, number: u32) -> String {
        format!("{}-{number}.img", self.serial)
    }

    /// QEMU's arguments.
    pub fn arguments(&self) -> Vec<String> {
        let serial = self.serial;
        let mut devices: Vec<String> = match self.interface {
            Interface::Nvme => vec![format!("nvme,id={serial},serial={serial}")],
            Interface::Scsi => vec![format!("pvscsi,id={serial}")],
            Interface::Sata => Vec::new(),
        };
        devices.extend(self.media.iter().zip(1..).map(|(m, number)| self.disk(m, number)));
        let media = self.media.iter().zip(1..).map(|(medium, number)| {
            ["-drive".to_owned(), medium.options(&self.node(number), &self.image(number))]
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
            Interface::Nvme => ("nvme-ns", format!("bus={serial},nsid={number}")),
            Interface::Scsi => (
                "scsi-hd",
                format!("bus={serial}.0,serial={serial},vendor=LAB,product=LABDISK,ver=0042"),
            ),
            Interface::Sata => {
                ("ide-hd", format!("bus=ide.0,serial={serial},model=LABSATA,ver=0042"))
            }
        };
        format!(
            "{kind},drive={},{identity},logical_block_size={sector},physical_block_size={sector}",
            self.node(number)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drive_in_qemus_words() {
        let medium = Medium::new(64).with_sector(4096).failing(Failing::Reads, Some(7));
        let drive = Drive::nvme("A1", medium).and_namespace(Medium::new(32).capped(9));
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
