//! The exhibits of the IOPS test: the eight pages of the PTS 2.0 report form
//! (six in 1.1), and the chapters of a TKperf report.

use super::setup::{Iops, TRACKED_4K};
use crate::exhibits::disclosure::{self, Form};
use crate::exhibits::frame::{common_chapters, frame, unfinished};
use crate::exhibits::loops::{
    Convergence, convergence, general_chapter, measurement_window, not_steady, rounds_ending,
    rounds_table, steady_facts, tracking_table, window_exhibits,
};
use crate::exhibits::pages::page;
use crate::exhibits::response::{FIVE_NINES, tail_plot};
use crate::exhibits::secondary;
use crate::exhibits::steps::every_step;
use crate::exhibits::tkperf;
use crate::ground::preconditioning;
use crate::ground::preconditioning::WIPC_PATTERN;
use crate::ground::results::{Cell, Results};
use crate::pts::scattered::Ranged;
use crate::pts::wipc_exhibits::preconditioning_exhibits;
use crate::words::mix_name;
use steadfast_domain::findings::{
    Axis, Cell as TableCell, Exhibit, FormHeader, KeyFigure, Page, Plot, PlotKind, Row, Scale,
    Series, Stroke, Table,
};
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::{Bytes, Caveat, Findings, Nanos, Op, Profile, Record, Tally};

/// Everything that is reported of a run.
pub fn findings(iops: &Iops, record: &Record, results: &Results) -> Findings {
    let choices = iops.choices();
    Findings {
        ending: rounds_ending(record, results, iops.mixed_loop.rounds_max),
        caveats: caveats(iops, record, results),
        summary: summary(iops, results),
        form_pages: form_pages(iops, results),
        chapters: chapters(iops, record, results),
        long_tables: long_tables(iops, record, results),
        metrics: results.metrics(),
        ..frame("IOPS", &choices, record, header(iops, record, results))
            .judged(Some(results.verdict.clone()))
            .fronted(figures(results), ["matrix-2d", "tails"])
    }
}

fn header(iops: &Iops, record: &Record, results: &Results) -> FormHeader {
    let choices = iops.choices();
    let rounds = disclosure::window_text(&results.verdict);
    let form = Form {
        test: "IOPS Test (REQUIRED)".into(),
        subtitle: "IOPS - Block Size x RW Mix Matrix".into(),
        set_up: disclosure::loop_set_up_rows("IOPS Loop", &choices, &rounds),
        test_parameters: disclosure::loop_test_rows("IOPS Loop", &choices, &rounds),
    };
    disclosure::form_header(form, &choices, record)
}

fn caveats(iops: &Iops, record: &Record, results: &Results) -> Vec<Caveat> {
    let mut caveats: Vec<Caveat> =
        unfinished(record).or_else(|| not_steady("", results)).into_iter().collect();
    caveats.extend(disclosure::caveats(&iops.choices(), record));
    caveats.extend(secondary::caveats(record, &|step| results.reports(&iops.mixed_loop, step)));
    caveats
}

/// The numbers that a data sheet has: random 4 KiB with its response times, and large blocks
/// of the matrix.
fn figures(results: &Results) -> Vec<KeyFigure> {
    let cell = |kib: u64, mix: u8| results.cell(&AccessPattern::random(Bytes::kib(kib), mix));
    let iops = |id: &str, label: &str, mix: u8| {
        let cell = cell(4, mix);
        KeyFigure::new(id, label, cell.and_then(|c| c.iops), "IOPS")
            .ranging(cell.and_then(|c| c.range("iops")))
    };
    let rate = |id: &str, label: &str, mix: u8| {
        let cell = cell(128, mix);
        KeyFigure::new(id, label, cell.and_then(|c| c.mb_per_second), "MB/s")
            .ranging(cell.and_then(|c| c.range("throughput")))
    };
    let art = |id: &str, label: &str, mix: u8| {
        let cell = cell(4, mix);
        KeyFigure::new(id, label, cell.and_then(|c| c.art), "ms")
            .ranging(cell.and_then(|c| c.range("art")))
    };
    let tail = |id: &str, label: &str, mix: u8| {
        let time = cell(4, mix).and_then(|c| c.tally.percentile(0.9999));
        KeyFigure::new(id, label, time.map(Nanos::as_millis_f64), "ms").of_buckets()
    };
    let mut figures = vec![
        iops("rnd-4k-read-iops", "RND 4K read", 100),
        iops("rnd-4k-write-iops", "RND 4K write", 0),
        iops("rnd-4k-mixed-iops", "RND 4K 65/35", 65),
        rate("rnd-128k-read-rate", "RND 128K read", 100),
        rate("rnd-128k-write-rate", "RND 128K write", 0),
        art("rnd-4k-read-art", "RND 4K read, mean", 100),
        art("rnd-4k-write-art", "RND 4K write, mean", 0),
        tail("rnd-4k-read-tail", "RND 4K read, 99.99 %", 100),
        tail("rnd-4k-write-tail", "RND 4K write, 99.99 %", 0),
    ];
    figures.retain(|figure| figure.value.is_some());
    figures
}

fn summary(iops: &Iops, results: &Results) -> Vec<Exhibit> {
    vec![
        Exhibit::Table(iops_table(iops, results, "iops-summary", "IOPS in the measurement window")),
        Exhibit::Table(tracking_table("steady-state", &results.verdict)),
    ]
}

/// The pages of the SNIA report form, in the standard's order.
fn form_pages(iops: &Iops, results: &Results) -> Vec<Page> {
    let mut pages = vec![
        page(
            "IOPS SS Convergence Plot - All Block Sizes",
            vec![Exhibit::Plot(convergence_plot(iops, results))],
        ),
        page("IOPS SS Measurement Window", measurement_window(&results.verdict)),
    ];
    for track in &results.verdict.tracks {
        pages.push(page(
            &format!("IOPS SS Measurement Window - {}", track.name),
            window_exhibits(&results.verdict, track),
        ));
    }
    let table =
        iops_table(iops, results, "iops", "IOPS, mean of the rounds of the measurement window");
    pages.push(page("IOPS - All RW Mix & BS - Tabular Data", vec![Exhibit::Table(table)]));
    pages.push(page(
        "IOPS - All RW Mix & BS - 2D Plot",
        vec![Exhibit::Plot(matrix_plot(iops, results, PlotKind::Lines))],
    ));
    pages.push(page(
        "IOPS - All RW Mix & BS - 3D Columns",
        vec![
            Exhibit::Plot(matrix_plot(iops, results, PlotKind::Columns3d)),
            Exhibit::Plot(matrix_plot(iops, results, PlotKind::HeatMap)),
        ],
    ));
    pages
}

/// 100 % writes of every block size against the rounds.
fn convergence_plot(iops: &Iops, results: &Results) -> Plot {
    let points: Vec<AccessPattern> =
        iops.sizes.iter().map(|size| AccessPattern::random(*size, 0)).collect();
    let what = Convergence {
        id: "convergence",
        title: "IOPS SS Convergence - 100 % Writes, All Block Sizes",
        caption: "IOPS of random writes of each block size, round by round. A void round breaks \
                  its line.",
        y: Axis::new("IOPS", Scale::Log10),
        points: &points,
    };
    convergence(what, &iops.mixed_loop, &results.rounds)
}

/// A cell's IOPS.
fn iops_of(results: &Results, read_percent: u8, size: Bytes) -> Option<f64> {
    results.cell(&AccessPattern::random(size, read_percent))?.iops
}

/// The standard's table: block sizes down from the smallest, mixes from 0/100.
fn iops_table(iops: &Iops, results: &Results, id: &str, title: &str) -> Table {
    matrix_table(iops, id, title, Orientation::Standard, |mix, size| {
        TableCell::number(iops_of(results, mix, size), 1)
    })
}

/// Which way round the mixes run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Orientation {
    /// 0/100 first.
    Standard,
    /// 100/0 first.
    Tkperf,
}

fn matrix_table(
    iops: &Iops,
    id: &str,
    title: &str,
    orientation: Orientation,
    cell: impl Fn(u8, Bytes) -> TableCell,
) -> Table {
    let mut mixes = iops.mixes.clone();
    if orientation == Orientation::Standard {
        mixes.reverse();
    }
    let rows = iops.sizes.iter().rev().map(|size| {
        Row::new(size_name(*size), mixes.iter().map(|mix| cell(*mix, *size)))
            .strong(*size == TRACKED_4K.size)
    });
    Table::new(id, title, "Block Size (KiB)")
        .spanner("Read / Write Mix %")
        .columns(mixes.iter().map(|mix| mix_name(*mix)))
        .rows(rows)
}

fn size_name(size: Bytes) -> String {
    size.transfer_size().trim_end_matches('K').to_owned()
}

/// IOPS of every mix against the block size.
fn matrix_plot(iops: &Iops, results: &Results, kind: PlotKind) -> Plot {
    let sizes: Vec<Bytes> = iops.sizes.iter().rev().copied().collect();
    let position = |(position, size): (u32, &Bytes)| match kind {
        PlotKind::Columns3d | PlotKind::HeatMap => f64::from(position),
        _ => size.as_kib(),
    };
    let series = iops.mixes.iter().map(|mix| {
        let points =
            (0u32..).zip(&sizes).map(|at| (position(at), iops_of(results, *mix, *at.1))).collect();
        Series::new(mix_name(*mix), Stroke::Measured, points)
    });
    let names = Scale::Categories(sizes.iter().map(|size| size_name(*size)).collect());
    let (id, title, x, y) = match kind {
        PlotKind::Columns3d => ("matrix-3d", "3D Columns", names, Scale::Linear),
        PlotKind::HeatMap => ("matrix-heat", "Heat Map", names, Scale::Log10),
        _ => ("matrix-2d", "2D Plot", Scale::Log2, Scale::Log10),
    };
    let title = format!("IOPS - All RW Mix & BS - {title}");
    let mut plot =
        Plot::new(kind, id, &title, Axis::new("Block size (KiB)", x), Axis::new("IOPS", y))
            .caption(match kind {
                PlotKind::HeatMap => {
                    "Mean IOPS in the measurement window, reads and writes added; one row per \
                     read/write mix."
                }
                _ => {
                    "Mean IOPS in the measurement window, reads and writes added; one series per \
                     read/write mix."
                }
            });
    plot.series = series.collect();
    if kind == PlotKind::HeatMap {
        plot.y_right = Some(Axis::new("Read/write mix (%)", Scale::Linear));
    }
    plot
}

fn chapters(iops: &Iops, record: &Record, results: &Results) -> Vec<Page> {
    let choices = iops.choices();
    let wipc = preconditioning_exhibits(&choices, record, preconditioning::PHASE, WIPC_PATTERN);
    let mut chapters = match iops.ground.settings.profile {
        Profile::Tkperf => tkperf::iops(&tkperf_content(iops, results)),
        _ => Vec::new(),
    };
    chapters.extend(common_chapters(&choices, record));
    chapters.extend([
        general_chapter(&choices),
        iops_chapter(iops, results),
        response_time_chapter(iops, results),
        secondary::chapter(secondary::matrix_tables(&results.cells, &iops.sizes), record),
        page("Preconditioning", wipc),
    ]);
    chapters
}

/// The test as a TKperf report shows it.
fn tkperf_content(iops: &Iops, results: &Results) -> tkperf::Content {
    tkperf::Content {
        title: "IOPS",
        id: "iops",
        unit: "IOPS",
        listing: listing(iops),
        dependent: "4k block size, random write".into(),
        points: tkperf::shown(&iops.mixed_loop, results),
        verdicts: vec![results.verdict.clone()],
    }
}

fn iops_chapter(iops: &Iops, results: &Results) -> Page {
    let throughput = matrix_table(
        iops,
        "throughput",
        "Average throughput in the measurement window, MB/s",
        Orientation::Standard,
        |mix, size| {
            let cell = results.cell(&AccessPattern::random(size, mix));
            TableCell::number(cell.and_then(|c| c.mb_per_second), 1)
        },
    );
    let exhibits = vec![
        Exhibit::Listing(listing(iops)),
        Exhibit::Facts(steady_facts(&iops.mixed_loop, results)),
        Exhibit::Table(tracking_table("steady-state", &results.verdict)),
        Exhibit::Table(throughput),
        Exhibit::Table(rounds_table("rounds", &iops.mixed_loop, results)),
    ];
    page("IOPS", exhibits)
}

fn listing(iops: &Iops) -> String {
    let mixes: Vec<String> = iops.mixes.iter().map(|mix| mix_name(*mix)).collect();
    let sizes: Vec<String> = iops.sizes.iter().map(|size| size.transfer_size()).collect();
    format!(
        "Purge\nWorkload independent preconditioning: SEQ 128K W, T1Q32, 2 x user capacity\n\
         While not steady state, at most {} rounds\n  For R/W mix {}\n    For block size {}\n      \
         Random I/O for {}, {}; record IOPS (reads + writes)",
        iops.mixed_loop.rounds_max,
        mixes.join(", "),
        sizes.join(", "),
        iops.ground.minute,
        iops.mixed_loop.demand
    )
}

/// The matrix the other way round, as a TKperf report has it, the response times of each
/// direction of a mix, and every step.
fn long_tables(iops: &Iops, record: &Record, results: &Results) -> Vec<Table> {
    let turned = matrix_table(
        iops,
        "iops-tkperf",
        "Measurement Window Summary Table: average IOPS",
        Orientation::Tkperf,
        |mix, size| TableCell::number(iops_of(results, mix, size), 1),
    );
    let art = |id: &str, title: &str, op: Op| {
        matrix_table(iops, id, title, Orientation::Standard, |mix, size| {
            let cell = results.cell(&AccessPattern::random(size, mix));
            TableCell::number(cell.and_then(|cell| cell.art_of(op)), 3)
        })
    };
    vec![
        turned,
        art("art-reads", "ART of the reads, ms (all I/Os of the rounds)", Op::Read),
        art("art-writes", "ART of the writes, ms (all I/Os of the rounds)", Op::Write),
        every_step(&iops.choices(), record),
    ]
}

/// A response time read off a cell.
type ResponseTime = fn(&Cell) -> Option<f64>;

/// The mixes of RND 4K whose response times are drawn.
const TAILS: [u8; 3] = [100, 65, 0];

/// Response times of every mix and block size.
fn response_time_chapter(iops: &Iops, results: &Results) -> Page {
    let tables: [(&str, &str, ResponseTime); 3] = [
        ("art", "Average response time (ART), ms (mean of the rounds)", |cell| cell.art),
        ("five-nines", "99.999 % response time, ms (all I/Os of the rounds)", |cell| {
            cell.tally.percentile(FIVE_NINES).map(Nanos::as_millis_f64)
        }),
        ("mrt", "Maximum response time (MRT), ms", |cell| {
            cell.tally.response_longest().map(Nanos::as_millis_f64)
        }),
    ];
    let mut exhibits = vec![Exhibit::Text(
        "Response times of reads and writes together in the measurement window. The average is \
         the mean of the rounds' averages; percentile and maximum are over all I/Os of the \
         rounds. A dash means that fewer than ten I/Os lie beyond the percentile. art-reads.csv \
         and art-writes.csv have those of each direction."
            .into(),
    )];
    exhibits.extend(tables.map(|(id, title, value)| {
        Exhibit::Table(matrix_table(iops, id, title, Orientation::Standard, |mix, size| {
            let time = results.cell(&AccessPattern::random(size, mix)).and_then(value);
            TableCell::number(time, 3)
        }))
    }));
    let patterns = TAILS.map(|mix| AccessPattern::random(Bytes::kib(4), mix));
    let cells: Vec<(String, &Cell)> = patterns
        .iter()
        .filter_map(|pattern| Some((pattern.to_string(), results.cell(pattern)?)))
        .collect();
    let columns: Vec<(&str, &Tally)> =
        cells.iter().map(|(name, cell)| (name.as_str(), &cell.tally)).collect();
    exhibits.push(Exhibit::Plot(tail_plot("tails", "Response times of RND 4K", &columns)));
    page("Response Times (secondary metrics)", exhibits)
}
