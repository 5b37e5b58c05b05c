//! `steadfast report`: the report again.

use crate::cli::ReportArguments;
use crate::exit::ExitState;
use crate::writing::Shelf;
use crate::{output, terminal};

/// Recomputes the findings and writes the requested formats.
pub fn run(arguments: &ReportArguments) -> anyhow::Result<ExitState> {
    let findings = output::study(&arguments.run_dir)?;
    for file in output::write(&Shelf::of_run(&arguments.run_dir), &findings, &arguments.format)? {
        terminal::print(&file.display().to_string())?;
    }
    Ok(ExitState::Done)
}
