//! Exhibits of load-curve: response times by offered rate, the knee, and the search for the
//! service level.

use super::results::{LoadCurveResults, OfferedPoint};
use super::search::{PRECISION, SearchResult};
use super::setup::{HIGHEST_PERCENTILE, LoadCurve, POINT_TIME, POINT_TIME_MAX, is_above};
use crate::common::attempts::measurements;
use crate::common::metrics::MeasuredPoint;
use crate::exhibits::cyclic_load::fresh_caveat;
use crate::exhibits::disclosure::{self, ReportForm, SettingRows, form_demand};
use crate::exhibits::report::{ProcedureReport, ReportEntry, StudiedRun};
use crate::exhibits::response::{percentile_table, tail_plot};
use crate::exhibits::secondary::{self, SecondaryPoint};
use crate::exhibits::typed_table::{TypedColumn, typed_row, typed_table};
use crate::report_notation::{count_word, joined, limits_text, number, reservation_text};
use crate::rwsw::disclosure as rwsw_disclosure;
use steadfast_domain::findings::{
    Axis, Cell, Exhibit, KeyFigure, Marker, Metric, Origin, Plot, Row, Scale, Series, Setting,
    Stroke, Table,
};
use steadfast_domain::{Caveat, Measurement, Record, ServiceLevel, Tally, Verdict, caveats as ids};

/// Percentiles of the curve: name and fraction.
const PERCENTILES: [(&str, f64); 4] =
    [("50 %", 0.5), ("99 %", 0.99), ("99.9 %", 0.999), ("99.99 %", HIGHEST_PERCENTILE)];

/// Rates of page one, in percent of the maximum.
const FRONT_RATES: [f64; 2] = [50.0, 80.0];

/// Rates whose distributions are plotted, in percent of the maximum.
const PLOTTED: [f64; 5] = [10.0, 50.0, 80.0, 90.0, 95.0];

type LoadCurveRun<'a> = StudiedRun<'a, LoadCurve>;

impl ProcedureReport for LoadCurve {
    type Results<'a> = LoadCurveResults<'a>;

    const ENTRIES: &'static [ReportEntry<Self>] = &[
        ReportEntry::Summary,
        ReportEntry::Table(|run| curve_table(run, "load-curve-summary")),
        ReportEntry::Form("Load Curve - Response Times v Offered Rate"),
        ReportEntry::Plot(curve_plot),
        ReportEntry::Form("Load Curve - Rates"),
        ReportEntry::Table(|run| curve_table(run, "rates")),
        ReportEntry::OptionalTable(search_table),
        ReportEntry::Setup,
        ReportEntry::Chapters(|run| {
            Vec::from_iter(run.test.workload.captured().map(rwsw_disclosure::workload_chapter))
        }),
        ReportEntry::General,
        ReportEntry::Chapter("What Was Done"),
        ReportEntry::Listing(listing),
        ReportEntry::Text(definitions),
        ReportEntry::Chapter("Steady State of the Preconditioning"),
        ReportEntry::Several(steady_exhibits),
        ReportEntry::Chapter("Closed-Loop Maximum"),
        ReportEntry::Plot(|run| {
            let title = format!("Closed loop - {}", run.test.maximum.label);
            run.results.closed_loop.convergence_plot("maximum", &title)
        }),
        ReportEntry::Several(|run| run.results.closed_loop.check_and_evidence("maximum")),
        ReportEntry::Chapter("Response Times by Rate"),
        ReportEntry::Plot(|run| {
            let title = format!("Response times by rate - {}", run.test.workload);
            tail_plot("rate-tails", &title, &plotted_tallies(run))
        }),
        ReportEntry::Table(|run| {
            let title = "Response times of the rates that the device kept up with, ms";
            percentile_table("rate-percentiles", title, &plotted_tallies(run))
        }),
        ReportEntry::Secondary,
        ReportEntry::Table(secondary_table),
    ];
    const FRONT_PLOTS: &'static [&'static str] = &["load-curve"];

    fn studied<'a>(&'a self, record: &'a Record) -> StudiedRun<'a, Self> {
        let (choices, results) = (self.choices(record), LoadCurveResults::new(self, record));
        StudiedRun { test: self, record, choices, results }
    }

    fn title(&self) -> String {
        format!("Load Curve {}", self.workload)
    }

    fn form(run: &LoadCurveRun<'_>) -> ReportForm {
        let settings = run.choices.settings;
        let demand = form_demand(run.test.demand);
        let preconditioning = run.results.preconditioning.as_ref();
        ReportForm::new("Load Curve", "Load Curve - Response Times at Offered Rates", &run.choices)
            .set_up(disclosure::preconditioning_rows(&run.choices))
            .set_up([
                Setting::new(
                    "wdpc",
                    "Pre Condition 2",
                    preconditioning.map(|judged| format!("{} (WDPC)", judged.load.label)),
                    Origin::Profile,
                ),
                Setting::outcome(
                    "SS Rounds",
                    preconditioning.map(|judged| disclosure::window_text(&judged.verdict)),
                ),
                disclosure::note_row(&run.choices),
            ])
            .test_parameters(workload_rows(run))
            .test_parameters([
                run.choices.demand_row("TOIO - TC/QD", demand),
                Setting::outcome(
                    "Closed Loop Rounds",
                    disclosure::window_text(&run.results.closed_loop.verdict),
                ),
                run.choices.step_row("Closed Loop Step"),
                Setting::method("arrivals", "Arrivals", "Poisson (open loop)", Origin::Profile),
                POINT_TIME.row(settings, "Each Rate, at least", run.test.point_time.to_string()),
                POINT_TIME_MAX.row(
                    settings,
                    "Each Rate, at most",
                    run.test.point_time_max.to_string(),
                ),
                slo_row(run.test.slo),
            ])
    }

    fn ending(run: &LoadCurveRun<'_>) -> String {
        let results = &run.results;
        if !run.record.has_ended() {
            return format!(
                "The run is not finished: {} of {} rates are measured.",
                results.curve.len(),
                run.test.points.len()
            );
        }
        let verdict = results.verdict();
        let state = if verdict.steady { "Steady state" } else { "Steady state NOT achieved" };
        let maximum = results.maximum.map_or("–".to_owned(), |iops| number(iops, 0));
        let knee = results.knee(run.test).map_or(String::new(), |knee| {
            format!("; knee at {} % ({} IOPS)", knee.percent, number(knee.offered, 0))
        });
        let slo = slo_text(run).map_or(String::new(), |text| format!("; {text}"));
        let reservation = reservation_text(verdict);
        format!("{state}{reservation}; closed-loop maximum {maximum} IOPS{knee}{slo}.")
    }

    fn verdict(run: &LoadCurveRun<'_>) -> Option<Verdict> {
        Some(run.results.verdict().clone())
    }

    fn caveats(run: &LoadCurveRun<'_>) -> Vec<Caveat> {
        let mut caveats = Vec::new();
        caveats.extend(steady_state_caveat(run));
        let preconditioning = run.results.preconditioning.as_ref();
        caveats.extend(preconditioning.and_then(|judged| fresh_caveat(&judged.verdict)));
        caveats.extend(missed_rates_caveat(run));
        caveats.extend(short_steps_caveat(run));
        if run.test.reads_unwritten() {
            caveats.push(Caveat::deviation(
                ids::READS_UNWRITTEN,
                "Reads also find blocks that nothing was written to since the purge; a drive \
                 answers these without its flash.",
                "Choose --set preconditioning=steady, or --purge none.",
            ));
        }
        if let Some(composite) = run.test.workload.captured() {
            let (setup, plan) = (&run.test.setup, &run.test.preparation);
            // Unwritten blocks are disclosed above, for all workloads.
            let others = [ids::READS_UNWRITTEN, ids::RWSW_RULES];
            let own = rwsw_disclosure::caveats(composite, setup, plan).into_iter();
            caveats.extend(own.filter(|caveat| !others.contains(&caveat.id.as_str())));
        }
        caveats
    }

    fn figures(run: &LoadCurveRun<'_>) -> Vec<KeyFigure> {
        let results = &run.results;
        let knee = results.knee(run.test);
        let knee_label = knee.map_or("Knee".to_owned(), |knee| {
            format!("Knee, at {} % of the maximum", knee.percent)
        });
        let mut figures = vec![
            KeyFigure::new("maximum-iops", "Closed-loop maximum", results.maximum, "IOPS")
                .with_range(results.maximum.and(results.closed_loop.verdict.range())),
            KeyFigure::new("knee-iops", knee_label, knee.map(|knee| knee.offered), "IOPS"),
        ];
        for percent in FRONT_RATES {
            for (name, fraction) in &PERCENTILES[1..3] {
                let id = format!("p{}-at-{percent}", name.trim_end_matches(" %").replace('.', "-"));
                let label = format!("{name} of the I/Os at {percent} % of the maximum, within");
                let point = results.at(percent);
                let value = point.and_then(|point| point.percentile_ms(*fraction));
                let rate = point.map(|point| format!("at {} IOPS", number(point.offered, 0)));
                let figure = KeyFigure::new(&id, label, value, "ms").of_buckets();
                figures.push(figure.with_note(rate.filter(|_| value.is_some())));
            }
        }
        figures.extend(slo_figure(run));
        figures
    }

    fn metrics(run: &LoadCurveRun<'_>) -> Vec<Metric> {
        let test = run.test;
        let closed = measurements(&run.results.closed_loop.steps);
        let name = format!("{}, closed loop", test.workload);
        let metrics_of = |point: &str, steps: &[&Measurement]| {
            let pattern = test.workload.pattern();
            MeasuredPoint { point, pattern, steps, rounds: false }.metrics()
        };
        let mut metrics = metrics_of(&name, &closed);
        for point in run.results.points_kept_up() {
            let name = format!("{} at {} %", test.workload, point.percent);
            metrics.extend(metrics_of(&name, &[point.measurement]));
        }
        metrics
    }
}

fn workload_rows(run: &LoadCurveRun<'_>) -> SettingRows {
    match run.test.workload.captured() {
        Some(composite) => rwsw_disclosure::workload_rows(composite, run.choices.settings),
        None => vec![Setting::new(
            "stimulus-1",
            "Test Stimulus",
            run.test.workload.to_string(),
            crate::pts::workload::origin(run.choices.settings),
        )],
    }
}

fn slo_row(slo: Option<ServiceLevel>) -> Setting {
    let origin = if slo.is_some() { Origin::Chosen } else { Origin::Default };
    Setting::new("slo", "Service Level", slo.map(|slo| slo.to_string()), origin)
}

/// Returns what was found of the service level, such as `p99=1ms is met up to 8,100 IOPS`; `None`
/// without one.
fn slo_text(run: &LoadCurveRun<'_>) -> Option<String> {
    let slo = run.test.slo?;
    let Some(result) = run.results.search else {
        return Some(format!("{slo} is not searched for yet"));
    };
    let iops = |rate: f64| number(rate, 0);
    Some(match result {
        SearchResult::Found(rate) => format!("{slo} is met up to {} IOPS", iops(rate)),
        SearchResult::AllMet(rate) => {
            format!("{slo} is met up to {} IOPS, the highest offered rate", iops(rate))
        }
        SearchResult::NoneMet => {
            let lowest = run.results.curve.first();
            let lowest = lowest.map_or("–".to_owned(), |point| iops(point.offered));
            format!("{slo} is NOT met, not even at {lowest} IOPS")
        }
        SearchResult::Unknown => {
            format!("no rate was shown to meet {slo}: the lowest have too few I/Os")
        }
        SearchResult::Open => format!("the search for {slo} has not ended"),
    })
}

fn slo_figure(run: &LoadCurveRun<'_>) -> Option<KeyFigure> {
    let slo = run.test.slo?;
    let value = match run.results.search {
        Some(SearchResult::Found(rate) | SearchResult::AllMet(rate)) => Some(rate),
        _ => None,
    };
    let label = match run.results.search {
        Some(SearchResult::AllMet(_)) => format!("Highest offered rate, which meets {slo}"),
        _ => format!("Highest rate that meets {slo}"),
    };
    let is_missed = run.results.search == Some(SearchResult::NoneMet);
    let note = is_missed.then(|| "none met it".to_owned());
    Some(KeyFigure::new("slo-iops", label, value, "IOPS").with_note(note))
}

fn steady_state_caveat(run: &LoadCurveRun<'_>) -> Option<Caveat> {
    let verdict = run.results.verdict();
    if verdict.steady || !run.record.has_ended() {
        return None;
    }
    let is_prepared =
        run.results.preconditioning.as_ref().is_none_or(|judged| judged.verdict.steady);
    let what = if is_prepared {
        let count = count_word(verdict.criteria.window);
        format!(
            "the closed loop has no steady steps; the maximum is the lowest of its last {count}"
        )
    } else {
        "the drive was still changing when the closed loop began".to_owned()
    };
    Some(Caveat::invalidates(
        ids::STEADY_STATE_NOT_ACHIEVED,
        format!("STEADY STATE NOT ACHIEVED{}: {what}.", reservation_text(verdict)),
        "Run it again with more rounds (--max-rounds).",
    ))
}

/// Returns a caveat on the rates that the device did not keep up with; `None` if there are none.
fn missed_rates_caveat(run: &LoadCurveRun<'_>) -> Option<Caveat> {
    let missed: Vec<String> = run
        .results
        .curve
        .iter()
        .filter(|point| !point.kept_up)
        .map(|point| {
            let achieved = point.measurement.iops();
            let achieved = achieved.map_or("–".to_owned(), |iops| number(iops, 0));
            format!("{} % ({achieved} of {} IOPS)", point.percent, number(point.offered, 0))
        })
        .collect();
    (!missed.is_empty()).then(|| {
        Caveat::remark(
            ids::RATE_MISSED,
            format!(
                "The device could not keep up at {}: its queue grew until the end, so these rates \
                 have no response times.",
                missed.join(", ")
            ),
            "",
        )
    })
}

/// Returns a caveat on percentiles that the longest time of a rate does not allow; `None` if there
/// are none.
fn short_steps_caveat(run: &LoadCurveRun<'_>) -> Option<Caveat> {
    let lacks = |point: &&OfferedPoint<'_>| point.percentile_ms(HIGHEST_PERCENTILE).is_none();
    let short = run.results.points_kept_up().filter(lacks);
    let short: Vec<String> = short.map(|point| format!("{} %", point.percent)).collect();
    (!short.is_empty()).then(|| {
        Caveat::remark(
            ids::PERCENTILE_UNSUPPORTED,
            format!(
                "At {} of the maximum, steps of {} are too short for ten I/Os beyond every percentile; \
                 those print a dash.",
                short.join(", "),
                run.test.point_time_max
            ),
            "Allow more time with --set point-time-max=1h.",
        )
    })
}

fn remark_cell(point: &OfferedPoint<'_>) -> Cell {
    Cell::text(if point.is_knee {
        "the knee"
    } else if point.kept_up {
        ""
    } else {
        "could not keep up"
    })
}

fn columns<'a>() -> [TypedColumn<OfferedPoint<'a>>; 11] {
    [
        TypedColumn::number("Offered IOPS", 1, |point| Some(point.offered)),
        TypedColumn::number("Achieved IOPS", 1, |point| point.measurement.iops()),
        TypedColumn::count("I/Os", |point| Some(point.tally.ios)),
        TypedColumn::number("ART ms", 4, OfferedPoint::mean_ms),
        TypedColumn::number("50 % ms", 4, |point| point.percentile_ms(0.5)),
        TypedColumn::number("99 % ms", 4, |point| point.percentile_ms(0.99)),
        TypedColumn::number("99.9 % ms", 4, |point| point.percentile_ms(0.999)),
        TypedColumn::number("99.99 % ms", 4, |point| point.percentile_ms(HIGHEST_PERCENTILE)),
        TypedColumn::number("MRT ms", 4, OfferedPoint::longest_ms),
        TypedColumn::number("99 % start error ms", 4, OfferedPoint::start_error_ms),
        TypedColumn::cell("Remark", remark_cell),
    ]
}

fn curve_table(run: &LoadCurveRun<'_>, id: &str) -> Table {
    let columns = columns();
    let rows =
        run.results.curve.iter().map(|point| {
            typed_row(point.percent.to_string(), &columns, point).strong(point.is_knee)
        });
    let title =
        format!("Response times from the due time at offered rates, {}", run.test.maximum.label);
    typed_table(id, title, "% of maximum", &columns).rows(rows)
}

/// Returns the rates of the search; `None` without a service level.
fn search_table(run: &LoadCurveRun<'_>) -> Option<Table> {
    let slo = run.test.slo?;
    let percentile = format!("p{} ms", slo.percent);
    let rows = run.results.tried.iter().map(|point| {
        let met = if is_above(point.percent, 100.0) {
            "no: above the maximum"
        } else if !point.kept_up {
            "no: could not keep up"
        } else {
            match slo.is_met(&point.tally) {
                Some(true) => "yes",
                Some(false) => "no",
                None => "no: too few I/Os",
            }
        };
        Row::new(
            number(point.offered, 1),
            [
                Cell::number(point.measurement.iops(), 1),
                Cell::number(Some(point.percent), 1),
                Cell::number(point.percentile_ms(slo.fraction()), 4),
                Cell::text(met),
            ],
        )
    });
    let title = format!("Search for the highest rate that meets {slo}, in order");
    Some(
        Table::new("slo-search", title, "Offered IOPS")
            .columns(["Achieved IOPS", "% of maximum", percentile.as_str(), "Met"])
            .rows(rows),
    )
}

fn curve_plot(run: &LoadCurveRun<'_>) -> Plot {
    let results = &run.results;
    let points = results.ascending();
    let curve = |value: &dyn Fn(&OfferedPoint<'_>) -> Option<f64>| {
        points.iter().map(|point| (point.offered, value(point))).collect::<Vec<_>>()
    };
    let percentile = |(name, fraction): &(&str, f64)| {
        let value = |point: &OfferedPoint<'_>| point.percentile_ms(*fraction);
        Series::new(*name, Stroke::Measured, curve(&value))
    };
    let mut plot = Plot::lines(
        "load-curve",
        format!("Response times v offered rate - {}", run.test.maximum.label),
        Axis::new("Offered rate (IOPS)", Scale::Linear),
        Axis::new("Response time (ms)", Scale::Log10),
    )
    .caption(
        "Response times count from when each I/O is due. A curve ends where the device could not \
         keep up, and leaves out rates with fewer than ten I/Os beyond the percentile.",
    )
    .series(PERCENTILES.iter().rev().map(percentile))
    .with(Series::new("ART", Stroke::Average, curve(&|point: &OfferedPoint<'_>| point.mean_ms())))
    .markers(markers(run));
    if let (Some(slo), Some(last)) = (run.test.slo, points.last()) {
        let limit = Some(slo.limit.as_millis_f64());
        let ends = vec![(0.0, limit), (last.offered, limit)];
        plot.series.push(Series::new(slo.to_string(), Stroke::Limit, ends).with_id("slo"));
    }
    plot
}

fn markers(run: &LoadCurveRun<'_>) -> Vec<Marker> {
    let results = &run.results;
    let mark = |x: f64, label: String| Marker { x, label };
    let found = match (run.test.slo, results.search) {
        (Some(slo), Some(SearchResult::Found(rate))) => Some(mark(rate, slo.to_string())),
        _ => None,
    };
    let knee = results.knee(run.test).map(|knee| mark(knee.offered, "knee".into()));
    let maximum = results.maximum.map(|iops| mark(iops, "maximum".into()));
    knee.into_iter().chain(found).chain(maximum).collect()
}

fn listing(run: &LoadCurveRun<'_>) -> String {
    let test = run.test;
    let search = test.slo.map_or(String::new(), |slo| {
        format!("\nBisection to {} % for the highest rate that meets {slo}", PRECISION * 100.0)
    });
    format!(
        "{}\n{} in a closed loop, steps of {} until {} in a row meet {}: their mean is the \
         maximum\nPoisson arrivals at {} % of it, each {} unmeasured and then for {} to {}{search}",
        test.preparation_text(),
        test.maximum.label,
        test.setup.step_time,
        count_word(test.maximum.criteria.window),
        limits_text(&test.maximum.criteria),
        joined(&test.points),
        test.settling,
        test.point_time,
        test.point_time_max,
    )
}

fn definitions(_: &LoadCurveRun<'_>) -> String {
    "Response times count from when an I/O is due, whether or not the device can take it then. The \
     knee is the offered rate with the most power, which is completed IOPS divided by the mean \
     response time (L. Kleinrock's measure; that the knee is its maximum among the measured rates \
     is our definition). A rate is kept up with if all but 1 % of its I/Os complete, allowing for \
     three standard deviations of the random number of arrivals; above the maximum, if all but 0.1 % of the \
     offered rate completes. The start error is how late the program submitted an I/O that was due, \
     not counting a wait for a free slot: it is the program's own part of the response time."
        .into()
}

fn steady_exhibits(run: &LoadCurveRun<'_>) -> Vec<Exhibit> {
    let Some(judged) = &run.results.preconditioning else { return Vec::new() };
    let title = format!("Every step - {}", judged.load.label);
    let mut exhibits = vec![Exhibit::Plot(judged.steps_plot("steady-time", &title))];
    exhibits.extend(judged.check_and_evidence("steady"));
    exhibits
}

/// Returns the I/Os of the plotted rates that the device kept up with.
fn plotted_tallies(run: &LoadCurveRun<'_>) -> Vec<(String, Tally)> {
    let points = PLOTTED.iter().filter_map(|percent| run.results.at(*percent));
    points
        .filter(|point| point.kept_up)
        .map(|point| (format!("{} %", point.percent), point.tally.clone()))
        .collect()
}

fn secondary_table(run: &LoadCurveRun<'_>) -> Table {
    let points = run.results.points_kept_up().map(|point| {
        SecondaryPoint::from_steps(format!("{} %", point.percent), &[point.measurement])
    });
    let title = "Secondary metrics of the rates that the device kept up with";
    secondary::points_table("secondary", title, &Vec::from_iter(points))
}
