//! Exhibits of a replay: distribution of the streams, and IOPS, MB/s, response times and
//! outstanding I/Os over time, of capture and replay.

use super::results::{ReplayPoint, RwswReplayResults};
use super::setup::{CUT, LONGEST, PAUSES, PlannedCaptureStep, Replay, ReplayContent, count_paced};
use super::{single_ios, stream_comparison};
use crate::common::secondary::SecondaryMeans;
use crate::exhibits::cyclic_load::JudgedLoad;
use crate::exhibits::disclosure::{ReportForm, form_demands};
use crate::exhibits::matrix::millis;
use crate::exhibits::pages::page;
use crate::exhibits::report::{ProcedureReport, ReportEntry, StudiedRun};
use crate::exhibits::response::{FIVE_NINES, percentile_table};
use crate::exhibits::secondary::{self, SecondaryPoint};
use crate::exhibits::time_axis::PlotTimeAxis;
use crate::exhibits::typed_table::{TypedColumn, typed_row, typed_table};
use crate::rwsw::disclosure as captured;
use crate::rwsw::segments::{distribution, secondary_figures, streams_table};
use steadfast_domain::findings::{
    Axis, Cell as TableCell, Exhibit, Facts, KeyFigure, Origin, Page, Plot, Row, Scale, Series,
    Setting, Stroke, Table,
};
use steadfast_domain::script::{ScriptLoad, Timing};
use steadfast_domain::text::grouped;
use steadfast_domain::{Bytes, Caveat, Measurement, Op, Record, Tally, caveats as ids};

type RwswReplayRun<'a> = StudiedRun<'a, Replay>;

impl ProcedureReport for Replay {
    type Results<'a> = RwswReplayResults<'a>;

    const ENTRIES: &'static [ReportEntry<Self>] = &[
        ReportEntry::Summary,
        ReportEntry::Table(|run| comparison(run, "replay-summary")),
        ReportEntry::Several(punctuality),
        ReportEntry::Form(DISTRIBUTION),
        ReportEntry::OptionalPlot(distribution_plot),
        ReportEntry::Table(|run| streams_table(&run.test.composite)),
        ReportEntry::FormPlot(rates_plot),
        ReportEntry::FormPlot(response_plot),
        ReportEntry::FormPlot(outstanding_plot),
        ReportEntry::FormPages(lateness_pages),
        ReportEntry::Setup,
        ReportEntry::Chapters(|run| vec![captured::workload_chapter(&run.test.composite)]),
        ReportEntry::General,
        ReportEntry::Chapter("What Was Done"),
        ReportEntry::Listing(listing),
        ReportEntry::Table(|run| comparison(run, "replay-comparison")),
        ReportEntry::Table(|run| stream_comparison::streams(run.test, &run.results)),
        ReportEntry::Several(single_io_facts),
        ReportEntry::Chapter("Preconditioning to Steady State"),
        ReportEntry::Several(preconditioning),
        ReportEntry::Chapter("Response Times"),
        ReportEntry::Several(response_times),
        ReportEntry::Secondary,
        ReportEntry::Facts(|run| {
            let measurements: Vec<&Measurement> = run.results.measurements().collect();
            let rows = secondary::rows(&SecondaryMeans::new(&measurements), None);
            Facts::new("Over the whole replay").rows(rows)
        }),
        ReportEntry::Csv(points_table),
    ];
    const FRONT_PLOTS: &'static [&'static str] = &["iops-throughput-time", "response-time"];

    fn studied<'a>(&'a self, record: &'a Record) -> StudiedRun<'a, Self> {
        let (choices, results) = (self.choices(), RwswReplayResults::new(self, record));
        StudiedRun { test: self, record, choices, results }
    }

    fn title(&self) -> String {
        format!("Replay Native {}", self.composite)
    }

    fn form(run: &RwswReplayRun<'_>) -> ReportForm {
        let settings = run.choices.settings;
        let chosen =
            |id: &str, label: &str, value: String| Setting::new(id, label, value, Origin::Chosen);
        let content = match &run.test.content {
            ReplayContent::Steps(steps) => format!("{} capture steps", steps.len()),
            ReplayContent::Script { script, .. } => {
                format!("{} single I/Os", script.counts.total())
            }
        };
        let form = captured::report_form(
            "Replay Native Test",
            "Replay Native - Sequence of I/O Streams",
            &run.choices,
            &run.test.composite,
            &run.test.preconditioning,
        )
        .test_parameters([
            chosen("replayed", "Replayed", content),
            run.choices.demand_row("TOIO - TC/QD", form_demands(&run.choices.demands)),
        ]);
        match &run.test.content {
            ReplayContent::Steps(_) => form.test_parameters([
                LONGEST.row(settings, "Longest step", LONGEST.value(settings)),
                PAUSES.row(settings, "Pauses", PAUSES.value(settings)),
                chosen("step-data", "Data of the steps", run.test.data_text()),
            ]),
            ReplayContent::Script { script, .. } => form.test_parameters([
                chosen("timing", "Timing", script.timing.to_string()),
                chosen("mapping", "Addresses", mapping_text(script)),
                chosen("overlaps", "Overlaps", script.overlaps.to_string()),
                CUT.row(settings, "Cut", CUT.value(settings)),
            ]),
        }
    }

    fn ending(run: &RwswReplayRun<'_>) -> String {
        let done = run.results.steps.len();
        let what = match &run.test.content {
            ReplayContent::Steps(steps) => {
                format!("{done} of {} capture steps were played", steps.len())
            }
            ReplayContent::Script { script, .. } => {
                let (played, all) = (run.results.played(), script.counts.total());
                format!("{} of {} I/Os were played", grouped(played), grouped(all))
            }
        };
        if !run.record.has_ended() {
            return format!("The run is not finished: {what}.");
        }
        let Some(share) = share_done(run) else { return format!("Replay complete: {what}.") };
        let worst = stream_comparison::worst_stream(run.test, &run.results);
        let least = worst.map_or(share, |worst| worst.share().min(share));
        let ended = if least < KEPT_UP { "ended" } else { "complete" };
        format!("Replay {ended}: {what}; {}.", share_text(run, share))
    }

    fn caveats(run: &RwswReplayRun<'_>) -> Vec<Caveat> {
        let mut caveats = Vec::new();
        caveats.extend(not_kept_up(run));
        caveats.extend(preconditioning_caveats(run));
        match &run.test.content {
            ReplayContent::Steps(steps) => caveats.extend(step_caveats(run, steps)),
            ReplayContent::Script { script, .. } => {
                caveats.extend(single_ios::caveats(script, run.record, &run.results))
            }
        }
        if !run.results.is_compared() {
            caveats.push(Caveat::remark(
                ids::NO_CAPTURED_VALUES,
                "The workload does not tell how the captured storage did: the replay stands alone \
                 in the plots of response times and outstanding I/Os.",
                "Read the workload from the trace or the step file of the capture.",
            ));
        }
        caveats.extend(captured::caveats(
            &run.test.composite, &run.test.setup, &run.test.preconditioning,
        ));
        caveats
    }

    fn figures(run: &RwswReplayRun<'_>) -> Vec<KeyFigure> {
        let total = ReplayTotal::new(&run.results);
        let tally = &total.tally;
        let tail = millis(tally.percentile(FIVE_NINES));
        let measured: Vec<&Measurement> = run.results.measurements().collect();
        let whole = SecondaryPoint {
            iops: total.iops(),
            ..SecondaryPoint::from_means("Replay", &measured)
        };
        // The rows of single steps leave flushes out.
        let has_flushes = measured.iter().any(|m| m.direction(Op::Flush).ios > 0);
        let label = if has_flushes { "Replayed, with flushes" } else { "Replayed" };
        let mut figures = vec![
            KeyFigure::new("iops", label, total.iops(), "IOPS"),
            KeyFigure::new("rate", "Throughput", total.mb_per_second(), "MB/s"),
            KeyFigure::new("mean", "Mean response time", tally.response_mean_ms(), "ms"),
            KeyFigure::new("five-nines", "99.999 % response time", tail, "ms").of_buckets(),
        ];
        figures.extend(secondary_figures(&whole));
        figures
    }
}

/// Minimum share of the captured I/Os for a replay to represent its capture (our choice).
const KEPT_UP: f64 = 0.95;

/// Returns the I/Os done as a share of those in the played capture steps, or of those in the
/// script that were not omitted on request.
fn share_done(run: &RwswReplayRun<'_>) -> Option<f64> {
    let requested = match &run.test.content {
        ReplayContent::Steps(planned) => {
            planned.iter().map(|step| step.captured_ios(run.test)).sum()
        }
        ReplayContent::Script { script, .. } => {
            script.counts.total().saturating_sub(single_ios::left_out(&run.results)) as f64
        }
    };
    (requested > 0.0).then(|| run.results.played() as f64 / requested)
}

/// Formats the share in a sentence. A share below a limit is not rounded up to it.
fn share_text(run: &RwswReplayRun<'_>, share: f64) -> String {
    let percent = |share: f64| format!("{:.1} %", (share * 1000.0).floor() / 10.0);
    match &run.test.content {
        ReplayContent::Steps(_) => {
            let worst = stream_comparison::worst_stream(run.test, &run.results).map(|worst| {
                let (replayed, to_play) = (worst.replayed, worst.to_play);
                let share = percent(worst.share());
                format!(" (fewest: {share} of {}, {replayed:.0} of {to_play:.0})", worst.name)
            });
            format!(
                "{} of the captured I/Os of their streams, in the captured time{}",
                percent(share),
                worst.unwrap_or_default()
            )
        }
        ReplayContent::Script { .. } => {
            format!("{} of those that were to be played", percent(share))
        }
    }
}

/// Returns a caveat if the target did not complete the capture's I/Os, or those of one of its
/// streams, in the capture's time.
fn not_kept_up(run: &RwswReplayRun<'_>) -> Option<Caveat> {
    let share = share_done(run)?;
    // A stream that was played too often does not make up for another.
    let worst = stream_comparison::worst_stream(run.test, &run.results);
    let is_short = share < KEPT_UP || worst.is_some_and(|worst| worst.share() < KEPT_UP);
    (is_short && run.record.has_ended()).then(|| {
        Caveat::invalidates(
            ids::REPLAY_SHARE,
            format!(
                "NOT THE WHOLE LOAD: {} were done. Its rates and response times are those of \
                 another load than the capture's.",
                share_text(run, share)
            ),
            "Replay on a faster target, or a workload of fewer streams (--threshold).",
        )
    })
}

fn mapping_text(script: &ScriptLoad) -> String {
    match script.mapping.as_str() {
        "" => "as captured".to_owned(),
        mapping => mapping.to_owned(),
    }
}

fn preconditioning_caveats(run: &RwswReplayRun<'_>) -> Vec<Caveat> {
    let Some(steady) = &run.test.preconditioning.steady else { return Vec::new() };
    let cycle = steady.cycle_time().to_string();
    let mut caveats = vec![captured::cadence(&run.test.setup, &cycle)];
    if run.record.has_ended() && !JudgedLoad::new(steady, run.record).verdict.steady {
        caveats.push(Caveat::deviation(
            ids::PRECONDITIONING_NOT_STEADY,
            format!(
                "STEADY STATE NOT ACHIEVED in the preconditioning ({}): the replay began on a \
                 drive that was not steady.",
                steady.label
            ),
            "Run it again with more rounds (--max-rounds).",
        ));
    }
    caveats
}

fn step_caveats(run: &RwswReplayRun<'_>, steps: &[PlannedCaptureStep]) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    let unmeasured = || run.results.measurements().flat_map(|m| &m.unmeasured);
    let ios: u64 = unmeasured().map(|part| part.ios).sum();
    if ios > 0 {
        caveats.push(Caveat::deviation(
            ids::REPLAY_UNMEASURED,
            format!(
                "{ios} I/Os ({}) were outstanding at the end of their capture step and completed \
                 after it, before the next began. They are in the response times, but in no rate, \
                 number of I/Os or share.",
                Bytes(unmeasured().map(|part| part.bytes.0).sum())
            ),
            "Replay longer steps (--step), or the single I/Os with --exact.",
        ));
    }
    let paced = count_paced(steps);
    if paced > 0 {
        caveats.push(Caveat::deviation(
            ids::PACED_BY_RATE,
            format!(
                "{paced} of {} capture steps had less than one I/O outstanding on average and are \
                 paced by their rate: evenly, while the captured I/Os came as they came.",
                steps.len()
            ),
            "Replay the single I/Os with --exact.",
        ));
    }
    let settings = &run.test.setup.settings;
    let (longest, pauses) = (LONGEST.value(settings), PAUSES.value(settings));
    if (longest, pauses) != (LONGEST.default, PAUSES.default) {
        caveats.push(Caveat::deviation(
            ids::REPLAY_STEPS,
            format!(
                "Capture steps are played for at most: {longest}; pauses between them: {pauses}."
            ),
            "Leave --set longest-step and --set pauses out.",
        ));
    }
    caveats
}

type ReplayPointValue = fn(&ReplayPoint) -> Option<f64>;

/// Captures shorter than this are plotted in seconds.
const PLOTTED_IN_SECONDS: f64 = 600.0;

fn time_axis(run: &RwswReplayRun<'_>) -> PlotTimeAxis {
    let all = run.results.captured.iter().chain(&run.results.replayed);
    if all.map(|point| point.at).fold(0.0, f64::max) < PLOTTED_IN_SECONDS {
        PlotTimeAxis::seconds("Time of the capture")
    } else {
        PlotTimeAxis::minutes("Time of the capture")
    }
}

/// Returns a line through one value of the points; `None` if no point has it.
fn line(
    run: &RwswReplayRun<'_>,
    name: &str,
    stroke: Stroke,
    points: &[ReplayPoint],
    value: ReplayPointValue,
) -> Option<Series> {
    let time = time_axis(run);
    let points: Vec<(f64, Option<f64>)> =
        points.iter().map(|point| (time.position(point.at / 60.0), value(point))).collect();
    points.iter().any(|(_, y)| y.is_some()).then(|| Series::new(name, stroke, points))
}

fn rates_plot(run: &RwswReplayRun<'_>) -> Plot {
    let (iops, mb): (ReplayPointValue, ReplayPointValue) = (|m| m.iops, |m| m.mb_per_second);
    Plot::lines(
        "iops-throughput-time",
        "Replay Native IOPS & TP v Time",
        time_axis(run).axis,
        Axis::new("IOPS", Scale::Linear),
    )
    .caption(
        "I/Os per second, left, and MB/s, right: the replay, the applied \
         streams in the capture, and all I/Os of the capture.",
    )
    .right(Axis::new("MB/s", Scale::Linear))
    .series(line(run, "IOPS, replay", Stroke::Measured, &run.results.replayed, iops))
    .series(line(run, "IOPS, capture (applied)", Stroke::Measured, &run.results.applied, iops))
    .series(line(run, "IOPS, capture (all)", Stroke::Context, &run.results.captured, iops))
    .series(
        line(run, "MB/s, replay", Stroke::Measured, &run.results.replayed, mb)
            .map(Series::on_right),
    )
    .series(
        line(run, "MB/s, capture (applied)", Stroke::Measured, &run.results.applied, mb)
            .map(Series::on_right),
    )
}

fn response_plot(run: &RwswReplayRun<'_>) -> Plot {
    Plot::lines(
        "response-time",
        "Replay Native Response Time v Time",
        time_axis(run).axis,
        Axis::new("Response time (ms)", Scale::Log10),
    )
    .caption(
        "Average and longest response time of the replay and, where the workload tells, of all \
         I/Os of the capture.",
    )
    .series(line(run, "ART, replay", Stroke::Average, &run.results.replayed, |m| m.art))
    .series(line(run, "ART, capture", Stroke::Fit, &run.results.captured, |m| m.art))
    .series(line(run, "MRT, replay", Stroke::Limit, &run.results.replayed, |m| m.mrt))
    .series(line(run, "MRT, capture", Stroke::Context, &run.results.captured, |m| m.mrt))
}

fn outstanding_plot(run: &RwswReplayRun<'_>) -> Plot {
    Plot::lines(
        "outstanding-time",
        "Replay Native Outstanding I/Os v Time",
        time_axis(run).axis,
        Axis::new("Outstanding I/Os", Scale::Linear),
    )
    .caption(
        "I/Os outstanding on average: the response times of the replay added up over the time, and \
         what the capture counted. At most: thread count x queue depth of the replay, and what the \
         capture counted.",
    )
    .series(line(run, "OIO, replay", Stroke::Average, &run.results.replayed, |m| m.outstanding))
    .series(line(run, "OIO, capture", Stroke::Fit, &run.results.captured, |m| m.outstanding))
    .series(line(run, "TC x QD, replay", Stroke::Limit, &run.results.replayed, |m| {
        m.outstanding_allowed
    }))
    .series(line(run, "OIO at most, capture", Stroke::Context, &run.results.captured, |m| {
        m.outstanding_max
    }))
    .series(line(run, "Threads, capture", Stroke::Context, &run.results.captured, |m| m.threads))
}

/// Compares replay and capture as a whole. Rates are I/Os over the time of the steps or of the
/// script.
fn comparison(run: &RwswReplayRun<'_>, id: &str) -> Table {
    let steps = &run.test.composite.workload.steps;
    let seconds = match &run.test.content {
        ReplayContent::Steps(_) => steps.iter().map(|step| step.lasted.as_secs_f64()).sum(),
        // The time between steps is played too.
        ReplayContent::Script { script, .. } => script.span.as_secs_f64(),
    };
    // Without capture steps, it is unknown how many I/Os were captured in the time that is played.
    let has_steps = !steps.is_empty();
    let rate = |sum: f64| (has_steps && seconds > 0.0).then(|| sum / seconds);
    let streams = &run.test.composite.workload.streams;
    let counts: Vec<(usize, u64)> =
        steps.iter().flat_map(|step| run.test.composite.counts_of(step)).collect();
    let applied: f64 = counts.iter().map(|(_, ios)| *ios as f64).sum();
    let applied_bytes: f64 =
        counts.iter().map(|(place, ios)| *ios as f64 * streams[*place].size.0 as f64).sum();
    let all: f64 = steps.iter().map(|step| step.captured_ios as f64).sum();
    let all_bytes: f64 = steps.iter().map(|step| step.captured_bytes.0 as f64).sum();
    let captured = |head: &str, ios: f64, bytes: f64, mean: Option<f64>| {
        Row::new(
            head,
            [
                TableCell::number(has_steps.then_some(ios), 0),
                TableCell::number(has_steps.then_some(bytes), 0),
                TableCell::number(rate(ios), 1),
                TableCell::number(rate(bytes / 1e6), 1),
                TableCell::number(mean, 4),
            ],
        )
    };
    let mean = mean_response(run);
    let workload = &run.test.composite.workload;
    let whole_ios = (workload.captured_ios > 0).then_some(workload.captured_ios as f64);
    let whole_bytes = workload.captured_bytes.filter(|_| whole_ios.is_some());
    let columns = ["I/Os", "Bytes", "IOPS", "MB/s", "ART ms"];
    let rows = vec![
        replay_row(run),
        captured("Capture, applied streams", applied, applied_bytes, None),
        captured("Capture, all I/Os of these steps", all, all_bytes, mean),
        // The duration of the steps that are not played is unknown.
        Row::new(
            "Capture, all I/Os",
            [
                TableCell::number(whole_ios, 0),
                TableCell::number(whole_bytes.map(|bytes| bytes.0 as f64), 0),
                TableCell::Missing,
                TableCell::Missing,
                TableCell::Missing,
            ],
        ),
    ];
    Table::new(id, "Replay and capture", "").columns(columns).rows(rows)
}

/// All I/Os of a replay.
struct ReplayTotal {
    /// Tally of all operations, flushes included as in the capture.
    tally: Tally,
    /// Time of its steps.
    seconds: f64,
}

impl ReplayTotal {
    fn new(results: &RwswReplayResults<'_>) -> Self {
        let tally = results.measurements().map(Measurement::with_flushes).sum();
        let seconds = results.measurements().map(|m| m.elapsed.as_secs_f64()).sum();
        ReplayTotal { tally, seconds }
    }

    fn iops(&self) -> Option<f64> {
        (self.seconds > 0.0).then(|| self.tally.ios as f64 / self.seconds)
    }

    fn mb_per_second(&self) -> Option<f64> {
        (self.seconds > 0.0).then(|| self.tally.bytes.as_mb() / self.seconds)
    }
}

fn replay_row(run: &RwswReplayRun<'_>) -> Row {
    let total = ReplayTotal::new(&run.results);
    let cells = [
        TableCell::count(total.tally.ios),
        TableCell::count(total.tally.bytes.0),
        TableCell::number(total.iops(), 1),
        TableCell::number(total.mb_per_second(), 1),
        TableCell::number(total.tally.response_mean_ms(), 4),
    ];
    Row::new("Replay", cells).strong(true)
}

/// Returns the capture's mean response time; `None` if a step has none.
fn mean_response(run: &RwswReplayRun<'_>) -> Option<f64> {
    let steps = &run.test.composite.workload.steps;
    let sums: Option<Vec<f64>> = steps
        .iter()
        .map(|step| Some(step.response_mean?.as_millis_f64() * step.captured_ios as f64))
        .collect();
    let ios: u64 = steps.iter().map(|step| step.captured_ios).sum();
    sums.filter(|_| ios > 0).map(|sums| sums.iter().sum::<f64>() / ios as f64)
}

fn listing(run: &RwswReplayRun<'_>) -> String {
    let preconditioning = run.test.preconditioning.text(&run.choices);
    match &run.test.content {
        ReplayContent::Steps(steps) => format!(
            "{preconditioning}\n{} capture steps in their order, each with its own streams, counts, demand \
             and duration\n  {} of them paced by their rate; pauses: {}; longest step: {}",
            steps.len(),
            count_paced(steps),
            PAUSES.value(&run.test.setup.settings),
            LONGEST.value(&run.test.setup.settings)
        ),
        ReplayContent::Script { script, .. } => format!(
            "{preconditioning}\n{} single I/Os in their order; timing {}; addresses {}; overlaps {}",
            script.counts.total(),
            script.timing,
            mapping_text(script),
            script.overlaps
        ),
    }
}

/// Returns the exhibits on punctuality of single I/Os; empty for capture steps.
fn punctuality(run: &RwswReplayRun<'_>) -> Vec<Exhibit> {
    let ReplayContent::Script { script, .. } = &run.test.content else { return Vec::new() };
    single_ios::punctuality(script, &run.results).map(Exhibit::Facts).into_iter().collect()
}

fn lateness_pages(run: &RwswReplayRun<'_>) -> Vec<Page> {
    let ReplayContent::Script { script, .. } = &run.test.content else { return Vec::new() };
    let plot = single_ios::lateness_plot(script, &run.results).into_iter();
    plot.map(|plot| page(&plot.title.clone(), vec![Exhibit::Plot(plot)])).collect()
}

fn single_io_facts(run: &RwswReplayRun<'_>) -> Vec<Exhibit> {
    let ReplayContent::Script { script, .. } = &run.test.content else { return Vec::new() };
    vec![Exhibit::Facts(single_ios::facts(script, &run.results))]
}

fn preconditioning(run: &RwswReplayRun<'_>) -> Vec<Exhibit> {
    let Some(steady) = &run.test.preconditioning.steady else { return Vec::new() };
    JudgedLoad::new(steady, run.record).check_and_evidence("preconditioning")
}

const DISTRIBUTION: &str = "Replay Native IO Streams Distribution v Segments";

/// Plots the streams of every capture step; `None` without steps. The cumulative workload is a
/// table, since a list of every step's streams would be too long.
fn distribution_plot(run: &RwswReplayRun<'_>) -> Option<Plot> {
    let workload = &run.test.composite.workload;
    let names: Vec<String> = workload.streams.iter().map(ToString::to_string).collect();
    let mut counts = Vec::new();
    for step in &workload.steps {
        let mut counts_of_step = vec![0.0; names.len()];
        for (place, ios) in run.test.composite.counts_of(step) {
            counts_of_step[place] = ios as f64;
        }
        counts.push(counts_of_step);
    }
    let caption = "Share of every applied I/O stream in each capture step, as it is applied.";
    (!counts.is_empty())
        .then(|| distribution(DISTRIBUTION, "Segment (capture step)", &names, &counts, caption))
}

/// Returns both response times of single I/Os: from the due time, as the application would see it,
/// and from submission.
fn response_times(run: &RwswReplayRun<'_>) -> Vec<Exhibit> {
    let all: Tally = run.results.measurements().map(Measurement::with_flushes).sum();
    let direction = |op| -> Tally { run.results.measurements().map(|m| m.direction(op)).sum() };
    let (reads, writes) = (direction(Op::Read), direction(Op::Write));
    let is_due = match &run.test.content {
        ReplayContent::Script { script, .. } => script.timing != Timing::Closed,
        ReplayContent::Steps(_) => false,
    };
    let title = if is_due {
        "Response times of the replay from the due time, ms"
    } else {
        "Response times of the replay, ms"
    };
    let columns = [("All I/Os", all), ("Reads", reads), ("Writes", writes)];
    let mut exhibits =
        vec![Exhibit::Table(percentile_table("replay-percentiles", title, &columns))];
    if is_due {
        let [reads, writes] = [Op::Read, Op::Write].map(|op| single_ios::served(&run.results, op));
        let mut reads_and_writes = reads.clone();
        reads_and_writes.merge(&writes);
        let title = "Response times of the replay from submission, ms";
        let columns =
            [("Reads and writes", reads_and_writes), ("Reads", reads), ("Writes", writes)];
        exhibits.push(Exhibit::Table(percentile_table("replay-served", title, &columns)));
        exhibits.push(Exhibit::Text(DUE_AND_SUBMITTED.into()));
    }
    exhibits
}

const DUE_AND_SUBMITTED: &str = "From the due time: how long a program would have waited that \
    wanted the I/O then, a late submission included. From submission: what the target took. Every \
    other response time of this report is from the due time.";

const POINT: [TypedColumn<ReplayPoint>; 10] = [
    TypedColumn::number("Time s", 3, |point| Some(point.at)),
    TypedColumn::number("IOPS", 3, |point| point.iops),
    TypedColumn::number("MB/s", 3, |point| point.mb_per_second),
    TypedColumn::number("ART ms", 6, |point| point.art),
    TypedColumn::number("MRT ms", 6, |point| point.mrt),
    TypedColumn::number("OIO", 4, |point| point.outstanding),
    TypedColumn::number("OIO at most", 0, |point| point.outstanding_max),
    TypedColumn::number("TC x QD", 0, |point| point.outstanding_allowed),
    TypedColumn::number("Threads", 0, |point| point.threads),
    TypedColumn::number("OIO per thread", 4, ReplayPoint::depth_per_thread),
];

fn points_table(run: &RwswReplayRun<'_>) -> Table {
    let kinds = [
        ("replay", &run.results.replayed),
        ("capture, applied streams", &run.results.applied),
        ("capture, all I/Os", &run.results.captured),
    ];
    let rows = kinds
        .into_iter()
        .flat_map(|(kind, points)| points.iter().map(move |point| typed_row(kind, &POINT, point)));
    typed_table("moments", "Replay and capture over time", "Of", &POINT).rows(rows)
}
