//! Report of fill: the rate over the written amount with its cliffs, what returned after each idle
//! time, and reads of new and of old data.

use super::curve::{BINS, Cliff, Plateau, RateSample};
use super::results::{AfterIdleResult, FillResults, LevelResult};
use super::setup::{DriveFill, IDLE_TIMES, LEVELS, PATTERN};
use crate::common::metrics::MeasuredPoint;
use crate::exhibits::disclosure::{self, ReportForm};
use crate::exhibits::pages::page;
use crate::exhibits::report::{ProcedureReport, ReportEntry, StudiedRun};
use crate::exhibits::secondary::{self, SecondaryPoint};
use crate::exhibits::typed_table::{TypedColumn, typed_row, typed_table};
use crate::report_notation::{capitalized, joined, number};
use steadfast_domain::findings::{
    Axis, Cell, Exhibit, KeyFigure, Marker, Metric, Page, Plot, Row, Scale, Series, Stroke, Table,
};
use steadfast_domain::{Nanos, Record, Step};

type DriveFillRun<'a> = StudiedRun<'a, DriveFill>;

impl ProcedureReport for DriveFill {
    type Results<'a> = FillResults<'a>;
    const TITLE: &'static str = "Fill";

    const ENTRIES: &'static [ReportEntry<Self>] = &[
        ReportEntry::Summary,
        ReportEntry::Table(|run| levels_table(run, "fill-levels")),
        ReportEntry::Table(|run| after_idle_table(run, "fill-returned")),
        ReportEntry::FormPages(curve_pages),
        ReportEntry::Form("Fill - After Idle"),
        ReportEntry::Table(|run| after_idle_table(run, "returned")),
        ReportEntry::Plot(returned_plot),
        ReportEntry::OptionalTable(reads_table),
        ReportEntry::Setup,
        ReportEntry::Chapter("Fill"),
        ReportEntry::Listing(listing),
        ReportEntry::Table(|run| levels_table(run, "levels")),
        ReportEntry::Several(bin_tables),
        ReportEntry::Secondary,
        ReportEntry::Table(secondary_table),
        ReportEntry::Csv(samples_table),
    ];

    fn studied<'a>(&'a self, record: &'a Record) -> StudiedRun<'a, Self> {
        let (choices, results) = (self.choices(record), FillResults::new(self, record));
        StudiedRun { test: self, record, choices, results }
    }

    fn form(run: &DriveFillRun<'_>) -> ReportForm {
        let demand = disclosure::form_demands(&run.choices.demands);
        let settings = &run.test.setup.settings;
        ReportForm::new(
            "Fill",
            "Rate over the written amount, and what idle time brings back",
            &run.choices,
        )
        .set_up([disclosure::note_row(&run.choices)])
        .test_parameters([
            PATTERN.value_row(settings, "Test Stimulus"),
            run.choices.demand_row("TOIO - TC/QD", demand),
            LEVELS.value_row(settings, "Fill Levels, %"),
            IDLE_TIMES.value_row(settings, "Idle Times"),
        ])
    }

    /// Returns the sentence for buyers about the first level: how fast, for how much, then how
    /// fast, and what is back after each idle time.
    fn ending(run: &DriveFillRun<'_>) -> String {
        let unfinished = if run.record.has_ended() { "" } else { "The run is not finished. " };
        let first = run.results.levels.first().and_then(sentence).unwrap_or_default();
        format!("{unfinished}{first}").trim_end().to_owned()
    }

    fn front_plots(run: &DriveFillRun<'_>) -> Vec<String> {
        let first = run.results.levels.first().map(plot_id);
        first.into_iter().chain(["returned-plot".to_owned()]).collect()
    }

    fn reports(_: &DriveFillRun<'_>, _: &Step) -> bool {
        true
    }

    fn figures(run: &DriveFillRun<'_>) -> Vec<KeyFigure> {
        let Some(first) = run.results.levels.first() else { return Vec::new() };
        let slowest = first.slowest().filter(|slowest| slowest.from > 0.0);
        let mut figures = vec![
            KeyFigure::new("full-speed", "Full speed", first.full_speed(), "MB/s"),
            KeyFigure::new("full-speed-amount", "At full speed", first.full_speed_gb(), "GB")
                .with_note(first.bytes_without_cliff().map(no_drop_note)),
            KeyFigure::new("next-speed", "Then", first.next_speed(), "MB/s")
                .with_note(first.bytes_without_cliff().map(|_| "did not drop".to_owned())),
            KeyFigure::new("lowest-speed", "Slowest plateau", first.lowest_speed(), "MB/s")
                .with_note(slowest.map(from_gb_note)),
            KeyFigure::new("mean-speed", "Mean", first.curve.mean(), "MB/s"),
        ];
        figures.extend(first.after_idle.iter().map(|result| {
            let id = format!("back-after-{}s", result.idle.as_secs_f64());
            let label = format!("Back after {} idle", result.idle);
            let note = match result.returned {
                Some(returned) => (!returned.has_dropped).then(|| "no drop".to_owned()),
                None => first
                    .bytes_without_cliff()
                    .and(result.written)
                    .map(|_| "no fast amount".to_owned()),
            };
            KeyFigure::new(&id, label, result.returned_gb(), "GB").with_note(note)
        }));
        figures
    }

    /// Returns the writes of every level in long form, with its first cliff.
    fn metrics(run: &DriveFillRun<'_>) -> Vec<Metric> {
        let mut metrics = Vec::new();
        for level in &run.results.levels {
            let point = level_name(level);
            let pattern = Some(run.test.pattern);
            let steps = &level.steps;
            if !steps.is_empty() {
                let point = MeasuredPoint { point: &point, pattern, steps, rounds: false };
                metrics.extend(point.metrics());
            }
            let own = [
                Metric::new("full-speed", &point, level.full_speed(), "MB/s"),
                Metric::new("full-speed-amount", &point, level.full_speed_gb(), "GB"),
                Metric::new("next-speed", &point, level.next_speed(), "MB/s"),
            ];
            metrics.extend(own.into_iter().flatten());
            metrics.extend(level.after_idle.iter().filter_map(|result| {
                let point = format!("{point}, {} idle", result.idle);
                Metric::new("returned", &point, result.returned_gb(), "GB")
            }));
        }
        metrics
    }
}

/// Returns the name of a level, such as `50 % full`.
fn level_name(level: &LevelResult<'_>) -> String {
    match level.level.percent {
        0 if level.is_purged => "empty".to_owned(),
        0 => "not purged".to_owned(),
        percent => format!("{percent} % full"),
    }
}

fn plot_id(level: &LevelResult<'_>) -> String {
    format!("curve-{}", level.level.percent)
}

/// Formats a rate or an amount with three significant digits.
fn three_digits(value: f64) -> String {
    let decimals = match value.abs() {
        100.0.. => 0,
        10.0.. => 1,
        _ => 2,
    };
    number(value, decimals)
}

/// Returns the note on an amount that was written to its end at full speed.
fn no_drop_note(bytes: f64) -> String {
    format!("{} GB, no drop", three_digits(bytes / 1e9))
}

/// Returns the note on a plateau that begins after some amount was written.
fn from_gb_note(plateau: Plateau) -> String {
    format!("from {} GB", three_digits(plateau.from / 1e9))
}

/// Describes a level in one sentence; `None` if it was not measured.
fn sentence(level: &LevelResult<'_>) -> Option<String> {
    let full = level.full_speed()?;
    let name = capitalized(&level_name(level));
    let Some(first) = level.full_speed_gb() else {
        let whole = level.bytes_without_cliff().unwrap_or_default() / 1e9;
        return Some(format!(
            "{name}: {} MB/s for all of the {} GB, without a cliff.",
            three_digits(full),
            three_digits(whole)
        ));
    };
    let mut text =
        format!("{name}: full speed {} MB/s for {} GB", three_digits(full), three_digits(first));
    for cliff in level.curve.cliffs() {
        text.push_str(&format!(", then {} MB/s", three_digits(cliff.after.mb_per_second())));
    }
    let back = joined(level.after_idle.iter().filter_map(|result| {
        let returned = result.returned?;
        let least = if returned.has_dropped { "" } else { "at least " };
        Some(format!("{least}{} GB after {}", three_digits(returned.bytes / 1e9), result.idle))
    }));
    if !back.is_empty() {
        text.push_str(&format!("; idle brings back {back}"));
    }
    Some(format!("{text}."))
}

fn level_columns<'a>() -> [TypedColumn<LevelResult<'a>>; 6] {
    [
        TypedColumn::number("Full speed MB/s", 1, |level| level.full_speed()),
        TypedColumn::number("For GB", 2, |level| level.full_speed_gb()),
        TypedColumn::number("Then MB/s", 1, |level| level.next_speed()),
        TypedColumn::number("Slowest plateau MB/s", 1, |level| level.lowest_speed()),
        TypedColumn::number("Mean MB/s", 1, |level| level.curve.mean()),
        TypedColumn::cell("Cliffs", |level| match level.curve.plateaus.len() {
            0 => Cell::Missing,
            _ => Cell::count(level.curve.cliffs().count() as u64),
        }),
    ]
}

fn levels_table(run: &DriveFillRun<'_>, id: &str) -> Table {
    let title = "Rate until the range is written, by what the drive held before";
    let columns = level_columns();
    typed_table(id, title, "Drive", &columns)
        .rows(run.results.levels.iter().map(|level| typed_row(level_name(level), &columns, level)))
}

const AFTER_IDLE: [TypedColumn<AfterIdleResult>; 5] = [
    TypedColumn::number("Back GB", 2, AfterIdleResult::returned_gb),
    TypedColumn::number("% of the first time", 1, AfterIdleResult::returned_percent),
    TypedColumn::cell("Cliff", |result| {
        let has_dropped = result.returned.map(|returned| returned.has_dropped);
        Cell::known(has_dropped.map(|dropped| if dropped { "yes" } else { "not yet" }))
    }),
    TypedColumn::number("Written GB", 2, |result| result.written.map(|bytes| bytes / 1e9)),
    TypedColumn::number("Mean MB/s", 1, |result| result.mean),
];

fn after_idle_table(run: &DriveFillRun<'_>, id: &str) -> Table {
    let title = "Written at full speed again after idle times";
    let mut table = typed_table(id, title, "Drive, idle for", &AFTER_IDLE);
    for level in &run.results.levels {
        let name = level_name(level);
        table = table.rows(level.after_idle.iter().map(|result| {
            let row = typed_row(format!("{name}, {}", result.idle), &AFTER_IDLE, result);
            row.with_id(level.level.after_idle_phase(result.idle))
        }));
    }
    table
}

/// Returns a page per level: its curve, and its plateaus.
fn curve_pages(run: &DriveFillRun<'_>) -> Vec<Page> {
    let of_level = |level: &LevelResult<'_>| {
        let title = format!("Fill - {} over Amount, {}", run.test.pattern, level_name(level));
        let exhibits =
            vec![Exhibit::Plot(curve_plot(run, level)), Exhibit::Table(plateaus_table(level))];
        page(&title, exhibits)
    };
    run.results.levels.iter().map(of_level).collect()
}

fn curve_plot(run: &DriveFillRun<'_>, level: &LevelResult<'_>) -> Plot {
    let middles = |samples: &[RateSample]| {
        let mut written = 0.0;
        let mut points = Vec::with_capacity(samples.len());
        for sample in samples {
            points.push(((written + sample.bytes / 2.0) / 1e9, Some(sample.mb_per_second())));
            written += sample.bytes;
        }
        points
    };
    let edges = |plateau: &Plateau| {
        let rate = Some(plateau.mb_per_second());
        [(plateau.from / 1e9, rate), (plateau.to / 1e9, rate)]
    };
    let plateaus = level.curve.plateaus.iter().flat_map(edges).collect();
    let marker = |cliff: Cliff| {
        let (x, rate) = (cliff.before.to / 1e9, cliff.after.mb_per_second());
        Marker { x, label: format!("{} GB: {} MB/s", three_digits(x), three_digits(rate)) }
    };
    Plot::lines(
        &plot_id(level),
        format!("Rate over the written amount, {}", level_name(level)),
        Axis::new("Written (GB)", Scale::Linear),
        Axis::new("MB/s", Scale::Linear),
    )
    .caption(format!(
        "Each half second, each hundredth of the amount, and the plateaus between changes of at \
         least {} %. Lines mark where the rate drops.",
        number(run.test.drop_share * 100.0, 0)
    ))
    .with(Series::new("each 0.5 s", Stroke::Context, middles(&level.curve.samples)))
    .with(Series::new("each 1 %", Stroke::Average, middles(&level.curve.bins())))
    .with(Series::new("plateau", Stroke::Fit, plateaus))
    .markers(level.curve.cliffs().map(marker))
}

const PLATEAU: [TypedColumn<Plateau>; 4] = [
    TypedColumn::number("From GB", 2, |plateau| Some(plateau.from / 1e9)),
    TypedColumn::number("To GB", 2, |plateau| Some(plateau.to / 1e9)),
    TypedColumn::number("Seconds", 1, |plateau| Some(plateau.seconds)),
    TypedColumn::number("MB/s", 1, |plateau| Some(plateau.mb_per_second())),
];

fn plateaus_table(level: &LevelResult<'_>) -> Table {
    let id = format!("plateaus-{}", level.level.percent);
    let rows = (1..).zip(&level.curve.plateaus);
    typed_table(&id, format!("Plateaus, {}", level_name(level)), "Plateau", &PLATEAU)
        .rows(rows.map(|(n, plateau): (u32, _)| typed_row(n.to_string(), &PLATEAU, plateau)))
}

fn returned_plot(run: &DriveFillRun<'_>) -> Plot {
    let mut plot = Plot::lines(
        "returned-plot",
        "Written at full speed again over idle time",
        Axis::new("Idle time (s)", Scale::Log10),
        Axis::new("GB at full speed", Scale::Linear),
    )
    .caption(
        "The amount written at full speed after an idle time; dashed, the amount up to the first \
         cliff. An idle time begins with nothing left of the fast amount, unless the writes before \
         it ended without a cliff (\"not yet\" in the table).",
    );
    for level in &run.results.levels {
        let name = level_name(level);
        let points: Vec<(f64, Option<f64>)> = level
            .after_idle
            .iter()
            .map(|result| (result.idle.as_secs_f64(), result.returned_gb()))
            .collect();
        let first = points.iter().map(|(seconds, _)| (*seconds, level.full_speed_gb())).collect();
        plot = plot.with(Series::new(name.clone(), Stroke::Measured, points)).with(Series::new(
            format!("{name}, first time"),
            Stroke::Limit,
            first,
        ));
    }
    plot
}

/// Returns the rates of the reads; `None` if nothing was read.
fn reads_table(run: &DriveFillRun<'_>) -> Option<Table> {
    let levels = &run.results.levels;
    let row = |level: &LevelResult<'_>| {
        Row::new(level_name(level), level.reads.map(|rate| Cell::number(rate, 1)))
    };
    levels.iter().any(|level| level.reads.iter().any(Option::is_some)).then(|| {
        Table::new("reads", "Sequential reads after the last writes", "Drive")
            .columns(["Just written MB/s", "Written long ago MB/s"])
            .rows(levels.iter().map(row))
    })
}

fn listing(run: &DriveFillRun<'_>) -> String {
    let test = run.test;
    let pattern = format!("{}, {}", test.pattern, test.demand);
    let longest = test.idle_times.iter().max().map(Nanos::to_string).unwrap_or_default();
    let idle_times = joined(&test.idle_times);
    format!(
        "For each level of {} %\n  Purge\n  Level 0: {pattern} over the whole range\n  Other \
         levels: SEQ 128K W over so much of the range, {longest} idle,\n    then {pattern} over \
         the same part\n  For each idle time of {idle_times}\n    Idle, then {pattern}: half as \
         much again as the first plateau had\n  Read what was just written, and what was written \
         long ago",
        joined(test.levels.iter().map(|level| level.percent))
    )
}

/// Returns a table per level with the rate of each hundredth of the amount, ten in a row.
fn bin_tables(run: &DriveFillRun<'_>) -> Vec<Exhibit> {
    let of_level = |level: &LevelResult<'_>| {
        let bins = level.curve.bins();
        let id = format!("bins-{}", level.level.percent);
        let title = format!("MB/s of each hundredth of the amount, {}", level_name(level));
        let row = |(index, ten): (usize, &[RateSample])| {
            let head = format!("{} %", index * 10);
            Row::new(head, ten.iter().map(|bin| Cell::number(Some(bin.mb_per_second()), 1)))
        };
        let columns = (0..10).map(|n| format!("+{n}"));
        let table = Table::new(&id, title, "From").columns(columns);
        (bins.len() == BINS)
            .then(|| Exhibit::Table(table.rows(bins.chunks(10).enumerate().map(row))))
    };
    run.results.levels.iter().filter_map(of_level).collect()
}

fn secondary_table(run: &DriveFillRun<'_>) -> Table {
    let point = |level| SecondaryPoint::from_steps(level_name(level), &level.steps);
    let points: Vec<SecondaryPoint> = run.results.levels.iter().map(point).collect();
    secondary::points_table("secondary-levels", "Secondary metrics of the levels", &points)
}

/// A sample and what was written and passed until its end.
struct SampleRow {
    seconds: f64,
    written: f64,
    sample: RateSample,
}

const SAMPLE_ROW: [TypedColumn<SampleRow>; 3] = [
    TypedColumn::number("Seconds", 3, |row| Some(row.seconds)),
    TypedColumn::number("Written GB", 6, |row| Some(row.written / 1e9)),
    TypedColumn::number("MB/s", 3, |row| Some(row.sample.mb_per_second())),
];

/// Returns one line per sample, for spreadsheets.
fn samples_table(run: &DriveFillRun<'_>) -> Table {
    let mut table = typed_table("samples", "Every sample of the fills", "Level", &SAMPLE_ROW);
    for level in &run.results.levels {
        let mut row = SampleRow { seconds: 0.0, written: 0.0, sample: RateSample::default() };
        for sample in &level.curve.samples {
            row.seconds += sample.seconds;
            row.written += sample.bytes;
            row.sample = *sample;
            table = table.row(typed_row(level.level.percent.to_string(), &SAMPLE_ROW, &row));
        }
    }
    table
}
