//! The plots of a study: those of the second part of the tutorial and of the Target Server
//! Self-Test.

use crate::device_layer::device_name;
use crate::questions::compare::SideSteps;
use crate::questions::hits::{HitMap, HitMapQuantity};
use crate::questions::load_shape::DEPTH_CLASSES;
use crate::questions::series::SeriesOverTime;
use crate::questions::shape_figures::{depth_name, response_classes};
use crate::questions::steps::{CaptureStep, StepFigures};
use crate::questions::study::{DetailWindow, ProcessResults, SingleIoResults, Study};
use crate::sums::content::is_duplicate_share_exact;
use crate::sums::io_count::IoCount;
use crate::sums::server_cpu_use::ServerCpuUse;
use std::collections::BTreeMap;
use steadfast_domain::findings::{
    Axis, ClockTime, Exhibit, Marker, Plot, PlotKind, Scale, Series, Stroke, TimeUnit,
};
use steadfast_domain::io_event::Share;
use steadfast_domain::units::Bytes;
use steadfast_domain::{Histogram, IoOp, Nanos};

type PlotPoint = (f64, Option<f64>);

/// The time axis of a study's plots, and the positions of steps on it.
#[derive(Clone, Copy)]
struct Timeline<'s> {
    study: &'s Study,
    steps: &'s BTreeMap<u64, CaptureStep>,
    first: u64,
    last: u64,
    origin: u64,
}

impl<'s> Timeline<'s> {
    fn new(study: &'s Study) -> Self {
        let width_ns = study.totals.step_ns;
        let (first, last) = (study.totals.span_ns.0 / width_ns, study.totals.span_ns.1 / width_ns);
        // The axis of a whole capture starts at 0, that of a part at the part.
        let origin = if study.totals.options.pass.filter.spans_ns.is_empty() { 0 } else { first };
        Timeline { study, steps: &study.steps, first: first.min(last).max(origin), last, origin }
    }

    fn origin_ns(&self) -> u64 {
        self.origin.saturating_mul(self.study.totals.step_ns)
    }

    fn axis(&self) -> Axis {
        axis_from(self.study, self.origin_ns(), self.study.totals.span_ns.1)
    }

    fn marks(&self) -> Vec<Marker> {
        markers(self.study, self.origin_ns())
    }

    /// Returns a position in seconds, in steps from the first one of the capture.
    fn seconds(&self, steps: f64) -> f64 {
        (steps - self.origin as f64) * (self.study.totals.step_ns as f64 / 1e9)
    }

    /// Returns one point per step, including steps without I/Os.
    fn points(&self, value: impl Fn(u64) -> Option<f64>) -> Vec<PlotPoint> {
        let middle = |step: u64| self.seconds(step as f64 + 0.5);
        (self.first..=self.last).map(|step| (middle(step), value(step))).collect()
    }

    /// Returns one cell per step, at the beginning of the step.
    fn cells(&self, value: impl Fn(u64) -> Option<f64>) -> Vec<PlotPoint> {
        (self.first..=self.last).map(|step| (self.seconds(step as f64), value(step))).collect()
    }

    /// Returns a sum over a step per second of its observed time, or `None` if the step was not
    /// observed.
    fn per_second(&self, step: u64, sum: f64) -> Option<f64> {
        let totals = &self.study.totals;
        totals.observed.per_second_of_step(step, totals.step_ns, sum)
    }

    fn plot(&self, kind: PlotKind, id: &str, title: &str, y: &str) -> Plot {
        let mut plot = Plot::new(kind, id, title, self.axis(), Axis::new(y, Scale::Linear));
        plot.markers = self.marks();
        plot
    }

    fn line(&self, name: &str, value: impl Fn(&CaptureStep) -> Option<f64>) -> Series {
        let points = self.points(|step| self.steps.get(&step).and_then(&value));
        Series::new(name, Stroke::Measured, points)
    }

    /// Returns a rate over time: 0 in an observed step without I/Os, missing in an unobserved step.
    fn rate(&self, name: &str, value: impl Fn(&CaptureStep) -> f64) -> Series {
        let rate = |step| self.per_second(step, self.steps.get(&step).map_or(0.0, &value));
        Series::new(name, Stroke::Measured, self.points(rate))
    }

    /// Adds stacked series, one per name and one for all others unless it is empty.
    fn stack(
        &self,
        plot: Plot,
        series: &SeriesOverTime,
        names: &[String],
        value: impl Fn(u64, &IoCount) -> Option<f64>,
    ) -> Plot {
        let others = series.steps().values().any(|cells| cells.last().is_some_and(|c| c.ios > 0));
        let names = names.iter().cloned().chain(others.then(|| "others".to_owned()));
        names.enumerate().fold(plot, |plot, (at, name)| {
            let cell = |step: u64| series.steps().get(&step)?.get(at).copied();
            let points = self.points(|step| value(step, &cell(step).unwrap_or_default()));
            plot.with(Series::new(name, Stroke::Measured, points))
        })
    }
}

/// Returns an axis of seconds from a moment of the capture, labeled with clock times if these are
/// known.
fn axis_from(study: &Study, origin_ns: u64, last_ns: u64) -> Axis {
    let Some(clock) = &study.totals.options.clock else {
        let label = match origin_ns {
            0 => "Time since the capture began".to_owned(),
            origin => format!("Time since {} into the capture", Nanos(origin)),
        };
        return Axis::time(&label, TimeUnit::Seconds);
    };
    let (first, last) = (clock.date(origin_ns), clock.date(last_ns.max(origin_ns)));
    let day = if first == last { first } else { format!("{first} to {last}") };
    let [zone, then] = [origin_ns, last_ns].map(|at| {
        let zone = clock.zone(at);
        zone.name.clone().unwrap_or_else(|| zone.to_string())
    });
    let zone = if zone == then { zone } else { format!("{zone} and {then}") };
    let label = format!("Time on {day}, {zone}");
    let shown = clock.periods().iter().filter(|period| period.from_ns <= last_ns);
    let shown: Vec<ClockTime> = shown
        .map(|period| ClockTime {
            from: period.from_ns.saturating_sub(origin_ns) as f64 / 1e9,
            ahead_s: period.ahead_ns.saturating_add(origin_ns) as f64 / 1e9,
        })
        .collect();
    // The last period that begins at or before the axis applies from its origin.
    let before = shown.iter().filter(|part| part.from == 0.0).count().saturating_sub(1);
    Axis::time(&label, TimeUnit::Seconds).by_clock(shown[before..].to_vec())
}

fn markers(study: &Study, origin_ns: u64) -> Vec<Marker> {
    let inside = |at: &u64| *at >= origin_ns && *at <= study.totals.span_ns.1;
    let marks = study.totals.conditions.marks.iter().filter(|mark| inside(&mark.at_ns));
    marks
        .map(|mark| Marker { x: (mark.at_ns - origin_ns) as f64 / 1e9, label: mark.name.clone() })
        .collect()
}

fn with_percent_axis(mut plot: Plot) -> Plot {
    plot.y.scale = Scale::Percent;
    plot
}

fn response_ms(time: Option<Nanos>) -> Option<f64> {
    time.map(Nanos::as_millis_f64)
}

fn stream_names(study: &Study) -> Vec<String> {
    study.totals.workload.streams.iter().map(|stream| stream.stream.clone()).collect()
}

/// Plots the share of each stream in each segment.
pub(super) fn distribution(study: &Study) -> Plot {
    let (timeline, by) = (Timeline::new(study), study.totals.options.by);
    let title = "I/O streams distribution v segments";
    let y = by.choose("Share of I/Os (%)", "Share of bytes (%)");
    let plot = timeline
        .plot(PlotKind::Stacked, "streams-v-segments", title, y)
        .caption(format!("A segment is a capture step of {}.", Nanos(study.totals.step_ns)));
    let measure = |_, cell: &IoCount| Some(by.choose(cell.ios, cell.bytes) as f64);
    let plot = with_percent_axis(plot);
    let mut plot = timeline.stack(plot, &study.streams_over_time, &stream_names(study), measure);
    let places = timeline.last - timeline.first + 1;
    for at in 0..usize::try_from(places).unwrap_or(0) {
        let whole: f64 = plot.series.iter().filter_map(|s| s.points[at].1).sum();
        for series in &mut plot.series {
            let point = &mut series.points[at];
            // A step without I/Os has no shares.
            point.1 = point.1.filter(|_| whole > 0.0).map(|part| part * 100.0 / whole);
        }
    }
    plot
}

pub(super) fn rates(study: &Study) -> Plot {
    let timeline = Timeline::new(study);
    let mut plot =
        timeline.plot(PlotKind::Lines, "iops-v-time", "IOPS and throughput v time", "IOPS");
    plot.y_right = Some(Axis::new("Throughput (MB/s)", Scale::Linear));
    plot.with(timeline.rate("IOPS", |step| step.ios() as f64))
        .with(timeline.rate("MB/s", |step| Bytes(step.transferred_bytes()).as_mb()).on_right())
}

/// Plots the mean, the 99th percentile if known, and the maximum of the response time.
pub(super) fn response_times(study: &Study) -> Plot {
    let timeline = Timeline::new(study);
    let mut plot = timeline.plot(
        PlotKind::Lines,
        "response-v-time",
        "Response time v time",
        "Response time (ms)",
    );
    plot.y.scale = Scale::Log10;
    let measured = |name, value: fn(&CaptureStep) -> Option<Nanos>| {
        timeline.line(name, |step| response_ms(value(step)))
    };
    plot = plot.with(measured("Average", |step| step.times.response_mean()));
    if study.has_percentiles() {
        let percentile = measured("99 %", |step| step.percentile(0.99));
        plot = if percentile.points.iter().any(|(_, value)| value.is_some()) {
            plot.with(percentile)
        } else {
            plot.caption(
                "The 99th percentile is not drawn: it needs ten I/Os beyond it, and no step has \
                 the 1,000 I/Os for that.",
            )
        };
    }
    if study.steps.values().any(|step| step.times.queued.count > 0) {
        plot = plot
            .with(measured("In the queue, average", |step| step.times.queued.mean_ns().map(Nanos)));
    }
    plot.with(measured("Maximum", |step| step.times.response_max()))
}

/// Plots mean and maximum queue depth and, where they are known, the threads and the depth of each:
/// outstanding I/Os are thread count x queue depth.
pub(super) fn outstanding(study: &Study) -> Plot {
    let timeline = Timeline::new(study);
    let plot = timeline.plot(
        PlotKind::Lines,
        "oio-v-time",
        "Outstanding I/Os (OIO) v time",
        "I/Os outstanding at issue",
    );
    let plot = plot
        .with(timeline.line("Average", |step| step.times.depths.mean()))
        .with(timeline.line("Maximum", |step| step.times.depths.largest().map(f64::from)));
    if study.threads.is_none() {
        return plot;
    }
    let figures_by_step: BTreeMap<u64, StepFigures> = study
        .step_figures()
        .map(|step| (step.begin_ns / study.totals.step_ns.max(1), step))
        .collect();
    let threads = timeline.points(|step| study.threads_of(step).map(f64::from));
    let per_thread = timeline.points(|step| figures_by_step.get(&step)?.depth_per_thread());
    plot.caption(
        "Thread count x queue depth: threads that had I/Os in the step, and the average divided by \
         them.",
    )
    .with(Series::new("Threads", Stroke::Context, threads))
    .with(Series::new("Depth per thread", Stroke::Fit, per_thread))
}

pub(super) fn processors(study: &Study) -> Plot {
    let timeline = Timeline::new(study);
    let plot = timeline
        .plot(
            PlotKind::Lines,
            "processors-v-time",
            "Processor use and I/O wait of the captured server",
            "Processor time (%)",
        )
        .caption(
            "Shares of the time of all processors, from /proc/stat. I/O wait is idle time with \
                 I/O outstanding.",
        );
    let percent = |value: fn(ServerCpuUse) -> f64| {
        timeline.points(|step| study.processors_of(step).map(|found| value(found) * 100.0))
    };
    let (busy, io_wait) = (percent(|found| found.busy), percent(|found| found.io_wait));
    plot.with(Series::new("Busy", Stroke::Measured, busy)).with(Series::new(
        "I/O wait",
        Stroke::Average,
        io_wait,
    ))
}

pub(super) fn stream_map_by_frequency(study: &Study) -> Plot {
    let timeline = Timeline::new(study);
    let plot = timeline.plot(
        PlotKind::Stacked,
        "stream-map-frequency",
        "IO Stream Map by frequency",
        "IOPS",
    );
    let per_second = |step, cell: &IoCount| timeline.per_second(step, cell.ios as f64);
    let mut plot = timeline.stack(plot, &study.streams_over_time, &stream_names(study), per_second);
    plot.y_right = Some(Axis::new("Response time (ms)", Scale::Log10));
    plot.with(
        timeline.line("RT average", |step| response_ms(step.times.response_mean())).on_right(),
    )
    .with(timeline.line("RT maximum", |step| response_ms(step.times.response_max())).on_right())
}

pub(super) fn stream_map_by_amount(study: &Study) -> Plot {
    let timeline = Timeline::new(study);
    let plot = timeline.plot(
        PlotKind::Stacked,
        "stream-map-amount",
        "IO Stream Map by amount transferred",
        "MB/s",
    );
    let per_second = |step, cell: &IoCount| timeline.per_second(step, Bytes(cell.bytes).as_mb());
    let mut plot = timeline.stack(plot, &study.streams_over_time, &stream_names(study), per_second);
    plot.y_right = Some(Axis::new("Queue depth", Scale::Linear));
    plot.with(timeline.line("QD average", |step| step.times.depths.mean()).on_right()).with(
        timeline.line("QD maximum", |step| step.times.depths.largest().map(f64::from)).on_right(),
    )
}

pub(super) fn process_map(study: &Study, processes: &ProcessResults) -> Plot {
    let timeline = Timeline::new(study);
    let plot = timeline.plot(PlotKind::Stacked, "process-map", "Process map by frequency", "IOPS");
    let names: Vec<String> = processes.shown.iter().map(ToString::to_string).collect();
    let per_second = |step, cell: &IoCount| timeline.per_second(step, cell.ios as f64);
    timeline.stack(plot, &processes.over_time, &names, per_second)
}

/// Plots hit maps of a device: of reads and writes, or of streams.
pub(super) fn hit_maps(study: &Study, map: &HitMap) -> Vec<Exhibit> {
    let device = map.device();
    let name = device_name(&study.totals.conditions, device);
    let of_operations = |unit: &str| {
        [IoOp::Read, IoOp::Write]
            .into_iter()
            .filter_map(|op| {
                let id = format!("hits-{device}-{op}");
                let title = format!("LBA range hit map of {name}: {op}s");
                let plot = empty_hit_map(study, map, &id, title, Axis::new(unit, Scale::Log10));
                let hits = |range, step| Some(map.hits(op, range, step)).filter(|hits| *hits > 0);
                fill_hit_map(study, map, plot, |range, step| {
                    hits(range, step).map(|hits| hits as f64)
                })
            })
            .collect()
    };
    let plots: Vec<Plot> = match study.totals.options.hits {
        HitMapQuantity::Streams => stream_hits(study, &name, map).into_iter().collect(),
        HitMapQuantity::Count => of_operations("Hits"),
        HitMapQuantity::Bytes => of_operations("Bytes"),
    };
    plots.into_iter().map(Exhibit::Plot).collect()
}

/// Plots the stream with the most hits in each range.
fn stream_hits(study: &Study, name: &str, map: &HitMap) -> Option<Plot> {
    let streams = stream_names(study).into_iter().chain(["others".to_owned()]);
    let colors = Axis::new("I/O stream", Scale::Categories(streams.collect()));
    let title = format!("LBA range map of {name}: the stream with the most hits");
    let plot = empty_hit_map(study, map, &format!("hits-{}-streams", map.device()), title, colors);
    fill_hit_map(study, map, plot, |range, step| {
        map.strongest(range, step).map(|stream| stream as f64)
    })
}

fn empty_hit_map(study: &Study, map: &HitMap, id: &str, title: String, values: Axis) -> Plot {
    let axis = Timeline::new(study).axis();
    Plot::new(PlotKind::HeatMap, id, title, axis, values).caption(format!(
        "{} ranges of {}, steps of {}. A diagonal is a sequential access.",
        map.ranges,
        Bytes(map.range_bytes),
        Nanos(map.width_ns)
    ))
}

/// Adds the value of each range and step to a grid; returns `None` if there is none.
fn fill_hit_map(
    study: &Study,
    map: &HitMap,
    mut plot: Plot,
    value: impl Fn(usize, usize) -> Option<f64>,
) -> Option<Plot> {
    let timeline = Timeline::new(study);
    let origin_ns = timeline.origin_ns();
    let at = |step: usize| {
        let time = map.begin_ns.saturating_add(map.width_ns.saturating_mul(step as u64));
        (time as f64 - origin_ns as f64) / 1e9
    };
    plot.y_right = Some(Axis::new("LBA range (% of the device)", Scale::Linear));
    plot.markers = timeline.marks();
    let mut any = false;
    for range in 0..map.ranges {
        let points: Vec<PlotPoint> =
            (0..map.steps).map(|step| (at(step), value(range, step))).collect();
        any |= points.iter().any(|(_, value)| value.is_some());
        let percent = range as f64 * 100.0 / map.ranges as f64;
        plot = plot.with(Series::new(format!("{percent:.1}"), Stroke::Measured, points));
    }
    any.then_some(plot)
}

/// Plots a part of the capture in narrow steps.
pub(super) fn window(study: &Study, window: &DetailWindow, number: usize) -> Plot {
    let begin = window.first.saturating_mul(window.width_ns);
    let seconds = window.width_ns as f64 / 1e9;
    let numbers = window.first..window.first + window.count;
    let points = |value: &dyn Fn(u64, Option<&CaptureStep>) -> Option<f64>| -> Vec<PlotPoint> {
        let at = |step: u64| ((step - window.first) as f64 + 0.5) * seconds;
        numbers.clone().map(|step| (at(step), value(step, window.steps.get(&step)))).collect()
    };
    let mut plot = Plot::lines(
        &format!("window-{number}"),
        format!("Around {}, steps of {}", window.what, Nanos(window.width_ns)),
        axis_from(study, begin, begin.saturating_add(window.width_ns.saturating_mul(window.count))),
        Axis::new("IOPS", Scale::Linear),
    );
    plot.y_right = Some(Axis::new("Response time (ms)", Scale::Log10));
    let observed = &study.totals.observed;
    // A step without an I/O has a rate of 0 only if it was observed.
    let iops = points(&|step, found| {
        let ios = found.map_or(0, CaptureStep::ios);
        observed.per_second_of_step(step, window.width_ns, ios as f64)
    });
    let slowest = points(&|_, found| response_ms(found?.times.response_max()));
    plot.with(Series::new("IOPS", Stroke::Measured, iops))
        .with(Series::new("RT maximum", Stroke::Measured, slowest).on_right())
}

/// Plots response times over time as shades, with percentiles as lines.
pub(super) fn response_heat(study: &Study) -> Plot {
    let timeline = Timeline::new(study);
    let classes: BTreeMap<u64, BTreeMap<u32, u64>> =
        study.steps.iter().map(|(at, step)| (*at, response_classes(step))).collect();
    let used = || classes.values().flat_map(BTreeMap::keys).copied();
    let (least, most) = (used().min().unwrap_or(0), used().max().unwrap_or(0));
    let title = "Response times over time";
    let mut plot = Plot::new(
        PlotKind::HeatMap,
        "response-heat",
        title,
        timeline.axis(),
        Axis::new("I/Os", Scale::Log10),
    )
    .caption(
        "Each row holds the I/Os from its response time to twice that. A line has no point in a \
         step with less than ten I/Os beyond it.",
    );
    plot.y_right = Some(Axis::new("Response time, from", Scale::Linear));
    plot.markers = timeline.marks();
    plot = (least..=most).fold(plot, |plot, class| {
        let ios = |step: u64| Some(*classes.get(&step)?.get(&class)? as f64);
        let name = Nanos(1 << class).to_string();
        plot.with(Series::new(name, Stroke::Measured, timeline.cells(ios)))
    });
    PERCENTILES.into_iter().fold(plot, |plot, (name, fraction)| {
        // The middle of row n is at n: a row extends from its class to the next.
        let row = |step: &CaptureStep| {
            let time = step.percentile(fraction)?.0.max(1) as f64;
            Some(time.log2() - f64::from(least) - 0.5)
        };
        let line = timeline.line(name, row);
        let has_points = line.points.iter().any(|(_, row)| row.is_some());
        if has_points { plot.with(line.on_right()) } else { plot }
    })
}

const PERCENTILES: [(&str, f64); 3] = [("50 %", 0.5), ("99 %", 0.99), ("99.9 %", 0.999)];

pub(super) fn depths_over_time(study: &Study, singles: &SingleIoResults) -> Option<Plot> {
    let timeline = Timeline::new(study);
    let depths = singles.shape.depths();
    let last =
        (0..DEPTH_CLASSES).rev().find(|class| depths.values().any(|counts| counts[*class] > 0))?;
    let plot = timeline.plot(
        PlotKind::Stacked,
        "depths-v-time",
        "Queue depths at issue over time",
        "IOPS",
    );
    Some((0..=last).fold(plot, |plot, class| {
        let rate = |step: u64| {
            let ios = depths.get(&step).map_or(0, |counts| counts[class]);
            timeline.per_second(step, ios as f64)
        };
        let name = format!("QD {}", depth_name(class));
        plot.with(Series::new(name, Stroke::Measured, timeline.points(rate)))
    }))
}

/// Plots the share of time with at least one I/O outstanding.
pub(super) fn busy_share(study: &Study) -> Plot {
    let timeline = Timeline::new(study);
    let plot = timeline
        .plot(PlotKind::Lines, "utilisation", "Disk utilization", "Busy (%)")
        .caption("Time with at least one I/O outstanding; the rest is disk idle time.");
    let parts =
        study.step_figures().map(|step| (step.begin_ns / study.totals.step_ns, step.busy_share));
    let parts: BTreeMap<u64, Option<f64>> = parts.collect();
    // A step without an I/O is idle only if it was observed.
    let busy = |step: u64| {
        let part = parts.get(&step).copied().unwrap_or_else(|| timeline.per_second(step, 0.0));
        part.map(|part| part * 100.0)
    };
    with_percent_axis(plot).with(Series::new("Busy", Stroke::Measured, timeline.points(busy)))
}

pub(super) fn sequentiality(study: &Study) -> Plot {
    let timeline = Timeline::new(study);
    let plot =
        timeline.plot(PlotKind::Lines, "sequentiality", "I/O sequentiality", "Sequential I/Os (%)");
    let share = |op: IoOp| {
        move |step: &CaptureStep| {
            let op = step.ops[op as usize];
            (op.ios > 0).then(|| op.sequential as f64 * 100.0 / op.ios as f64)
        }
    };
    with_percent_axis(plot)
        .with(timeline.line("Reads", share(IoOp::Read)))
        .with(timeline.line("Writes", share(IoOp::Write)))
}

pub(super) fn compression(study: &Study) -> Plot {
    let timeline = Timeline::new(study);
    let plot = timeline
        .plot(PlotKind::Lines, "compression", "Compression of written data", "Ratio")
        .caption("Bytes of the blocks that were read back, over their bytes compressed by zstd.");
    let ratio = timeline.points(|step| study.content_of(step).ratio);
    plot.with(Series::new("Ratio", Stroke::Measured, ratio))
}

pub(super) fn duplicates(study: &Study) -> Plot {
    let timeline = Timeline::new(study);
    let caption = if is_duplicate_share_exact(&study.totals.conditions) {
        "Blocks equal to one that was written before in the capture."
    } else {
        "Blocks equal to one that was read back before: a lower bound, because not every block was \
         read back."
    };
    let plot = timeline
        .plot(PlotKind::Lines, "duplicates", "Duplicates in written data", "Duplicates (%)")
        .caption(caption);
    let share = timeline.points(|step| {
        let (Share::Exact(share) | Share::AtLeast(share)) = study.content_of(step).duplicates?;
        Some(share * 100.0)
    });
    with_percent_axis(plot).with(Series::new("Duplicates", Stroke::Measured, share))
}

pub(super) fn operations(study: &Study) -> Plot {
    let timeline = Timeline::new(study);
    let plot = timeline.plot(PlotKind::Stacked, "operations", "Reads and writes", "IOPS");
    let used = |op: &IoOp| study.steps.values().any(|step| step.ops[*op as usize].ios > 0);
    IoOp::ALL.into_iter().filter(used).fold(plot, |plot, op| {
        let series = timeline.rate(&format!("{op}"), |step| step.ops[op as usize].ios as f64);
        plot.with(series)
    })
}

pub(super) fn sizes(study: &Study) -> Plot {
    const SHOWN: usize = 16;
    let mut by_size: BTreeMap<u32, [u64; 2]> = BTreeMap::new();
    for (key, tally) in study.totals.streams.iter() {
        match key.op {
            IoOp::Read => by_size.entry(key.bytes).or_default()[0] += tally.count(),
            IoOp::Write => by_size.entry(key.bytes).or_default()[1] += tally.count(),
            _ => {}
        }
    }
    let all: u64 = by_size.values().flatten().sum();
    let mut largest: Vec<(u32, [u64; 2])> = by_size.into_iter().collect();
    largest.sort_by_key(|(_, ios)| std::cmp::Reverse(ios[0] + ios[1]));
    largest.truncate(SHOWN);
    let shown: u64 = largest.iter().flat_map(|(_, ios)| ios).sum();
    largest.sort_by_key(|(size, _)| *size);
    let names = largest.iter().map(|(size, _)| Bytes(u64::from(*size)).transfer_size()).collect();
    let share = |ios: u64| if all == 0 { 0.0 } else { ios as f64 * 100.0 / all as f64 };
    let series = |name: &str, direction: usize| {
        let shares = largest.iter().map(|(_, ios)| Some(share(ios[direction])));
        Series::new(name, Stroke::Measured, (0u32..).map(f64::from).zip(shares).collect())
    };
    Plot::new(
        PlotKind::Stacked,
        "sizes",
        "Transfer sizes",
        Axis::new("Transfer size (KiB)", Scale::Categories(names)),
        Axis::new("Share of reads and writes (%)", Scale::Percent),
    )
    .caption(format!("The sizes shown hold {:.1} % of the reads and writes.", share(shown)))
    .with(series("Reads", 0))
    .with(series("Writes", 1))
}

/// Returns the outline of a histogram.
fn bars<const BITS: u32>(histogram: &Histogram<BITS>) -> Vec<PlotPoint> {
    let mut points: Vec<PlotPoint> = Vec::new();
    for (low, high, count) in histogram.buckets() {
        // There is an empty bucket between two buckets that do not adjoin.
        if let Some(last) = points.last_mut().filter(|last| last.0 < low.as_millis_f64()) {
            last.1 = last.1.or(Some(0.0));
        }
        points.retain(|point| point.0 != low.as_millis_f64());
        points.push((low.as_millis_f64(), Some(count as f64)));
        points.push(((high.0 + 1) as f64 / 1e6, None));
    }
    points
}

pub(super) fn response_histogram(study: &Study) -> Plot {
    let responses = study.totals.streams.total().times.responses;
    let histogram = responses.histogram();
    let points = if study.single_ios.is_some() || study.is_of_fold {
        bars(&histogram.coarsen::<4>())
    } else {
        bars(&histogram.coarsen::<2>())
    };
    let mut plot = Plot::new(
        PlotKind::Histogram,
        "response-histogram",
        "Response-time histogram",
        Axis::new("Response time (ms)", Scale::Log10),
        Axis::new("I/Os", Scale::Log10),
    );
    let figures = responses.figures();
    let marks =
        [("ART", figures.mean_ns), ("99 %", figures.p99_ns), ("99.999 %", figures.p99_999_ns)];
    plot.markers = marks
        .into_iter()
        .filter_map(|(label, ns)| Some(Marker { x: ns? as f64 / 1e6, label: label.to_owned() }))
        .collect();
    plot.with(Series::new("All I/Os", Stroke::Measured, points))
}

/// Plots IOPS, MB/s, response times and queue depths of each device and layer on one time axis.
pub(super) fn sides(study: &Study) -> Vec<Plot> {
    let timeline = Timeline::new(study);
    let plot = |id, title, y, series: &dyn Fn(Timeline<'_>, &str) -> Series| {
        let plot = timeline.plot(PlotKind::Lines, id, title, y);
        study.sides.iter().fold(plot, |plot, SideSteps { side, steps }| {
            let of_side = Timeline { steps, ..timeline };
            plot.with(series(of_side, &side.name(&study.totals.conditions)))
        })
    };
    vec![
        plot("sides-iops", "IOPS", "IOPS", &|side, name| side.rate(name, |step| step.ios() as f64)),
        plot("sides-mbs", "Throughput", "MB/s", &|side, name| {
            side.rate(name, |step| Bytes(step.transferred_bytes()).as_mb())
        }),
        plot("sides-response", "Average response time", "Response time (ms)", &|side, name| {
            side.line(name, |step| response_ms(step.times.response_mean()))
        }),
        plot("sides-depth", "Average queue depth", "I/Os", &|side, name| {
            side.line(name, |step| step.times.depths.mean())
        }),
    ]
}
