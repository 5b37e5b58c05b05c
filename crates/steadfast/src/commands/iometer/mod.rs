//! `steadfast iometer`: runs its configurations, writes its result files, exports ours.

mod export;
mod planned_config;
mod results;

use super::other_tools::{self, SequenceOutcome, TargetSequence};
use crate::cli::iometer::{
    IometerArguments, IometerCommand, IometerPreset, ReportResultsArguments,
};
use crate::exit::{ExitState, misuse};
use crate::output::OptionalReport;
use crate::output_files::{OutputRule, TextOutput};
use crate::{output, terminal};
use anyhow::bail;
use planned_config::{ConfigTarget, PlannedConfig};
use results::MeasuredConfig;
use std::path::{Path, PathBuf};
use steadfast_domain::sequence::StepRole;
use steadfast_domain::{Record, Sequence, Transport};
use steadfast_exchange::iometer::{DiskChoice, is_same_disk};
use steadfast_procedures::presets::FourCornersOptions;
use steadfast_runner::{Ledger, RunGroup};

/// Runs a configuration or a preset, or prints the plan.
pub fn run(arguments: &IometerArguments) -> anyhow::Result<ExitState> {
    match &arguments.command {
        Some(IometerCommand::Export(steps)) => return export::procedure(steps),
        Some(IometerCommand::ExportRun(steps)) => return export::run(steps),
        Some(IometerCommand::Report(results)) => return report(results),
        None => {}
    }
    let Some(file) = &arguments.file else {
        return match arguments.preset {
            Some(IometerPreset::Viking) => run_viking(arguments),
            None => Err(misuse("name a configuration (.icf), or --preset viking")),
        };
    };
    if let Some(directory) = &arguments.from_run {
        write_results_of_run(arguments, file, directory)
    } else if arguments.front.target.names.len() > 1 {
        run_on_several_targets(arguments, file)
    } else {
        run_on_one_target(arguments, file)
    }
}

/// Reports an Iometer result file.
fn report(arguments: &ReportResultsArguments) -> anyhow::Result<ExitState> {
    let output = arguments.output.as_deref();
    let report = OptionalReport::open(output, &arguments.writing)?;
    report.show(&output::findings_of_iometer(&arguments.file)?, arguments.json)?;
    Ok(ExitState::Done)
}

fn run_on_one_target(arguments: &IometerArguments, file: &Path) -> anyhow::Result<ExitState> {
    let target = other_tools::target(&arguments.front)?;
    let disk = arguments.disk.as_deref().map(DiskChoice::Alone);
    let planned = plan_for(arguments, file, target, disk)?;
    let result = open_result(arguments)?;
    let conducted = other_tools::conduct(&arguments.front, planned.plan.sequence.clone())?;
    write_if_ended(arguments, &[planned], &conducted, result)?;
    Ok(conducted.state)
}

/// Plans the I/Os to one disk of the file, or to all if `None`, for a target.
fn plan_for(
    arguments: &IometerArguments,
    file: &Path,
    target: &str,
    disk: Option<DiskChoice<'_>>,
) -> anyhow::Result<PlannedConfig> {
    let device = other_tools::foresee(&arguments.front, target)?;
    // Read tests may depend on the content of an existing file.
    let is_new = device.transport == Transport::File && !Path::new(&device.path).exists();
    let target = ConfigTarget { sector: u64::from(device.logical_sector), prepare: is_new };
    PlannedConfig::new(arguments, file, target, disk)
}

/// Runs each disk of the file on its own target, all at the same time. Disks are matched in order,
/// or by `DISK=TARGET`.
fn run_on_several_targets(arguments: &IometerArguments, file: &Path) -> anyhow::Result<ExitState> {
    if arguments.disk.is_some() {
        return Err(misuse("--disk is for one target; name disks as --target DISK=TARGET"));
    }
    let any_target = ConfigTarget { sector: SECTOR, prepare: false };
    let disks = PlannedConfig::new(arguments, file, any_target, None)?.disks();
    let (mut configs, mut sequences) = (Vec::new(), Vec::new());
    for (disk, target) in targets_of_disks(&arguments.front.target.names, &disks, file)? {
        let planned = plan_for(arguments, file, target, Some(DiskChoice::Among(disk)))?;
        sequences.push(TargetSequence { target, sequence: planned.plan.sequence.clone() });
        configs.push(planned);
    }
    let result = open_result(arguments)?;
    let conducted = other_tools::conduct_several(&arguments.front, sequences)?;
    write_if_ended(arguments, &configs, &conducted, result)?;
    Ok(conducted.state)
}

/// Smallest sector size in bytes. The list of disks does not depend on it.
const SECTOR: u64 = 512;

/// Returns each disk of the file with the target that replaces it.
fn targets_of_disks<'a>(
    targets: &'a [String],
    disks: &'a [String],
    file: &Path,
) -> anyhow::Result<Vec<(&'a str, &'a str)>> {
    let mut named = Vec::new();
    for text in targets {
        let Some((name, target)) = text.rsplit_once('=') else { continue };
        let name = name.trim().trim_matches('"');
        let is_named = |disk: &&String| {
            disk.trim_matches('"').eq_ignore_ascii_case(name) || is_same_disk(disk, name)
        };
        if let Some(disk) = disks.iter().find(is_named) {
            named.push((disk.as_str(), target));
        }
    }
    if named.is_empty() && targets.len() == disks.len() {
        named = disks.iter().map(String::as_str).zip(targets.iter().map(String::as_str)).collect();
    }
    if named.len() == targets.len() {
        return Ok(named);
    }
    let quoted: Vec<String> = disks.iter().map(|disk| format!("'{disk}'")).collect();
    Err(misuse(format!(
        "{}: the tests use {} disks ({}); give as many targets, or each as --target DISK=TARGET",
        file.display(),
        disks.len(),
        quoted.join(", ")
    )))
}

/// Opens the result file, if one is requested, so that an impossible name is refused before the
/// run.
fn open_result(arguments: &IometerArguments) -> anyhow::Result<Option<TextOutput>> {
    let rule = OutputRule::from_arguments(&arguments.writing())?;
    Ok(arguments.result.as_ref().map(|path| rule.create_text(path)).transpose()?)
}

/// Writes the requested results of all targets, in order, if all runs completed; otherwise says how
/// to create them later.
fn write_if_ended(
    arguments: &IometerArguments,
    planned: &[PlannedConfig],
    conducted: &SequenceOutcome,
    result: Option<TextOutput>,
) -> anyhow::Result<()> {
    let (Some(result), Some(directory)) = (result, conducted.directory.as_deref()) else {
        return Ok(());
    };
    let mut records = Vec::new();
    for run in RunGroup::runs_in(directory)? {
        records.push(Ledger::read(&run)?.into_record());
    }
    if !records.iter().all(Record::has_ended) {
        terminal::warn(&halted_text(arguments, directory));
        return Ok(());
    }
    write_results(planned, &records, result)
}

/// Returns the message for results that are not written because the run in `directory` halted.
fn halted_text(arguments: &IometerArguments, directory: &Path) -> String {
    let shown = |path: &Option<PathBuf>| {
        path.as_ref().map(|path| path.display().to_string()).unwrap_or_default()
    };
    let (result, directory) = (shown(&arguments.result), directory.display());
    let mut text = format!(
        "steadfast: {result} was not written, because the run is not finished; finish it with: \
         steadfast resume {directory}"
    );
    if arguments.file.is_some() {
        text += &format!(
            ", then: steadfast iometer {} --from-run {directory} --result {result}",
            shown(&arguments.file)
        );
    }
    text
}

fn write_results(
    planned: &[PlannedConfig],
    records: &[Record],
    result: TextOutput,
) -> anyhow::Result<()> {
    let mut measured = Vec::new();
    for (planned, record) in planned.iter().zip(records) {
        measured.push(MeasuredConfig { planned, record });
    }
    result.write(results::render(&measured).as_bytes())
}

/// Writes the results of runs that finished earlier.
fn write_results_of_run(
    arguments: &IometerArguments,
    file: &Path,
    directory: &Path,
) -> anyhow::Result<ExitState> {
    let (mut planned, mut records) = (Vec::new(), Vec::new());
    for run in RunGroup::runs_in(directory)? {
        let contents = Ledger::read(&run)?;
        let sector = u64::from(contents.plan.geometry().logical_sector);
        let record = contents.into_record();
        planned.push(plan_for_record(arguments, file, &run, &record, sector)?);
        if !record.has_ended() {
            let (run, all) = (run.display(), directory.display());
            bail!("{run}: the run is not finished; finish it with: steadfast resume {all}");
        }
        records.push(record);
    }
    if let Some(result) = open_result(arguments)? {
        write_results(&planned, &records, result)?;
    }
    Ok(ExitState::Done)
}

/// Plans the configuration again for a recorded run.
fn plan_for_record(
    arguments: &IometerArguments,
    file: &Path,
    run: &Path,
    record: &Record,
    sector: u64,
) -> anyhow::Result<PlannedConfig> {
    let is_other = || {
        let (run, file) = (run.display(), file.display());
        anyhow::anyhow!("{run} is not a run of {file}, or of another disk of it")
    };
    let recorded = record.settings.sequence.as_deref().ok_or_else(is_other)?;
    let disk = match (recorded.disk.as_deref(), arguments.disk.as_deref()) {
        (Some(disk), chosen) if chosen.is_none_or(|chosen| is_same_disk(disk, chosen)) => {
            let is_one_of_several = recorded.is_numbered();
            Some(if is_one_of_several { DiskChoice::Among(disk) } else { DiskChoice::Alone(disk) })
        }
        (_, chosen) => chosen.map(DiskChoice::Alone),
    };
    let prepare = recorded.steps.first().is_some_and(|first| first.role == StepRole::Prepare);
    let planned = PlannedConfig::new(arguments, file, ConfigTarget { sector, prepare }, disk)?;
    let sequence = planned.plan.sequence.clone().with_distinct_labels();
    let digest = |sequence: &Sequence| sequence.source.as_ref().map(|source| source.sha256.clone());
    let labels = |sequence: &Sequence| -> Vec<String> {
        sequence.steps.iter().map(|step| step.label.clone()).collect()
    };
    let is_same = digest(recorded) == digest(&sequence) && labels(recorded) == labels(&sequence);
    if is_same { Ok(planned) } else { Err(is_other()) }
}

/// Runs the four corners of Viking, or prints the plan.
fn run_viking(arguments: &IometerArguments) -> anyhow::Result<ExitState> {
    let target = other_tools::target(&arguments.front)?;
    let device = other_tools::foresee(&arguments.front, target)?;
    let preset = FourCornersOptions {
        capacity: device.capacity,
        time: arguments.time,
        fills: arguments.fills,
        fresh: !arguments.no_fresh,
    };
    let sequence = preset.sequence();
    let result = open_result(arguments)?;
    let conducted = other_tools::conduct(&arguments.front, sequence.clone())?;
    let planned = planned_config::for_viking(&sequence, &device.name);
    write_if_ended(arguments, &[planned], &conducted, result)?;
    Ok(conducted.state)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{self, Command};

    #[test]
    fn results_of_a_halted_run_come_with_the_commands_that_create_them() {
        let message = |what: &[&str]| {
            let words = [&["steadfast", "iometer"][..], what, &["--target", "sim:small"]].concat();
            let words = [&words[..], &["--result", "r.csv"]].concat();
            let words: Vec<String> = words.into_iter().map(str::to_owned).collect();
            let Command::Iometer(arguments) = cli::parse_words(&words).unwrap().command else {
                panic!("{what:?}");
            };
            halted_text(&arguments, Path::new("run"))
        };
        let of_file = message(&["a.icf"]);
        assert!(of_file.contains("r.csv was not written"), "{of_file}");
        assert!(of_file.contains("steadfast resume run, then"), "{of_file}");
        assert!(
            of_file.contains("steadfast iometer a.icf --from-run run --result r.csv"),
            "{of_file}"
        );
        // No option writes the results of a preset later.
        let of_preset = message(&["--preset", "viking"]);
        assert!(of_preset.ends_with("steadfast resume run"), "{of_preset}");
    }
}
