//! Common parts of this crate's benches: targets in memory, an engine on them, and pinning to a
//! processor.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use std::{fs, io};
use steadfast_domain::{Bytes, Transport};
use steadfast_engine::StopSignal;
use steadfast_engine::native::{Backend, Native, NativeOptions};
use steadfast_host::{Consent, SystemRoots, Target, arm, inspect};

/// Size of every target.
pub const SIZE: Bytes = Bytes::gib(1);

pub type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

fn armed(path: &Path) -> Fallible<Target> {
    let roots = SystemRoots::real();
    let device = inspect(path, &roots)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let is_file = device.transport == Transport::File;
    let confirmation = if is_file { name } else { device.confirmation().to_owned() };
    let consent = Consent::Destroy { confirmation: Some(confirmation) };
    Ok(arm(&device, &consent, &[], &roots)?)
}

pub fn new_engine(path: &Path, backend: Option<Backend>) -> Fallible<Native> {
    let options = NativeOptions { backend, ..NativeOptions::default() };
    Ok(Native::new(armed(path)?, StopSignal::default(), options)?)
}

/// Binds this thread, and all threads that it starts, to the last processor or to all processors.
pub fn pin(pinned: bool) -> Fallible<()> {
    let count = std::thread::available_parallelism()?.get().max(last_processor() + 1);
    // SAFETY: all-zero is an empty set; the set is valid for both calls.
    let bound = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        (0..count)
            .filter(|cpu| !pinned || *cpu == last_processor())
            .for_each(|cpu| libc::CPU_SET(cpu, &mut set));
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set)
    };
    if bound == 0 { Ok(()) } else { Err(io::Error::last_os_error().into()) }
}

fn last_processor() -> usize {
    // SAFETY: reads one number.
    let online = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    usize::try_from(online).unwrap_or(1).saturating_sub(1)
}

/// A file in its own tmpfs.
pub struct MemoryFile {
    pub path: PathBuf,
    directory: tempfile::TempDir,
}

impl MemoryFile {
    pub fn new() -> Fallible<MemoryFile> {
        let directory = tempfile::tempdir()?;
        command("mount", &["-t", "tmpfs", "none", &directory.path().to_string_lossy()])?;
        let path = directory.path().join("file");
        fs::File::create(&path)?.set_len(SIZE.0)?;
        Ok(MemoryFile { path, directory })
    }
}

impl Drop for MemoryFile {
    fn drop(&mut self) {
        let place = self.directory.path().to_string_lossy().into_owned();
        let _ = command("umount", &["--lazy", &place]);
    }
}

/// A loop device on a file.
pub struct LoopDevice {
    pub path: PathBuf,
}

impl LoopDevice {
    pub fn new(file: &Path) -> Fallible<LoopDevice> {
        Self::attach(&[], file)
    }

    /// Attaches a device whose I/Os pass by the page cache.
    pub fn with_direct_io(file: &Path) -> Fallible<LoopDevice> {
        Self::attach(&["--direct-io=on"], file)
    }

    fn attach(options: &[&str], file: &Path) -> Fallible<LoopDevice> {
        let name = file.to_string_lossy();
        let arguments = [&["--find", "--show"], options, &[name.as_ref()]].concat();
        let device = command("losetup", &arguments)?;
        Ok(LoopDevice { path: PathBuf::from(device.trim()) })
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let _ = command("losetup", &["--detach", &self.path.to_string_lossy()]);
    }
}

/// A compressed block device in memory.
pub struct Zram {
    number: String,
    pub path: PathBuf,
}

impl Zram {
    pub fn new() -> Fallible<Zram> {
        let number = fs::read_to_string("/sys/class/zram-control/hot_add")?.trim().to_owned();
        fs::write(format!("/sys/block/zram{number}/disksize"), SIZE.0.to_string())?;
        Ok(Zram { path: PathBuf::from(format!("/dev/zram{number}")), number })
    }
}

impl Drop for Zram {
    /// The kernel tears fio's rings down in the background, and they hold the device for a while.
    fn drop(&mut self) {
        for _ in 0..100 {
            let reset = fs::write(format!("/sys/block/zram{}/reset", self.number), "1");
            if reset
                .and_then(|()| fs::write("/sys/class/zram-control/hot_remove", &self.number))
                .is_ok()
            {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        println!("zram{} is still in use; remove it by hand", self.number);
    }
}

pub fn command(program: &str, arguments: &[&str]) -> Fallible<String> {
    let output = Command::new(program).args(arguments).output()?;
    if !output.status.success() {
        return Err(format!("{program}: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}
