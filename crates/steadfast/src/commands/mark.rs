//! `steadfast mark`: marks the current moment in running captures.

use crate::cli::MarkArguments;
use crate::exit::ExitState;
use crate::terminal;
use steadfast_domain::text::printable;

/// Adds the mark and prints which captures recorded it.
pub fn run(arguments: &MarkArguments) -> anyhow::Result<ExitState> {
    let marked = steadfast_recorder::mark(&arguments.name, arguments.capture.as_deref())?;
    for trace in &marked.traces {
        let (name, trace) = (printable(&marked.name), trace.display().to_string());
        terminal::print(&format!("marked '{name}' in {}", printable(&trace)))?;
    }
    Ok(ExitState::Done)
}
