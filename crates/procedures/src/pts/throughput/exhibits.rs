//! Exhibits of the throughput test: five pages of the report form per block size.

use super::setup::{SizeLoop, Throughput};
use crate::common::metrics::PointValue;
use crate::common::results::{LoopResults, PointResult};
use crate::common::rounds::joint_verdict;
use crate::exhibits::disclosure::{self, ReportForm, SECOND_STIMULUS};
use crate::exhibits::loops::{
    ConvergencePlot, NOT_STEADY_EARLIER, convergence, first_window, not_steady, rounds_table,
    steady_facts, tracking_table,
};
use crate::exhibits::pages::page;
use crate::exhibits::report::{ProcedureReport, ReportEntry, StudiedRun};
use crate::exhibits::response::{percentile_table, tail_plot};
use crate::exhibits::secondary::{self, SecondaryPoint};
use crate::exhibits::tkperf;
use crate::pts::scattered::RangedTest;
use crate::pts::wipc_exhibits::wipc_exhibits;
use crate::report_notation::{joined, steady_rounds};
use steadfast_domain::findings::{
    Axis, Cell as TableCell, Exhibit, KeyFigure, Metric, Page, Plot, PlotKind, Row, Scale, Series,
    Setting, Stroke, Table,
};
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::{Caveat, Class, Profile, Record, Step, Tally, Verdict, caveats as ids};

/// A block size and the results of its loop.
pub(crate) struct MeasuredSize<'a> {
    size_loop: &'a SizeLoop,
    results: LoopResults,
}

impl MeasuredSize<'_> {
    /// Returns the mean MB/s of a pattern in the reported rounds.
    fn rate(&self, pattern: &AccessPattern) -> Option<f64> {
        self.results.cell(pattern)?.mb_per_second.mean
    }
}

type ThroughputRun<'a> = StudiedRun<'a, Throughput>;

impl ProcedureReport for Throughput {
    type Results<'a> = Vec<MeasuredSize<'a>>;
    const TITLE: &'static str = "Throughput";

    const ENTRIES: &'static [ReportEntry<Self>] = &[
        ReportEntry::Summary,
        ReportEntry::Table(|run| rates_table("throughput-summary", &run.results)),
        ReportEntry::Table(steady_table),
        ReportEntry::FormPages(|run| run.results.iter().flat_map(form_pages).collect()),
        ReportEntry::Of(&[Profile::Tkperf], &[ReportEntry::Chapters(tkperf_chapters)]),
        ReportEntry::Setup,
        ReportEntry::General,
        ReportEntry::Chapter("Throughput"),
        ReportEntry::Listing(listing),
        ReportEntry::Table(|run| rates_table("throughput", &run.results)),
        ReportEntry::Table(steady_table),
        ReportEntry::OptionalPlot(rates_plot),
        ReportEntry::Several(rounds_exhibits),
        ReportEntry::Secondary,
        ReportEntry::Table(|run| {
            let points: Vec<SecondaryPoint> = cells(run).map(SecondaryPoint::from).collect();
            secondary::points_table("secondary", "Secondary metrics", &points)
        }),
        ReportEntry::Table(|run| {
            let title = "Response times, ms: all values, including the average, are over all I/Os \
                         of the rounds";
            percentile_table("percentiles", title, &tallies(run))
        }),
        ReportEntry::Plot(|run| tail_plot("tails", "Response times of the rounds", &tallies(run))),
        ReportEntry::Chapter("Preconditioning"),
        ReportEntry::Several(preconditioning_exhibits),
    ];

    fn studied<'a>(&'a self, record: &'a Record) -> StudiedRun<'a, Self> {
        let mut results = Vec::new();
        for size_loop in &self.loops {
            let loop_results = LoopResults::new(&size_loop.mixed_loop, record);
            results.push(MeasuredSize { size_loop, results: loop_results });
        }
        StudiedRun { test: self, record, choices: self.choices(), results }
    }

    fn form(run: &ThroughputRun<'_>) -> ReportForm {
        let sizes: Vec<String> = run.test.loops.iter().map(SizeLoop::size_name).collect();
        let stimulus = format!("SEQ {}", sizes.join(", SEQ "));
        let rounds = joined(run.results.iter().map(|size| {
            let window = disclosure::window_text(&size.results.verdict);
            format!("{}: {window}", size.size_loop.size_name())
        }));
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
        let mut endings = Vec::new();
        for MeasuredSize { size_loop, results } in &run.results {
            let (pattern, rounds) = (size_loop.writes(), results.rounds.len());
            endings.push(match steady_rounds(&results.verdict) {
                Some(steady) => format!("{pattern} steady in {steady} of {rounds}"),
                None if !run.record.has_ended() => {
                    format!("{pattern}: {rounds} rounds are complete")
                }
                None => format!(
                    "{pattern}: steady state NOT achieved in {rounds} rounds (at most {} were \
                     allowed)",
                    size_loop.mixed_loop.rounds_max
                ),
            });
        }
        let state = if run.record.has_ended() { "" } else { "The run is not finished: " };
        format!("{state}{}.", endings.join("; "))
    }

    fn verdict(run: &ThroughputRun<'_>) -> Option<Verdict> {
        Some(joint_verdict(&verdicts(run), &run.test.setup.method.criteria))
    }

    fn caveats(run: &ThroughputRun<'_>) -> Vec<Caveat> {
        let mut caveats = Vec::new();
        for (number, MeasuredSize { size_loop, results }) in (1..).zip(&run.results) {
            let loop_suffix = format!(" of {}", size_loop.writes());
            if let Some(mut caveat) = not_steady(&loop_suffix, run.record, results) {
                if number < run.results.len() {
                    caveat.remedy = NOT_STEADY_EARLIER.into();
                }
                caveats.push(caveat);
            }
        }
        caveats
    }

    fn later_caveats(run: &ThroughputRun<'_>) -> Vec<Caveat> {
        match (run.test.setup.settings.profile, run.test.setup.settings.class) {
            (Profile::Pts11, Class::Client) => vec![Caveat::unverified(
                ids::TP_WIPC,
                "WIPC writes at the block size under test, 1024K, as in the public \
                 implementations.",
                "",
            )],
            (Profile::Tkperf, _) if run.test.preconditions => Vec::new(),
            (Profile::Tkperf, _) => vec![Caveat::deviation(
                ids::NO_WIPC,
                "No workload independent preconditioning after the purges: that is TKperf's own \
                 method; the PTS preconditions before each block size.",
                "Choose --profile pts-2.0.",
            )],
            _ => vec![Caveat::unverified(
                ids::TP_ORDER,
                "The block sizes run in the order 1024K, 128K, each after its own purge and its \
                 own WIPC at that size, as in the public implementations.",
                "",
            )],
        }
    }

    fn reports(run: &ThroughputRun<'_>, step: &Step) -> bool {
        run.results.iter().any(|size| size.results.reports(&size.size_loop.mixed_loop, step))
    }

    fn front_plots(run: &ThroughputRun<'_>) -> Vec<String> {
        run.test.loops.iter().map(|size| format!("convergence-write-{}", size.size_id())).collect()
    }

    /// Returns MB/s of every block size, reads and writes.
    fn figures(run: &ThroughputRun<'_>) -> Vec<KeyFigure> {
        let mut figures = Vec::new();
        for MeasuredSize { size_loop, results } in &run.results {
            let (name, id) = (size_loop.size_name(), size_loop.size_id());
            for (direction, pattern) in [("read", size_loop.reads()), ("write", size_loop.writes())]
            {
                let rate = results.cell(&pattern).map(|cell| cell.mb_per_second);
                let PointValue { mean, range } = rate.unwrap_or_default();
                let id = format!("seq-{id}-{direction}-rate");
                let label = format!("SEQ {name} {direction}");
                figures.push(KeyFigure::new(&id, label, mean, "MB/s").with_range(range));
            }
        }
        figures
    }

    fn metrics(run: &ThroughputRun<'_>) -> Vec<Metric> {
        run.results.iter().flat_map(|size| size.results.metrics()).collect()
    }
}

/// Returns the verdicts on the loops, one per block size.
fn verdicts(run: &ThroughputRun<'_>) -> Vec<Verdict> {
    run.results.iter().map(|size| size.results.verdict.clone()).collect()
}

/// Returns the table of MB/s by block size: reads, writes.
fn rates_table(id: &str, sizes: &[MeasuredSize<'_>]) -> Table {
    let rows = sizes.iter().map(|size| {
        Row::new(
            format!("SEQ {}", size.size_loop.size_name()),
            [
                TableCell::number(size.rate(&size.size_loop.reads()), 1),
                TableCell::number(size.rate(&size.size_loop.writes()), 1),
                TableCell::text(disclosure::window_text(&size.results.verdict)),
            ],
        )
    });
    Table::new(id, "Throughput in the measurement window, MB/s", "Block size")
        .columns(["Read", "Write", "Window"])
        .rows(rows)
}

/// Returns the table of every block size's tracking variable and its limits.
fn steady_table(run: &ThroughputRun<'_>) -> Table {
    let verdicts = verdicts(run);
    let joint = joint_verdict(&verdicts, &run.test.setup.method.criteria);
    let mut table = tracking_table("steady-state", &joint).column("Window");
    // A loop without a window has no row.
    let windows = verdicts.iter().filter_map(|verdict| verdict.window);
    for (row, (first, last)) in table.rows.iter_mut().zip(windows) {
        row.cells.push(TableCell::Text(format!("{first} - {last}")));
    }
    table
}

fn convergence_plot(direction: &str, pattern: AccessPattern, size: &MeasuredSize<'_>) -> Plot {
    let (name, id) = (size.size_loop.size_name(), size.size_loop.size_id());
    let plot = ConvergencePlot {
        id: &format!("convergence-{}-{id}", direction.to_lowercase()),
        title: &format!("TP SS Convergence - {direction} - SEQ {name}"),
        caption: "MB/s, round by round. A void round breaks the line.",
        y: Axis::new("MB/s", Scale::Linear),
        points: &[pattern],
    };
    convergence(plot, &size.size_loop.mixed_loop, &size.results.rounds)
}

/// Plots reads and writes of one block size as columns side by side.
fn size_plot(size: &MeasuredSize<'_>) -> Plot {
    let name = size.size_loop.size_name();
    let points =
        vec![(0.0, size.rate(&size.size_loop.reads())), (1.0, size.rate(&size.size_loop.writes()))];
    let directions = ["Read", "Write"].map(str::to_owned).to_vec();
    Plot::new(
        PlotKind::Stacked,
        &format!("rates-{}", size.size_loop.size_id()),
        format!("Throughput - SEQ {name}"),
        Axis::new("Direction", Scale::Categories(directions)),
        Axis::new("MB/s", Scale::Linear),
    )
    .caption("Mean MB/s in the measurement window.")
    .with(Series::new(format!("SEQ {name}"), Stroke::Measured, points))
}

/// Returns the five pages of a block size, in the order of the public report forms.
fn form_pages(size: &MeasuredSize<'_>) -> Vec<Page> {
    let MeasuredSize { size_loop, results } = size;
    let name = size_loop.size_name();
    let window = first_window(&results.verdict);
    let convergence = |direction: &str, pattern| {
        page(
            &format!("TP SEQ {name} - SS Convergence - {direction}"),
            vec![Exhibit::Plot(convergence_plot(direction, pattern, size))],
        )
    };
    let table_id = format!("throughput-{}", size_loop.size_id());
    let table = rates_table(&table_id, std::slice::from_ref(size));
    vec![
        convergence("Write", size_loop.writes()),
        convergence("Read", size_loop.reads()),
        page(&format!("TP SEQ {name} - SS Measurement Window"), window),
        page(&format!("TP SEQ {name} - Tabular Data"), vec![Exhibit::Table(table)]),
        page(&format!("TP SEQ {name} - 2D Plot"), vec![Exhibit::Plot(size_plot(size))]),
    ]
}

/// Plots reads and writes by block size as columns in perspective; `None` for a single size.
fn rates_plot(run: &ThroughputRun<'_>) -> Option<Plot> {
    if run.results.len() < 2 {
        return None;
    }
    let names = run.test.loops.iter().map(SizeLoop::size_name).collect();
    let series = [("Read", 100), ("Write", 0)].map(|(direction, mix)| {
        let points = (0u32..).zip(&run.results).map(|(x, size)| {
            let pattern = AccessPattern::sequential(size.size_loop.size, mix);
            (f64::from(x), size.rate(&pattern))
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

fn rounds_exhibits(run: &ThroughputRun<'_>) -> Vec<Exhibit> {
    let mut exhibits = Vec::new();
    for MeasuredSize { size_loop, results } in &run.results {
        let id = format!("rounds-{}", size_loop.size_id());
        exhibits.push(Exhibit::Facts(steady_facts(&size_loop.mixed_loop, results)));
        exhibits.push(Exhibit::Table(rounds_table(&id, &size_loop.mixed_loop, results)));
    }
    exhibits
}

fn cells<'r>(run: &'r ThroughputRun<'_>) -> impl Iterator<Item = &'r PointResult> {
    run.results.iter().flat_map(|size| &size.results.cells)
}

fn tallies<'r>(run: &'r ThroughputRun<'_>) -> Vec<(String, &'r Tally)> {
    cells(run).map(|cell| (cell.pattern.to_string(), &cell.tally)).collect()
}

fn preconditioning_exhibits(run: &ThroughputRun<'_>) -> Vec<Exhibit> {
    let mut exhibits = Vec::new();
    if run.test.preconditions {
        for size_loop in &run.test.loops {
            let (phase, pattern) = (&size_loop.wipc_phase, run.test.wipc_pattern(size_loop));
            exhibits.extend(wipc_exhibits(&run.choices, run.record, phase, pattern));
        }
    }
    exhibits
}

fn tkperf_chapters(run: &ThroughputRun<'_>) -> Vec<Page> {
    let points = |size: &MeasuredSize<'_>| tkperf::shown(&size.size_loop.mixed_loop, &size.results);
    tkperf::throughput(&tkperf::TkperfTest {
        title: "Throughput",
        id: "throughput",
        unit: "MB/s",
        listing: listing(run),
        dependent: "sequential write of each block size".into(),
        points: run.results.iter().flat_map(points).collect(),
        verdicts: verdicts(run),
    })
}

fn listing(run: &ThroughputRun<'_>) -> String {
    let wipc = if !run.test.preconditions {
        ""
    } else if run.test.setup.settings.profile == Profile::Tkperf {
        "  Workload independent preconditioning: SEQ 128K W, T1Q32, 2 x user capacity\n"
    } else {
        "  Workload independent preconditioning: SEQ writes of this block size, T1Q32, 2 x user \
         capacity\n"
    };
    format!(
        "For block size {}\n  Purge\n{wipc}  While not steady state, at most {} rounds\n    For R/W \
         mix 100/0, 0/100\n      Sequential I/O for {}, {}; record MB/s",
        joined(run.test.loops.iter().map(SizeLoop::size_name)),
        run.test.choices().rounds_max.unwrap_or_default(),
        run.test.setup.step_time,
        run.test.demand
    )
}
