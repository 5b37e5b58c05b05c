//! Sections of a TKperf report: for each test its loop, steady state, plots, and the table of the
//! measurement window. TKperf's own logs use the same exhibits, so that old and new runs can be
//! compared.

use super::loops::{no_window, window_plot};
use super::matrix::{millis, size_name};
use super::pages::{page, push_point, rounds_axis};
use crate::common::results::LoopResults;
use crate::common::rounds::MixedLoop;
use crate::pts::method::TWENTY_TEN;
use crate::report_notation::{decimals, distinct, joined, mix_name, number, slug};
use std::collections::BTreeSet;
use steadfast_domain::findings::{
    Axis, Cell, Column, Exhibit, Facts, Page, Plot, PlotKind, Row, Scale, Series, Setting, Stroke,
    Table,
};
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::stimulus::Order;
use steadfast_domain::{Bytes, Verdict};

/// Bytes per MiB, which TKperf prints as MB.
const MIB: f64 = 1_048_576.0;

#[derive(Debug, Clone, PartialEq)]
pub struct TkperfPoint {
    pub pattern: AccessPattern,
    /// Values of the rounds, or of the zones of a hard disk.
    pub values: Vec<NumberedValue>,
    /// Mean over the measurement window, or over the zones.
    pub mean: Option<f64>,
    /// Shortest response time of the window, or of all zones, in milliseconds; `None` if a round or
    /// zone lacks it. Rounds of TKperf's own logs that lack it are left out.
    pub shortest: Option<f64>,
    /// Longest response time of the window, or of all zones, in milliseconds.
    pub longest: Option<f64>,
}

/// Value of a round or of a zone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NumberedValue {
    /// Number of the round or zone, from 1.
    pub number: u32,
    /// `None` in a void round, or in a zone that was not measured.
    pub value: Option<f64>,
}

impl TkperfPoint {
    /// Returns a line through the values.
    fn line(&self) -> Series {
        let points = self.values.iter().map(|found| (f64::from(found.number), found.value));
        Series::new(self.pattern.to_string(), Stroke::Measured, points.collect())
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TkperfTest {
    /// Prefix of the section titles: `IOPS`.
    pub title: &'static str,
    /// Prefix of table and plot IDs: `iops`.
    pub id: &'static str,
    pub unit: &'static str,
    /// Description of the loop, line by line.
    pub listing: String,
    /// Description of the tracking variable.
    pub dependent: String,
    /// Points in the order of a round.
    pub points: Vec<TkperfPoint>,
    /// Verdicts on steady state, each with its own window.
    pub verdicts: Vec<Verdict>,
}

impl TkperfTest {
    /// Returns the block sizes, ascending.
    fn sizes(&self) -> BTreeSet<Bytes> {
        self.points.iter().map(|point| point.pattern.size).collect()
    }
    /// Returns the mixes in the order of a round.
    fn mixes(&self) -> Vec<u8> {
        distinct(self.points.iter().map(|point| point.pattern.read_percent))
    }
    fn point(&self, mix: u8, size: Bytes) -> Option<&TkperfPoint> {
        point_of(&self.points, mix, size)
    }
    /// Returns the ID of an exhibit of the test.
    fn exhibit_id(&self, suffix: &str) -> String {
        format!("tkperf-{}-{suffix}", self.id)
    }
}

/// Returns the point with this percentage of reads and block size.
pub(crate) fn point_of(points: &[TkperfPoint], mix: u8, size: Bytes) -> Option<&TkperfPoint> {
    points.iter().find(|point| point.pattern.size == size && point.pattern.read_percent == mix)
}

pub(crate) fn shown(mixed_loop: &MixedLoop, results: &LoopResults) -> Vec<TkperfPoint> {
    let point = |pattern: &AccessPattern| {
        let values = results.rounds.iter().map(|round| NumberedValue {
            number: round.round,
            value: mixed_loop.value(round, pattern),
        });
        let cell = results.cell(pattern);
        let mean = cell.and_then(|cell| match (pattern.order, mixed_loop.unit) {
            (Order::Sequential(_), _) => cell.mb_per_second.mean,
            (Order::Random, "ms") => cell.art.mean,
            (Order::Random, _) => cell.iops.mean,
        });
        TkperfPoint {
            pattern: *pattern,
            values: values.collect(),
            mean,
            shortest: cell.and_then(|cell| millis(cell.tally.response_shortest())),
            longest: cell.and_then(|cell| millis(cell.tally.response_longest())),
        }
    };
    mixed_loop.points.iter().map(point).collect()
}

pub(crate) fn iops(content: &TkperfTest) -> Vec<Page> {
    let plots = vec![
        convergence(content, "Write", &[0]),
        matrix_lines(content),
        matrix_columns(content, "3d", "IOPS 3D Measurement Plot", |point| point.mean),
    ];
    let mixes = content.mixes();
    let title = "Average IOPS vs. Block Size and R/W Mix %";
    let table = matrix_table(content, "table", title, &mixes, 1, |point| point.mean);
    sections(content, plots, vec![Exhibit::Table(table)])
}

pub(crate) fn latency(content: &TkperfTest) -> Vec<Page> {
    let mut mixes = content.mixes();
    let plots = vec![
        convergence(content, "Read", &[100]),
        convergence(content, "Mixed", &[65]),
        convergence(content, "Write", &[0]),
        matrix_columns(content, "mean-3d", "LAT 3D Measurement Plot: average", |p| p.mean),
        matrix_columns(content, "max-3d", "LAT 3D Measurement Plot: maximum", |p| p.longest),
    ];
    mixes.reverse();
    let shortest = "Min Latency (ms) vs. Block Size and R/W Mix %";
    let average = "Average Latency (ms) vs. Block Size and R/W Mix %";
    let longest = "Max Latency (ms) vs. Block Size and R/W Mix %";
    let tables = vec![
        matrix_table(content, "min", shortest, &mixes, 4, |point| point.shortest),
        matrix_table(content, "mean", average, &mixes, 4, |point| point.mean),
        matrix_table(content, "max", longest, &mixes, 4, |point| point.longest),
    ];
    sections(content, plots, tables.into_iter().map(Exhibit::Table).collect())
}

pub(crate) fn throughput(content: &TkperfTest) -> Vec<Page> {
    let plots = vec![
        convergence(content, "Write", &[0]),
        convergence(content, "Read", &[100]),
        matrix_lines(content),
    ];
    let units = Exhibit::Text(
        "MB/s are 10^6 bytes per second. MiB/s are 2^20 bytes per second: what TKperf prints as \
         MB/s."
            .into(),
    );
    sections(content, plots, vec![Exhibit::Table(rates_table(content)), units])
}

/// Returns the four sections of a test with rounds.
fn sections(content: &TkperfTest, plots: Vec<Plot>, tables: Vec<Exhibit>) -> Vec<Page> {
    let title = |section: &str| format!("{} - {section}", content.title);
    let loops = vec![
        Exhibit::Listing(content.listing.clone()),
        Exhibit::Text(format!("Dependent variable: {}.", content.dependent)),
    ];
    // The verification plots follow the first plot.
    let mut plots = plots.into_iter();
    let mut exhibits: Vec<Exhibit> = plots.next().map(Exhibit::Plot).into_iter().collect();
    exhibits.extend(content.verdicts.iter().flat_map(|verdict| verifications(content, verdict)));
    exhibits.extend(plots.map(Exhibit::Plot));
    vec![
        page(&title("Test Loop"), loops),
        page(&title("Steady State Information"), steady_state_exhibits(content)),
        page(&title("Measurement Plots"), exhibits),
        page(&title("Measurement Window Summary Table"), tables),
    ]
}

/// Returns the exhibits on steady state: whether, when, and the values.
fn steady_state_exhibits(content: &TkperfTest) -> Vec<Exhibit> {
    let exhibits = content.verdicts.iter().flat_map(|verdict| {
        verdict.tracks.iter().map(|track| {
            let places = usize::from(decimals(content.unit));
            let values = joined(track.values.iter().map(|value| number(*value, places)));
            let rounds = verdict.window.map(|(first, last)| joined(first..=last));
            let reached = if verdict.steady { "yes" } else { "NO" };
            let average = number(track.average, places);
            let title = format!("{}, {}", track.name, content.unit);
            Exhibit::Facts(Facts::new(title).rows([
                Setting::outcome("Steady State has been reached", reached),
                Setting::outcome("Rounds of the measurement window", rounds),
                Setting::outcome("Values in the measurement window", values),
                Setting::outcome("Average in the measurement window", average),
            ]))
        })
    });
    let exhibits: Vec<Exhibit> = exhibits.collect();
    if exhibits.is_empty() {
        let criteria = content.verdicts.first().map_or(TWENTY_TEN, |verdict| verdict.criteria);
        return vec![no_window(&criteria)];
    }
    exhibits
}

fn verifications(content: &TkperfTest, verdict: &Verdict) -> Vec<Exhibit> {
    let plot = |track| {
        let plot = window_plot(verdict, track);
        let id = content.exhibit_id(&format!("verification-{}", plot.id));
        Exhibit::Plot(Plot { id, ..plot })
    };
    verdict.tracks.iter().map(plot).collect()
}

/// Plots every block size of these mixes by round.
fn convergence(content: &TkperfTest, direction: &str, mixes: &[u8]) -> Plot {
    let of_mix = |point: &&TkperfPoint| mixes.contains(&point.pattern.read_percent);
    let series = content.points.iter().filter(of_mix).map(TkperfPoint::line);
    let id = content.exhibit_id(&format!("convergence-{}", direction.to_lowercase()));
    let title = format!("{} Steady State Convergence Plot: {direction}", content.title);
    let scale = if content.unit == "IOPS" { Scale::Log10 } else { Scale::Linear };
    Plot::lines(&id, title, rounds_axis(), Axis::new(content.unit, scale))
        .caption("All block sizes, round by round. A void round breaks its line.")
        .series(series)
}

/// Plots the means of the window by block size, with one line per mix.
fn matrix_lines(content: &TkperfTest) -> Plot {
    let sizes = content.sizes();
    let series = content.mixes().into_iter().map(|mix| {
        let mean = |size: &Bytes| content.point(mix, *size).and_then(|point| point.mean);
        let points = sizes.iter().map(|size| (size.as_kib(), mean(size))).collect();
        Series::new(direction(content, mix), Stroke::Measured, points)
    });
    let title = format!("{} Measurement Plot", content.title);
    let x = Axis::new("Block size (KiB)", Scale::Log2);
    let y = Axis::new(content.unit, Scale::Log10);
    Plot::lines(&content.exhibit_id("2d"), title, x, y)
        .caption("Averages of the measurement window against the block size.")
        .series(series)
}

/// Returns the name of a mix: `Read` or `Write`, or the percentages for random I/O.
fn direction(content: &TkperfTest, mix: u8) -> String {
    match (content.unit, mix) {
        ("MB/s", 100) => "Read".to_owned(),
        ("MB/s", 0) => "Write".to_owned(),
        _ => mix_name(mix),
    }
}

/// Plots columns in perspective: block sizes across, one row per mix.
fn matrix_columns(
    content: &TkperfTest,
    id: &str,
    title: &str,
    value: impl Fn(&TkperfPoint) -> Option<f64>,
) -> Plot {
    let sizes = content.sizes();
    let names = sizes.iter().map(|size| size_name(*size)).collect();
    let series = content.mixes().into_iter().map(|mix| {
        let of_size = |size: &Bytes| content.point(mix, *size).and_then(&value);
        let points = (0u32..).zip(&sizes).map(|(x, size)| (f64::from(x), of_size(size)));
        Series::new(mix_name(mix), Stroke::Measured, points.collect())
    });
    let x = Axis::new("Block size (KiB)", Scale::Categories(names));
    let y = Axis::new(content.unit, Scale::Linear);
    Plot::new(PlotKind::Columns3d, &content.exhibit_id(id), title, x, y)
        .caption("Of the measurement window; a row of columns for each read/write mix.")
        .series(series)
}

/// Returns the table of means: block sizes as rows, ascending, and mixes as columns in the given
/// order.
fn matrix_table(
    content: &TkperfTest,
    id: &str,
    title: &str,
    mixes: &[u8],
    decimals: u8,
    value: impl Fn(&TkperfPoint) -> Option<f64>,
) -> Table {
    let sizes = content.sizes();
    let rows = sizes.iter().map(|size| {
        let of_mix = |mix: &u8| content.point(*mix, *size).and_then(&value);
        Row::new(size_name(*size), mixes.iter().map(|mix| Cell::number(of_mix(mix), decimals)))
    });
    Table::new(&content.exhibit_id(id), title, "Block Size (KiB)")
        .spanner("Read / Write Mix %")
        .columns(mixes.iter().map(|mix| mix_name(*mix)))
        .rows(rows)
}

/// Returns the table of reads and writes in MB/s and MiB/s.
fn rates_table(content: &TkperfTest) -> Table {
    let sizes = distinct(content.points.iter().map(|point| point.pattern.size));
    let rows = sizes.into_iter().map(|size| {
        let mean = |mix: u8| content.point(mix, size).and_then(|point| point.mean);
        let mib = |mb: Option<f64>| mb.map(|mb| mb * 1e6 / MIB);
        let rates = [mean(100), mean(0), mib(mean(100)), mib(mean(0))];
        Row::new(size_name(size), rates.map(|rate| Cell::number(rate, 3)))
    });
    let title = "Average throughput vs. Block Size and R/W";
    Table::new(&content.exhibit_id("table"), title, "Block Size (KiB)")
        .columns([
            Column::new("read", "Read MB/s"),
            Column::new("write", "Write MB/s"),
            Column::new("read-mib", "Read MiB/s"),
            Column::new("write-mib", "Write MiB/s"),
        ])
        .rows(rows)
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SaturatedMinute {
    pub iops: Option<f64>,
    /// Mean response time in milliseconds.
    pub mean_ms: Option<f64>,
    /// True if the run had released the device before this minute.
    pub gap: bool,
}

pub(crate) fn write_saturation(listing: String, minutes: &[SaturatedMinute]) -> Vec<Page> {
    let curve = |value: fn(&SaturatedMinute) -> Option<f64>| {
        let mut points = Vec::new();
        for (round, minute) in (1u32..).zip(minutes) {
            push_point(&mut points, minute.gap, f64::from(round), value(minute));
        }
        points
    };
    let plot = |id: &str, what: &str, unit: &str, points| {
        let y = Axis::new(unit, Scale::Linear);
        Plot::lines(id, format!("Write Saturation: {what}"), rounds_axis(), y)
            .caption(format!("{what} of random 4 KiB writes over all rounds."))
            .with(Series::new(what, Stroke::Average, points))
    };
    let rounds = Exhibit::Text(
        "A round is one step of the load. No steady state is judged, so there is no dependent \
         variable."
            .into(),
    );
    let iops = plot("tkperf-wsat-iops", "Average IOPS", "IOPS", curve(|minute| minute.iops));
    let times = plot("tkperf-wsat-latency", "Mean latency", "ms", curve(|minute| minute.mean_ms));
    vec![
        page("Write Saturation - Test Loop", vec![Exhibit::Listing(listing), rounds]),
        page(
            "Write Saturation - Measurement Plots",
            vec![Exhibit::Plot(iops), Exhibit::Plot(times)],
        ),
    ]
}

/// Plot of a hard disk test: one per mix, or per block size for sequential I/O.
#[derive(PartialEq)]
struct ZonePlot {
    id: String,
    name: String,
}

impl ZonePlot {
    /// Returns the plot that shows this pattern.
    fn of_pattern(pattern: AccessPattern) -> Self {
        match pattern.order {
            Order::Random => {
                let mix = pattern.read_percent;
                ZonePlot { id: format!("mix-{mix}"), name: format!("{mix} % reads") }
            }
            Order::Sequential(_) => {
                let name = pattern.size.transfer_size();
                ZonePlot { id: format!("size-{}", name.to_lowercase()), name }
            }
        }
    }
}

/// Plots values over the zones of a hard disk: one page per mix or block size.
pub(crate) fn zone_pages(title: &str, unit: &str, points: &[TkperfPoint]) -> Vec<Page> {
    let mut pages = Vec::new();
    for plotted in distinct(points.iter().map(|point| ZonePlot::of_pattern(point.pattern))) {
        let own = points.iter().filter(|point| ZonePlot::of_pattern(point.pattern) == plotted);
        let id = format!("{}-{}", slug(title), plotted.id);
        let title = format!("{title} over the Zones: {}", plotted.name);
        let x = Axis::new("Zone (from the first to the last byte)", Scale::Integers);
        let plot = Plot::lines(&id, &title, x, Axis::new(unit, Scale::Linear))
            .caption("Each zone was measured once.")
            .series(own.map(TkperfPoint::line));
        pages.push(page(&title, vec![Exhibit::Plot(plot)]));
    }
    pages
}
