//! Every kind of drawing, as accepted by eye, and with extreme input.

use super::golden;
use steadfast_domain::findings::{Axis, Marker, Plot, PlotKind, Scale, Series, Stroke, TimeUnit};
use steadfast_domain::random_bits::mix64;
use steadfast_report::svg;

/// Returns a number from 0 to 1 that looks random, always the same for `n`.
fn random(n: u32) -> f64 {
    let state = u64::from(n).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mix64(state) >> 40) as f64 / f64::from(1u32 << 24)
}

fn marker(x: f64, label: &str) -> Marker {
    Marker { x, label: label.into() }
}

/// Returns a plot of write saturation: IOPS on the left, response time on the right, by minutes.
pub fn saturation(minutes: u32) -> Plot {
    let iops = |n: u32| 60_000.0 * (0.3 + 0.7 * (-f64::from(n) / 90.0).exp());
    let iops = (0..minutes).map(|n| (f64::from(n), Some(iops(n) * (0.97 + 0.06 * random(n)))));
    let slow = |n: u32| 1.2 - (-f64::from(n) / 80.0).exp() + 0.1 * random(n + 7);
    let slow = (0..minutes).map(|n| (f64::from(n), (n != 200).then_some(slow(n))));
    let x = Axis::time("Time", TimeUnit::Minutes);
    let y = Axis::new("IOPS", Scale::Linear);
    let mut plot = Plot::lines("saturation", "WSAT", x, y)
        .with(Series::new("RND 4K W", Stroke::Measured, iops.collect()))
        .with(Series::new("ART", Stroke::Measured, slow.collect()).on_right());
    plot.y_right = Some(Axis::new("Response time (ms)", Scale::Linear));
    plot.markers =
        vec![marker(31.0, "1 drive fill"), marker(62.0, "2 fills"), marker(300.0, "steady")];
    plot
}

/// Returns a plot of response times of one stimulus with its confidence levels.
pub fn confidence() -> Plot {
    let edge = |n: u32| 0.02 * 1.12f64.powi(n as i32);
    let bell = |n: u32| 3e5 * (-(f64::from(n) - 12.0).powi(2) / 40.0).exp() + 40.0 * random(n);
    let counts: Vec<f64> = (0..60).map(|n| bell(n).floor()).collect();
    let all: f64 = counts.iter().sum();
    let mut below = 0.0;
    let share = |n: usize| {
        below += counts[n];
        (edge(n as u32 + 1), Some(below / all * 100.0))
    };
    let share: Vec<_> = (0..60).map(share).collect();
    let bins = (0u32..).zip(&counts).map(|(n, count)| (edge(n), Some(*count)));
    let x = Axis::new("Response time (ms)", Scale::Log10);
    let y = Axis::new("I/Os", Scale::Log10);
    let mut plot = Plot::new(PlotKind::Histogram, "confidence", "Confidence level", x, y)
        .with(Series::new("RND 4K W", Stroke::Measured, bins.collect()))
        .with(Series::new("Part of the I/Os", Stroke::Measured, share).on_right());
    plot.y_right = Some(Axis::new("Confidence level (%)", Scale::Linear));
    plot.markers = [
        (0.078, "ART 0.078 ms"),
        (0.09, "90 % 0.090 ms"),
        (0.12, "99 % 0.120 ms"),
        (0.14, "99.9 % 0.140 ms"),
        (11.0, "99.999 % 11.0 ms"),
        (15.9, "MRT 15.9 ms"),
    ]
    .map(|(x, label)| marker(x, label))
    .to_vec();
    plot
}

/// Returns reads and writes as two overlapping histograms on linear axes.
fn two_histograms() -> Plot {
    let bell = |middle: f64| {
        (0..50).map(move |n| {
            let x = f64::from(n) / 10.0;
            (x, Some((900.0 * (-(x - middle).powi(2) * 2.0).exp()).floor()))
        })
    };
    let x = Axis::new("Response time (ms)", Scale::Linear);
    let y = Axis::new("I/Os", Scale::Linear);
    Plot::new(PlotKind::Histogram, "two", "Reads and writes", x, y)
        .with(Series::new("Reads", Stroke::Measured, bell(1.4).collect()))
        .with(Series::new("Writes", Stroke::Measured, bell(2.5).collect()))
}

/// Returns a plot of demand variation: points, three of them named, and the limit of 5 ms.
fn scatter() -> Plot {
    let point = |n: u32| {
        (f64::from(n % 7 + 1) * 9000.0 + random(n) * 4000.0, Some(0.05 * 1.15f64.powi(n as i32)))
    };
    let one = |name: &str, at| Series::new(name, Stroke::Measured, vec![at]);
    let x = Axis::new("IOPS", Scale::Linear);
    let y = Axis::new("ART (ms)", Scale::Log10);
    Plot::new(PlotKind::Scatter, "demand", "Demand variation", x, y)
        .with(Series::new("T/Q points", Stroke::Measured, (0..49).map(point).collect()))
        .with(one("Min", (10_000.0, Some(0.06))))
        .with(one("Mid", (35_000.0, Some(0.9))))
        .with(one("Max", (66_000.0, Some(4.1))))
        .with(Series::new("5 ms", Stroke::Limit, vec![(0.0, Some(5.0)), (70_000.0, Some(5.0))]))
}

/// Returns a cloud with a point for every I/O.
pub fn cloud() -> Plot {
    let points = (0..20_000).map(|n| (f64::from(n) / 100.0, Some(0.1 / (0.02 + random(n)))));
    let x = Axis::time("Time", TimeUnit::Seconds);
    let y = Axis::new("Response time (ms)", Scale::Log10);
    Plot::new(PlotKind::Scatter, "cloud", "Every I/O", x, y).with(Series::new(
        "Writes",
        Stroke::Measured,
        points.collect(),
    ))
}

/// Returns a plot with more streams than fit, and a rate on the right axis.
pub fn stacked(columns: u32, streams: u32) -> Plot {
    let x = Axis::time("Time", TimeUnit::Minutes);
    let y = Axis::new("Share of the I/Os (%)", Scale::Linear);
    let mut plot = Plot::new(PlotKind::Stacked, "streams", "Streams", x, y);
    for stream in 0..streams {
        let weight = |n: u32| (1.0 + random(n * streams + stream)) * f64::from(streams - stream);
        let all = |n: u32| {
            (0..streams)
                .map(|s| (1.0 + random(n * streams + s)) * f64::from(streams - s))
                .sum::<f64>()
        };
        let points = (0..columns).map(|n| (f64::from(n), Some(weight(n) / all(n) * 100.0)));
        let name = format!("{} {}K", ["RND", "SEQ"][stream as usize % 2], 1 << (stream / 2 % 11));
        plot = plot.with(Series::new(name, Stroke::Measured, points.collect()));
    }
    let iops = (0..columns).map(|n| (f64::from(n), Some(4000.0 + 900.0 * random(n + 99))));
    plot = plot.with(Series::new("IOPS", Stroke::Measured, iops.collect()).on_right());
    plot.y_right = Some(Axis::new("IOPS", Scale::Linear));
    plot
}

fn stacked_names() -> Plot {
    let names = ["Enterprise archive", "Mail", "OLTP database", "Virtual desktops", "Web"];
    let names: Vec<String> = names.map(str::to_owned).to_vec();
    let part =
        |k: u32| (0..5).map(|n| (f64::from(n), Some(10.0 + 30.0 * random(n * 3 + k)))).collect();
    let workloads = (0..3).flat_map(|_| names.clone()).take(12).collect();
    let x = Axis::new("Workload", Scale::Categories(workloads));
    let y = Axis::time("Time", TimeUnit::Minutes);
    Plot::new(PlotKind::Stacked, "named", "By workload", x, y)
        .with(Series::new("Idle", Stroke::Measured, part(0)))
        .with(Series::new("Reads", Stroke::Measured, part(1)))
        .with(Series::new("Writes", Stroke::Measured, part(2)))
}

/// Returns a heat map of hits by address and time, with a hot and an untouched region.
pub fn hits(columns: u32, rows: u32) -> Plot {
    let hits = |x: u32, row: u32| match row * 10 / rows {
        4 => None,
        7 => Some(900.0 + 300.0 * random(x * rows + row)),
        _ => Some((40.0 * random(x * rows + row) * (1.0 + (f64::from(x) / 60.0).sin())).floor()),
    };
    let x = Axis::time("Time", TimeUnit::Seconds);
    let y = Axis::new("I/Os in the cell", Scale::Log10);
    let mut plot = Plot::new(PlotKind::HeatMap, "hits", "LBA hits", x, y);
    plot.y_right = Some(Axis::new("LBA range", Scale::Linear));
    for row in 0..rows {
        let points = (0..columns).map(|x| (f64::from(x) * 7.2, hits(x, row))).collect();
        let name = format!("{:.1} GB", f64::from(row) * 960.0 / f64::from(rows));
        plot = plot.with(Series::new(name, Stroke::Measured, points));
    }
    plot.markers = vec![marker(220.0, "backup begins"), marker(1e9, "beyond")];
    plot
}

/// Returns a plot of twelve lines by queue depth, one of them with a long name.
fn many_lines() -> Plot {
    let depths = [1.0f64, 2.0, 4.0, 8.0, 16.0, 32.0];
    let x = Axis::new("Queue depth", Scale::Log2);
    let y = Axis::new("IOPS", Scale::Linear);
    let mut plot = Plot::lines("depths", "IOPS by queue depth", x, y);
    for line in 0..30 {
        let points = depths.iter().map(|d| (*d, Some(d.sqrt() * 1e4 * f64::from(line + 4))));
        let name = format!("TC {line} with rather a long name to cut short");
        plot = plot.with(Series::new(name, Stroke::Measured, points.collect()));
    }
    plot
}

/// Returns plots of every kind, each also with extreme points.
pub fn all() -> Vec<Plot> {
    let kinds = KINDS.map(|kind| {
        let points = odd_points().into_iter().flatten().take(40).collect();
        Plot::new(kind, "odd", "odd", Axis::new("x", Scale::Linear), Axis::new("y", Scale::Linear))
            .with(Series::new("s", Stroke::Measured, points))
    });
    let good =
        [saturation(360), confidence(), two_histograms(), scatter(), cloud(), stacked(60, 26)];
    kinds.into_iter().chain(good).chain([stacked_names(), hits(500, 200), many_lines()]).collect()
}

#[test]
fn new_drawings_are_as_accepted() {
    golden("saturation.svg", &svg(&saturation(360)));
    golden("confidence.svg", &svg(&confidence()));
    golden("two-histograms.svg", &svg(&two_histograms()));
    golden("scatter.svg", &svg(&scatter()));
    golden("stacked.svg", &svg(&stacked(30, 26)));
    golden("stacked-names.svg", &svg(&stacked_names()));
    golden("hits.svg", &svg(&hits(50, 20)));
    golden("many-lines.svg", &svg(&many_lines()));
}

#[test]
fn large_drawings_stay_small_files() {
    let kib = |plot: &Plot| svg(plot).len() / 1024;
    assert!(kib(&saturation(1440)) < 60, "{}", kib(&saturation(1440)));
    assert!(kib(&saturation(86_400)) < 150, "{}", kib(&saturation(86_400)));
    assert!(kib(&cloud()) < 400, "{}", kib(&cloud()));
    assert!(kib(&stacked(1440, 24)) < 500, "{}", kib(&stacked(1440, 24)));
    assert!(kib(&hits(500, 200)) < 300, "{}", kib(&hits(500, 200)));
}

const KINDS: [PlotKind; 6] = [
    PlotKind::Lines,
    PlotKind::Columns3d,
    PlotKind::Scatter,
    PlotKind::Histogram,
    PlotKind::Stacked,
    PlotKind::HeatMap,
];

/// Returns extreme points: values that are hard to draw.
fn odd_points() -> Vec<Vec<(f64, Option<f64>)>> {
    let (nan, inf) = (f64::NAN, f64::INFINITY);
    vec![
        vec![],
        vec![(1.0, None), (2.0, None)],
        vec![(1.0, Some(5.0))],
        vec![(0.0, Some(0.0)), (0.0, Some(0.0))],
        vec![(-3.0, Some(-7.0)), (-1.0, Some(2.0)), (0.0, Some(-1e-30))],
        vec![(nan, Some(1.0)), (1.0, Some(nan)), (inf, Some(inf)), (2.0, Some(-inf))],
        vec![(1.0, Some(f64::MAX)), (f64::MAX, Some(1.0)), (-f64::MAX, Some(f64::MIN_POSITIVE))],
        vec![(1e17, Some(1e17)), (1e17 + 64.0, Some(1e17 + 32.0)), (1e-17, Some(1e-17))],
        vec![(5.0, Some(1.0)), (4.0, Some(2.0)), (4.0, Some(3.0)), (1.0, Some(4.0))],
        (0..5000).map(|n| (f64::from(n), Some(random(n)))).collect(),
    ]
}

#[test]
fn odd_input_is_drawn_without_panic_or_nan() {
    let scales = [
        Scale::Linear,
        Scale::LinearFitted,
        Scale::Integers,
        Scale::Log10,
        Scale::Log2,
        Scale::Categories(vec!["a".into(), "<b>".into(), String::new()]),
        Scale::Categories(Vec::new()),
    ];
    for kind in KINDS {
        for x in &scales {
            for y in &scales {
                let time = Axis { scale: x.clone(), ..Axis::time("Time", TimeUnit::Minutes) };
                let mut plot = Plot::new(kind, "odd", "odd", time, Axis::new("y", y.clone()));
                for points in odd_points() {
                    let drawn = |plot: &Plot| {
                        let words = svg(plot).replace("no values", "");
                        let none = !words.contains("NaN") && !words.contains("inf");
                        assert!(none, "{kind:?} {x:?} {y:?}\n{words}");
                    };
                    plot.series = vec![Series::new("s", Stroke::Measured, points.clone())];
                    plot.y_right = None;
                    plot.markers = Vec::new();
                    drawn(&plot);
                    plot.series.push(Series::new("", Stroke::Context, points).on_right());
                    drawn(&plot);
                    plot.y_right = Some(Axis::new("r", y.clone()));
                    plot.markers =
                        [f64::NAN, 0.0, 1.0, 1.0, f64::MAX].map(|x| marker(x, "at & <x>")).to_vec();
                    drawn(&plot);
                }
                plot.series.clear();
                assert!(svg(&plot).contains("no values"), "{kind:?}");
            }
        }
    }
}
