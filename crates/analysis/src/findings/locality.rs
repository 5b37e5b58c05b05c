//! Benefit of a cache, and times until blocks are used again.

use super::tables;
use crate::columns::{ColumnValue::*, ListingColumn, ValueFormat::*};
use crate::device_layer::device_name;
use crate::questions::locality::{CachePoint, LocalityFigures};
use crate::questions::study::{SingleIoResults, Study};
use crate::sums::response::ResponseFigures;
use steadfast_domain::findings::{Axis, Exhibit, Plot, Scale, Series, Stroke, Table};
use steadfast_domain::units::Bytes;

/// Returns the miss-ratio curves of the devices and the times until their blocks are used again. A
/// sentence replaces a curve that is unknown.
pub(super) fn exhibits(study: &Study, singles: &SingleIoResults) -> Vec<Exhibit> {
    let found = || singles.locality.iter();
    let mut exhibits: Vec<Exhibit> = Vec::new();
    exhibits.extend(curves(study, singles).map(Exhibit::Plot));
    let without_curve = found().filter_map(|one| Some((one, one.lacks_curve()?)));
    exhibits.extend(without_curve.map(|(one, why)| {
        Exhibit::Text(format!("{} has no miss-ratio curve: {why}.", name(study, one)))
    }));
    if found().next().is_some() {
        exhibits.push(Exhibit::Table(samples(study, singles)));
    }
    if found().any(|one| !one.is_too_small()) {
        exhibits.push(Exhibit::Table(times(study, singles)));
    }
    exhibits
}

fn name(study: &Study, found: &LocalityFigures) -> String {
    device_name(&study.totals.conditions, found.device)
}

/// Plots the share of accesses that an LRU cache of each size misses, by device.
fn curves(study: &Study, singles: &SingleIoResults) -> Option<Plot> {
    let drawn: Vec<&LocalityFigures> =
        singles.locality.iter().filter(|one| one.lacks_curve().is_none()).collect();
    let sample = drawn.iter().map(|one| format!("{}: {}", name(study, one), one.exactness()));
    let sample = sample.collect::<Vec<String>>().join("; ");
    let error = if drawn.iter().all(|one| one.is_exact()) {
        ""
    } else {
        " A drop of an estimated curve may appear at a cache size that is wrong by up to \
             30 % (docs/trace.md)."
    };
    let plot = Plot::lines("miss-ratios",
        "Miss ratio v cache size",
        Axis::new("Cache size (MB)", Scale::Log10),
        Axis::new("Accesses missed (%)", Scale::Percent),
    )
    .caption(format!(
        "LRU cache, blocks of 4 KiB; a block's first access is a miss at every size. {sample}.{error}"
    ));
    let series = |found: &&LocalityFigures| {
        let point = |point: &CachePoint| (Bytes(point.bytes).as_mb(), Some(point.misses * 100.0));
        let points = found.shown().iter().map(point).collect();
        Series::new(name(study, found), Stroke::Measured, points)
    };
    (!drawn.is_empty()).then(|| plot.series(drawn.iter().map(series)))
}

/// Returns a table of the accesses that the figures are based on.
fn samples(study: &Study, singles: &SingleIoResults) -> Table {
    const COLUMNS: [ListingColumn<LocalityFigures>; 5] = [
        ListingColumn::shown("Accesses", Plain(0), Whole(|one| one.accesses)),
        ListingColumn::shown(
            "MB touched",
            Megabytes(2),
            MaybeReal(|one| Some(one.touched_bytes).filter(|_| !one.is_too_small())),
        ),
        ListingColumn::shown(
            "Written before %",
            Percent(1),
            MaybeReal(|one| one.overwritten.filter(|_| !one.is_too_small())),
        ),
        ListingColumn::shown("Blocks followed", Plain(0), Whole(|one| one.blocks)),
        ListingColumn::shown("% of all", Percent(3), Real(|one| one.followed_share)),
    ];
    let rows = singles.locality.iter().map(|one| (name(study, one), one.clone()));
    tables::table(["locality", "Accesses to blocks of 4 KiB", "Device"], &COLUMNS, rows)
}

/// Returns a table of the times from one access of a block to the next, and from one write to the
/// next.
fn times(study: &Study, singles: &SingleIoResults) -> Table {
    const SECONDS: fn(Option<u64>) -> Option<f64> = |ns| ns.map(|ns| ns as f64 / 1e9);
    const COLUMNS: [ListingColumn<ResponseFigures>; 5] = [
        ListingColumn::shown("Times", Plain(0), Whole(|times| times.count)),
        ListingColumn::shown("Average", Plain(6), MaybeReal(|times| SECONDS(times.mean_ns))),
        ListingColumn::shown("50 %", Plain(6), MaybeReal(|times| SECONDS(times.p50_ns))),
        ListingColumn::shown("99 %", Plain(6), MaybeReal(|times| SECONDS(times.p99_ns))),
        ListingColumn::shown("Longest", Plain(6), MaybeReal(|times| SECONDS(times.max_ns))),
    ];
    let known = singles.locality.iter().filter(|one| !one.is_too_small());
    let rows = known.flat_map(|one| {
        let name = name(study, one);
        [
            (format!("{name}, used again"), one.reuse),
            (format!("{name}, overwritten"), one.overwrite),
        ]
    });
    let title = "Times until a followed block is used again and overwritten, s";
    tables::table(["reuse-times", title, "Device"], &COLUMNS, rows)
}
