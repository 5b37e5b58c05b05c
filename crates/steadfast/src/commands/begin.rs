//! The beginning of a run on one target, in the order in which it can be refused: what
//! was asked for, the target, the run directory.

use super::conduct::{FIO_DIRECTORY, wishes};
use crate::asked::{SOFTWARE, check_engine, settings};
use crate::cli::{EngineName, RunArguments};
use crate::exit::misuse;
use crate::target::{self, Course, Mover, Named};
use anyhow::bail;
use std::path::{Path, PathBuf};
use steadfast_domain::record::RECORD_VERSION;
use steadfast_domain::settings::Geometry;
use steadfast_domain::{Device, Settings, Step, Transport};
use steadfast_engine::Stop;
use steadfast_host::{Consent, Readers};
use steadfast_runner::real::wall_clock_unix_ms;
use steadfast_runner::{Ledger, Rig, RunSettings};

/// A run that nothing on the command line stands against. Nothing was touched.
pub struct Intent<'a> {
    arguments: &'a RunArguments,
    target: &'a str,
    foreseen: Device,
    /// Whether it is the only target.
    alone: bool,
    settings: Settings,
    readers: Readers,
}

/// A run whose target is armed. No file was made but a scratch file.
pub struct Armed {
    /// What is driven.
    pub rig: Box<dyn Rig>,
    /// What was decided.
    pub run: RunSettings,
    out: PathBuf,
    readers: Readers,
}

impl<'a> Intent<'a> {
    /// What the command line asks of the target `at` among those that it names.
    pub fn of(
        arguments: &'a RunArguments,
        foreseen: &[Device],
        at: usize,
        seed: u64,
    ) -> anyhow::Result<Intent<'a>> {
        let chosen = &arguments.procedure;
        let (target, device) = (chosen.target[at].as_str(), &foreseen[at]);
        let mut settings = settings(chosen, seed, device)?;
        settings.purge = arguments.purge;
        settings.purge_failed = arguments.purge_failed;
        let is_target = |name: &String| foreseen.iter().any(|device| name == device.confirmation());
        let others = arguments.yes_destroy.iter().filter(|name| !is_target(name));
        settings.also_destroyed = others.cloned().collect();
        // Everything that can be refused is refused before a file is made.
        steadfast_procedures::procedure(&settings, geometry(device), &[])?;
        check_engine(chosen.engine, device)?;
        if settings.sim_gap.is_some() && !device.is_simulated() {
            return Err(misuse(format!("{target}: --sim-gap is for simulated drives only")));
        }
        let readers = arguments.group.as_deref().map(Readers::of_group).transpose()?;
        if device.transport == Transport::File && !settings.purge.suits_a_file() {
            return Err(misuse(format!("{target}: for a file, use --purge auto, discard or none")));
        }
        Ok(Intent {
            arguments,
            target,
            foreseen: device.clone(),
            alone: foreseen.len() == 1,
            settings,
            readers: readers.unwrap_or_default(),
        })
    }

    /// The settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The device, as far as it is there yet.
    pub fn foreseen(&self) -> &Device {
        &self.foreseen
    }

    /// Arms the target for a run in the directory `out`. The disks of `keep` are never
    /// written to.
    pub fn arm(self, out: &Path, keep: &[PathBuf], stop: &Stop) -> anyhow::Result<Armed> {
        let chosen = &self.arguments.procedure;
        let named = target::find(self.target, chosen.size)?;
        let consent = Consent::Destroy { confirmation: self.confirmation(&named) };
        let mover = mover(chosen.engine, out);
        let course = Course::from(&self.settings);
        let mut rig = target::rig(&mover, &named, &consent, keep, course, stop)?;
        rig.wish(&wishes(&self.settings, out));
        rig.foresee_purge()?;
        let run = RunSettings {
            version: RECORD_VERSION,
            software: SOFTWARE.to_owned(),
            began_unix_ms: rig.now_unix_ms(),
            engine: engine_name(&named, &mover).to_owned(),
            device: rig.device().clone(),
            settings: self.settings,
        };
        let procedure = steadfast_procedures::procedure(&run.settings, run.geometry(), &[])?;
        let mut prepare = |step: &Step| rig.prepare(step);
        if let Some(why) = steadfast_runner::refusal(procedure.as_ref(), &mut prepare) {
            bail!("{}: {why}", self.target);
        }
        Ok(Armed { rig, run, out: out.to_owned(), readers: self.readers })
    }

    /// What the user said of this device, among all that they named.
    fn confirmation(&self, named: &Named) -> Option<String> {
        let given = &self.arguments.yes_destroy;
        let fits = |text: &&String| match named {
            Named::Simulated(_) => true,
            Named::Real(device) => names(text, device),
        };
        // What was said of another target is no mistake about this one.
        given.iter().find(fits).or(given.first().filter(|_| self.alone)).cloned()
    }
}

impl Armed {
    /// Makes the run directory.
    pub fn ledger(&self) -> anyhow::Result<Ledger> {
        Ok(Ledger::create_for(self.readers, &self.out, &self.run)?)
    }
}

/// Whether a user names this device by a text.
fn names(typed: &str, device: &Device) -> bool {
    let typed = typed.trim();
    let is_file_name = || {
        let name = Path::new(device.confirmation()).file_name();
        device.transport == Transport::File && name.is_some_and(|name| name == typed)
    };
    typed == device.confirmation() || is_file_name()
}

/// A directory that has no name yet: the procedure, what it is of, and the UTC time.
pub fn default_directory(procedure: &str, of: &str) -> PathBuf {
    let stamp = steadfast_report::date_stamp(wall_clock_unix_ms());
    PathBuf::from(format!("{procedure}-{of}-{stamp}"))
}

/// A device's name as the name of a file.
pub fn plain_name(device: &Device) -> String {
    let name = device.name.rsplit('/').next().unwrap_or_default();
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

/// A simulated run repeats itself; a real one draws a new seed each time.
pub fn default_seed(device: &Device) -> u64 {
    if device.is_simulated() { 1 } else { wall_clock_unix_ms() }
}

fn geometry(device: &Device) -> Geometry {
    Geometry { capacity: device.capacity, logical_sector: device.logical_sector }
}

fn engine_name(named: &Named, mover: &Mover) -> &'static str {
    match named {
        Named::Simulated(_) => "sim",
        Named::Real(_) => mover.name(),
    }
}

/// What moves the data of a run: fio keeps its files in the run directory.
fn mover(engine: Option<EngineName>, run_directory: &Path) -> Mover {
    match engine {
        Some(EngineName::Fio) => Mover::Fio(run_directory.join(FIO_DIRECTORY)),
        _ => Mover::Uring,
    }
}
