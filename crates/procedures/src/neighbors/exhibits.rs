//! Report of neighbors: response times of the victim with each offender off and on, isolation and
//! utilization under each control.

use super::control::ControlName;
use super::results::{ControlState, Disturbance, ISOLATION_AT, NeighborsResults, VictimSide};
use super::setup::Neighbors;
use crate::exhibits::disclosure::{self, ReportForm};
use crate::exhibits::report::{ProcedureReport, ReportEntry, StudiedRun};
use crate::exhibits::typed_table::{TypedColumn, typed_row, typed_table};
use crate::report_notation::number;
use steadfast_domain::findings::{
    Axis, Cell, Exhibit, KeyFigure, Metric, Plot, Row, Scale, Series, Stroke, Table,
};
use steadfast_domain::{Caveat, Record, caveats as ids};

type NeighborsRun<'a> = StudiedRun<'a, Neighbors>;

/// Columns of the victim's response times.
const RESPONSE: [TypedColumn<Disturbance>; 8] = [
    TypedColumn::cell("50 % off", |disturbance| response_cell(&disturbance.off, 0.5)),
    TypedColumn::cell("50 % on", |disturbance| response_cell(&disturbance.on, 0.5)),
    TypedColumn::cell("99 % off", |disturbance| response_cell(&disturbance.off, ISOLATION_AT)),
    TypedColumn::cell("99 % on", |disturbance| response_cell(&disturbance.on, ISOLATION_AT)),
    TypedColumn::cell("99.9 % off", |disturbance| response_cell(&disturbance.off, 0.999)),
    TypedColumn::cell("99.9 % on", |disturbance| response_cell(&disturbance.on, 0.999)),
    TypedColumn::number("Isolation", 3, Disturbance::isolation),
    TypedColumn::number("Utilization", 3, Disturbance::utilization),
];

const RATES: [TypedColumn<Disturbance>; 5] = [
    TypedColumn::number("Victim IOPS off", 1, |disturbance| disturbance.off.iops()),
    TypedColumn::number("Victim IOPS on", 1, |disturbance| disturbance.on.iops()),
    TypedColumn::number("Offender alone MB/s", 2, |disturbance| {
        disturbance.alone.map(|rate| rate / 1e6)
    }),
    TypedColumn::number("Offender limit MB/s", 2, |disturbance| {
        disturbance.limit.map(|rate| rate / 1e6)
    }),
    TypedColumn::number("Offender MB/s", 2, |disturbance| {
        disturbance.offender_rate().map(|rate| rate / 1e6)
    }),
];

impl ProcedureReport for Neighbors {
    type Results<'a> = NeighborsResults;
    const TITLE: &'static str = "Neighbors";

    const FRONT_PLOTS: &'static [&'static str] = &["neighbors-course-1"];

    const ENTRIES: &'static [ReportEntry<Self>] = &[
        ReportEntry::Summary,
        ReportEntry::Table(response_table),
        ReportEntry::Table(controls_table),
        ReportEntry::Form("Neighbors - Response Times of the Victim"),
        ReportEntry::Table(response_table),
        ReportEntry::Table(rates_table),
        ReportEntry::Form("Neighbors - Isolation and Utilization"),
        ReportEntry::Table(controls_table),
        ReportEntry::Text(definitions),
        ReportEntry::Chapter("Course of the Cycles"),
        ReportEntry::Several(course_plots),
        ReportEntry::Setup,
    ];

    fn studied<'a>(&'a self, record: &'a Record) -> StudiedRun<'a, Self> {
        let (choices, results) = (self.choices(record), NeighborsResults::new(self, record));
        StudiedRun { test: self, record, choices, results }
    }

    fn form(run: &NeighborsRun<'_>) -> ReportForm {
        let demand = disclosure::form_demands(&run.choices.demands);
        let names: Vec<&str> =
            run.test.offenders.iter().map(|offender| offender.name.as_str()).collect();
        ReportForm::new("Neighbors", "Response times of a load disturbed by another", &run.choices)
            .set_up([disclosure::note_row(&run.choices)])
            .test_parameters([
                disclosure::profile_row("victim", "Victim", run.test.victim_text()),
                disclosure::profile_row("offenders", "Offenders", names.join(", ")),
                run.choices.demand_row("Victim TC/QD", demand),
            ])
    }

    fn ending(run: &NeighborsRun<'_>) -> String {
        if !run.record.has_ended() {
            return "The run is not finished.".to_owned();
        }
        match run.results.worst(ControlName::Uncontrolled) {
            Some(worst) if worst.on.fell_behind => {
                format!(
                    "Complete: without control, the victim {NOT_KEPT_UP} next to {}.",
                    worst.offender
                )
            }
            Some(worst) => format!(
                "Complete: without control, the victim felt {} most, with an isolation of {}.",
                worst.offender,
                worst.isolation().map_or_else(|| "–".to_owned(), isolation_text)
            ),
            None => "Complete: too few I/Os of the victim for its 99 % response time.".to_owned(),
        }
    }

    fn caveats(run: &NeighborsRun<'_>) -> Vec<Caveat> {
        let mut caveats = Vec::new();
        let missed_off = rates_missed(run, |disturbance| disturbance.off.fell_behind);
        if !missed_off.is_empty() {
            caveats.push(Caveat::deviation(
                ids::RATE_MISSED,
                format!(
                    "The victim did not reach its rate although the offender was off: {missed_off}."
                ),
                "Choose a lower rate, or more outstanding I/Os: --set rate=10% --depth 128.",
            ));
        }
        let missed_on = rates_missed(run, |disturbance| disturbance.on.fell_behind);
        if !missed_on.is_empty() {
            caveats.push(Caveat::remark(
                ids::RATE_MISSED,
                format!(
                    "The victim could not keep up next to: {missed_on}; its response times there \
                     would depend on the length of a step, and are left out."
                ),
                "",
            ));
        }
        caveats
    }

    fn figures(run: &NeighborsRun<'_>) -> Vec<KeyFigure> {
        let mut figures = figures_of(run, "Isolation", Disturbance::isolation);
        for (figure, control) in figures.iter_mut().zip(available(run)) {
            let has_fallen_behind =
                run.results.worst(control).is_some_and(|disturbance| disturbance.on.fell_behind);
            figure.note = has_fallen_behind.then(|| NOT_KEPT_UP.to_owned());
        }
        figures.extend(figures_of(run, "Utilization", Disturbance::utilization));
        figures
    }

    fn metrics(run: &NeighborsRun<'_>) -> Vec<Metric> {
        let mut metrics = Vec::new();
        for disturbance in &run.results.disturbances {
            let point = disturbance.name();
            let off = disturbance.off.response_ms(ISOLATION_AT);
            let on = disturbance.on.response_ms(ISOLATION_AT);
            let offender = disturbance.offender_rate().map(|rate| rate / 1e6);
            metrics.extend(
                [
                    Metric::new("p99-off", &point, off, "ms"),
                    Metric::new("p99-on", &point, on, "ms"),
                    Metric::new("offender-throughput", &point, offender, "MB/s"),
                    Metric::new("isolation", &point, disturbance.isolation(), "1"),
                    Metric::new("utilization", &point, disturbance.utilization(), "1"),
                ]
                .into_iter()
                .flatten(),
            );
        }
        metrics
    }
}

/// Returns the offenders and controls with which the victim fell behind its rate, as text; empty
/// if there are none.
fn rates_missed(run: &NeighborsRun<'_>, fell_behind: fn(&Disturbance) -> bool) -> String {
    let missed = run.results.disturbances.iter().filter(|disturbance| fell_behind(disturbance));
    missed.map(Disturbance::name).collect::<Vec<_>>().join("; ")
}

/// Returns a number of each control, for the offender that the victim feels most under it.
fn figures_of(
    run: &NeighborsRun<'_>,
    name: &str,
    value: fn(&Disturbance) -> Option<f64>,
) -> Vec<KeyFigure> {
    let figure = |control: ControlName| {
        let id = format!("{}-{}", name.to_lowercase(), control.id());
        let worst = run.results.worst(control);
        KeyFigure::new(&id, format!("{name}, {}", label(control)), worst.and_then(value), "")
            .with_subject(worst.map(|worst| worst.offender.clone()))
    };
    available(run).map(figure).collect()
}

fn available<'r>(run: &'r NeighborsRun<'_>) -> impl Iterator<Item = ControlName> + 'r {
    let controls = run.results.controls.iter().filter(|control| control.unavailable.is_none());
    controls.map(|control| control.name)
}

/// Text in place of a number that depends on the length of a step.
const NOT_KEPT_UP: &str = "could not keep up";

/// Returns the cell of a response time of the victim in milliseconds.
fn response_cell(side: &VictimSide, fraction: f64) -> Cell {
    if side.fell_behind {
        return Cell::text(NOT_KEPT_UP);
    }
    Cell::number(side.response_ms(fraction), 3)
}

fn label(control: ControlName) -> &'static str {
    match control {
        ControlName::Uncontrolled => "no control",
        other => other.name(),
    }
}

fn disturbance_table(
    run: &NeighborsRun<'_>,
    id: &str,
    title: &str,
    columns: &[TypedColumn<Disturbance>],
) -> Table {
    let rows = run.results.disturbances.iter().map(|disturbance| {
        let head = format!("{}, {}", disturbance.offender, label(disturbance.control));
        typed_row(head, columns, disturbance).with_id(format!(
            "{}-{}",
            disturbance.control.id(),
            disturbance.number + 1
        ))
    });
    typed_table(id, title, "Offender, control", columns).rows(rows)
}

fn response_table(run: &NeighborsRun<'_>) -> Table {
    let title = "Response times of the victim in ms, with the offender off and on";
    disturbance_table(run, "neighbors", title, &RESPONSE)
}

fn rates_table(run: &NeighborsRun<'_>) -> Table {
    disturbance_table(run, "neighbors-rates", "Rates of victim and offender", &RATES)
}

fn controls_table(run: &NeighborsRun<'_>) -> Table {
    let row = |control: &ControlState| {
        let state = match &control.unavailable {
            None => "measured".to_owned(),
            Some(why) => format!("unavailable: {why}"),
        };
        Row::new(label(control.name), [Cell::text(state)]).with_id(control.name.id())
    };
    Table::new("neighbors-controls", "Controls of the kernel", "Control")
        .columns([("state", "State")])
        .rows(run.results.controls.iter().map(row))
}

fn definitions(run: &NeighborsRun<'_>) -> String {
    let offered = run
        .results
        .offered
        .map_or("an unknown rate".to_owned(), |rate| format!("{} IOPS", number(rate, 1)));
    let most = run.results.victim_max.map_or(String::new(), |most| {
        format!(" Alone, with the same demand and no rate, it reached {} IOPS.", number(most, 1))
    });
    format!(
        "The victim offered {offered}; response times are counted from the time at which each I/O \
         was due.{most} Isolation is its 99 % response time with the offender off, divided by that \
         with the offender on: 1 means that the offender is not felt. Utilization is the bytes per \
         second of victim and offender together, divided by those of the offender alone without \
         control: what a control costs. Both definitions are ours."
    )
}

/// Returns a plot for each offender: the victim's response times step by step, off and on in turn.
fn course_plots(run: &NeighborsRun<'_>) -> Vec<Exhibit> {
    let plot = |(number, offender): (usize, &super::setup::OffenderLoad)| {
        let own =
            run.results.disturbances.iter().filter(move |disturbance| disturbance.number == number);
        let steps: Vec<String> = (1..=run.test.cycles)
            .flat_map(|cycle| [format!("{cycle} off"), format!("{cycle} on")])
            .collect();
        let series = own.map(|disturbance| {
            let points = disturbance
                .course
                .iter()
                .enumerate()
                .map(|(at, value)| (at as f64, *value))
                .collect();
            Series::new(label(disturbance.control), Stroke::Measured, points)
                .with_id(disturbance.control.id())
        });
        let plot = Plot::lines(
            &format!("neighbors-course-{}", number + 1),
            format!("99 % response time of the victim, offender {}", offender.name),
            Axis::new("Cycle", Scale::Categories(steps)),
            Axis::new("99 % response time (ms)", Scale::Log10),
        );
        Exhibit::Plot(plot.series(series))
    };
    run.test.offenders.iter().enumerate().map(plot).collect()
}

/// Formats an isolation, which is small where the victim hardly gets a turn.
fn isolation_text(isolation: f64) -> String {
    if isolation < 0.001 { "less than 0.001".to_owned() } else { number(isolation, 3) }
}
