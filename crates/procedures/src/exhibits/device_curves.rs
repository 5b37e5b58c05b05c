//! Curves of the values that a device reports about itself: write amplification, temperature,
//! power and energy, drawn where they are known.

use super::pages::push_point;
use crate::common::attempts::measurements;
use crate::common::secondary::SecondaryMeans;
use crate::report_notation::capitalized;
use steadfast_domain::findings::{Axis, Exhibit, Marker, Plot, Scale, Series, Stroke};
use steadfast_domain::{Outcome, Record, Step};

/// Maximum number of phases whose begin is marked.
const PHASES_MARKED: usize = 10;

/// Values of a step or of a round.
#[derive(Default)]
pub(crate) struct DevicePoint {
    pub x: f64,
    /// True if the curves break before this point.
    pub breaks: bool,
    /// Flash bytes per host byte; `None` too if the counters are too coarse.
    pub amplification: Option<f64>,
    /// Temperature in degrees Celsius.
    pub temperature: Option<f64>,
    pub watts: Option<f64>,
    pub joules_per_gb: Option<f64>,
}

/// A quantity of a point: its name in the legend, its axis, and the function that reads it.
struct DeviceQuantity {
    name: &'static str,
    axis: &'static str,
    scale: Scale,
    value: fn(&DevicePoint) -> Option<f64>,
}

impl DeviceQuantity {
    fn axis(&self) -> Axis {
        Axis::new(self.axis, self.scale.clone())
    }
}

struct DevicePlot {
    /// Suffix of the ID.
    suffix: &'static str,
    title: &'static str,
    quantities: [DeviceQuantity; 2],
}

const PLOTS: [DevicePlot; 2] = [
    DevicePlot {
        suffix: "device",
        title: "Write amplification and temperature",
        quantities: [
            DeviceQuantity {
                name: "write amplification",
                axis: "Flash bytes per host byte",
                scale: Scale::Linear,
                value: |point| point.amplification,
            },
            DeviceQuantity {
                name: "temperature",
                axis: "Temperature (°C)",
                scale: Scale::LinearFitted,
                value: |point| point.temperature,
            },
        ],
    },
    DevicePlot {
        suffix: "power",
        title: "Power and energy",
        quantities: [
            DeviceQuantity {
                name: "power",
                axis: "Power (W)",
                scale: Scale::Linear,
                value: |point| point.watts,
            },
            DeviceQuantity {
                name: "energy",
                axis: "J per GB",
                scale: Scale::Linear,
                value: |point| point.joules_per_gb,
            },
        ],
    },
];

/// Plots the quantities that at least two points have, up to two in a plot. IDs begin with `id`.
pub(crate) fn device_plots(
    id: &str,
    x: &Axis,
    caption: &str,
    points: &[DevicePoint],
    markers: &[Marker],
) -> Vec<Exhibit> {
    let mut plots = Vec::new();
    for DevicePlot { suffix, title, quantities } in &PLOTS {
        let is_known = |quantity: &&DeviceQuantity| {
            points.iter().filter(|point| (quantity.value)(point).is_some()).count() > 1
        };
        let known: Vec<&DeviceQuantity> = quantities.iter().filter(is_known).collect();
        let Some(first) = known.first() else { continue };
        let title = if known.len() > 1 { (*title).to_owned() } else { capitalized(first.name) };
        let id = format!("{id}-{suffix}");
        let mut plot = Plot::lines(&id, title, x.clone(), first.axis()).caption(caption);
        for (at, quantity) in known.iter().enumerate() {
            let series = Series::new(quantity.name, Stroke::Measured, curve(points, quantity));
            plot = match at {
                0 => plot.with(series),
                _ => plot.with(series.on_right()).right(quantity.axis()),
            };
        }
        plots.push(Exhibit::Plot(plot.markers(markers.to_vec())));
    }
    plots
}

fn curve(points: &[DevicePoint], quantity: &DeviceQuantity) -> Vec<(f64, Option<f64>)> {
    let mut curve = Vec::new();
    for point in points {
        push_point(&mut curve, point.breaks, point.x, (quantity.value)(point));
    }
    curve
}

/// Plots every round of a record; empty if it has fewer than two rounds with values.
pub(crate) fn round_plots(record: &Record) -> Vec<Exhibit> {
    let steps: Vec<(&Step, &Outcome)> =
        record.steps().filter(|(step, _)| step.place.round > 0).collect();
    let rounds = steps.chunk_by(|(a, _), (b, _)| {
        (&a.place.phase, a.place.round) == (&b.place.phase, b.place.round)
    });
    let mut points = Vec::new();
    let mut markers: Vec<Marker> = Vec::new();
    for (round, x) in rounds.zip(1_u32..) {
        let x = f64::from(x);
        let phase = &round[0].0.place.phase;
        let begins = markers.last().is_none_or(|marker| marker.label != *phase);
        if begins {
            markers.push(Marker { x, label: phase.clone() });
        }
        let sensed = SecondaryMeans::new(&measurements(round));
        points.push(DevicePoint {
            x,
            breaks: begins,
            amplification: sensed.write_amplification.and_then(|found| found.value()),
            temperature: sensed.temperature_celsius,
            watts: sensed.power_milliwatts.map(|power| power / 1e3),
            joules_per_gb: sensed.joules_per_gb,
        });
    }
    let (axis, several) = match markers.len() {
        0 | 1 => ("Round", ""),
        2..=PHASES_MARKED => ("Rounds of all phases", " Marked: where a phase begins."),
        _ => ("Rounds of all phases", " The curves break where a phase begins."),
    };
    if several.is_empty() || markers.len() > PHASES_MARKED {
        markers.clear();
    }
    let caption = format!(
        "As the device reports it, means of each round's steps. A round in which the counters \
         are too coarse has no write amplification.{several}"
    );
    device_plots("rounds", &Axis::new(axis, Scale::Integers), &caption, &points, &markers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::scripted::{applied, record, write_step};
    use steadfast_domain::measurement::LogDelta;
    use steadfast_domain::{Bytes, JournalEntry, Measurement, Nanos, Settings};

    /// Two steps of a round whose flash bytes are `flash` times the host's.
    fn round(phase: &str, round: u32, flash: u64, unit: u64) -> Vec<JournalEntry> {
        let entry = |point| {
            let mut measurement = Measurement { elapsed: Nanos::SECOND, ..Measurement::default() };
            measurement.sensed.temperature_celsius = Some(40.0 + f64::from(round));
            measurement.sensed.log = Some(LogDelta {
                host_written: Some(Bytes(1_000_000)),
                nand_written: Some(Bytes(1_000_000 * flash)),
                host_unit: Some(Bytes(unit)),
                nand_unit: Some(Bytes(unit)),
                ..LogDelta::default()
            });
            applied(write_step(phase, round, point), measurement)
        };
        vec![entry(1), entry(2)]
    }

    fn plots(entries: Vec<JournalEntry>) -> Vec<Plot> {
        let exhibits = round_plots(&record(&Settings::new("iops", 1), entries));
        let plot = |exhibit| match exhibit {
            Exhibit::Plot(plot) => plot,
            other => panic!("{other:?}"),
        };
        exhibits.into_iter().map(plot).collect()
    }

    #[test]
    fn every_round_has_a_point_and_a_phase_breaks_the_curve() {
        let rounds = [round("a", 1, 2, 1), round("a", 2, 3, 1), round("b", 1, 4, 1 << 20)];
        let found = plots(rounds.concat());
        assert_eq!(found.len(), 1, "no power is known");
        let plot = &found[0];
        assert_eq!((plot.id.as_str(), plot.series.len()), ("rounds-device", 2));
        let amplified = [(1.0, Some(2.0)), (2.0, Some(3.0)), (3.0, None), (3.0, None)];
        assert_eq!(plot.series[0].points, amplified, "the last is too coarse");
        let warm = [(1.0, Some(41.0)), (2.0, Some(42.0)), (3.0, None), (3.0, Some(41.0))];
        assert_eq!(plot.series[1].points, warm);
        let marked: Vec<(f64, &str)> =
            plot.markers.iter().map(|marker| (marker.x, marker.label.as_str())).collect();
        assert_eq!(marked, [(1.0, "a"), (3.0, "b")]);
        assert!(plots(round("a", 1, 2, 1)).is_empty(), "one round is no curve");
        assert!(plots([round("a", 0, 2, 1), round("b", 0, 2, 1)].concat()).is_empty());
        assert!(plots([round("a", 1, 2, 1), round("a", 2, 2, 1)].concat())[0].markers.is_empty());
    }
}
