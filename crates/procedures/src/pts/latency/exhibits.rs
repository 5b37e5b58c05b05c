//! The exhibits of the latency test: seven pages of the report form (six in 1.1,
//! which has neither 99.999 %, IOPS nor the histogram).

use super::setup::{DEMAND, HISTOGRAM, HISTOGRAM_TIME, Latency, MIXES, TRACKED, average_response};
use crate::exhibits::disclosure::{self, Form, SECOND_STIMULUS};
use crate::exhibits::frame::{common_chapters, frame, unfinished};
use crate::exhibits::loops::{
    Convergence, convergence, general_chapter, no_window, not_steady, rounds_ending, rounds_table,
    steady_facts, tracking_table, window_exhibits,
};
use crate::exhibits::pages::page;
use crate::exhibits::response::FIVE_NINES;
use crate::exhibits::response::{
    Rates, bins_caveat, confidence_plot, percentile_table, rated_title, tail_plot,
};
use crate::exhibits::secondary::{self, SecondaryPoint};
use crate::exhibits::steps::every_step;
use crate::exhibits::tkperf;
use crate::ground::preconditioning;
use crate::ground::preconditioning::WIPC_PATTERN;
use crate::ground::results::{Cell, Results};
use crate::ground::rounds;
use crate::pts::scattered::Ranged;
use crate::pts::wipc_exhibits::preconditioning_exhibits;
use crate::words::mix_name;
use steadfast_domain::caveats as ids;
use steadfast_domain::findings::{
    Axis, Cell as TableCell, Exhibit, FormHeader, KeyFigure, Page, Plot, PlotKind, Row, Scale,
    Series, Stroke, Table,
};
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::{
    Bytes, Caveat, CaveatKind, Findings, Measurement, Nanos, Profile, Record, Tally,
};

/// Everything that is reported of a run.
pub fn findings(test: &Latency, record: &Record, results: &Results) -> Findings {
    let choices = test.choices();
    Findings {
        ending: rounds_ending(record, results, test.mixed_loop.rounds_max),
        caveats: caveats(test, record, results),
        summary: vec![
            Exhibit::Table(matrix_table(test, results, &AVERAGE, "-summary")),
            Exhibit::Table(tracking_table("steady-state", &results.verdict)),
        ],
        form_pages: form_pages(test, record, results),
        chapters: chapters(test, record, results),
        long_tables: vec![every_step(&choices, record)],
        metrics: results.metrics(),
        ..frame("Latency", &choices, record, header(test, record, results))
            .judged(Some(results.verdict.clone()))
            .fronted(figures(test, record, results), ["confidence", "convergence-average"])
    }
}

fn header(test: &Latency, record: &Record, results: &Results) -> FormHeader {
    let choices = test.choices();
    let rounds = disclosure::window_text(&results.verdict);
    let histogram = test.histogram_time.map(|time| format!("{TRACKED}, {time} (histogram)"));
    let mut test_parameters = disclosure::loop_test_rows("LAT Loop", &choices, &rounds);
    if let Some(second) = test_parameters.iter_mut().find(|row| row.id == SECOND_STIMULUS) {
        second.value = histogram;
        second.origin = HISTOGRAM_TIME.origin(choices.settings);
    }
    let form = Form {
        test: "Latency Test (REQUIRED)".into(),
        subtitle: "LAT - Response Time, OIO = 1".into(),
        set_up: disclosure::loop_set_up_rows("LAT Loop", &choices, &rounds),
        test_parameters,
    };
    disclosure::form_header(form, &choices, record)
}

fn caveats(test: &Latency, record: &Record, results: &Results) -> Vec<Caveat> {
    let mut caveats: Vec<Caveat> =
        unfinished(record).or_else(|| not_steady("", results)).into_iter().collect();
    caveats.extend(disclosure::caveats(&test.choices(), record));
    if test.demand != DEMAND {
        caveats.push(Caveat::new(
            CaveatKind::Deviation,
            ids::DEMAND,
            format!("Demand {} instead of the latency test's {DEMAND}.", test.demand),
            "Omit --threads and --depth.",
        ));
    }
    if test.histogram_time.is_some() {
        caveats.push(bins_caveat());
    }
    caveats.extend(secondary::caveats(record, &|step| {
        results.reports(&test.mixed_loop, step) || step.place.phase == HISTOGRAM
    }));
    caveats
}

/// Mean response times of random 4 KiB, and the tail of the histogram run.
fn figures(test: &Latency, record: &Record, results: &Results) -> Vec<KeyFigure> {
    let mean =
        |mix: u8| results.cell(&AccessPattern::random(TRACKED.size, mix)).and_then(|cell| cell.art);
    let mut figures = vec![
        KeyFigure::new("rnd-4k-read-mean", "RND 4K read, mean", mean(100), "ms"),
        KeyFigure::new("rnd-4k-write-mean", "RND 4K write, mean", mean(0), "ms"),
    ];
    let tally = histogram(record).map(|measurement| measurement.total());
    let of = |part: f64| tally.as_ref().and_then(|tally| millis(tally.percentile(part)));
    if test.histogram_time.is_some() {
        let tail = |id: &str, name: &str, part: f64| {
            let label = format!("{TRACKED}, {name}");
            KeyFigure::new(id, label, of(part), "ms").of_buckets()
        };
        figures.push(tail("four-nines", "99.99 %", 0.9999));
        figures.push(tail("five-nines", "99.999 %", FIVE_NINES));
    }
    figures
}

/// One number of each cell of the matrix.
struct Shown {
    id: &'static str,
    title: &'static str,
    decimals: u8,
    value: fn(&Cell) -> Option<f64>,
}

fn millis(time: Option<Nanos>) -> Option<f64> {
    time.map(Nanos::as_millis_f64)
}

const AVERAGE: Shown = Shown {
    id: "average",
    title: "Average response time, ms (mean of the rounds)",
    decimals: 4,
    value: |cell| cell.art,
};
const FIVE_NINES_OF: Shown = Shown {
    id: "five-nines",
    title: "99.999 % response time, ms (all I/Os of the rounds)",
    decimals: 4,
    value: |cell| millis(cell.tally.percentile(FIVE_NINES)),
};
const MAXIMUM: Shown = Shown {
    id: "maximum",
    title: "Maximum response time, ms",
    decimals: 4,
    value: |cell| millis(cell.tally.response_longest()),
};
const IOPS: Shown = Shown { id: "iops", title: "IOPS", decimals: 1, value: |cell| cell.iops };

/// What the form's page of tables shows.
fn tables(profile: Profile) -> &'static [Shown] {
    const ALL: &[Shown] = &[AVERAGE, FIVE_NINES_OF, MAXIMUM, IOPS];
    const OF_1_1: &[Shown] = &[AVERAGE, MAXIMUM];
    match profile {
        Profile::Pts20 | Profile::Quick => ALL,
        Profile::Pts11 | Profile::Tkperf => OF_1_1,
    }
}

fn size_name(size: Bytes) -> String {
    size.transfer_size().trim_end_matches('K').to_owned()
}

/// The standard's table: block sizes down from the smallest, mixes from 0/100.
fn matrix_table(test: &Latency, results: &Results, shown: &Shown, suffix: &str) -> Table {
    let value = |size: Bytes, mix: u8| {
        results.cell(&AccessPattern::random(size, mix)).and_then(shown.value)
    };
    let rows = test.sizes.iter().rev().map(|size| {
        Row::new(
            size_name(*size),
            MIXES.iter().rev().map(|mix| TableCell::number(value(*size, *mix), shown.decimals)),
        )
        .strong(*size == TRACKED.size)
    });
    Table::new(&format!("{}{suffix}", shown.id), shown.title, "Block Size (KiB)")
        .spanner("Read / Write Mix %")
        .columns(MIXES.iter().rev().map(|mix| mix_name(*mix)))
        .rows(rows)
}

/// The matrix as columns in perspective.
fn matrix_plot(test: &Latency, results: &Results, shown: &Shown) -> Plot {
    let names = test.sizes.iter().rev().map(|size| size_name(*size)).collect();
    let mut plot = Plot::new(
        PlotKind::Columns3d,
        &format!("{}-3d", shown.id),
        format!("Latency - {}", shown.title),
        Axis::new("Block size (KiB)", Scale::Categories(names)),
        Axis::new("ms", Scale::Linear),
    )
    .caption("In the rounds of the measurement window; one series per read/write mix.");
    for mix in MIXES {
        let points = (0u32..)
            .zip(test.sizes.iter().rev())
            .map(|(position, size)| {
                let cell = results.cell(&AccessPattern::random(*size, mix));
                (f64::from(position), cell.and_then(shown.value))
            })
            .collect();
        plot = plot.with(Series::new(mix_name(mix), Stroke::Measured, points));
    }
    plot
}

/// The pages of the report form, in the order of the public report forms.
fn form_pages(test: &Latency, record: &Record, results: &Results) -> Vec<Page> {
    let window = match results.verdict.tracks.first() {
        Some(track) => window_exhibits(&results.verdict, track),
        None => vec![no_window()],
    };
    let tabular = tables(test.ground.settings.profile)
        .iter()
        .map(|shown| Exhibit::Table(matrix_table(test, results, shown, "")))
        .collect();
    let title = match tables(test.ground.settings.profile).len() {
        4 => "LAT - Ave, 5 9s, Max Response Times & IOPS - Tabular Data",
        _ => "LAT - Ave & Max Response Times - Tabular Data",
    };
    let plot = |shown| vec![Exhibit::Plot(matrix_plot(test, results, shown))];
    let mut pages = vec![
        page(
            "LAT SS Convergence - Average (100 % W)",
            vec![Exhibit::Plot(convergence_plot(test, record, "Average", average_response))],
        ),
        page(
            "LAT SS Convergence - Maximum (100 % W)",
            vec![Exhibit::Plot(convergence_plot(test, record, "Maximum", longest_response))],
        ),
        page(&format!("LAT SS Measurement Window - {TRACKED}"), window),
        page(title, tabular),
        page("LAT - Average Response Time - 3D Plot", plot(&AVERAGE)),
        page("LAT - Maximum Response Time - 3D Plot", plot(&MAXIMUM)),
    ];
    if test.histogram_time.is_some() {
        pages.push(page(
            "LAT - Response Time Histogram - Confidence Level Plot",
            histogram_exhibits(record),
        ));
    }
    pages
}

fn longest_response(measurement: &Measurement) -> Option<f64> {
    millis(measurement.total().response_longest())
}

/// 100 % writes of every block size against the rounds.
fn convergence_plot(test: &Latency, record: &Record, what: &str, metric: rounds::Metric) -> Plot {
    let points: Vec<AccessPattern> =
        test.sizes.iter().map(|size| AccessPattern::random(*size, 0)).collect();
    let what = Convergence {
        id: &format!("convergence-{}", what.to_lowercase()),
        title: &format!("LAT SS Convergence - {what} Response Time, 100 % Writes"),
        caption: "Response time of random writes of each block size, round by round. A void \
                  round breaks its line.",
        y: Axis::new("ms", Scale::Linear),
        points: &points,
    };
    convergence(what, &test.mixed_loop, &test.mixed_loop.rounds_by(record, metric))
}

/// What the histogram run measured, where it was run.
fn histogram(record: &Record) -> Option<&Measurement> {
    let of_run = record.steps().filter(|(step, _)| step.place.phase == HISTOGRAM);
    of_run.last().map(|(_, outcome)| &outcome.measurement)
}

fn histogram_exhibits(record: &Record) -> Vec<Exhibit> {
    let Some(measurement) = histogram(record) else {
        return vec![Exhibit::Text(
            "The histogram run did not take place: it runs only after steady state.".into(),
        )];
    };
    let tally: Tally = measurement.total();
    let rates = Rates { iops: measurement.iops(), mb_per_second: measurement.mb_per_second() };
    let title = rated_title(&format!("Confidence Level Plot - {TRACKED}"), rates, &tally);
    vec![Exhibit::Plot(confidence_plot("confidence", &title, &tally))]
}

fn chapters(test: &Latency, record: &Record, results: &Results) -> Vec<Page> {
    let choices = test.choices();
    let wipc = preconditioning_exhibits(&choices, record, preconditioning::PHASE, WIPC_PATTERN);
    let mut chapters = match test.ground.settings.profile {
        Profile::Tkperf => tkperf::latency(&tkperf_content(test, results)),
        _ => Vec::new(),
    };
    chapters.extend(common_chapters(&choices, record));
    chapters.extend([
        general_chapter(&choices),
        latency_chapter(test, record, results),
        secondary::chapter(secondary_exhibits(results), record),
        page("Preconditioning", wipc),
    ]);
    chapters
}

/// The test as a TKperf report shows it.
fn tkperf_content(test: &Latency, results: &Results) -> tkperf::Content {
    tkperf::Content {
        title: "Latency",
        id: "latency",
        unit: "ms",
        listing: listing(test),
        dependent: "4k block size, random write mean latency".into(),
        points: tkperf::shown(&test.mixed_loop, results),
        verdicts: vec![results.verdict.clone()],
    }
}

fn latency_chapter(test: &Latency, record: &Record, results: &Results) -> Page {
    let mut exhibits = vec![
        Exhibit::Listing(listing(test)),
        Exhibit::Facts(steady_facts(&test.mixed_loop, results)),
        Exhibit::Table(tracking_table("steady-state", &results.verdict)),
        Exhibit::Table(rounds_table("rounds", &test.mixed_loop, results)),
    ];
    if let Some(measurement) = histogram(record) {
        exhibits.push(Exhibit::Table(percentile_table(
            "percentiles",
            "Response times of the histogram run, ms",
            &[(TRACKED.to_string().as_str(), &measurement.total())],
        )));
        exhibits.push(Exhibit::Plot(tail_plot(
            "histogram-tail",
            "Response times of the histogram run",
            &[(TRACKED.to_string().as_str(), &measurement.total())],
        )));
    }
    page("Latency", exhibits)
}

fn secondary_exhibits(results: &Results) -> Vec<Exhibit> {
    let points: Vec<SecondaryPoint<'_>> = results.cells.iter().map(SecondaryPoint::from).collect();
    vec![Exhibit::Table(secondary::points_table("secondary", "Secondary metrics", &points))]
}

fn listing(test: &Latency) -> String {
    let mixes: Vec<String> = MIXES.iter().map(|mix| mix_name(*mix)).collect();
    let sizes: Vec<String> = test.sizes.iter().map(|size| size.transfer_size()).collect();
    let histogram = test.histogram_time.map(|time| {
        format!(
            "\nAfter steady state: {TRACKED} for {time}, {}; record all response times",
            test.demand
        )
    });
    format!(
        "Purge\nWorkload independent preconditioning: SEQ 128K W, T1Q32, 2 x user capacity\n\
         While not steady state, at most {} rounds\n  For R/W mix {}\n    For block size {}\n      \
         Random I/O for {}, {}; record average and maximum response time{}",
        test.mixed_loop.rounds_max,
        mixes.join(", "),
        sizes.join(", "),
        test.ground.minute,
        test.demand,
        histogram.unwrap_or_default()
    )
}
