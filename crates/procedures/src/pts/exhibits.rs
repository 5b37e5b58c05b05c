//! Exhibits that several tests share: the steady-state window, tables of tracking
//! variables, preconditioning, set-up, and the frame of the findings.

use super::FIVE_NINES;
use super::disclosure::{self, Choices};
use super::envelope::thinned;
use super::preconditioning;
use super::results::{Results, rounds_text};
use super::rounds::{MixedLoop, RoundValues};
use super::secondary;
use steadfast_domain::caveats as ids;
use steadfast_domain::findings::{
    Axis, Cell as TableCell, Exhibit, Facts, FormHeader, Origin, Page, Plot, PlotKind, Row, Scale,
    Series, Setting, Stroke, Table,
};
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::steady_state::TrackVerdict;
use steadfast_domain::{
    Caveat, CaveatKind, EndState, Findings, Measurement, Nanos, Op, Record, Tally, Verdict,
};

/// A page; its long curves are drawn by their envelope.
pub(crate) fn page(title: &str, exhibits: Vec<Exhibit>) -> Page {
    let drawable = |exhibit| match exhibit {
        Exhibit::Plot(plot) => Exhibit::Plot(thinned(plot)),
        other => other,
    };
    Page::new(title, exhibits.into_iter().map(drawable).collect())
}

/// An axis.
pub(crate) fn axis(label: &str, scale: Scale) -> Axis {
    Axis::new(label, scale)
}

/// The axis of rounds.
pub(crate) fn rounds_axis() -> Axis {
    axis("Round", Scale::Integers)
}

/// A table without a heading over its columns.
pub(crate) fn plain_table(
    id: &str,
    title: &str,
    corner: &str,
    columns: Vec<String>,
    rows: Vec<Row>,
) -> Table {
    Table::new(id, title, corner).columns(columns).rows(rows)
}

/// `1,234.5`: thousands separated, as the report prints numbers.
pub(crate) fn number(value: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", value.abs());
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let mut grouped = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    let sign = if value < 0.0 { "-" } else { "" };
    if fraction.is_empty() {
        format!("{sign}{grouped}")
    } else {
        format!("{sign}{grouped}.{fraction}")
    }
}

/// Decimals that values of a unit print with: a tenth of a microsecond, a tenth
/// of an IOPS or MB/s.
pub(crate) fn decimals(unit: &str) -> u8 {
    if unit == "ms" { 4 } else { 1 }
}

/// `rnd-4k-w`: a name as part of an id.
pub(crate) fn slug(name: &str) -> String {
    name.to_lowercase().replace([' ', '/', '.'], "-")
}

/// `65/35`: percent read / percent written.
pub(crate) fn mix_name(read_percent: u8) -> String {
    format!("{read_percent}/{}", 100 - read_percent)
}

/// Texts in their order, each once.
pub(crate) fn each_once(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut unique: Vec<String> = Vec::new();
    for text in texts {
        if !unique.contains(&text) {
            unique.push(text);
        }
    }
    unique
}

/// Findings with their frame and nothing in it yet: a procedure fills in the
/// rest (`Findings { summary, form_pages, ..frame(...).judged(verdict) }`).
pub(crate) fn frame(
    title: &str,
    choices: &Choices<'_>,
    record: &Record,
    header: FormHeader,
) -> Findings {
    let end = EndState::of(record.has_ended(), None);
    Findings {
        method: method_text(choices),
        headline: disclosure::headline(choices, record),
        simulated: record.opening().is_some_and(|(device, ..)| device.is_simulated()),
        run_unix_ms: (record.began_unix_ms, record.ended_unix_ms),
        digest: record.digest.clone(),
        software: record.opening().map(|(.., software)| software.to_owned()).unwrap_or_default(),
        end,
        ..Findings::new(title, header)
    }
}

/// The method followed, in one line.
fn method_text(choices: &Choices<'_>) -> String {
    let (profile, class) = (choices.settings.profile, choices.settings.class);
    match choices.method.lesser {
        None => format!(
            "Method of {} as in docs/methods.md, profile {profile}, class {class}",
            choices.method.document
        ),
        Some(lesser) => format!("{lesser} (docs/methods.md), class {class}"),
    }
}

/// How the rounds of a loop ended: one sentence.
pub(crate) fn rounds_ending(record: &Record, results: &Results, rounds_max: u32) -> String {
    let rounds = results.rounds.len();
    if !record.has_ended() {
        return format!("The run is not finished: {rounds} rounds are complete.");
    }
    match (results.verdict.steady, results.verdict.window) {
        (true, Some((first, last))) => {
            format!("Steady state in rounds {first} to {last} of {rounds}.")
        }
        _ => format!(
            "Steady state NOT achieved in {rounds} rounds (at most {rounds_max} were allowed)."
        ),
    }
}

/// The caveat of a run that is not finished.
pub(crate) fn unfinished(record: &Record) -> Option<Caveat> {
    (!record.has_ended()).then(|| {
        Caveat::new(
            CaveatKind::Invalidates,
            ids::UNFINISHED,
            "The run is not finished; what follows is what was measured so far.",
            "Go on with `steadfast resume RUN_DIR`.",
        )
    })
}

/// What to do about rounds without steady state that something else followed: it
/// stands behind them in the journal.
pub(crate) const NOT_STEADY_EARLIER: &str = "Repeat the run with a larger --max-rounds: what came after these rounds is in the journal, \
     so they cannot be resumed.";

/// The caveat of rounds that ended without steady state. `of` names them where
/// a test has several loops: ` of SEQ 128K`.
pub(crate) fn not_steady(of: &str, results: &Results) -> Option<Caveat> {
    if results.verdict.steady {
        return None;
    }
    let reported = rounds_text(&results.reported);
    Some(Caveat::new(
        CaveatKind::Invalidates,
        ids::STEADY_STATE_NOT_ACHIEVED,
        format!("STEADY STATE NOT ACHIEVED{of}: the values are those of {reported}."),
        "Go on with `steadfast resume RUN_DIR --rounds N`.",
    ))
}

/// The tracking variables against their limits.
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
    let rows = verdict
        .tracks
        .iter()
        .map(|track| {
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
        })
        .collect();
    plain_table(
        id,
        "Steady-state variables in the measurement window",
        "Variable",
        columns.map(str::to_owned).to_vec(),
        rows,
    )
}

/// The unit of a verdict's variables, which share one; empty while there is no
/// window.
fn unit_of(verdict: &Verdict) -> &str {
    verdict.tracks.first().map_or("", |track| track.unit.as_str())
}

/// What stands where there is no measurement window.
pub(crate) fn no_window() -> Exhibit {
    Exhibit::Text(
        "There is no measurement window: fewer than five rounds without a gap are complete.".into(),
    )
}

/// All tracking variables in one picture: percent of their window's average.
pub(crate) fn measurement_window(verdict: &Verdict) -> Vec<Exhibit> {
    let Some((first, last)) = verdict.window else { return vec![no_window()] };
    let mut series: Vec<Series> = verdict
        .tracks
        .iter()
        .map(|track| {
            let points = (first..=last)
                .zip(&track.values)
                .map(|(round, value)| (f64::from(round), Some(value / track.average * 100.0)))
                .collect();
            Series::new(track.name.clone(), Stroke::Measured, points)
        })
        .collect();
    for (name, level) in [("110 % average", 110.0), ("90 % average", 90.0)] {
        series.push(level_line(name, Stroke::Limit, (first, last), level));
    }
    let mut plot = Plot::new(
        PlotKind::Lines,
        "measurement-window",
        format!("Measurement window: rounds {first} to {last}"),
        rounds_axis(),
        axis("% of window average", Scale::LinearFitted),
    )
    .caption(
        "Each tracking variable as percent of its average in the window; all must meet the \
         criteria in the same window.",
    );
    plot.series = series;
    vec![Exhibit::Plot(plot), Exhibit::Table(window_values(verdict, first, last))]
}

fn level_line(name: &str, stroke: Stroke, rounds: (u32, u32), level: f64) -> Series {
    let points =
        [rounds.0, rounds.1].into_iter().map(|round| (f64::from(round), Some(level))).collect();
    Series::new(name, stroke, points)
}

fn window_values(verdict: &Verdict, first: u32, last: u32) -> Table {
    let unit = unit_of(verdict);
    let mut columns: Vec<String> = (first..=last).map(|round| format!("Round {round}")).collect();
    columns.push("Average".into());
    let rows = verdict
        .tracks
        .iter()
        .map(|track| {
            Row::new(
                track.name.clone(),
                track
                    .values
                    .iter()
                    .chain([&track.average])
                    .map(|value| TableCell::number(Some(*value), decimals(unit))),
            )
        })
        .collect();
    let title = format!("{unit} of the tracking variables in the measurement window");
    plain_table("window-values", &title, "Variable", columns, rows)
}

/// The steady-state window of one variable: its plot and its evidence.
pub(crate) fn window_exhibits(verdict: &Verdict, track: &TrackVerdict) -> Vec<Exhibit> {
    vec![Exhibit::Plot(window_plot(verdict, track)), Exhibit::Facts(window_facts(verdict, track))]
}

/// The form's steady-state window plot: five series (PTS 2.0.2; docs/methods.md).
pub(crate) fn window_plot(verdict: &Verdict, track: &TrackVerdict) -> Plot {
    let rounds = verdict.window.unwrap_or((0, 0));
    let half = verdict.criteria.data_excursion / 2.0;
    let measured = (rounds.0..=rounds.1)
        .zip(&track.values)
        .map(|(round, value)| (f64::from(round), Some(*value)))
        .collect();
    let fit = [rounds.0, rounds.1]
        .into_iter()
        .map(|round| {
            let x = f64::from(round);
            (x, Some(track.intercept + track.slope * x))
        })
        .collect();
    let band = |part: f64| {
        let name = format!("{:.0} % average", part * 100.0);
        level_line(&name, Stroke::Limit, rounds, track.average * part)
    };
    Plot::new(
        PlotKind::Lines,
        &format!("window-{}", slug(&track.name)),
        format!("Steady State Verification - {}", track.name),
        rounds_axis(),
        axis(&track.unit, Scale::LinearFitted),
    )
    .caption(format!(
        "Measured values ({}), the {:.0} % band around their average, and the line of best fit.",
        track.unit,
        verdict.criteria.data_excursion * 100.0
    ))
    .with(Series::new(track.name.clone(), Stroke::Measured, measured))
    .with(level_line("Average", Stroke::Average, rounds, track.average))
    .with(band(1.0 + half))
    .with(band(1.0 - half))
    .with(Series::new("Slope (best linear fit)", Stroke::Fit, fit))
}

/// The evidence that the standard asks to be printed (PTS 2.0.2; docs/methods.md).
pub(crate) fn window_facts(verdict: &Verdict, track: &TrackVerdict) -> Facts {
    let decimals = usize::from(decimals(&track.unit));
    let n = |value: f64| number(value, decimals);
    let values: Vec<String> = track.values.iter().map(|v| n(*v)).collect();
    let allowed = |what: &str, part: f64| {
        format!("Allowed {what} excursion ({:.0} % of average)", part * 100.0)
    };
    let criteria = &verdict.criteria;
    // Two more digits than the values have, so that small slopes do not print as 0.
    let digits = decimals + 2;
    let row = |label: &str, value: String| Setting::outcome(label, value);
    let fit = format!("{:.digits$} x R + {:.digits$}", track.slope, track.intercept);
    Facts::new(format!("Steady-state evidence: {}", track.name)).rows([
        row("Values", values.join("  ")),
        row("Average", n(track.average)),
        row(&allowed("data", criteria.data_excursion), n(track.data_excursion_allowed)),
        row("Measured data excursion", n(track.data_excursion)),
        row(&allowed("slope", criteria.slope_excursion), n(track.slope_excursion_allowed)),
        row("Measured slope excursion", n(track.slope_excursion)),
        row("Least-squares fit", fit),
        Setting::outcome("Correlation coefficient", track.correlation.map(|r| format!("{r:.4}"))),
        Setting::outcome("Steady", if track.steady { "yes" } else { "NO" }),
    ])
}

/// A line of a convergence plot: its name, what is read, and the rounds.
pub(crate) struct Convergence<'a> {
    /// The plot's id.
    pub id: &'a str,
    /// Its title.
    pub title: &'a str,
    /// The sentence under it.
    pub caption: &'a str,
    /// The y axis.
    pub y: Axis,
    /// One line per point.
    pub points: &'a [AccessPattern],
}

/// Values of a loop's points against the rounds; a void round breaks its line.
pub(crate) fn convergence(
    what: Convergence<'_>,
    mixed_loop: &MixedLoop,
    rounds: &[RoundValues],
) -> Plot {
    let mut plot = Plot::new(PlotKind::Lines, what.id, what.title, rounds_axis(), what.y)
        .caption(what.caption);
    plot.series = what
        .points
        .iter()
        .map(|pattern| {
            let points = rounds
                .iter()
                .map(|round| (f64::from(round.round), mixed_loop.value(round, pattern)))
                .collect();
            Series::new(pattern.to_string(), Stroke::Measured, points)
        })
        .collect();
    plot
}

/// Every tracking variable in every round.
pub(crate) fn rounds_table(id: &str, mixed_loop: &MixedLoop, results: &Results) -> Table {
    let tracked = &mixed_loop.tracked;
    let inside = |round: u32| {
        results.verdict.window.is_some_and(|(first, last)| (first..=last).contains(&round))
    };
    let rows = results
        .rounds
        .iter()
        .map(|round| {
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
            .strong(inside(round.round))
        })
        .collect();
    plain_table(
        id,
        &format!("Tracking variables, round by round ({})", mixed_loop.unit),
        "Round",
        tracked.iter().map(|p| p.to_string()).chain([String::new()]).collect(),
        rows,
    )
}

/// Whether and where a loop was steady.
pub(crate) fn steady_facts(mixed_loop: &MixedLoop, results: &Results) -> Facts {
    let tracked: Vec<String> = mixed_loop.tracked.iter().map(|p| p.to_string()).collect();
    let windows: Vec<String> =
        results.steady_windows.iter().map(|(a, b)| format!("{a}-{b}")).collect();
    let reached = if results.verdict.steady { "yes" } else { "NO" };
    Facts::new("Steady State Information").rows([
        Setting::method("tracked", "Tracking variables", tracked.join(", "), Origin::Profile),
        Setting::outcome("Steady state reached", reached),
        Setting::outcome("Measurement window", disclosure::window_text(&results.verdict)),
        Setting::outcome("Rounds run", results.rounds.len().to_string()),
        Setting::outcome("All steady windows", windows.join(", ")),
    ])
}

/// The chapter of device, host, conditions, settings and parameters.
pub(crate) fn set_up_chapter(choices: &Choices<'_>, record: &Record) -> Page {
    let mut exhibits = Vec::new();
    if let Some((device, ..)) = record.opening() {
        exhibits.push(Exhibit::Facts(disclosure::device_facts(device)));
    }
    exhibits.push(Exhibit::Facts(disclosure::host_facts(record)));
    exhibits.push(Exhibit::Facts(disclosure::conditions_facts(record)));
    exhibits.push(Exhibit::Facts(disclosure::settings_facts(choices)));
    exhibits.push(Exhibit::Facts(disclosure::parameters_facts(choices.settings)));
    page("Setup Information", exhibits)
}

/// The chapters that every report has: set-up, then what was checked before.
pub(crate) fn common_chapters(choices: &Choices<'_>, record: &Record) -> Vec<Page> {
    vec![set_up_chapter(choices, record), secondary::check_chapter(record)]
}

/// Words of the field and the rule of steady state.
pub(crate) fn general_chapter(choices: &Choices<'_>) -> Page {
    let word = |word: &str, means: &str| Setting::method(word, word, means, Origin::Default);
    let definitions = Facts::new("Words").rows([
        word("R/W mix", "percent of the I/Os that read / that write; 65/35 is also written RW65"),
        word("Block size", "transfer size in KiB (1,024 bytes)"),
        word("Tracking variable", "a value of each round that is judged for steady state"),
        word("Measurement window", "the five rounds in which every tracking variable is steady"),
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

fn steady_state_rule(choices: &Choices<'_>) -> String {
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

/// What workload-independent preconditioning wrote, and how fast, second by
/// second; empty where the phase does not occur.
pub(crate) fn preconditioning_exhibits(
    choices: &Choices<'_>,
    record: &Record,
    phase: &str,
    pattern: AccessPattern,
) -> Vec<Exhibit> {
    let parts: Vec<&Measurement> = record
        .steps()
        .filter(|(step, _)| step.place.phase == phase)
        .map(|(_, outcome)| &outcome.measurement)
        .collect();
    let mut written = 0.0;
    let mut points = Vec::new();
    for interval in parts.iter().flat_map(|part| &part.intervals) {
        written += interval.tallies.iter().map(|t| t.bytes.as_gb()).sum::<f64>();
        if !interval.partial {
            points.push((written, interval.bytes_per_second().map(|rate| rate / 1e6)));
        }
    }
    let bytes: u64 = parts.iter().map(|part| part.bytes().0).sum();
    let time: u64 = parts.iter().map(|part| part.elapsed.0).sum();
    let rate = (time > 0).then(|| bytes as f64 / 1e6 / Nanos(time).as_secs_f64());
    let asked = preconditioning::amount(choices.geometry, pattern.size);
    let rate = rate.map(|r| format!("{} MB/s", number(r, 1)));
    let facts = Facts::new("Workload independent preconditioning").rows([
        Setting::outcome("Written", format!("{bytes} bytes of {} asked for", asked.0)),
        Setting::outcome("Took", Nanos(time).to_string()),
        Setting::outcome("Average throughput", rate),
    ]);
    let plot = Plot::new(
        PlotKind::Lines,
        phase,
        "Preconditioning throughput",
        axis("Written (GB)", Scale::Linear),
        axis("MB/s", Scale::Linear),
    )
    .caption(format!("{pattern}, second by second, against the amount written."))
    .with(Series::new(pattern.to_string(), Stroke::Average, points));
    vec![Exhibit::Facts(facts), Exhibit::Plot(plot)]
}

/// One line per step, for spreadsheets.
pub(crate) fn every_step(choices: &Choices<'_>, record: &Record) -> Table {
    let columns = [
        "Round",
        "Step",
        "Label",
        "Elapsed s",
        "Reads",
        "Writes",
        "Read bytes",
        "Write bytes",
        "IOPS",
        "MB/s",
        "ART ms",
        "99 % ms",
        "99.9 % ms",
        "99.999 % ms",
        "MRT ms",
        "CPU user ns/IO",
        "CPU system ns/IO",
        "Failed I/Os",
        "Write amplification",
        "Busiest thread",
        "Host CPU system",
        "Host I/O wait",
        "Power mW",
        "Temperature C",
        "Device host bytes",
        "Device flash bytes",
        "Throttle events",
        "Throttled s",
        "Media errors",
        "Critical warning",
        "Seed",
    ];
    let rows = record
        .steps()
        .map(|(step, outcome)| {
            let seed = step.load.stimulus().map(|s| s.seed.to_string());
            let mut cells = vec![
                TableCell::number(Some(f64::from(step.place.round)), 0),
                TableCell::number(Some(f64::from(step.place.point)), 0),
                TableCell::text(step.place.label.clone()),
            ];
            cells.extend(step_cells(&outcome.measurement));
            cells.extend(sensed_cells(&outcome.measurement));
            cells.push(seed.map_or(TableCell::Missing, TableCell::Text));
            Row::new(step.place.phase.clone(), cells).strong(choices.measures(step))
        })
        .collect();
    plain_table("steps", "Every step", "Phase", columns.map(str::to_owned).to_vec(), rows)
}

fn step_cells(measurement: &Measurement) -> Vec<TableCell> {
    let total: Tally = measurement.total();
    let (reads, writes) = (measurement.direction(Op::Read), measurement.direction(Op::Write));
    let count = |n: u64| TableCell::number(Some(n as f64), 0);
    let time = |t: Option<Nanos>| TableCell::number(t.map(Nanos::as_millis_f64), 6);
    let per_io = |t: Option<Nanos>| {
        let each = t.filter(|_| total.ios > 0).map(|t| t.0 as f64 / total.ios as f64);
        TableCell::number(each, 1)
    };
    vec![
        TableCell::number(Some(measurement.elapsed.as_secs_f64()), 6),
        count(reads.ios),
        count(writes.ios),
        count(reads.bytes.0),
        count(writes.bytes.0),
        TableCell::number(measurement.iops(), 3),
        TableCell::number(measurement.bytes_per_second().map(|r| r / 1e6), 3),
        time(total.response_mean()),
        time(total.percentile(0.99)),
        time(total.percentile(0.999)),
        time(total.percentile(FIVE_NINES)),
        time(total.response_longest()),
        per_io(measurement.cpu.map(|c| c.user)),
        per_io(measurement.cpu.map(|c| c.system)),
        count(measurement.fault_count),
        TableCell::number(measurement.write_amplification, 3),
    ]
}

fn sensed_cells(measurement: &Measurement) -> Vec<TableCell> {
    let sensed = &measurement.sensed;
    let log = sensed.log.unwrap_or_default();
    let count = |n: Option<u64>| TableCell::number(n.map(|n| n as f64), 0);
    vec![
        TableCell::number(sensed.busiest_thread, 3),
        TableCell::number(sensed.host_cpu.map(|cpu| cpu.system), 4),
        TableCell::number(sensed.host_cpu.map(|cpu| cpu.io_wait), 4),
        TableCell::number(sensed.power_milliwatts, 1),
        TableCell::celsius(sensed.temperature_celsius, 1),
        count(log.host_written.map(|b| b.0)),
        count(log.nand_written.map(|b| b.0)),
        count(log.throttle_events),
        count(log.throttle_seconds),
        count(log.media_errors),
        count(log.critical_warning.map(u64::from)),
    ]
}
