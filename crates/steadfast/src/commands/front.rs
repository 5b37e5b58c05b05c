//! What the commands of other tools' tests share: reading their files, showing what would
//! run, and running it.
//!
//! A command turns its file or its options into a [`Sequence`] and hands it to [`conduct`].

use super::begin::{Beginning, default_seed};
use super::plan;
use super::several::{self, Several};
use crate::asked::{given, meta};
use crate::cli::front::FrontArguments;
use crate::exit::{ExitState, misuse};
pub use crate::regular::{foreign as read, source};
use crate::{hosts, output, terminal};
use anyhow::anyhow;
use std::path::{Path, PathBuf};
use steadfast_domain::settings::SettingName;
use steadfast_domain::{Device, Findings, PurgeChoice, PurgeMethod, Sequence, Settings};
use steadfast_exchange::Misread;
use steadfast_procedures::sequence::NAME;
use steadfast_runner::StartSync;

/// Of more things than this, a file is another one than was meant.
const SAID_MAX: usize = 100;

/// Says everything that cannot be understood of a file, one line each; nothing of it runs.
pub fn refused(path: &Path, misread: &[Misread]) -> anyhow::Error {
    let shown = path.display();
    misread.iter().take(SAID_MAX).for_each(|what| terminal::complain(&format!("{shown}: {what}")));
    if misread.len() > SAID_MAX {
        terminal::complain(&format!("{shown}: and {} more", misread.len() - SAID_MAX));
    }
    let many = if misread.len() == 1 { "thing" } else { "things" };
    anyhow!("{shown}: nothing was run; {} {many} in it cannot be applied", misread.len())
}

/// A sequence that was shown or run.
pub struct Conducted {
    /// How it ended.
    pub state: ExitState,
    /// Its run directory; none where it was only shown.
    pub directory: Option<PathBuf>,
}

impl Conducted {
    /// What a finished run found; nothing where it halted or was only shown.
    pub fn findings(&self) -> anyhow::Result<Option<Findings>> {
        match (&self.directory, self.state) {
            (Some(directory), ExitState::Done | ExitState::NotGood) => {
                output::study(directory).map(Some)
            }
            _ => Ok(None),
        }
    }
}

/// The target that the user named.
pub fn target(arguments: &FrontArguments) -> anyhow::Result<&str> {
    match arguments.target.as_slice() {
        [only] => Ok(only),
        [] => {
            Err(misuse("name what is to be tested: --target, a block device, a file or sim:NAME"))
        }
        _ => Err(misuse(
            "this test is of one target: give --target once (several: steadfast iometer FILE.icf)",
        )),
    }
}

/// What is seen of a target by those who load it. Nothing is touched.
pub fn foresee(arguments: &FrontArguments, target: &str) -> anyhow::Result<Device> {
    hosts::foresee_from(arguments.hosts.list()?.as_ref(), target, arguments.size)
}

/// Shows a sequence, or runs it to its report.
pub fn conduct(arguments: &FrontArguments, sequence: Sequence) -> anyhow::Result<Conducted> {
    let target = target(arguments)?;
    let foreseen = foresee(arguments, target)?;
    let seed = arguments.seed.unwrap_or_else(|| default_seed(&foreseen));
    let settings = settings(arguments, sequence, seed)?;
    if arguments.plan {
        let state =
            plan::show(&settings, foreseen, arguments.assume, plan::Wanted::of(arguments.json))?;
        return Ok(Conducted { state, directory: None });
    }
    say(&settings);
    let ended = beginning(arguments, target).conduct(settings, &foreseen)?;
    Ok(Conducted { state: ended.state, directory: Some(ended.directory) })
}

/// Shows what each target gets, or runs all at the same time.
pub fn conduct_several(
    arguments: &FrontArguments,
    each: Vec<(&str, Sequence)>,
) -> anyhow::Result<Conducted> {
    let foreseen = each
        .iter()
        .map(|(target, _)| foresee(arguments, target))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let seed = arguments.seed.unwrap_or_else(|| default_seed(&foreseen[0]));
    let mut all = Vec::new();
    for ((target, sequence), device) in each.into_iter().zip(&foreseen) {
        let settings = settings(arguments, sequence, seed)?;
        if arguments.plan {
            terminal::print(&format!("{target}:"))?;
            let wanted = plan::Wanted::of(false);
            plan::show(&settings, device.clone(), arguments.assume, wanted)?;
        } else {
            say(&settings);
        }
        all.push((beginning(arguments, target), settings));
    }
    if arguments.plan {
        return Ok(Conducted { state: ExitState::Done, directory: None });
    }
    let keeping = StartSync::Steps;
    let all = Several { each: all, foreseen: &foreseen, keeping, prometheus: None };
    let ended = several::run(all)?;
    Ok(Conducted { state: ended.state, directory: Some(ended.directory) })
}

/// Says what was understood with a difference.
fn say(settings: &Settings) {
    for remark in settings.sequence.iter().flat_map(|sequence| &sequence.remarks) {
        terminal::complain(&format!("Note: {remark}"));
    }
}

fn beginning<'a>(arguments: &'a FrontArguments, target: &'a str) -> Beginning<'a> {
    Beginning {
        target,
        size: arguments.size,
        engine: arguments.engine,
        out: arguments.out.as_deref(),
        yes_destroy: &arguments.yes_destroy,
        group: arguments.group.as_deref(),
        json: arguments.json,
        verbose: false,
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
