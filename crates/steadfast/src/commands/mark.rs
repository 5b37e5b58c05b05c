//! `steadfast mark`: names this moment in every capture that runs.

use crate::cli::MarkArguments;
use crate::exit::ExitState;
use crate::terminal;
use steadfast_domain::text::printable;

/// Leaves the mark and says how many captures heard of it.
pub fn run(arguments: &MarkArguments) -> anyhow::Result<ExitState> {
    let marked = steadfast_recorder::mark(&arguments.name)?;
    let name = printable(&marked.name);
    terminal::print(&format!("Put the mark '{name}' into {} running captures.", marked.captures))?;
    Ok(ExitState::Done)
}
