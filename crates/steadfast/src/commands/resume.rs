//! `steadfast resume`: goes on with a run, on the device that it began on.

use super::run::{Conduct, FIO_DIRECTORY, wishes};
use crate::cli::ResumeArguments;
use crate::exit::Outcome;
use crate::target::{self, Course, Mover, Named};
use crate::terminal;
use anyhow::bail;
use std::path::Path;
use steadfast_domain::settings::Amendment;
use steadfast_domain::{Device, Entry, Load};
use steadfast_host::{Consent, Roots};
use steadfast_runner::ledger::{Contents, Line};
use steadfast_runner::real::wall_clock_unix_ms;
use steadfast_runner::run::{amendments, reopen};
use steadfast_runner::{Ledger, RunSettings};

/// Finds the run's device again and conducts the rest.
pub fn run(arguments: &ResumeArguments) -> anyhow::Result<Outcome> {
    let directory = &arguments.run_dir;
    // Read first: nothing is amended where nothing can be resumed.
    let before = Ledger::read(directory)?;
    let named = find_again(&before.settings)?;
    let amendment = amendment(arguments, &before)?;
    let (ledger, contents) = reopen(directory, amendment, wall_clock_unix_ms())?;
    if contents.torn > 0 {
        terminal::complain(&format!(
            "The journal ended in a torn line of {} bytes, which was cut off; no finished step \
             was in it.",
            contents.torn
        ));
    }
    let Contents { settings, lines, .. } = contents;
    let procedure = steadfast_procedures::procedure(
        &settings.settings,
        settings.geometry(),
        &amendments(&lines),
    )?;
    let stop = target::stop_on_signals()?;
    let consent = Consent::Destroy { confirmation: Some(confirmation(&named)) };
    let keep = [directory.clone()];
    let mover = match settings.engine.as_str() {
        "fio" => Mover::Fio(directory.join(FIO_DIRECTORY)),
        _ => Mover::Uring,
    };
    let course = Course::from(&settings.settings);
    let mut rig = target::rig(&mover, &named, &consent, &keep, course, &stop)?;
    rig.wish(&wishes(&settings.settings, directory));
    Conduct { procedure: procedure.as_ref(), directory, json: arguments.json }.to_the_end(
        rig.as_mut(),
        ledger,
        &lines,
        &stop,
    )
}

/// The user named this very device when the run began; it was found again by
/// its identity, not by its name.
fn confirmation(named: &Named) -> String {
    match named {
        Named::Simulated(spec) => spec.name().to_owned(),
        Named::Real(device) => device.confirmation().to_owned(),
    }
}

fn find_again(settings: &RunSettings) -> anyhow::Result<Named> {
    let device: &Device = &settings.device;
    if device.is_simulated() {
        return target::find(&device.path, None);
    }
    Ok(Named::Real(Box::new(steadfast_host::find_again(device, &Roots::real())?)))
}

fn amendment(
    arguments: &ResumeArguments,
    contents: &Contents,
) -> anyhow::Result<Option<Amendment>> {
    if let Some(rounds) = arguments.rounds {
        return Ok(Some(Amendment::RoundsMax(rounds)));
    }
    if !arguments.stop {
        return Ok(None);
    }
    match complete_rounds(&contents.lines) {
        0 => bail!(
            "{}: no round is complete, so there is nothing to stop with",
            shown(&arguments.run_dir)
        ),
        rounds => Ok(Some(Amendment::RoundsMax(rounds))),
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// Rounds that a verdict was noted for: those are complete.
fn complete_rounds(lines: &[Line]) -> u32 {
    let last_complete = lines.iter().rposition(|line| {
        matches!(&line.entry, Entry::Noted(note)
            if matches!(**note, steadfast_domain::Note::Verdict(_)))
    });
    lines[..last_complete.unwrap_or(0)]
        .iter()
        .rev()
        .find_map(|line| match &line.entry {
            Entry::Applied { step, .. } if matches!(step.load, Load::Stimulus(_)) => {
                Some(step.place.round)
            }
            _ => None,
        })
        .unwrap_or(0)
}
