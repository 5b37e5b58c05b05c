//! `steadfast run`: a procedure from purge to report.

use crate::asked::{SOFTWARE, check_engine, settings};
use crate::cli::{EngineName, Format, RunArguments};
use crate::exit::{ExitState, misuse};
use crate::panel::Panel;
use crate::target::{self, Course, Mover, Named};
use crate::writing::Shelf;
use crate::{output, terminal};
use anyhow::bail;
use std::path::{Path, PathBuf};
use steadfast_domain::record::RECORD_VERSION;
use steadfast_domain::settings::Geometry;
use steadfast_domain::{Bytes, Device, Procedure, Sequence, Settings, Step, Transport};
use steadfast_engine::Stop;
use steadfast_host::{Consent, Readers};
use steadfast_runner::ledger::Line;
use steadfast_runner::real::wall_clock_unix_ms;
use steadfast_runner::run::{self, Ending};
use steadfast_runner::{HostWishes, Ledger, Rig, RunSettings};

/// Begins a run and conducts it.
pub fn run(arguments: &RunArguments) -> anyhow::Result<ExitState> {
    let chosen = &arguments.procedure;
    let foreseen = target::foresee(&chosen.target, chosen.size)?;
    let seed = chosen.seed.unwrap_or_else(|| default_seed(&foreseen));
    let mut settings = settings(chosen, seed, &foreseen)?;
    settings.purge = arguments.purge;
    settings.purge_failed = arguments.purge_failed;
    let beginning = Beginning {
        target: &chosen.target,
        size: chosen.size,
        engine: chosen.engine,
        out: arguments.out.as_deref(),
        yes_destroy: &arguments.yes_destroy,
        group: arguments.group.as_deref(),
        json: arguments.json,
    };
    beginning.conduct(settings, &foreseen).map(|ended| ended.state)
}

/// What a run needs beside its settings.
pub struct Beginning<'a> {
    /// What is tested, as the user named it.
    pub target: &'a str,
    /// The size of a file that is to be made.
    pub size: Option<Bytes>,
    /// What moves the data.
    pub engine: Option<EngineName>,
    /// The run directory; by default named after procedure, device and time.
    pub out: Option<&'a Path>,
    /// What may be overwritten.
    pub yes_destroy: &'a [String],
    /// Who may read the run directory.
    pub group: Option<&'a str>,
    /// Whether the findings are printed as JSON.
    pub json: bool,
}

/// A run that came to an end, or halted.
pub struct Ended {
    /// How.
    pub state: ExitState,
    /// Its directory.
    pub directory: PathBuf,
}

impl Beginning<'_> {
    /// Begins the run of these settings and conducts it.
    pub fn conduct(&self, mut settings: Settings, foreseen: &Device) -> anyhow::Result<Ended> {
        let others = self.yes_destroy.iter().filter(|name| *name != foreseen.confirmation());
        settings.also_destroyed = others.cloned().collect();
        // Everything that can be refused is refused before a file is made.
        steadfast_procedures::procedure(&settings, geometry(foreseen), &[])?;
        self.refuse(&settings, foreseen)?;
        let readers = self.group.map(Readers::of_group).transpose()?;
        let default = || default_directory(&settings, foreseen);
        let out = self.out.map_or_else(default, Path::to_owned);
        if out.exists() {
            bail!(steadfast_runner::LedgerError::Exists(out));
        }
        let (named, consent) = self.found(&settings)?;
        let stop = target::stop_on_signals()?;
        let mover = mover(self.engine, &out);
        let keep = std::slice::from_ref(&out);
        let mut rig = target::rig(&mover, &named, &consent, keep, Course::from(&settings), &stop)?;
        rig.wish(&wishes(&settings, &out));
        if consent != Consent::Read {
            rig.foresee_purge()?;
        }
        let run_settings = RunSettings {
            version: RECORD_VERSION,
            software: SOFTWARE.to_owned(),
            began_unix_ms: rig.now_unix_ms(),
            engine: engine_name(&named, &mover).to_owned(),
            device: rig.device().clone(),
            settings,
        };
        let procedure =
            steadfast_procedures::procedure(&run_settings.settings, run_settings.geometry(), &[])?;
        let mut prepare = |step: &Step| rig.prepare(step);
        if let Some(why) = steadfast_runner::refusal(procedure.as_ref(), &mut prepare) {
            bail!("{}: {why}", self.target);
        }
        let ledger = Ledger::create_for(readers.unwrap_or_default(), &out, &run_settings)?;
        let seed = run_settings.settings.seed;
        terminal::tell(&format!("Run directory: {} (seed {seed})", out.display()));
        let conduct = Conduct { procedure: procedure.as_ref(), directory: &out, json: self.json };
        let state = conduct.to_the_end(rig.as_mut(), ledger, &[], &stop)?;
        Ok(Ended { state, directory: out })
    }

    /// Refuses what does not go together.
    fn refuse(&self, settings: &Settings, foreseen: &Device) -> anyhow::Result<()> {
        check_engine(self.engine, foreseen)?;
        if settings.sim_gap.is_some() && !foreseen.is_simulated() {
            return Err(misuse(format!("{}: --sim-gap is for simulated drives only", self.target)));
        }
        if foreseen.transport == Transport::File && !settings.purge.suits_a_file() {
            return Err(misuse(format!(
                "{}: for a file, use --purge auto, discard or none",
                self.target
            )));
        }
        Ok(())
    }

    /// The target, and what may be done to it.
    fn found(&self, settings: &Settings) -> anyhow::Result<(Named, Consent)> {
        if let Some(sequence) = reading(settings) {
            let named = target::find_to_read(self.target, self.size, &sequence.title)?;
            return Ok((named, Consent::Read));
        }
        let named = target::find(self.target, self.size)?;
        let confirmation = confirmation(&named, self.yes_destroy);
        Ok((named, Consent::Destroy { confirmation }))
    }
}

/// The sequence that is run, where nothing in it writes: such a run needs nobody's consent
/// to a loss, and the target may be in use.
pub fn reading(settings: &Settings) -> Option<&Sequence> {
    settings.sequence.as_deref().filter(|sequence| !sequence.alters())
}

/// What the user said of this device, among all that they named.
fn confirmation(named: &Named, given: &[String]) -> Option<String> {
    let fits = |text: &&String| match named {
        Named::Simulated(_) => true,
        Named::Real(device) => text.trim() == device.confirmation(),
    };
    given.iter().find(fits).or(given.first()).cloned()
}

/// What a run's settings want of purge and host; the disk of the run directory
/// lives.
pub fn wishes(settings: &Settings, directory: &Path) -> HostWishes {
    let mut wishes = HostWishes::of(settings);
    wishes.purge.keep = vec![directory.to_owned()];
    wishes
}

/// A procedure on its way to a report.
pub struct Conduct<'a> {
    /// The procedure.
    pub procedure: &'a dyn Procedure,
    /// The run directory.
    pub directory: &'a Path,
    /// Whether the findings are printed as JSON.
    pub json: bool,
}

impl Conduct<'_> {
    /// Conducts, studies and reports.
    pub fn to_the_end(
        &self,
        rig: &mut dyn Rig,
        ledger: Ledger,
        lines: &[Line],
        stop: &Stop,
    ) -> anyhow::Result<ExitState> {
        let mut panel = Panel::new(self.procedure, rig.device(), stop.clone());
        let ending = run::conduct(self.procedure, rig, ledger, lines, SOFTWARE, &mut panel);
        panel.close();
        match ending? {
            Ending::Complete => self.report(),
            Ending::Halted(halt) => {
                let directory = self.directory.display();
                terminal::complain(&format!("steadfast: halted: {halt}"));
                terminal::complain(&format!(
                    "Every finished step is in {directory}. Resume with: steadfast resume \
                     {directory}"
                ));
                Ok(ExitState::Halted)
            }
            Ending::Lost(halt) => bail!(
                "halted: {halt}. What this run measured is lost and cannot be resumed; start it \
                 again, in another directory"
            ),
        }
    }

    fn report(&self) -> anyhow::Result<ExitState> {
        let findings = output::study(self.directory)?;
        let formats = [Format::Json, Format::Csv, Format::Html, Format::Pdf];
        output::write(&Shelf::of_run(self.directory), &findings, &formats)?;
        if self.json {
            terminal::print_findings(&findings)?;
        } else {
            terminal::print(&steadfast_report::text(&findings, terminal::width()))?;
            terminal::print(&format!(
                "\nReport: {0}/report.pdf, {0}/report.html; tables as CSV and findings.json in \
                 the same directory.",
                self.directory.display()
            ))?;
        }
        match findings.whole_end().good() {
            Some(false) => Ok(ExitState::NotGood),
            _ => Ok(ExitState::Done),
        }
    }
}

/// What of a device decides what a procedure does.
pub fn geometry(device: &Device) -> Geometry {
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

/// Where a run directory keeps fio's job files and answers.
pub const FIO_DIRECTORY: &str = "fio";

/// A simulated run repeats itself; a real one draws a new seed each time.
pub fn default_seed(device: &Device) -> u64 {
    if device.is_simulated() { 1 } else { wall_clock_unix_ms() }
}

/// `iops-<device>-<UTC time>`.
fn default_directory(settings: &Settings, device: &Device) -> PathBuf {
    let name: String = device
        .name
        .rsplit('/')
        .next()
        .unwrap_or_default()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    let stamp = steadfast_report::date_stamp(wall_clock_unix_ms());
    let what = settings.sequence.as_ref().map_or(&settings.procedure, |sequence| &sequence.tool);
    PathBuf::from(format!("{what}-{name}-{stamp}"))
}
