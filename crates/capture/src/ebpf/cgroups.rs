//! The cgroup hierarchy that is captured, where a host has several, and the small numbers by which
//! the programs refer to its cgroups (bpf/cgroups.h).

use super::plain;
use super::programs::AttachedPrograms;
use crate::error::CaptureError;
use crate::paths::unescaped;
use crate::tree;
use std::fs;
use std::path::PathBuf;

/// Maximum number of cgroups counted when a hierarchy is chosen.
const COUNT_MAX: usize = 1 << 14;

/// Name of the programs' map of cgroup numbers.
pub(super) const NUMBERS: &str = "cgroup_numbers";

/// A cgroup hierarchy: version 2, or that of one controller (version 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CgroupHierarchy {
    /// Number in the programs' settings, from 1.
    number: u32,
    /// `None` for version 2.
    controller: Option<&'static str>,
}

/// Controllers of the hierarchies in the order of their numbers.
const CONTROLLERS: [Option<&str>; 8] = [
    None,
    Some("blkio"),
    Some("memory"),
    Some("pids"),
    Some("cpu"),
    Some("cpuset"),
    Some("devices"),
    Some("freezer"),
];

impl CgroupHierarchy {
    fn all() -> impl Iterator<Item = CgroupHierarchy> {
        (1..).zip(CONTROLLERS).map(|(number, controller)| CgroupHierarchy { number, controller })
    }

    /// Returns the number of the captured hierarchy in the programs' settings; 0 if cgroups are not
    /// captured.
    pub(super) fn number(captured: Option<CgroupHierarchy>) -> u32 {
        captured.map_or(0, |hierarchy| hierarchy.number)
    }

    /// Returns `v2`, or for version 1 `v1, ` and the controller.
    pub(crate) fn describe(self) -> String {
        match self.controller {
            None => "v2".to_owned(),
            Some(controller) => format!("v1, {controller}"),
        }
    }
}

/// Returns the hierarchy with the most cgroups and its mount point, or `None` if none is mounted as
/// a whole. Containers and services are in every hierarchy in use, while a host on version 1 may
/// have version 2 mounted with a single cgroup in it. Directories are counted, because the kernel's
/// own count (/proc/cgroups) includes removed cgroups that are not freed yet.
pub(crate) fn largest_hierarchy() -> Option<(CgroupHierarchy, PathBuf)> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let (mut best, mut most) = (None, 0);
    for hierarchy in CgroupHierarchy::all() {
        let Some(mount_point) = mount_point(&mounts, hierarchy.controller) else { continue };
        let count = tree::directories(&mount_point).take(COUNT_MAX).count();
        if best.is_none() || count > most {
            most = count;
            best = Some((hierarchy, mount_point));
        }
    }
    best
}

/// Returns the mount point of a hierarchy mounted from its root, from the lines of
/// /proc/PID/mountinfo.
fn mount_point(mounts: &str, controller: Option<&str>) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let (mount, file_system) = line.split_once(" - ")?;
        let mut mount = mount.split(' ').skip(3);
        let (root, mount_point) = (mount.next()?, mount.next()?);
        let mut file_system = file_system.split(' ');
        let (kind, options) = (file_system.next()?, file_system.nth(1)?);
        let is_hierarchy = match controller {
            None => kind == "cgroup2",
            Some(controller) => kind == "cgroup" && options.split(',').any(|o| o == controller),
        };
        (is_hierarchy && root == "/").then(|| unescaped(mount_point))
    })
}

/// Calls `show` for every numbered cgroup with its small number and the kernel's ID.
pub(super) fn numbered(
    programs: &AttachedPrograms,
    show: &mut dyn FnMut(u16, u64),
) -> Result<(), CaptureError> {
    programs.each_pair(NUMBERS, |id, number| {
        let (id, number) = (plain::read::<u64>(id), plain::read::<u32>(number));
        if let (Some(id), Some(Ok(number))) = (id, number.map(u16::try_from)) {
            show(number, id);
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
31 23 0:27 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory
33 23 0:29 /docker/x /mnt/part rw - cgroup cgroup rw,pids
34 23 0:30 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
35 23 0:31 / /mnt/a\\040blank rw - cgroup cgroup rw,devices
32 23 0:28 / /sys/fs/cgroup/unified rw,nosuid - cgroup2 cgroup2 rw
";

    #[test]
    fn a_hierarchy_is_found_where_all_of_it_is_mounted() {
        let found = |controller| mount_point(MOUNTS, controller);
        assert_eq!(found(None), Some("/sys/fs/cgroup/unified".into()));
        assert_eq!(found(Some("memory")), Some("/sys/fs/cgroup/memory".into()));
        assert_eq!(found(Some("cpu")), Some("/sys/fs/cgroup/cpu,cpuacct".into()));
        assert_eq!(found(Some("devices")), Some("/mnt/a blank".into()));
        assert_eq!(found(Some("pids")), None, "a part of it is mounted");
        assert_eq!(found(Some("blkio")), None);
    }

    #[test]
    fn programs_know_a_hierarchy_by_its_number() {
        assert_eq!(CgroupHierarchy::number(None), 0);
        assert_eq!(CgroupHierarchy::number(CgroupHierarchy::all().last()), 8);
        let memory = CgroupHierarchy::all().nth(2).unwrap();
        assert_eq!((memory.number, memory.describe()), (3, "v1, memory".to_owned()));
    }
}
