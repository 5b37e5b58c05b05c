//! Settings of the kernel's queue and of a device's write cache: read, planned,
//! changed, put back.
//!
//! The write cache is set on the device itself, never in `queue/write_cache`,
//! which only changes what the kernel believes: on SCSI and SATA through the
//! disk's `cache_type`, which sends MODE SELECT (libata makes SET FEATURES of
//! it) and reads the page again; on virtio through the disk's own; on NVMe by
//! feature 06h.
//!
//! A change names its device by identity as well as by name, because a journal
//! may be taken up after a restart, when the name may be another device's; and by
//! the kernel's own number of the disk, because a loop device or a zram has no
//! identity. A change is undone only on that device, and only where the setting
//! still has the value that it was given.

use crate::error::HostError;
use crate::identity::{controllers, describe, kernel_write_cache, parse_write_cache};
use crate::node::Node;
use crate::purge::ata;
use crate::roots::{Roots, entries, file_name, read_text};
use crate::target::Target;
use crate::tool::{self, Installed, NVME};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use steadfast_domain::record::HostChange;
use steadfast_domain::{Conditions, Transport, WriteCache};

/// `queue/nomerges`: 0 merges, 1 merges only with the last request, 2 never.
const NO_MERGES: u8 = 2;

/// A drive that does not answer an admin command in this time is sick.
const NVME_LIMIT: Duration = Duration::from_secs(30);

/// The password that SECURITY ERASE UNIT needs, as a setting and its values.
const ATA_PASSWORD: &str = "ATA password";
const NO_PASSWORD: &str = "none";
const PASSWORD_SET: &str = "set";

/// A setting that is changed here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Setting {
    Merges,
    Scheduler,
    RequestSize,
    ScsiWriteCache,
    VirtioWriteCache,
    NvmeWriteCache,
    AtaPassword,
}

impl Setting {
    const ALL: [Setting; 7] = [
        Setting::Merges,
        Setting::Scheduler,
        Setting::RequestSize,
        Setting::ScsiWriteCache,
        Setting::VirtioWriteCache,
        Setting::NvmeWriteCache,
        Setting::AtaPassword,
    ];

    const fn name(self) -> &'static str {
        match self {
            Setting::Merges => "queue/nomerges",
            Setting::Scheduler => "queue/scheduler",
            Setting::RequestSize => "queue/max_sectors_kb",
            Setting::ScsiWriteCache => "write cache (caching mode page)",
            Setting::VirtioWriteCache => "write cache (virtio)",
            Setting::NvmeWriteCache => "write cache (NVMe feature 06h)",
            Setting::AtaPassword => ATA_PASSWORD,
        }
    }

    /// Whether only the kernel keeps the value, for as long as it has the disk; the
    /// others are the device's own.
    const fn is_kept_by_the_kernel(self) -> bool {
        matches!(self, Setting::Merges | Setting::Scheduler | Setting::RequestSize)
    }

    /// The attribute that shows and takes the value; `None` where a tool does.
    fn attribute(self, whole: &Node) -> Option<PathBuf> {
        match self {
            Setting::NvmeWriteCache | Setting::AtaPassword => None,
            Setting::ScsiWriteCache => entries(&whole.directory.join("device/scsi_disk"))
                .into_iter()
                .map(|disk| disk.join("cache_type"))
                .find(|attribute| attribute.is_file()),
            Setting::VirtioWriteCache => Some(whole.directory.join("cache_type")),
            _ => Some(whole.directory.join(self.name())),
        }
    }

    fn read(self, whole: &Node, roots: &Roots) -> Result<String, HostError> {
        let Some(attribute) = self.attribute(whole) else { return self.read_by_tool(whole, roots) };
        let text = fs::read_to_string(&attribute)
            .map_err(|e| HostError::io("read the setting", &attribute, e))?;
        Ok(match self {
            Setting::Scheduler => in_force(&text).to_owned(),
            _ => text.trim().to_owned(),
        })
    }

    fn write(self, whole: &Node, value: &str, roots: &Roots) -> Result<(), HostError> {
        let Some(attribute) = self.attribute(whole) else {
            return self.write_by_tool(whole, value, roots);
        };
        fs::write(&attribute, value).map_err(|e| HostError::io("change the setting", &attribute, e))
    }

    fn read_by_tool(self, whole: &Node, roots: &Roots) -> Result<String, HostError> {
        if self != Setting::AtaPassword {
            return nvme_feature(whole, roots, None);
        }
        let device = whole.path(roots);
        let set = ata::has_password(&device.to_string_lossy(), &Installed)?;
        Ok(if set { PASSWORD_SET } else { NO_PASSWORD }.to_owned())
    }

    fn write_by_tool(self, whole: &Node, value: &str, roots: &Roots) -> Result<(), HostError> {
        let device = whole.path(roots);
        let device = device.to_string_lossy();
        match (self, value) {
            (Setting::AtaPassword, NO_PASSWORD) => {
                ata::clear_password(&device, ata::PASSWORD, &Installed).map(drop)
            }
            (Setting::AtaPassword, _) => ata::set_password(&device, &Installed),
            _ => nvme_feature(whole, roots, Some(value)).map(drop),
        }
    }
}

/// A setting of one device, as a journal has it: `queue/nomerges of nvme0n1,
/// eui.0025385b01234567`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    setting: Setting,
    name: String,
    identity: Option<String>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.setting.name(), self.name)?;
        self.identity.as_ref().map_or(Ok(()), |identity| write!(f, ", {identity}"))
    }
}

/// Where the device of a change is now.
enum Whereabouts {
    Here(Node),
    /// It is certain that nothing is left to undo, for this reason.
    Gone(&'static str),
}

impl Place {
    fn of(setting: Setting, whole: &Node, roots: &Roots) -> Place {
        Place { setting, name: whole.name.clone(), identity: identity(whole, roots) }
    }

    fn read(change: &HostChange) -> Result<Place, HostError> {
        let unknown = || HostError::UnknownSetting(change.setting.clone());
        Place::parse(&change.setting).ok_or_else(unknown)
    }

    /// Writes a value and reads it back.
    fn give(&self, whole: &Node, value: &str, roots: &Roots) -> Result<(), HostError> {
        self.setting.write(whole, value, roots)?;
        let found = self.setting.read(whole, roots)?;
        if found == value {
            return Ok(());
        }
        let (setting, wanted) = (self.to_string(), value.to_owned());
        Err(HostError::NotTaken { setting, wanted, found })
    }

    fn parse(text: &str) -> Option<Place> {
        let (setting, place) = text.split_once(" of ")?;
        let setting = Setting::ALL.into_iter().find(|known| known.name() == setting)?;
        let (name, identity) = match place.split_once(", ") {
            Some((name, identity)) => (name, Some(identity.to_owned())),
            None => (place, None),
        };
        Some(Place { setting, name: name.to_owned(), identity })
    }

    /// The device of this change. Its number in the kernel proves it in the boot of
    /// the change, its identity beyond that.
    fn look_for(&self, change: &HostChange, roots: &Roots) -> Result<Whereabouts, HostError> {
        let restarted = match (&change.boot_id, boot_id(roots)) {
            (Some(then), Some(now)) => *then != now,
            _ => false,
        };
        if restarted && self.setting.is_kept_by_the_kernel() {
            return Ok(Whereabouts::Gone("the restart since then has reset it"));
        }
        let Some(sequence) = change.disk_sequence else {
            return self.find(roots).map(Whereabouts::Here);
        };
        if !restarted {
            let all: Vec<_> = Node::all(roots).into_iter().map(|n| (sequence_of(&n), n)).collect();
            if let Some((_, node)) = all.iter().find(|(found, _)| *found == Some(sequence)) {
                return Ok(Whereabouts::Here(node.clone()));
            }
            let is_certain = all.iter().any(|(found, _)| found.is_some());
            if is_certain && (self.setting.is_kept_by_the_kernel() || self.identity.is_none()) {
                return Ok(Whereabouts::Gone("the device is gone; what has its name is another"));
            }
        } else if self.identity.is_none() {
            return Ok(Whereabouts::Gone("the machine was restarted; the device has no identity"));
        }
        self.find(roots).map(Whereabouts::Here)
    }

    /// The device: the one of this name if it is still the same, or the one
    /// that has its identity now.
    fn find(&self, roots: &Roots) -> Result<Node, HostError> {
        let fits = |node: &Node| self.identity.is_none() || identity(node, roots) == self.identity;
        Node::named(&self.name, roots)
            .filter(|node| fits(node))
            .or_else(|| {
                self.identity.as_ref()?;
                Node::all(roots).into_iter().find(|node| fits(node))
            })
            .ok_or_else(|| HostError::Absent {
                wanted: format!("{} ({})", self.name, self.identity.as_deref().unwrap_or("-")),
                instead: None,
            })
    }
}

/// The change that sets a password on an ATA drive without one.
pub(crate) fn password_change(whole: &Node, roots: &Roots) -> HostChange {
    change_of(Setting::AtaPassword, whole, NO_PASSWORD, PASSWORD_SET, roots)
}

/// A change of this device's setting, in this boot.
fn change_of(
    setting: Setting,
    whole: &Node,
    before: &str,
    after: &str,
    roots: &Roots,
) -> HostChange {
    HostChange {
        setting: Place::of(setting, whole, roots).to_string(),
        before: before.to_owned(),
        after: after.to_owned(),
        boot_id: boot_id(roots),
        disk_sequence: sequence_of(whole),
    }
}

/// The kernel's identifier of this boot.
fn boot_id(roots: &Roots) -> Option<String> {
    read_text(&roots.proc.join("sys/kernel/random/boot_id"))
}

/// The kernel's number of the disk; kernels before 5.15 have none.
fn sequence_of(whole: &Node) -> Option<u64> {
    whole.number("diskseq")
}

/// Whether a change set a password, which must not outlast a purge.
pub fn is_password(change: &HostChange) -> bool {
    Place::parse(&change.setting).is_some_and(|place| place.setting == Setting::AtaPassword)
}

/// Takes a drive's user password away, which a locked drive is unlocked with
/// for that. Answers whether there was one.
///
/// # Errors
/// Where the drive is no ATA drive, is frozen, or does not take the password.
pub fn unlock(device: &Path, password: &str) -> Result<bool, HostError> {
    ata::clear_password(&device.to_string_lossy(), password, &Installed)
}

/// The password that a purge sets for as long as it lasts.
pub const PURGE_PASSWORD: &str = ata::PASSWORD;

fn identity(whole: &Node, roots: &Roots) -> Option<String> {
    let device = describe(whole, &whole.path(roots), roots);
    device.wwid.or(device.serial)
}

/// The scheduler in brackets: `[none] mq-deadline`.
fn in_force(text: &str) -> &str {
    let text = text.trim();
    text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map_or(text, |(name, _)| name)
}

/// Reads or sets the volatile write cache of an NVMe controller; returns `0` or `1`.
fn nvme_feature(whole: &Node, roots: &Roots, set: Option<&str>) -> Result<String, HostError> {
    // The feature is the controller's, and some drives refuse it by namespace.
    let controller = controllers(whole).first().map(|directory| file_name(directory));
    let path = roots.dev.join(controller.unwrap_or_else(|| whole.name.clone()));
    let path = path.to_string_lossy().into_owned();
    if let Some(value) = set {
        let arguments = ["set-feature", &path, "-f", "6", "-v", value];
        return tool::run(NVME, &arguments, NVME_LIMIT);
    }
    let said = tool::run(NVME, &["get-feature", &path, "-f", "6"], NVME_LIMIT)?;
    parse_feature(&said).map(|value| (value & 1).to_string()).ok_or(HostError::ToolFailed {
        command: format!("nvme get-feature {path} -f 6"),
        how: "its answer is not understood".into(),
        said: said.trim().to_owned(),
    })
}

/// The value in `get-feature:0x06 (Volatile Write Cache), Current value:0x00000001`.
fn parse_feature(said: &str) -> Option<u32> {
    let (_, value) = said.split_once("value:")?;
    let value = value.trim_start();
    let digits = |text: &str, base: u32| {
        let end = text.find(|c: char| !c.is_digit(base)).unwrap_or(text.len());
        u32::from_str_radix(&text[..end], base).ok()
    };
    match value.strip_prefix("0x") {
        Some(hexadecimal) => digits(hexadecimal, 16),
        None => digits(value, 10),
    }
}

/// Where the write cache of a device is set, if anywhere.
fn write_cache_setting(whole: &Node, transport: &Transport) -> Option<Setting> {
    match transport {
        Transport::Nvme => Some(Setting::NvmeWriteCache),
        // A virtual machine's disk is a SCSI disk (sd) or has an attribute of its own (vd).
        Transport::Sata | Transport::Sas | Transport::Usb | Transport::Virtio => {
            [Setting::ScsiWriteCache, Setting::VirtioWriteCache]
                .into_iter()
                .find(|setting| setting.attribute(whole).is_some_and(|path| path.is_file()))
        }
        _ => None,
    }
}

/// The write cache as the device tells it; as the kernel takes it to be where
/// the device cannot be asked.
fn write_cache(whole: &Node, transport: &Transport, roots: &Roots) -> Option<WriteCache> {
    write_cache_setting(whole, transport)
        .and_then(|setting| setting.read(whole, roots).ok())
        .and_then(|text| match text.as_str() {
            "1" => Some(WriteCache::Enabled),
            "0" => Some(WriteCache::Disabled),
            words => parse_write_cache(words),
        })
        .or_else(|| kernel_write_cache(whole))
}

/// The whole device and, where it is built from others, all those below: a
/// request is merged in each queue that it passes.
fn queues(whole: &Node) -> Vec<Node> {
    let mut found = vec![whole.clone()];
    let mut next = 0;
    while let Some(node) = found.get(next) {
        let slaves = node.slaves().unwrap_or_default();
        let below: Vec<Node> = slaves.iter().map(Node::whole).collect();
        below.into_iter().for_each(|lower| {
            if !found.contains(&lower) {
                found.push(lower);
            }
        });
        next += 1;
    }
    found
}

fn merges(whole: &Node, roots: &Roots) -> Option<bool> {
    let levels: Vec<u8> = queues(whole)
        .iter()
        .filter_map(|node| Setting::Merges.read(node, roots).ok()?.parse().ok())
        .collect();
    (!levels.is_empty()).then(|| levels.iter().any(|level| *level < NO_MERGES))
}

fn node_of(target: &Target, roots: &Roots) -> Option<Node> {
    if target.is_file() {
        return None;
    }
    Node::named(&target.device().name, roots).map(|node| node.whole())
}

/// The settings as they are now. All are unknown for a file: the queue below a
/// file system is not the file's.
pub fn conditions(target: &Target, roots: &Roots) -> Conditions {
    let Some(whole) = node_of(target, roots) else { return Conditions::default() };
    let transport = &target.device().transport;
    Conditions {
        write_cache: write_cache(&whole, transport, roots),
        merges: merges(&whole, roots),
        scheduler: Setting::Scheduler.read(&whole, roots).ok(),
        request_kib_max: whole.number("queue/max_sectors_kb"),
        unmet: Vec::new(),
    }
}

/// What must be changed so that these conditions hold, and what cannot be, one
/// sentence each. Nothing is changed yet: journal each change first, then
/// [`make_change`].
pub fn plan_changes(
    wanted: &Conditions,
    target: &Target,
    roots: &Roots,
) -> (Vec<HostChange>, Vec<String>) {
    let mut plan = Plan { roots, changes: Vec::new(), unmet: Vec::new() };
    match node_of(target, roots) {
        None => plan.refuse_all(wanted, &target.device().name),
        Some(whole) => plan.all(wanted, &whole, &target.device().transport),
    }
    (plan.changes, plan.unmet)
}

struct Plan<'a> {
    roots: &'a Roots,
    changes: Vec<HostChange>,
    unmet: Vec<String>,
}

impl Plan<'_> {
    fn refuse_all(&mut self, wanted: &Conditions, name: &str) {
        let asked = [
            wanted.write_cache.map(|cache| format!("write cache {cache}")),
            wanted.merges.map(|on| format!("merges {}", if on { "on" } else { "off" })),
            wanted.scheduler.as_ref().map(|scheduler| format!("scheduler {scheduler}")),
            wanted.request_kib_max.map(|kib| format!("requests of {kib} KiB")),
        ];
        self.unmet.extend(asked.into_iter().flatten().map(|what| {
            format!("{what}: {name} is a file, and the device below it is left as it is")
        }));
    }

    fn all(&mut self, wanted: &Conditions, whole: &Node, transport: &Transport) {
        if let Some(cache) = wanted.write_cache {
            self.write_cache(cache, whole, transport);
        }
        if let Some(on) = wanted.merges {
            self.merges(on, whole);
        }
        if let Some(scheduler) = &wanted.scheduler {
            self.change(Setting::Scheduler, whole, scheduler);
        }
        if let Some(kib) = wanted.request_kib_max {
            self.request_size(kib, whole);
        }
    }

    fn write_cache(&mut self, wanted: WriteCache, whole: &Node, transport: &Transport) {
        match write_cache_setting(whole, transport) {
            _ if write_cache(whole, transport, self.roots) == Some(wanted) => {}
            Some(Setting::NvmeWriteCache) => {
                let value = if wanted == WriteCache::Enabled { "1" } else { "0" };
                self.change(Setting::NvmeWriteCache, whole, value);
            }
            Some(setting) => {
                let enabled = wanted == WriteCache::Enabled;
                self.change(setting, whole, if enabled { "write back" } else { "write through" });
            }
            None => self.unmet.push(format!(
                "write cache {wanted}: {} ({transport}) has no write cache that can be set from here",
                whole.name
            )),
        }
    }

    /// Merges anywhere below count, so all queues change together.
    fn merges(&mut self, on: bool, whole: &Node) {
        let level = if on { 0 } else { NO_MERGES };
        let queues: Vec<Node> = queues(whole)
            .into_iter()
            .filter(|node| Setting::Merges.attribute(node).is_some_and(|path| path.is_file()))
            .collect();
        if queues.is_empty() {
            let wish = if on { "on" } else { "off" };
            self.unmet.push(format!("merges {wish}: {} has no queue/nomerges", whole.name));
        }
        for node in &queues {
            // Any level below 2 merges; only a change of kind is worth one.
            let now = node.number::<u8>("queue/nomerges").map(|now| now < NO_MERGES);
            if now != Some(on) {
                self.change(Setting::Merges, node, &level.to_string());
            }
        }
    }

    fn request_size(&mut self, kib: u64, whole: &Node) {
        match whole.number::<u64>("queue/max_hw_sectors_kb") {
            Some(most) if kib > most => self.unmet.push(format!(
                "requests of {kib} KiB: {} takes no more than {most} KiB in one request",
                whole.name
            )),
            _ => self.change(Setting::RequestSize, whole, &kib.to_string()),
        }
    }

    /// Plans one change, unless the setting has the value already.
    fn change(&mut self, setting: Setting, whole: &Node, after: &str) {
        match setting.read(whole, self.roots) {
            Ok(before) if before == after => {}
            Ok(before) => {
                self.changes.push(change_of(setting, whole, &before, after, self.roots));
            }
            Err(error) => {
                self.unmet.push(format!("{} {after} on {}: {error}", setting.name(), whole.name));
            }
        }
    }
}

/// How the undoing of a change ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Undone {
    /// The setting has its old value again.
    PutBack,
    /// It had it already.
    AlreadySo,
    /// The device is gone, or a restart has reset it: nothing is left to undo.
    Gone(&'static str),
    /// Somebody else has changed it since, and it was left as it is.
    Left(String),
}

/// Changes a setting and reads it back. Journal the change before.
///
/// # Errors
/// Where the device is not here, or the setting does not read back as written.
pub fn make_change(change: &HostChange, roots: &Roots) -> Result<(), HostError> {
    let place = Place::read(change)?;
    let whole = place.find(roots)?;
    if place.setting.read(&whole, roots)? == change.after {
        return Ok(());
    }
    place.give(&whole, &change.after, roots)
}

/// Puts a setting back to what it was, on the same device whatever its name is
/// now, where it still has the value that the change gave it. What somebody else
/// has set since is left.
///
/// # Errors
/// Where the device is not here, or the setting does not read back as written.
pub fn undo_change(change: &HostChange, roots: &Roots) -> Result<Undone, HostError> {
    let place = Place::read(change)?;
    let whole = match place.look_for(change, roots)? {
        Whereabouts::Here(whole) => whole,
        Whereabouts::Gone(why) => return Ok(Undone::Gone(why)),
    };
    let found = place.setting.read(&whole, roots)?;
    if found == change.before {
        return Ok(Undone::AlreadySo);
    }
    if found != change.after {
        let why = format!("it is {found} now, not {}, which this program had set", change.after);
        return Ok(Undone::Left(why));
    }
    place.give(&whole, &change.before, roots)?;
    Ok(Undone::PutBack)
}

/// The processor frequency governors in force, each once.
pub(crate) fn governors(roots: &Roots) -> Option<String> {
    let mut names: Vec<String> = entries(&roots.sys.join("devices/system/cpu"))
        .iter()
        .filter_map(|cpu| read_text(&cpu.join("cpufreq/scaling_governor")))
        .collect();
    names.sort();
    names.dedup();
    (!names.is_empty()).then(|| names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Machine;
    use crate::target::Access;

    #[test]
    fn the_answer_of_nvme_is_read() {
        for (said, value) in [
            ("get-feature:0x06 (Volatile Write Cache), Current value:0x00000001\n", Some(1)),
            ("get-feature:0x6 (Volatile Write Cache), Current value:00000000\n", Some(0)),
            ("get-feature:0x06 (Volatile Write Cache), Current value: 0x1 \n", Some(1)),
            ("NVMe status: Invalid Field in Command", None),
            ("Current value:", None),
            ("", None),
        ] {
            assert_eq!(parse_feature(said), value, "{said}");
        }
    }

    #[test]
    fn a_place_survives_the_journal() {
        for identity in
            [None, Some("eui.0025385b01234567".to_owned()), Some("t10.A B, C of D".into())]
        {
            for setting in Setting::ALL {
                let place = Place { setting, name: "nvme0n1".into(), identity: identity.clone() };
                assert_eq!(Place::parse(&place.to_string()), Some(place));
            }
        }
        for bad in ["", "queue/nomerges", "../../etc/shadow of sda", "/etc/shadow"] {
            assert_eq!(Place::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn the_scheduler_in_force_stands_in_brackets() {
        assert_eq!(in_force("mq-deadline kyber [none]\n"), "none");
        assert_eq!(in_force("none\n"), "none");
    }

    fn target(machine: &Machine, name: &str) -> Target {
        let node = Node::named(name, &machine.roots).unwrap();
        machine.write("medium", vec![0; 8192]);
        let device = describe(&node, &machine.path("medium"), &machine.roots);
        Target::open(device, Access::Read).unwrap()
    }

    fn wanted() -> Conditions {
        Conditions {
            write_cache: Some(WriteCache::Disabled),
            merges: Some(false),
            request_kib_max: Some(1024),
            ..Conditions::default()
        }
    }

    #[test]
    fn a_sata_drive_is_changed_read_back_and_put_back() {
        let machine = Machine::new();
        let disk = machine.sata("sda", "8:0", 1000);
        machine.set(&disk, "device/wwid", "naa.5001");
        machine.set(&disk, "device/scsi_disk/0:0:0:0/cache_type", "write back\n");
        let target = target(&machine, "sda");
        let roots = &machine.roots;
        let before = conditions(&target, roots);
        assert_eq!(before.write_cache, Some(WriteCache::Enabled));
        assert_eq!((before.merges, before.request_kib_max), (Some(true), Some(512)));
        assert_eq!(before.scheduler.as_deref(), Some("none"));

        let (changes, unmet) = plan_changes(&wanted(), &target, roots);
        assert_eq!(unmet, Vec::<String>::new());
        let told: Vec<(&str, &str, &str)> = changes
            .iter()
            .map(|change| (change.setting.as_str(), change.before.as_str(), change.after.as_str()))
            .collect();
        let expected = [
            ("write cache (caching mode page) of sda, naa.5001", "write back", "write through"),
            ("queue/nomerges of sda, naa.5001", "0", "2"),
            ("queue/max_sectors_kb of sda, naa.5001", "512", "1024"),
        ];
        assert_eq!(told, expected);
        assert_eq!(conditions(&target, roots), before, "planning changes nothing");

        changes.iter().for_each(|change| make_change(change, roots).unwrap());
        let after = conditions(&target, roots);
        assert_eq!(after.write_cache, Some(WriteCache::Disabled));
        assert_eq!((after.merges, after.request_kib_max), (Some(false), Some(1024)));
        assert_eq!(plan_changes(&wanted(), &target, roots), (Vec::new(), Vec::new()));

        for change in changes.iter().rev() {
            assert_eq!(undo_change(change, roots).unwrap(), Undone::PutBack);
        }
        assert_eq!(conditions(&target, roots), before);
    }

    #[test]
    fn the_cache_of_a_virtual_machine_s_disk_is_set_where_the_disk_takes_it() {
        let machine = Machine::new();
        let below = "pci0000:00/0000:00:05.0/virtio1/host2/target2:0:0/2:0:0:0";
        let scsi = machine.scsi(below, "sdc", "8:32", 1000);
        machine.set(&scsi, "device/scsi_disk/2:0:0:0/cache_type", "write back\n");
        let plain = machine.block("pci0000:00/0000:00:06.0/virtio2/block/vda", "254:0", 1000);
        let asked = Conditions { write_cache: Some(WriteCache::Disabled), ..Conditions::default() };
        let (changes, unmet) = plan_changes(&asked, &target(&machine, "sdc"), &machine.roots);
        assert_eq!((changes.len(), unmet.len()), (1, 0));
        assert_eq!(changes[0].setting, "write cache (caching mode page) of sdc");
        let (changes, unmet) = plan_changes(&asked, &target(&machine, "vda"), &machine.roots);
        assert_eq!((changes.len(), unmet.len()), (0, 1));
        machine.set(&plain, "cache_type", "write back\n");
        let (changes, unmet) = plan_changes(&asked, &target(&machine, "vda"), &machine.roots);
        assert_eq!((changes.len(), unmet.len()), (1, 0));
        make_change(&changes[0], &machine.roots).unwrap();
        let after = conditions(&target(&machine, "vda"), &machine.roots);
        assert_eq!(after.write_cache, Some(WriteCache::Disabled));
    }

    #[test]
    fn a_change_follows_its_device_to_another_name() {
        let machine = Machine::new();
        machine.nvme(0, 1, 1000);
        let change = HostChange {
            setting: "queue/nomerges of nvme0n1, eui.0025385800010001".into(),
            before: "1".into(),
            after: "2".into(),
            ..HostChange::default()
        };
        let error = undo_change(&change, &machine.roots).unwrap_err();
        assert!(matches!(error, HostError::Absent { .. }), "{error}");
        let moved = machine.nvme(1, 1, 1000);
        machine.set(&moved, "queue/nomerges", "2\n");
        assert_eq!(undo_change(&change, &machine.roots).unwrap(), Undone::PutBack);
        assert_eq!(undo_change(&change, &machine.roots).unwrap(), Undone::AlreadySo);
        assert_eq!(moved.text("queue/nomerges").as_deref(), Some("1"));
        let other = Node::named("nvme0n1", &machine.roots).unwrap();
        assert_eq!(other.text("queue/nomerges").as_deref(), Some("0"));
    }

    /// A machine whose `loop0` has merges off by a change of this program.
    fn with_merges_off() -> (Machine, Node, HostChange) {
        let machine = Machine::new();
        machine.write("proc/sys/kernel/random/boot_id", "first\n");
        let disk = machine.block("virtual/block/loop0", "7:0", 1000);
        machine.set(&disk, "diskseq", "41\n");
        let asked = Conditions { merges: Some(false), ..Conditions::default() };
        let (changes, _) = plan_changes(&asked, &target(&machine, "loop0"), &machine.roots);
        let change = changes[0].clone();
        assert_eq!((change.boot_id.as_deref(), change.disk_sequence), (Some("first"), Some(41)));
        make_change(&change, &machine.roots).unwrap();
        (machine, disk, change)
    }

    #[test]
    fn what_somebody_else_has_set_since_is_left() {
        let (machine, disk, change) = with_merges_off();
        machine.set(&disk, "queue/nomerges", "1\n");
        let undone = undo_change(&change, &machine.roots).unwrap();
        assert!(matches!(&undone, Undone::Left(why) if why.contains("it is 1 now")), "{undone:?}");
        assert_eq!(disk.text("queue/nomerges").as_deref(), Some("1"));
    }

    #[test]
    fn another_disk_under_the_same_name_is_left_as_it_is() {
        let (machine, disk, change) = with_merges_off();
        machine.set(&disk, "diskseq", "42\n");
        let undone = undo_change(&change, &machine.roots).unwrap();
        assert!(matches!(&undone, Undone::Gone(why) if why.contains("another")), "{undone:?}");
        assert_eq!(disk.text("queue/nomerges").as_deref(), Some("2"));
    }

    #[test]
    fn a_restart_resets_what_only_the_kernel_keeps() {
        let (machine, disk, change) = with_merges_off();
        machine.write("proc/sys/kernel/random/boot_id", "second\n");
        let undone = undo_change(&change, &machine.roots).unwrap();
        assert!(matches!(&undone, Undone::Gone(why) if why.contains("restart")), "{undone:?}");
        assert_eq!(disk.text("queue/nomerges").as_deref(), Some("2"));
    }

    #[test]
    fn a_drive_s_own_setting_outlasts_a_restart() {
        let machine = Machine::new();
        machine.write("proc/sys/kernel/random/boot_id", "first\n");
        let disk = machine.sata("sda", "8:0", 1000);
        machine.set(&disk, "device/wwid", "naa.5001");
        machine.set(&disk, "diskseq", "7\n");
        machine.set(&disk, "device/scsi_disk/0:0:0:0/cache_type", "write back\n");
        let asked = Conditions { write_cache: Some(WriteCache::Disabled), ..Conditions::default() };
        let (changes, _) = plan_changes(&asked, &target(&machine, "sda"), &machine.roots);
        make_change(&changes[0], &machine.roots).unwrap();
        machine.write("proc/sys/kernel/random/boot_id", "second\n");
        machine.set(&disk, "diskseq", "3\n");
        assert_eq!(undo_change(&changes[0], &machine.roots).unwrap(), Undone::PutBack);
        let after = conditions(&target(&machine, "sda"), &machine.roots);
        assert_eq!(after.write_cache, Some(WriteCache::Enabled));
    }

    #[test]
    fn a_change_that_does_not_take_is_an_error() {
        let machine = Machine::new();
        let disk = machine.block("virtual/block/loop0", "7:0", 1000);
        let attribute = disk.directory.join("queue/nomerges");
        fs::remove_file(&attribute).unwrap();
        std::os::unix::fs::symlink("/dev/null", &attribute).unwrap();
        let change = HostChange {
            setting: "queue/nomerges of loop0".into(),
            before: "0".into(),
            after: "2".into(),
            ..HostChange::default()
        };
        let error = make_change(&change, &machine.roots).unwrap_err();
        assert!(matches!(error, HostError::NotTaken { .. }), "{error}");
        let foreign = HostChange { setting: "/etc/shadow".into(), ..change };
        assert!(matches!(make_change(&foreign, &machine.roots), Err(HostError::UnknownSetting(_))));
    }

    #[test]
    fn what_cannot_be_met_is_said_with_its_reason() {
        let machine = Machine::new();
        machine.block("virtual/block/loop0", "7:0", 1000);
        let roots = &machine.roots;
        let wanted = Conditions { request_kib_max: Some(4096), ..wanted() };
        let (changes, unmet) = plan_changes(&wanted, &target(&machine, "loop0"), roots);
        assert_eq!(changes.len(), 1);
        assert_eq!(
            unmet,
            [
                "write cache disabled (WCD): loop0 (loop) has no write cache that can be set from here",
                "requests of 4096 KiB: loop0 takes no more than 2048 KiB in one request",
            ]
        );
        let asked = Conditions { write_cache: Some(WriteCache::Enabled), ..Conditions::default() };
        assert_eq!(plan_changes(&asked, &target(&machine, "loop0"), roots), (vec![], vec![]));

        let file = crate::inspect(&machine.path("medium"), roots).unwrap();
        let file = Target::open(file, Access::Read).unwrap();
        assert_eq!(conditions(&file, roots), Conditions::default());
        let (changes, unmet) = plan_changes(&wanted, &file, roots);
        assert_eq!((changes.len(), unmet.len()), (0, 3));
    }

    #[test]
    fn merges_are_stopped_in_every_queue_below() {
        let machine = Machine::new();
        let disk = machine.sata("sda", "8:0", 1000);
        let part = machine.partition(&disk, "sda1", "8:1", 100);
        let mapped = machine.block("virtual/block/dm-0", "252:0", 100);
        machine.stack(&mapped, &part);
        let target = target(&machine, "dm-0");
        machine.set(&mapped, "queue/nomerges", "2");
        assert_eq!(conditions(&target, &machine.roots).merges, Some(true));
        let (changes, _) = plan_changes(
            &Conditions { merges: Some(false), ..Conditions::default() },
            &target,
            &machine.roots,
        );
        let settings: Vec<&str> = changes.iter().map(|change| change.setting.as_str()).collect();
        assert_eq!(settings, ["queue/nomerges of sda"]);
        make_change(&changes[0], &machine.roots).unwrap();
        assert_eq!(conditions(&target, &machine.roots).merges, Some(false));
    }
}
