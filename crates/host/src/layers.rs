//! One file under several inodes: overlayfs gives a file an inode of its own above those in its
//! layers, and what uses one of them uses all.
//!
//! A file is followed by its [`FilePlace`], which the kernel's mount tables give: the number of its
//! file system and the path within it. From there it leads down to the layers of an overlay, and
//! up to each overlay of which its file system holds a layer, until nothing new is found. A file
//! system that is neither an overlay nor known to keep its files itself (FUSE, a network file
//! system, any other stacking one) cannot be followed, and its files are refused.

use crate::backing::FileId;
use crate::mounts::{Mount, mount_id, mount_id_of, unescape};
use crate::roots::Roots;
use std::collections::BTreeSet;
use std::ffi::{CStr, CString, OsStr};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// File systems of disks and memory, each file of which has one inode (linux/magic.h, and the
/// kernel's sources for those that it leaves out).
const PLAIN: [u32; 22] = [
    0x0000_ef53, // ext2, ext3, ext4
    0x5846_5342, // XFS
    0x9123_683e, // btrfs
    0xf2f5_2010, // F2FS
    0xca45_1a4e, // bcachefs
    0x2fc1_2fc1, // ZFS
    0x3153_464a, // JFS
    0x5265_4973, // ReiserFS
    0x0000_3434, // NILFS2
    0x5a4f_4653, // zonefs
    0x7366_746e, // NTFS3
    0x0000_4d44, // FAT
    0x2011_bab0, // exFAT
    0x1501_3346, // UDF
    0x0000_9660, // ISO 9660
    0x7371_7368, // squashfs
    0xe0f5_e1e2, // erofs
    0x0102_1994, // tmpfs
    0x8584_58f6, // ramfs
    0x9584_58f6, // hugetlbfs
    0x0000_4244, // HFS
    0x0000_482b, // HFS+
];

const OVERLAYFS: u32 = 0x794c_7630;

/// How many renames of one path are followed.
const REDIRECTS_MAX: usize = 64;

/// Kinds in mountinfo that lie on no block device.
const IN_MEMORY: [&str; 5] = ["tmpfs", "ramfs", "rootfs", "devtmpfs", "hugetlbfs"];

/// Whether files of a kind of file system (as mountinfo names it) have no disk of this machine
/// below them: they lie in memory, on raw flash or on another machine.
pub(crate) fn has_no_disk(kind: &str) -> bool {
    const ON_FLASH: [&str; 2] = ["ubifs", "jffs2"];
    const ELSEWHERE: [&str; 9] =
        ["nfs", "nfs4", "cifs", "smb3", "ceph", "9p", "virtiofs", "afs", "lustre"];
    IN_MEMORY.contains(&kind) || ON_FLASH.contains(&kind) || ELSEWHERE.contains(&kind)
}

/// A file or a directory by the number of its file system, as mountinfo has it, and its path from
/// the root of the file system.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct FilePlace {
    number: (u32, u32),
    path: PathBuf,
}

impl FilePlace {
    fn below(&self, relative: &Path) -> FilePlace {
        FilePlace { number: self.number, path: join(&self.path, relative) }
    }

    /// The path from another place down to this one.
    fn relative_to(&self, above: &FilePlace) -> Option<&Path> {
        let is_same = self.number == above.number;
        is_same.then(|| self.path.strip_prefix(&above.path).ok()).flatten()
    }

    fn device(&self) -> u64 {
        libc::makedev(self.number.0, self.number.1)
    }
}

/// An overlay and the directories that it joins.
#[derive(Debug)]
struct Overlay {
    number: (u32, u32),
    point: PathBuf,
    /// Why they are unknown, where they are.
    layers: Result<Vec<OverlayLayer>, String>,
}

/// A directory that an overlay joins with others.
#[derive(Debug, Clone, PartialEq, Eq)]
struct OverlayLayer {
    kind: LayerKind,
    place: FilePlace,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LayerKind {
    /// Takes all changes. A file in it has the same path as in the overlay.
    Upper,
    /// A file in it has the same path as in the overlay unless it was renamed there.
    Lower,
    /// Has the content of files of other layers, by paths of its own.
    Data,
}

/// All inodes of a file.
#[derive(Debug)]
pub(crate) struct Inodes {
    /// Every number that `stat` or the kernel's list of locks has for it.
    pub ids: BTreeSet<FileId>,
    /// A handle (`O_PATH`) for each inode that a path leads to.
    pub handles: Vec<File>,
}

impl Inodes {
    /// A file with one inode, of which no handle is at hand.
    pub fn single(id: FileId) -> Inodes {
        Inodes { ids: [id].into(), handles: Vec::new() }
    }
}

/// The mounts of this machine and the overlays among them.
#[derive(Debug)]
pub(crate) struct Layers {
    mounts: Vec<Mount>,
    overlays: Vec<Overlay>,
    /// Root directories in which the path of a layer may have been meant: of this process, and of
    /// the host. Another user may lay out any directory at that path in a namespace of his own.
    host_views: [PathBuf; 3],
    /// Every root directory in which a path may have been meant, for files that are known by
    /// their number.
    views: Vec<PathBuf>,
}

impl Layers {
    /// Finds the layers of every overlay in a list of mounts.
    pub fn new(mounts: Vec<Mount>, roots: &Roots) -> Layers {
        let [first, kernel] = ["1", "2"].map(|process| roots.proc.join(process).join("root"));
        // Paths of a container's layers are meant as the host sees them.
        let host_views = [PathBuf::from("/"), first, kernel];
        let mut views = host_views.to_vec();
        for mount in &mounts {
            if !views.contains(&mount.view) {
                views.push(mount.view.clone());
            }
        }
        let mut layers = Layers { mounts, overlays: Vec::new(), host_views, views };
        let mut overlays: Vec<Overlay> = Vec::new();
        for mount in layers.mounts.iter().filter(|mount| mount.kind == "overlay") {
            if overlays.iter().all(|overlay| overlay.number != mount.number) {
                overlays.push(Overlay {
                    number: mount.number,
                    point: mount.point.clone(),
                    layers: layers.layers_of(mount),
                });
            }
        }
        layers.overlays = overlays;
        layers
    }

    /// The mount that a file was opened by.
    pub fn mount_of(&self, file: &File) -> Option<&Mount> {
        let id = mount_id_of(file)?;
        self.mounts.iter().find(|mount| mount.id == id)
    }

    /// The mounts in which the layers of an overlay lie.
    ///
    /// # Errors
    /// Where a layer cannot be found.
    pub fn mounts_below(&self, overlay: &Mount) -> Result<Vec<&Mount>, String> {
        let mut found = Vec::new();
        for layer in self.layers_of(overlay)? {
            found.extend(self.mounts.iter().find(|mount| mount.number == layer.place.number));
        }
        Ok(found)
    }

    fn layers_of(&self, mount: &Mount) -> Result<Vec<OverlayLayer>, String> {
        let mut layers = Vec::new();
        for (kind, path) in layer_paths(&mount.options) {
            let places = self.layer(mount, kind, &path);
            if places.is_empty() {
                let (path, point) = (path.display(), mount.point.display());
                return Err(format!("layer {path} of the overlay on {point} cannot be found"));
            }
            layers.extend(places.into_iter().map(|place| OverlayLayer { kind, place }));
        }
        if layers.is_empty() {
            return Err(format!("the overlay on {} names no layer", mount.point.display()));
        }
        Ok(layers)
    }

    /// Every directory that may be meant by the path of a layer: the kernel keeps it as it was
    /// typed, for whoever mounted the overlay.
    fn layer(&self, mount: &Mount, kind: LayerKind, text: &Path) -> Vec<FilePlace> {
        if !text.is_absolute() {
            return Vec::new();
        }
        let mut places = Vec::new();
        for view in std::iter::once(&mount.view).chain(&self.host_views) {
            let Ok(directory) = open_in(view, text) else { continue };
            let Some(place) = self.place_of(&directory) else { continue };
            // An upper layer lies beside its working directory in one mount: at the top of a mount
            // something else covers it.
            let is_top = self.mount_of(&directory).is_some_and(|top| top.root == place.path);
            let is_covered = kind == LayerKind::Upper && is_top;
            // An overlay is no layer of its own: it covers the one that was meant.
            let is_itself = place.number == mount.number;
            if !is_covered && !is_itself && !places.contains(&place) {
                places.push(place);
            }
        }
        places
    }

    /// Where an open file lies; `None` where no mount table shows it.
    fn place_of(&self, file: &File) -> Option<FilePlace> {
        let mount = self.mount_of(file)?;
        let id = FileId::of(&file.metadata().ok()?);
        let name = fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()?;
        // From another root directory than this process's the name may begin with more than the
        // mount point: the end that leads to the file counts.
        let parts: Vec<_> = name.components().skip(1).collect();
        let whole = name.strip_prefix(&mount.point).ok().map(Path::to_owned);
        let ends = (0..=parts.len()).map(|from| parts[from..].iter().collect::<PathBuf>());
        for relative in whole.into_iter().chain(ends) {
            let found = find_below(mount, &relative).ok();
            let metadata = found.and_then(|found| found.metadata().ok());
            if metadata.is_some_and(|metadata| FileId::of(&metadata) == id) {
                return Some(FilePlace {
                    number: mount.number,
                    path: join(&mount.root, &relative),
                });
            }
        }
        None
    }

    /// Opens what lies at a place (`O_PATH`); `None` where nothing does.
    fn find(&self, place: &FilePlace) -> Result<Option<File>, String> {
        let mut why = "it is mounted nowhere".to_owned();
        for mount in self.mounts.iter().filter(|mount| mount.number == place.number) {
            let Ok(relative) = place.path.strip_prefix(&mount.root) else { continue };
            match find_below(mount, relative) {
                Ok(file) => return Ok(Some(file)),
                Err(error) if is_absent(&error) => return Ok(None),
                Err(error) => why = error.to_string(),
            }
        }
        Err(format!(
            "{} in a file system that this process cannot see: {why}",
            place.path.display()
        ))
    }

    /// All inodes of an open file (`O_PATH`).
    ///
    /// # Errors
    /// Where it cannot be followed.
    pub fn inodes(&self, file: &File) -> Result<Inodes, String> {
        let metadata = file.metadata().map_err(|error| error.to_string())?;
        let id = FileId::of(&metadata);
        require_followable(file)?;
        if self.overlays.is_empty() && is_plain(file) {
            let mut inodes = Inodes::single(id);
            inodes.handles.push(file.try_clone().map_err(|error| error.to_string())?);
            // btrfs has another number in the list of locks than `stat`.
            let number = self.mount_of(file).map(|mount| mount.number);
            inodes.ids.extend(number.map(|(major, minor)| FileId {
                device: libc::makedev(major, minor),
                inode: id.inode,
            }));
            return Ok(inodes);
        }
        let start = self.place_of(file).ok_or("no list of mounts shows where it lies")?;
        let mut pending = vec![start];
        let mut seen = BTreeSet::new();
        let mut inodes = Inodes::single(id);
        let mut numbers = BTreeSet::new();
        while let Some(place) = pending.pop() {
            if !seen.insert(place.clone()) {
                continue;
            }
            let Some(found) = self.find(&place)? else { continue };
            let metadata = found.metadata().map_err(|error| error.to_string())?;
            // A layer that lacks the file may have a directory or a whiteout there.
            if !metadata.is_file() {
                continue;
            }
            require_followable(&found)?;
            numbers.insert((place.device(), metadata.ino()));
            inodes.ids.insert(FileId::of(&metadata));
            let below = self.places_below(&place)?;
            if !below.is_empty() {
                self.require_origin(&place, &below, &metadata)?;
            }
            pending.extend(below);
            pending.extend(self.places_above(&place, &metadata, &seen)?);
            inodes.handles.push(found);
        }
        // The list of locks has the overlay's number with the inode of any layer.
        for (device, inode) in &numbers {
            inodes.ids.insert(FileId { device: *device, inode: *inode });
        }
        for place in seen.iter().filter(|place| self.overlay_at(place).is_some()) {
            let device = place.device();
            inodes.ids.extend(numbers.iter().map(|(_, inode)| FileId { device, inode: *inode }));
        }
        Ok(inodes)
    }

    fn overlay_at(&self, place: &FilePlace) -> Option<&Overlay> {
        self.overlays.iter().find(|overlay| overlay.number == place.number)
    }

    /// Where the file lies in the layers, if its place is in an overlay.
    fn places_below(&self, place: &FilePlace) -> Result<Vec<FilePlace>, String> {
        let Some(overlay) = self.overlay_at(place) else { return Ok(Vec::new()) };
        let layers = overlay.layers.as_ref().map_err(Clone::clone)?;
        let relative = place.path.strip_prefix("/").unwrap_or(&place.path).to_owned();
        let mut paths = vec![relative];
        let mut at = 0;
        // A renamed file or directory leads on to its old path in the layers below.
        while let Some(path) = paths.get(at).cloned() {
            for layer in layers {
                for old in self.old_paths(&layer.place, &path)? {
                    if !paths.contains(&old) {
                        paths.push(old);
                    }
                }
            }
            at += 1;
            if at > REDIRECTS_MAX {
                return Err(format!("{} was renamed too often", place.path.display()));
            }
        }
        let below = layers.iter().flat_map(|layer| paths.iter().map(|p| layer.place.below(p)));
        Ok(below.collect())
    }

    /// Makes sure that the layers are those that the overlay has, for another directory may
    /// stand at the path of one by now: a file has the inode number of one of its layers, or its
    /// upper layer notes that it was copied up from another path.
    fn require_origin(
        &self,
        merged: &FilePlace,
        below: &[FilePlace],
        metadata: &Metadata,
    ) -> Result<(), String> {
        for place in below {
            let Some(found) = self.find(place)? else { continue };
            let fits = found.metadata().is_ok_and(|real| is_same_inode(&real, metadata));
            if fits || attribute(&found, ORIGIN).is_some() {
                return Ok(());
            }
        }
        Err(format!("no layer shows {}, which lies in an overlay", merged.path.display()))
    }

    /// The paths that a path of a layer has in those below it, if it or a directory above it was
    /// renamed.
    fn old_paths(&self, layer: &FilePlace, path: &Path) -> Result<Vec<PathBuf>, String> {
        let mut found = Vec::new();
        for above in path.ancestors().filter(|above| !above.as_os_str().is_empty()) {
            let Some(file) = self.find(&layer.below(above))? else { continue };
            let Some(old) = attribute(&file, REDIRECT) else { continue };
            let old = Path::new(OsStr::from_bytes(&old));
            let renamed = match old.strip_prefix("/") {
                Ok(absolute) => absolute.to_owned(),
                Err(_) => above.with_file_name(old),
            };
            found.push(join(&renamed, path.strip_prefix(above).unwrap_or(Path::new(""))));
        }
        Ok(found)
    }

    /// Where the file shows up in overlays that have a layer around it, also by another of its
    /// names.
    fn places_above(
        &self,
        place: &FilePlace,
        metadata: &Metadata,
        seen: &BTreeSet<FilePlace>,
    ) -> Result<Vec<FilePlace>, String> {
        let mut above = Vec::new();
        for overlay in &self.overlays {
            let Ok(layers) = &overlay.layers else { continue };
            let root = FilePlace { number: overlay.number, path: "/".into() };
            for layer in layers.iter().filter(|layer| layer.place.number == place.number) {
                let mut names: Vec<PathBuf> = Vec::new();
                names.extend(place.relative_to(&layer.place).map(Path::to_owned));
                if metadata.nlink() > 1
                    && let Some(directory) = self.find(&layer.place)?
                {
                    let more = names_in(&directory, metadata)
                        .map_err(|error| format!("{}: {error}", layer.place.path.display()))?;
                    names.extend(more);
                }
                for name in names {
                    let merged = root.below(&name);
                    // Where it led here from the overlay, its path there is known.
                    if seen.iter().all(|place| place.number != overlay.number) {
                        self.require_shown(overlay, layer, &merged, metadata)?;
                    }
                    above.push(merged);
                }
            }
        }
        Ok(above)
    }

    /// Makes sure that an overlay has a file of a layer at the same path, which it need not where
    /// the file was renamed there.
    fn require_shown(
        &self,
        overlay: &Overlay,
        layer: &OverlayLayer,
        merged: &FilePlace,
        metadata: &Metadata,
    ) -> Result<(), String> {
        let is_shown = match layer.kind {
            LayerKind::Upper => true,
            LayerKind::Lower => self.find(merged)?.is_some_and(|shown| {
                shown.metadata().is_ok_and(|shown| is_same_inode(&shown, metadata))
            }),
            LayerKind::Data => false,
        };
        if is_shown {
            return Ok(());
        }
        let (point, path) = (overlay.point.display(), layer.place.path.display());
        Err(format!("it lies in layer {path} of the overlay on {point}, which shows it elsewhere"))
    }

    /// All inodes of the file that has this number, `printed` being the path that the kernel
    /// shows for it: what proves the path right is the number.
    ///
    /// # Errors
    /// Where it cannot be followed.
    pub fn inodes_of(&self, id: FileId, printed: Option<&str>) -> Result<Inodes, String> {
        if let Some(file) = printed.and_then(|path| self.open_as(id, Path::new(path))) {
            return self.inodes(&file);
        }
        let number = (libc::major(id.device), libc::minor(id.device));
        let listed = self.mounts.iter().find(|mount| mount.number == number);
        let is_possible = match listed.map(|mount| mount.kind.as_str()) {
            Some(kind) if !is_plain_kind(kind) => {
                return Err(format!("no path leads to its file, which lies on {kind}"));
            }
            // A subvolume of btrfs has a number that no mount shows, and so has a file of a layer.
            None if number.0 == 0 => {
                !self.overlays.is_empty() || self.mounts.iter().all(|mount| mount.kind != "btrfs")
            }
            _ => self.overlays.iter().any(|overlay| {
                let layers = overlay.layers.iter().flatten();
                layers.into_iter().any(|layer| layer.place.number == number)
            }),
        };
        if is_possible {
            return Err("no path leads to its file, which may be part of an overlay".into());
        }
        Ok(Inodes::single(id))
    }

    /// Opens (`O_PATH`) the file with this number by a path in whatever root directory it is
    /// meant.
    pub fn open_as(&self, id: FileId, path: &Path) -> Option<File> {
        self.candidates(path)
            .into_iter()
            .find(|file| file.metadata().is_ok_and(|metadata| FileId::of(&metadata) == id))
    }

    /// What a path leads to in each root directory (`O_PATH`).
    pub fn candidates(&self, path: &Path) -> Vec<File> {
        self.views.iter().filter_map(|view| open_in(view, path).ok()).collect()
    }

    /// The overlays whose layers are unknown: their numbers, and why.
    pub fn unknown_overlays(&self) -> impl Iterator<Item = (u64, &str)> {
        self.overlays.iter().filter_map(|overlay| {
            let why = overlay.layers.as_ref().err()?;
            Some((libc::makedev(overlay.number.0, overlay.number.1), why.as_str()))
        })
    }
}

/// `path` with nothing added where the rest is empty.
fn join(path: &Path, relative: &Path) -> PathBuf {
    if relative.as_os_str().is_empty() { path.to_owned() } else { path.join(relative) }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ENOTDIR))
}

fn is_plain_kind(kind: &str) -> bool {
    const KINDS: [&str; 24] = [
        "ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "bcachefs", "zfs", "jfs", "reiserfs",
        "nilfs2", "zonefs", "ntfs3", "vfat", "msdos", "exfat", "udf", "iso9660", "squashfs",
        "erofs", "tmpfs", "ramfs", "hfs", "hfsplus",
    ];
    IN_MEMORY.contains(&kind) || KINDS.contains(&kind)
}

/// The number that statfs(2) has for a kind of file system.
pub(crate) fn magic(file: &File) -> io::Result<u32> {
    let mut told = MaybeUninit::<libc::statfs>::uninit();
    // SAFETY: fstatfs(2) writes one statfs, which lives through the call.
    if unsafe { libc::fstatfs(file.as_raw_fd(), told.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call succeeded and has filled it in.
    Ok(unsafe { told.assume_init() }.f_type as u32)
}

fn is_plain(file: &File) -> bool {
    magic(file).is_ok_and(|magic| PLAIN.contains(&magic))
}

/// Refuses a file on a file system that may have it under another inode, too.
///
/// # Errors
/// Names the kind of file system.
pub(crate) fn require_followable(file: &File) -> Result<(), String> {
    let magic = magic(file).map_err(|error| error.to_string())?;
    if magic == OVERLAYFS || PLAIN.contains(&magic) {
        return Ok(());
    }
    let kind = match magic {
        0x6573_5546 => "FUSE".to_owned(),
        0x0000_6969 => "NFS".to_owned(),
        0xff53_4d42 | 0xfe53_4d42 | 0x517b => "SMB".to_owned(),
        0x0102_1997 => "9p".to_owned(),
        0x00c3_6400 => "Ceph".to_owned(),
        0xf15f => "eCryptfs".to_owned(),
        other => format!("a file system of type {other:#x}"),
    };
    Err(format!("it lies on {kind}, which does not show who uses the data behind it"))
}

/// The layers that the options of an overlay name. A character that would end a path is escaped by
/// the kernel in octal, and once more with a backslash by whoever mounted it.
fn layer_paths(options: &str) -> Vec<(LayerKind, PathBuf)> {
    let mut layers = Vec::new();
    for option in options.split(',') {
        let Some((name, value)) = option.split_once('=') else { continue };
        let value = unescape(value);
        match name {
            "upperdir" => layers.extend(split_layers(&value, LayerKind::Upper)),
            "lowerdir" | "lowerdir+" => layers.extend(split_layers(&value, LayerKind::Lower)),
            "datadir+" => layers.extend(split_layers(&value, LayerKind::Data)),
            _ => {}
        }
    }
    layers
}

/// Splits `/a:/b\:c::/data` at the colons that no backslash escapes. What follows two colons are
/// layers of data. The directory of an overlay that takes the changes is not split.
fn split_layers(text: &str, first: LayerKind) -> Vec<(LayerKind, PathBuf)> {
    let mut kind = first;
    let mut layers = Vec::new();
    let mut path = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => path.extend(characters.next()),
            ':' if first != LayerKind::Upper => {
                if path.is_empty() {
                    kind = LayerKind::Data;
                } else {
                    layers.push((kind, PathBuf::from(std::mem::take(&mut path))));
                }
            }
            other => path.push(other),
        }
    }
    if !path.is_empty() {
        layers.push((kind, path.into()));
    }
    layers
}

/// Whether two files have one inode number; its upper bits may name the layer.
fn is_same_inode(one: &Metadata, other: &Metadata) -> bool {
    one.ino() as u32 == other.ino() as u32
}

/// Where a file was copied up from.
const ORIGIN: [&CStr; 2] = [c"trusted.overlay.origin", c"user.overlay.origin"];

/// The old path of a file or a directory that was renamed in an overlay: absolute, or another name
/// in the same directory.
const REDIRECT: [&CStr; 2] = [c"trusted.overlay.redirect", c"user.overlay.redirect"];

/// What overlayfs notes at a file of a layer.
fn attribute(file: &File, names: [&CStr; 2]) -> Option<Vec<u8>> {
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let path = CString::new(path).ok()?;
    for name in names {
        let mut value = vec![0u8; libc::PATH_MAX as usize];
        // SAFETY: both texts end with a zero byte; getxattr(2) writes into `value`, whose length
        // is named, and all live through the call.
        let length = unsafe {
            libc::getxattr(path.as_ptr(), name.as_ptr(), value.as_mut_ptr().cast(), value.len())
        };
        if let Ok(length) = usize::try_from(length) {
            value.truncate(length);
            return Some(value);
        }
    }
    None
}

/// Opens (`O_PATH`) what lies at a path below the root of a mount, and not in another mount that
/// covers it.
fn find_below(mount: &Mount, relative: &Path) -> io::Result<File> {
    let covered = || io::Error::other("another mount covers it");
    let top = open_in(&mount.view, &mount.point).map_err(|_| covered())?;
    if mount_id_of(&top) != Some(mount.id) {
        return Err(covered());
    }
    if relative.as_os_str().is_empty() {
        return Ok(top);
    }
    let how = libc::RESOLVE_BENEATH | libc::RESOLVE_NO_XDEV | libc::RESOLVE_NO_SYMLINKS;
    open_at(&top, relative, libc::O_PATH | libc::O_NOFOLLOW, how)
}

/// Opens (`O_PATH`) what a path leads to for a process with this root directory.
fn open_in(view: &Path, path: &Path) -> io::Result<File> {
    let flags = libc::O_PATH | libc::O_CLOEXEC | libc::O_DIRECTORY;
    let root = OpenOptions::new().read(true).custom_flags(flags).open(view)?;
    open_at(&root, path, libc::O_PATH, libc::RESOLVE_IN_ROOT)
}

/// openat2(2).
fn open_at(directory: &File, path: &Path, flags: i32, resolve: u64) -> io::Result<File> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: open_how is plain integers, for which all zeros is a value.
    let mut how: libc::open_how = unsafe { std::mem::zeroed() };
    how.flags = (flags | libc::O_CLOEXEC) as u64;
    how.resolve = resolve;
    // SAFETY: the path ends with a zero byte, `how` has the size that is named, and both live
    // through the call.
    let opened = unsafe {
        libc::syscall(
            libc::SYS_openat2,
            directory.as_raw_fd(),
            path.as_ptr(),
            &raw const how,
            size_of::<libc::open_how>(),
        )
    };
    match i32::try_from(opened) {
        // SAFETY: the descriptor is new and owned by nobody else.
        Ok(new) if new >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(new) }.into()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Entries of a layer that are looked at for the other names of a file.
const LAYER_ENTRIES_MAX: usize = 1 << 20;

/// The names of a file in a directory and below it, without a leading slash. What is mounted there
/// is no part of the layer.
fn names_in(directory: &File, metadata: &Metadata) -> io::Result<Vec<PathBuf>> {
    let id = FileId::of(metadata);
    let top = PathBuf::from(format!("/proc/self/fd/{}", directory.as_raw_fd()));
    let mount = mount_id_of(directory);
    let mut found = Vec::new();
    let mut pending = vec![PathBuf::new()];
    let mut left = LAYER_ENTRIES_MAX;
    while let Some(below) = pending.pop() {
        let entries = match fs::read_dir(top.join(&below)) {
            Err(error) if is_absent(&error) => continue,
            other => other?,
        };
        for entry in entries {
            let entry = entry?;
            left = left.checked_sub(1).ok_or_else(|| {
                io::Error::other(format!(
                    "it has more than {LAYER_ENTRIES_MAX} entries, too many to look for the other \
                     names of a file"
                ))
            })?;
            let name = below.join(entry.file_name());
            let seen = match fs::symlink_metadata(entry.path()) {
                Err(error) if is_absent(&error) => continue,
                other => other?,
            };
            if FileId::of(&seen) == id {
                found.push(name);
                if found.len() as u64 == metadata.nlink() {
                    return Ok(found);
                }
            } else if seen.is_dir() && mount_id(&entry.path()) == mount {
                pending.push(name);
            }
        }
    }
    Ok(found)
}

/// Whether the kernel swaps to a file, told by the kernel's own flag: it lets nothing be copied
/// from or to a swap file. Nothing is copied, for there is no byte to copy; the file's times stay.
/// A file that is not on a plain file system is none; to open it for writing would copy it up.
///
/// # Errors
/// Where the file cannot be opened for writing.
pub(crate) fn is_swap_file(file: &File) -> io::Result<bool> {
    if !is_plain(file) {
        return Ok(false);
    }
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let flags = libc::O_NONBLOCK | libc::O_CLOEXEC;
    let opened = OpenOptions::new().read(true).write(true).custom_flags(flags).open(path)?;
    let null = std::ptr::null_mut();
    // SAFETY: takes integers and null pointers; the descriptor is open for as long as `opened`.
    let copied =
        unsafe { libc::copy_file_range(opened.as_raw_fd(), null, opened.as_raw_fd(), null, 0, 0) };
    match copied {
        0.. => Ok(false),
        _ => match io::Error::last_os_error() {
            error if error.raw_os_error() == Some(libc::ETXTBSY) => Ok(true),
            error => Err(error),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_are_read_from_the_options_with_both_kinds_of_escapes() {
        let (upper, lower, data) = (LayerKind::Upper, LayerKind::Lower, LayerKind::Data);
        let cases: [(&str, &[(LayerKind, &str)]); 6] = [
            ("ro,lowerdir=/a:/b", &[(lower, "/a"), (lower, "/b")]),
            // As the kernel prints `lowerdir=/lo\:w\\,2,upperdir=/u:p`.
            (
                "rw,lowerdir=/lo\\134:w\\134\\134\\0542,upperdir=/u:p,workdir=/w",
                &[(lower, "/lo:w\\,2"), (upper, "/u:p")],
            ),
            ("ro,lowerdir=/a::/d1::/d2", &[(lower, "/a"), (data, "/d1"), (data, "/d2")]),
            ("ro,lowerdir+=/a,datadir+=/d", &[(lower, "/a"), (data, "/d")]),
            ("ro,lowerdir=l/A:l/B", &[(lower, "l/A"), (lower, "l/B")]),
            ("rw,index=on", &[]),
        ];
        for (options, expected) in cases {
            let expected: Vec<(LayerKind, PathBuf)> =
                expected.iter().map(|(kind, path)| (*kind, path.into())).collect();
            assert_eq!(layer_paths(options), expected, "{options}");
        }
    }

    #[test]
    fn a_file_of_a_hidden_file_system_is_followed_only_where_it_is_no_layer() {
        let directory = tempfile::tempdir().unwrap();
        let roots = Roots { proc: directory.path().to_owned(), ..Roots::real() };
        let mount = |number: (u32, u32), kind: &str, options: &str| Mount {
            id: u64::MAX,
            number,
            root: "/".into(),
            point: "/nowhere".into(),
            view: "/".into(),
            kind: kind.into(),
            source: String::new(),
            also: Vec::new(),
            options: options.into(),
        };
        let file = |major, minor| FileId { device: libc::makedev(major, minor), inode: 7 };
        let followed = |mounts: &[Mount], file: FileId| {
            Layers::new(mounts.to_vec(), &roots).inodes_of(file, Some("/no/such/file")).is_ok()
        };
        assert!(followed(&[mount((8, 1), "ext4", "rw")], file(8, 1)));
        // No mount is in sight, and the number is a block device's.
        assert!(followed(&[], file(8, 1)));
        // An anonymous number is a subvolume of btrfs, or unknown.
        assert!(followed(&[mount((0, 40), "btrfs", "rw")], file(0, 41)));
        assert!(!followed(&[], file(0, 41)));
        for kind in ["overlay", "fuse.bindfs", "fuseblk", "nfs4", "cifs", "ecryptfs", "new"] {
            assert!(!followed(&[mount((0, 41), kind, "rw")], file(0, 41)), "{kind}");
        }
        let overlay = mount((0, 50), "overlay", "ro,lowerdir=relative");
        assert!(!followed(&[mount((0, 40), "btrfs", "rw"), overlay], file(0, 41)));
    }
}
