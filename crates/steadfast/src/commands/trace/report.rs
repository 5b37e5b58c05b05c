//! `trace report`.

use super::ending;
use super::studied::Wanted;
use crate::asked::SOFTWARE;
use crate::cli::trace::ReportArguments;
use crate::exit::Outcome;
use crate::writing::{Rule, Shelf};
use crate::{output, terminal};
use steadfast_trace::findings;

/// Writes the report.
pub fn run(arguments: &ReportArguments) -> anyhow::Result<Outcome> {
    let names = output::names(&arguments.format);
    let shelf = Shelf::named(&arguments.output, Rule::of(&arguments.writing)?, &names)?;
    let (by, threshold, step) = (arguments.by, arguments.threshold, arguments.step);
    let study = Wanted { by, threshold, step }.study(&arguments.selection)?;
    let findings = findings(&study, SOFTWARE);
    for file in output::write(&shelf, &findings, &arguments.format)? {
        terminal::print(&file.display().to_string())?;
    }
    Ok(ending(&study.integrity, arguments.selection.filter.accept_damage))
}
