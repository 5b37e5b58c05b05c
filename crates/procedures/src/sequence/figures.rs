//! The exhibits that users of one tool look for.

use super::results::{Attempt, Figures, Measured, Results};
use super::{atto, crystaldiskmark, iometer, viking};
use crate::presets::viking::TOOL;
use steadfast_domain::Sequence;
use steadfast_domain::findings::{Exhibit, KeyFigure};
use steadfast_domain::load_words::pace_text;

/// What a tool's users look for first; nothing where the tool has no form of its own. The
/// first exhibit stands in the summary, too.
pub(super) fn of(sequence: &Sequence, results: &Results<'_>) -> Option<Figures> {
    match sequence.tool.as_str() {
        "atto" => Some(atto::figures(results)),
        "crystaldiskmark" => Some(crystaldiskmark::figures(results)),
        "iometer" => Some(iometer::figures(results)),
        TOOL => Some(viking::figures(results)),
        _ => None,
    }
}

/// The numbers of page one: what the tool is known for, or the rate of each of the first steps,
/// as its best attempt had it.
pub(super) fn key(sequence: &Sequence, results: &Results<'_>) -> Vec<KeyFigure> {
    const STEPS: usize = 8;
    match sequence.tool.as_str() {
        TOOL => return viking::key(results),
        "atto" => return atto::key(results),
        _ => {}
    }
    let figure = |measured: &Measured<'_>| {
        let rate = measured.best().and_then(Attempt::mb_per_second);
        let load = &measured.step.load;
        // A rate that was asked for is not what the drive can do.
        let pace = pace_text(load.pace, &load.streams);
        let pace = pace.map(|pace| format!(", held to {pace}")).unwrap_or_default();
        let best = match measured.step.attempts() {
            1 => String::new(),
            all => format!(", best of {all}"),
        };
        let label = format!("{}{pace}{best}", measured.step.label);
        KeyFigure::new(&format!("{}-rate", measured.step.label), label, rate, "MB/s")
    };
    // Of two runs of different files only steps of one name are the same figure.
    results.measured.iter().take(STEPS).map(figure).collect()
}

/// The ids of the plots of page one: the tool's first two.
pub(super) fn plots(figures: Option<&Figures>) -> Vec<String> {
    const PLOTS: usize = 2;
    let exhibits = figures.iter().flat_map(|(_, exhibits)| exhibits);
    let plots = exhibits.filter_map(|exhibit| match exhibit {
        Exhibit::Plot(plot) => Some(plot.id.clone()),
        _ => None,
    });
    plots.take(PLOTS).collect()
}
