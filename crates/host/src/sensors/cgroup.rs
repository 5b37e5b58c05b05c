//! The control groups that this program runs in: their limits, how long a processor quota has
//! throttled it, and how often a memory limit was reached. Versions 1 and 2
//! (Documentation/admin-guide/cgroup-v1 and -v2).

use crate::device_uses::NodeAndDisk;
use crate::sysfs_node::SysfsNode;
use crate::system_roots::{SystemRoots, read_number, read_text};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};
use steadfast_domain::measurement::{CgroupLimit, CpuThrottling, SensorReadings};
use steadfast_domain::{Bytes, Device, DeviceNumber, Nanos};

/// Version 1 reports the largest multiple of the page size if memory has no limit.
const NO_MEMORY_LIMIT: u64 = 1 << 62;

/// Default weight of a group: of version 2, and of version 1.
const DEFAULT_WEIGHTS: [u64; 2] = [100, 500];

/// The control groups of this process, for each controller from its own group to the topmost
/// visible one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OwnCgroups {
    /// Directory in which the controllers are mounted.
    mounts: PathBuf,
    cpu: Vec<PathBuf>,
    io: Vec<PathBuf>,
    memory: Vec<PathBuf>,
}

/// Reads what limits this program's use of one device.
pub struct CgroupSensor {
    roots: SystemRoots,
    /// Numbers of the device and its disk.
    numbers: BTreeSet<DeviceNumber>,
}

impl CgroupSensor {
    /// Creates a sensor of the limits for this device.
    pub fn new(device: &Device, roots: &SystemRoots) -> CgroupSensor {
        let NodeAndDisk { node, disk } = NodeAndDisk::find(device, roots);
        let numbers = [node, disk].iter().flatten().filter_map(SysfsNode::device_number).collect();
        CgroupSensor { roots: roots.clone(), numbers }
    }

    /// Reads the limits and counts; `None` if the kernel does not report this program's groups.
    /// The groups are looked up each time, because another program may move this one.
    pub fn read(&self) -> Option<CgroupReading> {
        let groups = OwnCgroups::of_this_process(&self.roots)?;
        let io_limits = self.numbers.iter().flat_map(|number| groups.io_limits(*number)).collect();
        Some(CgroupReading {
            has_quota: groups.cpu_quota().is_some(),
            quotas: groups.throttlings(),
            io_limits,
            memory: groups.memory_counts(),
        })
    }
}

/// Limits and counts of this program's control groups at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CgroupReading {
    has_quota: bool,
    /// Throttling so far, per group.
    quotas: BTreeMap<PathBuf, CpuThrottling>,
    /// Limits for the device.
    io_limits: Vec<CgroupLimit>,
    /// Times so far that memory was at its limit, per group and kind of limit.
    memory: Vec<CgroupLimit>,
}

impl CgroupReading {
    /// Fills in what limited the program since an earlier reading.
    pub fn fill(&self, earlier: &CgroupReading, sensed: &mut SensorReadings) {
        sensed.cpu_throttling = self.throttling_since(earlier);
        // A limit that was set or removed meanwhile was in force for a part of the time.
        let mut limits = earlier.io_limits.clone();
        limits.extend(
            self.io_limits.iter().filter(|limit| !earlier.io_limits.contains(limit)).cloned(),
        );
        limits.extend(self.memory_since(earlier));
        sensed.cgroup_limits = limits;
    }

    /// Returns the throttling of the group that was throttled longest; `None` without a quota.
    fn throttling_since(&self, earlier: &CgroupReading) -> Option<CpuThrottling> {
        let groups = self.quotas.iter().filter(|_| self.has_quota || earlier.has_quota);
        let since = groups.filter_map(|(group, now)| {
            let before = earlier.quotas.get(group)?;
            Some(CpuThrottling {
                periods: now.periods.saturating_sub(before.periods),
                time: now.time.saturating_sub(before.time),
            })
        });
        since.max_by_key(|throttling| throttling.time)
    }

    /// Returns the memory limits that were reached.
    fn memory_since(&self, earlier: &CgroupReading) -> Vec<CgroupLimit> {
        let reached = self.memory.iter().filter_map(|now| {
            let is_same =
                |before: &&CgroupLimit| (&before.group, &before.file) == (&now.group, &now.file);
            let before = earlier.memory.iter().find(is_same)?;
            let reached = now.reached?.saturating_sub(before.reached?);
            // The limit may have been removed since.
            let set = if now.set.is_empty() { &before.set } else { &now.set };
            let limit = CgroupLimit { set: set.clone(), reached: Some(reached), ..now.clone() };
            (reached > 0).then_some(limit)
        });
        reached.collect()
    }
}

impl OwnCgroups {
    /// Reads the groups of this process; `None` if the kernel does not report them.
    pub fn of_this_process(roots: &SystemRoots) -> Option<OwnCgroups> {
        let text = fs::read_to_string(roots.proc.join("self/cgroup")).ok()?;
        let mounts = roots.sys.join("fs/cgroup");
        let mut groups = OwnCgroups { mounts, cpu: Vec::new(), io: Vec::new(), memory: Vec::new() };
        for line in text.lines() {
            let mut fields = line.splitn(3, ':');
            let (Some(_), Some(controllers), Some(path)) =
                (fields.next(), fields.next(), fields.next())
            else {
                continue;
            };
            if controllers.is_empty() {
                let levels = unified_levels(path, roots);
                for group in [&mut groups.cpu, &mut groups.io, &mut groups.memory] {
                    group.extend(levels.iter().cloned());
                }
            }
            for controller in controllers.split(',') {
                // Version 1 throttles I/O by the limits of a group alone, not by those above it.
                let (group, most) = match controller {
                    "cpu" => (&mut groups.cpu, usize::MAX),
                    "blkio" => (&mut groups.io, 1),
                    "memory" => (&mut groups.memory, usize::MAX),
                    _ => continue,
                };
                // The mount is named after all of its controllers or after this one.
                let mount = [controllers, controller]
                    .into_iter()
                    .map(|name| groups.mounts.join(name))
                    .find(|mount| mount.is_dir());
                group.extend(mount.iter().flat_map(|mount| levels(mount, path)).take(most));
            }
        }
        let is_found = !(groups.cpu.is_empty() && groups.io.is_empty() && groups.memory.is_empty());
        is_found.then_some(groups)
    }

    /// Returns the smallest processor quota, in processors; `None` if there is no quota.
    pub fn cpu_quota(&self) -> Option<f64> {
        self.cpu.iter().filter_map(|group| quota(group)).min_by(f64::total_cmp)
    }

    /// Reads the throttling so far of each group that reports it.
    fn throttlings(&self) -> BTreeMap<PathBuf, CpuThrottling> {
        let counted = |group: &PathBuf| Some((group.clone(), throttling(group)?));
        self.cpu.iter().filter_map(counted).collect()
    }

    /// Reads how often memory was at a limit so far, per group and kind of limit; `set` is empty
    /// where there is no limit.
    fn memory_counts(&self) -> Vec<CgroupLimit> {
        let mut counts = Vec::new();
        for group in &self.memory {
            // `memory.events` of a group counts what other groups in it reached, too.
            let events = read_text(&group.join("memory.events.local"))
                .or_else(|| read_text(&group.join("memory.events")));
            let event = |name| field(events.as_deref()?, name);
            for (file, reached) in [
                ("memory.high", event("high")),
                ("memory.max", event("max")),
                ("memory.limit_in_bytes", read_number(&group.join("memory.failcnt"))),
            ] {
                let Some(reached) = reached else { continue };
                let limit = read_number::<u64>(&group.join(file));
                let set = limit.filter(|limit| *limit < NO_MEMORY_LIMIT);
                let set = set.map_or_else(String::new, |limit| limit.to_string());
                counts.push(CgroupLimit { reached: Some(reached), ..self.limit(group, file, set) });
            }
        }
        counts
    }

    fn limit(&self, group: &Path, file: impl Into<String>, set: impl Into<String>) -> CgroupLimit {
        let group = group.strip_prefix(&self.mounts).unwrap_or(group);
        let group = format!("/{}", group.display());
        CgroupLimit { group, file: file.into(), set: set.into(), reached: None }
    }

    /// Returns the limits of rates for the block device with this number. A target of `io.latency`
    /// is none: it limits other groups for the sake of this one.
    pub fn io_limits(&self, number: DeviceNumber) -> Vec<CgroupLimit> {
        let number = number.to_string();
        let mut limits = Vec::new();
        for group in &self.io {
            let rest = line_of(&group.join("io.max"), &number).unwrap_or_default();
            let set: Vec<&str> =
                rest.split_whitespace().filter(|part| !part.ends_with("=max")).collect();
            if !set.is_empty() {
                limits.push(self.limit(group, "io.max", set.join(" ")));
            }
            for rate in ["read_bps", "write_bps", "read_iops", "write_iops"] {
                let file = format!("blkio.throttle.{rate}");
                if let Some(rest) = line_of(&group.join(format!("{file}_device")), &number) {
                    limits.push(self.limit(group, file, rest));
                }
            }
        }
        limits
    }

    /// Returns the I/O weights that differ from the default. They matter as soon as other groups
    /// compete.
    pub fn io_weights(&self) -> Vec<String> {
        let files = ["io.weight", "io.bfq.weight", "blkio.weight", "blkio.bfq.weight"];
        let mut weights = Vec::new();
        for group in &self.io {
            for file in files {
                let text = read_text(&group.join(file)).unwrap_or_default();
                let weight = text.lines().next().map(|line| line.trim_start_matches("default "));
                let weight = weight.and_then(|weight| weight.trim().parse::<u64>().ok());
                if let Some(weight) = weight.filter(|weight| !DEFAULT_WEIGHTS.contains(weight)) {
                    weights.push(format!("{file} {weight}"));
                }
            }
        }
        weights
    }

    /// Returns the room below the tightest limit; `None` without a limit.
    pub fn memory_room(&self) -> Option<MemoryRoom> {
        let files = [
            ("memory.high", "memory.current"),
            ("memory.max", "memory.current"),
            ("memory.limit_in_bytes", "memory.usage_in_bytes"),
        ];
        let mut rooms = Vec::new();
        for group in &self.memory {
            for (limit, used) in files {
                let limit =
                    read_number::<u64>(&group.join(limit)).filter(|limit| *limit < NO_MEMORY_LIMIT);
                let used = read_number::<u64>(&group.join(used));
                if let (Some(limit), Some(used)) = (limit, used) {
                    let free = Bytes(limit.saturating_sub(used));
                    rooms.push(MemoryRoom { free, limit: Bytes(limit) });
                }
            }
        }
        rooms.into_iter().min()
    }
}

/// Memory that a control group leaves to its processes. The least room comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct MemoryRoom {
    /// Memory that is free below the limit.
    pub free: Bytes,
    /// The limit.
    pub limit: Bytes,
}

/// Returns the levels of a version 2 group, which is mounted alone or next to version 1.
fn unified_levels(path: &str, roots: &SystemRoots) -> Vec<PathBuf> {
    let root = roots.sys.join("fs/cgroup");
    let mounts = [root.join("unified"), root];
    let mount = mounts.iter().find(|mount| mount.join("cgroup.procs").is_file());
    mount.map(|mount| levels(mount, path)).unwrap_or_default()
}

/// Returns a group and its ancestors up to the mount. In a container, the mount is the group
/// itself, even if the kernel reports another path.
fn levels(mount: &Path, path: &str) -> Vec<PathBuf> {
    let relative = Path::new(path.trim_start_matches('/'));
    let is_plain = relative.components().all(|part| matches!(part, Component::Normal(_)));
    let group = mount.join(relative);
    if !is_plain || !group.is_dir() {
        return vec![mount.to_owned()];
    }
    group.ancestors().take_while(|level| level.starts_with(mount)).map(Path::to_owned).collect()
}

/// Returns a group's processor quota, in processors; `None` if it has none.
fn quota(group: &Path) -> Option<f64> {
    let (quota, period) = match read_text(&group.join("cpu.max")) {
        Some(text) => {
            let (quota, period) = text.split_once(' ')?;
            (quota.parse::<f64>().ok()?, period.trim().parse::<f64>().ok()?)
        }
        None => (
            read_number::<f64>(&group.join("cpu.cfs_quota_us"))?,
            read_number::<f64>(&group.join("cpu.cfs_period_us"))?,
        ),
    };
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

fn throttling(group: &Path) -> Option<CpuThrottling> {
    let text = fs::read_to_string(group.join("cpu.stat")).ok()?;
    let micros = field(&text, "throttled_usec").map(|micros| micros.saturating_mul(1000));
    let time = Nanos(micros.or_else(|| field(&text, "throttled_time"))?);
    Some(CpuThrottling { periods: field(&text, "nr_throttled")?, time })
}

/// Returns the number in the line that begins with this name.
fn field(text: &str, name: &str) -> Option<u64> {
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
    value.trim().parse().ok()
}

/// Returns the rest of the line that begins with the device's number.
fn line_of(file: &Path, number: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let rest = text.lines().find_map(|line| line.strip_prefix(number)?.strip_prefix(' '))?;
    Some(rest.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::machine::MachineFixture;

    fn write_groups(machine: &MachineFixture, files: &[(&str, &str)]) {
        for (file, text) in files {
            machine.write(&format!("sys/fs/cgroup/{file}"), text);
        }
    }

    fn throttled(periods: u64, millis: u64) -> CpuThrottling {
        CpuThrottling { periods, time: Nanos::from_millis(millis) }
    }

    #[test]
    fn the_limits_of_version_2_are_found_on_every_level() {
        let machine = MachineFixture::new();
        machine.write("proc/self/cgroup", "0::/box/inner\n");
        write_groups(
            &machine,
            &[
                ("cgroup.procs", ""),
                ("box/cpu.max", "50000 100000\n"),
                (
                    "box/cpu.stat",
                    "usage_usec 9\nnr_periods 8\nnr_throttled 3\nthrottled_usec 70000\n",
                ),
                ("box/inner/cpu.max", "max 100000\n"),
                ("box/inner/io.max", "8:0 rbps=max wbps=1048576 riops=max wiops=50\n"),
                ("box/inner/io.weight", "default 10\n"),
                ("box/io.weight", "default 100\n"),
                ("box/memory.high", "max\n"),
                ("box/memory.max", "1000000\n"),
                ("box/memory.current", "400000\n"),
            ],
        );
        let groups = OwnCgroups::of_this_process(&machine.roots).unwrap();
        assert_eq!(groups.cpu_quota(), Some(0.5));
        let limit = CgroupLimit {
            group: "/box/inner".into(),
            file: "io.max".into(),
            set: "wbps=1048576 wiops=50".into(),
            reached: None,
        };
        assert_eq!(groups.io_limits(DeviceNumber::new(8, 0)), [limit]);
        assert_eq!(groups.io_limits(DeviceNumber::new(8, 16)), []);
        assert_eq!(groups.io_weights(), ["io.weight 10"]);
        let expected = MemoryRoom { free: Bytes(600_000), limit: Bytes(1_000_000) };
        assert_eq!(groups.memory_room(), Some(expected));
    }

    /// Reads twice, with these changes in between. Returns what the step between them records.
    fn sensed_between(machine: &MachineFixture, changes: &[(&str, &str)]) -> SensorReadings {
        let sensor = CgroupSensor {
            roots: machine.roots.clone(),
            numbers: [DeviceNumber::new(8, 0)].into(),
        };
        let before = sensor.read().unwrap();
        write_groups(machine, changes);
        let mut sensed = SensorReadings::default();
        sensor.read().unwrap().fill(&before, &mut sensed);
        sensed
    }

    fn texts(sensed: &SensorReadings) -> Vec<String> {
        sensed.cgroup_limits.iter().map(CgroupLimit::to_string).collect()
    }

    #[test]
    fn a_step_records_every_limit_of_version_2_during_it() {
        let machine = MachineFixture::new();
        machine.write("proc/self/cgroup", "0::/box/inner\n");
        write_groups(
            &machine,
            &[
                ("cgroup.procs", ""),
                ("box/cpu.max", "max 100000\n"),
                ("box/cpu.stat", "nr_throttled 3\nthrottled_usec 70000\n"),
                ("box/inner/io.max", "8:0 rbps=max wbps=max riops=max wiops=max\n"),
                ("box/memory.high", "max\n"),
                ("box/memory.max", "max\n"),
                ("box/memory.events.local", "low 0\nhigh 7\nmax 0\noom 0\n"),
                // Another group below it: this file counts its events, too.
                ("box/memory.events", "low 0\nhigh 90\nmax 0\noom 0\n"),
            ],
        );
        let calm = sensed_between(&machine, &[("box/memory.events", "high 99\nmax 4\n")]);
        assert_eq!((calm.cpu_throttling, texts(&calm)), (None, vec![]));
        let limited = sensed_between(
            &machine,
            &[
                ("box/cpu.max", "50000 100000\n"),
                ("box/cpu.stat", "nr_throttled 9\nthrottled_usec 570000\n"),
                ("box/inner/io.max", "8:0 rbps=max wbps=max riops=500 wiops=max\n"),
                ("box/memory.high", "1048576\n"),
                ("box/memory.events.local", "low 0\nhigh 12\nmax 0\noom 0\n"),
            ],
        );
        assert_eq!(limited.cpu_throttling, Some(throttled(6, 500)));
        let expected = [
            "io.max riops=500 of the control group /box/inner",
            "memory.high 1048576 of the control group /box",
        ];
        assert_eq!(texts(&limited), expected);
        assert_eq!(limited.cgroup_limits[1].reached, Some(5));
        // Another limit, and then none: each was in force for a part of the step.
        let changed = sensed_between(
            &machine,
            &[("box/inner/io.max", "8:0 wiops=9\n"), ("box/memory.high", "max\n")],
        );
        let limits: Vec<&str> = changed.cgroup_limits.iter().map(|limit| &*limit.set).collect();
        assert_eq!(limits, ["riops=500", "wiops=9"]);
        let removed = sensed_between(&machine, &[("box/inner/io.max", "")]);
        assert_eq!(texts(&removed), ["io.max wiops=9 of the control group /box/inner"]);
        // Moved into another group in the middle.
        machine.write("sys/fs/cgroup/slow/io.max", "8:0 rbps=1000\n");
        machine.write("proc/self/cgroup", "0::/slow\n");
        assert_eq!(
            texts(&sensed_between(&machine, &[])),
            ["io.max rbps=1000 of the control group /slow"]
        );
    }

    #[test]
    fn the_limits_of_version_1_are_found_below_their_controllers() {
        let machine = MachineFixture::new();
        machine.write("proc/self/cgroup", "5:memory:/\n4:cpu,cpuacct:/box\n3:blkio:/gone\n");
        write_groups(
            &machine,
            &[
                ("cpu,cpuacct/cpu.cfs_quota_us", "-1\n"),
                ("cpu,cpuacct/cpu.cfs_period_us", "100000\n"),
                ("cpu,cpuacct/box/cpu.cfs_quota_us", "150000\n"),
                ("cpu,cpuacct/box/cpu.cfs_period_us", "100000\n"),
                (
                    "cpu,cpuacct/box/cpu.stat",
                    "nr_periods 7\nnr_throttled 2\nthrottled_time 30000000\n",
                ),
                // The host's path of the group does not exist in a container.
                ("blkio/blkio.throttle.read_iops_device", "7:0 997\n"),
                ("blkio/blkio.weight", "500\n"),
                ("memory/memory.limit_in_bytes", "9223372036854771712\n"),
                ("memory/memory.usage_in_bytes", "5\n"),
            ],
        );
        let groups = OwnCgroups::of_this_process(&machine.roots).unwrap();
        assert_eq!(groups.cpu_quota(), Some(1.5));
        let throttlings: Vec<_> = groups.throttlings().into_values().collect();
        assert_eq!(throttlings, [throttled(2, 30)]);
        let limits = groups.io_limits(DeviceNumber::new(7, 0));
        assert_eq!(
            limits[0].to_string(),
            "blkio.throttle.read_iops 997 of the control group /blkio"
        );
        assert_eq!(limits.len(), 1);
        assert_eq!(groups.io_weights(), Vec::<String>::new());
        assert_eq!(groups.memory_room(), None);
        // Throttling has no hierarchy in version 1: the limit of a group is none of those in it.
        machine.write("sys/fs/cgroup/blkio/gone/cgroup.procs", "");
        let groups = OwnCgroups::of_this_process(&machine.roots).unwrap();
        assert_eq!(groups.io_limits(DeviceNumber::new(7, 0)), []);
        machine.write("sys/fs/cgroup/memory/memory.failcnt", "40\n");
        let full = sensed_between(
            &machine,
            &[("memory/memory.failcnt", "43\n"), ("memory/memory.limit_in_bytes", "4096\n")],
        );
        assert_eq!(texts(&full), ["memory.limit_in_bytes 4096 of the control group /memory"]);
        assert_eq!(full.cgroup_limits[0].reached, Some(3));
    }

    #[test]
    fn what_the_kernel_does_not_report_is_unknown() {
        let machine = MachineFixture::new();
        assert_eq!(OwnCgroups::of_this_process(&machine.roots), None);
        machine.write("proc/self/cgroup", "0::/\n");
        assert_eq!(OwnCgroups::of_this_process(&machine.roots), None);
    }
}
