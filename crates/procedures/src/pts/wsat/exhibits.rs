//! The exhibits of WSAT: the pages of the PTS 2.0 form (IOPS against time,
//! bytes and fills, response times, confidence levels), those of 1.1 (linear and
//! logarithmic), and TKperf's two.

use super::results::{End, Minute, Results, Stretch};
use super::setup::{HISTOGRAM_TIME, Wsat};
use crate::exhibits::disclosure::{self, Form, SECOND_STIMULUS, form_demand};
use crate::exhibits::frame::{common_chapters, frame, unfinished};
use crate::exhibits::loops::general_chapter;
use crate::exhibits::pages::page;
use crate::exhibits::response::{
    FIVE_NINES, Rates, bins_caveat, confidence_plot, percentile_table, rated_title, tail_plot,
};
use crate::exhibits::secondary;
use crate::exhibits::seconds::{self, Second};
use crate::exhibits::steps::every_step;
use crate::exhibits::tkperf;
use crate::ground::metrics::Measured;
use crate::ground::preconditioning::WIPC_PATTERN;
use crate::pts::between::{self, BetweenRounds, check_page, evidence};
use crate::pts::workload;
use crate::words::{number, reservation_text};
use steadfast_domain::caveats as ids;
use steadfast_domain::findings::{
    Axis, Cell as TableCell, Exhibit, Facts, FormHeader, KeyFigure, Marker, Metric, Page, Plot,
    PlotKind, Row, Scale, Series, Setting, Stroke, Table,
};
use steadfast_domain::{
    Caveat, CaveatKind, Findings, Measurement, Nanos, Outcome, Profile, Record, Step, Verdict,
};

/// Minutes over which the end of a saturation is averaged for the summary: our
/// choice.
const LAST_MINUTES: usize = 5;

/// Everything that is reported of a run.
pub fn findings(wsat: &Wsat, record: &Record, results: &Results<'_>) -> Findings {
    let choices = wsat.choices(record);
    Findings {
        ending: ending(wsat, results),
        caveats: caveats(wsat, record, results),
        summary: vec![Exhibit::Table(summary_table(results))],
        form_pages: form_pages(wsat, results),
        chapters: chapters(wsat, record, results),
        long_tables: vec![minutes_table(results), every_step(&choices, record)],
        metrics: metrics(wsat, results),
        ..frame(&title(wsat), &choices, record, header(wsat, record, results))
            .judged(verdict(wsat, results).cloned())
            .fronted(figures(wsat, results), ["seconds", "seconds-response"])
    }
}

fn title(wsat: &Wsat) -> String {
    format!("WSAT {}", wsat.workload)
}

/// The verdict that decides about the run: a saturation that bytes or time
/// ended has none, unless it is steady.
fn verdict<'a>(wsat: &Wsat, results: &'a Results<'_>) -> Option<&'a Verdict> {
    results.verdict.as_ref().filter(|verdict| verdict.steady || wsat.only_steady())
}

fn ending(wsat: &Wsat, results: &Results<'_>) -> String {
    let Some(last) = results.minutes.last() else {
        return "The run is not finished: nothing has been written yet.".into();
    };
    let so_far = format!(
        "{} minutes, {} GB written, {} drive fills",
        number(last.time, 1),
        number(last.written_gb, 1),
        number(last.fills, 2)
    );
    match results.end {
        End::NotYet => format!("The run is not finished: {so_far}."),
        End::Written => format!("Ended after {}: {so_far}.", wsat.fills_text()),
        End::Time => format!("Ended by its time limit: {so_far}."),
        End::Count => match results.verdict.as_ref().filter(|verdict| !verdict.steady) {
            Some(verdict) => format!(
                "Steady state NOT achieved in the maximum number of rounds{}: {so_far}.",
                reservation_text(verdict)
            ),
            None => format!("Ended after the maximum number of steps: {so_far}."),
        },
        End::Steady => {
            let (first, last) = results.verdict.as_ref().and_then(|v| v.window).unwrap_or_default();
            let reservation = results.verdict.as_ref().map(reservation_text).unwrap_or_default();
            format!("Steady state in rounds {first} to {last}{reservation}: {so_far}.")
        }
    }
}

/// Whether a limit ended it that the method has beside steady state.
fn ended_as_allowed(wsat: &Wsat, results: &Results<'_>) -> bool {
    matches!(results.end, End::Written | End::Time) && !wsat.only_steady()
}

/// What ended it, for the form.
fn end_text(wsat: &Wsat, results: &Results<'_>) -> String {
    match results.end {
        End::Written => wsat.fills_text(),
        _ => "time limit".to_owned(),
    }
}

fn header(wsat: &Wsat, record: &Record, results: &Results<'_>) -> FormHeader {
    let choices = wsat.choices(record);
    let demand = form_demand(wsat.demand);
    let rounds = match &results.verdict {
        Some(verdict) if !verdict.steady && ended_as_allowed(wsat, results) => {
            format!("not required: {}", end_text(wsat, results))
        }
        Some(verdict) => disclosure::window_text(verdict),
        None => "not judged (pseudo steady state)".into(),
    };
    let settings = choices.settings;
    let chosen = |id: &str, label: &str, value: Option<String>| {
        Setting::new(id, label, value, workload::origin(settings))
    };
    let mut set_up = disclosure::common_set_up_rows(&choices);
    set_up.extend(disclosure::preconditioning_rows(&choices));
    set_up.extend([
        chosen("wdpc", "Pre Condition 2", Some(format!("{} (WDPC)", wsat.workload))),
        choices.demand_row("TOIO - TC/QD", demand.clone()),
        Setting::outcome("SS Rounds", &rounds),
        disclosure::note_row(&choices),
    ]);
    let mut test_parameters = disclosure::common_test_rows(&choices);
    let read = wsat.workload.read_percent();
    let histogram = wsat.histogram_time;
    let second_demand = histogram.map(|_| demand.clone()).unwrap_or_default();
    test_parameters.extend([
        chosen("stimulus-1", "Test Stimulus 1", Some(wsat.workload.to_string())),
        chosen("mixes", "RW Mix", Some(format!("{read}/{}", 100 - read))),
        choices.demand_row("TOIO - TC/QD", demand.clone()),
        choices.step_row("Step"),
        Setting::outcome("Steady State", rounds),
        chosen(SECOND_STIMULUS, "Test Stimulus 2", histogram.map(|_| wsat.workload.to_string())),
        choices.demand_row("TOIO - TC/QD", second_demand).named("demand-2"),
        HISTOGRAM_TIME.row(settings, "Duration", histogram.map(|time| time.to_string())),
    ]);
    let form = Form {
        test: "WSAT Test",
        subtitle: &format!("WSAT - Write Saturation, {}", wsat.workload),
        set_up,
        test_parameters,
    };
    disclosure::form_header(form, &choices, record)
}

fn caveats(wsat: &Wsat, record: &Record, results: &Results<'_>) -> Vec<Caveat> {
    let mut caveats: Vec<Caveat> = unfinished(record).into_iter().collect();
    let not_steady = results.verdict.as_ref().filter(|verdict| !verdict.steady);
    if let Some(verdict) = not_steady.filter(|_| record.has_ended()) {
        caveats.push(not_steady_caveat(wsat, verdict));
    }
    if record.has_ended() && results.verdict.is_none() {
        caveats.push(Caveat::new(
            CaveatKind::Remark,
            ids::PSEUDO_STEADY_STATE,
            format!("Steady state was not judged: the run ended {}.", wsat.ending_rule()),
            "",
        ));
    }
    caveats.extend(results.verdict.as_ref().and_then(between::fresh_caveat));
    caveats.extend(of_reads(wsat));
    if wsat.preconditions {
        caveats.push(Caveat::new(
            CaveatKind::Deviation,
            ids::PRECONDITION,
            format!(
                "2 x user capacity was written ({WIPC_PATTERN}) before the saturation; WSAT has \
                 no workload-independent preconditioning, so this run did not begin with a fresh \
                 drive."
            ),
            "Omit --set precondition.",
        ));
    }
    if wsat.histogram_time.is_some() {
        caveats.push(bins_caveat());
    }
    let document = &wsat.ground.method.document;
    let is_own = wsat.workload.to_string() == "RND 4K W";
    if !is_own && matches!(wsat.ground.settings.profile, Profile::Pts11 | Profile::Tkperf) {
        caveats.push(Caveat::new(
            CaveatKind::Deviation,
            ids::WORKLOAD,
            format!("WSAT of {document} writes RND 4K W; this run uses {}.", wsat.workload),
            "Omit --workload, or choose --profile pts-2.0.",
        ));
    }
    caveats.extend(disclosure::caveats(&wsat.choices(record), record));
    caveats.extend(wsat.workload.caveats());
    caveats.extend(secondary::caveats(record, &|_| true));
    caveats
}

/// Reads of a purged drive may find blocks that nothing was written to.
fn of_reads(wsat: &Wsat) -> Option<Caveat> {
    let is_mixed = (1..100).contains(&wsat.workload.read_percent());
    (is_mixed && !wsat.preconditions).then(|| {
        Caveat::new(
            CaveatKind::Remark,
            ids::READS_UNWRITTEN,
            "Until the drive is full, some reads are of blocks that were not written since the \
             purge. A drive answers these without reading its flash.",
            "",
        )
    })
}

fn not_steady_caveat(wsat: &Wsat, verdict: &Verdict) -> Caveat {
    if wsat.only_steady() {
        Caveat::new(
            CaveatKind::Invalidates,
            ids::STEADY_STATE_NOT_ACHIEVED,
            format!(
                "STEADY STATE NOT ACHIEVED{}: the values are those of the minutes that ran.",
                reservation_text(verdict)
            ),
            "Repeat the run with more rounds (--max-rounds).",
        )
    } else {
        Caveat::new(
            CaveatKind::Remark,
            ids::ENDED_BEFORE_STEADY_STATE,
            "The time or byte limit ended the saturation before five rounds met 20/10. \
             The method allows this.",
            "Choose --steady-state btw to run until they do.",
        )
    }
}

/// The late rate of page one: which steps it is of, and what may be said of it.
struct LateRate {
    /// The beginning of its figures' ids: figures of different kinds are never compared.
    id: &'static str,
    /// What follows the workload's name.
    label: String,
    /// What its share of the fresh rate is called.
    share: String,
    stretch: Stretch,
}

/// Chooses the rate that is shown against that of the fresh drive. Only a steady window is
/// "sustained": without one it is the histogram run, which follows the saturation at once;
/// without that, the last steps, which were not steady.
fn late_rate(wsat: &Wsat, results: &Results<'_>) -> Option<LateRate> {
    let window = wsat.between().and_then(|between| results.steady_window(between));
    if let Some(stretch) = window {
        let (label, share) = ("sustained".to_owned(), "Sustained share of fresh".to_owned());
        return Some(LateRate { id: "sustained", label, share, stretch });
    }
    if let (Some(histogram), Some(time)) = (results.histogram, wsat.histogram_time) {
        let label = format!("{time} after the saturation");
        let share = format!("Share of fresh, {time} after");
        let stretch = Stretch::of_measurement(histogram);
        return Some(LateRate { id: "after", label, share, stretch });
    }
    // Of so few steps the first is one, and a mean with it is of two states.
    let (count, of) = match results.minutes.len() {
        0 | 1 => return None,
        few if few <= LAST_MINUTES => (1, "last step".to_owned()),
        _ => (LAST_MINUTES, format!("mean of the last {LAST_MINUTES} steps")),
    };
    let label = format!("{of}, not steady");
    let share = format!("Share of fresh, {label}");
    Some(LateRate { id: "last", label, share, stretch: results.last_steps(count)? })
}

/// Fresh rate, late rate, and what the one is of the other; response times from the steps of
/// the late rate.
fn figures(wsat: &Wsat, results: &Results<'_>) -> Vec<KeyFigure> {
    let name = &wsat.workload;
    let fresh = results.minutes.first().and_then(|minute| minute.iops);
    let mut figures =
        vec![KeyFigure::new("fresh-iops", format!("{name}, first step"), fresh, "IOPS")];
    let Some(LateRate { id, label, share, stretch }) = late_rate(wsat, results) else {
        return figures;
    };
    let ms = |time: Option<Nanos>| time.map(Nanos::as_millis_f64);
    let part = stretch.iops.zip(fresh.filter(|fresh| *fresh > 0.0)).map(|(l, f)| l / f * 100.0);
    let (mean, tail) = (stretch.tally.response_mean(), stretch.tally.percentile(FIVE_NINES));
    figures.extend([
        KeyFigure::new(&format!("{id}-iops"), format!("{name}, {label}"), stretch.iops, "IOPS"),
        KeyFigure::new(&format!("{id}-share"), share, part, "%"),
        KeyFigure::new(&format!("{id}-mean"), format!("Mean, {label}"), ms(mean), "ms"),
        KeyFigure::new(&format!("{id}-five-nines"), format!("99.999 %, {label}"), ms(tail), "ms")
            .of_buckets(),
    ]);
    figures
}

/// First step, last step and histogram run in long form.
fn metrics(wsat: &Wsat, results: &Results<'_>) -> Vec<Metric> {
    let step = |at: Option<&(&Step, &'_ Outcome)>| at.map(|(_, o)| o.measurement.clone());
    let several = results.steps.len() > 1;
    let last = results.steps.last().filter(|_| several);
    let all = [
        ("first step", step(results.steps.first())),
        ("last step", step(last)),
        ("histogram run", results.histogram.cloned()),
    ];
    let of = |(name, measurement): (&str, Option<Measurement>)| {
        let point = format!("{}, {name}", wsat.workload);
        let measurement = measurement?;
        let steps = [&measurement];
        let pattern = wsat.workload.pattern();
        Some(Measured { point: &point, pattern, steps: &steps, rounds: false }.metrics())
    };
    all.into_iter().filter_map(of).flatten().collect()
}

/// The numbers that a terminal shows.
fn summary_table(results: &Results<'_>) -> Table {
    let line = |head: &str, minute: Option<&Minute>| {
        Row::new(
            head,
            match minute {
                None => vec![TableCell::Missing; 8],
                Some(m) => vec![
                    TableCell::number(m.iops, 1),
                    TableCell::number(m.mb_per_second, 1),
                    TableCell::number(m.art, 3),
                    TableCell::number(m.five_nines, 3),
                    TableCell::number(m.mrt, 3),
                    TableCell::number(Some(m.time), 2),
                    TableCell::number(Some(m.written_gb), 2),
                    TableCell::number(Some(m.fills), 3),
                ],
            },
        )
    };
    let mut rows = vec![
        line("First step", results.minutes.first()),
        line("Last step", results.minutes.last()),
    ];
    let mean = |head: &str, iops: Option<f64>| {
        let mut cells = vec![TableCell::number(iops, 1)];
        cells.extend(vec![TableCell::text(""); 7]);
        Row::new(head, cells).strong(true)
    };
    let track = results.verdict.as_ref().and_then(|v| v.tracks.first().map(|t| (v, t)));
    if let Some((verdict, track)) = track {
        let name = if verdict.steady {
            "Measurement window (steady)"
        } else {
            "Last five rounds (NOT steady)"
        };
        rows.push(mean(name, Some(track.average)));
    }
    // Of fewer steps the first is one, and a mean with it is of two states.
    if results.minutes.len() > LAST_MINUTES {
        let last = results.last_steps(LAST_MINUTES).and_then(|stretch| stretch.iops);
        rows.push(mean(&format!("Mean of the last {LAST_MINUTES} steps"), last));
    }
    rows.extend(results.histogram.map(histogram_row));
    let columns =
        ["IOPS", "MB/s", "ART ms", "99.999 % ms", "MRT ms", "At min", "Written GB", "Drive fills"];
    Table::new("wsat-summary", "Write saturation", "").columns(columns).rows(rows)
}

/// The run after the saturation, which is no minute of it.
fn histogram_row(measurement: &Measurement) -> Row {
    let tally = measurement.total();
    let ms = |time: Option<Nanos>| TableCell::number(time.map(Nanos::as_millis_f64), 3);
    Row::new(
        "Histogram run, after the saturation",
        [
            TableCell::number(measurement.iops(), 1),
            TableCell::number(measurement.mb_per_second(), 1),
            ms(tally.response_mean()),
            ms(tally.percentile(FIVE_NINES)),
            ms(tally.response_longest()),
            TableCell::text(""),
            TableCell::text(""),
            TableCell::text(""),
        ],
    )
}

/// What a plot is drawn against.
#[derive(Clone, Copy)]
enum Against {
    Time,
    Written,
    Fills,
}

impl Against {
    /// Part of a plot's id, and of its title.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Against::Time => ("time", "Time"),
            Against::Written => ("tgbw", "TGBW"),
            Against::Fills => ("fills", "Drive Fills"),
        }
    }
    fn axis(self, wsat: &Wsat) -> Axis {
        match self {
            Against::Time => between::time_axis("Time", wsat.ground.minute).0,
            Against::Written => Axis::new("Total written (GB)", Scale::Linear),
            Against::Fills => Axis::new("Drive fills (written / user capacity)", Scale::Linear),
        }
    }
    fn of(self, wsat: &Wsat, minute: &Minute) -> f64 {
        match self {
            Against::Time => minute.time * between::time_axis("Time", wsat.ground.minute).1,
            Against::Written => minute.written_gb,
            Against::Fills => minute.fills,
        }
    }
}

/// Something of a minute.
type Value = fn(&Minute) -> Option<f64>;

fn curve(
    wsat: &Wsat,
    results: &Results<'_>,
    against: Against,
    value: Value,
) -> Vec<(f64, Option<f64>)> {
    let mut points = Vec::new();
    for minute in &results.minutes {
        let x = against.of(wsat, minute);
        if minute.gap && !points.is_empty() {
            // A line that is drawn across a gap would tell of what was not seen.
            points.push((x, None));
        }
        points.push((x, value(minute)));
    }
    points
}

fn iops_plot(wsat: &Wsat, results: &Results<'_>, against: Against, scale: Scale) -> Plot {
    let (id, name) = against.names();
    let (suffix, of_scale) = match scale {
        Scale::Log10 => ("-log", " (Log)"),
        _ => ("", " (Linear)"),
    };
    Plot::new(
        PlotKind::Lines,
        &format!("iops-{id}{suffix}"),
        format!("WSAT IOPS{of_scale} v {name} - {}", wsat.workload),
        against.axis(wsat),
        Axis::new("IOPS", scale),
    )
    .caption(format!(
        "IOPS of every step of {}, reads and writes added, since the purge. A gap breaks the line.",
        wsat.ground.minute
    ))
    .with(Series::new(
        wsat.workload.to_string(),
        Stroke::Average,
        curve(wsat, results, against, |m| m.iops),
    ))
}

fn response_plot(wsat: &Wsat, results: &Results<'_>, against: Against) -> Plot {
    let (id, name) = against.names();
    Plot::new(
        PlotKind::Lines,
        &format!("response-{id}"),
        format!("WSAT Response Times v {name} - {}", wsat.workload),
        against.axis(wsat),
        Axis::new("Response time (ms)", Scale::Log10),
    )
    .caption(
        "Average, 99.999 % and maximum response time of every step; 99.999 % only where ten or \
         more I/Os lie beyond it.",
    )
    .with(Series::new("MRT", Stroke::Context, curve(wsat, results, against, |m| m.mrt)))
    .with(Series::new("99.999 %", Stroke::Fit, curve(wsat, results, against, |m| m.five_nines)))
    .with(Series::new("ART", Stroke::Average, curve(wsat, results, against, |m| m.art)))
}

/// The saturation second by second, and under it what the device says of itself.
fn seconds_chapter(wsat: &Wsat, results: &Results<'_>) -> Page {
    let seconds = seconds::seconds(&results.steps);
    let (time, unit) = between::time_axis("Time", wsat.ground.minute);
    let title = format!("WSAT response times, second by second - {}", wsat.workload);
    let response = seconds::response_plot(("seconds-response", &title), (time, unit), &seconds);
    let mut exhibits =
        vec![Exhibit::Plot(seconds_plot(wsat, results, &seconds)), Exhibit::Plot(response)];
    exhibits.extend(device_plot(wsat, results).map(Exhibit::Plot));
    page("Saturation Second by Second", exhibits)
}

/// Fresh to steady: IOPS of every second, the means of the steps, and where the drive was full.
fn seconds_plot(wsat: &Wsat, results: &Results<'_>, seconds: &[Second]) -> Plot {
    let (time, unit) = between::time_axis("Time", wsat.ground.minute);
    let title = format!("WSAT IOPS, second by second - {}", wsat.workload);
    Plot::new(PlotKind::Lines, "seconds", title, time, Axis::new("IOPS", Scale::Linear))
        .caption(format!(
            "IOPS of every second, and the mean of every step of {} at the step's middle; reads \
             and writes added. Marked: once, twice, ... the user capacity written.",
            wsat.ground.minute
        ))
        .with(Series::new(
            "every second",
            Stroke::Context,
            seconds::curve(seconds, unit, |s| s.iops),
        ))
        .with(Series::new("step mean", Stroke::Measured, step_means(wsat, results)))
        .markers(fills(results, unit))
}

/// The mean of every step, at the middle of its step: at its end the line would lie beside the
/// curve of the seconds.
fn step_means(wsat: &Wsat, results: &Results<'_>) -> Vec<(f64, Option<f64>)> {
    let (_, unit) = between::time_axis("Time", wsat.ground.minute);
    let mut points = Vec::new();
    let mut begin = 0.0;
    for minute in &results.minutes {
        let middle = f64::midpoint(begin, minute.time) * unit;
        if minute.gap && !points.is_empty() {
            points.push((middle, None));
        }
        points.push((middle, minute.iops));
        begin = minute.time;
    }
    points
}

/// Marks on the axis of time, at most.
const FILLS_MARKED: usize = 10;

/// Where the user capacity was written once, twice, ...
fn fills(results: &Results<'_>, unit: f64) -> Vec<Marker> {
    let mut marks: Vec<Marker> = Vec::new();
    let mut before = (0.0, 0.0);
    for minute in &results.minutes {
        let (time, fills) = before;
        let next = marks.len() as f64 + 1.0;
        if minute.fills >= next && minute.fills > fills && marks.len() < FILLS_MARKED {
            let part = (next - fills) / (minute.fills - fills);
            let label = if marks.is_empty() { "1 drive fill".into() } else { next.to_string() };
            marks.push(Marker { x: (time + part * (minute.time - time)) * unit, label });
        }
        before = (minute.time, minute.fills);
    }
    marks
}

/// Write amplification and temperature under the curves, where the device reports them.
fn device_plot(wsat: &Wsat, results: &Results<'_>) -> Option<Plot> {
    let has = |value: Value| results.minutes.iter().any(|minute| value(minute).is_some());
    let (amplification, temperature): (Value, Value) = (|m| m.amplification, |m| m.temperature);
    let of = |value: Value| curve(wsat, results, Against::Time, value);
    let amplified = Series::new("write amplification", Stroke::Measured, of(amplification));
    let warm = Series::new("temperature", Stroke::Measured, of(temperature));
    let plot = |title: &str, y: &str, scale: Scale| {
        let y = Axis::new(y, scale);
        Plot::new(PlotKind::Lines, "seconds-device", title, Against::Time.axis(wsat), y)
            .caption("As the device reports it, step by step.")
    };
    const AMPLIFICATION: &str = "Flash bytes per host byte";
    const TEMPERATURE: &str = "Temperature (°C)";
    match (has(amplification), has(temperature)) {
        (true, true) => Some(
            plot("Write amplification and temperature", AMPLIFICATION, Scale::Linear)
                .with(amplified)
                .with(warm.on_right())
                .right(Axis::new(TEMPERATURE, Scale::LinearFitted)),
        ),
        (true, false) => {
            Some(plot("Write amplification", AMPLIFICATION, Scale::Linear).with(amplified))
        }
        (false, true) => Some(plot("Temperature", TEMPERATURE, Scale::LinearFitted).with(warm)),
        (false, false) => None,
    }
}

fn average_latency_plot(wsat: &Wsat, results: &Results<'_>) -> Plot {
    Plot::new(
        PlotKind::Lines,
        "art-time",
        format!("WSAT Average Latency v Time - {}", wsat.workload),
        Against::Time.axis(wsat),
        Axis::new("ART (ms)", Scale::Linear),
    )
    .caption("Average response time of every step.")
    .with(Series::new("ART", Stroke::Average, curve(wsat, results, Against::Time, |m| m.art)))
}

/// The pages of the form: each profile has its own.
fn form_pages(wsat: &Wsat, results: &Results<'_>) -> Vec<Page> {
    let iops = |against: Against, scale: Scale| {
        let plot = iops_plot(wsat, results, against, scale);
        page(&plot.title.clone(), vec![Exhibit::Plot(plot)])
    };
    match wsat.ground.settings.profile {
        Profile::Pts11 => vec![
            iops(Against::Time, Scale::Linear),
            iops(Against::Time, Scale::Log10),
            iops(Against::Written, Scale::Linear),
            iops(Against::Written, Scale::Log10),
        ],
        Profile::Tkperf => {
            let plot = average_latency_plot(wsat, results);
            vec![
                iops(Against::Time, Scale::Linear),
                page(&plot.title.clone(), vec![Exhibit::Plot(plot)]),
            ]
        }
        Profile::Pts20 | Profile::Quick => {
            let response = response_plot(wsat, results, Against::Fills);
            vec![
                iops(Against::Time, Scale::Linear),
                iops(Against::Written, Scale::Linear),
                iops(Against::Fills, Scale::Linear),
                page(&response.title.clone(), vec![Exhibit::Plot(response)]),
                histogram_page(wsat, results),
            ]
        }
    }
}

fn histogram_page(wsat: &Wsat, results: &Results<'_>) -> Page {
    const TITLE: &str = "WSAT Response Time Histogram - Confidence Level Plot";
    let Some(measurement) = results.histogram else {
        let text = "The histogram run has not taken place yet, or a gap voided it.";
        return page(TITLE, vec![Exhibit::Text(text.into())]);
    };
    let tally = measurement.total();
    let rates = Rates { iops: measurement.iops(), mb_per_second: measurement.mb_per_second() };
    let name = format!("{} {}", wsat.workload, wsat.demand);
    let title = rated_title(&name, rates, &tally);
    page(TITLE, vec![Exhibit::Plot(confidence_plot("clp", &title, &tally))])
}

fn chapters(wsat: &Wsat, record: &Record, results: &Results<'_>) -> Vec<Page> {
    let choices = wsat.choices(record);
    let mut chapters = match wsat.ground.settings.profile {
        Profile::Tkperf => tkperf::write_saturation(listing(wsat), &tkperf_minutes(results)),
        _ => Vec::new(),
    };
    chapters.extend(common_chapters(&choices, record));
    chapters.push(general_chapter(&choices));
    chapters.push(seconds_chapter(wsat, results));
    chapters.push(saturation_chapter(wsat, results));
    if let (Some(between), Some(verdict)) = (wsat.between(), &results.verdict) {
        chapters.push(check_page("WSAT SS Check", verdict, "wsat-window"));
        if !between.track(&results.steps).points.is_empty() {
            chapters.push(measured_chapter(between, results));
        }
    }
    chapters.push(response_chapter(wsat, results));
    let rows = secondary::rows(&results.secondary(), mean_iops(results));
    let facts = Facts::new("Over the whole saturation").rows(rows);
    chapters.push(secondary::chapter(vec![Exhibit::Facts(facts)], record));
    chapters
}

/// The minutes as a TKperf report shows them.
fn tkperf_minutes(results: &Results<'_>) -> Vec<tkperf::SaturatedMinute> {
    let minute = |m: &Minute| tkperf::SaturatedMinute { iops: m.iops, mean_ms: m.art, gap: m.gap };
    results.minutes.iter().map(minute).collect()
}

fn measured_chapter(between: &BetweenRounds, results: &Results<'_>) -> Page {
    let mut exhibits = evidence(between, &results.steps, "wsat");
    let names = ("measured-minutes", "Rounds of the saturation");
    exhibits.push(Exhibit::Plot(between::convergence_plot(between, &results.steps, names)));
    page("Steady State of the Rounds", exhibits)
}

fn mean_iops(results: &Results<'_>) -> Option<f64> {
    results.last_steps(results.minutes.len())?.iops
}

fn saturation_chapter(wsat: &Wsat, results: &Results<'_>) -> Page {
    let mut exhibits = vec![
        Exhibit::Listing(listing(wsat)),
        Exhibit::Table(summary_table(results)),
        Exhibit::Plot(iops_plot_named(wsat, results)),
        Exhibit::Plot(throughput_plot(wsat, results)),
    ];
    if results.minutes.iter().any(|minute| minute.amplification.is_some()) {
        exhibits.push(Exhibit::Plot(amplification_plot(wsat, results)));
    }
    page("Write Saturation", exhibits)
}

/// The scale that the form's first page does not have.
fn iops_plot_named(wsat: &Wsat, results: &Results<'_>) -> Plot {
    let mut plot = iops_plot(wsat, results, Against::Time, Scale::Log10);
    plot.id = "iops-time-log-chapter".into();
    plot
}

fn throughput_plot(wsat: &Wsat, results: &Results<'_>) -> Plot {
    Plot::new(
        PlotKind::Lines,
        "throughput-time",
        format!("WSAT Throughput v Time - {}", wsat.workload),
        Against::Time.axis(wsat),
        Axis::new("MB/s", Scale::Linear),
    )
    .caption("MB/s of every step, reads and writes added.")
    .with(Series::new(
        wsat.workload.to_string(),
        Stroke::Average,
        curve(wsat, results, Against::Time, |m| m.mb_per_second),
    ))
}

fn amplification_plot(wsat: &Wsat, results: &Results<'_>) -> Plot {
    Plot::new(
        PlotKind::Lines,
        "write-amplification",
        "Write amplification v Drive Fills",
        Axis::new("Drive fills (written / user capacity)", Scale::Linear),
        Axis::new("Flash bytes per host byte", Scale::Linear),
    )
    .caption("As the device reports it, step by step.")
    .with(Series::new(
        "write amplification",
        Stroke::Average,
        curve(wsat, results, Against::Fills, |m| m.amplification),
    ))
}

fn listing(wsat: &Wsat) -> String {
    let histogram = wsat.histogram_time.map(|time| {
        format!("\n{} at {} for {time}; record every response time", wsat.workload, wsat.demand)
    });
    format!(
        "Purge{}\n{} at {} without a pause, accounted in \
         steps of {}\n  ends {}{}",
        if wsat.preconditions {
            "; 2 x user capacity written sequentially"
        } else {
            " (no workload independent preconditioning)"
        },
        wsat.workload,
        wsat.demand,
        wsat.ground.minute,
        wsat.ending_rule(),
        histogram.unwrap_or_default()
    )
}

fn response_chapter(wsat: &Wsat, results: &Results<'_>) -> Page {
    let mut exhibits = vec![
        Exhibit::Plot(response_plot(wsat, results, Against::Time)),
        Exhibit::Plot(response_plot(wsat, results, Against::Written)),
    ];
    if let Some(measurement) = results.histogram {
        let time = HISTOGRAM_TIME.value(&wsat.ground.settings);
        let total = measurement.total();
        let name = wsat.workload.to_string();
        exhibits.push(Exhibit::Table(percentile_table(
            "histogram-percentiles",
            &format!("Response times of the histogram run ({time}), ms"),
            &[(name.as_str(), &total)],
        )));
        let title = format!("Response times of the histogram run - {name}");
        let columns = [(name.as_str(), &total)];
        exhibits.push(Exhibit::Plot(tail_plot("histogram-tail", &title, &columns)));
    }
    page("Response Times", exhibits)
}

/// One line per minute, for spreadsheets.
fn minutes_table(results: &Results<'_>) -> Table {
    let columns = [
        "Round",
        "Time min",
        "Written GB",
        "Drive fills",
        "IOPS",
        "MB/s",
        "ART ms",
        "99.999 % ms",
        "MRT ms",
        "Write amplification",
        "Gap before",
    ];
    let rows = results.minutes.iter().enumerate().map(|(index, m)| {
        Row::new(
            (index + 1).to_string(),
            [
                TableCell::number(Some(f64::from(m.round)), 0),
                TableCell::number(Some(m.time), 4),
                TableCell::number(Some(m.written_gb), 6),
                TableCell::number(Some(m.fills), 6),
                TableCell::number(m.iops, 3),
                TableCell::number(m.mb_per_second, 3),
                TableCell::number(m.art, 6),
                TableCell::number(m.five_nines, 6),
                TableCell::number(m.mrt, 6),
                TableCell::number(m.amplification, 3),
                TableCell::text(if m.gap { "gap" } else { "" }),
            ],
        )
    });
    Table::new("minutes", "Every minute of the saturation", "Step").columns(columns).rows(rows)
}
