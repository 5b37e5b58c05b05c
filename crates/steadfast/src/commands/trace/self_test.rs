//! `trace self-test`: the Target Server Self-Test of RWSW PTS, a pseudo-test. It reports what was
//! captured on the working server and applies nothing.

use super::step_time_format::study_options;
use crate::cli::trace::SelfTestArguments;
use crate::exit::ExitState;
use crate::filtered_capture::FilteredCapture;
use crate::output::OptionalReport;
use crate::run_settings::SOFTWARE;
use steadfast_analysis::Study;
use steadfast_analysis::findings::self_test;

/// Prints the four reports or writes them.
pub fn run(arguments: &SelfTestArguments) -> anyhow::Result<ExitState> {
    let report = OptionalReport::from_arguments(&arguments.report)?;
    let selected = FilteredCapture::open(&arguments.selection)?;
    let options = study_options(&selected, &arguments.shares, &arguments.axis);
    let study = selected.ask(|captured, _| Study::read(captured, &options))?;
    report.show(&self_test(&study, SOFTWARE), arguments.json)?;
    Ok(selected.ending())
}
