//! `steadfast report`: the report again.

use crate::cli::ReportArguments;
use crate::exit::ExitState;
use crate::writing::Shelf;
use crate::{output, terminal};
use steadfast_runner::Ledger;

/// Recomputes the findings and writes the requested formats.
pub fn run(arguments: &ReportArguments) -> anyhow::Result<ExitState> {
    let directory = Ledger::find(&arguments.run_dir)?;
    let findings = output::study_in(&directory)?;
    for file in output::write(&Shelf::of_run(&directory), &findings, &arguments.format)? {
        terminal::print(&file.display().to_string())?;
    }
    Ok(ExitState::Done)
}
