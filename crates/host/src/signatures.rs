//! What lies on a device and would be lost: partitions, file systems and the
//! marks of LVM, md, LUKS, swap and ZFS.
//!
//! `wipefs` knows them all and is asked where it is installed; the commonest
//! are also known here. ZFS is always looked for here, because it bars a
//! device whatever the user says.

use crate::backing::open_node;
use crate::error::HostError;
use crate::extents;
use crate::node::Node;
use crate::roots::Roots;
use crate::tool::{self, WIPEFS};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

/// The name that libblkid has for a member of a ZFS pool.
pub(crate) const ZFS_MEMBER: &str = "zfs_member";

/// A device that does not answer `wipefs` in this time is sick.
const WIPEFS_LIMIT: Duration = Duration::from_secs(30);

/// A magic number: its offset in bytes, its bytes, and what it marks, by the
/// names of libblkid. Offsets are those of the formats' own documentation.
const MAGICS: &[(u64, &[u8], &str)] = &[
    (3, b"NTFS    ", "ntfs"),
    (3, b"EXFAT   ", "exfat"),
    (54, b"FAT1", "vfat"),
    (82, b"FAT32", "vfat"),
    (0, b"XFSB", "xfs"),
    (0, b"LUKS\xba\xbe", "crypto_LUKS"),
    (0, b"\xfc\x4e\x2b\xa9", "linux_raid_member"),
    (4096, b"\xfc\x4e\x2b\xa9", "linux_raid_member"),
    (512, b"EFI PART", "gpt"),
    (4096, b"EFI PART", "gpt"),
    (0, b"LABELONE", "LVM2_member"),
    (512, b"LABELONE", "LVM2_member"),
    (1024, b"LABELONE", "LVM2_member"),
    (1536, b"LABELONE", "LVM2_member"),
    (1024, b"\x10\x20\xf5\xf2", "f2fs"),
    (1080, b"\x53\xef", "ext2/3/4"),
    (4086, b"SWAPSPACE2", "swap"),
    (4120, b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81", "bcache"),
    (65_600, b"_BHRfS_M", "btrfs"),
];

/// Everything that overwriting a device would destroy, one line each:
/// partitions with their sizes and what they hold, those that share sectors with
/// it, and what the device itself holds. Empty for a device that holds nothing
/// known.
///
/// # Errors
/// Where the device cannot be read.
pub(crate) fn losses(node: &Node, roots: &Roots) -> Result<Vec<String>, HostError> {
    let mut lines = Vec::new();
    let own = signatures(&node.path(roots))?;
    if !own.is_empty() {
        lines.push(own.join(", "));
    }
    for part in node.parts()? {
        lines.push(format!("partition {}", described(&part, roots)?));
    }
    if node.partition().is_none() {
        return Ok(lines);
    }
    let is_table = extents::is_extended(node)?;
    if is_table {
        lines.push("the partition table of the logical partitions".into());
    }
    for part in extents::partitions_beside(node)? {
        if extents::is_extended(&part)? {
            // Its table lies before the logical partition.
            continue;
        }
        let kind = if is_table { "logical" } else { "overlapping" };
        lines.push(format!("{kind} partition {}", described(&part, roots)?));
    }
    Ok(lines)
}

/// A partition's name, its size and what it holds.
fn described(part: &Node, roots: &Roots) -> Result<String, HostError> {
    let holds = signatures(&part.path(roots))?;
    let holds = if holds.is_empty() { String::new() } else { format!(": {}", holds.join(", ")) };
    Ok(format!("{} ({}){holds}", part.name, part.capacity()))
}

/// The device or the partition of it that belongs to a ZFS pool.
///
/// # Errors
/// Where the device cannot be read.
pub(crate) fn zfs_member(node: &Node, roots: &Roots) -> Result<Option<String>, HostError> {
    for part in std::iter::once(node.clone()).chain(node.parts()?) {
        let path = part.path(roots);
        let file = open_node(&part, roots, 0)
            .map_err(|e| HostError::io("open it for reading", &path, e))?;
        if has_zfs_label(&file, part.capacity().0) {
            return Ok(Some(part.name));
        }
    }
    Ok(None)
}

fn open(path: &Path) -> Result<File, HostError> {
    File::open(path).map_err(|e| HostError::io("open it for reading", path, e))
}

/// What a device or a file holds, each kind once.
pub(crate) fn signatures(path: &Path) -> Result<Vec<String>, HostError> {
    if let Some(found) = by_wipefs(path) {
        return Ok(found);
    }
    let file = open(path)?;
    let mut found = by_magic(&file);
    let length = crate::target::length_of(&file).unwrap_or(0);
    if has_zfs_label(&file, length) {
        found.push(ZFS_MEMBER.to_owned());
    }
    Ok(found)
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

/// Asks `wipefs`, which only reads when it is given no `--all`; `None` where it
/// is not installed or cannot tell.
fn by_wipefs(path: &Path) -> Option<Vec<String>> {
    let path = path.to_str()?;
    let said = tool::run(WIPEFS, &["--no-act", "--json", path], WIPEFS_LIMIT).ok()?;
    parse_wipefs(&said)
}

fn parse_wipefs(said: &str) -> Option<Vec<String>> {
    if said.trim().is_empty() {
        return Some(Vec::new());
    }
    let answer: WipefsAnswer = serde_json::from_str(said).ok()?;
    let mut seen = BTreeSet::new();
    let named = answer.signatures.into_iter().map(|signature| match signature.label {
        Some(label) if !label.is_empty() => format!("{} \"{label}\"", signature.kind),
        _ => signature.kind,
    });
    Some(named.filter(|name| seen.insert(name.clone())).collect())
}

fn by_magic(file: &File) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for &(offset, magic, kind) in MAGICS {
        let mut bytes = [0u8; 16];
        let bytes = &mut bytes[..magic.len()];
        let matches = file.read_exact_at(bytes, offset).is_ok() && bytes == magic;
        if matches && !found.iter().any(|known| known == kind) {
            found.push(kind.to_owned());
        }
    }
    if has_partition_table(file) && found.is_empty() {
        found.push("dos".to_owned());
    }
    found
}

/// Whether the first sector ends as a partition table does and has an entry. A
/// file system's boot sector ends so, too, and is told by its own magic.
fn has_partition_table(file: &File) -> bool {
    let mut sector = [0u8; 512];
    file.read_exact_at(&mut sector, 0).is_ok()
        && sector[510..] == [0x55, 0xaa]
        && sector[446..510].chunks_exact(16).any(|entry| entry[4] != 0)
}

/// Whether one of the four labels of a ZFS member holds an uberblock (ZFS
/// On-Disk Specification, chapter 1): labels of 256 KiB, two at each end, the
/// uberblocks in the second half of each, at multiples of 1 KiB.
fn has_zfs_label(file: &File, length: u64) -> bool {
    const LABEL: u64 = 256 * 1024;
    const UBERBLOCK: u64 = 0x00ba_b10c;
    let end = length - length % LABEL;
    let labels = [Some(0), Some(LABEL), end.checked_sub(2 * LABEL), end.checked_sub(LABEL)];
    let mut ring = vec![0u8; (LABEL / 2) as usize];
    labels.into_iter().flatten().any(|label| {
        file.read_exact_at(&mut ring, label + LABEL / 2).is_ok()
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
    fn every_magic_is_found_where_it_belongs_and_nowhere_else() {
        for &(offset, magic, kind) in MAGICS {
            assert_eq!(by_magic(&file_with(1 << 20, &[(offset, magic)])), [kind]);
            assert!(by_magic(&file_with(1 << 20, &[(offset + 1, magic)])).is_empty(), "{kind}");
        }
        assert!(by_magic(&file_with(100, &[])).is_empty());
    }

    #[test]
    fn a_partition_table_needs_its_end_mark_and_an_entry() {
        let end: (u64, &[u8]) = (510, &[0x55, 0xaa]);
        assert!(by_magic(&file_with(4096, &[end])).is_empty());
        assert_eq!(by_magic(&file_with(4096, &[end, (450, &[0x83])])), ["dos"]);
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

    #[test]
    fn the_answer_of_wipefs_is_read() {
        let said = r#"{"signatures": [
            {"device":"loop0","offset":"0x200","type":"gpt","uuid":"1","label":null},
            {"device":"loop0","offset":"0x3ffe00","type":"gpt","uuid":"1","label":null},
            {"device":"loop0","offset":"0x438","type":"ext4","uuid":"2","label":"root"}]}"#;
        assert_eq!(parse_wipefs(said).unwrap(), ["gpt", "ext4 \"root\""]);
        assert_eq!(parse_wipefs("").unwrap(), Vec::<String>::new());
        assert_eq!(parse_wipefs("not json"), None);
    }
}
