//! The exhibits of a replay: the distribution of the streams, and IOPS, MB/s, response
//! times and outstanding I/Os over time, the capture beside the replay.

use super::results::{Moment, Results};
use super::setup::{CUT, Course, LONGEST, PAUSES, Replay};
use super::{beside, single_ios};
use crate::exhibits::disclosure::{self, Form, form_demands};
use crate::exhibits::frame::{common_chapters, frame, unfinished};
use crate::exhibits::loops::general_chapter;
use crate::exhibits::pages::page;
use crate::exhibits::response::{FIVE_NINES, percentile_table};
use crate::exhibits::secondary;
use crate::exhibits::steps::every_step;
use crate::ground::secondary::Secondary;
use crate::pts::between::{check_exhibits, evidence, steps_of};
use crate::rwsw::disclosure as captured;
use crate::rwsw::segments::{distribution, streams_table};
use steadfast_domain::caveats as ids;
use steadfast_domain::findings::{
    Axis, Cell as TableCell, Exhibit, Facts, FormHeader, KeyFigure, Origin, Page, Plot, PlotKind,
    Row, Scale, Series, Setting, Stroke, Table, TimeUnit,
};
use steadfast_domain::script::{ScriptLoad, Timing};
use steadfast_domain::{Caveat, CaveatKind, Findings, Measurement, Nanos, Op, Record, Tally};

/// Everything that is reported of a run.
pub fn findings(replay: &Replay, record: &Record) -> Findings {
    let choices = replay.choices();
    let results = Results::of(replay, record);
    Findings {
        ending: ending(replay, record, &results),
        caveats: caveats(replay, record, &results),
        summary: summary(replay, &results),
        form_pages: form_pages(replay, &results),
        chapters: chapters(replay, record, &results),
        long_tables: vec![moments_table(&results), every_step(&choices, record)],
        ..frame(&title(replay), &choices, record, header(replay, record))
            .fronted(figures(&results), ["iops-throughput-time", "response-time"])
    }
}

fn summary(replay: &Replay, results: &Results<'_>) -> Vec<Exhibit> {
    let mut summary = vec![Exhibit::Table(comparison(replay, results, "replay-summary"))];
    if let Course::Script(script, _) = &replay.course {
        summary.extend(single_ios::punctuality(script, results).map(Exhibit::Facts));
    }
    summary
}

fn title(replay: &Replay) -> String {
    format!("Replay Native {}", replay.composite)
}

fn ending(replay: &Replay, record: &Record, results: &Results<'_>) -> String {
    let done = results.steps.len();
    let what = match &replay.course {
        Course::Steps(steps) => format!("{done} of {} capture steps were played", steps.len()),
        Course::Script(script, _) => {
            format!("{} of {} I/Os were played", results.played(), script.counts.total())
        }
    };
    if !record.has_ended() {
        return format!("The run is not finished: {what}.");
    }
    match share_done(replay, results) {
        Some(share) if share < KEPT_UP => {
            format!("Replay ended: {what}; {}.", share_text(replay, share))
        }
        Some(share) => format!("Replay complete: {what}; {}.", share_text(replay, share)),
        None => format!("Replay complete: {what}."),
    }
}

/// Below this share of the captured I/Os a replay is not that of its capture. Ours.
const KEPT_UP: f64 = 0.95;

/// I/Os that were done as a share of those that the played steps had in the capture, or of
/// those of the script that were not left out by choice.
fn share_done(replay: &Replay, results: &Results<'_>) -> Option<f64> {
    let asked = match &replay.course {
        Course::Steps(planned) => planned.iter().map(|step| step.captured_ios(replay)).sum(),
        Course::Script(script, _) => {
            script.counts.total().saturating_sub(single_ios::left_out(results)) as f64
        }
    };
    (asked > 0.0).then(|| results.played() as f64 / asked)
}

/// The share in a sentence. One that is short of a bound is not rounded up to it.
fn share_text(replay: &Replay, share: f64) -> String {
    let percent = (share * 1000.0).floor() / 10.0;
    match &replay.course {
        Course::Steps(_) => {
            format!("{percent:.1} % of the captured I/Os of their streams, in the captured time")
        }
        Course::Script(..) => format!("{percent:.1} % of those that were to be played"),
    }
}

/// A target that did not do the capture's I/Os in the capture's time.
fn not_kept_up(replay: &Replay, record: &Record, results: &Results<'_>) -> Option<Caveat> {
    let share = share_done(replay, results).filter(|share| *share < KEPT_UP)?;
    record.has_ended().then(|| {
        Caveat::new(
            CaveatKind::Invalidates,
            ids::REPLAY_SHARE,
            format!(
                "NOT THE WHOLE LOAD: {} were done: the target did not keep up. Its rates and \
                 response times are those of another load than the capture's.",
                share_text(replay, share)
            ),
            "Replay on a faster target, or a workload of fewer streams (--threshold).",
        )
    })
}

fn header(replay: &Replay, record: &Record) -> FormHeader {
    let choices = replay.choices();
    let settings = choices.settings;
    let mut test_parameters = disclosure::common_test_rows(&choices);
    test_parameters.extend(captured::workload_rows(&replay.composite));
    let own = |id: &str, label: &str, value: String| Setting::new(id, label, value, Origin::Chosen);
    test_parameters.push(own("replayed", "ReplayResult", what_text(replay)));
    test_parameters.push(choices.demand_row("TOIO - TC/QD", form_demands(&choices.demands)));
    match &replay.course {
        Course::Steps(_) => test_parameters.extend([
            LONGEST.row(settings, "Longest step", LONGEST.value(settings)),
            PAUSES.row(settings, "Pauses", PAUSES.value(settings)),
        ]),
        Course::Script(script, _) => test_parameters.extend([
            own("timing", "Timing", script.timing.to_string()),
            own("mapping", "Addresses", mapping_text(script)),
            own("overlaps", "Overlaps", script.overlaps.to_string()),
            CUT.row(settings, "Cut", CUT.value(settings)),
        ]),
    }
    let form = Form {
        test: "Replay Native Test".into(),
        subtitle: "Replay Native - Sequence of I/O Streams".into(),
        set_up: captured::set_up_rows(&choices, &replay.regime),
        test_parameters,
    };
    disclosure::form_header(form, &choices, record)
}

fn what_text(replay: &Replay) -> String {
    match &replay.course {
        Course::Steps(steps) => format!("{} capture steps", steps.len()),
        Course::Script(script, _) => format!("{} single I/Os", script.counts.total()),
    }
}

fn mapping_text(script: &ScriptLoad) -> String {
    match script.mapping.as_str() {
        "" => "as captured".to_owned(),
        mapping => mapping.to_owned(),
    }
}

fn caveats(replay: &Replay, record: &Record, results: &Results<'_>) -> Vec<Caveat> {
    let mut caveats: Vec<Caveat> = unfinished(record).into_iter().collect();
    caveats.extend(not_kept_up(replay, record, results));
    caveats.extend(of_preconditioning(replay, record));
    match &replay.course {
        Course::Steps(_) => caveats.extend(of_the_steps(replay)),
        Course::Script(script, _) => caveats.extend(single_ios::caveats(script, record, results)),
    }
    if !results.is_compared() {
        caveats.push(Caveat::new(
            CaveatKind::Remark,
            ids::NO_CAPTURED_VALUES,
            "The workload does not tell how the captured storage did: the replay stands alone in \
             the plots of response times and outstanding I/Os.",
            "Read the workload from the trace or the step file of the capture.",
        ));
    }
    caveats.extend(captured::caveats(&replay.composite, &replay.ground, &replay.regime));
    let choices = replay.choices();
    caveats.extend(disclosure::caveats(&choices, record));
    caveats.extend(secondary::caveats(record, &|step| choices.measures(step)));
    caveats
}

fn of_preconditioning(replay: &Replay, record: &Record) -> Vec<Caveat> {
    let Some(steady) = &replay.regime.steady else { return Vec::new() };
    let cycle = steady.cycle_time().to_string();
    let mut caveats = vec![captured::cadence(&replay.ground.settings, &cycle)];
    let steps = steps_of(record, &steady.phase);
    let verdict = steady.verdict(&steps);
    if record.has_ended() && !verdict.steady {
        caveats.push(Caveat::new(
            CaveatKind::Deviation,
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

fn of_the_steps(replay: &Replay) -> Vec<Caveat> {
    let (paced, all) = replay.paced();
    let mut caveats = Vec::new();
    if paced > 0 {
        caveats.push(Caveat::new(
            CaveatKind::Deviation,
            ids::PACED_BY_RATE,
            format!(
                "{paced} of {all} capture steps had less than one I/O outstanding on average and \
                 are paced by their rate: evenly, while the captured I/Os came as they came."
            ),
            "Replay the single I/Os with --exact.",
        ));
    }
    let settings = &replay.ground.settings;
    let (longest, pauses) = (LONGEST.value(settings), PAUSES.value(settings));
    if (longest, pauses) != (LONGEST.default, PAUSES.default) {
        caveats.push(Caveat::new(
            CaveatKind::Deviation,
            ids::REPLAY_STEPS,
            format!(
                "Capture steps are played for at most: {longest}; pauses between them: {pauses}."
            ),
            "Leave --set longest-step and --set pauses out.",
        ));
    }
    caveats
}

/// The pages of the form.
fn form_pages(replay: &Replay, results: &Results<'_>) -> Vec<Page> {
    let plots = [rates_plot(results), response_plot(results), outstanding_plot(results)];
    let mut pages = vec![distribution_page(replay)];
    pages.extend(plots.map(|plot| page(&plot.title.clone(), vec![Exhibit::Plot(plot)])));
    if let Course::Script(script, _) = &replay.course {
        let plot = single_ios::lateness_plot(script, results);
        pages.extend(plot.map(|plot| page(&plot.title.clone(), vec![Exhibit::Plot(plot)])));
    }
    pages
}

/// The streams of every capture step; the cumulative workload as a table, because a list
/// of every step's streams would be too long to read.
fn distribution_page(replay: &Replay) -> Page {
    const TITLE: &str = "Replay Native IO Streams Distribution v Segments";
    let workload = &replay.composite.workload;
    let names: Vec<String> = workload.streams.iter().map(ToString::to_string).collect();
    let counts: Vec<Vec<f64>> = workload
        .steps
        .iter()
        .map(|step| {
            let mut counts = vec![0.0; names.len()];
            for (place, ios) in replay.composite.counts_of(step) {
                counts[place] = ios as f64;
            }
            counts
        })
        .collect();
    let caption = "Share of every applied I/O stream in each capture step, as it is applied.";
    let plot = distribution(TITLE, "Segment (capture step)", &names, &counts, caption);
    let mut exhibits = Vec::new();
    if !counts.is_empty() {
        exhibits.push(Exhibit::Plot(plot));
    }
    exhibits.push(Exhibit::Table(streams_table(&replay.composite)));
    page(TITLE, exhibits)
}

/// Something of a moment.
type Value = fn(&Moment) -> Option<f64>;

/// Shorter captures are drawn in seconds.
const DRAWN_IN_SECONDS: f64 = 600.0;

/// The axis of the capture's time, and how many of its units a second is.
fn time_axis(results: &Results<'_>) -> (Axis, f64) {
    let all = results.captured.iter().chain(&results.replayed);
    if all.map(|moment| moment.at).fold(0.0, f64::max) < DRAWN_IN_SECONDS {
        (Axis::time("Time of the capture", TimeUnit::Seconds), 1.0)
    } else {
        (Axis::time("Time of the capture", TimeUnit::Minutes), 1.0 / 60.0)
    }
}

fn series(
    results: &Results<'_>,
    name: &str,
    stroke: Stroke,
    moments: &[Moment],
    value: Value,
) -> Option<Series> {
    let scale = time_axis(results).1;
    let points: Vec<_> = moments.iter().map(|m| (m.at * scale, value(m))).collect();
    points.iter().any(|(_, y)| y.is_some()).then(|| Series::new(name, stroke, points))
}

fn rates_plot(results: &Results<'_>) -> Plot {
    let line = |name: &str, stroke, moments: &[Moment], value| {
        series(results, name, stroke, moments, value)
    };
    let (iops, mb): (Value, Value) = (|m| m.iops, |m| m.mb_per_second);
    Plot::new(
        PlotKind::Lines,
        "iops-throughput-time",
        "Replay Native IOPS & TP v Time",
        time_axis(results).0,
        Axis::new("IOPS", Scale::Linear),
    )
    .caption(
        "I/Os per second, left, and MB/s, right: the replay, the applied \
         streams in the capture, and all I/Os of the capture.",
    )
    .right(Axis::new("MB/s", Scale::Linear))
    .series(line("IOPS, replay", Stroke::Measured, &results.replayed, iops))
    .series(line("IOPS, capture (applied)", Stroke::Measured, &results.applied, iops))
    .series(line("IOPS, capture (all)", Stroke::Context, &results.captured, iops))
    .series(line("MB/s, replay", Stroke::Measured, &results.replayed, mb).map(Series::on_right))
    .series(
        line("MB/s, capture (applied)", Stroke::Measured, &results.applied, mb)
            .map(Series::on_right),
    )
}

fn response_plot(results: &Results<'_>) -> Plot {
    let line = |name: &str, stroke, moments: &[Moment], value| {
        series(results, name, stroke, moments, value)
    };
    Plot::new(
        PlotKind::Lines,
        "response-time",
        "Replay Native Response Time v Time",
        time_axis(results).0,
        Axis::new("Response time (ms)", Scale::Log10),
    )
    .caption(
        "Average and longest response time of the replay and, where the workload tells, of all \
         I/Os of the capture.",
    )
    .series(line("ART, replay", Stroke::Average, &results.replayed, |m| m.art))
    .series(line("ART, capture", Stroke::Fit, &results.captured, |m| m.art))
    .series(line("MRT, replay", Stroke::Limit, &results.replayed, |m| m.mrt))
    .series(line("MRT, capture", Stroke::Context, &results.captured, |m| m.mrt))
}

fn outstanding_plot(results: &Results<'_>) -> Plot {
    let line = |name: &str, stroke, moments: &[Moment], value| {
        series(results, name, stroke, moments, value)
    };
    Plot::new(
        PlotKind::Lines,
        "outstanding-time",
        "Replay Native Outstanding I/Os v Time",
        time_axis(results).0,
        Axis::new("Outstanding I/Os", Scale::Linear),
    )
    .caption(
        "I/Os outstanding on average: the response times of the replay added up over the time, and \
         what the capture counted.",
    )
    .series(line("OIO, replay", Stroke::Average, &results.replayed, |m| m.outstanding))
    .series(line("OIO, capture", Stroke::Fit, &results.captured, |m| m.outstanding))
}

/// Replay and capture over their whole time: rates are I/Os over the time of the steps,
/// or of the script.
fn comparison(replay: &Replay, results: &Results<'_>, id: &str) -> Table {
    let steps = &replay.composite.workload.steps;
    let seconds = match &replay.course {
        Course::Steps(_) => steps.iter().map(|step| step.lasted.as_secs_f64()).sum(),
        // The time between steps is played too.
        Course::Script(script, _) => script.span.as_secs_f64(),
    };
    let rate = |sum: f64| (seconds > 0.0).then(|| sum / seconds);
    let counts: Vec<(usize, u64)> =
        steps.iter().flat_map(|step| replay.composite.counts_of(step)).collect();
    let streams = &replay.composite.workload.streams;
    let applied: f64 = counts.iter().map(|(_, ios)| *ios as f64).sum();
    let applied_bytes: f64 =
        counts.iter().map(|(place, ios)| *ios as f64 * streams[*place].size.0 as f64).sum();
    let all: f64 = steps.iter().map(|step| step.captured_ios as f64).sum();
    let all_bytes: f64 = steps.iter().map(|step| step.captured_bytes.0 as f64).sum();
    let captured = |head: &str, ios: f64, bytes: f64, mean: Option<f64>| {
        let there = !steps.is_empty();
        Row::new(
            head,
            [
                TableCell::number(there.then_some(ios), 0),
                TableCell::number(there.then_some(bytes), 0),
                TableCell::number(rate(ios), 1),
                TableCell::number(rate(bytes / 1e6), 1),
                TableCell::number(mean, 4),
            ],
        )
    };
    let mean = mean_response(replay);
    let workload = &replay.composite.workload;
    let whole_ios = (workload.captured_ios > 0).then_some(workload.captured_ios as f64);
    let whole_bytes = workload.captured_bytes.filter(|_| whole_ios.is_some());
    let columns = ["I/Os", "Bytes", "IOPS", "MB/s", "ART ms"];
    let rows = vec![
        replay_row(results),
        captured("Capture, applied streams", applied, applied_bytes, None),
        captured("Capture, all I/Os of these steps", all, all_bytes, mean),
        // The time of the steps that are not played is not known.
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

/// All I/Os of the replay, and per second of its steps.
fn played_whole(results: &Results<'_>) -> (Tally, impl Fn(f64) -> Option<f64>) {
    let mut tally = Tally::default();
    // Flushes too, as in the capture.
    results.measurements().for_each(|m| tally.merge(&m.with_flushes()));
    let seconds: f64 = results.measurements().map(|m| m.elapsed.as_secs_f64()).sum();
    (tally, move |sum: f64| (seconds > 0.0).then(|| sum / seconds))
}

fn figures(results: &Results<'_>) -> [KeyFigure; 4] {
    let (tally, rate) = played_whole(results);
    let ms = |time: Option<Nanos>| time.map(Nanos::as_millis_f64);
    let tail = ms(tally.percentile(FIVE_NINES));
    [
        KeyFigure::new("iops", "ReplayResult", rate(tally.ios as f64), "IOPS"),
        KeyFigure::new("rate", "Throughput", rate(tally.bytes.as_mb()), "MB/s"),
        KeyFigure::new("mean", "Mean response time", tally.response_mean_ms(), "ms"),
        KeyFigure::new("five-nines", "99.999 % response time", tail, "ms").of_buckets(),
    ]
}

fn replay_row(results: &Results<'_>) -> Row {
    let (tally, rate) = played_whole(results);
    let cells = [
        TableCell::number(Some(tally.ios as f64), 0),
        TableCell::number(Some(tally.bytes.0 as f64), 0),
        TableCell::number(rate(tally.ios as f64), 1),
        TableCell::number(rate(tally.bytes.as_mb()), 1),
        TableCell::number(tally.response_mean_ms(), 4),
    ];
    Row::new("Replay", cells).strong(true)
}

/// The capture's mean response time, where every step has one.
fn mean_response(replay: &Replay) -> Option<f64> {
    let steps = &replay.composite.workload.steps;
    let sums: Option<Vec<f64>> = steps
        .iter()
        .map(|step| Some(step.response_mean?.as_millis_f64() * step.captured_ios as f64))
        .collect();
    let ios: u64 = steps.iter().map(|step| step.captured_ios).sum();
    sums.filter(|_| ios > 0).map(|sums| sums.iter().sum::<f64>() / ios as f64)
}

fn chapters(replay: &Replay, record: &Record, results: &Results<'_>) -> Vec<Page> {
    let choices = replay.choices();
    let mut chapters = common_chapters(&choices, record);
    chapters.push(captured::workload_chapter(&replay.composite));
    chapters.push(general_chapter(&choices));
    let mut done = vec![
        Exhibit::Listing(listing(replay)),
        Exhibit::Table(comparison(replay, results, "replay-comparison")),
        Exhibit::Table(beside::streams(replay, results)),
    ];
    if let Course::Script(script, _) = &replay.course {
        done.push(Exhibit::Facts(single_ios::facts(script, results)));
    }
    chapters.push(page("What Was Done", done));
    if let Some(steady) = &replay.regime.steady {
        let steps = steps_of(record, &steady.phase);
        let verdict = steady.verdict(&steps);
        let mut exhibits = check_exhibits(&verdict, "preconditioning-window");
        exhibits.extend(evidence(steady, &steps, "preconditioning"));
        chapters.push(page("Preconditioning to Steady State", exhibits));
    }
    chapters.push(response_chapter(replay, results));
    let measurements: Vec<&Measurement> = results.measurements().collect();
    let rows = secondary::rows(&Secondary::of(&measurements), None);
    let facts = Facts::new("Over the whole replay").rows(rows);
    chapters.push(secondary::chapter(vec![Exhibit::Facts(facts)], record));
    chapters
}

/// Single I/Os have two response times: what whoever wanted them would have felt, and what
/// the target took.
fn response_chapter(replay: &Replay, results: &Results<'_>) -> Page {
    let of = |op: Option<Op>| {
        let mut tally = Tally::default();
        results.measurements().for_each(|m| {
            tally.merge(&op.map_or_else(|| m.with_flushes(), |op| m.direction(op)));
        });
        tally
    };
    let (all, reads, writes) = (of(None), of(Some(Op::Read)), of(Some(Op::Write)));
    let plain = &[("All I/Os", &all), ("Reads", &reads), ("Writes", &writes)];
    let is_due = match &replay.course {
        Course::Script(script, _) => script.timing != Timing::Closed,
        Course::Steps(_) => false,
    };
    if !is_due {
        let table =
            percentile_table("replay-percentiles", "Response times of the replay, ms", plain);
        return page("Response Times", vec![Exhibit::Table(table)]);
    }
    let title = "Response times of the replay from the due time, ms";
    let due = percentile_table("replay-percentiles", title, plain);
    let [reads, writes] = [Op::Read, Op::Write].map(|op| single_ios::served(results, op));
    let mut all = reads.clone();
    all.merge(&writes);
    let submitted = percentile_table(
        "replay-served",
        "Response times of the replay from submission, ms",
        &[("Reads and writes", &all), ("Reads", &reads), ("Writes", &writes)],
    );
    let text = "From the due time: how long a program would have waited that wanted the I/O then, a \
                late submission included. From submission: what the target took. Every other \
                response time of this report is from the due time.";
    let exhibits = [Exhibit::Table(due), Exhibit::Table(submitted), Exhibit::Text(text.into())];
    page("Response Times", exhibits.into())
}

fn listing(replay: &Replay) -> String {
    let regime = replay.regime.text(&replay.ground.settings);
    let (paced, all) = replay.paced();
    match &replay.course {
        Course::Steps(_) => format!(
            "{regime}\n{all} capture steps in their order, each with its own streams, counts, \
             demand and duration\n  {paced} of them paced by their rate; pauses: {}; longest step: \
             {}",
            PAUSES.value(&replay.ground.settings),
            LONGEST.value(&replay.ground.settings)
        ),
        Course::Script(script, _) => format!(
            "{regime}\n{} single I/Os in their order; timing {}; addresses {}; overlaps {}",
            script.counts.total(),
            script.timing,
            mapping_text(script),
            script.overlaps
        ),
    }
}

/// Every moment, for spreadsheets.
fn moments_table(results: &Results<'_>) -> Table {
    let of = |kind: &'static str, moments: &[Moment]| {
        let row = move |m: &Moment| {
            Row::new(
                kind,
                [
                    TableCell::number(Some(m.at), 3),
                    TableCell::number(m.iops, 3),
                    TableCell::number(m.mb_per_second, 3),
                    TableCell::number(m.art, 6),
                    TableCell::number(m.mrt, 6),
                    TableCell::number(m.outstanding, 4),
                ],
            )
        };
        moments.iter().map(row).collect::<Vec<_>>()
    };
    let columns = ["Time s", "IOPS", "MB/s", "ART ms", "MRT ms", "OIO"];
    let rows = [
        of("replay", &results.replayed),
        of("capture, applied streams", &results.applied),
        of("capture, all I/Os", &results.captured),
    ];
    Table::new("moments", "Replay and capture over time", "Of").columns(columns).rows(rows.concat())
}
