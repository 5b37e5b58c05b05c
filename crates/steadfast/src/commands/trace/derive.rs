//! `workload derive`: the cumulative workload of a trace, as a table or as a file that a test
//! applies.

use super::fidelity::{self, DerivedFidelity};
use super::listing_table::listing_table;
use crate::cli::trace::{DeriveArguments, DetailName, WorkloadArguments, WorkloadCommand};
use crate::exit::{ExitState, misuse, refuse_unused};
use crate::filtered_capture::FilteredCapture;
use crate::output_files::{OutputRule, TextOutput};
use crate::terminal;
use crate::workloads::{self, reference};
use anyhow::{Context, bail};
use serde::Serialize;
use std::io::Read;
use std::path::{Path, PathBuf};
use steadfast_analysis::questions::cumulative::{CumulativeWorkload, WorkloadStream};
use steadfast_analysis::{CaptureTotals, Derivation};
use steadfast_domain::stimulus::DataPattern;
use steadfast_domain::text::{counted, grouped, printable};
use steadfast_domain::units::Bytes;
use steadfast_domain::{CaptureConditions, Demand, IoStream};
use steadfast_host::open_regular;
use steadfast_workload::replay_representation::{HEADER, ReplayRepresentation};
use steadfast_workload::workload_file::{WorkloadOrigin, WorkloadStep};
use steadfast_workload::{
    ArrivalProcess, CapturedArrivals, Placement, WorkloadDetails, WorkloadFile,
};

#[derive(Serialize, schemars::JsonSchema)]
pub struct DeriveContent<'a> {
    file: String,
    conditions: &'a CaptureConditions,
    workload: &'a CumulativeWorkload,
    demand: String,
    data_pattern: String,
    /// Streams that an engine applies; the weight of each is its count.
    io_streams: &'a [IoStream],
    /// Arrivals of all applied I/Os in the capture; null if unknown or left out.
    arrivals: Option<ArrivalProcess>,
    remarks: &'a [String],
    /// Agreement with the capture; null without --report.
    fidelity: Option<DerivedFidelity>,
}

/// A workload and its origin.
struct DerivedWorkload {
    workload: CumulativeWorkload,
    conditions: CaptureConditions,
    steps: Vec<WorkloadStep>,
    demand: Option<Demand>,
    /// Description of the filter; `None` if all I/Os were used.
    filter: Option<String>,
    /// Parts of the trace that are missing or damaged.
    missing: Vec<String>,
    details: WorkloadDetails,
    /// Capture of single I/Os or sums; `None` for a text.
    selected: Option<FilteredCapture>,
    ending: ExitState,
}

/// Runs `workload`.
pub fn run(arguments: &WorkloadArguments) -> anyhow::Result<ExitState> {
    match &arguments.command {
        WorkloadCommand::Derive(arguments) => derive(arguments),
        WorkloadCommand::Export(arguments) => super::export::run(arguments),
        WorkloadCommand::List(arguments) => reference::list(arguments),
        WorkloadCommand::Show(arguments) => reference::show(arguments),
    }
}

/// Derives the workload and prints or writes it.
fn derive(arguments: &DeriveArguments) -> anyhow::Result<ExitState> {
    let path = arguments.selection.file();
    let name = path.display().to_string();
    let rule = OutputRule::from_arguments(&arguments.writing)?;
    let create = |path: &Option<PathBuf>| path.as_deref().map(|path| rule.create_text(path));
    let output = create(&arguments.workload_file).transpose()?;
    let steps = create(&arguments.replay_representation).transpose()?;
    let derived = if is_replay_representation(path)? {
        from_text(arguments, steps)?
    } else {
        from_trace(arguments, steps)?
    };
    let DerivedWorkload { conditions, filter, missing, .. } = derived;
    let origin = WorkloadOrigin { conditions: &conditions, filter, missing };
    let demand = arguments.demand.or(derived.demand);
    let file = WorkloadFile::derived(name.clone(), derived.workload, demand, origin);
    let mut file = file.with_context(|| name)?.with_details(derived.details);
    let captured_steps = derived.steps.len();
    if arguments.native {
        file.steps = workloads::kept_steps(arguments)?;
    }
    leave_out(&arguments.without, &mut file);
    let fidelity = match (&derived.selected, arguments.report) {
        (_, false) => None,
        (Some(selected), true) => Some(fidelity::measured(arguments, &file, selected)?),
        (None, true) => {
            let what = "--report needs a trace of single I/Os; a Replay representation has none";
            return Err(misuse(what.to_owned()));
        }
    };
    if let Some(output) = output {
        let text = file.to_string();
        if text.len() as u64 > workloads::WORKLOAD_MAX {
            bail!(
                "{}: the workload with its steps would have {} MiB, and no workload file of more \
                 than {} MiB is read; omit --native and replay the trace itself (run \
                 replay-native --workload {0})",
                file.name,
                text.len() >> 20,
                workloads::WORKLOAD_MAX >> 20
            );
        }
        output.write(text.as_bytes())?;
    }
    if arguments.json {
        let (io_streams, _) = file.io_streams()?;
        terminal::print_json(&DeriveContent {
            file: file.name.clone(),
            conditions: &conditions,
            workload: &file.workload,
            demand: demand_text(&file),
            data_pattern: file.data_pattern.to_string(),
            io_streams: &io_streams,
            arrivals: file.arrivals.all.clone(),
            remarks: &file.remarks,
            fidelity,
        })?
    } else {
        terminal::print(&summary(&file, captured_steps))?;
        if let Some(fidelity) = fidelity {
            terminal::print(&fidelity.lines())?;
        }
    }
    Ok(derived.ending)
}

/// Removes the parts that the user excluded.
fn leave_out(parts: &[DetailName], file: &mut WorkloadFile) {
    for part in parts {
        let what = match part {
            DetailName::Zones => {
                file.placement = Placement::default();
                "address zones"
            }
            DetailName::Arrivals => {
                file.arrivals = CapturedArrivals::default();
                "arrivals"
            }
            DetailName::Content => {
                file.data_pattern = DataPattern::default();
                file.steps.iter_mut().for_each(|step| step.data_pattern = None);
                "the content of the data"
            }
        };
        file.remarks.push(format!("Left out as asked: {what}."));
    }
}

fn demand_text(file: &WorkloadFile) -> String {
    file.demand.map_or("T1Q1".to_owned(), |demand| demand.to_string())
}

fn is_replay_representation(path: &Path) -> anyhow::Result<bool> {
    let cannot = || format!("{} cannot be opened", path.display());
    let file = open_regular(path)?;
    let mut head = Vec::new();
    file.take(512).read_to_end(&mut head).with_context(cannot)?;
    Ok(String::from_utf8_lossy(&head).contains(HEADER))
}

/// Refuses further files and the options that need I/Os: a Replay representation has fixed steps.
fn refuse_options_of_captures(arguments: &DeriveArguments, path: &Path) -> anyhow::Result<()> {
    if let [_, second, ..] = arguments.selection.files.as_slice() {
        return Err(misuse(format!(
            "{}: {} is a Replay representation, which is derived alone; name one file",
            second.display(),
            path.display()
        )));
    }
    let of_filter = arguments.selection.filter.first_given();
    let options = [
        (of_filter.unwrap_or_default(), of_filter.is_some()),
        ("--step", arguments.step.is_some()),
    ];
    let why = "is a Replay representation, whose steps and streams are derived as they are";
    refuse_unused(&options, format!("{} {why}", path.display()))
}

fn from_text(
    arguments: &DeriveArguments,
    output: Option<TextOutput>,
) -> anyhow::Result<DerivedWorkload> {
    let path = arguments.selection.file();
    refuse_options_of_captures(arguments, path)?;
    let (steps, _) = workloads::representation(open_regular(path)?, path)?;
    if let Some(output) = output {
        write_steps(&steps, output)?;
    }
    let workload = steps.workload(arguments.shares.of, arguments.shares.threshold);
    let conditions = steps.conditions();
    let demand = steps.demand_seen();
    Ok(DerivedWorkload {
        steps: steps.workload_steps(&workload),
        workload,
        conditions,
        demand,
        filter: None,
        missing: Vec::new(),
        details: WorkloadDetails::default(),
        selected: None,
        ending: ExitState::Done,
    })
}

fn from_trace(
    arguments: &DeriveArguments,
    output: Option<TextOutput>,
) -> anyhow::Result<DerivedWorkload> {
    let selected = FilteredCapture::open(&arguments.selection)?;
    let options = selected.options(&arguments.shares, arguments.step);
    let derivation =
        selected.ask(|captured, _| Derivation::read(captured, &options, output.is_some()))?;
    if derivation.totals.mixes_layers() {
        bail!(
            "{}: a workload comes from one layer; omit --layer both, or give --layer filesystem",
            selected.name
        );
    }
    let name = arguments.selection.file().display().to_string();
    if let Some((steps, output)) =
        ReplayRepresentation::from_derivation(&derivation, &name).zip(output)
    {
        write_steps(&steps, output)?;
    }
    let steps = WorkloadStep::from_derivation(&derivation);
    let (missing, ending) = (selected.captured.integrity().missing(), selected.ending());
    let filter = derivation.totals.describe_filter();
    let CaptureTotals { workload, conditions, .. } = derivation.totals;
    let demand = workload.demand_seen();
    let details =
        selected.ask(|captured, pass| WorkloadDetails::read(captured, pass, &workload))?;
    let selected = Some(selected);
    let derived = DerivedWorkload {
        workload,
        conditions,
        steps,
        demand,
        filter,
        missing,
        details,
        selected,
        ending,
    };
    Ok(derived)
}

fn write_steps(steps: &ReplayRepresentation, output: TextOutput) -> anyhow::Result<()> {
    let mut text = Vec::new();
    steps.write(&mut text)?;
    output.write(&text)
}

/// Formats the streams, their coverage and how they are applied.
fn summary(file: &WorkloadFile, captured_steps: usize) -> String {
    let workload = &file.workload;
    let selected = workload.selected();
    let mut text = format!(
        "{}\n{} of {} streams at {} by {}: {} of {}, {} of {}, {:.2} %\n\
         {captured_steps} capture steps with I/Os{}; applied at {}, {}",
        listing_table(&WorkloadStream::TABLE, &workload.streams),
        workload.streams.len(),
        workload.total_streams,
        workload.threshold,
        workload.by,
        grouped(selected.ios),
        counted(workload.total_count, "I/O"),
        Bytes(selected.bytes),
        Bytes(workload.total_amount),
        workload.coverage() * 100.0,
        if file.steps.is_empty() { " (kept by --native)" } else { ", kept" },
        demand_text(file),
        file.data_pattern
    );
    if let Some(range) = file.placement.measured_in {
        let zones = file.placement.by_stream.values();
        let most = zones.map(Vec::len).max().unwrap_or(0);
        let streams = file.placement.by_stream.len();
        text.push_str(&format!("\naddress zones: {streams} streams, up to {most}, in {range}"));
    }
    if let Some(process) = &file.arrivals.all {
        text.push_str(&format!("\narrivals: {process}"));
    }
    for remark in &file.remarks {
        text.push('\n');
        text.push_str(&printable(remark));
    }
    text
}
