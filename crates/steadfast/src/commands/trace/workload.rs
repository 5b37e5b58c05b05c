//! `trace workload`: the cumulative workload and the applied test workload.

use super::Selected;
use super::columns::{aligned, number, row};
use crate::cli::trace::WorkloadArguments;
use crate::exit::Outcome;
use crate::terminal;
use anyhow::Context;
use serde::Serialize;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::Path;
use steadfast_domain::stimulus::{ActiveRange, Pace, Until};
use steadfast_domain::units::Bytes;
use steadfast_domain::{CaptureConditions, Demand};
use steadfast_trace::replay_representation::{HEADER, ReplayRepresentation};
use steadfast_trace::study::end_of;
use steadfast_trace::workload::{Application, Applied, Workload, data_pattern_seen};
use steadfast_trace::{StreamTable, Study, StudyOptions};

#[derive(Serialize)]
struct Content<'a> {
    file: String,
    conditions: &'a CaptureConditions,
    workload: &'a Workload,
    applied: &'a Applied,
}

/// A workload and where it comes from.
struct Derived {
    workload: Workload,
    conditions: CaptureConditions,
    end: u64,
}

/// Derives the workload, and prints or writes it.
pub fn run(arguments: &WorkloadArguments) -> anyhow::Result<Outcome> {
    let path = &arguments.selection.file;
    let derived = match is_replay_representation(path)? {
        true => from_text(arguments)?,
        false => from_trace(arguments)?,
    };
    let workload = &derived.workload;
    let length = Bytes(derived.end);
    let demand = arguments.demand.or(workload.demand_seen());
    let how = Application {
        demand: demand.unwrap_or(Demand::new(1, 1)),
        active_range: ActiveRange::first(arguments.active_range, length, 1 << 20),
        data_pattern: data_pattern_seen(&derived.conditions),
        pace: Pace::Closed,
        until: Until::time(arguments.time),
        seed: arguments.seed,
    };
    let mut applied = workload.applied(&how).with_context(|| path.display().to_string())?;
    if demand.is_none() {
        applied.remarks.push("No queue depth is known; T1Q1 is taken. Give --demand.".into());
    }
    if derived.end == 0 {
        let remark = "The size of the device is not known; the active range is empty. Set it for \
            the target.";
        applied.remarks.push(remark.into());
    }
    let content = Content {
        file: path.display().to_string(),
        conditions: &derived.conditions,
        workload,
        applied: &applied,
    };
    if let Some(output) = &arguments.output {
        let text = serde_json::to_string_pretty(&content)?;
        std::fs::write(output, text).with_context(|| cannot_write(output))?;
    }
    if arguments.json {
        terminal::print_json(&content)?;
    } else {
        terminal::print(&lines(workload, &applied))?;
    }
    Ok(Outcome::Done)
}

fn cannot_write(path: &Path) -> String {
    format!("{} cannot be written", path.display())
}

fn is_replay_representation(path: &Path) -> anyhow::Result<bool> {
    let cannot = || format!("{} cannot be opened", path.display());
    let file = File::open(path).with_context(cannot)?;
    let mut head = Vec::new();
    file.take(512).read_to_end(&mut head).with_context(cannot)?;
    Ok(String::from_utf8_lossy(&head).contains(HEADER))
}

fn from_text(arguments: &WorkloadArguments) -> anyhow::Result<Derived> {
    let path = &arguments.selection.file;
    let file = BufReader::new(File::open(path)?);
    let (steps, warnings) =
        ReplayRepresentation::read(file).with_context(|| path.display().to_string())?;
    for warning in &warnings {
        let line = format!("{}:{}: {}", path.display(), warning.line, warning.text);
        terminal::complain(&line);
    }
    if let Some(output) = &arguments.replay_representation {
        write_steps(&steps, output)?;
    }
    let workload = steps.workload(arguments.by, arguments.threshold);
    Ok(Derived { workload, conditions: steps.conditions(), end: 0 })
}

fn from_trace(arguments: &WorkloadArguments) -> anyhow::Result<Derived> {
    let selected = Selected::open(&arguments.selection)?;
    let conditions = selected.trace.conditions().clone();
    let device = selected.pass.filter.devices.first().copied().unwrap_or(0);
    let end = end_of(&selected.trace, device);
    let workload = match &arguments.replay_representation {
        None => {
            let mut table = StreamTable::new();
            selected.fold(&mut [&mut table])?;
            Workload::of(&table, arguments.by, arguments.threshold)
        }
        Some(output) => {
            let options = StudyOptions {
                pass: selected.pass.clone(),
                by: arguments.by,
                threshold: arguments.threshold,
                step_ns: arguments.step.map(|step| step.0),
                ..StudyOptions::default()
            };
            let study =
                Study::of(&selected.trace, &options).with_context(|| selected.name.clone())?;
            write_steps(&study.replay_representation(&selected.name), output)?;
            study.workload
        }
    };
    Ok(Derived { workload, conditions, end })
}

fn write_steps(steps: &ReplayRepresentation, output: &Path) -> anyhow::Result<()> {
    let file = File::create(output).with_context(|| cannot_write(output))?;
    let mut file = BufWriter::new(file);
    steps.write(&mut file).with_context(|| cannot_write(output))?;
    file.flush().with_context(|| cannot_write(output))
}

fn lines(workload: &Workload, applied: &Applied) -> String {
    let mut rows = vec![row(["I/O stream", "I/Os", "% of all", "normalised %", "QD avg"])];
    rows.extend(workload.streams.iter().map(|stream| {
        vec![
            stream.stream.clone(),
            stream.count.to_string(),
            number(Some(stream.share * 100.0), 2),
            number(Some(stream.normalized * 100.0), 2),
            number(stream.qd_mean, 2),
        ]
    }));
    let (count, amount) = workload.selected();
    let mut text = format!(
        "{}\n{} of {} streams at {} by {}: {count} of {} I/Os, {} of {}, {:.2} %\n\
         applied at {}, {}",
        aligned(&rows),
        workload.streams.len(),
        workload.total_streams,
        workload.threshold,
        workload.by,
        workload.total_count,
        Bytes(amount),
        Bytes(workload.total_amount),
        workload.coverage() * 100.0,
        applied.stimulus.demand,
        applied.stimulus.data_pattern
    );
    for remark in &applied.remarks {
        text.push('\n');
        text.push_str(remark);
    }
    text
}
