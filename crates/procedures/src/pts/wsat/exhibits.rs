//! Exhibits of WSAT: the pages of the PTS 2.0 form (IOPS over time, bytes and fills, response
//! times, confidence levels), those of 1.1 (linear and logarithmic), and the two of TKperf.

use super::results::{MergedSteps, SaturationEnd, WsatMinute, WsatResults};
use super::setup::{HISTOGRAM_TIME, Wsat, WsatPreconditioning};
use crate::common::metrics::MeasuredPoint;
use crate::common::preconditioning::WIPC_PATTERN;
use crate::exhibits::device_curves::{self, DevicePoint};
use crate::exhibits::disclosure::{self, ReportForm, SECOND_STIMULUS, form_demand};
use crate::exhibits::report::{ProcedureReport, ReportEntry, StudiedRun};
use crate::exhibits::response::{
    FIVE_NINES, HistogramRates, bins_caveat, confidence_plot, percentile_table, rated_title,
    tail_plot,
};
use crate::exhibits::secondary::{self, amplification};
use crate::exhibits::typed_table::{TypedColumn, typed_row, typed_table};
use crate::exhibits::{seconds, tkperf};
use crate::pts::between::{self, check_exhibits, evidence};
use crate::pts::workload;
use crate::report_notation::{number, reservation_text};
use steadfast_domain::findings::{
    Axis, Cell as TableCell, Exhibit, Facts, KeyFigure, Marker, Metric, Page, Plot, Row, Scale,
    Series, Setting, Stroke, Table,
};
use steadfast_domain::{Caveat, Measurement, Nanos, Profile, Record, Verdict, caveats as ids};

/// Number of minutes averaged at the end of a saturation for the summary (our choice).
const LAST_MINUTES: usize = 5;

type WsatRun<'a> = StudiedRun<'a, Wsat>;

impl ProcedureReport for Wsat {
    type Results<'a> = WsatResults<'a>;

    const ENTRIES: &'static [ReportEntry<Self>] = &[
        ReportEntry::Summary,
        ReportEntry::Table(summary_table),
        ReportEntry::FormPlot(|run| iops_plot(run, WsatAxis::Time, Scale::Linear)),
        ReportEntry::Of(
            &[Profile::Pts11],
            &[
                ReportEntry::FormPlot(|run| iops_plot(run, WsatAxis::Time, Scale::Log10)),
                ReportEntry::FormPlot(|run| iops_plot(run, WsatAxis::Written, Scale::Linear)),
                ReportEntry::FormPlot(|run| iops_plot(run, WsatAxis::Written, Scale::Log10)),
            ],
        ),
        ReportEntry::Of(
            &[Profile::Tkperf],
            &[ReportEntry::FormPlot(average_latency_plot), ReportEntry::Chapters(tkperf_chapters)],
        ),
        ReportEntry::Of(
            &[Profile::Pts20, Profile::Quick],
            &[
                ReportEntry::FormPlot(|run| iops_plot(run, WsatAxis::Written, Scale::Linear)),
                ReportEntry::FormPlot(|run| iops_plot(run, WsatAxis::Fills, Scale::Linear)),
                ReportEntry::FormPlot(|run| response_plot(run, WsatAxis::Fills)),
                ReportEntry::Form("WSAT Response Time Histogram - Confidence Level Plot"),
                ReportEntry::Several(confidence),
            ],
        ),
        ReportEntry::Setup,
        ReportEntry::General,
        ReportEntry::Chapter("Saturation Second by Second"),
        ReportEntry::Plot(seconds_plot),
        ReportEntry::Plot(seconds_response),
        ReportEntry::Several(device_plots),
        ReportEntry::Chapter("Write Saturation"),
        ReportEntry::Listing(listing),
        ReportEntry::Table(summary_table),
        // The scale that page one of the form does not use.
        ReportEntry::Plot(|run| Plot {
            id: "iops-time-log-chapter".into(),
            ..iops_plot(run, WsatAxis::Time, Scale::Log10)
        }),
        ReportEntry::Plot(throughput_plot),
        ReportEntry::OptionalPlot(amplification_plot),
        ReportEntry::Chapter("WSAT SS Check"),
        ReportEntry::Several(steady_check),
        ReportEntry::Chapter("Steady State of the Rounds"),
        ReportEntry::Several(steady_evidence),
        ReportEntry::Chapter("Response Times"),
        ReportEntry::Plot(|run| response_plot(run, WsatAxis::Time)),
        ReportEntry::Plot(|run| response_plot(run, WsatAxis::Written)),
        ReportEntry::OptionalTable(histogram_percentiles),
        ReportEntry::OptionalPlot(histogram_tail),
        ReportEntry::Secondary,
        ReportEntry::Facts(|run| {
            let iops = run.results.last_steps(run.results.minutes.len()).and_then(|s| s.iops);
            let rows = secondary::rows(&run.results.secondary(), iops);
            Facts::new("Over the whole saturation").rows(rows)
        }),
        ReportEntry::Csv(minutes_table),
    ];
    const FRONT_PLOTS: &'static [&'static str] = &["seconds", "seconds-response"];
    // Below the seconds of the saturation.
    const DRAWS_ROUNDS: bool = false;

    fn studied<'a>(&'a self, record: &'a Record) -> StudiedRun<'a, Self> {
        let (choices, results) = (self.choices(record), WsatResults::new(self, record));
        StudiedRun { test: self, record, choices, results }
    }

    fn title(&self) -> String {
        format!("WSAT {}", self.workload)
    }

    fn form(run: &WsatRun<'_>) -> ReportForm {
        let demand = form_demand(run.test.demand);
        let rounds = match &run.results.verdict {
            Some(verdict) if !verdict.steady && ended_as_allowed(run) => {
                format!("not required: {}", end_text(run))
            }
            Some(verdict) => disclosure::window_text(verdict),
            None => "not judged (pseudo steady state)".into(),
        };
        let settings = run.choices.settings;
        let chosen = |id: &str, label: &str, value: Option<String>| {
            Setting::new(id, label, value, workload::origin(settings))
        };
        let read = run.test.workload.read_percent();
        let histogram = run.test.histogram_time;
        let second_demand = histogram.map(|_| demand.clone()).unwrap_or_default();
        ReportForm::new(
            "WSAT Test",
            &format!("WSAT - Write Saturation, {}", run.test.workload),
            &run.choices,
        )
        .set_up(disclosure::preconditioning_rows(&run.choices))
        .set_up([
            chosen("wdpc", "Pre Condition 2", Some(format!("{} (WDPC)", run.test.workload))),
            run.choices.demand_row("TOIO - TC/QD", demand.clone()),
            Setting::outcome("SS Rounds", &rounds),
            disclosure::note_row(&run.choices),
        ])
        .test_parameters([
            chosen("stimulus-1", "Test Stimulus 1", Some(run.test.workload.to_string())),
            chosen("mixes", "RW Mix", Some(format!("{read}/{}", 100 - read))),
            run.choices.demand_row("TOIO - TC/QD", demand.clone()),
            run.choices.step_row("Step"),
            Setting::outcome("Steady State", rounds),
            chosen(
                SECOND_STIMULUS,
                "Test Stimulus 2",
                histogram.map(|_| run.test.workload.to_string()),
            ),
            run.choices.demand_row("TOIO - TC/QD", second_demand).with_id("demand-2"),
            HISTOGRAM_TIME.row(settings, "Duration", histogram.map(|time| time.to_string())),
        ])
    }

    fn ending(run: &WsatRun<'_>) -> String {
        let Some(last) = run.results.minutes.last() else {
            return "The run is not finished: nothing has been written yet.".into();
        };
        let so_far = format!(
            "{} minutes, {} GB written, {} drive fills",
            number(last.time, 1),
            number(last.written_gb, 1),
            number(last.fills, 2)
        );
        match run.results.end {
            SaturationEnd::NotYet => format!("The run is not finished: {so_far}."),
            SaturationEnd::Written => format!("Ended after {}: {so_far}.", run.test.fills_text()),
            SaturationEnd::Time => format!("Ended by its time limit: {so_far}."),
            SaturationEnd::Count => {
                match run.results.verdict.as_ref().filter(|verdict| !verdict.steady) {
                    Some(verdict) => format!(
                        "Steady state NOT achieved in the maximum number of rounds{}: {so_far}.",
                        reservation_text(verdict)
                    ),
                    None => format!("Ended after the maximum number of steps: {so_far}."),
                }
            }
            SaturationEnd::Steady => {
                let (first, last) =
                    run.results.verdict.as_ref().and_then(|v| v.window).unwrap_or_default();
                let reservation =
                    run.results.verdict.as_ref().map(reservation_text).unwrap_or_default();
                format!("Steady state in rounds {first} to {last}{reservation}: {so_far}.")
            }
        }
    }

    /// A saturation ended by bytes or time has a verdict only if it is steady.
    fn verdict(run: &WsatRun<'_>) -> Option<Verdict> {
        let verdict = run.results.verdict.as_ref();
        verdict.filter(|verdict| verdict.steady || run.test.only_steady()).cloned()
    }

    fn caveats(run: &WsatRun<'_>) -> Vec<Caveat> {
        let mut caveats = Vec::new();
        let not_steady = run.results.verdict.as_ref().filter(|verdict| !verdict.steady);
        if let Some(verdict) = not_steady.filter(|_| run.record.has_ended()) {
            caveats.push(not_steady_caveat(run, verdict));
        }
        if run.record.has_ended() && run.results.verdict.is_none() {
            caveats.push(Caveat::remark(
                ids::PSEUDO_STEADY_STATE,
                format!("Steady state was not judged: the run ended {}.", run.test.ending_rule()),
                "",
            ));
        }
        caveats.extend(run.results.verdict.as_ref().and_then(between::fresh_caveat));
        caveats.extend(of_reads(run));
        caveats.extend(of_preconditioning(run));
        if run.test.histogram_time.is_some() {
            caveats.push(bins_caveat());
        }
        let document = &run.test.ground.method.document;
        let is_own = run.test.workload.to_string() == "RND 4K W";
        if !is_own && matches!(run.test.ground.settings.profile, Profile::Pts11 | Profile::Tkperf) {
            caveats.push(Caveat::deviation(
                ids::WORKLOAD,
                format!("WSAT of {document} writes RND 4K W; this run uses {}.", run.test.workload),
                "Omit --workload, or choose --profile pts-2.0.",
            ));
        }
        caveats
    }

    fn later_caveats(run: &WsatRun<'_>) -> Vec<Caveat> {
        run.test.workload.caveats()
    }

    /// Returns the fresh rate, the late rate and their ratio, and response times from the steps of
    /// the late rate.
    fn figures(run: &WsatRun<'_>) -> Vec<KeyFigure> {
        let name = &run.test.workload;
        let fresh = run.results.minutes.first().and_then(|minute| minute.iops);
        let mut figures =
            vec![KeyFigure::new("fresh-iops", format!("{name}, first step"), fresh, "IOPS")];
        let Some(LateRate { id, label, share, stretch }) = late_rate(run) else {
            return figures;
        };
        let ms = |time: Option<Nanos>| time.map(Nanos::as_millis_f64);
        let part = stretch.iops.zip(fresh.filter(|fresh| *fresh > 0.0)).map(|(l, f)| l / f * 100.0);
        let (mean, tail) = (stretch.tally.response_mean(), stretch.tally.percentile(FIVE_NINES));
        figures.extend([
            KeyFigure::new(&format!("{id}-iops"), format!("{name}, {label}"), stretch.iops, "IOPS"),
            KeyFigure::new(&format!("{id}-share"), share, part, "%"),
            KeyFigure::new(&format!("{id}-mean"), format!("Mean, {label}"), ms(mean), "ms"),
            KeyFigure::new(
                &format!("{id}-five-nines"),
                format!("99.999 %, {label}"),
                ms(tail),
                "ms",
            )
            .of_buckets(),
        ]);
        figures
    }

    /// First step, last step, steady window and histogram run in long form.
    fn metrics(run: &WsatRun<'_>) -> Vec<Metric> {
        let results = &run.results;
        let measured = |at: usize| results.steps.get(at).map(|(_, o)| vec![&o.measurement]);
        let last = results.steps.len().checked_sub(1).filter(|last| *last > 0);
        let window = run.test.between().and_then(|between| results.steady_minutes(between));
        let all: [(&str, Option<Vec<&Measurement>>); 4] = [
            (FIRST_STEP, measured(0)),
            (LAST_STEP, last.and_then(measured)),
            (SUSTAINED, window),
            (HISTOGRAM_RUN, results.histogram.map(|measurement| vec![measurement])),
        ];
        let of = |(name, steps): (&str, Option<Vec<&Measurement>>)| {
            let point = format!("{}{name}", run.test.workload);
            let pattern = run.test.workload.pattern();
            Some(MeasuredPoint { point: &point, pattern, steps: &steps?, rounds: false }.metrics())
        };
        all.into_iter().filter_map(of).flatten().collect()
    }
}

/// Ends of the names of WSAT's points, after the workload.
const FIRST_STEP: &str = ", first step";
const LAST_STEP: &str = ", last step";
const SUSTAINED: &str = ", sustained";
const HISTOGRAM_RUN: &str = ", histogram run";

/// End of the name of the point with the rate of the fresh drive, and its name in words.
pub(crate) const FRESH_POINT: (&str, &str) = (FIRST_STEP, "first step");

/// Ends of the names of the points that a saturation is summed up by, best first, and their names
/// in words.
pub(crate) const LATE_POINTS: [(&str, &str); 4] = [
    (SUSTAINED, "steady window"),
    (HISTOGRAM_RUN, "histogram run"),
    (LAST_STEP, "last step"),
    FRESH_POINT,
];

/// Returns true if the run ended at a limit that the method allows in place of steady state.
fn ended_as_allowed(run: &WsatRun<'_>) -> bool {
    matches!(run.results.end, SaturationEnd::Written | SaturationEnd::Time)
        && !run.test.only_steady()
}

/// Describes what ended the saturation, for the form.
fn end_text(run: &WsatRun<'_>) -> String {
    match run.results.end {
        SaturationEnd::Written => run.test.fills_text(),
        _ => "time limit".to_owned(),
    }
}

/// Returns the limit at which the saturation ended: an amount, a time, or the rounds.
fn limit_text(run: &WsatRun<'_>) -> String {
    let rounds = || run.test.between().map(|between| format!("{} rounds", between.cycles_max));
    match (run.results.end, run.test.time_limit) {
        (SaturationEnd::Written, _) => run.test.fills_text(),
        (SaturationEnd::Time, Some(time)) => time.to_string(),
        _ => rounds().unwrap_or_else(|| "steps".to_owned()),
    }
}

/// Returns a caveat on sequential preconditioning, which the method lacks.
fn of_preconditioning(run: &WsatRun<'_>) -> Option<Caveat> {
    let WsatPreconditioning::Wipc = &run.test.preconditioning else { return None };
    let text = format!(
        "2 x user capacity was written ({WIPC_PATTERN}) before the saturation; WSAT has no \
         workload-independent preconditioning, so this run did not begin with a fresh drive."
    );
    let remedy = "Omit --set precondition.";
    Some(Caveat::deviation(ids::PRECONDITION, text, remedy))
}

/// Returns a caveat if reads of a purged drive may access unwritten blocks.
fn of_reads(run: &WsatRun<'_>) -> Option<Caveat> {
    let is_mixed = (1..100).contains(&run.test.workload.read_percent());
    (is_mixed && !run.test.preconditioning.writes()).then(|| {
        Caveat::remark(
            ids::READS_UNWRITTEN,
            "Until the drive is full, some reads are of blocks that were not written since the \
             purge. A drive answers these without reading its flash.",
            "",
        )
    })
}

fn not_steady_caveat(run: &WsatRun<'_>, verdict: &Verdict) -> Caveat {
    if run.test.only_steady() {
        Caveat::invalidates(
            ids::STEADY_STATE_NOT_ACHIEVED,
            format!(
                "STEADY STATE NOT ACHIEVED{}: the values are those of the minutes that ran.",
                reservation_text(verdict)
            ),
            "Repeat the run with more rounds (--max-rounds).",
        )
    } else {
        Caveat::remark(
            ids::ENDED_BEFORE_STEADY_STATE,
            format!(
                "The saturation ended at its limit of {} before five rounds met 20/10. The method \
                 allows this.",
                limit_text(run)
            ),
            "Choose --steady-state btw to run until they do.",
        )
    }
}

/// The late rate of page one: its steps, and how it may be called.
struct LateRate {
    /// Prefix of the IDs of its figures: figures of different kinds are never compared.
    id: &'static str,
    /// Text after the workload's name.
    label: String,
    /// Label of its ratio to the fresh rate.
    share: String,
    stretch: MergedSteps,
}

/// Chooses the rate to compare with the fresh drive. Only a steady window is called "sustained".
/// Without one it is the histogram run, which follows the saturation directly; without that, the
/// last steps, which were not steady.
fn late_rate(run: &WsatRun<'_>) -> Option<LateRate> {
    let window = run.test.between().and_then(|between| run.results.steady_window(between));
    if let Some(stretch) = window {
        let (label, share) = ("sustained".to_owned(), "Sustained share of fresh".to_owned());
        return Some(LateRate { id: "sustained", label, share, stretch });
    }
    if let (Some(histogram), Some(time)) = (run.results.histogram, run.test.histogram_time) {
        let label = format!("mean of the {time} after the saturation");
        let share = format!("Share of fresh, mean of the {time} after");
        let stretch = MergedSteps::of_measurement(histogram);
        return Some(LateRate { id: "after", label, share, stretch });
    }
    // With so few steps the mean would include the first one and mix two states.
    let (count, of) = match run.results.minutes.len() {
        0 | 1 => return None,
        few if few <= LAST_MINUTES => (1, "last step".to_owned()),
        _ => (LAST_MINUTES, format!("mean of the last {LAST_MINUTES} steps")),
    };
    let label = format!("{of}, not steady");
    let share = format!("Share of fresh, {label}");
    Some(LateRate { id: "last", label, share, stretch: run.results.last_steps(count)? })
}

const STEP: [TypedColumn<WsatMinute>; 9] = [
    TypedColumn::number("IOPS", 1, |minute| minute.iops),
    TypedColumn::number("MB/s", 1, |minute| minute.mb_per_second),
    TypedColumn::number("ART ms", 3, |minute| minute.art),
    TypedColumn::number("Min ms", 3, |minute| minute.shortest),
    TypedColumn::number("99.999 % ms", 3, |minute| minute.five_nines),
    TypedColumn::number("MRT ms", 3, |minute| minute.mrt),
    TypedColumn::number("Time min", 2, |minute| Some(minute.time)),
    TypedColumn::number("Written GB", 2, |minute| Some(minute.written_gb)),
    TypedColumn::number("Drive fills", 3, |minute| Some(minute.fills)),
];

/// Returns the summary shown on a terminal.
fn summary_table(run: &WsatRun<'_>) -> Table {
    let minutes = &run.results.minutes;
    let mut rows = Vec::new();
    for (head, minute) in [("First step", minutes.first()), ("Last step", minutes.last())] {
        rows.push(match minute {
            Some(minute) => typed_row(head, &STEP, minute),
            None => Row::new(head, vec![TableCell::Missing; STEP.len()]),
        });
    }
    let mean = |head: &str, iops: Option<f64>| {
        let mut cells = vec![TableCell::Missing; STEP.len()];
        cells[0] = TableCell::number(iops, 1);
        Row::new(head, cells).strong(true)
    };
    let track = run.results.verdict.as_ref().and_then(|v| v.tracks.first().map(|t| (v, t)));
    if let Some((verdict, track)) = track {
        let name = if verdict.steady {
            "Measurement window (steady)"
        } else {
            "Last five rounds (NOT steady)"
        };
        rows.push(mean(name, Some(track.average)));
    }
    // With fewer steps the mean would include the first one and mix two states.
    if minutes.len() > LAST_MINUTES {
        let last = run.results.last_steps(LAST_MINUTES).and_then(|stretch| stretch.iops);
        rows.push(mean(&format!("Mean of the last {LAST_MINUTES} steps"), last));
    }
    rows.extend(run.results.histogram.map(histogram_row));
    typed_table("wsat-summary", "Write saturation", "", &STEP).rows(rows)
}

/// Returns the row of the histogram run, which follows the saturation.
fn histogram_row(measurement: &Measurement) -> Row {
    let tally = measurement.total();
    let ms = |time: Option<Nanos>| TableCell::number(time.map(Nanos::as_millis_f64), 3);
    Row::new(
        "Histogram run, after the saturation",
        [
            TableCell::number(measurement.iops(), 1),
            TableCell::number(measurement.mb_per_second(), 1),
            ms(tally.response_mean()),
            ms(tally.response_shortest()),
            ms(tally.percentile(FIVE_NINES)),
            ms(tally.response_longest()),
            TableCell::Missing,
            TableCell::Missing,
            TableCell::Missing,
        ],
    )
}

/// Quantity on the x axis.
#[derive(Clone, Copy)]
enum WsatAxis {
    Time,
    Written,
    Fills,
}

impl WsatAxis {
    /// Returns the suffix of the plot's ID, and of its title.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            WsatAxis::Time => ("time", "Time"),
            WsatAxis::Written => ("tgbw", "TGBW"),
            WsatAxis::Fills => ("fills", "Drive Fills"),
        }
    }
    fn axis(self, run: &WsatRun<'_>) -> Axis {
        match self {
            WsatAxis::Time => between::time_axis("Time", run.test.ground.minute).0,
            WsatAxis::Written => Axis::new("Total written (GB)", Scale::Linear),
            WsatAxis::Fills => Axis::new("Drive fills (written / user capacity)", Scale::Linear),
        }
    }
    fn position(self, run: &WsatRun<'_>, minute: &WsatMinute) -> f64 {
        match self {
            WsatAxis::Time => minute.time * between::time_axis("Time", run.test.ground.minute).1,
            WsatAxis::Written => minute.written_gb,
            WsatAxis::Fills => minute.fills,
        }
    }
}

/// Reads a value of a minute.
type WsatMinuteValue = fn(&WsatMinute) -> Option<f64>;

fn curve(run: &WsatRun<'_>, against: WsatAxis, value: WsatMinuteValue) -> Vec<(f64, Option<f64>)> {
    let mut points = Vec::new();
    for minute in &run.results.minutes {
        let x = against.position(run, minute);
        if minute.gap && !points.is_empty() {
            // A line across a gap would show values that were not measured.
            points.push((x, None));
        }
        points.push((x, value(minute)));
    }
    points
}

fn iops_plot(run: &WsatRun<'_>, against: WsatAxis, scale: Scale) -> Plot {
    let (id, name) = against.names();
    let (suffix, of_scale) = match scale {
        Scale::Log10 => ("-log", " (Log)"),
        _ => ("", " (Linear)"),
    };
    Plot::lines(
        &format!("iops-{id}{suffix}"),
        format!("WSAT IOPS{of_scale} v {name} - {}", run.test.workload),
        against.axis(run),
        Axis::new("IOPS", scale),
    )
    .caption(format!(
        "IOPS of every step of {}, reads and writes added, since the purge. A gap breaks the line.",
        run.test.ground.minute
    ))
    .with(Series::new(
        run.test.workload.to_string(),
        Stroke::Average,
        curve(run, against, |m| m.iops),
    ))
}

fn response_plot(run: &WsatRun<'_>, against: WsatAxis) -> Plot {
    let (id, name) = against.names();
    Plot::lines(
        &format!("response-{id}"),
        format!("WSAT Response Times v {name} - {}", run.test.workload),
        against.axis(run),
        Axis::new("Response time (ms)", Scale::Log10),
    )
    .caption(
        "Average, 99.999 % and maximum response time of every step; 99.999 % only where ten or \
         more I/Os lie beyond it.",
    )
    .with(Series::new("MRT", Stroke::Context, curve(run, against, |m| m.mrt)))
    .with(Series::new("99.999 %", Stroke::Fit, curve(run, against, |m| m.five_nines)))
    .with(Series::new("ART", Stroke::Average, curve(run, against, |m| m.art)))
}

/// Returns the mean of every step at the middle of the step, so that it matches the curve of the
/// seconds.
fn step_means(run: &WsatRun<'_>) -> Vec<(f64, Option<f64>)> {
    let (_, unit) = between::time_axis("Time", run.test.ground.minute);
    let mut points = Vec::new();
    let mut begin = 0.0;
    for minute in &run.results.minutes {
        let middle = f64::midpoint(begin, minute.time) * unit;
        if minute.gap && !points.is_empty() {
            points.push((middle, None));
        }
        points.push((middle, minute.iops));
        begin = minute.time;
    }
    points
}

/// Maximum number of marks on the axis of time.
const FILLS_MARKED: usize = 10;

/// Marks the times at which the user capacity was written once, twice, and so on.
fn fills(run: &WsatRun<'_>, unit: f64) -> Vec<Marker> {
    let mut marks: Vec<Marker> = Vec::new();
    let mut before = (0.0, 0.0);
    for minute in &run.results.minutes {
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

fn throughput_plot(run: &WsatRun<'_>) -> Plot {
    Plot::lines(
        "throughput-time",
        format!("WSAT Throughput v Time - {}", run.test.workload),
        WsatAxis::Time.axis(run),
        Axis::new("MB/s", Scale::Linear),
    )
    .caption("MB/s of every step, reads and writes added.")
    .with(Series::new(
        run.test.workload.to_string(),
        Stroke::Average,
        curve(run, WsatAxis::Time, |m| m.mb_per_second),
    ))
}

fn listing(run: &WsatRun<'_>) -> String {
    let histogram = run.test.histogram_time.map(|time| {
        format!(
            "\n{} at {} for {time}; record every response time",
            run.test.workload, run.test.demand
        )
    });
    format!(
        "Purge{}\n{} at {} without a pause, accounted in \
         steps of {}\n  ends {}{}",
        match &run.test.preconditioning {
            WsatPreconditioning::Nothing => " (no workload independent preconditioning)".to_owned(),
            WsatPreconditioning::Wipc => "; 2 x user capacity written sequentially".to_owned(),
            WsatPreconditioning::OnePass(pass) => format!("; {}", pass.text()),
        },
        run.test.workload,
        run.test.demand,
        run.test.ground.minute,
        run.test.ending_rule(),
        histogram.unwrap_or_default()
    )
}

/// Plots the way from fresh to steady: IOPS of every second, means of the steps, and the times of
/// full writes.
fn seconds_plot(run: &WsatRun<'_>) -> Plot {
    let seconds = seconds::seconds(&run.results.steps);
    let (time, unit) = between::time_axis("Time", run.test.ground.minute);
    let title = format!("WSAT IOPS, second by second - {}", run.test.workload);
    Plot::lines("seconds", title, time, Axis::new("IOPS", Scale::Linear))
        .caption(format!(
            "IOPS of every second, and the mean of every step of {} at the step's middle; reads \
             and writes added. Marked: once, twice, ... the user capacity written.",
            run.test.ground.minute
        ))
        .with(Series::new(
            "every second",
            Stroke::Context,
            seconds::curve(&seconds, unit, |s| s.iops),
        ))
        .with(Series::new("step mean", Stroke::Measured, step_means(run)))
        .markers(fills(run, unit))
}

fn seconds_response(run: &WsatRun<'_>) -> Plot {
    let seconds = seconds::seconds(&run.results.steps);
    let axis = between::time_axis("Time", run.test.ground.minute);
    let title = format!("WSAT response times, second by second - {}", run.test.workload);
    seconds::response_plot(("seconds-response", &title), axis, &seconds)
}

/// Plots what the device reports of itself below the curves.
fn device_plots(run: &WsatRun<'_>) -> Vec<Exhibit> {
    let minutes = &run.results.minutes;
    let point = |minute: &WsatMinute| DevicePoint {
        x: WsatAxis::Time.position(run, minute),
        breaks: minute.gap,
        amplification: minute.amplification.and_then(|found| found.value()),
        temperature: minute.temperature,
        watts: minute.watts,
        joules_per_gb: minute.joules_per_gb,
    };
    let points: Vec<DevicePoint> = minutes.iter().map(point).collect();
    let caption = "As the device reports it, step by step.";
    device_curves::device_plots("seconds", &WsatAxis::Time.axis(run), caption, &points, &[])
}

fn average_latency_plot(run: &WsatRun<'_>) -> Plot {
    Plot::lines(
        "art-time",
        format!("WSAT Average Latency v Time - {}", run.test.workload),
        WsatAxis::Time.axis(run),
        Axis::new("ART (ms)", Scale::Linear),
    )
    .caption("Average response time of every step.")
    .with(Series::new("ART", Stroke::Average, curve(run, WsatAxis::Time, |m| m.art)))
}

fn amplification_plot(run: &WsatRun<'_>) -> Option<Plot> {
    let is_known = run
        .results
        .minutes
        .iter()
        .any(|minute| minute.amplification.is_some_and(|found| found.value().is_some()));
    if !is_known {
        return None;
    }
    let plot = Plot::lines(
        "write-amplification",
        "Write amplification v Drive Fills",
        Axis::new("Drive fills (written / user capacity)", Scale::Linear),
        Axis::new("Flash bytes per host byte", Scale::Linear),
    )
    .caption("As the device reports it, step by step.")
    .with(Series::new(
        "write amplification",
        Stroke::Average,
        curve(run, WsatAxis::Fills, |m| m.amplification?.value()),
    ));
    Some(plot)
}

fn confidence(run: &WsatRun<'_>) -> Vec<Exhibit> {
    let Some(measurement) = run.results.histogram else {
        let text = "The histogram run has not taken place yet, or a gap voided it.";
        return vec![Exhibit::Text(text.into())];
    };
    let tally = measurement.total();
    let rates =
        HistogramRates { iops: measurement.iops(), mb_per_second: measurement.mb_per_second() };
    let name = format!("{} {}", run.test.workload, run.test.demand);
    let title = rated_title(&name, rates, &tally);
    vec![Exhibit::Plot(confidence_plot("clp", &title, &tally))]
}

/// Returns the test in the form of a TKperf report.
fn tkperf_chapters(run: &WsatRun<'_>) -> Vec<Page> {
    let minute =
        |m: &WsatMinute| tkperf::SaturatedMinute { iops: m.iops, mean_ms: m.art, gap: m.gap };
    let minutes: Vec<_> = run.results.minutes.iter().map(minute).collect();
    tkperf::write_saturation(listing(run), &minutes)
}

/// Returns the exhibits of the steady-state check; empty if nothing is judged.
fn steady_check(run: &WsatRun<'_>) -> Vec<Exhibit> {
    match (run.test.between(), &run.results.verdict) {
        (Some(_), Some(verdict)) => check_exhibits(verdict, "wsat-window"),
        _ => Vec::new(),
    }
}

/// Returns the evidence; empty if nothing is or could be judged.
fn steady_evidence(run: &WsatRun<'_>) -> Vec<Exhibit> {
    let Some(between) = run.test.between().filter(|_| run.results.verdict.is_some()) else {
        return Vec::new();
    };
    let steps = &run.results.steps;
    if between.track(steps).points.is_empty() {
        return Vec::new();
    }
    let mut exhibits = evidence(between, steps, "wsat");
    let names = ("measured-minutes", "Rounds of the saturation");
    exhibits.push(Exhibit::Plot(between::convergence_plot(between, steps, names)));
    exhibits
}

fn histogram_percentiles(run: &WsatRun<'_>) -> Option<Table> {
    let columns = [(run.test.workload.to_string(), run.results.histogram?.total())];
    let time = HISTOGRAM_TIME.value(&run.test.ground.settings);
    let title = format!("Response times of the histogram run ({time}), ms");
    Some(percentile_table("histogram-percentiles", &title, &columns))
}

fn histogram_tail(run: &WsatRun<'_>) -> Option<Plot> {
    let columns = [(run.test.workload.to_string(), run.results.histogram?.total())];
    let title = format!("Response times of the histogram run - {}", run.test.workload);
    Some(tail_plot("histogram-tail", &title, &columns))
}

const EVERY_MINUTE: [TypedColumn<WsatMinute>; 12] = [
    TypedColumn::number("Round", 0, |minute| Some(f64::from(minute.round))),
    TypedColumn::number("Time min", 4, |minute| Some(minute.time)),
    TypedColumn::number("Written GB", 6, |minute| Some(minute.written_gb)),
    TypedColumn::number("Drive fills", 6, |minute| Some(minute.fills)),
    TypedColumn::number("IOPS", 3, |minute| minute.iops),
    TypedColumn::number("MB/s", 3, |minute| minute.mb_per_second),
    TypedColumn::number("ART ms", 6, |minute| minute.art),
    TypedColumn::number("Min ms", 6, |minute| minute.shortest),
    TypedColumn::number("99.999 % ms", 6, |minute| minute.five_nines),
    TypedColumn::number("MRT ms", 6, |minute| minute.mrt),
    TypedColumn::cell("Write amplification", |minute| amplification(minute.amplification, 3)),
    TypedColumn::cell("Gap before", |minute| TableCell::text(if minute.gap { "gap" } else { "" })),
];

/// Returns one line per minute, for spreadsheets.
fn minutes_table(run: &WsatRun<'_>) -> Table {
    let minutes = (1..).zip(&run.results.minutes);
    typed_table("minutes", "Every minute of the saturation", "Step", &EVERY_MINUTE).rows(
        minutes.map(|(step, minute): (u32, _)| typed_row(step.to_string(), &EVERY_MINUTE, minute)),
    )
}
