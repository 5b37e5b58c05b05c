//! Common parts of this crate's benches: targets in memory, an engine and fio on them, pinning to a
//! processor, and medians.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use std::{fs, io};
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::stimulus::{ActiveRange, LoadLimits};
use steadfast_domain::{Bytes, Demand, Load, Measurement, Step, StepPlace, Stimulus, Transport};
use steadfast_engine::native::{Backend, Native, NativeOptions};
use steadfast_engine::{Engine, StepStart, StopSignal};
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

/// Returns a load of one thread over the whole target.
pub fn stimulus(pattern: &str, depth: u32, until: LoadLimits) -> Fallible<Stimulus> {
    let streams = pattern.parse::<AccessPattern>()?.streams();
    Ok(Stimulus::new(streams, ActiveRange::new(Bytes(0), SIZE), Demand::new(1, depth), until))
}

pub fn perform(engine: &mut Native, name: &str, load: impl Into<Load>) -> Fallible<Measurement> {
    let step = Step::alone(StepPlace::new("bench", 0, 1, name), load);
    Ok(engine.perform(&step, &StepStart::default(), &mut |_| {})?)
}

/// Writes the whole target.
pub fn fill(path: &Path) -> Fallible<()> {
    let writes = stimulus("SEQ 128K W", 4, LoadLimits::bytes(SIZE))?;
    perform(&mut new_engine(path, None)?, "fill", writes)?;
    Ok(())
}

/// Runs fio on the target with further options; returns its report on the job.
pub fn run_fio(path: &Path, seconds: u64, options: &[String]) -> Fallible<serde_json::Value> {
    let output = Command::new("fio")
        .args(["--name=bench", "--bs=4k", "--norandommap=1", "--randrepeat=0"])
        .args(["--thread", "--direct=1", "--time_based", "--invalidate=0"])
        .args(["--output-format=json", &format!("--runtime={seconds}")])
        .args([format!("--size={}", SIZE.0), format!("--filename={}", path.display())])
        .args(options)
        .output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    let report: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    Ok(report["jobs"][0].clone())
}

/// Returns a number of fio's report.
pub fn number(value: &serde_json::Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

/// Runs both programs, in an order that alternates from pair to pair.
pub fn run_pair<R>(
    pair: usize,
    ours: impl FnOnce() -> Fallible<R>,
    theirs: impl FnOnce() -> Fallible<R>,
) -> Fallible<(R, R)> {
    if pair.is_multiple_of(2) {
        let ours = ours()?;
        Ok((ours, theirs()?))
    } else {
        let theirs = theirs()?;
        Ok((ours()?, theirs))
    }
}

pub fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

pub fn median(values: impl Iterator<Item = f64>) -> f64 {
    let sorted = sorted(values);
    sorted[sorted.len() / 2]
}

/// Returns the value of a command-line option, if it is given.
pub fn argument(option: &str) -> Option<String> {
    std::env::args().skip_while(|argument| argument != option).nth(1)
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
        let _ = command("umount", &["--lazy", &self.directory.path().to_string_lossy()]);
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
