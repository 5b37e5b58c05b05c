//! The exhibits of the throughput test: five pages of the report form for each
//! block size.

use super::setup::{SizeLoop, Throughput};
use crate::exhibits::disclosure::{self, Form, SECOND_STIMULUS};
use crate::exhibits::frame::{common_chapters, frame, unfinished};
use crate::exhibits::loops::{
    Convergence, NOT_STEADY_EARLIER, convergence, general_chapter, no_window, not_steady,
    rounds_table, steady_facts, tracking_table, window_exhibits,
};
use crate::exhibits::pages::page;
use crate::exhibits::response::{percentile_table, tail_plot};
use crate::exhibits::secondary::{self, SecondaryPoint};
use crate::exhibits::steps::every_step;
use crate::exhibits::tkperf;
use crate::ground::results::{Cell, Results};
use crate::pts::scattered::Ranged;
use crate::pts::wipc_exhibits::preconditioning_exhibits;
use steadfast_domain::caveats as ids;
use steadfast_domain::findings::{
    Axis, Cell as TableCell, Exhibit, FormHeader, KeyFigure, Origin, Page, Plot, PlotKind, Row,
    Scale, Series, Setting, Stroke, Table,
};
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::{
    Caveat, CaveatKind, Class, Criteria, Findings, Profile, Record, Tally, Verdict,
};

/// A block size and what was measured of it.
type Measured<'a> = (&'a SizeLoop, &'a Results);

/// Everything that is reported of a run.
pub fn findings(test: &Throughput, record: &Record, results: &[Results]) -> Findings {
    let choices = test.choices();
    let sizes: Vec<Measured<'_>> = test.loops.iter().zip(results).collect();
    Findings {
        ending: ending(record, &sizes),
        caveats: caveats(test, record, &sizes),
        summary: summary(&sizes),
        form_pages: sizes.iter().flat_map(|size| form_pages(*size)).collect(),
        chapters: chapters(test, record, &sizes),
        long_tables: vec![every_step(&choices, record)],
        metrics: results.iter().flat_map(Results::metrics).collect(),
        ..frame("Throughput", &choices, record, header(test, record, &sizes))
            .judged(Some(together(&sizes, &test.ground.method.criteria)))
            .fronted(figures(&sizes), plots(&sizes))
    }
}

/// One verdict for all block sizes: every variable with its own window; steady
/// where all are. The window is named where it is common to all.
fn together(sizes: &[Measured<'_>], criteria: &Criteria) -> Verdict {
    let verdicts = || sizes.iter().map(|(_, results)| &results.verdict);
    let windows: Vec<_> = verdicts().map(|verdict| verdict.window).collect();
    let common = windows.first().copied().flatten();
    Verdict {
        steady: !sizes.is_empty() && verdicts().all(|verdict| verdict.steady),
        window: common.filter(|window| windows.iter().all(|other| *other == Some(*window))),
        tracks: verdicts().flat_map(|verdict| verdict.tracks.clone()).collect(),
        criteria: *criteria,
        reservation: None,
    }
}

fn windows_text(sizes: &[Measured<'_>]) -> String {
    sizes
        .iter()
        .map(|(size, results)| {
            format!("{}: {}", size.size.transfer_size(), disclosure::window_text(&results.verdict))
        })
        .collect::<Vec<_>>()
        .join(", ")
}

fn ending(record: &Record, sizes: &[Measured<'_>]) -> String {
    let each = |(size, results): &Measured<'_>| {
        let (pattern, rounds) = (size.writes(), results.rounds.len());
        match (results.verdict.steady, results.verdict.window) {
            (true, Some((first, last))) => {
                format!("{pattern} steady in rounds {first} to {last} of {rounds}")
            }
            _ if !record.has_ended() => format!("{pattern}: {rounds} rounds are complete"),
            _ => format!(
                "{pattern}: steady state NOT achieved in {rounds} rounds (at most {} were allowed)",
                size.mixed_loop.rounds_max
            ),
        }
    };
    let state = if record.has_ended() { "" } else { "The run is not finished: " };
    format!("{state}{}.", sizes.iter().map(each).collect::<Vec<_>>().join("; "))
}

fn header(test: &Throughput, record: &Record, sizes: &[Measured<'_>]) -> FormHeader {
    let choices = test.choices();
    let names: Vec<String> = test.loops.iter().map(|l| l.size.transfer_size()).collect();
    let stimulus = format!("SEQ {}", names.join(", SEQ "));
    let rounds = windows_text(sizes);
    let mut test_parameters = disclosure::common_test_rows(&choices);
    let fixed =
        |id: &str, label: &str, value: &str| Setting::new(id, label, value, Origin::Profile);
    test_parameters.extend([
        fixed("stimulus-1", "Test Stimulus 1", &stimulus),
        fixed("mixes", "RW Mix", "100/0, 0/100"),
        fixed("block-sizes", "Block Sizes", "Outer Loop"),
        choices.demand_row("TOIO - TC/QD", disclosure::form_demands(&choices.demands)),
        choices.step_row("Step"),
        Setting::outcome("Steady State", &rounds),
        fixed(SECOND_STIMULUS, "Test Stimulus 2", ""),
        Setting::outcome("Steady State", ""),
    ]);
    let form = Form {
        test: "Throughput Test (REQUIRED)".into(),
        subtitle: "TP - Sequential Reads and Writes".into(),
        set_up: disclosure::loop_set_up_rows(&stimulus, &choices, &rounds),
        test_parameters,
    };
    disclosure::form_header(form, &choices, record)
}

fn caveats(test: &Throughput, record: &Record, sizes: &[Measured<'_>]) -> Vec<Caveat> {
    let mut caveats: Vec<Caveat> = unfinished(record).into_iter().collect();
    if record.has_ended() {
        let last = sizes.len().saturating_sub(1);
        caveats.extend(sizes.iter().enumerate().filter_map(|(number, (size, results))| {
            let mut caveat = not_steady(&format!(" of {}", size.writes()), results)?;
            if number < last {
                caveat.remedy = NOT_STEADY_EARLIER.into();
            }
            Some(caveat)
        }));
    }
    caveats.extend(disclosure::caveats(&test.choices(), record));
    caveats.extend(of_the_sizes(test));
    caveats.extend(secondary::caveats(record, &|step| {
        sizes.iter().any(|(size, results)| results.reports(&size.mixed_loop, step))
    }));
    caveats
}

fn of_the_sizes(test: &Throughput) -> Vec<Caveat> {
    match (test.ground.settings.profile, test.ground.settings.class) {
        (Profile::Pts11, Class::Client) => vec![Caveat::new(
            CaveatKind::Unverified,
            ids::TP_WIPC,
            "WIPC writes at the block size under test, 1024K, as in the public implementations.",
            "",
        )],
        (Profile::Tkperf, _) if test.preconditions() => Vec::new(),
        (Profile::Tkperf, _) => vec![Caveat::new(
            CaveatKind::Deviation,
            ids::NO_WIPC,
            "No workload independent preconditioning after the purges: that is TKperf's own \
             method; the PTS preconditions before each block size.",
            "Choose --profile pts-2.0.",
        )],
        _ => vec![Caveat::new(
            CaveatKind::Unverified,
            ids::TP_ORDER,
            "The block sizes run in the order 1024K, 128K, each after its own purge and its own \
             WIPC at that size, as in the public implementations.",
            "",
        )],
    }
}

/// MB/s of every block size, reads and writes.
fn figures(sizes: &[Measured<'_>]) -> Vec<KeyFigure> {
    let of_size = |(size, results): &Measured<'_>| {
        let name = size.size.transfer_size();
        let id = name.to_lowercase();
        let rate = |pattern| results.cell(&pattern).and_then(|cell| cell.mb_per_second);
        [
            (format!("seq-{id}-read-rate"), format!("SEQ {name} read"), rate(size.reads())),
            (format!("seq-{id}-write-rate"), format!("SEQ {name} write"), rate(size.writes())),
        ]
    };
    let all = sizes.iter().flat_map(of_size);
    all.map(|(id, label, value)| KeyFigure::new(&id, label, value, "MB/s")).collect()
}

/// How the writes of every block size became steady.
fn plots(sizes: &[Measured<'_>]) -> Vec<String> {
    let name = |size: &SizeLoop| size.size.transfer_size().to_lowercase();
    sizes.iter().map(|(size, _)| format!("convergence-write-{}", name(size))).collect()
}

fn summary(sizes: &[Measured<'_>]) -> Vec<Exhibit> {
    vec![Exhibit::Table(table("throughput-summary", sizes)), Exhibit::Table(steady_table(sizes))]
}

/// MB/s of every block size: reads, writes.
fn table(id: &str, sizes: &[Measured<'_>]) -> Table {
    let rows = sizes.iter().map(|(size, results)| {
        Row::new(
            format!("SEQ {}", size.size.transfer_size()),
            [size.reads(), size.writes()]
                .iter()
                .map(|pattern| {
                    let rate = results.cell(pattern).and_then(|cell| cell.mb_per_second);
                    TableCell::number(rate, 1)
                })
                .chain([TableCell::text(disclosure::window_text(&results.verdict))]),
        )
    });
    Table::new(id, "Throughput in the measurement window, MB/s", "Block size")
        .columns(["Read", "Write", "Window"])
        .rows(rows)
}

/// The tracking variable of every block size against its limits.
fn steady_table(sizes: &[Measured<'_>]) -> Table {
    let mut all = tracking_table("steady-state", &together(sizes, &crate::pts::method::TWENTY_TEN));
    all = all.column("Window");
    let windows = sizes.iter().filter(|(_, results)| results.verdict.window.is_some());
    for (row, (_, results)) in all.rows.iter_mut().zip(windows) {
        let window = results.verdict.window.map(|(first, last)| format!("{first} - {last}"));
        row.cells.push(window.map_or(TableCell::Missing, TableCell::Text));
    }
    all
}

/// The five pages of a block size, in the order of the public report forms.
fn form_pages((size, results): Measured<'_>) -> Vec<Page> {
    let name = size.size.transfer_size();
    let window = match results.verdict.tracks.first() {
        Some(track) => window_exhibits(&results.verdict, track),
        None => vec![no_window()],
    };
    let both = [(size, results)];
    let convergence = |what: &str, pattern| {
        page(
            &format!("TP SEQ {name} - SS Convergence - {what}"),
            vec![Exhibit::Plot(convergence_plot(what, pattern, size, results))],
        )
    };
    vec![
        convergence("Write", size.writes()),
        convergence("Read", size.reads()),
        page(&format!("TP SEQ {name} - SS Measurement Window"), window),
        page(
            &format!("TP SEQ {name} - Tabular Data"),
            vec![Exhibit::Table(table(&format!("throughput-{}", name.to_lowercase()), &both))],
        ),
        page(&format!("TP SEQ {name} - 2D Plot"), vec![Exhibit::Plot(size_plot(size, results))]),
    ]
}

fn convergence_plot(
    what: &str,
    pattern: AccessPattern,
    size: &SizeLoop,
    results: &Results,
) -> Plot {
    let name = size.size.transfer_size();
    let what = Convergence {
        id: &format!("convergence-{}-{}", what.to_lowercase(), name.to_lowercase()),
        title: &format!("TP SS Convergence - {what} - SEQ {name}"),
        caption: "MB/s, round by round. A void round breaks the line.",
        y: Axis::new("MB/s", Scale::Linear),
        points: &[pattern],
    };
    convergence(what, &size.mixed_loop, &results.rounds)
}

/// Reads and writes of one block size as columns side by side.
fn size_plot(size: &SizeLoop, results: &Results) -> Plot {
    let name = size.size.transfer_size();
    let rate = |pattern| results.cell(&pattern).and_then(|cell| cell.mb_per_second);
    let points = vec![(0.0, rate(size.reads())), (1.0, rate(size.writes()))];
    let directions = ["Read", "Write"].map(str::to_owned).to_vec();
    Plot::new(
        PlotKind::Stacked,
        &format!("rates-{}", name.to_lowercase()),
        format!("Throughput - SEQ {name}"),
        Axis::new("Direction", Scale::Categories(directions)),
        Axis::new("MB/s", Scale::Linear),
    )
    .caption("Mean MB/s in the measurement window.")
    .with(Series::new(format!("SEQ {name}"), Stroke::Measured, points))
}

/// Reads and writes of each block size as columns in perspective.
fn rates_plot(id: &str, title: &str, sizes: &[Measured<'_>]) -> Plot {
    let names: Vec<String> = sizes.iter().map(|(size, _)| size.size.transfer_size()).collect();
    let mut plot = Plot::new(
        PlotKind::Columns3d,
        id,
        title,
        Axis::new("Block size", Scale::Categories(names)),
        Axis::new("MB/s", Scale::Linear),
    )
    .caption("Mean MB/s in the measurement window.");
    for (direction, mix) in [("Read", 100), ("Write", 0)] {
        let points = (0u32..)
            .zip(sizes)
            .map(|(x, (size, results))| {
                let cell = results.cell(&AccessPattern::sequential(size.size, mix));
                (f64::from(x), cell.and_then(|cell| cell.mb_per_second))
            })
            .collect();
        plot = plot.with(Series::new(direction, Stroke::Measured, points));
    }
    plot
}

fn chapters(test: &Throughput, record: &Record, sizes: &[Measured<'_>]) -> Vec<Page> {
    let choices = test.choices();
    let mut chapters = match test.ground.settings.profile {
        Profile::Tkperf => tkperf::throughput(&tkperf_content(test, sizes)),
        _ => Vec::new(),
    };
    chapters.extend(common_chapters(&choices, record));
    chapters.push(general_chapter(&choices));
    chapters.push(throughput_chapter(test, sizes));
    let cells: Vec<&Cell> = sizes.iter().flat_map(|(_, results)| &results.cells).collect();
    chapters.push(secondary::chapter(secondary_exhibits(&cells), record));
    if test.preconditions() {
        let exhibits = test.loops.iter().flat_map(|size| {
            preconditioning_exhibits(&choices, record, &size.wipc_phase, test.wipc_pattern(size))
        });
        chapters.push(page("Preconditioning", exhibits.collect()));
    }
    chapters
}

/// The test as a TKperf report shows it.
fn tkperf_content(test: &Throughput, sizes: &[Measured<'_>]) -> tkperf::Content {
    let points = |(size, results): &Measured<'_>| tkperf::shown(&size.mixed_loop, results);
    tkperf::Content {
        title: "Throughput",
        id: "throughput",
        unit: "MB/s",
        listing: listing(test),
        dependent: "sequential write of each block size".into(),
        points: sizes.iter().flat_map(points).collect(),
        verdicts: sizes.iter().map(|(_, results)| results.verdict.clone()).collect(),
    }
}

fn throughput_chapter(test: &Throughput, sizes: &[Measured<'_>]) -> Page {
    let mut exhibits = vec![
        Exhibit::Listing(listing(test)),
        Exhibit::Table(table("throughput", sizes)),
        Exhibit::Table(steady_table(sizes)),
    ];
    if sizes.len() > 1 {
        let plot = rates_plot("rates", "Throughput - all block sizes", sizes);
        exhibits.push(Exhibit::Plot(plot));
    }
    for (size, results) in sizes {
        let id = format!("rounds-{}", size.size.transfer_size().to_lowercase());
        exhibits.push(Exhibit::Facts(steady_facts(&size.mixed_loop, results)));
        exhibits.push(Exhibit::Table(rounds_table(&id, &size.mixed_loop, results)));
    }
    page("Throughput", exhibits)
}

/// Secondary metrics of every direction and size, and percentiles.
fn secondary_exhibits(cells: &[&Cell]) -> Vec<Exhibit> {
    let points: Vec<SecondaryPoint<'_>> = cells.iter().map(|c| SecondaryPoint::from(*c)).collect();
    let names: Vec<String> = cells.iter().map(|cell| cell.pattern.to_string()).collect();
    let columns: Vec<(&str, &Tally)> =
        names.iter().map(String::as_str).zip(cells.iter().map(|cell| &cell.tally)).collect();
    vec![
        Exhibit::Table(secondary::points_table("secondary", "Secondary metrics", &points)),
        Exhibit::Table(percentile_table(
            "percentiles",
            "Response times, ms: all values, including the average, are over all I/Os of the \
             rounds",
            &columns,
        )),
        Exhibit::Plot(tail_plot("tails", "Response times of the rounds", &columns)),
    ]
}

fn listing(test: &Throughput) -> String {
    let sizes: Vec<String> = test.loops.iter().map(|size| size.size.transfer_size()).collect();
    let wipc = match test.preconditions() {
        true if test.ground.settings.profile == Profile::Tkperf => {
            "  Workload independent preconditioning: SEQ 128K W, T1Q32, 2 x user capacity\n"
        }
        true => {
            "  Workload independent preconditioning: SEQ writes of this block size, T1Q32, 2 x \
                 user capacity\n"
        }
        false => "",
    };
    format!(
        "For block size {}\n  Purge\n{wipc}  While not steady state, at most {} rounds\n    For R/W \
         mix 100/0, 0/100\n      Sequential I/O for {}, {}; record MB/s",
        sizes.join(", "),
        test.choices().rounds_max.unwrap_or_default(),
        test.ground.minute,
        test.demand
    )
}
