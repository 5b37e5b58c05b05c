//! Who uses a device: mounts, swap, holders and whatever is built upon them.
//!
//! Two questions are answered here. *Is this device, or a part of it, or
//! anything stacked on it, in use?* ([`uses`]) And: *which disks carry the
//! paths that must live?* ([`disks_of_path`]). Neither opens a device.

use crate::mounts::{Mount, mount_of, mounts, unescape};
use crate::node::Node;
use crate::roots::Roots;
use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// One use of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Use {
    /// The part or the device above it, where it is not the device itself.
    pub place: Option<String>,
    /// What the use is.
    pub kind: UseKind,
}

/// Kinds of use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum UseKind {
    /// A file system is mounted there.
    Mounted(PathBuf),
    /// The kernel swaps to it.
    Swap,
    /// A device is built upon it: device-mapper, md, bcache, loop.
    Held(String),
    /// A loop device over the same file is in use.
    SharedFile(String),
}

impl fmt::Display for Use {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{place}: ")?;
        }
        match &self.kind {
            UseKind::Mounted(point) => write!(f, "mounted on {}", point.display()),
            UseKind::Swap => f.write_str("swap"),
            UseKind::Held(holder) => write!(f, "held by {holder}"),
            UseKind::SharedFile(other) => write!(f, "its file is in use through {other}"),
        }
    }
}

/// Everything that uses a device: the device itself, its partitions (for a
/// partition: the whole device, but not the partitions beside it), a block
/// device that a loop device is laid over, and whatever is stacked on any of
/// these.
pub(crate) fn uses(node: &Node, roots: &Roots) -> Vec<Use> {
    let mut survey = Survey::new(roots);
    survey.visit(node);
    for part in node.partitions() {
        survey.visit(&part);
    }
    if node.partition().is_some() {
        survey.visit(&node.whole());
    }
    survey.visit_below(node);
    let own = node.name.clone();
    let mut uses = survey.found;
    for found in &mut uses {
        found.place.take_if(|place| *place == own);
    }
    uses
}

/// The state of the machine, read once, and what was found in it so far.
struct Survey<'a> {
    roots: &'a Roots,
    mounts: Vec<(Mount, Vec<Node>)>,
    swaps: Vec<Node>,
    loops: Vec<Node>,
    seen: BTreeSet<Node>,
    found: Vec<Use>,
}

impl<'a> Survey<'a> {
    fn new(roots: &'a Roots) -> Self {
        let mounts = mounts(roots);
        Survey {
            mounts: mounts.into_iter().map(|mount| (mount.clone(), mount.nodes(roots))).collect(),
            swaps: swaps(roots),
            loops: Node::all(roots).into_iter().filter(Node::is_loop).collect(),
            seen: BTreeSet::new(),
            found: Vec::new(),
            roots,
        }
    }

    fn add(&mut self, node: &Node, kind: UseKind) {
        self.found.push(Use { place: Some(node.name.clone()), kind });
    }

    /// Notes the uses of a device, then those of whatever is built upon it.
    fn visit(&mut self, node: &Node) {
        if !self.seen.insert(node.clone()) {
            return;
        }
        self.note_mounts(node);
        if self.swaps.contains(node) {
            self.add(node, UseKind::Swap);
        }
        for holder in node.holders().into_iter().chain(self.loops_on(node)) {
            self.add(node, UseKind::Held(holder.known_as()));
            self.visit(&holder);
            holder.partitions().iter().for_each(|part| self.visit(part));
        }
    }

    fn note_mounts(&mut self, node: &Node) {
        let points: Vec<PathBuf> = self
            .mounts
            .iter()
            .filter(|(_, nodes)| nodes.contains(node))
            .map(|(mount, _)| mount.point.clone())
            .collect();
        for point in points {
            self.add(node, UseKind::Mounted(point));
        }
    }

    /// The loop devices over a block device: the kernel lists them nowhere
    /// among its holders.
    fn loops_on(&self, node: &Node) -> Vec<Node> {
        let lies_on = |over: &&Node| below_loop(over, self.roots).as_ref() == Some(node);
        self.loops.iter().filter(lies_on).cloned().collect()
    }

    /// Follows a loop device down: to the block device below it, or to other
    /// loop devices over the same file.
    fn visit_below(&mut self, node: &Node) {
        let whole = node.whole();
        let Some(file) = whole.backing_file() else { return };
        if let Some(below) = below_loop(&whole, self.roots) {
            self.visit_block_below(&whole, &below);
            return;
        }
        let shares = |other: &&Node| **other != whole && other.backing_file() == Some(file.clone());
        let others: Vec<Node> = self.loops.iter().filter(shares).cloned().collect();
        for other in others {
            if !uses_directly(&other, self).is_empty() {
                self.add(node, UseKind::SharedFile(other.name));
            }
        }
    }

    /// A block device below a loop device counts as if it were named itself,
    /// except that the loop device is no foreign holder.
    fn visit_block_below(&mut self, over: &Node, below: &Node) {
        if self.seen.contains(below) {
            return;
        }
        self.loops.retain(|other| other != over);
        self.visit(below);
        below.partitions().iter().for_each(|part| self.visit(part));
        if below.partition().is_some() {
            self.visit(&below.whole());
        }
        self.visit_below(below);
    }
}

/// The uses of a device and its partitions, as a survey of their own.
fn uses_directly(node: &Node, survey: &Survey<'_>) -> Vec<Use> {
    let mut own = Survey {
        roots: survey.roots,
        mounts: survey.mounts.clone(),
        swaps: survey.swaps.clone(),
        loops: survey.loops.clone(),
        seen: BTreeSet::new(),
        found: Vec::new(),
    };
    own.visit(node);
    node.partitions().iter().for_each(|part| own.visit(part));
    own.found
}

/// The block device that a loop device is laid over, if it is not a file.
fn below_loop(over: &Node, roots: &Roots) -> Option<Node> {
    let file = over.backing_file()?;
    if !file.starts_with("/dev/") {
        return None;
    }
    Node::of_path(&roots.dev_path(&file), roots)
}

/// The devices that the kernel swaps to.
fn swaps(roots: &Roots) -> Vec<Node> {
    let text = fs::read_to_string(roots.proc.join("swaps")).unwrap_or_default();
    text.lines()
        .skip(1)
        .filter_map(|line| line.split_whitespace().next())
        .filter_map(|path| Node::of_path(&roots.dev_path(&unescape(path)), roots))
        .collect()
}

/// Whether the kernel swaps to this file.
pub(crate) fn is_swap_file(path: &Path, roots: &Roots) -> bool {
    let text = fs::read_to_string(roots.proc.join("swaps")).unwrap_or_default();
    text.lines()
        .skip(1)
        .filter_map(|line| line.split_whitespace().next())
        .any(|swap| Path::new(&unescape(swap)) == path)
}

/// The loop devices over a file.
pub(crate) fn loops_over(file: &Path, roots: &Roots) -> Vec<Node> {
    Node::all(roots)
        .into_iter()
        .filter(|node| node.is_loop())
        .filter(|node| node.backing_file().is_some_and(|backing| Path::new(&backing) == file))
        .collect()
}

/// The file system that a path lies in: `ext4 (/dev/sda2)`.
pub(crate) fn file_system_of(path: &Path, roots: &Roots) -> Option<String> {
    let mount = mount_of(path, &mounts(roots))?;
    Some(format!("{} ({})", mount.kind, mount.source))
}

/// The physical disks below a device: through partitions, device-mapper, md and
/// loop devices over block devices. A loop device over a file ends there: its
/// file is a file like any other.
pub(crate) fn disks_below(node: &Node, roots: &Roots) -> BTreeSet<Node> {
    let mut found = BTreeSet::new();
    descend(node, roots, &mut BTreeSet::new(), &mut found);
    found
}

fn descend(node: &Node, roots: &Roots, seen: &mut BTreeSet<Node>, found: &mut BTreeSet<Node>) {
    let whole = node.whole();
    if !seen.insert(whole.clone()) {
        return;
    }
    let mut below = whole.slaves();
    below.extend(below_loop(&whole, roots));
    if below.is_empty() {
        found.insert(whole.clone());
    }
    below.iter().for_each(|lower| descend(lower, roots, seen, found));
}

/// The disks that carry a path, which need not exist yet. Here a loop device is
/// followed through its file, too: who destroys the disk below destroys the path.
pub(crate) fn disks_of_path(path: &Path, roots: &Roots) -> BTreeSet<Node> {
    let table = mounts(roots);
    let mut found = BTreeSet::new();
    let mut pending = vec![existing(path)];
    let mut seen = BTreeSet::new();
    while let Some(path) = pending.pop() {
        let Some(mount) = mount_of(&path, &table) else { continue };
        if !seen.insert(mount.point.clone()) {
            continue;
        }
        for disk in mount.nodes(roots).iter().flat_map(|node| disks_below(node, roots)) {
            pending.extend(disk.backing_file().map(|file| existing(Path::new(&file))));
            found.insert(disk);
        }
    }
    found
}

/// The real path, or that of the nearest directory above it that exists.
fn existing(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    absolute
        .ancestors()
        .find_map(|above| fs::canonicalize(above).ok())
        .unwrap_or_else(|| PathBuf::from("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Machine;

    fn told(machine: &Machine, name: &str) -> Vec<String> {
        let node = Node::named(name, &machine.roots).unwrap();
        uses(&node, &machine.roots).iter().map(ToString::to_string).collect()
    }

    fn disk_names(disks: BTreeSet<Node>) -> Vec<String> {
        disks.into_iter().map(|disk| disk.name).collect()
    }

    #[test]
    fn a_mounted_partition_bars_its_disk_and_not_its_neighbour() {
        let machine = Machine::new();
        let disk = machine.sata("sda", "8:0", 1000);
        machine.partition(&disk, "sda1", "8:1", 100);
        machine.partition(&disk, "sda2", "8:2", 100);
        machine.mount(&[("8:1", "/boot", "ext4", "/dev/sda1")]);
        assert_eq!(told(&machine, "sda"), ["sda1: mounted on /boot"]);
        assert_eq!(told(&machine, "sda1"), ["mounted on /boot"]);
        assert_eq!(told(&machine, "sda2"), Vec::<String>::new());
    }

    #[test]
    fn a_mounted_whole_disk_bars_its_partitions() {
        let machine = Machine::new();
        let disk = machine.sata("sda", "8:0", 1000);
        machine.partition(&disk, "sda1", "8:1", 100);
        machine.mount(&[("8:0", "/mnt", "ext4", "/dev/sda")]);
        assert_eq!(told(&machine, "sda1"), ["sda: mounted on /mnt"]);
    }

    #[test]
    fn what_is_stacked_is_followed_to_its_uses() {
        let machine = Machine::new();
        let disk = machine.sata("sda", "8:0", 1000);
        let part = machine.partition(&disk, "sda2", "8:2", 500);
        let crypt = machine.block("virtual/block/dm-0", "252:0", 500);
        machine.set(&crypt, "dm/name", "vault");
        machine.set(&crypt, "dm/uuid", "CRYPT-LUKS2-1234-vault");
        let root = machine.block("virtual/block/dm-1", "252:1", 400);
        machine.set(&root, "dm/name", "vg-root");
        machine.set(&root, "dm/uuid", "LVM-abcdef");
        let swap = machine.block("virtual/block/dm-2", "252:2", 100);
        machine.set(&swap, "dm/name", "vg-swap");
        machine.set(&swap, "dm/uuid", "LVM-abcdeg");
        machine.stack(&crypt, &part);
        machine.stack(&root, &crypt);
        machine.stack(&swap, &crypt);
        machine.mount(&[("252:1", "/", "ext4", "/dev/mapper/vg-root")]);
        machine
            .write("proc/swaps", "Filename Type Size Used Priority\n/dev/dm-2 partition 9 0 -2\n");
        let above = [
            "dm-0: held by dm-1 (LVM vg-root)",
            "dm-1: mounted on /",
            "dm-0: held by dm-2 (LVM vg-swap)",
            "dm-2: swap",
        ];
        let mut whole = vec!["sda2: held by dm-0 (crypt vault)"];
        whole.extend(above);
        assert_eq!(told(&machine, "sda"), whole);
        assert_eq!(told(&machine, "dm-2"), ["swap"]);
        assert_eq!(disk_names(disks_below(&root, &machine.roots)), ["sda"]);
        assert_eq!(disk_names(disks_of_path(Path::new("/"), &machine.roots)), ["sda"]);
    }

    #[test]
    fn md_and_bcache_hold_their_members() {
        let machine = Machine::new();
        let one = machine.nvme(0, 1, 1000);
        let two = machine.nvme(1, 1, 1000);
        let raid = machine.block("virtual/block/md127", "9:127", 1000);
        machine.stack(&raid, &one);
        machine.stack(&raid, &two);
        assert_eq!(told(&machine, "nvme0n1"), ["held by md127"]);
        assert_eq!(told(&machine, "md127"), Vec::<String>::new());
        assert_eq!(disk_names(disks_below(&raid, &machine.roots)), ["nvme0n1", "nvme1n1"]);
        let cached = machine.block("virtual/block/bcache0", "251:0", 1000);
        machine.stack(&cached, &raid);
        assert_eq!(told(&machine, "nvme1n1"), ["held by md127", "md127: held by bcache0"]);
    }

    #[test]
    fn every_member_of_a_mounted_btrfs_is_in_use() {
        let machine = Machine::new();
        for (controller, name) in ["nvme0n1", "nvme1n1", "nvme2n1"].iter().enumerate() {
            let node = machine.nvme(controller as u32, 1, 1000);
            if *name != "nvme2n1" {
                let link = format!("sys/fs/btrfs/f00-ba5/devices/{name}");
                let to = node.directory.strip_prefix(machine.path("")).unwrap().to_owned();
                machine.link(&link, to.to_str().unwrap());
            }
        }
        machine.mount(&[("0:45", "/data", "btrfs", "/dev/nvme0n1")]);
        assert_eq!(told(&machine, "nvme0n1"), ["mounted on /data"]);
        assert_eq!(told(&machine, "nvme1n1"), ["mounted on /data"]);
        assert_eq!(told(&machine, "nvme2n1"), Vec::<String>::new());
    }

    #[test]
    fn a_loop_device_holds_the_disk_it_is_laid_over() {
        let machine = Machine::new();
        let disk = machine.sata("sda", "8:0", 1000);
        machine.partition(&disk, "sda1", "8:1", 100);
        let over = machine.block("virtual/block/loop3", "7:3", 100);
        machine.set(&over, "loop/backing_file", "/dev/sda1\n");
        assert_eq!(told(&machine, "sda"), ["sda1: held by loop3"]);
        assert_eq!(told(&machine, "loop3"), Vec::<String>::new());
        assert_eq!(disk_names(disks_below(&over, &machine.roots)), ["sda"]);
        machine.mount(&[("8:1", "/boot", "ext4", "/dev/sda1")]);
        assert_eq!(told(&machine, "loop3"), ["sda1: mounted on /boot"]);
    }

    #[test]
    fn two_loop_devices_over_one_file_share_its_fate() {
        let machine = Machine::new();
        for number in 0..3 {
            let node =
                machine.block(&format!("virtual/block/loop{number}"), &format!("7:{number}"), 9);
            let file = if number == 2 { "/other" } else { "/image" };
            machine.set(&node, "loop/backing_file", file);
        }
        assert_eq!(told(&machine, "loop0"), Vec::<String>::new());
        machine
            .mount(&[("7:1", "/mnt", "ext4", "/dev/loop1"), ("7:2", "/oth", "xfs", "/dev/loop2")]);
        assert_eq!(told(&machine, "loop0"), ["its file is in use through loop1"]);
    }

    #[test]
    fn a_path_on_a_loop_device_lives_on_the_disk_below_its_file() {
        let machine = Machine::new();
        machine.sata("sda", "8:0", 1000);
        let over = machine.block("virtual/block/loop0", "7:0", 100);
        machine.set(&over, "loop/backing_file", "/image");
        let kept = machine.path("kept");
        fs::create_dir(&kept).unwrap();
        machine.mount(&[
            ("8:0", "/", "ext4", "/dev/sda"),
            ("7:0", kept.to_str().unwrap(), "ext4", "/dev/loop0"),
        ]);
        let disks = disk_names(disks_of_path(&kept.join("not/yet/there"), &machine.roots));
        assert_eq!(disks, ["sda", "loop0"]);
        // Seen from the loop device itself, its file is a file like any other.
        assert_eq!(disk_names(disks_below(&over, &machine.roots)), ["loop0"]);
    }
}
