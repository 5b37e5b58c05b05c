//! Segments, into which the reports of a captured workload are divided. A segment is the run of
//! one stream, one measured minute, one demand or one capture step; the definition in the document
//! could not be read.

use super::composite::CapturedComposite;
use crate::common::applied::ApplicableWorkload;
use crate::exhibits::cyclic_load::JudgedLoad;
use crate::exhibits::pages::push_point;
use crate::exhibits::secondary::{SecondaryPoint, amplification};
use crate::exhibits::time_axis::{PlotTimeAxis, minutes};
use crate::exhibits::typed_table::{TypedColumn, typed_row, typed_table};
use steadfast_domain::findings::{
    Axis, Cell as TableCell, KeyFigure, Plot, PlotKind, Row, Scale, Series, Stroke, Table,
};
use steadfast_domain::measurement::StreamTally;
use steadfast_domain::stimulus::Op;
use steadfast_domain::{IoStream, Measurement, Nanos, Step};

/// Maximum number of streams plotted as separate series; all others form one series. Our choice.
const DRAWN_STREAMS: usize = 16;

/// Maximum number of stacks in a plot; with more segments, adjacent ones are merged. Our choice.
const DRAWN_STACKS: usize = 250;

/// Returns rate, response times, energy and processor use of one segment, for page one.
pub fn key_figures(segment: &SecondaryPoint) -> Vec<KeyFigure> {
    let label = |what: &str| format!("{}, {what}", segment.name);
    let mut figures = vec![
        KeyFigure::new("iops", label("rate"), segment.iops, "IOPS"),
        KeyFigure::new("rate", label("throughput"), segment.mb_per_second, "MB/s"),
        KeyFigure::new("mean", label("mean"), segment.art, "ms"),
        KeyFigure::new("five-nines", label("99.999 %"), segment.five_nines_ms(), "ms").of_buckets(),
    ];
    figures.extend(secondary_figures(segment));
    figures
}

/// Returns energy, write amplification, temperature, processor use and what the device counted in
/// one segment, for page one.
pub fn secondary_figures(segment: &SecondaryPoint) -> Vec<KeyFigure> {
    let sensed = &segment.sensed;
    let amplified = sensed.write_amplification;
    let figure = |id: &str, what: &str, value: Option<f64>, unit: &str| {
        KeyFigure::new(id, format!("{}, {what}", segment.name), value, unit)
    };
    let mut figures = vec![
        figure("power", "power", sensed.power_milliwatts, "mW"),
        figure("iops-per-watt", "rate per watt", segment.iops_per_watt(), "IOPS/W"),
        figure("joules-per-gb", "energy per GB", sensed.joules_per_gb, "J/GB"),
        figure("amplification", "write amplification", amplified.map(|own| own.ratio), "")
            .bounded(amplified.map(|own| own.bounds())),
        figure("temperature", "temperature", sensed.temperature_celsius, "°C").of_buckets(),
        figure("cpu-system", "CPU system", segment.cpu_system_percent(), "%"),
        figure("cpu-io-wait", "CPU I/O wait", segment.io_wait_percent(), "%"),
    ];
    for (count, sum) in sensed.known_counts() {
        let label = format!("{}, {}", segment.name, count.name.to_lowercase());
        figures.push(KeyFigure::count(count.id, label, Some(sum), count.unit));
    }
    figures
}

/// Returns the table of the applied streams with their counts and shares.
pub fn streams_table(composite: &CapturedComposite) -> Table {
    let streams = composite.streams();
    let ios = |stream: &IoStream| f64::from(stream.weight);
    let bytes = |stream: &IoStream| f64::from(stream.weight) * stream.size.0 as f64;
    let all_ios: f64 = streams.iter().map(ios).sum();
    let all_bytes: f64 = streams.iter().map(bytes).sum();
    let captured = composite.workload.captured_ios as f64;
    // If unknown, 0 makes the share print as a dash.
    let captured_bytes = composite.workload.captured_bytes.map_or(0.0, |bytes| bytes.0 as f64);
    let percent =
        |part: f64, whole: f64| TableCell::number((whole > 0.0).then(|| part / whole * 100.0), 2);
    let row = |name: String, ios: f64, bytes: f64| {
        Row::new(
            name,
            [
                TableCell::number(Some(ios), 0),
                percent(ios, captured),
                percent(ios, all_ios),
                TableCell::number(Some(bytes), 0),
                percent(bytes, captured_bytes),
                percent(bytes, all_bytes),
            ],
        )
    };
    let mut rows: Vec<Row> = streams.iter().map(|s| row(s.to_string(), ios(s), bytes(s))).collect();
    rows.push(row("All applied streams".to_owned(), all_ios, all_bytes).strong(true));
    let columns = [
        "I/Os", "% of the capture's I/Os", "% of the applied I/Os", "Bytes",
        "% of the capture's bytes", "% of the applied bytes",
    ];
    let title = "Applied test workload: counts of the capture, normalized from the counts";
    Table::new("applied-streams", title, "I/O stream").columns(columns).rows(rows)
}

/// Returns the tallies of the streams of a step, in the order of its load; `None` if the engine did
/// not count the streams separately.
pub fn stream_tallies<'m>(step: &Step, measurement: &'m Measurement) -> Option<&'m [StreamTally]> {
    let stimulus = step.load.stimulus()?;
    let flushes = usize::from(stimulus.flush_every().is_some());
    let tallies = measurement.streams.get(..stimulus.streams.len())?;
    (measurement.streams.len() == tallies.len() + flushes).then_some(tallies)
}

/// Returns the number of I/Os of each stream in a step, or the weights of the streams if the engine
/// did not count streams separately.
pub fn stream_counts(step: &Step, measurement: &Measurement) -> Vec<f64> {
    match stream_tallies(step, measurement) {
        Some(tallies) => tallies.iter().map(|stream| stream.tally.ios as f64).collect(),
        None => {
            let streams = step.load.stimulus().map(|s| s.streams.as_slice()).unwrap_or_default();
            streams.iter().map(|stream| f64::from(stream.weight)).collect()
        }
    }
}

/// Returns a plot of the shares of the streams in each segment. `streams` are the names of the
/// streams; `segments` has one entry per segment, with one count per stream.
pub fn distribution(
    title: &str,
    x: &str,
    streams: &[String],
    segments: &[Vec<f64>],
    caption: &str,
) -> Plot {
    let segments_per_stack = segments.len().div_ceil(DRAWN_STACKS).max(1);
    let drawn = drawn_streams(streams.len(), segments);
    let stacks: Vec<(f64, Vec<f64>)> = segments
        .chunks(segments_per_stack)
        .zip((0..).step_by(segments_per_stack))
        .map(|(chunk, at): (&[Vec<f64>], usize)| (at as f64 + 1.0, sums(chunk, streams.len())))
        .collect();
    let share = |stack: &[f64], part: f64| {
        let all: f64 = stack.iter().sum();
        (all > 0.0).then(|| part / all * 100.0)
    };
    let series = drawn.iter().map(|&place| {
        let points = stacks.iter().map(|(x, stack)| (*x, share(stack, stack[place])));
        Series::new(streams[place].clone(), Stroke::Measured, points.collect())
    });
    let others = (drawn.len() < streams.len()).then(|| {
        let rest = |stack: &[f64]| {
            let of_drawn: f64 = drawn.iter().map(|place| stack[*place]).sum();
            stack.iter().sum::<f64>() - of_drawn
        };
        let points = stacks.iter().map(|(x, stack)| (*x, share(stack, rest(stack))));
        Series::new("other streams", Stroke::Context, points.collect())
    });
    let grouped = match segments_per_stack {
        1 => String::new(),
        many => format!(" Each stack is of {many} of them."),
    };
    Plot::new(
        PlotKind::Stacked,
        "streams-distribution",
        title,
        Axis::new(x, Scale::Integers),
        Axis::new("% of the I/Os", Scale::Percent),
    )
    .caption(format!("{caption}{grouped}"))
    .series(series.collect::<Vec<_>>())
    .series(others)
}

fn sums(chunk: &[Vec<f64>], streams: usize) -> Vec<f64> {
    let at = |place: usize| chunk.iter().filter_map(|segment| segment.get(place)).sum();
    (0..streams).map(at).collect()
}

/// Returns the indices of the streams with the most I/Os, in the order of the workload.
fn drawn_streams(streams: usize, segments: &[Vec<f64>]) -> Vec<usize> {
    let totals = sums(segments, streams);
    let mut places: Vec<usize> = (0..streams).collect();
    places.sort_by(|a, b| totals[*b].total_cmp(&totals[*a]));
    places.truncate(DRAWN_STREAMS);
    places.sort_unstable();
    places
}

fn names_axis(label: &str, segments: &[SecondaryPoint]) -> Axis {
    Axis::new(label, Scale::Categories(segments.iter().map(|s| s.name.clone()).collect()))
}

fn points(
    segments: &[SecondaryPoint],
    value: impl Fn(&SecondaryPoint) -> Option<f64>,
) -> Vec<(f64, Option<f64>)> {
    (0u32..).zip(segments).map(|(at, segment)| (f64::from(at), value(segment))).collect()
}

/// Returns a plot of IOPS as columns and response times as lines on the right axis.
pub fn iops_response(title: &str, x: &str, segments: &[SecondaryPoint]) -> Plot {
    let line = |name: &str, stroke, value: fn(&SecondaryPoint) -> Option<f64>| {
        Series::new(name, stroke, points(segments, value)).on_right()
    };
    Plot::new(
        PlotKind::Stacked,
        "segments-iops-response",
        title,
        names_axis(x, segments),
        Axis::new("IOPS", Scale::Linear),
    )
    .caption(
        "Columns: I/Os per second, left. Lines: average, 99.999 % and longest response time, \
         right; 99.999 % only where ten or more I/Os lie beyond it.",
    )
    .right(Axis::new("Response time (ms)", Scale::Log10))
    .with(Series::new("IOPS", Stroke::Measured, points(segments, |s| s.iops)))
    .with(line("ART", Stroke::Average, |s| s.art))
    .with(line("99.999 %", Stroke::Fit, SecondaryPoint::five_nines_ms))
    .with(line("MRT", Stroke::Context, SecondaryPoint::longest_ms))
}

/// Returns a plot of MB/s as columns and power as a line on the right axis.
pub fn throughput_power(title: &str, x: &str, segments: &[SecondaryPoint]) -> Plot {
    let watts = |s: &SecondaryPoint| s.sensed.power_milliwatts.map(|power| power / 1000.0);
    let is_known = segments.iter().any(|segment| watts(segment).is_some());
    let caption = if is_known {
        "Columns: MB/s, left. Line: mean power, right."
    } else {
        "MB/s. Power is not known: give --power-command to measure it."
    };
    let plot = Plot::new(
        PlotKind::Stacked,
        "segments-throughput-power",
        title,
        names_axis(x, segments),
        Axis::new("MB/s", Scale::Linear),
    )
    .caption(caption)
    .with(Series::new("MB/s", Stroke::Measured, points(segments, |s| s.mb_per_second)));
    if is_known {
        plot.right(Axis::new("Power (W)", Scale::Linear))
            .with(Series::new("power", Stroke::Average, points(segments, watts)).on_right())
    } else {
        plot
    }
}

const SEGMENT: [TypedColumn<SecondaryPoint>; 12] = [
    TypedColumn::number("IOPS", 1, |segment| segment.iops),
    TypedColumn::number("MB/s", 1, |segment| segment.mb_per_second),
    TypedColumn::number("ART ms", 4, |segment| segment.art),
    TypedColumn::number("Min ms", 4, SecondaryPoint::shortest_ms),
    TypedColumn::number("99.999 % ms", 4, SecondaryPoint::five_nines_ms),
    TypedColumn::number("MRT ms", 4, SecondaryPoint::longest_ms),
    TypedColumn::number("Power mW", 0, |segment| segment.sensed.power_milliwatts),
    TypedColumn::number("IOPS / W", 1, SecondaryPoint::iops_per_watt),
    TypedColumn::number("J / GB", 2, |segment| segment.sensed.joules_per_gb),
    TypedColumn::cell("Flash / host bytes", |segment| {
        amplification(segment.sensed.write_amplification, 2)
    }),
    TypedColumn::number("CPU system %", 1, SecondaryPoint::cpu_system_percent),
    TypedColumn::number("CPU I/O wait %", 1, SecondaryPoint::io_wait_percent),
];

/// Returns the table of the values that the plots of segments show.
pub fn segments_table(title: &str, corner: &str, segments: &[SecondaryPoint]) -> Table {
    let row = |segment: &SecondaryPoint| typed_row(segment.name.clone(), &SEGMENT, segment);
    typed_table("segments", title, corner, &SEGMENT).rows(segments.iter().map(row))
}

/// Returns a plot of every step's IOPS by the measured time since the first run began, with one
/// line per run. A gap breaks the line.
pub fn iops_over_time<'a>(
    title: &str,
    step_time: Nanos,
    runs: impl Iterator<Item = &'a JudgedLoad<'a>>,
) -> Plot {
    let time = PlotTimeAxis::for_steps("Time", step_time);
    let mut elapsed = Nanos::ZERO;
    let mut series = Vec::new();
    for run in runs {
        let mut points = Vec::new();
        for (_, outcome) in &run.steps {
            elapsed += outcome.measurement.elapsed;
            let x = time.position(minutes(elapsed));
            let iops = outcome.measurement.iops();
            push_point(&mut points, outcome.gap_before.is_some(), x, iops);
        }
        series.push(Series::new(run.load.label.clone(), Stroke::Measured, points));
    }
    Plot::lines("iops-time", title, time.axis, Axis::new("IOPS", Scale::Linear))
        .caption(format!("I/Os per second of every step of {step_time}. A gap breaks the line."))
        .series(series)
}

/// Returns the average number of outstanding I/Os in a step: the sum of the response times
/// divided by the elapsed time (Little's law). `None` if no time elapsed.
pub fn outstanding(measurement: &Measurement) -> Option<f64> {
    let all = Op::ALL.map(|op| measurement.direction(op).response_sum.0);
    let time = measurement.elapsed.0;
    (time > 0).then(|| all.iter().sum::<u64>() as f64 / time as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::measurement::{HostCpu, LogDelta, StreamTally};
    use steadfast_domain::{Bytes, Tally};

    fn step(iops: u64, milliwatts: Option<f64>) -> Measurement {
        let tally = Tally {
            ios: iops,
            bytes: Bytes(iops * 4_000_000),
            response_sum: Nanos(iops * 2_000_000),
            response_min: Some(Nanos(1_000_000)),
            response_max: Nanos(9_000_000),
            ..Tally::default()
        };
        let mut measurement = Measurement {
            elapsed: Nanos::SECOND,
            streams: vec![StreamTally { op: Op::Write, tally }],
            ..Measurement::default()
        };
        measurement.sensed.power_milliwatts = milliwatts;
        let written = Bytes(iops * 4_000_000);
        measurement.sensed.log = milliwatts.map(|_| LogDelta {
            host_written: Some(written),
            nand_written: Some(Bytes(written.0 * 3 / 2)),
            host_unit: Some(Bytes(512_000)),
            nand_unit: Some(Bytes(if iops > 4000 { 1 << 30 } else { 1 })),
            ..LogDelta::default()
        });
        let cpu = HostCpu { system: 0.25, io_wait: 0.5, ..HostCpu::default() };
        measurement.sensed.host_cpu = milliwatts.map(|_| cpu);
        measurement
    }

    /// 4,000 I/Os per second at 8 W are 500 per watt; 16 J for the 32 GB of both steps are 0.5 J per
    /// GB; a step without a sensor leaves a dash.
    #[test]
    fn a_segment_has_its_rate_per_watt_and_the_processors_use() {
        let (one, two, silent) = (step(3000, Some(7e3)), step(5000, Some(9e3)), step(1, None));
        let segment = SecondaryPoint::from_means("A", &[&one, &two]);
        let cells = |segment: &SecondaryPoint| {
            let table = segments_table("T", "Segment", std::slice::from_ref(segment));
            let names: Vec<String> = table.columns.iter().map(|c| c.name.clone()).collect();
            let cell = |name: &str| {
                let at = names.iter().position(|own| own == name).unwrap();
                match table.rows[0].cells[at] {
                    TableCell::Number { value, .. } => Some(value),
                    _ => None,
                }
            };
            ["Min ms", "Power mW", "IOPS / W", "J / GB", "CPU system %", "CPU I/O wait %"].map(cell)
        };
        assert_eq!(cells(&segment), [1.0, 8000.0, 500.0, 0.5, 25.0, 50.0].map(Some));
        let figures: Vec<(String, Option<f64>)> =
            key_figures(&segment).into_iter().map(|figure| (figure.id, figure.value)).collect();
        for (id, value) in [
            ("power", 8000.0),
            ("iops-per-watt", 500.0),
            ("joules-per-gb", 0.5),
            ("amplification", 1.5),
            ("cpu-system", 25.0),
            ("cpu-io-wait", 50.0),
        ] {
            assert!(figures.contains(&(id.to_owned(), Some(value))), "{figures:?}");
        }
        // 32 GB host, 48 GB flash in units of 1 GiB and a byte: 47.3 / 32.0 to 49.1 / 32.0.
        let wide = |segment: &SecondaryPoint| {
            let figures = key_figures(segment);
            figures.iter().find(|figure| figure.id == "amplification").unwrap().wide_bounds()
        };
        let bounds = wide(&segment).unwrap();
        assert!((bounds.low - 1.4664).abs() < 1e-3 && (bounds.high - 1.5336).abs() < 1e-3);
        assert_eq!(wide(&SecondaryPoint::from_means("A", &[&one])), None);
        let part = SecondaryPoint::from_means("B", &[&one, &silent]);
        assert_eq!(cells(&part), [Some(1.0), None, None, None, None, None]);
    }
}
