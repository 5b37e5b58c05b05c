//! Mounts in all mount namespaces, and the devices of their file systems. `device_uses` finds
//! those of a device; `device_checks` refuses the run.

use crate::error::HostError;
use crate::processes;
use crate::sysfs_node::SysfsNode;
use crate::system_roots::{SystemRoots, entries, file_name};
use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use steadfast_domain::DeviceNumber;

/// One line of `/proc/PID/mountinfo` (proc(5)).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mount {
    pub id: u64,
    pub number: DeviceNumber,
    /// Root of the mount, as a path in the file system.
    pub root: PathBuf,
    pub point: PathBuf,
    /// Root directory of the process, which `point` is relative to.
    pub view: PathBuf,
    pub kind: String,
    pub source: String,
    /// Further devices of the file system: XFS names its log and realtime device in its options.
    pub also: Vec<String>,
    /// Options of the file system, with the kernel's escapes.
    pub options: String,
}

/// Returns all mounts in the mount namespace of this process.
///
/// # Errors
/// mountinfo cannot be read.
pub(crate) fn mounts(roots: &SystemRoots) -> Result<Vec<Mount>, HostError> {
    let table = roots.proc.join("self/mountinfo");
    read_table(&table, Path::new("/")).map_err(|error| HostError::io("read it", &table, error))
}

/// Returns the mounts at the root of process 1 and therefore of the host, even if this process has
/// another root. If a sandbox hides process 1, process 2 (a kernel thread) is in the same
/// namespace.
///
/// # Errors
/// The mounts of neither process can be read.
pub(crate) fn first_roots(roots: &SystemRoots) -> Result<Vec<Mount>, HostError> {
    let mut why = "neither process 1 nor process 2 shows where its root lies".to_owned();
    for number in ["1", "2"] {
        let process = roots.proc.join(number);
        match read_table(&process.join("mountinfo"), &process.join("root")) {
            Ok(mut table) => {
                table.retain(|mount| mount.point == Path::new("/"));
                if !table.is_empty() {
                    return Ok(table);
                }
            }
            Err(error) => why = format!("{}: {error}", process.join("mountinfo").display()),
        }
    }
    Err(HostError::Unclear { what: "disk of the host's root file system".into(), why })
}

/// Returns all mounts in the mount namespaces of all processes. Mounts in a namespace without a
/// process are detected only by the exclusive open.
///
/// # Errors
/// The list of a process that still exists cannot be read.
pub(crate) fn mounts_everywhere(roots: &SystemRoots) -> Result<Vec<Mount>, HostError> {
    let mut all_mounts = mounts(roots)?;
    let mut seen: BTreeSet<MountView> =
        MountView::read(&roots.proc.join("self")).into_iter().collect();
    processes::visit_threads(roots, |process, thread| {
        let table = thread.join("mountinfo");
        let new_mounts = processes::examine(process, roots, || {
            let view = MountView::read(thread)?;
            if seen.contains(&view) {
                return Ok(None);
            }
            Ok(Some((view, read_table(&table, &thread.join("root"))?)))
        });
        let failed = |error| HostError::io("read its mounts", &table, error);
        if let Some((view, mounts)) = new_mounts.map_err(failed)?.flatten() {
            seen.insert(view);
            all_mounts.extend(mounts);
        }
        Ok(())
    })?;
    Ok(all_mounts)
}

/// Identity of a process's view of the mounts: its namespace and its root directory, because
/// mountinfo omits mounts outside that directory.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct MountView {
    namespace: PathBuf,
    root: (u64, u64),
}

impl MountView {
    fn read(process: &Path) -> io::Result<MountView> {
        let namespace = fs::read_link(process.join("ns/mnt"))?;
        let root = fs::metadata(process.join("root"))?;
        Ok(MountView { namespace, root: (root.dev(), root.ino()) })
    }
}

fn read_table(table: &Path, view: &Path) -> io::Result<Vec<Mount>> {
    let text = fs::read(table)?;
    let text = String::from_utf8_lossy(&text);
    let unknown = |line: &str| io::Error::other(format!("the line '{line}' is not understood"));
    text.lines().map(|line| parse_mount(line, view).ok_or_else(|| unknown(line))).collect()
}

/// Parses a line of mountinfo.
pub(crate) fn parse_mount(line: &str, view: &Path) -> Option<Mount> {
    let (before, after) = line.split_once(" - ")?;
    let fields: Vec<&str> = before.split(' ').collect();
    let mut after = after.split(' ');
    let kind = after.next()?.to_owned();
    let source = unescape(after.next()?);
    let options = after.next().unwrap_or_default();
    let also = |option: &str| {
        let device = option.strip_prefix("logdev=").or(option.strip_prefix("rtdev="))?;
        Some(unescape(device))
    };
    Some(Mount {
        id: fields.first()?.parse().ok()?,
        number: fields.get(2)?.parse().ok()?,
        root: PathBuf::from(unescape(fields.get(3)?)),
        point: PathBuf::from(unescape(fields.get(4)?)),
        view: view.to_owned(),
        kind,
        source,
        also: options.split(',').filter_map(also).collect(),
        options: options.to_owned(),
    })
}

/// Decodes the kernel's octal escapes of blank, tab, newline and backslash.
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
    /// Returns the ID of the process in whose mount namespace it was found; `None` for our own.
    pub(crate) fn process(&self, roots: &SystemRoots) -> Option<String> {
        let process = self.view.strip_prefix(&roots.proc).ok()?.iter().next()?;
        Some(process.to_string_lossy().into_owned())
    }

    /// Returns the devices of the file system, by device number. A file system with an anonymous
    /// number (btrfs) is resolved by its source, and btrfs to all its members.
    pub fn nodes(&self, roots: &SystemRoots) -> Vec<SysfsNode> {
        let mut nodes: Vec<SysfsNode> =
            SysfsNode::from_number(self.number, roots).into_iter().collect();
        let named = self.also.iter().chain(nodes.is_empty().then_some(&self.source));
        let named: Vec<SysfsNode> = named
            .filter(|path| path.starts_with('/'))
            .filter_map(|path| SysfsNode::from_path(&roots.dev_path(path), roots))
            .collect();
        nodes.extend(named);
        if self.kind == "btrfs" {
            nodes.extend(btrfs_members(&nodes, roots));
        }
        nodes.sort();
        nodes.dedup();
        nodes
    }
}

/// Returns all members of each mounted btrfs that includes one of these devices.
fn btrfs_members(known: &[SysfsNode], roots: &SystemRoots) -> Vec<SysfsNode> {
    entries(&roots.sys.join("fs/btrfs"))
        .iter()
        .map(|file_system| members(file_system, roots))
        .filter(|members| members.iter().any(|member| known.contains(member)))
        .flatten()
        .collect()
}

/// Returns the members of one mounted btrfs.
fn members(file_system: &Path, roots: &SystemRoots) -> Vec<SysfsNode> {
    entries(&file_system.join("devices"))
        .iter()
        .filter_map(|link| SysfsNode::from_name(&file_name(link), roots))
        .collect()
}

/// Returns the mount that contains a canonical path: the one with the mount ID that the kernel
/// reports for the path, otherwise the one with the longest mount point, and of two at the same
/// mount point the later one.
pub(crate) fn mount_of(path: &Path, table: &[Mount]) -> Option<Mount> {
    let above: Vec<&Mount> = table.iter().filter(|mount| path.starts_with(&mount.point)).collect();
    let id = mount_id(path);
    let with_id = above.iter().filter(|mount| Some(mount.id) == id).copied();
    let longest = |mount: &&Mount| mount.point.components().count();
    with_id.max_by_key(longest).or_else(|| above.iter().copied().max_by_key(longest)).cloned()
}

/// Returns the mount ID (as in mountinfo) of a path, following links; `None` if the kernel does not
/// report it.
pub(crate) fn mount_id(path: &Path) -> Option<u64> {
    statx_mount_id(CWD, path, AtFlags::NO_AUTOMOUNT)
}

/// Returns the ID (as in mountinfo) of the mount through which a file was opened; `None` if the
/// kernel does not report it.
pub(crate) fn mount_id_of(file: &File) -> Option<u64> {
    statx_mount_id(file, Path::new(""), AtFlags::EMPTY_PATH | AtFlags::NO_AUTOMOUNT)
}

fn statx_mount_id(directory: impl AsFd, path: &Path, flags: AtFlags) -> Option<u64> {
    let status = statx(directory, path, flags, StatxFlags::MNT_ID).ok()?;
    (status.stx_mask & StatxFlags::MNT_ID.bits() != 0).then_some(status.stx_mnt_id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::machine::MachineFixture;

    #[test]
    fn a_line_of_mountinfo_is_read_with_its_escapes() {
        let line = "36 35 0:32 /@ /mnt/my\\040disk rw,noatime shared:1 - xfs /dev/sdb\\0551 \
                    rw,noquota,logdev=/dev/sdc1,rtdev=/dev/my\\040disk";
        assert_eq!(
            parse_mount(line, Path::new("/proc/7/root")),
            Some(Mount {
                id: 36,
                number: DeviceNumber::new(0, 32),
                root: "/@".into(),
                point: "/mnt/my disk".into(),
                view: "/proc/7/root".into(),
                kind: "xfs".into(),
                source: "/dev/sdb-1".into(),
                also: vec!["/dev/sdc1".into(), "/dev/my disk".into()],
                options: "rw,noquota,logdev=/dev/sdc1,rtdev=/dev/my\\040disk".into(),
            })
        );
        for broken in ["", "1 2 3", "36 35 x:y / / rw - ext4 /dev/sda rw", "36 35 8:1 / / rw -"] {
            assert_eq!(parse_mount(broken, Path::new("/")), None, "{broken}");
        }
    }

    #[test]
    fn an_incomplete_escape_is_kept() {
        for (text, plain) in
            [("a\\", "a\\"), ("a\\04", "a\\04"), ("\\134x", "\\x"), ("\\999", "\\999")]
        {
            assert_eq!(unescape(text), plain);
        }
    }

    #[test]
    fn a_path_lies_in_the_innermost_and_latest_mount() {
        let mount = |point: &str, source: &str| {
            let line = format!("{} 1 0:0 / {point} rw - ext4 {source} rw", u64::MAX);
            parse_mount(&line, Path::new("/")).unwrap()
        };
        let table =
            [mount("/", "a"), mount("/home", "b"), mount("/homely", "c"), mount("/home", "d")];
        let source = |path: &str| mount_of(Path::new(path), &table).map(|m| m.source);
        assert_eq!(source("/home/x").as_deref(), Some("d"));
        assert_eq!(source("/etc").as_deref(), Some("a"));
        assert_eq!(source("/homely").as_deref(), Some("c"));
    }

    #[test]
    fn mounts_of_other_namespaces_are_seen_and_a_list_that_cannot_be_read_is_an_error() {
        let machine = MachineFixture::new();
        machine.mount(&[("8:1", "/", "ext4", "/dev/sda1")]);
        for (process, namespace) in [(7, "mnt:[1]"), (8, "mnt:[2]"), (9, "mnt:[2]")] {
            machine.process(process);
            machine.relink(&format!("proc/{process}/ns/mnt"), namespace);
        }
        let line = "40 1 8:17 / /inner rw - xfs /dev/sdb1 rw\n";
        machine.write("proc/8/mountinfo", line);
        let points = |machine: &MachineFixture| -> Vec<PathBuf> {
            mounts_everywhere(&machine.roots).unwrap().into_iter().map(|m| m.point).collect()
        };
        assert_eq!(points(&machine), [Path::new("/"), Path::new("/inner")]);
        // If the first process of a namespace has just ended, the next one is read.
        fs::remove_file(machine.path("proc/8/mountinfo")).unwrap();
        machine.write("proc/9/mountinfo", line);
        assert_eq!(points(&machine).len(), 2);
        machine.write("proc/9/mountinfo", "no such line\n");
        let error = mounts_everywhere(&machine.roots).unwrap_err().to_string();
        assert!(error.contains("'no such line' is not understood"), "{error}");
        fs::remove_file(machine.path("proc/self/mountinfo")).unwrap();
        assert!(mounts(&machine.roots).is_err() && mounts_everywhere(&machine.roots).is_err());
    }
}
