//! Exhibits of HIR: IOPS and steady state of the preconditioning, IOPS of every wait state over
//! wall time, and the results by idle time.

use super::results::{HirResults, WaitState};
use super::setup::{ACCESS_TIME, ACCESSES, Hir, IDLE_TIMES};
use crate::common::metrics::MeasuredPoint;
use crate::exhibits::cyclic_load::{check_exhibits, preconditioning_caveats};
use crate::exhibits::disclosure::{self, ReportForm, form_demand};
use crate::exhibits::matrix::millis;
use crate::exhibits::report::{ProcedureReport, ReportEntry, StudiedRun};
use crate::exhibits::response::{percentile_table, tail_plot};
use crate::exhibits::secondary::{self, SecondaryPoint};
use crate::exhibits::time_axis::PlotTimeAxis;
use crate::report_notation::{joined, reservation_text, steady_rounds};
use steadfast_domain::findings::{
    Axis, Cell as TableCell, KeyFigure, Metric, Plot, Row, Scale, Series, Setting, Stroke, Table,
};
use steadfast_domain::{Caveat, Nanos, Record, Step, Tally, Verdict};

type HirRun<'a> = StudiedRun<'a, Hir>;

impl ProcedureReport for Hir {
    type Results<'a> = HirResults<'a>;
    const TITLE: &'static str = "HIR";

    const ENTRIES: &'static [ReportEntry<Self>] = &[
        ReportEntry::Summary,
        ReportEntry::Table(|run| waits_table(run, "hir-summary")),
        ReportEntry::Form("HIR Pre Conditioning IOPS"),
        ReportEntry::Plot(preconditioning_plot),
        ReportEntry::Form("HIR Pre Conditioning SS Measurement"),
        ReportEntry::Several(|run| check_exhibits(preconditioned(run), "pc-window")),
        ReportEntry::Form("HIR IOPS v Time - All Wait States"),
        ReportEntry::Plot(waits_plot),
        ReportEntry::Setup,
        ReportEntry::General,
        ReportEntry::Chapter("Wait States"),
        ReportEntry::Listing(listing),
        ReportEntry::Table(|run| waits_table(run, "wait-states-table")),
        ReportEntry::Plot(recovery_plot),
        ReportEntry::Chapter("Preconditioning"),
        ReportEntry::Plot(|run| {
            let title = "Rounds of the preconditioning";
            run.results.preconditioning.convergence_plot("pc-convergence", title)
        }),
        ReportEntry::Several(|run| run.results.preconditioning.evidence("pc")),
        ReportEntry::Chapter("Response Times"),
        ReportEntry::Table(|run| {
            let title = "Response times of the wait states, ms";
            percentile_table("wait-percentiles", title, &tallies(run))
        }),
        ReportEntry::Plot(|run| {
            tail_plot("wait-tails", "Response times of the wait states", &tallies(run))
        }),
        ReportEntry::Secondary,
        ReportEntry::Table(secondary_table),
        ReportEntry::Csv(accesses_table),
    ];
    const FRONT_PLOTS: &'static [&'static str] = &["recovery-curves", "pc-minutes"];

    fn studied<'a>(&'a self, record: &'a Record) -> StudiedRun<'a, Self> {
        let (choices, results) = (self.choices(record), HirResults::new(self, record));
        StudiedRun { test: self, record, choices, results }
    }

    fn form(run: &HirRun<'_>) -> ReportForm {
        let demand = form_demand(run.test.demand);
        let rounds = disclosure::window_text(preconditioned(run));
        let access_time = run.test.access_time.as_secs_f64();
        let multiples = run.test.idle_times.iter().map(|idle| idle.as_secs_f64() / access_time);
        let baseline = format!("{} without a pause", baseline_time(run));
        let workload = run.test.workload.to_string();
        let settings = run.choices.settings;
        ReportForm::new("HIR Test", "HIR - Host Idle Recovery", &run.choices)
            .set_up(disclosure::preconditioning_rows(&run.choices))
            .set_up([
                disclosure::profile_row("wdpc", "Pre Condition 2", format!("{workload} (WDPC)")),
                run.choices.demand_row("TOIO - TC/QD", demand.clone()),
                Setting::outcome("SS Rounds", rounds),
                disclosure::note_row(&run.choices),
            ])
            .test_parameters([
                disclosure::profile_row("stimulus-1", "Write Stimulus", workload),
                run.choices.demand_row("TOIO - TC/QD", demand),
                ACCESS_TIME.row(settings, "Duration", run.test.access_time.to_string()),
                disclosure::profile_row("idle-state", "Idle State", "Host Idle"),
                IDLE_TIMES.row(settings, "Durations (s)", idle_times_text(run)),
                Setting::outcome("Wait States", joined(multiples)),
                ACCESSES.row(settings, "Accesses of each", run.test.accesses.to_string()),
                Setting::outcome("Baseline after each", baseline),
            ])
    }

    fn ending(run: &HirRun<'_>) -> String {
        let is_complete =
            |wait: &&WaitState<'_>| wait.baseline.steps.len() == run.test.accesses as usize;
        let complete = run.results.waits.iter().filter(is_complete).count();
        if !run.record.has_ended() {
            return format!(
                "The run is not finished: {complete} of {} wait states are complete.",
                run.results.waits.len()
            );
        }
        let verdict = preconditioned(run);
        let rounds_max = run.test.preconditioning.cycles_max;
        let rounds = match steady_rounds(verdict) {
            Some(rounds) => format!("Steady state in {rounds}"),
            None => format!("Steady state NOT achieved in {rounds_max} rounds"),
        };
        format!(
            "{rounds} of the preconditioning{}; {complete} wait states ran without interruption.",
            reservation_text(verdict)
        )
    }

    fn verdict(run: &HirRun<'_>) -> Option<Verdict> {
        Some(preconditioned(run).clone())
    }

    fn caveats(run: &HirRun<'_>) -> Vec<Caveat> {
        preconditioning_caveats(run.record, preconditioned(run), "wait states")
    }

    fn reports(_: &HirRun<'_>, _: &Step) -> bool {
        true
    }

    /// Returns the saturated rate, and the rates after the shortest and the longest idle time.
    fn figures(run: &HirRun<'_>) -> Vec<KeyFigure> {
        let saturated =
            KeyFigure::new("saturated-iops", "Saturated", run.results.saturated(), "IOPS")
                .with_range(preconditioned(run).range());
        let mut figures = vec![saturated];
        let shortest_and_longest = [run.results.waits.first(), run.results.waits.last()];
        for wait in shortest_and_longest.into_iter().flatten() {
            let id = format!("idle-{}-iops", wait.idle.as_secs_f64());
            let label = format!("With {} idle between accesses", wait.idle);
            figures.push(KeyFigure::new(&id, label, wait.accesses.iops(), "IOPS"));
        }
        figures.dedup_by(|a, b| a.id == b.id);
        figures
    }

    /// Returns every wait state in long form.
    fn metrics(run: &HirRun<'_>) -> Vec<Metric> {
        let mut metrics = Vec::new();
        for wait in &run.results.waits {
            let steps = wait.accesses.measurements();
            let point = format!("{}, {} idle", run.test.workload, wait.idle);
            let pattern = run.test.workload.pattern();
            let measured = MeasuredPoint { point: &point, pattern, steps: &steps, rounds: false };
            metrics.extend(measured.metrics());
        }
        metrics
    }
}

/// Returns the verdict on the preconditioning.
fn preconditioned<'a>(run: &'a HirRun<'_>) -> &'a Verdict {
    &run.results.preconditioning.verdict
}

/// Returns the idle times in seconds, separated by commas.
fn idle_times_text(run: &HirRun<'_>) -> String {
    joined(run.test.idle_times.iter().map(|idle| idle.as_secs_f64()))
}

/// Returns the length of the accesses without a pause that follow a wait state.
fn baseline_time(run: &HirRun<'_>) -> Nanos {
    Nanos(run.test.access_time.0.saturating_mul(u64::from(run.test.accesses)))
}

fn waits_table(run: &HirRun<'_>, id: &str) -> Table {
    let saturated = run.results.saturated();
    let rows = run.results.waits.iter().map(|wait| wait_row(wait, saturated));
    let columns = [
        "IOPS, mean", "of saturated %", "First access", "Last access", "ART ms",
        "Baseline after it, mean", "Baseline, last",
    ];
    let title = format!(
        "IOPS of the accesses ({} of {} each) with host idle time between them",
        run.test.accesses, run.test.access_time
    );
    Table::new(id, title, "Idle s").columns(columns).rows(rows)
}

fn wait_row(wait: &WaitState<'_>, saturated: Option<f64>) -> Row {
    let iops = wait.accesses.iops();
    let saturated = saturated.filter(|saturated| *saturated > 0.0);
    let percent = iops.zip(saturated).map(|(iops, saturated)| iops / saturated * 100.0);
    let art = wait.accesses.tally().response_mean();
    Row::new(
        wait.idle.as_secs_f64().to_string(),
        [
            TableCell::number(iops, 1),
            TableCell::number(percent, 1),
            TableCell::number(wait.accesses.first_iops(), 1),
            TableCell::number(wait.accesses.last_iops(), 1),
            TableCell::number(millis(art), 3),
            TableCell::number(wait.baseline.iops(), 1),
            TableCell::number(wait.baseline.last_iops(), 1),
        ],
    )
}

fn preconditioning_plot(run: &HirRun<'_>) -> Plot {
    let title = format!("HIR Pre Conditioning - {}", run.test.workload);
    run.results.preconditioning.steps_plot("pc-minutes", &title)
}

fn waits_plot(run: &HirRun<'_>) -> Plot {
    let longest = run.test.access_time.max(run.test.setup.step_time);
    let time = PlotTimeAxis::for_steps("Wall time", longest);
    let scaled = |points: &[(f64, Option<f64>)]| -> Vec<(f64, Option<f64>)> {
        points.iter().map(|(minutes, iops)| (time.position(*minutes), *iops)).collect()
    };
    let mut plot = Plot::lines(
        "wait-states",
        format!("HIR IOPS v Time - {}", run.test.workload),
        time.axis.clone(),
        Axis::new("IOPS", Scale::Linear),
    )
    .caption(format!(
        "IOPS of every access of {} without its pause, at the wall time when it began. The \
         accesses without a pause after each wait state are gray.",
        run.test.access_time
    ));
    for wait in &run.results.waits {
        let points = scaled(&wait.accesses.points);
        plot.series.push(Series::new(wait_name(wait), Stroke::Measured, points));
    }
    // Draw one line per wait state: another wait state lies between two of them.
    let mut baselines: Vec<(f64, Option<f64>)> = Vec::new();
    for wait in &run.results.waits {
        let points = scaled(&wait.baseline.points);
        if let Some((x, _)) = points.first().filter(|_| !baselines.is_empty()) {
            baselines.push((*x, None));
        }
        baselines.extend(points);
    }
    plot.series.push(Series::new("no pause", Stroke::Context, baselines));
    plot
}

/// Plots each idle time access by access, all from the same origin.
fn recovery_plot(run: &HirRun<'_>) -> Plot {
    let curves = run.results.waits.iter().map(|wait| {
        let accesses = (1u32..).zip(&wait.accesses.points);
        let points = accesses.map(|(number, (_, iops))| (f64::from(number), *iops)).collect();
        Series::new(wait_name(wait), Stroke::Measured, points)
    });
    let saturated = run.results.saturated().map(|level| {
        let ends = [1.0, f64::from(run.test.accesses)].map(|x| (x, Some(level))).to_vec();
        Series::new("saturated", Stroke::Limit, ends)
    });
    Plot::lines(
        "recovery-curves",
        format!("HIR IOPS by access - {}", run.test.workload),
        Axis::new("Access", Scale::LinearFitted),
        Axis::new("IOPS", Scale::Linear),
    )
    .caption(format!(
        "IOPS of every access of {}, by its number in its wait state. Dashed: the mean of the \
         steady window before the first pause.",
        run.test.access_time
    ))
    .series(curves.chain(saturated))
}

fn listing(run: &HirRun<'_>) -> String {
    format!(
        "Purge ({})\n{} at {}, one step of every {} measured, \
         until steady\nFor idle time {} s\n  {} times: {} for {}, then host idle\n  {} for {} \
         without a pause, one value every {}",
        match &run.test.setup.one_pass {
            Some(pass) => pass.text(),
            None => "no workload independent preconditioning".to_owned(),
        },
        run.test.workload,
        run.test.demand,
        run.test.preconditioning.steps_per_cycle(),
        idle_times_text(run),
        run.test.accesses,
        run.test.workload,
        run.test.access_time,
        run.test.workload,
        baseline_time(run),
        run.test.access_time
    )
}

fn tallies(run: &HirRun<'_>) -> Vec<(String, Tally)> {
    run.results.waits.iter().map(|wait| (wait_name(wait), wait.accesses.tally())).collect()
}

fn wait_name(wait: &WaitState<'_>) -> String {
    format!("{} s idle", wait.idle.as_secs_f64())
}

fn secondary_table(run: &HirRun<'_>) -> Table {
    let waits = run.results.waits.iter();
    let points: Vec<SecondaryPoint> = waits
        .map(|wait| SecondaryPoint::from_steps(wait_name(wait), &wait.accesses.measurements()))
        .collect();
    secondary::points_table("secondary-waits", "Secondary metrics of the wait states", &points)
}

/// Returns one line per access, for spreadsheets.
fn accesses_table(run: &HirRun<'_>) -> Table {
    let mut rows = Vec::new();
    for wait in &run.results.waits {
        for (kind, series) in [("wait", &wait.accesses), ("no pause", &wait.baseline)] {
            for (time, iops) in &series.points {
                rows.push(Row::new(
                    wait.idle.as_secs_f64().to_string(),
                    [
                        TableCell::text(kind),
                        TableCell::number(Some(*time), 5),
                        TableCell::number(*iops, 3),
                    ],
                ));
            }
        }
    }
    Table::new("accesses", "Every access of the wait states", "Idle s")
        .columns(["Kind", "Wall time min", "IOPS"])
        .rows(rows)
}
