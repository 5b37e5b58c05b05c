//! `trace report`.

use super::studied::Wanted;
use crate::cli::trace::ReportArguments;
use crate::commands::run::SOFTWARE;
use crate::exit::Outcome;
use crate::{output, terminal};
use anyhow::Context;
use std::fs;
use steadfast_trace::findings;

/// Writes the report.
pub fn run(arguments: &ReportArguments) -> anyhow::Result<Outcome> {
    let (by, threshold, step) = (arguments.by, arguments.threshold, arguments.step);
    let study = Wanted { by, threshold, step }.study(&arguments.selection)?;
    let findings = findings(&study, SOFTWARE);
    let directory = &arguments.output;
    fs::create_dir_all(directory)
        .with_context(|| format!("{} cannot be made", directory.display()))?;
    for file in output::write(directory, &findings, &arguments.format)? {
        terminal::print(&file.display().to_string())?;
    }
    Ok(Outcome::Done)
}
