//! Report of write-amplification: a table by workload and used capacity, the curve over used
//! capacity, and every window over the bytes that the host wrote.

use super::greedy;
use super::results::{AmplificationResults, CellResult, SteadyAmplification};
use super::setup::{
    LIMIT, STEADY_LIMITS, STEADY_WINDOWS, USED, USED_OTHERS, WINDOW, WORKLOADS,
    WriteAmplificationTest,
};
use super::windows::CountedWindow;
use crate::common::metrics::MeasuredPoint;
use crate::exhibits::disclosure::{self, ReportForm};
use crate::exhibits::pages::page;
use crate::exhibits::report::{ProcedureReport, ReportEntry, StudiedRun};
use crate::exhibits::secondary::{self, SecondaryPoint};
use crate::exhibits::typed_table::{TypedColumn, typed_row, typed_table};
use crate::report_notation::{distinct, number};
use crate::rwsw::disclosure::workload_chapter;
use steadfast_domain::findings::{
    Axis, Cell, Exhibit, KeyFigure, Metric, Page, Plot, PlotKind, Row, Scale, Series, Stroke, Table,
};
use steadfast_domain::{Bytes, Caveat, EndState, Record, caveats as ids};

/// Used capacity at which page one states what a smaller one saves.
const SAVED_AT: u8 = 80;

/// Difference between the bytes that this program wrote and those that the drive counted from
/// which the report states it, as a share of them (our choice).
const COUNT_TOLERANCE: f64 = 0.01;

/// Unit of a ratio in metrics.
const RATIO: &str = "1";

type AmplificationRun<'a> = StudiedRun<'a, WriteAmplificationTest>;

impl ProcedureReport for WriteAmplificationTest {
    type Results<'a> = AmplificationResults<'a>;
    const TITLE: &'static str = "Write Amplification";

    const ENTRIES: &'static [ReportEntry<Self>] = &[
        ReportEntry::Summary,
        ReportEntry::Table(|run| matrix_table(run, "amplification-summary")),
        ReportEntry::Form("Write Amplification - by Workload and Used Capacity"),
        ReportEntry::Table(|run| matrix_table(run, "amplification")),
        ReportEntry::OptionalPlot(used_plot),
        ReportEntry::OptionalPlot(workloads_plot),
        ReportEntry::FormPages(window_pages),
        ReportEntry::Setup,
        ReportEntry::Chapters(|run| {
            run.test.captured().map(workload_chapter).into_iter().collect()
        }),
        ReportEntry::General,
        ReportEntry::Chapter("Write Amplification"),
        ReportEntry::Listing(listing),
        ReportEntry::Text(definitions),
        ReportEntry::Table(|run| {
            cells_table(run, "cells", "Write amplification of every cell", &cell_columns())
        }),
        ReportEntry::Table(|run| {
            let title = "Steady windows: what the drive counted, and what this program wrote";
            cells_table(run, "counters", title, &counter_columns())
        }),
        ReportEntry::Secondary,
        ReportEntry::Table(secondary_table),
        ReportEntry::Csv(windows_table),
    ];

    fn studied<'a>(&'a self, record: &'a Record) -> StudiedRun<'a, Self> {
        let (choices, results) = (self.choices(record), AmplificationResults::new(self, record));
        StudiedRun { test: self, record, choices, results }
    }

    fn form(run: &AmplificationRun<'_>) -> ReportForm {
        let settings = &run.test.setup.settings;
        ReportForm::new(
            "Write Amplification",
            "Write Amplification - Flash Bytes per Host Byte",
            &run.choices,
        )
        .set_up([disclosure::note_row(&run.choices)])
        .test_parameters([
            WORKLOADS.value_row(settings, "Workloads"),
            run.choices.demand_row("TOIO - TC/QD", disclosure::form_demand(run.test.demand)),
            USED.value_row(settings, "Used, uniform, %"),
            USED_OTHERS.value_row(settings, "Used, others, %"),
            WINDOW.value_row(settings, "Window, % of used"),
            STEADY_LIMITS.value_row(settings, "Steady within, %"),
            LIMIT.value_row(settings, "Limit, x used"),
        ])
    }

    fn ending(run: &AmplificationRun<'_>) -> String {
        let results = &run.results;
        let steady = results.ascending();
        let measured = format!("{} of {} cells are steady", steady.len(), results.cells.len());
        if !run.record.has_ended() {
            return format!("The run is not finished: {measured}.");
        }
        let (Some(best), Some(worst)) = (steady.first(), steady.last()) else {
            return format!("Steady state NOT achieved: {measured}.");
        };
        let text = |cell: &CellResult<'_>| format!("{} ({})", value_text(cell), cell.cell.name());
        format!("Write amplification {} to {}; {measured}.", text(best), text(worst))
    }

    fn end(run: &AmplificationRun<'_>) -> EndState {
        if run.record.has_ended() { run.results.end() } else { EndState::Unfinished }
    }

    fn caveats(run: &AmplificationRun<'_>) -> Vec<Caveat> {
        let mut caveats = Vec::new();
        caveats.extend(not_steady_caveat(run));
        caveats.extend(count_difference_caveat(run));
        caveats.extend(below_one_caveat(run));
        caveats
    }

    fn front_plots(run: &AmplificationRun<'_>) -> Vec<String> {
        let plots = [used_plot(run), workloads_plot(run)];
        plots.into_iter().flatten().map(|plot| plot.id).collect()
    }

    fn figures(run: &AmplificationRun<'_>) -> Vec<KeyFigure> {
        let results = &run.results;
        let figure = |id: &str, label: String, cell: Option<&CellResult<'_>>| {
            let figure = KeyFigure::new(id, label, cell.and_then(CellResult::value), "")
                .with_subject(cell.map(|cell| cell.cell.name()));
            match cell.and_then(CellResult::range) {
                Some(range) if range.is_of_counters => figure.bounded(Some(range.bounds)),
                range => figure.with_range(range.map(|range| range.bounds)),
            }
        };
        let steady = results.ascending();
        let label = |what: &str, cell: Option<&&CellResult<'_>>| {
            cell.map_or(what.to_owned(), |cell| format!("{what}: {}", cell.cell.name()))
        };
        let saved = format!("Flash writes saved at {SAVED_AT} % used, uniform");
        let spare = results.greedy_ratio().map(|ratio| (ratio - 1.0) * 100.0);
        vec![
            figure("uniform-100", "uniform at 100 %".into(), results.uniform(100)),
            figure("worst", label("Worst", steady.last()), steady.last().copied()),
            figure("best", label("Best", steady.first()), steady.first().copied()),
            KeyFigure::new("saved-at-80", saved, results.saved_percent(SAVED_AT), "%"),
            KeyFigure::new("greedy-spare", "Spare capacity if it collects greedily", spare, "%"),
        ]
    }

    fn metrics(run: &AmplificationRun<'_>) -> Vec<Metric> {
        let mut metrics = Vec::new();
        for result in &run.results.cells {
            let point = result.cell.name();
            if !result.steps.is_empty() {
                let steps = &result.steps;
                let measured = MeasuredPoint { point: &point, pattern: None, steps, rounds: false };
                // That of all windows would count those before steady state.
                let others = measured.metrics().into_iter();
                metrics.extend(others.filter(|other| other.metric != "write-amplification"));
            }
            let range = result.range().map(|range| range.bounds);
            let own = Metric::new("write-amplification", &point, result.value(), RATIO);
            metrics.extend(own.map(|metric| metric.with_range(range)));
        }
        metrics
    }
}

/// Formats the write amplification of a cell, or its bounds if they are far apart; a dash if it has
/// none.
fn value_text(result: &CellResult<'_>) -> String {
    match (result.amplification(), result.value()) {
        (Some(known), _) => known.to_string(),
        (None, value) => value.map_or("–".to_owned(), |value| number(value, 2)),
    }
}

/// Returns true if a cell was applied and is not steady.
fn is_not_steady(result: &CellResult<'_>) -> bool {
    result.steady.is_none() && !result.windows.is_empty()
}

/// Returns the names of the cells for which `is_listed` is true.
fn cell_names(
    run: &AmplificationRun<'_>,
    is_listed: impl Fn(&CellResult<'_>) -> bool,
) -> Vec<String> {
    let cells = run.results.cells.iter().filter(|result| is_listed(result));
    cells.map(|result| result.cell.name()).collect()
}

fn not_steady_caveat(run: &AmplificationRun<'_>) -> Option<Caveat> {
    let cells = cell_names(run, is_not_steady);
    (!cells.is_empty() && run.record.has_ended()).then(|| {
        Caveat::invalidates(
            ids::STEADY_STATE_NOT_ACHIEVED,
            format!(
                "STEADY STATE NOT ACHIEVED by {}: the write amplification of these cells still \
                 changed, so that they have no value.",
                cells.join(", ")
            ),
            "Allow more writes with --set limit=40.",
        )
    })
}

/// Returns a caveat on cells in which the drive counted other amounts than this program wrote;
/// `None` if there are none.
fn count_difference_caveat(run: &AmplificationRun<'_>) -> Option<Caveat> {
    let unit = run.results.host_unit.unwrap_or_default().0 as f64;
    let differs = |result: &&CellResult<'_>| {
        result.steady.is_some_and(|steady| {
            let (counted, written) = (host_bytes(&steady), steady.written as f64);
            (counted - written).abs() > written * COUNT_TOLERANCE + unit
        })
    };
    let text = |result: &CellResult<'_>| {
        let steady = result.steady.unwrap_or_else(|| unreachable!("only steady cells differ"));
        let percent = host_bytes(&steady) / steady.written.max(1) as f64 * 100.0;
        format!("{} ({} %)", result.cell.name(), number(percent, 1))
    };
    let cells: Vec<String> = run.results.cells.iter().filter(differs).map(text).collect();
    (!cells.is_empty()).then(|| {
        Caveat::remark(
            ids::HOST_COUNTER_DIFFERS,
            format!(
                "The drive counted other amounts of host writes than this program wrote: {}. The \
                 write amplification is that of the drive's counts.",
                cells.join(", ")
            ),
            "Find out what else writes to the drive, or which unit its counter has.",
        )
    })
}

/// Returns the bytes that the drive counted as written by its host.
fn host_bytes(steady: &SteadyAmplification) -> f64 {
    steady.counts.host_written.unwrap_or_default().0 as f64
}

/// Returns a caveat on cells with fewer flash bytes than host bytes; `None` if there are none.
fn below_one_caveat(run: &AmplificationRun<'_>) -> Option<Caveat> {
    let highest = |result: &CellResult<'_>| Some(result.amplification()?.high);
    let cells = cell_names(run, |result| highest(result).is_some_and(|high| high < 1.0));
    (!cells.is_empty()).then(|| {
        Caveat::remark(
            ids::AMPLIFICATION_BELOW_ONE,
            format!(
                "Fewer bytes were written to the flash than by the host: {}. The drive compresses \
                 or removes duplicates, or its counters have other units than they seem to.",
                cells.join(", ")
            ),
            "Write incompressible data (--data-pattern random-unique).",
        )
    })
}

fn workload_names(run: &AmplificationRun<'_>) -> Vec<String> {
    distinct(run.results.cells.iter().map(|result| result.cell.workload.to_string()))
}

/// Returns the used capacities of all cells, the largest first.
fn percents(run: &AmplificationRun<'_>) -> Vec<u8> {
    let mut percents = distinct(run.results.cells.iter().map(|result| result.cell.percent));
    percents.sort_unstable_by(|a, b| b.cmp(a));
    percents
}

fn cells_of<'r, 'a>(
    run: &'r AmplificationRun<'a>,
    workload: &'r str,
) -> impl Iterator<Item = &'r CellResult<'a>> {
    run.results.cells.iter().filter(move |result| result.cell.workload.to_string() == workload)
}

fn matrix_table(run: &AmplificationRun<'_>, id: &str) -> Table {
    let percents = percents(run);
    let cell = |workload: &str, percent: u8| match cells_of(run, workload)
        .find(|result| result.cell.percent == percent)
    {
        Some(result) if is_not_steady(result) => Cell::text("not steady"),
        Some(result) if result.amplification().is_some() => {
            secondary::amplification(result.amplification(), 2)
        }
        Some(result) => Cell::number(result.value(), 2),
        None => Cell::Missing,
    };
    let row = |name: String| {
        let cells: Vec<Cell> = percents.iter().map(|percent| cell(&name, *percent)).collect();
        Row::new(name, cells)
    };
    Table::new(id, "Write amplification: flash bytes per host byte in steady state", "Workload")
        .spanner("Used capacity %")
        .columns(percents.iter().map(u8::to_string))
        .rows(workload_names(run).into_iter().map(row))
}

/// Returns the curve over used capacity; `None` unless a workload has two points.
fn used_plot(run: &AmplificationRun<'_>) -> Option<Plot> {
    let mut plot = Plot::lines(
        "amplification-used",
        "Write amplification over used capacity",
        Axis::new("Used capacity (%)", Scale::LinearFitted),
        Axis::new("Flash bytes per host byte", Scale::Linear),
    );
    for name in workload_names(run) {
        let mut points: Vec<(f64, Option<f64>)> = cells_of(run, &name)
            .map(|result| (f64::from(result.cell.percent), result.value()))
            .collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        if points.len() > 1 {
            plot = plot.with(Series::new(name, Stroke::Measured, points));
        }
    }
    let lowest = percents(run).last().copied().unwrap_or(100);
    if let Some(ratio) = run.results.greedy_ratio().filter(|_| lowest < 100) {
        let fit = (lowest..=100).map(|percent| {
            (f64::from(percent), greedy::amplification(ratio * 100.0 / f64::from(percent)))
        });
        let name = format!("greedy, {} % spare (fitted)", number((ratio - 1.0) * 100.0, 1));
        plot = plot.with(Series::new(name, Stroke::Fit, fit.collect()).with_id("greedy")).caption(
            "The line \"greedy\": greedy collection under uniform random writes (Desnoyers' \
             formula) with the spare capacity that fits the value of uniform at 100 %. The true \
             spare capacity of the drive is unknown.",
        );
    }
    (!plot.series.is_empty()).then_some(plot)
}

/// Returns the write amplification of the workloads on the fullest drive that all have; `None` for
/// a single workload.
fn workloads_plot(run: &AmplificationRun<'_>) -> Option<Plot> {
    let names = workload_names(run);
    let cells_at =
        |percent: u8| run.results.cells.iter().filter(move |result| result.cell.percent == percent);
    let has_all = |percent: &u8| cells_at(*percent).count() == names.len();
    let percent = percents(run).into_iter().find(has_all).filter(|_| names.len() > 1)?;
    let cells = (0_u32..).zip(cells_at(percent));
    let points = cells.map(|(place, result)| (f64::from(place), result.value()));
    let series = Series::new(format!("{percent} % used"), Stroke::Measured, points.collect());
    let title = format!("Write amplification by workload, {percent} % used");
    let plot = Plot::new(
        PlotKind::Bars,
        "amplification-workloads",
        title,
        Axis::new("Workload", Scale::Categories(names)),
        Axis::new("Flash bytes per host byte", Scale::Linear),
    );
    Some(plot.with(series))
}

fn window_pages(run: &AmplificationRun<'_>) -> Vec<Page> {
    workload_names(run).iter().filter_map(|name| window_page(run, name)).collect()
}

fn window_page(run: &AmplificationRun<'_>, name: &str) -> Option<Page> {
    let cells: Vec<_> = cells_of(run, name).filter(|result| !result.windows.is_empty()).collect();
    let first = cells.first()?;
    let title = format!("Write amplification over host writes, {name}");
    let mut plot = Plot::lines(
        &format!("windows-{}", first.cell.workload.id()),
        title.clone(),
        Axis::new("Host writes (x used capacity)", Scale::Linear),
        Axis::new("Flash bytes per host byte", Scale::Linear),
    )
    .caption(format!(
        "One point per window, at its end; a void window has none. A cell ends with \
         {STEADY_WINDOWS} steady windows in a row, whose bytes are its value."
    ));
    for result in cells {
        let used = result.cell.range.length.0 as f64;
        let mut written = 0.0;
        let mut points = Vec::with_capacity(result.windows.len());
        for window in &result.windows {
            written += window.written.0 as f64;
            points.push((written / used, window.amplification()));
        }
        let name = format!("{} % used", result.cell.percent);
        plot = plot.with(Series::new(name, Stroke::Measured, points));
    }
    Some(page(&title, vec![Exhibit::Plot(plot)]))
}

fn listing(run: &AmplificationRun<'_>) -> String {
    let test = run.test;
    let cells: Vec<String> = test.cells.iter().map(|cell| cell.name()).collect();
    let settings = &test.setup.settings;
    format!(
        "RND 4K R for 10 s: the drive must report host and flash bytes\nFor each of: {}\n  \
         Purge\n  SEQ 128K W over the used capacity\n  The workload over it, {}, in windows of {} % \
         of it\n    until {STEADY_WINDOWS} windows in a row are steady, at most {} windows",
        cells.join(", "),
        test.demand,
        WINDOW.value(settings),
        test.windows_max
    )
}

fn definitions(run: &AmplificationRun<'_>) -> String {
    let unit = |unit: Option<Bytes>| match unit {
        None => "unknown".to_owned(),
        Some(Bytes(0)) => "exact".to_owned(),
        Some(Bytes(bytes)) => format!("{} bytes", number(bytes as f64, 0)),
    };
    format!(
        "Write amplification is the number of bytes written to the flash divided by the number of \
         bytes written by the host, both by the counters of the drive, summed over the \
         {STEADY_WINDOWS} steady windows. A window is a round of the rule of steady state. The \
         interval holds every value that the counters allow if each is wrong by its unit: {} for \
         the host's, {} for the flash's. Flash bytes include what the drive writes for \
         itself.",
        unit(run.results.host_unit),
        unit(run.results.nand_unit)
    )
}

/// Returns the number of a cell's windows that are not void.
fn counted_windows(result: &CellResult<'_>) -> Option<u64> {
    let counted = result.windows.iter().filter(|window| window.counts().is_some()).count();
    (!result.windows.is_empty()).then_some(counted as u64)
}

fn cell_columns<'a>() -> [TypedColumn<CellResult<'a>>; 8] {
    [
        TypedColumn::number("Value", 3, |result| result.value()),
        TypedColumn::number("Not below", 3, |result| Some(result.amplification()?.low)),
        TypedColumn::number("Not above", 3, |result| Some(result.amplification()?.high)),
        TypedColumn::cell("Steady", |result| match result.windows.len() {
            0 => Cell::Missing,
            _ => Cell::verdict(result.steady.is_some()),
        }),
        TypedColumn::number("Last 5, lowest", 3, |result| Some(result.last_values()?.low)),
        TypedColumn::number("Last 5, highest", 3, |result| Some(result.last_values()?.high)),
        TypedColumn::count("Windows", |result| counted_windows(result)),
        TypedColumn::number("MB/s", 1, |result| rate_of_windows(result)),
    ]
}

fn rate_of_windows(result: &CellResult<'_>) -> Option<f64> {
    let bytes: f64 = result.steps.iter().map(|step| step.bytes().0 as f64).sum();
    let seconds: f64 = result.steps.iter().map(|step| step.elapsed.as_secs_f64()).sum();
    (seconds > 0.0).then(|| bytes / 1e6 / seconds)
}

fn counter_columns<'a>() -> [TypedColumn<CellResult<'a>>; 3] {
    [
        TypedColumn::number("Host GB", 3, |result| {
            Some(result.steady?.counts.host_written?.as_gb())
        }),
        TypedColumn::number("Flash GB", 3, |result| {
            Some(result.steady?.counts.nand_written?.as_gb())
        }),
        TypedColumn::number("Written GB", 3, |result| Some(result.steady?.written as f64 / 1e9)),
    ]
}

fn cells_table<'a>(
    run: &AmplificationRun<'a>,
    id: &str,
    title: &str,
    columns: &[TypedColumn<CellResult<'a>>],
) -> Table {
    typed_table(id, title, "Cell", columns).rows(
        run.results.cells.iter().map(|result| {
            typed_row(result.cell.name(), columns, result).with_id(result.cell.phase())
        }),
    )
}

fn secondary_table(run: &AmplificationRun<'_>) -> Table {
    let measured = run.results.cells.iter().filter(|result| !result.steps.is_empty());
    let points: Vec<SecondaryPoint> = measured
        .map(|result| SecondaryPoint::from_steps(result.cell.name(), &result.steps))
        .collect();
    secondary::points_table("secondary-cells", "Secondary metrics of the cells", &points)
}

const WINDOW_ROW: [TypedColumn<CountedWindow>; 6] = [
    TypedColumn::count("Window", |window| Some(window.number.into())),
    TypedColumn::count("Written bytes", |window| Some(window.written.0)),
    TypedColumn::count("Host bytes", |window| window.counts()?.host_written.map(|bytes| bytes.0)),
    TypedColumn::count("Flash bytes", |window| window.counts()?.nand_written.map(|bytes| bytes.0)),
    TypedColumn::number("Write amplification", 4, CountedWindow::amplification),
    TypedColumn::cell("After a gap", |window| {
        Cell::text(if window.after_gap { "yes" } else { "no" })
    }),
];

fn windows_table(run: &AmplificationRun<'_>) -> Table {
    let mut table = typed_table("windows", "Every window", "Cell", &WINDOW_ROW);
    for result in &run.results.cells {
        let rows = result.windows.iter();
        table = table.rows(rows.map(|window| {
            let id = format!("{}-{}", result.cell.phase(), window.number);
            typed_row(result.cell.phase(), &WINDOW_ROW, window).with_id(id)
        }));
    }
    table
}
