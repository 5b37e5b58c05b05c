//! The report of the IOPS test: the eight pages of the PTS 2.0 report form (six in 1.1), and the
//! chapters of a TKperf report.

use super::setup::Iops;
use crate::common::metrics::PointValue;
use crate::common::preconditioning;
use crate::common::results::{LoopResults, PointResult};
use crate::common::rounds::random_points;
use crate::exhibits::disclosure::{self, ReportForm};
use crate::exhibits::loops::{
    ConvergencePlot, convergence, measurement_window, not_steady, rounds_ending, rounds_table,
    steady_facts, tracking_table, window_exhibits,
};
use crate::exhibits::matrix::{
    AVERAGE, FIVE_NINES_TIME, LoopMatrix, MAXIMUM, MINIMUM, MatrixValue, millis,
};
use crate::exhibits::pages::page;
use crate::exhibits::report::{ProcedureReport, ReportEntry, StudiedRun};
use crate::exhibits::response::tail_plot;
use crate::exhibits::{secondary, tkperf};
use crate::pts::scattered::RangedTest;
use crate::pts::wipc_exhibits::preconditioning_exhibits;
use crate::report_notation::{joined, mix_name};
use steadfast_domain::findings::{Axis, KeyFigure, Metric, Page, Plot, PlotKind, Scale};
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::{Bytes, Caveat, Profile, Record, Step, Tally, Verdict};

const IOPS: MatrixValue = MatrixValue {
    id: "iops",
    title: "IOPS, mean of the rounds of the measurement window",
    decimals: 1,
    value: |cell| cell.iops.mean,
};
const IOPS_SUMMARY: MatrixValue =
    MatrixValue { id: "iops-summary", title: "IOPS in the measurement window", ..IOPS };
const IOPS_TKPERF: MatrixValue = MatrixValue {
    id: "iops-tkperf",
    title: "Measurement Window Summary Table: average IOPS",
    ..IOPS
};
const THROUGHPUT: MatrixValue = MatrixValue {
    id: "throughput",
    title: "Average throughput in the measurement window, MB/s",
    decimals: 1,
    value: |cell| cell.mb_per_second.mean,
};
const ART: MatrixValue = MatrixValue {
    id: "art",
    title: "Average response time (ART), ms (mean of the rounds)",
    decimals: 3,
    ..AVERAGE
};
const ART_OF_READS: MatrixValue = MatrixValue {
    id: "art-reads",
    title: "ART of the reads, ms (all I/Os of the rounds)",
    value: |cell| cell.art_of_reads,
    ..ART
};
const ART_OF_WRITES: MatrixValue = MatrixValue {
    id: "art-writes",
    title: "ART of the writes, ms (all I/Os of the rounds)",
    value: |cell| cell.art_of_writes,
    ..ART
};
const TAIL: MatrixValue = MatrixValue { decimals: 3, ..FIVE_NINES_TIME };
const SHORTEST: MatrixValue = MatrixValue { decimals: 3, ..MINIMUM };
const MRT: MatrixValue =
    MatrixValue { id: "mrt", title: "Maximum response time (MRT), ms", decimals: 3, ..MAXIMUM };

type IopsRun<'a> = StudiedRun<'a, Iops>;

impl ProcedureReport for Iops {
    type Results<'a> = LoopResults;
    const TITLE: &'static str = "IOPS";

    const ENTRIES: &'static [ReportEntry<Self>] = &[
        ReportEntry::Summary,
        ReportEntry::Table(|run| matrix(run).table(&IOPS_SUMMARY)),
        ReportEntry::Table(|run| tracking_table("steady-state", &run.results.verdict)),
        ReportEntry::Form("IOPS SS Convergence Plot - All Block Sizes"),
        ReportEntry::Plot(convergence_plot),
        ReportEntry::Form("IOPS SS Measurement Window"),
        ReportEntry::Several(|run| measurement_window(&run.results.verdict)),
        ReportEntry::FormPages(window_pages),
        ReportEntry::Form("IOPS - All RW Mix & BS - Tabular Data"),
        ReportEntry::Table(|run| matrix(run).table(&IOPS)),
        ReportEntry::FormPlot(|run| {
            matrix_plot(run, PlotKind::Lines, Scale::Log10, "matrix-2d", "2D Plot")
        }),
        ReportEntry::Form("IOPS - All RW Mix & BS - 3D Columns"),
        ReportEntry::Plot(|run| {
            matrix_plot(run, PlotKind::Columns3d, Scale::Linear, "matrix-3d", "3D Columns")
        }),
        ReportEntry::Plot(heat_map),
        ReportEntry::Of(&[Profile::Tkperf], &[ReportEntry::Chapters(tkperf_chapters)]),
        ReportEntry::Setup,
        ReportEntry::General,
        ReportEntry::Chapter("IOPS"),
        ReportEntry::Listing(listing),
        ReportEntry::Facts(|run| steady_facts(&run.test.mixed_loop, &run.results)),
        ReportEntry::Table(|run| tracking_table("steady-state", &run.results.verdict)),
        ReportEntry::Table(|run| matrix(run).table(&THROUGHPUT)),
        ReportEntry::Table(|run| rounds_table("rounds", &run.test.mixed_loop, &run.results)),
        ReportEntry::Chapter("Response Times (secondary metrics)"),
        ReportEntry::Text(|_| RESPONSE_TIMES.into()),
        ReportEntry::Table(|run| matrix(run).table(&ART)),
        ReportEntry::Table(|run| matrix(run).table(&TAIL)),
        ReportEntry::Table(|run| matrix(run).table(&SHORTEST)),
        ReportEntry::Table(|run| matrix(run).table(&MRT)),
        ReportEntry::Plot(tails_plot),
        ReportEntry::Secondary,
        ReportEntry::Several(|run| secondary::matrix_tables(&run.results.cells, &run.test.sizes)),
        ReportEntry::Chapter("Preconditioning"),
        ReportEntry::Several(|run| preconditioning_exhibits(&run.choices, run.record)),
        ReportEntry::Csv(|run| {
            let mixes = run.test.mixes.clone();
            LoopMatrix { mixes, ..matrix(run) }.table(&IOPS_TKPERF)
        }),
        ReportEntry::Csv(|run| matrix(run).table(&ART_OF_READS)),
        ReportEntry::Csv(|run| matrix(run).table(&ART_OF_WRITES)),
    ];
    const FRONT_PLOTS: &'static [&'static str] = &["matrix-2d", "tails"];

    fn studied<'a>(&'a self, record: &'a Record) -> StudiedRun<'a, Self> {
        let (choices, results) = (self.choices(), LoopResults::new(&self.mixed_loop, record));
        StudiedRun { test: self, record, choices, results }
    }

    fn form(run: &IopsRun<'_>) -> ReportForm {
        let rounds = disclosure::window_text(&run.results.verdict);
        ReportForm {
            test: "IOPS Test (REQUIRED)".into(),
            subtitle: "IOPS - Block Size x RW Mix Matrix".into(),
            set_up: disclosure::loop_set_up_rows("IOPS Loop", &run.choices, &rounds),
            test_parameters: disclosure::loop_test_rows("IOPS Loop", &run.choices, &rounds),
        }
    }

    fn ending(run: &IopsRun<'_>) -> String {
        rounds_ending(run.record, &run.results, run.test.mixed_loop.rounds_max)
    }

    fn verdict(run: &IopsRun<'_>) -> Option<Verdict> {
        Some(run.results.verdict.clone())
    }

    fn caveats(run: &IopsRun<'_>) -> Vec<Caveat> {
        not_steady("", run.record, &run.results).into_iter().collect()
    }

    fn reports(run: &IopsRun<'_>, step: &Step) -> bool {
        run.results.reports(&run.test.mixed_loop, step)
    }

    /// Returns the numbers of a data sheet: random 4 KiB with response times, and large blocks.
    fn figures(run: &IopsRun<'_>) -> Vec<KeyFigure> {
        let mut figures = vec![
            figure(run, "rnd-4k-read-iops", "RND 4K read", 100, &IOPS_4K),
            figure(run, "rnd-4k-write-iops", "RND 4K write", 0, &IOPS_4K),
            figure(run, "rnd-4k-mixed-iops", "RND 4K 65/35", 65, &IOPS_4K),
            figure(run, "rnd-128k-read-rate", "RND 128K read", 100, &RATE_128K),
            figure(run, "rnd-128k-write-rate", "RND 128K write", 0, &RATE_128K),
            figure(run, "rnd-4k-read-art", "RND 4K read, mean", 100, &ART_4K),
            figure(run, "rnd-4k-write-art", "RND 4K write, mean", 0, &ART_4K),
            figure(run, "rnd-4k-read-tail", "RND 4K read, 99.99 %", 100, &TAIL_4K).of_buckets(),
            figure(run, "rnd-4k-write-tail", "RND 4K write, 99.99 %", 0, &TAIL_4K).of_buckets(),
        ];
        figures.retain(|figure| figure.value.is_some());
        figures
    }

    fn metrics(run: &IopsRun<'_>) -> Vec<Metric> {
        run.results.metrics()
    }
}

/// A value of page one and its block size.
struct FigureSource {
    kib: u64,
    unit: &'static str,
    value: fn(&PointResult) -> PointValue,
}

const IOPS_4K: FigureSource = FigureSource { kib: 4, unit: "IOPS", value: |cell| cell.iops };
const RATE_128K: FigureSource =
    FigureSource { kib: 128, unit: "MB/s", value: |cell| cell.mb_per_second };
const ART_4K: FigureSource = FigureSource { kib: 4, unit: "ms", value: |cell| cell.art };
const TAIL_4K: FigureSource = FigureSource {
    kib: 4,
    unit: "ms",
    value: |cell| PointValue { mean: millis(cell.tally.percentile(0.9999)), range: None },
};

fn figure(run: &IopsRun<'_>, id: &str, label: &str, mix: u8, source: &FigureSource) -> KeyFigure {
    let cell = run.results.cell(&AccessPattern::random(Bytes::kib(source.kib), mix));
    let PointValue { mean, range } = cell.map(source.value).unwrap_or_default();
    KeyFigure::new(id, label, mean, source.unit).with_range(range)
}

/// Returns the matrix. The standard's table starts with 0/100.
fn matrix<'r>(run: &'r IopsRun<'_>) -> LoopMatrix<'r> {
    LoopMatrix::new(&run.test.sizes, &run.test.mixes, &run.results)
}

/// Plots 100 % writes of every block size by round.
fn convergence_plot(run: &IopsRun<'_>) -> Plot {
    let plot = ConvergencePlot {
        id: "convergence",
        title: "IOPS SS Convergence - 100 % Writes, All Block Sizes",
        caption: "IOPS of random writes of each block size, round by round. A void round breaks \
                  its line.",
        y: Axis::new("IOPS", Scale::Log10),
        points: &random_points(&[0], &run.test.sizes),
    };
    convergence(plot, &run.test.mixed_loop, &run.results.rounds)
}

fn window_pages(run: &IopsRun<'_>) -> Vec<Page> {
    let verdict = &run.results.verdict;
    let mut pages = Vec::new();
    for track in &verdict.tracks {
        let title = format!("IOPS SS Measurement Window - {}", track.name);
        pages.push(page(&title, window_exhibits(verdict, track)));
    }
    pages
}

fn heat_map(run: &IopsRun<'_>) -> Plot {
    matrix_plot(run, PlotKind::HeatMap, Scale::Log10, "matrix-heat", "Heat Map")
        .right(Axis::new("Read/write mix (%)", Scale::Linear))
}

/// Plots IOPS of every mix by block size.
fn matrix_plot(run: &IopsRun<'_>, kind: PlotKind, y: Scale, id: &str, title: &str) -> Plot {
    let matrix = matrix(run);
    let x = match kind {
        PlotKind::Lines => Axis::new("Block size (KiB)", Scale::Log2),
        _ => matrix.names(),
    };
    let unit = if kind == PlotKind::HeatMap { "row" } else { "series" };
    let series = matrix.series(&IOPS, &x);
    let title = format!("IOPS - All RW Mix & BS - {title}");
    Plot::new(kind, id, title, x, Axis::new("IOPS", y))
        .caption(format!(
            "Mean IOPS in the measurement window, reads and writes added; one {unit} per \
             read/write mix."
        ))
        .series(series)
}

/// Returns the test in the form of a TKperf report.
fn tkperf_chapters(run: &IopsRun<'_>) -> Vec<Page> {
    tkperf::iops(&tkperf::TkperfTest {
        title: "IOPS",
        id: "iops",
        unit: "IOPS",
        listing: listing(run),
        dependent: "4k block size, random write".into(),
        points: tkperf::shown(&run.test.mixed_loop, &run.results),
        verdicts: vec![run.results.verdict.clone()],
    })
}

fn listing(run: &IopsRun<'_>) -> String {
    format!(
        "{}\nWhile not steady state, at most {} rounds\n  For R/W mix {}\n    For block size \
         {}\n      Random I/O for {}, {}; record IOPS (reads + writes)",
        preconditioning::listing(&run.test.setup),
        run.test.mixed_loop.rounds_max,
        joined(run.test.mixes.iter().map(|mix| mix_name(*mix))),
        joined(run.test.sizes.iter().map(|size| size.transfer_size())),
        run.test.setup.step_time,
        run.test.mixed_loop.demand
    )
}

const RESPONSE_TIMES: &str = "Response times of reads and writes together in the measurement \
    window. The average is the mean of the rounds' averages; percentile and maximum are over all \
    I/Os of the rounds. A dash means that fewer than ten I/Os lie beyond the percentile. \
    art-reads.csv and art-writes.csv have those of each direction.";

/// Mixes of RND 4K whose response times are drawn, in percent of reads.
const TAIL_MIXES: [u8; 3] = [100, 65, 0];

fn tails_plot(run: &IopsRun<'_>) -> Plot {
    let mut columns: Vec<(String, &Tally)> = Vec::new();
    for mix in TAIL_MIXES {
        let cell = run.results.cell(&AccessPattern::random(Bytes::kib(4), mix));
        columns.extend(cell.map(|cell| (cell.pattern.to_string(), &cell.tally)));
    }
    tail_plot("tails", "Response times of RND 4K", &columns)
}
