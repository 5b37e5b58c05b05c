//! Exhibits of the throughput test: five pages of the report form per block size.

use super::setup::{SizeLoop, Throughput};
use crate::common::metrics::PointValue;
use crate::common::results::{LoopResults, PointResult};
use crate::exhibits::disclosure::{self, ReportForm, SECOND_STIMULUS};
use crate::exhibits::loops::{
    ConvergencePlot, NOT_STEADY_EARLIER, convergence, no_window, not_steady, rounds_table,
    steady_facts, tracking_table, window_exhibits,
};
use crate::exhibits::pages::page;
use crate::exhibits::report::{ProcedureReport, ReportEntry, StudiedRun};
use crate::exhibits::response::{percentile_table, tail_plot};
use crate::exhibits::secondary::{self, SecondaryPoint};
use crate::exhibits::tkperf;
use crate::pts::scattered::RangedTest;
use crate::pts::wipc_exhibits::wipc_exhibits;
use crate::report_notation::joined;
use steadfast_domain::findings::{
    Axis, Cell as TableCell, Exhibit, KeyFigure, Metric, Page, Plot, PlotKind, Row, Scale, Series,
    Setting, Stroke, Table,
};
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::{
    Caveat, Class, Criteria, Profile, Record, Step, Tally, Verdict, caveats as ids,
};

type MeasuredSize<'a> = (&'a SizeLoop, LoopResults);

type ThroughputRun<'a> = StudiedRun<'a, Throughput>;

impl ProcedureReport for Throughput {
    type Results<'a> = Vec<MeasuredSize<'a>>;
    const TITLE: &'static str = "Throughput";

    const ENTRIES: &'static [ReportEntry<Self>] = &[
        ReportEntry::Summary,
        ReportEntry::Table(|run| table("throughput-summary", &run.results)),
        ReportEntry::Table(|run| steady_table(&run.results)),
        ReportEntry::FormPages(|run| run.results.iter().flat_map(form_pages).collect()),
        ReportEntry::Of(&[Profile::Tkperf], &[ReportEntry::Chapters(tkperf_chapters)]),
        ReportEntry::Setup,
        ReportEntry::General,
        ReportEntry::Chapter("Throughput"),
        ReportEntry::Listing(listing),
        ReportEntry::Table(|run| table("throughput", &run.results)),
        ReportEntry::Table(|run| steady_table(&run.results)),
        ReportEntry::OptionalPlot(rates_plot),
        ReportEntry::Several(rounds),
        ReportEntry::Secondary,
        ReportEntry::Table(|run| {
            let points: Vec<_> = cells(run).map(SecondaryPoint::from).collect();
            secondary::points_table("secondary", "Secondary metrics", &points)
        }),
        ReportEntry::Table(|run| {
            let title = "Response times, ms: all values, including the average, are over all \
                             I/Os of the rounds";
            percentile_table("percentiles", title, &tallies(run))
        }),
        ReportEntry::Plot(|run| tail_plot("tails", "Response times of the rounds", &tallies(run))),
        ReportEntry::Chapter("Preconditioning"),
        ReportEntry::Several(preconditioning),
    ];

    fn studied<'a>(&'a self, record: &'a Record) -> StudiedRun<'a, Self> {
        let of_size = |size: &'a SizeLoop| (size, LoopResults::new(&size.mixed_loop, record));
        let (choices, results) = (self.choices(), self.loops.iter().map(of_size).collect());
        StudiedRun { test: self, record, choices, results }
    }

    fn form(run: &ThroughputRun<'_>) -> ReportForm {
        let names: Vec<String> = run.test.loops.iter().map(|l| l.size.transfer_size()).collect();
        let stimulus = format!("SEQ {}", names.join(", SEQ "));
        let rounds = windows_text(&run.results);
        let mut test_parameters = disclosure::common_test_rows(&run.choices);
        test_parameters.extend([
            disclosure::profile_row("stimulus-1", "Test Stimulus 1", &stimulus),
            disclosure::profile_row("mixes", "RW Mix", "100/0, 0/100"),
            disclosure::profile_row("block-sizes", "Block Sizes", "Outer Loop"),
            run.choices.demand_row("TOIO - TC/QD", disclosure::form_demands(&run.choices.demands)),
            run.choices.step_row("Step"),
            Setting::outcome("Steady State", &rounds),
            disclosure::profile_row(SECOND_STIMULUS, "Test Stimulus 2", ""),
            Setting::outcome("Steady State", ""),
        ]);
        ReportForm {
            test: "Throughput Test (REQUIRED)".into(),
            subtitle: "TP - Sequential Reads and Writes".into(),
            set_up: disclosure::loop_set_up_rows(&stimulus, &run.choices, &rounds),
            test_parameters,
        }
    }

    fn ending(run: &ThroughputRun<'_>) -> String {
        let each = |(size, results): &MeasuredSize<'_>| {
            let (pattern, rounds) = (size.writes(), results.rounds.len());
            match (results.verdict.steady, results.verdict.window) {
                (true, Some((first, last))) => {
                    format!("{pattern} steady in rounds {first} to {last} of {rounds}")
                }
                _ if !run.record.has_ended() => format!("{pattern}: {rounds} rounds are complete"),
                _ => format!(
                    "{pattern}: steady state NOT achieved in {rounds} rounds (at most {} were allowed)",
                    size.mixed_loop.rounds_max
                ),
            }
        };
        let state = if run.record.has_ended() { "" } else { "The run is not finished: " };
        format!("{state}{}.", run.results.iter().map(each).collect::<Vec<_>>().join("; "))
    }

    fn verdict(run: &ThroughputRun<'_>) -> Option<Verdict> {
        Some(together(&run.results, &run.test.setup.method.criteria))
    }

    fn caveats(run: &ThroughputRun<'_>) -> Vec<Caveat> {
        let mut caveats = Vec::new();
        for (number, (size, results)) in (1..).zip(&run.results) {
            let mut caveat = not_steady(&format!(" of {}", size.writes()), run.record, results);
            if let Some(caveat) = caveat.as_mut().filter(|_| number < run.results.len()) {
                caveat.remedy = NOT_STEADY_EARLIER.into();
            }
            caveats.extend(caveat);
        }
        caveats
    }

    fn later_caveats(run: &ThroughputRun<'_>) -> Vec<Caveat> {
        match (run.test.setup.settings.profile, run.test.setup.settings.class) {
            (Profile::Pts11, Class::Client) => vec![Caveat::unverified(
                ids::TP_WIPC,
                "WIPC writes at the block size under test, 1024K, as in the public implementations.",
                "",
            )],
            (Profile::Tkperf, _) if run.test.preconditions() => Vec::new(),
            (Profile::Tkperf, _) => vec![Caveat::deviation(
                ids::NO_WIPC,
                "No workload independent preconditioning after the purges: that is TKperf's own \
             method; the PTS preconditions before each block size.",
                "Choose --profile pts-2.0.",
            )],
            _ => vec![Caveat::unverified(
                ids::TP_ORDER,
                "The block sizes run in the order 1024K, 128K, each after its own purge and its own \
             WIPC at that size, as in the public implementations.",
                "",
            )],
        }
    }

    fn reports(run: &ThroughputRun<'_>, step: &Step) -> bool {
        run.results.iter().any(|(size, results)| results.reports(&size.mixed_loop, step))
    }

    fn front_plots(run: &ThroughputRun<'_>) -> Vec<String> {
        let name = |size: &SizeLoop| size.size.transfer_size().to_lowercase();
        run.results.iter().map(|(size, _)| format!("convergence-write-{}", name(size))).collect()
    }

    /// Returns MB/s of every block size, reads and writes.
    fn figures(run: &ThroughputRun<'_>) -> Vec<KeyFigure> {
        let of_size = |(size, results): &MeasuredSize<'_>| {
            let name = size.size.transfer_size();
            let id = name.to_lowercase();
            let rate = |id: String, label: String, pattern| {
                let cell = results.cell(&pattern).map(|cell| cell.mb_per_second);
                let PointValue { mean, range } = cell.unwrap_or_default();
                KeyFigure::new(&id, label, mean, "MB/s").with_range(range)
            };
            [
                rate(format!("seq-{id}-read-rate"), format!("SEQ {name} read"), size.reads()),
                rate(format!("seq-{id}-write-rate"), format!("SEQ {name} write"), size.writes()),
            ]
        };
        run.results.iter().flat_map(of_size).collect()
    }

    fn metrics(run: &ThroughputRun<'_>) -> Vec<Metric> {
        run.results.iter().flat_map(|(_, results)| results.metrics()).collect()
    }
}

/// Returns one verdict for all block sizes: steady if all are, with each variable in its own
/// window. The window is named only if it is common to all.
fn together(sizes: &[MeasuredSize<'_>], criteria: &Criteria) -> Verdict {
    let verdicts = || sizes.iter().map(|(_, results)| &results.verdict);
    let first = verdicts().next().and_then(|verdict| verdict.window);
    Verdict {
        steady: !sizes.is_empty() && verdicts().all(|verdict| verdict.steady),
        window: first.filter(|window| verdicts().all(|other| other.window == Some(*window))),
        tracks: verdicts().flat_map(|verdict| verdict.tracks.clone()).collect(),
        criteria: *criteria,
        reservation: None,
    }
}

/// Returns the table of MB/s by block size: reads, writes.
fn table(id: &str, sizes: &[MeasuredSize<'_>]) -> Table {
    let rows = sizes.iter().map(|(size, results)| {
        Row::new(
            format!("SEQ {}", size.size.transfer_size()),
            [size.reads(), size.writes()]
                .iter()
                .map(|pattern| {
                    let rate = results.cell(pattern).and_then(|cell| cell.mb_per_second.mean);
                    TableCell::number(rate, 1)
                })
                .chain([TableCell::text(disclosure::window_text(&results.verdict))]),
        )
    });
    Table::new(id, "Throughput in the measurement window, MB/s", "Block size")
        .columns(["Read", "Write", "Window"])
        .rows(rows)
}

/// Returns the table of every block size's tracking variable and its limits.
fn steady_table(sizes: &[MeasuredSize<'_>]) -> Table {
    let mut all = tracking_table("steady-state", &together(sizes, &crate::pts::method::TWENTY_TEN));
    all = all.column("Window");
    let windows = sizes.iter().filter(|(_, results)| results.verdict.window.is_some());
    for (row, (_, results)) in all.rows.iter_mut().zip(windows) {
        let window = results.verdict.window.map(|(first, last)| format!("{first} - {last}"));
        row.cells.push(window.map_or(TableCell::Missing, TableCell::Text));
    }
    all
}

fn convergence_plot(
    what: &str,
    pattern: AccessPattern,
    size: &SizeLoop,
    results: &LoopResults,
) -> Plot {
    let name = size.size.transfer_size();
    let what = ConvergencePlot {
        id: &format!("convergence-{}-{}", what.to_lowercase(), name.to_lowercase()),
        title: &format!("TP SS Convergence - {what} - SEQ {name}"),
        caption: "MB/s, round by round. A void round breaks the line.",
        y: Axis::new("MB/s", Scale::Linear),
        points: &[pattern],
    };
    convergence(what, &size.mixed_loop, &results.rounds)
}

/// Plots reads and writes of one block size as columns side by side.
fn size_plot(size: &SizeLoop, results: &LoopResults) -> Plot {
    let name = size.size.transfer_size();
    let rate = |pattern| results.cell(&pattern).and_then(|cell| cell.mb_per_second.mean);
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

fn windows_text(sizes: &[MeasuredSize<'_>]) -> String {
    joined(sizes.iter().map(|(size, results)| {
        format!("{}: {}", size.size.transfer_size(), disclosure::window_text(&results.verdict))
    }))
}

/// Returns the five pages of a block size, in the order of the public report forms.
fn form_pages(sized: &MeasuredSize<'_>) -> Vec<Page> {
    let (size, results) = sized;
    let name = size.size.transfer_size();
    let window = match results.verdict.tracks.first() {
        Some(track) => window_exhibits(&results.verdict, track),
        None => vec![no_window(&results.verdict.criteria)],
    };
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
            vec![Exhibit::Table(table(
                &format!("throughput-{}", name.to_lowercase()),
                std::slice::from_ref(sized),
            ))],
        ),
        page(&format!("TP SEQ {name} - 2D Plot"), vec![Exhibit::Plot(size_plot(size, results))]),
    ]
}

/// Plots reads and writes by block size as columns in perspective; `None` for a single size.
fn rates_plot(run: &ThroughputRun<'_>) -> Option<Plot> {
    if run.results.len() < 2 {
        return None;
    }
    let names = run.results.iter().map(|(size, _)| size.size.transfer_size()).collect();
    let series = [("Read", 100), ("Write", 0)].map(|(direction, mix)| {
        let points = (0u32..).zip(&run.results).map(|(x, (size, results))| {
            let cell = results.cell(&AccessPattern::sequential(size.size, mix));
            (f64::from(x), cell.and_then(|cell| cell.mb_per_second.mean))
        });
        Series::new(direction, Stroke::Measured, points.collect())
    });
    let x = Axis::new("Block size", Scale::Categories(names));
    let y = Axis::new("MB/s", Scale::Linear);
    Some(
        Plot::new(PlotKind::Columns3d, "rates", "Throughput - all block sizes", x, y)
            .caption("Mean MB/s in the measurement window.")
            .series(series),
    )
}

fn rounds(run: &ThroughputRun<'_>) -> Vec<Exhibit> {
    let mut exhibits = Vec::new();
    for (size, results) in &run.results {
        let id = format!("rounds-{}", size.size.transfer_size().to_lowercase());
        exhibits.push(Exhibit::Facts(steady_facts(&size.mixed_loop, results)));
        exhibits.push(Exhibit::Table(rounds_table(&id, &size.mixed_loop, results)));
    }
    exhibits
}

fn cells<'r>(run: &'r ThroughputRun<'_>) -> impl Iterator<Item = &'r PointResult> {
    run.results.iter().flat_map(|(_, results)| &results.cells)
}

fn tallies<'r>(run: &'r ThroughputRun<'_>) -> Vec<(String, &'r Tally)> {
    cells(run).map(|cell| (cell.pattern.to_string(), &cell.tally)).collect()
}

fn preconditioning(run: &ThroughputRun<'_>) -> Vec<Exhibit> {
    if !run.test.preconditions() {
        return Vec::new();
    }
    let of_size = |size: &SizeLoop| {
        let pattern = run.test.wipc_pattern(size);
        wipc_exhibits(&run.choices, run.record, &size.wipc_phase, pattern)
    };
    run.test.loops.iter().flat_map(of_size).collect()
}

fn tkperf_chapters(run: &ThroughputRun<'_>) -> Vec<Page> {
    let points = |(size, results): &MeasuredSize<'_>| tkperf::shown(&size.mixed_loop, results);
    tkperf::throughput(&tkperf::TkperfTest {
        title: "Throughput",
        id: "throughput",
        unit: "MB/s",
        listing: listing(run),
        dependent: "sequential write of each block size".into(),
        points: run.results.iter().flat_map(points).collect(),
        verdicts: run.results.iter().map(|(_, results)| results.verdict.clone()).collect(),
    })
}

fn listing(run: &ThroughputRun<'_>) -> String {
    let wipc = match run.test.preconditions() {
        true if run.test.setup.settings.profile == Profile::Tkperf => {
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
        joined(run.test.loops.iter().map(|size| size.size.transfer_size())),
        run.test.choices().rounds_max.unwrap_or_default(),
        run.test.setup.step_time,
        run.test.demand
    )
}
