//! Captured workloads that tests apply: their sources, selections from them, and exact replays of
//! single I/Os.

mod derived;
mod device_mapping;
mod exact;
pub mod reference;
mod source;

use crate::cli::ProcedureArguments;
use crate::cli::trace::{DeriveArguments, WorkloadExportArguments};
use crate::exit::misuse;
use anyhow::Context;
use derived::{capture_steps, provenance, step_choice};
use std::path::PathBuf;
use steadfast_domain::{AppliedWorkload, Device};
use steadfast_procedures::rwsw::NAMES;
use steadfast_procedures::{LOAD_CURVE, WRITE_AMPLIFICATION, is_known_workload};
use steadfast_workload::replay::StepChoice;
use steadfast_workload::replay::applied::cumulative;
use steadfast_workload::workload_file::WorkloadStep;

pub use device_mapping::{each_target, maps_devices};
pub use exact::reopen;
pub use source::{SelectedSource, WORKLOAD_MAX, WorkloadSource, representation, streams_of};

/// The procedure that replays steps or single I/Os in their captured order.
const NATIVE: &str = NAMES[0];

/// Returns true if the procedure applies a captured workload. That of load-curve is captured
/// unless its name is that of an access pattern.
pub fn applies(chosen: &ProcedureArguments) -> bool {
    match chosen.procedure.as_str() {
        LOAD_CURVE => chosen.workload.iter().any(|name| !is_known_workload(name)),
        WRITE_AMPLIFICATION => !chosen.workload.is_empty(),
        procedure => NAMES.contains(&procedure),
    }
}

/// Returns the captured workload named on the command line; `None` if the procedure applies none.
pub fn captured_workload(
    chosen: &ProcedureArguments,
    device: &Device,
) -> anyhow::Result<Option<Box<AppliedWorkload>>> {
    let (procedure, replay) = (&chosen.procedure, &chosen.replay);
    if !applies(chosen) {
        return match replay.first_given() {
            Some(option) => Err(misuse(format!(
                "{option}: {procedure} applies no captured workload; those that do are {}, and \
                 {LOAD_CURVE} and {WRITE_AMPLIFICATION} with --workload FILE",
                NAMES.join(", ")
            ))),
            None => Ok(None),
        };
    }
    if chosen.workload.is_empty() {
        return Err(misuse(format!(
            "{procedure} applies a captured workload; name it with --workload FILE, or one that \
             `steadfast workload list` prints"
        )));
    }
    if replay.exact && procedure != NATIVE {
        return Err(misuse(format!("--exact is for {NATIVE}; omit it with {procedure}")));
    }
    let files: Vec<PathBuf> = chosen.workload.iter().map(PathBuf::from).collect();
    let opened = SelectedSource::open(&files, &replay.filter)?;
    let mut workload = if replay.exact {
        exact::workload(opened, chosen, device)?
    } else {
        applied(&opened, &step_choice(&opened, replay), procedure == NATIVE)?
    };
    // Settings hold full paths, so that a run can be resumed from any directory.
    workload.source = source::full_name(&files);
    Ok(Some(Box::new(workload)))
}

/// Returns the workload by capture steps, or without steps if the procedure needs none.
fn applied(
    opened: &SelectedSource,
    choice: &StepChoice,
    needs_steps: bool,
) -> anyhow::Result<AppliedWorkload> {
    let named = || opened.name.clone();
    if let WorkloadSource::Workload(file) = &opened.source
        && !needs_steps
        && file.steps.is_empty()
    {
        let details = opened.details(&file.workload)?;
        let provenance = provenance(opened, choice, &file.workload, &details);
        return cumulative(file, choice, provenance).with_context(named);
    }
    let native = capture_steps(opened, choice).with_context(named)?;
    let details = opened.details(&native.workload)?;
    opened.warn_of_damage();
    let provenance = provenance(opened, choice, &native.workload, &details);
    let mut workload = native.applied(provenance);
    let before = opened.warnings.iter().chain(&details.remarks).cloned();
    workload.remarks.splice(0..0, before);
    Ok(workload)
}

/// Returns the workload that an export writes.
pub fn exported(
    opened: &SelectedSource,
    arguments: &WorkloadExportArguments,
) -> anyhow::Result<AppliedWorkload> {
    let threshold = arguments.threshold.unwrap_or(opened.default_threshold());
    let choice = opened.step_choice(arguments.shares, threshold, arguments.step);
    applied(opened, &choice, arguments.native)
}

/// Returns the capture steps in the form that a workload file stores.
pub fn kept_steps(arguments: &DeriveArguments) -> anyhow::Result<Vec<WorkloadStep>> {
    let opened = SelectedSource::open(&arguments.selection.files, &arguments.selection.filter)?;
    let shares = &arguments.shares;
    let choice = opened.step_choice(shares.of, shares.threshold, arguments.step);
    Ok(capture_steps(&opened, &choice).with_context(|| opened.name.clone())?.steps)
}
