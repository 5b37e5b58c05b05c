//! Overlaid plots: one drawing per series, with one line per run.

use super::side::{ComparedRun, common_title};
use crate::grouping::unique_by;
use crate::page_one::{self, PREFERRED_LOADS};
use steadfast_domain::Findings;
use steadfast_domain::findings::{Axis, Exhibit, Plot, PlotKind, Series, Stroke, TimeUnit};

/// Drawings of a comparison, and the titles of those that did not fit.
#[derive(Default)]
pub(super) struct Overlays {
    pub drawn: Vec<Plot>,
    pub left_out: Vec<String>,
}

/// A drawing of one series, with one line per run.
struct SeriesOverlay {
    /// ID of the series.
    series: String,
    plot: Plot,
}

/// Rank of an overlay; the lowest are drawn.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct OverlayRank {
    /// Number of overlays that its load, or else its plot, has before it.
    turn: usize,
    /// Index into [`PREFERRED_LOADS`]; its length for other loads.
    load: usize,
    plot: usize,
    /// Index among the overlays of the plot.
    series: usize,
}

/// Overlays the plots that at least two runs have, at most `max` drawings. First come one drawing
/// per load in [`PREFERRED_LOADS`] and the first series of every other plot, then their second series,
/// each in order of importance.
pub(super) fn overlaid(sides: &[ComparedRun<'_>], max: usize) -> Overlays {
    let plots: Vec<Vec<&Plot>> = sides.iter().map(plots_of_run).collect();
    let mut overlays_by_plot: Vec<Vec<SeriesOverlay>> = Vec::new();
    let drawable = plots.iter().flatten().filter(|plot| plot.kind != PlotKind::HeatMap);
    for plot in unique_by(drawable, |one, other| one.id == other.id) {
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
            overlays_by_plot.push(overlays(sides, plot, &same));
        }
    }
    let mut overlays_of_load = [0; PREFERRED_LOADS.len()];
    let mut ranks: Vec<OverlayRank> = Vec::new();
    for (plot, overlays) in overlays_by_plot.iter().enumerate() {
        for (series, overlay) in overlays.iter().enumerate() {
            let id = overlay.series.as_str();
            let load = PREFERRED_LOADS.iter().position(|names| names.contains(&id));
            let turn = load.map_or(series, |load| {
                overlays_of_load[load] += 1;
                overlays_of_load[load] - 1
            });
            let load = load.unwrap_or(PREFERRED_LOADS.len());
            ranks.push(OverlayRank { turn, load, plot, series });
        }
    }
    ranks.sort_unstable();
    ranks.truncate(max);
    let mut all = Overlays::default();
    for (plot, overlays) in overlays_by_plot.into_iter().enumerate() {
        for (series, overlay) in overlays.into_iter().enumerate() {
            if ranks.iter().any(|rank| rank.plot == plot && rank.series == series) {
                all.drawn.push(overlay.plot);
            } else {
                all.left_out.push(overlay.plot.title);
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
) -> Vec<SeriesOverlay> {
    let series = plots.iter().flatten().flat_map(|plot| measured(plot));
    let mut keys = unique_by(series, |one, other| is_same(one, other));
    // If every plot has one series, they are compared whatever their names.
    let alone = plots.iter().flatten().all(|plot| measured(plot).count() == 1);
    if alone {
        keys.truncate(1);
    }
    let common_title = common_title(plots.iter().flatten().map(|plot| plot.title.as_str()));
    let common_title = common_title.unwrap_or_else(|| first.id.clone());
    let mut overlays = Vec::new();
    for (number, key) in (1u32..).zip(keys) {
        let (id, title) = if alone {
            (first.id.clone(), common_title.clone())
        } else {
            (format!("{}-{number}", first.id), format!("{common_title} - {}", key.name))
        };
        let is_key = |series: &Series| alone || is_same(series, key);
        let overlay = overlay(sides, first, plots, key.right, is_key);
        let plot = Plot { id, title, ..overlay };
        overlays.push(SeriesOverlay { series: key.id.clone(), plot });
    }
    overlays
}

/// Returns a drawing of one series, without ID and title.
fn overlay(
    sides: &[ComparedRun<'_>],
    first: &Plot,
    plots: &[Option<&Plot>],
    right: bool,
    is_key: impl Fn(&Series) -> bool,
) -> Plot {
    let y = first.y_right.as_ref().filter(|_| right).unwrap_or(&first.y).clone();
    let kind = match first.kind {
        PlotKind::Scatter => PlotKind::Scatter,
        _ => PlotKind::Lines,
    };
    let mut plot = Plot::new(kind, "", "", across(first, plots), y);
    for (side, of_run) in sides.iter().zip(plots) {
        let series = of_run.and_then(|plot| measured(plot).find(|series| is_key(series)));
        let points = series.map(|series| series.points.clone()).unwrap_or_default();
        // Every run is in the legend, so that each keeps its look.
        let line = Series::new(side.letter.to_string(), Stroke::Measured, points);
        plot.series.push(line.with_id(side.name.clone()));
    }
    let limits = common_limits(plots, right);
    // Captions of the runs may mention bands and averages that the overlay omits.
    if !limits.is_empty() {
        plot.caption = "Dashed: limits that are the same in all runs.".to_owned();
    }
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

fn common_limits<'a>(plots: &[Option<&'a Plot>], right: bool) -> Vec<&'a Series> {
    let mut present = plots.iter().flatten();
    let Some(first) = present.next() else { return Vec::new() };
    let rest: Vec<&&Plot> = present.collect();
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
