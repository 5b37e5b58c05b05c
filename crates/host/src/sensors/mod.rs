//! Counters and sensors of a device and its host.

mod ambient;
mod cgroup;
mod host;
mod monitors;
mod power;
mod processors;

use crate::sysfs_node::{KERNEL_SECTOR, SysfsNode};
use crate::system_roots::{SystemRoots, read_number};
use monitors::own_monitors;
use std::fs;
use steadfast_domain::measurement::KernelCounters;
use steadfast_domain::{Bytes, Device, Transport};

pub use ambient::AmbientSensor;
pub(crate) use cgroup::OwnCgroups;
pub use cgroup::{CgroupReading, CgroupSensor};
pub use host::{HostCounters, host_counters};
pub use power::{PowerMeter, PowerReport, PowerSource};
pub use processors::{ProcessorTimes, processor_times};

/// Returns the kernel's counters of a block device or partition since it appeared. `None` for a
/// file, whose device is shared with others, and for a device whose I/Os the kernel does not count.
pub fn kernel_counters(device: &Device, roots: &SystemRoots) -> Option<KernelCounters> {
    if device.transport == Transport::File {
        return None;
    }
    match SysfsNode::from_name(&device.name, roots) {
        Some(node) => node_counters(&node, roots),
        None => {
            let counters = parse_counters(&diskstats_fields(&device.name, roots)?)?;
            // Without sysfs, a flush count of 0 may mean that flushes are not counted.
            Some(KernelCounters { flushes: None, ..counters })
        }
    }
}

/// Returns the counters of a device or partition that sysfs lists. Sums the paths of a multipath
/// NVMe namespace. `None` if the kernel does not count the I/Os, as for a partition of such a
/// namespace.
pub(crate) fn node_counters(node: &SysfsNode, roots: &SystemRoots) -> Option<KernelCounters> {
    let mut sum: Option<KernelCounters> = None;
    for statistics in stat_texts(node, roots)? {
        let counters = parse_counters(&statistics)?;
        match &mut sum {
            Some(sum) => sum.add(&counters),
            None => sum = Some(counters),
        }
    }
    let mut sum = sum?;
    // The kernel counts flushes only for a whole device with a request queue; elsewhere the field is
    // 0.
    let whole = node.whole();
    let counts_flushes = node == &whole && whole.directory.join("mq").is_dir();
    if !counts_flushes {
        sum.flushes = None;
    }
    Some(sum)
}

/// Index of the number of discards among the fields of `stat`; since Linux 4.18
/// (Documentation/admin-guide/iostats.rst).
const DISCARDS_FIELD: usize = 11;

/// Index of the number of flushes among the fields of `stat`; since Linux 5.5.
const FLUSHES_FIELD: usize = 15;

/// Counts of a device's I/Os that transfer no data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct DatalessIos {
    pub discards: u64,
    pub flushes: u64,
}

/// Returns the discards and flushes of a device or partition since it appeared; `None` if the
/// kernel does not count its I/Os. Flushes are 0 before Linux 5.5 and discards before 4.18, which do
/// not count them.
pub(crate) fn dataless_ios_of(node: &SysfsNode, roots: &SystemRoots) -> Option<DatalessIos> {
    let mut sum = DatalessIos::default();
    for statistics in stat_texts(node, roots)? {
        let fields: Vec<&str> = statistics.split_whitespace().collect();
        let count =
            |index: usize| fields.get(index).and_then(|text| text.parse().ok()).unwrap_or(0);
        sum.discards += count(DISCARDS_FIELD);
        sum.flushes += count(FLUSHES_FIELD);
    }
    Some(sum)
}

/// Returns the text of `stat` (Documentation/admin-guide/iostats.rst) of a device or partition, or
/// one text per path of a multipath NVMe namespace; `None` if the kernel does not count its I/Os.
fn stat_texts(node: &SysfsNode, roots: &SystemRoots) -> Option<Vec<String>> {
    let whole = node.whole();
    let paths = whole.nvme_paths(roots);
    if paths.is_empty() {
        if !is_counted(&whole) {
            return None;
        }
        let statistics = node.text("stat").or_else(|| diskstats_fields(&node.name, roots));
        return Some(vec![statistics?]);
    }
    // The kernel does not count I/Os on partitions of a multipath namespace.
    if node != &whole {
        return None;
    }
    paths.iter().map(|path| path.text("stat").filter(|_| is_counted(path))).collect()
}

/// Returns true if the kernel counts the I/Os of a whole device (`queue/iostats`,
/// Documentation/ABI/stable/sysfs-block).
fn is_counted(whole: &SysfsNode) -> bool {
    whole.number::<u8>("queue/iostats") != Some(0)
}

/// Returns the fields that follow the name of a device in `/proc/diskstats`.
fn diskstats_fields(name: &str, roots: &SystemRoots) -> Option<String> {
    let text = fs::read_to_string(roots.proc.join("diskstats")).ok()?;
    text.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        (fields.get(2) == Some(&name)).then(|| fields[3..].join(" "))
    })
}

/// Parses the counts of reads and writes of a `stat` text, and that of flushes if there is one.
/// Returns `None` with fewer than seven numbers.
fn parse_counters(text: &str) -> Option<KernelCounters> {
    let fields: Vec<u64> = text.split_whitespace().map_while(|field| field.parse().ok()).collect();
    let [reads, read_merges, read_sectors, _, writes, write_merges, write_sectors, ..] = fields[..]
    else {
        return None;
    };
    Some(KernelCounters {
        reads,
        read_merges,
        read_bytes: Bytes(read_sectors.saturating_mul(KERNEL_SECTOR)),
        writes,
        write_merges,
        write_bytes: Bytes(write_sectors.saturating_mul(KERNEL_SECTOR)),
        flushes: fields.get(FLUSHES_FIELD).copied(),
    })
}

/// Returns the device's temperature in degrees Celsius, from the first (composite) sensor of its
/// hwmon device; `None` if it has none. SATA drives need the module `drivetemp`.
pub fn temperature(device: &Device, roots: &SystemRoots) -> Option<f64> {
    hwmon_celsius(device, "temp1_input", roots)
}

/// Returns the temperature that an attribute of the device's hwmon device reports, in degrees
/// Celsius.
pub(crate) fn hwmon_celsius(device: &Device, attribute: &str, roots: &SystemRoots) -> Option<f64> {
    own_monitors(device, roots)
        .iter()
        .find_map(|monitor| read_number::<i64>(&monitor.join(attribute)))
        .map(|millidegrees| millidegrees as f64 / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::machine::MachineFixture;

    #[test]
    fn counters_are_read_in_bytes() {
        let line = "  98708    17889 17396522    64423    38898    46657 13380496    42245";
        let counters = parse_counters(line).unwrap();
        assert_eq!(counters.reads, 98_708);
        assert_eq!(counters.read_merges, 17_889);
        assert_eq!(counters.read_bytes, Bytes(17_396_522 * 512));
        assert_eq!(counters.writes, 38_898);
        assert_eq!(counters.write_merges, 46_657);
        assert_eq!(counters.write_bytes, Bytes(13_380_496 * 512));
        assert_eq!(parse_counters("1 2 3 4 5 6"), None);
        assert_eq!(parse_counters(""), None);
    }

    #[test]
    fn flushes_are_counted_for_a_request_queue_and_not_for_its_partition() {
        let (machine, disk) = MachineFixture::with_nvme(1000);
        let part = machine.partition(&disk, "nvme0n1p1", "259:91", 100);
        let stat = "9 0 9 0 9 0 9 0 0 0 0 1 0 8 0 37 5";
        machine.set(&disk, "stat", stat);
        machine.set(&part, "stat", stat);
        let flushes = |node| node_counters(node, &machine.roots).unwrap().flushes;
        assert_eq!(flushes(&disk), None, "no request queue");
        std::fs::create_dir(disk.directory.join("mq")).unwrap();
        assert_eq!((flushes(&disk), flushes(&part)), (Some(37), None));
        machine.set(&disk, "stat", "9 0 9 0 9 0 9 0 0 0 0");
        assert_eq!(flushes(&disk), None, "an old kernel");
    }

    #[test]
    fn a_counter_that_wrapped_still_counts() {
        let before =
            KernelCounters { reads: u64::MAX - 1, ..parse_counters("0 0 0 0 5 0 8").unwrap() };
        let after = parse_counters("3 0 0 0 7 0 24").unwrap();
        let since = after.since(&before);
        assert_eq!((since.reads, since.writes, since.write_bytes), (5, 2, Bytes(8192)));
    }

    #[test]
    fn a_partition_has_its_own_counters_and_its_drive_s_temperature() {
        let (machine, disk) = MachineFixture::with_nvme(1000);
        let part = machine.partition(&disk, "nvme0n1p1", "259:91", 100);
        machine.set(&disk, "stat", "9 9 9 9 9 9 9 9 9 9 9");
        machine.set(&part, "stat", "1 0 2 0 3 0 4 0 0 0 0");
        machine.set(&disk, "device/hwmon3/temp1_input", "41850\n");
        let device = machine.device(&part);
        let counters = kernel_counters(&device, &machine.roots).unwrap();
        assert_eq!((counters.reads, counters.read_bytes), (1, Bytes(1024)));
        assert_eq!((counters.writes, counters.write_bytes), (3, Bytes(2048)));
        assert_eq!(temperature(&device, &machine.roots), Some(41.85));
    }

    #[test]
    fn a_namespace_with_several_paths_is_counted_on_its_paths() {
        let machine = MachineFixture::new();
        let head = machine.block("virtual/nvme-subsystem/nvme-subsys0/nvme0n1", "259:0", 1000);
        machine.set(&head, "stat", "0 0 0 0 0 0 0 0 0 0 0");
        for (controller, stat) in [(0, "5 0 40 0 7 1 56 0 0 0 0"), (2, "1 0 8 0 0 0 0 0 0 0 0")] {
            let directory = format!("pci/nvme/nvme{controller}/nvme0c{controller}n1");
            let path = machine.block(&directory, &format!("259:{}", controller + 1), 1000);
            machine.set(&path, "hidden", "1\n");
            machine.set(&path, "stat", stat);
        }
        // Paths of another namespace and of another subsystem.
        for (name, number) in [("nvme0c0n2", 8), ("nvme1c0n1", 9)] {
            let other = machine.block(&format!("pci/nvme/{name}"), &format!("259:{number}"), 9);
            machine.set(&other, "stat", "9 9 9 9 9 9 9 9 9 9 9");
        }
        let device = machine.device(&head);
        let counted = kernel_counters(&device, &machine.roots).unwrap();
        assert_eq!((counted.reads, counted.read_bytes), (6, Bytes(48 * 512)));
        assert_eq!((counted.writes, counted.write_merges), (7, 1));
        let part = machine.partition(&head, "nvme0n1p1", "259:20", 100);
        machine.set(&part, "stat", "0 0 0 0 0 0 0 0 0 0 0");
        assert_eq!(node_counters(&part, &machine.roots), None);
    }

    #[test]
    fn a_device_whose_ios_are_not_counted_has_no_counters() {
        let (machine, disk) = MachineFixture::with_nvme(1000);
        machine.set(&disk, "stat", "0 0 0 0 0 0 0 0 0 0 0");
        assert!(node_counters(&disk, &machine.roots).is_some());
        machine.set(&disk, "queue/iostats", "0\n");
        assert_eq!(node_counters(&disk, &machine.roots), None);
    }

    #[test]
    fn counters_come_from_diskstats_if_needed_and_a_temperature_may_be_negative() {
        let (machine, disk) = MachineFixture::with_sata(1000);
        let device = machine.device(&disk);
        assert_eq!(kernel_counters(&device, &machine.roots), None);
        assert_eq!(temperature(&device, &machine.roots), None);
        let statistics = "   8       1 sda1 7 7 7 7 7 7 7\n   8 0 sda 1 2 3 4 5 6 7\n";
        machine.write("proc/diskstats", statistics);
        assert_eq!(kernel_counters(&device, &machine.roots).unwrap().writes, 5);
        machine.set(&disk, "device/hwmon/hwmon1/temp1_input", "-5000");
        assert_eq!(temperature(&device, &machine.roots), Some(-5.0));
    }
}
