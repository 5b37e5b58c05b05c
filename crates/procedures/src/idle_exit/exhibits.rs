//! Report of idle exit: response times by idle time, the states that they show, and power
//! management as it was found.

use super::power_states::power_states_table;
use super::results::{EnteredState, IdleExitResults, IdleResult};
use super::setup::{IDLE_TIMES, IdleExit, ONE, PATTERN, WRITES, after_phase};
use crate::common::metrics::MeasuredPoint;
use crate::exhibits::disclosure::{self, ReportForm, form_demand};
use crate::exhibits::matrix::millis;
use crate::exhibits::report::{ProcedureReport, ReportEntry, StudiedRun};
use crate::exhibits::response::tail_plot;
use crate::exhibits::typed_table::{TypedColumn, typed_row, typed_table};
use crate::report_notation::joined;
use steadfast_domain::findings::{
    Axis, BandEdge, Cell, KeyFigure, Metric, Plot, Row, Scale, Series, Setting, Stroke, Table,
};
use steadfast_domain::record::Check;
use steadfast_domain::text::significant;
use steadfast_domain::{Measurement, Record, Tally};

/// IDs of the checks that say which power states drive, link and host may enter.
const POWER_CHECKS: [&str; 6] =
    ["apst", "aspm", "link-power", "runtime-pm", "idle-states", "idle-state-hold"];

type IdleExitRun<'a> = StudiedRun<'a, IdleExit>;

impl ProcedureReport for IdleExit {
    type Results<'a> = IdleExitResults<'a>;

    const ENTRIES: &'static [ReportEntry<Self>] = &[
        ReportEntry::Summary,
        ReportEntry::Table(|run| idle_table(run, "idle-exit")),
        ReportEntry::OptionalTable(|run| states_table(run, "entered-states")),
        ReportEntry::Form("Idle Exit - Response Time of the First I/O"),
        ReportEntry::Plot(response_plot),
        ReportEntry::Table(|run| idle_table(run, "idle-times")),
        ReportEntry::Form("Idle Exit - Power States"),
        ReportEntry::OptionalTable(|run| states_table(run, "states")),
        ReportEntry::OptionalTable(|run| {
            power_states_table(run.record, run.test.conditions().power_state_changes.is_some())
        }),
        ReportEntry::OptionalTable(power_table),
        ReportEntry::Text(power_text),
        ReportEntry::Setup,
        ReportEntry::Chapter("Idle Exit"),
        ReportEntry::Listing(listing),
        ReportEntry::Plot(|run| {
            tail_plot("idle-tails", "Response times by idle time", &tallies(run))
        }),
        ReportEntry::Secondary,
    ];
    const TITLE: &'static str = "Idle exit";
    const FRONT_PLOTS: &'static [&'static str] = &["first-response"];

    fn studied<'a>(&'a self, record: &'a Record) -> StudiedRun<'a, Self> {
        let (choices, results) = (self.choices(record), IdleExitResults::new(self, record));
        StudiedRun { test: self, record, choices, results }
    }

    fn form(run: &IdleExitRun<'_>) -> ReportForm {
        let settings = &run.test.setup.settings;
        let range = run.test.range.length.binary();
        ReportForm::new(
            "Idle exit",
            "Response time of the first I/O after idle times",
            &run.choices,
        )
        .set_up([disclosure::note_row(&run.choices)])
        .test_parameters([
            PATTERN.value_row(settings, "Test Stimulus"),
            run.choices.demand_row("TOIO - TC/QD", form_demand(ONE)),
            IDLE_TIMES.value_row(settings, "Idle Times"),
            Setting::outcome("Range of the I/Os", range),
        ])
    }

    fn ending(run: &IdleExitRun<'_>) -> String {
        let Some(longest) = run.results.longest() else {
            return "The run is not finished: no idle time was measured.".into();
        };
        let unfinished = if run.record.has_ended() { "" } else { "The run is not finished. " };
        let states = &run.results.states;
        if states.is_empty() {
            return format!(
                "{unfinished}At no idle time up to {} was every first I/O slower than 99 % of the \
                 back-to-back I/Os.",
                longest.idle
            );
        }
        let entered = |state: &EnteredState| {
            format!("{} slower after {} or more idle", milliseconds(state.added_ms), state.after)
        };
        let states: Vec<String> = states.iter().map(entered).collect();
        format!("{unfinished}First I/O: {}.", states.join(", "))
    }

    fn figures(run: &IdleExitRun<'_>) -> Vec<KeyFigure> {
        let results = &run.results;
        let back_to_back = results.back_to_back.response_mean_ms();
        let mut figures =
            vec![KeyFigure::new("back-to-back", "Back to back, mean", back_to_back, "ms")];
        figures.extend(results.idle_times.iter().map(|result| {
            let id = after_phase(result.idle);
            let label = format!("After {} idle, mean", result.idle);
            let longest_response = millis(result.tally.response_longest());
            let note = longest_response.map(|longest| {
                format!("{} I/Os, longest {}", result.tally.ios, milliseconds(longest))
            });
            KeyFigure::new(&id, label, result.tally.response_mean_ms(), "ms").with_note(note)
        }));
        let longest_idle = results.longest();
        let added = longest_idle.and_then(|result| result.added_ms);
        figures.push(
            KeyFigure::new("added", "Added after the longest idle time", added, "ms")
                .bounded(longest_idle.and_then(|result| result.added_bounds)),
        );
        figures
    }

    /// Returns every idle time in long form.
    fn metrics(run: &IdleExitRun<'_>) -> Vec<Metric> {
        let pattern = Some(run.test.pattern);
        let point = |point: &str, steps: &[&Measurement]| {
            MeasuredPoint { point, pattern, steps, rounds: false }.metrics()
        };
        let results = &run.results;
        let mut metrics = Vec::new();
        if !results.baseline_steps.is_empty() {
            metrics.extend(point("back to back", &results.baseline_steps));
        }
        for result in &results.idle_times {
            if let Some(step) = result.step {
                // A rate of I/Os with pauses says nothing about the drive.
                let of_responses = point(&format!("{} idle", result.idle), &[step]).into_iter();
                metrics.extend(of_responses.filter(|metric| {
                    !["iops", "throughput", "iops-per-watt"].contains(&metric.metric.as_str())
                }));
            }
        }
        metrics
    }
}

/// Formats a time in ms with three significant digits.
fn milliseconds(ms: f64) -> String {
    format!("{} ms", significant(ms, 3))
}

struct IdleRow {
    tally: Tally,
    added_ms: Option<f64>,
    is_slower: Option<bool>,
}

impl From<&IdleResult<'_>> for IdleRow {
    fn from(result: &IdleResult<'_>) -> Self {
        let is_slower = result.step.map(|_| result.is_slower);
        IdleRow { tally: result.tally.clone(), added_ms: result.added_ms, is_slower }
    }
}

const IDLE: [TypedColumn<IdleRow>; 7] = [
    TypedColumn::count("I/Os", |row| (row.tally.ios > 0).then_some(row.tally.ios)),
    TypedColumn::number("Min ms", 4, |row| millis(row.tally.response_shortest())),
    TypedColumn::number("ART ms", 4, |row| row.tally.response_mean_ms()),
    TypedColumn::number("Median ms", 4, |row| millis(row.tally.percentile(0.5))),
    TypedColumn::number("MRT ms", 4, |row| millis(row.tally.response_longest())),
    TypedColumn::number("Added ms", 4, |row| row.added_ms),
    TypedColumn::cell("All slower", |row| {
        Cell::known(row.is_slower.map(|slower| if slower { "yes" } else { "no" }))
    }),
];

fn idle_table(run: &IdleExitRun<'_>, id: &str) -> Table {
    let back_to_back = run.results.back_to_back.clone();
    let baseline = IdleRow { tally: back_to_back, added_ms: None, is_slower: None };
    let title = "Response time of the first I/O after idle times";
    typed_table(id, title, "Idle time", &IDLE)
        .row(typed_row("back to back", &IDLE, &baseline))
        .rows(run.results.idle_times.iter().map(|result| {
            let row = typed_row(result.idle.to_string(), &IDLE, &IdleRow::from(result));
            row.with_id(after_phase(result.idle))
        }))
}

const STATE: [TypedColumn<EnteredState>; 3] = [
    TypedColumn::cell("Not yet after", |state| {
        Cell::known(state.not_after.map(|time| time.to_string()))
    }),
    TypedColumn::cell("Entered after", |state| Cell::text(state.after.to_string())),
    TypedColumn::number("Added ms", 4, |state| Some(state.added_ms)),
];

/// Returns the states that the response times show; `None` if there is none.
fn states_table(run: &IdleExitRun<'_>, id: &str) -> Option<Table> {
    let states = &run.results.states;
    let rows = (1..).zip(states);
    (!states.is_empty()).then(|| {
        typed_table(id, "States that the drive enters when idle", "State", &STATE)
            .rows(rows.map(|(n, state): (u32, _)| typed_row(n.to_string(), &STATE, state)))
    })
}

fn power_checks<'a>(run: &'a IdleExitRun<'_>) -> impl Iterator<Item = &'a Check> {
    let checks = run.record.checks().unwrap_or_default().iter();
    checks.filter(|check| POWER_CHECKS.contains(&check.id.as_str()))
}

/// Returns power management as found before the run; `None` if nothing of it was found.
fn power_table(run: &IdleExitRun<'_>) -> Option<Table> {
    let row = |check: &Check| {
        Row::new(check.subject.clone(), [Cell::text(check.found.clone())]).with_id(&check.id)
    };
    let rows: Vec<Row> = power_checks(run).map(row).collect();
    (!rows.is_empty()).then(|| {
        Table::new("power-management", "Power management as found before the run", "Setting")
            .columns(["Found"])
            .rows(rows)
    })
}

fn power_text(run: &IdleExitRun<'_>) -> String {
    let found = match power_checks(run).next() {
        Some(_) => "",
        None => "Drive and host report no power management. ",
    };
    let hold = if run.choices.settings.hold_c_states {
        "The processors were kept out of slow idle states (--hold-c-states)."
    } else {
        "The host's processors also idle; --hold-c-states excludes their wake-up time."
    };
    let changed = run.test.changed_text();
    let changed = changed.unwrap_or_else(|| "The run changed none of these settings.".to_owned());
    format!("{found}{changed} {hold}")
}

fn response_plot(run: &IdleExitRun<'_>) -> Plot {
    let results = &run.results;
    let points = |value: fn(&Tally) -> Option<f64>| -> Vec<(f64, Option<f64>)> {
        let point = |result: &IdleResult<'_>| (result.idle.as_secs_f64(), value(&result.tally));
        results.idle_times.iter().map(point).collect()
    };
    let shortest = points(|tally| millis(tally.response_shortest()));
    let longest = points(|tally| millis(tally.response_longest()));
    let edges: Vec<BandEdge> = shortest
        .into_iter()
        .zip(longest)
        .map(|((x, low), (_, high))| BandEdge { x, low, high })
        .collect();
    let back_to_back = results.back_to_back.response_mean_ms();
    let baseline = results.idle_times.iter().map(|r| (r.idle.as_secs_f64(), back_to_back));
    Plot::lines(
        "first-response",
        "Response time of the first I/O over idle time",
        Axis::new("Idle time (s)", Scale::Log10),
        Axis::new("Response time (ms)", Scale::Log10),
    )
    .caption("Mean response time, with a band from shortest to longest. Dashed: mean of back-to-back I/Os.")
    .with(Series::band("shortest to longest", &edges))
    .with(Series::new("mean", Stroke::Measured, points(Tally::response_mean_ms)))
    .with(Series::new("back to back", Stroke::Limit, baseline.collect()))
}

fn listing(run: &IdleExitRun<'_>) -> String {
    let test = run.test;
    format!(
        "{WRITES} over {}\n{} {ONE} back to back\nFor each idle time of {}\n  {} {ONE}, idle \
         before each I/O; the first is not measured\n{} {ONE} back to back",
        test.range.length.binary(),
        test.pattern,
        joined(&test.idle_times),
        test.pattern,
        test.pattern
    )
}

fn tallies(run: &IdleExitRun<'_>) -> Vec<(String, Tally)> {
    let results = &run.results;
    let mut tallies = vec![("back to back".to_owned(), results.back_to_back.clone())];
    let measured = results.idle_times.iter().filter(|result| result.step.is_some());
    tallies.extend(measured.map(|result| (result.idle.to_string(), result.tally.clone())));
    tallies
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_a_second_and_more_keep_three_digits() {
        let shown = [0.012_345, 12.345, 999.4, 1_234.5, 61_540.0].map(milliseconds);
        assert_eq!(shown, ["0.0123 ms", "12.3 ms", "999 ms", "1,230 ms", "61,500 ms"]);
    }
}
