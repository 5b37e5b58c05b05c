//! `trace profile`: load by time of day, over all days of a capture.

use super::listing_table::listing_table;
use crate::cli::questions::ProfileArguments;
use crate::exit::ExitState;
use crate::filtered_capture::FilteredCapture;
use anyhow::Context;
use serde::Serialize;
use steadfast_analysis::captured::PassResult;
use steadfast_analysis::clock::CaptureClock;
use steadfast_analysis::questions::day_profile::{DayProfile, ProfileFigures};
use steadfast_domain::Nanos;

/// JSON output of `trace profile`.
#[derive(Serialize, schemars::JsonSchema)]
pub struct ProfileContent {
    step_ns: u64,
    intervals: Vec<ProfileFigures>,
}

/// Prints the load by time of day.
pub fn run(arguments: &ProfileArguments) -> anyhow::Result<ExitState> {
    let capture = FilteredCapture::open(&arguments.selection)?;
    let zone = capture.time_zone.as_ref();
    let clock = CaptureClock::from_conditions(capture.conditions(), zone).with_context(|| {
        format!(
            "{} has no start time, so times of day are unavailable; use: steadfast trace steps",
            capture.name
        )
    })?;
    let step_ns = arguments.step.0;
    let PassResult { found: profile, account } = capture.answer(|captured, pass| {
        let mut profile = DayProfile::new(clock, step_ns)?;
        let account = captured.run(pass, &mut [&mut profile])?;
        // Refuses a capture without I/Os.
        captured.span_of(pass, &account)?;
        Ok(PassResult { found: profile, account })
    })?;
    let content = ProfileContent {
        step_ns,
        intervals: profile.listing(&capture.captured.observed(&capture.pass.filter)),
    };
    capture.show(arguments.json, account, content, |content| {
        let table = listing_table(&ProfileFigures::TABLE, &content.intervals);
        format!("{table}\nintervals of {}", Nanos(step_ns))
    })
}
