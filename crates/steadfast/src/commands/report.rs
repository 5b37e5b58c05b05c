//! `steadfast report`: writes the report of a run or of another tool's results.

use crate::cli::{Format, ReportArguments};
use crate::exit::{ExitState, misuse};
use crate::output_files::{OutputDir, OutputRule};
use crate::{output, terminal};
use steadfast_runner::Ledger;

/// Recomputes the findings and writes the requested formats.
pub fn run(arguments: &ReportArguments) -> anyhow::Result<ExitState> {
    match arguments.runs.as_slice() {
        [run] if !output::is_foreign(run) => {
            if arguments.output.is_some() {
                return Err(misuse(
                    "a run's report goes into its run directory; omit -o, or use steadfast compare",
                ));
            }
            let directory = Ledger::find(run)?;
            let findings = output::study_in(&directory)?;
            let shelf = OutputDir::of_run(&directory);
            for file in output::write(&shelf, &findings, &arguments.format)? {
                terminal::print(&file.display().to_string())?;
            }
            Ok(ExitState::Done)
        }
        _ => foreign(arguments),
    }
}

/// Reports results of other tools: a file, a directory, or one file per round.
fn foreign(arguments: &ReportArguments) -> anyhow::Result<ExitState> {
    let rule = OutputRule::from_arguments(&arguments.writing)?;
    let shelf = match &arguments.output {
        Some(path) => Some(OutputDir::named(path, rule, &output::names(&arguments.format))?),
        None => None,
    };
    let findings = match arguments.runs.as_slice() {
        [only] => output::findings_of(only)?,
        rounds => output::of_results(rounds)?,
    };
    match shelf {
        Some(shelf) => {
            for file in output::write(&shelf, &findings, &arguments.format)? {
                terminal::print(&file.display().to_string())?;
            }
        }
        None if arguments.format == [Format::Json] => terminal::print_findings(&findings)?,
        None => terminal::print(&steadfast_report::text(&findings, terminal::width()))?,
    }
    Ok(ExitState::Done)
}
