//! Applies the same stimuli through fio 3.x, for a second opinion.
//!
//! A step becomes a job file ([`expression`]), fio applies it to the armed target's own file
//! descriptor ([`process`]), and its json+ output becomes the measurement ([`answer`],
//! [`counts`], [`running`]). Job files and answers are kept. A stimulus that fio cannot express
//! exactly is refused beforehand; docs/fio.md lists which, and explains what fio's numbers mean.

mod answer;
mod counts;
mod export;
mod expression;
mod files;
mod hosts;
mod process;
mod running;
mod version;

pub use export::job;
pub use hosts::{FioHosts, HostsOptions};

use crate::engine::{Engine, TargetEngine};
use crate::handover::{Handover, goes_on, hand_over};
use crate::kernel::{Backend, preferred, raise_locked_memory_limit, transfer_memory_limit};
use crate::prepared::{PreparedStep, StepRefusal};
use crate::stall::unless_void;
use crate::start::StepStart;
use crate::stop::StopSignal;
use crate::zones::check_zones;
use expression::{Expression, FioTarget};
use process::FioProcess;
use running::{FioContext, FioLoad};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;
use steadfast_domain::measurement::Interval;
use steadfast_domain::{
    Bytes, Caveat, CaveatKind, Halt, Load, Measurement, Step, Stimulus, caveats,
};
use steadfast_host::{Directory, FileError, Target, find_program};
use version::{ask, installed};

/// Longest wait for the outstanding I/Os of a load that is ended.
const END_PATIENCE: Duration = Duration::from_secs(60);

/// Longest wait for a load that failed or was stopped.
const PATIENCE: Duration = Duration::from_secs(3);

/// Maximum number of output lines of fio quoted in caveats.
const QUOTES_LIMIT: usize = 10;

/// Options of a [`Fio`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FioOptions {
    /// The program: a name to be found on the path, or a path.
    pub program: PathBuf,
    /// Directory for job files and answers, created when the first step begins and used by this
    /// engine alone. In a run ([`TargetEngine::keep_files_in`]), only its last component counts.
    pub directory: PathBuf,
    /// fio's own engine (`io_uring` or `libaio`). `None` selects the kernel interface that
    /// [`crate::native::Native`] would use on this target.
    pub interface: Option<FioIoEngine>,
    /// A step with more failed I/Os than this is void.
    pub fault_limit: u64,
}

impl FioOptions {
    /// Returns the options for the installed fio, with its files in `directory`.
    pub fn in_directory(directory: impl Into<PathBuf>) -> Self {
        FioOptions {
            program: PathBuf::from("fio"),
            directory: directory.into(),
            interface: None,
            fault_limit: 100,
        }
    }
}

/// The engine of fio that carries the I/Os.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FioIoEngine {
    /// `io_uring`, with registered buffers and files.
    IoUring,
    /// `libaio`.
    Libaio,
}

impl FioIoEngine {
    /// Returns fio's name of the engine.
    pub const fn name(self) -> &'static str {
        match self {
            FioIoEngine::IoUring => "io_uring",
            FioIoEngine::Libaio => "libaio",
        }
    }
}

/// Applies loads to an armed target through fio.
pub struct Fio {
    target: Target,
    stop: StopSignal,
    options: FioOptions,
    interface: FioIoEngine,
    /// Version, such as `fio-3.33`.
    version: String,
    /// Number of the next job file.
    number: u32,
    /// Directory of the run, if the files are stored in one.
    run_directory: Option<Directory>,
    /// Directory for job files and answers; open from the first step on.
    kept: Option<Directory>,
    running: Option<FioLoad>,
    stranded: Vec<FioProcess>,
    quoted: BTreeSet<String>,
    caveats: Vec<Caveat>,
}

impl Fio {
    /// Finds fio and the engine that it can use on this host.
    ///
    /// Errors: fio is missing, older than 3.20, or lacks that engine.
    pub fn new(target: Target, stop: StopSignal, mut options: FioOptions) -> Result<Self, Halt> {
        // Every call runs the program whose version is recorded. If it does not exist, the first
        // call reports that.
        if let Ok(path) = find_program(&options.program) {
            options.program = path;
        }
        let version = installed(&options.program).map_err(Halt::Refused)?;
        // fio registers its buffers, which count as locked memory.
        raise_locked_memory_limit();
        let interface = match options.interface {
            Some(interface) => interface,
            None => match preferred(&target).map_err(Halt::Refused)?.0 {
                Backend::Uring => FioIoEngine::IoUring,
                Backend::Aio | Backend::Threads => FioIoEngine::Libaio,
            },
        };
        let known = ask(&options.program, "--enghelp").map_err(Halt::Refused)?;
        if !known.lines().any(|line| line.trim() == interface.name()) {
            return Err(Halt::Refused(format!(
                "{version} was built without the engine {}; install Debian's package fio",
                interface.name()
            )));
        }
        Ok(Fio {
            target,
            stop,
            options,
            interface,
            version,
            number: 0,
            run_directory: None,
            kept: None,
            running: None,
            stranded: Vec::new(),
            quoted: BTreeSet::new(),
            caveats: Vec::new(),
        })
    }

    /// Returns the version that fio reports, such as `fio-3.33`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Returns the engine of fio in use.
    pub fn interface(&self) -> FioIoEngine {
        self.interface
    }

    fn path(&self) -> &str {
        &self.target.device().path
    }

    fn facts(&self) -> FioTarget<'_> {
        FioTarget {
            path: self.path(),
            length: self.target.length(),
            writable: self.target.is_writable(),
            sector: u64::from(self.target.offset_alignment()).max(512),
            direct: self.target.is_direct(),
            io_engine: self.interface.name(),
        }
    }

    fn express(&self, load: &Load) -> Result<Expression, StepRefusal> {
        let stimulus = match load {
            Load::Stimulus(stimulus) => stimulus,
            Load::Together(_) => {
                return Err(StepRefusal(
                    "fio does not report loads that are applied at once separately; use the \
                     engine uring"
                        .to_owned(),
                ));
            }
            Load::Script(script) => {
                return Err(StepRefusal(format!(
                    "script '{}': fio replays only its own logs, does not issue every I/O at its \
                     due time and does not report how late each was; use the engine uring",
                    script.name
                )));
            }
        };
        let expression = Expression::new(stimulus, &self.facts())?;
        refuse_memory(stimulus).map_or(Ok(expression), |why| Err(StepRefusal(why)))
    }

    /// Opens the directory, once for all steps, and continues the numbering of the job files in
    /// it.
    fn make_directory(&mut self) -> Result<Directory, FileError> {
        if let Some(kept) = &self.kept {
            return Ok(kept.clone());
        }
        let (kept, number) = files::open(self.run_directory.as_ref(), &self.options.directory)?;
        self.number = number;
        self.kept = Some(kept.clone());
        Ok(kept)
    }

    fn refuse_stranded(&mut self) -> Result<(), Halt> {
        self.stranded.retain_mut(|process| !process.is_over(Duration::ZERO));
        if self.stranded.is_empty() {
            return Ok(());
        }
        Err(Halt::DeviceGone {
            device: self.path().to_owned(),
            why: "I/Os of an earlier fio have not completed".to_owned(),
        })
    }

    /// Turns output lines of fio into caveats, each line once.
    fn quote(&mut self, step: &Step, lines: &[String]) {
        for line in lines {
            if self.quoted.len() >= QUOTES_LIMIT || !self.quoted.insert(line.clone()) {
                continue;
            }
            let text = format!("{} printed in {}: \"{line}\".", self.version, step.place);
            let remedy = "Read the .txt files next to fio's job files.";
            self.caveats.push(Caveat::new(CaveatKind::Remark, caveats::FIO_MESSAGES, text, remedy));
        }
    }

    /// Returns the load that the step continues, or a new one.
    fn load_for(
        &mut self,
        step: &Step,
        expression: Option<Expression>,
        start: &StepStart,
    ) -> Result<FioLoad, Halt> {
        match hand_over(&mut self.running, step) {
            Handover::Same(running) => return Ok(running),
            Handover::Other(running, halt) => {
                self.stranded.extend(running.end(PATIENCE));
                return Err(halt);
            }
            Handover::New => self.end_load(),
        }
        self.refuse_stranded()?;
        let kept = self.make_directory().map_err(|error| Halt::Ledger(error.to_string()))?;
        // A load that should be continued but has ended meanwhile starts again.
        let expression = match expression {
            Some(expression) => expression,
            None => self.express(&step.load).map_err(|refusal| refusal.of(step))?,
        };
        if let Some(begins) = start.begins {
            steadfast_host::wait_until(begins);
        }
        FioLoad::new(expression.going_on_from(start), step, &mut self.means(&kept).0)
    }

    /// Returns what a load needs, and the list for processes that hang.
    fn means<'e>(&'e mut self, kept: &'e Directory) -> (FioContext<'e>, &'e mut Vec<FioProcess>) {
        let means = FioContext {
            program: &self.options.program,
            directory: kept,
            target: &self.target,
            fault_limit: self.options.fault_limit,
            stop: &self.stop,
            number: &mut self.number,
        };
        (means, &mut self.stranded)
    }
}

impl Engine for Fio {
    fn describe(&self) -> String {
        let mut parts = vec![format!(
            "{} ({}), {}",
            self.version,
            self.options.program.display(),
            self.interface.name()
        )];
        if !self.target.is_direct() {
            parts.push("through the page cache (no O_DIRECT here)".to_owned());
        }
        if !self.quoted.is_empty() {
            parts.push(format!(
                "its output: {}",
                self.quoted.iter().map(|line| format!("\"{line}\"")).collect::<Vec<_>>().join(", ")
            ));
        }
        format!("fio: {}", parts.join("; "))
    }

    fn prepare(&mut self, step: &Step) -> Result<PreparedStep, StepRefusal> {
        check_zones(self.target.device(), &step.load)?;
        PreparedStep::with(step, goes_on(&self.running, step), |load| self.express(load))
    }

    fn apply(
        &mut self,
        prepared: PreparedStep,
        start: &StepStart,
        watch: &mut dyn FnMut(&Interval),
    ) -> Result<Measurement, Halt> {
        let (step, expression) = prepared.into_parts();
        let step = &step;
        let mut running = self.load_for(step, expression, start)?;
        let kept = self.make_directory().map_err(|error| Halt::Ledger(error.to_string()))?;
        let (mut means, stranded) = self.means(&kept);
        let result = running.measure(step, &mut means, watch);
        let result = result.and_then(|measurement| unless_void(measurement, step));
        let text = running.text.clone();
        match &result {
            Ok(measurement) if !measurement.complete => self.running = Some(running),
            _ => stranded.extend(running.end(PATIENCE)),
        }
        self.quote(step, &text);
        result
    }

    fn end_load(&mut self) {
        if let Some(running) = self.running.take() {
            self.stranded.extend(running.end(END_PATIENCE));
        }
    }
}

impl TargetEngine for Fio {
    fn target(&self) -> &Target {
        &self.target
    }
    fn target_mut(&mut self) -> &mut Target {
        self.end_load();
        &mut self.target
    }
    fn take_caveats(&mut self) -> Vec<Caveat> {
        std::mem::take(&mut self.caveats)
    }
    fn keep_files_in(&mut self, run: &Directory) {
        self.run_directory = Some(run.clone());
    }
}

impl Drop for Fio {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            drop(running.end(PATIENCE));
        }
    }
}

/// Returns why this host lacks the memory for a stimulus; fio has a buffer for every outstanding
/// I/O.
fn refuse_memory(stimulus: &Stimulus) -> Option<String> {
    let largest = stimulus.streams.iter().map(|stream| stream.size.0).max().unwrap_or(0);
    let wanted = stimulus.demand.outstanding().saturating_mul(largest);
    let limit = transfer_memory_limit();
    (wanted > limit).then(|| {
        format!(
            "demand {} with transfers of this size needs {} of memory; this host can provide {}: \
             lower the threads, the queue depth or the transfer size",
            stimulus.demand,
            Bytes(wanted),
            Bytes(limit)
        )
    })
}

#[cfg(test)]
mod tests;
