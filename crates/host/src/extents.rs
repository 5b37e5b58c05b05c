//! Sectors that devices share. Partition tables may nest one partition in another (isohybrid
//! images, extended partitions), and device-mapper tables may map two devices to the same sectors.
//! The kernel's exclusive open detects neither.

use crate::device_number::encode_dev;
use crate::error::HostError;
use crate::sysfs_node::SysfsNode;
use crate::system_roots::SystemRoots;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;

/// A range of sectors of 512 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SectorRange {
    first: u64,
    /// One past the last sector.
    end: u64,
}

impl SectorRange {
    /// All sectors of any device.
    const ALL: SectorRange = SectorRange { first: 0, end: u64::MAX };

    fn new(first: u64, count: u64) -> Self {
        SectorRange { first, end: first.saturating_add(count) }
    }

    fn overlaps(self, other: SectorRange) -> bool {
        self.first.max(other.first) < self.end.min(other.end)
    }

    /// Converts a range in a partition that begins at `start` to a range on the whole device.
    fn shifted(self, start: u64) -> Self {
        SectorRange { first: self.first.saturating_add(start), end: self.end.saturating_add(start) }
    }
}

/// Returns the sectors of a partition on its disk.
///
/// # Errors
/// sysfs does not report them.
pub(crate) fn partition_sectors(part: &SysfsNode) -> Result<SectorRange, HostError> {
    match (part.number("start"), part.number("size")) {
        (Some(first), Some(count)) => Ok(SectorRange::new(first, count)),
        _ => Err(HostError::Unclear {
            what: format!("which sectors {} has", part.name),
            why: format!("{}/start cannot be read", part.directory.display()),
        }),
    }
}

/// Returns true for an extended partition, which holds the table of the logical partitions: they
/// are lost with it. The kernel gives it a size of one or two sectors to keep file systems off, and
/// numbers the logical partitions from 5.
pub(crate) fn is_extended(part: &SysfsNode) -> Result<bool, HostError> {
    let Some(number) = part.partition() else { return Ok(false) };
    let whole = part.whole();
    let block: u64 = whole.number("queue/logical_block_size").unwrap_or(512);
    let most = (block / 512).max(2);
    let sectors = partition_sectors(part)?;
    let is_table = number < FIRST_LOGICAL && sectors.end - sectors.first <= most;
    Ok(is_table && whole.try_partitions()?.iter().any(is_logical))
}

const FIRST_LOGICAL: u32 = 5;

fn is_logical(part: &SysfsNode) -> bool {
    part.partition().is_some_and(|number| number >= FIRST_LOGICAL)
}

/// Returns the partitions of the same disk that share sectors with a partition or are lost with
/// it.
///
/// # Errors
/// sysfs does not report the sectors of a partition.
pub(crate) fn affected_partitions(part: &SysfsNode) -> Result<Vec<SysfsNode>, HostError> {
    let sectors = partition_sectors(part)?;
    let is_table = is_extended(part)?;
    let mut partitions = Vec::new();
    for other in part.whole().try_partitions()? {
        if other == *part {
            continue;
        }
        let is_lost = is_table && is_logical(&other) || is_logical(part) && is_extended(&other)?;
        if is_lost || sectors.overlaps(partition_sectors(&other)?) {
            partitions.push(other);
        }
    }
    Ok(partitions)
}

/// Sectors of a device-mapper device on a device below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MappedSectors {
    /// Device below: a whole device or a partition.
    pub on: SysfsNode,
    sectors: SectorRange,
    /// ID of a thin volume, which shares no sectors with other volumes of its pool.
    volume: Option<u64>,
}

impl MappedSectors {
    fn all(on: SysfsNode) -> Self {
        MappedSectors { on, sectors: SectorRange::ALL, volume: None }
    }

    fn overlaps(&self, other: &MappedSectors) -> bool {
        if self.on != other.on {
            return false;
        }
        match (self.volume, other.volume) {
            (Some(own), Some(other)) => own == other,
            _ => self.sectors.overlaps(other.sectors),
        }
    }

    /// Converts a piece on a partition to a piece on its disk; `None` if it is not on a partition.
    fn on_whole(&self) -> Result<Option<MappedSectors>, HostError> {
        let whole = self.on.whole();
        if whole == self.on {
            return Ok(None);
        }
        let part = partition_sectors(&self.on)?;
        let sectors = self.sectors.shifted(part.first);
        let sectors = SectorRange { end: sectors.end.min(part.end), ..sectors };
        Ok(Some(MappedSectors { on: whole, sectors, volume: None }))
    }
}

/// Returns the pieces that a device is built from: those in its device-mapper table if it has one
/// that can be parsed, otherwise all of each device below.
///
/// # Errors
/// sysfs cannot be read.
pub(crate) fn pieces(
    whole: &SysfsNode,
    roots: &SystemRoots,
) -> Result<Vec<MappedSectors>, HostError> {
    let below = whole.slaves()?;
    let mut mapped = Vec::new();
    if whole.name.starts_with("dm-") && !below.is_empty() {
        let text = table(whole, roots).ok();
        mapped = text.and_then(|text| parse_table(&text, roots)).unwrap_or_default();
    }
    // A device below that the table does not name has an unknown use: count all of it.
    let unnamed: Vec<SysfsNode> =
        below.into_iter().filter(|node| mapped.iter().all(|piece| piece.on != *node)).collect();
    mapped.extend(unnamed.into_iter().map(MappedSectors::all));
    Ok(mapped)
}

/// Returns the devices other than `upper` that share the sectors of its piece: devices built on
/// the same sectors, and partitions.
///
/// # Errors
/// sysfs cannot be read.
pub(crate) fn sharers_of(
    piece: &MappedSectors,
    upper: &SysfsNode,
    roots: &SystemRoots,
) -> Result<Vec<SysfsNode>, HostError> {
    let mut sharers = Vec::new();
    let on_whole = piece.on_whole()?;
    for piece in std::iter::once(piece).chain(on_whole.as_ref()) {
        for holder in piece.on.holders()? {
            let others = pieces(&holder, roots)?;
            let is_known = others.iter().any(|other| other.on == piece.on);
            let shares = others.iter().any(|other| other.overlaps(piece));
            if holder != *upper && (shares || !is_known) {
                sharers.push(holder);
            }
        }
    }
    if let Some(on_whole) = on_whole {
        for part in on_whole.on.try_partitions()? {
            if part != piece.on && partition_sectors(&part)?.overlaps(on_whole.sectors) {
                sharers.push(part);
            }
        }
    }
    Ok(sharers)
}

/// Parses the output of `dmsetup table`, one `FIRST COUNT KIND PARAMETERS` per line. `None` if a
/// line cannot be parsed.
fn parse_table(text: &str, roots: &SystemRoots) -> Option<Vec<MappedSectors>> {
    let mut pieces = Vec::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let [_, count, kind, parameters @ ..] = fields.as_slice() else { return None };
        let count: u64 = count.parse().ok()?;
        match (*kind, parameters) {
            ("linear", [on, first]) => pieces.push(parse_piece(on, first, count, roots)?),
            ("crypt", [_, _, _, on, first, ..]) => {
                pieces.push(parse_piece(on, first, count, roots)?);
            }
            ("striped", [stripes, _, places @ ..]) => {
                let stripes: u64 = stripes.parse().ok().filter(|stripes| *stripes > 0)?;
                for place in places.chunks(2) {
                    let [on, first] = place else { return None };
                    pieces.push(parse_piece(on, first, count.div_ceil(stripes), roots)?);
                }
            }
            ("thin", [pool, volume]) => {
                let volume = Some(volume.parse().ok()?);
                pieces.push(MappedSectors { volume, ..MappedSectors::all(numbered(pool, roots)?) });
            }
            ("error" | "zero", _) => {}
            _ => return None,
        }
    }
    Some(pieces)
}

fn parse_piece(on: &str, first: &str, count: u64, roots: &SystemRoots) -> Option<MappedSectors> {
    let sectors = SectorRange::new(first.parse().ok()?, count);
    Some(MappedSectors { on: numbered(on, roots)?, sectors, volume: None })
}

/// Returns the device with the number `MAJOR:MINOR`.
fn numbered(text: &str, roots: &SystemRoots) -> Option<SysfsNode> {
    SysfsNode::from_number(text.parse().ok()?, roots)
}

/// Request to device-mapper: `struct dm_ioctl` of linux/dm-ioctl.h.
#[repr(C)]
struct DmIoctl {
    version: [u32; 3],
    data_size: u32,
    data_start: u32,
    target_count: u32,
    open_count: i32,
    flags: u32,
    event: u32,
    padding: u32,
    device: u64,
    name: [u8; 128],
    uuid: [u8; 129],
    data: [u8; 7],
}

/// Request for a table, from linux/dm-ioctl.h.
const DM_TABLE_STATUS: libc::Ioctl = 0xc138_fd0c_u32 as libc::Ioctl;
const DM_STATUS_TABLE: u32 = 1 << 4;
const DM_BUFFER_FULL: u32 = 1 << 8;
const DM_SECURE_DATA: u32 = 1 << 15;
/// Length of `struct dm_target_spec` before its parameters.
const TARGET_LENGTH: usize = 40;
/// Maximum length of a table in bytes; a longer one is treated as unknown.
const TABLE_MAX: usize = 16 << 20;

/// Reads the table of a device-mapper device in the format of `dmsetup table`.
fn table(whole: &SysfsNode, roots: &SystemRoots) -> io::Result<String> {
    if let Some(tables) = &roots.tables {
        return fs::read_to_string(tables.join(&whole.name));
    }
    let number = whole.device_number().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
    let control = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_CLOEXEC)
        .open(roots.dev.join("mapper/control"))?;
    let mut length = 16 << 10;
    while length <= TABLE_MAX {
        // Words of eight bytes, because the kernel aligns its records to them.
        let mut buffer = vec![0u64; length / 8];
        let call = DmIoctl {
            version: [4, 0, 0],
            data_size: length as u32,
            data_start: size_of::<DmIoctl>() as u32,
            target_count: 0,
            open_count: 0,
            flags: DM_STATUS_TABLE | DM_SECURE_DATA,
            event: 0,
            padding: 0,
            device: encode_dev(number),
            name: [0; 128],
            uuid: [0; 129],
            data: [0; 7],
        };
        let at = buffer.as_mut_ptr().cast::<DmIoctl>();
        // SAFETY: the buffer is longer than a DmIoctl, aligned for it, and outlives the request,
        // which writes at most `data_size` bytes.
        let call = unsafe {
            at.write(call);
            if libc::ioctl(control.as_raw_fd(), DM_TABLE_STATUS, at) != 0 {
                return Err(io::Error::last_os_error());
            }
            at.read()
        };
        if call.flags & DM_BUFFER_FULL == 0 {
            let bytes: Vec<u8> = buffer.iter().flat_map(|word| word.to_ne_bytes()).collect();
            let targets = bytes.get(call.data_start as usize..).unwrap_or_default();
            return read_targets(targets, call.target_count)
                .ok_or_else(|| io::Error::other("the answer of device-mapper cannot be parsed"));
        }
        length *= 4;
    }
    Err(io::Error::other("the table is too long"))
}

/// Formats the chain of `struct dm_target_spec` that follows the header, one line per target.
fn read_targets(bytes: &[u8], count: u32) -> Option<String> {
    let mut lines = String::new();
    let mut offset = 0usize;
    for _ in 0..count {
        let head = bytes.get(offset..offset + TARGET_LENGTH)?;
        let number = |from: usize| Some(u64::from_ne_bytes(head[from..from + 8].try_into().ok()?));
        let next = u32::from_ne_bytes(head[20..24].try_into().ok()?) as usize;
        let parameters = text_until_zero(bytes.get(offset + TARGET_LENGTH..)?)?;
        let kind = text_until_zero(&head[24..])?;
        lines.push_str(&format!("{} {} {kind} {parameters}\n", number(0)?, number(8)?));
        offset = next;
    }
    Some(lines)
}

fn text_until_zero(bytes: &[u8]) -> Option<&str> {
    let end = bytes.iter().position(|byte| *byte == 0)?;
    std::str::from_utf8(&bytes[..end]).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::machine::MachineFixture;

    #[test]
    fn a_call_has_the_size_that_the_kernel_expects() {
        assert_eq!(size_of::<DmIoctl>(), 312);
    }

    #[test]
    fn ranges_that_touch_do_not_overlap() {
        let own = SectorRange::new(100, 50);
        let with = |first, count| own.overlaps(SectorRange::new(first, count));
        assert!(with(0, 101) && with(149, 1) && with(120, 1) && with(0, u64::MAX));
        assert!(!with(0, 100) && !with(150, 9) && !with(120, 0));
    }

    /// A chain of targets in the kernel's layout.
    #[test]
    fn targets_are_read_from_the_answer_of_the_kernel() {
        let mut bytes = Vec::new();
        for (first, count, next, kind, parameters) in
            [(0u64, 8u64, 64u32, "linear", "8:2 2048"), (8, 9, 128, "striped", "1 8 8:3 0")]
        {
            let start = bytes.len();
            bytes.extend(first.to_ne_bytes());
            bytes.extend(count.to_ne_bytes());
            bytes.extend(0i32.to_ne_bytes());
            bytes.extend(next.to_ne_bytes());
            bytes.extend(kind.bytes());
            bytes.resize(start + TARGET_LENGTH, 0);
            bytes.extend(parameters.bytes());
            bytes.resize(start + 64, 0);
        }
        let lines = "0 8 linear 8:2 2048\n8 9 striped 1 8 8:3 0\n";
        assert_eq!(read_targets(&bytes, 2).as_deref(), Some(lines));
        assert_eq!(read_targets(&bytes, 3), None);
        assert_eq!(read_targets(&bytes[..100], 2), None);
    }

    #[test]
    fn only_a_table_that_can_be_parsed_says_which_sectors() {
        let (machine, disk) = MachineFixture::with_sata(10_000);
        let part = machine.partition(&disk, "sda1", "8:1", 5000);
        let upper = machine.block("virtual/block/dm-0", "252:0", 500);
        machine.stack(&upper, &part);
        let pieces_of = |table: &str| {
            machine.write("tables/dm-0", table);
            pieces(&upper, &machine.roots).unwrap()
        };
        let piece = |first, count| {
            let sectors = SectorRange::new(first, count);
            MappedSectors { on: part.clone(), sectors, volume: None }
        };
        assert_eq!(pieces_of("0 500 linear 8:1 2048\n"), [piece(2048, 500)]);
        assert_eq!(
            pieces_of("0 500 crypt aes-xts :64:logon:x 0 8:1 4096 1 x\n"),
            [piece(4096, 500)]
        );
        let volume = MappedSectors { volume: Some(7), ..MappedSectors::all(part.clone()) };
        assert_eq!(pieces_of("0 500 thin 8:1 7\n"), [volume]);
        let two = [piece(0, 250), piece(300, 250)];
        assert_eq!(pieces_of("0 500 striped 2 8 8:1 0 8:1 300\n"), two);
        for unknown in ["0 500 mirror core 1 64 1 8:1 0\n", "0 500 linear 8:1\n", "", "0 1 error\n"]
        {
            assert_eq!(pieces_of(unknown), [MappedSectors::all(part.clone())], "{unknown}");
        }
        // A device below that the table does not name is included.
        let mut expected = vec![piece(2048, 500)];
        machine.stack(&upper, &disk);
        expected.push(MappedSectors::all(disk.clone()));
        assert_eq!(pieces_of("0 500 linear 8:1 2048\n"), expected);
        fs::remove_file(machine.path("tables/dm-0")).unwrap();
        assert_eq!(pieces(&upper, &machine.roots).unwrap().len(), 2);
    }
}
