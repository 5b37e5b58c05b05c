//! `steadfast study`: findings again from the record.

use crate::cli::{Format, StudyArguments};
use crate::exit::ExitState;
use crate::writing::Shelf;
use crate::{output, terminal};

/// Recomputes the findings, keeps them as `findings.json` and prints them.
pub fn run(arguments: &StudyArguments) -> anyhow::Result<ExitState> {
    let findings = output::study(&arguments.run_dir)?;
    output::write(&Shelf::of_run(&arguments.run_dir), &findings, &[Format::Json])?;
    if arguments.json {
        terminal::print_findings(&findings)?;
    } else {
        terminal::print(&steadfast_report::text(&findings, terminal::width()))?;
    }
    Ok(ExitState::Done)
}
