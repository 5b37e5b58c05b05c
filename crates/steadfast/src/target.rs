//! Targets of the command line: finds or creates them, and opens a rig.

use crate::exit::misuse;
use anyhow::{Context, anyhow, bail};
use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use steadfast_domain::settings::{Settings, SimGap};
use steadfast_domain::{Bytes, Device, suggestion};
use steadfast_engine::StopSignal;
use steadfast_engine::fio::{Fio, FioOptions};
use steadfast_engine::native::{Native, NativeOptions};
use steadfast_engine::sim::{DriveSpec, SimulatedSsd, drives};
use steadfast_host::{Consent, Directory, ReadAccess, SystemRoots};
use steadfast_runner::Rig;
use steadfast_runner::real_rig::{DeviceRig, wall_clock_unix_ms};
use steadfast_runner::simulated_rig::SimulatedRig;

pub use crate::signals::stop_on_signals;

/// Prefix of simulated drives.
const SIMULATED: &str = "sim:";

/// A target that the user named.
#[derive(Debug, Clone)]
pub enum TargetRef {
    /// A simulated drive.
    Simulated(&'static DriveSpec),
    /// A block device or a file.
    Real(Box<Device>),
}

/// Finds a target to overwrite. A missing file is created if its size is given,
/// and a scratch file is resized to that size.
pub fn find(name: &str, size: Option<Bytes>) -> anyhow::Result<TargetRef> {
    let path = Path::new(name);
    match size {
        _ if name.starts_with(SIMULATED) => refuse_size(name, size)?,
        Some(size) => {
            check_size(name, size)?;
            if names_device(path) && matches!(path.try_exists(), Ok(false)) {
                return Err(misuse(format!(
                    "{name} does not exist, and no file is created in /dev; omit --size and name \
                     a device that `steadfast devices` lists"
                )));
            }
            steadfast_host::create_scratch(path, size)?;
        }
        None => refuse_missing(path)?,
    }
    existing(name)
}

/// Finds an existing target.
pub fn existing(name: &str) -> anyhow::Result<TargetRef> {
    if let Some(drive) = name.strip_prefix(SIMULATED) {
        return simulated(drive).map(TargetRef::Simulated);
    }
    Ok(TargetRef::Real(Box::new(steadfast_host::inspect(Path::new(name), &SystemRoots::real())?)))
}

/// Refuses a missing file; a missing device is reported elsewhere.
fn refuse_missing(path: &Path) -> anyhow::Result<()> {
    if matches!(path.try_exists(), Ok(false)) && !names_device(path) {
        let path = path.display().to_string();
        return Err(MissingTargetFile { path, size_option: "--size" }.into());
    }
    Ok(())
}

/// Returns true for a path at which only device nodes are expected.
fn names_device(path: &Path) -> bool {
    path.starts_with("/dev") && !path.starts_with("/dev/shm")
}

/// Error for a missing target file without a size to create it with.
#[derive(Debug, Clone)]
pub struct MissingTargetFile {
    /// Path of the file.
    pub path: String,
    /// Option that gives the size of the target file.
    pub size_option: &'static str,
}

impl std::fmt::Display for MissingTargetFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let MissingTargetFile { path, size_option } = self;
        write!(f, "{path}: no such file; give {size_option} to create it")
    }
}

impl std::error::Error for MissingTargetFile {}

/// Minimum size of a target.
pub const TARGET_SIZE_MIN: Bytes = Bytes::mib(64);

/// Finds a target for a load that only reads. Creates and changes nothing.
pub fn find_to_read(name: &str, size: Option<Bytes>, load: &str) -> anyhow::Result<TargetRef> {
    if let Some(drive) = name.strip_prefix(SIMULATED) {
        refuse_size(name, size)?;
        return simulated(drive).map(TargetRef::Simulated);
    }
    size.map_or(Ok(()), |size| check_size(name, size))?;
    let path = Path::new(name);
    if !path.exists() && !names_device(path) {
        bail!(
            "{name} does not exist, and {load} only reads; create the file first with: \
             steadfast measure \"SEQ 128K W\" --target {name} --size {}",
            match size {
                None => "4GiB".to_owned(),
                Some(TARGET_SIZE_MIN) => "64MiB (the smallest that suits every test)".to_owned(),
                Some(size) if size.0.is_multiple_of(1 << 20) => format!("{}MiB", size.0 >> 20),
                Some(size) => format!("{}B", size.0),
            }
        );
    }
    let device = steadfast_host::inspect(path, &SystemRoots::real())?;
    if let Some(size) = size.filter(|size| *size != device.capacity) {
        bail!(
            "{name} has {} bytes, not the {} of --size, and {load} only reads, which changes no \
             size; omit --size",
            device.capacity.0,
            size.0
        );
    }
    Ok(TargetRef::Real(Box::new(device)))
}

/// Describes a target without creating it: a missing file is described as it would be.
pub fn foresee(name: &str, size: Option<Bytes>) -> anyhow::Result<Device> {
    match (name.strip_prefix(SIMULATED), size) {
        (Some(drive), _) => {
            refuse_size(name, size)?;
            Ok(SimulatedSsd::new(simulated(drive)?, 1, StopSignal::default()).device().clone())
        }
        (None, Some(size)) if !Path::new(name).exists() => {
            check_size(name, size)?;
            Ok(future_file(name, size))
        }
        _ => {
            let path = Path::new(name);
            refuse_missing(path)?;
            Ok(steadfast_host::inspect(path, &SystemRoots::real())?)
        }
    }
}

/// Refuses a size of a simulated drive.
fn refuse_size(name: &str, size: Option<Bytes>) -> anyhow::Result<()> {
    if size.is_some() {
        return Err(misuse(format!("{name} has a size of its own; omit the option for its size")));
    }
    Ok(())
}

/// Refuses a size that is no multiple of the sector size.
fn check_size(name: &str, size: Bytes) -> anyhow::Result<()> {
    if size.0.is_multiple_of(512) {
        return Ok(());
    }
    Err(misuse(format!(
        "{name}: a size of {} bytes is not a multiple of the sector size, 512",
        size.0
    )))
}

fn future_file(name: &str, size: Bytes) -> Device {
    Device { physical_sector: 4096, ..Device::new(name, steadfast_domain::Transport::File, size) }
}

fn simulated(drive: &str) -> anyhow::Result<&'static DriveSpec> {
    let Some(spec) = drives().iter().find(|spec| spec.name == drive) else {
        let names: Vec<_> =
            drives().iter().map(|spec| format!("{SIMULATED}{}", spec.name)).collect();
        let given = format!("{SIMULATED}{drive}");
        return Err(misuse(format!(
            "there is no simulated drive '{drive}'{}; choose one of: {}",
            suggestion(&given, names.iter().map(String::as_str)),
            names.join(", ")
        )));
    };
    Ok(spec)
}

/// Engine for a real device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EngineChoice {
    /// Our own engine.
    Uring,
    /// fio, with the directory of its job files and results.
    Fio(PathBuf),
    /// fio, with the same directory; writes may be followed by flushes if only their rate is measured.
    FioCommitRates(PathBuf),
}

impl EngineChoice {
    /// Returns the name in records and for `--engine`.
    pub fn name(&self) -> &'static str {
        match self {
            EngineChoice::Uring => "uring",
            EngineChoice::Fio(_) | EngineChoice::FioCommitRates(_) => "fio",
        }
    }
}

/// Options of a simulated run.
#[derive(Debug, Clone, Copy)]
pub struct SimulationOptions {
    /// Seed of all random values.
    pub seed: u64,
    /// Simulated gap, in which the run did not hold the device.
    pub gap: Option<SimGap>,
}

impl SimulationOptions {
    /// Returns options without a gap.
    pub fn with_seed(seed: u64) -> Self {
        SimulationOptions { seed, gap: None }
    }
}

impl From<&Settings> for SimulationOptions {
    fn from(settings: &Settings) -> Self {
        SimulationOptions { seed: settings.seed, gap: settings.sim_gap }
    }
}

/// Opens a rig on a target. `engine` is used for a real target; a simulated one is its own engine.
/// Never writes to the disks that hold the paths in `keep`.
pub fn rig(
    engine: &EngineChoice,
    target: &TargetRef,
    consent: &Consent,
    keep: &[PathBuf],
    simulation: SimulationOptions,
    stop: &StopSignal,
) -> anyhow::Result<Box<dyn Rig>> {
    let device = match target {
        TargetRef::Simulated(spec) => {
            let ssd = SimulatedSsd::new(spec, simulation.seed, stop.clone());
            return Ok(Box::new(SimulatedRig::new(ssd, simulation.gap)));
        }
        TargetRef::Real(device) => device,
    };
    let roots = SystemRoots::real();
    let target = steadfast_host::arm(device, consent, keep, &roots)
        .map_err(|refusal| anyhow!("{refusal}; {}", refusal.remedy()))?;
    let unusable = || format!("{}: no engine can be started", device.path);
    match engine {
        EngineChoice::Uring => {
            let engine = Native::new(target, stop.clone(), NativeOptions::default());
            let engine = engine.with_context(unusable)?;
            Ok(Box::new(DeviceRig::new(engine, roots, stop.clone())))
        }
        EngineChoice::Fio(directory) | EngineChoice::FioCommitRates(directory) => {
            let commit_rates = matches!(engine, EngineChoice::FioCommitRates(_));
            let options = FioOptions { commit_rates, ..FioOptions::in_directory(directory) };
            let engine = Fio::new(target, stop.clone(), options).with_context(unusable)?;
            Ok(Box::new(DeviceRig::new(engine, roots, stop.clone())))
        }
    }
}

/// Directory of fio's files outside a run: the user's, or a temporary one that is removed on drop.
pub struct FioDirectory {
    path: PathBuf,
    /// Temporary directory, locked while the process lives; `None` for the user's.
    temporary: Option<Directory>,
}

/// Prefix of the names of temporary directories.
const TEMPORARY_PREFIX: &str = "steadfast-fio-";

/// Age above which an unlocked temporary directory counts as left by a killed process.
const ABANDONED_AGE: Duration = Duration::from_secs(60);

impl FioDirectory {
    /// Uses the directory `keep` of the user, or creates a temporary one.
    pub fn new(keep: Option<&Path>) -> anyhow::Result<FioDirectory> {
        if let Some(path) = keep {
            return Ok(FioDirectory { path: path.to_owned(), temporary: None });
        }
        let above = std::env::temp_dir();
        let name = format!("{TEMPORARY_PREFIX}{}-{}", std::process::id(), wall_clock_unix_ms());
        let path = above.join(&name);
        Directory::check_place(&path)?;
        let above = Directory::open(&above)?;
        remove_left_behind(&above);
        let made = above.make_new(OsStr::new(&name), ReadAccess::Owner)?;
        made.try_lock();
        Ok(FioDirectory { path, temporary: Some(made) })
    }

    /// Returns the path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for FioDirectory {
    fn drop(&mut self) {
        if self.temporary.is_some() {
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}

/// Returns true for a name that [`FioDirectory::new`] creates: process ID and milliseconds since
/// 1970.
fn is_temporary_name(name: &OsStr) -> bool {
    let has_digits = |text: &str, least: usize| {
        text.len() >= least && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    let numbers =
        name.to_str().and_then(|name| name.strip_prefix(TEMPORARY_PREFIX)?.split_once('-'));
    numbers.is_some_and(|(process, at)| has_digits(process, 1) && has_digits(at, 13))
}

/// Removes temporary directories that killed processes of this user left.
fn remove_left_behind(above: &Directory) {
    for name in above.names().unwrap_or_default() {
        if !is_temporary_name(&name) {
            continue;
        }
        let Ok(left) = above.enter(&name) else { continue };
        let Ok(found) = left.metadata() else { continue };
        // SAFETY: geteuid has no preconditions and cannot fail.
        let is_own = found.uid() == unsafe { libc::geteuid() } && found.mode() & 0o777 == 0o700;
        let age = found.modified().ok().and_then(|modified| modified.elapsed().ok());
        if is_own && age.is_some_and(|age| age > ABANDONED_AGE) && left.try_lock() {
            let _ = std::fs::remove_dir_all(left.path());
        }
    }
}
