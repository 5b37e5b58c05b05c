//! `workload export`: a workload, or the single I/Os of a trace, as a file of another tool.

use crate::cli::trace::{WorkloadExportArguments, WorkloadFormat};
use crate::exit::{ExitState, misuse, refuse_unused};
use crate::output_files::OutputRule;
use crate::run_settings::SOFTWARE;
use crate::terminal;
use crate::workloads::{self, SelectedSource, WorkloadSource};
use anyhow::{Context, bail};
use clap::ValueEnum;
use serde::Serialize;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use steadfast_analysis::questions::cumulative::Threshold;
use steadfast_analysis::questions::streams::ShareMeasure;
use steadfast_analysis::{Captured, Derivation, StudyOptions};
use steadfast_domain::io_event::CapturedDevice;
use steadfast_domain::stimulus::{ActiveRange, LoadLimits, Pace};
use steadfast_domain::text::counted;
use steadfast_domain::{Bytes, IoOp, Nanos, Order, Stimulus};
use steadfast_engine::fio;
use steadfast_exchange::iometer::{self, ConfigHeading, IometerVersion};
use steadfast_exchange::vdbench;
use steadfast_host::{NewFile, read_regular};
use steadfast_tracefile::NotRecorded;
use steadfast_workload::export::{
    ExportedIos, Expressed, IoTextFormat, LoadOptions, PortableLoad, copy_ios,
    express_with_concessions, loads, loads_by_stream, write_ios,
};
use steadfast_workload::replay_representation::ReplayRepresentation;

/// Name of the file or device if the user gives none. No such file exists, so that nothing is
/// overwritten by mistake.
const NO_TARGET: &str = "TARGET";

/// Time of a load if neither the source nor the user gives one.
const DEFAULT_TIME: Nanos = Nanos::from_secs(60);

/// Highest weight of a job in fio's flow control.
const FLOW_MAX: u64 = 1000;

/// Capacity used in place of an unknown one.
const ANY_CAPACITY: Bytes = Bytes::gib(1 << 20);

/// JSON output of `workload export`.
#[derive(Serialize, schemars::JsonSchema)]
pub struct ExportOutput<'a> {
    file: &'a Path,
    format: &'a str,
    source: &'a str,
    /// Number of loads; 0 for single I/Os.
    loads: usize,
    /// Number of I/Os of all loads; absent if only a time ends a load.
    #[serde(skip_serializing_if = "Option::is_none")]
    ios: Option<u64>,
    /// Losses in the format, one sentence each.
    lost: &'a [String],
    /// The command that takes the file.
    next: &'a str,
}

/// An export, written or ready to be written.
struct WorkloadExport {
    text: String,
    loads: usize,
    /// Number of I/Os of the loads so far; `None` if only a time ends one of them.
    ios: Option<u64>,
    lost: Vec<String>,
}

impl WorkloadExport {
    fn new() -> Self {
        WorkloadExport { text: String::new(), loads: 0, ios: Some(0), lost: Vec::new() }
    }

    /// Adds the number of I/Os of a load.
    fn count(&mut self, load: &Stimulus) {
        self.ios = self.ios.zip(load.until.ios).map(|(sum, ios)| sum.saturating_add(ios));
    }

    /// Adds what the format cannot express, once.
    fn add_loss(&mut self, sentence: String) {
        if !self.lost.contains(&sentence) {
            self.lost.push(sentence);
        }
    }

    /// Adds what the file lacks of the load `name`.
    fn add_losses(&mut self, name: &str, lost: &[&str]) {
        lost.iter().for_each(|lost| self.add_loss(format!("{name}: the file lacks {lost}.")));
    }
}

/// Writes the export and reports what the format cannot express.
pub fn run(arguments: &WorkloadExportArguments) -> anyhow::Result<ExitState> {
    let rule = OutputRule::from_arguments(&arguments.writing)?;
    let filter = &arguments.selection.filter;
    let open = || SelectedSource::open(&arguments.selection.files, filter);
    let (opened, export) = if let Some(format) = io_format(arguments.output_format) {
        refuse_options_of_loads(arguments)?;
        let file = rule.create(&arguments.output)?;
        let list_file = loss_list(arguments).map(|path| create_list(&rule, &path)).transpose()?;
        let opened = open()?;
        let export = export_single_ios(&opened, format, arguments, file.handle()?)?;
        if let Some(list_file) = list_file {
            let lines = comment_lines(&export.lost).join("\n") + "\n";
            list_file.write_and_persist(lines.as_bytes())?;
        }
        file.persist()?;
        (opened, export)
    } else {
        let output = rule.create_text(&arguments.output)?;
        let opened = open()?;
        let export = export_loads(&opened, arguments)?;
        output.write(export.text.as_bytes())?;
        (opened, export)
    };
    opened.warn_of_damage();
    print_result(arguments, &opened, &export)?;
    let is_whole = match &opened.source {
        WorkloadSource::Capture(captured) => captured.integrity().is_whole(),
        WorkloadSource::Workload(_) | WorkloadSource::Representation(_) => true,
    };
    Ok(if is_whole || filter.accept_damage { ExitState::Done } else { ExitState::Incomplete })
}

/// Beginning of the file that lists what an export lacks; only such a file is replaced.
const WRITTEN_BY: &str = "Written by ";

/// Maximum size of a list in bytes.
const LIST_MAX: u64 = 1 << 20;

/// Returns the file that lists what the export lacks, if the format cannot: CSV has no comments.
fn loss_list(arguments: &WorkloadExportArguments) -> Option<PathBuf> {
    let mut name = arguments.output.clone().into_os_string();
    name.push(".lost.txt");
    (arguments.output_format == WorkloadFormat::Csv).then(|| name.into())
}

/// Creates the list. The user did not name it, so that even `--force` replaces only an earlier list.
fn create_list(rule: &OutputRule, path: &Path) -> anyhow::Result<NewFile> {
    let is_there = path.symlink_metadata().is_ok();
    if is_there && !read_regular(path, LIST_MAX)?.starts_with(WRITTEN_BY.as_bytes()) {
        return Err(misuse(format!(
            "{} exists and is no list of an export; choose another --output",
            path.display()
        )));
    }
    Ok(rule.create(path)?)
}

/// A format of single I/Os.
enum IoFormat {
    Text(IoTextFormat),
    /// A trace file.
    Trace,
}

/// Returns the format of single I/Os; `None` for a format of loads.
fn io_format(format: WorkloadFormat) -> Option<IoFormat> {
    match format {
        WorkloadFormat::FioIolog => Some(IoFormat::Text(IoTextFormat::FioIolog)),
        WorkloadFormat::Blkparse => Some(IoFormat::Text(IoTextFormat::Blkparse)),
        WorkloadFormat::Csv => Some(IoFormat::Text(IoTextFormat::Csv)),
        WorkloadFormat::Parquet => Some(IoFormat::Trace),
        _ => None,
    }
}

/// Refuses the options that a format of single I/Os does not use.
fn refuse_options_of_loads(arguments: &WorkloadExportArguments) -> anyhow::Result<()> {
    let is_iolog = arguments.output_format == WorkloadFormat::FioIolog;
    let given = [
        ("--threshold", arguments.threshold.is_some()),
        ("--shares", arguments.shares != ShareMeasure::default()),
        ("--step", arguments.step.is_some()),
        ("--native", arguments.native),
        ("--demand", arguments.demand.is_some()),
        ("--time", arguments.time.is_some()),
        ("--device-size", arguments.device_size.is_some()),
        ("--filename", arguments.filename.is_some() && !is_iolog),
    ];
    refuse_given(&given, "writes every single I/O as captured", arguments)
}

/// Refuses the options that a format of loads does not use.
fn refuse_options_without_effect(
    opened: &SelectedSource,
    arguments: &WorkloadExportArguments,
) -> anyhow::Result<()> {
    let step = ("--step", arguments.step.is_some());
    match arguments.output_format {
        WorkloadFormat::ReplayRepresentation => {
            let of_loads = [
                ("--native", arguments.native),
                ("--demand", arguments.demand.is_some()),
                ("--time", arguments.time.is_some()),
                ("--device-size", arguments.device_size.is_some()),
                ("--filename", arguments.filename.is_some()),
            ];
            refuse_given(&of_loads, "has the capture steps and names no device", arguments)?;
            if matches!(&opened.source, WorkloadSource::Capture(_)) {
                return Ok(());
            }
            let filter = arguments.selection.filter.first_given();
            let of_captures = [
                ("--threshold", arguments.threshold.is_some()),
                ("--shares", arguments.shares != ShareMeasure::default()),
                step,
                (filter.unwrap_or_default(), filter.is_some()),
            ];
            refuse_given(&of_captures, "keeps the steps and streams of this source", arguments)
        }
        _ if !arguments.native => {
            refuse_given(&[step], "gets all steps as one without --native", arguments)
        }
        _ => Ok(()),
    }
}

/// Refuses the first option that was given.
fn refuse_given(
    options: &[(&'static str, bool)],
    why: &str,
    arguments: &WorkloadExportArguments,
) -> anyhow::Result<()> {
    refuse_unused(options, format!("{} {why}", format_name(arguments.output_format)))
}

fn export_single_ios(
    opened: &SelectedSource,
    format: IoFormat,
    arguments: &WorkloadExportArguments,
    file: File,
) -> anyhow::Result<WorkloadExport> {
    let captured = match &opened.source {
        WorkloadSource::Capture(captured)
            if captured.check_recorded(NotRecorded::SingleIos).is_ok() =>
        {
            captured
        }
        _ => bail!(
            "{} has no single I/Os, which {} needs; export a trace, or choose the format fio, \
             iometer, vdbench or replay-representation",
            opened.name,
            format_name(arguments.output_format)
        ),
    };
    let splits = |name: &str| name.contains(|c: char| c.is_control() || c.is_whitespace());
    if let Some(name) = arguments.filename.as_deref().filter(|name| splits(name)) {
        return Err(misuse(format!("--filename {name:?}: the name must not contain blanks")));
    }
    let named = || opened.name.clone();
    let out = BufWriter::with_capacity(1 << 20, file);
    let ExportedIos { ios, lost } = match format {
        IoFormat::Text(format) => {
            let filename = arguments.filename.as_deref();
            write_ios(captured, &opened.pass, format, filename, out).with_context(named)?
        }
        IoFormat::Trace => {
            let (mut out, exported) = copy_ios(captured, &opened.pass, out).with_context(named)?;
            out.flush()?;
            exported
        }
    };
    Ok(WorkloadExport { ios: Some(ios), lost, ..WorkloadExport::new() })
}

/// Returns the loads of the source in the chosen format.
fn export_loads(
    opened: &SelectedSource,
    arguments: &WorkloadExportArguments,
) -> anyhow::Result<WorkloadExport> {
    refuse_options_without_effect(opened, arguments)?;
    let mut export = WorkloadExport::new();
    if matches!(&opened.source, WorkloadSource::Capture(_)) {
        export.add_loss("Addresses, order and times of single I/Os are left out.".to_owned());
    }
    if arguments.output_format == WorkloadFormat::ReplayRepresentation {
        return export_representation(opened, arguments, export);
    }
    let workload = workloads::exported(opened, arguments)?;
    let device = captured_device(opened);
    let capacity = arguments.device_size.or_else(|| device?.capacity);
    let needs_capacity = arguments.output_format != WorkloadFormat::Vdbench;
    if needs_capacity && capacity.is_none() {
        return Err(misuse(format!(
            "{}: the size of the device is unknown; give --device-size, such as 1TB",
            opened.name
        )));
    }
    let options = LoadOptions {
        by_step: arguments.native,
        demand: arguments.demand,
        time: arguments.time,
        capacity: capacity.unwrap_or(ANY_CAPACITY),
        has_load_per_stream: arguments.output_format == WorkloadFormat::Fio,
    };
    let (loads, lost) = loads(&workload, &options);
    for sentence in lost {
        export.add_loss(sentence);
    }
    let filename = arguments.filename.as_deref().unwrap_or(NO_TARGET);
    if filename.contains(|c: char| c.is_control() || c.is_whitespace() || ",;#$".contains(c)) {
        return Err(misuse(format!(
            "--filename {filename:?}: the file cannot contain a blank, comma, ';', '#' or '$'"
        )));
    }
    let sector = u64::from(device.and_then(|device| device.logical_sector).unwrap_or(512));
    match arguments.output_format {
        WorkloadFormat::Fio => fio_jobs(&mut export, &loads, filename, sector),
        WorkloadFormat::Iometer => {
            let title = format!("{} by {SOFTWARE}", opened.title);
            iometer_config(&mut export, &loads, filename, sector, &title);
        }
        _ => {
            if arguments.device_size.is_some() {
                export.add_loss(
                    "--device-size is not written: vdbench finds the size itself.".to_owned(),
                );
            }
            vdbench_parameters(&mut export, &loads, filename);
        }
    }
    if export.loads == 0 {
        bail!(
            "{} cannot express any load of {}: {}",
            format_name(arguments.output_format),
            opened.name,
            export.lost.join(" ")
        );
    }
    Ok(export)
}

/// Returns the captured device if it is the only one, or the only one chosen.
fn captured_device(opened: &SelectedSource) -> Option<&CapturedDevice> {
    let devices = &opened.conditions.devices;
    match (devices.as_slice(), opened.pass.filter.devices.as_slice()) {
        ([device], _) => Some(device),
        (_, [chosen]) => devices.get(usize::from(*chosen)),
        _ => None,
    }
}

/// Writes each stream of each load as a job. The jobs of a load run together; flow control keeps
/// their shares if they have no rates.
fn fio_jobs(export: &mut WorkloadExport, loads: &[PortableLoad], filename: &str, sector: u64) {
    let mut jobs = String::new();
    // fio separates files by a colon.
    let filename = &filename.replace(':', "\\:");
    for (number, load) in (1..).zip(loads) {
        let (label, demand) = (&load.label, load.stimulus.demand);
        let streams = loads_by_stream(&load.stimulus);
        let ios_of_load = streams.iter().map(ios_of).sum::<u64>().max(1);
        let has_flow_control = load.stimulus.pace == Pace::Closed && streams.len() > 1;
        let (mut section, mut outstanding) = (String::new(), 0);
        for mut stream_load in streams {
            let name = stream_load.streams.iter().map(ToString::to_string).collect::<String>();
            let pace = fio::playable_pace(&stream_load.pace);
            if matches!((&stream_load.pace, &pace), (Pace::Poisson { .. }, Pace::Burst { .. })) {
                export.add_loss(format!(
                    "Arrivals at random of streams with fewer than {} I/Os a second become even.",
                    fio::WHOLE_RATES
                ));
            }
            if pace != stream_load.pace {
                export.add_loss(format!(
                    "Rates are whole I/Os per second; of a stream with fewer than {} a second, \
                     each I/O is followed by a pause.",
                    fio::WHOLE_RATES
                ));
            }
            stream_load.pace = pace;
            if !has_flow_control {
                stream_load = with_zone_as_range(stream_load);
            }
            stream_load.until.time =
                stream_load.until.time.filter(|_| stream_load.until.ios.is_none());
            let job = format!("load-{number}-{}", name.replace([' ', '/', '.'], "-"));
            let capacity = load.stimulus.active_range.length;
            let is_first = section.is_empty();
            let express =
                |load: &Stimulus| fio::job(load, &job, is_first, filename, capacity, sector);
            match express_with_concessions(&stream_load, express) {
                Err(why) => export.add_loss(format!("{name} is left out: {why}.")),
                Ok(Expressed { value: text, lost }) => {
                    export.add_losses(&name, &lost);
                    section.push_str(&text);
                    if has_flow_control {
                        let flow = flow_weight(ios_of(&stream_load), ios_of_load);
                        section.push_str(&format!("flow={flow}\nflow_id={number}\n"));
                    }
                    section.push('\n');
                    export.count(&stream_load);
                    outstanding += stream_load.demand.outstanding();
                }
            }
        }
        if section.is_empty() {
            continue;
        }
        if has_flow_control {
            export.add_loss(
                "One queue for all streams: fio's flow control makes jobs wait for one another, so \
                 that fewer I/Os are outstanding and the rate is lower, on few processors much \
                 lower."
                    .to_owned(),
            );
        }
        if has_flow_control && outstanding > demand.outstanding() {
            export.add_loss(
                "Each I/O stream is a job with a queue of its own; where a load has more streams \
                 than outstanding I/Os, each keeps one outstanding."
                    .to_owned(),
            );
        }
        export.loads += 1;
        jobs.push_str(&format!("\n; {label}: {demand}\n{section}"));
    }
    if loads.iter().any(|load| load.stimulus.streams.len() > 1) {
        let is_counted = loads.iter().all(|load| load.stimulus.until.ios.is_some());
        let exact = "; over the whole load its number of I/Os is exact";
        export.add_loss(format!(
            "The share of each job at any time is its flow weight of at most {FLOW_MAX}, or its \
             rate{}.",
            if is_counted { exact } else { "" }
        ));
    }
    export.text = comments(&export.lost, ';') + &jobs;
}

/// Returns a sequential stream with a single zone as one without, in the range of the zone: fio has
/// zones for random offsets only. Its edges are whole positions.
fn with_zone_as_range(mut load: Stimulus) -> Stimulus {
    if let [stream] = load.streams.as_mut_slice()
        && let Order::Sequential(_) = stream.order
        && let [zone] = stream.zones.as_slice()
    {
        let ActiveRange { start, length, .. } = load.active_range;
        let alignment = stream.alignment().0.max(1);
        let position = |ppm: u32| {
            let byte = u128::from(length.0) * u128::from(ppm) / 1_000_000;
            byte as u64 / alignment * alignment
        };
        let (from, to) = (position(zone.from_ppm), position(zone.to_ppm));
        if to.saturating_sub(from) >= stream.size.0 {
            load.active_range = ActiveRange::new(start + Bytes(from), Bytes(to - from));
            stream.zones.clear();
        }
    }
    load
}

/// Returns the weight of a job in fio's flow control.
fn flow_weight(ios: u64, whole: u64) -> u64 {
    let weight =
        (u128::from(ios) * u128::from(FLOW_MAX) + u128::from(whole) / 2) / u128::from(whole);
    (weight as u64).clamp(1, FLOW_MAX)
}

/// Returns the number of I/Os of a stream's load: as captured, or its weight if only time limits
/// it.
fn ios_of(load: &Stimulus) -> u64 {
    load.until.ios.unwrap_or_else(|| load.streams.iter().map(|one| u64::from(one.weight)).sum())
}

/// Returns what the format cannot express, as lines for the top of the file.
fn comment_lines(lost: &[String]) -> Vec<String> {
    if lost.is_empty() {
        return vec![format!("{WRITTEN_BY}{SOFTWARE}.")];
    }
    let heading = format!("{WRITTEN_BY}{SOFTWARE}. The file cannot say:");
    let printable = |sentence: &String| sentence.replace(|c: char| c.is_control() || c == '$', " ");
    std::iter::once(heading).chain(lost.iter().map(printable)).collect()
}

/// Returns the same as comments that begin with a sign.
fn comments(lost: &[String], sign: char) -> String {
    comment_lines(lost).iter().map(|line| format!("{sign} {line}\n")).collect()
}

/// Returns the loads with a time in whole seconds and no other limit.
fn with_times(export: &mut WorkloadExport, loads: &[PortableLoad]) -> Vec<PortableLoad> {
    let mut timed = Vec::new();
    for load in loads {
        let time = load.stimulus.until.time;
        if time.is_none() {
            export.add_loss(format!("The source has no time; each load runs {DEFAULT_TIME}."));
        }
        let time = time.unwrap_or(DEFAULT_TIME);
        if !time.0.is_multiple_of(Nanos::SECOND.0) {
            export.add_loss("Times are rounded up to whole seconds.".to_owned());
        }
        let seconds = time.0.div_ceil(Nanos::SECOND.0).max(1);
        let mut load = load.clone();
        load.stimulus.until = LoadLimits::time(Nanos(seconds.saturating_mul(Nanos::SECOND.0)));
        timed.push(load);
    }
    timed
}

/// Returns the name of one of these loads, as the subject of a sentence.
fn subject(loads: &[PortableLoad]) -> &'static str {
    if loads.len() > 1 { "some loads" } else { "the load" }
}

fn iometer_config(
    export: &mut WorkloadExport,
    loads: &[PortableLoad],
    disk: &str,
    sector: u64,
    title: &str,
) {
    let version = IometerVersion::of_1_1();
    let heading = ConfigHeading { version, description: title, disk, sector };
    let mut kept: Vec<PortableLoad> = Vec::new();
    for PortableLoad { label, stimulus } in with_times(export, loads) {
        let express = |load: &Stimulus| {
            let alone = iometer::export(&heading, [(label.as_str(), load)]);
            alone.config.map(|_| load.clone()).ok_or_else(|| alone.remarks.join("; "))
        };
        match express_with_concessions(&stimulus, express) {
            Err(why) => export.add_loss(format!("{why}.")),
            Ok(Expressed { value: stimulus, lost }) => {
                export.add_losses(subject(loads), &lost);
                export.count(&stimulus);
                kept.push(PortableLoad { label, stimulus });
            }
        }
    }
    let named = kept.iter().map(|load| (load.label.as_str(), &load.stimulus));
    let exported = iometer::export(&heading, named);
    let mut left_out = 0;
    for remark in exported.remarks {
        match remark.split_once(": ") {
            Some((_, what)) if !what.starts_with("left out") => {
                export.add_loss(format!("{}: {what}.", subject(loads)));
            }
            _ => {
                left_out += 1;
                export.add_loss(format!("{remark}."));
            }
        }
    }
    if let Some(config) = exported.config {
        export.loads = kept.len() - left_out;
        export.text = iometer::write_with_comments(&config, &comment_lines(&export.lost));
    }
}

fn vdbench_parameters(export: &mut WorkloadExport, loads: &[PortableLoad], lun: &str) {
    let mut runs = Vec::new();
    let duplicate_percent = vdbench::shared_duplicates(loads.iter().map(|load| &load.stimulus));
    if duplicate_percent > 0 {
        export.add_loss(
            "The place of a block decides whether vdbench writes a duplicate there; a rewritten \
             duplicate keeps its content."
                .to_owned(),
        );
    }
    for PortableLoad { label, stimulus } in with_times(export, loads) {
        if stimulus.until.time <= Some(Nanos::SECOND) {
            export.add_loss("A run of vdbench takes at least 2 s.".to_owned());
        }
        let express = |load: &Stimulus| {
            vdbench::express(load, duplicate_percent).map(|run| (run, load.clone()))
        };
        match express_with_concessions(&stimulus, express) {
            Err(why) => export.add_loss(format!("{label} is left out: {why}.")),
            Ok(Expressed { value: (run, stimulus), lost }) => {
                export.add_losses(subject(loads), &lost);
                export.count(&stimulus);
                runs.push(run);
            }
        }
    }
    export.loads = runs.len();
    let text = vdbench::write(&runs, lun, duplicate_percent);
    export.text = comments(&export.lost, '*') + &text;
}

/// Returns the capture steps of the source as a "Replay representation".
fn export_representation(
    opened: &SelectedSource,
    arguments: &WorkloadExportArguments,
    mut export: WorkloadExport,
) -> anyhow::Result<WorkloadExport> {
    let steps = match &opened.source {
        WorkloadSource::Representation(steps) => steps.as_ref().clone(),
        WorkloadSource::Workload(file) => {
            let steps = ReplayRepresentation::from_workload(file).with_context(|| {
                format!(
                    "{} has no capture steps; name a trace, or a workload derived with --native",
                    opened.name
                )
            })?;
            export.add_loss("The steps have no date; they begin in 1970.".to_owned());
            let (placement, arrivals) = (&file.placement, &file.arrivals);
            if !placement.zones.is_empty() || !placement.by_stream.is_empty() {
                export.add_loss("Address zones are left out.".to_owned());
            }
            if arrivals.all.is_some() || !arrivals.by_stream.is_empty() {
                export.add_loss("Arrivals are left out.".to_owned());
            }
            steps
        }
        WorkloadSource::Capture(captured) => steps_of(opened, captured, arguments)?,
    };
    let counted = steps.steps.iter().map(|step| step.count).fold(0, u64::saturating_add);
    let streams = || steps.steps.iter().flat_map(|step| &step.streams);
    let listed = streams().map(|stream| stream.ios).fold(0, u64::saturating_add);
    if listed < counted && !matches!(&opened.source, WorkloadSource::Representation(_)) {
        export.add_loss(format!(
            "{} of {counted} I/Os belong to streams that are left out; they count in the totals of \
             steps.",
            counted - listed
        ));
    }
    let others = streams().filter(|one| !matches!(one.key.op, IoOp::Read | IoOp::Write));
    let others: u64 = others.map(|stream| stream.ios).sum();
    if others > 0 {
        export
            .add_loss(format!("{others} discards and flushes count in the totals of steps only."));
    }
    let mut text = Vec::new();
    steps.write(&mut text)?;
    export.ios = Some(listed.saturating_sub(others));
    export.loads = steps.steps.len();
    // Lines that begin with a number sign are comments; the first line names the workload.
    let text = String::from_utf8_lossy(&text).into_owned();
    let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
    export.text = format!("{first}\n{}{rest}", comments(&export.lost, '#'));
    Ok(export)
}

fn steps_of(
    opened: &SelectedSource,
    captured: &Captured,
    arguments: &WorkloadExportArguments,
) -> anyhow::Result<ReplayRepresentation> {
    let options = StudyOptions {
        pass: opened.pass.clone(),
        by: arguments.shares,
        threshold: arguments.threshold.unwrap_or(Threshold::DEFAULT),
        step_ns: arguments.step.map(|step| step.0),
        ..StudyOptions::default()
    };
    let named = || opened.name.clone();
    let derivation = Derivation::read(captured, &options, true).with_context(named)?;
    if derivation.totals.mixes_layers() {
        bail!("{}: a workload comes from one layer; choose it with --layer", opened.name);
    }
    ReplayRepresentation::from_derivation(&derivation, &opened.title)
        .with_context(|| format!("{} has no capture steps", opened.name))
}

fn format_name(format: WorkloadFormat) -> String {
    let value = format.to_possible_value();
    value.map_or(String::new(), |value| value.get_name().to_owned())
}

/// Returns the command that uses the file.
fn next_command(arguments: &WorkloadExportArguments) -> String {
    let file = arguments.output.display();
    match arguments.output_format {
        WorkloadFormat::Fio => format!("fio {file}"),
        WorkloadFormat::Iometer => format!("steadfast iometer {file} --target TARGET"),
        WorkloadFormat::Vdbench => format!("vdbench -f {file}"),
        WorkloadFormat::ReplayRepresentation => {
            format!("steadfast run replay-native --workload {file} --target TARGET")
        }
        WorkloadFormat::FioIolog => format!(
            "fio --name=replay --read_iolog={file} --ioengine=libaio --direct=1 --iodepth=64 \
             --replay_redirect={}",
            arguments.filename.as_deref().unwrap_or(NO_TARGET)
        ),
        WorkloadFormat::Blkparse => format!("steadfast trace import {file} -o TRACE"),
        WorkloadFormat::Csv => format!(
            "steadfast trace import {file} --csv time=1:ns,op=2,offset=3,bytes=4,response=5:ns,\
             device=6,pid=7,command=8 -o TRACE"
        ),
        WorkloadFormat::Parquet => format!("steadfast trace streams {file}"),
    }
}

fn print_result(
    arguments: &WorkloadExportArguments,
    opened: &SelectedSource,
    export: &WorkloadExport,
) -> anyhow::Result<()> {
    export.lost.iter().for_each(|lost| terminal::warn(&format!("Note: {lost}")));
    let (format, next) = (format_name(arguments.output_format), next_command(arguments));
    if arguments.json {
        return terminal::print_json(&ExportOutput {
            file: &arguments.output,
            format: &format,
            source: &opened.name,
            loads: export.loads,
            ios: export.ios,
            lost: &export.lost,
            next: &next,
        });
    }
    let file = arguments.output.display();
    let ios = export.ios.map_or_else(String::new, |ios| format!(", {}", counted(ios, "I/O")));
    let list =
        loss_list(arguments).map_or_else(String::new, |path| format!(", {}", path.display()));
    terminal::status(&format!("Written: {file} ({format}{ios}){list}. Next: {next}"));
    Ok(())
}
