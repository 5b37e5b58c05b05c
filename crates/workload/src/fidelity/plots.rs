//! Plots of a comparison: both captures over time on one axis, and both distributions.

use super::comparison::Fidelity;
use super::pairs::DevicePair;
use super::tables::devices;
use std::collections::BTreeMap;
use steadfast_analysis::questions::steps::CaptureStep;
use steadfast_domain::findings::{Axis, Plot, PlotKind, Scale, Series, Stroke, TimeUnit};
use steadfast_domain::{Bytes, FineHistogram, Nanos};

type PlottedSteps = BTreeMap<u64, CaptureStep>;

/// A value of both captures over time. In a step without I/Os a rate is 0, because the step was
/// recorded; any other value is missing.
struct TimePlotSpec {
    id: &'static str,
    title: &'static str,
    /// Label of the value axis.
    label: &'static str,
    scale: Scale,
    is_rate: bool,
    value: fn(&CaptureStep) -> Option<f64>,
}

/// Plots IOPS, MB/s, response time and outstanding I/Os over time.
pub(super) fn over_time(fidelity: &Fidelity) -> Vec<Plot> {
    let linear = |id, title, label, is_rate, value| TimePlotSpec {
        id,
        title,
        label,
        scale: Scale::Linear,
        is_rate,
        value,
    };
    let response = |step: &CaptureStep| step.times.response_mean().map(Nanos::as_millis_f64);
    [
        linear("replay-iops", "IOPS v time", "IOPS", true, |step| Some(step.ios() as f64)),
        linear("replay-mbs", "Throughput v time", "MB/s", true, |step| {
            Some(Bytes(step.transferred_bytes()).as_mb())
        }),
        TimePlotSpec {
            scale: Scale::Log10,
            ..linear(
                "replay-response", "Average response time v time", "Response time (ms)", false,
                response,
            )
        },
        linear(
            "replay-depth",
            "Outstanding I/Os (OIO) v time",
            "I/Os outstanding at issue, average",
            false,
            |step| step.times.depths.mean(),
        ),
    ]
    .iter()
    .map(|kind| time_plot(fidelity, kind))
    .collect()
}

fn time_plot(fidelity: &Fidelity, kind: &TimePlotSpec) -> Plot {
    let x = Axis::time("Time since the first I/O", TimeUnit::Seconds);
    let y = Axis::new(kind.label, kind.scale.clone());
    let caption = match fidelity.faster {
        1.0 => String::new(),
        faster => format!("The original's times are divided by {faster}."),
    };
    let [original, replay] = fidelity.sides.each_ref().map(|side| &side.steps);
    Plot::new(PlotKind::Lines, kind.id, kind.title, x, y)
        .caption(caption)
        .with(Series::new("Original", Stroke::Average, points(fidelity, original, kind)))
        .with(Series::new("Replay", Stroke::Measured, points(fidelity, replay, kind)))
}

fn points(
    fidelity: &Fidelity,
    steps: &PlottedSteps,
    kind: &TimePlotSpec,
) -> Vec<(f64, Option<f64>)> {
    let last = fidelity.sides.iter().filter_map(|side| side.steps.keys().last()).max();
    let seconds = fidelity.step_ns as f64 / 1e9;
    let value = |number: u64| {
        let value = steps.get(&number).and_then(kind.value);
        if kind.is_rate { Some(value.unwrap_or(0.0) / seconds) } else { value }
    };
    let last = last.copied().unwrap_or(0);
    (0..=last).map(|number| (number as f64 * seconds, value(number))).collect()
}

/// Returns both distributions of a value as cumulative shares.
fn cumulative(histograms: [Option<&FineHistogram>; 2], unit: f64) -> Vec<Series> {
    let names = [("Original", Stroke::Average), ("Replay", Stroke::Measured)];
    let series = names.into_iter().zip(histograms).filter_map(|((name, stroke), histogram)| {
        let histogram = histogram.filter(|histogram| histogram.total() > 0)?;
        Some(Series::new(name, stroke, shares(histogram, unit)))
    });
    series.collect()
}

fn shares(histogram: &FineHistogram, unit: f64) -> Vec<(f64, Option<f64>)> {
    let (total, mut seen) = (histogram.total() as f64, 0u64);
    let point = |(_, high, count): (Nanos, Nanos, u64)| {
        seen += count;
        (high.0 as f64 / unit, Some(seen as f64 * 100.0 / total))
    };
    histogram.buckets().map(point).collect()
}

/// Returns an empty plot of cumulative shares of I/Os.
fn distribution(id: &str, title: String, x: &str, scale: Scale) -> Plot {
    let (x, y) = (Axis::new(x, scale), Axis::new("I/Os up to this (%)", Scale::Percent));
    Plot::new(PlotKind::Lines, id, title, x, y)
}

/// Plots the inter-arrival times.
pub(super) fn gaps(number: usize, pair: &DevicePair) -> Option<Plot> {
    let gaps = pair.gaps.as_ref()?;
    let caption = if gaps.is_exact() {
        format!("Kolmogorov-Smirnov distance {:.5}, from all I/Os.", gaps.ks)
    } else {
        format!(
            "Kolmogorov-Smirnov distance {:.5} to {:.5}: too many I/Os for the exact value; \
             bounds are from histograms with buckets of 0.8 %.",
            gaps.ks, gaps.at_most
        )
    };
    let (id, title) =
        (format!("replay-gaps-{number}"), format!("Inter-arrival times of {}", devices(pair)));
    let plot = distribution(&id, title, "Time to the next I/O (ms)", Scale::Log10);
    Some(plot.caption(caption).series(cumulative(gaps.histograms.each_ref().map(Some), 1e6)))
}

/// Plots the start-time errors.
pub(super) fn start_errors(number: usize, pair: &DevicePair) -> Option<Plot> {
    let errors = Some(&pair.starts.errors).filter(|errors| errors.total() > 0)?;
    let (id, title) =
        (format!("replay-start-errors-{number}"), format!("Start-time error of {}", devices(pair)));
    let plot = distribution(&id, title, "Early or late by (ms)", Scale::Log10);
    let caption = "Each I/O is compared with the I/O of the same number in issue order. Times \
        count from the first I/O of each capture.";
    Some(plot.caption(caption).with(Series::new("Replay", Stroke::Measured, shares(errors, 1e6))))
}

/// Plots the queue depths at issue.
pub(super) fn depths(fidelity: &Fidelity) -> Option<Plot> {
    let depths = fidelity.sides.each_ref().map(|side| side.depths.as_ref());
    let series = cumulative(depths, 1.0);
    let (id, title) = ("replay-depth-distribution", "Queue depth at issue".to_owned());
    let plot = distribution(id, title, "I/Os outstanding, itself included", Scale::Log2);
    (!series.is_empty()).then(|| plot.series(series))
}
