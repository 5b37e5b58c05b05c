//! `steadfast iometer`: its configurations run, its results written, ours exported.

mod export;
mod ready;
mod results;

use super::front::{self, Conducted};
use crate::cli::Format;
use crate::cli::iometer::{
    IometerArguments, IometerCommand, IometerPreset, ReportResultsArguments,
};
use crate::exit::{ExitState, misuse};
use crate::writing::{Rule, Shelf, Text};
use crate::{output, target, terminal};
use anyhow::bail;
use ready::Ready;
use std::path::Path;
use steadfast_domain::sequence::StepRole;
use steadfast_domain::{Device, Transport};
use steadfast_procedures::presets::Viking;
use steadfast_runner::Ledger;

/// Runs a configuration or a preset, or shows it.
pub fn run(arguments: &IometerArguments) -> anyhow::Result<ExitState> {
    match (&arguments.command, &arguments.file, arguments.preset) {
        (Some(IometerCommand::Export(steps)), ..) => export::procedure(steps),
        (Some(IometerCommand::ExportRun(steps)), ..) => export::run(steps),
        (Some(IometerCommand::Report(results)), ..) => report(results),
        (None, None, Some(IometerPreset::Viking)) => viking(arguments),
        (None, Some(file), _) => match (&arguments.from, arguments.front.target.as_slice()) {
            (Some(directory), _) => from_run(arguments, file, directory),
            (None, [_, _, ..]) => several_targets(arguments, file),
            (None, _) => configured(arguments, file),
        },
        (None, None, None) => Err(misuse("name a configuration (.icf), or --preset viking")),
    }
}

/// Reports what Iometer measured before.
fn report(arguments: &ReportResultsArguments) -> anyhow::Result<ExitState> {
    let formats = [Format::Json, Format::Csv, Format::Html, Format::Pdf];
    let shelf = match &arguments.output {
        Some(path) => {
            Some(Shelf::named(path, Rule::of(&arguments.writing)?, &output::names(&formats))?)
        }
        None => None,
    };
    let findings = output::of_iometer(&arguments.file)?;
    match arguments.json {
        true => terminal::print_findings(&findings)?,
        false => terminal::print(&steadfast_report::text(&findings, terminal::width()))?,
    }
    if let Some(shelf) = shelf {
        for path in output::write(&shelf, &findings, &formats)? {
            terminal::tell(&path.display().to_string());
        }
    }
    Ok(ExitState::Done)
}

fn configured(arguments: &IometerArguments, file: &Path) -> anyhow::Result<ExitState> {
    let device = foreseen(arguments)?;
    // A file that is there may hold what a test of reads is about.
    let is_new = device.transport == Transport::File && !Path::new(&device.path).exists();
    let ready = Ready::of(arguments, file, u64::from(device.logical_sector), is_new)?;
    let result = result(arguments)?;
    let conducted = front::conduct(&arguments.front, ready.plan.sequence.clone())?;
    if let Some(result) = result {
        keep(&ready, &conducted, result)?;
    }
    Ok(conducted.state)
}

/// Each disk of the file is a target of its own: those of the same number, or those that
/// are named `DISK=TARGET`. All are tested at the same time.
fn several_targets(arguments: &IometerArguments, file: &Path) -> anyhow::Result<ExitState> {
    if arguments.disk.is_some() {
        return Err(misuse("--disk is for one target; name disks as --target DISK=TARGET"));
    }
    if arguments.result.is_some() {
        return Err(misuse(format!(
            "--result is for one target; after the run: steadfast iometer {} --disk DISK --from \
             RUN_DIR/TARGET -r results.csv",
            file.display()
        )));
    }
    let all = Ready::of_disk(arguments, file, (SECTOR, false), None)?.disks();
    let mut each = Vec::new();
    for (disk, target) in assigned(&arguments.front.target, &all, file)? {
        let device = target::foresee(target, arguments.front.size)?;
        let sector = u64::from(device.logical_sector);
        let is_new = device.transport == Transport::File && !Path::new(&device.path).exists();
        let ready = Ready::of_disk(arguments, file, (sector, is_new), Some(disk))?;
        each.push((target, ready.plan.sequence));
    }
    front::conduct_several(&arguments.front, each)
}

/// The smallest sector: which disks a file has does not depend on it.
const SECTOR: u64 = 512;

/// Which disk of the file each target stands for.
fn assigned<'a>(
    targets: &'a [String],
    disks: &'a [String],
    file: &Path,
) -> anyhow::Result<Vec<(&'a str, &'a str)>> {
    let there = || disks.iter().map(|disk| format!("'{disk}'")).collect::<Vec<_>>().join(", ");
    let of_disk = |text: &'a String| {
        let (name, target) = text.rsplit_once('=')?;
        let name = name.trim().trim_matches('"');
        let disk = disks.iter().find(|disk| disk.trim_matches('"').eq_ignore_ascii_case(name))?;
        Some((disk.as_str(), target))
    };
    let named: Vec<_> = targets.iter().filter_map(of_disk).collect();
    if named.len() == targets.len() {
        return Ok(named);
    }
    if named.is_empty() && targets.len() == disks.len() {
        return Ok(disks
            .iter()
            .map(String::as_str)
            .zip(targets.iter().map(String::as_str))
            .collect());
    }
    Err(misuse(format!(
        "{}: the tests use {} disks ({}); give as many targets, or each as --target DISK=TARGET",
        file.display(),
        disks.len(),
        there()
    )))
}

fn foreseen(arguments: &IometerArguments) -> anyhow::Result<Device> {
    target::foresee(front::target(&arguments.front)?, arguments.front.size)
}

/// The file of results: what makes it impossible is said before the work.
fn result(arguments: &IometerArguments) -> anyhow::Result<Option<Text>> {
    let rule = Rule::of(&arguments.writing())?;
    Ok(arguments.result.as_ref().map(|path| rule.begin_text(path)).transpose()?)
}

/// Only a run that came to its end has results.
fn keep(ready: &Ready, conducted: &Conducted, result: Text) -> anyhow::Result<()> {
    let Some(directory) = conducted.directory.as_deref() else { return Ok(()) };
    let contents = Ledger::read(directory)?;
    let record = contents.into_record();
    match record.has_ended() {
        true => result.hold(results::of(ready, &record).as_bytes()),
        false => Ok(()),
    }
}

/// The results of a run that was finished before, resumed perhaps.
fn from_run(
    arguments: &IometerArguments,
    file: &Path,
    directory: &Path,
) -> anyhow::Result<ExitState> {
    let contents = Ledger::read(directory)?;
    let sector = u64::from(contents.settings.geometry().logical_sector);
    let record = contents.into_record();
    let prepared = record.settings.sequence.as_deref().and_then(|sequence| sequence.steps.first());
    let prepared = prepared.is_some_and(|first| first.role == StepRole::Prepare);
    let ready = Ready::of(arguments, file, sector, prepared)?;
    let labels = |sequence: &steadfast_domain::Sequence| -> Vec<String> {
        sequence.steps.iter().map(|step| step.label.clone()).collect()
    };
    let ours = ready.plan.sequence.clone().with_distinct_labels();
    let is_same = record.settings.sequence.as_deref().is_some_and(|theirs| {
        theirs.source.as_ref().map(|source| &source.sha256)
            == ours.source.as_ref().map(|source| &source.sha256)
            && labels(theirs) == labels(&ours)
    });
    if !is_same {
        bail!(
            "{} is not a run of {}, or of another disk of it",
            directory.display(),
            file.display()
        );
    }
    if !record.has_ended() {
        let shown = directory.display();
        bail!("{shown}: the run is not finished; finish it with: steadfast resume {shown}");
    }
    if let Some(result) = result(arguments)? {
        result.hold(results::of(&ready, &record).as_bytes())?;
    }
    Ok(ExitState::Done)
}

fn viking(arguments: &IometerArguments) -> anyhow::Result<ExitState> {
    let device = foreseen(arguments)?;
    let preset = Viking {
        capacity: device.capacity,
        time: arguments.time,
        fills: arguments.fills,
        fresh: !arguments.no_fresh,
    };
    let sequence = preset.sequence();
    let result = result(arguments)?;
    let conducted = front::conduct(&arguments.front, sequence.clone())?;
    if let Some(result) = result {
        keep(&ready::of_viking(&sequence, &device.name), &conducted, result)?;
    }
    Ok(conducted.state)
}
