//! Files with several inodes, and disks below stacked file systems: overlayfs, FUSE, swap files
//! that no path here refers to, and roots that hide their disk. A file in use under one name is
//! refused under every other name; an unrelated file next to it is armed.

use super::*;
use crate::exclusive_arming_lock;
use rustix::fs::{XattrFlags, setxattr};
use std::os::unix::fs::PermissionsExt;
use steadfast_host::ArmRefusal;

/// Mount options and layout of an overlay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OverlayLayout {
    Plain,
    /// Each layer is on a separate file system.
    Apart,
    /// As above, with inode numbers that encode the layer (xino).
    Xino,
    Metacopy,
    Index,
    /// Several lower layers, with names that need escapes in the options.
    Several,
    /// The lower layer is itself an overlay.
    Nested,
}

const KINDS: [OverlayLayout; 7] = [
    OverlayLayout::Plain,
    OverlayLayout::Apart,
    OverlayLayout::Xino,
    OverlayLayout::Metacopy,
    OverlayLayout::Index,
    OverlayLayout::Several,
    OverlayLayout::Nested,
];

/// Layers that contain the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LayerSet {
    Upper,
    Lower,
    /// Both layers: the file was copied up.
    Both,
    /// Both layers: the file was copied up and then renamed in the overlay.
    Renamed,
}

const LAYERS: [LayerSet; 4] = [LayerSet::Upper, LayerSet::Lower, LayerSet::Both, LayerSet::Renamed];

/// A mounted overlay with a file that contains a file system.
struct MountedOverlay {
    stage: StateFixture,
    merged: PathBuf,
    /// Paths of the file in the layers.
    real: Vec<PathBuf>,
}

fn mount_with(
    stage: &mut StateFixture,
    kind: &str,
    options: &str,
    point: &Path,
) -> BuildResult<()> {
    fs::create_dir_all(point).unwrap();
    run("mount", &["-t", kind, "-o", options, kind, point.to_str().unwrap()])?;
    // A file that was just closed may still be busy.
    stage.undo_with(&["umount", "--lazy"], point);
    Ok(())
}

/// Creates a stage with a tmpfs that has these directories. Its paths are separate from the file
/// system of the other states, whose paths may be unknown.
fn stage_with_tmpfs(directories: &[&str]) -> BuildResult<(StateFixture, PathBuf)> {
    let mut stage = StateFixture::new()?;
    let disk = stage.at("disk");
    mount_with(&mut stage, "tmpfs", "size=64m", &disk)?;
    create_directories(&disk, directories);
    Ok((stage, disk))
}

fn create_directories(parent: &Path, names: &[&str]) {
    for name in names {
        fs::create_dir_all(parent.join(name)).unwrap();
    }
}

impl MountedOverlay {
    fn new(kind: OverlayLayout, layer: LayerSet) -> BuildResult<MountedOverlay> {
        let lower = match kind {
            OverlayLayout::Several => "lo:w\\er,2",
            _ => "lower",
        };
        let (mut stage, disk) = stage_with_tmpfs(&[lower, "first"])?;
        let (lower, merged) = (disk.join(lower), disk.join("merged"));
        let mut up = disk.clone();
        if matches!(kind, OverlayLayout::Apart | OverlayLayout::Xino) {
            up.push("up");
            mount_with(&mut stage, "tmpfs", "size=64m", &up)?;
        }
        create_directories(&up, &["upper", "work"]);
        let (upper, work) = (up.join("upper"), up.join("work"));
        let holds = if layer == LayerSet::Upper { &upper } else { &lower };
        fs::write(holds.join("image"), ext4()?).unwrap();
        let mut real = vec![holds.join("image")];
        let mut lower_layers = escaped(&lower);
        let first = escaped(&disk.join("first"));
        if kind == OverlayLayout::Nested {
            let middle = disk.join("middle");
            let options = format!("lowerdir={lower_layers}:{first}");
            mount_with(&mut stage, "overlay", &options, &middle)?;
            lower_layers = escaped(&middle);
        }
        if kind == OverlayLayout::Several {
            lower_layers = format!("{first}:{lower_layers}");
        }
        let more = match kind {
            OverlayLayout::Xino => ",xino=on",
            OverlayLayout::Metacopy => ",metacopy=on,redirect_dir=on",
            OverlayLayout::Index => ",index=on",
            _ => "",
        };
        let options = format!(
            "lowerdir={lower_layers},upperdir={},workdir={}{more}",
            upper.display(),
            work.display()
        );
        mount_with(&mut stage, "overlay", &options, &merged)?;
        let mut image = merged.join("image");
        if matches!(layer, LayerSet::Both | LayerSet::Renamed) {
            // With metacopy=on, this creates an upper file without data.
            fs::set_permissions(&image, fs::Permissions::from_mode(0o640)).unwrap();
            if layer == LayerSet::Renamed {
                image = merged.join("renamed");
                fs::rename(merged.join("image"), &image).unwrap();
            }
            real.push(upper.join(image.file_name().unwrap()));
        }
        Ok(MountedOverlay { stage, merged: image, real })
    }
}

/// Escapes the path of a layer for the mount options.
fn escaped(path: &Path) -> String {
    let text = path.to_str().unwrap();
    text.replace('\\', "\\\\").replace(':', "\\:").replace(',', "\\,")
}

/// Use of a file under one of its names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StackedUse {
    MountedLoop,
    AttachedLoop,
    Locked,
    Open,
    Mapped,
}

const OVERLAY_USES: [StackedUse; 5] = [
    StackedUse::MountedLoop,
    StackedUse::AttachedLoop,
    StackedUse::Locked,
    StackedUse::Open,
    StackedUse::Mapped,
];

impl StackedUse {
    /// Returns true if this use blocks loop devices. The creator of a loop device may have its file
    /// open, and an unused loop device blocks no other.
    fn blocks_loops(self) -> bool {
        matches!(self, StackedUse::MountedLoop | StackedUse::Locked)
    }

    /// Returns true if the use is tested on this kind of overlay. Uses that are visible on the file
    /// in the layer need fewer kinds.
    fn applies_to(self, kind: OverlayLayout) -> bool {
        self.blocks_loops()
            || matches!(kind, OverlayLayout::Plain | OverlayLayout::Apart | OverlayLayout::Metacopy)
    }

    fn begin(self, stage: &mut StateFixture, path: &Path) -> BuildResult<()> {
        match self {
            StackedUse::MountedLoop => {
                let device = stage.attach(path, &["--read-only"])?;
                stage.mount(&device)
            }
            StackedUse::AttachedLoop => stage.attach(path, &["--read-only"]).map(drop),
            StackedUse::Locked => stage.hold(path, HoldMethod::Flock),
            StackedUse::Open => stage.hold(path, HoldMethod::Open),
            StackedUse::Mapped => stage.hold(path, HoldMethod::Mapped),
        }
    }
}

/// Asserts that a file is refused, and then a loop device on it.
fn file_and_loop_must_be_refused(
    stage: &mut StateFixture,
    used: StackedUse,
    named: &Path,
    kept: &[PathBuf],
) -> BuildResult<()> {
    for kept in kept {
        must_be_refused(named, kept, usize::MAX);
    }
    if used.blocks_loops() {
        let device = stage.attach(named, &[])?;
        for kept in kept {
            must_be_refused(&device, kept, usize::MAX);
        }
    }
    Ok(())
}

/// States for each layer below a file in use, and for the file above each layer in use.
fn overlay_states() -> Vec<MatrixState> {
    let mut states = Vec::new();
    for kind in KINDS {
        for layer in LAYERS {
            for used in OVERLAY_USES.into_iter().filter(|used| used.applies_to(kind)) {
                states.push(MatrixState::new(
                    format!("{kind:?} {layer:?} {used:?} above"),
                    move || {
                        let MountedOverlay { mut stage, merged, real } =
                            MountedOverlay::new(kind, layer)?;
                        used.begin(&mut stage, &merged)?;
                        for named in &real {
                            file_and_loop_must_be_refused(&mut stage, used, named, &real)?;
                        }
                        Ok(())
                    },
                ));
                states.push(MatrixState::new(
                    format!("{kind:?} {layer:?} {used:?} below"),
                    move || {
                        // The path of the lower file in the overlay is unknown then, and a mounted
                        // loop device on it blocks every other file.
                        let is_lost = layer == LayerSet::Renamed && used == StackedUse::MountedLoop;
                        let _lock = is_lost.then(exclusive_arming_lock);
                        let MountedOverlay { mut stage, merged, real } =
                            MountedOverlay::new(kind, layer)?;
                        // With metacopy=on, the upper layer has no data to mount.
                        let used_layers =
                            if kind == OverlayLayout::Metacopy { 1 } else { real.len() };
                        for below in &real[..used_layers] {
                            used.begin(&mut stage, below)?;
                        }
                        file_and_loop_must_be_refused(&mut stage, used, &merged, &real)
                    },
                ));
            }
        }
    }
    states
}

/// Other ways in which a file appears in two places.
fn other_overlay_states() -> Vec<MatrixState> {
    vec![
        MatrixState::new("overlay in another mount namespace", || {
            let (mut stage, disk) = stage_with_tmpfs(&["lower", "upper", "work", "merged"])?;
            let image = disk.join("upper/image");
            fs::write(&image, ext4()?).unwrap();
            let at = disk.display();
            let script = format!(
                "mount -t overlay -o lowerdir={at}/lower,upperdir={at}/upper,workdir={at}/work \
                 overlay {at}/merged && exec 3<{at}/merged/image && flock 3 && echo && \
                 exec sleep 900"
            );
            stage.run_in_another_namespace(&script)?;
            let kept = std::slice::from_ref(&image);
            file_and_loop_must_be_refused(&mut stage, StackedUse::Locked, &image, kept)
        }),
        MatrixState::new("layer by another hard link", || {
            let MountedOverlay { mut stage, merged, real } =
                MountedOverlay::new(OverlayLayout::Plain, LayerSet::Upper)?;
            let hard = stage.at("disk/hard");
            fs::hard_link(&real[0], &hard).unwrap();
            StackedUse::Locked.begin(&mut stage, &merged)?;
            file_and_loop_must_be_refused(&mut stage, StackedUse::Locked, &hard, &real)
        }),
        MatrixState::new("layer by a bind mount", || {
            let MountedOverlay { mut stage, merged, real } =
                MountedOverlay::new(OverlayLayout::Plain, LayerSet::Upper)?;
            let bound = stage.at("bound");
            fs::write(&bound, "").unwrap();
            stage.bind_mount(&real[0], &bound)?;
            StackedUse::MountedLoop.begin(&mut stage, &merged)?;
            file_and_loop_must_be_refused(&mut stage, StackedUse::MountedLoop, &bound, &real)
        }),
        MatrixState::new("overlay that is covered", || {
            let _lock = exclusive_arming_lock();
            let MountedOverlay { mut stage, merged, real } =
                MountedOverlay::new(OverlayLayout::Plain, LayerSet::Upper)?;
            StackedUse::MountedLoop.begin(&mut stage, &merged)?;
            let point = merged.parent().unwrap().to_owned();
            mount_with(&mut stage, "tmpfs", "size=1m", &point)?;
            file_and_loop_must_be_refused(&mut stage, StackedUse::MountedLoop, &real[0], &real)
        }),
        MatrixState::new("layer that is covered", || {
            let _lock = exclusive_arming_lock();
            let MountedOverlay { mut stage, merged, real } =
                MountedOverlay::new(OverlayLayout::Plain, LayerSet::Upper)?;
            StackedUse::MountedLoop.begin(&mut stage, &real[0])?;
            let device = stage.attach(&merged, &[])?;
            let upper = real[0].parent().unwrap().to_owned();
            mount_with(&mut stage, "tmpfs", "size=1m", &upper)?;
            must_be_refused(&merged, &merged, usize::MAX);
            must_be_refused(&device, &merged, usize::MAX);
            Ok(())
        }),
        MatrixState::new("two overlays of one layer", || {
            let MountedOverlay { mut stage, merged, real } =
                MountedOverlay::new(OverlayLayout::Plain, LayerSet::Lower)?;
            let disk = stage.at("disk");
            let at = disk.display();
            create_directories(&disk, &["up2", "work2"]);
            let options = format!("lowerdir={at}/lower,upperdir={at}/up2,workdir={at}/work2");
            mount_with(&mut stage, "overlay", &options, &disk.join("second"))?;
            StackedUse::MountedLoop.begin(&mut stage, &merged)?;
            let second = disk.join("second/image");
            file_and_loop_must_be_refused(&mut stage, StackedUse::MountedLoop, &second, &real)
        }),
        MatrixState::new("overlay with data-only layers", || {
            let (mut stage, disk) = stage_with_tmpfs(&["meta", "data"])?;
            let data = disk.join("data/content");
            fs::write(&data, ext4()?).unwrap();
            let meta = disk.join("meta/image");
            File::create(&meta).unwrap().set_len(IMAGE_LENGTH).unwrap();
            set_attribute(&meta, "trusted.overlay.metacopy", b"")?;
            set_attribute(&meta, "trusted.overlay.redirect", b"/content")?;
            let at = disk.display();
            let options = format!("metacopy=on,lowerdir={at}/meta::{at}/data");
            mount_with(&mut stage, "overlay", &options, &disk.join("merged"))?;
            StackedUse::MountedLoop.begin(&mut stage, &disk.join("merged/image"))?;
            for named in [&data, &meta] {
                let kept = std::slice::from_ref(&data);
                file_and_loop_must_be_refused(&mut stage, StackedUse::MountedLoop, named, kept)?;
            }
            Ok(())
        }),
        MatrixState::new("overlay with a relative path of a layer", || {
            let _lock = exclusive_arming_lock();
            let (mut stage, disk) = stage_with_tmpfs(&["lower", "upper", "work", "merged"])?;
            let image = disk.join("upper/image");
            fs::write(&image, ext4()?).unwrap();
            let script = format!(
                "cd {} && mount -t overlay -o lowerdir=lower,upperdir=upper,workdir=work overlay \
                 merged",
                disk.display()
            );
            run("sh", &["-c", &script])?;
            stage.undo_with(&["umount", "--lazy"], &disk.join("merged"));
            must_be_refused(&disk.join("merged/image"), &image, usize::MAX);
            StackedUse::Locked.begin(&mut stage, &disk.join("merged/image"))?;
            let kept = std::slice::from_ref(&image);
            file_and_loop_must_be_refused(&mut stage, StackedUse::Locked, &image, kept)
        }),
    ]
}

fn set_attribute(path: &Path, name: &str, value: &[u8]) -> BuildResult<()> {
    let set = setxattr(path, name, value, XattrFlags::empty());
    set.map_err(|error| std::io::Error::from(error).to_string())
}

/// Mounts a directory through bindfs.
fn mount_bindfs() -> BuildResult<(StateFixture, PathBuf, PathBuf)> {
    let mut stage = StateFixture::new()?;
    let (source, point) = (stage.at("source"), stage.at("fuse"));
    fs::create_dir(&source).unwrap();
    fs::create_dir(&point).unwrap();
    fs::write(source.join("image"), ext4()?).unwrap();
    run("bindfs", &[source.to_str().unwrap(), point.to_str().unwrap()])?;
    stage.undo_with(&["umount", "--lazy"], &point);
    Ok((stage, source.join("image"), point.join("image")))
}

/// Mounts an image through a FUSE server.
fn mount_fuse2fs(options: &str) -> BuildResult<(StateFixture, PathBuf)> {
    let mut stage = StateFixture::new()?;
    let (image, point) = (stage.image(), stage.at("fuse"));
    fs::create_dir(&point).unwrap();
    run("fuse2fs", &[image.to_str().unwrap(), point.to_str().unwrap(), "-o", options])?;
    stage.undo_with(&["umount"], &point);
    Ok((stage, image))
}

fn fuse_states() -> Vec<MatrixState> {
    let mut states = Vec::new();
    for used in OVERLAY_USES {
        states.push(MatrixState::new(format!("FUSE {used:?} above"), move || {
            let _lock = exclusive_arming_lock();
            let (mut stage, source, above) = mount_bindfs()?;
            used.begin(&mut stage, &above)?;
            file_and_loop_must_be_refused(&mut stage, used, &source, std::slice::from_ref(&source))
        }));
        states.push(MatrixState::new(format!("FUSE {used:?} below"), move || {
            let _lock = exclusive_arming_lock();
            let (mut stage, source, above) = mount_bindfs()?;
            used.begin(&mut stage, &source)?;
            file_and_loop_must_be_refused(&mut stage, used, &above, std::slice::from_ref(&source))
        }));
    }
    for options in ["ro", "rw"] {
        states.push(MatrixState::new(format!("image served by fuse2fs {options}"), move || {
            let (mut stage, image) = mount_fuse2fs(options)?;
            // The server may write after the boot block.
            must_be_refused(&image, &image, 1024);
            let device = stage.attach(&image, &[])?;
            must_be_refused(&device, &image, 1024);
            Ok(())
        }));
    }
    states.push(MatrixState::new("existing file on FUSE", || {
        let (_stage, source, above) = mount_bindfs()?;
        must_be_refused(&above, &source, usize::MAX);
        Ok(())
    }));
    states
}

/// Swap files that the path in /proc/swaps does not refer to.
fn swap_states() -> Vec<MatrixState> {
    vec![
        MatrixState::new("swap file below another mount, with a decoy", || {
            let _lock = exclusive_arming_lock();
            let (mut stage, swap) = stage_with_swap()?;
            stage.swap(&swap)?;
            let device = stage.attach(&swap, &[])?;
            let bound = stage.at("bound");
            let directory = swap.parent().unwrap().to_owned();
            fs::create_dir(&bound).unwrap();
            stage.bind_mount(&directory, &bound)?;
            mount_with(&mut stage, "tmpfs", "size=8m", &directory)?;
            fs::write(&swap, ext4()?).unwrap();
            must_be_refused(&device, &bound.join("swap"), 4096);
            must_be_refused(&bound.join("swap"), &bound.join("swap"), 4096);
            let second = stage.attach(&bound.join("swap"), &[])?;
            must_be_refused(&second, &bound.join("swap"), 4096);
            // The decoy is not a swap file, and a loop device on it is not in use.
            drop(try_arming(&swap).unwrap());
            let decoy = stage.attach(&swap, &[])?;
            drop(try_arming(&decoy).unwrap());
            // `swapoff` finds the file by its name.
            uncover(&mut stage)
        }),
        MatrixState::new("swap file of another mount namespace, with a decoy", || {
            let _lock = exclusive_arming_lock();
            let (mut stage, swap) = stage_with_swap()?;
            let directory = swap.parent().unwrap().to_owned();
            let hidden = stage.at("hidden");
            fs::create_dir(&hidden).unwrap();
            let swapped = hidden.join("swap");
            fs::copy(&swap, &swapped).unwrap();
            fs::set_permissions(&swapped, fs::Permissions::from_mode(0o600)).unwrap();
            run("mkswap", &[swapped.to_str().unwrap()])?;
            let (from, to) = (hidden.display(), directory.display());
            let script =
                format!("mount --bind {from} {to} && swapon {to}/swap && echo && exec sleep 900");
            stage.run_in_another_namespace(&script)?;
            stage.undo_with(&["swapoff"], &swapped);
            let device = stage.attach(&swapped, &[])?;
            must_be_refused(&device, &swapped, 4096);
            must_be_refused(&swapped, &swapped, 4096);
            drop(try_arming(&swap).unwrap());
            Ok(())
        }),
    ]
}

/// Creates a stage with `directory/swap`.
fn stage_with_swap() -> BuildResult<(StateFixture, PathBuf)> {
    let stage = StateFixture::new()?;
    fs::create_dir(stage.at("directory")).unwrap();
    let swap = stage.at("directory/swap");
    fs::write(&swap, ext4()?).unwrap();
    Ok((stage, swap))
}

/// Unmounts everything that covers a swap file.
fn uncover(stage: &mut StateFixture) -> BuildResult<()> {
    while stage.undo.len() > 1 {
        stage.undo.pop();
    }
    Ok(())
}

/// A disk with a mounted file system of 48 MiB on its first partition and a free second partition.
struct PartitionedDisk {
    stage: StateFixture,
    device: PathBuf,
    point: PathBuf,
}

impl PartitionedDisk {
    fn new() -> BuildResult<PartitionedDisk> {
        let mut stage = StateFixture::new()?;
        let image = stage.at("disk");
        File::create(&image).unwrap().set_len(64 * MIB).unwrap();
        let device = stage.attach(&image, &["--partscan"])?;
        for (number, start, sectors) in [(1, 2048, 98_304), (2, 100_352, 4096)] {
            // Another program may open the new device briefly.
            retry(40, || add_partition(&device, number, start, sectors))?;
        }
        let (first, point) = (part(&device, 1), stage.at("first"));
        run("mkfs.ext4", &["-q", "-F", first.to_str().unwrap()])?;
        fs::create_dir(&point).unwrap();
        run("mount", &[first.to_str().unwrap(), point.to_str().unwrap()])?;
        stage.undo_with(&["umount", "--lazy"], &point);
        Ok(PartitionedDisk { stage, device, point })
    }

    fn free_partition(&self) -> PathBuf {
        part(&self.device, 2)
    }

    /// Tries to arm the free partition while a path must be kept.
    fn try_arming(&self, keep: &Path) -> Result<Target, ArmRefusal> {
        arm_confirmed(&inspected(&self.free_partition()), &[keep.to_owned()])
    }

    /// Returns the result of arming the free partition in a program with another root directory.
    fn try_arming_in(&self, root: &Path) -> BuildResult<String> {
        let program = root.join("armer");
        fs::write(&program, "").unwrap();
        let exe = std::env::current_exe().unwrap();
        let mut script = format!("mount --bind {} {}\n", exe.display(), program.display());
        for name in ["usr", "bin", "sbin", "lib", "lib64", "proc", "sys", "dev"] {
            let (from, to) = (Path::new("/").join(name), root.join(name));
            if !from.exists() || from.is_symlink() {
                if from.is_symlink() && !to.is_symlink() {
                    let _ = symlink(fs::read_link(&from).unwrap(), &to);
                }
                continue;
            }
            fs::create_dir_all(&to).unwrap();
            script.push_str(&format!("mount --rbind {} {}\n", from.display(), to.display()));
        }
        script.push_str(&format!(
            "exec chroot {} /armer --exact matrix::stacks::a_partition_is_tried_in_another_root \
             --nocapture 2>&1",
            root.display()
        ));
        let output = Command::new("unshare")
            .args(["--mount", "sh", "-e", "-c", &script])
            .env(FREE_DEVICE_VARIABLE, self.free_partition())
            .stdin(Stdio::null())
            .output()
            .map_err(|error| error.to_string())?;
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        if stdout.contains("ARMED") || stdout.contains("REFUSED") {
            Ok(stdout)
        } else {
            Err(format!("{stdout} {}", String::from_utf8_lossy(&output.stderr)))
        }
    }

    fn must_be_refused_in(&self, root: &Path) -> BuildResult<()> {
        let output = self.try_arming_in(root)?;
        assert!(output.contains("REFUSED"), "{output}");
        let is_named = output.contains("lies on the disk") || output.contains("unknown disk");
        assert!(is_named, "{output}");
        Ok(())
    }
}

/// Environment variable with the device to arm in another root.
const FREE_DEVICE_VARIABLE: &str = "STEADFAST_TEST_FREE_DEVICE";

/// Part of a state that runs in another root directory; does nothing without the variable.
#[test]
fn a_partition_is_tried_in_another_root() {
    let Some(path) = std::env::var_os(FREE_DEVICE_VARIABLE) else { return };
    match try_arming(Path::new(&path)) {
        Ok(_) => print_note("ARMED"),
        Err(refusal) => print_note(&format!("REFUSED: {refusal}")),
    }
}

/// Roots and run directories whose disk is hidden by the file systems stacked on it.
fn root_states() -> Vec<MatrixState> {
    vec![
        MatrixState::new("root: overlay with its upper layer on the disk", || {
            let _lock = exclusive_arming_lock();
            let mut disk = PartitionedDisk::new()?;
            create_directories(&disk.point, &["upper", "work", "lower"]);
            let (at, root) = (disk.point.display().to_string(), disk.stage.at("root"));
            let options = format!("lowerdir=/,upperdir={at}/upper,workdir={at}/work");
            mount_with(&mut disk.stage, "overlay", &options, &root)?;
            disk.must_be_refused_in(&root)
        }),
        MatrixState::new("root: overlay of memory over squashfs over a file on the disk", || {
            let _lock = exclusive_arming_lock();
            let mut disk = PartitionedDisk::new()?;
            let (tree, image) = (disk.stage.at("tree"), disk.point.join("squash"));
            fs::create_dir(&tree).unwrap();
            fs::write(tree.join("file"), "x").unwrap();
            let paths = [tree.to_str().unwrap(), image.to_str().unwrap()];
            run("mksquashfs", &[paths[0], paths[1], "-quiet", "-no-progress"])?;
            let over = disk.stage.attach(&image, &["--read-only"])?;
            let squash = disk.stage.at("squash");
            fs::create_dir(&squash).unwrap();
            run("mount", &["-t", "squashfs", over.to_str().unwrap(), squash.to_str().unwrap()])?;
            disk.stage.undo_with(&["umount", "--lazy"], &squash);
            let memory = disk.stage.at("memory");
            mount_with(&mut disk.stage, "tmpfs", "size=8m", &memory)?;
            create_directories(&memory, &["upper", "work"]);
            let (at, root) = (memory.display(), disk.stage.at("root"));
            let below = squash.display();
            let options = format!("lowerdir={below},upperdir={at}/upper,workdir={at}/work");
            mount_with(&mut disk.stage, "overlay", &options, &root)?;
            disk.must_be_refused_in(&root)
        }),
        MatrixState::new("root: a directory below the mount point", || {
            let _lock = exclusive_arming_lock();
            let disk = PartitionedDisk::new()?;
            let root = disk.point.join("sub/root");
            fs::create_dir_all(&root).unwrap();
            disk.must_be_refused_in(&root)
        }),
        MatrixState::new("run directory on an overlay", || {
            let _lock = exclusive_arming_lock();
            let mut disk = PartitionedDisk::new()?;
            create_directories(&disk.point, &["upper", "work", "lower"]);
            let (at, merged) = (disk.point.display().to_string(), disk.stage.at("merged"));
            let options = format!("lowerdir={at}/lower,upperdir={at}/upper,workdir={at}/work");
            mount_with(&mut disk.stage, "overlay", &options, &merged)?;
            let refusal = disk.try_arming(&merged.join("run/1")).unwrap_err();
            assert!(matches!(refusal, ArmRefusal::HoldsKept { .. }), "{refusal}");
            Ok(())
        }),
        MatrixState::new("run directory on FUSE", || {
            let _lock = exclusive_arming_lock();
            let mut disk = PartitionedDisk::new()?;
            let point = disk.stage.at("fuse");
            fs::create_dir(&point).unwrap();
            run("bindfs", &[disk.point.to_str().unwrap(), point.to_str().unwrap()])?;
            disk.stage.undo_with(&["umount", "--lazy"], &point);
            let refusal = disk.try_arming(&point.join("run/1")).unwrap_err().to_string();
            assert!(refusal.contains("does not show the disks below it"), "{refusal}");
            Ok(())
        }),
    ]
}

pub(super) fn states() -> Vec<MatrixState> {
    let mut states = overlay_states();
    states.extend(other_overlay_states());
    states.extend(fuse_states());
    states.extend(swap_states());
    states.extend(root_states());
    states
}

fn must_be_armed(path: &Path) {
    let target = try_arming(path).unwrap_or_else(|refusal| panic!("{}: {refusal}", path.display()));
    fill(&target, 0x5a);
}

/// Files next to an overlay or a FUSE file system, or with only one name there.
fn free_states() -> Vec<MatrixState> {
    let mut states = Vec::new();
    for kind in KINDS {
        for layer in [LayerSet::Upper, LayerSet::Lower, LayerSet::Both] {
            states.push(MatrixState::new(format!("free {kind:?} {layer:?}"), move || {
                let MountedOverlay { mut stage, merged, .. } = MountedOverlay::new(kind, layer)?;
                let disk = stage.at("disk");
                // Next to the layers, on their file system and on another one.
                for path in [disk.join("neighbor"), stage.at("neighbor")] {
                    fs::write(&path, ext4()?).unwrap();
                    must_be_armed(&path);
                    let device = stage.attach(&path, &[])?;
                    must_be_armed(&device);
                }
                create_scratch(&merged.with_file_name("scratch"), Bytes(MIB)).unwrap();
                must_be_armed(&merged.with_file_name("scratch"));
                must_be_armed(&merged);
                let device = stage.attach(&merged, &[])?;
                must_be_armed(&device);
                Ok(())
            }));
        }
    }
    states.push(MatrixState::new("free: a file on FUSE that this process creates", || {
        let (stage, source, above) = mount_bindfs()?;
        let scratch = above.with_file_name("scratch");
        create_scratch(&scratch, Bytes(MIB)).unwrap();
        must_be_armed(&scratch);
        // Next to it, and the source of a file that is not open.
        must_be_armed(&source);
        must_be_armed(&stage.image());
        Ok(())
    }));
    states.push(MatrixState::new("free: run directory on an overlay of another disk", || {
        let disk = PartitionedDisk::new()?;
        let overlay = MountedOverlay::new(OverlayLayout::Plain, LayerSet::Upper)?;
        disk.try_arming(overlay.merged.parent().unwrap()).unwrap();
        Ok(())
    }));
    states
}

#[test]
fn what_is_next_to_a_stack_is_armed() {
    if !can_attach() {
        return;
    }
    let states = free_states();
    let all = states.len();
    let MatrixOutcomes { passed: armed, failed, skipped } = check_states(states);
    skipped.iter().for_each(|state| skip(state));
    assert!(failed.is_empty(), "{failed:#?}");
    assert_eq!(armed + skipped.len(), all);
}
