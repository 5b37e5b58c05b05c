//! The exhibits of DIRTH: fifteen pages of the form, then matrices, rounds,
//! percentiles and preconditioning.

use super::matrix::{Cell, Round};
use super::points::{self, Role};
use super::results::{Histogram, Results, minutes};
use super::setup::{Dirth, LOOPS, PRE_WRITE_TIME};
use crate::exhibits::disclosure::{self, Form, form_demand};
use crate::exhibits::frame::{common_chapters, frame, unfinished};
use crate::exhibits::held::{self, ChosenRate};
use crate::exhibits::loops::{general_chapter, tracking_table};
use crate::exhibits::pages::{page, rounds_axis};
use crate::exhibits::response::{
    FIVE_NINES, Rates, bins_caveat, confidence_plot, percentile_table, rated_title, tail_plot,
};
use crate::exhibits::secondary::{self, SecondaryPoint};
use crate::exhibits::steps::every_step;
use crate::ground::metrics::Measured;
use crate::ground::preconditioning;
use crate::ground::preconditioning::{WIPC_DEMAND, WIPC_PATTERN};
use crate::ground::secondary::Secondary;
use crate::pts::between::{self, check_page, evidence};
use crate::pts::wipc_exhibits::preconditioning_exhibits;
use crate::pts::workload;
use crate::words::{mix_name, number};
use steadfast_domain::caveats as ids;
use steadfast_domain::findings::{
    Axis, Cell as TableCell, Exhibit, FormHeader, KeyFigure, Marker, Metric, Origin, Page, Plot,
    PlotKind, Row, Scale, Series, Setting, Stroke, Table,
};
use steadfast_domain::{
    Caveat, CaveatKind, Demand, Findings, Measurement, Nanos, Outcome, Record, Step, Tally, Verdict,
};

/// Everything that is reported of a run.
pub fn findings(dirth: &Dirth, record: &Record, results: &Results<'_>) -> Findings {
    let choices = dirth.choices(record);
    let title = format!("DIRTH {}", dirth.workload);
    Findings {
        ending: ending(dirth, record, results),
        caveats: caveats(dirth, record, results),
        summary: vec![
            Exhibit::Table(points_table(results, "dirth-summary")),
            Exhibit::Table(tracking_table("steady-state", &results.verdict)),
        ],
        form_pages: form_pages(dirth, results),
        chapters: chapters(dirth, record, results),
        long_tables: vec![rounds_matrix(dirth, results), every_step(&choices, record)],
        metrics: metrics(dirth, results),
        ..frame(&title, &choices, record, header(dirth, record, results))
            .judged(Some(whole_verdict(results)))
            .fronted(figures(results), ["demand-intensity", "total-oio"])
    }
}

/// The verdict on the run: rounds from a preconditioning that was not steady do
/// not count.
fn whole_verdict(results: &Results<'_>) -> Verdict {
    let verdict = results.verdict.clone();
    if results.preconditioned.steady {
        verdict
    } else {
        verdict.refused("the preconditioning was not steady")
    }
}

fn ending(dirth: &Dirth, record: &Record, results: &Results<'_>) -> String {
    let rounds = results.rounds.len();
    if !record.has_ended() {
        let done = results.histograms.iter().filter(|h| h.measurement.is_some()).count();
        return format!(
            "The run is not finished: {rounds} rounds and {done} of 3 histograms are complete."
        );
    }
    match (results.verdict.steady, results.verdict.window) {
        (true, Some((first, last))) if results.preconditioned.steady => {
            format!("Steady state in rounds {first} to {last} of {rounds}; three points measured.")
        }
        (true, Some((first, last))) => format!(
            "Steady state NOT achieved in the preconditioning; rounds {first} to {last} of \
             {rounds} are steady, three points measured."
        ),
        _ => format!(
            "Steady state NOT achieved in {rounds} rounds (at most {} were allowed); three points \
             measured.",
            dirth.matrix.rounds_max
        ),
    }
}

fn header(dirth: &Dirth, record: &Record, results: &Results<'_>) -> FormHeader {
    let choices = dirth.choices(record);
    let highest = form_demand(dirth.matrix.highest());
    let chosen = |role: Role| {
        let point = results.selection.as_ref()?.points.iter().find(|p| p.role == role)?;
        Some(form_demand(point.demand))
    };
    let mut set_up = disclosure::common_set_up_rows(&choices);
    let amount = disclosure::preconditioning_amount(&choices).unwrap_or_default();
    let settings = choices.settings;
    let fixed =
        |id: &str, label: &str, value: String| Setting::new(id, label, value, Origin::Profile);
    let between = format!("{} (0/100), {highest}", dirth.writes);
    set_up.extend([
        fixed("wipc", "Pre Condition 1", format!("{WIPC_PATTERN} (WIPC), {WIPC_DEMAND}, {amount}")),
        fixed("wdpc", "Pre Condition 2", format!("{} (0/100)", dirth.writes)),
        choices.demand_row("TOIO - TC/QD", highest.clone()),
        Setting::outcome("SS Rounds", disclosure::window_text(&results.preconditioned)),
        fixed("between-rounds", "Inter-Round Pre W", between),
        PRE_WRITE_TIME.row(settings, "Duration", dirth.pre_write_time.to_string()),
        disclosure::note_row(&choices),
    ]);
    let read = dirth.workload.read_percent();
    let workload = workload::origin(settings);
    let mut test_parameters = disclosure::common_test_rows(&choices);
    test_parameters.extend([
        Setting::new("stimulus-1", "Test Stimulus 1", dirth.workload.to_string(), workload),
        Setting::new("mixes", "R/W %", mix_name(read), workload),
        fixed("loop-order", "TC & QD Loops", "TC outer, QD inner, high to low".into()),
        LOOPS.row(settings, "TC/QD", loops_text(dirth)),
        Setting::outcome("Steady State", disclosure::window_text(&results.verdict)),
        Setting::outcome("MinIOPS Point", chosen(Role::Min)),
        Setting::outcome("MidIOPS Point", chosen(Role::Mid)),
        Setting::outcome("MaxIOPS Point", chosen(Role::Max)),
    ]);
    let form = Form {
        test: "DIRTH Test".into(),
        subtitle: "DIRTH - Demand Intensity & Response Time Histogram".into(),
        set_up,
        test_parameters,
    };
    disclosure::form_header(form, &choices, record)
}

fn loops_text(dirth: &Dirth) -> String {
    let mut loops = dirth.matrix.ascending();
    loops.reverse();
    loops.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}

fn caveats(dirth: &Dirth, record: &Record, results: &Results<'_>) -> Vec<Caveat> {
    let mut caveats: Vec<Caveat> = unfinished(record).into_iter().collect();
    if record.has_ended() && !results.verdict.steady {
        let reported =
            results.reported().map_or("no round".into(), |r| format!("round {}", r.round));
        caveats.push(Caveat::new(
            CaveatKind::Invalidates,
            ids::STEADY_STATE_NOT_ACHIEVED,
            format!(
                "STEADY STATE NOT ACHIEVED at {}: the demands are those of {reported}.",
                dirth.matrix.highest()
            ),
            "Repeat the run with more rounds (--max-rounds).",
        ));
    }
    if record.has_ended() && !results.preconditioned.steady {
        caveats.push(Caveat::new(
            CaveatKind::Invalidates,
            ids::PRECONDITIONING_NOT_STEADY,
            format!(
                "STEADY STATE NOT ACHIEVED in the preconditioning ({}): its {} rounds never met \
                 the criteria.",
                dirth.preconditioning.label, dirth.preconditioning.cycles_max
            ),
            "Repeat the run with more rounds (--max-rounds).",
        ));
    }
    if let Some(selection) = &results.selection {
        caveats.extend(selection_caveats(selection, dirth.art_ceiling));
        caveats.extend(not_held(results));
    }
    caveats.extend(disclosure::caveats(&dirth.choices(record), record));
    caveats.extend(dirth.workload.caveats());
    caveats.push(bins_caveat());
    let measured = dirth.choices(record).measured_phases;
    caveats.extend(secondary::caveats(record, &|step| measured.contains(&step.place.phase)));
    caveats
}

/// What the chosen points gave in their histograms.
fn figures(results: &Results<'_>) -> Vec<KeyFigure> {
    let of_point = |histogram: &Histogram<'_>| {
        let (role, demand) = (histogram.chosen.role.name(), histogram.chosen.demand);
        let id = role.to_lowercase();
        let tally = histogram.measurement.map(|m| m.total());
        let tail = tally.as_ref().and_then(|tally| tally.percentile(FIVE_NINES));
        let iops = histogram.measurement.and_then(|m| m.iops());
        [
            KeyFigure::new(&format!("{id}-iops"), format!("{role} at {demand}"), iops, "IOPS"),
            KeyFigure::new(
                &format!("{id}-matrix-iops"),
                format!("{role}, in the matrix"),
                histogram.chosen.cell.iops,
                "IOPS",
            ),
            KeyFigure::new(
                &format!("{id}-five-nines"),
                format!("{role}, 99.999 %"),
                tail.map(Nanos::as_millis_f64),
                "ms",
            )
            .of_buckets(),
        ]
    };
    results.histograms.iter().flat_map(of_point).collect()
}

/// The matrix of the reported round, and the histograms, in long form.
fn metrics(dirth: &Dirth, results: &Results<'_>) -> Vec<Metric> {
    let of_demand = |demand: &Demand| {
        let point = format!("{} {demand}", dirth.workload);
        let cell = cell(dirth, results, *demand);
        let art = cell.and_then(|c| c.art).map(Nanos::as_millis_f64);
        let all = [
            Metric::new("iops", &point, cell.and_then(|c| c.iops), "IOPS"),
            Metric::new("throughput", &point, cell.and_then(|c| c.mb_per_second), "MB/s"),
            Metric::new("art", &point, art, "ms"),
        ];
        let all = all.into_iter().flatten();
        match dirth.workload.pattern() {
            Some(pattern) => all.map(|metric| metric.of(&pattern)).collect::<Vec<_>>(),
            None => all.collect(),
        }
    };
    let of_point = |histogram: &Histogram<'_>| {
        let point = format!("{} {}", dirth.workload, histogram.chosen.role.name());
        let steps: Vec<&Measurement> = histogram.measurement.into_iter().collect();
        let pattern = dirth.workload.pattern();
        Measured { point: &point, pattern, steps: &steps, rounds: false }.metrics()
    };
    let matrix = dirth.matrix.demands.iter().flat_map(of_demand);
    matrix.chain(results.histograms.iter().flat_map(of_point)).collect()
}

/// The chosen points: where they come from and what their histograms say.
fn points_table(results: &Results<'_>, id: &str) -> Table {
    let rows = results.histograms.iter().map(point_row);
    let columns = [
        "Demand",
        "OIO",
        "IOPS in the matrix",
        "ART ms in the matrix",
        "IOPS",
        "MB/s",
        "ART ms",
        "99.9 % ms",
        "99.999 % ms",
        "MRT ms",
    ];
    Table::new(id, "Chosen points: in the last round, and in their histograms", "Point")
        .columns(columns)
        .rows(rows)
}

fn point_row(histogram: &Histogram<'_>) -> Row {
    let chosen = &histogram.chosen;
    let ms = |time: Option<Nanos>| TableCell::number(time.map(Nanos::as_millis_f64), 3);
    let tally: Option<Tally> = histogram.measurement.map(|m| m.total());
    let of = |read: &dyn Fn(&Tally) -> Option<Nanos>| ms(tally.as_ref().and_then(read));
    let rate = histogram.measurement.and_then(|m| m.bytes_per_second());
    Row::new(
        chosen.role.name(),
        [
            TableCell::text(chosen.demand.to_string()),
            TableCell::number(Some(chosen.demand.outstanding() as f64), 0),
            TableCell::number(chosen.cell.iops, 1),
            ms(chosen.cell.art),
            TableCell::number(histogram.measurement.and_then(|m| m.iops()), 1),
            TableCell::number(rate.map(|rate| rate / 1e6), 1),
            of(&|t| t.response_mean()),
            of(&|t| t.percentile(0.999)),
            of(&|t| t.percentile(FIVE_NINES)),
            of(&|t| t.response_longest()),
        ],
    )
    .strong(chosen.role == Role::Max)
}

/// The fifteen pages, in the order of the form.
fn form_pages(dirth: &Dirth, results: &Results<'_>) -> Vec<Page> {
    let highest = dirth.matrix.highest();
    let mut pages = vec![
        page(
            &format!("DIRTH Pre Conditioning IOPS ({highest}) v Round"),
            vec![Exhibit::Plot(between::convergence_plot(
                &dirth.preconditioning,
                &results.preconditioning,
                ("pc-convergence", &format!("Pre Conditioning - {}", dirth.preconditioning.label)),
            ))],
        ),
        check_page("DIRTH Pre Conditioning SS Check", &results.preconditioned, "pc-window"),
        page(
            "DIRTH Between Round Pre Writes",
            vec![Exhibit::Plot(pre_writes_plot(dirth, results))],
        ),
        page(
            &format!("DIRTH IOPS v Round at TC={}, All QD", highest.threads),
            vec![Exhibit::Plot(rounds_plot(dirth, results))],
        ),
        check_page(
            &format!("DIRTH Demand Variation SS Check ({highest})"),
            &results.verdict,
            "dv-window",
        ),
        plot_page("DIRTH Demand Variation", variation_plot(dirth, results)),
        plot_page("DIRTH Demand Intensity", intensity_plot(dirth, results)),
        page("DIRTH System CPU Utilization During Demand Variation", cpu_exhibits(dirth, results)),
    ];
    for role in Role::ALL {
        pages.extend(point_pages(dirth, role, results));
    }
    pages.push(plot_page("DIRTH IOPS & ART v Total OIO", total_plot(dirth, results)));
    pages
}

fn plot_page(title: &str, plot: Plot) -> Page {
    page(title, vec![Exhibit::Plot(plot)])
}

fn pre_writes_plot(dirth: &Dirth, results: &Results<'_>) -> Plot {
    let mut plot = Plot::new(
        PlotKind::Lines,
        "pre-writes",
        format!("Between Round Pre Writes - {} {}", dirth.writes, dirth.matrix.highest()),
        between::time_axis("Time", dirth.ground.minute).0,
        Axis::new("IOPS", Scale::Linear),
    )
    .caption("IOPS of the writes before each round's matrix; one line per round.");
    let mut rounds: Vec<u32> = results.pre_writes.iter().map(|(s, _)| s.place.round).collect();
    rounds.dedup();
    plot.series = rounds
        .iter()
        .map(|round| {
            let steps: Vec<_> = results
                .pre_writes
                .iter()
                .copied()
                .filter(|(s, _)| s.place.round == *round)
                .collect();
            Series::new(format!("Round {round}"), Stroke::Measured, times(dirth, &steps))
        })
        .collect();
    plot
}

fn rounds_plot(dirth: &Dirth, results: &Results<'_>) -> Plot {
    let threads = dirth.matrix.highest().threads;
    let mut plot = Plot::new(
        PlotKind::Lines,
        "dv-rounds",
        format!("{} - IOPS at TC={threads}, All QD", dirth.workload),
        rounds_axis(),
        Axis::new("IOPS", Scale::Linear),
    )
    .caption("Reads and writes per second, round by round. A void round breaks its line.");
    plot.series = dirth
        .matrix
        .demands
        .iter()
        .filter(|demand| demand.threads == threads)
        .map(|demand| {
            let points = results
                .rounds
                .iter()
                .map(|round| (f64::from(round.round), dirth.matrix.tracked(round, *demand)))
                .collect();
            Series::new(format!("QD={}", demand.depth), Stroke::Measured, points)
        })
        .collect();
    plot
}

/// Minutes of a load against the axis of time.
fn times(dirth: &Dirth, steps: &[(&Step, &Outcome)]) -> Vec<(f64, Option<f64>)> {
    let minute = between::time_axis("Time", dirth.ground.minute).1;
    minutes(steps).into_iter().map(|(time, iops)| (time * minute, iops)).collect()
}

/// A cell of the reported round.
fn cell<'a>(dirth: &Dirth, results: &'a Results<'_>, demand: Demand) -> Option<&'a Cell> {
    dirth.matrix.cell(results.reported()?, demand)
}

fn reported_text(results: &Results<'_>) -> String {
    results.reported().map_or("no round".to_owned(), |round| format!("round {}", round.round))
}

/// One series per thread count, through the queue depths from low to high.
fn series_of_threads(
    dirth: &Dirth,
    point: impl Fn(Demand) -> Option<(f64, Option<f64>)>,
) -> Vec<Series> {
    let loops = dirth.matrix.ascending();
    loops
        .iter()
        .map(|threads| {
            let points =
                loops.iter().filter_map(|depth| point(Demand::new(*threads, *depth))).collect();
            Series::new(format!("TC={threads}"), Stroke::Measured, points)
        })
        .collect()
}

fn variation_plot(dirth: &Dirth, results: &Results<'_>) -> Plot {
    let mut plot = Plot::new(
        PlotKind::Lines,
        "demand-variation",
        format!("Demand Variation - {}", dirth.workload),
        Axis::new("QD: outstanding I/Os per thread", Scale::Log2),
        Axis::new("IOPS", Scale::Linear),
    )
    .caption(format!(
        "Reads and writes per second against the queue depth, one line per thread count, in {}.",
        reported_text(results)
    ));
    plot.series = series_of_threads(dirth, |demand| {
        let iops = cell(dirth, results, demand).and_then(|cell| cell.iops);
        Some((f64::from(demand.depth), iops))
    });
    plot
}

fn intensity_plot(dirth: &Dirth, results: &Results<'_>) -> Plot {
    let mut plot = Plot::new(
        PlotKind::Lines,
        "demand-intensity",
        format!("Demand Intensity - {}", dirth.workload),
        Axis::new("IOPS", Scale::Linear),
        Axis::new("ART (ms)", Scale::Log10),
    )
    .caption(format!(
        "Average response time of reads and writes together against IOPS, one line per thread \
         count through its queue depths, in {}. Points below the ceiling of {} (dashed) can be \
         chosen; the chosen ones are set off. Knee: the highest IOPS per response time.",
        reported_text(results),
        dirth.art_ceiling
    ));
    plot.series = series_of_threads(dirth, |demand| {
        let cell = cell(dirth, results, demand)?;
        Some((cell.iops?, cell.art.map(Nanos::as_millis_f64)))
    });
    let chosen = results.selection.iter().flat_map(|selection| &selection.points);
    let chosen: Vec<Series> = chosen
        .filter_map(|point| {
            let at = (point.cell.iops?, Some(point.cell.art?.as_millis_f64()));
            let name = format!("{} {}", point.role.name(), point.demand);
            Some(Series::new(name, Stroke::Measured, vec![at]).named(point.role.name()))
        })
        .collect();
    let rates = plot.series.iter().flat_map(|series| &series.points).map(|point| point.0);
    let highest = rates.fold(0.0, f64::max);
    let ceiling = Some(dirth.art_ceiling.as_millis_f64());
    let name = format!("ceiling {}", dirth.art_ceiling);
    plot.series.extend(chosen);
    plot.series.push(Series::new(name, Stroke::Limit, vec![(0.0, ceiling), (highest, ceiling)]));
    plot.markers = knee(dirth, results)
        .and_then(|(demand, cell)| Some(Marker { x: cell.iops?, label: format!("knee: {demand}") }))
        .into_iter()
        .collect();
    plot
}

/// The demand that gives most IOPS for its response time: beyond it more demand waits more
/// than it brings.
fn knee<'a>(dirth: &Dirth, results: &'a Results<'_>) -> Option<(Demand, &'a Cell)> {
    let worth = |cell: &Cell| {
        let art = cell.art.map(Nanos::as_millis_f64).filter(|art| *art > 0.0)?;
        Some(cell.iops? / art)
    };
    let all = best_by_outstanding(dirth, results).into_iter();
    let rated = all.filter_map(|(demand, cell)| Some((worth(cell)?, demand, cell)));
    let best = rated.max_by(|a, b| a.0.total_cmp(&b.0))?;
    Some((best.1, best.2))
}

fn cpu_exhibits(dirth: &Dirth, results: &Results<'_>) -> Vec<Exhibit> {
    let loops = dirth.matrix.ascending();
    let share = |demand: Demand| cell(dirth, results, demand).and_then(|cell| cell.cpu_system);
    if !dirth.matrix.demands.iter().any(|demand| share(*demand).is_some()) {
        return vec![Exhibit::Text(
            "Processor use is unknown: the host did not report it, or the drive is simulated."
                .into(),
        )];
    }
    let names = loops.iter().map(u32::to_string).collect();
    let mut plot = Plot::new(
        PlotKind::Columns3d,
        "cpu-system",
        "System CPU Utilization - TC x QD",
        Axis::new("QD", Scale::Categories(names)),
        Axis::new("CPU system (%)", Scale::Percent),
    )
    .caption(format!(
        "Share of all processors' time spent in the kernel in {}; one row per thread count.",
        reported_text(results)
    ));
    plot.series = loops
        .iter()
        .map(|threads| {
            let points = (0u32..)
                .zip(&loops)
                .map(|(at, depth)| {
                    let value = share(Demand::new(*threads, *depth));
                    (f64::from(at), value.map(|share| share * 100.0))
                })
                .collect();
            Series::new(format!("TC={threads}"), Stroke::Measured, points)
        })
        .collect();
    vec![Exhibit::Plot(plot)]
}

/// A chosen point's two pages: its writes, and its histogram.
fn point_pages(dirth: &Dirth, role: Role, results: &Results<'_>) -> Vec<Page> {
    let writes = format!("DIRTH {} Pre Writes", role.name());
    let title = format!("DIRTH {} Response Time Histogram", role.name());
    let Some(histogram) = results.histograms.iter().find(|h| h.chosen.role == role) else {
        let text = || vec![Exhibit::Text("No point is chosen yet.".into())];
        return vec![page(&writes, text()), page(&title, text())];
    };
    let demand = histogram.chosen.demand;
    let plot = Plot::new(
        PlotKind::Lines,
        &role.pre_write_phase(),
        format!("{} Pre Writes - {demand}", role.name()),
        between::time_axis("Time", dirth.ground.minute).0,
        Axis::new("IOPS", Scale::Linear),
    )
    .caption("IOPS of the writes (R/W 0/100) before the histogram, at its demand.")
    .with(Series::new(
        demand.to_string(),
        Stroke::Measured,
        times(dirth, &histogram.pre_write),
    ));
    vec![plot_page(&writes, plot), page(&title, vec![histogram_exhibit(histogram)])]
}

fn histogram_exhibit(histogram: &Histogram<'_>) -> Exhibit {
    let Some(measurement) = histogram.measurement else {
        return Exhibit::Text("This histogram is not recorded yet, or a gap voided it.".into());
    };
    let role = histogram.chosen.role;
    let tally = measurement.total();
    let rates = Rates { iops: measurement.iops(), mb_per_second: measurement.mb_per_second() };
    let name = format!("{} {}", role.name(), histogram.chosen.demand);
    let title = rated_title(&name, rates, &tally);
    Exhibit::Plot(confidence_plot(&role.histogram_phase(), &title, &tally))
}

/// IOPS and ART against all outstanding I/Os: of demands with the same product,
/// the one with most IOPS.
fn total_plot(dirth: &Dirth, results: &Results<'_>) -> Plot {
    let best = best_by_outstanding(dirth, results);
    let point = |value: fn(&Cell) -> Option<f64>| {
        best.iter().map(|(demand, cell)| (demand.outstanding() as f64, value(cell))).collect()
    };
    let mut plot = Plot::new(
        PlotKind::Lines,
        "total-oio",
        format!("IOPS & ART v Total OIO - {}", dirth.workload),
        Axis::new("Total outstanding I/Os (TC x QD)", Scale::Log2),
        Axis::new("IOPS", Scale::Linear),
    )
    .caption(format!(
        "For each total, the demand with the highest IOPS, in {}; the matrix lists all demands. \
         Knee: the highest IOPS per response time.",
        reported_text(results)
    ))
    .with(Series::new("IOPS", Stroke::Measured, point(|c| c.iops)))
    .with(
        Series::new("ART", Stroke::Measured, point(|c| c.art.map(Nanos::as_millis_f64))).on_right(),
    );
    plot.y_right = Some(Axis::new("ART (ms)", Scale::Log10));
    let knee = knee(dirth, results).map(|(demand, _)| Marker {
        x: demand.outstanding() as f64,
        label: format!("knee: {demand}"),
    });
    plot.markers(knee)
}

fn best_by_outstanding<'a>(dirth: &Dirth, results: &'a Results<'_>) -> Vec<(Demand, &'a Cell)> {
    let mut all: Vec<(Demand, &Cell)> = dirth
        .matrix
        .demands
        .iter()
        .filter_map(|demand| Some((*demand, cell(dirth, results, *demand)?)))
        .collect();
    let iops = |cell: &Cell| cell.iops.unwrap_or(f64::NEG_INFINITY);
    all.sort_by(|a, b| {
        a.0.outstanding().cmp(&b.0.outstanding()).then(iops(b.1).total_cmp(&iops(a.1)))
    });
    all.dedup_by_key(|(demand, _)| demand.outstanding());
    all
}

fn chapters(dirth: &Dirth, record: &Record, results: &Results<'_>) -> Vec<Page> {
    let choices = dirth.choices(record);
    let mut wipc = preconditioning_exhibits(&choices, record, preconditioning::PHASE, WIPC_PATTERN);
    wipc.push(Exhibit::Plot(between::minutes_plot(
        &dirth.preconditioning,
        &results.preconditioning,
        (
            "pc-minutes",
            &format!("Pre Conditioning, every minute - {}", dirth.preconditioning.label),
        ),
    )));
    wipc.extend(evidence(&dirth.preconditioning, &results.preconditioning, "pc"));
    let mut chapters = common_chapters(&choices, record);
    chapters.extend([
        general_chapter(&choices),
        matrix_chapter(dirth, results),
        response_chapter(results),
        secondary_chapter(record, results),
        page("Preconditioning", wipc),
    ]);
    chapters
}

fn matrix_chapter(dirth: &Dirth, results: &Results<'_>) -> Page {
    let round = reported_text(results);
    let table = |id: &str, what: &str, decimals: u8, value: fn(&Cell) -> Option<f64>| {
        let title = format!("{what}, {round}: rows TC, columns QD; the chosen points are set off");
        Exhibit::Table(matrix_table(dirth, results, (id, &title), decimals, value))
    };
    let mut exhibits = vec![
        Exhibit::Listing(listing(dirth)),
        Exhibit::Table(points_table(results, "dirth-points")),
        Exhibit::Table(tracking_table("dv-steady-state", &results.verdict)),
        table("matrix-iops", "IOPS", 1, |c| c.iops),
        table("matrix-mbps", "MB/s", 1, |c| c.mb_per_second),
        table("matrix-art", "Average response time, ms", 3, |c| c.art.map(Nanos::as_millis_f64)),
        Exhibit::Table(rounds_table(dirth, results)),
    ];
    let told = |round: &Round| round.cells.iter().any(|cell| cell.cpu_system.is_some());
    if results.reported().is_some_and(told) {
        let system = |c: &Cell| c.cpu_system.map(|share| share * 100.0);
        exhibits.push(table("matrix-cpu", "CPU system, %", 1, system));
    }
    page("Demand Matrix", exhibits)
}

fn matrix_table(
    dirth: &Dirth,
    results: &Results<'_>,
    (id, title): (&str, &str),
    decimals: u8,
    value: fn(&Cell) -> Option<f64>,
) -> Table {
    let loops = dirth.matrix.ascending();
    let is_chosen = |demand: Demand| {
        results.selection.as_ref().is_some_and(|s| s.points.iter().any(|p| p.demand == demand))
    };
    let rows = loops.iter().map(|threads| {
        Row::new(
            format!("TC {threads}"),
            loops.iter().map(|depth| {
                let cell = cell(dirth, results, Demand::new(*threads, *depth));
                TableCell::number(cell.and_then(value), decimals)
            }),
        )
        .marked((0..loops.len()).filter(|at| is_chosen(Demand::new(*threads, loops[*at]))))
    });
    Table::new(id, title, "Threads")
        .spanner("Queue depth (QD)")
        .columns(loops.iter().map(|depth| format!("QD {depth}")))
        .rows(rows)
}

/// The tracking variable in every round.
fn rounds_table(dirth: &Dirth, results: &Results<'_>) -> Table {
    let inside = |round: u32| {
        results.verdict.window.is_some_and(|(first, last)| (first..=last).contains(&round))
    };
    let some_outside = results.rounds.iter().any(|round| !inside(round.round));
    let rows = results.rounds.iter().map(|round| {
        let remark = match (round.is_void, inside(round.round)) {
            (true, _) => "void: a gap inside",
            (false, true) => "window",
            (false, false) => "",
        };
        Row::new(
            round.round.to_string(),
            [
                TableCell::number(dirth.matrix.tracked(round, dirth.matrix.highest()), 1),
                TableCell::text(remark),
            ],
        )
        .strong(inside(round.round) && some_outside)
    });
    Table::new("dv-rounds-table", "Tracking variable, round by round (IOPS)", "Round")
        .column(format!("{} {}", dirth.workload, dirth.matrix.highest()))
        .column(("window", "Window"))
        .rows(rows)
}

/// Every demand of every round, for spreadsheets.
fn rounds_matrix(dirth: &Dirth, results: &Results<'_>) -> Table {
    let columns = ["TC", "QD", "OIO", "IOPS", "MB/s", "ART ms", "CPU system", "Void"];
    let rows = results
        .rounds
        .iter()
        .flat_map(|round| dirth.matrix.demands.iter().zip(&round.cells).map(move |d| (round, d)))
        .map(|(round, (demand, cell))| {
            Row::new(
                round.round.to_string(),
                [
                    TableCell::number(Some(f64::from(demand.threads)), 0),
                    TableCell::number(Some(f64::from(demand.depth)), 0),
                    TableCell::number(Some(demand.outstanding() as f64), 0),
                    TableCell::number(cell.iops, 3),
                    TableCell::number(cell.mb_per_second, 3),
                    TableCell::number(cell.art.map(Nanos::as_millis_f64), 6),
                    TableCell::number(cell.cpu_system, 4),
                    TableCell::text(if round.is_void { "void" } else { "" }),
                ],
            )
        });
    Table::new("demand-matrix", "Every demand of every round", "Round").columns(columns).rows(rows)
}

fn listing(dirth: &Dirth) -> String {
    let highest = dirth.matrix.highest();
    format!(
        "Purge\nWorkload independent preconditioning: {WIPC_PATTERN}, {WIPC_DEMAND}, 2 x user \
         capacity\n{} at {highest}, one step of every {} measured, until steady\nWhile not steady \
         state, at most {} rounds\n  {} at {highest} for {}\n  For TC {}\n    For QD {}\n      {} \
         for {}; record IOPS and ART (reads + writes)\nChoose MaxIOPS, MidIOPS (ART below {}) and \
         MinIOPS ({})\nFor each: {} for {}, then {} for {}, recording every response time",
        dirth.writes,
        dirth.preconditioning.cycle(),
        dirth.matrix.rounds_max,
        dirth.writes,
        dirth.pre_write_time,
        loops_text(dirth),
        loops_text(dirth),
        dirth.workload,
        dirth.ground.minute,
        dirth.art_ceiling,
        dirth.matrix.lowest(),
        dirth.writes,
        dirth.point_pre_write_time,
        dirth.workload,
        dirth.histogram_time
    )
}

fn response_chapter(results: &Results<'_>) -> Page {
    let tallies: Vec<(String, Tally)> = results
        .histograms
        .iter()
        .filter_map(|h| {
            let name = format!("{} {}", h.chosen.role.name(), h.chosen.demand);
            Some((name, h.measurement?.total()))
        })
        .collect();
    let columns: Vec<(&str, &Tally)> =
        tallies.iter().map(|(name, tally)| (name.as_str(), tally)).collect();
    let table =
        percentile_table("dirth-percentiles", "Response times of the chosen points, ms", &columns);
    let tails = tail_plot("dirth-tails", "Response times of the chosen points", &columns);
    page("Response Times", vec![Exhibit::Table(table), Exhibit::Plot(tails)])
}

fn secondary_chapter(record: &Record, results: &Results<'_>) -> Page {
    let tallies: Vec<Tally> =
        results.histograms.iter().filter_map(|h| h.measurement.map(|m| m.total())).collect();
    let done = results.histograms.iter().filter_map(|h| Some((h, h.measurement?)));
    let points: Vec<SecondaryPoint<'_>> = done
        .zip(&tallies)
        .map(|((histogram, measurement), tally)| SecondaryPoint {
            name: format!(
                "{} {} ({} OIO)",
                histogram.chosen.role.name(),
                histogram.chosen.demand,
                number(histogram.chosen.demand.outstanding() as f64, 0)
            ),
            iops: measurement.iops(),
            art: tally.response_mean_ms(),
            tally,
            sensed: Secondary::of(&[measurement]),
        })
        .collect();
    let table = secondary::points_table(
        "secondary-points",
        "Secondary metrics of the chosen points",
        &points,
    );
    secondary::chapter(vec![Exhibit::Table(table)], record)
}

/// What must be said of a choice.
/// Points whose histogram has another rate than the matrix that they were chosen from.
fn not_held(results: &Results<'_>) -> Option<Caveat> {
    let rate = |histogram: &Histogram<'_>| {
        let chosen = &histogram.chosen;
        Some(ChosenRate {
            point: chosen.role.name(),
            demand: chosen.demand,
            swept: chosen.cell.iops?,
            held: histogram.measurement?.iops()?,
        })
    };
    let rates: Vec<ChosenRate> = results.histograms.iter().filter_map(rate).collect();
    held::caveat(&rates, "Run it again with more writes before the rounds (--set pre-write=TIME).")
}

fn selection_caveats(selection: &points::Selection, ceiling: Nanos) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    if selection.above_ceiling {
        caveats.push(Caveat::new(
            CaveatKind::Deviation,
            ids::ART_CEILING,
            format!(
                "No point stays below an average response time of {ceiling}: MaxIOPS and MidIOPS \
                 were chosen from the {} points of lowest average response time.",
                points::LOWEST_POINTS
            ),
            "Raise the ceiling with --set art-ceiling=TIME to choose by IOPS.",
        ));
    }
    let demands: Vec<Demand> = selection.points.iter().map(|point| point.demand).collect();
    let all_differ = (1..demands.len()).all(|n| !demands[..n].contains(&demands[n]));
    if !all_differ {
        let all: Vec<String> =
            selection.points.iter().map(|p| format!("{} {}", p.role.name(), p.demand)).collect();
        caveats.push(Caveat::new(
            CaveatKind::Remark,
            ids::POINTS_COINCIDE,
            format!("The rule chose the same demand more than once: {}.", all.join(", ")),
            "",
        ));
    }
    caveats
}
