//! The exhibits of HIR: IOPS and steady state of the preconditioning, IOPS of
//! every wait state against wall time, and what each idle time gave.

use super::results::{Results, Wait};
use super::setup::{ACCESS_TIME, ACCESSES, Hir, IDLE_TIMES};
use crate::exhibits::disclosure::{self, Form, form_demand};
use crate::exhibits::frame::{common_chapters, frame, unfinished};
use crate::exhibits::loops::general_chapter;
use crate::exhibits::pages::page;
use crate::exhibits::response::{percentile_table, tail_plot};
use crate::exhibits::secondary::{self, SecondaryPoint};
use crate::exhibits::steps::every_step;
use crate::ground::metrics::Measured;
use crate::pts::between::{self, check_page, evidence};
use crate::words::reservation_text;
use steadfast_domain::caveats as ids;
use steadfast_domain::findings::{
    Axis, Cell as TableCell, Exhibit, FormHeader, KeyFigure, Metric, Origin, Page, Plot, PlotKind,
    Row, Scale, Series, Setting, Stroke, Table,
};
use steadfast_domain::{Caveat, CaveatKind, Findings, Measurement, Record, Tally};

/// Everything that is reported of a run.
pub fn findings(hir: &Hir, record: &Record, results: &Results<'_>) -> Findings {
    let choices = hir.choices(record);
    Findings {
        ending: ending(hir, record, results),
        caveats: caveats(hir, record, results),
        summary: vec![Exhibit::Table(waits_table(hir, results, "hir-summary"))],
        form_pages: form_pages(hir, results),
        chapters: chapters(hir, record, results),
        long_tables: vec![accesses_table(results), every_step(&choices, record)],
        metrics: metrics(hir, results),
        ..frame("HIR", &choices, record, header(hir, record, results))
            .judged(Some(results.verdict.clone()))
            .fronted(figures(results), ["recovery-curves", "pc-minutes"])
    }
}

fn ending(hir: &Hir, record: &Record, results: &Results<'_>) -> String {
    let done = results
        .waits
        .iter()
        .filter(|wait| wait.baseline.steps.len() == hir.accesses as usize)
        .count();
    if !record.has_ended() {
        return format!(
            "The run is not finished: {done} of {} wait states are complete.",
            results.waits.len()
        );
    }
    match (results.verdict.steady, results.verdict.window) {
        (true, Some((first, last))) => format!(
            "Steady state in rounds {first} to {last} of the preconditioning{}; {done} wait states \
             ran without interruption.",
            reservation_text(&results.verdict)
        ),
        _ => format!(
            "Steady state NOT achieved in {} rounds of the preconditioning{}; {done} wait states \
             ran without interruption.",
            hir.preconditioning.cycles_max,
            reservation_text(&results.verdict)
        ),
    }
}

fn caveats(hir: &Hir, record: &Record, results: &Results<'_>) -> Vec<Caveat> {
    let mut caveats: Vec<Caveat> = unfinished(record).into_iter().collect();
    if record.has_ended() && !results.verdict.steady {
        caveats.push(Caveat::new(
            CaveatKind::Invalidates,
            ids::STEADY_STATE_NOT_ACHIEVED,
            format!(
                "STEADY STATE NOT ACHIEVED in the preconditioning{}: the drive was still changing \
                 when the wait states began.",
                reservation_text(&results.verdict)
            ),
            "Repeat the run with more rounds (--max-rounds).",
        ));
    }
    caveats.extend(between::fresh_caveat(&results.verdict));
    caveats.extend(disclosure::caveats(&hir.choices(record), record));
    caveats.extend(secondary::caveats(record, &|_| true));
    caveats
}

fn seconds(hir: &Hir) -> String {
    let times: Vec<String> =
        hir.idle_times.iter().map(|idle| idle.as_secs_f64().to_string()).collect();
    times.join(", ")
}

fn header(hir: &Hir, record: &Record, results: &Results<'_>) -> FormHeader {
    let choices = hir.choices(record);
    let demand = form_demand(hir.demand);
    let rounds = disclosure::window_text(&results.verdict);
    let fixed =
        |id: &str, label: &str, value: String| Setting::new(id, label, value, Origin::Profile);
    let mut set_up = disclosure::common_set_up_rows(&choices);
    set_up.extend(disclosure::preconditioning_rows(&choices));
    set_up.extend([
        fixed("wdpc", "Pre Condition 2", format!("{} (WDPC)", hir.workload)),
        choices.demand_row("TOIO - TC/QD", demand.clone()),
        Setting::outcome("SS Rounds", rounds),
        disclosure::note_row(&choices),
    ]);
    let multiples: Vec<String> = hir
        .idle_times
        .iter()
        .map(|idle| (idle.as_secs_f64() / hir.access_time.as_secs_f64()).to_string())
        .collect();
    let baseline = format!("{} without a pause", baseline_time(hir));
    let settings = choices.settings;
    let mut test_parameters = disclosure::common_test_rows(&choices);
    test_parameters.extend([
        fixed("stimulus-1", "Write Stimulus", hir.workload.to_string()),
        choices.demand_row("TOIO - TC/QD", demand),
        ACCESS_TIME.row(settings, "Duration", hir.access_time.to_string()),
        fixed("idle-state", "Idle State", "Host Idle".into()),
        IDLE_TIMES.row(settings, "Durations (s)", seconds(hir)),
        Setting::outcome("Wait States", multiples.join(", ")),
        ACCESSES.row(settings, "Accesses of each", hir.accesses.to_string()),
        Setting::outcome("Baseline after each", baseline),
    ]);
    let form = Form {
        test: "HIR Test".into(),
        subtitle: "HIR - Host Idle Recovery".into(),
        set_up,
        test_parameters,
    };
    disclosure::form_header(form, &choices, record)
}

fn baseline_time(hir: &Hir) -> steadfast_domain::Nanos {
    steadfast_domain::Nanos(hir.access_time.0.saturating_mul(u64::from(hir.accesses)))
}

/// Every wait state in long form.
fn metrics(hir: &Hir, results: &Results<'_>) -> Vec<Metric> {
    let of_wait = |wait: &Wait<'_>| {
        let steps: Vec<&Measurement> =
            wait.accesses.steps.iter().map(|(_, outcome)| &outcome.measurement).collect();
        let point = format!("{}, {} idle", hir.workload, wait.idle);
        let pattern = hir.workload.pattern();
        Measured { point: &point, pattern, steps: &steps, rounds: false }.metrics()
    };
    results.waits.iter().flat_map(of_wait).collect()
}

/// Saturated, and after the shortest and the longest idle time.
fn figures(results: &Results<'_>) -> Vec<KeyFigure> {
    let mut figures =
        vec![KeyFigure::new("saturated-iops", "Saturated", results.saturated(), "IOPS")];
    let ends = [results.waits.first(), results.waits.last()];
    for wait in ends.into_iter().flatten() {
        let id = format!("idle-{}-iops", wait.idle.as_secs_f64());
        let label = format!("With {} idle between accesses", wait.idle);
        figures.push(KeyFigure::new(&id, label, wait.accesses.iops(), "IOPS"));
    }
    figures.dedup_by(|a, b| a.id == b.id);
    figures
}

/// What every idle time gave.
fn waits_table(hir: &Hir, results: &Results<'_>, id: &str) -> Table {
    let rows = results.waits.iter().map(|wait| wait_row(wait, results.saturated()));
    let columns = [
        "IOPS, mean",
        "of saturated %",
        "First access",
        "Last access",
        "ART ms",
        "Baseline after it, mean",
        "Baseline, last",
    ];
    let title = format!(
        "IOPS of the accesses ({} of {} each) with host idle time between them",
        hir.accesses, hir.access_time
    );
    Table::new(id, title, "Idle s").columns(columns).rows(rows)
}

fn wait_row(wait: &Wait<'_>, saturated: Option<f64>) -> Row {
    let iops = wait.accesses.iops();
    let part = iops.zip(saturated.filter(|iops| *iops > 0.0)).map(|(a, b)| a / b * 100.0);
    let art = wait.accesses.tally().response_mean();
    Row::new(
        wait.idle.as_secs_f64().to_string(),
        [
            TableCell::number(iops, 1),
            TableCell::number(part, 1),
            TableCell::number(wait.accesses.first(), 1),
            TableCell::number(wait.accesses.last(), 1),
            TableCell::number(art.map(|t| t.as_millis_f64()), 3),
            TableCell::number(wait.baseline.iops(), 1),
            TableCell::number(wait.baseline.last(), 1),
        ],
    )
}

fn form_pages(hir: &Hir, results: &Results<'_>) -> Vec<Page> {
    let preconditioning = between::minutes_plot(
        &hir.preconditioning,
        &results.preconditioning,
        ("pc-minutes", &format!("HIR Pre Conditioning - {}", hir.workload)),
    );
    vec![
        page("HIR Pre Conditioning IOPS", vec![Exhibit::Plot(preconditioning)]),
        check_page("HIR Pre Conditioning SS Measurement", &results.verdict, "pc-window"),
        page("HIR IOPS v Time - All Wait States", vec![Exhibit::Plot(waits_plot(hir, results))]),
    ]
}

fn waits_plot(hir: &Hir, results: &Results<'_>) -> Plot {
    let (time, minute) = between::time_axis("Wall time", hir.access_time.max(hir.ground.minute));
    let scaled = |points: &[(f64, Option<f64>)]| -> Vec<(f64, Option<f64>)> {
        points.iter().map(|(time, iops)| (time * minute, *iops)).collect()
    };
    let mut plot = Plot::new(
        PlotKind::Lines,
        "wait-states",
        format!("HIR IOPS v Time - {}", hir.workload),
        time,
        Axis::new("IOPS", Scale::Linear),
    )
    .caption(format!(
        "IOPS of every access of {} without its pause, at the wall time when it began. The \
         accesses without a pause after each wait state are gray.",
        hir.access_time
    ));
    for wait in &results.waits {
        let name = format!("{} s idle", wait.idle.as_secs_f64());
        let points = scaled(&wait.accesses.points);
        plot.series.push(Series::new(name, Stroke::Measured, points));
    }
    // One line for each wait state: between two of them is another wait state.
    let mut baselines: Vec<(f64, Option<f64>)> = Vec::new();
    for wait in &results.waits {
        let points = scaled(&wait.baseline.points);
        if let Some((x, _)) = points.first().filter(|_| !baselines.is_empty()) {
            baselines.push((*x, None));
        }
        baselines.extend(points);
    }
    plot.series.push(Series::new("no pause", Stroke::Context, baselines));
    plot
}

/// What each idle time gave, access by access, all from the same beginning.
fn recovery_plot(hir: &Hir, results: &Results<'_>) -> Plot {
    let mut plot = Plot::new(
        PlotKind::Lines,
        "recovery-curves",
        format!("HIR IOPS by access - {}", hir.workload),
        Axis::new("Access", Scale::LinearFitted),
        Axis::new("IOPS", Scale::Linear),
    )
    .caption(format!(
        "IOPS of every access of {}, by its number in its wait state. Dashed: the mean of the \
         steady window before the first pause.",
        hir.access_time
    ));
    plot.series = results
        .waits
        .iter()
        .map(|wait| {
            let points = (1u32..).zip(&wait.accesses.points);
            let points = points.map(|(n, (_, iops))| (f64::from(n), *iops)).collect();
            let name = format!("{} s idle", wait.idle.as_secs_f64());
            Series::new(name, Stroke::Measured, points)
        })
        .collect();
    if let Some(level) = results.saturated() {
        let ends = [1.0, f64::from(hir.accesses)].map(|x| (x, Some(level))).to_vec();
        plot.series.push(Series::new("saturated", Stroke::Limit, ends));
    }
    plot
}

fn chapters(hir: &Hir, record: &Record, results: &Results<'_>) -> Vec<Page> {
    let choices = hir.choices(record);
    let mut chapters = common_chapters(&choices, record);
    chapters.push(general_chapter(&choices));
    chapters.push(page(
        "Wait States",
        vec![
            Exhibit::Listing(listing(hir)),
            Exhibit::Table(waits_table(hir, results, "wait-states-table")),
            Exhibit::Plot(recovery_plot(hir, results)),
        ],
    ));
    let mut preconditioning = vec![Exhibit::Plot(between::convergence_plot(
        &hir.preconditioning,
        &results.preconditioning,
        ("pc-convergence", "Rounds of the preconditioning"),
    ))];
    preconditioning.extend(evidence(&hir.preconditioning, &results.preconditioning, "pc"));
    chapters.push(page("Preconditioning", preconditioning));
    let tallies: Vec<(String, Tally)> = results
        .waits
        .iter()
        .map(|wait| (format!("{} s idle", wait.idle.as_secs_f64()), wait.accesses.tally()))
        .collect();
    let columns: Vec<(&str, &Tally)> =
        tallies.iter().map(|(name, tally)| (name.as_str(), tally)).collect();
    let table =
        percentile_table("wait-percentiles", "Response times of the wait states, ms", &columns);
    let tails = tail_plot("wait-tails", "Response times of the wait states", &columns);
    chapters.push(page("Response Times", vec![Exhibit::Table(table), Exhibit::Plot(tails)]));
    let points: Vec<SecondaryPoint<'_>> = results
        .waits
        .iter()
        .zip(&tallies)
        .map(|(wait, (name, tally))| SecondaryPoint {
            name: name.clone(),
            iops: wait.accesses.iops(),
            art: tally.response_mean_ms(),
            tally,
            sensed: wait.accesses.secondary(),
        })
        .collect();
    let table =
        secondary::points_table("secondary-waits", "Secondary metrics of the wait states", &points);
    chapters.push(secondary::chapter(vec![Exhibit::Table(table)], record));
    chapters
}

fn listing(hir: &Hir) -> String {
    format!(
        "Purge (no workload independent preconditioning)\n{} at {}, one step of every {} measured, \
         until steady\nFor idle time {} s\n  {} times: {} for {}, then host idle\n  {} for {} \
         without a pause, one value every {}",
        hir.workload,
        hir.demand,
        hir.preconditioning.cycle(),
        seconds(hir),
        hir.accesses,
        hir.workload,
        hir.access_time,
        hir.workload,
        baseline_time(hir),
        hir.access_time
    )
}

/// One line per access, for spreadsheets.
fn accesses_table(results: &Results<'_>) -> Table {
    let rows = results
        .waits
        .iter()
        .flat_map(|wait| {
            let idle = wait.idle.as_secs_f64();
            let waits = wait.accesses.points.iter().map(move |point| (idle, "wait", point));
            let base = wait.baseline.points.iter().map(move |point| (idle, "no pause", point));
            waits.chain(base)
        })
        .map(|(idle, what, (time, iops))| {
            Row::new(
                idle.to_string(),
                [
                    TableCell::text(what),
                    TableCell::number(Some(*time), 5),
                    TableCell::number(*iops, 3),
                ],
            )
        });
    Table::new("accesses", "Every access of the wait states", "Idle s")
        .columns(["Kind", "Wall time min", "IOPS"])
        .rows(rows)
}
