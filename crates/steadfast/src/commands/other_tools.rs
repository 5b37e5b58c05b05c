//! Functions shared by the commands of other tools' tests: they read files, show plans and run
//! sequences.
//!
//! A command turns its file or its options into a [`Sequence`] and hands it to [`conduct`].

use super::plan;
use super::several::{self, ConcurrentRuns};
use super::start_run::{RequestedRun, RunRequest, default_seed, read_only_sequence};
use crate::cli::other_tools::FrontArguments;
use crate::exit::{ExitState, misuse};
pub use crate::input_file::{foreign as read, source};
use crate::run_settings::{given, meta};
use crate::target::{self, MissingTargetFile};
use crate::{hosts, output, terminal};
use anyhow::anyhow;
use std::path::{Path, PathBuf};
use steadfast_domain::settings::SettingName;
use steadfast_domain::text::counted;
use steadfast_domain::{Device, Findings, PurgeChoice, PurgeMethod, Sequence, Settings};
use steadfast_exchange::ParseError;
use steadfast_procedures::sequence::NAME;
use steadfast_runner::StartSync;

/// Maximum number of errors that are printed for a file.
const ERRORS_MAX: usize = 100;

/// Prints the errors of a file, one line each, and returns the error of the command.
pub fn refused(path: &Path, errors: &[ParseError]) -> anyhow::Error {
    let shown = path.display();
    for error in errors.iter().take(ERRORS_MAX) {
        terminal::warn(&format!("{shown}: {error}"));
    }
    if errors.len() > ERRORS_MAX {
        terminal::warn(&format!("{shown}: and {} more", errors.len() - ERRORS_MAX));
    }
    let things = counted(errors.len() as u64, "thing");
    anyhow!("{shown}: nothing was run; {things} in it cannot be applied")
}

/// A sequence that was shown or run.
pub struct SequenceOutcome {
    pub state: ExitState,
    /// Run directory; `None` for a plan.
    pub directory: Option<PathBuf>,
}

impl SequenceOutcome {
    /// Returns the findings of a finished run; `None` after a halt or for a plan.
    pub fn findings(&self) -> anyhow::Result<Option<Findings>> {
        match (&self.directory, self.state) {
            (Some(directory), ExitState::Done | ExitState::NotPassed) => {
                output::study(directory).map(Some)
            }
            _ => Ok(None),
        }
    }
}

/// Returns the only target of the command line.
pub fn target(arguments: &FrontArguments) -> anyhow::Result<&str> {
    match arguments.target.names.as_slice() {
        [only] => Ok(only),
        [] => {
            Err(misuse("name what is to be tested: --target, a block device, a file or sim:NAME"))
        }
        _ => Err(misuse(
            "this test is of one target: give --target once (several: steadfast iometer FILE.icf)",
        )),
    }
}

/// Returns the description of a target without touching it.
pub fn foresee(arguments: &FrontArguments, target: &str) -> anyhow::Result<Device> {
    let foreseen =
        hosts::foresee_from(arguments.hosts.list()?.as_ref(), target, arguments.target.size);
    foreseen.map_err(|error| match error.downcast::<MissingTargetFile>() {
        Ok(missing) => MissingTargetFile { size_option: arguments.size_option, ..missing }.into(),
        Err(other) => other,
    })
}

/// Refuses a target that a run could not read, as the run does.
fn check_readable(
    arguments: &FrontArguments,
    settings: &Settings,
    target: &str,
) -> anyhow::Result<()> {
    if let (Some(sequence), None) = (read_only_sequence(settings), &settings.hosts) {
        target::find_to_read(target, arguments.target.size, &sequence.title)?;
    }
    Ok(())
}

/// Shows a sequence, or runs it to its report.
pub fn conduct(arguments: &FrontArguments, sequence: Sequence) -> anyhow::Result<SequenceOutcome> {
    let target = target(arguments)?;
    let foreseen = foresee(arguments, target)?;
    let seed = arguments.seed.unwrap_or_else(|| default_seed(&foreseen));
    let settings = settings(arguments, sequence, seed)?;
    if arguments.plan {
        check_readable(arguments, &settings, target)?;
        let state = plan::show(
            &settings,
            foreseen,
            arguments.assume,
            plan::PlanDetail::new(arguments.json),
        )?;
        return Ok(SequenceOutcome { state, directory: None });
    }
    print_remarks(&settings);
    let ended = run_request(arguments, target).conduct(settings, &foreseen)?;
    Ok(SequenceOutcome { state: ended.state, directory: Some(ended.directory) })
}

/// The sequence of one of several targets.
pub struct TargetSequence<'a> {
    pub target: &'a str,
    pub sequence: Sequence,
}

/// Shows the plan of each target, or runs all at the same time.
pub fn conduct_several(
    arguments: &FrontArguments,
    sequences: Vec<TargetSequence<'_>>,
) -> anyhow::Result<SequenceOutcome> {
    let mut foreseen = Vec::new();
    for TargetSequence { target, .. } in &sequences {
        foreseen.push(foresee(arguments, target)?);
    }
    let seed = arguments.seed.unwrap_or_else(|| default_seed(&foreseen[0]));
    let mut runs = Vec::new();
    for TargetSequence { target, sequence } in sequences {
        let settings = settings(arguments, sequence, seed)?;
        if arguments.plan {
            check_readable(arguments, &settings, target)?;
        } else {
            print_remarks(&settings);
        }
        runs.push(RequestedRun { request: run_request(arguments, target), settings });
    }
    if arguments.plan {
        let state = plan::show_targets(&runs, &foreseen, arguments.assume, arguments.json)?;
        return Ok(SequenceOutcome { state, directory: None });
    }
    let sync = StartSync::Steps;
    let ended = several::run(ConcurrentRuns { runs, foreseen: &foreseen, sync })?;
    Ok(SequenceOutcome { state: ended.state, directory: Some(ended.directory) })
}

/// Prints the remarks of the sequence.
fn print_remarks(settings: &Settings) {
    for remark in settings.sequence.iter().flat_map(|sequence| &sequence.remarks) {
        terminal::warn(&format!("Note: {remark}"));
    }
}

fn run_request<'a>(arguments: &'a FrontArguments, target: &'a str) -> RunRequest<'a> {
    RunRequest {
        target,
        size: arguments.target.size,
        engine: arguments.engine,
        out: arguments.output.as_deref(),
        yes_destroy: &arguments.yes_destroy,
        group: arguments.group.as_deref(),
        json: arguments.json,
        verbose: false,
        prometheus: None,
    }
}

fn settings(arguments: &FrontArguments, sequence: Sequence, seed: u64) -> anyhow::Result<Settings> {
    let mut settings = Settings::new(NAME, seed);
    if !sequence.purges() {
        settings.purge = PurgeChoice::Method(PurgeMethod::Nothing);
    }
    settings.data_pattern = arguments.data_pattern.clone().unwrap_or_default();
    settings.given = given([
        (SettingName::DataPattern, arguments.data_pattern.is_some()),
        (SettingName::Seed, arguments.seed.is_some()),
    ]);
    settings.hosts = arguments.hosts.list()?.map(Box::new);
    settings.hold_c_states = arguments.hold_c_states;
    settings.command = crate::cli::command_line();
    settings.meta = meta(&arguments.meta)?;
    settings.sequence = Some(Box::new(sequence.with_distinct_labels()));
    Ok(settings)
}
