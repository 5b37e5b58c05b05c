//! Starts a run on one target: validates the settings, arms the target, creates the run directory.

use super::conduct::{FIO_DIRECTORY, ProcedureRun, host_requests};
use super::power_cuts;
use crate::cli::EngineName;
use crate::exit::{ExitState, misuse};
use crate::hosts;
use crate::output_files::read_access;
use crate::prometheus::MetricsExporter;
use crate::run_settings::{SOFTWARE, check_engine};
use crate::target::{self, EngineChoice, SimulationOptions, TargetRef};
use crate::terminal;
use anyhow::bail;
use std::path::{Path, PathBuf};
use steadfast_domain::settings::{Geometry, HostList};
use steadfast_domain::{Bytes, Device, Procedure, Sequence, Settings, Step, Transport};
use steadfast_engine::StopSignal;
use steadfast_host::{AmbientSensor, Consent, HostsConsent, ReadAccess, SystemRoots};
use steadfast_runner::real_rig::wall_clock_unix_ms;
use steadfast_runner::{Ledger, Rig, RunPlan, plain_name, refuse_taken};

/// Name of the engine that runs on other hosts.
const FIO: &str = "fio";

/// Inputs of a run other than its settings.
#[derive(Clone, Copy)]
pub struct RunRequest<'a> {
    /// Target as the user named it.
    pub target: &'a str,
    /// Size of a file to create; `None` if the target exists or needs none.
    pub size: Option<Bytes>,
    /// I/O engine; `None` for the default.
    pub engine: Option<EngineName>,
    /// Run directory; `None` to name it after procedure, device and time.
    pub out: Option<&'a Path>,
    /// Confirmations of `--yes-destroy`.
    pub yes_destroy: &'a [String],
    /// Group of users that may read the run directory.
    pub group: Option<&'a str>,
    /// True to print the findings as JSON.
    pub json: bool,
    /// True to print every step if no terminal shows the run.
    pub verbose: bool,
    /// File for metrics during the run.
    pub prometheus: Option<&'a Path>,
}

/// A run that the command line asks for.
pub struct RequestedRun<'a> {
    pub request: RunRequest<'a>,
    pub settings: Settings,
}

/// A run that finished or halted.
pub struct FinishedRun {
    pub state: ExitState,
    pub directory: PathBuf,
    /// True if the user stopped it.
    pub was_stopped: bool,
}

/// A run whose command line is valid. Nothing was touched yet.
pub struct RunIntent<'a> {
    request: RunRequest<'a>,
    /// True if the command line names no other target.
    is_only_target: bool,
    settings: Settings,
    /// Procedure for the device as described before arming.
    procedure: Box<dyn Procedure>,
    foreseen: Geometry,
    readers: ReadAccess,
}

/// A run whose target is armed. No file was created except a scratch file.
pub struct ArmedRun {
    /// Access to the armed device.
    pub rig: Box<dyn Rig>,
    /// Settings, device and purge of the run.
    pub plan: RunPlan,
    /// Procedure for the armed device.
    pub procedure: Box<dyn Procedure>,
    out: PathBuf,
    readers: ReadAccess,
}

impl<'a> RunRequest<'a> {
    /// Starts a run of these settings and conducts it.
    pub fn conduct(&self, settings: Settings, foreseen: &Device) -> anyhow::Result<FinishedRun> {
        let default = || default_directory(&settings, &plain_name(foreseen));
        let out = self.out.map_or_else(default, Path::to_owned);
        let intent = self.intent(settings, std::slice::from_ref(foreseen), 0)?;
        refuse_taken(&out)?;
        let metrics = MetricsExporter::open(self.prometheus, self.group)?;
        let stop = target::stop_on_signals()?;
        let keep = power_cuts::kept_paths(&out, &intent.settings);
        power_cuts::check_target(&intent.settings, foreseen, &out)?;
        let mut armed = intent.arm(&out, &keep, &stop)?;
        let ledger = armed.ledger()?;
        let settings = &armed.plan.settings;
        let seed = settings.seed;
        terminal::status(&format!("Run directory: {} (seed {seed})", out.display()));
        let conduct = ProcedureRun {
            procedure: armed.procedure.as_ref(),
            name: &settings.procedure,
            directory: &out,
            json: self.json,
            verbose: self.verbose,
            metrics: metrics.as_ref(),
        };
        let state = conduct.conduct_and_report(armed.rig.as_mut(), ledger, &[], &stop)?;
        Ok(FinishedRun { state, directory: out, was_stopped: stop.is_requested() })
    }

    /// Validates a run of these settings on `devices[at]`.
    pub fn intent(
        &self,
        mut settings: Settings,
        foreseen: &[Device],
        at: usize,
    ) -> anyhow::Result<RunIntent<'a>> {
        let is_target = |name: &String| foreseen.iter().any(|device| names(name, device));
        let others = self.yes_destroy.iter().filter(|name| !is_target(name));
        refuse_ambiguous(self.yes_destroy, foreseen)?;
        // Hosts share one device: it is confirmed alone, once per host.
        if settings.hosts.is_none() {
            settings.also_destroyed = others.cloned().collect();
        }
        // All checks come before a file is created.
        let geometry = geometry(&foreseen[at]);
        let procedure = steadfast_procedures::procedure(&settings, geometry, &[])?;
        self.refuse(&settings, &foreseen[at])?;
        let readers = read_access(self.group)?;
        Ok(RunIntent {
            request: *self,
            is_only_target: foreseen.len() == 1,
            settings,
            procedure,
            foreseen: geometry,
            readers,
        })
    }

    /// Refuses settings and targets that cannot be combined.
    fn refuse(&self, settings: &Settings, foreseen: &Device) -> anyhow::Result<()> {
        match &settings.hosts {
            Some(_) => hosts::check_engine(self.engine)?,
            None => check_engine(self.engine, foreseen)?,
        }
        if settings.sim_gap.is_some() && !foreseen.is_simulated() {
            return Err(misuse(format!("{}: --sim-gap is for simulated drives only", self.target)));
        }
        if settings.power_command.is_some() && foreseen.is_simulated() {
            return Err(misuse(format!(
                "{}: a simulated drive draws no power; omit --power-command",
                self.target
            )));
        }
        if let Some(sensor) = &settings.ambient_sensor {
            if foreseen.is_simulated() || settings.hosts.is_some() {
                return Err(misuse(format!(
                    "{}: --ambient-sensor reads a sensor of this host, which is not where the \
                     device is; give the temperature with --ambient",
                    self.target
                )));
            }
            let found = AmbientSensor::find(sensor, &SystemRoots::real());
            found.map_err(|why| misuse(format!("--ambient-sensor {sensor}: {why}")))?;
        }
        if settings.start_below.is_some()
            && (foreseen.transport == Transport::File || settings.hosts.is_some())
        {
            return Err(misuse(format!(
                "{}: a file and a device of other hosts report no temperature here; omit \
                 --start-below",
                self.target
            )));
        }
        if settings.purge_command.is_some() && settings.hosts.is_some() {
            return Err(misuse("--purge-command: a device of several hosts takes no command"));
        }
        if foreseen.transport == Transport::File && !settings.purge.suits_a_file() {
            return Err(misuse(format!(
                "{}: for a file, use --purge auto, discard or none",
                self.target
            )));
        }
        Ok(())
    }
}

impl RunIntent<'_> {
    /// Arms the target for a run in the directory `out`. Never writes to the disks that hold the
    /// paths in `keep`.
    pub fn arm(self, out: &Path, keep: &[PathBuf], stop: &StopSignal) -> anyhow::Result<ArmedRun> {
        let (mut rig, engine) = match self.settings.hosts.as_deref() {
            Some(list) => (self.rig_of_hosts(list, out, stop)?, FIO),
            None => self.rig_here(out, keep, stop)?,
        };
        rig.set_requests(&host_requests(&self.settings, out));
        if self.settings.start_below.is_some() && rig.temperature().is_none() {
            bail!(
                "{}: the device reports no temperature, which --start-below needs; nothing was \
                 written to it. Load the module drivetemp for a SATA drive, or omit --start-below",
                self.request.target
            );
        }
        if read_only_sequence(&self.settings).is_none() {
            rig.foresee_purge()?;
        }
        let plan =
            RunPlan::new(SOFTWARE, rig.now_unix_ms(), engine, rig.device().clone(), self.settings);
        let procedure = if plan.geometry() == self.foreseen {
            self.procedure
        } else {
            steadfast_procedures::procedure(&plan.settings, plan.geometry(), &[])?
        };
        let mut prepare = |step: &Step| rig.prepare(step);
        if let Some(why) = steadfast_runner::refusal(procedure.as_ref(), &mut prepare) {
            bail!("{}: {why}", self.request.target);
        }
        Ok(ArmedRun { rig, plan, procedure, out: out.to_owned(), readers: self.readers })
    }

    /// Opens a rig on a device of this host; returns it with the name of its engine.
    fn rig_here(
        &self,
        out: &Path,
        keep: &[PathBuf],
        stop: &StopSignal,
    ) -> anyhow::Result<(Box<dyn Rig>, &'static str)> {
        let (target, consent) = self.find_target()?;
        // fio keeps its files in the run directory.
        let engine = match self.request.engine {
            Some(EngineName::Fio) => EngineChoice::Fio(out.join(FIO_DIRECTORY)),
            _ => EngineChoice::Uring,
        };
        let simulation = SimulationOptions::from(&self.settings);
        let rig = target::rig(&engine, &target, &consent, keep, simulation, stop)?;
        let engine_name = match target {
            TargetRef::Simulated(_) => "sim",
            TargetRef::Real(_) => engine.name(),
        };
        Ok((rig, engine_name))
    }

    /// Opens a rig on a device that several hosts share.
    fn rig_of_hosts(
        &self,
        list: &HostList,
        out: &Path,
        stop: &StopSignal,
    ) -> anyhow::Result<Box<dyn Rig>> {
        let RunRequest { target, size, yes_destroy, .. } = self.request;
        let consent = match read_only_sequence(&self.settings) {
            Some(_) => HostsConsent::Read,
            None => HostsConsent::Named(yes_destroy),
        };
        hosts::rig(list, target, size, consent, &out.join(FIO_DIRECTORY), stop)
    }

    /// Finds the target and the user's consent to overwrite it.
    fn find_target(&self) -> anyhow::Result<(TargetRef, Consent)> {
        let RunRequest { target, size, .. } = self.request;
        if let Some(sequence) = read_only_sequence(&self.settings) {
            let named = target::find_to_read(target, size, &sequence.title)?;
            return Ok((named, Consent::Read));
        }
        let named = target::find(target, size)?;
        let confirmation = confirmation(self.request.yes_destroy, &named, self.is_only_target);
        Ok((named, Consent::Destroy { confirmation }))
    }
}

/// Returns the confirmation in `given` that names this device. For a single target (`is_only_target`),
/// returns the first confirmation even if it does not match, so that the mismatch is reported.
pub fn confirmation(given: &[String], target: &TargetRef, is_only_target: bool) -> Option<String> {
    let device = match target {
        TargetRef::Simulated(_) => return given.first().cloned(),
        TargetRef::Real(device) => device,
    };
    if given.iter().any(|typed| names_fully(typed, device)) {
        return Some(device.confirmation().to_owned());
    }
    let matching = given.iter().find(|typed| names(typed, device));
    // With several targets, a confirmation of another target is no error.
    if matching.is_none() && is_only_target { given.first().cloned() } else { matching.cloned() }
}

/// Refuses a confirmation that matches more than one device.
pub fn refuse_ambiguous(given: &[String], devices: &[Device]) -> anyhow::Result<()> {
    for typed in given {
        let is_named = |device: &&Device| {
            let has_own = given.iter().any(|other| other != typed && names_fully(other, device));
            !device.is_simulated() && names(typed, device) && !has_own
        };
        let named: Vec<&Device> = devices.iter().filter(is_named).collect();
        let times = given.iter().filter(|other| *other == typed).count();
        if named.len() > times {
            let mut options = Vec::new();
            for device in &named {
                let name = match (&device.transport, &device.serial) {
                    (Transport::File, _) | (_, None) => device.name.clone(),
                    (_, Some(serial)) => format!("{serial}@/dev/{}", device.name),
                };
                options.push(format!("--yes-destroy '{name}'"));
            }
            return Err(misuse(format!(
                "'{typed}' names {} targets and was given {} to confirm {}; no target was written \
                 to. Confirm each target separately: {}",
                named.len(),
                if times == 1 { "once".to_owned() } else { format!("{times} times") },
                if named.len() == 2 { "both" } else { "all of them" },
                options.join(" ")
            )));
        }
    }
    Ok(())
}

impl ArmedRun {
    /// Creates the run directory.
    pub fn ledger(&self) -> anyhow::Result<Ledger> {
        Ok(Ledger::create_for(self.readers, &self.out, &self.plan)?)
    }
}

/// Returns the sequence if it writes nothing. Such a run needs no consent, and the target may be
/// in use.
pub fn read_only_sequence(settings: &Settings) -> Option<&Sequence> {
    settings.sequence.as_deref().filter(|sequence| !sequence.alters())
}

/// Returns true if the text typed by the user names this device.
pub fn names(typed: &str, device: &Device) -> bool {
    let typed = typed.trim();
    let confirmation = device.confirmation();
    if device.transport == Transport::File {
        let is_its_name = Path::new(confirmation).file_name().is_some_and(|name| name == typed);
        return is_its_name || names_fully(typed, device);
    }
    // Another device may have the same serial number; then the node path is appended.
    let is_its_node =
        |at: &str| at == device.path || at.strip_prefix("/dev/") == Some(device.name.as_str());
    typed
        .strip_prefix(confirmation)
        .is_some_and(|rest| rest.is_empty() || rest.strip_prefix('@').is_some_and(is_its_node))
}

/// Returns true if the text is the full path of a file, or the path given as the target.
fn names_fully(typed: &str, device: &Device) -> bool {
    let typed = typed.trim();
    device.transport == Transport::File && (typed == device.name || typed == device.path)
}

/// Returns the directory name `PROCEDURE-TARGET-UTC_TIME`, e.g. `iops-sda-...`.
pub fn default_directory(settings: &Settings, target: &str) -> PathBuf {
    let stamp = steadfast_report::date_stamp(wall_clock_unix_ms());
    let test = settings.sequence.as_ref().map_or(&settings.procedure, |sequence| &sequence.tool);
    PathBuf::from(format!("{test}-{target}-{stamp}"))
}

/// Returns the default seed: constant for a simulated drive, so that runs repeat; new for a real
/// one.
pub fn default_seed(device: &Device) -> u64 {
    if device.is_simulated() { 1 } else { wall_clock_unix_ms() }
}

/// Returns the device properties that procedures depend on.
pub fn geometry(device: &Device) -> Geometry {
    Geometry { capacity: device.capacity, logical_sector: device.logical_sector }
}
