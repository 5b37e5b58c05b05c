//! `steadfast mark`: names this moment in captures that run.

use crate::cli::MarkArguments;
use crate::exit::ExitState;
use crate::terminal;
use steadfast_domain::text::printable;

/// Leaves the mark and says which captures have it.
pub fn run(arguments: &MarkArguments) -> anyhow::Result<ExitState> {
    let marked = steadfast_recorder::mark(&arguments.name, arguments.capture.as_deref())?;
    for trace in &marked.traces {
        let (name, trace) = (printable(&marked.name), trace.display().to_string());
        terminal::print(&format!("marked '{name}' in {}", printable(&trace)))?;
    }
    Ok(ExitState::Done)
}
