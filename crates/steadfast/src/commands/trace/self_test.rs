//! `trace self-test`: the Target Server Self-Test of RWSW PTS, a pseudo-test. It reports what was
//! captured on the working server and applies nothing.

use super::step_time_format;
use crate::cli::trace::SelfTestArguments;
use crate::exit::ExitState;
use crate::filtered_capture::FilteredCapture;
use crate::output_files::{OutputDir, OutputRule};
use crate::run_settings::SOFTWARE;
use crate::{output, terminal};
use steadfast_analysis::findings::self_test;
use steadfast_analysis::{Study, StudyOptions};

/// Prints the four reports or writes them.
pub fn run(arguments: &SelfTestArguments) -> anyhow::Result<ExitState> {
    let names = output::names(&arguments.report.format);
    let rule = OutputRule::from_arguments(&arguments.report.writing)?;
    let output_dir =
        arguments.report.output.as_ref().map(|path| OutputDir::open(path, rule, &names));
    let output_dir = output_dir.transpose()?;
    let selected = FilteredCapture::open(&arguments.selection)?;
    let options = StudyOptions {
        clock: step_time_format::clock(
            selected.conditions(),
            &arguments.selection.filter,
            arguments.axis.time_axis,
        ),
        ..selected.options(arguments.shares.of, arguments.shares.threshold, arguments.axis.step)
    };
    let study = selected.ask(|captured, _| Study::read(captured, &options))?;
    let findings = self_test(&study, SOFTWARE);
    if arguments.json {
        terminal::print_findings(&findings)?;
    } else {
        terminal::print(&steadfast_report::text(&findings, terminal::width()))?;
    }
    if let Some(output_dir) = output_dir {
        for file in output::write(&output_dir, &findings, &arguments.report.format)? {
            terminal::status(&file.display().to_string());
        }
    }
    Ok(selected.ending())
}
