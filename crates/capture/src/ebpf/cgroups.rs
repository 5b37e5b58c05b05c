//! The cgroup hierarchy that is captured, where a host has several, and the small numbers by which
//! the programs refer to its cgroups (bpf/cgroups.h).

use super::plain;
use super::programs::AttachedPrograms;
use crate::error::CaptureError;
use crate::tree;
use std::fs;
use std::path::PathBuf;

/// Maximum number of cgroups counted when a hierarchy is chosen.
const COUNTED: usize = 1 << 14;

/// Name of the programs' map of cgroup numbers.
pub(super) const NUMBERS: &str = "cgroup_numbers";

/// A cgroup hierarchy: version 2, or that of one controller (version 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum CgroupHierarchy {
    Unified = 1,
    Blkio,
    Memory,
    Pids,
    Cpu,
    Cpuset,
    Devices,
    Freezer,
}

impl CgroupHierarchy {
    const ALL: [CgroupHierarchy; 8] = [
        CgroupHierarchy::Unified,
        CgroupHierarchy::Blkio,
        CgroupHierarchy::Memory,
        CgroupHierarchy::Pids,
        CgroupHierarchy::Cpu,
        CgroupHierarchy::Cpuset,
        CgroupHierarchy::Devices,
        CgroupHierarchy::Freezer,
    ];

    /// Returns the hierarchy's number in the programs' settings; 0 if cgroups are not captured.
    pub(super) fn number(chosen: Option<CgroupHierarchy>) -> u32 {
        chosen.map_or(0, |hierarchy| hierarchy as u32)
    }

    /// Returns the controller's name, or `None` for version 2.
    fn controller(self) -> Option<&'static str> {
        match self {
            CgroupHierarchy::Unified => None,
            CgroupHierarchy::Blkio => Some("blkio"),
            CgroupHierarchy::Memory => Some("memory"),
            CgroupHierarchy::Pids => Some("pids"),
            CgroupHierarchy::Cpu => Some("cpu"),
            CgroupHierarchy::Cpuset => Some("cpuset"),
            CgroupHierarchy::Devices => Some("devices"),
            CgroupHierarchy::Freezer => Some("freezer"),
        }
    }

    /// Returns `v2`, or for version 1 `v1, ` and the controller.
    pub(crate) fn describe(self) -> String {
        match self.controller() {
            None => "v2".to_owned(),
            Some(controller) => format!("v1, {controller}"),
        }
    }
}

/// Returns the hierarchy with the most cgroups and its mount point, or `None` if none is mounted as
/// a whole. Containers and services are in every hierarchy in use, while a host on version 1 may
/// have version 2 mounted with a single cgroup in it. Directories are counted, because the kernel's
/// own count (/proc/cgroups) includes removed cgroups that are not freed yet.
pub(crate) fn chosen() -> Option<(CgroupHierarchy, PathBuf)> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let mut best: Option<(usize, CgroupHierarchy, PathBuf)> = None;
    for hierarchy in CgroupHierarchy::ALL {
        let Some(place) = mounted(&mounts, hierarchy) else { continue };
        let count = tree::directories(&place).take(COUNTED).count();
        if best.as_ref().is_none_or(|(most, ..)| count > *most) {
            best = Some((count, hierarchy, place));
        }
    }
    best.map(|(_, hierarchy, place)| (hierarchy, place))
}

/// Returns the mount point of a hierarchy mounted from its root, from the lines of
/// /proc/PID/mountinfo.
fn mounted(mounts: &str, hierarchy: CgroupHierarchy) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let (place, kind) = line.split_once(" - ")?;
        let mut place = place.split(' ').skip(3);
        let (root, point) = (place.next()?, place.next()?);
        let mut kind = kind.split(' ');
        let (name, options) = (kind.next()?, kind.nth(1)?);
        let is_it = match hierarchy.controller() {
            None => name == "cgroup2",
            Some(controller) => name == "cgroup" && options.split(',').any(|o| o == controller),
        };
        (is_it && root == "/").then(|| PathBuf::from(point))
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
32 23 0:28 / /sys/fs/cgroup/unified rw,nosuid - cgroup2 cgroup2 rw
";

    #[test]
    fn a_hierarchy_is_found_where_all_of_it_is_mounted() {
        let found = |hierarchy| mounted(MOUNTS, hierarchy);
        assert_eq!(found(CgroupHierarchy::Unified), Some("/sys/fs/cgroup/unified".into()));
        assert_eq!(found(CgroupHierarchy::Memory), Some("/sys/fs/cgroup/memory".into()));
        assert_eq!(found(CgroupHierarchy::Cpu), Some("/sys/fs/cgroup/cpu,cpuacct".into()));
        assert_eq!(found(CgroupHierarchy::Pids), None, "a part of it is mounted");
        assert_eq!(found(CgroupHierarchy::Blkio), None);
    }

    #[test]
    fn programs_know_a_hierarchy_by_its_number() {
        assert_eq!(CgroupHierarchy::number(None), 0);
        assert_eq!(CgroupHierarchy::number(Some(CgroupHierarchy::Freezer)), 8);
        assert_eq!(CgroupHierarchy::Memory.describe(), "v1, memory");
    }
}
