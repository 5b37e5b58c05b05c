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
                ReportEntry::Text(near_text),
            ],
        ),
        ReportEntry::Setup,
        ReportEntry::Chapter("Segments"),
        ReportEntry::Listing(listing),
        ReportEntry::Table(|run| segments_table(run, "segments-chapter")),
        ReportEntry::Text(recovery_text),
        ReportEntry::Text(near_text),
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
            let workload = segment.workload.to_string();
            stimuli.push(disclosure::profile_row(&id, &label, workload));
            let how = format!("{}, {}", form_demand(segment.demand), segment.time);
            let id = format!("demand-and-time-{number}");
            let origin = segment_origin(&run.choices, number);
            stimuli.push(Setting::new(&id, "TC/QD, Duration", how, origin));
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
            let begun = run.results.segments.iter().filter(|s| !s.steps.is_empty()).count();
            return format!("The run is not finished: {begun} of 3 segments have begun.");
        }
        format!("All three segments ran without interruption. {}", recovery_text(run))
    }

    fn reports(_: &XsrRun<'_>, _: &Step) -> bool {
        true
    }

    /// Returns end-of-segment throughput, peaks and recovery.
    fn figures(run: &XsrRun<'_>) -> Vec<KeyFigure> {
        let rate = |(number, segment): (usize, &SegmentResult<'_>)| {
            let id = format!("segment-{}-rate", number + 1);
            let label = format!("Segment {}, {}", number + 1, name(segment));
            KeyFigure::new(&id, label, segment.average(), "MB/s")
        };
        let mut figures: Vec<KeyFigure> =
            run.results.segments.iter().enumerate().map(rate).collect();
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
                    let (value, unit, _) = recovery_time(run, minutes);
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
        let of_segment = |(point, segment): (String, &SegmentResult<'_>)| {
            let steps = segment.measurements();
            let pattern = segment.segment.workload.pattern();
            MeasuredPoint { point: &point, pattern, steps: &steps, rounds: false }.metrics()
        };
        numbered(run).flat_map(of_segment).collect()
    }
}

/// Describes when the last segment came close to the recovery level, which a drive back at full
/// speed passes by chance.
fn near_text(run: &XsrRun<'_>) -> String {
    let time = |recovery| match recovery {
        RecoveryTime::After(minutes) => format!("after {}", recovery_time(run, minutes).2),
        RecoveryTime::NotYet => "not yet".to_owned(),
        RecoveryTime::NotMeasured => "not measured".to_owned(),
    };
    format!(
        "{NEARLY} % of the first segment's average: {}. Within the range of the first segment's \
         own steps: {}.",
        time(run.results.nearly),
        time(run.results.within_range)
    )
}

/// Returns a recovery time with the resolution of a step.
fn recovery_time(run: &XsrRun<'_>, minutes: f64) -> (f64, &'static str, String) {
    let step = run.test.setup.step_time;
    let (value, unit) = if step.0.is_multiple_of(60_000_000_000) {
        (minutes, "min")
    } else {
        (minutes * 60.0, "s")
    };
    (value, unit, format!("{} {unit} (in steps of {step})", number(value, 0)))
}

/// Returns the number of decimals of minutes that steps can resolve.
fn minute_decimals(run: &XsrRun<'_>) -> u8 {
    if run.test.setup.step_time.0.is_multiple_of(60_000_000_000) { 0 } else { 2 }
}

fn recovery_text(run: &XsrRun<'_>) -> String {
    let level = format!("{} % of the first segment's average throughput", run.test.recovery_level);
    match run.results.recovery {
        RecoveryTime::NotMeasured => "Recovery is not measured yet.".into(),
        RecoveryTime::NotYet => {
            format!("Not recovered yet: the last segment never reached {level}.")
        }
        RecoveryTime::After(minutes) => {
            format!("Recovered after {}: {level} reached.", recovery_time(run, minutes).2)
        }
    }
}

/// Returns the origin of a segment's demand and time.
fn segment_origin(choices: &RunChoices<'_>, number: usize) -> Origin {
    let time = [FIRST_TIME, MIDDLE_TIME, LAST_TIME].get(number - 1).copied();
    let time = time.map_or(Origin::Profile, |time| time.origin(choices.settings));
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
    let decimals = minute_decimals(run);
    let recovered = |index: usize, recovery: RecoveryTime| match (index, recovery) {
        (2, RecoveryTime::After(minutes)) => TableCell::number(Some(minutes), decimals),
        (2, RecoveryTime::NotYet) => TableCell::text("not yet"),
        (2, RecoveryTime::NotMeasured) => TableCell::Missing,
        _ => TableCell::text(""),
    };
    let results = &run.results;
    let columns = segment_columns();
    let rows = numbered(run).enumerate().map(|(index, (name, segment))| {
        let mut row = typed_row(name, &columns, segment);
        let recoveries = [results.recovery, results.nearly, results.within_range];
        row.cells.extend(recoveries.map(|recovery| recovered(index, recovery)));
        row
    });
    typed_table(id, "Segments: throughput, peaks and recovery", "Segment", &columns)
        .columns(["Bandwidth recovery min", "To 95 % min", "To segment 1's range min"])
        .rows(rows)
}

fn name(segment: &SegmentResult<'_>) -> String {
    format!("{} {}", segment.segment.workload, segment.segment.demand)
}

fn all_segments_plot(run: &XsrRun<'_>) -> Plot {
    throughput_plot(run, None, "tp-all", "XSR TP v Time - All Access Groups")
}

fn art_plot(run: &XsrRun<'_>) -> Plot {
    response_plot(run, "ART", "art-time", |m| m.art)
}

fn mrt_plot(run: &XsrRun<'_>) -> Plot {
    response_plot(run, "MRT", "mrt-time", |m| m.mrt)
}

type XsrStepValue = fn(&XsrStep) -> Option<f64>;

fn curves(run: &XsrRun<'_>, window: Option<(f64, f64)>, value: XsrStepValue) -> Vec<Series> {
    let time = PlotTimeAxis::for_steps("Time", run.test.setup.step_time);
    let mut curves = Vec::new();
    for (index, (name, segment)) in numbered(run).enumerate() {
        let steps = segment.steps.iter();
        let points: Vec<(f64, Option<f64>)> = steps
            .filter(|m| window.is_none_or(|(from, to)| (from..=to).contains(&m.time)))
            .map(|m| (time.position(m.time), value(m)))
            .collect();
        // Sequential segments look alike, the random one differs.
        let stroke = if index == 1 { Stroke::Fit } else { Stroke::Average };
        if !points.is_empty() {
            curves.push(Series::new(name, stroke, points));
        }
    }
    curves
}

fn switches(run: &XsrRun<'_>) -> Vec<Marker> {
    let time = PlotTimeAxis::for_steps("Time", run.test.setup.step_time);
    (1..run.results.segments.len())
        .filter(|index| !run.results.segments[*index].steps.is_empty())
        .map(|index| Marker {
            x: time.position(run.results.begins(index)),
            label: format!("segment {}", index + 1),
        })
        .collect()
}

fn throughput_plot(run: &XsrRun<'_>, window: Option<(f64, f64)>, id: &str, title: &str) -> Plot {
    let time = PlotTimeAxis::for_steps("Time", run.test.setup.step_time);
    let mut plot = Plot::lines(
        id,
        title,
        Axis {
            scale: if window.is_some() { Scale::LinearFitted } else { Scale::Linear },
            ..time.axis.clone()
        },
        Axis::new("Throughput (MB/s)", Scale::Linear),
    )
    .caption(format!("MB/s of every step of {}, since the purge.", run.test.setup.step_time))
    .series(curves(run, window, |m| m.mb_per_second))
    .markers(switches(run));
    if let Some((from, to)) = window {
        plot.markers.retain(|marker| (time.position(from)..=time.position(to)).contains(&marker.x));
    }
    plot
}

/// Plots throughput on both sides of the switch from segment `index` to the next.
fn switch_plot(run: &XsrRun<'_>, index: usize) -> Plot {
    let switch = run.results.begins(index);
    let before = switch - run.results.begins(index - 1);
    let end = run.results.segments[index].steps.last().map_or(switch, |m| m.time);
    let side = AROUND_SWITCH.min(before.min(end - switch) / PART_OF_SEGMENT);
    let title = format!("XSR TP v Time - Groups {index} & {}", index + 1);
    let id = format!("tp-switch-{index}");
    throughput_plot(run, Some((switch - side, switch + side)), &id, &title)
}

/// Part of the last segment that is drawn, as a multiple of the recovery time.
const RECOVERY_SHOWN: f64 = 3.0;
/// Minimum time that is drawn, in minutes.
const RECOVERY_LEAST: f64 = 10.0;

/// Plots the last segment from its start until some time after its recovery: every second, the
/// steps, the recovery level, and the range of the first segment's steps.
fn recovery_plot(run: &XsrRun<'_>) -> Option<Plot> {
    let (first, last) = (run.results.segments.first()?, run.results.segments.last()?);
    let begin = run.results.begins(run.results.segments.len() - 1);
    let whole = last.steps.last()?.time - begin;
    let recovered = match run.results.recovery {
        RecoveryTime::After(minutes) => Some(minutes),
        RecoveryTime::NotYet | RecoveryTime::NotMeasured => None,
    };
    let reach = recovered.map_or(whole, |minutes| (minutes * RECOVERY_SHOWN).max(RECOVERY_LEAST));
    let end = reach.min(whole);
    let time = PlotTimeAxis::for_steps("Time since the switch", run.test.setup.step_time);
    let seconds = seconds::curve(&seconds::seconds(&last.outcomes), &time, |s| s.mb_per_second);
    let right = time.position(end);
    let seconds = seconds.into_iter().filter(|(x, _)| *x <= right).collect();
    // A step's mean is drawn at its middle, like the seconds around it.
    let mut before = begin;
    let mut steps = Vec::new();
    for step in last.steps.iter().filter(|step| step.time - begin <= end * 1.000_001) {
        let middle = time.position(f64::midpoint(before, step.time) - begin);
        steps.push((middle, step.mb_per_second));
        before = step.time;
    }
    let rates = || first.steps.iter().filter_map(|step| step.mb_per_second);
    let (low, high) = (rates().min_by(f64::total_cmp), rates().max_by(f64::total_cmp));
    let ends = [0.0, right].map(|x| BandEdge { x, low, high });
    let band = Series::band("first segment's steps", &ends);
    let level = first.average().map(|rate| rate * f64::from(run.test.recovery_level) / 100.0);
    let name = format!("{} % of its average", run.test.recovery_level);
    let threshold = vec![(0.0, level), (right, level)];
    let mark = recovered.map(|minutes| Marker {
        x: time.position(minutes),
        label: {
            let (value, unit, _) = recovery_time(run, minutes);
            format!("recovered: {} {unit}", number(value, 0))
        },
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
        .markers(mark);
    Some(plot)
}

fn response_plot(run: &XsrRun<'_>, what: &str, id: &str, value: XsrStepValue) -> Plot {
    let time = PlotTimeAxis::for_steps("Time", run.test.setup.step_time);
    Plot::lines(
        id,
        format!("XSR {what} v Time"),
        time.axis,
        Axis::new(format!("{what} (ms)"), Scale::Log10),
    )
    .caption(format!("Every step of {}, since the purge.", run.test.setup.step_time))
    .series(curves(run, None, value))
    .markers(switches(run))
}

fn combined_plot(run: &XsrRun<'_>) -> Plot {
    let time = PlotTimeAxis::for_steps("Time", run.test.setup.step_time);
    let curve = |value: XsrStepValue| -> Vec<(f64, Option<f64>)> {
        run.results.all().map(|m| (time.position(m.time), value(m))).collect()
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
    .with(Series::new("Throughput", Stroke::Average, curve(|m| m.mb_per_second)))
    .with(Series::new("ART", Stroke::Fit, curve(|m| m.art)).on_right())
    .with(Series::new("MRT", Stroke::Context, curve(|m| m.mrt)).on_right())
    .right(Axis::new("Response time (ms)", Scale::Log10))
    .markers(switches(run))
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
    numbered(run)
        .map(|(name, segment)| (name, segment.measurements().iter().map(|m| m.total()).sum()))
        .collect()
}

/// Returns the segments under their names in tables and plots.
fn numbered<'a>(run: &'a XsrRun<'_>) -> impl Iterator<Item = (String, &'a SegmentResult<'a>)> {
    (1..).zip(&run.results.segments).map(|(n, segment)| (format!("{n} {}", name(segment)), segment))
}

fn secondary_table(run: &XsrRun<'_>) -> Table {
    let points: Vec<SecondaryPoint> = numbered(run)
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
