//! The files that a guest starts from: a root disk with the programs and their libraries, and an
//! initial root just large enough to find that disk.

use crate::kernel::Kernel;
use crate::process::{find, output};
use anyhow::Context;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Programs that the guests' scripts call, in addition to busybox.
const PROGRAMS: [&str; 21] = [
    "blkdiscard", "blkid", "blkparse", "blktrace", "dmsetup", "fio", "hdparm", "losetup",
    "mkfs.btrfs", "mkfs.ext4", "mkfs.xfs", "nvme", "sg_format", "sg_inq", "sg_modes", "sg_opcodes",
    "sg_requests", "sg_sanitize", "sg_turs", "smartctl", "wipefs",
];

/// Modules needed to mount the root disk, and those of drives that the cloud kernels have built in.
const FIRST_MODULES: [&str; 5] = ["virtio_pci", "virtio_blk", "crc32c_generic", "ext4", "nvme"];

/// Modules that scripts may load.
const MODULES: [&str; 18] = [
    "ata_piix", "bfq", "btrfs", "configfs", "dm_delay", "dm_flakey", "dm_mod", "loop", "null_blk",
    "nvme_tcp", "nvmet_tcp", "overlay", "scsi_debug", "sd_mod", "sg", "virtio_net", "vmw_pvscsi",
    "xfs",
];

/// Mount points, and directories that programs expect.
const DIRECTORIES: [&str; 9] = ["bin", "dev", "etc", "lab", "out", "proc", "run", "sys", "tmp"];

/// Size of the root disk beyond its files, in MiB, for the file system's own use.
const FILE_SYSTEM_MIB: u64 = 32;

/// The files that every guest of a kernel starts from.
#[derive(Debug, Clone)]
pub struct GuestRoot {
    pub kernel: Kernel,
    /// Image of the root disk.
    pub disk: PathBuf,
    /// Archive of the initial root.
    pub first: PathBuf,
}

impl GuestRoot {
    /// Builds both in `directory`, with the program under test and the guests' scripts, given by
    /// name and content.
    pub fn build(
        kernel: Kernel,
        program: &Path,
        scripts: &[(&str, &str)],
        directory: &Path,
    ) -> anyhow::Result<GuestRoot> {
        let tree = directory.join("root");
        let _ = fs::remove_dir_all(&tree);
        for name in DIRECTORIES {
            fs::create_dir_all(tree.join(name))?;
        }
        add_busybox(&tree)?;
        let stripped = tree.join("bin/steadfast");
        output(Command::new("strip").arg("-o").args([&stripped, program]))
            .with_context(|| format!("{}: build steadfast first", program.display()))?;
        let mut programs = vec![stripped];
        for name in PROGRAMS {
            let from = find(name)?;
            copy_into(&tree, &from, &Path::new("/bin").join(name))?;
            programs.push(from);
        }
        for library in libraries(&programs)? {
            copy_into(&tree, &library, &library)?;
        }
        for (from, to) in kernel.module_files(&[&FIRST_MODULES[..], &MODULES].concat())? {
            copy_into(&tree, &from, &to)?;
        }
        fs::write(tree.join("lab/begin"), include_str!("begin.sh"))?;
        for (name, script) in scripts {
            fs::write(tree.join("lab").join(name), script)?;
        }
        let disk = directory.join("root.img");
        make_disk(&tree, &disk)?;
        fs::remove_dir_all(&tree)?;
        let first = directory.join("first.cpio");
        pack_first(&kernel, &tree, &first)?;
        fs::remove_dir_all(&tree)?;
        Ok(GuestRoot { kernel, disk, first })
    }
}

/// Adds busybox under each of its names, except those with a program of their own.
fn add_busybox(tree: &Path) -> anyhow::Result<()> {
    let busybox = find("busybox")?;
    copy_into(tree, &busybox, Path::new("/bin/busybox"))?;
    let names = output(Command::new(&busybox).arg("--list"))?;
    for name in names.lines().filter(|name| *name != "busybox" && !PROGRAMS.contains(name)) {
        std::os::unix::fs::symlink("busybox", tree.join("bin").join(name))?;
    }
    Ok(())
}

fn copy_into(tree: &Path, from: &Path, to: &Path) -> anyhow::Result<()> {
    let to = tree.join(to.strip_prefix("/").unwrap_or(to));
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::copy(from, &to).with_context(|| format!("cannot copy {}", from.display()))?;
    Ok(())
}

/// Returns every library that the programs are linked with, and the loader.
fn libraries(programs: &[PathBuf]) -> anyhow::Result<BTreeSet<PathBuf>> {
    let mut libraries = BTreeSet::new();
    for program in programs {
        libraries.extend(parse_ldd(&output(Command::new("ldd").arg(program))?));
    }
    Ok(libraries)
}

/// Parses the paths in ldd's output: `name => /path (address)` or `/path (address)`.
fn parse_ldd(text: &str) -> impl Iterator<Item = PathBuf> {
    text.lines().filter_map(|line| {
        let place = line.split_once("=>").map_or(line, |(_, place)| place);
        let path = place.split_whitespace().next()?;
        path.starts_with('/').then(|| PathBuf::from(path))
    })
}

/// Makes a file system from a directory, without mounting anything.
fn make_disk(tree: &Path, disk: &Path) -> anyhow::Result<()> {
    let used = output(Command::new("du").args(["-sm", "--apparent-size"]).arg(tree))?;
    let used: u64 = used.split_whitespace().next().unwrap_or_default().parse()?;
    let size = (used + used / 16 + FILE_SYSTEM_MIB) << 20;
    let _ = fs::remove_file(disk);
    File::create(disk)?.set_len(size)?;
    let options = ["-q", "-F", "-O", "^has_journal", "-m", "0", "-d"];
    output(Command::new(find("mkfs.ext4")?).args(options).args([tree, disk]))?;
    Ok(())
}

/// Packs the initial root: busybox, the modules for the root disk, and the script that loads them.
fn pack_first(kernel: &Kernel, tree: &Path, file: &Path) -> anyhow::Result<()> {
    for directory in ["bin", "dev", "proc", "sys", "root"] {
        fs::create_dir_all(tree.join(directory))?;
    }
    let busybox = find("busybox")?;
    copy_into(tree, &busybox, Path::new("/bin/busybox"))?;
    fs::write(tree.join("init"), include_bytes!("first.sh"))?;
    fs::set_permissions(tree.join("init"), fs::Permissions::from_mode(0o755))?;
    for (from, to) in kernel.module_files(&FIRST_MODULES)? {
        copy_into(tree, &from, &to)?;
    }
    let pack = "find . | \"$0\" cpio -o -H newc >\"$1\"";
    let mut shell = Command::new(&busybox);
    shell.args(["sh", "-c", pack]).arg(&busybox).arg(std::path::absolute(file)?);
    output(shell.current_dir(tree))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_and_the_loader_are_read_from_ldd() {
        let text = "\tlinux-vdso.so.1 (0x00007f)\n\tlibm.so.6 => /lib/libm.so.6 (0x00007f)\n\
                    \t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n\tlibgone.so => not found\n\
                    \tstatically linked\n";
        let found: Vec<_> = parse_ldd(text).collect();
        assert_eq!(found, ["/lib/libm.so.6", "/lib64/ld-linux-x86-64.so.2"].map(PathBuf::from));
    }
}
