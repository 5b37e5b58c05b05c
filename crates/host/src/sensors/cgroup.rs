//! The control groups that this program runs in: their limits, and how long a processor quota has
//! throttled it. Versions 1 and 2 (Documentation/admin-guide/cgroup-v1 and -v2).

use crate::system_roots::{SystemRoots, read_number, read_text};
use std::fs;
use std::path::{Component, Path, PathBuf};
use steadfast_domain::measurement::CpuThrottling;
use steadfast_domain::{Bytes, Nanos};

/// Default weight of a group: of version 2, and of version 1.
const USUAL_WEIGHTS: [u64; 2] = [100, 500];

/// The control groups of this process, for each controller from its own group to the topmost
/// visible one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnCgroups {
    cpu: Vec<PathBuf>,
    io: Vec<PathBuf>,
    memory: Vec<PathBuf>,
}

/// Throttling so far by the processor quota of each group that has one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuotaCounts(Vec<CpuThrottling>);

impl QuotaCounts {
    /// Returns the throttling since an earlier reading, of the group that was throttled longest.
    pub fn since(&self, earlier: &QuotaCounts) -> Option<CpuThrottling> {
        let groups = self.0.iter().zip(&earlier.0);
        groups
            .map(|(now, before)| CpuThrottling {
                periods: now.periods.saturating_sub(before.periods),
                time: now.time.saturating_sub(before.time),
            })
            .max_by_key(|throttling| throttling.time)
    }
}

impl OwnCgroups {
    /// Reads the groups of this process; `None` if the kernel does not report them.
    pub fn of_this_process(roots: &SystemRoots) -> Option<OwnCgroups> {
        let text = fs::read_to_string(roots.proc.join("self/cgroup")).ok()?;
        let mut groups = OwnCgroups { cpu: Vec::new(), io: Vec::new(), memory: Vec::new() };
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
                let group = match controller {
                    "cpu" => &mut groups.cpu,
                    "blkio" => &mut groups.io,
                    "memory" => &mut groups.memory,
                    _ => continue,
                };
                // The mount is named after all of its controllers or after this one.
                let mount = [controllers, controller]
                    .into_iter()
                    .map(|name| roots.sys.join("fs/cgroup").join(name))
                    .find(|mount| mount.is_dir());
                group.extend(mount.iter().flat_map(|mount| levels(mount, path)));
            }
        }
        let is_found = !(groups.cpu.is_empty() && groups.io.is_empty() && groups.memory.is_empty());
        is_found.then_some(groups)
    }

    /// Returns the smallest processor quota, in processors; `None` if there is no quota.
    pub fn cpu_quota(&self) -> Option<f64> {
        self.cpu.iter().filter_map(|group| quota(group)).min_by(f64::total_cmp)
    }

    /// Reads the throttling so far; `None` if there is no quota.
    pub fn quota_counts(&self) -> Option<QuotaCounts> {
        let limited = self.cpu.iter().filter(|group| quota(group).is_some());
        let counts: Vec<CpuThrottling> = limited.filter_map(|group| throttling(group)).collect();
        (!counts.is_empty()).then_some(QuotaCounts(counts))
    }

    /// Returns the limits of rates and latencies for the block device with this number, in the
    /// kernel's notation.
    pub fn io_limits(&self, (major, minor): (u32, u32)) -> Vec<String> {
        let number = format!("{major}:{minor}");
        let mut limits = Vec::new();
        for group in &self.io {
            for file in ["io.max", "io.latency"] {
                let Some(rest) = line_of(&group.join(file), &number) else { continue };
                let set: Vec<&str> =
                    rest.split_whitespace().filter(|part| !part.ends_with("=max")).collect();
                if !set.is_empty() {
                    limits.push(format!("{file} {}", set.join(" ")));
                }
            }
            for what in ["read_bps", "write_bps", "read_iops", "write_iops"] {
                let file = format!("blkio.throttle.{what}_device");
                if let Some(rest) = line_of(&group.join(&file), &number) {
                    limits.push(format!("blkio.throttle.{what} {rest}"));
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
                if let Some(weight) = weight.filter(|weight| !USUAL_WEIGHTS.contains(weight)) {
                    weights.push(format!("{file} {weight}"));
                }
            }
        }
        weights
    }

    /// Returns the free memory below the tightest limit, and that limit; `None` without a limit.
    pub fn memory_room(&self) -> Option<(Bytes, Bytes)> {
        // Version 1 reports the largest multiple of the page size if there is no limit.
        const NO_LIMIT: u64 = 1 << 62;
        let files = [
            ("memory.high", "memory.current"),
            ("memory.max", "memory.current"),
            ("memory.limit_in_bytes", "memory.usage_in_bytes"),
        ];
        let mut rooms = Vec::new();
        for group in &self.memory {
            for (limit, used) in files {
                let limit =
                    read_number::<u64>(&group.join(limit)).filter(|limit| *limit < NO_LIMIT);
                let used = read_number::<u64>(&group.join(used));
                if let (Some(limit), Some(used)) = (limit, used) {
                    rooms.push((Bytes(limit.saturating_sub(used)), Bytes(limit)));
                }
            }
        }
        rooms.into_iter().min()
    }
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
    let own = mount.join(relative);
    if !is_plain || !own.is_dir() {
        return vec![mount.to_owned()];
    }
    own.ancestors().take_while(|level| level.starts_with(mount)).map(Path::to_owned).collect()
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
    let field = |name: &str| {
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
        value.trim().parse::<u64>().ok()
    };
    let micros = field("throttled_usec").map(|micros| micros.saturating_mul(1000));
    let time = Nanos(micros.or_else(|| field("throttled_time"))?);
    Some(CpuThrottling { periods: field("nr_throttled")?, time })
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

    fn throttled(periods: u64, millis: u64) -> CpuThrottling {
        CpuThrottling { periods, time: Nanos::from_millis(millis) }
    }

    #[test]
    fn the_limits_of_version_2_are_found_on_every_level() {
        let machine = MachineFixture::new();
        machine.write("proc/self/cgroup", "0::/box/inner\n");
        for (file, text) in [
            ("cgroup.procs", ""),
            ("box/cpu.max", "50000 100000\n"),
            ("box/cpu.stat", "usage_usec 9\nnr_periods 8\nnr_throttled 3\nthrottled_usec 70000\n"),
            ("box/inner/cpu.max", "max 100000\n"),
            ("box/inner/io.max", "8:0 rbps=max wbps=1048576 riops=max wiops=50\n"),
            ("box/inner/io.weight", "default 10\n"),
            ("box/io.weight", "default 100\n"),
            ("box/memory.high", "max\n"),
            ("box/memory.max", "1000000\n"),
            ("box/memory.current", "400000\n"),
        ] {
            machine.write(&format!("sys/fs/cgroup/{file}"), text);
        }
        let groups = OwnCgroups::of_this_process(&machine.roots).unwrap();
        assert_eq!(groups.cpu_quota(), Some(0.5));
        assert_eq!(groups.io_limits((8, 0)), ["io.max wbps=1048576 wiops=50"]);
        assert_eq!(groups.io_limits((8, 16)), Vec::<String>::new());
        assert_eq!(groups.io_weights(), ["io.weight 10"]);
        assert_eq!(groups.memory_room(), Some((Bytes(600_000), Bytes(1_000_000))));
        let before = groups.quota_counts().unwrap();
        assert_eq!(before.0, [throttled(3, 70)]);
        let stat = "sys/fs/cgroup/box/cpu.stat";
        machine.write(stat, "nr_throttled 9\nthrottled_usec 570000\n");
        assert_eq!(groups.quota_counts().unwrap().since(&before), Some(throttled(6, 500)));
    }

    #[test]
    fn the_limits_of_version_1_are_found_below_their_controllers() {
        let machine = MachineFixture::new();
        machine.write("proc/self/cgroup", "5:memory:/\n4:cpu,cpuacct:/box\n3:blkio:/gone\n");
        for (file, text) in [
            ("cpu,cpuacct/cpu.cfs_quota_us", "-1\n"),
            ("cpu,cpuacct/cpu.cfs_period_us", "100000\n"),
            ("cpu,cpuacct/box/cpu.cfs_quota_us", "150000\n"),
            ("cpu,cpuacct/box/cpu.cfs_period_us", "100000\n"),
            ("cpu,cpuacct/box/cpu.stat", "nr_periods 7\nnr_throttled 2\nthrottled_time 30000000\n"),
            // The host's path of the group does not exist in a container.
            ("blkio/blkio.throttle.read_iops_device", "7:0 997\n"),
            ("blkio/blkio.weight", "500\n"),
            ("memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("memory/memory.usage_in_bytes", "5\n"),
        ] {
            machine.write(&format!("sys/fs/cgroup/{file}"), text);
        }
        let groups = OwnCgroups::of_this_process(&machine.roots).unwrap();
        assert_eq!(groups.cpu_quota(), Some(1.5));
        assert_eq!(groups.quota_counts().unwrap().0, [throttled(2, 30)]);
        assert_eq!(groups.io_limits((7, 0)), ["blkio.throttle.read_iops 997"]);
        assert_eq!(groups.io_weights(), Vec::<String>::new());
        assert_eq!(groups.memory_room(), None);
    }

    #[test]
    fn what_the_kernel_does_not_report_is_unknown() {
        let machine = MachineFixture::new();
        assert_eq!(OwnCgroups::of_this_process(&machine.roots), None);
        machine.write("proc/self/cgroup", "0::/\n");
        assert_eq!(OwnCgroups::of_this_process(&machine.roots), None);
    }
}
