//! Report of factors: for each sweep one plot, one table and the sentence that says what was found.

use super::results::{FactorsResults, MeasuredLevel};
use super::rules::{AlignmentFinding, SustainedStep};
use super::setup::{
    ALIGNED_TRANSFER, CHANGE, FACTORS, Factor, Factors, ROUNDS, SUSTAINED, SUSTAINED_STEPS,
    THROTTLE_VARIATION,
};
use crate::common::metrics::MeasuredPoint;
use crate::exhibits::disclosure::{self, ReportForm};
use crate::exhibits::pages::page;
use crate::exhibits::report::{ProcedureReport, ReportEntry, StudiedRun};
use crate::exhibits::secondary::{self, SecondaryPoint};
use crate::exhibits::typed_table::{TypedColumn, typed_row, typed_table};
use steadfast_domain::findings::{
    Axis, Cell, Exhibit, KeyFigure, Metric, Page, Plot, PlotKind, Row, Scale, Series, Stroke, Table,
};
use steadfast_domain::{Record, Step};

type FactorsRun<'a> = StudiedRun<'a, Factors>;

impl ProcedureReport for Factors {
    type Results<'a> = FactorsResults<'a>;
    const TITLE: &'static str = "Factors";

    const ENTRIES: &'static [ReportEntry<Self>] = &[
        ReportEntry::Summary,
        ReportEntry::Table(|run| sentences_table(run, "factors-summary")),
        ReportEntry::FormPages(factor_pages),
        ReportEntry::Setup,
        ReportEntry::Chapter("Factors"),
        ReportEntry::Listing(listing),
        ReportEntry::Table(|run| sentences_table(run, "found")),
        ReportEntry::Secondary,
        ReportEntry::Table(secondary_table),
    ];

    fn studied<'a>(&'a self, record: &'a Record) -> StudiedRun<'a, Self> {
        let (choices, results) = (self.choices(record), FactorsResults::new(self, record));
        StudiedRun { test: self, record, choices, results }
    }

    fn form(run: &FactorsRun<'_>) -> ReportForm {
        let settings = &run.test.setup.settings;
        ReportForm::new(
            "Factors",
            "What changes the rate: data, alignment, order, used capacity",
            &run.choices,
        )
        .set_up(disclosure::preconditioning_rows(&run.choices))
        .set_up([disclosure::note_row(&run.choices)])
        .test_parameters([
            FACTORS.value_row(settings, "Factors"),
            run.choices.demand_row("TOIO - TC/QD", disclosure::form_demand(run.test.demand)),
            run.choices.step_row("Step"),
            ROUNDS.value_row(settings, "Rounds"),
            CHANGE.value_row(settings, "Least Change, %"),
        ])
    }

    fn ending(run: &FactorsRun<'_>) -> String {
        let unfinished = if run.record.has_ended() { "" } else { "The run is not finished. " };
        let alignment = match run.results.alignment() {
            Some(AlignmentFinding::NoEffect) => {
                let sentence = run.results.sentence(Factor::Alignment);
                sentence.map(|text| text.replacen("No effect", "Alignment has no effect", 1))
            }
            _ => run.results.sentence(Factor::Alignment),
        };
        let throttles = run.results.throttles().map(|text| format!("{text}."));
        let found: Vec<String> = alignment.into_iter().chain(throttles).collect();
        let found = if found.is_empty() { "No finding.".to_owned() } else { found.join(" ") };
        format!("{unfinished}{found}")
    }

    fn reports(run: &FactorsRun<'_>, step: &Step) -> bool {
        // The sustained writes look for a throttle, which is no disturbance of them.
        run.choices.measures(step) && step.place.phase != SUSTAINED
    }

    fn front_plots(run: &FactorsRun<'_>) -> Vec<String> {
        let first = [Factor::Alignment, Factor::Used, Factor::Entropy, Factor::Pattern];
        let chosen = first.into_iter().filter(|factor| run.test.has(*factor));
        chosen.take(2).map(plot_id).collect()
    }

    fn figures(run: &FactorsRun<'_>) -> Vec<KeyFigure> {
        let results = &run.results;
        let unit = results.indirection_unit().map(|bytes| bytes / 1024.0);
        let ratio = |id: &str, label: &str, factor: Factor| {
            let found = results.lowest_to_highest(factor);
            KeyFigure::new(id, label, found.map(|found| found.ratio), "x")
                .with_range(found.map(|found| found.range))
        };
        let throttle = results.life_throttle_rate();
        let mut figures = Vec::new();
        if run.test.has(Factor::Alignment) {
            let figure = KeyFigure::new("indirection-unit", "Indirection unit", unit, "KiB");
            figures.push(figure.whole());
        }
        for (factor, label) in [
            (Factor::FreshEntropy, "Least against most random data, purged"),
            (Factor::Entropy, "Least against most random data"),
            (Factor::Randomness, "Least against most random writes"),
            (Factor::Used, "Smallest against largest used capacity"),
        ] {
            if run.test.has(factor) {
                figures.push(ratio(&format!("{}-ratio", factor.id()), label, factor));
            }
        }
        if run.test.has(Factor::Pattern) {
            figures.push(KeyFigure::new("life-throttle", "Life throttle at", throttle, "MB/s"));
            let label = "Sustained steps with throttling";
            let throttled = results.throttled_steps();
            figures.push(KeyFigure::count("throttled-steps", label, throttled, "steps"));
        }
        figures
    }

    fn metrics(run: &FactorsRun<'_>) -> Vec<Metric> {
        let mut metrics = Vec::new();
        for MeasuredLevel { level, steps, .. } in &run.results.levels {
            if !steps.is_empty() {
                let point = &level.to_string();
                metrics
                    .extend(MeasuredPoint { point, pattern: None, steps, rounds: true }.metrics());
            }
        }
        metrics
    }
}

fn plot_id(factor: Factor) -> String {
    format!("{}-plot", factor.id())
}

fn sentences_table(run: &FactorsRun<'_>, id: &str) -> Table {
    let row = |factor: Factor| {
        Row::new(factor.title(), [Cell::known(run.results.sentence(factor))]).with_id(factor.id())
    };
    // Writes to the purged drive are part of the finding on access patterns.
    let has_own = |factor: &Factor| *factor != Factor::FreshPattern && run.test.has(*factor);
    let chosen = Factor::ALL.into_iter().filter(has_own);
    Table::new(id, "What each sweep found", "Factor").columns(["Found"]).rows(chosen.map(row))
}

fn factor_pages(run: &FactorsRun<'_>) -> Vec<Page> {
    let chosen = Factor::ALL.into_iter().filter(|factor| run.test.has(*factor));
    let of_factor = |factor: Factor| {
        let mut exhibits =
            vec![Exhibit::Plot(plot(run, factor)), Exhibit::Table(levels_table(run, factor))];
        exhibits.extend(run.results.sentence(factor).map(Exhibit::Text));
        if factor == Factor::Pattern {
            exhibits.push(Exhibit::Table(sustained_table(run)));
        }
        page(&format!("Factors - {}", factor.title()), exhibits)
    };
    chosen.map(of_factor).collect()
}

fn plot(run: &FactorsRun<'_>, factor: Factor) -> Plot {
    let levels = run.results.levels_of(factor);
    let x = match factor {
        Factor::Alignment | Factor::FreshPattern | Factor::Pattern => {
            let names = levels.iter().map(|measured| measured.level.name.clone()).collect();
            Axis::new(factor.title(), Scale::Categories(names))
        }
        _ => Axis::new(format!("{} (%)", factor.title()), Scale::LinearFitted),
    };
    let is_named = matches!(x.scale, Scale::Categories(_));
    let place = |index: usize, measured: &MeasuredLevel<'_>| {
        if is_named { index as f64 } else { measured.level.x }
    };
    let mut points: Vec<(f64, Option<f64>)> = levels
        .iter()
        .enumerate()
        .map(|(index, measured)| (place(index, measured), measured.rate.map(|rate| rate.mean)))
        .collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let is_pattern = matches!(factor, Factor::FreshPattern | Factor::Pattern);
    let kind = if is_pattern { PlotKind::Bars } else { PlotKind::Lines };
    let y = Axis::new("MB/s", Scale::Linear);
    let title = format!("{}: MB/s", factor.title());
    Plot::new(kind, &plot_id(factor), title, x, y).with(Series::new(
        "mean of the rounds",
        Stroke::Measured,
        points,
    ))
}

fn level_columns<'a>() -> [TypedColumn<MeasuredLevel<'a>>; 4] {
    [
        TypedColumn::number("MB/s", 2, |measured| Some(measured.rate?.mean)),
        TypedColumn::number("Lowest round", 2, |measured| Some(measured.rate?.lowest)),
        TypedColumn::number("Highest round", 2, |measured| Some(measured.rate?.highest)),
        TypedColumn::count("Rounds", |measured| {
            (!measured.steps.is_empty()).then_some(measured.steps.len() as u64)
        }),
    ]
}

fn levels_table(run: &FactorsRun<'_>, factor: Factor) -> Table {
    let columns = level_columns();
    let mut table = typed_table(factor.id(), factor.title(), "Level", &columns);
    for measured in run.results.levels_of(factor) {
        table = table.row(typed_row(measured.level.name.clone(), &columns, measured));
    }
    table
}

const SUSTAINED_STEP: [TypedColumn<SustainedStep>; 3] = [
    TypedColumn::number("MB/s", 2, |step| Some(step.mb_per_second)),
    TypedColumn::cell("Temperature °C", |step| Cell::celsius(step.celsius, 1)),
    TypedColumn::cell("Throttled, as the drive counts", |step| {
        Cell::known(step.throttled.map(|throttled| if throttled { "yes" } else { "no" }))
    }),
];

fn sustained_table(run: &FactorsRun<'_>) -> Table {
    let rows = (1..).zip(&run.results.sustained);
    typed_table(SUSTAINED, "Sustained writes, step by step", "Step", &SUSTAINED_STEP)
        .rows(rows.map(|(n, step): (u32, _)| typed_row(n.to_string(), &SUSTAINED_STEP, step)))
}

fn listing(run: &FactorsRun<'_>) -> String {
    let settings = &run.test.setup.settings;
    format!(
        "Steps of {} at {}, {} rounds of each level\nPurged: purge, SEQ 128K W with data of each \
         random share; purge, SEQ 128K W; purge, RND 4K W\nPurge, {}; then in each round\n  alignment: RND {} W at each alignment\n  random: 4K W, \
         random in part\n  entropy: RND 4K W with data of each random share\n  pattern: SEQ 128K, \
         RND 128K, RND 32K, RND 4K, as writes and as reads\nSustained: {} steps of SEQ 128K W\nused: \
         purge, fill and overwrite each used capacity; RND 4K W\n\nTwo levels differ if their means \
         do by {} % of the larger and by the largest range of a level's rounds.\nIndirection unit: \
         the smallest alignment from which rates no longer rise so much.\nLife throttle: the \
         coefficient of variation of the write rates over the patterns, purged and\n  preconditioned, is \
         at most {} %, that of the reads at least three times as much, and the\n  \
         fastest writes are slower than the fastest reads.\nThermal throttle: sustained steps in which the \
         drive counts throttling are slower than others, all of\n  them throttle (the OCP log counts throttling of any cause), or, without such \
         counters, the rate falls while the temperature rises by 3 °C.",
        run.test.setup.step_time,
        run.test.demand,
        run.test.rounds,
        match &run.test.setup.one_pass {
            Some(pass) => pass.text(),
            None => "2 x user capacity SEQ 128K W, RND 4K W over the active range".to_owned(),
        },
        ALIGNED_TRANSFER.value(settings),
        SUSTAINED_STEPS.value(settings),
        CHANGE.value(settings),
        THROTTLE_VARIATION.value(settings),
    )
}

fn secondary_table(run: &FactorsRun<'_>) -> Table {
    let mut points = Vec::new();
    for MeasuredLevel { level, steps, .. } in &run.results.levels {
        if !steps.is_empty() {
            let name = format!("{} {}", level.factor.id(), level.name);
            points.push(SecondaryPoint::from_steps(name, steps));
        }
    }
    secondary::points_table("secondary-levels", "Secondary metrics of the levels", &points)
}
