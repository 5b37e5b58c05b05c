//! `steadfast export fio`: steps of a run as fio job files.

use crate::cli::other_tools::ExportFioArguments;
use crate::exit::{ExitState, misuse};
use crate::output_files::OutputRule;
use crate::run_settings::SOFTWARE;
use crate::terminal;
use anyhow::bail;
use steadfast_domain::{Device, Load, Step};
use steadfast_engine::fio::{ROUNDED, job};
use steadfast_runner::Ledger;
use steadfast_runner::ledger::LedgerContents;

/// Writes the selected steps.
pub fn fio(arguments: &ExportFioArguments) -> anyhow::Result<ExitState> {
    let rule = OutputRule::from_arguments(&arguments.writing)?;
    let output = arguments.output.as_deref().map(|path| rule.create_text(path)).transpose()?;
    let contents = Ledger::read(&arguments.run_dir)?;
    let steps = selected_steps(&contents, arguments)?;
    let run = arguments.run_dir.display();
    let device = &contents.plan.device;
    if device.is_simulated() && arguments.filename.is_none() {
        return Err(misuse(format!(
            "{run}: it ran on {}, which exists in virtual time only; name the file or device that \
             fio is to use with --filename",
            device.path
        )));
    }
    let filename = arguments.filename.clone().unwrap_or_else(|| device.path.clone());
    let mut jobs = format!("; Steps of {} by {SOFTWARE}\n", contents.plan.settings.procedure);
    let mut written = 0;
    for NumberedStep { number, step } in steps {
        let head = format!("\n; {}\n", single_line(&step.place.to_string()));
        match section(step, number, &filename, device) {
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
        bail!("{run}: fio can give none of these loads; no file was written");
    }
    match output {
        Some(output) => output.write(jobs.as_bytes())?,
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
    let stimuli = step.load.stimuli();
    let mut jobs = Vec::new();
    for (index, stimulus) in stimuli.iter().enumerate() {
        let name = match stimuli.len() {
            1 => format!("step-{number}"),
            _ => format!("step-{number}-{}", index + 1),
        };
        // Concurrent loads: none waits for the others, so no `stonewall` between them.
        let is_first = index == 0;
        jobs.push(job(stimulus, &name, is_first, filename, device.capacity, sector)?);
    }
    Ok(jobs.join("\n"))
}

/// Replaces `$`, since fio expands `${...}`, and control characters with blanks.
fn single_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() || c == '$' { ' ' } else { c }).collect()
}

/// A step with its number in the run, from 1.
struct NumberedStep<'c> {
    number: usize,
    step: &'c Step,
}

/// Returns the selected steps. A load that was split into parts appears once.
fn selected_steps<'c>(
    contents: &'c LedgerContents,
    arguments: &ExportFioArguments,
) -> anyhow::Result<Vec<NumberedStep<'c>>> {
    let mut steps = Vec::new();
    for (number, (step, _)) in (1..).zip(contents.steps()) {
        steps.push(NumberedStep { number, step });
    }
    let run = arguments.run_dir.display();
    let last = steps.len();
    if last == 0 {
        bail!("{run} has no finished step");
    }
    let Some(wanted) = arguments.step_number else {
        steps.retain(|numbered| !numbered.step.continues);
        return Ok(steps);
    };
    steps.retain(|numbered| numbered.number == wanted);
    if steps.is_empty() {
        return Err(misuse(format!("{run} has steps 1 to {last}, not {wanted}")));
    }
    Ok(steps)
}
