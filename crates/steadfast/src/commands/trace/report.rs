//! `trace report`: writes the report of a capture.

use super::step_time_format::study_options;
use crate::cli::trace::TraceReportArguments;
use crate::exit::ExitState;
use crate::filtered_capture::FilteredCapture;
use crate::output;
use crate::output_files::{OutputDir, OutputRule};
use crate::run_settings::SOFTWARE;
use steadfast_analysis::{Study, StudyOptions, findings};

/// Writes the report of a capture in every chosen format.
pub fn run(arguments: &TraceReportArguments) -> anyhow::Result<ExitState> {
    let formats = output::chosen_formats(&arguments.format);
    let rule = OutputRule::from_arguments(&arguments.writing)?;
    let output_dir = OutputDir::open(&arguments.output, rule, &output::file_names(formats))?;
    let selected = FilteredCapture::open(&arguments.selection)?;
    let options = StudyOptions {
        hits: arguments.show,
        ..study_options(&selected, &arguments.shares, &arguments.axis)
    };
    let study = selected.ask(|captured, _| Study::read(captured, &options))?;
    let findings = findings(&study, SOFTWARE);
    output::write_and_list(&output_dir, &findings, formats)?;
    Ok(selected.ending())
}
