//! Files with several inodes: overlayfs gives a file its own inode in addition to those in its
//! layers. A user of one inode uses all.
//!
//! A file is identified by its [`FilePlace`]: file system number and path, from the kernel's mount
//! tables. The search goes down to the layers of an overlay, and up to every overlay that has a
//! layer on the file's file system, until nothing new is found. Other file systems that may store
//! a file elsewhere (FUSE, network and stacking file systems) cannot be searched, and their files
//! are refused.

use crate::backing::FileId;
use crate::device_number::{decode_dev, encode_dev};
use crate::handles::{handle_path, open_path};
use crate::mounts::{Mount, mount_id, mount_id_of, unescape};
use crate::system_roots::SystemRoots;
use rustix::fs::{Mode, OFlags, ResolveFlags, copy_file_range, fstatfs, getxattr, openat2};
use rustix::io::{Errno, retry_on_intr};
use std::cell::RefCell;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CStr, OsStr};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use steadfast_domain::DeviceNumber;

/// File systems on disks and in memory with one inode per file (linux/magic.h, and the kernel's
/// sources for those missing there).
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

/// Maximum number of renames followed for one path.
const REDIRECTS_MAX: usize = 64;

/// File system types in mountinfo without a block device.
const IN_MEMORY: [&str; 5] = ["tmpfs", "ramfs", "rootfs", "devtmpfs", "hugetlbfs"];

/// Returns true if a file system (as mountinfo names it) is not on a disk of this machine, but in
/// memory, on raw flash or on another machine.
pub(crate) fn has_no_disk(kind: &str) -> bool {
    const ON_FLASH: [&str; 2] = ["ubifs", "jffs2"];
    const ELSEWHERE: [&str; 9] =
        ["nfs", "nfs4", "cifs", "smb3", "ceph", "9p", "virtiofs", "afs", "lustre"];
    IN_MEMORY.contains(&kind) || ON_FLASH.contains(&kind) || ELSEWHERE.contains(&kind)
}

/// A file or directory: device number of its file system, as in mountinfo, and path from that file
/// system's root.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct FilePlace {
    number: DeviceNumber,
    path: PathBuf,
}

impl FilePlace {
    fn below(&self, relative: &Path) -> FilePlace {
        FilePlace { number: self.number, path: join(&self.path, relative) }
    }

    /// Returns the path relative to a directory above; `None` if this is not below it.
    fn relative_to(&self, above: &FilePlace) -> Option<&Path> {
        let is_same = self.number == above.number;
        is_same.then(|| self.path.strip_prefix(&above.path).ok()).flatten()
    }

    fn device(&self) -> u64 {
        encode_dev(self.number)
    }
}

/// An overlay and its layers.
#[derive(Debug)]
struct Overlay {
    number: DeviceNumber,
    point: PathBuf,
    /// The layers, or the reason why they are unknown.
    layers: Result<Vec<OverlayLayer>, String>,
}

/// One directory of an overlay.
#[derive(Debug, Clone, PartialEq, Eq)]
struct OverlayLayer {
    kind: LayerKind,
    place: FilePlace,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LayerKind {
    /// Receives all changes. A file has the same path here as in the overlay.
    Upper,
    /// A file has the same path here as in the overlay unless it was renamed there.
    Lower,
    /// Stores the content of files of other layers under other paths.
    Data,
}

/// All inodes of a file.
#[derive(Debug)]
pub(crate) struct Inodes {
    /// All IDs that `stat` or the kernel's list of locks shows for the file.
    pub ids: BTreeSet<FileId>,
    /// An `O_PATH` handle for each inode that can be reached by a path.
    pub handles: Vec<File>,
}

impl Inodes {
    /// Returns a file with one inode and no handle.
    pub fn single(id: FileId) -> Inodes {
        Inodes { ids: [id].into(), handles: Vec::new() }
    }
}

/// Mounts of this machine, and the overlays among them.
#[derive(Debug)]
pub(crate) struct MountTable {
    mounts: Vec<Mount>,
    overlays: Vec<Overlay>,
    /// Root directories that a layer's path may be relative to: those of this process and of the
    /// host. In another namespace, a user could create any directory at that path.
    host_views: [PathBuf; 3],
    /// All root directories that a path may be relative to, for files found by their inode.
    views: Vec<PathBuf>,
    /// Names of files with hard links, by the ID of the layer's directory.
    linked_names: RefCell<BTreeMap<FileId, LinkedNames>>,
}

/// Names of each file with hard links, relative to a directory.
type LinkedNames = BTreeMap<FileId, Vec<PathBuf>>;

impl MountTable {
    /// Determines the layers of every overlay in a mount table.
    pub fn new(mounts: Vec<Mount>, roots: &SystemRoots) -> MountTable {
        let [first, kernel] = ["1", "2"].map(|process| roots.proc.join(process).join("root"));
        // Layer paths of a container are relative to the host's root.
        let host_views = [PathBuf::from("/"), first, kernel];
        let mut views = host_views.to_vec();
        for mount in &mounts {
            if !views.contains(&mount.view) {
                views.push(mount.view.clone());
            }
        }
        let mut layers = MountTable {
            mounts,
            overlays: Vec::new(),
            host_views,
            views,
            linked_names: RefCell::default(),
        };
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

    /// Returns the mount through which a file was opened.
    pub fn mount_of(&self, file: &File) -> Option<&Mount> {
        let id = mount_id_of(file)?;
        self.mounts.iter().find(|mount| mount.id == id)
    }

    /// Returns the mounts that hold the layers of an overlay.
    ///
    /// # Errors
    /// Returns the reason if a layer cannot be found.
    pub fn mounts_below(&self, overlay: &Mount) -> Result<Vec<&Mount>, String> {
        let mut mounts = Vec::new();
        for layer in self.layers_of(overlay)? {
            mounts.extend(self.mounts.iter().find(|mount| mount.number == layer.place.number));
        }
        Ok(mounts)
    }

    fn layers_of(&self, mount: &Mount) -> Result<Vec<OverlayLayer>, String> {
        let mut layers = Vec::new();
        for LayerPath { kind, path } in layer_paths(&mount.options) {
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

    /// Returns every directory that a layer's path may refer to: the kernel keeps the path as
    /// typed, relative to the root of whoever mounted the overlay.
    fn layer(&self, mount: &Mount, kind: LayerKind, text: &Path) -> Vec<FilePlace> {
        if !text.is_absolute() {
            return Vec::new();
        }
        let mut places = Vec::new();
        for view in std::iter::once(&mount.view).chain(&self.host_views) {
            let Ok(directory) = open_in(view, text) else { continue };
            let Some(place) = self.place_of(&directory) else { continue };
            // An upper layer shares a mount with its work directory, so it cannot be the root of a
            // mount; then something else covers it.
            let is_top = self.mount_of(&directory).is_some_and(|top| top.root == place.path);
            let is_covered = kind == LayerKind::Upper && is_top;
            // An overlay cannot be its own layer; it covers the directory that was meant.
            let is_itself = place.number == mount.number;
            if !is_covered && !is_itself && !places.contains(&place) {
                places.push(place);
            }
        }
        places
    }

    /// Returns the place of an open file; `None` if no mount table shows it.
    fn place_of(&self, file: &File) -> Option<FilePlace> {
        let mount = self.mount_of(file)?;
        let id = FileId::from_metadata(&file.metadata().ok()?);
        let name = fs::read_link(handle_path(file)).ok()?;
        // For a file opened in another root directory, the name may have more components before
        // the mount point; find the suffix that leads to the file.
        let parts: Vec<_> = name.components().skip(1).collect();
        let whole = name.strip_prefix(&mount.point).ok().map(Path::to_owned);
        let ends = (0..=parts.len()).map(|from| parts[from..].iter().collect::<PathBuf>());
        for relative in whole.into_iter().chain(ends) {
            let candidate = find_below(mount, &relative).ok();
            let metadata = candidate.and_then(|candidate| candidate.metadata().ok());
            if metadata.is_some_and(|metadata| FileId::from_metadata(&metadata) == id) {
                return Some(FilePlace {
                    number: mount.number,
                    path: join(&mount.root, &relative),
                });
            }
        }
        None
    }

    /// Opens the file at a place (`O_PATH`); `None` if there is none.
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

    /// Returns all inodes of an open file (`O_PATH`).
    ///
    /// # Errors
    /// Returns the reason if they cannot be determined.
    pub fn inodes(&self, file: &File) -> Result<Inodes, String> {
        let metadata = file.metadata().map_err(|error| error.to_string())?;
        let id = FileId::from_metadata(&metadata);
        require_followable(file)?;
        if self.overlays.is_empty() && is_plain(file) {
            let mut inodes = Inodes::single(id);
            inodes.handles.push(file.try_clone().map_err(|error| error.to_string())?);
            // btrfs shows another device number in the list of locks than in `stat`.
            let number = self.mount_of(file).map(|mount| mount.number);
            inodes.ids.extend(
                number.map(|number| FileId { device: encode_dev(number), inode: id.inode }),
            );
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
            let Some(layer_file) = self.find(&place)? else { continue };
            let metadata = layer_file.metadata().map_err(|error| error.to_string())?;
            // A layer without the file may have a directory or a whiteout there.
            if !metadata.is_file() {
                continue;
            }
            require_followable(&layer_file)?;
            numbers.insert((place.device(), metadata.ino()));
            inodes.ids.insert(FileId::from_metadata(&metadata));
            let below = self.places_below(&place)?;
            if !below.is_empty() {
                self.require_origin(&place, &below, &metadata)?;
            }
            pending.extend(below);
            pending.extend(self.places_above(&place, &metadata, &seen)?);
            inodes.handles.push(layer_file);
        }
        // The list of locks may combine the overlay's number with the inode of any layer.
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

    /// Returns the file's places in the layers if it is in an overlay; otherwise nothing.
    fn places_below(&self, place: &FilePlace) -> Result<Vec<FilePlace>, String> {
        let Some(overlay) = self.overlay_at(place) else { return Ok(Vec::new()) };
        let layers = overlay.layers.as_ref().map_err(Clone::clone)?;
        let relative = place.path.strip_prefix("/").unwrap_or(&place.path).to_owned();
        let mut paths = vec![relative];
        let mut at = 0;
        // A renamed file or directory has its old path in the layers below.
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

    /// Checks that the found layers are the overlay's, since another directory may be at a layer's
    /// path by now: the file must have the inode number of one of its layers, or an attribute of
    /// the upper layer must show that it was copied up.
    fn require_origin(
        &self,
        merged: &FilePlace,
        below: &[FilePlace],
        metadata: &Metadata,
    ) -> Result<(), String> {
        for place in below {
            let Some(file) = self.find(place)? else { continue };
            let fits = file.metadata().is_ok_and(|real| is_same_inode(&real, metadata));
            if fits || attribute(&file, ORIGIN).is_some() {
                return Ok(());
            }
        }
        Err(format!("no layer shows {}, which lies in an overlay", merged.path.display()))
    }

    /// Returns the paths in the lower layers that correspond to a path of a layer, if it or one of
    /// its parent directories was renamed.
    fn old_paths(&self, layer: &FilePlace, path: &Path) -> Result<Vec<PathBuf>, String> {
        let mut paths = Vec::new();
        for above in path.ancestors().filter(|above| !above.as_os_str().is_empty()) {
            let Some(file) = self.find(&layer.below(above))? else { continue };
            let Some(old) = attribute(&file, REDIRECT) else { continue };
            let old = Path::new(OsStr::from_bytes(&old));
            let renamed = match old.strip_prefix("/") {
                Ok(absolute) => absolute.to_owned(),
                Err(_) => above.with_file_name(old),
            };
            paths.push(join(&renamed, path.strip_prefix(above).unwrap_or(Path::new(""))));
        }
        Ok(paths)
    }

    /// Returns the file's places in overlays that have it in a layer, including its hard links.
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
                if metadata.nlink() > 1 {
                    names.extend(self.linked_names(&layer.place, metadata)?);
                }
                for name in names {
                    let merged = root.below(&name);
                    // If the search came from the overlay, the path there is known.
                    if seen.iter().all(|place| place.number != overlay.number) {
                        self.require_shown(overlay, layer, &merged, metadata)?;
                    }
                    above.push(merged);
                }
            }
        }
        Ok(above)
    }

    /// Returns the names of a file with hard links below a layer. A layer is searched once per mount
    /// table: overlays share layers, and many files may have to be compared.
    fn linked_names(&self, layer: &FilePlace, metadata: &Metadata) -> Result<Vec<PathBuf>, String> {
        let Some(directory) = self.find(layer)? else { return Ok(Vec::new()) };
        let wrong = |error: io::Error| format!("{}: {error}", layer.path.display());
        let id = FileId::from_metadata(&directory.metadata().map_err(wrong)?);
        let mut searched = self.linked_names.borrow_mut();
        let names = match searched.entry(id) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(linked_names_in(&directory).map_err(wrong)?),
        };
        Ok(names.get(&FileId::from_metadata(metadata)).cloned().unwrap_or_default())
    }

    /// Checks that an overlay shows a layer's file at the same path, which is not the case after a
    /// rename.
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

    /// Returns all inodes of the file with this ID. `printed` is the path that the kernel shows
    /// for it; it is used only if it leads to this ID.
    ///
    /// # Errors
    /// Returns the reason if they cannot be determined.
    pub fn inodes_of(&self, id: FileId, printed: Option<&str>) -> Result<Inodes, String> {
        if let Some(file) = printed.and_then(|path| self.open_as(id, Path::new(path))) {
            return self.inodes(&file);
        }
        let number = decode_dev(id.device);
        let mount = self.mounts.iter().find(|mount| mount.number == number);
        let is_possible = match mount.map(|mount| mount.kind.as_str()) {
            Some(kind) if !is_plain_kind(kind) => {
                return Err(format!("no path leads to its file, which lies on {kind}"));
            }
            // No mount shows the device number of a btrfs subvolume, nor that of an overlay's
            // layer file.
            None if number.major == 0 => {
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

    /// Opens (`O_PATH`) the file with this ID by a path, in any root directory.
    pub fn open_as(&self, id: FileId, path: &Path) -> Option<File> {
        self.candidates(path).into_iter().find(|file| {
            file.metadata().is_ok_and(|metadata| FileId::from_metadata(&metadata) == id)
        })
    }

    /// Opens (`O_PATH`) what a path refers to in each root directory.
    pub fn candidates(&self, path: &Path) -> Vec<File> {
        self.views.iter().filter_map(|view| open_in(view, path).ok()).collect()
    }

    /// Returns the device numbers of overlays with unknown layers, and the reasons.
    pub fn unknown_overlays(&self) -> impl Iterator<Item = (u64, &str)> {
        self.overlays.iter().filter_map(|overlay| {
            let why = overlay.layers.as_ref().err()?;
            Some((encode_dev(overlay.number), why.as_str()))
        })
    }
}

/// Joins two paths; avoids a trailing slash if the second is empty.
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

/// Returns the file system type reported by statfs(2).
pub(crate) fn magic(file: &File) -> io::Result<u32> {
    Ok(fstatfs(file)?.f_type as u32)
}

fn is_plain(file: &File) -> bool {
    magic(file).is_ok_and(|magic| PLAIN.contains(&magic))
}

/// Refuses a file on a file system that may store it under another inode.
///
/// # Errors
/// Returns the reason, with the file system type.
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

/// A layer in an overlay's mount options.
#[derive(Debug, PartialEq, Eq)]
struct LayerPath {
    kind: LayerKind,
    /// The path as typed by the user who mounted the overlay.
    path: PathBuf,
}

/// Returns the layers in an overlay's mount options. The kernel escapes special characters in
/// octal; the user who mounted it escapes separators with a backslash.
fn layer_paths(options: &str) -> Vec<LayerPath> {
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

/// Splits `/a:/b\:c::/data` at unescaped colons. Layers after a double colon are data layers. The
/// upper directory is not split.
fn split_layers(text: &str, first: LayerKind) -> Vec<LayerPath> {
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
                    layers.push(LayerPath { kind, path: std::mem::take(&mut path).into() });
                }
            }
            other => path.push(other),
        }
    }
    if !path.is_empty() {
        layers.push(LayerPath { kind, path: path.into() });
    }
    layers
}

/// Returns true if the inode numbers match; the upper bits may encode the layer.
fn is_same_inode(one: &Metadata, other: &Metadata) -> bool {
    one.ino() as u32 == other.ino() as u32
}

/// Attribute with the origin of a copied-up file.
const ORIGIN: [&CStr; 2] = [c"trusted.overlay.origin", c"user.overlay.origin"];

/// Attribute with the old path of a renamed file or directory: absolute, or a name in the same
/// directory.
const REDIRECT: [&CStr; 2] = [c"trusted.overlay.redirect", c"user.overlay.redirect"];

/// Reads an overlayfs attribute of a layer's file.
fn attribute(file: &File, names: [&CStr; 2]) -> Option<Vec<u8>> {
    let path = handle_path(file);
    names.into_iter().find_map(|name| {
        let mut value = vec![0u8; libc::PATH_MAX as usize];
        let length = getxattr(&path, name, &mut value[..]).ok()?;
        value.truncate(length);
        Some(value)
    })
}

/// Opens (`O_PATH`) a path below the root of a mount, unless another mount covers it.
fn find_below(mount: &Mount, relative: &Path) -> io::Result<File> {
    let covered = || io::Error::other("another mount covers it");
    let top = open_in(&mount.view, &mount.point).map_err(|_| covered())?;
    if mount_id_of(&top) != Some(mount.id) {
        return Err(covered());
    }
    if relative.as_os_str().is_empty() {
        return Ok(top);
    }
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_XDEV | ResolveFlags::NO_SYMLINKS;
    open_at(&top, relative, OFlags::NOFOLLOW, resolve)
}

/// Opens (`O_PATH`) a path as seen by a process with this root directory.
fn open_in(view: &Path, path: &Path) -> io::Result<File> {
    let root = open_path(view, libc::O_DIRECTORY)?;
    open_at(&root, path, OFlags::empty(), ResolveFlags::IN_ROOT)
}

/// Opens (`O_PATH`) a path below a directory.
fn open_at(
    directory: &File,
    path: &Path,
    flags: OFlags,
    resolve: ResolveFlags,
) -> io::Result<File> {
    let flags = flags | OFlags::PATH | OFlags::CLOEXEC;
    Ok(retry_on_intr(|| openat2(directory, path, flags, Mode::empty(), resolve))?.into())
}

/// Maximum number of layer entries searched for other names of a file.
const LAYER_ENTRIES_MAX: usize = 1 << 20;

/// Returns the names of all files with hard links below a directory, without leading slash. Other
/// mounts below it are skipped, as they are not part of the layer.
fn linked_names_in(directory: &File) -> io::Result<LinkedNames> {
    let top = handle_path(directory);
    let mount = mount_id_of(directory);
    let mut names = LinkedNames::new();
    let mut pending = vec![PathBuf::new()];
    let mut entries_left = LAYER_ENTRIES_MAX;
    while let Some(below) = pending.pop() {
        let entries = match fs::read_dir(top.join(&below)) {
            Err(error) if is_absent(&error) => continue,
            other => other?,
        };
        for entry in entries {
            let entry = entry?;
            entries_left = entries_left.checked_sub(1).ok_or_else(|| {
                io::Error::other(format!(
                    "it has more than {LAYER_ENTRIES_MAX} entries, too many to look for the other \
                     names of a file"
                ))
            })?;
            let name = below.join(entry.file_name());
            let metadata = match fs::symlink_metadata(entry.path()) {
                Err(error) if is_absent(&error) => continue,
                other => other?,
            };
            if metadata.is_dir() {
                if mount_id(&entry.path()) == mount {
                    pending.push(name);
                }
            } else if metadata.nlink() > 1 {
                names.entry(FileId::from_metadata(&metadata)).or_default().push(name);
            }
        }
    }
    Ok(names)
}

/// Returns true if the kernel swaps to a file: copy_file_range(2) refuses a swap file. The call
/// copies zero bytes and leaves the timestamps. Returns false for a file that is not on a plain
/// file system, since opening it for writing would copy it up.
///
/// # Errors
/// Returns an error if the file cannot be opened for writing.
pub(crate) fn is_swap_file(file: &File) -> io::Result<bool> {
    if !is_plain(file) {
        return Ok(false);
    }
    let flags = libc::O_NONBLOCK | libc::O_CLOEXEC;
    let mut options = OpenOptions::new();
    let opened = options.read(true).write(true).custom_flags(flags).open(handle_path(file))?;
    match copy_file_range(&opened, None, &opened, None, 0) {
        Ok(_) => Ok(false),
        Err(Errno::TXTBSY) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mounts::parse_mount;

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
            let expected: Vec<LayerPath> = expected
                .iter()
                .map(|(kind, path)| LayerPath { kind: *kind, path: path.into() })
                .collect();
            assert_eq!(layer_paths(options), expected, "{options}");
        }
    }

    #[test]
    fn a_file_of_a_hidden_file_system_is_followed_only_where_it_is_no_layer() {
        let directory = tempfile::tempdir().unwrap();
        let roots = SystemRoots { proc: directory.path().to_owned(), ..SystemRoots::real() };
        let mount = |number: &str, kind: &str, options: &str| {
            let line = format!("{} 1 {number} / /nowhere rw - {kind} none {options}", u64::MAX);
            parse_mount(&line, Path::new("/")).unwrap()
        };
        let file = |major, minor| FileId { device: libc::makedev(major, minor), inode: 7 };
        let followed = |mounts: &[Mount], file: FileId| {
            MountTable::new(mounts.to_vec(), &roots).inodes_of(file, Some("/no/such/file")).is_ok()
        };
        assert!(followed(&[mount("8:1", "ext4", "rw")], file(8, 1)));
        // No mount has the number, which is a block device's.
        assert!(followed(&[], file(8, 1)));
        // An anonymous number is a subvolume of btrfs, or unknown.
        assert!(followed(&[mount("0:40", "btrfs", "rw")], file(0, 41)));
        assert!(!followed(&[], file(0, 41)));
        for kind in ["overlay", "fuse.bindfs", "fuseblk", "nfs4", "cifs", "ecryptfs", "new"] {
            assert!(!followed(&[mount("0:41", kind, "rw")], file(0, 41)), "{kind}");
        }
        let overlay = mount("0:50", "overlay", "ro,lowerdir=relative");
        assert!(!followed(&[mount("0:40", "btrfs", "rw"), overlay], file(0, 41)));
    }
}
