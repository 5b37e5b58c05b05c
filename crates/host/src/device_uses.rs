//! Uses of a device: mounts, swap, holders and everything built on it.
//!
//! Answers two questions: is the device, or a part of it, or anything stacked on it in use
//! ([`DeviceUses::uses`])? Which disks store the paths that must be kept
//! ([`DeviceUses::disks_of_path`])? Devices are compared by number; anything that cannot be read
//! is an error. [`DeviceUses::stack`] lists what else leads to the same blocks, for the exclusive
//! open, which also detects holders that are in no list.

use crate::backing::{FileId, LoopBacking, backing};
use crate::device_number::decode_dev;
use crate::error::HostError;
use crate::layers::{Inodes, MountTable, has_no_disk, is_swap_file};
use crate::mounts::{Mount, first_roots, mount_id, mount_of, mounts, mounts_everywhere, unescape};
use crate::sysfs_node::SysfsNode;
use crate::system_roots::SystemRoots;
use crate::{extents, processes, signatures};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use steadfast_domain::{Device, Transport};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DeviceUse {
    /// Part or upper device that is used; `None` for the device itself.
    pub place: Option<String>,
    /// Kind of the use.
    pub kind: UseKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum UseKind {
    /// A file system is mounted at this path.
    Mounted(PathBuf),
    /// A file system is mounted at this path in the mount namespace of another process, and not in
    /// that of this one.
    MountedElsewhere { point: PathBuf, process: String },
    /// The kernel swaps to it.
    Swap,
    /// A device is built on it (device-mapper, md, bcache, loop).
    Held(String),
    /// A loop device over the same file is in use.
    SharedFile(String),
}

impl fmt::Display for DeviceUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{place}: ")?;
        }
        match &self.kind {
            UseKind::Mounted(point) => write!(f, "mounted on {}", point.display()),
            UseKind::MountedElsewhere { point, process } => write!(
                f,
                "mounted on {} in another mount namespace, that of process {process}",
                point.display()
            ),
            UseKind::Swap => f.write_str("swap"),
            UseKind::Held(holder) => write!(f, "held by {holder}"),
            UseKind::SharedFile(other) => write!(f, "its file is in use through {other}"),
        }
    }
}

/// Devices and files that lead to the same blocks.
#[derive(Debug, Default)]
pub(crate) struct DeviceStack {
    /// The device, its partitions and its whole device; the same for each device below it and each
    /// loop device with the same file.
    pub nodes: BTreeSet<SysfsNode>,
    /// Devices of the stack that nothing holds for the target. Opened exclusively, they stay free
    /// of other users.
    pub claims: BTreeSet<SysfsNode>,
    /// Files below the loop devices of the stack.
    pub files: BTreeSet<FileId>,
}

/// State of the machine, read once.
#[derive(Debug)]
pub(crate) struct DeviceUses<'a> {
    roots: &'a SystemRoots,
    mounts: Vec<DeviceMount>,
    own_mounts: Vec<Mount>,
    layers: MountTable,
    swaps: SwapAreas,
    loops: Vec<BackedLoop>,
}

/// A mount and the block devices of its file system.
#[derive(Debug)]
struct DeviceMount {
    mount: Mount,
    nodes: Vec<SysfsNode>,
}

/// A loop device and what it is built on.
#[derive(Debug)]
struct BackedLoop {
    node: SysfsNode,
    backing: LoopBacking,
}

impl<'a> DeviceUses<'a> {
    /// Reads the state of the machine.
    ///
    /// # Errors
    /// Returns an error if any part cannot be read.
    pub fn take(roots: &'a SystemRoots) -> Result<Self, HostError> {
        let mut loops = Vec::new();
        for node in SysfsNode::try_all(roots)? {
            if let Some(backing) = backing(&node, roots)? {
                loops.push(BackedLoop { node, backing });
            }
        }
        let mounts = mounts_everywhere(roots)?;
        let layers = MountTable::new(mounts.clone(), roots);
        let mounts = mounts.into_iter().map(|mount| {
            let nodes = mount.nodes(roots);
            DeviceMount { mount, nodes }
        });
        Ok(DeviceUses {
            mounts: mounts.collect(),
            own_mounts: self::mounts(roots)?,
            swaps: SwapAreas::read(roots, &layers)?,
            layers,
            loops,
            roots,
        })
    }

    /// Returns all uses of a device: of the device, its partitions (for a partition: the whole
    /// device, and partitions that share sectors with it), the block device below a loop device,
    /// loop devices on the same file, other devices on the same sectors, and everything stacked on
    /// any of these.
    pub fn uses(&self, node: &SysfsNode) -> Result<Vec<DeviceUse>, HostError> {
        let mut survey = UseSurvey::new(self);
        survey.visit_all(node)?;
        survey.visit_below(&node.whole())?;
        let name = node.name.clone();
        let mut uses = survey.uses;
        for device_use in &mut uses {
            device_use.place.take_if(|place| *place == name);
        }
        Ok(uses)
    }

    /// Returns everything that leads to the same blocks as a device.
    pub fn stack(&self, node: &SysfsNode) -> Result<DeviceStack, HostError> {
        let mut stack = DeviceStack::default();
        self.add_to(&mut stack, node)?;
        stack.claims.remove(node);
        Ok(stack)
    }

    /// Adds a device, what shares its sectors, and what is below it, to a stack.
    fn add_to(&self, stack: &mut DeviceStack, node: &SysfsNode) -> Result<(), HostError> {
        let whole = node.whole();
        let new = stack.nodes.insert(node.clone()) | stack.nodes.insert(whole.clone());
        if !new {
            return Ok(());
        }
        if *node == whole {
            stack.nodes.extend(node.try_partitions()?);
        }
        for sibling in self.sharers(node)?.siblings {
            stack.nodes.extend(sibling.try_partitions()?);
            stack.nodes.insert(sibling.clone());
            stack.claims.insert(sibling);
        }
        match self.backing_of(&whole) {
            Some(LoopBacking::Device(below)) => {
                stack.claims.insert(below.clone());
                self.add_to(stack, below)?;
            }
            Some(LoopBacking::File(file)) => {
                let inodes = self.inodes_below(&whole, *file)?;
                for other in self.loops_over(&inodes.ids).filter(|other| **other != whole) {
                    stack.claims.insert(other.clone());
                    stack.nodes.insert(other.clone());
                    stack.nodes.extend(other.try_partitions()?);
                }
                stack.files.extend(inodes.ids);
            }
            None => {}
        }
        // A device-mapper, md or bcache device holds the devices below it.
        whole.slaves()?.iter().try_for_each(|lower| self.add_to(stack, lower))
    }

    /// Finds the devices that share sectors with a device: partitions of the same disk, and
    /// devices built on the same ones below.
    fn sharers(&self, node: &SysfsNode) -> Result<SectorSharers, HostError> {
        let mut sharers = SectorSharers::default();
        if node.partition().is_some() {
            sharers.siblings.extend(extents::affected_partitions(node)?);
        }
        let mut pending = vec![node.whole()];
        while let Some(upper) = pending.pop() {
            if !sharers.above.insert(upper.clone()) {
                continue;
            }
            for piece in extents::pieces(&upper, self.roots)? {
                let lower = [piece.on.clone(), piece.on.whole()];
                for on in &lower {
                    sharers.siblings.extend(self.loops_on(on));
                }
                sharers.siblings.extend(extents::sharers_of(&piece, &upper, self.roots)?);
                // Partitions cannot be opened exclusively while the whole disk is.
                if piece.on == lower[1] {
                    sharers.below.extend(piece.on.try_partitions()?);
                }
                pending.push(piece.on.whole());
                sharers.below.extend(lower);
            }
        }
        sharers.siblings.retain(|sibling| !sharers.above.contains(sibling));
        Ok(sharers)
    }

    fn all_mounts(&self) -> impl Iterator<Item = &Mount> {
        self.mounts.iter().map(|mounted| &mounted.mount)
    }

    fn backing_of(&self, whole: &SysfsNode) -> Option<&LoopBacking> {
        self.loops.iter().find(|over| over.node == *whole).map(|over| &over.backing)
    }

    /// Returns the loop devices on a file, which is given by all its inodes.
    pub fn loops_over(&self, file: &BTreeSet<FileId>) -> impl Iterator<Item = &SysfsNode> {
        let lies_on =
            move |on: &LoopBacking| matches!(on, LoopBacking::File(id) if file.contains(id));
        self.loops.iter().filter(move |over| lies_on(&over.backing)).map(|over| &over.node)
    }

    /// Returns all inodes of the file below a loop device.
    fn inodes_below(&self, over: &SysfsNode, file: FileId) -> Result<Inodes, HostError> {
        let printed = over.backing_file();
        self.layers.inodes_of(file, printed.as_deref()).map_err(|why| HostError::Unclear {
            what: format!("use of the file below {}", over.name),
            why,
        })
    }

    /// Returns all inodes of an open file (`O_PATH`).
    ///
    /// # Errors
    /// Returns the reason if they cannot be determined.
    pub fn inodes(&self, file: &File) -> Result<Inodes, String> {
        self.layers.inodes(file)
    }

    /// Refuses if something in use may be on any file: a loop device on a file with unknown inodes
    /// (FUSE, a network file system), or a lock in an overlay with unknown layers.
    pub fn refuse_lost_uses(&self, own: Option<&SysfsNode>) -> Result<(), HostError> {
        let lost = |why: String| {
            Err(HostError::Unclear { what: "use of this file by another name".into(), why })
        };
        let others = self.loops.iter().filter(|over| Some(&over.node) != own);
        for BackedLoop { node: over, backing: on } in others {
            let LoopBacking::File(file) = on else { continue };
            if let Err(why) = self.layers.inodes_of(*file, over.backing_file().as_deref())
                && let Some(used) = self.uses_above(over)?.first()
                // Skip a loop device that was detached meanwhile.
                && backing(over, self.roots)?.as_ref() == Some(on)
            {
                return lost(format!("{} is in use ({used}), and {why}", over.name));
            }
        }
        let unknown: Vec<(u64, &str)> = self.layers.unknown_overlays().collect();
        if unknown.is_empty() {
            return Ok(());
        }
        let locked = processes::locked_devices(self.roots)?;
        match unknown.iter().find(|(device, _)| locked.contains(device)) {
            Some((_, why)) => lost(format!("a file in an overlay is locked, and {why}")),
            None => Ok(()),
        }
    }

    /// Returns the uses of a device and of what is built on it, regardless of what is below it.
    fn uses_above(&self, node: &SysfsNode) -> Result<Vec<DeviceUse>, HostError> {
        let mut survey = UseSurvey::new(self);
        survey.visit_all(node)?;
        Ok(survey.uses)
    }

    /// Returns the loop devices on a block device, which the kernel does not list as holders.
    fn loops_on(&self, node: &SysfsNode) -> Vec<SysfsNode> {
        let lies_on = |on: &LoopBacking| matches!(on, LoopBacking::Device(below) if below == node);
        let loops = self.loops.iter().filter(|over| lies_on(&over.backing));
        loops.map(|over| over.node.clone()).collect()
    }

    /// Returns true if the kernel swaps to a file.
    ///
    /// # Errors
    /// Returns an error if a swap file cannot be found from here, and the given file cannot be
    /// tested.
    pub fn swaps_to(&self, file: &Inodes) -> Result<bool, HostError> {
        if !self.swaps.files.is_disjoint(&file.ids) {
            return Ok(true);
        }
        let Some(lost) = self.swaps.lost.first() else { return Ok(false) };
        let unclear = |why: String| HostError::Unclear {
            what: "whether the kernel swaps to this file".into(),
            why: format!("its swap file {lost} cannot be found from here{why}"),
        };
        if file.handles.is_empty() {
            return Err(unclear(String::new()));
        }
        for handle in &file.handles {
            if is_swap_file(handle).map_err(|error| unclear(format!("; {error}")))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the physical disks below a device: through partitions, device-mapper, md and loop
    /// devices on block devices. Stops at a loop device on a file.
    pub fn disks_below(&self, node: &SysfsNode) -> Result<BTreeSet<SysfsNode>, HostError> {
        let mut disks = BTreeSet::new();
        self.descend(node, &mut BTreeSet::new(), &mut disks)?;
        Ok(disks)
    }

    /// Adds the disks below a device to those found.
    fn descend(
        &self,
        node: &SysfsNode,
        seen: &mut BTreeSet<SysfsNode>,
        disks: &mut BTreeSet<SysfsNode>,
    ) -> Result<(), HostError> {
        let whole = node.whole();
        if !seen.insert(whole.clone()) {
            return Ok(());
        }
        let mut below = whole.slaves()?;
        if let Some(LoopBacking::Device(lower)) = self.backing_of(&whole) {
            below.push(lower.clone());
        }
        if below.is_empty() {
            disks.insert(whole.clone());
        }
        below.iter().try_for_each(|lower| self.descend(lower, seen, disks))
    }

    /// Returns the disks that store a path, which need not exist yet. Follows loop devices to the
    /// disks of their files: overwriting such a disk destroys the path.
    ///
    /// # Errors
    /// Returns an error if the disks of a file system below the path are unknown.
    pub fn disks_of_path(&self, path: &Path) -> Result<BTreeSet<SysfsNode>, HostError> {
        let existing = existing(path);
        // The mount ID is valid even if this process's root directory hides the mount.
        let id = mount_id(path).or_else(|| mount_id(&existing));
        let by_id = self.all_mounts().find(|mount| Some(mount.id) == id);
        let Some(mount) = by_id.cloned().or_else(|| mount_of(&existing, &self.own_mounts)) else {
            return Err(HostError::Unclear {
                what: format!("disk of {}", path.display()),
                why: "no list of mounts shows its file system".into(),
            });
        };
        self.disks_of_mounts(vec![mount])
    }

    /// Returns the disks that store the root directory of the host.
    ///
    /// # Errors
    /// Returns an error if they are unknown.
    pub fn disks_of_first_root(&self) -> Result<BTreeSet<SysfsNode>, HostError> {
        self.disks_of_mounts(first_roots(self.roots)?)
    }

    /// Returns the disks that store file systems: through overlays, ZFS pools and the files of loop
    /// devices.
    fn disks_of_mounts(&self, mut mounts: Vec<Mount>) -> Result<BTreeSet<SysfsNode>, HostError> {
        let mut seen: Vec<Mount> = Vec::new();
        let mut disks = BTreeSet::new();
        while let Some(mount) = mounts.pop() {
            if seen.contains(&mount) {
                continue;
            }
            let mut nodes = mount.nodes(self.roots);
            if nodes.is_empty() && mount.kind == "zfs" {
                nodes = self.zfs_members(&mount)?;
            }
            // The source of a FUSE file system or an overlay is arbitrary text.
            let is_named_freely = mount.kind == "overlay" || mount.kind == "fuse";
            if nodes.is_empty() || is_named_freely || mount.kind.starts_with("fuse.") {
                mounts.extend(self.mounts_below(&mount)?);
            }
            while let Some(node) = nodes.pop() {
                for disk in self.disks_below(&node)? {
                    if !disks.insert(disk.clone()) {
                        continue;
                    }
                    if let Some(LoopBacking::File(file)) = self.backing_of(&disk) {
                        match SysfsNode::from_dev(file.device, self.roots) {
                            Some(carrier) => nodes.push(carrier),
                            None => mounts.extend(self.mounts_of(*file, &disk)?),
                        }
                    } else if disk.is_virtual(self.roots) && !disk.is_in_memory() {
                        return Err(HostError::Unclear {
                            what: format!("disk of {}", mount.point.display()),
                            why: format!(
                                "it lies on the virtual device {}, which does not show the disks \
                                 below it",
                                disk.name
                            ),
                        });
                    }
                }
            }
            seen.push(mount);
        }
        Ok(disks)
    }

    /// Returns the devices of a mounted ZFS pool, found by their labels, since no kernel list
    /// shows them.
    ///
    /// # Errors
    /// Returns an error if the labels do not show the whole pool, for example if a part of it is a
    /// file.
    fn zfs_members(&self, mount: &Mount) -> Result<Vec<SysfsNode>, HostError> {
        let pool = mount.source.split('/').next().unwrap_or_default();
        let mut members = Vec::new();
        let mut labels = Vec::new();
        for node in SysfsNode::try_all(self.roots)? {
            // The hidden paths of an NVMe namespace have no device node; their head has.
            // A pool on a volume of another pool belongs to a virtual machine.
            let is_volume = node.name.strip_prefix("zd").is_some_and(|n| n.parse::<u32>().is_ok());
            if node.capacity().0 == 0 || node.is_hidden() || is_volume {
                continue;
            }
            let node_labels = signatures::zfs_labels(&node, self.roots)?;
            if node_labels.iter().any(|label| label.as_ref().is_none_or(|label| label.pool == pool))
            {
                members.push(node);
            }
            labels.extend(node_labels.into_iter().flatten());
        }
        if signatures::shows_whole_pool(pool, &labels) {
            return Ok(members);
        }
        Err(HostError::Unclear {
            what: format!("disk of {}", mount.point.display()),
            why: format!("the block devices of this host do not show all of the ZFS pool {pool}"),
        })
    }

    /// Returns the mounts below a mount without a device.
    fn mounts_below(&self, mount: &Mount) -> Result<Vec<Mount>, HostError> {
        let unclear = |why: String| HostError::Unclear {
            what: format!("disk of {}", mount.point.display()),
            why,
        };
        if mount.kind == "overlay" {
            let below = self.layers.mounts_below(mount).map_err(unclear)?;
            return Ok(below.into_iter().cloned().collect());
        }
        if has_no_disk(&mount.kind) {
            return Ok(Vec::new());
        }
        Err(unclear(format!("{} does not show the disks below it", mount.kind)))
    }

    /// Returns the mounts that contain the file below a loop device. No mount shows the device
    /// number of a btrfs subvolume.
    fn mounts_of(&self, file: FileId, over: &SysfsNode) -> Result<Vec<Mount>, HostError> {
        let printed = over.backing_file().unwrap_or_default();
        if let Some(found) = self.layers.open_as(file, Path::new(&printed))
            && let Some(mount) = self.layers.mount_of(&found)
        {
            return Ok(vec![mount.clone()]);
        }
        let number = decode_dev(file.device);
        let mut mounts: Vec<Mount> =
            self.all_mounts().filter(|mount| mount.number == number).cloned().collect();
        if mounts.is_empty() {
            mounts = self.all_mounts().filter(|mount| mount.kind == "btrfs").cloned().collect();
        }
        if mounts.is_empty() {
            return Err(HostError::Unclear {
                what: format!("disk of the file below {}", over.name),
                why: "no list of mounts shows its file system".into(),
            });
        }
        Ok(mounts)
    }
}

/// Returns the uses of a device in words, for display. If they cannot be determined, says so.
pub(crate) fn seen_uses(node: &SysfsNode, roots: &SystemRoots) -> Vec<String> {
    match DeviceUses::take(roots).and_then(|snapshot| snapshot.uses(node)) {
        Ok(uses) => uses.iter().map(ToString::to_string).collect(),
        Err(error) => vec![format!("unknown ({error})")],
    }
}

/// Like [`DeviceUses::disks_below`], for display: empty if unknown.
pub(crate) fn disks_below(node: &SysfsNode, roots: &SystemRoots) -> BTreeSet<SysfsNode> {
    DeviceUses::take(roots).and_then(|snapshot| snapshot.disks_below(node)).unwrap_or_default()
}

/// Like [`DeviceUses::disks_of_path`], for display: empty if unknown.
pub(crate) fn disks_of_path(path: &Path, roots: &SystemRoots) -> BTreeSet<SysfsNode> {
    DeviceUses::take(roots).and_then(|snapshot| snapshot.disks_of_path(path)).unwrap_or_default()
}

/// A device in sysfs, and the disk that serves its I/Os.
pub(crate) struct NodeAndDisk {
    /// The device or partition itself; `None` for a file.
    pub node: Option<SysfsNode>,
    /// The whole device, or the disk below a file; `None` if a file has several.
    pub disk: Option<SysfsNode>,
}

impl NodeAndDisk {
    pub fn find(device: &Device, roots: &SystemRoots) -> NodeAndDisk {
        if device.transport == Transport::File {
            let mut disks = disks_of_path(Path::new(&device.name), roots).into_iter();
            let first = disks.next();
            return NodeAndDisk { node: None, disk: first.filter(|_| disks.next().is_none()) };
        }
        let node = SysfsNode::from_name(&device.name, roots);
        let disk = node.as_ref().map(SysfsNode::whole);
        NodeAndDisk { node, disk }
    }
}

/// Devices that share sectors with a device.
#[derive(Debug, Default)]
struct SectorSharers {
    /// Devices neither above nor below it.
    siblings: BTreeSet<SysfsNode>,
    /// Devices that it is built from.
    below: BTreeSet<SysfsNode>,
    /// The device, and those of `below` that are built from others.
    above: BTreeSet<SysfsNode>,
}

/// Uses found so far.
struct UseSurvey<'a> {
    snapshot: &'a DeviceUses<'a>,
    /// Devices of the own stack, which do not count as holders.
    below: Vec<SysfsNode>,
    seen: BTreeSet<SysfsNode>,
    uses: Vec<DeviceUse>,
}

impl<'a> UseSurvey<'a> {
    fn new(snapshot: &'a DeviceUses<'a>) -> UseSurvey<'a> {
        UseSurvey { snapshot, below: Vec::new(), seen: BTreeSet::new(), uses: Vec::new() }
    }

    fn add(&mut self, node: &SysfsNode, kind: UseKind) {
        self.uses.push(DeviceUse { place: Some(node.name.clone()), kind });
    }

    /// Visits a device, its partitions, its whole device, and the devices that share its sectors.
    fn visit_all(&mut self, node: &SysfsNode) -> Result<(), HostError> {
        self.visit(node)?;
        node.try_partitions()?.iter().try_for_each(|part| self.visit(part))?;
        if node.partition().is_some() {
            self.visit(&node.whole())?;
        }
        let sharers = self.snapshot.sharers(node)?;
        self.below.extend(sharers.above);
        for below in sharers.below.difference(&self.seen.clone()) {
            self.note(below);
        }
        for sibling in &sharers.siblings {
            self.visit(sibling)?;
            sibling.try_partitions()?.iter().try_for_each(|part| self.visit(part))?;
        }
        Ok(())
    }

    /// Notes the uses of a device, then those of everything built on it.
    fn visit(&mut self, node: &SysfsNode) -> Result<(), HostError> {
        if !self.seen.insert(node.clone()) {
            return Ok(());
        }
        self.note(node);
        let mut holders = node.holders()?;
        holders.extend(self.snapshot.loops_on(node));
        holders.retain(|holder| !self.below.contains(holder));
        for holder in holders {
            self.add(node, UseKind::Held(holder.known_as()));
            self.visit(&holder)?;
            holder.try_partitions()?.iter().try_for_each(|part| self.visit(part))?;
        }
        Ok(())
    }

    /// Notes mounts and swap. A mount of another namespace is noted only if this one has none at
    /// the same path.
    fn note(&mut self, node: &SysfsNode) {
        let snapshot = self.snapshot;
        let mounts = snapshot.mounts.iter().filter(|mounted| mounted.nodes.contains(node));
        let mut own_points: BTreeSet<PathBuf> = BTreeSet::new();
        let mut other_points: BTreeMap<PathBuf, String> = BTreeMap::new();
        for DeviceMount { mount, .. } in mounts {
            if let Some(process) = mount.process(snapshot.roots) {
                other_points.entry(mount.point.clone()).or_insert(process);
            } else {
                own_points.insert(mount.point.clone());
            }
        }
        other_points.retain(|point, _| !own_points.contains(point));
        for point in own_points {
            self.add(node, UseKind::Mounted(point));
        }
        for (point, process) in other_points {
            self.add(node, UseKind::MountedElsewhere { point, process });
        }
        if snapshot.swaps.nodes.contains(node) {
            self.add(node, UseKind::Swap);
        }
    }

    /// Follows a loop device down to the block device below it, or to other loop devices on the
    /// same file.
    fn visit_below(&mut self, whole: &SysfsNode) -> Result<(), HostError> {
        match self.snapshot.backing_of(whole) {
            // The device below counts as if it were the target.
            Some(LoopBacking::Device(below)) if !self.seen.contains(below) => {
                self.below.push(whole.clone());
                self.visit_all(below)?;
                self.visit_below(&below.whole())
            }
            Some(LoopBacking::File(file)) => self.visit_file(whole, *file),
            _ => whole.slaves()?.iter().try_for_each(|lower| self.visit_below(&lower.whole())),
        }
    }

    /// Notes the uses of the file below a loop device by any other way.
    fn visit_file(&mut self, over: &SysfsNode, file: FileId) -> Result<(), HostError> {
        let inodes = self.snapshot.inodes_below(over, file)?;
        if self.snapshot.swaps_to(&inodes)? {
            self.add(over, UseKind::Swap);
        }
        for other in self.snapshot.loops_over(&inodes.ids).filter(|other| *other != over) {
            if !self.snapshot.uses_above(other)?.is_empty() {
                self.add(over, UseKind::SharedFile(other.name.clone()));
            }
        }
        self.snapshot.refuse_lost_uses(Some(over))
    }
}

/// Devices and files used for swap.
#[derive(Debug, Default)]
struct SwapAreas {
    nodes: Vec<SysfsNode>,
    files: BTreeSet<FileId>,
    /// Swap files that cannot be found by their path.
    lost: Vec<String>,
}

impl SwapAreas {
    fn read(roots: &SystemRoots, layers: &MountTable) -> Result<SwapAreas, HostError> {
        let list = roots.proc.join("swaps");
        let text = fs::read_to_string(&list).map_err(|e| HostError::io("read it", &list, e))?;
        let mut swaps = SwapAreas::default();
        for line in text.lines().skip(1) {
            let mut fields = line.split_whitespace();
            let (Some(path), Some(kind)) = (fields.next(), fields.next()) else { continue };
            let path = unescape(path);
            if kind == "file" {
                swaps.add_file(&path, layers);
            } else {
                swaps.add_device(&path, roots)?;
            }
        }
        Ok(swaps)
    }

    /// Looks for a swap file by its path in every root directory, since another mount may hide it
    /// here, or another file have its name. The kernel's swap flag identifies it.
    fn add_file(&mut self, printed: &str, layers: &MountTable) {
        let mut is_found = false;
        for candidate in layers.candidates(Path::new(printed)) {
            let Ok(metadata) = candidate.metadata() else { continue };
            if metadata.is_file() && is_swap_file(&candidate).unwrap_or(false) {
                self.files.insert(FileId::from_metadata(&metadata));
                is_found = true;
            }
        }
        if !is_found {
            self.lost.push(printed.to_owned());
        }
    }

    fn add_device(&mut self, printed: &str, roots: &SystemRoots) -> Result<(), HostError> {
        let node = SysfsNode::from_path(&roots.dev_path(printed), roots);
        self.nodes.push(node.ok_or_else(|| HostError::Unclear {
            what: format!("which device the kernel swaps to as {printed}"),
            why: "sysfs does not list it".into(),
        })?);
        Ok(())
    }
}

/// Returns the file system of a path, such as `ext4 (/dev/sda2)`.
pub(crate) fn file_system_of(path: &Path, roots: &SystemRoots) -> Option<String> {
    let mount = mount_of(path, &mounts(roots).ok()?)?;
    Some(format!("{} ({})", mount.kind, mount.source))
}

/// Returns the canonical path, or that of the nearest existing parent directory.
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
    use crate::testing::machine::MachineFixture;

    fn uses_of(machine: &MachineFixture, name: &str) -> Vec<String> {
        seen_uses(&machine.node(name), &machine.roots)
    }

    fn disk_names(disks: BTreeSet<SysfsNode>) -> Vec<String> {
        disks.into_iter().map(|disk| disk.name).collect()
    }

    #[test]
    fn a_mounted_partition_bars_its_disk_and_not_its_neighbor() {
        let (machine, disk) = MachineFixture::with_sata(1000);
        machine.partition(&disk, "sda1", "8:1", 100);
        machine.partition(&disk, "sda2", "8:2", 100);
        machine.mount(&[("8:1", "/boot", "ext4", "/dev/sda1")]);
        assert_eq!(uses_of(&machine, "sda"), ["sda1: mounted on /boot"]);
        assert_eq!(uses_of(&machine, "sda1"), ["mounted on /boot"]);
        assert_eq!(uses_of(&machine, "sda2"), Vec::<String>::new());
        machine.process(8);
        machine.relink("proc/8/ns/mnt", "mnt:[2]");
        let mounts = "40 1 8:1 / /boot rw - ext4 /dev/sda1 rw\n\
                      41 1 8:2 / /in rw - xfs /dev/sda2 rw\n";
        machine.write("proc/8/mountinfo", mounts);
        assert_eq!(uses_of(&machine, "sda1"), ["mounted on /boot"]);
        let elsewhere = "mounted on /in in another mount namespace, that of process 8";
        assert_eq!(uses_of(&machine, "sda2"), [elsewhere]);
    }

    /// An isohybrid image: its second partition lies in the first.
    #[test]
    fn partitions_that_share_sectors_share_their_uses() {
        let (machine, disk) = MachineFixture::with_sata(1_000_000);
        let image = machine.partition(&disk, "sda1", "8:1", 1);
        let efi = machine.partition(&disk, "sda2", "8:2", 1);
        let free = machine.partition(&disk, "sda3", "8:3", 1);
        machine.place(&image, 64, 131_072);
        machine.place(&efi, 40_000, 16_384);
        machine.place(&free, 131_136, 1000);
        let stack_of = |part: &SysfsNode| {
            let stack = DeviceUses::take(&machine.roots).unwrap().stack(part).unwrap();
            disk_names(stack.claims)
        };
        assert_eq!(stack_of(&image), ["sda2"]);
        assert_eq!(stack_of(&efi), ["sda1"]);
        assert_eq!(stack_of(&free), Vec::<String>::new());
        for (used, other) in [("sda1", "sda2"), ("sda2", "sda1")] {
            let number = if used == "sda1" { "8:1" } else { "8:2" };
            machine.mount(&[(number, "/mnt", "iso9660", &format!("/dev/{used}"))]);
            assert_eq!(uses_of(&machine, other), [format!("{used}: mounted on /mnt")]);
            assert_eq!(uses_of(&machine, "sda3"), Vec::<String>::new());
        }
        machine.mount(&[]);
        let swap = |name: &str| {
            machine.write("proc/swaps", format!("head\n/dev/{name} partition 9 0 -2\n"));
        };
        swap("sda1");
        assert_eq!(uses_of(&machine, "sda2"), ["sda1: swap"]);
        swap("sda3");
        assert_eq!(uses_of(&machine, "sda2"), Vec::<String>::new());
        machine.write("proc/swaps", "head\n");
        let held = machine.block("virtual/block/dm-0", "252:0", 9);
        machine.stack(&held, &efi);
        assert_eq!(uses_of(&machine, "sda1"), ["sda2: held by dm-0"]);
        // The sector behind the last one is another's.
        machine.place(&efi, 131_072 + 64 - 1, 1);
        assert_eq!(uses_of(&machine, "sda1"), ["sda2: held by dm-0"]);
        machine.place(&efi, 131_072 + 64, 1);
        assert_eq!(uses_of(&machine, "sda1"), Vec::<String>::new());
        fs::remove_file(free.directory.join("start")).unwrap();
        let unknown = uses_of(&machine, "sda1");
        assert!(unknown[0].starts_with("unknown"), "{unknown:?}");
    }

    #[test]
    fn an_extended_partition_has_the_uses_of_its_logical_ones() {
        let (machine, disk) = MachineFixture::with_sata(1_000_000);
        machine.partition(&disk, "sda1", "8:1", 1000);
        let extended = machine.partition(&disk, "sda2", "8:2", 2);
        machine.partition(&disk, "sda5", "8:5", 1000);
        machine.partition(&disk, "sda6", "8:6", 1000);
        machine.mount(&[("8:6", "/home", "ext4", "/dev/sda6")]);
        assert_eq!(uses_of(&machine, "sda2"), ["sda6: mounted on /home"]);
        for free in ["sda1", "sda5"] {
            assert_eq!(uses_of(&machine, free), Vec::<String>::new(), "{free}");
        }
        machine.mount(&[("8:2", "/odd", "ext4", "/dev/sda2")]);
        assert_eq!(uses_of(&machine, "sda5"), ["sda2: mounted on /odd"]);
        // One of some size is none, nor is one on a disk without logical partitions.
        machine.place(&extended, 3100, 1000);
        assert_eq!(uses_of(&machine, "sda5"), ["sda2: mounted on /odd"], "they share sectors");
        machine.place(&extended, 900_000, 1000);
        assert_eq!(uses_of(&machine, "sda5"), Vec::<String>::new());
    }

    /// Two volumes that a table lays over the same sectors.
    #[test]
    fn mapped_devices_over_the_same_sectors_share_their_uses() {
        let (machine, disk) = MachineFixture::with_sata(1_000_000);
        let part = machine.partition(&disk, "sda1", "8:1", 100_000);
        let other = machine.partition(&disk, "sda2", "8:2", 100_000);
        for number in 0..4 {
            let number = format!("{number}");
            let name = format!("virtual/block/dm-{number}");
            let volume = machine.block(&name, &format!("252:{number}"), 1000);
            machine.stack(&volume, if number == "3" { &other } else { &part });
        }
        let tables = |all: [&str; 4]| {
            for (number, table) in all.iter().enumerate() {
                machine.write(&format!("tables/dm-{number}"), table);
            }
        };
        let linear = "0 1000 linear 8:1 2048\n";
        let behind = "0 1000 linear 8:1 3048\n";
        tables([linear, linear, behind, "0 1000 linear 8:2 2048\n"]);
        machine.mount(&[("252:1", "/mnt", "ext4", "/dev/dm-1")]);
        assert_eq!(uses_of(&machine, "dm-0"), ["dm-1: mounted on /mnt"]);
        for free in ["dm-2", "dm-3"] {
            assert_eq!(uses_of(&machine, free), Vec::<String>::new(), "{free}");
        }
        let snapshot = DeviceUses::take(&machine.roots).unwrap();
        let claims = |name: &str| {
            let node = machine.node(name);
            disk_names(snapshot.stack(&node).unwrap().claims)
        };
        assert_eq!(claims("dm-0"), ["dm-1"]);
        assert_eq!(claims("dm-2"), Vec::<String>::new());
        // A table that is not understood may lie anywhere on the device below.
        tables([linear, "0 1000 cache 8:1 x\n", behind, ""]);
        for shared in ["dm-0", "dm-2"] {
            assert_eq!(uses_of(&machine, shared), ["dm-1: mounted on /mnt"]);
        }
        assert_eq!(uses_of(&machine, "dm-3"), Vec::<String>::new());
        machine.mount(&[("252:0", "/mnt", "ext4", "/dev/dm-0")]);
        assert_eq!(uses_of(&machine, "dm-1"), ["dm-0: mounted on /mnt"]);
        // The partition below shares sectors with one beside it.
        machine.place(&other, 2048 + 3048, 100_000);
        tables([linear, "0 1000 linear 8:1 50000\n", "0 1000 linear 8:1 2999\n", ""]);
        machine.mount(&[("8:2", "/two", "ext4", "/dev/sda2")]);
        assert_eq!(uses_of(&machine, "dm-0"), Vec::<String>::new());
        assert_eq!(uses_of(&machine, "dm-2"), ["sda2: mounted on /two", "sda2: held by dm-3"]);
    }

    /// Volumes of one pool never share sectors, the pool's device has all of them.
    #[test]
    fn thin_volumes_of_one_pool_are_apart() {
        let (machine, disk) = MachineFixture::with_sata(1_000_000);
        let pool = machine.block("virtual/block/dm-0", "252:0", 9000);
        machine.stack(&pool, &disk);
        for number in 1..4 {
            let name = format!("virtual/block/dm-{number}");
            let volume = machine.block(&name, &format!("252:{number}"), 1000);
            machine.stack(&volume, &pool);
        }
        for (name, table) in [
            ("dm-1", "0 1000 thin 252:0 1\n"),
            ("dm-2", "0 1000 thin 252:0 2\n"),
            ("dm-3", "0 1000 linear 252:0 0\n"),
        ] {
            machine.write(&format!("tables/{name}"), table);
        }
        machine.mount(&[("252:2", "/mnt", "ext4", "/dev/dm-2")]);
        assert_eq!(uses_of(&machine, "dm-1"), Vec::<String>::new());
        assert_eq!(uses_of(&machine, "dm-3"), ["dm-2: mounted on /mnt"]);
    }

    #[test]
    fn a_loop_device_over_what_is_below_is_seen() {
        let (machine, disk) = MachineFixture::with_sata(1_000_000);
        let part = machine.partition(&disk, "sda1", "8:1", 100_000);
        let volume = machine.block("virtual/block/dm-0", "252:0", 1000);
        machine.stack(&volume, &part);
        machine.write("tables/dm-0", "0 1000 linear 8:1 2048\n");
        let over = machine.block("virtual/block/loop3", "7:3", 100);
        machine.lay_over(&over, "/dev/sda1");
        assert_eq!(uses_of(&machine, "dm-0"), Vec::<String>::new());
        machine.mount(&[("7:3", "/mnt", "ext4", "/dev/loop3")]);
        assert_eq!(uses_of(&machine, "dm-0"), ["loop3: mounted on /mnt"]);
    }

    #[test]
    fn a_mounted_whole_disk_bars_its_partitions() {
        let (machine, disk) = MachineFixture::with_sata(1000);
        machine.partition(&disk, "sda1", "8:1", 100);
        machine.mount(&[("8:0", "/mnt", "ext4", "/dev/sda")]);
        assert_eq!(uses_of(&machine, "sda1"), ["sda: mounted on /mnt"]);
    }

    #[test]
    fn what_is_stacked_is_followed_to_its_uses() {
        let (machine, disk) = MachineFixture::with_sata(1000);
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
        machine.write("tables/dm-1", "0 400 linear 252:0 0\n");
        machine.write("tables/dm-2", "0 100 linear 252:0 400\n");
        machine.mount(&[("252:1", "/", "ext4", "/dev/mapper/vg-root")]);
        machine
            .write("proc/swaps", "Filename Type Size Used Priority\n/dev/dm-2 partition 9 0 -2\n");
        let above = [
            "dm-0: held by dm-1 (LVM vg-root)", "dm-1: mounted on /",
            "dm-0: held by dm-2 (LVM vg-swap)", "dm-2: swap",
        ];
        let mut whole = vec!["sda2: held by dm-0 (crypt vault)"];
        whole.extend(above);
        assert_eq!(uses_of(&machine, "sda"), whole);
        assert_eq!(uses_of(&machine, "dm-2"), ["swap"]);
        assert_eq!(disk_names(disks_below(&root, &machine.roots)), ["sda"]);
        assert_eq!(disk_names(disks_of_path(Path::new("/"), &machine.roots)), ["sda"]);
    }

    #[test]
    fn md_and_bcache_hold_their_members() {
        let (machine, one) = MachineFixture::with_nvme(1000);
        let two = machine.nvme(1, 1, 1000);
        let raid = machine.block("virtual/block/md127", "9:127", 1000);
        machine.stack(&raid, &one);
        machine.stack(&raid, &two);
        assert_eq!(uses_of(&machine, "nvme0n1"), ["held by md127"]);
        assert_eq!(uses_of(&machine, "md127"), Vec::<String>::new());
        assert_eq!(disk_names(disks_below(&raid, &machine.roots)), ["nvme0n1", "nvme1n1"]);
        let cached = machine.block("virtual/block/bcache0", "251:0", 1000);
        machine.stack(&cached, &raid);
        assert_eq!(uses_of(&machine, "nvme1n1"), ["held by md127", "md127: held by bcache0"]);
    }

    #[test]
    fn every_member_of_a_mounted_btrfs_is_in_use() {
        let machine = MachineFixture::new();
        for (controller, name) in ["nvme0n1", "nvme1n1", "nvme2n1"].iter().enumerate() {
            let node = machine.nvme(controller as u32, 1, 1000);
            if *name != "nvme2n1" {
                let link = format!("sys/fs/btrfs/f00-ba5/devices/{name}");
                let to = node.directory.strip_prefix(machine.path("")).unwrap().to_owned();
                machine.link(&link, to.to_str().unwrap());
            }
        }
        machine.mount(&[("0:45", "/data", "btrfs", "/dev/nvme0n1")]);
        assert_eq!(uses_of(&machine, "nvme0n1"), ["mounted on /data"]);
        assert_eq!(uses_of(&machine, "nvme1n1"), ["mounted on /data"]);
        assert_eq!(uses_of(&machine, "nvme2n1"), Vec::<String>::new());
    }

    #[test]
    fn a_loop_device_holds_the_disk_it_is_laid_over() {
        let (machine, disk) = MachineFixture::with_sata(1000);
        machine.partition(&disk, "sda1", "8:1", 100);
        let over = machine.block("virtual/block/loop3", "7:3", 100);
        machine.lay_over(&over, "/dev/sda1");
        assert_eq!(uses_of(&machine, "sda"), ["sda1: held by loop3"]);
        assert_eq!(uses_of(&machine, "loop3"), Vec::<String>::new());
        assert_eq!(disk_names(disks_below(&over, &machine.roots)), ["sda"]);
        machine.mount(&[("8:1", "/boot", "ext4", "/dev/sda1")]);
        assert_eq!(uses_of(&machine, "loop3"), ["sda1: mounted on /boot"]);
    }

    #[test]
    fn two_loop_devices_over_one_file_share_its_fate() {
        let machine = MachineFixture::new();
        for number in 0..3 {
            let node =
                machine.block(&format!("virtual/block/loop{number}"), &format!("7:{number}"), 9);
            let file = if number == 2 { "/other" } else { "/image" };
            machine.lay_over(&node, file);
        }
        assert_eq!(uses_of(&machine, "loop0"), Vec::<String>::new());
        machine
            .mount(&[("7:1", "/mnt", "ext4", "/dev/loop1"), ("7:2", "/oth", "xfs", "/dev/loop2")]);
        assert_eq!(uses_of(&machine, "loop0"), ["its file is in use through loop1"]);
    }

    #[test]
    fn the_disk_below_a_virtual_device_is_known_or_refused() {
        let (machine, disk) = MachineFixture::with_sata(1000);
        machine.nvme(0, 1, 1000);
        let head = machine.block("virtual/nvme-subsystem/nvme-subsys0/nvme5n1", "259:50", 1000);
        machine.set(&head, "device/model", "an NVMe namespace with two paths");
        for (name, number) in [
            ("zd0", "230:0"),
            ("drbd0", "147:0"),
            ("nbd0", "43:0"),
            ("dm-0", "252:0"),
            ("dm-1", "252:1"),
            ("md0", "9:0"),
            ("zram0", "251:0"),
            ("zram1", "251:1"),
            ("ram0", "1:0"),
            ("nullb0", "250:0"),
            ("loop7", "7:7"),
            ("ramdisk", "249:0"),
        ] {
            machine.block(&format!("virtual/block/{name}"), number, 1000);
        }
        machine.stack(&machine.node("dm-1"), &machine.partition(&disk, "sda1", "8:1", 100));
        machine.set(&machine.node("zram1"), "backing_dev", "/dev/sda\n");
        let part = machine.partition(&machine.node("nbd0"), "nbd0p1", "43:1", 9);
        let disks = |number: &str| {
            machine.mount(&[(number, "/", "ext4", "/dev/root")]);
            let snapshot = DeviceUses::take(&machine.roots).unwrap();
            snapshot.disks_of_first_root().map(disk_names).map_err(|error| error.to_string())
        };
        for (number, known) in [
            ("8:0", "sda"),
            ("259:1", "nvme0n1"),
            ("259:50", "nvme5n1"),
            ("252:1", "sda"),
            ("251:0", "zram0"),
            ("1:0", "ram0"),
            ("250:0", "nullb0"),
        ] {
            assert_eq!(disks(number), Ok(vec![known.to_owned()]), "{number}");
        }
        for (number, unknown) in [
            ("230:0", "zd0"),
            ("147:0", "drbd0"),
            ("43:0", "nbd0"),
            ("43:1", "nbd0"),
            ("252:0", "dm-0"),
            ("9:0", "md0"),
            ("251:1", "zram1"),
            ("249:0", "ramdisk"),
            ("7:7", "loop7"),
        ] {
            let error = disks(number).unwrap_err();
            assert!(error.contains(&format!("virtual device {unknown},")), "{number}: {error}");
        }
        // A device that is given is its own disk.
        assert_eq!(disk_names(disks_below(&part, &machine.roots)), ["nbd0"]);
    }

    #[test]
    fn a_path_on_a_loop_device_lives_on_the_disk_below_its_file() {
        let machine = MachineFixture::new();
        machine.sata("sda", "8:0", 1000);
        let over = machine.block("virtual/block/loop0", "7:0", 100);
        machine.lay_over(&over, "/image");
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
