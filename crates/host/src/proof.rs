//! Proof that a device is the one on which a run started. It is read from an open handle, because
//! the handle, and not the path that led to it, is what gets written.

use crate::backing::LoopStatus;
use crate::error::HostError;
use crate::scratch_mark::ScratchMark;
use crate::sysfs_node::SysfsNode;
use crate::system_roots::{SystemRoots, read_text};
use crate::target::Target;
use std::fs::{self, File, Metadata, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};
use steadfast_domain::proof::{DirectoryProof, FileProof, Proof};
use steadfast_domain::{Device, Nanos};

/// Returns the proof of a device's identity. Opens the device for reading, but reads no data.
///
/// # Errors
/// The device cannot be opened.
pub fn proof(device: &Device, roots: &SystemRoots) -> Result<Proof, HostError> {
    let path = Path::new(&device.path);
    let failed = |e| HostError::io("open it for reading", path, e);
    let mut options = OpenOptions::new();
    // The open must not block if a pipe has replaced the file.
    options.read(true).custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC);
    proof_of(&options.open(path).map_err(failed)?, roots).map_err(failed)
}

/// Returns the proof of a directory's identity; `None` if the directory cannot be opened or the
/// kernel does not report it.
pub fn directory_proof(path: &Path) -> Option<DirectoryProof> {
    let flags = libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
    let path = fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()?;
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
        boot: boot_id(roots),
        ..Proof::default()
    };
    Ok(if metadata.file_type().is_block_device() {
        with_block(proof, file, &metadata, roots)
    } else {
        Proof { file: Some(file_proof(&metadata)), mark: mark(file, &metadata), ..proof }
    })
}

/// Returns the kernel's boot ID.
fn boot_id(roots: &SystemRoots) -> Option<String> {
    read_text(&roots.proc.join("sys/kernel/random/boot_id"))
}

fn with_block(proof: Proof, file: &File, metadata: &Metadata, roots: &SystemRoots) -> Proof {
    let node = SysfsNode::from_device_number(metadata.rdev(), roots);
    let whole = node.as_ref().map(SysfsNode::whole);
    let status =
        whole.as_ref().filter(|whole| whole.is_loop()).and_then(|_| LoopStatus::read(file).ok());
    Proof {
        number: Some(number(metadata.rdev())),
        sequence: whole.as_ref().and_then(|whole| whole.number("diskseq")),
        start: node
            .as_ref()
            .filter(|n| n.partition().is_some())
            .and_then(|node| node.number("start")),
        window: status.as_ref().map(|status| (status.offset, status.size_limit)),
        file: status.zip(whole.as_ref()).and_then(|(status, whole)| file_behind(&status, whole)),
        below: whole.as_ref().map(disks_below).unwrap_or_default(),
        ..proof
    }
}

fn number(device: u64) -> String {
    format!("{}:{}", libc::major(device), libc::minor(device))
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
    let mut all: Vec<String> = below.iter().flat_map(named_below).collect();
    all.sort();
    all.dedup();
    all
}

fn named_below(node: &SysfsNode) -> Vec<String> {
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
    let there = whole.backing_file().and_then(|path| fs::metadata(path).ok());
    let there = there.map(|metadata| file_proof(&metadata));
    let is_it = |file: &FileProof| file.device == device && file.inode == status.inode;
    let born = there.filter(is_it).and_then(|file| file.born);
    Some(FileProof { device, inode: status.inode, born })
}

/// Returns the wall-clock time in milliseconds since 1970 (UTC).
pub fn wall_clock_unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Returns the time since boot, including time in suspend; `None` if the clock cannot be read.
pub fn since_boot() -> Option<Nanos> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` outlives the call.
    if unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, &mut time) } != 0 {
        return None;
    }
    let seconds = u64::try_from(time.tv_sec).ok()?;
    Some(Nanos(seconds.checked_mul(1_000_000_000)? + u64::try_from(time.tv_nsec).ok()?))
}

/// Checks that this process may read the monotonic and the wall clock: a seccomp filter can forbid
/// it.
///
/// # Errors
/// Returns the kernel's error of the first clock that cannot be read.
pub fn check_clocks() -> std::io::Result<()> {
    for clock in [libc::CLOCK_MONOTONIC, libc::CLOCK_REALTIME] {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `time` outlives the call.
        if unsafe { libc::clock_gettime(clock, &mut time) } != 0 {
            return Err(std::io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Returns the time of `CLOCK_MONOTONIC`, which is the same for all threads of the host.
pub fn monotonic() -> Nanos {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` outlives the call; this clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// Sleeps until a time of [`monotonic`]. Returns how late the thread woke up.
pub fn wait_until(then: Nanos) -> Nanos {
    loop {
        let now = monotonic();
        if now >= then {
            return now.saturating_sub(then);
        }
        std::thread::sleep(then.saturating_sub(now).to_duration());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sysfs_node::SysfsNode;
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
        let machine = MachineFixture::new();
        let disk = machine.nvme(0, 1, 1000);
        let part = machine.partition(&disk, "nvme0n1p1", "259:91", 100);
        machine.set(&part, "start", "2048");
        let other = machine.nvme(1, 1, 1000);
        let upper = machine.block("virtual/block/dm-0", "252:0", 100);
        machine.stack(&upper, &part);
        let before = disks_below(&SysfsNode::from_name("dm-0", &machine.roots).unwrap());
        assert_eq!(before, ["wwid eui.0025385800000001 2048"]);
        machine.stack(&upper, &other);
        assert_ne!(disks_below(&upper), before);
    }

    #[test]
    fn the_time_since_the_start_goes_forward() {
        let first = since_boot().unwrap();
        assert!(since_boot().unwrap() >= first && first > Nanos::ZERO);
    }
}
