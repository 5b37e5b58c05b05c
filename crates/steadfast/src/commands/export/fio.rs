//! `steadfast export fio`: steps of a run as fio job files.

use crate::cli::other_tools::ExportFioArguments;
use crate::exit::{ExitState, misuse};
use crate::output_files::OutputRule;
use crate::run_settings::SOFTWARE;
use crate::terminal;
use anyhow::bail;
use std::path::Path;
use steadfast_domain::{Device, Load, Step};
use steadfast_engine::fio::{ROUNDED, job};
use steadfast_runner::Ledger;
use steadfast_runner::ledger::LedgerContents;

/// Writes the selected steps.
pub fn fio(arguments: &ExportFioArguments) -> anyhow::Result<ExitState> {
    let text = match &arguments.output {
        Some(path) => Some(OutputRule::from_arguments(&arguments.writing)?.create_text(path)?),
        None => None,
    };
    let contents = Ledger::read(&arguments.run_dir)?;
    let steps = chosen(&contents, arguments)?;
    let device = &contents.plan.device;
    if device.is_simulated() && arguments.filename.is_none() {
        return Err(misuse(format!(
            "{}: it ran on {}, which exists in virtual time only; name the file or device that fio \
             is to use with --filename",
            shown(&arguments.run_dir),
            device.path
        )));
    }
    let filename = arguments.filename.clone().unwrap_or_else(|| device.path.clone());
    let mut jobs = format!("; Steps of {} by {SOFTWARE}\n", contents.plan.settings.procedure);
    let mut written = 0;
    for (number, step) in steps {
        let head = format!("\n; {}\n", single_line(&step.place.to_string()));
        match section(step, number, &filename, &contents.plan.device) {
            Ok(section) => {
                if section.contains(ROUNDED) {
                    terminal::warn(&format!(
                        "Note: step {number}, {}: rates are rounded; comments in the file have the exact ones",
                        step.place
                    ));
                }
                jobs.push_str(&(head + &section));
                written += 1;
            }
            Err(why) => {
                terminal::warn(&format!("Note: step {number}, {}: left out: {why}", step.place));
                jobs.push_str(&format!(
                    "{head}; step {number} is left out: {}\n",
                    single_line(&why)
                ));
            }
        }
    }
    if written == 0 {
        bail!(
            "{}: fio can give none of these loads; no file was written",
            shown(&arguments.run_dir)
        );
    }
    match text {
        Some(text) => text.write(jobs.as_bytes())?,
        None => terminal::print_raw(jobs.as_bytes())?,
    }
    Ok(ExitState::Done)
}

/// Returns a step as a job section, or the reason why fio cannot express it.
fn section(step: &Step, number: usize, filename: &str, device: &Device) -> Result<String, String> {
    if matches!(step.load, Load::Script(_)) {
        return Err("single I/Os of a trace are no load of a job file".into());
    }
    let sector = u64::from(device.logical_sector);
    let name = |place: usize| match step.load.stimuli().len() {
        1 => format!("step-{number}"),
        _ => format!("step-{number}-{}", place + 1),
    };
    let jobs = step.load.stimuli().iter().enumerate();
    let jobs = jobs.map(|(place, stimulus)| {
        job(stimulus, &name(place), place == 0, filename, device.capacity, sector)
    });
    // Concurrent loads: none waits for the others, so no `stonewall` between them.
    jobs.collect::<Result<Vec<_>, _>>().map(|jobs| jobs.join("\n"))
}

/// Replaces `$`, since fio expands `${...}`, and control characters with blanks.
fn single_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() || c == '$' { ' ' } else { c }).collect()
}

/// Returns the selected steps with their numbers in the run. A load that was split into parts
/// appears once.
fn chosen<'c>(
    contents: &'c LedgerContents,
    arguments: &ExportFioArguments,
) -> anyhow::Result<Vec<(usize, &'c Step)>> {
    let applied = contents.steps().map(|(step, _)| step);
    let mut steps: Vec<(usize, &Step)> = (1..).zip(applied).collect();
    let run = shown(&arguments.run_dir);
    if steps.is_empty() {
        bail!("{run} has no finished step");
    }
    let last = steps.len();
    match arguments.step_number {
        None => steps.retain(|(_, step)| !step.continues),
        Some(wanted) => steps.retain(|(number, _)| *number == wanted),
    }
    match (steps.is_empty(), arguments.step_number) {
        (true, Some(wanted)) => Err(misuse(format!("{run} has steps 1 to {last}, not {wanted}"))),
        _ => Ok(steps),
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
