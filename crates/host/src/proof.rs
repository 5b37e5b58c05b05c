//! Proof that a device is the one on which a run started. It is read from an open handle, because
//! the handle, and not the path that led to it, is what gets written.

use crate::backing::LoopStatus;
use crate::device_number::decode_dev;
use crate::error::HostError;
use crate::handles::{handle_path, open_for_reading, open_path};
use crate::scratch_mark::ScratchMark;
use crate::sysfs_node::SysfsNode;
use crate::system_roots::{SystemRoots, read_text};
use crate::target::Target;
use std::fs::{self, File, Metadata};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::time::UNIX_EPOCH;
use steadfast_domain::Device;
use steadfast_domain::proof::{DirectoryProof, FileProof, Proof};

/// Returns the proof of a device's identity. Opens the device for reading, but reads no data.
///
/// # Errors
/// The device cannot be opened.
pub fn proof(device: &Device, roots: &SystemRoots) -> Result<Proof, HostError> {
    let path = Path::new(&device.path);
    let failed = |e| HostError::io("open it for reading", path, e);
    // The open must not block if a pipe has replaced the file.
    proof_of(&open_for_reading(path).map_err(failed)?, roots).map_err(failed)
}

/// Returns the proof of a directory's identity; `None` if the directory cannot be opened or the
/// kernel does not report it.
pub fn directory_proof(path: &Path) -> Option<DirectoryProof> {
    let file = open_path(path, libc::O_DIRECTORY).ok()?;
    let path = fs::read_link(handle_path(&file)).ok()?;
    let path = path.to_string_lossy().into_owned();
    Some(DirectoryProof { path, file: file_proof(&file.metadata().ok()?) })
}

impl Target {
    /// Returns the proof of the device's identity; `None` if the handle's metadata cannot be read.
    pub fn proof(&self, roots: &SystemRoots) -> Option<Proof> {
        proof_of(self.file(), roots).ok()
    }
}

fn proof_of(file: &File, roots: &SystemRoots) -> std::io::Result<Proof> {
    let metadata = file.metadata()?;
    let proof = Proof {
        machine: read_text(&roots.etc.join("machine-id")),
        boot: roots.boot_id(),
        ..Proof::default()
    };
    Ok(if metadata.file_type().is_block_device() {
        with_block(proof, file, &metadata, roots)
    } else {
        Proof { file: Some(file_proof(&metadata)), mark: mark(file, &metadata), ..proof }
    })
}

fn with_block(proof: Proof, file: &File, metadata: &Metadata, roots: &SystemRoots) -> Proof {
    let node = SysfsNode::from_dev(metadata.rdev(), roots);
    let whole = node.as_ref().map(SysfsNode::whole);
    let status =
        whole.as_ref().filter(|whole| whole.is_loop()).and_then(|_| LoopStatus::read(file).ok());
    Proof {
        number: Some(number(metadata.rdev())),
        sequence: whole.as_ref().and_then(|whole| whole.number("diskseq")),
        start: node.as_ref().filter(|n| n.partition().is_some()).and_then(|n| n.number("start")),
        window: status.as_ref().map(|status| (status.offset, status.size_limit)),
        file: status.zip(whole.as_ref()).and_then(|(status, whole)| file_behind(&status, whole)),
        below: whole.as_ref().map(disks_below).unwrap_or_default(),
        ..proof
    }
}

fn number(device: u64) -> String {
    decode_dev(device).to_string()
}

fn file_proof(metadata: &Metadata) -> FileProof {
    let born = metadata.created().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    FileProof {
        device: number(metadata.dev()),
        inode: metadata.ino(),
        born: born.and_then(|since| u64::try_from(since.as_nanos()).ok()),
    }
}

/// Returns the disks below a mapped device, each with an identifier, sorted.
fn disks_below(node: &SysfsNode) -> Vec<String> {
    // A list that cannot be read yields no proof here; arming refuses the device.
    let below = node.slaves().unwrap_or_default();
    let mut names: Vec<String> = below.iter().flat_map(identifiers_below).collect();
    names.sort();
    names.dedup();
    names
}

/// Returns the identifiers of the disks below a device, or its own if there are none.
fn identifiers_below(node: &SysfsNode) -> Vec<String> {
    let below = disks_below(node);
    if !below.is_empty() {
        return below;
    }
    let whole = node.whole();
    let attributes = ["wwid", "device/wwid", "device/serial", "serial", "diskseq"];
    let name = attributes.iter().find_map(|name| Some(format!("{name} {}", whole.text(name)?)));
    let start = node.text("start").filter(|_| node.partition().is_some());
    vec![[name.unwrap_or_else(|| node.name.clone()), start.unwrap_or_default()].join(" ")]
}

/// Returns the nonce in a scratch file's mark; `None` if the mark does not match the file.
fn mark(file: &File, metadata: &Metadata) -> Option<String> {
    ScratchMark::read(file).filter(|mark| mark.misfit(metadata).is_none()).map(|mark| mark.nonce)
}

/// Returns the proof of a loop device's backing file; `None` if that is a block device, whose
/// number may change with every boot. The path from the kernel is used only to look up the file's
/// creation time.
fn file_behind(status: &LoopStatus, whole: &SysfsNode) -> Option<FileProof> {
    if status.node_of != 0 {
        return None;
    }
    let device = number(status.device);
    let file_at_path = whole.backing_file().and_then(|path| fs::metadata(path).ok());
    let file_at_path = file_at_path.map(|metadata| file_proof(&metadata));
    let is_it = |file: &FileProof| file.device == device && file.inode == status.inode;
    let born = file_at_path.filter(is_it).and_then(|file| file.born);
    Some(FileProof { device, inode: status.inode, born })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::machine::MachineFixture;

    #[test]
    fn a_file_is_known_whatever_path_leads_to_it() {
        let directory = tempfile::tempdir().unwrap();
        let [one, link, copy] = ["one", "link", "copy"].map(|name| directory.path().join(name));
        fs::write(&one, [0; 4096]).unwrap();
        fs::hard_link(&one, &link).unwrap();
        fs::copy(&one, &copy).unwrap();
        let roots = SystemRoots::real();
        let of = |path: &Path| proof(&crate::inspect(path, &roots).unwrap(), &roots).unwrap();
        let device = crate::inspect(&one, &roots).unwrap();
        assert_eq!(of(&one), of(&link));
        assert!(!of(&one).differences(&of(&copy), &device).is_empty());
    }

    /// A device with the same name on other disks is another device.
    #[test]
    fn a_mapped_device_is_known_by_the_disks_below_it() {
        let (machine, disk) = MachineFixture::with_nvme(1000);
        let part = machine.partition(&disk, "nvme0n1p1", "259:91", 100);
        machine.set(&part, "start", "2048");
        let other = machine.nvme(1, 1, 1000);
        let upper = machine.block("virtual/block/dm-0", "252:0", 100);
        machine.stack(&upper, &part);
        let before = disks_below(&machine.node("dm-0"));
        assert_eq!(before, ["wwid eui.0025385800000001 2048"]);
        machine.stack(&upper, &other);
        assert_ne!(disks_below(&upper), before);
    }
}
