//! Overlaid plots: one drawing per series, with one line per run.

use super::side::{ComparedRun, common_title};
use crate::page_one;
use steadfast_domain::Findings;
use steadfast_domain::findings::{Axis, Exhibit, Plot, PlotKind, Series, Stroke, TimeUnit};

/// Names of the series that readers look for first. Series of a matrix are named by percent of
/// reads and writes.
const LOOKED_FOR: [&[&str]; 5] = [
    &["RND 4K W", "0/100"],
    &["RND 4K R", "100/0"],
    &["RND 4K RW65", "65/35"],
    &["SEQ 128K W"],
    &["SEQ 128K R"],
];

/// Drawings of a comparison, and the titles of those that did not fit.
#[derive(Default)]
pub(super) struct Overlays {
    pub drawn: Vec<Plot>,
    pub left_out: Vec<String>,
}

/// Overlays the plots that at least two runs have, at most `room` drawings. First come one drawing
/// per load in [`LOOKED_FOR`] and the first series of every other plot, then their second series,
/// each in order of importance.
pub(super) fn overlaid(sides: &[ComparedRun<'_>], room: usize) -> Overlays {
    let plots: Vec<Vec<&Plot>> = sides.iter().map(plots_of_run).collect();
    let mut of_plots: Vec<Vec<(String, Plot)>> = Vec::new();
    let mut done: Vec<&str> = Vec::new();
    for plot in plots.iter().flatten() {
        if done.contains(&plot.id.as_str()) || plot.kind == PlotKind::HeatMap {
            continue;
        }
        done.push(&plot.id);
        // A flat plot shows the same series as columns in perspective.
        if plot.kind == PlotKind::Columns3d && sides.iter().any(|side| has_flat(side, plot)) {
            continue;
        }
        let same: Vec<Option<&Plot>> = plots
            .iter()
            .map(|plots| plots.iter().find(|other| other.id == plot.id).copied())
            .map(|other| other.filter(|other| other.x.scale == plot.x.scale))
            .collect();
        if same.iter().flatten().count() > 1 {
            of_plots.push(overlays(sides, plot, &same));
        }
    }
    let mut drawn = [0; LOOKED_FOR.len()];
    let mut order: Vec<(usize, usize, usize, usize)> = Vec::new();
    for (plot, overlays) in of_plots.iter().enumerate() {
        for (nth, (key, _)) in overlays.iter().enumerate() {
            let load = LOOKED_FOR.iter().position(|names| names.contains(&key.as_str()));
            let turn = load.map_or(nth, |load| {
                drawn[load] += 1;
                drawn[load] - 1
            });
            order.push((turn, load.unwrap_or(LOOKED_FOR.len()), plot, nth));
        }
    }
    order.sort_unstable();
    let chosen = &order[..order.len().min(room)];
    let mut all = Overlays::default();
    for (at, overlays) in of_plots.into_iter().enumerate() {
        for (nth, (_, overlay)) in overlays.into_iter().enumerate() {
            if chosen.iter().any(|(_, _, plot, own)| (*plot, *own) == (at, nth)) {
                all.drawn.push(overlay);
            } else {
                all.left_out.push(overlay.title);
            }
        }
    }
    all
}

/// Returns a run's plots: those on page one first.
fn plots_of_run<'a>(side: &ComparedRun<'a>) -> Vec<&'a Plot> {
    let Some(findings) = side.findings else { return Vec::new() };
    let mut plots = page_one::own_plots(findings);
    plots.extend(findings.pages().flat_map(|page| plots_of(&page.exhibits)));
    plots
}

fn plots_of(exhibits: &[Exhibit]) -> Vec<&Plot> {
    exhibits.iter().filter_map(Exhibit::as_plot).collect()
}

/// Returns true if a run has a flat plot of the same series.
fn has_flat(side: &ComparedRun<'_>, plot: &Plot) -> bool {
    let pages = side.findings.into_iter().flat_map(Findings::pages);
    let mut plots = pages.flat_map(|page| plots_of(&page.exhibits));
    plots.any(|other| other.kind == PlotKind::Lines && ids(other) == ids(plot))
}

fn ids(plot: &Plot) -> Vec<&str> {
    measured(plot).map(|series| series.id.as_str()).collect()
}

/// Returns the measured series that form a line. Excludes counts of a histogram and single points.
fn measured(plot: &Plot) -> impl Iterator<Item = &Series> {
    let is_line = |series: &&Series| {
        series.points.len() != 1 && (series.right || plot.kind != PlotKind::Histogram)
    };
    let is_measured = |series: &&Series| series.stroke == Stroke::Measured;
    let any = plot.series.iter().any(|series| is_measured(&series));
    let other =
        move |series: &&Series| !any && matches!(series.stroke, Stroke::Average | Stroke::Context);
    plot.series.iter().filter(move |s| is_line(s) && (is_measured(s) || other(s)))
}

/// Returns one drawing per series with a line per run, with the name of the series.
fn overlays(
    sides: &[ComparedRun<'_>],
    first: &Plot,
    plots: &[Option<&Plot>],
) -> Vec<(String, Plot)> {
    let mut keys: Vec<&Series> = Vec::new();
    for series in plots.iter().flatten().flat_map(|plot| measured(plot)) {
        if !keys.iter().any(|key| is_same(key, series)) {
            keys.push(series);
        }
    }
    // If every plot has one series, they are compared whatever their names.
    let alone = plots.iter().flatten().all(|plot| measured(plot).count() == 1);
    if alone {
        keys.truncate(1);
    }
    let drawn = keys.iter().enumerate();
    let of_key = |(number, key): (usize, &&Series)| {
        (key.id.clone(), overlay(sides, first, plots, key, (number, alone)))
    };
    drawn.map(of_key).collect()
}

fn overlay(
    sides: &[ComparedRun<'_>],
    first: &Plot,
    plots: &[Option<&Plot>],
    key: &Series,
    (number, alone): (usize, bool),
) -> Plot {
    let axis = |plot: &Plot| -> Axis {
        plot.y_right.as_ref().filter(|_| key.right).unwrap_or(&plot.y).clone()
    };
    let kind = match first.kind {
        PlotKind::Scatter => PlotKind::Scatter,
        _ => PlotKind::Lines,
    };
    let of_all = common_title(plots.iter().flatten().map(|plot| plot.title.as_str()));
    let of_all = of_all.unwrap_or_else(|| first.id.clone());
    let (id, title) = if alone {
        (first.id.clone(), of_all)
    } else {
        (format!("{}-{}", first.id, number + 1), format!("{of_all} - {}", key.name))
    };
    let mut plot = Plot::new(kind, &id, &title, across(first, plots), axis(first));
    for (side, of_run) in sides.iter().zip(plots) {
        let series =
            of_run.and_then(|plot| measured(plot).find(|series| alone || is_same(series, key)));
        let points = series.map(|series| series.points.clone()).unwrap_or_default();
        // Every run is in the legend, so that each keeps its look.
        let line = Series::new(side.letter.to_string(), Stroke::Measured, points);
        plot.series.push(line.with_id(side.name.clone()));
    }
    let limits = common(plots, key.right);
    plot.caption = caption(!limits.is_empty());
    plot.series.extend(limits.into_iter().cloned());
    plot
}

/// Returns the x-axis of the first run; runs at different times have no common clock.
fn across(first: &Plot, plots: &[Option<&Plot>]) -> Axis {
    let same = plots.iter().flatten().all(|plot| plot.x.clock == first.x.clock);
    if same {
        first.x.clone()
    } else {
        Axis::time("Time since the beginning", first.x.time.unwrap_or(TimeUnit::Seconds))
    }
}

/// Returns the caption of the overlay. Captions of the runs may mention bands and averages that it
/// omits.
fn caption(limits: bool) -> String {
    if limits { "Dashed: limits that are the same in all runs.".to_owned() } else { String::new() }
}

/// Returns series that are not measured and equal in all runs: limits.
fn common<'a>(plots: &[Option<&'a Plot>], right: bool) -> Vec<&'a Series> {
    let mut there = plots.iter().flatten();
    let Some(first) = there.next() else { return Vec::new() };
    let rest: Vec<&&Plot> = there.collect();
    let lines = first.series.iter().filter(|s| s.stroke == Stroke::Limit && s.right == right);
    let has = |plot: &Plot, line: &Series| {
        plot.series.iter().any(|other| is_same(other, line) && other.points == line.points)
    };
    lines.filter(|line| rest.iter().all(|plot| has(plot, line))).collect()
}

/// Returns true if two series of different runs show the same quantity.
fn is_same(one: &Series, other: &Series) -> bool {
    (&one.id, one.right, one.stroke) == (&other.id, other.right, other.stroke)
}
