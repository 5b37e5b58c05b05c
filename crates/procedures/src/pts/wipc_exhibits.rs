//! Exhibits of workload-independent preconditioning.

use crate::common::choices::RunChoices;
use crate::common::one_pass;
use crate::common::preconditioning::{self, WIPC_PATTERN, amount};
use crate::report_notation::number;
use steadfast_domain::findings::{Axis, Exhibit, Facts, Plot, Scale, Series, Setting, Stroke};
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::{Bytes, Measurement, Nanos, Record};

/// Returns the amount and speed of workload-independent preconditioning, second by second; empty
/// if the parts of the run before this one have preconditioned the drive.
pub(crate) fn preconditioning_exhibits(choices: &RunChoices<'_>, record: &Record) -> Vec<Exhibit> {
    match choices.one_pass {
        _ if choices.settings.shares_preconditioning => Vec::new(),
        Some(pass) => written(record, one_pass::PHASE, "RND 4K W", pass.amount()),
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
    written(record, phase, &pattern.to_string(), requested)
}

fn written(record: &Record, phase: &str, name: &str, requested: Bytes) -> Vec<Exhibit> {
    let parts: Vec<&Measurement> = record
        .steps()
        .filter(|(step, _)| step.place.phase == phase)
        .map(|(_, outcome)| &outcome.measurement)
        .collect();
    let mut written = 0.0;
    let mut points = Vec::new();
    for interval in parts.iter().flat_map(|part| &part.intervals) {
        written += interval.tallies.iter().map(|t| t.bytes.as_gb()).sum::<f64>();
        if !interval.partial {
            points.push((written, interval.bytes_per_second().map(|rate| rate / 1e6)));
        }
    }
    let bytes: u64 = parts.iter().map(|part| part.bytes().0).sum();
    let time: u64 = parts.iter().map(|part| part.elapsed.0).sum();
    let rate = (time > 0).then(|| bytes as f64 / 1e6 / Nanos(time).as_secs_f64());
    let rate = rate.map(|r| format!("{} MB/s", number(r, 1)));
    let (bytes, requested) = (number(bytes as f64, 0), number(requested.0 as f64, 0));
    let facts = Facts::new("Workload independent preconditioning").rows([
        Setting::outcome("Written", format!("{bytes} bytes of {requested} requested")),
        Setting::outcome("Took", Nanos(time).taken()),
        Setting::outcome("Average throughput", rate),
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
