//! Selects the exhibits for the users of one tool.

use super::results::{Attempt, MeasuredStep, SequenceResults, ToolExhibits};
use super::{atto, crystaldiskmark, four_corners, iometer};
use crate::presets::four_corners::TOOL;
use steadfast_domain::findings::{Exhibit, KeyFigure, Plot, PlotKind};
use steadfast_domain::load_words::pace_text;
use steadfast_domain::{Sequence, SequenceStep};

/// Returns the exhibits for the users of a tool; `None` if it has none of its own. The first
/// exhibit is also part of the summary.
pub(super) fn tool_exhibits(
    sequence: &Sequence,
    results: &SequenceResults<'_>,
) -> Option<ToolExhibits> {
    match sequence.tool.as_str() {
        "atto" => Some(atto::exhibits(results)),
        "crystaldiskmark" => Some(crystaldiskmark::exhibits(results)),
        "iometer" => Some(iometer::exhibits(results)),
        TOOL => Some(four_corners::exhibits(results)),
        _ => None,
    }
}

/// Returns the figures of page one: those that the tool is known for, or the rate of the best
/// attempt at each of the first steps.
pub(super) fn key_figures(sequence: &Sequence, results: &SequenceResults<'_>) -> Vec<KeyFigure> {
    const STEPS: usize = 8;
    match sequence.tool.as_str() {
        TOOL => return four_corners::key_figures(results),
        "atto" => return atto::key_figures(results),
        _ => {}
    }
    let figure = |measured: &MeasuredStep<'_>| {
        let rate = measured.best().and_then(Attempt::mb_per_second);
        // A rate limit says nothing about the speed of the drive, so the label names the pace.
        let pace = pace_suffix(measured.step).unwrap_or_default();
        let best = match measured.step.attempts() {
            1 => String::new(),
            all => format!(", best of {all}"),
        };
        let label = format!("{}{pace}{best}", measured.step.label);
        KeyFigure::new(&format!("{}-rate", measured.step.label), label, rate, "MB/s")
    };
    // In a comparison of different files, only steps of the same name are the same figure.
    results.measured.iter().take(STEPS).map(figure).collect()
}

/// Returns the paces of the loads of a step as the end of a label; `None` if no load has a pace.
pub(super) fn pace_suffix(step: &SequenceStep) -> Option<String> {
    let paces: Vec<Option<String>> = step.loads().map(|(_, load)| pace_text(&load.pace)).collect();
    paces.iter().any(Option::is_some).then(|| {
        let paces = paces.into_iter().map(|pace| pace.unwrap_or_else(|| "no rate".to_owned()));
        format!(", held to {}", paces.collect::<Vec<_>>().join(" + "))
    })
}

/// Returns the IDs of the plots of page one: the first two of the tool.
pub(super) fn front_plot_ids(form: Option<&ToolExhibits>) -> Vec<String> {
    const PLOTS: usize = 2;
    let exhibits = form.iter().flat_map(|form| &form.exhibits);
    let plots: Vec<&Plot> = exhibits.filter_map(Exhibit::as_plot).collect();
    let in_perspective = plots.first().is_some_and(|plot| plot.kind == PlotKind::Columns3d);
    let count = if in_perspective { 1 } else { PLOTS };
    plots.into_iter().take(count).map(|plot| plot.id.clone()).collect()
}
