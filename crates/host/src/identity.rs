//! Identity of a device: model, serial number, firmware, identifiers, geometry.
//!
//! sysfs comes first because it needs neither privileges nor a tool; the udev database and the
//! links in `/dev/disk/by-id` only fill gaps.
//!
//! A serial number identifies a drive. If its controller has more than one namespace, `-n2` is
//! appended, and for a partition `-part3`, as udev does: the text that a user types to confirm
//! then identifies exactly what will be overwritten, and a resumed run cannot confuse two
//! namespaces or partitions.

use crate::backing::FileId;
use crate::device_uses::{self, DeviceUses};
use crate::disk_array;
use crate::error::HostError;
use crate::pinned_path::PinnedPath;
use crate::sysfs_node::{SysfsNode, ata_port, controllers};
use crate::system_roots::{SystemRoots, entries, file_name, is_numbered, is_padding, read_text};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use steadfast_domain::{Bytes, Device, Transport, WriteCache, ZoneModel};

/// Sector size in bytes assumed for a file whose file system reports none.
const FILE_SECTOR: u32 = 512;

/// Returns every testable block device, ordered by name. Excludes partitions, hidden devices,
/// devices of size 0, RAM disks, and optical and floppy drives.
///
/// # Errors
/// sysfs cannot be read.
pub fn devices(roots: &SystemRoots) -> Result<Vec<Device>, HostError> {
    let directory = roots.sys.join("block");
    fs::read_dir(&directory).map_err(|e| HostError::io("list devices", &directory, e))?;
    Ok(SysfsNode::all(roots)
        .iter()
        .filter(|node| is_testable(node))
        .map(|node| describe(node, &node.path(roots), roots))
        .collect())
}

fn is_testable(node: &SysfsNode) -> bool {
    let is_memory_or_optical = ["ram", "sr", "fd"].iter().any(|kind| is_numbered(&node.name, kind));
    // The kernel hides the individual paths of a multipath NVMe namespace.
    !is_memory_or_optical && !node.is_hidden() && node.capacity().0 > 0
}

/// Returns the facts of a block device (given by its node or a link to it; a partition is
/// allowed) or of a regular file.
///
/// # Errors
/// The path does not exist, is neither a block device nor a regular file, or is a device that
/// sysfs does not list.
pub fn inspect(path: &Path, roots: &SystemRoots) -> Result<Device, HostError> {
    inspect_anchored(&PinnedPath::at(path)?, path, roots)
}

/// Returns the facts of the anchored device or file, under the path that the user gave.
pub(crate) fn inspect_anchored(
    anchor: &PinnedPath,
    path: &Path,
    roots: &SystemRoots,
) -> Result<Device, HostError> {
    if anchor.metadata().is_file() {
        return describe_file(anchor, path, roots);
    }
    let node = SysfsNode::from_dev(anchor.metadata().rdev(), roots)
        .ok_or_else(|| HostError::Unlisted { path: path.to_owned(), sys: roots.sys.clone() })?;
    Ok(describe(&node, path, roots))
}

fn describe_file(
    anchor: &PinnedPath,
    path: &Path,
    roots: &SystemRoots,
) -> Result<Device, HostError> {
    let name = anchor.name().map_err(|e| HostError::io("find it", path, e))?;
    let metadata = anchor.metadata();
    let file_system = device_uses::file_system_of(&name, roots);
    Ok(Device {
        model: file_system.map(|file_system| format!("file on {file_system}")),
        in_use: backs(FileId::from_metadata(metadata), roots),
        name: name.to_string_lossy().into_owned(),
        logical_sector: crate::target::direct_alignment(&anchor.path())
            .map_or(FILE_SECTOR, |alignment| alignment.offset.max(FILE_SECTOR)),
        physical_sector: u32::try_from(metadata.blksize()).unwrap_or(FILE_SECTOR),
        ..Device::new(&path.to_string_lossy(), Transport::File, Bytes(metadata.len()))
    })
}

/// Returns the loop devices backed by a file, as far as this user can see them. Before any write,
/// [`crate::arm`] asks the kernel which others may write.
fn backs(file: FileId, roots: &SystemRoots) -> Vec<String> {
    let Ok(snapshot) = DeviceUses::take(roots) else { return Vec::new() };
    snapshot.loops_over(&[file].into()).map(|over| format!("backs {}", over.name)).collect()
}

/// Returns the zone model of a device (`queue/zoned`, Documentation/ABI/stable/sysfs-block);
/// `None` if it is not zoned.
fn zoned(whole: &SysfsNode) -> Option<ZoneModel> {
    match whole.text("queue/zoned")?.as_str() {
        "host-aware" => Some(ZoneModel::HostAware),
        "host-managed" => Some(ZoneModel::HostManaged),
        _ => None,
    }
}

/// Returns the facts of a block device, under the path that the user gave.
pub(crate) fn describe(node: &SysfsNode, path: &Path, roots: &SystemRoots) -> Device {
    let whole = node.whole();
    let transport = transport(&whole);
    let logical_sector = whole.number("queue/logical_block_size").unwrap_or(512);
    let sources = IdentitySources::read(&whole, roots);
    Device {
        path: path.to_string_lossy().into_owned(),
        name: node.name.clone(),
        model: sources.model(),
        serial: sources.serial(roots).map(|serial| serial + &suffix(node, roots)),
        firmware: sources.firmware(),
        wwid: sources.wwid().map(|wwid| wwid + &partition_suffix(node)),
        capacity: node.capacity(),
        logical_sector,
        physical_sector: whole.number("queue/physical_block_size").unwrap_or(logical_sector),
        rotational: whole.number::<u8>("queue/rotational").map(|spins| spins != 0),
        discard: whole.number::<u64>("queue/discard_max_bytes").is_some_and(|most| most > 0),
        write_cache: kernel_write_cache(&whole),
        link: link(&whole, &transport),
        zoned: zoned(&whole),
        array: disk_array::read(&whole, |member| member_name(member, roots)),
        in_use: device_uses::seen_uses(node, roots),
        transport,
    }
}

/// Returns the write cache mode that the kernel assumes; `None` if it reports none.
pub(crate) fn kernel_write_cache(whole: &SysfsNode) -> Option<WriteCache> {
    parse_write_cache(&whole.text("queue/write_cache")?)
}

/// Parses `queue/write_cache`.
pub(crate) fn parse_write_cache(text: &str) -> Option<WriteCache> {
    match text {
        "write back" | "write back, no read (daft)" => Some(WriteCache::Enabled),
        "write through" | "none" => Some(WriteCache::Disabled),
        _ => None,
    }
}

/// Returns the transport, derived from the device's name and the buses in its sysfs path.
fn transport(whole: &SysfsNode) -> Transport {
    let name = whole.name.as_str();
    if whole.is_loop() {
        return Transport::Loop;
    }
    for (prefix, transport) in [
        ("nvme", Transport::Nvme),
        ("zram", Transport::Zram),
        ("dm-", Transport::Mapped),
        ("md", Transport::Mapped),
        ("vd", Transport::Virtio),
    ] {
        if name.starts_with(prefix) {
            return transport;
        }
    }
    if name.starts_with("sd") { scsi_transport(whole) } else { Transport::Other }
}

fn scsi_transport(whole: &SysfsNode) -> Transport {
    let below = |bus: &str| {
        whole.directory.iter().any(|part| {
            let part = part.to_string_lossy();
            part.strip_prefix(bus)
                .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        })
    };
    let names_ata = || {
        // A SATA drive behind a SAS controller reports the vendor "ATA", or its own vendor and VPD
        // page 89h, which only ATA drives behind a SCSI translation layer have.
        whole.text("device/vendor").as_deref() == Some("ATA")
            || whole.directory.join("device/vpd_pg89").is_file()
    };
    if below("usb") {
        Transport::Usb
    } else if below("ata") || names_ata() {
        Transport::Sata
    } else if below("virtio") {
        Transport::Virtio
    } else {
        Transport::Sas
    }
}

/// Fields of a SCSI device's vital product data (VPD) pages.
#[derive(Default)]
struct VpdFields {
    serial: Option<String>,
    ata_model: Option<String>,
    ata_firmware: Option<String>,
}

impl VpdFields {
    fn read(whole: &SysfsNode) -> Self {
        let page = |name: &str| fs::read(whole.directory.join("device").join(name)).ok();
        let identify = page("vpd_pg89").and_then(|page| page.get(60..572).map(<[u8]>::to_vec));
        let words = |from: usize, to: usize| {
            identify.as_ref().and_then(|words| ata_text(&words[from * 2..to * 2]))
        };
        VpdFields {
            serial: page("vpd_pg80").and_then(|page| unit_serial(&page)).or_else(|| words(10, 20)),
            ata_model: words(27, 47),
            ata_firmware: words(23, 27),
        }
    }
}

/// Parses the serial number in VPD page 80h: a header of 4 bytes, then text (SPC-5, 7.7.19).
fn unit_serial(page: &[u8]) -> Option<String> {
    let length = usize::from(u16::from_be_bytes([*page.get(2)?, *page.get(3)?]));
    let end = page.len().min(4 + length);
    meaningful(&String::from_utf8_lossy(page.get(4..end)?))
}

/// Parses a string of IDENTIFY DEVICE, where the bytes of each word are swapped (ACS-4, 7.12.7).
fn ata_text(words: &[u8]) -> Option<String> {
    let bytes: Vec<u8> = words.chunks_exact(2).flat_map(|pair| [pair[1], pair[0]]).collect();
    meaningful(&String::from_utf8_lossy(&bytes))
}

/// Returns the text without padding; `None` if the vendor left the field blank or filled it with
/// zeros.
fn meaningful(text: &str) -> Option<String> {
    let text = text.trim_matches(is_padding);
    let blank = text.chars().all(|c| c == '0' || c == ' ');
    (!blank && !text.contains('\u{fffd}')).then(|| text.to_owned())
}

/// The record of a device in the udev database.
struct Udev(String);

impl Udev {
    fn read(whole: &SysfsNode, roots: &SystemRoots) -> Self {
        let text = whole
            .device_number()
            .and_then(|number| read_text(&roots.run.join(format!("udev/data/b{number}"))));
        Udev(text.unwrap_or_default())
    }
    fn property(&self, name: &str) -> Option<String> {
        self.0.lines().find_map(|line| {
            let (found, value) = line.strip_prefix("E:")?.split_once('=')?;
            if found == name { meaningful(value) } else { None }
        })
    }
    fn any(&self, names: &[&str]) -> Option<String> {
        names.iter().find_map(|name| self.property(name))
    }
}

/// Returns the name of an array's member: `sda1 (Samsung SSD 870, S/N 10007)`.
fn member_name(member: &SysfsNode, roots: &SystemRoots) -> String {
    let whole = member.whole();
    let sources = IdentitySources::read(&whole, roots);
    let serial = sources.serial(roots).map(|serial| format!("S/N {serial}"));
    let facts: Vec<String> = sources.model().into_iter().chain(serial).collect();
    if facts.is_empty() {
        member.name.clone()
    } else {
        format!("{} ({})", member.name, facts.join(", "))
    }
}

/// Sources of a drive's identity: sysfs, VPD pages and the udev database.
struct IdentitySources<'a> {
    whole: &'a SysfsNode,
    vpd: VpdFields,
    udev: Udev,
}

impl<'a> IdentitySources<'a> {
    fn read(whole: &'a SysfsNode, roots: &SystemRoots) -> Self {
        IdentitySources { whole, vpd: VpdFields::read(whole), udev: Udev::read(whole, roots) }
    }

    fn model(&self) -> Option<String> {
        let whole = self.whole;
        if whole.is_loop() {
            return whole.backing_file().map(|file| format!("loop device on {file}"));
        }
        if whole.name.starts_with("dm-") {
            return Some(format!("mapped device {}", whole.text("dm/name")?));
        }
        if let Some(level) = whole.text("md/level") {
            return Some(format!("md {level}"));
        }
        // The SCSI product field holds 16 characters; an ATA model number has 40.
        let ata_model = self.vpd.ata_model.clone();
        ata_model
            .or_else(|| whole.text("device/model"))
            .or_else(|| whole.text("device/name"))
            .or_else(|| self.udev.property("ID_MODEL"))
    }

    fn firmware(&self) -> Option<String> {
        let ata_firmware = self.vpd.ata_firmware.clone();
        ata_firmware
            .or_else(|| self.whole.text("device/firmware_rev"))
            .or_else(|| self.whole.text("device/rev"))
            .or_else(|| self.whole.text("device/fwrev"))
            .or_else(|| self.udev.property("ID_REVISION"))
    }

    fn serial(&self, roots: &SystemRoots) -> Option<String> {
        let attribute = |name: &str| self.whole.text(name).and_then(|text| meaningful(&text));
        let unit_serial = self.vpd.serial.clone();
        unit_serial
            .or_else(|| attribute("device/serial"))
            .or_else(|| attribute("serial"))
            .or_else(|| meaningful(&read_text(&usb_device(self.whole)?.join("serial"))?))
            .or_else(|| self.udev.any(&["ID_SCSI_SERIAL", "ID_SERIAL_SHORT"]))
            .or_else(|| serial_by_id(self.whole, roots))
    }

    fn wwid(&self) -> Option<String> {
        ["wwid", "device/wwid", "dm/uuid", "md/uuid", "device/cid"]
            .iter()
            .find_map(|attribute| self.whole.text(attribute))
            // Old drives also pad with blanks inside the VPD text.
            .map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "))
            .or_else(|| self.udev.any(&["ID_WWN_WITH_EXTENSION", "ID_WWN"]))
    }
}

/// Returns the sysfs directory of the USB device that contains a disk.
fn usb_device(whole: &SysfsNode) -> Option<&Path> {
    whole.directory.ancestors().find(|above| above.join("bDeviceClass").is_file())
}

/// Returns the serial number at the end of a link name in `/dev/disk/by-id` (`ata-MODEL_SERIAL`,
/// `nvme-MODEL_SERIAL`).
fn serial_by_id(whole: &SysfsNode, roots: &SystemRoots) -> Option<String> {
    entries(&roots.dev.join("disk/by-id")).iter().find_map(|link| {
        let name = file_name(link);
        let tail = name.strip_prefix("ata-").or_else(|| name.strip_prefix("nvme-"))?;
        let leads_here = fs::read_link(link).is_ok_and(|to| file_name(&to) == whole.name);
        let (_, serial) = tail.rsplit_once('_')?;
        if leads_here { meaningful(serial) } else { None }
    })
}

/// Returns the text that confirms that a device may be overwritten: [`Device::confirmation`],
/// followed by `@` and the path of its node if another device reports the same serial number.
///
/// # Errors
/// sysfs cannot be read.
pub fn confirmation(device: &Device, roots: &SystemRoots) -> Result<String, HostError> {
    let confirmation = device.confirmation().to_owned();
    if device.serial.is_none() {
        return Ok(confirmation);
    }
    let Some(node) = SysfsNode::from_name(&device.name, roots) else { return Ok(confirmation) };
    let whole = node.whole();
    let serial = drive_serial(&whole, roots);
    for other in
        SysfsNode::try_all(roots)?.iter().filter(|other| **other != whole && !other.is_hidden())
    {
        if drive_serial(other, roots) == serial {
            return Ok(format!("{confirmation}@{}", node.path(roots).display()));
        }
    }
    Ok(confirmation)
}

/// Returns the serial number of a whole device, with its namespace suffix.
fn drive_serial(whole: &SysfsNode, roots: &SystemRoots) -> Option<String> {
    Some(IdentitySources::read(whole, roots).serial(roots)? + &suffix(whole, roots))
}

/// Returns the suffix (`-n2`, `-part3`) that makes a serial number identify exactly this device.
fn suffix(node: &SysfsNode, roots: &SystemRoots) -> String {
    let whole = node.whole();
    let namespace = match whole.number::<u32>("nsid") {
        Some(number) if has_siblings(&whole, roots) => format!("-n{number}"),
        _ => String::new(),
    };
    namespace + &partition_suffix(node)
}

fn partition_suffix(node: &SysfsNode) -> String {
    node.partition().map(|number| format!("-part{number}")).unwrap_or_default()
}

/// Returns true if another visible namespace belongs to the same controller or subsystem.
fn has_siblings(whole: &SysfsNode, roots: &SystemRoots) -> bool {
    let parent = |node: &SysfsNode| fs::canonicalize(node.directory.join("device")).ok();
    let own_parent = parent(whole);
    own_parent.is_some()
        && SysfsNode::all(roots)
            .iter()
            .any(|other| other != whole && !other.is_hidden() && parent(other) == own_parent)
}

/// Returns the speed of the drive's own link. The PCIe link of a controller counts only for NVMe,
/// where the drive is the controller.
fn link(whole: &SysfsNode, transport: &Transport) -> Option<String> {
    match transport {
        Transport::Nvme => controllers(whole).iter().find_map(|directory| pcie_link(directory)),
        Transport::Sata => sata_link(whole),
        Transport::Usb => {
            read_text(&usb_device(whole)?.join("speed")).map(|speed| format!("USB {speed} Mb/s"))
        }
        _ => None,
    }
}

fn pcie_link(controller: &Path) -> Option<String> {
    let port = controller.ancestors().find(|above| above.join("current_link_speed").is_file())?;
    let speed = read_text(&port.join("current_link_speed"))?;
    let width = read_text(&port.join("current_link_width"))?;
    let speed = speed.trim_end_matches("PCIe").trim();
    speed.starts_with(|c: char| c.is_ascii_digit()).then(|| format!("PCIe {speed} x{width}"))
}

/// Returns the speed of the SATA link, which libata publishes next to the SCSI host.
fn sata_link(whole: &SysfsNode) -> Option<String> {
    entries(&ata_port(whole)?)
        .iter()
        .flat_map(|link| entries(&link.join("ata_link")))
        .find_map(|link| read_text(&link.join("sata_spd")))
        .filter(|speed| speed.starts_with(|c: char| c.is_ascii_digit()))
        .map(|speed| format!("SATA {speed}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::machine::MachineFixture;

    fn facts(machine: &MachineFixture, name: &str) -> Device {
        machine.device(&machine.node(name))
    }

    /// Encodes a string of IDENTIFY DEVICE: padded with blanks, the bytes of each word swapped.
    fn swapped(text: &str, length: usize) -> Vec<u8> {
        let padded = format!("{text:<length$}");
        padded.as_bytes().chunks(2).flat_map(|pair| [pair[1], pair[0]]).collect()
    }

    fn page_89(serial: &str, firmware: &str, model: &str) -> Vec<u8> {
        let mut page = vec![0u8; 572];
        page[60 + 20..60 + 40].copy_from_slice(&swapped(serial, 20));
        page[60 + 46..60 + 54].copy_from_slice(&swapped(firmware, 8));
        page[60 + 54..60 + 94].copy_from_slice(&swapped(model, 40));
        page
    }

    fn page_80(serial: &str) -> Vec<u8> {
        let mut page = vec![0, 0x80, 0, serial.len() as u8];
        page.extend(serial.as_bytes());
        page
    }

    #[test]
    fn an_nvme_drive() {
        let machine = MachineFixture::new();
        machine.nvme(1, 1, 1_953_525_168);
        let port = "sys/devices/pci0000:00/0000:00:1d.0/0000:01:00.0";
        machine.write(&format!("{port}/current_link_speed"), "16.0 GT/s PCIe\n");
        machine.write(&format!("{port}/current_link_width"), "4\n");
        let device = facts(&machine, "nvme1n1");
        assert_eq!(device.transport, Transport::Nvme);
        assert_eq!(device.model.as_deref(), Some("SAMSUNG MZVL21T0HCLR-00B00"));
        assert_eq!(device.serial.as_deref(), Some("S676NF0R000001"));
        assert_eq!(device.confirmation(), "S676NF0R000001");
        assert_eq!(device.firmware.as_deref(), Some("GXA7401Q"));
        assert_eq!(device.wwid.as_deref(), Some("eui.0025385800010001"));
        assert_eq!(device.capacity, Bytes(1_000_204_886_016));
        assert_eq!((device.logical_sector, device.physical_sector), (512, 4096));
        assert_eq!(device.rotational, Some(false));
        assert!(device.discard);
        assert_eq!(device.write_cache, Some(WriteCache::Enabled));
        assert_eq!(device.link.as_deref(), Some("PCIe 16.0 GT/s x4"));
        assert_eq!(device.in_use, Vec::<String>::new());
    }

    #[test]
    fn namespaces_and_partitions_have_their_own_confirmation() {
        let (machine, first) = MachineFixture::with_nvme(1000);
        machine.nvme(0, 2, 1000);
        machine.nvme(1, 1, 1000);
        machine.partition(&first, "nvme0n1p3", "259:99", 100);
        for (name, serial, wwid) in [
            ("nvme0n1", "S676NF0R000000-n1", "eui.0025385800000001"),
            ("nvme0n2", "S676NF0R000000-n2", "eui.0025385800000002"),
            ("nvme0n1p3", "S676NF0R000000-n1-part3", "eui.0025385800000001-part3"),
            ("nvme1n1", "S676NF0R000001", "eui.0025385800010001"),
        ] {
            let device = facts(&machine, name);
            assert_eq!(device.confirmation(), serial);
            assert_eq!(device.wwid.as_deref(), Some(wwid));
        }
        assert_eq!(facts(&machine, "nvme0n1p3").capacity, Bytes(51_200));
    }

    #[test]
    fn a_multipath_namespace_is_one_device_with_the_link_of_its_controller() {
        let machine = MachineFixture::new();
        let subsystem = "virtual/nvme-subsystem/nvme-subsys0";
        let port = "pci0000:00/0000:01:00.0";
        let head = machine.block(&format!("{subsystem}/nvme0n1"), "259:1", 1000);
        let above = format!("sys/devices/{subsystem}");
        machine.link(&format!("{above}/nvme0n1/device"), &above);
        machine.set(&head, "nsid", "1");
        machine.set(&head, "device/serial", "A1");
        machine.write(&format!("sys/devices/{port}/nvme/nvme0/address"), "0000:01:00.0\n");
        machine.write(&format!("sys/devices/{port}/current_link_speed"), "8.0 GT/s PCIe\n");
        machine.write(&format!("sys/devices/{port}/current_link_width"), "2\n");
        let controller = format!("sys/devices/{port}/nvme/nvme0");
        machine.link(&format!("{above}/nvme0"), &controller);
        let path = machine.block(&format!("{port}/nvme/nvme0/nvme0c0n1"), "259:2", 1000);
        machine.set(&path, "hidden", "1");
        let found = devices(&machine.roots).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].confirmation(), "A1");
        assert_eq!(found[0].link.as_deref(), Some("PCIe 8.0 GT/s x2"));
    }

    #[test]
    fn a_sata_drive_reports_its_full_model_on_page_89() {
        let (machine, disk) = MachineFixture::with_sata(468_862_128);
        machine.set(&disk, "device/vendor", "ATA     ");
        machine.set(&disk, "device/model", "INTEL SSDSC2KB24");
        machine.set(&disk, "device/rev", "0100");
        machine.set(&disk, "device/wwid", "naa.55cd2e414f8f8d25\n");
        machine.set(&disk, "device/vpd_pg80", page_80("  PHYF9021003D240AGN"));
        let page = page_89("PHYF9021003D240AGN", "XCV10100", "INTEL SSDSC2KB240G8");
        machine.set(&disk, "device/vpd_pg89", page);
        let ata = "sys/devices/pci0000:00/0000:00:17.0/ata1";
        machine.write(&format!("{ata}/link1/ata_link/link1/sata_spd"), "6.0 Gbps\n");
        let device = facts(&machine, "sda");
        assert_eq!(device.transport, Transport::Sata);
        assert_eq!(device.model.as_deref(), Some("INTEL SSDSC2KB240G8"));
        assert_eq!(device.firmware.as_deref(), Some("XCV10100"));
        assert_eq!(device.serial.as_deref(), Some("PHYF9021003D240AGN"));
        assert_eq!(device.wwid.as_deref(), Some("naa.55cd2e414f8f8d25"));
        assert_eq!(device.link.as_deref(), Some("SATA 6.0 Gbps"));
    }

    #[test]
    fn behind_a_sas_controller_the_vendor_distinguishes_sata_from_sas() {
        let machine = MachineFixture::new();
        let port = |n: u32| {
            format!(
                "pci0000:00/0000:02:00.0/host1/port-1:{n}/end_device-1:{n}/target1:0:{n}/1:0:{n}:0"
            )
        };
        let sas = machine.scsi(&port(0), "sdb", "8:16", 1000);
        machine.set(&sas, "device/vendor", "SEAGATE ");
        machine.set(&sas, "device/model", "XS3840SE70104   ");
        machine.set(&sas, "device/rev", "0004");
        machine.set(&sas, "device/vpd_pg80", page_80("HLL0B3XT0000822150Z3"));
        let sata = machine.scsi(&port(1), "sdc", "8:32", 1000);
        machine.set(&sata, "device/vendor", "ATA     ");
        let device = facts(&machine, "sdb");
        assert_eq!(device.transport, Transport::Sas);
        assert_eq!(device.model.as_deref(), Some("XS3840SE70104"));
        assert_eq!(device.firmware.as_deref(), Some("0004"));
        assert_eq!(device.serial.as_deref(), Some("HLL0B3XT0000822150Z3"));
        assert_eq!(device.link, None);
        assert_eq!(facts(&machine, "sdc").transport, Transport::Sata);
    }

    #[test]
    fn a_usb_stick_without_a_page_has_the_serial_of_its_bus() {
        let machine = MachineFixture::new();
        let bus = "pci0000:00/0000:00:14.0/usb2/2-1";
        let disk =
            machine.scsi(&format!("{bus}/2-1:1.0/host6/target6:0:0/6:0:0:0"), "sdd", "8:48", 1000);
        machine.write(&format!("sys/devices/{bus}/bDeviceClass"), "00\n");
        machine.write(&format!("sys/devices/{bus}/serial"), "4C530001230117115142\n");
        machine.write(&format!("sys/devices/{bus}/speed"), "5000\n");
        machine.set(&disk, "device/vpd_pg80", page_80("00000000"));
        let device = facts(&machine, "sdd");
        assert_eq!(device.transport, Transport::Usb);
        assert_eq!(device.serial.as_deref(), Some("4C530001230117115142"));
        assert_eq!(device.link.as_deref(), Some("USB 5000 Mb/s"));
    }

    #[test]
    fn udev_and_by_id_fill_what_sysfs_leaves_open() {
        let machine = MachineFixture::new();
        machine.sata("sda", "8:0", 1000);
        machine.write(
            "run/udev/data/b8:0",
            "S:disk/by-id/x\nE:ID_MODEL=WDC_WDS500G\nE:ID_SERIAL_SHORT=2020AB\nE:ID_WWN=0x5001\n",
        );
        let device = facts(&machine, "sda");
        assert_eq!(device.model.as_deref(), Some("WDC_WDS500G"));
        assert_eq!(device.serial.as_deref(), Some("2020AB"));
        assert_eq!(device.wwid.as_deref(), Some("0x5001"));

        let machine = MachineFixture::new();
        machine.sata("sda", "8:0", 1000);
        machine.link("dev/disk/by-id/ata-WDC_WDS500G_2020AB-part1", "dev/sda1");
        machine.link("dev/disk/by-id/ata-WDC_WDS500G_2020AB", "dev/sda");
        assert_eq!(facts(&machine, "sda").serial.as_deref(), Some("2020AB"));
    }

    #[test]
    fn a_device_without_identity_is_confirmed_by_name() {
        let machine = MachineFixture::new();
        let disk = machine.block("virtual/block/zram0", "253:0", 8);
        fs::remove_dir_all(disk.directory.join("queue")).unwrap();
        let device = facts(&machine, "zram0");
        assert_eq!(device.transport, Transport::Zram);
        assert_eq!(device.confirmation(), "zram0");
        assert_eq!((device.model, device.wwid, device.rotational), (None, None, None));
        assert_eq!((device.write_cache, device.link, device.discard), (None, None, false));
    }

    #[test]
    fn broken_vital_product_data_is_no_identity() {
        for page in [&b""[..], &[0, 0x80], &[0, 0x80, 0, 9], &[0, 0x80, 0, 4, b' ', b' ', b'0', 0]]
        {
            assert_eq!(unit_serial(page), None, "{page:?}");
        }
        assert_eq!(unit_serial(&[0, 0x80, 0, 200, b'A', b'B']).as_deref(), Some("AB"));
        assert_eq!(unit_serial(&[0, 0x80, 0, 2, 0xff, 0xfe]), None);
        let (machine, disk) = MachineFixture::with_sata(1000);
        machine.set(&disk, "device/vpd_pg89", vec![0u8; 571]);
        machine.set(&disk, "device/vpd_pg80", [0u8; 3]);
        assert_eq!(facts(&machine, "sda").serial, None);
    }

    #[test]
    fn devices_that_cannot_be_tested_are_not_listed() {
        let (machine, disk) = MachineFixture::with_sata(1000);
        machine.partition(&disk, "sda1", "8:1", 100);
        machine.block("virtual/block/ram0", "1:0", 8);
        machine.block("virtual/block/sr0", "11:0", 8);
        machine.block("virtual/block/loop0", "7:0", 0);
        machine.block("virtual/block/srx", "11:9", 8);
        machine.block("pci0/cciss!c0d0", "104:0", 8);
        let listed: Vec<String> =
            devices(&machine.roots).unwrap().into_iter().map(|device| device.path).collect();
        let path = |name: &str| machine.roots.dev.join(name).to_str().unwrap().to_owned();
        assert_eq!(listed, [path("cciss/c0d0"), path("sda"), path("srx")]);
        let nowhere = SystemRoots { sys: "/no/such/place".into(), ..machine.roots.clone() };
        assert!(devices(&nowhere).is_err());
    }

    #[test]
    fn only_block_devices_and_files_are_inspected() {
        let machine = MachineFixture::new();
        let refusal =
            |path: &str| inspect(Path::new(path), &SystemRoots::real()).unwrap_err().to_string();
        assert!(refusal("/").contains("is a directory"));
        assert!(refusal("/dev/null").contains("is a character device"));
        assert!(refusal("/no/such/device").contains("check the spelling"));
        machine.write("scratch", vec![1; 5000]);
        machine.link("link", "scratch");
        let device = inspect(&machine.path("link"), &SystemRoots::real()).unwrap();
        assert_eq!(device.transport, Transport::File);
        assert_eq!(device.capacity, Bytes(5000));
        assert_eq!(device.name, machine.path("scratch").to_str().unwrap());
        assert_eq!(device.path, machine.path("link").to_str().unwrap());
        assert!(device.model.unwrap().starts_with("file on "));
    }
}
