//! Applies stimuli through fio 3.x, for a second opinion on the native engine.
//!
//! A step becomes a job file ([`expression`]), fio applies it to the armed target's own file
//! descriptor ([`process`]), and its json+ output becomes the measurement ([`answer`],
//! [`counts`], [`running`]). Job files and answers are stored. A stimulus that fio cannot express
//! exactly is refused beforehand; docs/fio.md lists which, and explains what fio's numbers mean.

mod counts;
mod export;
mod expression;
mod files;
mod hosts;
mod json_output;
mod options;
mod process;
mod running;
mod version;

pub use export::{ROUNDED, WHOLE_RATES, job, playable_pace};
pub use hosts::FioHosts;
pub use options::{FioIoEngine, FioOptions};

use crate::engine::{Engine, TargetEngine};
use crate::handover::{Handover, take_over, takes_over};
use crate::kernel::{Backend, KernelInterface, raise_locked_memory_limit};
use crate::prepared::{PreparedStep, StepRefusal, refuse_groups};
use crate::refusals::memory_refusal;
use crate::stall::refuse_void;
use crate::start::StepStart;
use crate::stop::StopSignal;
use crate::zones::check_zones;
use expression::{Expression, FioTarget, single_stimulus};
use files::FioFiles;
use process::FioProcess;
use running::{FioContext, FioLoad};
use std::collections::BTreeSet;
use std::time::Duration;
use steadfast_domain::measurement::Interval;
use steadfast_domain::{Caveat, Halt, Load, Measurement, Step, caveats};
use steadfast_host::{Directory, Target};
use version::query;

/// Longest wait for the outstanding I/Os of a load that is ended.
const END_WAIT_MAX: Duration = Duration::from_secs(60);

/// Longest wait for a load that failed or was stopped.
const ABORT_WAIT_MAX: Duration = Duration::from_secs(3);

/// Maximum number of output lines of fio quoted in caveats.
const QUOTES_LIMIT: usize = 10;

/// Applies loads to an armed target through fio.
pub struct Fio {
    target: Target,
    stop: StopSignal,
    options: FioOptions,
    interface: FioIoEngine,
    version: String,
    files: FioFiles,
    running: Option<FioLoad>,
    /// Processes that were killed and still hang in the kernel.
    stuck: Vec<FioProcess>,
    /// Output lines that a caveat quotes.
    quoted: BTreeSet<String>,
    caveats: Vec<Caveat>,
}

impl Fio {
    /// Finds fio and the I/O engine that it can use on this host.
    ///
    /// # Errors
    /// Returns [`Halt::Refused`] if fio is missing, older than 3.20, or lacks that I/O engine.
    pub fn new(target: Target, stop: StopSignal, mut options: FioOptions) -> Result<Self, Halt> {
        let version = options.locate()?;
        // fio registers its buffers, which count as locked memory.
        raise_locked_memory_limit();
        let interface = match options.interface {
            Some(interface) => interface,
            None => match KernelInterface::best_for(&target).map_err(Halt::Refused)?.backend {
                Backend::Uring => FioIoEngine::IoUring,
                Backend::Aio | Backend::Threads => FioIoEngine::Libaio,
            },
        };
        let engines = query(&options.program, "--enghelp").map_err(Halt::Refused)?;
        if !engines.lines().any(|line| line.trim() == interface.name()) {
            return Err(Halt::Refused(format!(
                "{version} was built without the I/O engine {}; install Debian's package fio",
                interface.name()
            )));
        }
        Ok(Fio {
            target,
            stop,
            files: FioFiles::new(options.directory.clone()),
            options,
            interface,
            version,
            running: None,
            stuck: Vec::new(),
            quoted: BTreeSet::new(),
            caveats: Vec::new(),
        })
    }

    /// Returns the version that fio reports, such as `fio-3.33`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Returns the I/O engine that fio uses.
    pub fn interface(&self) -> FioIoEngine {
        self.interface
    }

    fn path(&self) -> &str {
        &self.target.device().path
    }

    fn fio_target(&self) -> FioTarget<'_> {
        FioTarget {
            path: self.path(),
            length: self.target.length(),
            writable: self.target.is_writable(),
            sector: u64::from(self.target.offset_alignment()).max(512),
            direct: self.target.is_direct(),
            io_engine: self.interface.name(),
            commit_rates: self.options.commit_rates,
        }
    }

    fn express(&self, load: &Load) -> Result<Expression, StepRefusal> {
        let stimulus = single_stimulus(load)?;
        let expression = Expression::new(stimulus, &self.fio_target())?;
        // fio has a buffer for every outstanding I/O.
        let size_max = stimulus.streams.iter().map(|stream| stream.size.0).max().unwrap_or(0);
        let memory = stimulus.demand.outstanding().saturating_mul(size_max);
        match memory_refusal(stimulus.demand, memory) {
            Some(why) => Err(StepRefusal(why)),
            None => Ok(expression),
        }
    }

    fn refuse_stuck(&mut self) -> Result<(), Halt> {
        self.stuck.retain_mut(|process| !process.is_over(Duration::ZERO));
        if self.stuck.is_empty() {
            return Ok(());
        }
        Err(Halt::DeviceGone {
            device: self.path().to_owned(),
            why: "I/Os of an earlier fio process have not completed".to_owned(),
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
            self.caveats.push(Caveat::remark(caveats::FIO_MESSAGES, text, remedy));
        }
    }

    /// Returns the load that the step continues, or a new one.
    fn load_for(
        &mut self,
        step: &Step,
        expression: Option<Expression>,
        start: &StepStart,
    ) -> Result<FioLoad, Halt> {
        match take_over(&mut self.running, step) {
            Handover::Same(running) => return Ok(running),
            Handover::Other(running, halt) => {
                self.stuck.extend(running.end(ABORT_WAIT_MAX));
                return Err(halt);
            }
            Handover::New => self.end_load(),
        }
        self.refuse_stuck()?;
        let directory = self.files.open()?;
        // A load that was to continue but has already ended starts again.
        let expression = match expression {
            Some(expression) => expression,
            None => self.express(&step.load).map_err(|refusal| refusal.at_step(step))?,
        };
        if let Some(begins) = start.begins {
            steadfast_host::wait_until(begins);
        }
        FioLoad::new(expression.remaining_from(start), &mut self.context(step, &directory))
    }

    fn context<'e>(&'e mut self, step: &'e Step, directory: &'e Directory) -> FioContext<'e> {
        FioContext {
            step,
            program: &self.options.program,
            directory,
            target: &self.target,
            fault_limit: self.options.fault_limit,
            stop: &self.stop,
            number: &mut self.files.number,
        }
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
        refuse_groups(step)?;
        PreparedStep::with(step, takes_over(&self.running, step), |load| self.express(load))
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
        let directory = self.files.open()?;
        let result = running.measure(&mut self.context(step, &directory), watch);
        let result = result.and_then(|measurement| refuse_void(measurement, step));
        let text = running.text.clone();
        match &result {
            Ok(measurement) if !measurement.complete => self.running = Some(running),
            _ => self.stuck.extend(running.end(ABORT_WAIT_MAX)),
        }
        self.quote(step, &text);
        result
    }

    fn end_load(&mut self) {
        if let Some(running) = self.running.take() {
            self.stuck.extend(running.end(END_WAIT_MAX));
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
        self.files.keep_in(run);
    }
}

impl Drop for Fio {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            drop(running.end(ABORT_WAIT_MAX));
        }
    }
}

#[cfg(test)]
mod tests;
