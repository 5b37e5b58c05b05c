//! Control groups for the loads of a run: one for the victim, one for the offender, in a directory
//! of their own below the mount of the controller for block I/O.
//!
//! Creating the directory is a change of the host and journaled as such; the rules are files in it
//! and vanish with it. Both versions of control groups are used, whichever has the controller
//! (Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/blkio-controller.rst).

use crate::error::HostError;
use crate::sysfs_node::SysfsNode;
use crate::system_roots::{SystemRoots, read_text};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use steadfast_domain::record::HostChange;
use steadfast_domain::{Device, DeviceNumber, GroupLimits, IoControl, LoadGroup, Nanos};

/// Setting of the directory in a journal; its path below `/sys/fs/cgroup` follows.
const DIRECTORY: &str = "control group ";

/// Setting of the controller in a journal; the path of the mount below `/sys/fs/cgroup` follows.
const CONTROLLER: &str = "io controller of control group ";

/// Setting of the model of costs in a journal; the number of the device and the path of the mount
/// below `/sys/fs/cgroup` follow.
const COST: &str = "io.cost.qos for ";

const ABSENT: &str = "absent";
const PRESENT: &str = "present";

/// File of the model of costs.
const QOS: &str = "io.cost.qos";

/// Weight of a new group (cgroup-v2.rst, bfq-iosched.rst).
const DEFAULT_WEIGHT: u32 = 100;

/// Start of the name of every directory made here.
const PREFIX: &str = "steadfast-";

/// Longest wait for the end of the processes of a group. They have been killed, but I/Os that the
/// kernel holds back delay their end.
const EMPTY_WAIT_MAX: Duration = Duration::from_secs(10);

const REMOVE_INTERVAL: Duration = Duration::from_millis(20);

/// Version of the control groups that have the controller for block I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CgroupVersion {
    One,
    Two,
}

/// Control groups for the loads of one run on one device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadCgroups {
    version: CgroupVersion,
    directory: PathBuf,
    /// Number of the whole device.
    number: DeviceNumber,
}

impl LoadCgroups {
    /// Returns groups for a device, and the changes that create them, which the caller journals and
    /// makes.
    ///
    /// # Errors
    /// A sentence, if the kernel has no control groups for the device's I/O.
    pub fn plan(
        device: &Device,
        roots: &SystemRoots,
    ) -> Result<(LoadCgroups, Vec<HostChange>), String> {
        let node = SysfsNode::from_name(&device.name, roots).map(|node| node.whole());
        let Some(number) = node.as_ref().and_then(SysfsNode::device_number) else {
            return Err(format!(
                "{} is not a block device, and control groups limit the I/O of block devices only",
                device.path
            ));
        };
        let (version, mount) = mount(roots).ok_or(
            "the kernel has no control groups for block I/O: neither 'io' in cgroup.controllers \
             (version 2) nor /sys/fs/cgroup/blkio (version 1)",
        )?;
        let parent = roots.sys.join("fs/cgroup").join(mount);
        let name = free_name(&parent, &device.name);
        let mut changes = Vec::new();
        if version == CgroupVersion::Two && !controls_io(&parent) {
            changes.push(change(format!("{CONTROLLER}/{mount}"), roots));
        }
        let relative = Path::new(mount).join(&name);
        changes.push(change(format!("{DIRECTORY}{}", relative.display()), roots));
        Ok((LoadCgroups { version, directory: parent.join(name), number }, changes))
    }

    /// Moves a process into a group.
    ///
    /// # Errors
    /// The kernel does not move it.
    pub fn admit(&self, group: LoadGroup, process: u32) -> Result<(), HostError> {
        write(&self.directory.join(group.name()).join("cgroup.procs"), &process.to_string())
    }

    /// Returns the change of the device that a rule needs, which the caller journals and makes
    /// before [`LoadCgroups::apply`], and undoes before the next rule.
    pub fn change_for(&self, control: IoControl, roots: &SystemRoots) -> Option<HostChange> {
        let mount = self.directory.parent()?.strip_prefix(roots.sys.join("fs/cgroup")).ok()?;
        let setting = format!("{COST}{} of control group /{}", self.number, mount.display());
        let is_needed = matches!(control, IoControl::Cost { .. })
            && GroupSetting::parse(&setting, roots)?.read() == ABSENT;
        is_needed.then(|| change(setting, roots))
    }

    /// Replaces the rule of the groups and reads it back.
    ///
    /// # Errors
    /// The kernel does not have the rule, or does not accept it.
    pub fn apply(&self, control: IoControl) -> Result<(), HostError> {
        let is_limit = matches!(control, IoControl::Max(_));
        let is_target = matches!(control, IoControl::Latency { .. });
        let bfq = self.bfq_file();
        // What another rule left behind is removed first, as far as the kernel has it.
        if !is_limit {
            match self.set_limits(GroupLimits::default()) {
                Err(HostError::NoGroupFile { .. }) => {}
                removed => removed?,
            }
        }
        if !is_target {
            self.remove_target();
        }
        if !matches!(control, IoControl::BfqWeight { .. }) {
            self.reset_weights(bfq)?;
        }
        if !matches!(control, IoControl::Cost { .. }) {
            self.reset_weights("io.weight")?;
        }
        match control {
            IoControl::Uncontrolled => Ok(()),
            IoControl::Max(limits) => self.set_limits(limits),
            IoControl::BfqWeight { victim, offender } => self.set_weights(bfq, [victim, offender]),
            IoControl::Cost { victim, offender } => {
                self.set_weights("io.weight", [victim, offender])
            }
            IoControl::Latency { target } => self.set_target(target),
        }
    }

    /// Checks that the kernel still has a rule that was applied.
    ///
    /// # Errors
    /// A group is gone, or its rule is another one.
    pub fn check(&self, control: IoControl) -> Result<(), HostError> {
        match control {
            // The read of a limit says that the groups are gone.
            IoControl::Uncontrolled if !self.directory.is_dir() => {
                self.check_limits(GroupLimits::default())
            }
            // A kernel without limits has none.
            IoControl::Uncontrolled => match self.check_limits(GroupLimits::default()) {
                Err(error @ HostError::NotTaken { .. }) => Err(error),
                _ => Ok(()),
            },
            IoControl::Max(limits) => self.check_limits(limits),
            IoControl::BfqWeight { victim, offender } => {
                self.check_weights(self.bfq_file(), [victim, offender])
            }
            IoControl::Cost { victim, offender } => {
                self.check_weights("io.weight", [victim, offender])
            }
            IoControl::Latency { target } => self.check_target(target),
        }
    }

    /// Returns the name of the file of weights of the scheduler BFQ.
    fn bfq_file(&self) -> &'static str {
        match self.version {
            CgroupVersion::One => "blkio.bfq.weight",
            CgroupVersion::Two => "io.bfq.weight",
        }
    }

    fn set_weights(&self, file: &'static str, weights: [u32; 2]) -> Result<(), HostError> {
        for (group, weight) in LoadGroup::ALL.into_iter().zip(weights) {
            write(&self.directory.join(group.name()).join(file), &weight.to_string())?;
        }
        self.check_weights(file, weights)
    }

    fn check_weights(&self, file: &'static str, weights: [u32; 2]) -> Result<(), HostError> {
        for (group, weight) in LoadGroup::ALL.into_iter().zip(weights) {
            let path = self.directory.join(group.name()).join(file);
            let weight = weight.to_string();
            let found = read_text(&path).unwrap_or_default();
            if found.trim_start_matches("default ") != weight {
                return Err(not_taken(&path, weight, found));
            }
        }
        Ok(())
    }

    /// Gives both groups the default weight, if the kernel has weights.
    fn reset_weights(&self, file: &'static str) -> Result<(), HostError> {
        match self.set_weights(file, [DEFAULT_WEIGHT; 2]) {
            Err(HostError::NoGroupFile { .. }) => Ok(()),
            reset => reset,
        }
    }

    /// Sets the target of the victim.
    fn set_target(&self, target: Nanos) -> Result<(), HostError> {
        write(&self.target_file(), &format!("{} {}", self.number, target_text(target)))?;
        self.check_target(target)
    }

    fn check_target(&self, target: Nanos) -> Result<(), HostError> {
        let (path, wanted) = (self.target_file(), target_text(target));
        match line(&path, self.number)? {
            Some(found) if found == wanted => Ok(()),
            found => Err(not_taken(&path, wanted, found.unwrap_or_default())),
        }
    }

    /// Removes the target of the victim, if the kernel has targets.
    fn remove_target(&self) {
        let _ = write(&self.target_file(), &format!("{} target=0", self.number));
    }

    fn target_file(&self) -> PathBuf {
        self.directory.join(LoadGroup::Victim.name()).join("io.latency")
    }

    /// Sets the upper limits of the offender.
    fn set_limits(&self, limits: GroupLimits) -> Result<(), HostError> {
        let number = self.number;
        if self.version == CgroupVersion::Two {
            let keys = limit_texts(limits).map(|(key, text)| format!("{key}={text}"));
            write(&self.limit_file(), &format!("{number} {}", keys.join(" ")))?;
        } else {
            for (path, value) in self.throttle_files(limits) {
                // 0 removes the limit.
                write(&path, &format!("{number} {}", value.unwrap_or(0)))?;
            }
        }
        self.check_limits(limits)
    }

    fn check_limits(&self, limits: GroupLimits) -> Result<(), HostError> {
        if self.version == CgroupVersion::Two {
            let path = self.limit_file();
            let found = line(&path, self.number)?.unwrap_or_default();
            for (key, text) in limit_texts(limits) {
                let has = found.split_whitespace().find_map(|part| part.strip_prefix(key));
                // Without any limit the kernel prints no line.
                if has.and_then(|rest| rest.strip_prefix('=')).unwrap_or("max") != text {
                    return Err(not_taken(&path, format!("{key}={text}"), found));
                }
            }
            return Ok(());
        }
        for (path, value) in self.throttle_files(limits) {
            let found = line(&path, self.number)?;
            if found != value.map(|value| value.to_string()) {
                let wanted = value.unwrap_or(0).to_string();
                return Err(not_taken(&path, wanted, found.unwrap_or_default()));
            }
        }
        Ok(())
    }

    fn limit_file(&self) -> PathBuf {
        self.directory.join(LoadGroup::Offender.name()).join("io.max")
    }

    /// Returns the files of version 1 with the offender's limits.
    fn throttle_files(&self, limits: GroupLimits) -> [(PathBuf, Option<u64>); 4] {
        let group = self.directory.join(LoadGroup::Offender.name());
        [
            ("read_bps", limits.read_bytes),
            ("write_bps", limits.write_bytes),
            ("read_iops", limits.read_ios),
            ("write_iops", limits.write_ios),
        ]
        .map(|(name, value)| (group.join(format!("blkio.throttle.{name}_device")), value))
    }
}

/// Returns the keys of `io.max` with their limits.
fn limit_texts(limits: GroupLimits) -> [(&'static str, String); 4] {
    [
        ("rbps", limits.read_bytes),
        ("wbps", limits.write_bytes),
        ("riops", limits.read_ios),
        ("wiops", limits.write_ios),
    ]
    .map(|(key, limit)| (key, limit.map_or("max".to_owned(), |limit| limit.to_string())))
}

/// Returns a target as `io.latency` has it, in microseconds.
fn target_text(target: Nanos) -> String {
    format!("target={}", target.0 / 1000)
}

/// Returns a change that makes something present.
fn change(setting: String, roots: &SystemRoots) -> HostChange {
    HostChange {
        setting,
        before: ABSENT.to_owned(),
        after: PRESENT.to_owned(),
        boot_id: roots.boot_id(),
        disk_sequence: None,
    }
}

/// A change that this module makes.
pub(super) enum GroupSetting {
    /// The directory with both groups.
    Directory(PathBuf),
    /// The controller of version 2 for the groups below a mount.
    Controller(PathBuf),
    /// The model of costs for the device with this number, set at a mount.
    Cost(PathBuf, DeviceNumber),
}

impl GroupSetting {
    /// Parses the setting of a change; `None` if it is another setting, or would lead out of the
    /// control groups.
    pub fn parse(setting: &str, roots: &SystemRoots) -> Option<GroupSetting> {
        let root = roots.sys.join("fs/cgroup");
        let of_mount = |mount: &str| match mount {
            "/" => Some(root.clone()),
            "/unified" => Some(root.join("unified")),
            _ => None,
        };
        if let Some(mount) = setting.strip_prefix(CONTROLLER) {
            return of_mount(mount).map(GroupSetting::Controller);
        }
        if let Some(rest) = setting.strip_prefix(COST) {
            let (number, mount) = rest.split_once(" of control group ")?;
            let number = number.parse().ok()?;
            return of_mount(mount).map(|mount| GroupSetting::Cost(mount, number));
        }
        let relative = setting.strip_prefix(DIRECTORY)?;
        let (mount, name) = relative.rsplit_once('/').unwrap_or(("", relative));
        let is_plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.!".contains(&b));
        let is_own = name.starts_with(PREFIX) && is_plain;
        (is_own && ["", "unified", "blkio"].contains(&mount))
            .then(|| GroupSetting::Directory(root.join(mount).join(name)))
    }

    /// Returns true if the controller of a mount serves groups of another run of this program.
    pub fn is_used_by_another_run(&self) -> bool {
        let GroupSetting::Controller(mount) = self else { return false };
        let is_own = |name: &std::ffi::OsStr| name.to_string_lossy().starts_with(PREFIX);
        let entries = fs::read_dir(mount).into_iter().flatten().flatten();
        entries.into_iter().any(|entry| is_own(&entry.file_name()))
    }

    /// Returns the current value.
    pub fn read(&self) -> &'static str {
        let is_present = match self {
            GroupSetting::Directory(path) => path.is_dir(),
            GroupSetting::Controller(mount) => controls_io(mount),
            GroupSetting::Cost(mount, number) => line(&mount.join(QOS), *number)
                .ok()
                .flatten()
                .is_some_and(|qos| qos.split_whitespace().any(|part| part == "enable=1")),
        };
        if is_present { PRESENT } else { ABSENT }
    }

    /// Makes the change or, for [`ABSENT`], undoes it.
    pub fn write(&self, value: &str) -> Result<(), HostError> {
        match (self, value == PRESENT) {
            (GroupSetting::Directory(path), true) => create(path),
            (GroupSetting::Directory(path), false) => remove(path),
            (GroupSetting::Controller(mount), true) => {
                write(&mount.join("cgroup.subtree_control"), "+io")
            }
            (GroupSetting::Controller(mount), false) => {
                write(&mount.join("cgroup.subtree_control"), "-io")
            }
            (GroupSetting::Cost(mount, number), enable) => {
                let enable = u8::from(enable);
                write(&mount.join(QOS), &format!("{number} enable={enable}"))
            }
        }
    }
}

fn create(path: &Path) -> Result<(), HostError> {
    let make = |path: &Path| {
        fs::create_dir(path).map_err(|e| HostError::io("create the control group", path, e))
    };
    make(path)?;
    if path.join("cgroup.subtree_control").exists() {
        write(&path.join("cgroup.subtree_control"), "+io")?;
    }
    LoadGroup::ALL.iter().try_for_each(|group| make(&path.join(group.name())))
}

fn remove(path: &Path) -> Result<(), HostError> {
    lift_limits(&path.join(LoadGroup::Offender.name()));
    for group in LoadGroup::ALL {
        remove_empty(&path.join(group.name()))?;
    }
    remove_empty(path)
}

/// Removes the limits of a group, so that its killed processes need not wait for their I/Os. A group
/// that cannot be changed is removed later.
fn lift_limits(group: &Path) {
    let files = ["read_bps", "write_bps", "read_iops", "write_iops"];
    let of_version_1 = files.map(|name| (group.join(format!("blkio.throttle.{name}_device")), "0"));
    let of_version_2 = (group.join("io.max"), "rbps=max wbps=max riops=max wiops=max");
    for (path, unlimited) in of_version_1.into_iter().chain([of_version_2]) {
        for line in read_text(&path).unwrap_or_default().lines() {
            let number = line.split(' ').next().unwrap_or_default();
            let _ = fs::write(&path, format!("{number} {unlimited}"));
        }
    }
}

/// Removes a group, whose last processes may still be ending.
fn remove_empty(path: &Path) -> Result<(), HostError> {
    let start = Instant::now();
    loop {
        match fs::remove_dir(path) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) if start.elapsed() >= EMPTY_WAIT_MAX => {
                return Err(HostError::io("remove the control group", path, error));
            }
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {
                std::thread::sleep(REMOVE_INTERVAL);
            }
            Err(error) => return Err(HostError::io("remove the control group", path, error)),
        }
    }
}

/// Returns the mount that has the controller for block I/O, by its path below `/sys/fs/cgroup`.
fn mount(roots: &SystemRoots) -> Option<(CgroupVersion, &'static str)> {
    let root = roots.sys.join("fs/cgroup");
    let has_io = |mount: &&str| lists_io(&root.join(mount).join("cgroup.controllers"));
    if let Some(mount) = ["unified", ""].iter().find(|mount| has_io(mount)) {
        return Some((CgroupVersion::Two, mount));
    }
    let is_blkio = root.join("blkio/cgroup.procs").is_file();
    is_blkio.then_some((CgroupVersion::One, "blkio"))
}

/// Returns true if the groups below this one have the controller for block I/O.
fn controls_io(group: &Path) -> bool {
    lists_io(&group.join("cgroup.subtree_control"))
}

/// Returns true if a list of controllers contains that for block I/O.
fn lists_io(list: &Path) -> bool {
    read_text(list).is_some_and(|all| all.split_whitespace().any(|one| one == "io"))
}

/// Returns a name that no group has yet: a killed process may have left groups, and its number may
/// be this one's.
fn free_name(parent: &Path, device: &str) -> String {
    let stem = format!("{PREFIX}{}-{device}", std::process::id());
    let mut name = stem.clone();
    let mut number = 1;
    while parent.join(&name).exists() {
        number += 1;
        name = format!("{stem}-{number}");
    }
    name
}

/// Returns the rest of the line of this device; `None` if there is none.
fn line(path: &Path, number: DeviceNumber) -> Result<Option<String>, HostError> {
    let text =
        fs::read_to_string(path).map_err(|e| HostError::io("read the control group", path, e))?;
    let prefix = format!("{number} ");
    Ok(text.lines().find_map(|line| line.strip_prefix(&prefix)).map(|rest| rest.trim().to_owned()))
}

fn write(path: &Path, text: &str) -> Result<(), HostError> {
    if !path.is_file() {
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        return Err(HostError::NoGroupFile { file });
    }
    fs::write(path, text).map_err(|e| HostError::io("write to the control group", path, e))
}

fn not_taken(path: &Path, wanted: String, found: String) -> HostError {
    HostError::NotTaken { setting: path.display().to_string(), wanted, found }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_groups_that_this_program_makes_are_taken_from_a_journal() {
        let roots = SystemRoots::real();
        let directory = |setting: &str| match GroupSetting::parse(setting, &roots) {
            Some(GroupSetting::Directory(path)) => Some(path.display().to_string()),
            _ => None,
        };
        for (setting, path) in [
            ("blkio/steadfast-7-loop3", "/sys/fs/cgroup/blkio/steadfast-7-loop3"),
            ("steadfast-7-cciss!c0d0-2", "/sys/fs/cgroup/steadfast-7-cciss!c0d0-2"),
            ("unified/steadfast-7-sda", "/sys/fs/cgroup/unified/steadfast-7-sda"),
        ] {
            assert_eq!(directory(&format!("control group {setting}")).as_deref(), Some(path));
        }
        for bad in ["", "system.slice", "../steadfast-7", "cpu/steadfast-7", "a/b/steadfast-7"] {
            assert_eq!(directory(&format!("control group {bad}")), None, "{bad}");
        }
        let cost = GroupSetting::parse("io.cost.qos for 259:3 of control group /", &roots);
        assert!(matches!(cost, Some(GroupSetting::Cost(_, DeviceNumber { major: 259, minor: 3 }))));
        assert!(GroupSetting::parse("io.cost.qos for 1:2 of control group /etc", &roots).is_none());
        assert!(GroupSetting::parse("io controller of control group /etc", &roots).is_none());
        assert!(GroupSetting::parse("queue/nomerges of sda", &roots).is_none());
    }

    /// Files in place of the kernel's, as version 2 has them.
    fn groups_of_files(directory: &Path) -> LoadCgroups {
        for group in LoadGroup::ALL {
            let group = directory.join(group.name());
            fs::create_dir(&group).unwrap();
            for file in ["io.max", "io.bfq.weight", "io.latency"] {
                fs::write(group.join(file), "").unwrap();
            }
        }
        LoadCgroups {
            version: CgroupVersion::Two,
            directory: directory.to_owned(),
            number: DeviceNumber::new(259, 3),
        }
    }

    #[test]
    fn a_latency_target_is_the_victim_s_and_is_removed_by_the_next_rule() {
        let scratch = tempfile::tempdir().unwrap();
        let groups = groups_of_files(scratch.path());
        let read = |group: &str| fs::read_to_string(scratch.path().join(group).join("io.latency"));
        let target = IoControl::Latency { target: Nanos(5_250_000) };
        groups.apply(target).unwrap();
        assert_eq!(read("victim").unwrap(), "259:3 target=5250", "in microseconds");
        assert_eq!(read("offender").unwrap(), "", "the offender has no target");
        groups.check(target).unwrap();
        for changed in ["", "259:3 target=6000", "8:0 target=5250"] {
            fs::write(scratch.path().join("victim/io.latency"), changed).unwrap();
            assert!(groups.check(target).is_err(), "{changed}");
        }
        groups.apply(IoControl::Uncontrolled).unwrap();
        assert_eq!(read("victim").unwrap(), "259:3 target=0");
        fs::remove_file(scratch.path().join("victim/io.latency")).unwrap();
        assert!(matches!(groups.apply(target), Err(HostError::NoGroupFile { .. })));
        groups.apply(IoControl::Uncontrolled).unwrap();
    }

    #[test]
    fn a_rule_that_another_program_changed_is_found() {
        let scratch = tempfile::tempdir().unwrap();
        let groups = groups_of_files(scratch.path());
        let limit = scratch.path().join("offender/io.max");
        assert!(groups.check(IoControl::Uncontrolled).is_ok());
        let limits = GroupLimits { write_bytes: Some(4_000_000), ..GroupLimits::default() };
        groups.set_limits(limits).unwrap();
        let text = fs::read_to_string(&limit).unwrap();
        assert_eq!(text, "259:3 rbps=max wbps=4000000 riops=max wiops=max");
        assert!(groups.check(IoControl::Max(limits)).is_ok());
        assert!(groups.check(IoControl::Uncontrolled).is_err());
        for changed in ["", "259:3 rbps=max wbps=5000000 riops=max wiops=max", "8:0 wbps=4000000"] {
            fs::write(&limit, changed).unwrap();
            assert!(groups.check(IoControl::Max(limits)).is_err(), "{changed}");
        }
        fs::write(&limit, "259:3 rbps=1000 wbps=4000000 riops=max wiops=max").unwrap();
        assert!(groups.check(IoControl::Max(limits)).is_err(), "a limit more");
        let weights = IoControl::BfqWeight { victim: 1000, offender: 10 };
        groups.set_weights("io.bfq.weight", [1000, 10]).unwrap();
        assert!(groups.check(weights).is_ok());
        fs::write(scratch.path().join("victim/io.bfq.weight"), "default 100").unwrap();
        assert!(groups.check(weights).is_err());
    }
}
