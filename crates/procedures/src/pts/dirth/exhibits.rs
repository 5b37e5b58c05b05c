//! Exhibits of DIRTH: fifteen pages of the form, then matrices, rounds, percentiles and
//! preconditioning.

use super::matrix::{DemandResult, Round};
use super::points::{self, PointRole};
use super::results::{DirthResults, PointHistogram};
use super::setup::{Dirth, LOOPS, PRE_WRITE_TIME};
use crate::common::metrics::MeasuredPoint;
use crate::common::preconditioning::{self, WIPC_DEMAND, WIPC_PATTERN};
use crate::exhibits::chosen_rate::{self, ChosenRate};
use crate::exhibits::cyclic_load::check_exhibits;
use crate::exhibits::disclosure::{self, ReportForm, form_demand};
use crate::exhibits::loops::{is_in_window, tracking_table};
use crate::exhibits::matrix::millis;
use crate::exhibits::pages::{page, rounds_axis};
use crate::exhibits::report::{ProcedureReport, ReportEntry, StudiedRun};
use crate::exhibits::response::{
    FIVE_NINES, bins_caveat, percentile_table, run_confidence_plot, tail_plot,
};
use crate::exhibits::secondary::{self, SecondaryPoint};
use crate::exhibits::time_axis::{PlotTimeAxis, minutes};
use crate::exhibits::typed_table::{TypedColumn, typed_row, typed_table};
use crate::pts::wipc_exhibits::preconditioning_exhibits;
use crate::pts::workload;
use crate::report_notation::{distinct, joined, mix_name, number, steady_rounds};
use steadfast_domain::findings::{
    Axis, Cell as TableCell, Exhibit, KeyFigure, Marker, Metric, Page, Plot, PlotKind, Row, Scale,
    Series, Setting, Stroke, Table,
};
use steadfast_domain::{
    Caveat, Demand, Measurement, Nanos, Outcome, Record, Step, Tally, Verdict, caveats as ids,
};

type DirthRun<'a> = StudiedRun<'a, Dirth>;

impl ProcedureReport for Dirth {
    type Results<'a> = DirthResults<'a>;

    const ENTRIES: &'static [ReportEntry<Self>] = &[
        ReportEntry::Summary,
        ReportEntry::Table(|run| points_table(run, "dirth-summary")),
        ReportEntry::Table(|run| tracking_table("steady-state", &run.results.verdict)),
        ReportEntry::FormPages(preconditioning_pages),
        ReportEntry::Form("DIRTH Between Round Pre Writes"),
        ReportEntry::Plot(pre_writes_plot),
        ReportEntry::FormPages(tracking_pages),
        ReportEntry::Form("DIRTH Demand Variation"),
        ReportEntry::Plot(variation_plot),
        ReportEntry::Form("DIRTH Demand Intensity"),
        ReportEntry::Plot(intensity_plot),
        ReportEntry::Form("DIRTH System CPU Utilization During Demand Variation"),
        ReportEntry::Several(cpu_exhibits),
        ReportEntry::FormPages(|run| {
            PointRole::ALL.into_iter().flat_map(|role| point_pages(run, role)).collect()
        }),
        ReportEntry::Form("DIRTH IOPS & ART v Total OIO"),
        ReportEntry::Plot(total_plot),
        ReportEntry::Setup,
        ReportEntry::General,
        ReportEntry::Chapter("Demand Matrix"),
        ReportEntry::Listing(listing),
        ReportEntry::Table(|run| points_table(run, "dirth-points")),
        ReportEntry::Table(|run| tracking_table("dv-steady-state", &run.results.verdict)),
        ReportEntry::Table(|run| matrix_table(run, &IOPS)),
        ReportEntry::Table(|run| matrix_table(run, &MB_PER_SECOND)),
        ReportEntry::Table(|run| matrix_table(run, &ART)),
        ReportEntry::Table(rounds_table),
        ReportEntry::OptionalTable(cpu_table),
        ReportEntry::Chapter("Response Times"),
        ReportEntry::Table(|run| {
            let title = "Response times of the chosen points, ms";
            percentile_table("dirth-percentiles", title, &tallies(run))
        }),
        ReportEntry::Plot(|run| {
            tail_plot("dirth-tails", "Response times of the chosen points", &tallies(run))
        }),
        ReportEntry::Secondary,
        ReportEntry::Table(secondary_table),
        ReportEntry::Chapter("Preconditioning"),
        ReportEntry::Several(|run| preconditioning_exhibits(&run.choices, run.record)),
        ReportEntry::Plot(|run| {
            let preconditioning = &run.results.preconditioning;
            let title = format!("Pre Conditioning, every step - {}", preconditioning.load.label);
            preconditioning.steps_plot("pc-minutes", &title)
        }),
        ReportEntry::Several(|run| run.results.preconditioning.evidence("pc")),
        ReportEntry::Csv(rounds_matrix),
    ];
    const FRONT_PLOTS: &'static [&'static str] = &["demand-intensity", "total-oio"];

    fn studied<'a>(&'a self, record: &'a Record) -> StudiedRun<'a, Self> {
        let (choices, results) = (self.choices(record), DirthResults::new(self, record));
        StudiedRun { test: self, record, choices, results }
    }

    fn title(&self) -> String {
        format!("DIRTH {}", self.workload)
    }

    fn form(run: &DirthRun<'_>) -> ReportForm {
        let highest = form_demand(run.test.matrix.highest());
        let chosen_demand = |role: PointRole| {
            let point = run.results.selection.as_ref()?.points.iter().find(|p| p.role == role)?;
            Some(form_demand(point.demand))
        };
        let wipc = match &run.test.setup.one_pass {
            Some(pass) => pass.text(),
            None => {
                let amount = disclosure::preconditioning_amount(&run.choices).unwrap_or_default();
                format!("{WIPC_PATTERN} (WIPC), {WIPC_DEMAND}, {amount}")
            }
        };
        let settings = run.choices.settings;
        let wdpc = format!("{} (0/100)", run.test.writes);
        let between = format!("{wdpc}, {highest}");
        let workload = run.test.workload.to_string();
        let mix = mix_name(run.test.workload.read_percent());
        let origin = workload::origin(settings);
        ReportForm::new(
            "DIRTH Test",
            "DIRTH - Demand Intensity & Response Time Histogram",
            &run.choices,
        )
        .set_up([
            disclosure::profile_row("wipc", "Pre Condition 1", wipc),
            disclosure::profile_row("wdpc", "Pre Condition 2", wdpc),
            run.choices.demand_row("TOIO - TC/QD", highest),
            Setting::outcome("SS Rounds", disclosure::window_text(preconditioned(run))),
            disclosure::profile_row("between-rounds", "Inter-Round Pre W", between),
            PRE_WRITE_TIME.row(settings, "Duration", run.test.pre_write_time.to_string()),
            disclosure::note_row(&run.choices),
        ])
        .test_parameters([
            Setting::new("stimulus-1", "Test Stimulus 1", workload, origin),
            Setting::new("mixes", "R/W %", mix, origin),
            disclosure::profile_row(
                "loop-order", "TC & QD Loops", "TC outer, QD inner, high to low",
            ),
            LOOPS.row(settings, "TC/QD", loops_text(run)),
            Setting::outcome("Steady State", disclosure::window_text(&run.results.verdict)),
            Setting::outcome("MinIOPS Point", chosen_demand(PointRole::Min)),
            Setting::outcome("MidIOPS Point", chosen_demand(PointRole::Mid)),
            Setting::outcome("MaxIOPS Point", chosen_demand(PointRole::Max)),
        ])
    }

    fn ending(run: &DirthRun<'_>) -> String {
        let rounds = run.results.rounds.len();
        if !run.record.has_ended() {
            let histograms =
                run.results.histograms.iter().filter(|h| h.measurement.is_some()).count();
            return format!(
                "The run is not finished: {rounds} rounds and {histograms} of 3 histograms are \
                 complete."
            );
        }
        match steady_rounds(&run.results.verdict) {
            Some(steady) if preconditioned(run).steady => {
                format!("Steady state in {steady} of {rounds}; three points measured.")
            }
            Some(steady) => format!(
                "Steady state NOT achieved in the preconditioning; {steady} of {rounds} are \
                 steady, three points measured."
            ),
            None => format!(
                "Steady state NOT achieved in {rounds} rounds (at most {} were allowed); three \
                 points measured.",
                run.test.matrix.rounds_max
            ),
        }
    }

    /// Rounds after a preconditioning that was not steady do not count.
    fn verdict(run: &DirthRun<'_>) -> Option<Verdict> {
        let verdict = run.results.verdict.clone();
        if preconditioned(run).steady {
            return Some(verdict);
        }
        Some(verdict.refused("the preconditioning was not steady"))
    }

    fn caveats(run: &DirthRun<'_>) -> Vec<Caveat> {
        let mut caveats = Vec::new();
        if run.record.has_ended() && !run.results.verdict.steady {
            caveats.push(Caveat::invalidates(
                ids::STEADY_STATE_NOT_ACHIEVED,
                format!(
                    "STEADY STATE NOT ACHIEVED at {}: the demands are those of {}.",
                    run.test.matrix.highest(),
                    reported_text(run)
                ),
                "Repeat the run with more rounds (--max-rounds).",
            ));
        }
        if run.record.has_ended() && !preconditioned(run).steady {
            caveats.push(Caveat::invalidates(
                ids::PRECONDITIONING_NOT_STEADY,
                format!(
                    "STEADY STATE NOT ACHIEVED in the preconditioning ({}): its {} rounds never \
                     met the criteria.",
                    run.test.preconditioning.label, run.test.preconditioning.cycles_max
                ),
                "Repeat the run with more rounds (--max-rounds).",
            ));
        }
        if let Some(selection) = &run.results.selection {
            caveats.extend(selection_caveats(selection, run.test.art_ceiling));
            caveats.extend(chosen_rates_caveat(run));
        }
        caveats
    }

    fn later_caveats(run: &DirthRun<'_>) -> Vec<Caveat> {
        let mut caveats = run.test.workload.caveats();
        caveats.push(bins_caveat());
        caveats
    }

    /// Returns the results of the chosen points in their histograms.
    fn figures(run: &DirthRun<'_>) -> Vec<KeyFigure> {
        let mut figures = Vec::new();
        for PointHistogram { chosen, measurement, .. } in &run.results.histograms {
            let (role, demand) = (chosen.role.name(), chosen.demand);
            let figure = |suffix: &str, label: String, value: Option<f64>, unit: &str| {
                KeyFigure::new(&format!("{}-{suffix}", role.to_lowercase()), label, value, unit)
            };
            let iops = measurement.and_then(Measurement::iops);
            let tail = measurement.and_then(|m| millis(m.total().percentile(FIVE_NINES)));
            figures.extend([
                figure("iops", format!("{role} at {demand}"), iops, "IOPS"),
                figure("matrix-iops", format!("{role}, in the matrix"), chosen.cell.iops, "IOPS"),
                figure("five-nines", format!("{role}, 99.999 %"), tail, "ms").of_buckets(),
            ]);
        }
        figures
    }

    /// Returns the matrix of the reported round and the histograms, in long form.
    fn metrics(run: &DirthRun<'_>) -> Vec<Metric> {
        let pattern = run.test.workload.pattern();
        let mut metrics = Vec::new();
        for demand in &run.test.matrix.demands {
            let point = format!("{} {demand}", run.test.workload);
            let cell = cell(run, *demand).copied().unwrap_or_default();
            let cell_metrics = [
                Metric::new("iops", &point, cell.iops, "IOPS"),
                Metric::new("throughput", &point, cell.mb_per_second, "MB/s"),
                Metric::new("art", &point, millis(cell.art), "ms"),
            ];
            for metric in cell_metrics.into_iter().flatten() {
                metrics.push(match &pattern {
                    Some(pattern) => metric.with_pattern(pattern),
                    None => metric,
                });
            }
        }
        for PointHistogram { chosen, measurement, .. } in &run.results.histograms {
            let point = format!("{} {}", run.test.workload, chosen.role.name());
            let Demand { threads, depth, .. } = chosen.demand;
            metrics.extend(Metric::new("threads", &point, Some(f64::from(threads)), "threads"));
            metrics.extend(Metric::new("queue-depth", &point, Some(f64::from(depth)), "I/Os"));
            let steps: Vec<&Measurement> = measurement.iter().copied().collect();
            let measured = MeasuredPoint { point: &point, pattern, steps: &steps, rounds: false };
            metrics.extend(measured.metrics());
        }
        metrics
    }
}

/// Returns the verdict on the preconditioning.
fn preconditioned<'a>(run: &'a DirthRun<'_>) -> &'a Verdict {
    &run.results.preconditioning.verdict
}

/// The columns of a chosen point: its cell in the matrix, then its histogram.
fn point_columns<'a>() -> [TypedColumn<PointHistogram<'a>>; 11] {
    [
        TypedColumn::cell("Demand", |point| TableCell::text(point.chosen.demand.to_string())),
        TypedColumn::number("OIO", 0, |point| Some(point.chosen.demand.outstanding() as f64)),
        TypedColumn::number("IOPS in the matrix", 1, |point| point.chosen.cell.iops),
        TypedColumn::number("ART ms in the matrix", 3, |point| millis(point.chosen.cell.art)),
        TypedColumn::number("IOPS", 1, |point| point.measurement?.iops()),
        TypedColumn::number("MB/s", 1, |point| point.measurement?.mb_per_second()),
        TypedColumn::number("ART ms", 3, |point| millis(point.tally()?.response_mean())),
        TypedColumn::number("Min ms", 3, |point| millis(point.tally()?.response_shortest())),
        TypedColumn::number("99.9 % ms", 3, |point| millis(point.tally()?.percentile(0.999))),
        TypedColumn::number("99.999 % ms", 3, |point| {
            millis(point.tally()?.percentile(FIVE_NINES))
        }),
        TypedColumn::number("MRT ms", 3, |point| millis(point.tally()?.response_longest())),
    ]
}

/// Returns the table of chosen points with their origin and histogram results.
fn points_table(run: &DirthRun<'_>, id: &str) -> Table {
    let title = "Chosen points: in the last round, and in their histograms";
    let columns = point_columns();
    let rows = run.results.histograms.iter().map(|point| {
        let role = point.chosen.role;
        typed_row(role.name(), &columns, point).strong(role == PointRole::Max)
    });
    typed_table(id, title, "Point", &columns).rows(rows)
}

fn preconditioning_pages(run: &DirthRun<'_>) -> Vec<Page> {
    let title = format!("Pre Conditioning - {}", run.test.preconditioning.label);
    let plot = run.results.preconditioning.convergence_plot("pc-convergence", &title);
    let title = format!("DIRTH Pre Conditioning IOPS ({}) v Round", run.test.matrix.highest());
    let check = check_exhibits(preconditioned(run), "pc-window");
    vec![page(&title, vec![Exhibit::Plot(plot)]), page("DIRTH Pre Conditioning SS Check", check)]
}

fn tracking_pages(run: &DirthRun<'_>) -> Vec<Page> {
    let highest = run.test.matrix.highest();
    let rounds = format!("DIRTH IOPS v Round at TC={}, All QD", highest.threads);
    let check = format!("DIRTH Demand Variation SS Check ({highest})");
    vec![
        page(&rounds, vec![Exhibit::Plot(rounds_plot(run))]),
        page(&check, check_exhibits(&run.results.verdict, "dv-window")),
    ]
}

fn loops_text(run: &DirthRun<'_>) -> String {
    let mut loops = run.test.matrix.ascending();
    loops.reverse();
    joined(loops)
}

fn pre_writes_plot(run: &DirthRun<'_>) -> Plot {
    let rounds =
        run.results.round_pre_write_steps.chunk_by(|(a, _), (b, _)| a.place.round == b.place.round);
    let series = rounds.map(|steps| {
        let name = format!("Round {}", steps[0].0.place.round);
        Series::new(name, Stroke::Measured, iops_curve(run, steps))
    });
    Plot::lines(
        "pre-writes",
        format!("Between Round Pre Writes - {} {}", run.test.writes, run.test.matrix.highest()),
        PlotTimeAxis::for_steps("Time", run.test.setup.step_time).axis,
        Axis::new("IOPS", Scale::Linear),
    )
    .caption("IOPS of the writes before each round's matrix; one line per round.")
    .series(series)
}

fn rounds_plot(run: &DirthRun<'_>) -> Plot {
    let threads = run.test.matrix.highest().threads;
    let demands = run.test.matrix.demands.iter().filter(|demand| demand.threads == threads);
    let series = demands.map(|demand| {
        let rounds = run.results.rounds.iter();
        let points =
            rounds.map(|round| (f64::from(round.round), run.test.matrix.tracked(round, *demand)));
        Series::new(format!("QD={}", demand.depth), Stroke::Measured, points.collect())
    });
    Plot::lines(
        "dv-rounds",
        format!("{} - IOPS at TC={threads}, All QD", run.test.workload),
        rounds_axis(),
        Axis::new("IOPS", Scale::Linear),
    )
    .caption("Reads and writes per second, round by round. A void round breaks its line.")
    .series(series)
}

/// Returns the IOPS of a load's steps on the axis of time, each at the end of the step.
fn iops_curve(run: &DirthRun<'_>, steps: &[(&Step, &Outcome)]) -> Vec<(f64, Option<f64>)> {
    let axis = PlotTimeAxis::for_steps("Time", run.test.setup.step_time);
    let mut time = Nanos::ZERO;
    let mut points = Vec::new();
    for (_, outcome) in steps {
        time += outcome.measurement.elapsed;
        points.push((axis.position(minutes(time)), outcome.measurement.iops()));
    }
    points
}

fn cell<'r>(run: &'r DirthRun<'_>, demand: Demand) -> Option<&'r DemandResult> {
    run.test.matrix.cell(run.results.chosen_round()?, demand)
}

fn reported_text(run: &DirthRun<'_>) -> String {
    run.results
        .chosen_round()
        .map_or("no round".to_owned(), |round| format!("round {}", round.round))
}

/// Returns one series per thread count, with queue depths ascending.
fn series_of_threads(
    run: &DirthRun<'_>,
    point: impl Fn(Demand) -> Option<(f64, Option<f64>)>,
) -> Vec<Series> {
    let loops = run.test.matrix.ascending();
    let series = |threads: &u32| {
        let points = loops.iter().filter_map(|depth| point(Demand::new(*threads, *depth)));
        Series::new(format!("TC={threads}"), Stroke::Measured, points.collect())
    };
    loops.iter().map(series).collect()
}

fn variation_plot(run: &DirthRun<'_>) -> Plot {
    let series = series_of_threads(run, |demand| {
        let iops = cell(run, demand).and_then(|cell| cell.iops);
        Some((f64::from(demand.depth), iops))
    });
    Plot::lines(
        "demand-variation",
        format!("Demand Variation - {}", run.test.workload),
        Axis::new("QD: outstanding I/Os per thread", Scale::Log2),
        Axis::new("IOPS", Scale::Linear),
    )
    .caption(format!(
        "Reads and writes per second against the queue depth, one line per thread count, in {}.",
        reported_text(run)
    ))
    .series(series)
}

fn intensity_plot(run: &DirthRun<'_>) -> Plot {
    let mut plot = Plot::lines(
        "demand-intensity",
        format!("Demand Intensity - {}", run.test.workload),
        Axis::new("IOPS", Scale::Linear),
        Axis::new("ART (ms)", Scale::Log10),
    )
    .caption(format!(
        "Average response time of reads and writes together against IOPS, one line per thread \
         count through its queue depths, in {}. Points below the ceiling of {} (dashed) can be \
         chosen; the chosen ones are set off. Knee: the highest IOPS per response time.",
        reported_text(run),
        run.test.art_ceiling
    ));
    plot.series = series_of_threads(run, |demand| {
        let cell = cell(run, demand)?;
        Some((cell.iops?, millis(cell.art)))
    });
    let rates = plot.series.iter().flat_map(|series| &series.points).map(|point| point.0);
    let highest = rates.fold(0.0, f64::max);
    for point in run.results.selection.iter().flat_map(|selection| &selection.points) {
        if let (Some(iops), Some(art)) = (point.cell.iops, millis(point.cell.art)) {
            let name = format!("{} {}", point.role.name(), point.demand);
            let series = Series::new(name, Stroke::Measured, vec![(iops, Some(art))]);
            plot.series.push(series.with_id(point.role.name()));
        }
    }
    let ceiling = Some(run.test.art_ceiling.as_millis_f64());
    let name = format!("ceiling {}", run.test.art_ceiling);
    plot.series.push(Series::new(name, Stroke::Limit, vec![(0.0, ceiling), (highest, ceiling)]));
    plot.markers(knee(run).and_then(|(demand, cell)| {
        Some(Marker { x: cell.iops?, label: format!("knee: {demand}") })
    }))
}

/// Returns the demand with the highest IOPS relative to its response time: higher demands add more
/// waiting than throughput.
fn knee<'r>(run: &'r DirthRun<'_>) -> Option<(Demand, &'r DemandResult)> {
    let power = |cell: &DemandResult| {
        let art = millis(cell.art).filter(|art| *art > 0.0)?;
        Some(cell.iops? / art)
    };
    let mut demands = best_by_outstanding(run);
    demands.retain(|(_, cell)| power(cell).is_some());
    demands.into_iter().max_by(|(_, a), (_, b)| {
        power(a).unwrap_or_default().total_cmp(&power(b).unwrap_or_default())
    })
}

fn cpu_exhibits(run: &DirthRun<'_>) -> Vec<Exhibit> {
    let loops = run.test.matrix.ascending();
    let cpu_percent = |demand: Demand| cell(run, demand).and_then(CPU_SYSTEM.value);
    if !run.test.matrix.demands.iter().any(|demand| cpu_percent(*demand).is_some()) {
        return vec![Exhibit::Text(
            "Processor use is unknown: the host did not report it, or the drive is simulated."
                .into(),
        )];
    }
    let names = loops.iter().map(u32::to_string).collect();
    let series = loops.iter().map(|threads| {
        let points = (0u32..)
            .zip(&loops)
            .map(|(x, depth)| (f64::from(x), cpu_percent(Demand::new(*threads, *depth))));
        Series::new(format!("TC={threads}"), Stroke::Measured, points.collect())
    });
    let plot = Plot::new(
        PlotKind::Columns3d,
        "cpu-system",
        "System CPU Utilization - TC x QD",
        Axis::new("QD", Scale::Categories(names)),
        Axis::new("CPU system (%)", Scale::Percent),
    )
    .caption(format!(
        "Share of all processors' time spent in the kernel in {}; one row per thread count.",
        reported_text(run)
    ))
    .series(series);
    vec![Exhibit::Plot(plot)]
}

fn histogram_exhibit(histogram: &PointHistogram<'_>) -> Exhibit {
    let Some(measurement) = histogram.measurement else {
        return Exhibit::Text("This histogram is not recorded yet, or a gap voided it.".into());
    };
    let role = histogram.chosen.role;
    let name = format!("{} {}", role.name(), histogram.chosen.demand);
    Exhibit::Plot(run_confidence_plot(role.histogram_phase(), &name, measurement))
}

/// Plots IOPS and ART by outstanding I/Os; of demands with the same product, the one with the most
/// IOPS.
fn total_plot(run: &DirthRun<'_>) -> Plot {
    let best = best_by_outstanding(run);
    let curve = |value: fn(&DemandResult) -> Option<f64>| {
        best.iter().map(|(demand, cell)| (demand.outstanding() as f64, value(cell))).collect()
    };
    let knee = knee(run).map(|(demand, _)| Marker {
        x: demand.outstanding() as f64,
        label: format!("knee: {demand}"),
    });
    Plot::lines(
        "total-oio",
        format!("IOPS & ART v Total OIO - {}", run.test.workload),
        Axis::new("Total outstanding I/Os (TC x QD)", Scale::Log2),
        Axis::new("IOPS", Scale::Linear),
    )
    .caption(format!(
        "For each total, the demand with the highest IOPS, in {}; the matrix lists all demands. \
         Knee: the highest IOPS per response time.",
        reported_text(run)
    ))
    .with(Series::new("IOPS", Stroke::Measured, curve(|cell| cell.iops)))
    .with(Series::new("ART", Stroke::Measured, curve(|cell| millis(cell.art))).on_right())
    .right(Axis::new("ART (ms)", Scale::Log10))
    .markers(knee)
}

/// Returns the demands of the reported round by outstanding I/Os; of those with the same product,
/// the one with the most IOPS.
fn best_by_outstanding<'r>(run: &'r DirthRun<'_>) -> Vec<(Demand, &'r DemandResult)> {
    let mut results = Vec::new();
    for demand in &run.test.matrix.demands {
        results.extend(cell(run, *demand).map(|cell| (*demand, cell)));
    }
    let iops = |cell: &DemandResult| cell.iops.unwrap_or(f64::NEG_INFINITY);
    results.sort_by(|(a_demand, a), (b_demand, b)| {
        let by_outstanding = a_demand.outstanding().cmp(&b_demand.outstanding());
        by_outstanding.then(iops(b).total_cmp(&iops(a)))
    });
    results.dedup_by_key(|(demand, _)| demand.outstanding());
    results
}

fn rounds_table(run: &DirthRun<'_>) -> Table {
    let rounds = &run.results.rounds;
    let is_inside = |round: &Round| is_in_window(&run.results.verdict, round.round);
    let has_others = !rounds.iter().all(is_inside);
    let rows = rounds.iter().map(|round| {
        let remark = match (round.is_void, is_inside(round)) {
            (true, _) => "void: a gap inside",
            (false, true) => "window",
            (false, false) => "",
        };
        Row::new(
            round.round.to_string(),
            [
                TableCell::number(run.test.matrix.tracked(round, run.test.matrix.highest()), 1),
                TableCell::text(remark),
            ],
        )
        .strong(is_inside(round) && has_others)
    });
    Table::new("dv-rounds-table", "Tracking variable, round by round (IOPS)", "Round")
        .column(format!("{} {}", run.test.workload, run.test.matrix.highest()))
        .column(("window", "Window"))
        .rows(rows)
}

fn listing(run: &DirthRun<'_>) -> String {
    let highest = run.test.matrix.highest();
    format!(
        "{}\n{} at {highest}, one step of every {} measured, until steady\nWhile not steady \
         state, at most {} rounds\n  {} at {highest} for {}\n  For TC {}\n    For QD {}\n      {} \
         for {}; record IOPS and ART (reads + writes)\nChoose MaxIOPS, MidIOPS (ART below {}) and \
         MinIOPS ({})\nFor each: {} for {}, then {} for {}, recording every response time",
        preconditioning::listing(&run.test.setup),
        run.test.writes,
        run.test.preconditioning.steps_per_cycle(),
        run.test.matrix.rounds_max,
        run.test.writes,
        run.test.pre_write_time,
        loops_text(run),
        loops_text(run),
        run.test.workload,
        run.test.setup.step_time,
        run.test.art_ceiling,
        run.test.matrix.lowest(),
        run.test.writes,
        run.test.point_pre_write_time,
        run.test.workload,
        run.test.histogram_time
    )
}

fn selection_caveats(selection: &points::PointSelection, ceiling: Nanos) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    if selection.above_ceiling {
        caveats.push(Caveat::deviation(
            ids::ART_CEILING,
            format!(
                "No point stays below an average response time of {ceiling}: MaxIOPS and MidIOPS \
                 were chosen from the {} points of lowest average response time.",
                points::LOWEST_POINTS
            ),
            "Raise the ceiling with --set art-ceiling=TIME to choose by IOPS.",
        ));
    }
    let demands = selection.points.iter().map(|point| point.demand);
    if distinct(demands).len() < selection.points.len() {
        let points = selection.points.iter().map(|p| format!("{} {}", p.role.name(), p.demand));
        caveats.push(Caveat::remark(
            ids::POINTS_COINCIDE,
            format!("The rule chose the same demand more than once: {}.", joined(points)),
            "",
        ));
    }
    caveats
}

/// Returns the two pages of a chosen point: its writes and its histogram.
fn point_pages(run: &DirthRun<'_>, role: PointRole) -> Vec<Page> {
    let writes = format!("DIRTH {} Pre Writes", role.name());
    let title = format!("DIRTH {} Response Time Histogram", role.name());
    let Some(histogram) = run.results.histograms.iter().find(|h| h.chosen.role == role) else {
        let text = || vec![Exhibit::Text("No point is chosen yet.".into())];
        return vec![page(&writes, text()), page(&title, text())];
    };
    let demand = histogram.chosen.demand;
    let plot = Plot::lines(
        role.pre_write_phase(),
        format!("{} Pre Writes - {demand}", role.name()),
        PlotTimeAxis::for_steps("Time", run.test.setup.step_time).axis,
        Axis::new("IOPS", Scale::Linear),
    )
    .caption("IOPS of the writes (R/W 0/100) before the histogram, at its demand.")
    .with(Series::new(
        demand.to_string(),
        Stroke::Measured,
        iops_curve(run, &histogram.pre_write),
    ));
    vec![page(&writes, vec![Exhibit::Plot(plot)]), page(&title, vec![histogram_exhibit(histogram)])]
}

/// A value of every demand of the reported round.
struct DemandValue {
    id: &'static str,
    name: &'static str,
    decimals: u8,
    value: fn(&DemandResult) -> Option<f64>,
}

const IOPS: DemandValue =
    DemandValue { id: "matrix-iops", name: "IOPS", decimals: 1, value: |cell| cell.iops };
const MB_PER_SECOND: DemandValue =
    DemandValue { id: "matrix-mbps", name: "MB/s", decimals: 1, value: |cell| cell.mb_per_second };
const ART: DemandValue = DemandValue {
    id: "matrix-art",
    name: "Average response time, ms",
    decimals: 3,
    value: |cell| millis(cell.art),
};
const CPU_SYSTEM: DemandValue = DemandValue {
    id: "matrix-cpu",
    name: "CPU system, %",
    decimals: 1,
    value: |cell| cell.cpu_system.map(|share| share * 100.0),
};

fn matrix_table(run: &DirthRun<'_>, shown: &DemandValue) -> Table {
    let loops = run.test.matrix.ascending();
    let is_chosen = |demand: Demand| {
        run.results.selection.as_ref().is_some_and(|s| s.points.iter().any(|p| p.demand == demand))
    };
    let rows = loops.iter().map(|threads| {
        let demand = |depth: &u32| Demand::new(*threads, *depth);
        let values = loops.iter().map(|depth| {
            let value = cell(run, demand(depth)).and_then(shown.value);
            TableCell::number(value, shown.decimals)
        });
        Row::new(format!("TC {threads}"), values)
            .marked((0..loops.len()).filter(|at| is_chosen(demand(&loops[*at]))))
    });
    let round = reported_text(run);
    let title =
        format!("{}, {round}: rows TC, columns QD; the chosen points are set off", shown.name);
    Table::new(shown.id, title, "Threads")
        .spanner("Queue depth (QD)")
        .columns(loops.iter().map(|depth| format!("QD {depth}")))
        .rows(rows)
}

/// Returns the table of processor use; `None` if the host does not report it.
fn cpu_table(run: &DirthRun<'_>) -> Option<Table> {
    let is_known = |round: &Round| round.cells.iter().any(|cell| cell.cpu_system.is_some());
    run.results.chosen_round().filter(|round| is_known(round))?;
    Some(matrix_table(run, &CPU_SYSTEM))
}

fn tallies(run: &DirthRun<'_>) -> Vec<(String, Tally)> {
    let mut tallies = Vec::new();
    for point in &run.results.histograms {
        let name = format!("{} {}", point.chosen.role.name(), point.chosen.demand);
        tallies.extend(point.tally().map(|tally| (name, tally)));
    }
    tallies
}

fn secondary_table(run: &DirthRun<'_>) -> Table {
    let mut points = Vec::new();
    for point in &run.results.histograms {
        let demand = point.chosen.demand;
        let outstanding = number(demand.outstanding() as f64, 0);
        let name = format!("{} {demand} ({outstanding} OIO)", point.chosen.role.name());
        points.extend(point.measurement.map(|m| SecondaryPoint::from_steps(name, &[m])));
    }
    let title = "Secondary metrics of the chosen points";
    secondary::points_table("secondary-points", title, &points)
}

/// Returns every demand of every round, for spreadsheets.
fn rounds_matrix(run: &DirthRun<'_>) -> Table {
    let columns = ["TC", "QD", "OIO", "IOPS", "MB/s", "ART ms", "CPU system", "Void"];
    let mut rows = Vec::new();
    for round in &run.results.rounds {
        for (demand, cell) in run.test.matrix.demands.iter().zip(&round.cells) {
            rows.push(Row::new(
                round.round.to_string(),
                [
                    TableCell::number(Some(f64::from(demand.threads)), 0),
                    TableCell::number(Some(f64::from(demand.depth)), 0),
                    TableCell::number(Some(demand.outstanding() as f64), 0),
                    TableCell::number(cell.iops, 3),
                    TableCell::number(cell.mb_per_second, 3),
                    TableCell::number(millis(cell.art), 6),
                    TableCell::number(cell.cpu_system, 4),
                    TableCell::text(if round.is_void { "void" } else { "" }),
                ],
            ));
        }
    }
    Table::new("demand-matrix", "Every demand of every round", "Round").columns(columns).rows(rows)
}

/// Returns a caveat on points whose histogram has another rate than the matrix; `None` if there
/// are none.
fn chosen_rates_caveat(run: &DirthRun<'_>) -> Option<Caveat> {
    let mut rates = Vec::new();
    for PointHistogram { chosen, measurement, .. } in &run.results.histograms {
        let held = measurement.and_then(Measurement::iops);
        if let (Some(swept), Some(held)) = (chosen.cell.iops, held) {
            let (point, demand) = (chosen.role.name(), chosen.demand);
            rates.push(ChosenRate { point, demand, sweep_iops: swept, repeat_iops: held });
        }
    }
    chosen_rate::caveat(
        &rates,
        "Run it again with more writes before the rounds (--set pre-write=TIME).",
    )
}
