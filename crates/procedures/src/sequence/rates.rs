//! Loads that were held to a rate: what was asked, and what was reached.

use super::results::{Attempt, Measured, Results};
use crate::words::number;
use steadfast_domain::caveats as ids;
use steadfast_domain::findings::{Cell, Row, Table};
use steadfast_domain::load_words::{asked_rate_of_load, pace_text};
use steadfast_domain::stimulus::Pace;
use steadfast_domain::{Caveat, CaveatKind, SequenceLoad};

/// A rate that is missed by more than this share is disclosed. Ours.
const MISSED_BY: f64 = 0.01;

/// Standard deviations by which the count of I/Os at random times may be short by chance.
const BY_CHANCE: f64 = 3.0;

/// A load that is held to a pace, and what it reached.
struct PacedLoad {
    name: String,
    pace: String,
    /// IOPS that its pace asks for; `None` of bursts, whose rate follows from the device.
    asked: Option<f64>,
    reached: Option<f64>,
    /// Whether it reached less than it asked for, beyond chance.
    is_missed: bool,
}

fn paced_load(name: String, load: &SequenceLoad, attempt: Option<&Attempt>) -> Option<PacedLoad> {
    let pace = pace_text(load.pace, &load.streams)?;
    let asked = asked_rate_of_load(load.pace, &load.streams);
    let reached = attempt.and_then(Attempt::iops);
    let is_random = std::iter::once(&load.pace)
        .chain(load.streams.iter().filter_map(|stream| stream.pace.as_ref()))
        .any(|pace| matches!(pace, Pace::Poisson { .. }));
    let is_missed = match (asked, attempt) {
        (Some(asked), Some(attempt)) => {
            let expected = asked * attempt.elapsed.as_secs_f64();
            let chance = if is_random { BY_CHANCE / expected.max(1.0).sqrt() } else { 0.0 };
            reached.is_some_and(|reached| reached < asked * (1.0 - MISSED_BY.max(chance)))
        }
        _ => false,
    };
    Some(PacedLoad { name, pace, asked, reached, is_missed })
}

/// The paced loads of a step: the one that it has, or each of those that ran at once.
fn paced_loads(measured: &Measured<'_>) -> Vec<PacedLoad> {
    let best = measured.best();
    if measured.step.beside.is_empty() {
        let load = paced_load(measured.step.label.clone(), &measured.step.load, best);
        return load.into_iter().collect();
    }
    let attempts = best.map(|best| best.apart.as_slice()).unwrap_or_default();
    measured
        .step
        .loads()
        .enumerate()
        .filter_map(|(at, (name, load))| {
            paced_load(format!("{}: {name}", measured.step.label), load, attempts.get(at))
        })
        .collect()
}

/// What the rates of all paced loads were to be, and were; `None` where no load is paced.
pub(super) fn table(results: &Results<'_>) -> Option<Table> {
    let rows: Vec<Row> = results
        .measured
        .iter()
        .flat_map(paced_loads)
        .map(|load| {
            let share =
                load.reached.zip(load.asked).map(|(reached, asked)| reached / asked * 100.0);
            let cells = [
                Cell::text(load.pace),
                Cell::number(load.asked, 1),
                Cell::number(load.reached, 1),
                Cell::number(share, 1),
            ];
            Row::new(load.name, cells).strong(load.is_missed)
        })
        .collect();
    let columns =
        [("pace", "Pace"), ("asked", "Asked IOPS"), ("iops", "IOPS"), ("share", "% of asked")];
    let title = "Loads that were held to a pace: these rates are not the drive's speed";
    (!rows.is_empty())
        .then(|| Table::new("sequence-rates", title, "Step").columns(columns).rows(rows))
}

/// The rates that were missed.
pub(super) fn missed(results: &Results<'_>) -> Option<Caveat> {
    let missed: Vec<String> = results
        .measured
        .iter()
        .flat_map(paced_loads)
        .filter(|load| load.is_missed)
        .filter_map(|load| {
            let (asked, reached) = (load.asked?, load.reached?);
            Some(format!("{} {} of {} IOPS", load.name, number(reached, 1), number(asked, 1)))
        })
        .collect();
    (!missed.is_empty()).then(|| {
        Caveat::new(
            CaveatKind::Deviation,
            ids::RATE_MISSED,
            format!("The asked rate was not reached: {}.", missed.join("; ")),
            "The target, or this host, does not reach the rate; ask for less, or allow more \
             outstanding I/Os.",
        )
    })
}
