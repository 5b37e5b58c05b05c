//! `steadfast study`: recomputes findings from the record.

use crate::cli::{Format, StudyArguments};
use crate::exit::ExitState;
use crate::output;
use crate::output_files::OutputDir;
use steadfast_runner::Ledger;

/// Recomputes the findings, saves them as `findings.json` and prints them.
pub fn run(arguments: &StudyArguments) -> anyhow::Result<ExitState> {
    let run = &arguments.run_dir;
    let findings = if output::is_foreign(run) {
        output::findings_of(run)?
    } else {
        let directory = Ledger::find(run)?;
        let findings = output::study_in(&directory)?;
        output::write(&OutputDir::of_run(&directory), &findings, &[Format::Json])?;
        findings
    };
    output::print(&findings, arguments.json)?;
    Ok(ExitState::Done)
}
