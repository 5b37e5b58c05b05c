//! Data on a device that overwriting would destroy: partitions, file systems, and the signatures
//! of LVM, md, LUKS, swap and ZFS.
//!
//! `wipefs` knows all signatures and is used if it is installed; otherwise the most common ones
//! are recognized here. ZFS is always searched for here, because its label refuses a device
//! regardless of confirmations.

use crate::backing::open_node;
use crate::error::HostError;
use crate::extents;
use crate::sysfs_node::SysfsNode;
use crate::system_roots::SystemRoots;
use crate::target::length_of;
use crate::tool::{InstalledTools, Tools, WIPEFS};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

/// libblkid's name for a member of a ZFS pool.
pub(crate) const ZFS_MEMBER: &str = "zfs_member";

/// Time limit for `wipefs`; a device that exceeds it is faulty.
const WIPEFS_TIMEOUT: Duration = Duration::from_secs(30);

const MD_MAGIC: &[u8] = b"\xfc\x4e\x2b\xa9";

/// libblkid's name for a member of an md array.
const MD_MEMBER: &str = "linux_raid_member";

/// Bytes by which a format is recognized.
#[derive(Debug, Clone, Copy)]
struct MagicNumber {
    /// Offset in bytes.
    offset: u64,
    bytes: &'static [u8],
    /// libblkid's name of the format.
    format: &'static str,
}

impl MagicNumber {
    const fn new(offset: u64, bytes: &'static [u8], format: &'static str) -> MagicNumber {
        MagicNumber { offset, bytes, format }
    }
}

/// Magic numbers at fixed offsets, which are from the documentation of each format.
const MAGICS: &[MagicNumber] = &[
    MagicNumber::new(3, b"NTFS    ", "ntfs"),
    MagicNumber::new(3, b"EXFAT   ", "exfat"),
    MagicNumber::new(54, b"FAT1", "vfat"),
    MagicNumber::new(82, b"FAT32", "vfat"),
    MagicNumber::new(0, b"XFSB", "xfs"),
    MagicNumber::new(0, b"LUKS\xba\xbe", "crypto_LUKS"),
    MagicNumber::new(0, MD_MAGIC, MD_MEMBER),
    MagicNumber::new(4096, MD_MAGIC, MD_MEMBER),
    MagicNumber::new(512, b"EFI PART", "gpt"),
    MagicNumber::new(4096, b"EFI PART", "gpt"),
    MagicNumber::new(0, b"LABELONE", "LVM2_member"),
    MagicNumber::new(512, b"LABELONE", "LVM2_member"),
    MagicNumber::new(1024, b"LABELONE", "LVM2_member"),
    MagicNumber::new(1536, b"LABELONE", "LVM2_member"),
    MagicNumber::new(1024, b"\x10\x20\xf5\xf2", "f2fs"),
    MagicNumber::new(1080, b"\x53\xef", "ext2/3/4"),
    MagicNumber::new(
        4120,
        b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81",
        "bcache",
    ),
    MagicNumber::new(65_600, b"_BHRfS_M", "btrfs"),
];

/// Magic numbers whose offset depends on the length of the device or on the page size of the host
/// that wrote them.
fn magics_by_length(length: u64) -> Vec<MagicNumber> {
    let mut magics = Vec::new();
    for page_kib in [4, 8, 16, 32, 64] {
        magics.push(MagicNumber::new((page_kib << 10) - 10, b"SWAPSPACE2", "swap"));
    }
    // md 0.90 is in the last whole 64 KiB, and md 1.0 8 to 12 KiB before the end (md(4)).
    let old = (length & !0xffff).checked_sub(64 << 10);
    let new = length.checked_sub(8 << 10).map(|end| end & !0xfff);
    for offset in [old, new].into_iter().flatten() {
        magics.push(MagicNumber::new(offset, MD_MAGIC, MD_MEMBER));
    }
    magics
}

/// Lists everything that overwriting a device would destroy, one line each: partitions with size
/// and content, partitions that share its sectors, and the content of the device itself. Empty if
/// nothing is recognized.
///
/// # Errors
/// Returns an error if the device cannot be read.
pub(crate) fn losses(node: &SysfsNode, roots: &SystemRoots) -> Result<Vec<String>, HostError> {
    let mut lines = Vec::new();
    let formats = signatures(&node.path(roots))?;
    if !formats.is_empty() {
        lines.push(formats.join(", "));
    }
    for part in node.try_partitions()? {
        lines.push(format!("partition {}", describe_partition(&part, roots)?));
    }
    if node.partition().is_none() {
        return Ok(lines);
    }
    let is_table = extents::is_extended(node)?;
    if is_table {
        lines.push("the partition table of the logical partitions".into());
    }
    for part in extents::affected_partitions(node)? {
        if extents::is_extended(&part)? {
            // The table of an extended partition is before its logical partition.
            continue;
        }
        let kind = if is_table { "logical" } else { "overlapping" };
        lines.push(format!("{kind} partition {}", describe_partition(&part, roots)?));
    }
    Ok(lines)
}

/// Describes a partition: name, size and content.
fn describe_partition(part: &SysfsNode, roots: &SystemRoots) -> Result<String, HostError> {
    let holds = signatures(&part.path(roots))?;
    let holds = if holds.is_empty() { String::new() } else { format!(": {}", holds.join(", ")) };
    Ok(format!("{} ({}){holds}", part.name, part.capacity()))
}

/// Returns the name of the device or partition that belongs to a ZFS pool; `None` if neither does.
///
/// # Errors
/// Returns an error if the device cannot be read.
pub(crate) fn zfs_member(
    node: &SysfsNode,
    roots: &SystemRoots,
) -> Result<Option<String>, HostError> {
    for part in std::iter::once(node.clone()).chain(node.try_partitions()?) {
        if open_zfs_member(&part, roots)?.is_some() {
            return Ok(Some(part.name));
        }
    }
    Ok(None)
}

/// Opens a device or partition for reading; `None` if it is no member of a ZFS pool.
fn open_zfs_member(node: &SysfsNode, roots: &SystemRoots) -> Result<Option<File>, HostError> {
    let file = open_node(node, roots, 0)
        .map_err(|e| HostError::io("open it for reading", &node.path(roots), e))?;
    Ok(has_zfs_label(&file, node.capacity().0).then_some(file))
}

/// Content of a ZFS label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ZfsLabel {
    pub pool: String,
    /// ID of the pool, which distinguishes it from earlier pools of the same name; `None` if not
    /// present.
    pool_guid: Option<u64>,
    /// ID of the top-level vdev (a mirror, a single device) that contains the device.
    part: u64,
    /// Number of top-level vdevs in the pool.
    parts: u64,
    /// True if the vdev contains files.
    has_file: bool,
}

/// Returns the labels on a device and its partitions; `None` for a label that cannot be parsed.
///
/// # Errors
/// Returns an error if the device cannot be read.
pub(crate) fn zfs_labels(
    node: &SysfsNode,
    roots: &SystemRoots,
) -> Result<Vec<Option<ZfsLabel>>, HostError> {
    let mut labels = Vec::new();
    for part in std::iter::once(node.clone()).chain(node.try_partitions()?) {
        if let Some(file) = open_zfs_member(&part, roots)? {
            labels.push(read_zfs_label(&file, part.capacity().0));
        }
    }
    Ok(labels)
}

/// Returns true if the labels of a pool cover all its top-level vdevs and none contains files.
/// Returns false if labels of an earlier pool of the same name exist, since it is unknown which
/// pool is in use.
pub(crate) fn shows_whole_pool(pool: &str, labels: &[ZfsLabel]) -> bool {
    let pool_labels: Vec<&ZfsLabel> = labels.iter().filter(|label| label.pool == pool).collect();
    let parts: BTreeSet<u64> = pool_labels.iter().map(|label| label.part).collect();
    let most_parts = pool_labels.iter().map(|label| label.parts).max();
    let pools: BTreeSet<Option<u64>> = pool_labels.iter().map(|label| label.pool_guid).collect();
    pools.len() == 1
        && most_parts.is_some_and(|most_parts| parts.len() as u64 >= most_parts)
        && pool_labels.iter().all(|label| !label.has_file)
}

/// Length of a ZFS label in bytes; there are two at each end of a member.
const ZFS_LABEL: u64 = 256 << 10;

fn zfs_label_offsets(length: u64) -> impl Iterator<Item = u64> {
    let end = length - length % ZFS_LABEL;
    let last = [end.checked_sub(2 * ZFS_LABEL), end.checked_sub(ZFS_LABEL)];
    [Some(0), Some(ZFS_LABEL)].into_iter().chain(last).flatten()
}

/// Returns the first label that can be parsed (ZFS On-Disk Specification, chapter 1.3): 112 KiB of
/// name-value pairs in XDR at offset 16 KiB.
fn read_zfs_label(file: &File, length: u64) -> Option<ZfsLabel> {
    let mut bytes = vec![0u8; 112 << 10];
    zfs_label_offsets(length).find_map(|label| {
        file.read_exact_at(&mut bytes, label + (16 << 10)).ok()?;
        parse_zfs_label(&bytes)
    })
}

fn parse_zfs_label(bytes: &[u8]) -> Option<ZfsLabel> {
    // Encoding (1 is XDR) and byte order, then version and flags of the list.
    if bytes.first() != Some(&1) {
        return None;
    }
    let word = |offset: usize| {
        let bytes: [u8; 4] = bytes.get(offset..offset.checked_add(4)?)?.try_into().ok()?;
        Some(u32::from_be_bytes(bytes) as usize)
    };
    let (mut pool, mut pool_guid, mut part, mut parts) = (None, None, None, None);
    let (mut has_file, mut holes) = (None, 0);
    let mut offset = 12;
    // A pair consists of its encoded length, decoded length, name, type, count and value.
    while let Some(size) = word(offset).filter(|size| *size >= 20) {
        let end = offset.checked_add(size)?;
        let name_end = offset + 12 + word(offset + 8)?;
        let name = bytes.get(offset + 12..name_end)?;
        let value = name_end.next_multiple_of(4) + 8;
        let number = || Some(u64::from_be_bytes(bytes.get(value..value + 8)?.try_into().ok()?));
        match name {
            b"name" => {
                let text = bytes.get(value + 4..(value + 4).checked_add(word(value)?)?)?;
                pool = Some(String::from_utf8_lossy(text).into_owned());
            }
            b"pool_guid" => pool_guid = number(),
            b"top_guid" => part = number(),
            b"vdev_children" => parts = number(),
            // Removed vdevs that are still counted.
            b"hole_array" => holes = word(value - 4)? as u64,
            b"vdev_tree" => {
                // Pair `type` = `file`: type 9 is a string, count 1.
                let pair = b"\0\0\0\x04type\0\0\0\x09\0\0\0\x01\0\0\0\x04file";
                let tree = bytes.get(value..end)?;
                has_file = Some(tree.windows(pair.len()).any(|window| window == pair));
            }
            _ => {}
        }
        offset = end;
    }
    let parts = parts?.saturating_sub(holes);
    Some(ZfsLabel { pool: pool?, pool_guid, part: part?, parts, has_file: has_file? })
}

/// Returns the distinct signatures on a device or in a file.
pub(crate) fn signatures(path: &Path) -> Result<Vec<String>, HostError> {
    if let Some(formats) = by_wipefs(path) {
        return Ok(formats);
    }
    let file = File::open(path).map_err(|e| HostError::io("open it for reading", path, e))?;
    let length = length_of(&file).map_err(|e| HostError::io("read its size", path, e))?;
    let mut formats = by_magic(&file, length);
    if has_zfs_label(&file, length) {
        formats.push(ZFS_MEMBER.to_owned());
    }
    Ok(formats)
}

#[derive(Deserialize)]
struct WipefsAnswer {
    #[serde(default)]
    signatures: Vec<WipefsSignature>,
}

#[derive(Deserialize)]
struct WipefsSignature {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    label: Option<String>,
}

/// Queries `wipefs`, which only reads without `--all`; `None` if it is not installed or fails.
fn by_wipefs(path: &Path) -> Option<Vec<String>> {
    let path = path.to_str()?;
    let output = InstalledTools.run(WIPEFS, &["--no-act", "--json", path], WIPEFS_TIMEOUT).ok()?;
    parse_wipefs(&output)
}

fn parse_wipefs(output: &str) -> Option<Vec<String>> {
    let mut formats = Vec::new();
    if output.trim().is_empty() {
        return Some(formats);
    }
    let answer: WipefsAnswer = serde_json::from_str(output).ok()?;
    for WipefsSignature { kind, label } in answer.signatures {
        let name = match label {
            Some(label) if !label.is_empty() => format!("{kind} \"{label}\""),
            _ => kind,
        };
        if !formats.contains(&name) {
            formats.push(name);
        }
    }
    Some(formats)
}

fn by_magic(file: &File, length: u64) -> Vec<String> {
    let mut formats: Vec<String> = Vec::new();
    for magic in MAGICS.iter().chain(&magics_by_length(length)) {
        let mut bytes = [0u8; 16];
        let bytes = &mut bytes[..magic.bytes.len()];
        let matches = file.read_exact_at(bytes, magic.offset).is_ok() && bytes == magic.bytes;
        if matches && !formats.iter().any(|known| known == magic.format) {
            formats.push(magic.format.to_owned());
        }
    }
    if has_partition_table(file) && formats.is_empty() {
        formats.push("dos".to_owned());
    }
    formats
}

/// Returns true if the first sector has the boot signature and a partition entry. A file system's
/// boot sector has the signature too, but is recognized by its own magic.
fn has_partition_table(file: &File) -> bool {
    let mut sector = [0u8; 512];
    file.read_exact_at(&mut sector, 0).is_ok()
        && sector[510..] == [0x55, 0xaa]
        && sector[446..510].chunks_exact(16).any(|entry| entry[4] != 0)
}

/// Returns true if one of the four labels of a ZFS member contains an uberblock (ZFS On-Disk
/// Specification, chapter 1). Labels have 256 KiB; uberblocks are in the second half, at multiples
/// of 1 KiB.
fn has_zfs_label(file: &File, length: u64) -> bool {
    const UBERBLOCK: u64 = 0x00ba_b10c;
    let mut ring = vec![0u8; (ZFS_LABEL / 2) as usize];
    zfs_label_offsets(length).any(|label| {
        file.read_exact_at(&mut ring, label + ZFS_LABEL / 2).is_ok()
            && ring.chunks_exact(1024).any(|block| {
                block.starts_with(&UBERBLOCK.to_le_bytes())
                    || block.starts_with(&UBERBLOCK.to_be_bytes())
            })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file_with(length: u64, marks: &[(u64, &[u8])]) -> File {
        let file = tempfile::tempfile().unwrap();
        file.set_len(length).unwrap();
        for (offset, bytes) in marks {
            file.write_all_at(bytes, *offset).unwrap();
        }
        file
    }

    #[test]
    fn every_magic_is_found_at_its_offset_and_nowhere_else() {
        let length = (1 << 20) + 12_288 + 512;
        for magic in MAGICS.iter().chain(&magics_by_length(length)) {
            let found = |offset| by_magic(&file_with(length, &[(offset, magic.bytes)]), length);
            assert_eq!(found(magic.offset), [magic.format]);
            assert!(found(magic.offset + 1).is_empty(), "{}", magic.format);
        }
        assert!(by_magic(&file_with(100, &[]), 100).is_empty());
    }

    /// Offsets by mdadm 4.2 and mkswap of a kernel with that page size.
    #[test]
    fn superblocks_at_the_end_and_swap_of_any_page_size_are_found() {
        const MIB: u64 = 1 << 20;
        for (length, offset, magic, kind) in [
            (MIB, MIB - 65_536, MD_MAGIC, MD_MEMBER),
            (MIB + 65_024, MIB - 65_536, MD_MAGIC, MD_MEMBER),
            (MIB, MIB - 8192, MD_MAGIC, MD_MEMBER),
            (MIB + 2560, MIB - 8192, MD_MAGIC, MD_MEMBER),
            (MIB + 65_024, MIB + 53_248, MD_MAGIC, MD_MEMBER),
            (MIB, 4086, b"SWAPSPACE2", "swap"),
            (MIB, 16_374, b"SWAPSPACE2", "swap"),
            (MIB, 65_526, b"SWAPSPACE2", "swap"),
        ] {
            let file = file_with(length, &[(offset, magic)]);
            assert_eq!(by_magic(&file, length), [kind], "{length}: {offset}");
        }
    }

    #[test]
    fn a_partition_table_needs_its_end_mark_and_an_entry() {
        let end: (u64, &[u8]) = (510, &[0x55, 0xaa]);
        assert!(by_magic(&file_with(4096, &[end]), 4096).is_empty());
        assert_eq!(by_magic(&file_with(4096, &[end, (450, &[0x83])]), 4096), ["dos"]);
    }

    #[test]
    fn an_uberblock_is_found_in_each_of_the_four_labels() {
        const LABEL: u64 = 256 << 10;
        let length = 10 * LABEL + 12_345;
        for label in [0, LABEL, 8 * LABEL, 9 * LABEL] {
            for bytes in [0x00ba_b10c_u64.to_le_bytes(), 0x00ba_b10c_u64.to_be_bytes()] {
                let offset = label + LABEL / 2 + 7 * 1024;
                assert!(has_zfs_label(&file_with(length, &[(offset, &bytes)]), length), "{label}");
                assert!(!has_zfs_label(&file_with(length, &[(offset + 8, &bytes)]), length));
            }
        }
        assert!(!has_zfs_label(&file_with(100, &[]), 100));
    }

    /// A pair of a list in XDR, as libnvpair writes it: its size, the size in memory, the padded
    /// name, the type and the count.
    fn pair(name: &str, kind: u32, count: u32, value: &[u8]) -> Vec<u8> {
        let mut rest = (name.len() as u32).to_be_bytes().to_vec();
        rest.extend(padded(name));
        rest.extend(kind.to_be_bytes());
        rest.extend(count.to_be_bytes());
        rest.extend(value);
        let mut pair = (rest.len() as u32 + 8).to_be_bytes().to_vec();
        pair.extend([0, 0, 0, 64]);
        pair.extend(rest);
        pair
    }

    fn padded(text: &str) -> Vec<u8> {
        let mut bytes = text.as_bytes().to_vec();
        bytes.resize(text.len().next_multiple_of(4), 0);
        bytes
    }

    fn text(name: &str, value: &str) -> Vec<u8> {
        let mut bytes = (value.len() as u32).to_be_bytes().to_vec();
        bytes.extend(padded(value));
        pair(name, 9, 1, &bytes)
    }

    fn number(name: &str, value: u64) -> Vec<u8> {
        pair(name, 8, 1, &value.to_be_bytes())
    }

    fn list(pairs: &[Vec<u8>]) -> Vec<u8> {
        [&[0, 0, 0, 0, 0, 0, 0, 1], &pairs.concat()[..], &[0; 8]].concat()
    }

    fn label(pool: &str, part: u64, parts: u64, member: &str) -> Vec<u8> {
        let member = list(&[text("type", member), text("path", "/dev/sda1")]);
        let tree = list(&[text("type", "mirror"), pair("children", 20, 1, &member)]);
        let pairs = [
            number("version", 5000),
            text("name", pool),
            number("top_guid", part),
            number("vdev_children", parts),
            pair("vdev_tree", 19, 1, &tree),
        ];
        [&[1, 1, 0, 0][..], &list(&pairs)].concat()
    }

    #[test]
    fn a_pool_is_whole_where_its_labels_name_every_part_and_no_file() {
        let parsed = |bytes: &[u8]| parse_zfs_label(bytes).unwrap();
        let disk = |part, parts| parsed(&label("rpool", part, parts, "disk"));
        assert_eq!(
            disk(u64::MAX, 2),
            ZfsLabel {
                pool: "rpool".into(),
                pool_guid: None,
                part: u64::MAX,
                parts: 2,
                has_file: false
            }
        );
        let of_pool = |pool_guid, part| ZfsLabel { pool_guid: Some(pool_guid), ..disk(part, 2) };
        assert!(shows_whole_pool("rpool", &[of_pool(1, 7), of_pool(1, 8)]));
        assert!(!shows_whole_pool("rpool", &[of_pool(1, 7), of_pool(2, 8)]), "another pool");
        assert!(shows_whole_pool("rpool", &[disk(7, 1)]));
        assert!(shows_whole_pool("rpool", &[disk(7, 2), disk(8, 2), disk(8, 2)]));
        assert!(!shows_whole_pool("rpool", &[disk(8, 2), disk(8, 2)]), "a part is missing");
        assert!(!shows_whole_pool("rpool", &[]) && !shows_whole_pool("tank", &[disk(7, 1)]));
        let file = parsed(&label("rpool", 8, 2, "file"));
        assert!(!shows_whole_pool("rpool", &[disk(7, 2), file]));
        // A log that was removed leaves a hole.
        let mut holed = label("rpool", 7, 2, "disk");
        holed.truncate(holed.len() - 8);
        holed.extend(pair("hole_array", 11, 1, &1u64.to_be_bytes()));
        holed.extend([0; 8]);
        assert!(shows_whole_pool("rpool", &[parsed(&holed)]));
        // Cut anywhere, it is not understood, or says the same.
        let whole = label("rpool", 7, 1, "disk");
        for length in 0..whole.len() {
            let cut = parse_zfs_label(&whole[..length]);
            assert!(cut.is_none_or(|cut| cut == disk(7, 1)), "{length}");
        }
        let length = 4 << 20;
        let at = (3 << 20) + (512 << 10) + (16 << 10);
        let found = read_zfs_label(&file_with(length, &[(at, &whole)]), length);
        assert_eq!(found, Some(disk(7, 1)));
    }

    #[test]
    fn the_output_of_wipefs_is_parsed() {
        let output = r#"{"signatures": [
            {"device":"loop0","offset":"0x200","type":"gpt","uuid":"1","label":null},
            {"device":"loop0","offset":"0x3ffe00","type":"gpt","uuid":"1","label":null},
            {"device":"loop0","offset":"0x438","type":"ext4","uuid":"2","label":"root"}]}"#;
        assert_eq!(parse_wipefs(output).unwrap(), ["gpt", "ext4 \"root\""]);
        assert_eq!(parse_wipefs("").unwrap(), Vec::<String>::new());
        assert_eq!(parse_wipefs("not json"), None);
    }
}
