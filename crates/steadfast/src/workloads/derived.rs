//! Capture steps of an opened workload, and its provenance for the report.

use super::source::{SelectedSource, WorkloadSource};
use crate::cli::replay::ReplayArguments;
use steadfast_analysis::questions::cumulative::{CumulativeWorkload, Threshold};
use steadfast_workload::WorkloadDetails;
use steadfast_workload::replay::applied::{Provenance, origin};
use steadfast_workload::replay::{NativeSteps, ReplayError, StepChoice, StepSource};

/// Returns the capture steps of an opened workload.
pub(super) fn capture_steps(
    opened: &SelectedSource,
    choice: &StepChoice,
) -> Result<NativeSteps, ReplayError> {
    NativeSteps::read(
        &match &opened.source {
            WorkloadSource::Capture(captured) => StepSource::Capture(captured),
            WorkloadSource::Workload(file) => StepSource::Workload(file),
            WorkloadSource::Representation(text) => StepSource::Representation(text),
        },
        choice,
    )
}

/// Returns the choice of steps and streams that the options make.
pub(super) fn step_choice(opened: &SelectedSource, replay: &ReplayArguments) -> StepChoice {
    let default = if replay.exact { Threshold(0) } else { opened.default_threshold() };
    opened.step_choice(replay.shares, replay.threshold.unwrap_or(default), replay.step)
}

/// Returns the origin of a workload and the choices made, for the report.
pub(super) fn provenance(
    opened: &SelectedSource,
    choice: &StepChoice,
    workload: &CumulativeWorkload,
    details: &WorkloadDetails,
) -> Provenance {
    let mut facts = origin(&opened.conditions);
    let mut add = |label: &str, value: String| facts.push((label.to_owned(), value));
    if let Some(conditions) = opened.pass.filter.describe(&opened.conditions) {
        add("Chosen I/Os", conditions);
    }
    add(
        "Applied Streams",
        format!(
            "{} of {} ({} or more by {})",
            workload.streams.len(),
            workload.total_streams,
            choice.threshold,
            choice.by
        ),
    );
    let WorkloadDetails { placement, arrivals, .. } = details;
    if let Some(range) = placement.measured_in.filter(|_| !placement.by_stream.is_empty()) {
        add("Address Zones", format!("of {} streams, in {range}", placement.by_stream.len()));
    }
    if let Some(process) = &arrivals.all {
        add("Captured Arrivals", process.to_string());
    }
    Provenance {
        name: opened.title.clone(),
        source: opened.name.clone(),
        origin: facts,
        demand: opened.demand(workload),
        data_pattern: opened.data_pattern(),
        placement: placement.clone(),
        arrivals: arrivals.clone(),
    }
}
