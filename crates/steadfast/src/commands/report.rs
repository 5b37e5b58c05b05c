//! `steadfast report`: writes the report of a run or of another tool's results.

use crate::cli::{Format, ReportArguments};
use crate::exit::{ExitState, misuse, refuse_unused};
use crate::output_files::{OutputDir, OutputRule};
use crate::{output, terminal};
use std::path::Path;
use steadfast_runner::Ledger;

/// Recomputes the findings and writes the requested formats.
pub fn run(arguments: &ReportArguments) -> anyhow::Result<ExitState> {
    if let Some(path) = &arguments.card {
        return card(arguments, path);
    }
    let formats = output::chosen_formats(&arguments.format);
    match arguments.runs.as_slice() {
        [run] if !output::is_foreign(run) => {
            refuse_unused(
                &[("-o", arguments.output.is_some())],
                "a run's report goes into its run directory",
            )?;
            refuse_unused(
                &arguments.writing.given(),
                "a run's report replaces the one in its run directory and has its readers",
            )?;
            let directory = Ledger::find(run)?;
            let findings = output::study_in(&directory)?;
            output::write_and_list(&OutputDir::of_run(&directory), &findings, formats)?;
            Ok(ExitState::Done)
        }
        _ => foreign(arguments),
    }
}

/// Image format of a card.
enum CardForm {
    Svg,
    Png,
}

impl CardForm {
    fn from_path(path: &Path) -> anyhow::Result<Self> {
        match path.extension().and_then(|end| end.to_str()) {
            Some("svg") => Ok(CardForm::Svg),
            Some("png") => Ok(CardForm::Png),
            _ => Err(misuse(format!(
                "cannot write a card to {}: name a file that ends in .svg or .png",
                path.display()
            ))),
        }
    }
}

/// Writes the card of one run.
fn card(arguments: &ReportArguments, path: &Path) -> anyhow::Result<ExitState> {
    let form = CardForm::from_path(path)?;
    let [run] = arguments.runs.as_slice() else {
        return Err(misuse("a card shows one run; name one run directory"));
    };
    let file = OutputRule::from_arguments(&arguments.writing)?.create(path)?;
    let findings = output::findings_of(run)?;
    let content = match form {
        CardForm::Svg => steadfast_report::card_svg(&findings)?.into_bytes(),
        CardForm::Png => steadfast_report::card_png(&findings)?,
    };
    file.write_and_persist(&content)?;
    terminal::print(&path.display().to_string())?;
    Ok(ExitState::Done)
}

/// Reports results of other tools: a file, a directory, or one file per round.
fn foreign(arguments: &ReportArguments) -> anyhow::Result<ExitState> {
    let rule = OutputRule::from_arguments(&arguments.writing)?;
    let formats = output::chosen_formats(&arguments.format);
    let output_dir = match &arguments.output {
        Some(path) => Some(OutputDir::open(path, rule, &output::file_names(formats))?),
        None => {
            refuse_unused(&arguments.writing.given(), "nothing is written without -o DIR")?;
            let can_print =
                matches!(arguments.format.as_slice(), [] | [Format::Json | Format::Text]);
            refuse_unused(
                &[("--format", !can_print)],
                "only text or json is printed; give -o DIR for files",
            )?;
            None
        }
    };
    let findings = match arguments.runs.as_slice() {
        [only] => output::findings_of(only)?,
        rounds => output::findings_of_rounds(rounds)?,
    };
    match output_dir {
        Some(output_dir) => output::write_and_list(&output_dir, &findings, formats)?,
        None => output::print(&findings, arguments.format == [Format::Json])?,
    }
    Ok(ExitState::Done)
}
