//! What a host's shell has seen of a device, and what stands against using it. Only text
//! is looked at here: nothing that the host did not say is taken for granted.

use steadfast_domain::{Bytes, Device, Transport};

/// What a host said of a device.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sight {
    /// What the host calls itself.
    pub name: String,
    /// Its kernel release.
    pub kernel: String,
    /// Which boot of which kernel it is.
    pub boot: String,
    /// Its `fio --version`.
    pub fio: String,
    /// The user's number there.
    user: Option<u32>,
    /// The device's number, `7:0`.
    number: String,
    /// The kernel's name of the device there.
    node: String,
    is_partition: bool,
    capacity: Bytes,
    is_read_only: Option<bool>,
    logical: u32,
    physical: u32,
    rotational: Option<bool>,
    model: Option<String>,
    serial: Option<String>,
    namespace: Option<u32>,
    wwid: Option<String>,
    /// The device and what lies on it, as lsblk lists them.
    blocks: Vec<Block>,
    holders: Vec<String>,
    mounts: Vec<Mount>,
    swaps: Vec<String>,
    writers: Vec<String>,
    is_whole: bool,
}

/// The processes that hold a device for us, each with the boot of its kernel.
pub type Keepers = Vec<(String, String)>;

/// A line of lsblk.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Block {
    number: String,
    name: String,
    kind: String,
    size: String,
    content: Option<String>,
}

/// A mount of any process of the host.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mount {
    number: String,
    source: String,
    place: String,
}

impl Sight {
    /// Reads what a host answered.
    ///
    /// # Errors
    /// Where a line that is needed is missing or is something else.
    pub fn read(lines: &[String]) -> Result<Sight, String> {
        let mut sight = Sight::default();
        for line in lines {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            sight.take(word, rest.trim())?;
        }
        match sight.missing() {
            Some(what) => Err(format!("it did not say {what}")),
            None => Ok(sight),
        }
    }

    fn take(&mut self, word: &str, rest: &str) -> Result<(), String> {
        let some = || (!rest.is_empty()).then(|| rest.to_owned());
        match word {
            "name" => rest.clone_into(&mut self.name),
            "kernel" => rest.clone_into(&mut self.kernel),
            "boot" => rest.clone_into(&mut self.boot),
            "fio" => rest.clone_into(&mut self.fio),
            "user" => self.user = Some(number(word, rest)?),
            "number" => rest.clone_into(&mut self.number),
            "node" => rest.clone_into(&mut self.node),
            "partition" => self.is_partition = true,
            "blocks" => {
                let blocks: u64 = number(word, rest)?;
                let bytes = blocks.checked_mul(512).ok_or("its size is out of range")?;
                self.capacity = Bytes(bytes);
            }
            "readonly" => self.is_read_only = Some(rest != "0"),
            "logical" => self.logical = number(word, rest)?,
            "physical" => self.physical = number(word, rest)?,
            "rotational" => self.rotational = Some(rest == "1"),
            "model" => self.model = some(),
            "serial" => self.serial = meaningful(rest),
            "namespace" => self.namespace = rest.parse().ok(),
            "wwid" => self.wwid = meaningful(rest),
            "block" => self.blocks.push(block(rest)?),
            "holder" => self.holders.push(rest.to_owned()),
            "mount" => self.mounts.push(mount(rest)?),
            "swap" => self.swaps.extend(rest.split_whitespace().next().map(str::to_owned)),
            "writer" => self.writers.push(rest.to_owned()),
            "seen" => self.is_whole = true,
            _ => return Err(format!("it said '{word} {rest}', which is not understood")),
        }
        Ok(())
    }

    /// What was not said that must be known.
    fn missing(&self) -> Option<&'static str> {
        let needed = [
            (!self.boot.is_empty(), "which boot it is (/proc/sys/kernel/random/boot_id)"),
            (self.user.is_some(), "which user this is (id -u)"),
            (!self.number.is_empty() && !self.node.is_empty(), "the device's number"),
            (self.is_read_only.is_some(), "whether the device is read-only"),
            (self.logical.is_power_of_two() && self.logical >= 512, "the device's sector size"),
            (self.blocks.iter().any(|b| b.number == self.number), "what lies on it (lsblk)"),
            (self.mounts.iter().any(|mount| mount.place == "/"), "what is mounted (mountinfo)"),
            (self.is_whole, "everything it was asked for"),
        ];
        needed.iter().find(|(known, _)| !known).map(|(_, what)| *what)
    }

    /// What a user types, after the host's name, to give the device up.
    pub fn confirmation(&self) -> String {
        match (&self.serial, self.namespace) {
            (Some(serial), Some(namespace)) if namespace > 1 => format!("{serial}-n{namespace}"),
            (Some(serial), _) => serial.clone(),
            (None, _) => self.node.clone(),
        }
    }

    /// Why this cannot be the device that another host sees; `None` where it is.
    pub fn differs_from(&self, other: &Sight) -> Option<String> {
        let pair = |what: &str, a: &str, b: &str| Some(format!("{what} {a} there, {b} here"));
        if self.capacity != other.capacity {
            let bytes = |sight: &Sight| sight.capacity.0.to_string();
            return pair("bytes:", &bytes(other), &bytes(self));
        }
        if self.boot == other.boot {
            // One kernel: its number is the device.
            return match self.number == other.number {
                true => None,
                false => pair("on the same kernel, device", &other.number, &self.number),
            };
        }
        let shown = |text: &Option<String>| text.clone().unwrap_or_else(|| "none".to_owned());
        let named = |sight: &Sight| (shown(&sight.serial), sight.namespace);
        if self.wwid != other.wwid {
            return pair("world-wide identifier", &shown(&other.wwid), &shown(&self.wwid));
        }
        if named(self) != named(other) {
            return pair("serial number", &other.confirmation(), &self.confirmation());
        }
        if self.wwid.is_none() && self.serial.is_none() {
            let why = "it has neither a world-wide identifier nor a serial number, so that nothing \
                       shows that both hosts see the same device";
            return Some(why.to_owned());
        }
        None
    }

    /// Leaves out who holds the device for us.
    pub fn pass_over(&mut self, keepers: &[(String, String)]) {
        let boot = &self.boot;
        self.writers.retain(|writer| {
            let process = writer.split(' ').next().unwrap_or_default();
            !keepers.iter().any(|(of, keeper)| of == boot && keeper == process)
        });
    }

    /// What uses the device on that host: empty where nothing does.
    pub fn uses(&self) -> Vec<String> {
        let mut uses = Vec::new();
        for holder in &self.holders {
            uses.push(format!("held by {holder}"));
        }
        for block in self.blocks.iter().filter(|block| block.number != self.number) {
            if block.kind != "part" {
                uses.push(format!("{} ({}) lies on it", block.name, block.kind));
            }
        }
        for block in &self.blocks {
            let node = format!("/dev/{}", block.name);
            let mounts = self.mounts.iter();
            let mounts = mounts.filter(|m| m.number == block.number || m.source == node);
            uses.extend(mounts.map(|mount| format!("{node} is mounted at {}", mount.place)));
            if self.swaps.contains(&node) {
                uses.push(format!("{node} is swap space"));
            }
            if block.content.as_deref() == Some("zfs_member") {
                uses.push(format!("{node} belongs to a ZFS pool"));
            }
        }
        uses.extend(self.writers.iter().map(|who| format!("open for writing in process {who}")));
        uses
    }

    /// Why it may not be written to from there, whatever the user says; `None` where
    /// nothing stands against it.
    pub fn obstacle(&self) -> Option<String> {
        if self.user != Some(0) {
            return Some(
                "the login is not root, so that mounts and open files of others cannot be seen; \
                 log in as root"
                    .to_owned(),
            );
        }
        if self.is_read_only != Some(false) {
            return Some("the device is read-only".to_owned());
        }
        let uses = self.uses();
        (!uses.is_empty()).then(|| format!("the device is in use: {}", uses.join("; ")))
    }

    /// Why it can be neither read nor written from there.
    pub fn unusable(&self) -> Option<&'static str> {
        if self.is_partition {
            return Some("it is a partition; name the whole device");
        }
        (self.capacity.0 == 0).then_some("it has no size")
    }

    /// What overwriting it would destroy.
    pub fn losses(&self) -> Vec<String> {
        let listed = self.blocks.iter().filter(|b| b.kind == "part" || b.content.is_some());
        let shown = listed.map(|block| {
            let content = block.content.as_deref().unwrap_or("unrecognized content");
            format!("{} ({}, {content})", block.name, block.size)
        });
        let mut losses: Vec<String> = shown.collect();
        if losses.is_empty() {
            losses.push("all of its content (no partition or file system recognized)".to_owned());
        }
        losses
    }

    /// The device as records name it.
    pub fn device(&self, path: &str) -> Device {
        Device {
            path: path.to_owned(),
            name: self.node.clone(),
            transport: transport(&self.node),
            model: self.model.clone(),
            serial: self.serial.as_ref().map(|_| self.confirmation()),
            firmware: None,
            wwid: self.wwid.clone(),
            capacity: self.capacity,
            logical_sector: self.logical,
            physical_sector: self.physical.max(self.logical),
            rotational: self.rotational,
            discard: false,
            write_cache: None,
            link: None,
            zoned: None,
            in_use: self.uses(),
        }
    }
}

fn number<N: std::str::FromStr>(word: &str, text: &str) -> Result<N, String> {
    text.parse().map_err(|_| format!("its '{word}' is '{text}', which is no number"))
}

/// Blank and all-zero identifiers name nothing.
fn meaningful(text: &str) -> Option<String> {
    let blank = text.chars().all(|c| matches!(c, '0' | ' ' | '-' | '.'));
    (!blank && !text.contains('\u{fffd}')).then(|| text.to_owned())
}

fn block(text: &str) -> Result<Block, String> {
    let mut words = text.split_whitespace().map(str::to_owned);
    let mut next = || words.next().ok_or_else(|| format!("lsblk printed '{text}'"));
    let (number, name, kind, size) = (next()?, next()?, next()?, next()?);
    Ok(Block { number, name, kind, size, content: words.next() })
}

fn mount(text: &str) -> Result<Mount, String> {
    let mut words = text.split(' ').map(str::to_owned);
    let mut next = || words.next().ok_or_else(|| format!("mountinfo has '{text}'"));
    Ok(Mount { number: next()?, source: next()?, place: next()? })
}

fn transport(node: &str) -> Transport {
    let kinds = [
        ("nvme", Transport::Nvme),
        ("loop", Transport::Loop),
        ("zram", Transport::Zram),
        ("dm-", Transport::Mapped),
        ("md", Transport::Mapped),
        ("vd", Transport::Virtio),
        ("sd", Transport::Sas),
    ];
    let found = kinds.into_iter().find(|(prefix, _)| node.starts_with(prefix));
    found.map_or(Transport::Other, |(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(more: &[&str]) -> Vec<String> {
        let usual = [
            "boot b-1",
            "name a",
            "kernel 6.1.0",
            "user 0",
            "number 259:0",
            "node nvme0n1",
            "blocks 10007",
            "readonly 0",
            "logical 512",
            "physical 4096",
            "rotational 0",
            "model An SSD",
            "serial S1",
            "wwid eui.1",
            "block 259:0 nvme0n1 disk 5M",
            "mount 8:1 /dev/sda1 /",
            "fio fio-3.33",
            "seen yes",
        ];
        usual.iter().chain(more).map(|line| (*line).to_owned()).collect()
    }

    fn sight(more: &[&str]) -> Sight {
        Sight::read(&lines(more)).unwrap()
    }

    #[test]
    fn an_idle_device_is_seen_with_its_facts() {
        let sight = sight(&[]);
        assert_eq!((sight.obstacle(), sight.unusable()), (None, None));
        let device = sight.device("/dev/disk/by-id/x");
        assert_eq!((device.capacity, device.confirmation()), (Bytes(10007 * 512), "S1"));
        assert_eq!(device.transport, Transport::Nvme);
        assert_eq!(sight.differs_from(&sight), None);
    }

    #[test]
    fn whatever_is_not_said_is_missing_and_what_is_not_understood_is_refused() {
        for gone in ["boot", "user", "number", "readonly", "logical", "block", "mount", "seen"] {
            let rest: Vec<String> = lines(&[])
                .into_iter()
                .filter(|line| !line.starts_with(&format!("{gone} ")))
                .collect();
            let why = Sight::read(&rest).unwrap_err();
            assert!(why.contains("did not say"), "{gone}: {why}");
        }
        assert!(Sight::read(&lines(&["hello you"])).unwrap_err().contains("not understood"));
        assert!(Sight::read(&lines(&["blocks many"])).unwrap_err().contains("no number"));
        let huge = format!("blocks {}", u64::MAX);
        assert!(Sight::read(&lines(&[&huge])).unwrap_err().contains("out of range"));
    }

    #[test]
    fn every_use_is_an_obstacle() {
        for (line, word) in [
            ("holder dm-0", "held by dm-0"),
            ("block 253:0 dm-0 lvm 5M", "dm-0 (lvm) lies on it"),
            ("mount 259:0 /dev/nvme0n1 /srv", "mounted at /srv"),
            ("mount 0:55 /dev/nvme0n1 /btrfs", "mounted at /btrfs"),
            ("swap /dev/nvme0n1 partition 1 0 -2", "swap space"),
            ("writer 4711 dd", "open for writing in process 4711 dd"),
            ("readonly 1", "read-only"),
            ("user 1000", "not root"),
        ] {
            let why = sight(&[line]).obstacle().unwrap_or_default();
            assert!(why.contains(word), "{line}: {why}");
        }
        let mut held = sight(&["writer 4711 perl"]);
        held.pass_over(&[("b-2".into(), "4711".into()), ("b-1".into(), "471".into())]);
        assert!(held.obstacle().is_some());
        held.pass_over(&[("b-1".into(), "4711".into())]);
        assert_eq!(held.obstacle(), None);
        let mounted = ["block 259:1 nvme0n1p1 part 4M ext4", "mount 259:1 /dev/nvme0n1p1 /boot"];
        let why = sight(&mounted).obstacle().unwrap();
        assert!(why.contains("/dev/nvme0n1p1 is mounted at /boot"), "{why}");
        assert_eq!(sight(&mounted[..1]).losses(), ["nvme0n1p1 (4M, ext4)"]);
        let pool = sight(&["block 259:1 nvme0n1p1 part 4M zfs_member"]);
        assert!(pool.obstacle().unwrap().contains("ZFS"));
        assert!(sight(&["partition yes"]).unusable().is_some());
    }

    #[test]
    fn another_device_is_told_by_identity_size_or_number_and_no_identity_proves_nothing() {
        let here = sight(&[]);
        for (line, word) in [
            ("wwid eui.2", "world-wide"),
            ("serial S2", "serial number"),
            ("namespace 2", "serial number S1 there, S1-n2 here"),
            ("blocks 10009", "bytes"),
        ] {
            let why = sight(&["boot b-2", line]).differs_from(&here).unwrap_or_default();
            assert!(why.contains(word), "{line}: {why}");
        }
        let renamed = ["boot b-2", "number 259:7", "node nvme7n1", "block 259:7 nvme7n1 disk 5M"];
        assert_eq!(sight(&renamed).differs_from(&here), None);
        let bare = ["wwid 0000", "serial "];
        let why = sight(&[bare[0], bare[1], "boot b-2"]).differs_from(&sight(&bare)).unwrap();
        assert!(why.contains("nothing shows"), "{why}");
        assert_eq!(sight(&bare).differs_from(&sight(&bare)), None);
        let other = sight(&[bare[0], bare[1], "number 259:3", "block 259:3 nvme3n1 disk 5M"]);
        assert!(other.differs_from(&sight(&bare)).is_some());
    }
}
