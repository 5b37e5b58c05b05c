//! An independent observer of the times at which I/Os are issued to a block device: the kernel's
//! tracepoint, with the time-stamp counter as its clock.

use crate::shared::{Fallible, command};
use std::fs;
use std::os::linux::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Trace buffer per processor, in kilobytes.
const ROOM: &str = "131072";

/// Observes a device from its creation on.
pub struct BlockObserver {
    mounted: tempfile::TempDir,
    instance: PathBuf,
    nanos_per_tick: f64,
}

impl BlockObserver {
    pub fn new(device: &Path) -> Fallible<BlockObserver> {
        let mounted = tempfile::tempdir()?;
        command("mount", &["-t", "tracefs", "none", &mounted.path().to_string_lossy()])?;
        let instance = mounted.path().join(format!("instances/bench-{}", std::process::id()));
        let observer = BlockObserver { mounted, instance, nanos_per_tick: nanos_per_tick() };
        fs::create_dir(&observer.instance)?;
        let number = fs::metadata(device)?.st_rdev();
        // The kernel's device number, not that of libc.
        let number = u64::from(libc::major(number)) << 20 | u64::from(libc::minor(number));
        observer.set("trace_clock", "x86-tsc")?;
        observer.set("buffer_size_kb", ROOM)?;
        observer.set("events/block/block_rq_issue/filter", &format!("dev == {number}"))?;
        observer.set("events/block/block_rq_issue/enable", "1")?;
        Ok(observer)
    }

    fn set(&self, file: &str, value: &str) -> Fallible<()> {
        let path = self.instance.join(file);
        fs::write(&path, value).map_err(|error| format!("{}: {error}", path.display()).into())
    }

    /// Clears the recorded events.
    pub fn forget(&self) -> Fallible<()> {
        self.set("trace", "")
    }

    /// Returns when 4 KiB I/Os were issued since the last call of `forget`, in order, in
    /// nanoseconds since the first.
    pub fn starts(&self) -> Fallible<Vec<f64>> {
        let text = fs::read_to_string(self.instance.join("trace"))?;
        let lines = text.lines().filter(|line| line.contains(" + 8 "));
        let ticks = lines.map(|line| {
            let (before, _) = line.split_once(": block_rq_issue:").ok_or("another event")?;
            let ticks = before.rsplit(' ').next().unwrap_or_default();
            Ok(ticks.parse::<u64>().map_err(|_| format!("no ticks: {line}"))?)
        });
        let mut ticks = ticks.collect::<Fallible<Vec<u64>>>()?;
        ticks.sort_unstable();
        let first = ticks.first().copied().unwrap_or(0);
        Ok(ticks.iter().map(|at| (at - first) as f64 * self.nanos_per_tick).collect())
    }
}

impl Drop for BlockObserver {
    fn drop(&mut self) {
        let _ = self.set("events/enable", "0");
        let _ = fs::remove_dir(&self.instance);
        let _ = command("umount", &["--lazy", &self.mounted.path().to_string_lossy()]);
    }
}

#[cfg(target_arch = "x86_64")]
fn nanos_per_tick() -> f64 {
    // SAFETY: every x86-64 processor has this instruction.
    let counter = || unsafe { std::arch::x86_64::_rdtsc() };
    let (begun, ticks) = (Instant::now(), counter());
    std::thread::sleep(Duration::from_millis(500));
    let passed = counter() - ticks;
    begun.elapsed().as_nanos() as f64 / passed as f64
}

#[cfg(not(target_arch = "x86_64"))]
fn nanos_per_tick() -> f64 {
    compile_error!("this bench reads the clock of x86-64 processors")
}
