//! Plots of WSAT: rates and response times of the steps by time, written amount and drive fills, of
//! the seconds, and of the histogram run.

use super::results::{WsatRun, WsatStep};
use crate::exhibits::device_curves::{self, DevicePoint};
use crate::exhibits::pages::push_point;
use crate::exhibits::response::{run_confidence_plot, tail_plot};
use crate::exhibits::seconds;
use crate::exhibits::time_axis::PlotTimeAxis;
use steadfast_domain::findings::{Axis, Exhibit, Marker, Plot, Scale, Series, Stroke};

/// Quantity on the x axis.
#[derive(Clone, Copy)]
pub(super) enum WsatAxis {
    Time,
    Written,
    Fills,
}

impl WsatAxis {
    /// Returns the name in the ids of plots.
    fn id(self) -> &'static str {
        match self {
            WsatAxis::Time => "time",
            WsatAxis::Written => "tgbw",
            WsatAxis::Fills => "fills",
        }
    }
    /// Returns the name in the titles of plots.
    fn name(self) -> &'static str {
        match self {
            WsatAxis::Time => "Time",
            WsatAxis::Written => "TGBW",
            WsatAxis::Fills => "Drive Fills",
        }
    }
    fn axis(self, run: &WsatRun<'_>) -> Axis {
        match self {
            WsatAxis::Time => time_axis(run).axis,
            WsatAxis::Written => Axis::new("Total written (GB)", Scale::Linear),
            WsatAxis::Fills => Axis::new("Drive fills (written / user capacity)", Scale::Linear),
        }
    }
    fn position(self, run: &WsatRun<'_>, step: &WsatStep) -> f64 {
        match self {
            WsatAxis::Time => time_axis(run).position(step.time),
            WsatAxis::Written => step.written_gb,
            WsatAxis::Fills => step.fills,
        }
    }
}

/// Returns the axis of the time since the load began.
fn time_axis(run: &WsatRun<'_>) -> PlotTimeAxis {
    PlotTimeAxis::for_steps("Time", run.test.setup.step_time)
}

/// Returns a value of every step against a quantity.
fn curve(
    run: &WsatRun<'_>,
    x_axis: WsatAxis,
    value: fn(&WsatStep) -> Option<f64>,
) -> Vec<(f64, Option<f64>)> {
    broken_curve(run, |step| x_axis.position(run, step), value)
}

/// Returns a value of every step against `x`; a gap breaks the line.
fn broken_curve(
    run: &WsatRun<'_>,
    x: impl Fn(&WsatStep) -> f64,
    value: fn(&WsatStep) -> Option<f64>,
) -> Vec<(f64, Option<f64>)> {
    let mut points = Vec::new();
    for step in &run.results.steps {
        push_point(&mut points, step.gap, x(step), value(step));
    }
    points
}

pub(super) fn iops_plot(run: &WsatRun<'_>, x_axis: WsatAxis, scale: Scale) -> Plot {
    let (id_suffix, scale_name) = match scale {
        Scale::Log10 => ("-log", "Log"),
        _ => ("", "Linear"),
    };
    Plot::lines(
        &format!("iops-{}{id_suffix}", x_axis.id()),
        format!("WSAT IOPS ({scale_name}) v {} - {}", x_axis.name(), run.test.workload),
        x_axis.axis(run),
        Axis::new("IOPS", scale),
    )
    .caption(format!(
        "IOPS of every step of {}, reads and writes added, since the purge. A gap breaks the line.",
        run.test.setup.step_time
    ))
    .with(Series::new(
        run.test.workload.to_string(),
        Stroke::Average,
        curve(run, x_axis, |step| step.iops),
    ))
}

pub(super) fn response_plot(run: &WsatRun<'_>, x_axis: WsatAxis) -> Plot {
    Plot::lines(
        &format!("response-{}", x_axis.id()),
        format!("WSAT Response Times v {} - {}", x_axis.name(), run.test.workload),
        x_axis.axis(run),
        Axis::new("Response time (ms)", Scale::Log10),
    )
    .caption(
        "Average, 99.999 % and maximum response time of every step; 99.999 % only where ten or \
         more I/Os lie beyond it.",
    )
    .with(Series::new("MRT", Stroke::Context, curve(run, x_axis, |step| step.mrt)))
    .with(Series::new("99.999 %", Stroke::Fit, curve(run, x_axis, |step| step.five_nines)))
    .with(Series::new("ART", Stroke::Average, curve(run, x_axis, |step| step.art)))
}

/// Plots the way from fresh to steady: IOPS of every second, means of the steps, and the times of
/// full writes.
pub(super) fn seconds_plot(run: &WsatRun<'_>) -> Plot {
    let seconds = seconds::seconds(&run.results.outcomes);
    let time = time_axis(run);
    // At the middle of a step, its mean matches the curve of the seconds.
    let middle = |step: &WsatStep| time.position(f64::midpoint(step.begin, step.time));
    let step_means = broken_curve(run, middle, |step| step.iops);
    let title = format!("WSAT IOPS, second by second - {}", run.test.workload);
    Plot::lines("seconds", title, time.axis.clone(), Axis::new("IOPS", Scale::Linear))
        .caption(format!(
            "IOPS of every second, and the mean of every step of {} at the step's middle; reads \
             and writes added. Marked: once, twice, ... the user capacity written.",
            run.test.setup.step_time
        ))
        .with(Series::new(
            "every second",
            Stroke::Context,
            seconds::curve(&seconds, &time, |s| s.iops),
        ))
        .with(Series::new("step mean", Stroke::Measured, step_means))
        .markers(fill_markers(run, &time))
}

/// Maximum number of marks on the axis of time.
const FILL_MARKERS_MAX: usize = 10;

/// Marks the times at which the user capacity was written once, twice, and so on.
fn fill_markers(run: &WsatRun<'_>, axis: &PlotTimeAxis) -> Vec<Marker> {
    let mut markers: Vec<Marker> = Vec::new();
    // Time and drive fills at the begin of the step.
    let (mut time, mut fills) = (0.0, 0.0);
    for step in &run.results.steps {
        let next = markers.len() as f64 + 1.0;
        if step.fills >= next && step.fills > fills && markers.len() < FILL_MARKERS_MAX {
            let part = (next - fills) / (step.fills - fills);
            let label = if markers.is_empty() { "1 drive fill".into() } else { next.to_string() };
            markers.push(Marker { x: axis.position(time + part * (step.time - time)), label });
        }
        (time, fills) = (step.time, step.fills);
    }
    markers
}

pub(super) fn seconds_response_plot(run: &WsatRun<'_>) -> Plot {
    let seconds = seconds::seconds(&run.results.outcomes);
    let title = format!("WSAT response times, second by second - {}", run.test.workload);
    seconds::response_plot("seconds-response", &title, &time_axis(run), &seconds)
}

pub(super) fn throughput_plot(run: &WsatRun<'_>) -> Plot {
    Plot::lines(
        "throughput-time",
        format!("WSAT Throughput v Time - {}", run.test.workload),
        WsatAxis::Time.axis(run),
        Axis::new("MB/s", Scale::Linear),
    )
    .caption("MB/s of every step, reads and writes added.")
    .with(Series::new(
        run.test.workload.to_string(),
        Stroke::Average,
        curve(run, WsatAxis::Time, |step| step.mb_per_second),
    ))
}

/// Plots what the device reports of itself below the curves.
pub(super) fn device_plots(run: &WsatRun<'_>) -> Vec<Exhibit> {
    let mut points = Vec::new();
    for step in &run.results.steps {
        points.push(DevicePoint {
            x: WsatAxis::Time.position(run, step),
            breaks: step.gap,
            amplification: step.amplification.and_then(|ratio| ratio.value()),
            temperature: step.temperature,
            watts: step.watts,
            joules_per_gb: step.joules_per_gb,
        });
    }
    let caption = "As the device reports it, step by step.";
    device_curves::device_plots("seconds", &WsatAxis::Time.axis(run), caption, &points, &[])
}

pub(super) fn average_latency_plot(run: &WsatRun<'_>) -> Plot {
    Plot::lines(
        "art-time",
        format!("WSAT Average Latency v Time - {}", run.test.workload),
        WsatAxis::Time.axis(run),
        Axis::new("ART (ms)", Scale::Linear),
    )
    .caption("Average response time of every step.")
    .with(Series::new("ART", Stroke::Average, curve(run, WsatAxis::Time, |step| step.art)))
}

/// Plots the write amplification; `None` if the device does not report it.
pub(super) fn amplification_plot(run: &WsatRun<'_>) -> Option<Plot> {
    let points = curve(run, WsatAxis::Fills, |step| step.amplification?.value());
    if points.iter().all(|(_, value)| value.is_none()) {
        return None;
    }
    let plot = Plot::lines(
        "write-amplification",
        "Write amplification v Drive Fills",
        WsatAxis::Fills.axis(run),
        Axis::new("Flash bytes per host byte", Scale::Linear),
    )
    .caption("As the device reports it, step by step.")
    .with(Series::new("write amplification", Stroke::Average, points));
    Some(plot)
}

/// Returns the confidence level plot of the histogram run, or why there is none.
pub(super) fn confidence_exhibits(run: &WsatRun<'_>) -> Vec<Exhibit> {
    let Some(measurement) = run.results.histogram else {
        let text = "The histogram run has not taken place yet, or a gap voided it.";
        return vec![Exhibit::Text(text.into())];
    };
    let name = format!("{} {}", run.test.workload, run.test.demand);
    vec![Exhibit::Plot(run_confidence_plot("clp", &name, measurement))]
}

pub(super) fn histogram_tail_plot(run: &WsatRun<'_>) -> Option<Plot> {
    let columns = [(run.test.workload.to_string(), run.results.histogram?.total())];
    let title = format!("Response times of the histogram run - {}", run.test.workload);
    Some(tail_plot("histogram-tail", &title, &columns))
}
