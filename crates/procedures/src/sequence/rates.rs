//! Loads with a pace: the requested and the reached rate.

use super::results::{Attempt, MeasuredStep, SequenceResults};
use crate::exhibits::typed_table::{TypedColumn, typed_row, typed_table};
use crate::report_notation::number;
use steadfast_domain::findings::{Cell, Table};
use steadfast_domain::load_words::pace_text;
use steadfast_domain::stimulus::Pace;
use steadfast_domain::{Caveat, SequenceLoad, caveats as ids};

/// Share of the requested rate that may be missing before it is disclosed: our choice.
const MISSED_BY: f64 = 0.01;

/// Standard deviations by which the number of I/Os at random times may be too low by chance.
const BY_CHANCE: f64 = 3.0;

/// A load with a pace, and the rate that it reached.
struct PacedLoad {
    name: String,
    pace: String,
    /// IOPS that the pace asks for; `None` for bursts, whose rate depends on the device.
    requested: Option<f64>,
    reached: Option<f64>,
    /// True if the reached rate is too low beyond tolerance and chance.
    is_missed: bool,
}

fn paced_load(name: String, load: &SequenceLoad, attempt: Option<&Attempt>) -> Option<PacedLoad> {
    let pace = pace_text(&load.pace)?;
    let requested = load.pace.offered_iops();
    let reached = attempt.and_then(Attempt::iops);
    let is_random =
        matches!(load.pace, Pace::Poisson { .. } | Pace::Empirical(_) | Pace::ByStream(_));
    let is_missed = match (requested, attempt) {
        (Some(requested), Some(attempt)) => {
            let expected = requested * attempt.elapsed.as_secs_f64();
            let chance = if is_random { BY_CHANCE / expected.max(1.0).sqrt() } else { 0.0 };
            reached.is_some_and(|reached| reached < requested * (1.0 - MISSED_BY.max(chance)))
        }
        _ => false,
    };
    Some(PacedLoad { name, pace, requested, reached, is_missed })
}

/// Returns the paced loads of a step: its only load, or those of the loads that ran at once.
fn paced_loads(measured: &MeasuredStep<'_>) -> Vec<PacedLoad> {
    let best = measured.best();
    if measured.step.concurrent.is_empty() {
        let load = paced_load(measured.step.label.clone(), &measured.step.load, best);
        return load.into_iter().collect();
    }
    let attempts = best.map(|best| best.loads.as_slice()).unwrap_or_default();
    measured
        .step
        .loads()
        .enumerate()
        .filter_map(|(at, (name, load))| {
            paced_load(format!("{}: {name}", measured.step.label), load, attempts.get(at))
        })
        .collect()
}

const RATES: [TypedColumn<PacedLoad>; 4] = [
    TypedColumn::cell("Pace", |load: &PacedLoad| Cell::text(load.pace.clone())).with_id("pace"),
    TypedColumn::number("Asked IOPS", 1, |load: &PacedLoad| load.requested).with_id("asked"),
    TypedColumn::number("IOPS", 1, |load: &PacedLoad| load.reached).with_id("iops"),
    TypedColumn::number("% of asked", 1, |load: &PacedLoad| {
        Some(load.reached? / load.requested? * 100.0)
    })
    .with_id("share"),
];

/// Returns the table of requested and reached rates of all paced loads; `None` if no load is paced.
pub(super) fn rates_table(results: &SequenceResults<'_>) -> Option<Table> {
    let loads: Vec<PacedLoad> = results.measured.iter().flat_map(paced_loads).collect();
    let rows =
        loads.iter().map(|load| typed_row(load.name.clone(), &RATES, load).strong(load.is_missed));
    let title = "Loads that were held to a pace: these rates are not the drive's speed";
    (!loads.is_empty()).then(|| typed_table("sequence-rates", title, "Step", &RATES).rows(rows))
}

/// Returns a caveat on the rates that were missed; `None` if there are none.
pub(super) fn missed_rates_caveat(results: &SequenceResults<'_>) -> Option<Caveat> {
    let measured = results.measured.iter();
    let missed: Vec<String> = measured
        .flat_map(paced_loads)
        .filter(|load| load.is_missed)
        .filter_map(|load| {
            let (requested, reached) = (load.requested?, load.reached?);
            Some(format!("{} {} of {} IOPS", load.name, number(reached, 1), number(requested, 1)))
        })
        .collect();
    (!missed.is_empty()).then(|| {
        Caveat::deviation(
            ids::RATE_MISSED,
            format!("The asked rate was not reached: {}.", missed.join("; ")),
            "The target, or this host, does not reach the rate; ask for less, or allow more \
             outstanding I/Os.",
        )
    })
}
