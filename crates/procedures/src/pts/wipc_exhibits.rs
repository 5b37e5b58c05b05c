//! Exhibits of workload-independent preconditioning.

use crate::common::attempts::{measurements, steps_of};
use crate::common::choices::RunChoices;
use crate::common::one_pass;
use crate::common::preconditioning::{self, WIPC_PATTERN, amount};
use crate::common::secondary::mb_per_second;
use crate::report_notation::number;
use steadfast_domain::findings::{Axis, Exhibit, Facts, Plot, Scale, Series, Setting, Stroke};
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::{Bytes, Nanos, Record};

/// Returns the amount and speed of workload-independent preconditioning, second by second; empty
/// if the parts of the run before this one have preconditioned the drive.
pub(crate) fn preconditioning_exhibits(choices: &RunChoices<'_>, record: &Record) -> Vec<Exhibit> {
    match choices.one_pass {
        _ if choices.settings.shares_preconditioning => Vec::new(),
        Some(pass) => phase_exhibits(record, one_pass::PHASE, "RND 4K W", pass.amount()),
        None => wipc_exhibits(choices, record, preconditioning::PHASE, WIPC_PATTERN),
    }
}

/// Returns the amount and speed of sequential preconditioning with this phase and pattern.
pub(crate) fn wipc_exhibits(
    choices: &RunChoices<'_>,
    record: &Record,
    phase: &str,
    pattern: AccessPattern,
) -> Vec<Exhibit> {
    let requested = amount(choices.geometry, pattern.size);
    phase_exhibits(record, phase, &pattern.to_string(), requested)
}

/// Returns the amount and speed of the steps of a phase, which wrote the pattern `name`.
fn phase_exhibits(record: &Record, phase: &str, name: &str, requested: Bytes) -> Vec<Exhibit> {
    let steps = measurements(&steps_of(record, phase));
    let mut written_gb = 0.0;
    let mut points = Vec::new();
    for interval in steps.iter().flat_map(|step| &step.intervals) {
        written_gb += interval.tallies.iter().map(|tally| tally.bytes.as_gb()).sum::<f64>();
        if !interval.partial {
            points.push((written_gb, interval.bytes_per_second().map(|rate| rate / 1e6)));
        }
    }
    let bytes: u64 = steps.iter().map(|step| step.bytes().0).sum();
    let time = Nanos(steps.iter().map(|step| step.elapsed.0).sum());
    let rate = mb_per_second(&steps);
    let written = number(bytes as f64, 0);
    let requested = number(requested.0 as f64, 0);
    let facts = Facts::new("Workload independent preconditioning").rows([
        Setting::outcome("Written", format!("{written} bytes of {requested} requested")),
        Setting::outcome("Took", time.taken()),
        Setting::outcome(
            "Average throughput",
            rate.map(|rate| format!("{} MB/s", number(rate, 1))),
        ),
    ]);
    let plot = Plot::lines(
        phase,
        "Preconditioning throughput",
        Axis::new("Written (GB)", Scale::Linear),
        Axis::new("MB/s", Scale::Linear),
    )
    .caption(format!("{name}, second by second, against the amount written."))
    .with(Series::new(name.to_owned(), Stroke::Average, points));
    vec![Exhibit::Facts(facts), Exhibit::Plot(plot)]
}
