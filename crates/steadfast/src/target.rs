//! From what the user named to a rig.

use anyhow::{Context, anyhow, bail};
use std::path::{Path, PathBuf};
use steadfast_domain::settings::{Settings, SimGap};
use steadfast_domain::{Bytes, Device};
use steadfast_engine::Stop;
use steadfast_engine::fio::{Fio, FioOptions};
use steadfast_engine::sim::{DriveSpec, SimulatedSsd, drives};
use steadfast_engine::uring::{Uring, UringOptions};
use steadfast_host::{Consent, Roots};
use steadfast_runner::Rig;
use steadfast_runner::real::{RealRig, wall_clock_unix_ms};
use steadfast_runner::simulated::SimulatedRig;

/// What `sim:` begins.
const SIMULATED: &str = "sim:";

/// What the user named.
#[derive(Debug, Clone)]
pub enum Named {
    /// A simulated drive.
    Simulated(&'static DriveSpec),
    /// A block device or a file.
    Real(Box<Device>),
}

/// Finds what was named. A file that is not there is created when its size is given.
pub fn find(name: &str, size: Option<Bytes>) -> anyhow::Result<Named> {
    if let Some(drive) = name.strip_prefix(SIMULATED) {
        return simulated(drive).map(Named::Simulated);
    }
    let path = Path::new(name);
    if let Some(size) = size {
        check_size(name, size)?;
        steadfast_host::create_scratch(path, size)?;
    }
    Ok(Named::Real(Box::new(steadfast_host::inspect(path, &Roots::real())?)))
}

/// Finds what was named without creating anything: a file that is not there is
/// described as it would be.
pub fn foresee(name: &str, size: Option<Bytes>) -> anyhow::Result<Device> {
    match (name.strip_prefix(SIMULATED), size) {
        (Some(drive), _) => {
            Ok(SimulatedSsd::new(simulated(drive)?, 1, Stop::default()).device().clone())
        }
        (None, Some(size)) if !Path::new(name).exists() => {
            check_size(name, size)?;
            Ok(future_file(name, size))
        }
        _ => Ok(steadfast_host::inspect(Path::new(name), &Roots::real())?),
    }
}

/// A drive is a whole number of sectors.
fn check_size(name: &str, size: Bytes) -> anyhow::Result<()> {
    if size.0.is_multiple_of(512) {
        return Ok(());
    }
    bail!("{name}: a size of {} bytes is not a multiple of the sector size, 512", size.0)
}

fn future_file(name: &str, size: Bytes) -> Device {
    Device {
        path: name.to_owned(),
        name: name.to_owned(),
        transport: steadfast_domain::Transport::File,
        model: None,
        serial: None,
        firmware: None,
        wwid: None,
        capacity: size,
        logical_sector: 512,
        physical_sector: 4096,
        rotational: None,
        discard: false,
        write_cache: None,
        link: None,
        in_use: Vec::new(),
    }
}

fn simulated(drive: &str) -> anyhow::Result<&'static DriveSpec> {
    let Some(spec) = drives().iter().find(|spec| spec.name() == drive) else {
        let names: Vec<_> = drives().iter().map(|spec| format!("sim:{}", spec.name())).collect();
        bail!("there is no simulated drive '{drive}'; choose one of: {}", names.join(", "));
    };
    Ok(spec)
}

/// What moves the data of a real device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mover {
    /// Our own engine.
    Uring,
    /// fio, with the directory that keeps its job files and answers.
    Fio(PathBuf),
}

impl Mover {
    /// As records and `--engine` name it.
    pub fn name(&self) -> &'static str {
        match self {
            Mover::Uring => "uring",
            Mover::Fio(_) => "fio",
        }
    }
}

/// What decides about the course of things in virtual time.
#[derive(Debug, Clone, Copy)]
pub struct Course {
    /// Of everything random.
    pub seed: u64,
    /// Where nobody held the device.
    pub gap: Option<SimGap>,
}

impl Course {
    /// Without a gap.
    pub fn of(seed: u64) -> Self {
        Course { seed, gap: None }
    }
}

impl From<&Settings> for Course {
    fn from(settings: &Settings) -> Self {
        Course { seed: settings.seed, gap: settings.sim_gap }
    }
}

/// A rig on what was named, with this engine where it is real. `keep` is the
/// run directory, whose disk is never written to.
pub fn rig(
    mover: &Mover,
    named: &Named,
    consent: &Consent,
    keep: &[PathBuf],
    virtual_course: Course,
    stop: &Stop,
) -> anyhow::Result<Box<dyn Rig>> {
    let device = match named {
        Named::Simulated(spec) => {
            let ssd = SimulatedSsd::new(spec, virtual_course.seed, stop.clone());
            return Ok(Box::new(SimulatedRig::new(ssd, virtual_course.gap)));
        }
        Named::Real(device) => device,
    };
    let roots = Roots::real();
    let target = steadfast_host::arm(device, consent, keep, &roots)
        .map_err(|refusal| anyhow!("{refusal}; {}", refusal.remedy()))?;
    let unusable = || format!("{}: no engine can be started", device.path);
    match mover {
        Mover::Uring => {
            let engine = Uring::new(target, stop.clone(), UringOptions::default());
            let engine = engine.with_context(unusable)?;
            Ok(Box::new(RealRig::new(engine, roots, stop.clone())))
        }
        Mover::Fio(directory) => {
            let options = FioOptions::in_directory(directory);
            let engine = Fio::new(target, stop.clone(), options).with_context(unusable)?;
            Ok(Box::new(RealRig::new(engine, roots, stop.clone())))
        }
    }
}

/// Where fio keeps its files outside a run: in a directory of the user's, or in
/// one that goes again with this.
pub struct Kept {
    path: PathBuf,
    is_ours: bool,
}

impl Kept {
    /// `keep` is the user's directory.
    pub fn new(keep: Option<&Path>) -> anyhow::Result<Kept> {
        if let Some(path) = keep {
            return Ok(Kept { path: path.to_owned(), is_ours: false });
        }
        let stamp = wall_clock_unix_ms();
        let name = format!("steadfast-fio-{}-{stamp}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path).with_context(|| format!("{} cannot be made", path.display()))?;
        Ok(Kept { path, is_ours: true })
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        if self.is_ours {
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}

/// Requests a stop on Ctrl-C and on SIGTERM; a second one ends the process at once.
pub fn stop_on_signals() -> anyhow::Result<Stop> {
    let stop = Stop::default();
    for signal in [libc::SIGINT, libc::SIGTERM] {
        signal_hook::flag::register_conditional_default(signal, stop.flag())?;
        signal_hook::flag::register(signal, stop.flag())?;
    }
    Ok(stop)
}
