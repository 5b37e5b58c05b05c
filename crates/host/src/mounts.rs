//! What is mounted, and on which devices it lies.

use crate::node::{Node, parse_device_number};
use crate::roots::{Roots, entries, file_name};
use std::fs;
use std::path::{Path, PathBuf};

/// One line of `/proc/self/mountinfo` (proc(5)).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mount {
    pub number: (u32, u32),
    pub point: PathBuf,
    pub kind: String,
    pub source: String,
}

/// Everything mounted where this process can see it. What other mount
/// namespaces hold is seen by the exclusive open alone.
pub(crate) fn mounts(roots: &Roots) -> Vec<Mount> {
    let table = roots.proc.join("self/mountinfo");
    let text = fs::read(table).unwrap_or_default();
    String::from_utf8_lossy(&text).lines().filter_map(parse).collect()
}

fn parse(line: &str) -> Option<Mount> {
    let (before, after) = line.split_once(" - ")?;
    let fields: Vec<&str> = before.split(' ').collect();
    let mut after = after.split(' ');
    Some(Mount {
        number: parse_device_number(fields.get(2)?)?,
        point: PathBuf::from(unescape(fields.get(4)?)),
        kind: after.next()?.to_owned(),
        source: unescape(after.next()?),
    })
}

/// Undoes the kernel's octal escapes of blank, tab, newline and backslash.
pub(crate) fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let octal = tail.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        match octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) if first == b'\\' => {
                bytes.push(byte);
                rest = &tail[3..];
            }
            _ => {
                bytes.push(first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

impl Mount {
    /// The devices that the file system lies on. A file system with an
    /// anonymous number (btrfs) is followed by its source, and btrfs to all
    /// its members.
    pub fn nodes(&self, roots: &Roots) -> Vec<Node> {
        let (major, minor) = self.number;
        let mut nodes: Vec<Node> = Node::numbered(major, minor, roots).into_iter().collect();
        if self.source.starts_with('/') {
            nodes.extend(Node::of_path(&roots.dev_path(&self.source), roots));
        }
        if self.kind == "btrfs" {
            nodes.extend(btrfs_members(&nodes, roots));
        }
        nodes.sort();
        nodes.dedup();
        nodes
    }
}

/// Every member of each mounted btrfs that one of these devices belongs to.
fn btrfs_members(known: &[Node], roots: &Roots) -> Vec<Node> {
    entries(&roots.sys.join("fs/btrfs"))
        .iter()
        .map(|file_system| members(file_system, roots))
        .filter(|members| members.iter().any(|member| known.contains(member)))
        .flatten()
        .collect()
}

/// The members of one mounted btrfs.
fn members(file_system: &Path, roots: &Roots) -> Vec<Node> {
    entries(&file_system.join("devices"))
        .iter()
        .filter_map(|link| Node::named(&file_name(link), roots))
        .collect()
}

/// The mount that a path lies in: the one with the longest mount point, the
/// later of two at the same place.
pub(crate) fn mount_of(path: &Path, table: &[Mount]) -> Option<Mount> {
    table
        .iter()
        .filter(|mount| path.starts_with(&mount.point))
        .max_by_key(|mount| mount.point.components().count())
        .cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_mountinfo_is_read_with_its_escapes() {
        let line = "36 35 0:32 /@ /mnt/my\\040disk rw,noatime shared:1 - btrfs /dev/sdb\\0551 rw";
        assert_eq!(
            parse(line),
            Some(Mount {
                number: (0, 32),
                point: "/mnt/my disk".into(),
                kind: "btrfs".into(),
                source: "/dev/sdb-1".into(),
            })
        );
        for broken in ["", "1 2 3", "36 35 x:y / / rw - ext4 /dev/sda rw", "36 35 8:1 / / rw -"] {
            assert_eq!(parse(broken), None, "{broken}");
        }
    }

    #[test]
    fn an_incomplete_escape_is_kept_as_it_stands() {
        for (text, plain) in
            [("a\\", "a\\"), ("a\\04", "a\\04"), ("\\134x", "\\x"), ("\\999", "\\999")]
        {
            assert_eq!(unescape(text), plain);
        }
    }

    #[test]
    fn a_path_lies_in_the_innermost_and_latest_mount() {
        let mount = |point: &str, source: &str| Mount {
            number: (0, 0),
            point: point.into(),
            kind: "ext4".into(),
            source: source.into(),
        };
        let table =
            [mount("/", "a"), mount("/home", "b"), mount("/homely", "c"), mount("/home", "d")];
        let source = |path: &str| mount_of(Path::new(path), &table).map(|m| m.source);
        assert_eq!(source("/home/x").as_deref(), Some("d"));
        assert_eq!(source("/etc").as_deref(), Some("a"));
        assert_eq!(source("/homely").as_deref(), Some("c"));
    }
}
