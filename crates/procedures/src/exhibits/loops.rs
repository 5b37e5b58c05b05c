//! Exhibits of a loop of rounds: steady-state window, tracking variables and ending.

use super::pages::{page, rounds_axis};
use crate::common::choices::RunChoices;
use crate::common::results::LoopResults;
use crate::common::rounds::{MixedLoop, RoundValues};
use crate::exhibits::disclosure;
use crate::report_notation::{
    count_word, decimals, joined, number, rounds_text, slug, steady_rounds,
};
use std::ops::RangeInclusive;
use steadfast_domain::findings::{
    Axis, Cell as TableCell, Column, Exhibit, Facts, Origin, Page, Plot, Row, Scale, Series,
    Setting, Stroke, Table,
};
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::steady_state::TrackVerdict;
use steadfast_domain::{Caveat, Criteria, Record, Verdict, caveats as ids};

pub(crate) fn rounds_ending(record: &Record, results: &LoopResults, rounds_max: u32) -> String {
    let rounds = results.rounds.len();
    if !record.has_ended() {
        return format!("The run is not finished: {rounds} rounds are complete.");
    }
    match steady_rounds(&results.verdict) {
        Some(steady) => format!("Steady state in {steady} of {rounds}."),
        None => format!(
            "Steady state NOT achieved in {rounds} rounds (at most {rounds_max} were allowed)."
        ),
    }
}

/// Remedy for missing steady state in rounds that other steps follow in the journal.
pub(crate) const NOT_STEADY_EARLIER: &str = "Repeat the run with a larger --max-rounds. The \
    journal already holds later steps, so these rounds cannot be resumed.";

/// Returns the caveat of rounds that ended without steady state, or `None` while the run continues.
/// `loop_suffix` names the loop if a test has several: ` of SEQ 128K`.
pub(crate) fn not_steady(
    loop_suffix: &str,
    record: &Record,
    results: &LoopResults,
) -> Option<Caveat> {
    if results.verdict.steady || !record.has_ended() {
        return None;
    }
    let reported = rounds_text(&results.reported);
    Some(Caveat::invalidates(
        ids::STEADY_STATE_NOT_ACHIEVED,
        format!("STEADY STATE NOT ACHIEVED{loop_suffix}: the values are those of {reported}."),
        "Continue with `steadfast resume RUN_DIR --max-rounds N`.",
    ))
}

pub(crate) fn tracking_table(id: &str, verdict: &Verdict) -> Table {
    let unit = unit_of(verdict);
    let average = format!("Average {unit}");
    let columns = [
        average.trim_end(),
        "Data excursion",
        "Data allowed",
        "Slope excursion",
        "Slope allowed",
        "Steady",
    ];
    let decimals = decimals(unit);
    let rows = verdict.tracks.iter().map(|track| {
        Row::new(
            track.name.clone(),
            [
                TableCell::number(Some(track.average), decimals),
                TableCell::number(Some(track.data_excursion), decimals),
                TableCell::number(Some(track.data_excursion_allowed), decimals),
                TableCell::number(Some(track.slope_excursion), decimals),
                TableCell::number(Some(track.slope_excursion_allowed), decimals),
                TableCell::text(if track.steady { "yes" } else { "NO" }),
            ],
        )
    });
    Table::new(id, "Steady-state variables in the measurement window", "Variable")
        .columns(columns)
        .rows(rows)
}

pub(crate) fn is_in_window(verdict: &Verdict, round: u32) -> bool {
    verdict.window.is_some_and(|(first, last)| (first..=last).contains(&round))
}

/// Returns the common unit of a verdict's variables; empty without a window.
fn unit_of(verdict: &Verdict) -> &str {
    verdict.tracks.first().map_or("", |track| track.unit.as_str())
}

/// Returns the text shown without a measurement window.
pub(crate) fn no_window(criteria: &Criteria) -> Exhibit {
    Exhibit::Text(format!(
        "There is no measurement window: fewer than {} rounds without a gap are complete.",
        count_word(criteria.window)
    ))
}

/// Plots all tracking variables in percent of their average in the window.
pub(crate) fn measurement_window(verdict: &Verdict) -> Vec<Exhibit> {
    let Some((first, last)) = verdict.window else { return vec![no_window(&verdict.criteria)] };
    let series = verdict.tracks.iter().map(|track| {
        let points = (first..=last)
            .zip(&track.values)
            .map(|(round, value)| (f64::from(round), Some(value / track.average * 100.0)));
        Series::new(track.name.clone(), Stroke::Measured, points.collect())
    });
    let plot = Plot::lines(
        "measurement-window",
        format!("Measurement window: rounds {first} to {last}"),
        rounds_axis(),
        Axis::new("% of window average", Scale::LinearFitted),
    )
    .caption(
        "Each tracking variable as a percentage of its average in the window; all must meet the \
         criteria in the same window.",
    )
    .series(series)
    .with(level_line("110 % average", Stroke::Limit, &(first..=last), 110.0))
    .with(level_line("90 % average", Stroke::Limit, &(first..=last), 90.0));
    vec![Exhibit::Plot(plot), Exhibit::Table(window_values(verdict, first, last))]
}

fn level_line(name: &str, stroke: Stroke, rounds: &RangeInclusive<u32>, level: f64) -> Series {
    let ends = [*rounds.start(), *rounds.end()];
    let points = ends.map(|round| (f64::from(round), Some(level))).to_vec();
    Series::new(name, stroke, points)
}

fn window_values(verdict: &Verdict, first: u32, last: u32) -> Table {
    let unit = unit_of(verdict);
    let mut columns: Vec<String> = (first..=last).map(|round| format!("Round {round}")).collect();
    columns.push("Average".into());
    let rows = verdict.tracks.iter().map(|track| {
        Row::new(
            track.name.clone(),
            track
                .values
                .iter()
                .chain([&track.average])
                .map(|value| TableCell::number(Some(*value), decimals(unit))),
        )
    });
    let title = format!("{unit} of the tracking variables in the measurement window");
    Table::new("window-values", title, "Variable").columns(columns).rows(rows)
}

/// Returns the steady-state window of one variable: plot and evidence.
pub(crate) fn window_exhibits(verdict: &Verdict, track: &TrackVerdict) -> Vec<Exhibit> {
    vec![Exhibit::Plot(window_plot(verdict, track)), Exhibit::Facts(window_facts(verdict, track))]
}

/// Returns the steady-state window of the first variable, or the text shown without a window.
pub(crate) fn first_window(verdict: &Verdict) -> Vec<Exhibit> {
    match verdict.tracks.first() {
        Some(track) => window_exhibits(verdict, track),
        None => vec![no_window(&verdict.criteria)],
    }
}

/// Returns the form's steady-state window plot with its five series (PTS 2.0.2; docs/methods.md).
pub(crate) fn window_plot(verdict: &Verdict, track: &TrackVerdict) -> Plot {
    let (first, last) = verdict.window.unwrap_or((0, 0));
    let rounds = first..=last;
    let half = verdict.criteria.data_excursion / 2.0;
    let measured = rounds
        .clone()
        .zip(&track.values)
        .map(|(round, value)| (f64::from(round), Some(*value)))
        .collect();
    let fit = [first, last].map(|round| {
        let x = f64::from(round);
        (x, Some(track.intercept + track.slope * x))
    });
    let band = |part: f64| {
        let name = format!("{:.0} % average", part * 100.0);
        level_line(&name, Stroke::Limit, &rounds, track.average * part)
    };
    Plot::lines(
        &format!("window-{}", slug(&track.name)),
        format!("Steady State Verification - {}", track.name),
        rounds_axis(),
        Axis::new(&track.unit, Scale::LinearFitted),
    )
    .caption(format!(
        "Measured values ({}), the {:.0} % band around their average, and the line of best fit.",
        track.unit,
        verdict.criteria.data_excursion * 100.0
    ))
    .with(Series::new(track.name.clone(), Stroke::Measured, measured))
    .with(level_line("Average", Stroke::Average, &rounds, track.average))
    .with(band(1.0 + half))
    .with(band(1.0 - half))
    .with(Series::new("Slope (best linear fit)", Stroke::Fit, fit.to_vec()))
}

/// Returns the evidence that the standard requires (PTS 2.0.2; docs/methods.md).
pub(crate) fn window_facts(verdict: &Verdict, track: &TrackVerdict) -> Facts {
    let decimals = usize::from(decimals(&track.unit));
    let text = |value: f64| number(value, decimals);
    let values: Vec<String> = track.values.iter().map(|value| text(*value)).collect();
    let allowed = |what: &str, part: f64| {
        format!("Allowed {what} excursion ({:.0} % of average)", part * 100.0)
    };
    let criteria = &verdict.criteria;
    // Two more digits than the values have, so that small slopes do not print as 0.
    let digits = decimals + 2;
    let row = |label: &str, value: String| Setting::outcome(label, value);
    let (slope, intercept) = (number(track.slope, digits), number(track.intercept, digits));
    let fit = format!("{slope} × R + {intercept}").replace('-', "−");
    let correlation = track.correlation.map(|r| format!("{r:.4}").replace('-', "−"));
    Facts::new(format!("Steady-state evidence: {}", track.name)).rows([
        row("Values", values.join("  ")),
        row("Average", text(track.average)),
        row(&allowed("data", criteria.data_excursion), text(track.data_excursion_allowed)),
        row("Measured data excursion", text(track.data_excursion)),
        row(&allowed("slope", criteria.slope_excursion), text(track.slope_excursion_allowed)),
        row("Measured slope excursion", text(track.slope_excursion)),
        row("Least-squares fit", fit),
        Setting::outcome("Correlation coefficient", correlation),
        Setting::outcome("Steady", if track.steady { "yes" } else { "NO" }),
    ])
}

pub(crate) struct ConvergencePlot<'a> {
    pub id: &'a str,
    pub title: &'a str,
    pub caption: &'a str,
    pub y: Axis,
    /// Points to draw, one line each.
    pub points: &'a [AccessPattern],
}

/// Plots values of a loop's points by round; a void round breaks the line.
pub(crate) fn convergence(
    plot: ConvergencePlot<'_>,
    mixed_loop: &MixedLoop,
    rounds: &[RoundValues],
) -> Plot {
    let series = plot.points.iter().map(|pattern| {
        let points =
            rounds.iter().map(|round| (f64::from(round.round), mixed_loop.value(round, pattern)));
        Series::new(pattern.to_string(), Stroke::Measured, points.collect())
    });
    Plot::lines(plot.id, plot.title, rounds_axis(), plot.y).caption(plot.caption).series(series)
}

/// Returns the table of every tracking variable in every round.
pub(crate) fn rounds_table(id: &str, mixed_loop: &MixedLoop, results: &LoopResults) -> Table {
    let tracked = &mixed_loop.tracked;
    let inside = |round: u32| is_in_window(&results.verdict, round);
    // Do not highlight the window if it contains all rounds.
    let some_outside = results.rounds.iter().any(|round| !inside(round.round));
    let rows = results.rounds.iter().map(|round| {
        Row::new(
            round.round.to_string(),
            tracked
                .iter()
                .map(|pattern| {
                    let value = mixed_loop.value(round, pattern);
                    TableCell::number(value, decimals(mixed_loop.unit))
                })
                .chain([TableCell::text(if round.is_void() {
                    "void: a gap inside"
                } else if inside(round.round) {
                    "window"
                } else {
                    ""
                })]),
        )
        .strong(inside(round.round) && some_outside)
    });
    Table::new(id, format!("Tracking variables, round by round ({})", mixed_loop.unit), "Round")
        .columns(
            tracked
                .iter()
                .map(|p| Column::from(p.to_string()))
                .chain([("window", "Window").into()]),
        )
        .rows(rows)
}

pub(crate) fn steady_facts(mixed_loop: &MixedLoop, results: &LoopResults) -> Facts {
    let windows = results.steady_windows.iter().map(|(a, b)| format!("{a}-{b}"));
    let reached = if results.verdict.steady { "yes" } else { "NO" };
    Facts::new("Steady State Information").rows([
        Setting::method(
            "tracked",
            "Tracking variables",
            joined(&mixed_loop.tracked),
            Origin::Profile,
        ),
        Setting::outcome("Steady state reached", reached),
        Setting::outcome("Measurement window", disclosure::window_text(&results.verdict)),
        Setting::outcome("Rounds run", results.rounds.len().to_string()),
        Setting::outcome("All steady windows", joined(windows)),
    ])
}

/// Returns the chapter of terms and of the steady-state rule.
pub(crate) fn general_chapter(choices: &RunChoices<'_>) -> Page {
    let word = |word: &str, means: &str| Setting::method(word, word, means, Origin::Default);
    let window = count_word(choices.method.criteria.window);
    let definitions = Facts::new("Terms").rows([
        word("R/W mix", "percent of the I/Os that are reads / writes; 65/35 is also written RW65"),
        word("Block size", "transfer size in KiB (1,024 bytes)"),
        word("Tracking variable", "a value of each round that is checked for steady state"),
        word(
            "Measurement window",
            &format!("the {window} rounds in which every tracking variable is steady"),
        ),
        word(
            "Response time",
            "from submission to completion; percentiles are upper edges of buckets at most \
             0.78 % wide, and are printed only where ten or more I/Os lie beyond them",
        ),
    ]);
    let mut exhibits = vec![Exhibit::Facts(definitions)];
    if choices.judged {
        exhibits.push(Exhibit::Text(steady_state_rule(choices)));
    }
    page("General Information", exhibits)
}

fn steady_state_rule(choices: &RunChoices<'_>) -> String {
    let criteria = choices.method.criteria;
    let cap = choices.rounds_max.map(|n| format!(" At most {n} rounds are run."));
    format!(
        "Steady state is reached when, in {} consecutive rounds, for every tracking variable the \
         largest and the smallest value differ by no more than {:.0} % of the average, and the \
         line of best fit rises or falls by no more than {:.0} % of the average. All variables \
         must meet both in the same window.{}",
        criteria.window,
        criteria.data_excursion * 100.0,
        criteria.slope_excursion * 100.0,
        cap.unwrap_or_default()
    )
}
