//! `steadfast iometer export`: our steps as an Iometer configuration.

use crate::cli::ProcedureArguments;
use crate::cli::iometer::{
    ConfigurationArguments, ExportArguments, ExportRunArguments, IcfVersion,
};
use crate::commands::start_run::geometry;
use crate::exit::{ExitState, misuse, refuse_unused};
use crate::output_files::OutputRule;
use crate::run_settings::settings;
use crate::{target, terminal};
use anyhow::bail;
use std::collections::HashSet;
use std::path::Path;
use steadfast_domain::{Demand, Load, Step, Stimulus};
use steadfast_exchange::iometer::{self, ConfigHeading, IometerVersion};
use steadfast_runner::{Ledger, steps_of};

/// Steps to export, with the title of their procedure or run.
struct ExportedSteps {
    title: String,
    disk: String,
    sector: u64,
    steps: Vec<Step>,
}

/// Writes the steps of a procedure.
pub fn procedure(arguments: &ExportArguments) -> anyhow::Result<ExitState> {
    write(&steps_of_procedure(&arguments.procedure)?, &arguments.file)
}

/// Writes the steps of a run.
pub fn run(arguments: &ExportRunArguments) -> anyhow::Result<ExitState> {
    write(&steps_of_run(&arguments.run)?, &arguments.file)
}

/// Writes the configuration and reports what it cannot express.
fn write(steps: &ExportedSteps, arguments: &ConfigurationArguments) -> anyhow::Result<ExitState> {
    let output = OutputRule::from_arguments(&arguments.writing)?.create_text(&arguments.output)?;
    let heading = ConfigHeading {
        version: match arguments.icf_version {
            IcfVersion::Y2006 => IometerVersion::of_2006(),
            IcfVersion::V1_1 => IometerVersion::of_1_1(),
        },
        description: &steps.title,
        disk: &steps.disk,
        sector: steps.sector,
    };
    let loads = distinct_loads(&steps.steps);
    let named = loads.iter().map(|(label, stimulus)| (label.as_str(), *stimulus));
    let export = iometer::export(&heading, named);
    let is_concurrent = |step: &&Step| !step.continues && matches!(step.load, Load::Together(_));
    for step in steps.steps.iter().filter(is_concurrent) {
        terminal::warn(&format!(
            "Note: {}: left out: loads that are applied at once are not exported",
            step.place
        ));
    }
    for remark in &export.remarks {
        terminal::warn(&format!("Note: {remark}"));
    }
    let Some(config) = export.config else {
        bail!("Iometer can express no step of {}: no file is written", steps.title);
    };
    output.write(iometer::write(&config).as_bytes())?;
    terminal::warn(&format!(
        "The target in the file is '{}'; choose the disk in Iometer if it has another name there.",
        steps.disk
    ));
    Ok(ExitState::Done)
}

/// Returns the distinct loads in order of first use. A step that continues the previous one is
/// part of it.
fn distinct_loads(steps: &[Step]) -> Vec<(String, &Stimulus)> {
    let mut seen = HashSet::new();
    let mut loads = Vec::new();
    for step in steps.iter().filter(|step| !step.continues) {
        let Some(stimulus) = step.load.stimulus() else { continue };
        let label = label(&step.place.label, stimulus.demand);
        // The seed belongs to the step, not to the load.
        let without_seed = format!("{label}{:?}", stimulus.clone().seed(0));
        if seen.insert(without_seed) {
            loads.push((label, stimulus));
        }
    }
    loads
}

/// Adds the demand to a label that does not contain it.
fn label(label: &str, demand: Demand) -> String {
    let demand = demand.to_string();
    if label.contains(&demand) { label.to_owned() } else { format!("{label} {demand}") }
}

fn steps_of_run(directory: &Path) -> anyhow::Result<ExportedSteps> {
    let contents = Ledger::read(directory)?;
    let geometry = contents.plan.geometry();
    let disk = contents.plan.device.name.clone();
    let record = contents.into_record();
    Ok(ExportedSteps {
        title: format!("{} on {disk}", record.settings.procedure),
        disk,
        sector: u64::from(geometry.logical_sector),
        steps: record.steps().map(|(step, _)| step.clone()).collect(),
    })
}

/// Refuses options for a run that say nothing about its loads.
fn refuse_options_of_runs(chosen: &ProcedureArguments) -> anyhow::Result<()> {
    let given = [
        ("--engine", chosen.engine.is_some()),
        ("--seed", chosen.seed.is_some()),
        ("--sim-gap", chosen.sim_gap.is_some()),
        ("--hold-c-states", chosen.hold_c_states),
        ("--power-command", chosen.power_command.is_some()),
        ("--start-below", chosen.start_below.is_some()),
        ("--ambient", chosen.ambient.is_some()),
        ("--ambient-sensor", chosen.ambient_sensor.is_some()),
        ("--meta", !chosen.meta.is_empty()),
    ];
    refuse_unused(&given, "Iometer's configuration has only the loads of a procedure")
}

fn steps_of_procedure(chosen: &ProcedureArguments) -> anyhow::Result<ExportedSteps> {
    let [target] = chosen.target.names.as_slice() else {
        return Err(misuse("a configuration is written for one target: give --target once"));
    };
    refuse_options_of_runs(chosen)?;
    let device = target::foresee(target, chosen.target.size)?;
    let settings = settings(chosen, 1, &device)?;
    let procedure = steadfast_procedures::procedure(&settings, geometry(&device), &[])?;
    Ok(ExportedSteps {
        title: format!("{} for {}", settings.procedure, device.name),
        sector: u64::from(device.logical_sector),
        steps: steps_of(procedure.as_ref())?,
        disk: device.name,
    })
}
