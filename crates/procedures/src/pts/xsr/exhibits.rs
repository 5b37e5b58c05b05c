//! Exhibits of XSR: the pages of the 2.0 form (throughput, response times, table of recovery), and
//! those of 1.1 (windows around the switches).

use super::results::{NEARLY, RecoveryTime, SegmentResult, XsrResults, XsrStep};
use super::setup::{FIRST_TIME, LAST_TIME, MIDDLE_TIME, Xsr};
use crate::common::choices::RunChoices;
use crate::common::metrics::MeasuredPoint;
use crate::exhibits::disclosure::{self, ReportForm, form_demand};
use crate::exhibits::report::{ProcedureReport, ReportEntry, StudiedRun};
use crate::exhibits::response::{percentile_table, tail_plot};
use crate::exhibits::secondary::{self, SecondaryPoint};
use crate::exhibits::seconds;
use crate::exhibits::time_axis::PlotTimeAxis;
use crate::exhibits::typed_table::{TypedColumn, typed_row, typed_table};
use crate::report_notation::number;
use steadfast_domain::findings::{
    Axis, BandEdge, Cell as TableCell, KeyFigure, Marker, Metric, Origin, Plot, Scale, Series,
    Setting, Stroke, Table,
};
use steadfast_domain::{Profile, Record, Step, Tally};

/// Time shown on either side of a switch, in minutes (public implementation).
const AROUND_SWITCH: f64 = 120.0;
/// For shorter segments, the fraction of the shorter neighbor that is shown.
const PART_OF_SEGMENT: f64 = 3.0;

const NOT_11: &[Profile] = &[Profile::Pts20, Profile::Tkperf, Profile::Quick];

type XsrRun<'a> = StudiedRun<'a, Xsr>;

impl ProcedureReport for Xsr {
    type Results<'a> = XsrResults<'a>;
    const TITLE: &'static str = "XSR";

    const ENTRIES: &'static [ReportEntry<Self>] = &[
        ReportEntry::Summary,
        ReportEntry::Table(|run| segments_table(run, "xsr-summary")),
        ReportEntry::FormPlot(all_segments_plot),
        ReportEntry::Of(
            &[Profile::Pts11],
            &[
                ReportEntry::FormPlot(|run| switch_plot(run, 1)),
                ReportEntry::FormPlot(|run| switch_plot(run, 2)),
                ReportEntry::FormPlot(mrt_plot),
                ReportEntry::FormPlot(art_plot),
            ],
        ),
        ReportEntry::Of(
            NOT_11,
            &[
                ReportEntry::FormPlot(combined_plot),
                ReportEntry::Form("XSR End of Segment TP, Peak ART, Peak MRT, Recovery"),
                ReportEntry::Table(|run| segments_table(run, "segments")),
                ReportEntry::Text(recovery_text),
                ReportEntry::Text(near_recovery_text),
            ],
        ),
        ReportEntry::Setup,
        ReportEntry::Chapter("Segments"),
        ReportEntry::Listing(listing),
        ReportEntry::Table(|run| segments_table(run, "segments-chapter")),
        ReportEntry::Text(recovery_text),
        ReportEntry::Text(near_recovery_text),
        ReportEntry::OptionalPlot(recovery_plot),
        ReportEntry::Of(
            NOT_11,
            &[
                ReportEntry::Plot(|run| switch_plot(run, 1)),
                ReportEntry::Plot(|run| switch_plot(run, 2)),
            ],
        ),
        ReportEntry::Chapter("Response Times"),
        ReportEntry::Table(|run| {
            let title = "Response times of the segments, ms";
            percentile_table("segment-percentiles", title, &tallies(run))
        }),
        ReportEntry::Plot(|run| {
            tail_plot("segment-tails", "Response times of the segments", &tallies(run))
        }),
        ReportEntry::Of(NOT_11, &[ReportEntry::Plot(art_plot), ReportEntry::Plot(mrt_plot)]),
        ReportEntry::Secondary,
        ReportEntry::Table(secondary_table),
        ReportEntry::Csv(steps_table),
    ];
    const FRONT_PLOTS: &'static [&'static str] = &["tp-all", "recovery"];

    fn studied<'a>(&'a self, record: &'a Record) -> StudiedRun<'a, Self> {
        let (choices, results) = (self.choices(record), XsrResults::new(self, record));
        StudiedRun { test: self, record, choices, results }
    }

    fn form(run: &XsrRun<'_>) -> ReportForm {
        let mut stimuli = Vec::new();
        for (number, segment) in (1..).zip(&run.test.segments) {
            let (id, label) = (format!("stimulus-{number}"), format!("Test Stimulus {number}"));
            stimuli.push(disclosure::profile_row(&id, &label, segment.workload.to_string()));
            let id = format!("demand-and-time-{number}");
            let demand_and_time = format!("{}, {}", form_demand(segment.demand), segment.time);
            let origin = segment_origin(&run.choices, number);
            stimuli.push(Setting::new(&id, "TC/QD, Duration", demand_and_time, origin));
        }
        ReportForm::new("XSR Test", "XSR - Cross Stimulus Recovery", &run.choices)
            .set_up(disclosure::preconditioning_rows(&run.choices))
            .set_up([
                disclosure::profile_row("wdpc", "Pre Condition 2", ""),
                disclosure::profile_row("wdpc-demand", "TOIO - TC/QD", ""),
                Setting::outcome("SS Rounds", ""),
                disclosure::note_row(&run.choices),
            ])
            .test_parameters(stimuli)
            .test_parameters([
                run.choices.step_row("Step"),
                Setting::outcome("Steady State", "none: by time"),
            ])
    }

    fn ending(run: &XsrRun<'_>) -> String {
        if !run.record.has_ended() {
            let started = run.results.segments.iter().filter(|s| !s.steps.is_empty()).count();
            return format!("The run is not finished: {started} of 3 segments have begun.");
        }
        format!("All three segments ran without interruption. {}", recovery_text(run))
    }

    fn reports(_: &XsrRun<'_>, _: &Step) -> bool {
        true
    }

    /// Returns end-of-segment throughput, peaks and recovery.
    fn figures(run: &XsrRun<'_>) -> Vec<KeyFigure> {
        let mut figures = Vec::new();
        for (number, segment) in (1..).zip(&run.results.segments) {
            let id = format!("segment-{number}-rate");
            let label = format!("Segment {number}, {}", segment_name(segment));
            figures.push(KeyFigure::new(&id, label, segment.average(), "MB/s"));
        }
        let step = run.test.setup.step_time;
        for (id, label, recovery) in [
            ("recovery", format!("Bandwidth recovery, in steps of {step}"), run.results.recovery),
            ("recovery-nearly", format!("To {NEARLY} % of segment 1"), run.results.nearly),
            (
                "recovery-range",
                "To the range of segment 1's steps".to_owned(),
                run.results.within_range,
            ),
        ] {
            let (value, unit) = match recovery {
                RecoveryTime::After(minutes) => {
                    let StepResolvedTime { value, unit } = in_step_unit(run, minutes);
                    (Some(value), unit)
                }
                RecoveryTime::NotYet | RecoveryTime::NotMeasured => (None, "min"),
            };
            figures.push(KeyFigure::new(id, label, value, unit).whole());
        }
        figures
    }

    /// Returns every segment in long form.
    fn metrics(run: &XsrRun<'_>) -> Vec<Metric> {
        let mut metrics = Vec::new();
        for (point, segment) in numbered_segments(run) {
            let steps = segment.measurements();
            let pattern = segment.segment.workload.pattern();
            let measured = MeasuredPoint { point: &point, pattern, steps: &steps, rounds: false };
            metrics.extend(measured.metrics());
        }
        metrics
    }
}

/// Describes when the last segment came close to the recovery level, which a drive back at full
/// speed passes by chance.
fn near_recovery_text(run: &XsrRun<'_>) -> String {
    let text = |recovery| match recovery {
        RecoveryTime::After(minutes) => format!("after {}", recovery_time_text(run, minutes)),
        RecoveryTime::NotYet => "not yet".to_owned(),
        RecoveryTime::NotMeasured => "not measured".to_owned(),
    };
    format!(
        "{NEARLY} % of the first segment's average: {}. Within the range of the first segment's \
         own steps: {}.",
        text(run.results.nearly),
        text(run.results.within_range)
    )
}

/// A time in the unit that the steps can resolve.
struct StepResolvedTime {
    value: f64,
    /// `min` or `s`.
    unit: &'static str,
}

fn in_step_unit(run: &XsrRun<'_>, minutes: f64) -> StepResolvedTime {
    if has_whole_minutes(run) {
        StepResolvedTime { value: minutes, unit: "min" }
    } else {
        StepResolvedTime { value: minutes * 60.0, unit: "s" }
    }
}

/// Returns a recovery time with the length of a step, its resolution.
fn recovery_time_text(run: &XsrRun<'_>, minutes: f64) -> String {
    let StepResolvedTime { value, unit } = in_step_unit(run, minutes);
    format!("{} {unit} (in steps of {})", number(value, 0), run.test.setup.step_time)
}

/// Returns true if every step ends at a whole minute.
fn has_whole_minutes(run: &XsrRun<'_>) -> bool {
    run.test.setup.step_time.0.is_multiple_of(60_000_000_000)
}

fn recovery_text(run: &XsrRun<'_>) -> String {
    let level = format!("{} % of the first segment's average throughput", run.test.recovery_level);
    match run.results.recovery {
        RecoveryTime::NotMeasured => "Recovery is not measured yet.".into(),
        RecoveryTime::NotYet => {
            format!("Not recovered yet: the last segment never reached {level}.")
        }
        RecoveryTime::After(minutes) => {
            format!("Recovered after {}: {level} reached.", recovery_time_text(run, minutes))
        }
    }
}

/// Returns the origin of a segment's demand and time.
fn segment_origin(choices: &RunChoices<'_>, number: usize) -> Origin {
    let time = [FIRST_TIME, MIDDLE_TIME, LAST_TIME][number - 1].origin(choices.settings);
    // Only the demand of the middle segment can be chosen.
    match (number, choices.demand_origin()) {
        (2, Origin::Chosen) => Origin::Chosen,
        _ => time,
    }
}

fn segment_columns<'a>() -> [TypedColumn<SegmentResult<'a>>; 4] {
    [
        TypedColumn::number("Average MB/s", 1, SegmentResult::average),
        TypedColumn::number("End of segment MB/s", 1, SegmentResult::end),
        TypedColumn::number("Peak ART ms", 3, SegmentResult::peak_art),
        TypedColumn::number("Peak MRT ms", 3, SegmentResult::peak_mrt),
    ]
}

/// Returns the table of segments; only the last one has a recovery.
fn segments_table(run: &XsrRun<'_>, id: &str) -> Table {
    let decimals = if has_whole_minutes(run) { 0 } else { 2 };
    let recovery_cell = |recovery: RecoveryTime| match recovery {
        RecoveryTime::After(minutes) => TableCell::number(Some(minutes), decimals),
        RecoveryTime::NotYet => TableCell::text("not yet"),
        RecoveryTime::NotMeasured => TableCell::Missing,
    };
    let XsrResults { recovery, nearly, within_range, .. } = &run.results;
    let columns = segment_columns();
    let mut rows = Vec::new();
    for (index, (name, segment)) in numbered_segments(run).enumerate() {
        let mut row = typed_row(name, &columns, segment);
        if index == 2 {
            row.cells.extend([*recovery, *nearly, *within_range].map(recovery_cell));
        } else {
            row.cells.extend(std::iter::repeat_n(TableCell::text(""), 3));
        }
        rows.push(row);
    }
    typed_table(id, "Segments: throughput, peaks and recovery", "Segment", &columns)
        .columns(["Bandwidth recovery min", "To 95 % min", "To segment 1's range min"])
        .rows(rows)
}

fn segment_name(segment: &SegmentResult<'_>) -> String {
    format!("{} {}", segment.segment.workload, segment.segment.demand)
}

fn all_segments_plot(run: &XsrRun<'_>) -> Plot {
    let title = "XSR TP v Time - All Access Groups";
    throughput_plot(run, &WHOLE_RUN, Scale::Linear, "tp-all", title)
}

fn art_plot(run: &XsrRun<'_>) -> Plot {
    response_plot(run, "ART", "art-time", |step| step.art)
}

fn mrt_plot(run: &XsrRun<'_>) -> Plot {
    response_plot(run, "MRT", "mrt-time", |step| step.mrt)
}

/// Part of the time of a run, in minutes since the first segment began.
type TimeWindow = std::ops::RangeInclusive<f64>;

/// Returns a value of the steps inside a window as one curve per segment.
fn curves(
    run: &XsrRun<'_>,
    window: &TimeWindow,
    value: fn(&XsrStep) -> Option<f64>,
) -> Vec<Series> {
    let axis = time_axis(run);
    let mut curves = Vec::new();
    for (index, (name, segment)) in numbered_segments(run).enumerate() {
        let steps = segment.steps.iter().filter(|step| window.contains(&step.time));
        let points: Vec<_> = steps.map(|step| (axis.position(step.time), value(step))).collect();
        // Sequential segments look alike, the random one differs.
        let stroke = if index == 1 { Stroke::Fit } else { Stroke::Average };
        if !points.is_empty() {
            curves.push(Series::new(name, stroke, points));
        }
    }
    curves
}

/// Returns the axis of the time since the first segment began.
fn time_axis(run: &XsrRun<'_>) -> PlotTimeAxis {
    PlotTimeAxis::for_steps("Time", run.test.setup.step_time)
}

/// Returns a marker where each segment after the first begins, inside a window.
fn switch_markers(run: &XsrRun<'_>, window: &TimeWindow) -> Vec<Marker> {
    let axis = time_axis(run);
    let mut markers = Vec::new();
    for (index, segment) in run.results.segments.iter().enumerate().skip(1) {
        let time = run.results.begins(index);
        if !segment.steps.is_empty() && window.contains(&time) {
            let label = format!("segment {}", index + 1);
            markers.push(Marker { x: axis.position(time), label });
        }
    }
    markers
}

/// Window of all steps.
const WHOLE_RUN: TimeWindow = 0.0..=f64::INFINITY;

fn throughput_plot(
    run: &XsrRun<'_>,
    window: &TimeWindow,
    x_scale: Scale,
    id: &str,
    title: &str,
) -> Plot {
    let x = Axis { scale: x_scale, ..time_axis(run).axis };
    Plot::lines(id, title, x, Axis::new("Throughput (MB/s)", Scale::Linear))
        .caption(format!("MB/s of every step of {}, since the purge.", run.test.setup.step_time))
        .series(curves(run, window, |step| step.mb_per_second))
        .markers(switch_markers(run, window))
}

/// Plots throughput on both sides of the switch from segment `index` to the next.
fn switch_plot(run: &XsrRun<'_>, index: usize) -> Plot {
    let switch = run.results.begins(index);
    let before = switch - run.results.begins(index - 1);
    let end = run.results.segments[index].steps.last().map_or(switch, |step| step.time);
    let half_width = AROUND_SWITCH.min(before.min(end - switch) / PART_OF_SEGMENT);
    let window = switch - half_width..=switch + half_width;
    let title = format!("XSR TP v Time - Groups {index} & {}", index + 1);
    let id = format!("tp-switch-{index}");
    throughput_plot(run, &window, Scale::LinearFitted, &id, &title)
}

/// Part of the last segment that is drawn, as a multiple of the recovery time.
const RECOVERY_TIMES_DRAWN: f64 = 3.0;
/// Minimum time that is drawn, in minutes.
const DRAWN_MINUTES_MIN: f64 = 10.0;

/// Plots the last segment from its start until some time after its recovery: every second, the
/// steps, the recovery level, and the range of the first segment's steps.
fn recovery_plot(run: &XsrRun<'_>) -> Option<Plot> {
    let (first, last) = (run.results.segments.first()?, run.results.segments.last()?);
    let begin = run.results.begins(run.results.segments.len() - 1);
    let segment_time = last.steps.last()?.time - begin;
    let recovered = match run.results.recovery {
        RecoveryTime::After(minutes) => Some(minutes),
        RecoveryTime::NotYet | RecoveryTime::NotMeasured => None,
    };
    let drawn_time = |recovery: f64| (recovery * RECOVERY_TIMES_DRAWN).max(DRAWN_MINUTES_MIN);
    let end = recovered.map_or(segment_time, drawn_time).min(segment_time);
    let time = PlotTimeAxis::for_steps("Time since the switch", run.test.setup.step_time);
    let seconds = seconds::curve(&seconds::seconds(&last.outcomes), &time, |s| s.mb_per_second);
    let right = time.position(end);
    let seconds = seconds.into_iter().filter(|(x, _)| *x <= right).collect();
    // A step's mean is drawn at its middle, like the seconds around it.
    let mut steps = Vec::new();
    for step in last.steps.iter().filter(|step| step.time - begin <= end * 1.000_001) {
        let middle = time.position(f64::midpoint(step.begin, step.time) - begin);
        steps.push((middle, step.mb_per_second));
    }
    let rates = || first.steps.iter().filter_map(|step| step.mb_per_second);
    let (low, high) = (rates().min_by(f64::total_cmp), rates().max_by(f64::total_cmp));
    let ends = [0.0, right].map(|x| BandEdge { x, low, high });
    let band = Series::band("first segment's steps", &ends);
    let level = first.average().map(|rate| rate * f64::from(run.test.recovery_level) / 100.0);
    let name = format!("{} % of its average", run.test.recovery_level);
    let threshold = vec![(0.0, level), (right, level)];
    let marker = recovered.map(|minutes| {
        let StepResolvedTime { value, unit } = in_step_unit(run, minutes);
        let label = format!("recovered: {} {unit}", number(value, 0));
        Marker { x: time.position(minutes), label }
    });
    let y = Axis::new("Throughput (MB/s)", Scale::Linear);
    let plot = Plot::lines("recovery", "XSR Recovery after the switch", time.axis, y)
        .caption(
            "Throughput of the last segment: every second, and the mean of every step at the \
             step's middle. Band: from the lowest to the highest step of the first segment. \
             Dashed: what counts as recovered.",
        )
        .with(band)
        .with(Series::new("every second", Stroke::Context, seconds))
        .with(Series::new(name, Stroke::Limit, threshold))
        .with(Series::new("step", Stroke::Measured, steps))
        .markers(marker);
    Some(plot)
}

fn response_plot(
    run: &XsrRun<'_>,
    name: &str,
    id: &str,
    value: fn(&XsrStep) -> Option<f64>,
) -> Plot {
    let y = Axis::new(format!("{name} (ms)"), Scale::Log10);
    Plot::lines(id, format!("XSR {name} v Time"), time_axis(run).axis, y)
        .caption(format!("Every step of {}, since the purge.", run.test.setup.step_time))
        .series(curves(run, &WHOLE_RUN, value))
        .markers(switch_markers(run, &WHOLE_RUN))
}

fn combined_plot(run: &XsrRun<'_>) -> Plot {
    let time = time_axis(run);
    let steps = || run.results.segments.iter().flat_map(|segment| &segment.steps);
    let curve = |value: fn(&XsrStep) -> Option<f64>| -> Vec<(f64, Option<f64>)> {
        steps().map(|step| (time.position(step.time), value(step))).collect()
    };
    Plot::lines(
        "tp-art-mrt",
        "XSR Throughput, ART & MRT v Time",
        time.axis.clone(),
        Axis::new("Throughput (MB/s)", Scale::Linear),
    )
    .caption(
        "Throughput against the left axis; average and maximum response time of every step \
         against the right one.",
    )
    .with(Series::new("Throughput", Stroke::Average, curve(|step| step.mb_per_second)))
    .with(Series::new("ART", Stroke::Fit, curve(|step| step.art)).on_right())
    .with(Series::new("MRT", Stroke::Context, curve(|step| step.mrt)).on_right())
    .right(Axis::new("Response time (ms)", Scale::Log10))
    .markers(switch_markers(run, &WHOLE_RUN))
}

fn listing(run: &XsrRun<'_>) -> String {
    let segments: Vec<String> = run
        .test
        .segments
        .iter()
        .map(|s| format!("  {} at {} for {}", s.workload, s.demand, s.time))
        .collect();
    format!(
        "Purge\nWithout a pause, accounted in steps of {}:\n{}\nRecovery: the first step of the \
         last segment with {} % of the first segment's average throughput",
        run.test.setup.step_time,
        segments.join("\n"),
        run.test.recovery_level
    )
}

fn tallies(run: &XsrRun<'_>) -> Vec<(String, Tally)> {
    let tally =
        |segment: &SegmentResult<'_>| segment.measurements().iter().map(|m| m.total()).sum();
    numbered_segments(run).map(|(name, segment)| (name, tally(segment))).collect()
}

/// Returns the segments under their names in tables and plots.
fn numbered_segments<'a>(
    run: &'a XsrRun<'_>,
) -> impl Iterator<Item = (String, &'a SegmentResult<'a>)> {
    (1..)
        .zip(&run.results.segments)
        .map(|(number, segment)| (format!("{number} {}", segment_name(segment)), segment))
}

fn secondary_table(run: &XsrRun<'_>) -> Table {
    let points: Vec<SecondaryPoint> = numbered_segments(run)
        .map(|(name, segment)| SecondaryPoint::from_steps(name, &segment.measurements()))
        .collect();
    secondary::points_table("secondary-segments", "Secondary metrics of the segments", &points)
}

const STEP_COLUMNS: [TypedColumn<XsrStep>; 4] = [
    TypedColumn::number("Time min", 4, |step| Some(step.time)),
    TypedColumn::number("MB/s", 3, |step| step.mb_per_second),
    TypedColumn::number("ART ms", 6, |step| step.art),
    TypedColumn::number("MRT ms", 6, |step| step.mrt),
];

fn steps_table(run: &XsrRun<'_>) -> Table {
    let title = "Every step of the segments";
    let mut table = typed_table("minutes", title, "Segment", &STEP_COLUMNS);
    for (number, segment) in (1u32..).zip(&run.results.segments) {
        let row = |step| typed_row(number.to_string(), &STEP_COLUMNS, step);
        table = table.rows(segment.steps.iter().map(row));
    }
    table
}
