//! Captured workloads that a test applies: where they are read from, what of them
//! is chosen, and the single I/Os of an exact replay.

mod apportioned;
mod derived;
mod exact;
pub mod reference;
mod source;

use crate::cli::ProcedureArguments;
use crate::cli::replay::ReplayArguments;
use crate::cli::trace::DeriveArguments;
use crate::exit::misuse;
use anyhow::Context;
use derived::{capture_steps, provenance, step_choice};
use source::{Opened, Source};
use std::path::PathBuf;
use steadfast_domain::{AppliedWorkload, Device};
use steadfast_procedures::rwsw::NAMES;
use steadfast_workload::replay::StepChoice;
use steadfast_workload::replay::applied::cumulative;
use steadfast_workload::workload_file::WorkloadStep;

pub use apportioned::{each_target, is_apportioned};
pub use exact::reopen;
pub use source::{WORKLOAD_MAX, representation, text_of};

/// The procedure that plays the steps or the single I/Os of a workload in their order.
const NATIVE: &str = NAMES[0];

/// Whether a procedure applies a captured workload.
pub fn applies(procedure: &str) -> bool {
    NAMES.contains(&procedure)
}

/// The captured workload that the command line asks for, where the procedure applies
/// one.
pub fn asked(
    chosen: &ProcedureArguments,
    device: &Device,
) -> anyhow::Result<Option<Box<AppliedWorkload>>> {
    let (procedure, replay) = (&chosen.procedure, &chosen.replay);
    if !applies(procedure) {
        return match replay.first_given() {
            Some(option) => Err(misuse(format!(
                "{option}: {procedure} applies no captured workload; those that do are {}",
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
    let opened = Opened::of(&files, &replay.filter)?;
    let mut workload = if replay.exact {
        exact::workload(opened, chosen, device)?
    } else {
        stepwise(&opened, replay, procedure == NATIVE)?
    };
    // One name for both: a run can be resumed from any directory.
    workload.source = source::called(&files);
    Ok(Some(Box::new(workload)))
}

/// The workload by its capture steps, or without them where none are needed.
fn stepwise(
    opened: &Opened,
    replay: &ReplayArguments,
    needs_steps: bool,
) -> anyhow::Result<AppliedWorkload> {
    let named = || opened.name.clone();
    let choice = step_choice(opened, replay);
    if let Source::Workload(file) = &opened.source
        && !needs_steps
        && file.steps.is_empty()
    {
        let workload = cumulative(file, &choice, provenance(opened, &choice, &file.workload));
        return workload.with_context(named);
    }
    let native = capture_steps(opened, &choice).with_context(named)?;
    opened.say_damage();
    let told = provenance(opened, &choice, &native.workload);
    let mut workload = native.applied(told);
    workload.remarks.splice(0..0, opened.warnings.iter().cloned());
    Ok(workload)
}

/// The capture steps of what a workload is derived from, as its file keeps them.
pub fn kept_steps(arguments: &DeriveArguments) -> anyhow::Result<Vec<WorkloadStep>> {
    let opened = Opened::of(&arguments.selection.files, &arguments.selection.filter)?;
    let choice = StepChoice {
        pass: opened.pass.clone(),
        by: arguments.shares.of,
        threshold: arguments.shares.threshold,
        step_ns: arguments.step.map(|step| step.0),
    };
    Ok(capture_steps(&opened, &choice).with_context(|| opened.name.clone())?.kept())
}
